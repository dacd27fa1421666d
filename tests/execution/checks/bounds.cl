// Kernels with an access outside of its memory, and with MENDED without it. Work-groups have 64 work-items, the grid 128.
// Buffers have 128 numbers unless they are said to have another size. The wrong access is in a line that ends with a slash.
#ifdef MENDED
#define OR(mended, faulty) mended
#else
#define OR(mended, faulty) faulty
#endif
#ifdef HOST
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(place, number) atomic_add(place, number)
#else
#define SYNC barrier(0)
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#endif
#define ID get_local_id(0)
#define GID get_global_id(0)
typedef global int *gpointer;
typedef struct { int count; float values[3]; } Record;

kernel void read_past(global int *out, global int *in) {
  out[GID] = in[GID + OR(0, 64)]; //
}
kernel void read_before(global int *out, global int *in) {
  out[GID] = in[(int)GID - OR(0, 8)]; //
}
kernel void write_past(global int *out, global int *in) {
  int number = in[GID];
  out[GID + OR(0, 1)] = number; //
}
kernel void write_far(global int *out, global int *in) {
  in[GID + OR(0, 256)] = 5; //
  out[GID] = 1;
}
kernel void one_more(global int *out, global int *in) {
  if (GID)
    return;
  for (int i = 0; i OR(<, <=) 128; i++)
    out[i] = i; //
  in[0] = 1;
}
kernel void sum_of_three(global int *out, global int *in) {
  long i = GID, last = OR(127, 128);
  out[i] = in[i > 0 ? i - 1 : 0] + in[i] + in[i < last ? i + 1 : last]; //
}
kernel void add_past(global int *out, global int *in) {
  ADD(out + OR(GID, GID + 2), in[GID]); //
}
kernel void bytes_past(global uchar *out, global uchar *in) {
  out[GID] = in[GID + OR(0, 1)]; //
}
kernel void shorts_past(global ushort *out, global ushort *in) {
  ushort number = in[GID];
  out[GID + OR(0, 3)] = number; //
}
kernel void longs_past(global long *out, global long *in) {
  out[GID] = in[GID * OR(1, 2)] + 1; //
}
kernel void vector_past(global int *out, global int *in) {
  if (ID < 16)
    ((global int4 *)out)[get_group_id(0) * 16 + ID + OR(0, 1)] = (int4)(1, 2, 3, 4); //
  in[GID] = 3;
}
kernel void indirect(global int *out, global int *in) {
  int place = in[GID];
  out[place + OR(0, 4)] = 7; //
}
kernel void record_past(global Record *out, global int *in) {
  if (GID < 32)
    out[GID + OR(0, 1)].values[2] = in[GID]; //
}
kernel void chosen(global int *out, global int *in) {
  global int *from = GID & 1 ? out : in;
  int number = from[GID + OR(0, 16)]; //
  out[GID] = number;
}
kernel void by_pointer(global int *out, global int *in) {
  global int *at = in + GID, *end = in + OR(128, 132);
  int sum = 0;
  while (at < end) {
    sum += *at; //
    at += 4;
  }
  out[GID] = sum;
}
kernel void kept_private(global int *out, global int *in) {
  volatile gpointer each[2] = {out, in};
  int number = each[GID & 1][GID + OR(0, 40)]; //
  out[GID] = number;
}
kernel void kept_local(global int *out, global int *in) {
  local gpointer each[64];
  each[ID] = in + get_group_id(0) * 64;
  SYNC;
  global int *from = each[63 - ID];
  out[GID] = from[ID + OR(0, 70)]; //
}
kernel void negative_step(global int *out, global int *in) {
  if (GID)
    return;
  for (int i = 127; i >= OR(0, -1); i--)
    out[127] += in[i]; //
}
kernel void wrong_row(global int *out, global int *in) {
  int x = GID % 16, y = GID / 16;
  out[y * 16 + x] = in[(y + OR(0, 1)) * 16 + x]; //
}
void fill(global int *to, int count, int number) {
  for (int i = 0; i < count; i++)
    to[i] = number; //
}
kernel void in_function(global int *out, global int *in) {
  if (GID < 16)
    fill(out + GID * 8, OR(8, 12), in[GID]);
}
kernel void diverged(global int *out, global int *in) {
  int i = GID;
  if (in[i] % 3 == 0)
    out[i] = in[i + OR(0, 64)]; //
  else
    out[i] = in[i];
}
kernel void unsigned_wrap(global int *out, global int *in) {
  uint i = GID;
  out[i] = in[(i - OR(0, 1)) & 0xffffffffu]; //
}
kernel void local_past(global int *out, global int *in) {
  local int tile[64];
  tile[ID] = in[GID];
  SYNC;
  out[GID] = tile[ID + OR(0, 64)]; //
}
kernel void local_write(global int *out, global int *in) {
  local int tile[64];
  tile[ID * OR(1, 2)] = in[GID]; //
  SYNC;
  out[GID] = tile[63 - ID];
}
kernel void local_argument(global int *out, global int *in, local int *tile) {
  tile[ID + OR(0, 1)] = in[GID]; //
  SYNC;
  out[GID] = tile[ID OR(, + 1)];
}
kernel void private_past(global int *out, global int *in) {
  volatile int each[4] = {1, 2, 3, 4};
  out[GID] = each[in[GID] & OR(3, 1023)]; //
}
kernel void through_const(global int *out, OR(, const) global int *in) {
  ((global int *)in)[GID] = 1; //
  out[GID] = 2;
}
kernel void add_to_const(global int *out, OR(, const) global int *in) {
  ADD((global int *)in + GID, 1); //
  out[GID] = 2;
}
kernel void private_neighbour(global int *out, global int *in) {
  volatile int each[4] = {1, 2, 3, 4}, others[12];
  for (int i = 0; i < 12; i++)
    others[i] = in[i];
  int at = in[GID] & OR(3, 7);
  int number = each[at]; //
  out[GID] = number + others[at];
}
kernel void local_next(global int *out, global int *in) {
  local int left[64], right[64];
  left[ID] = in[GID];
  right[ID] = in[GID] + 1;
  SYNC;
  int number = left[ID + OR(0, 1)]; //
  out[GID] = number + right[63 - ID];
}
kernel void local_previous(global int *out, global int *in) {
  local int left[64], right[64];
  left[63 - ID] = in[GID] + 1;
  right[(int)ID - OR(0, 8)] = in[GID]; //
  SYNC;
  out[GID] = left[63 - ID] + right[ID & 31];
}
kernel void local_both(global int *out, global int *in) {
  local int left[64], right[64], some[128];
  some[ID] = in[GID];
  left[ID] = in[GID]; right[ID] = in[GID];
  SYNC;
  int number = left[ID + OR(0, 80)] //
    + right[63 - ID];
  out[GID] = number + some[63 - ID] + some[127 - ID];
}
kernel void local_records(global int *out, global int *in) {
  local Record rows[32]; local int others[64];
  if (ID < 32)
    rows[ID + OR(0, 1)].values[1] = in[GID]; //
  others[ID] = in[GID];
  SYNC;
  out[GID] = rows[ID & 31].values[1] + others[63 - ID];
}
kernel void local_next_argument(global int *out, global int *in, local int *one, local float *two) {
  one[ID] = in[GID];
  two[ID] = in[GID];
  SYNC;
  float number = two[(int)ID - OR(0, 4)]; //
  out[GID] = one[63 - ID] + number;
}
kernel void local_count(global int *out, global int *in) {
  local int counts[4], sums[64];
  sums[ID] = in[GID];
  if (ID < 4) counts[ID] = 0;
  SYNC;
  ADD(&counts[in[GID] & OR(3, 7)], 1); //
  SYNC;
  out[GID] = counts[ID & 3] + sums[63 - ID];
}
