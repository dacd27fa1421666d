"""``dwarfgpu eval FILE EXPR...`` and ``dwarfgpu locals``: variables and expressions in the frames of waves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, Progress, given, read_input
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.registry import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.program import Attached, Program
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.variables.answers import Values
    from dwarfgpu.program.variables.quantity import Quantity
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.variables import VariablesRenderer
    from dwarfgpu.render.wave_values import WaveValuesRenderer

FRAME = argument(
    "--frame", type=int, metavar="N", help="the frame, 0 for the innermost (0); inlined ones count"
)
PC = argument("--pc", metavar="A", help="an address or a function: frames there, without a machine")
FORMAT = argument(
    "--format",
    metavar="F",
    help="a letter of print/F: x d u o t a c f s z r",
    type=lambda text: text.removeprefix("/"),
    choices=tuple(LETTERS),
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
    from dwarfgpu.program.code.repairs import policy_of
    from dwarfgpu.program.program import Attached, Program
    from dwarfgpu.program.stack.stopped import open_stopped

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
    stopped = open_stopped(
        program.file,
        options.state,
        read_input,
        force=options.force,
        dialect=program.dialect,
        repair=program.repair,
    )
    attached = Attached(program, stopped)
    return program, attached, _waves(attached, options)


def _place(program: Program, options: Any) -> Frame:
    if options.pc is None:
        return program.outside
    from dwarfgpu.program.code.code_lookup import parse_address

    found = program.at(parse_address(program.file, options.pc))
    number = options.frame or 0
    if not 0 <= number < len(found):
        raise UsageError(f"there is no frame {number} at {options.pc}, the last one is {len(found) - 1}")
    return found[number]


def _waves(attached: Attached, options: Any) -> Iterator[tuple[str | None, Frame]]:
    from dwarfgpu.program.stack import selectors

    machine = attached.stopped.machine
    if options.wave is not None:
        chosen = selectors.waves_of(machine, options.wave)
    else:  # of the threads of a host program the first is the one that is meant
        chosen = [selectors.wave_of(machine, None) if attached.has_waves else 0]
    for index in chosen:
        wave = attached[index]
        yield (wave.id if len(attached) > 1 else None), wave.frame(options.frame or 0)
        if len(chosen) > 1:
            wave.forget()


def lanes_of(options: Any) -> Any:
    """The lanes that are meant: those that execute the code, if nobody says otherwise."""
    if options.lane is None or options.lane == "active":
        return None if options.state is None else "active"
    from dwarfgpu.program.stack import selectors

    return selectors.lanes_of(options.lane)


# --- eval ---------------------------------------------------------------------------------------------------------


def evaluate(session: Session, options: Any) -> int:
    """``dwarfgpu eval FILE EXPR...``."""
    from dwarfgpu.program.language.tokens import is_assignment

    _check_forms(session, options)
    options.expressions = [text.strip() for text in options.expressions]
    program, attached, frames = frames_of(options)
    is_asked_at_once = options.wave == "all" and not any(map(is_assignment, options.expressions))
    output = _Output(session, options, attached)
    if attached is not None and attached.has_waves and is_asked_at_once:
        asked = output.ask_all_waves(attached)
    else:
        asked = (question for wave, frame in frames for question in output.ask(wave, frame))
    if options.npz is not None:
        output.save(asked)
    elif options.csv:
        output.table(asked)
    else:
        documents = (document for question in asked for document in output.documents(question))
        text = (line for question in asked for line in output.lines(question))
        session.print_rows({"answers": documents}, "answers", text)
    if output.needs_machine:
        session.hint(
            "a machine is named with --state; --location shows where the file says that a variable is"
        )
    problems = () if attached is None else attached.stopped.found
    known = (*problems, *output.problems, *program.file.problems)
    return max(output.status, report_problems(session, known))


def _check_forms(session: Session, options: Any) -> None:
    """Refuse what would not be shown: one form alone, and columns have no place for more than values."""
    forms = given(options, ("json", "jsonl", "csv", "npz"))
    if len(forms) > 1:
        raise UsageError(f"{forms[1]} does not go with {forms[0]}", hint="choose one form")
    for name in given(options, ("trace", "location")):
        if forms and forms[0] in ("--csv", "--npz"):
            message = f"{forms[0]} has no place for what {name} shows"
            raise UsageError(message, hint="--json has, and so has text")


def tracer_of(frame: Frame, options: Any) -> Any:
    """Records what questions about a frame evaluate, if that was asked for."""
    if not options.trace:
        return None
    from dwarfgpu.render.trace import Tracer

    tracer = Tracer(frame.target, sections=True)
    frame.follow(tracer.record)
    return tracer


def save_arrays(session: Session, path: str, columns: dict[str, Any]) -> None:
    """Write arrays to a file of numpy, or to standard output for ``-``."""
    from dwarfgpu.program.variables.columns import save

    if path != "-":
        save(path, columns)
        return
    if session.out.isatty():
        raise UsageError(
            "an archive of numpy is not for a terminal", hint="name a file, or redirect the output"
        )
    session.out.flush()
    save(session.out.buffer, columns)


class _Question(NamedTuple):
    """What was asked, and what was found."""

    wave: str | None
    frame: Frame | None
    number: int
    """Which of the expressions it is."""
    quantity: Quantity | None
    answer: Values | None
    """None where it is not evaluated: without a machine a variable is described."""
    tracer: Any = None


class _Output:
    """Asks expressions, and shows the answers in the form that was asked for."""

    def __init__(self, session: Session, options: Any, attached: Attached | None) -> None:
        self.session = session
        self.options = options
        self.attached = attached
        self.lanes = lanes_of(options)
        self.status = OK
        self.problems: list[DwarfGpuError] = []
        self.needs_machine = False
        """Whether an answer is missing because there is no machine."""
        self._place: Any = None
        """What the text was about last: a wave, or the waves and the frame at a place."""

    # --- Asking ---------------------------------------------------------------------------------------------------

    def ask(self, wave: str | None, frame: Frame) -> Iterator[_Question]:
        """Ask all expressions in a frame. What is wrong with the words of one is said before the first is evaluated."""
        from dwarfgpu.program.variables.answers import answer

        options = self.options
        self.problems += mask_problems(frame)
        for index, (text, quantity) in enumerate([(text, frame[text]) for text in options.expressions]):
            if options.npz is not None:
                values = quantity.values(self.lanes)
                if values.has_failed:
                    self.status = NO_ANSWER
                yield _Question(wave, frame, index, quantity, values)
                continue
            if options.location and self.attached is None and is_variable(quantity):
                yield _Question(wave, frame, index, quantity, None)
                continue
            tracer = tracer_of(frame, options)
            values = answer(quantity, text, self.lanes)
            if values.lacks_objects:
                self.status = NO_ANSWER
                self.needs_machine |= self.attached is None and any(
                    answered.reason is not None and answered.reason.kind == "missing_context"
                    for answered in values.by_lane
                )
            yield _Question(wave, frame, index, quantity, values, tracer)

    def ask_all_waves(self, attached: Attached) -> Iterator[_Question]:
        """Ask all expressions of all waves; what is at one place is shown when it is known."""
        from dwarfgpu.program.stack import selectors
        from dwarfgpu.program.stack.all_waves import by_place

        options = self.options
        numbers = None
        if options.lane not in (None, "active", "all"):
            numbers = [int(lane) for lane in selectors.lanes_of(options.lane)]
        progress = Progress(self.session, "waves", len(attached) * len(options.expressions))
        for index, values in by_place(attached, options.expressions, lanes=numbers, frame=options.frame or 0):
            progress.advance(len(values.names))
            self.problems += values.problems
            if values.problems or values.has_failed:
                self.status = NO_ANSWER
            progress.clear()
            yield _Question(None, values.frame, index, None, values, self._trace_of_first(attached, values))
        progress.clear()

    def _trace_of_first(self, attached: Attached, values: Values) -> Any:
        """Return how an expression is evaluated in the first of some waves; the others differ in data alone."""
        from dwarfgpu.program.variables.answers import answer

        if values.frame is None or not self.options.trace:
            return None
        wave = attached[int(values.waves[0])]
        frame = wave.frame(values.frame.number)
        tracer = tracer_of(frame, self.options)
        answer(frame[values.text], values.text, self.lanes)
        wave.forget()
        return tracer

    # --- Showing --------------------------------------------------------------------------------------------------

    def _renderer(self, frame: Frame | None) -> VariablesRenderer:
        return renderer_of(self.session, self.options, frame)

    def _waves_renderer(self) -> WaveValuesRenderer:
        from dwarfgpu.render.wave_values import WaveValuesRenderer

        options = self.options
        return WaveValuesRenderer(
            self.session.style,
            inactive=options.lane not in (None, "active"),
            letter=options.format,
            locations=options.location,
        )

    def documents(self, question: _Question) -> Iterator[dict[str, Any]]:
        """Return one document a wave for --json, and for --jsonl one a lane; the trace is in the first."""
        values = question.answer
        if values is None:
            yield self._renderer(question.frame).described_json(question.quantity)  # type: ignore[arg-type]
            return
        head: dict[str, Any] = {} if question.wave is None else {"wave": question.wave}
        trace = {} if question.tracer is None else {"trace": question.tracer.documents()}
        writer: Any
        if values.waves is not None:
            writer = self._waves_renderer()
            documents = writer.lane_documents if self.session.as_lines else writer.documents
        else:
            writer = self._renderer(question.frame)
            if question.frame is not None and question.frame.place is not None:
                head["frame"] = question.frame.number
            documents = writer.lane_documents if self.session.as_lines else writer.documents
        for document in documents(values):
            yield {**head, **document, **trace}
            trace = {}

    def lines(self, question: _Question) -> Iterator[str]:
        """Return the trace, and the answer below the name of its wave or the place of its waves."""
        from dwarfgpu.render.layout import WIDTH

        values, tracer = question.answer, question.tracer
        if values is None:
            yield from self._renderer(question.frame).described(question.quantity)  # type: ignore[arg-type]
        elif values.waves is None:
            if question.wave is not None and question.wave != self._place:
                self._place = question.wave
                yield self.session.style("kind", f"wave {question.wave}")
            if tracer is not None:
                yield from tracer.lines(WIDTH)
            yield from self._renderer(question.frame).text(values, 0 if question.wave is None else 2)
        else:
            renderer = self._waves_renderer()
            place = values.names, values.pc, None if values.frame is None else values.frame.number
            if place != self._place:
                self._place = place
                yield from renderer.head(values)
            if tracer is not None:
                for line in (f"the trace of wave {values.names[0]}:", *tracer.lines(WIDTH - 2)):
                    yield f"  {line}"
            yield from renderer.text(values)

    def table(self, asked: Iterable[_Question]) -> None:
        """Write a line of separated values for each lane."""
        import csv

        has_wave = bool(self.options.wave)
        head = ["wave", "frame"] if has_wave else []
        writer = csv.writer(self.session.out, lineterminator="\n")
        writer.writerow([*head, "expression", "lane", "state", "value"])
        for question in asked:
            values, frame = question.answer, question.frame
            if values is None:
                continue
            if values.waves is not None:
                writer.writerows(self._waves_renderer().rows(values))
                continue
            before = [question.wave or "", 0 if frame is None else frame.number] if has_wave else []
            writer.writerows((*before, *row) for row in self._renderer(frame).rows(values))

    def save(self, asked: Iterable[_Question]) -> None:
        """Write arrays: for each expression its values, states and lanes, and of all waves those of each place."""
        columns: dict[str, Any] = {"expressions": self.options.expressions}
        places = [0] * len(self.options.expressions)
        for question in asked:
            values, index = question.answer, question.number
            if values is None:
                continue
            if values.waves is None:
                key = f"{'' if question.wave is None else f'{question.wave}/'}{index}"
                states: Any = values.states
            else:
                key, states = f"{index}.{places[index]}", values.codes
                places[index] += 1
                columns[f"{key}.wave"] = list(values.names)
                columns[f"{key}.pc"] = -1 if values.pc is None else values.pc
            columns[f"{key}.value"] = values.array
            columns[f"{key}.state"] = states
            columns[f"{key}.lane"] = [-1 if lane is None else lane for lane in values.lanes]
        save_arrays(self.session, self.options.npz, columns)


def mask_problems(frame: Frame) -> list[DwarfGpuError]:
    """Why it is not known which lanes of a frame are active. All of them are shown then."""
    if frame.active_mask is not None or frame.mask_error is None or frame.wave is None:
        return []
    from dwarfgpu.program.stack.wave_positions import unknown_mask

    return [unknown_mask(frame.wave.id, frame.mask_error)]


def is_variable(quantity: Quantity) -> bool:
    """Whether something has locations in the file."""
    return hasattr(quantity, "locations")


def renderer_of(session: Session, options: Any, frame: Frame | None) -> VariablesRenderer:
    """What writes answers about a frame."""
    from dwarfgpu.render.variables import VariablesRenderer

    return VariablesRenderer(frame, options.format, session.style, locations=options.location)


# --- locals -------------------------------------------------------------------------------------------------------


def _locals(session: Session, options: Any) -> int:
    if options.state is None and options.pc is None:
        raise UsageError(
            "where execution stands is not said", hint="give --state, or --pc for locations alone"
        )
    program, attached, frames = frames_of(options)
    shown = _Locals(session, options, has_machine=attached is not None)
    documents = (shown.document(wave, frame) for wave, frame in frames)
    text = (line for number, one in enumerate(frames) for line in shown.lines(*one, is_first=number == 0))
    session.print_rows({"frames": documents}, "frames", text)
    problems = () if attached is None else attached.stopped.found
    return report_problems(session, (*problems, *shown.problems, *program.file.problems))


class _Locals:
    """Shows the variables of frames."""

    def __init__(self, session: Session, options: Any, *, has_machine: bool) -> None:
        self.session = session
        self.options = options
        self.has_machine = has_machine
        self.lanes = lanes_of(options)
        self.problems: list[DwarfGpuError] = []

    def _found(self, frame: Frame) -> Iterator[tuple[Variable, Values | None]]:
        """The variables, each with its answer if there is a machine."""
        from dwarfgpu.program.variables.answers import answer

        self.problems += mask_problems(frame)
        for each in (*frame.variables(), *(frame.statics() if self.options.statics else ())):
            yield each, answer(each, each.name, self.lanes) if self.has_machine else None

    def document(self, wave: str | None, frame: Frame) -> dict[str, Any]:
        from dwarfgpu.render.variables import frame_json

        renderer = renderer_of(self.session, self.options, frame)
        entries = [
            renderer.described_json(each)
            if one is None
            else {"name": each.name, "kind": each.kind, "shadowed": each.is_shadowed} | renderer.document(one)
            for each, one in self._found(frame)
        ]
        head = {} if wave is None else {"wave": wave}
        return {**head, "frame": frame_json(frame), "variables": entries}

    def lines(self, wave: str | None, frame: Frame, *, is_first: bool) -> Iterator[str]:
        from dwarfgpu.render.variables import frame_text

        style = self.session.style
        if not is_first:
            yield ""
        if wave is not None:
            yield style("kind", f"wave {wave}")
        yield frame_text(frame, style)
        renderer = renderer_of(self.session, self.options, frame)
        nothing = True
        for each, one in self._found(frame):
            nothing = False
            first, *rest = renderer.described(each, 2) if one is None else renderer.text(one, 2)
            yield first + (style("dim", "  (shadowed)") if each.is_shadowed else "")
            yield from rest
        if nothing:
            yield "no variables are known here"


COMMANDS = {
    "locals": Command(
        """\
Show the parameters and local variables of a frame: those of inner blocks first, in the order of the source. Without
a machine, --pc shows where each of them is.

FILE is a code object of the snapshot, or the program that the core file is of.""",
        (
            argument("file", metavar="FILE", help="a file, FILE@gfx90a, FILE@2, or a code object URI"),
            argument("--state", metavar="S", help="a snapshot, or a core file"),
            argument("--wave", metavar="N", help="a wave or thread, by number from 1 or by id, or all"),
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
