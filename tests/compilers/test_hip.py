"""Kernels in HIP as people write them, in kernels/*.hip: what they compute, by numpy."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dwarfgpu
from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.errors import MalformedFile
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.targets.resolve import resolve
from tests.builders import float_models
from tests.builders.commands import run

KERNELS = Path(__file__).parent / "kernels"
FILES = {path.stem for path in KERNELS.glob("*.hip")}
PROCESSORS = ("gfx90a", "gfx1100", "gfx1200")
RANDOM = np.random.default_rng(8)
Found = dict[str, Any]
"""The buffers by name."""


@pytest.fixture(autouse=True)
def clang(require_tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", require_tool("clang-22", "clang"))
    require_tool("ld.lld-22", "ld.lld")


CASES: dict[str, Callable[[int], tuple[Any, Any, Found, Found]]] = {}
"""By the name of a kernel: grid, block, arguments, and what is right in buffers; of the lanes of a wave."""


def case(function: Callable[[int], tuple[Any, Any, Found, Found]]) -> Callable[[int], tuple[Any, Any, Found, Found]]:
    CASES[function.__name__] = function
    return function


def floats(*shape: int, kind: str = "f4") -> Any:
    """Multiples of 1/8, whose sums and products are exact."""
    return (RANDOM.integers(-64, 64, shape) / 8).astype(kind)


def numbers(count: int, most: int = 100, kind: str = "i4") -> Any:
    return RANDOM.integers(0, most, count).astype(kind)


# --- vectors.hip --------------------------------------------------------------------------------------------------


@case
def vector_add(_lanes):
    a, b = floats(100), floats(100)
    return 128, 64, {"a": a, "b": b, "out": np.zeros(100, "f4"), "n": 100}, {"out": a + b}


@case
def square_by_stride(_lanes):
    a = floats(300)
    return 128, 64, {"a": a, "out": np.zeros(300, "f4"), "n": 300}, {"out": a * a}


@case
def saxpy_of_four(_lanes):
    a, out = floats(40), floats(40)
    return 64, 64, {"k": 1.5, "a": a, "out": out, "n": 10}, {"out": a * np.float32(1.5) + out}


@case
def polynomial(_lanes):
    a = floats(50, kind="f8")
    return 64, 64, {"a": a, "out": np.zeros(50), "n": 50}, {"out": ((((5 * a - 4) * a + 3) * a) - 2) * a + 1}


@case
def move_particles(_lanes):
    kind = np.dtype([("place", "f4", 3), ("speed", "f4", 3), ("bounces", "i4")])
    before = np.zeros(70, kind)
    before["place"], before["speed"] = RANDOM.integers(0, 9, (70, 3)) / 8, floats(70, 3)
    after = before.copy()
    after["place"] += after["speed"] * np.float32(0.5)
    out = (after["place"] < 0) | (after["place"] > 1)
    after["speed"][out] *= -1
    after["place"] = np.clip(after["place"], 0, 1)
    after["bounces"] = out.sum(axis=1)
    return 128, 64, {"particles": before.view("u1"), "step": 0.5, "n": 70}, {"particles": after.view("u1")}


@case
def look_up(_lanes):
    a = numbers(90, 1 << 30, "u4")
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6], "i4")
    return 128, 64, {"a": a, "out": np.zeros(90, "i4"), "n": 90}, {"out": table[a & 7]}


@case
def where_am_i(_lanes):
    z, y, x = (each.ravel() for each in np.indices((2, 6, 8)))
    return (8, 6, 2), (4, 3, 1), {"out": np.zeros(288, "u4")}, {"out": np.stack([x, y, z], 1).ravel()}


@case
def gather_and_scatter(_lanes):
    a, source, target = floats(64), numbers(64, 64), RANDOM.permutation(64).astype("i4")
    right = np.zeros(64, "f4")
    right[target] = a[source]
    return 64, 64, {"a": a, "from": source, "to": target, "out": np.zeros(64, "f4"), "n": 64}, {"out": right}


# --- shared.hip ---------------------------------------------------------------------------------------------------


@case
def reverse_in_blocks(_lanes):
    a = numbers(128)
    return 128, 64, {"a": a, "out": np.zeros(128, "i4")}, {"out": a.reshape(2, 64)[:, ::-1].ravel()}


@case
def transpose(_lanes):
    a = floats(13, 21)
    return (24, 16), (8, 8), {"a": a, "out": np.zeros(273, "f4"), "width": 21, "height": 13}, {"out": a.T.ravel()}


@case
def multiply(_lanes):
    a, b = floats(16, 16), floats(16, 16)
    return (16, 16), (8, 8), {"a": a, "b": b, "out": np.zeros(256, "f4"), "n": 16}, {"out": (a @ b).ravel()}


@case
def stencil(_lanes):
    a = floats(150)
    near = np.pad(a, 2)
    right = sum(near[i : i + 150] for i in range(5))
    return 192, 64, {"a": a, "out": np.zeros(150, "f4"), "n": 150}, {"out": right}


@case
def convolve(_lanes):
    a, mask = floats(9, 13), floats(3, 3)
    near = np.pad(a, 1, "edge")
    right = sum(mask[j, i] * near[j : j + 9, i : i + 13] for j in range(3) for i in range(3))
    args = {"a": a, "mask": mask, "out": np.zeros(117, "f4"), "width": 13, "height": 9}
    return (16, 16), (8, 8), args, {"out": right.ravel()}


@case
def bitonic_sort(_lanes):
    a = numbers(128, 1000)
    return 128, 64, {"a": a}, {"a": np.sort(a.reshape(2, 64), axis=1).ravel()}


@case
def game_of_life(_lanes):
    a = RANDOM.integers(0, 2, (10, 12), "u1")
    near = sum(np.roll(a, (j, i), (0, 1)) for j in (-1, 0, 1) for i in (-1, 0, 1)) - a
    right = (near == 3) | ((near == 2) & (a == 1))
    return (16, 16), (8, 8), {"a": a, "out": np.zeros(120, "u1"), "width": 12, "height": 10}, {"out": right.ravel()}


@case
def floyd_warshall(_lanes):
    a = numbers(400).reshape(20, 20)
    right = np.minimum(a, a[:, 3:4] + a[3:4, :])
    return (32, 20), (32, 1), {"distances": a.ravel(), "n": 20, "through": 3}, {"distances": right.ravel()}


# --- reductions.hip -----------------------------------------------------------------------------------------------


@case
def reduce_in_block(_lanes):
    a = numbers(100)
    return 128, 64, {"a": a, "out": np.zeros(2, "i4"), "n": 100}, {"out": [a[:64].sum(), a[64:].sum()]}


@case
def reduce_by_shuffles(_lanes):
    a = floats(500)
    return 128, 64, {"a": a, "out": np.zeros(1, "f4"), "n": 500}, {"out": [a.sum()]}


@case
def scan_in_block(_lanes):
    a = numbers(256)
    return 256, 128, {"a": a, "out": np.zeros(256, "i4")}, {"out": a.reshape(2, 128).cumsum(axis=1).ravel()}


@case
def scan_by_shuffles(_lanes):
    a = numbers(128)
    return 128, 64, {"a": a, "out": np.zeros(128, "i4"), "n": 128}, {"out": a.reshape(4, 32).cumsum(axis=1).ravel()}


@case
def histogram(_lanes):
    a = numbers(400, 256, "u1")
    return 128, 64, {"a": a, "out": np.zeros(16, "u4"), "n": 400}, {"out": np.bincount(a // 16, minlength=16)}


@case
def dot(_lanes):
    a, b = floats(300, kind="f8"), floats(300, kind="f8")
    return 64, 64, {"a": a, "b": b, "out": np.zeros(1), "n": 300}, {"out": [a @ b]}


@case
def largest(_lanes):
    a = RANDOM.permutation(300).astype("f4")
    args = {"a": a, "place": np.zeros(1, "i4"), "value": np.zeros(1, "f4"), "n": 300}
    return 64, 64, args, {"place": [a.argmax()], "value": [299]}


@case
def softmax(_lanes):
    a = floats(3, 64)
    e = np.exp(a.astype("f8") - a.max(axis=1, keepdims=True))
    return (
        192,
        64,
        {"a": a, "out": np.zeros(192, "f4"), "width": 64},
        {"out": (e / e.sum(axis=1, keepdims=True)).ravel()},
    )


# --- lanes.hip ----------------------------------------------------------------------------------------------------


@case
def ballots(lanes):
    a = numbers(128, 90)
    right = [(part & 1).sum() + 100 * (7 in part) + 1000 for part in a.reshape(-1, lanes) for _ in range(lanes)]
    return 128, 64, {"a": a, "out": np.zeros(128, "u8")}, {"out": right}


@case
def butterfly(_lanes):
    a = floats(128, kind="f8")
    return 128, 64, {"a": a, "out": np.zeros(128)}, {"out": a.reshape(4, 32).max(axis=1).repeat(32)}


@case
def rotate_lanes(_lanes):
    a = numbers(128)
    return 128, 64, {"a": a, "out": np.zeros(128, "i4"), "by": 3}, {"out": np.roll(a.reshape(8, 16), -3, 1).ravel()}


@case
def sum_of_tiles(_lanes):
    a = np.arange(128, dtype="i4")
    sums = a.reshape(8, 16).sum(axis=1)
    return 128, 64, {"a": a, "out": np.zeros(8, "i4")}, {"out": [s + 1000 * (s == 120) for s in sums]}


@case
def one_atomic_for_each_wave(_lanes):
    a = numbers(128)
    args = {"a": a, "count": np.zeros(1, "u4"), "out": np.full(128, -1, "i4")}
    return 128, 64, args, {"count": [(a % 3 == 0).sum()], "sorted out": np.sort(np.where(a % 3 == 0, a, -1))}


@case
def ranks_with_masks(lanes):
    a = numbers(128, 40)
    counts = (a > 20).reshape(-1, lanes).cumsum(axis=1).ravel() - (a > 20)
    return 128, 64, {"a": a, "out": np.zeros(128, "u4")}, {"out": counts}


# --- atomics.hip --------------------------------------------------------------------------------------------------


@case
def every_atomic(_lanes):
    total = sum(range(128))
    args = {"words": np.array([0, 0, 5, -5, 255, 0, 0], "i4"), "counts": np.array([0, 3], "u4"),
            "sum": np.zeros(1, "f4"), "wide": np.zeros(1), "big": np.zeros(1, "u8")}  # fmt: skip
    down = 3
    for _ in range(128):
        down = 9 if down in (0, *range(10, 20)) else down - 1
    right = {"words": [total, -total, -127, 254, 0, 0xFFFF, 0], "counts": [128 % 10, down], "sum": [64.0],
             "wide": [32.0], "big": [128 << 33]}  # fmt: skip
    return 128, 64, args, right


@case
def add_by_exchange(_lanes):
    a = floats(64)
    return 64, 32, {"sum": np.zeros(1, "f4"), "a": a}, {"sum": [a.sum()]}


@case
def last_block_sums(_lanes):
    a = numbers(256)
    args = {"a": a, "parts": np.zeros(4, "i4"), "arrived": np.zeros(1, "u4"), "out": np.zeros(1, "i4")}
    return 256, 64, args, {"parts": a.reshape(4, 64).sum(axis=1), "out": [a.sum()]}


@case
def push_on_list(_lanes):
    return 64, 32, {"next": np.full(64, -2, "i4"), "head": np.array([-1], "i4")}, {"chain": list(range(64))}


# --- numbers.hip --------------------------------------------------------------------------------------------------


@case
def dots(_lanes):
    a, b = numbers(150).reshape(50, 3), numbers(150).reshape(50, 3)
    args = {"a": a.view("u1"), "b": b.view("u1"), "out": np.zeros(50, "i4"), "n": 50}
    return 64, 64, args, {"out": (a * b).sum(axis=1)}


@case
def with_a_lambda(_lanes):
    out = floats(100)
    return 64, 64, {"out": out, "n": 100, "k": 2.5}, {"out": out * np.float32(2.5) + 1}


@case
def virtual_calls(_lanes):
    a = floats(64)
    return 64, 64, {"a": a, "out": np.zeros(64, "f4")}, {"out": 3 * a * a}


@case
def recursion(_lanes):
    return 64, 64, {"out": np.zeros(64, "i4")}, {"out": [0, 1, 1, 2, 3, 5, 8, 13] * 8}


@case
def mandelbrot(_lanes):
    y, x = np.indices((8, 16)).astype("f4")
    cr, ci = -2 + 3 * x / 16, -1 + 2 * y / 8  # exact, as all that follows is nearly
    z, count = np.zeros((8, 16), "c16"), np.zeros((8, 16), int)
    for _ in range(20):
        alive = abs(z) < 2
        count += alive
        z = np.where(alive, z * z + (cr + 1j * ci), z)
    return (16, 8), (8, 8), {"out": np.zeros(128, "i4"), "width": 16, "height": 8}, {"out": count.ravel()}


@case
def black_scholes(_lanes):
    price, strike, years = (RANDOM.uniform(1, 30, 64).astype("f4") for _ in range(3))
    p, s, y = (each.astype("f8") for each in (price, strike, years))
    d1 = (np.log(p / s) + 0.065 * y) / (0.3 * np.sqrt(y))
    d2 = d1 - 0.3 * np.sqrt(y)
    normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    args = {"price": price, "strike": strike, "years": years, "out": np.zeros(64, "f4"), "n": 64}
    return 64, 64, args, {"out": p * normal(d1) - s * np.exp(-0.02 * y) * normal(d2)}


@case
def bits(_lanes):
    a = np.concatenate([[0, 1, 0xFFFFFFFF, 1 << 31], numbers(60, 1 << 32, "u8")]).astype("u4")
    right = [
        each.bit_count() + (32 - each.bit_length() << 8) + ((each & -each).bit_length() << 16)
        + (int(f"{each:032b}"[::-1], 2) & 0xFF000000)
        for each in a.tolist()
    ]  # fmt: skip
    return 64, 64, {"a": a, "out": np.zeros(64, "u4"), "n": 64}, {"out": right}


@case
def random_numbers(_lanes):
    x = np.arange(101, 229, dtype="u4")
    for _ in range(4):
        x ^= x << np.uint32(13)
        x ^= x >> np.uint32(17)
        x ^= x << np.uint32(5)
    return 128, 64, {"out": np.zeros(128, "u4"), "seed": 100}, {"out": x}


@case
def halves(_lanes):
    a, b = floats(50, kind="f2"), floats(50, 2, kind="f2")
    v = ((a[:, None] * b.astype("f4") + [1, 2]).astype("f2") + b[:, ::-1]) * np.float16(0.5)
    other = np.stack([np.sqrt(abs(v[:, 0]).astype("f8")).astype("f2"), -v[:, 1]], 1)
    right = np.where(v[:, :1] > v[:, 1:], v, other)
    return 64, 64, {"a": a, "b": b.view("u1"), "out": np.zeros(200, "u1"), "n": 50}, {"out": right.view("u1").ravel()}


# --- narrow.hip ---------------------------------------------------------------------------------------------------


@case
def own_operators(_lanes):
    a, b = floats(64, 4), floats(64, 2)
    out = a * 3
    out[:, 0] += a[:, 0]
    x, y = b.T
    products = np.stack([x * x - y * y + x - 1, 2 * x * y + y - 1], 1)
    args = {"a": a.ravel(), "b": b.ravel(), "out": np.zeros(256, "f4"), "products": np.zeros(128, "f4")}
    right = {"out": out.ravel(), "products": products.ravel(), "sizes": np.full(64, 17, "i4")}
    return 64, 64, args | {"sizes": np.zeros(64, "i4")}, right


@case
def reduced(lanes):
    a = numbers(64)
    tiles = a.reshape(8, 8)
    each = {"sums": tiles.sum(1), "most": tiles.max(1), "bits": np.bitwise_xor.reduce(tiles, 1)}
    right = {name: np.repeat(values, 8).astype("i4") for name, values in each.items()}
    waves, active = a.reshape(-1, lanes), np.arange(64).reshape(-1, lanes) % 3 == 0
    least = np.where(active, waves, 1000).min(1, keepdims=True)
    right["some"] = np.where(active, least, 0).ravel().astype("i4")
    return 64, 64, {"a": a} | {name: np.zeros(64, "i4") for name in right}, right


def brain(values: Any) -> Any:
    """Floats rounded to the nearest of which only the upper half counts, as text of hexadecimal digits rounds."""
    return np.array([math.ldexp(round(math.ldexp(m, 8)), e - 8) for m, e in map(math.frexp, values.tolist())], "f4")


@case
def brain_floats(_lanes):
    a, b = (RANDOM.standard_normal(64).astype("f4") * 9 for _ in range(2))
    x, y = brain(a), brain(b)
    double = brain(2 * x) + brain(2 * y)
    sums = double + np.where(x > y, np.float32(1000), np.float32(0)) + brain(x * y)
    out = (brain(x + y).view("u4") >> 16).astype("u2")
    return 64, 64, {"a": a, "b": b, "out": np.zeros(64, "u2"), "sums": np.zeros(64, "f4")}, {"out": out, "sums": sums}


def nearest(table: Any, value: float) -> int:
    """The code of the number that is nearest to a value; of two that are equally near the even one."""
    finite = [code for code in range(256) if math.isfinite(table[code])]
    most, is_negative = max(abs(table[code]) for code in finite), value < 0
    value = min(max(value, -most), most)
    return min(finite, key=lambda code: (abs(table[code] - value), is_negative != (code > 0x7F), code & 1))


@case
def eight_bits(_lanes):
    tables = [
        np.array([*map(float_models.eight_bits(kind, is_fnuz=is_fnuz), range(256))])
        for is_fnuz in (True, False)
        for kind in ("fp8", "bf8")
    ]
    a = (RANDOM.standard_normal(1024) * np.exp2(RANDOM.integers(-20, 20, 1024))).astype("f4")
    a[:4] = 0.0, 0.0625 + 2.0**-9, 1e30, -1e30
    codes = np.array([nearest(tables[i // 256], float(value)) for i, value in enumerate(a)], "u1")
    args = {"a": a, "codes": np.zeros(1024, "u1"), "numbers": np.zeros(1024, "f4")}
    return 1024, 256, args, {"codes": codes, "numbers": np.concatenate(tables).astype("f4")}


def compiled(folder: Path, name: str, recipe: Recipe) -> str:
    path = folder / f"{name}.co"
    path.write_bytes(compile_source(str(KERNELS / f"{name}.hip"), recipe).code)
    return str(path)


def check(code: str, kernel: str, lanes: int) -> None:
    grid, block, args, right = CASES[kernel.partition("<")[0]](lanes)
    machine = machine_for(code, kernel)
    local = {"dynamic_local": 256} if kernel in ("reverse_in_blocks", "reduce_in_block") else {}
    launched = launch(machine, code, kernel, grid=grid, work_group=block, args=args, **local)
    assert str(machine.run()) == "all waves have ended"
    found: Found = {**launched.buffers}
    if "chain" in right:
        chain = [int(found["head"][0])]
        while (after := int(found["next"][chain[-1]])) >= 0:
            chain.append(after)
        found["chain"] = sorted(chain)
    for what, expected in right.items():
        buffer = np.sort(found["out"]) if what == "sorted out" else np.asarray(found[what]).ravel()
        if kernel in ("softmax", "black_scholes"):
            np.testing.assert_allclose(buffer, expected, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(buffer, expected, what)  # a NaN is equal to one


def test_there_is_a_case_for_each_kernel():
    assert {"vectors", "shared", "reductions", "lanes", "atomics", "numbers", "narrow", "output"} == FILES
    assert len(CASES) == 47


QUICK = [("lanes", "gfx1100", "2")]


@pytest.mark.parametrize(
    "name, processor, level",
    [
        pytest.param(*row, marks=() if row in QUICK else pytest.mark.slow)
        for row in product(sorted(FILES - {"output"}), PROCESSORS, "02")
    ],
)  # fmt: skip
def test_what_kernels_compute(tmp_path, name, processor, level):
    code = compiled(tmp_path, name, Recipe(processor, level))
    kernels = dwarfgpu.open(code).file.kernel_names()
    assert len(kernels) > 3
    for kernel in kernels:
        check(code, kernel, resolve(processor).lane_count)


def test_a_program_is_run_by_its_source():
    path = KERNELS / "output.hip"
    done = run("run", str(path), "greet", "--grid=64", "--work-group=64", "a=arange(64)")
    assert done.stdout.startswith("thread 3: 3, 0.75, odd\nthread 4: 4, 1.00, even\n"), done.stdout + done.stderr
    done = run("run", str(path), "count_down", "--grid=64", "--work-group=64", "left=arange(64)")
    assert (done.returncode, "Assertion `left[i] > 0' failed." in done.stdout) == (1, True)


X, Y, Z, A = -5, 0xF0000001, -7_000_000_000_000, 2.5
OF_NUMBERS = {
    "abs(x)": 5, "abs(-a)": 2.5, "abs(z)": -Z, "labs(-3l)": 3, "llabs(z)": -Z, "abs(-(double)a)": 2.5,
    "umin(y, 3u)": 3, "umax(y, 3u)": Y, "llmin(z, 3)": Z, "ullmax(3, y)": Y, "min(7, blockDim.x)": 1, "max(a, 7.0)": 7,
    "min(x, y)": Y, "__clz(0x00ffff)": 16, "__clz(0)": 32, "__popc(y)": 5, "__ffs(8)": 4, "__brev(1)": 1 << 31,
    "__mul24(x, 3)": -15, "__mulhi(x, x)": 0, "__umulhi(y, y)": Y * Y >> 32, "__mul64hi(z, z)": Z * Z >> 64,
    "__umul64hi(~0ull, y)": ((1 << 64) - 1) * Y >> 64, "__hadd(x, 2)": -2, "__rhadd(x, 2)": -1,
    "__uhadd(y, y + 2)": Y + 1, "__urhadd(y, y + 1)": Y + 1, "__sad(x, 7, 1u)": 13, "__usad(3u, y, 2u)": Y - 1,
    "__byte_perm(0x33221100, 0x77665544, 0x7250)": 0x77225500, "__funnelshift_l(y, 1u, 36)": 0x1F,
    "__funnelshift_r(y, 1u, 4)": 0x1F000000, "__funnelshift_lc(y, 1u, 36)": Y, "__funnelshift_rc(y, 1u, 36)": 1,
    "__double2hiint(__hiloint2double(x, 9))": X, "__double2loint(__hiloint2double(x, 9))": 9,
    "__float2int_rn(a)": 2, "__float2int_rz(-a)": -2, "__float2int_rd(-a)": -3, "__float2int_ru(a)": 3,
    "__double2ll_rd(-2.5)": -3, "__double2uint_rn(3.5)": 4, "__uint2float_rn(y)": float(np.float32(Y)),
    "__ll2double_rn(z)": Z, "__fmul_rn(a, a)": 6.25, "__fadd_rn(a, 1)": 3.5, "__fsub_rn(a, 1)": 1.5,
    "__fmul_rn(f, f) - __fmul_rn(f, f)": 0, "__fdiv_rn(a, 2)": 1.25, "__frcp_rn(a)": float(np.float32(0.4)),
    "__fsqrt_rn(a * a)": 2.5, "__dadd_rn(a, 1)": 3.5, "__fma_rn(a, a, a)": 8.75, "fdimf(a, 1.0f)": 1.5,
    "nextafterf(1.0f, 2.0f) - 1": 2.0**-23, "logbf(a)": 1, "ilogb((double)a)": 1, "ldexpf(a, 3)": 20,
    "scalbn(1.5, 2)": 6, "(modff(-a, &f), f)": -2, "(frexpf(a, &n), n)": 2, "(frexp(0.0, &n), n)": 0,
    'isnan(nanf(""))': 1, "isinf(1 / (a - 2.5f))": 1, "isfinite(a)": 1, "signbit(-a)": 1, "isnan(a)": 0,
    "lroundf(a)": 3, "llrintf(a)": 2, "modff(-a, &f)": -0.5, "frexpf(a, &n)": 0.625,
    "powif(a, 2)": 6.25, "__log10f(100.0f)": 2, "__exp10f(2.0f)": 100, "rcbrt(8.0)": 0.5,
    "rhypotf(3.0f, 4.0f)": float(np.float32(0.2)), "(sincospif(0.5f, &f, &g), f + 2 * g)": 1,
    "(memset(&n, 1, 2), n & 0xffff)": 0x101, "(memcpy(&n, &x, 4), n)": X, "__syncthreads_count(x)": 1,
    "std::abs(x)": 5, "std::abs(-a)": 2.5, "norm3df(2, 3, 6)": 7, "norm4d(1.0, 2.0, 2.0, 4.0)": 5,
    "rnorm3df(0, 3, 4)": float(np.float32(0.2)), "scalblnf(a, 3l)": 20, "scalbln(1.0, -100000l)": 0,
    "__bitextract_u32(y, 28, 40)": 0xF, "__bitextract_u32(y, 33, 0)": 0, "__bitextract_u64(z, 36, 8)": Z >> 36 & 0xFF,
    "__bitinsert_u32(0xabcd, 0x12, 4, 8)": 0xA12D, "__bitinsert_u64(0, 0x1ff, 32, 8)": 0xFF << 32,
    "erfinvf(0)": 0, "erfinvf(0.5f)": float(np.float32(0.4769362762)), "isinf(erfinvf(-1))": 1, "isnan(erfinvf(2))": 1,
    "normcdff(0)": 0.5, "normcdff(1)": float(np.float32(0.8413447461)),
    "normcdff(-9)": float(np.float32(1.1285884059538e-19)), "__fmul_rz(3e38f, a)": float(np.finfo("f4").max),
    "(make_int2(3, 4) & make_int2(2, 4)).y": 4, "(~make_int2(0, x)).y": 4, "(make_uint2(1, 2) << 3).y": 16,
    "make_float4(1, 2, 3, 4) == make_float4(1, 2, 3, 4)": 1, "make_int2(1, 2) != make_int2(1, 2)": 0,
    "(-make_float2(1, a)).y": -2.5, "__match_any(x)": 1, "hipThreadIdx_x + hipBlockDim_x": 1, "__ldcg(out)": 9,
    "hipCmulf(make_hipFloatComplex(1, 2), make_hipFloatComplex(3, 4)).y": 10, "hipCabs(make_hipDoubleComplex(3, 4))": 5,
    "hip_bfloat16(3.01171875f)": 3.015625, "(remquo(-7.0, 2.0, &n), n)": -4, "rnormf(2, bits)": float(np.float32(0.2)),
    "fma(a, a, a)": 8.75, "__ll2double_ru((1ll << 53) + 1)": 2**53 + 2,
    "__double2float_rd(0.1)": float(np.nextafter(np.float32(0.1), np.float32(0))),
    "__syncthreads_or(0)": 0, "__syncthreads_and(x)": 1, "unsafeAtomicAdd(out, 1.0)": 9,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("level", ["0", "2"])
def test_functions_of_numbers(tmp_path, level):
    lines = "\n".join(f"  f = 3, g = 4, n = 0; *++to = (double)({each});" for each in OF_NUMBERS)
    text = f"""#include <hip/hip_runtime.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
extern "C" __global__ void k(double *out, int x, unsigned y, long long z, float a) {{
  double *to = out;
  float f, g, bits[] = {{3, 4}};
  int n;
{lines}
}}
"""
    (tmp_path / "k.hip").write_text(text)
    (tmp_path / "k.co").write_bytes(compile_source(str(tmp_path / "k.hip"), Recipe("gfx1100", level)).code)
    machine = machine_for(str(tmp_path / "k.co"), "k")
    out = np.full(1 + len(OF_NUMBERS), 9.0)
    args = {"out": out, "x": X, "y": Y, "z": Z, "a": A}
    launched = launch(machine, str(tmp_path / "k.co"), "k", grid=1, work_group=1, args=args)
    assert str(machine.run()) == "all waves have ended"
    found = dict(zip(OF_NUMBERS, launched.buffers["out"][1:].tolist(), strict=True))
    assert found == {text: float(right) for text, right in OF_NUMBERS.items()}


EXACT = """
    j0(x)          0.5 0.93846980724081290422  -7.25 0.29199692419177899750  24.9 0.083245968353015490052
    j0(x)          310.5 -0.011960798663040913417
    j1(x)          -0.5 -0.24226845767487388638  7.25 0.068581700653131744530  310.5 0.043652776412214557386
    y0(x)          1e-09 -13.266645074938386517  0.75 -0.13717276938577239752
    y0(x)          19.5 -0.025451742976154467114  310.5 0.043671980285956148043
    y1(x)          1e-09 -636619772.36758131021832  0.75 -1.0375945507692854197
    y1(x)          19.5 -0.17956456689631788990  310.5 0.012031139238179742188
    jn(5, x)       2.5 0.019501625134503219886  -40.25 -0.11064545415426012914
    jn(-3, x)      0.125 -0.000040650383255491287502
    yn(5, x)       2.5 -3.8301760007407518629  40.25 0.060797413429919995861
    cyl_bessel_i0(x)  0.5 1.0634833707413235192  -21.5 188195380.4805534433036154  77.25 1.6103374825465898344e+32
    cyl_bessel_i1(x)  -0.5 -0.25789430539089631636  21.5 183765294.5659708418019425
    erfinv(x)      -0.3 -0.27246271472675434502  0.7250287279272596 0.77193836248595598155
    erfinv(x)      0.999999999 4.3200053881053620459
    erfcinv(x)     1e-290 25.766790135462426599  0.3 0.73286907795921686905  1.9375 -1.3171503349861307488
    erfcx(x)       -3.5 417962.42244577031412  0.25 0.77034654773099674391  9404.5 0.000059991448812616162863
    normcdf(x)     -36.5 5.5447257130748445537e-292  -0.8352644096621105 0.20178442574443600112
    normcdfinv(x)  1e-290 -36.420731673207998827  0.22261229221176682 -0.76340049566301225254
    normcdfinv(x)  0.875 1.1503493803760081782
    cyl_bessel_i0(x)  24.603655853444334 3916476624.7974193866  33.8312895252928 33933000298142.12133
    cyl_bessel_i0(x)  602.8801606215035 1.092475476908999501e+260  712.9 6.0674765992724427451e+307
    cyl_bessel_i1(x)  29.649045803846754 544168325320.98569949  -700.3 -2.0628182032011289155e+302
    normcdfinv(x)  0.24181134314020936 -0.70048785645542664451  0.061202531057450216 -1.5447569574172722565
    normcdfinv(x)  0.4999 -0.00025066283008800749239
    normcdf(x)     -13.125056639299576 1.1830289597837190966e-39
    erfcx(x)       -1.1890634417043677 7.8427342545871860401
    y0(x)          1.697082959787489e-05 -7.0664451649210585577
    erfcinv(x)     0.4438782123269042 0.54140387845514248021
"""
"""Calls, and pairs of an argument and the value, as mpmath 1.3 computes it with 160 bits."""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["0", "2"])
def test_functions_that_opencl_does_not_have(tmp_path, level):
    """Of double within 2 ulp, but J and Y, which change their sign, 3 ulp of at least 1; of float rounded once."""
    table = [re.split("  +", line.strip()) for line in EXACT.strip().splitlines()]
    rows = [(call, *pair.split()) for call, *pairs in table for pair in pairs]
    lines = [f"x = {x}; *o++ = {call}; *o++ = {re.sub('[(]', 'f(', call, count=1)};" for call, x, _ in rows]
    text = f"""#include <hip/hip_runtime.h>
extern "C" __global__ void k(double *o) {{ double x; {" ".join(lines)} }}
"""
    (tmp_path / "k.hip").write_text(text)
    (tmp_path / "k.co").write_bytes(compile_source(str(tmp_path / "k.hip"), Recipe("gfx90a", level)).code)
    machine = machine_for(str(tmp_path / "k.co"), "k")
    args = [np.zeros(2 * len(rows))]
    launched = launch(machine, str(tmp_path / "k.co"), "k", grid=1, work_group=1, args=args)
    assert str(machine.run()) == "all waves have ended"
    found = launched.buffers["o"].reshape(-1, 2).tolist()
    for (call, x, right), (double, single) in zip(rows, found, strict=True):
        exact, changes_sign = Fraction(right), call[0] in "jy"
        unit = math.ulp(max(abs(float(right)), 1.0 if changes_sign else 0.0))
        assert abs(Fraction(double) - exact) <= Fraction(unit) * (3 if changes_sign else 2), (call, x)
        if float(np.float32(float(x))) == float(x):
            assert single == float(np.float32(float(right))), (call, x)


def test_directed_rounding(tmp_path):
    count, modes = 256, "zud"
    a, b = (RANDOM.standard_normal(count) * 10.0 ** RANDOM.integers(-20, 19, count) for _ in range(2))
    a, b = a.astype("f4"), np.where(np.arange(count) % 2, b, a * RANDOM.random(count)).astype("f4")
    calls = [f"__f{name}_r{mode}(a[i], b[i])" for name in ("mul", "add", "sub") for mode in modes]
    text = f"""#include <hip/hip_runtime.h>
extern "C" __global__ void k(float *out, float *a, float *b) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float all[] = {{{", ".join(calls)}}};
  for (int j = 0; j < 9; j++) out[9 * i + j] = all[j];
}}
"""
    (tmp_path / "k.hip").write_text(text)
    (tmp_path / "k.co").write_bytes(compile_source(str(tmp_path / "k.hip"), Recipe("gfx1100", "2")).code)
    machine = machine_for(str(tmp_path / "k.co"), "k")
    args = {"out": np.zeros((count, 9), "f4"), "a": a, "b": b}
    launched = launch(machine, str(tmp_path / "k.co"), "k", grid=count, work_group=64, args=args)
    assert str(machine.run()) == "all waves have ended"
    for row, *pair in zip(launched.buffers["out"].reshape(count, 9), a.tolist(), b.tolist(), strict=True):
        left, right = map(Fraction, pair)
        for index, exact in enumerate((left * right, left + right, left - right)):
            for found, mode in zip(row[3 * index : 3 * index + 3], modes, strict=True):
                is_up = mode == "u" or (mode == "z" and exact < 0)
                inward = float(np.nextafter(found, np.float32(-np.inf if is_up else np.inf)))
                assert inward < exact <= float(found) if is_up else float(found) <= exact < inward


@pytest.mark.parametrize("heads", ["<hip/hip_runtime.h>", "<hip/hip_runtime.h> <cmath>", "<cmath> <hip/hip_runtime.h>"])
@pytest.mark.sampled(6)
def test_infinity_needs_no_other_header(heads, tmp_path):
    includes = "".join(f"#include {head}\n" for head in heads.split())
    (path := tmp_path / "k.hip").write_text(
        f"{includes}__global__ void k(float *out) {{ out[0] = -INFINITY; out[1] = NAN; }}\n"
    )
    kernel = dwarfgpu.launch(str(path), "k", ["zeros(2)"], grid=1, work_group=1)
    kernel.run()
    assert np.array_equal(kernel.buffers["out"], np.float32([-np.inf, np.nan]), equal_nan=True)


def test_headers_of_the_library_are_not_those_of_programs(tmp_path):
    (path := tmp_path / "k.hip").write_text('#include "common.h"\n__global__ void k(float *out) { out[0] = 1; }\n')
    with pytest.raises(MalformedFile, match=r"'common\.h' file not found"):
        compile_source(str(path), Recipe("gfx1100", "2"))
