"""What a notebook shows: tables of HTML in which nothing from a file is markup."""

from html.parser import HTMLParser

import pytest

import dwarfgpu
from dwarfgpu.program.frames.all_waves import all_waves
from dwarfgpu.program.frames.lanes import lanes_of_wave
from dwarfgpu.program.types import model as t
from dwarfgpu.program.values.objects import constant
from dwarfgpu.render.wave_map import lanes_svg

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
HOSTILE = '<script>alert("1")</script>&amp;\x1b[2J'
TAGS = {"table", "thead", "tbody", "tr", "th", "td", "div", "b", "i", "span", "code"}


class Page(HTMLParser):
    """The tags and the text of HTML; every tag that is opened must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def attached():
    return dwarfgpu.open(KERNEL).attach(STATE)


def test_values_are_a_table_or_one_line(attached):
    page = Page(attached[0].frame()["left"].values("all")._repr_html_())
    assert page.rows[0] == ["lane", *map(str, range(16))]
    assert page.rows[1][:5] == ["0", "0", "(2)", "4", "(6)"]
    assert page.rows[2][:6] == ["16", "32", "(34)", "36", "(38)", "(<absent>)"]
    assert page.text.startswith("left int")
    assert "parentheses: the lane is inactive" in page.text
    page = Page(attached[0].frame().eval("limit", 3)._repr_html_())
    assert "(20) (lane 3)" in page.text
    assert not page.rows


def test_a_wave_and_a_machine_are_a_map_and_a_table(attached):
    html = attached[0]._repr_html_()
    assert html.startswith("<svg ")
    lanes = lanes_of_wave(attached.stopped, 0)
    assert html == "\n".join(lanes_svg(lanes, lanes.lanes))
    assert "lane 1, work-item [1,0,0]: inactive" in Page(html).text
    page = Page(attached._repr_html_())
    assert page.rows == [["number", "wave", "place"], ["1", "1:1:1:1", "X at src/asm/lane-pc.c:15"]]


def test_values_of_waves_and_objects():
    waves = dwarfgpu.open(KERNEL).attach("dwarfgpu/examples/lanes.json")
    values = all_waves(waves, "lane")
    html = values._repr_html_()
    assert html.count("<svg ") == 1
    assert "lane in lanes and waves" in html
    assert Page(html).rows[0] == ["wave", "lane", "value"]
    values = all_waves(waves, "out")
    assert "<svg" not in values._repr_html_()  # they do not differ
    page = Page(constant(t.Base("int", 5, 4), bytes([7, 0, 0, 0]))._repr_html_())
    assert page.text == "int7"


def test_names_of_a_file_are_no_markup(attached):
    """A type and an expression may have any text, and none of it reaches the page as a tag."""
    integer = t.Base(HOSTILE, 5, 4)
    kind = t.Struct("struct", HOSTILE, 4, t.Lazy.known(t.Body()))
    for html in (constant(integer, bytes(4))._repr_html_(), constant(kind, bytes(4))._repr_html_()):
        page = Page(html)
        assert page.tags <= TAGS
        assert "\x1b" not in html
        assert "<script>" in page.text
    values = attached[0].frame().eval('"<script>alert(1)</script>"', 0)
    page = Page(values._repr_html_())
    assert page.tags <= TAGS
    assert "<script>" in page.text


def test_a_table_is_small_and_has_the_colours_of_the_page(attached):
    html = attached[0].frame()["left"].values("all")._repr_html_()
    assert "color" not in html
    assert "background" not in html
    assert Page(html).attributes <= {"style", "title"}
    values = attached[0].frame()["slots"].values("all")
    assert len(values._repr_html_()) < 20_000
