"""``dwarfgpu bt``: the call frames of waves, and of the threads of a host program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, read_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.stack.backtrace import Backtrace


def _bt(session: Session, options: Any) -> int:
    from dwarfgpu.program.stack import backtrace
    from dwarfgpu.program.stack.selectors import waves_of
    from dwarfgpu.program.stack.stopped import open_stopped
    from dwarfgpu.render.backtrace import BacktraceRenderer
    from dwarfgpu.render.layout import problem_json

    file = open_file(options.file)
    stopped = open_stopped(file, options.state, read_input, force=options.force, dialect=options.dialect)
    waves = waves_of(stopped.machine, options.wave)
    target = stopped.machine.target
    renderer = BacktraceRenderer(target, session.style)
    status = OK

    def stacks() -> Iterator[Backtrace]:
        nonlocal status
        for found in backtrace.backtraces(stopped, waves, lane=options.lane, registers=options.registers):
            if found.error is not None or (found.end is not None and found.end.is_failure):
                status = NO_ANSWER
            yield found

    if session.wants_json:
        document = {
            "target": target.name,
            "stacks": (renderer.document(found, options.lane) for found in stacks()),
            "problems": (problem_json(error) for error in stopped.problems),
        }
        session.print_rows(document, "stacks", (), row={"target": target.name})
    else:
        for found in stacks():
            session.print_paragraph(renderer.text(found, options.lane))
    return max(status, report_problems(session, (*stopped.found, *file.problems)))


COMMANDS = {
    "bt": Command(
        """\
Show the call frames of the waves of a snapshot, or of the threads of a core file: the function, the source line, the
CFA, and the lanes that were active on entry. Waves with equal stacks are one group.

FILE is a code object of the snapshot, or the program that the core file is of.""",
        (
            argument("file", metavar="FILE", help="a file, FILE@gfx90a, FILE@2, or a code object URI"),
            argument("--state", metavar="S", required=True, help="a snapshot, or a core file"),
            argument("--wave", metavar="N", help="a wave or thread, by id or by number from 0, or all (all)"),
            argument("--lane", type=int, metavar="N", help="the frames in which a lane was active on entry"),
            argument("--registers", action="store_true", help="show where saved registers of each frame are"),
            argument("--dialect", metavar="D", help="how expressions are encoded (that of the target)"),
            FORCE,
        ),
        _bt,
        (
            "dwarfgpu bt k.co --state stopped.json",
            "dwarfgpu bt k.co --state stopped.dgs --wave 3 --lane 5",
            "dwarfgpu bt program --state core --registers --json",
        ),
    ),
}
COMMANDS["frames"] = COMMANDS["bt"]
