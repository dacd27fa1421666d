"""The tables against the compiler whose numbers they are: LLVM 22."""

import re
import struct
import subprocess

import pytest

from dwarfgpu.targets.amdgpu.processors import ALTERNATIVES, processor_named, processors
from dwarfgpu.targets.resolve import EM_AMDGPU, EM_X86_64, resolve, resolve_elf
from tests.builders.parameters import for_each, some_slow

OTHER_VERSIONS = {
    *("gfx940", "gfx941"),  # before LLVM 22
    *("gfx1154", "gfx1170", "gfx1171", "gfx1172", "gfx1310"),  # after it
    *("gfx11-7-generic", "gfx12-5-generic", "gfx13-generic")}  # fmt: skip
OF_LLVM_22 = [processor for processor in processors() if processor.name not in OTHER_VERSIONS]
KERNEL = "define amdgpu_kernel void @k() { ret void }\n"

# A function with one argument in v0 and one in s0.
FUNCTION = """
define void @f(i32 %a, i32 inreg %b) !dbg !4 {
  #dbg_value(i32 %a, !7, !DIExpression(), !9)
  #dbg_value(i32 %b, !8, !DIExpression(), !9)
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null, !3, !3}
!7 = !DILocalVariable(name: "a", arg: 1, scope: !4, file: !1, line: 1, type: !3)
!8 = !DILocalVariable(name: "b", arg: 2, scope: !4, file: !1, line: 1, type: !3)
!9 = !DILocation(line: 1, scope: !4)
"""


def run(tool, *arguments, text=""):
    done = subprocess.run([tool, *arguments], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def uleb128(number):
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


def regx(number):
    """An exprloc or a location list's expression: its length and ``DW_OP_regx``."""
    operation = b"\x90" + uleb128(number)
    return bytes([len(operation)]) + operation


@pytest.fixture(scope="module")
def assemble(require_tool):
    tool = require_tool("llvm-mc-22")
    return lambda text, triple, *options: run(tool, f"-triple={triple}", "-filetype=obj", *options, text=text)


@pytest.fixture(scope="module")
def compile_ir(require_tool):
    tool = require_tool("llc-22")
    return lambda text, *options: run(tool, "-mtriple=amdgcn-amd-amdhsa", *options, "-o", "-", text=text)


def header(elf):
    """``e_machine`` and ``e_flags``."""
    return struct.unpack_from("<H", elf, 18)[0], struct.unpack_from("<I", elf, 48)[0]


def has_numbers(assemble, target, names, *options):
    """Whether the assembler, given a ``DW_CFA_undefined`` (7) for each name, writes the numbers of the target."""
    rules = "".join(f".cfi_undefined {name}\n" for name in names)
    elf = assemble(f"f:\n.cfi_startproc\n{rules}.cfi_endproc\n", *options)
    plain = [re.sub(r"\((\d)\)", r"\1", name).lstrip("%") for name in names]  # %st(1)
    return b"".join(b"\x07" + uleb128(target.register_named(name).number) for name in plain) in elf


def test_the_processors_are_those_of_llvm_22(require_tool):
    llc = require_tool("llc-22")
    done = subprocess.run([llc, "-march=amdgcn", "-mcpu=help"], input=b"", capture_output=True, check=False)
    names = set(re.findall(r"Select the (\S+) processor", (done.stdout + done.stderr).decode()))
    known = {processor.name for processor in OF_LLVM_22} | {alternative for alternative, _name in ALTERNATIVES}
    assert names - {"generic", "generic-hsa"} == known


NAMES = [p.name for p in OF_LLVM_22] + [a for a, _name in ALTERNATIVES]


@pytest.mark.parametrize("name", some_slow(NAMES, quick=NAMES[::4]))
def test_elf_headers(assemble, name):
    processor = processor_named(name)
    machine, flags = header(assemble("", "amdgcn-amd-amdhsa", f"-mcpu={name}"))
    assert machine == EM_AMDGPU
    assert flags & 0xFF == processor.mach
    assert resolve_elf(machine, flags) is resolve(name)
    # A setting that a processor has is "any" (1) if nobody sets it, and "unsupported" (0) if it has not.
    assert flags >> 8 & 3 == processor.has("xnack")
    assert flags >> 10 & 3 == processor.has("sramecc")
    assert flags >> 24 == ("generic" in name)


@pytest.mark.parametrize("setting", ["xnack+", "xnack-", "sramecc+", "sramecc-"])
def test_settings_in_elf_headers(assemble, setting):
    machine, flags = header(assemble("", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", f"-mattr={setting[-1]}{setting[:-1]}"))
    assert resolve_elf(machine, flags) is resolve(f"gfx90a:{setting}")


@pytest.mark.parametrize(
    "processor", some_slow(OF_LLVM_22, quick=OF_LLVM_22[::4]), ids=lambda processor: processor.name
)
def test_default_wave_sizes_and_accumulation_registers(compile_ir, processor):
    assembly = compile_ir(KERNEL, f"-mcpu={processor.name}").decode()
    assert f".wavefront_size: {processor.default_wave_size}\n" in assembly
    assert (".agpr_count:" in assembly) == processor.has("agprs")


@pytest.mark.parametrize("name, wave_size", [("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1201", 64)])
def test_both_wave_sizes(compile_ir, name, wave_size):
    assembly = compile_ir(KERNEL, f"-mcpu={name}", f"-mattr=+wavefrontsize{wave_size}").decode()
    assert f".wavefront_size: {wave_size}\n" in assembly
    assert wave_size in processor_named(name).wave_sizes


@for_each("name, options",
    ("gfx90a", []),             ("gfx942", []),             ("gfx1100-wave32", ["-mattr=+wavefrontsize32"]),
    ("gfx1100-wave64", ["-mattr=+wavefrontsize64"]),        ("gfx1250", []))  # fmt: skip
def test_numbers_of_variables_in_registers(compile_ir, name, options):
    target = resolve(name)
    elf = compile_ir(FUNCTION, f"-mcpu={name.partition('-')[0]}", "-filetype=obj", *options)
    assert regx(target.register_named("v0").number) in elf
    if processor_named(name.partition("-")[0]).has("flat-architected"):  # elsewhere s0 to s3 are a descriptor
        assert regx(target.register_named("s0").number) in elf
    assert regx(2560 if target.lane_count == 32 else 1536) not in elf


def test_numbers_are_those_of_the_assembler(assemble):
    names = ["v0", "v255", "a0", "a255", "s0", "s63", "s64", "s101", "exec", "pc"]
    assert has_numbers(assemble, resolve("gfx90a"), names, "amdgcn-amd-amdhsa", "-mcpu=gfx90a")
    assert has_numbers(assemble, resolve("gfx1100-wave64"), ["s105"], "amdgcn-amd-amdhsa", "-mcpu=gfx1100")
    unknown = {"tr", "ldtr", "mxcsr", "fcw", "fsw", *(f"bnd{n}" for n in range(4))}  # to the assembler
    registers = [register.name for register in resolve("x86_64").registers() if register.name not in unknown]
    names = [re.sub(r"^st(\d)", r"st(\1)", name) for name in registers]
    assert header(assemble("", "x86_64"))[0] == EM_X86_64
    assert has_numbers(assemble, resolve("x86_64"), [f"%{name}" for name in names], "x86_64")


@pytest.mark.parametrize("name", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"])
def test_what_a_prologue_saves_is_preserved(compile_ir, name):
    clobbers = ",".join(f"~{{v{i}}}" for i in range(64)) + "," + ",".join(f"~{{s{i}}}" for i in range(34, 102))
    attributes = 'attributes #0 = { nounwind "amdgpu-waves-per-eu"="1,1" }\n'
    text = f'define void @f() #0 {{ call void asm sideeffect "; body", "{clobbers}"() ret void }}\n{attributes}'
    prologue = compile_ir(text, f"-mcpu={name}").decode().partition("; body")[0]
    target = resolve(name)
    saves = r"(?:buffer_store_dword|scratch_store_\w+ off,|v_accvgpr_write_b32 a\d+,) (v\d+)"
    vectors = set(re.findall(saves, prologue))
    scalars = set(re.findall(r"v_writelane_b32 v\d+, (s\d+)", prologue))
    assert {"v40", "v47", "v56", "v63"} <= vectors
    assert {"s34", "s39", "s48", "s64", "s101"} <= scalars
    for register in scalars | {v for v in vectors if int(v[1:]) >= 40}:  # others hold saved scalars
        assert target.unspecified_rule(target.register_named(register).number) == "same_value"
