"""From what somebody asks on a command line to a case: options and a state file become the object of a case."""

from __future__ import annotations

import re
from typing import Any

from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.json_node import NotACase
from dwarfgpu.program.case import KEYS as CASE_KEYS
from dwarfgpu.program.case import Case, parse_case
from dwarfgpu.program.case_context import KEYS as CONTEXT_KEYS


def read_state(text: str, name: str) -> dict[str, Any]:
    """The state that a file describes: a case without an expression, or only its context."""
    import json

    from dwarfgpu.json_node import unique_object

    try:
        state = json.loads(text, object_pairs_hook=unique_object, parse_constant=_no_constant)
    except NotACase as error:
        raise _bad_state(name, error.message) from None
    except (ValueError, RecursionError) as error:
        raise _bad_state(name, f"it is not JSON: {error}") from None
    if not isinstance(state, dict):
        raise _bad_state(name, "a state is a JSON object")
    if state and all(key in CONTEXT_KEYS for key in state):
        return {"context": state}
    unknown = [key for key in state if key not in CASE_KEYS or key in ("expr", "ops")]
    if unknown:
        hint = "a state is the `context` of a case, or a case without its expression"
        raise _bad_state(name, f"the key {unknown[0]!r} has no place in a state", hint)
    return state


def _no_constant(word: str) -> None:
    message = f"{word} is not JSON"
    raise ValueError(message)


def ask(question: dict[str, Any], state: dict[str, Any] | None = None, state_name: str = "") -> Case:
    """The case of a question; what is wrong in the state file is said of the file."""
    combined = {**(state or {}), **question}
    if state and "context" in state and "context" in question:
        context = state["context"]
        if not isinstance(context, dict):
            raise _bad_state(state_name, "`context` must be an object")
        combined["context"] = {**context, **question["context"]}
    try:
        return parse_case(combined, 1)
    except NotACase as error:
        if state is not None and not _is_about(error.message, question):
            raise _bad_state(state_name, error.message, error.hint) from None
        raise UsageError(error.message, hint=error.hint) from None


def _is_about(message: str, question: dict[str, Any]) -> bool:
    """Whether an error names a key that was asked, not one of the state file."""
    named = re.findall(r"`?([a-z_]+)`?", message)
    return any(key in named for key in question if key != "context")


def lanes_of(text: str) -> list[int] | str:
    """The lanes that a list such as ``0,3,8-11`` names, or ``all``."""
    if text == "all":
        return text
    lanes: dict[int, None] = {}
    for item in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", item)
        if found is None:
            message = f"{text!r} does not name lanes"
            raise UsageError(message, hint="give a number, a list such as 0,3,8-11, or all")
        first = int(found[1])
        last = int(found[2] or first)
        if last < first or last >= 1 << 16:
            message = f"{item.strip()!r} is not a range of lanes"
            raise UsageError(message, hint="lanes count up from 0")
        lanes.update(dict.fromkeys(range(first, last + 1)))
    return list(lanes)


def type_of(text: str) -> dict[str, Any] | None:
    """The type that a name such as ``signed32``, ``float64`` or ``unsigned8x4`` stands for."""
    found = re.fullmatch(r"([A-Za-z_]+?)_?(\d{1,9})?(?:x(\d{1,9}))?", text)
    if found is None:
        return None
    name, bits, count = found.groups()
    if name == "bfloat" and bits == "16":
        name, bits = "bfloat16", "16"
    if bits is None:
        return None
    described: dict[str, Any] = {"encoding": name, "byte_size": -(-int(bits) // 8), "bit_size": int(bits)}
    if count is not None:
        described["vector_size"] = int(count)
    return described


def _bad_state(name: str, what: str, hint: str | None = None) -> MalformedFile:
    return MalformedFile("bad_state", f"{name}: {what}", hint=hint)
