"""What a check of a file is made of: rules, the problems that break them, and findings, which users see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dwarfgpu.immutable import evolve, frozen, immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, TypeAlias

    from typing_extensions import Unpack

    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.execution.control.check_report import NamedFinding
    from dwarfgpu.objfile.info.dies import Die

    Severity: TypeAlias = Literal["error", "warning", "note"]
    Row: TypeAlias = tuple[str, Severity, str, str, str, Unpack[tuple[str, ...]]]


ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"
VENDOR: Final = re.compile(r"\[[^:\[\]]+:v\d+\.\d+(?::[^\[\]]*)?\]")
"""An extension of a vendor, as augmentation strings name it (A.3.1.1, A.6.4.1 (4))."""
LIMIT: Final = "limit"
"""What a finding counts as that has no severity of its own: the producer always writes so."""
IDIOM: Final = "idiom"
LIMITS: Final = {
    IDIOM: "always written wrongly in one known way, an idiom, which dwarfgpu corrects",
    "no-lane-places": "no function says where waiting lanes are, in DW_AT_LLVM_lane_pc",
    "no-active-lanes": "no function says which lanes are active, in DW_AT_LLVM_active_lane",
    "no-call-frames": "no function has call frame information",
    "parameter-dropped": "optimized code has no location for a parameter where its function begins",
    "value-dropped": "optimized code has no value of a variable that has one in the other build",
    "line-dropped": "optimized code has no statement of a line that the other build executes",
    "moved-code": "the statements of optimized code are in another order",
}
"""Why findings do not count: what compilers are known to write wrongly, or not to write."""
VALUE = re.compile(r"{(\w+)")
"""The name of a value in the words of a rule."""


@frozen
class CheckRule:
    """What a file must be like. Its name begins with the part of the file that it is about."""

    name: str
    severity: Severity
    """``error``: the text forbids it. ``warning``: it is allowed, and most likely not meant. ``note``: it is neither
    wrong nor what a reader expects, and no reason to fail."""
    clause: str
    summary: str
    """What must hold, as a sentence."""
    advice: str
    """What the author of the file can do."""
    words: tuple[str, ...] = ()
    """The messages of its problems, with the names of the values that each needs; none where readers have them."""

    @property
    def part(self) -> str:
        """The part of the file that it is about."""
        return self.name.partition("-")[0]

    def message(self, values: dict[str, object]) -> str:
        """Return the message of a problem: the one that needs the values."""
        words = next(words for words in self.words if {*VALUE.findall(words)} == values.keys())
        return words.format_map(values)


@immutable
class Problem:
    """What breaks a rule somewhere in a file."""

    rule: CheckRule
    message: str
    section: str | None = None
    offset: int | None = None
    die: Die | None = None
    """The entry that it is about."""
    clause: str | None = None
    """The clause, where it is not that of the rule."""
    idiom: str | Callable[[], str | None] | None = None
    """The repair that tells what the producer means: it always writes so; or what finds out which it is."""
    severity: Severity | None = None
    """The severity, where it is not that of the rule."""
    values: Mapping[str, object] | None = None
    """The values in its message."""

    @property
    def idiom_name(self) -> str | None:
        """The name of the idiom: to find it out takes longer than to find the problem."""
        return self.idiom() if callable(self.idiom) else self.idiom


@frozen
class FindingLocation:
    """The location of the variable that a finding is about."""

    operations: str
    """As the file has them."""
    reads: tuple[str, ...]
    """The registers that they name; none for a constant."""
    start: str | None = None
    """Where it is valid in its function; None where that is wherever the variable is in scope."""
    end: str | None = None

    def __str__(self) -> str:
        """Return the operations, behind the addresses for which they are valid."""
        return self.operations if self.start is None else f"{self.start} to {self.end}: {self.operations}"


@frozen
class FileFinding:
    """A problem, with all that a reader needs to find its cause."""

    rule: CheckRule
    severity: Severity
    message: str
    clause: str
    file: str
    section: str | None
    offset: int | None
    path: tuple[str, ...]
    """The entry and those that own it, from the unit on."""
    source: tuple[str, int] | None
    """File and line of the declaration of the entry, or of the nearest that owns it and says where it is."""
    idiom: str | None
    seen: str | None = None
    """Where execution shows it first; None of what is found without running anything."""
    limit: str | None = None
    """The limit of the producer that is the reason: one of `LIMITS`, or `IDIOM`. Findings with one do not count."""
    lanes: Mapping[str, int] | None = None
    """The lanes of waves in which execution shows it, as masks."""
    location: FindingLocation | None = None
    """The location that is wrong, or that has ended there, of a finding about a variable."""
    command: tuple[str, ...] = ()
    """The words of a command that stops where execution shows it first; none where that is not known."""
    executed: NamedFinding | None = None
    """What waves did, if a check of a run has found it."""

    @property
    def counted_as(self) -> str:
        """Its severity, or ``limit`` if it does not count."""
        return self.severity if self.limit is None else LIMIT

    @property
    def place(self) -> str:
        """The section and the offset in it."""
        if self.section is None:
            return self.file
        return self.section if self.offset is None else f"{self.section}+{self.offset:#x}"


class CheckRules(dict[str, CheckRule]):
    """The rules of a part of files by name."""

    def problem(
        self,
        name: str,
        section: str | None = None,
        offset: int | None = None,
        die: Die | None = None,
        clause: str | None = None,
        /,
        **values: object,
    ) -> Problem:
        """Return the problem that breaks a rule, with the values that the words of the rule need."""
        rule = self[name]
        return Problem(rule, rule.message(values), section, offset, die, clause, values=values)

    def broken(self, name: str, error: DwarfGpuError, section: str | None = None, offset: int | None = None) -> Problem:
        """Return the problem that a reader's error is, at a place if the error has none."""
        where = error.where
        section = section if where.section is None else where.section
        offset = offset if where.offset is None else where.offset
        return Problem(self[name], error.message, section, offset, clause=error.spec)

    def unreadable(self, error: DwarfGpuError, *, die: Die | None = None) -> Problem:
        """Return the problem that something cannot be read: of the rule named after the error, else `unreadable`."""
        name = error.kind.replace("_", "-")
        return evolve(self.broken(name if name in self else "unreadable", error), die=die)


def rules(part: str, *rows: Row) -> CheckRules:
    """Return the rules of a part of files, of rows with the fields of `CheckRule`."""
    known = CheckRules(
        (name, CheckRule(f"{part}-{name}", severity, clause, summary, advice, tuple(words)))
        for name, severity, clause, summary, advice, *words in rows
    )
    assert len(known) == len(rows)  # noqa: S101 (a table of ours)
    return known
