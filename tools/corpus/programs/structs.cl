struct point { int x; int y; };
struct pair { struct point from; struct point to; };
kernel void structs(global int *out, struct pair pair, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  struct point moved = { pair.from.x + id, pair.to.y * n };
  struct pair copy = { moved, pair.from };
  out[id] = copy.from.x + copy.to.y + moved.y;
}
