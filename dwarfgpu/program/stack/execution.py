"""What all frames of a program share: its code, and the machine that executes it, if there is one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dwarfgpu.backends.protocol import Backend, Capabilities, memory_unavailable, register_unavailable
from dwarfgpu.expr import locations
from dwarfgpu.expr.partial_frame import LoneFrame, known_register
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.storages import Register
from dwarfgpu.objfile.elf.header import SHT_NOBITS
from dwarfgpu.program.language.names import Names
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.source_files import SourceFiles
    from dwarfgpu.program.language.history import Remembered
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister


class Execution:
    """The files of code, their types and names, and the machine that executes them, if there is one."""

    def __init__(
        self, loaded: Loaded, target: Target, backend: Backend | None = None, rules: Rules | None = None
    ) -> None:
        self.loaded = loaded
        self.target = target
        self.backend: Backend = FileContents(loaded, target) if backend is None else backend
        self.rules = rules or PRESETS[target.default_rules]
        self.types = Types()
        self.names = Names(self)
        self.remembered: Remembered | None = None
        """What ``$1`` and ``$foo`` are, where somebody keeps values."""

    @cached_property
    def sources(self) -> SourceFiles:
        """The source files of the code."""
        from dwarfgpu.program.code.source_files import SourceFiles

        return SourceFiles(self)

    def with_machine(self, backend: Backend) -> Execution:
        """The same code with another machine, or with the same one later: what is known of the code is kept."""
        found = Execution(self.loaded, self.target, backend, self.rules)
        found.types, found.names = self.types, self.names
        return found

    def symbol_at(self, address: int) -> str | None:
        """The symbol that an address belongs to, and how far behind it: ``name+4``."""
        for code in self.loaded.codes:
            inside = code.in_file(address)
            found = code.file.symbol_image.symbol_at(inside)
            if found is None or (not found.size and found.type in ("OBJECT", "NOTYPE")):
                continue
            offset = inside - found.value
            return f"{found.demangled}+{offset}" if offset else found.demangled
        return None

    def code_of(self, unit: Unit, likely: LoadedCode | None = None) -> LoadedCode:
        """The loaded file that a unit belongs to; a split unit belongs to the file with its skeleton."""
        if likely is not None and likely.file.has_dwarf and likely.file.dwarf is unit.dwarf:
            return likely
        codes = self.loaded.codes
        for code in codes:
            if code.file.has_dwarf and code.file.dwarf is unit.dwarf:
                return code
        return likely or codes[0]


# --- A file without a machine -------------------------------------------------------------------------

NO_STATE = "there is no machine state"
HINT = "attach a snapshot or a core file: --state on the command line"


class FileContents(Backend):
    """What the sections of files hold before the program runs."""

    capabilities = Capabilities(
        "file",
        "the sections of code objects, as they are before the program runs",
        many_waves=False,
        writes="are refused",
        unknown="registers, and memory that is in no section; reading them is an error",
        gathered="slot after slot",
        instances=False,
    )

    def __init__(self, loaded: Loaded, target: Target) -> None:
        self.loaded = loaded
        self.target = target

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        if space.name in (self.target.default_space.name, "global", "constant"):
            for code in self.loaded.codes:
                inside = code.in_file(address)
                for section in code.file.image.sections:
                    start = inside - section.address
                    if section.is_allocated and section.size and 0 <= start <= section.size - size:
                        if section.header.type == SHT_NOBITS:
                            return bytes(size)
                        return bytes(section.data[start : start + size])
        raise memory_unavailable(space, address, size, NO_STATE)

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        error = register_unavailable(register, NO_STATE)
        error.hint = HINT
        raise error


class FileFrame(LoneFrame):
    """A frame of which the function is known and nothing else: registers are where they are in an innermost frame."""

    __slots__ = ("target",)
    why = f": {NO_STATE}"
    hint = HINT

    def __init__(self, target: Target) -> None:
        self.target = target

    def register(self, number: int, lanes: LaneSet) -> Location:
        return locations.at(Register(known_register(self.target, self.target.register(number), number)))
