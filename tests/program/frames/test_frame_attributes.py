"""Attributes of functions and calls that say something of a frame, with frames and tables that GDB has."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Implicit
from dwarfgpu.program.code.loaded import FileUnit
from dwarfgpu.program.frames import frame_attributes
from dwarfgpu.program.frames.lane_state import Simt
from tests.builders.commands import run as run_command
from tests.builders.parameters import for_each
from tests.questions.harness import CALLS, IN_CALLS, Run

NESTED = """
__attribute__((noinline)) int run(int (*f)(int), int n) { return f(n) + 1; }
int outer(int a)
{
  int b = a * 2;
  int inner(int x) { b += x; if (x > 3) __builtin_trap(); return b; }
  return run(inner, a);
}
int main(int argc, char **argv) { return outer(argc + 4); }
"""
CALLER = """
__attribute__((noipa)) int use(int *p) { *p += 1; return *p; }
__attribute__((noipa)) int leaf(int n, int m) { __builtin_trap(); return use(&n) + m; }
int main(int argc, char **argv) { return leaf(argc + 4, 7) + argc; }
"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, require_tool):
    """Compile a program, with its assembly changed, and stop it where it traps: the program and its core file."""

    def stop(name, source, *options, changes=(), gdb_commands=()):
        folder = tmp_path_factory.mktemp(name.partition(".")[0])
        path = folder / name
        path.write_text(source)
        compiler = require_tool("g++" if name.endswith(".cc") else "gcc")
        words = [compiler, "-g", "-gdwarf-5", "-dA", *options, "-S", "-o", "x.s", str(path)]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        assembly = folder / "x.s"
        text = assembly.read_text()
        for old, new in changes:
            text, count = re.subn(old, new, text)
            assert count, old
        assembly.write_text(text)
        subprocess.run([compiler, "-o", "x", "x.s"], cwd=folder, check=True, capture_output=True)
        told = [word for command in gdb_commands for word in ("-ex", command)]
        core = ["-ex", f"generate-core-file {folder / 'core'}"]
        done = subprocess.run(
            [require_tool("gdb"), "-nx", "-batch", "-ex", "run", *core, *told, str(folder / "x")],
            cwd=folder, check=False, capture_output=True, text=True)  # fmt: skip
        return folder / "x", folder / "core", done.stdout

    return stop


def test_a_static_link_leads_to_the_frame_of_the_function_around(stopped):
    """gcc describes the canonical frame address of `outer`, which is not the caller (A.3.3.5 (3))."""
    program, core, out = stopped("nested.c", NESTED, gdb_commands=("frame function outer", "info frame"))
    run = Run(program, core)
    text = " ".join(run("info frame").split())
    found = re.search(r"static link: frame at (0x[0-9a-f]+) of outer, frame 2 \(DW_AT_static_link\)", text)
    assert found is not None, text
    assert f"frame at {found[1]}:" in out
    assert json.loads(run("info frame -json"))["static_link"]


def test_the_place_of_the_return_address_is_shown(stopped):
    """The expression is that of the static link, under the other number (A.3.3.5 (1))."""
    change = (r"\.uleb128 0x48(\s+# \(DW_AT_static_link\))", r".uleb128 0x2a\1")
    program, core, _ = stopped("nested.c", NESTED, changes=[change])
    run = Run(program, core)
    text = " ".join(run("info frame").split())
    assert re.search(r"return address stored at 0x[0-9a-f]+ \(DW_AT_return_addr\)", text), text
    assert "return_address" in json.loads(run("info frame -json"))


def test_an_attribute_that_gives_no_memory_is_ill_formed(stopped, monkeypatch):
    """One memory location description for one of the target architecture specific address spaces."""
    program, core, _ = stopped("nested.c", NESTED)
    frame = dg.open(program).attach(str(core))[0].frame(0)
    value = locations.at(Implicit(0, 64))
    monkeypatch.setattr(frame, "evaluated", lambda *_: [value])
    (attribute,) = frame_attributes.frame_attributes(frame, frame.activation.thread.lanes)
    assert isinstance(attribute.error, IllFormed)
    assert attribute.error.spec == "A.3.3.5 (3)"


@for_each("number, key, words",
    (0x7E, "value", "at the call m: 7"), (0x85, "data_location", "at the call m: refers to 0x7"),
     (0x86, "data_value", "at the call m: with "))  # fmt: skip
@pytest.mark.sampled(6)
def test_what_a_call_says_of_its_parameters(stopped, number, key, words):
    """DW_AT_call_value, DW_AT_call_data_location and DW_AT_call_data_value, in the calling frame (A.3.4.2 (2))."""
    change = (r"\.uleb128 0x7e(\s+# \(DW_AT_call_value\))", rf".uleb128 {number:#x}\1")
    program, core, _ = stopped("caller.c", CALLER, "-O2", changes=[change])
    run = Run(program, core)
    document = json.loads(run("info frame -json"))
    told = {parameter["name"]: parameter for parameter in document["call_parameters"]}
    assert told["m"][key] is not None
    assert "error" not in told["m"][key]
    text = " ".join(run("info frame").split())
    assert "at the call m: " in text
    if number != 0x7E:
        assert words.partition("m: ")[2] in text


def test_a_list_of_lane_pcs_without_an_entry_here_is_undefined(monkeypatch):
    """A.2.5.5: the result is an undefined location description, so no lane was active on entry."""
    frame = dg.open("fixtures/asm/lane-pc.gfx90a.w64.co").attach("dwarfgpu/examples/variables.json")[0].frame(0)
    assert any(lane.pc is not None for lane in Simt(frame).lane_pcs())
    original = FileUnit.expressions
    monkeypatch.setattr(
        FileUnit,
        "expressions",
        lambda self, attribute: () if attribute.name == "DW_AT_LLVM_lane_pc" else original(self, attribute),
    )
    assert {(lane.pc, lane.error) for lane in Simt(frame).lane_pcs()} == {(None, None)}


def test_undefined_registers_are_told_beside_the_saved_ones():
    words = ("bt", CALLS, "--state", IN_CALLS, "--wave", "1", "--registers")
    assert "        undefined: s0-s1, v0, v3-v7\n" in run_command(*words).stdout
    (stack,) = json.loads(run_command(*words, "--json").stdout)["stacks"]
    assert stack["frames"][2]["undefined_registers"] == ["s0", "s1", "v0", "v3", "v4", "v5", "v6", "v7"]


def test_a_rule_that_is_ill_formed_is_told_with_its_error(monkeypatch):
    from dwarfgpu.cfi.activation import Activation

    original = Activation.register

    def register(self, number, lanes):
        if self.level and self.thread.register(number).name == "v41":
            raise IllFormed("bad_piece", "the piece is wrong", spec="A.2.5.4.4.6")
        return original(self, number, lanes)

    monkeypatch.setattr(Activation, "register", register)
    words = ("bt", CALLS, "--state", IN_CALLS, "--wave", "1", "--registers")
    assert "        v41: <error: the piece is wrong [A.2.5.4.4.6]>\n" in run_command(*words).stdout
    (stack,) = json.loads(run_command(*words, "--json").stdout)["stacks"]
    assert stack["frames"][2]["wrong_registers"]["v41"]["kind"] == "bad_piece"


def test_operations_are_evaluated_in_a_frame_of_the_file_that_a_snapshot_names():
    with_file = ("eval", CALLS, "--ops", "DW_OP_call_frame_cfa", "--state", IN_CALLS, "--wave", "1", "--frame", "2")
    without = [word for word in with_file if word != CALLS]
    assert run_command(*with_file).stdout == run_command(*without).stdout == "lanes 0-15: private_wave#0x1200\n"
    assert run_command(*without[:-2]).stdout == "lanes 0-15: private_wave#0x1c00\n"
    regx = ("eval", "--ops", "DW_OP_regx v40", "--state", IN_CALLS, "--wave", "1", "--frame", "1", "--lane", "0")
    assert run_command(*regx).returncode == 0
    run = Run(CALLS, IN_CALLS)
    run("frame 2")
    assert run("eval -ops DW_OP_call_frame_cfa") == "lanes 0-15: private_wave#0x1200\n"


def test_operations_without_a_code_object_say_what_they_need(tmp_path):
    document = json.loads(Path(IN_CALLS).read_text())
    document["code_objects"] = []
    path = tmp_path / "state.json"
    path.write_text(json.dumps(document))
    done = run_command("eval", "--ops", "DW_OP_call_frame_cfa", "--state", str(path), "--wave", "1", "--lane", "0")
    assert (done.returncode, "missing frame" in done.stderr) == (1, True)
