"""The command ``x``: memory, unit by unit, as GDB lays it out."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_ATE_signed
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.frames.evaluator import Evaluator
from dwarfgpu.program.frames.history import Remembered, number
from dwarfgpu.program.language.arithmetic import loaded
from dwarfgpu.program.language.tokens import tokens
from dwarfgpu.program.types.model import Array, Base, Function, Pointer, resolved
from dwarfgpu.program.values.storage import Address, cannot_access
from dwarfgpu.questions.document import Document, Output, listing
from dwarfgpu.questions.examined import Examined, MemoryFormat
from dwarfgpu.questions.registry import LETTERS, SIZES, Arguments
from dwarfgpu.render.layout import Record, counted, fact, problem_json
from dwarfgpu.render.values import ValueWriter, formatted, string, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.selection import Selection

PER_LINE = {"b": 8, "h": 8, "w": 4, "g": 2}
MEMORY_LETTERS = f"{LETTERS}i"
PREFIXES = {1: "", 2: "u", 4: "U"}
MAX_COUNT = 1 << 20
_FORMAT = re.compile(r"(-?\d*)(\w*)")


def examine(debugger: Debugger, arguments: Arguments) -> Document:
    known = debugger.state_of(Examined)
    form = read_format(arguments.format, known.format, is_onwards=not arguments.text)
    where = known.next if not arguments.text else address_of(debugger, arguments.text)
    if where is None:
        raise UsageError("`x` needs an address", kind="no_address", hint="such as &x, $pc or local#0x10")
    known.format = evolve(form, size="b") if form.letter == "s" and not form.size else form
    return _Shower(debugger, form, known).document(where)


def read_format(text: str, last: MemoryFormat, *, is_onwards: bool = False) -> MemoryFormat:
    """Read a format such as ``4xw``; letter and size default to the last ones, the count to 1."""
    match = _FORMAT.fullmatch(text)
    if match is None or match[1] == "-":
        raise UsageError(f"/{text[:40]} is not a format", hint="it is a number, a letter and a size, such as /4xw")
    letter = size = ""
    for character in match[2]:
        if character in SIZES:
            size = character
        elif character in MEMORY_LETTERS:
            letter = character if character != "r" or not letter else letter
        else:
            raise UsageError(
                f'Undefined output format "{character}".',
                kind="bad_format",
                hint=f"the formats are {', '.join(MEMORY_LETTERS)}, the sizes {', '.join(SIZES)}",
            )
    count = int(match[1]) if match[1] and len(match[1]) < 10 else 1 if not match[1] else MAX_COUNT + 1
    if not match[1] and is_onwards and not text:
        count = last.count
    if abs(count) > MAX_COUNT:
        raise UsageError(f"{match[1][:20]} units are too many: {MAX_COUNT} are shown at most")
    return MemoryFormat(count, letter or last.letter, size or _usual_size(letter, last.size))


def _usual_size(letter: str, last: str) -> str:
    """Return the size of a unit where none is said (GDB manual, "Examining Memory")."""
    if letter == "a":
        return "g"
    if letter == "f":
        return last if last in ("w", "g") else "g"
    if letter == "c":
        return "b"
    return "" if letter == "s" else last or "b"


def address_of(selection: Selection, text: str) -> Address:
    """Return the address that an expression means: the number of a pointer, or where an array or a function is."""
    frame = selection.frame
    found = frame.expression(text).find(frame.lane(selection.lane)).target()
    inner = resolved(found.type)
    if isinstance(inner, (Array, Function)):
        address = found.address
        if address is None:
            raise UsageError("Attempt to take address of value not located in memory.", kind="no_address")
        return address
    try:
        operand = loaded(found)
        value = operand.number()
    except UsageError:
        raise UsageError("Value can't be converted to integer.", kind="not_a_scalar") from None
    mask = (1 << 8 * frame.target.address_size) - 1
    space = inner.address_space if isinstance(inner, (Pointer, Base)) else None
    pattern = value if isinstance(value, int) else whole(value)
    return Address(space, pattern & mask)


def show(debugger: Debugger, form: MemoryFormat, where: Address) -> None:
    """Show memory from an address on; what ``x`` goes on with stays as it is."""
    _Shower(debugger, form, Examined()).document(where).write(debugger.output)


@frozen
class MemoryUnits:
    """Units of memory that follow each other, as numbers and as text; or the characters of a string."""

    address: Address
    values: tuple[int, ...]
    texts: tuple[str, ...]


class _Shower:
    """Shows memory in one format, in the lane that is selected."""

    def __init__(self, debugger: Debugger, form: MemoryFormat, known: Examined) -> None:
        self.debugger = debugger
        self.form = form
        self.known = known
        frame = debugger.frame
        lanes = frame.lane(debugger.lane)
        self.around = frame.around(lanes)
        self.model = Evaluator(frame, lanes, "").compute.model
        self.look = debugger.renderer().look
        self.writer = ValueWriter(self.look, is_cplus=False)
        self.bytes = SIZES[form.size or "b"]
        name = f"int{8 * self.bytes}_t"
        self.type = Base(name, DW_ATE_signed, self.bytes)

    def document(self, where: Address) -> Document:
        """Return as many units as were asked for; what cannot be read ends it."""
        form = self.form
        if form.letter == "i":
            return self._instructions(where)
        return Document(
            {"format": form.letter, "unit_size": self.bytes, "rows": map(self._json, self._rows(where))},
            lambda output: chain.from_iterable(self._lines(row, output) for row in self._rows(where)),
            rows="rows",
        )

    def _rows(self, where: Address) -> Iterator[MemoryUnits]:
        form = self.form
        count = abs(form.count)
        before = start = where
        if form.count < 0:
            self.known.format = evolve(self.known.format, count=1)
            if form.letter == "s":
                before, count = self._strings_before(where, count)
                start = _moved(before, self.bytes)
            else:
                before = start = _moved(where, -count * self.bytes)
        yield from (self._strings if form.letter == "s" else self._units)(start, count)
        if form.count < 0:
            self.known.next = before

    def _json(self, row: MemoryUnits) -> dict[str, Any]:
        target = self.debugger.frame.target
        space = target.default_space if row.address.space is None else target.space(row.address.space)
        return {
            "address": row.address.value,
            "space": None if space is None else space.name,
            "values": list(row.values),
            "texts": list(row.texts),
        }

    def _lines(self, row: MemoryUnits, output: Output) -> Iterator[str]:
        """Yield a row, in two halves where it is wider than the screen."""
        label = self._label(row.address)
        count = len(row.texts)
        if count > 1 and len("\t".join([label, *row.texts]).expandtabs()) > output.width:
            half = (count + 1) // 2
            behind = _moved(row.address, half * self.bytes)
            yield from self._lines(MemoryUnits(row.address, row.values[:half], row.texts[:half]), output)
            yield from self._lines(MemoryUnits(behind, row.values[half:], row.texts[half:]), output)
            return
        yield "\t".join([output.style("name", label), *row.texts])

    # --- Numbers --------------------------------------------------------------------------------------------------

    def _units(self, where: Address, count: int) -> Iterator[MemoryUnits]:
        """Yield as many in a row as GDB has; what could be read is shown before an error."""
        per_line = PER_LINE[self.form.size or "b"]
        for first in range(0, count, per_line):
            line = _moved(where, first * self.bytes)
            values: list[int] = []
            error = None
            try:
                for index in range(min(per_line, count - first)):
                    values.append(self._read(_moved(line, index * self.bytes), self.bytes))  # noqa: PERF401 (an error keeps them)
            except DwarfGpuError as problem:
                error = problem
            if values:
                yield MemoryUnits(line, tuple(values), tuple(map(self._unit, values)))
                self.known.next = _moved(line, len(values) * self.bytes)
                self._remember(_moved(line, (len(values) - 1) * self.bytes))
            if error is not None:
                raise error

    def _label(self, where: Address) -> str:
        return f"{self.writer.address(where, symbol=True)}:"

    def _unit(self, pattern: int) -> str:
        bits = 8 * self.bytes
        letter = self.form.letter
        if letter in "xz":
            return formatted(pattern, bits, "z", is_signed=False, layout=None)
        if letter == "t":
            return f"{pattern:0{bits}b}"
        if letter == "a":
            return self.writer.address(Address(None, pattern), symbol=True)
        letter = "d" if letter == "r" else letter
        return formatted(pattern, bits, letter, is_signed=True, layout=None)

    def _read(self, where: Address, size: int) -> int:
        try:
            reading = self.around.memory(where).read(8 * size)
        except EvaluationError as error:
            if error.kind == "memory_unavailable" and not error.message.startswith("Cannot access"):
                raise self._inaccessible(where) from error
            raise
        if reading.undefined:
            raise self._inaccessible(where)
        return int(reading.bits)

    def bytes_at(self, where: Address, size: int) -> bytes:
        """Return some bytes as they are in memory."""
        return self._read(where, size).to_bytes(size, self.debugger.frame.target.byte_order)

    def remember_place(self, where: Address) -> None:
        """Set ``$_`` to an address."""
        variables = self.debugger.state_of(Remembered).variables
        pointer = self.model.pointer_to(self.type, where.space)
        variables["_"] = number(pointer, int(where.value))

    def _inaccessible(self, where: Address) -> DwarfGpuError:
        space = None if where.space is None else self.debugger.frame.target.space(where.space)
        return cannot_access(where, None if space is None else space.name)

    def _remember(self, where: Address) -> None:
        """Set ``$_`` to an address, and ``$__`` to what is there."""
        self.remember_place(where)
        self.debugger.state_of(Remembered).variables["__"] = number(self.type, self._read(where, self.bytes))

    # --- Strings --------------------------------------------------------------------------------------------------

    def _strings(self, where: Address, count: int) -> Iterator[MemoryUnits]:
        for _ in range(count):
            codes, is_cut = self._characters(where)
            text = string(
                codes,
                self.bytes,
                PREFIXES.get(self.bytes, ""),
                limit=self.look.elements,
                threshold=self.look.repeats,
                is_cut=is_cut,
            )
            yield MemoryUnits(where, tuple(codes), (text,))
            self._remember(where)
            where = self.known.next = _moved(where, self.bytes * (len(codes) + (not is_cut)))

    def _characters(self, where: Address) -> tuple[list[int], bool]:
        """Return the characters of a string, and whether it is longer than what is shown of one."""
        codes: list[int] = []
        for index in range(self.look.elements):
            try:
                code = self._read(_moved(where, index * self.bytes), self.bytes)
            except DwarfGpuError:
                if not codes:
                    raise
                return codes, True
            if not code:
                return codes, False
            codes.append(code)
        return codes, True

    def _strings_before(self, where: Address, count: int) -> tuple[Address, int]:
        """Return the address of the first of COUNT strings before an address, or of as many as there are; and how many.

        A string begins behind a zero, behind what cannot be read, and where one shown before it would be too long. So,
        as in GDB, the last one may begin at the address itself.
        """
        for found in range(count):
            length = 0
            where = _moved(where, -self.bytes)
            try:
                while self._read(where, self.bytes) and length < self.look.elements:
                    where = _moved(where, -self.bytes)
                    length += 1
            except DwarfGpuError:
                return where, found + bool(length)
        return where, count

    # --- Instructions ---------------------------------------------------------------------------------------------

    def _instructions(self, where: Address) -> Document:
        """Return what `disassemble` shows, from an address on, or up to it."""
        from dwarfgpu.questions import code

        value: Any = where.value
        count = self.form.count
        if count < 0:
            listing = code.instructions_before(self.debugger, value, -count)
        else:
            listing = code.code_of(self.debugger).some(value, count)
        found = listing.instructions
        if found:
            self.known.next = Address(None, found[0].address if count < 0 else found[-1].address + found[-1].size)
        names = code.names_for(self.debugger)
        here = self.debugger.frame.pc

        def lines(output: Output) -> Iterator[str]:
            yield from code.problem_lines(self.debugger, listing, output)
            for row in found:
                mark = "=>" if row.address == here else "  "
                yield f"{mark} {self._label(Address(None, row.address))}\t{names.text(row)}"
            if not found and count:
                raise self._inaccessible(where)

        problems = [] if listing.problem is None else [problem_json(listing.problem)]
        data = {"instructions": code.instructions_json(self.debugger, found), "problems": problems}
        return Document(data, lines, rows="instructions")


def _moved(where: Address, count: int) -> Address:
    value: Any = where.value
    return Address(where.space, value + count & (1 << 64) - 1)


_FIND = re.compile(r"(?:([bhwg])(\d*)|(\d+)([bhwg]?))?")
BLOCK = 1 << 16
"""How many bytes are read at once."""
MOST_SEARCHED = 1 << 32


def find(debugger: Debugger, arguments: Arguments) -> Document:
    from dwarfgpu.questions.values import split_expressions

    form = _FIND.fullmatch(arguments.format)
    if form is None:
        raise arguments.wrong(f"has no format {arguments.format[:20]!r}: /SIZE-CHAR and /MAX-COUNT, such as /w or /w2")
    text = arguments.text
    parts = split_expressions(text, tokens(text)) if text else []
    if len(parts) < 3 or not all(parts):
        raise arguments.wrong("takes START, +LENGTH or END, and values, with commas between them")
    first, second, *texts = parts
    letter, most = form[1] or form[4], int(form[2] or form[3] or "0")
    start = address_of(debugger, first)
    length = int(address_of(debugger, second.removeprefix("+")).value)
    if not second.startswith("+"):
        length -= int(start.value) - 1
    if not 0 < length <= MOST_SEARCHED:
        raise UsageError("Empty search range.", kind="no_range", hint="such as `find &array, +sizeof(array), 5`")
    shower = _Shower(debugger, MemoryFormat(), Examined())
    pattern = b"".join(_bytes_of(debugger, text, letter) for text in texts)
    if length < len(pattern):
        raise UsageError("Search space too small to contain pattern.", kind="no_range")
    places = list(islice(_matches(shower, start, length, pattern), most or None))
    if places:
        shower.remember_place(places[-1])
    debugger.state_of(Remembered).variables["numfound"] = number(Base("int", DW_ATE_signed, 4), len(places))
    found = f"{counted(len(places), 'pattern')} found." if places else "Pattern not found."
    name = cache(lambda place: shower.writer.address(place, symbol=True))
    record = Record(fact("address", value=lambda place: int(place.value)), "space", fact("text", value=name))
    return listing("places", record, places, lambda _: [*map(name, places), found])


def _bytes_of(debugger: Debugger, text: str, letter: str | None) -> bytes:
    frame = debugger.frame
    value = frame.expression(text).find(frame.lane(debugger.lane)).target()
    order = value.place.storage.byte_order
    if letter is not None:
        size = SIZES[letter]
        return int(loaded(value).number() & (1 << 8 * size) - 1).to_bytes(size, order)
    reading = value.read()
    data = int(reading.bits).to_bytes(value.bits() // 8, order)
    return data[:-1] if text.startswith('"') else data


def _matches(shower: _Shower, start: Address, length: int, pattern: bytes) -> Iterator[Address]:
    kept, at = b"", 0
    while at < length:
        size = min(BLOCK, length - at)
        data = kept + shower.bytes_at(_moved(start, at), size)
        position = data.find(pattern)
        while position >= 0:
            yield _moved(start, at - len(kept) + position)
            position = data.find(pattern, position + 1)
        at += size
        kept = data[len(data) - len(pattern) + 1 :] if len(pattern) > 1 else b""
