// Kernels that use what nothing has written, and with MENDED do not. `raw` has no contents. Lines that use it end with ///.
#ifdef MENDED
#define FIX(code) code
#define OR(mended, faulty) mended
#else
#define FIX(code)
#define OR(mended, faulty) faulty
#endif
#ifdef HOST
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ADD(place, number) atomic_add(place, number)
#define SWAP(place, number) atomic_xchg(place, number)
#define FIRST(number) (number)
#define OTHER(lane, number) (number)
#define AS_FLOAT(number) as_float(number)
#else
#define SYNC barrier(0)
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define SWAP(place, number) __scoped_atomic_exchange_n(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define FIRST(number) __builtin_amdgcn_readfirstlane(number)
#define OTHER(lane, number) __builtin_amdgcn_ds_bpermute(4 * (lane), number)
#define AS_FLOAT(number) __builtin_astype(number, float)
#endif
#define ID get_local_id(0)
#define GID get_global_id(0)
#define KERNEL(name) kernel void name(global int *out, global int *in, global int *raw)
struct pair { char letter; int number; };
struct wide { long first; int second; };

// --- Private memory

KERNEL(private_array) {
  volatile int tmp[8];
  for (int n = 0; n < OR(8, 7); n++)
    tmp[n] = in[GID] * n;
  out[GID] = tmp[in[GID] & 7]; ///
}
KERNEL(private_branch) {
  volatile int tmp[8];
  for (int n = 0; n < OR(8, 7); n++)
    tmp[n] = in[GID] * n;
  if (tmp[in[GID] & 7] > 900) ///
    out[GID] = 1;
}
KERNEL(private_address) {
  volatile int tmp[8];
  for (int n = 0; n < OR(8, 7); n++)
    tmp[n] = in[GID] + n;
  out[tmp[in[GID] & 7] & 255] = 7; ///
}
KERNEL(one_way) {
  volatile int x;
  if (OR(1, in[GID] > 10))
    x = 5;
  out[GID] = x; ///
}
KERNEL(sum) {
  volatile int x;
  FIX(x = 3;)
  out[GID] = x * 3 + in[GID]; ///
}
KERNEL(bytes) {
  volatile uchar tmp[16];
  for (int n = 0; n < OR(16, 15); n++)
    tmp[n] = in[GID] + n;
  int at = in[GID] & 12;
  out[GID] = tmp[at] | tmp[at + 1] << 8 | tmp[at + 2] << 16 | tmp[at + 3] << 24; ///
}
KERNEL(half_of_word) {
  volatile union { short part[2]; int whole; } u;
  u.part[0] = in[GID];
  out[GID] = u.whole OR(& 0xffff, >> 8); ///
}
KERNEL(long_number) {
  volatile union { int part[2]; long whole; } u;
  u.part[0] = in[GID];
  FIX(u.part[1] = 1;)
  out[GID] = u.whole >> (in[GID] & 31); ///
}
KERNEL(component) {
  volatile int4 tmp[4];
  for (int n = 0; n < 4; n++) {
    tmp[n].x = in[GID], tmp[n].y = n, tmp[n].z = 3;
    FIX(tmp[n].w = 4;)
  }
  out[GID] = tmp[in[GID] & 3].y + tmp[in[GID] & 3].w; ///
}
void set_some(int *p, int n) __attribute__((noinline)) {
  if (OR(1, n & 1))
    *p = n;
}
KERNEL(by_pointer) {
  int x;
  set_some(&x, in[GID]);
  out[GID] = x; ///
}
KERNEL(structure) {
  volatile struct pair tmp[4];
  for (int n = 0; n < 4; n++) {
    tmp[n].letter = n;
    FIX(tmp[n].number = n;)
  }
  global struct pair *pairs = (global struct pair *)out;
  pairs[GID].number = tmp[in[GID] & 3].number; ///
}
kernel void padding(global struct pair *out, global int *in, global int *raw) {
  volatile struct pair tmp[4];
  for (int n = 0; n < 4; n++) {
    tmp[n].letter = n;
    FIX(tmp[n].number = n;)
  }
  out[GID] = tmp[in[GID] & 3]; ///
}
kernel void last_padding(global struct wide *out, global int *in, global int *raw) {
  volatile struct wide tmp;
  tmp.second = in[GID];
  FIX(tmp.first = 1;)
  out[GID] = tmp; ///
}

// --- Local memory

KERNEL(local_array) {
  local int tile[128];
  if (OR(1, ID < 100))
    tile[ID] = in[GID];
  SYNC;
  out[GID] = tile[127 - ID]; ///
}
KERNEL(local_branch) {
  local int tile[128];
  if (OR(1, ID != 9))
    tile[ID] = in[GID];
  SYNC;
  if (tile[127 - ID] & 1) ///
    out[GID] = 3;
}
KERNEL(local_address) {
  local int tile[128];
  if (OR(1, ID != 9))
    tile[ID] = in[GID];
  SYNC;
  out[tile[127 - ID] & 511] = 3; ///
}
KERNEL(local_bytes) {
  local uchar tile[128];
  if (OR(1, ID & 3))
    tile[ID] = in[GID];
  SYNC;
  out[GID] = tile[127 - ID]; ///
}
KERNEL(counter) {
  local int count;
#ifdef MENDED
  if (!ID)
    count = 0;
  SYNC;
#endif
  ADD(&count, 1);
  SYNC;
  out[GID] = count; ///
}
KERNEL(exchanged) {
  local int place[128];
  int old;
  FIX(place[ID] = 4;)
  old = SWAP(&place[ID], in[GID]);
  out[GID] = old + place[ID]; ///
}
kernel void local_argument(global int *out, global int *in, global int *raw, local int *tile) {
  tile[ID] = in[GID];
  SYNC;
  out[GID] = tile[ID + OR(0, 2)]; ///
}

// --- Global memory

KERNEL(copy) {
  out[GID] = OR(in, raw)[GID]; ///
}
KERNEL(choice) {
  out[GID] = OR(in, raw)[GID] > 3 ? 5 : 9; ///
}
KERNEL(branch) {
  int x = OR(in, raw)[GID];
  if (x > 40) ///
    ADD(&in[GID], 4);
}
KERNEL(address) {
  out[OR(in, raw)[GID] & 255] = 5; ///
}
KERNEL(partly) {
  if (OR(1, !(GID & 4)))
    raw[GID] = in[GID];
  out[GID] = raw[GID]; ///
}
KERNEL(scalar_branch) {
  for (int n = 0; n < (FIRST(OR(in, raw)[get_group_id(0)]) & 3); n++) ///
    out[GID] += in[n];
}
KERNEL(lanes) {
  int x = in[GID] & 3 ? in[GID] : OR(in, raw)[GID];
  out[GID] = OTHER(ID ^ 1, x); ///
}
KERNEL(floats) {
  float x = AS_FLOAT(OR(in, raw)[GID]) * 0.5f;
  out[GID] = x; ///
}
KERNEL(masked) {
  out[GID] = (raw[GID] & 0xf0) >> OR(8, 4) | in[GID]; ///
}
KERNEL(added_to) {
  ADD(&out[0], OR(in, raw)[GID]); ///
}
KERNEL(halves) {
  ushort2 x = {raw[GID], in[GID]};
  x = x * (ushort2)(3, 5) + (ushort2)(1, 2);
  out[GID] = x.OR(y, x); ///
}
