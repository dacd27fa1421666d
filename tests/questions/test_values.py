"""``print``, ``eval``, ``info locals``, ``set var``, ``display``, ``printf`` and ``x``: values and memory of lanes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.access import Accessor, Reading
from dwarfgpu.program.frames.history import Remembered, _copied, number
from dwarfgpu.program.types.model import Base
from tests.builders.parameters import every, for_each, told
from tests.questions.harness import CALLS, IN_CALLS, KERNEL, STATE, Run


def styled(run):
    """Show styles as marks around their text."""
    run.debugger.output.style = lambda style, text: text if style == "plain" else f"<{style}:{text}>"


# --- print: one lane ----------------------------------------------------------------------------------------------


def test_the_value_is_that_of_the_focus_lane(run):
    assert run("print left") == "$1 = 0\n"
    run("lane 2")
    assert run("print left") == "$2 = 4\n"


@pytest.mark.parametrize("line, value", told(r"""
    print limit | p limit | inspect limit | print/r limit -> 20
    print/x limit | print/rx limit -> 0x14                    print/t limit -> 10100       print/o limit -> 024
    print/c limit -> 20 '\024'   print/z limit -> 0x00000014
    print/a $pc -> 0x7f0000001548 <X+72>                      print -limit | print -- -limit -> -20
    print out -> (int *) generic#0x10000                      print &slots -> (int (*)[4]) private_lane#0x10
    # 32 bits, as `slots + n` has
    print &slots[0x40000001] -> (int *) private_lane#0x14
    # as the tests of ROCgdb have it (gdb.rocm/aspace-user-input.exp)
    print/d private_lane#0x0 -> private_lane#0                print/o private_lane#0x8 -> private_lane#010
    print/x &slots | print/a &slots -> private_lane#0x10      print/u &slots -> private_lane#16
    print/t &slots -> private_lane#10000                      print/z &slots -> private_lane#0x00000010
    print/x (int *) 0x10 -> 0x10                              print limit == 20 ? left : 3 | print $lane -> 0
    print $pc -> (void (*)()) 0x7f0000001548 <X+72>           print sizeof(slots) -> 16    print slots -> {0, 1, 2, 3}
    print/x slots -> {0x0, 0x1, 0x2, 0x3}                     print $exec -> 349525
    print $v1 -> {0 <repeats 64 times>}                       print $nobody -> void
    """))  # fmt: skip
def test_values_have_numbers(run, line, value):
    assert run(line) == f"$1 = {value}\n"


def test_a_lane_that_does_not_execute_says_so(run):
    run("lane 3")
    assert run("print left") == "$1 = 6  (lane 3 is inactive)\n"


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


@for_each("line, text",
    ("print -elements 2 -- slots", "{0, 1...}"),              ("print -elem 2 -- slots", "{0, 1...}"),
    ("print -elements 2 slots", "{0, 1...}"),                 ("print -elements 2 -- /x slots", "{0x0, 0x1...}"),
    ("print/x -elements unlimited -- slots", "{0x0, 0x1, 0x2, 0x3}"),
    ("print -max-depth 0 -- slots", "{...}"),
    ("print -symbol off -elements 2 -- $pc", "(void (*)()) 0x7f0000001548"),
    ("print -symbol -- $pc", "(void (*)()) 0x7f0000001548 <X+72>"),
    ("print -lane 1-2 -elements 1 -- slots", "{[1]=({10...}), [2]={20...}}"),
    ("with print elements 1 -- print slots", "{0...}"),
    ("w print el 1 -- print -elements 2 -- slots", "{0, 1...}"))  # fmt: skip
def test_settings_for_one_command(run, line, text):
    assert run(line) == f"$1 = {text}\n"
    assert run("print slots") == "$2 = {0, 1, 2, 3}\n"


def test_settings_and_options_hold_for_one_command(run):
    run.fails("print -elements 1 -- zork")
    run.fails("with print elements 1 -- print zork")
    assert run("show print elements").startswith("print elements  200\n")
    assert run("info locals -elements 1 slots") == "slots = {0...}\n"
    assert run("info locals -t int").splitlines()[0].startswith("even = ")
    assert run("info locals -t zork") == "No matching locals.\n"
    assert run("info locals -q -t zork") == ""
    assert run("info args -q zork") == ""


def test_settings_change_the_look(run):
    assert run("set print elements 2", "print slots") == "$1 = {0, 1...}\n"
    assert run("set print repeats 100", "set print elements 3", "print $v1") == "$2 = {0, 0, 0...}\n"
    assert run("set print symbol off", "print $pc") == "$3 = (void (*)()) 0x7f0000001548\n"


# --- print: several lanes -------------------------------------------------------------------------------------------


def test_lanes_with_one_value_are_folded_and_idle_ones_are_in_parentheses(run):
    assert run("print -lane 0-3,20-24 left") == (
        "$1 = {[0]=0, [1]=(2), [2]=4, [3]=(6), [20-24]=<not in scope>}\n"
        "  lanes 20-24: <not in scope> (`left` is not in scope at line 10, where the\n"
        "    lane is)\n"
    )
    assert run("print -active limit").startswith("$2 = {[0]=20, [2]=20,")
    assert run("print -lane 5 limit") == "$3 = {[5]=(20)}\n"


def test_lines_fit_the_width(run):
    for width in (40, 80, 200):
        run.debugger.output.width = width
        lines = run("print -all $lane").splitlines()
        assert all(len(line) <= width for line in lines)
        assert " ".join(line.strip() for line in lines).count("=") == 65


def test_idle_lanes_are_dim(run):
    styled(run)
    assert run("print -lane 0-2 left") == "$1 = {[0]=0, [1]=<dim:(2)>, [2]=4}\n"


def test_lanes_without_a_value_say_why_below(run):
    text = run("print -lane 0-4 slots")
    assert text == (
        "$1 = {[0]={0, 1, 2, 3}, [1]=({10, 11, 12, 13}), [2]={20, 21, 22, 23},\n"
        "    [3-4]=<error>}\n"
        "  lanes 3-4: <error> (Cannot access memory at address private_lane#0x10: the\n"
        "    machine state does not have it)\n"
    )
    assert "there was no value" not in text
    assert "Cannot access memory" in str(run.fails("print -lane 3 $1"))


def test_history_is_empty_where_no_lane_has_a_value(run):
    assert run("print -all unused").startswith("unused = <optimized out> (")
    assert not run.debugger.state_of(Remembered).history
    assert run("output limit", "output/x limit") == "200x14"
    assert "The history is empty" in str(run.fails("print"))


# --- The history ----------------------------------------------------------------------------------------------------


def test_the_history_is_counted_from_both_ends(run):
    run("print 10", "print 20", "print 30")
    assert run("print $") == "$4 = 30\n"
    assert run("print $$") == "$5 = 30\n"
    assert run("print $$4 + $2") == "$6 = 30\n"
    assert run("print") == "$7 = 30\n"
    assert run("print $1") == "$8 = 10\n"


def test_a_value_of_several_lanes_is_kept_for_each(run):
    run("print -lane 0-3 left")
    assert run("print $1") == "$2 = 0\n"
    run("lane 2")
    assert run("print $1 + 1") == "$3 = 5\n"
    assert run("print -lane 0-2 $1 * 2") == "$4 = {[0]=0, [1]=(4), [2]=8}\n"
    assert "the value was not read in lane 9" in str(run.fails("print -lane 9 $1"))
    assert run("print $1", "print -lane 0-3 left", "print").splitlines()[-1] == (
        "$7 = {[0]=0, [1]=(2), [2]=4, [3]=(6)}"
    )


def test_what_is_kept_does_not_change_with_the_machine(run):
    run("print left", "print slots", "print -lane 0-2 left")
    run("set var left = 77", "set var slots[1] = 88")
    assert run("print left", "print slots") == "$4 = 77\n$5 = {0, 88, 2, 3}\n"
    assert run("print $1", "print $2") == "$6 = 0\n$7 = {0, 1, 2, 3}\n"
    assert run("print -lane 0-2 $3") == "$8 = {[0]=0, [1]=(2), [2]=4}\n"
    assert run("print $2[3]", "whatis $2") == "$9 = 3\ntype = int [4]\n"


def test_pointers_of_the_history_lead_to_memory_as_it_is_now(run):
    run("print &slots[1]", "set var slots[1] = 55")
    assert run("print *$1", "print $1[1]") == "$2 = 55\n$3 = 2\n"


def test_show_values(run):
    assert run("show values") == ""
    run(*(f"print {number}" for number in range(1, 13)))
    assert run("show values").splitlines() == [f"${number} = {number}" for number in range(3, 13)]
    assert run("show values 6").splitlines()[0] == "$1 = 1"
    run("print -lane 0-1 left")
    assert run("show values").splitlines()[-1] == "$13 = {[0]=0, [1]=(2)}"


def test_elements_behind_a_pointer_are_named_by_a_hint(run):
    hint = "these are pointers; `*out@2` has what the first of them points to"
    assert run.fails("print out@2").hint == hint  # it is in a register, which holds no other
    assert "hint" not in run("print *out@2", "print slots@1")
    error = run.fails("print out[0:2]")
    assert "an index is one number" in error.message
    assert error.hint == "`x[FIRST]@COUNT` shows several elements"


def test_a_value_that_is_too_large_is_shown_and_not_kept(run):
    assert run("set print elements 2", "print slots[0]@20000") == "$1 = {0, 1...}\n"
    assert "a value of 80000 bytes was not kept" in str(run.fails("print $1"))


@every(order=["little", "big"], undefined=[0, 0xFF, 0xFF00, 0xF0F0, 0x8001, 0xFFFF])
def test_bits_without_a_value_stay_without(order, undefined):
    location = _copied(Reading(0x1234 & ~undefined, undefined), 16, order)
    found = Accessor(None, order).read(location, 16)
    assert (found.bits, found.undefined) == (0x1234 & ~undefined, undefined)


# --- Convenience variables ------------------------------------------------------------------------------------------


def test_convenience_variables_hold_values_of_any_type(run):
    assert run("set $foo = limit + 1", "print $foo") == "$1 = 21\n"
    assert run("print $foo = 3", "print $foo * 2", "print $foo += 4") == "$2 = 3\n$3 = 6\n$4 = 7\n"
    assert run("set var $all = slots", "print $all[2]") == "$5 = 2\n"
    assert run("set $p = &slots", "print *$p") == "$6 = {0, 1, 2, 3}\n"
    assert run('set $s = "text"', "print $s") == '$7 = "text"\n'
    expected = ["$foo = 7", "$all = {0, 1, 2, 3}", "$p = (int (*)[4]) private_lane#0x10", '$s = "text"']
    assert run("show convenience").splitlines()[:4] == expected


def test_a_variable_that_is_set_in_several_lanes_has_a_value_in_each(run):
    run("set var -lane 0-3 $w = left + 1")
    assert run("print -lane 0-3 $w") == "$1 = {[0]=1, [1]=(3), [2]=5, [3]=(7)}\n"
    assert run("print $w") == "$2 = 1\n"
    run("lane 2")
    assert run("print $w") == "$3 = 5\n"
    assert run("set $w = 1", "print -lane 0-3 $w") == "$4 = {[0]=1, [1]=(1), [2]=1, [3]=(1)}\n"


def test_what_is_looked_at(run):
    run("lane 2")
    names = ("_thread", "_wave_id", "_lane", "_lane_count", "_lane_workgroup_pos")
    expected = ["$1 = 1", '$2 = "1:1:1:1"', "$3 = 2", "$4 = 64", '$5 = "[2,0,0]"']
    assert run(*(f"print ${name}" for name in names)).splitlines() == expected
    assert run("show convenience").splitlines()[0] == "$_thread = 1"


def test_a_file_alone_has_values_and_sections_and_is_not_written():
    run = Run(KERNEL)
    assert run("show convenience").startswith("No debugger convenience values now defined.\n")
    assert run("print 1 + 2", "print $ * 2", "set $x = $", "print $x").splitlines() == ["$1 = 3", "$2 = 6", "$3 = 6"]
    assert run("print $_lane_count") == "$4 = void\n"
    assert "no state" in str(run.fails("print -all 3"))
    run = Run(KERNEL)
    assert "cannot be written" in str(run.fails("set var *(char *) 0x200 = 3"))
    run = Run(KERNEL)
    assert run("x/2xb 0x480").startswith("0x480 <")
    assert "Cannot access memory at address 0x10" in str(run.fails("x/x 0x10"))
    assert "lane" in str(run.fails("x private_lane#0x10"))
    run = Run("fixtures/host/classes.gcc.O0.v5.x86_64")
    assert run("eval sizeof(int) + 1") == "sizeof(int) + 1 = 5\n"


def test_registers_come_before_variables(run):
    run("set $s4 = 7")
    assert run("print $s4", "info registers s4") == "$1 = 7\ns4             0x7                 7\n"
    assert "s4" not in run.debugger.state_of(Remembered).variables


def test_a_number_that_is_kept():
    kept = number(Base("int", 5, 4), -1)
    assert kept.lanes[None].location.places[0].storage.data == 0xFFFFFFFF


# --- eval -----------------------------------------------------------------------------------------------------------


def test_eval_and_locals_ask_in_several_lanes(run):
    assert run("eval limit") == "limit = 20  (10 lanes)\n"
    assert run("eval left").splitlines()[1] == "  lanes 0-7      0     4     8    12"
    assert run("eval -lane 2 -location left") == "left = 4\n  at v3, its own lane\n"
    assert run("eval/x -lane 2 left") == "left = 0x4\n"
    assert run("eval -all limit") == "limit = 20  (64 lanes, 54 of them inactive)\n"
    assert run("eval unused").startswith("unused = <optimized out> it has neither a location")
    assert run("info args -lane 0-1 limit") == "limit = 20  (2 lanes, 1 of them inactive)\n"
    assert run("info locals -lane 0-2 left") == ("left  int\n  lane 0  0\n  lane 1  2  (inactive)\n  lane 2  4\n")


def test_eval_shows_and_traces_operations(run):
    text = run("eval -trace -lane 2 left")
    assert "DW_OP_LLVM_push_lane  [v3] -> [v3, 2]" in text
    assert text.endswith("left = 4\n")
    assert run("eval -lane 2 left") == "left = 4\n"
    assert run("eval -trace -lane 2 -ops DW_OP_lit1; DW_OP_neg").splitlines() == [
        "0x0000  DW_OP_lit1  [] -> [1]",
        "0x0001  DW_OP_neg   [1] -> [18446744073709551615]",
        "value 18446744073709551615 (generic)",
    ]
    text = run("eval -lane 0-1 -ops DW_OP_lit1; DW_OP_LLVM_push_lane; DW_OP_div")
    assert text.startswith("lane 0: division by zero at DW_OP_div")
    assert "lane 1: value 1 (generic)" in text
    assert run('eval -ops "DW_OP_lit3; DW_OP_lit4; DW_OP_plus"') == run("eval -ops DW_OP_lit3; DW_OP_lit4; DW_OP_plus")
    assert run("eval -hex '33'") == run("eval -hex 33")


@for_each("line, text",
    ("eval -lane 2 -ops DW_OP_lit4; DW_OP_lit3; DW_OP_plus", "value 7 (generic)\n"),
    ("eval -lane 2 -ops DW_OP_LLVM_push_lane", "value 2 (generic)\n"),
    ("eval -hex 31 23 04", "lanes 0,2,4,6,8,10,12,14,16,18: value 5 (generic)\n"),
    ("eval -lane 0-1 -ops DW_OP_LLVM_push_lane", "lane 0: value 0 (generic)\nlane 1: value 1 (generic)\n"),
    ("eval -lane 3 -ops DW_OP_regx v3", "v3\n"),
    ("eval -repair off -lane 2 left", "left = 4\n"))  # fmt: skip
def test_eval_takes_operations(run, line, text):
    assert run(line) == text


# --- info locals, info args -----------------------------------------------------------------------------------------


def test_locals_of_the_focus_lane(run):
    run("lane 2")
    assert run("info locals").splitlines() == [
        "even = 14",
        "left = 4",
        "lane = 2",
        "slots = {20, 21, 22, 23}",
        "unused = <optimized out> (it has neither a location nor a constant value)",
        "result = 0",
        "__lex_1_save_exec = 18446744073709551615",
        "__lex_1_1_save_exec = 1048575",
    ]
    assert run("info args") == "out = generic#0x10000\nlimit = 20\n"
    assert run("info locals ^l") == "left = 4\nlane = 2\n"
    assert run("info locals/x left") == "left = 0x4\n"
    assert run("info locals zork") == "No matching locals.\n"
    assert run("info args zork") == "No matching arguments.\n"


def test_locals_of_a_caller():
    run = Run(CALLS, IN_CALLS)
    assert run("info args") == (
        "x = <error: the contents of register v0 are not available>\n"
        "repaired: the compiler misdescribes x (`set verbose on` shows how)\n"
    )
    run("set verbose on")
    assert "\n  repaired (vector-register); as written: <error>" in run("info args")
    run("set verbose off")
    run("up", "up")
    assert "y = <optimized out> (it has no location at 0x7f0000001c5b: the nearest below is" in run("info args")


@for_each("file, state, line, message",
    (KERNEL, None, "info locals", "No frame selected."),      (KERNEL, None, "info args", "No frame selected."),
    (KERNEL, STATE, "info locals [", "takes a regular expression"),
    (KERNEL, STATE, "info locals -lane 99", "there is no lane 99"),
    (None, None, "info locals", "no file is open"),           (None, None, "print 3", "no file is open"),
    (None, None, "set var x = 3", "no file is open"))  # fmt: skip
def test_nothing_to_show(file, state, line, message):
    assert message in str(Run(file, state).fails(line))


# --- set var --------------------------------------------------------------------------------------------------------


def test_assignments_are_made_in_the_focus_lane_or_in_the_ones_that_are_said(run):
    run("set var left = 40")
    assert run("print -lane 0-2 left") == "$1 = {[0]=40, [1]=(2), [2]=4}\n"
    run("set var -lane 1-2 left = left + 1")
    assert run("print -lane 0-2 left") == "$2 = {[0]=40, [1]=(3), [2]=5}\n"
    assert run.fails("set variable -all left = $lane").message.startswith("no variable `left` in X")
    run("set variable -lane 0-19 left = $lane")
    assert run("print -lane 0-2,19 left") == "$3 = {[0]=0, [1]=(1), [2]=2, [19]=(19)}\n"
    assert run("print left = 9", "set left = 8", "print left") == "$4 = 9\n$5 = 8\n"


def test_registers_and_memory_are_assigned_to(run):
    run("set var $v3[1] = 5", "set var slots[0] = 6", "set var *(int *) &slots[1] = 7")
    assert run("print $v3[1]", "print slots") == "$1 = 5\n$2 = {6, 7, 2, 3}\n"


def test_nothing_is_written_where_a_lane_has_no_value(run):
    assert "(lane 3)" in str(run.fails("set var -lane 0-3 left = slots[1]"))
    assert run("print -lane 0-2 left") == "$1 = {[0]=0, [1]=(2), [2]=4}\n"


def test_frames_notice_what_is_written(run):
    run("set var $exec = 2")
    assert run("eval -lane 0 limit") == "limit = 20  (lane 0 is inactive)\n"
    assert run("print -active left") == "$1 = {[1]=2}\n"
    assert run("print $lane") == "$2 = 1\n"


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
    *("output", "undisplay", "maint info address-aliases", "maint print dwarf-expr", "maint info sections"),
)


@given(st.sampled_from(_COMMANDS), _WORDS)
def test_any_text_gives_a_value_or_an_error(shared, command, words):
    with suppress(DwarfGpuError):
        shared(f"{command} {' '.join(words)}")


@pytest.mark.parametrize("count", ["1.5", "1e400", "0.0/0", "1/0.0", "1.0f"])
def test_an_index_or_a_count_must_be_an_integer(run, count):
    assert 'Non-integral right operand for "[]" operator' in run.fails(f"print slots[{count}]").message
    assert 'Non-integral right operand for "@" operator' in run.fails(f"print slots[0]@({count})").message


@pytest.mark.parametrize("operator, number", [("+", 18018), ("|", 18), ("&&", 1), ("* 1 +", 18018), ("== even ==", 0)])
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


def test_expressions_are_shown_after_each_change_of_focus(run):
    assert run("display left") == "1: left = 0\n"
    assert run("display/x limit") == "2: /x limit = 0x14\n"
    assert run("lane 2").endswith("1: left = 4\n2: /x limit = 0x14\n")
    assert run("print 3") == "$1 = 3\n"
    assert run("display") == "1: left = 4\n2: /x limit = 0x14\n"


def test_what_is_written_is_a_change(run):
    run("display left")
    assert run("set var left = 9") == "1: left = 9\n"


def test_displays_of_memory(run):
    assert run("display/2dw slots") == "1: x/2dw slots\nprivate_lane#0x10:\t0\t1\n"
    assert run("display/dw &slots[1]") == "2: x/dw &slots[1]  private_lane#0x14:\t1\n"
    run("undisplay 2")
    assert run("lane 1").endswith("1: x/2dw slots\nprivate_lane#0x10:\t10\t11\n")
    assert run("x/dw &slots[3]", "display", "x &slots[2]").endswith("private_lane#0x18:\t12\n")


def test_what_cannot_be_read_is_told_in_its_place(run):
    run("display slots[1]", "display/xb slots", "display unused")
    assert run("lane 9").splitlines()[-3:] == [
        "1: slots[1] = <error: Cannot access memory at address private_lane#0x14>",
        "2: x/xb slots  <error: Cannot access memory at address private_lane#0x10>",
        "3: unused = <optimized out> (it has neither a location nor a constant value)",
    ]


def test_the_table(run):
    assert run("info display") == "There are no auto-display expressions now.\n"
    run("display left", "display/x limit", "display/4xw slots", "display/s slots")
    assert run("info display") == (
        "Auto-display expressions now in effect:\nNum Enb Expression\n"
        "1:   y  left\n2:   y  /x limit\n3:   y  /4wx slots\n4:   y  /1bs slots\n"
    )
    run("undisplay 1 3-4")
    assert run("info display").splitlines()[2:] == ["2:   y  /x limit"]
    assert run("display left").startswith("5: left")
    run("delete display")
    assert run("info display") == "There are no auto-display expressions now.\n"
    assert run("display") == ""


def test_a_display_that_is_gone(run):
    run("display left", "display limit", "undisplay 1")
    assert str(run.fails("undisplay 1")) == "No display number 1."


def test_displays_of_other_functions_are_not_shown():
    run = Run("fixtures/llvm24/hip-calls.gfx1100.w32.O2.co", "dwarfgpu/examples/calls.json")
    run("frame function middle", "display slots", "display 1 + 1")
    assert run("frame 0").endswith("\n2: 1 + 1 = 2\n")
    run("frame function middle")
    assert "1: slots = <error: Cannot access" in run("display")
    run("frame 0")
    assert run("display") == "2: 1 + 1 = 2\n"


def test_displays_of_a_file_alone():
    run = Run(KERNEL)
    assert run("display 1 + 2") == "1: 1 + 2 = 3\n"
    run = Run("fixtures/asm/lane-pc.gfx90a.w64.co")
    assert run("display/x $pc").splitlines() == [
        "1: /x $pc = <error: the contents of register pc are not available: no state>"
    ]


@for_each("arguments, text",
    (r'"%d\n", limit', "20\n"),
    (r'"%5d|%-5d|%05d", limit, limit, limit', "   20|20   |00020"),
    (r'"%x %X %o %#x", 255, 255, 8, 16', "ff FF 10 0x10"),
    (r'"%x %u", -1, (char) -1', "ffffffff 255"),             (r'"%lu %lld", 1, 2', "1 2"),
    (r'"%c%c", 65, 0x42', "AB"),                             (r'"%.2f %g %e", 1.5, 2, 0.5', "1.50 2 5.000000e-01"),
    (r'"%p", out', "0x10000"),
    (r'"%s|%6s|%-4s|%.1s", "ab", "ab", "ab", "ab"', "ab|    ab|ab  |a"),
    (r'"100%%"', "100%"),  (r'"a",', "a"),        (r'"%d %x %f", 1 / 0.0, 1.5, 1 / 0.0', "9223372036854775807 1 inf"),
    (r'"%d,%d\n", slots[1], (1 + 1)', "1,2\n"))  # fmt: skip
def test_printf(run, arguments, text):
    assert run(f"printf {arguments}") == text


def test_printf_writes_what_the_lane_has(run):
    run("lane 2")
    assert run(r'printf "%d\n", left') == "4\n"


@for_each("line, text",
    ("x/4dw slots", "private_lane#0x10:\t0\t1\t2\t3\n"),
    ("x/4dw &slots", "private_lane#0x10:\t0\t1\t2\t3\n"),
    ("x/2xw private_lane#0x14", "private_lane#0x14:\t0x00000001\t0x00000002\n"),
    ("x/2x private_lane#0x14", "private_lane#0x14:\t0x00000001\t0x00000002\n"),
    ("x/xg slots", "private_lane#0x10:\t0x0000000100000000\n"),
    ("x/3xb &slots[3]", "private_lane#0x1c:\t0x03\t0x00\t0x00\n"),
    ("x/2th &slots[1]", "private_lane#0x14:\t0000000000000001\t0000000000000000\n"),
    ("x/2ow &slots[1]", "private_lane#0x14:\t01\t02\n"),
    ("x/cb &slots[1]", "private_lane#0x14:\t1 '\\001'\n"),
    ("x/fw &slots[1]", "private_lane#0x14:\t1.40129846e-45\n"),
    ("x/-2dw &slots[3]", "private_lane#0x14:\t1\t2\n"),
    ("x/0x slots", ""))  # fmt: skip
def test_formats_and_sizes(run, line, text):
    assert run(line) == text


def test_it_is_the_memory_of_the_lane_and_goes_on_where_it_was(run):
    run("lane 2")
    assert run("x/2dw private_lane#0x10") == "private_lane#0x10:\t20\t21\n"
    run("lane 0")
    assert run("x/2dw private_lane#0x10") == "private_lane#0x10:\t0\t1\n"
    assert run("x/2dh slots", "x", "x &slots[2]") == (
        "private_lane#0x10:\t0\t0\nprivate_lane#0x14:\t1\t0\nprivate_lane#0x18:\t2\n"
    )
    assert run("x/2dw slots", "") == "private_lane#0x10:\t0\t1\nprivate_lane#0x18:\t2\t3\n"
    run("x/2dw &slots[1]")
    assert run("print $_", "print $__", "print *$_") == ("$1 = (int32_t *) private_lane#0x18\n$2 = 2\n$3 = 2\n")
    assert run("whatis $__") == "type = int32_t\n"


def test_what_can_be_read_is_shown_before_the_error(run):
    run.written.clear()
    error = run.fails("x/8dw &slots[2]")
    assert "".join(run.written) == "private_lane#0x18:\t2\t3\n"
    assert str(error) == "Cannot access memory at address private_lane#0x20"
    assert run("print $__") == "$1 = 3\n"
    assert str(run.fails("x/s local#0x10")) == "Cannot access memory at address local#0x10"
    assert str(run.fails("x 0x10")) == "Cannot access memory at address 0x10"


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
