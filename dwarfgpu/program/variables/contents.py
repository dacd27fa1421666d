"""A file without a machine: its sections are the memory, and registers are places without contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.backends.protocol import Backend, Capabilities, memory_unavailable, register_unavailable
from dwarfgpu.errors import IllFormed, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Register
from dwarfgpu.objfile.elf.header import SHT_NOBITS

if TYPE_CHECKING:
    from dwarfgpu.expr.context import DieReference, FrameInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.machines.loaded import Loaded
    from dwarfgpu.targets.target import AddressSpace, Target
    from dwarfgpu.targets.target import Register as TargetRegister

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


class FileFrame:
    """A frame of which the function is known and nothing else: registers are where they are in an innermost frame."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = self.target.register(number)
        if register is None:
            message = f"{self.target.name} has no register with the DWARF number {number}"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.4.4 (2)")
        return locations.at(Register(register))

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        _unknown("the value that a register had on entry")

    def cfa(self, lanes: LaneSet) -> Location:
        _unknown("the Canonical Frame Address")

    def frame_base(self, lanes: LaneSet) -> Location:
        _unknown("the frame base of the subprogram")

    def caller(self) -> FrameInfo:
        _unknown("the frame that called this one")

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        return None

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        _unknown("the value of a parameter at the call site")

    def thread_local(self, offset: int, lanes: LaneSet) -> Location:
        _unknown("where the thread has its thread-local storage")


def _unknown(what: str) -> NoReturn:
    raise MissingContext("frame", f"{what} is not known: {NO_STATE}", hint=HINT)
