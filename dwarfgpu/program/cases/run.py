"""Cases in, answers out, both as JSON.

What is wrong with the *form* of a case is a `NotACase`. What is wrong with the expression that it holds, or what has no
answer in the context that it describes, is part of the answer.
"""

from __future__ import annotations

from typing import Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.json_node import NotACase, parse
from dwarfgpu.program.cases.answer import Answer, Outcome, ReadBits, answer_case
from dwarfgpu.program.cases.case import Case, Read, parse_case
from dwarfgpu.program.cases.json_answers import JsonWriter, error_json

__all__ = [
    "Answer",
    "Case",
    "NotACase",
    "Outcome",
    "Read",
    "ReadBits",
    "answer_case",
    "answer_json",
    "parse_case",
    "parse_line",
    "run_case",
]


def parse_line(line: str, number: int) -> object:
    """The JSON value in a line; `NotACase` where there is none."""
    try:
        return parse(line)
    except NotACase as error:
        raise error.in_line(number) from None


def run_case(value: object, line: int) -> dict[str, Any]:
    """The answer to one case. ``line`` is its number, which it has as ``id`` if it names none."""
    try:
        case = parse_case(value, line)
    except NotACase as error:
        raise error.in_line(line) from None
    return answer_json(answer_case(case))


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer to a case as a JSON object."""
    case = answer.case
    names: dict[str, Any] = {"dialect": case.dialect.name, "rules": case.rules.name}
    if case.wave is not None:
        names["wave"] = case.wave
        lane = case.context.lanes.lane
        if isinstance(lane, int) and answer.by_lane is None:
            names["lane"] = lane
    if answer.by_lane is not None:
        lanes = {str(lane): _outcome_json(outcome, case, {}) for lane, outcome in answer.by_lane.items()}
        return {"id": case.id, **names, "lanes": lanes}
    return {"id": case.id, **_outcome_json(answer.outcome or Outcome(), case, names)}


def _outcome_json(outcome: Outcome, case: Case, names: dict[str, Any]) -> dict[str, Any]:
    """What came out: ``status``, and the result or the error."""
    writer = JsonWriter(case.target.byte_order)
    try:
        if outcome.error is not None or outcome.result is None:
            raise outcome.error or AssertionError(outcome)
        found: dict[str, Any] = {"status": "ok", **names, "result": writer.entry(outcome.result)}
        if case.stack:
            found["stack"] = [writer.entry(entry) for entry in outcome.stack]
        if outcome.reading is not None:
            found["read"] = writer.reading(outcome.reading)
    except DwarfGpuError as error:  # also a result that cannot be written down
        slot: dict[str, Any] = {key: names[key] for key in ("wave", "lane") if key in names}
        return {"status": "error", **slot, "error": error_json(error)}
    return found
