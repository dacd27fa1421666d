"""Strips as SVG: what is drawn where, what it is called, and that nothing of a file can leave its place."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.render.coverage import coverage_svg, strip_of
from dwarfgpu.render.pictures import (
    COLOURS,
    NOTHING,
    OUTSIDE,
    Strip,
    StripGroup,
    StripPart,
    colour_of,
    strip_bar,
    strip_svg,
)
from tests.builders.commands import run

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*strips: Strip, title: str = "title"):
    return ET.fromstring("\n".join(strip_svg(title, [StripGroup("f", strips)])))


def bars(picture):
    """The bars of strips that say what they are: class, beginning and width."""
    return [
        (rect.get("class"), float(rect.get("x")), float(rect.get("width")))
        for rect in picture.iter(f"{SVG}rect")
        if rect.find(f"{SVG}title") is not None
    ]


def test_parts_are_as_wide_as_their_addresses():
    parts = (StripPart(30, "register", "a"), StripPart(60, NOTHING, "b"), StripPart(10, "memory global", "c"))
    (first, second, third) = bars(drawn(Strip("x", parts)))
    assert [first[0], second[0], third[0]] == ["register", NOTHING, "memory"]
    assert second[1] == pytest.approx(first[1] + first[2], abs=0.1)
    assert second[2] == pytest.approx(2 * first[2], abs=0.2)
    assert first[2] == pytest.approx(3 * third[2], abs=0.2)


def test_all_strips_begin_and_end_together():
    picture = drawn(*(Strip(str(size), (StripPart(size, "open", "x"),)) for size in (1, 1000)))
    assert len({(x, width) for _kind, x, width in bars(picture)}) == 1


def test_parts_that_are_too_narrow_join_others():
    parts = tuple(StripPart(1, "register", str(number)) for number in range(100_000))
    assert len(bars(drawn(Strip("x", parts)))) < 1400


def test_a_strip_without_addresses():
    assert bars(drawn(Strip("x", ()))) == []
    assert bars(drawn(Strip("x", (StripPart(0, "register", "a"),)))) == []


def test_names_of_files_are_escaped():
    text = "</text><script>alert(1)</script>\x1b[31m&\"'"
    picture = drawn(Strip(text, (StripPart(1, "register", text),), text), title=text)
    assert [element.tag for element in picture.iter() if "script" in element.tag] == []
    assert "\x1b" not in "".join(picture.itertext())


def test_every_kind_has_a_colour_on_light_and_on_dark_paper():
    style = drawn().find(f"{SVG}style").text
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in COLOURS:
        assert f".strips .{name} " in light
        assert f".strips .{name} " in dark
    assert colour_of("memory private_lane") == "memory"
    assert colour_of("partial composite") == "composite"
    assert colour_of("anything else") == "open"


def test_the_legend_has_the_kinds_that_are_drawn():
    texts = [text.text for text in drawn(Strip("x", (StripPart(1, "register", "a"),))).iter(f"{SVG}text")]
    assert "register" in texts
    assert "implicit" not in texts


@pytest.mark.parametrize("name", ["amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "host/optimized.gcc.O2.v5.x86_64"])
def test_strips_of_variables_cover_their_function(name):
    records = [record for record in FileAvailability(opened(f"fixtures/{name}")) if record.scope is not None]
    for record in records:
        assert sum(part.size for part in strip_of(record).parts) == record.scope.function.size
    picture = ET.fromstring("\n".join(coverage_svg("k", records)))
    assert len(bars(picture)) >= len(records)


def test_the_picture_of_the_documentation_is_what_is_drawn_now():
    done = run("coverage", "fixtures/asm/lane-pc.gfx90a.w64.co", "X", "--svg")
    assert done.stdout == Path("docs/images/coverage.svg").read_text()
    assert "images/coverage.svg" in Path("docs/report.md").read_text()


def test_what_is_out_of_scope_is_not_drawn_beside_a_label():
    parts = (StripPart(1, OUTSIDE, "a"), StripPart(1, "register", "b"), StripPart(2, NOTHING, "c"))
    picture = ET.fromstring(strip_bar(Strip("x", parts)))
    expected = [("register", "250", "250"), (NOTHING, "500", "500"), ("track", None, "1000")]
    assert [(rect.get("class"), rect.get("x"), rect.get("width")) for rect in picture] == expected
