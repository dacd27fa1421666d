"""What GFX1250 adds, against its document; and that what is not known of it stops with a message."""

import re
import subprocess

import numpy as np
import pytest

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.execution.faults import NO_SOURCE, SOURCES_DIFFER, MachineFault, UnknownInstruction
from dwarfgpu.execution.launch.argument_values import array_at
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.isa.decoder import bank_field_of, decode, decoder
from dwarfgpu.isa.frame_state import CodeReading
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.isa.memory_actions import action_of
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.instructions import Disassembler, ProgramCode
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.frames.execution import Execution
from tests.builders.float_models import eight_bits
from tests.builders.instruction_bench import LOCAL_SIZE, MEMORY, InstructionBench, assembled
from tests.builders.parameters import for_each
from tests.execution.test_matrices import INDEX, A, B, C, D, as_result, get, put, signed, some
from tests.execution.test_matrices import registers as columns

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
    offsets = (NUMBERS.permutation(LANES) - LANES // 2) * (4 // scale)  # signed (10.2)
    it.vectors(*[offsets.astype(np.int32).view(np.uint32)] * 2)
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


def private_address(place):
    """Make generic addresses as LLVM does of private ones: the lane in bits 52 to 56, and the base of the wave."""
    return f"""v_mbcnt_lo_u32_b32 v1, -1, 0
        v_lshlrev_b32_e64 v3, 20, v1
        v_mov_b32_e32 v2, {place}
        s_mov_b64 s[4:5], src_flat_scratch_base_lo
        v_add_nc_u64_e64 v[2:3], v[2:3], s[4:5]"""


def test_generic_addresses_of_private_memory(require_tool):
    """CDNA 5, 10.2: addrspacecast of LLVM 22 there and back, and its question whether an address is private."""
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES, waves=3)
    it.scratch[:] = NUMBERS.integers(0, 256, it.scratch.shape)
    words = it.scratch.view(np.uint32).reshape(3, -1, LANES)
    it.vectors(*registers(12))
    it.run(private_address(20))
    kept, expected = it.read(7)[0], words.copy()
    it.run("flat_load_b64 v[4:5], v[2:3] offset:-8\nflat_store_b32 v[2:3], v7 offset:4")
    it.run("flat_load_u8 v6, v[2:3] offset:1")
    assert (it.read(4) == expected[:, 3]).all()
    assert (it.read(5) == expected[:, 4]).all()
    assert (it.read(6) == expected[:, 5] >> 8 & 0xFF).all()
    expected[:, 6] = kept
    assert (words == expected).all()
    it.run("v_sub_nc_u32 v8, v2, s4\ns_mov_b32 s6, src_flat_scratch_base_hi\nv_xor_b32 v9, s6, v3")
    assert (it.read(8) == 20).all()
    assert (it.read(9) < 1 << 26).all()
    assert len(set(it.read(3).flat)) == 3 * LANES
    assert it.with_forms > 6 or it.forms is None


def test_generic_addresses_of_both_kinds(it):
    """Lanes without a flag may have any address."""
    it.run(private_address(8))
    it.vector(4, np.arange(LANES, dtype=np.uint64) * 4 + (1 << 57))
    it.run("s_mov_b64 s[6:7], src_shared_base\nv_cmp_gt_u32 vcc_lo, 16, v1")
    it.run("v_dual_cndmask_b32 v2, v4, v2 :: v_dual_cndmask_b32 v3, v5, v3")
    assert it.batch.scalar[7] << 32 == 1 << 57
    it.local[:], it.scratch[:] = 0x22, 0x11
    it.run("flat_load_b32 v6, v[2:3]")
    assert (it.read(6)[0] == np.where(np.arange(LANES) < 16, 0x11111111, 0x22222222)).all()
    it.run(private_address(8))
    it.run("v_lshlrev_b32_e64 v4, 20, 1\nv_xor_b32 v3, v3, v4\ns_mov_b32 s8, 1")
    with pytest.raises(UnknownInstruction, match="private memory of another lane"):
        it.run("flat_load_b32 v6, v[2:3]")
    it.batch.set_exec(0)
    it.run("flat_load_b32 v6, v[2:3]")


@for_each("text, place", ("v0, s4 offset:4 scale_offset", 4), ("v0, off offset:4 scale_offset", 0))
def test_private_offsets_in_units_of_the_access(it, text, place):
    it.scratch[:] = NUMBERS.integers(0, 256, it.scratch.shape)
    words = it.scratch.view(np.uint32).reshape(-1, LANES)
    index = NUMBERS.integers(0, 3, LANES).astype(np.uint32)
    it.vector(0, index)
    it.scalar(4, 4)
    it.run(f"scratch_load_b64 v[2:3], {text}")
    assert (it.read(2)[0] == words[1 + place // 4 + 2 * index, np.arange(LANES)]).all()


BEFORE = """
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %before = sub i32 0, %lane
  %index = sext i32 %before to i64
  %place = getelementptr i8, ptr addrspace(1) %in, i64 %index
  %from = getelementptr i8, ptr addrspace(1) %place, i64 31
  %byte = load i8, ptr addrspace(1) %from
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %lane
  store i8 %byte, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"""


@for_each("jit", "off", "on")
def test_negative_indices(compile_text, jit):
    """LLVM lets the load add a negative index of 32 bits to a scalar base."""
    path = compile_text("gfx1250", BEFORE, "-O2")
    machine, numbers = machine_for(path, "k"), np.arange(32, dtype=np.uint8)
    machine.jit = jit
    launched = launch(machine, path, "k", grid=32, work_group=32, args=[numbers, np.zeros(32, np.uint8)])
    assert machine.run(limit=10_000).has_ended
    assert (launched.buffers["out"] == numbers[::-1]).all()


FAR = """
define protected amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %count) {
entry:
  br label %loop
loop:
  %round = phi i32 [ 0, %entry ], [ %next, %back ]
  %goes.on = icmp ult i32 %round, %count
  br i1 %goes.on, label %far, label %end
far:
  call void asm sideeffect "CODE", ""()
  br label %back
back:
  %next = add i32 %round, 1
  br label %loop
end:
  store i32 %round, ptr addrspace(1) %out
  ret void
}
"""


@pytest.mark.slow
@for_each("jit", "off", "on")
def test_branches_to_far_code(compile_text, jit):
    """LLVM branches there and back with s_add_pc_i64, whose distance is from the next instruction on."""
    path = compile_text("gfx1250", FAR.replace("CODE", "s_nop 0\\0A" * 35_000))
    machine = machine_for(path, "k")
    machine.jit = jit
    launched = launch(machine, path, "k", grid=32, work_group=32, args=[np.zeros(32, np.uint32), 3])
    assert machine.run(limit=1_000_000).has_ended
    assert launched.buffers["out"][0] == 3
    assert machine.device.executed > 3 * 35_000


@for_each("text, branch",
    ("s_add_pc_i64 -16", -12), ("s_add_pc_i64 0x12345", 0x1234D), ("s_add_pc_i64 0xfffffffffffddce4", -0x22310),
    ("s_add_pc_i64 lit64(0xfffffc18)", 0xFFFFFC24), ("s_add_pc_i64 s[2:3]", None))  # fmt: skip
def test_distances_of_branches_to_far_code(require_tool, text, branch):
    (code,) = assembled(require_tool("llvm-mc-22"), text, "gfx1250", LANES)
    assert decode(code, 0, "gfx1250", LANES).branch == branch
    with pytest.raises(UnknownInstruction, match="distance in registers"):
        InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES).run("s_add_pc_i64 s[2:3]")


@for_each("literal", "0xfffffffffffddce4", "0x123480000001", "lit64(0x80000000)", "lit64(0x7fffffff)")
def test_literals_of_64_bits_have_their_own_sign(it, literal):
    """Only a literal of 32 bits gets its sign from bit 31 (CDNA 5, 4.1)."""
    number = int(literal.removeprefix("lit64(").removesuffix(")"), 16)
    number -= number >> 63 << 64
    others = np.array([number - 1, number, number + 1, -(1 << 40), 1 << 40, 1 << 31, -1, 0] * 4, np.int64)
    it.vector(2, others)
    it.run(f"v_cmp_lt_i64 vcc_lo, {literal}, v[2:3]")
    assert [it.vcc >> lane & 1 for lane in range(LANES)] == [int(number < other) for other in others.tolist()]


@for_each(
    "text",
    "v_cvt_f32_fp8 v0, v1 clamp",
    "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 12, 4), 1",
    "s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s0",
    "s_getreg_b32 s0, hwreg(HW_REG_WAVE_STATUS)",
    "s_mov_b64 s[0:1], src_private_base",
)
def test_what_is_not_known_stops_with_a_message(it, text):
    with pytest.raises(UnknownInstruction, match="what it does on gfx1250 is not known here"):
        it.run(text)


def resource(bench, first, base, size, *, stride=0, scale=0, flags=0):
    """Fill four scalar registers with a buffer resource (CDNA 5, table 57)."""
    whole = base | size << 57 | stride << 108 | scale << 122 | flags << 124
    for number in range(4):
        bench.scalar(first + number, whole >> 32 * number)


EVERYTHING = (1 << 45) - 1


@for_each("flags, stride, scale, size",
    (0, 0, 0, 400), (0, 16, 1, 400), (0, 24, 0, EVERYTHING), (2, 120, 0, 400), (1, 16, 0, 40))  # fmt: skip
def test_buffers(it, flags, stride, scale, size):
    """Each dword of a lane is inside or not; what is outside reads 0, and is not stored (CDNA 5, 9.4.1 and 9.4.2)."""
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    memory = bytes(it.bytes)
    resource(it, 4, MEMORY + 64, size, stride=stride, scale=scale, flags=flags)
    index, offset = NUMBERS.integers(0, 8, LANES), NUMBERS.integers(0, 2 if flags == 1 else 90, LANES) * 4
    it.vectors(index.astype(np.uint32), offset.astype(np.uint32))
    it.scalar(8, 12)
    it.run("buffer_load_b96 v[4:6], v[0:1], s[4:7], s8 idxen offen offset:4")
    step = stride * (1, 4, 8, 32)[scale]
    for lane in range(LANES):
        place = int(offset[lane]) + 4 + 12
        for word in range(3):
            if flags == 1:  # 32 records, 16 bytes of each in turn
                at = (place // 16 * 16) * 32 + int(index[lane]) % 32 * 16 + place % 16 + 4 * word
                inside = True
            else:
                at = int(index[lane]) * step + place + 4 * word
                inside = size == EVERYTHING or at + 4 <= size
                inside = inside and (flags != 2 or place + 4 * word + 4 <= step)
            wanted = int.from_bytes(memory[at + 64 : at + 68], "little") if inside else 0
            assert it.read(4 + word)[0, lane] == wanted, (lane, word)


def test_stores_to_buffers(it):
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    expected = it.bytes.view(np.uint32).copy()
    resource(it, 4, MEMORY, 16 * 30 + 8)
    (data,) = registers(1)
    it.vectors(np.arange(LANES, dtype=np.uint32) * 16, data, data, data + 1, data + 2)
    it.run("buffer_store_b96 v[2:4], v0, s[4:7], null offen")
    for lane in range(31):
        for word in range(3 if lane < 30 else 2):
            expected[lane * 4 + word] = data[lane] + np.uint32(word)
    assert (it.bytes.view(np.uint32) == expected).all()
    resource(it, 4, MEMORY, 16 * 30 + 4)  # of an atomic operation all bytes are inside, or it is not done
    it.run("buffer_atomic_add_u64 v[2:3], v0, s[4:7], null offen")
    longs = expected.view(np.uint64)
    longs[:60:2] += data[:30].astype(np.uint64) | (data[:30] + np.uint32(1)).astype(np.uint64) << np.uint64(32)
    assert (it.bytes.view(np.uint32) == expected).all()


def test_scalar_loads_of_buffers(it):
    """The lowest bits of each part do not count (CDNA 5, 8.1.2); behind the end is 0 (9.4.1.4)."""
    words = it.bytes.view(np.uint32)
    words[:] = np.arange(len(words)) + 1
    resource(it, 4, MEMORY + 130, 30)
    it.scalar(8, 15)
    it.run("s_buffer_load_b128 s[12:15], s[4:7], s8 offset:0x7\ns_buffer_load_i8 s16, s[4:7], 0x2")
    assert [it.batch.scalar[12 + number] for number in range(4)] == [37, 38, 39, 0]
    assert it.batch.scalar[16] == 34


def test_resources_of_other_types(it):
    resource(it, 4, MEMORY, 64, flags=4)
    with pytest.raises(UnknownInstruction, match="whose type is not 0"):
        it.run("buffer_load_b32 v0, v1, s[4:7], null offen")


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


def test_registers_above_255(it):
    """CDNA 5, 3.3.2.3: which two bits count for an operand depends on the format; LLVM 22 has the same table."""
    a, b, c = registers(3)
    a, b, c = a & 0x3FFFFFFF, b & 0x3FFFFFFF, c & 0x3FFFFFFF  # no NaNs, no infinities
    for number, column in ((0, a), (257, b), (514, c)):
        it.vector(number, column)
    it.run("s_set_vgpr_msb 0xe4\nv_bitop3_b32 v3, v0, v1, v2 bitop3:0x96")  # v771, of v0, v257 and v514
    assert (it.read(771)[0] == a ^ b ^ c).all()
    assert it.batch.mode >> 12 & 0xFF == 0x93
    it.run("v_dual_fma_f32 v4, 0, v1, v2 :: v_dual_bitop2_b32 v5, v0, v1 bitop3:0x14\nv_xor_b32 v6, v0, v1")
    assert (it.read(772, "f4")[0] == c.view(np.float32)).all()
    assert (it.read(773)[0] == a ^ b).all()
    assert (it.read(774)[0] == a ^ b).all()
    it.run("v_fmamk_f32 v7, v0, 0x0, v2\ns_set_vgpr_msb 0xe440\nv_mov_b32 v8, v0")  # the literal is the second source
    assert (it.read(775, "f4")[0] == c.view(np.float32)).all()
    assert (it.read(264)[0] == a).all()
    it.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 0x1001\ns_getreg_b32 s0, hwreg(HW_REG_WAVE_MODE, 12, 8)")
    assert it.batch.scalar[0] == 1
    it.run("s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), s0\nv_mov_b32 v9, v0")
    assert (it.read(265)[0] == a).all()


def test_memory_of_registers_above_255(it):
    it.bytes.view(np.uint32)[:] = np.arange(1024)
    it.local.view(np.uint32)[:] = np.arange(1024) + 5000
    places = NUMBERS.permutation(LANES).astype(np.uint32) * 8
    it.vector(256, places)
    it.scalar(4, MEMORY, 64)
    it.run("s_set_vgpr_msb 0x81\nglobal_load_b64 v[2:3], v0, s[4:5]\nds_load_b64 v[4:5], v0")  # v514, v516 at v256
    assert (it.read(515)[0] == places // 4 + 1).all()
    assert (it.read(517)[0] == places // 4 + 5001).all()
    it.run("s_set_vgpr_msb 0x9\nglobal_store_b32 v0, v4, s[4:5]")
    it.run("s_set_vgpr_msb 0x29\nds_store_2addr_b32 v0, v2, v3 offset1:1")
    assert (it.bytes.view(np.uint32)[places // 4] == places // 4 + 5000).all()
    assert (it.local.view(np.uint32)[0, places // 4] == places // 4).all()
    assert (it.local.view(np.uint32)[0, places // 4 + 1] == places // 4 + 1).all()


def test_every_operand_in_vector_registers_has_its_bits():
    decoding, names, random = decoder("gfx1250", LANES), set(), np.random.default_rng(3)
    for layout in {id(layout): layout for rows in decoding._formats for layout in rows}.values():
        for word in random.integers(0, 256, (1000, 16), np.uint8):
            number = int.from_bytes(word.tobytes(), "little") & ~layout.mask | layout.match
            instruction = decoding.executed(number.to_bytes(16, "little") + bytes(8))
            for part in instruction.components or (instruction,):
                for operand in part.operands:
                    if operand.kind is OperandKind.VGPR:
                        names.add(operand.name)
                        bank_field_of(part, operand)
    assert {"vdst", "vdsty", "src0", "data1", "vdata"} <= names


MANY = """
__attribute__((amdgpu_waves_per_eu(1, 1), reqd_work_group_size(32, 1, 1)))
kernel void many(global const uint *in, global uint *out)
{
    uint x[280], lane = __builtin_amdgcn_workitem_id_x(), sum = 0;
    _Pragma("unroll") for (int i = 0; i < 280; i++) x[i] = in[i * 32 + lane];
    __asm__ volatile("" ::: "memory");
    _Pragma("unroll") for (int i = 279; i >= 0; i--) x[i] ^= sum = sum * 3 + x[i];
    _Pragma("unroll") for (int i = 0; i < 280; i++) out[i * 32 + lane] = x[i];
}
"""


@pytest.mark.slow
def test_a_kernel_with_more_than_256_registers(require_tool, compile_text):
    path = compile_text("gfx1250", MANY, "-x", "cl", "-O2")
    machine = machine_for(path, "many")
    given = NUMBERS.integers(0, 1 << 32, (280, LANES), np.uint32)
    launched = launch(
        machine, path, "many", grid=LANES, work_group=LANES, args=[given.reshape(-1), given.reshape(-1) * 0]
    )
    assert machine.run().has_ended
    assert max(machine.device.register_counts) > 256
    wanted, total = given.copy(), np.zeros(LANES, np.uint32)
    for number in range(279, -1, -1):
        total = total * np.uint32(3) + given[number]
        wanted[number] ^= total
    assert (array_at(machine.memory, launched.plan.buffers[1]).reshape(-1, LANES) == wanted).all()
    assert [*MemoryCheck(opened(path), from_source=False).findings()] == []  # each load has a register of its own
    ours, theirs = listed(path), disassembled(require_tool("llvm-objdump-22"), path)
    first = next(address for address, text in theirs.items() if text.startswith("s_set_vgpr_msb"))
    assert ours.keys() == theirs.keys()
    assert all(ours[each] == theirs[each] or each < first for each in ours)  # it does not follow s_setreg


def listed(path):
    """The instructions of a file by address; some are listed alone, too."""
    file = opened(path)
    code = ProgramCode(Execution(Loaded([LoadedCode(file, is_linked=True)]), file.target.target), Disassembler())
    (symbol,) = (each for each in file.symbol_image.symbols() if each.name == "many")
    rows = code.between(symbol.value, symbol.value + symbol.size).instructions
    assert all(code.some(row.address, 1).instructions == (row,) for row in rows[::97])
    return {row.address: row.text for row in rows}


def disassembled(tool, path):
    done = subprocess.run([tool, "-d", "--disassemble-symbols=many", path], check=True, capture_output=True, text=True)
    rows = re.findall(r"^\t(.*?)\s*// ([0-9A-F]+):", done.stdout, re.MULTILINE)
    assert any("/*v2" in text for text, _address in rows)
    return {int(address, 16): text for text, address in rows}


def test_a_function_keeps_the_register_whose_number_gets_bits(require_tool):
    text = """s_set_vgpr_msb 0x40
        v_mov_b32 v40, 0
        s_set_vgpr_msb 0x4000
        v_mov_b32 v41, 0
        s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 0x2000
        v_mov_b32 v42, 0
        s_set_pc_i64 s[30:31]"""
    code = b"".join(assembled(require_tool("llvm-mc-22"), text, "gfx1250", LANES))
    reading = CodeReading("gfx1250", LANES, 1, lambda _address: (0, code), lambda _address: None)
    assert reading.function_at(0).clobbers.active == {296, 41, 554}


KINDS = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "f32": 32}


def rounded(kind, numbers):
    return numbers.astype(np.float16) if kind == "f16" else numbers


def fragment(bench, first, kind, codes, block):
    """Fill the registers of A or B, ``[row, k]``: lane and place of CDNA 5, 7.12.2, by blocks of neighbouring K."""
    rows, depth = codes.shape
    places = {}
    for row in range(rows):
        for k in range(depth):
            lane, slot = row + 16 * (k // block % 2), k // (2 * block) * block + k % block
            places[lane, slot] = codes[row, k]
    put(bench, first, kind, places)


@for_each("name",
    "f32_16x16x4_f32", "f32_16x16x32_f16", "f32_16x16x32_bf16", "f16_16x16x32_f16", "bf16_16x16x32_bf16",
    "bf16f32_16x16x32_bf16", "f32_16x16x64_fp8_bf8", "f32_16x16x64_bf8_bf8", "f16_16x16x64_fp8_fp8",
    "f32_16x16x128_bf8_fp8", "f16_16x16x128_fp8_fp8", "i32_16x16x64_iu8")  # fmt: skip
def test_products_of_matrices(it, name):
    result, dimensions, *kinds = name.split("_")
    depth, (left, right) = int(dimensions.split("x")[2]), (kinds * 2)[:2]
    a, a_codes = some(left, (16, depth), "gfx1250")
    b, b_codes = some(right, (16, depth), "gfx1250")
    block = 2 if left == "f32" else 8
    for first, kind, codes in ((A, left, a_codes), (B, right, b_codes)):
        fragment(it, first, kind, codes, block)
    addend = "f32" if result == "bf16f32" else result
    c, c_codes = some({"i32": "i8"}.get(addend, addend), (16, 16), "gfx1250")
    put(it, C, addend, {(n + 16 * (m // 8), m % 8): c_codes[m, n] for m in range(16) for n in range(16)})
    result = "bf16" if result == "bf16f32" else result
    each, half, wide = depth // 2, 16 if result in ("f16", "bf16") else 32, 16 if addend in ("f16", "bf16") else 32
    operands = columns(D, half, 8), columns(A, KINDS[left], each), columns(B, KINDS[right], each), columns(C, wide, 8)
    for signs in range(4) if left == "iu8" else (0,):
        it.run(f"v_wmma_{name} {', '.join(operands)}" + (f" neg_lo:[{signs & 1},{signs >> 1},0]" if signs else ""))
        x, y = (signed(v, 8) if signs >> n & 1 else v for n, v in enumerate((a, b))) if left == "iu8" else (a, b)
        wanted = rounded(result, c + x @ y.T)
        for m in range(16):
            for n in range(16):
                assert get(it, D, result, n + 16 * (m // 8), m % 8) == as_result(result, wanted[m, n]), (m, n, signs)


@for_each(
    "name", "f32_16x16x64_f16", "f32_16x16x64_bf16", "f16_16x16x64_f16", "bf16_16x16x64_bf16",
    "bf16f32_16x16x64_bf16", "f32_16x16x128_fp8_bf8", "i32_16x16x128_iu8",
)  # fmt: skip
def test_products_of_sparse_matrices(it, name):
    """CDNA 5, 7.12.4: 2 bits of a lane for each of its elements of A; lanes have every second 16 of the K of B."""
    result, dimensions, *kinds = name.split("_")
    depth, (left, right) = int(dimensions.split("x")[2]), (kinds * 2)[:2]
    a, a_codes = some(left, (16, depth // 2), "gfx1250")
    b, b_codes = some(right, (16, depth), "gfx1250")
    fragment(it, A, left, a_codes, 8)
    fragment(it, B, right, b_codes, 16)
    whole, bits = np.zeros((16, depth)), np.zeros(LANES, np.uint64)
    for m in range(16):
        for k in range(0, depth // 2, 2):
            first, second = sorted(NUMBERS.choice(4, 2, replace=False).tolist())
            lane, slot = m + 16 * (k // 8 % 2), k // 16 * 8 + k % 8
            bits[lane] |= np.uint64((first | second << 2) << 2 * slot)
            whole[m, 2 * k + first], whole[m, 2 * k + second] = a[m, k], a[m, k + 1]
    addend, result = ("f32", "bf16") if result == "bf16f32" else (result, result)
    c, c_codes = some({"i32": "i8"}.get(addend, addend), (16, 16), "gfx1250")
    put(it, D, addend, {(n + 16 * (m // 8), m % 8): c_codes[m, n] for m in range(16) for n in range(16)})
    it.vector(INDEX, bits if left not in ("f16", "bf16") else bits.astype(np.uint32))
    operands = [
        columns(D, 16 if addend in ("f16", "bf16") else 32, 8), columns(A, KINDS[left], depth // 4),
        columns(B, KINDS[right], depth // 2), columns(INDEX, 2, depth // 4)]  # fmt: skip
    it.run(f"v_swmmac_{name} {', '.join(operands)}")
    wanted = rounded(result, c + whole @ b.T)
    for m in range(16):
        for n in range(16):
            assert get(it, D, result, n + 16 * (m // 8), m % 8) == as_result(result, wanted[m, n]), (m, n)


@for_each("kind", "fp8", "bf8")
def test_floats_of_8_bits(it, kind):
    numbers = np.array([eight_bits(kind, is_fnuz=False)(code) for code in range(256)], np.float32)
    codes = NUMBERS.integers(0, 256, (4, LANES))
    words = (codes << np.array([[0], [8], [16], [24]])).sum(axis=0).astype(np.uint32)
    it.vector(0, words)
    it.run(f"v_cvt_pk_f16_{kind} v1, v0.h\nv_cvt_f16_{kind} v2.h, v0 byte_sel:1\nv_cvt_f32_{kind} v3, v0 byte_sel:3")
    same(it.read(1, "f2")[0], numbers[codes[2]])
    same((it.read(1)[0] >> 16).astype(np.uint16).view(np.float16), numbers[codes[3]])
    same((it.read(2)[0] >> 16).astype(np.uint16).view(np.float16), numbers[codes[1]])
    same(it.read(3, "f4")[0], numbers[codes[3]])
    it.run(f"v_cvt_pk_{kind}_f16 v4.h, v1")
    finite = np.isfinite(numbers[codes[2]]) & np.isfinite(numbers[codes[3]])
    assert ((it.read(4)[0] >> 16 == codes[2] | codes[3] << 8) | ~finite).all()


def same(found, wanted):
    assert ((found == wanted) | np.isnan(found) & np.isnan(wanted)).all()


@for_each("bits, count", (32, 1), (64, 2), (128, 4))
def test_copies_between_global_and_local_memory(it, bits, count):
    """CDNA 5, 10.8: the offset counts on both sides."""
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    words, local = it.bytes.view(np.uint32).copy(), it.local.view(np.uint32)[0]
    to, at = (NUMBERS.permutation(LANES).astype(np.uint32) * 16 for _ in range(2))
    it.vectors(to, at)
    it.scalar(4, MEMORY, 64)
    it.run(f"global_load_async_to_lds_b{bits} v0, v1, s[4:5] offset:32\ns_wait_asynccnt 0x0")
    for number in range(count):
        assert (local[to // 4 + 8 + number] == words[at // 4 + 8 + number]).all()
    it.vector(1, at + np.uint32(1024))
    it.run(f"global_store_async_from_lds_b{bits} v1, v0, s[4:5] offset:32")
    for number in range(count):
        assert (it.bytes.view(np.uint32)[at // 4 + 264 + number] == local[to // 4 + 8 + number]).all()


@for_each("name", "load", "store")
def test_lanes_whose_place_no_local_memory_has(it, name):
    """They copy nothing, whatever their address is, and store nothing (CDNA 5, 10.3); so Triton turns them off."""
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    it.local[:] = NUMBERS.integers(0, 256, it.local.shape)
    words, local = it.bytes.view(np.uint32).copy(), it.local.view(np.uint32)[0].copy()
    off = np.arange(LANES) % 3 == 0
    place, at = np.where(off, 0x7FFFFFFF, np.arange(LANES) * 4), np.where(off, 1 << 40, MEMORY + np.arange(LANES) * 4)
    it.vector(0, place.astype(np.uint32))
    it.vector(2, at.astype(np.uint64))
    text = ("load_async_to_lds_b32 v0, v[2:3], off", "store_async_from_lds_b32 v[2:3], v0, off")[name == "store"]
    it.run(f"global_{text}\nds_store_b32 v0, v2 offset:256\nds_load_b32 v5, v0")
    lanes = np.flatnonzero(~off)
    (local if name == "load" else words)[lanes] = (words if name == "load" else local)[lanes]
    local[64 + lanes] = at[lanes].astype(np.uint32)
    assert (it.bytes.view(np.uint32) == words).all()
    assert (it.local.view(np.uint32)[0] == local).all()
    assert (it.read(5)[0] == np.where(off, 0, local[:LANES])).all()
    it.vector(0, np.full(LANES, LOCAL_SIZE, np.uint32))
    it.vector(2, np.full(LANES, MEMORY, np.uint64))
    with pytest.raises(MachineFault, match="no local memory"):
        it.run(f"global_{text}")


def test_loads_for_clusters_and_of_watched_memory(it):
    """Outside of a cluster they are plain loads (CDNA 5, 10.7); those that watch memory are aligned (10.10)."""
    it.bytes.view(np.uint32)[:] = np.arange(1024)
    places = NUMBERS.permutation(LANES).astype(np.uint32) * 16
    it.vectors(places, places)
    it.scalar(4, MEMORY, 64)
    it.run("s_mov_b32 m0, 3\ncluster_load_b64 v[2:3], v0, s[4:5] offset:8\nglobal_load_monitor_b128 v[4:7], v0, s[4:5]")
    assert (it.read(3)[0] == places // 4 + 3).all()
    assert (it.read(7)[0] == places // 4 + 3).all()
    it.run("cluster_load_async_to_lds_b128 v1, v0, s[4:5]\ns_monitor_sleep 1\ns_wakeup_barrier 1")
    assert (it.local.view(np.uint32)[0, : 4 * LANES] == np.arange(4 * LANES)).all()
    it.vector(0, places + np.uint32(4))
    with pytest.raises(MachineFault, match="is not aligned"):
        it.run("global_load_monitor_b64 v[4:5], v0, s[4:5]")


@for_each("space", "global", "scratch")
def test_blocks_of_registers(it, space):
    """A register whose bit in M0 is not set is left alone, as is its place in memory (CDNA 5, 10.6)."""
    it.bytes.view(np.uint32)[:] = np.arange(1024)
    it.scratch[:] = NUMBERS.integers(0, 256, it.scratch.shape)
    private = it.scratch.view(np.uint32).reshape(-1, LANES).copy()
    chosen = 0x00005003
    old = registers(16)
    for number in range(16):
        it.vector(10 + number, old[number])
    it.vector(0, np.arange(LANES, dtype=np.uint32) * 8)
    it.scalar(4, MEMORY, 64)
    it.scalar(6, chosen)
    address = "v0, s[4:5]" if space == "global" else "off, off"
    it.run(f"s_mov_b32 m0, s6\n{space}_load_block v[10:41], {address} offset:4")
    for number in range(16):
        wanted = np.arange(LANES) * 2 + 1 + number if space == "global" else private[(1 + number) % len(private)]
        assert (it.read(10 + number)[0] == (wanted if chosen >> number & 1 else old[number])).all(), number
    if space == "scratch":
        it.run("scratch_store_block off, v[12:43], off")
        wanted = private.copy()
        for number in (0, 1, 12, 14):
            wanted[number] = it.read(12 + number)[0]
        assert (it.scratch.view(np.uint32).reshape(-1, LANES) == wanted).all()


def test_time(it):
    it.run("s_get_shader_cycles_u64 s[4:5]\ns_get_shader_cycles_u64 s[6:7]")
    assert it.batch.scalar[6] >= it.batch.scalar[4] > 0
    assert it.batch.scalar[5] == it.batch.scalar[7] == 0


@for_each("text", "ds_load_tr4_b64 v[4:5], v0 offset:64", "global_load_tr4_b64 v[4:5], v0, s[4:5] offset:64")
def test_transposing_loads_of_4_bits(it, text):
    """Lane K has a row of 16 numbers of 4 bits; as those of 8 bits, lanes get 8 and 8 neighbouring K of a column."""
    memory = it.local[0] if text.startswith("ds") else it.bytes
    memory[:] = NUMBERS.integers(0, 256, memory.shape)
    it.vector(0, (np.arange(LANES) * 24).astype(np.uint32))
    it.scalar(4, MEMORY, 64)
    it.run(text)
    found = np.stack([it.read(4)[0], it.read(5)[0]], axis=1).view(np.uint8)
    for k in range(32):
        for m in range(16):
            lane, slot = m + 16 * (k // 8 % 2), k // 16 * 8 + k % 8
            wanted = memory[64 + 24 * k + m // 2] >> m % 2 * 4 & 15
            assert found[lane, slot // 2] >> slot % 2 * 4 & 15 == wanted, (k, m)


@for_each("bits, text",
    (16, "ds_load_tr16_b128 v[4:7], v0 offset:64"), (8, "ds_load_tr8_b64 v[4:5], v0 offset:64"),
    (16, "global_load_tr16_b128 v[4:7], v0, s[4:5] offset:64"),
    (8, "global_load_tr8_b64 v[4:5], v0, s[4:5] offset:64"))  # fmt: skip
def test_transposing_loads(it, bits, text):
    """A matrix in rows becomes the columns that a WMMA has: 8 neighbouring K in a lane (CDNA 5, 7.12.2)."""
    memory = it.local[0] if text.startswith("ds") else it.bytes
    memory[:] = NUMBERS.integers(0, 256, memory.shape)
    elements = memory[64:].view(f"u{bits // 8}")
    lanes, pitch = np.arange(LANES), 40
    eight = bits == 16 or not text.startswith("ds")
    row = lanes % 8 if eight else lanes % 4 + lanes % 16 // 8 * 4
    column = lanes % 16 // 8 * 8 if eight else lanes % 8 // 4 * 8
    row += lanes // 16 * 8
    it.vector(0, ((row * pitch + column) * (bits // 8)).astype(np.uint32))
    it.scalar(4, MEMORY, 64)

    def check():
        for lane in range(LANES):
            wanted = [elements[(lane // 16 * 8 + k) * pitch + lane % 16] for k in range(8)]
            found = np.array([it.read(4 + number)[0, lane] for number in range(8 * bits // 32)], np.uint32)
            assert found.view(f"u{bits // 8}").tolist() == wanted

    it.run(text)
    check()
    for number in range(4):
        it.vector(4 + number, np.zeros(LANES, np.uint32))
    it.batch.set_exec(1)
    if text.startswith("ds"):  # EXEC is ignored (CDNA 5, 11.2.4)
        it.run(text)
        check()
    else:  # else all lanes execute, or none (10.9.2)
        with pytest.raises(UnknownInstruction, match="while lanes are off"):
            it.run(text)
        it.batch.set_exec(0)
        it.run(text)
        assert not it.read(4).any()


@for_each("text", "ds_load_tr6_b96 v[4:6], v0", "global_load_tr6_b96 v[4:6], v[0:1], off", "s_alloc_vgpr s0",
    "tensor_stop", "v_cvt_sr_pk_f16_f32 v0, v1, v2, v3", "v_cvt_scalef32_sr_pk8_fp8_f32 v[0:1], v[8:15], v16, v17",
    "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[24:31] neg_lo:[1,0,0]",
    "v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v40 index_key:1")  # fmt: skip
def test_what_no_public_source_says(it, text):
    with pytest.raises(UnknownInstruction, match=f"{NO_SOURCE}|{SOURCES_DIFFER}"):
        it.run(text)
