"""Kernels that are checked: as forms the same is known of their waves and found, in the same order."""

import ast
import inspect
from itertools import combinations, product
from types import SimpleNamespace

import pytest

from dwarfgpu.execution import turns
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.device import Device
from dwarfgpu.execution.forms import checked_forms, ordered_forms, pointer_forms, stretches
from dwarfgpu.execution.launch import launch as launches
from tests.builders.parameters import some_slow
from tests.execution.checks import test_bounds as bounds
from tests.execution.checks import test_checks as races
from tests.execution.checks import test_waits as waits
from tests.execution.checks.pair_builds import pair_build
from tests.execution.checks.test_undefined import LINES
from tests.execution.forms.checked_runs import assert_all_same, checked
from tests.execution.forms.kernel_runs import KERNELS, in_turn

CHECKS = "init", "bounds", "bounds,init", "init,race"
RUNS = [
    ("gfx1100", "O2", "tiles", "all"),
    *((*each, "all") for each in in_turn(2)[1::2]),
    *((*each, CHECKS[number % len(CHECKS)]) for number, each in enumerate(in_turn(2)[::2])),
]
QUICK = [next(each for each in RUNS if each[0::3] == ("gfx803", "init")), RUNS[0]]


@pytest.mark.parametrize("processor, level, kernel, check", some_slow(RUNS, quick=QUICK))
def test_what_is_known_is_the_same(build, processor, level, kernel, check):
    options = {"grid": 256, "work_group": 128, "private_size": 1024 if kernel == "recursive" else None}
    assert_all_same(build(processor, level), kernel, KERNELS[kernel], check, **options)


def cases(source):
    """Yield the kernels of some source with their arguments and how they are launched."""
    if source == "bounds.cl":
        for number, kernel in enumerate(bounds.KERNELS[bounds.BOUNDS]):
            yield kernel, bounds.arguments(kernel), {"grid": 128, "work_group": 64, "padding": 4096 * (number % 2)}
        return
    for kernel in LINES["cl"] if source == "undefined.cl" else races.RACES if source == "pairs.cl" else waits.KERNELS:
        args = {0: "zeros(4096)", 1: "arange(512)"}
        args |= {2: "noinit(512)"} if source == "undefined.cl" else {}
        if kernel == "local_argument":
            args[len(args)] = 1024
        yield kernel, args, {"grid": 512, "work_group": 128}


PARTS = 35
"""So many tests share the kernels of a build: each has some of every source."""
TARGETS = *races.TARGETS, "gfx900"
QUICK_BUILD = "gfx1100", "O0", "-DFAULTY", 0
PARTS_OF_BUILDS = product(("O0", "O2"), ("-DFAULTY", "-DMENDED"), range(PARTS))
BUILDS = [QUICK_BUILD, *((TARGETS[number % len(TARGETS)], *each) for number, each in enumerate(PARTS_OF_BUILDS))]


@pytest.mark.parametrize("target, level, options, part", some_slow(BUILDS, quick=[QUICK_BUILD]))
def test_findings_are_the_same(require_tool, tmp_path, target, level, options, part):
    for source in ("pairs.cl", "waits.cl", "bounds.cl", "undefined.cl"):
        path = pair_build(require_tool("clang-22"), tmp_path, source, target, level, options)
        for number, (kernel, args, launch) in enumerate([*cases(source)][part::PARTS]):
            for check in ("all", CHECKS[(number + part) % len(CHECKS)]) if part else ("all",):
                assert_all_same(path, kernel, args, check, **launch)


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_python_executes_few_instructions(build, monkeypatch, level):
    executed, execute = [], Device.execute

    def noted(device, batch, block):
        executed.extend(device.instruction(address).name for address in block.instructions)
        return execute(device, batch, block)

    monkeypatch.setattr(Device, "execute", noted)
    checked(build("gfx1100", level), "col", 1 << 16, KERNELS["col"], "all", grid=(256,), work_group=(128,))
    assert len(executed) < (40 if level == "O0" else 4), executed


def test_a_stretch_goes_on_over_private_memory(build, monkeypatch):
    """Each line of -O0 reaches private memory, or changes EXEC to spill scalar registers."""
    lengths, write = [], stretches.StretchWriter.write_stretch

    def noted(writer, parts, begin, end):
        lengths.append(len(parts))
        return write(writer, parts, begin, end)

    monkeypatch.setattr(stretches.StretchWriter, "write_stretch", noted)
    checked(build("gfx1100", "O0"), "col", 1, KERNELS["col"], "init", grid=(256,), work_group=(128,))
    assert max(lengths) > 20


READ_EARLY = """kernel void early(global int *out) {
  local int cells[96];
  int i = __builtin_amdgcn_workitem_id_x(), value = 0;
  if (i >= 32) value = cells[i];
  if (i < 32) cells[i + 32] = 1;
  out[i] = value;
}"""


def test_what_a_later_wave_reads_early_is_uninitialized(compile_text):
    """If one wave ran after the other, as where nobody watches, the first would have written it long before."""
    path = compile_text("gfx1100", READ_EARLY, "-x", "cl", "-O2")
    machine = launches.machine_for(path, "early")
    running = Running(launches.launch(machine, path, "early", args=["zeros(64)"], check="init", grid=64, work_group=64))
    machine.jit = "on"
    machine.device.use_compiled()
    running.run()
    assert machine.device.compiled.counted()[1] > 5
    assert [row.count for row in check_report(running).findings] == [32]


def test_only_a_batch_that_others_can_join_lets_them_go_first():
    for count, others, nearest in ((1, 1, 8), (turns.WIDEST // 2, turns.WIDEST // 2, 8), (turns.WIDEST, 1, 9)):
        batch, *rest = (SimpleNamespace(pc=8, spent=0, count=each) for each in (count, others))
        assert turns.nearest_of(batch, rest) == nearest


def test_parts_have_names_of_their_own():
    """The writers of all parts are one class: what one of them keeps must not be what another one keeps."""
    shared = dir(stretches.StretchWriter(lanes=32, generation=11, mode=0, accumulation=0, apertures={}))
    found = []
    for module in (ordered_forms, pointer_forms, checked_forms):
        body = ast.parse(inspect.getsource(module)).body
        classes = [each for each in body if isinstance(each, ast.ClassDef) and each.name.endswith(("Form", "Stretch"))]
        every = [each for node in classes for each in ast.walk(node)]
        names = {each.attr for each in every if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)}
        names |= {each.name for node in classes for each in node.body if isinstance(each, ast.FunctionDef)}
        found.append(names.difference(shared))
    assert [one & other for one, other in combinations(found, 2)] == [set(), set(), set()]
