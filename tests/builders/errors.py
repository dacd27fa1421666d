"""The error that a call raises."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def raised(kind: type[E], call: Callable[..., Any], *arguments: Any, **keywords: Any) -> E:
    """Call a function, and return the error of a kind that it raises."""
    with pytest.raises(kind) as caught:
        call(*arguments, **keywords)
    return caught.value
