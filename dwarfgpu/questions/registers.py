"""Commands about registers: ``info registers`` and ``info all-registers``."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.frames.register_contents import UNAVAILABLE, RegisterContents, contents, registers_of
from dwarfgpu.program.frames.registers import type_of
from dwarfgpu.program.types.model import Base, Struct
from dwarfgpu.program.values.objects import constant
from dwarfgpu.program.values.storage import Address
from dwarfgpu.questions.document import Document
from dwarfgpu.render.layout import fitted
from dwarfgpu.render.values import ValueWriter, flags_text, formatted, signed, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments

    NamedRegister: TypeAlias = tuple[RegisterContents, str]
    """What a register holds, and what it is called."""

NAME_WIDTH, RAW_WIDTH = 15, 20
X87_SIZE = 80
GROUPS = ("general", "scalar", "vector", "system", "float", "all")
HOST_NAMES = {"rflags": "eflags", "fs.base": "fs_base", "gs.base": "gs_base"}
"""What GDB calls registers that the psABI calls otherwise."""
HOST_ORDER = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
    *(f"r{number}" for number in range(8, 16)),
    *("rip", "eflags", "cs", "ss", "ds", "es", "fs", "gs", "fs_base", "gs_base"),
    *(f"k{number}" for number in range(8)),
)
HOST_ADDRESSES = ("rsp", "rbp", "sp", "fp")
MASKS = ("exec", "vcc", "xnack_mask")
_RANGE = re.compile(r"([a-z]+)(\d+)-([a-z]*)(\d+)|([a-z]+)\[(\d+):(\d+)\]")
_SCALAR = re.compile(r"s\d+|vcc")


def info_registers(debugger: Debugger, arguments: Arguments) -> Document:
    if debugger.attached is None:
        hint = "`target snapshot S` attaches a snapshot, `core S` a core file"
        raise UsageError("The program has no registers now.", kind="no_machine", hint=hint)
    writer = RegisterText(debugger, arguments.letter)
    words = arguments.text.replace("$", "").replace(",", " ").split()
    words = words or ["general" if arguments.command.name == "info registers" else "all"]
    return Document(
        {
            debugger.noun: debugger.wave.id,
            "frame": debugger.frame.number,
            "registers": map(writer.json, writer.rows(words)),
        },
        lambda _output: chain.from_iterable(map(writer.row, writer.rows(words))),
        rows="registers",
    )


class RegisterText:
    """Finds registers and writes them: name, raw, natural."""

    def __init__(self, debugger: Debugger, letter: str | None) -> None:
        self.debugger = debugger
        self.letter = letter
        self.frame = debugger.frame
        self.is_host = debugger.lane is None
        self.look = debugger.renderer().look
        self.writer = ValueWriter(self.look, is_cplus=False)

    def rows(self, words: Iterable[str]) -> Iterator[NamedRegister]:
        """Yield the registers that words mean, with what they hold; of groups those of which something is known."""
        for word in words:
            lower = word.lower()
            if lower in GROUPS:
                known = (contents(self.frame, register) for register in self.group(lower))
                yield from ((row, self._name(row.register)) for row in known if row.missing != UNAVAILABLE)
                continue
            yield from ((contents(self.frame, register), name) for register, name in self.named(lower, word))

    # --- Which ----------------------------------------------------------------------------------------------------

    def group(self, name: str) -> Iterable[Any]:
        """Return the registers of a group."""
        every = [each for each in registers_of(self.frame) if self._is_in(each, name)]
        if not self.is_host:
            return every
        order = {each: number for number, each in enumerate(HOST_ORDER)}
        return sorted(every, key=lambda each: order.get(self._name(each), len(order)))

    def _is_in(self, register: Any, group: str) -> bool:
        if group == "all":
            return True
        name = self._name(register)
        if self.is_host:
            kind = "vector" if name.startswith("xmm") else "float" if name.startswith(("st", "mm")) else "system"
            return group == ("general" if name in HOST_ORDER else kind)
        if register.lane_bits:
            return group == "vector"
        is_scalar = _SCALAR.fullmatch(name) is not None
        return group in ("general", "scalar" if is_scalar else "system")

    def named(self, lower: str, word: str) -> Iterator[tuple[Any, str]]:
        """Yield the registers that a word means: one, or a range."""
        match = _RANGE.fullmatch(lower)
        if match is None:
            register = self._register(lower)
            if register is None:
                raise UsageError(f"Invalid register `{word[:60]}'", kind="no_register")
            generic = lower in ("pc", "sp", "fp")
            yield register, lower if generic else self._name(register)
            return
        prefix, first, other, last = (match[1], match[2], match[3] or match[1], match[4])
        if match[5]:
            prefix, first, other, last = match[5], match[6], match[5], match[7]
        if other != prefix or len(last) > 5 or int(first) > int(last):
            raise UsageError(f"Invalid register `{word[:60]}'", kind="no_register", hint="v0-v3, or s[0:3]")
        for number in range(int(first), int(last) + 1):
            register = self._register(f"{prefix}{number}")
            if register is None:
                raise UsageError(f"Invalid register `{prefix}{number}'", kind="no_register")
            yield register, register.name

    def _register(self, name: str) -> Any:
        target = self.frame.target
        numbers = {"pc": target.program_counter, "sp": target.stack_pointer}
        if self.is_host:
            numbers["fp"] = 6
            name = {shown: own for own, shown in HOST_NAMES.items()}.get(name, name)
        number = numbers.get(name)
        if number is not None:
            return target.register(number)
        return target.register_named(name) or target.unnumbered_register(name)

    def _name(self, register: Any) -> str:
        name: str = register.name
        return HOST_NAMES.get(name, name) if self.is_host else name

    # --- How they look --------------------------------------------------------------------------------------------

    def json(self, row: NamedRegister) -> dict[str, Any]:
        """Return a register with its bits in hex: of a vector those of each lane, null where they are not known."""
        found, name = row
        register = found.register
        document: dict[str, Any] = {"name": name, "bit_size": register.bit_size}
        if found.missing:
            return document | {"missing": found.missing}
        if register.lane_bits:
            lanes = found.elements()
            return document | {"lanes": [None if value is None else f"{value:#x}" for value in lanes]}
        if found.undefined:
            return document | {"undefined_bits": f"{found.undefined:#x}"}
        document["value"] = f"{found.bits:#x}"
        kind = type_of(self.frame.target, register.name)
        text = self._parts(found, kind) if isinstance(kind, Struct) else self._natural(found, name)
        return document | ({"text": text} if text else {})

    def row(self, row: NamedRegister) -> Iterator[str]:
        """Yield a register on a line; a vector that does not fit goes on below itself."""
        found, name = row
        register = found.register
        head = self.debugger.output.style("name", name) + " " * max(1, NAME_WIDTH - len(name))
        if found.missing:
            yield f"{head}{self.debugger.output.style('dim', f'<{found.missing}>')}"
        elif register.lane_bits:
            yield from self._vector(head, found)
        elif found.undefined:
            yield f"{head}<not saved> (some of its bits)"
        elif isinstance(kind := type_of(self.frame.target, register.name), Struct):
            text = self._parts(found, kind)
            first, *rest = fitted(f"{'':{NAME_WIDTH}}{text}", NAME_WIDTH + 1)
            yield from (f"{head}{first[NAME_WIDTH:]}", *rest)
        else:
            natural = self._natural(found, name)
            if register.bit_size == X87_SIZE and self.letter is None:
                yield f"{head}{natural.ljust(RAW_WIDTH)}(raw 0x{found.bits:020x})"
                return
            raw = f"{found.bits:#x}"
            if NAME_WIDTH + max(RAW_WIDTH, len(raw)) + len(natural) > self.debugger.output.width:
                yield from (f"{head}{raw}", f"{'':{NAME_WIDTH}}{natural}")
                return
            yield f"{head}{raw.ljust(RAW_WIDTH) if natural else raw}{natural}".rstrip()

    def _parts(self, found: RegisterContents, kind: Struct) -> str:
        data = found.bits.to_bytes(found.register.bit_size // 8, self.frame.target.byte_order)
        look = evolve(self.look, letter=self.letter or "x", is_pretty=False)
        return value_text(constant(kind, data, self.frame.target.byte_order), look)

    def _natural(self, found: RegisterContents, name: str) -> str:
        register, bits = found.register, found.bits
        size = register.bit_size
        if self.letter is not None:
            return self._formatted(bits, size)
        if register.number == self.frame.target.program_counter:
            return self.writer.address(Address(None, bits), symbol=True)
        if self.is_host:
            kind = type_of(self.frame.target, register.name)
            if isinstance(kind, Base) and kind.flags:
                return flags_text(bits, kind)
            if name in HOST_ADDRESSES:
                return f"{bits:#x}"
            if size == X87_SIZE:
                return formatted(bits, size, "f", is_signed=False, layout=None)
            return "" if size > 64 else str(signed(bits, size) if size == 64 else bits)
        return str(bits if name in MASKS else signed(bits, size))

    def _formatted(self, bits: int, size: int) -> str:
        letter = self.letter or "x"
        if letter == "a":
            return self.writer.address(Address(None, bits), symbol=True)
        return formatted(bits, size, "d" if letter in "sr" else letter, is_signed=True, layout=None)

    def _vector(self, head: str, found: RegisterContents) -> Iterator[str]:
        """Yield the lanes in braces, runs of one value together: ``{0x30 <repeats 64 times>}``."""
        size = found.register.lane_bits
        cells: list[str] = []
        values = found.elements()
        index = 0
        while index < len(values):
            end = index + 1
            while end < len(values) and values[end] == values[index]:
                end += 1
            value = values[index]
            if value is None:
                text = "<not saved>"
            else:
                text = f"{value:#x}" if self.letter is None else self._formatted(value, size)
            if end - index > self.look.repeats:
                cells.append(f"{text} <repeats {end - index} times>")
            else:
                cells += [text] * (end - index)
            index = end
        line, length = head + "{", NAME_WIDTH + 1
        for number, cell in enumerate(cells):
            text = cell + ("}" if number == len(cells) - 1 else ",")
            if length + len(text) + 1 > self.debugger.output.width and number:
                yield line
                line, length = " " * (NAME_WIDTH + 1), NAME_WIDTH + 1
            elif number:
                line, length = f"{line} ", length + 1
            line += text
            length += len(text)
        yield line
