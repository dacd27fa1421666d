"""The errors of the specification, in its own words (A.2.5: ill-formed, evaluation error, missing context).

Raise the leaf, catch the branch. ``DwarfGpuError`` is all that dwarfgpu raises for any input; every other exception
is a bug. The ``error_class`` names the branch and ``kind`` the leaf in machine-readable output, so neither is ever
translated or reworded. A leaf that says nothing but its kind has no class of its own: ``IllFormed("bad_piece", ...)``.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class Where:
    """The position of an error: the section, the offset in it, and the operation. Filled in from the inside out."""

    __slots__ = ("offset", "operation", "section", "trail")

    def __init__(self, section: str | None = None, offset: int | None = None, operation: str | None = None) -> None:
        self.section = section
        self.offset = offset
        self.operation = operation
        self.trail: tuple[str, ...] = ()  # the calls that led here, innermost first

    def __str__(self) -> str:
        parts = []
        if self.operation is not None:
            parts.append(self.operation)
        if self.section is not None:
            parts.append(self.section if self.offset is None else f"{self.section}+{self.offset:#x}")
        elif self.offset is not None:
            parts.append(f"offset {self.offset:#x}")
        parts.extend(f"called from {call}" for call in self.trail)
        return ", ".join(parts)


class DwarfGpuError(Exception):
    """The base of every error: what is wrong, where, which rule says so, and what can be done.

    >>> import dwarfgpu as dg
    >>> try:
    ...     dg.open("nothere")
    ... except dg.DwarfGpuError as error:
    ...     print(error.error_class, error.kind, error.message, sep="; ")
    malformed; unreadable; nothere: No such file or directory
    """

    error_class = "error"
    messages = ""
    """All that another program has said, of which the message is only the first part."""

    def __init__(self, kind: str, message: str, *, spec: str | None = None, hint: str | None = None) -> None:
        Exception.__init__(self, message)
        self.kind = kind
        self.message = message
        self.spec = spec
        self.hint = hint
        self.where = Where()

    def at(self, *, section: str | None = None, offset: int | None = None, operation: str | None = None) -> Any:
        """Add the position, unless a caller nearer to the cause already has, and return the error itself."""
        if self.where.operation is None and self.where.offset is None:
            self.where.offset = offset
            self.where.operation = operation
        if self.where.section is None:
            self.where.section = section
        return self

    def again(self) -> DwarfGpuError:
        """Return the error without its traceback, which would grow each time the error is raised again."""
        return self.with_traceback(None)

    @property
    def what(self) -> str:
        """The error in two or three words."""
        return self.kind.replace("_", " ")

    @property
    def __notes__(self) -> list[str]:
        """The hint, which Python prints below the error from version 3.11 on."""
        return [] if self.hint is None else [f"hint: {self.hint}"]

    @__notes__.setter
    def __notes__(self, notes: list[str]) -> None:
        """Leave them as they are: where tblib is, copies of errors get the notes that they have already."""

    def _render_traceback_(self) -> list[str]:
        """Return what notebooks show: the error and the hint, without the calls that led to it."""
        return [f"{self.__class__.__name__}: {self}", *self.__notes__]

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__, "args": (self.message,)}
        return copyreg.__newobj__, (self.__class__,), state  # type: ignore[attr-defined]

    def __str__(self) -> str:
        """Return ``WHAT at WHERE: RULE [CLAUSE]``, or only the rule of an error without a position."""
        where = str(self.where)
        what = self.what
        clause = f" [{self.spec}]" if self.spec else ""
        return f"{what} at {where}: {self.message}{clause}" if where else f"{self.message}{clause}"


class MalformedFile(DwarfGpuError):
    """A container is broken: truncated, wrong lengths, bad forms. What is beside it can still be read.

    >>> import dwarfgpu as dg
    >>> try:
    ...     dg.open(b"no program")
    ... except dg.MalformedFile as error:
    ...     print(error.kind)
    not_elf
    """

    error_class = "malformed"


class Unread(MalformedFile):
    """A part of a file was not read, such as a key of a newer version. The rest is right."""

    error_class = "unread"


class MissingFile(MalformedFile, FileNotFoundError):
    """There is no file of that name."""


class IllFormed(DwarfGpuError):
    """A DWARF expression breaks a rule of the text; its result would be undefined (A.2.5).

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_plus", dg.dialect("llvm-user"), dg.Format())
    >>> dg.evaluate(expression, dg.Context(dg.target("gfx90a"))).of(0)
    IllFormed('the operation needs 2 stack entries, there are 0')
    """

    error_class = "ill_formed"


class EvaluationError(DwarfGpuError):
    """A rule-abiding expression has no answer in this context (A.2.5).

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_lit1; DW_OP_lit0; DW_OP_div", dg.dialect("llvm-user"), dg.Format())
    >>> dg.evaluate(expression, dg.Context(dg.target("gfx90a"))).of(0)
    EvaluationError('the divisor is 0')
    """

    error_class = "evaluation_error"


class NotSetYet(EvaluationError):
    """What is read has no value so far: no expression is wrong, so its place is not named."""

    def at(self, **_place: Any) -> Any:
        return self


class MissingContext(DwarfGpuError):
    """A context element that the evaluation requires is not specified (A.2.5.1).

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_LLVM_push_lane", dg.dialect("llvm-user"), dg.Format())
    >>> dg.evaluate(expression, dg.Context(dg.target("gfx90a"))).of(0)
    MissingContext('the evaluation needs a current lane, which the context does not have')
    """

    error_class = "missing_context"

    @property
    def what(self) -> str:
        return f"missing {self.kind.replace('_', ' ')}"

    def __init__(self, element: str, message: str, *, spec: str = "A.2.5.1", hint: str | None = None) -> None:
        DwarfGpuError.__init__(self, element, message, spec=spec, hint=hint)


class Unsupported(DwarfGpuError):
    """The construct is known, but has no meaning here.

    >>> import dwarfgpu as dg
    >>> try:
    ...     dg.assemble("DW_OP_LLVM_push_lane", dg.dialect("gnu"), dg.Format())
    ... except dg.Unsupported as error:
    ...     print(error.kind)
    no_encoding
    """

    error_class = "unsupported"

    @property
    def what(self) -> str:
        return self.error_class


class UsageError(DwarfGpuError):
    """The caller gave a wrong option, name or combination.

    >>> import dwarfgpu as dg
    >>> try:
    ...     dg.dialect("llvm")
    ... except dg.UsageError as error:
    ...     print(error)
    there is no dialect 'llvm'
    """

    error_class = "usage"

    def __init__(self, message: str, *, hint: str | None = None, kind: str = "usage") -> None:
        DwarfGpuError.__init__(self, kind, message, hint=hint)


class UnknownItem(UsageError, KeyError, IndexError):
    """The caller asked a sequence for a wave or a lane that it does not have."""


class NotFound(DwarfGpuError):
    """A file has no such thing: a name that it does not define, an address that it does not hold."""

    error_class = "not_found"


class UnknownTarget(UsageError):
    """No target has this name."""


class DialectConflict(UsageError):
    """Two dialects give one encoding to different operations."""


class Handle:
    """What belongs to a program that is open in this process, and so cannot be pickled or copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = self.__class__.__name__
        raise TypeError(f"{name}: what belongs to an open program cannot be pickled or copied: take its values()")


@contextmanager
def noting(note: Callable[[DwarfGpuError], object]) -> Iterator[None]:
    """Hand an error over instead of raising it: what is broken hides nothing beside it."""
    try:
        yield
    except DwarfGpuError as error:
        note(error)


def shown(number: int) -> str:
    """Return a number as text for a message, and shorten one that is too long to convert to decimal."""
    if number.bit_length() <= 128:
        return str(number)
    digits = f"{abs(number):x}"
    return f"{'-' if number < 0 else ''}0x{digits[:16]}... ({number.bit_length()} bits)"


def nearest(word: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the name that is most like a word, if one is like it enough: 1 is the word itself."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(names), 1, likeness)
    return close[0] if close else None


def nearest_hint(word: str, names: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the hint for a word that is unknown: the name that was probably meant, else what can be done."""
    near = nearest(word, names)
    return f"did you mean {near}?" if near else otherwise


def exhausted(error: RecursionError | MemoryError) -> UsageError:
    """Return the error that Python lacks the stack or the memory for an answer."""
    is_deep = isinstance(error, RecursionError)
    message = "what was asked for is nested too deep" if is_deep else "there is not enough memory for the answer"
    return UsageError(message, kind="too_deep" if is_deep else "no_memory", hint="ask for a part of it")


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether ^C is behind an error, which may be the one that a library, or Python, raised in its place."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


class Interrupt:
    """Whether ^C has ended a block early."""

    has_come = False


@contextmanager
def until_interrupt(interrupt: Interrupt | None = None) -> Iterator[Interrupt]:
    """End a block where ^C is pressed, and continue after it."""
    interrupt = interrupt or Interrupt()
    try:
        yield interrupt
    except BaseException as error:
        if not is_interrupt(error):
            raise
        interrupt.has_come = True
