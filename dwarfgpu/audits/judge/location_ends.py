"""Where the locations of variables begin and end, compared with what instructions write.

A variable that the source assigns once has its value from there on. So its location ends, in the middle of a block of
code, only where something else is written to its registers, and begins behind what writes them for its declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.verify.findings import NOTE, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import CALLS, JUMPS, GpuInstruction, OperandKind

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.source_functions import FunctionTexts
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame

RULES: dict[str, CheckRule] = rules(
    "location",
    ("lost", WARNING, "DWARF 5, 2.6.2",
     "The location of a variable that nothing assigns again ends only where its registers are written.",
     "end the entry where a register of the variable gets another value, or where the block of code ends"),
    ("late", NOTE, "DWARF 5, 2.6.2",
     "The location of a variable begins where its declaration has written its registers.",
     "begin the entry behind the instruction that computes the value"),
)  # fmt: skip

_CHANGES = (
    r"(?:&|\+\+|--)\s*{name}\b|\b{name}\b\s*(?:(?:\.|->)\s*\w+\s*|\[[^\]]*\]\s*)*"
    r"(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
)
"""What may assign a variable, or let others do so."""
_EXEC = frozenset((126, 127))
_NUMBERED = {OperandKind.SGPR: "s", OperandKind.VGPR: "v", OperandKind.AGPR: "a"}


@frozen(eq=False)
class LocationGap:
    """A variable with a location at one of two instructions of a block, and none at the other.

    What the location reads is the same at both: the first instruction does not write it.
    """

    die: Die
    located: int
    """The address at which it has the location."""
    registers: frozenset[str]
    """Those that the location reads; none for a constant."""

    def is_of(self, name: str, line: int) -> bool:
        """Return whether it is one of a variable that is declared in a line."""
        declared = self.die.find_number(dw.DW_AT_decl_line)
        return self.die.name == name and declared is not None and declared.unsigned() == line

    @property
    def text(self) -> str:
        """What has the value."""
        return registers_text(self.registers) or "the constant"


@frozen(eq=False)
class ValidHere:
    """The variables at an instruction whose declaration assigns them, as nothing else does."""

    visible: frozenset[Die]
    fixed: frozenset[int]
    """Their offsets."""
    registers: dict[Die, frozenset[str]]
    """Of those that are in numbered registers alone."""
    computed: dict[Die, frozenset[str]]
    """The registers that the values of the variables come from, of those that are in no memory."""
    located: frozenset[Die]
    """All with a location."""
    scope: frozenset[Die]
    """All in scope."""
    reads: dict[Die, frozenset[str]]
    """As ``computed``, of all variables."""


class ValidityJudge:
    """Judges where locations begin and end while waves execute one instruction after the other."""

    def __init__(self, run: FollowedRun, sightings: Sightings, texts: FunctionTexts) -> None:
        self.run = run
        self.sightings = sightings
        self.texts = texts
        self.gaps: dict[tuple[int, int], tuple[LocationGap, ...]] = {}
        """By the addresses of two instructions of a block that waves execute one after the other."""
        self._before: dict[tuple[int, int], tuple[int, GpuInstruction, ValidHere]] = {}
        self._writers: dict[tuple[int, int], dict[str, int]] = {}
        """By wave and call the instruction of this block that has written a register last."""
        self._starts = cache(self._find_starts)
        self._starts_in = cache(self._find_starts_in)
        self._is_assigned_once = cache(self._find_assigned_once)
        self._written = cache(_written)

    def place(
        self,
        frames: Sequence[Frame],
        visible: dict[Die, Frame],
        registers: dict[Die, set[str]],
        computed: dict[Die, frozenset[str]],
        located: set[Die],
    ) -> ValidHere:
        """Return the place of an instruction, of what is known of the variables there."""
        once = frozenset(die for die, frame in visible.items() if self._is_fixed(die, frame, frames))
        known = {die: frozenset(names) for die, names in registers.items() if die in once}
        kept = {die: names for die, names in computed.items() if die in once}
        scope, fixed = frozenset(visible), frozenset(die.offset for die in once)
        return ValidHere(once, fixed, known, kept, frozenset(located), scope, computed)

    def observe(self, arrival: InstructionVisit, wave: int, place: ValidHere) -> None:
        """Take notice of a wave that is about to execute an instruction, and judge what is different there."""
        key, pc = (wave, arrival.number), arrival.pc
        before, self._before[key] = self._before.get(key), (pc, arrival.instruction, place)
        if before is None:
            return
        writers = self._writers.setdefault(key, {})
        if before[0] + before[1].size != pc or pc in self._starts(pc):
            writers.clear()
            return
        written = self._written(before[1])
        writers.update(dict.fromkeys(written, before[0]))
        is_padding = "s_nop" in (before[1].name, arrival.instruction.name)
        is_wait = before[1].name.startswith("s_wait")  # what it waits for has its value only behind it
        if (before[0], pc) not in self.gaps and not (is_padding or is_wait or _chooses_lanes(before[1])):
            self.gaps[before[0], pc] = tuple(_gaps((before[0], before[2]), (pc, place), written))
        if not int(self.run.lanes.active[wave]):
            return
        for die, names in before[2].computed.items():
            if die in place.visible and die not in place.located and names.isdisjoint(written):
                why = f"nothing has written to {registers_text(names)}, where it is" if names else "it is a constant"
                message = f"{die.name} has no location from here on, and {why}"
                self._report(RULES["lost"], die, arrival, wave, message)
        for die, names in place.registers.items():
            if die in before[2].visible and die not in before[2].located and names.isdisjoint(written):
                self._judge_start(die, names, writers, arrival, wave)

    def end(self, wave: int, number: int) -> None:
        """Forget a wave that ends, or that returns from a call."""
        self._before.pop((wave, number), None)
        self._writers.pop((wave, number), None)

    def _judge_start(
        self, die: Die, names: frozenset[str], writers: dict[str, int], arrival: InstructionVisit, wave: int
    ) -> None:
        if not names <= writers.keys():
            return
        writer = max(writers[name] for name in names)
        place, line = self.texts.declared_at(die), self.run.running.line_at(writer)
        if place is not None and line is not None and line.line == place[1]:
            offset = self.sightings.function(writer)[1]
            message = (
                f"the location of {die.name} begins here, and +{offset:#x} has written {registers_text(names)} for it"
            )
            self._report(RULES["late"], die, arrival, wave, message)

    def _report(self, rule: CheckRule, die: Die, arrival: InstructionVisit, wave: int, message: str) -> None:
        sighting = Sighting(message, self.run.running.machine.ids[wave], None, arrival.visits)
        self.sightings.add(Subject(rule, f"{die.name}", die), arrival.pc, sighting)

    # --- The source and the code ----------------------------------------------------------------------------------

    def _is_fixed(self, die: Die, frame: Frame, frames: Sequence[Frame]) -> bool:
        """Return whether a variable is assigned once while its function executes, which is in no loop."""
        outer = frames[frames.index(frame) + 1 :]
        return self._is_assigned_once(die, frame.scope and frame.scope.die) and not any(map(self._is_in_loop, outer))

    def _is_in_loop(self, frame: Frame) -> bool:
        """Return whether the line of a frame may be executed more than once in its function."""
        text = None if frame.scope is None else self.texts.of(frame.scope.die)
        source = frame.call.source
        return text is None or source is None or text.is_in_loop(source.line)

    def _find_assigned_once(self, die: Die, function: Die | None) -> bool:
        text, place = None if function is None else self.texts.of(function), self.texts.declared_at(die)
        if text is None or place is None or not die.name or text.has_references:
            return False
        changes = [*re.finditer(_CHANGES.format(name=re.escape(die.name)), text.expanded(text.code))]
        if die.tag == dw.DW_TAG_formal_parameter:
            return not changes
        line = text.code.split("\n")[place[1] - text.first] if text.first <= place[1] <= text.last else ""
        is_initialized = re.search(rf"\b{re.escape(die.name)}\s*=(?!=)", line) is not None
        return len(changes) == 1 and is_initialized and not text.is_in_loop(place[1])

    def _find_starts(self, pc: int) -> frozenset[int]:
        """Return where blocks begin in the function at an address, as far as its branches tell."""
        code = self.run.stopped.loaded.at(pc)
        functions = () if code is None else code.functions_at(pc)
        try:
            ranges = functions[-1].die.ranges() if functions else []
        except DwarfGpuError:
            ranges = []
        if code is None or not ranges:
            return frozenset((pc,))
        return self._starts_in(tuple((code.in_program(low), code.in_program(high)) for low, high in ranges))

    def _find_starts_in(self, ranges: tuple[tuple[int, int], ...]) -> frozenset[int]:
        starts: set[int] = set()
        for low, high in ranges:
            pc = low
            while pc < high:
                try:
                    instruction = self.run.calls.instruction(pc)
                except (MachineFault, DwarfGpuError):  # data, or no code
                    pc += 4
                    continue
                after = pc + instruction.size
                if instruction.branch is not None:
                    starts.update((pc + instruction.branch, after))
                elif instruction.name in CALLS or instruction.name in JUMPS:
                    starts.add(after)
                pc = after
        return frozenset(starts)


def _gaps(before: tuple[int, ValidHere], here: tuple[int, ValidHere], written: frozenset[str]) -> Iterator[LocationGap]:
    """Yield the variables in scope at two instructions that have a location at one, which reads nothing written."""
    for (pc, own), (_pc, other) in ((before, here), (here, before)):
        for die, names in own.reads.items():
            if die in other.scope and die in own.scope and die not in other.located and names.isdisjoint(written):
                yield LocationGap(die, pc, names)


def _written(instruction: GpuInstruction) -> frozenset[str]:
    return frozenset(_registers(instruction))


def _registers(instruction: GpuInstruction) -> Iterator[str]:
    """Yield the numbered registers that an instruction writes."""
    for part in instruction.components or (instruction,):
        for operand in part.destinations:
            prefix = _NUMBERED.get(operand.kind)
            if prefix is not None:
                yield from (f"{prefix}{operand.index + number}" for number in range(operand.count))


def _chooses_lanes(instruction: GpuInstruction) -> bool:
    """Return whether an instruction writes EXEC: other lanes may have another value, or none."""
    special = (each.index for each in instruction.destinations if each.kind is OperandKind.SPECIAL)
    return not _EXEC.isdisjoint(special) or "saveexec" in instruction.name or instruction.name.startswith("v_cmpx")


def registers_text(names: frozenset[str]) -> str:
    """Return numbered registers as messages name them."""
    return ", ".join(sorted(names, key=lambda name: (name[0], int(name[1:]))))
