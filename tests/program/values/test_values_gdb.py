"""Types and values of compiled programs are shown as gdb shows them; what differs is explained in `differences`."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.declaration import declaration
from tests.builders.parameters import every
from tests.builders.programs import Program


class Difference(NamedTuple):
    command: str
    """A pattern of the commands."""
    ours: str
    """A pattern of what the library shows, or of what gdb does."""
    reason: str


VALUES = [
    Difference(r"print.* packed_bits", r"not available on integers of more than 8 bytes",
        "a bit-field that reaches over nine bytes: gdb does not read it"),
    Difference(r"print/[ca] (u?huge|little128)", r"not available on integers of more than 8 bytes",
        "gdb converts no wider integers; the low bits are shown"),
    Difference(r"print/f .*", r"<invalid float value>", "128 bits that are not x87 number: gdb gives up"),
    Difference(
        r"print/[fca] c_\w+",
        r".",
        "a complex number: gdb reads both parts as one float, or refuses; each part is shown by itself",
    ),
    Difference(r"print(/[sr])? (pointer_bytes|incomplete16)", r'(\\003|a)", <incomplete',
        "gdb leaves out the character before an incomplete one"),
    Difference(r"print(/[sr])? wc_unseen", r"L'\\255'", "gdb writes characters that nobody sees as they are"),
    Difference(r"(print|ptype).*methods?", r" \* const[,)]", "gdb makes the parameter `this` constant"),
    Difference(r"ptype.*", r"virtual ~", "gdb does not say that a destructor is virtual"),
    Difference(r"(print|ptype).*", r"_vtable\$", "clang describes a member `_vtable$`, and gdb does not find it"),
    Difference(r"print/[xduotzfca] (function_reference|moved)", r".",
        "a reference to a function or to an rvalue: gdb shows the first byte of the code, or the address alone"),
    Difference(r"print/[ca] \w*method", r"can't be converted",
        "a pointer to a member function: gdb has no such format"),
    Difference(r"(print|ptype).* nothing", r".", "std::nullptr_t: gdb takes it for an int, or for void"),
    Difference(r"ptype uhuge", r"unsigned int __int128", "clang's `unsigned __int128`: gdb takes the words apart"),
    Difference(r"ptype constant_triple", r"const int \[3\]",
        "an array that is constant as a whole: gdb drops the word")]  # fmt: skip
EXPRESSIONS = [
    Difference(r"yes\+yes", r"Invalid operation on booleans", "C makes integers of them; gdb refuses"),
    Difference(r"(huge|little128).*", r"not available on integers", "gdb computes with at most 8 bytes"),
    Difference(r".*[/%]0", r"Division by zero", "the words of the error"),
    Difference(r"no_such.*|.*p_text", r"No symbol", "the words of the error"),
    Difference(r".*(<<|>>).*", r"warning: .*shift count", "gdb warns, and has the same result")]  # fmt: skip


def reason_for(table: list[Difference], command: str, ours: str, theirs: str) -> str | None:
    """Why an answer differs; None if nothing explains it."""
    for each in table:
        if re.fullmatch(each.command, command) and re.search(each.ours, f"{ours}\n{theirs}"):
            return each.reason
    return None


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
@every(version=[4, 5], compiler=["gcc", "clang"])
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


def answers_of(program):
    def answer(_command, expression):
        try:
            return program.text(program.value(expression))
        except DwarfGpuError as error:  # the message is compared
            return str(error)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("compiler, version", [("gcc", 5), ("clang", 4)])
def test_expressions_are_those_of_gdb(tmp_path, require_tool, compiler, version):
    program = built(tmp_path, require_tool, compiler, version, "constructs.c")

    table = [each._replace(command=f"print ({each.command})") for each in EXPRESSIONS]
    assert compared(program, expressions("expressions.txt"), answers_of(program), table) >= 400


@pytest.mark.slow
def test_expressions_of_cplus_are_those_of_gdb(tmp_path, require_tool):
    program = built(tmp_path, require_tool, "gcc", 5, "constructs.cpp")

    assert compared(program, expressions("expressions_cpp.txt"), answers_of(program), []) >= 60
