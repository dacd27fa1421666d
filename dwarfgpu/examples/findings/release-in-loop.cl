kernel void publish(global atomic_int *flags, int n) {
  for (int i = 0; i < n; ++i)
    __opencl_atomic_store(flags + i, i, memory_order_release, memory_scope_device);
}
