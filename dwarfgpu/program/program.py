"""Programs: files of code, what they answer without a state, and the machines attached to them."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.code.repairs import AUTO, Policy, policy_of
from dwarfgpu.program.stack.execution import Execution
from dwarfgpu.program.stack.frame import Frame, frames_at
from dwarfgpu.program.stack.selectors import no_wave
from dwarfgpu.program.stack.stopped import Stopped, load_code, open_stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.stack.gdb_process import Live
    from dwarfgpu.program.stack.stopped import Machine
    from dwarfgpu.program.stack.wave import Wave
    from dwarfgpu.program.variables.quantity import Quantity
    from dwarfgpu.targets.target import Target


class Program:
    """A file of code. Its globals, constants and locations are known without a state."""

    def __init__(self, file: CodeObject, *, dialect: str | None = None, repair: Policy = AUTO) -> None:
        self.file = file
        self.dialect = dialect
        self.repair = repair
        """Which repairs of compiler errors are applied."""
        self._live: Live | None = None
        self._last: Attached | None = None

    def __repr__(self) -> str:
        return f"Program({self.file.name!r})"

    @cached_property
    def state(self) -> Execution:
        """The file alone, at the addresses it was linked for."""
        loaded = Loaded([LoadedCode(self.file, dialect=self.dialect, repair=self.repair)])
        return Execution(loaded, self.file.target.target)

    @property
    def target(self) -> Target:
        """The target of its code."""
        return self.file.target.target

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """The problems found in the file so far."""
        return self.file.problems

    # --- Without a state ------------------------------------------------------------------------------------------

    def at(self, address: int) -> tuple[Frame, ...]:
        """Return the functions at an address, innermost first, as frames without a state."""
        return frames_at(self.state, self.state.loaded.codes[0], address)

    @property
    def outside(self) -> Frame:
        """A frame without a location, in which names are those of the whole program."""
        return Frame(self.state, self.state.loaded.codes[0], None)

    def __getitem__(self, name: str) -> Quantity:
        """Return a global or static variable, or the value of another expression."""
        return self.outside[name]

    def eval(self, text: str) -> Any:
        """Evaluate an expression that needs no state; return its value as a Python object."""
        return self.outside.expression(text).value()

    # --- With a machine -------------------------------------------------------------------------------------------

    def attach(self, machine: str | os.PathLike[str] | Machine, *, force: bool = False) -> Attached:
        """Attach a machine: the name of a snapshot or of a core file, a machine of the library, or a process in GDB.

        A snapshot of a different code object is refused unless ``force`` is true.
        """
        if isinstance(machine, (str, os.PathLike)):
            path = os.fspath(machine)
            stopped = open_stopped(self.file, path, force=force, dialect=self.dialect, repair=self.repair)
        elif hasattr(machine, "process"):
            return self._attach_live(machine)
        elif hasattr(machine, "code_objects"):
            waves: Any = machine
            options: Any = {"dialect": self.dialect, "repair": self.repair}
            stopped = Stopped(machine, *load_code(waves, self.file, force=force, **options))
        else:
            code = LoadedCode(self.file, dialect=self.dialect, repair=self.repair)
            stopped = Stopped(machine, Loaded([code]))
        return Attached(self, stopped)

    def _attach_live(self, machine: Any) -> Attached:
        """Attach a process in GDB, keeping what is known of its code from the last time if the code is the same."""
        from dwarfgpu.program.stack.gdb_process import Live, rules_of

        if self._live is None:
            self._live = Live(self.file, dialect=self.dialect, repair=self.repair)
        stopped = self._live.stopped(machine)
        last = self._last
        if last is not None and last.stopped.loaded is stopped.loaded and last.state.target == machine.target:
            state = last.state.with_machine(machine)
        else:
            state = Execution(stopped.loaded, machine.target, machine, rules_of(machine.target))
        self._last = Attached(self, stopped, state)
        return self._last


class Attached:
    """A program with a machine: a sequence of waves (threads)."""

    def __init__(self, program: Program, stopped: Stopped, state: Execution | None = None) -> None:
        self.program = program
        self.stopped = stopped
        if state is not None:
            stopped.state = state
        self.state = stopped.state

    def __repr__(self) -> str:
        return f"Attached({self.program.file.name!r}, {self.state.target.name}, {len(self)} waves)"

    def __len__(self) -> int:
        return self.stopped.machine.wave_count

    @property
    def has_waves(self) -> bool:
        """Whether its threads are waves, which have lanes."""
        return self.state.target.execution_mask is not None

    def __iter__(self) -> Iterator[Wave]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, wave: int | str) -> Wave:
        """Return a wave by its number from 0, or by the name that the machine gives it."""
        index = wave if isinstance(wave, int) else self.stopped.machine.wave_named(wave)
        if index is None or not 0 <= index < len(self):
            raise no_wave(self.stopped.machine, str(wave))
        return self.stopped.wave(index)

    def repaired(self, repair: Policy) -> Attached:
        """Return the same machine with other repairs of compiler errors applied."""
        usual = self.state.target.default_dialect
        codes = []
        for code in self.stopped.loaded.codes:
            dialect = None if code.dialect.name == usual else code.dialect.name
            codes.append(LoadedCode(code.file, code.bias, dialect=dialect, repair=repair))
        machine, loaded = self.stopped.machine, Loaded(codes)
        state = Execution(loaded, machine.target, machine, self.state.rules)
        return Attached(self.program, Stopped(machine, loaded, name=self.stopped.name), state)

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """The problems of the state, and those found in the files so far."""
        return self.stopped.problems


def open_program(path: str | os.PathLike[str], *, dialect: str | None = None, repair: str = "auto") -> Program:
    """Open a file of code: ``FILE``, ``FILE@gfx90a``, ``FILE@2`` or a code object URI.

    ``repair`` is ``auto``, ``off``, or the names of the repairs of compiler errors to apply.
    """
    return Program(opened(os.fspath(path)), dialect=dialect, repair=policy_of(repair))
