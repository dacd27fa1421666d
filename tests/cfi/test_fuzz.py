"""Any bytes are call frame information: they give entries, rows, or an error that says what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.cfi.instructions import decode
from dwarfgpu.cfi.rows import Tables
from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import Bases, FrameFormat
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.call_frames import Cie, Fde, FdeIndex, FrameSection, read_frame_header
from dwarfgpu.targets.resolve import resolve
from tests.builders.frames import FrameBuilder, z

TARGETS = [None, resolve("amdgcn-gfx90a"), resolve("x86_64")]


def examine(section, target):
    ranges = {}
    for entry in section.entries():
        if isinstance(entry, DwarfGpuError):
            assert str(entry)
            assert entry.where.section == section.name
            continue
        assert entry.offset < entry.end <= len(section.data)
        if isinstance(entry, Cie) and entry.format is not None:
            again = decode(entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset)
            assert all(a.end == b.offset for a, b in zip(again, list(again)[1:], strict=False))
        if isinstance(entry, Fde):
            ranges[entry.offset] = entry
            check_rows(entry, target)
    check_index(section, ranges)


def attempt(function, *arguments, **options):
    """What a call returns, and the error that it ends with."""
    try:
        return function(*arguments, **options), None
    except DwarfGpuError as error:
        return None, error


def check_rows(fde, target):
    found = []
    _, error = attempt(lambda: found.extend(Tables(target).rows(fde)))
    at = fde.low
    for row in found:
        assert at == row.start < row.end <= fde.high
        at = row.end
        assert Tables(target).row_at(fde, row.start) == row
    assert at == fde.high or error is not None
    if error is not None:
        assert error.error_class in ("ill_formed", "unsupported")
        assert error.where.section == fde.section


def check_index(section, ranges):
    """The index finds every entry with some address; what it finds beside them is broken behind the addresses."""
    index = FdeIndex(section)
    spans = index.ranges.spans()
    for entry in ranges.values():
        if entry.low < entry.high:
            assert (entry.low, entry.high) in spans
            assert entry.offset in [fde.offset for fde in index.fdes_at(entry.low)]
    for low, high in spans:
        found, error = attempt(index.fdes_between, low, high)
        assert error is None or error.where.section == section.name
        assert all(fde.offset in ranges for fde in found or ())


@given(
    st.binary(max_size=120),
    st.sampled_from([".debug_frame", ".eh_frame"]),
    st.sampled_from([4, 8]),
    st.sampled_from(["little", "big"]),
    st.sampled_from(TARGETS),
)
def test_random_sections(data, name, size, order, target):
    examine(FrameSection(data, name, byte_order=order, address_size=size, bases=Bases(0x1000)), target)


@given(
    st.binary(max_size=60),
    st.binary(max_size=60),
    st.integers(-9, 9),
    st.integers(0, 1 << 64),
    st.sampled_from(TARGETS),
)
def test_random_instructions(initial, instructions, factor, low, target):
    builder = FrameBuilder()
    builder.fde(builder.cie(initial, code=abs(factor), data=factor), low, 0x40, instructions)
    examine(FrameSection(builder.data), target)


@given(
    st.text("zRPLSBGx[]:v0.1eh", max_size=6),
    st.binary(max_size=12),
    st.binary(max_size=24),
    st.booleans(),
    st.sampled_from([1, 3, 4]),
)
def test_random_augmentations(text, data, rest, sized, version):
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation=text, augmentation_data=z(data) if sized else data, version=version)
    builder.fde(cie, 0, 0, location=rest)
    examine(FrameSection(builder.data, ".eh_frame", bases=Bases(0x1000, 0x2000, 0x3000)), None)


@given(st.data())
def test_changed_bytes(data):
    builder = FrameBuilder("eh_frame", wide=data.draw(st.booleans()))
    cie = builder.cie("def_cfa 7 8; offset 16 1", augmentation="zPLRS", augmentation_data=z(b"\x9b\1\2\3\4\x1b\x1b"))
    for low in (0x1000, 0x2000):
        location = builder.number(low, 4) + builder.number(0x40, 4)
        text = "advance_loc 1; def_cfa_offset 16; offset 6 2; remember_state; advance_loc 8; restore_state"
        builder.fde(cie, 0, 0, text, location=location, augmentation_data=z(bytes(4)))
    changed = bytearray(builder.data)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    examine(FrameSection(bytes(changed), ".eh_frame"), None)


@given(st.binary(max_size=40), st.integers(0, 1 << 64), st.sampled_from([4, 8]))
def test_random_headers(data, address, size):
    header, error = attempt(read_frame_header, b"\x01" + data, address=0x1000, address_size=size)
    if header is not None:
        _, error = attempt(header.find, address)
    assert error is None or error.where.section == ".eh_frame_hdr"


@given(st.binary(max_size=40), st.integers(0, 255))
def test_random_addresses_in_instructions(data, encoding):
    found = decode(b"\x01" + data, FrameFormat(Format(), 1, 1, encoding, Bases(0x1000)), section=".eh_frame")
    assert found.fault is None or found.fault.where.section == ".eh_frame"


@pytest.mark.parametrize("name", [".debug_frame", ".eh_frame"])
def test_every_byte_repeated(name):
    for byte in range(256):
        examine(FrameSection(bytes([byte]) * 4096, name), None)
