// Kernels with a data race, and with MENDED without it. Work-groups have 256 work-items: several waves.
#define NEXT __scoped_atomic_fetch_add(turn, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define READ(place) __scoped_atomic_load_n(place, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define WRITE(place, number) __scoped_atomic_store_n(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#ifdef MENDED
#define SYNC barrier(0)
#else
#define SYNC
#endif

kernel void reversed(global int *out, local int *t) {
  int l = get_local_id(0); t[l] = l; SYNC; out[get_global_id(0)] = t[255 - l];
}
kernel void sum_of_group(global int *out, local int *t) {
  int l = get_local_id(0); t[l] = l; barrier(0);
  for (int s = 128; s; s >>= 1) { if (l < s) t[l] += t[l + s]; SYNC; }
  barrier(0);
  if (!l) out[get_group_id(0)] = t[0];
}
kernel void shifted_in_turns(global int *out, local int *t) {
  int l = get_local_id(0), x = l;
  for (int n = 0; n < 4; n++) { t[l] = x; barrier(0); x = t[(l + 64) & 255]; SYNC; }
  out[get_global_id(0)] = x;
}
kernel void one_buffer_of_two(global int *out, local int *t) {
  int l = get_local_id(0), x = l;
  for (int n = 0; n < 6; n++) {
#ifdef MENDED
    local int *now = t + (n & 1) * 256;
#else
    local int *now = t;
#endif
    now[l] = x; barrier(0); x = now[l ^ 128] + 1;
  }
  out[get_global_id(0)] = x;
}
kernel void counted_plainly(global volatile int *total) {
  if (get_local_id(0) & 63) return;
#ifdef MENDED
  ADD(total, 1);
#else
  *total = *total + 1;
#endif
}
kernel void largest(global volatile int *best, global int *lock) {
  int mine = (get_group_id(0) * 5 + 3) % 16 + 1;
  if (get_local_id(0)) return;
#ifdef MENDED
  __scoped_atomic_fetch_max((global int *)best, mine, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
#else
  if (mine > *best) *best = mine;
#endif
}
kernel void message(global int *out, global volatile int *data, global int *flag) {
  int g = get_group_id(0);
  if (get_local_id(0)) return;
  if (g & 1) {
    out[g] = 1;
    if (READ(flag + g / 2)) out[g] = data[g / 2];
  } else {
    int number = 0;
    for (int n = 0; n < 20; n++) number += READ(flag + 100 + n) + 1;
#ifdef MENDED
    data[g / 2] = number / 20;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    WRITE(flag + g / 2, 1);
#else
    WRITE(flag + g / 2, 1);
    data[g / 2] = number / 20;
#endif
  }
}
kernel void listed(global int *list, global volatile int *size) {
  if (get_local_id(0)) return;
#ifdef MENDED
  int place = ADD(size, 1);
#else
  int place = *size;
  *size = place + 1;
#endif
  list[place] = 1;
}
kernel void smoothed(global int *out, global volatile int *in) {
  int i = get_global_id(0), n = get_local_size(0) * 16;
#ifdef MENDED
  out[i] = in[(i + 64) % n] + 1;
#else
  int sum = in[(i + 64) % n] + 1;
  in[i] = sum;
  out[i] = sum;
#endif
}
kernel void taken_twice(global int *out, global volatile int *lock) {
  if (get_local_id(0)) return;
#ifdef MENDED
  if (__scoped_atomic_exchange_n(lock, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 0) ADD(out, 1);
#else
  if (*lock == 0) { *lock = 1; ADD(out, 1); }
#endif
}
// Work-groups wait for a lock, all together, until it is free.
kernel void in_turns(global int *total, global int *lock, local int *got) {
  int l = get_local_id(0);
  for (;;) {
    if (!l) *got = __scoped_atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0;
    barrier(0);
    int has = *got;
    barrier(0);
    if (has) break;
  }
  if (!l) { WRITE(total, READ(total) + 1); __scoped_atomic_store_n(lock, 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE); }
}
