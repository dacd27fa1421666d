"""The two decorators that make a class immutable with attrs, at the price of what a program uses of it.

A class is `frozen`: an attrs class with slots whose instances are equal, hashed and shown by their fields, and to
which nothing assigns. Creating a frozen instance costs three times as much as creating a mutable one, so the few
classes that the evaluator and the readers create over and over are `immutable` instead: type checkers refuse an
assignment to a field, and with ``DWARFGPU_FREEZE=1`` in the environment, as in the test suite, so does the
interpreter.

attrs compiles the methods of a class when the class is made. More than half of that time goes into comparing, hashing
and showing instances, which a short command does with few of the classes it imports. So attrs makes each of these
methods when it is called first. docs/decisions/0001-attrs.md has the figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

__all__ = ["frozen", "immutable"]

if TYPE_CHECKING:
    from attrs import frozen
    from attrs import frozen as immutable
else:
    from attrs import define

    FREEZE = os.environ.get("DWARFGPU_FREEZE") == "1"

    LATER = {"__eq__": {"eq": True}, "__hash__": {"unsafe_hash": True}, "__repr__": {"repr": True}}
    """The methods that are made at their first call, and the options with which attrs makes them."""

    def frozen(cls: type[Any] | None = None, *, eq: bool = True) -> Any:
        """Make ``cls`` an attrs class with slots; without ``eq`` an instance is equal to nothing but itself."""
        if cls is None:
            return partial(frozen, eq=eq)
        return _with_methods(define(frozen=True, eq=False, repr=False)(cls), LATER if eq else ("__repr__",))

    def immutable(cls: type[Any]) -> type[Any]:
        """Make ``cls`` what `frozen` makes, but without the check at run time that nothing assigns to a field."""
        return _with_methods(define(frozen=FREEZE, eq=False, repr=False)(cls), LATER)

    def _with_methods(cls: type[Any], names: Iterable[str]) -> type[Any]:
        """Add methods that attrs makes when they are called first; what the class or a plain base has stays."""
        own = [cls, *(base for base in cls.__mro__[1:-1] if not hasattr(base, "__attrs_attrs__"))]
        for name in names:
            if not any(name in base.__dict__ for base in own):
                setattr(cls, name, _made_when_called(cls, name))
        return cls

    def _made_when_called(cls: type[Any], name: str) -> Any:
        """Return a method that lets attrs make the real one, puts it in its own place, and calls it."""

        def method(*arguments: Any) -> Any:
            options = {"eq": False, "repr": False, **LATER[name]}
            derived = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__slots__": ()})
            made = getattr(define(derived, init=False, slots=False, **options), name)
            setattr(cls, name, made)
            return made(*arguments)

        return method
