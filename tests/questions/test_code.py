"""``disassemble`` and the instructions of ``x/i``: the layout of GDB, marks, source, and what stands in for a tool."""

import json
import re

from dwarfgpu.errors import Unsupported
from tests.builders.folders import FIXTURES, ROOT
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
OBJDUMP = ("llvm-objdump", "llvm-objdump-22")


def test_without_a_disassembler_there_are_bytes(monkeypatch):
    """A processor whose instructions are not known here."""

    def not_known(machine, *_where):
        raise Unsupported("unknown_processor", f"the instructions of {machine.processor} are not known")

    monkeypatch.setattr("dwarfgpu.program.code.instructions._decoded", not_known)
    monkeypatch.setenv("PATH", "/nowhere")
    run = Run(LANES, STATE, width=60)
    text = run("disassemble 0x7f0000001548,+8")
    assert "=> 0x00007f0000001548 <X+72>:\t.long 0x89fe7e24\n" in text
    assert text.partition("dump.\n")[2] == (
        "there is no disassembler for gfx90a here: the code is shown\n"
        "as bytes (install llvm-objdump of LLVM or ROCm, or name one\n"
        "with `set disassembler PATH`)\n"
    )
    assert "no disassembler" in run("x/i 0x7f0000001548")
    assert "no disassembler" not in run("x/i 0x7f000000154c")  # it is said once
    assert "no disassembler" in json.loads(run("x/i --json 0x7f000000154c"))["problems"][0]["message"]


def test_calls_of_a_host_program_name_where_they_go(require_tool):
    require_tool("objdump")
    text = Run("fixtures/host/values.gcc.O0.v5.x86_64")("disassemble program")
    assert re.search(r"\tcall +0x[0-9a-f]+ <(inspect|add)>\n", text)


def test_the_disassembler_that_is_named(run, tmp_path, require_tool):
    run(f"set disassembler {require_tool(*OBJDUMP)}")
    assert "s_andn2_b64" in run("disassemble $pc,+4")
    text = run("set disassembler /no/such", "disassemble $pc,+4")
    assert ".long 0x89fe7e24" in text
    assert "there is no program /no/such" in text
    broken = tmp_path / "llvm-objdump"
    broken.write_text("#!/bin/sh\necho oh >&2\nexit 3\n")
    broken.chmod(0o755)
    text = run(f"set disassembler {broken}", "disassemble $pc,+4")
    assert "llvm-objdump: exit status 3, oh" in text
    assert "s_andn2_b64" in run("set disassembler", "disassemble $pc,+4")


def test_a_function_with_a_header_is_not_disassembled_from_it(tmp_path):
    """Other tools write a kernel of V1 and V2 as an ordinary function."""
    data = bytearray((FIXTURES / "asm/clrx.gfx801.co").read_bytes())
    image = Run(FIXTURES / "asm/clrx.gfx801.co").debugger.opened.file.image
    for name in (".symtab", ".dynsym"):
        section = image.section(name)
        for at in range(section.offset, section.offset + section.size, 24):
            if data[at + 4] & 15 == 10:
                data[at + 4] = data[at + 4] & 0xF0 | 2
    path = tmp_path / "function.co"
    path.write_bytes(data)
    assert "   0x0000000000001400 <+0>:\ts_load_dword s2, s[4:5], 0x4" in Run(path)("disassemble test1").splitlines()
