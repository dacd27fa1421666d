"""The functions of an API: a prototype of C for each, from which the door's stubs and the arguments here are made."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dwarfgpu.immutable import frozen

_PROTOTYPE = re.compile(r"(?P<returned>.+?)\b(?P<name>\w+)\((?P<parameters>.*)\)")
_PARAMETER = re.compile(r"(?P<type>.+?)(?P<name>\w+)")
SIGNED, UNSIGNED, WORD = "int", "unsigned", "word"
"""How an argument is passed: 4 bytes, with or without a sign, or 8 bytes."""
_STRUCTURES = {
    "dim3": ("uint32_t", ("x", "y", "z")),
    "hipExtent": ("word", ("width", "height", "depth")),
    "hipPitchedPtr": ("word", ("pointer", "pitch", "width", "height")),
}
"""The structures that are passed by value: the type of their members, and their names."""
_TEXT = "const char *"
_WORDS = ("size_t", "uint64_t", "unsigned long long", "word")
_LOW = (1 << 32) - 1


@frozen
class Prototype:
    """A function of C, as far as calls need it."""

    name: str
    parameters: tuple[str, ...]
    returns: str

    @property
    def stub(self) -> str:
        """The C of the function that the door has; ``#`` is its number."""
        names = [f"a{number}" for number in range(len(self.parameters))]
        declared = ", ".join(f"{kind} {name}" for kind, name in zip(self.parameters, names, strict=True)) or "void"
        words = [word for kind, name in zip(self.parameters, names, strict=True) for word in _words(kind, name)]
        array = f"word words[] = {{{', '.join(words)}}}; " if words else ""
        called = f"dwarfgpu_call(#, {'words' if words else 'NULL'}, {len(words)})"
        returned = WORD if self.returns == _TEXT else self.returns
        body = f"{called};" if returned == "void" else f"return ({returned}){called};"
        if self.returns == WORD:
            body = f"word found = {called}; return found == dwarfgpu_no_device ? 0 : found;"
        elif self.returns == _TEXT:
            body = f"word text = {called}; return text == dwarfgpu_no_device ? (word)dwarfgpu_no_device_text : text;"
        return f"API {returned} {self.name}({declared}) {{ {array}{body} }}"

    @property
    def word_count(self) -> int:
        """The words that a call has."""
        return sum(len(_STRUCTURES[kind][1]) if kind in _STRUCTURES else 1 for kind in self.parameters)

    def arguments(self, words: Iterable[int]) -> Iterator[Any]:
        """Yield the arguments that words of a call are."""
        given = iter(words)
        for kind in self.parameters:
            if kind in _STRUCTURES:
                yield tuple(next(given) for _member in _STRUCTURES[kind][1])
                continue
            word = next(given)
            low = word & _LOW
            yield word if kind == WORD else low - (low >> 31 << 32) if kind == SIGNED else low


def _words(kind: str, name: str) -> Iterator[str]:
    if kind in _STRUCTURES:
        yield from (f"{name}.{member}" for member in _STRUCTURES[kind][1])
    else:
        yield name if kind == WORD else f"(word){name}"


def prototype(text: str) -> Prototype:
    """Read a prototype: ``hipError_t hipMalloc(void **pointer, size_t size)``."""
    found = _PROTOTYPE.fullmatch(text)
    assert found is not None, text  # noqa: S101 (rows of this package)
    kinds = []
    for part in filter(None, map(str.strip, found["parameters"].split(","))):
        parameter = _PARAMETER.fullmatch(part)
        assert parameter is not None, text  # noqa: S101
        kinds.append(_kind(parameter["type"].strip()))
    returns = found["returned"].strip()
    if returns not in ("void", _TEXT):
        returns = WORD if _kind(returns) == WORD else SIGNED
    return Prototype(found["name"], tuple(kinds), returns)


def _kind(type_name: str) -> str:
    plain = type_name.removeprefix("const ")
    if "*" in plain or plain in _WORDS:
        return WORD
    return plain if plain in _STRUCTURES or plain == UNSIGNED else SIGNED


class CallRefused(Exception):
    """Ends a call with what it returns."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result


class Api:
    """The functions of an API, in the order of their numbers; the first one has the number 1."""

    def __init__(self) -> None:
        self.rows: list[tuple[Prototype, Callable[..., Any]]] = []

    def __call__(self, *texts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the functions of C that a function carries out; without any row an API lacks them."""

        def declared(function: Callable[..., Any]) -> Callable[..., Any]:
            self.rows.extend((prototype(text), function) for text in texts)
            return function

        return declared

    def source(self) -> str:
        """Return the stubs as a part of the door's C."""
        lines = ['#include "core.h"']
        lines += [
            f"typedef struct {{ {kind} {', '.join(names)}; }} {name};" for name, (kind, names) in _STRUCTURES.items()
        ]
        lines += [row.stub.replace("#", str(number)) for number, (row, _) in enumerate(self.rows, 1)]
        return "\n".join(lines) + "\n"

    def called(self, call: Any, number: int, words: Sequence[int], end: Callable[[Any, Any], int]) -> Any:
        """Call a function by its number; ``end`` returns what the program gets for what the function returns."""
        row, function = self.rows[number - 1]
        if len(words) != row.word_count:
            raise EOFError(f"{row.name} is called with {len(words)} words")
        try:
            result = function(call, *row.arguments(words))
        except CallRefused as refused:
            result = refused.result
        return _awaited(call, result, end) if inspect.iscoroutine(result) else end(call, result)


async def _awaited(call: Any, result: Any, end: Callable[[Any, Any], int]) -> int:
    try:
        return end(call, await result)
    except CallRefused as refused:
        return end(call, refused.result)
