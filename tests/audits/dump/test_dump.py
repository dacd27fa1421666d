import json
import re
import subprocess

import pytest

from dwarfgpu.audits.dump import sections
from dwarfgpu.audits.dump.entries import EntryDump, EntrySelection, Lists, ShownEntry, ShownUnit, tag_number
from dwarfgpu.audits.dump.parts import SectionPart, Table
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.expr import asm
from dwarfgpu.objfile.list_encoding import matching
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.dumped_expressions import DumpedExpression
from dwarfgpu.render import dump as render_entries
from dwarfgpu.render import dump as render_parts
from dwarfgpu.render.layout import plain
from tests.builders.commands import run
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.parameters import every, for_each, some_slow

HIP = "amdgpu/hip-kernels.gfx1100.w32.O2.v5.co"
HOST = "host/optimized.gcc.O2.v5.x86_64"


def file(name: str) -> CodeObject:
    return opened(str(FIXTURES / name))


def entries(name: str | CodeObject, **selection) -> list[ShownEntry]:
    found = file(name) if isinstance(name, str) else name
    return [item for item in EntryDump(found, EntrySelection(**selection)) if isinstance(item, ShownEntry)]


def parts(name: str, section: str, **options):
    return list(sections.SectionDump(file(name), **options).parts(section))


def attribute(entry: ShownEntry, name: str):
    return next(each for each in entry.attributes if each.name == name)


@for_each("name", HIP, HOST, "features/types.v4.co", "asm/forms.powerpc64", "features/two-units.v5.dwp")
def test_every_entry_is_shown_once_with_its_owner(name):
    code = file(name)
    expected = []
    for unit in (*code.dwarf.units, *code.dwarf.split_units):
        for die, depth in unit.root.walk():
            owner = die.parent()
            expected.append((unit.section, die.section_offset, depth, owner and owner.section_offset, die.tag_name))
    assert [(each.section, each.offset, each.depth, each.parent, each.tag) for each in entries(name)] == expected


def test_a_skeleton_is_followed_by_what_it_stands_for():
    heads = [item for item in EntryDump(file("features/split.v5.co"), EntrySelection()) if isinstance(item, ShownUnit)]
    assert [(head.kind, head.section) for head in heads] == [("skeleton", ".debug_info"), ("split", ".debug_info.dwo")]
    assert heads[0].dwo_id == heads[1].dwo_id
    assert heads[1].file.endswith("split.v5.dwp")


def test_what_values_mean():
    found = {each.offset: each for each in entries(HIP)}
    unit, variable = found[0xC], found[0x39]
    assert attribute(unit, "DW_AT_language").note == "DW_LANG_C_plus_plus_14"
    assert attribute(unit, "DW_AT_high_pc").note == "0x253c"
    assert attribute(unit, "DW_AT_stmt_list").detail.section == ".debug_line"
    assert attribute(variable, "DW_AT_type").note == "int"
    assert attribute(variable, "DW_AT_decl_file").note == "src/hip/kernels.hip"
    location = attribute(variable, "DW_AT_location").detail
    assert location.text == "DW_OP_addrx 1; DW_OP_lit1; DW_OP_swap; DW_OP_xderef"
    assert location.notes == ("index 1: 0x4770", "address space 1: generic")


@for_each(
    "name, register", (HIP, "v0"), (HIP.replace("w32", "w64"), "v0"), (HIP.replace("gfx1100.w32", "gfx90a.w64"), "v0")
)
def test_registers_have_the_names_of_their_wave_size(name, register):
    text = json.dumps([render_entries.entry_json(each) for each in entries(name)])
    assert f"DW_OP_bregx {register}+0" in text
    assert not re.search(r"DW_OP_b?regx \d", text)


def test_a_register_of_the_other_wave_size_is_explained():
    code = file(HIP)
    dump = EntryDump(code, EntrySelection())
    assert dump.code.read(bytes.fromhex("90800c"), code.dwarf.units[0].format, "x", 0) == DumpedExpression(
        bytes.fromhex("90800c"), ("DW_OP_regx v0",), (), None
    )
    other = dump.code.read(bytes.fromhex("908114"), code.dwarf.units[0].format, "x", 0)
    assert (other.text, other.notes) == ("DW_OP_regx 2561", ("register 2561: v1 of waves of 64 lanes",))
    none = dump.code.read(bytes.fromhex("90ffff7f"), code.dwarf.units[0].format, "x", 0)
    assert none.notes == ("register 2097151: amdgcn-gfx1100-wave32 has no such register",)


def test_operations_that_are_not_known_stand_as_bytes():
    found = entries("asm/operations-legacy.gfx90a.w64.co")
    codes = [each.detail for entry in found for each in entry.attributes if isinstance(each.detail, DumpedExpression)]
    broken = [code for code in codes if code.error is not None]
    assert broken
    assert all(code.operations[-1].startswith("(undecoded: ") for code in broken)
    known = EntryDump(file("asm/operations-legacy.gfx90a.w64.co"), EntrySelection(), "llvm-legacy")
    codes = [each.detail for entry in known if isinstance(entry, ShownEntry) for each in entry.attributes]
    assert not any(isinstance(code, DumpedExpression) and code.error is not None for code in codes)


@every(name=[HIP, HOST, "asm/operations.gfx90a.w64.co", "asm/lane-pc.gfx1100.w32.co"], width=[34, 80])
def test_the_assembler_reads_what_is_shown(name, width):
    code = file(name)
    dump = EntryDump(code, EntrySelection())
    form = code.dwarf.units[0].format
    shown = [each.detail for entry in dump if isinstance(entry, ShownEntry) for each in entry.attributes]
    codes = [each for each in shown if isinstance(each, DumpedExpression) and each.data]
    assert codes
    for each in codes:
        text = "\n".join(render_entries.code_text(each, width))
        data = asm.assemble(text, dump.code.dialect, form, target=dump.code.target)
        assert dump.code.read(data, form, "", 0).operations == each.operations  # a number may have been padded


def test_references_into_other_units_and_files():
    types = [
        each
        for each in entries("features/types.v5.co")
        if each.section == ".debug_info" and any(a.form == "DW_FORM_ref_sig8" for a in each.attributes)
    ]
    assert types
    assert all(attribute(each, "DW_AT_signature").note for each in types)


@every(depth=[None, 0, 1, 2], tag=["subprogram", "lexical_block", "DW_TAG_formal_parameter"])
def test_a_tag_selects_entries_with_all_that_is_below(tag, depth):
    """Compared with what the words say: an entry is shown if it, or one at most ``depth`` above it, has the tag."""
    code = file(HOST)
    expected = []
    for unit in code.dwarf.units:
        for die in unit.dies():
            chain = [die, *die.ancestors()]
            if any(each.tag_name.endswith(tag) and (depth is None or i <= depth) for i, each in enumerate(chain)):
                expected.append(die.section_offset)
    assert [each.offset for each in entries(HOST, tags=frozenset((tag_number(tag),)), depth=depth)] == expected
    assert expected


def test_one_entry_by_its_offset_and_by_any_name():
    code = file("features/types.v4.co")
    info, types = code.dwarf.units_of(".debug_info")[0], code.dwarf.units_of(".debug_types")[0]
    assert entries(code, entries=(f"{info.first:#x}",), depth=0)[0].tag == "DW_TAG_compile_unit"
    assert entries(code, entries=(f".debug_types+{types.first}",), depth=0)[0].tag == "DW_TAG_type_unit"
    for wrong, error in (("0x1", NotFound), ("0xffffff", NotFound), ("x", UsageError), ("+", UsageError)):
        raised(error, entries, code, entries=(wrong,))
    code = file(HIP)
    for name in ("gravity", "physics::gravity", "_ZN7physics7gravityE", "charge", "out", "State"):
        found = [each.offset for each in entries(code, names=(name,), depth=0)]
        last = name.split("::")[-1]
        expected = [die.section_offset for die in code.dwarf.units[0].dies() if last in (die.name, die.linkage_name)]
        assert found == expected, name
        assert found, name
    assert "no entry that is called nothing" in str(raised(NotFound, entries, code, names=("nothing",)))
    with pytest.raises(NotFound, match="is called gravity and is a DW_TAG_member"):
        entries(code, names=("gravity",), tags=frozenset((0x0D,)))


def test_an_address_selects_scopes_and_what_applies_in_lists():
    code = file(HOST)
    functions = [die for die in code.dwarf.units[0].dies() if die.tag_name == "DW_TAG_subprogram" and die.ranges()]
    checked = 0
    for function in functions:
        for low, high in function.ranges():
            for pc in (low, high - 1):
                found = entries(code, pc=pc)
                assert found[0].offset == function.section_offset
                expected = []
                for die, _ in function.walk():
                    scopes = [die, *die.ancestors()]
                    inside = scopes[: scopes.index(function) + 1]
                    if all(not each.ranges() or any(a <= pc < b for a, b in each.ranges()) for each in inside):
                        expected.append(die.section_offset)
                        checked += 1
                assert [each.offset for each in found] == expected
    assert checked > 100
    assert "no function has code at 0x1" in str(raised(NotFound, entries, code, pc=1))
    code = file(HOST)
    checked = 0
    whole = {each.offset: each for each in entries(code)}
    pc = 0x401050
    for entry in entries(code, pc=pc):
        for each in entry.attributes:
            if isinstance(each.detail, Lists) and each.kind == "loclist":
                full = attribute(whole[entry.offset], each.name).detail
                applying = [one for one in full.entries if one.start <= pc < one.end]
                assert [one.offset for one in each.detail.entries] == [one.offset for one in applying]
                checked += 1
    assert checked


def test_default_entries_apply_where_no_other_does():
    code = file("asm/lists.gfx90a.w64.co")
    dwarf = code.dwarf
    checked = 0
    for entry in entries(code):
        for each in entry.attributes:
            if not (isinstance(each.detail, Lists) and each.kind == "loclist"):
                continue
            for pc in range(0x1260, 0x1290, 4):
                die = dwarf.die_at(entry.offset)
                wanted = [one.offset for one in matching(_read(dwarf, die, each), pc)]
                shown = EntryDump(code, EntrySelection())
                from dwarfgpu.audits.dump.entries import UnitValues

                values = UnitValues(code, die.unit, shown.code, pc).shown(die)[die.get(each.name).index]
                if values.error is None:
                    assert [one.offset for one in values.detail.entries] == wanted
                    checked += 1
    assert checked > 20


def _read(dwarf, die, attribute):
    from dwarfgpu.objfile.list_encoding import ListContext, read_list

    unit = die.unit
    context = ListContext(unit.address_size, unit.format.byte_order, unit.low_pc, unit.tables.address)
    section, offset = attribute.detail.section, attribute.detail.offset
    return read_list(dwarf.source.data(section), offset, section=section, context=context).entries


def test_sections_and_tags_by_any_name():
    code = file("features/split.v4.o")
    assert sections.find_sections(code, ["line"]) == [".debug_line"]
    assert sections.find_sections(code, [".debug_line", "debug_line", "line"]) == [".debug_line"]
    assert sections.find_sections(code, ["info"]) == [".debug_info"]
    assert sections.find_sections(file("features/split.v5.dwo"), ["info"]) == [".debug_info.dwo"]
    assert sections.find_sections(file(HIP), ["all"])[0] == ".debug_info"
    for name in ("nope", "str", ".debug_abbrev", ".text", ".symtab"):
        error = raised(NotFound, sections.find_sections, code, [name])
        assert ".debug_line" in error.hint
        assert ".debug_str" not in error.hint
        assert error.hint.endswith("; llvm-readelf and llvm-dwarfdump print the other sections")
    assert tag_number("DW_TAG_variable") == tag_number("variable") == 0x34
    assert "variable" in raised(UsageError, tag_number, "variabel").hint
    with pytest.raises(UsageError, match="cannot be searched for an address"):
        parts("features/debug-names.v5.co", ".debug_names", pc=1)


def test_a_line_table_that_is_named_by_a_block_is_a_problem():
    data = bytearray((FIXTURES / "containers/hip-program.x86_64").read_bytes())
    form = opened(bytes(data)).image.section(".debug_abbrev").offset + 12
    assert data[form - 1] == 0x10  # DW_AT_stmt_list
    data[form] = 0x0A  # DW_FORM_block1
    code = opened(bytes(data))
    (table,) = sections.SectionDump(code).parts(".debug_line")
    assert table.title == "line table, version 5"
    assert any("an attribute of the unit entry is not a number" in str(problem) for problem in code.problems)


def test_tables_of_lines_names_and_addresses():
    (part,) = parts(HIP, ".debug_line")
    rows = list(part.tables[2].rows)
    code = file(HIP)
    from dwarfgpu.program.code.code_lookup import line_table

    table = line_table(code, code.dwarf.units[0])
    assert [row[:4] for row in rows] == [(row.address, row.line, row.column, row.file) for row in table.rows]
    assert rows[-1][-1].endswith("end_sequence")
    (at,) = parts(HIP, ".debug_line", pc=0x1C06)
    assert [row[:2] for row in at.tables[2].rows] == [(0x1C04, 90)]
    raised(NotFound, parts, HIP, ".debug_line", pc=1)
    (names,) = parts("features/debug-names.v5.co", ".debug_names")
    code = file("features/debug-names.v5.co")
    for name, _, tag, _, die, _, _ in names.tables[0].rows:
        found = code.dwarf.die_at(die)
        assert found.tag_name == tag
        assert name in (found.name, found.linkage_name, "(anonymous namespace)")
    (ranges,) = parts("features/aranges.v5.co", ".debug_aranges")
    assert (0x1C00, 0x29C0) in ranges.tables[0].rows
    (one,) = parts("features/aranges.v5.co", ".debug_aranges", pc=0x1C00)
    assert list(one.tables[0].rows) == [(0x1C00, 0x29C0)]


@for_each("name, section",
    (HIP, ".debug_loclists"),                                (HIP, ".debug_rnglists"),
    (HIP.replace("v5", "v4"), ".debug_loc"),                 (HIP.replace("v5", "v4"), ".debug_ranges"),
    ("asm/lists-dwarf64.gfx90a.w64.co", ".debug_loclists"),  ("asm/lists.powerpc", ".debug_loclists"),
    (HOST, ".debug_loclists"),                               ("features/split.v4.dwo", ".debug_loc.dwo"))  # fmt: skip
def test_every_list_that_an_entry_leads_to(name, section):
    """Each has the entries that the attribute shows, whose base addresses and views are left out there."""
    lists = {part.offset: list(part.tables[0].rows) for part in parts(name, section) if part.title.endswith("list")}
    led = [
        each.detail
        for entry in entries(name)
        for each in entry.attributes
        if isinstance(each.detail, Lists) and each.detail.section == section
    ]
    assert led
    for each in led:
        rows = {row[0]: row for row in lists[each.offset]}
        for one in each.entries:
            assert rows[one.offset][3:5] == (one.start, one.end)
    assert set(lists) >= {each.offset for each in led}


def test_lists_that_nothing_leads_to():
    elf = ElfBuilder()
    header = bytes.fromhex("05000800") + bytes(4)
    lists = bytes.fromhex("08") + (0x1000).to_bytes(8, "little") + bytes.fromhex("10 01 50 00 05 01 51 00")
    elf.section(".debug_loclists", len(header + lists).to_bytes(4, "little") + header + lists)
    elf.section(".debug_info", bytes.fromhex("01"))
    found = list(sections.SectionDump(opened(elf.build())).parts(".debug_loclists"))
    expected = [("location list table", 0), ("location list", 12), ("location list", 25)]
    assert [(part.title, part.offset) for part in found] == expected
    assert [row[3:5] for row in found[1].tables[0].rows] == [(0x1000, 0x1010)]


def test_a_broken_unit_hides_no_other():
    code = file("features/two-units.v5.dwp")
    whole = len(entries(code))
    data = bytearray((FIXTURES / "features/two-units.v5.dwp").read_bytes())
    section = code.image.section(".debug_info.dwo")
    unit = code.dwarf.split_units[0]
    data[section.offset + unit.offset + unit.first] = 0x7F  # an abbreviation that is not there
    broken = opened(bytes(data))
    assert 0 < len(entries(broken)) < whole
    assert broken.problems


def test_an_attribute_that_means_nothing_stands_with_its_error():
    code = file(HIP)
    die = code.dwarf.die_at(0x2D)
    data = bytearray((FIXTURES / HIP).read_bytes())
    at = code.image.section(".debug_info").offset + die.offset + 2  # DW_AT_type, DW_FORM_ref4
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    (entry,) = entries(opened(bytes(data)), entries=("0x2d",))
    assert attribute(entry, "DW_AT_type").error.kind == "bad_reference"
    assert attribute(entry, "DW_AT_name").value == "gravity"
    assert any("no entry begins" in line for line in render_entries.EntryTexts().text(entry).split("\n"))


READABLE = re.compile(r"\.(co|o|dwo|dwp|x86_64|debug|powerpc|powerpc64|i386)$")
ALL = sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.glob("*/*") if READABLE.search(path.name))
SOME = [name for name in ALL if name.startswith(("asm/", "features/", "host/")) or ".O2.v5" in name]


def whole(name: str) -> CodeObject:
    """Dump all of a file as text and as JSON; every line is fit for a terminal."""
    code = file(name)
    lines: list[str] = []
    chosen = sections.find_sections(code, ["all"]) if code.has_dwarf else []
    if any(sections.base_name(each) in sections.ENTRIES for each in chosen):
        for item in EntryDump(code, EntrySelection()):
            if isinstance(item, ShownUnit):
                texts = render_entries.EntryTexts()
                lines += render_entries.unit_text(item)
                json.dumps(plain(item))
            else:
                lines += texts.text(item).split("\n")
                json.dumps(render_entries.entry_json(item))
    dump = sections.SectionDump(code)
    for each in chosen:
        if sections.base_name(each) not in sections.ENTRIES | sections.FRAMES:
            for part in dump.parts(each):
                lines += render_parts.part_text(part)
            for part in dump.parts(each):
                json.dumps(render_parts.part_json(part))
    assert all(line.isprintable() for line in lines)
    long = [line for line in lines if len(line) > 80 and len(line.split()) > 6]
    assert len(long) <= len(lines) / 20, long[:5]
    return code


@pytest.mark.parametrize("name", some_slow(ALL, quick=SOME))
@pytest.mark.sampled(6)
def test_all_of_a_file(name):
    code = whole(name)
    if not name.endswith((".dwo", ".dwp", ".i386.o")):
        assert [str(error) for error in code.problems] == []


@pytest.mark.slow
def test_names_select_what_llvm_dwarfdump_finds(require_tool):
    """Of both by name; that tool looks at the entry's own name alone."""
    tool = require_tool("llvm-dwarfdump-22", "llvm-dwarfdump")
    code = file(HIP)
    for name in ("gravity", "State", "charge", "main", "out", "i", "_Z6spacesPii"):
        command = [tool, "--name", name, str(FIXTURES / HIP)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        offsets = [int(match, 16) for match in re.findall(r"^(0x[0-9a-f]+): ", text, re.MULTILINE)]
        try:
            found = [each.offset for each in entries(code, names=(name,), depth=0)]
        except DwarfGpuError:
            found = []
        assert set(offsets) <= set(found), name


def test_long_texts_are_cut_where_people_read_them():
    from dwarfgpu.audits.dump.entries import ShownAttribute

    long = ShownAttribute("DW_AT_name", "DW_FORM_string", "string", "word " * 20_000)
    lines = render_entries.attribute_text(long, 40)
    assert len(lines) < 80
    assert lines[-1].endswith('(100000 characters)"')
    assert render_entries.attribute_json(long)["value"] == long.value


def test_lists_that_overlap_have_a_limit():
    """A section of a few thousand bytes could ask for millions of entries."""
    section = file("host/optimized.gcc.O2.v5.x86_64").image.section(".debug_loclists")
    data = bytearray((FIXTURES / HOST).read_bytes())
    entry = bytes.fromhex("04000001 00")  # DW_LLE_offset_pair, and one byte that is no operation
    begin = section.offset + 0xE
    stop = section.offset + section.size
    data[begin:stop] = (entry * section.size)[: stop - begin]
    shown = [each for entry in entries(opened(bytes(data))) for each in entry.attributes if each.kind == "loclist"]
    assert any(each.error is not None and each.error.kind == "limit_exceeded" for each in shown)
    assert sum(len(each.detail.entries) for each in shown if isinstance(each.detail, Lists)) <= section.size


def test_rows_of_numbers_are_written_as_any_others(monkeypatch):
    """A table whose cells before the last one are numbers is written by one format, but for rows that are otherwise."""
    columns = "address:address line:number isa:rare flags:text"
    rows = [(number, number * 3, number % 2, "is_stmt" * (number % 3)) for number in range(300)]
    rows += [(None, 1, 0, "x"), (1 << 64, None, 0, ""), (5, 6, 7, None), (5, 6, 7, "word " * 30), (5, 6, 7, "\x1b[2J")]
    part = SectionPart(".debug_line", 0, "line table", {}, (Table("rows", columns, rows),))
    quick = list(render_parts.part_text(part))
    monkeypatch.setattr("dwarfgpu.render.dump._row_template", lambda *_: None)
    assert quick == list(render_parts.part_text(part))
    assert len(quick) > 305


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_files_of_entries_are_joined_to_the_compilation_directory(version, tmp_path, require_tool):
    """Before version 5 the line table does not repeat the directory, which the unit names."""
    (tmp_path / "x.c").write_text("int f(int a) { return a + 1; }\n")
    words = [require_tool("gcc"), "-c", f"-gdwarf-{version}", "-gstrict-dwarf", "x.c", "-o", "x.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    text = run("dump", str(tmp_path / "x.o"), "--name", "f").stdout
    assert set(re.findall(r"DW_AT_decl_file\s+\d+\s+\(([^)]*)\)", text)) == {f"{tmp_path}/x.c"}
