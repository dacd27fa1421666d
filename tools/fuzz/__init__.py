"""The fuzzers: one frame, and a drive for each kind of input. `python3 tools/dev.py fuzz` is the command."""
