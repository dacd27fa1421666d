"""Code that linkers drop is not judged, and what producers are known to write wrongly does not count."""

import json
import subprocess

import pytest

from dwarfgpu.audits.verify.findings import IDIOM
from dwarfgpu.audits.verify.producers import MISTAKES
from dwarfgpu.audits.verify.reports import check_file
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.audits.verify import seeds_entries
from tests.builders.commands import run
from tests.builders.dwarf import die
from tests.builders.folders import FIXTURES
from tests.builders.hostile import CODE, SIZE, gpu, named, typed, variable
from tests.builders.lists import contribution, loclist, rnglist
from tests.builders.parameters import for_each
from tests.builders.seeds import findings_in

SOURCE = """
static int square(int x) { int y = x * x; if (y > 10) { int z = y / 3; return z + x; } return y; }
extern int other(int, float);
int dropped(int n, float f) { int a[4] = {n, n + 1}; return other(a[n & 3], f) + square(n); }
int also_dropped(int n) { return dropped(n, 2) * square(n); }
int same(int n) { return square(n) ^ 5; }
int same_again(int n) { return square(n) ^ 5; }
int other(int n, float f) { return square(n) + (int) f; }
int main(int n, char **p) { return other(n, 3) + same(n) + same_again(n + 1); }
"""


def test_code_that_a_linker_has_dropped_is_not_judged():
    size = ("high_pc", "data4", 64)
    inlined = die("inlined_subroutine", ("abstract_origin", "ref4", "f"), ("low_pc", "addr", 0), size)
    local = die("variable", named("a"), typed("int"), ("location", "sec_offset", 12))
    block = die("lexical_block", ("ranges", "sec_offset", 12), inlined, local)
    code = ("low_pc", "addr", 0), ("high_pc", "data4", 32)
    dropped = die("subprogram", named("g"), *code, block, die("call_site", ("call_return_pc", "addr", 0)))
    locations = loclist(("start_end", 48, 64, seeds_entries.V0.hex()), "end_of_list")
    ranges = rnglist(("start_end", 8, 40), ("start_end", 8, 48), "end_of_list")
    lists = {".debug_loclists": contribution(locations, count=0), ".debug_rnglists": contribution(ranges, count=0)}
    data = gpu(types=[seeds_entries.F, dropped, die("subprogram", named("h"), *code)], sections=lists)
    report = check_file(CodeObject(open_image(data, name="dropped")), ignored=("line",))
    assert (report.findings, report.dropped) == ((), 2)
    assert check_file(opened(str(FIXTURES / "host/values.gcc.O0.v5.x86_64"))).dropped == 0


LINKERS = {"bfd": "--gc-sections", "gold": "--gc-sections,--icf=all", "lld": "--gc-sections,--icf=all"}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-22"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("linker", LINKERS)
def test_programs_linked_without_unused_sections_have_no_findings(compiler, version, linker, tmp_path, require_tool):
    (tmp_path / f"ld.{linker}").symlink_to(require_tool(f"ld.{linker}", f"ld.{linker}-22"))
    (tmp_path / "k.c").write_text(SOURCE)
    how = (f"-gdwarf-{version}", "-O2", "-ffunction-sections", f"-Wl,{LINKERS[linker]}", f"-B{tmp_path}")
    command = (require_tool(compiler), *how, f"-fuse-ld={linker}", "k.c", "-o", "k")
    subprocess.run(command, cwd=tmp_path, check=True)
    report = check_file(opened(str(tmp_path / "k")))
    assert ([finding.message for finding in report.findings], report.dropped > 0) == ([], True)


GCC, RUSTC, GO = "GNU C++17 12.2.0 -g1 -O2", "clang LLVM (rustc version 1.95.0)", "Go cmd/compile go1.19.8; regabi"
CLANG = "Debian clang version 22.1.0"
MEMBER = die("member", named("m"), typed("int"), ("data_member_location", "data1", 0))


@for_each("producer, rule, entry",
    (GCC, "entry-attribute-missing", die("variable", named("v"))),
    (GCC, "expression-stack-underflow", variable("v", location="DW_OP_form_tls_address; DW_OP_const8u 64")),
    (RUSTC, "entry-member-outside", die("structure_type", ("byte_size", "data1", 0), MEMBER)),
    (RUSTC, "entry-member-outside", seeds_entries.with_member("structure_type", 8, "data1", 8)),
    (RUSTC, "entry-empty", seeds_entries.block(CODE + 4, 0)),
    (CLANG, "entry-member-overlap", die("class_type", ("byte_size", "data1", 8), MEMBER, MEMBER)),
    (CLANG, "entry-base-size", seeds_entries.numbers("__coro_index", 8, 8)),
    (GCC, "entry-parent", die("subroutine_type", die("pointer_type", ("byte_size", "data1", 8)))),
    ("GNU GIMPLE 12.2.0 -flto", "entry-completed",
     die("inlined_subroutine", ("abstract_origin", "ref4", "g"), ("low_pc", "addr", CODE), ("high_pc", "data4", 8),
         die("subprogram", named("g"), label="g"))),
    (GO, "expression-piece-size", variable("v", location="DW_OP_regx s1; DW_OP_piece 4; DW_OP_regx s1; DW_OP_piece 4")),
    (GO, "entry-attribute-class", die("subprogram", named("f"), ("frame_base", "block1", b"\x9c"))))  # fmt: skip
def test_a_known_mistake_does_not_count_where_its_producer_makes_it(producer, rule, entry):
    for maker, is_known in ((producer, True), ("hand", False)):
        found = findings_in(gpu(entry, producer=maker))
        assert {(finding.rule.name, finding.limit is not None) for finding in found} == {(rule, is_known)}


def test_units_of_the_assembler_may_have_functions_outside_of_their_ranges():
    short = ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE - 4)
    for producer, limit in (("hand", None), ("GNU AS 2.40", IDIOM)):
        (finding,) = findings_in(gpu(producer=producer, has_base=False, unit_attributes=short))
        assert (finding.rule.name, finding.limit) == ("entry-range-outside", limit)


def test_the_rules_of_known_mistakes_exist():
    from dwarfgpu.audits.verify.rule_table import RULES

    assert {mistake.rule for mistake in MISTAKES} <= set(RULES)


def test_files_with_more_entries_of_a_program_are_named(tmp_path):
    data = (FIXTURES / "host/split.gcc.v5.x86_64").read_bytes()
    (tmp_path / "main").write_bytes(data)
    (file,) = json.loads(run("verify", tmp_path / "main", "--json").stdout)["files"]
    (split,) = file["split_files"]
    assert split.endswith(".dwo")
    (tmp_path / "main.dwp").write_bytes(b"")
    done = run("verify", tmp_path / "main")
    assert f"dwarfgpu verify {tmp_path}/main.dwp" in done.stderr
