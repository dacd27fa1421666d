import random

import pytest

from dwarfgpu.errors import Unsupported
from dwarfgpu.isa.decoder import decode, decoder, executed, text
from dwarfgpu.isa.instruction import OperandKind, OperandRole
from dwarfgpu.isa.names import wait_counters
from dwarfgpu.isa.tables import GENERATIONS, table
from dwarfgpu.program.code.instruction_coverage import examples
from tests.builders.commands import in_python
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each, share, some_slow
from tests.conftest import lacking
from tools import isa
from tools.isa_oracle import NoOracle, Oracle

WORDS = ROOT / "tests/golden/isa-words.txt"


def instruction(processor: str, words: str, wave_size: int = 0):
    """The instruction of some words, as disassemblers write them: 32 bits each, the most significant digit first."""
    return decode(b"".join(int(word, 16).to_bytes(4, "little") for word in words.split()), 0, processor, wave_size)


def roles(found) -> list[tuple[str, OperandRole]]:
    return [(operand.name, operand.role) for operand in found.operands]


def test_a_vector_operation():
    found = instruction("gfx90a", "02060305")
    assert (found.name, found.mnemonic, found.encoding, found.variant, found.size) == (
        "v_add_f32", "v_add_f32_e32", "VOP2", "", 4)  # fmt: skip
    vdst, src0, src1 = found.operands
    assert (vdst.kind, vdst.index, vdst.bits, vdst.role) == (OperandKind.VGPR, 3, 32, OperandRole.DST)
    assert (src0.kind, src0.index, src0.type) == (OperandKind.VGPR, 5, "b32")
    assert found.destinations == (vdst,)
    assert found.sources == (src0, src1)
    assert found.operand("src0") is src0
    assert found.operand("src2") is None


def test_modifiers_of_sources_and_of_the_result():
    found = instruction("gfx900", "d1018103 4c020305")
    assert text(found) == "v_add_f32_e64 v3, |v5|, -v1 clamp mul:2"
    assert (found.name, found.encoding) == ("v_add_f32", "VOP3")
    assert found.modifiers == {"clamp": 1, "omod": 1}
    _, src0, src1 = found.operands
    assert (src0.absolute, src0.negated, src1.absolute, src1.negated) == (True, False, False, True)


@for_each(
    "words, written",
    (
        "d3ac0800 10023318 d3ad0c00 44521904",
        "16x16x128_f8f6f4 v[0:3], v[4:7], v[12:17], v[20:23], v24, v25 op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:2",
    ),
    (
        "d3ac1800 00023318 d3ae8c00 4c521904",
        "32x32x64_f8f6f4 a[0:15], a[4:7], v[12:17], a[20:35], v24, v25 op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:4 blgp:2",
    ),
)
def test_a_product_with_scales_is_one_instruction(words, written):
    """Its first 8 bytes name the scales (CDNA 4 ISA document, 7.2.1); llvm-mc 22 wrote the words."""
    found = instruction("gfx950", words)
    assert (text(found), found.size) == (f"v_mfma_scale_f32_{written}", 16)
    assert (found.encoding, found.variant) == ("VOP3P", "scale")
    names = ["vdst", "src0", "src1", "src2", "scale_src0", "scale_src1"]
    assert roles(found) == [*zip(names, [OperandRole.DST, *[OperandRole.SRC] * 5], strict=True)]
    alone = instruction("gfx950", " ".join(words.split()[:2]))
    assert (alone.name, alone.size) == ("v_mfma_ld_scale_b32", 8)


@for_each(
    "processor, words, value, written",
    ("gfx900", "7e0402f2", 0x3F800000, "1.0"),  # v_mov_b32
    ("gfx900", "7e0402c1", 0xFFFFFFFF, "-1"),
    ("gfx900", "7e0402ff 12345678", 0x12345678, "0x12345678"),
    ("gfx900", "7e0416f2", 0x3C00, "1.0"),  # v_cvt_f32_f16
    ("gfx900", "7e041ef2", 0x3FF0000000000000, "1.0"),  # v_cvt_f32_f64
    ("gfx900", "7e041eff 40080000", 0x4008000000000000, "0x40080000"),
    ("gfx900", "be8201c1", 0xFFFFFFFFFFFFFFFF, "-1"),  # s_mov_b64
)
def test_constants_are_expanded_as_the_type_of_the_operand_asks(processor, words, value, written):
    operand = instruction(processor, words).operands[1]
    assert (operand.value, operand.text) == (value, written)


def test_accumulating_operations_read_their_destination():
    assert roles(instruction("gfx90a", "76060305"))[0] == ("vdst", OperandRole.DST_SRC)  # v_fmac_f32
    assert roles(instruction("gfx900", "b7828000")) == [
        ("sdst", OperandRole.DST_SRC),
        ("simm16", OperandRole.SRC),
    ]  # s_mulk_i32
    assert roles(instruction("gfx900", "b1028000"))[0] == ("sdst", OperandRole.SRC)  # s_cmpk_eq_i32


def test_memory_operations_say_what_they_load_and_store():
    load = instruction("gfx1100", "dc520010 047c0001")
    assert (text(load), load.encoding) == ("global_load_b32 v4, v[1:2], off offset:16", "GLOBAL")
    assert load.modifiers == {"offset": 16}
    assert roles(load) == [("vdst", OperandRole.DST), ("vaddr", OperandRole.SRC), ("saddr", OperandRole.SRC)]
    store = instruction("gfx90a", "e0701004 20010203")
    assert text(store) == "buffer_store_dword v2, v3, s[4:7], s32 offen offset:4"
    assert roles(store)[0] == ("vdata", OperandRole.SRC)
    assert store.modifiers == {"offen": 1, "offset": 4}


def test_accumulation_registers_are_told_by_a_bit():
    found = instruction("gfx90a", "dc508000 06ff0002")
    assert text(found) == "global_load_dword a6, v[2:3], off"
    assert (found.operands[0].kind, found.operands[0].index) == (OperandKind.AGPR, 6)


def test_halves_of_registers():
    found = instruction("gfx1100", "64060305")
    assert text(found) == "v_add_f16_e32 v3.l, v5.l, v1.l"
    assert (found.operands[0].half, found.operands[0].bits) == (0, 16)
    high = instruction("gfx1100", "65070385")
    assert [operand.half for operand in high.operands] == [1, 1, 1]
    assert [operand.index for operand in high.operands] == [3, 5, 1]


@for_each("processor, words, written",
    ("gfx1200", "d7384004 00022288", "v_lshlrev_b16 v4.h, 8, v17.l op_sel:[0,0,1]"),
    ("gfx1200", "7e123880", "v_mov_b16_e32 v9.l, 0"),
    ("gfx1200", "77060503", "v_ldexp_f16_e32 v3.h, v3.l, v2.l"),
    ("gfx1100", "d7384004 00022288", "v_lshlrev_b16 v4.h, 8, v17.l op_sel:[0,0,1]"))  # fmt: skip
def test_halves_of_the_same_code_on_gfx11_and_gfx12(processor, words, written):
    assert text(instruction(processor, words)) == written


def test_lane_masks_are_as_long_as_a_wave():
    for size, bits, name in ((32, 32, "vcc_lo"), (64, 64, "vcc")):
        found = instruction("gfx1030", "7d840501", size)
        assert found.mnemonic == "v_cmp_eq_u32_e32"
        mask = found.operands[0]
        assert (mask.kind, mask.register, mask.bits, mask.role) == (OperandKind.SPECIAL, name, bits, OperandRole.DST)


def test_dual_instructions_have_two_components():
    found = instruction("gfx1100", "ca100102 02000081", 32)
    assert text(found) == "v_dual_mov_b32 v2, v2 :: v_dual_mov_b32 v1, 1"
    first, second = found.components
    assert (first.name, second.name) == ("v_dual_mov_b32", "v_dual_mov_b32")
    assert (first.operands[0].index, second.operands[0].index, second.operands[1].value) == (2, 1, 1)
    assert found.size == 8


def test_dpp_and_sdwa():
    dpp = instruction("gfx90a", "020606fa ff0121f5")
    assert (dpp.name, dpp.variant) == ("v_add_f32", "dpp")
    assert dpp.modifiers["dpp_ctrl"] == 0x121
    assert text(dpp) == "v_add_f32_dpp v3, v245, v3 row_ror:1 row_mask:0xf bank_mask:0xf"
    sdwa = instruction("gfx900", "020606f9 06050605")
    assert (sdwa.name, sdwa.variant) == ("v_add_f32", "sdwa")
    assert sdwa.modifiers == {"dst_sel": 6, "src0_sel": 5, "src1_sel": 6}


@for_each("processor, word, distance",
    ("gfx90a", "bf82ffff", 0),
    ("gfx90a", "bf880010", 68),
    ("gfx1100", "bfa08000", 4 - 4 * 0x8000))  # fmt: skip
def test_branches_say_how_far_they_go(processor, word, distance):
    assert instruction(processor, word).branch == distance
    assert instruction(processor, "bf810000" if processor == "gfx90a" else "bfb00000").branch is None


def test_counters_of_waits():
    found = instruction("gfx90a", "bf8c0070")
    assert text(found) == "s_waitcnt vmcnt(0) lgkmcnt(0)"
    assert wait_counters(found.operands[0].value, 9) == {"vmcnt": 0, "lgkmcnt": 0}


@for_each(
    "processor, words, written",
    ("gfx1100", "bfbd0007", "s_barrier"),
    ("gfx1100", "ca10c902 02000081", "v_dual_mov_b32 v2, v2 :: v_dual_mov_b32 v1, 1"),  # vsrc1 of X
    ("gfx1100", "d8d80004 01230005", "ds_load_b32 v1, v5 offset:4"),  # data0 and data1
    ("gfx1100", "d44a0006 0a020501", "v_cmp_eq_u32_e64 s6, v1, v2"),  # omod
    ("gfx1100", "d5810401 80000102", "v_mov_b32_e64 v1, v2"),  # abs2 and neg2
)
def test_hardware_ignores_fields_that_an_operation_does_not_have(processor, words, written):
    code = b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())
    assert decode(code, 0, processor, 32).name == ".long"
    found = executed(code, 0, processor, 32)
    assert (text(found), found.data) == (written, code)


def test_hardware_does_not_ignore_what_selects_another_operation():
    clamped = bytes.fromhex("06807ed4 01050200")  # v_cmp_class_f32 with clamp
    assert executed(clamped, 0, "gfx1100", 32).name == ".long"
    assert executed(bytes.fromhex("ffffffff"), 0, "gfx1100", 32).name == ".long"


def test_immediates_of_scalar_operations_are_signed_numbers():
    assert instruction("gfx900", "b002ffff").operands[1].value == -1


def test_what_is_not_an_instruction_is_a_word():
    found = decode(b"\xff" * 8, 0, "gfx90a", 64)
    assert (found.name, found.encoding, found.size, text(found)) == (".long", "", 4, ".long 0xffffffff")


def test_code_that_ends_within_an_instruction():
    literal = bytes.fromhex("ff02047e")
    assert decode(literal, 0, "gfx900", 64).encoding == ""
    assert decode(literal + bytes(4), 0, "gfx900", 64).size == 8
    assert decode(b"\0", 0, "gfx900", 64).size == 1


@pytest.mark.parametrize("processor", ["gfx600", "gfx700", "gfx1310", "nonsense", "gfx"])
def test_processors_whose_instructions_are_not_known(processor):
    with pytest.raises(Unsupported, match=f"the instructions of {processor} are not known"):
        decoder(processor, 0)


def test_processors_of_one_family_share_their_rows():
    for one, other in (("gfx941", "gfx942"), ("gfx90c", "gfx900"), ("gfx1201", "gfx1200")):
        assert instruction(one, "02060305").operands == instruction(other, "02060305").operands


def families():
    """The first processor of each set of the tables, and the wave size that it is for."""
    for major in GENERATIONS:
        for line in (ROOT / f"dwarfgpu/isa/gfx{major}.txt").read_text().splitlines():
            if line.startswith("set "):
                name, _, size = line.split()[2].partition("/")
                yield name, int(size or 64)


@pytest.mark.parametrize("processor, size", some_slow(families(), quick=[*families()][::4]))
def test_every_row_of_every_processor_can_be_compiled(processor, size):
    decode_all = decoder(processor, size)
    count = 0
    for rows in {id(rows): rows for group in decode_all._formats for rows in group}.values():
        for opcode in getattr(rows, "lines", ()):
            count += len(rows.rows(opcode))
    assert count > 1000
    assert table(processor, size).names["hwreg"]


def test_any_bytes_give_an_instruction():
    chosen = random.Random(3)
    for processor in ("gfx803", "gfx90a", "gfx950", "gfx1010", "gfx1100", "gfx1201"):
        for _ in range(2000):
            code = chosen.randbytes(chosen.randrange(1, 24))
            found = decode(code, 0, processor, 0)
            assert 1 <= found.size <= len(code)
            assert text(found)


def golden():
    for line in WORDS.read_text().splitlines():
        if not line.startswith("#"):
            processor, size, code, written = line.split(" ", 3)
            yield processor, int(size), bytes.fromhex(code), written


def test_words_of_every_family_are_written_as_llvm_does():
    wrong = []
    for processor, size, code, written in golden():
        found = decode(code, 0, processor, size)
        if (text(found), found.size) != (written, len(code)):
            wrong.append((processor, code.hex(), text(found), written))
    assert not wrong


def test_decoding_needs_no_numpy():
    use = "from dwarfgpu.isa.decoder import decode; decode(bytes(8), 0, 'gfx90a', 64)"
    assert in_python(f"import sys; {use}; print('numpy' in sys.modules)") == "False\n"


@for_each("processor, code",
    ("gfx90a", "fc9f50dc 01000202"),                         ("gfx1030", "fc8f30dc 01000202"),
    ("gfx1100", "fc1f52dc 01000202"),                        ("gfx1200", "020005ee 02000000 01fcffff"))  # fmt: skip
def test_offsets_that_are_negative_have_their_sign(processor, code):
    instruction = decode(bytes.fromhex(code), 0, processor, 0)
    assert text(instruction).endswith("offset:-4")
    assert instruction.modifiers["offset"] == -4


@for_each(
    "words, written",
    ("be8001fe 80000001 12345678", "s_mov_b64 s[0:1], 0x1234567880000001"),
    ("040004fe 00000000 3ff80000", "v_add_f64_e32 v[0:1], 0x3ff80000, v[2:3]"),
    ("046004ff 3ff80000", "v_add_f64_e32 v[48:49], 0x3ff80000, v[2:3]"),
    ("be8000e7", "s_mov_b32 s0, src_flat_scratch_base_hi"),
    ("46000902 00000000 405ec000", "v_fmamk_f64 v[0:1], v[2:3], 0x405ec000, v[4:5]"),
    ("cf4d3101 03020106 05080700", "v_dual_fma_f32 v0, v1, v2, v3 :: v_dual_fma_f32 v5, v6, v7, v8"),
    ("bf860041", "s_set_vgpr_msb 0x41"),
    ("d0710001 7c000000 7c7c0400", "tensor_load_to_lds s[0:3], s[4:11], null, null"),
)
def test_instructions_of_gfx1250(words, written):
    """llvm-mc 22 wrote the words; a literal of 64 bits that 32 bits would do for is marked, so it is encoded alike."""
    assert text(instruction("gfx1250", words, 32)) == written


def test_a_product_of_gfx1250_with_scales_is_one_instruction():
    found = instruction("gfx1250", "cc356a00 2c020501 cc330c00 94a23108", 32)
    assert text(found) == (
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:35], v[40:47], v1, v2 matrix_a_fmt:MATRIX_FMT_BF8 "
        "matrix_b_fmt:MATRIX_FMT_FP6 matrix_a_scale:MATRIX_SCALE_ROW1 matrix_b_scale:MATRIX_SCALE_ROW1 "
        "matrix_a_scale_fmt:MATRIX_SCALE_FMT_E5M3 matrix_b_scale_fmt:MATRIX_SCALE_FMT_E4M3 "
        "matrix_a_reuse matrix_b_reuse neg_lo:[0,0,1] neg_hi:[0,0,1]"
    )
    assert (found.size, found.variant, found.operands[2].bits) == (16, "scale", 384)
    assert instruction("gfx1250", "cc350800 02020101 cc330042 02022522", 32).size == 16  # of LLVM 24


def test_each_row_of_gfx1250_is_written_as_llvm_does():
    """Some instructions of each row: registers, constants and modifiers by chance.

    Of the words of scales, LLVM 22 has 256 in the field of a third source, which they do not use; LLVM 24 has 128.
    """
    made = [each for instructions in examples("gfx1250", 32) for each in instructions]
    assert len({each.mnemonic for each in made}) > 1300
    try:
        oracle = Oracle("gfx1250", 32)
    except NoOracle as missing:
        raise lacking(str(missing)) from None
    unused = int.from_bytes(bytes(7) + b"\4", "little")
    numbers = [int.from_bytes(each.data, "little") | (unused if each.variant == "scale" else 0) for each in made]
    codes = [number.to_bytes(20, "little") for number in numbers]
    wrong = list(isa.differences(isa.decoder("gfx1250", 32), oracle, codes))
    oracle.close()
    assert not wrong, wrong[:10]


# --- The decoder against libLLVM: random words for every family of processors, and the tables -----------------------


FAMILIES = [family[0] for families in isa.FAMILIES.values() for family in families]


@pytest.mark.slow
@pytest.mark.parametrize("processor", FAMILIES)
def test_random_words_are_read_as_llvm_does(processor):
    major = isa.major_of(processor)
    wrong = []
    for size in isa.wave_sizes(processor):
        try:
            oracle = Oracle(processor, size if major >= 10 else 0)
        except NoOracle as missing:
            raise lacking(str(missing)) from None
        try:
            pieces = isa.random_words(major, share(20_000), seed=size)
            wrong += isa.differences(isa.decoder(processor, size), oracle, pieces)
        finally:
            oracle.close()
    assert not wrong, "\n".join(f"{code.hex()}: {ours!r}, LLVM: {theirs!r}" for code, ours, theirs in wrong[:10])
