// HIP: classes, templates, inlining, virtual calls, statics and globals, shared memory, pointers into each space.
#include "hip.h"

namespace physics {

__constant__ float gravity = 9.81f;
__device__ int collisions = 3;
static __device__ unsigned long seed = 0x123456789abcdef0;

enum class Phase : unsigned char { Solid = 1, Liquid, Gas = 200 };

struct Vec3 {
  float x, y, z;
  __device__ float dot(const Vec3 &other) const { return x * other.x + y * other.y + z * other.z; }
  __device__ Vec3 operator*(float factor) const { return Vec3{x * factor, y * factor, z * factor}; }
};

class Body {
 public:
  __device__ explicit Body(int id) : id(id), phase(Phase::Solid) {}
  __device__ virtual float energy(float speed) const { return 0.5f * mass * speed * speed; }
  int id;
  Phase phase;

 protected:
  float mass = 2.0f;
  static constexpr int kLimit = 12;
};

class Spinning : public Body {
 public:
  __device__ Spinning(int id, float spin) : Body(id), spin(spin) {}
  __device__ float energy(float speed) const override { return Body::energy(speed) + spin * gravity; }
  float spin;
};

// Bit-fields of several types, one that begins a new unit, and a static member.
struct State {
  bool alive : 1;
  int charge : 4;
  unsigned level : 9;
  long long clock : 33;
  static __device__ int count;
};
__device__ int State::count = 7;

template <typename T, int N>
struct Ring {
  T items[N];
  int head;
  __device__ void push(T item) {
    items[head % N] = item;
    ++head;
  }
  __device__ T &operator[](int index) { return items[index % N]; }
};

}  // namespace physics

using namespace physics;

namespace {
__device__ int hidden_global = 42;
}

union Word {
  float number;
  unsigned bits;
  unsigned char bytes[4];
};

__device__ inline int square(int base) {
  int squared = base * base;
  return squared;
}

__device__ __attribute__((noinline)) int polynomial(int x, int order) {
  static __device__ int calls = 0;
  calls += 1;
  int value = 1;
  for (int i = 0; i < order; ++i) {
    int term = square(value + i);
    value = term * x + hidden_global;
  }
  return value;
}

__device__ __attribute__((noinline)) int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }

__device__ __attribute__((noinline)) int minus_one(int x) { return x - 1; }
__device__ __attribute__((noinline)) int plus_one(int x) { return x + 1; }

// Nested IF/THEN/ELSE, a loop whose trip count differs between the lanes, inlined and outlined calls.
__global__ void divergent(int *out, int limit) {
  int lane = ITEM;
  int result = 0;
  if (lane < limit) {
    int left = square(lane);
    if ((lane & 1) == 0) {
      int even = polynomial(left, 3);
      result = even;
    } else {
      int odd = left - 1;
      result = odd * odd;
    }
    result += left;
  } else {
    int rest = lane - limit;
    for (int step = 0; step < rest; ++step)
      result += step ^ lane;
  }
  out[GROUP * 64 + lane] = result;
}

// Objects: virtual calls, references, pointers to members, a template with an array in scratch memory.
__global__ void objects(Vec3 *in, float *out, int n) {
  int i = GROUP * 64 + ITEM;
  Spinning top(i, 1.5f);
  const Body &body = top;
  Vec3 here = in[i];
  Vec3 &&scaled = here * 2.0f;
  Ring<short, 8> ring = {};
  for (int k = 0; k < n; ++k)
    ring.push((short)(k * i));
  float Spinning::*member = &Spinning::spin;
  State state;
  state.alive = i & 1;
  state.charge = -(i & 7);
  state.level = (unsigned)i;
  state.clock = (long long)i << 20;
  Word word;
  word.number = here.dot(scaled);
  auto blend = [&](float factor) { return factor * here.x + word.bytes[2]; };
  top.phase = word.bits > 1000u ? Phase::Gas : Phase::Liquid;
  out[i] = body.energy(here.x) + top.*member + ring[n] + blend(0.5f) + state.charge + (float)state.clock +
           (float)(seed >> 60) + (float)State::count;
}

// Pointers into each address space, shared memory (static and dynamic size), a call through a pointer, recursion.
__global__ void spaces(int *out, int n) {
  __shared__ int tile[64];
  extern __shared__ float dynamic[];
  int local_array[16];
  __attribute__((address_space(1))) int *to_global = (__attribute__((address_space(1))) int *)out;
  __attribute__((address_space(3))) int *to_local = (__attribute__((address_space(3))) int *)tile;
  __attribute__((address_space(4))) const float *to_constant =
      (__attribute__((address_space(4))) const float *)&gravity;
  __attribute__((address_space(5))) int *to_private = (__attribute__((address_space(5))) int *)local_array;
  int *to_generic = (n & 1) ? &tile[ITEM] : &local_array[n & 15];
  for (int i = 0; i < 16; ++i)
    local_array[i] = i * ITEM;
  tile[ITEM] = local_array[n & 15];
  dynamic[ITEM] = *to_constant;
  __builtin_amdgcn_s_barrier();
  int (*step)(int) = (n & 2) ? plus_one : minus_one;
  to_global[ITEM] = step(*to_generic) + to_local[(ITEM + 1) & 63] + to_private[3] + factorial(n & 7) +
                    (int)dynamic[63 - ITEM] + ++collisions;
}
