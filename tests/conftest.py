"""What all tests share: the environment, the hypothesis profiles, and the rule for missing tools."""

import gc
import os
import shutil
import signal
import sys

# Tests start hundreds of processes: byte code is kept in the environment, as `tools/dev.py` does.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(sys.prefix, "bytecode")

# All immutable classes then refuse assignments at run time. These stand before the first import of dwarfgpu, which
# reads them once.
os.environ["DWARFGPU_FREEZE"] = "1"
os.environ["DWARFGPU_PROGRESS"] = "off"  # else what a command writes depends on how long it takes

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from dwarfgpu.compilers import BUILD
from tests.builders.browser import Browser
from tests.builders.kept import built_of_text

sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

# A shell starts what runs in its background with interrupts ignored, and so would be the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised: a run depends on the code alone, so a failure is met by the change that caused it.
hypothesis.settings.register_profile("dev", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100, print_blob=True)
hypothesis.settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=200, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of garbage away from the tests themselves, which live to the end: there are 30,000 of them.

    Looking through them again and again takes a quarter of the time, and copies them into each process that is forked.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(400_000, 10, 50)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a sampled test as slow, except each so many-th."""
    counts: Counter[object] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None or item.get_closest_marker("slow") is not None:
            continue
        test = getattr(item, "function", None)
        if counts[test] % sampled.args[0]:
            item.add_marker(pytest.mark.slow)
        counts[test] += 1


@pytest.fixture(scope="session")
def require_tool() -> Callable[..., str]:
    """``require_tool("gdb")`` gives the tool's path; of several names the first that is there.

    Without the tool the test is skipped, but fails with ``DWARFGPU_REQUIRE_TOOLS=1``.
    """

    def require(*names: str) -> str:
        for name in names:
            path = shutil.which(name)
            if path is not None:
                return path
        raise lacking(f"{' or '.join(names)} is not installed")

    return require


@pytest.fixture
def compile_text(require_tool: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Compile a text without includes for a processor, as LLVM IR unless words say otherwise; return the path."""

    def compiled(processor: str, text: str, *words: str) -> str:
        usual = ["-x", "ir", "-w", "-target", "amdgcn-amd-amdhsa", "-nogpulib"]
        command = [require_tool("clang-22"), *usual, f"-mcpu={processor}", *words]
        return built_of_text(command, text, tmp_path / f"{len([*tmp_path.iterdir()])}.co")

    return compiled


@pytest.fixture(scope="session")
def browser(require_tool: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(require_tool("chromium", "chromium-browser"), tmp_path_factory.mktemp("profile"))


def lacking(reason: str) -> BaseException:
    """What a test raises that the tools here do not suffice for: it is skipped, or fails where all are required."""
    if os.environ.get("DWARFGPU_REQUIRE_TOOLS") == "1":
        return pytest.fail.Exception(f"{reason}, and DWARFGPU_REQUIRE_TOOLS=1", pytrace=False)
    return pytest.skip.Exception(reason)


@pytest.fixture(autouse=True)
def _own_build() -> None:
    BUILD.choose(None, None, None)  # not what a test before has chosen


@pytest.fixture(autouse=True, scope="session")
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's caches, history and terminal settings out of the tests, and the tests out of them.

    The cache of compiled code is kept beside the environments of `tools/dev.py`, for all processes and all later runs:
    building the functions of OpenCL for a processor takes seconds. A hash names all that its files depend on.
    """
    environment = Path(sys.prefix)
    cache = (environment.parent if environment.parent.name == ".venv" else environment) / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        if jit := os.environ.get("DWARFGPU_TEST_JIT"):  # all kernels then run so, unless a test says how
            from dwarfgpu.execution.device import Device

            patch.setattr(Device, "automatic", jit)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        for name in ("NO_COLOR", "FORCE_COLOR", "PAGER"):
            patch.delenv(name, raising=False)
        yield
