"""Every variable that gdb prints, wherever it stops a program, equals ours from the core file of that stop.

Programs of C and C++ are built by gcc and clang, with and without optimization, in DWARF 4 and 5. Where the two differ
the table below says why, and which of them is right; a difference that is not in it is a failure.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import dwarfgpu as dg
from dwarfgpu.dwarf_constants import DW_AT_location
from dwarfgpu.program.frames.answers import answer as asked
from dwarfgpu.program.types.declaration import speaks_cplus
from dwarfgpu.render.values import Look, ValueWriter
from dwarfgpu.render.variables import VariablesRenderer
from tests.builders.gdb_stops import stops

CORPUS = Path(__file__).parents[1] / "corpus"
GONE = "<optimized out>"
LEAST = 350
"""Every build is compared at so many variables, and more."""


class Answer(NamedTuple):
    """What the library says of a variable."""

    text: str
    reason: str | None
    level: int
    """The number of the frame."""


class Difference(NamedTuple):
    """Where gdb and the library say something else, and why."""

    name: str
    why: str
    applies: object


DIFFERENCES = (
    Difference(
        "register without a rule",
        "no rule says where a caller's register was saved, the ABI lets a callee change it (x86-64 psABI 3.2.1), and "
        "the location does not hold where the call returns. gdb shows what is in it now; the library says it is not "
        "known. Where the location holds (GCC's -fipa-ra) both have the value",
        lambda _gdb, ours: ours is not None and ours.level > 0 and ours.reason == "undefined_rule",
    ),
    Difference(
        "entry value",
        "what a parameter was at the call is only computed where a call site tells it. gdb falls back to the register "
        "as it is now, as above, and does not know DW_AT_call_target_clobbered: there the function may have called "
        "itself by a tail call, and then the call site of the frame below tells nothing",
        lambda _gdb, ours: ours is not None and ours.reason == "entry_unknown",
    ),
    Difference(
        "listed twice",
        "gdb lists what an abstract instance declares in a block once more for the inlined function around the block",
        lambda gdb, ours: ours is None and gdb == GONE,
    ),
    Difference(
        "16 byte integers",
        "gdb 13 cannot shift integers of more than 8 bytes",
        lambda gdb, _ours: gdb.startswith("<error: That operation is not available on integers of more than 8 bytes"),
    ),
    Difference(
        "array of no length",
        "the bound of the array is optimized out. gdb takes it for an array without elements and shows its address",
        lambda gdb, ours: ours is not None and gdb == "0x0" and ours.text == GONE,
    ),
    Difference(
        "virtual tables",
        "clang describes the table of a class as its static member _vtable$. gdb does not find the definition",
        lambda gdb, ours: ours is not None and _without_tables(gdb) == _without_tables(ours.text),
    ),
    Difference(
        "copies of functions",
        "the symbol of GCC's copy of a function for constant arguments says that it is one, its debugging information "
        "does not. gdb takes the name from the latter, if the object has it",
        lambda gdb, ours: ours is not None and gdb == re.sub(r"\.constprop\.\d+", "", ours.text) != ours.text,
    ))  # fmt: skip


def _without_tables(text: str) -> str:
    return re.sub(r"static _vtable\$ = [^,}]*", "static _vtable$", text)


PARTS = re.compile(r"\{(?:[^{}=,]+ = )?<optimized out>(?: <repeats \d+ times>)?"
                   r"(?:, (?:[^{}=,]+ = )?<optimized out>(?: <repeats \d+ times>)?)*\}")  # fmt: skip


def folded(text: str) -> str:
    """A value of which nothing is known as one word: gdb sometimes writes it for every member.

    Bits behind the last piece of a location are a synthetic pointer to gdb, if the value is a structure.
    """
    text = text.replace("<synthetic pointer>", GONE)
    before = None
    while before != text:
        before, text = text, PARTS.sub(GONE, text)
    return text


def build(tools, folder: Path, language: str, compiler: str, options: list[str]) -> Path:
    program = folder / "program"
    source = CORPUS / f"stops.{language}"
    subprocess.run([tools(compiler), "-g", "-static", "-w", *options, "-o", str(program), str(source)], check=True)
    return program


def demangled(tools, names: set[str]) -> dict[str, str]:
    tool = tools("c++filt", "llvm-cxxfilt-22")
    ordered = sorted(names)
    done = subprocess.run([tool], input="\n".join(ordered), capture_output=True, text=True, check=True)
    return dict(zip(ordered, done.stdout.splitlines(), strict=True))


def answer(variable, level: int, names: dict[str, str]) -> Answer:
    state = variable.frame.state

    def symbol(address):
        found = state.symbol_at(address.value)
        if found is None:
            return None
        name, plus, offset = found.partition("+")
        return names.get(name, name) + plus + offset

    try:
        value = variable.object()
        text = ValueWriter(Look(symbol=symbol), is_cplus=speaks_cplus(variable.type)).member(value, 0)
    except dg.Unavailable as error:
        text = GONE if error.reason.state in ("absent", "undefined") else f"<error: {error.message}>"
    found = variable.why()
    return Answer(text, None if found is None else found.kind, level)


def aligned(theirs: list[dict], ours: tuple) -> list[tuple[dict, object]]:
    """The frames of gdb with ours. Where an inlined function begins, gdb does not show it entered yet."""
    pairs = []
    position = 0
    for frame in theirs:
        wanted = _plain(frame["function"])
        while position < len(ours) and ours[position].is_inlined and _plain(ours[position].name) != wanted:
            position += 1
        if position == len(ours):
            break
        assert _plain(ours[position].name) == wanted
        pairs.append((frame, ours[position]))
        position += 1
    return pairs


def _plain(name: str | None) -> str:
    """A function's name without scopes, arguments and template arguments."""
    name = (name or "").replace("operator()", "operator")
    for brackets in (r"<[^<>]*>", r"\([^()]*\)"):
        name = re.sub(brackets, "", name)
    return name.removesuffix(" const").rpartition("::")[2]


def holds_after_call(variable) -> bool:
    """Whether the location of a variable of a caller holds where the call returns, too."""
    location = variable.definition.find_number(DW_AT_location)
    return location is not None and variable.frame.holds_after_call(location, variable.code)


COMPILERS = {"c": ("gcc", "clang-22"), "cpp": ("g++", "clang++-22")}
BUILDS = [
    (language, compiler, [level, dwarf])
    for language, compilers in COMPILERS.items()
    for compiler in compilers
    for level in ("-O0", "-O1", "-O2")
    for dwarf in ("-gdwarf-4", "-gdwarf-5")
]


@pytest.mark.slow
@pytest.mark.parametrize("language, compiler, options", BUILDS, ids=[f"{a} {b} {' '.join(c)}" for a, b, c in BUILDS])
def test_variables_equal_those_of_gdb(tmp_path, require_tool, language, compiler, options):
    program = build(require_tool, tmp_path, language, compiler, options)
    file = dg.open(str(program)).file
    names = demangled(require_tool, {each.name for each in file.symbol_image.symbols() if each.name[:2] == "_Z"})
    names["main"] = "main(int, char**)" if language == "cpp" else "main"
    wrong = []
    compared: Counter[str] = Counter()
    for stop in stops(require_tool, program, tmp_path):
        (wave, *_others) = dg.open(str(program)).attach(stop.core)
        ours = tuple(frame for frame in wave.frames() if not frame.is_tail_call)  # the record of GDB has none
        for theirs, frame in aligned(stop.frames, ours):
            ours, variables = {}, {}
            count: Counter[str] = Counter()
            for variable in frame.variables() if frame.function is not None else ():
                key = variable.name, count[variable.name]
                variables[key] = variable
                ours[key] = answer(variable, frame.number, names)
                compared["kept"] += bool(frame.kept.pop(variable.name, ()))
                count[variable.name] += 1
            count.clear()
            for name, text, _is_argument in theirs["variables"]:
                mine, variable = ours.get((name, count[name])), variables.get((name, count[name]))
                count[name] += 1
                compared["all"] += 1
                if mine is not None and folded(mine.text) == folded(text):
                    continue
                known = next((each for each in DIFFERENCES if each.applies(text, mine)), None)
                if known is None:
                    wrong.append(f"{theirs['function']}: {name}: gdb has {text}, the library {mine}")
                elif known.name == "register without a rule" and holds_after_call(variable):
                    wrong.append(
                        f"{theirs['function']}: {name}: {variable.why()}, but its location holds after the call"
                    )
                else:
                    compared[known.name] += 1
    kept = compared.pop("kept")
    assert kept >= (30 if compiler == "gcc" and options[0] == "-O2" else 0), kept
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert compared["all"] >= LEAST
    assert sum(compared.values()) - compared["all"] <= compared["all"] // 10, compared


@pytest.mark.slow
def test_what_a_parameter_was_at_the_call(tmp_path, require_tool):
    program = build(require_tool, tmp_path, "c", "gcc", ["-O2", "-gdwarf-5"])
    found = set()
    for stop in stops(require_tool, program, tmp_path, limit=4):
        (wave, *_others) = dg.open(program).attach(stop.core)
        for frame in wave.frames():
            if frame.name == "blocks":
                found.add(frame["n@entry"].value())
            if frame.name == "main":
                assert frame["argc@entry"].why().kind in ("entry_unknown", "undefined_rule")
    assert found == {4}  # argc + 3


@pytest.mark.slow
def test_registers_that_are_kept_across_a_call_are_marked(tmp_path, require_tool):
    """Without the assumption they are refused, as call frame information has it."""
    program = build(require_tool, tmp_path, "c", "gcc", ["-O2", "-gdwarf-5"])
    marked = 0
    for stop in stops(require_tool, program, tmp_path, limit=8):
        attached = dg.open(program).attach(stop.core)
        for is_on in (True, False):
            attached.state.trusts_lists = is_on
            for frame in attached[0].frames():
                for variable in frame.variables() if frame.function is not None else ():
                    values = asked(variable, variable.name)
                    (lane,) = values.by_lane
                    if is_on and values.kept:
                        marked += 1
                        assert [*values.kept] == [variable.name]
                        (line,) = VariablesRenderer(frame).text(values)
                        registers = ", ".join(values.kept[variable.name])
                        assert line.endswith(f"  (in {registers}, kept across the call by its location)")
                        document = VariablesRenderer(frame).document(values)
                        assert document["kept_registers"] == {variable.name: [*values.kept[variable.name]]}
                        attached.state.trusts_lists = False
                        assert variable.why().kind in ("undefined_rule", "undefined")
                        attached.state.trusts_lists = True
                    elif not is_on:
                        assert not values.kept
                    assert lane.value is not None or lane.reason is not None
    assert marked >= 5


EXPRESSIONS = {
    "c": (
        *("n + outer * 2", "n == 'x'", "shade", "calls", "*values@3", "values[1] - values[0]", "total", "&each"),
        *("count > 2 ? count : -count", "here.x + where.y", "&here", "*&here", "mixed", "mixed.bytes[1]", "depth--0"),
        *("head->next", "*head->next", "head->next->key << 2", "local.at", "at->name", "local.flag", "-local.delta"),
        *("fixed", "fixed[1]", "fixed[1][2] % 4", "&fixed[1][2]", "text", "text[0]", "*text", "sized", "sized[1]",
            "sizeof sized", "sizeof sized[0]", "&sized", "*&sized", "sized@2"),
        *("sizeof fixed", "sizeof(struct node)", "(char)c", "small", "wide >> 3", "ratio * 2", "mean / 0.5", "b"),
        *("*one", "**two", "*function", "function", "any", "text + 1", "same == one", "made", "made.at.x", "origin"),
        *("global_int", "&global_int", "global_int++0", "global_real", "greeting", "*greeting@5", "checkpoint::visits"),
        *("GREEN", "BLUE | RED", "(enum color)5", "shade == GREEN", "blocks", "&blocks", "*blocks", "main::argc"),
        *("argc", "argv[0] != 0", "first.next == &last", "(long)&first % 8", "!argc", "~argc", "nothing", "1 / 0"),
        *("(unsigned char)-1", "1.5f + 1", "'a' + 1", '"abc"', "sizeof(long double)", "(word)-1", "recurse::below"),
    ),
    "cpp": (
        *("this->id", "id * 2", "kind", "side", "count", "shapes::created", "created + 1", "unit", "hidden", "*this"),
        *("items", "items[0]", "top", "value_", "shared_", "&shared_", "is_left", "shapes::Kind::Square", "left"),
        *("square", "square.side", "&square", "square.Base::id", "base.id", "dog.name", "dog.weight", "counter.value_"),
        *("Base::count", "shapes::Base::count", "checkpoint::visits", "sizeof(shapes::Square)", "(int)side", "by"),
        *("(shapes::Base &)square", "*(shapes::Base *)&square", "number + 1", "steps", "local", "detail", "animal"),
        *("stack.items[1]", "stack", "old", "argc == 1 && old > 2", "true", "nullptr", "nothing", "shapes::nothing"),
        *(
            "::sink", "shapes::hidden", "factor", "product", "base", "multiply", "value", "before",
            "&shapes::Base::id", "&shapes::Square::side", "square.*&shapes::Square::side", "&shapes::Square::id",
            "sizeof(&shapes::Square::side)", "&shapes::Base::count", "amount", "longest"))}  # fmt: skip
UNLIKE_GDB = {
    "count": "a name that one thing alone has needs no scope",                  "created + 1": "the same",
    "unit": "the same",                   "hidden": "the same",                 "Base::count": "the same",
    "value": "the same: Counter::value",  "nullptr": "gdb does not know the word",
    "square.Base::id": "gdb does not read a scope before a member",
    "(shapes::Base &)square": "a cast to a reference is the object; gdb writes the address of it alone",
    "multiply": "gdb also looks into the function around a lambda, which is another frame"}  # fmt: skip
"""Expressions that are not what they are to gdb, and why."""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-22", "g++", "clang++-22"])
def test_expressions_equal_those_of_gdb(tmp_path, require_tool, compiler):
    """In every frame at -O0; what gdb cannot evaluate is an error here too."""
    language = "cpp" if "+" in compiler else "c"
    program = build(require_tool, tmp_path, language, compiler, ["-O0", "-gdwarf-5"])
    file = dg.open(program).file
    names = demangled(require_tool, {each.name for each in file.symbol_image.symbols() if each.name[:2] == "_Z"})
    names["main"] = "main(int, char**)" if language == "cpp" else "main"
    wrong = {}
    compared = 0
    for stop in stops(require_tool, program, tmp_path, limit=30, expressions=EXPRESSIONS[language]):
        (wave, *_others) = dg.open(program).attach(stop.core)
        ours = tuple(frame for frame in wave.frames() if not frame.is_tail_call)  # the record of GDB has none
        for theirs, frame in aligned(stop.frames, ours):
            for text, expected in theirs["expressions"].items():
                mine = shown_as_gdb_does(frame, text, names)
                compared += 1
                both_wrong = expected.startswith("<error") and mine.startswith("<error")
                same = _without_tables(folded(mine)) == _without_tables(folded(expected))
                if not both_wrong and not same and text not in UNLIKE_GDB:
                    wrong.setdefault(text, f"{frame.name}: {text}: gdb has {expected}, the library {mine}")
    assert not wrong, "\n".join(wrong.values())
    assert compared > 2000


def shown_as_gdb_does(frame, text: str, names: dict[str, str]) -> str:
    def symbol(address):
        found = frame.state.symbol_at(address.value)
        name, plus, offset = (found or "").partition("+")
        return None if found is None else names.get(name, name) + plus + offset

    try:
        value = frame.expression(text).object()
        return ValueWriter(Look(symbol=symbol), is_cplus=speaks_cplus(value.type)).text(value, 0)
    except dg.DwarfGpuError as error:
        return f"<error: {error.message}>"
