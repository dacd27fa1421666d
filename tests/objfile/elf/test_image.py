"""ELF files: headers, sections, symbols, notes and addresses, whole and broken (gABI)."""

import contextlib
import random
import re
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.objfile.elf import symbols as symbols_module
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.loading import load, span
from dwarfgpu.objfile.elf.notes import code_object_version, hsa_notes
from dwarfgpu.objfile.elf.summary import missing_parts, section_info
from dwarfgpu.objfile.kernels.kernel import read_kernels
from dwarfgpu.objfile.kernels.metadata import target_name
from dwarfgpu.objfile.opening import open_image
from tests.builders.code_objects import opencl, readobj, run
from tests.builders.elf import ElfBuilder, small_elf
from tests.builders.errors import raised
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

CLASSES = [(size, order) for size in (4, 8) for order in ("little", "big")]


@pytest.fixture(scope="module")
def linked(tmp_path_factory, require_tool):
    return opencl(tmp_path_factory.mktemp("image"), require_tool, "gfx90a")


@pytest.fixture(scope="module")
def unlinked(linked):
    return linked.with_suffix(".o")


def read_everything(image):
    found = [image.type_name, image.machine_name, image.osabi_name, image.build_id, missing_parts(image)]
    for section in image.sections:
        found += [section_info(image, section)] if section.index else []
        found += [section.type_name, section.flag_letters, section.partial() if section.index < 40 else None]
    found += list(image.symbols())
    found += [image.symbol_named("second"), image.symbol_at(0x1005), image.symbol_at(0x1015), image.notes()]
    try:
        found.append(image.read(0x1000, 8))
    except DwarfGpuError:
        found.append(None)
    return found


@pytest.mark.parametrize("size, order", CLASSES)
def test_a_file_of_each_class_and_byte_order(size, order):
    image = Image(small_elf(address_size=size, byte_order=order))
    assert (image.address_size, image.byte_order) == (size, order)
    expected = (224, "AMDGPU", "DYN", "AMDGPU_HSA")
    assert (image.machine, image.machine_name, image.type_name, image.osabi_name) == expected
    assert image.section(".debug_info").data == b"information" * 5
    assert image.section(".debug_str").data == b"string\0" * 30
    assert image.section(".debug_line").data == b"line\0\0" * 50
    assert image.section(".debug_line").name == ".zdebug_line"
    assert image.section(".bss").data == b""
    expected = [("first", 0x1000, 16, "FUNC", "LOCAL"), ("second", 0x1010, 8, "FUNC", "GLOBAL")]
    assert [(s.name, s.value, s.size, s.type, s.bind) for s in image.symbols()][1:] == expected
    assert image.build_id == "00112233"
    expected = [("GNU", "NT_GNU_BUILD_ID"), ("AMD", "NT_AMD_HSA_CODE_OBJECT_VERSION")]
    assert [(note.owner, note.type_name) for note in image.notes()] == expected
    assert image.problems == []


@pytest.mark.parametrize("size, order", CLASSES)
def test_memory_is_read_through_the_segments(size, order):
    image = Image(small_elf(address_size=size, byte_order=order))
    assert image.read(0x1008, 4) == bytes([8, 9, 10, 11])
    assert image.read(0x1000 + 60, 20) == bytes(range(60, 64)) + bytes(16)  # the file holds 64 of 80 bytes
    assert raised(MalformedFile, image.read, 0x1000 + 79, 2).kind == "not_mapped"


def test_a_file_that_is_not_linked_has_no_addresses():
    image = Image(small_elf(type=1))
    assert raised(UsageError, image.read, 0x1000, 1).kind == "not_linked"


def test_symbols_are_found_by_name_and_address():
    builder = ElfBuilder()
    text = builder.section(".text", bytes(0x100), flags=0x6, address=0x1000)
    rows = [
        ("outer", 0x1000, 0x80, 2, 1, text), ("inner", 0x1010, 0x10, 2, 1, text), ("label", 0x1020, 0, 0, 0, text),
        ("lonely", 0x10A0, 0, 0, 0, text),   ("twice", 0x1050, 4, 1, 0, text),    ("twice", 0x1060, 4, 1, 1, text),
        ("twice", 0, 0, 0, 1, 0),            ("elsewhere", 0, 0, 0, 1, 0),        ("common", 16, 8, 1, 1, 0xFFF2),
        ("lds", 16, 8, 1, 1, 0xFF00),        ("absolute", 0x77, 0, 0, 0, 0xFFF1), ("", 0, 0, 3, 0, text)]  # fmt: skip
    builder.symbols(rows)
    image = Image(builder.build())

    names = {address: getattr(image.symbol_at(address), "name", None) for address in (0x1000, 0x1010, 0x101F, 0x1020)}
    assert names == {0x1000: "outer", 0x1010: "inner", 0x101F: "inner", 0x1020: "outer"}
    assert image.symbol_at(0x10A0).name == "lonely"
    assert image.symbol_at(0x10A1) is None
    assert image.symbol_at(0xFFF) is None
    assert image.symbol_named("twice").value == 0x1060
    assert not image.symbol_named("elsewhere").is_defined
    assert not image.symbol_named("common").is_defined
    assert not image.symbol_named("lds").is_defined
    assert image.symbol_named("absolute").is_defined
    assert image.symbol_named("nothing") is None
    assert list(image.symbols())[-1].name == ".text"


def test_symbols_of_an_object_are_found_by_section():
    builder = ElfBuilder(type=1)
    first = builder.section(".text.a", bytes(16), flags=0x6)
    second = builder.section(".text.b", bytes(16), flags=0x6)
    builder.symbols([("a", 0, 16, 2, 1, first), ("b", 0, 16, 2, 1, second)])
    image = Image(builder.build())
    assert image.symbol_at(4, image.sections[second]).name == "b"
    assert image.symbol_at(4, image.sections[first]).name == "a"


def random_symbols(rng, size, order):
    """A table whose names overlap, are no text, or have no end, and whose symbols overlap too."""
    builder = ElfBuilder(address_size=size, byte_order=order)
    sections = [builder.section(f".text.{i}", bytes(64), flags=0x6, address=0x1000 + 64 * i) for i in range(2)]
    sections.append(builder.section("s.kd", bytes(64), flags=0x2, address=0x2000))
    names = b"\0abc.kd\0k.kd\0.kd\0abc\0a\xffb\0a\\xffb\0twice\0\0k.kd"
    rows = bytes(16 if size == 4 else 24)
    for _ in range(rng.choice([0, 1, 40])):
        name = rng.randrange(len(names) + 3)
        value, length = 0x1000 + rng.randrange(140), rng.choice([0, 0, 1, 4, 16, 64])
        info = rng.choice([0, 1, 2]) << 4 | rng.choice([0, 1, 2, 2, 3, 4, 6, 10])
        place = rng.choice([0, *sections, *sections, 0xFFF1, 0xFFF2, 0xFFFF])
        if size == 4:
            rows += builder.pack("IIIBBH", name, value, length, info, 0, place)
        else:
            rows += builder.pack("IBBHQQ", name, info, 0, place, value, length)
    builder.section(".symtab", rows, type=2, link=len(builder.sections) + 2)
    builder.section(".strtab", names, type=3)
    return builder.build()


@pytest.mark.parametrize("size,order", CLASSES)
def test_searching_for_a_symbol_finds_what_an_index_has(size, order, monkeypatch):
    rng = random.Random(size)
    for _ in range(30):
        data = random_symbols(rng, size, order)
        monkeypatch.setattr(symbols_module, "SEARCHES", 1 << 30)
        searched = Image(data)
        monkeypatch.setattr(symbols_module, "MAX_COPIES", rng.choice([0, 1, 1000]))
        plain = list(searched.symbols())
        names = ["abc.kd", "k.kd", ".kd", "kd", "abc", "c", "a\\xffb", "twice", "", "s.kd", "a\0b", "\udcff", "x"]
        for name in names:
            expected = [each for each in plain if each.name == name and each.type_number not in (3, 4)]
            assert searched.symbols_named(name) == expected
            parts = [each for each in plain if name in each.name and each.type_number != 3]
            found = searched._symbol_table.containing(name)
            is_escape = name == "x"  # of a byte that is not text: the byte is searched for, not its escape
            assert is_escape or [each for each in found if each.type_number != 3] == parts
        assert list(searched.symbols_marked(".kd", 10)) == [
            each for each in plain if each.name.endswith(".kd") or each.type_number == 10
        ]
        named = [searched.symbol_named(name) for name in names]
        places = [(address, None) for address in range(0xFFE, 0x1090)]
        places += [(address, section) for address, _ in places for section in searched.sections[1:3]]
        located = [searched.symbol_at(*place) for place in places]

        monkeypatch.setattr(symbols_module, "SEARCHES", 0)
        indexed = Image(data)
        same = [(each and each.index) for each in named]
        assert [(each and each.index) for each in map(indexed.symbol_named, names)] == same
        found = [indexed.symbol_at(address, section) for address, section in places]
        assert [(each and each.index) for each in found] == [(each and each.index) for each in located]


def test_sections_of_one_name():
    builder = ElfBuilder(type=1)
    builder.section(".debug_types", b"one")
    builder.section(".debug_types", b"two")
    image = Image(builder.build())
    assert image.section(".debug_types").data == b"one"
    assert [section.data for section in image.sections_named(".debug_types")] == [b"one", b"two"]
    assert image.sections_named(".debug_none") == ()


def test_more_sections_than_the_header_can_count():
    builder = ElfBuilder()
    for index in range(3):
        builder.section(f".s{index}", b"x")
    data = bytearray(builder.build())
    table = int.from_bytes(data[0x28:0x30], "little")
    count, names = data[0x3C], data[0x3E]
    data[0x3C:0x40] = b"\0\0\xff\xff"  # e_shnum 0, e_shstrndx SHN_XINDEX
    data[table + 0x20 : table + 0x28] = count.to_bytes(8, "little")
    data[table + 0x28 : table + 0x2C] = names.to_bytes(4, "little")
    image = Image(bytes(data))
    assert [section.name for section in image.sections] == ["", ".s0", ".s1", ".s2", ".shstrtab"]
    assert image.problems == []


def test_symbols_in_sections_above_0xff00():
    builder = ElfBuilder()
    text = builder.section(".text", bytes(16), flags=6, address=0x1000)
    table = builder.symbols([("far", 0x1004, 4, 2, 1, 0xFFFF), ("near", 0x1000, 4, 2, 1, text)])
    extended = b"".join(number.to_bytes(4, "little") for number in (0, text, 0))
    builder.section(".symtab_shndx", extended, type=18, link=table)
    image = Image(builder.build())
    assert image.symbol_named("far").section.name == ".text"
    assert image.symbol_at(0x1005).name == "far"


def test_the_notes_of_old_code_objects():
    builder = ElfBuilder(abi_version=0)
    isa = builder.pack("HHIII", 4, 7, 8, 0, 3) + b"AMD\0AMDGPU\0"
    producer = builder.pack("HHII", 5, 0, 1, 2) + b"tool\0"
    notes = builder.note(b"AMD\0", 1, builder.pack("II", 2, 1)) + builder.note(b"AMD\0", 3, isa)
    notes += builder.note(b"AMD\0", 4, producer) + builder.note(b"AMD\0", 5, builder.pack("H", 3) + b"-O2")
    notes += builder.note(b"AMD\0", 2, builder.pack("IIBBB", 1, 0, 1, 1, 2))
    notes += builder.note(b"AMD\0", 11, b"amdgcn-amd-amdhsa--gfx803\0")
    builder.section(".note", notes, type=7, align=4)
    image = Image(builder.build())
    found = hsa_notes(image)
    assert found.code_object_version == (2, 1)
    assert (found.isa.vendor, found.isa.architecture, found.isa.processor) == ("AMD", "AMDGPU", "gfx803")
    assert (found.producer.name, found.producer.major, found.producer.minor) == ("tool", 1, 2)
    assert found.producer_options == "-O2"
    assert (found.hsail.major, found.hsail.default_float_round) == (1, 2)
    assert found.isa_name == "amdgcn-amd-amdhsa--gfx803"
    assert found.problems == ()
    assert code_object_version(image) == 2


@pytest.mark.parametrize("abi_version, version", [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6)])
def test_the_code_object_version_is_in_the_header(abi_version, version):
    assert code_object_version(Image(ElfBuilder(abi_version=abi_version).build())) == version


def test_code_object_version_1_is_in_a_note():
    builder = ElfBuilder(osabi=0, abi_version=0)
    builder.section(".note", builder.note(b"AMD\0", 1, builder.pack("II", 1, 0)), type=7, align=4)
    assert code_object_version(Image(builder.build())) == 1


def test_other_machines_have_no_code_object_version():
    assert code_object_version(Image(ElfBuilder(machine=62, osabi=0).build())) is None


def test_a_broken_note_hides_only_those_behind_it():
    builder = ElfBuilder()
    good = builder.note(b"GNU\0", 3, b"\1\2")
    builder.section(".note.a", good + builder.pack("III", 4, 1000, 1) + b"GNU\0", type=7, align=4)
    builder.section(".note.b", builder.note(b"AMD\0", 77, b"xyz"), type=7, align=4)
    builder.section(".note.c", builder.note(b"AMD\0", 1, b"\1\2"), type=7, align=4)
    image = Image(builder.build())
    expected = [("GNU", 3, b"\1\2"), ("AMD", 77, b"xyz"), ("AMD", 1, b"\1\2")]
    assert [(note.owner, note.type, note.data) for note in image.notes()] == expected
    assert [(problem.kind, problem.where.section, problem.where.offset) for problem in image.problems] == [
        ("truncated", ".note.a", len(good))
    ]
    assert [problem.kind for problem in hsa_notes(image).problems] == ["truncated"]


def test_notes_that_cannot_be_relocated_hide_nothing():
    builder = ElfBuilder(type=1, machine=999)
    broken = builder.section(".note.a", builder.note(b"GNU\0", 3, b"\1"), type=7, align=4)
    builder.section(".note.b", builder.note(b"GNU\0", 3, b"\2"), type=7, align=4)
    builder.relocations(broken, builder.symbols([]), [(0, 1, 0, 0)])
    image = Image(builder.build())
    assert [note.data for note in image.notes()] == [b"\1", b"\2"]  # what the file holds of the first
    assert [problem.kind for problem in image.problems] == ["relocation"]
    content, problem = image.section(".note.a").partial()
    assert (content, problem.kind) == (b"", "relocation")


def test_notes_aligned_to_8_bytes():
    builder = ElfBuilder(machine=62)
    notes = builder.note(b"GNU\0", 5, bytes(12), align=8) + builder.note(b"GNU\0", 3, b"\5", align=8)
    builder.section(".note.gnu.property", notes, type=7, align=8)
    assert [note.type for note in Image(builder.build()).notes()] == [5, 3]


def test_notes_of_a_file_without_sections_are_found_by_segment():
    builder = ElfBuilder()
    builder.segment(4, 0, builder.section(".note", builder.note(b"GNU\0", 3, b"\7"), align=4))
    data = bytearray(builder.build())
    data[0x28:0x30] = bytes(8)  # no section headers
    image = Image(bytes(data))
    assert image.sections == ()
    assert image.build_id == "07"


def test_small_and_large_files(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(small_elf())
    builder = ElfBuilder()
    builder.section(".debug_info", bytes(1 << 21))
    builder.section(".debug_str", b"text\0")
    large.write_bytes(builder.build())
    assert open_image(small).path == str(small)
    image = open_image(str(large))
    assert image.section(".debug_str").data == b"text\0"
    assert image.section(".debug_info").view.nbytes == 1 << 21


def test_a_section_gives_its_memory_back():
    image = Image(small_elf())
    section = image.section(".debug_info")
    first = section.data
    assert section.data is first
    image.release()
    assert section.data == first
    assert section.data is not first


@pytest.mark.parametrize("name", ["missing.co", ".", "missing.co@gfx90a"])
def test_what_cannot_be_read_is_named(tmp_path, name):
    error = raised(MalformedFile, open_image, tmp_path / name)
    assert error.kind == "unreadable"
    assert str(tmp_path / name) in str(error)


@for_each("data, kind",
    (b"", "not_elf"),           (b"\x7fELF", "truncated"),  (b"just text, and more", "not_elf"),
    (b"\x7fELF\x03" + bytes(60), "bad_class"),              (b"\x7fELF\x02\x03" + bytes(60), "bad_byte_order"),
    (b"\x7fELF\x02\x01" + bytes(20), "truncated"),          (b"!<arch>\n" + bytes(60), "not_elf"))  # fmt: skip
def test_what_is_no_elf_file(data, kind):
    assert raised(MalformedFile, open_image, data).kind == kind


def test_a_section_outside_the_file_hides_no_other():
    builder = ElfBuilder()
    builder.section(".debug_info", b"abc", size=1 << 40)
    builder.section(".debug_line", b"abc", offset=1 << 50)
    builder.section(".debug_str", b"text\0")
    image = Image(builder.build(), name="k.co")
    assert image.section(".debug_str").data == b"text\0"
    with pytest.raises(MalformedFile) as error:
        _ = image.section(".debug_info").data
    assert (error.value.kind, error.value.where.section) == ("truncated", ".debug_info")
    assert "k.co" in str(error.value)
    data, problem = image.section(".debug_info").partial()
    assert bytes(data).startswith(b"abc")
    assert problem.kind == "truncated"
    assert image.section(".debug_line").partial()[0] == b""
    errors = {section.name: section_info(image, section).error is not None for section in image.sections[1:]}
    assert errors == {".debug_info": True, ".debug_line": True, ".debug_str": False, ".shstrtab": False}


@pytest.mark.parametrize("size, order", CLASSES)
def test_a_file_truncated_anywhere_opens_or_says_why(size, order):
    data = small_elf(address_size=size, byte_order=order)
    for end in range(len(data)):
        if end < (64 if size == 8 else 52):
            assert raised(MalformedFile, Image, data[:end]).kind == "truncated"
        else:
            image = Image(data[:end])
            read_everything(image)
            assert image.problems, end


@given(st.data())
def test_random_changes_give_a_result_or_an_error(data):
    size, order = data.draw(st.sampled_from(CLASSES))
    content = bytearray(small_elf(address_size=size, byte_order=order))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    with contextlib.suppress(DwarfGpuError):
        read_everything(Image(bytes(content)))


def test_many_random_changes_of_headers():
    chance = random.Random(20)
    original = small_elf(type=1)
    tables = [*range(16, 64), *range(len(original) - 11 * 64, len(original))]
    for _ in range(1000):
        content = bytearray(original)
        for _ in range(chance.randint(1, 5)):
            content[chance.choice(tables)] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        with contextlib.suppress(DwarfGpuError):
            read_everything(Image(bytes(content)))


@pytest.mark.parametrize("which", ["linked", "unlinked"])
def test_a_real_file_truncated_at_every_section_boundary(which, request):
    data = request.getfixturevalue(which).read_bytes()
    ends = {section.offset + delta for section in Image(data).sections for delta in (-1, 0, 1)}
    for end in sorted(end for end in ends if 64 <= end < len(data)):
        image = Image(data[:end])
        read_everything(image)
        assert image.problems
        read_kernels(image)


def test_too_many_sections_are_not_read():
    data = bytearray(ElfBuilder().build())
    table = int.from_bytes(data[0x28:0x30], "little")
    data[0x3C:0x3E] = b"\0\0"
    data[table + 0x20 : table + 0x28] = (1 << 60).to_bytes(8, "little")
    image = Image(bytes(data))
    assert len(image.sections) == 2
    assert [problem.kind for problem in image.problems] == ["truncated"]


def test_names_that_are_not_text_can_be_printed():
    builder = ElfBuilder()
    builder.section(".debug_X")
    assert Image(builder.build().replace(b".debug_X", b".debug_\xff")).sections[1].name == ".debug_\\xff"


def assert_same_as_readobj(path, tools):
    image = open_image(path)
    said = readobj(path, tools, "-h", "-S", "-s")
    header = said["ElfHeader"]
    assert (image.machine, image.flags) == (header["Machine"]["Value"], header["Flags"]["Value"])
    assert (image.osabi, image.abi_version) == (header["Ident"]["OS/ABI"]["Value"], header["Ident"]["ABIVersion"])
    assert image.entry == header["Entry"]
    expected = [item["Section"] for item in said["Sections"]]
    assert [section.name for section in image.sections] == [row["Name"]["Name"] for row in expected]
    numbers = ("Address", "Offset", "Size", "Link", "Info", "AddressAlignment", "EntrySize")
    for section, row in zip(image.sections, expected, strict=True):
        ours = section.header
        assert [ours.address, ours.offset, ours.size, ours.link, ours.info, ours.align, ours.entry_size] == [
            row[name] for name in numbers
        ]
        assert (section.type, section.flags) == (row["Type"]["Value"], row["Flags"]["Value"])
        assert section.type_name in row["Type"]["Name"]
    symbols = [item["Symbol"] for item in said["Symbols"]]
    moved = {section.index: section.moved for section in image.sections}
    assert [
        (s.name, s.value - moved.get(s.section_index, 0), s.size, s.bind_number, s.type_number, s.section_index)
        for s in image.symbols()
    ] == [
        (
            row["Name"]["Name"],               row["Value"],                      row["Size"],
            row["Binding"]["Value"],           row["Type"]["Value"],              row["Section"]["Value"],
        )
        for row in symbols
    ]  # fmt: skip
    assert image.problems == []


def test_a_linked_code_object_reads_like_llvms(linked, require_tool):
    assert_same_as_readobj(linked, require_tool)


def test_a_relocatable_code_object_reads_like_llvms(unlinked, require_tool):
    assert_same_as_readobj(unlinked, require_tool)


def test_a_host_object_reads_like_llvms(tmp_path, require_tool):
    source, out = tmp_path / "a.c", tmp_path / "a.o"
    source.write_text(
        "_Thread_local int t; static int f(int x) { return x + t; } int main(void) { return f(3); }", "utf-8"
    )
    run(require_tool("gcc", "cc"), "-g", "-ffunction-sections", "-c", source, "-o", out)
    assert_same_as_readobj(out, require_tool)


def test_a_kernel_is_found_by_address(linked):
    image = open_image(linked)
    kernel = image.symbol_named("k1")
    assert (kernel.type, kernel.section.name) == ("FUNC", ".text")
    assert image.symbol_at(kernel.value + 8).name == "k1"
    assert image.read(kernel.value, 4) == image.symbol_bytes(kernel, 4)


def test_a_stripped_file_has_its_dynamic_symbols(linked, require_tool, tmp_path):
    out = tmp_path / "stripped.co"
    run(require_tool("llvm-objcopy-22"), "--strip-all", linked, out)
    image = open_image(out)
    assert image.symbol_named("k1.kd").size == 64
    assert {".debug_info", ".symtab", ".debug_frame"} <= {item.what for item in missing_parts(image)}


def test_split_units_have_sections_of_their_own(tmp_path, require_tool):
    source = tmp_path / "a.c"
    source.write_text("int f(int x) { return x; }", "utf-8")
    command = [require_tool("clang-22"), "-g", "-gdwarf-5", "-gsplit-dwarf", "-c", source, "-o", tmp_path / "a.o"]
    run(*command, folder=tmp_path)
    image = open_image(tmp_path / "a.dwo")
    assert image.section(".debug_info.dwo").data
    assert image.section(".debug_info") is None
    assert ".debug_info" not in {item.what for item in missing_parts(image)}


def test_a_summary_says_what_is_missing(linked, unlinked):
    image = open_image(linked)
    assert (code_object_version(image), target_name(image)) == (6, "amdgcn-amd-amdhsa--gfx90a")
    assert [item.what for item in missing_parts(image)] == [".debug_names"]
    image = open_image(unlinked)
    assert "addresses" in {item.what for item in missing_parts(image)}
    assert section_info(image, image.section(".debug_info")).relocated_by == (".rela.debug_info",)


BIAS = 0x7F0000000000
TEXT, DATA, DYNAMIC = 0x1000, 0x2000, 0x3000
RELATIVE64, ABS64, ABS32_LO, ABS32_HI, REL64, GOTPCREL, ABS32, NONE = 13, 3, 1, 2, 5, 7, 6, 0


def built(rows, *, symbols=(), data=bytes(64), machine=224, extra=(), memory_size=None, **options) -> Image:
    """A file with a text and a data segment, and dynamic relocations: (offset, type, symbol, addend)."""
    elf = ElfBuilder(machine=machine, **options)
    rela = struct.pack("<" + "QQq" * len(rows), *(n for o, t, s, a in rows for n in (o, s << 32 | t, a)))
    names = b"".join(struct.pack("<IBBHQQ", 0, 0x11, 0, *each, 0) for each in ((0, 0), *symbols))
    text = elf.section(".text", b"code" + rela + names, address=TEXT, flags=6)
    content = elf.section(".data", data, address=DATA, flags=3)
    entries = [(7, TEXT + 4), (8, len(rela)), (6, TEXT + 4 + len(rela)), *extra, (0, 0), (7, 99)]
    dynamic = elf.section(
        ".dynamic", struct.pack("<" + "QQ" * len(entries), *(n for e in entries for n in e)), address=DYNAMIC
    )
    elf.segment(1, TEXT, text)
    elf.segment(1, DATA, content, memory_size=memory_size)
    elf.segment(2, DYNAMIC, dynamic)
    return open_image(elf.build())


def data_of(image: Image, bias: int = BIAS) -> bytes:
    return load(image, bias)[bias + DATA]


def test_segments_are_moved_and_filled_with_zeros():
    image = built((), data=b"abc", memory_size=10)
    segments = load(image, BIAS)
    assert [*segments] == [BIAS + TEXT, BIAS + DATA]
    assert segments[BIAS + TEXT].startswith(b"code")
    assert segments[BIAS + DATA] == b"abc" + bytes(7)
    assert span(image) == (TEXT, DATA + 10 - TEXT, 1)


@for_each("name", "launch.gfx90a.w64.O2.co", "cl-kernels.gfx1100.w32.O2.v5.co", "launch.gfx1200.w32.O2.co")
def test_a_loaded_file_is_what_the_file_says(name):
    image = open_image(str(ROOT / "fixtures/amdgpu" / name))
    for address, data in load(image, 0).items():
        assert data == image.read(address, len(data))


def test_relocations_of_fixtures_are_applied(require_tool):
    path = ROOT / "fixtures/amdgpu/hip-kernels.gfx1100.w32.O0.v5.co"
    tool = require_tool("llvm-readelf-22", "readelf")
    text = subprocess.run([tool, "-rW", path], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^([0-9a-f]{16})\s+\S+\s+R_AMDGPU_RELATIVE64\s+([0-9a-f]+)", text, re.MULTILINE)
    assert len(rows) == 2
    segments = load(open_image(str(path)), BIAS)
    for offset, addend in rows:
        place = int(offset, 16) + BIAS
        address, data = next(each for each in segments.items() if 0 <= place - each[0] < len(each[1]))
        assert int.from_bytes(data[place - address :][:8], "little") == int(addend, 16) + BIAS


SYMBOLS = ((1, 0x1234),)


@for_each("row, size, expected",
    ((DATA + 8, RELATIVE64, 0, 0x55), 8, BIAS + 0x55),        ((DATA + 8, ABS64, 1, 4), 8, BIAS + 0x1238),
    ((DATA + 8, ABS64, 0, 4), 8, BIAS + 4),
    ((DATA + 8, ABS32_LO, 1, 0), 4, (BIAS + 0x1234) & 0xFFFFFFFF),
    ((DATA + 8, ABS32_HI, 1, 0), 4, (BIAS + 0x1234) >> 32),   ((DATA + 8, REL64, 1, 0), 8, (0x1234 - DATA - 8) % 2**64),
    ((DATA + 8, NONE, 1, 0), 8, 0),
    ((DATA + 8, RELATIVE64, 0, -BIAS - 1), 8, 2**64 - 1))  # fmt: skip
def test_each_relocation(row, size, expected):
    data = data_of(built([row], symbols=SYMBOLS))
    assert int.from_bytes(data[8 : 8 + size], "little") == expected
    assert data[:8] == bytes(8)
    assert data[8 + size :] == bytes(56 - size)


def test_the_table_of_calls_is_applied_too():
    image = built([(DATA, RELATIVE64, 0, 7)], extra=[(23, TEXT + 4), (2, 24)])
    assert data_of(image)[:8] == (BIAS + 7).to_bytes(8, "little")


@for_each("row, options, kind",
    ((DATA, GOTPCREL, 1, 0), {}, "bad_relocation"),                      ((DATA, 200, 1, 0), {}, "bad_relocation"),
    ((DATA, ABS64, 1, 0), {"symbols": ((0, 0),)}, "undefined_symbol"),   ((DATA, ABS64, 1000, 0), {}, "not_mapped"),
    ((DATA + 60, ABS64, 0, 0), {}, "not_mapped"), ((0x9000, RELATIVE64, 0, 0), {}, "not_mapped"),
    ((DATA, ABS32, 1, 0), {}, "overflow"),        ((DATA, ABS64, 1, 0), {"machine": 3}, "bad_relocation"))  # fmt: skip
def test_a_relocation_that_cannot_be_applied(row, options, kind):
    assert raised(DwarfGpuError, load, built([row], **{"symbols": SYMBOLS, **options}), BIAS).kind == kind


def test_a_file_that_is_not_linked():
    image = open_image(str(ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.o"))
    assert "a file that is not linked cannot be loaded" in str(raised(UsageError, load, image, 0))


def test_nothing_to_load():
    assert "the file has no segments to load" in str(raised(DwarfGpuError, load, open_image(ElfBuilder().build()), 0))


@for_each("size, message", (1 << 40, "more than 268435456 bytes"), (2, "more bytes in the file than in memory"))
def test_sizes_that_cannot_be(size, message):
    with pytest.raises(DwarfGpuError, match=message):
        load(built((), memory_size=size), 0)


def test_segments_that_overlap():
    elf = ElfBuilder()
    one = elf.section(".one", bytes(32), address=0x1000)
    elf.segment(1, 0x1000, one)
    elf.segment(1, 0x1010, one)
    assert "the segments at 0x1000 and 0x1010 overlap" in str(raised(DwarfGpuError, load, open_image(elf.build()), 0))


@pytest.mark.parametrize("address, align", [(1 << 50, 1), (0x1000, 3), (0x1000, 1 << 60)])
def test_segments_that_are_far_apart_or_aligned_strangely(address, align):
    elf = ElfBuilder()
    one = elf.section(".one", bytes(32), address=0x10)
    elf.segment(1, 0x10, one)
    elf.segment(1, address, one)
    data = bytearray(elf.build())
    (headers,) = struct.unpack_from("<Q", data, 32)
    struct.pack_into("<Q", data, headers + 48, align)  # p_align of the first
    assert "are not loaded" in str(raised(DwarfGpuError, span, open_image(bytes(data))))


def test_a_truncated_file():
    path = ROOT / "fixtures/amdgpu/launch.gfx90a.w64.O2.co"
    with pytest.raises(DwarfGpuError, match="reaches past the end of the file"):
        load(open_image(path.read_bytes()[:9000]), 0)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**64 - 1), st.integers(0, 20), st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)])
    )
)
def test_any_relocations_are_applied_or_refused(rows):
    try:
        load(built(rows, symbols=SYMBOLS), BIAS)
    except DwarfGpuError as error:
        assert error.kind in {"bad_relocation", "undefined_symbol", "not_mapped", "overflow"}  # noqa: PT017
