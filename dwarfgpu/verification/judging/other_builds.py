"""The build that variables are compared with: a code object that runs here, or a program of the host in GDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.errors import UsageError
from dwarfgpu.verification.judging.statement_record import record_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.program.running.running import Running
    from dwarfgpu.verification.judging.statement_record import StatementHistory


class OtherBuild(Protocol):
    """Another build of the source that is judged."""

    name: str
    problem: str | None
    """Why not everything was recorded; None if it was."""

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        """Run it, and return what the work-items of a history do in it."""
        ...


class GpuBuild:
    """A code object that the machine runs, too."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.name = running.launched.plan.file.name.rpartition("/")[2]
        self.problem: str | None = None

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        history, halt = record_run(self.running, judged, limit)
        if not halt.has_ended:
            self.problem = f"{self.name} has not ended: {halt}"
        return history


def other_build(
    path: str, judged: Running, kernel: str, words: Sequence[str], option: Callable[[str], Any]
) -> OtherBuild:
    """Open the other build, ready to run the kernel with the same arguments."""
    from dwarfgpu.program.program import open_program
    from dwarfgpu.program.running.running import launched_with

    program = open_program(path)
    if not program.file.has_dwarf:
        raise UsageError(f"{path} has no debugging information", hint="compile it with -g")
    if program.file.is_amdgpu:
        return GpuBuild(launched_with(program, kernel, words, option))
    from dwarfgpu.verification.judging.host_builds import HostBuild

    return HostBuild(program, judged)
