"""Stopped machines with the code that they execute, and how they are opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.machines.protocol import MAY_SLEEP, WaveBackend, WaveStop
from dwarfgpu.program.code.code_object import OFF, CodeObject, Policy
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.frames.execution import Execution

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.core import CoreFile
    from dwarfgpu.program.frames.frame import Stack
    from dwarfgpu.program.frames.wave import Wave


@frozen
class OpenOptions:
    """How a state and its code are opened."""

    force: bool = False
    """Whether code is accepted that is not what the state was made with."""
    dialect: str | None = None
    repair: Policy = OFF
    moved: Mapping[str, str] = field(factory=dict)
    """Where the files of a core file are (`places_of`)."""

    def code(self, file: CodeObject, bias: int = 0) -> LoadedCode:
        """Return a file as it is loaded."""
        return LoadedCode(file, bias, dialect=self.dialect, repair=self.repair)


USUAL = OpenOptions()


class Stopped:
    """A machine, and the code that is loaded in it. ``problems`` is what could not be read of either."""

    def __init__(
        self, machine: WaveBackend, loaded: Loaded, problems: tuple[DwarfGpuError, ...] = (), *, name: str = ""
    ) -> None:
        self.machine = machine
        self.loaded = loaded
        self.name = name
        """What messages call it."""
        self.found = problems
        self.state = Execution(loaded, machine.target, machine)
        """What all frames share."""
        self._may_sleep: dict[int, bool] = {}
        """By program counter, whether waves there may sleep."""
        self.is_in_call = False
        """Whether the innermost call that is known has made a call itself, which something else has unwound."""
        self.core: CoreFile | None = None
        """The core file of a host program that it is from."""
        self.notes: tuple[str, ...] = ()
        """What else there is in the files of the state."""
        self.beside: tuple[str, OpenOptions] | None = None
        """What names the threads of the host beside these waves, or the waves beside these threads."""
        self._waves: dict[int, Wave] = {}

    @property
    def crashed(self) -> int | None:
        """The first wave that a signal has stopped, one of an error before one of a trap; None without one."""
        trapped = None
        for wave, stop in enumerate(self.machine.all_stops()):
            if stop is not None and stop.is_crash:
                return wave
            if trapped is None and stop is not None and stop.signal is not None:
                trapped = wave
        return trapped

    def stop_of(self, wave: int) -> WaveStop | None:
        """Return why a wave does not run, if its machine or its code says so."""
        return self.or_sleeping(self.machine.stop_of(wave), self.machine.program_counter(wave))

    def or_sleeping(self, stop: WaveStop | None, pc: int | None) -> WaveStop | None:
        """Return why a wave does not run: as its machine says, or that it may sleep where its code lets it."""
        if pc is None or (stop is not None and (stop.reasons or stop.detail or stop.never_ran)):
            return stop
        return evolve(stop or WaveStop(), detail=MAY_SLEEP) if self.may_sleep(pc) else stop

    def may_sleep(self, pc: int) -> bool:
        """Return whether waves at an address may sleep: a machine that runs before the instruction, hardware behind."""
        if pc not in self._may_sleep:
            places = (pc,) if hasattr(self.machine, "weak_memory") else (pc, pc - 4)
            self._may_sleep[pc] = any(self._name_at(place).startswith("s_sleep") for place in places)
        return self._may_sleep[pc]

    def _name_at(self, address: int) -> str:
        """Return the name of an instruction of a GPU; an empty text where none is known."""
        from dwarfgpu.isa.decoder import decode

        code, target = self.loaded.at(address), self.machine.target
        if code is None or target.execution_mask is None:
            return ""
        try:
            return decode(code.file.image.read(code.in_file(address), 4), 0, target.processor, target.lane_count).name
        except DwarfGpuError:
            return ""

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """What is broken in the state, and has been found broken in the files so far."""
        return (*self.found, *(error for code in self.loaded.codes for error in code.file.problems))

    def wave(self, index: int) -> Wave:
        wave = self._waves.get(index)
        if wave is None:
            from dwarfgpu.program.frames.wave import Wave

            wave = self._waves[index] = Wave(self.state, self, index)
        return wave

    def stack(self, wave: int) -> Stack:
        """Return the frames of a thread."""
        return self.wave(wave).stack


# --- Names of core files ------------------------------------------------------------------------------------------

HOST = "host"
"""``core@host`` is about the threads of the host, and ``core@gfx90a`` about the waves of one processor."""


def without_part(path: str) -> str:
    """Return the name of a core file without ``@gfx90a`` behind it."""
    name, at, _part = path.rpartition("@")
    return name if at and not os.path.exists(path) else path


def part_of(paths: Sequence[str]) -> str | None:
    """Return what follows the ``@`` in the name of a core file: the processor whose waves are meant, or ``host``."""
    parts = [path[len(name) + 1 :] for path in paths if (name := without_part(path)) != path]
    return parts[0] if parts else None


def is_about_host(paths: Sequence[str]) -> bool:
    """Return whether core files are asked about the threads of the host."""
    return part_of(paths) == HOST
