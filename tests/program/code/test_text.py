import os

import pytest

from dwarfgpu.program.code import source_files
from dwarfgpu.program.code.source_files import SourceTexts
from tests.builders.parameters import for_each


class File:
    """A source file of a program."""

    def __init__(self, path: str, directory: str | None = None, source: str | None = None) -> None:
        self.path, self.directory, self.source = path, directory, source

    def embedded(self) -> str | None:
        return self.source


@pytest.fixture
def reader(tmp_path, monkeypatch) -> SourceTexts:
    monkeypatch.chdir(tmp_path)
    return SourceTexts()


def test_text_of_the_program_counts_first(reader, tmp_path):
    (tmp_path / "a.c").write_text("disk\n")
    assert reader.read(File("a.c", "/x", "program\r\nsecond")).lines == ("program", "second")
    assert reader.read(File("a.c")).lines == ("disk",)


def test_lines_are_counted_from_1(reader):
    found = reader.read(File("x", None, "one\ntwo\n"))
    assert [found.line(number) for number in (-1, 0, 1, 2, 3)] == [None, None, "one", "two", None]


@for_each(
    "directories, place",
    (("$cdir", "$cwd"), "build/src/a.c"),
    (("$cwd",), "src/a.c"),
    (("$cwd",), "a.c"),
    (("other",), "other/src/a.c"),
    (("other",), "other/a.c"),
)
def test_directories(reader, tmp_path, directories, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("found\n")
    reader.directories = directories
    gone = "/gone/build"
    reader.moved = {gone: str(tmp_path / "build")} if "$cdir" in directories else {}
    assert reader.read(File(f"{gone}/src/a.c", gone)).lines == ("found",)


def test_the_longest_rule_counts_and_only_whole_components(reader, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/a.c").write_text("found\n")
    reader.moved = {"/old": "/nowhere", "/old/deep": str(tmp_path / "new")}
    assert reader.read(File("/old/deep/a.c")).lines == ("found",)
    reader.forget()
    reader.moved = {"/old/de": str(tmp_path / "new")}
    assert reader.read(File("/old/deep/a.c")).missing == "No such file or directory."


def test_what_is_no_text_file(reader, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    assert reader.read(File("pipe")).missing == "It is no file."
    assert reader.read(File("/dev/zero")).missing == "It is no file."
    assert reader.read(File("a\0b")).missing == "No such file or directory."
    (tmp_path / "big").write_text("12345")
    monkeypatch.setattr(source_files, "MAX_SIZE", 4)
    assert reader.read(File("big")).missing == "It has more than 4 bytes."


def test_a_file_is_read_once_until_somebody_says_so(reader, tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert reader.read(File("a.c")).lines == ("one",)
    (tmp_path / "a.c").write_text("two\n")
    assert reader.read(File("a.c")).lines == ("one",)
    reader.forget()
    assert reader.read(File("a.c")).lines == ("two",)
