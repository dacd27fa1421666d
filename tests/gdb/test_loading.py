"""Loading dwarfgpu into GDB: as a user does it, and where GDB's Python lacks something."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dwarfgpu import gdbplugin
from dwarfgpu.cli import main
from dwarfgpu.gdbplugin import entry
from tests.gdb.running import ENTRY, ROOT, python, run_gdb

FIXTURE = ROOT / "fixtures" / "asm" / "host.x86_64"


def test_the_command_prints_the_path(capsys):
    assert main(["gdb-script"]) == 0
    assert Path(capsys.readouterr().out.strip()) == ENTRY
    assert main(["gdb-script", "--json"]) == 0
    assert str(ENTRY) in capsys.readouterr().out


def test_any_python_can_read_the_entry_file():
    ast.parse(ENTRY.read_text(), feature_version=(3, 6))
    assert not any(line.startswith(("import dwarfgpu", "from ")) for line in ENTRY.read_text().splitlines())


def test_an_old_python_is_told_so(monkeypatch):
    monkeypatch.setattr(entry, "OLDEST", (9, 9))
    with pytest.raises(ImportError, match=r"needs Python 9\.9 or later, and this GDB has 3\."):
        entry.load("/nowhere")


def test_where_packages_are_looked_for(tmp_path, monkeypatch):
    here, other, active = (tmp_path / name for name in ("here", "other", "active"))
    version = f"python3.{sys.version_info[1]}"
    wanted = [
        here,
        other,
        *(active / "lib" / name / "site-packages" for name in (version, "python3.2")),
        here / ".venv" / "lib" / version / "site-packages",
    ]
    for place in wanted:
        place.mkdir(parents=True)
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    monkeypatch.setenv("DWARFGPU_PATH", f"{other}{os.pathsep}/nowhere")
    assert entry.site_packages(str(here)) == [str(place) for place in wanted]
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.delenv("DWARFGPU_PATH")
    assert entry.site_packages(str(here)) == [str(wanted[0]), str(wanted[-1])]


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
def test_as_a_user_does_it(require_tool, tmp_path):
    """With an environment that is active, which GDB's Python does not know."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["VIRTUAL_ENV"] = sys.prefix
    words = [require_tool("gdb"), "-nx", "-batch", "-x", str(ENTRY)]
    done = subprocess.run(
        [*words, *python("import dwarfgpu.gdb as dg, numpy, msgpack"), *python("print(dg.__doc__[:25])")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("The library for scripts o\n", "")


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
        f"dwarfgpu: numpy was built for another version of Python (GDB has Python {version}): "
        "variables are read one lane at a time, and values are lists\n"
    ) in text
    assert [line for line in text.splitlines() if line.startswith("@@")] == [
        "@@ counter [5] ['active']",
        "@@ selected [[-1.0, 2.0, -3.0, 4.0]] ['active']",
        "@@ split [{'low': 84281096, 'high': 4009689105}] ['active']",
        "@@ gone [None] ['undefined']",
    ]


def test_the_command_is_quick_enough_to_stand_in_a_command_line():
    """No figure is asserted: it must not load what the others need."""
    code = (
        "import sys; from dwarfgpu.cli import main; main(['gdb-script']);"
        "print([name for name in ('dwarfgpu.program', 'dwarfgpu.objfile', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
