"""What a check finds: the kind, the memory, and one or two sides with their lanes and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.faults import NamedBuffer

RACE, BARRIER, WAIT, BOUNDS, ALIGN, INIT, NAN = "race", "barrier", "wait", "bounds", "align", "init", "nan"
MISTAKES = RACE, BARRIER, WAIT, BOUNDS, ALIGN, INIT
"""What `all` means: a program may make infinities on purpose."""
CHECKS = *MISTAKES, NAN
READ, WRITE, ATOMIC, ARRIVE, END, USE = "read", "write", "atomic", "arrive", "end", "use"
LEFT_OUT = "left-out"
MAKE, TURN, LOSE = "make", "turn", "lose"
"""What a side does."""
READ_WRITE, WRITE_WRITE, SAME_VALUE, NARROW_SCOPE = (
    "read-write race", "write-write race", "write-write race, same value", "race of atomics of work-group scope",
)  # fmt: skip
IN_WAVE = "race in a wave"
"""Work-items access the same bytes, ordered only because these lanes are one wave."""
LOST_UPDATE = "lost update"
"""Lanes of one instruction write the same number, which each has computed from what it had read there."""
DIVERGENT, DIFFERENT, MISSED = "divergent barrier", "different barriers", "barrier missed by a wave that has ended"
EARLY_USE = "register used before it is loaded"
INVALID = {READ: "invalid read", WRITE: "invalid write", ATOMIC: "invalid atomic operation"}
"""Accesses outside of the memory that their pointer came from."""
FORBIDDEN = {READ: "read of a write-only buffer", WRITE: "write to a read-only buffer",
             ATOMIC: "atomic operation on a read-only buffer"}  # fmt: skip
MISALIGNED = {action: kind.replace("invalid", "misaligned") for action, kind in INVALID.items()}
"""Accesses at addresses that the hardware or the type of the source does not allow."""
UNDEFINED_BRANCH, UNDEFINED_ADDRESS, UNDEFINED_STORE = (
    "branch on an uninitialized value",
    "address of an uninitialized value", "uninitialized value stored in global memory",
)  # fmt: skip
MADE_NAN, MADE_INFINITY = "NaN made of numbers", "infinity made of finite numbers"
MADE_OF_BITS = "NaN or infinity made by integer arithmetic"
TOO_LARGE, CAME_IN = "number too large for an integer", "NaN came in"
"""What floating-point instructions make of their operands."""


@frozen(eq=False)
class MadeOf:
    """A variable or a register that numbers were made of, in some lanes."""

    name: str
    values: Any
    """By lane; None if it has none."""
    changes: Any = None
    """The instructions that have changed it last, by lane, 0 where that is not known; None for all."""
    came: Any = None
    """The addresses that the values came from as NaNs or infinities, by lane, 0 for others; None for all."""
    why: str = "<optimized out>"
    """What is shown where it has no values."""
    names: Any = None
    """By lane, where not all have one name."""
    is_certain: bool = True
    """Whether the values are not those of another turn of a loop."""


@frozen
class CountedBits:
    """The bits of elements of an object that belong to members of a structure; the others are padding."""

    start: int
    end: int
    element: bytes


@frozen
class Padding:
    """The objects in some memory of which some have padding."""

    objects: tuple[CountedBits, ...] = ()

    def without(self, address: Any, word: Any) -> Any:
        """Return numbers of lanes, that are at some addresses, without the bits that are padding in every object."""
        if not self.objects or not word.any():
            return word
        places = np.asarray(address).astype(np.int64)[..., None] + np.arange(word.dtype.itemsize)
        counted, is_inside = np.zeros(places.shape, np.uint8), np.zeros(places.shape, bool)
        for each in self.objects:
            inside = (each.start <= places) & (places < each.end)
            element = np.frombuffer(each.element, np.uint8)
            counted |= np.where(inside, element[(places - each.start) % len(element)], np.uint8(0))
            is_inside |= inside
        return word & np.where(is_inside, counted, np.uint8(0xFF)).view(word.dtype)[..., 0]


@frozen
class CheckSettings:
    """What is checked while a machine runs."""

    checks: frozenset[str]
    mode: str = "cu"
    """The execution mode of the kernel: ``cu``, ``wgp`` or ``tgsplit``."""
    has_barriers: bool = True
    """Whether the code has all barriers of the source: compilers drop those of a work-group that is one wave."""
    undefined: tuple[tuple[int, int], ...] = ()
    """The addresses and sizes of buffers without contents."""
    padding: Padding = Padding()
    floats: tuple[tuple[int, int, str], ...] = ()
    """Where floats of arguments are: the address, the bytes, and their type as numpy writes it."""
    preloaded: tuple[int, int, int] = (0, 0, 0)
    """The first scalar register that arguments are preloaded into, how many there are, and of which word on."""
    kernarg: int = 0
    """Where arguments are."""

    @property
    def can_be_compiled(self) -> bool:
        """Whether forms do all that is checked."""
        return NAN not in self.checks


@frozen
class NamedArray:
    """An array in private or local memory, or local memory that an argument points to."""

    name: str
    start: int
    size: int
    type: Any
    """Of the array, or what the argument points to."""
    beside: tuple[tuple[int, int], ...] = ()
    """Where other variables are that the same line names: the first byte of each, and the first behind it."""

    def misses(self, address: Any, size: int) -> Any:
        """Return whether accesses of some bytes are outside of it, and not inside of a variable beside it."""
        wrong = (address + size <= self.start) | (address >= self.start + self.size)
        for start, end in self.beside:
            wrong &= (address < start) | (address + size > end)
        return wrong


@frozen
class FindingSide:
    """What one wave did."""

    action: str
    pc: int
    wave: str
    work_group: tuple[int, int, int]
    lanes: int
    """As a mask; 0 for a scalar access, which the whole wave makes, and if the lanes are not known."""
    items: tuple[tuple[int, int, int], ...] = ()
    """The work-items of the first and the last of the lanes, in their work-group."""
    lane: int | None = None
    """The lane that accesses the address of the finding; None for a barrier and for a scalar access."""
    item: tuple[int, int, int] | None = None
    """The work-item of that lane, in its work-group."""
    value: bytes | None = None
    """What it reads or writes there; None if that is not known."""
    callers: tuple[int, ...] = ()
    """Where the calls return to that it is in, innermost first; none of an earlier access."""
    is_scalar: bool = False
    """Whether it is an access of a scalar instruction."""


class CheckFinding(KeptState):
    """A place in the code or a pair of them, with the first case and how many there are."""

    def __init__(
        self,
        check: str,
        kind: str,
        sides: tuple[FindingSide, ...],
        space: str | None = None,
        address: int | None = None,
        size: int = 0,
        register: str | None = None,
    ) -> None:
        self.check = check
        self.kind = kind
        self.sides = sides
        """What did it, or both sides, the earlier first, as the waves were executed."""
        self.space = space
        """``global`` or ``local``; None for a barrier."""
        self.address = address
        self.size = size
        """The bytes that all sides access from the address on."""
        self.register = register
        self.buffer: NamedBuffer | None = None
        """The memory that the address is outside of; None if it is not known, and for other checks."""
        self.array: NamedArray | None = None
        """The array that it is outside of, if it is one."""
        self.ends = (address or 0, address or 0)
        """The lowest and the highest address of all accesses, of which `address` is the first."""
        self.variable: tuple[str, bool] | None = None
        """The variable that was there, and whether it is so for certain, where only the running wave can tell."""
        self.needs: tuple[int, str] | None = None
        """What the address must be a multiple of, and what demands it."""
        self.operands: tuple[tuple[str, str, int, int, bool], ...] = ()
        """What a number was made of, with values: variables that the line names, else registers. And the instructions
        that have changed them last, and where in global memory they came from, 0 if these are not known. And whether
        they are of this turn of a loop."""
        self.count = 0
        self.groups: set[tuple[int, int]] = set()
        """The work-groups that numbers were made in."""
        self.identity = object()
        """Is the same for copies in checkpoints."""

    @property
    def is_error(self) -> bool:
        """Whether it is an error: the same value may be meant, lanes of a wave run in step, and a NaN may be given."""
        return self.kind not in (SAME_VALUE, IN_WAVE, CAME_IN)

    @property
    def stops_waves(self) -> bool:
        """Whether a debugger stops at it: also where a NaN that came in counts, which is what it is asked for."""
        return self.is_error or self.kind == CAME_IN


def check_names(text: str, *, is_weak: bool) -> frozenset[str]:
    """Return the checks of a list such as ``race,barrier``, or ``all``; memory that is weak has none."""
    if is_weak:
        raise UsageError("checks and weak memory do not go together", hint="leave out --weak-memory")
    given = [name.strip() for name in text.split(",")]
    names = [*(name for name in given if name != "all"), *(MISTAKES if "all" in given else ())]
    for name in names:
        if name not in CHECKS:
            hint = nearest_hint(name, CHECKS, f"the checks are {', '.join(CHECKS)}, or all")
            raise UsageError(f"there is no check {name[:40]!r}", hint=hint)
    return frozenset(names)
