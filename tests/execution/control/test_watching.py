"""Watchpoints see every way in which waves reach memory."""

import subprocess
from pathlib import Path

import pytest

import dwarfgpu as dg
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, READ_WATCH, WATCH
from dwarfgpu.execution.control.debugging import Debugging

SOURCE = Path(__file__).with_name("watched.cl")


@pytest.fixture(scope="module")
def watched(require_tool, tmp_path_factory):
    """``watched("gfx90a", "counted", **args)`` is a kernel in its first line."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("watched")

    def build(processor, kernel, **args):
        path = folder / f"watched.{processor}.co"
        if not path.exists():
            options = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-g"]
            scalar = ["-O2", "-DSCALAR"] if processor == "gfx900" else ["-O0"]
            command = [clang, *options, *scalar, "-w", "-nogpulib", str(SOURCE), "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True)
        machine = dg.machine_for(str(path), kernel)
        done = dg.launch(machine, str(path), kernel, grid=64, work_group=64, args=args)
        debugging = Debugging(done)
        if processor == "gfx900":
            return debugging
        line = next(number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if f" {kernel}(" in text)
        debugging.break_at(f"watched.cl:{line + 1}")
        debugging.go_on()
        return debugging

    return build


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030", "gfx1200"])
def test_a_counter_of_lanes_in_local_memory(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    watchpoint = debugging.watch("*counter")
    seen = []
    while not (stop := debugging.go_on()).has_ended:
        assert stop.points == (watchpoint,)
        seen.append((stop.change.old, stop.change.new, stop.lanes[min(stop.lanes)]))
    assert seen == [("0", "5", 1), ("5", "15", 0x3FF)]
    assert debugging.reverse_go_on().change.new == "5"


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030", "gfx1200"])
def test_a_counter_of_lanes_is_read_and_written(watched, processor):
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


def test_conditions_of_watchpoints_that_have_no_value_or_no_sense(watched):
    debugging = watched("gfx90a", "counted", out="zeros(64)", counter=4)
    with pytest.raises(dg.DwarfGpuError, match="nobody"):
        debugging.watch("*counter", condition="nobody > 3")
    with pytest.raises(dg.DwarfGpuError, match="assignment"):
        debugging.watch("*counter", condition="*counter = 3")
    assert list(debugging.points)[-1].watched is None
    debugging.watch("*counter", condition="*(int *)0 == 3")
    stop = debugging.go_on()
    assert stop.change.new == "5"
    assert stop.problem.startswith("*(int *)0 == 3: ")
