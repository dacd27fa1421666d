"""One question about one input: how it is asked, and the rows of its answer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError, nearest_hint
from dwarfgpu.fleet.remote_files import with_urls
from dwarfgpu.immutable import frozen
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.registry import Argument, Arguments, Command
from dwarfgpu.questions.selection import Selection, open_file, select
from dwarfgpu.questions.sources import sources_of
from dwarfgpu.questions.table import AT_SHELL
from dwarfgpu.regular_files import check_mappings, forget_changed_mappings, open_input, read_input
from dwarfgpu.states.program import is_state

if TYPE_CHECKING:
    from dwarfgpu.fleet.inputs import Input
    from dwarfgpu.program.code.code_object import CodeObject

    Row = dict[str, Any]

COLUMNS = {
    "input": "text",
    "wave": "text",
    "waves": "int64",
    "frame": "int64",
    "function": "text",
    "source": "text",
    "stack": "text",
    "lanes": "uint64",
    "lane_count": "int64",
    "variable": "text",
    "type": "text",
    "value": "text",
    "number": "float64",
    "state": "text",
    "error_class": "text",
    "error_kind": "text",
    "message": "text",
    "rule": "text",
    "severity": "text",
    "answer": "text",
}
"""The columns of the rows that answers become, with the kind of what is in each. What a row does not say is null."""
ANSWERED, FAILED, SET_ASIDE = "answered", "failed", "set aside"
"""What became of an input."""
KEPT_FILES = 4
"""How many files of code stay open, because states that follow each other mostly have the same."""
MAX_TEXT = 1 << 16
"""A longer text is cut in a row."""
WITH_FILES = {"memmodel": ("check", "show")}
"""Questions whose files are operands, with those of their first words that are about files."""


# --- Which questions there are ----------------------------------------------------------------------------------------


def questions() -> dict[str, Command]:
    """Return the questions that can be asked of many inputs, by their names at the shell: about a file or a state."""
    return {
        name: row
        for name, row in AT_SHELL.items()
        if row.is_question and (name in WITH_FILES or not _inputs(row).keys().isdisjoint(("file", "state")))
    }


def _inputs(row: Command) -> dict[str, Argument]:
    return {} if row.shell is None else {each.name: each for each in (*row.shell.selects, *row.shell.options)}


def question_named(name: str) -> Command:
    """Return the row of the table that a name means."""
    known = questions()
    if name not in known:
        hint = nearest_hint(name, known, f"the questions are {', '.join(known)}")
        raise UsageError(f"{name!r} is not a question about a file", hint=hint)
    return known[name]


@frozen
class Question:
    """A question with its arguments, as it is asked of each input; workers get it as it is."""

    name: str
    """Its name at the shell: a key of `questions`."""
    words: tuple[str, ...] = ()
    """Its operands: expressions, a name."""
    options: tuple[tuple[str, Any], ...] = ()
    """The options that were given, by name; those without an argument have an empty text."""
    selects: tuple[tuple[str, Any], ...] = ()
    """What selects a wave or a frame, and says how files are read; not the files."""
    settings: tuple[tuple[str, str], ...] = ()
    format: str = ""
    budget: int = budget.DEFAULT

    @property
    def text(self) -> str:
        """The question as a command line has it, without its files."""
        parts = [self.name, *self.words]
        for name, value in (*self.options, *self.selects, *self.settings, ("format", self.format)):
            if value is True or (value == "" and name != "format"):
                parts.append(f"--{name}")
            elif value not in (None, False, ""):
                parts += [f"--{name}", str(value)]
        return " ".join(parts)

    @property
    def takes_state(self) -> bool:
        """Whether it may be about a state."""
        return "state" in _inputs(question_named(self.name))

    @property
    def takes_many(self) -> bool:
        """Whether it takes several files, so that it looks into containers by itself."""
        file = _inputs(question_named(self.name)).get("file")
        return self.name not in WITH_FILES and file is not None and file.is_many


def check_words(name: str, words: Sequence[str]) -> None:
    """Raise an error if the operands of a question have a file, or are about none."""
    actions = WITH_FILES.get(name)
    if actions is None:
        return
    if not words or words[0] not in actions:
        message = f"`{' '.join((name, *words))[:60]}` is not a question about a file"
        raise UsageError(message, hint=f"the questions are {' and '.join(f'{name} {action}' for action in actions)}")
    if len(words) > 1:
        raise names_file(" ".join((name, *words)))


def names_file(question: str) -> UsageError:
    """Return the error of a question that names a file by itself."""
    hint = "inputs follow the question; --code names the code of all of them"
    return UsageError(f"the question {question[:60]!r} names a file", hint=hint)


def make_question(name: str, *words: str, **options: Any) -> Question:
    """Return a question with its operands and options: ``make_question("eval", "x", lane="all")``."""
    name, *first = name.split() or [""]
    words = (*first, *words)
    row = question_named(name)
    check_words(name, words)
    selecting = {each.name: each for each in row.at_shell.selects if each.name not in ("file", "state")}
    others = {each.name: each for each in row.shell_options}
    selects: list[tuple[str, Any]] = []
    chosen: list[tuple[str, Any]] = []
    settings: list[tuple[str, str]] = []
    format_ = str(options.pop("format", "") or "")
    for given, value in options.items():
        option = given.replace("_", "-")
        argument = selecting.get(option) or others.get(option)
        if argument is None:
            raise UsageError(f"`{name}` has no option {option}", hint=nearest_hint(option, (*selecting, *others)))
        if value is None or value is False:
            continue
        checked = _checked(argument, value)
        if option in selecting:
            selects.append((option, checked))
        elif argument.setting is not None:
            settings.append((argument.setting.name, "on" if value is True else str(value)))
        else:
            chosen.append((option, checked))
    return Question(name, words, tuple(chosen), tuple(selects), tuple(settings), format_)


def _checked(argument: Argument, value: Any) -> Any:
    """Return the value of an option, read as the command line reads it."""
    if argument.metavar is None:
        return True
    if argument.is_many:
        values = value if isinstance(value, (list, tuple)) else [value]
        return tuple(argument.value(str(item)) for item in values)
    return "" if value is True and argument.is_bare else argument.value(str(value))


# --- Asking -----------------------------------------------------------------------------------------------------------


def rows_of(question: Question, item: Input) -> Iterator[Row]:
    """Yield at least one row for an input; what is wrong with it is a row whose state is ``error``."""
    count = 0
    try:
        for row in _answered(question, item):
            count += 1
            yield with_urls(row)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with one input, the others are answered)
        yield with_urls(error_row(error))
        return
    if not count:
        yield {"state": "empty"}


def error_row(error: BaseException) -> Row:
    """Return the row that says why an input has no answer, or no more of it."""
    row = {"state": "error", "message": str(error)[:MAX_TEXT]}
    if isinstance(error, DwarfGpuError):
        return {**row, "error_class": error.error_class, "error_kind": error.kind}
    if isinstance(error, MemoryError):
        return {**row, "error_class": "usage", "error_kind": "no_memory", "message": "there is not enough memory"}
    if isinstance(error, RecursionError):
        return {**row, "error_class": "usage", "error_kind": "too_deep", "message": "it is nested too deep"}
    if isinstance(error, OSError):
        return {**row, "error_class": "malformed", "error_kind": "unreadable"}
    return {**row, "error_class": "defect", "error_kind": type(error).__name__}


def _answered(question: Question, item: Input) -> Iterator[Row]:
    if item.problem is not None:
        raise item.problem
    row = question_named(question.name)
    selection = Selection(Output(lambda _text: None))
    forget_changed_mappings()
    with budget.question(question.budget) as cost:
        selects = dict(question.selects)
        code, state = _code_and_state(question, item)
        words = question.words
        if question.name in WITH_FILES:
            words = (*words, *([code] if code is not None else ()))
        elif question.takes_many and code is not None and state is None:
            select(selection, {**selects, "file": (code,)})
        else:
            select(selection, {**selects, "file": code, "state": state}, opening=_opened)
        if code is None and state is None:
            raise UsageError("the input names no file")
        sources = sources_of(selection)
        states = (state,) if isinstance(state, str) else state or ()
        sources.reader = sources.reader.for_page(*states, *(() if code is None else (code,)))
        arguments = Arguments(
            row, question.format, dict(question.options), " ".join(words), dict(question.settings), "jsonl", words
        )
        with selection.settings.lent(dict(question.settings)):
            document = row.load()(selection, arguments)
            assert document is not None  # noqa: S101 (it is a question)
            said: set[tuple[Any, Any]] = set()
            for answer in flat(document.rows()):
                if answer.get("state") == "error":
                    said.add((answer.get("error_kind"), answer.get("message")))
                yield answer
        check_mappings()
        for error in (*document.problems, *selection.problems):  # those that are not in a row yet, one of each kind
            key = error.kind, error.message
            if key not in said:
                said.add(key)
                yield {**error_row(error), "state": "problem"}
    if cost.is_spent:
        yield {"state": "error", "error_class": "usage", "error_kind": "budget", "message": cost.message}


def _code_and_state(question: Question, item: Input) -> tuple[str | None, str | tuple[str, ...] | None]:
    """Return the file of code and the state of an input; a word alone is one of both, as its content says."""
    if item.states:
        state = item.states[0] if len(item.states) == 1 else item.states
        return item.code or _named_code(item.states), state
    code = item.code
    if code is None or not question.takes_state or not is_state(code):
        return code, None
    return _named_code((code,)), code


def _named_code(states: tuple[str, ...]) -> str | None:
    """Return the file of code that a snapshot names first; None where the state leads to its code by itself."""
    from dwarfgpu.states.opening import begins_json, is_elf, names_its_code

    if (is_elf(states[0]) or not begins_json(states[0])) and names_its_code(states):
        return None
    path = states[0]
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    manifest = os.path.join(path, "manifest.json") if folder == path else path
    try:
        objects = json.loads(read_input(manifest))["code_objects"]
        name = objects[0]["path"]
    except (ValueError, LookupError, TypeError, RecursionError):
        hint = "write it as a line `CODE,STATE` of a list, or name the code with --code"
        raise MalformedFile("no_code", f"{path}: the snapshot names no code object", hint=hint) from None
    if not isinstance(name, str):
        raise MalformedFile("bad_snapshot", f"{path}: the path of a code object is not text")
    return os.path.normpath(os.path.join(folder, name))


def _opened(name: str, attributes: str | None) -> CodeObject:
    """Return the file of code with a name, which stays open for the states that follow."""
    path = name.partition("@")[0]
    try:
        with open_input(path) as file:
            state = os.fstat(file.fileno())
    except (DwarfGpuError, OSError):
        return open_file(name, attributes)
    return _kept(name, attributes, state.st_mtime_ns, state.st_size)


@lru_cache(KEPT_FILES)
def _kept(name: str, attributes: str | None, _time: int, _size: int) -> CodeObject:
    return open_file(name, attributes)


# --- From documents to rows -------------------------------------------------------------------------------------------


def flat(documents: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of the documents of ``--jsonl``: one for each answer and run of lanes with the same value."""
    for key, group in groupby(documents, _key_of_lane):
        if key is not None:
            first, *others = group
            row = {**_place(first), "variable": first["expression"], "type": _text(first.get("type"))}
            names = "state", "value", "reason"
            yield from _runs(
                row, ((each["lane"], {name: each.get(name) for name in names}) for each in (first, *others))
            )
            continue
        for document in group:
            if isinstance(document.get("variables"), list):
                place = _place(document)
                for variable in document["variables"]:
                    yield from _of_lanes({**place, "variable": variable.get("name")}, variable)
                if not document["variables"]:
                    yield {**place, "state": "empty", **({"answer": _json(document)} if "error" in document else {})}
            elif isinstance(document.get("frames"), list):
                yield from _of_frames(document)
            elif "expression" in document:
                yield from _of_lanes({**_place(document), "variable": document["expression"]}, document)
            elif "rule" in document:
                yield _of_finding(document)
            else:
                yield from _of_other(document)


def _key_of_lane(document: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what documents of single lanes are joined by; None for other documents."""
    if "expression" not in document or "lane" not in document:
        return None
    return tuple(document.get(name) for name in ("wave", "frame", "expression", "type"))


def _runs(row: Row, lanes: Iterable[tuple[Any, Mapping[str, Any]]]) -> Iterator[Row]:
    """Yield a row for each value that lanes have."""
    runs: dict[str, tuple[Mapping[str, Any], list[Any]]] = {}
    for lane, said in lanes:
        runs.setdefault(_json(said), (said, []))[1].append(lane)
    for said, those in runs.values():
        yield {**row, **_mask(those), **_value(said)}


def _place(document: Mapping[str, Any]) -> Row:
    """Return the columns that say where something is."""
    frame = document.get("frame")
    row: Row = {"wave": _text(document.get("wave")), "waves": 1 if document.get("wave") is not None else None}
    if isinstance(frame, dict):
        return {**row, "frame": frame.get("number"), "function": frame.get("function"), "source": _source(frame)}
    return {**row, "frame": frame, "function": _text(document.get("function"))}


def _source(place: Mapping[str, Any]) -> str | None:
    source = place.get("source")
    return f"{source.get('file')}:{source.get('line')}" if isinstance(source, dict) else None


def _mask(lanes: Iterable[Any]) -> Row:
    """Return the lanes as a mask; a thread has none."""
    numbers = [int(lane) for lane in lanes if lane is not None and str(lane).isdigit()]
    return {"lanes": sum({1 << number for number in numbers}) if numbers else None, "lane_count": len(numbers) or None}


def _of_mask(text: str) -> Row:
    """Return the lanes of a mask in hexadecimal."""
    lanes = int(text, 16) & (1 << 64) - 1
    return {"lanes": lanes, "lane_count": lanes.bit_count()}


def _value(said: Mapping[str, Any]) -> Row:
    """Return the columns of a value, or of the reason why there is none."""
    value = said.get("value")
    row: Row = {"state": _text(said.get("state"))}
    if value is not None:
        row["value"] = value[:MAX_TEXT] if isinstance(value, str) else _json(value)
        if isinstance(value, (bool, int, float)):
            with suppress(OverflowError):
                row["number"] = float(value)
    reason = said.get("reason") or said.get("error")
    if isinstance(reason, dict):
        error = reason.get("error")
        row["error_kind"] = _text(reason.get("kind"))
        row["error_class"] = _text((error if isinstance(error, dict) else reason).get("class"))
        row["message"] = _text(reason.get("message"))
    return row


def _of_lanes(row: Row, document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each value that lanes have; without lanes one for the value there is."""
    row = {**row, "type": _text(document.get("type"))}
    lanes = document.get("lanes")
    if not isinstance(lanes, dict):
        yield {**row, **_value(document), **({} if "value" in document else {"answer": _json(document)})}
        return
    yield from _runs(row, lanes.items())


def _of_frames(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each frame of each wave; that of the innermost frame has the whole stack."""
    frames = document["frames"]
    waves = document.get("waves") or document.get("threads") or [document.get("wave") or document.get("thread")]
    end = document.get("end")
    is_broken = isinstance(end, dict) and end.get("kind") not in (None, "outermost")
    names = [str(frame.get("function") or f"{frame.get('pc') or 0:#x}") for frame in frames]
    stack = " < ".join(names)
    for wave in waves:
        for index, frame in enumerate(frames):
            row: Row = {
                "wave": _text(wave),
                "waves": 1 if index == 0 else None,
                "frame": frame.get("number", index),
                "function": frame.get("function"),
                "source": _source(frame),
                "state": "frame",
            }
            lanes = frame.get("lanes")
            if isinstance(lanes, str):
                row |= _of_mask(lanes)
            if index == 0:
                row["stack"] = stack[:MAX_TEXT]
            yield row
        if is_broken or not frames:
            said = end if isinstance(end, dict) else {}
            yield {
                "wave": _text(wave),
                "waves": None if frames else 1,
                "stack": None if frames else "?",
                "state": "end",
                "error_kind": _text(said.get("kind")),
                "message": _text(said.get("message")),
            }


VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")


def _of_finding(document: Mapping[str, Any]) -> Row:
    """Return the row of a finding, whose path has entries with their tags, or the name of a function.

    The state of one that does not count, as a limit of the producer, is ``limit``.
    """
    state = "finding" if document.get("limit") is None else "limit"
    row: Row = {"source": _source(document), "rule": document["rule"], "state": state, "answer": _json(document)}
    for step in document.get("path") or ():
        tag, _, name = str(step).partition(" ")
        if tag == "DW_TAG_subprogram" or not tag.startswith("DW_TAG_"):
            row["function"] = _text(name or tag)
        elif tag in VARIABLES:
            row["variable"] = _text(name)
    return {**row, **{name: _text(document.get(name)) for name in ("severity", "message")}}


def _of_other(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of a document of no special shape: one for each wave if it is about several."""
    row: Row = {
        "frame": document.get("frame") if isinstance(document.get("frame"), int) else None,
        "function": _text(document.get("function")),
        "source": _source(document),
        "variable": _text(document.get("variable")),
        "state": _text(document.get("state")) or "answer",
        "message": _text(document.get("message")),
        "error_kind": _text(document.get("kind")) if "message" in document else None,
        "answer": _json({name: value for name, value in document.items() if name != "schema"}),
    }
    problem = document.get("problem")
    if isinstance(problem, dict):
        row |= {"state": "error", "error_class": problem.get("class"), "error_kind": problem.get("kind")}
        row["message"] = problem.get("message")
    active = document.get("active")
    if isinstance(active, str):
        row |= _of_mask(active)
    elif isinstance(document.get("lane"), int):
        row |= _mask([document["lane"]])
    total, located = document.get("bytes"), document.get("located")
    if isinstance(total, int) and isinstance(located, int) and total:
        row["variable"] = row["variable"] or row["function"]
        row["number"] = located / total
        row["value"] = f"{located}/{total}"
    waves = document.get("waves")
    if isinstance(waves, list) and "message" not in document:
        row["stack"] = f"{row['function'] or '?'} at {row['source']}" if row["source"] else row["function"] or "?"
        for wave in waves:
            yield {**row, "wave": _text(wave), "waves": 1}
        return
    yield {**row, "wave": _text(document.get("wave"))}


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else _json(value))[:MAX_TEXT]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)
