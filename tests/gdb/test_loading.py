import ast
import os
import re
from pathlib import Path

import pytest

from dwarfgpu import gdbplugin
from dwarfgpu.gdbplugin import entry
from tests.gdb.running import ENTRY, PACKAGES, environment, python, run_gdb, stub
from tests.gdb.test_waves import connected, states


def test_the_entry_file_is_for_any_python(monkeypatch):
    ast.parse(ENTRY.read_text(), feature_version=(3, 6))
    assert not any(line.startswith(("import dwarfgpu", "from ")) for line in ENTRY.read_text().splitlines())
    monkeypatch.setattr(entry, "OLDEST", (9, 9))
    with pytest.raises(ImportError, match=r"needs Python 9\.9 or later, and this GDB has 3\."):
        entry.load("/nowhere")


def test_what_is_missing_is_found_without_loading_it(tmp_path, monkeypatch):
    (tmp_path / "of_another_version").mkdir()
    (tmp_path / "of_another_version" / "__init__.py").write_text("raise AssertionError('it was loaded')")
    (tmp_path / "of_another_version" / "_core").mkdir()
    (tmp_path / "of_another_version" / "_core" / "x.cpython-32-x86_64-linux-gnu.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    optional = (("of_another_version", ("_core",), "a"), ("not_there_at_all", (), "b"), ("os", (), "c"))
    monkeypatch.setattr(gdbplugin, "OPTIONAL", optional)
    assert gdbplugin.missing() == [
        ("of_another_version", "was built for another version of Python", "a"),
        ("not_there_at_all", "is not installed", "b"),
    ]


@pytest.mark.slow
def test_nothing_heavy_is_loaded(require_tool):
    names = ("numpy", "dwarfgpu.program", "dwarfgpu.objfile", "dwarfgpu.expr")
    show = python(f"import sys; print([each for each in {names} if each in sys.modules])")
    assert run_gdb(require_tool, *show) == "[]\n"


@pytest.mark.slow
def test_without_numpy(require_tool, tmp_path, runnable_host):
    """One that was built for another Python is as good as none; values are lists then."""
    (tmp_path / "numpy" / "_core").mkdir(parents=True)
    (tmp_path / "numpy" / "__init__.py").write_text("raise ImportError('built for another Python')")
    script = tmp_path / "script.py"
    script.write_text(
        "import gdb, dwarfgpu.gdb as dg\n"
        "gdb.execute('break stop_here')\n"
        "gdb.execute('run', to_string=True)\n"
        "frame = dg.selected()\n"
        "for name in ('counter', 'selected', 'split', 'gone'):\n"
        "    values = frame.variable(name).values()\n"
        "    print('@@', name, values.array, values.states)\n"
    )
    text = run_gdb(require_tool, program=runnable_host, script=script, variables={"PYTHONPATH": str(tmp_path)})
    version = run_gdb(require_tool, *python("import sys; print('%d.%d' % sys.version_info[:2])"), load=False).strip()
    assert (
        f"dwarfgpu: GDB has Python {version}. numpy was built for another version of Python: "
        "variables are read one lane at a time, and values are lists\n"
    ) in text
    assert [line for line in text.splitlines() if line.startswith("@@")] == [
        "@@ counter [5] ['active']",
        "@@ selected [[-1.0, 2.0, -3.0, 4.0]] ['active']",
        "@@ split [{'low': 84281096, 'high': 4009689105}] ['active']",
        "@@ gone [None] ['undefined']",
    ]


COMMANDS = (
    *("eval even", "eval -trace even", "eval -lane 1-3 even", "eval -location left", "eval --json even"),
    *("locals", "locals -lane 0,2 e", "lanes", "map", "map even", "bt -full", "explain even", "locate slots", "verify"),
    *("dump X", "set even = 5", "eval even", "set -lane 0,2 even = 6"))  # fmt: skip
NEEDS_NUMPY = ("waves", "waves -each", "snapshot saved.json")


def without_numpy(folder: Path) -> str:
    """The folders of packages, but for numpy."""
    paths = []
    for number, path in enumerate(environment()[PACKAGES].split(os.pathsep)):
        copy = folder / f"packages{number}"
        copy.mkdir()
        for each in Path(path).iterdir():
            if not each.name.startswith("numpy"):
                (copy / each.name).symlink_to(each)
        paths.append(str(copy))
    return os.pathsep.join(paths)


@pytest.mark.slow
def test_each_command_answers_or_says_what_it_needs(require_tool, tmp_path):
    words = []
    for command in (*COMMANDS, *NEEDS_NUMPY):
        words += ["-ex", f"echo @@{command}\\n", "-ex", f"dwarfgpu {command}"]
    with stub(tmp_path, states(["variables"])) as sockets:
        text = run_gdb(
            require_tool, *connected(sockets, "variables"), *words, folder=None,
            variables={PACKAGES: without_numpy(tmp_path)})  # fmt: skip
    assert "numpy is not installed: variables are read" in text
    assert "Traceback" not in text
    assert "Python Exception" not in text
    said = dict(part.split("\n", 1) for part in text.split("@@")[1:])
    for command in COMMANDS:
        assert "numpy" not in said[command], command
        assert said[command] or command.startswith("set"), command
    for command in NEEDS_NUMPY:
        first, *rest = said[command].splitlines()
        assert re.match(r"this needs numpy, which GDB's Python \d\.\d+ does not have \(", first), command
        assert not [line for line in rest if not line.startswith("[Inferior")]
