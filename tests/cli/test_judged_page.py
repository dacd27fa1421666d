"""``dwarfgpu judge --html``: a lane over time, with what a debugger shows wrongly and what is right."""

import re

import pytest
from attrs import evolve

from dwarfgpu.audits.judge import lane_history
from dwarfgpu.questions.judging import ONE_GROUP
from tests.builders import compared_builds
from tests.builders.browser import check_width, shown
from tests.builders.commands import run
from tests.builders.judged_calls import GFX90A
from tests.builders.judged_lanes import assembled, value_defects
from tests.builders.pages import Page, check_loads_nothing

WORDS = ("X", "--grid", "80", "--work-group", "80", "zeros(80)", "40")
GOOD = ("fixtures/asm/lane-pc.gfx90a.w64.co", *WORDS)


@pytest.fixture(scope="module")
def wrong(require_tool, tmp_path_factory):
    """The page about a file in which a variable is said to be in the register of another one."""
    folder = tmp_path_factory.mktemp("wrong")
    defect = next(each for each in value_defects() if each.name == "left-in-v1")
    path = assembled(GFX90A, (require_tool("llvm-mc-22"), require_tool("ld.lld-22")), folder, defect)
    out = folder / "a page.html"
    done = run("judge", path, *WORDS, "--html", "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"hint: {ONE_GROUP}\n")
    return out


@pytest.fixture(scope="module")
def page(wrong):
    return Page(wrong.read_text("utf-8"))


def strip(content, label):
    """The titles of the parts of a strip, each with its kind."""
    (bar,) = re.findall(rf'<span class="strip-label">{label}</span>.*?<svg.*?>(.*?)</svg>', content, re.DOTALL)
    return re.findall(r'<rect class="(\w+)".*?><title>(.*?)</title>', bar)


def test_the_page_has_values_sources_findings_and_functions(page):
    parts = strip(page.content, "left")
    assert [kind for kind, _words in parts][:3] == ["none", "register", "wrong"]
    (words,) = [words for kind, words in parts if kind == "wrong"]
    assert re.search(r"statement \d+, line \d+: left = \d+ \(left is located in v1, which the code of", words)
    assert re.search(r"; it was \d+, and nothing assigns it$", words)
    assert "int left = lane * 2;  // b" in page.texts["lane"]
    assert "statement 4: line 11" in page.texts["lane"]
    assert page.sections == ["lane", "findings", "functions"]
    assert "value-source 2 errors" in page.texts["findings"]
    assert "first: " in page.texts["findings"]
    assert "whole_wave" in page.texts["functions"]


def test_a_step_back_has_another_colour_and_is_not_red():
    path = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
    words = ("saxpy", "--grid", "64", "--work-group", "64", "zeros(64)", "ones(64)", "2", "64")
    content = run("judge", path, *words, "--html").stdout
    assert re.search(
        r'<rect class="implicit"[^>]*><title>statement \d+: line 76: a step goes back from line 77', content
    )


def test_nothing_is_red_where_nothing_is_wrong_or_differs(tmp_path):
    out = tmp_path / "out.html"
    done = run("judge", *GOOD, "--html", "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"hint: {ONE_GROUP}\n")
    page = Page(out.read_text("utf-8"))
    assert 'class="wrong"' not in page.content
    assert "Nothing is wrong." in page.texts["findings"]
    assert "call frames: callers are right" in page.text or "callers are right" in page.text
    out = tmp_path / "out.html"
    done = run("judge", *GOOD, "--against", "fixtures/asm/lane-pc.gfx1100.w32.co", "--html", "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"hint: {ONE_GROUP}\n")
    page = Page(out.read_text("utf-8"))
    assert 'class="wrong"' not in page.content
    assert 'class="missing"' not in page.content
    assert "What is compared in this lane is the same." in page.texts["against"]
    assert "100.0%" in page.texts["against"]


def test_the_page_loads_nothing_and_is_the_same_again(page, wrong, tmp_path):
    check_loads_nothing(page)
    assert run("judge", str(wrong.with_name("lanes.co")), *WORDS, "--html").stdout == wrong.read_text("utf-8")


def test_later_statements_are_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(lane_history, "MAX_STEPS", 5)
    assert "later statements not shown" in Page(run("judge", *GOOD, "--html").stdout).texts["lane"]


SIZES = ("--grid", "40", "--work-group", "40", "zeros(40)", "9")


@pytest.fixture(scope="module")
def compared(require_tool, tmp_path_factory):
    """The page about a build that is compared: a variable is said to be in other lanes, and one ends too early."""
    folder = tmp_path_factory.mktemp("compared")
    tools = require_tool("llvm-mc-22"), require_tool("ld.lld-22")
    (folder / "right").mkdir()
    right = compared_builds.assembled(compared_builds.GFX942, tools, folder / "right")
    defects = {defect.name: defect.ranges for defect in compared_builds.defects_of(compared_builds.GFX942)}
    ranges = tuple(evolve(place, last=12) if place.name == "limit" else place for place in defects["left-16-shift-0"])
    path = compared_builds.assembled(compared_builds.GFX942, tools, folder, ranges)
    out = folder / "page.html"
    done = run("judge", path, "steps", *SIZES, "--against", right, "--html", "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"hint: {ONE_GROUP}\n")
    return out


@pytest.mark.slow
def test_a_value_of_another_build_is_beside_the_wrong_one(compared):
    content = compared.read_text("utf-8")
    wrong = [words for kind, words in strip(content, "left") if kind == "wrong"]
    assert wrong
    for words in wrong:
        shown, other = re.search(r"left = (-?\d+); it is (-?\d+) in \S+\.co$", words).groups()
        assert shown != other
    same = [words for kind, words in strip(content, "lane") if kind == "register"]
    assert same
    assert all(re.search(r"lane = \d+; the same in \S+\.co$", words) for words in same)


def test_values_and_shares_of_both_builds_are_in_a_table(compared):
    words = next(words for kind, words in strip(compared.read_text("utf-8"), "limit") if kind == "missing")
    assert re.search(r"limit: no value: it has no location at .*; it is 9 in \S+\.co$", words)
    page = Page(compared.read_text("utf-8"))
    assert page.sections == ["lane", "against", "findings", "functions"]
    text = page.texts["against"]
    assert re.search(r"<td>steps: left</td><td>-?\d+</td><td>-?\d+</td><td>\d+", page.content)
    assert re.search(r"<td>steps: limit</td><td>no value: it has no location at [^<]*</td><td>9</td>", page.content)
    assert re.search(r"all[\d,]+\d+\.\d%\d+\.\d%", text)
    assert "Values correct" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("page_name", ["wrong", "compared"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("flags", [(), ("--force-dark-mode",)], ids=["light", "dark"])
def test_a_browser_shows_it_without_an_error(browser, request, page_name, width, flags):
    done = shown(browser, request.getfixturevalue(page_name), width, *flags)
    assert ('id="against"' in done.stdout) is (page_name == "compared")


@pytest.mark.slow
@pytest.mark.parametrize("page_name", ["wrong", "compared"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(browser, request, page_name, width):
    check_width(browser, request.getfixturevalue(page_name), width)
