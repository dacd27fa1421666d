"""Records: small immutable classes, declared like dataclasses, that cost nothing at start-up.

Everything the evaluator puts on its stack is a record. A record class has ``__slots__``, a positional and keyword
``__init__``, equality by fields, a hash and a ``repr``. It is immutable: type checkers refuse an assignment to a
field, and with ``DWARFGPU_FREEZE=1`` in the environment (the test suite sets it) so does the interpreter. Without it
the constructor assigns the slots directly, which makes a record three times cheaper to create than a frozen class of
attrs or dataclasses (docs/decisions/0001-records.md has the figures).

A method of a record cannot use ``super()`` without arguments, because the class is built a second time with slots.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options: Any) -> Callable[[Any], Any]:
        """Do nothing: only type checkers ask."""
        return lambda decorator: decorator


FREEZE = os.environ.get("DWARFGPU_FREEZE") == "1"
"""Whether assigning to a field of a record raises. Decided once, when the first record class is made."""

T = TypeVar("T")


class FrozenRecordError(AttributeError):
    """A field of a record was assigned or deleted."""


def _refuse(self: object, name: str, *_value: object) -> NoReturn:
    message = f"{type(self).__name__}.{name} cannot change: records are immutable, use replace()"
    raise FrozenRecordError(message)


def _same(left: Any, right: Any) -> bool:
    """Whether two fields are equal, where either may be an array with one element a slot."""
    if left is right:
        return True
    if hasattr(left, "dtype") or hasattr(right, "dtype"):
        return getattr(left, "shape", None) == getattr(right, "shape", None) and bool((left == right).all())
    return bool(left == right)


def _eq(self: Any, other: Any) -> bool:
    if self is other:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented  # type: ignore[no-any-return]
    return all(_same(getattr(self, name), getattr(other, name)) for name in self.__fields__)


def _hash(self: Any) -> int:
    return hash((self.__class__, *(getattr(self, name) for name in self.__fields__)))


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__fields__)
    return f"{self.__class__.__name__}({fields})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return self.__class__, tuple(getattr(self, name) for name in self.__fields__)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make ``cls`` a record: its annotated names, in order, are the fields; a class value is a field's default."""
    fields = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 (`inspect` would triple the start-up time)
    namespace = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    defaults = {name: namespace.pop(name) for name in fields if name in namespace}

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        """Compile the constructor for the first instance: a short command uses few of the classes it imports."""
        init = _make_init(cls.__name__, fields, defaults)
        made.__init__ = init  # type: ignore[method-assign]
        init(self, *values, **named)

    namespace.update(__slots__=fields, __fields__=fields, __init__=__init__)
    namespace.setdefault("__eq__", _eq)
    namespace.setdefault("__hash__", _hash)
    if namespace["__hash__"] is None:  # Python sets this for a class that defines only __eq__
        namespace["__hash__"] = _hash
    namespace.setdefault("__repr__", _repr)
    namespace.setdefault("__reduce__", _reduce)
    if FREEZE:
        namespace["__setattr__"] = namespace["__delattr__"] = _refuse
    made: type[T] = type(cls.__name__, cls.__bases__, namespace)
    return made


def _make_init(name: str, fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    arguments = "".join(f", {field}=_{field}" if field in defaults else f", {field}" for field in fields)
    assign = "_set(self, {0!r}, {0})" if FREEZE else "self.{0} = {0}"
    body = "; ".join(assign.format(field) for field in fields) or "pass"
    scope = {f"_{field}": value for field, value in defaults.items()}
    scope["_set"] = object.__setattr__
    exec(f"def __init__(self{arguments}): {body}", scope)  # noqa: S102 (the text is built from field names only)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{name}.__init__"
    return init


def replace(instance: T, /, **changes: Any) -> T:
    """Return a copy of a record with some fields changed."""
    fields: tuple[str, ...] = instance.__fields__  # type: ignore[attr-defined]
    values = {name: getattr(instance, name) for name in fields}
    values.update(changes)
    return instance.__class__(**values)
