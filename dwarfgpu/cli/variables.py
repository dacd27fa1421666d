"""``dwarfgpu eval FILE EXPR...`` and ``dwarfgpu locals``: variables and expressions in the frames of waves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.program import Attached, Program
    from dwarfgpu.program.variables.answers import Answer
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.render.variables import VariablesRenderer

FRAME = argument(
    "--frame", type=int, metavar="N", help="the frame, 0 for the innermost (0); inlined ones count"
)
PC = argument("--pc", metavar="A", help="an address or a function: frames there, without a machine")
FORMAT = argument(
    "--format", metavar="F", help="a letter of print/F: x d u o t a c f s z r", choices=tuple("xduotacfszr")
)
LOCATION = argument("--location", action="store_true", help="also show where each value is")
REPAIR = argument(
    "--repair",
    metavar="R",
    help="read idioms of compilers as they are meant: auto, off, or names (auto)",
)
COLUMNS = (
    argument("--npz", metavar="OUT", help="write numbers, one array an expression, to a numpy file"),
    argument("--csv", action="store_true", help="a line for each lane: expression, lane, state, value"),
)


# --- Where the question is asked ----------------------------------------------------------------------------------


def frames_of(options: Any) -> tuple[Program, Attached | None, Iterator[tuple[str | None, Frame]]]:
    """The program, its machine if there is one, and the frame of each wave that is meant."""
    from dwarfgpu.program.program import Program
    from dwarfgpu.program.repairs.repaired import policy_of

    program = Program(
        open_file(options.file), dialect=options.dialect, repair=policy_of(options.repair or "auto")
    )
    if options.state is None:
        for name in ("wave", "frame"):
            if getattr(options, name) is not None and not (name == "frame" and options.pc is not None):
                message = f"--{name} is about a machine, and none is given"
                raise UsageError(message, hint="name a snapshot or a core file with --state")
        return program, None, iter([(None, _place(program, options))])
    if options.pc is not None:
        raise UsageError("--pc is for questions without a machine", hint="leave out --pc or --state")
    attached = program.attach(options.state, force=options.force)
    return program, attached, _waves(attached, options)


def _place(program: Program, options: Any) -> Frame:
    if options.pc is None:
        return program.outside
    from dwarfgpu.program.files.codelookup import parse_address

    found = program.at(parse_address(program.file, options.pc))
    number = options.frame or 0
    if not 0 <= number < len(found):
        raise UsageError(f"{len(found)} functions stand at {options.pc}, there is no frame {number}")
    return found[number]


def _waves(attached: Attached, options: Any) -> Iterator[tuple[str | None, Frame]]:
    from dwarfgpu.program.machines.backtrace import waves_of

    if options.wave is None and len(attached) > 1 and attached.state.target.lane_count > 1:
        from dwarfgpu.program.cases.question import wave_of

        wave_of(attached.stopped.machine, None)  # type: ignore[arg-type]
    chosen = [0] if options.wave is None else waves_of(attached.stopped, options.wave)
    for index in chosen:
        wave = attached[index]
        yield (wave.id if len(attached) > 1 else None), wave.frame(options.frame or 0)
        if len(chosen) > 1:
            wave.forget()


def lanes_of(options: Any) -> Any:
    """The lanes that are meant: those that execute the code, if nobody says otherwise."""
    if options.lane is None or options.lane == "active":
        return None if options.state is None else "active"
    from dwarfgpu.program.cases.question import lanes_of as parse_lanes

    return parse_lanes(options.lane)


# --- eval ---------------------------------------------------------------------------------------------------------


def evaluate(session: Session, options: Any) -> int:
    """``dwarfgpu eval FILE EXPR...``."""
    from dwarfgpu.program.source.tokens import is_assignment
    from dwarfgpu.program.variables.answers import answer

    options.expressions = [text.strip() for text in options.expressions]
    program, attached, frames = frames_of(options)
    is_asked_at_once = options.wave == "all" and not any(map(is_assignment, options.expressions))
    if attached is not None and attached.has_waves and is_asked_at_once:
        from dwarfgpu.cli.all_waves import evaluate as evaluate_all

        return evaluate_all(session, options, attached)
    lanes = lanes_of(options)
    status = OK
    output = _Output(session, options)
    for wave, frame in frames:
        tracer = tracer_of(frame, options)
        quantities = [(text, frame[text]) for text in options.expressions]
        found = []
        for text, quantity in quantities:
            if attached is None and options.location and _is_variable(quantity):
                output.described(frame, quantity)
                continue
            found.append(answer(quantity, text, lanes))
        output.answers(wave, frame, found, tracer)
        if any(each.has_failed for each in found):
            status = NO_ANSWER
    output.end()
    problems = () if attached is None else attached.stopped.found
    return max(status, report_problems(session, (*problems, *program.file.problems)))


def _is_variable(quantity: Any) -> bool:
    return hasattr(quantity, "locations")


def tracer_of(frame: Frame, options: Any) -> Any:
    """Records what questions about a frame evaluate, if that was asked for."""
    if not options.trace:
        return None
    from dwarfgpu.render.trace import Tracer

    tracer = Tracer(frame.target, sections=True)
    frame.follow(tracer.record)
    return tracer


class _Output:
    """Shows answers in the form that was asked for."""

    def __init__(self, session: Session, options: Any) -> None:
        self.session = session
        self.options = options
        self.documents: list[dict[str, Any]] = []
        self.columns: dict[str, Any] = {}
        if getattr(options, "csv", False):
            session.print(
                "wave,frame,expression,lane,state,value" if options.wave else "expression,lane,state,value"
            )

    def renderer(self, frame: Frame) -> VariablesRenderer:
        from dwarfgpu.render.variables import VariablesRenderer

        options = self.options
        return VariablesRenderer(frame, options.format, self.session.style, locations=options.location)

    def described(self, frame: Frame, variable: Any) -> None:
        """Where the file says a variable is."""
        renderer = self.renderer(frame)
        if self.session.wants_json:
            self._document(renderer.described_json(variable))
        else:
            self.session.print_lines(renderer.described(variable))

    def answers(self, wave: str | None, frame: Frame, found: list[Answer], tracer: Any = None) -> None:
        """What was found in one wave."""
        session = self.session
        renderer = self.renderer(frame)
        if session.wants_json:
            self._documents(renderer, wave, frame, found, tracer)
            return
        if getattr(self.options, "csv", False):
            self._lines(renderer, wave, frame, found)
            return
        if self.options.npz is not None:
            self._arrays(wave, frame)
            return
        if tracer is not None:
            session.print_lines(tracer.lines())
        if wave is not None:
            session.print(session.style("kind", f"wave {wave}"))
        for each in found:
            session.print_lines(renderer.text(each, 0 if wave is None else 2))

    def _documents(
        self, renderer: VariablesRenderer, wave: str | None, frame: Frame, found: list[Answer], tracer: Any
    ) -> None:
        head: dict[str, Any] = {} if wave is None else {"wave": wave}
        if frame.place is not None:
            head["frame"] = frame.number
        for each in found:
            if self.session.as_lines:
                for lane in each.lanes:
                    one = {} if lane.lane is None else {"lane": lane.lane}
                    self.session.print_json(
                        {**head, "expression": each.text, **one, **renderer.lane_document(lane)}
                    )
                continue
            self._document({**head, **renderer.document(each)})
        if tracer is not None and self.documents:
            self.documents[-1]["trace"] = tracer.documents()

    def _document(self, document: dict[str, Any]) -> None:
        if self.session.as_lines:
            self.session.print_json(document)
        else:
            self.documents.append(document)

    def _lines(
        self, renderer: VariablesRenderer, wave: str | None, frame: Frame, found: list[Answer]
    ) -> None:
        import csv
        import io

        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        head = [wave or "", frame.number] if self.options.wave else []
        for each in found:
            for lane in each.lanes:
                number = "" if lane.lane is None else lane.lane
                text = renderer.cell(lane) if lane.value is not None else ""
                writer.writerow([*head, each.text, number, lane.state, text])
        self.session.print_lines(stream.getvalue().splitlines())

    def _arrays(self, wave: str | None, frame: Frame) -> None:
        prefix = "" if wave is None else f"{wave}/"
        for number, text in enumerate(self.options.expressions):
            found = frame[text].values(lanes_of(self.options))
            self.columns[f"{prefix}{number}.value"] = found.array
            self.columns[f"{prefix}{number}.state"] = found.states
            self.columns[f"{prefix}{number}.lane"] = [-1 if lane is None else lane for lane in found.lanes]

    def end(self) -> None:
        """What is shown when all is known."""
        if self.session.as_json:
            self.session.print_json({"answers": self.documents})
        if self.options.npz is not None:
            from dwarfgpu.program.variables.numpy_types import save

            save(self.options.npz, {"expressions": self.options.expressions, **self.columns})


# --- locals -------------------------------------------------------------------------------------------------------


def _locals(session: Session, options: Any) -> int:
    from dwarfgpu.program.variables.answers import answer
    from dwarfgpu.render.variables import frame_json, frame_text

    if options.state is None and options.pc is None:
        raise UsageError(
            "where execution stands is not said", hint="give --state, or --pc for locations alone"
        )
    program, attached, frames = frames_of(options)
    output = _Output(session, options)
    documents = []
    for wave, frame in frames:
        renderer = output.renderer(frame)
        variables = [*frame.variables(), *(frame.statics() if options.statics else ())]
        found = [
            (each, None if attached is None else answer(each, each.name, lanes_of(options)))
            for each in variables
        ]
        if session.wants_json:
            entries = []
            for each, one in found:
                entry = {"name": each.name, "kind": each.kind, "shadowed": each.is_shadowed}
                entries.append(
                    renderer.described_json(each) if one is None else entry | renderer.document(one)
                )
            document = {"frame": frame_json(frame), "variables": entries}
            document = document if wave is None else {"wave": wave, **document}
            if session.as_lines:
                session.print_json(document)
            else:
                documents.append(document)
            continue
        head = [] if wave is None else [session.style("kind", f"wave {wave}")]
        session.print_paragraph([*head, frame_text(frame, session.style)])
        if not found:
            session.print("no variables are known here")
        for each, one in found:
            lines = renderer.described(each, 2) if one is None else renderer.text(one, 2)
            if each.is_shadowed:
                lines[0] += session.style("dim", "  (shadowed)")
            session.print_lines(lines)
    if session.as_json:
        session.print_json({"frames": documents})
    problems = () if attached is None else attached.stopped.found
    return report_problems(session, (*problems, *program.file.problems))


COMMANDS = {
    "locals": Command(
        """\
Show the parameters and local variables of a frame: those of inner blocks first, in the order of the source. Without
a machine, --pc shows where each of them is.

FILE is a code object of the snapshot, or the program that the core file is of.""",
        (
            argument("file", metavar="FILE", help="a file, FILE@gfx90a, FILE@2, or a code object URI"),
            argument("--state", metavar="S", help="a snapshot, or a core file"),
            argument("--wave", metavar="N", help="a wave or thread, by id or by number from 0, or all"),
            FRAME,
            argument(
                "--lane", metavar="N", help="one lane, a list such as 0,3,8-11, active, or all (active)"
            ),
            PC,
            argument(
                "--statics", action="store_true", help="also the variables of the unit outside functions"
            ),
            FORMAT,
            LOCATION,
            REPAIR,
            argument("--dialect", metavar="D", help="how expressions are encoded (that of the target)"),
            FORCE,
        ),
        _locals,
        (
            "dwarfgpu locals k.co --state stopped.json --wave 0",
            "dwarfgpu locals k.co --state stopped.dgs --wave 3 --frame 1 --lane 5 --location",
            "dwarfgpu locals k.co --pc 0x1548",
            "dwarfgpu locals program --state core --json",
        ),
    )
}
