"""One call frame and its caller: what another debugger is told that unwinds frame after frame itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import storages
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.program.machines.stack import Stack

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.program.machines.stopped import Stopped
    from dwarfgpu.targets.target import Register


class Unwound:
    """The innermost frame of a machine, and what its registers are in its caller."""

    def __init__(self, stopped: Stopped) -> None:
        self.machine: Any = stopped.machine
        target = self.machine.target
        self.byte_order = target.byte_order
        counter = None if target.program_counter is None else target.register(target.program_counter)
        self.program_counter = None if counter is None else counter.name
        stack = Stack(self.machine, stopped.loaded)
        self._frame, self._caller = stack.top, stack.at(1)
        self._lanes = self._frame.activation.thread.lanes

    @property
    def start(self) -> int:
        """The first address that the call frame information of the frame is about."""
        return self._frame.activation.information.start

    @property
    def cfa(self) -> int:
        """The canonical frame address."""
        place: Any = self._frame.cfa(self._lanes).places[0]
        return int(place.bit_offset) // 8

    @property
    def caller_pc(self) -> int | None:
        """Where the caller goes on; None where there is none."""
        return None if self._caller is None else self._caller.pc

    def _location(self, register: Register) -> Location | None:
        if self._caller is None:
            return None
        try:
            found = self._caller.register(register.number, self._lanes)
        except DwarfGpuError:
            return None
        return None if is_undefined(found) else found

    def is_same(self, register: Register) -> bool:
        """Whether a register has in the caller what it has in the frame."""
        found = self._location(register)
        place: Any = None if found is None else found.single
        return (
            place is not None
            and type(place.storage) is storages.Register
            and place.storage.register == register
            and not place.bit_offset
        )

    def register(self, register: Register) -> int | None:
        """The bits of a register in the caller; None where some of them have no value."""
        found = self._location(register)
        if found is None:
            return None
        try:
            reading = self._frame.activation.thread.accessor.read(found, register.bit_size)
        except DwarfGpuError:
            return None
        return None if reading.undefined else int(reading.bits)
