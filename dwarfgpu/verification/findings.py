"""What a check of a file is made of: rules, the problems that break them, and findings, which users see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dwarfgpu.immutable import frozen, immutable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.objfile.info.dies import Die

    Severity: TypeAlias = Literal["error", "warning", "note"]


ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"


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

    @property
    def part(self) -> str:
        """The part of the file that it is about."""
        return self.name.partition("-")[0]


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

    @property
    def idiom_name(self) -> str | None:
        """The name of the idiom: to find it out takes longer than to find the problem."""
        return self.idiom() if callable(self.idiom) else self.idiom


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

    @property
    def place(self) -> str:
        """The section and the offset in it."""
        if self.section is None:
            return self.file
        return self.section if self.offset is None else f"{self.section}+{self.offset:#x}"


def rules(part: str, *rows: tuple[str, Severity, str, str, str]) -> dict[str, CheckRule]:
    """Return the rules of a part of files by name, of rows with the fields of `CheckRule`."""
    known = {name: CheckRule(f"{part}-{name}", severity, *words) for name, severity, *words in rows}
    assert len(known) == len(rows)  # noqa: S101 (a table of ours)
    return known


def unreadable(known: dict[str, CheckRule], error: DwarfGpuError, *, die: Die | None = None) -> Problem:
    """Return the problem that something cannot be read: of the rule named after the error, else of ``unreadable``."""
    rule = known.get(error.kind.replace("_", "-")) or known["unreadable"]
    where = error.where
    return Problem(rule, error.message, where.section, where.offset, die, error.spec)
