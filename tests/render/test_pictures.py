"""Pictures as SVG: strips and lanes, what is drawn where, and that nothing of a file can leave its place."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve

import dwarfgpu
from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.frames.lanes import lanes_of_wave
from dwarfgpu.questions.coverage import coverage_svg, strip_of
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
from dwarfgpu.render.wave_map import lanes_svg
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


def test_names_of_files_are_escaped_and_strips_end_together():
    picture = drawn(*(Strip(str(size), (StripPart(size, "open", "x"),)) for size in (1, 1000)))
    assert len({(x, width) for _kind, x, width in bars(picture)}) == 1
    text = "</text><script>alert(1)</script>\x1b[31m&\"'"
    picture = drawn(Strip(text, (StripPart(1, "register", text),), text), title=text)
    assert [element.tag for element in picture.iter() if "script" in element.tag] == []
    assert "\x1b" not in "".join(picture.itertext())


def test_parts_that_are_too_narrow_join_others():
    parts = tuple(StripPart(1, "register", str(number)) for number in range(100_000))
    assert len(bars(drawn(Strip("x", parts)))) < 1400
    assert bars(drawn(Strip("x", ()))) == []
    assert bars(drawn(Strip("x", (StripPart(0, "register", "a"),)))) == []


def test_every_kind_has_a_colour_on_light_and_on_dark_paper():
    style = drawn().find(f"{SVG}style").text
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in COLOURS:
        assert f".strips .{name} " in light
        assert f".strips .{name} " in dark
    assert colour_of("memory private_lane") == "memory"
    assert colour_of("partial composite") == "composite"
    assert colour_of("anything else") == "open"


def test_the_legend_and_the_bar_have_what_is_there():
    texts = [text.text for text in drawn(Strip("x", (StripPart(1, "register", "a"),))).iter(f"{SVG}text")]
    assert "register" in texts
    assert "implicit" not in texts
    parts = (StripPart(1, OUTSIDE, "a"), StripPart(1, "register", "b"), StripPart(2, NOTHING, "c"))
    picture = ET.fromstring(strip_bar(Strip("x", parts)))
    expected = [("register", "250", "250"), (NOTHING, "500", "500"), ("track", None, "1000")]
    assert [(rect.get("class"), rect.get("x"), rect.get("width")) for rect in picture] == expected


@pytest.mark.parametrize("name", ["amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "host/optimized.gcc.O2.v5.x86_64"])
def test_strips_of_variables_cover_their_function(name):
    records = [record for record in FileAvailability(opened(f"fixtures/{name}")) if record.scope is not None]
    for record in records:
        assert sum(part.size for part in strip_of(record).parts) == record.scope.function.size
    assert len(bars(ET.fromstring("\n".join(coverage_svg("k", records))))) >= len(records)


def test_the_commands_draw_what_the_page_shows():
    done = run("lanes", KERNEL, "--state", STATE, "--wave", "1:1:1:1", "--svg", "--lane", "0-7")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(cells(picture(done.stdout.splitlines()))) == 8
    words = ("lanes", KERNEL, "--state", STATE, "--wave", "1:1:1:1", "--json")
    assert run(*words, "--svg").stdout == run(*words).stdout
    done = run("lanes", KERNEL, "--state", "dwarfgpu/examples/variables.json", "--svg", "--lane", "0-23")
    assert done.stdout == Path("docs/images/lanes.svg").read_text()
    assert "images/lanes.svg" in Path("docs/reading.md").read_text()
    done = run("coverage", "fixtures/asm/lane-pc.gfx90a.w64.co", "X", "--svg")
    assert done.stdout == Path("tests/golden/coverage.svg").read_text()


KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/lanes.json"


@pytest.fixture(scope="module")
def lanes():
    return lanes_of_wave(dwarfgpu.open(KERNEL).attach(STATE).stopped, 0)


def picture(lines) -> ET.Element:
    return ET.fromstring("\n".join(lines))


def cells(root: ET.Element) -> list[tuple[str, str, str]]:
    """The class, the letter and the tip of the cell of each lane."""
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    return [
        (group.get("class") or "", group.findtext(f"{SVG}text") or "", group.findtext(f"{SVG}title") or "")
        for group in groups
    ]


def legend(root: ET.Element) -> list[str]:
    texts = [text.text or "" for text in root.findall(f"{SVG}text")]
    return [text for text in texts if text.split("  ")[0].endswith(("active", "unused"))][1:]


def test_a_cell_for_each_lane(lanes):
    drawn = cells(picture(lanes_svg(lanes, lanes.lanes)))
    expected = {("active", "A"): 12, ("waiting", "b"): 12, ("waiting", "c"): 16, ("none", "."): 24}
    assert Counter((kind, letter) for kind, letter, _tip in drawn) == expected
    assert {tip for _kind, _letter, tip in drawn} >= {
        "lane 0, work-item [0,0,0]: inactive, X () at lane-pc.c:19",
        "lane 1, work-item [1,0,0]: active, X () at lane-pc.c:16",
        "lane 63: unused",
    }


def test_the_legend_says_where_the_lanes_are_and_how_many(lanes):
    root = picture(lanes_svg(lanes, lanes.lanes))
    assert legend(root) == [
        "12 active  X () at src/asm/lane-pc.c:16",
        "12 inactive  X () at src/asm/lane-pc.c:19",
        "16 inactive  X () at src/asm/lane-pc.c:10",
        "24 unused",
    ]
    assert root.findtext(f"{SVG}title") == 'AMDGPU Wave 1:1:1:1 (0,0,0)/0 "X"'
    assert "64 lanes, 12 active, 28 inactive, 24 unused" in (root.findtext(f"{SVG}desc") or "")


@pytest.mark.parametrize("per_row, columns, rows", [(8, 8, 8), (16, 16, 4), (32, 32, 2)])
def test_rows_of_lanes(lanes, per_row, columns, rows):
    root = picture(lanes_svg(lanes, lanes.lanes, per_row))
    places = [group.find(f"{SVG}rect") for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    across, down = ({place.get(axis) for place in places if place is not None} for axis in "xy")
    assert (len(across), len(down)) == (columns, rows)
    assert all(int(x or 0) < int(root.get("width") or 0) for x in across)


def test_lanes_that_are_chosen_are_drawn_and_nothing_is_fetched(lanes):
    assert len(cells(picture(lanes_svg(lanes, [lane for lane in lanes.lanes if lane.state == "active"])))) == 12
    assert picture(lanes_svg(lanes, [])).tag == f"{SVG}svg"
    name = '<script>alert("1 & 2")</script>]]>\x00\ud800'
    call = evolve(lanes.call, function=name * 20)
    others = [evolve(lane, call=call) if lane.call else lane for lane in lanes.lanes]
    lines = list(lanes_svg(evolve(lanes, wave=name, call=call), others))
    assert {element.tag.removeprefix(SVG) for element in picture(lines).iter()} == {
        *("svg", "title", "desc", "style", "rect", "text", "g")
    }
    "\n".join(lines).encode()
    text = "\n".join(lanes_svg(lanes, lanes.lanes))
    assert text.count("http") == 1  # the namespace
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_what_is_not_known_is_drawn_and_said(tmp_path):
    state = tmp_path / "state.json"
    waves = [{"id": "1", "pc": "0x1500"}]
    state.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    done = run("lanes", KERNEL, "--state", str(state), "--svg")
    assert done.returncode == 1
    assert {letter for _kind, letter, _tip in cells(picture(done.stdout.splitlines()))} == {"?"}
    assert "exec" in done.stderr
