"""Constructions that no producer writes: circles, diamonds, products, absurd sizes, devices, names that steer.

Each is asked about in a process with limits of time, memory and output, and must end with an answer or with one line.
"""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dwarfgpu.encoding import encode_unsigned as uleb
from dwarfgpu.errors import UsageError
from dwarfgpu.lanes import LaneSet
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.questions.table import AT_SHELL, COMMANDS
from tests.builders import lines
from tests.builders.dwarf import die, entry
from tests.builders.frames import FrameBuilder, cfa
from tests.builders.hostile import CODE, PC, Case, Outcome, bounded, gpu, member, ops, sharing, state, typed, variable
from tests.builders.parameters import every

AT_DATA = "DW_OP_addr 0x10000"
NOTHING = "DW_OP_LLVM_undefined; DW_OP_LLVM_extend 1 65536; DW_OP_LLVM_extend 65536 65536"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def test_numbers_of_a_gigabyte_are_refused_before_they_are_read(tmp_path):
    size = ("byte_size", "udata", 1 << 30)
    huge = entry("enumeration_type", "E", size, entry("enumerator", "e1", ("const_value", "sdata", 1)), label="E")
    number = entry("base_type", "B", size, encoding=5, label="B")
    case = Case(tmp_path, gpu(variable("x", "E"), variable("y", "B"), types=[huge, number]))
    for text in ("e1", "(B)1", "x", "y", "y + 1"):
        outcome = checked(case("eval", text, "--lane", 0))
        assert "has 1073741824 bytes, and a number has at most" in outcome.out + outcome.err
        assert outcome.memory < 100 << 20


def test_a_type_that_refers_to_itself_takes_no_other_variable_away(tmp_path):
    loop = entry("enumeration_type", "E", type="E", byte_size=4, label="E")
    case = Case(tmp_path, gpu(variable("before"), variable("bad", "E"), variable("after"), types=[loop]))
    message = "a type leads through more than 64 others, or back to itself"
    for found in (
        checked(case("locals", "--lane", 3)).out,
        checked(case("locals")).out,
        checked(case("bt", "--full")).out,
        checked(case.debug("info locals")).out,
    ):
        assert re.findall(r"^ *(before|bad|after)\b", found, re.MULTILINE) == ["before", "bad", "after"]
        assert message in " ".join(found.split())
    variables = json.loads(checked(case("locals", "--json", "--lane", 3)).out)["frames"][0]["variables"]
    lanes = {each["name"]: each["lanes"]["3"] for each in variables}
    assert lanes["before"]["value"] == lanes["after"]["value"] == 3
    assert lanes["bad"]["reason"]["error"]["kind"] == "type_cycle"
    frame = json.loads(checked(case("bt", "--full", "--json")).out)["stacks"][0]["frames"][0]
    assert [each["name"] for each in frame["locals"]] == ["before", "bad", "after"]


def checked(outcome: Outcome) -> Outcome:
    """An outcome that is within all limits: an answer or an error in plain text."""
    assert not outcome.ended, outcome.ended
    assert outcome.status in (0, 1, 2, 3), outcome.text[-2000:]
    assert not STEERS.search(outcome.text)
    assert "Traceback" not in outcome.text
    assert "internal error" not in outcome.text
    assert outcome.memory < 700 << 20
    return outcome


def one_line(outcome: Outcome) -> str:
    checked(outcome)
    lines = [line for line in outcome.err.splitlines() if not line.startswith("hint:")]
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("dwarfgpu: error: ")
    return lines[0]


def budget_is_named(outcome: Outcome) -> None:
    """The answer is cut, and says by what and how more is had."""
    assert "budget of" in outcome.text
    assert "set budget" in outcome.text


def long_array(count: int = 1 << 27) -> Any:
    return die("array_type", typed("int"), die("subrange_type", ("count", "udata", count)), label="big")


@pytest.mark.parametrize("location", [NOTHING, "DW_OP_piece 4; DW_OP_piece 536870908", "DW_OP_LLVM_undefined"])
def test_an_array_without_a_value_is_one_run(tmp_path: Path, location: str) -> None:
    case = Case(tmp_path, gpu(variable("a", "big", location), types=[long_array()]))
    assert "{<optimized out> <repeats 134217728 times>}" in checked(case("locals")).out
    assert "{<optimized out> <repeats 134217728 times>}" in checked(case("eval", "a")).out


def test_registers_that_are_nowhere_are_walked_as_runs(tmp_path: Path) -> None:
    frame = ops("DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address").hex()
    rules = f"def_cfa_expression {frame}; expression 40 {ops(NOTHING).hex()}; expression 16 {ops(NOTHING).hex()}"
    case = Case(tmp_path, gpu(variable("a"), rules=rules))
    checked(case("bt", "--registers"))
    checked(case.debug("info frame", "up", "info registers", "bt -full"))


def test_equal_elements_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    case = Case(
        tmp_path, gpu(variable("a", "big", "DW_OP_implicit_value 00000000; DW_OP_LLVM_extend 32 65536"),
                      types=[long_array(65536)])
    )  # fmt: skip
    assert "<repeats 65536 times>" in checked(case("eval", "a")).out


SIZE = ("byte_size", "data1", 4)
CIRCLES = {
    "enumeration": [entry("enumeration_type", "E", SIZE, type="t", label="t")],
    "enumeration without size": [entry("enumeration_type", "E", type="t", label="t")],
    "enumeration of a typedef": [entry("enumeration_type", "E", type="u", label="t"),
        entry("typedef", "T", type="t", label="u")],
    "typedef": [entry("typedef", "T", type="t", label="t")],  "const": [die("const_type", typed("t"), label="t")],
    "const and volatile": [die("const_type", typed("u"), label="t"), die("volatile_type", typed("t"), label="u")],
    "array": [die("array_type", typed("t"), die("subrange_type", ("count", "udata", 2)), label="t")],
    "array by its index": [die("array_type", typed("int"),
        die("subrange_type", typed("u"), ("count", "udata", 2), label="u"), label="t")],
    "subrange": [die("subrange_type", typed("t"), ("count", "udata", 2), label="t")],
    "structure": [entry("structure_type", "S", SIZE, member("m", "t"), member("n", "t"), label="t")],
    "union": [entry("union_type", "U", SIZE, member("m", "t"), member("n", "t"), label="t")],
    "base": [entry("class_type", "S", SIZE, die("inheritance", typed("t"), ("data_member_location", "udata", 0)),
        label="t")],
    "pointer": [die("pointer_type", typed("t"), label="t")],
    "reference": [die("reference_type", typed("t"), label="t")],
    "function": [die("subroutine_type", typed("t"), die("formal_parameter", typed("t")), label="t")],
    "set": [die("set_type", typed("t"), label="t")],
    "pointer to member": [entry("ptr_to_member_type", type="t", containing_type="t", label="t")],
    "file": [die("file_type", typed("t"), label="t")],        "atomic": [die("atomic_type", typed("t"), label="t")],
    "restrict": [die("restrict_type", typed("t"), label="t")]}  # fmt: skip


@pytest.mark.parametrize("name", CIRCLES)
@pytest.mark.sampled(8)
def test_a_type_that_leads_to_itself_takes_only_itself_away(tmp_path: Path, name: str) -> None:
    case = Case(tmp_path, gpu(variable("good"), variable("bad", "t", AT_DATA), types=CIRCLES[name]))
    lines = (
        "info locals --json",
        "print bad",
        "whatis bad",
        "ptype bad",
        "explain bad",
        "print sizeof(bad)",
        "x bad",
        "ptype/o bad",
    )
    out = checked(case.debug(*lines, "print bad + 1", "print bad == bad", "info scope k", "info locals")).out
    assert "good = 0" in out


def diamonds(depth: int, *, step: int = 0) -> list[Any]:
    types = [entry("structure_type", "B0", SIZE, member("x", "int"), label="B0")]
    for level in range(1, depth):
        bases = [
            die("inheritance", typed(f"B{level - 1}"), ("data_member_location", "udata", step * side))
            for side in range(2)
        ]
        types.append(entry("structure_type", f"B{level}", SIZE, *bases, label=f"B{level}"))
    return types


@pytest.mark.parametrize("step", [0, 4])
@pytest.mark.sampled(4)
def test_a_base_that_is_inherited_twice_is_visited_once(tmp_path: Path, step: int) -> None:
    case = Case(tmp_path, gpu(variable("v", "B39", AT_DATA), types=diamonds(40, step=step)))
    checked(case("locals"))
    checked(case("eval", "v", "--json", "--lane", "1"))
    assert "no member named x" in one_line(case("eval", "v.x")) or step
    for text in ("print v.nosuch", "print v", "explain v", "print &v.nosuch", "print *(struct B0 *)&v", "ptype/o v"):
        checked(case.debug(text))


def test_a_base_that_is_inherited_twice_has_its_members(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("v", "B9", AT_DATA), types=diamonds(10)))
    assert checked(case("eval", "v.x")).out == "v.x = 50462976  (64 lanes)\n"
    assert checked(case("eval", "v")).out.count("x = 50462976") == 1


@pytest.mark.slow
def test_members_of_members_of_members_are_paid_from_the_budget(tmp_path: Path) -> None:
    types = [entry("structure_type", "N0", SIZE, member("m", "int"), label="N0")]
    for level in range(1, 20):
        members = [member(name, f"N{level - 1}") for name in "abc"]
        types.append(entry("structure_type", f"N{level}", SIZE, *members, label=f"N{level}"))
    case = Case(tmp_path, gpu(variable("a", "N19", AT_DATA), variable("b", "N19"), types=types))
    budget_is_named(checked(case("locals")))
    budget_is_named(checked(case("eval", "b", "--json", "--lane", "all")))
    budget_is_named(checked(case("eval", "a", "--npz", tmp_path / "a.npz")))
    checked(case.debug("ptype a", "ptype/o a", "explain a", "set print pretty on", "print a"))
    assert "budget of 100 steps" in checked(case("eval", "a", "--budget", "100")).text


@every(words=[(), ("--json", "--lane", "all")], start=["DW_OP_lit1", "DW_OP_LLVM_push_lane; DW_OP_lit1"])
def test_a_trace_shows_the_top_of_a_stack_that_grows(tmp_path: Path, words: tuple[str, ...], start: str) -> None:
    case = Case(tmp_path, gpu(variable("a", location=f"{start}; DW_OP_skip -4")))
    trace_is_cut(checked(case("eval", "a", "--trace", *words)))


def test_a_trace_without_a_program_is_bounded() -> None:
    ops = "DW_OP_lit1; DW_OP_skip -4"
    trace_is_cut(checked(bounded("eval", "--ops", ops, "--trace")))
    trace_is_cut(checked(bounded("eval", "--ops", ops, "--trace", "--json")))


def trace_is_cut(outcome: Outcome) -> None:
    """The middle of the trace is left out, with a note, and the error at its end is that of the expression."""
    assert re.search(r'\d+ operations are left out: the trace costs|"left_out": \d+', outcome.text)
    assert "the stack holds more than 4096 entries" in outcome.text


def test_parts_times_lanes_are_paid_from_the_budget(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    text = "DW_OP_lit6; DW_OP_LLVM_extend 8 65536"
    budget_is_named(checked(case("eval", "--ops", text, "--json", "--lane", "all")))
    assert checked(bounded("eval", "--ops", text, "--json")).out.count('"space"') == 65536


@pytest.mark.slow
def test_many_long_evaluations_are_paid_from_the_budget(tmp_path: Path) -> None:
    loop = "DW_OP_lit1; DW_OP_drop; DW_OP_skip -5"
    case = Case(tmp_path, gpu(*(variable(f"v{number}", location=loop) for number in range(400))))
    budget_is_named(checked(case("locals", "--lane", "1")))


@pytest.mark.slow
def test_variables_that_share_a_long_list(tmp_path: Path) -> None:
    body = b"\x04\x00\xff\x01\x01\x30" * 3000 + b"\0"
    head = (len(body) + 8).to_bytes(4, "little") + b"\x05\0\x08\0\0\0\0\0"
    variables = [entry("variable", f"v{number}", ("location", "sec_offset", 12), type="int") for number in range(400)]
    case = Case(tmp_path, gpu(*variables, extra={".debug_loclists": head + body}))
    budget_is_named(checked(case("locals", "--lane", "1")))
    budget_is_named(checked(case.debug("info scope k")))


SHARED = b"\x04\x00\xff\x01\x01\x30" * 5000 + b"\0"
"""A list of 5,000 entries that hold at the address of the wave."""


def sharing_lists(step: int = 0) -> bytes:
    """A file of 5,000 variables with one list; with a step, the list of each one begins so much later."""
    head = (len(SHARED) + 8).to_bytes(4, "little") + b"\x05\0\x08\0\0\0\0\0"
    variables = [
        entry("variable", f"v{number}", ("location", "sec_offset", 12 + step * number), type="int")
        for number in range(5000)
    ]
    return gpu(*variables, extra={".debug_loclists": head + SHARED})


WAYS = [(), ("--json",), ("--pc", hex(PC)), ("--pc", hex(PC), "--json")]


@pytest.mark.parametrize(
    "step, words",
    [pytest.param(step, words, marks=() if (step, words) in ((0, ()), (0, WAYS[3]), (6, ())) else pytest.mark.slow)
     for step in (0, 6) for words in WAYS])  # fmt: skip
@pytest.mark.sampled(6)
def test_a_long_list_that_is_shared_is_shown_once(tmp_path: Path, step: int, words: tuple[str, ...]) -> None:
    outcome = small(bounded("dump", Case(tmp_path, sharing_lists(step)).file, *words), 100 << 20)
    if step:
        assert "overlap" in outcome.text
        return
    first = re.findall('"entries_with": (.*)' if "--json" in words else "shown with (.*)", outcome.out)
    assert len(first) == 4999
    assert {int(offset, 0) for offset in first} == {0x51}


@pytest.mark.slow
def test_questions_about_variables_that_share_a_long_list(tmp_path: Path) -> None:
    case = Case(tmp_path, sharing_lists())
    small(case.debug("print v1", "info locals", "info scope k"), 100 << 20)
    for words in (("locals", "--lane", "1"), ("eval", "v1", "--json"), ("bt",), ("verify",)):
        small(case(*words) if words[0] != "verify" else bounded("verify", case.file), 100 << 20)


def test_a_short_list_that_is_shared_is_shown_with_each_entry(tmp_path: Path) -> None:
    body = b"\x04\x00\xff\x01\x01\x30" * 3 + b"\0"
    head = (len(body) + 8).to_bytes(4, "little") + b"\x05\0\x08\0\0\0\0\0"
    variables = [entry("variable", name, ("location", "sec_offset", 12), type="int") for name in "ab"]
    file = Case(tmp_path, gpu(*variables, extra={".debug_loclists": head + body})).file
    assert bounded("dump", file).out.count("DW_OP_lit0") == 6


@pytest.mark.slow
def test_names_that_overlap(tmp_path: Path) -> None:
    variables = [die("variable", ("name", "strp", 4 + 24 * number), typed("int")) for number in range(20_000)]
    case = Case(tmp_path, gpu(*variables, extra={".debug_str": b"pad\0" + b"x" * 500_000 + b"\0"}))
    small(case("locals", "--lane", "1"), 300 << 20)
    small(case.debug("print xx", "info scope k"), 300 << 20)
    small(bounded("dump", case.file), 300 << 20)


def small(outcome: Outcome, memory: int) -> Outcome:
    checked(outcome)
    assert outcome.memory < memory, outcome.memory
    return outcome


@pytest.mark.slow
def test_variables_that_specify_each_other(tmp_path: Path) -> None:
    variables = [
        die("variable", ("specification", "ref4", f"v{(number + 1) % 60_000}"), label=f"v{number}")
        for number in range(60_000)
    ]
    case = Case(tmp_path, gpu(*variables))
    assert "reference cycle" in small(case("locals", seconds=20), 100 << 20).err
    budget_is_named(small(case.debug("print v1", seconds=20), 100 << 20))


@pytest.mark.slow
def test_an_entry_is_found_by_name_among_long_chains(tmp_path: Path) -> None:
    count = 20_000
    variables = [
        die("variable", ("specification", "ref4", f"v{number + 1}"), label=f"v{number}") for number in range(count)
    ]
    case = Case(tmp_path, gpu(*variables, entry("variable", "end", type="int", label=f"v{count}")))
    for words in (("dump", "--name", "end"), ("info", "--name", "end")):
        small(bounded(words[0], case.file, *words[1:], seconds=10), 100 << 20)
    assert bounded("dump", case.file, "--name", "end", seconds=10).out.count('DW_AT_name  "end"') == 1


def many_rows(count: int) -> bytes:
    """A file whose line program is compressed, and has so many rows."""
    program = lines.program(("set_address", CODE)) + b"\1" * count + lines.program("end_sequence")
    extra = {".debug_line": lines.table(program)}
    return gpu(variable("a"), extra=extra, unit_attributes=[("stmt_list", "sec_offset", 0)], compressed=[".debug_line"])


@pytest.mark.slow
def test_a_compressed_line_program_of_many_rows(tmp_path: Path) -> None:
    data = many_rows(15_000_000)
    assert len(data) < 20_000
    case = Case(tmp_path, data)
    budget_is_named(small(bounded("info", case.file, "--pc", hex(CODE + 16)), 150 << 20))
    budget_is_named(small(case("bt"), 150 << 20))
    small(case.debug("list k", "info line 3", "info source"), 200 << 20)
    budget_is_named(small(bounded("dump", case.file, "--section", "line", size=1 << 26), 150 << 20))


@pytest.mark.parametrize("count", [1_500_000, pytest.param(15_000_000, marks=pytest.mark.slow)])
@pytest.mark.sampled(4)
def test_a_compressed_line_program_is_read_whole_if_the_user_says_so(tmp_path: Path, count: int) -> None:
    words = ("info", Case(tmp_path, many_rows(count)).file, "--pc", hex(CODE + 16))
    budget_is_named(bounded(*words))
    assert "budget" not in bounded(*words, "--budget", "unlimited", seconds=60, memory=4 << 30).text


def test_a_compressed_line_program_as_compilers_write_it_costs_nothing(tmp_path: Path) -> None:
    program = lines.program(("set_address", CODE), ("special", 0, 1), ("advance_pc", 4), "end_sequence")
    extra, unit = {".debug_line": lines.table(program)}, [("stmt_list", "sec_offset", 0)]
    data = gpu(variable("a"), extra=extra, unit_attributes=unit, compressed=[".debug_line"])
    outcome = checked(bounded("info", Case(tmp_path, data).file, "--pc", hex(CODE), "--budget", "0"))
    assert "b.c:2" in outcome.out


def test_units_without_length_before_one_that_has_a_length(tmp_path: Path) -> None:
    section = Image(gpu(variable("a"))).section(".debug_info")
    assert section is not None
    extra = {".debug_info": bytes(section.data) + bytes(1 << 19) + b"\1"}
    case = Case(tmp_path, gpu(variable("a"), extra=extra))
    assert "unit-length" in checked(bounded("verify", case.file)).text


@pytest.mark.slow
def test_compressed_abbreviations_that_no_entry_uses(tmp_path: Path) -> None:
    section = Image(gpu(variable("a"))).section(".debug_abbrev")
    assert section is not None
    unused = b"".join(uleb(number) + b"\x34\0\x03\x08\0\0" for number in range(200, 600_000))
    extra = {".debug_abbrev": bytes(section.data)[:-1] + unused}
    case = Case(tmp_path, gpu(variable("a"), extra=extra, compressed=[".debug_abbrev"]))
    assert "DW_TAG_subprogram" in checked(bounded("dump", case.file, "--depth", "1")).out
    assert "more abbreviations" in checked(bounded("verify", case.file)).text


def test_many_section_headers_of_the_same_bytes(tmp_path: Path) -> None:
    frames = FrameBuilder()
    cie = frames.cie(code=4, data=4, column=16)
    for number in range(300):
        frames.fde(cie, CODE + 4 * number, 4, "def_cfa 64 0; advance_loc 1; undefined 16")
    data = sharing(gpu(variable("a"), sections={".debug_frame": bytes(frames.data)}), ".debug_frame", 2000)
    case = Case(tmp_path, data)
    for words in (("info",), ("cfi",), ("cfi", "--pc", hex(PC)), ("dump", "--section", "frame")):
        small(bounded(words[0], case.file, *words[1:]), 100 << 20)
    small(case("bt"), 100 << 20)


@pytest.mark.slow
def test_nested_structures_as_json(tmp_path: Path) -> None:
    types = [entry("structure_type", "N0", SIZE, member("m", "int"), label="N0")]
    for level in range(1, 40):
        members = [member(name, f"N{level - 1}") for name in "abc"]
        types.append(entry("structure_type", f"N{level}", SIZE, *members, label=f"N{level}"))
    data = gpu(variable("a", "N39", AT_DATA), variable("b", "N39"), types=types)
    assert len(data) < 3000
    case = Case(tmp_path, data)
    for words in (("locals", "--json"), ("eval", "b", "--json", "--lane", "all"), ("locals",)):
        budget_is_named(small(case(*words), 100 << 20))


@pytest.mark.slow
def test_rows_with_many_rules(tmp_path: Path) -> None:
    rules = cfa("def_cfa 64 0") + b"".join(cfa(f"val_offset {number} 1") for number in range(9900)) + b"\x41" * 12_000
    frames = FrameBuilder()
    frames.fde(frames.cie(code=4, data=4, column=16), CODE, 1 << 20, rules)
    case = Case(tmp_path, gpu(variable("a"), sections={".debug_frame": bytes(frames.data)}))
    (entry,) = [item for item in json.loads(checked(bounded("cfi", case.file, "--json")).out)["entries"]
                if item["kind"] == "fde"]  # fmt: skip
    assert [row.get("as_before", False) for row in entry["rows"][:4]] == [False, True, True, True]
    assert checked(bounded("cfi", case.file)).out.count("  as before\n") > 11_000
    checked(bounded("cfi", case.file, "--pc", "0x1010", "--json"))


@pytest.mark.parametrize("size", [0x40000000, 1 << 60, 1 << 63, (1 << 64) - 1])
@pytest.mark.sampled(6)
def test_sizes_that_no_object_has(tmp_path: Path, size: int) -> None:
    kinds = ("enumeration_type", "base_type", "structure_type", "pointer_type", "string_type", "ptr_to_member_type")
    types = [entry(kind, kind, ("byte_size", "data8", size), encoding=5, label=kind) for kind in kinds]
    case = Case(tmp_path, gpu(variable("good"), *(variable(f"v_{kind}", kind) for kind in kinds), types=types))
    assert "lanes 0-7      0  1  2  3  4  5  6  7" in checked(case("locals")).out
    lines = [f"{verb}v_{kind}" for kind in kinds for verb in ("print ", "ptype ", "x ", "print -", "print &", "p/x ")]
    for line in ("print (enum enumeration_type)1", *lines):
        checked(case.debug(line)) if line.startswith("print") and "base" in line else None
    checked(case.debug(*lines))


EXPRESSIONS = (
    "even" + "+even" * 900, "a::" * 900 + "b", "(" * 900 + "even" + ")" * 900, "-" * 900 + "even", "*" * 900 + "s",
    "s" + "[0]" * 900, "even?1:" * 900 + "2", "even," * 900 + "1", "(int)" * 900 + "even", "even" + ".x" * 900,
    "even" + "->x" * 900, "even" + "++" * 900, "int" + "[2]" * 900, "{int}" * 300 + "even", "a<" * 900 + ">" * 900,
    "even@" * 900 + "1", "local#" * 500 + "1", "9" * 5000, "9" * 100_000, "0x" + "f" * 5000, "even@1e400", "s[1e400]",
    "s[0.0/0.0]", "$v0[1e400]", "s@1e400", "1e400@2", "(char)1e400", "*(int *)1e30", "s[1<<63]", "even@0x7fffffffffff",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(EXPRESSIONS), 5))
def test_expressions_of_absurd_depth_and_size(tmp_path: Path, number: int) -> None:
    array = die("array_type", typed("int"), die("subrange_type", ("count", "udata", 8)), label="s")
    case = Case(tmp_path, gpu(variable("even"), variable("s", "s", AT_DATA), types=[array]))
    for text in EXPRESSIONS[number : number + 5]:
        checked(case("eval", text, "--lane", "1"))
        checked(case.debug(f"print {text}", f"ptype {text}"))


def test_an_index_is_an_integer(tmp_path: Path) -> None:
    array = die("array_type", typed("int"), die("subrange_type", ("count", "udata", 8)), label="s")
    case = Case(tmp_path, gpu(variable("s", "s", AT_DATA), types=[array]))
    assert "Non-integral right operand" in one_line(case("eval", "s[1.5]"))
    assert "Non-integral right operand" in one_line(case("eval", "s[0]@1.5"))


HUGE = "99999999999999999999"
LINES = (
    f"up {HUGE}", f"down {HUGE}", f"frame {HUGE}", f"wave {HUGE}", f"lane {HUGE}", f"bt {HUGE}", f"bt -{HUGE}",
    f"list {HUGE}", f"x/{HUGE}x $pc", f"info line {HUGE}", f"set listsize {HUGE}", "set width 10", "set width 1",
    "bt", "locals", "info waves", "info lanes", "set height 1", f"history {HUGE}", f"print ${HUGE}", f"print $${HUGE}",
    'printf "%1000000000d", 1', 'printf "%.1000000000f", 1.0', f'printf "%{HUGE}d", 1', f"lane apply {HUGE} print 1",
    "x/1000000000i $pc", f"disassemble 0,{HUGE}", "wave " + "9" * 5000, "up " + "9" * 5000, "set budget " + "9" * 5000,
)  # fmt: skip


@pytest.mark.slow
def test_commands_with_absurd_numbers(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    checked(case.debug(*LINES))
    for option in ("--read", "--lane", "--wave", "--frame", "--stack", "--budget"):
        checked(bounded("eval", "--ops", "DW_OP_lit1", option, "9" * 5000))
        checked(case("eval", "a", option, "9" * 5000))


@pytest.mark.parametrize("lanes", [[], [-1], [-1, 2], [1 << 70, 2], [1.5], ["a"], np.array([-1, 2]), np.array([])])
def test_lane_sets_of_what_is_no_lane(lanes: Any) -> None:
    with pytest.raises(UsageError):
        LaneSet.of(lanes)


def test_lane_sets_of_numpy_integers() -> None:
    assert LaneSet.of(np.array([7])) == LaneSet.of([7])
    assert LaneSet.of(np.array([7], dtype="u1")).lane == 7


@pytest.mark.parametrize("what", ["/dev/zero", "/dev/urandom", "fifo", "folder", "socket"])
@pytest.mark.sampled(6)
def test_inputs_are_regular_files(tmp_path: Path, what: str) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    path = tmp_path / what if not what.startswith("/") else Path(what)
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    other = state(tmp_path / "other.json", case.file, code_objects=[{"path": str(path), "load_address": 0}])
    for words in (
        ("locals", case.file, "--state", path),
        ("debug", "-nx", "-x", path),
        ("info", path),
        ("info", f"{path}@gfx90a"),
    ):
        one_line(bounded(*words))
    one_line(case.debug(f"source {path}"))
    checked(bounded("locals", case.file, "--state", other))
    checked(bounded("snapshot", "info", other))


def test_a_pipe_that_a_shell_opens(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    read, write = os.pipe()
    os.write(write, case.file.read_bytes())
    os.close(write)
    assert "gfx90a" in checked(bounded("info", f"/dev/fd/{read}")).out
    os.close(read)


def test_a_mapped_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    large = tmp_path / "large.co"
    large.write_bytes(case.file.read_bytes())
    os.truncate(large, 1 << 26)
    lines = (f"shell truncate -s 100 {large}", "info functions", f"file {case.file}", "info functions")
    outcome = checked(bounded("debug", large, "-nx", stdin="\n".join(lines).encode()))
    assert "has become shorter" in one_line(outcome)
    assert "k()" in outcome.out


# Files that change while a question is about them, in a process of its own


def after(change: Any, function: Any) -> Any:
    """A function that changes something before it does what it did."""

    def changing(*arguments: Any, **options: Any) -> Any:
        change()
        return function(*arguments, **options)

    return changing


def mapping_all(words: list[str], change: Any, *places: tuple[Any, str]) -> int:
    """Run a command line that maps every file, in which a function changes one when it is first called."""
    from dwarfgpu.cli import main
    from dwarfgpu.machines import snapshot_folder
    from dwarfgpu.objfile import place

    place.MAP_FROM = 0
    snapshot_folder.READ_BELOW = 0
    for owner, name in places:
        setattr(owner, name, after(change, getattr(owner, name)))
    return main(words)


def padded(case: Case) -> Case:
    """The same file with its sections in pages of their own, so that less of it is less than a page."""
    case.file.write_bytes(gpu(*(variable(f"a{number}") for number in range(1000))))
    return case


def rewrite(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(1, 1))


CHANGES = {
    "is truncated": (lambda path: os.truncate(path, 200), "has become shorter"),
    "is empty": (lambda path: os.truncate(path, 0), "has become shorter"),
    "is rewritten": (rewrite, "has changed since")}  # fmt: skip


def changing_questions() -> Iterator[Any]:
    """Yield each question with a change, and each change with a question; all others are for slow runs only."""
    for number, words in enumerate([("dump",), ("dump", "--json"), ("verify",), ("locals", "--lane", "1"), ("info",)]):
        for place, name in enumerate(CHANGES):
            yield pytest.param(words, name, marks=() if number % len(CHANGES) == place else pytest.mark.slow)


@pytest.mark.parametrize("words, name", list(changing_questions()))
def test_a_mapped_file_that_changes_during_a_question_is_an_error(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.questions import files

    case = padded(Case(tmp_path, gpu(variable("a"))))
    change, message = CHANGES[name]
    command, *rest = words
    given = ["--state", case.state] if command == "locals" else []
    places = ((Unit, "__init__"), (files, "info_file"))

    def run(given_words: list[str]) -> int:
        return mapping_all(given_words, lambda: change(case.file), *places)

    outcome = bounded(command, case.file, *given, *rest, run=run)
    assert message in one_line(outcome)
    assert outcome.status == 3, outcome.text


def test_a_file_that_is_replaced_is_read_as_it_was(tmp_path: Path) -> None:
    from dwarfgpu.objfile.info.unit import Unit

    case = padded(Case(tmp_path, gpu(variable("a"))))
    other = tmp_path / "other"

    def replace() -> None:
        other.write_bytes(b"other")
        other.rename(case.file)

    def run(words: list[str]) -> int:
        return mapping_all(words, replace, (Unit, "__init__"))

    assert "a999" in checked(bounded("dump", case.file, run=run)).out


def test_arrays_of_a_snapshot_that_change_during_a_question_are_an_error(tmp_path: Path) -> None:
    from dwarfgpu.program.frames.wave import Wave

    case = Case(tmp_path, gpu(variable("a")))
    folder = tmp_path / "s.dgs"
    checked(bounded("snapshot", "convert", case.state, folder))
    large = folder / "v0.npy"
    header = large.read_bytes()[:128]

    def run(words: list[str]) -> int:
        return mapping_all(words, lambda: os.truncate(large, len(header)), (Wave, "frame"))

    outcome = bounded("eval", case.file, "a", "--state", folder, "--lane", "63", run=run)
    assert "v0.npy: the file has become shorter" in one_line(outcome)


def test_gpu_core_files_that_change_during_a_question_are_an_error(tmp_path: Path) -> None:
    from dwarfgpu.program.frames.wave import Wave

    case = Case(tmp_path, gpu(variable("a")))
    core = tmp_path / "gpucore.1"
    checked(case.debug(f"generate-core-file {core}"))
    written = core if core.exists() else next(tmp_path.glob("gpucore*"))

    def run(words: list[str]) -> int:
        return mapping_all(words, lambda: os.truncate(written, 4096), (Wave, "frame"))

    outcome = bounded("eval", case.file, "a", "--state", written, "--lane", "63", run=run)
    assert "the file has become shorter" in one_line(outcome)


def test_the_debugger_goes_on_with_another_file(tmp_path: Path) -> None:
    from dwarfgpu.objfile.info.unit import Unit

    case = padded(Case(tmp_path, gpu(variable("a"))))
    good = tmp_path / "good.co"
    good.write_bytes(gpu(variable("a")))
    lines = ("info functions", "info functions", f"file {good}", "info functions")

    def run(words: list[str]) -> int:
        return mapping_all(words, lambda: os.truncate(case.file, 100), (Unit, "__init__"))

    outcome = checked(bounded("debug", case.file, "-nx", stdin="\n".join(lines).encode(), run=run))
    assert outcome.err.count("has become shorter") == 2
    assert "k()" in outcome.out


def test_an_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    out = tmp_path / "out.npz"
    out.write_bytes(b"old")

    def with_a_full_disk(words: list[str]) -> int:
        from dwarfgpu.cli import main

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return main(words)

    def with_a_signal(words: list[str]) -> int:
        from dwarfgpu.cli import main

        save = np.savez

        def ended(stream: Any, **columns: Any) -> None:
            save(stream, **columns)
            os.kill(os.getpid(), signal.SIGTERM)

        np.savez = ended
        return main(words)

    before = sorted(tmp_path.iterdir())
    one_line(case("eval", "a", "--npz", out, "--lane", "all", size=100, run=with_a_full_disk))
    assert case("eval", "a", "--npz", out, "--lane", "all", run=with_a_signal).status == 128 + signal.SIGTERM
    one_line(case("eval", "a", "--npz", tmp_path / "nowhere/a.npz", "--lane", "all"))
    assert out.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == before
    checked(case("eval", "a", "--npz", out, "--lane", "all"))
    with np.load(out) as arrays:
        assert len(arrays["0.value"]) == 64


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("locals",), ("dump", "--json"), ("debug",)])
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    case = Case(tmp_path, gpu(variable("a")))

    def full(_words: list[str]) -> int:
        import sys

        from dwarfgpu.cli import main

        sys.stdout = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115
        command, *rest = words
        given = {"locals": [case.file, "--state", case.state], "dump": [case.file], "debug": ["-nx", "-ex", "help"]}
        return main([command, *map(str, given.get(command, [])), *rest])

    assert "No space left on device" in one_line(bounded(run=full))


def test_a_log_on_a_full_disk_is_switched_off(tmp_path: Path) -> None:
    case = Case(tmp_path, gpu(variable("a")))
    outcome = checked(case.debug("set logging file /dev/full", "set logging on", "show confirm", r"echo on\n"))
    assert "No space left on device" in outcome.err
    assert outcome.out.endswith("on\n")


EVIL = "A\x1b[31m\x1b]0;t\x07\x1b]52;c;eA==\x07\b\x7f\u0090\u009b31m\u202eB\u2066"


@pytest.fixture(scope="module")
def steering(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A file with such a name everywhere, and a snapshot whose waves have it."""
    types = [
        entry("structure_type", f"{EVIL}S", SIZE, member(EVIL, "int"), label="S"),
        entry("typedef", f"{EVIL}T", type="S", label="T"),
        entry("enumeration_type", f"{EVIL}E", SIZE, entry("enumerator", EVIL, const_value=1), label="E"),
        entry("pointer_type", type="S", byte_size=8, label="P")]  # fmt: skip
    data = gpu(
        variable(EVIL, "T", AT_DATA), variable("x", "T", AT_DATA), variable("e", "E", AT_DATA), variable("p", "P"),
        types=types, kernel=EVIL, unit_name=EVIL, producer=EVIL, folder=EVIL, symbols=(EVIL, f"{EVIL}2"),
        sections={f".{EVIL}": b"abc"})  # fmt: skip
    folder = tmp_path_factory.mktemp("steering") / "a\x1b[31m\x9b"
    folder.mkdir()
    return Case(folder, data, f"{EVIL.replace('/', '')}.co", waves=(f"1:{EVIL}", "2:\u202e"))


OPERANDS = ("", "x", "e", "p", "$pc", "&x", "k", "struct S", "0", "all", "lit1", "DW_OP_lit1", "*$pc", "1")
LEFT_OUT = frozenset(("quit", "shell", "pipe", "python", "source", "tui", "define", "target launch", "!"))


@pytest.mark.slow
def test_no_command_of_the_prompt_lets_a_name_steer_the_terminal(
    steering: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where some of them write files
    names = [row.name for row in COMMANDS if row.run and row.name not in LEFT_OUT]
    assert len(names) > 60
    quarter = -(-len(names) // 4)
    for start in range(0, len(names), quarter):
        lines = [f"{name} {operand}".strip() for name in names[start : start + quarter] for operand in OPERANDS]
        text = "\n".join(("set confirm off", "set logging enabled off", *lines))
        words = ("debug", steering.file, "--state", steering.state, "-nx")
        outcome = bounded(*words, stdin=text.encode(), seconds=60, size=1 << 28)
        assert not outcome.ended
        assert not STEERS.search(outcome.text), STEERS.search(outcome.text)
        assert "internal error" not in outcome.text, re.findall(".*internal error.*", outcome.text)


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_command_of_the_shell_lets_a_name_steer_the_terminal(steering: Case, form: tuple[str, ...]) -> None:
    for name in sorted({row.shell.names[0] for row in AT_SHELL.values() if row.shell}):
        operands = {"eval": ["x"], "addr": ["0x1010"], "lines": ["k"], "state": ["k"]}.get(name, [])
        for rest in (["--state", steering.state], []):
            outcome = bounded(name, steering.file, *operands, *rest, *form, seconds=20, size=1 << 28)
            assert not STEERS.search(outcome.text), name
            assert outcome.status in (0, 1, 2, 3), (name, outcome.text[-500:])
            if form and outcome.out:
                json.loads(outcome.out)


def test_styles_of_the_program_are_colours_and_others_are_not(steering: Case) -> None:
    outcome = steering("locals", "--wave", "1", "--color", "always")
    assert "\x1b[1;36mx\x1b[0m" in outcome.out
    assert "\x1b[31m" not in outcome.out
    assert r"\x1b[31m" in outcome.out


def test_what_the_user_types_is_written_as_it_is(tmp_path: Path) -> None:
    assert bounded("debug", "-nx", "-ex", r"echo \e[1mx\e[0m\n").out == "\x1b[1mx\x1b[0m\n"


@pytest.mark.parametrize("name", ["a=b", "--", "x++", "'\"onload='", "<script>"])
@pytest.mark.sampled(6)
def test_a_variable_is_drawn_whatever_its_name_would_be_as_an_expression(tmp_path, name):
    case = Case(tmp_path, gpu(variable(name)))
    assert "bad expression" not in checked(case("report")).out
    assert "in lanes and waves" in json.loads(checked(case("report", "--json")).out)["html"]


def test_bounds_that_ask_for_the_caller_of_each_wave(tmp_path: Path) -> None:
    count = ("count", "exprloc", ops("DW_OP_lit1; DW_OP_regx v0; DW_OP_call_frame_cfa; DW_OP_drop; DW_OP_drop"))
    array = die("array_type", typed("int"), die("subrange_type", count), label="s")
    holder = entry("structure_type", "h", member("inner", "s"), byte_size=8, label="h")
    case = Case(
        tmp_path,
        gpu(variable("a", "s"), variable("b", "h"), types=[array, holder], rules="def_cfa 64 0"),
        waves=("1:1:1:1", "1:1:1:2"),
    )
    page = case("report", "-o", tmp_path / "page.html")
    assert (page.status, page.ended, page.err) == (0, "", "")
    assert case("eval", "b", "--wave", "all", "--lane", "0").out.count("{inner = <error: the read of 64 bits") == 2


def test_an_enumeration_of_absurd_size(tmp_path: Path) -> None:
    one = entry("enumerator", "one", ("const_value", "sdata", 1))
    kind = entry("enumeration_type", "e", ("byte_size", "data8", 1 << 60), one, label="e")
    case = Case(tmp_path, gpu(variable("a", "e"), types=[kind]))
    for asked in (case("eval", "a"), case.debug("print one"), case.debug("ptype enum e")):
        assert "not enough memory" not in checked(asked).text
    assert "1152921504606846976 bytes" in case("eval", "a").text
