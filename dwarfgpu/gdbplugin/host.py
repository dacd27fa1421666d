"""GDB as the host of scripts: the process, the thread, the frame and the lane that are selected in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gdb
from attrs import frozen

from dwarfgpu.backends.gdb.backend import GdbBackend, Refused
from dwarfgpu.backends.gdb.process import GdbProcess, is_wave, selected_frame, stamp_of, threads_of, watch
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.repairs import policy_of
from dwarfgpu.program.program import Attached, Program
from dwarfgpu.program.selection import in_lane
from dwarfgpu.program.stack.gdb_process import HOST_DIALECT, open_place, stamp_of_file
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.wave import Wave
    from dwarfgpu.targets.target import Target


_LANE = "_lane"
"""The convenience variable that says which lane is selected (ROCgdb manual); elsewhere the user may set it."""
_INNER = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
"""Frames that GDB shows beside those of calls: of inlined functions, and made-up ones of calls that were jumps."""


class GdbHost:
    """GDB, as a `program.host.Host`."""

    def __init__(self) -> None:
        self.processes = Processes()
        self._last: tuple[Wave, int, Any, int] | None = None
        """The call that was asked for last: its wave, at how many writes, GDB's frame of it, and its level."""

    def attached(self) -> Attached:
        return self.processes.of(_thread())

    def waves(self) -> Sequence[Wave]:
        thread = _thread()
        if not is_wave(thread):
            thread = next((each for each in threads_of(thread.inferior) if is_wave(each)), thread)
        return list(self.processes.of(thread))

    def wave(self) -> Wave:
        thread = _thread()
        attached = self.processes.of(thread)
        machine: Any = attached.stopped.machine
        return attached[machine.process.threads.index(thread)]

    def frame(self) -> Frame:
        return self.frame_of(None)

    def frame_of(self, chosen: Any) -> Frame:
        """The frame of the library that a frame of GDB is; None is the selected one."""
        wave = self.wave()
        try:
            chosen = selected_frame() if chosen is None else chosen
            outside = _outside(chosen)
            level = self._level(wave, chosen)
            found = _numbered(wave, level, outside, chosen.pc())
        except gdb.error as error:
            raise UsageError(f"GDB has no frame: {error}", kind="no_frame") from None
        return in_lane(found, selected_lane())

    def _level(self, wave: Wave, frame: Any) -> int:
        """Which call a frame of GDB belongs to, 0 for the innermost one.

        Frames are not counted by their level: GDB also shows calls that were jumps, and does not show inlined functions
        at their first instruction. The count goes on from the frame that was asked for last if it passes there, so that
        whoever asks for one after the other does not wait ever longer.
        """
        changes = wave.stopped.machine.changes
        last = self._last if self._last is not None and self._last[:2] == (wave, changes) else None
        level = 0
        inner = frame.newer()
        while inner is not None:
            level += inner.type() not in _INNER
            if last is not None and inner == last[2]:
                level += last[3]
                break
            inner = inner.newer()
        self._last = wave, changes, frame, level
        return level


def gdb_host() -> GdbHost:
    """The host of this GDB."""
    if not _host:
        _host.append(GdbHost())
    return _host[0]


_host: list[GdbHost] = []


def selected_lane() -> int | None:
    """The lane that GDB has selected, if it knows lanes or somebody has said one."""
    found = gdb.convenience_variable(_LANE)
    try:
        return None if found is None else int(found)
    except (gdb.error, TypeError):  # it is void, or no number
        return None


def _thread() -> Any:
    found = gdb.selected_thread()
    if found is None:
        raise no_process()
    return found


def no_process() -> UsageError:
    """GDB has nothing that stands still."""
    return UsageError(
        "GDB has no process that could be asked",
        kind="no_process",
        hint="start the program, attach to one, or open a core file",
    )


# --- Frames -------------------------------------------------------------------------------------------------------


def _outside(frame: Any) -> int:
    """How many functions a frame of GDB is inlined into."""
    if frame.type() == gdb.TAILCALL_FRAME:
        name = frame.name() or "this function"
        raise UsageError(
            f"the frame of {name} is not there any more: it ended with a jump to its callee",
            kind="no_frame",
            hint="select another frame",
        )
    outside = 0
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
        outside += 1
    return outside


def _numbered(wave: Wave, level: int, outside: int, pc: int) -> Frame:
    """The frame of the library: the innermost of a call first, so that what is around counts from the last."""
    found = wave.call(level)
    if not found:
        message = f"GDB's frame is call {level} of {wave.id}, and dwarfgpu finds no such call"
        raise UsageError(message, kind="no_frame", hint=f"the last one ends because: {wave.end.message}")
    if found[0].pc != pc:
        message = f"GDB's frame is at {pc:#x}, and call {level} of {wave.id} at {found[0].pc or 0:#x}"
        raise UsageError(message, kind="no_frame", hint="GDB and dwarfgpu unwind this stack differently")
    return found[max(0, len(found) - 1 - outside)]


# --- The processes of GDB with their programs ---------------------------------------------------------


@frozen
class _Stop:
    """An inferior as it stands: its threads by whether they are waves, and what was attached of them."""

    stamp: Any
    threads: dict[Any, bool]
    attached: dict[bool, Attached]


class Processes:
    """What is attached: of each inferior its threads, or its waves."""

    def __init__(self) -> None:
        self._programs: dict[Any, Program] = {}
        self._stops: dict[int, _Stop] = {}
        self.repair = "auto"
        """Which idioms of compilers are read as they are meant."""

    def read_anew(self, repair: str) -> None:
        """Read idioms of compilers otherwise from now on."""
        self.repair = repair
        self._stops.clear()

    def of(self, thread: Any) -> Attached:
        """The process of a thread, with all threads of its kind."""
        inferior, stamp = thread.inferior, stamp_of(thread)
        stop = self._stops.get(inferior.num)
        if stop is None or stop.stamp != stamp:
            kinds = {each: is_wave(each) for each in threads_of(inferior)}
            stop = self._stops[inferior.num] = _Stop(stamp, kinds, {})
        kind = stop.threads[thread]
        found = stop.attached.get(kind)
        if found is None:
            threads = [each for each, is_other in stop.threads.items() if is_other == kind]
            found = stop.attached[kind] = self._attach(inferior, threads, threads.index(thread), is_wave=kind)
        return found

    def program_alone(self) -> Program | None:
        """The file that GDB has, where nothing runs."""
        space = gdb.current_progspace()
        names = [space.filename, *(each.filename for each in space.objfiles())]
        name = next(filter(None, names), None)
        if name is None:
            return None
        return self._kept(gdb.selected_inferior().num, name, watch().files, partial(opened, name))

    def _attach(self, inferior: Any, threads: list[Any], thread: int, *, is_wave: bool) -> Attached:
        process = GdbProcess(inferior, threads)
        program, target = self.program_of(process, thread, is_wave=is_wave)
        return program.attach(GdbBackend(target, process))

    def program_of(
        self, process: GdbProcess, thread: int = 0, *, is_wave: bool = True
    ) -> tuple[Program, Target]:
        """What a thread executes, and what that is for."""
        try:
            program = self._program(process, thread, is_wave=is_wave)
            return program, _target(process, thread, program)
        except Refused as refused:
            number = process.threads[thread].num
            raise UsageError(f"GDB does not say where thread {number} stands: {refused.why}") from None

    def _program(self, process: GdbProcess, thread: int, *, is_wave: bool) -> Program:
        """The program of a process: its own file, or the code object that a wave executes."""
        name = None if is_wave else process.program
        number, changes = process.inferior.num, process.file_changes
        if name is not None:
            try:
                return self._kept(number, name, changes, partial(opened, name))
            except DwarfGpuError:
                pass  # a program of another machine, or one that is not there any more: its code is looked for
        pc = process.read_register(thread, "pc")
        for place in process.files():
            if any(low <= pc < high for low, high in place.code):
                make = partial(open_place, place, process.read)
                return self._kept(number, place.name, changes, make)
        message = f"GDB knows no file with the code at {pc:#x}"
        raise UsageError(message, kind="no_code", hint="load one with `add-symbol-file FILE -o ADDRESS`")

    def _kept(self, inferior: int, name: str, changes: int, make: Any) -> Program:
        """A program, opened once as long as its file stays as it is."""
        key = inferior, name, stamp_of_file(name, changes), self.repair
        found = self._programs.get(key)
        if found is None:
            file: CodeObject = make()
            dialect = HOST_DIALECT if file.target.target.default_dialect == "gnu" else None
            found = self._programs[key] = Program(file, dialect=dialect, repair=policy_of(self.repair))
        return found


def _target(process: GdbProcess, thread: int, program: Program) -> Target:
    """What the code of a thread is for: what GDB says, or else its file, as where a stub shows waves as threads."""
    name = process.architecture(thread)
    found = program.target
    if name.startswith("amdgcn"):
        found = resolve(name.replace(":", "-", 1))
    elif name.startswith("i386:x86-64") and found.execution_mask is None:
        return resolve("x86_64")
    if found.name == "generic":
        raise UsageError(f"there is no target for GDB's architecture {name}", kind="unknown_target")
    lanes = process.lane_count(thread) if found.execution_mask is not None else None
    if lanes not in (None, found.lane_count):
        base = found.name.removesuffix("-wave32").removesuffix("-wave64")
        return resolve(":".join((f"{base}-wave{lanes}", *found.features)))
    return found
