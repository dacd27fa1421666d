"""``dwarfgpu eval FILE EXPR --wave all``: what is asked of every wave at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import report_problems
from dwarfgpu.cli.progress import Progress
from dwarfgpu.cli.session import NO_ANSWER, OK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.variables.all_waves import WaveValues


def evaluate(session: Session, options: Any, attached: Attached) -> int:
    """Evaluate expressions in all lanes of all waves; what stands at one place is shown when it is known."""
    from dwarfgpu.program.cases import question
    from dwarfgpu.program.variables.all_waves import all_waves
    from dwarfgpu.render.wave_values import WaveValuesRenderer

    numbers = None
    if options.lane not in (None, "active", "all"):
        numbers = [int(lane) for lane in question.lanes_of(options.lane)]
    renderer = WaveValuesRenderer(session.style, inactive=options.lane not in (None, "active"))
    status = OK
    total = len(attached) * len(options.expressions)
    progress = Progress(session, "waves", total)
    columns: dict[str, Any] = {"expressions": options.expressions}
    problems: list[DwarfGpuError] = []

    def answers() -> Iterator[tuple[str, WaveValues]]:
        """What is found, as it is; with --npz it is kept."""
        nonlocal status
        for index, text in enumerate(options.expressions):
            found = all_waves(attached, text, lanes=numbers, frame=options.frame or 0)
            for group, values in enumerate(found):
                progress.advance(len(values.waves))
                problems.extend(values.problems)
                if values.problems or values.has_failed:
                    status = NO_ANSWER
                if options.npz is None:
                    progress.clear()
                    yield text, values
                else:
                    kept = {f"{index}.{group}.{key}": value for key, value in values.columns().items()}
                    columns.update(kept)
        progress.clear()

    if options.csv:
        session.print("wave,frame,expression,lane,state,value")
    if session.as_json:
        documents = (each for answer in answers() for each in renderer.documents(*answer))
        session.print_json({"answers": documents})
    else:
        for text, values in answers():
            session.print_lines(_lines(session, options, renderer, text, values))
    if options.npz is not None:
        from dwarfgpu.program.variables.numpy_types import save

        save(options.npz, columns)
    known = (*attached.stopped.found, *problems, *attached.program.file.problems)
    return max(status, report_problems(session, known))


def _lines(session: Session, options: Any, renderer: Any, text: str, values: WaveValues) -> Iterator[str]:
    """One result in the form that was asked for."""
    if options.csv:
        yield from renderer.csv(text, values)
    elif session.as_lines:
        import json

        for document in renderer.documents(text, values):
            yield json.dumps({"schema": 1, **document})
    else:
        yield from renderer.text(text, values)
