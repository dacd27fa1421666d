"""Cases from the command line: options and a state file become the object of a case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.errors import MalformedFile, MissingContext, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import LoneFrame, known_register
from dwarfgpu.expr.storages import Register
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.frames.selectors import wave_of
from dwarfgpu.strict_json import NotACase

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cases.case import Case
    from dwarfgpu.expr.context import UnitInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.machines.machine import Machine


def open_state(path: str, read: Callable[[str], str], *, force: bool = False) -> dict[str, Any] | Machine:
    """Return the state in a file: a snapshot, waves of a GPU core file, or the context of a case.

    ``force`` accepts code objects that have changed since a snapshot was made.
    """
    from dwarfgpu.machines.snapshot import Snapshot, load_document
    from dwarfgpu.states.opening import begins_json, find_named_pcs, is_elf, names_its_code, open_with_its_code

    if (is_elf(path) or not begins_json(path)) and names_its_code([path]):
        machine: Any = open_with_its_code([path]).machine
        return machine  # type: ignore[no-any-return]
    document = load_document(path, read, force=force)
    if not isinstance(document, Snapshot):
        return _state(document, path)
    find_named_pcs(document)
    return document


def _state(state: object, name: str) -> dict[str, Any]:
    """Return the state in a JSON value: a case without an expression, or only its context."""
    from dwarfgpu.cases.case import KEYS as CASE_KEYS
    from dwarfgpu.cases.context import KEYS as CONTEXT_KEYS

    if not isinstance(state, dict):
        raise _bad_state(name, "a state is a JSON object")
    if state and all(key in CONTEXT_KEYS for key in state):
        return {"context": state}
    unknown = [key for key in state if key not in CASE_KEYS or key in ("expr", "ops")]
    if unknown:
        hint = "a state is a snapshot, the `context` of a case, or a case without its expression"
        raise _bad_state(name, f"the key {unknown[0]!r} has no place in a state", hint)
    return state


def ask(question: dict[str, Any], state: dict[str, Any] | None = None, state_name: str = "") -> Case:
    """Return the case of a question; errors in the state file name the file."""
    from dwarfgpu.cases.case import parse_case

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


def ask_machine(question: dict[str, Any], machine: Machine, wave: str | None) -> Case:
    """Return the case of a question about a wave, given by its id or index; None is for the only wave there is."""
    index = wave_of(machine, wave)
    if "target" in question:
        raise UsageError("the target is that of the snapshot", hint="leave out --target")
    asked = {**question, "target": machine.target_name}
    if machine.target.name == "generic":  # its name does not say how it stores and counts
        asked.update(byte_order=machine.target.byte_order, address_size=machine.target.address_size)
    case = ask(asked)
    lanes = case.context.lanes
    highest = max(case.lanes or (lanes.lane or 0,)) if isinstance(lanes.lane, int) or case.lanes else 0
    if highest >= machine.target.lane_count:
        raise UsageError(f"a wave of {machine.target.name} has {machine.target.lane_count} lanes, no lane {highest}")
    context = evolve(
        case.context,
        target=machine.target,
        backend=machine,
        frame=TopFrame(machine),
        lanes=LaneSet(lanes.count, index, lanes.lane),
        pc=machine.program_counter(index),
    )
    return evolve(case, context=context, wave=machine.ids[index])


def _is_about(message: str, question: dict[str, Any]) -> bool:
    """Whether an error names a key that was asked, not one of the state file."""
    named = re.findall(r"`?([a-z_]+)`?", message)
    return any(key in named for key in question if key != "context")


def type_of(text: str) -> dict[str, Any] | None:
    """Return the type with a name such as ``signed32``, ``float64`` or ``unsigned8x4``."""
    match = re.fullmatch(r"([A-Za-z_]+?)_?(\d{1,9})?(?:x(\d{1,9}))?", text)
    if match is None:
        return None
    name, bits, count = match.groups()
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


# --- The innermost frame of the waves of a machine ----------------------------------------------------------------


class TopFrame(LoneFrame):
    """A frame of which nothing but its registers is known."""

    __slots__ = ("machine",)
    hint = "a snapshot by itself has registers and memory, but no call frames"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = known_register(self.machine.target, self.machine.register(number), number)
        if lanes.wave is None:
            message = f"register {register.name} belongs to a wave, and there is no current thread"
            raise MissingContext("thread", message)
        return locations.at(Register(register, lanes.wave))

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        raise MissingContext("thread", "a wave has no thread-local storage")
