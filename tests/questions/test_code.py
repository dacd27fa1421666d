"""``disassemble`` and the instructions of ``x/i``: the layout of GDB, marks, source, and what stands in for a tool."""

import json
import re

import pytest

from dwarfgpu.cli import main
from dwarfgpu.errors import Unsupported
from tests.builders.folders import FIXTURES, ROOT
from tests.builders.parameters import for_each
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
OBJDUMP = ("llvm-objdump", "llvm-objdump-22")


@pytest.fixture
def run(require_tool) -> Run:
    require_tool(*OBJDUMP)
    found = Run(LANES, STATE)
    found(f"directory {FIXTURES}")
    return found


def test_functions_and_ranges_by_name_and_by_address(run):
    first, *rows, last = run("disassemble").splitlines()
    assert first == "Dump of assembler code for function X:"
    assert last == "End of assembler dump."
    assert rows[0] == "   0x00007f0000001500 <+0>:\ts_load_dwordx2 s[4:5], s[0:1], 0x0"
    assert [row for row in rows if row.startswith("=>")] == [
        "=> 0x00007f0000001548 <+72>:\ts_andn2_b64 exec, s[36:37], exec"
    ]
    assert [row.split()[1] for row in rows if row.startswith(" * ")] == ["0x00007f0000001524", "0x00007f000000153c"]
    assert run("disassemble X") == run("disassemble") == run("disassemble 0x7f0000001550")
    assert "function whole_wave:" in run("disassemble whole_wave")
    assert "<+0>:\t00 01 06 c0 00 00 00 00\ts_load_dwordx2" in run("disassemble /r")
    assert "<+24>:\t7e 01 a2 be            \ts_mov_b64 s[34:35], exec" in run("disassemble/r")
    text = run("disassemble 0x7f0000001548,0x7f0000001550")
    assert text == run("disassemble 0x7f0000001548,+8") == run("disassemble $pc,$pc+8")
    assert text == (
        "Dump of assembler code from 0x7f0000001548 to 0x7f0000001550:\n"
        "=> 0x00007f0000001548 <X+72>:\ts_andn2_b64 exec, s[36:37], exec\n"
        "   0x00007f000000154c <X+76>:\tv_add_u32_e32 v2, -1, v3\n"
        "End of assembler dump.\n"
    )
    # an instruction that begins before the end of the range is shown whole
    assert "v_mul_lo_u32 v1, v2, v2" in run("disassemble 0x7f0000001550,+1")


def test_source(run):
    lines = run("disassemble /s").splitlines()
    assert lines[1:4] == [
        "src/asm/lane-pc.c:",
        "5\tvoid X(int *out, int limit) {",
        "   0x00007f0000001500 <+0>:\ts_load_dwordx2 s[4:5], s[0:1], 0x0",
    ]
    at = lines.index("9\t  int result = 0;")
    assert lines[at - 4 : at] == [
        "",
        "6\t  int lane = WORK_ITEM_ID;  // a: every lane that was there on entry",
        "7\t  int slots[4];",
        "8\t  int unused = limit + 1;",
    ]


def test_without_sources_and_without_a_frame(require_tool, monkeypatch, tmp_path):
    require_tool(*OBJDUMP)
    monkeypatch.chdir(tmp_path)
    assert "\n5\tin src/asm/lane-pc.c\n" in Run(LANES, STATE)("disassemble /s")
    run = Run(LANES)
    assert run.fails("disassemble").message == "No frame selected."
    assert "   0x0000000000001500 <+0>:\ts_load_dwordx2" in run("disassemble X")


@for_each("line, message",
    ("disassemble /q", "`disassemble` has no modifier 'q': /r shows bytes, /s and /m source lines"),
    ("disassemble 0x10", "No function contains specified address."),
    ("disassemble 0x10,+4", "Cannot access memory at address 0x10"),
    ("disassemble 0x10,0x8", "there is no code from 0x10 to 0x8"),
    ("disassemble 0,0x1000000", None),
    ("disassemble nosuch", None))  # fmt: skip
def test_what_cannot_be_disassembled(run, line, message):
    error = run.fails(line)
    assert message is None or error.message == message
    assert "\n" not in str(error)


def test_calls_and_branches_name_where_they_go(require_tool):
    require_tool(*OBJDUMP)
    text = Run(FIXTURES / "llvm24/hip-calls.gfx1100.w32.O2.co")("info functions -n", "disassemble recurse")
    assert re.findall(r"\ts_c?branch\w* (\d+)  # (0x[0-9a-f]+) <(\w+)\+\d+>", text)
    wave64 = Run(FIXTURES / "llvm24/hip-calls.gfx1100.w64.O2.co")("disassemble recurse")
    assert "exec_lo" in text
    assert "s[" in wave64
    assert "exec_lo" not in wave64.partition("End of")[0].replace("exec_lo, exec_lo", "")
    require_tool("objdump")
    text = Run(FIXTURES / "host/values.gcc.O0.v5.x86_64")("disassemble program")
    assert re.search(r"\tcall +0x[0-9a-f]+ <(inspect|add)>\n", text)


def test_instructions_for_x(run):
    found = json.loads(run("x/3i --json 0x7f0000001548"))["instructions"]
    assert [row["address"] for row in found] == [0x7F0000001548, 0x7F000000154C, 0x7F0000001550]
    assert (found[2]["bytes"], found[2]["text"]) == ("010085d202050200", "v_mul_lo_u32 v1, v2, v2")
    assert found[0]["is_frame"]
    assert found[0]["source"] == {"file": "src/asm/lane-pc.c", "line": 15}
    assert not run("x/0i 0x7f0000001548")
    assert run("x/9i 0x7f0000001618").count("\n") == 1  # the last one of the section


def test_without_a_disassembler_there_are_bytes(monkeypatch):
    """A processor whose instructions are not known here."""

    def not_known(machine, code, address):
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


@pytest.mark.parametrize("file, kernel", [("clrx.gfx801", "test1"), ("code-object-v2.gfx803", "vector_add")])
def test_code_with_a_header_has_its_name_and_begins_behind_it(file, kernel, require_tool):
    """In code objects up to V2 the symbol of a kernel names its amd_kernel_code_t; the code is behind it."""
    require_tool("llvm-objdump-22", "llvm-mc-22")
    run = Run(f"fixtures/asm/{file}.co")
    entry = run.debugger.opened.file.kernels_named([kernel])[0].entry
    lines = run(f"disassemble {kernel}").splitlines()
    assert lines[1].split()[:3] == [f"{entry:#018x}", "<+0>:", "s_load_dword"]
    run = Run(f"fixtures/asm/{file}.co")
    entry = run.debugger.opened.file.kernels_named([kernel])[0].entry
    assert run(f"print &{kernel}").startswith(f"$1 = (<text variable, no debug info> *) {entry:#x} <{kernel}")
    assert run(f"print {kernel}").startswith(f"$2 = {{<text variable, no debug info>}} {entry:#x} <{kernel}")
    assert "s_load_dword s2, s[4:5], 0x4\n" in run(f"x/1i {kernel}")
    assert run(f"x/1i {kernel}+8") == run(f"x/1i {entry + 8:#x}")
    assert run("print &_DYNAMIC").startswith("$3 = (<data variable, no debug info> *) 0x")
    assert run("print *(long *)&_DYNAMIC") == "$4 = 6\n"  # DT_HASH
    error = run.fails("print _DYNAMIC")
    assert (error.kind, error.hint) == ("no_type", "cast it: *(int *) &_DYNAMIC")
    assert run.fails("print nothere").kind == "no_name"


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


def test_code_behind_its_description_has_one_name_everywhere(require_tool, capsys):
    require_tool(*OBJDUMP)
    file = FIXTURES / "asm/clrx.gfx801.co"
    run = Run(file)
    assert "<+8>:\ts_load_dwordx2" in run("disassemble test1")
    assert run("x/2i test1").splitlines()[1].startswith("   0x1408 <test1+8>:")
    assert run("info symbol 0x1400") == "test1 in section .text\n"
    assert run("info symbol 0x1408") == "test1 + 8 in section .text\n"
    assert run("info symbol 0x1304") == "test1 + 4 in section .text\n"  # in the description
    assert main(["info", str(file), "--pc", "0x1408"]) == 0
    assert capsys.readouterr().out == "0x1408  <test1+0x8> in .text\n"
