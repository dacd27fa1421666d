"""Many snapshots of one code object: what a hanging run of many GPUs leaves."""

import json
from pathlib import Path

from tests.builders.folders import ROOT

CODE = ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co"
BROKEN = ("", "{", "no snapshot", '{"schema": 1}', '{"schema": 1, "code_objects": [{"path": "none.co"}]}')
"""Texts of snapshots that are none."""


def snapshot_text(value: int = 10, code: str | None = None, *, in_lane: int | None = None) -> str:
    """A snapshot of one wave, in which ``even`` has a value in all active lanes, or in one of them."""
    document = json.loads((ROOT / "dwarfgpu" / "examples" / "variables.json").read_text("utf-8"))
    document["code_objects"][0]["path"] = str(CODE) if code is None else code
    document["waves"][0]["registers"]["v2"] = [value if in_lane in (None, lane) else 0 for lane in range(64)]
    return json.dumps(document)


def write_states(folder: Path, count: int, *, broken_each: int = 0, names: dict[int, str] | None = None) -> set[str]:
    """Write snapshots of ranks, each with another value; return the names of those that are broken."""
    folder.mkdir(parents=True, exist_ok=True)
    broken = set()
    for rank in range(count):
        path = folder / f"rank{rank:05}{(names or {}).get(rank, '')}.json"
        text = snapshot_text(rank)
        if broken_each and rank % broken_each == broken_each - 1:
            text = BROKEN[rank // broken_each % len(BROKEN)]
            broken.add(str(path))
        path.write_text(text, "utf-8")
    return broken


def summary_row(name: str, **columns: object) -> dict[str, object]:
    """A row of an input as a summary takes it."""
    empty = dict.fromkeys(("stack", "waves", "rule", "variable", "value", "number", "lane_count", "error_kind"))
    return {**empty, "input": name, "state": "active", **columns}
