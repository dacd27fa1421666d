"""Look-up of frame description entries: LSB 5.0 section 10.6.2, and the index without a header."""

import pytest

from dwarfgpu.encoding import Bases
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile import call_frames as frames
from dwarfgpu.objfile.call_frames import FdeIndex, FrameSection, read_frame_header
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder, z
from tests.builders.parameters import every, for_each

ADDRESS, HEADER = 0x4000, 0x3000
COUNT = 20_000


def functions(kind="debug_frame", *, count=8, size=8, order="little", wide=False, encoding=None, version=None):
    """A section with functions of 16 bytes at 0x1000, 0x1020, ...; between them there is nothing."""
    builder = FrameBuilder(kind, size=size, order=order, wide=wide)
    options = {} if encoding is None else {"augmentation": "zR", "augmentation_data": z(bytes([encoding]))}
    cie = builder.cie("def_cfa 7 8", version=version, **options)
    offsets = []
    for i in range(count):
        low = 0x1000 + 0x20 * i
        location = data = None
        if encoding is not None:
            base = ADDRESS + len(builder.data) + (12 if wide else 4) + 4 if encoding & 0x70 == 0x10 else 0
            width = {0: size, 2: 2, 3: 4, 4: 8}[encoding & 7]
            location, data = builder.number(low - base, width) + builder.number(16, width), z(b"")
        offsets.append(
            builder.fde(
                cie, low, 16, "advance_loc 1; def_cfa_offset 16", location=location, augmentation_data=data or b""
            )
        )
    return builder, offsets


def section_of(builder):
    return FrameSection(
        builder.data,
        f".{builder.kind}",
        byte_order=builder.order,
        address_size=builder.size,
        bases=Bases(section=ADDRESS),
    )


def header_of(builder, rows, *, count=None, encoding=0x3B, version=1, pointer=0x1B, count_encoding=0x03):
    """.eh_frame_hdr at HEADER, with rows of (location, offset of the entry)."""
    number = builder.number
    data = bytes([version, pointer, count_encoding, encoding]) + number(ADDRESS - HEADER - 4, 4)
    data += number(len(rows) if count is None else count, 4)
    for location, offset in rows:
        data += number(location - HEADER, 4) + number(ADDRESS + offset - HEADER, 4)
    return data


def read_header(builder, data):
    return read_frame_header(data, address=HEADER, byte_order=builder.order, address_size=builder.size)


@pytest.fixture
def decoded(monkeypatch):
    """The offsets of the entries that are decoded."""
    found = []
    read = frames.FrameSection.entry_at

    def entry_at(self, offset):
        found.append(offset)
        return read(self, offset)

    monkeypatch.setattr(frames.FrameSection, "entry_at", entry_at)
    return found


@every(order=["little", "big"], size=[4, 8], wide=[False, True])
@for_each("kind, encoding",
    ("debug_frame", None), ("eh_frame", None), ("eh_frame", 0x00), ("eh_frame", 0x1B), ("eh_frame", 0x03),
    ("eh_frame", 0x0A), ("eh_frame", 0x1C), ("eh_frame", 0x10))  # fmt: skip
def test_every_address(kind, encoding, order, size, wide):
    builder, offsets = functions(kind, size=size, order=order, wide=wide, encoding=encoding)
    index = FdeIndex(section_of(builder))
    for address in range(0xFF0, 0x1110):
        i, rest = divmod(address - 0x1000, 0x20)
        expected = offsets[i] if 0 <= i < len(offsets) and rest < 16 else None
        found = index.fde_at(address)
        assert (found and found.offset) == expected
    assert index.problems == []


def test_an_address_decodes_one_entry_of_20000(decoded):
    builder, offsets = functions(count=COUNT)
    index = FdeIndex(section_of(builder))
    assert index.fde_at(0x1000 + 0x20 * 12345).offset == offsets[12345]
    assert decoded == [offsets[12345]]
    assert index.fde_at(0x1000 + 0x20 * 77 + 17) is None
    assert len(decoded) == 1


def test_an_address_decodes_one_entry_of_20000_in_eh_frame(decoded):
    builder, offsets = functions("eh_frame", count=COUNT, encoding=0x1B)
    index = FdeIndex(section_of(builder))
    assert index.fde_at(0x1000 + 0x20 * 12345).offset == offsets[12345]
    assert decoded == [offsets[12345]]


def test_one_of_many_entries_for_an_address_is_enough(decoded):
    builder = FrameBuilder("debug_frame")
    cie = builder.cie("def_cfa 7 8")
    offsets = [builder.fde(cie, 0, 16) for _ in range(500)]
    index = FdeIndex(frames.FrameSection(bytes(builder.data)))
    assert index.fde_at(4).offset == offsets[-1]
    assert len(decoded) == 1
    assert len(index.fdes_at(4)) == 500


def test_entries_that_overlap():
    """Of several the one that begins last; all of them can be had."""
    builder = FrameBuilder()
    cie = builder.cie()
    outer, inner = builder.fde(cie, 0x1000, 0x100), builder.fde(cie, 0x1040, 0x10)
    index = FdeIndex(section_of(builder))
    assert index.fde_at(0x1044).offset == inner
    assert [fde.offset for fde in index.fdes_at(0x1044)] == [outer, inner]
    assert index.fde_at(0x1050).offset == outer


@for_each("low, high, expected",
    (0x1000, 0x1010, [0]), (0x1008, 0x1009, [0]), (0x100F, 0x1021, [0, 1]), (0x1010, 0x1020, []),
    (0, 0x2000, [0, 1, 2]), (0x1020, 0x1020, []), (0x1041, 0x5000, [2]), (0x1010, 0x1021, [1]))  # fmt: skip
def test_the_entries_of_a_range(low, high, expected):
    builder, offsets = functions(count=3)
    found = FdeIndex(section_of(builder)).fdes_between(low, high)
    assert [fde.offset for fde in found] == [offsets[i] for i in expected]


def test_an_entry_of_no_bytes_covers_nothing():
    builder = FrameBuilder()
    builder.fde(builder.cie(), 0x1000, 0)
    assert FdeIndex(section_of(builder)).fde_at(0x1000) is None


def test_an_entry_for_code_that_the_linker_has_dropped():
    builder = FrameBuilder()
    cie = builder.cie()
    builder.fde(cie, -1, 0x40)
    builder.fde(cie, -2, 0x40)
    index = FdeIndex(section_of(builder))
    assert index.fde_at((1 << 64) - 1) is None
    assert index.problems == []


def test_what_is_broken_hides_nothing():
    builder = FrameBuilder()
    good = builder.cie()
    bad = builder.cie(version=9)
    builder.data += bytes(8)  # a hole
    builder.fde(bad, 0x1000, 16)
    builder.fde(good, (1 << 64) - 8, 16)
    builder.fde(12345, 0x3000, 16)
    last = builder.fde(good, 0x2000, 16)
    builder.data += b"\x05"
    index = FdeIndex(section_of(builder))
    assert index.fde_at(0x2000).offset == last
    assert index.fde_at(0x1000) is None
    assert [error.kind for error in index.problems] == ["bad_cie", "overflow", "bad_cie", "truncated"]


def test_after_a_reserved_length_there_is_no_more():
    builder, offsets = functions(count=1)
    builder.data += b"\xf5\xff\xff\xff" + bytes(20)
    index = FdeIndex(section_of(builder))
    assert index.fde_at(0x1000).offset == offsets[0]
    assert index.fde_at(0x5000) is None
    assert [error.kind for error in index.problems] == ["bad_length"]


def test_an_entry_with_an_unknown_augmentation_is_found():
    builder = FrameBuilder()
    fde = builder.fde(builder.cie(augmentation="unheard"), 0x1000, 16)
    assert FdeIndex(section_of(builder)).fde_at(0x1008).offset == fde


def test_an_entry_with_a_segment_is_found():
    builder = FrameBuilder()
    fde = builder.fde(builder.cie(segment_size=2), 0x1000, 16, before=b"\1\0")
    assert FdeIndex(section_of(builder)).fde_at(0x1008).offset == fde


@every(order=["little", "big"], size=[4, 8], count=[0, 1, 2, 3, 17])
def test_the_table_of_a_header(order, size, count):
    builder, offsets = functions("eh_frame", count=count, size=size, order=order, encoding=0x1B)
    rows = [(0x1000 + 0x20 * i, offset) for i, offset in enumerate(offsets)]
    header = read_header(builder, header_of(builder, rows))
    index = FdeIndex(section_of(builder), header)
    assert (header.count, header.eh_frame) == (count, ADDRESS)
    assert [header.row(i) for i in range(count)] == [(low, ADDRESS + offset) for low, offset in rows]
    for address in range(0xFF0, 0x1000 + 0x20 * count + 8):
        i, rest = divmod(address - 0x1000, 0x20)
        expected = offsets[i] if 0 <= i < count and rest < 16 else None
        found = index.fde_at(address)
        assert (found and found.offset) == expected


def test_the_header_saves_reading_locations(decoded, monkeypatch):
    builder, offsets = functions("eh_frame", count=COUNT, encoding=0x1B)
    rows = [(0x1000 + 0x20 * i, offset) for i, offset in enumerate(offsets)]
    index = FdeIndex(section_of(builder), read_header(builder, header_of(builder, rows)))
    monkeypatch.setattr(FdeIndex, "_spans", None)  # the section is not run through
    assert index.fde_at(0x1000 + 0x20 * 12345 + 5).offset == offsets[12345]
    assert decoded == [offsets[12345]]


def test_unwinding_reads_a_linked_section_only_where_the_table_is_wrong(monkeypatch):
    builder, offsets = functions("eh_frame", encoding=0x1B)
    rows = [(0x1000 + 0x20 * i, offset) for i, offset in enumerate(offsets)]
    rows[3] = (0x1060, offsets[5])
    index = FdeIndex(section_of(builder), read_header(builder, header_of(builder, rows)))
    assert [fde.offset for fde in index.each_at(0x1068)] == [offsets[3]]
    assert not [*index.each_at(0x1090)]
    assert [fde.offset for fde in index.each_at(0x1008)] == [offsets[0]]
    quick = FdeIndex(section_of(builder), index.header)
    monkeypatch.setattr(FdeIndex, "_spans", None)  # the section is not run through
    assert next(quick.each_at(0x1008)).offset == offsets[0]


@for_each("location", 0x1040, 0x1030, 0x1000)
def test_of_entries_that_overlap_the_one_that_begins_last_comes_first(location):
    builder = FrameBuilder("eh_frame")
    cie = builder.cie()
    outer, inner = builder.fde(cie, 0x1000, 0x100), builder.fde(cie, 0x1040, 0x10)
    index = FdeIndex(
        section_of(builder), read_header(builder, header_of(builder, [(0x1000, outer), (location, inner)]))
    )
    assert [fde.offset for fde in index.each_at(0x1044)] == [inner, outer]
    assert [fde.offset for fde in index.fdes_at(0x1044)] == [outer, inner]
    assert [fde.offset for fde in index.each_at(0x1050)] == [outer]


def test_bytes_within_an_entry_that_look_like_another_are_not_one():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie()
    head = len(builder.data) + 4 + 4 + 16  # behind length, CIE pointer and addresses
    like_an_entry = builder.number(20, 4) + builder.id(head + 4 - cie) + builder.number(0x1000) + builder.number(0x100)
    offset = builder.fde(cie, 0x1000, 0x80, like_an_entry)
    index = FdeIndex(section_of(builder), read_header(builder, header_of(builder, [(0x1020, head)])))
    assert index.section.entry_at(head).low == 0x1000
    assert [fde.offset for fde in index.each_at(0x1024)] == [offset]
    assert index.fde_at(0x1024).offset == offset


@for_each("rows",
    [(0x1000, 12)],  # in the middle of an entry
    [(0x1000, 0)],  # a CIE
    [(0x1000, 0x10000)],  # outside
    [(0x5000, 0)],  # behind all
    [(0x1000, -0x8000)])  # fmt: skip
def test_a_table_that_is_wrong_hides_nothing(rows):
    builder, offsets = functions("eh_frame", encoding=0x1B)
    index = FdeIndex(section_of(builder), read_header(builder, header_of(builder, rows)))
    assert index.fde_at(0x1028).offset == offsets[1]


def test_a_table_that_is_not_sorted_hides_nothing():
    builder, offsets = functions("eh_frame", encoding=0x1B)
    rows = [(0x1000 + 0x20 * i, offset) for i, offset in enumerate(offsets)][::-1]
    index = FdeIndex(section_of(builder), read_header(builder, header_of(builder, rows)))
    assert [index.fde_at(0x1000 + 0x20 * i).offset for i in range(8)] == offsets


@for_each("change", {"encoding": 0xFF}, {"count_encoding": 0xFF}, {"encoding": 0x01}, {"encoding": 0x39})
def test_a_header_without_a_table_to_search(change):
    builder, _ = functions("eh_frame")
    assert read_header(builder, header_of(builder, [(0x1000, 24)], **change)) is None


def test_a_header_that_does_not_say_where_the_section_is():
    builder, _ = functions("eh_frame")
    assert read_header(builder, bytes([1, 0xFF, 0x03, 0x3B]) + builder.number(0, 4)).eh_frame is None


@for_each("data, kind",
    (b"", "truncated"), (b"\x01", "truncated"), (b"\x01\x1b\x03\x3b", "truncated"),
    (bytes([2, 0x1B, 3, 0x3B]) + bytes(8), "bad_version"),
    (bytes([1, 0x1B, 3, 0x3D]) + bytes(8), "pointer_encoding"),
    (bytes([1, 0x2B, 3, 0x3B]) + bytes(8), "pointer_encoding"),
    (bytes([1, 0x1B, 3, 0x3B]) + bytes(4) + b"\2\0\0\0" + bytes(12), "truncated"),
    (bytes([1, 0x1B, 4, 0x3B]) + bytes(4) + b"\xff" * 8 + bytes(12), "truncated"))  # fmt: skip
def test_a_broken_header(data, kind):
    caught = raised(DwarfGpuError, read_frame_header, data, address=HEADER)
    assert caught.kind == kind
    assert caught.where.section == ".eh_frame_hdr"
    if kind == "truncated":
        assert isinstance(caught, MalformedFile)
