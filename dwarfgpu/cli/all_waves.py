"""``dwarfgpu eval FILE EXPR --wave all``: what is asked of every wave at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import report_problems
from dwarfgpu.cli.session import NO_ANSWER, OK, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.stack.all_waves import WaveValues


def evaluate(session: Session, options: Any, attached: Attached) -> int:
    """Evaluate expressions in all lanes of all waves; what stands at one place is shown when it is known."""
    from dwarfgpu.program.stack import selectors
    from dwarfgpu.program.stack.all_waves import by_place

    numbers = None
    if options.lane not in (None, "active", "all"):
        numbers = [int(lane) for lane in selectors.lanes_of(options.lane)]
    progress = Progress(session, "waves", len(attached) * len(options.expressions))
    output = _Output(session, options, attached)
    problems: list[DwarfGpuError] = []
    status = OK

    def answers() -> Iterator[tuple[int, WaveValues]]:
        """What is found, as it is."""
        nonlocal status
        for index, values in by_place(attached, options.expressions, lanes=numbers, frame=options.frame or 0):
            progress.advance(len(values.waves))
            problems.extend(values.problems)
            if values.problems or values.has_failed:
                status = NO_ANSWER
            progress.clear()
            yield index, values
        progress.clear()

    if options.npz is not None:
        output.save(answers())
    elif session.as_json:
        documents = (each for answer in answers() for each in output.documents(*answer))
        session.print_json({"answers": documents})
    else:
        if options.csv:
            session.print("wave,frame,expression,lane,state,value")
        for answer in answers():
            session.print_lines(output.lines(*answer))
    known = (*attached.stopped.found, *problems, *attached.program.file.problems)
    return max(status, report_problems(session, known))


class _Output:
    """Shows results in the form that was asked for."""

    def __init__(self, session: Session, options: Any, attached: Attached) -> None:
        from dwarfgpu.render.wave_values import WaveValuesRenderer

        self.session = session
        self.options = options
        self.attached = attached
        self.renderer = WaveValuesRenderer(
            session.style,
            inactive=options.lane not in (None, "active"),
            letter=options.format,
            locations=options.location,
        )
        self._place: Any = None
        """The waves and the frame whose place has been shown last."""

    def save(self, answers: Iterator[tuple[int, WaveValues]]) -> None:
        """Write arrays: of each expression for each of its places."""
        from dwarfgpu.cli.variables import save_arrays

        columns: dict[str, Any] = {"expressions": self.options.expressions}
        counts = [0] * len(self.options.expressions)
        for index, values in answers:
            place = f"{index}.{counts[index]}"
            counts[index] += 1
            columns.update({f"{place}.{key}": value for key, value in values.columns().items()})
        save_arrays(self.session, self.options.npz, columns)

    def documents(self, index: int, values: WaveValues) -> Iterator[dict[str, Any]]:
        """One document a wave; the trace is in that of the first."""
        text = self.options.expressions[index]
        tracer = self._traced(text, values)
        for document in self.renderer.documents(text, values):
            if tracer is not None:
                document["trace"] = tracer.documents()
                tracer = None
            yield document

    def lines(self, index: int, values: WaveValues) -> Iterator[str]:
        """One expression at one place."""
        text = self.options.expressions[index]
        if self.options.csv:
            yield from self.renderer.csv(text, values)
        elif self.session.as_lines:
            import json

            for document in self.documents(index, values):
                yield json.dumps({"schema": 1, **document})
        else:
            yield from self._text(text, values)

    def _text(self, text: str, values: WaveValues) -> Iterator[str]:
        from dwarfgpu.render.layout import WIDTH

        place = values.names, values.pc, None if values.frame is None else values.frame.number
        if place != self._place:
            self._place = place
            yield from self.renderer.head(values)
        tracer = self._traced(text, values)
        if tracer is not None:
            for line in (f"the trace of wave {values.names[0]}:", *tracer.lines(WIDTH - 2)):
                yield f"  {line}"
        yield from self.renderer.text(text, values)

    def _traced(self, text: str, values: WaveValues) -> Any:
        """How the expression is evaluated in the first of the waves; what the others do differs in data alone."""
        from dwarfgpu.cli.variables import lanes_of, tracer_of
        from dwarfgpu.program.variables.answers import answer

        if values.frame is None or not self.options.trace:
            return None
        wave = self.attached[int(values.waves[0])]
        frame = wave.frame(values.frame.number)
        tracer = tracer_of(frame, self.options)
        answer(frame[text], text, lanes_of(self.options))
        wave.forget()
        return tracer
