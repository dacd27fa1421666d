"""``dwarfgpu address`` and ``snapshot``: machines that were saved, and the addresses in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import OK, read_input
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session

STATE = argument("--state", metavar="FILE", help="a snapshot, which says what memory is there")
WAVE = argument("--wave", metavar="N", help="the wave of the snapshot, by id or by number from 0")
FORCE = argument("--force", action="store_true", help="use a state although its code has changed")


# --- address ------------------------------------------------------------------------------------------------------


def _address(session: Session, options: Any) -> int:
    from dwarfgpu.cases import question
    from dwarfgpu.program.stack import address_aliases, selectors
    from dwarfgpu.render import machines as render

    if (options.state is None) == (options.target is None):
        message = "exactly one of --state and --target is needed"
        raise UsageError(message, hint="--target amdgcn-gfx90a converts without a machine")
    machine: Any = None
    wave = None
    if options.state is not None:
        hint = "`dwarfgpu address` needs a snapshot: a state with a schema"
        machine = question.open_machine(options.state, read_input, force=options.force, hint=hint)
        target = machine.target
    else:
        target = question.target_named(options.target)
    space, address = address_aliases.parse_address(options.address, target)
    if machine is not None and (options.wave is not None or address_aliases.needs_wave(space, address)):
        wave = selectors.wave_of(machine, options.wave)
    found = address_aliases.views_of(target, space, address, options.lane, machine, wave)
    if session.wants_json:
        session.print_json(render.views_json(found))
    else:
        session.print_lines(render.views_text(found, session.style))
    return OK


COMMANDS = {
    "address": Command(
        """\
Show one address in every address space that reaches it.

For each view: for how many bytes it goes together with the address that is asked about, how many bytes of it the
snapshot has, and how it is computed.""",
        (
            argument("address", metavar="SPACE#ADDRESS", help="such as private_lane#0x30 or local#16"),
            STATE,
            WAVE,
            argument("--lane", type=int, metavar="N", help="the lane, for an address that belongs to one"),
            argument(
                "--target", metavar="T", help="convert without a machine, for a target such as amdgcn-gfx90a"
            ),
            FORCE,
        ),
        _address,
        (
            "dwarfgpu address 'private_lane#0x30' --lane 5 --target amdgcn-gfx90a",
            "dwarfgpu address 'generic#0x2000000000030' --state stopped.json --wave 0 --lane 5",
        ),
    ),
}
