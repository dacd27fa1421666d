"""The command line. `main` is the console script; the modules of the commands are imported when they run."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing `typing` would double the time of `dwarfgpu --version`
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status."""
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
        _spare_collections()
        _spare_modules()
    from dwarfgpu.cli.run import run

    return run(words)


def _spare_collections() -> None:
    """Collect garbage seldom, and not at the end: most of what a short command makes are modules and classes."""
    import atexit
    import gc

    gc.set_threshold(50_000)
    atexit.register(gc.freeze)


def _spare_modules() -> None:
    """Import attrs without modules that take a third of that time, and of which the classes here use nothing.

    attrs finds other modules in their places, which get what they are asked for from the real ones. When attrs is
    there, the places are free again: whoever imports one of these modules gets the real one.
    """
    from types import ModuleType

    class LaterModule(ModuleType):
        """A module that is imported when something of it is used."""

        def __getattr__(self, name: str) -> object:
            from importlib import import_module

            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)

    if "attr" in sys.modules:
        return
    later = [LaterModule(name) for name in ("inspect", "attr.validators", "attrs.validators")]
    later = [module for module in later if module.__name__ not in sys.modules]
    sys.modules.update((module.__name__, module) for module in later)
    try:
        import attrs  # noqa: F401 (the classes of dwarfgpu are made with it)
    finally:
        for module in later:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
