"""``dwarfgpu state`` and ``dwarfgpu hsa``: what a wave starts with, and the structures of its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, read_input

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


# --- state --------------------------------------------------------------------------------------------------------


def _state(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import code_object
    from dwarfgpu.program.launch import planning
    from dwarfgpu.program.launch.dispatch import initial_state
    from dwarfgpu.program.launch.planning import plan
    from dwarfgpu.render import state as render

    file = open_file(options.file)
    code_object.check_has_kernels(file)
    dispatch = plan(
        file,
        options.kernel,
        planning.sizes(options.grid, "--grid"),
        planning.sizes(options.work_group, "--work-group"),
        planning.arguments(options.arg, "--arg"),
        private_size=None
        if options.private_size is None
        else planning.number(options.private_size, "--private-size"),
        dynamic_local=planning.number(options.dynamic_local, "--dynamic-local"),
    )
    place = dispatch.geometry.place(planning.number(options.wave, "--wave"))
    registers = initial_state(dispatch, place)
    if session.wants_json:
        session.print_json(render.state_json(dispatch, place, registers))
    else:
        session.print_lines(render.state_text(dispatch, place, registers, session.style))
    return report_problems(session, file.problems)


# --- hsa ----------------------------------------------------------------------------------------------------------


def _hsa(session: Session, options: Any) -> int:
    from dwarfgpu.program.launch import planning, structures
    from dwarfgpu.program.stack import snapshot_files
    from dwarfgpu.render import state as render

    address = planning.number(options.address.removeprefix("global#"), "ADDR")
    hint = "`dwarfgpu hsa` needs a snapshot: a state with a schema"
    machine = snapshot_files.open_machine(options.state, read_input, force=options.force, hint=hint)
    found = structures.read_object(machine, machine.target, options.kind, address)
    if session.wants_json:
        session.print_json(render.object_json(found))
    else:
        session.print_lines(render.object_text(found, session.style))
    return NO_ANSWER if found.violations else OK


COMMANDS = {
    "hsa": Command(
        "Show a structure in the memory of a snapshot with all its fields: an amd_queue_t, an amd_signal_t, an AQL\n"
        "dispatch packet, an amd_kernel_code_t (code object version 2 and before) or a kernel descriptor (version 3\n"
        "and later). Nothing is guessed: the word says what is at the address.\n\n"
        "The exit status is 1 if something must be 0 and is not, or if the address is not aligned.",
        (
            argument(
                "kind",
                metavar="WHAT",
                choices=("queue", "signal", "packet", "kernel-code", "kernel-descriptor"),
                help="queue, signal, packet, kernel-code or kernel-descriptor",
            ),
            argument("address", metavar="ADDR", help="a global address, such as 0x7f0000024000"),
            argument(
                "--state", metavar="FILE", required=True, help="a snapshot: a .json file or a .dgs folder"
            ),
            argument(
                "--force", action="store_true", help="accept code objects that are not those of the snapshot"
            ),
        ),
        _hsa,
        (
            "dwarfgpu hsa queue 0x7f0000024000 --state wave.json",
            "dwarfgpu hsa packet 0x7f0000025000 --state waves.dgs --json",
        ),
    ),
    "state": Command(
        "Explain every register that a wave of a kernel has when it starts: what it is, who sets it, where the rule\n"
        "stands, and its value. Registers that nobody sets are left to the kernel's first instructions.\n\n"
        "Sizes are in work-items; those that are left out are 1. Addresses are those of the first launch of a machine.",
        (
            argument("file", metavar="FILE", help="a code object: a file, FILE@gfx90a, FILE@2, a URI, or -"),
            argument("kernel", metavar="KERNEL", help="the name or symbol of a kernel"),
            argument("--grid", metavar="X,Y,Z", required=True, help="the work-items of the grid"),
            argument("--work-group", metavar="X,Y,Z", required=True, help="the work-items of a work-group"),
            argument("--wave", metavar="N", default="0", help="which wave of the dispatch, from 0"),
            argument(
                "--arg",
                metavar="VALUE",
                action="append",
                help="the next argument, or NAME=VALUE: 5, 0x10, 1.5, bytes:0a0b; without any all are 0",
            ),
            argument(
                "--private-size",
                metavar="N",
                help="bytes of private memory of a work-item, for a larger stack",
            ),
            argument("--dynamic-local", metavar="N", default="0", help="bytes of local memory to add"),
        ),
        _state,
        (
            "dwarfgpu state k.co saxpy --grid 1024 --work-group 256",
            "dwarfgpu state k.co saxpy --grid 64,4,1 --work-group 16,4,1 --wave 3",
            "dwarfgpu state k.co saxpy --grid 64 --work-group 64 --arg 0x1000 --arg 2.5",
        ),
    ),
}
