// Structures whose padding nothing has written, copied through pointers to other types. With FAULT a member has not
// been written, either.
typedef struct { char c; int i; } pair;
#ifdef FAULT
#define SET(place, number)
#else
#define SET(place, number) place = number
#endif
#define GID get_global_id(0)
#define LID get_local_id(0)

__attribute__((noinline)) pair made(int x) {
  pair p;
  p.c = x;
  SET(p.i, x + 1);
  return p;
}
__attribute__((noinline)) void copy(global int *to, int *from) {
  to[0] = from[0];
  to[1] = from[1];
}

kernel void read_as_words(global int *out, global pair *raw) {
  volatile pair p;
  p.c = GID;
  SET(p.i, 3);
  int *from = (int *)&p;
  out[2 * GID] = from[0];
  out[2 * GID + 1] = from[1];
}
kernel void read_as_bytes(global int *out, global pair *raw) {
  volatile pair p;
  p.c = GID;
  SET(p.i, 3);
  volatile char *from = (volatile char *)&p;
  for (int n = 0; n < sizeof(p); n++)
    ((global char *)out)[sizeof(p) * GID + n] = from[n];
}
kernel void written_as_another(global int *out, global pair *raw) {
  volatile pair all[4];
  for (int n = 0; n < 4; n++) {
    all[n].c = n;
    SET(all[n].i, 2 * n);
  }
  pair one = *(pair *)&all[GID & 3];
  *(global pair *)(out + 2 * GID) = one;
}
kernel void returned(global int *out, global pair *raw) {
  *(global pair *)(out + 2 * GID) = made(GID);
}
kernel void of_the_caller(global int *out, global pair *raw) {
  pair p;
  p.c = GID;
  SET(p.i, 3);
  copy(out + 2 * GID, (int *)&p);
}
kernel void in_local_memory(global int *out, global pair *raw) {
  local pair all[64];
  all[LID].c = LID;
  SET(all[LID].i, 2 * LID);
  barrier(0);
  local int *from = (local int *)&all[63 - LID];
  out[2 * GID] = from[0];
  out[2 * GID + 1] = from[1];
}
kernel void in_a_buffer(global int *out, global pair *raw) {
  raw[GID].c = GID;
  SET(raw[GID].i, 4);
  volatile global int *from = (volatile global int *)&raw[GID];
  out[2 * GID] = from[0];
  out[2 * GID + 1] = from[1];
}
