// C++: classes, inheritance, references, pointers to members, templates, scopes; compared with gdb like constructs.c.
namespace zoo {

enum class Size : unsigned char { Small = 1, Medium = 2, Large = 200 };
enum Plain { PLAIN_A, PLAIN_B = 4 };
enum Bits : unsigned { BIT_A = 1, BIT_B = 2, BIT_C = 4 };

struct Named {
  const char *name = "rex";
  long id = 0x1122;
};

class Animal {
 public:
  explicit Animal(int legs) : legs(legs) {}
  virtual int speak() const { return legs; }
  virtual ~Animal() {}
  int legs;
  static int count;
  static constexpr int kLimit = 12;

 protected:
  Size size = Size::Medium;

 private:
  bool secret = true;
};
int Animal::count = 3;

class Dog : public Animal, public Named {
 public:
  Dog() : Animal(4) {}
  int speak() const override { return 10; }
  int tricks[2] = {7, 8};
};

struct Base {
  int in_base = 1;
  virtual int which() { return in_base; }
};
struct Left : virtual Base {
  int in_left = 2;
};
struct Right : virtual Base {
  int in_right = 3;
};
struct Bottom : Left, Right {
  int in_bottom = 4;
  int which() override { return in_bottom; }
};

struct Simple {
  int a = 1;
};
struct Derived : Simple {
  int b = 2;
};
struct Private : private Simple {
  int c = 3;
};
struct EmptyBase {};
struct WithEmpty : EmptyBase {
  int value = 5;
};

template <typename T, int N>
struct Buffer {
  T items[N];
  int used = 0;
  void push(const T &item) { items[used++ % N] = item; }
};

template <typename T>
struct Wrap {
  T value;
};

int hidden_value = 42;
namespace inner {
double deep = 2.5;
struct Type {
  int t = 6;
};
Type instance;
}  // namespace inner

namespace {
int anonymous_variable = 77;
}

Dog dog;
Animal &animal_reference = dog;
Bottom bottom;
Buffer<short, 4> buffer = {{1, 2, 3, 4}, 2};
Wrap<Wrap<int>> wrapped = {{8}};
Wrap<Size> wrapped_size = {Size::Large};
}  // namespace zoo

using namespace zoo;

bool yes = true, no = false;
wchar_t wide = L'w';
char16_t c16 = u'x';
char32_t c32 = U'y';
Size scoped = Size::Small, scoped_unknown = Size(77);
Plain plain = PLAIN_B;
Bits bits_enum = Bits(BIT_A | BIT_C);
Size sizes[2] = {Size::Small, Size::Large};

int target = 17;
int &reference = target;
const int &constant_reference = target;
int &&moved = static_cast<int &&>(target);
Simple simple;
Simple &simple_reference = simple;
Derived derived;
Private private_base;
WithEmpty with_empty;
EmptyBase empty;
const char *text = "text";
const char *&text_reference = text;
int array[3] = {1, 2, 3};
int (&array_reference)[3] = array;
int add(int left, int right) { return left + right; }
int (&function_reference)(int, int) = add;
int (*function_pointer)(int, int) = add;

int Dog::*member = &Dog::legs;
int Simple::*first_member = &Simple::a;
int Derived::*derived_member = &Derived::b;
int Simple::*null_member = nullptr;
int (Dog::*method)() const = &Dog::speak;
int (Dog::*null_method)() const = nullptr;
int (Dog::*methods[2])() const = {&Dog::speak, nullptr};
int (Base::*virtual_method)() = &Base::which;
struct Plainly {
  int run(int x) { return x; }
  int data[2] = {5, 6};
};
int (Plainly::*plain_method)(int) = &Plainly::run;
int (Plainly::*array_member)[2] = &Plainly::data;

decltype(nullptr) nothing = nullptr;

struct Holder {
  int &reference;
  Simple &structure;
  const char *text;
  int Simple::*member;
  Size size;
  bool flag;
  bool flags[3];
  wchar_t letter;
  char c;
  Simple *pointer;
  int (*function)(int, int);
  static int shared;
} holder = {target, simple, "held", &Simple::a, Size::Large, true, {true, false, true}, L'h', 'c', &simple, add};
int Holder::shared = 99;

union Value {
  int number;
  float fraction;
  struct {
    short low, high;
  } parts;
} value = {0x40200000};

struct Fields {
  bool flag : 1;
  int small : 5;
  unsigned long large : 50;
  Size size : 8;
} fields = {true, -3, 0x123456789, Size::Large};

struct Nested {
  enum Kind { KIND_ONE = 1, KIND_TWO } kind = KIND_TWO;
  struct Inner {
    int x = 1;
    Kind inner_kind = KIND_ONE;
  } inner;
  typedef long Number;
  Number number = -4;
  union {
    int u1;
    float u2;
  };
} nested;

Animal *animal_pointer = &dog;
Animal animals[2] = {Animal(1), Animal(2)};
Bottom *bottom_pointer = &bottom;
Base *base_pointer = &bottom;
void *nowhere = nullptr;

auto lambda = [](int x) { return x + 1; };
int captured = 5;
struct Abstract {
  virtual void f() = 0;
  int abstract_value = 3;
};
struct Concrete : Abstract {
  void f() override {}
} concrete;
struct Multi : Derived, Named {
  double m = 0.5;
} multi;
template <typename T>
T variable_template = T(3);
int use_template() { return variable_template<int>; }

struct Overloads {
  Overloads(int) {}
  Overloads(const Overloads &) = default;
  ~Overloads() {}
  int operator+(int x) const { return x; }
  operator int() const { return 1; }
  static int make(int, const char *) { return 1; }
  int get() const volatile { return 2; }
  int value = 9;

 protected:
  int hidden = 8;

 private:
  int more = 7;
} overloads(1);
volatile Overloads *p_overloads = &overloads;

int main() {
  Nested::Kind kind = nested.kind;
  return lambda(captured) + anonymous_variable + Holder::shared + use_template() + kind + (dog.*method)() + animal_pointer->legs +
         overloads.get() + Overloads::make(1, "") + (overloads + 1) + buffer.used;
}
