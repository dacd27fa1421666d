// Small kernels that crash with the arguments of crashes.txt, whose rows name a line by the mark behind it.
#define here (int)(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
#define lane (int)__builtin_amdgcn_workitem_id_x()
#define sync() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); __builtin_amdgcn_s_barrier()
#if defined(__GFX8__) || defined(__GFX9__)
#define RAW 0x24000
#else
#define RAW 0x30014000  // bytes are counted
#endif
typedef struct { int key; float weight; char name[8]; } Entry;
typedef struct Node { int value; global struct Node *next; } Node;
typedef int int4 __attribute__((ext_vector_type(4)));

kernel void copy(global int *out, global const int *in, int by) {
  int i = here;
  int value = in[i + by];  // copy.load
  out[i] = value;  // copy.store
}

kernel void put(global int *out, int by, int value) {
  int i = here;
  out[i + by] = value;  // put.store
}

kernel void bytes(global uchar *out, global const uchar *in) {
  int i = here;
  uchar value = in[i];  // bytes.load
  out[i] = value + 1;  // bytes.store
}

kernel void doubles(global double *out, global const double *in, long by) {
  int i = here;
  double value = in[i - by];  // doubles.load
  out[i] = value * 2;  // doubles.store
}

kernel void vectors(global int4 *out, global const int4 *in) {
  int i = here;
  int4 value = in[i];  // vectors.load
  out[i] = value;  // vectors.store
}

kernel void entries(global Entry *table, global float *out, int first) {
  int i = here;
  float weight = table[first + i].weight;  // entries.load
  out[i] = weight;  // entries.store
}

kernel void matrix(global float *m, int width, int column) {
  int row = here;
  m[row * width + column] = row;  // matrix.store
}

kernel void gather(global int *out, global const int *index, global const int *in) {
  int i = here;
  int k = index[i];  // gather.index
  int value = in[k];  // gather.load
  out[i] = value;  // gather.store
}

kernel void histogram(global int *bins, global const int *keys) {
  int key = keys[here];  // histogram.load
  __atomic_fetch_add(&bins[key], 1, __ATOMIC_RELAXED);  // histogram.add
}

kernel void odd(global int *out, global const int *in) {
  int i = here;
  int value = in[i];  // odd.load
  if (i & 1) {
    out[i * 2] = value;  // odd.store
  }
}

kernel void rows(global int *out, global const int *in, int count) {
  int i = here, sum = 0;
  for (int j = 0; j < count; j++) {
    sum += in[j * 64 + i];  // rows.load
  }
  out[i] = sum;  // rows.store
}

static __attribute__((noinline)) int fetch(global const int *from, int at) {
  return from[at];  // fetch.load
}

kernel void call(global int *out, global const int *in, int by) {
  int i = here;
  out[i] = fetch(in, i + by);
}

static inline __attribute__((always_inline)) void keep(global int *to, int at, int value) {
  to[at] = value;  // keep.store
}

kernel void inlined(global int *out, int by) {
  int i = here;
  keep(out, i + by, i);
}

kernel void chase(global int *out, global const ulong *links) {
  int i = here;
  global Node *node = (global Node *)links[i];  // chase.link
  int value = node->value;  // chase.load
  out[i] = value;  // chase.store
}

kernel void uniform_load(global int *out, global const int *in, int at) {
  int value = in[at];  // uniform.load
  out[here] = value;  // uniform.store
}

kernel void two(global int *out, global const int *a, global const int *b) {
  int i = here;
  int first = a[i];  // two.first
  int second = b[first];  // two.second
  out[i] = second;  // two.store
}

kernel void unaligned(global int *out, int by) {
  int i = here;
  global int *to = (global int *)((global char *)out + by);
  __atomic_fetch_add(to + i, 1, __ATOMIC_RELAXED);  // unaligned.add
}

kernel void tile(global int *out, local int *part, int by) {
  int i = lane;
  part[i + by] = i;  // tile.store
  sync();
  int value = part[63 - i];  // tile.load
  out[i] = value;
}

kernel void generic_pointer(global int *out, local int *part, int by, int pick) {
  int i = lane;
  int *to = pick ? (int *)part : (int *)out;
  to[i + by] = i;  // generic.store
}

kernel void slots(global int *out, global const int *at) {
  int i = here, k = at[i];  // slots.index
  volatile int slot[8];
  slot[k] = i;  // slots.store
  int value = slot[k];  // slots.load
  out[i] = value;
}

static __attribute__((noinline)) int deep(int n) {
  volatile int room[64];
  room[n & 63] = n;  // deep.store
  return n == 0 ? 0 : deep(n - 1) + room[n & 63];
}

kernel void recursive(global int *out, int n) {
  out[here] = deep(n);
}

kernel void stores(global int *a, global int *b, global int *c, int by) {
  int i = here;
  a[i] = 1;  // stores.a
  b[i + by] = 2;  // stores.b
  c[i] = 3;  // stores.c
}

kernel void shadowed(global int *out, global const int *in, global const int *other) {
  int i = here;
  {
    global const int *in = other;
    int value = in[i];  // shadowed.load
    out[i] = value;
  }
}

kernel void moved(global int *out, global const int *in, int by) {
  int i = here;
  in += by;
  int value = in[i];  // moved.load
  out[i] = value;
}

kernel void resource(global int *out, global int *in, int records) {
  int i = here;
  __amdgpu_buffer_rsrc_t buffer = __builtin_amdgcn_make_buffer_rsrc(in, 0, records, RAW);
  int value = __builtin_amdgcn_raw_buffer_load_b32(buffer, i * 4, 0, 0);  // resource.load
  out[i] = value;
}

kernel void pairs(global long *out, local long *part, int by) {
  int i = lane;
  part[i + by] = i;  // pairs.store
  sync();
  out[i] = part[63 - i];
}

kernel void window(global int *out, int at) {
  __local int half_used[32];
  half_used[lane + at] = lane;  // window.store
  sync();
  out[lane] = half_used[0];
}

kernel void fields(global Entry *table, int by) {
  global Entry *entry = table + here + by;
  entry->name[7] = 1;  // fields.store
}

kernel void twins(global int *out, global const int *a, global const int *b) {
  int i = here;
  out[i] = a[i] + b[i];  // twins.line
}

kernel void trap(global int *out, global const int *in) {
  int i = here;
  int value = in[i];
  if (value >= 40)
    __builtin_trap();  // trap.trap
  out[i] = value;
}

kernel void debug_trap(global int *out, int n) {
  int i = here;
  if (i >= n)
    __builtin_debugtrap();  // debug.trap
  out[i] = n;
}

kernel void numbered_trap(global int *out) {
  out[here] = 1;
  __asm__ volatile("s_trap 7");  // numbered.trap
}

kernel void illegal(global int *out) {
  out[here] = 1;
  __asm__ volatile(".long 0xbfffffff");  // illegal.word
}

// The function that the assertions of HIP call: it prints the message and ends with a trap.
__attribute__((noinline, weak)) void __assert_fail(
    constant const char *assertion, constant const char *file, uint line, constant const char *function) {
  __asm__ volatile("" :: "v"(assertion), "v"(file), "v"(line), "v"(function));
  __builtin_trap();  // assert.trap
}

kernel void asserts(global int *out, global const int *in) {
  int i = here;
  int value = in[i];
  if (!(value > 0))
    __assert_fail("value > 0", "crashes.cl", 243, "asserts");  // asserts.call
  out[i] = value;
}

kernel void masked(global int *a, global int *b) {
  int i = here;
  if (i & 1) {
    a[i] = 1;  // masked.a
  }
  b[i] = 2;  // masked.b
}

global int counters[16];

kernel void either(global int *a, global int *b) {
  int i = here;
  global int *p = i & 1 ? a : b;
  p[i] = i;  // either.store
}

typedef struct { int n; global int *data; } Box;

kernel void boxed(global Box *boxes, global int *data, int by) {
  int i = here;
  boxes->data = data;
  boxes->data[i + by] = i;  // boxed.store
}

kernel void indirect(global int *out, global const int *a, global const int *b, global const int *c) {
  int i = here;
  out[i] = a[b[c[i]]];  // indirect.line
}

kernel void wraps(global int *out, global const int *in, int k) {
  int i = here;
  int value = in[i * k];  // wraps.load
  out[i] = value;
}

global int totals[16];

kernel void counted(global int *out, int by) {
  int i = here;
  totals[i & 15] += 1;
  counters[i + by] = i;  // counted.store
  out[i] = 1;
}

kernel void both_counted(global int *out, int by) {
  int i = here;
  counters[i + by] = totals[i & 15];  // both.store
  out[i] = 1;
}

kernel void reused(global int *out, global const int *a, global const int *b, int by) {
  int i = here;
  global const int *p = a;
  int value = p[i];  // reused.first
  p = b;
  value += p[i + by];  // reused.second
  out[i] = value;
}

kernel void number(global int *out, ulong address) {
  int i = here;
  *(global int *)(address + i * 4) = 1;  // number.store
}

kernel void sums(global int *to, int by) {
  int i = here;
  __atomic_fetch_add(to + i + by, 1, __ATOMIC_RELAXED);  // sums.add
}

kernel void two_places(global int *out, local int *part, int by) {
  int i = lane;
  out[i] = part[i + by] + part[i + by + 16];  // two.places
}

kernel void tiles(global int *out, int at) {
  local int tile[64];
  local int sums[16];
  sums[lane & 15] = at;  // tiles.first
  sync();
  tile[lane + at] = sums[lane & 15];  // tiles.store
  sync();
  out[lane] = tile[63 - lane] + sums[0];
}

kernel void tiles_read(global int *out, int at) {
  local int tile[64];
  local int sums[16];
  tile[lane] = lane;
  sums[lane & 15] = at;
  sync();
  tile[lane] = sums[lane - at];  // tiles.load
  sync();
  out[lane] = tile[63 - lane];
}
