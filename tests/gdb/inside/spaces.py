"""``aspace#address`` and ``info dispatches`` for a GDB that does not know them, as ROCgdb does."""

import json
import re
from pathlib import Path
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


def teach(state: str | None = None) -> None:
    """Let expressions have address spaces; and let there be a table of the dispatches in a snapshot."""
    gdb.parse_and_eval = evaluate
    if state is not None:
        table = "\n".join(map(_row, json.loads(Path(state).read_text())["dispatches"]))
        execute = gdb.execute
        gdb.execute = lambda text, *more, **named: table if text == "info dispatches" else execute(text, *more, **named)


def _row(dispatch: dict[str, Any]) -> str:
    """A dispatch as ROCgdb's `info dispatches` shows it."""
    grid, group = (str(dispatch[each]).replace(" ", "") for each in ("grid", "work_group"))
    name = f"AMDGPU Dispatch 1:1:{dispatch['id']} (PKID {dispatch['id'] - 1})"
    return f"  {dispatch['id']}    {name} {grid} {group} B|Aa|Ra {dispatch['kernel']}"
