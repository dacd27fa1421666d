"""The figures of the project, each as a ratio to a peer or a floor that is measured in the same run.

Machines are noisy, so every figure is the best of several rounds, and what it is compared with is measured in turns
with it. Nothing here is asserted: the tests never look at the clock.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

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


def best(function: Callable[[], object], rounds: int = 7, seconds: float = 0.05) -> float:
    """The shortest time of one call, in seconds."""
    function()
    started = time.perf_counter()
    function()
    count = max(1, int(seconds / max(time.perf_counter() - started, 1e-7)))
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - started) / count)
    return min(times)


def in_turns(functions: list[Callable[[], object]], rounds: int = 5) -> list[float]:
    """The shortest time of each of some functions, measured in turns so that noise meets all of them."""
    times = [[best(function, rounds=1) for function in functions] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def show(name: str, ratio: float, limit: str, detail: str) -> None:
    """Print a figure."""
    print(f"{name:58} {ratio:8.2f}   {limit:12} {detail}")


def expressions() -> None:
    """The evaluator: one lane, a wavefront, a dispatch."""
    import numpy as np

    from dwarfgpu import dialects
    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr import asm
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.machine import evaluate
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.cases import parse_case
    from dwarfgpu.records import replace

    def empty_loop() -> None:
        for _ in range(100_000):
            pass

    state = {
        "registers": {"s0": 0x1000, "v4": list(range(64)), "v5": list(range(100, 164))},
        "memory": [{"space": 0, "address": 0x1000, "bytes": bytes(range(256)).hex() * 4}],
        "lane_count": 64,
    }
    case = parse_case(
        {"target": "amdgcn-gfx90a", "ops": "DW_OP_nop", "lanes": "all", "context": state},
        1,
    )
    target = case.context.target
    mixed = asm.parse(MIXED, case.expression.dialect, Format(), target=target)
    wave = case.context
    lane = replace(wave, lanes=LaneSet.one(5))
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
    show(
        f"{slots:,} slots / the same arithmetic in numpy", ours / theirs, "at most 3", f"{ours * 1e3:.1f} ms"
    )


def startup() -> None:
    """Whole processes, with the bytecode in place as an installation has it."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "dwarfgpu"], cwd=ROOT, check=True)

    def process(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run(
            [sys.executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )

    bare, version, evaluated = in_turns(
        [
            process("-c", "pass"),
            process("-m", "dwarfgpu", "--version"),
            process("-m", "dwarfgpu", "eval", "--ops", "DW_OP_lit1"),
        ],
        rounds=10,
    )
    show("dwarfgpu --version / python3 -c pass", version / bare, "at most 3", f"{version * 1e3:.0f} ms")
    show(
        "dwarfgpu eval --ops DW_OP_lit1 / python3 -c pass",
        evaluated / bare,
        "at most 6",
        f"{evaluated * 1e3:.0f} ms",
    )


WAVES = 10_000
SNAPSHOT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from dwarfgpu.backends import snapshot
found = snapshot.load(sys.argv[1])
if len(sys.argv) > 2:
    found.read_register(found.register_named("v5"), 9999, None)
with open("/proc/self/status") as status:  # `getrusage` would count the process that started this one
    print(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:")))
"""


def big_snapshot() -> Path:
    """A snapshot of 10,000 waves of 64 lanes with 128 vector registers, about 370 MB with its scratch; made once."""
    import numpy as np
    from bench_input import cache

    from dwarfgpu.backends import snapshot
    from dwarfgpu.backends.machine import Dispatch, Machine
    from dwarfgpu.targets.resolve import resolve

    path = cache() / "machine-1.dgs"
    if path.exists():
        return path
    random = np.random.default_rng(1)
    target = resolve("amdgcn-gfx90a")
    machine = Machine(target)
    machine.dispatches.append(Dispatch(1, "kernel", (64 * WAVES, 1, 1), (64, 1, 1)))
    groups = np.zeros((WAVES, 3), dtype=np.int64)
    groups[:, 0] = np.arange(WAVES)
    machine.add_waves(WAVES, dispatch=0, work_group=groups, wave_in_group=0)
    machine.allocate_registers(
        r for r in target.registers() if r.name.startswith("v") and 2560 <= r.number < 2688
    )
    machine.vgpr[:] = random.integers(0, 1 << 32, machine.vgpr.shape, dtype=np.uint32)
    for index in range(128):
        machine.set_register(f"v{index}", machine.vgpr[:, index])
    for index in range(102):
        machine.set_register(f"s{index}", index)
    machine.set_register("pc", 0x7F00_0000_1000)
    machine.set_register("exec", (1 << 64) - 1)
    scratch = random.integers(0, 256, (WAVES, 16 * 256), dtype=np.uint8)
    wave_space = target.space_named("private_wave")
    assert wave_space is not None
    machine.memory.map_rows(wave_space, scratch)
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshot.save(machine, path)
    return path


def machine() -> None:
    """A snapshot of ten thousand waves: opening it, one register of all waves, scratch of all lanes."""
    import numpy as np

    from dwarfgpu.backends import snapshot

    path = big_snapshot()
    subprocess.run([sys.executable, "-m", "compileall", "-q", "dwarfgpu"], cwd=ROOT, check=True)

    def process(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout

    bare, opened, used, imported = in_turns(
        [
            lambda: process("-c", "pass"),
            lambda: process("-c", SNAPSHOT, str(path)),
            lambda: process("-c", SNAPSHOT, str(path), "and use it"),
            lambda: process("-c", "import numpy"),
        ],
        rounds=10,
    )
    detail = f"{opened * 1e3:.0f} ms"
    show("opening a .dgs of 10,000 waves / python3 -c pass", opened / bare, "at most 15", detail)
    detail = f"{used * 1e3:.0f} ms, of which `import numpy` {imported * 1e3:.0f} ms"
    show("opening it and reading a register / python3 -c pass", used / bare, "", detail)
    resident = float(process("-c", SNAPSHOT, str(path), "and use it"))
    show("resident memory after that, in MB", resident, "below 150", "")

    loaded = snapshot.load(path)
    target = loaded.target
    v5: Any = target.register_named("v5")
    waves = np.arange(WAVES, dtype=np.uint64)
    column = loaded.vgpr[:, 5]
    ours, copied = in_turns([lambda: loaded.gather_register(v5, 0, 256, waves, None, WAVES), column.copy])
    show("one VGPR of all waves / numpy's copy of it", ours / copied, "at most 3", f"{ours * 1e3:.2f} ms")

    lane_space: Any = target.space_named("private_lane")
    count = 64 * WAVES
    wave, lane = np.repeat(waves, 64), np.tile(np.arange(64, dtype=np.uint64), WAVES)
    addresses = np.random.default_rng(2).integers(0, 16, count).astype(np.uint64) * np.uint64(4)
    dwords = loaded.memory.stores[6].blocks[0].view(np.uint32)
    four, row, stride = np.uint64(4), np.uint64(64), np.uint64(16 * 64)
    for name, at in (("an address of its own for each lane", addresses), ("one address for all lanes", 20)):

        def by_hand(at: Any = at) -> Any:
            inner = at // four * row if not isinstance(at, int) else np.uint64(at // 4 * 64)
            return dwords[wave * stride + inner + lane]

        def gathered(at: Any = at) -> Any:
            return loaded.gather_memory(lane_space, at, 4, wave, lane, count)

        rows, found = gathered()
        assert found.all()
        assert (rows.view(np.uint32).reshape(-1) == by_hand()).all()
        ours, theirs = in_turns([gathered, by_hand])
        detail = f"{ours * 1e3:.1f} ms, {name}"
        show(f"a dword of scratch of {count:,} lanes / by hand in numpy", ours / theirs, "at most 4", detail)


GROUPS = {"expressions": expressions, "startup": startup, "machine": machine}


def main() -> int:
    """Print the figures of some groups, or of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help="which figures (all)")
    options = parser.parse_args()
    print(f"{'figure':58} {'ratio':>8}   {'wanted':12}")
    for name in options.group or GROUPS:
        GROUPS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
