"""``info registers``: the frame's registers; test_data_gdb compares those of a host program with gdb."""

import json
from pathlib import Path

import pytest

from tests.questions.harness import KERNEL, STATE, Run


@pytest.mark.parametrize("width", [60, 80, 200])
def test_vectors_fit_the_width(run, width):
    run.debugger.output.width = width
    lines = run("info registers v0").splitlines()
    assert all(len(line) <= width for line in lines)
    numbers = "".join(line[15:] for line in lines)
    assert numbers.replace(" ", "") == "{" + ",".join(f"{lane:#x}" for lane in range(64)) + "}"


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
