"""The scopes at an address, and so the chain of inlined calls: DWARF 5 section 3.3.8."""

import re
import subprocess

import pytest
from elftools.dwarf.enums import ENUM_DW_TAG
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.objfile.info.scopes import Position, covers, scopes_at
from dwarfgpu.objfile.line_table import line_table
from tests.builders import compiled
from tests.builders.parameters import for_each

UNIT, FUNCTION, BLOCK, CALL, NAMESPACE, STRUCT, VARIABLE = 0x11, 0x2E, 0x0B, 0x1D, 0x39, 0x13, 0x34


class Die:
    """An entry made by hand: what it is, its ranges, where it is called, and what it owns."""

    def __init__(self, tag, name, ranges=(), call=(None, None, None), children=()):
        self.tag, self.name = tag, name
        self._ranges, self._children = ([ranges] if ranges and isinstance(ranges[0], int) else list(ranges), children)
        self.call_file, self.call_line, self.call_column = call

    def ranges(self):
        return self._ranges

    def children(self):
        return iter(self._children)


def unit(*children):
    return Die(UNIT, "unit", children=children)


HERE = Position(1, 99, 9)
INNER = Die(BLOCK, None, children=[Die(CALL, "inner", (0x34, 0x38), (2, 7, 4))])
OUTER = Die(CALL, "outer", [(0x20, 0x28), (0x30, 0x40)], (1, 20, 3), [INNER])
EARLY = Die(CALL, "early", (0x10, 0x14), (1, 5, 1))
BODY = [Die(VARIABLE, "x"), EARLY, Die(BLOCK, None, (0x18, 0x48), children=[OUTER])]
MAIN = Die(FUNCTION, "main", (0x10, 0x50), children=BODY)
NESTED = unit(Die(VARIABLE, "v"), Die(FUNCTION, "declared"), Die(FUNCTION, "other", (0x00, 0x10)), MAIN)


def calls(scopes, position):
    """Return the functions of scopes, innermost first: name, place in the source, and whether it is inlined."""
    chain = []
    for die in reversed(scopes):
        if die.tag in (FUNCTION, CALL):
            chain.append((die.name, position.file, position.line, position.column, die.tag == CALL))
            if die.tag == FUNCTION:
                break
            position = Position(die.call_file, die.call_line, die.call_column)
    return chain


def chain(root, address):
    return calls(scopes_at(root, address), HERE)


@for_each("address, expected",
    (0x0F, [("other", 1, 99, 9, False)]), (0x50, []),                           (0x15, [("main", 1, 99, 9, False)]),
    (0x18, [("main", 1, 99, 9, False)]),  (0x12, [("early", 1, 99, 9, True), ("main", 1, 5, 1, False)]),
    (0x20, [("outer", 1, 99, 9, True), ("main", 1, 20, 3, False)]),             (0x29, [("main", 1, 99, 9, False)]),
    (0x34, [("inner", 1, 99, 9, True), ("outer", 2, 7, 4, True), ("main", 1, 20, 3, False)]),
    (0x38, [("outer", 1, 99, 9, True), ("main", 1, 20, 3, False)]))  # fmt: skip
def test_the_chain_at_an_address(address, expected):
    assert chain(NESTED, address) == expected


def test_the_scopes_are_given_from_the_outside_in():
    assert [die.name for die in scopes_at(NESTED, 0x34)] == ["main", None, "outer", "inner"]


def test_functions_stand_in_namespaces():
    root = unit(Die(NAMESPACE, "a", children=[Die(NAMESPACE, "b"), Die(FUNCTION, "f", (1, 2))]))
    assert chain(root, 1) == [("f", 1, 99, 9, False)]


def test_a_function_inside_another_is_called_not_inlined():
    inner = Die(FUNCTION, "nested", (0x20, 0x30), children=[Die(CALL, "helper", (0x22, 0x24), (1, 3, 0))])
    root = unit(Die(FUNCTION, "outer", (0x10, 0x20), children=[Die(VARIABLE, "x"), inner]))
    assert chain(root, 0x23) == [("helper", 1, 99, 9, True), ("nested", 1, 3, 0, False)]
    within = unit(Die(FUNCTION, "outer", (0x10, 0x40), children=[inner]))
    assert [die.name for die in scopes_at(within, 0x23)] == ["outer", "nested", "helper"]
    assert chain(within, 0x23)[-1][0] == "nested"


def test_a_method_may_stand_in_its_type():
    assert chain(unit(Die(STRUCT, "s", children=[Die(FUNCTION, "m", (1, 2))])), 1) == [("m", 1, 99, 9, False)]


def test_of_siblings_that_overlap_the_first_one_counts():
    root = unit(Die(FUNCTION, "f", (0, 9), children=[Die(CALL, "a", (1, 5)), Die(CALL, "b", (2, 4))]))
    assert chain(root, 3) == [("a", 1, 99, 9, True), ("f", None, None, None, False)]


def test_a_call_outside_any_function_is_all_there_is():
    assert chain(unit(Die(CALL, "a", (1, 5), (1, 2, 3))), 3) == [("a", 1, 99, 9, True)]


def test_the_chain_may_be_long():
    die = Die(CALL, "deepest", (0, 9), (1, 1, 1))
    for level in range(20_000):
        die = Die(CALL, str(level), (0, 9), (1, level, 0), [die])
    frames = chain(unit(Die(FUNCTION, "f", (0, 9), children=[die])), 0)
    assert (len(frames), frames[0][0], frames[-1]) == (20_002, "deepest", ("f", 1, 19_999, 0, False))


def test_ranges_hold_their_start_and_not_their_end():
    assert [covers([(1, 2), (4, 4)], address) for address in range(5)] == [False, True, False, False, False]


RANGE = st.tuples(st.integers(0, 20), st.integers(0, 20))
TREES = st.recursive(
    st.builds(Die, st.sampled_from((FUNCTION, BLOCK, CALL, VARIABLE)), st.just("leaf"), st.lists(RANGE, max_size=2)),
    lambda dies: st.builds(
        Die, st.sampled_from((FUNCTION, BLOCK, CALL, NAMESPACE, STRUCT)), st.just("node"),
        st.lists(RANGE, max_size=2), st.just((1, 2, 3)), st.lists(dies, max_size=4)))  # fmt: skip


@given(st.lists(TREES, max_size=4), st.integers(0, 20))
def test_any_tree_has_a_chain(children, address):
    scopes = scopes_at(unit(*children), address)
    assert all(covers(die.ranges(), address) for die in scopes)
    assert all(inlined for *_, inlined in calls(scopes, HERE)[:-1])


class ElfDie:
    """An entry that pyelftools read, as `scopes_at` asks it."""

    def __init__(self, die, dwarf, base):
        self.die, self.dwarf, self.base = die, dwarf, base
        self.tag = ENUM_DW_TAG[die.tag]
        self.call_file, self.call_line, self.call_column = (
            self._number(f"DW_AT_call_{what}") for what in ("file", "line", "column")
        )

    def _number(self, name):
        attribute = self.die.attributes.get(name)
        return None if attribute is None else attribute.value

    @property
    def name(self):
        die = self.die
        while "DW_AT_name" not in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
        return die.attributes["DW_AT_name"].value.decode()

    def ranges(self):
        attributes = self.die.attributes
        if "DW_AT_ranges" in attributes:
            found, base = [], self.base
            for entry in self.dwarf.range_lists().get_range_list_at_offset(self._offset(), cu=self.die.cu):
                if isinstance(entry, BaseAddressEntry):
                    base = entry.base_address
                elif isinstance(entry, RangeEntry):
                    shift = 0 if entry.is_absolute else base
                    found.append((entry.begin_offset + shift, entry.end_offset + shift))
            return found
        if "DW_AT_high_pc" not in attributes:
            return []
        start, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(start, high.value if high.form == "DW_FORM_addr" else start + high.value)]

    def _offset(self):
        return self.die.attributes["DW_AT_ranges"].value

    def children(self):
        return (ElfDie(die, self.dwarf, self.base) for die in self.die.iter_children())


@pytest.mark.parametrize(
    "compiler, options",
    [(compiler, f"-gdwarf-{version} -O2") for compiler in ("x86-64", "amdgcn", "gcc") for version in (4, 5)],
)
@pytest.mark.sampled(6)
def test_chains_are_what_the_symbolizer_prints(compiler, options, tmp_path, require_tool):
    symbolizer = require_tool("llvm-symbolizer-22", "llvm-symbolizer")
    path = compiled.compiled(tmp_path, require_tool, compiler, options)
    found = compiled.sections(path)
    queries, chains = [], []
    with path.open("rb") as stream:
        dwarf = ELFFile(stream).get_dwarf_info()
        for compilation_unit in dwarf.iter_CUs():
            top = compilation_unit.get_top_DIE()
            root = ElfDie(top, dwarf, top.attributes["DW_AT_low_pc"].value)
            lines = line_table(
                found[".debug_line"], top.attributes["DW_AT_stmt_list"].value, string_at=compiled.string_reader(found)
            )
            for address in (a for start, end in lines.ranges() for a in range(start, end, 2)):
                row = lines.at(address)[0].row
                frames = calls(scopes_at(root, address), Position(row.file, row.line, row.column))
                if frames:  # the space between functions has a line, but no function
                    queries.append(hex(address))
                    chains.append("\n".join(as_printed(frame, lines, str(tmp_path)) for frame in frames))
    command = [symbolizer, "--obj", path, "--inlines", *queries]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    printed = re.sub(r"\.(cold|constprop\.0)$", "", printed, flags=re.MULTILINE)  # names of the symbol table
    assert chains == printed.split("\n\n")[:-1]
    assert max(text.count("\n") for text in chains) >= 5  # square in twice in the function


def as_printed(frame, lines, directory):
    function, file, line, column, _ = frame
    return f"{function}\n{lines.path(file, directory)}:{line or 0}:{column or 0}"
