"""The operation table: its rows do not depend on what was imported before it."""

import subprocess
import sys

import pytest

LIST = "from dwarfgpu.expr import table; print([(t, [r.name for r in rows]) for t, rows in table.sections()])"


@pytest.mark.parametrize("module", ["dwarfgpu.expr.ops.location_operations", "dwarfgpu.program.values.storage"])
def test_rows_are_in_the_order_of_the_text_whatever_was_imported_before(module):
    """A module of operations that another one imports keeps its section."""

    def listed(code):
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    alone = listed(LIST)
    assert "DW_OP_deref_size" in alone
    assert listed(f"import {module}; {LIST}") == alone
