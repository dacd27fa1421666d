"""`coverage` at the shell and at the prompt: text, JSON, pictures, and what is wrong."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.builders.commands import run
from tests.builders.dwarf import die
from tests.builders.hostile import gpu, named, typed, variable

FAST = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"


def asked(*words: str):
    done = run("coverage", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def document(*words: str):
    return json.loads(asked(*words, "--json"))


def test_repairs_and_a_row_for_each_variable():
    data = document(FAST, "polynomial", "--repair", "off")
    assert data["kinds"] == data["kinds_repaired"]
    assert data["kinds"] == document(FAST, "polynomial")["kinds"]
    rows = [json.loads(line) for line in asked(FAST, "polynomial", "--jsonl").splitlines()]
    assert [row["name"] for row in rows][:3] == ["calls", "x", "order"]


@pytest.mark.parametrize("words", [(), ("polynomial",), ("--worst", "1"), ("--variable", "x")])
def test_pictures(words):
    picture = ET.fromstring(asked(FAST, *words, "--svg"))
    assert picture.tag.endswith("svg")
    assert len(list(picture.iter())) > 20


def test_names_cannot_steer_a_terminal_and_variables_may_be_missing(tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(gpu(variable("x\x1b[31m"), die("variable", named("y\n"), typed("int")), kernel="k\x1b[2J"))
    for words in ((), ("--variable", "y\n"), ("--svg",)):
        assert "\x1b" not in run("coverage", str(path), *words).stdout
    path = tmp_path / "k.co"
    path.write_bytes(gpu())
    assert asked(str(path)) == f"{path}: no variables\n"
    assert document(str(path))["variables"] == 0
    assert ET.fromstring(asked(str(path), "--svg")) is not None
