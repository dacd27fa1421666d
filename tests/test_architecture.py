"""The layers of dwarfgpu, checked: who may import whom, who may print, what documents something.

docs/architecture.md draws the picture; the tables below are what holds.
"""

import ast
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = "dwarfgpu"
PACKAGE = Path(__file__).resolve().parent.parent / PROJECT

# --- The tables ---------------------------------------------------------------------------------------------------
# A unit is a module or package of dwarfgpu. Every unit may import itself. `machines.protocol` is a unit of its own, all
# other modules of machines/ are the unit `machines`.

GROUND = {
    "errors",
    "immutable",
    "strict_json",
    "dwarf_constants",
    "budget",
    "regular_files",
    "progress",
    "children",
    "code_cache",
}
TOOLBOX = {"bits", "lanes", "encoding", "demangle", "targets"}
EVALUATOR = GROUND | TOOLBOX | {"machines.protocol", "expr"}
LIBRARY = EVALUATOR | {"compilers", "dialects", "cfi", "objfile", "isa", "machines", "execution", "program", "states"}
STOPPING = {"execution.breakpoints", "execution.halts", "execution.checks.findings", "execution.forms.native"}
PROGRAMS = GROUND | STOPPING | {"program", "states", "execution.launch", "execution.control"}
LAUNCHED = LIBRARY | PROGRAMS

MAY_IMPORT: dict[str, set[str]] = {
    # the ground: nothing of the project
    "errors": set(),
    "budget": {"errors"},
    "regular_files": {"errors"},
    "children": {"errors", "regular_files"},
    "progress": set(),
    "code_cache": {"children"},
    "immutable": set(),
    "strict_json": {"errors", "immutable"},
    "dwarf_constants": set(),
    # the toolbox
    "bits": GROUND | TOOLBOX,
    "lanes": GROUND | TOOLBOX,
    "encoding": GROUND | TOOLBOX,
    "demangle": GROUND | TOOLBOX,
    "targets": GROUND | TOOLBOX,
    # the instructions of GPUs, as data and as text
    "isa": GROUND | TOOLBOX,
    # the clang of the user, which makes code objects of sources
    "compilers": GROUND | TOOLBOX,
    # the machine behind an evaluation
    "machines.protocol": GROUND | {"lanes", "bits", "targets"},
    "machines": GROUND | {"lanes", "bits", "targets", "machines.protocol", "isa"},
    "execution": GROUND | STOPPING | {"lanes", "bits", "targets", "machines.protocol", "isa", "machines"},
    # where a user wants waves to stop, and why they have
    **dict.fromkeys(STOPPING, GROUND | STOPPING | {"execution"}),
    "execution.launch": LIBRARY | STOPPING,
    "execution.control": LAUNCHED,
    # the evaluator: of a backend it knows the protocol alone
    "expr": EVALUATOR,
    "dialects": EVALUATOR,
    "cfi": EVALUATOR | {"dialects"},
    # the reader, which knows no evaluator
    "objfile": GROUND | {"encoding", "demangle"},
    # what a user asks about: programs, and what they stopped with
    "program": LIBRARY,
    "states": LIBRARY,
    # what is wrong with a file, where its variables can be seen, what its code does and orders
    "audits": LAUNCHED,
    "render": EVALUATOR | PROGRAMS | {"dialects", "audits"},
    # the questions that a user can ask, whichever face asks
    "questions": EVALUATOR | PROGRAMS | {"compilers", "dialects", "audits", "render"},  # each beside its words
    # one question about many inputs, over Dask
    "fleet": GROUND | {"program", "states", "render", "questions"},
    # what stands in the place of a driver, for whole programs
    "runtimes": LIBRARY | PROGRAMS | {"audits", "render", "questions"},
    # kernels of Triton in a script of the user
    "triton": GROUND | {"execution.control", "runtimes"},
    # its fixture for pytest
    "triton_fixture": GROUND | {"triton"},
    # the faces
    "cli": PROGRAMS | {"compilers", "expr", "dialects", "render", "questions", "repl", "dap", "fleet", "runtimes"},
    "dap": PROGRAMS | {"machines.protocol", "render", "questions", "runtimes"},
    "repl": GROUND | {"program", "states", "render", "questions"},
    "gdbplugin": GROUND | {"machines", "targets", "program", "states", "render", "questions"},
    "gdb": GROUND | {"program", "states", "gdbplugin"},
    "__main__": {"cli"},
    # the bridge for scripts that hold objects of pyelftools; nothing imports it
    "elftools": LIBRARY | {"render"},
    # the public names, re-exported
    "": LAUNCHED | {"render", "runtimes"},
}

CODE = {"program.types", "program.code"}
FRAMES = CODE | {"program.values", "program.language", "program.frames"}

WHEN_IT_RUNS: dict[str, set[str]] = {
    "program.types": set(),
    "program.code": {"program.types"},
    "program.values": CODE,
    "program.language": CODE | {"program.values"},
    "program.frames": FRAMES,
    "states": FRAMES,
    "execution.launch": FRAMES | {"states"},
    "execution.control": FRAMES | {"states", "execution.launch"},
}
"""Who of these may import whom when it runs; their imports for types are free."""

ONLY_IN: dict[str, set[str]] = {
    "attrs": set(),
    "dask": {"fleet"},
    "distributed": {"fleet", "cli.fleet"},
    "subprocess": {"children"},  # all programs end with this one, and so do their files
    "tempfile": {"children"},
    "multiprocessing": {"audits.verify.reports", "fleet.cluster"},
    "elftools": {"elftools"},  # the bridge, and what tests compare with
    "gdb": {"machines.gdb", "gdbplugin"},
    "numpy": {
        *("bits", "lanes", "machines", "execution", "expr.access", "isa.semantics"),  # and buffers of kernels
        *("program.frames.all_waves", "program.frames.lane_state"),  # many waves at once
        *("triton", "program.frames.answers", "program.frames.columns"),
        "audits.faults",  # the address of each lane, for many waves
        "audits.judge",  # what waves that run have in their registers
    },
    "fsspec": {"fleet"},
    "jinja2": {"render"},
    "llvmlite": {"execution.forms.native"},
    "prompt_toolkit": {"repl", "cli"},
    "pyarrow": {"fleet", "cli.fleet"},
    "pygments": {"repl", "cli"},
    "yaml": {"objfile.kernels.metadata"},
}
"""Packages, and the only places that may import them."""

MOST_IN_A_CIRCLE = 7
"""How many modules may name each other in types."""
FREE_FOR_TYPES = {"attrs", "numpy"}
"""Foreign packages that any module may import under ``if TYPE_CHECKING:``."""

LATE_FOR_START_UP = {
    "numpy", "prompt_toolkit", "pygments", "elftools", "msgpack", "yaml", "zstandard", "dask", "distributed",
    "fsspec", "jinja2", "llvmlite", "pyarrow",
}  # fmt: skip
"""Foreign packages that starting the command line must not load."""

ONE_VARIABLE = ("eval", "fixtures/asm/lane-pc.gfx90a.w64.co", "even", "--state", "dwarfgpu/examples/variables.json")
"""The command that shows one variable of a snapshot, in all lanes of its wave."""
FEW_MODULES = [
    (ONE_VARIABLE, 95, 115),  # with the records of its JSON
    ((*ONE_VARIABLE, "--lane", "2"), 95, 116),
    (("cfi", ONE_VARIABLE[1], "--pc", "0x1548"), 64, 108),
    (("verify", ONE_VARIABLE[1]), 96, 132),  # code that was dropped, and what producers write
    (("debug", ONE_VARIABLE[1], *ONE_VARIABLE[3:], "-q", "-batch", "-ex", "print even"), 102, 128),
    (("info", "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co", "--name", "saxpy"), 47, 59),
    (("run", "dwarfgpu/examples/even-first.co", "even_first", "--grid=64", "--work-group=64", "made"), 140, 191),
]
"""Small questions: how many modules have a function that is called, and how many are loaded, at most."""
NOT_FOR_ONE_VARIABLE = {
    *("numpy", "elftools", "prompt_toolkit", "pygments", "msgpack", "yaml", "zstandard", "decimal"),
    *("dwarfgpu.repl", "dwarfgpu.expr.asm", "dwarfgpu.expr.verify"),
    *("dwarfgpu.machines.core", "dwarfgpu.objfile.elf.core", "dwarfgpu.states.gdb_process"),
    *("dwarfgpu.program.language.syntax", "dwarfgpu.program.frames.names", "dwarfgpu.objfile.kernels"),
    *("dwarfgpu.program.frames.call_sites", "dwarfgpu.program.code.thread_storage", "dwarfgpu.cfi.rules"),
}
"""What that command must not load."""
NOT_FOR_A_FILE = {
    *("numpy", "dwarfgpu.states.opening", "dwarfgpu.program.frames.frame", "dwarfgpu.program.values.objects")
}
"""What questions about a file without a state must not load."""
NOT_FOR_A_RUN = {
    *("numpy.ma", "dwarfgpu.execution.forms.engine", "dwarfgpu.execution.forms.program"),
    *("dwarfgpu.audits.faults", "dwarfgpu.audits.memory_model", "dwarfgpu.render.faults"),
    *("dwarfgpu.questions.stack", "dwarfgpu.questions.execution"),
}
"""What a run without a fault must not load."""
HEAVY = {"attr", "numpy", "elftools", "prompt_toolkit", "pygments", "json", "shutil", "textwrap"}
DEBUGGED = ("debug", ONE_VARIABLE[1], *ONE_VARIABLE[3:])
OF_A_TERMINAL = {"prompt_toolkit", "pygments", "asyncio", "dwarfgpu.machines.gpu_core"}
NOT_LOADED: list[tuple[str, set[str]]] = [
    ("--version", HEAVY | {"msgpack"}),
    ("eval --ops DW_OP_lit5", HEAVY | {"msgpack"}),
    ("ls fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co", HEAVY | {"msgpack"}),
    ("info fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co --name saxpy", HEAVY | {"msgpack"}),
    ("info fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co --pc 0x2200", HEAVY | {"msgpack"}),
    ("kernels fixtures/containers/tiny.gfx90a.co", HEAVY),  # whose metadata are written in msgpack
    ("state fixtures/amdgpu/launch.gfx90a.w64.O2.co group_x --grid 64 --work-group 64", {"numpy"}),
    ("bt --help", {"dwarfgpu.questions.stack", "dwarfgpu.render.backtrace", "numpy"}),
    ("gdb-script", {"dwarfgpu.program", "dwarfgpu.objfile", "numpy"}),
    (f"{' '.join(DEBUGGED)} -batch -ex help", OF_A_TERMINAL),
    (f"{' '.join(DEBUGGED)} -batch -ex 'lane 5' -ex show", OF_A_TERMINAL),
    (f"{' '.join(DEBUGGED)} -x /dev/null", OF_A_TERMINAL),
]
"""Commands, and what they start without."""


class Budget(NamedTuple):
    """How many thousand lines some packages may have together."""

    packages: str
    goal: float
    now: float
    """What they may have until they are at the goal. A commit that raises either has `budget:` in front of its subject,
    and says in its body what a user gets for it."""
    step: str = ""
    """What is still to do until then."""

    def lines(self) -> float:
        """How many they have; `dwarfgpu` is the package without those in it."""
        return sum(lines_of(PACKAGE, "*.py") if name == PROJECT else lines_of(PACKAGE / name)
                   for name in self.packages.split())  # fmt: skip


BUDGETS = [
    Budget("dwarfgpu targets", 6.1, 7.08, "a helper with one caller is a part of it"),
    Budget("expr dialects cfi", 8.6, 8.86, "expressions are checked by running the rows of the table"),
    Budget("objfile", 11.7, 11.72),
    Budget("isa", 7.8, 6.71),
    Budget("machines states", 10.6, 10.63),
    Budget("execution", 22.5, 37.88, "instructions are executed in one compiled way"),
    Budget("program", 20.6, 22.00, "what an instruction does and where it leads is told once"),
    Budget("audits", 20.5, 21.20, "the checks read what an instruction does from one table"),
    Budget("render questions", 22.8, 23.80, "a list is a listing, a value a node, a question stands beside its words"),
    Budget("runtimes", 10.8, 14.10),
    Budget(
        "cli repl dap gdbplugin compilers examples", 9.6, 10.86, "reports of programs and of kernels share their words"
    ),
    Budget("fleet", 1.8, 1.77),
]
WHOLE = Budget(" ".join(each.packages for each in BUDGETS), 143, 177.22, "all of these")
TESTS = Budget("../tests", 90, 100.98, "messages are in golden files, rows of tables have properties")
TOOLS = Budget("../tools", 13, 12.99)
MOST_CIRCLES = 12
"""How many circles of modules that name each other in types there are."""

IMPORTERS = {"import_module", "__import__"}
MAY_PRINT = {"cli", "repl"}
NO_INPUT_OUTPUT = {"render"}
INPUT_OUTPUT = {"open", "input", "sys.stdout", "sys.stderr", "sys.stdin"}
REFUSED_ENDS = {name.rpartition(".")[2] for name in {"print", *INPUT_OUTPUT}}
WITH_BODIES = (ast.mod, ast.stmt, ast.ExceptHandler, ast.match_case)
"""The nodes that statements may stand in."""


# --- Reading the source -------------------------------------------------------------------------------------------


class Import(NamedTuple):
    """One import of a module."""

    line: int
    target: str
    """The full name of the module; for ``from package import module``, that of the inner module."""
    for_types: bool
    """Whether it stands under ``if TYPE_CHECKING:``."""


class Facts(NamedTuple):
    """What the checks need of the tree of a module."""

    imports: list[ast.AST]
    """The statements that import, and the calls that import a constant name."""
    for_types: set[ast.AST]
    """The nodes under ``if TYPE_CHECKING:``."""
    names: list[tuple[int, str]]
    """The names with lines that may be refused somewhere."""
    orphans: list[int]
    """The lines of strings that document nothing."""


class Module(NamedTuple):
    """A module of the project."""

    name: str
    """Its full name; a package has that of its folder."""
    path: Path
    is_package: bool
    source: str

    @cache  # noqa: B019 (the modules stay as long as the tests)
    def facts(self) -> Facts:
        """Walk the tree once, and keep only what the checks need: all trees together have a million nodes."""
        tree = ast.parse(self.source, self.path)
        facts = Facts([], set(), [], [])
        for node in ast.walk(tree):
            kind = type(node)
            if kind in {ast.Import, ast.ImportFrom, ast.Call}:
                if kind is not ast.Call or dotted(node.func).rpartition(".")[2] in IMPORTERS:
                    facts.imports.append(node)
            elif kind in {ast.Name, ast.Attribute}:
                if (node.id if kind is ast.Name else node.attr) in REFUSED_ENDS:
                    facts.names.append((node.lineno, dotted(node)))
            elif isinstance(node, WITH_BODIES):
                facts.orphans.extend(orphans(node))
                if kind is ast.If and dotted(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                    facts.for_types.update(inner for child in node.body for inner in ast.walk(child))
        return facts

    def at(self, line: int) -> str:
        return f"{self.path}:{line}"


def modules_below(package: Path) -> list[Module]:
    result = []
    for path in sorted(package.rglob("*.py")):
        if path.is_relative_to(package / "examples"):  # scripts of users
            continue
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        result.append(Module(name, path.relative_to(package.parent), is_package, path.read_text("utf-8")))
    return result


def is_in(name: str, places: set[str]) -> bool:
    """Whether a module of the project, without the project's name, is one of some places or lies below one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def within(name: str) -> str:
    return name.removeprefix(PROJECT).removeprefix(".")


def unit_of(name: str) -> str | None:
    """The unit that a module of the project belongs to; None when the table does not know it."""
    inner = within(name)
    candidates = [unit for unit in MAY_IMPORT if unit and is_in(inner, {unit})]
    return max(candidates, key=len, default=None) if inner else ""


@cache
def imports_of(module: Module, known: frozenset[str]) -> list[Import]:
    """All imports of a module wherever they stand, also in functions and with a constant name for importlib."""
    facts = module.facts()
    return [
        Import(node.lineno, target, node in facts.for_types)
        for node in facts.imports
        for target in targets_of(node, module, known)
    ]


def dotted(node: ast.expr) -> str:
    """A name such as ``sys.stdout``; of an attribute of anything else its own name behind a point."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def targets_of(node: ast.AST, module: Module, known: frozenset[str]) -> list[str]:
    """The modules that one node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = (module.name if module.is_package else module.name.rpartition(".")[0]).split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
        return [imported_from(base, alias.name, known) for alias in node.names]
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in IMPORTERS:
        return [a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return []


def imported_from(base: str, name: str, known: frozenset[str]) -> str:
    """The module that ``from base import name`` needs."""
    inner = f"{base}.{name}"
    return inner if inner in known or (base == PROJECT and {name[:2], name[-2:]} != {"__"}) else base


def import_breaches(modules: list[Module]) -> list[str]:
    """Every import that the tables do not allow."""
    known = frozenset(module.name for module in modules)
    breaches = []
    for module in modules:
        unit = unit_of(module.name)
        if unit is None:
            breaches.append(f"{module.path}: `{module.name}` is in no unit: give it a row in MAY_IMPORT")
            continue
        for item in imports_of(module, known):
            breach = breach_of(module, unit, item)
            if breach:
                breaches.append(f"{module.at(item.line)}: {breach}")
    return breaches


def breach_of(module: Module, unit: str, item: Import) -> str | None:
    """What is wrong with one import, if anything."""
    top = item.target.partition(".")[0]
    if top in ONLY_IN and not (item.for_types and top in FREE_FOR_TYPES):
        places = ONLY_IN[top]
        if not is_in(within(module.name), places):
            return f"{top} may be imported only in {', '.join(sorted(places)) or 'tests'}"
    if top != PROJECT or item.target == PROJECT:  # the root by itself: its version; see imported_from
        return None
    target = unit_of(item.target)
    if target is None:
        return f"{item.target} is in no unit: is it a public name? Import it from where it is defined"
    if target not in {unit, *MAY_IMPORT[unit]}:
        allowed = ", ".join(sorted(MAY_IMPORT[unit])) or "nothing of the project"
        return f"`{unit}` may not import `{target}`; it may import {allowed}"
    return None


def orphans(node: ast.AST) -> Iterator[int]:
    """Yield the lines of strings that document nothing: behind a statement that gives nothing a name."""
    has_docstring = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    for field in ("body", "orelse", "finalbody"):
        for before, statement in pairwise([None, *getattr(node, field, ())]):
            if isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str):
                is_docstring = before is None and has_docstring and field == "body"
                if not is_docstring and not isinstance(before, (ast.Assign, ast.AnnAssign)):
                    yield statement.lineno


def call_breaches(modules: list[Module]) -> list[str]:
    """Printing where nothing may print, and any input or output where there may be none."""
    breaches = []
    for module in modules:
        inner = within(module.name)
        refused = set() if is_in(inner, MAY_PRINT) else {"print"}
        if is_in(inner, NO_INPUT_OUTPUT):
            refused |= INPUT_OUTPUT
        found = [(line, name) for line, name in module.facts().names if name in refused]
        breaches.extend(f"{module.at(line)}: no {name} here" for line, name in found)
    return breaches


def layer_breaches(modules: list[Module]) -> list[str]:
    """Every import of a module that runs against the layers of programs."""
    known = frozenset(module.name for module in modules)

    def layer_of(name: str) -> str | None:
        return next((layer for layer in WHEN_IT_RUNS if is_in(within(name), {layer})), None)

    breaches = []
    for module in modules:
        layer = layer_of(module.name)
        for item in imports_of(module, known) if layer else ():
            other = layer_of(item.target)
            if layer and other and not item.for_types and other not in {layer, *WHEN_IT_RUNS[layer]}:
                breaches.append(f"{module.at(item.line)}: `{layer}` may not import `{other}`")
    return breaches


def circles(modules: list[Module], *, for_types: bool = False) -> list[list[str]]:
    """The modules that need each other when they run, or for types too, late imports included, with all members."""
    known = frozenset(module.name for module in modules)
    needed = {
        module.name: {item.target for item in imports_of(module, known) if for_types or not item.for_types}
        & known - {module.name}
        for module in modules
    }
    while True:  # what needs nothing of the rest, or what nothing of the rest needs, is in no circle
        targets = set().union(*needed.values()) if needed else set()
        ends = {name for name, others in needed.items() if not others or name not in targets}
        if not ends:
            break
        needed = {name: others - ends for name, others in needed.items() if name not in ends}
    result = []
    while needed:
        first = min(needed)
        circle = {name for name in reached(first, needed) if first in reached(name, needed)} | {first}
        result.append(sorted(circle))
        needed = {name: others - circle for name, others in needed.items() if name not in circle}
    return [circle for circle in result if len(circle) > 1]


def reached(start: str, needed: dict[str, set[str]]) -> set[str]:
    """The modules that a module needs, by itself or through others."""
    seen: set[str] = set()
    waiting = [*needed[start]]
    while waiting:
        name = waiting.pop()
        if name not in seen and name in needed:
            seen.add(name)
            waiting += needed[name]
    return seen


# --- The tests ----------------------------------------------------------------------------------------------------

MODULES = modules_below(PACKAGE)


def report(breaches: list[str]) -> str:
    return "\n".join(["", *breaches])


@pytest.mark.parametrize("rule", [import_breaches, layer_breaches, call_breaches])
def test_imports_follow_their_tables_and_only_the_faces_print(rule):
    breaches = rule(MODULES)
    assert not breaches, report(breaches)


def test_no_modules_need_each_other():
    assert circles(MODULES) == []


def test_no_circle_of_types_is_large():
    """Values, locations, storages and types are one recursive thing of seven modules: no circle is larger.

    There are fewer with time, never more.
    """
    found = circles(MODULES, for_types=True)
    assert [circle for circle in found if len(circle) > MOST_IN_A_CIRCLE] == []
    assert len(found) <= MOST_CIRCLES, report([" ".join(map(within, circle)) for circle in found])


def test_arrows_that_run_upwards_inside_execution_become_fewer():
    """The machine lies below what checks and compiles its code: those that know both are to be above both."""
    above = {f"execution.{name}" for name in ("checks", "forms", "launch", "control")}
    found = {
        (within(module.name), within(item.target))
        for module in MODULES
        if is_in(within(module.name), {"execution"}) and not is_in(within(module.name), above)
        for item in imports_of(module, frozenset(each.name for each in MODULES))
        if is_in(within(item.target), above)
    }
    assert found == {
        ("execution.device", "execution.checks.checked_memory"),
        ("execution.device", "execution.forms.native"),
        ("execution.device", "execution.forms.compiled_forms"),
        ("execution.gpu", "execution.checks.findings"),
    }


def lines_of(folder: Path, pattern: str = "**/*.py") -> float:
    """Return how many thousand lines the modules of a folder have."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob(pattern)) / 1000


@pytest.mark.parametrize("budget", [*BUDGETS, WHOLE, TESTS, TOOLS], ids=lambda budget: budget.packages[:40])
def test_packages_stay_within_their_budget(budget):
    assert budget.lines() <= max(budget.now, budget.goal)


@pytest.mark.parametrize(
    "budget",
    [pytest.param(each, marks=pytest.mark.xfail(strict=True, reason=each.step) if each.now > each.goal else ())
     for each in (*BUDGETS, WHOLE, TESTS, TOOLS)],
    ids=lambda budget: budget.packages[:40],
)  # fmt: skip
def test_packages_are_as_small_as_they_are_to_be(budget):
    """One that is there, and is marked as expected to fail, has this as its budget from now on."""
    assert budget.lines() <= budget.goal


def test_each_package_has_one_budget():
    """Modules that nothing counts would be free."""
    packages = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert Counter(WHOLE.packages.split()) == Counter({*packages, PROJECT})


def test_records_are_attrs_classes():
    """Not tuples with names, which are equal to other tuples; but every command imports the table of commands."""
    pattern = re.compile(r"\b(NamedTuple|namedtuple|dataclass)\b")
    assert [module.name for module in MODULES if pattern.search(module.source)] == ["dwarfgpu.cli.debug"]


def test_every_string_documents_something():
    breaches = [
        f"{module.path}:{line}: this string documents nothing" for module in MODULES for line in module.facts().orphans
    ]
    assert not breaches, report(breaches)


@pytest.mark.parametrize(
    "source, lines",
    [
        ('"""Of a module."""\n\nX = 1\n"""Of X."""\ny: int\n"""Of y."""\n', []),
        ('def f():\n    """Of f."""\n    self.x = 1\n    """Of x."""\n', []),
        ('X = 1\n"""Of X."""\n"""Of nothing."""\n', [3]),
        ('X |= {1}\n"""Of nothing."""\n', [2]),
        ('import os\n"""Of nothing."""\nif X:\n    """Of nothing."""\n', [2, 4]),
    ],
)
def test_strings_that_document_nothing_are_found(source, lines):
    assert sorted(module("dwarfgpu.m", source).facts().orphans) == lines


def test_no_two_classes_have_the_same_name():
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for number, line in enumerate(module.source.splitlines(), 1):
            if line.startswith("class "):
                places.setdefault(re.split(r"\W", line, maxsplit=2)[1], []).append(module.at(number))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_command_line_starts_without_heavy_packages():
    if not any(module.name == f"{PROJECT}.cli" for module in MODULES):
        pytest.skip("there is no command line yet")
    program = f"import sys, {PROJECT}.cli; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) & LATE_FOR_START_UP
    assert not loaded, f"importing {PROJECT}.cli loads {', '.join(sorted(loaded))}"


ENTERED = """
import sys
from dwarfgpu.cli import main
entered = set()
def note(frame, event, _argument):
    if event == "call" and frame.f_code.co_flags & 2:  # a function, not the body of a module or a class
        entered.add(frame.f_globals.get("__name__", ""))
sys.setprofile(note)
sys.argv[0] = "dwarfgpu"
status = main()
sys.setprofile(None)
assert status == 0, status
print("entered", *sorted(name for name in entered if name.startswith("dwarfgpu")))
print("loaded", *sorted(sys.modules))
"""


@cache
def _needed(*words: str) -> dict[str, set[str]]:
    """The modules whose functions a command enters, and all that it loads."""
    command = [sys.executable, "-c", ENTERED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent, input="")
    return {line.partition(" ")[0]: set(line.split()[1:]) for line in done.stdout.splitlines()}


@pytest.mark.parametrize("command, modules", NOT_LOADED, ids=[command for command, _modules in NOT_LOADED])
def test_a_command_starts_without_what_it_does_not_need(command, modules):
    assert not _needed(*shlex.split(command))["loaded"] & modules


@pytest.mark.parametrize(
    "words, entered, loaded", FEW_MODULES, ids=["all-lanes", "one-lane", "row", "verify", "debug", "info", "run"]
)
def test_a_small_question_needs_few_modules(words, entered, loaded):
    needed = _needed(*words)
    refused = {
        "eval": NOT_FOR_ONE_VARIABLE, "debug": {"numpy", "dwarfgpu.execution.launch"}, "run": NOT_FOR_A_RUN,
    }.get(words[0], NOT_FOR_A_FILE)  # fmt: skip
    heavy = needed["loaded"] & refused
    assert not heavy, f"{words[0]} loads {', '.join(sorted(heavy))}"
    assert len(needed["entered"]) <= entered
    assert len([name for name in needed["loaded"] if name.startswith(PROJECT)]) <= loaded


def test_an_expression_alone_needs_nothing_of_programs():
    loaded = _needed("eval", "--ops", "DW_OP_lit1; DW_OP_plus_uconst 4")["loaded"]
    heavy = {f"{PROJECT}.{part}" for part in ("states", "program.types", "program.values")}
    heavy |= {f"{PROJECT}.{part}" for part in ("program.frames.frame", "cfi.activation", "expr.verify", "isa")}
    assert not loaded & heavy, f"evaluating an expression loads {', '.join(sorted(loaded & heavy))}"


def test_the_table_names_only_its_own_units():
    units = set(MAY_IMPORT)
    assert all(allowed <= units for allowed in MAY_IMPORT.values())


# --- Tests of the test: what it must find, and what it must let pass -----------------------------------------------


def module(name: str, source: str, *, is_package: bool = False) -> Module:
    path = Path(*name.split("."), "__init__.py") if is_package else Path(*name.split(".")).with_suffix(".py")
    return Module(name, path, is_package, source)


def test_a_circle_of_late_imports_is_found():
    first = module("dwarfgpu.a", "def f():\n    from dwarfgpu.b import g")
    second = module("dwarfgpu.b", "from dwarfgpu import c")
    third = module("dwarfgpu.c", "if TYPE_CHECKING:\n    from dwarfgpu import a\nelse:\n    import dwarfgpu.a")
    fourth = module("dwarfgpu.d", "from dwarfgpu.a import f")
    assert circles([first, second, third, fourth]) == [["dwarfgpu.a", "dwarfgpu.b", "dwarfgpu.c"]]
    assert circles([first, second, fourth]) == []


def test_an_import_that_runs_upwards_inside_program_is_found():
    lower = module("dwarfgpu.program.code.loaded", "def f():\n    from dwarfgpu.program.frames.frame import Frame")
    upper = module("dwarfgpu.program.frames.frame", "from dwarfgpu.program.code.loaded import Loaded")
    assert len(layer_breaches([lower, upper])) == 1


PARTS = [
    module("dwarfgpu", "", is_package=True),
    module("dwarfgpu.machines", "", is_package=True),
    module("dwarfgpu.machines.protocol", ""),
]


@pytest.mark.parametrize(
    "name, source",
    [
        ("dwarfgpu.errors", "from dwarfgpu.immutable import immutable"),
        ("dwarfgpu.bits", "from dwarfgpu.expr.types import Value"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu.cli import main"),
        ("dwarfgpu.expr.evaluation", "from ..program import Program"),
        ("dwarfgpu.expr.composite", "from ..objfile import image"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu import program"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu import Program"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu.machines.wave import Wave"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu.machines import Backend"),
        ("dwarfgpu.expr.evaluation", "if TYPE_CHECKING:\n    from dwarfgpu.program import Program"),
        ("dwarfgpu.expr.evaluation", "def f():\n    import dwarfgpu.dialects.operation_reference"),
        ("dwarfgpu.expr.evaluation", "importlib.import_module('dwarfgpu.dialects')"),
        ("dwarfgpu.objfile.info.dies", "from dwarfgpu.expr.table import operation"),
        ("dwarfgpu.program.frame", "from dwarfgpu.render import text"),
        ("dwarfgpu.repl.loop", "from dwarfgpu.cli import main"),
        ("dwarfgpu.gdbplugin.commands", "from dwarfgpu.expr import evaluation"),
        ("dwarfgpu.newcomer", ""),
        ("dwarfgpu.expr.evaluation", "import numpy as np"),
        ("dwarfgpu.expr.composite", "def f():\n    import numpy as np"),
        ("dwarfgpu.expr.evaluation", "if TYPE_CHECKING:\n    pass\nelse:\n    import numpy"),
        ("dwarfgpu.program.types", "from elftools.elf.elffile import ELFFile"),
        ("dwarfgpu.program.types", "if TYPE_CHECKING:\n    from elftools.elf.elffile import ELFFile"),
        ("dwarfgpu.machines.wave", "import gdb"),
        ("dwarfgpu.render.text", "from pygments import highlight"),
        ("dwarfgpu.gdbplugin.commands", "import prompt_toolkit.shortcuts"),
    ],
)
def test_a_forbidden_import_is_found(name, source):
    assert len(import_breaches([*PARTS, module(name, source)])) == 1


@pytest.mark.parametrize(
    "name, source",
    [
        ("dwarfgpu.immutable", "import os"),
        ("dwarfgpu.lanes", "from .bits import Bits"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu.machines import protocol"),
        ("dwarfgpu.expr.evaluation", "from dwarfgpu.machines.protocol import Backend"),
        ("dwarfgpu.expr.evaluation", "from . import values"),
        ("dwarfgpu.expr.evaluation", "if TYPE_CHECKING:\n    import numpy as np"),
        ("dwarfgpu.expr.access", "import numpy as np"),
        ("dwarfgpu.cfi.activation", "from dwarfgpu.dialects import gnu"),
        ("dwarfgpu.machines.gdb", "import gdb"),
        ("dwarfgpu.cli.main", "from dwarfgpu import __version__\nfrom dwarfgpu.repl import start"),
        ("dwarfgpu.render.text", "from dwarfgpu.program import Program\nfrom dwarfgpu.expr import types"),
        ("dwarfgpu.__main__", "from dwarfgpu.cli import main"),
    ],
)
def test_an_allowed_import_passes(name, source):
    assert import_breaches([*PARTS, module(name, source)]) == []


@pytest.mark.parametrize(
    "name, source, count",
    [
        ("dwarfgpu.program.frame", "print(1)", 1),
        ("dwarfgpu.cli.main", "print(1, file=sys.stderr)", 0),
        ("dwarfgpu.repl.loop", "print(1)", 0),
        ("dwarfgpu.render.text", "open('x')\nsys.stdout.write('x')", 2),
        ("dwarfgpu.objfile.elf.image", "open('x')", 0),
        ("dwarfgpu.program.frame", "# print(1)\nblueprint(1)\nself.print(1)", 0),
    ],
)
def test_forbidden_calls_are_found(name, source, count):
    assert len(call_breaches([module(name, source)])) == count
