"""The immutable classes that are created on the path of every operation.

A class is immutable with ``attrs.frozen``. Creating a frozen instance costs three times as much as creating a mutable
one, so the few classes that are created over and over (what the evaluator puts on its stack, what readers of large
files return) are ``@immutable`` instead: type checkers refuse an assignment to a field, and with
``DWARFGPU_FREEZE=1`` in the environment, as in the test suite, so does the interpreter.
docs/decisions/0001-attrs.md has the figures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options: Any) -> Any:
        """Do nothing: only type checkers ask."""
        return lambda decorator: decorator


FREEZE = os.environ.get("DWARFGPU_FREEZE") == "1"
"""Whether assigning to a field raises. Decided once, at import."""

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(attrs.field,))
def immutable(cls: type[T]) -> type[T]:
    """Make ``cls`` an attrs class with slots, equal and hashed by its fields, that nothing assigns to."""
    return attrs.define(frozen=FREEZE, unsafe_hash=True)(cls)
