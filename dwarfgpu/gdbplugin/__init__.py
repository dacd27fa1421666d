"""dwarfgpu inside GDB. `install` is what the entry file calls; nothing is read before somebody asks."""

from __future__ import annotations


def install() -> None:
    """Begin to watch the processes of GDB, and say what is missing."""
    from dwarfgpu.backends.gdb.watch import watch
    from dwarfgpu.gdbplugin.requirements import report

    watch()
    report()
