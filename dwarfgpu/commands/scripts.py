"""Python scripts run by the debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger


def run_python(debugger: Debugger, path: str) -> None:
    """Run a Python script about what the debugger looks at."""
    from runpy import run_path

    try:
        run_path(path, run_name="__main__")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", kind="unreadable") from None
