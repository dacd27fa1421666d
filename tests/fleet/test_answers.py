import json
import os
import subprocess
import sys

import pytest

from dwarfgpu.cli.fleet import question_of
from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.fleet.answers import COLUMNS, error_row, flat, make_question, questions, rows_of
from dwarfgpu.fleet.cluster import MOST_BYTES, MOST_INPUTS, local_workers, split
from dwarfgpu.fleet.inputs import Input, find_inputs
from dwarfgpu.fleet.parts import InputOutcome
from dwarfgpu.fleet.summary import MOST_VALUES, Summary, summary_text
from tests.builders.commands import ROOT, in_python
from tests.builders.errors import raised
from tests.builders.many_states import CODE, snapshot_text, summary_row, write_states

STATE = ROOT / "dwarfgpu" / "examples" / "variables.json"


def rows(question, *words, **options):
    (item,) = find_inputs([options.pop("input", str(STATE))], options.pop("code", None))
    return list(rows_of(make_question(question, *words, **options), item))


def test_each_state_is_asked_why_its_waves_have_crashed():
    (row,) = rows("fault", input=str(ROOT / "dwarfgpu" / "examples" / "blur.core"))
    assert row["state"] != "error"
    assert "MEMORY_VIOLATION" in json.dumps(row, default=str)
    with pytest.raises(UsageError, match=r"the question 'fault x\.core' names a file"):
        question_of("fault x.core")


def test_the_questions_are_those_of_the_table_with_a_file_or_operands():
    known = questions()
    assert {"eval", "locals", "bt", "waves", "lanes", "verify", "coverage", "judge", "memmodel"} <= set(known)
    assert {"disasm", "asm", "ops", "targets"}.isdisjoint(known)
    with pytest.raises(UsageError, match="'evel' is not a question about a file") as error:
        make_question("evel")
    assert error.value.hint == "did you mean eval?"
    assert "`bt` has no option lan" in str(raised(UsageError, make_question, "bt", lan=3))
    for words in (["table"], ["nosuch"], []):
        with pytest.raises(UsageError, match="is not a question about a file") as error:
            make_question("memmodel", *words)
        assert error.value.hint == "the questions are memmodel check and memmodel show"
    with pytest.raises(UsageError, match=r"the question 'memmodel check k\.co' names a file"):
        make_question("memmodel check", "k.co")


@pytest.mark.parametrize("name", sorted(questions()))
def test_every_question_has_rows_for_a_state_or_a_file(name):
    words = {"eval": ["even"], "hsa": ["queue", "0x0"], "state": ["X"], "ls": [], "bt": [], "memmodel": ["check"]}.get(
        name, []
    )
    given = {"state": {"grid": "64", "work_group": "64"}}.get(name, {})
    has_state = any(each.name == "state" for each in questions()[name].shell.selects)
    answer = rows(name, *words, input=str(STATE) if has_state else str(CODE), **given)
    assert answer
    for row in answer:
        assert set(row) <= set(COLUMNS)
        assert row.get("error_class") != "defect", row
        assert all(value is None or isinstance(value, (str, int, float)) for value in row.values()), row


def test_a_value_is_a_row_for_each_run_of_lanes(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(snapshot_text(7, in_lane=4))
    zero, seven = rows("eval", "even", input=str(path))
    assert (zero["number"], zero["lanes"], zero["lane_count"]) == (0, 0x55555 & ~(1 << 4), 9)
    assert (seven["number"], seven["lanes"], seven["lane_count"]) == (7, 1 << 4, 1)
    assert (seven["variable"], seven["type"], seven["state"]) == ("even", "int", "active")


def test_what_has_no_value_says_why():
    row = next(row for row in rows("eval", "slots", lane="all") if row["state"] == "error")
    assert row["error_kind"] == "memory_unavailable"
    assert "Cannot access memory" in row["message"]
    (row,) = rows("eval", "nosuch")
    assert (row["state"], row["error_class"], row["error_kind"]) == ("error", "usage", "no_name")


@pytest.mark.slow
def test_frames_findings_and_judgements_are_rows():
    answer = rows("bt", input=str(ROOT / "dwarfgpu" / "examples" / "calls.json"))
    frames = [row for row in answer if row["state"] == "frame" and row["wave"] == answer[0]["wave"]]
    assert len(frames) > 1
    assert frames[0]["stack"] == " < ".join(row["function"] for row in frames)
    assert all("stack" not in row for row in frames[1:])
    assert [row["frame"] for row in frames] == list(range(len(frames)))
    documents = [{"waves": ["1", "2"], "frames": [{"number": 0, "function": "f"}, {"number": 1, "function": "k"}]}]
    answer = list(flat(documents))
    assert [(row["wave"], row["frame"], row.get("stack")) for row in answer] == [
        ("1", 0, "f < k"), ("1", 1, None), ("2", 0, "f < k"), ("2", 1, None)]  # fmt: skip
    answer = rows("verify", input=str(ROOT / "fixtures" / "asm" / "operations.x86_64"))
    found = [row for row in answer if row["state"] in ("finding", "limit")]
    assert found
    assert all(row["rule"] and row["severity"] and row["message"] for row in found)
    path = ROOT / "fixtures" / "amdgpu" / "cl-kernels.gfx90a.w64.O2.v5.co"
    finding = next(row for row in rows("verify", input=str(path)) if row.get("variable"))
    assert (finding["function"], finding["variable"]) == ("spaces", "tile")
    assert finding["source"].startswith("src/opencl/kernels.cl:")
    answer = rows("memmodel check", input=str(ORDERING))
    assert [row["state"] for row in answer] == ["finding", "finding", "answer"]
    assert (answer[0]["function"], answer[0]["source"]) == ("send_all", "src/opencl/ordering.cl:19")
    assert answer[0]["rule"] == "order-wait-before"
    assert json.loads(answer[-1]["answer"])["findings"] == 2
    stated = rows("memmodel", "check", input=str(ORDERING), expect="ordering.cl:19 relaxed agent")
    assert stated[-1]["state"] == "answer"
    assert all(row["function"] for row in rows("memmodel show", input=str(ORDERING)))
    words = ("saxpy", "zeros(64)", "ones(64)", "2", "64")
    path = ROOT / "fixtures" / "amdgpu" / "cl-kernels.gfx90a.w64.O2.v5.co"
    answer = rows("judge", *words, input=str(path), grid="64", work_group="64")
    assert {row["state"] for row in answer} == {"limit"}  # of the producer, which are no reason to fail
    assert {row["function"] for row in answer} == {"saxpy"}
    assert {"statement-back", "unwind-missing"} <= {row["rule"] for row in answer}
    answer = rows("judge", input=str(path))
    assert {row["state"] for row in answer} == {"limit", "finding", "answer"}
    assert {row["function"] for row in answer if row["state"] == "finding"} == {"divergent"}
    assert sum(row["state"] == "answer" for row in answer) == 4  # kernels


ORDERING = ROOT / "fixtures" / "amdgpu" / "ordering.gfx90a.w64.O2.co"


def test_what_is_wrong_with_an_input_is_one_row(tmp_path):
    (row,) = rows("memmodel check", input=str(STATE))
    assert (row["state"], row["error_kind"]) == ("error", "not_elf")
    (row,) = rows("bt", input=str(tmp_path / "none"))
    assert (row["state"], row["error_class"]) == ("error", "malformed")
    (row,) = rows("waves", input=str(CODE))
    assert row["state"] == "error"
    assert error_row(MemoryError())["error_kind"] == "no_memory"
    assert error_row(RecursionError())["error_kind"] == "too_deep"
    assert error_row(OSError(5, "Input/output error"))["error_class"] == "malformed"
    assert error_row(ZeroDivisionError("x"))["error_class"] == "defect"


@pytest.mark.parametrize("text", ["", "{", "no snapshot", '{"schema": 1}', '{"schema": 1, "code_objects": [{}]}'])
def test_a_broken_input_is_a_row_with_its_error(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    (row,) = rows("bt", input=str(path))
    assert (row["state"], row["error_class"]) == ("error", "malformed")
    assert str(path) in row["message"]


def test_folders_patterns_and_files_are_inputs_once_each(tmp_path):
    write_states(tmp_path / "d", 3)
    folder = tmp_path / "d" / "sub" / "many.dgs"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (tmp_path / "d" / ".hidden").write_text("")
    names = [str(tmp_path / "d" / f"rank{n:05}.json") for n in range(3)]
    assert [item.name for item in find_inputs([str(tmp_path / "d")])] == [*names, str(folder)]
    assert [item.name for item in find_inputs([names[1], f"{tmp_path}/d/*.json"])] == [names[1], names[0], names[2]]
    assert [item.name for item in find_inputs([f"{tmp_path}/**/*1.json"])] == [names[1]]
    assert [item.code for item in find_inputs([f"file://{names[1]}", f"file://{tmp_path}/d/*0.json"])] == [
        names[1], names[0]]  # fmt: skip
    assert find_inputs(names[:1])[0].size == len(snapshot_text(0))
    assert "no file matches the pattern" in str(raised(UsageError, find_inputs, [f"{tmp_path}/*.co"]))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there are no inputs" in str(raised(UsageError, find_inputs, [str(empty)]))


def test_lists_are_pairs_of_code_and_state(tmp_path):
    (tmp_path / "pairs.csv").write_text('state,code\ns1.json,k.co\n"s 2.json",/abs/k.co\n\n# no more\n')
    (tmp_path / "pairs.txt").write_text("k.co s1.json\nk.co,host.core,gpu.core\nalone.json\n")
    pair, quoted = find_inputs([str(tmp_path / "pairs.csv")])
    assert (pair.code, pair.states) == (str(tmp_path / "k.co"), (str(tmp_path / "s1.json"),))
    assert (quoted.code, quoted.states) == ("/abs/k.co", (str(tmp_path / "s 2.json"),))
    _, cores, alone = find_inputs([str(tmp_path / "pairs.txt")])
    assert cores.states == (str(tmp_path / "host.core"), str(tmp_path / "gpu.core"))
    assert (alone.code, alone.states) == (str(tmp_path / "alone.json"), ())
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe,\xff")
    assert "it is not UTF-8 text" in str(raised(MalformedFile, find_inputs, [str(tmp_path / "bad.csv")]))


def test_states_with_two_files_of_code_and_with_one_for_all(tmp_path):
    (tmp_path / "pairs.csv").write_text("a.co,s.json\nb.co,s.json\n")
    first, second = find_inputs([str(tmp_path / "pairs.csv")])
    assert (first.code, second.code) == (str(tmp_path / "a.co"), str(tmp_path / "b.co"))
    assert first.name != second.name
    path = tmp_path / "s.json"
    path.write_text(snapshot_text(5, code="gone.co"))
    assert rows("eval", "even", input=str(path))[0]["state"] == "error"
    assert rows("eval", "even", input=str(path), code=str(CODE), force=True)[0]["number"] == 5


def test_batches_and_schedulers_have_limits():
    small = [Input(str(n), str(n), (), 1000) for n in range(5000)]
    sizes = [len(batch) for batch in split(small, 2)]
    assert sum(sizes) == 5000
    assert max(sizes) == MOST_INPUTS
    assert sizes == sorted(sizes, reverse=True)
    assert [len(batch) for batch in split(small[:20], 2)] == [5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    assert [len(batch) for batch in split(small[:20], 64)] == [1] * 20
    large = [Input(str(n), str(n), (), MOST_BYTES) for n in range(3)]
    assert [len(batch) for batch in split([*large, *small], 1)][:3] == [1, 1, 1]
    assert local_workers("local:3") == 3
    assert local_workers("local") >= 1
    assert local_workers("tcp://h:1") is None
    for wrong in ("local:0", "local:x", "cluster"):
        raised(UsageError, local_workers, wrong)
    assert question_of("bt --budget 5").budget == 5
    assert question_of("bt", "7").budget == 7
    assert question_of("bt --budget 5", "7").budget == 5
    assert question_of("memmodel check", "7").budget == 7


def test_waves_are_grouped_by_stack_over_all_inputs_the_rarest_first():
    summary = Summary("bt")
    summary.add_outcomes([InputOutcome(f"rank{n}", "answered", 1, 10) for n in range(4000)])
    waiting = [summary_row(f"rank{n}", stack="wait < train", waves=1) for n in range(3998)]
    summary.add_rows(
        [
            *waiting,
            summary_row("rank3998", stack="abort < train", waves=1),
            summary_row("rank3999", stack="abort < train"),
        ]
    )
    lines = list(summary_text(summary, 80))
    assert lines[0] == "bt: 4,000 inputs, 4,000 answered; 4,000 rows"
    expected = ["          2  abort < train  (rank3998, rank3999)", "      3,998  wait < train  (3,998 inputs)"]
    assert lines[3:] == expected
    assert summary.json()["stacks"][0] == {
        "stack": "abort < train", "count": 2, "inputs": 2, "examples": ["rank3998", "rank3999"]}  # fmt: skip


def test_the_rarest_values_are_named():
    summary = Summary("eval step")
    for n in range(100):
        value = 5000 if n == 42 else n // 2
        summary.add_rows([summary_row(f"r{n}", variable="step", value=str(value), number=float(value), lane_count=64)])
    lines = list(summary_text(summary, 80))
    assert "5000  (r42)" in lines[lines.index("step: 51 values, those of the fewest inputs first") + 2]
    summary = Summary("eval x")
    for n in range(MOST_VALUES * 2):
        summary.add_rows([summary_row(f"r{n}", variable="x", value=str(n), number=float(n), lane_count=1)])
    values = summary.variables["x"]
    assert values.is_joined
    assert len(values.groups) == 14
    assert sum(group.count for group in values.groups.values()) == MOST_VALUES * 2
    assert values.groups["2^12 to 2^13"].count == 4096


def test_without_the_extra_one_error_says_what_to_install(tmp_path):
    code = (
        "import sys, importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name in ('distributed', 'pyarrow') else find(name, *a);"
        f"from dwarfgpu.cli import main; sys.exit(main(['fleet', 'bt', {str(STATE)!r}]))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "dwarfgpu: error: fleet needs distributed, pyarrow, not installed here\n"
        "hint: `pip install '.[fleet]'` in a checkout of dwarfgpu installs what it needs\n"
    )


@pytest.mark.slow
def test_a_question_of_the_library_is_a_dask_bag(tmp_path):
    write_states(tmp_path / "d", 5, broken_each=5)
    code = (
        "from dwarfgpu.fleet import ask; import json\n"
        f"bag = ask('eval', {str(tmp_path / 'd')!r}, 'even', batch=2)\n"
        "assert bag.npartitions == 3\n"
        "print(json.dumps(bag.compute(scheduler='sync')))"
    )
    answer = json.loads(in_python(code))
    assert [row["number"] for row in answer] == [0, 1, 2, 3, None]
    assert answer[-1]["state"] == "error"
    assert list(answer[0]) == list(COLUMNS)
