"""What GFX1250 adds for bf16 numbers, tables of codes, lanes of groups and conversions with scales, by its document."""

from fractions import Fraction

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.matrix_operations import OVERFLOW
from tests.builders.float_models import least, most, number, rounded
from tests.builders.instruction_bench import InstructionBench
from tests.builders.parameters import for_each
from tests.execution.test_gfx950 import TYPES, number_of

LANES = 32
NUMBERS = np.random.default_rng(512)


@pytest.fixture
def it(require_tool):
    return InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)


def registers(count):
    return NUMBERS.integers(0, 1 << 32, (count, LANES), np.uint32)


def near(count):
    """Pairs of bf16 numbers whose sums lose bits: of all signs, with exponents that are near each other."""
    exponents, rest = NUMBERS.integers(120, 134, (count, LANES, 2)), NUMBERS.integers(0, 256, (count, LANES, 2))
    codes = (rest >> 7 << 15 | exponents << 7 | rest & 127).astype(np.uint32)
    return codes[..., 0] | codes[..., 1] << 16


def halves(words):
    return [[int(word) & 0xFFFF for word in words], [int(word) >> 16 for word in words]]


FUSED = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "fma": lambda a, b, c: a * b + c}


@for_each("action", "add", "mul", "fma", "min_num", "max_num")
def test_pairs_of_bf16_numbers(it, action):
    """One rounding to the nearest (CDNA 5, 7.7); op_sel chooses halves, neg changes signs."""
    count = 3 if action == "fma" else 2
    sources = near(count)
    it.vectors(*sources)
    texts = ", ".join(f"v{place}" for place in range(count))
    flags = "1,0,0"[: 2 * count - 1], "0,1,1"[: 2 * count - 1]
    text = f"v_pk_{action}_bf16 v4, {texts} op_sel:[{flags[0]}] op_sel_hi:[{flags[1]}] neg_lo:[{flags[0]}]"
    it.run(text)
    columns = [halves(source) for source in sources]
    for half, found in enumerate(halves(it.read(4)[0])):
        for lane in range(LANES):
            given = []
            for place in range(count):
                code = columns[place][(half == 0) == (place == 0)][lane]
                given.append(number(code ^ (0x8000 if half == 0 and place == 0 else 0), "bf16"))
            if action in FUSED:
                wanted = rounded(FUSED[action](*map(Fraction, given)), "bf16")
            else:
                wanted = rounded(Fraction((least if action == "min_num" else most)(*given)), "bf16")
            assert found[lane] == wanted or not (found[lane] | wanted) & 0x7FFF, (lane, half, given)


def test_special_bf16_numbers(it):
    """With FP16_OVFL what is too large is the largest number; denormals stay; -0 + 0 is 0."""
    it.vectors(*(np.full(LANES, code, np.uint32) for code in (0x7F7F7F7F, 0x00010001, 0x80008000, 0x7F80FFC1)))
    it.run("v_pk_add_bf16 v4, v0, v0\nv_pk_add_bf16 v5, v1, v1\nv_pk_add_bf16 v6, v2, 0\nv_pk_mul_bf16 v7, v2, v2")
    it.run("v_pk_mul_bf16 v9, v2, v1")
    assert [int(it.read(number)[0, 0]) for number in (4, 5, 6, 7, 9)] == [0x7F807F80, 0x00020002, 0, 0, 0x80008000]
    it.run("v_pk_add_bf16 v8, v3, v0\nv_pk_min_num_bf16 v10, v3, v0")
    assert int(it.read(8)[0, 0]) >> 16 == 0x7F80
    assert int(it.read(8)[0, 0]) & 0x7FC0 == 0x7FC0
    assert int(it.read(10)[0, 0]) == 0x7F7F7F7F
    it.batch.mode |= OVERFLOW
    it.run("v_pk_add_bf16 v4, v0, v0\nv_pk_fma_bf16 v5, v0, v0, v0\nv_pk_add_bf16 v6, v3, v1")
    assert [int(it.read(number)[0, 0]) for number in (4, 5)] == [0x7F7F7F7F] * 2
    assert int(it.read(6)[0, 0]) >> 16 == 0x7F80


def test_constants_of_bf16_numbers(it):
    """A constant is a single, of which op_sel takes the upper half (CDNA 5, 7.7.2)."""
    (word,) = near(1)
    it.vector(0, word)
    it.run("v_pk_mul_bf16 v1, v0, 2.0 op_sel:[0,1] op_sel_hi:[1,1]\nv_rcp_bf16 v2.l, 2.0")
    assert (it.read(1)[0] == word + np.uint32(0x00800080)).all()
    assert (it.read(2)[0] & 0xFFFF == 0x3F00).all()


def test_mixed_products_with_bf16_numbers(it):
    """op_sel_hi says that a source is a bf16 number; the result is rounded to a single first."""
    a, b = near(2)
    c = NUMBERS.standard_normal(LANES).astype(np.float32)
    it.vectors(a, b, c)
    it.vector(6, np.full(LANES, 0xABCD1234, np.uint32))
    it.run("v_fma_mix_f32_bf16 v4, v0, -v1, v2 op_sel:[1,0,0] op_sel_hi:[1,1,0]")
    it.run("v_fma_mixlo_bf16 v5, v0, v1, v2 op_sel_hi:[1,1,0]\nv_fma_mixhi_bf16 v6, v0, v1, |v2| op_sel_hi:[1,1,0]")
    high, low = (np.array(column, np.uint32) << np.uint32(16) for column in (halves(a)[1], halves(b)[0]))
    product = high.view(np.float32).astype(np.float64) * low.view(np.float32)
    for lane in range(LANES):
        wanted = rounded(Fraction(float(c[lane])) - Fraction(product[lane]), "f32")
        assert int(it.read(4)[0, lane]) == wanted
        left, right = (number(halves(word)[0][lane], "bf16") for word in (a, b))
        for register, other in ((5, c[lane]), (6, abs(c[lane]))):
            single = number(rounded(Fraction(left) * Fraction(right) + Fraction(float(other)), "f32"), "f32")
            found = int(it.read(register)[0, lane])
            assert (found & 0xFFFF if register == 5 else found >> 16) == rounded(Fraction(single), "bf16")
    assert (it.read(6)[0] & 0xFFFF == 0x1234).all()


@for_each("ending, relu", ("", False), (" clamp", True))
def test_sums_that_are_limited(it, ending, relu):
    """CDNA 5, 7.7: clamp makes negative results 0, and is ignored for unsigned numbers."""
    a, b, c = registers(3)
    it.vectors(a, b, c)
    it.run(f"v_add_max_i32 v4, v0, v1, v2{ending}\nv_add_min_u32 v5, v0, v1, v2{ending}")
    it.run(f"v_pk_add_min_i16 v6, v0, v1, v2{ending}\nv_pk_add_max_u16 v7, v0, v1, v2{ending}")
    x, y, z = (word.view(np.int32).astype(np.int64) for word in (a, b, c))
    wanted = np.maximum(np.clip(x + y, -(1 << 31), (1 << 31) - 1), z)
    assert (it.read(4, "i4")[0] == (np.maximum(wanted, 0) if relu else wanted)).all()
    assert (it.read(5)[0] == np.minimum(np.minimum(a.astype(np.uint64) + b, (1 << 32) - 1), c)).all()
    x, y, z = (word.view(np.int16).astype(np.int64) for word in (a, b, c))
    wanted = np.minimum(np.clip(x + y, -(1 << 15), (1 << 15) - 1), z)
    assert (np.ascontiguousarray(it.read(6)[0]).view(np.int16) == (np.maximum(wanted, 0) if relu else wanted)).all()
    x, y, z = (word.view(np.uint16).astype(np.int64) for word in (a, b, c))
    assert (np.ascontiguousarray(it.read(7)[0]).view(np.uint16) == np.maximum(np.minimum(x + y, 65535), z)).all()


@for_each("bits, operands", (4, "v[10:11], v1, v0"), (6, "v[10:12], v2, v[0:1]"), (8, "v[10:13], v[2:3], v[0:1]"))
def test_tables_of_codes(it, bits, operands):
    """The table is the first two sources, the first above the second (V_PERM_PK16_B4_U4)."""
    words = registers(6)
    it.vectors(*words)
    it.run(f"v_perm_pk16_b{bits}_u4 {operands}, v[4:5]")
    for lane in range(LANES):
        table = sum(int(words[place][lane]) << 32 * place for place in range(4))
        index = int(words[4][lane]) | int(words[5][lane]) << 32
        found = sum(int(it.read(10 + place)[0, lane]) << 32 * place for place in range(bits // 2))
        for place in range(16):
            chosen = index >> 4 * place & 15
            assert found >> bits * place & (1 << bits) - 1 == table >> bits * chosen & (1 << bits) - 1


@for_each("width", 1, 4, 8, 32)
@for_each("shift", 0, 1, 3, 9, 33)
def test_lanes_of_groups(it, width, shift):
    """All lanes are read, whether they execute or not (V_PERMLANE_BCAST_B32 and those that follow)."""
    (values,) = registers(1)
    it.scalar(4, width)
    it.scalar(5, shift)
    it.batch.set_exec(0x0FFFFFFF)
    it.vectors(values)
    for place, name in enumerate(("bcast", "up", "down", "xor")):
        it.vector(1 + place, np.full(LANES, 7, np.uint32))
        it.run(f"v_permlane_{name}_b32 v{1 + place}, v0, s5, s4")
    it.run("v_permlane_idx_gen_b32 v6, v0, s4")
    for lane in range(28):
        base, place = lane - lane % width, lane % width
        assert it.read(1)[0, lane] == values[base + (shift & 63) % width]
        assert it.read(2)[0, lane] == values[lane if place < min(shift, width) else lane - shift]
        assert it.read(3)[0, lane] == values[lane + shift if place + min(shift, width) < width else lane]
        other = lane ^ shift
        assert it.read(4)[0, lane] == values[other if shift < 32 and base <= other < base + width else lane]
        assert it.read(6)[0, lane] == 4 * (base + (int(values[lane]) & 63) % width)
    assert (it.read(2)[0, 28:] == 7).all()


def test_groups_whose_width_is_no_power_of_two(it):
    with pytest.raises(UnknownInstruction, match="no power of two"):
        it.run("v_permlane_up_b32 v1, v0, 1, 3")


def codes_in(bench, first, bits, count):
    """The codes that lie side by side in registers, by lane."""
    words = [bench.read(first + place)[0] for place in range(-(-bits * count // 32))]
    wholes = [sum(int(word[lane]) << 32 * place for place, word in enumerate(words)) for lane in range(LANES)]
    return np.array([[whole >> bits * place & (1 << bits) - 1 for place in range(count)] for whole in wholes])


@for_each("kind", *TYPES)
@for_each("wide", "f32", "f16", "bf16")
def test_conversions_with_scales(it, kind, wide):
    """Down a number is divided by the power of two, up it is multiplied; both ways give what was there.

    CDNA 5, tables 36 and 37: the scale of a lane is in the lane of the lower half; of 4 and 6 bits, lanes 16 to 31 have
    the second byte.
    """
    bits, count = 1 + sum(TYPES[kind]), 16 if kind[-1] == "6" else 8
    codes = NUMBERS.integers(0, 1 << bits, (LANES, count)) & ~(1 << bits - 2)  # neither infinity nor NaN
    wholes = [sum(int(code) << bits * place for place, code in enumerate(row)) for row in codes]
    for place in range(bits * count // 32):
        it.vector(place, np.array([whole >> 32 * place & 0xFFFFFFFF for whole in wholes], np.uint32))
    bytes_ = NUMBERS.integers(124, 131, (LANES, 4)).astype(np.uint8)
    it.vector(6, bytes_.view(np.uint32)[:, 0])
    size = count if wide == "f32" else count // 2
    first = -(-bits * count // 32) - 1
    source = f"v[0:{first}]" if first else "v0"
    it.run(f"v_cvt_scale_pk{count}_{wide}_{kind} v[10:{9 + size}], {source}, v6")
    lanes = np.arange(LANES)
    powers = bytes_[lanes % 16, 0 if bits == 8 else lanes // 16].astype(float) - 127
    expected = np.vectorize(lambda code: number_of(int(code), kind))(codes) * 2.0 ** powers[:, None]
    kinds = {"f32": 32, "f16": 16, "bf16": 16}
    found = np.vectorize(lambda code: number(int(code), wide))(codes_in(it, 10, kinds[wide], count))
    assert (found == expected).all()
    it.vector(7, ((powers + 127).astype(np.uint32) << np.uint32(23)) | np.uint32(0x80000000))
    target = f"v[40:{40 + first}]" if first else "v40"
    it.run(f"v_cvt_scalef32_pk{count}_{kind}_{wide} {target}, v[10:{9 + size}], v7")
    assert (codes_in(it, 40, bits, count) == codes).all()


def test_infinities_with_scales(it):
    """CDNA 5, 7.6.2: an infinity becomes a NaN where numbers saturate, and is one of BF8 else."""
    for place, value in enumerate((np.inf, -np.inf, 1e30, 1, 1, 1, 1, 1)):
        it.vector(place, np.full(LANES, value, np.float32))
    for mode, wanted in ((0, {"fp8": [0x7F, 0xFF, 0x7F], "bf8": [0x7C, 0xFC, 0x7C]}),
                         (OVERFLOW, {"fp8": [0x7F, 0xFF, 0x7E], "bf8": [0x7F, 0xFF, 0x7B]})):  # fmt: skip
        it.batch.mode = it.batch.mode & ~OVERFLOW | mode
        for kind, codes in wanted.items():
            it.run(f"v_cvt_scalef32_pk8_{kind}_f32 v[10:11], v[0:7], 1.0")
            found = int(it.read(10)[0, 0])
            assert [found >> 8 * place & 0xFF for place in range(3)] == [
                code if code & 0x7F != 0x7F else code & 0x7F | found >> 8 * place & 0x80
                for place, code in enumerate(codes)
            ]


@for_each("kind, lost", ("fp8", 7), ("bf8", 8))
def test_halves_become_floats_of_8_bits_by_chance(it, kind, lost):
    """The highest bits of the random number are added below the fraction that is kept (CDNA 5, V_CVT_SR_FP8_F16)."""
    codes = NUMBERS.integers(0x2400 if kind == "fp8" else 1, 0x5E00, LANES) | NUMBERS.integers(0, 2, LANES) << 15
    noise, old = NUMBERS.integers(0, 1 << 32, LANES), NUMBERS.integers(0, 1 << 32, LANES)
    it.vectors(*(each.astype(np.uint32) for each in (codes | 0x12340000, noise, old)))
    it.run(f"v_cvt_sr_{kind}_f16 v2, v0, v1 byte_sel:2\nv_cvt_sr_{kind}_f16 v3, -v0, v1")
    cut = (codes & 0x7FFF) + (noise >> 32 - lost) >> lost
    expected = cut - (8 << 3) if kind == "fp8" else cut  # the exponent has a bias of 7, not of 15
    expected |= codes >> 8 & 0x80
    kept = old & 0xFF00FFFF
    assert (it.read(2)[0] == kept | expected << 16).all()
    assert (it.read(3)[0] & 0xFF == expected ^ 0x80).all()


@for_each(
    "number, expected", (9e-4, 9e-4), (-9e-4, -9e-4), (8.0, 1), (-9.5, -1), (np.inf, 1), (-np.inf, -1), (-0.0, -0.0)
)
def test_hyperbolic_tangents_outside_of_the_approximation(it, number, expected):
    """CDNA 5, V_TANH_F32: small numbers stay, large ones become 1."""
    it.vector(0, np.full(LANES, number, np.float32).view(np.uint32))
    it.run("v_tanh_f32 v1, v0")
    assert (it.read(1)[0] == np.float32(expected).view(np.uint32)).all()


@for_each(
    "text, message",
    ("v_cvt_scale_pk8_f32_fp8 v[0:7], v[8:9], v10 scale_sel:1", "documents differ on what scale_sel:1 says"),
    ("v_cvt_scale_pk8_f32_fp4 v[0:7], v8, v10 scale_sel:4", "documents differ on what scale_sel:4 says"),
    ("v_cvt_scalef32_sr_pk8_fp8_f32 v[0:1], v[8:15], v16, v17", "public sources differ on its meaning"),
)
def test_conversions_that_are_not_known(it, text, message):
    with pytest.raises(UnknownInstruction, match=message):
        it.run(text)
