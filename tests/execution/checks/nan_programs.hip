//// layernorm layernorm grid=256 work_group=64
//// np.where(np.arange(4*96)//96==2,0.5,np.random.default_rng(31).random(4*96)).astype(np.float32); np.zeros(4*96,np.float32); np.ones(96,np.float32); np.int32(96)
#define WG 64
__global__ void layernorm(const float *x, float *y, const float *gamma, int width)
{
  __shared__ float red[WG];
  int t = threadIdx.x;
  const float *row = x + blockIdx.x * width;
  float s = 0.0f;
  for (int i = t; i < width; i += WG)
    s += row[i];
  red[t] = s;
  __syncthreads();
  for (int k = WG / 2; k > 0; k >>= 1) {
    if (t < k)
      red[t] += red[t + k];
    __syncthreads();
  }
  float mean = red[0] / (float)width;
  __syncthreads();
  float q = 0.0f;
  for (int i = t; i < width; i += WG)
    q += (row[i] - mean) * (row[i] - mean);
  red[t] = q;
  __syncthreads();
  for (int k = WG / 2; k > 0; k >>= 1) {
    if (t < k)
      red[t] += red[t + k];
    __syncthreads();
  }
  float var = red[0] / (float)width;
#ifdef MENDED
  float inv = rsqrtf(var + 1e-5f);
#else
  float inv = rsqrtf(var); /// var
#endif
  for (int i = t; i < width; i += WG)
    y[blockIdx.x * width + i] = (row[i] - mean) * inv * gamma[i];
}
//// cluster_centres recentre grid=128 work_group=128
//// np.random.default_rng(32).random(300).astype(np.float32); np.where(np.arange(300)%8==5,1,np.arange(300)%8).astype(np.int32); np.zeros(8,np.float32); np.int32(300)
#define CLUSTERS 8
__global__ void recentre(const float *px, const int *label, float *centre, int n)
{
  __shared__ float sum[CLUSTERS];
  __shared__ int members[CLUSTERS];
  int t = threadIdx.x;
  if (t < CLUSTERS) {
    sum[t] = 0.0f;
    members[t] = 0;
  }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) {
    atomicAdd(&sum[label[i]], px[i]);
    atomicAdd(&members[label[i]], 1);
  }
  __syncthreads();
  if (t < CLUSTERS) {
    int m = members[t];
#ifdef MENDED
    if (m == 0)
      return;
#endif
    centre[t] = sum[t] / (float)m; /// m
  }
}
//// batched_cholesky cholesky3 grid=128 work_group=64
//// (lambda v: (lambda a: np.einsum('bik,bjk->bij',a,a))(np.concatenate([v,v.sum(1,keepdims=True)],1)).astype(np.float32).ravel())(1+np.random.default_rng(33).random((100,2,3))); np.zeros(900,np.float32); np.int32(100)
struct Sym3 {
  float m[3][3];
};
__device__ void factor(const Sym3 &a, Sym3 &l)
{
  for (int j = 0; j < 3; ++j) {
    float d = a.m[j][j];
    for (int k = 0; k < j; ++k)
      d -= l.m[j][k] * l.m[j][k];
#ifdef MENDED
    d = fmaxf(d, 1e-6f);
#endif
    l.m[j][j] = sqrtf(d); /// d
    for (int i = j + 1; i < 3; ++i) {
      float s = a.m[i][j];
      for (int k = 0; k < j; ++k)
        s -= l.m[i][k] * l.m[j][k];
      l.m[i][j] = s / l.m[j][j];
    }
  }
}
__global__ void cholesky3(const Sym3 *in, Sym3 *out, int batch)
{
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch)
    return;
  Sym3 l = {};
  factor(in[b], l);
  out[b] = l;
}
//// loss_scale pack_gradients grid=128 work_group=64
//// np.where(np.arange(500)==389,-9,0.3*np.random.default_rng(35).standard_normal(500)).astype(np.float32); np.zeros(500,np.float16); np.float32(32768); np.float32(4); np.int32(500)
__device__ float clip(float g, float limit)
{
  return fminf(fmaxf(g, -limit), limit);
}
__global__ void pack_gradients(const float *grad, _Float16 *packed, float scale, float limit, int n)
{
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    float g = clip(grad[i], limit);
    float scaled = g * scale;
#ifdef MENDED
    scaled = clip(scaled, 65504.0f);
#endif
    _Float16 h = (_Float16)scaled; /// scaled
    packed[i] = h;
  }
}
//// forward_hmm forward_step grid=128 work_group=64
//// np.where(np.isin(np.arange(400),[4*66,4*66+1]),-np.inf,-np.random.default_rng(36).random(400)).astype(np.float32); -np.random.default_rng(37).random(16).astype(np.float32); -np.random.default_rng(38).random(4).astype(np.float32); np.zeros(400,np.float32); np.int32(100)
#define STATES 4
__device__ float log_add(float a, float b)
{
  float m = fmaxf(a, b);
#ifdef MENDED
  if (m == -INFINITY)
    return m;
#endif
  return m + logf(expf(a - m) + expf(b - m)); /// m
}
__global__ void forward_step(const float *alpha, const float *log_trans, const float *log_emit,
               float *next, int sequences)
{
  int seq = blockIdx.x * blockDim.x + threadIdx.x;
  if (seq >= sequences)
    return;
  const float *a = alpha + seq * STATES;
  for (int j = 0; j < STATES; ++j) {
    float total = a[0] + log_trans[j];
    for (int i = 1; i < STATES; ++i)
      total = log_add(total, a[i] + log_trans[i * STATES + j]);
    next[seq * STATES + j] = total + log_emit[j];
  }
}
//// matvec matvec grid=384 work_group=64 came=A[370]
//// np.where(np.arange(6*100)==3*100+70,np.inf,np.random.default_rng(40).random(600)).astype(np.float32); np.where(np.arange(100)==70,0,np.random.default_rng(41).random(100)).astype(np.float32); np.zeros(6,np.float32); np.int32(6); np.int32(100)
#define WG 64
__global__ void matvec(const float *A, const float *x, float *y, int rows, int cols)
{
  __shared__ float part[WG];
  int t = threadIdx.x;
  int row = blockIdx.x;
  float acc = 0.0f;
  for (int c = t; c < cols; c += WG) {
    float a = A[row * cols + c];
#ifdef MENDED
    a = isfinite(a) ? a : 0.0f;
#endif
    acc = fmaf(a, x[c], acc);
  }
  part[t] = acc;
  __syncthreads();
  for (int k = WG / 2; k > 0; k >>= 1) {
    if (t < k)
      part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0 && row < rows)
    y[row] = part[0];
}
//// idw_interpolate idw grid=256 work_group=64
//// np.float32([1.25,3.5,2, 7.0,5.0,-1, 10.5,12.25,4, 14.1,2.2,3]); np.zeros(256,np.float32); np.int32(16); np.int32(4); np.float32(2.0)
struct Sample {
  float x, y, value;
};
__device__ float weight_of(float dx, float dy, float power)
{
  float d2 = dx * dx + dy * dy;
#ifdef MENDED
  d2 = fmaxf(d2, 1e-6f);
#endif
  return powf(d2, -0.5f * power); /// d2
}
__global__ void idw(const Sample *samples, float *grid, int width, int count, float power)
{
  int cell = blockIdx.x * blockDim.x + threadIdx.x;
  float gx = (float)(cell % width);
  float gy = (float)(cell / width);
  float num = 0.0f;
  float den = 0.0f;
  for (int s = 0; s < count; ++s) {
    Sample p = samples[s];
    float w = weight_of(gx - p.x, gy - p.y, power);
    num += w * p.value;
    den += w;
  }
  grid[cell] = num / den;
}
