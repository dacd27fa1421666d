kernel void vectors(global int4 *out, int4 by, float2 scale) {
  int id = __builtin_amdgcn_workitem_id_x();
  int4 value = (int4)(id, id + 1, id + 2, id + 3) * by;
  float2 moved = scale * (float)id;
  int3 three = value.xyz;
  out[id] = value + (int4)(three, (int)(moved.x + moved.y));
}
