"""The command line. `main` runs it; the modules of the commands are imported when they run."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` imports `enum`, which takes longer than `--version`
import sys

TYPE_CHECKING = False  # importing `typing` would double the time of `dwarfgpu --version`
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status."""
    is_program = arguments is None
    try:
        try:
            if is_program:
                sys.unraisablehook = _unraisable
                _answer_interrupts(_signal.default_int_handler)
            return _main(arguments)
        finally:
            if is_program:  # what is left to do is to leave
                _answer_interrupts(_signal.SIG_DFL)
    except BaseException as error:
        from dwarfgpu.errors import is_interrupt

        if not is_interrupt(error):
            raise
        return _interrupted()


def _answer_interrupts(handler: object) -> None:
    """Let a handler answer ^C, unless the program was started to ignore it."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, handler)


def _main(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-V"]):  # answered before anything else is imported
        from dwarfgpu import __version__

        try:
            sys.stdout.write(f"dwarfgpu {__version__}\n")
            sys.stdout.flush()
        except OSError:  # `run` meets it again, and says it in one line
            pass
        else:
            return 0
    if arguments is None:
        import atexit
        import gc
        import os

        # most of what a short command makes are modules and classes: garbage is collected seldom, and not at the end
        gc.set_threshold(200_000)
        atexit.register(gc.freeze)
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            # numpy would start threads, which wait busily and have no work; programs that are started get `os.environ`
            os.putenv("OPENBLAS_NUM_THREADS", "1")
    from dwarfgpu.cli.run import run

    return run(words)


def _interrupted() -> int:
    """Say that ^C has ended the program; return the exit status."""
    from dwarfgpu import progress

    try:
        if progress.shown is not None:
            progress.shown.clear()
        sys.stderr.write("dwarfgpu: interrupted\n")
        sys.stderr.flush()
    except (OSError, AttributeError):  # nobody can be told
        pass
    return 130


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise ^C again where Python would only report it, as in the finalizer of an object."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        import _thread

        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt_soon() -> None:
    """Interrupt the main thread when it has left the finalizer."""
    import _thread
    import time

    time.sleep(0.01)
    _thread.interrupt_main()
