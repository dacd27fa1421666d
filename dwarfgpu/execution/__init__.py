"""A machine that executes: waves run the code object, many waves at a time."""
