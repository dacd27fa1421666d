"""A kernel in a script: it is launched, runs to a line, has values in all waves, and goes on."""

import numpy as np
import pytest

import dwarfgpu as dg
from tests.builders.errors import raised

BLUR = "dwarfgpu/examples/blur.co"


def launched(count=49, grid=128):
    return dg.launch(BLUR, "blur", ["arange(50)", "zeros(50)", count], grid=grid, work_group=64)


def test_a_kernel_runs_to_a_line_and_on():
    kernel = launched()
    assert (repr(kernel), len(kernel), kernel[3].id) == ("<Running blur, 4 waves>", 4, "1:1:1:4")
    halt = kernel.run(until="blur.cl:10")
    assert (str(halt), repr(halt)) == (f"blur.cl:10 at {halt.pc:#x}, 2 waves", f"<Halt breakpoint: {halt}>")
    j, i = dg.all_waves(kernel, "j"), dg.all_waves(kernel, "i")
    assert j.array[:2, 17].tolist() == [16, None]
    assert (j.array.shape, j.array.max(), j.array.mask[2:].all(), j.states[2][0]) == ((4, 32), 47, True, "absent")
    assert i.filled(-1).tolist()[:2] == [[*range(32)], [*range(32, 49), *[-1] * 15]]
    assert i.array[2:].tolist() == [[*range(64, 96)], [*range(96, 128)]]  # at another place
    assert i.to_pandas().query("state == 'active'").global_x.tolist() == [*range(49), *range(64, 128)]
    assert kernel.run().has_ended
    assert kernel.buffers["out"][:3].tolist() == [0.5, 1, 2]
    assert kernel._repr_html_() == dg.html(kernel.attached) == dg.html(kernel)


def test_a_place_may_have_a_condition():
    kernel = launched()
    assert kernel.run(until="blur.cl:10 if j > 47").lanes == {1: 1 << 16}
    assert "no variable `nothere`" in str(raised(KeyError, lambda: kernel.run(until="blur.cl:10 if nothere")))
    kernel = launched()
    (point,) = kernel.break_at("blur.cl:10 if j > 46")
    assert (kernel.run().breakpoint, point.condition) == (point, "j > 46")
    assert str(launched().run(10)).startswith("10 at 0x7f")


def test_a_condition_without_a_value_is_told():
    kernel = launched()
    call = raised(dg.UsageError, kernel.run, "blur.cl:10 if isnan(sum)")
    assert ("function calls are not supported" in str(call), call.hint) == (True, "a NaN differs from itself: x != x")
    halt = kernel.run("blur.cl:10 if in[j + 1000000] > 0")
    assert str(halt).startswith("blur.cl:10 if in[j + 1000000] > 0 at 0x7f")
    assert "; the condition has no value: in[j + 1000000] > 0 (4 bytes of memory at " in str(halt)
    assert kernel.run("blur.cl:10 if sum != sum").problem is None


def test_a_name_after_the_end_is_refused_because_of_the_end():
    kernel = launched()
    assert kernel.run().has_ended
    for ask in (lambda: dg.all_waves(kernel, "j"), lambda: kernel[0].frame(0)["j"]):
        error = raised(KeyError, ask)
        assert ": the wave" in error.message and "ended" in error.message  # noqa: PT018
        assert 'in Python `run(until="FILE:LINE")`' in error.hint
    assert dg.all_waves(kernel, "n").array.max() == 49  # a parameter is still there


def test_a_later_launch_keeps_the_machine_and_its_buffers():
    kernel = launched(grid=64)
    kernel.run()
    numbers = [kernel.launched.addresses["out"], "zeros(50)", 3]
    again = dg.launch(dg.open(BLUR), "blur", numbers, grid=64, work_group=64, machine=kernel.machine)
    again.run()
    assert again.buffers["out"][:3].tolist() == np.float32([0.75, 3.5 / 3, 2]).tolist()


def test_what_a_lane_has_never_set_is_no_value():
    """Not the 0 that its private memory has."""
    kernel = launched(count=40, grid=64)
    kernel.run(until="blur.cl:11")
    for name in ("last", "sum"):
        values = dg.all_waves(kernel, name, lanes="all")
        assert values.array.mask[1].tolist() == [False] * 8 + [True] * 24
        assert str(values.reasons["1:1:1:2", 8]) == f"the lane has never set {name}"
    assert dg.all_waves(kernel, "i", lanes="all").array[1].tolist() == [*range(32, 64)]


def test_what_was_never_set_is_found_from_stop_to_stop():
    """Not from the launch each time: a script may ask at thousands of stops."""
    kernel, masks = launched(count=40, grid=64), []
    while not kernel.run(until="blur.cl:10").has_ended:
        masks.append(dg.all_waves(kernel, "sum", lanes="all").array.mask[1].tolist())
        assert kernel.machine.past._filled[1].time == kernel.machine.device.executed
    assert masks == [[False] * 8 + [True] * 24] * 3


def test_faults_and_steps_take_the_kernel():
    kernel = launched(50)
    assert kernel.run().kind == "fault"
    assert dg.fault(kernel)["faults"][0]["source"] == "blur.cl:10"
    debugging = dg.Debugging(launched())
    assert debugging.break_at("blur.cl:10", "j > 47").number == 1
    assert debugging.go_on().lanes == {1: 1 << 16}
    assert dg.all_waves(debugging, "j")["1:1:1:2", 16] == 48


@pytest.mark.parametrize("wrong,message,hint", [
    (lambda kernel: kernel.machine[0], "a machine has registers and memory: what `launch`", None),
    (lambda kernel: dg.Running(kernel.machine, kernel), "is what dwarfgpu.launch(FILE, KERNEL, ", None),
    (lambda kernel: dg.Running(kernel.machine), "is what dwarfgpu.launch(FILE, KERNEL, ", None),
    (lambda kernel: dg.all_waves(kernel.machine, "j"), "a Gpu has no waves", "pass what `launch` or `open_core`"),
    (lambda kernel: dg.all_waves(kernel[0], "j"), "a Wave has no waves", "pass what `launch` or `open_core`"),
    (lambda _: dg.fault("blur.core"), "a str has no waves", "pass what `launch` or `open_core`"),
    (lambda kernel: dg.launch(kernel.machine, BLUR, "blur", grid=1), "a Gpu is not a file of code", "launch(FILE, "),
    (lambda kernel: kernel["j"], "Unknown wave j.", "for a variable: all_waves(..., 'j')"),
    (lambda _: dg.lauch, "has no attribute 'lauch'", None),
])  # fmt: skip
def test_a_wrong_guess_is_an_error_that_says_what_to_write(wrong, message, hint):
    error = raised(Exception, wrong, launched())
    assert message in str(error)
    assert (hint or "") in (getattr(error, "hint", None) or "")
    assert isinstance(error, (TypeError, AttributeError, dg.UsageError))
    if hint is not None:
        assert error.__notes__ == [f"hint: {error.hint}"]


@pytest.mark.parametrize("write", [
    lambda array: array.__setitem__(3, 7),
    lambda array: array[2:5].__setitem__(slice(None), 7),
    lambda array: array.__iadd__(7),
    lambda array: np.add(array, 7, out=array),
    lambda array: np.add.at(array, [1, 3], 7),
    lambda array: np.copyto(array, np.full(50, 7)),
    lambda array: array.fill(7),
    lambda array: array.view(np.uint8).__setitem__(slice(12, 16), 7),
])  # fmt: skip
def test_what_is_written_into_a_buffer_counts_as_a_change(write):
    kernel = launched()
    buffer, changes = kernel.buffers["in"], kernel.machine.changes
    assert (buffer[:3].sum(), type(buffer + 1), repr(buffer[:2])) == (3, np.ndarray, "array([0., 1.], dtype=float32)")
    assert kernel.machine.changes == changes
    before = buffer[3]
    write(buffer)
    assert kernel.machine.changes > changes
    assert kernel.buffers["in"][3] != before


def test_a_launch_without_arguments_says_so_before_it_runs():
    kernel = dg.launch(BLUR, "blur", grid=64, work_group=64)
    with pytest.warns(UserWarning, match="no arguments were given: all are 0, so in, out of blur point to no memory"):
        kernel.run()
    dg.launch(BLUR, "blur", [0, 0, 0], grid=64, work_group=64).run()  # which is what somebody wants
