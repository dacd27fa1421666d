"""The benchmarks: what users wait for. `python3 tools/dev.py bench` is the command."""
