"""``explain``, ``locate``, ``verify``, ``maint print``: what the file says of variables, and what comes of it."""

import json
from pathlib import Path

import pytest

from dwarfgpu import dialects
from dwarfgpu.expr.rules import PRESETS, Rules, points
from dwarfgpu.machines.machine import Machine
from dwarfgpu.objfile.info.forms import DIALECTS
from dwarfgpu.program.code.repairs import BY_NAME
from dwarfgpu.questions.settings import READING, SETTINGS
from tests.builders.folders import FIXTURES
from tests.questions.harness import KERNEL, STATE, Run


@pytest.fixture
def run():
    found = Run(KERNEL, STATE)
    found("lane 2")
    return found


HIP = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"


def test_findings_are_a_status():
    run = Run(HIP)
    run("verify rest")
    assert run.debugger.status == 1


def test_an_entry_has_a_name_an_offset_and_a_depth(run):
    text = run("maint print die left")
    for line in ("maint print die 0x278", "maint print die .debug_info+0x278", "maint dump left"):
        assert run(line) == text
    assert json.loads(run("maint print die --json left"))["units"][0]["entries"][0]["tag"] == "DW_TAG_variable"
    assert run("maint print die -depth 1 X") == run("maint print die X -depth 1")
    assert "DW_TAG_formal_parameter" in run("maint print die -depth 1 X")


def test_written_and_repaired_operations_are_two_fields_of_json():
    for line, key in (("maint print dwarf-expr -json rest", "variables"), ("info scope -json *0x1d2c", "variables")):
        (location,) = next(each for each in json.loads(Run(HIP)(line))[key] if each["name"] == "rest")["locations"]
        assert location["operations"] == "DW_OP_bregx v4+0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef"
        assert location["repaired"].startswith("DW_OP_regx v4; DW_OP_LLVM_push_lane")
        assert location["repairs"] == ["vector-register"]
        assert [(each["offset"], each["bytes"]) for each in location["listing"]] == [
            (0, "92841400"), (4, "31"), (5, "16"), (6, "18")]  # fmt: skip


def test_operations_that_a_repair_made_have_no_offset_in_a_trace(tmp_path):
    path = tmp_path / "state.json"
    waves = [{"id": "0", "pc": "0x1d2c", "exec": "0x3", "registers": {"v4": [1, 2]}}]
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    run = Run(HIP, str(path))
    text = run("explain rest")
    assert "\n          DW_OP_regx 2564 " in text
    assert "0x0000" not in text
    trace = json.loads(run("explain -json rest"))["variables"][0]["trace"]
    assert {step["offset"] for step in trace} == {None}


HIP_19 = FIXTURES / "compilers" / "hip.clang19.gfx900.w64.O0.v5.co"


def test_the_choices_are_the_dialects_that_there_are():
    settings = {setting.name: setting for setting in SETTINGS}
    assert settings["dialect"].choices == ("auto", *dialects.NAMES)
    assert settings["attributes"].choices == ("auto", *DIALECTS)
    assert set(READING) <= set(settings)


def stopped(path: Path, function: str) -> Run:
    """A debugger that looks at a wave in a function, where private memory has the address of each byte."""
    run = Run(path)
    program = run.debugger.opened
    machine = Machine(program.target)
    machine.add_waves(1)
    symbol = program.file.image.symbol_named(function)
    assert symbol is not None
    machine.set_register("pc", symbol.value + 0x40)
    machine.set_register("s33", 0)
    machine.set_register("exec", 1)
    space = program.target.space_named("private_wave")
    assert space is not None
    machine.memory.map(space, 0, bytes(range(256)) * 64)
    run.debugger.use(program, program.attach(machine))
    return run


def test_repairs_hold_for_the_machine_that_is_attached_and_a_hint_names_the_option():
    run = stopped(HIP_19, "_Z3mixcsbh")
    auto = run("locals -location")
    assert "repaired: the compiler misdescribes both (`set verbose on` shows how)" in run("eval both")
    assert "--repair" not in auto
    run("set repair off")
    off = run("locals -location")
    assert "repaired" not in off
    assert "set repair plain-private-variable,scaled-frame-base" in off
    assert "set repair plain-private-variable,scaled-frame-base" in run("eval both")
    assert "set repair plain-private-variable,scaled-frame-base" in str(run.fails("print both").hint)
    run("set repair all")
    assert run("locals -location") == auto
    assert "set repair" not in run("eval -repair plain-private-variable,scaled-frame-base both")


def test_rules_and_repairs_are_listed(run):
    table = run("maint operations -rules").splitlines()
    assert table[0].split() == list(PRESETS)
    assert [line.split()[0] for line in table[1:]] == [name for name in Rules.__annotations__ if name != "name"]
    assert all(point.text for point in points())
    listed = [line.split()[0] for line in run("maint operations -repairs").splitlines() if not line.startswith(" ")]
    assert listed == list(BY_NAME)
