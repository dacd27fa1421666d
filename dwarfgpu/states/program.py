"""Programs: files of code, what they answer without a state, and the machines attached to them."""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, SupportsIndex, overload

from dwarfgpu.compilers import is_source
from dwarfgpu.errors import DwarfGpuError, Handle, MalformedFile, MissingFile, UsageError
from dwarfgpu.objfile.elf.header import ET_CORE, MAGIC
from dwarfgpu.program import ShownInNotebooks
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy, opened
from dwarfgpu.regular_files import open_input

if TYPE_CHECKING:
    from typing_extensions import Self

    from dwarfgpu.machines.protocol import WaveBackend
    from dwarfgpu.program.frames.answers import Quantity
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.gdb_process import Live
    from dwarfgpu.states.stopped import Stopped
    from dwarfgpu.targets.target import Target


class Opened(Handle):
    """What has been opened. At the end of a ``with`` statement it is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files. Frames and values that were taken from it remain; any other use of it is an error."""
        if "_closed" not in self.__dict__:
            closed = self._name()
            self.__dict__.clear()
            self._closed = closed

    def __repr__(self) -> str:
        return f"closed {self._closed}" if "_closed" in self.__dict__ else self._name()

    def _name(self) -> str:
        raise NotImplementedError

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or "_closed" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise UsageError(f"{self._closed} is closed", hint="open it again")


class Program(Opened):
    """A file of code. Its globals, constants and locations are known without a state.

    >>> import dwarfgpu as dg
    >>> program = dg.open("lane-pc.co")
    >>> program.target.name, program.eval("sizeof(int) * 4")
    ('amdgcn-gfx90a', 16)
    >>> program.at(0x1548)
    (Frame(0, X),)
    """

    def __init__(self, file: CodeObject, *, dialect: str | None = None, repair: Policy = AUTO) -> None:
        self.file = file
        self.dialect = dialect
        self.repair = repair
        """Which repairs of compiler errors are applied."""
        self._live: Live | None = None
        self._last: Attached | None = None

    def _name(self) -> str:
        return f"Program({self.file.name!r})"

    @cached_property
    def state(self) -> Execution:
        """The file alone, at the addresses it was linked for."""
        from dwarfgpu.program.code.loaded import Loaded, LoadedCode
        from dwarfgpu.program.frames.execution import Execution

        loaded = Loaded([LoadedCode(self.file, dialect=self.dialect, repair=self.repair)])
        return Execution(loaded, self.file.target.target)

    def read_as(self, *, dialect: str | None, attributes: str | None, repair: Policy) -> Program:
        """Return the same file, read in another way: expressions, numbers of attributes, idioms of compilers."""
        is_same = dialect == self.dialect and attributes == self.file.attributes
        return Program(self.file if is_same else self.file.read_as(attributes), dialect=dialect, repair=repair)

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
        from dwarfgpu.program.frames.frame import frames_at

        return frames_at(self.state, self.state.loaded.codes[0], address)

    @property
    def outside(self) -> Frame:
        """A frame without a location, in which names are those of the whole program."""
        from dwarfgpu.program.frames.frame import Frame

        return Frame(self.state, self.state.loaded.codes[0], None)

    __iter__ = None
    """The names of a program are looked up, not listed."""

    def __getitem__(self, name: str) -> Quantity:
        """Return a global or static variable, or the value of another expression."""
        return self.outside[name]

    def eval(self, text: str) -> Any:
        """Evaluate an expression that needs no state; return its value as a Python object."""
        return self.outside.expression(text).value()

    # --- With a machine -------------------------------------------------------------------------------------------

    def attach(
        self,
        machine: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | WaveBackend,
        *,
        force: bool = False,
        moved: Mapping[str, str] | None = None,
    ) -> Attached:
        """Attach a machine: the name of a snapshot or of a core file, a machine of the library, or a process in GDB.

        The core files of host and GPU of one crash are a list of names. A snapshot of a different code object is
        refused unless ``force`` is true. ``moved`` says for the beginnings of paths in a core file what is there
        instead: ``{"/": "/copies/of/node7/"}`` is a root.
        """
        from dwarfgpu.machines.machine import Machine
        from dwarfgpu.program.code.loaded import Loaded
        from dwarfgpu.states.opening import load_code, open_stopped
        from dwarfgpu.states.stopped import OpenOptions, Stopped

        options = OpenOptions(force, self.dialect, self.repair, moved or {})
        if isinstance(machine, (str, os.PathLike, list, tuple)):
            return Attached(self, open_stopped(self.file, paths_of(machine), options=options))
        if hasattr(machine, "process"):
            return self._attach_live(machine)
        if isinstance(machine, Machine):
            return Attached(self, Stopped(machine, *load_code(machine, self.file, options)))
        other: Any = machine
        return Attached(self, Stopped(other, Loaded([options.code(self.file)])))

    def _attach_live(self, machine: Any) -> Attached:
        """Attach a process in GDB, keeping what is known of its code from the last time if the code is the same."""
        from dwarfgpu.program.frames.execution import Execution
        from dwarfgpu.states.gdb_process import Live, rules_of

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


class Attached(ShownInNotebooks, Opened):
    """A program with a machine: a sequence of waves (threads).

    >>> import dwarfgpu as dg
    >>> stopped = dg.open("lane-pc.co").attach("variables.json")
    >>> len(stopped), stopped[0], stopped["1:1:1:1"]
    (1, Wave('1:1:1:1'), Wave('1:1:1:1'))
    """

    def __init__(
        self, program: Program, stopped: Stopped, state: Execution | None = None, *, beside: Attached | None = None
    ) -> None:
        self.program = program
        self.stopped = stopped
        if state is not None:
            stopped.state = state
        self.state = stopped.state
        self._beside = beside

    def _name(self) -> str:
        name = self.stopped.name or self.program.file.name
        return f"Attached({name!r}, {self.state.target.name}, {len(self)} {'waves' if self.has_waves else 'threads'})"

    def __len__(self) -> int:
        return self.stopped.machine.wave_count

    def _ipython_key_completions_(self) -> list[str]:
        return [wave.id for wave in self]

    def to_pandas(self) -> Any:
        """Return a table of pandas with a row for each lane of each wave, and a column for each variable there.

        >>> import dwarfgpu as dg
        >>> dg.open_core("blur.core").to_pandas()[["j", "last"]].dropna().iloc[0].tolist()
        [16, 32]
        """
        from dwarfgpu.program.frames.all_waves import all_waves

        return all_waves(self, [*dict.fromkeys(each.name for wave in self for each in wave.frame(0))])

    @property
    def has_waves(self) -> bool:
        """Whether its threads are waves, which have lanes."""
        return self.state.target.execution_mask is not None

    def __iter__(self) -> Iterator[Wave]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, wave: SupportsIndex | str) -> Wave: ...

    @overload
    def __getitem__(self, wave: slice) -> list[Wave]: ...

    def __getitem__(self, wave: SupportsIndex | str | slice) -> Wave | list[Wave]:
        """Return a wave by its number from 0, or by the name that the machine gives it; several of a slice."""
        if isinstance(wave, slice):
            return [self[index] for index in range(*wave.indices(len(self)))]
        index = self.stopped.machine.wave_named(wave) if isinstance(wave, str) else operator.index(wave)
        if index is not None and index < 0:
            index += len(self)
        if index is None or not 0 <= index < len(self):
            from dwarfgpu.program.frames.selectors import no_wave

            error = no_wave(self.stopped.machine, str(wave))
            if isinstance(wave, str) and wave.isidentifier():
                error.hint = f"for a variable: all_waves(..., {wave!r})"
            raise error
        return self.stopped.wave(index)

    @property
    def beside(self) -> Attached | None:
        """The threads of the host beside waves of a core file, or the waves beside threads; None if there are none."""
        if self._beside is None and self.stopped.beside is not None:
            from dwarfgpu.states.opening import open_with_its_code

            name, options = self.stopped.beside
            stopped = open_with_its_code([name], options)
            program = Program(stopped.loaded.codes[0].file, repair=self.program.repair)
            self._beside = Attached(program, stopped, beside=self)
        return self._beside

    def read_as(self, program: Program) -> Attached:
        """Return the same machine with its code read as a program is."""
        from dwarfgpu.program.code.loaded import Loaded, LoadedCode
        from dwarfgpu.program.frames.execution import Execution
        from dwarfgpu.states.stopped import Stopped

        before, codes, executable = self.program, [], None
        usual = self.state.target.default_dialect
        for code in self.stopped.loaded.codes:
            dialect = program.dialect
            if dialect is None and before.dialect is None and code.dialect.name != usual:
                dialect = code.dialect.name  # that of a host program beside the code of waves
            file = program.file if code.file is before.file else code.file
            if file is code.file and program.file is not before.file:
                file = code.file.read_as(program.file.attributes)
            codes.append(LoadedCode(file, code.bias, dialect=dialect, repair=program.repair))
            if code is self.stopped.loaded.executable:
                executable = codes[-1]
        machine, loaded = self.stopped.machine, Loaded(codes, executable)
        state = Execution(loaded, machine.target, machine, self.state.rules)
        stopped = Stopped(machine, loaded, self.stopped.found, name=self.stopped.name)
        stopped.notes, stopped.beside = self.stopped.notes, self.stopped.beside
        return Attached(program, stopped, state)

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """The problems of the state, and those found in the files so far."""
        return self.stopped.problems


def open_program(
    file: str | os.PathLike[str] | bytes | IO[bytes],
    *,
    dialect: str | None = None,
    attributes: str | None = None,
    repair: str = "auto",
) -> Program:
    """Open a file of code: ``FILE``, ``FILE@gfx90a``, ``FILE@2``, a code object URI, bytes, or a file that is open.

    A source, ``k.cl`` or ``k.hip``, is compiled first, without optimization; ``k.cl@gfx90a`` is for that processor.

    ``dialect`` says which bytes are which operation, ``attributes`` which numbers are which attributes. ``repair`` is
    ``auto``, ``all``, ``off``, or the names of the repairs of compiler errors to apply.

    >>> import dwarfgpu as dg
    >>> with dg.open("lane-pc.co") as program:
    ...     print(program.attach("variables.json")[0].frame(0)["even"].value(lane=4))
    18
    """
    source: Any = file if hasattr(file, "read") else os.fspath(file)
    try:
        opened_file = opened(source, attributes)
    except MalformedFile:
        if not isinstance(source, str) or not is_state(source):
            raise
        hint = f"`dwarfgpu debug --state {source}` opens it, and in Python `dwarfgpu.open_core`"
        raise MalformedFile("not_elf", f"{source} is a state, not code", hint=hint) from None
    return Program(opened_file, dialect=dialect, repair=policy_named(repair))


def open_core(
    state: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    dialect: str | None = None,
    repair: str = "auto",
    moved: Mapping[str, str] | None = None,
) -> Attached:
    """Open the waves of GPU core files, or of the ROCm debug agent's text, with the code that they name.

    ``state`` is the name of a file, or the names of the core files of host and GPU of one crash. ``moved`` is as
    `Program.attach` has it.

    >>> import dwarfgpu as dg
    >>> for wave in dg.open_core("blur.core"):
    ...     print(wave.id, wave.stop_reason, wave.frame(0).line)
    1:1:1:1 stopped 10
    1:1:1:2 MEMORY_VIOLATION 10
    """
    from dwarfgpu.states.opening import STATE_HINT, is_elf, names_its_code, open_with_its_code, without_code
    from dwarfgpu.states.stopped import OpenOptions, without_part

    paths, policy = paths_of(state), policy_named(repair)
    for path in paths:
        if not os.path.exists(without_part(path)):
            raise MissingFile("unreadable", f"{path}: {os.strerror(errno.ENOENT)}")
        if not is_state(path):
            what, hint = "neither a core file nor a snapshot", STATE_HINT
            if is_source(path) or is_elf(path):
                what = "a source, not a state" if is_source(path) else "code, not a state"
                hint = f"`dwarfgpu info {path}` describes it; in Python, `dwarfgpu.open`"
            raise MalformedFile("bad_state", f"{path} is {what}", hint=hint)
    if not names_its_code(paths, moved):
        raise without_code(paths)
    stopped = open_with_its_code(paths, OpenOptions(dialect=dialect, repair=policy, moved=moved or {}))
    return Attached(Program(stopped.loaded.codes[0].file, dialect=dialect, repair=policy), stopped)


def policy_named(name: str) -> Policy:
    """Return which repairs of compiler errors a word or a list of their names allows."""
    if name == "auto":  # nothing that `repairs` imports is needed to know that
        return AUTO
    from dwarfgpu.program.code.repairs import policy_of

    return policy_of(name)


def is_state(path: str) -> bool:
    """Return whether a file is a state: a snapshot, a core file, or the text of the debug agent."""
    if not os.path.exists(path):
        path = path.rpartition("@")[0]  # a part of a file: FILE@gfx90a
    if not os.path.isfile(path):
        return os.path.isdir(path)
    with open_input(path) as file:
        head = file.read(18)
    if head[:4] == MAGIC:
        order: Any = "big" if head[5:6] == b"\x02" else "little"
        return int.from_bytes(head[16:18], order) == ET_CORE
    from dwarfgpu.states.agent_text import is_agent_text
    from dwarfgpu.states.opening import begins_json

    return begins_json(path) or is_agent_text(path)


def paths_of(state: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the names of the files of a state."""
    return [os.fspath(name) for name in ([state] if isinstance(state, (str, os.PathLike)) else state)]
