"""Why waves stop, and what ends an instruction that cannot be executed."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Pause(IntEnum):
    """What the last instruction of a block asks for in place of the next address."""

    END = -1
    BARRIER = -2
    TRAP = -3
    HALT = -4


class MachineFault(Exception):
    """An instruction that some waves cannot execute. Nothing has been changed."""

    def __init__(self, reason: str, waves: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """Why, in the words of a stopped wave."""
        self.waves = waves
        """Flags of the waves in the batch that it concerns; None for all."""


class UnknownInstruction(Exception):
    """An instruction without a meaning here."""
