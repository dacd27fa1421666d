"""``dwarfgpu lanes`` and ``dwarfgpu waves``: who executes what, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, read_input

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session

FILE = argument(
    "file", metavar="FILE", help="a code object of the snapshot: a file, FILE@gfx90a, FILE@2, or a URI"
)
STATE = argument("--state", metavar="S", required=True, help="a snapshot")
DIALECT = argument("--dialect", metavar="D", help="how expressions are encoded (that of the target)")


def _stopped(options: Any) -> Any:
    from dwarfgpu.program.stack.stopped import open_stopped

    file = open_file(options.file)
    return open_stopped(file, options.state, read_input, force=options.force, dialect=options.dialect)


# --- lanes --------------------------------------------------------------------------------------------------------


def _lanes(session: Session, options: Any) -> int:
    from dwarfgpu.errors import UsageError
    from dwarfgpu.program.stack import lanes as lane_places
    from dwarfgpu.program.stack import selectors
    from dwarfgpu.render import lanes as render

    stopped = _stopped(options)
    finder = lane_places.LaneFinder(stopped)
    found = finder.lanes(selectors.wave_of(stopped.machine, options.wave), options.frame)
    chosen = found.lanes
    numbers = "all" if options.lane is None else selectors.lanes_of(options.lane)
    if not isinstance(numbers, str):
        beyond = [number for number in numbers if number >= found.lane_count]
        if beyond:
            raise UsageError(f"the function has {found.lane_count} lanes, no lane {beyond[0]}")
        chosen = tuple(found.lanes[number] for number in sorted(numbers))
    states = [state for state in ("active", "inactive", "unused") if getattr(options, state)]
    if states:
        chosen = tuple(lane for lane in chosen if lane.state in states)
    if options.svg and session.wants_json:
        raise UsageError("--svg prints a picture, which is no JSON", hint="leave out --json or --jsonl")
    how = "none" if options.all else "places" if options.group else "neighbours"
    text = render.lanes_table(found, chosen, how, session.style)
    if options.svg:
        from dwarfgpu.render.lane_svg import lanes_svg

        text = lanes_svg(found, chosen)
    session.print_rows(render.lanes_document(found, chosen), "lanes", text, row={"wave": found.wave})
    problems = list(found.problems)
    for error in (lane.error for lane in chosen if lane.error is not None):
        if not any(str(error) == str(known) for known in problems):
            problems.append(error)
    return max(NO_ANSWER if problems else OK, report_problems(session, (*problems, *stopped.problems)))


# --- waves --------------------------------------------------------------------------------------------------------


def _waves(session: Session, options: Any) -> int:
    from dwarfgpu.program.stack.wave_groups import wave_rows
    from dwarfgpu.render import lanes as render
    from dwarfgpu.render.layout import problem_json

    stopped = _stopped(options)
    rows = wave_rows(stopped, each=options.all)
    document = {
        "target": stopped.machine.target_name,
        "waves": map(render.wave_json, rows),
        "problems": [problem_json(error) for error in stopped.problems],
    }
    session.print_rows(document, "waves", render.waves_table(rows, session.style))
    errors = [row.error for row in rows if row.error is not None]
    return max(NO_ANSWER if errors else OK, report_problems(session, (*errors, *stopped.problems)))


COMMANDS = {
    "lanes": Command(
        """\
Show for every lane of a wave whether it is active (A), inactive (I) or has no work-item (U), which work-item it is, and
where it stands: a lane that waits while others take another branch is where DW_AT_LLVM_lane_pc says. Neighbours in the
same state at the same place are one row.""",
        (
            FILE,
            STATE,
            argument("--wave", metavar="N", help="the wave, by id or by number from 0"),
            argument("--frame", type=int, default=0, metavar="N", help="the frame, as `bt` numbers them (0)"),
            argument("--lane", metavar="LIST", help="lanes such as 0,3,8-11 (all)"),
            argument("--active", "-active", action="store_true", help="only active lanes"),
            argument("--inactive", "-inactive", action="store_true", help="only inactive lanes"),
            argument("--unused", "-unused", action="store_true", help="only lanes without a work-item"),
            argument("--all", "-all", action="store_true", help="a row for each lane"),
            argument("--group", action="store_true", help="a row for each place, wherever its lanes are"),
            argument("--svg", action="store_true", help="draw the lanes: a picture as SVG"),
            DIALECT,
            FORCE,
        ),
        _lanes,
        (
            "dwarfgpu lanes k.co --state stopped.json",
            "dwarfgpu lanes k.co --state stopped.dgs --wave 3 --frame 1 --group",
            "dwarfgpu lanes k.co --state stopped.dgs --wave 3 --active --jsonl",
            "dwarfgpu lanes k.co --state stopped.json --svg >lanes.svg",
        ),
    ),
    "waves": Command(
        """\
List the waves of a snapshot by dispatch: work-group, active lanes, program counter, function and line. Waves of a
dispatch that stand at one place with the same lanes active are one row.""",
        (
            FILE,
            STATE,
            argument("--all", action="store_true", help="a row for each wave"),
            DIALECT,
            FORCE,
        ),
        _waves,
        ("dwarfgpu waves k.co --state stopped.json", "dwarfgpu waves k.co --state stopped.dgs --jsonl"),
    ),
}
