// Objects in registers, with undefined bytes between their members or after them.
struct gap { char first; long second; };
struct tail { short value; bool is_set; };
volatile long sink;
__attribute__((noinline)) int padded(int n)
{
  gap two = {(char)n, n * 2L};
  tail maybe = {(short)n, n > 0};
  sink += two.first + two.second;
  sink += maybe.value + n + maybe.is_set;
  return sink + two.first + two.second + maybe.value;
}
int main(int argc, char **) { return padded(argc) & 1; }
