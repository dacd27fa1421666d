"""dwarfgpu inside GDB. `install` is what the entry file calls; nothing is read before somebody asks."""

from __future__ import annotations


def install() -> None:
    """Begin to watch the processes of GDB, tell GDB of what there is, and say what is missing."""
    from dwarfgpu.backends.gdb.watch import watch
    from dwarfgpu.gdbplugin import commands, parameters
    from dwarfgpu.gdbplugin.frame_filter import FrameFilter
    from dwarfgpu.gdbplugin.function import ValueFunction
    from dwarfgpu.gdbplugin.requirements import report

    watch()
    commands.install()
    parameters.install(FrameFilter())
    ValueFunction()
    report()
