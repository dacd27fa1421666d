// Kernels whose waves are ordered by atomic operations and fences. FAULT=1 to 4 makes one of their places wrong, 0 none.
// Launched as 4 work-groups of 64 work-items, with `s` and `out` of zeros. The same text is OpenCL C and HIP.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GLOBAL
#define LOCAL __shared__
#define L ((int)threadIdx.x)
#define G ((int)blockIdx.x)
#define BARRIER __syncthreads()
#define KERNEL(name) extern "C" __global__ void name(int *d, int *s, int *out)
#else
#define GLOBAL global
#define LOCAL local
#define L ((int)get_local_id(0))
#define G ((int)get_group_id(0))
#define BARRIER barrier(0)
#define KERNEL(name) kernel __attribute__((reqd_work_group_size(64, 1, 1))) \
  void name(global int *d, global int *s, global int *out)
#endif
#if FAULT == 1
#define A1(good, bad) bad
#else
#define A1(good, bad) good
#endif
#if FAULT == 2
#define A2(good, bad) bad
#else
#define A2(good, bad) good
#endif
#if FAULT == 3
#define A3(good, bad) bad
#else
#define A3(good, bad) good
#endif
#if FAULT == 4
#define A4(good, bad) bad
#else
#define A4(good, bad) good
#endif
#define RLX __ATOMIC_RELAXED
#define ACQ __ATOMIC_ACQUIRE
#define REL __ATOMIC_RELEASE
#define AR __ATOMIC_ACQ_REL
#define DEV __MEMORY_SCOPE_DEVICE
#define GRP __MEMORY_SCOPE_WRKGRP
#define SYS __MEMORY_SCOPE_SYSTEM
#define LD(p, o, c) __scoped_atomic_load_n(p, o, c)
#define ST(p, v, o, c) __scoped_atomic_store_n(p, v, o, c)
#define ADD(p, v, o, c) __scoped_atomic_fetch_add(p, v, o, c)
#define XCHG(p, v, o, c) __scoped_atomic_exchange_n(p, v, o, c)
#define CAS(p, e, v, o, c) __scoped_atomic_compare_exchange_n(p, e, v, 0, o, RLX, c)
#define FENCE(o, scope) __builtin_amdgcn_fence(o, scope)
#define REL_FENCE(n) n(FENCE(REL, "agent"), )
#define ACQ_FENCE(n) n(FENCE(ACQ, "agent"), )
#define WAIT(condition) while (!(condition)) __builtin_amdgcn_s_sleep(1)
#define ONE if (L) return

KERNEL(publish) { ONE; // 1234
  if (G == 0) { d[0] = 7; ST(s, 1, A1(REL, RLX), A3(DEV, GRP)); }
  if (G == 1) { WAIT(LD(s, A2(ACQ, RLX), A4(DEV, GRP))); out[0] = d[0]; } }
KERNEL(publish_to_system) { ONE; // 12
  if (G == 0) { d[0] = 7; ST(s, 1, A1(REL, RLX), SYS); }
  if (G == 1) { WAIT(LD(s, A2(ACQ, RLX), SYS)); out[0] = d[0]; } }
KERNEL(publish_seq_cst) { ONE; // 12
  if (G == 0) { d[0] = 7; ST(s, 1, A1(__ATOMIC_SEQ_CST, RLX), DEV); }
  if (G == 1) { WAIT(LD(s, A2(__ATOMIC_SEQ_CST, RLX), DEV)); out[0] = d[0]; } }
KERNEL(publish_long) { ONE; // 12
  GLOBAL long *flag = (GLOBAL long *)s;
  if (G == 0) { d[0] = 7; ST(flag, 1L << 40, A1(REL, RLX), DEV); }
  if (G == 1) { WAIT(LD(flag, A2(ACQ, RLX), DEV) >> 40); out[0] = d[0]; } }
KERNEL(publish_by_fences) { ONE; // 12
  if (G == 0) { d[0] = 7; REL_FENCE(A1); ST(s, 1, RLX, DEV); }
  if (G == 1) { WAIT(LD(s, RLX, DEV)); ACQ_FENCE(A2); out[0] = d[0]; } }
KERNEL(publish_by_narrow_fences) { ONE; // 12
  if (G == 0) { d[0] = 7; A1(FENCE(REL, "agent"), FENCE(REL, "workgroup")); ST(s, 1, RLX, DEV); }
  if (G == 1) { WAIT(LD(s, RLX, DEV)); A2(FENCE(ACQ, "agent"), FENCE(ACQ, "workgroup")); out[0] = d[0]; } }
KERNEL(publish_by_exchange) { ONE; // 12
  if (G == 0) { d[0] = 7; XCHG(s, 1, A1(REL, RLX), DEV); }
  if (G == 1) { WAIT(ADD(s, 0, A2(ACQ, RLX), DEV)); out[0] = d[0]; } }
KERNEL(publish_a_pointer) { ONE; // 12
  if (G == 0) { d[5] = 7; ST(s, 5, A1(REL, RLX), DEV); }
  if (G == 1) { int at; WAIT(at = LD(s, A2(ACQ, RLX), DEV)); out[0] = d[at]; } }
KERNEL(publish_by_lanes) { // 12
  if (G == 0) { d[L] = L; ST(s + L, 1, A1(REL, RLX), DEV); }
  if (G == 1) { WAIT(LD(s + L, A2(ACQ, RLX), DEV)); out[L] = d[L]; } }
KERNEL(publish_by_group) { // 1234
  if (G == 0) { d[L] = L; A3(BARRIER, ); if (!L) ST(s, 1, A1(REL, RLX), DEV); }
  if (G == 1) { if (!L) WAIT(LD(s, A2(ACQ, RLX), DEV)); A4(BARRIER, ); out[L] = d[L ^ 40]; } }
KERNEL(hand_over) { ONE; // 12
  if (G == 0) { out[0] = d[0]; ST(s, 1, A1(REL, RLX), DEV); }
  if (G == 1) { WAIT(LD(s, A2(ACQ, RLX), DEV)); d[0] = 9; } }
KERNEL(chain) { ONE; // 1234
  if (G == 0) { d[0] = 7; ST(s, 1, A1(REL, RLX), DEV); }
  if (G == 1) { WAIT(LD(s, A2(ACQ, RLX), DEV)); d[1] = d[0]; ST(s + 1, 1, A3(REL, RLX), DEV); }
  if (G == 2) { WAIT(LD(s + 1, A4(ACQ, RLX), DEV)); out[0] = d[1]; } }
KERNEL(release_sequence) { ONE; // 12
  if (G == 0) { d[0] = 7; ST(s, 1, A1(REL, RLX), DEV); }
  if (G == 1) { int one = 1; WAIT(CAS(s, &one, 2, RLX, DEV) || (one = 1, 0)); }
  if (G == 2) { WAIT(LD(s, A2(ACQ, RLX), DEV) == 2); out[0] = d[0]; } }
KERNEL(ping_pong) { ONE; // 1234
  for (int n = 0; G < 2 && n < 3; n++) {
    if (G == 0) { d[0] += 1; ST(s, 2 * n + 1, A1(REL, RLX), DEV); WAIT(LD(s, A2(ACQ, RLX), DEV) == 2 * n + 2); }
    else { WAIT(LD(s, A3(ACQ, RLX), DEV) == 2 * n + 1); d[0] += 2; ST(s, 2 * n + 2, A4(REL, RLX), DEV); } } }
KERNEL(look_back) { ONE; // 12
  int sum = d[G];
  if (G) { WAIT(LD(s + G - 1, A2(ACQ, RLX), DEV)); sum += out[G - 1]; }
  out[G] = sum; ST(s + G, 1, A1(REL, RLX), DEV); }
KERNEL(decoupled_look_back) { ONE; // 12
  d[G + 8] = d[G]; ST(s + G, 1, A1(REL, RLX), DEV);
  int sum = d[G];
  for (int at = G - 1; at >= 0; at--) {
    int state; WAIT(state = LD(s + at, A2(ACQ, RLX), DEV));
    if (state == 2) { sum += out[at]; break; }
    sum += d[at + 8];
  }
  out[G] = sum; ST(s + G, 2, A1(REL, RLX), DEV); }
KERNEL(look_back_by_fences) { // 12
  LOCAL int before;
  d[64 * G + L + 4] = L; BARRIER;
  if (!L) { before = 0; if (G) { WAIT(LD(s + G - 1, RLX, DEV)); ACQ_FENCE(A2); before = out[G - 1]; }
            out[G] = before + d[64 * G + 7]; REL_FENCE(A1); ST(s + G, 1, RLX, DEV); }
  BARRIER; out[64 + 64 * G + L] = before; }
KERNEL(stream_k) { // 12
  if (G) { d[64 * G + L] = G; BARRIER; if (!L) ST(s + G, 1, A1(REL, RLX), DEV); return; }
  int sum = 0;
  for (int n = 1; n < 4; n++) { if (!L) WAIT(LD(s + n, A2(ACQ, RLX), DEV)); BARRIER; sum += d[64 * n + L]; }
  out[L] = sum; }
KERNEL(split_k) { // 12
  if (!L) WAIT(LD(s, A2(ACQ, RLX), DEV) == G);
  BARRIER; out[L] += d[L]; BARRIER;
  if (!L) ST(s, G + 1, A1(REL, RLX), DEV); }
KERNEL(last_group) { // 1234
  LOCAL int place;
  d[64 * G + L] = L; A4(BARRIER, );
  if (!L) place = ADD(s, 1, A1(A2(AR, REL), A2(ACQ, RLX)), A3(DEV, GRP));
  BARRIER; if (place == 3) out[L] = d[L] + d[64 + L] + d[128 + L]; }
KERNEL(last_group_by_fences) { // 12
  LOCAL int place;
  d[64 * G + L] = L; REL_FENCE(A1); BARRIER;
  if (!L) { REL_FENCE(A1); place = ADD(s, 1, RLX, DEV); ACQ_FENCE(A2); }
  BARRIER; if (place == 3) out[L] = d[L] + d[64 + L] + d[128 + L]; }
KERNEL(last_lane) { ONE; // 12
  d[G] = G; if (ADD(s, 1, A1(A2(AR, REL), A2(ACQ, RLX)), DEV) == 3) out[0] = d[0] + d[1] + d[2] + d[3]; }
KERNEL(count_of_all) { ONE; // 12
  if (G) { d[G] = G; ADD(s, 1, A1(REL, RLX), DEV); }
  else { WAIT(LD(s, A2(ACQ, RLX), DEV) == 3); out[0] = d[1] + d[2] + d[3]; } }
KERNEL(mask_of_all) { ONE; // 12
  if (G) { d[G] = G; __scoped_atomic_fetch_or(s, 1 << G, A1(REL, RLX), DEV); }
  else { WAIT(LD(s, A2(ACQ, RLX), DEV) == 14); out[0] = d[1] + d[2] + d[3]; } }
KERNEL(watermark) { ONE; // 12
  if (G == 1) for (int n = 1; n < 4; n++) { d[n] = n; __scoped_atomic_fetch_max(s, n, A1(REL, RLX), DEV); }
  if (G == 2) { int n; WAIT((n = LD(s, A2(ACQ, RLX), DEV)) >= 2); out[0] = d[n]; } }
KERNEL(references) { ONE; // 12
  out[G] = d[0]; if (ADD(s, 1, A1(REL, RLX), DEV) == 3) { ACQ_FENCE(A2); d[0] = -1; } }
KERNEL(grid_barrier) { // 12
  d[64 * G + L] = L; BARRIER;
  if (!L) { ADD(s, 1, A1(REL, RLX), DEV); WAIT(LD(s, A2(ACQ, RLX), DEV) == 4); }
  BARRIER; out[64 * G + L] = d[64 * (G ^ 1) + L]; }
KERNEL(grid_barriers) { // 12
  for (int n = 1; n < 3; n++) {
    d[64 * G + L] = L + n; BARRIER;
    if (!L && ADD(s, 1, A1(A2(AR, ACQ), RLX), DEV) % 4 == 3) ADD(s + 1, 1, A1(A2(AR, REL), RLX), DEV);
    if (!L) WAIT(LD(s + 1, A2(ACQ, RLX), DEV) >= 2 * n - 1);
    BARRIER; out[64 * G + L] += d[64 * (G ^ 1) + L]; BARRIER;
    if (!L && ADD(s, 1, A1(A2(AR, ACQ), RLX), DEV) % 4 == 3) ADD(s + 1, 1, A1(A2(AR, REL), RLX), DEV);
    if (!L) WAIT(LD(s + 1, A2(ACQ, RLX), DEV) >= 2 * n);
    BARRIER; } }
KERNEL(lock_by_cas) { ONE; // 1234
  int none = 0; WAIT(CAS(s, &none, 1, A2(ACQ, RLX), A4(DEV, GRP)) || (none = 0, 0));
  out[0] += G; ST(s, 0, A1(REL, RLX), A3(DEV, GRP)); }
KERNEL(lock_by_exchange) { ONE; // 12
  WAIT(!XCHG(s, 1, A2(ACQ, RLX), DEV)); out[0] += G; XCHG(s, 0, A1(REL, RLX), DEV); }
KERNEL(lock_by_fences) { ONE; // 12
  int none = 0; WAIT(CAS(s, &none, 1, RLX, DEV) || (none = 0, 0));
  ACQ_FENCE(A2); out[0] += G; REL_FENCE(A1); ST(s, 0, RLX, DEV); }
KERNEL(lock_of_group) { // 12
  if (!L) { int none = 0; WAIT(CAS(s, &none, 1, A2(ACQ, RLX), DEV) || (none = 0, 0)); }
  BARRIER; out[L] += G; BARRIER; if (!L) ST(s, 0, A1(REL, RLX), DEV); }
KERNEL(ticket_lock) { ONE; // 12
  int mine = ADD(s, 1, RLX, DEV); WAIT(LD(s + 1, A2(ACQ, RLX), DEV) == mine);
  out[0] += G; ST(s + 1, mine + 1, A1(REL, RLX), DEV); }
KERNEL(ticket_lock_by_fences) { ONE; // 12
  int mine = ADD(s, 1, RLX, DEV); WAIT(LD(s + 1, RLX, DEV) == mine); A2(FENCE(ACQ, "agent"), FENCE(ACQ, "workgroup"));
  out[0] += G; A1(FENCE(REL, "agent"), FENCE(REL, "workgroup")); ADD(s + 1, 1, RLX, DEV); }
KERNEL(readers_and_writer) { ONE; // 12
  if (G < 2) { int n; do { while ((n = LD(s, RLX, DEV)) < 0); } while (!CAS(s, &n, n + 1, A2(ACQ, RLX), DEV));
               out[G] = d[0]; ADD(s, -1, A1(REL, RLX), DEV); }
  else { int none = 0; WAIT(CAS(s, &none, -1, A2(ACQ, RLX), DEV) || (none = 0, 0)); d[0] += G; ST(s, 0, A1(REL, RLX), DEV); } }
KERNEL(stack) { ONE; // 12
  if (G < 2) { int head = LD(s, RLX, DEV); d[G + 1] = 50 + G; do out[G + 1] = head;
               while (!CAS(s, &head, G + 1, A1(REL, RLX), DEV)); }
  else if (G == 2) for (int n = 0; n < 2; n++) { int head; do WAIT(head = LD(s, A2(ACQ, RLX), DEV));
         while (!CAS(s, &head, out[head], A2(ACQ, RLX), DEV)); out[9 + n] = d[head]; } }
KERNEL(ring) { ONE; // 1234
  for (int n = 0; n < 5 && G < 2; n++) {
    if (G == 0) { WAIT(n - LD(s + 1, A4(ACQ, RLX), DEV) < 2); d[n & 1] = n; ST(s, n + 1, A1(REL, RLX), DEV); }
    else { WAIT(LD(s, A2(ACQ, RLX), DEV) > n); out[n] = d[n & 1]; ST(s + 1, n + 1, A3(REL, RLX), DEV); } } }
KERNEL(queue) { ONE; // 12
  if (G < 2) { int at = ADD(s, 1, RLX, DEV); d[at] = 60 + G; ST(s + 4 + at, 1, A1(REL, RLX), DEV); }
  else { int at = ADD(s + 1, 1, RLX, DEV); WAIT(LD(s + 4 + at, A2(ACQ, RLX), DEV)); out[at] = d[at]; } }
KERNEL(seqlock) { ONE; // 12
  if (G == 0) for (int n = 0; n < 3; n++) { ST(s, 2 * n + 1, RLX, DEV); FENCE(REL, "agent");
      A1(ST(d, n, RLX, DEV), d[0] = n); ST(s, 2 * n + 2, REL, DEV); }
  if (G == 1) { int first, last, found; do { first = LD(s, ACQ, DEV); found = A2(LD(d, RLX, DEV), *d);
      FENCE(ACQ, "agent"); last = LD(s, RLX, DEV); } while (first & 1 || first != last || !last); out[0] = found; } }
KERNEL(made_once) { ONE; // 12
  if (G == 3) WAIT(LD(s, RLX, DEV));
  if (!LD(s, A2(ACQ, RLX), DEV)) {
    int none = 0; WAIT(CAS(s + 1, &none, 1, ACQ, DEV) || (none = 0, 0));
    if (!LD(s, RLX, DEV)) { d[0] = 7; ST(s, 1, A1(REL, RLX), DEV); }
    ST(s + 1, 0, A1(REL, RLX), DEV);
  }
  out[G] = d[0]; }
KERNEL(made_by_the_first) { ONE; // 12
  int none = 0;
  if (CAS(s, &none, 1, RLX, DEV)) { d[0] = 7; ST(s, 2, A1(REL, RLX), DEV); }
  else { WAIT(LD(s, A2(ACQ, RLX), DEV) == 2); out[G] = d[0]; } }
KERNEL(swapped_buffers) { ONE; // 12
  if (G < 2) { d[G + 4] = 7 + G; int got = XCHG(s, G + 4, A1(A2(AR, REL), A2(ACQ, RLX)), DEV); if (got) out[G] = d[got]; } }
KERNEL(tree) { ONE; // 12
  int at = G; d[4 + G] = G;
  for (int width = 4, first = 4; width > 1; width /= 2) {
    at /= 2; if (!ADD(s + width + at, 1, A1(A2(AR, REL), A2(ACQ, RLX)), DEV)) return;
    d[first + 8 + at] = d[first + 2 * at] + d[first + 2 * at + 1]; first += 8;
  }
  out[0] = d[20]; }
KERNEL(tree_by_fences) { ONE; // 12
  int at = G; d[4 + G] = G;
  for (int width = 4, first = 4; width > 1; width /= 2) {
    at /= 2; REL_FENCE(A1); if (!ADD(s + width + at, 1, RLX, DEV)) return; ACQ_FENCE(A2);
    d[first + 8 + at] = d[first + 2 * at] + d[first + 2 * at + 1]; first += 8;
  }
  out[0] = d[20]; }
KERNEL(broadcast) { // 12
  if (G == 0) { d[L] = L; BARRIER; if (!L) ST(s, 1, A1(REL, RLX), DEV); }
  else { WAIT(LD(s, A2(ACQ, RLX), DEV)); out[64 * G + L] = d[63 - L]; } }
KERNEL(stop_of_all) { ONE; // 12
  if (G == 3) { WAIT(LD(s + 1, A2(ACQ, RLX), DEV) == 3); d[0] = 1; }
  else { int sum = 0; for (int n = 0; n < 3; n++) sum += d[n]; out[G] = sum; ADD(s + 1, 1, A1(REL, RLX), DEV); } }
