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

KERNEL loads(shared_int *flag, __global int *out) {
  out[ID] = *flag + 1; // load
}
