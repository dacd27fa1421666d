#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

struct Point { int x; double y; };
struct Holder { std::string name; std::vector<int> numbers; };
struct Big { long values[20]; };
enum Color { RED, GREEN };
std::vector<int> global{1, 2, 3};

__attribute__((noinline)) void stop() { __asm__ volatile("" ::: "memory"); }

int main() {
    std::vector<int> numbers{1, 2, 3, 4, 5};
    numbers.reserve(8);
    std::vector<int> none;
    std::vector<int> many(300, 7);
    std::vector<bool> flags{true, false, true, true};
    std::vector<bool> no_flags;
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
    std::shared_ptr<int> shared = std::make_shared<int>(4);
    std::shared_ptr<int> other = shared;
    std::weak_ptr<int> weak = shared;
    std::shared_ptr<Point> unshared;
    std::array<int, 3> fixed{1, 2, 3};
    std::pair<int, std::string> pair{1, "p"};
    std::tuple<int, double, std::string> triple{1, 2.5, "t"};
    std::tuple<> no_tuple;
    std::map<int, std::string> map{{1, "a"}, {2, "b"}, {3, "c"}};
    std::map<std::string, std::vector<int>> keyed{{"k", {1, 2}}};
    std::map<int, int> no_map;
    std::multimap<int, int> multimap{{1, 2}, {1, 3}};
    std::set<int> set{3, 1, 2};
    std::unordered_map<int, std::string> hashed{{1, "x"}};
    std::unordered_set<int> bag{4};
    std::list<int> list{1, 2, 3};
    std::list<int> no_list;
    std::variant<int, double, std::string> number = 5, word = std::string("word");
    std::variant<int, std::vector<int>, std::map<int, int>> held = std::vector<int>{1, 2}, mapped = std::map<int, int>{{1, 2}};
    std::variant<std::monostate, Point> nobody, somebody = Point{1, 2.5};
    std::vector<std::variant<int, std::string>> mixed{1, "two"};
    std::deque<int> deque{1, 2, 3}, no_deque, long_deque(300, 7), grown;
    for (int i = 0; i < 300; i++) grown.push_front(i);
    grown.pop_front();
    std::deque<Big> blocks(3);
    std::any any = 5, no_any, any_text = std::string("text"), any_big = Big{}, any_vector = std::vector<int>{1, 2};
    std::any any_pointer = (const char *)"characters", any_some = std::optional<int>(4);
    int stored[] = {1, 2, 3};
    std::span<int> span(stored), no_span;
    std::span<int, 3> fixed_span(stored);
    std::initializer_list<int> initial{1, 2};
    std::bitset<5> few("10110");
    std::bitset<100> bitset; bitset.set(70); bitset.set(3);
    std::bitset<0> no_bits;
    std::bitset<64> ends(0x8000000000000001);
    std::forward_list<int> forward{1, 2, 3}, no_forward;
    std::forward_list<std::string> forward_words{"x", "y"};
    std::stack<int> stack({1, 2}), no_stack;
    std::stack<int, std::vector<int>> vector_stack({4});
    std::queue<std::string> queue({"first"});
    std::priority_queue<int> priorities; priorities.push(3); priorities.push(5);
    std::atomic<int> atomic{7}, *atomic_pointer = &atomic;
    std::atomic<bool> atomic_bool{true};
    std::atomic<double> atomic_double{2.5};
    std::atomic<std::vector<int> *> atomic_global{&global};
    std::atomic<Point> atomic_point{};
    std::atomic<Color> atomic_color{GREEN};
    std::atomic<const char *> atomic_text{"text"};
    std::atomic<std::shared_ptr<int>> atomic_shared{shared};
    std::optional<std::vector<int>> some_numbers{{1, 2}}, no_numbers;
    std::optional<std::map<int, std::vector<int>>> some_map{{{1, {2}}}};
    std::optional<std::set<int>> no_set;
    std::optional<std::unordered_map<int, int>> no_hashed;
    std::optional<std::set<int, std::greater<int>>> other_order;
    std::optional<std::vector<int *>> no_pointers;
    std::optional<std::optional<int>> twice{5};
    std::unique_ptr<std::vector<int>> owned_vector(new std::vector<int>{1});
    struct { std::atomic<int> count; std::span<int> view; std::variant<int, bool> either; } members{};
    Holder holder{"h", {9}};
    std::vector<int> &reference = numbers;
    std::vector<int> *pointer = &numbers;
    stop();
    return (int)(flags.size() + none.size() + reference.size() + pointer->size() + view.size() + sixteen.size());
}
