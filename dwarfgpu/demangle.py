"""Turn the mangled names of C++ symbols into what a programmer wrote: ``_ZN2ns3addEif`` is ``ns::add(int, float)``.

The work is done by ``__cxa_demangle`` of the C++ library of the machine, which is loaded with the first mangled name.
Without a C++ library names stay mangled.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache, lru_cache

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1", "libc++abi.1.dylib", "libc++.1.dylib")
MAX_LENGTH = 1 << 12
"""A longer name stays mangled."""
MAX_WORK = 1 << 24
"""A name whose text could have more characters stays mangled: references to earlier parts can double the text."""
MAX_TEXT = 1 << 16
"""A name whose text has more characters stays mangled."""

_REFERENCE = re.compile(r"[ST][0-9A-Z]*_|Dp|sp")
"""A reference to an earlier part of the name, to a template argument or to all arguments of a pack."""


@lru_cache(maxsize=1 << 14)
def demangled(name: str) -> str:
    """Return a name as C++ has it; a name that is not mangled, not valid or too costly stays as it is."""
    if not name.startswith("_Z") or len(name) > MAX_LENGTH or "\0" in name:
        return name
    # a part that holds three references to the part before it is the fastest way to grow
    if len(name) * 3 ** (len(_REFERENCE.findall(name)) / 3) > MAX_WORK:
        return name
    demangle = _library_function()
    if demangle is None:
        return name
    return demangle(name) or demangle(name.replace("DF16_", "Dh")) or name  # the older way to write _Float16


@cache
def _library_function() -> Callable[[str], str | None] | None:
    """Return the function that demangles a valid name; None if no C++ library can be loaded."""
    for library in LIBRARIES:
        try:
            function = ctypes.CDLL(library)["__cxa_demangle"]
            free = ctypes.CDLL(None)["free"]
        except (OSError, AttributeError, TypeError):  # Windows has no library without a name
            continue
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        function.restype = ctypes.c_void_p
        free.argtypes = (ctypes.c_void_p,)
        free.restype = None
        return lambda name: _text(name, function, free)
    return None


def _text(name: str, function: Callable[..., int | None], free: Callable[[int], None]) -> str | None:
    """Return what the C++ library says of a name; None if it says nothing, or too much."""
    try:
        mangled = name.encode()
    except UnicodeEncodeError:
        return None
    address = function(mangled, None, None, None)
    if not address:
        return None
    try:
        text = ctypes.string_at(address)
    finally:
        free(address)
    return None if len(text) > MAX_TEXT else text.decode(errors="backslashreplace")


_SUFFIX = re.compile(r"(?: const| volatile| &{1,2}| \[clone [^\]]*\]| \(\.[^)]*\))+$")


@lru_cache(maxsize=1 << 10)
def without_parameters(name: str) -> str:
    """Return the name of a function without its parameters and without the type that a template returns."""
    name = _SUFFIX.sub("", name)
    if name.endswith(")"):
        depth = 0
        for index in range(len(name) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(name[index], 0)
            if not depth:
                name = name[:index]
                break
    operator = name.find("operator")
    places = [index for index in _outside(name) if name[index] == " " and not 0 <= operator < index]
    return name[places[-1] + 1 if places else 0 :]


def short_names(name: str) -> tuple[str, ...]:
    """Return what people call a function: with and without template arguments, with and without scopes."""
    whole = without_parameters(demangled(name))
    names = [whole]
    if whole.endswith(">") and "operator" not in whole:
        names.append(whole[: _opening(whole)])
    names += [each[_last_scope(each) :] for each in names]
    return tuple(dict.fromkeys(filter(None, names)))


def _opening(name: str) -> int:
    """Return where the last pair of angle brackets opens."""
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(name[index], 0)
        if not depth:
            return index
    return len(name)


def _outside(name: str) -> list[int]:
    """Return the places of the characters that are in no brackets."""
    depth, places = 0, []
    for index, character in enumerate(name):
        if character in "<({":
            depth += 1
        elif character in ">)}":
            depth = max(0, depth - 1)
        elif not depth:
            places.append(index)
    return places


def _last_scope(name: str) -> int:
    places = [index for index in _outside(name) if name[index] == ":"]
    return places[-1] + 1 if places else 0
