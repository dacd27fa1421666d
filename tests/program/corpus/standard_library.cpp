#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

struct Point { int x; double y; };
struct Holder { std::string name; std::vector<int> numbers; };
enum Color { RED, GREEN };
std::vector<int> global{1, 2, 3};

__attribute__((noinline)) void stop() { __asm__ volatile("" ::: "memory"); }

int main() {
    std::vector<int> numbers{1, 2, 3, 4, 5};
    numbers.reserve(8);
    std::vector<int> none;
    std::vector<int> many(300, 7);
    std::vector<std::string> words{"one", "two"};
    std::vector<std::vector<int>> nested{{1, 2}, {}, {3}};
    std::vector<Point> points{{1, 2.5}, {3, 4.5}};
    std::string hello = "hello";
    std::string empty;
    std::string lengthy(300, 'a');
    std::string with_null("a\0b", 3);
    std::wstring wide = L"wide";
    std::u16string sixteen = u"six";
    std::string_view view = hello;
    std::optional<int> some = 5;
    std::optional<int> nothing;
    std::optional<std::string> text = "text";
    std::unique_ptr<int> owned(new int(3));
    std::unique_ptr<int> unowned;
    std::unique_ptr<int[]> owned_array(new int[3]);
    std::array<int, 3> fixed{1, 2, 3};
    std::pair<int, std::string> pair{1, "p"};
    std::tuple<int, double, std::string> triple{1, 2.5, "t"};
    std::tuple<> no_tuple;
    int stored[] = {1, 2, 3};
    std::span<int> span(stored), no_span;
    std::span<int, 3> fixed_span(stored);
    std::initializer_list<int> initial{1, 2};
    std::atomic<int> atomic{7}, *atomic_pointer = &atomic;
    std::atomic<bool> atomic_bool{true};
    std::atomic<double> atomic_double{2.5};
    std::atomic<std::vector<int> *> atomic_global{&global};
    std::atomic<Point> atomic_point{};
    std::atomic<Color> atomic_color{GREEN};
    std::atomic<const char *> atomic_text{"text"};
    std::optional<std::vector<int>> some_numbers{{1, 2}}, no_numbers;
    std::optional<std::vector<int *>> no_pointers;
    std::optional<std::optional<int>> twice{5};
    std::unique_ptr<std::vector<int>> owned_vector(new std::vector<int>{1});
    struct { std::atomic<int> count; std::span<int> view; } members{};
    Holder holder{"h", {9}};
    std::vector<int> &reference = numbers;
    std::vector<int> *pointer = &numbers;
    stop();
    return (int)(none.size() + reference.size() + pointer->size() + view.size() + sixteen.size());
}
