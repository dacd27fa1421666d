"""The clauses of the heterogeneous extension: `clauses.py SPEC.rst` writes tests/spec/clauses.txt from the text.

A clause is a section of appendix A, a numbered item of one, or an element of the evaluation context (A.2.5.1). The list
comes from the text alone, so `python3 tools/dev.py docs --check` names each clause that no test cites.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CLAUSES = Path(__file__).resolve().parent.parent / "tests/spec/clauses.txt"
REASONS = CLAUSES.with_name("clauses_without_tests.txt")
"""Why a clause has no test, for those that state nothing to test."""
UNDERLINE = re.compile(r"([=~\-#+*_.`^\"'])\1{3,}$")


def clauses(text: str) -> list[tuple[str, str]]:
    """Return each clause of appendix A with its title, in the order of the text."""
    rows: list[tuple[str, str]] = []
    for section, title, body in _sections(text.splitlines()):
        if any(re.match(r"(?!\d+\. )[\w*`]", line) for line in body):  # one without prose of its own is a heading only
            rows.append((section, title))
        list_number = 0
        for line in body:
            if item := re.match(r"(\d+)\. +(.*)", line):
                list_number += item[1] == "1"
                # The second numbered list of a section (the FDE, after the CIE) counts as "2-1", "2-2", ...
                number = item[1] if list_number == 1 else f"{list_number}-{item[1]}"
                rows.append((f"{section} ({number})", _words(item[2])))
            elif section == "A.2.5.1" and (element := re.match(r"\*An? (current [\w ]+|initial stack)\*$", line)):
                rows.append((f"{section} {element[1]}", "Element of the context"))
    return rows


def _sections(lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the number, title and lines of each section of appendix A."""
    headings = [i for i, line in enumerate(lines[:-1]) if UNDERLINE.match(lines[i + 1]) and re.match(r"[A-Z\d]", line)]
    for start, end in itertools.pairwise([*headings, len(lines)]):
        if heading := re.match(r"(A\.[\d.]+) (.*)", lines[start]):
            yield heading[1], heading[2], lines[start + 2 : end]


def _words(text: str) -> str:
    """Return the operation or attribute names of an item's first line, or its first words."""
    names = re.findall(r"DW_\w+", text)
    return ", ".join(names) if names else " ".join(re.sub(r"[*`]", "", text).split()[:6])


def read() -> list[tuple[str, str]]:
    """Return the clauses that are checked in."""
    return _rows(CLAUSES)


def reasons() -> dict[str, str]:
    """Return the reason of each clause that no test can be about."""
    return dict(_rows(REASONS))


def _rows(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t", 1)) for line in lines if not line.startswith("#")]  # type: ignore[misc]


if __name__ == "__main__":
    rows = clauses(Path(sys.argv[1]).read_text(encoding="utf-8"))
    header = (
        "# Made by tools/clauses.py from LLVM's AMDGPUDwarfExtensionsForHeterogeneousDebugging.rst: clause, title.\n"
    )
    CLAUSES.write_text(header + "".join(f"{clause}\t{title}\n" for clause, title in rows), encoding="utf-8")
