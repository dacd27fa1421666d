"""Cells: one memory, seen as bytes and as an array."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.machines.columns import Cells, byte_size, item_size

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["<u4", ">u4", "<i8", "|u1", "<u8"])
def test_bytes_and_array_are_one_memory(kind):
    cells = Cells(kind, (3, 2))
    size = item_size(kind)
    assert cells.row_size == 2 * size
    cells.buffer[size : 2 * size] = bytes(range(1, size + 1))
    assert cells.array[0, 1] == np.frombuffer(bytes(range(1, size + 1)), kind)[0]
    cells.array[2, 0] = 5
    assert bytes(cells.buffer[4 * size : 5 * size]) == np.array(5, kind).tobytes()
    assert cells.array is cells.array
    assert cells.shaped(6).array[4] == 5


def test_numbers_and_texts():
    cells = Cells("<i8", (2, 3))
    cells.array[:] = [[1, -2, 3], [1 << 62, -1, 0]]
    assert cells.tolist() == [1, -2, 3, 1 << 62, -1, 0]
    assert cells.row(1) == (1 << 62, -1, 0)
    assert item_size("<U5") == 20
    assert byte_size("<U5", (2, 3)) == 120


@pytest.mark.parametrize("count", [1, 100_000])
def test_rows_are_added_as_zeros_or_as_they_are_given(count):
    cells = Cells("<u4", (1, 2), memoryview(bytearray(b"\1\0\0\0\2\0\0\0")))
    more = cells.with_rows(count)
    assert more.shape == (count + 1, 2)
    assert more.array[0].tolist() == [1, 2]
    assert not more.array[1:].any()
    assert cells.with_rows(1, b"\3\0\0\0\4\0\0\0").array.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
def test_there_may_be_none(shape):
    assert Cells("<u8", shape).array.shape == shape
    assert Cells("<u8", shape).tolist() == []
    assert byte_size("<u8", shape) == 0
    assert len(Cells.of_bytes(b"").buffer) == len(Cells.of_bytes(np.zeros(0, "<u4")).buffer) == 0


def test_what_can_be_written_is_not_copied():
    array, data = np.zeros(4, ">u4"), bytearray(4)
    Cells.of_bytes(array).buffer[3] = 7
    Cells.of_bytes(data).buffer[0] = 7
    assert array.tolist() == [7, 0, 0, 0]
    assert data == b"\7\0\0\0"
    constant = np.zeros(2, "u1")
    constant.flags.writeable = False
    for fixed in (constant, bytes(2), np.broadcast_to(np.uint8(0), (2,))):
        Cells.of_bytes(fixed).buffer[0] = 7
        assert not np.frombuffer(fixed, "u1").any() if isinstance(fixed, bytes) else not fixed.any()


def test_a_forked_process_has_cells_of_its_own():
    code = (
        "import os\nfrom dwarfgpu.machines.columns import Cells\n"
        "cells = Cells('|u1', (100_000,))\n"
        "if not os.fork():\n    cells.buffer[0] = 1\n    os._exit(0)\n"
        "print(os.wait()[1], cells.buffer[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0", "0"]
