"""Instructions: what disassemblers write about the code alone, against what they write about the whole file."""

import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.program.code import instructions
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.instructions import Disassembler, ListedInstruction, ProgramCode, code_image, machine_of
from dwarfgpu.states.program import open_program
from tests.builders.parameters import for_each

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures"
OBJDUMP = ("llvm-objdump-22", "llvm-objdump")
LINE = re.compile(r"\t(.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)(?: <.*)?$", re.MULTILINE)


def text_of(path: str) -> tuple[bytes, int]:
    section = opened(path).image.section(".text")
    assert section is not None
    return bytes(section.view), section.address


def listed(path: str) -> tuple[ListedInstruction, ...]:
    file = opened(path)
    code, address = text_of(path)
    found = Disassembler().listing(machine_of(file.image, file.target.target), code, address)
    assert found.problem is None, found.problem
    return found.instructions


AMDGPU = sorted(
    str(path.relative_to(FIXTURES))
    for folder in ("asm", "amdgpu", "llvm24")
    for path in (FIXTURES / folder).glob("*.co")
    if not re.search(r"gfx7|code-object-v2|clrx", path.name)
)


@pytest.mark.slow
@pytest.mark.parametrize("name", AMDGPU)
def test_every_code_object_is_what_llvm_objdump_says(name, require_tool):
    """LLVM decodes the whole file as waves of the size that is usual, so those of other sizes are told the size."""
    path = str(FIXTURES / name)
    file = opened(path)
    size = machine_of(file.image, file.target.target).wave_size
    command = [
        require_tool(*OBJDUMP),
        "-d",
        "-z",
        *([f"--mattr=+wavefrontsize{size},-wavefrontsize{96 - size}"] if size else []),
    ]
    done = subprocess.run([*command, path], check=True, capture_output=True, text=True)
    start, end = text_of(path)[1], text_of(path)[1] + len(text_of(path)[0])
    expected = {int(row[1], 16): (row[0], row[2].split()) for row in LINE.findall(done.stdout)}
    ours = {
        each.address: (each.text, [each.data[i : i + 4][::-1].hex().upper() for i in range(0, each.size, 4)])
        for each in listed(path)
    }
    wrong = {
        address: (ours.get(address), row)
        for address, row in expected.items()
        if start <= address < end and ours.get(address) != row
    }
    # where a symbol stands inside what is decoded as one instruction, the whole file is decoded anew from it
    assert len(wrong) <= 2 * len({symbol.value for symbol in file.image.symbols()})
    assert len(wrong) <= len(expected) // 50


@for_each(
    "name, count",
    ("asm/lane-pc.gfx90a.w64.co", 65),
    ("asm/lane-pc.gfx1100.w32.co", 65),
    ("asm/clrx.gfx801.co", 74),
    ("amdgpu/target.gfx1250.co", 120),
    ("containers/fatbin-two.x86_64@2", None),
    ("containers/hip-program-compressed.x86_64", None),
)
def test_instructions_are_all_of_the_code(name, count, require_tool):
    require_tool(*OBJDUMP)
    found = listed(str(FIXTURES / name))
    code, address = text_of(str(FIXTURES / name))
    assert b"".join(each.data for each in found) == code
    assert found[0].address == address
    assert count is None or len(found) == count


def test_the_wave_size_is_told(require_tool):
    require_tool(*OBJDUMP)
    texts = {
        size: " ".join(each.text for each in listed(str(FIXTURES / f"llvm24/hip-kernels.gfx1030.w{size}.O2.co")))
        for size in (32, 64)
    }
    assert "s_and_saveexec_b32" in texts[32]
    assert "vcc_lo" in texts[32]
    assert "s_and_saveexec_b64" in texts[64]
    assert "vcc_lo" not in texts[64]


def test_big_endian_code(require_tool):
    require_tool(*OBJDUMP)
    file = opened(str(FIXTURES / "asm/lines.powerpc64"))
    machine = machine_of(file.image, file.target.target)
    code = bytes.fromhex("7c0802a6 38600001 4e800020")
    found = Disassembler().listing(machine, code, 0x1000)
    assert [each.text for each in found.instructions] == ["mflr 0", "li 3, 1", "blr"]
    assert [each.size for each in found.instructions] == [4, 4, 4]


@pytest.mark.slow
@pytest.mark.parametrize("name", AMDGPU)
def test_the_assembler_of_llvm_reads_code_as_llvm_objdump_does(name, require_tool):
    file = opened(str(FIXTURES / name))
    machine = machine_of(file.image, file.target.target)
    code, address = text_of(str(FIXTURES / name))
    theirs, ours = (
        Disassembler(require_tool(*tools)).listing(machine, code, address)
        for tools in (OBJDUMP, ("llvm-mc-22", "llvm-mc"))
    )
    assert ours.problem is theirs.problem is None
    assert [(each.address, each.text.lower()) for each in ours.instructions] == [
        (each.address, each.text.lower()) for each in theirs.instructions
    ]


def test_code_of_gpus_needs_no_tool(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(instructions, "PLACE", "/nowhere")
    file = opened(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    code = bytes.fromhex("000081bf ff0082be34120000 ffffffff 0100 88bf ff")
    found = Disassembler().listing(machine_of(file.image, file.target.target), code, 0x100)
    assert found.problem is None
    assert [(each.address, each.size, each.text, each.target) for each in found.instructions] == [
        (0x100, 4, "s_endpgm", None),
        (0x104, 8, "s_mov_b32 s2, 0x1234", None),
        (0x10C, 4, ".long 0xffffffff", None),
        (0x110, 4, "s_cbranch_execz 1", 0x118),
        (0x114, 1, ".byte 0xff", None),
    ]


def test_without_objdump_the_assembler_is_used(require_tool, tmp_path, monkeypatch):
    monkeypatch.setattr(instructions, "_decoded", not_known)
    (tmp_path / "llvm-mc-22").symlink_to(require_tool("llvm-mc-22", "llvm-mc"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(instructions, "PLACE", str(tmp_path / "nowhere"))
    file = opened(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    code = bytes.fromhex("000081bf ff0082be34120000 ffffffff 000080bf ffffffff")
    found = Disassembler().listing(machine_of(file.image, file.target.target), code, 0x100)
    assert found.problem is None
    assert [(each.address, each.size, each.text) for each in found.instructions] == [
        (0x100, 4, "s_endpgm"),
        (0x104, 8, "s_mov_b32 s2, 0x1234"),
        (0x10C, 4, ".long 0xffffffff"),
        (0x110, 4, "s_nop 0"),
        (0x114, 4, ".long 0xffffffff"),
    ]


@for_each("name", "asm/forms.i386", "asm/lists.powerpc", "asm/lines.powerpc64", "asm/lane-pc.gfx90a.w64.co")
def test_the_file_that_disassemblers_get(name):
    """An ELF file of any class and byte order, with the code at its address."""
    image = opened(str(FIXTURES / name)).image
    made = opened(code_image(b"\1\2\3\4", 0x1234, image)).image
    section = made.section(".text")
    assert section is not None
    assert (bytes(section.view), section.address) == (b"\1\2\3\4", 0x1234)
    assert (made.machine, made.flags, made.byte_order, made.address_size) == (
        image.machine, image.flags, image.byte_order, image.address_size,
    )  # fmt: skip


def not_known(machine, code, address):
    raise Unsupported("unknown_processor", f"the instructions of {machine.processor} are not known")


def test_a_processor_that_no_disassembler_knows(tmp_path, monkeypatch):
    monkeypatch.setattr(instructions, "_decoded", not_known)
    script = tmp_path / "llvm-objdump"
    script.write_text("#!/bin/sh\necho \"'gfx90a' is not a recognized processor for this target\" >&2\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(instructions, "PLACE", str(tmp_path / "nowhere"))
    file = opened(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    found = Disassembler().listing(machine_of(file.image, file.target.target), b"\1\2\3\4\5\6", 0x100)
    assert [each.text for each in found.instructions] == [f".byte {n:#04x}" for n in range(1, 7)]
    assert found.problem is not None
    assert found.problem.message == "llvm-objdump cannot disassemble gfx90a: the code is shown as bytes"
    assert "a newer one may" in str(found.problem.hint)


@for_each(
    "script, message",
    ("sleep 60", "llvm-objdump took longer than 1 seconds"),
    ("kill -SEGV $$", "llvm-objdump: exit status -11"),
    ("echo what is this", "llvm-objdump writes nothing that can be understood"),
    ("printf '\\\\377\\\\000'", "llvm-objdump writes nothing that can be understood"),
)
def test_a_disassembler_that_fails(tmp_path, monkeypatch, script, message):
    path = tmp_path / "llvm-objdump"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(instructions, "SECONDS", 1)
    file = opened(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    machine = machine_of(file.image, file.target.target)
    found = Disassembler(str(path)).listing(machine, b"\1\2\3\4", 0x100)
    assert found.problem is not None
    assert found.problem.message == message
    assert [each.text for each in found.instructions] == [".long 0x04030201"]


def test_a_request_is_remembered(require_tool, monkeypatch):
    require_tool(*OBJDUMP)
    code = ProgramCode(open_program(FIXTURES / "asm/lane-pc.gfx90a.w64.co").state, Disassembler())
    first = code.some(0x1500, 3)
    monkeypatch.setenv("PATH", "/nowhere")
    assert code.some(0x1500, 3) == first
    assert code.some(0x1618, 5).instructions[-1].text == "s_setpc_b64 s[30:31]"


def test_addresses_without_code():
    code = ProgramCode(open_program(FIXTURES / "asm/lane-pc.gfx90a.w64.co").state, Disassembler())
    for address in (0, 1 << 63, (1 << 64) - 1):
        with pytest.raises(DwarfGpuError, match="Cannot access memory at address"):
            code.some(address, 1)
    assert code.some(0x1500, 0).instructions == ()
    assert code.between(0x1500, 0x1500).instructions == ()
