typedef float pair __attribute__((ext_vector_type(2)));
kernel void scaled(global pair *out, global const pair *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  pair half_of = 0.5f;
  pair sum = in[id] + half_of;
  out[id] = sum * half_of;
}
