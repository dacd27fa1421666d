"""How the DWARF of files is read: ``set dialect``, ``set attributes`` and ``set repair``, for what is open, too."""

from pathlib import Path

import pytest

from dwarfgpu import dialects
from dwarfgpu.errors import UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.objfile.info.forms import DIALECTS
from dwarfgpu.questions.settings import READING, SETTINGS
from tests.builders.parameters import for_each
from tests.questions.harness import Run

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
LEGACY = FIXTURES / "asm" / "lane-pc-legacy.gfx90a.w64.co"
CLANG_19 = FIXTURES / "compilers" / "cl.clang19.gfx900.w64.O0.v5.co"
HIP_19 = FIXTURES / "compilers" / "hip.clang19.gfx900.w64.O0.v5.co"


def test_the_choices_are_the_dialects_that_there_are():
    settings = {setting.name: setting for setting in SETTINGS}
    assert settings["dialect"].choices == ("auto", *dialects.NAMES)
    assert settings["attributes"].choices == ("auto", *DIALECTS)
    assert set(READING) <= set(settings)


def test_a_dialect_holds_for_the_file_that_is_open_and_for_the_next_one():
    run = Run(LEGACY)
    before = run("maint print die even")
    assert "DW_OP_LLVM_push_lane" not in before
    run("set dialect llvm-legacy")
    legacy = run("maint print die even")
    assert "DW_OP_LLVM_push_lane" in legacy
    assert run("info scope lex_1_1_else") != ""
    run(f"file {LEGACY}")
    assert run("maint print die even") == legacy
    run("set dialect auto")
    assert run("maint print die even") == before


def test_a_numbering_of_attributes_holds_for_the_file_that_is_open():
    run = Run(CLANG_19)
    auto = run("maint print die -tag pointer_type")
    assert auto.count("(private_lane)") == 1
    assert auto.count("(local)") == 1
    run("set attributes llvm-current")
    assert "(private_lane)" not in run("maint print die -tag pointer_type")
    assert run("maint print die -tag pointer_type").count("(generic)") == 1
    run("set attributes auto")
    assert run("maint print die -tag pointer_type") == auto


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
    assert "repaired: both (plain-private-variable, scaled-frame-base)" in run("eval both")
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


@for_each(
    "line, message",
    ("set dialect klingon", "there is no dialect 'klingon'"),
    ("set attributes klingon", "there is no attribute dialect klingon"),
    ("set repair klingon", "there is no repair 'klingon'"),
)
def test_what_does_not_exist_is_refused_and_changes_nothing(line, message):
    run = Run(HIP_19)
    name = line.split()[1]
    before = run(f"show {name}")
    with pytest.raises(UsageError, match=message):
        run(line)
    assert run(f"show {name}") == before
