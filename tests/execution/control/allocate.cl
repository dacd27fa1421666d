// What the device library has: memory in the buffer for printf, of which the first word says how much is used.
__attribute__((visibility("hidden"))) __global char *__printf_alloc(uint bytes) {
    __constant char *implicit = (__constant char *)__builtin_amdgcn_implicitarg_ptr();
    __global uint *head = (__global uint *)*(__constant ulong *)(implicit + PRINTF_OFFSET);
    uint offset = __atomic_fetch_add(head, bytes, __ATOMIC_RELAXED);
    return 8 + offset + bytes > head[1] ? 0 : (__global char *)head + 8 + offset;
}
