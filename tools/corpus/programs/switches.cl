enum kind { NONE, ONE, MANY = 12 };
kernel void switches(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  enum kind kind = id == 0 ? NONE : id < n ? ONE : MANY;
  int weight;
  switch (kind) {
  case NONE: weight = 11; break;
  case ONE: weight = id; break;
  default: weight = n; break;
  }
  out[id] = weight;
}
