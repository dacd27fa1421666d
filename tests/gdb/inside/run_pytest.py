"""Runs pytest inside GDB, and says how that went. GDB's standard output is no file, so pytest gets the real one."""

import os
import sys

import pytest

sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
options = ["-q", "-p", "no:cacheprovider", "--capture=no", "-W", "ignore::ImportWarning"]  # a finder of GDB itself
options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the plug-in imports dwarfgpu, which has a fixture
status = pytest.main([*options, *os.environ["PYTEST_FILES"].split()])
print(f"@@pytest {int(status)}@@", flush=True)
