"""The page of a report: its colours can be told apart on light and on dark paper, and its parts hold what they are."""

import re
from itertools import combinations, pairwise

import pytest

from dwarfgpu.render import pictures, wave_map
from dwarfgpu.render import report as html
from tests.builders.parameters import for_each

LIGHT, DARK = 0, 1
SCHEMES = pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
HOSTILE = "<script>alert(1)</script>&\"'\x1b[31m\u202e"


def luminance(colour: str) -> float:
    """The relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2)."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, paper: str, part: float) -> str:
    """A colour that lets some of the paper through."""
    pairs = ((int(colour[index : index + 2], 16), int(paper[index : index + 2], 16)) for index in (1, 3, 5))
    return "#" + "".join(f"{round(part * top + (1 - part) * below):02x}" for top, below in pairs)


def test_the_contrast_of_known_colours():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@SCHEMES
def test_colours_can_be_told_apart_on_each_paper(scheme):
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    for ground in ("paper", "shade"):
        for name in ("ink", "quiet", "link", "bad", "warn"):
            assert contrast(html.PALETTE[name][scheme], html.PALETTE[ground][scheme]) >= 4.5, (name, ground)
    # WCAG 2.2, 1.4.11: 3 to 1. What has no location is faint on purpose, and has an outline.
    paper = html.PALETTE["paper"][scheme]
    assert contrast(html.PALETTE["border"][scheme], html.PALETTE["shade"][scheme]) >= 3
    assert contrast(pictures.TRACK[scheme], paper) >= 3
    for name, colours in pictures.COLOURS.items():
        if name not in (pictures.NOTHING, pictures.OUTSIDE):
            assert contrast(colours[scheme], paper) >= 3, name
            assert contrast(colours[scheme], pictures.COLOURS[pictures.NOTHING][scheme]) >= 2, name
    paper, ink = (html.PALETTE[name][scheme] for name in ("paper", "ink"))
    for colour in wave_map.COLOURS:
        assert contrast(colour, "#111111") >= 4.5  # an active lane
        assert contrast(mixed(colour, paper, 0.4), ink) >= 4.5  # one that waits
    for (one, first), (other, second) in combinations(pictures.COLOURS.items(), 2):
        assert first[scheme] != second[scheme], (one, other)


def test_the_shades_of_values_become_lighter_evenly():
    levels = [luminance(colour) for colour in pictures.SHADES]
    assert levels == sorted(levels)
    assert all(high - low > 0.015 for low, high in pairwise(levels))


def test_the_reader_can_choose_what_the_system_would():
    """Each rule for dark paper is there twice: for a dark system, and for a reader who wants it dark."""
    sheet = html.style_sheet()
    for name in pictures.COLOURS:
        assert f":root[data-theme=dark] .strips .{name} {{" in sheet
        assert f":root:not([data-theme=light]) .strips .{name} {{" in sheet
    assert sheet.count("{") == sheet.count("}")


def parts() -> dict[str, str]:
    strip = pictures.Strip(HOSTILE, (pictures.StripPart(4, "register", HOSTILE),), HOSTILE)
    return {
        "note": html.note(HOSTILE),
        "items": html.items([HOSTILE]),
        "listing": html.listing([HOSTILE]),
        "fold": html.fold(HOSTILE, [], is_name=True),
        "row": html.row(HOSTILE, [html.text(HOSTILE)]),
        "share": html.share(0.5, HOSTILE, HOSTILE, is_drawn=True),
        "strips": html.strip_rows([strip], (HOSTILE, HOSTILE), HOSTILE),
        "grid": html.grid([HOSTILE], [[HOSTILE]], numbers_from=0),
        "source": html.source_table([html.SourceBlock(HOSTILE, 1, HOSTILE, (html.text(HOSTILE),))], HOSTILE),
        "heat": "".join(pictures.heat_map_svg(HOSTILE, [(HOSTILE, (pictures.HeatCell(HOSTILE, 1.0),))])),
    }


@pytest.mark.parametrize("name", sorted(parts()))
def test_texts_are_never_markup(name):
    content = parts()[name]
    assert "<script" not in content
    assert "\x1b" not in content
    assert "\u202e" not in content
    assert not re.search(r'="[^"]*\'"', content)


def test_remarks_have_code_and_long_texts_are_cut():
    assert html.note("{a`b = 0} in 2 lanes; {a`b = 2}") == '<p class="quiet">{a`b = 0} in 2 lanes; {a`b = 2}</p>'
    assert (
        html.note("`dwarfgpu verify` lists <b>") == '<p class="quiet"><code>dwarfgpu verify</code> lists &lt;b&gt;</p>'
    )
    assert len(html.text("x" * 10_000)) == html.LONGEST_TEXT


def test_a_section_stops_where_its_room_ends():
    section = html.PageSection("functions", "Functions", "function", 100)
    section.how_to_see = "`dwarfgpu coverage` lists them."
    assert section.add("x" * 90)
    assert not section.add("y" * 20)
    content = "".join(html.page("x", [], [section]))
    assert "y" * 20 not in content
    assert "too large: 1 function. <code>dwarfgpu coverage</code> lists them." in content


@for_each(
    "numbers", [1e308, -1e308], [float("inf"), 1.0], [0, 2**64 - 1, 2**63], [5], list(range(-(2**63), 2**63, 2**57))
)
def test_numbers_at_the_ends_of_their_range(numbers):
    cells = tuple(pictures.HeatCell(str(number), number) for number in numbers)
    lines = list(pictures.heat_map_svg("x", [("wave", cells)]))
    assert "nan" not in "".join(lines)
    assert "inf" not in re.sub(r"<title>.*?</title>", "", "".join(lines))


def test_neighbours_with_equal_values_are_one_cell():
    cells = (pictures.HeatCell("1", 1), pictures.HeatCell("1", 1), pictures.HeatCell("2", 2))
    content = "".join(pictures.heat_map_svg("x", [("wave", cells)]))
    assert "<title>wave, lanes 0-1: 1</title>" in content
    assert "<title>wave, lane 2: 2</title>" in content


def test_inactive_lanes_have_no_shade_and_the_legend_says_so():
    row = ("wave", (pictures.HeatCell("1", 1), pictures.HeatCell("2 (inactive)", 2, is_idle=True)))
    content = "".join(pictures.heat_map_svg("x", [row]))
    assert 'class="idle"' in content
    assert "small and grey: inactive</text>" in content
    assert ">1; small" in content
    assert ">2</text>" not in content
