"""Headless Chromium, which opens a page as a file and says what became of it."""

import re
import subprocess
from pathlib import Path

PROBE = """
<script>
function measured() {
  var names = %s, lines = [];
  var root = document.documentElement;
  lines.push("width " + root.clientWidth + " scroll " + root.scrollWidth);
  Array.prototype.forEach.call(document.querySelectorAll("details"), function (fold) { fold.open = true; });
  lines.push("open width " + root.clientWidth + " scroll " + root.scrollWidth);
  names.forEach(function (step) { lines.push(step()); });
  var result = document.createElement("pre");
  result.id = "probe";
  result.textContent = lines.join("\\n");
  document.body.appendChild(result);
}
window.addEventListener("load", measured);
</script>
"""
"""A script that measures, opens what can be opened, and does some steps."""


class Browser:
    """Opens pages in a profile of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def __call__(self, page: Path, width: int, *flags: str) -> subprocess.CompletedProcess[str]:
        command = [
            *(self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
            "--disable-dev-shm-usage",
            *("--disable-background-networking", "--enable-logging=stderr", f"--user-data-dir={self.folder}"),
            *(f"--window-size={width},1600", *flags, page.as_uri()),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)


def probed(page: Path, steps: str) -> Path:
    """A page with one more script, which its policy would forbid, that writes what it measures to the end."""
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    probe = page.with_name("probed.html")
    probe.write_text(without_policy.replace("</body>", f"{PROBE % steps}</body>"), "utf-8")
    return probe


def errors_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What the console of the page got."""
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def shown(browser: Browser, page: Path, width: int, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page whose script runs without an error."""
    done = browser(page, width, "--dump-dom", *flags)
    assert errors_of(done) == []
    assert '<button id="theme" type="button">Colours: system</button>' in done.stdout, "the script has run"
    return done


def check_width(browser: Browser, page: Path, width: int) -> None:
    """Check that nothing is wider than the window, closed and with all open.

    A headless window may be wider than it is asked to be; a frame is exactly as wide.
    """
    outer = page.with_name("outer.html")
    script = """
    window.addEventListener("load", function () { setTimeout(function () {
      document.title = document.querySelector("iframe").contentDocument.getElementById("probe").textContent;
    }, 200); });"""
    frame = f'<iframe src="{probed(page, "[]").name}" style="width: {width}px; height: 900px; border: 0"></iframe>'
    outer.write_text(f"{frame}<script>{script}</script>")
    done = browser(outer, 1400, "--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=5000")
    widths = re.findall(r"width (\d+) scroll (\d+)", done.stdout)
    assert len(widths) == 2, (done.stdout[:500], errors_of(done))
    for inner, needed in widths:
        assert int(inner) == width
        assert int(needed) <= width
