"""What compiled code shares with Python: the numbers that it is called with, and where it keeps registers.

Scalar registers are 32-bit numbers ``[wave, register]``, those that the code uses, in their order; VCC and EXEC are two
of them whatever the waves have, and SCC is the last. A vector register is 32-bit numbers ``[wave, lane]``: those of the
batch, or a copy if it may be written.
"""

from __future__ import annotations

from enum import IntEnum, auto

SCC = 132
MOST_CALLS = 64
"""The calls and jumps that are noted until waves leave."""
ACCUMULATION = 512
"""The number of the first accumulation register among the vector registers."""


class Cell(IntEnum):
    """The 64-bit numbers that a compiled region is called with, and those that it leaves."""

    PLACES = 0
    """Room for an address of the host for each lane."""
    STEPS = auto()
    """Room for the distance of each lane to its next dword."""
    ROWS = auto()
    """The distance between the rows of each wave whose lanes have numbers in a row, else 0."""
    CALLS = auto()
    """The calls and jumps that are noted: the address behind a call, and of a jump its target with bit 0."""
    SEGMENTS = auto()
    """The segments of global memory: the start, the size, and the address of the host of each."""
    SEGMENT_COUNT = auto()
    LATEST = auto()
    """The segment that was found last."""
    LOCAL = auto()
    LOCAL_SIZE = auto()
    SCRATCH = auto()
    SCRATCH_SIZE = auto()
    SCRATCH_BASE = auto()
    SCRATCH_WHOLE = auto()
    """The bytes of private memory of one wave, its address on the device, and the bytes of all waves."""
    SHARED = auto()
    PRIVATE = auto()
    """The upper halves of the addresses of local and private memory in the generic address space."""
    GROUPS = auto()
    """The row of local memory of each wave. The numbers before this one are those of all regions."""
    NUMBERS = auto()
    """The number of each wave in the machine."""
    SCALARS = auto()
    VECTORS = auto()
    """The addresses of vector registers."""
    WAVES = auto()
    """How many waves run."""
    RUNNING = auto()
    """The row of each wave that runs; others went elsewhere."""
    NEXT = auto()
    """Where each of them goes at the end of a block."""
    STOP = auto()
    """The instructions, counted for each wave, after which a block is the last one."""
    NEAREST = auto()
    """The address from which on another batch has its turn."""
    BARRIER = auto()
    """The instructions after which waves wait at a barrier; before, all that it waits for are at it."""
    PASSED = auto()
    """Those up to the last barrier that waves have passed, or 0."""
    VISITED = auto()
    """A byte for each block that has been executed to its end."""
    ENTRY = auto()
    """The block to begin with."""
    EXECUTED = auto()
    """The instructions of whole blocks that each wave has executed."""
    WHOLE = auto()
    """Those up to the last end of a block where another batch may get its turn."""
    CALL_COUNT = auto()
    """How many calls are noted. The first is none; a return to the address of the last one takes it away."""
    CHECKED = auto()
    """The address of the instruction whose check has failed, or 0; waves leave before it if others are checked too."""
    PLACE = auto()
    """The block and the instruction in it where waves left: ``block << 16 | instruction``."""


class Exit(IntEnum):
    """Why compiled code returns."""

    TURN = 0
    """A block has ended; all waves go to the first address of ``NEXT``."""
    PARTED = 1
    """A block has ended, and waves go to different addresses."""
    INSIDE = 2
    """An instruction in a block is to be interpreted: it has no text, or it cannot be executed as usual."""
    END = 3
    """All waves have ended."""
