kernel void publish(global atomic_int *flag) {
  __opencl_atomic_store(flag, 1, memory_order_release, memory_scope_all_svm_devices);
}
