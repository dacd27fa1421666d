"""Which buffer each register points into: provenance that follows pointers through instructions.

A register has None where it holds plain numbers or nothing that is known, the number of a buffer, `UNCERTAIN` where
a pointer was computed with in another way than pointers are, or an array of these, ``[wave, lane]``, with 0 for None.
Both words of an address must be of one buffer, so that a number that was made of one word is no pointer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import M0, SCALARS, VCC, WaveBatch
from dwarfgpu.execution.block_writer import SPECIAL, BlockWriter
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind

Column = Any
UNCERTAIN = -1
LEAST_MASK = 16
"""The bits that a mask keeps of a pointer, at least: one that aligns it, or makes room for the stride of a buffer."""
WORD_BITS = 32
ZERO, WRONG = np.int16(0), np.int16(UNCERTAIN)


class PointerColumns:
    """The provenance of the registers of a batch, one for each of its columns."""

    def __init__(self, vector: list[Column], accumulation: list[Column], scalar: list[Column]) -> None:
        self.vector, self.accumulation, self.scalar = vector, accumulation, scalar

    @classmethod
    def of(cls, batch: WaveBatch) -> PointerColumns:
        """Return those of a batch whose registers are no pointers."""
        return cls([None] * len(batch.vector), [None] * len(batch.accumulation), [None] * SCALARS)

    @property
    def files(self) -> tuple[list[Column], ...]:
        return self.vector, self.accumulation, self.scalar

    def part(self, index: Any, count: int) -> PointerColumns:
        """Return those of some waves, of so many."""
        return PointerColumns(*([_rows(each, index, count) for each in file] for file in self.files))

    def join(self, others: list[PointerColumns], counts: list[int]) -> PointerColumns:
        """Return those of several batches together."""
        files = zip(*(each.files for each in (self, *others)), strict=True)
        return PointerColumns(*([_together(row, counts) for row in zip(*file, strict=True)] for file in files))


def _rows(column: Column, index: Any, count: int) -> Column:
    return column if column is None or isinstance(column, int) or column.shape[0] != count else column[index]


def _together(columns: tuple[Column, ...], counts: list[int]) -> Column:
    first = columns[0]
    if all(each is first for each in columns) and (first is None or isinstance(first, int)):
        return first
    wide = [np.atleast_2d(np.asarray(known(each))) for each in columns]
    lanes = max(each.shape[1] for each in wide)
    return np.concatenate([np.broadcast_to(each, (count, lanes)) for each, count in zip(wide, counts, strict=True)])


def known(column: Column) -> Any:
    """Return provenance as a number or an array of numpy."""
    return ZERO if column is None else np.int16(column) if isinstance(column, int) else column


def simple(column: Any) -> Column:
    """Return an array as one number, or None, if it is the same everywhere."""
    first = column.flat[0]
    return (int(first) or None) if (column == first).all() else column


# --- What operations do with it -------------------------------------------------------------------------------------


def put(mask: Any, new: Column, old: Column) -> Column:
    """Return a register that some lanes write."""
    if isinstance(new, int) and isinstance(old, int) and new == old:
        return old
    return np.where(mask, known(new), known(old))


def plus(left: Column, right: Column) -> Column:
    """Return the provenance of a sum: of a pointer and a number it is that of the pointer."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, int) and isinstance(right, int):
        return UNCERTAIN
    left, right = known(left), known(right)
    return np.where(left == 0, right, np.where(right == 0, left, WRONG))


def minus(left: Column, right: Column) -> Column:
    """Return the provenance of a difference: that of two pointers into one buffer is a number."""
    if right is None:
        return left
    if isinstance(right, int) and (left is None or isinstance(left, int)):
        return None if left == right != UNCERTAIN else UNCERTAIN
    left, right = known(left), known(right)
    return np.where(right == 0, left, np.where((left == right) & (left > 0), ZERO, WRONG))


def other(*sources: Column) -> Column:
    """Return the provenance of another result: of numbers alone it is a number."""
    columns = [each for each in sources if each is not None]
    if not columns:
        return None
    if any(isinstance(each, int) for each in columns):
        return UNCERTAIN
    found = columns[0] != 0
    for each in columns[1:]:
        found = found | (each != 0)
    return np.where(found, WRONG, ZERO)


def same(left: Column, right: Column) -> Column:
    """Return the provenance of one of two."""
    if all(each is None or isinstance(each, int) for each in (left, right)):
        return left if left == right else UNCERTAIN
    return np.where(known(left) == known(right), known(left), WRONG)


def moved(column: Column) -> Column:
    """Return that of a register whose lanes have changed places."""
    return column if column is None or isinstance(column, int) else other(column)


def chosen(flags: Any, left: Column, right: Column) -> Column:
    """Return that of a selection: the right one where a flag is set."""
    if isinstance(flags, int):
        return right if flags else left
    return np.where(flags != 0, known(right), known(left))


def masked(pointer: Column, mask: Any) -> Column:
    """Return that of a pointer of which a mask keeps some bits."""
    if pointer is None:
        return None
    number = mask if isinstance(mask, int) else int(mask.flat[0]) if (mask == mask.flat[0]).all() else 1
    return None if not number else pointer if number.bit_count() >= LEAST_MASK else other(pointer)


def shifted(count: Any, word: Column, low: Column, high: Column) -> Column:
    """Return that of a word of a shift of 64 bits: one by 32 moves a word there."""
    if not isinstance(count, int):
        count = int(count.flat[0]) if (count == count.flat[0]).all() else 0
    return word if count == WORD_BITS else other(low, high)


def first_lane(column: Column, mask: Any, count: int) -> Column:
    """Return that of the first executing lane."""
    if column is None or isinstance(column, int):
        return column
    if mask is None or column.shape[1] == 1:
        return simple(column[:, :1])
    index = np.broadcast_to(mask.argmax(axis=1)[:, None], (count, 1))
    return simple(np.take_along_axis(np.broadcast_to(column, (count, column.shape[1])), index, axis=1))


def one_lane(column: Column, lane: Any, lanes: int) -> Column:
    """Return that of a lane."""
    if column is None or isinstance(column, int):
        return column
    if not isinstance(lane, int):
        return moved(column)
    return simple(column[:, lane % lanes : lane % lanes + 1] if column.shape[1] > 1 else column)


def with_lane(column: Column, value: Column, lane: Any, lanes: int) -> Column:
    """Return a register of which one lane is written."""
    if column is None and value is None:
        return None
    if not isinstance(lane, int):
        return UNCERTAIN
    before, value = known(column), known(value)
    new = np.empty((max(np.shape(each)[0] if np.ndim(each) else 1 for each in (before, value)), lanes), np.int16)
    new[...] = before
    new[:, lane % lanes] = value if not np.ndim(value) else value[:, 0]
    return new


def forget(columns: list[Column], first: int) -> None:
    """Forget registers of which one is written by its number."""
    for number in range(first, len(columns)):
        columns[number] = None if columns[number] is None else UNCERTAIN


# --- Text -----------------------------------------------------------------------------------------------------------

_NUMBERS = re.compile(
    r"v_cmp|s_cmp|s_bitcmp|[vs]_cvt|[vs]_\w*_(f16|f32|f64|bf16|f8|bf8|fp8|bf6|fp6|fp4)(_|$)|v_\w*pk_|v_dot|v_s?w?mmac?|v_m?fma|v_interp"
    r"|s_(get|mem|send)|v_\w*_[ui](8|16)$|s_movk|v_mbcnt|s_bfm|s_brev|s_ff|s_flbit"
)
"""Operations whose results are numbers for certain."""
_PLUS = re.compile(r"[vs]_(add|addc|addk)_(?!lshl)|v_add3_|[vs]_or3?_(?!not|saveexec)|s_or_b(32|64)$")
_MINUS = re.compile(r"[vs]_(sub|subb|subrev|subbrev)_")
_MOVE = re.compile(r"[vs]_mov_b(32|64)$|v_accvgpr_(read|write|mov)_b32$|v_accvgpr_(read|write)$")
_ONE_OF = re.compile(r"[vs]_(min|max)_[ui]32$")
_MOVED = re.compile(r"ds_(bpermute|permute|swizzle)|v_permlane|v_readlane_regrd")
_RELATIVE = re.compile(r"v_movrel|v_swaprel|s_movrel")
_FILES = {OperandKind.SGPR: "qs", OperandKind.VGPR: "qv", OperandKind.AGPR: "qa"}
NONE = "None"


def words_of(operand: GpuOperand, count: int = 1) -> list[str]:
    """Return the texts of the provenance of the words of an operand."""
    first, file = operand.index, _FILES.get(operand.kind)
    if operand.kind is OperandKind.SPECIAL:
        name = operand.register
        at = M0 if name == "m0" else SPECIAL.get(name)
        if name.startswith("ttmp"):
            at = 108 + int(re.sub(r"\D.*", "", name[4:].strip("[")) or 0)
        first, file = at or 0, "qs" if at is not None else None
    has = operand.count if operand.kind is not OperandKind.SPECIAL or operand.register in ("vcc", "flat_scratch") else 1
    return [f"{file}[{first + number}]" if file and number < max(has, 1) else NONE for number in range(count)]


class ProvenanceWriter:
    """Writes what instructions do with the provenance of registers, in front of them."""

    def __init__(self, start: Callable[[WaveBatch], PointerColumns]) -> None:
        self.start = start
        self._block: BlockWriter | None = None

    def open(self, writer: BlockWriter) -> None:
        """Name the columns in a block."""
        if writer is not self._block:
            self._block = writer
            writer.write(f"q = b.beside.get('pointers') or {writer.name(self.start)}(b)")
            writer.write("qv = q.vector; qs = q.scalar; qa = q.accumulation")

    def write(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write the provenance of the results of an instruction that is no access of memory."""
        parts = instruction.components or (instruction,)
        results = [pair for part in parts for pair in self._results(writer, part)]
        if len(results) > 1:
            for number, (_place, text) in enumerate(results):
                if text != NONE:
                    writer.write(f"z{number} = {text}")
        for number, (place, text) in enumerate(results):
            self.set(writer, place, text if len(results) == 1 or text == NONE else f"z{number}")

    @staticmethod
    def set(writer: BlockWriter, place: str, text: str) -> None:
        """Write the provenance of a register in the executing lanes, or of a scalar one."""
        if place == NONE:
            return
        if place.startswith("qs"):
            writer.write(f"{place} = {text}")
        elif text == NONE:
            name = writer.name(put)
            writer.write(f"if {place} is not None: {place} = None if m is None else {name}(m, None, {place})")
        else:
            writer.write(f"z = {text}")
            writer.write(f"if z is not {place}: {place} = z if m is None else {writer.name(put)}(m, z, {place})")

    def _results(self, writer: BlockWriter, instruction: GpuInstruction) -> list[tuple[str, str]]:
        name = instruction.name
        if _RELATIVE.match(name) or any(map(writer.is_indexed, range(4))):
            file = "qs" if name[0] == "s" else "qv"
            first = min((each.index for each in instruction.destinations), default=0)
            writer.write(f"{writer.name(forget)}({file}, {first})")
            return []
        if name == "v_writelane_b32":
            target, value, lane = instruction.sources
            (place,), (word,) = words_of(target), words_of(value)
            lane_text = writer.scalar(lane)
            if not place.startswith(("qs", NONE)):
                text = f"{writer.name(with_lane)}({place}, {word}, {lane_text}, {writer.lanes})"
                writer.write(f"if {word} is not None or {place} is not None: {place} = {text}")
            return []
        if name == "v_swap_b32":
            (left,), (right,) = (words_of(operand) for operand in instruction.operands[:2])
            return [(left, right), (right, left)]
        destinations = instruction.destinations
        if not destinations:
            return []
        target, *flags = destinations
        found = [(place, NONE) for each in flags for place in words_of(each, each.count)]
        count = max(target.count, 1)
        texts = self._texts(writer, instruction, count)
        return [*found, *zip(words_of(target, count), texts, strict=True)]

    def _texts(self, writer: BlockWriter, instruction: GpuInstruction, count: int) -> list[str]:
        name = instruction.name.replace("v_dual_", "v_")
        shape = _shape(name)
        if shape is None:
            return [NONE] * count
        sources = [operand for operand in instruction.sources if operand.kind is not OperandKind.IMMEDIATE]
        is_plain = instruction.variant in ("", "x", "y") and instruction.destinations[0].half is None
        words = [words_of(each, count) for each in sources]
        if not any(word != NONE for each in words for word in each):
            return [NONE] * count
        every = [word for each in sources for word in words_of(each, max(each.count, 1))]
        call = _Calls(writer)
        if not is_plain:
            return [call(other, *every)] * count
        texts: list[str] = shape(call, instruction, sources, words, every)
        return texts


class _Calls:
    """Writes calls of functions of provenance; those of numbers alone are left out."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer

    def __call__(self, function: Any, *words: str) -> str:
        given = [word for word in dict.fromkeys(words) if word != NONE] if function is other else [*words]
        if not given or all(word == NONE for word in given):
            return NONE
        if function in (plus, minus) and given[1] == NONE:
            return given[0]
        if function is plus and given[0] == NONE:
            return given[1]
        text = f"{self.writer.name(function)}({', '.join(given)})"
        tested = [word for word in given if word != NONE]
        if function is minus:
            return f"{given[0]} if {given[1]} is None else {text}"
        return f"(None if {' is None and '.join(tested)} is None else {text})"

    def select(self, flags: str, left: str, right: str) -> str:
        """Write a selection, of which most are among numbers."""
        text = f"{self.writer.name(chosen)}({flags}, {left}, {right})"
        return f"({left} if {left} is {right} else {text})" if left != right else left


Shape = Any


def _moves(_call: Any, _instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    return list(words[0])


def _packed_moves(_call: Any, instruction: Any, sources: Any, _words: Any, _every: Any) -> list[str]:
    chosen = instruction.modifiers.get("op_sel", 0)
    return [words_of(each, 2)[chosen >> number & 1] for number, each in enumerate(sources[:2])]


def _sums(call: Any, _instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    if len(words) < 2:  # the other one is a number of the encoding
        return list(words[0])
    first, second, *more = words
    texts = [call(plus, *pair) for pair in zip(first, second, strict=True)]
    if more and _instruction.name.startswith(("v_add3", "v_or3")):
        texts = [call(plus, *pair) for pair in zip(texts, more[0], strict=True)]
    return texts


def _differences(call: Any, instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    first, second = words[:2]
    if "rev_" in instruction.name:
        first, second = second, first
    return [call(minus, *pair) for pair in zip(first, second, strict=True)]


def _scaled_sums(call: Any, instruction: Any, sources: Any, words: Any, every: Any) -> list[str]:
    """Write shifts or products to which the last source is added."""
    *factors, added = words
    shift = sources[1]
    if "lshl" in instruction.name and shift.kind is OperandKind.CONSTANT and not shift.value:
        return [call(plus, *pair) for pair in zip(factors[0], added, strict=True)]
    number = call(other, *(word for each in sources[:-1] for word in words_of(each, max(each.count, 1))))
    return [call(plus, number, word) for word in added]


def _shifted_scalar_sums(call: Any, _instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    return [call(plus, call(other, words[0][0]), words[1][0])]


def _alternatives(call: Any, _instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    return [call(same, *pair) for pair in zip(*words[:2], strict=True)]


def _masks(call: Any, instruction: Any, sources: Any, words: Any, _every: Any) -> list[str]:
    """Write the "and" of a pointer and a number."""
    writer, texts = call.writer, []
    for number, (left, right) in enumerate(zip(*words[:2], strict=True)):
        values = [_value_text(writer, each, number, is_scalar=instruction.name[0] == "s") for each in sources[:2]]
        name = writer.name(masked)
        if NONE in (left, right):
            pointer, value = (left, values[1]) if right == NONE else (right, values[0])
            texts.append(f"(None if {pointer} is None else {name}({pointer}, {value}))")
            continue
        one = f"{name}({left}, {values[1]}) if {right} is None else {name}({right}, {values[0]}) if {left} is None"
        texts.append(f"(None if {left} is {right} is None else {one} else {UNCERTAIN})")
    return texts


def _value_text(writer: BlockWriter, operand: GpuOperand, number: int, *, is_scalar: bool) -> str:
    """Return the text of a word of an operand, a number or an array."""
    if operand.kind in (OperandKind.VGPR, OperandKind.AGPR):
        return f"{'a' if operand.kind is OperandKind.AGPR else 'v'}[{operand.index + number}]"
    bits = 64 if is_scalar and operand.count > 1 else 32
    return f"(({writer.scalar(operand, bits)}) >> {32 * number} & 0xffffffff)"


def _masks_with_more(call: Any, instruction: Any, sources: Any, words: Any, every: Any) -> list[str]:
    (kept,) = _masks(call, instruction, sources, words, every)
    return [call(plus, kept, words[2][0])]


def _selections(call: Any, instruction: Any, sources: Any, words: Any, _every: Any) -> list[str]:
    writer = call.writer
    if instruction.name[0] == "s":  # D = SCC ? S0 : S1
        return [call.select("b.scc", right, left) for left, right in zip(*words[:2], strict=True)]
    mask = writer.scalar(sources[2], writer.lanes) if len(sources) > 2 else f"s[{VCC}]"
    flags = f"flags({mask}, {writer.lanes})"
    return [call.select(flags, left, right) for left, right in zip(*words[:2], strict=True)]


def _conditional_moves(call: Any, instruction: Any, _sources: Any, words: Any, _every: Any) -> list[str]:
    kept = words_of(instruction.destinations[0], len(words[0]))
    return [call.select("b.scc", old, new) for old, new in zip(kept, words[0], strict=True)]


def _first_lanes(call: Any, _instruction: Any, sources: Any, words: Any, _every: Any) -> list[str]:
    word = words[0][0]
    if sources[0].kind is OperandKind.SGPR:
        return [word]
    return [f"(None if {word} is None else {call.writer.name(first_lane)}({word}, m, b.count))"]


def _read_lanes(call: Any, _instruction: Any, sources: Any, words: Any, _every: Any) -> list[str]:
    word, writer = words[0][0], call.writer
    lane = writer.scalar(sources[1])
    return [f"(None if {word} is None else {writer.name(one_lane)}({word}, {lane}, {writer.lanes}))"]


def _permutations(call: Any, _instruction: Any, _sources: Any, _words: Any, every: Any) -> list[str]:
    return [call(moved, every[-1] if len(every) == 2 else every[0])]


def _word_shifts(call: Any, instruction: Any, sources: Any, words: Any, every: Any) -> list[str]:
    """Write shifts of 64 bits: those by 32 move a word."""
    count, place = (0, 1) if "rev" in instruction.name else (1, 0)
    low, high = words[place]
    if low == high == NONE:
        return [NONE, NONE]
    text, name = _value_text(call.writer, sources[count], 0, is_scalar=True), call.writer.name(shifted)
    is_right = "shr" in instruction.name
    texts = (f"{name}({text}, {high if is_right else NONE}, {low}, {high})",
             f"{name}({text}, {NONE if is_right else low}, {low}, {high})")  # fmt: skip
    return [f"(None if {low} is {high} is None else {each})" for each in texts]


def _others(call: Any, _instruction: Any, _sources: Any, words: Any, every: Any) -> list[str]:
    return [call(other, *every)] * len(words[0])


@cache
def _shape(name: str) -> Shape:
    """Return what writes the provenance of an operation by its name; None if the results are numbers."""
    exact = {
        "v_lshl_add_u64": _scaled_sums, "v_lshl_add_u32": _scaled_sums, "v_lshl_or_b32": _scaled_sums,
        "v_and_b32": _masks, "s_and_b32": _masks, "s_and_b64": _masks, "v_and_or_b32": _masks_with_more,
        "v_cndmask_b32": _selections, "s_cselect_b32": _selections, "s_cselect_b64": _selections,
        "s_cmov_b32": _conditional_moves, "s_cmov_b64": _conditional_moves,
        **dict.fromkeys(("v_lshrrev_b64", "v_lshlrev_b64", "s_lshr_b64", "s_lshl_b64"), _word_shifts),
        "v_pk_mov_b32": _packed_moves, "v_readfirstlane_b32": _first_lanes, "v_readlane_b32": _read_lanes,
    }  # fmt: skip
    if name in exact:
        return exact[name]
    for pattern, shape in (
        (_MOVE, _moves), (re.compile(r"v_mad_(co_)?[ui](64|32)_"), _scaled_sums),
        (re.compile(r"s_lshl\d_add"), _shifted_scalar_sums), (_MOVED, _permutations), (_NUMBERS, None),
        (_PLUS, _sums), (_MINUS, _differences), (_ONE_OF, _alternatives),
    ):  # fmt: skip
        if pattern.match(name):
            return shape
    return _others
