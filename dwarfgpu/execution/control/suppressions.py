"""Findings of checks that are known: lines such as ``race function=reverse line=k.cl:5 variable=tile*``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.execution.checks.findings import CHECKS
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.control.check_report import NamedFinding


@frozen
class Suppression:
    """Findings of a check that have all of some names; a ``*`` in a name stands for any text."""

    check: str
    names: tuple[tuple[str, re.Pattern[str]], ...]

    def holds(self, finding: NamedFinding) -> bool:
        """Return whether it is one of them."""
        return self.check in ("*", finding.check) and all(
            any(map(pattern.fullmatch, NAMES[word](finding))) for word, pattern in self.names
        )


def _functions(finding: NamedFinding) -> Iterator[str]:
    for side in finding.sides:
        for function in (side.function, *(call.function for call in side.calls[1:])):
            if function is not None:
                yield function


def _lines(finding: NamedFinding) -> Iterator[str]:
    for side in finding.sides:
        for place in (side.position, *(call.source for call in side.calls[1:])):
            if place is not None and place.line:
                yield f"{place.file}:{place.line}"


def _variables(finding: NamedFinding) -> Iterator[str]:
    yield finding.variable or finding.register or ""


NAMES: dict[str, Callable[[NamedFinding], Iterator[str]]] = {
    "function": _functions, "line": _lines, "variable": _variables,
}  # fmt: skip
"""What a line may name, and what a finding has of it: of one side, or of a function that calls it."""


def suppressions(text: str, path: str) -> tuple[Suppression, ...]:
    """Return what the lines of a file say; raise an error for a line that cannot be read."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        check, *words = line.partition("#")[0].split() or [""]
        names = []
        for word in words:
            name, equals, value = word.partition("=")
            if name not in NAMES or not equals or not value:
                known = "a name is one of " + ", ".join(f"{each}=TEXT" for each in NAMES)
                raise UsageError(f"{path}:{number}: {word[:40]!r} names nothing of a finding", hint=known)
            start = r"(?:.*/)?" if name == "line" else ""
            names.append((name, re.compile(start + ".*".join(map(re.escape, value.split("*"))))))
        if check and check not in ("*", *CHECKS):
            hint = nearest_hint(check, CHECKS, f"the checks are {', '.join(CHECKS)}; * is all of them")
            raise UsageError(f"{path}:{number}: there is no check {check[:40]!r}", hint=hint)
        if check:
            found.append(Suppression(check, tuple(names)))
    return tuple(found)
