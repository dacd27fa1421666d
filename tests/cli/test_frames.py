import json
import subprocess
from typing import Any

from tests.builders import commands
from tests.builders.elf import ElfBuilder
from tests.builders.frames import FrameBuilder

CFI = "fixtures/asm/cfi.gfx90a.w64.co"
HOST = "fixtures/host/frames.gcc.O2.v5.x86_64"


def run(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    return commands.run("cfi", *words, stdin=stdin)


def document(*words: str) -> Any:
    return commands.document("cfi", *words)


def file_with(frames: bytes) -> bytes:
    builder = ElfBuilder(machine=62, osabi=0, abi_version=0)
    builder.section(".text", bytes(0x100), flags=0x6, address=0x1000, align=16)
    builder.section(".debug_frame", frames)
    return builder.build()


def test_a_broken_entry_hides_no_other():
    builder = FrameBuilder()
    cie = builder.cie("def_cfa 7 8")
    builder.fde(cie, 0x1000, 0x10)
    builder.fde(builder.cie(version=9), 0x1010, 0x10)
    builder.fde(cie, 0x1020, 0x10, "advance_loc 4; restore_state")
    builder.data += b"\x20"
    done = run("-", stdin=file_with(builder.data))
    assert done.returncode == 3
    assert "FDE 0x1000 to 0x1010" in done.stdout
    assert "FDE 0x1020 to 0x1030" in done.stdout
    for text in ("version 9", "its CIE cannot be read", "no state is remembered", "truncated at .debug_frame"):
        assert text in done.stderr
    found = json.loads(run("-", "--json", stdin=file_with(builder.data)).stdout)
    assert [entry["kind"] for entry in found["entries"]] == ["cie", "fde", "fde"]
    assert {each["kind"] for each in found["problems"]} >= {"bad_cie", "restore_without_remember", "truncated"}
    assert run("-", "--pc", "0x1000", stdin=file_with(builder.data)).stdout.splitlines()[-1].endswith("rsp+8")
    assert "no state is remembered" in run("-", "--pc", "0x1028", stdin=file_with(builder.data)).stderr


def test_colour_changes_no_text_and_json_lines_say_what_json_says():
    whole = document(CFI)
    lines = [json.loads(line) for line in run(CFI, "--jsonl").stdout.splitlines()]
    assert (whole["target"], whole["dialect"], whole["problems"]) == ("amdgcn-gfx90a", "llvm-user", [])
    assert [{"schema": 1, "file": CFI, **entry} for entry in whole["entries"]] == lines
    found = document(CFI, "--pc", "spaces+5", "--function", "old")
    assert [each["address"] for each in found["addresses"]] == [0x1405]
    assert found["addresses"][0]["row"]["cfa"]["space_name"] == "private_wave"
    assert [each["symbol"] for each in found["entries"]] == ["old"]
    (line,) = run(CFI, "--pc", "spaces+5", "--jsonl").stdout.splitlines()
    assert json.loads(line)["row"] == found["addresses"][0]["row"]
    plain, coloured = run(CFI), run(CFI, "--color", "always")
    text = coloured.stdout
    for code in ("0", "2", "32", "33", "36", "1;36", "1;31"):
        text = text.replace(f"\x1b[{code}m", "")
    assert coloured.stdout != plain.stdout == text
