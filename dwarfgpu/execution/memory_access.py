"""Loads, stores and atomic operations of lanes and of waves, on every kind of memory."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import buffer_formats, lane_moves
from dwarfgpu.execution.access_shapes import (
    ARRIVAL,
    BUFFER,
    FLAT,
    GLOBAL,
    LOCAL,
    SCRATCH,
    SIZES,
    TWO_SOURCES,
    AccessShape,
    changed_in_turn,
    shape_of,
)
from dwarfgpu.execution.batch import M0, WaveBatch, number_of, private_base
from dwarfgpu.execution.block_writer import BlockWriter, cell, needed
from dwarfgpu.execution.device_memory import WORDS, GlobalMemory, MemorySegment, gather, scatter
from dwarfgpu.execution.faults import ADDRESS_ERROR, MEMORY_VIOLATION, SOURCES_DIFFER, MachineFault, UnknownInstruction
from dwarfgpu.execution.local_places import LocalPlaces
from dwarfgpu.immutable import evolve
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics import functions
from dwarfgpu.isa.semantics.functions import merged
from dwarfgpu.isa.semantics.numbers import ALL, LOW
from dwarfgpu.isa.tables import is_gfx12_5
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from random import Random

    from dwarfgpu.execution.weak_memory import OutstandingNow

Lanes = Any
Place = tuple[MemorySegment, Lanes, Lanes]
"""A segment that lanes reach, with their flags, or None for all, and their offsets there."""

OUTSIDE = np.uint64((1 << 64) - 1)
"""In place of an address: outside of a buffer, where loads give 0 and stores do nothing."""

_RECORDS = np.uint64((1 << 45) - 1)
"""The bits of the size of a buffer on GFX12.5; all of them mean that nothing is outside."""
_STRIDE_SCALES = np.array([1, 4, 8, 32], np.uint64)

_EXCHANGE = re.compile(r"ds_(?:wrxchg2|storexchg_2addr_?)(st64|stride64)?_rtn_(b32|b64)$")
_ADD_LANE = re.compile(r"(ds|global)_(read|load|write|store)_(?:dword_addtid|addtid_b32)$")
_TO_LOCAL = re.compile(r"(global|scratch)_load_lds_(\w+)$")
_TRANSPOSED = re.compile(r"ds_read_b(64|96)_tr_b(\d+)$|(ds|global)_load_tr(4|6|8|16)_b(64|96|128)$")
_ASYNCHRONOUS = re.compile(r"(?:global|cluster)_(load|store)_async_(?:to|from)_lds_(b\d+)$")
_BLOCK = re.compile(r"(global|scratch)_(load|store)_block$")


@cache
def local_mask(processor: str) -> int:
    """Return the bits of M0 that are the place in local memory of a load to it."""
    row = processor_named(processor)
    return (1 << (row.local_memory_size - 1).bit_length()) - 1 if row else 0xFFFF


def local_end(processor: str) -> int:
    """Return where the local memory of a processor ends, 0 if lanes that reach behind that stop."""
    row = processor_named(processor) if is_gfx12_5(processor) else None
    return row.local_memory_size if row else 0


class MemoryAccess:
    """The memory of one dispatch, as its waves reach it."""

    generation = 9

    swizzles_dwords = False
    """Whether swizzled elements have always 4 bytes (GFX9 and later)."""

    cell = staticmethod(cell)
    """Returns the text of a register that has data."""

    elements: type[buffer_formats.ElementAccess] = buffer_formats.ElementAccess
    """Loads and stores that convert formats."""

    is_permissive = False
    """Whether accesses outside of local and private memory read 0 and store nothing; else they are faults."""

    apart: Lanes = None
    """The latest addresses in stacks that are buffers where a number is in several dwords.

    On GFX12.5, those of lanes that reach beyond the end of a buffer, which begin inside.
    """

    behind: Lanes = None
    """Where the buffer of each of these lanes ends, on GFX12.5."""

    def __init__(
        self,
        memory: GlobalMemory,
        *,
        lanes: int,
        scratch_base: int = 0,
        apertures: tuple[int, int] = (0, 0),
        local_end: int = 0,
    ) -> None:
        self.lanes = lanes
        self.local_end = local_end
        """Where the local memory of the processor ends, if lanes that reach behind that read 0 and store nothing.

        On GFX12.5 code turns lanes off so, as Triton does (CDNA 5 ISA document, 10.3). Lanes that reach behind the
        local memory of their work-group, but not behind that of the processor, stop as everywhere.
        """
        self.scratch_base = scratch_base
        self.shared_aperture, self.private_aperture = apertures
        self.lane_numbers = np.arange(lanes, dtype=np.int64)[None, :]
        self.mapped = list(memory.segments)
        nothing = np.zeros((0, 0), np.uint8)
        self.memory = memory
        self.use(nothing, np.zeros(0, np.int64), nothing)

    def remap(self, segments: list[MemorySegment], scratch_base: int) -> None:
        """Use other global memory; `use` is to follow."""
        self.mapped, self.scratch_base = segments, scratch_base

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Use the memory of other waves: of their work-groups, ``[group, byte]``, and their own, ``[wave, byte]``.

        ``group_of`` is the row of local memory of each wave.
        """
        self.local_size = local.shape[1]
        self.local = MemorySegment.of(0, local.reshape(-1))
        self.group_of = group_of
        self.scratch_size = scratch.shape[1]
        self.scratch = MemorySegment.of(0, scratch.reshape(-1))
        dwords = self.scratch_size // (4 * self.lanes)
        self.private_size = 4 * dwords
        rows = scratch[:, : dwords * 4 * self.lanes].reshape(len(scratch), dwords, self.lanes, 4)
        self.private = {size: rows.view(WORDS[size]) for size in (1, 2, 4)} if rows.size else {}
        window = MemorySegment.of(self.scratch_base, self.scratch.data) if scratch.size else None
        self.memory.use(self.mapped, window)

    def is_like(self, settings: Any) -> bool:
        """Return whether memory that is as weak as some settings say can be this object; take over the settings."""
        return settings is None

    def chosen(self, batches: list[WaveBatch], random: Random) -> WaveBatch:
        """Return the batch that runs next, where the order is by chance."""
        return batches[random.randrange(len(batches))]

    def going(self, batch: WaveBatch) -> Lanes:
        """Return flags of the waves of a batch that run while the others wait; None for all."""

    def outstanding(self, _wave: int) -> list[OutstandingNow]:
        """Return what a wave has outstanding; everything is complete at once."""
        return []

    def finish(self) -> None:
        """Let memory have all that waves have stored; it has."""

    def undefined_bytes(
        self, _batch: WaveBatch, _row: int, _lane: int, _space: str, _address: int, _size: int
    ) -> bytes:
        """Return the undefined bits of private or local memory of a lane; nothing if nobody follows them."""
        return b""

    def saved(self) -> Any:
        """Return what `restore` needs beside the bytes of memory."""

    def restore(self, saved: Any) -> None:
        """Bring back what was saved."""

    def saved_size(self, _saved: Any) -> int:
        """Return how many bytes there are in what was saved."""
        return 0

    # --- Text -----------------------------------------------------------------------------------------------------

    def write(self, writer: BlockWriter, instruction: GpuInstruction) -> bool:
        """Write a memory instruction; return whether it is one."""
        if instruction.encoding == "SMEM":
            return self._write_scalar(writer, instruction)
        name, modifiers = instruction.name, instruction.modifiers
        if modifiers.get("gds"):
            raise UnknownInstruction(f"{instruction.mnemonic} of global data share")
        if modifiers.get("tfe"):
            raise UnknownInstruction(f"{instruction.mnemonic} with tfe")
        if name in ("ds_append", "ds_consume"):
            self._write_counter(writer, instruction)
            return True
        if (exchange := _EXCHANGE.match(name)) is not None:
            self._write_exchange(writer, instruction, exchange)
            return True
        if (numbered := _ADD_LANE.match(name)) is not None:
            self._write_by_lane(writer, instruction, numbered)
            return True
        if (moved := _TO_LOCAL.match(name)) is not None or modifiers.get("lds"):
            self._write_to_local(writer, instruction, f"{moved[1]}_load_{moved[2]}" if moved else name)
            return True
        if (transposed := _TRANSPOSED.match(name)) is not None:
            size, bits = transposed[1] or transposed[5], transposed[2] or transposed[4]
            self._write_transposed(writer, instruction, int(size) // 32, int(bits))
            return True
        if is_gfx12_5(writer.processor) and self._write_of_gfx12_5(writer, instruction):
            return True
        # Each work-group that a load for its cluster is for makes that load itself (CDNA 5 ISA document, 10.7).
        shape = shape_of(name.replace("cluster_", "global_").replace("_monitor_", "_"))
        if shape is None:
            return buffer_formats.write_formatted(self, writer, instruction)
        address = self._address(writer, instruction, shape)
        if "_monitor_" in name:
            address = f"{writer.name(aligned)}(b, {address}, {shape.size * shape.count})"
        if shape.action == "load":
            self._write_load(writer, instruction, shape, address)
        elif shape.action == "store":
            self._write_store(writer, instruction, shape, address)
        else:
            self._write_atomic(writer, instruction, shape, address)
        return True

    def _write_of_gfx12_5(self, writer: BlockWriter, instruction: GpuInstruction) -> bool:
        """Write an operation that GFX12.5 has and others do not, or that does otherwise there."""
        if (copied := _ASYNCHRONOUS.match(instruction.name)) is not None:
            self._write_copy(writer, instruction, copied[1], f"global_{copied[1]}_{copied[2]}")
            return True
        if instruction.name in ("tensor_load_to_lds", "tensor_store_from_lds"):
            self._write_tile(writer, instruction)
            return True
        if (block := _BLOCK.match(instruction.name)) is not None:
            self._write_block(writer, instruction, AccessShape(block[2], block[1], 4))
            return True
        if "_barrier_arrive_" in instruction.name:
            self._write_arrival(writer, instruction)
            return True
        return False

    def _write_arrival(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write an arrival at a barrier in local memory: with a number, or with 1 once earlier copies are complete."""
        target, given = instruction.operand("vdst"), instruction.operand("data0")
        count = "1" if given is None else self._wide(given, 0, 8)
        writer.write(f"x = {writer.name(self.arrive)}(b, {self._address(writer, instruction, ARRIVAL)}, {count})")
        for number in range(0 if target is None else 2):
            writer.keep(self.cell(needed(instruction, "vdst"), number), f"(x >> {32 * number}).astype('u4')")

    def arrive(self, batch: WaveBatch, address: Lanes, count: Any) -> Lanes:
        """Let lanes arrive at barriers in local memory, one after the other; return what these were."""
        return self.atomic(batch, LOCAL, address, ARRIVAL, np.asarray(count, np.uint64))

    def _write_store(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape, address: str) -> None:
        if shape.space == LOCAL and shape.size == 4:
            place, store = needed(instruction, "addr"), writer.name(self.store_local)
            for number, offset in enumerate(local_offsets(instruction, shape)):
                data = needed(instruction, f"data{number}")
                texts = ", ".join(self._word(data, word, shape) for word in range(shape.count))
                writer.write(f"{store}(b, v[{place.index}], {offset}, [{texts}])")
            return
        data = needed(instruction, "vdata", "data0", "data")
        texts = ", ".join(self._word(data, number, shape) for number in range(shape.count))
        call = f"{writer.name(self.store)}(b, {writer.name(shape.space)}, {address}, {shape.size}, [{texts}])"
        if own := self._private_text(writer, instruction, shape):
            call = f"{writer.name(self.store_private)}(b, {own}, {shape.size}, [{texts}]) or ({call})"
        writer.write(call)

    def _write_load(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape, address: str) -> None:
        destination = needed(instruction, "vdst", "vdata")
        if shape.space == LOCAL and shape.size == 4:
            place, offsets = needed(instruction, "addr"), local_offsets(instruction, shape)
            call = f"{writer.name(self.load_local)}(b, v[{place.index}], {offsets}, {shape.count})"
        else:
            call = f"{writer.name(self.load)}(b, {writer.name(shape.space)}, {address}, {shape.size}, {shape.count})"
            if own := self._private_text(writer, instruction, shape):
                call = f"{writer.name(self.load_private)}(b, {own}, {shape.size}, {shape.count}) or ({call})"
        writer.write(f"x = {call}")
        for number in range(shape.count * (2 if shape.pair else 1)):
            self._keep(writer, destination, number, f"x[{number}]", shape)

    def _write_transposed(self, writer: BlockWriter, instruction: GpuInstruction, count: int, bits: int) -> None:
        if is_gfx12_5(writer.processor):
            self._write_load_of_columns(writer, instruction, count, bits)
            return
        place, target = needed(instruction, "addr"), needed(instruction, "vdst")
        offset = instruction.modifiers.get("offset", 0)
        writer.write(f"x = {writer.name(self.load_local)}(b, v[{place.index}], {(offset,)}, {count})")
        source = writer.name(lane_moves.source_of_gfx950)
        writer.write(f"x = {writer.name(lane_moves.transposed)}(b, x, {bits}, v[{place.index}] + {offset}, {source})")
        for number in range(count):
            writer.keep(self.cell(target, number), f"x[{number}]")

    def _write_load_of_columns(self, writer: BlockWriter, instruction: GpuInstruction, count: int, bits: int) -> None:
        """Write a transposing load of GFX12.5: of local memory whatever EXEC is, of global memory by all lanes or none.

        CDNA 5 ISA document, 10.9.2 and 11.2.4. Its figures do not say which lane has which row: rocjitsu and Triton do,
        but for elements of 6 bits: AMD's tests and its translator from GFX12.5 to other processors differ there.
        """
        if bits == 6:
            raise UnknownInstruction(f"{instruction.mnemonic}: {SOURCES_DIFFER}")
        is_local, target = instruction.encoding == "DS", needed(instruction, "vdst")
        shape = AccessShape("load", LOCAL if is_local else GLOBAL, 4, count)
        address = self._address(writer, instruction, shape)
        source: Any = lane_moves.source_of_gfx12_5 if is_local else lane_moves.source_of_eight
        words = ", ".join(self.cell(target, number) for number in range(count))
        call = f"{writer.name(self.load_columns)}(b, {writer.name(shape)}, {address}, {bits}, {writer.name(source)}"
        writer.write(f"{words}, = {call}, [{words}])")

    def load_columns(
        self, batch: WaveBatch, shape: AccessShape, address: Lanes, bits: int, source: Any, old: list[Lanes]
    ) -> list[Lanes]:
        """Read elements for each lane, and return the rows that they form as columns: the registers of all lanes."""
        kept = batch.mask
        if shape.space == GLOBAL and kept is not None and not kept.any():
            return old
        try:
            if shape.space == LOCAL:
                batch.mask = None
            words = self.load(batch, shape.space, address, 4, shape.count)
            return lane_moves.transposed(batch, words, bits, address, source)
        finally:
            batch.mask = kept

    def _write_tile(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write a move of a tile of a tensor, whatever EXEC is; it is complete at once, before any wait."""
        words = []
        for place, count in enumerate((4, 8, 4, 4)):
            group = needed(instruction, f"sdesc{place}")
            is_given = group.kind is OperandKind.SGPR
            words += [f"s[{group.index + number}]" if is_given else "0" for number in range(count)]
        is_load = instruction.name == "tensor_load_to_lds"
        clusters = writer.name(writer.barriers.clusters)
        writer.write(f"{writer.name(self.move_tiles)}(b, {is_load}, [{', '.join(words)}], {clusters}.contains(b))")

    def move_tiles(self, batch: WaveBatch, is_load: bool, words: list[Any], are_in: list[bool]) -> None:  # noqa: FBT001
        """Move the tile that each wave describes; its lanes have elements that follow each other, in turns.

        Each wave is in a cluster, or it is not.
        """
        columns = [np.broadcast_to(np.asarray(word, np.uint64).reshape(-1), (batch.count,)).tolist() for word in words]
        from dwarfgpu.execution import tensor_tiles  # few programs need it

        described = zip(zip(*columns, strict=True), are_in, strict=True)
        tiles = [tensor_tiles.tile_of(wave, is_load, is_in) for wave, is_in in described]
        kept = batch.mask
        try:
            for size in {tile.size for tile in tiles if tile is not None}:
                chosen = [tile if tile is not None and tile.size == size else None for tile in tiles]
                self._move_tiles(batch, is_load, size, chosen)
            barriers = [None if tile is None else tile.barrier for tile in tiles]
            batch.mask = np.zeros((batch.count, batch.lanes), bool)
            batch.mask[:, 0] = [barrier is not None for barrier in barriers]  # a wave arrives once
            if batch.mask.any():
                self.arrive(batch, np.array([[barrier or 0] for barrier in barriers], np.int64), 1)
        finally:
            batch.mask = kept

    def _move_tiles(self, batch: WaveBatch, is_load: bool, size: int, tiles: list[Any]) -> None:  # noqa: FBT001
        longest, unit = max(len(tile.places) for tile in tiles if tile is not None), min(size, 4)
        for first in range(0, longest, batch.lanes):
            shape = batch.count, batch.lanes
            place, address = np.zeros(shape, np.int64), np.zeros(shape, np.uint64)
            valid, inside = np.zeros(shape, bool), np.zeros(shape, bool)
            for wave, tile in enumerate(tiles):
                if tile is not None and (count := min(len(tile.places) - first, batch.lanes)) > 0:
                    part = slice(first, first + count)
                    place[wave, :count], address[wave, :count] = tile.places[part], tile.addresses[part]
                    valid[wave, :count], inside[wave, :count] = True, tile.inside[part]
            batch.mask = inside
            ends = (GLOBAL, address), (LOCAL, place)
            (source, at), (target, to) = ends if is_load else ends[::-1]
            values = [np.zeros(shape, WORDS[unit])] * (size // unit)
            if inside.any():
                values = self.load(batch, source, at, unit, size // unit)
            if is_load:
                batch.mask, values = valid, [np.where(inside, value, value.dtype.type(0)) for value in values]
            if batch.mask.any():
                self.store(batch, target, to, unit, values)

    def _write_block(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
        """Write a load or a store of the registers, of 32 that follow each other, whose bits are set in M0.

        Each has its own dword in memory, whether its bit is set or not (CDNA 5 ISA document, 10.6).
        """
        data = needed(instruction, "vdst", "vdata", "data")
        registers = [self.cell(data, number) for number in range(32)]
        address = self._address(writer, instruction, shape)
        moved = self.load_block if shape.action == "load" else self.store_block
        call = f"{writer.name(moved)}(b, {writer.name(shape.space)}, {address}, s[{M0}], [{', '.join(registers)}])"
        writer.write(f"x = {call}")
        if shape.action == "load":
            for number, register in enumerate(registers):
                writer.keep(register, f"x[{number}]")

    @staticmethod
    def _chosen(batch: WaveBatch, mask: Lanes, chosen: Any, number: int) -> Lanes:
        """Return the lanes of the waves that have a bit set in a scalar number, of those of a mask."""
        bit = np.asarray(chosen, np.uint64).reshape(-1, 1) >> np.uint64(number) & np.uint64(1)
        flags = np.broadcast_to(bit.astype(bool), (batch.count, batch.lanes))
        return flags if mask is None else flags & mask

    def load_block(self, batch: WaveBatch, space: str, address: Lanes, chosen: Any, old: list[Lanes]) -> list[Lanes]:
        """Read a dword for each register whose bit is set; return the registers."""
        kept, found = batch.mask, []
        try:
            for number, register in enumerate(old):
                batch.mask, result = self._chosen(batch, kept, chosen, number), register
                if batch.mask.any():
                    (word,) = self.load(batch, space, address + address.dtype.type(4 * number), 4, 1)
                    result = np.where(batch.mask, word, register)
                found.append(result)
        finally:
            batch.mask = kept
        return found

    def store_block(self, batch: WaveBatch, space: str, address: Lanes, chosen: Any, words: list[Lanes]) -> None:
        """Write a dword for each register whose bit is set."""
        kept = batch.mask
        try:
            for number, word in enumerate(words):
                batch.mask = self._chosen(batch, kept, chosen, number)
                if batch.mask.any():
                    self.store(batch, space, address + address.dtype.type(4 * number), 4, [word])
        finally:
            batch.mask = kept

    def _word(self, data: GpuOperand, number: int, shape: AccessShape) -> str:
        word = self.cell(data, number)
        if shape.size == 4:
            return word
        shift = " >> 16" if shape.half == 1 or data.half == 1 else ""
        return f"({word}{shift}).astype('u{shape.size}')"

    def _keep(self, writer: BlockWriter, destination: GpuOperand, number: int, text: str, shape: AccessShape) -> None:
        register = self.cell(destination, number)
        if shape.size < 4:
            bits = 8 * shape.size
            if shape.is_signed:
                text = f"{text}.view('i{shape.size}').astype('i4').view('u4')"
            else:
                text = f"{text}.astype('u4')"
            half = shape.half if destination.half is None else destination.half
            if half is not None:
                text = f"({text} & 0xffff)" if bits < 32 else text
                text = f"{text} << 16 | {register} & 0xffff" if half else f"{text} | {register} & 0xffff0000"
        writer.keep(register, text)

    def _write_atomic(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape, address: str) -> None:
        destination = instruction.operand("vdst")
        data = needed(instruction, "vdata", "data0", "data")
        returns = destination is not None and shape.returns
        if shape.space == BUFFER:
            destination = data
            returns = bool(
                instruction.modifiers.get("glc")
                or instruction.modifiers.get("sc0")
                or instruction.modifiers.get("th", 0) & 1
            )
        first = self._wide(data, 0, shape.size)
        texts = [first]
        if shape.action in TWO_SOURCES:
            other = instruction.operand("data1")
            texts.append(
                self._wide(other, 0, shape.size) if other is not None else self._wide(data, shape.size // 4, shape.size)
            )
            if shape.action == "cmpst":  # first what is compared, then the new number
                texts.reverse()
        arguments = ", ".join(("b", writer.name(shape.space), address, writer.name(shape), *texts))
        call = f"{writer.name(self.atomic)}({arguments})"
        if not returns or destination is None:
            writer.write(call)
            return
        writer.write(f"x = {call}")
        for number in range(shape.size // 4):
            part = f"(x >> {32 * number}).astype('u4')" if shape.size == 8 else "x"
            writer.keep(self.cell(destination, number), part)

    @staticmethod
    def _wide(data: GpuOperand, first: int, size: int) -> str:
        register = cell(data, first)
        return register if size == 4 else f"joined(b.wide_{register[0]}, {register[0]}, {data.index + first})"

    def _write_counter(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write ds_append and ds_consume: the number of executing lanes is added or subtracted once."""
        target = needed(instruction, "vdst")
        sign = 1 if instruction.name == "ds_append" else -1
        address = f"(s[{M0}] & 0xffff) + {instruction.modifiers.get('offset', 0)}"
        writer.write_register(f"v[{target.index}]", f"{writer.name(self.count_lanes)}(b, {address}, {sign})")

    def count_lanes(self, batch: WaveBatch, address: Any, sign: int) -> Lanes:
        """Add the numbers of executing lanes to a number in local memory, wave after wave; return the old ones."""
        if self.is_tried:
            return np.zeros((batch.count, 1), np.uint32)
        lanes = np.full(batch.count, batch.lanes) if batch.mask is None else batch.mask.sum(axis=1)
        counts = np.broadcast_to(lanes, (batch.count,)).astype(np.int64) * sign
        places = np.broadcast_to(np.asarray(address, np.int64).reshape(-1), (batch.count,))
        if self.watch_waves is not None:
            self.watch_waves(LOCAL, places, 4, "atomic")
        view = self.local.views[4]
        old = np.zeros((batch.count, 1), np.uint32)
        for wave, (place, count) in enumerate(zip(places.tolist(), counts.tolist(), strict=True)):
            if place & 3 or place + 4 > self.local_size:
                self._refuse(batch, MachineFault.of_local(place, self.local_size, batch.waves == batch.waves[wave]), 4)
                continue
            index = int(self.group_of[batch.waves[wave]]) * self.local_size + place >> 2
            old[wave] = view[index]
            view[index] = (int(view[index]) + count) & LOW
        return old

    def _write_exchange(self, writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
        size = 4 if match[2] == "b32" else 8
        unit = size * (64 if match[1] else 1)
        target, address = needed(instruction, "vdst"), needed(instruction, "addr")
        shape = AccessShape("swap", LOCAL, size, returns=True)
        for number in (0, 1):
            data = needed(instruction, f"data{number}")
            offset = instruction.modifiers.get(f"offset{number}", 0) * unit
            place = f"{cell(address)}.astype('i8') + {offset}"
            arguments = f"b, {writer.name(LOCAL)}, {place}, {writer.name(shape)}, {self._wide(data, 0, size)}"
            writer.write(f"d{number} = {writer.name(self.atomic)}({arguments})")
        for number in range(size // 2):
            half = number % (size // 4)
            text = f"d{number * 4 // size}"
            text = f"({text} >> {32 * half}).astype('u4')" if size == 8 else text
            writer.write_register(self.cell(target, number), text)

    def _write_by_lane(self, writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
        """Write a load or a store whose address is that of the wave and four times the number of the lane."""
        offset = _offset_of(instruction)
        lane = writer.name(self.lane_numbers * 4)
        if match[1] == "ds":
            base, space = f"uniform(s[{M0}] & 0xffff).astype('i8')", LOCAL
        else:
            saddr = instruction.operand("saddr")
            if saddr is None or saddr.kind not in (OperandKind.SGPR, OperandKind.SPECIAL):
                raise UnknownInstruction(f"{instruction.mnemonic} without a base")
            base, space = f"uniform({writer.scalar(saddr, 64)}, 'u8')", GLOBAL
            lane = f"{lane}.view('u8')"
        plus = writer.constant(offset, "u8" if space == GLOBAL else "i8")
        address = f"({base} + {lane} + {plus})"
        if match[2] in ("read", "load"):
            text = f"{writer.name(self.load)}(b, {writer.name(space)}, {address}, 4, 1)[0]"
            writer.write_register(self.cell(instruction.destinations[0]), text)
            return
        word = self.cell(needed(instruction, "vdata", "data0", "data", "vdst"))
        writer.write(f"{writer.name(self.store)}(b, {writer.name(space)}, {address}, 4, [{word}])")

    def _write_to_local(self, writer: BlockWriter, instruction: GpuInstruction, name: str) -> None:
        """Write a load that puts what it reads into local memory: at M0 + offset + 4 times the lane.

        More than one dword takes the room of four, whose last one dwordx3 leaves alone (CDNA 4, 9.1.9; AMDGPUUsage of
        LLVM 22, llvm.amdgcn.load.to.lds). M0 has as many bits as local memory needs: 18 on GFX950, 16 before.
        """
        shape = shape_of(name)
        if shape is None or shape.action != "load" or shape.half is not None or shape.pair:
            raise UnknownInstruction(f"{instruction.mnemonic} to local memory")
        address = self._address(writer, instruction, shape)
        space = writer.name(shape.space)
        writer.write(f"x = {writer.name(self.load)}(b, {space}, {address}, {shape.size}, {shape.count})")
        step = 4 if shape.count == 1 else 16
        base = f"uniform(s[{M0}] & {local_mask(writer.processor):#x}).astype('i8')"
        extended = f".view('i{shape.size}').astype('i4').view('u4')" if shape.is_signed else ".astype('u4')"
        words = ", ".join(f"x[{number}]{extended if shape.size < 4 else ''}" for number in range(shape.count))
        place = f"{base} + {writer.name(self.lane_numbers * step)} + {_offset_of(instruction)}"
        writer.write(f"{writer.name(self.store)}(b, {writer.name(LOCAL)}, {place}, 4, [{words}])")

    def _write_copy(self, writer: BlockWriter, instruction: GpuInstruction, action: str, name: str) -> None:
        """Write a copy between global memory and local memory, at the place that a register of each lane says.

        The offset counts on both sides (CDNA 5 ISA document, 10.8). It is complete at once, before any wait.
        """
        shape = shape_of(name)
        if shape is None:
            raise UnknownInstruction(f"{instruction.mnemonic} has no meaning here")
        place = cell(needed(instruction, "vdst", "vdata")), _offset_of(instruction)
        address = self._address(writer, instruction, shape)
        writer.write(f"{writer.name(self.copy)}(b, {writer.name(shape)}, {address}, {place[0]}, {place[1]})")

    def copy(self, batch: WaveBatch, shape: AccessShape, address: Lanes, place: Lanes, offset: int) -> None:
        """Copy numbers between addresses in global memory and places in local memory, for each lane.

        A lane whose place no local memory has copies nothing.
        """
        kept, place = batch.mask, place.astype(np.int64) + offset
        try:
            if self.local_end and (place >= self.local_end).any():
                batch.mask = place < self.local_end if kept is None else kept & (place < self.local_end)
            ends = (GLOBAL, address), (LOCAL, place)
            (source, at), (target, to) = ends if shape.action == "load" else ends[::-1]
            self.store(batch, target, to, shape.size, self.load(batch, source, at, shape.size, shape.count))
        finally:
            batch.mask = kept

    # --- Addresses ------------------------------------------------------------------------------------------------

    def _address(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape) -> str:
        modifiers = instruction.modifiers
        offset = _offset_of(instruction)
        if shape.space == LOCAL:
            plus = "" if shape.pair or not offset else f" + {offset}"
            return f"(v[{needed(instruction, 'addr').index}].astype('i8'){plus})"
        if shape.space == BUFFER:
            place = ", ".join(self.buffer_parts(writer, instruction))
            question = self.wide_buffer_address if is_gfx12_5(writer.processor) else self.buffer_address
            return f"{writer.name(question)}(b, {place}, {shape.size * shape.count})"
        vaddr, saddr = instruction.operand("vaddr"), instruction.operand("saddr")
        is_based = has_base(saddr)
        has_lane = vaddr is not None and vaddr.kind is OperandKind.VGPR and not modifiers.get("sve_off")
        if shape.space == SCRATCH:
            parts = []
            if has_lane:
                parts.append(f"v[{vaddr.index}].astype('i8') * {size_of_unit(instruction, shape)}")  # type: ignore[union-attr]
            if is_based:
                parts.append(f"uniform({writer.scalar(saddr, 32)}).astype('i8')")  # type: ignore[arg-type]
            parts.append(writer.name(np.array([[offset]], np.int64)))
            return f"({' + '.join(parts)})"
        constant = writer.constant(offset, "u8")
        if shape.space == FLAT and is_gfx12_5(writer.processor):
            address = self._address(writer, instruction, evolve(shape, space=GLOBAL))
            return f"{writer.name(self.generic)}(b, {address})"
        if is_based:
            base = f"uniform({writer.scalar(saddr, 64)}, 'u8')"  # type: ignore[arg-type]
            if has_lane and is_gfx12_5(writer.processor):
                scale = size_of_unit(instruction, shape)
                lane = f"{writer.name(scaled_offset)}(v[{vaddr.index}], {scale})"  # type: ignore[union-attr]
                return f"({base} + {lane} + {constant})"
            return f"({base} + v[{vaddr.index}] + {constant})" if has_lane else f"({base} + {constant})"  # type: ignore[union-attr]
        assert vaddr is not None  # noqa: S101 (without a base the lanes have the address)
        lane = f"joined(b.wide_v, v, {vaddr.index})"
        return f"({lane} + {constant})" if offset else lane

    def _private_text(self, writer: BlockWriter, instruction: GpuInstruction, shape: AccessShape) -> str | None:
        """Return the text of the private address that all lanes reach, where there may be one; else None."""
        vaddr, saddr = instruction.operand("vaddr"), instruction.operand("saddr")
        offset, modifiers = str(_offset_of(instruction)), instruction.modifiers
        lane = f"v[{vaddr.index}]" if vaddr is not None and vaddr.kind is OperandKind.VGPR else ""
        if shape.space == FLAT and is_gfx12_5(writer.processor):  # no address is one of all lanes
            return None
        if shape.space == FLAT and lane and not has_base(saddr):
            return f"{writer.name(self.flat_private)}({lane}, v[{vaddr.index + 1}], {offset})"  # type: ignore[union-attr]
        if shape.space == SCRATCH and has_base(saddr):
            offset = f"{writer.scalar(saddr, 32)} + {offset}"  # type: ignore[arg-type]
        elif shape.space != SCRATCH and (shape.space != BUFFER or writer.generation >= 11 or modifiers.get("idxen")):
            return None
        if lane and not modifiers.get("sve_off") and (shape.space == SCRATCH or modifiers.get("offen")):
            scale = size_of_unit(instruction, shape)
            offset = f"None if {lane}.size > 1 else int({lane}[0, 0]) * {scale} + {offset}"
        if shape.space == SCRATCH:
            return offset
        words, _index, _offset, scalar = self.buffer_parts(writer, instruction)
        return f"{writer.name(self.stack_address)}(b, {words}, {offset}, {scalar}, {shape.size * shape.count})"

    @staticmethod
    def buffer_parts(writer: BlockWriter, instruction: GpuInstruction) -> tuple[str, str, str, str]:
        """Return the texts of what an address in a buffer is made of: the resource, index, offset, scalar offset."""
        modifiers = instruction.modifiers
        resource = needed(instruction, "srsrc", "rsrc")
        words = ", ".join(f"s[{resource.index + number}]" for number in range(4))
        vaddr, soffset = instruction.operand("vaddr"), instruction.operand("soffset")
        index, offset = "0", str(_offset_of(instruction))
        if vaddr is not None and vaddr.kind is OperandKind.VGPR:
            first = vaddr.index
            if modifiers.get("idxen"):
                index = f"v[{first}].astype('u8')"
                first += 1
            if modifiers.get("offen"):
                offset = f"v[{first}].astype('u8') + {writer.constant(_offset_of(instruction), 'u8')}"
        scalar = writer.scalar(soffset, 32) if soffset is not None and soffset.kind is not OperandKind.OFF else "0"
        return f"({words})", index, offset, scalar

    watch: Any = None
    """A function that is told of each access of lanes: the space, addresses, flags of the lanes, and the bytes."""

    watch_waves: Any = None
    """A function that is told of each access of whole waves: the space, the address or addresses, bytes, and action."""

    own_watch_waves: Any = None
    """The same function where checks are told; compiled code refuses all that they are told of."""

    moving: tuple[str, int] = ("load", 0)
    """What the access that is watched does (``load``, ``store`` or ``atomic``), and with how many bytes of a lane."""

    moved: Any = None
    """The numbers that it stores; of an atomic operation the shape, both operands, and the old numbers."""

    is_weak = False
    """Whether accesses take time, so that each one ends a turn."""

    is_tried = False
    """Whether instructions only look where they access memory."""

    has_shortcuts = True
    """Whether private addresses of all lanes and places in local memory that are used again are found at once."""

    # --- Access ---------------------------------------------------------------------------------------------------

    def _places(self, batch: WaveBatch, space: str, address: Lanes, size: int) -> list[Place]:
        """Return the segments that lanes reach with their flags and offsets there; all have the shape of the batch."""
        shape = batch.count, batch.lanes
        mask = batch.mask
        if mask is not None and mask.shape != shape:
            mask = np.broadcast_to(mask, shape)
        if address.shape != shape:
            address = np.broadcast_to(address, shape)
        if space == BUFFER and (address == OUTSIDE).any():
            inside = address != OUTSIDE
            mask = inside if mask is None else mask & inside
            if not mask.any():
                return []
        if space == LOCAL or (space == SCRATCH and self.generation >= 12):
            address = address & LOW  # a base may be negative where the offset makes up for it
        if space == LOCAL and self.local_end and (address >= self.local_end).any():
            mask = address < self.local_end if mask is None else mask & (address < self.local_end)
            if not mask.any():
                return []
        if self.watch is not None:
            self.watch(space, address, mask, size)
        if space in (GLOBAL, BUFFER):
            return self.memory.places(address, mask, size)
        if space == LOCAL:
            return self._local_places(batch, address, mask, size)
        if space == SCRATCH:
            return self._scratch_places(batch, address, mask, size)
        return self._flat_places(batch, address, mask, size)

    def generic(self, batch: WaveBatch, address: Lanes) -> Lanes:
        """Return generic addresses of GFX12.5 as other processors have them, where private ones tell no wave and lane.

        Lanes that reach private memory of others stop.
        """
        aperture = np.uint64(self.private_aperture)
        is_private = address >> np.uint64(58) == aperture >> np.uint64(58)
        if not (self.private_aperture and is_private.any()):
            return address
        lanes = self.lane_numbers.astype(np.uint64) << np.uint64(52)
        own = address - (_long(private_base(batch, self.private_aperture)) + lanes)
        is_other = is_private & (own > np.uint64(LOW))
        if (is_other if batch.mask is None else is_other & batch.mask).any():
            raise UnknownInstruction("an access to the private memory of another lane, which dwarfgpu does not execute")
        return np.where(is_private, own | aperture, address)

    def _flat_places(self, batch: WaveBatch, address: Lanes, mask: Lanes, size: int) -> list[Place]:
        upper = address >> np.uint64(32)
        low = (address & np.uint64(LOW)).view(np.int64)
        shared, private = self.shared_aperture >> 32, self.private_aperture >> 32
        first = upper.flat[0 if mask is None else mask.argmax()]
        is_alike = upper == first if mask is None else (upper == first) | ~mask
        if is_alike.all():  # almost always
            if first == shared:
                return self._local_places(batch, low, mask, size)
            if first == private:
                return self._scratch_places(batch, low, mask, size)
            return self.memory.places(address, mask, size)
        is_shared, is_private = upper == np.uint64(shared), upper == np.uint64(private)
        if mask is not None:
            is_shared, is_private = is_shared & mask, is_private & mask
        found = []
        if is_shared.any():
            found += self._local_places(batch, low, is_shared, size)
        if is_private.any():
            found += self._scratch_places(batch, low, is_private, size)
        rest = ~(is_shared | is_private)
        rest = rest if mask is None else rest & mask
        return found + self.memory.places(address, rest, size)

    def _local_places(self, batch: WaveBatch, address: Lanes, mask: Lanes, size: int) -> list[Place]:
        outside = (address < 0) | (address > self.local_size - size)
        if outside.any():
            outside = outside if mask is None else outside & mask
            if outside.any():
                self._refuse(batch, MachineFault.of_local(int(address[outside][0]), self.local_size, outside), size)
                mask = ~outside if mask is None else mask & ~outside
            if self.local_size < size:
                return []
        rows = self.group_of[batch.waves][:, None] * self.local_size
        return [(self.local, mask, address + rows)]

    def _scratch_places(self, batch: WaveBatch, address: Lanes, mask: Lanes, size: int) -> list[Place]:
        limit = self.scratch_size // self.lanes
        outside = (address < 0) | (address > limit - size)
        outside = outside if mask is None else outside & mask
        if outside.any():
            self._refuse(batch, MachineFault.of_private(int(address[outside][0]), limit, outside), size)
            mask = ~outside if mask is None else mask & ~outside
        if limit < size:
            return []
        rows = batch.waves[:, None] * self.scratch_size
        return [(self.scratch, mask, rows + (address >> 2) * (4 * self.lanes) + self.lane_numbers * 4 + (address & 3))]

    def _refuse(self, _batch: WaveBatch, fault: MachineFault, _size: int) -> None:
        """Stop lanes that reach outside of local or private memory, unless memory is permissive."""
        if not self.is_permissive:
            raise fault

    def _is_interleaved(self, space: str, segment: MemorySegment) -> bool:
        return segment is self.scratch and space in (SCRATCH, FLAT)

    # --- One private address --------------------------------------------------------------------------------------
    # Code that is not optimized keeps variables at one private address for all lanes: a row of memory in each wave.

    def load_private(self, batch: WaveBatch, address: Any, size: int, count: int) -> list[Lanes] | None:
        """Return the numbers that all lanes read from one private address on, as `load` does; else None."""
        if self.watch is not None or not self.has_shortcuts:
            return None
        return self.private_numbers(batch, address, size, count)

    def private_numbers(self, batch: WaveBatch, address: Any, size: int, count: int) -> list[Lanes] | None:
        """Return the same for somebody who only looks: nobody is told."""
        if not self._is_private_row(address, size, count):
            return None
        rows, at, part = self.private[size], address >> 2, (address & 3) // size
        return [rows[batch.index, at + number, :, part].copy() for number in range(count)]

    def private_bytes(self, wave: int, lane: int, address: int, size: int) -> bytes:
        """Return bytes of the private memory of a lane; nothing if they are not all inside."""
        first, end = address & ~3, address + size
        if not self._is_private_row(first, 4, -(-(end - first) // 4)):
            return b""
        words = self.private[4][wave, first >> 2 : -(-end // 4), lane, 0]
        return bytes(words.tobytes()[address - first : end - first])

    def store_private(self, batch: WaveBatch, address: Any, size: int, values: list[Lanes]) -> bool:
        """Write the numbers of all lanes from one private address on, as `store` does; return whether it could."""
        if self.watch is not None or not self.has_shortcuts or not self._is_private_row(address, size, len(values)):
            return False
        rows, index, mask, part = self.private[size], batch.index, batch.mask, (address & 3) // size
        for at, value in enumerate(values, address >> 2):
            rows[index, at, :, part] = value if mask is None else merged(mask, value, rows[index, at, :, part])
        return True

    def _is_private_row(self, address: Any, size: int, count: int) -> bool:
        """Return whether a private address, if there is one of all lanes, is inside and aligned."""
        is_inside = isinstance(address, int) and 0 <= address <= self.private_size - size * count
        return is_inside and not address & (size - 1)

    def flat_private(self, low: Lanes, high: Lanes, offset: int) -> int | None:
        """Return the private address that a generic one is, if all lanes have the same; else None."""
        if low.size > 1 or high.size > 1:
            return None
        address = (int(low[0, 0]) | int(high[0, 0]) << 32) + offset & ALL
        return address & LOW if address >> 32 == self.private_aperture >> 32 else None

    def stack_address(self, batch: WaveBatch, words: Any, offset: Any, scalar: Any, size: int) -> int | None:
        """Return the private address that an offset in the stack of each wave is; None if the resource is another one.

        The shape of the resource is remembered as long as its registers stay.
        """
        base, flags, records, form, start, room = batch.stack
        if base is not words[0] or flags is not words[1] or records is not words[2] or form is not words[3]:
            start, room = self._stack_start(batch, words)
            batch.stack = (*words, start, room)
        if start is None or offset is None or not isinstance(scalar, int) or offset + scalar + size > room:
            return None
        place = self.private_place(start + scalar)
        return None if place is None else place + offset

    def private_place(self, number: int) -> int | None:
        """Return the private address whose dwords of all lanes begin so many bytes behind the start of a stack."""
        dword, rest = divmod(number, 4 * self.lanes)
        return None if rest else 4 * dword

    def _stack_start(self, batch: WaveBatch, words: Any) -> tuple[int | None, int]:
        """Return where a resource begins in the private memory of each wave, and how much it has; up to GFX10.

        It must be one of the stacks that kernels start with: a dword of each lane in turn.
        """
        flags, records, form = (
            word if isinstance(word, int) else number_of(word) for word in (words[1] >> 16, *words[2:])
        )
        if not (isinstance(flags, int) and isinstance(records, int) and isinstance(form, int) and self.private):
            return None, 0
        element = 4 if self.swizzles_dwords else 2 << (form >> 19 & 3)
        is_stack = form >> 23 & 1 and flags >> 15 and element == 4 and 8 << (form >> 21 & 3) == self.lanes
        is_unchecked = self.generation >= 10 and form >> 28 & 3 == 2 and records > 0
        room = LOW if is_unchecked else 0 if self.generation >= 10 or flags & 0x3FFF else records
        base = np.asarray(words[0] | (words[1] & 0xFFFF) << 32).astype(np.int64).reshape(-1)
        starts = base - self.scratch_base - batch.waves * self.scratch_size
        return int(starts[0]) if is_stack and (starts == starts[0]).all() else None, room

    def load(self, batch: WaveBatch, space: str, address: Lanes, size: int, count: int) -> list[Lanes]:
        """Read numbers that follow each other, for each lane."""
        self.moving, self.moved = ("load", size * count), None
        places = self._places(batch, space, address, size * count)
        if self._crosses_dwords(space, address, places, size):
            return self._load_bytes(batch, space, address, size, count)
        if len(places) == 1 and places[0][1] is batch.mask:
            return self._read(batch, space, places[0], size, count)
        results = [np.zeros((batch.count, batch.lanes), WORDS[size]) for _ in range(count)]
        for place in places:
            words, mask = self._read(batch, space, place, size, count), place[1]
            results = [
                word if mask is None else np.where(mask, word, result)
                for word, result in zip(words, results, strict=True)
            ]
        return results

    def _read(self, _batch: WaveBatch, space: str, place: Place, size: int, count: int) -> list[Lanes]:
        segment, mask, offsets = place
        if not self._is_interleaved(space, segment):
            return gather(segment, offsets, mask, size, count)
        return [gather(segment, offsets + 4 * self.lanes * number, mask, size, 1)[0] for number in range(count)]

    def _crosses_dwords(self, space: str, address: Lanes, places: list[Place], size: int) -> bool:
        """Return whether a number in private memory is in two dwords, which do not follow each other there."""
        if space == BUFFER:
            return address is self.apart
        if size == 1 or not any(self._is_interleaved(space, segment) for segment, _mask, _offsets in places):
            return False
        for segment, mask, offsets in places:
            if self._is_interleaved(space, segment):
                crosses = (offsets & 3) + size > 4
                if (crosses if mask is None else crosses & mask).any():
                    return True
        return False

    def _load_bytes(self, batch: WaveBatch, space: str, address: Lanes, size: int, count: int) -> list[Lanes]:
        results = []
        for start in range(0, size * count, size):
            word = np.zeros((batch.count, batch.lanes), WORDS[size])
            for number in range(size):
                (byte,) = self.load(batch, space, self._byte_address(space, address, start + number), 1, 1)
                word |= byte.astype(word.dtype) << word.dtype.type(8 * number)
            results.append(word)
        return results

    def _store_bytes(self, batch: WaveBatch, space: str, address: Lanes, size: int, values: list[Lanes]) -> None:
        for start, value in enumerate(values):
            for number in range(size):
                byte = (value >> value.dtype.type(8 * number)).astype(np.uint8)
                self.store(batch, space, self._byte_address(space, address, start * size + number), 1, [byte])

    def _byte_address(self, space: str, address: Lanes, number: int) -> Lanes:
        if space != BUFFER:
            return address + address.dtype.type(number)
        if self.behind is None:
            return self.stack_byte(address, number)
        ends = address + np.uint64(number // 4 * 4 + 4)  # each dword is inside or not
        return np.where((address != OUTSIDE) & (ends <= self.behind), address + np.uint64(number), OUTSIDE)

    def load_local(self, batch: WaveBatch, address: Lanes, offsets: tuple[int, ...], count: int) -> list[Lanes]:
        """Read dwords of local memory that follow each other, from each of some offsets on, for each lane.

        Where all addresses are aligned and inside, this is one search in memory for each dword.
        """
        places = self._local_index(batch, address, offsets, count)
        if places is None:
            wide = address.astype(np.int64)
            loaded = (self.load(batch, LOCAL, wide + offset if offset else wide, 4, count) for offset in offsets)
            return [word for words in loaded for word in words]
        view = self.local.views[4]
        return [places.read(view, (offset >> 2) + number) for offset in offsets for number in range(count)]

    def store_local(self, batch: WaveBatch, address: Lanes, offset: int, values: list[Lanes]) -> None:
        """Write dwords of local memory that follow each other, from an offset on, for each lane."""
        places = self._local_index(batch, address, (offset,), len(values)) if batch.mask is None else None
        if places is None:
            self.store(batch, LOCAL, address.astype(np.int64) + offset, 4, values)
            return
        view = self.local.views[4]
        for number, value in enumerate(values):
            places.write(view, (offset >> 2) + number, value)

    def _local_index(
        self, batch: WaveBatch, address: Lanes, offsets: tuple[int, ...], count: int
    ) -> LocalPlaces | None:
        """Return where the dwords at addresses are; None if with some offset one is not aligned, or not inside.

        Columns never change, so what is known of the latest ones is kept.
        """
        if not self.has_shortcuts or self.watch is not None:
            return None
        if self.local_size & 3 or any(offset & 3 for offset in offsets):
            return None
        known = next((each for each in batch.local if each.address is address), None)
        if known is None:
            index = None
            if not int(np.bitwise_or.reduce(address, axis=None)) & 3:
                index = (address >> 2) + (self.group_of[batch.waves] * (self.local_size >> 2))[:, None]
                if index.shape[1] != batch.lanes:
                    index = np.broadcast_to(index, (batch.count, batch.lanes))
            known = LocalPlaces(address, index)
            batch.local = [*batch.local[-3:], known]
        if known.index is None or known.highest + max(offsets) + 4 * count > self.local_size:
            return None
        if address.size >= functions.MANY:
            known.use(self.group_of[batch.waves], self.local_size >> 2)
        return known

    def store(self, batch: WaveBatch, space: str, address: Lanes, size: int, values: list[Lanes]) -> None:
        """Write numbers that follow each other, for each lane."""
        shape = batch.count, batch.lanes
        values = [value if value.shape == shape else np.broadcast_to(value, shape) for value in values]
        count = len(values)
        self.moving, self.moved = ("store", size * count), values
        places = self._places(batch, space, address, size * count)
        if self._crosses_dwords(space, address, places, size):
            self._store_bytes(batch, space, address, size, values)
            return
        for place in places:
            self._write(batch, space, place, size, values)

    def _write(self, _batch: WaveBatch, space: str, place: Place, size: int, values: list[Lanes]) -> None:
        segment, mask, offsets = place
        if not self._is_interleaved(space, segment):
            scatter(segment, offsets, mask, size, values)
            return
        for number, value in enumerate(values):
            scatter(segment, offsets + 4 * self.lanes * number, mask, size, [value])

    def atomic(
        self, batch: WaveBatch, space: str, address: Lanes, shape: AccessShape, data: Lanes, other: Lanes = None
    ) -> Lanes:
        """Change numbers in memory lane after lane; return the old ones."""
        full = batch.count, batch.lanes
        if address is self.apart and self.behind is not None:
            address = np.where(address + np.uint64(shape.size) <= self.behind, address, OUTSIDE)
        data = np.broadcast_to(data, full)
        other = None if other is None else np.broadcast_to(other, full)
        result = np.zeros(full, WORDS[shape.size])
        self.moving, self.moved = ("atomic", shape.size), (shape, data, other, result)
        for segment, mask, offsets in self._places(batch, space, address, shape.size):
            lanes = np.ones(full, bool) if mask is None else mask
            view = segment.views.get(shape.size)
            chosen = offsets[lanes]
            if not chosen.size:
                continue
            if view is None or (chosen & (shape.size - 1)).any():
                wrong = lanes & ((offsets & (shape.size - 1)) != 0)
                detail = "the address of an atomic operation is not aligned"
                raise MachineFault(detail, wrong if wrong.any() else lanes, kind=ADDRESS_ERROR)
            parts = data[lanes], None if other is None else other[lanes]
            result[lanes] = self._change(batch, segment, lanes, chosen, shape, *parts)
        return result

    def _change(
        self, _batch: WaveBatch, segment: MemorySegment, _lanes: Lanes, offsets: Lanes, shape: AccessShape, *data: Lanes
    ) -> Lanes:
        """Do an atomic operation in a segment, for the lanes with a flag; return the old numbers."""
        return changed_in_turn(segment.views[shape.size], offsets >> (shape.size.bit_length() - 1), shape, *data)

    # --- Buffers --------------------------------------------------------------------------------------------------
    # The addresses that resources of buffers (V#) give to lanes, and those of stacks that are such buffers.

    def buffer_address(self, batch: WaveBatch, words: Any, index: Any, offset: Any, scalar: Any, size: int) -> Lanes:
        """Return the address that a buffer resource gives; `OUTSIDE` where it is not in the buffer."""
        flags, last_word = (word if isinstance(word, int) else number_of(word) for word in (words[1] >> 16, words[3]))
        if not (isinstance(flags, int) and isinstance(last_word, int)):
            raise MachineFault("a buffer resource that differs between waves")
        is_stack = self.generation < 11 and last_word >> 23 & 1
        if is_stack:  # LLVM puts offsets into instructions also where the index may be negative (GFX9 and later)
            offset = _long(offset) & np.uint64(LOW)
        address = self._unchecked_buffer_address(words, flags, last_word, index, offset, scalar)
        is_apart = False
        if is_stack:
            is_apart, address = self._in_stack(batch, words, address, size)
        records = words[2]
        if not (isinstance(records, int) and records == LOW):
            inside = self._is_inside(records, flags, last_word, index, offset, scalar, size)
            address = address if inside.all() else np.where(inside, address, OUTSIDE)
        if is_apart:
            self.apart = address
        return address

    def wide_buffer_address(
        self, batch: WaveBatch, words: Any, index: Any, offset: Any, scalar: Any, size: int
    ) -> Lanes:
        """Return the address that a buffer resource of GFX12.5 gives; `OUTSIDE` where it is not in the buffer.

        CDNA 5, 9.4 and 9.6; AMDGPUUsage of LLVM 22, "Buffer Resources", has the same base and size. Each dword of an
        access is inside or not.
        """
        first, second, third, last = (_long(word) for word in words)
        base, records = wide_resource(first, second, third, last)
        stride = (last >> np.uint64(12) & np.uint64(0x3FFF)) * _STRIDE_SCALES[last >> np.uint64(26) & np.uint64(3)]
        index, offset, scalar = _long(index), _long(offset), _long(scalar)
        if (last >> np.uint64(30)).any():
            raise UnknownInstruction("a buffer resource whose type is not 0")
        own, swizzles, asks_record = (
            offset + scalar,
            *((last >> np.uint64(bit) & np.uint64(1)).astype(bool) for bit in (28, 29)),
        )
        total = (index * stride + offset & _RECORDS) + scalar
        address = base + total
        if swizzles.any():  # records of 32 lanes take turns, in 16 bytes each
            lines, unit, place = np.uint64(32), np.uint64(16), own & _RECORDS
            turned = (index // lines * stride + place // unit * unit) * lines + index % lines * unit + place % unit
            address = np.where(swizzles, base + turned, address)
        is_free = (records == _RECORDS) | swizzles
        room = np.where(total < records, records - total, 0)
        of_record = np.where(own < stride, stride - own, 0)
        room = np.where(asks_record, np.minimum(room, of_record), room)
        if (is_free | (room >= size)).all():
            return address
        address, self.behind = np.broadcast_arrays(
            np.where(is_free | (room >= min(size, 4)), address, OUTSIDE), np.where(is_free, OUTSIDE, address + room)
        )
        if (~is_free & (room >= 4) & (room < size)).any():
            self.apart = address
        return address

    def _is_inside(
        self, records: Any, flags: int, last_word: int, index: Any, offset: Any, scalar: Any, size: int
    ) -> Lanes:
        """Return in which lanes so many bytes are in the buffer."""
        index, offset, records, scalar = _long(index), _long(offset), _long(records), _long(scalar)
        stride = flags & 0x3FFF
        swizzled = flags >> 15 & 1 if self.generation < 11 else flags >> 14 & 3
        ends = offset + np.uint64(size)
        if self.generation >= 10:
            kind = last_word >> 28 & 3
            if kind == 0:
                return (index < records) & (ends <= np.uint64(stride))
            if kind == 1:
                return index < records
            if kind == 2:
                return records != 0
            return ends + (scalar if self.generation >= 12 else np.uint64(0)) <= records
        if not stride:
            return ends + scalar <= records
        inside = index < records
        return inside & (offset < np.uint64(stride)) if swizzled else inside

    def _in_stack(self, batch: WaveBatch, words: Any, address: Lanes, size: int) -> tuple[bool, Lanes]:
        """Return whether a number in a stack is in several dwords, which do not follow each other, up to GFX10.

        Waves that reach the private memory of others with the resource of their stacks stop, or are `OUTSIDE`.
        """
        base = _long(words[0] | (words[1] & 0xFFFF) << 32) - np.uint64(self.scratch_base)
        if np.ndim(address) != 2 or not (base < np.uint64(self.scratch.data.size)).any():
            return False, address
        first = np.uint64(self.scratch_base) + batch.waves.astype(np.uint64) * np.uint64(self.scratch_size)
        behind = first + np.uint64(self.scratch_size)
        mask: Lanes = True if batch.mask is None else batch.mask
        crosses = (address & np.uint64(3)) + np.uint64(size) > np.uint64(4)
        is_apart = bool(np.any(crosses & mask))
        last = self.stack_byte(address, size - 1) if is_apart else address
        outside = ((address < first[:, None]) | (last >= behind[:, None])) & mask
        if outside.any():
            place = np.broadcast_to(last - first[:, None], outside.shape)[outside].view(np.int64)
            wanted = int(place[0]) // (4 * self.lanes) * 4
            self._refuse(batch, MachineFault.of_private(wanted, self.scratch_size // self.lanes, outside), size)
            address = np.where(outside, OUTSIDE, address)
        return is_apart, address

    def stack_byte(self, address: Lanes, number: int) -> Lanes:
        """Return where a byte is that is so many behind an address in a stack: dwords of lanes take turns there."""
        within = (address & np.uint64(3)) + np.uint64(number)
        dword = address - (address & np.uint64(3)) + (within >> np.uint64(2)) * np.uint64(4 * self.lanes)
        return np.where(address == OUTSIDE, OUTSIDE, dword + (within & np.uint64(3)))

    def _unchecked_buffer_address(
        self, words: Any, flags: int, format_word: int, index: Any, offset: Any, scalar: Any
    ) -> Lanes:
        """Return the address that a buffer resource gives (V#: base, stride, swizzle, ADD_TID_ENABLE)."""
        base = words[0] | (words[1] & 0xFFFF) << 32
        swizzled = flags >> 15 & 1
        adds_lane = format_word >> 23 & 1
        if adds_lane:
            index = self.lane_numbers.astype(np.uint64) + (np.uint64(index) if isinstance(index, int) else index)
        stride = flags & 0x3FFF
        start = _long(base) + _long(scalar)
        offset = _long(offset)
        if not swizzled:
            return start + _long(index) * _long(stride) + offset
        element = 2 << (format_word >> 19 & 3)
        span = 8 << (format_word >> 21 & 3)
        if self.swizzles_dwords:
            element = 4
        unit, within = _long(element), offset % _long(element)
        index = _long(index)
        lines = _long(span)
        record = index // lines * (_long(stride) * lines)
        return start + record + offset // unit * (unit * lines) + index % lines * unit + within

    # --- Scalar loads ---------------------------------------------------------------------------------------------

    def _write_scalar(self, writer: BlockWriter, instruction: GpuInstruction) -> bool:
        match = re.match(r"s_(buffer_)?(load|store|atomic)_(\w+)$", instruction.name)
        if not match or (match[2] != "atomic" and match[3] not in SIZES):
            return False
        base, destination = needed(instruction, "sbase"), needed(instruction, "sdata")
        parts = [writer.sgpr(base.index, 64) if base.kind is OperandKind.SGPR else writer.scalar(base, 64)]
        if match[1]:
            parts = [f"(s[{base.index}] | (s[{base.index + 1}] & 0xffff) << 32)"]
        number = None
        for name in ("offset", "soffset"):
            operand = instruction.operand(name)
            if operand is None or operand.register == "null" or operand.kind is OperandKind.OFF:
                continue
            if operand.kind is OperandKind.IMMEDIATE:
                number = operand.value
            else:
                scale = SIZES[match[3]][0] * SIZES[match[3]][1] if instruction.modifiers.get("scale_offset") else 1
                parts.append(writer.scalar(operand, 32) if scale == 1 else f"{writer.scalar(operand, 32)} * {scale}")
        number = instruction.modifiers.get("offset", 0) if number is None else number
        address = " + ".join([*parts, str(number & ALL)])
        if number < 0 or match[2] != "load":
            address = f"({address} & {ALL})"
        if match[2] == "atomic":
            self._write_scalar_atomic(writer, instruction, match[3], address, destination)
            return True
        size, count, is_signed = SIZES[match[3]]
        if match[2] == "store":
            texts = [f"s[{destination.index + number}]" for number in range(count)]
            if destination.kind is not OperandKind.SGPR:
                texts = [
                    f"({writer.scalar(destination, 32 * count)}) >> {32 * number} & {LOW}" for number in range(count)
                ]
            writer.write(f"{writer.name(self.store_scalar)}(b, {address}, [{', '.join(texts)}])")
            return True
        call = f"{writer.name(self.load_scalar)}({address}, {size}, {count}, {is_signed})"
        if match[1] and is_gfx12_5(writer.processor):
            call = self._load_of_buffer(writer, instruction, number, size, f"{size}, {count}, {is_signed}")
        writer.write(f"x = {call}")
        for number in range(count):
            if destination.kind is OperandKind.SGPR:
                writer.write(f"s[{destination.index + number}] = x[{number}]")
            else:
                writer.set_scalar(destination, "x[0] | x[1] << 32" if count > 1 else "x[0]")
                break
        return True

    def _write_scalar_atomic(
        self, writer: BlockWriter, instruction: GpuInstruction, name: str, address: str, data: GpuOperand
    ) -> None:
        """Write an atomic operation of a wave, which gets the old number if the modifier glc says so."""
        shape = shape_of(f"global_atomic_{name}")
        if shape is None or data.kind is not OperandKind.SGPR:
            raise UnknownInstruction(f"{instruction.mnemonic} of {data.text}")
        bits = 8 * shape.size
        texts = [writer.sgpr(data.index, bits)]
        if shape.action in TWO_SOURCES:
            texts.append(writer.sgpr(data.index + shape.size // 4, bits))
        call = f"{writer.name(self.atomic_scalar)}(b, {address}, {writer.name(shape)}, {', '.join(texts)})"
        if instruction.modifiers.get("glc"):
            writer.write(f"h = {call}")
            writer.set_sgpr(data.index, "h", bits)
        else:
            writer.write(call)

    def _load_of_buffer(
        self, writer: BlockWriter, instruction: GpuInstruction, number: int, size: int, shape: str
    ) -> str:
        """Return the text of a scalar load by a resource of GFX12.5, with the number of its offset."""
        base, soffset, kept = needed(instruction, "sbase"), instruction.operand("soffset"), -min(size, 4)
        if number < 0 or base.kind is not OperandKind.SGPR:
            raise UnknownInstruction(f"{instruction.mnemonic} with a negative offset, or of {base.text}")
        words = ", ".join(f"s[{base.index + place}]" for place in range(4))
        scalar = "0" if soffset is None or soffset.register == "null" else writer.scalar(soffset, 32)
        offset = f"({scalar} & {kept & ALL}) + {number & kept}"
        return f"{writer.name(self.load_of_buffer)}(({words}), {offset}, {shape})"

    def load_of_buffer(self, words: Any, offset: Any, size: int, count: int, is_signed: bool) -> list[Any]:  # noqa: FBT001
        """Read numbers of a wave through a buffer resource of GFX12.5: 0 behind its end (CDNA 5, 8.1.2 and 9.4.1.4).

        The lowest bits of the base, of the offset and of the size do not count.
        """
        numbers = [word if isinstance(word, int) else number_of(word) for word in words]
        if not all(isinstance(number, int) for number in numbers):
            raise MachineFault("a buffer resource that differs between waves")
        base, records = wide_resource(*numbers)
        kept = ALL ^ (min(size, 4) - 1)
        records, has_stride = records & kept, bool(numbers[3] >> 12 & 0x3FFF)
        if np.all(offset + size * count <= records):
            return self.load_scalar((base & kept) + offset, size, count, is_signed)
        if has_stride or not isinstance(offset, int):
            raise UnknownInstruction("a scalar load behind the end of a buffer, with a stride or by different offsets")
        inside = max(records - offset, 0) // size
        found = self.load_scalar((base & kept) + offset, size, inside, is_signed) if inside else []
        return [*found, *(0 for _ in range(count - inside))]

    def store_scalar(self, batch: WaveBatch, address: Any, values: list[Any]) -> None:
        """Write numbers of each wave, one wave after the other."""
        places = self._wave_places(batch, address, 4 * len(values))
        if self.is_tried:
            return
        if self.watch_waves is not None:
            self.watch_waves(GLOBAL, address, 4 * len(values), "store")
        columns = [np.broadcast_to(np.asarray(value, np.uint64).reshape(-1), (batch.count,)) for value in values]
        for wave, (segment, offset) in enumerate(places):
            for number, column in enumerate(columns):
                word = int(column[wave]) & LOW
                segment.data[offset + 4 * number : offset + 4 * number + 4] = list(word.to_bytes(4, "little"))

    def atomic_scalar(self, batch: WaveBatch, address: Any, shape: AccessShape, data: Any, other: Any = None) -> Any:
        """Change a number in memory for each wave, one wave after the other; return the old ones."""
        kind, places = WORDS[shape.size], self._wave_places(batch, address, shape.size)
        if self.is_tried:
            return 0
        if self.watch_waves is not None:
            self.watch_waves(GLOBAL, address, shape.size, "atomic")
        result = np.zeros((batch.count, 1), kind)
        columns = [
            np.broadcast_to(np.asarray(value, np.uint64).astype(kind).reshape(-1), (batch.count,))
            for value in (data, 0 if other is None else other)
        ]
        for wave, (segment, offset) in enumerate(places):
            view = segment.views.get(shape.size)
            if view is None or offset % shape.size:
                raise MachineFault("the address of an atomic operation is not aligned", kind=ADDRESS_ERROR)
            index = np.array([offset // shape.size])
            part = slice(wave, wave + 1)
            result[wave] = changed_in_turn(
                view, index, shape, columns[0][part], None if other is None else columns[1][part]
            )
        return number_of(result)

    def _wave_places(self, batch: WaveBatch, address: Any, size: int) -> list[tuple[MemorySegment, int]]:
        """Return where the address of each wave is: the segment and the offset in it."""
        addresses = np.broadcast_to(np.asarray(address, np.uint64).reshape(-1), (batch.count,)).tolist()
        found = []
        for place in addresses:
            segment = self.memory.segment_of(place & ~3, (place & ~3) + size - 1)
            if segment is None:
                waves = np.array([each == place for each in addresses])
                raise MachineFault(self.memory.missing(place), waves, kind=MEMORY_VIOLATION, addresses=place)
            found.append((segment, (place & ~3) - segment.start))
        return found

    def load_scalar(self, address: Any, size: int, count: int, is_signed: bool) -> list[Any]:  # noqa: FBT001 (of a text)
        """Read numbers of a wave."""
        if self.watch_waves is not None:
            self.watch_waves(GLOBAL, address, size * count, "load")
        if isinstance(address, int):
            at = address & ~3 if size == 4 else address
            whole = self.memory.read(at, size * count)
            mask = (1 << 8 * size) - 1
            words = [whole >> 8 * size * number & mask for number in range(count)]
            return (
                [(word ^ sign) - sign & LOW for word in words for sign in (1 << 8 * size - 1,)] if is_signed else words
            )
        places = self.memory.places(address, None, size * count)
        results = [np.zeros(address.shape, WORDS[size]) for _ in range(count)]
        for segment, mask, offsets in places:
            for number, word in enumerate(gather(segment, offsets, mask, size, count)):
                results[number] = word if mask is None else np.where(mask, word, results[number])
        if is_signed:
            results = [word.view(f"i{size}").astype(np.int32).view(np.uint32) for word in results]
        return [number_of(word) for word in results]


def aligned(batch: WaveBatch, address: Lanes, size: int) -> Lanes:
    """Return addresses; stop where one is no multiple of a size (CDNA 5 ISA document, 10.10)."""
    wrong = (address & address.dtype.type(size - 1)) != 0
    wrong = wrong if batch.mask is None else wrong & batch.mask
    if wrong.any():
        raise MachineFault("the address of a load that watches memory is not aligned", wrong, kind=ADDRESS_ERROR)
    return address


def wide_resource(first: Any, second: Any, third: Any, last: Any) -> tuple[Any, Any]:
    """Return the base and the size in bytes that a buffer resource of GFX12.5 has, as numbers or as columns."""
    base = first | (second & 0x1FFFFFF) << 32
    return base, second >> 25 | third << 7 | (last & 0x3F) << 39


def scaled_offset(offset: Lanes, scale: int) -> Lanes:
    """Return what GFX12.5 adds to a scalar base: the number in a register, in units of the access if it says so.

    It is signed (CDNA 5 ISA document, 10.2); LLVM relies on it for negative indices.
    """
    return offset.view(np.int32).astype(np.int64).view(np.uint64) * np.uint64(scale)


def size_of_unit(instruction: GpuInstruction, shape: AccessShape) -> int:
    """Return the bytes of a unit of the offsets in registers: on GFX12.5, an access may count in units of its size."""
    return shape.size * shape.count if instruction.modifiers.get("scale_offset") else 1


def has_base(saddr: GpuOperand | None) -> bool:
    """Return whether an operand is a scalar register that addresses count from."""
    return saddr is not None and saddr.kind in (OperandKind.SGPR, OperandKind.SPECIAL) and saddr.register != "null"


def local_offsets(instruction: GpuInstruction, shape: AccessShape) -> tuple[int, ...]:
    """Return the offset of an operation of local memory, or both of one that has two."""
    if shape.pair:
        return tuple(instruction.modifiers.get(f"offset{number}", 0) * shape.pair for number in (0, 1))
    return (_offset_of(instruction),)


def _offset_of(instruction: GpuInstruction) -> int:
    """Return the offset that an instruction adds to addresses, which may be negative."""
    return instruction.modifiers.get("offset", 0)


def _long(number: Any) -> Any:
    """Return a number as unsigned 64-bit integers that fit ``[wave, lane]``."""
    return np.array([[number & ((1 << 64) - 1)]], np.uint64) if isinstance(number, int) else number
