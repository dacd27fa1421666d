// Prints through the buffer (-mprintf-kind=buffered), with formats that are constant and one that is not.
extern "C" __attribute__((device, visibility("hidden"))) char *__printf_alloc(unsigned bytes) {
    auto implicit = (char *)__builtin_amdgcn_implicitarg_ptr();
    auto head = *(unsigned **)(implicit + 72);
    unsigned offset = __atomic_fetch_add(head, bytes, __ATOMIC_RELAXED);
    return 8 + offset + bytes > head[1] ? 0 : (char *)head + 8 + offset;
}
extern "C" __attribute__((device)) int printf(const char *, ...);
extern "C" __attribute__((global)) void talk(int n, float x, const char *s) {
    int i = __builtin_amdgcn_workitem_id_x();
    if (i < n) {
        printf("lane %d: %g %s %s\n", i, x * i, "word", i & 1 ? "odd" : "even");
        printf("plain\n");
        printf(s, i);
    }
}
