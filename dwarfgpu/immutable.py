"""Classes whose instances are their fields: declared as those of attrs, and made in a tenth of the time.

A class is `frozen`: it has slots, its instances are equal, hashed and shown by their fields, and nothing assigns to
them. Creating a frozen instance costs twice as much as creating a mutable one, so the few classes that the evaluator
and the readers create over and over are `immutable` instead: type checkers refuse an assignment to a field, and with
``DWARFGPU_FREEZE=1`` in the environment, as in the test suite, so does the interpreter. Instances of a class that is
made by `define` can change.

Type checkers read these decorators as those of attrs, and the functions of attrs take the classes. A short command
imports hundreds of classes and uses few, so nothing is compiled when a class is made: `__init__`, `__eq__` and
`__hash__` are written when they are first called. docs/decisions/0001-attrs.md has the figures.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["asdict", "astuple", "define", "evolve", "field", "fields", "frozen", "has", "immutable"]

FREEZE = os.environ.get("DWARFGPU_FREEZE") == "1"
NOTHING: Any = object()
"""The default of a field that has none."""


class DeclaredField:
    """What a class says of a field: its default, and what it is used for.

    ``eq`` and ``repr`` may be functions of the value, whose results are compared or shown.
    """

    __slots__ = (
        "alias", "converter", "default_value", "eq", "factory", "init", "kw_only", "metadata", "name", "repr",
        "takes_self", "type",
    )  # fmt: skip

    def __init__(self, default: Any, factory: Any = None, **used: Any) -> None:
        self.default_value, self.factory, self.takes_self = default, factory, False
        self.init, self.kw_only = used.get("init", True), used.get("kw_only", False)
        self.repr, self.eq = used.get("repr", True), used.get("eq", True)
        self.converter = used.get("converter")
        self.metadata: dict[str, Any] = used.get("metadata", {})

    def default(self, method: Any) -> Any:
        """Make a method what computes the default from the fields before."""
        self.factory, self.takes_self = method, True
        return method

    def declared(self, name: str, kind: object, *, kw_only: bool) -> DeclaredField:
        """Return the field with what the class says beside it."""
        self.name, self.type, self.alias, self.kw_only = name, kind, name.lstrip("_"), self.kw_only or kw_only
        return self

    def parameter(self) -> str:
        """Return its text in the parameters of `__init__`."""
        has_default = self.factory is not None or self.default_value is not NOTHING
        return f"{self.alias}={'NOTHING' if self.factory else f'default_{self.name}'}" if has_default else self.alias

    def value(self) -> str | None:
        """Return the text of its value in `__init__`, or None if it has none there."""
        made = f"make_{self.name}({'self' if self.takes_self else ''})"
        if self.init:
            found = self.alias if self.factory is None else f"{made} if {self.alias} is NOTHING else {self.alias}"
        elif self.factory is not None:
            found = made
        elif self.default_value is NOTHING:
            return None
        else:
            found = f"default_{self.name}"
        return f"convert_{self.name}({found})" if self.converter else found


def has(cls: type[Any]) -> bool:
    """Whether a class is one of these."""
    return hasattr(cls, "__attrs_attrs__")


def fields(cls: type[Any]) -> tuple[DeclaredField, ...]:
    """Return the fields of a class."""
    found: tuple[DeclaredField, ...] = cls.__attrs_attrs__
    return found


def asdict(instance: Any) -> dict[str, Any]:
    """Return the values of the fields by name."""
    return {each.name: getattr(instance, each.name) for each in fields(type(instance))}


def astuple(instance: Any) -> tuple[Any, ...]:
    """Return the values of the fields."""
    return tuple([getattr(instance, each.name) for each in fields(type(instance))])


if TYPE_CHECKING:
    from attrs import define, evolve, field, frozen
    from attrs import frozen as immutable
else:

    def field(*, default: Any = NOTHING, factory: Any = None, **used: Any) -> DeclaredField:
        """Declare a field, with the words of attrs."""
        return DeclaredField(default, factory, **used)

    def frozen(cls: type[Any] | None = None, *, eq: bool = True) -> Any:
        """Make ``cls`` a class to whose instances nothing assigns; without ``eq`` each is equal to itself only."""
        return partial(frozen, eq=eq) if cls is None else _made(cls, is_frozen=True, eq=eq)

    def immutable(cls: type[Any] | None = None, *, eq: bool = True) -> Any:
        """Make ``cls`` what `frozen` makes, but without the check at run time that nothing assigns to a field."""
        return partial(immutable, eq=eq) if cls is None else _made(cls, is_frozen=FREEZE, eq=eq)

    def define(cls: type[Any] | None = None, *, eq: bool = True, kw_only: bool = False) -> Any:
        """Make ``cls`` a class whose instances change, and have no hash if they are equal by their fields."""
        if cls is None:
            return partial(define, eq=eq, kw_only=kw_only)
        return _made(cls, is_frozen=False, eq=eq, kw_only=kw_only, is_hashed=False)

    def evolve(instance: Any, /, **changes: Any) -> Any:
        """Return an instance with other values of some fields."""
        cls = instance.__class__
        for each in cls.__attrs_attrs__:
            if each.init and each.alias not in changes:
                changes[each.alias] = getattr(instance, each.name)
        return cls(**changes)


# --- The class ----------------------------------------------------------------------------------------------------


def _made(cls: Any, *, is_frozen: bool, eq: bool = True, is_hashed: bool = True, kw_only: bool = False) -> type[Any]:
    """Return the class with slots for its fields, and with the methods that it has not written itself."""
    bases, own = cls.__mro__[1:-1], dict[str, DeclaredField]()
    for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 (`inspect` takes 7 ms to import)
        if not str(kind).startswith("ClassVar"):
            value = cls.__dict__.get(name, NOTHING)
            own[name] = (value if isinstance(value, DeclaredField) else DeclaredField(value)).declared(
                name, kind, kw_only=kw_only
            )
    others = {each.name: each for base in reversed(bases) for each in base.__dict__.get("__attrs_attrs__", ())}
    every = (*(each for name, each in others.items() if name not in own), *own.values())
    kept = {name: value for name, value in cls.__dict__.items()
            if name not in own and name not in ("__dict__", "__weakref__")}  # fmt: skip
    inherited = {name for base in bases for name in base.__dict__.get("__slots__", ())}
    slots = [name for name in own if name not in inherited]
    if not any("__weakref__" in base.__dict__ for base in bases):
        slots.append("__weakref__")
    if any(isinstance(value, cached_property) for value in kept.values()):
        slots.append("__dict__")
    matched = tuple([each.name for each in every if each.init and not each.kw_only])
    added: dict[str, Any] = {"__slots__": tuple(slots), "__attrs_attrs__": every, "__match_args__": matched}
    if is_frozen:
        added |= {"__setattr__": _refuse, "__delattr__": _refuse}
    made: Any = type(cls)(cls.__name__, cls.__bases__, kept | added | {"__qualname__": cls.__qualname__})
    _move_cells(kept.values(), cls, made)
    written = {*cls.__dict__, *(name for base in bases if not has(base) for name in base.__dict__)}
    methods: dict[str, Any] = {"__getstate__": asdict, "__setstate__": _set_state}
    methods |= {"__init__": _when_called(made, "__init__", _init), "__repr__": _when_called(made, "__repr__", _repr)}
    if eq:
        methods["__eq__"] = _when_called(made, "__eq__", _eq)
        methods["__hash__"] = _when_called(made, "__hash__", _hash) if is_hashed else None
    for name, method in methods.items():
        if name not in written:
            setattr(made, name, method)
    found: type[Any] = made
    return found


def _move_cells(values: Iterable[Any], cls: object, made: object) -> None:
    """Let ``super()`` in methods mean the class with slots."""
    for value in values:
        function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                if cell.cell_contents is cls:
                    cell.cell_contents = made
            except ValueError:  # it is empty
                pass


def _refuse(self: object, name: str, *_value: object) -> None:
    """Assign to no field, and delete none."""
    message = f"{type(self).__name__} does not change: {name}"
    raise AttributeError(message, name=name, obj=self)


def _set_state(self: object, state: dict[str, Any]) -> None:
    """Set the fields of a copy."""
    for name, value in state.items():
        object.__setattr__(self, name, value)


# --- Methods that are written when they are called first ----------------------------------------------------------


def _when_called(cls: type[Any], name: str, write: Callable[[type[Any]], Any]) -> Any:
    """Return a method that writes the real one, puts it in its own place, and calls it."""

    def method(*arguments: Any, **named: Any) -> Any:
        made = write(cls)
        setattr(cls, name, made)
        return made(*arguments, **named)

    return method


def _init(cls: type[Any]) -> Any:
    """Write `__init__`."""
    assignment = "set_{}(self, {})" if cls.__setattr__ is _refuse else "self.{} = {}"
    every, scope = fields(cls), {"NOTHING": NOTHING}
    for each in every:
        scope[f"set_{each.name}"], scope[f"default_{each.name}"] = getattr(cls, each.name).__set__, each.default_value
        scope[f"make_{each.name}"], scope[f"convert_{each.name}"] = each.factory, each.converter
    lines = [assignment.format(each.name, value) for each in every if (value := each.value()) is not None]
    if hasattr(cls, "__attrs_post_init__"):
        lines.append("self.__attrs_post_init__()")
    parameters = [each.parameter() for each in every if each.init and not each.kw_only]
    named = [each.parameter() for each in every if each.init and each.kw_only]
    head = ", ".join(["self", *parameters, *(["*", *named] if named else [])])
    return _compiled(head, "\n ".join(lines or ["pass"]), scope)


def _eq(cls: type[Any]) -> Any:
    """Write `__eq__`."""
    ours, theirs = (_compared(cls, name) for name in ("self", "other"))
    same = " and ".join(f"{one} == {other}" for one, other in zip(ours, theirs, strict=True)) or "True"
    text = f"if other.__class__ is not self.__class__: return NotImplemented\n return {same}"
    return _compiled("self, other", text, _keys(cls))


def _hash(cls: type[Any]) -> Any:
    """Write `__hash__`."""
    return _compiled("self", f"return hash(({''.join(f'{part},' for part in _compared(cls, 'self'))}))", _keys(cls))


def _repr(cls: type[Any]) -> Any:
    """Return `__repr__`."""
    shown = [(each.name, repr if each.repr is True else each.repr) for each in fields(cls) if each.repr]

    @recursive_repr()
    def method(self: Any) -> str:
        parts = ", ".join([f"{name}={text(getattr(self, name, NOTHING))}" for name, text in shown])
        return f"{type(self).__qualname__.rsplit('>.', 1)[-1]}({parts})"

    return method


def _compared(cls: type[Any], instance: str) -> list[str]:
    """Return the texts of what is compared of an instance."""
    names = ((each, f"{instance}.{each.name}") for each in fields(cls) if each.eq)
    return [name if each.eq is True else f"key_{each.name}({name})" for each, name in names]


def _keys(cls: type[Any]) -> dict[str, Any]:
    return {f"key_{each.name}": each.eq for each in fields(cls)}


def _compiled(parameters: str, text: str, scope: dict[str, Any]) -> Any:
    """Return a method that has been written."""
    exec(f"def method({parameters}):\n {text}", scope)  # noqa: S102 (the names of fields)
    return scope["method"]
