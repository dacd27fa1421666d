"""Core files of host programs: the threads of the process, and the files that it had loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dwarfgpu.backends.core import CoreMachine
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.elf.core import AT_SYSINFO_EHDR, read_core
from dwarfgpu.objfile.elf.header import PT_LOAD, PT_NOTE
from dwarfgpu.objfile.elf.image import Image, open_image
from dwarfgpu.program.files.codeobject import CodeObject, find_target
from dwarfgpu.program.machines.loaded import Loaded, LoadedCode
from dwarfgpu.program.machines.stopped import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.elf.core import CoreFile, Mapping

AT_PHNUM = 5
"""How many program headers the executable has (<elf.h>)."""
AT_ENTRY = 9
"""Where the program begins: the entry point of its executable (<elf.h>)."""
PAGE = 1 << 12
"""Mappings begin at a multiple of it."""
VDSO = "[vdso]"


def open_core(program: CodeObject, path: str, *, force: bool = False, dialect: str | None = None) -> Stopped:
    """A core file and the program whose process it was; with ``force`` also one that cannot be it."""
    image = open_image(path)
    core = read_core(image)
    problems = [*image.problems, *core.problems]
    threads = {str(thread.pid): thread.registers for thread in core.threads}
    if not threads:
        raise MalformedFile("no_threads", f"{path}: the core file has no threads")
    mapped = _by_file(core)
    if not force:
        _check_program(program, image, core, mapped)
    codes: list[LoadedCode] = []
    files: list[tuple[int, memoryview]] = []
    for name, mappings in mapped.items():
        try:
            file = program if _is_at(program, name) else CodeObject(open_image(name))
        except DwarfGpuError:
            continue  # a file of data, or one that is not here any more
        bias = bias_of(file.image, mappings)
        if bias is not None:
            codes.append(LoadedCode(file, bias, dialect=dialect))
        files += [
            (each.start, file.image.data[each.offset : each.offset + each.end - each.start])
            for each in mappings
        ]
    if not any(code.file is program for code in codes):
        bias = _guessed_bias(program.image, core)
        codes.insert(0, LoadedCode(program, bias, dialect=dialect))
    machine = CoreMachine(find_target(image).target, threads, core.memory, files)
    codes += _vdso(core, machine, dialect)
    entry = core.auxiliary.get(AT_ENTRY)
    executable = next((code for code in codes if code.in_program(code.file.image.entry) == entry), None)
    return Stopped(machine, Loaded(codes, executable), tuple(problems), name=path)


def _check_program(
    program: CodeObject, image: Image, core: CoreFile, mapped: dict[str, list[Mapping]]
) -> None:
    """Refuse a program that the process cannot have run: as its addresses are others, any answer would be wrong."""
    own = program.image
    why = ""
    mappings = next((each for name, each in mapped.items() if _is_at(program, name)), None)
    if own.machine != image.machine:
        why = "it is for another machine"
    elif mappings is not None:
        if _differs(own, min(mappings, key=lambda each: each.start), core):
            why = "it has changed since"
    elif AT_ENTRY in core.auxiliary:
        bias = core.auxiliary[AT_ENTRY] - own.entry
        count = core.auxiliary.get(AT_PHNUM, len(own.segments))
        if bias % PAGE or (bias and own.type_name == "EXEC") or count != len(own.segments):
            why = "the process began elsewhere"
    if why:
        message = f"{program.name} is not the program that {core.name} is of: {why}"
        raise MalformedFile("other_program", message, hint="--force uses it all the same")


def _is_at(program: CodeObject, name: str) -> bool:
    path = program.image.path
    return path is not None and os.path.realpath(name) == os.path.realpath(path)


def _differs(image: Image, mapping: Mapping, core: CoreFile) -> bool:
    """Whether the core file has the beginning of a program, and it is another one.

    Its entry point, program headers and notes, the build ID among them, tell: they are neither relocated nor changed by
    `strip`.
    """
    if mapping.offset:
        return False
    for address, data in core.memory:
        if address <= mapping.start < address + len(data):
            begin = mapping.start - address
            there = data[begin : begin + min(PAGE, mapping.end - mapping.start)]
            return any(
                there[first:end] != image.data[first : min(end, len(there))]
                for first, end in _identity(image)
            )
    return False


def _identity(image: Image) -> Iterator[tuple[int, int]]:
    """The stretches of a file that tell it from others."""
    header = image.header
    yield 0, 24 + image.address_size  # up to the entry point (gABI, "ELF Header")
    yield header.segment_offset, header.segment_offset + header.segment_stride * header.segment_count
    for segment in image.segments:
        if segment.type == PT_NOTE:
            yield segment.offset, segment.offset + segment.file_size


def _by_file(core: CoreFile) -> dict[str, list[Mapping]]:
    found: dict[str, list[Mapping]] = {}
    for mapping in core.mappings:
        if os.path.isfile(mapping.path):  # noqa: PTH113 (`pathlib` costs start-up time)
            found.setdefault(mapping.path, []).append(mapping)
    return found


def bias_of(image: Image, mappings: list[Mapping]) -> int | None:
    """What was added to the addresses of a file, as the mappings of its segments show; None if none is of code."""
    for segment in image.segments:
        if segment.type != PT_LOAD:
            continue
        for mapping in mappings:
            if mapping.offset <= segment.offset < mapping.offset + mapping.end - mapping.start:
                return mapping.start + (segment.offset - mapping.offset) - segment.address
    return None


def _guessed_bias(image: Image, core: CoreFile) -> int:
    """Where a program is that the core file does not name: by the entry point in the auxiliary vector (AT_ENTRY)."""
    entry = core.auxiliary.get(AT_ENTRY)
    return 0 if entry is None else entry - image.entry


def _vdso(core: CoreFile, machine: CoreMachine, dialect: str | None) -> Iterator[LoadedCode]:
    """The code that the kernel has put into the process, which only its memory holds."""
    start = core.auxiliary.get(AT_SYSINFO_EHDR)
    for address, data in core.memory:
        if address != start:
            continue
        try:
            image = Image(data, name=VDSO)
            low = min(each.address for each in image.segments if each.type == PT_LOAD)
            yield LoadedCode(CodeObject(image), address - low, dialect=dialect)
        except (DwarfGpuError, ValueError):
            return  # frames in it are not known then
