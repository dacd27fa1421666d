"""Rows about files: the start of commands, a library with a million DIEs, a code object of 10 MB, many inputs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.inputs import build
from bench.rows import BARE, DWARFGPU, ROOT, Row, command, dwarfgpu, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = ("fixtures/asm/lane-pc.gfx90a.w64.co", "even", "--state", "dwarfgpu/examples/variables.json")
"""A variable of a snapshot."""
LAUNCH = ("dwarfgpu/examples/even-first.co", "even_first", "--grid=64", "--work-group=64", "made")
DUMPERS = ("llvm-dwarfdump-22", "llvm-dwarfdump")
EVERY = 8
"""pyelftools is slow: each reader gets every eighth unit."""
OURS = f"""
import sys
from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.objfile.section_source import ImageSections
for unit in Dwarf(ImageSections(open_image(sys.argv[1]))).units[::{EVERY}]:
    for _, _, _, row in unit.decoded():
        for _ in row:
            pass
"""
THEIRS = f"""
import sys
from elftools.elf.elffile import ELFFile
with open(sys.argv[1], "rb") as file:
    for unit in [*ELFFile(file).get_dwarf_info(relocate_dwarf_sections=False).iter_CUs()][::{EVERY}]:
        for die in unit.iter_DIEs():
            for attribute in die.attributes.values():
                attribute.value
"""
LOOP = """
import gc, sys
gc.set_threshold(50_000)
from dwarfgpu.fleet.answers import make_question, rows_of
from dwarfgpu.fleet.inputs import find_inputs
question = make_question("eval", "even")
for item in find_inputs(sys.argv[1:]):
    for row in rows_of(question, item):
        pass
"""
"""The quickest way to the rows of a fleet without `fleet`."""
INPUTS = 2000


def startup() -> Iterator[Row]:
    """Yield the rows of small questions."""
    yield Row("dwarfgpu --version", dwarfgpu("--version"), *BARE, 3, 10)
    yield Row("eval --ops", dwarfgpu("eval", "--ops", "DW_OP_lit1; DW_OP_plus_uconst 4"), *BARE, 9, 10)
    yield Row("eval FILE NAME --state, one lane", dwarfgpu("eval", *VARIABLE, "--lane", "2"), *BARE, 10, 10)
    yield Row("run of 64 work-items", dwarfgpu("run", *LAUNCH), *BARE, 30, 10)
    yield Row("fault of a core", dwarfgpu("fault", "dwarfgpu/examples/blur.core"), *BARE, 36, 10)
    yield Row(
        "the prompt of debug, no input", dwarfgpu("debug", "dwarfgpu/examples/blur.co", "-nx", "-q"), *BARE, 10, 10
    )


def files() -> Iterator[Row]:
    """Yield the rows of a library, and of a code object."""
    dumper = tool(*DUMPERS)
    library, code = build("clang"), build("code-object")
    by_name = "llvm-dwarfdump --name", command(dumper, "--name", "unique_function_3", library)
    address = address_of(library, "_ZN5part317unique_function_3Eii")
    yield Row("info --pc ADDRESS of a million DIEs", dwarfgpu("info", library, "--pc", address), *by_name, 0.25)
    yield Row(
        "info --name NAME of a million DIEs", dwarfgpu("info", library, "--name", "unique_function_3"), *by_name, 0.25
    )
    asked = "debug", library, "-nx", "--batch", "-ex", "info functions unique_function_1"
    listed = "llvm-dwarfdump --debug-info", command(dumper, "--debug-info", library)
    yield Row("info functions of a million DIEs", dwarfgpu(*asked), *listed, 1.5, 3)
    dumped = "llvm-dwarfdump --debug-info", command(dumper, "--debug-info", code)
    yield Row("dump, code object of 10 MB", dwarfgpu("dump", code), *dumped, 12, 3)
    checked = "llvm-dwarfdump --verify", command(dumper, "--verify", library, status=1)
    yield Row("verify of a million DIEs", dwarfgpu("verify", library, status=1), *checked, 15, 1)
    theirs = command(sys.executable, "-c", THEIRS, library)
    yield Row(
        "a script reads all attributes", command(sys.executable, "-c", OURS, library), "pyelftools", theirs, 0.083, 2
    )
    for words in (
        ("info", code, "--pc", "step_321+0x10"),
        ("info", code, "--name", "moved_321"),
        ("kernels", code, "step_321"),
    ):
        waits = " ".join((words[0], *words[2:]))
        yield Row(f"{waits}, code object of 10 MB", dwarfgpu(*words), *BARE, 12, 10)
    summed = "llvm-dwarfdump --statistics", command(dumper, "--statistics", code)
    yield Row("coverage, code object of 10 MB", dwarfgpu("coverage", code), *summed, 20, 3)


def address_of(path: str, symbol: str) -> str:
    """Return the address of a symbol."""
    from dwarfgpu.objfile.opening import open_image

    found = open_image(path).symbol_named(symbol)
    assert found is not None
    return hex(found.value)


def memory_model() -> Iterator[Row]:
    """Yield the row of `memmodel check`."""
    found = map(str, (ROOT / "fixtures/amdgpu").glob("*-kernels.gfx1[0-2]*.co"))
    paths = sorted(path for path in found if "gfx125" not in path)  # which has no memory model
    listed = "llvm-objdump -d", command(tool("llvm-objdump-22", "llvm-objdump"), "-d", *paths)
    yield Row(
        f"memmodel check of {len(paths)} files",
        dwarfgpu("memmodel", "check", *paths, "--directory", "fixtures"),
        *listed,
        40,
        3,
    )


def fleet() -> Iterator[Row]:
    """Yield the row of two thousand snapshots; the peer is one process without `fleet`."""
    document = json.loads((ROOT / VARIABLE[3]).read_text("utf-8"))
    document["code_objects"][0]["path"] = str(ROOT / VARIABLE[0])
    with tempfile.TemporaryDirectory(prefix="dwarfgpu-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for rank in range(INPUTS):
            document["waves"][0]["registers"]["v2"] = [rank] * 64
            (folder / "in" / f"rank{rank:05}.json").write_text(json.dumps(document), "utf-8")
        turns = count()

        def waited(*words: str) -> float:
            started = time.perf_counter()
            subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
            return time.perf_counter() - started

        def ours() -> float:
            out = str(folder / f"out-{next(turns)}")
            return waited(*DWARFGPU, "fleet", "eval even", str(folder / "in"), "--scheduler", "local:2", "--out", out)

        def theirs() -> float:
            return waited(sys.executable, "-c", LOOP, str(folder / "in"))

        yield Row(f"fleet eval of {INPUTS:,} snapshots with 2 workers", ours, "one process", theirs, 0.56, 2)


GROUPS = {"startup": startup, "files": files, "memory-model": memory_model, "fleet": fleet}
