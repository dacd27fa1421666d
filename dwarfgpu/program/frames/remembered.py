"""What a debugger remembers of values: the history that ``$1`` means, and convenience variables such as ``$foo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.frames.evaluator import Evaluator
    from dwarfgpu.program.frames.history import Kept
    from dwarfgpu.program.language.operands import ScalarOperand
    from dwarfgpu.program.values.objects import Object


READ_ONLY = frozenset(
    (
        *("_thread", "_wave_id", "_lane_count"),
        "_shell_exitcode",
        *("_dispatch_pos", "_thread_workgroup_pos", "_lane_workgroup_pos"),
    )
)
"""What ROCgdb says of the selected wave and lane, and `_wave_id` and `_lane_count`."""


class Remembered:
    """The history of values, and the convenience variables."""

    def __init__(self) -> None:
        self.history: list[Kept] = []
        self.variables: dict[str, Kept] = {}
        self.computed: Callable[[], Mapping[str, str | int]] = dict
        """Returns the variables that say what is selected, which cannot be set."""

    def add(self, value: Kept) -> int:
        """Put a value into the history; return its number."""
        self.history.append(value)
        return len(self.history)

    def last(self, back: int = 0) -> Kept:
        """Return a value of the history, counted from the last one back."""
        if not self.history and not back:
            raise UsageError("The history is empty", kind="no_value")
        if back >= len(self.history):
            raise UsageError(f"History does not go back to $${back}", kind="no_value")
        return self.history[-1 - back]

    def numbered(self, number: int) -> Kept:
        """Return the value with a number, counted from 1."""
        if not 1 <= number <= len(self.history):
            raise UsageError(f"History has not yet reached ${number}", kind="no_value")
        return self.history[number - 1]

    # --- Questions of expressions ---------------------------------------------------------------------------------

    def of_history(self, evaluator: Evaluator, name: str) -> Object | None:
        """Return what ``$``, ``$$``, ``$3`` and ``$$3`` are, without the first dollar; None for any other name."""
        number = name.removeprefix("$")
        if number and not (number.isdecimal() and number.isascii() and len(number) < 10):
            return None
        if name.startswith("$"):
            return self.last(int(number or 1)).of(evaluator)
        return (self.numbered(int(number)) if number else self.last()).of(evaluator)

    def variable(self, evaluator: Evaluator, name: str) -> Object | ScalarOperand:
        """Return what ``$foo`` is, without the dollar; a variable that has not been set is void."""
        from dwarfgpu.program.frames import history

        value = self.computed().get(name) if name in READ_ONLY else None
        if value is not None:
            return history.computed(evaluator, value)
        kept = self.variables.get(name)
        return history.nothing(evaluator) if kept is None else kept.of(evaluator)

    def may_set(self, name: str) -> bool:
        """Return whether a variable of this name can be set."""
        return name[:1].isalpha() or (name[:1] == "_" and name not in READ_ONLY)

    def set(self, name: str, pieces: Iterable[tuple[LaneSet, Object]]) -> None:
        """Set a variable to what it is in some lanes; what one lane alone sets is the same for all."""
        from dwarfgpu.program.frames.history import kept_pieces

        self.variables[name] = kept_pieces(pieces)
