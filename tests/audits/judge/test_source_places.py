"""What the file says of the source, compared with its text: compiled code in which one thing is changed."""

import json
import os
import re
import subprocess
import time

import pytest

from dwarfgpu.audits.judge.source_places import declared_types
from dwarfgpu.execution.launch.made_arguments import launch_sizes, made_arguments
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.program import open_program
from tests.builders.commands import document, run
from tests.builders.parameters import for_each

SOURCE = """\
// the first line has no code
#define ID (__builtin_amdgcn_workitem_id_x())
static int twice(int value) {
  return value * 2;
}

kernel void sums(global int *out, global const int *in, int n) {
  int id = ID;
  int limit = (n & 15) + 2;
  int sum = 0;
  for (int i = 0; i < limit; ++i) {
    int v = in[(id + i) & 63];
    sum += v * i;
  }
  int both = twice(limit) + id;
  out[id] = sum + both;
}
"""
WORDS = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib"]


COUNTED = """\
kernel void counted(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  for (int i = 0; i < 6; ++i)
    out[id + 64 * i] = in[id + 64 * i];
}
"""

KNOWN = """\
kernel void known(global float *out, global const float *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  float x = in[id];
  float z = x * 0.5f - 2.0f;
  int least = n < id ? n : id;
  int steps = 1;
  for (int i = 0; i < n; ++i) {
    int v = (int)in[(id + i) & 63];
    steps = steps * 3 + v;
  }
  out[id] = z + (float)(least + steps);
}
"""


TAKEN = """\
static int less(int value) {
  int left = value;
  while (left > 3)
    left = (left >> 1) ^ 1;
  return left;
}
kernel void taken(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int v = in[(id + i) & 63];
    sum += v * less(v);
    if (sum > 1000)
      sum -= v;
  }
  out[id] = sum;
}
"""
"""Variables that change with each round of a loop, and those of a function that is called in it."""


KEPT = """\
#define ADD(value, more) value = value + (more)
static int hidden(int n) {
  int sum = n;
  {
    int n = sum * 3;
    sum += n;
  }
  int after = n + 2;
  return sum * after;
}
kernel void known(global float *out, global float *in, global int *numbers, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int letter = 'a' + n;
  float x = in[id];
  float product = x * 1.0625f;
  float rest = product - x * 1.06249f;
  float more = rest * 3.0f;
  float whole = (float)(int)(x * 3.7f);
  int was = numbers[id];
  numbers[id] = was + 1;
  int now = numbers[id];
  int total = 1;
  for (int i = 0; i < n; ++i)
    ADD(total, was);
  int least = 2;
  ADD(least, now);
  out[id] = more + whole + (float)(least * now + total);
  numbers[id + 64] = letter * hidden(now);
}
"""
"""A macro that changes its argument, a buffer that is written, a name that hides another, and terms that cancel."""


@pytest.fixture(scope="module", params=[SOURCE])
def assembler(request, tmp_path_factory):
    """The folder of the source, and its code as assembler text."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "k.cl").write_text(request.param)
    command = ["clang-22", "-x", "cl", "-cl-std=CL2.0", *WORDS, "-g", "-O2", "-S", "k.cl", "-o", "k.s"]
    try:
        subprocess.run(command, check=True, cwd=folder)
    except FileNotFoundError:
        pytest.skip("no clang-22")
    return folder, (folder / "k.s").read_text()


_FOUND = "source-", "entry-", "location-", "statement-mark", "value-changed"


@pytest.fixture
def found(assembler, judged):
    """``found(change)`` is what judge says of the source, once a function has changed the assembler text."""
    folder, text = assembler

    def find(change=lambda text: text):
        (folder / "changed.s").write_text(change(text))
        command = ["clang-22", *WORDS, "-x", "assembler", "changed.s", "-o", "k.co"]
        subprocess.run(command, check=True, cwd=folder)
        path = str(folder / "k.co")
        (kernel,) = opened(path).kernel_names()
        grid, group = launch_sizes(opened(path), kernel)
        args = made_arguments(open_program(path), kernel, grid[0], 0)
        judgement = judged(
            path, kernel, grid=grid[0], work_group=group[0], args=[args[index] for index in sorted(args)]
        )
        findings = [(finding.rule.name, finding.message) for finding in judgement.report.findings]
        return [each for each in findings if each[0].startswith(_FOUND) or each[0] == "value-source"]

    return find


@pytest.mark.parametrize("assembler", [SOURCE, KNOWN, KEPT, TAKEN], indirect=True)
def test_nothing_is_found_in_what_the_compiler_wrote(found):
    assert found() == []


def other_type(text):
    encoding = "\t.byte\t{}                               ; DW_AT_encoding"
    return text.replace(encoding.format(5), encoding.format(4), 1)


def test_a_source_without_md5_counts_if_it_is_older_than_the_code_and_fits(assembler, found):
    def kinds():
        return {rule for rule, _message in found(lambda text: re.sub(r" md5 0x\w+", "", other_type(text)))}

    source = assembler[0] / "k.cl"
    text = source.read_text()
    assert kinds() == {"entry-base-encoding", "source-type"}
    answer = run("judge", assembler[0] / "k.co")
    assert "the line table has no MD5 of k.cl: what is there now is taken for what was compiled" in answer.stderr
    try:
        os.utime(source, (time.time() + 3600,) * 2)
        assert kinds() == {"entry-base-encoding"}
        source.write_text(f"\n{text}")
        assert kinds() == {"entry-base-encoding"}
    finally:
        source.write_text(text)


def test_a_function_whose_symbol_has_no_size_is_named(assembler, found):
    found(lambda text: re.sub(r"\t\.size\t.*", "", text))
    code = assembler[0] / "k.co"
    parts = json.loads(run("judge", code, "sums", "--grid", "64", "--work-group", "64", "made", "--json").stdout)[
        "functions"
    ]
    assert [part["function"] for part in parts] == ["sums"]


def with_line(line, other, column=r"\g<2>"):
    def change(text):
        row = rf"^(\s*\.loc\s+0 ){line} (\d+)"
        changed = re.sub(row, rf"\g<1>{other} {column}", text, flags=re.MULTILINE)
        assert changed != text
        return changed

    return change


def test_a_row_of_a_new_line_without_a_mark_is_found_where_all_others_have_one(found):
    def change(text):
        row = r"(\.loc\s+0 16 \d+)( is_stmt 1)?"
        assert re.search(row, text)
        return re.sub(row, r"\g<1> is_stmt 0", text, count=1)

    assert [(rule, message[-1:]) for rule, message in found(change)] == [("statement-mark", "e")]


@for_each("change, rule, words",
    (with_line(16, 4), "source-line", "line 4 is not in sums, which has the lines 7 to 17"),
    (with_line(16, 1), "source-line", "line 1 has no code"),
    (with_line(16, 90), "source-line", "there is no line 90"),
    (with_line(16, 14), "source-column", "of line 14: }"),
    (with_line(16, 16, 5), "source-column", "no word or sign begins in column 5 of line 16"))  # fmt: skip
def test_a_row_of_another_place_is_found(found, change, rule, words):
    findings = found(change)
    assert {each for each, _message in findings} == {rule}
    assert any(words in message for _rule, message in findings), findings


NESTED = """\
static int sum_of(global const int *in, int from) {
  int sum = 0;
  for (int i = 0; i < (from & 7); ++i) {
    int v = in[from + i];
    sum += v * v;
  }
  return sum;
}
kernel void nested(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int sum = sum_of(in, id);
  int next = in[id + 8] * 3;
  out[id] = sum + next;
}
"""
"""A block in a loop in a function that is inlined, in a kernel whose body is inlined."""


def of_entry(tag, change):
    """Change what stands behind the tag of an entry, up to the next entry."""

    def changed(text):
        entry = re.search(rf"Abbrev \[\d+\] [^\n]*{tag}\n(?:(?!Abbrev).)*", text, re.DOTALL)
        assert entry is not None
        new = change(entry[0])
        assert new != entry[0]
        return text.replace(entry[0], new, 1)

    return changed


def sooner(text):
    """Let code end 24 bytes earlier."""
    return re.sub(r"(\.long\t\.Ltmp\d+-\S+)", r"\g<1>-24", text)


def of_line(line, name="call_line"):
    return lambda text: re.sub(rf"\d+(\s+; DW_AT_{name})", rf"{line}\g<1>", text, count=1)


@pytest.mark.parametrize("assembler", [NESTED], indirect=True)
@for_each("change, rule, words",
    (lambda text: text, None, ""),
    (of_entry("DW_TAG_inlined_subroutine", sooner), "source-scope", "is in the body of nested, whose inlined"),
    (of_entry("DW_TAG_inlined_subroutine", of_line(10)), "source-name", "line 10, and the body of the kernel begins"),
    (with_line(5, 7, 3), "source-scope", "line 7, column 3, is not in the block of v, whose code this is"),
    (with_line(12, 4, 17), "source-line", "line 4 is not in nested"),
    (of_entry("DW_TAG_variable", of_line(5, "decl_line")), "source-name", "which does not name it"))  # fmt: skip
def test_blocks_and_inlined_calls_have_the_code_of_their_text(found, change, rule, words):
    findings = [each for each in found(change) if each[0] != "value-source"]
    assert {each for each, _message in findings} == ({rule} if rule else set()), findings
    assert not rule or any(words in message for _rule, message in findings), findings


ONCE = """\
kernel void once(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int x = in[id];
  int y = in[id + 64];
  int both = x * y;
  int more = both ^ n;
  out[id] = more * x;
  out[id + 64] = more - y;
}
"""


def label_of(text, name):
    """Return the label where a variable comes to be in a register."""
    found = re.search(rf"(\.Ltmp\d+):\n\t;DEBUG_VALUE: once:{name} <-[^\n]*\$vgpr", text)
    assert found is not None
    return found[1]


def ends_early(text):
    first, end = label_of(text, "y"), label_of(text, "more")
    return re.sub(rf"({first}-[^\n]*\n\t\.uleb128 )\.Ltmp\d+", rf"\g<1>{end}", text, count=1)


def ends_late(text):
    first = label_of(text, "y")
    return re.sub(rf"({first}-[^\n]*\n\t\.uleb128 )\.Ltmp\d+", r"\g<1>.Lfunc_end0", text, count=1)


@pytest.mark.parametrize("assembler", [ONCE], indirect=True)
def test_a_variable_that_is_assigned_once_changes_in_no_statement_even_if_it_names_the_variable(found):
    messages = [message for rule, message in found(ends_late) if rule == "value-changed"]
    assert messages
    assert all("y is located in v" in each and "its declaration alone assigns it" in each for each in messages)


def begins_late(text):
    return text.replace(f".uleb128 {label_of(text, 'both')}-", f".uleb128 {label_of(text, 'both')}+4-", 1)


@pytest.mark.parametrize("assembler", [ONCE], indirect=True)
@for_each("change, expected",
    (lambda text: text, None),
    (ends_early, ("location-lost", "y has no location from here on, and nothing has written to v")),
    (begins_late, ("location-late", "the location of both begins here, and +")))  # fmt: skip
def test_locations_begin_and_end_where_instructions_write_their_registers(found, change, expected):
    findings = found(change)
    assert [rule for rule, _message in findings] == ([] if expected is None else [expected[0]])
    assert all(expected[1] in message for _rule, message in findings), findings


def begins_behind_wait(text):
    """The processor may not have loaded the value before."""
    first = label_of(text, "y")
    before, behind = text.split(f"{first}:", 1)
    behind = behind.replace("s_waitcnt vmcnt(0)\n", "s_waitcnt vmcnt(0)\n.Lwaited:\n", 1)
    return f"{before}{first}:{behind}".replace(f".uleb128 {first}-", ".uleb128 .Lwaited-", 1)


@pytest.mark.parametrize("assembler", [ONCE], indirect=True)
@for_each("change, words",
    (lambda text: text, None), (begins_behind_wait, None),
    (ends_early, "the location of y ends before this instruction, where v"),
    (lambda text: text.replace(f".uleb128 {label_of(text, 'y')}-", f".uleb128 {label_of(text, 'more')}-", 1),
     "the location of y begins behind this instruction, where v"))  # fmt: skip
def test_a_location_is_valid_where_its_registers_have_the_value_of_another_build(assembler, change, words):
    folder, text = assembler
    (folder / "gap.s").write_text(change(text))
    subprocess.run(["clang-22", *WORDS, "-x", "assembler", "gap.s", "-o", "gap.co"], check=True, cwd=folder)
    command = ["clang-22", "-x", "cl", "-cl-std=CL2.0", *WORDS, "-g", "-O0", "k.cl", "-o", "other.co"]
    subprocess.run(command, check=True, cwd=folder)
    judged = "judge", folder / "gap.co", "once", "--grid", "64", "--work-group", "64", "made"
    words_of_rule = "--only", "against-gap", "--against", folder / "other.co"
    answer = document(*judged, *words_of_rule, status=int(words is not None))
    messages = [each["message"] for each in answer["findings"]]
    assert bool(messages) is (words is not None)
    assert all(words in message and message.endswith("as in other.co") for message in messages), messages


def test_a_variable_of_another_type_is_found(found):
    def change(text):
        return text.replace(
            "\t.byte\t5                               ; DW_AT_encoding", "\t.byte\t4 ; DW_AT_encoding", 1
        )

    encoding, (rule, message) = sorted(found(change))
    assert encoding == ("entry-base-encoding", "int is encoded as DW_ATE_float")
    assert rule == "source-type"
    assert "the type int is like float, and sum, id, v, out, in, n have it" in message


def test_a_type_whose_size_is_not_that_of_its_name_is_found_once(found):
    """Its arguments are taken as they are: what the type says of them cannot be right."""

    def change(text):
        size = "\t.byte\t4                               ; DW_AT_byte_size"
        return text.replace(size, "\t.byte\t2 ; DW_AT_byte_size")

    size, kind = sorted(found(change))
    assert size == ("entry-base-size", "int, DW_ATE_signed, has 2 bytes")
    assert kind[0] == "source-type"


CONSTANT = """\
static inline int clamped(int v, int high) {
  int low = v > high ? high : v;
  return low ^ v;
}
kernel void given(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int kept = 57;
  out[id] = clamped(in[id], 77) + id * kept;
}
"""


def with_number(old, new):
    def change(text):
        changed = re.sub(rf"(\t\.byte\t){old}\b", rf"\g<1>{new}", text)
        assert changed != text
        return changed

    return change


@pytest.mark.parametrize("assembler", [CONSTANT], indirect=True)
@for_each("change, expected",
    (lambda text: text, None),
    (with_number(77, 76), ("source-constant", "high is the constant 76, and 77 in the source")),
    (with_number(57, 56), ("source-constant", "kept is the constant 56, and 57 in the source")),
    (of_entry("DW_TAG_variable", of_line(8, "decl_line")), ("source-name", "which only uses it: line")))  # fmt: skip
def test_constants_and_lines_of_declarations_are_those_of_the_text(found, change, expected):
    findings = found(change)
    assert [rule for rule, _message in findings] == ([] if expected is None else [expected[0]])
    assert all(expected[1] in message for _rule, message in findings), findings


WIDE = """\
kernel void wide(global int *out) {
  int c = (int)__builtin_amdgcn_workitem_id_x() + 3;
  int behind = c | 64;
  long d = behind;
  out[c] = c + (int)d;
}
"""


def computed_ends_early(text, operation="146", operand=(130, 12)):
    """Let the location of the long, which is computed from a register, end behind the next statement."""
    entry = r"\.Lfunc_end0(-\S+ +;   ending offset\n\t\.byte\t18 .*\n\t\.byte\t)146 .*\n.*130 .*\n.*12 .*\n"
    code = "".join(f"\t.byte\t{byte}\n" for byte in operand)
    changed, count = re.subn(entry, rf".Ltmp3\g<1>{operation}\n{code}", text)
    assert count == 1
    return changed


def constant_ends_early(text):
    return computed_ends_early(text, "16", (192, 128))  # DW_OP_constu 64


@pytest.mark.parametrize("assembler", [WIDE], indirect=True)
@for_each("change, why",
    (computed_ends_early, "nothing has written to v2, where it is"), (constant_ends_early, "it is a constant"),
    (lambda text: text, None))  # fmt: skip
def test_a_value_that_is_computed_or_constant_is_there_as_long_as_its_registers(found, change, why):
    messages = [message for rule, message in found(change) if rule == "location-lost"]
    assert len(messages) == (why is not None)
    assert all(each.endswith(f"d has no location from here on, and {why}") for each in messages), messages


@pytest.mark.parametrize("assembler", [WIDE], indirect=True)
def test_wrong_values_of_a_variable_of_a_wrong_type_are_counted_under_the_type(assembler):
    folder, _text = assembler
    command = ["clang-22", "-x", "cl", *WORDS, "-g", "-O0", "k.cl"]
    subprocess.run([*command, "-o", "other.co"], check=True, cwd=folder)
    subprocess.run([*command, "-S", "-o", "o0.s"], check=True, cwd=folder)
    text = (folder / "o0.s").read_text()
    wide = re.search(r"0x(\w+):0x4 DW_TAG_base_type(?:(?!Abbrev)[^~])*\t8 +; DW_AT_byte_size", text)
    assert wide is not None
    line = r"\t\.byte\t2  +; DW_AT_decl_line\n\t\.long\t(\d+) "
    changed, count = re.subn(line, lambda found: found[0].replace(found[1], str(int(wide[1], 16))), text)
    assert count
    (folder / "o0.s").write_text(changed)
    subprocess.run(["clang-22", *WORDS, "-x", "assembler", "o0.s", "-o", "o0.co"], check=True, cwd=folder)
    words = "wide --grid 64 --work-group 64 zeros(128) --against"
    answer = document("judge", folder / "o0.co", *words.split(), folder / "other.co", status=1)
    [finding] = [each for each in answer["findings"] if each["severity"] == "error" and each["limit"] is None]
    assert "c is declared as int in line 2, and its type is long (" in finding["message"]
    assert "more about its values follow from this)" in finding["message"]


def test_a_variable_in_another_register_is_found(found):
    def change(text):
        register = re.search(r"DEBUG_VALUE: sums:id <- .*\$vgpr(\d+)", text)
        assert register is not None
        low = 0x80 | int(register[1])
        return text.replace(f"\t.byte\t{low} ", f"\t.byte\t{low + 1} ")

    first_lane = "id is 0, and the source makes it 1: "  # as lane 0 has a 0 there, too
    findings = found(change)
    assert any(rule == "value-source" and first_lane in message for rule, message in findings), findings


@pytest.mark.parametrize("assembler", [COUNTED], indirect=True)
@for_each("value, other, words",
    (0, 0, ()),
    (2, 9, ("i is 9, which for (int i = 0; i < 6; ++i) never makes it",)),
    (0, 2, ("i goes back from 2 to 1 in for (int i = 0; i < 6; ++i)",)),
    (3, 6, ("i goes back from 6 to 4 in for (int i = 0; i < 6; ++i)",)),
    (4, 3, ("i goes from 3 to 5 in for (int i = 0; i < 6; ++i), and was not 4",)))  # fmt: skip
def test_a_counter_has_the_values_of_its_loop_in_turn(found, value, other, words):
    """The loop is unrolled, so that its counter has a constant in each part."""

    def change(text):
        constant = rf"(DW_OP_consts\n\t\.byte\t){value}\b"
        assert re.search(constant, text)
        return re.sub(constant, rf"\g<1>{other}", text)

    findings = found(change)
    assert {rule for rule, _message in findings} == ({"value-source"} if words else set())
    assert all(any(each in message for _rule, message in findings) for each in words), findings


@pytest.mark.parametrize("assembler", [KNOWN], indirect=True)
@for_each("old, new, words",
    (r"(\.byte\t)131 ", r"\g<1>128 ", ("x is ", ", and the source makes it ", ": in[id]")),
    (r"(\.byte\t)130 ", r"\g<1>128 ", ("z is ", ": x * 0.5f - 2.0f")),
    (r"(\.byte\t)128 ", r"\g<1>129 ", ("least is ", ": n < id ? n : id")),
    (r"(DW_OP_consts\n\t\.byte\t)1 ", r"\g<1>8 ", ("steps is 8, and the source makes it 1: 1",)),
    (r"(DW_OP_consts\n\t\.byte\t)0 ", r"\g<1>5 ", ("i is 5, and the source makes it 0: 0",)))  # fmt: skip
def test_variables_have_the_values_that_the_source_gives_them(found, old, new, words):
    """What is made of values that are not shown any more is known, too, and what a variable is before its loop."""
    findings = found(lambda text: re.sub(old, new, text))
    assert any(all(each in message for each in words) for _rule, message in findings), findings


@pytest.mark.parametrize("assembler", [TAKEN], indirect=True)
@for_each("name, old, new",
    ("v", r"(\.byte\t)130 ", r"\g<1>129 "),
    ("sum", r"(\.byte\t)129 ", r"\g<1>130 "),
    ("left", r"(\.byte\t)131 ", r"\g<1>128 "))  # fmt: skip
def test_variables_have_only_values_that_the_source_computes(found, name, old, new):
    findings = found(lambda text: re.sub(old, new, text))
    words = f"{name} is ", ", which the source never makes it: it is only "
    assert any(all(each in message for each in words) for _rule, message in findings), findings


@for_each("line, name, types",
    ("  unsigned long int x = 3;", "x", [("unsigned long", 0)]),
    ("void f(global const int *in, float y)", "in", [("int", 1)]),
    ("void f(global const int *in, float y)", "y", [("float", 0)]),
    ("  local short tile[64];", "tile", [("short", 1)]),
    ("  T x = (int) y;", "x", []),
    ("  T x = (int) y;", "y", []),
    ("  long double x;", "x", []),
    ("  int a, b;", "b", []),
    ("  for (unsigned i = 0; i < n; ++i)", "i", [("unsigned int", 0)]))  # fmt: skip
def test_types_of_declarations_by_words_of_the_language(line, name, types):
    assert list(declared_types(line, name)) == types
