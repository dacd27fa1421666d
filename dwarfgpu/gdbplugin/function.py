"""``$dwarfgpu("x")``: a variable or an expression of the library in an expression of GDB."""

from __future__ import annotations

from typing import Any

import gdb

from dwarfgpu.gdbplugin.commands import one_line_errors

ABOUT = """The value of a variable or an expression that dwarfgpu reads: $dwarfgpu("x"), or $dwarfgpu("x", 5) in lane 5.

What GDB can reach is an lvalue: it has an address, or can be assigned to."""


class ValueFunction(gdb.Function):  # type: ignore[misc]
    """``$dwarfgpu``; it is about the selected frame."""

    def __init__(self) -> None:
        self.__doc__ = ABOUT
        gdb.Function.__init__(self, "dwarfgpu")

    def invoke(self, *arguments: Any) -> Any:
        """The value."""
        if not 1 <= len(arguments) <= 2:
            raise gdb.GdbError('It is written $dwarfgpu("x"), or $dwarfgpu("x", LANE).')
        with one_line_errors():
            from dwarfgpu.backends.gdb.process import selected_frame
            from dwarfgpu.gdbplugin.host import gdb_host
            from dwarfgpu.gdbplugin.values import value_of

            frame = gdb_host().frame()
            lane = int(arguments[1]) if len(arguments) == 2 else None
            return value_of(frame[arguments[0].string()], frame, selected_frame(), lane)
