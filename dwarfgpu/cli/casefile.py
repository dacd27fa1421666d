"""Files of cases: a JSON object a line, each answered on a line, for every command that has ``--cases``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.session import BAD_FILE, OK, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session


MAX_REPORTED = 20
"""How many lines that are no case are shown before the rest is only counted."""


def answer_cases(session: Session, path: str, run: Callable[[object, int], dict[str, Any]]) -> int:
    """Answer every case of a file in order; ``run`` takes a case and its line number.

    A line that is no case is reported, and the others are answered all the same.
    """
    from dwarfgpu.program.cases.run import NotACase, parse_line

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
