// Barriers of GFX12 in two parts, as programs use them through the builtins of clang.
#define WAVE (__builtin_amdgcn_workitem_id_x() / 32)
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define SIZE 128

kernel void first(global int *out) {
  bool is_first = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
  __builtin_amdgcn_s_barrier_wait(-1);
  out[GROUP * SIZE + __builtin_amdgcn_workitem_id_x()] = is_first;
}

// Wave 0 waits for a flag that another wave sets behind the barrier: they only meet if nobody waits for waiting waves.
kernel void ahead(global volatile int *flags, global int *out) {
  __builtin_amdgcn_s_barrier_signal(-1);
  if (WAVE == 0) {
    while (!flags[GROUP])
      __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier_wait(-1);
  if (WAVE == 1)
    flags[GROUP] = 7;
  out[GROUP * SIZE + __builtin_amdgcn_workitem_id_x()] = WAVE == 0 ? flags[GROUP] : 1;
}

kernel void turns(global int *out) {
  local int number;
  int total = 0;
  for (int turn = 0; turn < 5; turn++) {
    if (WAVE == turn % 4)
      number = turn * 10;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier_signal(-1);
    __builtin_amdgcn_s_barrier_wait(-1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    total += number;
    __builtin_amdgcn_s_barrier_signal(-1);
    __builtin_amdgcn_s_barrier_wait(-1);
  }
  out[GROUP * SIZE + __builtin_amdgcn_workitem_id_x()] = total;
}

kernel void leaving(global int *out) {
  if (WAVE == 3)
    return;
  __builtin_amdgcn_s_barrier_signal(-1);
  __builtin_amdgcn_s_barrier_wait(-1);
  out[GROUP * SIZE + __builtin_amdgcn_workitem_id_x()] = 1;
}

kernel void state(global int *out) {
  out[GROUP * SIZE + __builtin_amdgcn_workitem_id_x()] = __builtin_amdgcn_s_get_barrier_state(-1);
}
