"""Broken files: what is broken in one place hides nothing else, and a file that is cut shows what is before the cut."""

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.lists.list_encoding import ListContext, read_list
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_lookup import at_address, line_table, named
from dwarfgpu.program.code.code_object import list_contents, opened
from dwarfgpu.program.code.file_summary import summary
from tests.builders.dwarf import build, die, entry, unit
from tests.builders.elf import ElfBuilder
from tests.builders.lines import program, table
from tests.builders.lists import loclist, rnglist, table_of_lists
from tests.builders.parameters import few_or_all
from tools import fuzz_drives
from tools.fixtures import FOLDER

LINES = table(program(("set_address", 0x1000), ("advance_line", 6), "copy", ("advance_pc", 8), "end_sequence"))


def object_with(*units, lines=LINES, extra=None):
    """A linked file with some units, each with its code at 0x1000."""
    builder = ElfBuilder()
    builder.section(".text", bytes(64), flags=0x6, address=0x1000)
    for name, data in {**build(*units, extra=extra).sections, ".debug_line": lines}.items():
        builder.section(name, data)
    return opened(builder.build())


def unit_with(*parts, name="f", lines=("stmt_list", "sec_offset", 0)):
    function = entry("subprogram", name, *parts, low_pc=0x1000, high_pc=8)
    return unit(die("compile_unit", lines, function))


@pytest.mark.parametrize("form, value", [("string", "x"), ("block1", b"\0"), ("flag_present", True)])
def test_where_the_lines_are_is_said_by_a_number(form, value):
    code = object_with(unit_with(lines=("stmt_list", form, value)))
    found = at_address(code, 0x1004)

    assert (found.unit_offset, found.source, found.frames[0].function) == (0, None, "f")
    assert {error.kind for error in code.problems} == {"bad_class"}


def test_a_broken_line_table_hides_neither_functions_nor_names():
    code = object_with(unit_with(), lines=LINES[:4] + b"\x09" + LINES[5:])

    assert at_address(code, 0x1004).frames[0].function == "f"
    assert [each.kind for each in named(code, "f")] == ["function"]
    assert {error.kind for error in code.problems} == {"line_version"}


def test_a_broken_call_hides_neither_the_line_nor_the_unit():
    code = object_with(
        unit_with(entry("inlined_subroutine", None, ("call_line", "string", ""), low_pc=0x1000, high_pc=8))
    )
    found = at_address(code, 0x1004)

    assert (found.unit_offset, found.source.line) == (0, 7)
    assert [(frame.inlined, frame.source and frame.source.line) for frame in found.frames] == [(True, 7), (False, None)]
    assert {error.kind for error in code.problems} == {"bad_class"}


def test_units_share_what_is_read_of_a_line_table():
    code = object_with(unit_with(name="f"), unit_with(name="g"))
    first, second = (line_table(code, each) for each in code.dwarf.units)

    assert first is second


def test_a_broken_list_hides_neither_other_lists_nor_entries():
    lists = table_of_lists(loclist(("start_end", 1, 2, "50")), loclist(("start_end", 3, 4, "51"), "end_of_list"))
    ranges = table_of_lists(rnglist(("start_end", 9, 8)), rnglist(("start_end", 0x1000, 0x1008), "end_of_list"))
    bases = (("loclists_base", "sec_offset", 12), ("rnglists_base", "sec_offset", 12))
    parts = [
        entry("subprogram", name, ("ranges", "rnglistx", index), ("frame_base", "loclistx", index))
        for name, index in (("lost", 7), ("broken", 0), ("good", 1))
    ]
    code = object_with(
        unit(die("compile_unit", *bases, ("low_pc", "addr", 0), *parts)),
        extra={".debug_loclists": lists, ".debug_rnglists": ranges},
    )
    (one,) = code.dwarf.units
    lost, broken, good = one.root.children()

    for each in (lost, broken):
        with pytest.raises(DwarfGpuError):
            each.ranges()
    assert good.ranges() == [(0x1000, 0x1008)]
    section, offset = good.get("DW_AT_frame_base").list_place()
    context = ListContext(8, "little", 0)
    assert [each.start for each in read_list(lists, offset, section=section, context=context).entries] == [3]
    section, offset = broken.get("DW_AT_frame_base").list_place()
    assert read_list(lists, offset, section=section, context=context).entries[0].start == 1
    assert [each.function for each in at_address(code, 0x1004).frames] == ["good"]
    assert [(each.name, each.ranges) for each in named(code, "broken")] == [("broken", ())]
    assert [(each.name, each.declared) for each in named(code, "lost")] == [("lost", None)]


def test_a_broken_kernel_hides_no_other():
    name = "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
    good = open_image(str(FOLDER / name))
    data = bytearray((FOLDER / name).read_bytes())
    symbols = [symbol for symbol in good.symbols() if symbol.name.endswith(".kd")]
    assert len(symbols) > 2
    section = next(each for each in good.sections if each.name == ".symtab")
    place = section.offset + 24 * symbols[1].index + 8  # st_value
    data[place : place + 8] = (1 << 60).to_bytes(8, "little")
    kernels = opened(bytes(data)).kernels

    assert len(kernels.kernels) == len(symbols)
    assert [kernel.descriptor is None for kernel in kernels.kernels].count(True) == 1
    assert [error.kind for error in kernels.problems] == ["truncated"]


CUT = [
    "asm/forms.gfx90a.w64.o",
    "asm/lists-dwarf64.gfx90a.w64.co",
    "asm/operations.powerpc",
    "containers/fatbin-two.x86_64",
    "containers/hip-program-compressed.x86_64",
    "features/debug-names.v5.co",
    "features/split.v5.dwo",
    "features/two-units.v5.dwp",
    "features/zstd.v5.co",
    "host/strict.gcc.v2.x86_64",
]


FEW = 4
"""Of so many sizes one is tried in each run of the tests, and all of them in a slow one."""


def boundaries(data, size):
    """Where a section begins or ends, and a byte before and after; only those before a size."""
    image = open_image(data)
    found = {edge for each in image.sections for edge in (each.offset, each.offset + each.size)}
    found |= {image.header.section_offset, image.header.segment_offset, 16, 64}
    return sorted({edge + step for edge in found for step in (-1, 0, 1) if 0 <= edge + step < size})


def with_headers_first(data):
    """The same file with its section headers and their names behind the ELF header, and all else moved on."""
    image = open_image(data)
    header, layout = image.header, image.layout
    start, rows = 16 + layout.header.size, header.section_stride * header.section_count
    names = image.sections[header.names_index].data
    size = rows + len(names)
    out = bytearray(data[:start] + data[header.section_offset :][:rows] + names + data[start:])
    fields = list(layout.header.unpack_from(data, 16))
    fields[4] += size if fields[4] else 0  # e_phoff
    fields[5] = start  # e_shoff
    layout.header.pack_into(out, 16, *fields)
    for section in image.sections[1:]:
        row = start + section.index * header.section_stride
        values = list(layout.section.unpack_from(out, row))
        values[4] = start + rows if section.index == header.names_index else values[4] + size  # sh_offset
        layout.section.pack_into(out, row, *values)
    return bytes(out)


def drive(data):
    for opener in fuzz_drives.images(data):
        for ask in fuzz_drives.DRIVES.values():
            ask(opener())


@pytest.mark.parametrize("name", CUT)
@few_or_all(FEW)
def test_a_file_that_is_cut_at_any_section_is_read_as_far_as_it_goes(name, every):
    data = (FOLDER / name).read_bytes()
    whole = open_image(data)
    for size in boundaries(data, len(data))[::every]:
        drive(data[:size])
        try:
            image = open_image(data[:size])
        except DwarfGpuError:
            assert size < 64
            continue
        assert summary(opened(data[:size])).problems  # the section headers are last in all of these
        for section in image.sections:
            assert section.name == "" or section.raw == whole.sections[section.index].raw


@pytest.mark.slow
@pytest.mark.parametrize("name", CUT)
@few_or_all(FEW)
def test_what_is_before_a_cut_is_read(name, every):
    """The section headers and their names are put first, where they may stand as well."""
    data = (FOLDER / name).read_bytes()
    moved = with_headers_first(data)
    whole = open_image(moved)
    assert [each.data for each in whole.sections] == [each.data for each in open_image(data).sections]
    assert [each.name for each in whole.sections] == [each.name for each in open_image(data).sections]
    units = opened(moved).dwarf.units_of(".debug_info")
    for size in boundaries(moved, len(moved))[::every]:
        try:
            image = open_image(moved[:size])
        except DwarfGpuError:
            assert size < 64
            continue
        if size % 5 == 0:  # for some, because it takes long
            drive(moved[:size])
        if len(image.sections) < len(whole.sections):
            assert image.problems
            continue
        there = set()
        for section in image.sections:
            content, error = section.partial()
            needed = [section, *image.relocation_sections(section.index)]
            needed += [image.sections[each.header.link] for each in needed[1:]]
            if all(each.offset + each.size <= size or each.type_name == "NOBITS" for each in needed):
                assert (content, error) == (whole.sections[section.index].data, None)
                there.add(section.name)
            else:
                assert error.kind == "truncated"
                assert content in (b"", moved[section.offset : size])
        if {".debug_info", ".debug_abbrev"} <= there:
            found = opened(moved[:size]).dwarf.units_of(".debug_info")
            assert [each.header for each in found] == [each.header for each in units]


@pytest.mark.parametrize("name", ["containers/plain.hipfb", "containers/offload.bin"])
def test_a_container_that_is_cut_lists_what_is_before(name):
    data = (FOLDER / name).read_bytes()
    whole = list_contents(data).entries
    for part in whole:
        for size in (part.offset + part.size + step for step in (-1, 0, 1)):
            readable = [each.id for each in list_contents(data[:size]).entries if each.format == "elf"]
            assert readable == [each.id for each in whole if each.format == "elf" and each.offset + each.size <= size]
