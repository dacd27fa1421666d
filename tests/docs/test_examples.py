"""Every command that the documentation shows prints what the documentation says."""

import doctest
import inspect
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import dwarfgpu
from tests.builders.commands import run
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each
from tools.pages import BUILDING, MARK, SHELL, Step, blocks_of, filled, home_of, pages, refreshed, written_by


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_commands_print_what_a_page_shows(path: Path, tmp_path: Path) -> None:
    steps = [step for block in blocks_of(path.read_text("utf-8")) for step in block.steps]
    if shutil.which("clang-22") is None and any(".cl " in step.typed or "hipcc" in step.typed for step in steps):
        pytest.skip("clang-22 is not installed")
    for step, written in zip(steps, written_here(steps, filled(tmp_path)), strict=True):
        assert written == step.written, step.typed


def written_here(steps: list[Step], place: Path) -> Iterator[str]:
    """Yield what each command writes, in this process: to start one takes ten times as long as most answers."""
    starts = [number for number, step in enumerate(steps) if step.prompt == SHELL]
    for start, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        command, *typed = steps[start:end]
        line, _pipe, rest = command.typed.partition(" | ")
        is_merged = line.endswith(" 2>&1")
        line = line.removesuffix(" 2>&1")
        if not line.startswith("dwarfgpu ") or needs_bash(line):
            yield from written_by(steps[start:end], place)
            continue
        words = shlex.split(line)[1:]
        if typed:
            words += ["-nx", "-ex", f"echo {MARK}\\n"]
        for step in typed:
            words += ["-ex", step.typed, *(["-ex", f"echo {MARK}\\n"] if step.typed != "quit" else [])]
        is_merged |= not rest
        done = run(*words, folder=place, env={"HOME": str(home_of(place))}, merged=is_merged)
        written = done.stdout
        if rest:
            read = subprocess.run(["bash", "-c", rest], input=written, stdout=subprocess.PIPE, text=True, check=False)
            written = read.stdout + ("" if is_merged else done.stderr)
        written = BUILDING.sub("", written)
        for text in written.split(f"{MARK}\n")[: len(typed) + 1]:
            yield f"{text}\n" if text and not text.endswith("\n") else text


def needs_bash(typed: str) -> bool:
    """Return whether bash makes more of a line than words."""
    lexer = shlex.shlex(typed, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return any(character in typed for character in "`~\n") or any(not set(token) - set("();<>|&") for token in lexer)


@pytest.mark.slow
def test_a_command_that_prints_something_else_is_found(tmp_path: Path) -> None:
    page = "```console\n$ echo a\nb\n$ dwarfgpu debug blur.co\n(dwarfgpu) echo c\\n\n(dwarfgpu) quit\n```\n"
    steps = [step for block in blocks_of(page) for step in block.steps]
    assert written_by(steps, filled(tmp_path)) == ["a\n", "", "c\n", ""]
    assert refreshed(page) == page.replace("\nb\n", "\na\n").replace("echo c\\n\n", "echo c\\n\nc\n")


def sh_blocks() -> list[tuple[str, str]]:
    """The blocks of commands that pages show without what they print."""
    blocks: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        start = None
        for number, line in enumerate(path.read_text().splitlines()):
            if line.startswith("```"):
                start = number if line == "```sh" else None
            elif start is not None:
                blocks[path.name, start].append(line)
    return [(f"{page}:{number + 1}", "\n".join(lines)) for (page, number), lines in blocks.items()]


@pytest.mark.parametrize("place,block", sh_blocks(), ids=lambda value: value if ":" in value[:40] else "")
def test_bash_reads_a_block(place: str, block: str) -> None:
    done = subprocess.run(["bash", "-n", "-c", block], stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "", place


@for_each("page, examples",
    ("python.md", 25),                    ("start.md", 4),                      ("running.md", 5),
    ("check.md", 3),                      ("../README.md", 2))  # fmt: skip
def test_python_prints_what_a_page_shows(
    page: str, examples: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(filled(tmp_path))
    path = ROOT / "docs" / page
    test = doctest.DocTestParser().get_doctest(path.read_text(), {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > examples
    assert runner.failures == 0


@pytest.mark.parametrize("name", [name for name in dwarfgpu.__all__ if name not in ("AMD", "DWARF5", "DWARF6")])
def test_every_public_name_has_an_example(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(filled(tmp_path))
    thing = getattr(dwarfgpu, name)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, inspect.getfile(thing), 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.tries > 1
    assert runner.failures == 0
