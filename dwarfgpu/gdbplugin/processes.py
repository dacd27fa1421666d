"""The processes of GDB with their programs: attached when somebody asks, and again when they have run since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.gdb.backend import GdbBackend, Refused
from dwarfgpu.backends.gdb.process import GdbProcess, is_wave, stamp_of, threads_of
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.files.codeobject import opened
from dwarfgpu.program.machines.live import open_place, stamp_of_file
from dwarfgpu.program.program import Attached, Program
from dwarfgpu.records import record
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.targets.target import Target


@record
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

    def _attach(self, inferior: Any, threads: list[Any], thread: int, *, is_wave: bool) -> Attached:
        process = GdbProcess(inferior, threads)
        try:
            program = self._program(process, thread, is_wave=is_wave)
            target = _target(process, thread, program)
        except Refused as refused:
            number = threads[thread].num
            raise UsageError(f"GDB does not say where thread {number} stands: {refused.why}") from None
        return program.attach(GdbBackend(target, process))

    def _program(self, process: GdbProcess, thread: int, *, is_wave: bool) -> Program:
        """The program of a process: its own file, or the code object that a wave executes."""
        name = None if is_wave else process.program
        if name is not None:
            try:
                return self._kept(process, name, lambda: opened(name))
            except DwarfGpuError:
                pass  # a program of another machine, or one that is not there any more: its code is looked for
        pc = process.read_register(thread, "pc")
        for place in process.files():
            if any(low <= pc < high for low, high in place.code):
                return self._kept(process, place.name, lambda place=place: open_place(place, process.read))
        message = f"GDB knows no file with the code at {pc:#x}"
        raise UsageError(message, kind="no_code", hint="load one with `add-symbol-file FILE -o ADDRESS`")

    def _kept(self, process: GdbProcess, name: str, make: Any) -> Program:
        """A program, opened once as long as its file stays as it is."""
        key = process.inferior.num, name, stamp_of_file(name, process.file_changes)
        found = self._programs.get(key)
        if found is None:
            file: CodeObject = make()
            found = self._programs[key] = Program(file)
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
