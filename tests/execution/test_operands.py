"""Operands of operations: constants, halves of registers, and registers that nothing has written."""

import numpy as np
import pytest

from dwarfgpu.execution.batch import UNSET, WaveBatch, lane_mask
from dwarfgpu.execution.faults import UnknownInstruction
from tests.builders.instruction_bench import MEMORY, InstructionBench

HALFS = np.linspace(-3, 3, 64).astype(np.float16)


@pytest.fixture
def bench(require_tool):
    return lambda processor, lanes=64, **more: InstructionBench(require_tool("llvm-mc-22"), processor, lanes, **more)


def halfs(it, number):
    return (it.read(number)[0] & 0xFFFF).astype(np.uint16).view(np.float16)


@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx1030", "gfx1200"])
@pytest.mark.parametrize(
    "operation, wanted",
    [
        ("v_add_f16_e64 v9, v0, -1.0", lambda x: x - np.float16(1)),
        ("v_mul_f16_e64 v9, v0, -0.5", lambda x: x * np.float16(-0.5)),
        ("v_fma_f16 v9, v0, 2.0, 4.0", lambda x: x * np.float16(2) + np.float16(4)),
        ("v_max_f16_e64 v9, -2.0, v0", lambda x: np.maximum(x, np.float16(-2))),
        ("v_pk_add_f16 v9, v0, 1.0", lambda x: x + np.float16(1)),
    ],
)
def test_a_constant_of_an_operation_on_halfs_is_a_half(bench, processor, operation, wanted):
    """The constants are those of the type of the operation (ISA documents, "Inline Constants")."""
    lanes = 64 if processor.startswith("gfx9") else 32
    if processor == "gfx1200":
        operation = operation.replace("v_max_f16", "v_max_num_f16")
    it = bench(processor, lanes)
    it.vector(0, HALFS[:lanes].view(np.uint16).astype(np.uint32))
    it.run(operation)
    assert (halfs(it, 9) == wanted(HALFS[:lanes])).all()


def test_halfs_are_compared_with_constants(bench):
    it = bench("gfx90a")
    it.vector(0, HALFS.view(np.uint16).astype(np.uint32))
    it.run("v_cmp_lt_f16_e64 s[4:5], -1.0, v0\nv_mov_b32 v9, s4\nv_mov_b32 v10, s5")
    mask = int(it.read(9)[0][0]) | int(it.read(10)[0][0]) << 32
    assert [bool(mask >> lane & 1) for lane in range(64)] == (HALFS > -1).tolist()


@pytest.mark.parametrize("waves", [1, 3])
def test_a_scalar_operation_on_halfs_reads_low_halves(bench, waves):
    """What is in the other half of a scalar register has no part in it (GFX12 ISA document, "Scalar ALU")."""
    it = bench("gfx1200", 32, waves=waves)
    it.scalar(4, 0x0001_3C00)  # 1.0
    it.scalar(5, 0xFFFF_4000)  # 2.0
    it.run("s_add_f16 s6, s4, s5\ns_mul_f16 s7, s5, s5\ns_cmp_lt_f16 s4, s5\ns_cselect_b32 s8, 1, 0")
    assert [int(np.ravel(it.batch.scalar[number])[0]) for number in (6, 7, 8)] == [0x4200, 0x4400, 1]


def test_the_number_of_bits_may_be_in_the_high_half(bench):
    """GFX11: the third source of v_alignbit_b32 has 16 bits."""
    it = bench("gfx1100", 32)
    numbers = np.arange(32, dtype=np.uint32)
    it.vector(0, np.full(32, 0x12345678, np.uint32))
    it.vector(1, np.full(32, 0x9ABCDEF0, np.uint32))
    it.vector(2, numbers << 16 | 5)
    it.run("v_alignbit_b32 v9, v0, v1, v2.h\nv_alignbit_b32 v10, v0, v1, v2.l")
    both = 0x123456789ABCDEF0
    assert it.read(9)[0].tolist() == [both >> lane & 0xFFFFFFFF for lane in range(32)]
    assert it.read(10)[0].tolist() == [both >> 5 & 0xFFFFFFFF] * 32


def test_bytes_go_to_a_half_and_packed_integers_have_no_other_sign(bench):
    it = bench("gfx1100", 32)
    it.vector(0, np.full(32, 0x0102_FFFF, np.uint32))  # 258 is 255 at most, -1 is 0 at least
    it.vector(9, np.full(32, 0x11112222, np.uint32))
    it.run("v_sat_pk_u8_i16 v9.h, v0")
    assert it.read(9)[0].tolist() == [0xFF002222] * 32
    it = bench("gfx90a")
    it.vector(0, np.zeros(64, np.uint32))
    with pytest.raises(UnknownInstruction, match="of integers with another sign"):
        it.run("v_pk_mad_u16 v9, v0, v0, v0 neg_lo:[1,0,0]")


@pytest.mark.parametrize(
    "processor, word, operand",
    [
        ("gfx90a", 0x7E04A205, "s5"),  # v_swap_b32 v2, s5
        ("gfx1030", 0x7E04CA05, "s5"),  # v_swap_b32 v2, s5
        ("gfx1030", 0x7E048605, "s5"),  # v_movrels_b32 v2, s5
        ("gfx1030", 0x7E04D0C1, "-1"),  # v_swaprel_b32 v2, -1
    ],
)
def test_a_bad_encoding_is_not_taken_for_a_vector_register(bench, processor, word, operand):
    """The source of these can only be a vector register (RDNA2 ISA document, 12.7): LLVM calls others invalid."""
    it = bench(processor, 64 if processor == "gfx90a" else 32)
    for number in range(8):
        it.vector(number, np.zeros(it.lanes, np.uint32))
    with pytest.raises(UnknownInstruction, match=f"{operand} in the place of a vector register"):
        it.execute([word.to_bytes(4, "little")])


def test_registers_of_nothing_and_masks_of_lanes():
    column = np.full((3, 1), 1 << 63, np.uint64)
    for found in (UNSET | column, column | UNSET, column - UNSET, np.where(column > 0, column, UNSET)):
        assert found.dtype == np.uint64
        assert (found == column).all()
    batch = WaveBatch([0, 1, 2], 32, 0, 0)
    flags = np.asfortranarray(np.arange(96).reshape(3, 32) % 3 == 0)
    wanted = [sum(1 << lane for lane in range(32) if flags[wave, lane]) for wave in range(3)]
    assert lane_mask(flags, batch)[:, 0].tolist() == wanted


@pytest.mark.parametrize("waves", [1, 3])
def test_scalar_offsets_may_be_negative(bench, waves):
    """SMEM: the immediate offset has a sign (ISA documents of GFX9, "SMEM")."""
    it = bench("gfx900", 64, waves=waves)
    it.bytes[:64] = np.arange(64)
    base = MEMORY + 0x20
    it.scalar(4, base if waves == 1 else np.full((waves, 1), base, np.uint64))
    it.scalar(5, 0)
    it.scalar(6, 7)
    it.scalar(7, 0)
    it.run("s_load_dword s8, s[4:5], -0x10\ns_atomic_add s6, s[4:5], -0x8\ns_store_dword s6, s[4:5], -0x4")
    assert np.ravel(it.batch.scalar[8])[0] == 0x13121110
    assert it.bytes[0x18:0x20].view(np.uint32).tolist() == [0x1B1A1918 + 7 * waves, 7]
