"""Variables and registers inside GDB, live and from core files: what `dwarfgpu.gdb` gives is what GDB shows."""

import json
import re
import subprocess
from collections import Counter

import pytest

import dwarfgpu
import dwarfgpu as dg
from dwarfgpu.render.values import value_text
from tests.gdb.running import INSIDE, ROOT, run_gdb, typed
from tests.program.frames.test_variables_gdb import CORPUS, DIFFERENCES, Answer, _plain, demangled, folded

BUILDS = [
    ("c", "gcc", "-O0 -gdwarf-5"),                           ("c", "gcc", "-O2 -gdwarf-4 -static"),
    ("c", "clang-22", "-O0 -gdwarf-4 -no-pie"),              ("c", "clang-22", "-O2 -gdwarf-5"),
    ("cpp", "g++", "-O0 -gdwarf-4"),                         ("cpp", "clang++-22", "-O0 -gdwarf-5")]  # fmt: skip
LEAST = 500
"""So many variables are compared in each of the six builds, and more."""


def build(tools, folder, language, compiler, options):
    program = folder / "program"
    source = CORPUS / f"stops.{language}"
    subprocess.run([tools(compiler), "-g", "-w", *options.split(), "-o", str(program), str(source)], check=True)
    return program


@pytest.mark.slow
@pytest.mark.parametrize("language, compiler, options", BUILDS, ids=[" ".join(each) for each in BUILDS])
def test_what_scripts_see_is_what_gdb_shows(tmp_path, require_tool, language, compiler, options):
    program = build(require_tool, tmp_path, language, compiler, options)
    symbols = dg.open(program).file.symbol_image.symbols()
    names = demangled(require_tool, {each.name for each in symbols if each.name[:2] == "_Z"})
    names["main"] = "main(int, char**)" if language == "cpp" else "main"
    (tmp_path / "names").write_text(json.dumps(names))
    variables = {"NAMES": "names", "OUT": "out", "LIMIT": "40", "CORES": "4"}
    text = run_gdb(
        require_tool, program=program, script=INSIDE / "compare_variables.py", folder=tmp_path, variables=variables
    )
    assert "@@compared@@" in text, text[-3000:]
    frames = json.loads((tmp_path / "out").read_text())
    compared: Counter[str] = Counter()
    wrong = []
    for frame in frames:
        wrong += compared_registers(frame, compared)
        wrong += compared_variables(frame, compared)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert compared["variables"] >= LEAST
    assert compared["core"] >= 40
    assert compared["registers"] >= 1000
    assert sum(compared[each.name] for each in DIFFERENCES) <= compared["variables"] // 10, compared


def compared_registers(frame, compared):
    theirs, ours = frame["function"]
    assert _plain(theirs) == _plain(ours)
    assert frame["pc"][0] == frame["pc"][1]
    for name, (expected, found) in frame["registers"].items():
        compared["registers"] += 1
        if expected != found:
            yield f"{ours}: {name}: gdb has {expected}, the library {found}"


def compared_variables(frame, compared):
    ours = {}
    count: Counter[str] = Counter()
    for name, *found in frame["ours"]:
        ours[name, count[name]] = Answer(*found)
        count[name] += 1
    count.clear()
    for name, text in frame["theirs"]:
        mine = ours.get((name, count[name]))
        count[name] += 1
        compared["variables"] += 1
        compared[frame["where"]] += 1
        if mine is not None and folded(mine.text) == folded(text):
            continue
        known = next((each for each in DIFFERENCES if each.applies(text, mine)), None)
        if known is None:
            yield f"{frame['function'][0]}: {name}: gdb has {text}, the library {mine}"
        else:
            compared[known.name] += 1


SCRIPT = """
import gdb, json
import dwarfgpu.gdb as dg
from dwarfgpu.program.frames.answers import listed
gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
found = {}
for wave in dg.waves():
    for frame in wave.frames():
        for variable in frame.variables():
            try:
                gdb.execute(f"frame function {frame.name}", to_string=True)
                theirs = gdb.parse_and_eval(variable.name).format_string()
            except gdb.error as error:
                theirs = str(error)
            try:
                ours = listed(variable.object())
            except dg.DwarfGpuError as error:
                ours = getattr(variable.why(), "kind", None)
            is_somewhere = ours not in ("missing_context", "undefined_operation")
            found[variable.name] = [ours, theirs, str(dg.locate(variable.name)[0]) if is_somewhere else ""]
gdb.execute("frame function inner", to_string=True)
half = dg.selected()["half_gone"].object()
found["half"] = half.member("low").number()
found["global"] = dg.selected()["global_word"].value()
dg.selected()["pushed"].write(78)
dg.selected()["high_half"].write(1)
found["written"] = [dg.selected()["pushed"].value(), hex(int(gdb.parse_and_eval("$r12"))),
                    int(gdb.parse_and_eval("*(int *)$rsp"))]
print("@@" + json.dumps(found))
"""
UNREADABLE = ("Unhandled dwarf expression opcode 0xe9", "`dw_op_regx' operations must be used either alone")
"""What GDB says instead of a value, in small letters."""
LEFT_OUT = {"element": "missing_context", "gone": "undefined_operation", "half_gone": None}
"""Variables of a lane, without a value, and with half of one."""


def described() -> dict[str, object]:
    """What the descriptions in the file say is in each variable."""
    found: dict[str, object] = {}
    for unit in dg.open(str(ROOT / "fixtures" / "asm" / "host.x86_64")).file.dwarf.compile_units():
        for die in unit.dies():
            text = die.find("DW_AT_description")
            if text is not None:
                found[die.name] = value_of(text.text())
    return found


def value_of(text: str) -> object:
    numbers = [int(each, 0) for each in re.findall(r"-?\b(?:0x[0-9a-f]+|0[0-7]+|[0-9]+)\b", text.partition(":")[0])]
    if text.startswith("{low"):
        return dict(zip(("low", "high"), numbers, strict=False))
    return numbers if text.startswith("{") else numbers[0] if numbers else None


@pytest.mark.slow
def test_what_gdb_cannot_read_is_read(tmp_path, require_tool, runnable_host):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    text = run_gdb(require_tool, program=runnable_host, script=script)
    assert "@@" in text, text
    found = json.loads(text.partition("@@")[2].splitlines()[0])
    expected = described()
    compared, beyond = 0, 0
    for name, (ours, theirs, place) in list(found.items())[:-3]:
        if name in LEFT_OUT:
            assert LEFT_OUT[name] in (None, ours)
            continue
        assert ours == expected[name], name
        assert place
        compared += 1
        is_unreadable = any(each.lower() in theirs.lower() for each in UNREADABLE)
        assert is_unreadable != (name.startswith("std_") or name == "in_rbx"), name
        beyond += is_unreadable
    assert compared >= 16
    assert beyond >= 11
    assert (found["half"], found["global"]) == (5, 0xAABBCCDDEEFF0011)
    assert found["written"] == [78, "0x105060708", 78]


C = "int main(void)\n{\n  int counter = 7;\n  return counter;\n}\n"
RUST = """
struct Pair { a: i32, b: f64 }
#[inline(never)]
fn show(n: i32, p: &Pair) -> i32 {
    let twice = n * 2;
    println!("{} {}", twice, p.b);
    twice + p.a
}
fn main() { std::process::exit(show(4, &Pair { a: 3, b: 1.5 })); }
"""
FORTRAN = """
program main
  integer :: counter, values(3)
  counter = 7
  values = (/ 4, 5, 6 /)
  call show(counter, values)
contains
  subroutine show(n, v)
    integer :: n, v(3), twice
    twice = 2 * n
    print *, twice, v(2)
  end subroutine
end program
"""


def shown(require_tool, program, *commands: str) -> list[str]:
    text = run_gdb(require_tool, *typed(*commands), program=program)
    assert "Traceback" not in text, text
    return [line.partition(" = ")[2] for line in text.splitlines() if line.startswith("$")]


@pytest.mark.slow
@pytest.mark.usefixtures(
    "writing_gdb"
)  # most languages put the text into the memory of the process, which calls malloc
def test_every_language_of_gdb(require_tool, tmp_path):
    (tmp_path / "a.c").write_text(C)
    subprocess.run([require_tool("gcc"), "-g", "-O0", tmp_path / "a.c", "-o", tmp_path / "a"], check=True)
    languages = ("ada", "asm", "c", "c++", "d", "fortran", "go", "minimal", "objective-c", "opencl", "rust")
    commands = ["break 4", "run"]
    for language in languages:
        quote = "'" if language == "fortran" else '"'
        commands += [f"set language {language}", f"print $dwarfgpu({quote}counter{quote})"]
    commands += ["set language modula-2", 'with language c -- print $dwarfgpu("counter")']
    assert shown(require_tool, tmp_path / "a", *commands) == ["7"] * (len(languages) + 1)


@pytest.mark.slow
@pytest.mark.usefixtures("writing_gdb")
def test_a_program_of_rust(require_tool, tmp_path):
    (tmp_path / "a.rs").write_text(RUST)
    words = [require_tool("rustc"), "-g", "-o", str(tmp_path / "a"), str(tmp_path / "a.rs")]
    subprocess.run(words, check=True, cwd=tmp_path)
    commands = ("break a.rs:6", "run", 'print $dwarfgpu("twice")', 'print *$dwarfgpu("p")', 'print $dwarfgpu("n") + 1')
    assert shown(require_tool, tmp_path / "a", *commands) == ["8", "a::Pair {a: 3, b: 1.5}", "5"]


@pytest.mark.slow
def test_a_program_of_fortran(require_tool, tmp_path):
    (tmp_path / "a.f90").write_text(FORTRAN)
    subprocess.run([require_tool("gfortran"), "-g", tmp_path / "a.f90", "-o", tmp_path / "a"], check=True, cwd=tmp_path)
    commands = ("break 11", "run", *(f"print $dwarfgpu('{text}')" for text in ("n", "twice", "n + twice")))
    assert shown(require_tool, tmp_path / "a", *commands) == ["7", "14", "21"]


NEGATIVE = """
program p
  integer, target :: a(6) = [1, 2, 3, 4, 5, 6], m(3, 4)
  integer, pointer :: back(:), every(:), cross(:, :)
  integer :: i
  do i = 1, 12
    m(mod(i - 1, 3) + 1, (i - 1) / 3 + 1) = i
  end do
  back => a(6:1:-1)
  every => a(5:1:-2)
  cross => m(3:1:-1, 4:1:-2)
  print *, sum(back) + sum(every) + sum(cross)
end program
"""
ENTRY = """
volatile int sink;
__attribute__((noinline)) double leaf(double d, int n) { sink = n; return d > 1 ? n : 2 * n; }
__attribute__((noinline)) double mid(double v, float w, int k) {
  double r = leaf(v * k, k);
  sink = 2;
  return r + k + sink;
}
int main(int argc, char **argv) { return (int)mid(2.5, 1.5f, argc); }
"""
GLOBALS = """
volatile int counter = 7;
int main(void) {
  return counter; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "tool, name, text, options, line, expected",
    [("gfortran", "a.f90", NEGATIVE, ["-O0"], 12,
        {"back": "{6, 5, 4, 3, 2, 1}", "every": "{5, 3, 1}", "cross": "{{12, 11, 10}, {6, 5, 4}}"}),
        ("gcc", "a.c", ENTRY, ["-O2"], 6, {"v": "2.5", "w": "1.5", "k": "1"}),
        ("gcc", "a.c", GLOBALS, ["-O1", "-flto"], 4, {"counter": "7"})],
    ids=["negative strides", "entry values in floating-point registers", "global variables with -flto"])  # fmt: skip
def test_core_files_of_what_gcc_writes(require_tool, tmp_path, tool, name, text, options, line, expected):
    (tmp_path / name).write_text(text)
    subprocess.run([require_tool(tool), "-g", *options, name, "-o", "a"], check=True, cwd=tmp_path)
    core = tmp_path / "core"
    run_gdb(require_tool, *typed(f"break {name}:{line}; run; gcore {core}"), program=tmp_path / "a")
    frame = dwarfgpu.open(tmp_path / "a").attach(core)[0].frame()
    assert {text: value_text(frame[text].object()) for text in expected} == expected
