"""The data formats of buffers: what loads and stores with a format convert from and to.

ISA documents, "Buffer resource descriptor" and "Data formats". A format is sizes of components and what a number of
them means. The names list components from the highest bits down, so X is the last one: ``10_11_11`` has X in its
lowest 11 bits. What a format does not have is 0, and 1 for W. A resource also says with DST_SEL which component each
register gets; instructions that name a format (TBUFFER) get them as they are.

No document says how stores round, and what they do with integers that do not fit: floats and normalized numbers are
rounded to the nearest even here, and what does not fit stops the wave.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import BUFFER
from dwarfgpu.execution.batch import WaveBatch, number_of
from dwarfgpu.execution.block_writer import BlockWriter, needed
from dwarfgpu.execution.device_memory import WORDS
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import GpuInstruction
from dwarfgpu.isa.tables import table

if TYPE_CHECKING:
    from dwarfgpu.execution.memory_access import MemoryAccess

Lanes = Any

NAMES = re.compile(
    r"t?buffer_(load|store)_(?:(d16)_(hi)_format|(d16)_format|format_(d16)_(hi)|format_(d16)|format)_(x\w*)$"
)
"""What the names of operations say: the action, whether registers hold halves, the high one, and the components."""
_DATA = (
    "", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32",
    "16_16_16_16", "32_32_32", "32_32_32_32", "",
)  # fmt: skip
_NUMBERS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT")
"""The data formats and number formats of GFX8 and GFX9, by their numbers; later there is one number for both."""
COMPONENTS = {4: 0, 5: 1, 6: 2, 7: 3}
"""The components of DST_SEL; 0 and 1 are constants."""
_FRACTIONS = {10: 5, 11: 6}
"""The bits of the fraction of floats without a sign, whose exponents have 5."""


@frozen
class BufferFormat:
    """A data format."""

    sizes: tuple[int, ...]
    """The bits of each component, X first."""
    kind: str
    """What the numbers are: UNORM, SNORM, USCALED, SSCALED, UINT, SINT or FLOAT."""

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return sum(self.sizes) // 8

    @property
    def is_integer(self) -> bool:
        """Whether registers hold integers, and not floats."""
        return self.kind in ("UINT", "SINT")

    @property
    def is_packed(self) -> bool:
        """Whether the components are fields of one number of 32 bits."""
        return len(set(self.sizes)) > 1


@cache
def format_of(number: int, processor: str, lanes: int) -> BufferFormat:
    """Return the format with a number; raise a fault if there is no such format."""
    if int(processor.removeprefix("gfx")[:-2] or 0) < 10:
        data, kind = _DATA[number & 15], _NUMBERS[number >> 4 & 7]
    else:
        name = "BUF_FMT_8_UNORM" if number == 1 else table(processor, lanes).names["format"].get(number, "")
        data, _, kind = name.removeprefix("BUF_FMT_").rpartition("_")
    if not data or not kind:
        raise MachineFault(f"the data format {number} of the buffer is none")
    sizes = tuple(int(size) for size in reversed(data.split("_")))
    if kind == "FLOAT" and min(sizes) < 10:
        raise MachineFault(f"the data format {data} of the buffer has no floats")
    return BufferFormat(sizes, kind)


def number_in(last_word: int, generation: int) -> int:
    """Return the number of the format in the last word of a resource."""
    if generation < 10:
        return last_word >> 15 & 15 | (last_word >> 12 & 7) << 4
    return last_word >> 12 & (0x7F if generation == 10 else 0x3F)


def selected(last_word: int) -> tuple[int, ...]:
    """Return DST_SEL of a resource, for X to W."""
    return tuple(last_word >> 3 * component & 7 for component in range(4))


# --- Loads --------------------------------------------------------------------------------------------------------


def widened(codes: Lanes, bits: int, kind: str) -> Lanes:
    """Return components as the 32 bits of a register: an integer, or a single."""
    codes = codes.astype(np.uint32)
    if kind == "UINT":
        return codes
    signed = (codes << 32 - bits).view(np.int32) >> 32 - bits
    if kind == "SINT":
        return signed.view(np.uint32)
    if kind == "FLOAT":
        return _single(codes, bits).view(np.uint32)
    if kind == "UNORM":
        number = codes.astype(np.float64) / ((1 << bits) - 1)
    elif kind == "SNORM":
        number = np.maximum(signed.astype(np.float64) / ((1 << bits - 1) - 1), -1.0)
    else:
        number = (codes if kind == "USCALED" else signed).astype(np.float64)
    single: Lanes = number.astype(np.float32).view(np.uint32)
    return single


def _single(codes: Lanes, bits: int) -> Lanes:
    if bits == 32:
        return codes.view(np.float32)
    if bits in _FRACTIONS:  # a half without its sign, and with fewer bits
        codes = codes << 10 - _FRACTIONS[bits]
    return codes.astype(np.uint16).view(np.float16).astype(np.float32)


def as_half(words: Lanes, form: BufferFormat) -> Lanes:
    """Return the contents of a register as 16 bits: an integer, or a half."""
    if not form.is_integer:
        return words.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
    fits = words >> 16 == 0 if form.kind == "UINT" else words.view(np.int32).astype(np.int16) == words.view(np.int32)
    if not fits.all():
        raise MachineFault("an integer of the buffer does not fit into half a register", ~fits)
    return words & 0xFFFF


def components(codes: list[Lanes], form: BufferFormat, count: int, chosen: tuple[int, ...]) -> list[Lanes]:
    """Return what the registers get of the components of an element, which DST_SEL may rearrange."""
    one = np.uint32(1) if form.is_integer else np.float32(1).view(np.uint32)
    numbers = [widened(code, bits, form.kind) for code, bits in zip(codes, form.sizes, strict=True)]
    found = []
    for selection in chosen[:count]:
        component = COMPONENTS.get(selection)
        if component is None:
            found.append(np.full((1, 1), one if selection == 1 else 0, np.uint32))
        elif component < len(numbers):
            found.append(numbers[component])
        else:
            found.append(np.full((1, 1), one if component == 3 else 0, np.uint32))
    return found


# --- Stores -------------------------------------------------------------------------------------------------------


def from_half(words: Lanes, form: BufferFormat) -> Lanes:
    """Return 16 bits of a register as 32: an integer, or a single."""
    half = words.astype(np.uint16)
    if form.kind == "UINT":
        return half.astype(np.uint32)
    if form.kind == "SINT":
        return half.view(np.int16).astype(np.int32).view(np.uint32)
    single: Lanes = half.view(np.float16).astype(np.float32).view(np.uint32)
    return single


def narrowed(words: Lanes, bits: int, kind: str, mask: Lanes) -> Lanes:
    """Return the contents of registers as components of some bits; raise a fault where they are no such number."""
    if kind == "FLOAT":
        if bits == 32:
            return words
        if bits in _FRACTIONS:
            raise MachineFault(f"no document says how floats of {bits} bits are stored")
        return words.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
    high = (1 << bits) - 1 if kind[0] == "U" else (1 << bits - 1) - 1
    low = 0 if kind[0] == "U" else -high
    if kind in ("UNORM", "SNORM"):
        value = np.clip(np.nan_to_num(words.view(np.float32).astype(np.float64), nan=0.0), -1.0 if low else 0.0, 1.0)
        return np.rint(value * high).astype(np.int64).astype(np.uint32) & ((1 << bits) - 1)
    if kind in ("UINT", "SINT"):
        value = (words if kind == "UINT" else words.view(np.int32)).astype(np.float64)
    else:
        value = words.view(np.float32).astype(np.float64)
    fits = (value == np.rint(value)) & (value <= high) & (value >= low - (kind[0] == "S"))
    wrong = ~fits if mask is None else ~fits & mask
    if wrong.any():
        raise MachineFault(f"no document says how a number is stored that is none of {bits} bits ({kind})", wrong)
    value = np.where(fits, value, 0)
    return value.astype(np.int64).astype(np.uint32) & ((1 << bits) - 1)


# --- Access -------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class ElementAccess:
    """One load or store that converts; the place of an element is a resource, an index, an offset and a scalar one."""

    memory: MemoryAccess
    processor: str
    number: int | None
    """The format that the instruction names (TBUFFER); None for that of the resource."""
    is_half: bool
    """Whether registers hold halves."""

    def _element(self, batch: WaveBatch, place: tuple[Any, ...]) -> tuple[BufferFormat, Lanes, tuple[int, ...]]:
        """Return the format of elements, their addresses, and which component each register gets."""
        memory, number = self.memory, self.number
        chosen: tuple[int, ...] = (4, 5, 6, 7)
        if number is None:
            word = place[0][3]
            last_word = word if isinstance(word, int) else number_of(word)
            if not isinstance(last_word, int):
                raise MachineFault("a buffer resource that differs between waves")
            number, chosen = number_in(last_word, memory.generation), selected(last_word)
        form = format_of(number, self.processor, memory.lanes)
        words, index, offset, scalar = place
        address = memory.buffer_address(batch, words, index, offset, scalar, form.size)
        return form, np.broadcast_to(address, (batch.count, batch.lanes)), chosen

    def load(self, batch: WaveBatch, count: int, *place: Any) -> list[Lanes]:
        """Read an element for each lane; return what the registers get."""
        form, address, chosen = self._element(batch, place)
        if form.is_packed:
            (whole,) = self.memory.load(batch, BUFFER, address, 4, 1)
            starts = [sum(form.sizes[:place]) for place in range(len(form.sizes))]
            codes = [whole >> start & (1 << bits) - 1 for start, bits in zip(starts, form.sizes, strict=True)]
        else:
            codes = self.memory.load(batch, BUFFER, address, form.sizes[0] // 8, len(form.sizes))
        return self.registers(codes, form, count, chosen)

    def registers(self, codes: list[Lanes], form: BufferFormat, count: int, chosen: tuple[int, ...]) -> list[Lanes]:
        """Return what the registers get of the components of elements."""
        found = components(codes, form, count, chosen)
        return [as_half(column, form) for column in found] if self.is_half else found

    def fields(self, values: list[Lanes], form: BufferFormat, mask: Lanes) -> list[Lanes]:
        """Return the components of elements from the contents of registers."""
        if self.is_half:
            values = [from_half(value, form) for value in values]
        return [narrowed(value, bits, form.kind, mask) for value, bits in zip(values, form.sizes, strict=False)]

    def store(self, batch: WaveBatch, values: list[Lanes], *place: Any) -> None:
        """Write an element for each lane."""
        form, address, _chosen = self._element(batch, place)
        if len(values) < len(form.sizes):
            raise MachineFault(
                f"no document says what becomes of {len(form.sizes)} components if {len(values)} are stored"
            )
        codes = self.fields(values, form, batch.mask)
        if form.is_packed:
            whole: Lanes = np.zeros((1, 1), np.uint32)
            for number, code in enumerate(codes):
                whole = whole | code << sum(form.sizes[:number])
            self.memory.store(batch, BUFFER, address, 4, [whole])
        else:
            size = form.sizes[0] // 8
            self.memory.store(batch, BUFFER, address, size, [code.astype(WORDS[size]) for code in codes])


def write_formatted(memory: MemoryAccess, writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write a load or a store that converts; return whether it is one."""
    match = NAMES.match(instruction.name)
    if match is None:
        return False
    data = needed(instruction, "vdata")
    is_half, is_high = any(match.group(2, 4, 5, 7)), any(match.group(3, 6))
    count = len(match[8])
    number = instruction.modifiers.get("format", 1) if instruction.name[0] == "t" else None
    access = memory.elements(memory, writer.processor, number, is_half)
    place = ", ".join(memory.buffer_parts(writer, instruction))
    registers = [memory.cell(data, number // 2 if is_half else number) for number in range(count)]
    highs = [is_half and bool(is_high or number % 2) for number in range(count)]
    if match[1] == "load":
        writer.write(f"x = {writer.name(access.load)}(b, {count}, {place})")
        for component, (register, high) in enumerate(zip(registers, highs, strict=True)):
            text = f"x[{component}]"
            if is_half:
                text = f"{text} << 16 | {register} & 0xffff" if high else f"{text} | {register} & 0xffff0000"
            writer.keep(register, text)
        return True
    shifts = [f" >> {16 * high} & 0xffff" if is_half else "" for high in highs]
    texts = ", ".join(f"{register}{shift}" for register, shift in zip(registers, shifts, strict=True))
    writer.write(f"{writer.name(access.store)}(b, [{texts}], {place})")
    return True
