"""The oracle of the corpus: what LLVM means by the locations that llvm-dwarfdump prints.

It shares no code with dwarfgpu. `described` reads what llvm-dwarfdump prints of variables and the blocks around them;
`meant` returns the bytes that the state of `command` has for a location, or the reason of the compiler why there
are none.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

FRAME = 0x100
"""The private address in s33, and half of that in s32, for a lane."""
MASK = 0xFFFFFFFF

NO_LOCATION = "no location"
NOT_HERE = "no location at this address"
EMPTY = "empty location"
PART = "a part without location"
LOCAL = "no address in local memory"
POINTED = "only its address is in a register"
NO_FRAME = "the function has no frame yet"
REASONS = (NO_LOCATION, NOT_HERE, EMPTY, PART, LOCAL, POINTED, NO_FRAME)
"""Why a compiler lets a variable be without a value."""


class UnknownIdiom(Exception):
    """A location that is not among the idioms of this module."""


class NoValue(Exception):
    """The compiler gives no value; the text is the reason."""


# --- The state ------------------------------------------------------------------------------------------------------


def in_register(number: int, lane: int) -> int:
    """Return what a lane has in a vector register."""
    return (number * 64 + lane + 1) * 2654435761 & MASK


def in_memory(address: int, lane: int) -> int:
    """Return the dword that a lane has at a private address."""
    return (address // 4 * 4 * 97 + lane * 7919 + 3) * 40503 & MASK


def memory(address: int, size: int, lane: int) -> bytes:
    """Return bytes of private memory."""
    first = address // 4 * 4
    words = b"".join(in_memory(word, lane).to_bytes(4, "little") for word in range(first, address + size, 4))
    return words[address - first :][:size]


def in_scalar(number: int) -> int:
    """Return what a scalar register means: the private address of a lane in s32 and s33, else a number."""
    return {32: 2 * FRAME, 33: FRAME}.get(number, number)


# --- What llvm-dwarfdump prints -------------------------------------------------------------------------------------


@dataclass
class Block:
    """A function, an inlined call or a block."""

    tag: str
    around: Block | None
    base: int = 0
    """Return the frame base of a lane; 0 where there is none, because a kernel has its memory from 0 on."""
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def covers(self, pc: int) -> bool:
        """Whether code at an address is in the block."""
        if not self.ranges:
            return self.tag == "DW_TAG_lexical_block" and self.around is not None and self.around.covers(pc)
        return any(low <= pc < high for low, high in self.ranges)

    def frame_base(self) -> int:
        """Return the frame base of the function around."""
        return self.base if self.tag == "DW_TAG_subprogram" or self.around is None else self.around.frame_base()


@dataclass
class Described:
    """A variable or parameter."""

    offset: int
    tag: str
    block: Block | None
    """The block that it is in; None for what belongs to the unit, a namespace or a class."""
    name: str = ""
    linkage_name: str = ""
    has_location: bool = False
    locations: list[tuple[int, int, str]] = field(default_factory=list)
    """The first and last address, and the operations."""
    constant: int | None = None

    def at(self, pc: int) -> str | None:
        """Return the operations at an address."""
        return next((text for low, high, text in self.locations if low <= pc < high), None)


_ENTRY = re.compile(r"^(0x[0-9a-f]{8}):( +)(DW_TAG_\w+|NULL)")
_RANGE = re.compile(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)(?:: ?(.*?))?\)?$")
_ATTRIBUTE = re.compile(r"^ +(DW_AT_\w+)\t\((.*?)\)?$")
BASES = {"DW_OP_regx SGPR33": FRAME, "DW_OP_regx SGPR32": 2 * FRAME}
_BLOCKS = ("DW_TAG_subprogram", "DW_TAG_lexical_block", "DW_TAG_inlined_subroutine")
_VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")


def described(path: str) -> dict[int, Described]:
    """Return the variables and parameters that llvm-dwarfdump prints, by the offset of the entry."""
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[int, Described] = {}
    parents: list[tuple[int, Block | None]] = []
    block: Block | None = None
    variable: Described | None = None
    attribute = ""
    low = 0
    for line in text.splitlines():
        if entry := _ENTRY.match(line):
            indentation, tag = len(entry[2]), entry[3]
            while parents and parents[-1][0] >= indentation:
                parents.pop()
            around = parents[-1][1] if parents else None
            block = variable = None
            if tag in _BLOCKS:
                block = Block(tag, around)
            elif tag in _VARIABLES:
                variable = result[int(entry[1], 16)] = Described(int(entry[1], 16), tag, around)
            parents.append((indentation, block))
            continue
        if found := _ATTRIBUTE.match(line):
            attribute, value = found[1], found[2]
            if attribute == "DW_AT_low_pc":
                low = int(value, 16)
            elif attribute == "DW_AT_high_pc" and block is not None:
                block.ranges.append((low, int(value, 16)))
            elif attribute == "DW_AT_frame_base" and block is not None:
                block.base = BASES[value]
            elif variable is not None:
                _described_by(variable, attribute, value)
        elif (listed := _RANGE.search(line)) and attribute in ("DW_AT_ranges", "DW_AT_location"):
            first, last = int(listed[1], 16), int(listed[2], 16)
            if attribute == "DW_AT_ranges" and block is not None:
                block.ranges.append((first, last))
            elif variable is not None:
                variable.locations.append((first, last, listed[3] or ""))
    return result


def _described_by(variable: Described, attribute: str, value: str) -> None:
    if attribute == "DW_AT_location":
        variable.has_location = True
        if not value.startswith("0x") and "loclist" not in value:
            variable.locations.append((0, 1 << 64, value))
    elif attribute == "DW_AT_const_value" and re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", value):
        variable.constant = int(value, 0)
    elif attribute in ("DW_AT_name", "DW_AT_linkage_name"):
        setattr(variable, attribute[6:], value.strip('"'))


# --- What LLVM means by it ------------------------------------------------------------------------------------------


_SUFFIX = re.compile(r"(?:, )?DW_OP_lit[1235], DW_OP_swap, DW_OP_xderef")
_NUMBER = r"[+-]?(?:0x[0-9a-f]+|\d+)"
_REGISTER = r"(?:(VGPR|SGPR)(\d+)|(0x[0-9a-f]+))"
_BREG = re.compile(rf"DW_OP_bregx {_REGISTER} ?({_NUMBER})")
_REG = re.compile(rf"DW_OP_regx {_REGISTER}$")


def register_of(match: re.Match[str]) -> tuple[str, int]:
    """Return the letter and number of a register."""
    if match[1]:
        return match[1][0].lower(), int(match[2])
    number = int(match[3], 16)
    return ("v", number - 0x600) if 0x600 <= number < 0x700 else ("s", number - 32)


def needs_repair(text: str) -> bool:
    """Whether operations mean something else than the text gives them: LLVM's ways to write of lanes and spaces."""
    if "DW_OP_xderef" in text or "DW_OP_fbreg" in text:
        return True
    registers = [register_of(match) for match in re.finditer(rf"DW_OP_b?regx {_REGISTER}", text)]
    return any(letter == "v" or number in (32, 33) for letter, number in registers)


Bytes = list["int | None"]
"""The bytes of a value; None is a byte without a value."""


def meant(text: str, base: int, size: int, lane: int, *, is_private_pointer: bool) -> Bytes:
    """Return the bytes that LLVM means by a location, in a lane."""
    pieces = [part.strip(", ") for part in re.split(r"DW_OP_piece (0x[0-9a-f]+)", text)]
    if len(pieces) == 1:
        return list(_part(text, base, size, lane, is_private_pointer=is_private_pointer))
    data: Bytes = []
    for part, count in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if count and part:
            data += _part(part, base, int(count, 16), lane, is_private_pointer=False)
        elif count:
            data += [None] * int(count, 16)
    return (data + [None] * size)[:size]


def _part(text: str, base: int, size: int, lane: int, *, is_private_pointer: bool) -> bytes:
    """Return the bytes that LLVM means by a location without pieces."""
    if not text:
        raise NoValue(EMPTY)
    if text.startswith("DW_OP_addr") and re.search("DW_OP_lit[23], DW_OP_swap", text):
        raise NoValue(LOCAL)
    plain = _SUFFIX.sub("", text)
    if register := _REG.match(plain):
        return _of_vector(register, size, lane, text)
    if slot := re.fullmatch(rf"DW_OP_fbreg ({_NUMBER})", plain):
        return memory(base + int(slot[1], 0), size, lane)
    if implicit := re.fullmatch(r"DW_OP_implicit_value 0x\w+((?: 0x\w+)+)", plain):
        return bytes(int(byte, 16) for byte in implicit[1].split())[:size]
    if plain.endswith(", DW_OP_stack_value"):
        value = computed(plain.removesuffix(", DW_OP_stack_value"), lane, size)
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    half = plain.removesuffix(", DW_OP_constu 0xffff, DW_OP_and")
    based = _BREG.fullmatch(half)
    if based is None:
        raise UnknownIdiom(text)
    letter, number = register_of(based)
    if letter == "v":
        if size > 4:
            raise NoValue(POINTED)
        if int(based[4], 0):
            raise UnknownIdiom(text)
        return _of_vector(based, size, lane, text)
    if number not in (32, 33):
        raise UnknownIdiom(text)
    address = in_scalar(number) + int(based[4], 0)
    return address.to_bytes(4, "little") if is_private_pointer else memory(address, size, lane)


def _of_vector(register: re.Match[str], size: int, lane: int, text: str) -> bytes:
    letter, number = register_of(register)
    if letter != "v" or size > 4:
        raise UnknownIdiom(text)
    return in_register(number, lane).to_bytes(4, "little")[:size]


@dataclass(frozen=True)
class _Number:
    """An entry of the stack: an integral number as LLVM has it, of a width or of any."""

    value: int
    bits: int = 0

    @property
    def unsigned(self) -> int:
        """The number without a sign."""
        return self.value & ((1 << (self.bits or 64)) - 1)

    @property
    def signed(self) -> int:
        """The number with a sign."""
        sign = 1 << ((self.bits or 64) - 1)
        return (self.unsigned ^ sign) - sign


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "plus": lambda left, right: left + right,
    "minus": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "xor": lambda left, right: left ^ right,
    "shl": lambda left, right: left << (right & 127),
    "shr": lambda left, right: left >> (right & 127),
    "shra": lambda left, right: left >> (right & 127),
    "mod": lambda left, right: left % right,
    "ne": lambda left, right: int(left != right),
    "eq": lambda left, right: int(left == right),
}


_EXTENSION = re.compile(
    r"DW_OP_dup, DW_OP_(?:constu |lit)(?:0x[0-9a-f]+|\d+), DW_OP_shr, DW_OP_lit0, DW_OP_not, DW_OP_mul, "
    r"DW_OP_(?:constu |lit)(0x[0-9a-f]+|\d+), DW_OP_shl, DW_OP_or"
)
"""How LLVM extends a sign without base types."""


def computed(text: str, lane: int, size: int) -> int:
    """Compute the value of operations as LLVM's integers: an operand without a width has that of the other one."""
    stack: list[_Number] = []
    text = _EXTENSION.sub(r"DW_OP_extend \1", text)
    of_lanes = 32 if size <= 4 and "DW_OP_convert" not in text and "DW_OP_extend" not in text else 0
    for word in text.split(", "):
        name, _, operand = word.removeprefix("DW_OP_").partition(" ")
        if based := _BREG.match(word):
            letter, number = register_of(based)
            value = in_register(number, lane) if letter == "v" else in_scalar(number)
            stack.append(_Number(value + int(based[4], 0), of_lanes if letter == "v" else 0))
        elif literal := re.fullmatch(r"lit(\d+)", name):
            stack.append(_Number(int(literal[1])))
        elif re.fullmatch(r"const(\d?[su])", name):
            stack.append(_Number(int(operand, 0)))
        elif name == "convert":
            kind = re.search(r"DW_ATE_(unsigned|signed)_(\d+)", operand)
            if kind is None:
                raise UnknownIdiom(text)
            bits = int(kind[2])
            value = stack.pop().value & ((1 << bits) - 1)
            if kind[1] == "signed" and value >> (bits - 1):
                value -= 1 << bits
            stack.append(_Number(value, bits))
        elif name == "extend":
            sign = 1 << (int(operand, 0) - 1)
            stack.append(_Number((stack.pop().value & (2 * sign - 1) ^ sign) - sign))
        elif name == "plus_uconst":
            top = stack.pop()
            stack.append(_Number(top.value + int(operand, 0), top.bits))
        elif name == "not":
            top = stack.pop()
            stack.append(_Number(~top.value, top.bits))
        elif name == "dup":
            stack.append(stack[-1])
        elif name in _OPERATIONS:
            right, left = stack.pop(), stack.pop()
            bits = left.bits or right.bits
            value = _OPERATIONS[name](_Number(left.value, bits).unsigned, _Number(right.value, bits).unsigned)
            if name == "shra":
                value = _Number(left.value, bits).signed >> right.value
            stack.append(_Number(value & ((1 << (bits or 64)) - 1), 0 if name in ("ne", "eq") else bits))
        else:
            raise UnknownIdiom(text)
    return stack[-1].value
