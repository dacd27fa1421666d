from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.frames.linespec import Linespecs, symbol_at
from dwarfgpu.states.program import open_program
from tests.builders import hostile
from tests.builders.dwarf import entry
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each


def places(name: str) -> Linespecs:
    return Linespecs(open_program(FIXTURES / name).outside)


@for_each("text, found",
    ("zoo::Animal::speak", [("classes.cpp", 13)]),           ("Animal::speak", [("classes.cpp", 13)]),
    ("speak", [("classes.cpp", 13), ("classes.cpp", 31)]),   ("classes.cpp:zoo::Dog::speak", [("classes.cpp", 31)]),
    ("src/host/classes.cpp:13", [("classes.cpp", 13)]),      ("freestanding.h:25", [("freestanding.h", 25)]),
    ("memset", [("freestanding.h", 13)]),                    ("*zoo::Dog::speak", [("classes.cpp", 31)]))  # fmt: skip
def test_names_with_scopes_and_files(text, found):
    read = places("host/classes.gcc.O0.v5.x86_64").read(text)
    assert sorted((each.file.path.rpartition("/")[2], each.line) for each in read if each.file) == found


def test_a_function_that_is_only_inlined_is_where_it_was_inlined():
    spans = list(places("features/embed-source.v5.co").functions("square"))
    assert {span.name for span in spans} == {"square"}
    assert not any(span.is_symbol for span in spans)


def test_a_template_that_is_only_inlined_is_found_without_its_arguments():
    found = places("compilers/hip.clang19.gfx1100.w32.O2.v5.co")
    entries = [span.entry for span in found.functions("sum_of<float, 3>")]
    assert entries
    assert [span.entry for span in found.functions("sum_of")] == entries


@for_each("form, value", ("addr", hostile.CODE + 4), ("data1", 4))
def test_an_inlined_call_begins_at_its_entry_pc(tmp_path, form, value):
    """Which is an address, or a distance from the base address (DWARF 5, 2.18)."""
    span = {"low_pc": hostile.CODE, "high_pc": ("data8", hostile.SIZE), "entry_pc": (form, value)}
    call = entry("inlined_subroutine", None, abstract_origin="f", **span)
    case = hostile.Case(tmp_path, hostile.gpu(call, types=[entry("subprogram", "f", label="f", inline=1)]))
    assert [span.entry for span in Linespecs(open_program(case.file).outside).functions("f")] == [hostile.CODE + 4]


@for_each("text", "", "*", ":", "a:", ":3", "*(", "'", "::", "a::b:3", "-", "99999999999999999999", "a b", "\0", "*1/0")
def test_what_is_no_place_is_an_error(text):
    assert "\n" not in str(raised(DwarfGpuError, places("host/classes.gcc.O0.v5.x86_64").read, text))


@for_each("name",
    "features/split.v5.co", "features/dwarf64.v5.co", "features/zstd.v5.co", "features/types.v4.co",
    "features/plain.v3.co")  # fmt: skip
def test_lines_and_addresses_agree(name):
    found = places(name)
    file = next(each for each in found.files.all() if each.next_line(1))
    line: int | None = 1
    count = 0
    while (line := file.next_line(line)) is not None:
        for address in file.starts(line):
            at = found.files.at(address)
            assert at is not None
            assert at.start <= address < at.end
            count += at.line == line
        line += 1
    assert count > 5


def test_symbols_have_the_names_of_declarations():
    state = open_program(FIXTURES / "host/classes.gcc.O0.v5.x86_64").state
    found = symbol_at(state, 0x403009)
    assert found is not None
    assert (found.name, found.offset, found.section) == ("zoo::animals", 1, ".bss")
    assert symbol_at(state, 1) is None
