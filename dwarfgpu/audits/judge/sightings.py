"""What was seen to be wrong while a kernel ran, gathered by rule, function and address, and told as findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.located_variables import LocatedVariable, LocatedVariables
from dwarfgpu.audits.noting import noted
from dwarfgpu.audits.verify.findings import ERROR, IDIOM, NOTE, CheckRule, FileFinding, FindingLocation
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.instruction import registers_of
from dwarfgpu.immutable import define, evolve, field, frozen
from dwarfgpu.lanes import first_lane
from dwarfgpu.objfile.call_frames import Fde
from dwarfgpu.program.code.kernel_parameters import source_name
from dwarfgpu.program.frames.frame import frames_at
from dwarfgpu.targets.amdgpu.initial_state import first_instruction

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.variable import Described, Variable

MAX_KEPT = 100_000
"""The places of findings that are kept."""


@frozen
class Sighting:
    """Something that was seen to be wrong before an instruction was executed."""

    message: str
    wave: str
    lane: int | None = None
    visit: int = 1
    """How often a wave had come to the instruction in this chain of calls."""
    lanes: int = 0
    """All lanes of the wave in which it was seen at once, if that is known."""

    @property
    def mask(self) -> int:
        """The lanes in which it was seen."""
        return self.lanes or (0 if self.lane is None else 1 << self.lane)


@frozen
class Subject:
    """What a finding is about, besides its addresses."""

    rule: CheckRule
    name: str
    """The register, variable or line."""
    said: object = None
    """What the file says that is wrong: a rule, an expression; None where it says nothing."""
    limit: str | None = None
    """The limit of the producer that is the reason, one of `LIMITS`."""
    idiom: str | None = None
    """The repairs that tell what the producer means."""
    doubt: str | None = None
    """Why it may be no mistake."""
    is_one: bool = False
    """Whether all of it is one finding, also where nothing is wrong in between."""


@define(eq=False)
class FunctionCounts:
    """What was found of the instructions of a function that were executed."""

    seen: set[int] = field(factory=set)
    """The addresses that were judged."""
    wrong: set[int] = field(factory=set)
    missing: set[int] = field(factory=set)
    """Those of which the file says nothing."""


def places_limit(code: LoadedCode) -> str | None:
    """Return the limit of a producer that never says where lanes are; None if it does so in a function of a file."""
    return None if _has_attribute(code, "DW_AT_LLVM_lane_pc") else "no-lane-places"


def active_limit(code: LoadedCode) -> str | None:
    """Return the limit of a producer that never says which lanes are active."""
    return None if _has_attribute(code, "DW_AT_LLVM_active_lane") else "no-active-lanes"


def _has_attribute(code: LoadedCode, name: str) -> bool:
    none: list[Abbreviation] = []
    return any(
        name in abbreviation.names(unit.dialect, unit.version)
        for unit in code.file.dwarf.index.units
        for abbreviation in noted(unit, unit.table.all, none)
    )


def frames_limit(code: LoadedCode) -> str | None:
    """Return the limit of a producer that writes no call frame information; None if a function of a file has some."""
    frames = code.file.frames
    for section in frames.sections:
        for entry in section.entries():
            if isinstance(entry, DwarfGpuError):
                return None  # which is there, and wrong
            if isinstance(entry, Fde):
                try:
                    row = frames.row_at(entry.low, entry)
                except DwarfGpuError:
                    return None
                if row is not None and row.cfa is not None:
                    return None
    return "no-call-frames"


class Sightings:
    """Collects what is seen, and makes findings of it: one for each range of addresses."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.functions: defaultdict[str, FunctionCounts] = defaultdict(FunctionCounts)
        self.left_out: dict[str, int] = {}
        self.command: tuple[str, ...] = ()
        """What a user types to launch the kernel in the debugger; nothing where no user has launched it."""
        self._subjects: dict[tuple[str, Subject], dict[int, Sighting]] = {}
        self._lanes: defaultdict[tuple[str, Subject], dict[int, dict[str, int]]] = defaultdict(dict)
        """The lanes of each wave in which something was seen at an address, as masks."""
        self._noted: dict[tuple[str, str], set[int]] = {}
        self.function: Callable[[int], tuple[str, int]] = cache(
            lambda pc: running.attached.state.symbol_place(pc) or self._described_at(pc) or ("??", 0)
        )
        """The name of the function at an address, and how far the address is behind its start."""
        self.entries = cache(self._find_entries)
        self._located = LocatedVariables()
        self._limits: dict[tuple[Any, int], str | None] = {}
        self._kept = 0

    def _described_at(self, pc: int) -> tuple[str, int] | None:
        """Return what debugging information says of a function without a symbol, or whose symbol has no size."""
        code = self.running.attached.state.loaded.at(pc)
        functions = () if code is None else code.functions_at(pc)
        if code is None or not functions or not functions[-1].die.name:
            return None
        starts = (code.in_program(low) for low, high in functions[-1].die.ranges())
        return functions[-1].die.name, pc - max((start for start in starts if start <= pc), default=pc)

    def _find_entries(self, name: str, pc: int) -> LocatedVariable | None:
        """Return the entries of the location of a variable that are valid at an address."""
        state = self.running.attached.state
        located = chain.from_iterable(map(self._located.at, frames_at(state, state.loaded.at(pc), pc)))
        return next((each for each in located if each.die.name == name), None)

    def limit(self, find: Callable[[LoadedCode], str | None], pc: int) -> str | None:
        """Return the limit of the producer of the code at an address, which is found out once for each file."""
        code = self.running.attached.state.loaded.at(pc)
        if code is None:
            return None
        key = find, id(code)
        if key not in self._limits:
            self._limits[key] = find(code)
        return self._limits[key]

    def counts(self, pc: int) -> FunctionCounts:
        """Return what is known of the function at an address."""
        return self.functions[self.function(pc)[0]]

    def note(self, rule: CheckRule, pc: int) -> None:
        """Note that a rule was judged at an address, of those that are not judged at every one."""
        self._noted.setdefault((self.function(pc)[0], rule.name), set()).add(pc)

    def see(
        self,
        rule: CheckRule,
        name: str,
        arrival: InstructionVisit,
        row: int,
        message: str,
        *,
        said: object = None,
        lanes: int = 0,
        limit: str | None = None,
    ) -> None:
        """Add what was seen of a wave that is about to execute an instruction."""
        wave, lane = self.running.machine.ids[arrival.wave(row)], first_lane(lanes) if lanes else None
        self.add(Subject(rule, name, said, limit), arrival.pc, Sighting(message, wave, lane, arrival.visits, lanes))

    def add(self, subject: Subject, pc: int, sighting: Sighting) -> None:
        """Add what was seen at an address; of what has been seen there before, only the lanes."""
        key = self.function(pc)[0], subject
        if self.has(subject, pc):
            known = self._lanes[key][pc]
            known[sighting.wave] = known.get(sighting.wave, 0) | sighting.mask
            return
        if self._kept >= MAX_KEPT:
            self.left_out[subject.rule.name] = self.left_out.get(subject.rule.name, 0) + 1
            return
        self._kept += 1
        self._subjects.setdefault(key, {})[pc] = sighting
        self._lanes[key][pc] = {sighting.wave: sighting.mask}

    def differ(self) -> bool:
        """Return whether an error was seen in the comparison with another build."""
        return any(_is_difference(subject) for _function, subject in self._subjects)

    def doubt(self, certain: Sightings, why: str) -> None:
        """Doubt all errors of the comparison with another build that are not certain, too."""
        for (function, subject), places in [*self._subjects.items()]:
            known = certain._subjects.get((function, subject), {})
            if _is_difference(subject):
                key, doubted = (function, subject), (function, evolve(subject, doubt=why))
                lanes = self._lanes[key]
                self._subjects[doubted] = {pc: places[pc] for pc in places if pc not in known}
                self._lanes[doubted] = {pc: lanes[pc] for pc in places if pc not in known}
                self._subjects[key], self._lanes[key] = known, certain._lanes[key]
        for key in certain._subjects.keys() - self._subjects.keys():  # what is apart may have another explanation
            if _is_difference(key[1]):
                self._subjects[key], self._lanes[key] = certain._subjects[key], certain._lanes[key]

    def has(self, subject: Subject, pc: int) -> bool:
        """Return whether something was seen of a subject at an address."""
        return pc in self._subjects.get((self.function(pc)[0], subject), ())

    def of_part(self, part: str) -> Iterator[tuple[Subject, int, Sighting]]:
        """Yield what was seen of the rules of a part, with the addresses; idioms are right as they are meant."""
        for (_function, subject), places in self._subjects.items():
            if subject.rule.part == part and subject.idiom is None:
                yield from ((subject, pc, sighting) for pc, sighting in places.items())

    def wrong_values(self) -> Iterator[tuple[str, int]]:
        """Yield the variables whose values are wrong at an address, with or without another build, by name."""
        for (_function, subject), places in self._subjects.items():
            is_wrong = subject.rule.part == "value" or (
                _is_difference(subject) and subject.rule.name != "against-result"
            )
            if is_wrong and subject.idiom is None and subject.doubt is None:
                yield from ((subject.name, pc) for pc in places)

    def findings(self) -> Iterator[FileFinding]:
        """Yield the findings in the order of addresses."""
        found = (self._findings(function, subject, places) for (function, subject), places in self._subjects.items())
        every = chain.from_iterable(found)
        yield from sorted(every, key=lambda finding: (finding.offset or 0, finding.rule.name, finding.message))

    def _findings(self, function: str, subject: Subject, places: dict[int, Sighting]) -> Iterator[FileFinding]:
        """Yield one finding for each range of addresses without one in it where the same was right."""
        counts, lanes = self.functions.get(function), self._lanes[function, subject]
        judged = self._noted.get((function, subject.rule.name), set() if counts is None else counts.seen)
        seen = sorted(places if subject.is_one else places.keys() | judged)
        found: list[int] = []
        for pc in [*seen, None]:
            if pc is not None and pc in places:
                found.append(pc)
            elif found:
                of_lanes = _union(lanes[each] for each in found)
                yield self._finding(subject, found[0], found[-1], places[found[0]], of_lanes)
                found = []

    def _finding(
        self, subject: Subject, first: int, last: int, sighting: Sighting, lanes: Mapping[str, int]
    ) -> FileFinding:
        running = self.running
        file = running.launched.plan.file
        inside = first - running.launched.plan.load_address
        allocated = (each for each in file.image.sections if each.is_allocated)
        section = next((each for each in allocated if 0 <= inside - each.address < each.size), None)
        function, offset = self.function(first)
        end = self.function(last)[1]
        where = f"{function}+{offset:#x}" if first == last else f"{function}+{offset:#x} to +{end:#x}"
        line = running.line_at(first)
        seen = f"{'' if sighting.lane is None else f'lane {sighting.lane} of '}wave {sighting.wave}"
        place = f"{function}+{offset:#x}" if function.isidentifier() else f"{first:#x}"
        seen += f" at {place}" + (f", visit {sighting.visit}" if sighting.visit > 1 else "")
        rule, message = subject.rule, f"{where}: {sighting.message}"
        name, inside = (None, inside) if section is None else (section.name, inside - section.address)
        source = None if line is None or not line.line else (line.file.name, line.line)
        where_in_file = (file.name, name, inside, (source_name(function),), source)
        idiom, limit = subject.idiom, subject.limit if subject.idiom is None else IDIOM
        severity = rule.severity if subject.doubt is None else NOTE
        message += "" if subject.doubt is None else f"; {subject.doubt}: the builds may differ"
        command = self._command(sighting, first, place)
        return FileFinding(
            rule, severity, message, rule.clause, *where_in_file, idiom, seen, limit, lanes,
            self._location(subject, first), command,
        )  # fmt: skip

    def _command(self, sighting: Sighting, pc: int, place: str) -> tuple[str, ...]:
        """Return the words of the command that stops a wave where something was seen; none without a launch."""
        if not self.command:
            return ()
        steps = [f"wave {sighting.wave}"]
        is_start = sighting.visit == 1 and pc == first_instruction(self.running.launched.plan.start)
        steps += [f"advance *{place}"] * (0 if is_start else sighting.visit)
        steps += [] if sighting.lane is None else [f"lane {sighting.lane}"]
        return (*self.command, *chain.from_iterable(("-ex", step) for step in steps))

    def _location(self, subject: Subject, pc: int) -> FindingLocation | None:
        """Return the location that a finding is about: of the entry at an address, or of one that ends there."""
        if subject.rule.part not in ("value", "against"):
            return None
        state = self.running.attached.state
        frames = frames_at(state, state.loaded.at(pc), pc)
        for variable in (each for frame in frames for each in frame.variables() if each.name == subject.name):
            try:
                ends = [each for each in variable.locations() if each.range is not None and each.range[1] == pc]
                found = next(iter((*variable.locations_here(), *ends)), None)
            except DwarfGpuError:
                found = None
            return None if found is None else self._described(variable, found)
        return None

    def _described(self, variable: Variable, described: Described) -> FindingLocation:
        written, target = described.written, variable.frame.target
        operations = () if written is None else written.instructions
        numbers = dict.fromkeys(number for operation in operations for number in registers_of(operation))
        found = ((number, target.register(number)) for number in numbers)
        names = tuple(f"{number}" if register is None else register.name for number, register in found)
        if described.range is None:
            return FindingLocation(described.operations, names)
        start, end = described.range
        offset = self.function(start)[1]  # the end may be that of the function
        return FindingLocation(described.operations, names, f"+{offset:#x}", f"+{offset + end - start:#x}")


def _is_difference(subject: Subject) -> bool:
    return subject.rule.part == "against" and subject.rule.severity == ERROR


def _union(places: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the lanes of each wave at any of some places, without waves that have none."""
    lanes: dict[str, int] = {}
    for place in places:
        for wave, mask in place.items():
            lanes[wave] = lanes.get(wave, 0) | mask
    return {wave: mask for wave, mask in lanes.items() if mask}
