"""What the registers of a frame hold: of callers what the unwinder finds, where something was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.locations import is_undefined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.targets.target import Register

NOT_SAVED, UNAVAILABLE = "not saved", "unavailable"


@frozen
class Contents:
    """What a register holds, as a pattern; ``undefined`` has the bits of which nothing is known."""

    register: Register
    bits: int = 0
    undefined: int = 0
    missing: str = ""
    """Why nothing is known: ``not saved``, ``unavailable``, or what went wrong."""

    def elements(self) -> list[int | None]:
        """Of a vector register what each lane has, None where that is not known; of any other the whole."""
        size = self.register.lane_bits or self.register.bit_size
        mask = (1 << size) - 1
        return [
            None if self.missing or self.undefined >> shift & mask else self.bits >> shift & mask
            for shift in range(0, self.register.bit_size, size)
        ]


def registers_of(frame: Frame) -> Iterator[Register]:
    """The registers of the target, by number; behind them those without a DWARF number."""
    yield from frame.target.registers()
    for family in frame.target.unnumbered:
        yield from (family.register(family.first + position) for position in range(family.count))


def contents(frame: Frame, register: Register) -> Contents:
    """What a register holds in a frame."""
    physical = frame.physical
    if physical is None:
        raise UsageError("The program has no registers now.", kind="no_machine")
    if register.number == frame.target.program_counter:
        return Contents(register, physical.pc)
    thread = physical.activation.thread
    order = frame.target.byte_order
    try:
        if register.number < 0:  # no call frame information can name it
            data = thread.backend.read_register(register, physical.stack.wave, None)
            if physical.level:
                return Contents(register, missing=NOT_SAVED)
            return Contents(register, int.from_bytes(data, order))
        location = physical.register(register.number, thread.lanes)
        if is_undefined(location):
            return Contents(register, missing=NOT_SAVED)
        reading = thread.accessor.read(location, register.bit_size)
    except DwarfGpuError as error:
        is_known = error.kind in ("register_unavailable", "memory_unavailable")
        return Contents(register, missing=UNAVAILABLE if is_known else f"error: {error.message}")
    undefined = int(reading.undefined)
    if undefined == (1 << register.bit_size) - 1:
        return Contents(register, missing=NOT_SAVED)
    return Contents(register, int(reading.bits), undefined)
