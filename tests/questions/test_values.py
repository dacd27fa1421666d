"""``print``, ``eval``, ``info locals``, ``set var``, ``display``, ``printf`` and ``x``: values and memory of lanes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.access import Accessor, Reading
from dwarfgpu.program.frames.history import Remembered, _copied, number
from dwarfgpu.program.types.model import Base
from tests.builders.parameters import every, examples, for_each, told
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


def test_show_values(run):
    assert run("show values") == ""
    run(*(f"print {number}" for number in range(1, 13)))
    assert run("show values").splitlines() == [f"${number} = {number}" for number in range(3, 13)]
    assert run("show values 6").splitlines()[0] == "$1 = 1"
    run("print -lane 0-1 left")
    assert run("show values").splitlines()[-1] == "$13 = {[0]=0, [1]=(2)}"


@every(order=["little", "big"], undefined=[0, 0xFF, 0xFF00, 0xF0F0, 0x8001, 0xFFFF])
def test_bits_without_a_value_stay_without(order, undefined):
    location = _copied(Reading(0x1234 & ~undefined, undefined), 16, order)
    found = Accessor(None, order).read(location, 16)
    assert (found.bits, found.undefined) == (0x1234 & ~undefined, undefined)


# --- Convenience variables ------------------------------------------------------------------------------------------


def test_registers_come_before_variables(run):
    run("set $s4 = 7")
    assert run("print $s4", "info registers s4") == "$1 = 7\ns4             0x7                 7\n"
    assert "s4" not in run.debugger.state_of(Remembered).variables


def test_a_number_that_is_kept():
    kept = number(Base("int", 5, 4), -1)
    assert kept.lanes[None].location.places[0].storage.data == 0xFFFFFFFF


# --- eval -----------------------------------------------------------------------------------------------------------


# --- info locals, info args -----------------------------------------------------------------------------------------


# --- set var --------------------------------------------------------------------------------------------------------


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
@pytest.mark.sampled(3)
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


def test_instructions(run, require_tool):
    require_tool("llvm-objdump-22", "llvm-objdump")
    lines = run("x/2i $pc").splitlines()
    assert lines[0].startswith("=> 0x7f0000001548 <X+72>:\ts_andn2_b64 exec, ")
    assert lines[1].startswith("   0x7f000000154c <X+76>:\tv_add_u32_e32 v2, ")
    assert run("x").splitlines()[0].startswith("   0x7f0000001550 <X+80>:\t")
    assert run("display/i $pc").splitlines() == ["1: x/i $pc", lines[0]]


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


@pytest.mark.parametrize("line, message", [*told("""
    print -elements zork -- limit -> print elements is a number from 0, or unlimited, not 'zork'
    print -elements | print -elements -- limit -> `print`: -elements needs N
    print -s on -- limit -> `print`: -s is -static-members or -symbol
    print -zork -- limit -> `print`: -zork is not an option
    with print pretty on -> `with` needs a setting, `--` and a command
    print/y limit | x/y slots | display/y left -> Undefined output format "y".
    print/i limit -> Format letter "i" is meaningless in "print" command.
    print/2x limit -> Item count other than 1 is meaningless in "print" command.
    print/xb limit -> Size letters are meaningless in "print" command.
    print limit + | ptype left + | display left + -> an operand is missing
    print out[99] -> Cannot access memory at address generic#0x1018c
    print $v200 -> the contents of register v200 are not available
    print zork#1 | x zork#1 -> Address space zork not recognised by the architecture
    print $_lane_count = 3 -> the left side of an assignment must be
    eval -lane 1 -ops DW_OP_lit1; DW_OP_lit0; DW_OP_div -> the divisor is 0
    set var 3 = 4 -> the left side of an assignment must be a variable, a register or memory
    set var unused = 3 | printf "%d", unused -> it has neither a location
    set var zork = 3 | x zork | whatis zork | display zork | printf "%d", zork -> no variable `zork`
    x $v3 -> Attempt to take address of value not located in memory.
    x 1.5 / 0.0 -> Cannot access memory at address 0x7fffffffffffffff
    printf "%d" | printf "%d", 1, 2 -> Wrong number of arguments for specified format-string
    printf "%d", slots -> Value can't be converted to integer
    print | print $ | whatis -> The history is empty          print $$ -> History does not go back to $$1
    print $3 -> History has not yet reached $3                print $$3 -> History does not go back to $$3
    print zork -> no variable `zork` in X                     with zork on -- print 1 -> there is no setting 'zork on'
    print -lane 64 limit -> there is no lane 64   print -lane zork limit -> 'zork' is neither a lane nor a range
    print $1 = 3 -> History has not yet reached $1            eval -> needs EXPR           eval -hex 3 -> is not bytes
    eval -ops DW_OP_zork -> DW_OP_zork                        eval -ops DW_OP_lit1 -hex 30 -> takes -ops or -hex
    eval -repair zork left -> there is no repair 'zork'       set var -> needs EXPR = EXPR
    set var slots = 3 -> cannot be assigned as a whole        x | x/i -> `x` needs an address
    x/- slots -> /- is not a format                           x/4- slots -> /4- is not a format
    x/99999999999999x slots -> units are too many             x/-2i 8 -> No function contains the address before 0x8.
    whatis struct zork -> No struct type named zork.          ptype union zork -> No union type named zork.
    ptype enum zork -> No enum type named zork.               ptype/x left -> `ptype` has no format 'x'
    whatis left.x -> there is no member named x               display/x -> Argument required (expression to compute).
    undisplay zork -> 'zork' is neither a display nor a range   undisplay 4 -> there is no display 4
    info display x -> takes no arguments                      printf 3 -> Bad format string
    printf "%d" limit -> Invalid argument syntax              printf "%y", limit -> Unrecognized format specifier
    printf "%s", limit -> %s takes a string                   printf "%s -> has no end
    """), ("printf ", "needs")])  # fmt: skip
def test_errors(run, line, message):
    assert message in str(run.fails(line))
    assert not run.debugger.state_of(Remembered).history
    assert run("info display") == "There are no auto-display expressions now.\n"
