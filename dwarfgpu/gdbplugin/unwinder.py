"""An unwinder for GDB that finds the callers of waves by call frame information GDB does not know.

GDB asks for the caller of one frame after the other. Each is unwound as if it were the innermost one, with
the registers that GDB has for it, so that nothing depends on earlier answers. Threads of host programs are
left to GDB.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import gdb
from gdb.unwinder import Unwinder

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.gdbplugin.host import gdb_host
from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.process import GdbProcess, is_wave, number_of
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.states.gdb_process import Unwound
from dwarfgpu.targets.target import TargetRegister

NAME = "dwarfgpu"
STACK_TOP = 1 << 60
"""Where addresses of stacks that grow upwards are counted down from, for a GDB that knows only the others."""


class PendingProcess(GdbProcess):
    """The process of a frame that GDB is looking for; until it has it, nothing may be selected in GDB."""

    def __init__(self, thread: Any, pending: Any) -> None:
        GdbProcess.__init__(self, thread.inferior, [thread])
        self.pending = pending
        self.is_caller = pending.level() > 0

    has_moved_on = False

    def title(self, thread: Any) -> None:
        """Return None: asking GDB 14 and later for it would find all frames anew, an internal error."""

    def frame(self) -> Any:
        return self.pending

    def read_register(self, thread: int, name: str) -> int:
        value = GdbProcess.read_register(self, thread, name)
        # the lookup for a caller is in its call: after that another function may begin
        return value - 1 if name == "pc" and self.is_caller else value


class CallerUnwinder(Unwinder):  # type: ignore[misc]
    """The unwinder that GDB calls."""

    def __init__(self) -> None:
        Unwinder.__init__(self, NAME)
        self.listed_from: Any = None
        """The thread that was selected when GDB began to list all; None at any other time."""
        self._types: dict[tuple[str, str], Any] = {}
        """GDB's type of each register, by architecture and name."""

    def __call__(self, pending: Any) -> Any:
        """Return the caller of a frame of a wave; None for any other frame, or if the caller is not known.

        A list of threads shows the innermost frame of each and asks for no caller; GDB forgets the frames of each
        thread when it goes on to the next. So only those of the thread that stays selected are found meanwhile.
        """
        thread = gdb.selected_thread()
        if thread is None or (self.listed_from is not None and thread is not self.listed_from) or not is_wave(thread):
            return None
        try:
            return self._unwound(PendingProcess(thread, pending), pending)
        except (DwarfGpuError, Refused, gdb.error):
            return None

    def _unwound(self, process: PendingProcess, pending: Any) -> Any:
        program, target = gdb_host().processes.program_of(process)
        unwound = Unwound(program.attach(GdbBackend(target, process)).stopped)
        cfa = unwound.cfa
        if not process.architecture(0).startswith("amdgcn"):
            cfa = STACK_TOP - cfa
        pointer = gdb.lookup_type("void").pointer()
        identity = SimpleNamespace(sp=gdb.Value(cfa).cast(pointer), pc=gdb.Value(unwound.start).cast(pointer))
        information = pending.create_unwind_info(identity)
        architecture = pending.architecture()
        for descriptor in architecture.registers():
            self._save(unwound, process, information, (architecture.name(), descriptor.name))
        return information

    def _save(self, unwound: Unwound, process: PendingProcess, information: Any, key: tuple[str, str]) -> None:
        """Tell GDB a register of the caller; a register that is left out counts as not saved.

        To read one from a remote GDB takes a packet, so only those are read that are the same in the caller.
        """
        name = key[1]
        content: int | None
        if name in (unwound.program_counter, "rip"):
            content = unwound.caller_pc or 0  # GDB ends a stack there
        else:
            register: TargetRegister | None = unwound.machine.register_named(name)
            # a register that only GDB has stays as it is
            if register is None or unwound.is_same(register):
                here = process.pending.read_register(name)
                if not (here.is_optimized_out or _is_unavailable(here)):
                    information.add_saved_register(name, here)
                return
            content = unwound.register(register)
        if content is not None:
            kind = self._types.get(key)
            if kind is None:
                kind = self._types[key] = process.pending.read_register(name).type
            data = (content & (1 << 8 * kind.sizeof) - 1).to_bytes(kind.sizeof, unwound.byte_order)
            information.add_saved_register(name, gdb.Value(data, kind))


def _is_unavailable(here: Any) -> bool:
    """Whether a part of a register is not known, so that GDB cannot be told of it."""
    try:
        number_of(here)
    except Refused:
        return True
    return False


_unwinder: list[CallerUnwinder] = []
HOOKS = """define info hook{post}-threads
python from dwarfgpu.gdbplugin.unwinder import list_threads; list_threads(begins={begins})
end"""
"""GDB runs them before and after its list of threads; nothing else says that it makes one."""


@cache
def _hook() -> None:
    """Have GDB tell when it lists threads, unless the user has hooks of that name."""
    with suppress(gdb.error):  # there is none
        if "hook" in gdb.execute("show user info hook-threads", to_string=True):
            return
    for begins in (True, False):
        gdb.execute(HOOKS.format(post="" if begins else "post", begins=begins), to_string=True)
    gdb.events.before_prompt.connect(partial(list_threads, begins=False))  # after an error GDB runs no hook


def list_threads(*, begins: bool) -> None:
    """Take note that GDB begins to list threads, or has ended."""
    for unwinder in _unwinder:
        unwinder.listed_from = gdb.selected_thread() if begins else None


def use(*, is_on: bool) -> None:
    """Add the unwinder to GDB, or remove it."""
    for unwinder in _unwinder:
        gdb.frame_unwinders.remove(unwinder)
    _unwinder[:] = [CallerUnwinder()] if is_on else []
    gdb.frame_unwinders[:0] = _unwinder
    if is_on:
        _hook()
    gdb.invalidate_cached_frames()
