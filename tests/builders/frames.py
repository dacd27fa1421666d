"""Bytes of ``.debug_frame`` and ``.eh_frame``, with instructions written as the standard writes them.

``cfa("def_cfa 7 8; advance_loc 4; expression 3 3031")``: a name without ``DW_CFA_`` and operands as they are encoded,
numbers or, for an expression, hex.
"""

from dwarfgpu.encoding import encode_signed as sleb
from dwarfgpu.encoding import encode_unsigned as uleb
from tests.builders.lists import number

# DWARF 5, table 7.29, the LSB, A.7.24 and vendors: code, and for each operand its encoding; 6 is the opcode's low bits
INSTRUCTIONS = {
    "advance_loc": (0x40, "6"),           "offset": (0x80, "6u"),               "restore": (0xC0, "6"),
    "nop": (0x00, ""),                    "set_loc": (0x01, "a"),               "advance_loc1": (0x02, "1"),
    "advance_loc2": (0x03, "2"),          "advance_loc4": (0x04, "4"),          "offset_extended": (0x05, "uu"),
    "restore_extended": (0x06, "u"),      "undefined": (0x07, "u"),             "same_value": (0x08, "u"),
    "register": (0x09, "uu"),             "remember_state": (0x0A, ""),         "restore_state": (0x0B, ""),
    "def_cfa": (0x0C, "uu"),              "def_cfa_register": (0x0D, "u"),      "def_cfa_offset": (0x0E, "u"),
    "def_cfa_expression": (0x0F, "e"),    "expression": (0x10, "ue"),           "offset_extended_sf": (0x11, "us"),
    "def_cfa_sf": (0x12, "us"),           "def_cfa_offset_sf": (0x13, "s"),     "val_offset": (0x14, "uu"),
    "val_offset_sf": (0x15, "us"),        "val_expression": (0x16, "ue"),       "MIPS_advance_loc8": (0x1D, "8"),
    "AARCH64_set_ra_state": (0x2B, "us"), "AARCH64_negate_ra_state_with_pc": (0x2C, ""),
    "GNU_window_save": (0x2D, ""),        "GNU_args_size": (0x2E, "u"),
    "GNU_negative_offset_extended": (0x2F, "uu"),                               "LLVM_def_aspace_cfa": (0x30, "uuu"),
    "LLVM_def_aspace_cfa_sf": (0x31, "usu")}  # fmt: skip


def cfa(text: str, *, size: int = 8, order: str = "little") -> bytes:
    """The bytes of some instructions."""
    out = bytearray()
    for statement in filter(None, (part.strip() for part in text.split(";"))):
        name, *words = statement.split()
        code, shape = INSTRUCTIONS[name]
        out.append(code)
        for how, word in zip(shape, words, strict=True):
            if how == "e":
                block = bytes.fromhex(word if word != "-" else "")
                out += uleb(len(block)) + block
                continue
            value = int(word, 0)
            if how == "6":
                assert value < 64
                out[-1] |= value
            elif how == "u":
                out += uleb(value)
            elif how == "s":
                out += sleb(value)
            else:
                out += number(value, size if how == "a" else int(how), order)
    return bytes(out)


class FrameBuilder:
    """A section. What a method returns is the offset of the entry it has added."""

    def __init__(self, kind: str = "debug_frame", *, size: int = 8, order: str = "little", wide: bool = False) -> None:
        self.kind = kind
        self.size = size
        self.order = order
        self.wide = wide
        """The 64-bit format."""
        self.data = b""

    @property
    def is_eh(self) -> bool:
        return self.kind == "eh_frame"

    def number(self, value: int, size: int | None = None) -> bytes:
        return number(value, self.size if size is None else size, self.order)

    def entry(self, body: bytes, *, length: int | None = None, align: int | None = None) -> int:
        """A length and what follows it, filled up with DW_CFA_nop."""
        start = len(self.data)
        head = 12 if self.wide else 4
        body += bytes(-(head + len(body)) % (self.size if align is None else align))
        length = len(body) if length is None else length
        self.data += (b"\xff" * 4 + self.number(length, 8) if self.wide else self.number(length, 4)) + body
        return start

    def id(self, value: int) -> bytes:
        return self.number(value, 8 if self.wide and not self.is_eh else 4)

    def cie(
        self,
        instructions: str | bytes = "",
        *,
        version: int | None = None,
        augmentation: str = "",
        augmentation_data: bytes = b"",
        code: int = 1,
        data: int = -8,
        column: int = 16,
        address_size: int | None = None,
        segment_size: int = 0,
        before: bytes = b"",
        length: int | None = None,
    ) -> int:
        """A CIE; ``before`` stands before the factors, ``augmentation_data`` (with its size) behind the column."""
        version = (1 if self.is_eh else 4) if version is None else version
        body = self.id(0 if self.is_eh else -1) + bytes([version]) + augmentation.encode() + b"\0"
        if version >= 4:
            body += bytes([self.size if address_size is None else address_size, segment_size])
        body += before + uleb(code) + sleb(data) + (bytes([column]) if version == 1 else uleb(column))
        return self.entry(body + augmentation_data + self.instructions(instructions), length=length)

    def fde(
        self,
        cie: int,
        low: int,
        size: int,
        instructions: str | bytes = "",
        *,
        location: bytes | None = None,
        before: bytes = b"",
        augmentation_data: bytes = b"",
        length: int | None = None,
    ) -> int:
        """An FDE; ``location`` is how its addresses are encoded, ``before`` its segment selector."""
        field = len(self.data) + (12 if self.wide else 4)
        body = self.id(field - cie if self.is_eh else cie) + before
        body += self.number(low) + self.number(size) if location is None else location
        return self.entry(body + augmentation_data + self.instructions(instructions), length=length)

    def instructions(self, text: str | bytes) -> bytes:
        return text if isinstance(text, bytes) else cfa(text, size=self.size, order=self.order)


def z(data: bytes) -> bytes:
    """Augmentation data with its size."""
    return uleb(len(data)) + data
