"""GDB passes the suite of all backends: inside GDB, with a stub that has the described states."""

import re

import pytest

from dwarfgpu.machines import snapshot
from dwarfgpu.targets.resolve import resolve
from tests.gdb.running import INSIDE, run_gdb, stub
from tests.machines.conformance import BIG, WAVE32, WAVE64, State
from tests.machines.test_conformance import machine_of

STATES = (WAVE64, WAVE32, BIG, State(resolve("amdgcn-gfx803"), {"s0": 1}, []))


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True], ids=["served", "plain"])
def test_gdb_is_a_backend(tmp_path, require_tool, plain):
    states = {}
    for state in STATES:
        path = tmp_path / f"{state.target.name}.json"
        snapshot.save(machine_of(state), path)
        states[state.target.name] = path
    with stub(tmp_path, states, plain=plain) as sockets:
        text = run_gdb(
            require_tool,
            script=INSIDE / "run_pytest.py",
            variables={
                "STUB_SOCKETS": str(sockets),
                "PYTEST_FILES": str(INSIDE / "conformance_member.py"),
                "HYPOTHESIS_PROFILE": "dev",
            },
        )
    assert "@@pytest 0@@" in text, text[-6000:]
    assert int(re.search(r"(\d+) passed", text)[1]) >= 35
    assert "skipped" not in text
