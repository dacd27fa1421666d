from io import BytesIO

import pytest
from elftools.dwarf.callframe import FDE, CFARule
from elftools.dwarf.locationlists import LocationParser
from elftools.elf.elffile import ELFFile

from dwarfgpu.elftools import Bridge
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.states.program import open_program
from tests.builders.commands import in_python
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES, ROOT

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
HOST = FIXTURES / "host/frames.gcc.O2.v5.x86_64"
MACHINE = str(ROOT / "dwarfgpu/examples/variables.json")


def held(path):
    """What a script holds: an ELFFile over some bytes."""
    return ELFFile(BytesIO(path.read_bytes()))


@pytest.fixture(scope="module")
def elffile():
    return held(LANES)


@pytest.fixture(scope="module")
def bridge(elffile):
    return Bridge(elffile)


@pytest.fixture(scope="module")
def dies(elffile):
    units = elffile.get_dwarf_info().iter_CUs()
    listed = [die for unit in units for die in unit.iter_DIEs() if "DW_AT_name" in die.attributes]
    return {die.attributes["DW_AT_name"].value.decode(): die for die in listed}


@pytest.fixture(scope="module")
def frame(bridge):
    return bridge.program.attach(MACHINE)[0].frame()


LANE = "DW_OP_regx v0; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"


def test_expressions_of_every_form_know_their_place(bridge, dies):
    die = dies["lane"]
    attribute = die.attributes["DW_AT_location"]
    parsed = LocationParser(None).parse_from_attribute(attribute, 5, die)
    sources = (attribute, parsed, attribute.value, bytes(attribute.value))
    for source in sources:
        for where in (None, die):
            assert bridge.text(source, where) == LANE
    for where in (die.cu, die.cu.structs):
        assert bridge.text(parsed, where) == LANE
    found = bridge.expression(dies["lane"].attributes["DW_AT_location"])
    data = bridge.dwarfinfo.debug_info_sec.stream.getvalue()
    assert found.section == ".debug_info"
    assert data[found.offset :].startswith(found.data)
    bridge = Bridge(open_program(str(FIXTURES / "asm/operations-dwarf64.gfx90a.w64.co")))
    unit = next(bridge.dwarfinfo.iter_CUs())
    assert bridge.expression([0x9A, *bytes(8)], unit).fault is None  # DW_OP_call_ref has an offset of 64 bits
    assert bridge.expression([0x9A, *bytes(8)]).instructions[0].end == 5


def test_a_dialect_can_be_named(elffile, dies):
    attribute = dies["lane"].attributes["DW_AT_location"]
    other = Bridge(elffile, dialect="dwarf5")
    assert other.expression(attribute).fault is not None
    assert "undecoded" in other.frame_text(other.frame_entries()[1])
    refused(lambda: Bridge(other.program, dialect="llvm-user"))
    refused(lambda: Bridge(elffile, dialect="nobody"))


def test_rules_of_pyelftools_are_taken():
    bridge = Bridge(held(FIXTURES / "llvm24/hip-calls.gfx1100.w32.O2.co"))
    fde = next(entry for entry in bridge.dwarfinfo.CFI_entries() if isinstance(entry, FDE))
    rows, own_rows = fde.get_decoded().table, bridge.rows(fde)
    rules = [rule for row in rows for column, rule in row.items() if column != "pc"]
    expressions = [rule for rule in rules if rule_expression(rule)]
    assert bridge.text(own_rows[-1].cfa.block.data, fde) == bridge.text(rows[-1]["cfa"], fde)
    assert {bridge.text(rule, fde) == bridge.text(rule_expression(rule)) for rule in expressions} == {True}


def rule_expression(rule):
    """The expression in a rule of pyelftools; None where it has none."""
    expression = rule.expr if isinstance(rule, CFARule) else rule.arg
    return expression if isinstance(expression, list) else None


def test_locations_of_a_die_are_those_of_its_attribute(bridge, dies):
    die = dies["left"]
    for location, other in zip(bridge.locations(die), bridge.locations(die.attributes["DW_AT_location"]), strict=True):
        assert (location.operations, location.range) == (other.operations, other.range)
    assert [location.range for location in bridge.locations(die)] == [(0x152C, 0x1564)]
    assert [location.range for location in bridge.locations(dies["lane"])] == [None]
    assert bridge.locations(dies["int"]) == ()


def test_values_of_a_die_with_and_without_a_frame(bridge, dies, frame):
    assert bridge.variable(dies["left"], frame).values("all").array[:4].tolist() == [0, 2, 4, 6]
    assert bridge.variable(dies["tile"], frame).kind == "static"
    assert bridge.variable(dies["limit"], frame).value() == 20
    variable = bridge.variable(dies["sum"])
    assert variable.type.name == "int"
    assert len(variable.locations()) == 1
    assert variable.why(0) is not None
    assert bridge.die(frame["even"]).offset == dies["even"].offset


def test_the_entry_of_an_abstract_instance_is_the_variable_of_its_inlined_call(bridge, frame):
    for variable in frame.variables():
        for origin in variable.die.origins():
            assert bridge.variable(bridge.die(origin), frame) is variable


def test_rows_have_address_spaces(bridge):
    (row,) = bridge.rows(0x1610)
    assert (row.cfa.register, row.cfa.space) == (64, 6)
    assert "private_wave#s32" in bridge.frame_text(bridge.frame_entries()[-1])


@pytest.mark.parametrize("name", ["host/frames.gcc.O2.v5.x86_64", "features/eh-frame.v5.co"])
def test_call_frame_entries_of_pyelftools_are_found(name):
    bridge = Bridge(held(FIXTURES / name))
    entries = [entry for entry in bridge.dwarfinfo.EH_CFI_entries() if hasattr(entry, "header")]
    assert [bridge.frame_entry(entry) for entry in entries] == [
        entry for entry in bridge.frame_entries() if entry.section == ".eh_frame"
    ]
    for entry in entries:
        assert bridge.frame_text(entry).startswith(".eh_frame+")
        if isinstance(entry, FDE):
            assert bridge.rows(entry)[0].start == entry["initial_location"]


def test_elffile_and_program_are_of_the_same_bytes(elffile, bridge):
    assert bridge.elffile is elffile
    assert bytes(bridge.program.file.image.data) == LANES.read_bytes()
    other = Bridge(open_program(str(FIXTURES / "containers/fatbin.x86_64@gfx90a")))
    other.elffile.stream.seek(0)
    assert other.elffile.stream.read() == bytes(other.program.file.image.data)
    elffile.stream.seek(77)
    Bridge(elffile)
    assert elffile.stream.tell() == 77


def test_files_beside_it_type_units_and_stripped_files():
    with ELFFile.load_from_path(str(FIXTURES / "features/split.v5.co")) as elffile:
        units = list(Bridge(elffile).program.file.dwarf.compile_units())
    assert any(unit.is_split for unit in units)
    bridge = Bridge(held(FIXTURES / "features/types.v4.co"))
    units = bridge.program.file.dwarf.units_of(".debug_types")
    assert units
    for unit in units:
        for entry in unit.dies():
            die = bridge.die(entry)
            assert (die.offset, bridge.entry(die)) == (entry.section_offset, entry)
    bridge = Bridge(open_program(str(FIXTURES / "features/stripped.v5.co")))
    assert bridge.dwarfinfo.has_debug_info
    assert bridge.entry(next(bridge.dwarfinfo.iter_CUs()).get_top_DIE()).tag == 0x11


def refused(call, *arguments):
    error = raised(DwarfGpuError, call, *arguments)
    assert error.hint
    return error


@pytest.mark.parametrize("given", [None, 5, "x", object(), [300], ["x"]])
def test_what_is_no_object_of_pyelftools_is_refused(bridge, given):
    calls = (Bridge, bridge.entry, bridge.attribute, bridge.expression, bridge.text, bridge.locations)
    for call in (*calls, bridge.variable, bridge.frame_entry, bridge.frame_text, bridge.die):
        assert isinstance(refused(call, given), UsageError)


def test_what_is_no_expression_variable_or_row_is_refused(bridge, dies, frame):
    assert "is not a DIE" in refused(bridge.text, [0x30], "unit").message
    null = next(die for die in dies["lane"].cu.iter_DIEs() if die.is_null())
    assert "null entry" in refused(bridge.entry, null).message
    refused(bridge.rows, 0x10)
    refused(bridge.rows, bridge.frame_entries()[0])
    assert "no variable" in refused(bridge.variable, dies["int"], frame).message
    assert "sum of whole_wave" in refused(bridge.variable, dies["sum"], frame).message
    assert "locations" in refused(bridge.text, dies["left"].attributes["DW_AT_location"]).hint
    refused(bridge.text, dies["left"].attributes["DW_AT_name"])
    refused(bridge.locations, dies["left"].attributes["DW_AT_name"])


def test_objects_of_other_files_are_refused(bridge, dies, frame):
    other = Bridge(held(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"))
    die = dies["value"]
    own_fde = next(entry for entry in Bridge(held(HOST)).dwarfinfo.EH_CFI_entries() if isinstance(entry, FDE))
    refused(other.entry, die)
    refused(bridge.attribute, die.attributes["DW_AT_location"]._replace(offset=1 << 20))
    own_fde.offset += 2
    refused(Bridge(held(HOST)).frame_entry, own_fde)
    refused(other.attribute, die.attributes["DW_AT_location"])
    refused(other.expression, die.attributes["DW_AT_location"])
    refused(other.die, bridge.entry(die))
    refused(bridge.frame_entry, own_fde)
    variable = next(entry for entry in other.program.file.dwarf.units[0].dies() if entry.tag == 0x34)
    refused(bridge.variable, variable, frame)
    refused(other.variable, variable, frame)


def test_what_pyelftools_cannot_read_is_refused():
    bridge = Bridge(open_program(str(FIXTURES / "features/split.v5.co")))
    unit = next(unit for unit in bridge.program.file.dwarf.compile_units() if unit.is_split)
    refused(bridge.die, unit.root)
    closed = held(LANES)
    closed.close()
    assert "closed" in refused(Bridge, closed).message
    bridge = Bridge(open_program(str(FIXTURES / "asm/forms.gfx90a.w64.co")))
    entries = list(bridge.program.file.dwarf.units[0].dies())
    error = refused(lambda: [bridge.die(entry) for entry in entries])
    assert "pyelftools cannot read the entry at .debug_info+" in error.message


def test_pyelftools_is_imported_for_the_bridge_alone():
    code = (
        "import sys, dwarfgpu; dwarfgpu.open(sys.argv[1])['tile']; "
        "from dwarfgpu.cli import main; main(['ls', sys.argv[1]]); "
        "print('elftools' in sys.modules); import dwarfgpu.elftools; print('elftools' in sys.modules)"
    )
    assert in_python(code, LANES).split()[-2:] == ["False", "True"]
