"""The figures of the reader: large files against pyelftools, llvm-dwarfdump and a bare start of Python.

    python3 tools/bench_files.py decode | attributes | walk | index | verify | coverage | pyelftools FILE STEP

is what the figures of whole files come from: a process of its own for each reader, so that none profits from what
another has left in memory. It reads each STEP-th unit and prints its findings as JSON. The times are those of the
processor: such readings take seconds, in which there is always something else that the machine has to do.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_input import InputError, build
from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, not_measured, peak_memory, process, show

if TYPE_CHECKING:
    from dwarfgpu.objfile.dwarf import Dwarf

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

LIBRARIES = ("gcc", "clang")
"""The inputs with a million DIEs; the first one whose compiler is installed is taken."""
DUMPERS = ("llvm-dwarfdump-22", "llvm-dwarfdump")
LONGEST = 20.0
"""Seconds that pyelftools may take for one reading. Where it takes more, every second or third unit is a sample."""
ROUNDS = 3

DECODE = ("every DIE and attribute decoded: speed / pyelftools", "at least 12")
MEMORY = ("the same: memory / pyelftools", "at most 0.33")
OBJECTS = ("the same with an object for each attribute: speed / pyelftools", "")
INDEX = ("index of names and addresses: speed / pyelftools' walk", "at least 20")
INDEX_TIME = ("the same: time / llvm-dwarfdump --debug-info", "at most 1.5")
BY_ADDRESS = ("cold info --pc ADDR / llvm-dwarfdump --name NAME", "at most 0.25")
BY_NAME = ("cold info --name NAME / llvm-dwarfdump --name NAME", "at most 0.25")
VERIFY = ("verify of the whole file: speed / the walk over its entries", "at least 0.1")
COVERAGE = ("coverage of the code object: time / its index", "at most 4")
QUESTIONS = ("info --pc SYMBOL+0x10", "info --name NAME", "kernels NAME")
OBJECT_LIMIT = "at most 12"


# --- What is measured: a process for each -------------------------------------------------------------------------


def opened(path: str) -> Dwarf:
    """Return the debugging information of a file."""
    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.opening import open_image
    from dwarfgpu.objfile.section_source import ImageSections

    return Dwarf(ImageSections(open_image(path)))


def decode(path: str, step: int) -> dict[str, Any]:
    """Read all entries with the values of all their attributes, a tuple for each entry."""
    start = time.process_time()
    entries = values = 0
    for unit in opened(path).units[::step]:
        for _, _, _, row in unit.decoded():
            entries += 1
            for _ in row:
                values += 1
    return {"entries": entries, "values": values, "seconds": time.process_time() - start}


def attributes(path: str, step: int) -> dict[str, Any]:
    """Read the same by an object for each attribute."""
    from dwarfgpu.objfile.info.forms import STRINGS

    start = time.process_time()
    entries = values = 0
    for unit in opened(path).units[::step]:
        for die in unit.dies():
            entries += 1
            for attribute in die.attributes:
                _ = attribute.text() if attribute.form in STRINGS else attribute.value
                values += 1
    return {"entries": entries, "values": values, "seconds": time.process_time() - start}


def walk(path: str, step: int) -> dict[str, Any]:
    """Read all entries, as the reader passes them on."""
    start = time.process_time()
    entries = 0
    for unit in opened(path).units[::step]:
        for _ in unit.entries():
            entries += 1
        unit.release()
    return {"entries": entries, "seconds": time.process_time() - start}


def verify(path: str, _step: int) -> dict[str, Any]:
    """Do every check of a file, with the collector of garbage as the command line sets it."""
    gc.set_threshold(50_000)
    start = time.process_time()
    from dwarfgpu.audits.verify.reports import check_file
    from dwarfgpu.program.code.code_object import opened as opened_file

    report = check_file(opened_file(path))
    return {"entries": report.entries, "found": len(report.findings), "seconds": time.process_time() - start}


def index(path: str, step: int) -> dict[str, Any]:
    """Make the index of names and addresses."""
    start = time.process_time()
    found = opened(path).index
    for unit in found.units[::step]:
        found.names_of(unit)
        found.addresses_of(unit)
    return {"seconds": time.process_time() - start}


def coverage(path: str, _step: int) -> dict[str, Any]:
    """Sum up the locations of all variables, with the collector of garbage as the command line sets it."""
    gc.set_threshold(50_000)
    start = time.process_time()
    from dwarfgpu.audits.coverage.sums import file_coverage
    from dwarfgpu.program.code.code_object import opened as opened_file

    total = file_coverage(opened_file(path)).sum
    return {"entries": total.variables, "located": total.located, "seconds": time.process_time() - start}


def pyelftools(path: str, step: int) -> dict[str, Any]:
    """Walk over all entries, alone, and with the value of every attribute asked for."""
    from elftools.elf.elffile import ELFFile

    entries = values = 0
    with Path(path).open("rb") as file:
        start = time.process_time()
        units = [*ELFFile(file).get_dwarf_info(relocate_dwarf_sections=False).iter_CUs()]
        walk = seconds = time.process_time() - start
        for unit in units[::step]:
            start = time.process_time()
            for _ in unit.iter_DIEs():
                pass
            walk += time.process_time() - start
            for die in unit.iter_DIEs():  # they are kept
                entries += not die.is_null()
                for attribute in die.attributes.values():
                    _ = attribute.value
                    values += 1
            seconds += time.process_time() - start
    return {"entries": entries, "values": values, "units": len(units), "walk": walk, "seconds": seconds}


READERS = {reader.__name__: reader for reader in (decode, attributes, walk, index, verify, coverage, pyelftools)}


def reading(reader: str, path: str, step: int = 1) -> dict[str, Any]:
    """Return what a reader finds in a process of its own, and what that takes."""
    done = subprocess.run(
        [sys.executable, __file__, reader, path, str(step)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shortest(readings: list[dict[str, Any]], key: str) -> float:
    """Return the shortest of some times."""
    return float(min(each[key] for each in readings))


# --- The figures --------------------------------------------------------------------------------------------------


def files() -> None:
    """Large files: all that is in them, one question about them, a code object."""
    compile_all()
    dumper = next(filter(None, map(shutil.which, DUMPERS)), None)
    path = library()
    if isinstance(path, InputError):
        for figure in (DECODE, MEMORY, OBJECTS, INDEX, INDEX_TIME, VERIFY, BY_ADDRESS, BY_NAME):
            not_measured(*figure, str(path))
    else:
        checked(path)
        against_pyelftools(path)
        against_dumper(path, dumper)
        questions(path, dumper)
    code_object()


def library() -> str | InputError:
    """Return the large library, or why there is none."""
    reasons = []
    for name in LIBRARIES:
        try:
            return str(build(name))
        except InputError as error:
            reasons.append(str(error))
    return InputError("; ".join(reasons))


def against_pyelftools(path: str) -> None:
    """Everything in a file, in time and memory."""
    if importlib.util.find_spec("elftools") is None:
        for figure in (DECODE, MEMORY, OBJECTS, INDEX):
            not_measured(*figure, "pyelftools is not installed")
        return
    only_first = reading("pyelftools", path, 1 << 30)
    count = only_first["units"]
    step = math.ceil(only_first["seconds"] * count / LONGEST)
    ours, theirs, objects, indexed = [], [], [], []
    for _ in range(ROUNDS - 1):  # a reading by pyelftools is long, and hardly varies
        ours += [reading("decode", path, step) for _ in range(ROUNDS)]
        theirs.append(reading("pyelftools", path, step))
        objects.append(reading("attributes", path, step))
        indexed += [reading("index", path, step) for _ in range(ROUNDS)]
    entries, values = ours[0]["entries"], ours[0]["values"]
    if (entries, values) != (theirs[0]["entries"], theirs[0]["values"]):
        message = f"{entries} entries with {values} values, by pyelftools {theirs[0]}: not the same was measured"
        raise RuntimeError(message)
    taken = f"{count} units" if step == 1 else f"{-(-count // step)} of {count} units"
    fast, slow = shortest(ours, "seconds"), shortest(theirs, "seconds")
    detail = f"{entries:,} DIEs, {taken}: {fast:.2f} s against {slow:.1f} s"
    show(DECODE[0], slow / fast, DECODE[1], detail)
    small, large = shortest(ours, "memory"), shortest(theirs, "memory")
    detail = f"{small / 1e6:,.0f} MB against {large / 1e6:,.0f} MB, peak of the whole process"
    show(MEMORY[0], small / large, MEMORY[1], detail)
    fast = shortest(objects, "seconds")
    show(OBJECTS[0], slow / fast, OBJECTS[1], f"{fast:.2f} s against {slow:.1f} s")
    fast, slow = shortest(indexed, "seconds"), shortest(theirs, "walk")
    show(INDEX[0], slow / fast, INDEX[1], f"{taken}: {fast:.2f} s against {slow:.1f} s")


def checked(path: str) -> None:
    """Measure the check of all parts of a file against the walk over its entries."""
    ours, walked = [], []
    for _ in range(ROUNDS):
        ours.append(reading("verify", path))
        walked.append(reading("walk", path))
    slow, fast = shortest(ours, "seconds"), shortest(walked, "seconds")
    entries, memory = ours[0]["entries"], shortest(ours, "memory") / 1e6
    detail = f"{entries / slow:,.0f} DIEs a second, {slow:.2f} s, {memory:,.0f} MB at most"
    show(VERIFY[0], fast / slow, VERIFY[1], detail)


def against_dumper(path: str, dumper: str | None) -> None:
    """Measure the index against a listing of all entries, process against process."""
    if dumper is None:
        not_measured(*INDEX_TIME, f"{DUMPERS[-1]} is not installed")
        return
    ours, theirs = in_turns([lambda: reading("index", path), process(dumper, "--debug-info", path)], rounds=ROUNDS)
    show(INDEX_TIME[0], ours / theirs, INDEX_TIME[1], f"whole processes: {ours:.2f} s against {theirs:.2f} s")


def questions(path: str, dumper: str | None) -> None:
    """Measure one question about the library, in a new process."""
    if dumper is None:
        for figure in (BY_ADDRESS, BY_NAME):
            not_measured(*figure, f"{DUMPERS[-1]} is not installed")
        return
    number = 3
    name, symbol = f"unique_function_{number}", f"_ZN5part{number}17unique_function_{number}Eii"
    address = hex(address_of(path, symbol))
    by_address, by_name, theirs = in_turns(
        [
            process(*DWARFGPU, "info", path, "--pc", address),
            process(*DWARFGPU, "info", path, "--name", name),
            process(dumper, "--name", name, path),
        ],
        rounds=10,
    )
    for figure, ours in ((BY_ADDRESS, by_address), (BY_NAME, by_name)):
        show(figure[0], ours / theirs, figure[1], f"{ours * 1e3:.0f} ms against {theirs * 1e3:.0f} ms")


def address_of(path: str, symbol: str) -> int:
    """Return the address of a symbol."""
    from dwarfgpu.objfile.opening import open_image

    found = open_image(path).symbol_named(symbol)
    assert found is not None
    return found.value


def code_object() -> None:
    """Measure one question about a code object, in a new process."""
    rows = [(f"code object: {question} / python3 -c pass", OBJECT_LIMIT) for question in QUESTIONS]
    try:
        path = str(build("code-object"))
    except InputError as error:
        for row in (*rows, COVERAGE):
            not_measured(*row, str(error))
        return
    ours, indexed = [], []
    for _ in range(2 * ROUNDS):
        ours.append(reading("coverage", path))
        indexed.append(reading("index", path))
    slow, fast = shortest(ours, "seconds"), shortest(indexed, "seconds")
    detail = f"{ours[0]['entries']:,} variables: {slow * 1e3:.0f} ms against {fast * 1e3:.0f} ms"
    show(COVERAGE[0], slow / fast, COVERAGE[1], detail)
    kernel = "step_321"
    bare, *answers = in_turns(
        [
            process(*BARE),
            process(*DWARFGPU, "info", path, "--pc", f"{kernel}+0x10"),
            process(*DWARFGPU, "info", path, "--name", f"moved_{kernel[5:]}"),
            process(*DWARFGPU, "kernels", path, kernel),
        ],
        rounds=10,
    )
    size = Path(path).stat().st_size
    for row, seconds in zip(rows, answers, strict=True):
        show(row[0], seconds / bare, row[1], f"{size / 1e6:.1f} MB: {seconds * 1e3:.0f} ms")


def main(reader: str, path: str, step: str) -> int:
    if reader in ("decode", "attributes"):
        opened(path)  # the modules are imported before the time begins, as those of pyelftools are
    found = READERS[reader](path, int(step))
    print(json.dumps({**found, "memory": peak_memory()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
