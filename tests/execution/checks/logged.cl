// Races whose accesses follow each other without a barrier: what one finds there is what the others have left.
#define L ((int)get_local_id(0))
#define I ((int)get_global_id(0))
#define ADD(place, number) __scoped_atomic_fetch_add(place, number, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)

kernel void counted(global int *out, global int *in) { // read and reset without a barrier
  local int bins[16];
  if (L < 16)
    bins[L] = L;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 3; ++i)
    ADD(&bins[in[I] + i & 15], 1 + i);
  out[I] = bins[L & 15];
  if (L == 70)
    bins[5] = 100;
  ADD(&bins[5], out[I]);
  out[I] += bins[5];
}
kernel void results(global int *out, global int *in) { // what atomic operations return; two of 64 bits
  local long sums[8];
  local int most;
  sums[L & 7] = L;
  long old = __scoped_atomic_fetch_add(&sums[in[I] & 7], 3, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  most = L & 1;
  old += __scoped_atomic_fetch_max(&most, (int)old, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  int expected = 7;
  __scoped_atomic_compare_exchange_n(&most, &expected, L, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  out[I] = old + most;
}
kernel void handed(global int *out, global int *in) { // only the first one is handed over rightly
  local int flags[2], data[128];
  data[L] = in[I];
  if (L < 2)
    flags[L] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  data[L] += 5;
  __scoped_atomic_fetch_add(&flags[0], 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP);
  int seen = __scoped_atomic_load_n(&flags[0], __ATOMIC_ACQUIRE, __MEMORY_SCOPE_WRKGRP);
  out[I] = data[L ^ 64] + seen;
  data[L] = 3;
  ADD(&flags[1], 1);
  seen = __scoped_atomic_load_n(&flags[1], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  out[I] += data[L ^ 64] + seen;
}
kernel void sizes(global char *out, global int *in) { // parts of a word, and several words
  local uchar bytes[64];
  local ushort halfs[32];
  local int4 wide[9];
  local int *words = (local int *)wide;
  bytes[L & 63] = in[I];
  halfs[L >> 1 & 31] = bytes[in[I] & 63];
  wide[L & 7] = (int4)(L, L + 1, in[I], 7);
  words[(L & 7) + 2] += halfs[L & 31];
  *(local int2 *)(words + (in[I] & 14)) = (int2)(words[L & 31], 9);
  out[I / 2] = words[in[I] & 31];
  out[I / 3 + 512] = bytes[L & 31];
  *(global ushort *)(out + 1024 + (in[I] & 6)) = L;
}
kernel void pairs(global int *out, global int *in) { // stores and loads of two places
  local int ones[128], twos[128];
  ones[in[I] & 127] = L;
  twos[in[I] & 127] = I;
  out[I] = ones[L ^ 64] + twos[L];
  ones[L ^ 64] = twos[in[I] + 3 & 127];
  out[I] -= ones[L];
}
kernel void beside(global int *out, global int *in) { // an instruction stores both, the first ones of all waves first
  local int places[129];
  places[L] = in[I] + 1;
  places[L + 1] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __asm__ volatile("" ::"v"((local int *)places) : "memory");
  places[L] = L;
  out[I] = places[L];
}
kernel void shared(global int *out, global int *in) { // by all work-groups
  out[in[I] & 63] = I;
  __scoped_atomic_fetch_add(&out[64 + (L & 7)], I, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  out[64 + (L & 3)] += 1;
  __scoped_atomic_fetch_or(&out[128 + (L & 7)], I, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  if (__scoped_atomic_fetch_add(&out[72], 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == 20)
    out[80 + L] = out[in[I] & 63];
  out[200 + I] = out[200 + (I ^ 128)];
}
kernel void mixed(global int *out, global int *in) { // to local memory for some lanes
  local int near[64];
  int *place = in[I] & 1 ? (int *)&near[L & 63] : (int *)&out[L & 63];
  *place = in[I];
  __scoped_atomic_fetch_add(place, 2, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  out[128 + I] = near[L & 63] + *place;
  *place += L;
}
