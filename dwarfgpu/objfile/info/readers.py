"""Readers: how the entries of an abbreviation are laid out, and the functions that read and skip them.

An abbreviation whose values all have a fixed size needs no function, only a `struct.Struct`. For any other one it is
generated once it has been used a few times: for a single entry that would cost more than it gains, and no file,
however made, can then spend much more time on generating functions than on reading entries without them.

The text of a generated function is built from forms alone. Runs of values with a fixed size are one call of
`struct.Struct.unpack_from`, with padding where a value is not wanted; the first byte of a LEB128 number or of a block's
length is part of the run before it, because it nearly always is the last one, too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.info.forms import FIXED, FORMS, LOOKED_UP, NO_DATA, fixed_size, form, read_value

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format
    from dwarfgpu.objfile.info.forms import Encoding

    Read: TypeAlias = Callable[[bytes, int], tuple[int, tuple[Any, ...]]]
    """(data, position of the code) -> (next position, values). Forms without data have no value."""
    Pick: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]
    """(data, position of the code) -> (chosen values..., next position)."""
    Skip: TypeAlias = Callable[[bytes, int], int]
    """(data, position of the code) -> next position."""
    Unpack: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]

CODES: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""The structure codes of numbers by size."""
FAILURES = (IndexError, ValueError, struct.error, OverflowError)
"""What the end of the data does to a generated function, which does not look for it; `truncated` makes an error of it.

Such a function may also return a position behind the end.
"""

FEW = 6
"""Entries that are read or skipped more often than this get a function of their own."""
MAX_LAYOUTS = 8192
_skips: dict[tuple[Any, ...], Skip] = {}


def order_code(format: Format) -> str:
    """Return the structure code of a byte order."""
    return "<" if format.byte_order == "little" else ">"


def truncated(offset: int, section: str) -> MalformedFile:
    """Return the error for an entry that ends after its unit."""
    error = MalformedFile("truncated", "an entry reaches past the end of its unit", spec="DWARF 5, 7.5.1")
    return error.at(section=section, offset=offset)  # type: ignore[no-any-return]


class EntryLayout:
    """How the entries of an abbreviation are laid out: a code of ``lead`` bytes, then a value for each form.

    Abbreviations with the same forms share a layout, in whatever table they are.
    """

    def __init__(self, lead: int, forms: tuple[int, ...], family: Family) -> None:
        self.lead = lead
        self.forms = forms
        self.family = family
        self.format = family.format
        self._reads = self._skips = 0
        self._picks: dict[tuple[int, ...], Pick] = {}
        self._slots: tuple[int, ...] | None = None
        self.has_constants = not NO_DATA.isdisjoint(forms)
        """Whether some values are in the abbreviation."""
        self.looked_up = [(index, code) for index, code in enumerate(forms) if code in LOOKED_UP]
        """Index and form of each value that stands for a text or an address, or may do so."""
        self.size = family.fixed_size(lead, forms)
        """How many bytes an entry has; -1 if that depends on the entry."""
        self.unpack: Unpack | None = None
        """(data, position of the code) -> values, where all are plain numbers. Known when an entry has been read."""
        self.read: Read = self._first_reads
        """(data, position of the code) -> (next position, values). It replaces itself, so look it up each time."""
        self.skip: Skip = self._first_skips
        """(data, position of the code) -> next position. It replaces itself, too."""

    @property
    def slots(self) -> tuple[int, ...]:
        """The index of each form's value among those in the data; -1 for a form without one."""
        if self._slots is None:
            slots, count = [], 0
            for code in self.forms:
                slots.append(-1 if code in NO_DATA else count)
                count += code not in NO_DATA
            self._slots = tuple(slots)
        return self._slots

    def _first_reads(self, data: bytes, position: int) -> tuple[int, tuple[Any, ...]]:
        self._reads += 1
        size = self.size
        if size >= 0 and self.unpack is None:
            self.unpack = unpack = self.picking_unpack(tuple(range(len(self.forms))))
            if unpack is not None:
                self.read = lambda data, position: (position + size, unpack(data, position))
                return self.read(data, position)
        if self._reads > FEW:
            self.read = GeneratedFunction(self.lead, self.forms, self.format).read()
            return self.read(data, position)
        cursor = Cursor(data, position + self.lead, byte_order=self.format.byte_order, error=MalformedFile)
        values = [read_value(cursor, code, self.format) for code in self.forms if code not in NO_DATA]
        return cursor.position, tuple(values)

    def _first_skips(self, data: bytes, position: int) -> int:
        self._skips += 1
        size = self.size
        if size >= 0:
            self.skip = lambda _, position: position + size
            return position + size
        key = self._shape()
        skip = _skips.get(key)
        if skip is None:
            if self._skips <= FEW:
                return self.read(data, position)[0]
            if len(_skips) >= MAX_LAYOUTS:
                _skips.clear()
            skip = _skips[key] = GeneratedFunction(self.lead, self.forms, self.format, ()).skip()
        self.skip = skip
        return skip(data, position)

    def _shape(self) -> tuple[Any, ...]:
        """Return what a function that skips depends on: values of fixed size count only by their sum."""
        shape: list[int | str] = [self.lead]
        for code in self.forms:
            encoding = form(code).encoding
            size = fixed_size(encoding, self.format)
            last = shape[-1]
            if size is None:
                shape.append("uleb" if encoding == "sleb" else encoding)
            elif isinstance(last, int):
                shape[-1] = last + size
            else:
                shape.append(size)
        return (*shape, self.format) if "indirect" in shape else (*shape, self.format.byte_order)

    def picker(self, wanted: tuple[int, ...]) -> Pick:
        """Return a function that decodes the values whose forms have these indices, in increasing order."""
        pick = self._picks.get(wanted)
        if pick is None:
            pick = self._picks[wanted] = GeneratedFunction(self.lead, self.forms, self.format, wanted).pick()
        return pick

    def picking_unpack(self, wanted: tuple[int, ...]) -> Unpack | None:
        """Return such a function for entries of fixed size, without the next position.

        It is None if a value is not a plain number.
        """
        known = [self.family.sizes.get(code, -1) for code in self.forms]
        if not all(known[i] in CODES or not known[i] for i in wanted):
            return None
        text = "".join(CODES.get(n, "") if i in wanted else f"{n}x" for i, n in enumerate(known))
        return struct.Struct(f"{order_code(self.format)}{self.lead}x{text}").unpack_from

    def positions(self, data: bytes, position: int) -> list[tuple[int, int]]:
        """Return where the value of each form begins and ends, with the length of a block as part of the value."""
        cursor = Cursor(data, position + self.lead, byte_order=self.format.byte_order, error=MalformedFile)
        positions = []
        for code in self.forms:
            start = cursor.position
            read_value(cursor, code, self.format)
            positions.append((start, cursor.position))
        return positions


class Family:
    """The layouts of one format of units."""

    def __init__(self, format: Format) -> None:
        self.format = format
        every = ((code, fixed_size(form.encoding, format)) for code, form in FORMS.items())
        self.sizes = {code: size for code, size in every if size is not None}
        """The size of the values of each form that has a fixed one."""
        self.layouts: dict[tuple[int, tuple[int, ...]], EntryLayout] = {}

    def layout(self, lead: int, forms: tuple[int, ...]) -> EntryLayout:
        """Return the layout of entries with a code of ``lead`` bytes and these forms."""
        known = self.layouts.get((lead, forms))
        if known is None:
            if len(self.layouts) > MAX_LAYOUTS:
                self.layouts.clear()
            known = self.layouts[lead, forms] = EntryLayout(lead, forms, self)
        return known

    def fixed_size(self, lead: int, forms: tuple[int, ...]) -> int:
        """Return the size of such entries, or -1 if it depends on the entry."""
        sizes = self.sizes
        for code in forms:
            if code not in sizes:
                return -1
            lead += sizes[code]
        return lead


@cache
def family(format: Format) -> Family:
    """Return the layouts of a format. Units of all files share them."""
    return Family(format)


class GeneratedFunction:
    """Writes one function. ``k`` counts the bytes since the position that the variable ``p`` holds."""

    def __init__(
        self, lead: int, forms: tuple[int, ...], format: Format, wanted: tuple[int, ...] | None = None
    ) -> None:
        self.codes = forms
        self.format = format
        self.order = format.byte_order
        self.wanted = range(len(forms)) if wanted is None else wanted
        self.lines: list[str] = []
        self.k = lead  # the abbreviation code
        self.fields: list[tuple[int, str, str]] = []  # (offset from p, structure code, name) not yet read
        self.after: list[str] = []  # what to do once they are
        self.scope: dict[str, Any] = {"uleb": _uleb, "sleb": _sleb, "from_bytes": int.from_bytes}

    def read(self) -> Read:
        self._values()
        names = "".join(f"v{i}, " for i, code in enumerate(self.codes) if code not in NO_DATA)
        return self._function(f"return {self._here()}, ({names})")  # type: ignore[no-any-return]

    def pick(self) -> Pick:
        self._values()
        names = "".join(f"v{i}, " for i in self.wanted)
        return self._function(f"return ({names}{self._here()},)")  # type: ignore[no-any-return]

    def skip(self) -> Skip:
        self._values()
        return self._function(f"return {self._here()}")  # type: ignore[no-any-return]

    def _function(self, last: str) -> Any:
        # the text is built from forms only; it is compiled apart: after ^C in the `exec` of a text, CPython ends by the
        # signal whatever has become of the ^C
        text = "\n    ".join(["def generated(d, p):", *self.lines, last])
        exec(compile(text, "<reader of entries>", "exec"), self.scope)  # noqa: S102
        return self.scope["generated"]

    def _here(self) -> str:
        return f"p + {self.k}" if self.k else "p"

    def _values(self) -> None:
        for i, code in enumerate(self.codes):
            name = f"v{i}" if i in self.wanted else None
            encoding = form(code).encoding
            size = fixed_size(encoding, self.format)
            if size is not None:
                if name and size:
                    if size in CODES:
                        self.fields.append((self.k, CODES[size], name))
                    else:
                        self.fields.append((self.k, f"{size}s", name))
                        self.after.append(f"{name} = from_bytes({name}, {self.order!r})")
                self.k += size
            elif encoding == "index_offset":
                self._leb("uleb", name)
                if name:
                    self.fields.append((self.k, "I", "w"))
                    self.after.append(f"{name} = ({name}, w)")
                self.k += 4
            elif encoding in ("uleb", "sleb"):
                self._leb(encoding, name)
            elif encoding == "string":
                self._flush()
                start = self._here()
                self.lines.append(f"q = d.index(0, {start})")
                if name:
                    self.lines.append(f"{name} = d[{start}:q]")
                self.lines.append("p = q + 1")
                self.k = 0
            elif encoding == "indirect":
                self._indirect(code, name)
            else:
                self._block(encoding, name)
        self._flush()

    def _flush(self) -> None:
        fields, self.fields = self.fields, []
        if len(fields) == 1 and fields[0][1] == "B":
            offset, _, name = fields[0]
            self.lines.append(f"{name} = d[p + {offset}]" if offset else f"{name} = d[p]")
        elif fields:
            start = end = fields[0][0]
            text = order_code(self.format)
            for offset, code, _ in fields:
                text += f"{offset - end}x" if offset > end else ""
                text += code
                end = offset + struct.calcsize(f"={code}")
            unpack = f"unpack{len(self.scope)}"
            self.scope[unpack] = struct.Struct(text).unpack_from
            names = "".join(f"{name}, " for _, _, name in fields)
            self.lines.append(f"{names}= {unpack}(d, p + {start})" if start else f"{names}= {unpack}(d, p)")
        self.lines += self.after
        self.after = []

    def _advance(self, size: int) -> None:
        self.lines.append(f"p += {self.k + size}")
        self.k = 0

    def _leb(self, kind: str, name: str | None) -> None:
        self.fields.append((self.k, "B", name or "n"))
        self._flush()
        self._advance(1)
        if name is None:
            self.lines += ["while n > 127:", "    n = d[p]", "    p += 1"]
        else:
            self.lines.append(f"if {name} > 127:")
            if kind == "uleb":  # most have two bytes at most
                self.lines += ["    n = d[p]", "    if n < 128:", f"        {name} += (n << 7) - 128", "        p += 1"]
                self.lines += ["    else:", f"        {name}, p = {kind}(d, p, {name})"]
            else:
                self.lines += [f"    {name}, p = {kind}(d, p, {name})", f"elif {name} > 63:", f"    {name} -= 128"]

    def _block(self, encoding: Encoding, name: str | None) -> None:
        size = FIXED[f"u{encoding[5:]}"] if encoding != "block" else 1
        self.fields.append((self.k, CODES[size], "n"))
        self._flush()
        self._advance(size)
        if encoding == "block":
            self.lines += ["if n > 127:", "    n, p = uleb(d, p, n)"]
        if name:
            self.lines += ["q = p + n", f"{name} = d[p:q]", "p = q"]
        else:
            self.lines.append("p += n")

    def _indirect(self, code: int, name: str | None) -> None:
        self._flush()

        def indirect(data: bytes, position: int) -> tuple[Any, int]:
            cursor = Cursor(data, position, byte_order=self.order, error=MalformedFile)
            return read_value(cursor, code, self.format), cursor.position

        self.scope["indirect"] = indirect
        self.lines.append(f"{name or 'n'}, p = indirect(d, {self._here()})")
        self.k = 0


def _uleb(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Read the rest of a LEB128 number whose first byte is not its last one."""
    result, shift = first & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        bits = byte & 0x7F
        if bits:
            if shift > 63 or (shift == 63 and bits > 1):
                message = "an unsigned LEB128 number has more than 64 bits"
                raise MalformedFile("leb128_overflow", message, spec="DWARF 5, 7.6")
            result |= bits << shift
        if byte < 0x80:
            return result, position
        shift += 7


def _sleb(data: bytes, position: int, first: int) -> tuple[int, int]:
    result, shift = first & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        if shift < 70:
            result |= (byte & 0x7F) << shift
            shift += 7
        elif byte & 0x7F not in (0, 0x7F) or (byte & 0x7F == 0x7F) != result >> 69:
            result = 1 << 68  # no sign extension: out of range
        if byte < 0x80:
            break
    if result >> (shift - 1):
        result -= 1 << shift
    if not -(1 << 63) <= result < 1 << 63:
        raise MalformedFile("leb128_overflow", "a signed LEB128 number has more than 64 bits", spec="DWARF 5, 7.6")
    return result, position
