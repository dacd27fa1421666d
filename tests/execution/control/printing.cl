// Prints with the conversions of C and of OpenCL; the function that reserves memory is in allocate.cl.
__kernel void talk(int n, float x, float4 v, __global int *p) {
    int i = __builtin_amdgcn_workitem_id_x();
    if (i < n) {
        printf("lane %d of %u: %5.2f|%-6x|%c|%s|%%\n", i, n, x * i, i + 16, 'a' + i, "word");
        printf("v %.1v4hlf %ld %p\n", v * i, (long)i << 40, p);
        printf("%s %d %s|%s|%u %s\n", "text", i, "abc", "textual ", n, "eightchr");
        printf("no arguments\n");
        printf("%v4hhd %hhd\n", (char4)(1, -2, 3, (char)i), (char)(i + 200));
    }
}
