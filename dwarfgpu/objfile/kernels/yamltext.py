"""Read the YAML of code object V2 metadata with PyYAML, whose events are put together here.

What could make a small text large or a reader crash is refused: anchors, aliases, tags, deep nesting. Plain scalars
mean what LLVM means by them: integers, booleans, nothing, and text in all other cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH = 32
MAX_SIZE = 1 << 22
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def parse_yaml(text: str, fail: Callable[[int, str], Exception]) -> Any:
    """Read the first document. ``fail`` makes the exception for a line number, counted from 1, and a message."""
    try:
        import yaml
    except ImportError:
        message = "the metadata of code object V2 is YAML: pip install dwarfgpu[yaml]"
        raise Unsupported("no_yaml", message) from None
    if len(text) > MAX_SIZE:
        raise fail(1, f"more than {MAX_SIZE} characters")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    line = 1
    try:
        return _document(yaml.parse(text, Loader=loader), fail)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    except (ValueError, OverflowError) as error:  # an escape that is no character
        problem = str(error)
    raise fail(line, problem)


def _document(events: Iterator[Any], fail: Callable[[int, str], Exception]) -> Any:
    """Return what the events of the first document make; None if there is no document."""
    missing = object()
    top: list[Any] = []
    outer: list[Any] = []
    """The collections around the one that is being filled."""
    collection: Any = top
    key: Any = missing
    for event in events:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            collection = outer.pop()
            continue
        if kind not in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent", "AliasEvent"):
            if kind == "DocumentEndEvent":
                break
            continue
        if event.anchor is not None or event.tag is not None:
            raise fail(line, "anchors, aliases and tags are not read")
        value = _scalar(event) if kind == "ScalarEvent" else {} if kind == "MappingStartEvent" else []
        if isinstance(collection, list):
            collection.append(value)
        elif key is not missing:
            collection[key] = value
            key = missing
        elif kind == "ScalarEvent":
            key = value
        else:
            raise fail(line, "the key of a map is a collection")
        if kind != "ScalarEvent":
            if len(outer) == MAX_DEPTH:
                raise fail(line, f"more than {MAX_DEPTH} levels")
            outer.append(collection)
            collection = value
    return top[0] if top else None


def _scalar(event: Any) -> Any:
    """Return what a scalar means: only one without quotes can be something else than text."""
    text = event.value
    text.encode()  # half of a surrogate pair is no character
    if event.style:
        return text
    return WORDS[text] if text in WORDS else _number(text)


def _number(text: str) -> Any:
    """Return an integer, or the text itself."""
    digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0o") else 10
    if not digits.isascii() or not digits.isalnum() or len(digits) > 32:
        return text
    try:
        return int(text, base)
    except ValueError:
        return text
