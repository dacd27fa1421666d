"""A described machine: one wave, of which some registers and some memory are described.

What is not described is not available. An address space that is only a view of others has no memory of its own:
what is described in one view can be read through every other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.machines.columns import RegisterFile
from dwarfgpu.machines.machine import NO_PLACES, NONE, Machine
from dwarfgpu.machines.memory import Region
from dwarfgpu.machines.protocol import Capabilities, register_unavailable
from dwarfgpu.machines.typed_contents import register_bytes

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.machines.typed_contents import Contents
    from dwarfgpu.targets.target import Target, TargetRegister

__all__ = ["DescribedMachine", "Region"]

MAX_REGISTER_BYTES = 1 << 16

_PLACES = {name: cells.with_rows(1) for name, cells in NO_PLACES.items()}
"""The place of the wave: in a work-group, so that it has local memory, but in no dispatch."""
_PLACES["dispatch"] = NO_PLACES["dispatch"].with_rows(1, NONE.to_bytes(8, "little", signed=True))


class DescribedMachine(Machine):
    """One wave: registers by DWARF number, and regions of memory.

    A register of a vector unit (``lane_bits``) is given as a whole, or as one number a lane; the lanes that the list
    does not reach are 0. Where a target has no lanes in its registers, a list gives each lane a copy of its own.

    >>> import dwarfgpu as dg
    >>> gpu = dg.target("gfx90a")
    >>> machine = dg.DescribedMachine(gpu, {2561: [100, 101, 102]})
    >>> machine.read_register(gpu.register(2561), 0, None)[:12].hex(" ", 4)
    '64000000 65000000 66000000'
    """

    capabilities = Capabilities(
        name="described",
        summary="one wave whose registers and memory are described",
        many_waves=False,
        writes="changes the description",
        unknown="everything else",
        gathered="array operations",
        instances=False,
        lane_owned=True,
    )

    def __init__(
        self, target: Target, registers: Mapping[int, Contents] | None = None, memory: Sequence[Region] = ()
    ) -> None:
        Machine.__init__(self, target)
        self.ids = ["0"]
        self.places = _PLACES
        self._lane_owned: set[int] = set()
        """The registers of which each lane has its own: the rows of their files are lanes."""
        for number, contents in (registers or {}).items():
            self.describe_register(number, contents)
        for region in memory:
            self.describe_memory(region)

    def register(self, number: int) -> TargetRegister | None:
        """Return the register with a DWARF number, in the size in which it is described."""
        file = self._file_of.get(number)
        return self.target.register(number) if file is None else file.registers[file.positions[number]]

    def describe_register(self, number: int, contents: Contents) -> None:
        """Set the contents of a register. Numbers may be signed or unsigned, and must fit."""
        register = self.target.register(number)
        if register is None:
            raise UsageError(f"{self.target.name} has no register {number}")
        order = self.target.byte_order
        lane_owned = False
        if self.target.name == "generic" and isinstance(contents, bytes):  # whose registers have any size
            if not 0 < len(contents) <= MAX_REGISTER_BYTES:
                raise UsageError(f"a register of {len(contents)} bytes is outside 1 to {MAX_REGISTER_BYTES}")
            register = evolve(register, bit_size=8 * len(contents))
        if isinstance(contents, int | bytes) or register.lane_bits or self.target.lane_count > 1:
            rows = [register_bytes(contents, register, order)]
        else:
            rows = [register_bytes(value or 0, register, order) for value in contents]
            lane_owned = True
        before = self._file_of.get(number)
        if before is not None:
            self.files.remove(before)
        self._file_of[number] = RegisterFile.of_rows(register, rows, order)
        self.files.append(self._file_of[number])
        self.changes += 1
        (self._lane_owned.add if lane_owned else self._lane_owned.discard)(number)

    def describe_memory(self, region: Region) -> None:
        """Set the contents of some memory. Regions may overlap where they agree."""
        self.memory.describe(region)

    # --- Registers with a part for each lane ----------------------------------------------------------------------

    def lane_owned(self, register: TargetRegister) -> bool:
        return register.number in self._lane_owned

    def _row(self, register: TargetRegister, wave: int, lane: int | None) -> int:
        if register.number not in self._lane_owned:
            return super()._row(register, wave, lane) if wave else 0
        if lane is None:
            message = f"each lane has its own register {register.name}, and there is no current lane"
            raise MissingContext("lane", message)
        if lane >= self._file_of[register.number].row_count:
            raise register_unavailable(register, f"lane {lane} has none that is described")
        return lane

    def _rows(self, register: TargetRegister, waves: Bits, lanes: Bits | None) -> Bits:
        if register.number not in self._lane_owned:
            return waves
        return -1 if lanes is None else lanes
