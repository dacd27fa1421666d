"""A cursor over bytes that knows where it is, and never reads past its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dwarfgpu.errors import DwarfGpuError, IllFormed, shown

if TYPE_CHECKING:
    ByteOrder = Literal["little", "big"]


_WIDE = 77
"""From so many bits on, the bytes of a LEB128 number can only repeat its sign."""


class Cursor:
    """A reader of numbers and blocks from ``data[position:end]``.

    ``error`` is the class of the errors it raises: ill-formed for an expression, malformed for a section.
    """

    __slots__ = ("byte_order", "data", "end", "error", "position", "section")

    def __init__(
        self,
        data: bytes,
        position: int = 0,
        end: int | None = None,
        *,
        byte_order: ByteOrder = "little",
        error: type[DwarfGpuError] = IllFormed,
        section: str | None = None,
    ) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else min(end, len(data))
        self.byte_order: ByteOrder = byte_order
        self.error = error
        self.section = section

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def fail(self, kind: str, message: str, spec: str, offset: int | None = None) -> DwarfGpuError:
        """Make the error of this cursor, standing at ``offset`` or here."""
        error = self.error(kind, message, spec=spec)
        return error.at(section=self.section, offset=self.position if offset is None else offset)  # type: ignore[no-any-return]

    def string(self, what: str, spec: str) -> bytes:
        """Read the bytes up to a zero byte; ``what`` has no end if there is none."""
        end = self.data.find(b"\0", self.position, self.end)
        if end < 0:
            raise self.fail("truncated", f"{what} has no end", spec)
        data = self.data[self.position : end]
        self.position = end + 1
        return data

    def bytes(self, size: int) -> bytes:
        start = self.position
        stop = start + size
        if stop > self.end:
            left = max(0, self.remaining)
            raise self.fail("truncated", f"{size} bytes are needed, {left} are left", "DWARF 5, 7")
        self.position = stop
        return self.data[start:stop]

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), self.byte_order)

    def signed(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), self.byte_order, signed=True)

    def uleb(self) -> int:
        data, position, end = self.data, self.position, self.end
        if position < end and data[position] < 0x80:  # almost every one is a single byte
            self.position = position + 1
            return data[position]
        result, _ = self._leb(position)
        if result >> MAX_BITS:
            message = "an unsigned LEB128 number has more than 64 bits"
            raise self.fail("leb128_overflow", message, "DWARF 5, 7.6", position)
        return result

    def sleb(self) -> int:
        start = self.position
        result, width = self._leb(start)
        if result >> (width - 1):
            result -= 1 << width
        if not -(1 << (MAX_BITS - 1)) <= result < 1 << (MAX_BITS - 1):
            raise self.fail("leb128_overflow", "a signed LEB128 number has more than 64 bits", "DWARF 5, 7.6", start)
        return result

    def _leb(self, start: int) -> tuple[int, int]:
        """Return the bits of a LEB128 number and how many there are."""
        data, position, end = self.data, start, self.end
        result = shift = 0
        while position < end:
            byte = data[position]
            position += 1
            if shift < _WIDE:
                result |= (byte & 0x7F) << shift
                shift += 7
            elif byte & 0x7F != (0x7F if result >> (_WIDE - 1) else 0):  # not padding: stop before it gets slow
                raise self.fail("leb128_overflow", "a LEB128 number has more than 64 bits", "DWARF 5, 7.6", start)
            if byte < 0x80:
                self.position = position
                return result, shift
        raise self.fail("truncated", "a LEB128 number has no last byte", "DWARF 5, 7.6", start)


MAX_BITS = 64
"""No number of DWARF needs more; one that does is an error, while redundant padding of a small one is not."""


def encode_unsigned(value: int) -> bytes:
    """Encode an unsigned number in as few bytes as it needs."""
    if value < 0:
        raise IllFormed("bad_operand", f"an unsigned LEB128 number cannot be {shown(value)}", spec="DWARF 5, 7.6")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_signed(value: int) -> bytes:
    """Encode a signed number in as few bytes as it needs."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
