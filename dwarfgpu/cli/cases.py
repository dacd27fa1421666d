"""Files of cases (docs/cases.md): a case a line, answered as JSON on a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.session import BAD_FILE, MAX_REPORTED, OK, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session

SECTIONS = {"cfi": "run_frame_case", "lists": "run_list_case"}
"""The commands whose cases are sections in hex, and the functions that answer them."""


def sections(session: Session, name: str, path: str) -> int:
    """Answer the cases of `cfi --cases FILE` or `lists --cases FILE`."""
    from dwarfgpu.cases import section_cases

    return answer_cases(session, path, getattr(section_cases, SECTIONS[name]))


def answer_cases(session: Session, path: str, run: Callable[[object, int], dict[str, Any]]) -> int:
    """Answer every case of a file in order; ``run`` takes a case and its line number.

    A line that is no case is reported, and the others are answered all the same.
    """
    from dwarfgpu.cases.case import parse_line
    from dwarfgpu.strict_json import NotACase

    bad = 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            session.print(json.dumps(run(parse_line(line, number), number)))
        except NotACase as error:
            bad += 1
            if bad <= MAX_REPORTED:
                session.report(error, path)
        session.out.flush()  # whoever writes a case and waits for its answer must get it
    if bad > MAX_REPORTED:
        session.err.write(f"dwarfgpu: error: {path}: and {bad - MAX_REPORTED} more lines that are no case\n")
    return BAD_FILE if bad else OK
