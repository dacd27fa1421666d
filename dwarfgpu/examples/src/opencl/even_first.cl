// Put the numbers at even places first, and those at odd places behind them.
kernel void even_first(global int *out, global const int *in, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i >= n)
    return;
  int middle = n / 2;
  int first = i / 2;
  int to = i & 1 ? middle + first : first;
  out[to] = in[i];
}
