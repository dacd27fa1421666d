"""Types and values of compiled programs are shown as gdb shows them; what differs is explained in `differences`."""

import subprocess
from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.declaration import declaration
from tests.builders.programs import Program
from tests.program.values.differences import EXPRESSIONS, VALUES, reason_for

CORPUS = Path(__file__).parents[1] / "corpus"
OPTIONS = ["-g", "-O0", "-w", "-fno-pie", "-no-pie"]
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang-22", "clang++-22")}
HIDDEN = ("template", "anonymous", "_vtable$")
"""What stands in names that gdb's commands do not take, or that it does not find."""


def built(folder: Path, tools, compiler: str, version: int, source: str) -> Program:
    names = COMPILERS[compiler]
    is_cplus = source.endswith(".cpp")
    out = folder / f"{source}.{compiler}.{version}"
    command = [tools(names[is_cplus]), *OPTIONS, f"-gdwarf-{version}", str(CORPUS / source), "-o", str(out)]
    subprocess.run([*command, *(["-std=c++17"] if is_cplus else [])], check=True, capture_output=True)
    return Program(out, tools)


def compared(program: Program, commands: dict[str, object], answer, table) -> int:
    """How many answers agree; what differs without a reason is a failure."""
    answers = program.asked(commands)
    wrong, agreed = [], 0
    for command, subject in commands.items():
        ours, theirs = answer(command, subject), answers[command]
        if ours == theirs:
            agreed += 1
        elif reason_for(table, command, ours, theirs) is None:
            wrong.append(f"{command}\n  gdb  {theirs}\n  ours {ours}")
    assert not wrong, "\n".join(["", *wrong])
    return agreed


@pytest.mark.slow
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("source, least", [("constructs.c", 1000), ("constructs.cpp", 260)])
def test_values_and_types_are_those_of_gdb(tmp_path, require_tool, compiler, version, source, least):
    program = built(tmp_path, require_tool, compiler, version, source)
    names = [name for name in program.variables() if not any(each in name for each in HIDDEN)]
    letters = ["", "/x", "/d", "/c", "/f"] if version == 4 else ["", "/u", "/o", "/t", "/z", "/a", "/s", "/r"]
    commands = {f"print{letter} {name}": name for letter in letters for name in names}
    commands |= {f"ptype {name}": name for name in names}

    def answer(command, name):
        word = command.split()[0]
        value = program.value(name)
        return f"type = {declaration(value.type)}" if word == "ptype" else program.text(value, word[6:] or None)

    assert compared(program, commands, answer, VALUES) >= least


def expressions(name):
    """The print commands for the lines of a file."""
    lines = (CORPUS / name).read_text("utf-8").splitlines()
    return {f"print {line}": line for line in lines if line and not line.startswith("//")}


@pytest.mark.slow
@pytest.mark.parametrize("compiler, version", [("gcc", 5), ("clang", 4)])
def test_expressions_are_those_of_gdb(tmp_path, require_tool, compiler, version):
    program = built(tmp_path, require_tool, compiler, version, "constructs.c")

    def answer(_command, expression):
        try:
            return program.text(program.value(expression))
        except DwarfGpuError as error:  # the message is compared
            return str(error)

    table = [each._replace(command=f"print ({each.command})") for each in EXPRESSIONS]
    assert compared(program, expressions("expressions.txt"), answer, table) >= 400


@pytest.mark.slow
def test_expressions_of_cplus_are_those_of_gdb(tmp_path, require_tool):
    program = built(tmp_path, require_tool, "gcc", 5, "constructs.cpp")

    def answer(_command, expression):
        try:
            return program.text(program.value(expression))
        except DwarfGpuError as error:
            return str(error)

    assert compared(program, expressions("expressions_cpp.txt"), answer, []) >= 60
