"""``dwarfgpu eval FILE EXPR --wave all``: what is asked of every wave at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import report_problems
from dwarfgpu.cli.progress import Progress
from dwarfgpu.cli.session import NO_ANSWER, OK

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.variables.all_waves import WaveValues


def evaluate(session: Session, options: Any, attached: Attached) -> int:
    """Evaluate expressions in all lanes of all waves; what stands at one place is shown when it is known."""
    from dwarfgpu.program.cases import question
    from dwarfgpu.program.variables.all_waves import by_place

    numbers = None
    if options.lane not in (None, "active", "all"):
        numbers = [int(lane) for lane in question.lanes_of(options.lane)]
    output = _Output(session, options, attached)
    status = OK
    progress = Progress(session, "waves", len(attached) * len(options.expressions))
    problems = []
    for index, values in by_place(attached, options.expressions, lanes=numbers, frame=options.frame or 0):
        progress.advance(len(values.waves))
        problems += values.problems
        if values.problems or values.has_failed:
            status = NO_ANSWER
        progress.clear()
        output.show(index, values)
    progress.clear()
    output.end()
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
        self.documents: list[dict[str, Any]] = []
        self.columns: dict[str, Any] = {"expressions": options.expressions}
        self._counts = [0] * len(options.expressions)
        self._place: Any = None
        """The waves and the frame whose place has been shown last."""
        if options.csv:
            session.print("wave,frame,expression,lane,state,value")

    def show(self, index: int, values: WaveValues) -> None:
        """One expression at one place."""
        session, options = self.session, self.options
        text = options.expressions[index]
        tracer = self._traced(text, values) if options.trace else None
        if options.npz is not None:
            place = f"{index}.{self._counts[index]}"
            self._counts[index] += 1
            self.columns.update({f"{place}.{key}": value for key, value in values.columns().items()})
        elif session.wants_json:
            for document in self.renderer.documents(text, values):
                if tracer is not None:
                    document["trace"] = tracer.documents()
                    tracer = None
                if session.as_lines:
                    session.print_json(document)
                else:
                    self.documents.append(document)
        elif options.csv:
            for line in self.renderer.csv(text, values):
                session.print(line)
        else:
            self._text(text, values, tracer)

    def _text(self, text: str, values: WaveValues, tracer: Any) -> None:
        place = values.names, values.pc, None if values.frame is None else values.frame.number
        if place != self._place:
            self._place = place
            for line in self.renderer.head(values):
                self.session.print(line)
        if tracer is not None:
            for line in (f"the trace of wave {values.names[0]}:", *tracer.lines()):
                self.session.print(f"  {line}")
        for line in self.renderer.text(text, values):
            self.session.print(line)

    def _traced(self, text: str, values: WaveValues) -> Any:
        """How the expression is evaluated in the first of the waves; what the others do differs in data alone."""
        from dwarfgpu.cli.variables import lanes_of, tracer_of
        from dwarfgpu.program.variables.answers import answer

        if values.frame is None:
            return None
        wave = self.attached[int(values.waves[0])]
        frame = wave.frame(values.frame.number)
        tracer = tracer_of(frame, self.options)
        answer(frame[text], text, lanes_of(self.options))
        wave.forget()
        return tracer

    def end(self) -> None:
        """What is shown when all is known."""
        if self.session.as_json:
            self.session.print_json({"answers": self.documents})
        if self.options.npz is not None:
            from dwarfgpu.program.variables.numpy_types import save

            save(self.options.npz, self.columns)
