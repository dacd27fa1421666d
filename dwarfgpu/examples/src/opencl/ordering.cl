// OpenCL C: threads that pass messages, with the atomic operations of clang.

// Wait for a message, and read it.
kernel void receive(global int *flag, global int *data, global int *out) {
  while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0)
    ;
  out[0] = data[0];
}

// Send one message.
kernel void send(global int *flag, global int *data, int value) {
  data[0] = value;
  __scoped_atomic_store_n(flag, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

// Send many messages.
kernel void send_all(global int *flag, global int *data, int count) {
  for (int i = 0; i < count; i++) {
    __scoped_atomic_store_n(flag, i, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    data[i] = count;
  }
}

// Take a ticket in a work-group, with a fence on each side.
kernel void ticket(local int *next, global int *out) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  int mine = __scoped_atomic_fetch_add(next, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[mine] += mine;
}
