"""The notebook among the examples, executed by Jupyter from the folder that `dwarfgpu example` writes."""

from itertools import chain

import nbclient
import nbformat
import pytest

from tests.builders.commands import run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_shows_lanes_a_crash_and_a_histogram(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    assert run("example", "notebook", "-o", str(tmp_path)).returncode == 0
    notebook = nbformat.read(tmp_path / "notebook.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [*chain.from_iterable(cell.outputs for cell in notebook.cells if cell.cell_type == "code")]
    texts = [output.get("text") or output.data.get("text/plain", "") for output in outputs]
    pages = [output.data.get("text/html", "") for output in outputs if "data" in output]
    assert "<svg" in pages[0]
    assert any("just past the end of `in`, which has 200 bytes" in text for text in texts)
    assert texts[-1] == "{-1: 0, 0: 0, 1: 49, 2: 0}"
