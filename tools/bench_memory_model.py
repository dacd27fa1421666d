"""The figures of `memmodel check`: against decoding the same code, and of many kernels in several processes."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from bench_measure import show

KERNELS = 1000
ROUNDS = 3


def memory_model() -> None:
    """Print the figures."""
    from dwarfgpu.audits.memory_model.checker import CheckWish, MemoryCheck
    from dwarfgpu.audits.memory_model.file_reports import check_paths
    from dwarfgpu.isa.decoder import decoder
    from dwarfgpu.program.code.code_object import opened

    found = map(str, Path("fixtures/amdgpu").glob("*.gfx1[0-2]*.co"))
    paths = sorted(path for path in found if "gfx125" not in path)  # there is no memory model for it
    kernels: Counter[str] = Counter()
    code = []
    for path in paths:
        reader = MemoryCheck(opened(path)).code
        for function in reader.functions():
            kernels[path] += function.is_kernel
            code.append((reader, [step.instruction.data for step in function.steps]))

    def decode() -> None:
        for reader, instructions in code:
            decode = decoder(reader.processor, reader.wave_size).decode
            for data in instructions:
                decode(data, 0)

    def check(some: list[str], jobs: int) -> tuple[float, int]:
        started = time.perf_counter()
        reports = list(check_paths(some, CheckWish(), jobs))
        assert not any(report.file.error for report in reports)
        return time.perf_counter() - started, sum(report.instructions for report in reports)

    pairs = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        decode()
        pairs.append((time.perf_counter() - started, *check(paths, 1)))
    floor, (seconds, count) = min(pair[0] for pair in pairs), min(pair[1:] for pair in pairs)
    show("memmodel check / decoding", seconds / floor, "at most 10", f"{count / seconds:,.0f} instructions a second")

    many: list[str] = []
    while sum(kernels[path] for path in many) < KERNELS:
        many += paths
    jobs = os.cpu_count() or 1
    parallel, total = check(many, jobs)
    alone = seconds * len(many) / len(paths)
    text = f"{sum(kernels[path] for path in many):,} kernels, {total:,} instructions in {parallel:.1f} s"
    show(f"memmodel check, {jobs} processes / one", parallel / alone, "at most 0.7", text)
