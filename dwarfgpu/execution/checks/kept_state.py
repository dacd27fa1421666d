"""What checks know, for checkpoints: a run that goes back is checked from there as if nothing had come later."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np


class KeptState:
    """An object whose attributes change as waves run."""

    CHANGING: ClassVar[tuple[str, ...]] = ()
    """The names of those that do; all do if none is named."""

    def saved(self) -> dict[str, Any]:
        """Return what `restore` needs."""
        return {name: _copied(value) for name, value in vars(self).items() if name in (self.CHANGING or vars(self))}

    def restore(self, saved: dict[str, Any]) -> None:
        """Bring back what was saved."""
        self.__dict__.update({name: _copied(value) for name, value in saved.items()})


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if isinstance(value, set):
        return set(value)
    if isinstance(value, KeptState):
        other = copy(value)
        other.restore(vars(value))
        return other
    return value


def size_of(value: Any) -> int:
    """Return the bytes of the arrays in what was saved."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    parts = value.values() if isinstance(value, dict) else vars(value).values() if isinstance(value, KeptState) else ()
    return sum(map(size_of, value if isinstance(value, list) else parts))
