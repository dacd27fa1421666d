"""What Python shows of programs, frames, types and values: short, and without the address of the Python object."""

import re
from pathlib import Path

import dwarfgpu
from dwarfgpu.program.types import model as t
from dwarfgpu.program.values.objects import constant
from tests.builders.parameters import for_each

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/lanes.json"
INT = t.Base("int", 5, 4)


@for_each("kind, text",
    (INT, "<Type int>"),         (t.VOID, "<Type void>"),     (t.Pointer("*", t.Lazy.known(INT), 8), "<Type int *>"),
    (t.Qualified("const", t.Lazy.known(INT)), "<Type const int>"),
    (t.Typedef("length", t.Lazy.known(INT)), "<Type length>"),
    (t.Array(t.Lazy.known(INT), (t.Dimension(0, count=3),)), "<Type int [3]>"),
    (t.Struct("struct", "node", 8, t.Lazy.known(t.Body())), "<Type struct node>"),
    (t.Enumeration("color", 4, t.Lazy.known(())), "<Type enum color>"),
    (t.Function(t.Lazy.known(INT), t.Lazy.known((t.Lazy.known(INT),))), "<Type int (int)>"),
    (t.UnspecifiedType("decltype(nullptr)"), "<Type decltype(nullptr)>"))  # fmt: skip
def test_a_type_is_shown_as_the_source_writes_it(kind, text):
    assert repr(kind) == text


def test_a_type_that_leads_back_to_itself_is_shown_in_a_short_text():
    lazy: t.Lazy = t.Lazy("itself", lambda: pointer)
    pointer = t.Pointer("*", lazy, 8)
    assert repr(pointer).startswith("<Type ")
    assert len(repr(pointer)) < 100


def test_a_value_is_shown_by_its_type():
    assert repr(constant(INT, bytes(4))) == "<Object int>"
    members = [
        t.Member(name, t.Lazy.known(INT), bit_offset=at) for name, at in (("low", 0), ("high", 32), ("gone", 64))
    ]
    pair = t.Struct("struct", "pair", 8, t.Lazy.known(t.Body(members=tuple(members))))
    assert repr(constant(pair, bytes([5, 0, 0, 0, 6, 0, 0, 0]))) == "<Object struct pair: low = 5, high = 6>"


def test_programs_waves_and_frames_are_shown_by_their_names():
    program = dwarfgpu.open(KERNEL)
    attached = program.attach(STATE)
    assert repr(program) == f"Program({KERNEL!r})"
    assert repr(program.file) == f"CodeObject({KERNEL!r})"
    assert repr(attached) == f"Attached({STATE!r}, {attached.state.target.name}, {len(attached)} waves)"
    wave = attached[0]
    assert repr(wave).startswith("Wave(")
    assert repr(wave.lanes[0]).startswith("Lane(number=0")
    assert repr(wave.frame(0)) == f"Frame(0, {wave.frame(0).name})"


def test_an_answer_is_shown_with_its_type_and_its_lanes():
    frame = dwarfgpu.open(KERNEL).attach(STATE)[0].frame(0)
    assert repr(frame.eval("1 + 1")) == "<Values 1 + 1: int, 64 lanes>"
    assert repr(frame.eval("1 + 1", 3)) == "<Values 1 + 1: int, 1 lane>"
    assert not re.search(" object at 0x", repr(frame.expression("1").object(0)))


def test_a_frame_lists_the_names_that_the_pages_use():
    frame = dwarfgpu.open(KERNEL).attach(STATE)[0].frame(0)
    used = {
        name
        for page in Path("docs").glob("*.md")
        for name in re.findall(r"\bframe\.([a-z]\w*)", page.read_text(encoding="utf-8"))
        if hasattr(frame, name)
    }
    assert {"variables", "eval", "name"} <= used
    assert used <= set(dir(frame))
    assert len(dir(frame)) < 40
    assert all(hasattr(frame, name) for name in dir(frame))
