"""An unwinder for GDB that finds the callers of waves by call frame information GDB does not know.

GDB asks for the caller of one frame after the other. Each is unwound as if it were the innermost one, with
the registers that GDB has for it, so that nothing depends on earlier answers. Threads of host programs are
left to GDB.
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
"""Where addresses of stacks that grow upwards are counted down from, for a GDB that knows only the others."""


class FrameId:
    """The identity of a frame for GDB, which wants pointers."""

    def __init__(self, sp: int, pc: int) -> None:
        pointer = gdb.lookup_type("void").pointer()
        self.sp = gdb.Value(sp).cast(pointer)
        self.pc = gdb.Value(pc).cast(pointer)


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


class WaveUnwinder(Unwinder):  # type: ignore[misc]
    """The unwinder that GDB calls."""

    def __init__(self) -> None:
        Unwinder.__init__(self, NAME)

    def __call__(self, pending: Any) -> Any:
        """Return the caller of a frame of a wave; None for any other frame, or if the caller is not known."""
        thread = gdb.selected_thread()
        if thread is None or not is_wave(thread):
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
        information = pending.create_unwind_info(FrameId(cfa, unwound.start))
        for descriptor in pending.architecture().registers():
            self._save(unwound, process, information, descriptor.name)
        return information

    def _save(self, unwound: Unwound, process: PendingProcess, information: Any, name: str) -> None:
        """Tell GDB a register of the caller; a register that is left out counts as not saved."""
        here = process.pending.read_register(name)
        if name in (unwound.program_counter, "rip"):
            content: int | None = unwound.caller_pc or 0  # GDB ends a stack there
        else:
            register: TargetRegister | None = unwound.machine.register_named(name)
            # a register that only GDB has stays as it is
            is_kept = register is None or unwound.is_same(register)
            content = _known(here) if is_kept else unwound.register(register)  # type: ignore[arg-type]
        if content is not None:
            size = here.type.sizeof
            data = (content & (1 << 8 * size) - 1).to_bytes(size, unwound.byte_order)
            information.add_saved_register(name, gdb.Value(data, here.type))


def _known(here: Any) -> int | None:
    """Return the bits of a register; None if some are not known, as GDB cannot be told of those."""
    try:
        return number_of(here)
    except Refused:
        return None


_unwinder: list[WaveUnwinder] = []


def use(*, is_on: bool) -> None:
    """Add the unwinder to GDB, or remove it."""
    for unwinder in _unwinder:
        gdb.frame_unwinders.remove(unwinder)
    _unwinder[:] = [WaveUnwinder()] if is_on else []
    gdb.frame_unwinders[:0] = _unwinder
    gdb.invalidate_cached_frames()
