/* A program of several threads, which stops in one after the other, and calls a shared library. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int doubled(int value);

static pthread_barrier_t barrier;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int given;
double table[2][3] = {{1, 2, 3}, {4, 5, 6.5}};

__attribute__((noinline)) void pause_here(int number) {
  __asm__ volatile("" : : "r"(number) : "memory");
}

static inline __attribute__((always_inline)) int inlined(int left) {
  int right = left + given;
  pause_here(right);
  return right * 2;
}

static void *work(void *argument) {
  int id = *(int *)argument;
  long square = (long)id * id;
  char name[8] = "worker";
  name[6] = '0' + id;
  pthread_barrier_wait(&barrier);
  pthread_mutex_lock(&turn);
  pause_here((int)square);
  pthread_mutex_unlock(&turn);
  return (void *)square;
}

int main(int argc, char **argv) {
  pthread_t threads[3];
  int ids[3] = {1, 2, 3};
  given = argc > 1 ? atoi(argv[1]) : 7;
  int answer = inlined(given);
  answer += doubled(answer);
  pthread_barrier_init(&barrier, NULL, 4);
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, work, &ids[i]);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  return answer == 0;
}
