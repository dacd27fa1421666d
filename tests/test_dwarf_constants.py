"""The numbers of DWARF, against the tables of others: pyelftools, and the headers of LLVM where they are installed."""

import re
from pathlib import Path

import pytest
from elftools.dwarf import constants as elftools_constants
from elftools.dwarf import enums

from dwarfgpu import dwarf_constants
from dwarfgpu.dwarf_constants import name_of, names, number_of

OURS = {name: number for name, number in vars(dwarf_constants).items() if name.startswith("DW_")}
IN_LLVM = re.compile(r"^HANDLE_(DW_[A-Z]+)\((0x[0-9a-fA-F]+), (\w+)", re.MULTILINE)


def elftools_numbers() -> dict[str, int]:
    """Return the numbers of all names of DWARF in pyelftools."""
    tables = [table for name, table in vars(enums).items() if name.startswith("ENUM_DW_")]
    tables.append(vars(elftools_constants))
    pairs = [(name, number) for table in tables for name, number in table.items() if type(number) is int]
    return {name: number for name, number in pairs if name.startswith("DW_")}


def llvm_numbers() -> dict[str, int]:
    """Return the numbers of all names in the headers of every LLVM that is installed; the newest counts."""
    result = {}
    for header in sorted(Path("/usr").glob("include/llvm-*/llvm/BinaryFormat/Dwarf.def")):
        for kind, number, name in IN_LLVM.findall(header.read_text("utf-8")):
            result[f"{kind}_{name}"] = int(number, 16)
    return result


def test_the_numbers_are_those_of_pyelftools():
    theirs = elftools_numbers()
    shared = OURS.keys() & theirs.keys()
    assert len(shared) > 400
    assert {name: OURS[name] for name in shared} == {name: theirs[name] for name in shared}


def test_the_numbers_are_those_of_llvm():
    theirs = llvm_numbers()
    shared = OURS.keys() & theirs.keys()
    assert {name: OURS[name] for name in shared} == {name: theirs[name] for name in shared}


def test_the_table_has_every_name_that_is_used():
    """A type checker takes any name, as the names are those of the table."""
    used = {
        name
        for path in Path(dwarf_constants.__file__).parent.glob("**/*.py")
        for name in re.findall(r"\bdw\.(DW_\w+)", path.read_text("utf-8"))
    }
    assert len(used) > 200
    assert used <= OURS.keys()


@pytest.mark.parametrize("prefix", ["DW_OP_", "DW_ASPACE_"])
def test_what_belongs_to_dialects_and_targets_is_not_here(prefix):
    assert not [name for name in OURS if name.startswith(prefix)]


def test_a_number_has_the_name_that_stands_first():
    assert name_of("DW_CFA", 0x2D) == "DW_CFA_GNU_window_save"
    assert name_of("DW_LLE", 0x02) == "DW_LLE_startx_endx"
    assert name_of("DW_LLE_GNU", 0x02) == "DW_LLE_GNU_start_end_entry"


def test_a_kind_is_a_whole_prefix():
    assert name_of("DW_AT", 0x03) == "DW_AT_name"
    assert name_of("DW_ATE", 0x03) == "DW_ATE_complex_float"
    assert names("DW_T") == {}


def test_the_name_of_an_unknown_number_shows_it():
    assert name_of("DW_TAG", 0x7FFF) == "DW_TAG_unknown_0x7fff"
    assert name_of("DW_ATE", 0x80) == "DW_ATE_unknown_0x80"  # the start of a range is no name


def test_a_name_has_a_number():
    assert number_of("DW_TAG_subprogram") == 0x2E
    assert number_of("DW_TAG_nothing") is None
    assert number_of("names") is None
