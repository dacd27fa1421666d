import json
import shutil

import pytest

from tests.builders.commands import run

CRASH = "docs/examples/crash.core"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A snapshot that was made from a core file, with its code object beside it."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("x.json", "x.dgs"):
        assert run("snapshot", "convert", CRASH, str(folder / name)).returncode == 0
    return folder


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The core files of host and GPU of one crash."""
    folder = tmp_path_factory.mktemp("parts")
    run("debug", "--batch", "--state", CRASH, "-ex", f"generate-core-file -pair {folder / 'core'}")
    return folder


@pytest.mark.parametrize("name", ["x.json", "x.dgs"])
def test_a_snapshot_that_names_its_code_needs_no_file(small, name):
    done = run("bt", "--state", str(small / name), "--wave", "3")
    assert (done.returncode, done.stdout.splitlines()[-1][:5]) == (0, "#0  X")


def test_states_that_name_their_code_or_need_a_file(small, tmp_path):
    shutil.copy(small / "x.json", tmp_path)
    done = run("waves", "--state", str(tmp_path / "x.json"))
    assert (done.returncode, "required: FILE" in done.stderr) == (2, True)
    path = small / "mark.json"
    path.write_bytes(b"\xef\xbb\xbf" + (small / "x.json").read_bytes())
    done = run("waves", "--state", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    words = ("-ex", f"core-file {CRASH}", "-ex", f"target snapshot {small / 'x.json'}", "-ex", f"core {CRASH}")
    done = run("debug", "--batch", *words)
    assert (done.returncode, done.stdout.count("[Attached")) == (0, 3)


@pytest.mark.parametrize("words", [("waves",), ("bt",), ("waves", "--json"), ("lanes", "--wave", "1")])
def test_a_state_that_is_missing_is_what_is_said(words, tmp_path):
    path = tmp_path / "nothere"
    done = run(*words, "--state", str(path))
    assert (done.returncode, done.stderr) == (3, f"dwarfgpu: error: {path}: No such file or directory\n")


def test_texts_that_are_too_large_and_hosts_alone(tmp_path, parts):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(1 << 40)
    done = run("waves", "fixtures/asm/lane-pc.gfx90a.w64.co", "--state", str(path))
    assert (done.returncode, "it has 1099511627776 bytes, more than" in done.stderr) == (3, True)
    shutil.copy(parts / "core", tmp_path / "core.4711")
    done = run("core", "info", str(tmp_path / "core.4711"))
    assert (done.returncode, "no note has the state of GPUs" in done.stderr) == (3, True)


NAMES = [
    ("core.4711", "gpucore.4711"),
    ("core.4711", "core.4711.gpu"),
    ("core.app.4711", "core.app.4711.gpu"),
    ("core.1234", "gpucore.1234.gpu"),
    ("core.app.4711.1764000000", "core.app.4711.1764000007.gpu"),
    ("1764000000-app-4711", "gpu-4711-1764000003"),
]


@pytest.mark.parametrize("host, gpu", NAMES)
def test_each_part_of_a_crash_finds_the_other(host, gpu, parts, tmp_path):
    shutil.copy(parts / "core", tmp_path / host)
    shutil.copy(parts / "core.gpu", tmp_path / gpu)
    whole = run("waves", "--json", "--state", str(tmp_path / host), "--state", str(tmp_path / gpu))
    assert len(json.loads(whole.stdout)["waves"]) == 2
    for name in (host, gpu):
        assert run("waves", "--json", "--state", str(tmp_path / name)).stdout == whole.stdout
        assert "(found beside it)" in run("core", "info", str(tmp_path / name)).stdout
