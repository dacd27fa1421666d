"""GDB as the host of scripts: its selected process, thread, frame and lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.process import (
    CallerProcess,
    GdbProcess,
    is_wave,
    selected_frame,
    stamp_of,
    threads_of,
    watch,
)
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.program.code.code_object import AUTO, CodeObject, opened
from dwarfgpu.states.gdb_process import HOST_DIALECT, open_place, stamp_of_file
from dwarfgpu.states.hosts import in_lane
from dwarfgpu.states.program import Attached, Program
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.targets.target import Target


_LANE = "_lane"
"""The convenience variable of the selected lane (ROCgdb manual); in other GDBs the user may set it."""
_INNER = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
"""Frames that GDB shows besides calls: those of inlined functions, and of calls that were jumps."""


class GdbHost:
    """GDB as a host of scripts; see `states.hosts.Host`."""

    def __init__(self) -> None:
        self.processes = Processes()
        self._last: tuple[Wave, int, Any, int] | None = None
        """The last call that was counted: its wave, the count of writes then, GDB's frame of it, and its level."""
        self._last_of_gdb: tuple[tuple[Wave, int, int], tuple[Frame, ...]] | None = None
        """The last call that GDB alone found: its wave, its level, the count of writes then, and its frames."""

    def attached(self) -> Attached:
        thread = _thread()
        self.processes.check(thread.inferior)
        return self.processes.of(thread)

    def waves(self) -> Sequence[Wave]:
        thread = _thread()
        self.processes.check(thread.inferior)
        if not is_wave(thread):
            thread = next((wave for wave in threads_of(thread.inferior) if is_wave(wave)), thread)
        return list(self.processes.of(thread))

    def wave(self) -> Wave:
        thread = _thread()
        attached = self.processes.of(thread)
        machine: Any = attached.stopped.machine
        number: int = machine.process.numbers[thread]
        return attached[number]

    def frame(self) -> Frame:
        return self.frame_of(None)

    def frame_of(self, chosen: Any) -> Frame:
        """Return the library's frame for a frame of GDB; None means the selected one."""
        wave = self.wave()
        try:
            chosen = selected_frame() if chosen is None else chosen
            outside = _outside(chosen)
            level = self._level(wave, chosen)
            if not _call(wave, level) and not is_wave(_thread()):
                frame = self._of_gdb(wave, chosen, level, outside)
            else:
                frame = _numbered(wave, level, outside, chosen.pc())
        except gdb.error as error:
            raise UsageError(f"GDB has no frame: {error}", kind="no_frame") from None
        return in_lane(frame, selected_lane())

    def _of_gdb(self, wave: Wave, chosen: Any, level: int, outside: int) -> Frame:
        """Return the frame of a call that GDB alone finds, with the registers that GDB has for it."""
        key = wave, level, wave.stopped.machine.changes
        if self._last_of_gdb is None or self._last_of_gdb[0] != key:
            while chosen.type() in _INNER and chosen.older() is not None:
                chosen = chosen.older()
            attached = self.processes.caller(_thread(), chosen)
            self._last_of_gdb = key, attached[0].call(0)
        frames = self._last_of_gdb[1]
        return frames[max(0, len(frames) - 1 - outside)]

    def _level(self, wave: Wave, frame: Any) -> int:
        """Return which call a frame of GDB belongs to, 0 for the innermost one.

        GDB's own levels do not count calls: GDB also shows calls that were jumps, and does not show inlined
        functions at their first instruction. The count goes on from the frame of the last question if it
        reaches that, so that walking up a long stack takes linear time.
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


@cache
def gdb_host() -> GdbHost:
    """Return the host of this GDB."""
    return GdbHost()


def selected_lane() -> int | None:
    """Return the lane selected in GDB, if GDB knows lanes or the user has set ``$_lane``."""
    value = gdb.convenience_variable(_LANE)
    try:
        return None if value is None else int(value)
    except (gdb.error, TypeError):  # the variable is void, or no number
        return None


def select_lane(number: int | None) -> None:
    """Select a lane in GDB; None where none was. ROCgdb has a command for it, and a variable that only it sets."""
    try:
        gdb.execute(f"lane {number}", to_string=True)
    except gdb.error:
        gdb.set_convenience_variable(_LANE, number)


@contextmanager
def selected_lane_stays() -> Iterator[None]:
    """Select the lane that was selected before again at the end."""
    before = selected_lane()
    try:
        yield
    finally:
        select_lane(before)


def _thread() -> Any:
    thread = gdb.selected_thread()
    if thread is None:
        raise no_process()
    return thread


def no_process() -> UsageError:
    """Return the error that GDB has no process."""
    return UsageError(
        "GDB has no process to read from",
        kind="no_process",
        hint="start the program, attach to one, or open a core file",
    )


# --- Frames -------------------------------------------------------------------------------------------------------


def _outside(frame: Any) -> int:
    """Return how many functions a frame of GDB is inlined into."""
    if frame.type() == gdb.DUMMY_FRAME:
        message = "GDB has made this frame for a function that it calls: nothing of the program executes in it"
        raise UsageError(message, kind="no_frame", hint="select another frame")
    if frame.type() == gdb.TAILCALL_FRAME:
        name = frame.name() or "this function"
        raise UsageError(
            f"the frame of {name} no longer exists: it ended with a jump to its callee",
            kind="no_frame",
            hint="select another frame",
        )
    outside = 0
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
        outside += 1
    return outside


def _call(wave: Wave, level: int) -> tuple[Frame, ...]:
    """Return the frames of a call, 0 for the innermost one. Calls that were jumps do not count, as in GDB's levels."""
    number = 0
    while (frames := wave.call(number)) and (level or frames[-1].is_tail_call):
        level -= not frames[-1].is_tail_call
        number += 1
    return frames


def _numbered(wave: Wave, level: int, outside: int, pc: int) -> Frame:
    """Return the library's frame of a call, after ``outside`` inlined ones from the outermost."""
    frames = _call(wave, level)
    if not frames:
        message = f"GDB's frame is call {level} of {wave.id}, which dwarfgpu does not find"
        raise UsageError(message, kind="no_frame", hint=f"its stack ends because: {wave.end.message}")
    if frames[0].pc != pc:
        message = f"GDB's frame is at {pc:#x}, and call {level} of {wave.id} at {frames[0].pc or 0:#x}"
        raise UsageError(message, kind="no_frame", hint="GDB and dwarfgpu unwind this stack differently")
    return frames[max(0, len(frames) - 1 - outside)]


# --- Processes ----------------------------------------------------------------------------------------------------


@frozen
class _Stop:
    """A stopped inferior: its threads and whether they are waves, and what is attached of them."""

    stamp: Any
    threads: dict[Any, bool]
    attached: dict[bool, Attached]


class Processes:
    """The processes that are attached: the threads or the waves of each inferior."""

    def __init__(self) -> None:
        self._programs: dict[Any, Program] = {}
        self._stops: dict[int, _Stop] = {}
        self._reading: dict[str, Any] = {"dialect": None, "attributes": None, "repair": AUTO}
        """How the DWARF of files is read, as `Program.read_as` takes it."""
        self._trusts_lists = True

    def read_anew(self, reading: dict[str, Any]) -> None:
        """Read the DWARF of files in another way from now on."""
        self._reading = reading
        self._stops.clear()

    def trust_lists(self, *, is_on: bool) -> None:
        """Count registers of callers as kept where locations hold after the call, or do not, from now on."""
        self._trusts_lists = is_on
        self._stops.clear()

    def of(self, thread: Any) -> Attached:
        """Return the process of a thread, with all threads of its kind."""
        inferior, stamp = thread.inferior, stamp_of(thread)
        stop = self._stops.get(inferior.num)
        if stop is None or stop.stamp != stamp or thread not in stop.threads:
            kinds = {member: is_wave(member) for member in threads_of(inferior)}
            stop = self._stops[inferior.num] = _Stop(stamp, kinds, {})
        kind = stop.threads[thread]
        attached = stop.attached.get(kind)
        if attached is None:
            threads = [member for member, member_kind in stop.threads.items() if member_kind == kind]
            attached = stop.attached[kind] = self._attach(inferior, threads, threads.index(thread), is_wave=kind)
        return attached

    def caller(self, thread: Any, frame: Any) -> Attached:
        """Return a thread as GDB has it in a frame."""
        process = CallerProcess(thread, frame)
        program, target = self.program_of(process, is_wave=False)
        attached = program.attach(GdbBackend(target, process))
        newer = frame.newer()  # a frame that was interrupted goes on there, and not behind a call
        is_interrupted = newer is not None and newer.type() in (gdb.SIGTRAMP_FRAME, gdb.DUMMY_FRAME)
        attached.stopped.is_in_call = frame.level() > 0 and not is_interrupted
        attached.state.remembered = self.of(thread).state.remembered
        attached.state.trusts_lists = self._trusts_lists
        return attached

    def check(self, inferior: Any) -> None:
        """Forget the threads of an inferior if some have ended: not every GDB tells of that."""
        stop = self._stops.get(inferior.num)
        if stop is not None and not all(thread.is_valid() for thread in stop.threads):
            del self._stops[inferior.num]

    def program_alone(self) -> Program | None:
        """Return the program of the file that GDB has, without a process."""
        space = gdb.current_progspace()
        names = [space.filename, *(objfile.filename for objfile in space.objfiles())]
        name = next(filter(None, names), None)
        if name is None:
            return None
        return self._kept(gdb.selected_inferior().num, name, watch().files, partial(opened, name))

    def _attach(self, inferior: Any, threads: list[Any], thread: int, *, is_wave: bool) -> Attached:
        from dwarfgpu.gdbplugin.convenience import gdb_remembered

        process = GdbProcess(inferior, threads)
        program, target = self.program_of(process, thread, is_wave=is_wave)
        attached = program.attach(GdbBackend(target, process))
        attached.state.remembered = gdb_remembered()
        attached.state.trusts_lists = self._trusts_lists
        return attached

    def program_of(self, process: GdbProcess, thread: int = 0, *, is_wave: bool = True) -> tuple[Program, Target]:
        """Return the program that a thread executes, and its target."""
        try:
            program = self._program(process, thread, is_wave=is_wave)
            return program, _target(process, thread, program)
        except Refused as refused:
            number = process.threads[thread].num
            raise UsageError(f"GDB does not give the pc of thread {number}: {refused.why}") from None

    def _program(self, process: GdbProcess, thread: int, *, is_wave: bool) -> Program:
        """Return the program of a process: its own file, or the code object that a wave executes."""
        name = None if is_wave else process.program
        number, changes = process.inferior.num, process.file_changes
        if name is not None:
            try:
                return self._kept(number, name, changes, partial(opened, name))
            except DwarfGpuError:
                pass  # a program of another machine, or a deleted one: the file is found by its code
        pc = process.read_register(thread, "pc")
        for place in process.files():
            if any(low <= pc < high for low, high in place.code):
                make = partial(open_place, place, process.read)
                return self._kept(number, place.name, changes, make)
        message = f"GDB knows no file with the code at {pc:#x}"
        raise UsageError(message, kind="no_code", hint="load one with `add-symbol-file FILE -o ADDRESS`")

    def _kept(self, inferior: int, name: str, changes: int, make: Any) -> Program:
        """Return a program, opened once as long as its file does not change."""
        key = inferior, name, stamp_of_file(name, changes), *self._reading.values()
        program = self._programs.get(key)
        if program is None:
            file: CodeObject = make()
            reading = self._reading
            dialect = reading["dialect"]
            if dialect is None and file.target.target.default_dialect == "gnu":
                dialect = HOST_DIALECT
            if reading["attributes"] is not None:
                file = file.read_as(reading["attributes"])
            program = self._programs[key] = Program(file, dialect=dialect, repair=reading["repair"])
        return program


def _target(process: GdbProcess, thread: int, program: Program) -> Target:
    """Return the target of a thread's code: the one GDB names, or that of the file where a stub names another."""
    name = process.architecture(thread)
    target = program.target
    if name.startswith("amdgcn"):
        target = resolve(name.replace(":", "-", 1))
    elif name.startswith("i386:x86-64") and target.execution_mask is None:
        return resolve("x86_64")
    if target.name == "generic":
        raise UsageError(f"dwarfgpu does not support GDB's architecture {name}", kind="unknown_target")
    lanes = process.lane_count(thread) if target.execution_mask is not None else None
    if lanes not in (None, target.lane_count):
        base = target.name.removesuffix("-wave32").removesuffix("-wave64")
        return resolve(":".join((f"{base}-wave{lanes}", *target.features)))
    return target
