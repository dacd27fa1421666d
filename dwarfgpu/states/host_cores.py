"""Core files of host programs with the program and the files that it had loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import evolve
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.objfile.elf.core import AT_SYSINFO_EHDR, CoreFile, read_core
from dwarfgpu.objfile.elf.core import Mapping as MappedFile
from dwarfgpu.objfile.elf.header import PT_LOAD, PT_NOTE
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, find_target, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.regular_files import places_of
from dwarfgpu.states.gpu_cores import has_gpu_state
from dwarfgpu.states.stopped import USUAL, OpenOptions, Stopped

AT_PHNUM = 5
"""How many program headers the executable has (<elf.h>)."""
AT_ENTRY = 9
"""Where the program begins: the entry point of its executable (<elf.h>)."""
PAGE = 1 << 12
"""Mappings begin at a multiple of it."""
VDSO = "[vdso]"


def open_core(program: CodeObject | None, path: str, options: OpenOptions = USUAL) -> Stopped:
    """Open a core file with the program it is of; None is the one that it names, as far as that is here."""
    if program is None:
        found = program_of_core(path, options.moved)  # without one frames have no names
        program, options = opened(found or path), evolve(options, force=found is None)
    image = open_image(path)
    core = read_core(image)
    threads = {str(thread.pid): thread.registers for thread in core.threads}
    if not threads:
        raise MalformedFile("no_threads", f"{path}: the core file has no threads")
    places = {path: _found(path, options.moved) for path in dict.fromkeys(mapping.path for mapping in core.mappings)}
    mapped: dict[str, list[MappedFile]] = {}
    for mapping in core.mappings:
        place = places[mapping.path]
        if place is not None:
            mapped.setdefault(place, []).append(mapping)
    if not options.force:
        _check_program(program, image, core, mapped)
    codes: list[LoadedCode] = []
    files: list[tuple[int, memoryview]] = []
    for name, mappings in mapped.items():
        try:
            file = program if _is_at(program, name) else CodeObject(open_image(name), program.attributes)
        except DwarfGpuError:
            continue  # a file of data, or one that is not here any more
        bias = bias_of(file.image, mappings)
        if bias is not None:
            codes.append(options.code(file, bias))
        files += [
            (mapping.start, file.image.data[mapping.offset : mapping.offset + mapping.end - mapping.start])
            for mapping in mappings
        ]
    entry = core.auxiliary.get(AT_ENTRY)
    if not any(code.file is program for code in codes):  # the core file does not name it: by its entry point
        codes.insert(0, options.code(program, 0 if entry is None else entry - program.image.entry))
    codes += _vdso(core, options.dialect)
    machine = CoreProcess(find_target(image).target, threads, core.memory, files)
    executable = next((code for code in codes if code.in_program(code.file.image.entry) == entry), None)
    stopped = Stopped(machine, Loaded(codes, executable), (*image.problems, *core.problems), name=path)
    stopped.core = core
    if has_gpu_state([path]):
        stopped.beside = path, OpenOptions(repair=options.repair, moved=options.moved)
    return stopped


def program_of_core(path: str, moved: Mapping[str, str] | None = None) -> str | None:
    """Return the executable that the core file of a host program names, if it is on this machine."""
    try:
        core = read_core(open_image(path))
    except DwarfGpuError:
        return None
    entry = core.auxiliary.get(AT_ENTRY, 0)
    names = [mapping.path for mapping in core.mappings if mapping.start <= entry < mapping.end]
    return next((name for name in (_found(name, moved) for name in names) if name is not None), None)


def _found(path: str, moved: Mapping[str, str] | None) -> str | None:
    """Return where a file of the machine that a core file is from is here; None if it is nowhere."""
    return next(filter(os.path.isfile, places_of(path, moved or {})), None)


def _check_program(program: CodeObject, image: Image, core: CoreFile, mapped: dict[str, list[MappedFile]]) -> None:
    """Refuse a program that the process cannot have run: its addresses differ, so any answer would be wrong."""
    own = program.image
    why = ""
    mappings = next((mapping for name, mapping in mapped.items() if _is_at(program, name)), None)
    if own.machine != image.machine:
        why = "it is for another architecture"
    elif mappings is not None:
        if _differs(own, min(mappings, key=lambda mapping: mapping.start), core):
            why = "it has changed since"
    elif AT_ENTRY in core.auxiliary:
        bias = core.auxiliary[AT_ENTRY] - own.entry
        count = core.auxiliary.get(AT_PHNUM, len(own.segments))
        if bias % PAGE or (bias and own.type_name == "EXEC") or count != len(own.segments):
            why = "the process began elsewhere"
    if why:
        message = f"{program.name} is not the program that {core.name} is of: {why}"
        raise MalformedFile("other_program", message, hint="--force uses it anyway")


def _is_at(program: CodeObject, name: str) -> bool:
    path = program.image.path
    return path is not None and os.path.realpath(name) == os.path.realpath(path)


def _differs(image: Image, mapping: MappedFile, core: CoreFile) -> bool:
    """Return whether the core file has the beginning of a program, and that is of a different program.

    The entry point, program headers and notes (with the build ID) are compared: neither relocation nor
    `strip` changes them.
    """
    if mapping.offset:
        return False
    for address, data in core.memory:
        if address <= mapping.start < address + len(data):
            begin = mapping.start - address
            there = data[begin : begin + min(PAGE, mapping.end - mapping.start)]
            return any(there[first:end] != image.data[first : min(end, len(there))] for first, end in _identity(image))
    return False


def _identity(image: Image) -> Iterator[tuple[int, int]]:
    header = image.header
    yield 0, 24 + image.address_size  # up to the entry point (gABI, "ELF Header")
    yield header.segment_offset, header.segment_offset + header.segment_stride * header.segment_count
    for segment in image.segments:
        if segment.type == PT_NOTE:
            yield segment.offset, segment.offset + segment.file_size


def bias_of(image: Image, mappings: list[MappedFile]) -> int | None:
    """Return what was added to the addresses of a file, as the mappings of its code show; None without code."""
    for segment in image.segments:
        if segment.type != PT_LOAD:
            continue
        for mapping in mappings:
            if mapping.offset <= segment.offset < mapping.offset + mapping.end - mapping.start:
                return mapping.start + (segment.offset - mapping.offset) - segment.address
    return None


def _vdso(core: CoreFile, dialect: str | None) -> Iterator[LoadedCode]:
    """Yield the code that the kernel has put into the process, which only its memory holds."""
    start = core.auxiliary.get(AT_SYSINFO_EHDR)
    for address, data in core.memory:
        if address != start:
            continue
        try:
            image = Image(data, name=VDSO)
            low = min(segment.address for segment in image.segments if segment.type == PT_LOAD)
            yield LoadedCode(CodeObject(image), address - low, dialect=dialect)
        except (DwarfGpuError, ValueError):
            return  # frames in it are not known then
