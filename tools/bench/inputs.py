"""The large inputs of the benchmarks: libraries with a million DIEs, and an AMDGPU code object of 10 MB.

Each is built once from generated source and kept under ``$XDG_CACHE_HOME/dwarfgpu``; a change of the compiler, the
options or the sources builds it anew. A build takes about a minute of processor time, on all processors.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bench.rows import tool

SOURCE = Path(__file__).with_name("kernels.cl")

HEADERS = (
    "algorithm any array atomic bitset chrono complex condition_variable deque filesystem forward_list fstream "
    "functional future iomanip iostream iterator list map memory mutex numeric optional queue "
    "random regex set shared_mutex sstream stack string thread tuple unordered_map unordered_set valarray "
    "variant vector "
)

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


# Types and functions of its own for every kernel, calls that are inlined with -O2, local memory and a private array.
KERNEL = """
typedef struct {{ float4 position; float4 velocity; float mass; short kind; uchar flags; }} Body{n};
typedef struct {{ __global Body{n}* bodies; uint count; uint tile; float step; }} World{n};
static float inner_{n}(float4 a, float4 b) {{ float4 c = a * b; return c.x + c.y + c.z + c.w; }}
static float energy_{n}(Body{n} body) {{
  return 0.5f * body.mass * inner_{n}(body.velocity, body.velocity) + (float)(body.flags & {n});
}}
static float4 attraction_{n}(Body{n} one, Body{n} other) {{
  float4 away = other.position - one.position;
  float squared = inner_{n}(away, away) + 0.01f;
  float strength = other.mass * __builtin_amdgcn_rsqf(squared * squared * squared);
  return away * strength;
}}
static Body{n} moved_{n}(Body{n} body, float4 force, float step) {{
  body.velocity += force * step;
  body.position += body.velocity * step;
  if (energy_{n}(body) > {n}.0f) body.flags += 1;
  return body;
}}
__kernel void step_{n}(__global Body{n}* bodies, uint count, float step, __global float* out, __local float4* near) {{
  World{n} world = {{ bodies, count, 64, step }};
  uint lane = __builtin_amdgcn_workitem_id_x();
  uint self = __builtin_amdgcn_workgroup_id_x() * world.tile + lane;
  Body{n} mine = world.bodies[self];
  float4 force = (float4)(0.0f);
  for (uint tile = 0; tile < world.count; tile += world.tile) {{
    near[lane] = world.bodies[tile + lane].position;
    __builtin_amdgcn_s_barrier();
    for (uint i = 0; i < world.tile; i++) {{
      Body{n} other = world.bodies[tile + i];
      other.position = near[i];
      if (other.kind != {n} % 7) force += attraction_{n}(mine, other);
    }}
    __builtin_amdgcn_s_barrier();
  }}
  float history[8];
  for (int i = 0; i < 8; i++) {{
    mine = moved_{n}(mine, force, world.step / 8);
    history[(i + {n}) % 8] = energy_{n}(mine);
  }}
  world.bodies[self] = mine;
  out[self] = history[self % 8] + energy_{n}(mine);
}}
"""
KERNELS = 100
"""How many a part of the code object has."""


class Recipe(NamedTuple):
    """How one input is built."""

    compilers: tuple[str, ...]
    """The first that is installed is used."""
    parts: int
    options: tuple[str, ...]
    levels: tuple[str, ...] = ("",)
    """Options that one part has and the next one has not, in turns."""
    linkers: tuple[str, ...] = ()
    """What links the parts, if that is not the compiler."""
    is_opencl: bool = False

    @property
    def suffix(self) -> str:
        """The ending of the sources."""
        return ".cl" if self.is_opencl else ".cpp"

    def source(self, number: int) -> str:
        """Return the text of one translation unit."""
        if self.is_opencl:
            return "".join(KERNEL.format(n=number * KERNELS + i) for i in range(KERNELS))
        includes = "".join(f"#include <{name}>\n" for name in HEADERS.split())
        return includes + PART.format(n=number)

    def options_of(self, number: int) -> list[str]:
        """Return what one translation unit is compiled with."""
        level = self.levels[number % len(self.levels)]
        return [*self.options, *([level] if level else [])]


CXX = ("-std=c++17", "-fPIC", "-gdwarf-5")
OPENCL = ("-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-mcpu=gfx90a", "-gdwarf-5")

RECIPES = {
    # Strings by offset (DW_FORM_strp), DW_AT_sibling, types that no code uses.
    "gcc": Recipe(("g++",), 20, (*CXX, "-O0", "-fno-eliminate-unused-debug-types")),
    # Strings and addresses by index, inlined calls, location lists; no DW_AT_sibling.
    "clang": Recipe(("clang++-22", "clang++"), 20, (*CXX, "-O2", "-fstandalone-debug")),
    # Eight hundred kernels, half of them in units that are not optimized.
    "code-object": Recipe(
        ("clang-22", "clang"), 8, OPENCL, ("-O0", "-O2"), linkers=("ld.lld-22", "ld.lld"), is_opencl=True
    ),
}


def cache() -> Path:
    """Return where the inputs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "dwarfgpu" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kernels(name: str, *options: str, processor: str = "gfx90a") -> str:
    """Return the code object of the kernels that the rows run."""
    path = str(cache() / f"{name}.{processor}.co")
    words = [tool("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}"]
    subprocess.run([*words, "-g", "-w", "-nogpulib", *options, str(SOURCE), "-o", path], check=True)
    return path


def build(name: str) -> str:
    """Return the path of an input, built if it is not there yet."""
    recipe = RECIPES[name]
    compiler = tool(*recipe.compilers)
    linker = [tool(*recipe.linkers)] if recipe.linkers else [compiler, "-pthread"]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    stamp = hashlib.sha256(repr((version, recipe, recipe.source(0))).encode()).hexdigest()[:16]
    target = cache() / f"{name}-{stamp}.so"
    if target.exists():
        return str(target)
    folder = cache() / f"{name}-{stamp}.parts"
    folder.mkdir(exist_ok=True)

    def part(number: int) -> str:
        """Compile a part; return its object file."""
        text = folder / f"part{number}{recipe.suffix}"
        print(f"{name}: compiling part {number + 1} of {recipe.parts}\n", end="", file=sys.stderr)
        text.write_text(recipe.source(number), encoding="ascii")
        words = [compiler, *recipe.options_of(number), "-c", text.name, "-o", f"{text.stem}.o"]
        subprocess.run(words, cwd=folder, check=True)
        return f"{text.stem}.o"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(part, range(recipe.parts)))
    subprocess.run([*linker, "-shared", *objects, "-o", str(target.with_suffix(".part"))], cwd=folder, check=True)
    target.with_suffix(".part").rename(target)
    shutil.rmtree(folder)
    return str(target)
