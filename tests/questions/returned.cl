// Functions of many types, which a kernel calls one after the other.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define NOINLINE __attribute__((noinline))
typedef struct { char c; } one_char;
typedef struct { short a; char b; } small;
typedef struct { int a; char b; short c; } eight;
typedef struct { char a; int b; double c; } mixed;
typedef struct { float x; float3 v; } with_vector;
typedef struct { int all[12]; } dozen;
typedef struct { long all[9]; } large;
typedef struct __attribute__((packed)) { char a; long b; int c; } fields;
typedef union { int i; float f; } either;
typedef struct { half2 h; half k; ushort3 s; } halves;
typedef enum { RED, GREEN, BLUE } color;

NOINLINE char a_char(int x) { return x - 5; }
NOINLINE uchar a_uchar(int x) { return x + 250; }
NOINLINE short a_short(int x) { return -x; }
NOINLINE bool a_bool(int x) { return x > 2; }
NOINLINE int an_int(int x) { return x * 1000; }
NOINLINE long a_long(int x) { return x * 10000000000L; }
NOINLINE half a_half(int x) { return (half)x + 0.5h; }
NOINLINE float a_float(int x) { return x + 0.25f; }
NOINLINE double a_double(int x) { return x + 0.125; }
NOINLINE color a_color(int x) { return (color)(x % 3); }
NOINLINE global int *a_pointer(global int *p, int x) { return p + x; }
NOINLINE float2 a_float2(int x) { return (float2)(x, x + 1); }
NOINLINE float3 a_float3(int x) { return (float3)(x, x + 1, x + 2); }
NOINLINE int4 an_int4(int x) { return (int4)(x, -x, x + 2, 7); }
NOINLINE long2 a_long2(int x) { return (long2)(x, -x); }
NOINLINE half2 a_half2(int x) { return (half2)(x, x + 1); }
NOINLINE half3 a_half3(int x) { return (half3)(x, x + 1, x + 2); }
NOINLINE short4 a_short4(int x) { return (short4)(x, -x, x + 2, 7); }
NOINLINE char4 a_char4(int x) { return (char4)(x, -x, x + 2, 7); }
NOINLINE double2 a_double2(int x) { return (double2)(x, x + 0.5); }
NOINLINE one_char a_one_char(int x) { one_char r = {x + 60}; return r; }
NOINLINE small a_small(int x) { small r = {x, -x}; return r; }
NOINLINE eight an_eight(int x) { eight r = {x, -x, x + 2}; return r; }
NOINLINE mixed a_mixed(int x) { mixed r = {x, -x, x + 0.5}; return r; }
NOINLINE with_vector a_with_vector(int x) { with_vector r = {x, (float3)(1, 2, x)}; return r; }
NOINLINE dozen a_dozen(int x) { dozen r; for (int i = 0; i < 12; i++) r.all[i] = x * i; return r; }
NOINLINE large a_large(int x) { large r; for (int i = 0; i < 9; i++) r.all[i] = x * i; return r; }
NOINLINE fields a_fields(int x) { fields r = {1, x, -x}; return r; }
NOINLINE either an_either(int x) { either r; r.i = x; return r; }
NOINLINE halves a_halves(int x) { halves r = {(half2)(x, 2), 3, (ushort3)(4, 5, x)}; return r; }
NOINLINE void nothing(global int *p, int x) { p[0] = x; }

kernel void returns(global int *out) {
  int x = __builtin_amdgcn_workitem_id_x();
  int sum = a_char(x) + a_uchar(x) + a_short(x) + a_bool(x) + an_int(x) + a_long(x) + a_half(x) + a_float(x);
  sum += a_double(x) + a_color(x) + *a_pointer(out, x) + a_float2(x).y + a_float3(x).z + an_int4(x).w + a_long2(x).y;
  sum += a_half2(x).y + a_half3(x).z + a_short4(x).y + a_char4(x).y + a_double2(x).y + a_one_char(x).c + a_small(x).b;
  sum += an_eight(x).c + a_mixed(x).c + a_with_vector(x).v.z + a_dozen(x).all[3] + a_large(x).all[4] + a_fields(x).b;
  sum += an_either(x).i + a_halves(x).s.z;
  nothing(out, sum);
  out[x] = sum;
}
