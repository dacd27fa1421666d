import json
import subprocess

import pytest

from tests.gdb.running import INSIDE, run_gdb, typed
from tests.program.frames.test_variables_gdb import CORPUS

BUILDS = [
    ("c", "gcc", "-O0 -gdwarf-5"),                           ("cpp", "g++", "-O0 -gdwarf-4"),
    ("cpp", "clang++-22", "-O0 -gdwarf-5"),                  ("c", "gcc", "-O2 -gdwarf-5")]  # fmt: skip
GAPS = ("<optimized out>", "<synthetic pointer>")
"""What GDB shows in values that it cannot make of bytes."""


@pytest.mark.slow
@pytest.mark.parametrize("language, compiler, options", BUILDS, ids=[" ".join(each) for each in BUILDS])
def test_a_variable_is_what_gdb_has(tmp_path, require_tool, language, compiler, options):
    program = tmp_path / "program"
    source = CORPUS / f"stops.{language}"
    subprocess.run([require_tool(compiler), "-g", "-w", *options.split(), "-o", str(program), str(source)], check=True)
    text = run_gdb(
        require_tool, program=program, script=INSIDE / "compare_function.py", folder=tmp_path,
        variables={"OUT": "out", "LIMIT": "60"})  # fmt: skip
    assert "@@compared@@" in text, text[-3000:]
    found = json.loads((tmp_path / "out").read_text())
    equal = 0
    for function, name, theirs, ours in found:
        if "-O0" in options:
            assert theirs == ours, (function, name)
        elif theirs[1] is None:  # GDB says that it cannot read it
            continue
        elif theirs[0] != ours[0]:  # what each can tell of optimized code is compared by the tests of variables
            assert ours[1] is None or any(each in theirs[0] for each in GAPS), (function, name, theirs, ours)
            continue
        equal += 1
    assert equal >= 240


PROGRAM = """
struct point { int x; int y : 4; long z; };
typedef struct { short a[3]; } unnamed;
enum color { RED, GREEN = 4 };
struct point here = {1, -2, 3};
volatile long total;
__attribute__((noinline)) int step(int index, enum color shade)
{
  unnamed many = {{index, index + 1, index + 2}};
  int open[index + 1];
  open[index] = 7;
  total += index + many.a[1] + open[index];
  return shade;
}
int main(void)
{
  for (int i = 0; i < 50; i++)
    step(i, i % 2 ? GREEN : RED);
  return 0;
}
"""
NO_PROCESS = "GDB has no process to read from (start the program, attach to one, or open a core file)"


@pytest.fixture(scope="module")
def program(require_tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("function")
    source = folder / "steps.c"
    source.write_text(PROGRAM)
    subprocess.run([require_tool("gcc"), "-g", "-O0", "-w", source, "-o", folder / "steps"], check=True)
    return folder / "steps"


def said(require_tool, program, *commands: str) -> list[str]:
    return run_gdb(require_tool, *typed(*commands), program=program).splitlines()


@pytest.mark.slow
def test_fields_addresses_and_assignments(require_tool, program):
    commands = (
        'break 12 if index == 3; run; print $dwarfgpu("here"); print $dwarfgpu("here").z + 1',
        'print $dwarfgpu("here.y"); print &$dwarfgpu("here.z") == &here.z; print $dwarfgpu("many").a[2]',
        'print $dwarfgpu("open"); print $dwarfgpu("shade"); whatis $dwarfgpu("many"); print $dwarfgpu("index * 2 + 1")',
        'print $dwarfgpu("step"); set var $dwarfgpu("index") = 30; print index; set var $dwarfgpu("here").x = 9',
        "print here; dwarfgpu set here.z = index; print here.z",
    )
    found = said(require_tool, program, *commands)
    start = next(i for i, line in enumerate(found) if line.startswith("$1"))
    values = [line.partition(" = ")[2] for line in found[start:] if line.startswith("$")]
    assert (values[:4], values[4]) == (["{x = 1, y = -2, z = 3}", "4", "-2", "1"], "5")
    assert values[5].startswith("{") and values[5].count(",") == 3  # noqa: PT018
    assert (values[6], values[7]) == ("GREEN", "7")
    assert values[8].startswith("{int (int, enum color)} 0x")
    assert values[9:] == ["30", "{x = 9, y = -2, z = 3}", "30"]


@pytest.mark.slow
def test_conditions_watchpoints_and_dprintf(require_tool, program):
    commands = (
        'set dprintf-style gdb; dprintf 12,"index %d\\n", $dwarfgpu("index"); break step if $dwarfgpu("total") > 300',
        'run; print total; delete; watch -location $dwarfgpu("total"); continue; print $dwarfgpu("total")',
    )
    found = said(require_tool, program, *commands)
    seen = [int(line.split()[1]) for line in found if line.startswith("index ")]
    sums = [0]
    while sums[-1] <= 300:
        index = len(sums) - 1
        sums.append(sums[-1] + 2 * index + 1 + 7)
    assert seen == list(range(len(sums) - 1))
    assert f"$1 = {sums[-1]}" in found
    assert f"Old value = {sums[-1]}" in found
    assert any(line.startswith("$2 = ") and int(line.split()[2]) > sums[-1] for line in found)


@pytest.mark.slow
def test_what_goes_wrong_is_one_line(require_tool, program):
    for expression, expected in (
        ("$dwarfgpu()", 'Usage: $dwarfgpu("x"), or $dwarfgpu("x", LANE)'),
        ('$dwarfgpu("x")', NO_PROCESS),
        ("$dwarfgpu(5)", NO_PROCESS),
    ):
        assert said(require_tool, program, f"print {expression}") == [expected]
    for expression, expected in (
        ("$dwarfgpu(5)", "Trying to read string with inappropriate type `int'."),
        ('$dwarfgpu("nowhere")', "no variable `nowhere` in step, at column 1 of 'nowhere'"),
        ('$dwarfgpu("index", 2)', "x86_64 has no lanes"),
        ('$dwarfgpu("*(int *) 8")', "Cannot access memory at address 0x8"),
    ):
        found = said(require_tool, program, f"break step; run; print {expression}")
        assert len([line for line in found if line.startswith(expected)]) == 1, found
        assert not any("Traceback" in line or "Python Exception" in line for line in found)


@pytest.mark.slow
def test_what_gdb_cannot_read(require_tool, runnable_host):
    """A location of DW_OP_LLVM_user; a type that is dynamic for GDB, which would end with an internal error."""
    commands = (
        'break stop_here; run; print $dwarfgpu("counter"); print $dwarfgpu("counter++"); print $dwarfgpu("counter--")',
        'print $dwarfgpu("selected")[2]; print &$dwarfgpu("pushed") == $rsp; set var $dwarfgpu("pushed") = 5',
        'print *(int *) $rsp; print $dwarfgpu("split"); print $dwarfgpu("split.low"); print $dwarfgpu("gone")',
        'up; print $dwarfgpu("local")',
    )
    found = said(require_tool, runnable_host, *commands)
    values = [line.partition(" = ")[2] for line in found if line.startswith("$")]
    assert values == ["5", "5", "6", "-3", "1", "5", "84281096", "42"]
    assert (
        "GDB cannot have this value of the type struct pair: it reads memory to know where the members are "
        "(`dwarfgpu eval` shows it)"
    ) in found
    assert "its location is undefined here (DW_OP_LLVM_undefined)" in found
