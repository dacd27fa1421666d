"""The immutable classes that are created on the path of every operation.

A class is immutable with ``attrs.frozen``. Creating a frozen instance costs three times as much as creating a mutable
one, so the few classes that the evaluator and the readers create over and over are ``@immutable`` instead: type
checkers refuse an assignment to a field, and with ``DWARFGPU_FREEZE=1`` in the environment, as in the test suite, so
does the interpreter. docs/decisions/0001-attrs.md has the figures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

__all__ = ["immutable"]

if TYPE_CHECKING:
    from attrs import frozen as immutable
else:
    from attrs import define

    FREEZE = os.environ.get("DWARFGPU_FREEZE") == "1"

    def immutable(cls: type[Any]) -> type[Any]:
        """Make ``cls`` an attrs class with slots, equal and hashed by its fields, that nothing assigns to."""
        return define(frozen=FREEZE, unsafe_hash=True)(cls)
