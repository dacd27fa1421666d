"""A question that is a list: that of CONTRIBUTING.md has every face and every form, with the same rows in each."""

import csv
import io
import json
import re
from types import ModuleType

import pytest

from dwarfgpu.cli.run import parsers
from dwarfgpu.questions import table
from dwarfgpu.questions.document import listing
from dwarfgpu.render.layout import Record
from tests.builders.commands import run
from tests.builders.dap_client import INITIALIZE, LocalClient
from tests.builders.folders import ROOT
from tests.docs.test_contributing import ADDED, applied
from tests.gdb.running import run_gdb, typed
from tests.questions.harness import KERNEL, STATE, Run
from tools.manual import manual

TABLE = "dwarfgpu/questions/table.py"
TEXT = "Language  Units\nc         1\n"


@pytest.fixture
def source(tmp_path):
    """The table with the question."""
    (tmp_path / TABLE).parent.mkdir(parents=True)
    (tmp_path / TABLE).write_bytes((ROOT / TABLE).read_bytes())
    applied(ADDED["A question"], tmp_path, "--include", TABLE)
    return tmp_path / TABLE


@pytest.fixture
def languages(source, monkeypatch):
    """The question, which all faces have."""
    module = ModuleType("table_with_question")
    exec(source.read_text(), module.__dict__)
    monkeypatch.setattr(table, "COMMANDS", module.COMMANDS)
    monkeypatch.setitem(table.AT_SHELL, "languages", module.AT_SHELL["languages"])


def test_it_is_at_most_twelve_lines_in_one_file():
    ((file, diff),) = re.findall(r"^\+\+\+ b/(dwarfgpu/.*)\n((?:[ @+].*\n)*)", ADDED["A question"], re.MULTILINE)
    assert file == TABLE
    assert len(re.findall(r"^\+", diff, re.MULTILINE)) <= 12


def test_the_shell_has_it_in_every_form_with_help_completion_and_a_manual_page(languages):
    words, row = ["languages", str(KERNEL)], {"language": "c", "units": 1}
    assert run(*words).stdout == TEXT
    assert json.loads(run(*words, "--json").stdout) == {"schema": 1, "languages": [row]}
    assert json.loads(run(*words, "--jsonl").stdout) == {"schema": 1, **row}
    assert list(csv.reader(io.StringIO(run(*words, "--csv").stdout))) == [["language", "units"], ["c", "1"]]
    page = run(*words, "--html").stdout
    assert re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", page) == ["language", "units", "c", "1"]
    assert run(*words, "--json", "--csv").returncode == 2
    assert "The languages of the program, with how many units each has." in run("languages", "--help").stdout
    assert "languages\t" in run("completion", "fish", "--", "langu").stdout
    assert "--csv" in run("completion", "fish", "--", "languages", "--c").stdout
    assert ".SS languages\nThe languages of the program" in manual("1", parsers())


def test_the_prompt_and_editors_have_it(languages):
    prompt = Run(KERNEL, STATE)
    assert prompt("info languages") == TEXT
    assert prompt("info languages --csv") == "language,units\nc,1\n"
    assert prompt("complete info lang") == "info languages\n"
    assert "The languages are those of the units." in prompt("help info languages")
    client = LocalClient()
    client.ask("initialize", **INITIALIZE)
    client.send("attach", program=str(KERNEL), state=str(STATE))
    client.event("initialized")
    client.ask("configurationDone")
    assert client.console("info languages") == TEXT.rstrip()
    client.close()


def test_gdb_has_it(source, tmp_path, require_tool):
    script = tmp_path / "load.py"
    script.write_text(
        "import runpy\nfrom dwarfgpu.gdbplugin import commands, debugger\n"
        f"row = next(row for row in runpy.run_path({str(source)!r})['COMMANDS'] if row.gdb == 'languages')\n"
        "debugger.debugger().registry.add(row)\ncommands.TableCommand(row)\n"
    )
    asked = typed("help dwarfgpu languages; dwarfgpu languages -csv")
    printed = run_gdb(require_tool, "-x", script, *asked, program=ROOT / "fixtures/host/classes.gcc.O2.v5.x86_64")
    assert "Usage: dwarfgpu languages [--json]\n\nThe languages are those of the units." in printed
    assert printed.endswith("language,units\nc++,1\n")


def test_rows_are_where_the_document_has_their_key_and_objects_in_them_are_columns():
    def answer(*rows):
        around = {"before": 1, "things": (), "after": 2}
        return listing("things", Record("name=0:Name place=1 tags=2"), rows, around=around, empty="Nothing.")

    assert list(answer().json()) == ["schema", "before", "things", "after"]
    assert list(answer().text(None)) == ["Nothing."]
    row = "a", {"file": "k.c", "line": 7}, ["x", "y"]
    assert answer(row).table() == [("name", "place.file", "place.line", "tags"), ("a", "k.c", 7, "x y")]
