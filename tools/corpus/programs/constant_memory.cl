constant int primes[4] = { 2, 3, 5, 7 };
constant float ratio = 1.5f;
kernel void constant_memory(global float *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  int prime = primes[id & 3];
  float scaled = prime * ratio;
  out[id] = scaled;
}
