"""Stop at a place only where an expression holds in some lane that executes the code."""

import gdb

import dwarfgpu.gdb as dg


class Where(gdb.Breakpoint):
    """A breakpoint with such a condition."""

    def __init__(self, place, wanted):
        super().__init__(place)
        self.wanted = wanted

    def stop(self):
        """Whether GDB shall stop here."""
        return any(dg.eval(self.wanted, lanes="active").array)


Where("stop_here", "counter == 6")
Where("after_inner", "local == 42")
