// Litmus tests: LITMUS, SCOPE, FENCE_SCOPE, ONE_GROUP, LOCAL_X, LOCAL_Y and WAVE are macros.
// A work-item is one thread of one test: of several work-groups, or, with ONE_GROUP, of waves of one.

#define LOAD(p, order) __scoped_atomic_load_n(p, __ATOMIC_##order, SCOPE)
#define STORE(p, order) __scoped_atomic_store_n(p, 1, __ATOMIC_##order, SCOPE)

#define MP 1
#define SB 2
#define LB 3
#define IRIW 4
#define COHERENCE 5
#define MP_FENCES 6
#define MP_RMW 7

#define THREADS (LITMUS == IRIW ? 4 : 2)

#ifdef FENCE_SCOPE
#define FENCE(order) __builtin_amdgcn_fence(__ATOMIC_##order, FENCE_SCOPE)
#else
#define FENCE(order)
#endif

#ifdef ONE_GROUP
__attribute__((reqd_work_group_size(THREADS * WAVE, 1, 1)))
#else
__attribute__((reqd_work_group_size(WAVE, 1, 1)))
#endif
kernel void litmus(global int *xs, global int *ys, global int *out)
{
  uint group = __builtin_amdgcn_workgroup_id_x(), item = __builtin_amdgcn_workitem_id_x();
#ifdef ONE_GROUP
  uint role = __builtin_amdgcn_readfirstlane(item / WAVE), lane = item % WAVE, test = group * WAVE + lane;
#else
  uint role = group % THREADS, lane = item, test = group / THREADS * WAVE + lane;
#endif
#ifdef LOCAL_X
  local int local_x[WAVE];
  local int *x = &local_x[lane];
#else
  global int *x = &xs[test];
#endif
#ifdef LOCAL_Y
  local int local_y[WAVE];
  local int *y = &local_y[lane];
#else
  global int *y = &ys[test];
#endif
  out += test * 4;

#if LITMUS == MP
  if (role == 0) {
    *x = 1;
    STORE(y, RELEASE);
  } else {
    int seen = LOAD(y, ACQUIRE), value = *x;
    out[0] = seen, out[1] = value;
  }
#elif LITMUS == MP_FENCES
  if (role == 0) {
    *x = 1;
    FENCE(RELEASE);
    STORE(y, RELAXED);
  } else {
    int seen = LOAD(y, RELAXED);
    FENCE(ACQUIRE);
    int value = *x;
    out[0] = seen, out[1] = value;
  }
#elif LITMUS == MP_RMW
  if (role == 0) {
    *x = 1;
    __scoped_atomic_fetch_add(y, 1, __ATOMIC_RELEASE, SCOPE);
  } else {
    int seen = __scoped_atomic_fetch_or(y, 0, __ATOMIC_ACQUIRE, SCOPE), value = *x;
    out[0] = seen, out[1] = value;
  }
#elif LITMUS == SB
  if (role == 0) {
    STORE(x, SEQ_CST);
    out[0] = LOAD(y, SEQ_CST);
  } else {
    STORE(y, SEQ_CST);
    out[1] = LOAD(x, SEQ_CST);
  }
#elif LITMUS == LB
  if (role == 0) {
    out[0] = LOAD(x, ACQUIRE);
    STORE(y, RELEASE);
  } else {
    out[1] = LOAD(y, ACQUIRE);
    STORE(x, RELEASE);
  }
#elif LITMUS == IRIW
  if (role == 0)
    STORE(x, SEQ_CST);
  else if (role == 1)
    STORE(y, SEQ_CST);
  else if (role == 2) {
    int first = LOAD(x, SEQ_CST), second = LOAD(y, SEQ_CST);
    out[0] = first, out[1] = second;
  } else {
    int first = LOAD(y, SEQ_CST), second = LOAD(x, SEQ_CST);
    out[2] = first, out[3] = second;
  }
#elif LITMUS == COHERENCE
  if (role == 0)
    STORE(x, RELAXED);
  else {
    int first = LOAD(x, RELAXED), second = LOAD(x, RELAXED);
    out[0] = first, out[1] = second;
  }
#endif
}
