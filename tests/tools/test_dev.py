"""`tools/dev.py test --changed`: the tests that a change can touch."""

import sys
from pathlib import Path

from tests.builders.parameters import for_each
from tools import dev


@for_each("changed, touched, untouched",
    ("dwarfgpu/expr/location_operations.py", "tests/spec/test_2_5_4_4_6_composite.py", "tests/dap"),
    ("dwarfgpu/isa/semantics/scalar_rows.py", "tests/isa/test_semantics.py", "tests/objfile"),
    ("dwarfgpu/render/layout.py", "tests/render", "tests/isa"),
    ("tests/builders/lists.py", "tests/objfile/lists/test_lists.py", "tests/fleet"),
    ("docs/running.md", "tests/docs/test_examples.py", "tests/spec"),
    ("README.md", "tests/test_architecture.py", "tests/spec"))  # fmt: skip
def test_a_change_touches_some_tests(changed, touched, untouched):
    found = dev.touched_tests({changed})
    assert any(name.startswith(touched) for name in found)
    assert not any(name.startswith(untouched) for name in found)


def test_the_nearest_tests_are_the_first():
    """The rules of the code, tests that import the module, those of its package, those that import what imports it."""
    found = dev.touched_tests({"dwarfgpu/program/code/repairs.py", "tests/program/code/test_gone.py"})
    names = "test_architecture", "program/code/test_repairs", "program/frames/test_stack"
    places = [found.index(f"tests/{name}.py") for name in names]
    assert places == sorted(places)
    assert len(found) == len(set(found))
    assert "tests/program/code/test_gone.py" not in found


def test_byte_code_is_kept_in_the_environment(monkeypatch, tmp_path):
    """A process that compiles all it imports takes five times as long to start."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    environment = dev.Environment()
    environment.python = Path(sys.executable)
    (tmp_path / "module.py").write_text("")
    assert dev.run(environment, ["-c", "import module"]) == 0
    assert [path.name.partition(".")[0] for path in environment.folder.rglob("module.*")] == ["module"]
    assert not (tmp_path / "__pycache__").exists()
