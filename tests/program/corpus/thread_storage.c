// Thread-local variables of an executable (PART 0), of a library that it is linked with (1) and of one that it loads (2).
// Where each is, the program writes down itself: where[thread][variable].

#if PART == 0

#ifndef ALONE
#include <dlfcn.h>
extern __thread int shared_count;
int *shared_address(void);
#endif
#include <pthread.h>
#include <stdlib.h>

__thread int first = 11;
__thread char pad[3] = "ab";
__thread long double wide __attribute__((aligned(64))) = 2.5L;
static __thread int later;
void *where[2][7];
static pthread_barrier_t both;

static void *run(void *argument) {
  int number = (int)(long)argument;
  static __thread int local = 31;
  void **here = where[number];
  first += number, later = 20 + number, local += number;
  here[0] = &first, here[1] = pad, here[2] = &wide, here[3] = &later, here[4] = &local;
#ifndef ALONE
  shared_count += number;
  here[5] = shared_address();
  if (number == 0) {
    int *(*plugin)(void) = (int *(*)(void))dlsym(dlopen(getenv("PLUGIN"), RTLD_NOW), "plugin_address");
    here[6] = plugin();
  }
#endif
  pthread_barrier_wait(&both);
  if (number == 0) abort();
  for (;;) {
  }
  return argument;
}

int main(void) {
  pthread_t other;
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&other, 0, run, (void *)1);
  run((void *)0);
  return 0;
}

#elif PART == 1

__thread int shared_count = 40;
int *shared_address(void) { return &shared_count; }

#else

__thread int filler[1000];
static __thread int plugged = 65;
int *plugin_address(void) {
  filler[3]++;
  return &plugged;
}

#endif
