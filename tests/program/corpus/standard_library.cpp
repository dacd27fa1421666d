#include <array>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

struct Point { int x; double y; };
struct Holder { std::string name; std::vector<int> numbers; };
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
    Holder holder{"h", {9}};
    std::vector<int> &reference = numbers;
    std::vector<int> *pointer = &numbers;
    stop();
    return (int)(flags.size() + none.size() + reference.size() + pointer->size() + view.size() + sixteen.size());
}
