"""dwarfgpu against what llvm-dwarfdump prints about every ELF file in fixtures/.

The golden files in tests/golden/ are that output; tools/golden.py writes them. Every difference is in `DIFFERENCES`.
"""

import fnmatch
import functools
import re
import subprocess

import pytest

from dwarfgpu.objfile.elf.header import EM_X86_64
from dwarfgpu.objfile.opening import open_container, open_image
from dwarfgpu.program.code.code_object import opened
from tests.comparison import library, llvm
from tests.comparison.comparing import against, live
from tests.comparison.differences import DIFFERENCES
from tests.comparison.rows import ASPECTS, UNREAD, Row, differences
from tools import golden

NAMES = golden.names()
FOLDERS = sorted({name.partition("/")[0] for name in NAMES})
PAGE = golden.ROOT / "tests" / "comparison" / "README.md"
TOOL = (golden.TOOL, "llvm-dwarfdump")


@functools.cache
def found_in(name):
    return tuple(against(golden.read(name), opened(str(golden.FIXTURES / name))))


def unexplained(name, found):
    return [str(each) for each in found if not any(known.explains(name, each) for known in DIFFERENCES)]


# --- The golden files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(6)
def test_dwarfgpu_says_what_llvm_dwarfdump_says(name):
    assert unexplained(name, found_in(name)) == []


@pytest.mark.parametrize(
    "known, pattern", [(known, pattern) for known in DIFFERENCES for pattern in known.fixtures], ids=str
)
def test_every_explanation_is_needed(known, pattern):
    assert any(known.matches(each) for name in fnmatch.filter(NAMES, pattern) for each in found_in(name))


def test_the_page_explains_the_same_differences():
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^### (\S+)$", text, re.MULTILINE) == [known.name for known in DIFFERENCES]
    for known in DIFFERENCES:
        section = text.partition(f"### {known.name}\n")[2].partition("\n### ")[0]
        assert known.spec in section.replace("\n", " "), known.name


def test_every_fixture_has_a_golden_file_that_names_its_commands():
    assert sorted(golden.FOLDER.rglob("*.xz")) == sorted(map(golden.golden_file, NAMES))
    assert sum(path.stat().st_size for path in golden.FOLDER.rglob("*.xz")) <= golden.MAX_TOTAL
    for name in NAMES:
        lines = golden.read(name).splitlines()
        assert re.fullmatch(r"# LLVM version [\d.]+", lines[0]), name
        assert [line for line in lines if line.startswith("$ ")] == [
            f"$ {command} {name}" for command in golden.COMMANDS
        ]


@pytest.mark.slow
def test_all_aspects_are_compared_and_no_row_is_lost():
    rows = {}
    for name in ("asm/lists.gfx90a.w64.co", "features/debug-names.v5.co", "host/types-names.clang.v5.x86_64"):
        target = opened(str(golden.FIXTURES / name)).target.target
        for row in llvm.rows_of(golden.read(name), target):
            rows.setdefault(row.aspect, []).append(row)
    assert set(rows) == set(ASPECTS)
    assert min(map(len, rows.values())) >= 3
    # What the parser does not know it marks, and the marks are in files that the tool itself could not read.
    marked = {
        name
        for name in NAMES
        for row in llvm.rows_of(golden.read(name), opened(str(golden.FIXTURES / name)).target.target)
        if UNREAD in row.what
    }
    assert marked <= {name for name in NAMES if fnmatch.fnmatch(name, "host/*.gcc.*")}


# --- The comparison itself ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("aspect", ASPECTS)
def test_every_changed_row_is_noticed(aspect):
    others = {
        "names": "host/types-names.clang.v5.x86_64",
        "lines": "asm/lines.gfx90a.w64.co",
        "expressions": "asm/types.x86_64",
    }
    name = others.get(aspect, "asm/lists.gfx90a.w64.co")
    rows = list(library.rows_of(opened(str(golden.FIXTURES / name))))
    chosen = next(number for number, row in enumerate(rows) if row.aspect == aspect)
    row = rows[chosen]
    assert differences(rows, rows) == []
    for other in ([], [row._replace(what=row.what + "0")], [row, Row(aspect, row.where, row.what)]):
        (found,) = differences(rows, [*rows[:chosen], *other, *rows[chosen + 1 :]])
        assert found.aspect == aspect
        assert unexplained(name, [found]) == [str(found)]


@pytest.mark.parametrize("name", fnmatch.filter(NAMES, "asm/lane-pc-*"))
def test_with_the_new_numbers_old_attributes_are_those_that_llvm_dwarfdump_shows(name):
    found = against(golden.read(name), opened(str(golden.FIXTURES / name)), "llvm-current")
    assert [str(each) for each in found if "DW_AT_LLVM" in each.where and each.aspect == "dies"] == []
    assert unexplained(name, found) == []


# --- Live ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_golden_files_are_what_the_tool_prints(folder, require_tool):
    """Word for word; from another version of the tool the rows count."""
    tool = require_tool(*TOOL)
    is_same_version = golden.version(tool) == golden.read(NAMES[0]).partition("\n")[0]
    for name in NAMES:
        if name.startswith(f"{folder}/"):
            text = golden.printed(tool, name)
            if is_same_version:
                assert text == golden.read(name), f"{name}: tools/dev.py golden --write"
            else:
                assert unexplained(name, against(text, opened(str(golden.FIXTURES / name)))) == []


@pytest.mark.slow
def test_code_objects_in_containers(tmp_path, require_tool):
    tool = require_tool(*TOOL)
    compared = 0
    for path in sorted((golden.FIXTURES / "containers").iterdir()):
        container = open_container(str(path))
        for entry in container.entries:
            if container.content(entry)[:4] != b"\x7fELF":
                continue
            extracted = tmp_path / f"{path.name}.{entry.index}"
            extracted.write_bytes(container.content(entry))
            assert live(tool, extracted) == [], extracted.name
            compared += any(True for _ in library.rows_of(opened(str(extracted))))
    assert compared >= 20


@pytest.mark.slow
def test_the_command_writes_what_differs(tmp_path, monkeypatch, capsys, require_tool):
    require_tool(golden.TOOL)
    name = "asm/lists.powerpc"
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    assert golden.main([name]) == 1
    assert capsys.readouterr().out == f"{name}: new\n"
    assert not golden.golden_file(name).exists()
    assert golden.main([name, "--write"]) == 1
    assert golden.main([name]) == 0
    golden.golden_file("asm/gone").write_bytes(b"")
    assert golden.main([name, "--write"]) == 1
    assert capsys.readouterr().out.endswith("asm/gone.txt.xz: no fixture has this name\n")
    assert golden.main([name]) == 0


# --- What llvm-dwarfdump cannot read, by other ways -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["features/zdebug.v4.co", "host/zdebug.gcc.v4.x86_64"])
def test_old_compression_after_objcopy_has_removed_it(name, tmp_path, require_tool):
    data = bytearray((golden.FIXTURES / name).read_bytes())
    machine = data[18:20]
    data[18:20] = EM_X86_64.to_bytes(2, "little")  # objcopy knows no AMDGPU
    path = tmp_path / "plain"
    path.write_bytes(data)
    subprocess.run([require_tool("objcopy"), "--decompress-debug-sections", path], check=True, capture_output=True)
    data = bytearray(path.read_bytes())
    data[18:20] = machine
    path.write_bytes(data)
    assert against(golden.printed(require_tool(*TOOL), path.name, tmp_path), opened(str(golden.FIXTURES / name))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asm/operations.x86_64", "asm/operations.powerpc64", "asm/operations.i386"])
def test_operations_that_are_not_decoded_as_readelf_names_them(name, require_tool):
    command = [require_tool("readelf"), "--wide", "--debug-dump=info", golden.FIXTURES / name]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shown = {}
    for line in text.splitlines():
        if match := re.match(r" <\d+><(\w+)>: Abbrev", line):
            die = match[1]
        elif match := re.search(r"(DW_AT_\w+) .* byte block: .*\t\((DW_OP_.*)\)", line):
            operations = re.sub(r"\(User defined location op .*?\)", "", match[2])
            shown[f".debug_info+0x{die} {match[1]}"] = re.findall(r"DW_OP_\w+", operations)
    kind = next(each for each in DIFFERENCES if each.name == "operations-not-decoded")
    found = [each for each in found_in(name) if kind.matches(each)]
    assert len(found) > 10
    for each in found:
        ours = re.findall(r"DW_OP_\w+", each.ours)
        known, _, unknown = " ".join(ours).partition(" DW_OP_xderef_type")  # which readelf does not know
        assert shown[each.where] == (known.split() if unknown else ours), each.where


@pytest.mark.slow
def test_version_6_as_version_5(tmp_path, require_tool):
    """Compilers write its headers as those of version 5, so with that number llvm-dwarfdump reads them."""
    name = "features/plain.v6.co"
    image = open_image(str(golden.FIXTURES / name))
    data = bytearray(image.data)
    for section in image.sections:
        if section.name in (".debug_info", ".debug_line", ".debug_addr", ".debug_str_offsets") or re.fullmatch(
            r"\.debug_(rng|loc)lists", section.name
        ):
            place = section.header.offset + 4
            assert data[place] == 6, section.name
            data[place] = 5
    (tmp_path / "five").write_bytes(data)
    found = against(golden.printed(require_tool(*TOOL), "five", tmp_path), opened(str(golden.FIXTURES / name)))
    assert found
    for each in found:
        assert each.theirs is not None
        assert each.ours == re.sub("version=(0x)?5", r"version=\g<1>6", each.theirs)


@pytest.mark.slow
def test_relocations_of_x32_as_readelf_applies_them(require_tool):
    name = "host/optimized.clang.O0.v5.x32.o"
    command = [require_tool("readelf"), "--wide", "--debug-dump=info", "--debug-dump=rawline", golden.FIXTURES / name]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [row for row in library.rows_of(opened(str(golden.FIXTURES / name))) if row.aspect in ("dies", "lines")]
    ours = [re.search('"(.*)"', row.what)[1] for row in rows if row.where.endswith(" DW_AT_name")]
    theirs = re.findall(r"DW_AT_name +: \(.*?\): (\S.*)", text)
    assert ours
    assert ours == theirs
    starts = re.findall(r"DW_AT_low_pc .*: 0x(\w+)$", text, re.MULTILINE)
    assert [int(start, 16) for start in starts] == [
        int(row.what.split()[-1], 16) for row in rows if row.where.endswith(" DW_AT_low_pc")
    ]
    files = re.findall(r"data16\).*: (\S+)$", text, re.MULTILINE)
    assert {re.search('"(.*?)"', row.what)[1] for row in rows if " file " in row.where} == set(files)
