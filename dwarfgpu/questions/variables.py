"""Questions about variables and expressions of the source language: ``eval``, ``print``, ``locals``, ``info args``."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dwarfgpu import progress
from dwarfgpu.dwarf_constants import DW_ATE_unsigned_char
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.repairs import Repair, hint_of
from dwarfgpu.program.frames.answers import LaneAnswer, Quantity, Values, answer
from dwarfgpu.program.frames.columns import save
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.frames.variable import PARAMETER, Described, Variable
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Pointer, resolved
from dwarfgpu.program.types.reader import speaks_cplus
from dwarfgpu.questions.document import NO_ANSWER, Document, Output
from dwarfgpu.questions.selection import Selection, names_lanes, needs_state
from dwarfgpu.render.layout import counted, fitted, shown, style
from dwarfgpu.render.values import OPTIMIZED_OUT, PLAIN, Look, ValueWriter, launched_note, problem
from dwarfgpu.render.variables import (
    RepairNotes,
    VariablesRenderer,
    frame_json,
    frame_text,
    heading,
    kept_text,
    lines_of_waves,
    value_in_lanes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.history import Kept
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.render.trace import Tracer
    from dwarfgpu.states.program import Attached, Program

    Json = dict[str, Any]

NEEDS_MACHINE = "--state names a snapshot or a core file; --location shows the locations without one"


# --- Where a question is asked --------------------------------------------------------------------------------------


def _frames(
    selection: Selection, arguments: Arguments, program: Program, attached: Attached | None
) -> Iterator[tuple[str | None, Frame]]:
    """Yield the selected frame, or those that options name, with the id of the wave where the machine has several."""
    if attached is None:
        yield None, _frame_without_machine(arguments, program)
        return
    if arguments.has("pc"):
        raise UsageError("--pc is for questions without a state", hint="leave out --pc or --state")
    machine, has_several = selection.machine.stopped.machine, len(attached) > 1
    if arguments.has("wave"):
        from dwarfgpu.program.frames.selectors import waves_of

        waves = waves_of(machine, arguments.get("wave"))
    else:
        waves = [selection.wave.index]
    if attached is selection.attached and not any(map(arguments.has, ("wave", "frame"))):
        yield (selection.wave.id if has_several else None), selection.frame
        return
    for index in waves:
        wave = attached[index]
        number = arguments.get("frame")
        if number is None:
            number = selection.frame_number if index == selection.wave_number else 0
        yield (wave.id if has_several else None), wave.frame(number)
        if len(waves) > 1:
            wave.forget()


def _frame_without_machine(arguments: Arguments, program: Program) -> Frame:
    """Return the frame at an address, or the program as a whole."""
    for name in ("wave", "frame"):
        if arguments.has(name) and not (name == "frame" and arguments.has("pc")):
            raise needs_state(name)
    if not arguments.has("pc"):
        return program.outside
    from dwarfgpu.program.code.code_lookup import parse_address

    pc, number = arguments.get("pc"), arguments.get("frame") or 0
    frames = program.at(parse_address(program.file, pc))
    if not 0 <= number < len(frames):
        raise UsageError(f"there is no frame {number} at {pc}, the last one is {len(frames) - 1}")
    return frames[number]


def mask_problems(frame: Frame) -> list[DwarfGpuError]:
    """Return why it is not known which lanes of a frame are active. All of them are shown then."""
    if frame.active_mask is not None or frame.mask_error is None or frame.wave is None:
        return []
    from dwarfgpu.program.frames.wave_positions import unknown_mask

    return [unknown_mask(frame.wave.id, frame.mask_error)]


@frozen
class _Answered:
    """An expression with its values in one wave, or in several waves at one place."""

    wave: str | None
    frame: Frame | None
    number: int
    """Which of the expressions it is."""
    quantity: Quantity | None
    values: Values | None
    """None where it is not evaluated: without a state a variable is described."""
    tracer: Tracer | None = None


def evaluate(selection: Selection, arguments: Arguments) -> Document:
    if arguments.has("ops") or arguments.has("hex"):
        from dwarfgpu.questions.expressions import evaluate_operations

        ((wave, frame),) = _frames(selection, arguments, *selection.repaired(arguments.get("repair")))
        return evaluate_operations(selection, arguments, frame, wave, selection.lanes_of(arguments, "active"))
    return Answers(selection, arguments)


class _FramesDocument(Document):
    """An answer about frames, which ends with the repairs that would read them as their producer means."""

    def __init__(self, selection: Selection, arguments: Arguments) -> None:
        self._selection = selection
        self._arguments = arguments
        self._program, self._attached = selection.repaired(arguments.get("repair"))
        self._letter: str | None = None
        self._possible: dict[str, Repair] = {}

    def _frames(self) -> Iterator[tuple[str | None, Frame]]:
        return _frames(self._selection, self._arguments, self._program, self._attached)

    @property
    def _is_elsewhere(self) -> bool:
        """Whether a reader is to be told which frame it is."""
        return not self._selection.has_focus or any(map(self._arguments.has, ("wave", "frame", "pc")))

    def _asked_lanes(self, default: str | None = None) -> list[int] | str | None:
        """Return the lanes that are asked about. Without a state ``-all`` is about locations, and not about lanes."""
        if self._attached is None and self._arguments.has("all") and not self._arguments.has("lane"):
            return None
        return self._selection.lanes_of(self._arguments, default)

    def _note(self, *found: Values | Variable | Described) -> None:
        """Take note of the repairs that could apply to some answers or locations."""
        self._possible.update((repair.name, repair) for each in found for repair in each.possible_repairs)

    def _renderer(self, frame: Frame | None) -> VariablesRenderer:
        frame, locations = frame or self._program.outside, self._arguments.has("location")
        return self._selection.renderer(self._letter, frame=frame, locations=locations)

    def write(self, output: Output, form: str = "") -> None:
        """Write the answer, and know what to do about idioms that were not repaired."""
        self._write(output, form)
        if self._possible:
            self.hints.append(hint_of(list(self._possible.values())))

    def _write(self, output: Output, form: str) -> None:
        Document.write(self, output, form)


class Answers(_FramesDocument):
    """What expressions are, each in lanes of one wave or of several."""

    def __init__(self, selection: Selection, arguments: Arguments) -> None:
        _FramesDocument.__init__(self, selection, arguments)
        self._texts = [text.strip() for text in arguments.operands or (arguments.needed(),)]
        self._lanes = self._asked_lanes("active")
        self._needs_machine = False
        self._letter = arguments.letter
        self._check_forms()
        Document.__init__(
            self, {"answers": self._documents(by_lane=False)}, self._lines, rows=lambda: self._documents(by_lane=True)
        )

    def _check_forms(self) -> None:
        """Refuse what would not be shown: one form alone, and columns have no place for more than values."""
        arguments = self._arguments
        forms = [f"--{arguments.form}"] if arguments.form else []
        forms += [f"--{name}" for name in ("csv", "npz") if arguments.has(name)]
        if len(forms) > 1:
            raise UsageError(f"{forms[1]} does not go with {forms[0]}", hint="choose one form")
        for name in ("trace", "location"):
            if arguments.has(name) and forms and forms[0] in ("--csv", "--npz"):
                raise UsageError(f"{forms[0]} has no column for --{name}", hint="text and --json show it")

    def _write(self, output: Output, form: str) -> None:
        """Write the answers as text, JSON, columns of text or arrays."""
        if self._arguments.has("npz"):
            self._save(output)
        elif self._arguments.has("csv"):
            self._write_columns(output)
        else:
            Document.write(self, output, form)
        if self._needs_machine and not self._selection.has_focus:
            self.hints.append(NEEDS_MACHINE)

    # --- Asking -----------------------------------------------------------------------------------------------------

    def _asked(self) -> Iterator[_Answered]:
        attached = self._attached
        is_at_once = self._arguments.get("wave") == "all" and not self._assigns()
        if attached is not None and attached.has_waves and is_at_once:
            yield from self._of_all_waves(attached)
            return
        for wave, frame in self._frames():
            yield from self._of_frame(wave, frame)

    def _assigns(self) -> bool:
        """Return whether one of the expressions assigns something."""
        from dwarfgpu.program.language.tokens import is_assignment

        return any(map(is_assignment, self._texts))

    def _of_frame(self, wave: str | None, frame: Frame) -> Iterator[_Answered]:
        """Ask all expressions in a frame. What is wrong with one of several is its own error; the others go on."""
        arguments, has_machine = self._arguments, self._attached is not None
        is_array = arguments.has("npz")
        self.problems += mask_problems(frame)
        for index, text in enumerate(self._texts):
            try:
                quantity = frame[text]
            except DwarfGpuError as error:
                if len(self._texts) == 1 or is_array:
                    raise
                self.status = NO_ANSWER
                yield _Answered(wave, frame, index, None, _refused(frame, text, self._lanes, error))
                continue
            if arguments.has("location") and not has_machine and isinstance(quantity, Variable):
                self._note(*quantity.locations())
                yield _Answered(wave, frame, index, quantity, None)
                continue
            with traced(frame) if arguments.has("trace") else nullcontext() as tracer:
                try:
                    values = quantity.values(self._lanes) if is_array else answer(quantity, text, self._lanes)
                    self._note(values)
                except DwarfGpuError as error:
                    if len(self._texts) == 1 or is_array:
                        raise
                    values = _refused(frame, text, self._lanes, error)
            if values.has_failed if is_array else values.lacks_objects:
                self.status = NO_ANSWER
                self._needs_machine |= not (has_machine or is_array) and any(
                    answered.reason is not None and answered.reason.kind == "missing_context"
                    for answered in values.by_lane
                )
            yield _Answered(wave, frame, index, quantity, values, tracer)

    def _of_all_waves(self, attached: Attached) -> Iterator[_Answered]:
        """Ask all expressions of all waves; what is at one place is shown when it is known."""
        from dwarfgpu.program.frames.all_waves import by_place

        frame = self._arguments.get("frame") or 0
        lanes = None if self._lanes == "active" else self._lanes
        shown = progress.begin("waves", len(attached) * len(self._texts))
        try:
            for index, values in by_place(attached, self._texts, lanes=lanes, frame=frame):
                shown.advance(len(values.names))
                self.problems += values.problems
                if values.problems or values.has_failed:
                    self.status = NO_ANSWER
                trace = self._trace_of_first(attached, values)
                self._note(values)
                yield _Answered(None, values.frame, index, None, values, trace)
        finally:
            shown.end()

    def _trace_of_first(self, attached: Attached, values: Values) -> Tracer | None:
        """Return how an expression is evaluated in the first of some waves; the others differ in data alone."""
        if values.frame is None or not self._arguments.has("trace"):
            return None
        wave = attached[int(values.waves[0])]
        frame = wave.frame(values.frame.number)
        with traced(frame) as tracer:
            answer(frame[values.text], values.text, self._lanes)
        wave.forget()
        return tracer

    # --- Showing ----------------------------------------------------------------------------------------------------

    def _documents(self, *, by_lane: bool) -> Iterator[Json]:
        """Yield a document for each expression in each wave, or in each lane; the trace is in the first."""
        for answered in self._asked():
            values, frame = answered.values, answered.frame
            if values is None:
                variable: Any = answered.quantity
                yield self._renderer(frame).described_json(variable, _places(variable, self._arguments))
                continue
            head: Json = {} if answered.wave is None else {"wave": answered.wave}
            trace = {} if answered.tracer is None else {"trace": answered.tracer.documents()}
            writer = self._renderer(frame)
            if not values.by_wave and frame is not None and frame.place is not None:
                head["frame"] = frame.number
            for document in (writer.lane_documents if by_lane else writer.documents)(values):
                yield {**head, **document, **trace}
                trace = {}

    def _lines(self, output: Output) -> Iterator[str]:
        """Yield traces and answers, below the name of their wave or the place of their waves."""
        last: Any = None
        notes, others = RepairNotes(), 0
        for answered in self._asked():
            values, tracer = answered.values, answered.tracer
            if values is None:
                variable: Any = answered.quantity
                places = _places(variable, self._arguments)
                others += len(variable.locations()) - len(places)
                yield from self._renderer(answered.frame).described(variable, places=places)
                continue
            notes.noted(values)
            if not values.by_wave:
                is_headed = answered.wave is not None and self._is_elsewhere
                if is_headed and answered.wave != last:
                    last = answered.wave
                    yield output.style("kind", f"wave {last}")
                if tracer is not None:
                    yield from tracer.lines(output.width)
                yield from self._renderer(answered.frame).text(values, 2 if is_headed else 0)
            else:
                place = values.names, values.pc, None if values.frame is None else values.frame.number
                if place != last:
                    last = place
                    yield from heading(values)
                if tracer is not None:
                    for line in (f"the trace of wave {values.names[0]}:", *tracer.lines(output.width - 2)):
                        yield f"  {line}"
                yield from lines_of_waves(self._renderer(answered.frame), values)
        yield from _footnotes(self._selection, output, notes, others)

    def _write_columns(self, output: Output) -> None:
        """Write a line of separated values for each lane."""
        import csv

        has_wave = self._arguments.has("wave")
        writer = csv.writer(output, lineterminator="\n")
        writer.writerow([*(["wave", "frame"] if has_wave else []), "expression", "lane", "state", "value"])
        for answered in self._asked():
            values, frame = answered.values, answered.frame
            assert values is not None  # noqa: S101 (locations are not shown as columns)
            before = []
            if has_wave and not values.by_wave:
                before = [answered.wave or "", 0 if frame is None else frame.number]
            writer.writerows((*before, *row) for row in self._renderer(frame).rows(values))

    def _save(self, output: Output) -> None:
        """Write arrays: for each expression its values, states and lanes, and of all waves those of each place."""
        path: Any = self._arguments.get("npz")
        if path == "-":
            path = output.binary
            if path is None:
                hint = "name a file, or redirect the output"
                raise UsageError("a numpy archive is not written to a terminal", hint=hint)
        columns: Json = {"expressions": self._texts}
        places = [0] * len(self._texts)
        for answered in self._asked():
            values, index = answered.values, answered.number
            assert values is not None  # noqa: S101 (locations are not saved)
            if not values.by_wave:
                key = f"{'' if answered.wave is None else f'{answered.wave}/'}{index}"
                states: Any = values.states
            else:
                key, states = f"{index}.{places[index]}", values.codes
                places[index] += 1
                columns[f"{key}.wave"] = list(values.names)
                columns[f"{key}.pc"] = -1 if values.pc is None else values.pc
            columns[f"{key}.value"] = values.elements
            columns[f"{key}.state"] = states
            columns[f"{key}.lane"] = [-1 if lane is None else lane for lane in values.lanes]
        save(path, columns)


@contextmanager
def traced(frame: Frame) -> Iterator[Tracer]:
    """Record what questions about a frame evaluate meanwhile."""
    from dwarfgpu.render.trace import Tracer

    tracer = Tracer(frame.target, sections=True)
    frame.follow(tracer.record)
    try:
        yield tracer
    finally:
        frame.follow(None)


def print_value(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.program.frames.history import Remembered

    letter = arguments.letter
    if selection.attached is None and selection.ask_host is not None and selection.host_calls():
        said = selection.ask_host(f"print{f'/{letter}' if letter else ''} {arguments.text}")
        return Document({"answer": said}, said.splitlines())
    history = selection.state_of(Remembered)
    lanes = selection.lanes_of(arguments)
    in_each = names_lanes(arguments)
    text = arguments.text or "$"
    if text == "$" and not in_each and None not in (last := history.last().lanes):
        lanes, in_each = [lane for lane in last if lane is not None], True
    values = answer(selection.frame[text], text, lanes)
    writer = selection.renderer(letter)
    if not values.lanes:
        raise UsageError("no lane is active", kind="no_lane")
    first = values.by_lane[0]
    kind = None if values.type is None else resolved(values.type)
    is_repeated = "@" in text and isinstance(kind, Array) and isinstance(resolved(kind.element), Pointer)
    hints = [f"these are pointers; `*{text}` has what the first of them points to"] if is_repeated else []
    hints += [hint_of(values.possible_repairs)] if values.possible_repairs else []
    lines: Iterable[str]
    if in_each and any(answered.value is not None for answered in values.by_lane):
        number = history.add(_kept(values, in_each_lane=True))
        lines = value_in_lanes(writer, values, f"${number} = ")
    elif in_each or first.value is None:
        assert first.reason is not None  # noqa: S101 (it has no value)
        if first.state == "error":  # else there is no value because of what the program is like
            is_memory = first.reason.kind == "memory_unavailable"
            error = first.reason.error if is_memory and first.reason.error is not None else None
            failure = error or Unavailable(first.reason)
            failure.hint = "; ".join(hints) or failure.hint
            raise failure.with_traceback(None)
        selection.lacking[values.text] = first.reason
        lines = without_value(selection, values.text, f"{why_none(first)}{_note_text(first)}")
    else:
        number = history.add(_kept(values, in_each_lane=False))
        note = style("dim", _note_text(first)) if _note_text(first) else ""
        lines = [f"${number} = {writer.cell(first)}{note}"]
        hints += _hint_of_bytes(selection, text, kind, letter)
    document = expression_document(selection, writer, values, [*lines, *writer.unrepaired(values)])
    document.hints += hints
    return document


def _hint_of_bytes(selection: Selection, text: str, kind: Type | None, letter: str | None) -> Iterator[str]:
    """Yield, once, how to see the numbers of bytes, which are data in most kernels and are shown as characters."""
    repeats = "@16" if isinstance(kind, Pointer) else ""
    element = kind.target if isinstance(kind, Pointer) else None
    if isinstance(kind, Array) and not kind.is_vector:
        element = kind.element
    unit = None if element is None or letter or not selection.frame.has_lanes else resolved(element)
    if isinstance(unit, Base) and unit.encoding == DW_ATE_unsigned_char and "bytes" not in selection.told:
        selection.told.add("bytes")
        yield f"`print/u {'*' if repeats else ''}{text}{repeats}` shows the numbers"


def expression_document(
    selection: Selection,
    writer: VariablesRenderer,
    values: Values,
    text: Callable[[Output], Iterable[str]] | Iterable[str],
) -> Document:
    """Return the document of an expression in the selected frame, which has the same data as that of ``eval``."""
    head: dict[str, Any] = {}
    if selection.attached is not None and len(selection.attached) > 1:
        head["wave"] = selection.wave.id
    if selection.frame.place is not None:
        head["frame"] = selection.frame.number
    return Document(
        {"answers": ({**head, **document} for document in writer.documents(values))},
        text,
        rows=lambda: ({**head, **document} for document in writer.lane_documents(values)),
    )


def _kept(values: Values, *, in_each_lane: bool) -> Kept:
    """Return an answer as a value to keep."""
    from dwarfgpu.program.frames.history import kept

    return kept(
        (
            answered.lane if in_each_lane else None,
            answered.value,
            "there was no value" if answered.reason is None else answered.reason.message,
        )
        for answered in values.by_lane
    )


def _note_text(answered: LaneAnswer) -> str:
    """Return the note that a lane does not execute the code."""
    return "" if answered.is_active else f"  (lane {answered.lane} is inactive)"


def show_locals(selection: Selection, arguments: Arguments) -> Document:
    return _Variables(selection, arguments)


class _Variables(_FramesDocument):
    """The variables of frames."""

    def __init__(self, selection: Selection, arguments: Arguments) -> None:
        _FramesDocument.__init__(self, selection, arguments)
        if self._attached is None and not arguments.has("pc"):
            hint = "`target snapshot S` attaches a snapshot; `info scope FUNCTION` needs no state"
            if not selection.has_focus:
                hint = "give --state, or --pc for locations alone"
            raise UsageError("No frame selected.", kind="no_frame", hint=hint)
        command = arguments.command.name
        self._noun = {"info locals": "locals", "info args": "arguments"}.get(command, "variables")
        self._pattern, self._types = arguments.pattern(), arguments.pattern("t")
        self._letter = arguments.letter
        self._lanes = self._asked_lanes()
        self._notes = RepairNotes()
        self._others = 0
        Document.__init__(self, {"frames": self._documents()}, self._lines, rows="frames")

    def _variables(self, frame: Frame) -> list[Variable]:
        """Return the variables of a frame that are meant."""
        self.problems += mask_problems(frame)
        if frame.function is None and self._selection.has_focus:
            from dwarfgpu.program.frames.evaluator import hint_without_variables

            hint = hint_without_variables(frame)
            raise UsageError("No symbol table info available.", kind="no_dwarf", hint=hint)
        known = [*frame.variables()]
        for place, _positions in frame.by_place(frame.lane_numbers(self._lanes)):
            if place is not frame and not isinstance(place, DwarfGpuError):  # what only lanes elsewhere have
                dies = {variable.die for variable in known}
                known += (variable for variable in place.variables() if variable.die not in dies)
        known += frame.statics() if self._arguments.has("statics") else ()
        return [
            variable
            for variable in known
            if self._noun in ("variables", "arguments" if variable.kind == PARAMETER else "locals")
            and self._pattern.search(variable.name)
            and (not self._types.pattern or self._types.search(safe_text(variable.type)))
        ]

    def _documents(self) -> Iterator[Json]:
        for wave, frame in self._frames():
            writer = self._renderer(frame)
            entries = []
            for variable in self._variables(frame):
                if self._attached is None:
                    self._note(*variable.locations())
                    entries.append(writer.described_json(variable, _places(variable, self._arguments)))
                    continue
                entries.append(variable_document(writer, variable, self._lanes))
                self._note(variable)
            yield {**({} if wave is None else {"wave": wave}), "frame": frame_json(frame), "variables": entries}

    def _lines(self, output: Output) -> Iterator[str]:
        is_headed = self._is_elsewhere
        for number, (wave, frame) in enumerate(self._frames()):
            variables = self._variables(frame)
            if is_headed:
                if number:
                    yield ""
                if wave is not None:
                    yield output.style("kind", f"wave {wave}")
                yield frame_text(frame)
            if not variables and not self._arguments.has("q"):
                is_choice = self._pattern.pattern or self._arguments.has("t")
                yield f"No {f'matching {self._noun}' if is_choice else self._noun}."
            for variable in variables:
                first, *rest = self._of_variable(frame, variable, 2 if is_headed else 0)
                is_noted = variable.is_shadowed and is_headed
                yield first + (output.style("dim", "  (shadowed)") if is_noted else "")
                yield from rest
        yield from _footnotes(self._selection, output, self._notes, self._others)

    def _of_variable(self, frame: Frame, variable: Variable, indent: int) -> list[str]:
        writer = self._renderer(frame)
        if self._attached is None:
            places = _places(variable, self._arguments)
            self._others += len(variable.locations()) - len(places)
            self._note(*variable.locations())
            return writer.described(variable, indent, places)
        has_focus = self._selection.has_focus and not self._selection.settings["verbose"]
        if has_focus and not names_lanes(self._arguments):
            self._notes.add(variable.name, variable.repairs)
            lines = variable_lines(self._selection, writer, variable, self._lanes, indent)
            self._note(variable)
            return lines
        values = _answered(variable, self._lanes)
        self._note(values)
        return writer.text(self._notes.noted(values), indent)


def _places(variable: Variable, arguments: Arguments) -> tuple[Described, ...]:
    """Return the locations of a variable to show without a state: those valid here, or with -all all."""
    return variable.locations() if arguments.has("all") else variable.locations_here()


def _footnotes(selection: Selection, output: Output, notes: RepairNotes, others: int) -> Iterator[str]:
    """Yield what is said once of all variables of an answer: repairs, and locations that are not shown."""
    if not selection.settings["verbose"]:  # else each answer has said it
        yield from notes.lines("`set verbose on`" if selection.has_focus else "-v")
    if others:
        yield output.style("dim", f"{counted(others, 'other location')} elsewhere; --all shows every location")


def variable_document(writer: VariablesRenderer, variable: Variable, lanes: Any) -> Json:
    """Return what a variable is in lanes."""
    head: Json = {"name": variable.name, "kind": variable.kind, "shadowed": variable.is_shadowed}
    return head | writer.document(_answered(variable, lanes))


def _answered(variable: Variable, lanes: Any) -> Values:
    """Return what a variable is in lanes. An error of its type is its own: the other variables have their values."""
    try:
        return answer(variable, variable.name, lanes)
    except DwarfGpuError as error:
        return _refused(variable.frame, variable.name, lanes, error)


def _refused(frame: Frame, text: str, lanes: Any, error: DwarfGpuError) -> Values:
    """Return what something is in lanes that cannot be evaluated: the error."""
    values = Values(frame.lane_numbers(lanes), frame, text=text, active=frame.active_mask)
    values.refuse(error)
    return values


def variable_lines(
    selection: Selection, writer: VariablesRenderer, variable: Variable, lanes: Any, indent: int = 0
) -> list[str]:
    """Return ``name = value`` for one lane, or why there is no value."""
    name = variable.name
    try:
        values = answer(variable, name, lanes)
        (answered,) = values.by_lane
    except DwarfGpuError as error:  # of its type
        return without_value(selection, name, f"<error: {error.message}>", indent)
    note = _note_text(answered) + kept_text(values)
    if answered.value is None:
        if answered.reason is not None:
            selection.lacking[name] = answered.reason
        return without_value(selection, name, f"{why_none(answered, writer.look)}{note}", indent)
    value_writer = ValueWriter(writer.look, is_cplus=speaks_cplus(answered.value.type))
    try:
        value = value_writer.text(answered.value, 0, is_top=True)  # a pointer does not say its type, which `print` says
    except DwarfGpuError as error:
        value = problem(error)
    text = f"{style('name', shown(name))} = {value}"
    return [f"{' ' * indent}{line}" for line in (text + (style("dim", note) if note else "")).split("\n")]


def why_none(answered: LaneAnswer, look: Look = PLAIN) -> str:
    """Return why a lane has no value: an error, or that it is optimized out or not in scope."""
    reason = answered.reason
    if reason is None:
        return f"{OPTIMIZED_OUT} ()"
    error = reason.error
    why = reason.message if error is None or error.kind != "memory_unavailable" else error.message  # in GDB's words
    note = launched_note(reason, look)
    if reason.placeholder == "<error>":
        return f"<error: {why}>{note}"
    return f"{reason.placeholder}{note}: {why}" if note else f"{reason.placeholder} ({why})"


def without_value(selection: Selection, text: str, why: str, indent: int = 0) -> list[str]:
    """Return the lines ``name = <optimized out> (why)``."""
    head = f"{' ' * indent}{shown(text)}"
    first, *rest = fitted(f"{head} = {why}", indent + 4)
    if first.startswith(head):
        start = " " * indent + style("name", shown(text))
        first = f"{start}{first[len(head) :][:3]}{style('error', first[len(head) + 3 :])}"
    return [first, *(style("error", line) for line in rest)]
