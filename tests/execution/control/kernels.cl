// Kernels that tests run. The numbers of lines are in the tests.
int helper(int v) { return v * 3 + 1; }
__kernel void steps_(__global int *out, __global const int *in, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    int x = in[i];
    int steps = 0;
    while (x != 1) {
        x = x & 1 ? helper(x) : x / 2;
        steps++;
    }
    out[i] = steps;
}
__kernel void saxpy(__global float *y, __global const float *x, float a, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + y[i];
}
__kernel void wild(__global int *p) { p[get_global_id(0) * 100000000L] = 1; }
struct pair { int a; float b[2]; char c[3]; };
__kernel void structs(__global float *out, struct pair s, __global const struct pair *many) {
    int i = get_global_id(0);
    out[i] = s.a + s.b[1] * i + many[i & 1].b[0] + s.c[2];
}
__kernel void spill(__global int *out, int n) {
    volatile int cells[16];
    int i = get_global_id(0);
    for (int k = 0; k < 16; k++) cells[k] = i + k;
    int total = 0;
    for (int k = 0; k < n; k++) total += cells[(k * 5) & 15];
    out[i] = total;
}
__kernel void shared_sum(__global int *out, __global const int *in, __local int *cells) {
    int l = get_local_id(0);
    cells[l] = in[get_global_id(0)];
    barrier(1);
    for (int half_ = get_local_size(0) / 2; half_ > 0; half_ /= 2) {
        if (l < half_) cells[l] += cells[l + half_];
        barrier(1);
    }
    if (l == 0) out[get_group_id(0)] = cells[0];
}
__kernel void trapped(__global int *p, int lane) {
    if ((int)get_local_id(0) == lane) __builtin_trap();
    p[get_global_id(0)] = 1;
}
__kernel void sizes(__global int *out) {
    if (get_global_id(0) == 0) {
        __constant const unsigned short *given = (__constant const unsigned short *)__builtin_amdgcn_implicitarg_ptr();
        out[0] = ((__constant const int *)given)[0];
        out[1] = ((__constant const int *)given)[1];
        out[2] = given[6];
        out[3] = given[7];
        out[4] = given[9];
        out[5] = given[10];
        out[6] = given[32];
    }
}
int deep(int n, volatile int *before) {
    volatile int cells[64];
    cells[n & 63] = n;
    return n == 0 ? before[1] : deep(n - 1, cells) + cells[n & 63];
}
__kernel void stacks(__global int *out, __global const int *depth) {
    int i = get_global_id(0);
    volatile int first[2] = {3, 4};
    out[i] = deep(depth[i], first);
}
__kernel void mixed(__global long *out, int n) {
    char c = get_local_id(0) * 7;
    uchar d = c;
    short s = c * 300;
    ushort t = s;
    int i = s * 1000;
    uint u = i;
    long l = (long)i * 100003;
    ulong m = l;
    for (int k = 0; k < n; k++) {
        c += 37, d -= 3, s ^= k * 77, t += 1, i = -i + k, u *= 3, l = l * 3 - k, m ^= l << 7;
    }
    out[get_global_id(0)] = c + d + s + t + i + u + l + m;
}
__kernel void spins(__global volatile int *flag, __global int *out) {
    while (*flag == 0)
        ;
    out[get_global_id(0)] = 1;
}
__kernel void counts_in_memory(__global volatile int *at, int n) {
    while (*at < n) *at = *at + 1;
}
__kernel void counts(__global int *out, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum ^= i;
    out[get_global_id(0)] = sum;
}
__kernel void two_loops(__global volatile int *flags) {
    if (get_local_id(0) < 64)
        while (flags[0] == 0) flags[3] = 1;
    else
        while (flags[1] == 0) flags[2] = 1;
}
#ifdef __GFX9__
__kernel void waits_for_time(__global int *out, long time) {
    while (__builtin_amdgcn_s_memtime() < time)
        ;
    out[get_global_id(0)] = 1;
}
#endif
__kernel void rounds(__global int *out, __global int *total, __local int *tile, int times) {
    int i = get_global_id(0), l = get_local_id(0), s = i;
    for (int k = 0; k < times; k++) {
        tile[l] = s;
        barrier(1);
        s = s * 3 + tile[l ^ 1];
        if (s & 4)
            s -= k;
        out[i] = s + __atomic_fetch_add(total, s & 7, __ATOMIC_RELAXED);
        barrier(1);
    }
}
