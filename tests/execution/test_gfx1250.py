"""What GFX1250 adds, against its document; and that what is not known of it stops with a message."""

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.memory_actions import action_of
from tests.builders.instruction_bench import MEMORY, InstructionBench, assembled
from tests.builders.parameters import for_each

LANES = 32
NUMBERS = np.random.default_rng(1250)


@pytest.fixture
def it(require_tool):
    return InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)


def registers(count):
    return NUMBERS.integers(0, 1 << 32, (count, LANES), np.uint32)


@for_each("table, wanted",
    (0x40, lambda a, b: a & b), (0x54, lambda a, b: a | b), (0x14, lambda a, b: a ^ b), (0x10, lambda a, b: a & ~b),
    (0xBF, lambda a, b: ~(a & b)), (0, lambda a, b: a & b & 0))  # fmt: skip
def test_dual_instructions_of_three_words(it, table, wanted):
    """Both halves read before either writes; bitop2 reads 0 as its third source (CDNA 5, 7.8.1)."""
    a, b, c = registers(3)
    it.vectors(a, b, c)
    it.run(f"v_dual_fma_f32 v1, 0, v1, -v2 :: v_dual_bitop2_b32 v2, v0, v1 bitop3:{table:#x}")
    assert (it.read(2)[0] == wanted(a, b)).all()
    it.vectors(a, b, c)
    it.scalar(4, 0x0F0F1234)
    it.run("v_dual_cndmask_b32 v3, v0, v1, s4 :: v_dual_ashrrev_i32 v2, 3, v2")
    chosen = 0x0F0F1234 >> np.arange(LANES) & 1
    assert (it.read(3)[0] == np.where(chosen, b, a)).all()
    assert (it.read(2, "i4")[0] == c.view(np.int32) >> 3).all()


def test_dual_instructions_of_doubles(it):
    x, y, z = NUMBERS.standard_normal((3, LANES))
    it.vector(0, x)
    it.vector(2, y)
    it.vector(10, z)
    it.run("v_dual_mul_f64 v[6:7], v[0:1], -v[2:3] :: v_dual_mov_b32 v1, v10")
    assert (it.read(6, "f8")[0] == -(x * y)).all()
    assert (it.read(1)[0] == z.view(np.uint32)[::2]).all()


@for_each("text, scale", ("v1, s[4:5]", 1), ("v1, s[4:5] scale_offset", 4), ("v1, s[4:5] offset:64 scale_offset", 4))
def test_offsets_in_units_of_the_access(it, text, scale):
    """A register that is added to a scalar base counts units of the access; the constant does not (CDNA 5, 10.2)."""
    words = it.bytes.view(np.uint32)
    words[:] = np.arange(len(words))
    offsets = NUMBERS.permutation(LANES).astype(np.uint32) * (4 // scale)
    it.vectors(offsets, offsets)
    it.scalar(4, MEMORY + 128, 64)
    it.run(f"global_load_b32 v2, {text}")
    assert (it.read(2)[0] == 32 + offsets * scale // 4 + (16 if "offset:64" in text else 0)).all()


def test_scalar_offsets_in_units_of_the_access(it):
    words = it.bytes.view(np.uint32)
    words[:] = np.arange(len(words))
    it.scalar(4, MEMORY, 64)
    it.scalar(6, 5)
    it.run("s_load_b64 s[8:9], s[4:5], s6 offset:0x10 scale_offset")
    assert [it.batch.scalar[number] for number in (8, 9)] == [14, 15]


@for_each("text", "global_load_b32 v2, v1, s[4:5]", "global_store_b32 v1, v2, s[4:5] scale_offset")
def test_offsets_with_the_highest_bit_are_not_known(it, text):
    it.vector(1, np.full(LANES, 0xFFFFFFFC, np.uint32))
    it.scalar(4, MEMORY + 64, 64)
    with pytest.raises(UnknownInstruction, match="documents differ"):
        it.run(text)
    it.vector(1, np.where(np.arange(LANES) == 3, 0xFFFFFFFC, 0).astype(np.uint32))
    it.batch.set_exec(~(1 << 3) & 0xFFFFFFFF)
    it.run(text)


@for_each(
    "text",
    "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[24:31]",
    "v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v40",
    "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], v1, v2",
    "v_cvt_f32_fp8 v0, v1",
    "buffer_load_b32 v0, v1, s[4:7], null offen",
    "s_buffer_load_b32 s0, s[4:7], 0",
    "flat_load_b32 v0, v[2:3]",
    "scratch_load_b32 v0, v1, off scale_offset",
    "s_set_vgpr_msb 0x41",
    "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0x1000",
    "s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s0",
    "s_getreg_b32 s0, hwreg(HW_REG_WAVE_STATUS)",
    "s_mov_b64 s[0:1], src_shared_base",
    "s_get_barrier_state s0, -1",
)
def test_what_is_not_known_stops_with_a_message(it, text):
    with pytest.raises(UnknownInstruction, match="what it does on gfx1250 is not known here"):
        it.run(text)


def test_what_each_kernel_begins_with(it):
    """No cluster: IB_STS2 is 0; REPLAY_MODE changes nothing here; no number of a register gets higher bits."""
    it.scalar(0, 7)
    it.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1\ns_getreg_b32 s0, hwreg(HW_REG_IB_STS2)")
    it.run("s_set_vgpr_msb 0x4100\ns_wait_xcnt 0x0\nglobal_prefetch_b8 v0, s[4:5]")
    assert it.batch.scalar[0] == 0


@for_each("text, operation, counters, written",
    ("global_load_async_to_lds_b128 v0, v[2:3], off", "load", ("asynccnt",), False),
    ("global_store_async_from_lds_b32 v[2:3], v0, off", "store", ("asynccnt",), False),
    ("tensor_load_to_lds s[0:3], s[4:11]", "load", ("tensorcnt",), False),
    ("global_load_monitor_b32 v0, v[2:3], off", "load", ("loadcnt",), True),
    ("cluster_load_b32 v0, v[2:3], off", "load", ("loadcnt",), True),
    ("global_prefetch_b8 v[2:3], off", "", (), False))  # fmt: skip
def test_effects_on_memory(require_tool, text, operation, counters, written):
    (code,) = assembled(require_tool("llvm-mc-22"), text, "gfx1250", LANES)
    instruction = decode(code, 0, "gfx1250", LANES)
    action = action_of(instruction, 12)
    assert (action.operation, action.counters, bool(action.written)) == (operation, counters, written)
    assert bool(instruction.destinations) == written


def test_jumps_and_calls_under_their_new_names(it):
    it.scalar(2, 0x123456789ABC0, 64)
    assert it.run("s_set_pc_i64 s[2:3]") == 0x123456789ABC0
    assert it.run("s_swap_pc_i64 s[6:7], s[2:3]") == 0x123456789ABC0
    assert (it.batch.scalar[6], it.batch.scalar[7]) == (0x1004, 0)
    it.run("s_get_pc_i64 s[8:9]")
    assert (it.batch.scalar[8], it.batch.scalar[9]) == (0x1004, 0)
    assert it.run("s_call_i64 s[10:11], 3") == 0x1010
    assert it.batch.scalar[10] == 0x1004
