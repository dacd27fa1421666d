"""``output`` and ``printf``, and ``set print pretty``."""

import pytest


def test_output_is_the_value_alone(run):
    assert run("output limit", "output/x limit") == "200x14"
    assert "The history is empty" in str(run.fails("print"))


@pytest.mark.parametrize(
    "arguments, text",
    [
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
    ],
)
def test_printf(run, arguments, text):
    assert run(f"printf {arguments}") == text


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("3", "Bad format string"),
        ('"%d"', "Wrong number of arguments for specified format-string"),
        ('"%d", 1, 2', "Wrong number of arguments for specified format-string"),
        ('"%d" limit', "Invalid argument syntax"),
        ('"%y", limit', "Unrecognized format specifier"),
        ('"%d", zork', "no variable `zork`"),
        ('"%d", unused', "it has neither a location"),
        ('"%s", limit', "%s takes a string"),
        ('"%d", slots', "Value can't be converted to integer"),
        ('"%s', "has no end"),
        ("", "needs"),
    ],
)
def test_printf_errors(run, arguments, message):
    assert message in str(run.fails(f"printf {arguments}"))


def test_printf_writes_what_the_lane_has(run):
    run("lane 2")
    assert run(r'printf "%d\n", left') == "4\n"
