"""Values that nothing has written, where they decide something: a branch, the executing lanes, an address, the output.

Each register and each byte has its undefined bits beside it. They follow values; copies are not reported. What a kernel
finds at its start is defined: the registers that the dispatch sets up, arguments, and buffers with contents. A register
is defined in the lanes in which it has been written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.access_shapes import LOCAL, SCRATCH, shape_of
from dwarfgpu.execution.batch import VCC, WaveBatch, lane_flags, number_of
from dwarfgpu.execution.block_writer import BITS, BlockWriter
from dwarfgpu.execution.buffer_formats import NAMES as FORMATTED
from dwarfgpu.execution.checks.findings import (
    INIT,
    LEFT_OUT,
    READ,
    UNDEFINED_ADDRESS,
    UNDEFINED_BRANCH,
    UNDEFINED_STORE,
    USE,
    WRITE,
    CheckFinding,
    Padding,
)
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.execution.checks.touched_cells import (
    ACCESSES,
    BRANCHES,
    CLEARS,
    CONTROL,
    SCC,
    Cell,
    TouchedCells,
    cells_of,
    is_by_lane,
    touched_by,
)
from dwarfgpu.execution.checks.undefined_memory import UndefinedMemory
from dwarfgpu.execution.checks.undefined_registers import DEFINED, UNDEFINED_BITS, FollowedBits
from dwarfgpu.execution.checks.undefined_writer import PropagationWriter, compiled
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.narrow_operations import converted_bits
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics.functions import merged
from dwarfgpu.isa.semantics.matrices import shape_of as matrix_of
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import meaning_of

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.findings import CheckSettings, FindingSide
    from dwarfgpu.execution.device_memory import GlobalMemory
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
    from dwarfgpu.isa.semantics.rows import InstructionMeaning

Lanes = Any
NONE = 0
"""The undefined bits of a scalar register that has none. It is told by identity."""


@frozen
class UndefinedOrigin:
    """Where an undefined value comes from: memory or a register that has not been written."""

    pc: int
    """The instruction that read it first."""
    space: str | None = None
    address: int | None = None
    size: int = 0
    """The bytes of it that are undefined."""
    register: Cell | None = None


Origins = Any
"""Where undefined bits come from: for each wave and lane the number of one or more origins, 0 where none is known."""
NOT_KNOWN = np.uint32(0)
HALVES = (0xFFFF, 0xFFFF0000)
_BY_BIT = re.compile(r"v_(mov|not|and|or|xor|xnor|bfi|or3|and_or|xor3)_b32$")
"""Instructions each bit of whose results is made of the same bit of their operands."""
MOST_NUMBERS = 1 << 16
"""How many are told apart; further ones are not known."""
MOST_ORIGINS = 8
"""How many there are of one value."""


class InitCheck(KeptState):
    """Follows undefined bits, and tells where they count."""

    CHANGING: ClassVar[tuple[str, ...]] = "found", "_in_memory", "_read_at", "_partly", "_copies"
    followed: FollowedBits = UNDEFINED_BITS

    def __init__(
        self,
        memory: GlobalMemory,
        settings: CheckSettings,
        side: Callable[..., FindingSide],
        first: Callable[[], int],
        *,
        generation: int,
        **others: Any,
    ) -> None:
        self.memory = UndefinedMemory(memory, **others)
        self.memory.generation, self.memory.swizzles_dwords = generation, generation >= 9
        self.memory.loaded, self.memory.stored = self._loaded, self._stored
        for start, size in settings.undefined:
            self.memory.set_undefined(start, size)
        self.padding = settings.padding
        self.side = side
        self.first = first
        """Returns how many waves there were before those that there are."""
        self.found: dict[tuple[Any, ...], CheckFinding] = {}
        self.on_finding: Callable[[CheckFinding, WaveBatch, int, tuple[str, int]], None] = lambda *_finding: None
        """Is told of a finding while its wave is there: the row of the wave, and a register or a place in memory."""
        self.padding_of_waves: Callable[[str, WaveBatch, int], Padding] = lambda *_access: Padding()
        """Returns the objects in private or local memory, where waves are that access it."""
        self.pc = 0
        self._origins: list[tuple[UndefinedOrigin, ...]] = [()]
        self._numbers: dict[tuple[UndefinedOrigin, ...], int] = {}
        self._pairs: dict[tuple[int, int], int] = {}
        self._halves: dict[int, tuple[int, int]] = {}
        """The numbers of the lower and the upper half, if these have origins of their own."""
        self._in_memory: dict[tuple[str, int], tuple[Lanes, Origins]] = {}
        """Where undefined bits come from that were written to memory of waves, by the space and the address: waves, and
        a row for each of them."""
        self._read_at: dict[UndefinedOrigin, tuple[Lanes, Lanes]] = {}
        """Where lanes have read the undefined bytes of an origin, likewise; -1 for lanes that have not."""
        self._partly: Any = np.zeros((0, 0), np.int64)
        """By wave and vector register, the latest instruction that has written it in some lanes only, and left
        undefined bits in others; 0 if none has."""
        self._copies: Any = np.zeros((0, 0), np.int64)
        """Likewise, one more than the private address whose undefined bits it has, with the same origins; 0 if none."""
        self._moved: tuple[Cell, ...] = ()
        self._loaded_at: list[Any] = []
        """The registers that the present instruction stores, and the private addresses of what it has loaded."""
        self._loads: list[Origins | None] = []
        self._given: list[Origins | None] = []
        self._stores = 0
        """Where numbers come from that the present instruction has loaded, or is given, and how many it has stored."""

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Begin with the memory of other waves."""
        self.memory.use(local, group_of, scratch)
        self._read_at.clear()
        self._partly = self._copies = np.zeros((0, 0), np.int64)
        self._in_memory = {key: origin for key, origin in self._in_memory.items() if key[0] not in (LOCAL, SCRATCH)}

    def saved(self) -> dict[str, Any]:
        """Return what `restore` needs."""
        return super().saved() | {"undefined": self.memory.saved()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Bring back what was saved."""
        super().restore({name: value for name, value in saved.items() if name in self.CHANGING})
        self.memory.restore(saved["undefined"])

    # --- Text -----------------------------------------------------------------------------------------------------

    def write(self, writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        """Write what follows undefined bits through an instruction, in front of it."""
        touched = touched_by(instruction, writer.lanes, writer.mode)
        if touched is None:
            return
        self.open(writer)
        if touched.does == CONTROL:
            self._write_control(writer, instruction, address, touched)
        elif touched.does == CLEARS:
            self._write_address(writer, touched.addresses, address)
            self._write_clear(writer, touched.written, address)
        elif touched.does == ACCESSES:
            self._write_memory(writer, instruction, address, touched)
        else:
            self._write_calculation(writer, instruction, address, touched)

    def open(self, writer: BlockWriter) -> None:
        """Write what names the bits that this check follows, where a block begins or another check has done so."""
        if writer.names.get("followed") is not self:
            writer.names |= {"Z": DEFINED, "D": NONE, "followed": self}
            start = f"uz = {writer.name(self.followed.of)}(b)"
            writer.write(f"{start}; uv = uz.vector; ua = uz.accumulation; us = uz.scalar")

    def _write_control(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, touched: TouchedCells
    ) -> None:
        cell = BRANCHES.get(instruction.name)
        if cell is not None:
            text = _text(cell)
            writer.write(f"if {text} is not D: {writer.name(self._branch)}(b, {address}, {cell!r})")
        self._write_address(writer, touched.addresses, address)
        self._write_clear(writer, touched.written, address)

    def _write_address(self, writer: BlockWriter, cells: tuple[Cell, ...], address: int) -> None:
        if cells:
            condition = " or ".join(f"{_text(each)} is not {_none(each)}" for each in cells)
            writer.write(f"if {condition}: {writer.name(self._address)}(b, {address}, {cells!r})")

    def _write_clear(self, writer: BlockWriter, cells: Iterable[Cell], address: int) -> None:
        if texts := [self._clear_text(writer, each, address) for each in cells]:
            writer.write("; ".join(texts))

    def _clear_text(self, writer: BlockWriter, cell: Cell, address: int) -> str:
        text = _text(cell)
        if cell[0] in "va":
            clear = f"{writer.name(self.cleared)}(b, m, {text}, {cell!r}, {address})"
            return f"{text} = Z if m is None or {text} is Z else {clear}"
        return f"{text} = D"

    def _write_calculation(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, touched: TouchedCells
    ) -> None:
        name, reads = instruction.name, touched.read
        kept = {*reads}.difference(touched.data)
        step = UndefinedStep(self, writer, instruction, address, reads, touched.written, kept)
        call = f"{writer.name(step)}(b)"
        if touched.is_by_number:
            step.is_always = True
            writer.write(call)
            return
        if not reads:
            self._write_clear(writer, touched.written, address)
            return
        clear = [self._clear_text(writer, each, address) for each in touched.written]
        if touched.is_partial:  # then the destinations are among what has no undefined bits
            clear = []
        condition = " and ".join(f"{_text(each)} is {_none(each)}" for each in reads)
        writer.write(f"if {condition}: {'; '.join(clear) or 'pass'}")
        if name in ("v_writelane_b32", "v_readlane_b32"):
            self._write_lane_move(writer, instruction)
        writer.write(f"else: {call}")

    @staticmethod
    def _write_lane_move(writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write a move of a defined number to or from a lane of a register that has undefined bits in others."""
        register, *scalars = instruction.sources
        texts = [f"{_text(each)} is D" for operand in scalars for each in cells_of(operand, writer.lanes)]
        (cell,) = cells_of(register, writer.lanes)
        if cell[0] not in "va":
            return
        place = f"{writer.scalar(scalars[-1])}, b.count, {writer.lanes})"
        if instruction.name == "v_writelane_b32":
            test, text = " and ".join(texts) or "True", _text(cell)
            writer.write(f"elif {test}: {text} = {writer.name(instructions.write_lane)}({text}, 0, {place}")
            return
        (target,) = cells_of(instruction.destinations[0], writer.lanes)
        lanes = f"{writer.name(instructions.read_lane)}({_text(cell)}, {place}"
        texts.append(f"not {writer.name(has_bits)}({lanes})")
        writer.write(f"elif {' and '.join(texts)}: {_text(target)} = D")

    def _write_memory(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, touched: TouchedCells
    ) -> None:
        self._write_address(writer, touched.addresses, address)
        shape, formatted = shape_of(instruction.name), FORMATTED.match(instruction.name)
        is_scalar = instruction.encoding == "SMEM"
        is_global = is_scalar or formatted is not None or (shape is not None and shape.space == "global")
        step = MemoryStep(self, writer, instruction, address, touched.data, touched.written)
        call = f"{writer.name(step)}(b)"
        if not is_global:
            writer.write(call)
            return
        conditions = [f"{_text(each)} is {_none(each)}" for each in touched.read]
        conditions.append(f"not {writer.name(self.memory)}.has_undefined")
        clear = [] if touched.is_partial else [self._clear_text(writer, each, address) for each in touched.written]
        writer.write(f"if {' and '.join(conditions)}: {'; '.join(clear) or 'pass'}")
        writer.write(f"else: {call}")

    # --- Registers ------------------------------------------------------------------------------------------------

    def cleared(self, batch: WaveBatch, mask: Lanes, old: Lanes, cell: Cell, pc: int) -> Lanes:
        """Return the undefined bits of a register after it has been written in some lanes."""
        left = np.where(mask, np.uint32(0), old)
        if not left.any():
            return DEFINED
        waves = batch.waves[np.broadcast_to(left.any(axis=1), (batch.count,))]
        self.partly(batch)[waves, self._number(batch, cell)] = pc
        return left

    def partly(self, batch: WaveBatch) -> Any:
        """Return the numbers of `_partly`."""
        self._partly = self._of_registers(self._partly, batch)
        return self._partly

    def copies(self, batch: WaveBatch) -> Any:
        """Return the numbers of `_copies`; forms move them without a look."""
        self._copies = self._of_registers(self._copies, batch)
        return self._copies

    def _of_registers(self, numbers: Any, batch: WaveBatch) -> Any:
        shape = len(self.memory.group_of), len(batch.vector) + len(batch.accumulation)
        return numbers if numbers.shape == shape else np.zeros(shape, np.int64)

    @staticmethod
    def _number(batch: WaveBatch, cell: Cell) -> int:
        """Return the number of a vector register; accumulation registers are behind the others."""
        return cell[1] + (len(batch.vector) if cell[0] == "a" else 0)

    def clear(self, batch: WaveBatch, cell: Cell, pc: int) -> None:
        """Mark a register as written."""
        known, (file, index) = self.followed.of(batch), cell
        if file == "scc":
            known.scc = NONE
        elif file == "s":
            known.scalar[index] = NONE
        else:
            registers = known.vector if file == "v" else known.accumulation
            old = registers[index]
            registers[index] = (
                DEFINED if batch.mask is None or old is DEFINED else self.cleared(batch, batch.mask, old, cell, pc)
            )

    def number(self, *origins: UndefinedOrigin) -> Origins:
        known = self._numbers.get(origins, 0)
        if not known and len(self._origins) < MOST_NUMBERS:
            known = self._numbers[origins] = len(self._origins)
            self._origins.append(origins)
        return np.uint32(known)

    def _joined(self, left: Origins, right: Origins) -> Origins:
        """Return the origins of two values."""
        both = (left != 0) & (right != 0) & (left != right)
        return self._combined(left, right, both, lambda *numbers: self.number(*self._origins_of(*numbers)))

    def _origins_of(self, *numbers: int) -> tuple[UndefinedOrigin, ...]:
        return (*dict.fromkeys(each for number in numbers for each in self._origins[number]),)[:MOST_ORIGINS]

    def _combined(self, left: Origins, right: Origins, both: Lanes, combine: Callable[[int, int], Any]) -> Origins:
        """Return numbers, or what a function returns for two of them."""
        combined: Origins = np.where(left != 0, left, right)
        left, right, both = (np.broadcast_to(each, combined.shape) for each in (left, right, both))
        for pair in np.unique(np.stack((left[both], right[both])), axis=1).T.tolist() if both.any() else ():
            combined[both & (left == pair[0]) & (right == pair[1])] = combine(*pair)
        return combined

    def _pair(self, low: int, high: int) -> Origins:
        """Return the number for the halves of a register with these numbers."""
        known = self._pairs.get((low, high), 0)
        if not known and len(self._origins) < MOST_NUMBERS:
            known = self._pairs[low, high] = len(self._origins)
            self._halves[known] = low, high
            self._origins.append(self._origins_of(low, high))
        return np.uint32(known)

    def part(self, origins: Origins, counted: int = LOW) -> Origins:
        """Return the origins of some bits of registers."""
        found = origins
        for number in np.unique(origins).tolist() if self._halves else ():
            if number in self._halves:
                low, high = self._halves[number]
                is_one = not counted & HALVES[0] or not counted & HALVES[1]
                chosen = self.number(*self._origins[number]) if not is_one else low if counted & HALVES[0] else high
                found = np.where(origins == number, chosen, found)
        return found

    def with_part(self, before: Origins, left: Lanes, origins: Origins, written: int) -> Origins:
        """Return the origins of registers after some bits were written; other bits that are left keep their own."""
        if written == LOW:
            return origins
        kept = np.where(left, self.part(before, ~written & LOW), NOT_KNOWN)
        if written not in HALVES:
            return self._joined(origins, kept)
        halves = (origins, kept) if written == HALVES[0] else (kept, origins)
        return self._combined(*halves, (kept != 0) & (kept != origins), self._pair)

    def find(
        self, batch: WaveBatch, cells: Iterable[Cell], pc: int, *, is_by_lane: bool = True,
        counted: Mapping[Cell, int] | None = None,
    ) -> Origins | None:  # fmt: skip
        """Return where the undefined bits come from that some registers have in executing lanes, if they have any.

        With ``counted``, only some of their bits are looked at, and the halves of the result are not told apart.
        """
        found: Origins | None = None
        mask = batch.mask if is_by_lane else None
        for cell in cells:
            bits = LOW if counted is None else counted[cell]
            flags = self.flags_of(batch, cell, mask, bits)
            if flags is not None:
                own = self.origins_of(batch, cell, pc)
                origins = np.where(flags, own if counted is None else self.part(own, bits), NOT_KNOWN)
                found = origins if found is None else self._joined(found, origins)
        return found

    def flags_of(self, batch: WaveBatch, cell: Cell, mask: Lanes, counted: int = LOW) -> Lanes | None:
        """Return which lanes of a register have undefined bits; of a scalar one, which waves; None if none has."""
        bits = self.bits_of(batch, cell)
        if bits is DEFINED:
            return None
        executing = True if mask is None else mask
        is_by_lane = cell[0] in "va"
        flags = (
            (bits & np.uint32(counted) != 0) & executing if is_by_lane else np.reshape(np.asarray(bits) != 0, (-1, 1))
        )
        return flags if flags.any() else None

    def origins_of(self, batch: WaveBatch, cell: Cell, pc: int) -> Origins:
        """Return where the undefined bits of a register come from: from itself if nothing is known."""
        known, itself = self.followed.origins(batch).get(cell), self.number(UndefinedOrigin(pc, register=cell))
        return itself if known is None else np.where(known != 0, known, itself)

    def bits_of(self, batch: WaveBatch, cell: Cell) -> Any:
        """Return the undefined bits of a register."""
        known, (file, index) = self.followed.of(batch), cell
        if file == "scc":
            return known.scc
        return (known.scalar if file == "s" else known.vector if file == "v" else known.accumulation)[index]

    def finish(self, batch: WaveBatch, cells: Iterable[Cell], origins: Origins | None, written: int = LOW) -> None:
        """Take note of where the undefined bits of results come from, or of some bits of registers."""
        known, noted = self.followed.of(batch), self.followed.origins(batch)
        for cell in cells:
            if self._copies.size and cell[0] in "va":
                self._copies[batch.waves, self._number(batch, cell)] = 0
            bits, (file, index) = self.bits_of(batch, cell), cell
            if bits is DEFINED:
                continue
            is_number = file in ("s", "scc")
            if not has_bits(bits):
                if file == "scc":
                    known.scc = NONE
                else:
                    registers = known.scalar if is_number else known.vector if file == "v" else known.accumulation
                    registers[index] = NONE if is_number else DEFINED
            elif origins is None:
                continue
            elif is_number:
                noted[cell] = np.max(origins, axis=1, keepdims=True)
            else:
                before = noted.get(cell, NOT_KNOWN)
                new = self.with_part(before, bits & np.uint32(~written & LOW) != 0, origins, written)
                noted[cell] = new if batch.mask is None else np.where(batch.mask, new, before)

    def taint(self, batch: WaveBatch, step: UndefinedStep) -> None:
        """Mark all bits of results as undefined in lanes where any bit of an operand is; of matrices in all lanes."""
        known = self.followed.of(batch)
        flags: Lanes = np.zeros((1, 1), bool)
        matrix = matrix_of(step.instruction.name) is not None
        for cell in step.reads:
            bits = self.bits_of(batch, cell)
            if cell[0] in "va":
                flags = flags | (bits & np.uint32(step.masks.get(cell, 0xFFFFFFFF)) != 0)
            else:
                flags = flags | (np.array([[bits != 0]]) if isinstance(bits, int) else bits != 0)
        mask = None if matrix else batch.mask
        if matrix or step.instruction.variant.startswith("dpp"):
            flags = flags.any(axis=1, keepdims=True)
        for cell in step.dsts:
            file, index = cell
            if file in "va":
                registers = known.vector if file == "v" else known.accumulation
                new, old = np.where(flags, np.uint32(step.written), np.uint32(0)), registers[index]
                new = new | old & np.uint32(~step.written & 0xFFFFFFFF)
                registers[index] = new if mask is None else merged(mask, new, old)
            else:
                live = flags if mask is None else flags & mask
                number = number_of(np.where(live.any(axis=1, keepdims=True), np.uint64(0xFFFFFFFF), np.uint64(0)))
                if file == "scc":
                    known.scc = number
                else:
                    known.scalar[index] = number

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _loaded(self, batch: WaveBatch, space: str, address: Any, flags: Lanes, words: list[Lanes]) -> None:
        """Take note of where the undefined bits of numbers come from that were read one after the other.

        Padding counts as written: copies of structures read it, and nobody else does.
        """
        place = 0
        padding = self.padding_of_waves(_SPACES[space], batch, self.pc) if space in _SPACES else self.padding
        start = address & 0xFFFFFFFF if space == LOCAL else address  # instructions add in 32 bits
        for number in range(len(words)):
            words[number] = word = padding.without(start + place, words[number])
            found = _undefined_bytes(batch, address, flags, word)
            origins: Origins | None = None
            copied = None
            if found is not None:
                at, size, bits, first = found[0] + place, *found[1:]
                origin = UndefinedOrigin(self.pc, _SPACES.get(space, "global"), at, size)
                here = self.number(origin)
                places = np.asarray(address).astype(np.int64) + (place + first)
                is_read = (word == bits) if batch.mask is None else (word == bits) & batch.mask
                self._note_read(origin, batch, np.where(is_read, places, -1))
                written = self._written(batch, space, at)
                origins = np.where(word != 0, np.where(written != 0, written, here), NOT_KNOWN)
                if space == SCRATCH and word.dtype.itemsize == 4 and ((word == 0) | (written != 0)).all():
                    copied = address + place
            self._loads.append(origins)
            self._loaded_at.append(copied)
            place += word.dtype.itemsize

    def _note_read(self, origin: Any, batch: WaveBatch, places: Lanes) -> None:
        """Take note of where lanes have read an origin, -1 for those that have not."""
        _put(self._read_at, origin, batch, places)

    def _written(self, batch: WaveBatch, space: str, at: int) -> Origins:
        """Return where undefined bits come from that waves have written to memory, 0 if they have not."""
        waves, origins = self._in_memory.get((space, at), (None, NOT_KNOWN))
        if waves is None or (waves is batch.waves and space != LOCAL):
            return origins
        if space == LOCAL:  # which any wave and lane of the work-group may have written
            groups = self.memory.group_of
            is_own = groups[batch.waves][:, None] == groups[waves]
            return np.where(is_own, origins.max(axis=1), NOT_KNOWN).max(axis=1, keepdims=True)
        order = np.argsort(waves)
        rows = order[np.searchsorted(waves, batch.waves, sorter=order).clip(max=len(waves) - 1)]
        return np.where((waves[rows] == batch.waves)[:, None], origins[rows], NOT_KNOWN)

    def _note_written(self, batch: WaveBatch, place: tuple[str, int], origins: Origins) -> None:
        """Take note of where undefined bits come from that waves write to memory of their own."""
        if batch.mask is not None and place[0] != LOCAL:
            origins = np.where(batch.mask, origins, self._written(batch, *place))
        _put(self._in_memory, place, batch, origins)

    def _note_copy(self, batch: WaveBatch, address: Any, number: int, word: Lanes) -> None:
        """Take note of which register has the same undefined bits as what it has been written to."""
        if not self._copies.size:
            return
        rows = self._copies[batch.waves]
        cell = self._moved[number] if number < len(self._moved) else SCC
        origins = self.followed.origins(batch).get(cell)
        is_known = cell[0] in "va" and origins is not None and word.dtype.itemsize == 4 and isinstance(address, int)
        rows[rows == address + 1 if is_known else rows != 0] = 0
        if is_known and ((word == 0) | (origins != 0)).all():
            rows[:, self._number(batch, cell)] = address + 1
        self._copies[batch.waves] = rows

    def _stored(self, batch: WaveBatch, space: str, address: Any, flags: Lanes, words: list[Lanes]) -> None:
        """Take note of where undefined bits come from that are written to memory of a wave, and report others."""
        place = 0
        wrong: dict[UndefinedOrigin, Lanes] = {}
        for number, word in enumerate(words, self._stores):
            candidates = (*self._given[number : number + 1], *self._given, *self._loads)
            origins = next((each for each in candidates if each is not None), NOT_KNOWN)
            if space in (LOCAL, SCRATCH):
                found = _undefined_bytes(batch, address, flags, word)
                if found is not None:
                    self._note_written(batch, (space, found[0] + place), origins)
                    self._note_copy(batch, address + place, number, word)
            elif (left := flags & (self.padding.without(address + address.dtype.type(place), word) != 0)).any():
                self._add(wrong, left, origins, self.pc)
            place += word.dtype.itemsize
        for origin, lanes in wrong.items():
            self._report_one(UNDEFINED_STORE, batch, self.pc, lanes, origin)
        self._stores += len(words)

    def _add(self, lanes: dict[UndefinedOrigin, Lanes], flags: Lanes, origins: Origins, pc: int) -> None:
        """Add the lanes with a flag to those that each origin has."""
        origins = np.broadcast_to(origins, flags.shape)
        for number in np.unique(origins[flags]).tolist():
            for origin in self._origins[number] or (UndefinedOrigin(pc),):
                lanes[origin] = lanes.get(origin, False) | flags & (origins == number)

    def load(self, batch: WaveBatch, step: MemoryStep) -> None:
        """Follow undefined bits from and to memory."""
        self.pc, self._loads, self._loaded_at, self._stores, self._moved = step.address, [], [], 0, step.reads
        counted = None if step.half == LOW else dict.fromkeys(step.reads, step.half)
        self._given = [self.find(batch, (each,), step.address, counted=counted) for each in step.reads]
        try:
            step.run(batch)
        except MachineFault:
            return  # the instruction itself is about to tell
        if step.dsts:
            loads = self._loads
            if len(loads) == len(step.dsts):
                for cell, origins in zip(step.dsts, loads, strict=True):
                    self.finish(batch, (cell,), origins, step.half)
            else:
                self.finish(batch, step.dsts, next((each for each in loads if each is not None), None), step.half)
            if self._copies.size and len(self._loaded_at) == len(step.dsts):
                for cell, row in zip(step.dsts, self._loaded_at, strict=True):
                    if cell[0] in "va" and isinstance(row, int):
                        self._copies[batch.waves, self._number(batch, cell)] = row + 1
            for cell in step.dsts if batch.mask is not None else ():
                if cell[0] in "va" and (bits := self.bits_of(batch, cell)) is not DEFINED:
                    self.cleared(batch, batch.mask, bits, cell, step.address)

    # --- Where they count -----------------------------------------------------------------------------------------

    def _branch(self, batch: WaveBatch, pc: int, cell: Cell) -> None:
        bits = self.bits_of(batch, cell)
        if cell != SCC:  # a bit that is 1 for certain decides
            value = batch.scalar[VCC]
            bits = np.where(np.asarray(value, np.uint64) & ~np.asarray(bits, np.uint64) != 0, np.uint64(0), bits)
        waves = np.broadcast_to(np.asarray(bits).reshape(-1) != 0, (batch.count,))
        if waves.any():
            origins = self.origins_of(batch, cell, pc)
            mask = True if batch.mask is None else batch.mask
            self._report(
                UNDEFINED_BRANCH, batch, pc, waves[:, None] & np.broadcast_to(mask, (batch.count, batch.lanes)), origins
            )
        if cell == SCC:
            self.followed.of(batch).scc = NONE

    def exec_is(self, batch: WaveBatch, bits: Any, step: UndefinedStep) -> None:
        """Look at what becomes EXEC."""
        if isinstance(bits, int) and not bits:
            return
        flags = np.broadcast_to(lane_flags(bits, batch.lanes), (batch.count, batch.lanes))
        origins = self.find(batch, step.reads, step.address, is_by_lane=False)
        if flags.any():
            self._report(UNDEFINED_BRANCH, batch, step.address, flags, NOT_KNOWN if origins is None else origins)

    def _address(self, batch: WaveBatch, pc: int, cells: tuple[Cell, ...]) -> None:
        found = {cell: flags for cell in cells if (flags := self.flags_of(batch, cell, batch.mask)) is not None}
        if not found:
            return
        mask = np.broadcast_to(True if batch.mask is None else batch.mask, (batch.count, batch.lanes))
        for cell, flags in found.items():
            if (executing := flags & mask).any():
                self._report(UNDEFINED_ADDRESS, batch, pc, executing, self.origins_of(batch, cell, pc))
                break
        for cell in cells:
            self.clear(batch, cell, pc)

    def _report(self, kind: str, batch: WaveBatch, pc: int, flags: Lanes, origins: Origins) -> None:
        lanes: dict[UndefinedOrigin, Lanes] = {}
        self._add(lanes, flags, origins, pc)
        for origin, those in lanes.items():
            self._report_one(kind, batch, pc, those, origin)

    def _report_one(self, kind: str, batch: WaveBatch, pc: int, flags: Lanes, origin: UndefinedOrigin) -> None:
        key = kind, origin.pc, origin.register, pc
        finding = self.found.get(key)
        if finding is None:
            row = int(np.flatnonzero(flags.any(axis=1))[0])
            wave, lanes = int(batch.waves[row]) + self.first(), np.flatnonzero(flags[row])
            reader, read, lane, address = self._reader(origin, wave, lanes)
            does = USE if kind != UNDEFINED_STORE else WRITE
            own = lane if reader == wave and lane in lanes else int(lanes[0])
            sides = [self.side(does, pc, wave, lanes, own, batch=batch)]
            register = None
            if origin.space is not None:
                sides.insert(0, self.side(READ, origin.pc, reader, read, lane))
            elif origin.register is not None:
                file, index = origin.register
                register = "scc" if file == "scc" else "vcc" if origin.register == ("s", VCC) else f"{file}{index}"
                at = self.partly(batch)[batch.waves[row], self._number(batch, origin.register)] if file in "va" else 0
                if at:
                    sides.insert(0, self.side(LEFT_OUT, int(at), wave, lanes))
            if address is not None and origin.space == "local":
                address &= 0xFFFFFFFF
            finding = self.found[key] = CheckFinding(
                INIT, kind, tuple(sides), origin.space, address, origin.size, register
            )
            place = origin.register or (origin.space or "", address or 0)
            self.on_finding(finding, batch, row, place)
        finding.count += int(np.count_nonzero(flags))

    def _reader(self, origin: UndefinedOrigin, wave: int, lanes: Lanes) -> tuple[int, Lanes, int | None, int | None]:
        """Return which of some lanes have read an origin, else another lane, the first of them, and the address there.

        A value may come from another lane.
        """
        waves, places = self._read_at.get(origin, (np.zeros(0, np.int64), np.zeros((0, 0), np.int64)))
        waves = waves + self.first()
        for row in np.flatnonzero(waves == wave).tolist():
            if len(own := lanes[places[row, lanes] >= 0]):
                return wave, own, int(own[0]), int(places[row, own[0]])
        for row, lane in np.argwhere(places >= 0)[:1].tolist():
            return int(waves[row]), np.array([lane]), lane, int(places[row, lane])
        return wave, lanes, None, origin.address


def halves_read(writer: BlockWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> dict[Cell, int]:
    """Return which bits an operation reads of the registers of its operands."""
    found, operands = dict[Cell, int](), [each for each in instruction.sources if each.name != "simm"]
    first = -1 if operands and operands[0] in instruction.destinations else 0
    for position, (operand, kind) in enumerate(zip(operands, meaning.sources, strict=False), first):
        half = HALVES[writer.is_high(operand, instruction, position)]
        for cell in cells_of(operand, writer.lanes):
            found[cell] = found.get(cell, 0) | (half if BITS.get(kind) == 16 else LOW)
    return found


def half_of(target: GpuOperand, kind: str, instruction: GpuInstruction) -> int:
    """Return the bits of a register that a result of a type has."""
    is_high = target.half == 1 or instruction.modifiers.get("op_sel", 0) >> 3 & 1
    return HALVES[bool(is_high)] if BITS.get(kind) == 16 else LOW


class UndefinedStep:
    """One instruction, for batches in which one of its operands may have an undefined bit."""

    is_always = False
    """Whether only the function knows which registers the instruction reads."""
    masks: Mapping[Cell, int] = MappingProxyType({})
    """The bits of operands that count, where not all do."""

    def __init__(
        self, check: InitCheck, writer: BlockWriter, instruction: GpuInstruction, address: int, reads: tuple[Cell, ...],
        dsts: tuple[Cell, ...], kept: Collection[Cell] = (),
    ) -> None:  # fmt: skip
        self.check = check
        self.model = writer
        self.instruction = instruction
        self.address = address
        self.reads = reads
        self.dsts = dsts
        self.written = 0xFFFFFFFF
        name = instruction.name
        self.is_by_lane = is_by_lane(instruction)
        sources = [cells_of(operand, self.model.lanes) for operand in self.instruction.sources]
        cells = (*sources, [("s", VCC)])[:3]
        self.select = cells if self.is_by_lane and self.instruction.name.startswith("v_cndmask") and cells[2] else None
        self._function: Callable[[WaveBatch], None] | None = None
        if "_mix" in name:
            self._count_halves()
        converted = converted_bits(instruction)
        if converted is not None and instruction.variant != "sdwa":  # which says itself what it reads
            read, self.written = converted
            masks = dict.fromkeys(dsts, 0)
            for position, bits in enumerate((read, 0xFFFFFFFF, 0xFFFFFFFF)):
                if (operand := instruction.operand(f"src{position}")) is not None:
                    masks |= {cell: masks.get(cell, 0) | bits for cell in cells_of(operand, self.model.lanes)}
            self.masks = masks
        self.half = self.written
        """The bits of the result; a register keeps the others."""
        counted, meaning = self.masks, meaning_of(instruction, writer.generation)
        if not counted and meaning is not None and meaning.unit == "vector" and instruction.variant == "":
            counted = halves_read(writer, instruction, meaning)
            self.half = half_of(instruction.destinations[0], meaning.results[0], instruction) if dsts else LOW
            counted |= {} if self.half == LOW else dict.fromkeys(kept, 0)
        self.counted = {cell: bits for cell in reads if (bits := counted.get(cell, LOW))}
        """The bits of operands that results are made of, without those that a result keeps."""
        self.apart = self._halves(self._apart() if instruction.variant == "" and dsts else ())
        """What some bits of some results are made of, if others are made of something else."""
        for part in instruction.components:
            if (touched := touched_by(part, writer.lanes, 0)) is not None:
                self.apart.append((dict.fromkeys(touched.read, LOW), touched.written, LOW))
        self.chosen: list[Mapping[Cell, int] | None] = [None, None]
        """The bits of what a select chooses from, if it chooses halves."""
        if self.select is not None and self.half != LOW:
            own = zip(instruction.sources, sources, range(2), strict=False)
            self.chosen = [
                dict.fromkeys(cells, HALVES[writer.is_high(each, instruction, at)]) for each, cells, at in own
            ]

    def _halves(self, found: tuple[dict[Cell, int], ...]) -> list[tuple[dict[Cell, int], tuple[Cell, ...], int]]:
        return [(each, self.dsts, half) for each, half in zip(found, HALVES, strict=False)]

    def _apart(self) -> tuple[dict[Cell, int], ...]:
        """Return the bits that the lower and the upper half of a result are made of, if they are of different ones."""
        instruction, lanes = self.instruction, self.model.lanes
        sources, name, found = instruction.sources, instruction.name, (dict[Cell, int](), dict[Cell, int]())
        if re.match(r"v_pk_\w+_(bf|[fiub])16$", name) and sources[0] not in instruction.destinations:
            for counted, selected in zip(found, ("op_sel", "op_sel_hi"), strict=True):
                for place, each in enumerate(sources):
                    half = HALVES[instruction.modifiers.get(selected, 0) >> place & 1]
                    counted.update((cell, counted.get(cell, 0) | half) for cell in cells_of(each, lanes))
        elif name == "v_pack_b32_f16":
            for counted, each, place in zip(found, sources, range(2), strict=True):
                half = HALVES[self.model.is_high(each, instruction, place)]
                counted.update(dict.fromkeys(cells_of(each, lanes), half))
        elif name in ("v_lshrrev_b32", "v_lshlrev_b32") and sources[0].text in ("16", "0x10"):
            is_left = name == "v_lshlrev_b32"
            found[is_left].update(dict.fromkeys(cells_of(sources[1], lanes), HALVES[not is_left]))
        elif _BY_BIT.match(name):
            for counted, half in zip(found, HALVES, strict=True):
                counted.update((cell, half) for each in sources for cell in cells_of(each, lanes))
        else:
            return ()
        return found

    def _permuted(self, batch: WaveBatch) -> tuple[dict[Cell, int], ...]:
        """Return the same of a permutation of bytes, if all waves have the same."""
        if self.instruction.name != "v_perm_b32" or self.instruction.variant:
            return ()
        *given, selector = self.instruction.sources
        cells, found = cells_of(selector, self.model.lanes), (dict[Cell, int](), dict[Cell, int]())
        numbers = np.unique(batch.scalar[cells[0][1]]).tolist() if cells and cells[0][0] == "s" else []
        chosen = [numbers[0] >> 8 * place & 0xFF for place in range(4)] if len(numbers) == 1 else [8]
        if any(8 <= each < 12 for each in chosen):  # signs
            return ()
        for place, each in enumerate(chosen):
            for cell in cells_of(given[each < 4], self.model.lanes) if each < 8 else ():
                found[place >> 1][cell] = found[place >> 1].get(cell, 0) | HALVES[each >> 1 & 1]
        return found

    def _count_halves(self) -> None:
        instruction, masks = self.instruction, dict[Cell, int]()
        high, low = (instruction.modifiers.get(name, 0) for name in ("op_sel_hi", "op_sel"))
        for position in range(3):
            operand = instruction.operand(f"src{position}")
            if operand is not None and high >> position & 1:
                for cell in cells_of(operand, self.model.lanes):
                    masks[cell] = masks.get(cell, 0) | (0xFFFF0000 if low >> position & 1 else 0xFFFF)
            elif operand is not None:
                masks |= dict.fromkeys(cells_of(operand, self.model.lanes), 0xFFFFFFFF)
        for half, bits in (("mixlo", 0xFFFF), ("mixhi", 0xFFFF0000)):
            if half in instruction.name:
                self.written = bits
        self.masks = masks | {cell: masks.get(cell, 0) for cell in self.dsts}

    def __call__(self, batch: WaveBatch) -> None:
        """Follow undefined bits through the instruction."""
        check, origins = self.check, self._origins(batch)
        if origins is None and not self.is_always:
            for cell in self.dsts:
                check.clear(batch, cell, self.address)
            return
        if self._function is None:
            self._function = self._made()
        if origins is not None and not self.is_by_lane:  # any lane may get those of another
            origins = np.max(origins, axis=1, keepdims=True)
        apart = self.apart or self._halves(self._permuted(batch))
        parts = [check.find(batch, each, self.address, counted=each) for each, _dsts, _half in apart]
        self._function(batch)
        check.finish(batch, self.dsts, origins, self.half)
        for (_counted, dsts, half), part in zip(apart, parts, strict=True):
            check.finish(batch, dsts, np.zeros((1, 1), np.uint32) if part is None else part, half)

    def _origins(self, batch: WaveBatch) -> Origins | None:
        """Return where the undefined bits of operands come from; a select takes those of what it chooses."""
        find = partial(self.check.find, batch, pc=self.address, is_by_lane=self.is_by_lane)
        found = find(self.counted, counted=self.counted)
        if found is None:
            return None if find(self.reads) is None else np.zeros((1, 1), np.uint32)
        if self.select is None:
            return found
        *parts, condition = self.select
        number = batch.scalar[condition[0][1]]
        if len(condition) > 1:
            number = number | batch.scalar[condition[1][1]] << 32
        given = (find(part, counted=bits) for part, bits in zip(parts, self.chosen, strict=True))
        left, right = (NOT_KNOWN if each is None else each for each in given)
        chosen = np.where(lane_flags(number, batch.lanes), right, left)
        return np.where(chosen != 0, chosen, found)

    def _made(self) -> Callable[[WaveBatch], None]:
        propagation = PropagationWriter(self.model, self.instruction)
        if not propagation.write():
            return lambda batch: self.check.taint(batch, self)
        return propagation.function(lambda batch, bits: self.check.exec_is(batch, bits, self), self.check.followed)


class MemoryStep(UndefinedStep):
    """One memory instruction."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        shape = shape_of(self.instruction.name)
        if shape is not None and shape.size <= 2:  # a load without a half fills the register
            halves = (shape.half, *(each.half for each in self.instruction.operands))
            half = next((each for each in halves if each is not None), 0 if shape.action == "store" else None)
            self.half = LOW if half is None else HALVES[half]

    def __call__(self, batch: WaveBatch) -> None:
        """Follow undefined bits from and to memory."""
        self.check.load(batch, self)

    def run(self, batch: WaveBatch) -> None:
        """Read or write undefined bits."""
        if self._function is None:
            self._function = self._made()
        self._function(batch)

    def _made(self) -> Callable[[WaveBatch], None]:
        model = self.model
        writer = model.alike(self.address)
        self.check.memory.write(writer, self.instruction)
        start = "v = b.vector; a = b.accumulation; s = b.scalar; m = b.mask"
        return compiled(
            [start, "z = followed_of(b); uv = z.vector; ua = z.accumulation; us = z.scalar", *writer.lines],
            writer.names,
            self.check.followed,
        )


_SPACES = {LOCAL: "local", SCRATCH: "private"}


def has_bits(bits: Any) -> bool:
    """Return whether a register has an undefined bit in any wave."""
    return bool(bits if isinstance(bits, int) else bits.any())


def _text(cell: Cell) -> str:
    return "uz.scc" if cell == SCC else f"u{cell[0]}[{cell[1]}]"


def _none(cell: Cell) -> str:
    return "Z" if cell[0] in "va" else "D"


def _put(table: dict[Any, tuple[Lanes, Lanes]], key: Any, batch: WaveBatch, rows: Lanes) -> None:
    """Put the rows of waves into a table in place of those that they had."""
    if rows.shape != (batch.count, batch.lanes):
        rows = np.broadcast_to(rows, (batch.count, batch.lanes))
    waves, others = table.get(key, (batch.waves, rows))
    if waves is not batch.waves:
        left = ~np.isin(waves, batch.waves)
        waves, rows = np.append(batch.waves, waves[left]), np.append(rows, others[left], axis=0)
    table[key] = waves, rows


def _undefined_bytes(batch: WaveBatch, address: Any, flags: Lanes, word: Lanes) -> tuple[int, int, int, int] | None:
    """Return where the undefined bytes of a number begin, in the first lane that has one, and how many there are.

    Behind that are the undefined bits of the number, and at which of its bytes they begin.
    If all lanes have one address, it is the first byte that is undefined in any lane.
    """
    if isinstance(address, int):
        bits = int(np.bitwise_or.reduce(word if batch.mask is None else word * batch.mask, axis=None))
    else:
        lanes = np.flatnonzero(flags & (word != 0))
        if not len(lanes):
            return None
        address = int(address.reshape(-1)[lanes[0]])
        bits = int(np.broadcast_to(word, flags.shape).reshape(-1)[lanes[0]])
    if not bits:
        return None
    data = bits.to_bytes(word.dtype.itemsize, "little")
    first = next(number for number, byte in enumerate(data) if byte)
    size = next((number for number, byte in enumerate(data[first:]) if not byte), len(data) - first)
    return address + first, size, bits, first
