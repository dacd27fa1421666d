"""Samples beside the code that they were taken in: by instruction, by line of the source, and by loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from dwarfgpu.audits.samples.sample_files import STOCHASTIC, SampleCounts, SampledPlace, SampleFile
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import define, field, frozen
from dwarfgpu.program.code.instructions import Disassembler, ListedInstruction, ProgramCode
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.code.weighted_stacks import StackProfile, WeightedStack, stack_levels, stack_profile

if TYPE_CHECKING:
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.states.program import Program

OTHER_CODE, OUTSIDE, NO_INSTRUCTION = (
    "of code objects that no CODE is", "outside of the code of their file", "whose instruction no CODE has",
)  # fmt: skip
OTHER_INSTRUCTION = "whose address has another instruction in their file"
AMBIGUOUS = "whose instruction is in several lines"
_LINE = re.compile(r"(.*?):(\d+)\b")


class HotInstruction:
    """An instruction with samples."""

    def __init__(self, code: SampledCode, address: int, text: str, counts: SampleCounts) -> None:
        self.code = code
        self.address = address
        """In its file."""
        self.text = text
        self.counts = counts

    @cached_property
    def calls(self) -> tuple[SourceCall, ...]:
        """The functions there, innermost first, with their lines."""
        return self.code.program.state.loaded.calls_at(self.address)

    @property
    def line(self) -> tuple[str, int] | None:
        """The file and the line of the source."""
        source = self.calls[0].source
        return None if source is None or not source.file or not source.line else (source.file, source.line)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that can be seen there and have a value, those of the innermost function first."""
        frames = self.code.program.at(self.address)
        return tuple(each for frame in frames for each in frame.variables() if each.name and each.is_here())


@frozen(eq=False)
class HotLine:
    """A line of the source with samples, or the code of a function without lines."""

    file: str | None
    line: int
    function: str | None
    counts: SampleCounts
    text: str | None


@frozen(eq=False)
class HotLoop:
    """A loop with samples: the code from the target of a branch backwards to that branch."""

    low: int
    high: int
    depth: int
    """How many loops are around it."""
    function: str | None
    file: str | None
    first: int
    last: int
    """Its lines in that file."""
    counts: SampleCounts


@define
class Annotation:
    """What the samples of a file say of the code of some files."""

    samples: SampleFile
    lane_count: int
    instructions: tuple[HotInstruction, ...]
    left_out: Counter[str]
    """Samples that are not of this code, by the reason."""
    shared: int = 0
    """Samples that fit several instructions of their line, and are shown at the first."""
    texts: SourceTexts = field(factory=SourceTexts)

    @property
    def placed(self) -> int:
        """How many samples are of this code."""
        return sum(each.counts.samples for each in self.instructions)

    @property
    def has_stalls(self) -> bool:
        """Whether the profiler says why waves waited."""
        return self.samples.method == STOCHASTIC

    def lines(self) -> list[HotLine]:
        """Return the lines of the source, that with most samples first."""
        found: dict[tuple[str | None, int, str | None], tuple[HotInstruction, SampleCounts]] = {}
        for each in self.instructions:
            file, line = each.line or (None, 0)
            key = file, line, None if file else each.calls[-1].function
            found.setdefault(key, (each, SampleCounts()))[1].add(each.counts)
        rows = [HotLine(*key, counts, self._text(each)) for key, (each, counts) in found.items()]
        return sorted(rows, key=lambda row: (-row.counts.samples, row.file or "", row.line))

    def _text(self, instruction: HotInstruction) -> str | None:
        place = instruction.code.program.state.sources.at(instruction.address)
        line = instruction.line
        return None if place is None or line is None else self.texts.read(place.file).line(line[1])

    def loops(self) -> list[HotLoop]:
        """Return the loops that the samples are in, each with the samples of the loops in it, in order of address."""
        rows: list[HotLoop] = []
        for code in dict.fromkeys(each.code for each in self.instructions):
            inside = [each for each in self.instructions if each.code is code]
            for low, high, depth in code.loops([each.address for each in inside]):
                counts = SampleCounts()
                for each in inside:
                    if low <= each.address <= high:
                        counts.add(each.counts)
                rows.append(HotLoop(low, high, depth, *code.lines_between(low, high), counts))
        return rows

    def stacks(self) -> StackProfile:
        """Return the samples as a profile."""
        reasons = sorted({reason for each in self.instructions for reason in each.counts.reasons})
        stalls = ("issued", "stalled", *(f"stalled: {reason}" for reason in reasons)) if self.has_stalls else ()
        weights = ("samples", "active lanes", "inactive lanes", *stalls)
        stacks = []
        for each in self.instructions:
            counts = each.counts
            found = [counts.samples, counts.lanes, counts.samples * self.lane_count - counts.lanes]
            if self.has_stalls:
                found += [counts.issued, counts.stalled, *(counts.reasons[reason] for reason in reasons)]
            stacks.append(WeightedStack(stack_levels(each.code.program.state.loaded, each.address), tuple(found)))
        if not stacks:
            raise UsageError(f"no sample of {self.samples.path} is of this code", hint="name the file that was sampled")
        name = self.samples.path.rpartition("/")[2]
        return stack_profile(name, weights, tuple(stacks), self.instructions[0].code.program.state.loaded.codes[0])


class SampledCode:
    """A file of code in which samples may be."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._code = ProgramCode(program.state, Disassembler())
        self._functions: dict[tuple[int, int], dict[int, ListedInstruction]] = {}

    def at(self, address: int) -> ListedInstruction | None:
        """Return the instruction that begins at an address of code."""
        span = self._span(address)
        return None if span is None else self._listed(span).get(address)

    def _span(self, address: int) -> tuple[int, int] | None:
        """Return the code of the function around an address."""
        image, loaded = self.program.file.symbol_image, self.program.state.loaded
        if not loaded.codes[0].holds(address):
            return None
        symbol = image.symbol_at(address)
        if symbol is not None and symbol.size:
            return symbol.value, symbol.value + symbol.size
        section = self.program.file.image.code_at(address)
        return None if section is None else (section.address, section.address + section.size)

    def _listed(self, span: tuple[int, int]) -> dict[int, ListedInstruction]:
        """Return the instructions of a function by their addresses; none if it is too large, or not in the file."""
        if span not in self._functions:
            self._functions[span] = {}
            with suppress(DwarfGpuError):
                self._functions[span] = {each.address: each for each in self._code.between(*span).instructions}
        return self._functions[span]

    def instructions(self) -> Iterator[ListedInstruction]:
        spans = {self._span(symbol.value) for symbol in self.program.file.symbol_image.symbols() if symbol.size}
        for span in sorted(filter(None, spans)):
            yield from self._listed(span).values()

    def loops(self, addresses: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield the loops around addresses: the first and the last instruction, and how many loops are around."""
        spans = dict.fromkeys(filter(None, map(self._span, addresses)))
        for span in sorted(spans):
            ends: dict[int, int] = {}
            for each in self._listed(span).values():
                if each.target is not None and span[0] <= each.target <= each.address:
                    ends[each.target] = max(each.address, ends.get(each.target, 0))
            for low, high in sorted(ends.items(), key=lambda item: (item[0], -item[1])):
                if any(low <= address <= high for address in addresses):
                    around = (other for other in ends.items() if other != (low, high))
                    yield low, high, sum(first <= low and high <= last for first, last in around)

    def lines_between(self, low: int, high: int) -> tuple[str | None, str | None, int, int]:
        """Return the function, the file, and the first and last line of some code."""
        loaded, span = self.program.state.loaded, self._span(low)
        listed = {} if span is None else self._listed(span)
        calls = [loaded.calls_at(address)[-1] for address in listed if low <= address <= high]
        sources = [call.source for call in calls if call.source is not None and call.source.line]
        file = sources[0].file if sources else None
        lines = [source.line for source in sources if source.file == file]
        return calls[0].function if calls else None, file, min(lines, default=0), max(lines, default=0)


# --- Where samples belong -------------------------------------------------------------------------------------------


def annotate(samples: SampleFile, programs: Sequence[Program]) -> Annotation:
    """Return what samples say of the code of some files."""
    codes = [SampledCode(program) for program in programs]
    left_out, counted = Counter(samples.left_out), dict[tuple[SampledCode, int], SampleCounts]()
    shared = 0
    index = None
    owners: dict[tuple[int, int], SampledCode | None] = {}
    for place, counts in samples.places.items():
        found: list[tuple[SampledCode, int]] = []
        if place.offset is None:
            index = _Index(codes) if index is None else index
            found = index.find(place)
            reason = AMBIGUOUS if len({*map(_line_at, found)}) > 1 else "" if found else NO_INSTRUCTION
        else:
            key = place.process, place.code_object
            if key not in owners:
                of = {each: c for each, c in samples.places.items() if (each.process, each.code_object) == key}
                owners[key] = _owner(codes, of, samples.moved.get(key, 0))
            code, address = owners[key], place.offset + samples.moved.get(key, 0)
            listed = None if code is None else code.at(address)
            reason = OTHER_CODE if code is None else OUTSIDE if listed is None else ""
            if listed is not None and place.instruction and _mnemonic(listed.text) != _mnemonic(place.instruction):
                reason = OTHER_INSTRUCTION
            found = [(code, address)] if code is not None else []
        if reason:
            left_out[reason] += counts.samples
            continue
        shared += counts.samples if len(found) > 1 else 0
        counted.setdefault(found[0], SampleCounts()).add(counts)
    hot = [HotInstruction(code, address, code.at(address).text, each) for (code, address), each in counted.items()]  # type: ignore[union-attr]
    hot.sort(key=lambda each: (-each.counts.samples, codes.index(each.code), each.address))
    return Annotation(samples, programs[0].target.lane_count, tuple(hot), left_out, shared)


def _owner(codes: Sequence[SampledCode], places: dict[SampledPlace, SampleCounts], moved: int) -> SampledCode | None:
    """Return the file that a code object is: most of its instructions are those that the profiler has seen.

    Where the profiler tells no instructions, it is the only file that has one at each address.
    """
    known = {place: counts for place, counts in places.items() if place.instruction}
    fitting = []
    for code in codes:
        listed = {place: code.at((place.offset or 0) + moved) for place in known or places}
        fits = sum(
            places[place].samples
            for place, each in listed.items()
            if each is not None and (not known or _mnemonic(each.text) == _mnemonic(place.instruction))
        )
        fitting.append((fits, code))
    whole = sum(counts.samples for counts in (known or places).values())
    best = max(fits for fits, _code in fitting)
    owners = [code for fits, code in fitting if fits == best]
    if known:
        return owners[0] if 2 * best > whole else None
    return owners[0] if best == whole and len(owners) == 1 else None


class _Index:
    """Finds instructions by their text and line, for samples that tell no address."""

    def __init__(self, codes: Sequence[SampledCode]) -> None:
        self._named: dict[str, list[tuple[SampledCode, int]]] = {}
        for code in codes:
            for each in code.instructions():
                self._named.setdefault(_words(each.text), []).append((code, each.address))

    def find(self, place: SampledPlace) -> list[tuple[SampledCode, int]]:
        """Return the instructions that a sample may be of."""
        found = self._named.get(_words(place.instruction), [])
        match = _LINE.match(place.comment)
        if match is None:
            return found
        wanted = match[1].rpartition("/")[2], int(match[2])
        return [each for each in found if _line_at(each) == wanted]


def _line_at(place: tuple[SampledCode, int]) -> tuple[str, int]:
    """Return the line of an instruction: the name of the file without its folder, and the number."""
    code, address = place
    source = code.program.state.loaded.calls_at(address)[0].source
    return ("", 0) if source is None else ((source.file or "").rpartition("/")[2], source.line)


def _words(text: str) -> str:
    return " ".join(text.split())


def _mnemonic(text: str) -> str:
    return text.strip().partition(" ")[0]
