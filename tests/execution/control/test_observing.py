"""Traces, profiles and watchpoints: what one wave does, what all of them cost, and who reaches some memory."""

import ctypes
import struct
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, READ_WATCH, WATCH
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.line_traces import LineTrace
from dwarfgpu.execution.control.placed import Discoveries
from dwarfgpu.execution.control.printf import formatted, printed, unescaped
from dwarfgpu.execution.control.profile import Profile
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.launch.dispatch import UNWRITTEN
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.objfile.kernels.metadata import PrintfFormat
from dwarfgpu.render.running import TraceWriter
from dwarfgpu.render.values import value_text
from tests.builders import kept
from tests.builders.errors import raised
from tests.builders.parameters import for_each, in_one_test


def running(path, kernel, args, *, count=128, group=64, **options):
    machine = machine_for(path, kernel)
    return Running(launch(machine, path, kernel, grid=(count,), work_group=(group,), args=args, **options))


@pytest.mark.parametrize("key", [("gfx90a", "O2"), ("gfx1100", "O2")])
def test_instructions_of_a_wave_with_their_results(built, key):
    run = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 100})
    steps = []
    trace = StepTrace(run, steps.append, wave=1, lane=5)
    assert run.run().has_ended
    trace.end()
    lanes = run.launched.geometry.wave_size
    alone = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 100})
    pcs = []
    while not alone.machine.device.ended or 1 not in np.concatenate([b.waves for b in alone.machine.device.ended]):
        pcs.append(alone.machine.program_counter(1))
        alone.machine.step(1)
    assert [step.position.address for step in steps] == pcs
    loads = [step for step in steps if step.text.startswith("global_load")]
    shown = [dict(step.results) for step in loads]
    words = [int(next(iter(result.values())), 16) for result in shown]
    numbers = [np.array(word, "u4").view("f4") for word in words]
    assert {float(number) for number in numbers} == {lanes + 5.0, 1.0}
    assert steps[-1].text == "s_endpgm"
    heading, source, first = [line for step in steps[:1] for line in TraceWriter().lines(step)]
    assert (heading.partition(", ")[2], source) == (f"lanes 0-{lanes - 1}", "15\tint i = get_global_id(0);")
    assert first.startswith(f"  {pcs[0]:#x}  s_")


def test_instructions_that_the_traced_lane_does_not_execute_are_marked(built):
    numbers = {"y": "ones(32)", "x": "arange(32)", "a": 2, "n": 7}
    run = running(built("gfx1100", "O2"), "saxpy", numbers, count=32, group=32)
    steps = []
    StepTrace(run, steps.append, lane=9)
    assert run.run().has_ended
    stores = [step for step in steps if step.text.startswith("global_store")]
    assert [(step.active, step.idle) for step in stores] == [(0x7F, 9)]
    assert [*TraceWriter().lines(stores[0])][-1].endswith("  # (lane 9 is inactive)")
    assert steps[0].idle is None


def test_lines_with_variables_that_changed(built):
    run = running(built("gfx90a", "O0"), "steps_", {"out": "zeros(64)", "in": "full(64, 3)", "n": 64}, count=64)
    steps = []
    LineTrace(run, steps.append, value_text)
    assert run.run().has_ended
    assert {step.position.file.rpartition("/")[2] for step in steps} == {"kernels.cl"}
    changes = [(step.position.line, dict(step.results)) for step in steps]
    assert [values["steps"] for _line, values in changes if "steps" in values][-7:] == [str(n) for n in range(1, 8)]
    assert [values["x"] for _line, values in changes if "x" in values][-7:] == ["10", "5", "16", "8", "4", "2", "1"]
    assert 2 in [line for line, _values in changes]


def test_waves_and_lanes_that_there_are_not(built):
    run = running(built(), "saxpy", None)
    for wave, lane in ((4, None), (-1, None), (0, 32)):
        with pytest.raises(UsageError, match=r"there is no (wave|lane)"):
            StepTrace(run, print, wave=wave, lane=lane)


@pytest.mark.parametrize("key, line", [(("gfx90a", "O2"), 64), (("gfx1100", "O2"), 128)])
def test_transactions_are_cache_lines(built, key, line):
    run = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 96})
    profile = Profile(run.machine.device)
    assert run.run().has_ended
    assert sum(counts.instructions for counts in profile.counts.values()) == run.machine.device.executed
    rows = {row.line: row for row in profile.rows(run)}
    waves = 128 // profile.lane_count
    working = -(-96 // profile.lane_count)
    assert rows[16].counts.accesses == 3 * working
    assert rows[16].counts.transactions == 3 * 96 * 4 // line
    assert rows[15].counts.instructions >= waves
    assert 0 < rows[16].active_share < 1


def test_turns_of_local_memory(built):
    run = running(built("gfx90a", "O2"), "shared_sum", {"out": "zeros(1)", "in": "arange(64)", "cells": 256}, count=64)
    profile = Profile(run.machine.device)
    run.run()
    rows = {row.line: row for row in profile.rows(run)}
    assert rows[34].counts.bank_turns == 2  # 64 lanes, 32 banks
    assert rows[37].counts.bank_turns >= 6
    assert sum(row.counts.instructions for row in rows.values()) == run.machine.device.executed


def test_divergence_is_the_share_of_lanes(built):
    numbers = np.where(np.arange(64) < 16, 27, 1).astype(np.int32)
    run = running(built("gfx90a", "O2"), "steps_", {"out": "zeros(64)", "in": numbers, "n": 64}, count=64)
    profile = Profile(run.machine.device)
    run.run()
    assert 0.2 < {row.line: row for row in profile.rows(run)}[10].active_share < 0.3


SOURCE = Path(__file__).with_name("watched.cl")


@pytest.fixture(scope="module")
def watched(require_tool, tmp_path_factory):
    """``watched("gfx90a", "counted", **args)`` is a kernel in its first line."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("watched")

    def build(processor, kernel, **args):
        options = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-g"]
        scalar = ["-O2", "-DSCALAR"] if processor == "gfx900" else ["-O0"]
        path = kept.built([clang, *options, *scalar, "-w", "-nogpulib", SOURCE], folder / f"watched.{processor}.co")
        machine = machine_for(path, kernel)
        debugging = Debugging(launch(machine, path, kernel, grid=64, work_group=64, args=args))
        if processor == "gfx900":
            return debugging
        line = next(number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if f" {kernel}(" in text)
        debugging.break_at(f"watched.cl:{line + 1}")
        debugging.go_on()
        return debugging

    return build


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030", "gfx1200"])
@pytest.mark.sampled(6)
def test_a_counter_of_lanes_is_watched(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    watchpoint = debugging.watch("*counter")
    seen = []
    while not (stop := debugging.go_on()).has_ended:
        assert stop.points == (watchpoint,)
        seen.append((stop.change.old, stop.change.new, stop.lanes[min(stop.lanes)]))
    assert seen == [("0", "5", 1), ("5", "15", 0x3FF)]
    assert debugging.reverse_go_on().change.new == "5"
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    debugging.watch("*counter", READ_WATCH)
    assert debugging.go_on().lanes == {0: 0x3FF}


@pytest.mark.parametrize("kernel, place", [("stored", 1), ("added", 2)])
@pytest.mark.parametrize("kind", [WATCH, ACCESS_WATCH])
def test_scalar_stores_and_atomic_operations(watched, kernel, place, kind):
    debugging = watched("gfx900", kernel, out="zeros(64,i4)", number=7)
    address = debugging.running.launched.addresses["out"]
    debugging.watch(f"*(int *){address + 4 * place:#x}", kind)
    debugging.watch(f"*(int *){address + 20:#x}", kind)
    stop = debugging.go_on()
    assert (stop.points[0].number, stop.change.old, stop.change.new) == (1, "0", "7")
    assert stop.lanes == {0: (1 << 64) - 1}
    assert debugging.go_on().has_ended
    assert debugging.reverse_go_on().change.new == "0"


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1200"])
def test_a_watchpoint_with_a_condition_stops_only_where_it_is_true(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    watchpoint = debugging.watch("*counter", condition="*counter > 5")
    stop = debugging.go_on()
    assert (stop.change.old, stop.change.new, watchpoint.hits) == ("5", "15", 1)
    assert debugging.go_on().has_ended
    stop = debugging.reverse_go_on()
    assert (stop.change.old, stop.change.new) == ("15", "5")
    assert debugging.reverse_go_on().points[0].kind == BREAK
    debugging.condition(watchpoint, None)
    assert debugging.go_on().change.new == "5"
    debugging.condition(watchpoint, "*counter == 99")
    assert debugging.go_on().has_ended


def sums(holds):
    """What `total` becomes in lane 3 where a condition of it and of the counter holds."""
    total, found = 0, []
    for i in range(5):
        for more in (i + 3, 2 * i, 7):
            total += more
            found += [total] * (more != 0 and holds(i, total))
    return found


@for_each(
    "condition, expected",
    ("i == 2", sums(lambda i, _: i == 2)),
    ("total > 30 && lane == 3", sums(lambda _, total: total > 30)),
    ("n - i < 2", sums(lambda i, _: 5 - i < 2)),
    ("i == 4 || nobody", None),
    ("total * 1.5 > 40", sums(lambda _, total: total * 1.5 > 40)),
)
@pytest.mark.sampled(6)
def test_a_watchpoint_stops_where_it_does_without_columns(watched, condition, expected, monkeypatch):
    """The functions that are called and inlined have variables of the same names; those of the kernel count.

    The last stop is the end of the kernel, where nothing changes.
    """
    stops = []
    for is_quick in (True, False):
        if not is_quick:
            monkeypatch.setattr(Discoveries, "at", lambda *_: None)
        debugging = watched("gfx90a", "summed", out="zeros(64)", n=5)
        point = debugging.watch("total", lane=3)
        point.condition = condition
        found = []
        while not (stop := debugging.go_on()).has_ended:
            found.append((stop.change.old, stop.change.new, stop.problem, debugging.pc_of(0)))
        stops.append(found)
    assert stops[0] == stops[1] != []
    if expected is not None:
        assert [(int(new), problem) for old, new, problem, _pc in stops[0] if old != new] == [
            (each, None) for each in expected
        ]


def test_conditions_of_watchpoints_that_have_no_value_or_no_sense(watched):
    debugging = watched("gfx90a", "counted", out="zeros(64)", counter=4)
    assert "nobody" in str(raised(dg.DwarfGpuError, debugging.watch, "*counter", condition="nobody > 3"))
    assert "assignment" in str(raised(dg.DwarfGpuError, debugging.watch, "*counter", condition="*counter = 3"))
    assert list(debugging.points)[-1].watched is None
    debugging.watch("*counter", condition="*(int *)0 == 3")
    stop = debugging.go_on()
    assert stop.change.new == "5"
    assert stop.problem.startswith("*(int *)0 == 3: ")


def by_host(text, *values):
    room = ctypes.create_string_buffer(9000)
    ctypes.CDLL(None).snprintf(room, 9000, text.encode(), *values)
    return room.value.decode()


def long(number):
    return struct.pack("<q", number) if number < 0 else struct.pack("<Q", number)


def double(number):
    return struct.pack("<d", number)


BEFORE = ("", "5", "-12", "012", "+", " ", "#", "#10", "-#14", ".0", ".7", "12.5", "+08", "#.3")


@in_one_test("letter, number, before", product("diuoxX", [0, 1, -1, 42, 123456789, -2147483648], BEFORE))
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


@in_one_test(
    "letter, before",
    product("fFeEgGaA", ["", ".0", ".3", "12", "-12.2", "012.4", "+", " ", "#", "#.0", "+.14", ".1", "020"]),
)
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


def test_widths_escapes_and_vectors_of_formats():
    text = "<%*d|%-*d|%.*f|%*.*f>"
    values = (7, 42, -6, 5, 2, 1.2345, 9, 3, 2.5)
    data = [double(value) if isinstance(value, float) else struct.pack("<i", value) for value in values]
    kinds = [ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int(value) for value in values]
    assert formatted(text, data) == by_host(text, *kinds)
    assert unescaped(r"a\72 b\n\t\\ [\] \x41 \"") == 'a: b\n\t\\\\ [\\] \\x41 \\"'
    floats = struct.pack("<4f", 1, 2.5, -3, 0.125)
    assert formatted("%v4hlf", [floats]) == "1.000000,2.500000,-3.000000,0.125000"
    assert formatted("(%8.2v4hlf)", [floats]) == "(    1.00,    2.50,   -3.00,    0.12)"
    assert (
        formatted("%v2d %#v3hx", [struct.pack("<2i", 1, -2), struct.pack("<4H", 1, 2, 255, 9)]) == "1,-2 0x1,0x2,0xff"
    )
    assert formatted("%v2lu", [struct.pack("<2Q", 1, (1 << 64) - 1)]) == f"1,{(1 << 64) - 1}"


def test_a_vector_of_three_leaves_the_fourth_unwritten():
    record = struct.pack("<I3f", 1, 1, 2.5, -3) + UNWRITTEN * 4
    head = struct.pack("<II", len(record), 100)
    assert list(printed(head + record, (PrintfFormat(1, (16,), "%.1v3hlf\\n"),))) == ["1.0,2.5,-3.0\n"]
    assert list(printed(head + record[:4] + UNWRITTEN * 16, (PrintfFormat(1, (16,), "%.1v3hlf\\n"),))) == [""]


def test_broken_buffers_end_the_text():
    formats = (PrintfFormat(1, (4,), "%d\\n"),)
    record = struct.pack("<Ii", 1, 5)
    assert list(printed(struct.pack("<II", 8, 100) + record, formats)) == ["5\n"]
    found = list(printed(struct.pack("<II", 12, 100) + record + b"\7\0\0\0", formats))
    assert found == ["5\n", "[the metadata does not describe printf 7: later output is not shown]\n"]
    assert list(printed(struct.pack("<II", 16, 100) + record + UNWRITTEN * 8, formats)) == ["5\n"]
    assert next(iter(printed(struct.pack("<II", 0xFFFFFFF0, 16) + record, formats))) == "5\n"
    assert "did not fit" in list(printed(struct.pack("<II", 0xFFFFFFF0, 16) + record, formats))[-1]
    assert list(printed(b"abc", formats)) == []
    assert list(printed(struct.pack("<III", 4, 100, 1 << 31), ())) == []


def talking(path, args, count=3):
    running = Running(launch(machine_for(path, "talk"), path, "talk", grid=(count,), work_group=(count,), args=args))
    assert running.run().has_ended
    return "".join(running.printed())


@for_each("processor, version",
    ("gfx90a", 5), ("gfx1100", 4), ("gfx1100", 6),
    *(pytest.param(*key, marks=pytest.mark.slow) for key in (("gfx900", 5), ("gfx1030", 6), ("gfx1200", 6))),
)  # fmt: skip
def test_kernels_of_opencl_print(printing, processor, version):
    found = talking(printing(processor, version), {"n": 3, "x": 1.5, "v": [1, 2, 3, 4.5], "p": 0x1000})
    lanes = range(3)
    wanted = [
        by_host("lane %d of %u: %5.2f|%-6x|%c|%s|%%\n", i, 3, ctypes.c_double(1.5 * i), i + 16, 97 + i, b"word")
        for i in lanes
    ]
    wanted += [f"v {','.join(f'{part * i:.1f}' for part in (1, 2, 3, 4.5))} {i << 40} 0x1000\n" for i in lanes]
    wanted += [f"text {i} abc|textual |3 eightchr\n" for i in lanes]
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
    launched = launch(machine_for(built(), "saxpy"), built(), "saxpy", grid=(4,), work_group=(4,))
    assert launched.plan.printf_buffer == 0
    assert list(Running(launched).printed()) == []


@for_each("data, sizes, text",
    (b"abcd" + b"\7\0\0\0" + b"ab\0\0", (8, 4, 4), "<abcd> <7> <ab>\n"),  # as clang 22 stores abcd, 7, ab
    (b"abcd" + b"*\0\0\0" + b"abcd", (8, 4, 8), "<abcd> <42> <abcd>\n"),
    (b"abcd" + b"a\0\0\0" + b"wxyz" + b"w\0\0\0", (8, 4, 8), "<abcd> <97> <wxyzw>\n"),
    (b"abcda\0\0\0" + b"b\0\0\0" + b"wxyz", (8, 4, 8), "<abcda> <98> <wxyz>\n"),
    (b"abc\0" + b"\7\0\0\0" + b"abcdefgh", (4, 4, 12), "<abc> <7> <abcdefgh>\n"),
    (b"\0\0\0\0" + b"\7\0\0\0" + b"a\tb\0", (4, 4, 4), "<> <7> <a\tb>\n"),
    (b"", (8, 4, 8), ""))  # fmt: skip
def test_strings_without_their_end_are_told_by_what_is_left_of_their_record(data, sizes, text):
    size = 4 + sum(sizes)
    memory = (struct.pack("<III", size, 1 << 20, 1) + data).ljust(8 + size, UNWRITTEN)
    (found,) = printed(memory, (PrintfFormat(1, sizes, "<%s> <%d> <%s>\\n"),))
    assert found.partition("[")[0] == text
