"""``display``, ``output`` and ``printf``, and ``set print pretty``."""

from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, Run


def test_expressions_are_shown_after_each_change_of_focus(run):
    assert run("display left") == "1: left = 0\n"
    assert run("display/x limit") == "2: /x limit = 0x14\n"
    assert run("lane 2").endswith("1: left = 4\n2: /x limit = 0x14\n")
    assert run("print 3") == "$1 = 3\n"
    assert run("display") == "1: left = 4\n2: /x limit = 0x14\n"


def test_what_is_written_is_a_change(run):
    run("display left")
    assert run("set var left = 9") == "1: left = 9\n"


def test_memory(run):
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
    run = Run("fixtures/llvm24/hip-calls.gfx1100.w32.O2.co", "docs/examples/calls.json")
    run("frame function middle", "display slots", "display 1 + 1")
    assert run("frame 0").endswith("\n2: 1 + 1 = 2\n")
    run("frame function middle")
    assert "1: slots = <error: Cannot access" in run("display")
    run("frame 0")
    assert run("display") == "2: 1 + 1 = 2\n"


def test_without_a_machine():
    run = Run(KERNEL)
    assert run("display 1 + 2") == "1: 1 + 2 = 3\n"


def test_why_there_is_no_value_stays_within_the_screen():
    run = Run("fixtures/asm/lane-pc.gfx90a.w64.co")
    assert run("display/x $pc").splitlines() == [
        "1: /x $pc = <error: the contents of register pc are not available: no state>"
    ]


def test_output_is_the_value_alone(run):
    assert run("output limit", "output/x limit") == "200x14"
    assert "The history is empty" in str(run.fails("print"))


@for_each(
    "arguments, text",
    (r'"%d\n", limit', "20\n"),
    (r'"%5d|%-5d|%05d", limit, limit, limit', "   20|20   |00020"),
    (r'"%x %X %o %#x", 255, 255, 8, 16', "ff FF 10 0x10"),
    (r'"%x %u", -1, (char) -1', "ffffffff 255"),
    (r'"%lu %lld", 1, 2', "1 2"),
    (r'"%c%c", 65, 0x42', "AB"),
    (r'"%.2f %g %e", 1.5, 2, 0.5', "1.50 2 5.000000e-01"),
    (r'"%p", out', "0x10000"),
    (r'"%s|%6s|%-4s|%.1s", "ab", "ab", "ab", "ab"', "ab|    ab|ab  |a"),
    (r'"100%%"', "100%"),
    (r'"a",', "a"),
    (r'"%d %x %f", 1 / 0.0, 1.5, 1 / 0.0', "9223372036854775807 1 inf"),
    (r'"%d,%d\n", slots[1], (1 + 1)', "1,2\n"),
)
def test_printf(run, arguments, text):
    assert run(f"printf {arguments}") == text


def test_printf_writes_what_the_lane_has(run):
    run("lane 2")
    assert run(r'printf "%d\n", left') == "4\n"
