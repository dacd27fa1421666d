"""The corpus: small programs, compiled in every way. `python3 tools/dev.py corpus` is the command."""
