"""NaNs and infinities: which instruction makes one out of numbers, and where it counts.

A NaN of operands that are no NaNs, an infinity of finite operands, and a number that an integer cannot hold are
followed as `InitCheck` follows undefined bits: all bits of such a result, to a store in global memory, a branch or an
address. What does not get there is no finding: expansions of divisions and roots make infinities that they replace. A
finite result of floats ends the way of a number. A comparison or a conversion of one *loses* it: what depends on that
is followed further. Infinities of constants are not followed; NaNs and infinities of arguments are, from where they
came in.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import batch as columns
from dwarfgpu.execution.access_shapes import GLOBAL, LOCAL, SCRATCH
from dwarfgpu.execution.batch import NOTHING, VCC, number_of
from dwarfgpu.execution.block_writer import KINDS
from dwarfgpu.execution.checks.findings import (
    CAME_IN,
    LOSE,
    MADE_INFINITY,
    MADE_NAN,
    MADE_OF_BITS,
    MAKE,
    NAN,
    READ,
    TOO_LARGE,
    TURN,
    UNDEFINED_BRANCH,
    UNDEFINED_STORE,
    USE,
    WRITE,
    CheckFinding,
    MadeOf,
    Padding,
)
from dwarfgpu.execution.checks.float_bits import (
    EXPONENTS,
    floats_of_sum,
    made_of_bits,
    narrow_classes,
    narrow_floats_of,
    number_text,
)
from dwarfgpu.execution.checks.given_numbers import INFINITE, GivenNumbers
from dwarfgpu.execution.checks.init_check import HALVES, NOT_KNOWN, InitCheck, half_of, halves_read
from dwarfgpu.execution.checks.made_numbers import MadeNumbers, MadeOrigin, PastInstruction
from dwarfgpu.execution.checks.touched_cells import SCC, Cell, TouchedCells, cells_of
from dwarfgpu.execution.checks.undefined_registers import DEFINED, FollowedBits
from dwarfgpu.execution.instructions import is_idle
from dwarfgpu.execution.narrow_operations import converted_bits
from dwarfgpu.immutable import evolve
from dwarfgpu.isa.formulas import single_name
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.isa.semantics.matrices import blocks_of, places_of_results
from dwarfgpu.isa.semantics.matrices import shape_of as matrix_of
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import MEANINGS, InstructionMeaning, meaning_of

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.block_writer import BlockWriter
    from dwarfgpu.isa.formulas import Term
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand

Lanes = Any
_NARROW = {"bf16": "bf16", "rtz_f16": "f16"}
"""Functions of formulas whose results are the bits of floats."""
_CONSTANTS, _MAGNITUDE = (0x7FC00000, 0x7FF80000), 0x7FFFFFFF
"""Constants that are NaNs, without the sign."""
_INFINITIES = _INFINITY, _UPPER_INFINITY = 0x7F800000, 0x7FF00000
"""An infinity, and the upper half of a double that is one."""
_SUM = re.compile(r"D = S0 \+ S1( \+ S2)?")
"""Integer arithmetic that rounds the bits of a float."""
_HALF_LIMIT = 65520.0
"""What rounds to an infinity as a half."""
MOST_CHOSEN = 256
"""How often the variables are looked at where an instruction moves a constant that a function may return."""
MOST_LOOKED_AT = 8
"""How often the operands of one instruction are looked at."""
SIGNS = np.uint32(0x7FFF7FFF)
"""The bits of a register without signs: alone, those make no NaN."""


class NanCheck(InitCheck):
    """Looks at the operands and results of floating-point instructions."""

    CHANGING = *InitCheck.CHANGING, "_made", "_chosen", "_looked", "_in_places", "changed", "given"
    followed = FollowedBits("made", has_unwritten=False)

    def __init__(self, memory: Any, settings: Any, *others: Any, **named: Any) -> None:
        super().__init__(memory, evolve(settings, undefined=(), padding=Padding()), *others, **named)
        self.memory.unwritten = 0
        self.variables: Callable[..., list[MadeOf] | None] = lambda *_place, **_how: []
        """Returns the variables that the line of an instruction names, with their values in lanes of a wave."""
        self.line_at: Callable[[int], object] = lambda pc: pc
        """Returns the line of an instruction."""
        self.divides: Callable[[int], bool] = lambda _pc: True
        """Returns whether the line of an instruction divides, or has a function that does."""
        self.is_in_source: Callable[[int], bool] = lambda _pc: True
        """Returns whether an instruction is in a function of the source, not of a library."""
        self.past: deque[PastInstruction] | None = None
        """The latest instructions with the batch and its registers before: optimized variables are there for some."""
        self.changed: dict[int, Lanes] = {}
        """The instructions that have written dwords of private memory last, by the dword: ``[wave, lane]``."""
        self.constants: dict[str, tuple[int, ...]] = {}
        """The numbers of origins that are constants, by their kind."""
        self._made: dict[tuple[int, str], list[MadeNumbers]] = {}
        self._chosen: dict[tuple[int, str], list[MadeNumbers]] = {}
        """What constants were made of in lanes that have calculated with them."""
        self._looked: dict[MadeOrigin, int] = {}
        """How often it was looked at of what numbers are made."""
        self._in_places: dict[tuple[str, int], Lanes] = {}
        """Where followed numbers in the memory of waves come from, by the space and the dword: ``[wave, lane]``; of
        local memory ``[work-group, 1]``, of integers in global memory that may be floats ``[1, 1]``."""
        self._looks: list[NumberLook | None] = []
        """What looks at the results of the present instruction, or of each part of a dual one."""
        self.reciprocals: set[int] = set()
        """Instructions that compilers begin a division with, in front of the loop that has its line."""
        self._batch: Any = None
        self._counted: dict[MadeOrigin, Lanes] = {}
        """Where the present instruction has stored a half of a double."""
        self._doubles: set[int] = set()
        """The instructions that make doubles."""
        self.memory.loaded_scalar = self._loaded_scalar
        self.given = GivenNumbers(memory, self.memory, settings.floats)
        self._preloaded, self._kernarg = settings.preloaded, settings.kernarg

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        super().use(local, group_of, scratch)
        self._in_places = {key: known for key, known in self._in_places.items() if key[0] == GLOBAL}
        self.changed.clear()

    def note_change(self, batch: WaveBatch, address: Any, size: int) -> None:
        """Take note that lanes have written private memory at an address that they share."""
        for dword in range(address >> 2, address + size + 3 >> 2):
            rows = self.changed.get(dword)
            if rows is None:
                rows = self.changed[dword] = np.zeros((len(self.memory.group_of), batch.lanes), np.int64)
            index = batch.index
            rows[index] = self.pc if batch.mask is None else np.where(batch.mask, self.pc, rows[index])

    def number(self, *origins: Any) -> Any:
        if not all(isinstance(each, MadeOrigin) for each in origins):
            return NOT_KNOWN
        every = dict[Any, Any]()
        for each in origins:  # what was lost on one way is lost
            itself = evolve(each, lost_at=None, nan_at=None)
            known = every.get(itself, itself)
            every[itself] = evolve(each, lost_at=known.lost_at or each.lost_at, nan_at=known.nan_at or each.nan_at)
        return super().number(*every.values())

    def lost(self, origins: Lanes, pc: int) -> Lanes:
        """Return origins whose numbers an instruction loses."""
        return self._changed(origins, lambda each: each if each.lost_at else evolve(each, lost_at=pc))

    def turned(self, origins: Lanes, made: Any, pc: int) -> Lanes:
        """Return the origins of new NaNs: the infinities that another line has made, else the instruction itself."""
        if not any(each.kind == MADE_NAN for each in self._of_number(made)):
            return made
        line = self.line_at(pc)

        def turned(each: MadeOrigin) -> MadeOrigin | None:
            is_begun = each.pc in self.reciprocals and self.divides(pc)
            is_infinity = each.kind in (MADE_INFINITY, INFINITE_CONSTANT) and not is_begun
            is_earlier = is_infinity and not each.lost_at and self.line_at(each.pc) != line
            return evolve(each, nan_at=each.nan_at or pc) if is_earlier else None

        earlier = self._changed(origins, turned)
        return np.where(earlier != 0, earlier, made)

    def _of_number(self, number: int) -> tuple[MadeOrigin, ...]:
        found: tuple[Any, ...] = self._origins[int(number)]
        return found

    def _changed(self, origins: Lanes, change: Callable[[MadeOrigin], MadeOrigin | None]) -> Lanes:
        """Return origins that a function has changed, without those for which it returns None."""
        origins = np.asarray(origins)
        result = origins.copy()
        for number in np.unique(origins).tolist():
            changed = [each for each in map(change, self._of_number(number)) if each is not None]
            result[origins == number] = self.number(*changed) if changed else NOT_KNOWN
        return result

    def is_lost(self, origins: Lanes) -> Lanes:
        """Return where numbers were lost."""
        numbers = np.unique(origins).tolist()
        lost = [number for number in numbers if any(each.lost_at for each in self._of_number(number))]
        return np.isin(origins, lost) if lost else np.zeros(np.shape(origins), bool)

    # --- Text -----------------------------------------------------------------------------------------------------

    def write(self, writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        parts = instruction.components or (instruction,)
        self._looks = [look_of(self, writer, part, address) for part in parts]
        vars(writer).pop("observed", None)
        if self.past is not None and not is_idle(instruction):
            each = f"{writer.name(PastInstruction)}({address}, b, v[:], s[:], m, b.waves)"
            writer.write(f"{writer.name(self.past.append)}({each})")
        super().write(writer, instruction, address)
        for number, look in enumerate(self._looks):
            if look is not None:
                registers = "".join(f"{_text(each)}, " for each in look.registers)
                writer.write(f"o{number} = {'m' if look.kind == COMPARED else f'({registers})'}")
        functions = iter(self._looks)

        def observed(function: Any) -> Any:
            look = next(functions) if len(self._looks) > 1 else self._looks[0]
            return function if look is None else look.observed(function)

        if any(self._looks):
            vars(writer)["observed"] = observed

    def write_behind(self, writer: BlockWriter) -> None:
        """Write what looks at the results of an instruction, behind it."""
        vars(writer).pop("observed", None)
        for number, look in enumerate(self._looks):
            if look is not None and look.functions:
                self.open(writer)
                mask = f"o{number}" if look.kind == COMPARED else writer.write_mask
                conditions = [writer.name(look.log)]
                conditions += [f"{_bits_text(each)} is not {'Z' if each[0] in 'va' else 'D'}" for each in look.cells]
                writer.write(f"if {' or '.join(conditions)}: {writer.name(look)}(b, {mask}, o{number})")
        self._looks = []

    def _write_calculation(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, touched: TouchedCells
    ) -> None:
        meaning = meaning_of(instruction, writer.generation)
        is_asked = meaning is not None and meaning.sources[0] != "exec" and _kind_of(meaning, instruction) == ASKED
        if is_asked or any(look is not None and look.kind == COMPARED for look in self._looks):
            self._write_clear(writer, touched.written, address)
        elif ignored := sum(look.ignored for look in self._looks if look is not None):
            every = [cells_of(each, writer.lanes) for each in instruction.sources[ignored:]]
            reads = (*dict.fromkeys(cell for cells in every for cell in cells),)
            super()._write_calculation(writer, instruction, address, evolve(touched, data=reads))
        else:
            super()._write_calculation(writer, instruction, address, touched)

    def has_odd(self, batch: WaveBatch, apart: tuple[Cell, ...], kind: str) -> Lanes:
        """Return which lanes have a NaN, or an infinity, that nothing here has made, in any register but some.

        A function returns the constant also for that. Other NaNs than those that are followed look like numbers.
        """
        found, noted = np.zeros((batch.count, batch.lanes), bool), self.followed.origins(batch)
        constants = _INFINITIES if kind == INFINITE_CONSTANT else _CONSTANTS
        for index, column in enumerate(batch.vector):
            cell = "v", index
            if column is NOTHING or cell in apart:
                continue
            bits, marks = column & _MAGNITUDE, self.bits_of(batch, cell)
            found = found | np.isin(bits, constants) & (marks == 0)
            if marks is not DEFINED:
                came = self.came_from(np.atleast_1d(noted.get(cell, NOT_KNOWN)))
                found = found | (marks != 0) & (came != 0) & (bits >= _INFINITY)
        return found

    # --- Memory ---------------------------------------------------------------------------------------------------

    def open(self, writer: BlockWriter) -> None:
        if writer.names.get("followed") is not self and self._preloaded[1]:
            writer.write(f"if {self.followed.name!r} not in b.beside: {writer.name(self._begin)}(b)")
        super().open(writer)

    def _begin(self, batch: WaveBatch) -> None:
        """Mark the NaNs and infinities of arguments in the registers that waves begin with."""
        registers, noted, self.pc = self.followed.of(batch).scalar, self.followed.origins(batch), batch.pc
        first, count, word = self._preloaded
        for number in range(count):
            address = np.full((batch.count, 1), self._kernarg + 4 * (word + number), np.uint64)
            if (origins := self._came(batch, address, np.ones((1, 1), bool), 4)).any():
                registers[first + number], noted["s", first + number] = int(LOW), origins

    def _came(self, batch: WaveBatch, address: Any, word: Lanes, width: int) -> Lanes:
        """Return the origins of numbers that are as the launch has given them."""
        flags, places = np.broadcast_arrays(np.asarray(word) != 0, np.asarray(address).astype(np.uint64))
        origins = np.zeros(flags.shape, np.uint32)
        for origin, here in self.given.origins(self.pc, np.where(flags, self.given.at(places, width), -1)):
            origins[here] = self.number(origin)
            self._note_read(origin, batch, np.where(here, places.astype(np.int64), -1))
        return origins

    def _loaded_scalar(self, address: Any, size: int, words: list[Any]) -> None:
        for number, word in enumerate(words):
            column = np.asarray(word, np.uint64).reshape(-1, 1)
            place = np.asarray(address, np.uint64).reshape(-1, 1) + np.uint64(size * number)
            self._loads.append(self._came(self._batch, place, column, size))

    def load(self, batch: WaveBatch, step: Any) -> None:
        self._batch, self._counted = batch, {}
        super().load(batch, step)

    def _loaded(self, batch: WaveBatch, space: str, address: Any, _flags: Lanes, words: list[Lanes]) -> None:
        place = 0
        for word in words:
            size = word.dtype.itemsize
            origins = self._at(batch, space if space in (LOCAL, SCRATCH) else GLOBAL, address, place)
            if size < 4:
                low, high = (self.part(origins, each) for each in HALVES)
                origins = np.where(_is_high(address, place), high, low)
            if space not in (LOCAL, SCRATCH):
                places = np.asarray(address).astype(np.uint64) + np.uint64(place)
                origins = np.maximum(origins, self._came(batch, places, word, size))
            self._loads.append(np.where(word != 0, origins, NOT_KNOWN))
            place += size

    def _at(self, batch: WaveBatch, space: str, address: Any, place: int) -> Lanes:
        """Return where the numbers come from that waves have written to places in their memory."""
        found = np.zeros((batch.count, batch.lanes), np.uint32)
        if not any(key[0] == space for key in self._in_places):
            return found
        dwords, rows = self._dwords(space, address, place, found.shape), self._rows(batch, space)
        for dword in np.unique(dwords).tolist():
            known = self._in_places.get((space, dword))
            if known is not None:
                found = np.where(dwords == dword, known[rows], found)
        return found

    @staticmethod
    def _dwords(space: str, address: Any, place: int, shape: tuple[int, int]) -> Lanes:
        addresses = np.asarray(address).astype(np.int64)
        return np.broadcast_to((addresses if space == GLOBAL else addresses & LOW) + place >> 2, shape)

    def _rows(self, batch: WaveBatch, space: str) -> Lanes:
        rows = self.memory.group_of[batch.waves] if space == LOCAL else batch.waves
        return np.zeros_like(rows) if space == GLOBAL else rows

    def _stored(self, batch: WaveBatch, space: str, address: Any, flags: Lanes, words: list[Lanes]) -> None:
        place = 0
        for number, word in enumerate(words, self._stores):
            candidates = (*self._given[number : number + 1], *self._given, *self._loads)
            origins = next((each for each in candidates if each is not None), NOT_KNOWN)
            stored = np.broadcast_to(word != 0, (batch.count, batch.lanes))
            stored = stored if batch.mask is None else stored & batch.mask
            if space in (LOCAL, SCRATCH):
                for part in range(0, word.dtype.itemsize, 4):
                    self._put(batch, space, np.asarray(address) + place + part, stored, origins, word.dtype.itemsize)
            else:
                if stored.any():  # what has only the bits of a float may be read as one
                    bits = self._only_bits(origins)
                    self._put(batch, GLOBAL, np.asarray(address) + place, stored, bits, word.dtype.itemsize)
                origins = self._stored_as_floats(batch, address, place, stored, origins, number)
                for part in range(place, place + word.dtype.itemsize, 2):  # a word may have two halves
                    self.given.forget(np.asarray(address).astype(np.uint64) + np.uint64(part), stored)
                signs = SIGNS if word.dtype.itemsize == 4 else ~word.dtype.type(1 << 8 * word.dtype.itemsize - 1)
                self._report(UNDEFINED_STORE, batch, self.pc, flags & (word & signs != 0), origins)
            place += word.dtype.itemsize
        self._stores += len(words)

    def _stored_as_floats(
        self, batch: WaveBatch, address: Any, place: int, stored: Lanes, origins: Lanes, number: int
    ) -> Lanes:
        """Return the origins of words that are stored; those that are single floats by an argument are used as such."""
        file, index = self._moved[number] if number < len(self._moved) else SCC
        if file not in "va" or not stored.any():
            return origins
        value, places = self._file(batch, file)[index].view(np.float32), np.asarray(address).astype(np.int64) + place
        here = stored & ~np.isfinite(value)
        here = here & self.given.are_single(places) if here.any() else here
        return np.where(here, self.used(origins, self.pc, MADE_OF_BITS), origins) if here.any() else origins

    def _put(self, batch: WaveBatch, space: str, address: Any, flags: Lanes, origins: Lanes, size: int) -> None:
        dwords, is_shared = self._dwords(space, address, 0, flags.shape), space in (LOCAL, GLOBAL)
        origins, rows = np.broadcast_to(origins, flags.shape), self._rows(batch, space)
        if space == GLOBAL:  # where nothing is followed, nor has been
            known_here = [dword for of, dword in self._in_places if of == GLOBAL]
            flags = flags & ((origins != 0) | (np.isin(dwords, known_here) if known_here else False))
        is_high = _is_high(address, 0)
        parts = [(LOW, flags)] if size >= 4 else [*zip(HALVES, (flags & ~is_high, flags & is_high), strict=True)]
        for written, stored in parts:
            for dword in np.unique(dwords[stored]).tolist():
                here, key = stored & (dwords == dword), (space, dword)
                if key not in self._in_places:
                    shape = (len(self.memory.group_of), 1 if is_shared else batch.lanes)
                    self._in_places[key] = np.zeros(shape, np.uint32)
                chosen, known = here.any(axis=1), self._in_places[key]
                here, before, new = here[chosen], known[rows[chosen]], np.where(here, origins, NOT_KNOWN)[chosen]
                if is_shared:
                    here, new = np.ones((1, 1), bool), new.max(axis=1, keepdims=True)
                new = self.with_part(before, np.ones((1, 1), bool), new, written)
                known[rows[chosen]] = np.where(here, new, before)

    # --- Findings -------------------------------------------------------------------------------------------------

    def make(
        self,
        kind: str,
        batch: WaveBatch,
        look: NumberLook,
        flags: Lanes,
        given: tuple[Lanes, ...],
        old: Any,
        part: int = 0,
    ) -> Any:
        """Take note of numbers that an instruction has made; return the number of their origin."""
        origin = MadeOrigin(look.address, kind)
        known = self._made.setdefault((look.address, kind), [])
        if look.kind == FLOATS and any(len(cells) == 2 for cells, _bits in look.targets):
            self._doubles.add(look.address)
        is_again = look.kind == CONSTANT and self.past is None  # the variables are those of now only
        most = MOST_CHOSEN if is_again else 1 if look.kind == CONSTANT else MOST_LOOKED_AT
        most = max(most - self._looked.get(origin, 0), 0)
        for row in np.flatnonzero(flags.any(axis=1)).tolist()[:most]:
            lanes, wave = np.flatnonzero(flags[row]), int(batch.waves[row]) + self.first()
            named = self._operands(batch, look, row, lanes, given, old, part)
            if named is None:
                return NOT_KNOWN
            calls, element = self.side(MAKE, look.address, wave, lanes, int(lanes[0]), batch=batch), look.element
            known[:] = [each for each in known if not is_again or each.wave != wave]
            known.append(MadeNumbers(wave, (*lanes.tolist(),), partial(evolve, calls), named, partial(element, part)))
            self._looked[origin] = self._looked.get(origin, 0) + 1
        return self.number(origin)

    def chosen(self, batch: WaveBatch, flags: Lanes, origins: Lanes) -> None:
        """Take note of what constants were made of that lanes calculate with: the past tells which way they took."""
        for number in np.unique(np.where(flags, origins, NOT_KNOWN)).tolist():
            for origin in (each for each in self._of_number(number) if each.kind in MADE_BY):
                key, here = (origin.pc, origin.kind), flags & (origins == number)
                known, told = self._made.get(key, []), self._chosen.setdefault(key, [])
                row = int(np.flatnonzero(here.any(axis=1))[0])
                wave, past = int(batch.waves[row]) + self.first(), [*(self.past or ())]
                lanes = np.flatnonzero(here[row])
                lanes = np.setdiff1d(lanes, [lane for made in told if made.wave == wave for lane in made.lanes])
                while past and not (past[-1].pc == origin.pc and past[-1].batch is batch):
                    past.pop()
                if not known or not len(lanes) or len(told) >= MOST_LOOKED_AT:
                    continue
                if past:
                    named = self.variables(batch, row, origin.pc, lanes, past, [()] * len(lanes), is_constant=True)
                    told.append(evolve(known[0], wave=wave, lanes=(*lanes.tolist(),), operands=(*(named or ()),)))
                else:
                    every = (each for each in known if each.wave == wave and np.isin(lanes, each.lanes).all())
                    told += [made.of(lanes.tolist()) for made in every]

    def _operands(
        self, batch: WaveBatch, look: NumberLook, row: int, lanes: Lanes, given: tuple[Lanes, ...], old: Any, part: int
    ) -> tuple[MadeOf, ...] | None:
        every = [*zip(look.names[-len(given) :], given, look.sources[-len(given) :], strict=False)]
        floats = [
            MadeOf(
                name, np.broadcast_to(value, (batch.count, batch.lanes))[row, lanes],
                came=next((at[lanes] for cell in cells if (at := self.came_in(batch, cell, row)) is not None), None),
            )
            for name, value, cells in (every[part : part + 1] if look.has_parts else every[look.ignored :])
            if getattr(value, "ndim", 0) == 2 and value.dtype.kind == "f"
        ]  # fmt: skip
        new = [(file, index, self._file(batch, file)[index]) for file, index in look.registers]
        for (file, index, _now), before in zip(new, old, strict=True):  # the variables were there before
            self._file(batch, file)[index] = before
        try:
            past = [*(self.past or ())]
            is_constant = look.kind in (SELECTED, CONSTANT)
            by_lane = [*zip(*(each.values for each in floats), strict=True)] if floats else [()] * len(lanes)
            result = next(iter(look.targets[part][0]), None)
            named = self.variables(batch, row, look.address, lanes, past, by_lane, result, is_constant=is_constant)
        finally:
            for file, index, now in new:
                self._file(batch, file)[index] = now
        if named is None:
            return None
        certain = [each.values for each in named if each.values is not None and each.is_certain]
        if certain and all(each.values is not None for each in named):
            return tuple(named)
        is_alone, told = not named, [each.values for each in named if each.values is not None]
        for each in floats:  # which may be constants
            is_told = any(np.array_equal(each.values, values, equal_nan=True) for values in told)
            named += [each] * (is_alone or (not is_told and re.match("[-|]*[a-z]", each.name) is not None))
        return tuple(named)

    @staticmethod
    def _file(batch: WaveBatch, file: str) -> list[Any]:
        return batch.scalar if file == "s" else batch.vector if file == "v" else batch.accumulation

    def used(self, origins: Lanes, pc: int, *kinds: str) -> Lanes:
        """Return origins of numbers that an instruction calculates with, which makes those of some kinds count."""

        def used(each: MadeOrigin) -> MadeOrigin:
            return evolve(each, nan_at=pc) if each.kind in kinds and not each.nan_at else each

        return self._changed(origins, used)

    def _only_bits(self, origins: Lanes) -> Lanes:
        """Return the origins of integers that nothing has used as floats."""
        return self._changed(origins, lambda each: each if each.kind == MADE_OF_BITS and not each.nan_at else None)

    def without_bits(self, origins: Lanes) -> Lanes:
        """Return origins without integers that nothing has used as floats."""
        return self._changed(origins, lambda each: None if each.kind == MADE_OF_BITS and not each.nan_at else each)

    def came_to(self, dword: int, wave: int) -> Any:
        """Return where a number in private memory came in, for each lane of a wave; None if it is not followed."""
        return None if (known := self._in_places.get((SCRATCH, dword))) is None else self.came_from(known[wave])

    def came_in(self, batch: WaveBatch, cell: Cell, row: int) -> Any:
        """Return where a number in a register came in, for each lane of a wave; None if it is not followed."""
        bits, noted = self.bits_of(batch, cell), self.followed.origins(batch)
        if bits is DEFINED or cell not in noted:
            return None
        marked = (bits if cell[0] in "va" else np.asarray(bits).reshape(-1, 1)) != 0
        origins = np.broadcast_to(np.where(marked, noted[cell], NOT_KNOWN), (batch.count, batch.lanes))
        return self.came_from(origins[row])

    def came_from(self, origins: Lanes) -> Lanes:
        """Return the addresses that numbers with some origins came from: 0 for others, -1 if it is not told apart."""
        found = np.zeros(np.shape(origins), np.int64)
        for number in np.unique(origins).tolist():
            addresses = [each.address or -1 for each in self._of_number(number) if each.kind in (CAME_IN, INFINITE)]
            if addresses:
                found[origins == number] = addresses[0]
        return found

    def _report_came(self, batch: WaveBatch, kind: str, pc: int, flags: Lanes, origin: MadeOrigin) -> None:
        key: tuple[Any, ...] = origin.pc, origin.kind
        if origin.kind != CAME_IN or not (origin.nan_at or origin.lost_at) or not flags.any():
            return
        finding = self.found.get(key)
        if finding is None:
            row = int(np.flatnonzero(flags.any(axis=1))[0])
            wave, lanes = int(batch.waves[row]) + self.first(), np.flatnonzero(flags[row])
            place: Any = evolve(origin, nan_at=None, lost_at=None)
            reader, read, lane, address = self._reader(place, wave, lanes)
            sides = [self.side(READ, origin.pc, reader, read, lane)]
            middle = ((USE, origin.nan_at), (LOSE, origin.lost_at))
            last = WRITE if kind == UNDEFINED_STORE else USE
            for action, at in (*middle, (last, pc)):
                if at and (action == last or at not in (each.pc for each in sides)):
                    sides.append(self.side(action, at, wave, lanes, int(lanes[0]), batch=batch))
            finding = CheckFinding(NAN, CAME_IN, tuple(sides), "global", origin.address or address, origin.size)
            self.found[key] = finding
        self._count(finding, batch, flags, origin)

    def _count(self, finding: CheckFinding, batch: WaveBatch, flags: Lanes, origin: MadeOrigin) -> None:
        """Count the numbers where lanes have a flag, and their work-groups; the halves of a double are one."""
        if origin.size == 8 or origin.pc in self._doubles:
            before = self._counted.get(origin, np.zeros(flags.shape, bool))
            self._counted[origin], flags = before | flags, flags & ~before
        finding.count += int(np.count_nonzero(flags))
        groups = np.unique(self.memory.group_of[batch.waves[flags.any(axis=1)]])
        finding.groups |= {(self.first(), group) for group in groups.tolist()}

    def _report_one(self, kind: str, batch: WaveBatch, pc: int, flags: Lanes, origin: Any) -> None:
        if isinstance(origin, MadeOrigin) and origin.kind in (CAME_IN, INFINITE):
            self._report_came(batch, kind, pc, flags, origin)
            return
        if not isinstance(origin, MadeOrigin) or not self._made.get((origin.pc, origin.kind)) or not flags.any():
            return
        if origin.kind == MADE_OF_BITS and not (origin.nan_at or origin.lost_at):
            return  # nothing reads it as a float
        key = origin.pc, origin.kind
        finding = self.found.get(key)
        if finding is None:
            row = int(np.flatnonzero(flags.any(axis=1))[0])
            wave, lanes = int(batch.waves[row]) + self.first(), np.flatnonzero(flags[row])
            every = [*self._chosen.get(key, ()), *self._made[key]]
            own = ((made, lane) for made in every if made.wave == wave for lane in made.lanes if lane in lanes)
            made, lane = next(own, (every[0], every[0].lanes[0]))
            at = lane if made.wave == wave and lane in lanes else int(lanes[0])
            item = self.side(MAKE, origin.pc, made.wave, np.array(made.lanes), lane).item
            sides = [made.side(lane=lane, item=item)]
            is_known = origin.kind not in MADE_BY or (made.wave == wave and lane in lanes)
            if not is_known:
                sides = [evolve(self.side(MAKE, origin.pc, wave, lanes, at), callers=sides[0].callers)]
            turn, last = USE if origin.kind == MADE_OF_BITS else TURN, WRITE if kind == UNDEFINED_STORE else USE
            later = (turn, origin.nan_at, pc), (LOSE, origin.lost_at, origin.pc), (last, pc, None)
            places = ((does, place) for does, place, other in later if place not in (None, other))
            sides += [self.side(does, place, wave, lanes, at, batch=batch) for does, place in places]
            finding = self.found[key] = CheckFinding(NAN, MADE_BY.get(origin.kind, origin.kind), tuple(sides))
            index = made.lanes.index(lane)
            operands = made.operands if is_known else ()
            finding.operands = tuple(
                (
                    each.name if each.names is None else each.names[index],
                    each.why if each.values is None else number_text(each.values[index], origin.kind),
                    0 if each.changes is None else int(each.changes[index]),
                    0 if each.came is None or np.isfinite(each.values[index]) else int(each.came[index]),
                    each.is_certain,
                )
                for each in operands
            )
            if (element := made.element(lane)) is not None and is_known:
                finding.operands += (("element", element, 0, 0, True),)
        self._count(finding, batch, flags, origin)


# --- One instruction ----------------------------------------------------------------------------------------------

FLOATS, COMPARED, CONVERTED, PARTS, MATRIX = "floats", "compared", "converted", "parts", "matrix"
NARROWED, ASKED, SUMMED = "narrowed", "asked", "summed"
SELECTED, CONSTANT = "selected", "constant"
"""What results of an instruction are."""
INFINITE_CONSTANT = "infinite constant"
MADE_BY = {CONSTANT: MADE_NAN, INFINITE_CONSTANT: MADE_INFINITY}
"""What functions make that return a constant."""


class NumberLook:
    """Looks at the results of one instruction."""

    def __init__(
        self, check: NanCheck, writer: BlockWriter, instruction: GpuInstruction, address: int, kind: str,
        targets: list[tuple[tuple[Cell, ...], int]], types: tuple[str | None, ...] = (),
    ) -> None:  # fmt: skip
        self.check = check
        self.kind = kind
        self.address = address
        self.lanes = writer.lanes
        self.log: list[tuple[int, tuple[Any, ...], Lanes]] = []
        """What functions of the instruction were given and returned, if it is odd: the number of each."""
        self.functions = 0
        self.types = types
        """The types of floats in operands and results that are words of bits."""
        self.ignored = 0
        """How many of the first operands do not count."""
        self.has_integers = False
        """Whether integers are among the operands of an instruction that makes a float."""
        self.targets = targets
        """For each function the registers of its result, and which of their bits it is."""
        self.matrix = matrix_of(instruction.name)
        if "_rcp_" in instruction.name and not check.divides(address):
            check.reciprocals.add(address)
        self.generation, self.blocks, left = writer.generation, 1, instruction.operand("src0")
        if self.matrix is not None and left is not None and self.matrix.left != "f8f6f4":
            self.blocks = blocks_of(self.matrix, left.count, writer.lanes, writer.generation)
        self.constants = _CONSTANTS if check.is_in_source(address) else (*_CONSTANTS, *_INFINITIES)
        """The constants that count: in a kernel, an infinity is meant."""
        self.is_clamped = kind == FLOATS and bool(instruction.modifiers.get("clamp"))
        """Whether results end between 0 and 1, whatever the function returns; a NaN as 0."""
        self.limits: tuple[float, float] = (0, 0)
        """Between which numbers an integer is."""
        self.operands = instruction.sources
        self.sources = [[*cells_of(each, writer.lanes)] for each in self.operands]
        self.names = [each.text for each in self.operands]
        meaning = meaning_of(instruction, writer.generation)
        self.counted = (
            halves_read(writer, instruction, meaning) if meaning is not None and not instruction.variant else {}
        )

    @property
    def has_parts(self) -> bool:
        """Whether each half of the result has an operand of its own."""
        return self.kind == PARTS and len(self.types) > 1

    @property
    def cells(self) -> list[Cell]:
        """The registers of all results."""
        return [*dict.fromkeys(cell for cells, _bits in self.targets for cell in cells)]

    @property
    def registers(self) -> list[Cell]:
        """Those with a number."""
        return [cell for cell in self.cells if cell != SCC]

    def observed(self, function: Any) -> Any:
        """Return a function that takes note of what is odd."""
        number, log, is_odd = self.functions, self.log, self._is_odd
        self.functions += 1

        def run(*given: Any, **options: Any) -> Any:
            result = function(*given, **options)
            if self.kind == NARROWED:
                log.append((number, given, result))
                return result
            first = result[0] if type(result) in (tuple, list) else result
            if is_odd(given, first):
                log.append((number, given, first))
            return result

        return run

    def _is_odd(self, given: tuple[Lanes, ...], result: Lanes) -> bool:
        if self.is_clamped:
            return False
        if self.kind == COMPARED:
            return any(np.isnan(each).any() for each in given if each.dtype.kind == "f")
        if self.kind == CONSTANT:
            return True
        if self.kind == SELECTED:
            return bool(np.isin(result & _MAGNITUDE, self.constants).any())
        if self.kind == CONVERTED:
            low, high = self.limits
            return not ((given[0] > low) & (given[0] < high)).all()
        if self.kind == SUMMED:
            return bool(made_of_bits(given, result).any())
        if self.kind == MATRIX:
            return any(self._odd(result, number).any() for number in range(len(self.targets)))
        return bool(self._odd(result, 0).any() or (self.kind == PARTS and self._odd(result, 1).any()))

    def _odd(self, value: Lanes, number: int) -> Lanes:
        """Return where a float, or a part of a word, is a NaN or an infinity."""
        if value.dtype.kind == "f":
            limit = _HALF_LIMIT if self.types[:1] == ("mix",) else np.inf
            return ~(np.abs(value) < limit)
        if self.matrix is not None:
            return self._element_classes(value, number)[0]
        bits = EXPONENTS[self.types[number] or "f16"]
        return value >> 16 * number & bits == bits

    def __call__(self, batch: WaveBatch, mask: Lanes, old: Any) -> None:
        """Look at what was odd, and mark the results."""
        shape = batch.count, batch.lanes
        executing = np.broadcast_to(True if mask is None or self.kind == MATRIX else mask, shape)
        entries = {number: (given, result) for number, given, result in self.log}
        self.log.clear()
        if self.kind == NARROWED:
            self._narrow(batch, executing, entries, old)
            return
        if self.kind == COMPARED:
            self._compare(batch, executing, entries)
            return
        for number, (cells, bits) in enumerate(self.targets):
            given, result = entries.get(0 if self.kind in (PARTS, MATRIX) else number, ((), None))
            odd = made = np.zeros(shape, bool)
            births: list[tuple[Lanes, Any]]
            if result is not None and self.kind == CONVERTED:
                made = self._too_large(given[0]) & executing
                origin = self.check.make(TOO_LARGE, batch, self, made, given, old) if made.any() else NOT_KNOWN
                odd = made | ~np.isfinite(given[0])
                self._mark(batch, cells, bits, executing, odd, [(made, self.check.lost(origin, self.address))])
                continue
            if self.kind == CONVERTED:
                continue
            if self.kind == SUMMED:
                made = (made_of_bits(given, result) if result is not None else odd) & executing
                if made.any():
                    floats = floats_of_sum(given, result, made)
                    births = [(made, self.check.make(MADE_OF_BITS, batch, self, made, floats, old))]
                    self._mark(batch, cells, bits, executing, np.ones(shape, bool), births)
                continue
            if self.kind in (SELECTED, CONSTANT):
                if result is not None:
                    self._choose(batch, cells, executing, given, old)
                continue
            births = []
            if result is not None:
                odd, nan, infinite = self._classes(given, result, number)
                odd, nan, infinite = (np.broadcast_to(each, shape) for each in (odd, nan, infinite))
                for kind, flags in ((MADE_NAN, nan & executing), (MADE_INFINITY, infinite & executing)):
                    if flags.any():
                        births.append((flags, self.check.make(kind, batch, self, flags, given, old, number)))
            self._mark(batch, cells, bits, executing, odd, births, () if self.matrix is not None else given)

    def _narrow(self, batch: WaveBatch, executing: Lanes, entries: dict[int, Any], old: Any) -> None:
        """Mark narrow floats that are too large for their type, each in its place in the registers of the result."""
        place = (self.targets[0][1] & -self.targets[0][1]).bit_length() - 1
        for given, result in entries.values():
            values, codes, form = narrow_floats_of(given, result)
            for value, code in zip(values, codes, strict=True):
                number = code & (1 << form.bits - 1) - 1
                odd = np.broadcast_to((number > form.highest) | (code == form.nan), executing.shape)
                new = odd & np.isfinite(value) & executing
                is_infinite = number == form.infinity if form.infinity is not None else np.zeros((1, 1), bool)
                births = [
                    (flags, self.check.make(kind, batch, self, flags, (value,), old))
                    for kind, flags in ((MADE_NAN, new & ~is_infinite), (MADE_INFINITY, new & is_infinite))
                    if flags.any()
                ]
                bits = (1 << form.bits) - 1 << place % 32
                self._mark(batch, self.targets[0][0][place // 32 :][:1], bits, executing, odd, births)
                place += form.bits

    def _choose(self, batch: WaveBatch, cells: tuple[Cell, ...], executing: Lanes, given: Any, old: Any) -> None:
        """Mark NaNs and infinities that are constants; what chooses one has made it."""
        check, noted = self.check, self.check.followed.origins(batch)
        values = [constant_of(each) & _MAGNITUDE for each in self.operands[:2]]
        for kind, constants in ((CONSTANT, _CONSTANTS), (INFINITE_CONSTANT, self.constants[len(_CONSTANTS) :])):
            flags, numbers = executing, check.constants.get(kind, ())
            is_here = [value in constants for value in values]
            if self.kind == CONSTANT and not is_here[0]:
                continue
            if self.kind == SELECTED:
                bits = check.bits_of(batch, cells[0])
                chosen = np.isin(noted.get(cells[0], NOT_KNOWN), numbers) & (bits != 0)
                flags = np.broadcast_to(chosen | np.where(given[2], *is_here[::-1]), executing.shape) & executing
            flags = flags & ~check.has_odd(batch, cells, kind) if flags.any() else flags
            if flags.any():
                made = kind if self.kind == CONSTANT else MADE_BY[kind]
                origin = check.make(made, batch, self, flags, (), old)
                if self.kind == CONSTANT:
                    origin = check.number(MadeOrigin(self.address, kind))
                    check.constants[kind] = (*dict.fromkeys((*numbers, int(origin))),)
                self._mark(batch, cells, LOW, executing, np.ones(executing.shape, bool), [(flags, origin)])

    def _too_large(self, value: Lanes) -> Lanes:
        low, high = self.limits
        return np.isfinite(value) & ~((value > low) & (value < high))

    def _classes(self, given: tuple[Lanes, ...], result: Lanes, number: int) -> tuple[Lanes, Lanes, Lanes]:
        """Return where a result is odd, where it is a NaN that is new, and where it is an infinity that is new."""
        odd = self._odd(result, number)
        nans: Lanes = np.zeros((1, 1), bool)
        finite: Lanes = np.ones((1, 1), bool)
        if self.matrix is not None:
            nans, infinite = self._inputs(given)
            is_nan = self._element_classes(result, number)[1]
            return odd, is_nan & ~nans, odd & ~is_nan & ~(nans | infinite)
        if result.dtype.kind == "f":
            is_nan = np.isnan(result)
        else:
            fraction = (EXPONENTS[self.types[number] or "f16"] ^ 0x7FFF) & 0x7FFF
            is_nan = odd & (result >> 16 * number & fraction != 0)
        given = given[self.ignored :]
        if self.has_parts:
            given = given[number : number + 1]
        for each in given:
            if each.dtype.kind == "u" and self.types[:1] != ("mix",) and self.types and self.kind == FLOATS:
                nan, infinite = narrow_classes(each, self.types[0] or "")
                nans, finite = nans | nan, finite & ~(nan | infinite)
            elif each.dtype.kind == "f":
                nans, finite = nans | np.isnan(each), finite & np.isfinite(each)
        return odd, is_nan & ~nans, odd & ~is_nan & finite

    def _element_classes(self, words: Lanes, number: int) -> tuple[Lanes, Lanes]:
        """Return where elements in the registers of a matrix are NaNs or infinities, and where they are NaNs."""
        assert self.matrix is not None  # noqa: S101 (the caller knows)
        kind = self.matrix.result
        if kind == "f64":
            value = np.ascontiguousarray(words[:, :, 2 * number : 2 * number + 2]).view(np.float64)[:, :, 0]
        elif kind == "f32":
            value = np.ascontiguousarray(words[:, :, number]).view(np.float32)
        else:
            nan, infinite = narrow_classes(words[:, :, number], kind)
            return nan | infinite, nan
        return ~np.isfinite(value), np.isnan(value)

    def _inputs(self, given: tuple[Any, ...]) -> tuple[Lanes, Lanes]:
        """Return which waves have a NaN in the matrices that they multiply or add, and which an infinity."""
        assert self.matrix is not None  # noqa: S101 (the caller knows)
        shape, found = self.matrix, list[list[Lanes]]()
        for words, kind in zip(given[2:5], (shape.left, shape.right, shape.result), strict=True):
            wide = {"f32": "f4", "xf32": "f4", "f64": "f8"}.get(kind)
            if words.dtype != np.uint32 or wide is not None:
                numbers = np.ascontiguousarray(words).view(wide or words.dtype)
                classes: tuple[Lanes, Lanes] = np.isnan(numbers), np.isinf(numbers)
            else:
                classes = narrow_classes(words, kind)
            found.append([each.any(axis=(1, 2), keepdims=True)[:, :, 0] for each in classes])
        return found[0][0] | found[1][0] | found[2][0], found[0][1] | found[1][1] | found[2][1]

    def element(self, number: int, lane: int) -> str | None:
        """Return which element of a matrix a lane has in a register."""
        if self.matrix is None or self.matrix.result not in ("f32", "f64"):
            return None
        lanes, items = places_of_results(self.matrix, self.blocks, self.lanes, self.generation)
        places = np.argwhere((lanes == lane) & (items == number)).tolist()
        if not places:
            return None
        block, row, column = places[0]
        return f"D[{row}][{column}]" + f" of block {block}" * (self.blocks > 1)

    def _mark(
        self, batch: WaveBatch, cells: tuple[Cell, ...], bits: int, executing: Lanes, odd: Lanes,
        births: list[tuple[Lanes, Any]], given: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        """Mark results where they are odd, or depend on what was lost, and let them be numbers elsewhere."""
        check, part = self.check, np.uint32(bits)
        registers, noted = check.followed.of(batch), check.followed.origins(batch)
        made: Any = np.zeros((1, 1), bool)
        for flags, _origin in births:
            made = made | flags
        for cell in cells:
            now = check.bits_of(batch, cell)
            file, index = cell
            is_number = file not in "va"
            column = np.asarray(now, np.uint64).reshape(-1, 1).astype(np.uint32) if is_number else now
            before = column & part if self.kind in (FLOATS, MATRIX) else NOT_KNOWN
            if not made.any() and not column.any():
                continue
            noted_before = np.broadcast_to(noted.get(cell, NOT_KNOWN), odd.shape)
            origins = check.part(noted_before, bits)
            if self.kind == CONVERTED:
                origins = np.where(executing & odd, check.lost(origins, self.address), origins)
            elif self.kind not in (SELECTED, CONSTANT, SUMMED) and column.any():
                if self.has_integers:  # whose bits are no float
                    origins = check.without_bits(origins)
                check.chosen(batch, odd & executing & (column != 0), origins)
                origins = np.where(odd & executing, check.used(origins, self.address, CAME_IN, MADE_OF_BITS), origins)
            keeps = odd | check.is_lost(origins) | ~executing
            column = np.where(made, column | part, np.where(keeps, column, column & ~part))
            for flags, origin in births:
                known = self._infinite(batch, given, cells, np.where(before != 0, origins, NOT_KNOWN))
                origins = np.where(flags, check.turned(known, origin, self.address), origins)
            if is_number:
                whole = np.bitwise_or.reduce(np.where(executing, column, np.uint32(0)), axis=1, keepdims=True)
                registers.scalar[index] = number_of(whole.astype(np.uint64))
                noted[cell] = np.max(origins, axis=1, keepdims=True)
                continue
            file_of = registers.vector if file == "v" else registers.accumulation
            file_of[index] = column if column.any() else DEFINED
            noted[cell] = check.with_part(noted_before, column & ~part != 0, origins, bits)

    def _infinite(self, batch: WaveBatch, given: tuple[Any, ...], cells: tuple[Cell, ...], origins: Lanes) -> Lanes:
        """Return the origins of the operands that are infinite, where these are known; else those of the result."""
        found, noted = np.zeros(np.shape(origins), np.uint32), self.check.followed.origins(batch)
        for value, own in zip(given, self.sources[-len(given) :], strict=False):
            for cell in own if value.dtype.kind == "f" and not np.isfinite(value).all() else ():
                bits = self.counted.get(cell, LOW)
                at = origins if cell in cells else self.check.part(noted.get(cell, NOT_KNOWN), bits)
                is_marked = np.asarray(self.check.bits_of(batch, cell), np.uint64) & np.uint64(bits) != 0
                found = np.where((found == 0) & np.isinf(value) & is_marked, at, found)
        return np.where(found != 0, found, origins)

    def _compare(self, batch: WaveBatch, executing: Lanes, entries: dict[int, Any]) -> None:
        """Mark flags that depend on a NaN."""
        check, (given, _result) = self.check, entries.get(0, ((), None))
        flags, origins = np.zeros(executing.shape, bool), np.zeros(executing.shape, np.uint32)
        for value, cells in zip(given, self.sources, strict=False):
            for cell in cells if value.dtype.kind == "f" else ():
                bits = check.bits_of(batch, cell)
                column = bits if cell[0] in "va" else np.asarray(bits, np.uint64).reshape(-1, 1)
                read = self.counted.get(cell, LOW)
                here = (
                    np.broadcast_to(np.isnan(value) & (column & column.dtype.type(read) != 0), flags.shape) & executing
                )
                flags = flags | here
                origins = np.where(here, check.part(check.followed.origins(batch).get(cell, NOT_KNOWN), read), origins)
        if not flags.any():
            return
        origins = check.lost(origins, self.address)
        cells = self.cells
        if not cells:  # EXEC
            check._report(UNDEFINED_BRANCH, batch, self.address, flags, origins)  # noqa: SLF001 (one class in two)
            return
        registers, noted = check.followed.of(batch), check.followed.origins(batch)
        number = columns.lane_mask(flags, batch)
        for place, cell in enumerate(cells):
            if cell == SCC:
                registers.scc = number_of(flags.any(axis=1, keepdims=True).astype(np.uint64))
            else:
                registers.scalar[cell[1]] = number if cell[1] == VCC else number >> 32 * place & LOW
            noted[cell] = np.max(origins, axis=1, keepdims=True)


def look_of(check: NanCheck, writer: BlockWriter, instruction: GpuInstruction, address: int) -> NumberLook | None:
    """Return what looks at the results of an instruction; None if they are no floats, nor made of some."""
    name, targets = instruction.name, instruction.destinations
    make = partial(NumberLook, check, writer, instruction, address)
    cells = tuple(cells_of(targets[0], writer.lanes)) if targets else ()
    if "_mix" in name:
        is_half = name.endswith("f16")
        bits = HALVES["mixhi" in name] if is_half else LOW
        return None if name.endswith("bf16") else make(FLOATS, [(cells, bits)], ("mix",) if is_half else ())
    if (converted := converted_bits(instruction)) is not None:
        if not name.endswith(("_f32", "_f16", "_bf16")) or re.search("fp6|bf6|fp4", name):
            return None  # of numbers of 6 and 4 bits the largest one is in place of all that are larger
        return make(NARROWED, [(cells, converted[1])])
    if (shape := matrix_of(name)) is not None:
        wide = 2 if shape.result == "f64" else 1
        parts = [(cells[number : number + wide], LOW) for number in range(0, len(cells), wide)]
        return None if shape.result == "i32" else make(MATRIX, parts)
    meaning = meaning_of(instruction, writer.generation)
    if name.startswith("v_dual_"):
        meaning = MEANINGS.get(name) or MEANINGS.get(single_name(name))
    if "dot" in name and meaning is not None and meaning.results[0] in ("f16", "f32"):
        bits = half_of(targets[0], meaning.results[0], instruction)
        return make(FLOATS, [(cells, bits)], (name.rpartition("_")[2],))
    if name.startswith("v_pk_") and meaning is None:
        meaning = MEANINGS.get(single_name(name))
        if meaning is None or meaning.results[0] not in ("f16", "f32"):
            return None
        is_single = meaning.results[0] == "f32"
        return make(FLOATS, [(cells[:1], LOW), (cells[1:2], LOW)] if is_single else _halves(cells))
    return None if meaning is None or meaning.sources[0] == "exec" else _by_meaning(make, instruction, meaning, cells)


def _by_meaning(
    make: Callable[..., NumberLook], instruction: GpuInstruction, meaning: InstructionMeaning, cells: tuple[Cell, ...]
) -> NumberLook | None:
    kind, targets = _kind_of(meaning, instruction), instruction.destinations
    if kind in (None, ASKED):
        return None
    if kind == COMPARED:
        own = next((each for each in targets if not each.register.startswith("exec")), None)
        is_exec = own is None or instruction.name.startswith("v_cmpx")
        return make(kind, [((SCC,) if meaning.results[0] == "scc" else () if is_exec else cells, LOW)])
    if kind == PARTS:
        return make(kind, _halves(cells), tuple(_parts_of(meaning) or ()))
    cells = cells[-1:] if kind == CONSTANT else cells  # of a double the upper half
    look = make(kind, [(cells, half_of(targets[0], meaning.results[0], instruction))])
    if kind == CONSTANT and constant_of(instruction.sources[0]) & _MAGNITUDE not in look.constants:
        return None
    if kind == CONVERTED:
        limits = np.iinfo(np.dtype(KINDS[meaning.results[0]]))
        look.limits = limits.min - 1.0, limits.max + 1.0
    look.ignored = int("div_fixup" in meaning.formula.text)
    look.has_integers = kind == FLOATS and any(each[0] in "ui" for each in meaning.sources)
    return look


def _halves(cells: tuple[Cell, ...]) -> list[tuple[tuple[Cell, ...], int]]:
    return [(cells, each) for each in HALVES]


def constant_of(operand: GpuOperand) -> int:
    """Return the constant that an operand is, of a double its upper half; 0 for any other operand."""
    value = operand.value if operand.kind is OperandKind.LITERAL else 0
    return value >> 32 if operand.bits == 64 else value


def _kind_of(meaning: InstructionMeaning, instruction: GpuInstruction) -> str | None:
    """Return what the results of an operation are, by the types of its row."""
    source, result = meaning.sources[0], meaning.results[0]
    term = meaning.formula.statements[-1][1]
    if result in ("f16", "f32", "f64"):
        return None if term.op == "view" else FLOATS
    if result in ("b32", "b64") and term.op == "source" and term.args[0] == "S0":
        return CONSTANT
    if result == "b32" and term.op == "if" and meaning.sources[-1] == "mask":
        return SELECTED
    if source[0] != "f":
        is_sum = instruction.name[0] == "v" and result[1:] in ("16", "32") and _SUM.fullmatch(meaning.formula.text)
        return SUMMED if is_sum else None
    if result in ("mask", "scc"):
        text = meaning.formula.text
        asks = any(each in text for each in ("is_class", "S0 == S0", "S0 != S0")) or "S0" not in text
        return ASKED if asks or len({each.text for each in instruction.sources[:2]}) == 1 else COMPARED
    if result[0] in "ui" and term.op == "convert" and term.args[0].is_float:
        return CONVERTED
    return PARTS if _parts_of(meaning) else None


def _parts_of(meaning: InstructionMeaning) -> list[str | None] | None:
    """Return the types of the floats that the halves of a result are, the lower one first."""
    term = meaning.formula.statements[-1][1]
    if term.op != "join":
        return None
    found = [_narrow_type(part) for part in reversed(term.args)]
    return found if any(found) else None


def _narrow_type(term: Term) -> str | None:
    if term.op == "convert" and term.type == "f16":
        return "f16"
    if term.op == "call":
        return _NARROW.get(term.args[0])
    return _narrow_type(term.args[0]) if term.op in ("bits", "view", "convert") else None


def _is_high(address: Any, place: int) -> Lanes:
    """Return where a place in memory is in the upper half of a dword."""
    found: Lanes = np.asarray(address).astype(np.int64) + place & 2 != 0
    return found


def _text(cell: Cell) -> str:
    return f"{cell[0]}[{cell[1]}]"


def _bits_text(cell: Cell) -> str:
    return "uz.scc" if cell == SCC else f"u{cell[0]}[{cell[1]}]"
