"""The quick readers of lists against the exact ones: they give the same, or nothing."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.list_encoding import ListContext, read_list
from dwarfgpu.objfile.quick_lists import quick_locations, quick_ranges
from dwarfgpu.program.code.code_object import opened
from tests.builders.lists import loclist, rnglist
from tests.builders.parameters import every, for_each

ADDRESSES = (0x1000, 0x2000, 0xFFFFFFFF, 0)


def context(size=8, order="little", base=0x400):
    return ListContext(size, order, base, lambda index: ADDRESSES[index] if index < len(ADDRESSES) else missing(index))


def missing(index):
    raise DwarfGpuError("index_out_of_range", f"there is no address {index}")


def agree_on_ranges(data, where, addresses, offset=0):
    quick = quick_ranges(data, offset, where, addresses)
    if quick is not None:
        whole = read_list(data, offset, section=".debug_rnglists", context=where)
        assert whole.error is None
        assert list(zip(*quick, strict=True)) == whole.spans()
    return quick


def agree_on_locations(data, where, addresses, offset=0):
    quick = quick_locations(data, offset, where, addresses)
    if quick is not None:
        whole = read_list(data, offset, section=".debug_loclists", context=where)
        assert whole.error is None
        assert [(0 if high < 0 else low, high < 0, expression) for low, high, expression in quick] == [
            (entry.start, entry.default, entry.expression) for entry in whole.entries
        ]
        assert [high for _low, high, _expression in quick if high >= 0] == [
            entry.end for entry in whole.entries if not entry.default
        ]
    return quick


@every(order=["little", "big"], size=[4, 8])
def test_every_kind_of_entry(size, order):
    entries = [
        ("offset_pair", 0x10, 0x20),         ("offset_pair", 0x123, 0x4567),      ("offset_pair", 0x12345, 0x1234567),
        ("base_addressx", 1),                ("offset_pair", 0, 0x200000),        ("base_address", 0x8000),
        ("offset_pair", 4, 8),               ("startx_endx", 0, 1),               ("startx_length", 0, 200),
        ("start_end", 0x10, 0x300),          ("start_length", 0x10, 0x300),       ("offset_pair", 4, 4)]  # fmt: skip
    where = context(size, order)
    assert agree_on_ranges(rnglist(*entries, ("end_of_list",), size=size, order=order), where, ADDRESSES)
    located = [(*entry, "50") if "base" not in entry[0] else entry for entry in entries]
    located.append(("default_location", "3031329f" * 50))
    assert agree_on_locations(loclist(*located, ("end_of_list",), size=size, order=order), where, ADDRESSES)


@for_each("entry",
    ("start_end", 0x20, 0x10),
    ("start_length", (1 << 64) - 1, 0x10),  # of a function that a linker has dropped
    ("startx_length", 9, 1),
    ("start_length", (1 << 64) - 8, 0x10))  # fmt: skip
def test_what_is_unusual_is_left_to_the_exact_readers(entry):
    assert quick_ranges(rnglist(entry, ("end_of_list",)), 0, context(), ADDRESSES) is None
    assert quick_locations(loclist((*entry, "50"), ("end_of_list",)), 0, context(), ADDRESSES) is None


@for_each("data", b"", b"\x04", b"\x04\x01", b"\x06\x00\x00", b"\x09\x00", b"\x04\xff\xff\xff", b"\x01")
def test_the_end_of_the_section(data):
    assert quick_ranges(data, 0, context(), ()) is None
    assert quick_locations(data, 0, context(), ()) is None


@given(st.binary(max_size=60), st.sampled_from([4, 8]), st.sampled_from([None, 0, 0x400, (1 << 32) - 1]))
def test_any_bytes(data, size, base):
    agree_on_ranges(data + b"\0", context(size, "little", base), ADDRESSES)
    agree_on_locations(data + b"\0", context(size, "little", base), ADDRESSES)


@for_each("name",
    "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "host/optimized.gcc.O2.v5.x86_64", "asm/lists.gfx90a.w64.co",
     "asm/lists.powerpc", "features/split.v5.co")  # fmt: skip
def test_lists_of_compilers(name):
    dwarf = opened(str(Path("fixtures") / name)).dwarf
    count = 0
    for unit in dwarf.compile_units():
        if unit.version < 5:
            continue
        try:
            addresses = unit.tables.addresses
        except DwarfGpuError:
            addresses = ()
        for die in unit.dies():
            for number, kind, agree in (
                (dw.DW_AT_location, "loclist", agree_on_locations),
                (dw.DW_AT_ranges, "rnglist", agree_on_ranges),
            ):
                attribute = die.number(number)
                if attribute is None or attribute.value_class != kind:
                    continue
                try:
                    section, offset = attribute.list_place()
                except DwarfGpuError:
                    continue
                data = unit.tables.list_data(section)
                count += agree(data, unit.list_context, addresses, offset) is not None
    assert count
