// OpenCL C: address spaces, local memory, private arrays, divergence, structs, bit-fields, calls.
//
// The work-item functions of OpenCL come from a device library that is not needed here: the builtins below are what it
// is made of.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define ITEM ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())

typedef enum { SOLID, LIQUID = 5, GAS = -1 } Phase;

typedef struct {
  char tag;
  int count;
  float weight;
  short sizes[3];
} Item;

typedef struct {
  unsigned kind : 3;
  int delta : 5;
  unsigned long stamp : 40;
  unsigned : 0;
  unsigned last : 1;
} Flags;

typedef union {
  float number;
  unsigned bits;
  uchar bytes[4];
} Word;

typedef struct Node {
  __global struct Node *next;
  __global const Item *item;
  int value;
} Node;

// One pointer into each address space that OpenCL can name.
typedef struct {
  __global int *to_global;
  __constant int *to_constant;
  __local int *to_local;
  __private int *to_private;
  int *to_generic;
} Pointers;

__constant int primes[6] = {2, 3, 5, 7, 11, 13};

__attribute__((always_inline)) static int square(int base) {
  int squared = base * base;
  return squared;
}

__attribute__((noinline)) int weigh(__private int *histogram, int length, int scale) {
  int sum = 0;
  for (int i = 0; i < length; ++i) {
    int part = histogram[i] * scale;
    sum += square(part) - primes[i % 6];
  }
  return sum;
}

__attribute__((noinline)) int walk(__global const Node *node, int depth) {
  int total = 0;
  while (node != 0 && depth-- > 0) {
    total += node->value + node->item->count;
    node = node->next;
  }
  return total;
}

// The plainest kernel: one value in, one value out.
kernel void saxpy(global float *y, global const float *x, float a, int n) {
  int i = GROUP * 64 + ITEM;
  if (i < n) {
    float product = a * x[i];
    y[i] = product + y[i];
  }
}

// Nested IF/THEN/ELSE and a loop whose trip count differs between the lanes.
kernel void divergent(global int *out, int limit) {
  int lane = ITEM;
  int result = 0;
  if (lane < limit) {
    int left = lane * 2;
    if ((lane & 1) == 0) {
      int even = left + primes[lane % 6];
      result = even;
    } else {
      int odd = left - 1;
      result = odd * odd;
    }
    result += left;
  } else {
    int rest = lane - limit;
    for (int step = 0; step < rest; ++step)
      result += step ^ lane;
  }
  out[GROUP * 64 + lane] = result;
}

// A pointer into each address space, local memory, a private array and a call that takes its address.
kernel void spaces(global int *out, local int *shared_by_host, constant int *table, int n) {
  local int tile[64];
  int histogram[8];
  Pointers all;
  all.to_global = out;
  all.to_constant = table;
  all.to_local = tile;
  all.to_private = histogram;
  all.to_generic = (n & 1) ? (int *)&tile[ITEM] : (int *)&histogram[n & 7];
  for (int i = 0; i < 8; ++i)
    histogram[i] = table[i & 3] + i * ITEM;
  tile[ITEM] = histogram[n & 7];
  shared_by_host[ITEM & 31] = n;
  __builtin_amdgcn_s_barrier();
  int neighbour = tile[(ITEM + 1) & 63];
  int weight = weigh(histogram, 8, neighbour);
  all.to_global[ITEM] = weight + *all.to_generic + all.to_local[0] + all.to_private[1] + *all.to_constant;
}

// Structures, unions, enumerations, bit-fields, vectors and half precision.
kernel void records(global Item *items, global Flags *flags, global const Node *list, global half *halves,
                    global float4 *vectors, int n) {
  int i = GROUP * 64 + ITEM;
  Item item = items[i];
  Flags flag;
  flag.kind = i & 7;
  flag.delta = -(i & 15);
  flag.stamp = (ulong)i << 8;
  flag.last = i == n - 1;
  Word word;
  word.number = item.weight;
  Phase phase = item.count > 100 ? GAS : item.count > 10 ? LIQUID : SOLID;
  float4 vector = vectors[i];
  float3 direction = vector.xyz * (float)phase;
  half little = halves[i] * (half)2.0;
  ulong wide = (ulong)word.bits << 32 | (uint)item.count;
  double precise = (double)vector.w + 0.5;
  item.count += walk(list, n);
  item.sizes[2] = (short)(word.bytes[1] + direction.y);
  item.weight = (float)precise + (float)wide;
  items[i] = item;
  flags[i] = flag;
  halves[i] = little;
  vectors[i] = vector.wzyx;
}
