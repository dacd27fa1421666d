"""Types and values of compiled programs are shown as gdb shows them; what differs is explained in `differences`."""

import subprocess
from pathlib import Path

import pytest

from dwarfgpu.program.types.declaration import declaration
from tests.builders.evaluating import Evaluator
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
    variables = {name: die for name, die in program.variables().items() if not any(each in name for each in HIDDEN)}
    letters = ["", "/x", "/d", "/c", "/f"] if version == 4 else ["", "/u", "/o", "/t", "/z", "/a", "/s", "/r"]
    commands = {f"print{letter} {name}": die for letter in letters for name, die in variables.items()}
    commands |= {f"ptype {name}": die for name, die in variables.items()}

    def answer(command, die):
        word = command.split()[0]
        if word == "ptype":
            return f"type = {declaration(program.types.type_of(die))}"
        return program.text(program.object(die), word[6:] or None)

    assert compared(program, commands, answer, VALUES) >= least


@pytest.mark.slow
@pytest.mark.parametrize("compiler, version", [("gcc", 5), ("clang", 4)])
def test_expressions_are_those_of_gdb(tmp_path, require_tool, compiler, version):
    program = built(tmp_path, require_tool, compiler, version, "constructs.c")
    lines = (CORPUS / "expressions.txt").read_text("utf-8").splitlines()
    commands = {f"print {line}": line for line in lines if line and not line.startswith("//")}
    asked = {}

    def answer(_command, expression):
        if not asked:
            asked[0] = Evaluator(program)
        try:
            return asked[0].text(expression)
        except Exception as error:  # noqa: BLE001 (the message is compared)
            return str(error)

    table = [each._replace(command=f"print ({each.command})") for each in EXPRESSIONS]
    assert compared(program, commands, answer, table) >= 400


@pytest.mark.slow
def test_expressions_of_cplus_are_those_of_gdb(tmp_path, require_tool):
    program = built(tmp_path, require_tool, "gcc", 5, "constructs.cpp")
    lines = (CORPUS / "expressions_cpp.txt").read_text("utf-8").splitlines()
    evaluator = []

    def answer(_command, expression):
        if not evaluator:
            evaluator.append(Evaluator(program))
        return evaluator[0].text(expression)

    commands = {f"print {line}": line for line in lines if line and not line.startswith("//")}
    assert compared(program, commands, answer, []) >= 60
