import re

import pytest

from dwarfgpu.fleet import summary as summaries
from dwarfgpu.fleet.parts import InputOutcome
from dwarfgpu.fleet.summary import FIRST, MOST_ON_PAGE, Summary, page
from tests.builders.browser import check_width, shown
from tests.builders.many_states import summary_row
from tests.builders.pages import Page, check_loads_nothing

SCRIPT = "<script>alert(1)</script>&\"'--><!--]]>\x1b"
RANKS = 600


def hanging_run(name="rank{}.json"):
    """What 600 ranks say of which two stand elsewhere, one has another step, and one cannot be read."""
    summary = Summary("bt")
    summary.add_outcomes([InputOutcome(name.format(n), "answered", 2, 2000) for n in range(RANKS)])
    summary.add_outcomes([InputOutcome("torn.json", "failed", 1, 0, "torn.json: it is not JSON")])
    for n in range(RANKS):
        rank = name.format(n)
        stack = "abort < check < train" if n in (7, 9) else "wait < allreduce < train"
        summary.add_rows([
            summary_row(rank, stack=stack, waves=1, state="frame"),
            summary_row(rank, variable="step", value=f"{n // 2}", number=float(n // 2), lane_count=64),
            summary_row(rank, variable="flag", value="true", lane_count=64),
            *([summary_row(rank, rule="line-no-table", state="finding")] * (n % 3 == 0)),
        ])  # fmt: skip
    return summary


def html_of(summary):
    return "\n".join(page(summary)) + "\n"


@pytest.fixture(scope="module")
def hung():
    return Page(html_of(hanging_run()))


def test_sections_are_those_that_have_something(hung):
    assert hung.sections == ["stacks", "values", "rules", "failures"]
    empty = Page(html_of(Summary("bt")))
    assert empty.sections == []
    assert "Answers about many inputs, by dwarfgpu" in empty.content


def test_the_rarest_stack_is_first_with_its_frames_and_where_it_is(hung):
    text = hung.texts["stacks"]
    assert text.index("abort < check < train") < text.index("wait < allreduce < train")
    assert "2 waves in 2 inputs" in text
    assert "598 waves in 598 inputs" in text
    assert "0  abort" in text
    assert "rank7.json" in text
    assert "and 595 more inputs" in text


def test_values_have_a_histogram_and_a_table(hung):
    text = hung.texts["values"]
    assert "300 values" in text
    assert f"{300 - FIRST} more values" in text
    assert re.search(r"0 to 29\.9: 3,840 lanes", hung.content)
    assert text.count("Histogram") == 0
    assert hung.content.count('aria-label="Histogram of ') == 1, "one value has none"


def test_an_input_without_an_answer_is_named_once_with_the_reason(hung):
    assert hung.texts["failures"].count("torn.json") == 1
    assert "it is not JSON" in hung.texts["failures"]


def test_what_files_say_is_text_and_never_markup():
    summary = Summary(SCRIPT)
    summary.add_outcomes([InputOutcome(SCRIPT, "failed", 1, 0, SCRIPT)])
    summary.add_rows([summary_row(SCRIPT, stack=SCRIPT, waves=1), summary_row(SCRIPT, rule=SCRIPT)])
    summary.add_rows([summary_row(SCRIPT, variable=SCRIPT, value=f"{n}{SCRIPT}", number=float(n)) for n in range(20)])
    shown = Page(html_of(summary))
    assert len(shown.tags("script")) == 1
    assert shown.comments == []
    assert "alert(1)" in shown.texts["values"]
    assert "\x1b" not in shown.content


def test_the_page_loads_nothing_and_allows_its_own_style_and_script_alone(hung):
    check_loads_nothing(hung)


def test_what_does_not_fit_is_counted(monkeypatch):
    for room in ("STACK_ROOM", "VALUE_ROOM", "RULE_ROOM", "FAILURE_ROOM"):
        monkeypatch.setattr(summaries, room, 10)
    small = Page(html_of(hanging_run()))
    assert "Left out, because the page would be too large: 2 stacks." in small.texts["stacks"]
    assert "`" not in small.texts["failures"]
    assert "summary.json names all of them" in small.texts["failures"]


def test_a_variable_with_many_values_has_the_rarest_of_them():
    summary = Summary("eval x")
    for n in range(MOST_ON_PAGE + 100):
        summary.add_rows([summary_row(f"r{n}", variable="x", value=f"v{n}")])
    assert "summary.json has 100 more." in Page(html_of(summary)).texts["values"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "a summary.html"
    long = "/shared/" + "very-long-folder-name-without-spaces/" * 4
    path.write_text(html_of(hanging_run(f"{long}rank{{}}.json")), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("flags", [(), ("--force-dark-mode",)], ids=["light", "dark"])
def test_a_browser_shows_it_without_an_error(browser, written, width, flags):
    shown(browser, written, width, *flags)


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(browser, written, width):
    check_width(browser, written, width)
