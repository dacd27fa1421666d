"""The operation table: one row for each operation, with everything about it except its encoding.

A row is declared by decorating the function that is its meaning, by `binary` or `comparison`, which name a method of
arithmetic, or by `equivalent`, which states the meaning in terms of other rows. Everything else is derived from rows:
popping and the kinds of the operands, missing context, what call frame information forbids, static checking, assembly,
listings and the reference of `dwarfgpu ops`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu import bits as b
from dwarfgpu.expr.arithmetic import computable, with_one_type
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.bits import Flags

KINDS = frozenset(("any", "value", "integral", "location"))
"""What an effect may require of an entry: anything but an incomplete composite, a location description, any value,
a value of an integral type. The implicit conversions (A.2.5.4.4.3) are applied where they lead to that kind."""

_CFI_NEEDS = frozenset(("lane", "iteration", "unit", "object"))
"""Elements that no call frame instruction has: an operation that needs one is forbidden there (A.6.4.2)."""


F = TypeVar("F", bound="Callable[..., Any]")


@frozen
class Operand:
    """An operand of an operation: its letter in the text, and how it is encoded unless a dialect says otherwise."""

    name: str
    kind: str


@frozen
class Operation:
    """A row of the table."""

    name: str
    run: Callable[..., Any] | None
    """The function of the operation: called with the evaluation, the popped entries bottom first, then the operands."""
    effect: str
    """``inputs -- outputs``, bottom to top, each ``letter:kind``; ``*`` where the function reads the raw stack."""
    spec: str
    """The clause of the text."""
    operands: tuple[Operand, ...] = ()
    since: str = "2"
    """The DWARF version or the vendor that introduced it."""
    needs: frozenset[str] = frozenset()
    """Elements of the context that it requires (A.2.5.1): thread, lane, iteration, frame, unit, object."""
    other_sections: bool = False
    """Whether it depends on other debug sections although it needs no compilation unit."""
    circular: bool = False
    """Whether using it to find call frame information would be circular."""
    ends_location: bool = False
    """Whether in DWARF 5 it is a whole location description, which only a piece may follow."""
    follows_location: bool = False
    """Whether DWARF 5 allows it after a whole location description."""
    deprecated: bool = False
    storage: str = ""
    """The storage of the location that it pushes: memory (of the default address space), register, implicit, pointer,
    undefined or composite; empty where entries or the context tell."""
    unit: int = 8
    """The number of bits in which it counts: how far it moves a location, or what an overlay replaces."""
    to: str | None = None
    """The operations it is equivalent to, in text; operands are named in braces."""
    aliases: tuple[str, ...] = ()
    fixed: tuple[int, ...] = ()
    """Operands that the name implies: 5 for DW_OP_lit5."""
    meaning: str = ""

    @property
    def is_raw(self) -> bool:
        return self.effect == "*"

    @property
    def is_literal(self) -> bool:
        """Whether it pushes a value that depends on nothing but its operand and the generic type."""
        return self.effect == "-- V:value" and not self.needs and len(self.fixed) + len(self.operands) == 1

    @property
    def inputs(self) -> tuple[str, ...]:
        """The kinds of the entries that the operation pops, bottom first."""
        return _kinds(self.effect.split("--")[0]) if not self.is_raw else ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return _kinds(self.effect.split("--")[1]) if not self.is_raw else ()

    @property
    def cfi_obstacle(self) -> str | None:
        """The reason why call frame information may not use the operation (A.6.4.2), if it may not."""
        if self.circular:
            return "its use would be circular"
        if self.other_sections:
            return "it must not depend on other debug sections"
        missing = sorted(self.needs & _CFI_NEEDS)
        return f"there is no {' or '.join(missing)} in call frame information" if missing else None


def _kinds(side: str) -> tuple[str, ...]:
    return tuple(item.rpartition(":")[2] for item in side.split())


_ROWS: dict[str, Operation] = {}
_SECTIONS: list[tuple[str, str, list[str]]] = []
"""The module of each section of the text, its title, and its rows; modules may be imported in any order."""
MODULES = ("stack_operations", "location_operations", "composite")
"""The modules of the operations, in the order of A.2.5.4.4. Importing one declares its rows."""

_LOADED: list[str] = []
"""The modules of rows that have been imported."""


def section(title: str) -> None:
    """Begin a section of the text: the rows that follow belong to it."""
    module = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001 (rows of a module are in its sections)
    _SECTIONS.append((module.rpartition(".")[2], title, []))


def operation(name: str, effect: str, spec: str, operands: str = "", **columns: Any) -> Callable[[F], F]:
    """Declare a row. With ``family``, one row for each number N: ``{N}`` in the name, and N as first operand.

    The name says whose operation it is; one of LLVM is known without ``LLVM_`` too.
    ``columns`` are further ones of `Operation`; ``needs`` and ``aliases``, which lack ``DW_OP_``, are words.
    """

    def declare(function: F) -> F:
        meaning = (function.__doc__ or "").strip().partition("\n")[0]
        _add(name, effect, spec, operands, run=function, meaning=meaning, **columns)
        return function

    return declare


def binary(name: str, kind: str, number: int, method: str, meaning: str) -> None:
    """Declare an operation on two operands of one type, with a result of that type, by a method of its arithmetic."""

    def run(ev: Any, left: Any, right: Any) -> Any:
        if left.type is not right.type:
            left, right = with_one_type(left, right, ev.rules)
        numbers = left.type.arithmetic or computable(left)
        return type(left)(left.type, getattr(numbers, method)(left.bits, right.bits))

    run.__doc__ = meaning
    operation(name, f"A:{kind} B:{kind} -- R:{kind}", f"DWARF 5, 2.5.1.4 ({number})")(run)


def comparison(name: str, relation: str, compare: Callable[[Any, Any, Any], Flags]) -> None:
    """Declare an operation that compares; it is a function of the arithmetic and the patterns of both operands."""

    def run(ev: Any, left: Any, right: Any) -> Any:
        if left.type is not right.type:
            left, right = with_one_type(left, right, ev.rules)
        return type(left)(ev.generic, b.of_flags(compare(computable(left), left.bits, right.bits)))

    run.__doc__ = f"Push 1 if A {relation}"
    operation(name, "A:value B:value -- R:value", "A.2.5.4.2 (2)")(run)


def equivalent(name: str, to: str, effect: str, spec: str, operands: str = "", **columns: Any) -> None:
    """Declare a row that the text defines as other operations; ``{R}`` in ``to`` is the operand R."""
    _add(name, effect, spec, operands, run=None, to=to, meaning=f"Performs {to}.", **columns)


def _add(
    name: str, effect: str, spec: str, operands: str, *,
    needs: str = "", aliases: str = "", family: Iterable[int] = (), **columns: Any,
) -> None:  # fmt: skip
    letters = tuple(Operand(*item.split(":")) for item in operands.split())
    known_as = [f"DW_OP_{alias}" for alias in aliases.split()]
    vendor = re.match(r"DW_OP_(LLVM|GNU)_", name)
    if vendor:
        columns.setdefault("since", vendor[1])
    if columns.get("since") == "LLVM":  # the drafts of DWARF 6 have the same names without the prefix
        known_as.append(name.replace("_LLVM_", "_"))
    columns |= {"needs": frozenset(needs.split()), "aliases": tuple(known_as)}
    for number in family or (None,):
        shown = "{N}" if number is None else str(number)
        own = columns | {key: columns[key].replace("{N}", shown) for key in ("to", "meaning") if key in columns}
        if number is not None and "to" not in columns:
            own["fixed"] = (number,)
        added = Operation(name.replace("{N}", shown), effect=effect, spec=spec, operands=letters, **own)
        for known_name in (added.name, *known_as):
            if known_name in _ROWS:
                raise AssertionError(f"{known_name} has two rows")
            _ROWS[known_name] = added
            _SECTIONS[-1][2].append(known_name)


def _load(wanted: str | None = None) -> dict[str, Operation]:
    """Import the modules with the rows, all or up to the one with the wanted row; return the rows."""
    from importlib import import_module

    for name in MODULES[len(_LOADED) :]:
        if wanted in _ROWS:
            break
        import_module(f"dwarfgpu.expr.{name}")
        _LOADED.append(name)
    return _ROWS


def find(name: str) -> Operation | None:
    """Return the row of a name or an alias."""
    return _ROWS.get(name) or _load(name).get(name)


def row(name: str) -> Operation:
    """Return the row of a name that has one, as every encoding and every equivalent operation has."""
    return _load()[name]


def rows() -> list[Operation]:
    """Return all rows, in the order of the text."""
    return [member for _title, members in sections() for member in members]


def sections() -> list[tuple[str, list[Operation]]]:
    """Return the title and the rows of each section of the text, in its order."""
    _load()
    ordered = sorted(_SECTIONS, key=lambda begun: MODULES.index(begun[0]))
    return [(title, [_ROWS[name] for name in names if _ROWS[name].name == name]) for _module, title, names in ordered]


def names() -> list[str]:
    """Return all names and aliases."""
    return list(_load())
