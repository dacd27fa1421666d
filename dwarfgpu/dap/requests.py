"""The requests of the Debug Adapter Protocol that are answered, and the reading of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.dap.session import DebugSession

    Json = dict[str, Any]
    Answer = Callable[[DebugSession, "RequestArguments"], Json | None]

T = TypeVar("T")

MAX_NUMBER = 1 << 53
"""The largest number that every client can write."""

NOW, STOPS, AFTER, STOPPED = "now", "stops", "after", "stopped"
"""What becomes of a request while the kernel runs: it is answered at once, it stops the kernel, it is answered at a
pause between instructions, or it is refused because the kernel must have stopped."""


@frozen
class Request:
    """A row of the table."""

    name: str
    run: str
    """The module and the function that answer it."""
    capability: str = ""
    """What tells clients that it is answered; empty for requests that each server answers."""
    running: str = STOPPED
    needs_machine: bool = True

    def load(self) -> Answer:
        """Return the function that answers; its module is imported only now."""
        module, _, name = self.run.partition(".")
        answer: Answer = getattr(import_module(f"dwarfgpu.dap.{module}"), name)
        return answer


# fmt: off
ROWS = (
    Request("initialize", "launching.initialize", running=NOW, needs_machine=False),
    Request("launch", "launching.launch", needs_machine=False),
    Request("attach", "launching.attach", needs_machine=False),
    Request("configurationDone", "launching.configured", "supportsConfigurationDoneRequest", needs_machine=False),
    Request("restart", "launching.restart", "supportsRestartRequest", running=STOPS),
    Request("terminate", "launching.terminate", "supportsTerminateRequest", running=STOPS, needs_machine=False),
    Request("disconnect", "launching.disconnect", running=STOPS, needs_machine=False),
    Request("cancel", "session.cancel", "supportsCancelRequest", running=NOW, needs_machine=False),
    Request("setBreakpoints", "breakpoints.of_source", running=AFTER, needs_machine=False),
    Request("setFunctionBreakpoints", "breakpoints.of_functions", "supportsFunctionBreakpoints", running=AFTER,
            needs_machine=False),
    Request("setInstructionBreakpoints", "breakpoints.of_instructions", "supportsInstructionBreakpoints",
            running=AFTER, needs_machine=False),
    Request("setExceptionBreakpoints", "breakpoints.of_exceptions", running=AFTER, needs_machine=False),
    Request("dataBreakpointInfo", "breakpoints.data_info", "supportsDataBreakpoints"),
    Request("setDataBreakpoints", "breakpoints.of_data", running=AFTER, needs_machine=False),
    Request("breakpointLocations", "breakpoints.locations", "supportsBreakpointLocationsRequest"),
    Request("exceptionInfo", "breakpoints.exception_info", "supportsExceptionInfoRequest"),
    Request("threads", "stack.threads", running=NOW, needs_machine=False),
    Request("stackTrace", "stack.stack_trace"),
    Request("scopes", "variables.scopes"),
    Request("variables", "variables.variables"),
    Request("setVariable", "variables.set_variable", "supportsSetVariable"),
    Request("setExpression", "variables.set_expression", "supportsSetExpression"),
    Request("evaluate", "variables.evaluate"),
    Request("completions", "variables.completions", "supportsCompletionsRequest"),
    Request("continue", "steps.go_on"),
    Request("next", "steps.step"),
    Request("stepIn", "steps.step"),
    Request("stepOut", "steps.step"),
    Request("stepBack", "steps.step", "supportsStepBack"),
    Request("reverseContinue", "steps.reverse"),
    Request("pause", "steps.pause", running=NOW),
    Request("gotoTargets", "steps.goto_targets", "supportsGotoTargetsRequest"),
    Request("goto", "steps.goto"),
    Request("source", "code.source"),
    Request("loadedSources", "code.loaded_sources", "supportsLoadedSourcesRequest"),
    Request("modules", "code.modules", "supportsModulesRequest"),
    Request("disassemble", "code.disassemble", "supportsDisassembleRequest"),
    Request("readMemory", "code.read_memory", "supportsReadMemoryRequest"),
    Request("writeMemory", "code.write_memory", "supportsWriteMemoryRequest"),
    Request("dwarfgpu/setLane", "stack.set_lane"),
)
# fmt: on
REQUESTS = {row.name: row for row in ROWS}

FURTHER = (
    *("supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints", "supportsLogPoints"),
    *("supportsSteppingGranularity", "supportsEvaluateForHovers", "supportsClipboardContext"),
    *("supportsValueFormattingOptions", "supportsDelayedStackTraceLoading", "supportsSingleThreadExecutionRequests"),
)
"""The capabilities that are arguments of requests."""


class RequestArguments:
    """The arguments of a request. What has another type than the protocol says is an error that names it."""

    def __init__(self, command: str, given: Any, what: str = "") -> None:
        if given is not None and not isinstance(given, dict):
            raise UsageError(f"`{command}`: {what or 'the arguments'} must be an object")
        self.command = command
        self.given: Json = given or {}

    def __contains__(self, name: str) -> bool:
        return self.given.get(name) is not None

    def _get(self, name: str, kind: type[T], noun: str) -> T | None:
        value = self.given.get(name)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise UsageError(f"`{self.command}`: `{name}` must be {noun}")
        return value

    def missing(self, name: str) -> UsageError:
        """Return the error of an argument that is needed."""
        return UsageError(f"`{self.command}` needs `{name}`")

    def text(self, name: str) -> str:
        """Return a text that must be given."""
        value = self._get(name, str, "a text")
        if value is None:
            raise self.missing(name)
        return value

    def maybe_text(self, name: str) -> str | None:
        """Return a text, or None."""
        return self._get(name, str, "a text") or None

    def number(self, name: str, default: int | None = None) -> int:
        """Return a number, which must be given unless there is a default."""
        value = self._get(name, int, "a whole number")
        value = default if value is None else value
        if value is None:
            raise self.missing(name)
        if abs(value) > MAX_NUMBER:
            raise UsageError(f"`{self.command}`: `{name}` is too large")
        return value

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        return bool(self._get(name, bool, "true or false"))

    def object(self, name: str) -> RequestArguments:
        """Return an object, an empty one if it is not given."""
        return RequestArguments(self.command, self.given.get(name), f"`{name}`")

    def objects(self, name: str) -> list[RequestArguments]:
        """Return a list of objects."""
        return [RequestArguments(self.command, each, f"each of `{name}`") for each in self.many(name)]

    def many(self, name: str) -> list[Any]:
        """Return a list, an empty one if it is not given."""
        return self._get(name, list, "a list") or []
