"""Relocations of files that are not linked yet (gABI, "Relocation"; AMDGPU usage, "Relocation Records").

Debug sections of a relocatable file refer to each other and to code through relocations alone. They are applied as if
every section were at its own address, which is 0: an address becomes an offset in its section.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf import header as elf

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.sections import Section

SPECS = {
    elf.EM_AMDGPU: 'AMDGPU usage, "Relocation Records"',
    elf.EM_X86_64: "x86-64 ABI, 4.4",
    elf.EM_386: "i386 ABI, 4.3",
    elf.EM_CUDA: "CUDA-GDB, cuda-functions.c",
    elf.EM_INTELGT: 'zebin specification, "Gen Relocation Type"',
}

# What is computed, in the letters of the text: S symbol, A addend, P place, Z size of the symbol
NOTHING = "nothing"
ABSOLUTE = "S + A"
RELATIVE = "S + A - P"
SIZE = "Z + A"
BASE = "B + A"
BRANCH = "(S + A - P - 4) / 4"
NEEDS_GOT = "a global offset table"
NEEDS_TLS = "the layout of thread-local storage"
NEEDS_LOAD = "the loader"


@frozen
class RelocationType:
    """One relocation type: its name, the bytes of its field, what is computed and how far that is shifted right."""

    name: str
    width: int
    formula: str
    shift: int = 0
    wraps: bool = False
    """Whether bits that do not fit are cut off on purpose."""


def _rules(prefix: str, *rows: tuple[str, int, str]) -> dict[int, RelocationType]:
    """Return types by number: each row has a formula, the bytes of the field, and the names with their numbers."""
    return {
        int(number): RelocationType(prefix + name, width, formula)
        for formula, width, names in rows
        for name, _, number in (word.partition("=") for word in names.split())
    }


AMDGPU: dict[int, RelocationType] = {
    **_rules(
        "R_AMDGPU_",
        (NOTHING, 0, "NONE=0"),
        (ABSOLUTE, 4, "ABS32=6"),
        (ABSOLUTE, 8, "ABS64=3"),
        (RELATIVE, 4, "REL32=4"),
        (RELATIVE, 8, "REL64=5"),
        (BASE, 8, "RELATIVE64=13"),
        (BRANCH, 2, "REL16=14"),
        (NEEDS_GOT, 4, "GOTPCREL=7 GOTPCREL32_LO=8 GOTPCREL32_HI=9"),
    ),
    1: RelocationType("R_AMDGPU_ABS32_LO", 4, ABSOLUTE, wraps=True),
    2: RelocationType("R_AMDGPU_ABS32_HI", 4, ABSOLUTE, shift=32, wraps=True),
    10: RelocationType("R_AMDGPU_REL32_LO", 4, RELATIVE, wraps=True),
    11: RelocationType("R_AMDGPU_REL32_HI", 4, RELATIVE, shift=32, wraps=True),
}
"""The relocation types of AMDGPU; REL16 is that of a branch, counted in words of 4 bytes from its end."""

X86_64 = _rules(
    "R_X86_64_",
    (NOTHING, 0, "NONE=0"),
    (ABSOLUTE, 1, "8=14"),
    (ABSOLUTE, 2, "16=12"),
    (ABSOLUTE, 4, "32=10 32S=11 DTPOFF32=21"),
    # the offset in the section of thread-local data is what DW_OP_form_tls_address needs
    (ABSOLUTE, 8, "64=1 DTPOFF64=17"),
    (RELATIVE, 1, "PC8=15"),
    (RELATIVE, 2, "PC16=13"),
    # what PLT32 calls is defined somewhere: no linkage table is needed to find it
    (RELATIVE, 4, "PC32=2 PLT32=4"),
    (RELATIVE, 8, "PC64=24"),
    (BASE, 8, "RELATIVE=8"),
    (SIZE, 4, "SIZE32=32"),
    (SIZE, 8, "SIZE64=33"),
    (NEEDS_GOT, 4, "GOT32=3 GOTPCREL=9 GOTPC32=26 GOTPCRELX=41 REX_GOTPCRELX=42"),
    (NEEDS_GOT, 8, "GOTOFF64=25 GOT64=27 GOTPCREL64=28 GOTPC64=29 GOTPLT64=30 PLTOFF64=31"),
    (NEEDS_TLS, 0, "TLSDESC_CALL=35"),
    (NEEDS_TLS, 4, "TLSGD=19 TLSLD=20 GOTTPOFF=22 TPOFF32=23 GOTPC32_TLSDESC=34"),
    (NEEDS_TLS, 8, "DTPMOD64=16 TPOFF64=18 TLSDESC=36"),
    (NEEDS_LOAD, 0, "COPY=5"),
    (NEEDS_LOAD, 8, "GLOB_DAT=6 JUMP_SLOT=7 IRELATIVE=37"),
)
"""The relocation types of x86-64 (System V ABI, AMD64 supplement, table 4.9)."""

I386 = _rules(
    "R_386_",
    (NOTHING, 0, "NONE=0"),
    (ABSOLUTE, 1, "8=22"),
    (ABSOLUTE, 2, "16=20"),
    (ABSOLUTE, 4, "32=1 TLS_LDO_32=32"),  # the latter as R_X86_64_DTPOFF32
    (RELATIVE, 1, "PC8=23"),
    (RELATIVE, 2, "PC16=21"),
    (RELATIVE, 4, "PC32=2 PLT32=4"),
    (BASE, 4, "RELATIVE=8"),
    (SIZE, 4, "SIZE32=38"),
    (NEEDS_GOT, 4, "GOT32=3 GOTOFF=9 GOTPC=10 GOT32X=43"),
)
"""The relocation types of i386 in objects and their debug sections (System V ABI, Intel386 supplement, table 4.9).

Addends are in the fields."""

CUDA = _rules("R_CUDA_", (NOTHING, 0, "NONE=0"), (ABSOLUTE, 4, "32=1 G32=3"), (ABSOLUTE, 8, "64=2 G64=4"))
"""Those of debug sections in cubins, as NVIDIA's CUDA-GDB (gdb/cuda-functions.c) applies them to loaded functions."""
ZEBIN = {
    **_rules("R_ZE_", (NOTHING, 0, "NONE=0"), (ABSOLUTE, 8, "SYM_ADDR=1")),
    2: RelocationType("R_ZE_SYM_ADDR_32", 4, ABSOLUTE, wraps=True),
    3: RelocationType("R_ZE_SYM_ADDR_32_HI", 4, ABSOLUTE, shift=32, wraps=True),
}
"""Those of debug sections in Intel's zebin (intel-graphics-compiler, IGC/ZEBinWriter/zebin/spec/elf.md)."""

RULES = {elf.EM_AMDGPU: AMDGPU, elf.EM_X86_64: X86_64, elf.EM_386: I386, elf.EM_CUDA: CUDA, elf.EM_INTELGT: ZEBIN}


def relocate(data: bytearray, section: Section, source: Section, image: Image) -> None:
    """Apply the rows of the relocation section ``source`` to the content of a section of an image."""
    if source.type == elf.SHT_CREL:
        message = f"{image.name}: compact relocations (SHT_CREL) of {section.name} are not supported"
        raise Unsupported("relocation", message, spec="gABI", hint="link the file, or assemble it without --crel")
    if image.machine not in RULES:
        message = f"{image.name}: relocations of machine {image.machine} are not supported"
        raise Unsupported("relocation", message, hint="link the file first")
    _Relocator(data, section, source, image).run()


class _Relocator:
    def __init__(self, data: bytearray, section: Section, source: Section, image: Image) -> None:
        self._data = data
        self._section = section
        self._type, self._rows = source.type, source.decompressed()
        self._values, self._sizes = image.symbol_values(source.header.link)
        self._rules, self._spec = RULES[image.machine], SPECS[image.machine]
        self._layout = image.layout
        self._file = image.name

    def run(self) -> None:
        """Apply all rows in order."""
        layout, data = self._layout, self._data
        with_addend = self._type == elf.SHT_RELA
        row = layout.rela if with_addend else layout.rel
        rows = self._rows[: len(self._rows) // row.size * row.size]
        values, count = self._values, len(self._values)
        shift, mask = (32, 0xFFFFFFFF) if layout.address_size == 8 else (8, 0xFF)
        order = "<" if layout.byte_order == "little" else ">"
        write32 = struct.Struct(order + "I").pack_into
        write64 = struct.Struct(order + "Q").pack_into
        plain = {n: rule.width for n, rule in self._rules.items() if rule.formula == ABSOLUTE and not rule.shift}
        absolute32 = {n for n, width in plain.items() if width == 4}
        absolute64 = {n for n, width in plain.items() if width == 8}
        end32, end64 = len(data) - 4, len(data) - 8
        for fields in row.iter_unpack(rows):
            offset, info = fields[0], fields[1]
            number, symbol = info & mask, info >> shift
            if with_addend and symbol < count:  # nearly all rows of debug sections are one of these two
                value = values[symbol] + fields[2]
                if number in absolute32 and offset <= end32 and 0 <= value <= 0xFFFFFFFF:
                    write32(data, offset, value)
                    continue
                if number in absolute64 and offset <= end64 and 0 <= value < 1 << 64:
                    write64(data, offset, value)
                    continue
            self._apply(offset, number, symbol, fields[2] if with_addend else None)

    def _apply(self, offset: int, number: int, symbol: int, addend: int | None) -> None:
        rule = self._rules.get(number)
        if rule is None:
            message = f"{self._file}: relocation type {number} is not known"
            raise self._unsupported(message, offset, "link the file first")
        if rule.formula == NOTHING:
            return
        if rule.formula in (NEEDS_GOT, NEEDS_TLS, NEEDS_LOAD):
            if self._section.flags & elf.SHF_EXECINSTR:
                return  # an operand of an instruction: what else is in the section is as it will be
            message = f"{self._file}: {rule.name} needs {rule.formula}, which a file that is not linked does not have"
            raise self._unsupported(message, offset, "link the file first, for example with ld.lld -shared")
        if offset + rule.width > len(self._data):
            raise self._malformed("truncated", f"{rule.name} is past the end of {self._section.name}", offset)
        if symbol >= len(self._values):
            raise self._malformed("bad_symbol", f"{rule.name} names symbol {symbol}, which does not exist", offset)
        order = self._layout.byte_order
        end = offset + rule.width
        if addend is None:
            addend = int.from_bytes(self._data[offset:end], order, signed=True)
        value = self._value(rule, symbol, addend, offset) >> rule.shift
        bits = rule.width * 8
        if not rule.wraps and not -(1 << (bits - 1)) <= value < 1 << bits:
            raise self._malformed("overflow", f"{rule.name} gives {value:#x}, more than {bits} bits", offset)
        self._data[offset:end] = (value & ((1 << bits) - 1)).to_bytes(rule.width, order)

    def _value(self, rule: RelocationType, symbol: int, addend: int, offset: int) -> int:
        place = self._section.address + offset
        if rule.formula == SIZE:
            return self._sizes[symbol] + addend
        if rule.formula == BASE:
            return addend  # B, how far a file was moved when it was loaded, is 0
        target = self._values[symbol] + addend
        if rule.formula == ABSOLUTE:
            # addresses of 8 bytes wrap, as the additions of a linker do
            return target % (1 << 64) if rule.width == 8 else target
        if rule.formula == RELATIVE:
            return target - place
        return (target - place - 4) // 4

    def _malformed(self, kind: str, message: str, offset: int) -> DwarfGpuError:
        return elf.malformed(self._file, kind, message, section=self._section.name, offset=offset, spec=self._spec)

    def _unsupported(self, message: str, offset: int, hint: str) -> DwarfGpuError:
        error = Unsupported("relocation", message, spec=self._spec, hint=hint)
        return error.at(section=self._section.name, offset=offset)  # type: ignore[no-any-return]
