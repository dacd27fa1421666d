// Names that come from elsewhere: using directives, using declarations and aliases of namespaces, in every kind of scope.

volatile int sink;

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE inline __attribute__((always_inline))

NOINLINE void checkpoint(int number) {
  __asm__ volatile("" : : "r"(number) : "memory");
  sink = number;
}

namespace colours {
int red = 1, green = 2, shade = 3;
struct Mix { int amount; };
enum Level { Low = 4, High = 9 };
int blend(int by) { return by + red; }
namespace deep {
int blue = 5;
static int nested = 6;
}
}  // namespace colours

namespace sounds {
int loud = 11, quiet = 12, shade = 13;
using colours::green;
namespace again = colours::deep;
}  // namespace sounds

namespace joined {
using namespace colours;
using namespace sounds::again;
int own = 21;
int red = 22;
}  // namespace joined

namespace loops {
namespace one { int first = 31; }
namespace two { using namespace one; int second = 32; }
namespace one { using namespace two; }
}  // namespace loops

namespace shapes {
int side = 41, shade = 42;
namespace {
int hidden = 43;
}
inline namespace v2 {
int versioned = 44;
}
using colours::deep::blue;

NOINLINE int inside(int number) {
  using namespace colours;
  int local = number;
  checkpoint(1);
  return local + red + versioned;
}
}  // namespace shapes

namespace c = colours;
namespace cd = c::deep;
using sounds::loud;
using namespace loops::two;

NOINLINE int directive(int number) {
  checkpoint(2);
  using namespace colours;
  checkpoint(3);
  return number + green;
}

NOINLINE int declaration(int number) {
  using colours::shade;
  using colours::Mix;
  using colours::Low;
  Mix mix{shade};
  {
    using sounds::shade;
    namespace inner = shapes;
    checkpoint(4);
    sink = shade + inner::side;
  }
  checkpoint(5);
  return mix.amount + number + Low;
}

NOINLINE int local(int number) {
  int red = number * 100;
  using namespace joined;
  checkpoint(6);
  return red + own;
}

INLINE int small(int number) {
  using namespace sounds;
  int kept = number + quiet;
  checkpoint(7);
  return kept;
}

struct User {
  int member = 51;
  NOINLINE int method(int number) {
    using namespace shapes;
    checkpoint(8);
    return member + number + side;
  }
};

NOINLINE int plain(int number) {
  checkpoint(9);
  return number;
}

int main(int argc, char **argv) {
  (void)argv;
  User user;
  int total = shapes::inside(argc) + directive(argc) + declaration(argc) + local(argc) + small(argc) + user.method(argc) + plain(argc);
  sink = total + colours::blend(1) + colours::deep::nested + joined::own + loops::one::first + second + shapes::hidden;
  return 0;
}
