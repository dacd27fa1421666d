"""Questions about launches: what a wave starts with, and the structures of its queue in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch import planning
from dwarfgpu.execution.launch.dispatch import initial_state
from dwarfgpu.execution.launch.structures import read_object
from dwarfgpu.program.code.code_object import check_has_kernels
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.table import STRUCTURES
from dwarfgpu.render import state as render

if TYPE_CHECKING:
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def launch_state(selection: Selection, arguments: Arguments) -> Document:
    """What each register is, who sets it, which rule says so, and its value. Registers that nobody sets are left to the
    first instructions of the kernel.

    Sizes are in work-items; those that are left out are 1. Addresses are those of the first launch of a machine.
    """
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
        planning.arguments(arguments.many("arg"), "--arg"),
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


def structure(selection: Selection, arguments: Arguments) -> Document:
    """WHAT is queue (an amd_queue_t), signal (an amd_signal_t), packet (an AQL packet), kernel-code (an
    amd_kernel_code_t, of code object version 2 and before), kernel-descriptor (version 3 and later), buffer (a
    buffer resource, V#), image (T#) or sampler (S#), which handles point to. Nothing is guessed: the word says what
    is at the address. Resources have the fields of the processor's generation.

    The exit status of the program is 1 if something is there that the documents forbid.
    """
    words = arguments.words
    if len(words) != 2 or words[0] not in STRUCTURES:
        raise arguments.wrong(f"needs one of {', '.join(STRUCTURES)}, and an address")
    machine = selection.memory
    address = planning.number(words[1].removeprefix("global#"), "ADDR")
    found = read_object(machine, machine.target, words[0], address)
    return Document(
        render.OBJECT.json(found), lambda _output: render.object_text(found), has_failed=bool(found.violations)
    )
