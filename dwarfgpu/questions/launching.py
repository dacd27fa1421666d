"""Questions about launches: what a wave starts with, and the structures of its queue in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch import planning
from dwarfgpu.execution.launch.dispatch import initial_state
from dwarfgpu.execution.launch.structures import read_object
from dwarfgpu.program.code.code_object import check_has_kernels
from dwarfgpu.program.frames.wave_positions import waves_of
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.table import STRUCTURES
from dwarfgpu.render import launches
from dwarfgpu.render import state as render

if TYPE_CHECKING:
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def launch_state(selection: Selection, arguments: Arguments) -> Document:
    words = arguments.words
    if len(words) != 1:
        raise arguments.wrong("needs the name of one kernel")
    if not arguments.has("grid"):
        raise arguments.wrong("needs -grid")
    file = selection.opened.file
    check_has_kernels(file)
    dispatch = planning.plan(
        file,
        words[0],
        planning.sizes(arguments.get("grid"), "--grid"),
        planning.work_group_size(arguments.get("work-group")),
        planning.arguments(arguments.many("arg"), "--arg") or None,
        **planning.memory_options(arguments.get),
    )
    number, count = planning.number(arguments.get("wave") or "1", "--wave"), dispatch.geometry.wave_count
    if not 1 <= number <= count:
        raise UsageError(f"Unknown wave {number}.", kind="no_wave", hint=f"they are 1 to {count}")
    place = dispatch.geometry.place(number - 1)
    registers = initial_state(dispatch, place)
    return Document(
        render.state_json(dispatch, place, registers), lambda _output: render.state_text(dispatch, place, registers)
    )


def _launched_wave(selection: Selection) -> Wave:
    """Return the wave that is selected; where all waves are of one dispatch and none is, the first."""
    machine = selection.machine
    if selection.wave_number is None and machine.has_waves and len(machine):
        waves = waves_of(machine.stopped)
        if len({waves.place_of(wave)[0] for wave in range(waves.wave_count)}) == 1:
            return machine[0]
    return selection.wave


def _arguments(selection: Selection, wave: Wave) -> list[launches.ShownArgument]:
    frame = wave.frame(0)
    around, look = frame.around(frame.lane(None)), selection.renderer(frame=frame).look
    return [launches.ShownArgument(each, each.object_in(around), look) for each in wave.launch.arguments]


def info_dispatch(selection: Selection, arguments: Arguments) -> Document:
    arguments.none()
    wave = selection.wave
    record, values = wave.launch, _arguments(selection, wave)
    items = launches.work_items(record, wave.state.target.lane_count)
    place = {"work_group": record.place.work_group, "wave_in_group": record.place.wave_in_group}
    data = {"wave": wave.id, **launches.launch_json(record, values), **place}
    data["work_items"] = [*map(launches.WORK_ITEM.json, items)]
    return Document(data, lambda _output: launches.dispatch_text(record, wave, values))


def info_kernel_args(selection: Selection, arguments: Arguments) -> Document:
    arguments.none()
    wave = _launched_wave(selection)
    record, values = wave.launch, _arguments(selection, wave)
    return Document(
        {"wave": wave.id, **launches.launch_json(record, values)},
        lambda _output: launches.arguments_text(record, values),
        rows="arguments",
    )


def structure(selection: Selection, arguments: Arguments) -> Document:
    words = arguments.words
    if len(words) != 2 or words[0] not in STRUCTURES:
        raise arguments.wrong(f"needs one of {', '.join(STRUCTURES)}, and an address")
    machine = selection.memory
    address = planning.number(words[1].removeprefix("global#"), "ADDR")
    found = read_object(machine, machine.target, words[0], address)
    return Document(
        render.OBJECT.json(found), lambda _output: render.object_text(found), has_failed=bool(found.violations)
    )
