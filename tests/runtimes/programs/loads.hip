// The kernel `one` of the code in each file that the arguments name: how calls end, and what it writes.
#include <hip/hip_runtime.h>
#include <cstdio>
int main(int count, char **words) {
  for (int number = 1; number < count; number++) {
    hipModule_t module;
    hipFunction_t one;
    int *cell, value = 0;
    (void)hipMalloc(&cell, sizeof value);
    void *arguments[] = {&cell};
    int loaded = hipModuleLoad(&module, words[number]), found = hipModuleGetFunction(&one, module, "one");
    int launched = hipModuleLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    (void)hipMemcpy(&value, cell, sizeof value, hipMemcpyDeviceToHost);
    printf("%d %d %d %d\n", loaded, found, launched, value);
    (void)hipFree(cell), (void)hipModuleUnload(module);
  }
}
