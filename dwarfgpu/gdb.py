"""The library for scripts of GDB: ``import dwarfgpu.gdb as dg``.

The functions return frames, variables and values of the library. Inside GDB they use the thread, the frame and the
lane that are selected there; elsewhere they use the program given to `use`, so that a script also runs on a snapshot
or a core file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.states import hosts

if TYPE_CHECKING:
    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.reasons import ValueSource
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.hosts import Host
    from dwarfgpu.states.program import Attached

__all__ = ["DwarfGpuError", "attached", "eval", "host", "locate", "selected", "use", "wave", "waves"]


def use(where: Attached | Host | None, *, wave: int | str = 0, frame: int = 0, lane: int | None = None) -> None:
    """Set the program that the functions use: one with its machine, or a host of your own. None is GDB again."""
    if where is None or hasattr(where, "frame"):
        hosts.use(where)  # type: ignore[arg-type]
    else:
        hosts.use(hosts.Chosen(where, wave=wave, frame=frame, lane=lane))


def host() -> Host:
    """Return the host that `use` has set, else GDB."""
    if not hosts.is_set() and find_spec("gdb") is not None:
        from dwarfgpu.gdbplugin.host import gdb_host

        return gdb_host()
    return hosts.current()


def attached() -> Attached:
    """Return the program of the selected thread, with its machine."""
    return host().attached()


def waves() -> Sequence[Wave]:
    """Return all waves, or all threads of a program without waves."""
    return host().waves()


def wave() -> Wave:
    """Return the selected wave or thread."""
    return host().wave()


def selected() -> Frame:
    """Return the selected frame. Questions to it that name no lane use the selected lane."""
    return host().frame()


def eval(text: str, lanes: Iterable[int] | int | str | None = None) -> Values:  # noqa: A001 (`dg.eval`)
    """Evaluate an expression in the selected frame, in some lanes, as `Quantity.values` does."""
    return selected().eval(text, lanes)


def locate(text: str, lane: int | None = None) -> tuple[ValueSource, ...]:
    """Return where the parts of a variable or an expression are: register, lane and bit, or an address."""
    quantity: Any = selected()[text]
    return quantity.provenance(lane)  # type: ignore[no-any-return]
