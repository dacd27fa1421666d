"""A host program whose variables GDB cannot read: their locations use DW_OP_LLVM_user. dwarfgpu reads them there."""

import json
import re

import pytest

import dwarfgpu as dg
from tests.gdb.running import ROOT, run_gdb

SCRIPT = """
import gdb, json
import dwarfgpu.gdb as dg
from dwarfgpu.program.frames.answers import listed
gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
found = {}
for wave in dg.waves():
    for frame in wave.frames():
        for variable in frame.variables():
            try:
                gdb.execute(f"frame function {frame.name}", to_string=True)
                theirs = gdb.parse_and_eval(variable.name).format_string()
            except gdb.error as error:
                theirs = str(error)
            try:
                ours = listed(variable.object())
            except dg.DwarfGpuError as error:
                ours = getattr(variable.why(), "kind", None)
            is_somewhere = ours not in ("missing_context", "undefined_operation")
            found[variable.name] = [ours, theirs, str(dg.locate(variable.name)[0]) if is_somewhere else ""]
gdb.execute("frame function inner", to_string=True)
half = dg.selected()["half_gone"].object()
found["half"] = half.member("low").number()
found["global"] = dg.selected()["global_word"].value()
dg.selected()["pushed"].write(78)
dg.selected()["high_half"].write(1)
found["written"] = [dg.selected()["pushed"].value(), hex(int(gdb.parse_and_eval("$r12"))),
                    int(gdb.parse_and_eval("*(int *)$rsp"))]
print("@@" + json.dumps(found))
"""
UNREADABLE = ("Unhandled dwarf expression opcode 0xe9", "`dw_op_regx' operations must be used either alone")
"""What GDB says instead of a value, in small letters."""
LEFT_OUT = {"element": "missing_context", "gone": "undefined_operation", "half_gone": None}
"""Variables of a lane, without a value, and with half of one."""


def described() -> dict[str, object]:
    """What the descriptions in the file say is in each variable."""
    found: dict[str, object] = {}
    for unit in dg.open(str(ROOT / "fixtures" / "asm" / "host.x86_64")).file.dwarf.compile_units():
        for die in unit.dies():
            text = die.find("DW_AT_description")
            if text is not None:
                found[die.name] = value_of(text.text())
    return found


def value_of(text: str) -> object:
    numbers = [int(each, 0) for each in re.findall(r"-?\b(?:0x[0-9a-f]+|0[0-7]+|[0-9]+)\b", text.partition(":")[0])]
    if text.startswith("{low"):
        return dict(zip(("low", "high"), numbers, strict=False))
    return numbers if text.startswith("{") else numbers[0] if numbers else None


@pytest.mark.slow
def test_what_gdb_cannot_read_is_read(tmp_path, require_tool, runnable_host):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    text = run_gdb(require_tool, program=runnable_host, script=script)
    assert "@@" in text, text
    found = json.loads(text.partition("@@")[2].splitlines()[0])
    expected = described()
    compared, beyond = 0, 0
    for name, (ours, theirs, place) in list(found.items())[:-3]:
        if name in LEFT_OUT:
            assert LEFT_OUT[name] in (None, ours)
            continue
        assert ours == expected[name], name
        assert place
        compared += 1
        is_unreadable = any(each.lower() in theirs.lower() for each in UNREADABLE)
        assert is_unreadable != (name.startswith("std_") or name == "in_rbx"), name
        beyond += is_unreadable
    assert compared >= 16
    assert beyond >= 11
    assert (found["half"], found["global"]) == (5, 0xAABBCCDDEEFF0011)
    assert found["written"] == [78, "0x105060708", 78]
