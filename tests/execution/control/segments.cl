// A kernel with local memory that calls a function of several lines. The numbers of lines are in the tests.
float weight(float v, float scale, int k)
{
    float t = v * scale;
    t += (float)k * 0.5f;
    return t;
}
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void segments(global const int *in, global float *out, int n)
{
    local int cells[64];
    int gid = (int)get_global_id(0);
    int lid = (int)get_local_id(0);
    cells[lid] = in[gid];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int j = 0; j < cells[lid]; j++)
        sum += weight(lid, 0.5f, j);
    if (gid % 4 == 3)
        out[gid] = sum;
}
