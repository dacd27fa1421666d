"""Relocations of files that are not linked (AMDGPU usage, "Relocation Records"; x86-64 ABI, 4.4)."""

import pytest

from dwarfgpu.errors import MalformedFile, Unsupported
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.relocation import AMDGPU, I386, NEEDS_GOT, NEEDS_LOAD, NEEDS_TLS, X86_64
from dwarfgpu.objfile.opening import open_image
from tests.builders.code_objects import opencl
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.parameters import for_each

CLASSES = [(size, order) for size in (4, 8) for order in ("little", "big")]


def relocated(type_, *, symbol_value=0x1234, addend=0, offset=8, content=None, addends=True, machine=224, place=0x10,
              symbol=("sym", 1), size=8, order="little"):  # fmt: skip
    """The 8 bytes of ``.debug_info`` at an offset after one relocation."""
    builder = ElfBuilder(type=1, machine=machine, address_size=size, byte_order=order)
    builder.section(".text", bytes(64), flags=6)
    data = bytes(64) if content is None else bytes(offset) + content + bytes(64)
    target = builder.section(".debug_info", data, address=place)
    table = builder.symbols([(symbol[0], symbol_value, 0x40, 0, 1, symbol[1])])
    builder.relocations(target, table, [(offset, type_, 1, addend)], addends=addends)
    return Image(builder.build()).section(".debug_info").data[offset : offset + 8]


def number(data, size, order="little", *, signed=False):
    return int.from_bytes(data[:size], order, signed=signed)


@for_each(
    "type_, value, addend, width, expected",
    (0, 0x1234, 5, 8, 0),  # NONE
    (1, 0x123456789, -1, 4, 0x23456788),  # ABS32_LO: (S + A) & 0xFFFFFFFF
    (2, 0x123456789, -1, 4, 0x1),  # ABS32_HI: (S + A) >> 32
    (3, 0x123456789, -1, 8, 0x123456788),  # ABS64: S + A
    (4, 0x1234, 4, 4, 0x1238 - 0x18),  # REL32: S + A - P
    (5, 0x4, 0, 8, (1 << 64) + 4 - 0x18),  # REL64
    (6, 0x1234, 0x10, 4, 0x1244),  # ABS32: S + A
    (10, 0x500000000, 0, 4, 0xFFFFFFE8),  # REL32_LO: (S + A - P) & 0xFFFFFFFF
    (11, 0x500000000, 0, 4, 0x4),  # REL32_HI: (S + A - P) >> 32
    (13, 0x1234, 0x77, 8, 0x77),  # RELATIVE64: B + A
    (14, 0x1C, 0x10, 2, (0x1C + 0x10 - 0x18 - 4) // 4),  # REL16: of a branch, in words from its end
)
def test_each_relocation_of_amdgpu(type_, value, addend, width, expected):
    result = relocated(type_, symbol_value=value, addend=addend)
    assert number(result, width) == expected
    assert not any(result[width:])


@for_each(
    "type_, value, addend, width, expected",
    (0, 9, 9, 8, 0),  # NONE
    (1, 0x1234, -4, 8, 0x1230),  # 64
    (2, 0x1234, -4, 4, 0x1230 - 0x18),  # PC32
    (4, 0x1234, -4, 4, 0x1230 - 0x18),  # PLT32
    (10, 0x1234, 0, 4, 0x1234),  # 32
    (11, 0x10, -0x20, 4, 0xFFFFFFF0),  # 32S
    (12, 0x1234, 0, 2, 0x1234),  # 16
    (13, 0x1234, 0, 2, 0x1234 - 0x18),  # PC16
    (14, 0x34, 0, 1, 0x34),  # 8
    (15, 0x34, 0, 1, 0x34 - 0x18),  # PC8
    (17, 0x8, 2, 8, 0xA),  # DTPOFF64
    (21, 0x8, 2, 4, 0xA),  # DTPOFF32
    (24, 0x8, 0, 8, (1 << 64) + 8 - 0x18),  # PC64
    (32, 0x8, 2, 4, 0x42),  # SIZE32: Z + A
    (33, 0x8, 2, 8, 0x42),  # SIZE64
)
def test_the_relocations_of_x86_64(type_, value, addend, width, expected):
    result = relocated(type_, symbol_value=value, addend=addend, machine=62)
    assert number(result, width) == expected
    assert not any(result[width:])


@for_each(
    "machine, type_, width, expected",
    (205, 1, 8, 0x123456788),  # SYM_ADDR: 64-bit address
    (205, 2, 4, 0x23456788),  # SYM_ADDR_32: 32-bit address, or the lower 32 bits of a 64-bit one
    (205, 3, 4, 0x1),  # SYM_ADDR_32_HI: the higher 32 bits
    (190, 2, 8, 0x123456788),  # R_CUDA_64
    (190, 4, 8, 0x123456788),  # R_CUDA_G64
)
def test_the_relocations_of_debug_sections_of_other_gpus(machine, type_, width, expected):
    """The zebin specification, "Gen Relocation Type"; CUDA-GDB, cuda-functions.c."""
    result = relocated(type_, symbol_value=0x123456789, addend=-1, machine=machine)
    assert number(result, width) == expected
    assert not any(result[width:])


@pytest.mark.parametrize("size, order", CLASSES)
@pytest.mark.parametrize("addends", [True, False])
def test_each_class_and_byte_order_with_and_without_addends(size, order, addends):
    result = relocated(6, addend=0x20, content=(0x20).to_bytes(4, order), addends=addends, size=size, order=order)
    assert number(result, 4, order) == 0x1254


def test_an_addend_in_the_field_is_signed():
    assert number(relocated(6, content=(-4).to_bytes(4, "little", signed=True), addends=False), 4) == 0x1230


@pytest.mark.parametrize("section", [0xFFF2, 0xFF00], ids=["common", "lds"])
def test_an_alignment_is_no_address(section):
    """Common symbols, and those in LDS, have an alignment as their value and no place yet."""
    assert number(relocated(3, symbol_value=16, addend=4, symbol=("lds", section)), 8) == 4


def test_an_absolute_symbol_has_its_value():
    assert number(relocated(3, symbol_value=0x99, symbol=("abs", 0xFFF1)), 8) == 0x99


def test_the_address_of_the_symbols_section_counts():
    builder = ElfBuilder(type=1)
    text = builder.section(".text", bytes(16), flags=6, address=0x4000)
    target = builder.section(".debug_addr", bytes(8))
    builder.relocations(target, builder.symbols([("f", 8, 4, 2, 1, text)]), [(0, 3, 1, 0)])
    assert number(Image(builder.build()).section(".debug_addr").data, 8) == 0x4008


@for_each(
    "type_, content, width, expected",
    (0, b"\5\0\0\0", 4, 5),  # NONE
    (1, b"\4\0\0\0", 4, 0x1238),  # 32: S + A
    (2, b"\xfc\xff\xff\xff", 4, 0x1230 - 0x18),  # PC32: S + A - P
    (20, b"\2\0\0\0", 2, 0x1236),  # 16
    (32, b"\4\0\0\0", 4, 0x1238),  # TLS_LDO_32: the offset in the thread-local data
    (38, b"\1\0\0\0", 4, 0x41),  # SIZE32: Z + A
)
def test_the_relocations_of_i386_have_their_addends_in_the_field(type_, content, width, expected):
    assert number(relocated(type_, content=content, addends=False, machine=3, size=4), width) == expected


@pytest.mark.parametrize("machine, rules", [(224, AMDGPU), (62, X86_64), (3, I386)])
def test_what_only_a_linker_knows_is_refused_by_name(machine, rules):
    for type_, rule in rules.items():
        if rule.formula in (NEEDS_GOT, NEEDS_TLS, NEEDS_LOAD):
            error = raised(Unsupported, relocated, type_, machine=machine)
            assert rule.name in str(error)
            assert (error.where.section, error.where.offset) == (".debug_info", 8)


def test_unknown_relocations_are_named():
    assert "relocation type 12" in str(raised(Unsupported, relocated, 12))
    assert "machine 183" in str(raised(Unsupported, relocated, 1, machine=183))


def test_compact_relocations_are_refused():
    builder = ElfBuilder(type=1)
    builder.section(".crel.debug_info", b"\1\2", type=0x40000014, info=builder.section(".debug_info", bytes(16)))
    with pytest.raises(Unsupported) as error:
        _ = Image(builder.build()).section(".debug_info").data
    assert "SHT_CREL" in str(error.value)


@for_each("options, kind",
    ({"type_": 6, "symbol_value": 1 << 33}, "overflow"),
    ({"type_": 6, "symbol_value": 0, "addend": -(1 << 40)}, "overflow"),
    ({"type_": 3, "offset": 57}, "truncated"),
    ({"type_": 3, "offset": 1 << 60}, "truncated"))  # fmt: skip
def test_a_relocation_that_does_not_fit(options, kind):
    error = raised(MalformedFile, relocated, **options)
    assert (error.kind, error.where.section) == (kind, ".debug_info")


def test_relocations_that_overlap_are_refused():
    """Section headers may lead to the same rows again and again."""
    builder = ElfBuilder(type=1)
    target = builder.section(".debug_info", bytes(16))
    builder.relocations(target, builder.symbols([("f", 8, 4, 2, 1, target)]), [(0, 3, 1, 0)] * 100)
    image = Image(builder.build())
    image.sections += (image.sections[-2],) * 10
    with pytest.raises(MalformedFile, match="overlap") as error:
        _ = image.section(".debug_info").data
    assert error.value.kind == "too_large"


def test_a_symbol_that_is_not_there():
    builder = ElfBuilder(type=1)
    builder.relocations(builder.section(".debug_info", bytes(16)), builder.symbols([]), [(0, 3, 7, 0)])
    with pytest.raises(MalformedFile) as error:
        _ = Image(builder.build()).section(".debug_info").data
    assert error.value.kind == "bad_symbol"


def test_a_broken_relocation_hides_no_other_section():
    builder = ElfBuilder(type=1)
    target = builder.section(".debug_info", bytes(16))
    builder.section(".debug_str", b"text\0")
    builder.relocations(target, builder.symbols([]), [(400, 3, 0, 0)])
    image = Image(builder.build())
    with pytest.raises(MalformedFile):
        _ = image.section(".debug_info").data
    assert image.section(".debug_str").data == b"text\0"
    assert bytes(image.section(".debug_info").raw) == bytes(16)


def test_relocations_of_what_relocations_need_are_no_circle():
    builder = ElfBuilder(type=1)
    target = builder.section(".debug_info", bytes(16))
    table = builder.symbols([("f", 8, 4, 2, 1, target)])
    builder.relocations(target, table, [(0, 3, 1, 5)])
    builder.relocations(table, table, [(24, 3, 1, 5)])
    builder.relocations(4, table, [(0, 3, 1, 5)])
    image = Image(builder.build())
    assert number(image.section(".debug_info").data, 8) == 13
    assert image.symbol_named("f").value == 8


def test_a_linker_has_applied_those_it_leaves():
    builder = ElfBuilder(type=3)
    target = builder.section(".debug_info", bytes(16))
    builder.relocations(target, builder.symbols([("f", 8, 4, 2, 1, 1)]), [(0, 3, 1, 5)])
    assert Image(builder.build()).section(".debug_info").data == bytes(16)


@pytest.mark.parametrize("processor, options", [("gfx90a", ("-gdwarf-5",)), ("gfx1100", ("-gdwarf-4", "-O2"))])
def test_amdgpu_debug_sections_are_those_of_the_linker(tmp_path, require_tool, processor, options):
    """lld -O0 merges no strings: its debug sections differ only in the addresses it gave to code and data."""
    linked = open_image(opencl(tmp_path, require_tool, processor, *options, link="-O0"))
    unlinked = open_image(next(iter(tmp_path.glob("*.o"))))
    compared = 0
    for section in unlinked.sections:
        sources = unlinked.relocation_sections(section.index)
        if section.is_allocated or not section.name.startswith(".debug") or not sources:
            continue
        ours, theirs = bytearray(section.data), bytearray(linked.section(section.name).data)
        theirs = theirs[: len(ours)]
        symbols = list(unlinked.symbols())
        for offset, info, _ in unlinked.layout.rela.iter_unpack(sources[0].data):
            symbol = symbols[info >> 32]
            width = AMDGPU[info & 0xFFFFFFFF].width
            address = 0
            if symbol.section is not None and symbol.section.is_allocated:
                address = linked.section(symbol.section.name).address
                if symbol.name != symbol.section.name:
                    address = linked.symbol_named(symbol.name).value - symbol.value
            assert number(theirs[offset:], width) == number(ours[offset:], width) + address
            ours[offset : offset + width] = theirs[offset : offset + width] = bytes(width)
            compared += 1
        assert ours == theirs, section.name
    assert compared > 20
