"""Entries of .debug_frame and .eh_frame: DWARF 5 section 6.4.1, A.6.4.1, LSB 5.0 section 10.6."""

import struct

import pytest

from dwarfgpu.dwarf_constants import DW_EH_PE_omit
from dwarfgpu.encoding import Bases, EncodedPointer
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, Unsupported
from dwarfgpu.objfile.call_frames import Cie, Fde, FrameSection, Terminator
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder, cfa, z
from tests.builders.parameters import every, for_each

ORDERS = ["little", "big"]
KINDS = ["debug_frame", "eh_frame"]


def section_of(builder, **options):
    bases = options.pop("bases", Bases(section=options.pop("address", 0)))
    options = {"byte_order": builder.order, "address_size": builder.size, **options}
    return FrameSection(builder.data, f".{builder.kind}", bases=bases, **options)


def entries(builder, **options):
    return list(section_of(builder, **options).entries())


def fault(builder, **options):
    """The only error among the entries."""
    (found,) = [entry for entry in entries(builder, **options) if isinstance(entry, DwarfGpuError)]
    assert found.where.section == f".{builder.kind}"
    assert found.where.offset is not None
    return found


@every(kind=KINDS, order=ORDERS, size=[4, 8], wide=[False, True], version=[1, 3, 4])
def test_fields(kind, order, size, wide, version):
    """A.6.4.1 (1) to (10), in each format; the code alignment factor, A.6.4.1 (7), and A.6.4.1 (8) are LEB128 numbers.

    A.6.4.1 (2): an id of ones makes a CIE; A.6.4.1 (3): its version; A.6.4.1 (9): the column of the return address;
    A.6.4.1 (10): initial instructions; A.6.4.1 (2-1): the length does not count itself; A.6.4.1 (2-2): the offset of
    the CIE; A.6.4.1 (2-3): the initial location; A.6.4.1 (2-4): a number of bytes; A.6.4.1 (2-5): instructions.
    """
    builder = FrameBuilder(kind, size=size, order=order, wide=wide)
    builder.cie("nop; nop; nop")  # so that offsets are not 0
    first = builder.cie("def_cfa 7 8", version=version, code=300, data=-300, column=200 if version == 1 else 300)
    second = builder.fde(first, 0x1000, 0x20, "advance_loc 1")
    _, cie, fde = entries(builder)

    assert isinstance(cie, Cie)
    assert (cie.section, cie.offset, cie.end) == (f".{kind}", first, second)
    assert (cie.offset_size, cie.version, cie.augmentation) == (8 if wide else 4, version, "")
    assert (cie.format.code_alignment, cie.format.data_alignment) == (300, -300)
    assert (cie.format.form.address_size, cie.format.form.byte_order) == (size, order)
    assert cie.return_address == (200 if version == 1 else 300)
    assert cie.instructions.startswith(cfa("def_cfa 7 8"))
    assert builder.data[cie.instructions_offset : cie.end] == cie.instructions
    assert isinstance(fde, Fde)
    assert (fde.offset, fde.end, fde.cie) == (second, len(builder.data), cie)
    assert (fde.low, fde.high, fde.segment) == (0x1000, 0x1020, None)
    assert [fde.covers(address) for address in (0xFFF, 0x1000, 0x101F, 0x1020)] == [False, True, True, False]
    assert fde.instructions.startswith(cfa("advance_loc 1"))
    assert builder.data[fde.instructions_offset : fde.end] == fde.instructions


def test_an_empty_section():
    assert entries(FrameBuilder()) == []


def test_the_cie_of_an_entry_may_stand_behind_it():
    builder = FrameBuilder()
    builder.fde(24, 0x1000, 16)
    builder.cie("def_cfa 7 8")
    fde, cie = entries(builder)
    assert fde.cie == cie
    assert fde.offset < cie.offset


def test_a_cie_is_read_once():
    builder = FrameBuilder()
    cie = builder.cie()
    builder.fde(cie, 0, 16)
    builder.fde(cie, 16, 16)
    read, first, second = entries(builder)
    assert first.cie is read
    assert second.cie is read


def test_the_id_of_the_other_format_makes_no_cie():
    """A.6.4.1 (2): 0x00000000ffffffff in the 64-bit format is the offset of a CIE, which is not there."""
    builder = FrameBuilder(wide=True)
    builder.entry(builder.number(0xFFFFFFFF) + b"\x04\0\x08\0\x04\x78\x10")
    assert fault(builder).kind == "bad_cie"


@for_each("cie, options", ({"address_size": 4}, {"address_size": 8}), ({"version": 3}, {}))
def test_a_cie_has_the_address_size_that_it_names_or_before_version_4_that_of_the_file(cie, options):
    """A.6.4.1 (5)"""
    builder = FrameBuilder(size=4)
    builder.fde(builder.cie(**cie), 0x1000, 16)
    assert entries(builder, **options)[1].low == 0x1000


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_segment_selector(size):
    """A.6.4.1 (6)"""
    builder = FrameBuilder()
    builder.fde(builder.cie(segment_size=size), 0x1000, 16, before=builder.number(0x12, size))
    fde = entries(builder)[1]
    assert (fde.segment, fde.low) == (0x12, 0x1000)


@pytest.mark.parametrize("kind", KINDS)
def test_formats_may_be_mixed(kind):
    builder = FrameBuilder(kind)
    narrow = builder.cie()
    builder.wide = True
    wide = builder.cie()
    builder.fde(narrow, 0x1000, 16)
    builder.wide = False
    builder.fde(wide, 0x2000, 16)
    assert [entry.cie.offset for entry in entries(builder)[2:]] == [narrow, wide]


def test_the_last_address_may_be_part_of_an_entry():
    builder = FrameBuilder(size=4)
    builder.fde(builder.cie(), 0xFFFFFF00, 0x100)
    assert entries(builder)[1].high == 1 << 32


@every(size=[4, 8], tombstone=[-1, -2])
def test_code_that_the_linker_has_dropped(size, tombstone):
    """A tombstone stands where its address was: the entry covers nothing, and is no error."""
    builder = FrameBuilder(size=size)
    builder.fde(builder.cie(), tombstone, 0x40)
    dead = tombstone % (1 << 8 * size)
    fde = entries(builder)[1]
    assert (fde.low, fde.high) == (dead, dead)
    assert not fde.covers(dead)


@pytest.mark.parametrize("kind", KINDS)
def test_zero_lengths_are_one_terminator(kind):
    builder = FrameBuilder(kind)
    builder.cie()
    end = len(builder.data)
    builder.data += bytes(12)
    assert entries(builder)[1:] == [Terminator(f".{kind}", end, end + 12)]


def test_entries_behind_a_terminator_are_read():
    """A relocatable link may have put it between two."""
    builder = FrameBuilder("eh_frame")
    builder.cie()
    builder.data += bytes(4)
    builder.fde(builder.cie(), 0x1000, 16)
    assert [type(entry) for entry in entries(builder)] == [Cie, Terminator, Cie, Fde]


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_of_zeros(kind):
    builder = FrameBuilder(kind)
    builder.data = bytes(1 << 20)
    assert entries(builder) == [Terminator(f".{kind}", 0, 1 << 20)]


VENDORS = "[amd:v0.0][abc:v1.2:x=y]"


@every(kind=KINDS, version=[1, 3, 4], text=["[abc:v0.0]", "[abc:v0.0][def:v1.2:feature-a=on,feature-b=3]", VENDORS])
def test_strings_of_vendors_add_no_fields(kind, version, text):
    """A.6.4.1 (4)"""
    builder = FrameBuilder(kind)
    builder.fde(builder.cie("def_cfa 7 8", version=version, augmentation=text), 0x1000, 16, "undefined 3")
    cie, fde = entries(builder)
    assert cie.augmentation == text
    assert cie.instructions.startswith(cfa("def_cfa 7 8"))
    assert fde.instructions.startswith(cfa("undefined 3"))


@every(kind=KINDS, version=[1, 3, 4], text=["unheard", "x", "[abc:v0.0", "]", "[abc]x", "zz[", "PLx", "arm\u00e9"])
def test_of_an_unknown_augmentation_what_the_text_lists_is_read(kind, version, text):
    """A.6.4.1 (4): length, CIE_id, version, augmentation; length, CIE_pointer, initial_location, address_range."""
    builder = FrameBuilder(kind)
    builder.fde(builder.cie("def_cfa 7 8", version=version, augmentation=text), 0x1000, 16, "undefined 3")
    after = builder.cie()
    cie, fde, other = entries(builder)
    if text == "zz[":  # letters behind a z can be skipped with the data that they have
        return
    assert (cie.version, cie.augmentation, cie.format, cie.instructions) == (version, text, None, b"")
    assert (fde.low, fde.high, fde.cie, fde.format, fde.instructions) == (0x1000, 0x1010, cie, None, b"")
    assert other.offset == after


def test_an_augmentation_that_is_no_utf_8():
    builder = FrameBuilder()
    builder.entry(builder.id(-1) + b"\x04\xff\xfe\0\x08\x00\x01\x78\x10")
    (cie,) = entries(builder)
    assert cie.augmentation == "\\xff\\xfe"
    assert cie.format is None


@every(kind=KINDS, order=ORDERS, size=[4, 8])
def test_all_letters_of_gnu(kind, order, size):
    builder = FrameBuilder(kind, order=order, size=size)
    builder.cie("nop; nop; nop")
    personality = bytes([0x9B]) + builder.number(0x100, 4)  # indirect pcrel sdata4
    data = z(personality + b"\x1b" + b"\x1b")
    start = builder.cie("def_cfa 7 8", augmentation="zPLRSBG", augmentation_data=data)
    field = builder.data.index(personality) + 1
    location = len(builder.data) + 8
    lsda = location + 9
    builder.fde(
        start, 0, 0, "undefined 3", location=builder.number(0x1000 - 0x4000 - location, 4) + builder.number(0x20, 4),
        augmentation_data=z(builder.number(-lsda, 4)))  # fmt: skip
    _, cie, fde = entries(builder, address=0x4000)

    assert cie.personality == EncodedPointer(0x4000 + field + 0x100, indirect=True)
    assert (cie.lsda_encoding, cie.format.pointers, cie.is_signal_frame) == (0x1B, 0x1B, True)
    assert (cie.augmentation_data, cie.unknown) == (data[1:], "")
    assert (fde.low, fde.high) == (0x1000, 0x1020)
    assert fde.lsda == EncodedPointer(0x4000)
    assert fde.instructions.startswith(cfa("undefined 3"))


def test_a_vendor_behind_the_letters_of_gnu():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation="zR[amd:v0.0]", augmentation_data=z(b"\x03"))
    builder.fde(cie, 0, 0, location=builder.number(0x1000, 4) + builder.number(16, 4), augmentation_data=z(b""))
    assert entries(builder)[1].low == 0x1000


@pytest.mark.parametrize("text", ["S", "B", "SB", "G"])
def test_letters_without_data_need_no_z(text):
    """As GNU as writes them into .debug_frame."""
    builder = FrameBuilder()
    builder.fde(builder.cie("def_cfa 7 8", augmentation=text), 0x1000, 16, "undefined 3")
    cie, fde = entries(builder)
    assert cie.is_signal_frame == ("S" in text)
    assert cie.instructions.startswith(cfa("def_cfa 7 8"))
    assert fde.instructions.startswith(cfa("undefined 3"))


def test_letters_with_data_but_no_size():
    """As GCC before 3.0 wrote them: the data stand by themselves."""
    builder = FrameBuilder("eh_frame")
    data = b"\x00" + builder.number(0x5000) + b"\x03\x03"
    cie = builder.cie("def_cfa 7 8", augmentation="PLR", augmentation_data=data)
    location = builder.number(0x1000, 4) + builder.number(16, 4) + builder.number(0x6000, 4)
    builder.fde(cie, 0, 0, "undefined 3", location=location)
    cie, fde = entries(builder)
    assert cie.personality == EncodedPointer(0x5000)
    assert (fde.low, fde.high, fde.lsda) == (0x1000, 0x1010, EncodedPointer(0x6000))
    assert fde.instructions.startswith(cfa("undefined 3"))


def test_the_eh_data_of_gcc_2():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation="eh", before=builder.number(0xDEADBEEF))
    builder.fde(cie, 0x1000, 16, "undefined 3")
    cie, fde = entries(builder)
    assert (cie.format.code_alignment, cie.format.data_alignment) == (1, -8)
    assert (fde.low, fde.instructions[:2]) == (0x1000, cfa("undefined 3"))


def test_letters_behind_a_z_that_are_not_known_are_skipped():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation="zRXY", augmentation_data=z(b"\x03\x01\x02\x03"))
    location = builder.number(0x1000, 4) + builder.number(16, 4)
    builder.fde(cie, 0, 0, "undefined 3", location=location, augmentation_data=z(b"abc"))
    cie, fde = entries(builder)
    assert cie.unknown == "XY"
    assert cie.instructions.startswith(cfa("def_cfa 7 8"))
    assert (fde.low, fde.augmentation_data) == (0x1000, b"abc")
    assert fde.instructions.startswith(cfa("undefined 3"))


@for_each(
    "text, data, of_entry",
    ("zXR", z(b"\x01\x03"), None),  # an unknown letter before the encoding of locations
    ("zR", b"\x7f\x1b", None),  # data longer than the CIE
    ("zR", b"\xff\xff\xff\xff\x0f\x1b", None),
    ("zR", z(b""), None),  # data too short for the letters
    ("zPLR", z(b"\x03\x01\x02\x03\x04\x03"), None),
    ("zP", z(b"\x0b\x01"), None),
    ("z", z(b""), b"\x40"),  # data of an entry that are longer than it
    ("zL", z(b"\x00"), z(b"\x01\x02")),  # an LSDA that does not fit
)
def test_augmentation_data_that_cannot_be(text, data, of_entry):
    builder = FrameBuilder("eh_frame")
    cie = builder.cie(augmentation=text, augmentation_data=data)
    if of_entry is not None:
        builder.fde(cie, 0x1000, 16, augmentation_data=of_entry)
    error = fault(builder)
    assert (error.kind, error.error_class) == ("bad_augmentation", "ill_formed")


@pytest.mark.parametrize("data", [z(b""), z(bytes(4))])
def test_an_entry_without_an_lsda(data):
    builder = FrameBuilder("eh_frame")
    builder.fde(builder.cie(augmentation="zL", augmentation_data=z(b"\x1b")), 0x1000, 16, augmentation_data=data)
    assert entries(builder)[1].lsda is None


def test_a_personality_that_is_left_out():
    builder = FrameBuilder("eh_frame")
    builder.cie(augmentation="zP", augmentation_data=z(bytes([DW_EH_PE_omit])))
    assert entries(builder)[0].personality is None


BASES = Bases(section=0x4000, text=0x10000, data=0x20000)


def located(encoding, location, size=8, order="little", bases=BASES):
    """The entries with an FDE whose location is encoded in some way."""
    builder = FrameBuilder("eh_frame", size=size, order=order)
    cie = builder.cie(augmentation="zR", augmentation_data=z(bytes([encoding])))
    body = location(builder) if callable(location) else location
    builder.fde(cie, 0, 0, location=body, augmentation_data=z(b""))
    return entries(builder, bases=bases), builder


def pair(low, size, width):
    return lambda builder: builder.number(low, width) + builder.number(size, width)


@pytest.mark.parametrize("order", ORDERS)
@for_each("encoding, low, width",
    (0x00, 0x1000, 8), (0x02, 0x1000, 2), (0x03, 0xF0001000, 4), (0x04, 1 << 63, 8), (0x0A, 0x1000, 2),
    (0x0B, 0x1000, 4), (0x0C, 0x1000, 8))  # fmt: skip
def test_sizes_of_pointers(order, encoding, low, width):
    found, _ = located(encoding, pair(low, 0x20, width), order=order)
    assert (found[1].low, found[1].high) == (low, low + 0x20)


def test_pointers_as_leb128_numbers():
    assert located(0x01, b"\x80\x20\x10")[0][1].low == 0x1000
    found, _ = located(0x19, b"\x40\x10")  # pcrel, -64
    assert (found[1].low, found[1].high) == (0x4000 + found[1].offset + 8 - 64, 0x4000 + found[1].offset - 56 + 16)


@for_each("encoding, base", (0x1B, None), (0x2B, 0x10000), (0x3B, 0x20000), (0x23, 0x10000), (0x33, 0x20000))
def test_what_pointers_count_from(encoding, base):
    found, _ = located(encoding, pair(0x100, 0x20, 4))
    base = 0x4000 + found[1].offset + 8 if base is None else base
    assert (found[1].low, found[1].high) == (base + 0x100, base + 0x120)


def test_a_number_of_zero_counts_too():
    """In a file that is not linked the location may well be the place of the pointer."""
    found, _ = located(0x1B, pair(0, 0x20, 4))
    assert found[1].low == 0x4000 + found[1].offset + 8


@pytest.mark.parametrize("size", [4, 8])
def test_pointers_wrap_around(size):
    found, _ = located(0x1B, pair(-0x5000, 0x20, 4), size=size)
    low = 0x4000 + found[1].offset + 8 - 0x5000
    assert found[1].low == low % (1 << 8 * size)


@pytest.mark.parametrize("size", [4, 8])
def test_aligned_pointers(size):
    def location(builder):
        return bytes(-(0x4002 + len(builder.data) + 8) % size) + builder.number(0x1000) + builder.number(0x20)

    found, _ = located(0x50, location, size=size, bases=Bases(section=0x4002))
    assert (found[1].low, found[1].high) == (0x1000, 0x1020)


@for_each("encoding, location, bases, kind, error",
    *((encoding, pair(0x100, 0x20, 8), BASES, "pointer_encoding", Unsupported)
      for encoding in (0x9B, 0x80, 0x05, 0x0F, 0x0D, 0x60, 0x7B, 0x4B)),
    *((encoding, pair(0x100, 0x20, 4), Bases(0x4000), "pointer_encoding", Unsupported) for encoding in (0x2B, 0x3B)),
    (0xFF, b"", BASES, "bad_augmentation", IllFormed),
    (0x0B, pair(0x1000, -1, 4), BASES, "overflow", MalformedFile))  # fmt: skip
def test_locations_that_cannot_be_read(encoding, location, bases, kind, error):
    """In memory (DW_EH_PE_indirect, 0x9B and 0x80), encoded as nobody defines, from an unknown base, or left out.

    0x4B counts from the function, which has no location yet.
    """
    found, _ = located(encoding, location, bases=bases)
    assert isinstance(found[1], error)
    assert found[1].kind == kind


def test_an_lsda_relative_to_its_function():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie(augmentation="zLR", augmentation_data=z(b"\x4b\x03"))
    location = builder.number(0x1000, 4) + builder.number(0x20, 4)
    builder.fde(cie, 0, 0, location=location, augmentation_data=z(builder.number(0x80, 4)))
    assert entries(builder)[1].lsda == EncodedPointer(0x1080)


def around(builder, break_it):
    """Something broken between two good functions; all but what is broken is still there."""
    first = builder.cie("def_cfa 7 8")
    builder.fde(first, 0x1000, 16)
    break_it(builder, first)
    builder.fde(first, 0x2000, 16)
    found = entries(builder)
    lows = [entry.low for entry in found if isinstance(entry, Fde)]
    assert (lows[0], lows[-1]) == (0x1000, 0x2000)
    (error,) = [entry for entry in found if isinstance(entry, DwarfGpuError)]
    return error


def a_cie_id(builder):
    return builder.id(0 if builder.is_eh else -1)


def its_own_cie(builder, _):
    builder.entry(builder.id(4 if builder.is_eh else len(builder.data)) + builder.number(0x1800) + builder.number(16))


def cut_short(builder, first):
    field = len(builder.data) + 4
    builder.entry(builder.id(field - first if builder.is_eh else first) + b"\0\x18", align=1)


BROKEN = {
    **{
        f"version {number}, A.6.4.1 (3)": ("bad_cie", lambda b, _, number=number: b.cie(version=number))
        for number in (0, 2, 5, 255)
    },
    "an address size that no address has": ("bad_cie", lambda b, _: b.cie(version=4, address_size=3)),
    "a segment selector of many bytes": ("bad_cie", lambda b, _: b.cie(version=4, segment_size=9)),
    "a string without an end": ("truncated", lambda b, _: b.entry(a_cie_id(b) + b"\x01zRRRRRR", align=1)),
    **{
        f"a CIE cut after {size} bytes": (
            "truncated",
            lambda b, _, size=size: b.entry((a_cie_id(b) + b"\x01\0\x01\x78\x10")[:size], align=1),
        )
        for size in range(4, 9)
    },
    "a CIE that is not there": ("bad_cie", lambda b, _: b.entry(b.id(0x10000) + b.number(0x1800) + b.number(16))),
    "an entry that is its own CIE": ("bad_cie", its_own_cie),
    "a CIE that is a frame description": ("bad_cie", lambda b, _: b.fde(len(b.data) - 32, 0x1800, 16)),
    "a CIE in the middle of an entry": ("bad_cie", lambda b, first: b.fde(first + 4, 0x1800, 16)),
    "an entry cut short": ("truncated", cut_short),
    "an entry too short for an id": ("truncated", lambda b, _: b.entry(b"\1\2", align=1)),
    "a range behind the last address": ("overflow", lambda b, first: b.fde(first, (1 << 64) - 16, 32))}  # fmt: skip


@every(kind=KINDS, name=BROKEN)
def test_one_broken_entry_hides_no_other(kind, name):
    expected, break_it = BROKEN[name]
    error = around(FrameBuilder(kind), break_it)
    assert (error.kind, error.error_class) == (expected, "ill_formed" if expected == "bad_cie" else "malformed")


def test_entries_of_a_broken_cie():
    builder = FrameBuilder()
    cie = builder.cie(version=9)
    builder.fde(cie, 0x1000, 16)
    builder.fde(cie, 0x2000, 16)
    assert [entry.kind for entry in entries(builder)] == ["bad_cie"] * 3


@pytest.mark.parametrize("length", [0xFFFFFFF0, 0xFFFFFFFE])
def test_reserved_lengths(length):
    builder = FrameBuilder()
    cie = builder.cie()
    builder.entry(bytes(20), length=length)
    builder.fde(cie, 0, 16)
    found = entries(builder)
    assert isinstance(found[0], Cie)
    assert [type(entry) for entry in found[1:]] == [MalformedFile]  # nobody knows where the next one begins
    assert found[1].kind == "bad_length"


@every(wide=[False, True], length=[40, 0x7FFFFFFF, 0xFFFFFFEF])
def test_a_length_behind_the_end(wide, length):
    builder = FrameBuilder()
    builder.cie()
    builder.wide = wide
    builder.entry(builder.id(-1) + bytes(24), length=length if not wide or length == 40 else (1 << 64) - 1)
    found = entries(builder)
    assert [type(entry) for entry in found] == [Cie, MalformedFile]
    assert found[1].kind == "truncated"


@every(kind=KINDS, wide=[False, True])
def test_a_section_cut_at_every_byte(kind, wide):
    builder = FrameBuilder(kind, wide=wide)
    cie = builder.cie("def_cfa 7 8", augmentation="zR", augmentation_data=z(b"\x1b"))
    location = builder.number(0x1000, 4) + builder.number(0x20, 4)
    fde = builder.fde(cie, 0, 0, "undefined 3", location=location, augmentation_data=z(b""))
    whole = builder.data
    for size in range(len(whole)):
        builder.data = whole[:size]
        found = entries(builder)
        errors = [entry for entry in found if isinstance(entry, DwarfGpuError)]
        assert [error.kind for error in errors] == [] if size in (0, fde) else ["truncated"]
        assert len(found) - len(errors) == (size >= fde)


def test_very_many_broken_entries_are_given_up():
    builder = FrameBuilder()
    builder.data = (b"\x04\0\0\0" + b"\1\0\0\0") * 100_000
    assert len(entries(builder)) == 1000


def test_an_entry_by_its_offset():
    builder = FrameBuilder()
    cie = builder.cie()
    fde = builder.fde(cie, 0x1000, 16)
    section = section_of(builder)
    assert section.entry_at(fde).low == 0x1000
    assert section.cie_at(cie).offset == cie
    for offset in (fde, -1, len(builder.data), 1 << 70):
        assert raised(IllFormed, section.cie_at, offset).kind == "bad_cie"
    raised(DwarfGpuError, section.entry_at, len(builder.data))


def test_an_error_is_the_same_every_time():
    builder = FrameBuilder()
    cie = builder.cie(version=9)
    section = section_of(builder)
    messages = set()
    for _ in range(3):
        messages.add(str(raised(IllFormed, section.cie_at, cie)))
    assert len(messages) == 1


@every(kind=KINDS, wide=[False, True])
def test_only_an_entry_can_be_a_cie(kind, wide):
    """What looks like one in the middle of another entry is none."""
    inner = FrameBuilder(kind, wide=wide)
    inner.cie("def_cfa 7 8")
    builder = FrameBuilder(kind, wide=wide)
    outer = builder.cie(bytes(8) + inner.data)
    hidden = builder.data.index(inner.data, 8)
    builder.fde(outer, 0x1000, 16)
    builder.fde(hidden, 0x2000, 16)
    builder.data += bytes(4)
    builder.fde(builder.cie(), 0x3000, 16)
    found = entries(builder)
    assert [getattr(entry, "kind", getattr(entry, "low", None)) for entry in found] == [
        None, 0x1000, "bad_cie", None, None, 0x3000]  # fmt: skip


def test_a_cie_before_the_section_is_no_negative_offset():
    """The pointer of an FDE in .eh_frame is a distance backwards, which may lead before the start."""
    section = FrameSection(struct.pack("<IIQQ", 20, 0xFFFFFFFB, 0, 0), ".eh_frame")
    error = raised(IllFormed, section.entry_at, 0)
    assert "its CIE would begin 0xfffffff7 bytes before the section" in str(error)
    assert str(error.where) == ".eh_frame+0x0"
    assert "-0x" not in str(error)
