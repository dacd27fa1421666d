"""The contents of registers in a frame: of the one that executes, and what the frame information says of callers."""

from __future__ import annotations

from collections.abc import Iterator

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.frame import Frame, no_registers
from dwarfgpu.targets.target import TargetRegister

NOT_SAVED, UNAVAILABLE = "not saved", "unavailable"


@frozen
class RegisterContents:
    """What a register holds, as a pattern; ``undefined`` has the bits of which nothing is known."""

    register: TargetRegister
    bits: int = 0
    undefined: int = 0
    missing: str = ""
    """Why nothing is known: ``not saved``, ``unavailable``, or what went wrong."""

    def elements(self) -> list[int | None]:
        """Return the value of each lane of a vector register, or the whole of any other; None where it is not known."""
        size = self.register.lane_bits or self.register.bit_size
        mask = (1 << size) - 1
        return [
            None if self.missing or self.undefined >> shift & mask else self.bits >> shift & mask
            for shift in range(0, self.register.bit_size, size)
        ]


def registers_of(frame: Frame) -> Iterator[TargetRegister]:
    """Yield the registers of the target, by number; after them those without a DWARF number."""
    yield from frame.target.registers()
    for family in frame.target.unnumbered:
        yield from (family.register(family.first + position) for position in range(family.count))


def contents(frame: Frame, register: TargetRegister) -> RegisterContents:
    """Return what a register holds in a frame."""
    activation = frame.activation
    if activation is None:
        raise no_registers()
    if register.number == frame.target.program_counter:
        return RegisterContents(register, activation.pc)
    thread = activation.thread
    order = frame.target.byte_order
    try:
        if register.number < 0:  # no call frame information can name it
            data = thread.backend.read_register(register, thread.wave, None)  # type: ignore[arg-type]
            if activation.level:
                return RegisterContents(register, missing=NOT_SAVED)
            return RegisterContents(register, int.from_bytes(data, order))
        location = activation.register(register.number, thread.lanes)
        if is_undefined(location):
            return RegisterContents(register, missing=NOT_SAVED)
        reading = thread.accessor.read(location, register.bit_size)
    except DwarfGpuError as error:
        is_known = error.kind in ("register_unavailable", "register_unset", "memory_unavailable")
        return RegisterContents(register, missing=UNAVAILABLE if is_known else f"error: {error.message}")
    undefined = int(reading.undefined)
    if undefined == (1 << register.bit_size) - 1:
        return RegisterContents(register, missing=NOT_SAVED)
    return RegisterContents(register, int(reading.bits), undefined)
