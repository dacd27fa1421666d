// The door from a program to `dwarfgpu exec`: it packs calls, and does what the answers say. It knows no GPU, and keeps
// nothing but the mapping of the arena and a connection for each thread. runtimes/connection.py has the other side.
#define _GNU_SOURCE
#include "core.h"
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { CALL = 1, REPLY, HELLO, MISSING };
enum { RETURN = 1, READ, TEXT, GATHER, WRITE, COPY, PRINT, INVOKE, PROTECT };
enum { MOST_FRAMES = 24, MOST_WORDS = 24, MOST_SCRIPT_LINES = 8, PAGE = 4096 };

typedef struct { uint32_t kind, number, words, frames; } request;
typedef struct { uint32_t kind, unused; word to, from, size; } effect;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_thread_end;
static char *arena, *shadow;  // the same memory: as the program sees it, and always writable
static size_t arena_size;
static int is_started, is_lost, has_closed;  // the last: whether memory outside of the arena was closed
static unsigned process_number;  // grows with each fork
static struct sigaction handled_before;
static int lock_holders, lock_waiters;  // of Python's lock: threads that are in a call and hold it, and that wait for it
static __thread int connection = -1;
static __thread unsigned connected_in;
static __thread sigjmp_buf *guard;  // where a violation leads, while memory is looked at
static __thread int is_reported;    // whether the device knows what is missing, until its next reply

static int sent(const void *bytes, size_t size) {
  const char *next = bytes;
  while (size) {
    ssize_t count = send(connection, next, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    next += count, size -= (size_t)count;
  }
  return 1;
}

static int received(void *bytes, size_t size) {
  char *next = bytes;
  while (size) {
    ssize_t count = recv(connection, next, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    next += count, size -= (size_t)count;
  }
  return 1;
}

static int replied(const void *bytes, size_t size) {
  struct { uint32_t kind, unused; word size; } head = {REPLY, 0, size};
  is_reported = 0;
  return sent(&head, sizeof head) && sent(bytes, size);
}

// Where the program may not look: the shadow of an address of the arena, others as they are.
static char *reachable(word address) {
  int is_inside = arena && address - (word)arena < arena_size;
  return is_inside ? shadow + (address - (word)arena) : (char *)address;
}

// Whether the program has memory: each page is touched. If not, the device gets to know it before its next reply.
static int is_memory(word address, word size, int is_written) {
  struct { request head; word address, size; } message = {{MISSING, (uint32_t)is_written, 2, 0}, address, size};
  sigjmp_buf here;
  if (arena && address - (word)arena < arena_size) return 1;
  if (!sigsetjmp(here, 0)) {
    guard = &here;
    for (word at = address; at - address < size; at = (at | (PAGE - 1)) + 1)
      if (is_written) __atomic_fetch_or((char *)at, 0, __ATOMIC_RELAXED);
      else (void)*(volatile char *)at;
    guard = NULL;
    return 1;
  }
  guard = NULL;
  if (!is_reported) is_reported = sent(&message, sizeof message);
  return 0;
}

static void disconnect(void *one_more) {
  (void)one_more;
  if (connection >= 0 && connected_in == process_number) close(connection);
  connection = -1;
}

static void after_fork(void) {
  process_number++;
  is_lost = is_started;  // a device does not survive fork
}

// The access is repeated afterwards, and ends the program as it would have, unless the answer says that it is let in.
static void violated(int number, siginfo_t *about, void *context) {
  (void)number, (void)context;
  if (guard) siglongjmp(*guard, 1);
  word address = (word)about->si_addr;
  int is_known = (has_closed || (arena && address - (word)arena < arena_size)) && !is_lost;
  if (is_known && dwarfgpu_call(0, &address, 1) == 1) return;
  sigaction(SIGSEGV, &handled_before, NULL);
}

static int mapped(int memory, word wish) {
  int flags = MAP_SHARED | MAP_NORESERVE;
  char *public = mmap((void *)wish, arena_size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, memory, 0);
  if (public == MAP_FAILED) public = mmap(NULL, arena_size, PROT_NONE, flags, memory, 0);
  if (public == MAP_FAILED) return 0;
  shadow = mmap(NULL, arena_size, PROT_READ | PROT_WRITE, flags, memory, 0);
  if (shadow == MAP_FAILED) return 0;
  madvise(public, arena_size, MADV_DONTDUMP);
  madvise(shadow, arena_size, MADV_DONTDUMP);
  arena = public;
  return 1;
}

// Read the answer to the first words: {size and wished address of the arena} with a descriptor of its memory.
static int is_welcome(void) {
  word said[2];
  union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
  struct iovec part = {said, sizeof said};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof said) return 0;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_type != SCM_RIGHTS) return 0;
  int memory;
  memcpy(&memory, CMSG_DATA(head), sizeof memory);
  if (!arena) arena_size = said[0];
  int is_mapped = arena || mapped(memory, said[1]);
  close(memory);
  word base = is_mapped ? (word)arena : 0;
  return sent(&base, sizeof base) && is_mapped;
}

static int connected(void) {
  const char *path = getenv("DWARFGPU_DEVICE");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!path || strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "dwarfgpu: this library has no GPU: start the program with `dwarfgpu exec`\n");
    return 0;
  }
  strcpy(address.sun_path, path);
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  connected_in = process_number;
  request hello = {HELLO, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), dwarfgpu_api};
  int is_there = connection >= 0 && !connect(connection, (struct sockaddr *)&address, sizeof address);
  if (is_there && sent(&hello, sizeof hello) && is_welcome()) return 1;
  fprintf(stderr, "dwarfgpu: the device of `dwarfgpu exec` does not answer: %s\n", strerror(errno));
  disconnect(NULL);
  return 0;
}

static int is_ready(void) {
  if (connection >= 0 && connected_in == process_number) return 1;
  connection = -1;
  if (is_lost) return 0;
  pthread_mutex_lock(&start_lock);
  int is_there = connected();
  if (is_there && !is_started) {
    is_started = 1;
    pthread_key_create(&at_thread_end, disconnect);
    pthread_atfork(NULL, NULL, after_fork);
    struct sigaction action = {.sa_sigaction = violated, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, &handled_before);
  }
  is_lost |= !is_there;
  pthread_mutex_unlock(&start_lock);
  if (is_there) pthread_setspecific(at_thread_end, "");
  return is_there;
}

// Send the bytes behind the pointers of an array, so many of each.
static int gathered(effect *wanted) {
  uint32_t *sizes = malloc(wanted->size * sizeof *sizes + 1);
  word total = 0, at = 0;
  int is_good = sizes && received(sizes, wanted->size * sizeof *sizes);
  int is_there = is_good && is_memory(wanted->to, wanted->size * sizeof(word), 0);
  for (word i = 0; is_there && i < wanted->size; total += sizes[i++]) is_there = is_memory(((word *)wanted->to)[i], sizes[i], 0);
  if (is_good && !is_there) total = wanted->size = 0;
  char *bytes = is_good ? malloc(total + 1) : NULL;
  for (word i = 0; bytes && i < wanted->size; at += sizes[i++]) memcpy(bytes + at, ((void **)wanted->to)[i], sizes[i]);
  is_good = bytes && replied(bytes, total);
  free(bytes), free(sizes);
  return is_good;
}

static int printed(const effect *wanted) {
  char bytes[4096];
  FILE *stream = wanted->to == 2 ? stderr : stdout;
  for (word left = wanted->size; left;) {
    size_t count = left < sizeof bytes ? left : sizeof bytes;
    if (!received(bytes, count)) return 0;
    fwrite(bytes, 1, count, stream);
    left -= count;
  }
  return 1;
}

static int invoked(const effect *wanted) {
  word given[6] = {0};
  if (wanted->size > 6 || !received(given, wanted->size * sizeof *given)) return 0;
  word (*function)(word, word, word, word, word, word) = (word(*)(word, word, word, word, word, word))wanted->to;
  word result = function(given[0], given[1], given[2], given[3], given[4], given[5]);
  return replied(&result, sizeof result);
}

// Put what comes where it belongs, or nowhere.
static int written(const effect *wanted) {
  if (is_memory(wanted->to, wanted->size, 1)) return received(reachable(wanted->to), wanted->size);
  char nowhere[PAGE];
  for (word left = wanted->size, count; left; left -= count)
    if (!received(nowhere, count = left < sizeof nowhere ? left : sizeof nowhere)) return 0;
  return 1;
}

static int copied(const effect *wanted) {
  if (is_memory(wanted->from, wanted->size, 0) && is_memory(wanted->to, wanted->size, 1))
    memmove(reachable(wanted->to), reachable(wanted->from), wanted->size);
  return 1;
}

static int done(effect *wanted) {
  switch (wanted->kind) {
    case READ: return replied(reachable(wanted->to), is_memory(wanted->to, wanted->size, 0) ? wanted->size : 0);
    case TEXT: return replied((char *)wanted->to, is_memory(wanted->to, 1, 0) ? strnlen((char *)wanted->to, wanted->size) : 0);
    case GATHER: return gathered(wanted);
    case WRITE: return written(wanted);
    case COPY: return copied(wanted);
    case PRINT: return printed(wanted);
    case INVOKE: return invoked(wanted);
    case PROTECT:
      has_closed |= wanted->to - (word)arena >= arena_size;
      mprotect((void *)wanted->to, wanted->size, (int)wanted->from);
      return 1;
    default: return 0;
  }
}

static void *in_python(const char *name) {
  return dlsym(RTLD_DEFAULT, name);
}

// Take Python's lock, without which a thread cannot see its lines. Nothing waits for a thread that has it while it waits
// for the device: what comes later does without lines, and what waits for the lock already is let go first.
static int has_lock(int *state, int *is_holder) {
  int (*is_held)(void) = (int (*)(void))in_python("PyGILState_Check"), (*take)(void) = (int (*)(void))in_python("PyGILState_Ensure");
  void *(*save)(void) = (void *(*)(void))in_python("PyEval_SaveThread");
  void (*restore)(void *) = (void (*)(void *))in_python("PyEval_RestoreThread");
  if (!is_held || !take || !save || !restore) return 0;
  if ((*is_holder = is_held())) {
    __atomic_add_fetch(&lock_holders, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&lock_waiters, __ATOMIC_SEQ_CST)) {
      void *saved = save();
      sched_yield();
      restore(saved);
    }
    return 1;
  }
  __atomic_add_fetch(&lock_waiters, 1, __ATOMIC_SEQ_CST);
  int is_free = !__atomic_load_n(&lock_holders, __ATOMIC_SEQ_CST);
  if (is_free) *state = take();
  else __atomic_sub_fetch(&lock_waiters, 1, __ATOMIC_SEQ_CST);
  return is_free;
}

// The calls of a script, if this thread executes Python: the name of the file and of the function, and the line of each,
// innermost first, behind a 0. Both names live as long as the code that has them.
static uint32_t scripted(word *entries, int *is_holder) {
  void *(*thread_state)(void) = (void *(*)(void))in_python("PyGILState_GetThisThreadState");
  if (!thread_state || !thread_state()) return 0;
  void (*release)(int) = (void (*)(int))in_python("PyGILState_Release");
  void *(*innermost)(void) = (void *(*)(void))in_python("PyEval_GetFrame");
  void *(*code_of)(void *) = (void *(*)(void *))in_python("PyFrame_GetCode");
  void *(*caller_of)(void *) = (void *(*)(void *))in_python("PyFrame_GetBack");
  int (*line_of)(void *) = (int (*)(void *))in_python("PyFrame_GetLineNumber");
  void *(*attribute)(void *, const char *) = (void *(*)(void *, const char *))in_python("PyObject_GetAttrString");
  const char *(*text_of)(void *) = (const char *(*)(void *))in_python("PyUnicode_AsUTF8");
  void (*hold)(void *) = (void (*)(void *))in_python("Py_IncRef");
  void (*drop)(void *) = (void (*)(void *))in_python("Py_DecRef");
  if (!release || !innermost || !code_of || !caller_of || !line_of || !attribute || !text_of || !hold || !drop) return 0;
  int state;
  if (!has_lock(&state, is_holder)) return 0;
  uint32_t count = 0;
  entries[count++] = 0;
  void *frame = innermost();
  if (frame) hold(frame);
  while (frame && count < 3 * MOST_SCRIPT_LINES) {
    void *code = code_of(frame), *file = attribute(code, "co_filename"), *name = attribute(code, "co_name");
    entries[count++] = (word)text_of(file), entries[count++] = (word)text_of(name), entries[count++] = (word)line_of(frame);
    drop(file), drop(name), drop(code);
    void *caller = caller_of(frame);
    drop(frame);
    frame = caller;
  }
  if (frame) drop(frame);
  if (!*is_holder) release(state), __atomic_sub_fetch(&lock_waiters, 1, __ATOMIC_SEQ_CST);
  return count;
}

word dwarfgpu_call(uint32_t number, const word *words, uint32_t count) {
  struct { request head; word rest[MOST_WORDS + MOST_FRAMES + 1 + 3 * MOST_SCRIPT_LINES]; } message = {{CALL, number, count, 0}, {0}};
  int error = errno, is_holder = 0;
  is_reported = 0;
  if (!is_ready()) return dwarfgpu_no_device;
  if (count) memcpy(message.rest, words, count * sizeof *words);
  int frames = backtrace((void **)message.rest + count, MOST_FRAMES);
  message.head.frames = frames > 0 ? (uint32_t)frames : 0;
  message.head.frames += scripted(message.rest + count + message.head.frames, &is_holder);
  errno = 0;
  int is_good = sent(&message, sizeof message.head + (count + message.head.frames) * sizeof(word));
  for (effect wanted; is_good && received(&wanted, sizeof wanted); is_good = done(&wanted)) {
    if (wanted.kind != RETURN) continue;
    __atomic_sub_fetch(&lock_holders, is_holder, __ATOMIC_SEQ_CST);
    errno = error;
    return wanted.to;
  }
  __atomic_sub_fetch(&lock_holders, is_holder, __ATOMIC_SEQ_CST);
  int is_closed = errno == EBADF || errno == ENOTSOCK;
  if (!is_lost) fprintf(stderr, "dwarfgpu: %s\n", is_closed ? "the program has closed its connection to the device" : "the device has ended");
  is_lost = 1;
  disconnect(NULL);
  errno = error;
  return dwarfgpu_no_device;
}
