"""The processes of GDB with their programs: attached when somebody asks, and again when they have run since."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.gdb.backend import GdbBackend, Refused
from dwarfgpu.backends.gdb.process import GdbProcess, is_wave, threads_of
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.files.codeobject import opened
from dwarfgpu.program.machines.live import open_place
from dwarfgpu.program.program import Attached, Program
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.targets.target import Target


class Processes:
    """What is attached: of each inferior its threads, or its waves."""

    def __init__(self) -> None:
        self._programs: dict[Any, Program] = {}
        self._attached: dict[tuple[int, bool], tuple[Any, Attached]] = {}

    def of(self, thread: Any) -> Attached:
        """The process of a thread, with all threads of its kind."""
        inferior, kind = thread.inferior, is_wave(thread)
        threads = [each for each in threads_of(inferior) if is_wave(each) == kind]
        process = GdbProcess(inferior, threads)
        known = self._attached.get((inferior.num, kind))
        if known is not None and known[0] == process.stamp:
            return known[1]
        try:
            program = self._program(process, threads.index(thread), is_wave=kind)
            target = _target(process, threads.index(thread), program)
        except Refused as refused:
            raise UsageError(f"GDB does not say where thread {thread.num} stands: {refused.why}") from None
        found = program.attach(GdbBackend(target, process))
        self._attached[inferior.num, kind] = process.stamp, found
        return found

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
        try:
            status = os.stat(name)  # noqa: PTH116 (`pathlib` costs start-up time)
            key = process.inferior.num, name, status.st_mtime_ns, status.st_size
        except (OSError, ValueError):
            key = process.inferior.num, name, process.file_changes, 0
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
