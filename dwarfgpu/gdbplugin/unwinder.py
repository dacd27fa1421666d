"""An unwinder for GDB: the callers of a wave's frames, by the call frame information that GDB does not know.

GDB asks for the caller of one frame after the other. Each is unwound as if it were the innermost one, with the
registers that GDB has of it, so that nothing depends on what was found before. Threads of host programs are left to
GDB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb
from gdb.unwinder import Unwinder

from dwarfgpu.backends.gdb.backend import GdbBackend, Refused
from dwarfgpu.backends.gdb.process import GdbProcess, is_wave, number_of
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.gdbplugin.host import gdb_host
from dwarfgpu.program.stack.gdb_process import Unwound

if TYPE_CHECKING:
    from dwarfgpu.targets.target import TargetRegister

NAME = "dwarfgpu"
STACK_TOP = 1 << 60
"""Addresses of stacks that grow upwards are counted down from here for a GDB that knows only the others."""


class FrameId:
    """What tells a frame from others: GDB wants pointers."""

    def __init__(self, sp: int, pc: int) -> None:
        pointer = gdb.lookup_type("void").pointer()
        self.sp = gdb.Value(sp).cast(pointer)
        self.pc = gdb.Value(pc).cast(pointer)


class PendingProcess(GdbProcess):
    """The process of a frame that GDB is about to find. While it does nothing may be selected in GDB."""

    def __init__(self, thread: Any, pending: Any) -> None:
        GdbProcess.__init__(self, thread.inferior, [thread])
        self.pending = pending
        self.is_caller = pending.level() > 0

    has_moved_on = False

    def title(self, thread: Any) -> None:
        """Not asked for: GDB 14 and later find all frames anew for it, and end with an internal error."""

    def frame(self) -> Any:
        return self.pending

    def read_register(self, thread: int, name: str) -> int:
        found = GdbProcess.read_register(self, thread, name)
        # of a caller an address in the call is looked up, for behind it another function may begin
        return found - 1 if name == "pc" and self.is_caller else found


class WaveUnwinder(Unwinder):  # type: ignore[misc]
    """What GDB asks."""

    def __init__(self) -> None:
        Unwinder.__init__(self, NAME)

    def __call__(self, pending: Any) -> Any:
        """The caller of a frame; None for one that is not the frame of a wave, or about which nothing is known."""
        thread = gdb.selected_thread()
        if thread is None or not is_wave(thread):
            return None
        try:
            return self._unwound(PendingProcess(thread, pending), pending)
        except (DwarfGpuError, Refused, gdb.error):
            return None

    def _unwound(self, process: PendingProcess, pending: Any) -> Any:
        program, target = gdb_host().processes.program_of(process)
        found = Unwound(program.attach(GdbBackend(target, process)).stopped)
        cfa = found.cfa
        if not process.architecture(0).startswith("amdgcn"):
            cfa = STACK_TOP - cfa
        information = pending.create_unwind_info(FrameId(cfa, found.start))
        for descriptor in pending.architecture().registers():
            self._save(found, process, information, descriptor.name)
        return information

    def _save(self, found: Unwound, process: PendingProcess, information: Any, name: str) -> None:
        """Say what a register is in the caller; one that GDB is told nothing of is not saved."""
        here = process.pending.read_register(name)
        if name in (found.program_counter, "rip"):
            content: int | None = (
                found.caller_pc or 0
            )  # GDB ends a stack there, and asks for no caller of that
        else:
            register: TargetRegister | None = found.machine.register_named(name)
            is_kept = register is None or found.is_same(register)  # one that only GDB has stays as it is
            content = _known(here) if is_kept else found.register(register)  # type: ignore[arg-type]
        if content is not None:
            size = here.type.sizeof
            data = (content & (1 << 8 * size) - 1).to_bytes(size, found.byte_order)
            information.add_saved_register(name, gdb.Value(data, here.type))


def _known(here: Any) -> int | None:
    """The bits of a register; None where some of them are not known, which GDB must not be told of."""
    try:
        return number_of(here)
    except Refused:
        return None


_unwinder: list[WaveUnwinder] = []


def use(*, is_on: bool) -> None:
    """Let GDB ask, or no longer."""
    for each in _unwinder:
        gdb.frame_unwinders.remove(each)
    _unwinder[:] = [WaveUnwinder()] if is_on else []
    gdb.frame_unwinders[:0] = _unwinder
    gdb.invalidate_cached_frames()
