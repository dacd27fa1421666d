"""Operations in which a lane reads what another lane has: DPP, SDWA's parts of a register, permutations and swizzles.

ISA documents, "Data Parallel Processing (DPP)", "Sub-Dword Addressing (SDWA)" and "DS Permute".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import WaveBatch, as_written
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from dwarfgpu.isa.instruction import GpuInstruction
from dwarfgpu.isa.semantics.narrow_floats import codes_of, words_of

Lanes = Any
BYTES = (0, 1, 2, 3)
WORDS = {4: 0, 5: 16}
"""The selections of a word, with the first bit."""
DWORD = 6
SIGN_EXTENDED, PRESERVED = 1, 2
"""What becomes of the rest of a register that SDWA writes a part of; else it becomes 0."""


# --- Interpolation ------------------------------------------------------------------------------------------------

PARAMETER_LANES = {("v_interp_p10", 0): 1, ("v_interp_p10", 2): 0, ("v_interp_p2_", 0): 2}
"""The lane of each quad that has the parameter which a source of an interpolation stands for (GFX11 and later)."""


def of_quads(register: Lanes, lane: int) -> Lanes:
    """Return for each lane what a lane of its quad has, whether that lane executes or not."""
    return register if register.shape[1] == 1 else np.repeat(register[:, lane::4], 4, axis=1)


# --- DPP ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def dpp_sources(control: int, lanes: int) -> tuple[Any, Any]:  # noqa: C901, PLR0912 (a case for each control)
    """Return for each lane the lane that it reads, and flags of the lanes that read one."""
    lane = np.arange(lanes)
    row, place = lane & ~15, lane & 15
    valid = np.ones(lanes, bool)
    number = control & 15
    if control < 0x100:
        source = lane & ~3 | np.array([control >> 2 * (each & 3) & 3 for each in range(lanes)])
    elif 0x101 <= control <= 0x10F:
        source, valid = lane + number, place + number < 16
    elif 0x111 <= control <= 0x11F:
        source, valid = lane - number, place >= number
    elif 0x121 <= control <= 0x12F:
        source = row | (place - number) & 15
    elif control == 0x130:
        source, valid = lane + 1, lane + 1 < lanes
    elif control == 0x134:
        source = (lane + 1) % lanes
    elif control == 0x138:
        source, valid = lane - 1, lane > 0
    elif control == 0x13C:
        source = (lane - 1) % lanes
    elif control == 0x140:
        source = row | 15 - place
    elif control == 0x141:
        source = lane & ~7 | 7 - (lane & 7)
    elif control == 0x142:
        source, valid = row - 1, lane >= 16
    elif control == 0x143:
        source, valid = lane * 0 + 31, lane >= 32
    elif 0x150 <= control <= 0x15F:
        source = row | number
    elif 0x160 <= control <= 0x16F:
        source = lane ^ number
    else:
        raise UnknownInstruction(f"DPP control {control:#x}")
    return np.where(valid, source, 0), valid[None, :]


@lru_cache(maxsize=256)
def dpp_enabled(row_mask: int, bank_mask: int, lanes: int) -> Any:
    """Return flags of the lanes that the masks of DPP let write."""
    lane = np.arange(lanes)
    return (row_mask >> (lane >> 4 & 3) & bank_mask >> (lane >> 2 & 3) & 1).astype(bool)[None, :]


def dpp8_sources(selection: int, lanes: int) -> tuple[Any, Any]:
    """Return for each lane the lane that it reads by DPP8."""
    lane = np.arange(lanes)
    source = lane & ~7 | np.array([selection >> 3 * (each & 7) & 7 for each in range(lanes)])
    return source, np.ones((1, lanes), bool)


def moved(
    batch: WaveBatch,
    register: Lanes,
    source: Any,
    valid: Any,
    enabled: Any,
    *,
    fetches_inactive: bool,
    is_bounded: bool,
) -> tuple[Lanes, Lanes]:
    """Return what the lanes read by DPP, and the flags of those that write."""
    values = register if register.shape[1] == 1 else register[:, source]
    mask = batch.mask
    if mask is not None and not fetches_inactive:
        valid = valid & mask[:, source]
    if is_bounded:
        if not valid.all():
            values = np.where(valid, values, np.uint32(0))
        writing = enabled
    else:
        writing = enabled & valid
    if mask is not None:
        writing = writing & mask
    return values, None if writing.all() else writing


# --- SDWA ---------------------------------------------------------------------------------------------------------


def part_of(instruction: GpuInstruction, position: int) -> int:
    """Return the part of a source that an instruction reads; SDWA selects one of the first two sources."""
    selects = instruction.variant == "sdwa" and position in (0, 1)
    return instruction.modifiers.get(f"src{position}_sel", 0) if selects else DWORD


def bits_of_part(selection: int) -> tuple[int, int]:
    """Return how many bits a part of a register has, and the first of them."""
    if selection > DWORD:
        raise UnknownInstruction(f"part {selection} of a register")
    return (16, WORDS[selection]) if selection in WORDS else (8, 8 * selection)


def part_text(word: str, selection: int, *, is_signed: bool) -> str:
    """Return the text of a part of a register as 32 bits."""
    bits, first = bits_of_part(selection)
    if is_signed:
        return f"({word}.view('i4') << {32 - bits - first} >> {32 - bits}).view('u4')"
    return f"({word} >> {first} & {(1 << bits) - 1})"


def merged_part(old: Lanes, new: Lanes, selection: int, unused: int) -> Lanes:
    """Return a register of which a part is new."""
    bits, first = bits_of_part(selection)
    mask = np.uint32((1 << bits) - 1 << first)
    placed = new << first & mask
    if unused == PRESERVED:
        return old & ~mask | placed
    if unused == SIGN_EXTENDED:
        return (placed.view(np.int32) << 32 - bits - first >> 32 - bits - first).view(np.uint32)
    return placed


# --- Registers by number ------------------------------------------------------------------------------------------


def read_relative(registers: list[Any], index: int, offset: Any) -> Lanes:
    """Return the register that is a number of registers behind another; the number may differ between waves."""
    if isinstance(offset, int):
        return as_written(registers[_inside(registers, index + offset)])
    chosen = np.unique(offset)
    result = as_written(registers[_inside(registers, index + int(chosen[0]))])
    for number in chosen[1:].tolist():
        result = np.where(offset == number, registers[_inside(registers, index + number)], result)
    return result


def write_relative(registers: list[Any], index: int, offset: Any, value: Lanes, mask: Any) -> None:
    """Write the register that is a number of registers behind another, in the executing lanes."""
    if isinstance(offset, int):
        at = _inside(registers, index + offset)
        registers[at] = value if mask is None else np.where(mask, value, registers[at])
        return
    for number in np.unique(offset).tolist():
        at = _inside(registers, index + number)
        lanes = offset == number
        registers[at] = np.where(lanes if mask is None else lanes & mask, value, registers[at])


def _inside(registers: list[Any], index: int) -> int:
    if not 0 <= index < len(registers):
        raise MachineFault(f"there is no register {index} of {len(registers)}")
    return index


# --- Permutations -------------------------------------------------------------------------------------------------


def _wide(register: Lanes, batch: WaveBatch) -> Lanes:
    shape = batch.count, batch.lanes
    return register if register.shape == shape else np.broadcast_to(register, shape)


def _visible(batch: WaveBatch, register: Lanes) -> Lanes:
    """Return a register with 0 in the lanes that do not execute."""
    wide = _wide(register, batch)
    return wide if batch.mask is None else np.where(batch.mask, wide, np.uint32(0))


def pulled(batch: WaveBatch, address: Lanes, register: Lanes, span: int) -> Lanes:
    """Return for each lane what the lane has that its address names (ds_bpermute_b32); 0 from an inactive lane."""
    return _pulled(batch, address, _visible(batch, register), span)


def pulled_from_all(batch: WaveBatch, address: Lanes, register: Lanes, span: int) -> Lanes:
    """Return for each lane what the lane has that its address names, inactive or not (ds_bpermute_fi_b32)."""
    return _pulled(batch, address, _wide(register, batch), span)


def _pulled(batch: WaveBatch, address: Lanes, values: Lanes, span: int) -> Lanes:
    lane = np.arange(batch.lanes)[None, :]
    source = lane // span * span + (_wide(address, batch) >> 2) % span
    return np.take_along_axis(values, source, axis=1)


def pushed(batch: WaveBatch, address: Lanes, register: Lanes, span: int) -> Lanes:
    """Return for each lane what the last lane gave that named it (ds_permute_b32); 0 without one."""
    lane = np.arange(batch.lanes)[None, :]
    target = lane // span * span + (_wide(address, batch) >> 2) % span
    values = _wide(register, batch)
    result = np.zeros((batch.count, batch.lanes), np.uint32)
    mask = np.ones(result.shape, bool) if batch.mask is None else np.broadcast_to(batch.mask, result.shape)
    rows, lanes = np.nonzero(mask)
    result[rows, target[rows, lanes]] = values[rows, lanes]
    return result


@lru_cache(maxsize=1024)
def swizzle_sources(offset: int, lanes: int) -> Any:
    """Return for each lane the lane that ds_swizzle_b32 reads."""
    lane = np.arange(lanes)
    low = lane & 31
    if offset >> 15 & 1 == 0:
        source = (low & offset & 31 | offset >> 5 & 31) ^ offset >> 10 & 31
    elif offset & 0xFF00 == 0x8000:
        source = low & ~3 | np.array([offset >> 2 * (each & 3) & 3 for each in range(lanes)])
    elif offset >= 0xE000:
        source = np.array([_fft(each, offset & 31) for each in low])
    else:
        kept = offset & 31
        count = (offset >> 5 & 31) * (-1 if offset >> 10 & 1 else 1)
        source = low & kept | (low + count) & ~kept & 31
    return lane & ~31 | source


def _fft(lane: int, mask: int) -> int:
    """Return the lane of the FFT swizzle: the bits of the number, reversed, that the mask does not keep."""
    reverse = int(f"{lane:05b}"[::-1], 2)
    bits = mask.bit_length()
    return reverse >> bits | lane & mask if mask != 31 else lane


def swizzled(batch: WaveBatch, register: Lanes, source: Any) -> Lanes:
    """Return for each lane what another has (ds_swizzle_b32)."""
    return _visible(batch, register)[:, source]


def numbers_of_row(batch: WaveBatch, low: Any, high: Any) -> Lanes:
    """Return for each lane the 4 bits of two scalar numbers that are for its place in the row of 16."""
    shift = (4 * (np.arange(batch.lanes) & 15)).astype(np.uint64)
    return np.atleast_2d(np.asarray(low | high << 32, np.uint64) >> shift & np.uint64(15))


def permuted(
    batch: WaveBatch, register: Lanes, chosen: Lanes, old: Lanes, *, crosses: bool, fetches_inactive: bool,
    is_bounded: bool,
) -> Lanes:  # fmt: skip
    """Return for each lane what the lane of its row of 16 has, or of the row beside it, that a number names."""
    lane = np.arange(batch.lanes)
    chosen = (_wide(chosen, batch) & chosen.dtype.type(15)).astype(np.int64)
    row = (lane ^ 16 if crosses else lane) & ~15
    source = np.broadcast_to(row + chosen, (batch.count, batch.lanes))
    values = np.take_along_axis(_wide(register, batch), source, axis=1)
    if batch.mask is None or fetches_inactive:
        return values
    valid = np.take_along_axis(np.broadcast_to(batch.mask, source.shape), source, axis=1)
    return np.where(valid, values, np.uint32(0) if is_bounded else old)


def halves_exchanged(batch: WaveBatch, register: Lanes) -> Lanes:
    """Return for each lane what the lane of the other half of the wave has (v_permlane64_b32)."""
    return np.roll(_wide(register, batch), 32, axis=1)


def rows_swapped(batch: WaveBatch, left: Lanes, right: Lanes, span: int) -> tuple[Lanes, Lanes]:
    """Return two registers after the odd rows of the first and the even ones of the second have been exchanged."""
    _need_all_lanes(batch, f"v_permlane{span}_swap_b32")
    rows = batch.count, batch.lanes // (2 * span), 2, span
    first, second = (_wide(as_written(each), batch).reshape(rows) for each in (left, right))
    pairs = ((first[:, :, 0], second[:, :, 0]), (first[:, :, 1], second[:, :, 1]))
    return tuple(np.stack(pair, axis=2).reshape(batch.count, batch.lanes) for pair in pairs)  # type: ignore[return-value]


def _in_groups(source: Callable[[Lanes, Lanes, Lanes], Lanes]) -> Callable[[WaveBatch, Lanes, Lanes, Lanes], Lanes]:
    """Return a move between lanes of groups, of a function from lane, number and width to the lane in the group.

    A lane whose source is outside of its group keeps what it has. Lanes are read whether they execute or not
    (CDNA 5 ISA document, V_PERMLANE_BCAST_B32 to V_PERMLANE_XOR_B32).
    """

    def moved_in_group(batch: WaveBatch, register: Lanes, number: Lanes, width: Lanes) -> Lanes:
        lane, wide = np.arange(batch.lanes, dtype=np.int64)[None, :], _width(batch, width)
        place = lane % wide
        found = np.broadcast_to(source(place, number.astype(np.int64), wide), (batch.count, batch.lanes))
        found = np.where((found >= 0) & (found < wide), found, place)
        return np.take_along_axis(_wide(register, batch), lane - place + found, axis=1)

    return moved_in_group


def _width(batch: WaveBatch, width: Lanes) -> Lanes:
    """Return the width of groups; stop if it is no power of two, for which no result is defined."""
    wide = width.astype(np.int64)
    if ((wide <= 0) | (wide & (wide - 1)) | (wide > batch.lanes)).any():
        raise UnknownInstruction("groups of lanes whose width is no power of two, or more than those of a wave")
    return wide


MOVES_IN_GROUPS = {
    "bcast": _in_groups(lambda _lane, number, width: (number & 63) % width),
    "up": _in_groups(lambda lane, number, _width: lane - number),
    "down": _in_groups(lambda lane, number, _width: lane + number),
    "xor": _in_groups(lambda lane, number, _width: np.where(number < 32, lane ^ number & 63, lane)),
}
"""The moves between lanes of groups."""


def index_in_group(batch: WaveBatch, register: Lanes, width: Lanes) -> Lanes:
    """Return the address for ds_bpermute_b32 of a lane of the own group (v_permlane_idx_gen_b32)."""
    lane, wide = np.arange(batch.lanes, dtype=np.int64)[None, :], _width(batch, width)
    chosen = (register.astype(np.int64) & 63) % wide + lane - lane % wide
    return (chosen << 2).astype(np.uint32)


def source_of_gfx950(lane: Lanes, number: Lanes, count: int, _bits: int) -> Lanes:
    """Return the lanes that elements of other lanes come from, of their row of 16.

    It is the lane that the upper bits of the number in the row say, ``n`` times their count further. AMD tests this on
    hardware (rocRoller, "Transpose Instructions"), with multiples of 16 bytes for elements of 6 bits.
    """
    return lane // 16 * 16 + lane % 16 // count + 16 // count * number


def source_of_gfx12_5(lane: Lanes, number: Lanes, _count: int, bits: int) -> Lanes:
    """Return the same of loads of local memory on GFX12.5: of 8 bits, four and four lanes of a row are together.

    The document has figures only; Triton's layouts and rocjitsu have these lanes.
    """
    if bits != 8:
        return source_of_eight(lane, number, _count, bits)
    return lane // 16 * 16 + lane % 16 // 8 * 4 + number % 4 + number // 4 * 8


def source_of_eight(lane: Lanes, number: Lanes, _count: int, bits: int) -> Lanes:
    """Return the same of loads of global memory on GFX12.5: eight lanes that follow each other have neighbouring K.

    Rows of 16 elements of 4 bits have one lane each: a row of lanes has the first or the second 8 of each 16 K.
    """
    return number % 8 + lane // 16 * 8 + number // 8 * 16 if bits == 4 else lane // 8 * 8 + number


def transposed(batch: WaveBatch, words: list[Lanes], bits: int, address: Lanes, source_of: Any) -> list[Lanes]:
    """Return what lanes have of elements that each has loaded from an address (ds_read_*_tr_*, ds_load_tr*).

    ``source_of`` says from which lane each element of a lane comes, and the lower bits of the number of the lane, which
    element of that.
    """
    name = f"a transposing load of {32 * len(words)} bits"
    _need_all_lanes(batch, name)
    size = 8 if len(words) == 2 else 16
    if (address % np.uint32(size)).any():
        raise UnknownInstruction(f"{name} of an address that is no multiple of {size}: no document says what it gives")
    count = 32 * len(words) // bits
    lane, number = np.arange(batch.lanes)[:, None], np.arange(count)[None, :]
    source = source_of(lane, number, count, bits)
    codes = codes_of(np.stack([_wide(word, batch) for word in words], axis=2), bits)
    result = words_of(codes[:, source, lane % count], bits)
    return [result[:, :, number] for number in range(len(words))]


def _need_all_lanes(batch: WaveBatch, name: str) -> None:
    if batch.mask is not None and not batch.mask.all():
        raise UnknownInstruction(f"{name} while lanes are off: no document says what it then gives")
