"""The fixture `dwarfgpu_triton`, whose module pytest loads in each of its runs: it imports nothing before its use."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dwarfgpu.triton import UsedDevice


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what the configuration of pytest may say."""
    parser.addini("dwarfgpu_target", "the processor that kernels of Triton are compiled for", default="gfx942")
    parser.addini("dwarfgpu_check", "the checks of kernels of Triton", default="race,bounds")


@pytest.fixture
def dwarfgpu_triton(request: pytest.FixtureRequest) -> Iterator[UsedDevice]:
    """Let kernels of Triton execute without a GPU, with checks: a test fails if they find an error."""
    import dwarfgpu.triton as dt

    with dt.use(request.config.getini("dwarfgpu_target"), check=request.config.getini("dwarfgpu_check")) as device:
        yield device


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Let a test fail whose kernels have errors; what a fixture raises behind it would be an error of the fixture."""
    result = yield
    device: Any = pyfuncitem.funcargs.get("dwarfgpu_triton")
    findings = () if device is None else device.findings
    errors = [f"{each.message}; {each.sides[0].done}" for each in findings if each.severity == "error"]
    if errors:
        pytest.fail("\n".join(("checks of kernels have found errors, which are told below:", *errors)), pytrace=False)
    return result
