"""What `variables` and `evaluate` share with questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.questions.selection import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError

__all__ = ["open_file", "report_problems"]


def report_problems(session: Session, problems: Iterable[DwarfGpuError]) -> int:
    """Show what is broken beside the data."""
    return session.report_problems(problems)
