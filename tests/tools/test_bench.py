"""`tools/bench*.py`: a figure that misses what is wanted is marked. No figure is measured here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import bench_measure

from tests.builders.parameters import for_each


@for_each("ratio, limit, is_missed",
    (6.0, "at most 6", False),            (6.01, "at most 6", True),            (1.04, "at most 1.03", True),
    (12.0, "at least 12", False),         (11.9, "at least 12", True),          (30.0, "below 30", True),
    (29.9, "below 30", False),            (5.0, "at most 4, or 30 million a second", True),        (1e9, "", False),
)  # fmt: skip
def test_a_figure_that_misses_what_is_wanted_is_marked_and_named_again(ratio, limit, is_missed, monkeypatch, capsys):
    monkeypatch.setattr(bench_measure, "missed", [])
    bench_measure.show("one / other", ratio, limit, "")
    bench_measure.show("met in another way", ratio, limit, "", is_met=True)
    bench_measure.show_missed()
    first, second, _, *last = capsys.readouterr().out.splitlines()
    assert ("MISSED" in first, "MISSED" in second) == (is_missed, False)
    named = ["1 figure missed what is wanted:", "  one / other"]
    assert last == (named if is_missed else ["no figures missed what is wanted"])
