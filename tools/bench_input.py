"""The large inputs of the benchmarks: shared libraries with 10 MB of ``.debug_info`` and a million DIEs and more.

    python3 tools/bench_input.py [gcc | clang | clang-debug-names] ...

Each is built once from generated C++ and kept under ``$XDG_CACHE_HOME/dwarfgpu``; a change of the compiler, the options
or the sources builds it anew. The path of every input is printed. Building takes about a minute for each.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HEADERS = [
    "algorithm",
    "any",
    "array",
    "atomic",
    "bitset",
    "chrono",
    "complex",
    "condition_variable",
    "deque",
    "filesystem",
    "forward_list",
    "fstream",
    "functional",
    "future",
    "iomanip",
    "iostream",
    "iterator",
    "list",
    "map",
    "memory",
    "mutex",
    "numeric",
    "optional",
    "queue",
    "random",
    "regex",
    "set",
    "shared_mutex",
    "sstream",
    "stack",
    "string",
    "thread",
    "tuple",
    "unordered_map",
    "unordered_set",
    "valarray",
    "variant",
    "vector",
]

# {n} numbers the part: every part has names of its own beside the thousands that it shares with all others.
PART = """
namespace part{n} {{
struct Point {{ int x; int y; static int count; Point* next; }};
enum class Color {{ red{n}, green, blue }};
int Point::count = {n};
int counter_{n} = 3;
std::vector<Point> points;
template <class T> struct Box {{ T value; T get() const {{ return value; }} }};
int unique_function_{n}(int a, int b) {{
  static int calls_{n};
  Point p{{a, b, nullptr}};
  calls_{n}++;
  points.push_back(p);
  return p.x + p.y;
}}
std::map<std::string, std::vector<Point>> table;
std::unordered_map<int, std::string> names;
std::variant<int, double, std::string> either;
std::optional<Point> maybe;
double sum(const std::valarray<double>& v) {{ return v.sum(); }}
bool matches(const std::string& s) {{ std::regex r("[a-z]+{n}"); return std::regex_match(s, r); }}
void use() {{
  table["a"].push_back({{1, 2, nullptr}});
  names[{n}] = "b";
  either = 2.0;
  maybe = Point{{1, 2, nullptr}};
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {{ return a.x < b.x; }});
  std::list<Point> l(points.begin(), points.end()); l.reverse();
  std::deque<int> d; d.push_front(1);
  std::set<std::string> s; s.insert("x");
  Box<Point> box{{{{1, 2, nullptr}}}}; box.get();
  std::function<int(int)> f = [](int i) {{ return i + {n}; }}; f(2);
  std::thread t([] {{ unique_function_{n}(1, 2); }}); t.join();
  std::shared_ptr<Point> shared = std::make_shared<Point>();
  auto later = std::async([] {{ return 1; }}); later.get();
  std::ostringstream os; os << sum({{1.0, 2.0}}) << matches("q");
  std::priority_queue<int> q; q.push(1);
  std::mt19937 g({n}); std::uniform_int_distribution<int> u(0, 9); u(g);
}}
}}
"""


class Recipe(NamedTuple):
    """How one input is built."""

    compilers: tuple[str, ...]
    """The first that is installed is used."""
    parts: int
    options: tuple[str, ...]


RECIPES = {
    # Strings by offset (DW_FORM_strp), DW_AT_sibling, types that no code uses.
    "gcc": Recipe(("g++",), 12, ("-O0", "-gdwarf-5", "-fno-eliminate-unused-debug-types")),
    # Strings and addresses by index, inlined calls, location lists; no DW_AT_sibling.
    "clang": Recipe(("clang++-22", "clang++"), 16, ("-O2", "-gdwarf-5", "-fstandalone-debug")),
    # The same with a name index.
    "clang-debug-names": Recipe(
        ("clang++-22", "clang++"), 16, ("-O2", "-gdwarf-5", "-fstandalone-debug", "-gpubnames")
    ),
}


class InputError(Exception):
    """An input cannot be built here."""


def cache() -> Path:
    """Where the inputs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dwarfgpu" / "bench"


def source(number: int) -> str:
    """One translation unit."""
    includes = "".join(f"#include <{name}>\n" for name in HEADERS)
    return includes + PART.format(n=number)


def build(name: str) -> Path:
    """The path of an input, built if it is not there yet."""
    recipe = RECIPES[name]
    compiler = next(filter(None, map(shutil.which, recipe.compilers)), None)
    if compiler is None:
        raise InputError(f"the input `{name}` needs {' or '.join(recipe.compilers)}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    stamp = hashlib.sha256(repr((version, recipe, source(0))).encode()).hexdigest()[:16]
    target = cache() / f"{name}-{stamp}.so"
    if target.exists():
        return target
    folder = cache() / f"{name}-{stamp}.parts"
    folder.mkdir(parents=True, exist_ok=True)
    common = ["-std=c++17", "-fPIC", *recipe.options]
    objects = []
    for number in range(recipe.parts):
        print(f"{name}: compiling part {number + 1} of {recipe.parts}", file=sys.stderr)
        text = folder / f"part{number}.cpp"
        text.write_text(source(number), encoding="ascii")
        objects.append(text.with_suffix(".o"))
        command = [compiler, *common, "-c", text.name, "-o", objects[-1].name]
        subprocess.run(command, cwd=folder, check=True)
    unfinished = target.with_suffix(f".{os.getpid()}")
    command = [compiler, "-shared", "-pthread", *map(str, objects), "-o", str(unfinished)]
    subprocess.run(command, check=True)
    unfinished.rename(target)
    shutil.rmtree(folder)
    return target


def main(names: list[str]) -> int:
    for name in names or RECIPES:
        if name not in RECIPES:
            print(f"{name} is none of {', '.join(RECIPES)}", file=sys.stderr)
            return 2
        try:
            print(build(name))
        except InputError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
