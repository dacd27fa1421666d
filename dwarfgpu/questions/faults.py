"""Questions about crashes and hangs: ``fault`` and ``info fault``."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from itertools import chain
from time import process_time
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.faults.fault_log import logged_faults, reported_address
from dwarfgpu.audits.faults.waits import waiting_groups
from dwarfgpu.audits.faults.wave_faults import source_at, with_changes
from dwarfgpu.compilers import is_source
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.frames.variable import PARAMETER
from dwarfgpu.program.frames.wave_positions import waves_of
from dwarfgpu.questions.debugger import Debugger
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.execution import KernelRun, session
from dwarfgpu.questions.selection import select
from dwarfgpu.questions.sources import sources_of
from dwarfgpu.regular_files import open_input, read_input, read_stream
from dwarfgpu.render import faults as render
from dwarfgpu.render.layout import paragraphs
from dwarfgpu.render.values import value_line
from dwarfgpu.states.opening import STATE_HINT, without_code
from dwarfgpu.states.program import paths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.faults.fault_log import LoggedFault
    from dwarfgpu.audits.faults.wave_faults import WaveFault
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.program import Program
    from dwarfgpu.states.stopped import Stopped

MOST_SECONDS = 1.0
"""How long the search for what changed the variables of an access lasts."""
MAX_VALUE = 60
"""The characters of a value before and after a change."""
MAX_LOG = 1 << 26
"""How many bytes a log may have."""


def fault(selection: Selection, arguments: Arguments) -> Document:
    logged = None if arguments.get("log") is None else logged_faults(_log_text(arguments.get("log")))
    words: tuple[str, ...] = ()
    if arguments.words or arguments.has("state"):
        words = _select_state(selection, arguments, is_logged=logged is not None)
    if selection.attached is None and logged is not None:
        return _logged_document(logged, selection.program)
    if selection.attached is None:
        hint = "`dwarfgpu fault STATE CODE` names both, and `target snapshot S` attaches a state at a prompt"
        raise UsageError("no state with waves and their code", kind="no_machine", hint=hint)
    machine = selection.machine
    reader, address = sources_of(selection).reader, _address(arguments, logged or ())
    found = list(render.faults_in(machine.stopped, reader, selection.call_writer, address))
    found = _with_changes(selection, arguments, found)
    waits = [*waiting_groups(machine.stopped, is_after_crash=bool(found))]
    none = None
    if not found and not waits:
        hint = "`dwarfgpu waves`, or `info waves` at a prompt, shows where each wave is"
        none = NotFound("no_fault", "no wave has crashed, and no wave is known to wait", hint=hint)
        if not logged:
            raise none

    goes_back = isinstance(selection, Debugger) and selection.state_of(KernelRun).debugging is not None

    def text(_output: Output) -> Iterator[str]:
        rest = [render.waits_text(waits, is_after_crash=bool(found))] if waits else []
        told = [render.logged_text(logged)] if logged else []
        return paragraphs([*told, *(render.fault_text(each, goes_back=goes_back) for each in found), *rest])

    data = render.faults_json(machine, found, waits, logged)
    document = Document(data, text, rows="faults", problems=[none] if none else ())
    if words:
        at = "".join(f" --wave {each.numbers[0] + 1} --lane {each.lane or 0}" for each in found[:1])
        document.hints.append(f"`dwarfgpu debug {shlex.join(words)}{at}` looks around: bt, info locals, x/i $pc")
    return document


def _select_state(selection: Selection, arguments: Arguments, *, is_logged: bool) -> tuple[str, ...]:
    """Select the state and the file of the words; return the words with which `debug` opens them."""
    if selection.attached is not None:
        raise arguments.wrong("takes no operand: the state is attached")
    if arguments.has("state"):
        states = arguments.many("state")
        return _attach(selection, arguments, states if len(states) > 1 else states[0], arguments.words)
    state, *files = arguments.words
    if is_logged and not files and _is_code(state):
        select(selection, {"file": state})
        return ()
    if " " in state and not os.path.lexists(state):
        hint = "a line of the console or of the kernel's log follows -log"
        raise UsageError(f"there is no file {state[:60]!r}", hint=hint)
    if _is_code(state):
        if not files or _is_code(files[0]):
            raise UsageError(f"{state} is code, not a state: `dwarfgpu fault STATE FILE`", hint=STATE_HINT)
        state, files = files[0], [state, *files[1:]]
    return _attach(selection, arguments, state, files)


def _attach(
    selection: Selection, arguments: Arguments, state: str | Sequence[str], files: list[str]
) -> tuple[str, ...]:
    if len(files) > 1:
        raise UsageError(f"`fault` is about one state and one file, not {1 + len(files)}")
    select(selection, {"state": state, "file": files[0] if files else None, "force": arguments.has("force")})
    if selection.attached is None:
        raise without_code(paths_of(state))
    if isinstance(state, str) and not files:
        return (state,)
    states = chain.from_iterable(("--state", each) for each in ((state,) if isinstance(state, str) else state))
    return (*files, *states, *(("--force",) if arguments.has("force") else ()))


def _with_changes(selection: Selection, arguments: Arguments, faults: list[WaveFault]) -> list[WaveFault]:
    """Return faults with what changed the variables of the first last, found now or kept in a snapshot."""
    with suppress(DwarfGpuError):
        if faults and isinstance(selection, Debugger):
            return [with_executed_changes(session(selection, arguments.command), faults[0]), *faults[1:]]
    return [with_changes(each, selection.machine.stopped.machine) for each in faults]


def with_executed_changes(debugging: Debugging, fault: WaveFault) -> WaveFault:
    """Return a fault with what changed the variables of its access, or of a call that led there, last.

    If there are none in memory or registers, what changed the registers of the address. It is searched for a second in
    what the machine has executed.
    """
    access = fault.accesses[0] if fault.accesses else None
    if access is None or not access.lanes or fault.lane is None:
        return fault
    lane, wave, until = fault.lane, access.lanes[0].number, process_time() + MOST_SECONDS
    found: list[Any] = []
    accessed = access.expression or " ".join(re.findall(r"\[([^\]]*)", fault.line or ""))
    own = [row for row in fault.values if row[0] in re.findall(r"\w+", accessed)]
    others = (row for row in fault.values if not row[0].isidentifier())  # `p[i].cell` before `i`
    parts = [row for row in others if re.search(rf"(?<![\w.])(?<!->){re.escape(row[0])}(?!\w)", accessed)]
    is_spill = access.overflows and not accessed  # what the source names has no part in it
    calls = [] if is_spill else [(each.frame, each.values, each.line or "") for each in fault.callers]
    try:
        debugging.history.fill(until)
        for frame, rows, line in ((fault.frame, parts, accessed), (fault.frame, own, accessed), *calls):
            parameters = {each.name for each in frame.variables() if each.kind == PARAMETER}
            names = sorted((row[0] for row in rows), key=parameters.__contains__)
            for name, text in ((each, text) for each in names for text in _members(each, line)):
                with suppress(DwarfGpuError):
                    change = debugging.last_change(text, wave, lane, frame.number, until, _line_text)
                    is_own = name not in parameters or (
                        change is not None and not debugging.running.reader.at(change.pc).is_prologue
                    )
                    found += [change] if change is not None and is_own and not _begins(frame, change.pc) else []
            if found:
                break
        is_open = not found and not access.is_null  # a null pointer was not computed
        made = debugging.last_address(access.address, wave, lane, until) if is_open else []
        found += [each for each in made if _is_elsewhere(fault, each.pc)]
    except TimeoutError:
        if not found:
            why = f"what changed the variables last was not found in {MOST_SECONDS:g} s: `watch` goes further"
            return evolve(fault, problems=(*fault.problems, why))
    return with_changes(fault, debugging.machine, found)


def _members(name: str, line: str) -> list[str]:
    """Return the members of a structure that a line names, such as ``s.next``; the variable itself if there are none.

    What changed another member is no cause.
    """
    found = re.findall(rf"(?<![\w.>]){re.escape(name)}(?:\s*\.\s*[A-Za-z_]\w*)+", line)
    return [*dict.fromkeys(found)] or [name]


def _is_elsewhere(fault: WaveFault, pc: int) -> bool:
    """Return whether an instruction is of another line than the one that failed."""
    sources = source_at(fault.frame, pc), fault.source  # what the compiler made has line 0
    place, failed = ((each.file, each.line) if each and each.line else None for each in sources)
    return place is not None and place != failed


def _begins(frame: Frame, pc: int) -> bool:
    """Return whether an instruction is at the start of a function, where parameters get their place."""
    source = source_at(frame, pc)
    declared = None if frame.function is None else frame.function.find_number(dw.DW_AT_decl_line)
    return source is None or (declared is not None and source.line == declared.unsigned())


def _logged_document(logged: list[LoggedFault], program: Program | None) -> Document:
    """Return what a log alone says, and how to learn the rest."""
    file = None if program is None else program.file
    kernels = None if file is None else [kernel.demangled for kernel in file.kernels.kernels]

    def text(_output: Output) -> Iterator[str]:
        return paragraphs([render.logged_text(logged), render.not_logged_text(logged, file)])

    data = {
        "logged": map(render.LOGGED.json, logged), "not_known": render.not_logged(logged), "kernels": kernels,
        "faults": [],
    }  # fmt: skip
    return Document(data, text, rows="logged")


def _log_text(word: str) -> str:
    """Return the text of a log: a file, standard input, or the lines themselves."""
    if not word.strip():
        hint = "a file, `-` for standard input, or a line of the console itself"
        raise UsageError("-log is empty", hint=hint)
    if word == "-":
        data = read_stream(sys.stdin.buffer, "standard input", MAX_LOG)
    elif not os.path.lexists(word) and (" " in word or word.startswith("HSA_")):
        return word
    else:
        data = read_input(word, MAX_LOG)
    return data.decode(errors="replace")


def _is_code(path: str) -> bool:
    """Return whether a file is a source, or begins as code objects do, and core files do not."""
    if is_source(path):
        return True
    try:
        with open_input(path) as file:
            head = file.read(18)
    except DwarfGpuError:
        return False
    return head[:4] == b"\x7fELF" and head[16:18] != b"\x04\x00"


def _address(arguments: Arguments, logged: Iterable[LoggedFault]) -> int | None:
    word = arguments.get("address")
    if word is None:
        return reported_address(logged)
    with suppress(ValueError):
        if 0 <= int(word, 0) < 1 << 64:
            return int(word, 0)
    raise UsageError(f"-address takes an address such as 0x7f0000001000, not {word[:40]!r}")


def faults_of_run(selection: Selection, running: Running) -> list[WaveFault]:
    """Select the machine of a run, and return why waves have stopped, with what changed the variables last."""
    from dwarfgpu.execution.control.debugging import Debugging

    selection.use(running.program, running.attached)
    found = list(render.faults_in(running.attached.stopped, sources_of(selection).reader, selection.call_writer))
    if not found or running.machine.past is None:
        return found
    return [with_executed_changes(Debugging(running.launched, attached=running.attached), found[0]), *found[1:]]


def note_changes(stopped: Stopped, faults: Iterable[WaveFault] = ()) -> None:
    """Put into the machine who has changed last what loops read and what crashed, for states that are made of it."""
    waves_of(stopped).variable_changes = [row.change for fault in faults for row in fault.changes]
    spins = [row.spin for group in waiting_groups(stopped) for row in group.rows if row.spin is not None]
    changes = {read.last_change: None for spin in spins for read in spin.reads if read.last_change is not None}
    waves_of(stopped).last_changes = [*changes]


def _line_text(value: Any, _frame: Frame) -> str:
    return value_line(value, MAX_VALUE)
