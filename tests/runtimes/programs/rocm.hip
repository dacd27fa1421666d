#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdio>
__global__ void calls(double *out) {
  int i = __ockl_get_local_id(0);
  double x = 0.25 + i, c, s;
  sincos(x, &s, &c);
  out[i] = s * s + c * c + erf(x) - (double)erff((float)x) + tgamma(i + 2.0) + j0(0.0) + fma(x, 2.0, -2 * x);
  out[i] += __ockl_wgred_add_i32(i & 1) + (i % 2 ? 100 * __ockl_activelane_u32() : 0);
  if (i == 3) {
    unsigned long message = __ockl_fprintf_stderr_begin();
    const char text[] = "work-item %d of a block says so in a text of more than 56 characters\n";
    message = __ockl_fprintf_append_string_n(message, text, sizeof text, 0);
    __ockl_fprintf_append_args(message, 1, i, 0, 0, 0, 0, 0, 0, 1);
  }
}
int main() {
  double *out, host[8];
  (void)hipMalloc((void **)&out, sizeof host);
  calls<<<1, 8>>>(out);
  (void)hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost);
  for (double each : host) printf("%.6f\n", each);
  (void)hipFree(out);
}
// Prints:
// 7.000000
// 8.000000
// 12.000000
// 130.000000
// 126.000000
// 926.000000
// 5046.000000
// 40626.000000
// 1 launch, 1 kernel, no error
