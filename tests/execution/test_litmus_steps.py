"""The graph of states of litmus tests, against the running machine and against the golden text that lists all steps."""

import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from tests.builders.parameters import some_of
from tests.execution.litmus import Litmus, every_litmus, steps
from tests.execution.litmus_directed import directed_outcome, follows
from tests.execution.litmus_graph import Graph, can_show, placements, threads_of, traced
from tests.execution.litmus_steps import (
    DELAY,
    IDLE,
    IN_ORDER,
    LAST,
    REACHED,
    SHOWS,
    head,
    is_large,
    judged,
    shows_with,
    uses_a_value_too_early,
    without_step,
)

pytestmark = pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
GOLDEN = Path("tests/golden/litmus-steps.txt")


@pytest.mark.slow
@pytest.mark.parametrize(
    "litmus",
    [Litmus("mp", "gfx1200", "workgroup", "wgp"), Litmus("sb", "gfx900", "agent"), Litmus("lb", "gfx942", "agent")],
    ids=lambda litmus: litmus.label,
)
def test_the_machine_shows_what_the_graph_reaches_and_nothing_else(litmus, tmp_path):
    path = litmus.build(tmp_path)
    threads = threads_of(litmus, traced(litmus, path))
    reached = set()
    for units in placements(litmus):
        reached |= Graph(litmus.family, threads, units).results()
    assert not [outcome for outcome in reached if litmus.is_forbidden(outcome)]
    shown = set()
    for seed in range(3):
        shown |= set(litmus.outcomes(path, seed, 60 * litmus.lanes))
    assert shown == reached


def test_each_step_of_a_message_is_needed_or_has_a_reason(tmp_path):
    litmus = Litmus("mp", "gfx1200", "system")
    path = litmus.build(tmp_path)
    assert [(verdict.step.text.split()[0], verdict.kind) for verdict in judged(litmus, path)] == [
        ("s_wait_kmcnt", IDLE),              ("global_load_b32", DELAY),          ("global_load_b32", DELAY),
        ("s_wait_loadcnt", SHOWS),           ("global_inv", SHOWS),               ("s_wait_kmcnt", IDLE),
        ("s_wait_loadcnt", LAST),            ("global_wb", SHOWS),                ("s_wait_storecnt", SHOWS),
        ("global_store_b32", DELAY),         ("global_store_b32", DELAY)]  # fmt: skip


def test_lds_operations_of_a_wave_stay_in_order_without_a_wait(tmp_path):
    litmus = Litmus("mp", "gfx1030", "workgroup", "wgp", "local local")
    assert {verdict.kind for verdict in judged(litmus, litmus.build(tmp_path))} == {IDLE, LAST, IN_ORDER}


def test_a_wait_that_comes_too_late_shows(tmp_path):
    litmus = Litmus("mp", "gfx1030", "workgroup", "wgp", "local global")
    path = litmus.build(tmp_path)
    step = next(step for step in steps(path, litmus.target) if step.text == "s_waitcnt vmcnt(0)")
    assert uses_a_value_too_early(step.without(path))  # so that the result is no loaded value
    late = without_step(litmus, path, step)
    assert late is not None
    assert not uses_a_value_too_early(late)
    assert follows(litmus, late)


@pytest.mark.slow
def test_the_graph_leads_the_machine_where_chance_seldom_does(tmp_path):
    for litmus in (Litmus("mp", "gfx942", "system"), Litmus("sb", "gfx1030", "workgroup", "wgp", "local global")):
        path = litmus.build(tmp_path)
        code = traced(litmus, path)
        threads = threads_of(litmus, code)
        for units in placements(litmus):
            graph = Graph(litmus.family, threads, units)
            for result in graph.results():
                way = graph.way(dict(enumerate(result[:2])))
                assert directed_outcome(litmus, path, code, graph, way) == result, (litmus.label, units)
    litmus = Litmus("iriw", "gfx900", "agent")
    path = litmus.build(tmp_path)
    assert follows(litmus, path) is None
    first = next(step for step in steps(path, litmus.target) if step.text == "s_waitcnt vmcnt(0)")
    assert follows(litmus, first.without(path))


def test_a_load_passes_all_caches_at_once_in_the_machine(tmp_path):
    litmus = Litmus("coherence", "gfx1030", "agent")
    path = litmus.build(tmp_path)
    second = [step for step in steps(path, litmus.target) if "v5" in step.text and not step.text.endswith("glc")]
    assert follows(litmus, second[0].without(path)) is False


def test_invalidating_l0_before_l1_lets_a_stale_word_in(tmp_path):
    litmus = Litmus("mp", "gfx1030", "agent")
    code = traced(litmus, litmus.build(tmp_path))
    rows = {row.instruction.name: row for thread in code for row in thread}
    outer, inner = rows["buffer_gl1_inv"], rows["buffer_gl0_inv"]
    assert inner.offset == outer.offset + 8
    assert not can_show(litmus, code)
    assert can_show(litmus, code, {outer.offset: inner.instruction.data, inner.offset: outer.instruction.data})


def listed() -> dict[str, list[str]]:
    """Return the lines of the golden text, by test."""
    rows: dict[str, list[str]] = {}
    label = ""
    for line in GOLDEN.read_text().splitlines():
        if re.fullmatch(r"gfx\S+", line):
            label = line
            rows[label] = []
        elif label and line.startswith("  "):
            rows[label].append(line)
    return rows


@pytest.mark.slow
def test_the_golden_text_has_every_test():
    assert GOLDEN.read_text().startswith(head())
    assert list(listed()) == [litmus.label for litmus in every_litmus()]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx803", "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1250"])
def test_each_step_is_as_remembered(target, tmp_path):
    rows, compared = listed(), some_of(range(0, 100, 4), 4)
    for number, litmus in enumerate(row for row in every_litmus() if row.target == target):
        path = litmus.build(tmp_path)
        if is_large(litmus):
            continue  # the page holds what came out
        verdicts = judged(litmus, path)
        made = [
            f"  {verdict.step.text}: {verdict.kind}" + (f" ({verdict.other})" if verdict.other else "")
            for verdict in verdicts
            if verdict.kind not in (IDLE, LAST)
        ]
        kept = [re.sub(rf": (?:{SHOWS} \(\d+\)|{REACHED})$", f": {SHOWS}", line) for line in rows[litmus.label][:-1]]
        assert made == kept, litmus.label
        if number in compared:
            concerned = [verdict for verdict in verdicts if verdict.kind not in (IDLE, LAST)]
            for verdict, line in zip(concerned, rows[litmus.label], strict=False):
                seed = re.search(rf": {SHOWS} \((\d+)\)$", line)
                if seed is not None:
                    changed = without_step(litmus, path, verdict.step)
                    assert shows_with(litmus, changed, int(seed[1])), f"{litmus.label} {verdict.step.text}"


@pytest.mark.slow
def test_the_machine_follows_the_graph_as_remembered(tmp_path):
    rows = listed()
    for litmus in some_of(islice(every_litmus(), 0, None, 3), 4):
        if is_large(litmus):
            continue
        path = litmus.build(tmp_path)
        code = traced(litmus, path)
        followed = [
            (step.text, follows(litmus, without_step(litmus, path, step)))
            for step in steps(path, litmus.target)
            if can_show(litmus, code, {step.offset: step.data})
        ]
        said = [re.fullmatch(rf"  (.*): (?:({SHOWS})(?: \(\d+\))?|{REACHED})", line) for line in rows[litmus.label]]
        assert followed == [(match[1], match[2] == SHOWS) for match in said if match], litmus.label
