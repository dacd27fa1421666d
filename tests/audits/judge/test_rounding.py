"""Which differences of floats roundings explain: a share of the value, or of the terms that cancel."""

from __future__ import annotations

import numpy as np
import pytest

from dwarfgpu.audits.judge.rounding import differ_by_rounding


@pytest.mark.parametrize("left, right, scale, is_rounded", [
    (1.0, np.nextafter(np.float32(1), np.float32(2)), 0.0, True), (1.0, 1.5, 0.0, False),
    (2.0**-24, 0.0, 1.0, True),  # what is left where terms of 1 cancel
    (2.0**-48, 0.0, 1.0, True),  # and what a contracted product leaves of them
    (0.0, -0.0, 1.0, True), (0.1, 0.0, 1.0, False),
    (float(np.uint32(0x02000000).view(np.float32)), 0.0, 128.0, False),
    (float(np.uint32(7).view(np.float32)), 0.0, 1.0, False),
])  # fmt: skip
def test_an_integer_that_is_read_as_a_float_is_not_rounded(left, right, scale, is_rounded):
    assert bool(differ_by_rounding(np.float32(left), np.float32(right), scale)) == is_rounded
