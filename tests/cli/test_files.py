import json
import os
from pathlib import Path

import pytest

from tests.builders.commands import ROOT, document, run
from tests.builders.parameters import for_each

FATBIN = "fixtures/containers/fatbin.x86_64"
TINY = "fixtures/containers/tiny.gfx90a.co"
SPLIT = "fixtures/features/split.v5.co"


def test_an_image_in_standard_input():
    whole = run("info", f"{FATBIN}@gfx90a").stdout.partition("\n")[2]
    data = (ROOT / FATBIN).read_bytes()
    for part in ("-@gfx90a", "-@2"):
        assert run("info", part, stdin=data).stdout.partition("\n")[2] == whole
    assert "@2 " in run("ls", "-@2", stdin=data).stdout
    assert run("info", "-@9", stdin=data).returncode == 2


def test_what_a_truncated_file_still_has_is_shown(tmp_path: Path) -> None:
    data = (ROOT / TINY).read_bytes()
    path = tmp_path / "truncated.co"
    path.write_bytes(data[:3000])
    done = run("info", str(path))
    assert done.returncode == 3
    assert "amdgcn-gfx90a" in done.stdout
    assert "section headers: " in done.stdout
    assert "truncated.co" in done.stderr.splitlines()[0]


def test_standard_input_is_a_file_and_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    data = (ROOT / TINY).read_bytes()
    assert "gfx90a" in run("ls", "-", stdin=data).stdout
    assert "amdgcn-gfx90a" in run("info", "-", stdin=data).stdout
    assert run("kernels", "-", stdin=data).stdout.startswith("tiny\n")
    assert json.loads(run("ls", "-", "--json", stdin=data).stdout)["file"] == "<stdin>"
    path = tmp_path / "names.co"
    path.write_bytes(data.replace(b"tiny", b"t\x1b]0").replace(b".data", b".\x1b[2J"))
    for words in (("info", str(path), "--units"), ("kernels", str(path)), ("ls", str(path))):
        assert "\x1b" not in run(*words, "--color", "never").stdout


@pytest.mark.parametrize("name, method", [("zlib.v5.co", "zlib"), ("zstd.v5.co", "zstd")])
def test_info_shows_compression(name: str, method: str) -> None:
    sections = {each["name"]: each for each in document("info", f"fixtures/features/{name}")["sections"]}
    assert sections[".debug_info"]["compression"] == method
    assert sections[".debug_info"]["data_size"] > sections[".debug_info"]["size"]


def test_units_are_listed_and_what_they_repeat_is_shown_once() -> None:
    words = ("info", "fixtures/amdgpu/hip-two-units.gfx90a.w64.O2.v5.co")
    assert "units" not in document(*words)
    assert [unit["kind"] for unit in document(*words, "--units")["units"]] == ["compile", "compile"]
    assert run(*words, "--units").stdout.count("compile, version 5") == 2
    assert len(document(*words, "--name", "int")["names"]) == 2


def test_kernels_as_data_with_formats() -> None:
    assert run("kernels", TINY, "--fields").stdout == run("kernels", TINY, "tiny").stdout
    (kernel,) = document("kernels", TINY)["kernels"]
    assert kernel["name"] == "tiny"
    assert kernel["descriptor"]["wavefront_size"] == 64
    assert kernel["metadata"]["args"][0]["value_kind"] == "global_buffer"
    assert "ACCUM_OFFSET" in [field["name"] for field in kernel["descriptor"]["fields"]]
    (old,) = document("kernels", "fixtures/asm/clrx.gfx801.co")["kernels"]
    assert old["kernel_code"]["amd_machine_version_major"] == 8
    printed = document("kernels", "fixtures/asm/code-object-v2.gfx803.co")["printf"]
    assert printed == [{"id": 1, "sizes": [4], "format": "value %d\\n"}]


@for_each("name",
    *(TINY, FATBIN, SPLIT, "fixtures/asm/forms.gfx90a.w64.o", "fixtures/asm/forms.powerpc64"),
    *("fixtures/containers/fat-object.x86_64.o", "fixtures/amdgpu/launch.gfx90a.w64.O2.co"),
    "fixtures/host/types.gcc.v5.x86_64")  # fmt: skip
def test_80_columns(name: str) -> None:
    commands = [("ls", name), ("info", name, "--units")]
    if not name.endswith("x86_64") and "x86_64" not in name and "powerpc" not in name:
        commands.append(("kernels", name, "--fields"))
    for words in commands:
        done = run(*words)
        assert done.returncode == 0, done.stderr
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_the_kernels_of_a_folder_are_listed(tmp_path):
    """The newest first; what is broken is an error beside them, and a link that leads nowhere is no file."""
    data = (ROOT / TINY).read_bytes()
    for number, (name, content) in enumerate({"A/old.hsaco": data, "B/new.hsaco": data, "bad.co": b"?"}.items()):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (number, number))
    (tmp_path / "gone.co").symlink_to(tmp_path / "nowhere")
    done = run("ls", str(tmp_path), "--json")
    found = [(row["name"], row["target"], Path(row["file"]).name) for row in json.loads(done.stdout)["kernels"]]
    assert found == [("tiny", "gfx90a", "new.hsaco"), ("tiny", "gfx90a", "old.hsaco")]
    assert "bad.co" in done.stderr
    assert done.returncode == 3
    (tmp_path / "empty").mkdir()
    assert run("ls", str(tmp_path / "empty")).stdout == "no kernels: no file ends with .hsaco or .co\n"
