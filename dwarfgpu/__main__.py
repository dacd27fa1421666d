#!/usr/bin/env python3
"""The program, as ``python -m dwarfgpu`` and, copied by the installer, as the script ``dwarfgpu``.

Its first statement answers ^C. Whatever comes before that belongs to Python.
"""

if __name__ == "__main__":
    import _signal  # type: ignore[import-not-found]  # a part of the interpreter, as `posix` behind `os` is
    import os

    if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:  # a shell may have said to ignore it
        _signal.signal(_signal.SIGINT, lambda *_: (os.write(2, b"dwarfgpu: interrupted\n"), os._exit(130)))
    import sys

    from dwarfgpu.cli import main

    sys.exit(main())
