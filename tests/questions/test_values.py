"""``print``, ``eval``, ``info locals``, ``set var``, ``display``, ``printf`` and ``x``: values and memory of lanes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.access import Accessor, Reading
from dwarfgpu.program.frames.history import Remembered, _copied, number
from dwarfgpu.program.types.model import Base
from tests.builders.parameters import every, examples, for_each
from tests.questions.harness import KERNEL, STATE, Run


def styled(run):
    """Show styles as marks around their text."""
    run.debugger.output.style = lambda style, text: text if style == "plain" else f"<{style}:{text}>"


# --- print: one lane ----------------------------------------------------------------------------------------------


def test_what_has_no_value_says_why_within_the_screen_and_is_not_remembered(run):
    assert run("print unused").splitlines() == [
        "unused = <optimized out> (it has neither a location nor a constant value)"
    ]
    run.debugger.output.width = 40
    run("lane 3")
    lines = run("print unused", "info locals unused").splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(each.strip() for each in lines).endswith("(lane 3 is inactive)")
    assert run("print limit").startswith("$1 = 20 ")


# --- print: several lanes -------------------------------------------------------------------------------------------


def test_lines_fit_the_width(run):
    for width in (40, 80, 200):
        run.debugger.output.width = width
        lines = run("print -all $lane").splitlines()
        assert all(len(line) <= width for line in lines)
        assert " ".join(line.strip() for line in lines).count("=") == 65


def test_idle_lanes_are_dim(run):
    styled(run)
    assert run("print -lane 0-2 left") == "$1 = {[0]=0, [1]=<dim:(2)>, [2]=4}\n"


def test_history_is_empty_where_no_lane_has_a_value(run):
    assert run("print -all unused").startswith("unused = <optimized out> (")
    assert not run.debugger.state_of(Remembered).history
    assert run("output limit", "output/x limit") == "200x14"
    assert "The history is empty" in str(run.fails("print"))


# --- The history ----------------------------------------------------------------------------------------------------


@every(order=["little", "big"], undefined=[0, 0xFF, 0xFF00, 0xF0F0, 0x8001, 0xFFFF])
def test_bits_without_a_value_stay_without(order, undefined):
    location = _copied(Reading(0x1234 & ~undefined, undefined), 16, order)
    found = Accessor(None, order).read(location, 16)
    assert (found.bits, found.undefined) == (0x1234 & ~undefined, undefined)


def test_registers_come_before_variables(run):
    run("set $s4 = 7")
    assert run("print $s4", "info registers s4") == "$1 = 7\ns4             0x7                 7\n"
    assert "s4" not in run.debugger.state_of(Remembered).variables


def test_a_number_that_is_kept():
    kept = number(Base("int", 5, 4), -1)
    assert kept.lanes[None].location.places[0].storage.data == 0xFFFFFFFF


# --- Any text -------------------------------------------------------------------------------------------------------

_WORDS = st.lists(
    st.sampled_from(
        [*"$1+-*/%()[]{}=<>&|^!~?:.,#@'\"", "$", "$$", "$foo", "left", "slots", "out", "-all", "-lane", "0-3", "0x10",
         "local", "=", "$pc", "$v3", "int", "struct", "sizeof", "1.5", "/x", "/", "x"]
    ),
    max_size=8)  # fmt: skip


@pytest.fixture(scope="module")
def shared():
    return Run(KERNEL, STATE)


_COMMANDS = (
    *("print", "print/x", "print -all", "eval", "eval -ops", "eval -hex", "x/2xb", "x", "whatis", "ptype/o", "display"),
    *("locate", "explain", "verify", "info registers", "info locals", "maint print cfi", "maint print die", "printf"),
    *("output", "undisplay", "maint print dwarf-expr", "maint info sections"),
)


@examples(100)
@given(st.sampled_from(_COMMANDS), _WORDS)
def test_any_text_gives_a_value_or_an_error(shared, command, words):
    with suppress(DwarfGpuError):
        shared(f"{command} {' '.join(words)}")


@pytest.mark.parametrize("operator, number", [("+", 18018), ("|", 18), ("&&", 1), ("* 1 +", 18018), ("== even ==", 0)])
@pytest.mark.sampled(6)
def test_long_expressions_need_no_deep_stack(run, operator, number):
    text = f"even {operator} " * 1000 + "even"
    assert run("lane 4", f"print {text}").endswith(f"$1 = {number}\n")
    assert run.fails("print " + "even + " * 2001 + "even").message.startswith(
        "an expression has more than 2000 operators"
    )


@for_each("text, message",
    ("even" + "[0]" * 900, "the type int has no elements"),
    ("even" + ".x" * 900, "there is no member named x"),
    ("even" + "++" * 900, "the left side of an assignment must be"),
    ("even::" * 900 + "even", "a name has more than 100 parts"),
    ("even::" * 10_000 + "even", "a name has more than 100 parts"),
    ("'" + "even::" * 900 + "even'", "a name has more than 100 parts"),
    ("sizeof(struct " + "even::" * 900 + "even)", ""))  # fmt: skip
@pytest.mark.parametrize("command", ["print", "ptype", "print -lane 0,2", "explain"])
def test_what_is_wrong_in_a_long_expression_is_told(run, command, text, message):
    if command == "ptype" and "++" in text:  # a type needs no value, so nothing is assigned to
        assert run(f"{command} {text}") == "type = int\n"
        return
    assert message in run.fails(f"{command} {text}").message


def test_memory_fits_the_width_and_has_strings():
    for width in (40, 80):
        run = Run(KERNEL, width=width)
        for line in ("x/9xw X", "x/9tw X", "x/9ub X", "x/5xg X", "x/3tg X", "x/9xb X", "x/6dw X"):
            lines = run(line).expandtabs().splitlines()
            assert all(len(each) <= width or len(each.split(":")[1].split()) == 1 for each in lines), (line, width)
    run = Run("fixtures/host/classes.gcc.O0.v5.x86_64")
    section = next(each for each in run.debugger.opened.file.image.sections if each.name == ".rodata")
    address = section.address + bytes(section.data).index(b"rex\0")
    assert run(f"x/s {address}").endswith(':\t"rex"\n')
    assert run("print (char) $__") == "$1 = 114 'r'\n"
    assert run("set print elements 2", f"x/s {address}", "x").splitlines() == [
        f'{address:#x}:\t"re"...',
        f'{address + 2:#x}:\t"x"',
    ]
    assert run("set print elements 200", f"x/-1s {address + 3}").endswith(':\t"rex"\n')
    assert run(f"x/sh {address}").split("\t")[1].startswith('u"')
