// Kernels with an error that a check finds, and with MENDED without it. Work-groups have 128 work-items, at least 2 waves.
// The lines of both sides end with a number of slashes.
#ifdef MENDED
#define FIX(code) code
#define OR(mended, faulty) mended
#else
#define FIX(code)
#define OR(mended, faulty) faulty
#endif
#ifdef HOST
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL_SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(place, number) atomic_add(place, number)
#define FENCE(order) mem_fence(CLK_GLOBAL_MEM_FENCE)
#else
#define SYNC barrier(0)
#define LOCAL_SYNC do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local"); } while (0)
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define FENCE(order) __builtin_amdgcn_fence(order, "agent")
#endif
#define ID get_local_id(0)
#define GID get_global_id(0)

kernel void read_too_early(global int *out, global int *in) {
  local int tile[128];
  tile[ID] = in[GID]; //
  FIX(SYNC);
  out[GID] = tile[127 - ID]; ///
}
kernel void overwritten(global int *out, global int *in) {
  local int tile[128];
  int sum = 0;
  for (int n = 0; n < 3; n++) {
    tile[ID] = in[GID] + n; //
    SYNC;
    sum += tile[127 - ID]; ///
    FIX(SYNC);
  }
  out[GID] = sum;
}
kernel void two_values(global int *out, global int *in) {
  local int tile[128];
  tile[OR(ID, ID & 63)] = in[GID]; // ///
  SYNC;
  out[GID] = tile[ID & 63];
}
kernel void two_lanes(global int *out, global int *in) {
  local int tile[128];
  tile[OR(ID, ID / 2)] = in[GID]; // ///
  SYNC;
  out[GID] = tile[ID / 2];
}
kernel void bytes(global uchar *out, global uchar *in) {
  local uchar tile[129];
  tile[ID] = in[GID]; //
  FIX(SYNC);
  out[GID] = tile[ID ^ OR(127, 64)]; ///
}
kernel void wide(global long *out, global long *in) {
  local long tile[128];
  tile[ID] = in[GID]; //
  FIX(SYNC);
  out[GID] = tile[ID ^ 64] + 1; ///
}
kernel void local_argument(global int *out, global int *in, local int *tile) {
  tile[ID] = in[GID]; //
  FIX(SYNC);
  out[GID] = tile[127 - ID]; ///
}
kernel void in_group(global int *out, global int *in) {
  in[GID] = ID; //
  FIX(SYNC);
  out[GID] = in[GID ^ 127]; ///
}
kernel void fence_of_local(global int *out, global int *in) {
  in[GID] = ID; //
  OR(SYNC, LOCAL_SYNC);
  out[GID] = in[GID ^ 127]; ///
}
kernel void between_groups(global int *out, global int *in) {
  int number = in[OR(GID, GID ^ 128)]; //
  OR(out, in)[GID] = number + 1; ///
}
kernel void one_for_all(global int *out, global int *in) {
  OR(out, in)[GID] = ID; //
  out[GID + 512] = in[300]; ///
}
kernel void counter(global int *out, global int *in) {
  local int count;
  if (!ID)
    count = in[0]; //
  FIX(SYNC);
  ADD(&count, 1); ///
  SYNC;
  if (!ID)
    out[get_group_id(0)] = count;
}
kernel void total(global int *out, global int *in) {
  if (ID & 63) return;
#ifdef MENDED
  ADD(out, in[GID]);
#else
  out[0] += in[GID]; // ///
#endif
}
kernel void last_group(global int *out, global int *in) {
  local int place;
  if (!ID) {
#ifdef MENDED
    in[get_group_id(0)] = 7;
    FENCE(__ATOMIC_RELEASE);
    place = ADD(out, 1);
    FENCE(__ATOMIC_ACQUIRE);
#else
    place = ADD(out, 1);
    in[get_group_id(0)] = 7; //
#endif
  }
  SYNC;
  if (place == 3)
    out[ID + 1] = in[ID & 3]; ///
}
kernel void some_lanes(global int *out, global int *in) {
  local int tile[128];
  tile[ID] = in[GID];
  FIX(SYNC);
  if (in[GID] & 1) {
    OR(, SYNC); // ///
    out[GID] = tile[ID];
  }
}
kernel void some_waves(global int *out, global int *in) {
  local int tile[128];
  tile[ID] = in[GID];
  FIX(SYNC);
  if (ID < 64) {
    OR(, SYNC); //
    out[GID] = tile[ID];
  }
} ///
kernel void two_barriers(global int *out, global int *in) {
  if (ID < 64) {
    out[GID] = in[GID] * 3;
    OR(, SYNC); //
  } else {
    out[GID] = in[GID] + 5;
    OR(, SYNC); ///
  }
  FIX(SYNC);
}
kernel void some_leave(global int *out, global int *in) {
  if (OR(GID == 600, in[GID] == 100)) return;
  SYNC; // ///
  out[GID] = in[GID];
}
kernel void some_stay(global int *out, global int *in) {
  int sum = 0;
  for (int n = 0; n < OR(3, (in[GID] & 3)); n++) {
    sum += in[GID ^ n];
    SYNC; // ///
  }
  out[GID] = sum;
}
kernel void same_value(global int *out) {
  out[OR(GID, 0)] = 5; // ///
}
