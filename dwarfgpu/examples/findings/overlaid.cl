typedef long long16 __attribute__((ext_vector_type(16)));
kernel void first(global long *out) {
  long16 data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  out[0] = data[1].s0;
}
