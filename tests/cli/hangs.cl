// Kernels of three waves that hang, and some that do not.
#define ID __builtin_amdgcn_workitem_id_x()
#define WAVE (ID / __builtin_amdgcn_wavefrontsize())
#define BARRIER __builtin_amdgcn_s_barrier()
#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
typedef __global volatile int shared_int;

KERNEL late(shared_int *flag, __global int *out) {
  if (WAVE == 1)
    while (*flag == 0) // spin
      ;
  BARRIER; // barrier
  out[ID] = 1;
}

KERNEL gone(shared_int *flag, __global int *out) {
  if (WAVE == 0)
    return;
  if (WAVE == 2)
    while (*flag == 0) // spin
      ;
  BARRIER; // barrier
  out[ID] = 1;
}

KERNEL two(shared_int *flag, __global int *out) {
  if (WAVE == 0) {
    BARRIER; // first
    out[ID] = 1;
  } else {
    if (WAVE == 1)
      while (*flag == 0) // spin
        ;
    BARRIER; // barrier
    out[ID] = 2;
  }
}

KERNEL halts(shared_int *flag, __global int *out) {
  if (WAVE == 1)
    __asm volatile("s_sethalt 1"); // halt
  BARRIER; // barrier
  out[ID] = 1;
}

KERNEL rests(shared_int *flag, __global int *out) {
  __builtin_amdgcn_s_sleep(1);
  out[ID] = *flag;
}

KERNEL loads(shared_int *flag, __global int *out) {
  out[ID] = *flag + 1; // load
}

KERNEL lock(shared_int *flag, __global int *out) {
  while (__opencl_atomic_exchange((__global volatile atomic_int *)flag, 1, memory_order_relaxed, memory_scope_device)) // spin
    ;
  out[ID] = 1; // the lock is not released
}

KERNEL swap(shared_int *flag, __global int *out) {
  int zero = 0;
  while (!__opencl_atomic_compare_exchange_strong((__global volatile atomic_int *)flag, &zero, 1, memory_order_relaxed, memory_order_relaxed, memory_scope_device)) // spin
    zero = 0;
  out[ID] = 1; // the lock is not released
}

KERNEL sleep(shared_int *flag, __global int *out) {
  while (*flag != 7) // spin
    __builtin_amdgcn_s_sleep(1);
  out[ID] = 1;
}

KERNEL group(shared_int *flag, __global int *out) {
  __local volatile int ready;
  ready = 3;
  while (ready != 9) // spin
    ;
  out[ID] = 1;
}

KERNEL counts(shared_int *flag, __global int *out) {
  int count = 0;
  while (*flag == 0)
    count++;
  out[ID] = count;
}

KERNEL works(shared_int *flag, __global int *out) {
  for (int i = 0; i < 100000; i++)
    out[ID] += i ^ *flag;
}

KERNEL tells(shared_int *flag, __global int *out) {
  while (*flag < 100000)
    *flag = *flag + 1;
  out[ID] = 1;
}

KERNEL held(shared_int *flag, __global int *out) {
  while (__opencl_atomic_exchange((__global volatile atomic_int *)flag, 1, memory_order_relaxed, memory_scope_device)) // spin
    ;
  return; // the first lane of each wave leaves with the lock
}

KERNEL handed(shared_int *flag, __global int *out) {
  if (WAVE == 0) {
    *flag = 1;
    return;
  }
  if (WAVE == 2) {
    while (*flag != 1)
      ;
    *flag = 2; // last
    return;
  }
  while (*flag != 7) // spin
    ;
}

KERNEL busy(shared_int *flag, __global int *out) {
  if (WAVE == 0) {
    *flag = 1; // last
    for (int i = 0; i >= 0; i++)
      out[ID] = i;
  }
  while (*flag != 7) // spin
    ;
}

#ifdef __gfx1200__
KERNEL split(shared_int *flag, __global int *out) {
  if (WAVE == 2)
    while (*flag == 0) // late
      ;
  __builtin_amdgcn_s_barrier_signal(-1);
  if (WAVE == 1)
    while (*flag == 0) // spin
      ;
  __builtin_amdgcn_s_barrier_wait(-1); // barrier
  out[ID] = 1;
}
#endif
