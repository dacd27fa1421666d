// Kernels with an access that is not aligned, and with MENDED without it. Work-groups have 64 work-items, the grid 128.
// `bytes` has 2,048 bytes. The wrong access is in a line that ends with two slashes.
#ifdef MENDED
#define OR(mended, faulty) mended
#else
#define OR(mended, faulty) faulty
#endif
#ifdef HOST
#define ADD(place, number) atomic_add(place, number)
#define ADD_LONG(place, number) atom_add(place, number)
#else
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define ADD_LONG ADD
#endif
#define ID get_local_id(0)
#define GID get_global_id(0)
typedef struct { char kind; int number; } Record;
typedef OR(struct __attribute__((packed)), struct) { int first; long second; } Pair;

kernel void read_int(global int *out, global uchar *bytes) {
  out[GID] = *(global int *)(bytes + 4 * GID + OR(0, 1)); //
}
kernel void write_int(global int *out, global uchar *bytes) {
  *(global int *)(bytes + 4 * GID + OR(0, 2)) = GID; //
  out[GID] = 1;
}
kernel void read_short(global int *out, global uchar *bytes) {
  out[GID] = *(global short *)(bytes + 2 * GID + OR(0, 1)); //
}
kernel void write_short(global int *out, global uchar *bytes) {
  global short *to = (global short *)(bytes + OR(0, 1));
  to[GID] = out[GID]; //
}
kernel void read_long(global int *out, global uchar *bytes) {
  global long *from = (global long *)(bytes + OR(0, 4));
  long number = from[GID]; //
  out[GID] = number >> 3;
}
kernel void read_double(global double *out, global uchar *bytes) {
  double number = *(global double *)(bytes + 8 * GID + OR(8, 4)); //
  out[GID] = number + 1;
}
kernel void read_float(global float *out, global uchar *bytes) {
  global float *from = (global float *)(bytes + OR(0, 3));
  float number = *from++; //
  out[GID] = number;
}
kernel void read_int4(global int *out, global uchar *bytes) {
  int4 four = *(global int4 *)(bytes + 16 * ID + OR(0, 8)); //
  out[GID] = four.x + four.w;
}
kernel void write_int2(global int *out, global uchar *bytes) {
  *(global int2 *)(bytes + 8 * GID + OR(0, 4)) = (int2)(1, 2); //
  out[GID] = 1;
}
kernel void vector_or_four(global int *out, global int *in) {
#ifdef MENDED
  int sum = in[GID + 1] + in[GID + 2] + in[GID + 3] + in[GID + 4];
#else
  int4 four = *(global int4 *)(in + GID + 1); //
  int sum = four.x + four.y + four.z + four.w;
#endif
  out[GID] = sum;
}
kernel void records(global int *out, global uchar *bytes) {
  global Record *from = (global Record *)(bytes + OR(0, 2));
  int number = from[GID].number; //
  out[GID] = number;
}
kernel void packed(global int *out, global uchar *bytes) {
  global Pair *from = (global Pair *)(bytes + 12 * GID + 4);
#ifdef MENDED
  long number = from->second;
#else
  long number = *(global long *)((global uchar *)from + 8); //
#endif
  out[GID] = number % 1000;
}
kernel void one_for_all(global int *out, global uchar *bytes) {
  int number = *(global int *)(bytes + OR(8, 9)); //
  out[GID] = number;
}
kernel void constant_table(global int *out, constant uchar *bytes) {
  int number = *(constant int *)(bytes + OR(0, 2)); //
  out[GID] = number;
}
kernel void add_int(global int *out, global uchar *bytes) {
  ADD((global int *)(bytes + 4 * GID + OR(0, 2)), 1); //
  out[GID] = 1;
}
kernel void add_long(global int *out, global uchar *bytes) {
  ADD_LONG((global long *)(bytes + 8 * ID + OR(0, 4)), 1L); //
  out[GID] = 1;
}
kernel void local_int(global int *out, global uchar *bytes) {
  local uchar tile[512];
  local int *to = (local int *)(tile + 4 * ID + OR(0, 1));
  *to = GID; //
  out[GID] = bytes[GID] + tile[4 * ID];
}
kernel void local_long(global int *out, global uchar *bytes) {
  local int tile[256];
  tile[ID] = bytes[ID];
  local long *from = (local long *)(tile + bytes[OR(2, 1)]);
  long number = from[ID]; //
  out[GID] = number % 1000;
}
kernel void local_add(global int *out, global uchar *bytes) {
  local int tile[256];
  local int *to = (local int *)((local uchar *)tile + 4 * ID + bytes[OR(0, 2)]);
  ADD(to, 1); //
  out[GID] = tile[ID];
}
kernel void private_int(global int *out, global uchar *bytes) {
  volatile uchar each[32];
  for (int i = 0; i < 32; i++)
    each[i] = bytes[GID + i];
  int at = (bytes[3] & 3) * 4 + OR(0, 1);
  int number = *(volatile int *)(each + at); //
  out[GID] = number;
}
kernel void diverged_int(global int *out, global uchar *bytes) {
  int at = GID & 1 ? OR(4, 5) : 8;
  out[GID] = *(global int *)(bytes + at); //
}
