// Kernels in C++ as HIP has them, which the host compiles as C++.
#include "both.h"

// --- Functions and objects ------------------------------------------------------------------------------------------------
DEVICE NOINLINE uint added(uint x, uint y) { return x + y; }
DEVICE NOINLINE uint mixed(uint x, uint y) { return x * 17 ^ y; }
DEVICE NOINLINE uint kept(uint x, uint) { return x; }
KERNEL(function_pointers) {
  uint (*table[3])(uint, uint) = {added, mixed, kept};
  uint x = IN(0);
  for (int n = 0; n < 4; ++n) x = table[IN(n) % 3](x, IN(n + 1));
  RESULT(0, x);
}
DEVICE NOINLINE uint folded(uint (*step)(uint, uint), uint first, uint count) {
  uint result = first;
  for (uint n = 0; n < count; ++n) result = step(result, n);
  return result;
}
KERNEL(callbacks) { RESULT(0, folded(IN(0) & 1 ? added : mixed, IN(1), IN(2) & 7)); }
struct Shape {
  uint edge;
  DEVICE Shape(uint e) : edge(e) {}
  DEVICE virtual uint area() const { return edge; }
  DEVICE virtual uint twice() const { return 2 * area(); }
};
struct Square : Shape {
  DEVICE Square(uint e) : Shape(e) {}
  DEVICE uint area() const override { return edge * edge; }
};
struct Box : Square {
  uint depth;
  DEVICE Box(uint e, uint d) : Square(e), depth(d) {}
  DEVICE uint area() const override { return Square::area() * depth; }
  DEVICE uint twice() const override { return area() + 1; }
};
KERNEL(virtual_functions) {
  Shape shape(IN(0));
  Square square(IN(1));
  Box box(IN(2), IN(3));
  const Shape *shapes[3] = {&shape, &square, &box};
  RESULT(0, shapes[IN(4) % 3]->area()); RESULT(1, shapes[IN(5) % 3]->twice());
}
template <typename T, int N> struct Row {
  T cells[N];
  DEVICE T &operator[](int n) { return cells[n]; }
  DEVICE T sum() const { T total = 0; for (int n = 0; n < N; ++n) total += cells[n]; return total; }
};
KERNEL(templates) {
  Row<uint, 5> words; Row<double, 3> doubles; Row<uchar, 7> bytes;
  for (int n = 0; n < 5; ++n) words[n] = IN(n);
  for (int n = 0; n < 3; ++n) doubles[n] = double_of(IN(n));
  for (int n = 0; n < 7; ++n) bytes[n] = IN(n);
  RESULT(0, words.sum()); RESULT(1, bits64(doubles.sum())); RESULT(2, bytes.sum());
}
KERNEL(lambdas) {
  uint x = IN(0), y = IN(1);
  auto weigh = [x, &y](uint by) { y += by; return x * by + y; };
  uint r = weigh(3);
  if (x & 1) r ^= weigh(7);
  RESULT(0, r); RESULT(1, y);
}
DEVICE static void sort_three(uint (&a)[3]) {
  for (int n = 0; n < 2; ++n) for (int k = 0; k < 2; ++k) if (a[k] > a[k + 1]) { uint t = a[k]; a[k] = a[k + 1]; a[k + 1] = t; }
}
KERNEL(references) { uint a[3] = {IN(0), IN(1), IN(2)}; sort_three(a); RESULT(0, a[0]); RESULT(1, a[1]); RESULT(2, a[2]); }
struct Complex {
  double re, im;
  DEVICE Complex operator*(const Complex &o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  DEVICE Complex operator+(const Complex &o) const { return {re + o.re, im + o.im}; }
};
KERNEL(mandelbrot) {
  Complex c = {(double)(int)(IN(0) % 3000) / 1000 - 2, (double)(int)(IN(1) % 2000) / 1000 - 1}, z = {0, 0};
  uint n = 0;
  while (n < 40 && z.re * z.re + z.im * z.im < 4) { z = z * z + c; ++n; }
  RESULT(0, n); RESULT(1, bits64(z.re));
}
struct Node { Node *left, *right; uint value; };
DEVICE NOINLINE ulong sum_of(const Node *node, uint depth) {
  return node ? node->value * (ulong)depth + sum_of(node->left, depth + 1) + sum_of(node->right, depth + 1) : 0;
}
KERNEL(trees) {
  Node nodes[6];
  for (int n = 0; n < 6; ++n) {
    nodes[n] = {nullptr, nullptr, IN(n) & 0xffff};
    Node *at = nodes;
    while (n && at != &nodes[n]) {
      Node *&next = nodes[n].value < at->value ? at->left : at->right;
      if (!next) next = &nodes[n];
      at = next;
    }
  }
  RESULT(0, sum_of(nodes, 1));
}
DEVICE NOINLINE uint hanoi(uint n, uint from, uint to) { return n ? hanoi(n - 1, from, 3 - from - to) + hanoi(n - 1, 3 - from - to, to) + from * 3 + to : 0; }
KERNEL(recursion_of_two) { RESULT(0, hanoi(IN(0) % 6, 0, 2)); }
struct Guard { uint &counter; DEVICE Guard(uint &c) : counter(c) { counter += 3; } DEVICE ~Guard() { counter *= 2; } };
KERNEL(destructors) {
  uint counter = IN(0) & 0xff;
  { Guard one(counter); if (IN(1) & 1) { Guard two(counter); counter += 1; } }
  RESULT(0, counter);
}
DEVICE NOINLINE Row<ulong, 6> powers(uint x) { Row<ulong, 6> r; r[0] = 1; for (int n = 1; n < 6; ++n) r[n] = r[n - 1] * x; return r; }
KERNEL(large_results) { Row<ulong, 6> r = powers(IN(0)); RESULT(0, r.sum()); RESULT(1, r[IN(1) % 6]); }

// --- Numbers ----------------------------------------------------------------------------------------------------------------
KERNEL(horner) { float x = single_of(IN(0)) * 0.001f, r = 0; for (int n = 0; n < 9; ++n) r = r * x + (float)n * 0.3f; RESULT(0, bits32(r)); }
KERNEL(quotients) { float x = single_of(IN(0)), y = single_of(IN(1)) + 0.125f; RESULT(0, bits32(x / y)); RESULT(1, bits64((double)x / y)); RESULT(2, bits32(1.0f / y)); RESULT(3, bits32(__builtin_sqrtf(x * x + 1))); }
KERNEL(wide_products) {
  unsigned __int128 x = ((unsigned __int128)IN(0) << 64 | (ulong)IN(1) << 32 | IN(2)), y = x * (IN(3) | 1) + 12345;
  RESULT(0, (ulong)y); RESULT(1, (ulong)(y >> 64)); RESULT(2, (ulong)(y >> (IN(4) & 63)));
}
KERNEL(greatest_divisor) { ulong a = (ulong)IN(0) * 12 + 12, b = (ulong)IN(1) * 18 + 18; while (b) { ulong t = a % b; a = b; b = t; } RESULT(0, a); }
KERNEL(xorshift) { ulong x = (ulong)IN(0) << 32 | IN(1) | 1; for (int n = 0; n < 20; ++n) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } RESULT(0, x); }
KERNEL(mixed_halfs) {
  float16_t x = half_of(IN(0)), y = half_of(IN(1));
  float r = (float)x * (float)y + 0.5f;
  RESULT(0, bits16((float16_t)r)); RESULT(1, bits16(x > y ? x : y)); RESULT(2, bits16(-x)); RESULT(3, bits32(r));
}
KERNEL(saturated) {
  int x = (int)IN(0), y = (int)IN(1), sum;
  bool over = __builtin_add_overflow(x, y, &sum);
  uint product;
  bool wide = __builtin_mul_overflow(IN(2), IN(3) & 0xffff, &product);
  RESULT(0, over ? (x < 0 ? 0x80000000u : 0x7fffffffu) : (uint)sum); RESULT(1, over); RESULT(2, product); RESULT(3, wide);
}
KERNEL(bools) { bool a = IN(0) & 1, b = IN(1) & 2, c = IN(2) > IN(3); RESULT(0, a && (b || !c)); RESULT(1, a ^ b ^ c); RESULT(2, a + b + c); }

// --- Memory -------------------------------------------------------------------------------------------------------------------
DEVICE __constant__ const uint weights[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
KERNEL(constants) { uint r = 0; for (uint n = 0; n < 8; ++n) r += weights[(n + IN(0)) & 7] * (IN(n) & 7); RESULT(0, r); }
KERNEL(shared_structures) {
  struct Cell { uint key; double value; };
  SHARED Cell cells_[GROUP];
  cells_[LOCAL_ID].key = IN(0); cells_[LOCAL_ID].value = double_of(IN(1));
  BARRIER();
  Cell &other = cells_[(LOCAL_ID * 5 + 3) % GROUP];
  RESULT(0, other.key); RESULT(1, bits64(other.value));
}
KERNEL(bitonic_sort) {
  SHARED uint keys[GROUP];
  keys[LOCAL_ID] = IN(0);
  BARRIER();
  for (uint size = 2; size <= GROUP; size *= 2)
    for (uint by = size / 2; by; by /= 2) {
      uint other = LOCAL_ID ^ by;
      if (other > LOCAL_ID && (keys[LOCAL_ID] > keys[other]) == !(LOCAL_ID & size)) {
        uint t = keys[LOCAL_ID]; keys[LOCAL_ID] = keys[other]; keys[other] = t;
      }
      BARRIER();
    }
  RESULT(0, keys[LOCAL_ID]);
}
KERNEL(bit_fields) {
  struct { uint a : 5; int b : 11; uint c : 16; ulong d : 40; } s;
  s.a = IN(0); s.b = IN(1); s.c = IN(2); s.d = (ulong)IN(3) << 12;
  s.a += 3; s.b *= 2; s.d ^= s.c;
  RESULT(0, s.a); RESULT(1, s.b); RESULT(2, s.c); RESULT(3, s.d);
}
KERNEL(unaligned_bytes) {
  struct __attribute__((packed)) { uchar a; uint b; ushort c; ulong d; } s[2];
  for (int n = 0; n < 2; ++n) { s[n].a = IN(n); s[n].b = IN(n + 2); s[n].c = IN(n + 4); s[n].d = (ulong)IN(n + 6) << 9; }
  uint n = IN(8) & 1;
  RESULT(0, s[n].b); RESULT(1, s[n].c + s[n].a); RESULT(2, s[n].d);
}
KERNEL(counters) {
  SHARED uint odd;
  if (!LOCAL_ID) odd = 0;
  BARRIER();
  if (IN(0) & 1) __scoped_atomic_fetch_add(&odd, 1u, GROUP_SCOPE);
  BARRIER();
  if (!LOCAL_ID) __scoped_atomic_fetch_add(&cells[9], odd, DEVICE_SCOPE);
  __scoped_atomic_fetch_add((ulong *)&cells[10], (ulong)IN(1), DEVICE_SCOPE);
  RESULT(0, odd);
}
