"""Whatever pyelftools can read of the fixtures, both readers read alike; where it cannot, `REASONS` says why."""

import re
from collections import Counter
from functools import partial

import pytest
from elftools.dwarf.callframe import CIE, FDE
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG
from elftools.dwarf.locationlists import LocationParser

from dwarfgpu.elftools import Bridge
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.list_encoding import ListContext, read_list
from dwarfgpu.program.code.code_lookup import line_table
from dwarfgpu.program.code.code_object import list_contents
from dwarfgpu.states.program import open_program
from tests.builders.folders import ROOT

TEXTS = {".md", ".toml", ".s", ".S", ".c", ".h", ".cpp", ".hip", ".cl", ".py", ".ll", ".txt", ".json", ".sh", ".cu"}
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{16}\b|\d+")
REASONS = {
    ("sections", "ELFRelocationError: Unsupported relocation type: N"): "it knows no relocations of AMDGPU",
    ("sections", "ELFCompressionError: Unknown compression type: N"): "it knows no zstd",
    ("section", ".eh_frame"): "it makes zeros of a section that is not in a debug file (SHT_NOBITS)",
    ("units of .debug_info", "DWARFError: Expected supported DWARF version. Got 'N'"): "it knows no DWARF 6",
    ("entries", "OverflowError: Python int too large to convert to C ssize_t"): "it reads 8 bytes of DW_FORM_strx4",
    ("entries", "ELFParseError: expected N, found N"): "the same where the section is short",
    ("reference", "KeyError: 'Signature N not found in .debug_types'"): "it looks for no type units in .debug_info",
    ("expression", "KeyError: N"): "it knows no operations of the LLVM extension, and not all of DWARF 5",
    ("expression", "ELFParseError: expected N, found N"): "it reads 8 bytes of DW_OP_GNU_parameter_ref",
    ("location list", "ValueError: Attribute does not have location information"): "it knows no LLVM attributes",
    ("line table", "DWARFError: Invalid standard line program opcode: N"): "it skips no unknown opcodes",
    ("line table", "ELFParseError: ('expected N, found N', MappingError('no decoding"): (
        "it reads a 32-bit table in the 64-bit format of its unit"
    ),
    ("line table", "is_stmt of the last row"): "it clears is_stmt where a sequence ends",
    ("line table", "other rows"): "DW_LNS_advance_pc does not move its op_index",
    (".debug_frame", "ValueError: N is not a valid DW_CFA"): "it knows no instructions of the LLVM extension",
    (".debug_frame", "OverflowError: Python int too large to convert to C ssize_t"): (
        "it takes the CIE of the 64-bit format for an FDE"
    ),
    ("rows", "none that says nothing"): "it has no row for code whose entry says nothing"}  # fmt: skip
"""Why an answer of pyelftools 0.33 differs or is missing, by what was asked and how it failed."""

SAMPLE = (
    *("asm/lane-pc.gfx90a.w64.co", "asm/lists.gfx90a.w64.co", "asm/forms.i386", "asm/operations.powerpc64"),
    *("amdgpu/hip-two-units.gfx90a.w64.O2.v5.o", "amdgpu/hip-kernels.gfx1100.w32.O2.v4.co"),
    *("containers/zstd-v3.ccob@1", "features/eh-frame.v5.co", "features/types.v4.co", "features/zstd.v5.co"),
)
"""The fixtures that the quick test reads."""


def images() -> list[str]:
    """The ELF files among the fixtures, and those inside of what is none."""
    names = []
    for path in sorted((ROOT / "fixtures").rglob("*")):
        if not path.is_file() or "src" in path.relative_to(ROOT).parts:
            continue
        name = str(path.relative_to(ROOT))
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"\x7fELF":
            names.append(name)
        elif path.suffix not in TEXTS:
            inside = list_contents(str(path)).entries
            names += [f"{name}@{entry.index}" for entry in inside if entry.size]
    return names


def differences(name: str) -> Counter[tuple[str, str]]:
    """Everything that both readers do not have in common, as question and failure, each with how often."""
    bridge = Bridge(open_program(str(ROOT / name)))
    found: Counter[tuple[str, str]] = Counter()
    for compare in (sections, units, frames):
        compare(bridge, found)
    return found


def asked(found, question, ask):
    """What pyelftools answers; None where it raises, which is counted."""
    try:
        return ask()
    except DwarfGpuError:
        raise
    except Exception as error:  # noqa: BLE001 (it raises what comes)
        found[question, NUMBER.sub("N", f"{type(error).__name__}: {error}")[:64]] += 1
        return None


@pytest.mark.parametrize("name", SAMPLE)
def test_both_readers_agree(name):
    assert set(differences(f"fixtures/{name}")) <= set(REASONS)


@pytest.mark.slow
def test_both_readers_agree_on_all_fixtures():
    names = images()
    found = {name: set(differences(name)) for name in names}
    assert len(names) > 200
    assert {name: kinds - set(REASONS) for name, kinds in found.items() if kinds - set(REASONS)} == {}
    assert set(REASONS) - set().union(*found.values()) == set(), "these reasons explain nothing"


def sections(bridge, found):
    """What pyelftools relocates and decompresses is what the bridge gives it."""
    dwarf = asked(found, "sections", bridge.elffile.get_dwarf_info)
    if dwarf is None:
        return
    for name, theirs in vars(dwarf).items():
        if name.endswith("_sec") and theirs is not None:
            ours = getattr(bridge.dwarfinfo, name)
            if ours is None or ours.stream.getvalue() != theirs.stream.getvalue():
                found["section", theirs.name] += 1
            elif ours.size != theirs.size or ours.address != theirs.address:
                found["size of section", theirs.name] += 1


def units(bridge, found):
    dwarf = bridge.dwarfinfo
    for section, iterate in ((".debug_info", dwarf.iter_CUs), (".debug_types", dwarf.iter_TUs)):
        theirs = asked(found, f"units of {section}", lambda: list(iterate()))  # noqa: B023
        ours = bridge.program.file.dwarf.units_of(section)
        if theirs is None:
            continue
        if [header(unit) for unit in theirs] != [own_header(unit) for unit in ours]:
            found[f"headers of {section}", "they differ"] += 1
            continue
        for unit, own in zip(theirs, ours, strict=True):
            entries(bridge, unit, own, found)
            lines(bridge, unit, own, found)


def header(unit):
    offset = unit.tu_offset if hasattr(unit, "tu_offset") else unit.cu_offset
    names = ("version", "address_size", "debug_abbrev_offset")
    return offset, unit.size, unit.structs.dwarf_format // 8, *(unit[name] for name in names)


def own_header(unit):
    size = unit.header.end - unit.offset
    return unit.offset, size, unit.offset_size, unit.version, unit.address_size, unit.header.abbreviations


def entries(bridge, unit, own_unit, found):
    """Every entry with its attributes; each is also found over the bridge, in both directions."""
    dies = asked(found, "entries", lambda: [die for die in unit.iter_DIEs() if not die.is_null()])
    if dies is None:
        return
    own_dies = list(own_unit.dies())
    rows = list(own_unit.decoded())
    if [die.offset for die in dies] != [own.section_offset for own in own_dies]:
        found["offsets of entries", "they differ"] += 1
        return
    for die, own, (offset, _depth, abbreviation, row) in zip(dies, own_dies, rows, strict=True):
        assert (offset, abbreviation) == (own.offset, own.abbreviation)
        if (ENUM_DW_TAG.get(die.tag, die.tag), die.has_children) != (own.tag, own.has_children):
            found["tag", f"{die.tag} {own.tag_name}"] += 1
        assert bridge.entry(die) == own
        assert bridge.die(own).offset == die.offset
        for attribute, decoded in zip(own.attributes, row, strict=True):
            plain = {"string": attribute.text, "address": attribute.address}.get(attribute.value_class)
            assert decoded == (attribute.value if plain is None else plain())
            name = next((n for n in die.attributes if ENUM_DW_AT.get(n, n) == attribute.number), None)
            if name is None:
                found["attribute", f"no {attribute.name}"] += 1
                continue
            theirs = die.attributes[name]
            assert bridge.attribute(theirs, die).index == attribute.index
            values(bridge, theirs, attribute, die, found)


def values(bridge, theirs, ours, die, found):
    if ENUM_DW_FORM.get(theirs.form, theirs.form) != ours.form:
        found["form", f"{theirs.form} {ours.form_name}"] += 1
        return
    raw = theirs.raw_value
    if isinstance(ours.value, bytes) and isinstance(raw, list):
        raw = bytes(raw)
    if ours.value_class == "flag":
        raw = theirs.value
    if raw != ours.value:
        found["raw value", f"{theirs.name} {theirs.form}"] += 1
    kind = ours.value_class
    if kind == "string" and theirs.value != ours.string():
        found["string", theirs.form] += 1
    elif kind == "address" and theirs.value != ours.address():
        found["address", theirs.form] += 1
    elif kind == "reference":
        other = asked(found, "reference", partial(die.get_DIE_from_attribute, theirs.name))
        if other is not None and bridge.entry(other) != ours.reference():
            found["reference", theirs.form] += 1
    elif kind == "exprloc":
        expression(bridge, theirs, die, bridge.expression(theirs, die), found)
    elif kind == "loclist":
        location_list(bridge, theirs, ours, die, found)
    elif kind == "rnglist":
        range_list(bridge, theirs, ours, die, found)


def expression(bridge, source, die, own, found):
    """The operations of an expression, where pyelftools knows all of them."""
    data = source.value if hasattr(source, "form") else source.loc_expr
    theirs = asked(found, "expression", lambda: DWARFExprParser(die.cu.structs).parse_expr(data))
    if theirs is None:
        return
    pairs = [(operation.op_name, operation.offset) for operation in theirs]
    own_pairs = [(instruction.name, instruction.offset) for instruction in own.instructions]
    if own.fault is not None or pairs != own_pairs:
        found["expression", "other operations"] += 1


def base_address(die):
    low = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    return 0 if low is None else low.value


def context_of(unit):
    return ListContext(unit.address_size, unit.format.byte_order, unit.low_pc, unit.tables.address)


def location_list(bridge, theirs, ours, die, found):
    parser = LocationParser(bridge.dwarfinfo.location_lists())
    listed = asked(found, "location list", lambda: parser.parse_from_attribute(theirs, die.cu["version"], die))
    if listed is None:
        return
    base, spans = base_address(die), []
    for entry in listed:
        if not hasattr(entry, "loc_expr"):
            base = entry.base_address
            continue
        start = 0 if entry.is_absolute else base
        span = (start + entry.begin_offset, start + entry.end_offset)
        spans.append((entry.entry_offset, span, bytes(entry.loc_expr)))
    section, offset = ours.list_place()
    unit = ours.die.unit
    data = unit.tables.list_data(section)
    read = read_list(data, offset, section=section, context=context_of(unit))
    assert read.error is None
    if [(e.offset, (-1, -1) if e.default else (e.start, e.end), e.expression) for e in read.entries] != spans:
        found["location list", "other entries"] += 1
        return
    described = bridge.locations(theirs, die)
    assert [item.expression.data for item in described] == [data for _, _, data in spans]
    assert [item.range or (-1, -1) for item in described] == [span for _, span, _ in spans]
    for entry, item in zip([e for e in listed if hasattr(e, "loc_expr")], described, strict=True):
        assert bridge.expression(entry, die).instructions == item.expression.instructions
        expression(bridge, entry, die, item.expression, found)


def range_list(bridge, theirs, ours, die, found):
    lists = bridge.dwarfinfo.range_lists()
    listed = asked(found, "range list", lambda: lists.get_range_list_at_offset(theirs.value, die.cu))
    if listed is None:
        return
    base, spans = base_address(die), []
    for entry in listed:
        if hasattr(entry, "base_address"):
            base = entry.base_address
            continue
        start = 0 if entry.is_absolute else base
        spans.append((start + entry.begin_offset, start + entry.end_offset))
    section, offset = ours.list_place()
    unit = ours.die.unit
    read = read_list(unit.tables.list_data(section), offset, section=section, context=context_of(unit))
    if [(entry.start, entry.end) for entry in read.entries] != spans:
        found["range list", "other entries"] += 1


REGISTERS = ("address", "line", "column", "file", "is_stmt", "basic_block", "end_sequence", "prologue_end",
             "epilogue_begin", "isa", "discriminator", "op_index")  # fmt: skip


def lines(bridge, unit, own_unit, found):
    if own_unit.section != ".debug_info":
        return
    program = asked(found, "line table", lambda: bridge.dwarfinfo.line_program_for_CU(unit))
    if program is None:
        return
    theirs = asked(found, "line table", program.get_entries)
    if theirs is None:
        return
    rows = [tuple(getattr(e.state, name) for name in REGISTERS) for e in theirs if e.state is not None]
    table = line_table(bridge.program.file, own_unit)
    assert table is not None
    own_rows = [tuple(getattr(row, name) for name in REGISTERS) for row in table.rows]
    if rows != own_rows:
        same = [without_end(row) for row in rows] == [without_end(row) for row in own_rows]
        found["line table", "is_stmt of the last row" if same else "other rows"] += 1


def without_end(row):
    """A row, without is_stmt where it ends a sequence."""
    return row[:4] + row[5:] if row[REGISTERS.index("end_sequence")] else row


def frames(bridge, found):
    dwarf, own = bridge.dwarfinfo, list(bridge.frame_entries())
    for section, is_there, ask in (
        (".debug_frame", dwarf.has_CFI(), dwarf.CFI_entries),
        (".eh_frame", dwarf.has_EH_CFI(), dwarf.EH_CFI_entries),
    ):
        theirs = asked(found, section, ask) if is_there else None
        if theirs is None:
            continue
        theirs = [entry for entry in theirs if isinstance(entry, (CIE, FDE))]
        ours = [entry for entry in own if entry.section == section]
        if [entry.offset for entry in theirs] != [entry.offset for entry in ours]:
            found[section, "other entries"] += 1
            continue
        for entry, own_entry in zip(theirs, ours, strict=True):
            assert bridge.frame_entry(entry) == own_entry
            if isinstance(entry, FDE):
                decoded = asked(found, f"rows of {section}", entry.get_decoded)
                if decoded is not None:
                    compare_rows(rows_of(decoded.table), bridge.rows(entry), found)


def compare_rows(theirs, ours, found):
    rows = own_rows_of(ours)
    if theirs != rows:
        said = [row for row, own in zip(rows, ours, strict=True) if not own.is_empty]
        found["rows", "none that says nothing" if theirs == said else "they differ"] += 1


def rows_of(table):
    """The rows of pyelftools: where each begins, the CFA and the registers."""
    rows = []
    for row in table:
        cfa = row["cfa"]
        rules = {number: rule_of(rule) for number, rule in row.items() if isinstance(number, int)}
        rows.append((row["pc"], bytes(cfa.expr) if cfa.expr else (cfa.reg, cfa.offset), rules))
    return rows


def rule_of(rule):
    argument = bytes(rule.arg) if isinstance(rule.arg, list) else rule.arg
    return rule.type.lower(), argument


def own_rows_of(rows):
    result = []
    for row in rows:
        cfa = None if row.cfa is None else getattr(row.cfa, "block", None)
        place = (getattr(row.cfa, "register", None), getattr(row.cfa, "offset", 0))
        rules = {number: own_rule_of(rule) for number, rule in row.registers.items()}
        result.append((row.start, place if cfa is None else cfa.data, rules))
    return result


def own_rule_of(rule):
    block = getattr(rule, "block", None)
    argument = next((getattr(rule, name) for name in ("offset", "register") if hasattr(rule, name)), None)
    return rule.word, argument if block is None else block.data
