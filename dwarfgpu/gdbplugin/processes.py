"""The processes of GDB with their programs: attached when somebody asks, and again when they have run since."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gdb
from attrs import frozen

from dwarfgpu.backends.gdb.backend import GdbBackend, Refused
from dwarfgpu.backends.gdb.process import GdbProcess, is_wave, stamp_of, threads_of
from dwarfgpu.backends.gdb.watch import watch
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.files.codeobject import opened
from dwarfgpu.program.machines.live import HOST_DIALECT, open_place, stamp_of_file
from dwarfgpu.program.program import Attached, Program
from dwarfgpu.program.repairs.repaired import policy_of
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.targets.target import Target


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
