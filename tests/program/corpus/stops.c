// Variables in every kind of scope, for a debugger that stops wherever `checkpoint` is called.
// Built by gcc and clang, with and without optimization, in DWARF 4 and 5; gdb says what each variable is.

typedef unsigned long word;
enum color { RED, GREEN = 5, BLUE = 1 << 4 };
struct point { int x, y; };
struct node { struct node *next; short key; struct point at; unsigned flag : 3; int delta : 7; const char *name; };
union either { int number; float real; unsigned char bytes[4]; };

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))

int global_int = 42;
static double global_real = 2.5;
static struct point origin = {-1, 7};
const char *const greeting = "hello, world";
volatile int sink;

NOINLINE void checkpoint(int number) {
  static int visits;
  visits++;
  __asm__ volatile("" : : "r"(number) : "memory");
  sink = number;
}

NOINLINE long sum(const int *values, int count) {
  long total = 0;
  for (int i = 0; i < count; i++) {
    int each = values[i];
    total += each;
    if (i == count / 2) checkpoint(1);
  }
  return total;
}

NOINLINE int blocks(int n) {
  int outer = n * 2;
  {
    int n = outer + 1;
    enum color shade = GREEN;
    {
      char n = 'x';
      static unsigned short calls = 7;
      calls += n;
      checkpoint(2);
      sink = n + shade;
    }
    sink = n;
    checkpoint(3);
    outer += n;
  }
  for (unsigned long k = 0; k < 2; k++) {
    double half = (double)k / 2;
    checkpoint(4);
    outer += (int)half;
  }
  return outer;
}

NOINLINE int recurse(int depth, struct point where) {
  struct point here = {where.x + depth, where.y - depth};
  union either mixed;
  mixed.real = (float)depth + 0.5f;
  if (depth == 0) {
    checkpoint(5);
    return here.x;
  }
  int below = recurse(depth - 1, here);
  checkpoint(6);
  return below + mixed.number + here.y;
}

INLINE int scaled(int value, int factor) {
  int product = value * factor;
  if (product > 100) checkpoint(7);
  return product;
}

INLINE int twice(struct point *where, int amount) {
  int first = scaled(where->x, amount);
  int second = scaled(where->y, amount + 1);
  where->x = first;
  return first + second;
}

NOINLINE int inlined(struct point start, int amount) {
  struct point copy = start;
  int result = twice(&copy, amount);
  checkpoint(8);
  return result + copy.x;
}

NOINLINE int lists(struct node *head) {
  int length = 0;
  struct node *at = head;
  while (at) {
    struct node local = *at;
    length += local.key;
    checkpoint(9);
    at = local.next;
  }
  return length;
}

NOINLINE int arrays(int count) {
  int fixed[2][3] = {{1, 2, 3}, {4, 5, 6}};
  char text[12] = "stack";
  int sized[count];
  for (int i = 0; i < count; i++) sized[i] = i * i + fixed[i % 2][i % 3];
  checkpoint(10);
  return sized[count - 1] + text[1];
}

NOINLINE double numbers(char c, signed char s, unsigned short u, long l, float f, double d, long double e, _Bool b) {
  unsigned char small = (unsigned char)(c + s);
  long long wide = l * 3;
  float ratio = f / 3;
  double mean = (d + ratio) / 2;
  __int128 huge = (__int128)l << 70;
  checkpoint(11);
  sink = small + u + b + (int)wide + (int)e + (int)(huge >> 80);
  return mean;
}

NOINLINE int pointers(int *one, int **two, int (*function)(int), void *any, const char *text) {
  int *const same = one;
  int value = **two + *same;
  checkpoint(12);
  sink = text[0] + (any != 0);
  return function(value % 4);
}

NOINLINE struct node returned(int key) {
  struct node made = {0, (short)key, {key, -key}, 5, -3, greeting};
  checkpoint(13);
  return made;
}

NOINLINE int tail(int a, int b) {
  int c = a - b;
  checkpoint(14);
  return c;
}

NOINLINE int caller(int a) {
  int twice_a = a * 2;
  return tail(twice_a, a + 1);
}

NOINLINE int constants(int a) {
  const int fixed = 12;
  int gone = a * 0;
  enum color shade = a ? BLUE : RED;
  const char *word_here = greeting + fixed % 5;
  float quarter = 0.25f;
  checkpoint(15);
  return fixed + gone + (int)shade + word_here[0] + (int)quarter;
}

int main(int argc, char **argv) {
  int values[5] = {3, 1, 4, 1, 5};
  struct point start = {20, 30};
  struct node last = {0, 9, {1, 2}, 1, -1, "last"}, first = {&last, 8, {3, 4}, 2, 33, "first"};
  int total = (int)sum(values, 5);
  total += blocks(argc + 3);
  total += recurse(2, start);
  total += inlined(start, argc + 4);
  total += lists(&first);
  total += arrays(argc + 4);
  total += (int)numbers('a', -5, 65000, 1L << 40, 1.25f, -2.75, 3.5L, 1);
  int *one = &values[2];
  total += pointers(one, &one, blocks, &origin, greeting);
  struct node copy = returned(argc + 6);
  total += caller(total) + copy.key + constants(argc);
  sink = total + (int)global_real + global_int + origin.x;
  checkpoint(16);
  (void)argv;
  return 0;
}
