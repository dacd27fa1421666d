"""Layouts of tensors against Triton's own picture of them: `layouts.py` tells of each class what differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from triton._C.libtriton import gluon_ir, ir
from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout

from dwarfgpu.program.values.tensors import Layout
from dwarfgpu.runtimes.triton.marks import bases_text, linear_layout

SHAPES = (16, 16), (32, 64), (64, 32)
WARPS = [1, 1], [2, 2], [4, 1], [1, 4]


def blocked() -> Iterator[tuple[Any, tuple[int, ...]]]:
    for size, threads, warps, order in product(([1, 1], [1, 4], [2, 2]), ([8, 8], [2, 32]), WARPS, ([0, 1], [1, 0])):
        for shape in SHAPES:
            yield gl.BlockedLayout(size, threads, warps, order), shape
    for size, threads, length in product((1, 4), (32, 64), (16, 256, 1024)):
        yield gl.BlockedLayout([size], [threads], [4], [0]), (length,)
    yield gl.BlockedLayout([1, 2, 2], [2, 4, 8], [1, 2, 2], [2, 0, 1]), (4, 16, 32)


def slices() -> Iterator[tuple[Any, tuple[int, ...]]]:
    for (layout, shape), axis in product((*blocked(), *mfma(), *wmma()), (0, 1)):
        if len(shape) > 1:
            yield gl.SliceLayout(axis, layout), shape[:axis] + shape[axis + 1 :]


def mfma() -> Iterator[tuple[Any, tuple[int, ...]]]:
    for version, is_transposed, warps, shape in product((1, 2, 3), (False, True), WARPS, SHAPES):
        for instruction in ([32, 32, 8], [16, 16, 16]):
            yield AMDMFMALayout(version, instruction, is_transposed, warps), shape
    for instruction, warps, shape in product(([32, 32, 16], [16, 16, 32]), WARPS, SHAPES):
        yield AMDMFMALayout(4, instruction, True, warps), shape


def wmma() -> Iterator[tuple[Any, tuple[int, ...]]]:
    for version, is_transposed, warps, shape in product((1, 2), (False, True), ([], [[0, 1]], [[1, 0]]), SHAPES):
        yield AMDWMMALayout(version, is_transposed, warps, instr_shape=[16, 16, 16]), shape


def operands() -> Iterator[tuple[Any, tuple[int, ...]]]:
    for operand, width, (parent, shape) in product((0, 1), (4, 8), mfma()):
        if shape == SHAPES[1]:
            yield gl.DotOperandLayout(operand, parent, width), shape
    for operand, (parent, shape) in product((0, 1), wmma()):
        yield gl.DotOperandLayout(operand, parent, 16 if parent.version == 1 else 8), shape


def linear() -> Iterator[tuple[Any, tuple[int, ...]]]:
    lanes = [[0, 8], [8, 0], [0, 4], [4, 0], [0, 0], [2, 0]]
    yield gl.DistributedLinearLayout([[0, 1], [0, 2]], lanes, [[0, 0], [1, 0]], [], [16, 16]), (16, 16)
    yield gl.DistributedLinearLayout([[1], [64]], [[2], [4], [8], [16], [32], [0]], [[0], [128]], [], [256]), (256,)


def pictured(text: str, lanes: int) -> list[list[tuple[int, int, int]]]:
    """Return the warps, lanes and registers of each element in Triton's picture."""
    cells = re.findall(r"T\d+:\d+(?:\| *T\d+:\d+)*", text)
    places = (re.findall(r"T(\d+):(\d+)", cell) for cell in cells)
    return [sorted((*divmod(int(thread), lanes), int(register)) for thread, register in each) for each in places]


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    HIPBackend(GPUTarget("hip", "gfx942", 64)).load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    for layouts in (blocked, slices, mfma, wmma, operands, linear):
        wrong = count = elements = 0
        for layout, shape in layouts():
            read = Layout.read(bases_text(linear_layout(builder, layout, [*shape])), shape)
            holders = read.holders()
            known = [holders.get(element, []) for element in range(len(holders))]
            wrong += known != pictured(layout.format_tensor_view([*shape]), 1 << len(read.lanes))
            count, elements = count + 1, elements + len(known)
        print(f"{layouts.__name__}: {count} layouts, {elements} elements, {wrong} wrong", flush=True)


main()
