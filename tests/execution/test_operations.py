"""Operations one at a time, from text, and their operands: each against a model in plain Python."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from dwarfgpu.execution.batch import UNSET, WaveBatch, lane_mask
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from tests.builders.errors import raised
from tests.builders.float_models import eight_bits
from tests.builders.instruction_bench import LOCAL_SIZE, MEMORY, InstructionBench
from tests.builders.integer_models import MODELS
from tests.builders.parameters import every, for_each

NUMBERS = np.random.default_rng(23)


@pytest.fixture
def bench(require_tool):
    return lambda processor, lanes=64, **more: InstructionBench(require_tool("llvm-mc-22"), processor, lanes, **more)


def words(lanes=64):
    """Random registers with some edges."""
    found = NUMBERS.integers(0, 1 << 32, lanes).astype(np.uint32)
    found[:4] = 0, 0xFFFFFFFF, 0x80000000, 0x7F80FF01
    return found


def each_byte(word):
    return [int(word) >> shift & 0xFF for shift in (0, 8, 16, 24)]


def differences(left, right, other, *, is_masked=False):
    pairs = zip(each_byte(left), each_byte(right), strict=True)
    return int(other) + sum(abs(a - b) for a, b in pairs if b or not is_masked)


# --- Integers -----------------------------------------------------------------------------------------------------


def test_masked_differences_with_sums_of_32_bits(bench):
    it = bench("gfx1030", 32)
    left = NUMBERS.integers(0, 1 << 63, 32).astype(np.uint64)
    right = words(32) & 0xFF00FFFF
    others = [words(32) for _ in range(4)]
    it.vector(0, left)
    it.vector(2, right)
    for number, other in enumerate(others):
        it.vector(4 + number, other)
    it.run("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]")
    for k in range(4):
        wanted = [
            differences(int(a) >> 8 * k & 0xFFFFFFFF, b, c, is_masked=True) & 0xFFFFFFFF
            for a, b, c in zip(left, right, others[k], strict=True)
        ]
        assert it.read(8 + k)[0].tolist() == wanted


@pytest.mark.parametrize("name", ["v_bfe_u32", "v_bfe_i32"])
def test_parts_of_registers(bench, name):
    it, numbers = bench("gfx90a"), words()
    it.vector(0, numbers)
    parts = (0, 0), (0, 1), (0, 8), (0, 31), (0, 32), (5, 27), (5, 28), (31, 1), (16, 16), (64, 7), (-1, 3)
    for first, width in parts:
        it.run(f"{name} v1, v0, {first}, {width}")
        wanted = [MODELS[name](int(number), first % 2**32, width) for number in numbers]
        assert it.read(1)[0].tolist() == wanted, (first, width)
    it.run(f"{name} v1, v0, 3, v0\n{name} v2, v0, v0, 3")
    assert it.read(1)[0].tolist() == [MODELS[name](int(number), 3, int(number)) for number in numbers]
    assert it.read(2)[0].tolist() == [MODELS[name](int(number), int(number), 3) for number in numbers]


def signed(number, bits):
    number &= (1 << bits) - 1
    return number - (number >> bits - 1 << bits)


@for_each("text, kind, exact",
    ("v_add_u32 v9, v0, v1 clamp", "u32", lambda a, b, _c: a + b),
    ("v_sub_u32 v9, v0, v1 clamp", "u32", lambda a, b, _c: a - b),
    ("v_add_i32 v9, v0, v1 clamp", "i32", lambda a, b, _c: a + b),
    ("v_sub_i32 v9, v0, v1 clamp", "i32", lambda a, b, _c: a - b),
    ("v_add_u16_e64 v9, v0, v1 clamp", "u16", lambda a, b, _c: a + b),
    ("v_sub_i16 v9, v0, v1 clamp", "i16", lambda a, b, _c: a - b),
    ("v_mad_u16 v9, v0, v1, v2 clamp", "u16", lambda a, b, c: a * b + c),
    ("v_mad_i16 v9, v0, v1, v2 clamp", "i16", lambda a, b, c: a * b + c),
    ("v_pk_add_i16 v9, v0, v1 clamp", "i16", lambda a, b, _c: a + b),
    ("v_pk_sub_u16 v9, v0, v1 clamp", "u16", lambda a, b, _c: a - b),
    ("v_mad_u32_u24 v9, v0, v1, v2 clamp", "u32", lambda a, b, c: (a % 2**24) * (b % 2**24) + c),
    ("v_mad_i32_i24 v9, v0, v1, v2 clamp", "i32", lambda a, b, c: signed(a, 24) * signed(b, 24) + c),
    ("v_sad_u32 v9, v0, v1, v2 clamp", "u32", lambda a, b, c: abs(a - b) + c))  # fmt: skip
def test_integers_are_clamped_to_their_type(bench, text, kind, exact):
    it = bench("gfx906")
    columns = [words(), words(), words()]
    it.vectors(*columns)
    it.run(text)
    bits = int(kind[1:])
    limits = (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for half in range(2 if "pk" in text else 1):
        for lane, row in enumerate(zip(*columns, strict=True)):
            parts = [int(word) >> 16 * half & (1 << bits) - 1 for word in row]
            parts = [signed(part, bits) for part in parts] if kind[0] == "i" else parts
            wanted = min(max(exact(*parts), limits[0]), limits[1]) & (1 << bits) - 1
            assert int(it.read(9)[0, lane]) >> 16 * half & (1 << bits) - 1 == wanted


def test_dot_products_of_integers(bench):
    """neg_lo says which sources of iu operations are signed; op_sel chooses halves."""
    it = bench("gfx1100", 32)
    a, b, c = words(32), words(32), words(32)
    it.vectors(a, b, c)

    def parts(word, bits, is_signed):
        found = [int(word) >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
        return [signed(part, bits) for part in found] if is_signed else found

    for name, bits in (("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)):
        for signs in ((0, 0), (1, 0), (0, 1), (1, 1)):
            for clamp in ("", " clamp"):
                it.run(f"{name} v9, v0, v1, v2 neg_lo:[{signs[0]},{signs[1]},0]{clamp}")
                for lane in range(32):
                    pairs = zip(parts(a[lane], bits, signs[0]), parts(b[lane], bits, signs[1]), strict=True)
                    total = sum(x * y for x, y in pairs) + signed(int(c[lane]), 32)
                    wanted = min(max(total, -(2**31)), 2**31 - 1) if clamp else signed(total, 32)
                    assert it.read(9, "i4")[0, lane] == wanted, (name, signs, clamp)
    old = bench("gfx906")
    old.vector(0, a.repeat(2))
    old.vector(1, b.repeat(2))
    old.run("v_dot2_i32_i16 v9, v0, v1, 7 op_sel:[1,0,0] op_sel_hi:[0,1,1]")
    for lane in range(64):
        x, y = parts(a[lane // 2], 16, True), parts(b[lane // 2], 16, True)
        assert old.read(9, "i4")[0, lane] == signed(x[1] * y[0] + x[0] * y[1] + 7, 32)


def test_bits_of_lanes_below(bench):
    for lanes in (32, 64):
        it = bench("gfx1100", lanes)
        masks, other = words(lanes), words(lanes)
        it.vectors(masks, other)
        it.run("v_mbcnt_lo_u32_b32 v8, v0, v1")
        it.run("v_mbcnt_hi_u32_b32 v9, v0, v1")
        for lane in range(lanes):
            below = (1 << lane) - 1
            for register, mask in ((8, below & 0xFFFFFFFF), (9, below >> 32)):
                wanted = (int(masks[lane]) & mask).bit_count() + int(other[lane]) & 0xFFFFFFFF
                assert it.read(register)[0, lane] == wanted


# --- Halves and mixed precision -----------------------------------------------------------------------------------


def half(word, place):
    return struct.unpack("<e", struct.pack("<H", int(word) >> 16 * place & 0xFFFF))[0]


def single(word):
    return struct.unpack("<f", struct.pack("<I", int(word)))[0]


def some_halfs(lanes=64):
    return NUMBERS.normal(size=2 * lanes).astype(np.float16).view(np.uint32)


@pytest.mark.parametrize("processor, word", [("gfx900", "mad"), ("gfx906", "fma"), ("gfx1100", "fma")])
def test_mixed_precision(bench, processor, word):
    lanes = 32 if processor == "gfx1100" else 64
    it = bench(processor, lanes)
    a, b = some_halfs(lanes), some_halfs(lanes)
    c = NUMBERS.normal(size=lanes).astype(np.float32)
    it.vectors(a, b, c)
    it.run(f"v_{word}_mix_f32 v9, v0, -v1, |v2| op_sel:[1,0,0] op_sel_hi:[1,1,0]")
    for name in ("lo", "hi"):
        it.vector(10 + (name == "hi"), np.full(lanes, 0x12345678, np.uint32))
    it.run(
        f"v_{word}_mixlo_f16 v10, v0, 2.0, v2 op_sel_hi:[1,1,0]\nv_{word}_mixhi_f16 v11, v0, v1, 1.0 op_sel_hi:[1,1,0]"
    )
    for lane in range(lanes):
        with np.errstate(all="ignore"):
            product = Fraction(half(a[lane], 1)) * Fraction(-half(b[lane], 0))
            exact = np.float32(float(product)) if word == "mad" else product
            total = np.float32(float(Fraction(float(exact)) + Fraction(abs(float(c[lane])))))
            assert it.read(9, "f4")[0, lane] == pytest.approx(total, rel=2e-7)
            low = np.float16(np.float32(half(a[lane], 0) * 2.0 + float(c[lane])))
            high = np.float16(np.float32(half(a[lane], 0) * half(b[lane], 0) + 1.0))
        assert half(it.read(10)[0, lane], 0) == low
        assert it.read(10)[0, lane] >> 16 == 0x1234
        assert half(it.read(11)[0, lane], 1) == high
        assert it.read(11)[0, lane] & 0xFFFF == 0x5678


def bf16(word, place):
    return single((int(word) >> 16 * place & 0xFFFF) << 16)


def test_dot_products_of_floats(bench):
    it = bench("gfx1100", 32)
    a, b = some_halfs(32), some_halfs(32)
    c = NUMBERS.normal(size=32).astype(np.float32)
    it.vectors(a, b, c)
    it.run("v_dot2_f32_f16 v9, v0, v1, v2")
    it.run("v_dot2_f32_f16 v10, v0, v1, v2 op_sel:[1,0,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,0,1]")
    it.run("v_dot2_f32_bf16 v11, v0, v1, v2")
    it.run("v_dot2_f16_f16 v12.l, v0, v1, v2.l")
    with np.errstate(all="ignore"):
        for lane in range(32):
            x, y = ([half(column[lane], place) for place in (0, 1)] for column in (a, b))
            assert it.read(9, "f4")[0, lane] == np.float32(x[0] * y[0] + x[1] * y[1] + float(c[lane]))
            wanted = np.float32(-x[1] * y[0] + x[1] * y[0] + abs(float(c[lane])))
            assert it.read(10, "f4")[0, lane] == wanted
            p, q = ([bf16(column[lane], place) for place in (0, 1)] for column in (a, b))
            assert it.read(11, "f4")[0, lane] == pytest.approx(p[0] * q[0] + p[1] * q[1] + float(c[lane]), rel=1e-6)
            found = half(it.read(12)[0, lane], 0)
            wanted = np.float16(x[0] * y[0] + x[1] * y[1] + half(c.view(np.uint32)[lane], 0))
            assert found == wanted or (math.isnan(found) and np.isnan(wanted))


def test_bytes_and_halves_of_registers_are_converted_and_exchanged(bench):
    it = bench("gfx942")
    it.vector(0, np.full(64, 0x48444038, np.uint32))
    it.run("v_cvt_f32_fp8_sdwa v1, v0 src0_sel:BYTE_1\nv_cvt_pk_f32_fp8_sdwa v[2:3], v0 src0_sel:WORD_1")
    wanted = [*map(eight_bits("fp8", is_fnuz=True), (0x40, 0x44, 0x48))]
    assert [it.read(number, "f4")[0, 0] for number in (1, 2, 3)] == wanted
    it.scalar(5, 0x9844C038)
    it.run("v_mov_b32_sdwa v4, s5 src0_sel:BYTE_2\nv_mov_b32_sdwa v5, sext(s5) src0_sel:WORD_0")
    assert [hex(it.read(number)[0, 0]) for number in (4, 5)] == ["0x44", "0xffffc038"]
    new = bench("gfx1200", 32)
    new.vector(0, np.full(32, 0x48444038, np.uint32))
    new.run("v_cvt_f32_fp8_e64 v1, v0 byte_sel:2\nv_cvt_f32_fp8_e64 v2, v0 byte_sel:1")
    wanted = [*map(eight_bits("fp8"), (0x44, 0x40))]
    assert [new.read(number, "f4")[0, 0] for number in (1, 2)] == wanted
    it = bench("gfx1100", 32)
    it.vectors(np.full(32, 0x11112222, np.uint32), np.full(32, 0x33334444, np.uint32))
    it.batch.set_exec(1)
    it.run("v_swap_b16 v0.l, v1.h")
    assert [hex(word) for word in (*it.read(0)[0, :2], *it.read(1)[0, :2])] == [
        "0x11113333", "0x11112222", "0x22224444", "0x33334444"]  # fmt: skip


# --- Floats of 8 bits ---------------------------------------------------------------------------------------------


@every(processor=["gfx942", "gfx1200"], name=["fp8", "bf8"])
def test_floats_of_8_bits_are_read_and_written(bench, processor, name):
    lanes = 64 if processor == "gfx942" else 32
    is_fnuz = processor == "gfx942"
    it = bench(processor, lanes)
    for first in range(0, 256, lanes):
        it.vector(0, np.arange(first, first + lanes).astype(np.uint32))
        it.run(f"v_cvt_f32_{name} v1, v0\nv_cvt_pk_{name}_f32 v2, v1, v1")
        found = it.read(1, "f4")[0].tolist()
        wanted = [*map(eight_bits(name, is_fnuz=is_fnuz), range(first, first + lanes))]
        assert [str(number) for number in found] == [str(number) for number in wanted]
        back = [int(word) & 0xFF for word in it.read(2)[0]]
        for code, again, number in zip(range(first, first + lanes), back, wanted, strict=True):
            assert again == code or math.isnan(number)


@every(processor=["gfx942", "gfx1200"], name=["fp8", "bf8"])
def test_singles_become_the_nearest_float_of_8_bits(bench, processor, name):
    lanes = 64 if processor == "gfx942" else 32
    is_fnuz = processor == "gfx942"
    number_of = eight_bits(name, is_fnuz=is_fnuz)
    table = {code: number_of(code) for code in range(128) if math.isfinite(number_of(code))}
    highest = max(table.values())
    for mode in (0xF0, 0xF0 | 1 << 23):
        it = bench(processor, lanes, mode=mode)
        numbers = (NUMBERS.normal(size=lanes) * 2.0 ** NUMBERS.integers(-20, 20, lanes)).astype(np.float32)
        numbers[:5] = highest * 4, -highest, np.inf, 2.0**-30, np.nan
        numbers[5:9] = [(table[10] + table[11]) / 2, (table[11] + table[12]) / 2, table[1] / 2, table[1] * 1.5]
        it.vectors(numbers, np.full(lanes, 0xAAAABBBB, np.uint32))
        it.run(f"v_cvt_pk_{name}_f32 v1, v0, v0 op_sel:[0,0,1]")
        for number, word in zip(numbers.tolist(), it.read(1)[0].tolist(), strict=True):
            assert word & 0xFFFF == 0xBBBB
            code = word >> 16 & 0xFF
            assert word >> 24 == code
            found = number_of(code)
            best = (
                min(table, key=lambda each: (abs(table[each] - abs(number)), each & 1))
                if not math.isnan(number)
                else None
            )
            step = highest - table[max(table) - 1]
            if math.isnan(number):
                assert math.isnan(found)
            elif abs(number) >= highest + step / 2:
                if mode >> 23:
                    assert abs(found) == highest
                else:
                    assert math.isinf(found) if name == "bf8" and not is_fnuz else math.isnan(found)
            else:
                assert abs(found) == table[best], number


def test_random_numbers_decide_how_singles_are_rounded(bench):
    """Between two codes, the share of lanes that get the higher one is the distance from the lower one."""
    it = bench("gfx942", waves=16)
    low, high = map(eight_bits("fp8", is_fnuz=True), (0x40, 0x41))
    it.vectors(
        np.full((16, 64), low + (high - low) / 4, np.float32), NUMBERS.integers(0, 1 << 32, (16, 64)).astype(np.uint32)
    )
    for number, selection in enumerate(("", " op_sel:[0,0,1,0]", " op_sel:[0,0,0,1]", " op_sel:[0,0,1,1]")):
        it.run(f"v_cvt_sr_fp8_f32 v2, v0, v1{selection}")
        codes = it.read(2) >> 8 * number & 0xFF
        assert set(np.unique(codes).tolist()) == {0x40, 0x41}
        assert (codes == 0x41).mean() == pytest.approx(0.25, abs=0.05)


# --- What LLVM folds ----------------------------------------------------------------------------------------------

# --- Registers by number, messages, MODE --------------------------------------------------------------------------


def test_registers_by_number(bench):
    it = bench("gfx1100", 32)
    for number in range(8):
        it.vector(number, np.full(32, 100 + number, np.uint32))
        it.scalar(number, 200 + number)
    it.run("s_mov_b32 m0, 0x20003\nv_movrelsd_2_b32 v1, v2")  # v[1 + 2] = v[2 + 3]
    assert it.read(3)[0, 0] == 105
    it.run("v_swaprel_b32 v0, v4")  # v[0 + 2] <-> v[4 + 3]
    assert (it.read(2)[0, 0], it.read(7)[0, 0]) == (107, 102)
    it.run("s_mov_b32 m0, 3\ns_movrels_b32 s20, s1\ns_movreld_b32 s10, s0\ns_movrels_b64 s[22:23], s[2:3]")
    assert [it.batch.scalar[number] for number in (20, 13, 22, 23)] == [204, 200, 205, 206]
    it.run("s_mov_b32 m0, 0x10002\ns_movrelsd_2_b32 s30, s1")
    assert it.batch.scalar[31] == 203


def test_mode_is_changed_by_parts_and_the_device_has_answers(bench):
    it = bench("gfx1100", 32)
    it.run("s_round_mode 0x5")
    assert it.batch.mode == 0xF5
    it.run("s_denorm_mode 0x3")
    assert it.batch.mode == 0x35
    it.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1")
    assert it.batch.mode == 0x800035
    with pytest.raises(UnknownInstruction, match="HW_REG_GPR_ALLOC"):
        it.run("s_setreg_imm32_b32 hwreg(HW_REG_GPR_ALLOC), 1")
    it = bench("gfx1100", 32)
    it.run(
        "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_DOORBELL)\ns_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)"
    )
    it.run("s_getreg_b32 s4, hwreg(HW_REG_HW_ID1)\ns_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES)")
    assert (it.batch.scalar[0], it.batch.scalar[4]) == (0, 0)
    assert it.batch.scalar[2] > 0
    old = bench("gfx942")
    old.run("s_getreg_b32 s4, hwreg(HW_REG_XCC_ID)\ns_getreg_b32 s6, hwreg(HW_REG_MODE, 4, 4)")
    assert (old.batch.scalar[4], old.batch.scalar[6]) == (0, 15)


def test_lanes_go_to_their_own_numbers_and_halves_stay(bench):
    it = bench("gfx1200", 32)
    values, numbers = words(32), words(32)
    it.vectors(values, numbers)
    it.run("v_permlane16_var_b32 v2, v0, v1\nv_permlanex16_var_b32 v3, v0, v1")
    for lane in range(32):
        assert it.read(2)[0, lane] == values[lane // 16 * 16 + int(numbers[lane]) % 16]
        assert it.read(3)[0, lane] == values[(lane // 16 ^ 1) * 16 + int(numbers[lane]) % 16]
    it = bench("gfx1100", 32)
    it.vector(1, words(32))
    it.vector(2, np.full(32, 7, np.uint32))
    it.run("v_permlane64_b32 v2, v1")
    assert (it.read(2) == 7).all()


# --- Memory -------------------------------------------------------------------------------------------------------


def test_lanes_are_counted_in_memory_and_in_addresses(bench):
    it = bench("gfx906", waves=2)
    it.local.view(np.uint32)[:, 3] = 10, 20
    it.batch.set_exec(0xFF)
    it.run("s_mov_b32 m0, 4\nds_append v1 offset:8")
    assert it.read(1)[:, 0].tolist() == [10, 20]
    assert it.local.view(np.uint32)[:, 3].tolist() == [18, 28]
    it.run("ds_consume v1 offset:8")
    assert it.local.view(np.uint32)[:, 3].tolist() == [10, 20]
    it = bench("gfx1100", 32)
    values = words(32)
    it.vector(1, values)
    it.run("s_mov_b32 m0, 16\nds_store_addtid_b32 v1 offset:8\nds_load_addtid_b32 v2 offset:8")
    assert (it.local.view(np.uint32)[0, 6:38] == values).all()
    assert (it.read(2)[0] == values).all()
    it.scalar(2, MEMORY, 64)
    it.run("global_store_addtid_b32 v1, s[2:3] offset:64\nglobal_load_addtid_b32 v3, s[2:3] offset:64")
    assert (it.bytes.view(np.uint32)[16:48] == values).all()
    assert (it.read(3)[0] == values).all()


def test_floats_are_compared_as_floats(bench):
    """-0 is +0, so both are exchanged."""
    it = bench("gfx1030", 32)
    it.bytes.view(np.float32)[:32] = 0
    it.vector(0, MEMORY + 4 * np.arange(32, dtype=np.uint64))
    it.vector(2, np.full(32, 5, np.float32))
    it.vector(3, np.full(32, -0.0, np.float32))
    it.run("global_atomic_fcmpswap v[0:1], v[2:3], off")
    assert (it.bytes.view(np.float32)[:32] == 5).all()


def resource(it, first, base, size, last_word, stride=0):
    for number, word in enumerate((base, stride << 16, size, last_word)):
        it.scalar(first + number, word)


@for_each("processor, lanes, last_word",
    ("gfx90a", 64, 0x27000),                                 ("gfx1030", 32, 0x31014000),
    ("gfx1100", 32, 0x31004000),                             ("gfx1200", 32, 0x31004000))  # fmt: skip
def test_accesses_outside_of_a_buffer_read_0_and_write_nothing(bench, processor, lanes, last_word):
    it = bench(processor, lanes)
    memory = it.bytes.view(np.uint32)
    memory[:] = np.arange(1024) + 1
    resource(it, 4, MEMORY, 40, last_word)
    it.vector(0, 4 * np.arange(lanes, dtype=np.uint32))
    name, store = ("dword", "dword") if processor in ("gfx90a", "gfx1030") else ("b32", "b32")
    zero = "0" if processor != "gfx1200" else "null"
    it.run(f"buffer_load_{name} v1, v0, s[4:7], {zero} offen")
    assert it.read(1)[0].tolist() == [lane + 1 if lane < 10 else 0 for lane in range(lanes)]
    it.vector(2, np.full(lanes, 99, np.uint32))
    it.run(f"buffer_store_{store} v2, v0, s[4:7], {zero} offen offset:4")
    assert memory[:12].tolist() == [1, *[99] * 9, 11, 12]


def test_loads_into_local_memory(bench):
    it = bench("gfx942")
    it.bytes.view(np.uint32)[:64] = values = words()
    it.vector(0, MEMORY + 4 * np.arange(64, dtype=np.uint64))
    it.run("s_mov_b32 m0, 32\nglobal_load_lds_dword v[0:1], off")
    assert (it.local.view(np.uint32)[0, 8:72] == values).all()
    resource(it, 4, MEMORY, 4096, 0x27000)
    it.vector(2, 4 * np.arange(64, dtype=np.uint32)[::-1])
    it.run("buffer_load_dword v2, s[4:7], 0 offen lds")
    assert (it.local.view(np.uint32)[0, 8:72] == values[::-1]).all()


@for_each("text", "global_load_lds_dwordx3 v[0:1], off", "buffer_load_dwordx3 v2, s[4:7], 0 offen lds")
def test_lanes_of_wide_loads_into_local_memory_are_16_bytes_apart(bench, text):
    """M0 has 18 bits, and three dwords leave the fourth alone (CDNA 4 ISA document, 9.1.9)."""
    it = bench("gfx950")
    it.bytes.view(np.uint32)[:192] = np.arange(192)
    it.local = np.full((1, 160 << 10), 0xFF, np.uint8)
    it.memory.use(it.local, np.arange(1), it.scratch)
    it.vector(0, MEMORY + 12 * np.arange(64, dtype=np.uint64))
    resource(it, 4, MEMORY, 4096, 0x27000)
    it.vector(2, 12 * np.arange(64, dtype=np.uint32))
    it.run(f"s_mov_b32 m0, 0x10020\n{text}")
    written = it.local.view(np.uint32)[0, 0x10020 // 4 :][:256].reshape(64, 4)
    assert (written[:, :3] == np.arange(192).reshape(64, 3)).all()
    assert (written[:, 3] == 0xFFFFFFFF).all()


def test_the_global_data_share_stops_the_wave(bench):
    assert "of global data share" in str(raised(UnknownInstruction, bench("gfx906").run, "ds_add_u32 v0, v1 gds"))


def test_waves_store_and_change_scalars(bench):
    it = bench("gfx906", waves=3)
    memory = it.bytes.view(np.uint32)
    it.scalar(0, MEMORY, 64)
    it.scalar(4, 0x11)
    it.scalar(5, 0x22)
    it.run("s_store_dwordx2 s[4:5], s[0:1], 0x10")
    assert memory[4:6].tolist() == [0x11, 0x22]
    it.run("s_atomic_add s4, s[0:1], 0x10 glc")  # one wave after the other
    assert memory[4] == 0x44
    assert it.batch.scalar[4][:, 0].tolist() == [0x11, 0x22, 0x33]
    it.scalar(6, 0x44)
    it.scalar(7, 0)
    it.scalar(4, 9)
    it.scalar(5, 0x44)
    it.run("s_atomic_cmpswap s[4:5], s[0:1], 0x10 glc")
    assert memory[4] == 9
    assert it.batch.scalar[4][:, 0].tolist() == [0x44, 9, 9]
    memory[6:8] = 0xFFFFFFFF, 0
    it.scalar(4, 1)
    it.scalar(5, 0)
    it.run("s_atomic_add_x2 s[4:5], s[0:1], 0x18")
    assert memory[6:8].tolist() == [2, 1]


# --- Rounding -----------------------------------------------------------------------------------------------------


def next_to(exact, kind, way):
    """The float of a type that a direction wants for a fraction: found among the neighbours of the nearest one."""
    try:
        near = kind(exact.numerator / exact.denominator)
    except OverflowError:
        near = kind(math.inf if exact > 0 else -math.inf)
    candidates = [near]
    for limit in (kind(-np.inf), kind(np.inf)):
        step = near
        for _ in range(2):
            step = np.nextafter(step, limit)
            candidates.append(step)
    finite = [float(number) for number in candidates if np.isfinite(number)]
    if way == 3:
        way = 1 if exact < 0 else 2
    if way == 1:
        return min((number for number in finite if Fraction(number) >= exact), default=math.inf)
    return max((number for number in finite if Fraction(number) <= exact), default=-math.inf)


@pytest.mark.parametrize("way", [1, 2, 3])
@pytest.mark.parametrize("kind, dtype", [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_floats_are_rounded_as_mode_says(bench, kind, dtype, way):
    it = bench("gfx1030", 32, mode=0xF0 | way | way << 2)
    scale = {"f16": 4, "f32": 30, "f64": 300}[kind]
    columns = [(NUMBERS.normal(size=32) * 2.0 ** NUMBERS.integers(-scale, scale, 32)).astype(dtype) for _ in range(3)]
    columns[0][:4], columns[1][:4], columns[2][:4] = np.finfo(dtype).max, (2, -2, 1.5, -1.5), (1, 1, -1, 1)
    columns[0][4:6], columns[1][4:6] = np.nextafter(dtype(0), dtype(1)), (0.5, -0.25)
    wide = kind == "f64"
    for number, column in enumerate(columns):
        it.vector(2 * number, column)
    names = ["v[0:1]", "v[2:3]", "v[4:5]", "v[8:9]"] if wide else ["v0", "v2", "v4", "v8"]
    for name, model in (
        ("v_add", lambda a, b, _c: a + b),
        ("v_mul", lambda a, b, _c: a * b),
        ("v_fma", lambda a, b, c: a * b + c),
    ):
        sources = names[:3] if name == "v_fma" else names[:2]
        it.run(f"{name}_{kind} {names[3]}, {', '.join(sources)}")
        found = it.read(8, f"f{dtype(0).itemsize}")[0]
        for lane, row in enumerate(zip(*columns, strict=True)):
            exact = model(*(Fraction(float(number)) for number in row))
            with np.errstate(all="ignore"):
                assert float(found[lane]) == next_to(exact, dtype, way), (name, row)


@pytest.mark.parametrize("way", [1, 2, 3])
def test_conversions_are_rounded_as_mode_says(bench, way):
    it = bench("gfx1030", 32, mode=0xF0 | way | way << 2)
    numbers = NUMBERS.normal(size=32) * 2.0 ** NUMBERS.integers(-20, 10, 32)
    integers = NUMBERS.integers(-(2**31), 2**31, 32).astype(np.int32)
    it.vector(0, numbers)
    it.vector(2, integers.view(np.uint32))
    it.run("v_cvt_f32_f64 v4, v[0:1]\nv_cvt_f32_i32 v5, v2\nv_cvt_f16_f32 v6, v4")
    for lane in range(32):
        single_ = next_to(Fraction(float(numbers[lane])), np.float32, way)
        assert it.read(4, "f4")[0, lane] == single_
        assert it.read(5, "f4")[0, lane] == next_to(Fraction(int(integers[lane])), np.float32, way)
        assert it.read(6, "f2")[0, lane] == next_to(Fraction(single_), np.float16, way)


def test_sums_and_conversions_in_directions(bench):
    for way, sign in ((0, 1), (1, 1), (2, -1), (3, 1)):
        it = bench("gfx1030", 32, mode=0xF0 | way)
        it.vector(0, np.full(32, 1.5, np.float32))
        it.run("v_sub_f32 v1, v0, v0\nv_add_f32 v2, 0, v1")
        assert math.copysign(1, it.read(1, "f4")[0, 0]) == sign
        it.vector(4, np.full(32, 2.0**-600))
        it.run("v_mov_b32 v0, 1\nv_fma_f32 v1, v0, v0, -v3\nv_fma_f64 v[2:3], v[4:5], v[4:5], -v[6:7]")
        for found in it.read(1, "f4"), it.read(2, "f8"):  # a small positive number, however 0 is signed that is added
            assert math.copysign(1, found[0, 0]) == 1
    it = bench("gfx1030", 32, mode=0xF3)
    assert "v_ldexp_f32 rounded to zero" in str(raised(UnknownInstruction, it.run, "v_ldexp_f32 v0, v1, v2"))
    it.run("v_max_f32 v0, v1, v2\nv_rcp_f32 v0, v1")


# --- NaNs and MODE ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("processor, quiets", [("gfx90a", True), ("gfx1100", True), ("gfx1200", False)])
def test_mode_says_what_a_signalling_nan_does(bench, processor, quiets):
    """MODE.IEEE: it gives a NaN; else it is as a quiet one, which the other number replaces. GFX12 has no such bit."""
    lanes = 64 if processor == "gfx90a" else 32
    name = "v_max_num_f32" if processor == "gfx1200" else "v_max_f32"
    third = name.replace("max", "max3")
    for mode, wanted in ((0xF0, False), (0xF0 | 1 << 9, quiets)):
        it = bench(processor, lanes, mode=mode)
        for number, code in enumerate((0x7F900000, 0x7FC00000, 0xC0000000)):
            it.vector(number, np.full(lanes, code, np.uint32))
        it.run(f"{name} v8, v0, v2\n{name} v9, v1, v2\n{third} v10, v0, v2, v2\n{third} v11, v2, v2, v0")
        found = [bool(np.isnan(it.read(number, "f4")[0, 0])) for number in (8, 9, 10, 11)]
        assert found == [wanted, False, False, wanted]


@pytest.mark.parametrize("processor, keeps", [("gfx90a", True), ("gfx1100", True), ("gfx1200", False)])
def test_mode_says_whether_a_clamped_nan_becomes_0(bench, processor, keeps):
    lanes = 64 if processor == "gfx90a" else 32
    for mode, wanted in ((0xF0, keeps), (0xF0 | 1 << 8, False)):
        it = bench(processor, lanes, mode=mode)
        it.vector(0, np.full(lanes, np.nan, np.float32))
        it.run("v_add_f32_e64 v1, v0, v0 clamp\nv_add_f32_e64 v2, 4.0, 4.0 clamp")
        assert bool(np.isnan(it.read(1, "f4")[0, 0])) == wanted
        assert it.read(1, "f4")[0, 0] == 0 or wanted
        assert it.read(2, "f4")[0, 0] == 1


@for_each(
    "processor, mode, factor",
    ("gfx90a", 0x00, 2),
    ("gfx90a", 0x50, 2),  # denormal sources are kept, denormal results are not
    ("gfx90a", 0xA0, 1),  # denormal results are kept
    ("gfx90a", 0xF0, 1),
    ("gfx1100", 1 << 9, 1),  # IEEE
    ("gfx1200", 1 << 9, 2),  # GFX12 has no such bit
)
def test_output_modifiers_count_without_denormal_results_and_ieee(bench, processor, mode, factor):
    """They are ignored else, and make +0 of -0 (ISA documents, "Output Modifiers")."""
    it = bench(processor, 64 if processor == "gfx90a" else 32, mode=mode)
    lanes = it.lanes
    it.vectors(np.full(lanes, 1.5, np.float32), np.full(lanes, 1.5, np.float16), np.full(lanes, 1.5, np.float64))
    it.vector(4, np.full(lanes, -0.0, np.float32))
    it.run(
        "v_add_f32 v8, v0, v0 mul:2\nv_add_f16 v9, v1, v1 mul:2\nv_add_f64 v[10:11], v[2:3], v[2:3] mul:2"
        if processor != "gfx1200"
        else "v_add_f32 v8, v0, v0 mul:2\nv_add_f16 v9.l, v1.l, v1.l mul:2\nv_add_f64 v[10:11], v[2:3], v[2:3] mul:2"
    )
    it.run("v_mul_f32 v12, 1.0, v4 mul:2")
    assert [it.read(8, "f4")[0, 0], it.read(9, "f2")[0, 0], it.read(10, "f8")[0, 0]] == [3 * factor] * 3
    assert np.signbit(it.read(12, "f4")[0, 0]) == (factor == 1)


@pytest.mark.parametrize("mode, kept", [(0x00, (0, 0)), (0x10, (0, 1)), (0x20, (0, 0)), (0x30, (1, 1))])
def test_mode_keeps_denormal_sources_and_results(bench, mode, kept):
    """FP_DENORM: bit 0 is for sources, bit 1 for results."""
    it = bench("gfx1100", 32, mode=mode)
    smallest = np.finfo(np.float32).tiny
    it.vectors(np.full(32, smallest / 2, np.float32), np.full(32, smallest, np.float32))
    it.run("v_mul_f32 v2, 1.0, v0\nv_mul_f32 v3, 4.0, v0\nv_mul_f32 v4, 0.5, v1")
    assert it.read(2, "f4")[0, 0] == smallest / 2 * kept[0]
    assert it.read(3, "f4")[0, 0] == smallest * 2 * kept[1]
    assert it.read(4, "f4")[0, 0] == smallest / 2 * bool(mode & 0x20)


@pytest.mark.parametrize("processor", ["gfx1100", "gfx1200"])
def test_interpolation_takes_parameters_from_lanes_of_the_quad(bench, processor):
    it = bench(processor, 32)
    parameters, places, halfs = (NUMBERS.normal(size=32).astype(kind) for kind in ("f4", "f4", "f2"))
    it.vectors(parameters, places, halfs.view(np.uint16).astype(np.uint32) << 16)
    it.run("v_interp_p10_f32 v4, v0, v1, v0\nv_interp_p2_f32 v5, v0, v1, v4 wait_exp:7")
    it.run("v_interp_p10_f16_f32 v6, v2.h, v1, v2.h op_sel:[1,0,1,0]")
    it.run("v_interp_p2_f16_f32 v7.h, v2.h, v1, -v6 op_sel:[1,0,0,1]")
    for lane in range(32):
        quad, x = lane & ~3, float(places[lane])
        first = np.float32(float(parameters[quad + 1]) * x + float(parameters[quad]))
        assert it.read(4, "f4")[0, lane] == first
        assert it.read(5, "f4")[0, lane] == np.float32(float(parameters[quad + 2]) * x + float(first))
        first = np.float32(float(halfs[quad + 1]) * x + float(halfs[quad]))
        assert it.read(6, "f4")[0, lane] == first
        second = np.float32(float(halfs[quad + 2]) * x - float(first)).astype(np.float16)
        assert it.read(7)[0, lane] >> 16 == second.view(np.uint16)


@pytest.mark.parametrize("processor", ["gfx803", "gfx900", "gfx1030", "gfx1100"])
def test_clamped_sums_with_a_carry_end_at_the_greatest_number(bench, processor):
    is_wide = processor in ("gfx803", "gfx900")
    it = bench(processor, 64 if is_wide else 32)
    it.vectors(
        np.resize(np.array([5, 0xFFFFFFFF, 0x80000000, 1], np.uint32), it.lanes),
        np.resize(np.array([3, 1, 0x80000000, 2], np.uint32), it.lanes),
    )
    add, sub, addc = {
        "gfx803": ("v_add_u32_e64", "v_sub_u32_e64", "v_addc_u32_e64"),
        "gfx900": ("v_add_co_u32_e64", "v_sub_co_u32_e64", "v_addc_co_u32_e64"),
    }.get(processor, ("v_add_co_u32", "v_sub_co_u32", "v_add_co_ci_u32_e64"))
    mask = "s[2:3]" if is_wide else "s2"
    it.run(f"{add} v2, {mask}, v0, v1 clamp\n{addc} v4, {mask}, v0, v1, {mask} clamp\n{sub} v3, {mask}, v0, v1 clamp")
    assert it.read(2)[0, :4].tolist() == [8, 0xFFFFFFFF, 0xFFFFFFFF, 3]
    assert it.read(4)[0, :4].tolist() == [8, 0xFFFFFFFF, 0xFFFFFFFF, 3]
    assert it.read(3)[0, :4].tolist() == [2, 0xFFFFFFFE, 0, 0]
    assert int(it.batch.scalar[2]) & 15 == 0b1000


def test_sines_and_cosines_of_quarter_turns_are_exact(bench):
    it = bench("gfx1100", 32)
    it.vector(0, np.resize(np.array([0.25, 0.5, 0.75, 1.0, -0.25, 0.125, 65536.5, 0.0], np.float32), 32))
    it.run("v_sin_f32 v1, v0\nv_cos_f32 v2, v0")
    half = np.float32(math.sqrt(0.5))
    assert it.read(1, "f4")[0, :8].tolist() == [1, 0, -1, 0, -1, half, 0, 0]
    assert it.read(2, "f4")[0, :8].tolist() == [0, -1, 0, 1, 0, half, -1, 1]
    assert not np.signbit(it.read(2, "f4")[0, [0, 2, 4]]).any()
    it.vector(0, np.full(32, -0.0, np.float32))
    it.run("v_sin_f32 v1, v0")
    assert np.signbit(it.read(1, "f4")[0, 0])


@for_each("processor, control, name",
    ("gfx1100", 0x142, "row_bcast is not supported starting from GFX10"),
    ("gfx1030", 0x130, "wave_shl is not supported starting from GFX10"),
    ("gfx900", 0x161, "row_xmask is not supported on ASICs earlier than GFX10"),
    ("gfx900", 0x151, "row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10"))  # fmt: skip
def test_controls_of_dpp_that_other_processors_have_stop_the_wave(bench, processor, control, name):
    it = bench(processor, 64 if processor == "gfx900" else 32)
    code = (0x7E0402FA).to_bytes(4, "little") + (0xFF000001 | control << 8).to_bytes(4, "little")
    with pytest.raises(UnknownInstruction, match=f"v_mov_b32_dpp: {name}"):
        it.execute([code])


@for_each("text", "flat_load_dword v4, v[0:1]", "flat_store_dword v[0:1], v4",
                                  "flat_atomic_add v[0:1], v4", "ds_read_b32 v4, v0", "ds_write_b32 v0, v4",
                                  "ds_add_rtn_u32 v5, v0, v4", "ds_read_u8 v5, v0")  # fmt: skip
def test_accesses_outside_of_local_memory_are_errors(bench, text):
    it = bench("gfx90a")
    addresses = (1 << 48) + 4 * np.arange(64, dtype=np.uint64)
    addresses[3] = (1 << 48) + LOCAL_SIZE
    it.vector(0, addresses)
    detail = r"ADDRESS_ERROR: no local memory at 0x1000 \(just past the end of local memory, which has 4096 bytes; "
    with pytest.raises(MachineFault, match=detail) as raised:
        it.run(text)
    assert np.flatnonzero(raised.value.lanes[0]).tolist() == [3]
    addresses[3] = (1 << 48) + (1 << 32) - 8
    it.vector(0, addresses)
    with pytest.raises(MachineFault, match=r"\(8 bytes before the start of local memory, which has 4096 bytes\)$"):
        it.run(text)
    addresses[3] = 1 << 48
    it.vector(0, addresses)
    it.run(text)


@for_each("name, wanted",
    ("min", [-0.0, -0.0, 1.5, 1.5, -3.0]), ("max", [0.0, 0.0, 1.5, 1.5, 2.0]))  # fmt: skip
def test_minimum_and_maximum_of_floats_in_memory(bench, name, wanted):
    """-0 is below +0, and a NaN of either kind is no number."""
    it = bench("gfx1030", 32)
    old = np.array([0.0, -0.0, np.nan, 1.5, 2.0], np.float32)
    data = np.array([-0.0, 0.0, 1.5, np.nan, -3.0], np.float32)
    data.view(np.uint32)[3] = 0x7F900000
    it.bytes.view(np.float32)[:5] = old
    it.batch.set_exec(31)
    it.vector(0, MEMORY + 4 * np.arange(32, dtype=np.uint64))
    it.vector(2, np.concatenate([data, np.zeros(27, np.float32)]))
    it.run(f"global_atomic_f{name} v[0:1], v2, off")
    found = it.bytes.view(np.float32)[:5]
    assert [str(float(x)) for x in found] == [str(x) for x in wanted]


HALFS = np.linspace(-3, 3, 64).astype(np.float16)


def halfs(it, number):
    return (it.read(number)[0] & 0xFFFF).astype(np.uint16).view(np.float16)


@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx1030", "gfx1200"])
@for_each("operation, wanted",
    ("v_add_f16_e64 v9, v0, -1.0", lambda x: x - np.float16(1)),
    ("v_mul_f16_e64 v9, v0, -0.5", lambda x: x * np.float16(-0.5)),
    ("v_fma_f16 v9, v0, 2.0, 4.0", lambda x: x * np.float16(2) + np.float16(4)),
    ("v_max_f16_e64 v9, -2.0, v0", lambda x: np.maximum(x, np.float16(-2))),
    ("v_pk_add_f16 v9, v0, 1.0", lambda x: x + np.float16(1)))  # fmt: skip
@pytest.mark.sampled(4)
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
def test_scalars_have_low_halves_and_negative_offsets(bench, waves):
    """What is in the other half of a scalar register has no part in it (GFX12 ISA document, "Scalar ALU")."""
    it = bench("gfx1200", 32, waves=waves)
    it.scalar(4, 0x0001_3C00)  # 1.0
    it.scalar(5, 0xFFFF_4000)  # 2.0
    it.run("s_add_f16 s6, s4, s5\ns_mul_f16 s7, s5, s5\ns_cmp_lt_f16 s4, s5\ns_cselect_b32 s8, 1, 0")
    assert [int(np.ravel(it.batch.scalar[number])[0]) for number in (6, 7, 8)] == [0x4200, 0x4400, 1]
    # SMEM: the immediate offset has a sign (ISA documents of GFX9, "SMEM").
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


def test_bits_and_bytes_may_be_in_the_high_half(bench):
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
    it = bench("gfx1100", 32)
    it.vector(0, np.full(32, 0x0102_FFFF, np.uint32))  # 258 is 255 at most, -1 is 0 at least
    it.vector(9, np.full(32, 0x11112222, np.uint32))
    it.run("v_sat_pk_u8_i16 v9.h, v0")
    assert it.read(9)[0].tolist() == [0xFF002222] * 32
    it = bench("gfx90a")
    it.vector(0, np.zeros(64, np.uint32))
    with pytest.raises(UnknownInstruction, match="of integers with another sign"):
        it.run("v_pk_mad_u16 v9, v0, v0, v0 neg_lo:[1,0,0]")


@for_each(
    "processor, word, operand",
    ("gfx90a", 0x7E04A205, "s5"),  # v_swap_b32 v2, s5
    ("gfx1030", 0x7E04CA05, "s5"),  # v_swap_b32 v2, s5
    ("gfx1030", 0x7E048605, "s5"),  # v_movrels_b32 v2, s5
    ("gfx1030", 0x7E04D0C1, "-1"),  # v_swaprel_b32 v2, -1
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
