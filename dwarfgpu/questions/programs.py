"""Commands about a whole program that is debugged: what it has launched, and its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.execution import NOT_RUN, KernelRun
from dwarfgpu.render.layout import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.execution import WholeProgram
    from dwarfgpu.questions.registry import Arguments

_NAMES = "number", "kernel", "grid", "work_group", "state", "place"


def _whole(debugger: Debugger) -> WholeProgram:
    whole = debugger.state_of(KernelRun).whole
    if whole is None:
        raise UsageError("no program is debugged as a whole", hint="`dwarfgpu debug --args PROGRAM` does that")
    return whole


def info_launches(debugger: Debugger, arguments: Arguments) -> Document:
    rows = _whole(debugger).rows()

    def lines() -> Iterator[str]:
        if not rows:
            yield "No kernel was launched yet."
            return
        head = ("Num", "Kernel", "Grid", "Work-group", "State", "Launched at")
        cells = [(str(row["number"]), *(str(row[name]) for name in _NAMES[1:])) for row in rows]
        yield from table([head, *cells], "rlllll", indent=0, is_headed=True)

    return Document({"launches": rows}, lambda _output: lines(), rows="launches")


def host(debugger: Debugger, arguments: Arguments) -> Document:
    whole = _whole(debugger)
    if not whole.is_running:
        raise UsageError(NOT_RUN, kind="cannot_run", hint="`run` starts the program")
    if not arguments.text:
        calls = whole.calls()
        return Document({"calls": calls}, [f"#{number}  {line}" for number, line in enumerate(calls)])
    answer = whole.ask(arguments.text)
    return Document({"answer": answer}, answer.splitlines())
