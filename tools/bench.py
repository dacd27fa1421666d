"""The figures of the project, each as a ratio to a peer or a floor that is measured in the same run.

Machines are noisy, so every figure is the best of several rounds, and what it is compared with is measured in turns
with it, as warm as it is. A figure that misses what is wanted is marked, and named again at the end. Nothing here is
asserted: the tests never look at the clock.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bench_checks import checks
from bench_cores import cores
from bench_dap import dap
from bench_debugger import debugger
from bench_files import files
from bench_fleet import fleet
from bench_gdb import gdb, gdb_waves
from bench_machine import machine
from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, process, show, show_heading, show_missed
from bench_memory_model import memory_model
from bench_running import run
from bench_unwind import unwind
from bench_variables import variables
from bench_waves import waves

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

MIXED = """
    DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_regx s0; DW_OP_deref_size 4; DW_OP_plus; DW_OP_deref_size 4;
    DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4; DW_OP_plus;
    DW_OP_stack_value; DW_OP_piece 4; DW_OP_regx v5; DW_OP_piece 4; DW_OP_addr 0x1000; DW_OP_piece 8
"""
"""Twenty operations with registers (scalar and vector), memory and pieces."""

ARITHMETIC = """
    DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_plus; DW_OP_lit4; DW_OP_mul; DW_OP_lit5; DW_OP_plus; DW_OP_lit14; DW_OP_xor;
    DW_OP_lit3; DW_OP_plus; DW_OP_lit7; DW_OP_mul; DW_OP_lit15; DW_OP_minus; DW_OP_const1u 255; DW_OP_and; DW_OP_lit3;
    DW_OP_shl; DW_OP_lit2; DW_OP_shr
"""
"""Ten operations of arithmetic, and what pushes their operands."""


def expressions() -> None:
    """Measure the evaluator: one lane, a wavefront, a dispatch."""
    import numpy as np
    from attrs import evolve
    from cases import parse_case

    from dwarfgpu import dialects
    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr import asm
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.machine import evaluate
    from dwarfgpu.lanes import LaneSet

    def empty_loop() -> None:
        for _ in range(100_000):
            pass

    state = {
        "registers": {"s0": 0x1000, "v4": list(range(64)), "v5": list(range(100, 164))},
        "memory": [{"space": 0, "address": 0x1000, "bytes": bytes(range(256)).hex() * 4}],
        "lane_count": 64,
    }
    case = parse_case({"target": "amdgcn-gfx90a", "ops": "DW_OP_nop", "lanes": "all", "context": state}, 1).question
    target = case.context.target
    mixed = asm.parse(MIXED, case.expression.dialect, Format(), target=target)
    wave = case.context
    lane = evolve(wave, lanes=LaneSet.one(5))
    for context in (lane, wave):
        for one in evaluate(mixed, context):
            if isinstance(one, Exception):
                raise one
    one_lane, all_lanes = in_turns([lambda: evaluate(mixed, lane), lambda: evaluate(mixed, wave)])
    count = len(mixed.instructions)
    show(
        "64 lanes at once / one lane",
        all_lanes / one_lane,
        "at most 4",
        f"{count} operations, {all_lanes * 1e6:.0f} us",
    )
    show("64 single evaluations / 64 lanes at once", 64 * one_lane / all_lanes, "at least 12", "")

    arithmetic = asm.parse(ARITHMETIC, dialects.get("llvm-user"), Format())
    scalar = Context(target, lanes=LaneSet.one(5))
    operations = len(arithmetic.instructions)
    warm, pass_loop = in_turns([lambda: evaluate(arithmetic, scalar), empty_loop])
    empty = pass_loop / 100_000
    for name, seconds, number in (("arithmetic", warm, operations), ("mixed", one_lane, count)):
        each = seconds / number
        show(
            f"one lane, {name}: an operation / an empty loop iteration",
            each / empty,
            "at most 75",
            f"{each * 1e6:.2f} us; the iteration {empty * 1e9:.1f} ns, of 20 ns {each / empty / 50:.2f} us",
        )

    grid = Context(target, lanes=LaneSet.grid(9_375, 64))
    lanes = grid.lanes.lane

    def by_hand() -> object:
        x: Any = lanes
        for number, step in zip(
            (1, 4, 5, 14, 3, 7, 15, 255, 3, 2),
            (np.add, np.multiply, np.add, np.bitwise_xor, np.add, np.multiply, np.subtract, np.bitwise_and,
             np.left_shift, np.right_shift),
            strict=True,
        ):  # fmt: skip
            x = step(x, np.uint64(number))
        return x

    ours, theirs = in_turns([lambda: evaluate(arithmetic, grid), by_hand])
    slots = grid.lanes.count
    show(f"{slots:,} slots / the same arithmetic in numpy", ours / theirs, "at most 3", f"{ours * 1e3:.1f} ms")


def startup() -> None:
    """Whole processes, with the bytecode in place as an installation has it."""
    compile_all()
    questions = [
        ("--version", 3, ("--version",)),
        ("eval --ops", 9, ("eval", "--ops", "DW_OP_lit1; DW_OP_plus_uconst 4")),
        ("eval FILE NAME --state", 14, ("eval", *VARIABLE)),
    ]
    commands = [process(*DWARFGPU, *words) for _, _, words in questions]
    bare, *times = in_turns([process(*BARE), *commands], rounds=10)
    for (name, most, _), time in zip(questions, times, strict=True):
        show(f"dwarfgpu {name} / python3 -c pass", time / bare, f"at most {most}", f"{time * 1e3:.0f} ms")


VARIABLE = (
    *("fixtures/asm/lane-pc.gfx90a.w64.co", "even"),
    *("--lane", "2", "--state", "dwarfgpu/examples/variables.json"),
)
"""A variable of one lane of a snapshot."""

GROUPS = {
    "expressions": expressions,
    "startup": startup,
    "files": files,
    "machine": machine,
    "unwind": unwind,
    "waves": waves,
    "run": run,
    "checks": checks,
    "cores": cores,
    "variables": variables,
    "debugger": debugger,
    "dap": dap,
    "gdb": gdb,
    "gdb-waves": gdb_waves,
    "memory-model": memory_model,
    "fleet": fleet,
}


def main() -> int:
    """Print the figures of some groups, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help="which figures (all)")
    options = parser.parse_args()
    show_heading()
    for name in options.group or GROUPS:
        GROUPS[name]()
    show_missed()
    return 0


if __name__ == "__main__":
    sys.exit(main())
