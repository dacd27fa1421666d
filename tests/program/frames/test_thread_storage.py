"""Thread-local variables of host programs are where the programs themselves say, and what gdb says."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu as dg
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.objfile.elf.header import Segment
from dwarfgpu.program.code.thread_storage import PT_TLS, below
from dwarfgpu.targets.x86_64 import X86_64
from tests.builders.declared import CODE, program
from tests.builders.dwarf import entry
from tests.builders.parameters import for_each

SOURCE = Path(__file__).parents[1] / "corpus" / "thread_storage.c"
SCRIPT = """
set pagination off
run
generate-core-file core
{prints}
"""
OWN = ("first", "pad", "wide", "later", "run::local")


def build(tools: Any, folder: Path, compiler: str, part: int, out: str, *options: str) -> Path:
    made = folder / out
    command = [tools(compiler), "-g", "-w", f"-DPART={part}", *options, "-o", str(made), str(SOURCE)]
    if part == 0:
        command.append("-pthread")
        if "-DALONE" not in options:
            command += [f"-L{folder}", "-lshared", f"-Wl,-rpath,{folder}"]
    subprocess.run(command, check=True)
    return made


def stopped(tools: Any, folder: Path, program: Path, expressions: tuple[str, ...] = ()) -> tuple[Any, list[str]]:
    """The program with a core file of it in the middle of two threads, and what gdb prints of the second."""
    script = folder / "script.gdb"
    script.write_text(SCRIPT.format(prints="\n".join(["thread 2", *(f"print {each}" for each in expressions)])))
    done = subprocess.run(
        [tools("gdb"), "-nx", "-batch", "-x", str(script), str(program)],
        env={**os.environ, "PLUGIN": str(folder / "plugin.so"), "LC_ALL": "C.UTF-8"}, cwd=folder,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    found = [line.partition(" = ")[2] for line in done.stdout.splitlines() if line.startswith("$")]
    return dg.open(program).attach(folder / "core"), found


@pytest.mark.slow
@for_each("compiler, options",
    ("gcc", ()), ("gcc", ("-no-pie", "-gdwarf-4")), ("clang-22", ("-fuse-ld=lld",)), ("gcc", ("-static", "-DALONE")),
    ("gcc", ("-static-pie", "-DALONE", "-O2")),
    ids=lambda each: each if isinstance(each, str) else " ".join(each) or "-")  # fmt: skip
def test_thread_local_variables_are_where_the_program_says(tmp_path, require_tool, compiler, options):
    names = OWN
    if "-DALONE" not in options:
        build(require_tool, tmp_path, compiler, 1, "libshared.so", "-shared", "-fPIC")
        build(require_tool, tmp_path, compiler, 2, "plugin.so", "-shared", "-fPIC")
        names = (*OWN, "shared_count", "plugged")
    program = build(require_tool, tmp_path, compiler, 0, "program", *options)
    asked = () if "-DALONE" in options else ("first", "later", "wide", "shared_count")
    attached, printed = stopped(require_tool, tmp_path, program, asked)

    assert len(attached) == 2
    for wave in attached:
        frame = wave.frame(0)
        thread = int(frame["where[1][0]"].value() == frame["&first"].value())
        truth = {"first": 11 + thread, "later": 20 + thread, "run::local": 31 + thread, "wide": 2.5}
        if "-DALONE" not in options:
            truth["shared_count"] = 40 + thread
        for name, value in truth.items():
            assert frame[name].value() == value
        for index, name in enumerate(names):
            expected = frame[f"where[{thread}][{index}]"].value()
            if expected:
                assert frame[f"&{name}"].value() == expected
                continue
            reason = frame[name].why()
            assert (reason.kind, reason.state) == ("error", "error")
            assert "plugin.so yet: it has not used it" in reason.message
    if asked:
        (other,) = [wave.frame(0) for wave in attached if wave.frame(0)["first"].value() == 12]
        assert [float(each) for each in printed] == [float(other[name].value()) for name in asked]


@for_each("address, size, align, expected",
    (0x1000, 0x40, 0x40, 0x9FC0),                             (0x1000, 0x41, 0x40, 0x9F80),
    (0x1010, 0x24, 0x40, 0x9FD0),  # the block begins as far into its alignment as the segment does
    (0x1004, 4, 4, 0x9FFC),      (0x1004, 4, 0, 0x9FFC),
    (0x1001, 3, 1, 0x9FFD))  # fmt: skip
def test_the_block_of_an_executable_ends_at_the_thread_pointer(address, size, align, expected):
    assert below(0xA000, Segment(PT_TLS, 4, 0, address, size, size, align)) == expected


@for_each("segments, why",
    ((), "has no thread-local storage: there is no PT_TLS segment"),
    ((PT_TLS,), "the executable of the process is not known"))  # fmt: skip
def test_why_it_is_not_known(tmp_path, segments, why):
    location = ("location", "exprloc", b"\x08\x04\x9b")  # DW_OP_const1u 4; DW_OP_form_tls_address
    made = program(tmp_path, locals=(entry("variable", "mine", location, type="int"),), segments=segments)
    registers = {"rip": CODE.to_bytes(8, "little"), "fs.base": bytes(8)}
    reason = made.attach(CoreProcess(X86_64, {"1": registers}))[0].frame(0)["mine"].why()
    assert reason.kind == "missing_context"
    assert why in reason.message
    assert made.at(CODE)[0]["mine"].why().message == (
        "where the thread has its thread-local storage is not known: no state"
    )
