"""What most tests of commands share."""

import pytest

from tests.questions.harness import KERNEL, STATE, Run


@pytest.fixture
def run() -> Run:
    """A debugger that looks at a wave of the kernel."""
    return Run(KERNEL, STATE)
