import re
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.loading import load, span
from dwarfgpu.objfile.opening import open_image
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.parameters import for_each

ROOT = Path(__file__).resolve().parents[3]
BIAS = 0x7F0000000000
TEXT, DATA, DYNAMIC = 0x1000, 0x2000, 0x3000
RELATIVE64, ABS64, ABS32_LO, ABS32_HI, REL64, GOTPCREL, ABS32, NONE = 13, 3, 1, 2, 5, 7, 6, 0


def built(rows, *, symbols=(), data=bytes(64), machine=224, extra=(), memory_size=None, **options) -> Image:
    """A file with a text and a data segment, and dynamic relocations: (offset, type, symbol, addend)."""
    elf = ElfBuilder(machine=machine, **options)
    rela = struct.pack("<" + "QQq" * len(rows), *(n for o, t, s, a in rows for n in (o, s << 32 | t, a)))
    names = b"".join(struct.pack("<IBBHQQ", 0, 0x11, 0, *each, 0) for each in ((0, 0), *symbols))
    text = elf.section(".text", b"code" + rela + names, address=TEXT, flags=6)
    content = elf.section(".data", data, address=DATA, flags=3)
    entries = [(7, TEXT + 4), (8, len(rela)), (6, TEXT + 4 + len(rela)), *extra, (0, 0), (7, 99)]
    dynamic = elf.section(
        ".dynamic", struct.pack("<" + "QQ" * len(entries), *(n for e in entries for n in e)), address=DYNAMIC
    )
    elf.segment(1, TEXT, text)
    elf.segment(1, DATA, content, memory_size=memory_size)
    elf.segment(2, DYNAMIC, dynamic)
    return open_image(elf.build())


def data_of(image: Image, bias: int = BIAS) -> bytes:
    return load(image, bias)[bias + DATA]


def test_segments_are_moved_and_filled_with_zeros():
    image = built((), data=b"abc", memory_size=10)
    segments = load(image, BIAS)
    assert [*segments] == [BIAS + TEXT, BIAS + DATA]
    assert segments[BIAS + TEXT].startswith(b"code")
    assert segments[BIAS + DATA] == b"abc" + bytes(7)
    assert span(image) == (TEXT, DATA + 10 - TEXT, 1)


@for_each("name", "launch.gfx90a.w64.O2.co", "cl-kernels.gfx1100.w32.O2.v5.co", "launch.gfx1200.w32.O2.co")
def test_a_loaded_file_is_what_the_file_says(name):
    image = open_image(str(ROOT / "fixtures/amdgpu" / name))
    for address, data in load(image, 0).items():
        assert data == image.read(address, len(data))


def test_relocations_of_fixtures_are_applied(require_tool):
    path = ROOT / "fixtures/amdgpu/hip-kernels.gfx1100.w32.O0.v5.co"
    tool = require_tool("llvm-readelf-22", "readelf")
    text = subprocess.run([tool, "-rW", path], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^([0-9a-f]{16})\s+\S+\s+R_AMDGPU_RELATIVE64\s+([0-9a-f]+)", text, re.MULTILINE)
    assert len(rows) == 2
    segments = load(open_image(str(path)), BIAS)
    for offset, addend in rows:
        place = int(offset, 16) + BIAS
        address, data = next(each for each in segments.items() if 0 <= place - each[0] < len(each[1]))
        assert int.from_bytes(data[place - address :][:8], "little") == int(addend, 16) + BIAS


SYMBOLS = ((1, 0x1234),)


@for_each(
    "row, size, expected",
    ((DATA + 8, RELATIVE64, 0, 0x55), 8, BIAS + 0x55),
    ((DATA + 8, ABS64, 1, 4), 8, BIAS + 0x1238),
    ((DATA + 8, ABS64, 0, 4), 8, BIAS + 4),
    ((DATA + 8, ABS32_LO, 1, 0), 4, (BIAS + 0x1234) & 0xFFFFFFFF),
    ((DATA + 8, ABS32_HI, 1, 0), 4, (BIAS + 0x1234) >> 32),
    ((DATA + 8, REL64, 1, 0), 8, (0x1234 - DATA - 8) % 2**64),
    ((DATA + 8, NONE, 1, 0), 8, 0),
    ((DATA + 8, RELATIVE64, 0, -BIAS - 1), 8, 2**64 - 1),
)
def test_each_relocation(row, size, expected):
    data = data_of(built([row], symbols=SYMBOLS))
    assert int.from_bytes(data[8 : 8 + size], "little") == expected
    assert data[:8] == bytes(8)
    assert data[8 + size :] == bytes(56 - size)


def test_the_table_of_calls_is_applied_too():
    image = built([(DATA, RELATIVE64, 0, 7)], extra=[(23, TEXT + 4), (2, 24)])
    assert data_of(image)[:8] == (BIAS + 7).to_bytes(8, "little")


@for_each(
    "row, options, kind",
    ((DATA, GOTPCREL, 1, 0), {}, "bad_relocation"),
    ((DATA, 200, 1, 0), {}, "bad_relocation"),
    ((DATA, ABS64, 1, 0), {"symbols": ((0, 0),)}, "undefined_symbol"),
    ((DATA, ABS64, 1000, 0), {}, "not_mapped"),
    ((DATA + 60, ABS64, 0, 0), {}, "not_mapped"),
    ((0x9000, RELATIVE64, 0, 0), {}, "not_mapped"),
    ((DATA, ABS32, 1, 0), {}, "overflow"),
    ((DATA, ABS64, 1, 0), {"machine": 3}, "bad_relocation"),
)
def test_a_relocation_that_cannot_be_applied(row, options, kind):
    assert raised(DwarfGpuError, load, built([row], **{"symbols": SYMBOLS, **options}), BIAS).kind == kind


def test_a_file_that_is_not_linked():
    image = open_image(str(ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.o"))
    with pytest.raises(UsageError, match="a file that is not linked cannot be loaded"):
        load(image, 0)


def test_nothing_to_load():
    with pytest.raises(DwarfGpuError, match="the file has no segments to load"):
        load(open_image(ElfBuilder().build()), 0)


@for_each("size, message", (1 << 40, "more than 268435456 bytes"), (2, "more bytes in the file than in memory"))
def test_sizes_that_cannot_be(size, message):
    with pytest.raises(DwarfGpuError, match=message):
        load(built((), memory_size=size), 0)


def test_segments_that_overlap():
    elf = ElfBuilder()
    one = elf.section(".one", bytes(32), address=0x1000)
    elf.segment(1, 0x1000, one)
    elf.segment(1, 0x1010, one)
    with pytest.raises(DwarfGpuError, match="the segments at 0x1000 and 0x1010 overlap"):
        load(open_image(elf.build()), 0)


@pytest.mark.parametrize("address, align", [(1 << 50, 1), (0x1000, 3), (0x1000, 1 << 60)])
def test_segments_that_are_far_apart_or_aligned_strangely(address, align):
    elf = ElfBuilder()
    one = elf.section(".one", bytes(32), address=0x10)
    elf.segment(1, 0x10, one)
    elf.segment(1, address, one)
    data = bytearray(elf.build())
    (headers,) = struct.unpack_from("<Q", data, 32)
    struct.pack_into("<Q", data, headers + 48, align)  # p_align of the first
    with pytest.raises(DwarfGpuError, match="are not loaded"):
        span(open_image(bytes(data)))


def test_a_truncated_file():
    path = ROOT / "fixtures/amdgpu/launch.gfx90a.w64.O2.co"
    with pytest.raises(DwarfGpuError, match="reaches past the end of the file"):
        load(open_image(path.read_bytes()[:9000]), 0)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**64 - 1), st.integers(0, 20), st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)])
    )
)
def test_any_relocations_are_applied_or_refused(rows):
    try:
        load(built(rows, symbols=SYMBOLS), BIAS)
    except DwarfGpuError as error:
        assert error.kind in {"bad_relocation", "undefined_symbol", "not_mapped", "overflow"}  # noqa: PT017
