"""The picture of a wave: well-formed, closed in itself, and the one that the README shows."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve

import dwarfgpu
from dwarfgpu.program.frames.lanes import lanes_of_wave
from dwarfgpu.render.lane_svg import lanes_svg
from tests.builders.commands import run

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "docs/examples/lanes.json"
SVG = "{http://www.w3.org/2000/svg}"


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
    root = picture(lanes_svg(lanes, lanes.lanes))
    drawn = cells(root)
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


def test_lanes_that_are_not_chosen_are_not_drawn(lanes):
    chosen = [lane for lane in lanes.lanes if lane.state == "active"]
    assert len(cells(picture(lanes_svg(lanes, chosen)))) == 12
    assert picture(lanes_svg(lanes, [])).tag == f"{SVG}svg"


def test_names_of_a_file_are_text(lanes):
    name = '<script>alert("1 & 2")</script>]]>\x00\ud800'
    call = evolve(lanes.call, function=name * 20)
    others = [evolve(lane, call=call) if lane.call else lane for lane in lanes.lanes]
    lines = list(lanes_svg(evolve(lanes, wave=name, call=call), others))
    assert {element.tag.removeprefix(SVG) for element in picture(lines).iter()} == {
        *("svg", "title", "desc", "style", "rect", "text", "g")
    }
    "\n".join(lines).encode()


def test_nothing_is_fetched(lanes):
    text = "\n".join(lanes_svg(lanes, lanes.lanes))
    assert text.count("http") == 1  # the namespace
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_the_command():
    done = run("lanes", KERNEL, "--state", STATE, "--wave", "1:1:1:1", "--svg", "--lane", "0-7")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(cells(picture(done.stdout.splitlines()))) == 8


def test_the_data_of_a_picture_are_those_of_the_table():
    words = ("lanes", KERNEL, "--state", STATE, "--wave", "1:1:1:1", "--json")
    assert run(*words, "--svg").stdout == run(*words).stdout


def test_what_is_not_known_is_drawn_and_said(tmp_path):
    state = tmp_path / "state.json"
    waves = [{"id": "1", "pc": "0x1500"}]
    state.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    done = run("lanes", KERNEL, "--state", str(state), "--svg")
    assert done.returncode == 1
    assert {letter for _kind, letter, _tip in cells(picture(done.stdout.splitlines()))} == {"?"}
    assert "exec" in done.stderr


def test_the_picture_of_the_readme():
    done = run("lanes", KERNEL, "--state", "docs/examples/variables.json", "--svg")
    page = Path("README.md").read_text()
    assert done.stdout == Path("docs/images/lanes.svg").read_text()
    assert "docs/images/lanes.svg" in page
