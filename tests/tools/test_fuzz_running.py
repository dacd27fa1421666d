"""Random kernels give what the host gives, and damaged ones end with a reason."""

import pytest

from tools import fuzz_kernels, fuzz_running

PROCESSORS = fuzz_kernels.PROCESSORS


@pytest.mark.parametrize("processor", PROCESSORS)
def test_some_random_kernels_give_what_the_host_gives(require_tool, processor, tmp_path):
    require_tool("clang-22")
    found, counts = fuzz_kernels.differences("tests", 0, [processor], tmp_path, in_file=5)
    assert [(each.kernel.name, each.reason) for each in found] == []
    assert counts == {processor: 5}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_random_kernels_give_what_the_host_gives(require_tool, processor, number, tmp_path):
    require_tool("clang-22")
    found, counts = fuzz_kernels.differences("tests", number, [processor], tmp_path)
    assert [(each.kernel.name, each.reason) for each in found] == []
    assert counts == {processor: fuzz_kernels.IN_FILE}


def test_the_same_seed_gives_the_same_kernels():
    first, second = (fuzz_kernels.source(fuzz_kernels.kernels("seed", 3)) for _ in range(2))
    assert first == second
    assert first != fuzz_kernels.source(fuzz_kernels.kernels("other", 3))


def test_a_kernel_with_fewer_statements_is_looked_for(tmp_path, monkeypatch):
    """What shows a difference as well with a statement less is made smaller."""
    made = fuzz_kernels.kernels("small", 1)[0]
    monkeypatch.setattr(fuzz_kernels, "Host", lambda code, *_: type("Same", (), {"run": lambda *_: code})())
    monkeypatch.setattr(
        fuzz_kernels, "compared", lambda _way, code, *_: [("k0", "" if "KERNEL void k0" not in code else "x", code)]
    )
    monkeypatch.setattr(fuzz_kernels, "difference", lambda *_: "")
    way = fuzz_kernels.way_of("small", 0, "gfx90a")
    small = fuzz_kernels.minimal("small", 0, fuzz_kernels.Difference(way, made, ""), tmp_path)
    assert small.reason == "x"
    assert [phase.statements for phase in small.kernel.phases] == [[]]


@pytest.mark.slow
def test_damaged_kernels_end_with_a_reason():
    findings, ends = fuzz_running.fuzz("tests", 0, 150)
    assert findings == []
    assert {"fault", "error", "ended"} <= set(ends)


@pytest.mark.slow
def test_many_damaged_kernels_end_with_a_reason():
    findings, _ends = fuzz_running.fuzz("tests", 150, 5000)
    assert findings == []


def test_what_no_mutant_may_do_is_found(monkeypatch):
    """An exception that is no error of the project is a finding."""

    def broken(*_args, **_options):
        raise KeyError("broken")

    monkeypatch.setattr(fuzz_running, "launch", broken)
    findings, ends = fuzz_running.fuzz("tests", 0, 5)
    assert [finding.kind for finding in findings] == ["KeyError"]
    assert ends["exception"]
