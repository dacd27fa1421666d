// The same in C++: methods, references, namespaces, templates, bases, and what is inlined from classes.

volatile int sink;

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE inline __attribute__((always_inline))

NOINLINE void checkpoint(int number) {
  static int visits;
  visits++;
  __asm__ volatile("" : : "r"(number) : "memory");
  sink = number;
}

namespace shapes {
int created = 3;
static float unit = 1.5f;

enum class Kind : unsigned char { Circle = 1, Square = 9 };

struct Base {
  Kind kind;
  int id;
  static int count;
  NOINLINE int describe(int detail) const {
    int local = id * detail;
    checkpoint(1);
    return local + count;
  }
};
int Base::count = 11;

struct Square : Base {
  double side;
  INLINE double area() const {
    double result = side * side;
    if (result > 2) checkpoint(2);
    return result;
  }
  NOINLINE double grown(const double &by, int &&steps) {
    double before = side;
    side += by * steps;
    checkpoint(3);
    return before + area();
  }
};

namespace {
int hidden = 77;
}

template <typename T, int N>
struct Stack {
  T items[N];
  int top = 0;
  NOINLINE T push(T item) {
    T old = items[top];
    items[top++] = item;
    checkpoint(4);
    return old;
  }
};

template <typename T>
NOINLINE T larger(const T &left, const T &right) {
  bool is_left = left > right;
  checkpoint(5);
  return is_left ? left : right;
}
}  // namespace shapes

class Counter {
  int value_;
  int &shared_;

 public:
  Counter(int start, int &shared) : value_(start), shared_(shared) { checkpoint(6); }
  NOINLINE Counter &operator+=(int amount) {
    int before = value_;
    value_ += amount;
    shared_ -= before;
    checkpoint(7);
    return *this;
  }
  int value() const { return value_; }
};

struct Animal {
  virtual int legs() const { return 0; }
  int weight = 5;
};
struct Named {
  const char *name = "nobody";
};
struct Dog : Animal, Named {
  int legs() const override {
    int count = 4;
    checkpoint(8);
    return count + weight;
  }
};

NOINLINE int lambda(int factor) {
  int base = factor + 1;
  auto multiply = [&base, factor](int value) {
    int product = value * factor + base;
    checkpoint(9);
    return product;
  };
  int first = multiply(3);
  return first + multiply(first);
}

NOINLINE int references(shapes::Square &square, const int &number, int Counter::*, Animal &animal) {
  shapes::Base &base = square;
  int copy = number;
  checkpoint(10);
  return base.describe(copy) + animal.legs();
}

int main(int argc, char **argv) {
  shapes::Square square{{shapes::Kind::Square, argc + 6}, 1.25};
  double grown = square.grown(0.5, argc + 1);
  shapes::Stack<short, 4> stack{};
  stack.push(12);
  short old = stack.push(34);
  int most = shapes::larger(argc + 5, shapes::hidden);
  double longest = shapes::larger(2.5, grown);
  int shared = 100;
  Counter counter(argc, shared);
  counter += 5;
  Dog dog;
  int total = references(square, most, nullptr, dog) + lambda(argc + 2) + counter.value();
  sink = total + old + (int)longest + shared + shapes::created + (int)shapes::unit;
  checkpoint(11);
  (void)argv;
  return 0;
}
