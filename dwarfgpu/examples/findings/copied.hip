#define NOINLINE __attribute__((device, noinline))
NOINLINE int plus(int x) { return x + 1; }
NOINLINE int minus(int x) { return x - 1; }
__attribute__((global)) void choose(int *out, int which) {
  int id = __builtin_amdgcn_workitem_id_x();
  int (*chosen)(int) = which ? plus : minus;
  out[id] = chosen(id);
}
