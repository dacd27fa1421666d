"""Frames and waves as tables of pandas, and what the library says where a question cannot be answered."""

import pickle
from pathlib import Path

import pytest

import dwarfgpu as dg
from dwarfgpu.compilers import SOURCES, is_source
from dwarfgpu.compilers.sources import LANGUAGES

EXAMPLES = "dwarfgpu/examples/"


@pytest.fixture(scope="module")
def core():
    return dg.open_core(f"{EXAMPLES}blur.core")


@pytest.fixture(scope="module")
def frame(core):
    return core[0].frame(0)


def test_several_values_of_all_waves_are_a_table(core):
    table = dg.all_waves(core, ["j", "last"])
    assert list(table.columns) == ["j", "last"]
    assert table.index.names == ["wave", "lane"]
    values = dg.all_waves(core, "last").to_pandas()["value"]
    assert table["last"].dropna().tolist() == values.dropna().tolist()
    assert core.to_pandas()["last"].dropna().tolist() == values.dropna().tolist()


def test_a_frame_yields_its_variables_and_is_a_table_of_them(frame):
    names = [variable.name for variable in frame]
    assert names == frame._ipython_key_completions_() == list(frame.to_pandas().columns)
    assert frame.to_pandas()["j"].dropna().tolist() == frame["j"].values().to_pandas()["value"].dropna().tolist()


def test_messages_say_what_to_do(core, frame):
    assert repr(core).startswith(f"Attached('{EXAMPLES}blur.core', ")
    with pytest.raises(dg.Unavailable, match=r"give lane=N, or ask values\(\)"):
        frame["j"].value()
    with pytest.raises(dg.MalformedFile, match=r"blur\.co is code, not a state") as raised:
        dg.open_core(f"{EXAMPLES}blur.co")
    assert "dwarfgpu.open" in raised.value.hint
    assert not {"sys", "TYPE_CHECKING"} & {*dir(dg)}


def test_code_in_memory_is_launched_and_a_kernel_that_runs_is_not_pickled():
    code = Path(f"{EXAMPLES}blur.co").read_bytes()
    kernel = dg.launch(code, "blur", ["arange(50)", "zeros(50)", 49], grid=64, work_group=64)
    assert str(kernel.run()) == "all waves have ended"
    with pytest.raises(dg.UsageError, match="a kernel that runs cannot be pickled"):
        pickle.dumps(kernel)


def test_names_of_sources():
    assert set(SOURCES) == set(LANGUAGES)
    assert [*map(is_source, ("k.cl", "k.hip@gfx90a", "a@b.cpp", "k.co", "k.cl.co@gfx90a"))] == [True] * 3 + [False] * 2
