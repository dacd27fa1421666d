"""`tools/cases.py`: the command that answers files of cases."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import ANSWERED, parse_line

from dwarfgpu.strict_json import NotACase

ROOT = Path(__file__).resolve().parents[3]
FRAMES = '{"section": "", "section_kind": "eh_frame"}'
LISTS = '{"section": "00", "section_kind": "debug_loclists"}'


def run(about: str, path: object = "-", lines: bytes = b"") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools/cases.py", about, "--cases", str(path)]
    done = subprocess.run(command, check=False, input=lines, capture_output=True)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def answers(about: str) -> Iterator[str]:
    """The answers of today to the cases of a file, and why its other lines are no cases."""
    lines = Path(__file__).with_name(f"{about}.jsonl").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield json.dumps(ANSWERED[about](parse_line(line, number), number))
        except NotACase as error:
            yield str(error)


@pytest.mark.parametrize("about", ANSWERED)
def test_every_line_is_answered_as_before(about):
    """Every form of values, locations, contexts, rows, entries and errors, with exactly its keys in their order."""
    assert [*answers(about)] == Path(__file__).with_name(f"{about}.answers").read_text().splitlines()


@pytest.mark.parametrize(
    "about, good, bad",
    [
        *(("eval", '{"ops": "DW_OP_lit1"}', bad) for bad in ("nonsense", '{"opps": "DW_OP_lit1"}')),
        *(("cfi", FRAMES, bad) for bad in ("[]", '{"section": "00"}', '{"section": "", "section_kind": "x"}')),
        ("lists", LISTS, "{}"),
    ],
)
@pytest.mark.sampled(6)
def test_a_line_that_is_not_a_case_does_not_hide_the_others(about, good, bad):
    done = run(about, lines=f"{good}\n\n{bad}\n{good}\n".encode())
    assert done.returncode == 3
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 4]
    assert done.stderr.startswith("dwarfgpu: error: -: ")
    assert "line 3" in done.stderr


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xff\n")
    for name in ("absent", "latin", "."):
        done = run("eval", tmp_path / name)
        assert (done.returncode, done.stdout) == (3, "")
        assert str(tmp_path) in done.stderr
