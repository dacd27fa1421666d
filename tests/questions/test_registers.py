"""``info registers``: the frame's registers; test_data_gdb compares those of a host program with gdb."""

import json
from pathlib import Path

import pytest

from tests.builders.parameters import for_each
from tests.questions.harness import CALLS, IN_CALLS, KERNEL, STATE, Run


def test_scalar_registers_ranges_groups_and_formats(run):
    assert run("info registers") == (
        "pc             0x7f0000001548      0x7f0000001548 <X+72>\n"
        "exec           0x55555             349525\n"
        "s4             0x10000             65536\n"
        "s5             0x0                 0\n"
        "s6             0x14                20\n"
        "s34            0xffffffff          -1\n"
        "s35            0xffffffff          -1\n"
        "s36            0xfffff             1048575\n"
        "s37            0x0                 0\n"
    )
    assert run("i r general") == run("info registers")
    assert run("info registers s4") == "s4             0x10000             65536\n"
    assert run("i r $s4") == "s4             0x10000             65536\n"
    for text in ("s4-s6", "s[4:6]", "$s4-$s6", "s4 s5 s6", "s4,s5,s6", "S4-S6"):
        assert [line.split()[0] for line in run(f"info registers {text}").splitlines()] == ["s4", "s5", "s6"]
    assert run("info registers pc") == "pc             0x7f0000001548      0x7f0000001548 <X+72>\n"
    assert run("info registers v1") == "v1             {0x0 <repeats 64 times>}\n"
    assert [line.split()[0] for line in run("info registers system").splitlines()] == ["pc", "exec"]
    assert run("info registers scalar").count("\n") == 7
    assert run("info registers vector").startswith("v0 ")
    assert run("info all-registers").count("\n") > run("info registers").count("\n") + 3
    assert run("info registers s0 m0") == "s0             <unavailable>\nm0             <unavailable>\n"
    assert run("info registers/x s34") == "s34            0xffffffff          0xffffffff\n"
    assert run("info registers/t s6") == "s6             0x14                10100\n"
    assert run("info registers/d v1") == "v1             {0 <repeats 64 times>}\n"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_vectors_fit_the_width(run, width):
    run.debugger.output.width = width
    lines = run("info registers v0").splitlines()
    assert all(len(line) <= width for line in lines)
    numbers = "".join(line[15:] for line in lines)
    assert numbers.replace(" ", "") == "{" + ",".join(f"{lane:#x}" for lane in range(64)) + "}"


def test_registers_of_callers_are_found_by_unwinding():
    run = Run(CALLS, IN_CALLS)
    assert run("info registers pc").split()[2:] == ["0x7f0000001a04", "<leaf(int)+4>"]
    run("up")
    assert run("info registers pc").split(maxsplit=2)[2] == "0x7f0000001b20 <inner(int, int*)+160>\n"
    text = run("info registers")
    assert "vcc            <not saved>\n" in text
    assert "ttmp" not in text  # the machine does not have them
    assert run("info registers v40").startswith("v40            {0xfa0, 0xfa1,")
    run("up")
    assert "<not saved>" in run("info registers v0")
    run = Run(CALLS, IN_CALLS)
    run("set var $mode = 5")
    assert run("output $mode") == "5"
    run("frame 4")
    assert "call frame information does not keep it for a caller" in " ".join(run("print $mode").split())


@for_each("line, message",
    ("info registers zork", "Invalid register `zork'"),       ("info registers v1000", "Invalid register `v1000'"),
    ("info registers v3-v1", "Invalid register `v3-v1'"),     ("info registers v0-s3", "Invalid register `v0-s3'"),
    ("info registers s104-s120", "Invalid register `s106'"),
    ("info registers v0-v99999999", "Invalid register `v0-v99999999'"),
    ("info registers/y s4", 'Undefined output format "y".'))  # fmt: skip
def test_errors(run, line, message):
    assert str(run.fails(line)) == message


def test_without_a_machine_or_room_it_is_said_what_to_do():
    assert str(Run(KERNEL).fails("info registers")) == "The program has no registers now."
    error = Run(CALLS).fails("info registers")
    assert error.hint == "`target snapshot S` attaches a snapshot, `core S` a core file"
    assert Run(CALLS).fails("print -lane 0-3 1").hint == error.hint
    run = Run(CALLS, IN_CALLS, width=50)
    assert run("info registers pc") == ("pc             0x7f0000001a04\n               0x7f0000001a04 <leaf(int)+4>\n")


@pytest.fixture
def special(tmp_path):
    document = json.loads(Path(STATE).read_text())
    document["waves"][0]["exec"] = "0xffffffffffffffff"
    registers = {"mode": "0x2f0", "m0": "0xffffffff", "flat_scratch": "0xfffffffffffffff0", "ttmp9": "0x12"}
    document["waves"][0]["registers"].update(registers)
    for code in document["code_objects"]:
        code["path"] = str(Path(STATE).resolve().parent / code["path"])
    path = tmp_path / "state.json"
    path.write_text(json.dumps(document))
    return Run(KERNEL, path)


def test_registers_without_a_number_are_values_of_their_types(special):
    assert special("output $exec") == "18446744073709551615"
    assert special("whatis $exec") == "type = unsigned long\n"
    assert special("whatis $s6") == "type = int\n"
    assert [special(f"output ${name}") for name in ("mode", "m0", "flat_scratch", "ttmp9")] == [
        "752", "4294967295", "18446744073709551600", "18"]  # fmt: skip
    special("set var $mode = 7")
    assert special("info registers mode").split()[1] == "0x7"
    assert special("output $mode & 3") == "3"
    assert "the contents of register trapsts are not available" in str(special.fails("print $trapsts"))


def test_the_program_counter_can_be_set(special):
    pc = special.debugger.frame.pc
    special("set var $pc = $pc + 8")
    assert special.debugger.frame.pc == pc + 8
    special(f"set var $pc = {pc:#x}")
    assert special.debugger.frame.pc == pc
    assert special("output $pc").startswith("(void (*)()) 0x7f0000001548 <X+")
    special("print $pc += 4")
    assert special.debugger.frame.pc == pc + 4
