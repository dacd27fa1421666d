"""Kernel descriptors and amd_kernel_code_t (AMDGPU usage, "Kernel Descriptor"; AMDGPU Compute ABI 0.40)."""

import contextlib
import random
import re
import struct

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.kernels.descriptor_fields import (
    CODE_FIELDS,
    DESCRIPTOR_FIELDS,
    GFX6,
    GFX8,
    GFX9,
    GFX10,
    GFX11,
    GFX12,
    GFX90A,
    GFX125,
    PRELOAD,
    PROPERTIES,
    RSRC1,
    RSRC2,
    RSRC3,
    generation_of,
)
from dwarfgpu.objfile.kernels.kernel import DESCRIPTOR, parse_descriptor, parse_kernel_code, read_kernels
from dwarfgpu.objfile.opening import open_image
from tests.builders.code_objects import opencl, run
from tests.builders.elf import ElfBuilder
from tests.builders.parameters import for_each

GENERATIONS = (GFX6, 70, GFX8, GFX9, GFX90A, GFX10, GFX11, GFX12, GFX125)

# The sample of the CLRX assembler's page on ROCm: what it writes before the code of a kernel for Carrizo
CLRX = (
    bytes.fromhex("010000000000000001000800000001000001000000000000")
    + bytes(24)
    + bytes.fromhex("41002c00900000000b000a0000000000")
    + bytes(8)
    + bytes.fromhex("0800000000000000000000000f000700")
    + bytes(8)
    + bytes.fromhex("0000000004040406")
    + bytes(152)
)

# llc-14 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx803 --amdhsa-code-object-version=2 -filetype=obj, of a kernel with a
# private array
LLVM_V2 = bytes.fromhex(
    "0100000002000000010008000000030000010000000000000000000000000000000000000000000000000000000000004000af0091000000"
    "29000a001400000000000000000000001800000000000000000000001000030000000000000000000000000004040406ffffffff"
).ljust(256, b"\0")


def descriptor(*, rsrc1=0, rsrc2=0, rsrc3=0, properties=0, preload=0, offset=0x100, reserved=(0, 0, 0)):
    return struct.pack(
        "<IIII q 20s III HH I", 16, 32, 48, reserved[0], offset, bytes([reserved[1]] + [0] * 19),
        rsrc3, rsrc1, rsrc2, properties, preload, reserved[2])  # fmt: skip


def code_object(symbols, *, notes=(), text=bytes(0x200), data=b"", type=3, abi_version=4):
    """A file with ``.rodata`` at 0x1000 and ``.text`` at 0x2000; symbols name them as 1 and 2."""
    builder = ElfBuilder(type=type, abi_version=abi_version)
    rodata = builder.section(".rodata", data, flags=2, address=0 if type == 1 else 0x1000, align=64)
    code = builder.section(".text", text, flags=6, address=0 if type == 1 else 0x2000, align=256)
    builder.section(".note", b"".join(builder.note(*note) for note in notes), type=7, align=4)
    builder.symbols(symbols)
    if type != 1:
        builder.segment(1, 0x1000, rodata)
        builder.segment(1, 0x2000, code)
    return Image(builder.build(), name="k.co")


def metadata_note(**kernel):
    document = {
        "amdhsa.version": [1, 2], "amdhsa.target": "amdgcn-amd-amdhsa--gfx90a",
        "amdhsa.kernels": [{
            ".name": "k", ".symbol": "k.kd", ".kernarg_segment_size": 8, ".kernarg_segment_align": 8,
            ".wavefront_size": 64, ".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0,
            ".max_flat_workgroup_size": 64, **kernel}]}  # fmt: skip
    return (b"AMDGPU\0", 32, msgpack.packb(document))


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("table", [DESCRIPTOR_FIELDS, CODE_FIELDS], ids=["descriptor", "code"])
def test_every_bit_has_exactly_one_name(generation, table):
    widths = {RSRC1: 32, RSRC2: 32, RSRC3: 32, PROPERTIES: 16, PRELOAD: 16}
    if table is CODE_FIELDS:
        widths[PROPERTIES] = 32
    for word in {row.word for row in table}:
        bits = [
            bit
            for row in table
            if row.word == word and row.first <= generation <= row.last
            for bit in range(row.shift, row.shift + row.width)
        ]
        assert sorted(bits) == list(range(widths[word])), word


@for_each("generation, processors",
    (GFX6, "gfx600"),  (70, "gfx704"),    (GFX8, "gfx803"),  (GFX9, "gfx900 gfx90c gfx908 gfx9-generic"),
    (GFX90A, "gfx90a gfx90a:sramecc+:xnack- gfx942 gfx950 gfx9-4-generic"),     (GFX10, "gfx10-3-generic gfx1036"),
    (GFX11, "gfx1151 gfx11-generic"),     (GFX12, "gfx1201 gfx1310"),           (GFX125, "gfx1250 gfx12-5-generic"),
    (None, "gfx gfx300 sm_70 tahiti"))  # fmt: skip
def test_generations(generation, processors):
    assert [generation_of(processor) for processor in processors.split()] == [generation] * len(processors.split())
    assert generation_of("") is None


def test_a_descriptor():
    rsrc1 = 0x5 | 0x3 << 6 | 2 << 12 | 1 << 14 | 3 << 16 | 3 << 18 | 1 << 21 | 1 << 23
    found = parse_descriptor(
        descriptor(rsrc1=rsrc1, rsrc2=1 | 6 << 1 | 1 << 7 | 2 << 11, rsrc3=7 | 1 << 16, properties=0b1001), GFX90A
    )
    assert (found.group_segment_fixed_size, found.private_segment_fixed_size, found.kernarg_size) == (16, 32, 48)
    assert found.kernel_code_entry_byte_offset == 0x100
    assert found.violations == ()
    assert found.field("ACCUM_OFFSET") == 7
    assert found.accum_offset == 32
    assert found.field("TG_SPLIT") == 1
    assert found.field("USER_SGPR_COUNT") == 6
    assert found.field("WGP_MODE") is None
    assert (found.wavefront_size, found.vgprs, found.sgprs) == (64, 48, 32)
    assert {field.name: field.meaning for field in found.fields if field.meaning} == {
        "FLOAT_ROUND_MODE_32": "minus infinity",               "FLOAT_ROUND_MODE_16_64": "plus infinity",
        "FLOAT_DENORM_MODE_32": "flush none",                  "FLOAT_DENORM_MODE_16_64": "flush none",
        "ENABLE_VGPR_WORKITEM_ID": "x, y, z"}  # fmt: skip
    expected = [("PRIVATE_SEGMENT_BUFFER", 0, 4), ("KERNARG_SEGMENT_PTR", 4, 2)]
    assert [(user.name, user.first, user.count) for user in found.user_sgprs] == expected


def test_preloaded_arguments_follow_the_user_sgprs():
    found = parse_descriptor(descriptor(properties=0b1010, preload=3 | 2 << 7), GFX90A)
    expected = [("DISPATCH_PTR", 0, 2), ("KERNARG_SEGMENT_PTR", 2, 2), ("KERNARG_PRELOAD", 4, 3)]
    assert [(user.name, user.first, user.count) for user in found.user_sgprs] == expected
    assert found.field("KERNARG_PRELOAD_SPEC_OFFSET") == 2


@for_each("generation, wave32, vgprs, sgprs, wavefront_size",
    (GFX6, False, 12, 24, 64),            (GFX8, False, 12, 24, 64),            (GFX9, False, 12, 32, 64),
    (GFX90A, False, 24, 32, 64),          (GFX10, False, 12, 128, 64),          (GFX10, True, 24, 128, 32),
    (GFX11, True, 24, 128, 32),           (GFX12, False, 12, 128, 64),          (GFX125, True, 48, 128, 32),
    (None, False, None, None, None))  # fmt: skip
def test_registers_are_counted_in_the_blocks_of_the_generation(generation, wave32, vgprs, sgprs, wavefront_size):
    found = parse_descriptor(descriptor(rsrc1=2 | 2 << 6, properties=wave32 << 10), generation)
    assert (found.vgprs, found.sgprs, found.wavefront_size) == (vgprs, sgprs, wavefront_size)


@for_each(
    "options, generation, expected",
    ({"rsrc1": 1 << 28}, GFX9, [f"{RSRC1}: reserved bit 28"]),
    ({"rsrc1": 7 << 29}, GFX90A, [f"{RSRC1}: reserved bits 31:29"]),
    ({"rsrc1": 7 << 29}, GFX11, []),
    ({"rsrc1": 1 << 20 | 1 << 10}, GFX9, [f"{RSRC1}: PRIORITY, bits 11:10", f"{RSRC1}: PRIV, bit 20"]),
    ({"rsrc1": 1 << 6}, GFX10, [f"{RSRC1}: GRANULATED_WAVEFRONT_SGPR_COUNT"]),
    ({"rsrc2": 1 << 31 | 5 << 15}, GFX9, [f"{RSRC2}: GRANULATED_LDS_SIZE", f"{RSRC2}: reserved bit 31"]),
    ({"rsrc2": 1 << 6}, GFX11, [f"{RSRC2}: ENABLE_TRAP_HANDLER"]),
    ({"rsrc2": 1 << 6}, GFX12, []),
    ({"rsrc3": 1}, GFX9, [f"{RSRC3}: reserved bits 31:0"]),
    ({"rsrc3": 1}, GFX10, []),
    ({"properties": 1 << 10}, GFX9, [f"{PROPERTIES}: reserved bit 10"]),
    ({"properties": 1 << 10 | 1 << 11}, GFX10, []),
    ({"properties": 1 << 15}, GFX10, [f"{PROPERTIES}: reserved bits 15:12"]),
    ({"preload": 1}, GFX9, [f"{PRELOAD}: reserved"]),
    ({"reserved": (1, 2, 3)}, GFX9, ["reserved bytes at 12", "reserved bytes at 24", "reserved bytes at 60"]),
)
def test_reserved_bits_are_reported(options, generation, expected):
    found = parse_descriptor(descriptor(**options), generation).violations
    assert len(found) == len(expected)
    assert all(any(line.startswith(start) for line in found) for start in expected)


@given(st.binary(min_size=64, max_size=64), st.sampled_from([None, *GENERATIONS]))
def test_any_64_bytes_are_a_descriptor(data, generation):
    found = parse_descriptor(data, generation)
    words = {RSRC1: 0, RSRC2: 0, RSRC3: 0, PROPERTIES: 0, PRELOAD: 0}
    for field in found.fields:
        words[field.word] |= field.value << field.shift
    if generation is not None:
        assert words == {
            RSRC1: found.compute_pgm_rsrc1,    RSRC2: found.compute_pgm_rsrc2,    RSRC3: found.compute_pgm_rsrc3,
            PROPERTIES: found.kernel_code_properties,                             PRELOAD: found.kernarg_preload,
        }  # fmt: skip
    assert found.user_sgprs is not None


def test_the_sample_of_the_clrx_assembler():
    """The configuration that stands beside the bytes on that page."""
    found = parse_kernel_code(CLRX)

    assert len(CLRX) == 256
    assert (found.amd_code_version_major, found.amd_code_version_minor) == (1, 0)  # .codeversion 1, 0
    assert found.amd_machine_kind == 1  # .machine 1, 8, 0, 1
    assert (found.processor, found.kernel_code_entry_byte_offset) == ("gfx801", 0x100)
    assert (found.compute_pgm_rsrc1, found.compute_pgm_rsrc2) == (0x002C0041, 0x90)
    assert (found.kernarg_segment_byte_size, found.wavefront_sgpr_count, found.workitem_vgpr_count) == (8, 15, 7)
    expected = (4, 4, 4)
    assert (found.kernarg_segment_alignment, found.group_segment_alignment, found.private_segment_alignment) == expected
    assert (found.wavefront_size, found.call_convention) == (64, 0)
    assert {field.name: field.value for field in found.fields if field.value} == {
        "GRANULATED_WORKITEM_VGPR_COUNT": 1,  # .vgprsnum 8
        "GRANULATED_WAVEFRONT_SGPR_COUNT": 1,  # .sgprsnum 16
        "FLOAT_DENORM_MODE_16_64": 3,  # .floatmode 0xc0
        "ENABLE_DX10_CLAMP": 1,  # .dx10clamp
        "USER_SGPR_COUNT": 8,  # .userdatanum 8
        "ENABLE_SGPR_WORKGROUP_ID_X": 1,  # .dims x
        "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER": 1,
        "ENABLE_SGPR_DISPATCH_PTR": 1,
        "ENABLE_SGPR_KERNARG_SEGMENT_PTR": 1,
        "PRIVATE_ELEMENT_SIZE": 1,  # .private_elem_size 4
        "IS_PTR64": 1,
    }
    assert next(field.meaning for field in found.fields if field.name == "PRIVATE_ELEMENT_SIZE") == "4 bytes"
    assert (found.vgprs, found.sgprs) == (8, 16)
    assert [user.name for user in found.user_sgprs] == ["PRIVATE_SEGMENT_BUFFER", "DISPATCH_PTR", "KERNARG_SEGMENT_PTR"]
    assert found.user_sgprs[-1].first == 6
    assert found.violations == ()


def test_what_llvm_writes_for_version_2():
    found = parse_kernel_code(LLVM_V2)
    assert (found.amd_code_version_major, found.amd_code_version_minor, found.processor) == (1, 2, "gfx803")
    assert (found.workitem_private_segment_byte_size, found.kernarg_segment_byte_size) == (20, 24)
    assert (found.wavefront_sgpr_count, found.workitem_vgpr_count) == (16, 3)
    assert (found.call_convention, found.wavefront_size) == (0xFFFFFFFF, 64)
    expected = ["PRIVATE_SEGMENT_BUFFER", "KERNARG_SEGMENT_PTR", "FLAT_SCRATCH_INIT"]
    assert [user.name for user in found.user_sgprs] == expected
    assert (found.field("USER_SGPR_COUNT"), found.field("ENABLE_PRIVATE_SEGMENT")) == (8, 1)
    assert (found.field("ENABLE_IEEE_MODE"), found.field("IS_PTR64")) == (1, 1)
    assert (found.vgprs, found.sgprs) == (4, 16)
    assert found.violations == ()


def test_reserved_bits_of_the_kernel_code():
    data = bytearray(CLRX)
    data[56:60] = (0x80000800).to_bytes(4, "little")
    data[110] = 1
    data[120] = 1
    found = parse_kernel_code(bytes(data))
    assert [line.partition(" must")[0] for line in found.violations] == [
        "KERNEL_CODE_PROPERTIES: reserved bits 15:11",
        "KERNEL_CODE_PROPERTIES: reserved bits 31:23",
        "reserved bytes at 108",
        "runtime_loader_kernel_symbol",
        "USER_SGPR_COUNT",
    ]


def test_registers_for_the_debugger():
    data = bytearray(CLRX)
    data[96:100] = b"\x0b\0\xff\xff"
    found = parse_kernel_code(bytes(data))
    assert found.debug_wavefront_private_segment_offset_sgpr == 11
    assert found.debug_private_segment_buffer_sgpr == 0xFFFF


@given(st.binary(min_size=256, max_size=256))
def test_any_256_bytes_are_a_kernel_code(data):
    found = parse_kernel_code(data)
    assert found.control_directives == data[128:]
    assert (found.user_sgprs, found.wavefront_size) is not None


def test_a_kernel_joins_its_three_places():
    rows = [("k.kd", 0x1000, 64, 1, 1, 1), ("k", 0x2100, 0x40, 2, 1, 2), ("other", 0x2000, 8, 2, 1, 2)]
    found = read_kernels(code_object(rows, data=descriptor(offset=0x1100), notes=[metadata_note()]))
    (kernel,) = found.kernels
    assert found.problems == ()
    assert (found.processor, kernel.name, kernel.entry, kernel.size) == ("gfx90a", "k", 0x2100, 0x40)
    assert kernel.descriptor.generation == GFX90A
    assert kernel.metadata.name == "k"
    assert kernel.symbol.value == 0x1000
    assert kernel.code is None


def test_the_processor_may_be_told():
    image = code_object([("k.kd", 0x1000, 64, 1, 1, 1)], data=descriptor(properties=1 << 10, offset=0x1100))
    assert read_kernels(image).kernels[0].descriptor.wavefront_size is None
    assert read_kernels(image, "gfx1100").kernels[0].descriptor.wavefront_size == 32


def test_the_offset_of_an_object_is_relocated():
    builder = ElfBuilder(type=1)
    rodata = builder.section(".rodata", bytes(64) + descriptor(offset=0), flags=2, align=64)
    text = builder.section(".text", bytes(0x300), flags=6, align=256)
    table = builder.symbols([("k.kd", 64, 64, 1, 1, rodata), ("k", 0x200, 0x40, 2, 1, text)])
    builder.relocations(rodata, table, [(64 + 16, 5, 2, 16)])  # REL64 of the entry, from the start of the descriptor
    (kernel,) = read_kernels(Image(builder.build())).kernels
    assert (kernel.entry, kernel.size) == (0x200, 0x40)


def test_kernels_of_version_2():
    rows = [("k", 0x2000, 0x180, 10, 1, 2)]
    image = code_object(
        rows, text=LLVM_V2 + bytes(0x80), abi_version=0, notes=[(b"AMD\0", 1, struct.pack("<II", 2, 1))]
    )
    (kernel,) = read_kernels(image).kernels
    assert kernel.symbol.type == "AMDGPU_HSA_KERNEL"
    assert (kernel.code.processor, kernel.entry, kernel.size) == ("gfx803", 0x2100, 0x80)
    assert kernel.descriptor is None


def test_a_broken_kernel_hides_no_other():
    rows = [
        ("a.kd", 0x1000, 64, 1, 1, 1),                         ("b.kd", 0x1020, 64, 1, 1, 1),
        ("c.kd", 0x4000, 64, 1, 1, 1),                         ("d.kd", 0, 64, 1, 1, 0)]  # fmt: skip
    found = read_kernels(code_object(rows, data=descriptor(offset=0x1001), notes=[metadata_note()]))
    expected = [("a", True), ("b", False), ("c", False), ("k", False)]
    assert [(kernel.name, kernel.descriptor is not None) for kernel in found.kernels] == expected
    expected = ["misaligned_entry", "truncated", "truncated", "no_descriptor"]
    assert [problem.kind for problem in found.problems] == expected


def test_a_kernel_has_several_names():
    rows = [(f"{name}.kd", 0x1000 + 64 * index, 64, 1, 1, 1) for index, name in enumerate("abck")]
    image = code_object(rows, data=descriptor() * 4, notes=[metadata_note(**{".name": "source_name"})])
    kernels = read_kernels(image)
    assert [kernel.name for kernel in kernels.kernels] == ["a", "b", "c", "k"]
    assert kernels.named("b") == [kernels.kernels[1]]
    for name in ("k", "k.kd", "source_name"):
        assert [kernel.metadata.symbol for kernel in kernels.named(name)] == ["k.kd"]
    assert kernels.named("d") == []


def test_a_host_program_has_no_kernels():
    assert read_kernels(Image(ElfBuilder(machine=62, osabi=0).build())).kernels == ()


def test_random_changes():
    chance = random.Random(3)
    rows = [("k.kd", 0x1000, 64, 1, 1, 1), ("k", 0x2100, 0x40, 2, 1, 2), ("old", 0x2000, 0x180, 10, 1, 2)]
    sample = bytes(code_object(rows, data=descriptor(offset=0x1100), notes=[metadata_note()], text=CLRX * 3).data)
    for _ in range(500):
        data = bytearray(sample)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        with contextlib.suppress(MalformedFile):
            read_kernels(Image(bytes(data)))


DIRECTIVES = {
    "inst_pref_size": "INST_PREF_SIZE", "tg_split": "TG_SPLIT", "float_round_mode_32": "FLOAT_ROUND_MODE_32",
    "float_round_mode_16_64": "FLOAT_ROUND_MODE_16_64", "float_denorm_mode_32": "FLOAT_DENORM_MODE_32",
    "float_denorm_mode_16_64": "FLOAT_DENORM_MODE_16_64", "dx10_clamp": "ENABLE_DX10_CLAMP",
    "ieee_mode": "ENABLE_IEEE_MODE", "fp16_overflow": "FP16_OVFL", "workgroup_processor_mode": "WGP_MODE",
    "memory_ordered": "MEM_ORDERED", "forward_progress": "FWD_PROGRESS", "round_robin_scheduling": "ENABLE_WG_RR_EN",
    "system_sgpr_private_segment_wavefront_offset": "ENABLE_PRIVATE_SEGMENT",
    "enable_private_segment": "ENABLE_PRIVATE_SEGMENT", "system_sgpr_workgroup_id_x": "ENABLE_SGPR_WORKGROUP_ID_X",
    "system_sgpr_workgroup_id_y": "ENABLE_SGPR_WORKGROUP_ID_Y",
    "system_sgpr_workgroup_id_z": "ENABLE_SGPR_WORKGROUP_ID_Z",
    "system_sgpr_workgroup_info": "ENABLE_SGPR_WORKGROUP_INFO", "system_vgpr_workitem_id": "ENABLE_VGPR_WORKITEM_ID",
    "exception_fp_ieee_invalid_op": "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION",
    "exception_fp_denorm_src": "ENABLE_EXCEPTION_FP_DENORMAL_SOURCE",
    "exception_fp_ieee_div_zero": "ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO",
    "exception_fp_ieee_overflow": "ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW",
    "exception_fp_ieee_underflow": "ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW",
    "exception_fp_ieee_inexact": "ENABLE_EXCEPTION_IEEE_754_FP_INEXACT",
    "exception_int_div_zero": "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO",
    "user_sgpr_private_segment_buffer": "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER",
    "user_sgpr_dispatch_ptr": "ENABLE_SGPR_DISPATCH_PTR", "user_sgpr_queue_ptr": "ENABLE_SGPR_QUEUE_PTR",
    "user_sgpr_kernarg_segment_ptr": "ENABLE_SGPR_KERNARG_SEGMENT_PTR",
    "user_sgpr_dispatch_id": "ENABLE_SGPR_DISPATCH_ID",
    "user_sgpr_flat_scratch_init": "ENABLE_SGPR_FLAT_SCRATCH_INIT",
    "user_sgpr_private_segment_size": "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", "wavefront_size32": "ENABLE_WAVEFRONT_SIZE32",
    "uses_dynamic_stack": "USES_DYNAMIC_STACK", "named_barrier_count": "NAMED_BAR_CNT",
    "shared_vgpr_count": "SHARED_VGPR_COUNT",
    "user_sgpr_kernarg_preload_length": "KERNARG_PRELOAD_SPEC_LENGTH",
    "user_sgpr_kernarg_preload_offset": "KERNARG_PRELOAD_SPEC_OFFSET"}  # fmt: skip
SIZES = ("group_segment_fixed_size", "private_segment_fixed_size", "kernarg_size")


@for_each("processor, options",
    ("gfx90a", ("-O0",)),  ("gfx942", ("-O2", "-mllvm", "-amdgpu-kernarg-preload-count=4")),
    ("gfx1030", ("-O0", "-mwavefrontsize64")),    ("gfx1100", ("-O2",)), ("gfx1200", ("-O0",)), ("gfx1250", ("-O0",)),
)  # fmt: skip
@pytest.mark.sampled(6)
def test_descriptors_are_what_llvm_disassembles(tmp_path, require_tool, processor, options):
    path = opencl(tmp_path, require_tool, processor, *options)
    text = run(require_tool("llvm-objdump-22"), "-D", "-j", ".rodata", path)
    found = {kernel.name: kernel for kernel in read_kernels(open_image(path)).kernels}
    blocks = re.findall(r"\.amdhsa_kernel (\w+)\n(.*?)\.end_amdhsa_kernel", text, re.DOTALL)
    assert {name for name, _ in blocks} == set(found) == {"k1", "k2"}
    for name, block in blocks:
        ours = found[name].descriptor
        assert ours.violations == ()
        compared = 0
        for directive, value in re.findall(r"(?:\.amdhsa_|; )(\w+) (\d+)", block):
            if directive in SIZES:
                assert getattr(ours, directive) == int(value)
            elif directive == "accum_offset":
                assert ours.accum_offset == int(value)
            elif directive == "next_free_vgpr":
                assert ours.vgprs == int(value)
            elif directive in DIRECTIVES or directive.isupper():
                assert ours.field(DIRECTIVES.get(directive, directive)) == int(value), directive
            else:
                # the disassembler cannot know which scalar registers the kernel uses, and says so in these
                assert directive.startswith(("reserve_", "next_free_sgpr")), directive
                continue
            compared += 1
        assert compared > 25


def test_kernels_before_and_after_linking(tmp_path, require_tool):
    linked = read_kernels(open_image(opencl(tmp_path, require_tool, "gfx90a", "-O1")))
    unlinked = read_kernels(open_image(next(iter(tmp_path.glob("*.o")))))
    image = open_image(next(iter(tmp_path.glob("*.co"))))
    for after, before in zip(linked.kernels, unlinked.kernels, strict=True):
        assert (after.name, after.size, after.metadata) == (before.name, before.size, before.metadata)
        assert after.entry == image.symbol_named(after.name).value
        assert after.entry % 256 == 0
        assert before.entry % 256 == 0
        assert after.descriptor.fields == before.descriptor.fields
        assert after.metadata.vgpr_count <= after.descriptor.vgprs
        assert after.metadata.sgpr_count <= after.descriptor.sgprs
        assert after.metadata.wavefront_size == after.descriptor.wavefront_size
        assert after.metadata.kernarg_segment_size == after.descriptor.kernarg_size


def changed(**fields):
    """The header that CLRX writes, with some fields changed."""
    places = {
        "amd_code_version_major": (0, 4), "amd_code_version_minor": (4, 4), "amd_machine_kind": (8, 2),
        "compute_pgm_rsrc1": (48, 4), "compute_pgm_rsrc2": (52, 4), "kernel_code_properties": (56, 4),
        "wavefront_sgpr_count": (84, 2), "workitem_vgpr_count": (86, 2), "reserved_vgpr_first": (88, 2),
        "reserved_sgpr_first": (92, 2), "debug_wavefront_private_segment_offset_sgpr": (96, 2),
        "debug_private_segment_buffer_sgpr": (98, 2), "kernarg_segment_alignment": (100, 1), "wavefront_size": (103, 1),
    }  # fmt: skip
    data = bytearray(CLRX)
    for name, value in fields.items():
        offset, size = places[name]
        data[offset : offset + size] = value.to_bytes(size, "little")
    return parse_kernel_code(bytes(data))


UNUSED = "must be 0 as IS_DEBUG_ENABLED is, found"


@for_each(
    "field, value, message",
    ("amd_code_version_major", 2, "amd_code_version_major must be 1, found 2"),
    ("amd_code_version_minor", 3, "amd_code_version_minor must be at most 2, found 3"),
    ("amd_machine_kind", 0, "amd_machine_kind must be 1 (AMDGPU), found 0"),
    ("reserved_vgpr_first", 3, "reserved_vgpr_first must be 0 as reserved_vgpr_count is, found 3"),
    ("reserved_sgpr_first", 3, "reserved_sgpr_first must be 0 as reserved_sgpr_count is, found 3"),
    ("debug_wavefront_private_segment_offset_sgpr", 0xFFFF, f"{{}} {UNUSED} 0xffff"),
    ("debug_private_segment_buffer_sgpr", 4, f"{{}} {UNUSED} 0x4"),
    ("kernarg_segment_alignment", 3, "kernarg_segment_alignment must be at least 4 (16 bytes), found 3"),
    ("wavefront_size", 9, "wavefront_size must be at most 8 (256 lanes), found 9"),
    ("workitem_vgpr_count", 40, "COMPUTE_PGM_RSRC1 allocates 8 vgprs, and must match the 40 that are used"),
    ("wavefront_sgpr_count", 40, "COMPUTE_PGM_RSRC1 allocates 16 sgprs, and must match the 40 that are used"),
)
def test_rules_of_the_kernel_code(field, value, message):
    """AMDGPU Compute ABI 0.40, "AMD Kernel Code Object": each sentence with "must"."""
    assert changed().violations == ()
    assert changed(**{field: value}).violations == (message.format(field),)


def test_the_user_registers_must_be_as_many_as_are_enabled():
    assert changed(compute_pgm_rsrc2=0).violations[0].startswith("USER_SGPR_COUNT must be ")


def test_a_kernel_code_may_have_a_priority():
    """11:10: "Drives spi_priority"; it is the kernel descriptor that must have 0 there."""
    assert changed(compute_pgm_rsrc1=changed().compute_pgm_rsrc1 | 3 << 10).violations == ()
    descriptor = parse_descriptor(DESCRIPTOR.pack(0, 0, 0, 0, 256, bytes(20), 0, 3 << 10, 0, 0, 0, 0), GFX9)
    assert "PRIORITY" in descriptor.violations[0]


def test_user_registers_end_with_the_sixteenth():
    """The first 16 that are enabled are set up, and no more."""
    code = changed(kernel_code_properties=0x3FF)
    last = code.user_sgprs[-1]
    assert last.first + last.count == 16
    assert [each.name for each in code.user_sgprs][-2:] == ["PRIVATE_SEGMENT_SIZE", "GRID_WORKGROUP_COUNT_X"]
    assert code.asked_user_sgprs == 18


def assembled(tmp_path, require_tool, text, cpu="gfx90a"):
    source, result = tmp_path / "x.s", tmp_path / "x.o"
    source.write_text(text)
    options = ("-triple", "amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-filetype=obj")
    run(require_tool("llvm-mc-22"), *options, source, "-o", result)
    return result


def test_a_got_relocation_of_an_instruction_hides_no_kernels(tmp_path, require_tool):
    """What stands beside the instruction in the section of the code is as it will be."""
    text = "s_add_u32 s0, s0, there@gotpcrel32@lo+4\nkernel:\ns_endpgm\n.size kernel, 4\n"
    image = open_image(assembled(tmp_path, require_tool, text))
    assert image.symbol_bytes(image.symbol_named("kernel"), 4).hex() == "000081bf"


def test_symbols_in_local_memory_have_an_alignment_and_no_address(tmp_path, require_tool):
    from dwarfgpu.program.code.code_lookup import named
    from dwarfgpu.program.code.code_object import opened
    from dwarfgpu.questions.files import _symbol

    path = assembled(tmp_path, require_tool, ".globl tile\n.amdgpu_lds tile, 64, 16\ns_endpgm\n")
    (found,) = named(opened(str(path)), "tile")
    assert (found.symbol.address, found.symbol.alignment, found.symbol.size) == (None, 16, 64)
    assert _symbol(found.symbol) == "GLOBAL OBJECT in local memory, 64 bytes aligned to 16: the loader places it"


def test_descriptors_must_be_aligned(tmp_path, require_tool):
    text = """
        .text
        .p2align 8
        k:
        s_endpgm
        .rodata
        .quad 0
        .amdhsa_kernel k
        .amdhsa_next_free_vgpr 1
        .amdhsa_next_free_sgpr 1
        .amdhsa_accum_offset 4
        .end_amdhsa_kernel
    """
    problems = read_kernels(open_image(assembled(tmp_path, require_tool, text))).problems
    assert any(problem.kind == "misaligned_descriptor" and "descriptor k.kd" in problem.message for problem in problems)
    aligned = assembled(tmp_path, require_tool, text.replace(".quad 0", ".p2align 6"))
    assert read_kernels(open_image(aligned)).problems == ()
