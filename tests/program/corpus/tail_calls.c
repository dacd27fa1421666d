#include <stdlib.h>
volatile int sink;
#ifdef __clang__
#define N __attribute__((noinline))
#else
#define N __attribute__((noipa))
#endif
N void last(int x) { sink = x; __builtin_trap(); }
N void one(int x) { sink = 1; last(x + 1); }
N void two(int x) { sink = 2; last(x + 2); }
N void enter(int x) { sink = 3; if (x > 1) one(x); else two(x); }
N void begin(int x) { sink = 4; enter(x); }
N void again(int x) { sink = 5; if (x > 100) again(x - 1); last(x); }
void (*pointer)(int) = one;
N void indirect(int x) { sink = 6; pointer(x); }
N void unknown(int x) { sink = 7; if (x > 50) exit(x); one(x); }
N void loop_b(int x);
N void loop_a(int x) { sink = 8; loop_b(x); }
N void loop_b(int x) { sink = 9; if (x > 20) loop_a(x); else last(x); }
int main(int argc, char **argv) {
  switch (argc) {
  case 1: begin(argc); break;
  case 2: one(argc); break;
  case 3: again(argc); break;
  case 4: indirect(argc); break;
  case 5: unknown(argc); break;
  case 6: loop_a(argc); break;
  case 7: last(argc); break;
  }
  return sink; }
