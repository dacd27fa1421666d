"""`tools/dev.py test --changed`: the tests that a change can touch."""

from __future__ import annotations

import pytest

from tools import dev


@pytest.mark.parametrize(
    "changed, touched, untouched",
    [
        ("dwarfgpu/expr/ops/location_operations.py", "tests/spec/test_2_5_4_4_6_composite.py", "tests/serve"),
        ("dwarfgpu/isa/semantics/scalar_rows.py", "tests/isa/test_semantics.py", "tests/objfile"),
        ("dwarfgpu/render/layout.py", "tests/render", "tests/isa"),
        ("tests/builders/lists.py", "tests/objfile/lists/test_lists.py", "tests/fleet"),
        ("docs/running.md", "tests/docs/test_examples.py", "tests/spec"),
        ("README.md", "tests/test_architecture.py", "tests/spec"),
    ],
)
def test_a_change_touches_some_tests(changed, touched, untouched):
    found = dev.touched_tests({changed})
    assert any(name.startswith(touched) for name in found)
    assert not any(name.startswith(untouched) for name in found)
