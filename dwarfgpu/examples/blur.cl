kernel void blur(global const float *in, global float *out, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int first = i > 0 ? i - 1 : 0;
    int last = i + 1;
    float sum = 0;
    for (int j = first; j <= last; j++)
        sum += in[j];
    out[i] = sum / (last - first + 1);
}
