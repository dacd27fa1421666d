#define NOINLINE __attribute__((device, noinline))
NOINLINE int first(int x) { return x * 2; }
NOINLINE int second(int n, int x) { return n * x; }
__attribute__((global)) void added(int *out, int n) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int sum = first(lane);
  sum += second(n & 3, lane);
  sum += second(n & 15, lane);
  sum += first(lane + 1);
  out[lane] = sum;
}
