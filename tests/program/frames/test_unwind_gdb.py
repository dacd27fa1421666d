"""Frames of host programs from core files, against GDB at the same stops."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.locations import Memory
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import constant_bytes
from dwarfgpu.states.opening import open_stopped
from tests.builders import stops

VARIABLE, PARAMETER = 0x34, 0x05
UNAVAILABLE = ("undefined_read", "frame", "memory_unavailable", "offset_out_of_storage")
"""Registers that the call has changed, what no call site says, and addresses before a frame is set up."""
NORMAL, SIGNAL_TRAMPOLINE = 0, 4  # gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME
RETURN = b"\xc3"
DEBUG_FRAME = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
PROGRAMS = [
    ("gcc", "-O0", 60),         ("gcc", "-O2", 60),         ("clang", "-O0", 60),       ("clang", "-O2", 60),
    ("gcc", f"-O2 {DEBUG_FRAME}", 30),                      ("gcc", "-O2 -no-pie -fno-omit-frame-pointer", 30),
]  # fmt: skip
"""300 stops. The last but one has .debug_frame instead of .eh_frame."""


@pytest.mark.slow
@pytest.mark.parametrize("compiler, options, count", PROGRAMS)
def test_frames_are_those_of_gdb(tmp_path: Path, require_tool: Any, compiler: str, options: str, count: int):
    tool = require_tool("clang-22", "clang") if compiler == "clang" else require_tool("gcc")
    binary = stops.program(tmp_path, tool, options)
    found = stops.stops(require_tool("gdb"), binary, count)
    assert len(found) == count
    seen = set()
    values = 0
    for stop in found:
        seen |= compare(binary, stop)
        values += sum(value is not None for frame in stop["frames"] for value in frame["values"].values())
        Path(stop["core"]).unlink()
    assert values > 100
    assert {"leaf", "saves", "recursion", "dynamic", "many", "main", "signal"} <= seen


def compare(binary: Path, stop: dict[str, Any]) -> set[str]:
    """Compare the frames of a stop; which functions were among them."""
    stopped: Any = open_stopped(opened(str(binary)), stop["core"])
    stack = stopped.stack(0)
    frames = [frame for frame in stack if not frame.is_tail_call]
    theirs = stop["frames"]
    assert [frame.pc for frame in frames] == [each["pc"] for each in theirs]
    assert stack.end.kind == "outermost"
    thread = frames[0].activation.thread
    seen = set()
    for number, (frame, their) in enumerate(zip(frames, theirs, strict=True), 1):
        cfa = frame.cfa(thread.lanes).single
        if number < len(frames):  # of the outermost one GDB asks for nothing
            assert (cfa.storage.space.number, cfa.bit_offset) == (0, their["cfa"] * 8)
            check_saved(frame, thread, their["saved"], called_by_real=their["called_by_real"])
        assert frame.is_signal_frame == (their["type"] == SIGNAL_TRAMPOLINE)
        if frame.code.file.name == str(binary) and frame.function is not None:
            assert frame.function.name == their["name"]
            seen.add(their["name"])
            check_values(frame, their["values"])
        if frame.is_signal_frame:
            seen.add("signal")
    return seen


def check_values(frame: Any, values: dict[str, int | None]) -> None:
    """The variables of a frame. In callers GDB shows also what is in a register that the callee may have changed."""
    ours = {name: value_of(frame, name) for name in values}
    if frame.level:
        for name, value in ours.items():
            if value is None:
                values[name] = None
    assert ours == values


def value_of(frame: Any, name: str) -> int | None:
    """The value of a variable of type long in a frame; None where it has none."""
    die = next(each for each, _ in frame.function.walk() if each.name == name and each.tag in (VARIABLE, PARAMETER))
    attribute, constant = die.find("DW_AT_location"), die.find("DW_AT_const_value")
    if attribute is None:
        return None if constant is None else int.from_bytes(constant_bytes(constant), "little", signed=True)
    found = frame.unit_info(attribute.die.unit, frame.code).expressions(attribute)
    expressions = found if isinstance(found, tuple) else (found,)
    if not expressions:
        return None
    try:
        lanes = frame.lane(None)
        location = result_for(evaluate(expressions[0], evolve(frame.context(lanes), result_kind="location")))
        reading = frame.activation.thread.accessor.read(location, 64)
    except DwarfGpuError as error:
        if error.kind not in UNAVAILABLE:
            raise
        return None
    return None if reading.undefined else reading.bits - (reading.bits >> 63 << 64)


def check_saved(frame: Any, thread: Any, saved: dict[str, int], *, called_by_real: bool) -> None:
    """What GDB calls the saved registers of a frame: those that it has saved itself, and where.

    Where it has inserted frames of inlined functions or of tail calls above, the return address is not one of them.
    """
    ours = {}
    for number in frame.activation.register_rules:
        place = frame.entry_register(number, thread.lanes).single
        if type(place.storage) is Memory:
            ours[thread.target.register(number).name] = place.bit_offset // 8
    if not called_by_real:
        saved["rip"] = ours["rip"]
    ours.pop("rsp", None)  # which GDB shows in a place of its own
    code = thread.backend.read_memory(thread.target.default_space, frame.pc, 1, 0, None)
    if frame.level == 0 and code == RETURN:  # GDB distrusts what clang says of the last instruction, and reads it
        assert ours["rip"] == saved["rip"]
    else:
        assert ours == saved
