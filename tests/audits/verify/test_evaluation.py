"""What verify passes never fails with an ill-formed error when it is evaluated: all fixtures, with random machines.

Every expression of every entry, and every rule of every row of call frame information, is evaluated at addresses of its
function, with random registers and memory.
"""

import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from dwarfgpu.audits.verify.expressions import ANY_RESULT, IN_TAG, USES
from dwarfgpu.audits.verify.file_check import FileCheck
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Memory, at
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.machines.machine import Dispatch, Machine
from dwarfgpu.objfile.call_frames import Fde
from dwarfgpu.objfile.info.dies import Attribute, Die
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.repairs import as_written
from dwarfgpu.program.frames.frame import Frame
from dwarfgpu.states.program import Program
from tests.builders.folders import FIXTURES

FILES = sorted(
    path
    for folder in ("amdgpu", "asm", "compilers", "features", "host", "llvm24")
    for path in (FIXTURES / folder).iterdir()
    if path.read_bytes()[:4] == b"\x7fELF" and path.suffix not in (".o", ".dwo", ".dwp", ".debug")
)
"""The files that can be loaded."""
LANES = (0, 1, 7, 31)
"""The lanes that everything is evaluated for at once."""
ADDRESSES = 0x4000
"""The size of the memory of each space, from address 0 on."""


def machine_at(file: CodeObject, places: list[int], chance: random.Random) -> Any:
    """Return a machine with a wave, or a thread, at each of some places; all else in it is random."""
    target = file.target.target
    if target.execution_mask is None:
        return _threads(target, places, chance)
    machine = Machine(target)
    machine.dispatches.append(Dispatch(1))
    machine.add_waves(len(places), dispatch=0, work_group=[(i, 0, 0) for i in range(len(places))], wave_in_group=0)
    machine.set_register("pc", places)
    machine.set_register("exec", [chance.getrandbits(target.lane_count) for _ in places])
    for number in range(104):
        machine.set_register(f"s{number}", [chance.randrange(1 << chance.choice((3, 12, 32))) for _ in places])
    for number in range(0, 256, 3):
        row = [chance.randrange(1 << chance.choice((3, 12, 32))) for _ in range(target.lane_count)]
        machine.set_register(f"v{number}", [row] * len(places))
    for name in ("global", "private_wave", "local"):
        space = machine.target.space_named(name)
        for wave in range(len(places) if space is not None else 0):
            instance = {} if name == "global" else {"instance": wave}
            machine.memory.map(space, 0, chance.randbytes(ADDRESSES), **instance)
            if not instance:
                break
    return machine


def _threads(target: Any, places: list[int], chance: random.Random) -> CoreProcess:
    threads: dict[str, dict[str, bytes]] = {}
    for thread, place in enumerate(places):
        known = {}
        for number in range(128):
            register = target.register(number)
            if register is not None:
                value = place if number == target.program_counter else 8 * chance.randrange(ADDRESSES // 8)
                size = register.bit_size // 8
                known[register.name] = (value & (1 << 8 * size) - 1).to_bytes(size, target.byte_order)
        threads[str(thread)] = known
    return CoreProcess(target, threads, [(0, chance.randbytes(ADDRESSES))])


class Questions:
    """What a file has to evaluate, and what its check has found."""

    def __init__(self, path: Path, rounds: int, limit: int) -> None:
        self.file = opened(str(path), None)
        self.chance = random.Random(zlib.crc32(path.name.encode()))
        self.rounds, self.limit = rounds, limit
        self.entries: set[tuple[str, int]] = set()
        """The entries with an error, by section and offset."""
        self.places: set[tuple[str, int]] = set()
        """The places of errors."""
        for problem in FileCheck(self.file).problems():
            if (problem.severity or problem.rule.severity) == "error":
                if problem.die is not None:
                    self.entries.add((problem.die.unit.section, problem.die.section_offset))
                if problem.section is not None and problem.offset is not None:
                    self.places.add((problem.section, problem.offset))
        self.count = 0
        self.failures: list[str] = []

    def ask(self) -> None:
        """Evaluate everything."""
        for _ in range(self.rounds):
            places = self._places()
            attached = Program(self.file).attach(machine_at(self.file, places, self.chance))
            for index in range(len(places)):
                try:
                    frame = next(iter(attached[index]))
                except DwarfGpuError as error:
                    self._note("the frame", error, is_known=False)
                    continue
                self._frame(frame, index)

    def _places(self) -> list[int]:
        chance = self.chance
        spans = [(row.start, row.end) for fde in self._fdes() for row in self._rows(fde)]
        for unit in self.file.dwarf.compile_units() if self.file.has_dwarf else ():
            try:
                spans += self.file.dwarf.index.addresses_of(unit).spans()
            except DwarfGpuError:
                continue
        spans = [(low, high) for low, high in spans if low < high] or [(0x1000, 0x1004)]
        chosen = spans if len(spans) <= self.limit else chance.sample(spans, self.limit)
        return [chance.randrange(low, high) & ~3 if high - low >= 4 else low for low, high in chosen]

    def _fdes(self) -> Iterator[Fde]:
        for entry in self.file.frames.entries():
            if isinstance(entry, Fde):
                yield entry

    def _rows(self, fde: Fde) -> Iterator[Any]:
        try:
            yield from self.file.frames.rows(fde)
        except DwarfGpuError as error:
            self._note(f"the rows of {fde.offset:#x}", error, is_known=self._is_known(fde))

    def _is_known(self, fde: Fde) -> bool:
        """Return whether the check has found an error in an FDE or in its CIE."""
        spans = [(fde.offset, fde.end), (fde.cie.offset, fde.cie.end)]
        return any(
            section == fde.section and any(low <= offset < high for low, high in spans)
            for section, offset in self.places
        )

    def _is_elsewhere(self, error: DwarfGpuError) -> bool:
        """Return whether an error is that of something that is used, in which the check has found one."""
        section, offset = error.where.section, error.where.offset
        return (section, offset) in self.places or any(
            fde.section == section and fde.offset <= (offset or 0) < fde.end and self._is_known(fde)
            for fde in self._fdes()
        )

    def _note(self, what: str, error: DwarfGpuError, *, is_known: bool) -> None:
        self.count += 1
        if isinstance(error, IllFormed) and not is_known and not self._is_elsewhere(error):
            self.failures.append(f"{self.file.name}: {what}: {error}")

    # --- Frames -------------------------------------------------------------------------------------------------------

    def _frame(self, frame: Frame, index: int) -> None:
        self._rules(frame, LaneSet.one(0 if frame.has_lanes else None, index))
        lanes = LaneSet.of(LANES, index) if frame.has_lanes else LaneSet.one(None, index)
        function = frame.outer.function
        if function is not None:
            self._tree(frame, function, lanes)
        if index == 0 and self.file.has_dwarf:
            for unit in self.file.dwarf.compile_units():
                for die in unit.dies():
                    if die.tag_name not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                        self._entry(frame, die, lanes)

    def _rules(self, frame: Frame, lanes: LaneSet) -> None:
        """Evaluate the CFA and all rules of the row of a frame."""
        activation = frame.activation
        place = frame.place
        if activation is None or place is None:
            return
        fde = self.file.frames.fde_at(place)
        if fde is None:
            return
        is_known = self._is_known(fde)
        is_valid = True
        try:
            activation.cfa(lanes)
        except DwarfGpuError as error:
            is_valid = error.where.section is None
            self._note(f"the CFA at {place:#x}", error, is_known=is_known)
        for number in activation.register_rules if is_valid else ():
            try:
                activation._previous(number, lanes)
                self.count += 1
            except DwarfGpuError as error:
                self._note(f"register {number} at {place:#x}", error, is_known=is_known)

    # --- Entries ------------------------------------------------------------------------------------------------------

    def _tree(self, frame: Frame, die: Die, lanes: LaneSet) -> None:
        """Evaluate what a function and the entries in it say."""
        self._entry(frame, die, lanes)
        for child in die.children():
            self._tree(frame, child, lanes)

    def _entry(self, frame: Frame, die: Die, lanes: LaneSet) -> None:
        for attribute in die.attributes:
            try:
                if attribute.value_class in ("exprloc", "loclist") and attribute.name != "DW_AT_GNU_locviews":
                    self._attribute(frame, attribute, lanes)
            except DwarfGpuError as error:
                self._note(f"{attribute.name} of {die.section_offset:#x}", error, is_known=self._has_error(die))

    def _has_error(self, die: Die) -> bool:
        return (die.unit.section, die.section_offset) in self.entries

    def _attribute(self, frame: Frame, attribute: Attribute, lanes: LaneSet) -> None:
        die = attribute.die
        if frame.code is None:
            return
        unit = frame.unit_info(die.unit, frame.code)
        use = IN_TAG.get(die.tag) or USES.get(attribute.name, ANY_RESULT)
        if use.depth > 2:
            return  # a procedure, which runs with the stack of those that call it
        initial = [at(Memory(frame.target.space(0)), 8 * self.chance.randrange(0x800)) for _ in range(use.depth)]
        context = evolve(
            frame.context(lanes, unit), result_kind=use.want, initial_stack=tuple(initial),
            object=at(Memory(frame.target.space(0)), 8 * self.chance.randrange(0x800)))  # fmt: skip
        expressions = unit.expressions(attribute)
        for expression in expressions if isinstance(expressions, tuple) else (expressions,):
            for outcome in evaluate(as_written(expression), context):
                self.count += 1
                if isinstance(outcome, DwarfGpuError):
                    self._note(f"{attribute.name} of {die.section_offset:#x}", outcome, is_known=self._has_error(die))


def check(path: Path, rounds: int, limit: int) -> int:
    questions = Questions(path, rounds, limit)
    questions.ask()
    assert questions.failures == []
    return questions.count


@pytest.mark.parametrize("path", FILES[::12], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_passed_is_evaluated(path: Path) -> None:
    """A row and an entry of some files, or a few."""
    check(path, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_passed_is_evaluated_everywhere(path: Path) -> None:
    check(path, 3, 20)


def test_a_file_has_much_to_evaluate() -> None:
    assert check(FIXTURES / "host/values.gcc.O2.v5.x86_64", 1, 3) > 50
