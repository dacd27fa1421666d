"""A process inside GDB: the files of code that it has loaded, each opened when it is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Location, is_undefined
from dwarfgpu.expr.rules import PRESETS, Rules
from dwarfgpu.immutable import evolve
from dwarfgpu.objfile.elf.header import PT_LOAD, read_header, read_segments
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.program.code.code_object import OFF, CodeObject, Policy, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.states.stopped import Stopped

if TYPE_CHECKING:
    from dwarfgpu.machines.gdb.backend import GdbBackend
    from dwarfgpu.machines.gdb.records import LoadedFile
    from dwarfgpu.targets.target import Target, TargetRegister


IN_MEMORY = "system-supplied DSO at "
"""How GDB calls code that the kernel has put into a process: the address of its ELF header follows."""
_URI_IN_MEMORY = "memory://"
"""A code object URI of code that no file has (AMDGPU usage, "Loaded Code Object Path Uniform Resource Identifier")."""
MAX_IN_MEMORY = 1 << 28
HOST_DIALECT = "llvm-user"
"""What expressions of host programs are read as: GNU's, and what compilers for heterogeneous systems add to it."""
_PAGE = 1 << 12


def rules_of(target: Target) -> Rules:
    """Return the rules for the code of a target. Host programs use their dialect: DWARF 5 with extensions.

    An operation of the extension may then follow a register location; whatever DWARF 5 allows keeps its
    meaning.
    """
    preset = PRESETS[target.default_rules]
    return evolve(preset, location_ends_expression=False) if preset.location_ends_expression else preset


class LiveCode(LoadedCode):
    """A file of code in a process, of which only the addresses are known until it is opened."""

    def __init__(
        self,
        place: LoadedFile,
        open_file: Callable[[LoadedFile], CodeObject],
        *,
        dialect: str | None = None,
        repair: Policy = OFF,
    ) -> None:
        # what `LoadedCode` has is there when it is first asked for, see `__getattr__`
        self.name = place.name
        self._ranges = tuple(place.code)
        self._place = place
        self._open = open_file
        self._options: dict[str, Any] = {"dialect": dialect, "repair": repair}
        self._failure: DwarfGpuError | None = None

    def __repr__(self) -> str:
        return f"LiveCode({self.name})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.open()
        return self.__dict__[name]

    def open(self) -> None:
        """Open the file. What went wrong once goes wrong again."""
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        try:
            file = self._open(self._place)
            section = file.image.section(self._place.section)
            if section is None:
                message = f"{self.name} has no section {self._place.section}: it is not the file of the process"
                raise MalformedFile("other_file", message)
            options = self._options
            if options["dialect"] is None and file.target.target.default_dialect == "gnu":
                options = {**options, "dialect": HOST_DIALECT}
            LoadedCode.__init__(self, file, self._place.start - section.address, **options)
        except DwarfGpuError as error:
            self._failure = error
            raise

    @property
    def is_open(self) -> bool:
        return "file" in self.__dict__

    def holds(self, pc: int) -> bool:
        return any(low <= pc < high for low, high in self._ranges)


class LiveLoaded(Loaded):
    """The code of a process. A file that cannot be opened is as if it were not there."""

    def __init__(self, codes: Sequence[LiveCode]) -> None:
        Loaded.__init__(self, ())
        self._all = list(codes)
        self.codes = _Opening(self)
        self.failures: list[DwarfGpuError] = []

    @property
    def opened_codes(self) -> tuple[LoadedCode, ...]:
        """The files that were opened."""
        return tuple(code for code in self._all if code.is_open)

    def at(self, pc: int) -> LoadedCode | None:
        for code in self.all_codes:
            if code.holds(pc) and self.opens(code):
                return code
        return None

    @property
    def all_codes(self) -> tuple[LiveCode, ...]:
        """All files, those that were never opened too."""
        return tuple(self._all)

    def opens(self, code: LiveCode) -> bool:
        """Return whether a file can be opened, and is now."""
        if code.is_open:
            return True
        try:
            code.open()
        except DwarfGpuError as error:
            self.failures.append(error)
            self._all.remove(code)
            return False
        return True


class _Opening(Sequence[LoadedCode]):
    """The files of a process that can be opened; each is opened when the iteration reaches it."""

    def __init__(self, loaded: LiveLoaded) -> None:
        self._loaded = loaded

    def __iter__(self) -> Iterator[LoadedCode]:
        return iter(code for code in self._loaded.all_codes if self._loaded.opens(code))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> LoadedCode: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[LoadedCode]: ...

    def __getitem__(self, index: int | slice) -> LoadedCode | Sequence[LoadedCode]:
        if index == 0:
            first = next(iter(self), None)
            if first is None:
                raise MissingContext("code", "no file with code of the process can be opened")
            return first
        return tuple(self)[index]


class LiveStopped(Stopped):
    """A process that is stopped in a debugger."""

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        loaded: Any = self.loaded
        problems = [*self.found, *loaded.failures]
        return (*problems, *(error for code in loaded.opened_codes for error in code.file.problems))


class Live:
    """The processes that a program has been: files that were opened are kept for the next one."""

    def __init__(self, main: CodeObject, *, dialect: str | None = None, repair: Policy = OFF) -> None:
        self.main = main
        self._options: dict[str, Any] = {"dialect": dialect, "repair": repair}
        self._codes: dict[Any, LiveCode] = {}
        self._loaded = LiveLoaded(())
        self._seen: int | None = None
        self._machine: GdbBackend | None = None

    def stopped(self, machine: GdbBackend) -> LiveStopped:
        """Return a stopped process with its code, which is the same as the last time if no file was loaded since."""
        self._machine = machine
        if self._seen != machine.process.file_changes:
            self._load(machine.process.files(), machine.process.file_changes)
        return LiveStopped(machine, self._loaded, name="the process")

    def _load(self, files: Sequence[LoadedFile], changes: int) -> None:
        kept: dict[Any, LiveCode] = {}
        for file in files:
            key = file, stamp_of_file(file.name, changes)
            kept[key] = self._codes.get(key) or LiveCode(file, self._opened, **self._options)
        if list(kept) != list(self._codes) or self._seen is None:
            codes = list(kept.values())
            self._loaded = LiveLoaded(codes)
            self._loaded.executable = next((code for code in codes if code.name == self.main.name), None)
        self._codes, self._seen = kept, changes

    def _opened(self, place: LoadedFile) -> CodeObject:
        if self.main.name == place.name:
            self.main.debug_path = place.debug
            return self.main
        return open_place(place, self._read)

    def _read(self, address: int, size: int) -> bytes:
        machine: Any = self._machine
        data: bytes = machine.read_memory(machine.target.default_space, address, size, 0, None)
        return data


def open_place(place: LoadedFile, memory: Callable[[int, int], bytes]) -> CodeObject:
    """Open a file of code that a process has loaded; ``memory`` reads the process, for code that is in no file."""
    if place.name.startswith((IN_MEMORY, _URI_IN_MEMORY)):
        return CodeObject(Image(_in_memory(place.name, memory), name=place.name))
    file = opened(place.name)
    file.debug_path = place.debug
    return file


def stamp_of_file(name: str, changes: int) -> Any:
    """Return what changes when a file is written anew. Code in memory may change whenever a file is loaded."""
    try:
        status = os.stat(name.removeprefix("file://").partition("#")[0])
    except (OSError, ValueError):
        return changes
    return status.st_mtime_ns, status.st_size, status.st_ino


def _in_memory(name: str, memory: Callable[[int, int], bytes]) -> bytes:
    """Read the bytes of code that only the memory of a process has."""
    if name.startswith(IN_MEMORY):
        address = int(name.removeprefix(IN_MEMORY), 16)
        page = memory(address, _PAGE)
        header = read_header(memoryview(page), name)
        segments, _problems = read_segments(memoryview(page), header, None, name)
        ends = [segment.offset + segment.file_size for segment in segments if segment.type == PT_LOAD]
        size = max([header.section_offset + header.section_stride * header.section_count, *ends])
    else:
        fields = dict(field.partition("=")[::2] for field in name.partition("#")[2].split("&"))
        try:
            address, size = int(fields["offset"], 0), int(fields["size"], 0)
        except (KeyError, ValueError):
            raise MalformedFile("bad_uri", f"{name} does not say where the code is") from None
    if not 0 < size <= MAX_IN_MEMORY:
        raise MissingContext("code", f"{name} would have {size} bytes")
    return memory(address, size)


# --- One call frame and its caller --------------------------------------------------------------------------------


class Unwound:
    """The innermost frame of a machine, and what its registers are in its caller."""

    def __init__(self, stopped: Stopped) -> None:
        self.machine: Any = stopped.machine
        target = self.machine.target
        self.byte_order = target.byte_order
        counter = None if target.program_counter is None else target.register(target.program_counter)
        self.program_counter = None if counter is None else counter.name
        activations = stopped.stack(0).activations
        self._frame, self._caller = activations.top, activations.returns_to(0)
        self._lanes = activations.thread.lanes

    @property
    def start(self) -> int:
        """The first address that the call frame information of the frame is about."""
        return self._frame.information.start

    @property
    def cfa(self) -> int:
        """The canonical frame address."""
        place: Any = self._frame.cfa(self._lanes).places[0]
        return int(place.bit_offset) // 8

    @property
    def caller_pc(self) -> int | None:
        """The address where the caller goes on, if it is known."""
        return None if self._caller is None else self._caller.pc

    def _location(self, register: TargetRegister) -> Location | None:
        if self._caller is None:
            return None
        try:
            location = self._caller.register(register.number, self._lanes)
        except DwarfGpuError:
            return None
        return None if is_undefined(location) else location

    def is_same(self, register: TargetRegister) -> bool:
        """Return whether a register has in the caller what it has in the frame."""
        location = self._location(register)
        place: Any = None if location is None else location.single
        return (
            place is not None
            and type(place.storage) is locations.Register
            and place.storage.register == register
            and not place.bit_offset
        )

    def register(self, register: TargetRegister) -> int | None:
        """Return the bits of a register in the caller; None where some of them have no value."""
        location = self._location(register)
        if location is None:
            return None
        try:
            reading = self._frame.thread.accessor.read(location, register.bit_size)
        except DwarfGpuError:
            return None
        return None if reading.undefined else int(reading.bits)
