import re
import subprocess

import pytest

from tests.builders.commands import run


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_files_of_entries_are_joined_to_the_compilation_directory(version, tmp_path, require_tool):
    """Before version 5 the line table does not repeat the directory, which the unit names."""
    (tmp_path / "x.c").write_text("int f(int a) { return a + 1; }\n")
    words = [require_tool("gcc"), "-c", f"-gdwarf-{version}", "-gstrict-dwarf", "x.c", "-o", "x.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    text = run("dump", str(tmp_path / "x.o"), "--name", "f").stdout
    assert set(re.findall(r"DW_AT_decl_file\s+\d+\s+\(([^)]*)\)", text)) == {f"{tmp_path}/x.c"}
