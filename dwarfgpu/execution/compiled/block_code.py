"""Blocks of instructions that are compiled, and regions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.compiled.layout import ACCUMULATION
from dwarfgpu.immutable import frozen, immutable

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.compiled.native import NativeFunction
    from dwarfgpu.execution.faults import Pause
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand


SPAN = 1 << 20
"""The instructions, counted for each wave, after which compiled code lets Python look for ^C."""


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
    end: int | None = None
    """The address of the instruction that ends the waves, if one does."""
    is_barrier: bool = False


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


@frozen(eq=False)
class CompiledRegion:
    """Compiled blocks."""

    blocks: tuple[BlockCode, ...]
    function: NativeFunction
    columns: tuple[int, ...]
    """The vector registers in memory."""
    slots: dict[int, int]
    """Which of them each is."""
    scalars: tuple[int, ...]
    """The scalar registers that it reads or writes."""
    written_scalars: dict[int, dict[int, int]]
    written_vectors: dict[int, dict[int, int]]
    """The registers that each block writes, with the first instruction that does."""

    written: frozenset[int]
    """The vector registers that any of them writes."""
    overwritten: tuple[frozenset[int], ...]
    """Those that a block writes before it reads them, if all lanes execute."""

    last_vector: int
    last_register: int
    """The last of the vector registers, without and with those of accumulation."""
    longest: int
    """The most instructions between two places where waves may leave at a limit."""
    asks_for_waves: bool
    """Whether the code uses the number of a wave or of its work-group."""
    has_barriers: bool
    expecting: frozenset[int]
    """The instructions that expect private memory at the one address of all lanes."""

    def unasked(self, since: int) -> int:
        """Return how far from a limit the region may be entered, as the interpreter may stop where it cannot."""
        return 0 if since + self.longest <= LONGEST else self.longest

    def fits(self, batch: WaveBatch) -> bool:
        return len(batch.vector) > self.last_vector and ACCUMULATION + len(batch.accumulation) > self.last_register


@immutable
class CompiledRun:
    """What a batch has done in compiled code."""

    count: int
    """The instructions that each wave has executed."""
    following: Any = None
    """The address of each wave, where they part."""
    since: int = 0
    """How many instructions of a block the interpreter would have executed there."""
    is_inside: bool = False
    """Whether the next instruction is to be interpreted."""
    is_whole: bool = False
    """Whether a block has ended where another batch may get its turn."""
    pause: Pause | None = None
    """Why the waves do not go on, if they do not."""
    rest: int = 0
    """The instructions that waves have executed one by one, counted for each of them."""
    passed: int = 0
    """The instructions up to the last barrier that the waves have passed; another turn began there."""
