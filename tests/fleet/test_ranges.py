"""Files of other machines: only what is used of them is fetched, and an answer never has bytes that were not."""

import json
import os
import subprocess
import sys

import pytest

from dwarfgpu.fleet.answers import make_question, rows_of
from dwarfgpu.fleet.inputs import find_inputs
from dwarfgpu.fleet.ranges import BLOCK, fetched
from tests.builders.commands import ROOT, run
from tests.builders.many_states import CODE, snapshot_text
from tests.builders.parameters import for_each
from tests.builders.range_server import serving

PADDING = 20_000_000
EXAMPLES = ROOT / "docs" / "examples"


def asked(question, word, *words, code=None, **options):
    answer = []
    for item in find_inputs([word], code):
        with fetched(item) as here:
            answer += rows_of(make_question(question, *words, **options), here)
    return answer


def local(question, word, *words, **options):
    (item,) = find_inputs([word], options.pop("code", None))
    return list(rows_of(make_question(question, *words, **options), item))


def without_names(rows):
    return [{name: value for name, value in row.items() if name not in ("answer", "message")} for row in rows]


@pytest.fixture
def served(tmp_path):
    """A server with a large file of code and a snapshot beside it that names it."""
    (tmp_path / "a" / "states").mkdir(parents=True)
    (tmp_path / "a" / "k.co").write_bytes(CODE.read_bytes() + bytes(PADDING))
    text = json.loads(snapshot_text(11, code="../k.co"))
    del text["code_objects"][0]["sha256"]
    (tmp_path / "a" / "states" / "s.json").write_text(json.dumps(text))
    with serving(tmp_path) as server:
        yield server


@for_each(
    "size,message",
    (1 << 62, "its server claims 4611686018427387904 bytes, and at most 1099511627776 can be read by ranges"),
    ((1 << 40) + 1, "its server claims 1099511627777 bytes, and at most 1099511627776 can be read by ranges"),
    (0, "it is empty"),
)
def test_a_server_that_lies_about_a_size_is_an_error_of_its_input(served, size, message):
    served.claims["a/k.co"] = size
    (row,) = asked("info", f"{served.url}/a/k.co")
    assert row["state"] == "error"
    assert message in row["message"]
    assert asked("eval", f"{served.url}/a/states/s.json", "even")[0]["state"] == "error"
    (served.folder / "other.co").write_bytes(CODE.read_bytes())
    assert asked("info", f"{served.url}/other.co")[0]["state"] == "answer"


def test_a_broken_archive_is_a_row(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x05\x06" + bytes(9))
    (row,) = asked("info", f"zip://k.co::file://{tmp_path}/a.zip")
    assert (row["state"], row["error_kind"]) == ("error", "unreadable")
    assert "BadZipFile: File is not a zip file" in row["message"]


def test_a_file_is_an_input_and_the_code_of_another(served):
    state, code = f"{served.url}/a/states/s.json", f"{served.url}/a/k.co"
    for _ in range(2):
        assert asked("eval", state, "even")[0]["number"] == 11
        assert asked("info", code)[0]["state"] == "answer"


@for_each(
    "name,said",
    ("../k.co@gfx90a", 11),
    ("../none.co", "none.co: FileNotFoundError"),
    ("../k.co@gfx906", "no entry is for gfx906"),
)
def test_code_that_a_snapshot_names_is_found_when_it_is_opened(served, name, said):
    place = served.folder / "a" / "states" / "s.json"
    text = json.loads(place.read_text())
    text["code_objects"][0]["path"] = name
    place.write_text(json.dumps(text))
    (row, *_more) = asked("eval", f"{served.url}/a/states/s.json", "even")
    assert row["number"] == said if isinstance(said, int) else said in row["message"]


def test_a_state_and_its_large_code_are_read_by_ranges(served):
    assert [row["number"] for row in asked("eval", f"{served.url}/a/states/s.json", "even")] == [11]
    assert served.sent["a/k.co"] <= 4 * BLOCK
    before = served.sent["a/k.co"]
    asked("eval", f"{served.url}/a/states/s.json", "left")
    assert served.sent["a/k.co"] - before <= BLOCK, "the code stays for the states that follow"


def test_checks_of_a_file_are_those_of_the_local_file(served):
    answer = asked("verify", f"{served.url}/a/k.co")
    assert without_names(answer) == without_names(local("verify", str(served.folder / "a" / "k.co")))
    assert all(served.url in (row["answer"] or "") for row in answer if row["state"] == "answer")
    assert served.sent["a/k.co"] <= 4 * BLOCK


def test_a_folder_of_arrays_is_mapped_and_fetched_where_it_is_touched(tmp_path):
    run("snapshot", "convert", str(EXAMPLES / "variables.json"), str(tmp_path / "s.dgs"))
    with serving(tmp_path) as server:
        answer = asked("eval", f"{server.url}/s.dgs", "even", code=str(CODE))
        assert without_names(answer) == without_names(local("eval", str(tmp_path / "s.dgs"), "even", code=str(CODE)))
        assert answer[0]["state"] == "active"


def test_a_core_file_is_mapped_and_fetched_where_it_is_touched(tmp_path):
    (tmp_path / "crash.core").write_bytes((EXAMPLES / "crash.core").read_bytes() + bytes(PADDING))
    with serving(tmp_path) as server:
        answer = asked("bt", f"{server.url}/crash.core")
        assert without_names(answer) == without_names(local("bt", str(tmp_path / "crash.core")))
        assert any(row["state"] == "frame" for row in answer)
        assert server.sent["crash.core"] <= 8 * BLOCK


def test_any_file_system_of_fsspec_has_inputs():
    system = pytest.importorskip("fsspec").filesystem("memory")
    text = json.loads(snapshot_text(21, code="../k.co"))
    del text["code_objects"][0]["sha256"]
    system.pipe("/fleet/k.co", CODE.read_bytes())
    system.pipe("/fleet/states/a.json", json.dumps(text).encode())
    system.pipe("/fleet/states/deep/b.json", b"{")
    try:
        items = find_inputs(["memory://fleet/states/"])
        assert [item.name for item in items] == ["memory:///fleet/states/a.json", "memory:///fleet/states/deep/b.json"]
        assert [item.name for item in find_inputs(["memory://fleet/states/*.json"])] == [items[0].name]
        assert [row["number"] for row in asked("eval", "memory://fleet/states/a.json", "even")] == [21]
        (row,) = asked("eval", "memory://fleet/states/deep/b.json", "even")
        assert (row["state"], row["error_class"]) == ("error", "malformed")
    finally:
        system.rm("/fleet", recursive=True)


def test_what_cannot_be_fetched_is_an_error_and_never_zeros(served):
    served.fails_from["a/k.co"] = 64
    for _ in range(2):
        answer = asked("eval", f"{served.url}/a/states/s.json", "even")
        assert [row["state"] for row in answer] == ["error"]
        assert "a/k.co" in answer[0]["message"]
    served.fails_from.clear()
    assert [row["number"] for row in asked("eval", f"{served.url}/a/states/s.json", "even")] == [11]


def test_a_server_without_ranges_is_refused(tmp_path):
    (tmp_path / "k.co").write_bytes(CODE.read_bytes() + bytes(PADDING))
    with serving(tmp_path, has_ranges=False) as server:
        (row,) = asked("coverage", f"{server.url}/k.co")
        assert row["state"] == "error"
        assert row["error_class"] == "malformed"


def test_a_url_that_is_not_there_is_a_row(served):
    (row,) = asked("bt", f"{served.url}/none.json")
    assert (row["state"], row["error_kind"]) == ("error", "unreadable")
    assert f"{served.url}/none.json" in row["message"]


def test_faults_of_others_still_end_the_process():
    code = (
        "import ctypes, sys; from dwarfgpu.fleet.ranges import _faults\n"
        "_faults(); print('on', flush=True); ctypes.string_at(8)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (-11, "on\n")
