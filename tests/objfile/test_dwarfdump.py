"""What compilers write now, compared with what llvm-dwarfdump and readelf say about it.

All that tests/comparison/ compares for the fixtures; and the bytes of expressions and blocks with those of readelf.
"""

import itertools
import re
import subprocess

import pytest

from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.objfile.section_source import ImageSections
from tests.builders.compiled import compiled
from tests.builders.parameters import for_each
from tests.builders.sources import compile_source, opened, with_split_files
from tests.comparison.comparing import live

DUMP = ("llvm-dwarfdump-22", "llvm-dwarfdump")
COMPILERS = {
    ("gcc", "c"): ("gcc",),     ("gcc", "cpp"): ("g++",),   ("clang", "c"): ("clang-22", "clang"),
    ("clang", "cpp"): ("clang++-22", "clang++"),            ("clang", "cl"): ("clang-22", "clang")}  # fmt: skip
PLAIN = [
    (compiler, language, f"-gdwarf-{version} {level}")
    for compiler in ("gcc", "clang")
    for language in ("c", "cpp")
    for version in (2, 3, 4, 5)
    for level in ("-O0", "-O2")
]
OTHERS = [
    *(("clang", "cl", f"-gdwarf-{version} {level}") for version in (4, 5) for level in ("-O0", "-O2")),
    *((compiler, "c", f"-gdwarf-{version} -gdwarf64") for compiler in ("gcc", "clang") for version in (3, 4, 5)),
    *(("gcc", "cpp", f"-gdwarf-{version} -gsplit-dwarf {level}") for version in (4, 5) for level in ("-O0", "-O2")),
    *(("clang", "cpp", f"-gdwarf-{version} -gsplit-dwarf {level}") for version in (4, 5) for level in ("-O0", "-O2")),
    *(("clang", "cpp", f"-gdwarf-{version} -gsplit-dwarf=single") for version in (4, 5)),
    *(("clang", "cpp", f"-gdwarf-{version} -gsplit-dwarf -fdebug-types-section") for version in (4, 5)),
    *(("clang", "cpp", f"-gdwarf-{version} -gline-tables-only") for version in (4, 5)),
    *(("clang", "cpp", f"-gdwarf-5 -gpubnames {more}") for more in ("", "-O2", "-gsplit-dwarf=single")),
    *(("clang", "cpp", f"-gdwarf-5 -gpubnames -gsplit-dwarf {more}") for more in ("", "-fdebug-types-section")),
    ("clang", "cpp", "-gdwarf-5 -glldb -gpubnames -gdwarf64")]  # fmt: skip
EXPLAINED = (
    "location-views", "operations-not-decoded", "relocated-expressions", "ranges-of-a-split-unit-alone",
    "file-names-of-type-units")  # fmt: skip
"""The differences that these programs have too."""
IMPLICIT_POINTER_2 = re.compile(
    r"lists \| .* \| (?P<same>.*DW_OP_GNU_implicit_pointer) 0 0; <00 00 00 00.*> => (?P=same) \d+ \d+.*"
)
"""In version 2 a reference has the size of an address; llvm-dwarfdump reads 4 bytes in every version."""


def check(path, tool):
    for name in with_split_files(path):
        assert [each for each in live(tool, name, EXPLAINED) if not IMPLICIT_POINTER_2.fullmatch(each)] == []
        assert opened(name).problems == []


@pytest.mark.slow
@pytest.mark.parametrize("compiler, language, options", PLAIN + OTHERS)
def test_objects(compiler, language, options, tmp_path, require_tool):
    program = require_tool(*COMPILERS[compiler, language])
    check(compile_source(tmp_path, program, ["-g", *options.split()], language), require_tool(*DUMP))


@pytest.mark.slow
@for_each("compiler, index", ("gcc", []), ("clang", []), ("clang", ["-gpubnames"]))
@pytest.mark.parametrize("version", [4, 5])
def test_type_units(compiler, index, version, tmp_path, require_tool):
    """They are linked, because objects have a section for each."""
    options = ["-g", f"-gdwarf-{version}", "-fdebug-types-section", *index]
    path = compile_source(tmp_path, require_tool(*COMPILERS[compiler, "cpp"]), options, "cpp", link=True)
    found = opened(path)
    check(path, require_tool(*DUMP))
    assert sum(each.header.is_type_unit for each in found.units) > 2


@pytest.mark.slow
@for_each(
    "target, options",
    *itertools.product(("i386", "ppc64", "amdgcn"), ("-gdwarf-5", "-gdwarf-4 -O2", "-gdwarf-5 -O2")),
    *itertools.product(("ppc64", "amdgcn"), ["-gdwarf-5 -gdwarf64 -O1"]),  # needs a machine of 64 bits
)
def test_other_machines(target, options, tmp_path, require_tool):
    """32 bits, big-endian, and a GPU; two units in each file."""
    check(compiled(tmp_path, require_tool, target, options), require_tool(*DUMP))


@pytest.mark.slow
@pytest.mark.parametrize("options", ["-gdwarf-5", "-gdwarf-4"])
def test_link_time_optimization(options, tmp_path, require_tool):
    """Units share abbreviations, and functions of one are inlined into another (DW_FORM_ref_addr)."""
    check(compiled(tmp_path, require_tool, "x86-64", f"{options} -flto -O2"), require_tool(*DUMP))


@pytest.mark.slow
@for_each(
    "version, packager",
    (4, ("llvm-dwp-22", "llvm-dwp")),
    (5, ("llvm-dwp-22", "llvm-dwp")),
    (4, ("dwp",)),  # gold's writes no version 5
)
@pytest.mark.parametrize("types", ["", "-fdebug-types-section"])
def test_packages(version, types, packager, tmp_path, require_tool):
    """A package gives what the single files give."""
    program = require_tool(*COMPILERS["clang", "cpp"])
    options = ["-g", f"-gdwarf-{version}", "-gsplit-dwarf", *types.split()]
    paths = [compile_source(tmp_path, program, options, "cpp", name, link=True) for name in ("one", "two")]
    files = sorted(tmp_path.glob("*.dwo"))
    package = tmp_path / "all.dwp"
    subprocess.run([require_tool(*packager), *files, "-o", package], check=True, capture_output=True)

    for path in paths:
        alone = opened(path)
        found = Dwarf(ImageSections(open_image(path)), package=ImageSections(open_image(package)))
        ways = []
        for each in (alone, found):
            (skeleton,) = (unit for unit in each.units if unit.is_skeleton)
            split = each.split_unit(skeleton)
            ways.append([
                [
                    (attribute.name, attribute.text() if attribute.value_class == "string" else attribute.value)
                    for attribute in entry.attributes
                ]
                for entry in split.dies()
            ])  # fmt: skip
            ranges = [entry.ranges() for entry in split.dies() if entry.tag_name == "DW_TAG_subprogram"]
            ways[-1].append(ranges)
            kinds = [entry.type().name for entry in split.dies() if "DW_AT_type" in entry]
            ways[-1].append(kinds)
        assert ways[0] == ways[1]
        assert found.problems == []
    check(package, require_tool(*DUMP))


_BLOCK = re.compile(r"^ +<([0-9a-f]+)> +DW_AT_\S+ *: .*?(\d+) byte block: ((?:[0-9a-f]+ )*)")


@pytest.mark.slow
@pytest.mark.parametrize("compiler, language", [("gcc", "c"), ("gcc", "cpp"), ("clang", "cpp")])
@pytest.mark.parametrize("options", ["-gdwarf-2", "-gdwarf-4 -O2", "-gdwarf-5", "-gdwarf-5 -O2"])
def test_blocks(compiler, language, options, tmp_path, require_tool):
    """Bytes and places of all expressions and blocks."""
    path = compile_source(tmp_path, require_tool(*COMPILERS[compiler, language]), ["-g", *options.split()], language)
    command = [require_tool("readelf"), "--wide", "--debug-dump=info", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    expected = []
    for line in text.splitlines():
        if match := _BLOCK.match(line):
            data = bytes(int(byte, 16) for byte in match[3].split())
            assert len(data) == int(match[2])
            expected.append((int(match[1], 16), data))

    found = []
    for each in opened(path).units:
        for entry in each.dies():
            _, start = each.table.at(each.data, entry.offset)
            places = entry.abbreviation.layout.positions(each.data, start)
            for attribute, (begin, _) in zip(entry.attributes, places, strict=True):
                if attribute.value_class in ("block", "exprloc"):
                    block = attribute.block()
                    assert each.source.data(block.section)[block.offset : block.offset + len(block.data)] == block.data
                    if block.data[:1] != b"\xa1":  # of DW_OP_addrx readelf shows no bytes
                        found.append((each.offset + begin, block.data))
    assert found == expected
    assert expected


@pytest.mark.slow
def test_the_version_6_header(tmp_path, require_tool):
    """clang writes it as that of version 5, and DW_AT_language_name in place of DW_AT_language."""
    program = require_tool(*COMPILERS["clang", "c"])
    old, new = (
        opened(compile_source(tmp_path, program, ["-g", f"-gdwarf-{version}"], "c", f"v{version}"))
        for version in (5, 6)
    )
    assert [each.version for each in new.units] == [6]
    assert new.units[0].root.get("DW_AT_language_name").value == 3
    names = [[(entry.tag, entry.name) for entry in each.units[0].dies()][1:] for each in (old, new)]
    assert names[0] == names[1]
    assert [entry.kind for entry in new.index.find("main")] == ["function"]
    assert new.problems == []
