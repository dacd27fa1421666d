/* Local memory for the functions of groups.cl: OpenCL C has none outside of kernels. */
static __attribute__((address_space(3), loader_uninitialized)) unsigned long dg_words[64];
__attribute__((always_inline)) __attribute__((address_space(3))) unsigned long *dg_local_words(void) { return dg_words; }
