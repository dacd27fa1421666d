// C: variables of every kind of type with known contents; what a debugger prints of them is compared with gdb.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uchar.h>
#include <wchar.h>

// --- Base types ---

signed char small = -5;
unsigned char byte = 200;
char letter = 'a', quote = '\'', backslash = '\\', newline = '\n', nul = 0, escape = 27, high = '\351';
short narrow = -12345;
unsigned short unarrow = 54321;
int number = -123456789;
unsigned unumber = 4000000000u;
long wide = -1234567890123456789;
unsigned long uwide = 12345678901234567890ul;
long long longer = 1ll << 62;
unsigned long long ulonger = ~0ull;
__int128 huge = (__int128)0x0123456789abcdef << 64 | 0xfedcba9876543210ull;
unsigned __int128 uhuge = (unsigned __int128)0xfedcba9876543210ull << 64 | 1;
__int128 little128 = -7;
_Bool yes = 1, no = 0;
int zero = 0, one = 1, minus_one = -1, thousand = 1000, eighty = 80;

float f_one = 1.0f, f_tenth = 0.1f, f_big = 1e30f, f_small = 1e-30f, f_negative = -2.5f, f_million = 1234567.0f;
float f_denormal = 1e-40f, f_infinite = 1.0f / 0.0f, f_nan = 0.0f / 0.0f;
double d_one = 1.0, d_tenth = 0.1, d_third = 1.0 / 3, d_big = 1e300, d_small = 5e-324, d_negative = -1234.5, d_zero = 0.0;
double d_minus_zero = -0.0, d_infinite = 1.0 / 0.0, d_minus_infinite = -1.0 / 0.0, d_nan = 0.0 / 0.0, d_whole = 123456789012345680.0;
double d_exact = 100000.0, d_million = 1e6, d_tiny = 0.0001, d_tinier = 0.00001;
long double l_one = 1.0L, l_tenth = 0.1L, l_third = 1.0L / 3, l_big = 1e4000L, l_small = 1e-4000L, l_negative = -1.25L;
long double l_infinite = 1.0L / 0.0L, l_zero = 0.0L, l_denormal = 3.6e-4951L;
float _Complex c_float = 1.5f + 2.5fi;
double _Complex c_double = -0.1 + 0.25i;
long double _Complex c_wide = 1.0L - 3.0Li;
_Float16 half = (_Float16)1.5, half_tenth = (_Float16)0.1, half_max = (_Float16)65504.0f;
_Float16 half_small = (_Float16)6e-8f;

char16_t c16 = u'x';
char32_t c32 = U'\x1F600';
wchar_t wc = L'w', wc_euro = L'\u20ac';

// --- Text ---

char text[] = "hello, world";
char text_padded[32] = "padded";
char text_full[4] = {'f', 'u', 'l', 'l'};
char text_inner[16] = "one\0two";
char text_escapes[] = "tab\there \"quoted\" \\ \001\177 \303\251 end\n";
char text_digits[] = "\0011\0012x\033[0m";
char text_repeats[] = "aaaaaaaaaaaaaaaaaaaaaaaabcdddddddddddddddef";
char text_empty[8] = "";
char text_none[3] = {0, 'x', 0};
char text_long[300] = {[0 ... 298] = 'z'};
char text_mixed_long[260] = {[0 ... 99] = 'q', [100] = 'a', [101] = 'b', [102] = 'c', [103 ... 258] = 'r'};
unsigned char bytes[6] = {1, 2, 3, 250, 0, 65};
signed char signed_bytes[4] = {-1, 0, 1, 'A'};
unsigned char bytes_zero[40];
wchar_t wide_text[] = L"wide \u00e9";
char16_t text16[] = u"sixteen";
char32_t text32[] = U"thirty-two";
wchar_t wide_escapes[] = {'A', 0x110000, 'B', 'g', 0x20acde, 0xd800, 'c', 0x85, 0xffff, -1, 1, '1', 0x1ff, 0x7f, 0x2028, 0x378, 0};
wchar_t wide_repeats[20] = {[0 ... 18] = 0x110000};
char16_t escapes16[] = {'A', 0xd800, 'B', 'B', 0xdc00, 0x85, 0xd83d, 0xde00, 0xffff, 1, 0x378, 0xdbff, 0xdfff, 0};
char16_t repeats16[16] = {[0 ... 14] = 0xd801}, incomplete16[3] = {'a', 0xd83d};
char32_t escapes32[] = {'A', 0x110000, '4', 0xdfff, 0xffffffff, 0};
wchar_t wc_surrogate = 0xd800, wc_negative = -1, wc_control = 0x85, wc_beyond = 0x110000, wc_unseen = 0xad;
char16_t c16_high = 0xd800, c16_low = 0xdc01, c16_control = 0x12;
const char *pointer_text = "pointed at";
const char *pointer_null = 0;
char *pointer_into = text + 7;
const char *strings[] = {"alpha", "beta", 0, "alpha"};
const unsigned char *pointer_bytes = bytes;
const wchar_t *pointer_wide = L"wide pointer";
const char16_t *pointer16 = u"pointer16";
const char *long_text = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
                        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789tail";
char text_2d[3][8] = {"first", "second", ""};

// --- Pointers ---

static int target_static = 3;
int target = 17;
int *p_int = &target, *p_null = 0, *p_static = &target_static;
int *p_offset = &target + 1;
int **pp_int = &p_int;
void *p_void = &target, *p_wild = (void *)0x1234;
const int *p_const = &target;
int *const p_constant = &target;
const volatile int *volatile restrict_like = &target;
int *restrict p_restrict = &target;
int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
int (*p_row)[3] = &matrix[1];
int (*p_matrix)[2][3] = &matrix;
int *array_of_pointers[3] = {&target, 0, &target_static};
int add(int left, int right) { return left + right; }
void nothing(void) {}
int (*p_function)(int, int) = add;
void (*p_nothing)(void) = nothing;
int (*p_functions[2])(int, int) = {add, 0};
int (*(*p_maker)(int))(int, int) = 0;
int (*(*p_array_of_functions)[2])(int, int) = &p_functions;
int variadic(const char *format, ...) { return format != 0; }
int (*p_variadic)(const char *, ...) = variadic;
char *(*p_char_function)(void) = 0;

// --- Enumerations ---

enum Color { RED, GREEN = 5, BLUE = -7 } color = GREEN, color_red = RED, color_blue = BLUE, color_unknown = 99;
enum Flag { FLAG_A = 1, FLAG_B = 2, FLAG_C = 8, FLAG_D = 16 } flag = FLAG_A, flag_none = 0, flag_two = FLAG_A | FLAG_C,
    flag_all = 27, flag_partly = 4 | 1, flag_unknown = 64;
enum Mask { MASK_NONE = 0, MASK_LOW = 1, MASK_WIDE = 6, MASK_HIGH = 8 } mask = MASK_WIDE, mask_mixed = 15, mask_zero = 0,
    mask_part = 2;
enum { ANONYMOUS_ONE = 1, ANONYMOUS_TWO } anonymous_enum = ANONYMOUS_TWO;
typedef enum { T_FIRST, T_SECOND } Typedefed;
Typedefed typedefed = T_SECOND;
enum Color colors[4] = {RED, GREEN, BLUE, RED};
enum Flag *p_flag = &flag_two;

// --- Structures and unions ---

struct Point {
  int x, y;
};
struct Point point = {1, -2}, *p_point = &point;
struct Point points[3] = {{1, 2}, {3, 4}, {5, 6}};
struct Point same_points[15];
typedef struct {
  double re, im;
} Pair;
Pair pair = {1.5, -0.25};
struct Node {
  int value;
  struct Node *next;
};
struct Node last = {2, 0}, first = {1, &last};
struct Everything {
  char c;
  unsigned char u;
  short s;
  _Bool b;
  float f;
  double d;
  long double l;
  int a[3];
  char name[8];
  const char *text;
  int *p;
  void *v;
  enum Color color;
  enum Flag flags;
  struct Point point;
  struct Point *to_point;
  int (*operation)(int, int);
  union {
    int i;
    float f;
  } word;
  struct {
    int anonymous_x, anonymous_y;
  };
  union {
    long as_long;
    char as_chars[8];
  };
  struct Node *node;
  float _Complex complex;
  int (*row)[3];
} everything = {'c', 7, -3, 1, 0.5f, 2.25, 1.75L, {10, 20, 30}, "name", "text", &target, (void *)0x10, BLUE, FLAG_A | FLAG_B,
                {7, 8}, &point, add, {.f = 1.0f}, {100, 200}, {.as_long = 0x4142434445464748}, &first, 2.0f, &matrix[0]};
struct Empty {
} empty;
union Word {
  unsigned bits;
  float number;
  unsigned char bytes[4];
} word = {0x3f800000};
struct Opaque *p_opaque = (struct Opaque *)0x2000;
struct Flexible {
  int count;
  int items[];
} flexible = {2, {11, 22}};
struct ZeroArray {
  int n;
  int none[0];
} zero_array = {4};
struct Deep1 {
  struct Deep2 {
    struct Deep3 {
      struct Deep4 {
        int bottom;
      } d4;
    } d3;
    int two;
  } d2;
  int one;
} deep = {{{{4}}, 2}, 1};

// --- Bit-fields ---

struct Bits {
  unsigned a : 3;
  signed b : 5;
  unsigned c : 24;
  unsigned long d : 40;
  signed long e : 20;
  _Bool f : 1;
  enum Flag g : 5;
  unsigned char h : 7;
  unsigned : 0;
  int i : 31;
  enum Color j : 4;
} bits = {5, -3, 0x123456, 0x123456789a, -9, 1, FLAG_C | FLAG_A, 65, -1000000, GREEN};
struct __attribute__((packed)) PackedBits {
  char first;
  unsigned a : 13;
  unsigned b : 17;
  int c : 9;
  long d : 61;
  char last;
} packed_bits = {'p', 0x1234 & 0x1fff, 0x1abcd, -77, -123456789012345, 'l'};
struct __attribute__((packed)) Packed {
  char c;
  int i;
  short s;
  double d;
} packed = {1, 2, 3, 4.5};

// --- Arrays and vectors ---

int numbers[5] = {1, 2, 3, 4, 5};
int repeated[20] = {[0 ... 11] = 7, [12] = 8, [13 ... 19] = 9};
int many[300];
int many_counting[250] = {0, 1, 2, 3, 4, 5, [200] = 1};
int nine[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
int ten[10] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
int eleven[11] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
int then_more[14] = {1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3};
float floats[3] = {0.5f, 1.5f, -2.0f};
double doubles[2] = {0.1, 1e100};
_Bool bools[3] = {1, 0, 1};
short cube[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
int same_rows[12][2];
int large_matrix[20][20] = {[3] = {1, 2, 3}};
int one_element[1] = {42};
int no_elements[0];
long pairs_repeated[30] = {1, 2, [2 ... 29] = 5};
typedef int Vector4 __attribute__((vector_size(16)));
typedef float Vector2f __attribute__((vector_size(8)));
typedef char Vector16c __attribute__((vector_size(16)));
typedef double Vector4d __attribute__((vector_size(32)));
Vector4 vector = {1, -2, 3, -4};
Vector2f vector_float = {0.5f, -1.5f};
Vector16c vector_chars = {'a', 'b', 'c', 0, 1, 2, 3};
Vector4d vector_double = {0.1, 0.2, 0.3, 0.4};
Vector4 vectors[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};

// --- Typedefs and qualifiers ---

typedef int Integer;
typedef Integer Again;
typedef int Triple[3];
typedef int (*Operation)(int, int);
typedef struct Point PointAlias;
typedef const char *Text;
typedef int Function(int);
Integer integer = 5;
Again again = -6;
Triple triple = {7, 8, 9};
Operation operation = add;
PointAlias alias = {3, 4};
Text text_alias = "alias";
Function *p_typedef_function = 0;
const int constant = 9;
volatile int changing = 10;
const volatile unsigned both = 11;
const int constants[2] = {1, 2};
const char constant_text[] = "constant";
_Atomic int atomic = 12;
Triple triples[2] = {{1, 2, 3}, {4, 5, 6}};
const Triple constant_triple = {1, 2, 3};
uint8_t fixed8 = 66;
int8_t fixed_signed8 = -66;
uint64_t fixed64 = 0xdeadbeefcafebabe;
size_t size = 4096;
ptrdiff_t difference = -8;

int main(void) {
  return number + target_static + (int)fixed8;
}
