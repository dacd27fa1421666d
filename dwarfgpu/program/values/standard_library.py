"""Objects of libraries as what they contain: ``std::vector`` has a length and elements, ``float4`` of HIP components.

The members are those of libstdc++ (GCC), whose own printers for GDB decide what is shown and in which words; of libc++
the types whose layout is plain. An object of another layout has no contents here, and is shown as it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import byte_size, stripped
from dwarfgpu.program.values.objects import HIP_VECTOR, Object
from dwarfgpu.program.values.storage import ObjectPlace

_NAME = re.compile(r"std::(?:__\w+::)*(\w+)(?:<|$)")
LARGEST = 1 << 48
"""How many bytes the elements of one object may have: no machine has more."""
DEEPEST = 256
"""How many bases a tuple may have, and how many objects hold each other."""


@frozen
class Child:
    """A part of what an object contains."""

    name: str
    value: Object


@frozen
class Contents:
    """What an object contains, as GDB's printers say it."""

    summary: str = ""
    """``std::vector of length 5, capacity 8``; empty where only the parts are shown."""
    hint: str = ""
    """How the parts are written: ``array``, ``value`` for the value of an atomic, or, with names, nothing."""
    count: int = 0
    parts: Callable[[], Iterable[Child]] = tuple
    characters: tuple[ObjectPlace, int, t.Type] | None = None
    """Of a string: where it is, its length, and the type of a character."""
    is_vector: bool = False
    """Whether the parts are components, of which characters are numbers."""


def contents_of(value: Object, type: t.Struct, depth: int = 0) -> Contents | None:
    """Return what an object contains; None if its type is not a known one of the standard library.

    Raises `EvaluationError` where the members contradict each other.
    """
    noun = _noun(type)
    if noun == "optional":
        return _optional(value, type, depth)
    if noun not in _READERS and HIP_VECTOR.fullmatch(type.name or ""):
        if any(member.name for member in type.body.members):
            return None
        found = [Child(name, part) for name in "xyzw" if (part := value.found(name)) is not None]
        return Contents("", "array", len(found), lambda: found, is_vector=True) if found else None
    read = _READERS.get(noun)
    return None if read is None else read(value, type)


def _noun(type: t.Struct) -> str:
    match = _NAME.match(type.name or "")
    return "" if match is None else match[1]


# --- Members ------------------------------------------------------------------------------------------------------


def _broken(message: str) -> EvaluationError:
    return EvaluationError("broken_object", message)


def _number(value: Object, *names: str) -> int:
    for name in names:
        value = value.member(name)
    return int(value.number())


def _argument(type: t.Struct, index: int) -> t.Type:
    arguments = type.body.arguments
    if index >= len(arguments):
        raise _broken(f"{type.name} has {len(arguments)} template arguments")
    return arguments[index].to.get()


_STRINGS = {"char": "string", "wchar_t": "wstring", "char16_t": "u16string", "char32_t": "u32string"}
_DEFAULTS = {
    **dict.fromkeys(("vector", "deque", "list", "forward_list", "unique_ptr"), 1),
    **dict.fromkeys(("set", "multiset", "unordered_set", "unordered_multiset"), 1),
    **dict.fromkeys(("map", "multimap", "unordered_map", "unordered_multimap"), 2),
}
"""How many arguments of a class template have no default."""
_DEFAULT = re.compile(r"std::(allocator|less|hash|equal_to|default_delete)<(.*?) ?>$")
"""The defaults. All but an allocator are of the first argument of the template."""


def _short_name(type: t.Type, *, is_inside: bool = False) -> str:
    """Return the name of a type without default template arguments, as the printers of libstdc++ write it."""
    text = type_text(type, is_cplus=True)
    if is_inside and isinstance(type, t.Pointer):
        return f"{_short_name(type.target, is_inside=True)}{type.sign}"
    if not isinstance(type, t.Struct):
        return text
    for character, name in _STRINGS.items():
        traits = f"std::char_traits<{character}>"
        if text == f"std::__cxx11::basic_string<{character}, {traits}, std::allocator<{character}> >":
            return f"std::{name}"
    match = _NAME.match(text)
    count = len(type.body.arguments) if match is None else _DEFAULTS.get(match[1], len(type.body.arguments))
    if count >= len(type.body.arguments):
        return text
    arguments = [argument.to.get() for argument in type.body.arguments]
    own, others = arguments[:count], arguments[count:]
    first = "" if not own else type_text(own[0], is_cplus=True)
    for other in others:
        default = _DEFAULT.match(type_text(other, is_cplus=True))
        if default is None or (default[1] != "allocator" and default[2] != first):
            return text
    return f"{_plain_name(type)}<{', '.join(_short_name(each, is_inside=True) for each in own)}>"


def _plain_name(type: t.Struct) -> str:
    return re.sub(r"__\w+::", "", (type.name or "").partition("<")[0])


def _numbered(values: Iterable[Object]) -> Iterator[Child]:
    """Yield parts that are called by their positions."""
    return (Child(f"[{index}]", value) for index, value in enumerate(values))


def _row(pointer: Object, count: int) -> Iterator[Object]:
    """Yield the objects one behind the other to the first of which a pointer leads."""
    first = pointer.dereferenced()
    size = first.bits()
    return (Object(first.type, first.place.moved(size * index)) for index in range(count))


def _struct(value: Object) -> t.Struct:
    inner = stripped(value.type)
    if not isinstance(inner, t.Struct):
        raise _broken("a member is not a class")
    return inner


# --- Sequences ----------------------------------------------------------------------------------------------------


def _vector(value: Object, _type: t.Struct) -> Contents | None:
    if value.found("__begin_") is not None:  # libc++
        last = value.found("__cap_") or value.member("__end_cap_").member("__value_")  # the latter up to LLVM 19
        return _elements(value.member("__begin_"), value.member("__end_"), last)
    data = value.member("_M_impl")
    return _elements(*(data.member(name) for name in ("_M_start", "_M_finish", "_M_end_of_storage")))


def _elements(first: Object, last: Object, end: Object) -> Contents | None:
    pointer = stripped(first.type)
    if not isinstance(pointer, t.Pointer):  # std::vector<bool>
        return None
    size = byte_size(pointer.target)
    begin, finish, limit = (int(bound.pointer().value) for bound in (first, last, end))
    _check(begin, finish, limit, size)
    length = (finish - begin) // size

    summary = f"std::vector of length {length}, capacity {(limit - begin) // size}"
    return Contents(summary, "array", length, lambda: _numbered(_row(first, length)))


def _check(begin: int, finish: int, limit: int, size: int) -> None:
    if not begin <= finish <= limit:
        raise _broken(f"its pointers are not in order: {begin:#x}, {finish:#x}, {limit:#x}")
    if limit - begin > LARGEST or (not begin and limit):
        raise _broken(f"its elements would be {limit - begin} bytes at {begin:#x}")
    if not size or (finish - begin) % size:
        raise _broken(f"its {finish - begin} bytes are not elements of {size} bytes")


def _target(pointer: Object) -> t.Type:
    inner = stripped(pointer.type)
    if not isinstance(inner, t.Pointer):
        raise _broken("a member is not a pointer")
    return inner.target


def _string(value: Object, _type: t.Struct) -> Contents:
    return _characters(value.member("_M_dataplus").member("_M_p"), _number(value, "_M_string_length"))


def _string_view(value: Object, _type: t.Struct) -> Contents:
    for data, size in (("__data_", "__size_"), ("__data", "__size")):  # libc++, the latter up to LLVM 16
        if value.found(data) is not None:
            return _characters(value.member(data), _number(value, size))
    return _characters(value.member("_M_str"), _number(value, "_M_len"))


def _characters(pointer: Object, length: int) -> Contents:
    kind = _target(pointer)
    if not 0 <= length * byte_size(kind) <= LARGEST:
        raise _broken(f"its length is {length}")
    if not length:
        return Contents(characters=(pointer.place, 0, kind))
    if not pointer.pointer().value:
        raise _broken(f"its length is {length}, and its characters are at 0")
    return Contents(characters=(pointer.dereferenced().place, length, kind))


def _span(value: Object, type: t.Struct) -> Contents:
    """Return the contents of a span or an initializer list: a pointer, and a length that may be in the type."""
    names = (("_M_array", "_M_len"), ("_M_ptr", "_M_extent"), ("__data_", "__size_"), ("__begin_", "__size_"))
    data, number = next((pair for pair in names if value.found(pair[0]) is not None), names[0])
    pointer, extent = value.member(data), value.found(number)
    if number == "_M_extent":
        extent = None if extent is None else extent.found("_M_extent_value")
    fixed = re.search(r", (\d+)\w*>$", type.name or "")
    if extent is None and fixed is None:
        raise _broken("its length is not known")
    length = int(extent.number()) if extent is not None else int(fixed[1]) if fixed else 0
    kind = _target(pointer)
    if not 0 <= length * byte_size(kind) <= LARGEST:
        raise _broken(f"its length is {length}")

    return Contents(
        f"{_plain_name(type)} of length {length}", "array", length, lambda: _numbered(_row(pointer, length))
    )


# --- Objects that hold others -------------------------------------------------------------------------------------


def _optional(value: Object, type: t.Struct, depth: int) -> Contents:
    """Return the contents of an object that holds one other, whose own contents are shown in its place."""
    name = f"std::optional<{_short_name(_argument(type, 0))}>"
    if value.found("__engaged_") is not None:  # libc++
        engaged, content = value.member("__engaged_"), value.found("__val_")
    else:
        payload = value.member("_M_payload")
        engaged, content = payload.member("_M_engaged"), payload.member("_M_payload").found("_M_value")
    state = int(engaged.pattern().bits)
    if state > 1:
        raise _broken(f"whether it has a value is {state}")
    if content is None or not state:
        return Contents(f"{name} [no contained value]")
    if depth > DEEPEST:
        raise _broken("it contains itself")
    inner = stripped(content.type)
    within = contents_of(content, inner, depth + 1) if isinstance(inner, t.Struct) else None
    if within is None or within.hint == "value" or not within.summary:
        return Contents(name, "", 1, lambda: [Child("[contained value]", content)])
    return evolve(within, summary=f"{name} containing {within.summary}")


def _unique(value: Object, type: t.Struct) -> Contents:
    pointer = value.found("__ptr_")
    if pointer is not None:  # libc++, whose pointer was in a pair with the deleter
        heads = [pointer.found("__value_") or pointer]
    else:
        heads = _heads(value.member("_M_t").member("_M_t"))
    if not heads:
        raise _broken("it has no pointer")
    name = f"std::unique_ptr<{type_text(_argument(type, 0), is_cplus=True)}>"
    return Contents(name, "", 1, lambda: [Child("get()", heads[0])])


def _atomic(value: Object, type: t.Struct) -> Contents:
    kind = _argument(type, 0)
    name = f"std::atomic<{type_text(kind, is_cplus=True)}>"
    for words in (("_M_i",), ("_M_fp",), ("_M_b", "_M_p"), ("_M_base", "_M_i"), ("__a_", "__a_value")):  # last: libc++
        content = value.found(words[0])
        if content is not None:
            content = content if len(words) == 1 else content.member(words[1])
            return Contents(name, "value", 1, lambda content=content: [Child("value", content)])  # type: ignore[misc]
    raise UsageError("an atomic of another layout", kind="no_member")


def _pair(value: Object, _type: t.Struct) -> Contents:
    return Contents("", "", 2, lambda: [Child(name, value.member(name)) for name in ("first", "second")])


def _tuple(value: Object, type: t.Struct) -> Contents | None:
    if not any((stripped(base.type).name or "").startswith("std::_Tuple") for base in type.body.bases):
        return Contents("empty std::tuple") if not type.body.members and type.name == "std::tuple<>" else None
    heads = _heads(value)
    parts = [Child(f"[{index}]", head) for index, head in enumerate(heads, 1)]
    return Contents("std::tuple containing", "", len(parts), lambda: parts)


def _heads(value: Object) -> list[Object]:
    """Return the elements of a tuple, which has a base for each of them and one for the others."""
    heads: list[Object] = []
    rest: Object | None = value
    for _ in range(DEEPEST):
        if rest is None:
            return heads
        bases = [rest.base(base) for base in _struct(rest).body.bases]
        rest = None
        for part in bases:
            name = _struct(part).name or ""
            if name.startswith("std::_Head_base<"):
                inner = part.found("_M_head_impl")
                heads.append(part if inner is None else inner)
            elif name.startswith(("std::_Tuple_impl<", "std::__uniq_ptr_impl<", "std::tuple<")):
                rest = part
    raise _broken(f"it has more than {DEEPEST} elements")


_READERS: dict[str, Any] = {
    "vector": _vector,
    "basic_string": _string,
    "basic_string_view": _string_view,
    **dict.fromkeys(("span", "initializer_list"), _span),
    "atomic": _atomic,
    "unique_ptr": _unique,
    "pair": _pair,
    "tuple": _tuple,
}
"""What reads the contents of a class, by its name."""
