kernel void atomics(global volatile int *counter, local volatile int *shared_counter) {
  int id = __builtin_amdgcn_workitem_id_x();
  int before = __sync_fetch_and_add(counter, id);
  int local_before = __sync_fetch_and_add(shared_counter, 1);
  counter[id + 1] = before + local_before;
}
