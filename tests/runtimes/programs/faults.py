"""Faults in kernels: whether the Python line and the tensor are named. Each is marked with its name at its line."""

from __future__ import annotations

import contextlib
import io
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd.cdna4 import async_copy

import dwarfgpu.triton as dt

FAULTS: dict[str, tuple[Callable[[], Any], str, str]] = {}


def fault(tensor: str, processor: str = "gfx942") -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def put(function: Callable[[], Any]) -> Callable[[], Any]:
        FAULTS[function.__name__] = function, tensor, processor
        return function

    return put


def arr(shape: Any, kind: str = "f4") -> Any:
    return np.zeros(shape, kind)


@triton.jit
def k_read_past(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)  # read_past
    tl.store(out + at, v, mask=at < n)


@fault("`x")
def read_past():
    k_read_past[1,](dt.tensor(arr(100)), dt.tensor(arr(128)), 110, B=128)


@triton.jit
def k_write_past(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < 100)
    tl.store(out + at, v)  # write_past


@fault("`out")
def write_past():
    k_write_past[2,](dt.tensor(arr(100)), dt.tensor(arr(100)), 100, B=64)


@triton.jit
def k_before(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at - 1)  # before
    tl.store(out + at, v)


@fault("`x")
def before():
    k_before[1,](dt.tensor(arr(64)), dt.tensor(arr(64)), B=64)


@triton.jit
def k_stride(x, out, stride, B: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + r * stride + at)  # stride
    tl.store(out + r * B + at, v)


@fault("`x")
def stride():
    k_stride[8,](dt.tensor(arr((8, 64))), dt.tensor(arr((8, 64))), 72, B=64)


@triton.jit
def k_race(out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, at + tl.program_id(0))  # race


@fault("`out")
def race():
    k_race[4,](dt.tensor(arr(64, "i4")), B=64)


@triton.jit
def k_update(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + at), axis=0)
    old = tl.load(out)
    tl.store(out, old + s)  # update


@fault("`out")
def update():
    k_update[4,](dt.tensor(np.ones(256, "f4")), dt.tensor(arr(1)), B=64)


@triton.jit
def k_neighbour(x, B: tl.constexpr):
    p = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + (p + 1) % 4 * B + at)
    tl.store(x + p * B + at, v)  # neighbour


@fault("`x")
def neighbour():
    k_neighbour[4,](dt.tensor(arr(256)), B=64)


@triton.jit
def k_indices(x, idx, out, B: tl.constexpr):
    at = tl.arange(0, B)
    i = tl.load(idx + at)
    v = tl.load(x + i)  # indices
    tl.store(out + at, v)


@fault("`x")
def indices():
    i = np.arange(64, dtype="i4")
    i[7] = 5000
    k_indices[1,](dt.tensor(arr(64)), dt.tensor(i), dt.tensor(arr(64)), B=64)


@triton.jit
def k_scatter(x, idx, out, B: tl.constexpr):
    at = tl.arange(0, B)
    i = tl.load(idx + at)
    tl.store(out + i, tl.load(x + at))  # scatter


@fault("`out")
def scatter():
    i = np.arange(64, dtype="i4")
    i[7] = -3
    k_scatter[1,](dt.tensor(arr(64)), dt.tensor(i), dt.tensor(arr(64)), B=64)


@triton.jit
def k_flag(data, flag, out, B: tl.constexpr):
    at = tl.arange(0, B)
    if tl.program_id(0) == 0:
        tl.store(data + at, at)  # flag
        tl.store(flag, 1)
    else:
        v = tl.load(data + at)
        tl.store(out + at, v)


@fault("`data")
def flag():
    k_flag[2,](dt.tensor(arr(64, "i4")), dt.tensor(arr(1, "i4")), dt.tensor(arr(64, "i4")), B=64)


@triton.jit
def k_atomic(out, n):
    tl.atomic_add(out + tl.program_id(0), 1)  # atomic


@fault("`out")
def atomic():
    k_atomic[8,](dt.tensor(arr(5, "i4")), 5)


@triton.jit
def k_mixed(out, n):
    if tl.program_id(0) == 0:
        tl.store(out, 7)  # mixed
    else:
        tl.atomic_add(out, 1)


@fault("`out")
def mixed():
    k_mixed[4,](dt.tensor(arr(1, "i4")), 5)


@triton.jit
def k_mm(a, b, c, K: tl.constexpr):
    r = tl.arange(0, 32)
    total = tl.zeros((32, 32), tl.float32)
    for first in range(0, K, 32):
        inner = first + tl.arange(0, 32)
        left = tl.load(a + r[:, None] * K + inner[None, :])  # mm
        total = tl.dot(left, tl.load(b + inner[:, None] * 32 + r[None, :]), total)
    tl.store(c + r[:, None] * 32 + r[None, :], total)


@fault("`a")
def mm():
    k_mm[1,](dt.tensor(arr((32, 48), "f2")), dt.tensor(arr((64, 32), "f2")), dt.tensor(arr((32, 32))), K=64)


@triton.jit
def k_view(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)  # view
    tl.store(out + at, v)


@fault("`x")
def view():
    base = arr(1000)
    k_view[1,](dt.tensor(base[100:150]), dt.tensor(arr(64)), 64, B=64)


@triton.jit
def k_null(x, out, B: tl.constexpr, A: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(tl.cast(tl.cast(A, tl.int64), tl.pointer_type(tl.float32)) + at)  # null
    tl.store(out + at, v)


@fault("0x1000")
def null():
    k_null[1,](None, dt.tensor(arr(64)), B=64, A=4096)


@gluon.jit
def k_uninit(out, N: gl.constexpr, L: gl.constexpr, S: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    kept = gl.allocate_shared_memory(gl.float32, [N], S)
    v = kept.load(L)  # uninit
    gl.store(out + at, v)


LAY, SH = gl.BlockedLayout([1], [64], [4], [0]), gl.SwizzledSharedLayout(1, 1, 1, [0])


@fault("`kept[0]`")
def uninit():
    k_uninit[1,](dt.tensor(arr(256)), N=256, L=LAY, S=SH)


@triton.jit
def k_row(x, out, n, B: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + r * n + at, mask=at < n)
    tl.store(out + r * n + at, v)  # row


@fault("`out")
def row():
    k_row[4,](dt.tensor(arr((4, 50))), dt.tensor(arr((4, 50))), 50, B=64)


@gluon.jit
def k_barrier(x, out, N: gl.constexpr, L: gl.constexpr, M: gl.constexpr, S: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    v = gl.load(x + at)
    if gl.program_id(0) == 1:
        gl.store(x + at + 64, v)  # barrier
    gl.store(out + at, v)


@fault("`x")
def barrier():
    k_barrier[2,](dt.tensor(arr(256)), dt.tensor(arr(256)), N=256, L=LAY, M=LAY, S=SH)


@triton.jit
def k_last(x, lock, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, tl.load(x + at) + 1)  # last
    tl.atomic_add(lock, 1)


@fault("`x")
def last():
    k_last[3,](dt.tensor(arr(64)), dt.tensor(arr(1, "i4")), B=64)


@triton.jit
def k_read_only(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)
    tl.store(x + at, v * 2, mask=at < n)  # read_only


@fault("`x`, float32[100] (argument 0, 400 bytes) is read-only")
def read_only():
    x = arr(100)
    x.flags.writeable = False
    k_read_only[1,](dt.tensor(x), 100, B=128)


@triton.jit
def k_beside(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)  # beside
    tl.store(out + at, v)


@fault("past the end of `x`, float32[100]")
def beside():
    both = arr(256)
    k_beside[1,](dt.tensor(both[:100]), dt.tensor(both[100:]), B=128)


@triton.jit
def k_pointers(all, out, B: tl.constexpr):
    at = tl.arange(0, B)
    one = tl.load(all + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    v = tl.load(one + at)  # pointers
    tl.store(out + tl.program_id(0) * B + at, v)


@fault("`all[1]`, float32[50]")
def pointers():
    parts = [dt.tensor(mapped(64)), dt.tensor(mapped(50))]
    k_pointers[2,](dt.tensor(np.array([each.data_ptr() for each in parts])), dt.tensor(arr(128)), B=64)


@gluon.jit
def matrix(LAYOUT: gl.constexpr):
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, LAYOUT))
    column = gl.arange(0, 64, layout=gl.SliceLayout(0, LAYOUT))
    return row[:, None] * 64 + column[None, :]


MATRIX, SWIZZLED = gl.BlockedLayout([1, 4], [4, 16], [4, 1], [1, 0]), gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
PADDED = gl.PaddedSharedLayout.with_identity_for([[64, 4]], [32, 64], [1, 0])
MATRICES = {"LAYOUT": MATRIX, "SHARED": SWIZZLED}


@gluon.jit
def k_part(x, out, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    kept = gl.allocate_shared_memory(gl.float32, [2, 32, 64], SHARED)
    kept.index(0).store(gl.load(x + matrix(LAYOUT)))
    value = kept.index(1).load(LAYOUT)  # part
    gl.store(out + matrix(LAYOUT), value)


@fault("`kept[1, 0, 0]`")
def part():
    k_part[1,](dt.tensor(arr((32, 64))), dt.tensor(arr((32, 64))), **MATRICES)


@gluon.jit
def k_half(x, out, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    kept = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    upper = kept.slice(0, 16, 0)
    upper.store(gl.load(x + gl.arange(0, 16, layout=gl.SliceLayout(1, LAYOUT))[:, None] * 64
                        + gl.arange(0, 64, layout=gl.SliceLayout(0, LAYOUT))[None, :]))  # fmt: skip
    value = kept.load(LAYOUT)  # half
    gl.store(out + matrix(LAYOUT), value)


@fault("`kept[16, 0]`")
def half():
    k_half[1,](dt.tensor(arr((32, 64))), dt.tensor(arr((32, 64))), LAYOUT=MATRIX, SHARED=PADDED)


@gluon.jit
def k_early(x, out, N: gl.constexpr, L: gl.constexpr, S: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    kept = gl.allocate_shared_memory(gl.float32, [N], S)
    async_copy.global_load_to_shared(kept, x + at)
    async_copy.commit_group()
    v = kept.load(L)  # early
    gl.store(out + at, v)


@fault("`kept[0]`", "gfx950")
def early():
    k_early[1,](dt.tensor(arr(256)), dt.tensor(arr(256)), N=256, L=LAY, S=SH)


@gluon.jit
def k_waits(x, out, N: gl.constexpr, L: gl.constexpr, S: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    kept = gl.allocate_shared_memory(gl.float32, [2, N], S)
    async_copy.global_load_to_shared(kept.index(0), x + at)
    async_copy.commit_group()
    async_copy.global_load_to_shared(kept.index(1), x + N + at)  # waits
    async_copy.commit_group()
    async_copy.wait_group(1)
    v = kept.index(0).load(L)
    w = kept.index(1).load(L)
    gl.store(out + at, v + w)


@fault("`kept[1, 0]`", "gfx950")
def waits():
    """The two loads are one instruction, which the compiler gives no line; the copy has one."""
    k_waits[1,](dt.tensor(arr(512)), dt.tensor(arr(256)), N=256, L=LAY, S=SH)


@gluon.jit
def k_scattered(idx, out, N: gl.constexpr, L: gl.constexpr, S: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    kept = gl.allocate_shared_memory(gl.int32, [N], S)
    kept.store(at)
    kept.scatter(at, gl.load(idx + at), axis=0)  # scattered
    gl.store(out + at, kept.load(L))


@fault("`kept[3]`")
def scattered():
    """Two waves write one element."""
    i = np.arange(256, dtype="i4")
    i[200] = 3
    k_scattered[1,](dt.tensor(i), dt.tensor(arr(256, "i4")), N=256, L=LAY, S=SH)


def mapped(count: int) -> Any:
    """Return an array in pages of its own, whose end is not followed by another one."""
    return np.frombuffer(mmap.mmap(-1, 1 << 16), "f4", count)


def main() -> None:
    with open(__file__) as file:
        lines = file.read().splitlines()
    for name in sys.argv[1:] or FAULTS:
        launch, tensor, processor = FAULTS[name]
        line = next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {name}"))
        told = io.StringIO()
        with contextlib.redirect_stderr(told), dt.use(processor, check="all"):
            try:
                launch()
            except RuntimeError as error:
                told.write(str(error))
        text = " ".join(told.getvalue().split())
        is_named = all(part in text for part in ("error:", f"faults.py:{line}", tensor)) and "work-item" not in text
        print(f"{name}: {'named' if is_named else text}", flush=True)


main()
