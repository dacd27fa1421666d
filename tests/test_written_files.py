"""Files that a user names: where links lead, and whose links are followed."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dwarfgpu import regular_files
from dwarfgpu.errors import UsageError
from dwarfgpu.regular_files import check_output, whole_output
from tests.builders.commands import run
from tests.builders.folders import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links belong to users")


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a link to a file, which another user has put into a folder in which everybody may make files."""
    victim = tmp_path / "victim"
    victim.write_text("precious", "utf-8")
    if os.getuid():  # /tmp belongs to root, and what we make there to another user as soon as we are somebody else
        folder = Path(tempfile.gettempdir())
        if not folder.stat().st_mode & stat.S_ISVTX or folder.stat().st_uid == os.getuid():
            pytest.skip(f"{folder} is not a sticky folder of another user")
        link = folder / f"dwarfgpu-test-{os.getpid()}"
        link.symlink_to(victim)
        monkeypatch.setattr(regular_files.os, "getuid", lambda: 12345)
    else:
        folder = tmp_path / "sticky"
        folder.mkdir()
        folder.chmod(0o1777)
        link = folder / "link"
        link.symlink_to(victim)
        os.lchown(link, 65534, 65534)
    yield link
    link.unlink()


def test_a_link_of_another_user_is_not_followed(foreign: Path, tmp_path: Path) -> None:
    through = tmp_path / "through"
    through.symlink_to(foreign.parent)
    for path in (foreign, through / foreign.name, foreign / "inside"):
        with pytest.raises(UsageError, match="another user has made the link"):
            check_output(str(path))
    with pytest.raises(UsageError), whole_output(str(foreign), "w") as stream:
        stream.write("replaced")
    assert (tmp_path / "victim").read_text("utf-8") == "precious"


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "{1}/blur.co", "-o", "{0}"),
        ("debug", "{1}/blur.co", "-batch", "-ex", "set logging file {0}", "-ex", "set logging enabled on"),
        ("compile", "{1}/blur.cl", "-o", "{0}"),
        ("run", "{1}/blur.co", "blur", "--grid", "64", "in=random(50)", "out=zeros(50)", "n=49", "--save", "out={0}"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_no_command_follows_it(foreign: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(*(word.format(foreign, ROOT / "dwarfgpu" / "examples") for word in words))
    assert done.returncode == 2
    assert "another user has made the link" in done.stderr
    assert (tmp_path / "victim").read_text("utf-8") == "precious"


def test_our_own_links_stay_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "relative").symlink_to("../target")
    (tmp_path / "folder").symlink_to(tmp_path / "inner")
    for name in ("folder/relative", f"{tmp_path}/folder/../target", "./inner/../inner/relative"):
        with whole_output(name, "w") as stream:
            stream.write(name)
        assert (tmp_path / "target").read_text("utf-8") == name
    assert (tmp_path / "inner" / "relative").is_symlink()
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(UsageError, match="Too many levels"):
        check_output("circle")


LIMITED = """
import resource, sys
from dwarfgpu.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
sys.exit(main())
"""
SIZES = "--grid", "6400", "--work-group", "64"
BIG = "kernels.co", "saxpy", *SIZES, "x=zeros(6400)", "y=ones(6400)", "a=0.5", "n=6400"


@pytest.mark.parametrize(
    "words",
    [("run", *BIG, "--save", "y={}.npy"), ("run", *BIG, "--save", "y={}.csv"),
     ("snapshot", "convert", "blur.core", "{}.dgs"), ("snapshot", "convert", "blur.core", "{}.json")],
    ids=[".npy", ".csv", ".dgs", ".json"],
)  # fmt: skip
@pytest.mark.sampled(6)
def test_the_system_says_why_a_file_cannot_be_written(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A limit for files is in place of a disk that is full: numpy would say how many items it has not written."""
    path = str(tmp_path / "out")  # and -B, as Python would keep the first 2,000 bytes of a module that it compiles
    command = [sys.executable, "-B", "-c", LIMITED, *(word.format(path) for word in words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT / "dwarfgpu" / "examples",
        env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 2
    assert "cannot be written: File too large\n" in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_message_has_only_the_beginning_of_a_long_name() -> None:
    done = run("run", str(ROOT / "dwarfgpu" / "examples" / "blur.co"), "k" * 60000, "--grid", "64")
    assert (done.returncode, len(done.stderr) < 5000) == (1, True)
    assert "... (60002 characters)" in done.stderr
