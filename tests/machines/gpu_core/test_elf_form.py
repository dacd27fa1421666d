"""The ELF form of written core files, as readelf and GDB see it."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.machines.gpu_core.writing import CoreForm
from tests.builders.gpu_cores import LOAD_ADDRESS, filled, written


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_file_of_the_gpu_has_the_header_of_the_runtime(tmp_path):
    (path,) = written(tmp_path, filled("gfx90a"), kind="gpu")
    data = Path(path).read_bytes()
    assert data[:9] == b"\x7fELF\x02\x01\x01\x40\x00"
    kind, machine, version, entry, segments, sections, flags = struct.unpack_from("<HHIQQQI", data, 16)
    assert (kind, machine, version, entry, segments, sections, flags) == (4, 224, 1, 0, 64, 0, 0)
    assert struct.unpack_from("<HH", data, 52) == (64, 56)
    assert struct.unpack_from("<HHH", data, 58) == (0, 0, 0)
    count = struct.unpack_from("<H", data, 56)[0]
    rows = [struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * index) for index in range(count)]
    assert rows[0][0] == 4
    assert (rows[0][2], rows[0][7], rows[0][5] == rows[0][6]) == (64 + 56 * count, 2, True)
    assert all((row[0], row[1] & 2, row[7], row[2] % 16) == (1, 2, 4, 0) for row in rows[1:])


def test_readelf_sees_the_note_and_the_ranges(tmp_path, require_tool):
    tool = require_tool("readelf")  # LLVM's refuses the alignment of the runtime's note segment, which is a shift
    host, gpu = written(tmp_path, filled("gfx90a"), kind="pair")
    text = output(tool, "-hlnW", gpu)
    assert "CORE (Core file)" in text
    assert re.search(r"AMDGPU\s+0x0*[1-9a-f]", text)
    own = set(re.findall(r"LOAD +0x\w+ (0x\w+) 0x\w+ (0x\w+)", text))
    text = output(tool, "-hlnW", host)
    assert "X86-64" in text
    rows = re.findall(r"LOAD +0x\w+ (0x\w+) 0x\w+ (0x\w+) (0x\w+)", text)
    empty = {(address, size) for address, there, size in rows if int(there, 16) == 0}
    assert {int(address, 16) for address, _size in empty} == {int(address, 16) for address, _size in own}
    assert "NT_PRSTATUS" in text
    assert "AMDGPU" not in text


def test_gdb_reads_a_merged_file_as_a_core_file_of_the_host(tmp_path, require_tool):
    tool = require_tool("gdb")
    (path,) = written(tmp_path, filled("gfx1030-wave32"), form=CoreForm(pid=77))
    text = output(tool, "-nx", "-batch", "-ex", f"core {path}", "-ex", "info threads", "-ex", f"x/4xb {LOAD_ADDRESS}")
    assert "LWP 77" in text
    assert re.search(r"0x00\s+0x07\s+0x0e\s+0x15", text), text


@pytest.mark.parametrize("kind", ["merged", "pair", "gpu"])
def test_the_same_machine_gives_the_same_bytes(kind, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = [Path(path).read_bytes() for path in written(tmp_path / "a", filled("gfx1200-wave64"), kind=kind)]
    second = [Path(path).read_bytes() for path in written(tmp_path / "b", filled("gfx1200-wave64"), kind=kind)]
    assert first == second
