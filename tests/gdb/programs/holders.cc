// Values that GDB shows with pretty-printers, and some that are optimized out.
#include <memory>
#include <string>
#include <vector>

struct big { int a[40]; double x; char name[64]; };
struct holder { std::vector<int> inside; int beside; };
volatile int sink;
__attribute__((noinline)) int nothing() { sink++; return sink; }
__attribute__((noinline)) int show(int n, std::shared_ptr<int> p, const std::string &s, std::vector<int> v)
{
  holder held{v, n};
  sink += n + *p + s.size() + v.size() + held.inside.size();
  nothing();
  return sink + held.beside;
}
int main(int argc, char **)
{
  auto p = std::make_shared<int>(argc);
  std::string text("hello");
  std::vector<int> v{1, 2, 3};
  big gone = {{argc}, 1.5, "abc"};
  nothing();
  return (show(argc, p, text, v) + gone.a[0]) & 1;
}
