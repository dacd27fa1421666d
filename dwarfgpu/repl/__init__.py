"""The debugger at a terminal and without one: where lines come from and where output goes."""
