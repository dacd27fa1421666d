"""``dwarfgpu eval FILE EXPR...`` and ``dwarfgpu locals``: variables and expressions in the frames of waves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, given, read_input
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.program import Attached, Program
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.variables.answers import Answer
    from dwarfgpu.program.variables.quantity import Quantity
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.variables import VariablesRenderer

FRAME = argument(
    "--frame", type=int, metavar="N", help="the frame, 0 for the innermost (0); inlined ones count"
)
PC = argument("--pc", metavar="A", help="an address or a function: frames there, without a machine")
FORMAT = argument(
    "--format",
    metavar="F",
    help="a letter of print/F: x d u o t a c f s z r",
    type=lambda text: text.removeprefix("/"),
    choices=tuple("xduotacfszr"),
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
    if attached is not None and attached.has_waves and is_asked_at_once:
        from dwarfgpu.cli.all_waves import evaluate as evaluate_all

        return evaluate_all(session, options, attached)
    output = _Output(session, options, has_machine=attached is not None)
    found = (each for wave, frame in frames for each in output.ask(wave, frame))
    if options.npz is not None:
        output.save(found)
    elif options.csv:
        output.table(found)
    else:
        documents = (document for each in found for document in output.documents(each))
        text = (line for each in found for line in output.lines(each))
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


class _Found(NamedTuple):
    """What was asked in a frame, and what was found."""

    wave: str | None
    frame: Frame
    text: str
    quantity: Quantity
    answer: Answer | None
    """None where it is not evaluated: arrays are made of the quantity, and without a machine it is described."""
    tracer: Any


class _Output:
    """Asks expressions, and shows the answers in the form that was asked for."""

    def __init__(self, session: Session, options: Any, *, has_machine: bool) -> None:
        self.session = session
        self.options = options
        self.has_machine = has_machine
        self.lanes = lanes_of(options)
        self.status = OK
        self.problems: list[DwarfGpuError] = []
        self.needs_machine = False
        """Whether an answer is missing because there is no machine."""
        self._wave: str | None = None
        """The wave that the text was about last."""

    def ask(self, wave: str | None, frame: Frame) -> Iterator[_Found]:
        """Ask all expressions in a frame. What is wrong with the words of one is said before the first is evaluated."""
        from dwarfgpu.program.variables.answers import answer

        options = self.options
        self.problems += mask_problems(frame)
        for text, quantity in [(text, frame[text]) for text in options.expressions]:
            if options.npz is not None or (
                options.location and not self.has_machine and is_variable(quantity)
            ):
                yield _Found(wave, frame, text, quantity, None, None)
                continue
            tracer = tracer_of(frame, options)
            found = answer(quantity, text, self.lanes)
            if found.has_failed:
                self.status = NO_ANSWER
                self.needs_machine |= not self.has_machine and any(
                    each.reason is not None and each.reason.kind == "missing_context" for each in found.lanes
                )
            yield _Found(wave, frame, text, quantity, found, tracer)

    def renderer(self, frame: Frame) -> VariablesRenderer:
        return renderer_of(self.session, self.options, frame)

    def documents(self, found: _Found) -> Iterator[dict[str, Any]]:
        """One for --json, and for --jsonl one for each lane; the trace is in the first."""
        renderer = self.renderer(found.frame)
        if found.answer is None:
            yield renderer.described_json(found.quantity)  # type: ignore[arg-type]
            return
        head: dict[str, Any] = {} if found.wave is None else {"wave": found.wave}
        if found.frame.place is not None:
            head["frame"] = found.frame.number
        trace = {} if found.tracer is None else {"trace": found.tracer.documents()}
        if not self.session.as_lines:
            yield {**head, **renderer.document(found.answer), **trace}
            return
        head |= {"expression": found.text, "type": renderer.type_text(found.answer)}
        for lane in found.answer.lanes:
            one = {} if lane.lane is None else {"lane": lane.lane}
            yield {**head, **one, **renderer.lane_document(lane), **trace}
            trace = {}

    def lines(self, found: _Found) -> Iterator[str]:
        """The trace, and the answer below the name of its wave."""
        from dwarfgpu.render.layout import WIDTH

        renderer = self.renderer(found.frame)
        if found.answer is None:
            yield from renderer.described(found.quantity)  # type: ignore[arg-type]
            return
        if found.wave is not None and found.wave != self._wave:
            self._wave = found.wave
            yield self.session.style("kind", f"wave {found.wave}")
        if found.tracer is not None:
            yield from found.tracer.lines(WIDTH)
        yield from renderer.text(found.answer, 0 if found.wave is None else 2)

    def table(self, found: Iterable[_Found]) -> None:
        """A line of separated values for each lane."""
        import csv

        has_wave = bool(self.options.wave)
        head = ["wave", "frame"] if has_wave else []
        writer = csv.writer(self.session.out, lineterminator="\n")
        writer.writerow([*head, "expression", "lane", "state", "value"])
        for each in found:
            renderer = self.renderer(each.frame)
            before = [each.wave or "", each.frame.number] if has_wave else []
            for lane in () if each.answer is None else each.answer.lanes:
                number = "" if lane.lane is None else lane.lane
                value = renderer.cell(lane) if lane.value is not None else ""
                writer.writerow([*before, each.text, number, lane.state, value])

    def save(self, found: Iterable[_Found]) -> None:
        """Arrays: for each expression its values, states and lanes."""
        columns: dict[str, Any] = {"expressions": self.options.expressions}
        count = len(self.options.expressions)
        for position, each in enumerate(found):
            values = each.quantity.values(self.lanes)
            if values.has_failed:
                self.status = NO_ANSWER
            key = f"{'' if each.wave is None else f'{each.wave}/'}{position % count}"
            columns[f"{key}.value"] = values.array
            columns[f"{key}.state"] = values.states
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


def renderer_of(session: Session, options: Any, frame: Frame) -> VariablesRenderer:
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

    def _found(self, frame: Frame) -> Iterator[tuple[Variable, Answer | None]]:
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
