"""Blocks of instructions that are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand


@frozen
class Ending:
    """How a block ends."""

    targets: tuple[int, ...]
    """Where it goes: one address, or that of a branch that is taken and of one that is not."""
    mode: int
    condition: str = ""
    address: GpuOperand | None = None
    """The registers with the address of a jump."""
    is_far_branch: bool = False
    """Whether this is a sum of the program counter: no return."""
    link: GpuOperand | None = None
    """The registers that get the address behind the block."""
    is_whole: bool = True
    """Whether waves may go different ways there, so that another batch may get its turn."""


@frozen(eq=False)
class BlockCode:
    """Instructions from one address on."""

    start: int
    mode: int
    instructions: tuple[tuple[int, GpuInstruction], ...]
    """Those that are compiled, with their addresses."""
    ending: Ending | None
    """None if an instruction follows that is to be interpreted."""
    following: int
    """The address behind the instructions and the branch."""
    count: int
    """The instructions with the branch."""
