"""Products of matrices that the lanes of a wave hold together: MFMA, SMFMAC, WMMA and SWMMAC.

``D = A x B + C``, with one or more blocks of M x K, K x N and M x N elements. The name of an operation tells its
shape and its types, the operands how many blocks there are. Where an element is:

* **A and B** (MI200 and MI300 ISA documents, "Dense Matrix Layout"; RDNA 4, "Matrix Element Storage in VGPRs"): the
  lanes are in groups, one for some of the K, of lanes for the blocks, of M (or N) lanes for the rows (or columns). A
  lane has neighbouring K of one row in neighbouring bits. RDNA 3: lanes 0 to 15 have whole rows, the others the same.
* **C and D**, GFX9: 4 rows (1 of doubles) of N lanes are in successive registers, then comes the next group of lanes.
  RDNA 3: lanes 16 to 31 have odd rows; wave64: each group of 16 lanes every fourth row. RDNA 4: lanes 16 to 31 have
  rows 8 to 15; wave64: groups of 16 lanes have rows 0 to 3, 8 to 11, 4 to 7 and 12 to 15.
* **GFX12.5** (CDNA 5, 7.12): C and D as RDNA 4. Of A and B, lanes 16 to 31 have every second 8 of the K, of sparse B
  every second 16; a lane of A meets the same lane of B, so that products need not know it.
* **Sparse** operations have two of each four K of A; a lane of a third register has their positions, 2 bits each.
  Eight registers of B of an SMFMAC are two dense blocks: the first four have the first half of the K (CDNA 4, 7.5.1.3).

Sources: AMD's ISA documents and "AMD Matrix Instruction Calculator"; for waves of 64 lanes of RDNA 4 also the head of
Mesa's radv_nir_lower_cooperative_matrix.c.

Integers are exact. Floats: each product is added with one rounding, to nearest even, in the order of the groups of
lanes and then of K, as singles (or doubles). How many products hardware adds before it rounds is not documented, so the
last bits can differ. gfx90a takes denormal halfs and bf16 for 0. XF32 rounds its sources to 10 bits of fraction.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics import floats
from dwarfgpu.isa.semantics.narrow_floats import from_bf16, narrow_format, to_bf16, widened

Lanes = Any

_DENSE = re.compile(
    r"v_(mfma|wmma)_(f32|f64|i32|f16|bf16|bf16f32)_(\d+)x(\d+)x(\d+)_?(?:\d+b_)?([a-z]+\d*)(?:_([a-z]+\d+))?$"
)
_SPARSE = re.compile(r"v_(smfmac|swmmac)_(f32|i32|f16|bf16|bf16f32)_(\d+)x(\d+)x(\d+)_([a-z]+\d+)(?:_([a-z]+\d+))?$")
_NARROW = re.compile(r"v_(mfma|wmma)_(?:scale(?:16)?_)?(f32)_(\d+)x(\d+)x(\d+)_(f8f6f4|f4)()$")
_WIDTHS = {"f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16,
           "i8": 8, "iu8": 8, "fp8": 8, "bf8": 8, "iu4": 4, "f8f6f4": 8, "f4": 4}  # fmt: skip
"""The bits of an element."""


@frozen
class MatrixShape:
    """What a matrix operation does, by its name."""

    family: str
    """mfma, smfmac, wmma or swmmac."""
    result: str
    """The type of D."""
    rows: int
    columns: int
    depth: int
    left: str
    """The type of A; f8f6f4 is one that the instruction says, and f4 that of 4 bits."""
    right: str
    addend: str
    """The type of C."""

    @property
    def is_sparse(self) -> bool:
        return self.family in ("smfmac", "swmmac")

    @property
    def result_bits(self) -> int:
        return _WIDTHS[self.result]


@cache
def shape_of(name: str) -> MatrixShape | None:
    """Return the shape of a matrix operation, None if the name is of none that is known."""
    match = _DENSE.match(name.removesuffix("_1k")) or _SPARSE.match(name) or _NARROW.match(name)
    if not match or match[6] not in _WIDTHS:
        return None
    family, result, rows, columns, depth, left, right = match.groups()
    result, addend = ("bf16", "f32") if result == "bf16f32" else (result, result)
    return MatrixShape(family, result, int(rows), int(columns), int(depth), left, right or left, addend)


@frozen
class MatrixModifiers:
    """What an instruction says beside its operands."""

    lanes: int
    processor: str
    generation: int
    broadcast: int = 0
    """CBSZ: as a power of two, how many blocks of B one block of A is for."""
    chosen_block: int = 0
    """ABID: which block of A; for sparse operations which part of the register of positions."""
    lane_pattern: int = 0
    """BLGP: which lanes B is taken from; for doubles which operands are negated."""
    negated_low: int = 0
    negated_high: int = 0
    clamps: bool = False
    is_high: bool = False
    """Whether C and D are in the high halves of registers (RDNA 3)."""


# --- Elements -----------------------------------------------------------------------------------------------------


def _elements(words: Lanes, kind: str, modifiers: MatrixModifiers, *, is_signed: bool) -> Lanes:
    """Return registers ``[wave, lane, register]`` as elements ``[wave, lane, element]``: floats or 64-bit integers."""
    if kind in ("f32", "f64"):
        return words.view(f"f{_WIDTHS[kind] // 8}")
    if kind == "xf32":
        bits = words + np.uint32(0xFFF) + (words >> np.uint32(13) & np.uint32(1)) & np.uint32(0xFFFFE000)
        return np.where(np.isfinite(words.view(np.float32)), bits, words).view(np.float32)
    if kind == "f16":
        return words.view(np.float16).astype(np.float32)
    if kind == "bf16":
        return from_bf16(words.view(np.uint16))
    if kind in ("fp8", "bf8"):
        return widened(words.view(np.uint8), narrow_format(kind, modifiers.processor))
    if kind == "iu4":
        both = words.view(np.uint8)
        nibbles = np.stack([both & 15, both >> 4], axis=-1).reshape(*both.shape[:-1], -1).astype(np.int64)
        return nibbles - (nibbles >> 3 << 4) if is_signed else nibbles
    return words.view(np.int8 if is_signed or kind == "i8" else np.uint8).astype(np.int64)


def _negated(elements: Lanes, position: int, modifiers: MatrixModifiers) -> Lanes:
    """Return elements of A or B after the modifiers that negate those in low and in high halves."""
    for half, negated in enumerate((modifiers.negated_low, modifiers.negated_high)):
        if negated >> position & 1:
            elements = elements.copy()
            elements[..., half::2] *= -1
    return elements


def _without_denormals(elements: Lanes, smallest: float) -> Lanes:
    return np.where(np.abs(elements) < smallest, np.copysign(np.float32(0), elements), elements)


_SMALLEST = {"f16": 2.0**-14, "bf16": 2.0**-126}


def _pattern(lane_pattern: int) -> Lanes:
    """Return for each lane the one that B is taken from (BLGP)."""
    lane = np.arange(64)
    if lane_pattern in (1, 2):
        return lane % 32 + 32 * (lane_pattern - 1)
    if lane_pattern == 3:
        return (lane + 16) % 64
    return lane % 16 + 16 * (lane_pattern - 4) if lane_pattern else lane


# --- Where the results are ----------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def places_of_results(shape: MatrixShape, blocks: int, lanes: int, generation: int) -> tuple[Any, Any]:
    """Return for each element ``[block, row, column]`` of C and D its lane and its place among those of the lane."""
    block, row, column = np.ogrid[:blocks, : shape.rows, : shape.columns]
    size = shape.columns
    if generation >= 12:
        each = 256 // lanes
        group = row % 16 // each
        if lanes == 64:  # the second group of 16 lanes has the rows behind the eighth
            group = group >> 1 | (group & 1) << 1
        lane, item = column + 16 * group, row % each + row // 16 * each
    elif generation >= 11:
        count = lanes // 16
        lane, item = column + 16 * (row % count), row // count
    else:
        height = 1 if shape.result == "f64" else 4
        together = -(-64 // (shape.rows * size // height))  # blocks in one register
        bands = 64 // together // size
        lane = column + size * (block % together + together * (row // height % bands))
        item = row % height + height * (row // (height * bands))
        item = item + block // together * (shape.rows * size * together // 64)
    full = blocks, shape.rows, shape.columns
    return np.broadcast_to(lane, full), np.broadcast_to(item + 0 * block, full)


# --- Products -----------------------------------------------------------------------------------------------------


def _fused(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    if left.dtype == np.float64:
        return floats.fused_long(left, right, other)
    if left.dtype == np.float32:
        return floats.fused_single(left, right, other)
    return left * right + other


def multiplied(
    shape: MatrixShape, modifiers: MatrixModifiers, left: Lanes, right: Lanes, other: Lanes, positions: Lanes = None
) -> Lanes:
    """Return the registers of D, ``[wave, lane, register]``, of those of A, B and C, and of positions if sparse.

    C may also be ``[1, 1, 1]``: an element of its type that is the same everywhere.
    """
    waves = max(words.shape[0] for words in (left, right, other))
    is_wide = modifiers.generation < 11
    blocks = blocks_of(shape, left.shape[2], modifiers.lanes, modifiers.generation)
    a, b = (
        _elements(words, kind, modifiers, is_signed=is_wide or bool(modifiers.negated_low >> position & 1))
        for position, (words, kind) in enumerate(((left, shape.left), (right, shape.right)))
    )
    if is_wide and shape.left != "f64" and modifiers.lane_pattern:
        b = b[:, _pattern(modifiers.lane_pattern)]
    if not is_wide and shape.result != "i32":
        a, b = _negated(a, 0, modifiers), _negated(b, 1, modifiers)
    flushes = modifiers.processor == "gfx90a" and shape.left in _SMALLEST
    if flushes:
        a, b = (_without_denormals(elements, _SMALLEST[shape.left]) for elements in (a, b))
    if shape.left == "f64":
        a, b = (-x if modifiers.lane_pattern >> bit & 1 else x for bit, x in enumerate((a, b)))
    if modifiers.generation == 11:
        a, b = a[:, :16], b[:, :16]
    # [wave, group, block, row, element of a lane]
    a = a.reshape(a.shape[0], -1, blocks, shape.rows, a.shape[2])
    b = b.reshape(b.shape[0], -1, blocks, shape.columns, b.shape[2])
    if modifiers.broadcast and not shape.is_sparse:
        block = np.arange(blocks)
        a = a[:, :, (block >> modifiers.broadcast << modifiers.broadcast) + modifiers.chosen_block]
    lane, item = places_of_results(shape, blocks, modifiers.lanes, modifiers.generation)
    total = addends(shape, modifiers, other, lane, item)
    if positions is not None:
        b = _by_depth(b, has_two_blocks=shape.family == "smfmac" and right.shape[2] == 8)
    for group in range(a.shape[1]):
        for number in range(a.shape[4]):
            column = a[:, group, :, :, number, None]
            if positions is None:
                row = b[:, group, :, None, :, number]
            else:
                row = _chosen(b, positions, group, number, a, modifiers.chosen_block)
            total = _fused(column, row, total)
    if flushes:
        total = _without_denormals(total, 2.0**-126)
    total = np.broadcast_to(total, (waves, blocks, shape.rows, shape.columns))
    return registers_of(shape, modifiers, total, lane, item)


_OF_GFX12_5 = {("f32", 4), ("f16", 32), ("bf16", 32), ("fp8", 64), ("bf8", 64), ("iu8", 64), ("fp8", 128), ("bf8", 128)}
_SPARSE_OF_GFX12_5 = {("f16", 64), ("bf16", 64), ("fp8", 128), ("bf8", 128), ("iu8", 128)}


def is_of_gfx12_5(shape: MatrixShape, modifiers: MatrixModifiers) -> bool:
    """Return whether the document of GFX12.5 says what a product is (CDNA 5, table 43).

    LLVM takes more, with other numbers of K, and signs of A and B where they are floats.
    """
    known = _SPARSE_OF_GFX12_5 if shape.is_sparse else _OF_GFX12_5
    signs = modifiers.negated_low | modifiers.negated_high
    is_plain = shape.left == "iu8" or not signs & 3
    return (shape.left, shape.depth) in known and is_plain and not modifiers.chosen_block


def blocks_of(shape: MatrixShape, registers: int, lanes: int, generation: int) -> int:
    """Return how many blocks there are, by the number of registers of A; 0 if A does not fill them."""
    elements = registers * 32 // _WIDTHS[shape.left] * (16 if generation == 11 else lanes)
    size = shape.rows * (shape.depth // 2 if shape.is_sparse else shape.depth)
    return 0 if elements % size or (elements != size and generation >= 11) else elements // size


def _by_depth(b: Lanes, *, has_two_blocks: bool) -> Lanes:
    """Return B of a sparse operation in the order of K: ``[wave, K, column]``."""
    waves, groups, _blocks, columns, _count = b.shape
    parts = b.reshape(waves, groups, columns, 2 if has_two_blocks else 1, -1)
    return parts.transpose(0, 3, 1, 4, 2).reshape(waves, -1, columns)


def _chosen(b: Lanes, positions: Lanes, group: int, number: int, a: Lanes, part: int) -> Lanes:
    """Return the rows of B that belong to an element of a sparse A: ``[wave, block, row, column]``."""
    rows, count = a.shape[3:]
    lanes = positions[:, group * rows : (group + 1) * rows, None]
    shift = part * 2 * count % (8 * positions.itemsize) + 2 * number
    place = lanes >> lanes.dtype.type(shift) & lanes.dtype.type(3)
    return np.take_along_axis(b, place.astype(np.int64) + (group * count + number) // 2 * 4, axis=1)[:, None]


def addends(shape: MatrixShape, modifiers: MatrixModifiers, other: Lanes, lane: Lanes, item: Lanes) -> Lanes:
    """Return C, ``[wave, block, row, column]``, in the type in which the products are added."""
    kind = shape.addend
    if kind == "i32":
        elements = other.view(np.int32).astype(np.int64)
    elif kind in ("f32", "f64"):
        elements = other.view(np.float32 if kind == "f32" else np.float64)
    else:
        halves = other.view(np.uint16)
        if modifiers.generation == 11:
            halves = halves[:, :, modifiers.is_high :: 2]
        elements = from_bf16(halves) if kind == "bf16" else halves.view(np.float16).astype(np.float32)
    if elements.shape[1:] == (1, 1) or other.shape[1:] == (1, 1):
        elements = elements[:, :1, :1, None]
    else:
        elements = elements[:, lane, item]
    if modifiers.generation >= 11 and kind != "i32":
        elements = np.abs(elements) if modifiers.negated_high & 4 else elements
        elements = -elements if modifiers.negated_low & 4 else elements
    if kind == "f64" and modifiers.lane_pattern & 4:
        elements = -elements
    return elements


def registers_of(shape: MatrixShape, modifiers: MatrixModifiers, total: Lanes, lane: Lanes, item: Lanes) -> Lanes:
    """Return results as registers; of halfs on RDNA 3 each is in a register of its own."""
    kind = shape.result
    if kind == "i32":
        if modifiers.clamps:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        elements = total.astype(np.int32)
    elif kind == "f16":
        with np.errstate(over="ignore"):
            elements = total.astype(np.float16)
    elif kind == "bf16":
        elements = to_bf16(np.ascontiguousarray(total))
    else:
        elements = total
    result = np.zeros((total.shape[0], modifiers.lanes, int(item.max()) + 1), elements.dtype)
    result[:, lane, item] = elements
    if elements.dtype.itemsize == 2 and modifiers.generation == 11:
        return result.view(np.uint16).astype(np.uint32)
    return result.view(np.uint32)
