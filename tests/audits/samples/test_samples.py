"""Samples of rocprofv3 beside their code: where each belongs, what is counted there, and files that are wrong."""

import json
import re
import subprocess
from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st

from dwarfgpu.audits.samples.annotation import (
    AMBIGUOUS,
    NO_INSTRUCTION,
    OTHER_CODE,
    OTHER_INSTRUCTION,
    OUTSIDE,
    annotate,
)
from dwarfgpu.audits.samples.sample_files import BROKEN, UNKNOWN_CODE, read_samples
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.profiles import written
from dwarfgpu.states.program import open_program
from tests.builders import protobuf
from tests.builders.errors import raised
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

FOLDER = ROOT / "fixtures/src/samples"
JSON, STOCHASTIC, HOST_TRAP = (
    FOLDER / f"divergent.{name}"
    for name in ("O2.results.json", "O2.pc_sampling_stochastic.csv", "O0.pc_sampling_host_trap.csv")
)
O2, O0 = (f"{ROOT}/fixtures/amdgpu/hip-kernels.gfx1100.w32.{level}.v5.co" for level in ("O2", "O0"))
BY_HAND = {
    110: (12, 240, 6),
    109: (4, 80, 1),
    73: (11, 8 * 16 + 3 * 12, 6),
    88: (3, 48, 3),
    97: (5, 160, 5),
    113: (1, 32, 0),
}
"""What was written into the files: samples of each line, active lanes in all of them, stalls."""


@pytest.fixture(scope="module")
def program():
    return open_program(O2)


@for_each("path", JSON, STOCHASTIC)
def test_lines_have_what_was_written_into_the_file(program, path):
    annotation = annotate(read_samples(str(path)), [program])
    lines = {row.line: row.counts for row in annotation.lines()}
    assert {line: (each.samples, each.lanes, each.stalled) for line, each in lines.items()} == BY_HAND
    assert lines[73].reasons == Counter(WAITCNT=5, ALU_DEPENDENCY=1)
    assert annotation.placed == 36
    unknown = {UNKNOWN_CODE: 2, OUTSIDE: 1, OTHER_CODE: 1} if path is JSON else {UNKNOWN_CODE: 1}
    assert annotation.left_out == Counter(unknown)
    assert annotation.samples.count == 36 + sum(unknown.values())
    (loop,) = annotation.loops()
    assert (loop.low, loop.high, loop.first, loop.last, loop.counts.samples) == (0x1D48, 0x1D68, 109, 110, 12)
    hot = annotation.instructions[1]
    assert [(call.function, call.source.line, call.inlined) for call in hot.calls] == [
        ("square", 73, True), ("polynomial", 82, False)]  # fmt: skip
    assert {"x", "order"} <= {variable.name for variable in hot.variables}


def test_samples_without_an_address_that_fit_several_instructions_of_their_line():
    annotation = annotate(read_samples(str(HOST_TRAP)), [open_program(O0)])
    assert (annotation.placed, annotation.shared, annotation.has_stalls) == (26, 9, False)
    assert Counter({row.line: row.counts.samples for row in annotation.lines()}) == Counter(
        {109: 9, 110: 6, 97: 6, 82: 4, 113: 1}
    )


def changed(tmp_path, path, *changes):
    """A copy of a file with other text in it."""
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    copy = tmp_path / path.name
    copy.write_text(text)
    return read_samples(str(copy))


def test_several_files_are_told_apart_by_their_instructions(program, tmp_path):
    other = open_program(f"{ROOT}/fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co")
    for programs in ([program, other], [other, program]):
        annotation = annotate(read_samples(str(JSON)), programs)
        assert {each.code.program for each in annotation.instructions} == {program}
        assert annotation.placed == 36
    alone = annotate(read_samples(str(JSON)), [other])
    assert (alone.placed, alone.left_out[OTHER_CODE]) == (0, 38)
    assert annotate(read_samples(str(STOCHASTIC)), [other]).left_out[NO_INSTRUCTION] == 36
    wrong = changed(tmp_path, JSON, ('"v_mul_lo_u32 v3, v2, v0"', '"v_add_nc_u32 v3, v2, v0"'))
    assert annotate(wrong, [program]).left_out[OTHER_INSTRUCTION] == 8
    moved = changed(tmp_path, JSON, ('"load_delta": 140000000000', '"load_delta": 140000000008'))
    assert annotate(moved, [program]).placed == 0
    bare = changed(tmp_path, JSON, ('"inst_index": 0}', '"inst_index": -1}'), ('"inst_index": 2}', '"inst_index": 99}'))
    assert annotate(bare, [program]).placed == 36
    none = changed(tmp_path, JSON, ('"pc_sample_instructions"', '"nothing"'), ('"code_object_offset": 16}', '"x": 1}'))
    assert annotate(none, [program]).placed == 36
    assert annotate(none, [program, open_program(O2)]).left_out[OTHER_CODE] == 37


def test_samples_of_a_file_without_lines_are_placed_only_where_one_instruction_fits(program, tmp_path):
    copy = tmp_path / "bare.csv"
    copy.write_text(re.sub('"/build[^"]*"', '""', STOCHASTIC.read_text()))
    annotation = annotate(read_samples(str(copy)), [program])
    assert annotation.left_out[AMBIGUOUS] > 0
    assert annotation.placed + sum(annotation.left_out.values()) == annotation.samples.count


@for_each("content, said",
    (b"", "its first line has no column Exec_Mask and no column Instruction"),
    (b"a,b\n1,2\n", "its first line has no column Exec_Mask"),
    (b"Exec_Mask,Instruction\n1,2\n", "no column Instruction_Comment"),
    (b"Exec_Mask,Instruction,Instruction_Comment\n", "it has no samples"),
    (b"\xff\xfe\0", "it is not UTF-8 text"),
    (JSON.read_bytes()[:9000], "it is not JSON"),
    (b"{}", "it has no buffer_records.pc_sample_host_trap"),
    (b"[1, {}, null]", "it has no buffer_records.pc_sample_host_trap"),
    (b'{"buffer_records": {"pc_sample_host_trap": []}}', "it has no samples"),
    (b"[" * 100_000, "it is"),
)  # fmt: skip
def test_what_is_no_file_of_samples_is_one_error(tmp_path, content, said):
    path = tmp_path / "s"
    path.write_bytes(content)
    error = raised(DwarfGpuError, read_samples, str(path))
    assert said in str(error)
    assert "is not a file of samples" in str(error)
    assert "rocprofv3" in error.hint


@for_each("row, broken",
    ("1,2,3", "line 2: 3 columns instead of 10"),
    ('1,-1,1,"s_endpgm","",1,1,"","",8', "line 2: Exec_Mask is '-1'"),
    ('1,99999999999999999999999,1,"s_endpgm","",1,1,"","",8', "line 2: Exec_Mask is '99999999999999999999999'"),
    ('1,1,1,"s_endpgm","",1,maybe,"","",8', "line 2: Wave_Issued_Instruction is 'maybe'"),
)  # fmt: skip
def test_rows_that_cannot_be_read_are_counted(tmp_path, program, row, broken):
    head, *rest = STOCHASTIC.read_text().split("\n")
    path = tmp_path / "s.csv"
    path.write_text("\n".join((head, row, *rest)))
    found = read_samples(str(path))
    assert (found.left_out[BROKEN], found.first_broken) == (1, broken)
    assert annotate(found, [program]).placed == 36


@for_each("change, said",
    (('"exec_mask": 4294963200', '"exec_mask": "x"'), "record.exec_mask is not a mask of lanes"),
    (('"code_object_offset": 7500', '"code_object_offset": true'), "it has no record.pc"),
    (('"wave_issued": false', '"wave_issued": 7'), "record.wave_issued is neither"),
    (('"pc": {"code', '"pd": {"code'), "it has no record.pc"),
)  # fmt: skip
def test_records_that_cannot_be_read_are_counted(tmp_path, change, said):
    found = changed(tmp_path, JSON, change)
    assert found.left_out[BROKEN] > 0
    assert said in found.first_broken
    assert found.first_broken.startswith("pc_sample_stochastic[0]")
    assert found.count == 40


def test_the_profile_of_samples_has_their_sums_and_the_calls_of_the_symbolizer(program, require_tool):
    annotation = annotate(read_samples(str(JSON)), [program])
    stacks = annotation.stacks()
    found = protobuf.pprof(written(stacks, "pprof"))
    names = [name for name, _unit in found["types"]]
    sums = [sum(column) for column in zip(*(values for _stack, values in found["samples"]), strict=True)]
    total = Counter(dict(zip(names, sums, strict=True)))
    assert (total["samples"], total["stalled"], total["stalled: WAITCNT"]) == (36, 21, 13)
    assert total["active lanes"] + total["inactive lanes"] == 36 * 32
    locations = {address: lines for stack, _values in found["samples"] for address, lines in stack}
    command = [require_tool("llvm-symbolizer-22"), "--obj", O2, "--inlines", "--no-demangle", "--output-style=JSON"]
    done = subprocess.run([*command, *map(hex, locations)], check=True, capture_output=True, text=True)
    for answer in json.loads(done.stdout):
        wanted = [(each["FunctionName"], each["Line"], each["Column"]) for each in answer["Symbol"]]
        lines = locations[int(answer["Address"], 16)]
        assert [(linkage, line, column) for _, linkage, _file, line, column in lines] == wanted


PIECES = b"", b"{", b"]", b'"', b"null", b"-1", b"1e999", b"\n", b",,", b'{"record":{}}', b"18446744073709551616"


@hypothesis.given(data=st.data())
def test_damaged_files_are_read_or_refused(data, program, tmp_path_factory):
    path = data.draw(st.sampled_from((JSON, STOCHASTIC, HOST_TRAP)))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(content)))
        size = data.draw(st.integers(0, 40))
        content[start : start + size] = data.draw(st.binary(max_size=40) | st.sampled_from(PIECES))
    damaged = tmp_path_factory.getbasetemp() / "damaged"
    damaged.write_bytes(content)
    try:
        found = read_samples(str(damaged))
        annotation = annotate(found, [program])
    except DwarfGpuError:
        return
    assert annotation.placed + sum(annotation.left_out.values()) == found.count
