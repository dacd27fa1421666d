"""The check of a file: every part of it, and what breaks the rules there."""

from __future__ import annotations

from collections import Counter
from functools import cache, cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.audits.verify import call_frames, entries
from dwarfgpu.audits.verify.call_frames import CallFrameChecks
from dwarfgpu.audits.verify.code_objects import KernelChecks
from dwarfgpu.audits.verify.entries import EntryChecks
from dwarfgpu.audits.verify.expressions import ExpressionChecks
from dwarfgpu.audits.verify.findings import ERROR, IDIOM, CheckRules, FileFinding, Problem, rules
from dwarfgpu.audits.verify.indexes import IndexChecks
from dwarfgpu.audits.verify.line_tables import LineChecks
from dwarfgpu.audits.verify.producers import mistake_in
from dwarfgpu.audits.verify.unit_tables import UnitTableChecks
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.objfile.call_frames import DEBUG_FRAME, EH_FRAME, EH_FRAME_HDR
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.program.code.code_lookup import declared_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dwarfgpu.program.code.code_object import CodeObject

MAX_REPORTED = 1000
"""How many findings of one rule, and how many idioms, are reported for a file; the others are counted."""

RULES = rules(
    "file",
    ("unreadable", ERROR, "gABI", "Sections and segments are in the file, and can be read.", "write the file again"),
    ("addresses", ERROR, "DWARF 5, 2.4", "An address is in one section of code.",
     "link the file, or keep the relocations of its debug sections",
     "sections of code ({names}) have the same addresses, and no relocations tell them apart"),
)  # fmt: skip
MAX_DEPTH = 100
"""How many of the entries that own one are named with a finding about it."""
MAX_SAID = 1 << 16
"""How many messages are remembered, so that what a reader has noted is not reported a second time."""


class FileCheck:
    """The check of one file.

    ``dialect`` replaces the dialect of the target. ``ignored`` are names of rules or of parts of files, or ``idioms``:
    what producers are known to write.
    """

    def __init__(self, file: CodeObject, *, dialect: str | None = None, ignored: Collection[str] = ()) -> None:
        self.file = file
        self.ignored = ignored
        self.expressions = ExpressionChecks(file, dialect)
        self._described = cache(_described)
        self._declared_at = cache(partial(declared_at, file))
        self._parent = cache(Die.parent)  # a damaged file has thousands of findings in entries that nest deeply
        self.left_out: dict[str, int] = {}
        """How many findings of a rule are not reported, because there are so many of it."""

    def __iter__(self) -> Iterator[FileFinding]:
        """Yield the findings, part by part."""
        reported: Counter[tuple[str, bool]] = Counter()
        for problem in self.problems():
            name = problem.rule.name
            if self._is_ignored(problem):
                continue
            key = name, self._idiom(problem) is None  # so many idioms hide no other finding
            reported[key] += 1
            if reported[key] > MAX_REPORTED:
                self.left_out[name] = self.left_out.get(name, 0) + 1
            else:
                yield self.finding(problem)

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of every part of the file, and what the readers have noted beside them."""
        said: set[str] = set()
        lengths: set[tuple[str | None, int | None]] = set()
        for problem in self._of_parts():
            if len(said) < MAX_SAID:
                said.add(problem.message)
            if problem.rule.name == "table-unit-length":
                lengths.add((problem.section, problem.offset))
            yield problem
        said.update(error.message for error in self.file.kernels.problems)  # each of which has a rule of its own
        for error in self.file.problems:
            where = error.where
            if error.kind == "relocation" and where.offset is None:  # of all rows: dwarfgpu cannot read such files
                raise error
            is_known = (
                error.message in said or where.section == EH_FRAME_HDR or (where.section, where.offset) in lengths
            )
            if not is_known and not isinstance(error, MissingContext):
                yield _rules_about(where.section).unreadable(error)

    def _of_parts(self) -> Iterator[Problem]:
        image = self.file.image
        for error in tuple(image.problems):
            yield RULES.unreadable(error)
        for section in image.sections:
            try:
                _ = section.raw
            except DwarfGpuError as error:
                yield RULES.unreadable(error)
        if image.are_addresses_lost:
            names = ", ".join(section.name for section in image.code_sections[:3])
            yield RULES.problem("addresses", names=names)
        yield from KernelChecks(self.file).problems()
        if self.file.has_dwarf:
            yield from self.entries.problems()
            lines = LineChecks(self.file)
            yield from lines.problems()
            yield from lines.gaps(self.entries.functions)
            yield from IndexChecks(self.file).problems()
            yield from UnitTableChecks(self.file).problems()
        frames = CallFrameChecks(self.file, self.expressions)
        yield from frames.problems()
        if self.file.has_dwarf:
            yield from frames.of_functions(self.entries.functions)

    @cached_property
    def entries(self) -> EntryChecks:
        return EntryChecks(self.file.dwarf, self.expressions)

    def _is_ignored(self, problem: Problem) -> bool:
        is_named = not {problem.rule.name, problem.rule.part}.isdisjoint(self.ignored)
        return is_named or (not {"idioms", "limits"}.isdisjoint(self.ignored) and self._idiom(problem) is not None)

    def _idiom(self, problem: Problem) -> str | None:
        """Return what the producer is known to mean, or to write wrongly; None if it is no known mistake."""
        return problem.idiom_name or mistake_in(problem, self._producer_of(problem) or "")

    def _producer_of(self, problem: Problem) -> str | None:
        """Return the producer of the unit that a problem is in, or of the first one; None if it cannot be read."""
        try:
            own = None if problem.die is None else problem.die.unit.producer  # a type unit has none
            units = self.file.dwarf.units if own is None and self.file.has_dwarf else ()
            return own or next((unit.producer for unit in units if unit.producer), None)
        except DwarfGpuError:  # which is a finding of its own
            return None

    def finding(self, problem: Problem) -> FileFinding:
        """Return a problem with what a reader needs to find its cause."""
        die = problem.die
        path: tuple[str, ...] = ()
        source = None
        if die is not None:
            try:
                around = [*islice(self._around(die), MAX_DEPTH + 1)]
                path = tuple(reversed([self._described(each) for each in around]))
                source = self._source(around)
            except DwarfGpuError:  # which is a finding of its own
                path = path or (_described(die),)
        rule = problem.rule
        severity, clause = problem.severity or rule.severity, problem.clause or rule.clause
        place = self.file.name, problem.section, problem.offset
        idiom = self._idiom(problem)
        limit = None if idiom is None else IDIOM
        return FileFinding(rule, severity, problem.message, clause, *place, path, source, idiom, limit=limit)

    def _around(self, die: Die | None) -> Iterator[Die]:
        """Yield an entry, the entry that owns it, and so on."""
        while die is not None:
            yield die
            die = self._parent(die)

    def _source(self, around: list[Die]) -> tuple[str, int] | None:
        for each in around:
            place = self._declared_at(each)
            if place is not None and place.file is not None and place.line:
                return place.file, place.line
        return None


def _rules_about(section: str | None) -> CheckRules:
    """Return the rules that errors of reading a section break."""
    if section is None:
        return RULES
    if section.startswith((".debug_info", ".debug_types")):
        return entries.RULES
    return call_frames.RULES if section in (DEBUG_FRAME, EH_FRAME) else RULES


def _described(die: Die) -> str:
    """Return the tag of an entry, and its name if it has one."""
    try:
        name = die.name
    except DwarfGpuError:
        name = None
    return die.tag_name if name is None else f"{die.tag_name} {name}"
