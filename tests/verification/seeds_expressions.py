"""Expressions with one defect each."""

from __future__ import annotations

from functools import partial

from tests.builders.hostile import gpu, variable
from tests.builders.seeds import Seed


def location(rule: str, name: str, text: str | bytes) -> Seed:
    """A variable whose location has a defect."""
    return Seed(f"expression-{rule}", name, partial(gpu, variable("a", location=text)))


SEEDS = (location("stack-underflow", "an addition of nothing", "DW_OP_lit1; DW_OP_plus"),)
