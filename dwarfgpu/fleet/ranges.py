"""Files of other machines."""
from __future__ import annotations
from contextlib import contextmanager
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from collections.abc import Iterator
    from dwarfgpu.fleet.inputs import Input
@contextmanager
def fetched(item: Input) -> Iterator[Input]:
    yield item
