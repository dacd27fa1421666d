"""Files of other machines and workers of a cluster: each input is answered once, or has one error."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pyarrow.parquet as pq
import pytest
from pyarrow.compute import field
from pyarrow.dataset import dataset

from dwarfgpu.fleet import cluster as work
from dwarfgpu.fleet.answers import COLUMNS, make_question, rows_of
from dwarfgpu.fleet.inputs import fetched, find_inputs
from dwarfgpu.fleet.parts import AnswerFolder, Journal
from tests.builders.commands import ROOT, run
from tests.builders.fleet_cluster import cluster, environment
from tests.builders.many_states import CODE, snapshot_text, write_states
from tests.builders.parameters import for_each, share
from tests.builders.range_server import serving

PADDING = 20_000_000
EXAMPLES = ROOT / "dwarfgpu" / "examples"


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


@for_each("size,message",
    (1 << 62, "its server claims 4611686018427387904 bytes, and "),
    (1 << 26, ""),
    (0, "it is empty"))  # fmt: skip
@pytest.mark.sampled(6)
def test_a_server_that_lies_about_a_size_is_an_error_of_its_input(served, size, message):
    served.claims["a/k.co"] = size
    (row,) = asked("info", f"{served.url}/a/k.co")
    assert row["state"] == "error"
    assert message in row["message"]
    assert asked("eval", f"{served.url}/a/states/s.json", "even")[0]["state"] == "error"
    (served.folder / "other.co").write_bytes(CODE.read_bytes())
    assert asked("info", f"{served.url}/other.co")[0]["state"] == "answer"


@pytest.mark.slow
def test_broken_archives_and_servers_without_ranges_are_rows(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x05\x06" + bytes(9))
    (row,) = asked("info", f"zip://k.co::file://{tmp_path}/a.zip")
    assert (row["state"], row["error_kind"]) == ("error", "unreadable")
    assert "BadZipFile: File is not a zip file" in row["message"]
    (tmp_path / "k.co").write_bytes(CODE.read_bytes() + bytes(PADDING))
    with serving(tmp_path, has_ranges=False) as server:
        (row,) = asked("coverage", f"{server.url}/k.co")
        assert (row["state"], row["error_class"]) == ("error", "malformed")
        assert "support range requests" in row["message"]


def test_a_file_is_an_input_and_the_code_of_another(served):
    state, code = f"{served.url}/a/states/s.json", f"{served.url}/a/k.co"
    for _ in range(2):
        assert asked("eval", state, "even")[0]["number"] == 11
        assert asked("info", code)[0]["state"] == "answer"


@for_each("name,said",
    ("../k.co@gfx90a", 11),
    ("../none.co", "none.co: FileNotFoundError"),
    ("../k.co@gfx906", "no entry is for gfx906"))  # fmt: skip
@pytest.mark.sampled(6)
def test_code_that_a_snapshot_names_is_found_when_it_is_opened(served, name, said):
    place = served.folder / "a" / "states" / "s.json"
    text = json.loads(place.read_text())
    text["code_objects"][0]["path"] = name
    place.write_text(json.dumps(text))
    (row, *_more) = asked("eval", f"{served.url}/a/states/s.json", "even")
    assert row["number"] == said if isinstance(said, int) else said in row["message"]


def test_code_is_copied_once_for_the_states_that_follow(served):
    assert [row["number"] for row in asked("eval", f"{served.url}/a/states/s.json", "even")] == [11]
    before = served.sent["a/k.co"]
    asked("eval", f"{served.url}/a/states/s.json", "left")
    assert served.sent["a/k.co"] == before


def test_checks_of_a_file_are_those_of_the_local_file(served):
    answer = asked("verify", f"{served.url}/a/k.co")
    assert without_names(answer) == without_names(local("verify", str(served.folder / "a" / "k.co")))
    assert all(served.url in (row["answer"] or "") for row in answer if row["state"] == "answer")


@pytest.mark.slow
def test_folders_and_core_files_are_copied_with_what_they_have(tmp_path):
    run("snapshot", "convert", str(EXAMPLES / "variables.json"), str(tmp_path / "s.dgs"))
    with serving(tmp_path) as server:
        answer = asked("eval", f"{server.url}/s.dgs", "even", code=str(CODE))
        assert without_names(answer) == without_names(local("eval", str(tmp_path / "s.dgs"), "even", code=str(CODE)))
        assert answer[0]["state"] == "active"
    (tmp_path / "crash.core").write_bytes((EXAMPLES / "crash.core").read_bytes() + bytes(PADDING))
    with serving(tmp_path) as server:
        answer = asked("bt", f"{server.url}/crash.core")
        assert without_names(answer) == without_names(local("bt", str(tmp_path / "crash.core")))
        assert any(row["state"] == "frame" for row in answer)


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


@pytest.mark.slow
def test_a_url_that_is_not_there_is_a_row(served):
    (row,) = asked("bt", f"{served.url}/none.json")
    assert (row["state"], row["error_kind"]) == ("error", "unreadable")
    assert f"{served.url}/none.json" in row["message"]


TIMEOUT = 900
"""Seconds after which a run has failed; it takes a few."""


def fleet(*words, env=None, timeout=TIMEOUT):
    return subprocess.run(
        [sys.executable, "-m", "dwarfgpu", "fleet", *map(str, words)], capture_output=True, check=False, text=True,
        env=env or environment(), timeout=timeout)  # fmt: skip


def outcomes(out):
    """What became of each input, of all parts, as often as it is there."""
    found = []
    for path in sorted((out / "answers").glob("*/part-*.parquet")):
        found += json.loads(pq.read_metadata(path).metadata[b"dwarfgpu"])
    return found


def rows(out):
    return [
        row for path in sorted((out / "answers").glob("*/part-*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def check_each_once(out, folder, broken, aside=()):
    """Every input is answered exactly once, and those that are broken say so in a row."""
    counts = Counter(name for name, *_ in outcomes(out))
    names = {str(path) for path in folder.iterdir()}
    assert set(counts) == names
    assert set(counts.values()) == {1}
    statuses = {name: status for name, status, *_ in outcomes(out)}
    assert {name for name, status in statuses.items() if status == "failed"} == broken
    assert {name for name, status in statuses.items() if status == "set aside"} == set(aside)
    answers = rows(out)
    for name in broken:
        assert [row["state"] for row in answers if row["input"] == name] == ["error"], name
    good = Counter(row["input"] for row in answers if row["state"] == "active")
    assert set(good) == names - broken - set(aside)
    assert set(good.values()) == {1}, "each has one run of lanes with one value"
    assert not (out / "_work").exists()
    assert not list(out.rglob("*.part"))


@pytest.mark.slow
def test_local_workers_answer_every_input_once(tmp_path):
    broken = write_states(tmp_path / "dumps", 40, broken_each=8)
    done = fleet("eval even", tmp_path / "dumps", "--scheduler", "local:2", "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    assert "40 inputs, 35 answered, 5 not" in done.stdout
    assert done.stderr == ""
    check_each_once(tmp_path / "out", tmp_path / "dumps", broken)


@pytest.mark.slow
def test_local_workers_listen_to_nobody_else(tmp_path):
    """Everything listens on 127.0.0.1, wants a certificate of the run, and shows no page."""
    script = tmp_path / "script.py"
    script.write_text("""\
import json, socket, ssl, sys, urllib.error, urllib.request
import psutil
from dwarfgpu.fleet.cluster import connected

def answer(port, wrapped):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as plain, wrapped(plain) as stream:
            stream.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            return stream.recv(12).decode(errors="replace")
    except OSError as error:
        return "closed"

if __name__ == "__main__":
    with connected("local:1") as client:
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        known = [each for process in processes for each in process.net_connections("tcp")]
        listening = {each.laddr for each in known if each.status == "LISTEN"}
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        told = [(answer(each.port, lambda plain: plain), answer(each.port, context.wrap_socket)) for each in listening]
        print(json.dumps([sorted({place.ip for place in listening}), sorted(told)]))
""")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True
    )
    hosts, told = json.loads(done.stdout)
    assert hosts == ["127.0.0.1"]
    assert {tuple(pair) for pair in told} == {("closed", "closed"), ("HTTP/1.1 404", "closed")}
    assert [plain for plain, _ in told].count("HTTP/1.1 404") == 2, "a scheduler and a worker"


@pytest.mark.slow
def test_an_input_that_ends_workers_is_set_aside_and_the_others_are_answered(tmp_path):
    broken = write_states(tmp_path / "dumps", 30, broken_each=10, names={3: "-kills", 17: "-kills-once"})
    (tmp_path / "marks").mkdir()
    with cluster(2, env=environment(tmp_path / "marks")) as address:
        done = fleet("eval even", tmp_path / "dumps", "--scheduler", address, "--out", tmp_path / "out")
    killer = str(tmp_path / "dumps" / "rank00003-kills.json")
    assert done.returncode == 3, done.stderr
    check_each_once(tmp_path / "out", tmp_path / "dumps", broken, {killer})
    assert f"{killer}: 2 workers ended while they worked on it" in done.stdout
    (row,) = [row for row in rows(tmp_path / "out") if row["input"] == killer]
    assert (row["state"], row["error_kind"]) == ("error", "worker_ended")


@pytest.mark.slow
def test_a_worker_that_stops_or_loses_its_connection_is_replaced(tmp_path):
    write_states(tmp_path / "dumps", 16, names={2: "-stops-once", 9: "-leaves-once"})
    (tmp_path / "marks").mkdir()
    with cluster(2, env=environment(tmp_path / "marks")) as address:
        done = fleet("eval even", tmp_path / "dumps", "--scheduler", address, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    check_each_once(tmp_path / "out", tmp_path / "dumps", set())


@pytest.mark.slow
def test_an_input_that_takes_all_memory_of_a_worker_is_set_aside(tmp_path):
    write_states(tmp_path / "dumps", 6, names={4: "-eats"})
    (tmp_path / "marks").mkdir()
    with cluster(1, memory="600MB", env=environment(tmp_path / "marks")) as address:
        done = fleet("eval even", tmp_path / "dumps", "--scheduler", address, "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    check_each_once(tmp_path / "out", tmp_path / "dumps", set(), {str(tmp_path / "dumps" / "rank00004-eats.json")})


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_is_done_and_goes_on(tmp_path):
    write_states(tmp_path / "dumps", 20, names={19: "-waits"})
    (tmp_path / "marks").mkdir()
    env = environment(tmp_path / "marks")
    words = ("eval even", str(tmp_path / "dumps"), "--scheduler", "local:1", "--out", str(tmp_path / "out"))
    with subprocess.Popen(
        [sys.executable, "-m", "dwarfgpu", "fleet", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True,
    ) as process:  # fmt: skip
        wait_until(lambda: len(outcomes(tmp_path / "out")) >= 18, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        _out, err = process.communicate(timeout=TIMEOUT)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}

    assert process.returncode == 130, err
    assert "--resume goes on with the others" in err
    assert "Traceback" not in err, "workers leave it to the program"
    assert not (tmp_path / "out" / "summary.json").exists()

    (tmp_path / "marks" / "go").touch()
    refused = fleet(*words, env=env)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    done = fleet(*words, "--resume", env=env)

    assert done.returncode == 0, done.stderr
    check_each_once(tmp_path / "out", tmp_path / "dumps", set())
    assert before
    assert all(path.stat().st_mtime_ns == time for path, time in before.items()), "nothing is answered twice"
    other = fleet("bt", *words[1:], "--resume", env=env)
    assert other.returncode == 2
    assert "of another question: eval even" in other.stderr


def test_a_worker_of_a_run_that_has_ended_begins_no_more_inputs(tmp_path, monkeypatch):
    begun = []

    def answer(_question, item):
        begun.append(item.name)
        folder.end()
        return [{"state": "empty"}]

    monkeypatch.setattr(work, "LOOKS", -1)
    monkeypatch.setattr(work, "rows_of", answer)
    write_states(tmp_path / "dumps", 4)
    question = make_question("bt")
    (batch,) = work.make_batches(question, find_inputs([str(tmp_path / "dumps")]), str(tmp_path / "out"), 1)[:1]
    folder = AnswerFolder(batch.folder)
    folder.begin(question, batch.token, resume=False)
    assert work.answer_batch(batch) == work.ENDED
    assert begun == [batch.inputs[0].name]
    assert not list(tmp_path.rglob("*.parquet*"))


def test_an_input_is_not_to_blame_for_the_end_of_earlier_runs(tmp_path):
    """What was begun when somebody ended two runs is asked by the third one."""
    write_states(tmp_path / "dumps", 1)
    question, items = make_question("eval", "even"), find_inputs([str(tmp_path / "dumps")])
    for _ in range(2):
        (batch,) = work.make_batches(question, items, str(tmp_path / "out"), 1)
        folder = AnswerFolder(batch.folder)
        folder.begin(question, batch.token, resume=True)
        Journal(folder, f"{batch.name}-{batch.token}").write("begin 0\n")
    (batch,) = work.make_batches(question, items, str(tmp_path / "out"), 1)
    folder.begin(question, batch.token, resume=True)
    assert work.answer_batch(batch) == ""
    assert [outcome.status for outcome in folder.outcomes()] == ["answered"]


def test_readers_of_parquet_read_the_folder(tmp_path):
    write_states(tmp_path / "dumps", 3, broken_each=3)
    question = make_question("eval", "even")
    batches = work.make_batches(question, find_inputs([str(tmp_path / "dumps")]), str(tmp_path / "out"), 1)
    folder = AnswerFolder(batches[0].folder)
    folder.begin(question, batches[0].token, resume=False)
    assert [work.answer_batch(batch) for batch in batches] == [""] * len(batches)
    table = dataset(folder.answers, partitioning="hive").to_table()
    assert table.column_names == [*COLUMNS, "question"]
    assert set(table["question"].to_pylist()) == {"eval"}
    failed = dataset(folder.answers, partitioning="hive").to_table(filter=field("state") == "error")
    assert failed["input"].to_pylist() == [str(tmp_path / "dumps" / "rank00002.json")]
    assert sorted(table["number"].to_pylist(), key=str) == [0.0, 1.0, None]


def wait_until(is_so, process):
    """Wait until something is so, as long as a process runs."""
    event = threading.Event()
    for _ in range(TIMEOUT * 10):
        if is_so():
            return
        assert process.poll() is None, process.stderr.read()
        event.wait(0.1)
    raise AssertionError("it never became so")


@pytest.mark.slow
def test_many_inputs_survive_broken_files_and_dying_workers(tmp_path):
    count = share(2000)
    names = {count * 3 // 20: "-kills-once", count * 12 // 20: "-kills-once", count * 15 // 20: "-kills"}
    broken = write_states(tmp_path / "dumps", count, broken_each=20, names=names)
    (tmp_path / "marks").mkdir()
    with cluster(2, env=environment(tmp_path / "marks")) as address:
        done = fleet("eval even", tmp_path / "dumps", "--scheduler", address, "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    assert len(broken) == count // 20
    (killer,) = (tmp_path / "dumps").glob("*-kills.json")
    check_each_once(tmp_path / "out", tmp_path / "dumps", broken, {str(killer)})


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_one_error(tmp_path):
    write_states(tmp_path / "dumps", 1)
    env = environment(DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="1s")
    words = ("eval even", tmp_path / "dumps", "--scheduler")
    done = fleet(*words, "tcp://127.0.0.1:1", "--out", tmp_path / "out", env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no scheduler at tcp://127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
