"""Names of C++ as linkers see them, ``_ZN2ns3addEif``, as people write them: ``ns::add(int, float)``.

The grammar is that of the Itanium C++ ABI, section 5.1 (External Names); texts are laid out as GDB and c++filt do. What
is not understood, such as expressions over template parameters, stays as it is. A name is read (`reader`) into a tree
of tuples whose first element says what they are (`trees`), and written (`writer`) with its template arguments in place.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dwarfgpu.encoding.mangled.reader import Reader
from dwarfgpu.encoding.mangled.trees import NotUnderstood
from dwarfgpu.encoding.mangled.writer import Writer

MAX_LENGTH = 1 << 14
"""A longer name is left as it is."""

_CLONE = re.compile(r"(?:\.[A-Za-z_]\w*|\.\d+)+$")
"""What compilers put behind the name of a part or a copy of a function: ``.isra.0.cold``."""
_PART = re.compile(r"\.[A-Za-z_]\w*(?:\.\d+)*|(?:\.\d+)+")


@lru_cache(maxsize=1 << 14)
def demangled(name: str) -> str:
    """A name as C++ has it; one that is not mangled, or not understood, as it is."""
    if not name.startswith("_Z") or len(name) > MAX_LENGTH:
        return name
    clone = _CLONE.search(name)
    whole = name if clone is None else name[: clone.start()]
    try:
        text = Writer().text(Reader(whole).whole())
    except (NotUnderstood, RecursionError):
        return name
    return text + "".join(f" [clone {each}]" for each in _PART.findall(name[len(whole) :]))
