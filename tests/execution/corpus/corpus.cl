// Kernels in OpenCL C, which the host compiles as C. Each lane has four results; `cells` are changed by all lanes.
#include "both.h"

// --- Branches and loops -------------------------------------------------------------------------------------------------
KERNEL(branch) { uint x = IN(0); RESULT(0, x & 1 ? x * 3 : x / 2); RESULT(1, (int)x < 0 ? -(int)x : (int)x); }
KERNEL(nested_branches) {
  uint x = IN(0), y = IN(1), r = 0;
  if (x & 1) {
    if (y & 1) r = x + y; else if (y & 2) r = x - y; else r = x ^ y;
    if (x & 4) r *= 3;
  } else {
    if (y % 3 == 0) r = x | y; else { r = x & y; if (y & 8) r += 11; }
  }
  RESULT(0, r);
}
KERNEL(collatz) {
  ulong x = IN(0) % 1000 + 1;
  uint steps = 0;
  while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; ++steps; }
  RESULT(0, steps);
}
KERNEL(nested_loops) {
  uint x = IN(0), total = 0;
  for (uint i = 0; i < x % 7; ++i)
    for (uint k = i; k < (x >> 8) % 9; ++k) total = total * 31 + i * k;
  RESULT(0, total);
}
KERNEL(leaving_loops) {
  uint x = IN(0), r = 0;
  for (uint i = 0; i < 40; ++i) {
    if ((x >> (i & 31)) & 1) continue;
    r += i * x;
    if (r % 13 == 5) break;
  }
  RESULT(0, r);
}
KERNEL(do_while) { uint x = IN(0) | 1, n = 0; do { x = x * 5 + 1; n++; } while (x % 17 && n < 50); RESULT(0, x); RESULT(1, n); }
KERNEL(early_return) {
  uint x = IN(0);
  RESULT(0, 1);
  if (x % 3 == 0) return;
  RESULT(1, x);
  if (x % 5 == 0) return;
  RESULT(2, x * x);
}
KERNEL(dense_switch) {
  uint x = IN(0), r;
  switch (x % 8) {
    case 0: r = x + 1; break;
    case 1: r = x * 3; break;
    case 2: r = x >> 2; break;
    case 3: r = ~x; break;
    case 4: r = x ^ 0x55; break;
    case 5: r = x - 9; break;
    default: r = 7;
  }
  RESULT(0, r);
}
KERNEL(sparse_switch) {
  uint x = IN(0), r;
  switch (x & 0xfff) {
    case 1: case 77: r = 1; break;
    case 1000: r = x; break;
    case 4000: r = x * 2; break;
    default: switch (x & 3) { case 0: r = 10; break; case 3: r = 13; break; default: r = x & 1 ? 5 : 6; }
  }
  RESULT(0, r);
}
KERNEL(sequence_of_conditions) {
  uint x = IN(0), y = IN(1), r = 0;
  if (x > y && (x & 1) && y % 5) r |= 1;
  if (x < y || (x & 2) || y % 7 == 0) r |= 2;
  if (!(x & 4) == !(y & 4)) r |= 4;
  RESULT(0, r);
}
KERNEL(goto_loop) {
  uint x = IN(0), n = 0;
again:
  x = (x >> 1) ^ (-(x & 1) & 0xedb88320u);
  if (++n < 20 && x % 11) goto again;
  RESULT(0, x); RESULT(1, n);
}

// --- Integers -----------------------------------------------------------------------------------------------------------
KERNEL(arithmetic32) { uint x = IN(0), y = IN(1) | 1; RESULT(0, x * y + (x - y)); RESULT(1, x / y); RESULT(2, x % y); RESULT(3, (int)x / (int)(y >> 20 | 1)); }
KERNEL(arithmetic64) {
  ulong x = (ulong)IN(0) << 32 | IN(1), y = (ulong)IN(2) << 7 | 1;
  RESULT(0, x * y); RESULT(1, x / y); RESULT(2, (long)x % (long)y); RESULT(3, x - (y << 9));
}
KERNEL(shifts) {
  uint x = IN(0), n = IN(1) & 31;
  ulong y = (ulong)x << 32 | IN(2);
  RESULT(0, x << n | x >> (31 & -n)); RESULT(1, (int)x >> n); RESULT(2, y >> n); RESULT(3, (long)y >> (n + 13));
}
KERNEL(bits) {
  uint x = IN(0) | 1;
  RESULT(0, __builtin_popcount(x) | __builtin_clz(x) << 8 | __builtin_ctz(x) << 16);
  RESULT(1, __builtin_bitreverse32(x)); RESULT(2, __builtin_bswap32(x)); RESULT(3, __builtin_popcountl((ulong)x * x));
}
KERNEL(high_products) {
  uint x = IN(0), y = IN(1);
  RESULT(0, (ulong)x * y >> 32); RESULT(1, (ulong)((long)(int)x * (int)y) >> 32); RESULT(2, (x & 0xffffff) * (y & 0xffffff));
}
KERNEL(narrow_integers) {
  uchar a = IN(0); schar b = IN(1); ushort c = IN(2); short d = IN(3);
  uchar e = a * 3 + b; short f = c - d; schar g = b << 2; ushort h = (ushort)(c * c) >> 3;
  RESULT(0, e); RESULT(1, f); RESULT(2, g); RESULT(3, h);
}
KERNEL(carries) {
  ulong a = (ulong)IN(0) << 32 | IN(1), b = (ulong)IN(2) << 32 | IN(3), low = a + b;
  ulong high = (low < a) + a + ~b;
  RESULT(0, low); RESULT(1, high); RESULT(2, a - b - (low & 1)); RESULT(3, a < b);
}
KERNEL(extrema) {
  int x = IN(0), y = IN(1), z = IN(2);
  int least = x < y ? x : y, most = x < y ? y : x;
  RESULT(0, least < z ? least : z); RESULT(1, most > z ? most : z);
  RESULT(2, z < least ? least : z > most ? most : z); RESULT(3, x > y ? x - y : y - x);
}
KERNEL(division_by_constants) { uint x = IN(0); RESULT(0, x / 10); RESULT(1, (int)x % 7); RESULT(2, (ulong)x * 99991 / 1000003); RESULT(3, (int)x / -12); }

// --- Floats -------------------------------------------------------------------------------------------------------------
KERNEL(singles) {
  float x = single_of(IN(0)), y = single_of(IN(1));
  RESULT(0, bits32(x * y + x)); RESULT(1, bits32(x - y * 0.1f)); RESULT(2, bits32(x / (y + 0.5f))); RESULT(3, bits32(__builtin_fmaf(x, y, -x)));
}
KERNEL(rounded_singles) {
  float x = single_of(IN(0)) * 0.37f;
  RESULT(0, bits32(__builtin_floorf(x))); RESULT(1, bits32(__builtin_ceilf(x))); RESULT(2, bits32(__builtin_truncf(x))); RESULT(3, bits32(__builtin_rintf(x)));
}
KERNEL(compared_singles) {
  float x = single_of(IN(0)), y = single_of(IN(1) ^ (IN(2) & 1 ? 0 : IN(0) ^ IN(1)));
  RESULT(0, (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | !(x > y) << 4);
  RESULT(1, bits32(__builtin_fminf(x, y))); RESULT(2, bits32(__builtin_fmaxf(x, y))); RESULT(3, bits32(__builtin_copysignf(x, -y)));
}
KERNEL(small_singles) {
  float x = single_of(IN(0)) * 1e-38f, y = single_of(IN(1)) * 1e-20f;
  RESULT(0, bits32(x * 0.001f)); RESULT(1, bits32(y * y)); RESULT(2, bits32(x * 1e-4f + y * 1e-22f)); RESULT(3, bits32(x / 3.0f));
}
KERNEL(converted_singles) {
  uint x = IN(0);
  float y = single_of(IN(1));
  RESULT(0, bits32((float)x)); RESULT(1, (int)y); RESULT(2, bits32((float)((ulong)x * x))); RESULT(3, (long)(y * 1e6f));
}
KERNEL(roots) {
  float x = single_of(IN(0) & 0x7fffffff) + 0.25f;
  double y = double_of(IN(1) & 0x7fffffff) + 0.5;
  RESULT(0, bits32(__builtin_sqrtf(x))); RESULT(1, bits64(__builtin_sqrt(y)));
}
KERNEL(doubles) {
  double x = double_of(IN(0)), y = double_of(IN(1));
  RESULT(0, bits64(x * y + x)); RESULT(1, bits64(x - y * 0.1)); RESULT(2, bits64(x / (y + 0.25))); RESULT(3, bits64(__builtin_fma(x, y, -y)));
}
KERNEL(rounded_doubles) {
  double x = double_of(IN(0)) * 1e-3;
  RESULT(0, bits64(__builtin_floor(x))); RESULT(1, bits64(__builtin_rint(x))); RESULT(2, (long)x); RESULT(3, bits32((float)x));
}
KERNEL(scaled_doubles) {
  double x = double_of(IN(0));
  int n = (int)(IN(1) % 2100) - 1050;
  RESULT(0, bits64(__builtin_ldexp(x, n))); RESULT(1, bits64((double)((ulong)IN(2) << 20 | 7))); RESULT(2, bits64(__builtin_fmin(x, 3.5)));
}
KERNEL(halfs) {
  float16_t x = half_of(IN(0)), y = half_of(IN(1)) + (float16_t)0.5f;
  RESULT(0, bits16(x * y)); RESULT(1, bits16(x + y)); RESULT(2, bits16(x - y)); RESULT(3, x < y);
}
KERNEL(pairs_of_halfs) {
  pair16 x = {half_of(IN(0)), half_of(IN(1))}, y = {half_of(IN(2)), (float16_t)0.75f}, z = x * y, w = x + y;
  RESULT(0, bits16(z.x)); RESULT(1, bits16(z.y)); RESULT(2, bits16(w.x)); RESULT(3, bits16(w.y - z.x));
}
KERNEL(converted_halfs) {
  float16_t x = (float16_t)(single_of(IN(0)) * 0.001f);
  RESULT(0, bits16(x)); RESULT(1, bits32((float)x)); RESULT(2, (short)(float)half_of(IN(1))); RESULT(3, bits64((double)half_of(IN(2))));
}
KERNEL(sum_of_a_series) {
  float x = single_of(IN(0)) * 1e-5f, term = 1, total = 0;
  for (int n = 1; n < 12; ++n) { total += term; term = term * x / n; }
  RESULT(0, bits32(total));
}
KERNEL(newton) {
  double x = double_of(IN(0) & 0xffffff) + 2, guess = 1;
  int n = 0;
  for (; n < 60; ++n) { double next = 0.5 * (guess + x / guess), away = next - guess; guess = next; if (away < 1e-9 && away > -1e-9) break; }
  RESULT(0, bits64(guess)); RESULT(1, n);
}

// --- Vectors, structures, arrays ------------------------------------------------------------------------------------------
KERNEL(vectors) {
  int4 x = {IN(0), IN(1), IN(2), IN(3)}, y = x.wzyx * 3 - (x >> 2);
  y.xz = y.yw + 1;
  RESULT(0, (uint)(y.x ^ y.y)); RESULT(1, (uint)(y.z + y.w)); RESULT(2, (uint)(x.hi.x - y.lo.y)); RESULT(3, (uint)y.s3);
}
KERNEL(vectors_of_floats) {
  float4 x = {single_of(IN(0)), single_of(IN(1)), single_of(IN(2)), 1.5f}, y = x * x.yxwz + 0.25f;
  double2 z = {double_of(IN(4)), double_of(IN(5))};
  z = z * z.yx - z;
  RESULT(0, bits32(y.x)); RESULT(1, bits32(y.y + y.z)); RESULT(2, bits64(z.x)); RESULT(3, bits64(z.y));
}
KERNEL(vectors_of_bytes) {
  union { uint word; uchar4 bytes; } x, y;
  x.word = IN(0); y.word = IN(1);
  uchar4 z = x.bytes * (uchar)3 + y.bytes.wzyx;
  short2 s = {IN(2), IN(3)};
  s = s * s - (short)5;
  RESULT(0, z.x | z.y << 8 | z.z << 16 | (uint)z.w << 24); RESULT(1, s.x); RESULT(2, s.y);
}
KERNEL(chosen_element) {
  uint4 x = {IN(0), IN(1), IN(2), IN(3)};
  uint n = IN(4) & 3;
  RESULT(0, x[n]);
  x[(n + 1) & 3] = n;
  RESULT(1, x.x + x.y * 3 + x.z * 5 + x.w * 7);
}
struct inner { ushort a; uint b[3]; };
struct outer { char tag; struct inner one; double d; struct inner many[2]; };
KERNEL(structures) {
  struct outer s, t;
  s.tag = IN(0); s.one.a = IN(1); s.d = double_of(IN(2));
  for (int n = 0; n < 3; ++n) { s.one.b[n] = IN(n); s.many[0].b[n] = IN(n + 3); s.many[1].b[n] = IN(n) ^ IN(n + 1); }
  s.many[0].a = s.many[1].a = 9;
  t = s;
  t.many[IN(5) & 1].b[IN(6) % 3] += t.one.a;
  RESULT(0, t.many[0].b[0] + t.many[1].b[2]); RESULT(1, t.many[0].b[1] ^ t.many[1].b[1]); RESULT(2, bits64(t.d)); RESULT(3, t.tag);
}
NOINLINE struct inner turned(struct inner given, uint by) {
  struct inner result = {given.a + by, {given.b[2], given.b[0], given.b[1] ^ by}};
  return result;
}
KERNEL(structures_by_value) {
  struct inner s = {IN(0), {IN(1), IN(2), IN(3)}};
  for (uint n = 0; n < (IN(4) & 3); ++n) s = turned(s, n + IN(5));
  RESULT(0, s.a); RESULT(1, s.b[0]); RESULT(2, s.b[1]); RESULT(3, s.b[2]);
}
KERNEL(private_sort) {
  uint cells_[12];
  for (int n = 0; n < 12; ++n) cells_[n] = IN(n) % 1000;
  for (int n = 1; n < 12; ++n)
    for (int k = n; k > 0 && cells_[k - 1] > cells_[k]; --k) { uint t = cells_[k]; cells_[k] = cells_[k - 1]; cells_[k - 1] = t; }
  RESULT(0, cells_[0]); RESULT(1, cells_[5]); RESULT(2, cells_[11]); RESULT(3, cells_[IN(13) % 12]);
}
KERNEL(private_bytes) {
  uchar text[40];
  for (int n = 0; n < 40; ++n) text[n] = IN(n) >> (n & 7);
  uint hash = 2166136261u;
  for (uint n = IN(3) % 20; n < 40; n += 1 + (text[n] & 3)) { hash = (hash ^ text[n]) * 16777619u; text[n] ^= hash; }
  RESULT(0, hash); RESULT(1, text[IN(1) % 40]);
}
constant uint primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
KERNEL(constant_table) { uint x = IN(0); RESULT(0, primes[x & 15] * primes[x >> 4 & 15]); RESULT(1, x % primes[x >> 8 & 15]); }
KERNEL(negative_offsets) {
  global const uint *mine = in + (GLOBAL_ID & 511) + 8, *all = in + GROUP_ID * 16 + 32;
  uint held[8];
  for (uint n = 0; n < 8; ++n) held[n] = IN(n);
  uint k = IN(8) % 7 + 1;
  held[k - 1] += 3;
  RESULT(0, mine[-1] + mine[-2] * 3 - mine[1]); RESULT(1, all[-1] ^ all[-7] + all[2]); RESULT(2, held[k - 1] * held[k]);
  out[4 * GLOBAL_ID + 8 - 5] = mine[-8];
}
KERNEL(matrix_of_lane) {
  int a[3][3], b[3][3], c[3][3];
  for (int i = 0; i < 3; ++i) for (int k = 0; k < 3; ++k) { a[i][k] = IN(3 * i + k) & 255; b[i][k] = IN(20 + 3 * i + k) & 255; }
  for (int i = 0; i < 3; ++i) for (int k = 0; k < 3; ++k) { c[i][k] = 0; for (int n = 0; n < 3; ++n) c[i][k] += a[i][n] * b[n][k]; }
  RESULT(0, c[0][0] + c[1][1]); RESULT(1, c[2][0] - c[0][2]); RESULT(2, c[IN(0) % 3][IN(1) % 3]);
}

// --- Calls ----------------------------------------------------------------------------------------------------------------
NOINLINE uint weighed(uint x, uint y) { return x * 31 + (y ^ x >> 3); }
KERNEL(calls) { uint x = IN(0); for (int n = 0; n < 3; ++n) x = weighed(x, IN(n)); RESULT(0, x); if (x & 1) RESULT(1, weighed(x, weighed(x, 5))); }
NOINLINE uint fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL(recursion) { RESULT(0, fibonacci(IN(0) % 9)); }
uint is_odd(uint n);
NOINLINE uint is_even(uint n) { return n == 0 ? 1 : is_odd(n - 1); }
NOINLINE uint is_odd(uint n) { return n == 0 ? 0 : is_even(n - 1); }
KERNEL(mutual_recursion) { RESULT(0, is_even(IN(0) % 15)); }
NOINLINE uint ackermann(uint m, uint n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
KERNEL(deep_recursion) { RESULT(0, ackermann(IN(0) % 2 + 1, IN(1) % 4)); }
NOINLINE void exchanged(uint *a, uint *b) { if (*a > *b) { uint t = *a; *a = *b; *b = t; } }
KERNEL(pointers_to_private) { uint a = IN(0), b = IN(1), c = IN(2); exchanged(&a, &b); exchanged(&b, &c); exchanged(&a, &b); RESULT(0, a); RESULT(1, b); RESULT(2, c); }
NOINLINE ulong of_many(uint a, ulong b, uint c, float d, double e, ushort f, uint4 g, uint h, uint i, uint k) {
  return a + b * c + (uint)(int)d + (ulong)(long)e + f + g.x * g.w + h * i - k;
}
KERNEL(many_arguments) {
  uint4 v = {IN(0), 2, 3, IN(1)};
  RESULT(0, of_many(IN(0), IN(1), IN(2), single_of(IN(3)), double_of(IN(4)), IN(5), v, IN(6), IN(7), IN(8)));
}
KERNEL(generic_pointers) {
  SHARED uint shared_[GROUP];
  uint mine[2] = {IN(0), IN(1)};
  shared_[LOCAL_ID] = IN(2);
  BARRIER();
  uint choice = IN(3) & 1;
#ifdef __AMDGCN__
  generic uint *p = choice ? (generic uint *)&mine[IN(4) & 1] : (generic uint *)&shared_[LOCAL_ID];
#else
  uint *p = choice ? &mine[IN(4) & 1] : &shared_[LOCAL_ID];
#endif
  *p += 5;
  RESULT(0, *p); RESULT(1, mine[0] + mine[1]); RESULT(2, shared_[LOCAL_ID]);
}

// --- Local memory, barriers, atomic operations ----------------------------------------------------------------------------
KERNEL(reversed) { SHARED uint tile[GROUP]; tile[LOCAL_ID] = IN(0); BARRIER(); RESULT(0, tile[GROUP - 1 - LOCAL_ID]); }
KERNEL(reduction) {
  SHARED ulong sums[GROUP];
  sums[LOCAL_ID] = IN(0);
  BARRIER();
  for (uint half_ = GROUP / 2; half_; half_ /= 2) { if (LOCAL_ID < half_) sums[LOCAL_ID] += sums[LOCAL_ID + half_]; BARRIER(); }
  RESULT(0, sums[0]);
}
KERNEL(scan) {
  SHARED uint rows[2][GROUP];
  uint now = 0;
  rows[0][LOCAL_ID] = IN(0) & 255;
  BARRIER();
  for (uint by = 1; by < GROUP; by *= 2) {
    uint x = rows[now][LOCAL_ID];
    rows[!now][LOCAL_ID] = LOCAL_ID >= by ? x + rows[now][LOCAL_ID - by] : x;
    now = !now;
    BARRIER();
  }
  RESULT(0, rows[now][LOCAL_ID]);
}
KERNEL(transposed) {
  SHARED float tile[8][9];
  tile[LOCAL_ID / 8][LOCAL_ID % 8] = single_of(IN(0));
  BARRIER();
  RESULT(0, bits32(tile[LOCAL_ID % 8][LOCAL_ID / 8]));
}
KERNEL(tiles) {
  SHARED double a[GROUP], b[GROUP];
  double total = 0;
  for (uint part = 0; part < 3; ++part) {
    a[LOCAL_ID] = double_of(IN(part)); b[LOCAL_ID] = double_of(IN(part + 5));
    BARRIER();
    for (uint n = 0; n < 8; ++n) total += a[LOCAL_ID / 8 * 8 + n] * b[n * 8 + LOCAL_ID % 8];
    BARRIER();
  }
  RESULT(0, bits64(total));
}
KERNEL(bytes_in_local_memory) {
  SHARED uchar bytes[GROUP * 4];
  for (int n = 0; n < 4; ++n) bytes[LOCAL_ID * 4 + n] = IN(n);
  BARRIER();
  uint r = 0;
  for (int n = 0; n < 9; ++n) r = r * 7 + bytes[(LOCAL_ID * 3 + n * 5) % (GROUP * 4)];
  RESULT(0, r);
}
KERNEL(histogram) {
  SHARED uint counts[16];
  if (LOCAL_ID < 16) counts[LOCAL_ID] = 0;
  BARRIER();
  for (int n = 0; n < 4; ++n) __scoped_atomic_fetch_add(&counts[IN(n) & 15], 1, GROUP_SCOPE);
  BARRIER();
  RESULT(0, counts[LOCAL_ID & 15]);
  if (LOCAL_ID < 16) __scoped_atomic_fetch_add(&cells[LOCAL_ID], counts[LOCAL_ID], DEVICE_SCOPE);
}
KERNEL(global_atomics) {
  uint x = IN(0);
  __scoped_atomic_fetch_add(&cells[0], x, DEVICE_SCOPE);
  __scoped_atomic_fetch_max(&cells[1], x, DEVICE_SCOPE);
  __scoped_atomic_fetch_xor(&cells[2], x, DEVICE_SCOPE);
  __scoped_atomic_fetch_or(&cells[3], x & 0x11111111, DEVICE_SCOPE);
  __scoped_atomic_fetch_sub(&cells[4], x >> 3, DEVICE_SCOPE);
  if (x & 1) __scoped_atomic_fetch_min((global int *)&cells[5], (int)x, DEVICE_SCOPE);
  __scoped_atomic_fetch_add((global ulong *)&cells[6], (ulong)x << 20, DEVICE_SCOPE);
}
KERNEL(compare_and_swap) {
  uint seen = __scoped_atomic_load_n(&cells[8], DEVICE_SCOPE), x = IN(0) & 0xffff;
  while (!__scoped_atomic_compare_exchange_n(&cells[8], &seen, seen + x, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
  RESULT(0, x);
}
KERNEL(tickets) {
  SHARED uint next, taken[GROUP];
  if (!LOCAL_ID) next = 0;
  taken[LOCAL_ID] = 0;
  BARRIER();
  uint mine = __scoped_atomic_fetch_add(&next, 1, GROUP_SCOPE);
  taken[mine] = 1;
  BARRIER();
  RESULT(0, taken[LOCAL_ID] + next);
}

// --- Matrices and dot products --------------------------------------------------------------------------------------------
DEVICE static inline float small(uint x) { return (float)((int)(x % 33) - 16) * 0.125f; }
#define LEFT(i, k) in[((i) * 16 + (k) + GROUP_ID * 5) & 1023]
#define RIGHT(k, n) in[((k) * 16 + (n) + GROUP_ID * 9 + 300) & 1023]
#define CELL(i, n) out[4 * GROUP * GROUP_ID + 16 * (i) + (n)]
KERNEL(matrix_of_halfs) {
  uint lane = LOCAL_ID;
#if defined(__gfx90a__) || defined(__gfx942__)
  typedef half half4_ __attribute__((ext_vector_type(4)));
  half4_ x, y;
  float4 z = {0, 0, 0, 0};
  for (uint n = 0; n < 4; ++n) { x[n] = small(LEFT(lane & 15, lane / 16 * 4 + n)); y[n] = small(RIGHT(lane / 16 * 4 + n, lane & 15)); }
  z = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, z, 0, 0, 0);
  for (uint n = 0; n < 4; ++n) CELL(lane / 16 * 4 + n, lane & 15) = bits32(z[n]);
#elif defined(__GFX11__) && !defined(WAVE64)
  typedef half half16_ __attribute__((ext_vector_type(16)));
  typedef float float8_ __attribute__((ext_vector_type(8)));
  if (lane >= 32) return;
  half16_ x, y;
  float8_ z = 0.0f;
  for (uint n = 0; n < 16; ++n) { x[n] = small(LEFT(lane & 15, n)); y[n] = small(RIGHT(n, lane & 15)); }
  z = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, z);
  for (uint n = 0; n < 8; ++n) CELL(2 * n + lane / 16, lane & 15) = bits32(z[n]);
#elif defined(__GFX12__) && !defined(WAVE64) && !defined(__gfx1250__)
  typedef half half8_ __attribute__((ext_vector_type(8)));
  typedef float float8_ __attribute__((ext_vector_type(8)));
  if (lane >= 32) return;
  half8_ x, y;
  float8_ z = 0.0f;
  for (uint n = 0; n < 8; ++n) { x[n] = small(LEFT(lane & 15, lane / 16 * 8 + n)); y[n] = small(RIGHT(lane / 16 * 8 + n, lane & 15)); }
  z = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, z);
  for (uint n = 0; n < 8; ++n) CELL(8 * (lane / 16) + n, lane & 15) = bits32(z[n]);
#else
  for (uint n = 0; n < 4; ++n) {
    float total = 0;
    for (uint k = 0; k < 16; ++k) total += small(LEFT(lane / 4, k)) * small(RIGHT(k, lane % 4 * 4 + n));
    CELL(lane / 4, lane % 4 * 4 + n) = bits32(total);
  }
#endif
}
KERNEL(matrix_of_singles) {
  uint lane = LOCAL_ID;
#if defined(__gfx90a__) || defined(__gfx942__)
  float4 z = {0, 0, 0, 0};
  for (uint k = 0; k < 4; ++k)
    z = __builtin_amdgcn_mfma_f32_16x16x4f32(small(LEFT(lane & 15, 4 * k + lane / 16)), small(RIGHT(4 * k + lane / 16, lane & 15)), z, 0, 0, 0);
  for (uint n = 0; n < 4; ++n) CELL(lane / 16 * 4 + n, lane & 15) = bits32(z[n]);
#else
  for (uint n = 0; n < 4; ++n) {
    float total = 0;
    for (uint k = 0; k < 16; ++k) total += small(LEFT(lane / 4, k)) * small(RIGHT(k, lane % 4 * 4 + n));
    CELL(lane / 4, lane % 4 * 4 + n) = bits32(total);
  }
#endif
}
KERNEL(dot_product_of_bytes) {
  int a = IN(0), b = IN(1), c = (int)IN(2) >> 4;
#if defined(__gfx906__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx1030__)
  RESULT(0, (uint)__builtin_amdgcn_sdot4(a, b, c, 0)); RESULT(1, __builtin_amdgcn_udot4(a, b, c, 0));
#elif defined(__GFX11__) || defined(__GFX12__)
  RESULT(0, (uint)__builtin_amdgcn_sudot4(1, a, 1, b, c, 0)); RESULT(1, __builtin_amdgcn_udot4(a, b, c, 0));
#else
  int s = c;
  uint u = c;
  for (int n = 0; n < 32; n += 8) { s += (schar)(a >> n) * (schar)(b >> n); u += (uint)(uchar)(a >> n) * (uchar)(b >> n); }
  RESULT(0, (uint)s); RESULT(1, u);
#endif
}
