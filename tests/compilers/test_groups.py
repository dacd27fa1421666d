"""What sub-groups and work-groups compute together, against Python, for both sizes of waves and for partial ones."""

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.targets.resolve import resolve

FOLDS: dict[str, Callable[[Any, Any], Any]] = {"add": lambda a, b: a + b, "min": min, "max": max}
BITS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda a, b: a * b, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip
STARTS = {"min": "most", "max": "least", "add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0}


@pytest.fixture(autouse=True)
def clang(require_tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", require_tool("clang-22", "clang"))
    require_tool("ld.lld-22", "ld.lld")


def computed(folder: Path, recipe: Recipe, lines: list[str], kind: str, values: Any, grid: Any, group: Any) -> Any:
    """Rows of what each work-item has computed, one for each line."""
    text = "".join(f"  o[{row} * n + i] = {line};\n" for row, line in enumerate(lines))
    path = folder / "k.cl"
    path.write_text(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        f"kernel void k(global const {kind} *in, global {kind} *o, int n) {{\n"
        f"  int i = get_global_linear_id(); {kind} v = in[i]; uint lane = get_sub_group_local_id();\n{text}}}\n"
    )
    code = folder / "k.co"
    code.write_bytes(compile_source(str(path), recipe).code)
    machine = machine_for(str(code), "k")
    out = np.zeros(len(lines) * values.size, values.dtype)
    args = {"in": values, "o": out, "n": values.size}
    launched = launch(machine, str(code), "k", grid=grid, work_group=group, args=args)
    assert str(machine.run()) == "all waves have ended"
    return launched.buffers["o"].reshape(len(lines), -1).tolist()


def folded(name: str, parts: list[list[Any]], fold: Callable[[Any, Any], Any], start: Any) -> list[Any]:
    """What the work-items of each part find in `reduce`, `scan_inclusive` or `scan_exclusive`."""
    found: list[Any] = []
    for part in parts:
        if name == "reduce":
            found += [reduce(fold, part)] * len(part)
        else:
            inclusive = list(accumulate(part, fold))
            found += inclusive if name == "scan_inclusive" else [start, *inclusive[:-1]]
    return found


def parted(values: list[Any], group: int, wave: int | None) -> list[list[Any]]:
    """The values by work-group, or by wave."""
    groups = [values[i : i + group] for i in range(0, len(values), group)]
    return groups if wave is None else [part[i : i + wave] for part in groups for i in range(0, len(part), wave)]


LIMITS = {
    "int": (-(2**31), 2**31 - 1),
    "ulong": (0, 2**64 - 1),
    "float": (-np.inf, np.inf),
    "double": (-np.inf, np.inf),
}
NUMBERS = {"int": "i4", "ulong": "u8", "float": "f4", "double": "f8", "char": "i1", "half": "f2", "ushort": "u2"}
WAYS = [
    (processor, "02"[(number + place) % 2], kind)
    for number, processor in enumerate(("gfx90a", "gfx1100", "gfx1200", "gfx1100-wave64"))
    for place, kind in enumerate(LIMITS)
]


@pytest.mark.slow
@pytest.mark.parametrize("processor, level, kind", WAYS)
def test_reductions_and_scans(tmp_path, processor, level, kind):
    size, group, wave = 250, 100, resolve(processor).lane_count
    values = np.random.default_rng(2).integers(1, 50, size).astype(NUMBERS[kind])  # floats have exact sums
    lines, right = [], []
    least, most = LIMITS[kind]
    for of, width in (("sub_group_", wave), ("work_group_", None)):
        for name in ("reduce", "scan_inclusive", "scan_exclusive"):
            for what, fold in FOLDS.items():
                lines.append(f"{of}{name}_{what}(v)")
                start = {"least": least, "most": most}.get(str(STARTS[what]), STARTS[what])
                right.append(folded(name, parted(values.tolist(), group, width), fold, start))
    found = computed(tmp_path, Recipe(processor, level), lines, kind, values, size, group)
    for line, a, b in zip(lines, found, right, strict=True):
        assert a == b, line


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx1200"])
def test_votes_ballots_and_folds_under_a_condition(tmp_path, processor):
    size, group, wave = 150, 150, resolve(processor).lane_count
    values = np.random.default_rng(4).integers(0, 1 << 20, size).astype("u8")
    numbers = values.tolist()
    lines, right = [], []
    parts = parted(list(range(size)), group, wave)
    for what, fold in BITS.items():
        for name in ("reduce", "scan_inclusive", "scan_exclusive"):
            lines.append(f"v % 3 == 0 ? sub_group_non_uniform_{name}_{what}(v) : 7")
            start = STARTS[what] % (1 << 64)
            row = [7] * size
            for part in parts:
                chosen = [i for i in part if numbers[i] % 3 == 0]
                for i, each in zip(chosen, folded(name, [[numbers[i] for i in chosen]], fold, start), strict=True):
                    row[i] = each % (1 << 64)
            right.append(row)
    odd = [number & 1 for number in numbers]
    of_wave = [part for part in parts for _ in part]
    bits = [sum(odd[i] << i - part[0] for i in part) for part in of_wave]
    lanes = [i - part[0] for i, part in enumerate(of_wave)]
    votes = {
        "sub_group_any((int)v & 1)": [any(odd[i] for i in part) for part in of_wave],
        "sub_group_all((int)v < 2000000)": [True] * size,
        "sub_group_all((int)v & 1)": [all(odd[i] for i in part) for part in of_wave],
        "work_group_any(v == 0)": [0 in numbers] * size,
        "work_group_all(v < 2000000)": [1] * size,
        "sub_group_elect()": [lane == 0 for lane in lanes],
        "as_ulong(sub_group_ballot((int)v & 1).xy)": bits,
        "sub_group_ballot_bit_count(sub_group_ballot((int)v & 1))": [each.bit_count() for each in bits],
        "sub_group_ballot_exclusive_scan(sub_group_ballot((int)v & 1))": [
            (each & (1 << lane) - 1).bit_count() for each, lane in zip(bits, lanes, strict=True)
        ],
        "sub_group_ballot_inclusive_scan(sub_group_ballot((int)v & 1))": [
            (each & (2 << lane) - 1).bit_count() for each, lane in zip(bits, lanes, strict=True)
        ],
        "sub_group_inverse_ballot(sub_group_ballot((int)v & 1))": odd,
        "sub_group_ballot_find_lsb(sub_group_ballot((int)v & 1))": [(each & -each).bit_length() - 1 for each in bits],
        "sub_group_ballot_find_msb(sub_group_ballot((int)v & 1))": [each.bit_length() - 1 for each in bits],
        "as_ulong(get_sub_group_ge_mask().xy)": [
            sum(1 << i - part[0] for i in part[lane:]) for part, lane in zip(of_wave, lanes, strict=True)
        ],
        "as_ulong(get_sub_group_lt_mask().xy)": [(1 << lane) - 1 for lane in lanes],
        "sub_group_non_uniform_all_equal(v)": [len({numbers[i] for i in part}) == 1 for part in of_wave],
    }
    found = computed(tmp_path, Recipe(processor), [*lines, *votes], "ulong", values, size, group)
    for line, a, b in zip([*lines, *votes], found, [*right, *votes.values()], strict=True):
        assert a == [int(each) for each in b], line


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_values_of_other_lanes(tmp_path, processor, kind):
    grid, group, wave = (12, 16), (12, 8), resolve(processor).lane_count
    values = np.random.default_rng(6).integers(0, 100, 192).astype(NUMBERS[kind])
    numbers, size = values.tolist(), 96
    lines: dict[str, Callable[[int, int], Any]] = {  # of a work-item, and the first one of its wave
        "sub_group_broadcast(v, 3u)": lambda _, first: first + 3,
        "sub_group_broadcast_first(v)": lambda _, first: first,
        "sub_group_shuffle(v, lane / 2)": lambda i, first: first + (i - first) // 2,
        "sub_group_shuffle_xor(v, 4u)": lambda i, first: first + (i - first ^ 4),
        "sub_group_shuffle_up(v, min(lane, 2u))": lambda i, first: max(first, i - 2),
        "sub_group_shuffle_down(v, lane & 1u ? 0u : 1u)": lambda i, first: i if (i - first) % 2 else i + 1,
        "work_group_broadcast(v, 5, 2)": lambda i, _: i // size * size + 2 * 12 + 5,
    }
    found = computed(tmp_path, Recipe(processor), list(lines), kind, values, grid, group)
    for (line, rule), row in zip(lines.items(), found, strict=True):
        firsts = [i // size * size + i % size // wave * wave for i in range(192)]
        assert row == [numbers[rule(i, first)] for i, first in enumerate(firsts)], line
