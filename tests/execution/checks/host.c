// Runs one kernel with a thread for each work-item: KERNEL GROUPS ITEMS TOGETHER SIZE...
// Work-groups run one after the other, because they share the variables of local memory, unless they run TOGETHER.
// The barriers of a work-group take turns: a thread that leaves one late must not see the next one entered by others, or
// the sanitizer of threads takes what they did in between for ordered before it.
// A buffer of a negative SIZE has no contents. The first buffer is what the sanitizer of memory looks at in the end.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef MEMORY
#include <sanitizer/msan_interface.h>
#else
#define __msan_check_mem_is_initialized(start, size)
#endif
typedef void kernel(void *, void *, void *, void *);
static _Thread_local unsigned long local_id, group_id, turn;
static unsigned long groups, items;
static pthread_barrier_t *meeting;
static void *buffers[4];
static kernel *function;
unsigned long host_local_id(void) { return local_id; }
unsigned long host_group_id(void) { return group_id; }
unsigned long host_global_id(void) { return group_id * items + local_id; }
void host_barrier(void) { pthread_barrier_wait(&meeting[group_id * 2 + turn++ % 2]); }
static void *work(void *number) {
  local_id = (uintptr_t)number % items, group_id = (uintptr_t)number / items;
  function(buffers[0], buffers[1], buffers[2], buffers[3]);
  return NULL;
}
int main(int count, char **words) {
  function = (kernel *)dlsym(RTLD_DEFAULT, words[1]);
  groups = atoi(words[2]), items = atoi(words[3]);
  unsigned long together = atoi(words[4]) ? groups : 1;
  meeting = calloc(groups * 2, sizeof *meeting);
  pthread_t *threads = calloc(groups * items, sizeof *threads);
  for (int number = 0; number < count - 5; number++) {
    int size = atoi(words[5 + number]);
    buffers[number] = malloc(abs(size));
    for (int place = 0; place < size / 4; place++)
      ((int *)buffers[number])[place] = number ? place : 0;
  }
  for (unsigned long number = 0; number < groups * 2; number++)
    pthread_barrier_init(&meeting[number], NULL, items);
  for (unsigned long first = 0; first < groups; first += together) {
    for (unsigned long each = first * items; each < (first + together) * items; each++)
      pthread_create(&threads[each], NULL, work, (void *)each);
    for (unsigned long each = first * items; each < (first + together) * items; each++)
      pthread_join(threads[each], NULL);
  }
  __msan_check_mem_is_initialized(buffers[0], atoi(words[5]));
}
