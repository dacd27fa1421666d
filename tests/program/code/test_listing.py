"""Instructions: what disassemblers write about the code alone, against what they write about the whole file."""

import os
import re
import subprocess

import pytest

from dwarfgpu.errors import DwarfGpuError, Unsupported, UsageError
from dwarfgpu.isa.formulas import OTHERS_ON_GFX12, formulas, single_name
from dwarfgpu.program.code import instructions, source_files
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.instruction_reference import find, names, reference_of
from dwarfgpu.program.code.instructions import Disassembler, ListedInstruction, ProgramCode, code_image, machine_of
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.states.program import open_program
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each

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
        require_tool(*OBJDUMP),              "-d",                                "-z",
        *([f"--mattr=+wavefrontsize{size},-wavefrontsize{96 - size}"] if size else [])]  # fmt: skip
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


@for_each("name, count",
    ("asm/lane-pc.gfx90a.w64.co", 65),                       ("asm/lane-pc.gfx1100.w32.co", 65),
    ("asm/clrx.gfx801.co", 74),                              ("amdgpu/target.gfx1250.co", 120),
    ("containers/fatbin-two.x86_64@2", None),                ("containers/hip-program-compressed.x86_64", None),
)  # fmt: skip
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
@pytest.mark.parametrize("name", AMDGPU[::8])
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
        (0x100, 4, "s_endpgm", None),                          (0x104, 8, "s_mov_b32 s2, 0x1234", None),
        (0x10C, 4, ".long 0xffffffff", None),                  (0x110, 4, "s_cbranch_execz 1", 0x118),
        (0x114, 1, ".byte 0xff", None)]  # fmt: skip


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
        (0x100, 4, "s_endpgm"),              (0x104, 8, "s_mov_b32 s2, 0x1234"),  (0x10C, 4, ".long 0xffffffff"),
        (0x110, 4, "s_nop 0"),               (0x114, 4, ".long 0xffffffff")]  # fmt: skip


@for_each("name", "asm/forms.i386", "asm/lists.powerpc", "asm/lines.powerpc64", "asm/lane-pc.gfx90a.w64.co")
def test_the_file_that_disassemblers_get(name):
    """An ELF file of any class and byte order, with the code at its address."""
    image = opened(str(FIXTURES / name)).image
    made = opened(code_image(b"\1\2\3\4", 0x1234, image)).image
    section = made.section(".text")
    assert section is not None
    assert (bytes(section.view), section.address) == (b"\1\2\3\4", 0x1234)
    assert (made.machine, made.flags, made.byte_order, made.address_size) == (
        image.machine, image.flags, image.byte_order, image.address_size)  # fmt: skip


def not_known(machine, *_where):
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


@for_each("script, message",
    ("sleep 60", "llvm-objdump took longer than 1 seconds"),
    ("kill -SEGV $$", "llvm-objdump: exit status -11"),
    ("echo what is this", "llvm-objdump writes nothing that can be understood"),
    ("printf '\\\\377\\\\000'", "llvm-objdump writes nothing that can be understood"))  # fmt: skip
@pytest.mark.sampled(4)
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
        assert "Cannot access memory at address" in str(raised(DwarfGpuError, code.some, address, 1))
    assert code.some(0x1500, 0).instructions == ()
    assert code.between(0x1500, 0x1500).instructions == ()


class File:
    """A source file of a program."""

    def __init__(self, path: str, directory: str | None = None, source: str | None = None) -> None:
        self.path, self.directory, self.source = path, directory, source

    def embedded(self) -> str | None:
        return self.source


@pytest.fixture
def reader(tmp_path, monkeypatch) -> SourceTexts:
    monkeypatch.chdir(tmp_path)
    return SourceTexts()


def test_text_of_the_program_counts_first(reader, tmp_path):
    (tmp_path / "a.c").write_text("disk\n")
    assert reader.read(File("a.c", "/x", "program\r\nsecond")).lines == ("program", "second")
    assert reader.read(File("a.c")).lines == ("disk",)


def test_lines_are_counted_from_1(reader):
    found = reader.read(File("x", None, "one\ntwo\n"))
    assert [found.line(number) for number in (-1, 0, 1, 2, 3)] == [None, None, "one", "two", None]


@for_each("directories, place",
    (("$cdir", "$cwd"), "build/src/a.c"), (("$cwd",), "src/a.c"),               (("$cwd",), "a.c"),
    (("other",), "other/src/a.c"),        (("other",), "other/a.c"))  # fmt: skip
def test_directories(reader, tmp_path, directories, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("found\n")
    reader.directories = directories
    gone = "/gone/build"
    reader.moved = {gone: str(tmp_path / "build")} if "$cdir" in directories else {}
    assert reader.read(File(f"{gone}/src/a.c", gone)).lines == ("found",)


def test_the_longest_rule_counts_and_only_whole_components(reader, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/a.c").write_text("found\n")
    reader.moved = {"/old": "/nowhere", "/old/deep": str(tmp_path / "new")}
    assert reader.read(File("/old/deep/a.c")).lines == ("found",)
    reader.forget()
    reader.moved = {"/old/de": str(tmp_path / "new")}
    assert reader.read(File("/old/deep/a.c")).missing == "No such file or directory."


def test_what_is_no_text_file(reader, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    assert reader.read(File("pipe")).missing == "It is not a file."
    assert reader.read(File("/dev/zero")).missing == "It is not a file."
    assert reader.read(File("a\0b")).missing == "No such file or directory."
    (tmp_path / "big").write_text("12345")
    monkeypatch.setattr(source_files, "MAX_SIZE", 4)
    assert reader.read(File("big")).missing == "It has more than 4 bytes."


def test_a_file_is_read_once_until_somebody_says_so(reader, tmp_path):
    (tmp_path / "a.c").write_text("one\n")
    assert reader.read(File("a.c")).lines == ("one",)
    (tmp_path / "a.c").write_text("two\n")
    assert reader.read(File("a.c")).lines == ("one",)
    reader.forget()
    assert reader.read(File("a.c")).lines == ("two",)


# --- The reference of instructions: every operation of the tables, with its encodings, operands and memory access ---


def test_each_formula_is_of_an_instruction():
    """Or of the halves of a packed one, or what one means on GFX12.5."""
    assert formulas().keys() - OTHERS_ON_GFX12.values() <= {*names(), *map(single_name, names())}
    assert OTHERS_ON_GFX12.keys() <= formulas().keys()


ENCODINGS = [  # as llvm-mc writes them, for the first and the last generation that has them
    ("v_bfe_u32", (8, "VOP3", "", 0x1C8), (12, "VOP3", "dpp8", 0x210)),
    ("s_and_b32", (8, "SOP2", "", 0xC), (12, "SOP2", "", 0x16)),
    ("global_load_dword", (9, "GLOBAL", "", 0x14), (10, "GLOBAL", "", 0xC)),
    ("s_wait_loadcnt", (12, "SOPP", "", 0x40), (12, "SOPP", "", 0x40))]  # fmt: skip


@pytest.mark.parametrize("name, first, last", ENCODINGS)
def test_encodings(name, first, last):
    found = [(each.generation, each.format, each.variant, each.opcode) for each in reference_of(name).encodings]
    assert (found[0], found[-1]) == (first, last)


@for_each("name, expected",
    ("v_mad_u64_u32", ["vdst dst 64", "sdst dst 32", "src0 src 32", "src1 src 32", "src2 src 64"]),
    ("ds_add_rtn_u32", ["vdst dst 32", "addr src 32", "data0 src 32"]),
    ("s_endpgm", []))  # fmt: skip
def test_operands(name, expected):
    operands = reference_of(name).plain.operands
    assert [f"{each.name} {each.role.value} {each.bits}" for each in operands if each.bits] == expected


@for_each("name, expected",
    ("global_load_dword", ("load", "global", ("vmcnt",))),
    ("global_store_b32", ("store", "global", ("storecnt",))),            ("ds_add_u32", ("rmw", "local", ("dscnt",))),
    ("s_load_b64", ("load", "scalar", ("kmcnt",))),                      ("v_add_f32", ("", "", ())))  # fmt: skip
def test_memory_access_in_the_latest_generation(name, expected):
    action = reference_of(name).plain.action
    assert (action.operation, action.space, action.counters) == expected


@pytest.mark.parametrize("name", ["v_bfe_u32", "V_BFE_U32", "v_bfe_u32_e64"])
def test_a_name_with_or_without_the_suffix_of_its_encoding(name):
    assert [each.name for each in find(name)] == ["v_bfe_u32"]


def test_part_of_a_name():
    assert [each.name for each in find("bfe_u")] == ["s_bfe_u32", "s_bfe_u64", "v_bfe_u32"]


def test_an_unknown_name_has_a_hint():
    assert "v_bfe_u32" in raised(UsageError, find, "v_bfe_u33").hint


def test_halves_and_instructions_with_required_bits_have_encodings():
    for name in ("v_dual_mov_b32", "v_readlane_b32", "flat_load_b32", "global_inv", "v_swmmac_i32_16x16x64_iu4"):
        assert reference_of(name).encodings, name
    assert reference_of("v_pk_mov_b32").note == "the low half; the high half is that of S1"
    assert reference_of("v_add_u32").note == "on GFX8 as v_add_co_u32"
