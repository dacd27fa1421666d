"""``dwarfgpu docs``: the pages of the documentation, from a checkout and from an installation."""

import pytest

from dwarfgpu.cli.pages import pages
from dwarfgpu.render.layout import reflowed
from tests.builders.commands import document, run
from tests.builders.folders import ROOT


def test_the_list_has_every_page_of_the_folder_but_decisions():
    files = {path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"}
    assert {page.path for page in pages().values()} == files - {ROOT / "docs/README.md"}
    lines = run("docs").stdout.splitlines()
    assert lines[1] == "  start         have ten minutes"
    assert [row["name"] for row in document("docs")["pages"]] == list(pages())


@pytest.mark.parametrize("words", [("docs", "python"), ("help", "python"), ("docs", "fleet")])
def test_a_page_is_printed_as_it_is_written(words):
    text = pages()[words[1]].path.read_text("utf-8")
    assert run(*words).stdout == text
    assert document("docs", words[1])["text"] == text


def test_paragraphs_are_as_wide_as_a_terminal():
    text = [
        "# A title that is long",
        "one two three",
        "four five six",
        "",
        "- an item that",
        "  goes on",
        "```",
        "a long line of code",
        "```",
    ]
    assert [*reflowed(text, 14)] == [
        text[0], "one two three", "four five six", "", "- an item that", "  goes on", *text[6:],
    ]  # fmt: skip
    assert [*reflowed(text, 30)][1:4] == ["one two three four five six", "", "- an item that goes on"]
    assert [*reflowed(text, None)] == text


def test_help_of_a_command_that_is_also_a_page_is_that_of_the_command():
    assert run("help", "judge").stdout.startswith("usage: dwarfgpu judge ")
    assert run("docs", "judge").stdout.startswith("# Judge")
