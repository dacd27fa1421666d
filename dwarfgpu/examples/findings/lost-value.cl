typedef unsigned long u64;
static u64 mix(u64 acc, u64 v) { return (acc << 7 | acc >> 57) + v; }
static u64 rot(u64 x, unsigned n) { n &= 63; return x << n | x >> (-n & 63); }
kernel void lost(global u64 *out, global const long *in, local u64 *t) {
  unsigned lid = __builtin_amdgcn_workitem_id_x(), gid = __builtin_amdgcn_workgroup_id_x() * 128 + lid, x = lid;
  u64 acc = gid;
  t[lid] = gid;
  __builtin_amdgcn_s_barrier();
  long v = in[(gid * 5 + 52) & 511];
  switch (((unsigned)t[x & 127]) & 7) {
  case 1: v = 0x3246573607345733l;
  case 2: acc = mix(acc, rot(acc, x) >> ((lid >> 2) & 63)); break;
  }
  out[gid] = mix(mix(acc, (u64)x), (u64)v);
}
