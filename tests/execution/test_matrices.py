"""Matrix operations, one at a time: each element of D is computed here from the tables of the ISA documents.

The closed forms of places (register and lane of an element) are those that AMD publishes for each operation ("Matrix
element to register mapping" of the AMD Matrix Instruction Calculator); the engine computes them in another way.
"""

import re

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.decoder import text as decoded_text
from tests.builders.float_models import eight_bits
from tests.builders.instruction_bench import InstructionBench, assembled
from tests.builders.parameters import for_each, told

RANDOM = np.random.default_rng(11)
A, B, C, D, INDEX = 0, 32, 64, 128, 200
"""The first registers of the operands."""

BITS = {"f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16, "i8": 8, "iu8": 8, "fp8": 8, "bf8": 8,
        "iu4": 4}  # fmt: skip


def some(kind, shape, processor):
    """Random small numbers of a type and the bits that stand for them; the products and sums of all are exact."""
    if kind in ("i8", "iu8", "iu4"):
        codes = RANDOM.integers(0, 1 << BITS[kind], shape)
        return codes, codes
    if kind in ("fp8", "bf8"):
        table = np.array([*map(eight_bits(kind, is_fnuz=processor == "gfx942"), range(256))])
        codes = RANDOM.choice([code for code in range(256) if 0.25 <= abs(table[code]) <= 4], shape)
        return table[codes], codes
    numbers = RANDOM.integers(-8, 9, shape) / 4
    if kind == "f16":
        return numbers, numbers.astype(np.float16).view(np.uint16).astype(np.int64)
    if kind == "bf16":
        return numbers, (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
    if kind == "f64":
        return numbers, numbers.view(np.int64)
    return numbers, numbers.astype(np.float32).view(np.uint32).astype(np.int64)


def put(bench, first, kind, places, *, file="vector"):
    """Fill registers with codes at (lane, element of the lane)."""
    bits = BITS[kind]
    count = max(item for _lane, item in places) + 1
    words = np.zeros((-(-count * bits // 32), bench.lanes), np.uint64)
    for (lane, item), code in places.items():
        at = item * bits
        for half in range(max(1, bits // 32)):
            part = int(code) >> 32 * half & ((1 << min(bits, 32)) - 1)
            words[at // 32 + half, lane] |= np.uint64(part << at % 32)
    for number, word in enumerate(words):
        bench.vector(first + number, word.astype(np.uint32), file=file)


def get(bench, first, kind, lane, item, *, file="vector"):
    if kind == "f64":
        return bench.read(first + 2 * item, "f8", file=file)[0, lane]
    if kind in ("f32", "i32"):
        return bench.read(first + item, "f4" if kind == "f32" else "i4", file=file)[0, lane]
    word = int(bench.read(first + item // 2, file=file)[0, lane]) >> 16 * (item % 2) & 0xFFFF
    if kind == "bf16":
        return np.uint32(word << 16).view(np.float32)
    return np.uint16(word).view(np.float16)


def as_result(kind, number):
    """The number as C and D have it: bf16 has 8 bits, so it is rounded to even."""
    if kind != "bf16" or not number:
        return number
    step = 2.0 ** (np.frexp(abs(number))[1] - 8)
    return round(number / step) * step


def registers(first, bits, count, *, letter="v"):
    number = max(1, bits * count // 32)
    return f"{letter}{first}" if number == 1 else f"{letter}[{first}:{first + number - 1}]"


# name: blocks, then K of one lane, then the register of D and the lane of D as AMD writes them


def large(i, j, b):
    return 16 * b + 4 * (i // 8) + i % 4, 32 * (i // 4) % 64 + j


def middle(i, j, b):
    return 4 * b + i % 4, 16 * (i // 4) + j


def small(i, j, b):
    return i, 4 * b + j


def double(i, j, _b):
    return i // 4, 16 * (i % 4) + j


def small_double(i, j, b):
    return 0, 16 * i + 4 * b + j


NAME = re.compile(r"([fi]\d+)_(\d+)x\d+x(\d+)_?(?:\d+b_)?(\w+?)(?:_1k)?")


def dense(name, blocks):
    """The kinds and sizes that the name of an instruction says, and where its results are."""
    result, size, depth, kinds = NAME.fullmatch(name).groups()
    places = {"4": small_double, "16": double} if result == "f64" else {"4": small, "16": middle, "32": large}
    return result, kinds.replace("_", " "), int(size), int(depth), int(blocks), places[size]


BLOCKS = {
    "gfx90a": told("""
        f32_32x32x1f32 | f32_32x32x4f16 | i32_32x32x4i8 | f32_32x32x2bf16 | f32_32x32x4bf16_1k -> 2
        f32_16x16x1f32 | f32_16x16x4f16 | i32_16x16x4i8 | f32_16x16x2bf16 | f32_16x16x4bf16_1k | f64_4x4x4f64 -> 4
        f32_4x4x1f32 | f32_4x4x4f16 | i32_4x4x4i8 | f32_4x4x2bf16 | f32_4x4x4bf16_1k -> 16
        f32_32x32x2f32 | f32_16x16x4f32 | f32_32x32x8f16 | f32_16x16x16f16 | i32_32x32x8i8 | i32_16x16x16i8 |
            f32_32x32x4bf16 | f32_16x16x8bf16 | f32_32x32x8bf16_1k | f32_16x16x16bf16_1k | f64_16x16x4f64 -> 1
        """),
    "gfx942": told("""
        f32_16x16x16_f16 | i32_32x32x16_i8 | i32_16x16x32_i8 | f32_16x16x8_xf32 | f32_32x32x4_xf32 | f64_16x16x4_f64 |
            f32_16x16x32_bf8_fp8 | f32_16x16x32_fp8_fp8 | f32_32x32x16_fp8_bf8 -> 1
        f32_32x32x1_2b_f32 -> 2      f32_16x16x4_4b_f16 | f64_4x4x4_4b_f64 -> 4                f32_4x4x4_16b_bf16 -> 16
        """),
    "gfx950": told("""
        f32_16x16x32_f16 | f32_16x16x32_bf16 | f32_32x32x16_f16 | f32_32x32x16_bf16 | i32_16x16x64_i8 |
            i32_32x32x32_i8 | f32_16x16x32_fp8_bf8 | f32_32x32x16_bf8_fp8 -> 1
        """),
}
MFMA = {f"v_mfma_{name}": (kind, *dense(name, blocks)) for kind, rows in BLOCKS.items() for name, blocks in rows}


def signed(code, bits):
    return code - (code >> bits - 1 << bits)


def meaning(kind, value):
    return signed(value, 8) if kind == "i8" else value


def put_dense(bench, first, kind, size, depth, blocks, codes, *, file="vector"):
    """Fill the registers of A or of B: codes ``[block, row, k]``."""
    each = size * depth * blocks // bench.lanes
    places = {
        (row + size * (block + blocks * (k // each)), k % each): codes[block, row, k]
        for block in range(blocks)
        for row in range(size)
        for k in range(depth)
    }
    put(bench, first, kind, places, file=file)


def is_small(name):
    return name in (
        "v_mfma_f32_4x4x1f32", "v_mfma_f64_4x4x4f64", "v_mfma_f32_16x16x32_bf8_fp8", "v_mfma_i32_16x16x16i8",
        "v_mfma_f32_16x16x32_f16",
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if is_small(name) else pytest.mark.slow) for name in MFMA]
)
@pytest.mark.parametrize("letter", ["v", "a"])
def test_dense_products_of_gfx9(require_tool, name, letter):
    processor, result, kinds, size, depth, blocks, place = MFMA[name]
    left_kind, right_kind = (kinds.split() * 2)[:2]
    bench = InstructionBench(require_tool("llvm-mc-22"), processor, 64)
    bench.batch.set_exec(0x5A5A)  # which is ignored
    left, left_codes = some(left_kind, (blocks, size, depth), processor)
    right, right_codes = some(right_kind, (blocks, size, depth), processor)
    other, other_codes = some(
        "f32" if result == "f32" else result if result == "f64" else "i8", (blocks, size, size), ""
    )
    file = "vector" if letter == "v" else "accumulation"
    put_dense(bench, A, left_kind, size, depth, blocks, left_codes, file=file)
    put_dense(bench, B, right_kind, size, depth, blocks, right_codes, file=file)
    spots = {(b, i, j): place(i, j, b) for b in range(blocks) for i in range(size) for j in range(size)}
    put(bench, C, result, {(lane, item): other_codes[spot] for spot, (item, lane) in spots.items()}, file=file)
    each, count = size * depth * blocks // 64, blocks * size * size // 64
    operands = (
        registers(D, BITS[result], count, letter=letter),      registers(A, BITS[left_kind], each, letter=letter),
        registers(B, BITS[right_kind], each, letter=letter),   registers(C, BITS[result], count, letter=letter),
    )  # fmt: skip
    bench.run(f"{name} {', '.join(operands)}")
    for (b, i, j), (item, lane) in spots.items():
        found = get(bench, D, result, lane, item, file=file)
        wanted = other[b, i, j] + sum(
            meaning(left_kind, left[b, i, k]) * meaning(right_kind, right[b, j, k]) for k in range(depth)
        )
        assert found == wanted, (b, i, j)


def test_blocks_and_lanes_are_broadcast(require_tool):
    """CBSZ and ABID choose the blocks of A, BLGP the lanes of B; C may be a constant."""
    for cbsz, abid, blgp in ((1, 1, 0), (2, 3, 0), (4, 9, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 0, 6), (3, 2, 5)):
        bench = InstructionBench(require_tool("llvm-mc-22"), "gfx90a", 64)
        left, right = RANDOM.integers(-9, 9, (2, 64)).astype(np.float32)
        bench.vector(A, left)
        bench.vector(B, right)
        bench.run(f"v_mfma_f32_4x4x1f32 v[{D}:{D + 3}], v{A}, v{B}, 1.0 cbsz:{cbsz} abid:{abid} blgp:{blgp}")
        for block in range(16):
            for i in range(4):
                for j in range(4):
                    source = block // 2**cbsz * 2**cbsz + abid
                    lane = 4 * block + j
                    lane = {0: lane, 1: lane % 32, 2: lane % 32 + 32, 3: (lane + 16) % 64}.get(
                        blgp, lane % 16 + 16 * (blgp - 4)
                    )
                    wanted = left[4 * source + i] * right[lane] + 1
                    assert bench.read(D + i, "f4")[0, 4 * block + j] == wanted, (cbsz, abid, blgp, block, i, j)


@for_each("text, blocks",
    (f"v_mfma_f32_4x4x1f32 v[{D}:{D + 3}], v{A}, v{B}, 1.0 cbsz:5", 16),
    (f"v_mfma_f32_4x4x1f32 v[{D}:{D + 3}], v{A}, v{B}, 1.0 cbsz:2 abid:4", 16),
    (f"v_mfma_f32_16x16x8bf16 v[{D}:{D + 3}], v{A}, v{B}, 1.0 cbsz:1", 1))  # fmt: skip
def test_blocks_that_a_matrix_does_not_have_are_not_broadcast(require_tool, text, blocks):
    """CBSZ is at most the logarithm of the blocks, ABID less than a group has (CDNA ISA documents, "MFMA")."""
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx90a", 64)
    with pytest.raises(UnknownInstruction, match=f"with cbsz:.* and {blocks} blocks of A"):
        bench.run(text)


def test_doubles_are_negated(require_tool):
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx942", 64)
    left, right, other = RANDOM.integers(-9, 9, (3, 64)).astype(np.float64)
    for first, column in ((A, left), (B, right), (C, other)):
        bench.vector(first, column)
    for text, signs in (("[1,0,0]", (-1, 1)), ("[0,1,1]", (-1, -1)), ("[1,1,0]", (1, 1)), ("[0,0,1]", (1, -1))):
        bench.run(f"v_mfma_f64_4x4x4_4b_f64 v[{D}:{D + 1}], v[0:1], v[{B}:{B + 1}], v[{C}:{C + 1}] neg:{text}")
        for block in range(4):
            for i in range(4):
                for j in range(4):
                    total = sum(left[i + 4 * (block + 4 * k)] * right[j + 4 * (block + 4 * k)] for k in range(4))
                    lane = 16 * i + 4 * block + j
                    assert bench.read(D, "f8")[0, lane] == signs[0] * total + signs[1] * other[lane]


def test_gfx90a_takes_denormal_halfs_for_zero(require_tool):
    found = {}
    for processor, name in (("gfx90a", "v_mfma_f32_4x4x4f16"), ("gfx942", "v_mfma_f32_4x4x4_16b_f16")):
        bench = InstructionBench(require_tool("llvm-mc-22"), processor, 64)
        bench.vector(A, np.full(64, 0x0001, np.uint32))
        bench.vector(B, np.full(64, 0x3C00, np.uint32))
        bench.run(f"{name} v[{D}:{D + 3}], v[0:1], v[{B}:{B + 1}], 0")
        found[processor] = bench.read(D, "f4")[0, 0]
    assert found == {"gfx90a": 0, "gfx942": 2.0**-24}


def test_sums_are_rounded_after_each_product_or_clamped(require_tool):
    """As fused operations one after the other, in the order of K."""
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx90a", 64)
    left, right = RANDOM.random((2, 64)).astype(np.float32) - np.float32(0.5)
    bench.vector(A, left)
    bench.vector(B, right)
    bench.run(f"v_mfma_f32_16x16x4f32 v[{D}:{D + 3}], v{A}, v{B}, 1.0")
    total = np.float32(1)
    for k in range(4):
        total = np.float32(np.longdouble(left[3 + 16 * k]) * np.longdouble(right[7 + 16 * k]) + np.longdouble(total))
    assert bench.read(D + 3, "f4")[0, 7] == total
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx1100", 32)
    for number in range(4):
        bench.vector(A + number, np.full(32, 0x7F7F7F7F, np.uint32))
        bench.vector(B + number, np.full(32, 0x7F7F7F7F, np.uint32))
    for number in range(8):
        bench.vector(C + number, np.full(32, 0x7FFFFFF0, np.uint32))
    text = "v_wmma_i32_16x16x16_iu8 v[128:135], v[0:3], v[32:35], v[64:71] neg_lo:[1,1,0]"
    bench.run(text)
    assert (bench.read(128, "i4") == 0x7FFFFFF0 + 16 * 127 * 127 - (1 << 32)).all()
    bench.run(f"{text} clamp")
    assert (bench.read(128, "i4") == 0x7FFFFFFF).all()


def place_in_gfx11(i, j, lanes):
    return (i // 2, 16 * (i % 2) + j) if lanes == 32 else (i // 4, 16 * (i % 4) + j)


def place_in_gfx12(i, j, lanes):
    if lanes == 32:
        return i % 8, 16 * (i // 8) + j
    return i % 4, (0, 32, 16, 48)[i // 4] + j


WMMA = (
    ("gfx1100", "v_wmma_f32_16x16x16_f16"), ("gfx1100", "v_wmma_f32_16x16x16_bf16"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16"), ("gfx1100", "v_wmma_bf16_16x16x16_bf16"),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8"), ("gfx1100", "v_wmma_i32_16x16x16_iu4"),
    ("gfx1200", "v_wmma_f32_16x16x16_f16"), ("gfx1200", "v_wmma_f32_16x16x16_bf16"),
    ("gfx1200", "v_wmma_f16_16x16x16_f16"), ("gfx1200", "v_wmma_bf16_16x16x16_bf16"),
    ("gfx1200", "v_wmma_i32_16x16x16_iu8"), ("gfx1200", "v_wmma_i32_16x16x16_iu4"),
    ("gfx1200", "v_wmma_i32_16x16x32_iu4"), ("gfx1200", "v_wmma_f32_16x16x16_fp8_bf8"),
    ("gfx1200", "v_wmma_f32_16x16x16_bf8_bf8"))  # fmt: skip


@pytest.mark.parametrize(
    "processor, name, lanes",
    [
        (*row, lanes)
        for row in WMMA
        for lanes in (32, 64)
        if (*row, lanes) != ("gfx1200", "v_wmma_i32_16x16x16_iu4", 64)
    ],
)
@pytest.mark.sampled(6)
def test_dense_products_of_gfx11_and_gfx12(require_tool, processor, name, lanes):
    _v, _wmma, result, dimensions, *kinds = name.split("_")
    depth = int(dimensions.split("x")[2])
    left_kind, right_kind = (kinds * 2)[:2]
    bench = InstructionBench(require_tool("llvm-mc-22"), processor, lanes)
    left, left_codes = some(left_kind, (1, 16, depth), processor)
    right, right_codes = some(right_kind, (1, 16, depth), processor)
    other, other_codes = some({"f16": "f16", "bf16": "bf16", "f32": "f32", "i32": "i8"}[result], (16, 16), processor)
    is_new = processor == "gfx1200"
    each = 16 * depth // lanes if is_new else depth
    if is_new:
        put_dense(bench, A, left_kind, 16, depth, 1, left_codes)
        put_dense(bench, B, right_kind, 16, depth, 1, right_codes)
    else:
        for first, kind, codes in ((A, left_kind, left_codes), (B, right_kind, right_codes)):
            put(bench, first, kind, {(lane, k): codes[0, lane % 16, k] for lane in range(lanes) for k in range(16)})
    place = place_in_gfx12 if is_new else place_in_gfx11
    spots = {(i, j): place(i, j, lanes) for i in range(16) for j in range(16)}
    is_half = result in ("f16", "bf16")
    for half in (0, 1) if is_half and not is_new else (0,):
        scale = 2 if is_half and not is_new else 1
        put(bench, C, result, {(lane, scale * item + half): other_codes[spot] for spot, (item, lane) in spots.items()})
        count = 256 // lanes if not is_half or not is_new else 128 // lanes
        for number in range(count):
            bench.vector(D + number, np.full(lanes, 0xABCD1234, np.uint32))
        for modifiers in (0, 1, 2, 3) if result == "i32" else (0,):
            operands = (
                registers(D, 32, count),                           registers(A, BITS[left_kind], each),
                registers(B, BITS[right_kind], each),              registers(C, 32, count))  # fmt: skip
            text = f"{name} {', '.join(operands)}"
            if modifiers:
                text += f" neg_lo:[{modifiers & 1},{modifiers >> 1},0]"
            bench.run(text + (f" op_sel:[0,0,{half}]" if half else ""))
            signs = [
                bool(modifiers >> source & 1) and left_kind in ("iu8", "iu4") for source in (0, 1)
            ]  # as neg_lo says
            bits = BITS[left_kind]
            for (i, j), (item, lane) in spots.items():
                pairs = zip(left[0, i].tolist(), right[0, j].tolist(), strict=True)
                wanted = other[i, j] + sum(
                    (signed(a, bits) if signs[0] else a) * (signed(b, bits) if signs[1] else b) for a, b in pairs
                )
                assert get(bench, D, result, lane, scale * item + half) == as_result(result, wanted), (i, j, modifiers)
            if scale == 2:
                kept = int(bench.read(D)[0, 0]) >> 16 * (1 - half) & 0xFFFF
                assert kept == (0xABCD, 0x1234)[half]


def test_sources_of_matrices_are_negated(require_tool):
    """neg_lo and neg_hi negate even and odd K of A and B; of C they are the sign and the absolute value."""
    for processor, count in (("gfx1100", 8), ("gfx1200", 4)):
        bench = InstructionBench(require_tool("llvm-mc-22"), processor, 32)
        one, two = 0x3C00, 0x4000
        for number in range(count):
            bench.vector(A + number, np.full(32, two << 16 | one, np.uint32))
            bench.vector(B + number, np.full(32, one << 16 | one, np.uint32))
        for number in range(8):
            bench.vector(C + number, np.full(32, -5, np.float32))
        text = f"v_wmma_f32_16x16x16_f16 v[128:135], v[0:{count - 1}], v[32:{31 + count}], v[64:71]"
        for low, high, wanted in (
            ("[0,0,0]", "[0,0,0]", 24 - 5), ("[1,0,0]", "[0,0,0]", 8 - 5), ("[0,0,0]", "[0,1,0]", -8 - 5),
            ("[0,0,1]", "[0,0,0]", 24 + 5), ("[0,0,0]", "[0,0,1]", 24 + 5), ("[0,0,1]", "[0,0,1]", 24 - 5),
        ):  # fmt: skip
            bench.run(f"{text} neg_lo:{low} neg_hi:{high}")
            assert (bench.read(128, "f4") == wanted).all(), (processor, low, high)


SMFMAC = (
    "v_smfmac_f32_16x16x32_f16", "v_smfmac_f32_32x32x16_f16", "v_smfmac_f32_16x16x32_bf16",
    "v_smfmac_i32_16x16x64_i8", "v_smfmac_i32_32x32x32_i8", "v_smfmac_f32_16x16x64_fp8_bf8",
    "v_smfmac_f32_32x32x32_bf8_fp8")  # fmt: skip
SWMMAC = (
    "v_swmmac_f32_16x16x32_f16", "v_swmmac_f32_16x16x32_bf16", "v_swmmac_f16_16x16x32_f16",
    "v_swmmac_bf16_16x16x32_bf16", "v_swmmac_i32_16x16x32_iu8", "v_swmmac_i32_16x16x32_iu4",
    "v_swmmac_i32_16x16x64_iu4", "v_swmmac_f32_16x16x32_fp8_fp8", "v_swmmac_f32_16x16x32_bf8_fp8")  # fmt: skip
WIDE = (
    "v_smfmac_f32_16x16x64_f16", "v_smfmac_f32_32x32x32_bf16", "v_smfmac_i32_16x16x128_i8",
    "v_smfmac_f32_32x32x64_fp8_bf8", "v_smfmac_f32_16x16x64_bf16", "v_smfmac_f32_32x32x32_f16",
    "v_smfmac_i32_32x32x64_i8", "v_smfmac_f32_16x16x128_bf8_bf8", "v_smfmac_f32_16x16x128_fp8_fp8")  # fmt: skip
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""The two of each four K of A that are not 0."""


@for_each("processor, name, lanes",
    *(pytest.param("gfx942", name, 64, marks=() if "16x16x32_f16" in name else pytest.mark.slow) for name in SMFMAC),
    *(pytest.param("gfx950", name, 64, marks=pytest.mark.slow if "32x32" in name else ()) for name in WIDE),
    *(
        ("gfx1200", name, lanes)
        for name in SWMMAC
        for lanes in (32, 64)
        if (name, lanes) != ("v_swmmac_i32_16x16x32_iu4", 64)
    ))  # fmt: skip
@pytest.mark.sampled(6)
def test_sparse_products(require_tool, processor, name, lanes):
    _v, _operation, result, dimensions, *kinds = name.split("_")
    size, _size, depth = map(int, dimensions.split("x"))
    left_kind, right_kind = (kinds * 2)[:2]
    groups = size * depth // 4 // lanes  # of four K in a lane
    for part in range(8 // groups):
        bench = InstructionBench(require_tool("llvm-mc-22"), processor, lanes)
        left, left_codes = some(left_kind, (1, size, depth // 2), processor)
        right, right_codes = some(right_kind, (1, size, depth), processor)
        other, other_codes = some({"i32": "i8"}.get(result, result), (size, size), processor)
        put_dense(bench, A, left_kind, size, depth // 2, 1, left_codes)
        if processor == "gfx950":  # two dense blocks, one after the other (CDNA 4 ISA document, 7.5.1.3)
            half, count = depth // 2, 4 * 32 // BITS[right_kind]
            for first, codes in ((B, right_codes[..., :half]), (B + 4, right_codes[..., half:])):
                places = {
                    (j + size * (k // count), k % count): codes[0, j, k] for j in range(size) for k in range(half)
                }
                put(bench, first, right_kind, places)
        else:
            put_dense(bench, B, right_kind, size, depth, 1, right_codes)
        if processor != "gfx1200":
            place, option = large if size == 32 else middle, f" abid:{part}"
        else:
            place, option = place_in_gfx12, f" index_key:{part}" if part else ""
        block = 0 if processor != "gfx1200" else lanes
        spots = {(i, j): place(i, j, block) for i in range(size) for j in range(size)}
        put(bench, D, result, {(lane, item): other_codes[spot] for spot, (item, lane) in spots.items()})
        pairs = RANDOM.integers(0, 6, (size, depth // 4))
        words = RANDOM.integers(0, 1 << 32, lanes)
        for row in range(size):
            for group in range(depth // 4):
                lane, at = row + size * (group // groups), 4 * (group % groups + groups * part)
                first, second = PAIRS[pairs[row, group]]
                words[lane] = words[lane] & ~(15 << at) | (first | second << 2) << at
        bench.vector(INDEX, words.astype(np.uint32))
        operands = (
            registers(D, BITS[result], size * size // lanes),
            registers(A, BITS[left_kind], 2 * groups),
            registers(B, BITS[right_kind], 4 * groups),
        )
        bench.run(f"{name} {', '.join(operands)}, v{INDEX}{option}")
        for (i, j), (item, lane) in spots.items():
            wanted = other[i, j]
            for group in range(depth // 4):
                for number, position in enumerate(PAIRS[pairs[i, group]]):
                    wanted += meaning(left_kind, left[0, i, 2 * group + number]) * meaning(
                        right_kind, right[0, j, 4 * group + position]
                    )
            assert get(bench, D, result, lane, item) == as_result(result, wanted), (i, j)


def test_sources_with_more_bits_than_the_matrix_stop_the_wave(require_tool):
    """In waves of 64 lanes, 16 x 16 elements of 4 bits fill half of a register; no document says which half."""
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx1200", 64)
    for text in ("v_wmma_i32_16x16x16_iu4 v[0:3], v4, v5, v[8:11]", "v_swmmac_i32_16x16x32_iu4 v[0:3], v4, v5, v6"):
        with pytest.raises(UnknownInstruction, match="of 64 lanes: where its elements are is not known"):
            bench.run(text)


def test_constants_and_positions_may_be_the_same_in_all_lanes(require_tool):
    """An inline constant has the type of C."""
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx1100", 32)
    for text, kind, wanted in (
        ("v_wmma_f32_16x16x16_bf16 v[128:135], v[0:7], v[32:39], 1.0", "f4", 1.0),
        ("v_wmma_f32_16x16x16_f16 v[128:135], v[0:7], v[32:39], -4.0", "f4", -4.0),
        ("v_wmma_i32_16x16x16_iu8 v[128:135], v[0:3], v[32:35], -7", "i4", -7),
        ("v_wmma_f16_16x16x16_f16 v[128:135], v[0:7], v[32:39], 0.5", "f2", 0.5),
    ):
        bench.run(text)
        assert (bench.read(131, kind) == wanted).all(), text
    old = InstructionBench(require_tool("llvm-mc-22"), "gfx90a", 64)
    old.run("v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], 2.0\nv_mfma_i32_4x4x4i8 a[8:11], v0, v1, 5")
    assert (old.read(2, "f8", file="accumulation") == 2).all()
    assert (old.read(9, "i4", file="accumulation") == 5).all()
    # A register that an operation has filled with one number: the first and the third of each four K.
    bench = InstructionBench(require_tool("llvm-mc-22"), "gfx942", 64)
    for first, count, number in ((A, 2, 0x3C003C00), (B, 4, 0x40003C00)):
        for register in range(count):
            bench.vector(first + register, np.full(64, number, np.uint32))
    bench.run(f"v_mov_b32 v{INDEX}, 0x88\nv_smfmac_f32_16x16x32_f16 v[{D}:{D + 3}], v[0:1], v[{B}:{B + 3}], v{INDEX}")
    assert (bench.read(D, "f4") == 16).all()
    bench.run(f"v_mov_b32 v{INDEX}, 0xdd\nv_smfmac_f32_16x16x32_f16 v[{D}:{D + 3}], v[0:1], v[{B}:{B + 3}], v{INDEX}")
    assert (bench.read(D, "f4") == 16 + 32).all()


@for_each("line",
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[24:31]",
    "v_wmma_bf16_16x16x16_bf16 v[0:3], v[8:11], v[16:19], v[24:27] neg_lo:[0,0,1]",
    "v_wmma_i32_16x16x32_iu4 v[0:7], v[8:9], v[16:17], 4 neg_lo:[1,1,0] clamp",
    "v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[16:23], v24 index_key:1",
    "v_swmmac_i32_16x16x64_iu4 v[0:7], v[8:9], v[16:19], v24 neg_lo:[1,0,0]")  # fmt: skip
def test_matrix_operations_of_gfx12_are_written_as_they_were_read(require_tool, line):
    (code,) = assembled(require_tool("llvm-mc-22"), line, "gfx1200", 32)
    assert decoded_text(decode(code, 0, "gfx1200", 32)) == line
