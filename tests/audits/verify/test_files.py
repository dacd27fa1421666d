"""Files as compilers write them have no findings but idioms of the producer, and defects that are known."""

from functools import cache
from pathlib import Path

import pytest

from dwarfgpu.audits.verify import call_frames, expressions, file_check
from dwarfgpu.audits.verify.file_check import FileCheck
from dwarfgpu.audits.verify.reports import check_file, check_files
from dwarfgpu.objfile.elf.header import EM_AMDGPU, EM_X86_64
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.repairs import BY_NAME
from tests.audits.verify import seeds_entries
from tests.builders.dwarf import build, die, unit
from tests.builders.elf import ElfBuilder
from tests.builders.folders import FIXTURES
from tests.builders.hostile import CODE, GFX90A, INT, SIZE, gpu, named, ops, variable
from tests.builders.parameters import for_each
from tests.builders.seeds import findings_in

FOLDERS = ("amdgpu", "compilers", "features", "host", "llvm24")
DEFECTS = {
    ("features/split.v4.dwo", "expression-deprecated"),      ("features/plain.v2.co", "expression-deprecated"),
    ("features/plain.v3.co", "expression-deprecated"),
    ("host/strict.gcc.v2.x86_64", "list-outside"),           ("llvm24/triton-calls.gfx942.w64.co", "line-shared"),
    ("llvm24/triton-calls.gfx1100.w32.co", "line-shared")}  # fmt: skip
"""Defects of producers, as docs/compilers.md tells."""


def is_elf(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:4] == b"\x7fELF"


@cache
def found_in(folder):
    """The rule and the idiom of each finding in the files of a folder, by the name of the file."""
    return {path.name: found_in_file(path) for path in sorted((FIXTURES / folder).iterdir()) if is_elf(path)}


def found_in_file(path):
    return {(finding.rule.name, finding.idiom) for finding in FileCheck(opened(str(path)))}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_files_of_compilers_have_only_idioms(folder):
    findings = found_in(folder).items()
    found = {(f"{folder}/{name}", rule) for name, pairs in findings for rule, idiom in pairs if idiom is None}
    assert found == {defect for defect in DEFECTS if defect[0].startswith(folder)}


UNLINKED = "one that the linked program shows"
OTHERS = {
    "lld before 14": "lld before 14 writes the address of .text",
    "LLVM before 20": "LLVM before 20 writes the blocks of the SGPRs that are used",
    "GCC": "GCC does not know the target in .dwo files",
    "unlinked": UNLINKED}  # fmt: skip
"""Idioms that are no repairs: what verify calls them."""
_DEPRECATED = (
    "private-variable kernel-private-variable pointed-variable global-variable global-variable-v4 sole-local-variable"
    " sole-local-variable-v4 no-local-address no-local-address-v4 computed-value extended-value mixed-operands"
    " narrow-type sign-extension vector-register half-vector-register unlinked"
)
IDIOMS = {
    "expression-wrong-kind": ["private-variable", "kernel-private-variable"],  # DW_OP_xderef follows a location
    "expression-no-frame-base": ["kernel-private-variable", "unlinked"],  # DW_OP_fbreg in kernels of clang
    "expression-read-past-storage": ["plain-stack-variable", "plain-wave-stack-variable"],  # 64 bits of 32, clang 19
    "expression-type-mismatch": ["computed-value", "mixed-operands"],  # of DW_OP_convert and the generic type
    "expression-deprecated": _DEPRECATED.split(),  # DW_OP_xderef, which A.2.5.4.3.4 replaces
    "expression-pointer-target": ["GCC"],  # the offset 0 of DW_OP_implicit_pointer in .dwo files
    "frame-empty": ["empty-frames"],  # an FDE without rules for each function, LLVM 22 and before
    "kernel-file-entry": ["lld before 14"],
    "kernel-sgpr-blocks": ["LLVM before 20"]}  # fmt: skip
"""The idioms of each rule in files of compilers."""


EXAMPLES = (
    *("amdgpu/cl-kernels.gfx1100.w64.O2.v5.co", "amdgpu/extended.gfx1030.w32.O2.co"),
    *("amdgpu/hip-kernels.gfx1100.w32.O2.v4.co", "compilers/cl.clang13.gfx1030.w32.O2.v5.co"),
    *("compilers/cl.clang16.gfx900.w64.O0.v5.co", "compilers/cl.clang16.gfx90a.w64.O2.v4.co"),
    *("compilers/cl.clang19.gfx1030.w32.O2.v5.co", "compilers/hip.clang19.gfx1030.w32.O2.v4.co"),
    *("compilers/hip.clang19.gfx1100.w32.O2.v5.co", "features/aranges.v5.co", "features/split.v5.dwo"),
    *("features/split.v5.dwp", "host/split.gcc.v5.dwo"))  # fmt: skip
"""Files that together have each idiom."""


@pytest.mark.parametrize("only_examples", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_each_idiom_is_discussed(only_examples):
    """What verify reports of good files are the idioms of the table, and each of these is found."""
    if only_examples:
        findings = [found_in_file(FIXTURES / name) for name in EXAMPLES]
    else:
        findings = [pairs for folder in FOLDERS for pairs in found_in(folder).values()]
    found = set()
    for rule, idiom in (pair for pairs in findings for pair in pairs):
        names = [idiom] if idiom in OTHERS.values() else (idiom or "").split(", ")
        found |= {(rule, name) for name in names if name}
    known = {(rule, OTHERS.get(name, name)) for rule, names in IDIOMS.items() for name in names}
    assert found == known
    assert {name for _rule, name in known} <= {*OTHERS.values(), "empty-frames", *BY_NAME}


def all_problems(path):
    return [
        (each.rule.name, each.message, each.section, each.offset, each.die and each.die.section_offset, each.idiom_name)
        for each in FileCheck(opened(str(path))).problems()
    ]


REMEMBERED = (
    *("asm/cfi.gfx90a.w64.co", "asm/lists.gfx90a.w64.co", "asm/operations.gfx90a.w64.co", "asm/types.powerpc64"),
    *("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "compilers/cl.clang13.gfx900.w64.O2.v5.co", "features/split.v4.dwo"),
    *("host/optimized.clang.O2.v5.x86_64", "host/split.gcc.v5.dwo", "host/values.gcc.O0.v5.x86_64"))  # fmt: skip


@pytest.mark.parametrize("name", REMEMBERED)
def test_what_is_remembered_changes_no_finding(name, monkeypatch):
    before = all_problems(FIXTURES / name)
    monkeypatch.setattr(expressions, "MAX_KNOWN", 0)
    monkeypatch.setattr(call_frames, "MAX_KNOWN", 0)
    assert all_problems(FIXTURES / name) == before


def test_what_was_right_in_one_place_is_checked_in_another():
    """An expression that needs a frame base passes where there is one, and only there; an address is not a piece."""
    variables = [variable(name, location="DW_OP_fbreg 8") for name in "ab"]
    with_base = die("subprogram", named("with"), ("frame_base", "exprloc", ops("DW_OP_regx s32")), *variables)
    without = die("subprogram", named("without"), variable("c", location="DW_OP_fbreg 8"))
    address = ops("DW_OP_addr 0x1000")
    static = [variable(name, location=address) for name in "de"]
    data = gpu(*static, variable("f", location=address[:-1]), types=[with_base, without])
    found = {(finding.rule.name, finding.path[-1]) for finding in findings_in(data)}
    assert found == {("expression-no-frame-base", "DW_TAG_variable c"), ("expression-truncated", "DW_TAG_variable f")}


CPLUS = 0x21
EMPTY = die("structure_type", ("byte_size", "data1", 1), label="empty")


@pytest.mark.parametrize(
    "language, types",
    [
        (0x1D, [seeds_entries.beside_each_other((0, "int"), (4, "char"), (5, "char"), (8, "int"))]),
        (0x1D, [seeds_entries.beside_each_other((0, "int"), (0, "char"), tag="union_type")]),
        (CPLUS, [EMPTY, seeds_entries.beside_each_other((0, "empty"), (0, "int"))]),  # with [[no_unique_address]]
        (CPLUS, [die("structure_type", ("byte_size", "data1", 8), seeds_entries.WIDE)]),  # int m : 40
        (0x09, [seeds_entries.beside_each_other((0, "int"), (0, "char"))]),  # a variant record of Pascal
    ],
)
def test_members_may_share_bytes_and_have_bits_to_spare_where_languages_allow_it(language, types):
    assert findings_in(gpu(types=types, language=language)) == []


def test_calls_end_with_the_function_and_instances_complete_their_own_function():
    site = die("call_site", ("call_return_pc", "addr", CODE + SIZE)), die("call_site", ("call_pc", "addr", CODE))
    outer = die("subprogram", named("o"), ("inline", "data1", 1), *seeds_entries.FUNCTIONS, label="o")
    assert findings_in(gpu(*site, *seeds_entries.of_two("f", "f1", "f1"), types=[outer])) == []


def test_functions_that_a_linker_has_dropped_are_all_at_0():
    dropped = [seeds_entries.function(0, "data4", size) for size in (4, 8)]
    assert findings_in(gpu(types=dropped)) == []


def test_only_in_files_of_amdgpu_a_frame_base_may_be_found_when_they_are_linked():
    fbreg = variable("x", location=b"\x91\x08")
    sections = build(unit(die("compile_unit", named("a.c"), INT, die("subprogram", named("f"), fbreg)))).sections
    found = []
    for machine in (EM_X86_64, EM_AMDGPU):
        elf = ElfBuilder(machine=machine, type=1, flags=GFX90A)
        for name, data in sections.items():
            elf.section(name, data)
        found += [(finding.rule.name, finding.idiom) for finding in findings_in(elf.build())]
    assert found == [("expression-no-frame-base", None), ("expression-no-frame-base", UNLINKED)]


def test_an_idiom_is_named():
    report = check_file(opened(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co")))
    assert {"private-variable", "global-variable"} <= {
        name for finding in report.findings for name in (finding.idiom or "").split(", ")
    }
    quiet = check_file(opened(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co")), ignored=("idioms",))
    assert quiet.findings == ()
    assert quiet.entries == report.entries > 100


@for_each("computed, expected",
    ("DW_OP_lit0", set()),                                   ("DW_OP_swap", {"expression-stack-underflow"}),
    ("DW_OP_lit0; DW_OP_drop", {"expression-stack-underflow"}),
    ("DW_OP_lit1; DW_OP_lit0; DW_OP_div", {"expression-division-by-zero"}),
    ("DW_OP_lit1; DW_OP_convert 7", {"expression-type-operand"}),
    ("DW_OP_addrx 99", {"expression-address-index"}))  # fmt: skip
def test_an_idiom_explains_only_what_its_repair_removes(computed, expected):
    findings = findings_in(
        gpu(variable("a", location=f"{computed}; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value"))
    )
    assert {finding.rule.name for finding in findings if finding.idiom is None} == expected
    assert "expression-deprecated" in {finding.rule.name for finding in findings if finding.idiom is not None}


@pytest.mark.parametrize("name, section, offset", [
    ("llvm24/triton.gfx942.w64.co", ".debug_info", 7),  # the version of the unit
    ("asm/forms.i386.o", ".debug_types", 0x14)])  # fmt: skip
def test_a_unit_that_cannot_be_read_is_a_finding(tmp_path, name, section, offset):
    data = bytearray((FIXTURES / name).read_bytes())
    place = opened(str(FIXTURES / name)).image.section(section).offset + offset
    data[place] ^= 0x80
    (tmp_path / "bad").write_bytes(data)
    report = check_file(opened(str(tmp_path / "bad")))
    assert "entry" in {finding.rule.part for finding in report.findings}


def test_a_producer_that_cannot_be_read_hides_no_finding():
    """It is a string past the end of its section, in a unit with other findings."""
    entry = die("base_type", named("t"), ("encoding", "data1", 0x3F), ("byte_size", "data1", 4))
    root = die("compile_unit", ("producer", "strp", 0xFFFF), entry)
    elf = ElfBuilder()
    for name, data in build(unit(root)).sections.items():
        elf.section(name, data)
    assert {finding.rule.name for finding in findings_in(elf.build())} >= {"entry-string", "entry-value-unknown"}


def test_one_bad_file_does_not_stop_the_rest(tmp_path):
    broken = tmp_path / "broken.co"
    broken.write_bytes(b"\x7fELF and nothing else")
    good = str(FIXTURES / "host/values.gcc.O0.v5.x86_64")
    for jobs in (1, 2):
        reports = list(check_files([str(broken), good, str(tmp_path / "absent")], jobs=jobs))
        assert [report.error is None for report in reports] == [False, True, False]
        assert reports[1].findings == ()


def test_each_code_object_of_a_bundle_is_checked():
    names = [report.name for report in check_files([str(FIXTURES / "containers/plain.hipfb")])]
    assert len(names) > 1
    assert all("@" in name for name in names)


def test_many_idioms_hide_no_other_finding(monkeypatch):
    idiom = "DW_OP_lit0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value"
    wrong = "DW_OP_lit1; DW_OP_lit5; DW_OP_xderef"  # without an idiom
    data = gpu(*(variable(f"v{i}", location=wrong if i == 7 else idiom) for i in range(9)))
    monkeypatch.setattr(file_check, "MAX_REPORTED", 2)
    check = FileCheck(CodeObject(open_image(data, name="many")), ignored=("line",))
    assert [finding.path[-1].split()[-1] for finding in check] == ["v0", "v1", "v7"]
    assert check.left_out == {"expression-deprecated": 6}
