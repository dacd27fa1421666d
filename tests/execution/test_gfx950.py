"""What GFX950 adds: functions of three bits, exchanges of rows, and loads that transpose; against their documents."""

import math
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.narrow_operations import converted_bits
from dwarfgpu.isa import tables
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.formulas import formulas
from dwarfgpu.isa.semantics.undefined_bits import undefined_results
from tests.builders.instruction_bench import InstructionBench, assembled
from tests.builders.integer_models import MODELS

LANES = 64
NUMBERS = np.random.default_rng(950)


@pytest.fixture
def it(require_tool):
    return InstructionBench(require_tool("llvm-mc-22"), "gfx950", LANES)


def registers(count):
    return NUMBERS.integers(0, 1 << 32, (count, LANES), np.uint32)


def by_table(table, a, b, c):
    """Each bit is the one that three bits choose from the table (CDNA 4, V_BITOP3_B32)."""
    chosen = [np.unpackbits(word.view(np.uint8), bitorder="little") for word in (a, b, c)]
    row = np.array([table >> number & 1 for number in range(8)], np.uint8)
    return np.packbits(row[4 * chosen[0] + 2 * chosen[1] + chosen[2]], bitorder="little").view(np.uint32)


@pytest.mark.parametrize("bits, step", [(16, 9), *(pytest.param(bits, 1, marks=pytest.mark.slow) for bits in (16, 32))])
def test_functions_of_three_bits(it, bits, step):
    words, tables = registers(3), range(0, 250, step)
    it.vectors(*words)
    it.run("\n".join(f"v_bitop3_b{bits} v{table % 250 + 3}, v0, v1, v2 bitop3:{table}" for table in tables))
    mask = np.uint32((1 << bits) - 1)
    for table in tables:
        assert (it.read(table + 3)[0] & mask == by_table(table, *words) & mask).all(), table
    for table in range(250, 256):
        it.run(f"v_bitop3_b{bits} v3, v0, v1, v2 bitop3:{table}")
        assert (it.read(3)[0] & mask == by_table(table, *words) & mask).all(), table
    it.vectors(*words, words[0])
    it.run("v_bitop3_b16 v3, v0, v1, v2 bitop3:0xca op_sel:[0,1,0,1]")
    expected = by_table(0xCA, words[0], words[1] >> 16, words[2]) << 16 | words[0] & 0xFFFF
    assert (it.read(3)[0] == expected).all()


def test_a_bit_is_undefined_only_where_the_result_depends_on_it():
    """All functions, all bits and all sets of undefined bits, against a search of both values of each."""
    cases = np.arange(64, dtype=np.uint32)[None, :]
    values, undefined = [cases >> at & 1 for at in range(3)], [cases >> at + 3 & 1 for at in range(3)]
    for table in range(256):
        seen = [np.zeros((1, 64), bool), np.zeros((1, 64), bool)]
        for flips in np.ndindex(2, 2, 2):
            given = [value ^ flip * free for value, flip, free in zip(values, flips, undefined, strict=True)]
            result = table >> (4 * given[0] + 2 * given[1] + given[2]) & 1
            seen[0] |= result == 0
            seen[1] |= result == 1
        (found,) = undefined_results(formulas()[f"v_bitop3_b32_{table:#04x}"], (*values,), (*undefined,))
        assert (np.broadcast_to(found & 1, (1, 64)).astype(bool) == (seen[0] & seen[1])).all(), table


def test_random_numbers_and_halves(it):
    (words,) = registers(1)
    floats = NUMBERS.normal(size=(2, LANES)).astype(np.float32) * np.float32(2.0) ** NUMBERS.integers(-30, 12, LANES)
    it.vectors(words, *floats.astype(np.float32))
    it.run("v_prng_b32 v8, v0\nv_cvt_pk_f16_f32 v9, v1, v2")
    assert (it.read(8)[0] == (words << 1 ^ np.where(words >> 31, 197, 0)).astype(np.uint32)).all()
    halves = [row.astype(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32) for row in floats]
    assert (it.read(9)[0] == halves[0] | halves[1] << 16).all()


@pytest.mark.parametrize("span", [16, 32])
def test_rows_are_exchanged(it, span):
    """Pass by pass, as the pseudo code of CDNA 4 has it."""
    left, right = registers(2)
    it.vectors(left, right)
    it.run(f"v_permlane{span}_swap_b32 v0, v1")
    for first in range(0, LANES, 2 * span):
        for lane in range(first, first + span):
            left[lane + span], right[lane] = right[lane], left[lane + span]
    assert (it.read(0)[0] == left).all()
    assert (it.read(1)[0] == right).all()
    it.batch.set_exec(1)
    with pytest.raises(UnknownInstruction, match="while lanes are off"):
        it.run(f"v_permlane{span}_swap_b32 v0, v1")


def test_shifted_and_packed(it):
    """The other half of the destination remains."""
    words = registers(4)
    it.vectors(*words)
    it.run("v_mov_b32 v4, v3\nv_ashr_pk_i8_i32 v4, v0, v1, v2\nv_mov_b32 v5, v3\n"
           "v_ashr_pk_u8_i32 v5, v0, 9, v2 op_sel:[0,0,0,1]")  # fmt: skip
    signed = [MODELS["v_ashr_pk_i8_i32"](*(int(word) for word in lane)) for lane in words[:3].T]
    unsigned = [MODELS["v_ashr_pk_u8_i32"](int(lane[0]), 9, int(lane[2])) for lane in words.T]
    assert (it.read(4)[0] == words[3] & 0xFFFF0000 | np.array(signed, np.uint32)).all()
    assert (it.read(5)[0] == words[3] & 0xFFFF | np.array(unsigned, np.uint32) << 16).all()


@pytest.mark.parametrize("bits", [4, 6, 8, 16])
def test_loads_that_transpose(it, bits):
    """Sixteen lanes with addresses one after the other read a matrix with a row for each of so many lanes."""
    size, step = (96, 16) if bits == 6 else (64, 8)
    per_lane = size // bits
    elements = NUMBERS.integers(0, 1 << bits, (LANES, per_lane))
    rows = [sum(int(code) << bits * place for place, code in enumerate(row)) for row in elements]
    it.local[0, 64 : 64 + LANES * step] = np.frombuffer(
        b"".join(row.to_bytes(step, "little") for row in rows), np.uint8
    )
    it.vector(0, (np.arange(LANES) * step).astype(np.uint32))
    target = f"v[2:{1 + size // 32}]"
    it.run(f"ds_read_b{size}_tr_b{bits} {target}, v0 offset:64")
    words = np.stack([it.read(2 + number)[0] for number in range(size // 32)], axis=1)
    wholes = [int.from_bytes(row.tobytes(), "little") for row in words]
    found = np.array([[whole >> bits * place & (1 << bits) - 1 for place in range(per_lane)] for whole in wholes])
    for row in range(0, LANES, 16):
        assert (found[row : row + 16] == elements[row : row + 16].reshape(per_lane, 16).T).all()
    it.vector(0, np.full(LANES, step // 2, np.uint32))
    with pytest.raises(UnknownInstruction, match=f"no multiple of {step}"):
        it.run(f"ds_read_b{size}_tr_b{bits} {target}, v0")
    it.batch.set_exec(3)
    with pytest.raises(UnknownInstruction, match="while lanes are off"):
        it.run(f"ds_read_b{size}_tr_b{bits} {target}, v0")


TYPES = {"fp8": (4, 3), "bf8": (5, 2), "fp6": (2, 3), "bf6": (3, 2), "fp4": (2, 1)}


def number_of(code, kind):
    """A code without infinities and NaNs as a number (OCP Microscaling Formats 1.0, 5.3)."""
    exponent_bits, fraction_bits = TYPES[kind]
    sign, rest = divmod(code, 1 << exponent_bits + fraction_bits)
    exponent, fraction = divmod(rest, 1 << fraction_bits)
    bias = 2 ** (exponent_bits - 1) - 1
    size = fraction / 2**fraction_bits + (exponent > 0)
    return (-1) ** sign * size * 2.0 ** (max(exponent, 1) - bias)


def place_of(kind, size, k):
    """The group of lanes and the place in a lane of an element of A or B (CDNA 4, 7.1.5.1)."""
    groups = 64 // size
    if kind not in ("fp8", "bf8"):
        return divmod(k, 32)
    half, inner = divmod(k, 16 * groups)
    return inner // 16, 16 * half + inner % 16


def random_matrix(kind, size, depth):
    """Codes of small numbers by row and K, as numbers, and as the registers that hold them."""
    bits = 1 + sum(TYPES[kind])
    codes = NUMBERS.integers(0, 1 << bits, (size, depth))
    codes &= ~(1 << bits - 2)  # neither infinity nor NaN
    lanes = [0] * LANES
    for row in range(size):
        for k in range(depth):
            group, place = place_of(kind, size, k)
            lanes[row + size * group] |= int(codes[row, k]) << bits * place
    words = [np.array([lane >> 32 * at & 0xFFFFFFFF for lane in lanes], np.uint32) for at in range(bits)]
    return np.vectorize(lambda code: number_of(int(code), kind))(codes), words


@pytest.mark.parametrize("kinds", [("fp8", "bf8"), ("fp6", "fp4"), ("bf6", "fp8"), ("fp4", "bf6"), ("bf8", "fp6")])
@pytest.mark.parametrize("size, depth", [(16, 128), (32, 64)])
@pytest.mark.parametrize("has_scales", [False, True])
@pytest.mark.sampled(4)
def test_products_of_narrow_floats(it, size, depth, kinds, has_scales):
    sides = [random_matrix(kind, size, depth) for kind in kinds]
    for first, (_numbers, words) in zip((0, 8), sides, strict=True):
        for at, word in enumerate(words):
            it.vector(first + at, word)
    added = NUMBERS.integers(-8, 8, (size * size // LANES, LANES)).astype(np.float32)
    for at, row in enumerate(added):
        it.vector(24 + at, row)
    exponents = NUMBERS.integers(124, 131, (2, LANES))
    it.vector(16, (exponents[0] << 16).astype(np.uint32))
    it.vector(17, (exponents[1] << 8).astype(np.uint32))
    count = size * size // LANES
    order = [*TYPES]
    registers = [len(words) - 1 for _numbers, words in sides]
    text = f"v[24:{23 + count}], v[0:{registers[0]}], v[8:{8 + registers[1]}], v[24:{23 + count}]"
    scaled, ending = ("scale_", " v16, v17 op_sel:[0,1,0] op_sel_hi:[1,0,0]") if has_scales else ("", "")
    chosen = f" cbsz:{order.index(kinds[0])} blgp:{order.index(kinds[1])}"
    it.run(f"v_mfma_{scaled}f32_{size}x{size}x{depth}_f8f6f4 {text}{',' if ending else ''}{ending}{chosen}")
    powers = 2.0 ** (exponents - 127) if has_scales else np.ones((2, LANES))
    blocks = [
        np.array([[powers[side][row + size * (k // 32)] for k in range(depth)] for row in range(size)])
        for side in (0, 1)
    ]
    wanted = (sides[0][0] * blocks[0]) @ (sides[1][0] * blocks[1]).T
    for row in range(size):
        for column in range(size):
            lane, at = column + size * (row // 4 % (LANES // size)), row % 4 + 4 * (row // (4 * (LANES // size)))
            found = it.read(24 + at, "f4")[0][lane]
            assert found == pytest.approx(wanted[row, column] + added[at][lane], rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_conversions_to_and_from_narrow_floats(it, kind):
    """Down a number is divided by the power of two, and up multiplied: both ways give what was there."""
    codes = (NUMBERS.integers(0, 256, (4, LANES)) & ~(1 << 6)).astype(np.uint32)  # neither infinity nor NaN
    packed = codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24
    numbers = np.vectorize(lambda code: number_of(int(code), kind))(codes)
    exponents = NUMBERS.integers(120, 136, LANES)
    scale = (exponents << 23 | NUMBERS.integers(0, 1 << 23, LANES) | 1 << 31).astype(np.uint32)
    power = 2.0 ** (exponents - 127)
    it.vectors(packed, scale)
    it.run(f"""
        v_cvt_scalef32_pk_f32_{kind} v[2:3], v0, v1
        v_cvt_scalef32_pk_f32_{kind} v[4:5], v0, v1 op_sel:[1,0,0]
        v_cvt_scalef32_f32_{kind} v6, v0, v1 op_sel:[1,1,0]
        v_cvt_scalef32_pk_f16_{kind} v7, v0, v1 op_sel:[1,0,0]
        v_cvt_scalef32_pk_bf16_{kind} v8, v0, v1
        v_cvt_scalef32_pk_{kind}_f32 v9, v2, v3, v1
        v_cvt_scalef32_pk_{kind}_f32 v9, v4, v5, v1 op_sel:[0,0,0,1]
        v_cvt_scalef32_pk_{kind}_f16 v10, v7, v1 op_sel:[0,0,1]
        v_cvt_scalef32_pk_{kind}_bf16 v10, v8, v1
        v_cvt_scalef32_pk_{kind}_f32 v11, v2, v3, 1.0
    """)
    for register, number in zip((2, 3, 4, 5, 6), (0, 1, 2, 3, 3), strict=True):
        assert (it.read(register, "f4")[0] == numbers[number] * power).all()
    halves = it.read(7)[0].view(np.float16).reshape(LANES, 2)
    assert (halves == (numbers[2:] * power).T.astype(np.float16)).all()
    assert (it.read(8)[0] << 16 == (numbers[0] * power).astype(np.float32).view(np.uint32)).all()
    assert (it.read(9)[0] == packed).all()
    assert (it.read(10)[0] & 0xFFFF == packed & 0xFFFF).all()
    assert it.read(11)[0].any()


def test_numbers_of_four_bits_become_wide(it):
    (words,) = registers(1)
    it.vectors(words)
    it.run("v_cvt_scalef32_pk_f32_fp4 v[2:3], v0, 2.0 op_sel:[0,1,0]\nv_cvt_scalef32_pk_bf16_fp4 v4, v0, 0.5")
    wide = np.vectorize(lambda code: number_of(int(code), "fp4"))
    assert (it.read(2, "f4")[0] == wide(words >> 16 & 15) * 2).all()
    assert (it.read(3, "f4")[0] == wide(words >> 20 & 15) * 2).all()
    assert (it.read(4)[0] << 16 == (wide(words & 15) / 2).astype(np.float32).view(np.uint32)).all()


WIDE = {"f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}


def exact(code, kind):
    """A code as a fraction; None for an infinity, and for a NaN."""
    exponent_bits, fraction_bits = (WIDE | TYPES)[kind]
    top = exponent_bits + fraction_bits
    exponent, fraction = code % (1 << top) >> fraction_bits, code % (1 << fraction_bits)
    if exponent == (1 << exponent_bits) - 1 and (kind in (*WIDE, "bf8") or (kind == "fp8" and fraction == 7)):
        return None
    whole = Fraction(fraction + (1 << fraction_bits if exponent else 0))
    size = whole * Fraction(2) ** (max(exponent, 1) - (1 << exponent_bits - 1) + 1 - fraction_bits)
    return -size if code >> top else size


@cache
def highest_of(kind):
    return max(code for code in range(1 << sum((WIDE | TYPES)[kind])) if exact(code, kind) is not None)


def is_nan(code, kind):
    fraction_bits = (WIDE | TYPES)[kind][1]
    return exact(code, kind) is None and (kind == "fp8" or code % (1 << fraction_bits) != 0)


def rounded(code, source, kind, exponent, noise, saturates):
    """The code of a number divided by a power of two: the nearest, or one by chance (CDNA 4, 7.3)."""
    exponent_bits, fraction_bits = (WIDE | TYPES)[kind]
    top, bias = exponent_bits + fraction_bits, (1 << exponent_bits - 1) - 1
    number, sign = exact(code, source), code >> sum(WIDE[source]) << top
    has_infinity = kind in ("bf8", *WIDE)
    highest = highest_of(kind)
    infinity = (1 << exponent_bits) - 1 << fraction_bits if has_infinity else 0x7F if kind == "fp8" else highest
    if number is None and is_nan(code, source):
        return sign | (highest if kind in ("fp6", "bf6", "fp4") else (1 << top) - 1)
    beyond = highest if saturates and kind != "bf16" else infinity
    if number is None:
        return sign | (infinity if kind == "f16" else beyond)
    size = abs(number) / Fraction(2) ** (exponent - 127)
    place = 1 - bias
    while Fraction(2) ** (place + 1) <= size:
        place += 1
    units = size / Fraction(2) ** (place - fraction_bits)
    lost = 23 - fraction_bits
    count = round(units) if noise is None else math.floor(units + Fraction(noise >> 32 - lost, 1 << lost))
    if count * Fraction(2) ** (place - fraction_bits) > exact(highest, kind):
        return sign | beyond
    return sign | count + (place + bias - 1 << fraction_bits)


def next_random(word):
    return word * 2 % 2**32 ^ (197 if word >> 31 else 0)


def numbers_near(kind, count, exponents):
    """Numbers of which most become numbers of a narrow type after the division by a power of two; and some others."""
    exponent_bits, fraction_bits = WIDE[kind]
    bias = (1 << exponent_bits - 1) - 1
    found = NUMBERS.integers(0, 1 << fraction_bits, (count, LANES))
    found &= np.where(NUMBERS.random(found.shape) < 0.3, -1 << max(fraction_bits - 4, 0), -1)
    usual = exponents - 127 + NUMBERS.integers(-8, 6, found.shape) + bias
    found |= np.clip(usual, 0, (1 << exponent_bits) - 1) << fraction_bits
    found |= NUMBERS.integers(0, 2, found.shape) << exponent_bits + fraction_bits
    odd = NUMBERS.integers(0, 1 << 1 + exponent_bits + fraction_bits, found.shape)
    infinity, sign = (1 << exponent_bits) - 1 << fraction_bits, 1 << exponent_bits + fraction_bits
    odd[:, :7] = 0, sign, 1, infinity, infinity | sign, infinity | 1, infinity | sign | 3 << fraction_bits - 2
    return np.where((NUMBERS.random(found.shape) < 0.1) | (np.arange(LANES) < 7), odd, found)


def side_by_side(codes, bits):
    """Codes of each lane as registers."""
    wholes = [sum(int(code) << bits * place for place, code in enumerate(lane)) for lane in codes.T]
    return [
        np.array([whole >> 32 * at & 0xFFFFFFFF for whole in wholes], np.uint32)
        for at in range(-(-len(codes) * bits // 32))
    ]


SHARES = [(0, "")] + [(place, f" op_sel:[0,0,{place & 1},{place >> 1}]") for place in (1, 2, 3)]
_NAME = re.compile(r"v_cvt_scalef32_(sr_)?(pk_|pk32_|2xpk16_)?([bf][fp]\d)_(b?f\d\d)$")
_OPCODES = tables.table("gfx950", LANES)
NARROWING = sorted(
    row.groups("") for lines in _OPCODES.rows["VOP3"].values() for line in lines
    if (row := _NAME.match(_OPCODES.row("VOP3", line)[0]))
)  # fmt: skip


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("chance, pack, kind, source", NARROWING)
@pytest.mark.sampled(4)
def test_numbers_become_narrow(it, chance, pack, kind, source, saturates):
    """Each conversion with a scale to a narrow type, against fractions; one that rounds by chance draws for each."""
    bits, count, is_random = 1 + sum(TYPES[kind]), {"": 1, "pk_": 2}.get(pack, 32), bool(chance)
    exponents = NUMBERS.integers(120, 136, LANES)
    exponents[-4:] = 0, 1, 253, 254
    codes = numbers_near(source, count, exponents)
    if source == "f32":
        words = [*codes.astype(np.uint32)]
        if pack == "2xpk16_":
            words = words[::2] + words[1::2]
    else:
        words = side_by_side(codes, 16)
    old, noise, scale = *registers(2), exponents << 23 | NUMBERS.integers(0, 1 << 23, LANES)
    it.vectors(old, *[old] * 7, *words)
    it.vector(48, noise)
    it.vector(49, scale.astype(np.uint32))
    it.batch.mode |= saturates << 23
    halves = len(words) // 2 if pack in ("pk_", "2xpk16_") and source == "f32" and not is_random else len(words)
    sources = [f"v[{at}:{at + halves - 1}]" if halves > 1 else f"v{at}" for at in range(8, 8 + len(words), halves)]
    operands = ", ".join([*sources, *["v48"] * is_random, "v49"])
    expected = np.zeros((count, LANES), int)
    for lane in range(LANES):
        drawn = int(noise[lane])
        for place in range(count):
            expected[place, lane] = rounded(
                int(codes[place, lane]), source, kind, int(exponents[lane]), drawn if is_random else None, saturates
            )
            drawn = next_random(drawn)
    size = bits * count
    name = f"v_cvt_scalef32_{chance}{pack}{kind}_{source}"
    if count == 32:
        it.run(f"{name} v[0:5], {operands}")
        assert [it.read(at)[0].tolist() for at in range(6)] == [each.tolist() for each in side_by_side(expected, bits)]
        return
    selected = {16: ((0, ""), (1, " op_sel:[0,0,0,1]" if source == "f32" else " op_sel:[0,0,1]")), 8: SHARES}[size]
    for place, text in selected:
        it.vector(0, old)
        it.run(f"{name} v0, {operands}{text}")
        mask = np.uint32((1 << size) - 1 << size * place)
        (wanted,) = side_by_side(expected, bits)
        assert it.read(0)[0].tolist() == (old & ~mask | wanted << np.uint32(size * place)).tolist()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("saturates", [False, True])
def test_singles_become_halves_by_chance(it, kind, saturates):
    codes = numbers_near("f32", 1, np.full(LANES, 127))[0]
    if kind == "f16":
        codes[8:16] = NUMBERS.integers(0x477F0000, 0x47810000, 8)  # about the largest number
        codes[16:24] = NUMBERS.integers(0x33000000, 0x38800000, 8)  # denormal numbers
    (noise, old) = registers(2)
    it.vectors(codes.astype(np.uint32), noise, old, old)
    it.batch.mode |= saturates << 23
    it.run(f"v_cvt_sr_{kind}_f32 v2, -v0, v1\nv_cvt_sr_{kind}_f32 v3, v0, v1 op_sel:[0,0,1]")
    for register, sign, shift in ((2, 0x80000000, 0), (3, 0, 16)):
        for lane in range(LANES):
            expected = rounded(int(codes[lane]) ^ sign, "f32", kind, 127, int(noise[lane]), saturates)
            found = int(it.read(register)[0][lane])
            assert found & 0xFFFF << (16 - shift) == int(old[lane]) & 0xFFFF << (16 - shift)
            assert found >> shift & 0xFFFF == expected, (hex(codes[lane]), hex(noise[lane]))


@pytest.mark.parametrize("kind", ["fp6", "bf6"])
@pytest.mark.parametrize("target", [*WIDE])
def test_numbers_of_six_bits_become_wide(it, kind, target):
    codes, exponents = NUMBERS.integers(0, 64, (32, LANES)), NUMBERS.integers(120, 130, LANES)
    it.vectors(*side_by_side(codes, 6), (exponents << 23).astype(np.uint32))
    last = 8 + (31 if target == "f32" else 15)
    it.run(f"v_cvt_scalef32_pk32_{target}_{kind} v[8:{last}], v[0:5], v6")
    words = np.stack([it.read(at)[0] for at in range(8, last + 1)], axis=1)
    found = words if target == "f32" else words.view(np.uint16)
    for lane in range(LANES):
        wanted = [exact(int(code), kind) * Fraction(2) ** int(exponents[lane] - 127) for code in codes[:, lane]]
        assert [exact(int(code), target) for code in found[lane]] == wanted


def test_what_no_document_says_of_conversions_stops(it):
    for text in (
        "v_cvt_scalef32_sr_fp8_f16 v0, v1, v2, v3 op_sel:[1,0,0,0]", "v_cvt_scalef32_pk_fp4_f16 v0, -v1, v3",
        "v_cvt_scalef32_sr_pk_fp4_f32 v0, |v[2:3]|, v4, v5", "v_mfma_ld_scale_b32 v0, v1",
    ):  # fmt: skip
        with pytest.raises(UnknownInstruction):
            it.run(text)


CONVERSIONS = """
    v_cvt_scalef32_pk_f32_fp8 v[4:5], v0, v3          v_cvt_scalef32_pk_f32_bf8 v[4:5], v0, v3 op_sel:[1,0,0]
    v_cvt_scalef32_f32_fp8 v4, v0, v3 op_sel:[0,1,0]  v_cvt_scalef32_f16_bf8 v4, v0, v3 op_sel:[1,0,1]
    v_cvt_scalef32_f16_fp8 v4, v0, v3 op_sel:[1,1,0]  v_cvt_scalef32_pk_f16_fp8 v4, v0, v3 op_sel:[1,0,0]
    v_cvt_scalef32_pk_bf16_bf8 v4, v0, v3             v_cvt_scalef32_pk_f32_fp4 v[4:5], v0, v3 op_sel:[1,1,0]
    v_cvt_scalef32_pk_bf16_fp4 v4, v0, v3 op_sel:[1,0,0]
    v_cvt_scalef32_pk_fp8_f32 v4, v0, v1, v3          v_cvt_scalef32_pk_bf8_f32 v4, v0, v1, v3 op_sel:[0,0,0,1]
    v_cvt_scalef32_pk_fp8_f16 v4, v0, v3              v_cvt_scalef32_pk_bf8_bf16 v4, v0, v3 op_sel:[0,0,1]
    v_cvt_pk_fp8_f32 v4, v0, v1                       v_cvt_pk_bf8_f32 v4, v0, v1 op_sel:[0,0,1]
    v_cvt_sr_fp8_f32 v4, v0, v1 op_sel:[0,0,1,1]      v_cvt_pk_f32_fp8 v[4:5], v0
    v_cvt_sr_bf16_f32 v4, v0, v1 op_sel:[0,0,1]       v_cvt_scalef32_sr_bf8_bf16 v4, v0, v1, v3 op_sel:[0,0,1,0]
    v_cvt_scalef32_pk_fp4_f32 v4, v0, v1, v3 op_sel:[0,0,1,1]
    v_cvt_scalef32_sr_pk_fp4_f16 v4, v0, v1, v3 op_sel:[0,0,0,1]
"""


@pytest.mark.parametrize("text", re.split(r"\s{2,}|\n", CONVERSIONS.strip()))
def test_a_conversion_reads_and_writes_the_bits_that_are_told(it, text):
    (code,) = assembled(it.assembler, text, "gfx950", LANES)
    read, written = converted_bits(decode(code, 0, "gfx950", LANES))
    words = registers(6)
    words[:4] &= 0x3FFFFFFF & ~0x40404040  # neither infinity nor NaN, whatever they are
    results = []
    for source, old in ((words[0], words[4]), (words[0] ^ np.uint32(~read & 0xBFBFBFBF), words[5])):
        it.vectors(source, words[1], words[2], words[3] | 0x3F000000, old, old)
        it.execute([code])
        results.append(it.read(4)[0])
        assert (results[-1] & ~np.uint32(written) == old & ~np.uint32(written)).all()
    assert (results[0] & written == results[1] & written).all()


def test_bf16_numbers_as_singles(it):
    """CDNA 4, V_CVT_F32_BF16: the upper half of a single, whatever it is; modifiers change the sign."""
    (words,) = registers(1)
    it.vectors(words)
    it.run("v_cvt_f32_bf16 v1, v0\nv_cvt_f32_bf16_sdwa v2, v0 src0_sel:WORD_1\nv_cvt_f32_bf16_e64 v3, -|v0|\n"
           "v_cvt_f32_bf16 v4, 0.5")  # fmt: skip
    expected = words << 16, words & 0xFFFF0000, words << 16 | 0x80000000, 0x3F000000
    assert all((it.read(number)[0] == each).all() for number, each in enumerate(expected, 1))
