"""The trap instruction that a wave has stopped at: AMDGPU usage, "Trap Handler ABI"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.amdgpu.processors import processor_of

if TYPE_CHECKING:
    from dwarfgpu.program.stack.frame import Frame

S_TRAP, S_TRAP_GFX11 = 0xBF920000, 0xBF900000
"""SOPP instructions 18, and from GFX11 on 16, whose low 16 bits are the number of the trap."""
SIZE = 4

MEANINGS = {
    1: "llvm.debugtrap with an argument (HSA debugtrap)",
    2: "llvm.trap: the program ended itself, as abort() and failed assertions do",
    3: "llvm.debugtrap: a stop for a debugger, which goes on where there is none",
    7: "a breakpoint of a debugger",
}


@frozen
class Trap:
    """A trap instruction at, or just before, the place where a wave has stopped."""

    number: int
    address: int
    meaning: str


def trap_at(frame: Frame) -> Trap | None:
    """Return the trap that the innermost frame of a wave has stopped at; None where there is no such instruction."""
    code, pc = frame.code, frame.pc
    processor = processor_of(frame.target.name)
    if frame.number or code is None or pc is None or processor is None:
        return None
    encoding = S_TRAP_GFX11 if processor.major >= 11 else S_TRAP
    for address in (pc, pc - SIZE):  # a handler may have moved the program counter on
        if not code.holds(address):
            continue
        try:
            word = int.from_bytes(code.file.image.read(code.in_file(address), SIZE), "little")
        except DwarfGpuError:
            continue
        if word & 0xFFFF0000 == encoding:
            number = word & 0xFF
            return Trap(number, address, MEANINGS.get(number, "reserved"))
    return None
