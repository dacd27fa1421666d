"""Writing readers: functions generated for a row of forms, which decode or skip one entry's data in a few steps.

The text of such a function is built from forms alone. Runs of values with a fixed size are one call of
`struct.Struct.unpack_from`, with padding where a value is not wanted; the first byte of a LEB128 number or of a block's
length is part of the run before it, because it nearly always is the last one, too.

The generated functions do not check that they stay inside ``data``: they raise IndexError, ValueError or struct.error
at its end, or return a position past it. Their callers check that (`readers.FAILURES`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.info.forms import FIXED, NO_DATA, fixed_size, form, read_value

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.objfile.info.forms import Encoding
    from dwarfgpu.objfile.info.readers import Pick, Read, Skip

CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""The structure codes of numbers by size."""


def order_code(format: Format) -> str:
    """Return the structure code of a byte order."""
    return "<" if format.byte_order == "little" else ">"


class ReaderBuilder:
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
                    self._fixed(size, name)
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
                self._string(name)
            elif encoding == "indirect":
                self._indirect(code, name)
            else:
                self._block(encoding, name)
        self._flush()

    def _fixed(self, size: int, name: str) -> None:
        if size in CODES:
            self.fields.append((self.k, CODES[size], name))
        elif size == 3:
            wide, narrow = ("H", "B") if self.order == "little" else ("B", "H")
            self.fields += [
                (self.k, wide, f"{name}_0"),
                (self.k + (2 if wide == "H" else 1), narrow, f"{name}_1"),
            ]
            parts = f"{name}_0 | {name}_1 << 16" if self.order == "little" else f"{name}_0 << 16 | {name}_1"
            self.after.append(f"{name} = {parts}")
        else:
            self.fields.append((self.k, f"{size}s", name))
            self.after.append(f"{name} = from_bytes({name}, {self.order!r})")

    def _flush(self) -> None:
        """Read the waiting fields, before ``p`` changes."""
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
            self.lines += [f"if {name} > 127:", f"    {name}, p = {kind}(d, p, {name})"]
            if kind == "sleb":
                self.lines += [f"elif {name} > 63:", f"    {name} -= 128"]

    def _string(self, name: str | None) -> None:
        self._flush()
        start = self._here()
        self.lines.append(f"q = d.index(0, {start})")
        if name:
            self.lines.append(f"{name} = d[{start}:q]")
        self.lines.append("p = q + 1")
        self.k = 0

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


# --- What generated functions call --------------------------------------------------------------------------------


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
