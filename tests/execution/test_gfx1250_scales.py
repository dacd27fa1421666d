"""Numbers of 8, 6 and 4 bits with scales on GFX1250, against the tables of its document."""

import itertools

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from tests.builders.instruction_bench import InstructionBench
from tests.builders.parameters import for_each
from tests.execution.test_gfx950 import TYPES, number_of
from tests.execution.test_gfx1250 import LANES

NUMBERS = np.random.default_rng(125)
KINDS = tuple(TYPES)
A, B, C, SCALES = 0, 16, 32, 48


@pytest.fixture
def it(require_tool):
    return InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)


def place_of(kind, row, k):
    """The lane and the first bit of an element in a lane (CDNA 5, 7.12.6.1.1 to 3; of 32 rows, 7.12.2)."""
    bits = 1 + sum(TYPES[kind])
    block = row // 16 * 64 * bits
    if bits == 8:  # V0 to V3 have K = 0 to 15 in lane 0, and K = 16 to 31 in lane 16
        return row % 16 + 16 * (k // 16 % 2), block + 32 * (k // 32 * 4 + k % 16 // 4) + 8 * (k % 4)
    return row % 16 + 16 * (k // 32 % 2), block + bits * (k // 64 * 32 + k % 32)


def matrix(bench, first, kind, rows):
    """Fill registers with random elements; return their numbers and how many registers they have."""
    bits = 1 + sum(TYPES[kind])
    codes = NUMBERS.integers(0, 1 << bits, (rows, 128)) & ~(1 << bits - 2)  # neither infinity nor NaN
    lanes = [0] * LANES
    for row, k in itertools.product(range(rows), range(128)):
        lane, at = place_of(kind, row, k)
        lanes[lane] |= int(codes[row, k]) << at
    count = rows * 128 * bits // (32 * LANES)
    for number in range(count):
        bench.vector(first + number, np.array([lane >> 32 * number & 0xFFFFFFFF for lane in lanes], np.uint32))
    return np.vectorize(lambda code: number_of(int(code), kind))(codes), f"v[{first}:{first + count - 1}]"


def scale_of(byte, kind):
    """A byte as a scale (CDNA 5, 7.12.6: biases 127, 15 and 7; E8M0 has no fraction)."""
    if kind == "E8M0":
        return 2.0 ** (byte - 127)
    exponent, fraction = byte >> 3, byte & 7
    return (fraction / 8 + (exponent > 0)) * 2.0 ** (max(exponent, 1) - (15 if kind == "E5M3" else 7))


def scales(bench, first, kind, rows, run, half):
    """Fill one register, or two for runs of 16 K, with scales; return those of each row and K."""
    around = {"E8M0": 127, "E5M3": 15 << 3, "E4M3": 7 << 3}[kind]
    bytes_ = NUMBERS.integers(around - 4, around + 5, (LANES, 128 // run)).astype(np.uint8)
    words = bytes_.view(np.uint32)
    for number in range(words.shape[1]):
        bench.vector(first + number, words[:, number])
    used = bytes_[16 * half : 16 * half + rows]
    return np.array([[scale_of(int(used[row, k // run]), kind) for k in range(128)] for row in range(rows)])


def product(bench, text, kinds, by_row, *, rows=16, sides=None):
    """Execute a product; compare each element with the sum over K (CDNA 5, 7.12.2, 32-bit C/D-Matrix)."""
    a, b = sides
    count = rows // 2
    added = NUMBERS.integers(-8, 8, (count, LANES)).astype(np.float32)
    for at, row in enumerate(added):
        bench.vector(C + at, row)
    bench.run(text)
    wanted = (a * by_row[0]) @ (b * by_row[1]).T
    for row, column in itertools.product(range(rows), range(16)):
        lane, at = column + 16 * (row // 8 % 2), row % 8 + row // 16 * 8
        found = bench.read(C + at, "f4")[0][lane]
        assert found == pytest.approx(wanted[row, column] + added[at][lane], rel=1e-4, abs=1e-3), (row, column, kinds)


def formats(kinds):
    return " ".join(f"matrix_{side}_fmt:MATRIX_FMT_{kind.upper()}" for side, kind in zip("ab", kinds, strict=True))


@for_each("kinds", ("fp8", "bf8"), ("fp6", "fp4"), ("bf6", "fp8"), ("fp4", "bf6"), ("bf8", "fp6"))
def test_products_without_scales(it, kinds):
    sides = [matrix(it, first, kind, 16) for first, kind in zip((A, B), kinds, strict=True)]
    operands = f"v[{C}:{C + 7}], {sides[0][1]}, {sides[1][1]}, v[{C}:{C + 7}]"
    product(it, f"v_wmma_f32_16x16x128_f8f6f4 {operands} {formats(kinds)}", kinds, (1, 1),
            sides=[numbers for numbers, _text in sides])  # fmt: skip


SCALED = [
    ("fp8", "bf8", "E8M0", "E8M0"), ("fp6", "fp4", "E8M0", "E5M3"), ("bf6", "fp8", "E8M0", "E8M0"),
    ("fp4", "bf6", "E4M3", "E8M0"), ("fp4", "fp4", "E5M3", "E5M3"), ("fp4", "fp4", "E4M3", "E4M3"),
    ("fp4", "fp4", "E8M0", "E8M0"),
]  # fmt: skip


def modifiers_of(formats_of_scales, halves):
    rows = [f"matrix_{side}_scale:MATRIX_SCALE_ROW1" for side, half in zip("ab", halves, strict=True) if half]
    return " ".join(rows + [f"matrix_{side}_scale_fmt:MATRIX_SCALE_FMT_{kind}"
                            for side, kind in zip("ab", formats_of_scales, strict=True) if kind != "E8M0"])  # fmt: skip


@pytest.mark.parametrize("case", SCALED)
@pytest.mark.parametrize("run", [32, 16])
@pytest.mark.sampled(4)
def test_products_with_scales(it, case, run):
    """CDNA 5, 7.12.6.2: the bytes of a lane are the scales of a row, by K; one modifier takes lanes 16 to 31."""
    kinds, of_scales = case[:2], case[2:]
    halves = NUMBERS.integers(0, 2, 2).tolist()
    sides = [matrix(it, first, kind, 16) for first, kind in zip((A, B), kinds, strict=True)]
    by_row = [scales(it, SCALES + 2 * side, of_scales[side], 16, run, halves[side]) for side in (0, 1)]
    places = [f"v{SCALES + 2 * side}" if run == 32 else f"v[{SCALES + 2 * side}:{SCALES + 2 * side + 1}]"
              for side in (0, 1)]  # fmt: skip
    operands = f"v[{C}:{C + 7}], {sides[0][1]}, {sides[1][1]}, v[{C}:{C + 7}], {', '.join(places)}"
    name = "scale" if run == 32 else "scale16"
    text = f"v_wmma_{name}_f32_16x16x128_f8f6f4 {operands} {formats(kinds)} "
    product(it, text + modifiers_of(of_scales, halves), kinds, by_row, sides=[numbers for numbers, _text in sides])


@for_each("run", 32, 16, None)
def test_products_of_32_rows(it, run):
    """The second 16 rows of A and of D are in the second registers (CDNA 5, 7.12.2); A has scales in all lanes."""
    sides = [matrix(it, A, "fp4", 32), matrix(it, B, "fp4", 16)]
    operands, by_row, name = f"v[{C}:{C + 15}], {sides[0][1]}, {sides[1][1]}, v[{C}:{C + 15}]", (1, 1), ""
    if run is not None:
        by_row = scales(it, SCALES, "E5M3", 32, run, 0), scales(it, SCALES + 2, "E5M3", 16, run, 1)
        ends = (SCALES, SCALES + 2) if run == 32 else (f"[{SCALES}:{SCALES + 1}]", f"[{SCALES + 2}:{SCALES + 3}]")
        operands += f", v{ends[0]}, v{ends[1]} {modifiers_of(('E5M3', 'E5M3'), (0, 1))}"
        name = "scale_" if run == 32 else "scale16_"
    product(it, f"v_wmma_{name}f32_32x16x128_f4 {operands}", "fp4", by_row, rows=32,
            sides=[numbers for numbers, _text in sides])  # fmt: skip


def test_scales_that_are_the_same_for_all(it):
    """CDNA 5, 7.12.6.2: a scalar register has one byte; 0 stands for 1; scales ignore the high bits of registers."""
    sides = [matrix(it, first, "fp8", 16) for first in (A, B)]
    operands = f"v[{C}:{C + 7}], {sides[0][1]}, {sides[1][1]}, v[{C}:{C + 7}]"
    it.scalar(4, 0xABCDEF00 | 130)
    product(it, f"v_wmma_scale_f32_16x16x128_f8f6f4 {operands}, s4, 0", "fp8", (8, 1),
            sides=[numbers for numbers, _text in sides])  # fmt: skip


def test_signs_of_the_addend(it):
    zeros = np.zeros(LANES, np.uint32)
    for number in range(C):
        it.vector(number, zeros)
    it.vector(C, np.full(LANES, -3, np.float32))
    for ending, wanted in (("neg_lo:[0,0,1]", 3), ("neg_hi:[0,0,1]", 3), ("neg_lo:[0,0,1] neg_hi:[0,0,1]", -3)):
        it.run(f"v_wmma_scale_f32_16x16x128_f8f6f4 v[48:55], v[0:15], v[16:31], v[{C}:{C + 7}], v0, v0 {ending}")
        assert (it.read(48, "f4")[0] == wanted).all()


@for_each(
    "ending, message",
    ("v48, v49 matrix_a_scale_fmt:MATRIX_SCALE_FMT_E5M3", "no document has these types and scales"),
    ("v48, v49 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 matrix_a_scale_fmt:MATRIX_SCALE_FMT_E5M3",
     "no document has these types and scales"),
    ("v48, 1", "with 1 as scales"),
    ("v48, v49 matrix_b_fmt:MATRIX_FMT_FP4 matrix_b_scale_fmt:MATRIX_SCALE_FMT_E4M3", "whose highest bit is set"),
)  # fmt: skip
def test_scales_that_no_document_has(it, ending, message):
    it.vector(49, np.full(LANES, 0x80, np.uint32))
    a, b = ("v[0:7]" if f"matrix_{side}_fmt:MATRIX_FMT_FP4" in ending else "v[0:15]" for side in "ab")
    with pytest.raises(UnknownInstruction, match=message):
        it.run(f"v_wmma_scale_f32_16x16x128_f8f6f4 v[{C}:{C + 7}], {a}, {b}, v[{C}:{C + 7}], {ending}")
