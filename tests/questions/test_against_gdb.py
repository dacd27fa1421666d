"""What GDB writes about a program of the host, word by word."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError
from tests.questions.harness import Run, commands

SOURCE = """\
#include <string.h>

struct node { int v; struct node *next; };
typedef unsigned long word;
enum color { RED, GREEN = 5 };

static int counter = 3;
int table[4] = {1, 2, 3, 4};
struct node head;
const char *title = "hello";

static int twice(int x)
{
    int y = x * 2;
    return y + counter;
}

__attribute__((noinline)) int add(int a, word b)
{
    int sum = a + (int)b;
    for (int i = 0; i < 3; i++) {
        int inner = twice(sum);
        sum += inner * table[i];
        if (sum > 3)
            counter++;
    }
    return sum;
}

int main(int argc, char **argv)
{
    enum color c = GREEN;
    head.v = argc;
    return add(c, strlen(title)) + argv[0][0];
}
"""
BUILDS = {"gcc -O0": "gcc -O0", "gcc -O2": "gcc -O2", "clang -O0": "clang-22 -O0", "clang -O2": "clang-22 -O2"}
LINES = [f"info line prog.c:{number}" for number in range(1, 38)]
ALONE = [
    *LINES,
    *commands("""
        list add; list; list -; list 10,12; list 3,; list ,9; list 33,50; list prog.c:12; list prog.c:add
        list twice,add; list add,; info line add; info line *add; info line main; info line *main+4; info symbol add
        info symbol main+3; info symbol &table[1]; info symbol &counter; info symbol _start; info symbol 0
        info address add; info address table; info address counter; info address _start; info scope add; info scope main
        info scope prog.c:22; info scope *0; info functions -n; info functions -n ad; info functions -n zzz
        info variables -n; info variables -n t; info types; info types nod
        disassemble add; disassemble main; disassemble /r main; disassemble /s add; disassemble add,+12
        find &table, +sizeof(table), 3; find /b &table, +sizeof(table), 0; find /2b &table, +sizeof(table), 0
        find &table, &counter, 7; find &table, +4, 1, 2; find table, +16, 2, 3; find title, +6, "lo"
        find /h &table, +16, 4; print $numfound
    """),
]
STOPPED = commands("""
    info source; list; list; list -; list -; info line; info symbol $pc; info address b; info address sum
    info scope add; disassemble; disassemble /s; up; list; info line
    disassemble
""")
MARK = "=====\n"


@pytest.fixture(scope="module")
def gdb(require_tool) -> str:
    return require_tool("gdb")


def program(folder: Path, build: str, tools) -> Path:
    compiler, *options = BUILDS[build].split()
    (folder / "prog.c").write_text(SOURCE)
    path = folder / "prog"
    command = [tools(compiler), "-g", "-gdwarf-5", *options, "-no-pie", "-o", str(path), "prog.c"]
    subprocess.run(command, check=True, cwd=folder)
    return path


def asked(gdb: str, words: list[str], lines: list[str], folder: Path) -> list[str]:
    """What GDB writes for each line; an error is nothing."""
    script = folder / "commands.gdb"
    python = (
        "import gdb\ngdb.write({!r})\nfor line in {!r}:\n try: gdb.write(gdb.execute(line, to_string=True))\n"
        " except gdb.error: pass\n gdb.write({!r})\n"
    )
    script.write_text(f"python\n{python.format(MARK, lines, MARK)}\nend\n")
    command = [gdb, "-nx", "-batch", "-ex", "set width 0", "-ex", "set debuginfod enabled off"]
    done = subprocess.run([*command, *words, "-x", str(script)], check=True, cwd=folder, capture_output=True, text=True)
    return done.stdout.split(MARK)[-len(lines) - 1 : -1]


def plain(line: str, text: str) -> str:
    """What is the same in both: without marks of lines, base addresses, and files of the system."""
    if line.startswith("list"):
        text = re.sub(r"(?m)^(\d+)[>*]\t", r"\1\t", text)
    if line.startswith("info line"):  # GDB counts code of no line among that of the line before it
        text = re.sub(r"ends at 0x.*", "ends", text)
    if line.startswith("info scope"):  # an inlined function is a symbol of its own scope there
        text = re.sub(r"Symbol \w+ is a function at address 0x\w+, length 1\.\n", "", text)
        text = text.replace("Symbol y is optimized out.\n", "")  # once more, where it has a location
    text = re.sub(r"Base address 0x[0-9a-f]+  ", "", text)
    text = re.sub(r" of /\S+/prog$", "", text, flags=re.MULTILINE)
    text = re.sub(r"<(\w+)@plt>|<\*ABS\*\S*>", "", text)
    if line.startswith("disassemble"):
        text = re.sub(r"[ \t]+", " ", text)
        text = re.sub(r"(?m) +$", "", text)
        text = text.replace("# 0x", "#0x").replace(" #", "#")
    return text


def check(run: Run, lines: list[str], expected: list[str]) -> None:
    for line, theirs in zip(lines, expected, strict=True):
        if line == "up":
            run(line)
            continue
        ours = ""
        with suppress(DwarfGpuError):  # an error of GDB is nothing
            ours = run(line)
        assert plain(line, ours) == plain(line, theirs), line


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_a_file_alone(build, gdb, require_tool, tmp_path, monkeypatch):
    require_tool("objdump")
    path = program(tmp_path, build, require_tool)
    monkeypatch.chdir(tmp_path)
    # by lines, where each has one piece of code and functions follow each other without a gap
    lines = [*ALONE, *(["disassemble /m add", "disassemble /mr main"] if build == "gcc -O0" else [])]
    check(Run(path, width=1000), lines, asked(gdb, [str(path)], lines, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_a_core_file(build, gdb, require_tool, tmp_path, monkeypatch):
    require_tool("objdump")
    path = program(tmp_path, build, require_tool)
    monkeypatch.chdir(tmp_path)
    core = tmp_path / "core"
    command = [gdb, "-nx", "-batch", "-ex", "break add", "-ex", "run", "-ex", f"generate-core-file {core}"]
    subprocess.run([*command, str(path)], check=True, cwd=tmp_path, capture_output=True)
    check(Run(path, core, width=1000), STOPPED, asked(gdb, [str(path), str(core)], STOPPED, tmp_path))
