"""``aspace#address`` for a GDB that does not know it, as the stub of these tests has the spaces."""

from __future__ import annotations

import re
from typing import Any

import gdb

from dwarfgpu.targets.resolve import resolve
from tests.gdb.stub import SPACE_SHIFT

NUMBERS = {space.name: space.number for space in resolve("amdgcn-gfx90a").spaces() if space.alias is None}
_ADDRESS = re.compile(r"(\w+)#(0x[0-9a-f]+)")
_plain = gdb.parse_and_eval


def evaluate(text: str) -> Any:
    """What ROCgdb's operator ``#`` gives, and everything else as it is."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return _plain(text)
    if found[1] not in NUMBERS:
        raise gdb.error(f"Address space {found[1]} not recognised by the architecture")
    return gdb.Value(NUMBERS[found[1]] << SPACE_SHIFT | int(found[2], 16))


def teach() -> None:
    """Let expressions have address spaces."""
    gdb.parse_and_eval = evaluate
