"""The budget of a question: how much it may cost, whatever a file says.

Limits on a single thing (the operations of an expression, the parts of a value) do not bound an answer, because things
come in products: variables times lanes times parts. So all that a small file can multiply is paid from one budget:
operations of long evaluations, members and elements, places of locations, steps of traces, and rules of rows. What is
linear in a file or in the lanes that are asked for costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.errors import DwarfGpuError, EvaluationError

if TYPE_CHECKING:
    F = TypeVar("F", bound=Callable[..., Any])

    def remembered(function: F) -> F:
        """Run a method once for each of its arguments."""


DEFAULT = 1 << 20
"""What a question may cost if nothing else is set."""
MAX_FRAMES = 100_000
"""The default of the number of frames at which unwinding ends."""
HINT = "--budget N, or `set budget N` at the prompt, allows more"


class QuestionBudget:
    """What is left for a question."""

    __slots__ = ("is_spent", "left", "refusals", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.left = size
        self.refusals = 0
        """How often something could not be paid. An answer found meanwhile is not remembered: it may be cut short."""
        self.is_spent = False
        """Whether something is left out of the answer for it."""

    @property
    def message(self) -> str:
        """What is said where something is left out."""
        return f"the answer costs more than its budget of {self.size} steps and parts (`set budget`)"


_current: ContextVar[QuestionBudget | None] = ContextVar("budget", default=None)


@contextmanager
def question(size: int = DEFAULT) -> Iterator[QuestionBudget]:
    """Ask a question: what is done meanwhile is paid from one budget. A question within another one has its budget."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    budget = QuestionBudget(size)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def take(count: int = 1) -> bool:
    """Pay for some parts; return whether they can be paid."""
    budget = _current.get()
    if budget is None:
        return True
    if budget.left < count:
        budget.refusals += 1
        budget.is_spent = True
        budget.left = 0
        return False
    budget.left -= count
    return True


def take_half(count: int) -> bool:
    """Pay for something on the way to an answer; return whether that can be paid. Half is kept to show the answer."""
    budget = _current.get()
    if budget is None:
        return True
    if budget.left - count < budget.size // 2:
        budget.refusals += 1
        return False
    budget.left -= count
    return True


def spend(count: int = 1) -> None:
    """Pay for some parts; raise an error if they cannot be paid."""
    budget = _current.get()
    if budget is not None and not take(count):
        raise EvaluationError("limit_exceeded", budget.message, hint=HINT)


def exceeded(what: str) -> EvaluationError:
    """Return the error that something is left out of an answer."""
    budget = _current.get()
    message = "" if budget is None else f": {budget.message}"
    return EvaluationError("limit_exceeded", f"{what}{message}", hint=HINT)


def asked() -> QuestionBudget | None:
    """Return the budget of the question that is being asked."""
    return _current.get()


def refusals() -> int:
    """Return how often the budget of the question that is being asked has refused to pay."""
    budget = _current.get()
    return 0 if budget is None else budget.refusals


def check() -> None:
    """Raise an error if all is spent."""
    budget = _current.get()
    if budget is not None and budget.is_spent:
        budget.refusals += 1
        raise EvaluationError("limit_exceeded", budget.message, hint=HINT)


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
                before = refusals()
                try:
                    answer = function(owner, *key)
                except DwarfGpuError as error:
                    answer = error
                if refusals() == before:
                    known[key] = answer
            if isinstance(answer, DwarfGpuError):
                raise answer.again()
            return answer

        owner.__dict__[self.name] = ask  # where the next call finds it
        return ask


if not TYPE_CHECKING:
    remembered = _Remembered
