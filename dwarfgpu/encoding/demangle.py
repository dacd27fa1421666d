"""Turn the mangled names of C++ symbols into what a programmer wrote: ``_ZN2ns3addEif`` is ``ns::add(int, float)``.

The work is done by ``__cxa_demangle`` of the C++ library of the machine, which is loaded with the first mangled name.
Without a C++ library names stay mangled.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
    return name if demangle is None else demangle(name) or name


@cache
def _library_function() -> Callable[[str], str | None] | None:
    """Return the function that demangles a valid name; None if no C++ library can be loaded."""
    for library in LIBRARIES:
        try:
            function = ctypes.CDLL(library)["__cxa_demangle"]
            free = ctypes.CDLL(None)["free"]
        except (OSError, AttributeError):
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
