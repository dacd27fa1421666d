"""A file without a machine: its sections are the memory, and registers are places without contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.backends.protocol import Backend, Capabilities, memory_unavailable, register_unavailable
from dwarfgpu.expr import locations
from dwarfgpu.expr.lone_frame import LoneFrame, known_register
from dwarfgpu.expr.storages import Register
from dwarfgpu.objfile.elf.header import SHT_NOBITS

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Location
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


class FileFrame(LoneFrame):
    """A frame of which the function is known and nothing else: registers are where they are in an innermost frame."""

    __slots__ = ("target",)
    why = f": {NO_STATE}"
    hint = HINT

    def __init__(self, target: Target) -> None:
        self.target = target

    def register(self, number: int, lanes: LaneSet) -> Location:
        return locations.at(Register(known_register(self.target, self.target.register(number), number)))
