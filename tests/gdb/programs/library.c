/* A shared library: code at another address than that of the program, with a type and a variable of its own. */
struct point { short x; short y; };
int shared_state = 5;
static struct point corner = {3, -4};

void pause_here(int number);

__attribute__((noinline)) int doubled(int value) {
  int twice = 2 * value;
  struct point here = {value, -value};
  pause_here(twice + here.x + corner.y);
  return twice + shared_state + here.y;
}
