// References, in GDB and in commands.
#include <string>
struct pair { int a; int &r; };
int first(int &v, pair &p, std::string &t) { return v + p.r + t.size(); }
int main()
{
  int x = 41;
  pair p{1, x};
  std::string t("abc");
  return first(x, p, t);
}
