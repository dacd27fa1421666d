"""What to type where optimized code has no value of a variable."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from dwarfgpu.compilers import BUILD, is_source
from dwarfgpu.compilers.sources import USUAL_PROCESSOR
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.types.model import Pointer, resolved
from dwarfgpu.render.values import OPTIMIZED_OUT
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.states.program import Attached


def source_hint(command: str, attached: Attached, launched: Launched) -> str | None:
    """Return how to see all variables: by a command that compiles the source of a kernel, which does not optimize it.

    None if the source is not here, or is what runs. The kernels of a program are compiled with it.
    """
    path = _source(attached, launched)
    if path is None or (BUILD.level == "0" and is_source(launched.plan.file.name)):
        return None
    if launched.machine is not None and launched.machine.host is not None:
        return "`dwarfgpu hipcc -O0 -g` builds a program in which nearly every variable has a value"
    words = shlex.join((*BUILD.options, path + _processor(launched)))
    return f"`dwarfgpu {command.format(words)}` compiles it with -O0, where nearly every variable has a value"


def judge_hint(file: str, kernel: str, attached: Attached, launched: Launched) -> str:
    """Return what tells whether optimized code describes its variables rightly."""
    path = _source(attached, launched)
    against = () if path is None else ("--against", path)
    command = shlex.join(("dwarfgpu", "judge", *BUILD.words(), file, kernel, "...", *against))
    return f"compilers describe variables of optimized code wrongly at times: `{command}` checks them"


def _source(attached: Attached, launched: Launched) -> str | None:
    """Return the shorter path of the source of a kernel that is here and can be compiled."""
    line = attached.state.sources.at(launched.plan.start.entry)
    path = None if line is None else SourceTexts().read(line.file).path
    return None if path is None or not is_source(path) else min(path, os.path.relpath(path), key=len)


def _processor(launched: Launched) -> str:
    """Return what goes behind the name of a source that is compiled for the processor of a kernel."""
    of = launched.plan.file.target
    size = of.target.name.rpartition("-wave")[2]
    names = (of.target_id, f"{of.target_id}-wave{size}")  # the first, if the size is the usual one
    name = next((each for each in names if resolve(each).name == of.target.name), of.target_id)
    return "" if name == USUAL_PROCESSOR else f"@{name}"


def hints_of_run(
    running: Running, kernel: str, lacking: Mapping[str, Reason], watched: Collection[str] = ()
) -> Iterator[str]:
    """Yield what to type at the shell where a run has no value of some variables, or of what it watches."""
    missing = _missing(lacking)
    seen = next((name for name, reason in missing.items() if reason.before or reason.after), None)
    if seen is not None and seen not in watched:
        yield f"--watch {seen} shows the values that {seen} has"
    source = source_hint(f"run {{}} {kernel} ...", running.attached, running.launched) if missing else None
    if source is not None:
        yield source


def hints_at_prompt(
    launched: Launched, attached: Attached | None, lacking: Mapping[str, Reason], told: set[str]
) -> Iterator[str]:
    """Yield what to type at the prompt where a kernel has no value of some variables, each way once."""
    missing = _missing(lacking)
    if not missing or attached is None or attached.stopped.machine is not launched.machine:
        return
    source = source_hint("debug {}", attached, launched)
    hints = {} if source is None else {"source": source}
    for name, reason in missing.items():
        hints = dict(ways(name, reason)) | hints  # the first variable of each way is named
    yield from (hint for way, hint in hints.items() if way not in told)
    told.update(hints)


def _missing(lacking: Mapping[str, Reason]) -> dict[str, Reason]:
    return {name: reason for name, reason in lacking.items() if reason.placeholder == OPTIMIZED_OUT}


def ways(name: str, reason: Reason) -> Iterator[tuple[str, str]]:
    """Yield how to see values of a variable in the code as it is."""
    launched = None if reason.launched is None else reason.launched()
    if launched is not None and isinstance(resolved(launched.type), Pointer):
        yield "argument", f'`print *$_arg("{name}")@8` is the memory that {name} pointed to at the launch'
    if reason.before is not None:
        yield "before", f"`history {name}` shows the values that {name} had"
    elif reason.after is not None:
        yield "after", f"`tbreak *{reason.after[0]:#x}` and `continue` stop where {name} has one"
