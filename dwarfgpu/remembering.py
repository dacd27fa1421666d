"""Answers that an object remembers: each is found once, and so is the error of a question without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

    def remembered(function: F) -> F:
        """Run a method once for each of its arguments."""


class _Remembered:
    """A method that runs once for each of its arguments; later calls get its answer, or raise its error.

    What was found while a budget refused to pay is not remembered: the next question may cost more.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name, self.__doc__ = function.__name__, function.__doc__

    def __get__(self, owner: Any, _class: type | None = None) -> Any:
        if owner is None:
            return self
        function, known = self.function, dict[Any, Any]()

        def ask(*key: Any) -> Any:
            answer = known.get(key, known)
            if answer is known:
                refusals = budget.refusals()
                try:
                    answer = function(owner, *key)
                except DwarfGpuError as error:
                    answer = error
                if budget.refusals() == refusals:
                    known[key] = answer
            if isinstance(answer, DwarfGpuError):
                raise answer.again()
            return answer

        owner.__dict__[self.name] = ask  # where the next call finds it
        return ask


if not TYPE_CHECKING:
    remembered = _Remembered
