"""Questions about crashes and hangs: ``fault`` and ``info fault``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.faults.waits import AT_BARRIER, waiting_groups
from dwarfgpu.audits.faults.wave_faults import wave_faults
from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.selection import select
from dwarfgpu.questions.sources import sources_of
from dwarfgpu.render import faults as render
from dwarfgpu.render.layout import paragraphs, problem_json
from dwarfgpu.render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.faults.wave_faults import WaveFault
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.code.source_files import SourceTexts
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.stopped import Stopped


def fault(selection: Selection, arguments: Arguments) -> Document:
    """The kernel and the line that failed, the instruction with the address that each lane made, how far that is
    outside of which argument, and the variables of the line. Where several accesses were outstanding, those whose
    addresses have no memory are shown, the likeliest first. -address is the address that the driver or the kernel's
    log has reported: accesses to its page come first. Where waves wait, each work-group is shown with those that wait
    at a barrier, and those that are not there.
    """
    if arguments.words:
        if selection.attached is not None:
            raise arguments.wrong("takes no operand: the state is attached")
        state, *files = arguments.words
        if len(files) > 1:
            raise UsageError(f"`fault` is about one state and one file, not {len(arguments.words)}")
        select(selection, {"state": state, "file": files[0] if files else None, "force": arguments.has("force")})
    if selection.attached is None:
        hint = "`dwarfgpu fault STATE FILE` names a file" if arguments.words else "`target snapshot S` attaches a state"
        raise UsageError("no state with waves and their code", kind="no_machine", hint=hint)
    machine = selection.machine
    found = list(faults_in(machine.stopped, sources_of(selection).reader, _address(arguments)))
    waits = [*waiting_groups(machine.stopped)]
    if found:  # what else is interrupted by a crash need not wait for long
        waits = [group for group in waits if any(row.kind == AT_BARRIER for row in group.rows)]
    if not found and not waits:
        raise NotFound("no_fault", "no wave has stopped for a reason", hint="`info waves` shows where each wave is")

    def text(_output: Output) -> Iterator[str]:
        rest = [render.waits_text(waits, is_after_crash=bool(found))] if waits else []
        return paragraphs([*map(render.fault_text, found), *rest])

    data = {
        "target": machine.state.target.name,
        "faults": map(render.FAULT.json, found),
        "waits": map(render.WAITS.json, waits),
        "problems": (problem_json(error) for error in machine.stopped.problems),
    }
    return Document(data, text, rows="faults")


def _address(arguments: Arguments) -> int | None:
    word = arguments.get("address")
    if word is None:
        return None
    try:
        return int(word, 0)
    except ValueError:
        raise UsageError(f"-address takes a number such as 0x7f0000001000, not {word[:40]!r}") from None


def faults_in(stopped: Stopped, reader: SourceTexts, address: int | None = None) -> Iterator[WaveFault]:
    """Yield why waves have stopped, with the lines of the source."""
    return wave_faults(stopped, partial(_line, reader), address, _written)


def _line(reader: SourceTexts, frame: Frame, source: SourceLine | None) -> str | None:
    file = None if source is None or source.file is None else frame.state.sources.with_path(source.file, frame.unit)
    return None if file is None or source is None else reader.read(file).line(source.line)


def _written(_frame: Frame, value: Any) -> str:
    return value_text(value)
