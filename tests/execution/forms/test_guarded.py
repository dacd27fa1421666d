"""Compiled code stays in the memory of the machine: in a process with pages without access around each buffer."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.parameters import share

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")


def status_of(*words):
    command = [sys.executable, "-m", "tests.builders.guarded", *words]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("where", ["start", "end"])
def test_no_mutant_reads_or_writes_beyond_a_buffer(where):
    status, output = status_of(where, "guarded", str(share(250)))
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize("where", ["start", "end"])
def test_an_access_beyond_a_buffer_ends_the_process(where):
    assert status_of(where, "beyond", "0")[0] == -signal.SIGSEGV
