"""What a program has not ordered, and errors that it never looks at: at the right lines, and not in mended twins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dwarfgpu.runtimes.order import ATOMIC, LEGACY, READ, WRITE, HostOrder
from tests.builders.parameters import some_slow
from tests.runtimes.test_hip import built, dwarfgpu, pytestmark  # noqa: F401 (they apply here, too)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNORDERED = {
    "copies": ("hipMemcpyAsync writes bytes 128 to 255 of `a` from ordered.hip:18", 31, 29),
    "kernels": ("add(int*, int const*) reads bytes 0 to 255 of `a` from ordered.hip:18", 36, 34),
    "late-event": ("add(int*, int const*) reads bytes 0 to 255 of `a` from ordered.hip:18", 43, 40),
    "non-blocking": ("add(int*, int const*) reads bytes 0 to 255 of `a` from ordered.hip:18", 47, 46),
    "managed": ("the host accesses byte 12 of `managed` from ordered.hip:20, which fill(int*, int)", 52, 50),
    "pinned": ("the host accesses byte 12 of `pinned` from ordered.hip:21, which hipMemcpyAsync", 58, 56),
    "thread": ("the host accesses byte 12 of `managed` from ordered.hip:20, which fill(int*, int)", 63, 61),
}
"""By the name of an error: what is said, with the lines of both sides."""


@pytest.mark.parametrize("name", some_slow(UNORDERED, quick=["kernels", "managed"]))
def test_unordered(built: Callable[[str], Path], name: str) -> None:  # noqa: F811
    text, line, other = UNORDERED[name]
    said = " ".join(dwarfgpu("exec", "--check=race", built("ordered"), name).stderr.split())
    assert said.startswith(f"error: {text}")
    assert re.findall(r"ordered.hip:(\d+) in ", said)[:2] == [str(line), str(other)]
    assert said.endswith(", 1 error" if name == "copies" else ", 1 error (race)")  # what was checked of launches
    right = dwarfgpu("exec", "--check=race", built("ordered"), name, "right").stderr
    assert right.count("\n") == 1, right


@pytest.mark.slow
def test_what_needs_no_order(built: Callable[[str], Path]) -> None:  # noqa: F811
    done = dwarfgpu("exec", "--check=race", built("ordered"), "harmless")
    assert done.stderr == "7 launches, 3 kernels, no error (race)\n"


@pytest.mark.slow
def test_results_that_nothing_looks_at(built: Callable[[str], Path]) -> None:  # noqa: F811
    said = " ".join(dwarfgpu("exec", built("unread")).stderr.split())
    assert re.findall(r"nothing looks at that at \S+:(\d+) in main", said) == ["23", "24", "27"]
    assert "nothing looks" not in dwarfgpu("exec", built("unread"), "right").stderr


def test_clocks() -> None:
    """Streams by their clocks: events, the legacy stream, streams apart, and the host."""
    first, second, apart = 10, 20, 30

    def conflicts(*steps: tuple[object, ...]) -> int:
        order, count = HostOrder(non_blocking={apart}), 0
        clock: dict[int, int] = {}
        for step in steps:
            if step[0] == "record":
                clock = order.clock(step[1])  # type: ignore[arg-type]
            elif step[0] == "wait":
                order.wait(step[1], clock)  # type: ignore[arg-type]
            elif step[0] == "sync":
                order.synchronize(*step[1:])  # type: ignore[arg-type]
            else:
                stream, kind, start, end = step
                work = order.issue(stream, "work", None)  # type: ignore[arg-type]
                count += len([*order.use(work, start, end, kind)])  # type: ignore[arg-type]
        return count

    write, read = (first, WRITE, 0, 8), (second, READ, 4, 12)
    assert conflicts(write, read) == 1
    assert conflicts((first, READ, 0, 8), read) == 0
    assert conflicts(write, (second, READ, 8, 12)) == 0, "other bytes"
    assert conflicts(write, (first, WRITE, 0, 8)) == 0, "one stream"
    assert conflicts((first, ATOMIC, 0, 8), (second, ATOMIC, 0, 8)) == 0
    assert conflicts((first, ATOMIC, 0, 8), read) == 1
    assert conflicts(write, ("record", first), ("wait", second), read) == 0
    assert conflicts(("record", first), write, ("wait", second), read) == 1, "recorded before it"
    assert conflicts(write, ("sync", first), read) == 0
    assert conflicts(write, ("sync", second), read) == 1
    assert conflicts(write, ("sync",), read) == 0
    assert conflicts(write, (LEGACY, READ, 0, 8), (second, WRITE, 0, 8)) == 0, "the legacy stream stands between both"
    assert conflicts((apart, WRITE, 0, 8), (LEGACY, READ, 0, 8)) == 1
    assert conflicts((LEGACY, WRITE, 0, 8), (apart, READ, 0, 8)) == 1
