"""What compiled forms share with Python: the state of a wave, the slots of a program, the numbers of a turn.

A wave is a row of bytes: its scalar registers at their numbers, what it reaches, and its vector registers. A program
has a slot for each dword of code, so the distance of two slots is that of their addresses, times 16.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag, auto

SCC = 132
"""The number of SCC among the scalar registers."""
VECTORS = 2560
"""Where the vector registers of a wave begin, a multiple of their size; behind them are the accumulation registers."""
SLOT = 64
"""The bytes of a slot: a function, the stretch that begins there, `Rule`, how hot it is, the numbers."""
STRETCH, RULE, HEAT, NUMBERS = 8, 16, 20, 24
"""Where these are in a slot."""
MOST_NUMBERS = (SLOT - NUMBERS) // 4
STEP = (SLOT // 4).bit_length() - 1
"""The distance of two slots is that of their addresses times 2 to this power."""

SPAN = 1 << 20
"""The instructions, counted for each wave, after which compiled code lets Python look for ^C."""


class MemoryCell(IntEnum):
    """The 64-bit numbers of `MemoryTable`."""

    SEGMENTS = 0
    """The segments of global memory: the start, the size, and the address of the host of each."""
    SEGMENT_COUNT = 1
    LATEST = 2
    """The segment that was found last."""
    SCRATCH = 3
    """The address of the host of all private memory."""
    SCRATCH_BASE = 4
    SCRATCH_WHOLE = 5
    """Its address on the device, and its bytes."""
    SHARED = 6
    PRIVATE = 7
    """The upper halves of the addresses of local and private memory in the generic address space."""
    PROGRAM = 8
    """The address of an instruction, less the number of its slot."""


class PointerCell(IntEnum):
    """What follows where a table says which memory has pointers."""

    DISTANCES = len(MemoryCell)
    """How far the provenance of each segment is from its bytes."""
    READABLE = auto()
    WRITABLE = auto()
    """The segment of each buffer, as in the table, by number; without bytes where an access needs a look."""
    ARRAYS = auto()
    """What is known of the arrays in private memory that instructions access: `ArrayField`."""
    POINTERS = auto()
    """A byte for each dword of the private memory of a lane: whether there has been a pointer in any lane."""


class ArrayField(IntEnum):
    """What is known of the array in private memory that an instruction accesses."""

    START = 0
    SIZE = 8
    STACK = 16
    """The stack pointer and the frame pointer of waves for which it holds."""


STACK_WORDS = 32
"""The scalar registers with these pointers."""


class Place(IntEnum):
    """Where something is in the state of a wave, in bytes."""

    SCALARS = 0
    POINTERS = 536
    """The provenance of the wave, if its pointers are followed: a number for each register, at the same places."""
    NEXT = 544
    """Where the wave goes at the end of a block: a slot."""
    LOCAL = 552
    LOCAL_SIZE = 560
    """The local memory of its work-group."""
    PRIVATE = 568
    PRIVATE_SIZE = 576
    """Its private memory, and how many bytes each lane has of it."""
    FIRST = 584
    """How many bytes of the private memory of all waves are before it."""
    TABLE = 592
    """The numbers of `MemoryTable`."""
    DONE = 600
    """How many instructions of a stretch it has executed, when it refuses the next one, which is `NEXT`."""
    MARKS = 608
    """The marks of the wave, if it is checked: where its undefined bits are, at the same places."""
    PARTLY = 616
    """Of marks: a 64-bit number for each vector register, the instruction that has written it in some lanes only."""
    COPIES = 624
    """Of marks: likewise, one more than the private address whose marks it has, with what is known of them."""
    ROOM = 632
    """How many instructions a loop may execute; behind it, `DONE` has how many it has."""
    EXEC = 640
    """A row of 0 and -1 beside the number: -1 in each lane that executes."""
    KNOWN = 896
    """A byte for each scalar register: whether something has written it."""
    KNOWN_VECTORS = 1056
    """The same for each vector register."""
    CALLS = 2080
    """The slots to which the calls return that a wave has noted since Python was asked, and how many there are."""
    CALL_COUNT = 2208
    WAY = 2216
    """Where a wave that counts its instructions has come by calls: the numbers of `WayField`."""
    RECORDS = 2224
    """How far the records of its instructions are behind their slots."""
    PRIVATE_BASE = 2232
    """The generic address of the private memory of its first lane, where such addresses tell wave and lane."""
    WATCHED = 2240
    """What is watched in memory: the first address and the size of each `WatchedRange`."""
    RETURNS_SEEN = 2336
    """Whether Python executes its returns, as somebody looks at them."""
    COMPLETE = 2344
    """The address of the byte that says whether the next wait for its work-group is over at once."""
    ISSUED = 2352
    WAITED = 2360
    EMPTIED = 2368
    """Of waves whose accesses are counted: what `KnownOrder` has of each counter."""
    LOG = 2392
    """Of waves that are checked for races: the log of accesses, of which `LogField` says how far it is filled."""
    LATEST_LOADS = 2376
    LOAD_NUMBERS = 2384
    """Of waves whose waits are checked: what `WaitCheck` has of each register."""
    TRACE = 2400
    """Of the wave that is traced: the numbers of `TraceField`."""


class LogField(IntEnum):
    """Where something is in what is known of a log, in bytes."""

    NEXT = 0
    FIRST = 8
    """The addresses of the next record, and of the first one."""
    FULL = 16
    """From where on waves that are asked refuse an access."""
    END = 24
    """Where there is no room for one more record."""


class WatchedRange(IntEnum):
    """Which addresses are watched."""

    GLOBAL = 0
    WINDOW = 1
    """Private memory by the addresses that it has in global memory."""
    PRIVATE = 2
    LOCAL = 3
    FLAT_PRIVATE = 4
    FLAT_LOCAL = 5
    """The same two in the generic address space."""


class Rule(IntFlag):
    """What the dispatcher has to know of an instruction."""

    IN_STEP = 1
    """Waves meet before it: it reads or writes memory that others can see. It can be asked first whether it refuses."""
    ENDS_BLOCK = 2
    """Waves may go different ways behind it."""
    IS_NOTED = 4
    """A call or a jump, which is noted."""
    IS_CALL = 8
    """A call, which has 4 bytes."""
    IS_FAR = 16
    """A jump that is a branch too far for an offset, and so no return."""
    IS_ASKED = 32
    """All waves are asked first whether one refuses: not only where something is wrong."""
    IS_CHECKED = 64
    """Waves meet before it only because it is checked. In a stretch the first instruction is asked for it."""
    ENDS_STRETCH = 128
    """It changes what others are asked for: the executing lanes of checked waves, or marks of a register."""
    IS_LOOP = 512
    """A stretch that is a loop."""
    MEETS = 256
    """Waves that run one after the other meet before it; it has no function."""
    IS_BARRIER = 1024
    """It is a barrier, or its first part, which the waves of a work-group pass when all of them are before one."""
    IS_SIGNAL = 2048
    """It is the first part of a barrier: `Place.COMPLETE` then has 1."""
    IS_WAIT = 4096
    """It is the second part, which a wave passes that has 1 there."""


class StretchField(IntEnum):
    """Where something is in what the dispatcher knows of a stretch: straight code that is one function."""

    FUNCTION = 0
    COUNT = 8
    """Its instructions."""
    RULE = 16
    """`Rule` of all of them: whether waves meet before the first, and whether the last one ends a block."""


MOST_CALLS = 64
"""The calls that are noted before Python is asked, by a batch."""
MOST_CALLS_OF_WAVE = (Place.CALL_COUNT - Place.CALLS) // 8
"""The same by a wave that runs alone."""


class TurnCell(IntEnum):
    """The 64-bit numbers that the dispatcher is called with, and those that it leaves."""

    WAVES = 0
    """The addresses of the states of the waves."""
    COUNT = 1
    SLOT = 2
    """The instruction that all waves are at, before and after."""
    SINCE = 3
    """The instructions that have been executed of a block of the interpreter, before and after."""
    TURN = 4
    """The instructions of a wave after which a block is the last one of a turn."""
    NEAREST = 5
    """The slot from which on another batch has its turn."""
    MOST = 6
    """The instructions after which Python is asked, at the end of a block of the interpreter."""
    EXECUTED = 7
    """The instructions that each wave has executed."""
    LAST = 8
    """The slot at the end of the latest block."""
    HOT = 9
    """How many waves have been at an instruction, each time one of them was, where it is hot."""
    REST = 10
    """The instructions that waves have executed one by one before they were torn apart, all together."""
    CALLS = 11
    """The slots to which the calls return that have been noted since Python was asked, and how many there are."""
    CALL_COUNT = 12
    ASKS = 13
    """Whether all waves are asked before one executes an instruction that may refuse: none has then gone on."""


class RoundCell(IntEnum):
    """The same for waves that run one after the other."""

    WAVES = 0
    """The addresses of the states of the waves; each has the slot that it is at in `Place.NEXT`."""
    BOUNDS = 1
    """The numbers of the first waves of work-groups, and one more; after another they are `COUNT`."""
    WHOLES = 2
    """A byte for each work-group: whether all its waves are here, so that they may pass a barrier."""
    COUNT = 3
    GROUP = 4
    """The work-group that goes first, before and after."""
    USED = 5
    """The instructions that it has executed in this round, before and after."""
    NUMBER = 6
    """The number of the wave that goes first, before and after."""
    LEFT = 7
    """The instructions that are left of its turn, before and after."""
    TURN = 8
    """The instructions of a turn."""
    ROOM = 9
    """The instructions after which nothing goes on."""
    MOST = 10
    """The instructions after which Python is asked when a turn ends."""
    EXECUTED = 11
    """The instructions that waves have executed, all together."""
    LAST = 12
    """The slot of the call or jump that Python has to note."""
    HOT = 13
    """How often waves have been at an instruction, where it is hot."""
    COUNTED = 14
    """Where instructions are counted, a bit for each lane of a wave; else 0."""


class RoundExit(IntEnum):
    """Why waves that run one after the other return to Python."""

    OVER = 0
    """All have had their turn, or enough has been executed."""
    STOPPED = 1
    """The instruction of a wave has no function, or refuses; it has changed nothing."""
    HOT = 2
    NOTED = 3
    """As for `TurnExit`, of one wave."""


class TurnExit(IntEnum):
    """Why the dispatcher returns."""

    STOPPED = 0
    """The instruction has no function, or refuses; it has changed nothing."""
    PARTED = 1
    """Waves go different ways: each has its slot."""
    NOTED = 2
    """A call for which there is no room, or a jump that returns from none of those that are noted."""
    TURN = 3
    """A block has ended, and with it the turn, or enough has been executed."""
    FULL = 4
    """As many instructions as a block of the interpreter has have been executed since the latest end of a block."""
    HOT = 5
    """The instruction is hot: a stretch from it on is worth its time."""
    TORN = 6
    """A wave refuses an instruction when others have gone on: each has its slot."""
