"""The page of `report` in headless Chromium: opened as a file, on wide and narrow screens, in light and in dark."""

import re
import struct
import zlib
from pathlib import Path

import pytest

from tests.builders.browser import check_width, errors_of, probed, shown
from tests.builders.commands import run

pytestmark = pytest.mark.slow
KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/lanes.json"
FAST = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
STEPS = """[
  function () {
    var field = document.getElementById("filter");
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }));
    return "focus " + (document.activeElement === field);
  },
  function () {
    var field = document.getElementById("filter");
    field.value = "WHOLE";
    field.dispatchEvent(new Event("input"));
    var visible = document.querySelectorAll("#functions > details:not([hidden])");
    return "filtered " + visible.length + " " + document.getElementById("filtered").textContent;
  },
  function () {
    var field = document.getElementById("filter");
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    return "shown again " + document.querySelectorAll("#functions > details:not([hidden])").length;
  },
  function () {
    var picture = document.querySelector("#lanes .pick");
    picture.focus();
    ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"].forEach(function (key) {
      picture.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true }));
    });
    return "read " + picture.nextElementSibling.textContent;
  },
  function () {
    var reached = Array.prototype.filter.call(document.querySelectorAll("summary, button, input, a, .pick, pre"),
      function (one) { one.focus(); return document.activeElement !== one && one.id !== "probe"; });
    return "unreachable " + reached.length;
  },
  function () {
    var button = document.querySelector("[data-opens=functions]");
    button.click();
    var folds = document.querySelectorAll("#functions > details");
    return "open " + Array.prototype.filter.call(folds, function (fold) { return fold.open; }).length;
  },
  function () {
    var button = document.getElementById("theme"), root = document.documentElement;
    button.click();
    button.click();
    return "theme " + root.getAttribute("data-theme") + " " + getComputedStyle(document.body).backgroundColor;
  }
]"""


@pytest.fixture(scope="module")
def with_state(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("state") / "a page.html"
    words = (KERNEL, "--state", STATE, "--directories", "$cwd:fixtures")
    assert run("report", *words, "-o", str(path)).returncode == 0
    return path


@pytest.fixture(scope="module")
def of_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("file") / "a page.html"
    assert run("report", FAST, "-o", str(path)).returncode == 0
    return path


@pytest.fixture(params=["with_state", "of_file"])
def page(request) -> Path:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("width", [360, 1280])
def test_all_contents_without_an_error_and_within_the_screen(browser, page, width):
    done = shown(browser, page, width)
    assert "Kernels" in done.stdout
    assert 'id="functions"' in done.stdout
    assert "strip-label" in done.stdout
    check_width(browser, page, width)


def test_the_keyboard_reaches_and_does_everything(browser, with_state):
    done = browser(probed(with_state, STEPS), 1280, "--dump-dom", "--virtual-time-budget=5000")
    assert errors_of(done) == []
    (text,) = re.findall(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text.splitlines()[2:] == [
        "focus true",
        "filtered 1 1 of 2 functions on this page",
        "shown again 2",
        "read lane 16, work-item [16,0,0]: inactive, X () at lane-pc.c:19",
        "unreachable 0",
        "open 0",
        "theme dark rgb(13, 17, 23)",
    ]


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_light_and_dark(browser, page, width, scheme, tmp_path):
    shot = tmp_path / f"{scheme}-{width}.png"
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    assert errors_of(browser(page, width, f"--screenshot={shot}", *dark)) == []
    assert first_pixel(shot.read_bytes()) == ((13, 17, 23) if scheme == "dark" else (255, 255, 255))


def first_pixel(png: bytes) -> tuple[int, ...]:
    """The colour of the corner of a picture that is not empty. No filter of PNG changes the first pixel."""
    assert struct.unpack_from(">BB", png, 24) in ((8, 2), (8, 6)), "8 bits of red, green and blue"
    data, place = b"", 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += 12 + length
    rows = zlib.decompress(data)
    assert len(set(rows)) > 10, "the picture is empty"
    return tuple(rows[1:4])
