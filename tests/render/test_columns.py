"""Tables fit the screen, whatever stands in them."""

from hypothesis import example, given
from hypothesis import strategies as st

from dwarfgpu.render.layout import NARROWEST, TableLine, columns, fitted

CELLS = st.text(st.characters(codec="utf-8"), max_size=120)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, st.booleans()), max_size=6), st.integers(1, 130))
@example([("", "0", "", False), ("x" * 18, "", "", False)], 1)
def test_no_line_is_wider_than_the_screen(rows, width):
    head = ("Id", "Target Id", "Frame")
    lines = list(columns(head, [TableLine((a, b, c), mark) for a, b, c, mark in rows], width))
    assert all(len(line) <= max(width, NARROWEST) for line in lines if len(line.split()) > 1)
    assert all(line.isprintable() for line in lines)
    found = "".join("".join(lines).split())
    for row in rows:
        for cell in row[:3]:
            assert "".join(fitted(cell, 10_000)[0].split()) in found


def test_a_row_that_is_too_long_goes_on_below():
    rows = [
        TableLine(("1", "short", "x")),
        TableLine(("2", "m" * 30, "last"), True),
        TableLine(("3", "short", "y" * 40)),
    ]
    assert list(columns(("Id", "Name", "What"), rows, 30)) == [
        "  Id Name What",
        "  1  short x",
        "* 2",
        "m" * 30,
        "    last",
        "  3  short",
        "    " + "y" * 40,
    ]


def test_styles_do_not_count():
    lines = list(
        columns(("Id", "What"), [TableLine(("1", "x"), style="dim")], 40, lambda style, text: f"<{style}>{text}")
    )
    assert lines == ["<dim>  Id What", "<dim>  1  x"]
