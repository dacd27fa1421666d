"""Programs of the fixtures that GDB can run, and the rule for a GDB with another Python."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.gdb.running import PACKAGES, ROOT

OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="session")
def require_tool(require_tool: Callable[..., str]) -> Callable[..., str]:
    """The same, but for GDB: the packages of the tests (numpy, pytest) must be for the Python in it."""

    def require(*names: str) -> str:
        path = require_tool(*names)
        if names == ("gdb",) and python_of(path) != OURS and PACKAGES not in os.environ:
            found = f"GDB has Python {python_of(path)}, and the packages of the tests are for {OURS}"
            raise lacking(f"{found} (in {PACKAGES} there may be a folder with others)")
        return path

    return require


@cache
def python_of(gdb: str) -> str:
    show = "python import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([gdb, "-nx", "-batch", "-ex", show], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="session")
def runnable_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose variables stock debuggers cannot read; what is stored cannot be executed."""
    path = tmp_path_factory.mktemp("host") / "host"
    shutil.copy(ROOT / "fixtures" / "asm" / "host.x86_64", path)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def writing_gdb(require_tool: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A GDB that can write registers of processes: GDB 13 cannot on processors with AMX, whose state is larger."""
    folder = tmp_path_factory.mktemp("writing")
    (folder / "a.c").write_text("int main(void) { return 0; }\n")
    subprocess.run([require_tool("gcc"), "-g", folder / "a.c", "-o", folder / "a"], check=True)
    commands = [word for each in ("break main", "run", "set var $xmm3.uint128 = 5") for word in ("-ex", each)]
    words = [require_tool("gdb"), "-nx", "-batch", *commands, folder / "a"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "Couldn't write extended state status" in done.stderr:
        pytest.skip("this GDB cannot write registers of this processor")
    return words[0]
