"""An ELF file with one section of code, which any disassembler can read.

So the code of a bundle, of a compressed file and of a running program are all handed over in the same way, and what
symbols and sections of the real file might do to a disassembler does not matter.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.objfile.elf.header import SHF_ALLOC

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image

_ET_EXEC, _SHT_PROGBITS, _SHT_STRTAB, _SHF_EXECINSTR = 2, 1, 3, 4
_NAMES = b"\0.text\0.shstrtab\0"
_TEXT, _SHSTRTAB = _NAMES.index(b".text"), _NAMES.index(b".shstrtab")


def code_image(code: bytes, address: int, image: Image) -> bytes:
    """A file with some code at an address, for the machine of another file."""
    order = "<" if image.byte_order == "little" else ">"
    is_wide = image.address_size == 8
    header = struct.Struct(order + ("16sHHIQQQIHHHHHH" if is_wide else "16sHHIIIIIHHHHHH"))
    section = struct.Struct(order + ("IIQQQQIIQQ" if is_wide else "IIIIIIIIII"))
    names = header.size + len(code)
    table = -(-(names + len(_NAMES)) // 8) * 8
    identity = bytes(
        (*b"\x7fELF", 2 if is_wide else 1, 1 if order == "<" else 2, 1, image.osabi, image.abi_version)
    )
    head = header.pack(
        *(identity, _ET_EXEC, image.machine, 1, 0, 0, table, image.flags),
        *(header.size, 0, 0, section.size, 3, 2),
    )
    sections = (
        bytes(section.size),
        section.pack(
            _TEXT, _SHT_PROGBITS, SHF_ALLOC | _SHF_EXECINSTR, address, header.size, len(code), 0, 0, 4, 0
        ),
        section.pack(_SHSTRTAB, _SHT_STRTAB, 0, 0, names, len(_NAMES), 0, 0, 1, 0),
    )
    body = head + code + _NAMES
    return body + bytes(table - len(body)) + b"".join(sections)
