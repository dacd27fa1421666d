"""What kernels print, compared with the `printf` of the host."""

import ctypes
import struct

import numpy as np
import pytest

from dwarfgpu.execution.control.printf import formatted, printed, unescaped
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.objfile.kernels.metadata import PrintfFormat
from tests.builders.parameters import for_each


def by_host(text, *values):
    room = ctypes.create_string_buffer(9000)
    ctypes.CDLL(None).snprintf(room, 9000, text.encode(), *values)
    return room.value.decode()


def long(number):
    return struct.pack("<q", number) if number < 0 else struct.pack("<Q", number)


def double(number):
    return struct.pack("<d", number)


@pytest.mark.parametrize("letter", "diuoxX")
@pytest.mark.parametrize("number", [0, 1, -1, 42, 123456789, -2147483648])
@for_each("before", "", "5", "-12", "012", "+", " ", "#", "#10", "-#14", ".0", ".7", "12.5", "+08", "#.3")
def test_integers(letter, number, before):
    text = f"<%{before}{letter}>"
    assert formatted(text, [struct.pack("<i", number)]) == by_host(text, ctypes.c_int(number))
    text = f"<%{before}l{letter}>"
    big = number << 20 | 5
    assert formatted(text, [long(big)]) == by_host(text, ctypes.c_long(big))


@pytest.mark.parametrize("length, kind", [("hh", ctypes.c_byte), ("h", ctypes.c_short), ("", ctypes.c_int)])
@pytest.mark.parametrize("letter", "dux")
def test_short_integers(length, kind, letter):
    for number in (0, 1, -1, 200, 40000, -3):
        text = f"%{length}{letter}"
        assert formatted(text, [struct.pack("<i", number)]) == by_host(text, ctypes.c_int(kind(number).value))


@pytest.mark.parametrize("letter", "fFeEgGaA")
@pytest.mark.parametrize("before", ["", ".0", ".3", "12", "-12.2", "012.4", "+", " ", "#", "#.0", "+.14", ".1", "020"])
def test_floats(letter, before):
    text = f"<%{before}{letter}>"
    numbers = (0.0, -0.0, 1.0, -1.5, 3.14159265, 1e-5, 123456789.125, 1e300, -2.5e-308, 5e-324, 0.5, 2.5, 1 / 3)
    for number in (*numbers, float("inf"), -float("inf"), float("nan")):
        assert formatted(text, [double(number)]) == by_host(text, ctypes.c_double(number)), number
    assert formatted(text, [struct.pack("<f", 0.1)]) == by_host(text, ctypes.c_double(np.float32(0.1)))


@pytest.mark.parametrize("before", ["", "10", "-10", ".2", "8.3", "010"])
def test_strings_and_characters(before):
    text = f"<%{before}s|%c>"
    found = formatted(text, [b"word\0\0\0\0", struct.pack("<i", 97)])
    assert found == by_host(text.replace("010", "10"), b"word", ctypes.c_int(97))


def test_widths_and_escapes_of_formats():
    text = "<%*d|%-*d|%.*f|%*.*f>"
    values = (7, 42, -6, 5, 2, 1.2345, 9, 3, 2.5)
    data = [double(value) if isinstance(value, float) else struct.pack("<i", value) for value in values]
    kinds = [ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int(value) for value in values]
    assert formatted(text, data) == by_host(text, *kinds)
    assert unescaped(r"a\72 b\n\t\\ \x41 \"") == 'a: b\n\t\\ A "'


def test_vectors():
    floats = struct.pack("<4f", 1, 2.5, -3, 0.125)
    assert formatted("%v4hlf", [floats]) == "1.000000,2.500000,-3.000000,0.125000"
    assert formatted("(%8.2v4hlf)", [floats]) == "(    1.00,    2.50,   -3.00,    0.12)"
    assert (
        formatted("%v2d %#v3hx", [struct.pack("<2i", 1, -2), struct.pack("<4H", 1, 2, 255, 9)]) == "1,-2 0x1,0x2,0xff"
    )
    assert formatted("%v2lu", [struct.pack("<2Q", 1, (1 << 64) - 1)]) == f"1,{(1 << 64) - 1}"


def test_broken_buffers_end_the_text():
    formats = (PrintfFormat(1, (4,), "%d\\n"),)
    record = struct.pack("<Ii", 1, 5)
    assert list(printed(struct.pack("<II", 8, 100) + record, formats)) == ["5\n"]
    assert list(printed(struct.pack("<II", 12, 100) + record + b"\7\0\0\0", formats)) == ["5\n"]
    assert next(iter(printed(struct.pack("<II", 0xFFFFFFF0, 16) + record, formats))) == "5\n"
    assert "did not fit" in list(printed(struct.pack("<II", 0xFFFFFFF0, 16) + record, formats))[-1]
    assert list(printed(b"abc", formats)) == []
    assert list(printed(struct.pack("<III", 4, 100, 1 << 31), ())) == []


def talking(path, args, count=3):
    machine = machine_for(path, "talk")
    launched = launch(machine, path, "talk", grid=(count,), work_group=(count,), args=args)
    running = Running(launched)
    assert running.run().has_ended
    return "".join(running.printed())


@for_each(
    "processor, version",
    ("gfx90a", 5),
    ("gfx1100", 4),
    ("gfx1100", 6),
    *(pytest.param(*key, marks=pytest.mark.slow) for key in (("gfx900", 5), ("gfx1030", 6), ("gfx1200", 6))),
)
def test_kernels_of_opencl_print(printing, processor, version):
    found = talking(printing(processor, version), {"n": 3, "x": 1.5, "v": [1, 2, 3, 4.5], "p": 0x1000})
    lanes = range(3)
    wanted = [
        by_host("lane %d of %u: %5.2f|%-6x|%c|%s|%%\n", i, 3, ctypes.c_double(1.5 * i), i + 16, 97 + i, b"word")
        for i in lanes
    ]
    wanted += [f"v {','.join(f'{part * i:.1f}' for part in (1, 2, 3, 4.5))} {i << 40} 0x1000\n" for i in lanes]
    wanted += ["no arguments\n"] * 3 + [f"1,-2,3,{i} {i - 56}\n" for i in lanes]
    assert sorted(found.splitlines(keepends=True)) == sorted(wanted)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_kernels_of_hip_print(printing, processor):
    text = np.frombuffer(b"dynamic %d\n\0", np.uint8)
    found = talking(printing(processor, "hip"), {"n": 3, "x": 1.5, "s": text})
    wanted = [
        by_host("lane %d: %g %s %s\n", i, ctypes.c_double(1.5 * i), b"word", (b"even", b"odd")[i & 1]) for i in range(3)
    ]
    assert sorted(found.splitlines(keepends=True)) == sorted(
        [*wanted, *["plain\n"] * 3, *(f"dynamic {i}\n" for i in range(3))]
    )


def test_a_kernel_that_prints_nothing_has_no_buffer(built):
    machine = machine_for(built(), "saxpy")
    launched = launch(machine, built(), "saxpy", grid=(4,), work_group=(4,))
    assert launched.plan.printf_buffer == 0
    assert list(Running(launched).printed()) == []


@for_each(
    "data, sizes, is_said",
    (b"abcd" + b"\7\0\0\0" + b"ab\0\0" + bytes(4), (8, 4, 4), True),  # as clang 22 stores abcd, 7, ab
    (b"abcd" + bytes(4) + b"ab\0\0" + bytes(4), (8, 4, 4), True),
    (b"abc\0" + b"\7\0\0\0" + b"abcdefgh" + bytes(4), (4, 4, 12), False),  # nothing follows it
    (b"\0\0\0\0" + b"\7\0\0\0" + b"a\tb\0", (4, 4, 4), False),
)  # fmt: skip
def test_a_string_without_its_end_is_said_at_the_line(data, sizes, is_said):
    record = struct.pack("<I", 1) + data
    memory = struct.pack("<II", len(record), 1 << 20) + record
    (text,) = printed(memory, (PrintfFormat(1, sizes, "<%s> <%d> <%s>\\n"),))
    assert ("\n[a %s without its end" in text) == is_said
