"""What `llvm-dwarfdump --verify` says about damaged line tables, indexes and tables of units is found, too."""

import random
import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.audits.verify.indexes import IndexChecks
from dwarfgpu.audits.verify.line_tables import LineChecks
from dwarfgpu.audits.verify.unit_tables import UnitTableChecks
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject
from tests.builders.parameters import for_each

FEATURES = Path(__file__).parents[3] / "fixtures" / "features"
STOPS = "index-names-unreadable index-names-abbreviation index-names-form index-names-entry index-names-version"
"""What ends the reading of an index, or of entries in it, so that nothing is said of what follows."""
LOST = "index-names-die index-names-string index-names-unit table-strings-offset"
"""What lets an index entry lead elsewhere, or its name be another."""
CUT = "line-header-length line-truncated line-format line-form line-version line-opcode-base line-unreadable"
"""What leaves the rows or the files of a line table unknown."""
REASONS: tuple[tuple[str, str], ...] = (
    (r"Bucket .* (contains invalid value|mismatched hash)", "index-names-bucket index-names-hash"),
    (r"not covered by the hash table", "index-names-bucket index-names-hash"),
    (r"String .* hashes to", f"index-names-hash index-names-string {STOPS}"),
    (r"not associated with any entries", f"index-names-entry {STOPS}"),
    (r"references a (non-existing )?DIE", f"index-names-die {STOPS}"),
    (r"mismatched Name of DIE", f"index-names-name index-names-string table-strings-offset {STOPS}"),
    (r"mismatched Tag of DIE", f"index-names-tag {STOPS}"),
    (r"mismatched CU of DIE", f"index-names-unit {STOPS}"),
    (r"Entry for DIE .* missing", f"index-names-missing index-names-name {LOST} {STOPS}"),
    (r"(?i)name index.*(references a non-existing CU|already)", "index-names-unit index-names-unreadable"),
    (r"not covered by any Name Index", "index-names-missing-unit index-names-unit index-names-unreadable"),
    (r"terminated abbreviation table|[Aa]bbreviation 0x\w+", STOPS),
    (r"has invalid file index", f"line-file {CUT}"),
    (r"decreases in address", f"line-decreasing {CUT}"),
    (r"contains an invalid dir index", f"line-directory {CUT}"),
    (r"line table program with offset .* has length", "line-truncated"),
    (r"unsupported version", "line-version"),
    (r"unknown data in line table prologue", "line-header-length line-opcode-base"),
    (r"last sequence .* is not terminated", f"line-no-end line-number {CUT}"),
    (r"unexpected line op length", f"line-opcode-size {CUT}"),
    (r"mismatching address size", "line-opcode-size line-address-size"),
    (r"line_range value is 0", "line-range"),
    (r"minimum_instruction_length value is 0", "line-instruction-length"),
    (r"DW_AT_stmt_list offset is beyond", "line-offset"),
    (r"string offset .* beyond the bounds", "table-strings-offset"),
    (r"\.debug_str_offsets: .*(version|length|header|contribution size)", "table-strings-length table-strings-version"),
)
"""What LLVM says, as a pattern, and the rules of which one finds the same."""
NOT_WRONG = (
    "is neither zero nor immediately following a null",  # linkers merge a string with the end of another
    "maximum_operations_per_instruction value is",  # instructions of several operations, which LLVM does not read
)
"""What LLVM says of what the standard allows."""
DAMAGES = 40
SUBJECTS = re.compile(r"Name Index|\.debug_(names|line|aranges|str_offsets)\b|line table|stmt_list|file index")


def said(tool: str, path: Path) -> set[str]:
    run = subprocess.run([tool, "--verify", str(path)], capture_output=True, check=False, timeout=100)
    lines = (run.stdout + run.stderr).decode("utf-8", "replace").splitlines()
    wanted = (line for line in lines if line.startswith(("error:", "warning:")) and "occurred" not in line)
    return {line for line in wanted if SUBJECTS.search(line) and not any(text in line for text in NOT_WRONG)}


def found(data: bytes) -> set[str]:
    file = CodeObject(open_image(data, name="damaged"))
    checks = (LineChecks(file), IndexChecks(file), UnitTableChecks(file))
    return {problem.rule.name for check in checks for problem in check.problems()}


@pytest.mark.slow
@for_each("name, section, limit",
    ("debug-names.v5.co", ".debug_names", 400),              ("debug-names.v5.co", ".debug_names", None),
    ("debug-names.v5.co", ".debug_line", 100),               ("debug-names.v5.co", ".debug_line", None),
    ("debug-names.v5.co", ".debug_str_offsets", None),       ("plain.v3.co", ".debug_line", 160),
    ("pubnames.v4.co", ".debug_line", 160),                  ("aranges.v5.co", ".debug_aranges", None))  # fmt: skip
def test_what_llvm_rejects_is_found(name, section, limit, tmp_path, require_tool) -> None:
    tool = require_tool("llvm-dwarfdump-22", "llvm-dwarfdump")
    data = (FEATURES / name).read_bytes()
    place = open_image(data, name=name).section(section)
    assert place is not None
    assert place.compression is None
    path = tmp_path / name
    path.write_bytes(data)
    before = said(tool, path)
    chance = random.Random(f"{name} {section} {limit}")
    size = min(place.size, limit or place.size)
    lost = []
    for _ in range(DAMAGES):
        damaged = bytearray(data)
        at = place.offset + chance.randrange(size)
        damaged[at] = chance.choice((0, 0xFF, damaged[at] ^ 1, damaged[at] ^ 0x80, chance.randrange(256)))
        path.write_bytes(damaged)
        rules = found(bytes(damaged))
        for line in said(tool, path) - before:
            expected = next((names.split() for pattern, names in REASONS if re.search(pattern, line)), None)
            if not (rules if expected is None else rules.intersection(expected)):
                lost.append((hex(at - place.offset), damaged[at], line[:160], sorted(rules)))
    assert lost == [], "\n".join(map(str, lost[:9]))
