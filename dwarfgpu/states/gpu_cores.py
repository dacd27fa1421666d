"""GPU core files with the code of their waves: the files that belong together, and the code objects they name.

The runtime of the GPU and the kernel write two files for one crash, or a debugger one. Either way there is one address
space, and whichever file has some bytes is asked for them.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.machines.gpu_core.core_waves import GpuCore, SavedGpu, group_problems, no_waves, read_gpu_core
from dwarfgpu.machines.gpu_core.file_memory import FileMemory, Stretch, map_file
from dwarfgpu.machines.gpu_core.note import ARGUMENTS, OWNER, TYPE, Arguments, CoreState, read_arguments, read_note
from dwarfgpu.machines.gpu_core.runtime import LoadedObject
from dwarfgpu.objfile.elf.header import EM_AMDGPU, EM_X86_64, ET_CORE, PT_LOAD
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.place import memory_range, parse_place
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode, own_traps
from dwarfgpu.regular_files import open_input, places_of
from dwarfgpu.states.memory_image import empty_image, identifies, image_in_memory
from dwarfgpu.states.stopped import HOST, USUAL, OpenOptions, Stopped, part_of, without_part

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.core import CoreThread

MAX_OPENED = 256
"""So many code objects are opened; of more only those that waves are in."""
MAX_NAMED = 8
"""So many code objects that were not found are named."""
MAX_CODE = 1 << 28
"""The bytes of a code object in the memory of the process."""
MAX_NEIGHBOURS = 256
"""The files beside a core file that are selected for a code object."""
HOW_TO_GET = (
    "the save areas, the packets and the list of code objects are memory of the host: name the host's core file as "
    "well (--state core.PID --state gpucore.PID), or put it next to this one as core.PID"
)


@frozen
class CoreFiles:
    """The files of one crash."""

    names: tuple[str, ...]
    images: tuple[Image, ...]
    state: CoreState
    memory: FileMemory
    threads: tuple[CoreThread, ...]
    """The threads of the host, without registers of the GPU."""
    has_host: bool
    companion: str | None
    """A file that was not named, and that belongs to the others."""
    problems: tuple[DwarfGpuError, ...]


# --- The files ----------------------------------------------------------------------------------------------------


def _type_and_machine(path: str) -> tuple[int, int] | None:
    """Return the type and the machine (``ET_``, ``EM_``) of a 64-bit little-endian ELF file; None for other files."""
    try:
        with open_input(path) as file:
            head = file.read(20)
    except (DwarfGpuError, OSError, ValueError):
        return None
    return struct.unpack_from("<HH", head, 16) if len(head) == 20 and head[:6] == b"\x7fELF\x02\x01" else None


def has_gpu_state(paths: Sequence[str]) -> bool:
    """Return whether one of some files, or a file beside it, has the state of GPUs."""
    for path in map(without_part, paths):
        kind = _type_and_machine(path)
        if kind == (ET_CORE, EM_AMDGPU):
            return True
        if kind == (ET_CORE, EM_X86_64):
            image = _image(path)
            if _notes(image) or (len(paths) == 1 and _companion(path, image) is not None):
                return True
    return False


def is_about_waves(paths: Sequence[str], file: CodeObject | None) -> bool:
    """Return whether core files are asked about their waves: not with the program of a host that has no kernels."""
    part = part_of(paths)
    if part is not None:
        return part != HOST and has_gpu_state(paths)
    if file is not None and file.image.machine == EM_X86_64 and not file.has_embedded and len(paths) == 1:
        return _type_and_machine(without_part(paths[0])) == (ET_CORE, EM_AMDGPU)
    return has_gpu_state(paths)


def open_core_files(paths: Sequence[str]) -> CoreFiles:
    """Open the files of one crash, with the companion of a file of the GPU alone if it is beside it."""
    names = [without_part(path) for path in paths]
    images = [_image(name) for name in names]
    companion = None
    if len({image.machine for image in images}) == 1 and (
        images[0].machine == EM_AMDGPU or not any(map(_notes, images))
    ):
        companion = _companion(names[0], images[0])
        if companion is not None:
            names.append(companion)
            images.append(_image(companion))
    notes = [(name, note) for name, image in zip(names, images, strict=True) for note in _notes(image)]
    if not notes:
        files = ", ".join(names)
        message = f"{files}: no note has the state of GPUs, so it has no waves"
        raise MalformedFile("no_gpu_state", message, hint="a core file of the host alone has threads: name its program")
    if any(note != notes[0][1] for _name, note in notes):
        message = f"{notes[0][0]} and {notes[-1][0]} have different states of the GPUs: they are of different crashes"
        raise MalformedFile("different_states", message)
    state = read_note(notes[0][1])
    # The memory of the device is that of the GPU's file; a file of the host may have old copies of it.
    order = sorted(range(len(images)), key=lambda index: images[index].machine != EM_AMDGPU)
    stretches = [
        Stretch(segment.address, segment.file_size, index, segment.offset)
        for index in order
        for segment in images[index].segments
        if segment.type == PT_LOAD and segment.file_size
    ]
    memory = FileMemory([image.data for image in images], stretches)
    problems = [problem for image in images for problem in image.problems]
    problems += [problem for image in images for problem in _truncated(image)]
    hosts = [image for image in images if image.machine == EM_X86_64]
    problems += _mismatches(names, images)
    return CoreFiles(
        tuple(names), tuple(images), state, memory, _threads(hosts, problems), bool(hosts), companion, tuple(problems)
    )


def _image(path: str) -> Image:
    image = Image(map_file(path), name=path, path=path)
    if image.type != ET_CORE or image.address_size != 8 or image.byte_order != "little":
        raise MalformedFile("not_a_core", f"{path} is not a core file of a 64-bit process: it is {image.type_name}")
    if image.machine not in (EM_AMDGPU, EM_X86_64):
        message = f"{path}: core files of {image.machine_name} are not supported"
        raise MalformedFile("not_a_core", message, hint="use core files of an x86-64 process and of its GPUs")
    return image


def _notes(image: Image, owner: str = OWNER, kind: int = TYPE) -> list[bytes]:
    return [bytes(note.data) for note in image.notes() if (note.owner, note.type) == (owner, kind)]


def _truncated(image: Image) -> Iterable[DwarfGpuError]:
    size = len(image.data)
    cut = [
        segment for segment in image.segments if segment.type == PT_LOAD and segment.offset + segment.file_size > size
    ]
    if cut:
        missing = sum(min(segment.file_size, segment.offset + segment.file_size - size) for segment in cut)
        message = f"{image.name} ends before its memory: {missing:,} bytes from {cut[0].address:#x} on are missing"
        yield MalformedFile("truncated", message, hint="`ulimit -c` limits the size of core files")


def _threads(hosts: list[Image], problems: list[DwarfGpuError]) -> tuple[CoreThread, ...]:
    from dwarfgpu.objfile.elf.core import read_core

    threads: list[CoreThread] = []
    for image in hosts:
        try:
            threads += read_core(image).threads
        except DwarfGpuError as error:
            problems.append(error)
    return tuple(threads)


_DIGITS = re.compile(r"\d+")
_TIME_DIGITS = 10
"""A number in a name with so many digits may be a time, which differs between the files of one crash."""


def _companion(name: str, image: Image) -> str | None:
    """Return the other file of a crash, of the host or of the GPU, if it is beside this one."""
    folder, base = os.path.split(name)
    other = EM_X86_64 if image.machine == EM_AMDGPU else EM_AMDGPU
    pids = set() if other == EM_X86_64 else _pids(image)
    for candidate in _candidates(folder, base, pids):
        path = os.path.join(folder, candidate)
        if candidate == base or _type_and_machine(path) != (ET_CORE, other):
            continue
        try:
            found = _image(path)
        except DwarfGpuError:
            continue
        host, gpu = ((path, found), (name, image)) if other == EM_X86_64 else ((name, image), (path, found))
        if (other == EM_X86_64 or _notes(found)) and not _why_apart(*host, *gpu):
            return path
    return None


def _candidates(folder: str, base: str, pids: set[int]) -> list[str]:
    """Return the names that the other file of a crash may have, the likeliest first.

    ``core_pattern`` and ``HSA_COREDUMP_PATTERN`` give both; both have the number of the process in them, or no number.
    """
    own = _DIGITS.findall(base)
    numbers = {int(number) for number in own if len(number) < _TIME_DIGITS} | pids
    names = [base.removesuffix(".gpu") if base.endswith(".gpu") else f"{base}.gpu"]
    for number in sorted(numbers):
        names += [f"core.{number}", f"core.{number}.gpu", f"gpucore.{number}", f"gpucore.{number}.gpu"]
    near: list[tuple[int, str]] = []
    try:
        with os.scandir(folder or ".") as entries:
            for entry in islice(entries, MAX_NEIGHBOURS):
                found = _DIGITS.findall(entry.name)
                if not numbers.isdisjoint(map(int, found)):
                    times = [int(number) for number in found if len(number) >= _TIME_DIGITS]
                    ours = [int(number) for number in own if len(number) >= _TIME_DIGITS]
                    gap = min((abs(first - second) for first in times for second in ours), default=0)
                    near.append((gap, entry.name))
    except OSError:
        pass  # the names above may be found all the same
    return list(dict.fromkeys([*names, *(name for _gap, name in sorted(near)), "core"]))


def _mismatches(names: list[str], images: list[Image]) -> list[DwarfGpuError]:
    problems: list[DwarfGpuError] = []
    for host_name, host in zip(names, images, strict=True):
        for name, image in zip(names, images, strict=True):
            if host.machine == EM_X86_64 and image.machine == EM_AMDGPU:
                why = _why_apart(host_name, host, name, image)
                problems += [MalformedFile("other_crash", why)] if why else []
    return problems


def _why_apart(host_name: str, host: Image, name: str, image: Image) -> str | None:
    """Return why a file of the host and one of the GPU do not belong together, or None if they do."""
    ranges = [(segment.address, segment.memory_size) for segment in host.segments if segment.type == PT_LOAD]
    known = dict(ranges)
    own = [segment for segment in image.segments if segment.type == PT_LOAD and segment.memory_size]
    lost = [
        segment
        for segment in own
        if segment.address not in known
        and not any(start <= segment.address < start + size for start, size in known.items())
    ]
    if own and len(lost) == len(own):
        return f"{host_name} has no range for the memory of {name}: they are not of one crash"
    match = re.search(r"\.(\d+)(?:\.gpu)?$", name)
    pids = _pids(host)
    if match and pids and int(match[1]) not in pids and lost:
        return f"{host_name} is of process {min(pids)}, and {name} of {match[1]}"
    return None


def _pids(image: Image) -> set[int]:
    from dwarfgpu.objfile.elf.core import NT_PRSTATUS, PRSTATUS_PID

    return {
        int.from_bytes(note.data[PRSTATUS_PID : PRSTATUS_PID + 4], "little")
        for note in image.notes()
        if note.owner == "CORE" and note.type == NT_PRSTATUS and len(note.data) >= PRSTATUS_PID + 4
    }


# --- The waves ----------------------------------------------------------------------------------------------------


def open_core_waves(paths: Sequence[str], file: CodeObject | None = None, options: OpenOptions = USUAL) -> OpenedCore:
    """Open the files of one crash, read their waves and find their code."""
    files = open_core_files(paths)
    core = read_gpu_core(files.state, files.memory)
    if not files.has_host and not core.wave_count:
        message = f"{files.names[0]} is the part of the GPU alone, and does not have what its waves are read from"
        core.problems.insert(0, MissingContext("host_core", message, spec="", hint=HOW_TO_GET))
    opened_core = OpenedCore(files, core, file, options)
    opened_core.name_kernels()
    traps = own_traps(opened_core.loaded().codes)
    opened_core.problems[:0] = (*files.problems, *core.problems)
    for machine in core.machines:
        machine.traps = traps
        opened_core.problems += group_problems(machine)
    opened_core.problems += opened_core.outside()
    return opened_core


def choose(
    core: GpuCore, file: CodeObject | None, part: str | None, problems: Sequence[DwarfGpuError] = ()
) -> SavedGpu:
    """Return the machine that a question is about: the named one, the one of a file, or the only one."""
    machines = core.machines
    if not machines:
        raise no_waves(problems or core.problems)
    names = [machine.target.name.removeprefix("amdgcn-") for machine in machines]
    if part is not None:
        wanted = part.removeprefix("amdgcn-")
        fitting = [
            machine for machine, name in zip(machines, names, strict=True) if wanted in (name, name.partition("-")[0])
        ]
        if not fitting:
            raise UsageError(f"the core file has no waves of {part}", hint=f"it has waves of {', '.join(names)}")
    else:
        fitting = machines
        if len(machines) > 1 and file is not None and file.is_amdgpu and file.target.is_known:
            own = file.target.target.name
            fitting = [machine for machine in machines if machine.target.name == own] or [
                machine for machine in machines if machine.target.name.split("-")[1] == own.split("-")[1]
            ]
    if len(fitting) != 1:
        message = f"the core file has waves of {', '.join(names)}, and none is chosen"
        raise UsageError(message, hint=f"write --state CORE@{names[0]}")
    return fitting[0]


# --- Their code ---------------------------------------------------------------------------------------------------


@frozen
class FoundCode:
    """A code object of the process, and where its file was found."""

    entry: LoadedObject
    file: CodeObject | None
    where: str
    """How it was found: ``as named``, ``by its new path``, ``in the core file``, ``loaded image only``, ``FILE``,
    ``not needed``, ``not found`` and others."""


class OpenedCore:
    """A crash with its waves and its code objects, opened where they were found."""

    def __init__(self, files: CoreFiles, core: GpuCore, file: CodeObject | None, options: OpenOptions) -> None:
        self.files = files
        self.core = core
        self.options = options
        self.problems: list[DwarfGpuError] = []
        self._images: dict[int, Image | None] = {}
        self._given = file if file is not None and file.is_amdgpu else None
        self._codes: dict[int, LoadedCode | None] = {}
        self._arguments = self._read_arguments()
        chosen = None if self._given is None else self._entry_of(self._given)
        needed = self._needed()
        self.found = [
            self._find(entry, given=index == chosen)
            if index in needed or index == chosen
            else FoundCode(entry, None, "not needed")
            for index, entry in enumerate(core.objects)
        ]
        if self._given is not None and chosen is None:
            self._add_given(self._given)
        lost = [problem for problem in self.problems if problem.kind == "code_object"]
        if len(lost) > MAX_NAMED:
            dropped = {id(problem) for problem in lost[MAX_NAMED:]}
            self.problems = [problem for problem in self.problems if id(problem) not in dropped]
            message = f"{len(dropped)} other code objects were not found either"
            self.problems.append(MissingContext("code_object", message, spec="", hint="`core info --json` names all"))

    def _read_arguments(self) -> dict[int, Arguments]:
        """Return the names of arguments, by the addresses of code objects that do not have them."""
        found: dict[int, Arguments] = {}
        for data in (data for image in self.files.images for data in _notes(image, *ARGUMENTS)):
            try:
                found |= read_arguments(data)
            except DwarfGpuError as error:
                self.problems.append(error)
        return found

    def _needed(self) -> set[int]:
        """Return which code objects are opened: all, or of very many those that a wave or a kernel is in."""
        entries = self.core.objects
        if len(entries) <= MAX_OPENED:
            return set(range(len(entries)))
        from bisect import bisect_right

        order = sorted(range(len(entries)), key=lambda index: entries[index].address)
        starts = [entries[index].address for index in order]
        addresses = {packet.kernel_object for packet in self.core.packets if packet.kernel_object}
        for machine in self.core.machines:
            addresses |= set(machine.columns.pcs) if machine.columns is not None else set()
        return {order[at - 1] for address in addresses if (at := bisect_right(starts, address))}

    # --- One code object ------------------------------------------------------------------------------------------

    def memory_image(self, entry: LoadedObject) -> Image | None:
        """Return the image that is loaded at the address of a code object, as far as the files have it."""
        if entry.address not in self._images:
            self._images[entry.address] = image_in_memory(self.core.memory, entry.address, entry.uri)
        return self._images[entry.address]

    def _find(self, entry: LoadedObject, *, given: bool) -> FoundCode:
        if given and self._given is not None:
            return FoundCode(entry, self._given, "FILE")
        place = memory_range(entry.uri)
        if place is not None:
            address, size = place
            data = self.core.memory.read(address, size) if size <= MAX_CODE else None
            if data is not None:
                try:
                    code = CodeObject(Image(data, name=entry.uri))
                    if entry.address in self._arguments:
                        code.kernels = code.kernels.with_arguments(self._arguments[entry.address])
                    return FoundCode(entry, code, "in the core file")
                except DwarfGpuError as error:
                    self.problems.append(error)
        elif entry.uri:
            for where, name in self._places(entry):
                file = self._open(entry, name)
                if file is not None:
                    return FoundCode(entry, file, where)
        image = self.memory_image(entry)
        what = "has no name" if not entry.uri else f"is {entry.uri}, which was not found"
        if image is not None:
            message = f"the code object at {entry.address:#x} {what}: only the code in memory is known"
            hint = "put its file next to the core file, or name it as FILE"
            self.problems.append(MissingContext("code_object", message, spec="", hint=hint))
            return FoundCode(entry, CodeObject(image), "loaded image only")
        message = f"the code object at {entry.address:#x} {what}, and its memory is in none of the files"
        start, size = place or (entry.address, 1)
        if not any(low < start + size and start < high for low, high in self.core.memory.cut):
            self.problems.append(MissingContext("code_object", message, spec=""))
        return FoundCode(entry, None, "not found")

    def _places(self, entry: LoadedObject) -> Iterable[tuple[str, str]]:
        """Yield where the file of a code object may be: how it would be found there, and what to open."""
        try:
            place = parse_place(entry.uri)
        except DwarfGpuError:
            yield "as named", entry.uri
            return
        for path in places_of(place.path, self.options.moved):
            if path == place.path:
                yield "as named", entry.uri
            else:
                yield "by its new path", evolve(place, path=path).name
        base = os.path.basename(place.path)
        folders = dict.fromkeys(os.path.dirname(name) or "." for name in self.files.names)
        for folder in (*folders, "."):
            yield "by its name, in another folder", evolve(place, path=os.path.join(folder, base)).name
        image = self.memory_image(entry)
        if image is None or image.build_id is None:
            return
        for folder in folders:
            for name in sorted(os.listdir(folder))[:MAX_NEIGHBOURS]:
                path = os.path.join(folder, name)
                kind = _type_and_machine(path)
                if kind is not None and kind[0] != ET_CORE and kind[1] == EM_AMDGPU:
                    yield "by its build ID, next to the core file", path

    def _open(self, entry: LoadedObject, name: str) -> CodeObject | None:
        try:
            file = opened(name)
        except DwarfGpuError:
            return None
        if file.image.machine != EM_AMDGPU:
            return None
        why = self.differs(file, entry)
        if why is not None:
            self.problems.append(
                MalformedFile("other_code_object", f"{name} is not the code object at {entry.address:#x}: {why}")
            )
            return None
        return file

    def differs(self, file: CodeObject, entry: LoadedObject) -> str | None:
        """Return why a file is not what is loaded at an address; None if it may be."""
        return identifies(file.image, entry.address, self.core.memory, self.memory_image(entry))

    def _entry_of(self, file: CodeObject) -> int | None:
        """Return which code object of the process the user's file is: by its contents, or by its name."""
        entries = self.core.objects
        fitting = [index for index, entry in enumerate(entries) if self.differs(file, entry) is None]
        if fitting:
            base = os.path.basename(file.image.path or "")
            named = [index for index in fitting if base and base in entries[index].uri]
            return (named or fitting)[0]
        if entries and self.options.force:
            return 0
        if entries:
            names = ", ".join(entry.uri or hex(entry.address) for entry in entries[:4])
            message = f"{file.name} is not among the {len(entries)} code objects of the core file"
            hint = f"they are {names}{', ...' if len(entries) > 4 else ''}; --force uses it as the first"
            raise UsageError(message, hint=hint)
        return None

    def _add_given(self, file: CodeObject) -> None:
        """Use the user's file where the list of code objects is not known: it is looked for below the pcs of waves."""
        bias = self._bias_of(file)
        if bias is None:
            self.problems.append(
                MissingContext(
                    "code_object",
                    f"where {file.name} was loaded is not known: its frames are at its own addresses",
                    spec="",
                )
            )
        self.found.append(FoundCode(LoadedObject(bias or 0, ""), file, "FILE"))

    def _bias_of(self, file: CodeObject) -> int | None:
        """Return where a file is loaded, by the kernel descriptors that packets name."""
        descriptors = [symbol for symbol in file.image.symbols() if symbol.name.endswith(".kd")]
        for packet in self.core.packets:
            for symbol in descriptors if packet.kernel_object else ():
                bias = (packet.kernel_object or 0) - symbol.value
                if bias >= 0 and bias % 4096 == 0 and identifies(file.image, bias, self.core.memory, None) is None:
                    return bias
        return None

    def outside(self) -> Iterator[DwarfGpuError]:
        """Yield what is said of waves that are in no code object: the sign of a layout that is not the one in use."""
        codes = [code for index in range(len(self.found)) if (code := self._code(index)) is not None]
        if len(codes) < len(self.found):
            return  # they may be in one that was not found
        for machine in self.core.machines:
            columns = machine.columns
            if columns is None or not codes:
                continue
            strange = {pc for pc in set(columns.pcs) if not any(code.holds(pc) for code in codes)}
            pairs = zip(columns.pcs, columns.pc_known, strict=True)
            count = sum(pc in strange for pc, known in pairs if known) if strange else 0
            if count:
                message = f"{count} waves of {machine.target.name} are at addresses that are in no code object"
                yield MalformedFile("bad_pc", message)

    # --- All ------------------------------------------------------------------------------------------------------

    def loaded(self) -> Loaded:
        """Return the code objects that were found, the user's file first."""
        order = sorted(range(len(self.found)), key=lambda index: self.found[index].where != "FILE")
        codes = [code for index in order if (code := self._code(index)) is not None]
        if not codes:
            codes = [LoadedCode(CodeObject(empty_image()), repair=self.options.repair)]
        return Loaded(codes)

    def _code(self, index: int) -> LoadedCode | None:
        found = self.found[index]
        if index not in self._codes and found.file is not None:
            self._codes[index] = None
            try:
                self._codes[index] = self.options.code(found.file, found.entry.address)
            except DwarfGpuError as error:
                self.problems.append(error)
        return self._codes.get(index)

    def name_kernels(self) -> None:
        """Give dispatches the names of their kernels."""
        for index, packet in enumerate(self.core.packets):
            if packet.kernel_object:
                name = self.kernel_at(packet.kernel_object)
                if name is not None:
                    self.core.dispatches[index] = evolve(self.core.dispatches[index], kernel=name)

    def kernel_at(self, address: int) -> str | None:
        """Return the name of the kernel whose descriptor is at an address."""
        for found in self.found:
            if found.file is None:
                continue
            inside = address - found.entry.address
            image = found.file.image
            if not any(part.address <= inside < part.address + part.memory_size for part in image.segments):
                continue
            symbol = image.symbol_at(inside)
            if symbol is None or not symbol.name.endswith(".kd") or symbol.value != inside:
                continue
            for kernel in found.file.kernels.kernels:
                if kernel.symbol is not None and kernel.symbol.name == symbol.name:
                    return kernel.name
            return symbol.name.removesuffix(".kd")
        return None


# --- The waves as a stopped machine -------------------------------------------------------------------------------


def open_gpu_stopped(paths: Sequence[str], file: CodeObject | None = None, options: OpenOptions = USUAL) -> Stopped:
    """Open the waves of GPU core files; without a file with the code that the process had loaded."""
    opened_core = open_core_waves(paths, file, options)
    machine, files = choose(opened_core.core, file, part_of(paths), opened_core.problems), opened_core.files
    stopped = Stopped(machine, opened_core.loaded(), tuple(opened_core.problems), name=" and ".join(files.names))
    host = next((image.name for image in files.images if files.threads and image.machine == EM_X86_64), None)
    stopped.notes = tuple(_notes_of(opened_core, machine, host))
    if host is not None:
        stopped.beside = f"{host}@{HOST}", OpenOptions(repair=options.repair, moved=options.moved)
    return stopped


def _notes_of(opened_core: OpenedCore, machine: SavedGpu, host: str | None) -> Iterator[str]:
    files = opened_core.files
    if files.companion is not None:
        yield f"{files.companion} belongs to it, and is used as well"
    for other in opened_core.core.machines:
        if other is not machine:
            name = other.target.name.removeprefix("amdgcn-")
            yield f"there are {other.wave_count} waves of {name} as well: `core {files.names[0]}@{name}`"
    if host is not None:
        count = f"{len(files.threads)} thread{'' if len(files.threads) == 1 else 's'}"
        yield f"the host has {count}: `info threads` lists them, `core {host}@host` is about them"
