//// unit_normals shade_faces grid=128 work_group=32
//// np.random.default_rng(2).standard_normal((200,4)).astype(np.float32).ravel(); np.where(np.arange(384)//3==93,17,np.arange(384)%193).astype(np.int32); np.zeros(128,np.float32)
float4 unit(float4 v)
{
  float len = sqrt(dot(v, v));
#ifdef MENDED
  if (len == 0.0f)
    return (float4)(0.0f, 0.0f, 1.0f, 0.0f);
#endif
  return v / len; /// len
}
float4 face_normal(float4 a, float4 b, float4 c)
{
  float4 e1 = b - a;
  float4 e2 = c - a;
  float4 n = (float4)(e1.y * e2.z - e1.z * e2.y,
            e1.z * e2.x - e1.x * e2.z,
            e1.x * e2.y - e1.y * e2.x,
            0.0f);
  return unit(n);
}
__kernel void shade_faces(__global const float4 *verts,
              __global const int *tri,
              __global float *shade)
{
  int f = get_global_id(0);
  float4 light = (float4)(0.0f, 0.6f, 0.8f, 0.0f);
  float4 n = face_normal(verts[tri[3 * f]],
               verts[tri[3 * f + 1]],
               verts[tri[3 * f + 2]]);
  shade[f] = 0.5f + 0.5f * dot(n, light);
}
//// welford_variance channel_spread grid=64 work_group=64
//// np.random.default_rng(3).random(64*16).astype(np.float32); ((np.arange(1024)%3!=0)&(np.arange(1024)//16!=29)|(np.arange(1024)==29*16+5)).astype(np.int32); np.zeros(64,np.float32); np.int32(16)
typedef struct {
  float mean;
  float m2;
  int n;
} moments_t;
moments_t push(moments_t m, float x)
{
  m.n += 1;
  float delta = x - m.mean;
  m.mean += delta / (float)m.n;
  m.m2 += delta * (x - m.mean);
  return m;
}
__kernel void channel_spread(__global const float *x,
               __global const int *valid,
               __global float *variance,
               int samples)
{
  int c = get_global_id(0);
  moments_t m = { 0.0f, 0.0f, 0 };
  for (int i = 0; i < samples; ++i) {
    int at = c * samples + i;
    if (valid[at])
      m = push(m, x[at]);
  }
#ifdef MENDED
  variance[c] = m.n > 1 ? m.m2 / (float)(m.n - 1) : 0.0f;
#else
  variance[c] = m.m2 / (float)(m.n - 1); /// m.n
#endif
}
//// online_softmax masked_attention_row grid=64 work_group=64
//// np.random.default_rng(4).standard_normal(64*32).astype(np.float32); ((np.arange(2048)%32<=np.arange(2048)//64)&(np.arange(2048)//32!=37)).astype(np.int32); np.random.default_rng(5).random(32).astype(np.float32); np.zeros(64,np.float32)
#define KEYS 32
__kernel void masked_attention_row(__global const float *scores,
                   __global const int *mask,
                   __global const float *values,
                   __global float *out)
{
  int q = get_global_id(0);
  float m = -INFINITY;
  float denom = 0.0f;
  float acc = 0.0f;
  for (int k = 0; k < KEYS; ++k) {
    float s = mask[q * KEYS + k] ? scores[q * KEYS + k] : -INFINITY;
    float m_new = fmax(m, s);
#ifdef MENDED
    if (m_new == -INFINITY)
      continue;
#endif
    float scale = exp(m - m_new); /// m_new
    float p = exp(s - m_new);
    denom = denom * scale + p;
    acc = acc * scale + p * values[k];
    m = m_new;
  }
#ifdef MENDED
  out[q] = denom > 0.0f ? acc / denom : 0.0f;
#else
  out[q] = acc / denom;
#endif
}
//// channel_std standardize grid=64 work_group=64
//// np.where(np.arange(64*200)//200==41,3000.3,np.random.default_rng(7).random(64*200)).astype(np.float32); np.zeros(64*200,np.float32); np.int32(200); np.float32(1e-5)
__kernel void standardize(__global const float *x,
              __global float *y,
              int samples,
              float eps)
{
  int c = get_global_id(0);
  __global const float *row = x + c * samples;
  float s = 0.0f;
  float s2 = 0.0f;
  for (int i = 0; i < samples; ++i) {
    float v = row[i];
    s += v;
    s2 += v * v;
  }
  float mean = s / (float)samples;
  float var = s2 / (float)samples - mean * mean;
#ifdef MENDED
  float sd = sqrt(fmax(var, 0.0f));
#else
  float sd = sqrt(var); /// var
#endif
  for (int i = 0; i < samples; ++i)
    y[c * samples + i] = (row[i] - mean) / (sd + eps);
}
//// row_entropy entropy_rows grid=64 work_group=32
//// np.where(np.arange(64*12)==50*12+4,0,1+np.arange(64*12)%7).astype(np.float32); np.zeros(64,np.float32); np.int32(12)
float plogp(float p)
{
#ifdef MENDED
  if (p <= 0.0f)
    return 0.0f;
#endif
  return p * log(p); /// p
}
__kernel void entropy_rows(__global const float *counts,
               __global float *entropy,
               int bins)
{
  int row = get_global_id(0);
  __global const float *h = counts + row * bins;
  float total = 0.0f;
  for (int b = 0; b < bins; ++b)
    total += h[b];
  float e = 0.0f;
  for (int b = 0; b < bins; ++b)
    e -= plogp(h[b] / total);
  entropy[row] = e;
}
//// bond_angle bond_angles grid=256 work_group=64
//// (np.repeat(np.random.default_rng(10).standard_normal((1,256,3)),3,0)*np.array([1,0,3]).reshape(3,1,1)).astype(np.float32).ravel(); (np.arange(256)[:,None]+np.array([0,256,512])).astype(np.int32).ravel(); np.zeros(256,np.float32); np.int32(250)
typedef struct {
  float x, y, z;
} vec3_t;
float inner(vec3_t a, vec3_t b)
{
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
__kernel void bond_angles(__global const vec3_t *pos,
              __global const int *triple,
              __global float *degrees_out,
              int n)
{
  int i = get_global_id(0);
  if (i >= n)
    return;
  vec3_t c = pos[triple[3 * i + 1]];
  vec3_t p = pos[triple[3 * i]];
  vec3_t q = pos[triple[3 * i + 2]];
  vec3_t u = { p.x - c.x, p.y - c.y, p.z - c.z };
  vec3_t w = { q.x - c.x, q.y - c.y, q.z - c.z };
  float cosine = inner(u, w) / (sqrt(inner(u, u)) * sqrt(inner(w, w)));
#ifdef MENDED
  cosine = clamp(cosine, -1.0f, 1.0f);
#endif
  float theta = acos(cosine); /// cosine
  degrees_out[i] = theta * 57.29578f;
}
//// half_dot half_dot grid=64 work_group=64
//// np.where(np.arange(64*32)//32==13,60,np.arange(64*32)%5).astype(np.float16); np.where(np.arange(64*32)//32==13,70,np.arange(64*32)%3).astype(np.float16); np.zeros(64,np.float32); np.int32(32)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void half_dot(__global const half *a,
             __global const half *b,
             __global float *out,
             int n)
{
  int row = get_global_id(0);
  __global const half *ra = a + row * n;
  __global const half *rb = b + row * n;
#ifdef MENDED
  float acc = 0.0f;
#else
  half acc = 0.0h;
#endif
  for (int k = 0; k < n; ++k) {
#ifdef MENDED
    float prod = (float)ra[k] * (float)rb[k];
#else
    half prod = ra[k] * rb[k];
#endif
    acc += prod; /// acc
  }
  out[row] = (float)acc;
}
//// softmax_row softmax_row grid=256 work_group=64
//// np.where(np.arange(256)==150,97,3*np.random.default_rng(12).standard_normal(256)).astype(np.float32); np.zeros(256,np.float32)
#define WG 64
__kernel void softmax_row(__global const float *logits,
              __global float *probs)
{
  __local float part[WG];
  int lane = get_local_id(0);
  int at = get_global_id(0);
#ifdef MENDED
  part[lane] = logits[at];
  barrier(CLK_LOCAL_MEM_FENCE);
  float top = part[0];
  for (int k = 1; k < WG; ++k)
    top = fmax(top, part[k]);
  barrier(CLK_LOCAL_MEM_FENCE);
  float e = exp(logits[at] - top);
#else
  float e = exp(logits[at]); /// logits
#endif
  part[lane] = e;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = WG / 2; step > 0; step /= 2) {
    if (lane < step)
      part[lane] += part[lane + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  probs[at] = e / part[0];
}
//// histogram channel_histogram grid=256 work_group=64
//// np.where(np.arange(400)//100==2,0.25,np.random.default_rng(13).random(400)).astype(np.float32); np.float32([0,0,0.25,0]); np.float32([1,1,0.25,1]); np.zeros(64,np.int32); np.int32(100)
#define BINS 16
int bin_of(float x, float lo, float hi)
{
#ifdef MENDED
  if (!(hi > lo))
    return 0;
#endif
  float t = (x - lo) / (hi - lo); /// hi
  int b = (int)(t * (float)BINS);
  return b < 0 ? 0 : (b > BINS - 1 ? BINS - 1 : b);
}
__kernel void channel_histogram(__global const float *x,
                __global const float *lo,
                __global const float *hi,
                __global int *hist,
                int per_channel)
{
  __local int bins[BINS];
  int lane = get_local_id(0);
  int ch = get_group_id(0);
  if (lane < BINS)
    bins[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = lane; i < per_channel; i += get_local_size(0))
    atomic_inc(&bins[bin_of(x[ch * per_channel + i], lo[ch], hi[ch])]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < BINS)
    hist[ch * BINS + lane] = bins[lane];
}
//// e5m2_quantize round_trip grid=128 work_group=64
//// np.where(np.arange(128)==111,488,100*np.random.default_rng(18).standard_normal(128)).astype(np.float32); np.zeros(128,np.uint8); np.zeros(128,np.float32); np.float32(128)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
uchar to_e5m2(float x)
{
#ifdef MENDED
  x = clamp(x, -57344.0f, 57344.0f);
#endif
  ushort h = as_ushort((half)x);
  uint up = 0x7fu + ((h >> 8) & 1u);
  return (uchar)((h + up) >> 8); /// h
}
float from_e5m2(uchar q)
{
  ushort h = (ushort)((uint)q << 8);
  return (float)as_half(h);
}
__kernel void round_trip(__global const float *x,
             __global uchar *packed,
             __global float *error,
             float scale)
{
  int i = get_global_id(0);
  uchar q = to_e5m2(x[i] * scale);
  packed[i] = q;
  float back = from_e5m2(q);
  error[i] = x[i] - back / scale;
}
//// bf16_distance relax_edges grid=64 work_group=64
//// np.random.default_rng(19).random(256).astype(np.float32); np.full(64,0x3f80,np.uint16); np.where(np.arange(256)//4==22,-1,np.arange(256)*7%64).astype(np.int32); np.zeros(64,np.uint16); np.zeros(64,np.float32)
#define UNSET 3.402823466e+38f
ushort to_bf16(float x)
{
  uint u = as_uint(x);
  return (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16); /// u
}
float from_bf16(ushort b)
{
  return as_float((uint)b << 16);
}
__kernel void relax_edges(__global const float *weight,
              __global const ushort *dist_in,
              __global const int *pred,
              __global ushort *dist_out,
              __global float *dist_f32)
{
  int v = get_global_id(0);
#ifdef MENDED
  float best = 3.0e38f;
#else
  float best = UNSET;
#endif
  for (int e = 4 * v; e < 4 * v + 4; ++e) {
    if (pred[e] < 0)
      continue;
    float d = from_bf16(dist_in[pred[e]]) + weight[e];
    best = min(best, d);
  }
  ushort packed = to_bf16(best);
  dist_out[v] = packed;
  dist_f32[v] = from_bf16(packed);
}
//// minmax_row minmax_scale grid=256 work_group=64
//// np.where(np.arange(160)//40==3,0.7,np.random.default_rng(20).random(160)).astype(np.float32); np.zeros(160,np.float32); np.int32(40)
#define WG 64
__kernel void minmax_scale(__global const float *x,
               __global float *y,
               int width)
{
  __local float lo[WG];
  __local float hi[WG];
  int lane = get_local_id(0);
  __global const float *row = x + get_group_id(0) * width;
  float a = INFINITY, b = -INFINITY;
  for (int i = lane; i < width; i += WG) {
    a = fmin(a, row[i]);
    b = fmax(b, row[i]);
  }
  lo[lane] = a;
  hi[lane] = b;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = WG / 2; s > 0; s >>= 1) {
    if (lane < s) {
      lo[lane] = fmin(lo[lane], lo[lane + s]);
      hi[lane] = fmax(hi[lane], hi[lane + s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float range = hi[0] - lo[0];
#ifdef MENDED
  if (range == 0.0f)
    range = 1.0f;
#endif
  for (int i = lane; i < width; i += WG)
    y[get_group_id(0) * width + i] = (row[i] - lo[0]) / range; /// range
}
//// blur_sensor blur5 grid=128 work_group=64 came=x[37]
//// np.where(np.arange(100)==37,np.nan,np.random.default_rng(21).random(100)).astype(np.float32); np.zeros(100,np.float32); np.int32(100)
__constant float taps[5] = { 0.1f, 0.2f, 0.4f, 0.2f, 0.1f };
__kernel void blur5(__global const float *x,
          __global float *y,
          int n)
{
  int i = get_global_id(0);
  if (i >= n)
    return;
  float acc = 0.0f;
  float wsum = 0.0f;
  for (int k = -2; k <= 2; ++k) {
    int j = min(max(i + k, 0), n - 1);
    float v = x[j];
#ifdef MENDED
    if (isnan(v))
      continue;
#endif
    acc += taps[k + 2] * v;
    wsum += taps[k + 2];
  }
  y[i] = acc / wsum;
}
//// momentum_step sgd_momentum grid=128 work_group=64 came=rate
//// np.random.default_rng(22).random(2*120).astype(np.float32); np.random.default_rng(23).standard_normal(120).astype(np.float32); np.float32('nan'); np.float32(0.9); np.int32(120)
//// np.random.default_rng(22).random(2*120).astype(np.float32); np.random.default_rng(23).standard_normal(120).astype(np.float32); np.float32(0.01); np.float32(0.9); np.int32(120)
typedef struct {
  float w;
  float v;
} param_t;
param_t update(param_t p, float g, float rate, float momentum)
{
  p.v = momentum * p.v + g;
  p.w -= rate * p.v;
  return p;
}
__kernel void sgd_momentum(__global param_t *params,
               __global const float *grad,
               float rate,
               float momentum,
               int n)
{
  int i = get_global_id(0);
  if (i >= n)
    return;
#ifdef MENDED
  if (!isfinite(rate))
    return;
#endif
  params[i] = update(params[i], grad[i], rate, momentum);
}
