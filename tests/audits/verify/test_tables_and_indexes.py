import random
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.audits.verify.file_check import FileCheck
from dwarfgpu.audits.verify.indexes import IndexChecks
from dwarfgpu.audits.verify.line_tables import LineChecks
from dwarfgpu.audits.verify.unit_tables import UnitTableChecks
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.audits.verify import seeds_indexes
from tests.builders.folders import FIXTURES
from tests.builders.hostile import gpu
from tests.builders.indexes import Names
from tests.builders.parameters import every
from tests.builders.seeds import findings_in


def test_a_file_is_checked_for_all_parts() -> None:
    file = opened(str(FIXTURES / "features" / "debug-names.v5.co"), None)
    assert {problem.rule.part for problem in FileCheck(file).problems()} <= {"entry", "expression", "list", "frame"}


def test_names_that_share_their_entries_are_not_read_again_and_again() -> None:
    places = seeds_indexes.places()
    made = Names(seeds_indexes.OF_ONE, {f"n{i}": [(1, [places["k"]])] * (60 if not i else 1) for i in range(60)})
    data = bytearray(made.data)
    table = made.table()
    size = len(table.string_offsets) * 4
    start = data.index(b"\1\x2e\3\x13\0\0") - size
    first = start + 4 * list(table.names()).index(b"n0")
    data[start : start + size] = made.data[first : first + 4] * 60
    found = findings_in(gpu(extra={".debug_names": bytes(data), ".debug_str": bytes(made.strings)}))
    assert any("names share their entries" in finding.message for finding in found)


SECTIONS = (
    *(".debug_line", ".debug_names", ".debug_aranges", ".debug_pubnames", ".debug_gnu_pubnames", ".debug_str_offsets"),
    *(".debug_addr", ".debug_abbrev", ".debug_info", ".debug_loclists", ".debug_rnglists"),
)


@every(section=SECTIONS, name=["debug-names.v5.co", "aranges.v5.co", "pubnames.v4.co", "gnu-pubnames.v4.co"])
def test_any_damage_gives_findings_and_no_error(name: str, section: str) -> None:
    data = (FIXTURES / "features" / name).read_bytes()
    place = open_image(data, name=name).section(section)
    if place is None:
        return
    chance = random.Random(f"{name} {section}")
    for _ in range(4):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 4, 40))):
            damaged[place.offset + chance.randrange(place.size)] = chance.choice((0, 0xFF, chance.randrange(256)))
        file = CodeObject(open_image(bytes(damaged), name="damaged"))
        for checks in (LineChecks(file), IndexChecks(file), UnitTableChecks(file)):
            list(checks.problems())


TYPES = """
struct s { int a; }; struct t { s b; }; t made;
template <class T> struct w { T x; T get() { return x; } };
inline int twice(int x) { return x * 2; }
int f(t *p) { return p->b.a + made.b.a; }
int g(w<long> *q) { return q->get(); }
int h(int y) { return twice(y); }
"""
TYPE_UNITS = ("-g", "-fdebug-types-section", "-ffunction-sections", "-gpubnames")


def compiled(tool: str, folder: Path, *options: str, text: str = TYPES, name: str = "types") -> Path:
    source, made = folder / f"{name}.cpp", folder / f"{name}.o"
    source.write_text(text, "ascii")
    subprocess.run([tool, "-c", *options, str(source), "-o", str(made)], check=True)
    return made


@every(version=[4, 5], compiler=["clang++-22", "g++"], more=[(), ("-gz",), ("-ggnu-pubnames",)])
def test_indexes_of_a_file_with_groups_lead_to_their_sections(version, compiler, more, tmp_path, require_tool) -> None:
    """Each type unit has a section of its own, .debug_info or .debug_types; offsets are relocated to each of them."""
    tool = require_tool(compiler, "clang++" if "clang" in compiler else "g++")
    arguments = [*TYPE_UNITS, f"-gdwarf-{version}", *more, *["-gdwarf-aranges"] * ("clang" in compiler)]
    file = opened(str(compiled(tool, tmp_path, *arguments)), None)
    assert len(file.image.sections_named(".debug_info" if version == 5 else ".debug_types")) > 2
    assert [finding.message for finding in FileCheck(file, ignored=("idioms",))] == []
    assert len([unit.root.name for unit in file.dwarf.units if not unit.header.is_type_unit]) == 1


def test_types_that_llvm_makes_for_expressions_need_not_be_in_an_index(tmp_path: Path, require_tool) -> None:
    source = tmp_path / "k.c"
    source.write_text("long f(char c, int u) { unsigned long wide = c; unsigned short low = u; return wide + low; }")
    words = "-O2", "-gdwarf-5", "-gpubnames", "-c", str(source), "-o", str(tmp_path / "k.o")
    subprocess.run([require_tool("clang-22"), *words], check=True)
    file = opened(str(tmp_path / "k.o"))
    assert any((die.name or "").startswith("DW_ATE_") for die in file.dwarf.units[0].root.children())
    assert [problem.rule.name for problem in IndexChecks(file).problems()] == []


def test_an_empty_range_at_the_start_of_a_section_does_not_end_a_list(tmp_path, require_tool) -> None:
    """GCC gives a parameter of an inlined call its place between two views of the first instruction."""
    text = "static inline int in(int k, int n) { int w = k; return w + n; } int f(int a) { return in(1, a); }"
    made = compiled(require_tool("g++"), tmp_path, "-g", "-gdwarf-4", "-O2", text=text)
    assert [finding.message for finding in FileCheck(opened(str(made)), ignored=("idioms",))] == []


def test_a_wrong_offset_to_a_group_is_found(tmp_path: Path, require_tool) -> None:
    """The relocation of a unit of the index leads to the group of another."""
    data = bytearray(compiled(require_tool("clang++-22", "clang++"), tmp_path, *TYPE_UNITS, "-gdwarf-5").read_bytes())
    rows = open_image(bytes(data), name="types.o").section(".rela.debug_names")
    assert rows is not None
    first, second = rows.offset + 8, rows.offset + 24 + 8  # r_info of the first two
    data[second : second + 8] = data[first : first + 8]
    found = {
        problem.rule.name for problem in IndexChecks(CodeObject(open_image(bytes(data), name="types.o"))).problems()
    }
    assert "index-names-unit" in found


SAME = "int {0}(int x) {{ return x * 7 + 3; }} int only_{0}(int x) {{ return {0}(x) - {1}; }}"


def test_functions_of_which_a_linker_keeps_one_do_not_overlap(tmp_path: Path, require_tool) -> None:
    """Equal ranges of several units are one function, for which each of them has lines and addresses."""
    tool = require_tool("clang++-22", "clang++")
    linker = require_tool("ld.lld-22", "ld.lld")
    options = ("-g", "-O2", "-ffunction-sections", "-fPIC", "-fno-addrsig", "-gdwarf-aranges")
    objects = [
        str(compiled(tool, tmp_path, *options, text=SAME.format(name, number), name=name))
        for number, name in enumerate(("one", "two"))
    ]
    made = tmp_path / "folded.so"
    subprocess.run([linker, "-shared", "--icf=all", *objects, "-o", str(made)], check=True)
    file = opened(str(made), None)
    symbols = {symbol.name: symbol.value for symbol in file.image.symbols()}
    assert symbols["_Z3onei"] == symbols["_Z3twoi"]
    assert [finding.message for finding in FileCheck(file)] == []


@pytest.mark.slow
def test_indexes_of_type_units_that_a_linker_has_joined_break_no_rule(tmp_path: Path, require_tool) -> None:
    source, made = tmp_path / "types.cpp", tmp_path / "types.so"
    source.write_text(TYPES, "ascii")
    options = ["-g", "-gpubnames", "-gdwarf-aranges", "-fdebug-types-section", "-shared", "-nostdlib", "-fPIC"]
    subprocess.run([require_tool("clang++-22", "clang++"), *options, str(source), "-o", str(made)], check=True)
    assert list(IndexChecks(opened(str(made), None)).problems()) == []
