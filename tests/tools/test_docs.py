"""``tools/docs.py`` writes what the code of its own checkout says, whichever checkout is installed."""

import shutil
import subprocess
import sys

import pytest

from tests.builders.folders import ROOT


@pytest.mark.slow
def test_a_second_checkout_imports_its_own_package(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "programs")
    for name in ("dwarfgpu", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    script = "import sys; sys.path[0] = 'tools'; import docs, dwarfgpu; print(dwarfgpu.__file__)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(tmp_path / "dwarfgpu/__init__.py"), "")
