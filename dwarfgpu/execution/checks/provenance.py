"""Which buffer each register points into: provenance that follows pointers through instructions.

A register has None where it holds plain numbers or nothing that is known, the number of a buffer, `UNCERTAIN` where
a pointer was computed with in another way than pointers are, or an array of these, ``[wave, lane]``, with 0 for None.
Both words of an address must be of one buffer, so that a number that was made of one word is no pointer.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import M0, SCALARS, VCC, WaveBatch
from dwarfgpu.execution.block_writer import SPECIAL, BlockWriter
from dwarfgpu.isa.formulas import FormulaTable
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.columns import Columns

Column = Any
UNCERTAIN = -1
LEAST_MASK = 16
"""The bits that a mask keeps of a pointer, at least: one that aligns it, or makes room for the stride of a buffer."""
WORD_BITS = 32
ZERO = np.int32(0)
PLUS, MINUS, SAME, OTHER = "plus", "minus", "same", "other"
RULES = FormulaTable("""
plus | i32 i32 -> i32 | D = S0 if S1 == 0 else S1 if S0 == 0 else -1
minus | i32 i32 -> i32 | D = S0 if S1 == 0 else 0 if S0 == S1 and S0 > 0 else -1
same | i32 i32 -> i32 | D = S0 if S0 == S1 else -1
other | i32 i32 -> i32 | D = 0 if S0 == 0 and S1 == 0 else -1
""")
"""The provenance of a sum, of a difference, of one of two, and of another result, for each lane.

The sum of a pointer and a number is in the buffer of the pointer. The difference of two pointers into one buffer is a
number. What is computed of numbers in another way is a number.
"""


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
    return ZERO if column is None else np.int32(column) if isinstance(column, int) else column


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


@cache
def _rule(name: str) -> Callable[..., Any]:
    return Columns().function(RULES[name])


@cache
def _of_numbers(name: str, *numbers: int | None) -> int | None:
    return int(_rule(name)(*map(known, numbers))) or None


def ruled(name: str, *columns: Column) -> Column:
    """Return what one of the `RULES` makes of provenance."""
    if all(each is None or isinstance(each, int) for each in columns):
        return _of_numbers(name, *columns)
    return _rule(name)(*map(known, columns))


def plus(left: Column, right: Column) -> Column:
    """Return the provenance of a sum."""
    return ruled(PLUS, left, right) if left is not None and right is not None else right if left is None else left


def minus(left: Column, right: Column) -> Column:
    """Return the provenance of a difference."""
    return left if right is None else ruled(MINUS, left, right)


def other(*sources: Column) -> Column:
    """Return the provenance of another result."""
    columns = [each for each in sources if each is not None]
    return reduce(lambda one, more: ruled(OTHER, one, more), columns, None)


def same(left: Column, right: Column) -> Column:
    """Return the provenance of one of two."""
    return ruled(SAME, left, right)


_FUNCTIONS: dict[str, Callable[..., Column]] = {PLUS: plus, MINUS: minus, SAME: same, OTHER: other}


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
    return simple(_of_lanes(column, np.broadcast_to(mask.argmax(axis=1)[:, None], (count, 1)), count))


def _of_lanes(column: Any, lanes: Any, count: int) -> Any:
    """Return what each wave has in a lane of its own."""
    return np.take_along_axis(np.broadcast_to(column, (count, column.shape[1])), lanes, axis=1)


def one_lane(column: Column, lane: Any, lanes: int) -> Column:
    """Return that of a lane."""
    if column is None or isinstance(column, int):
        return column
    if column.shape[1] == 1:
        return simple(column)
    index = lane % lanes if isinstance(lane, int) else (lane % lanes).astype(np.intp)
    return simple(column[:, index : index + 1] if isinstance(lane, int) else _of_lanes(column, index, len(lane)))


def with_lane(column: Column, value: Column, lane: Any, lanes: int) -> Column:
    """Return a register of which one lane is written."""
    if column is None and value is None:
        return None
    if not isinstance(lane, int):
        return UNCERTAIN
    before, value = known(column), known(value)
    new = np.empty((max(np.shape(each)[0] if np.ndim(each) else 1 for each in (before, value)), lanes), np.int32)
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
_FILES = {OperandKind.SGPR: "s", OperandKind.VGPR: "v", OperandKind.AGPR: "a"}
NONE = "None"
Register = tuple[str, int]
"""A register that may hold a pointer: s, v or a, and its number."""


def registers_of(operand: GpuOperand, count: int = 1) -> list[Register | None]:
    """Return the registers of the words of an operand; None for a word that is in none."""
    first, file = operand.index, _FILES.get(operand.kind)
    if operand.kind is OperandKind.SPECIAL:
        name = operand.register
        at = M0 if name == "m0" else SPECIAL.get(name)
        if name.startswith("ttmp"):
            at = 108 + int(re.sub(r"\D.*", "", name[4:].strip("[")) or 0)
        first, file = at or 0, "s" if at is not None else None
    has = operand.count if operand.kind is not OperandKind.SPECIAL or operand.register in ("vcc", "flat_scratch") else 1
    return [(file, first + number) if file and number < max(has, 1) else None for number in range(count)]


def text_of(register: Register | None) -> str:
    """Return the text of the provenance of a register."""
    return NONE if register is None else f"q{register[0]}[{register[1]}]"


def words_of(operand: GpuOperand, count: int = 1) -> list[str]:
    """Return the texts of the provenance of the words of an operand."""
    return [*map(text_of, registers_of(operand, count))]


class ProvenanceWords(ABC):
    """Writes the provenance of words of operands, and what rules make of it, as text of some language.

    A word that is no pointer for certain is ``NONE``.
    """

    is_indexed = False
    """Whether instructions reach registers by number."""

    def words(self, operand: GpuOperand, count: int = 1) -> list[str]:
        """Return the provenance of the words of an operand."""
        return [NONE if each is None else self.word(each) for each in registers_of(operand, count)]

    def __call__(self, rule: str, *words: str) -> str:
        """Return what a rule makes of words."""
        given = [word for word in dict.fromkeys(words) if word != NONE] if rule == OTHER else [*words]
        if not given or all(word == NONE for word in given):
            return NONE
        if rule in (PLUS, MINUS) and given[1] == NONE:
            return given[0]
        if rule == PLUS and given[0] == NONE:
            return given[1]
        return self.ruled(rule, given)

    @abstractmethod
    def word(self, register: Register) -> str:
        """Return the provenance of a register."""

    @abstractmethod
    def ruled(self, rule: str, words: list[str]) -> str:
        """Return what a rule makes of words of which one may be a pointer."""

    @abstractmethod
    def selected(self, instruction: GpuInstruction, left: str, right: str) -> str:
        """Return the right word where the flag of a selection is set, else the left one."""

    @abstractmethod
    def masked(self, sources: list[GpuOperand], number: int, left: str, right: str, *, is_scalar: bool) -> str:
        """Return words of two operands of which one keeps some bits of the other."""

    @abstractmethod
    def shifted(self, count: GpuOperand, word: str, low: str, high: str) -> str:
        """Return a word of two that are shifted; by 32 bits it is the given one."""

    @abstractmethod
    def moved(self, word: str) -> str:
        """Return a word whose lanes have changed places."""

    @abstractmethod
    def of_lane(self, word: str, lane: GpuOperand | None = None) -> str:
        """Return what a lane has, or the first executing one."""

    @abstractmethod
    def forget(self, file: str, first: int) -> None:
        """Forget a register that is written by its number, from some register on."""

    @abstractmethod
    def set_lane(self, register: Register, word: str, lane: GpuOperand) -> None:
        """Write one lane of a register."""


class BlockWords(ProvenanceWords):
    """Writes provenance as text of Python in a block."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer

    @property
    def is_indexed(self) -> bool:  # type: ignore[override]
        return any(map(self.writer.is_indexed, range(4)))

    def word(self, register: Register) -> str:
        return text_of(register)

    def ruled(self, rule: str, words: list[str]) -> str:
        text = f"{self.writer.name(_FUNCTIONS[rule])}({', '.join(words)})"
        tested = [word for word in words if word != NONE]
        if rule == MINUS:
            return f"{words[0]} if {words[1]} is None else {text}"
        return f"(None if {' is None and '.join(tested)} is None else {text})"

    def selected(self, instruction: GpuInstruction, left: str, right: str) -> str:
        writer, sources = self.writer, instruction.sources
        if instruction.name[0] == "s":
            flags = "b.scc"
        else:
            mask = writer.scalar(sources[2], writer.lanes) if len(sources) > 2 else f"s[{VCC}]"
            flags = f"flags({mask}, {writer.lanes})"
        text = f"{writer.name(chosen)}({flags}, {left}, {right})"
        return f"({left} if {left} is {right} else {text})" if left != right else left  # most are among numbers

    def masked(self, sources: list[GpuOperand], number: int, left: str, right: str, *, is_scalar: bool) -> str:
        name = self.writer.name(masked)
        values = [self._value(each, number, is_scalar=is_scalar) for each in sources[:2]]
        if NONE in (left, right):
            word, value = (left, values[1]) if right == NONE else (right, values[0])
            return f"(None if {word} is None else {name}({word}, {value}))"
        one = f"{name}({left}, {values[1]}) if {right} is None else {name}({right}, {values[0]}) if {left} is None"
        return f"(None if {left} is {right} is None else {one} else {UNCERTAIN})"

    def _value(self, operand: GpuOperand, number: int, *, is_scalar: bool) -> str:
        """Return the text of a word of an operand, a number or an array."""
        if operand.kind in (OperandKind.VGPR, OperandKind.AGPR):
            return f"{'a' if operand.kind is OperandKind.AGPR else 'v'}[{operand.index + number}]"
        bits = 64 if is_scalar and operand.count > 1 else 32
        return f"(({self.writer.scalar(operand, bits)}) >> {32 * number} & 0xffffffff)"

    def shifted(self, count: GpuOperand, word: str, low: str, high: str) -> str:
        text = f"{self.writer.name(shifted)}({self._value(count, 0, is_scalar=True)}, {word}, {low}, {high})"
        return f"(None if {low} is {high} is None else {text})"

    def moved(self, word: str) -> str:
        return word if word == NONE else f"{self.writer.name(moved)}({word})"

    def of_lane(self, word: str, lane: GpuOperand | None = None) -> str:
        if word == NONE or word.startswith("qs"):
            return word
        writer = self.writer
        text = f"{writer.name(first_lane)}({word}, m, b.count)"
        if lane is not None:
            text = f"{writer.name(one_lane)}({word}, {writer.scalar(lane)}, {writer.lanes})"
        return f"(None if {word} is None else {text})"

    def forget(self, file: str, first: int) -> None:
        self.writer.write(f"{self.writer.name(forget)}(q{file}, {first})")

    def set_lane(self, register: Register, word: str, lane: GpuOperand) -> None:
        place, writer = text_of(register), self.writer
        text = f"{writer.name(with_lane)}({place}, {word}, {writer.scalar(lane)}, {writer.lanes})"
        writer.write(f"if {word} is not None or {place} is not None: {place} = {text}")


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
        results = results_of(BlockWords(writer), instruction)
        if len(results) > 1:
            for number, (_place, text) in enumerate(results):
                if text != NONE:
                    writer.write(f"z{number} = {text}")
        for number, (place, text) in enumerate(results):
            self.set(writer, text_of(place), text if len(results) == 1 or text == NONE else f"z{number}")

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


# --- What instructions do with it -------------------------------------------------------------------------------------


def results_of(words: ProvenanceWords, instruction: GpuInstruction) -> list[tuple[Register | None, str]]:
    """Return the registers that an instruction writes which is no access of memory, with their provenance."""
    parts = instruction.components or (instruction,)
    return [pair for part in parts for pair in _results(words, part)]


def _results(words: ProvenanceWords, instruction: GpuInstruction) -> list[tuple[Register | None, str]]:
    name = instruction.name
    if _RELATIVE.match(name) or words.is_indexed:
        words.forget(name[0], min((each.index for each in instruction.destinations), default=0))
        return []
    if name == "v_writelane_b32":
        target, value, lane = instruction.sources
        (register,), (word,) = registers_of(target), words.words(value)
        if register is not None and register[0] != "s":
            words.set_lane(register, word, lane)
        return []
    if name == "v_swap_b32":
        left, right = instruction.operands[:2]
        return [(registers_of(left)[0], words.words(right)[0]), (registers_of(right)[0], words.words(left)[0])]
    destinations = instruction.destinations
    if not destinations:
        return []
    target, *flags = destinations
    found = [(register, NONE) for each in flags for register in registers_of(each, each.count)]
    count = max(target.count, 1)
    return [*found, *zip(registers_of(target, count), _texts(words, instruction, count), strict=True)]


def _texts(words: ProvenanceWords, instruction: GpuInstruction, count: int) -> list[str]:
    """Return the provenance of the first result."""
    shape = _shape(instruction.name.replace("v_dual_", "v_"))
    is_mask = instruction.name[0] == "s" and any(each.register.startswith("exec") for each in instruction.sources)
    if shape is None or is_mask:
        return [NONE] * count
    sources = [operand for operand in instruction.sources if operand.kind is not OperandKind.IMMEDIATE]
    is_plain = instruction.variant in ("", "x", "y") and instruction.destinations[0].half is None
    given = [words.words(each, count) for each in sources]
    if not any(word != NONE for each in given for word in each):
        return [NONE] * count
    every = [word for each in sources for word in words.words(each, max(each.count, 1))]
    if not is_plain:
        return [words(OTHER, *every)] * count
    texts: list[str] = shape(words, instruction, sources, given, every)
    return texts


Shape = Any


def _moves(_words: Any, _instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    return list(given[0])


def _packed_moves(words: Any, instruction: Any, sources: Any, _given: Any, _every: Any) -> list[str]:
    chosen = instruction.modifiers.get("op_sel", 0)
    return [words.words(each, 2)[chosen >> number & 1] for number, each in enumerate(sources[:2])]


def _sums(words: Any, instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    if len(given) < 2:  # the other one is a number of the encoding
        return list(given[0])
    first, second, *more = given
    texts = [words(PLUS, *pair) for pair in zip(first, second, strict=True)]
    if more and instruction.name.startswith(("v_add3", "v_or3")):
        texts = [words(PLUS, *pair) for pair in zip(texts, more[0], strict=True)]
    return texts


def _differences(words: Any, instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    first, second = given[:2]
    if "rev_" in instruction.name:
        first, second = second, first
    return [words(MINUS, *pair) for pair in zip(first, second, strict=True)]


def _scaled_sums(words: Any, instruction: Any, sources: Any, given: Any, _every: Any) -> list[str]:
    """Write shifts or products to which the last source is added."""
    *factors, added = given
    shift = sources[1]
    if "lshl" in instruction.name and shift.kind is OperandKind.CONSTANT and not shift.value:
        return [words(PLUS, *pair) for pair in zip(factors[0], added, strict=True)]
    number = words(OTHER, *(word for each in sources[:-1] for word in words.words(each, max(each.count, 1))))
    return [words(PLUS, number, word) for word in added]


def _shifted_scalar_sums(words: Any, _instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    return [words(PLUS, words(OTHER, given[0][0]), given[1][0])]


def _alternatives(words: Any, _instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    return [words(SAME, *pair) for pair in zip(*given[:2], strict=True)]


def _masks(words: Any, instruction: Any, sources: Any, given: Any, _every: Any) -> list[str]:
    """Write the "and" of a pointer and a number."""
    is_scalar, pairs = instruction.name[0] == "s", enumerate(zip(*given[:2], strict=True))
    return [words.masked(sources, number, *pair, is_scalar=is_scalar) for number, pair in pairs]


def _masks_with_more(words: Any, instruction: Any, sources: Any, given: Any, every: Any) -> list[str]:
    (kept,) = _masks(words, instruction, sources, given, every)
    return [words(PLUS, kept, given[2][0])]


def _selections(words: Any, instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    first, second = given[1::-1] if instruction.name[0] == "s" else given[:2]  # D = SCC ? S0 : S1
    return [words.selected(instruction, *pair) for pair in zip(first, second, strict=True)]


def _conditional_moves(words: Any, instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    kept = words.words(instruction.destinations[0], len(given[0]))
    return [words.selected(instruction, old, new) for old, new in zip(kept, given[0], strict=True)]


def _first_lanes(words: Any, _instruction: Any, _sources: Any, given: Any, _every: Any) -> list[str]:
    return [words.of_lane(given[0][0])]


def _read_lanes(words: Any, _instruction: Any, sources: Any, given: Any, _every: Any) -> list[str]:
    return [words.of_lane(given[0][0], sources[1])]


def _permutations(words: Any, _instruction: Any, _sources: Any, _given: Any, every: Any) -> list[str]:
    return [words.moved(every[-1] if len(every) == 2 else every[0])]


def _word_shifts(words: Any, instruction: Any, sources: Any, given: Any, _every: Any) -> list[str]:
    """Write shifts of 64 bits: those by 32 move a word."""
    count, place = (0, 1) if "rev" in instruction.name else (1, 0)
    low, high = given[place]
    if low == high == NONE:
        return [NONE, NONE]
    moved = (high, NONE) if "shr" in instruction.name else (NONE, low)
    return [words.shifted(sources[count], word, low, high) for word in moved]


def _others(words: Any, _instruction: Any, _sources: Any, given: Any, every: Any) -> list[str]:
    return [words(OTHER, *every)] * len(given[0])


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
