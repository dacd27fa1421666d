import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject
from tests.builders.dwarf import build, die, unit
from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.hostile import CODE, GFX90A, INT, SIZE, gpu, named, typed
from tests.builders.indexes import Names, aranges
from tests.builders.lists import contribution, rnglist
from tests.builders.seeds import Seed

SUBPROGRAM, VARIABLE, TYPE = 0x2E, 0x34, 0x24
OF_ONE = {1: (SUBPROGRAM, (3, "ref4")), 2: (TYPE, (3, "ref4"))}
OF_SEVERAL = {1: (SUBPROGRAM, (1, "data1"), (3, "ref4")), 2: (TYPE, (1, "data1"), (3, "ref4"))}
BUCKETS, HASHES, STRINGS, ENTRIES = 52, 56, 68, 80
"""Where the columns of an index of three names begin."""


@cache
def places() -> dict[str, int]:
    """The offsets of the entries of the kernel, from the header of the unit."""
    (only,) = CodeObject(open_image(gpu(), name="places")).dwarf.units
    return {die.name or "": die.offset for die in only.dies()} | {"": only.header.end - only.offset}


def two_units(extra: dict[str, bytes]) -> bytes:
    """Two units of 16 bytes of code each, and other sections."""
    roots = [
        die("compile_unit", named(name), ("low_pc", "addr", CODE + low), ("high_pc", "data4", 16), die(
            "subprogram", named(name[0]), ("low_pc", "addr", CODE + low), ("high_pc", "data4", 16)))
        for name, low in (("a.c", 0), ("b.c", 16))
    ]  # fmt: skip
    return file_of(build(*map(unit, roots), extra=extra).sections)


def file_of(sections: dict[str, bytes]) -> bytes:
    """A code object with some code and these sections."""
    elf = ElfBuilder(flags=GFX90A)
    text = elf.section(".text", bytes(SIZE), flags=SHF_ALLOC | 4, address=CODE, align=16)
    for name, data in sections.items():
        elf.section(name, data)
    elf.symbols([("k", CODE, SIZE, 2, 1, text)])
    elf.segment(1, CODE, text, flags=5)
    return elf.build()


def index(
    change: Callable[[bytearray], None] | None = None,
    *,
    abbreviations: dict[int, Any] = OF_ONE,
    add: dict[str, Any] | None = None,
    leave: tuple[str, ...] = (),
    units: tuple[int, ...] = (0,),
    locals: tuple[Any, ...] = (),
) -> bytes:
    """A kernel with an index of its names, which may be changed."""
    lead = [0] * (len(abbreviations[1]) - 2)
    at = places()
    rows = {"k": [(1, [*lead, at["k"]])], "int": [(2, [*lead, at["int"]])], "char": [(2, [*lead, at["char"]])]}
    for name, entries in (add or {}).items():
        rows[name] = [(code, [*values[:-1], at.get(values[-1], values[-1])]) for code, values in entries]
    made = Names(abbreviations, {name: row for name, row in rows.items() if name not in leave}, units=units)
    data = bytearray(made.data)
    if change is not None:
        change(data)
    return gpu(*locals, extra={".debug_names": bytes(data), ".debug_str": bytes(made.strings)})


def put(position: int, layout: str, value: int) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        struct.pack_into(f"<{layout}", data, position, value)

    return change


def names(rule: str, name: str, *change: Callable[[bytearray], None], **how: Any) -> Seed:
    return Seed(f"index-names-{rule}", name, partial(index, *change, **how))


def another(step: int) -> Callable[[], bytes]:
    return lambda: index(add={"x": [(1, [places()["k"] + step])]})


def with_parent(parent: int) -> Callable[[], bytes]:
    """An index in which the kernel has a parent."""
    abbreviations = {1: (SUBPROGRAM, (4, "ref4"), (3, "ref4")), 2: (TYPE, (3, "ref4"))}
    at = places()

    def make() -> bytes:
        made = Names(
            abbreviations, {"k": [(1, [parent, at["k"]])], "int": [(2, [at["int"]])], "char": [(2, [at["char"]])]}
        )
        return gpu(extra={".debug_names": made.data, ".debug_str": bytes(made.strings)})

    return make


def of_several(unit_index: int) -> Callable[[], bytes]:
    """An index with the unit of each entry."""

    def make() -> bytes:
        at = places()
        rows = {"k": [(1, [unit_index, at["k"]])], "int": [(2, [0, at["int"]])], "char": [(2, [0, at["char"]])]}
        made = Names(OF_SEVERAL, rows)
        return gpu(extra={".debug_names": made.data, ".debug_str": bytes(made.strings)})

    return make


def of_first_unit(*, both: bool = False) -> bytes:
    """Two units, one of which has its names in the index; the other one may be in it without names."""
    (first, second) = CodeObject(open_image(two_units({}), name="places")).dwarf.units
    units = (0, second.offset) if both else (0,)
    made = Names(OF_ONE, {"a": [(1, [next(die.offset for die in first.dies() if die.name == "a")])]}, units=units)
    return two_units({".debug_names": made.data, ".debug_str": bytes(made.strings)})


STATIC = die("variable", named("static"), typed("int"), ("location", "exprloc", b"\x03" + bytes(8)))
NAMES = (
    names("unreadable", "longer than its section", put(0, "I", 0x1000)),
    names("unreadable", "more names than bytes", put(24, "I", 0x10000)),
    names("unreadable", "abbreviations past the end", put(28, "I", 0x10000)),
    names("version", "4", put(4, "H", 4)),
    names("unit", "no unit", abbreviations=OF_SEVERAL, units=(0, 0x999)),
    names("unit", "twice", abbreviations=OF_SEVERAL, units=(0, 0)),
    Seed("index-names-unit", "of an entry", of_several(5)),
    Seed("index-names-missing-unit", "the second", of_first_unit),
    names("bucket", "leads behind the names", put(BUCKETS, "I", 9)),
    names("bucket", "leads to the second name", put(BUCKETS, "I", 2)),
    names("bucket", "empty", put(BUCKETS, "I", 0)),
    names("hash", "of the first name", put(HASHES, "I", 0x12345678)),
    names("hash", "of the last name", put(HASHES + 8, "I", 0)),
    names("string", "behind .debug_str", put(STRINGS, "I", 0xFFFF)),
    names("abbreviation", "without an offset", abbreviations={**OF_ONE, 3: (VARIABLE, (5, "data8"))},
          add={"x": [(3, [1])]}),
    names("abbreviation", "an attribute twice", abbreviations={**OF_ONE, 3: (VARIABLE, (3, "ref4"), (3, "ref4"))}),
    names("abbreviation", "unknown", put(-18, "B", 9)),
    Seed("index-names-abbreviation", "without a unit of two", partial(of_first_unit, both=True)),
    names("form", "an offset of data4", abbreviations={**OF_ONE, 1: (SUBPROGRAM, (3, "data4"))}),
    names("form", "a unit by reference", abbreviations={1: (SUBPROGRAM, (1, "ref4"), (3, "ref4")),
                                                        2: (TYPE, (1, "data1"), (3, "ref4"))}),
    names("form", "a hash of 4 bytes", abbreviations={**OF_ONE, 3: (VARIABLE, (3, "ref4"), (5, "data4"))}),
    names("entry", "behind the index", put(ENTRIES, "I", 0xFFFF)),
    names("entry", "a name without one", add={"x": []}),      Seed("index-names-die", "one byte behind", another(1)),
    Seed("index-names-die", "behind the unit", another(0x1000)),
    names("tag", "of the kernel", abbreviations={**OF_ONE, 1: (VARIABLE, (3, "ref4"))}),
    names("name", "of another entry", add={"x": [(1, ["k"])]}),
    names("name", "the prefix of it", add={"in": [(2, ["int"])]}),
    Seed("index-names-parent", "itself", with_parent(0)),     Seed("index-names-parent", "no entry", with_parent(77)),
    names("missing", "the kernel", leave=("k",)),             names("missing", "a type", leave=("char",)),
    names("missing", "a static variable", locals=(STATIC,)))  # fmt: skip


def sets(rule: str, name: str, *data: bytes, of_two: bool = False) -> Seed:
    extra = {".debug_aranges": b"".join(data)}
    return Seed(f"index-aranges-{rule}", name, partial(two_units, extra) if of_two else partial(gpu, extra=extra))


def changed(position: int, layout: str, value: int) -> bytes:
    data = bytearray(aranges((CODE, SIZE)))
    struct.pack_into(f"<{layout}", data, position, value)
    return bytes(data)


WHOLE = aranges((CODE, SIZE))
SETS = (
    sets("unreadable", "longer than its section", changed(0, "I", 0x1000)),
    sets("unreadable", "a reserved length", changed(0, "I", 0xFFFFFFF3)),
    sets("unreadable", "a header cut short", WHOLE[:9]),      sets("version", "3", changed(4, "H", 3)),
    sets("version", "5", changed(4, "H", 5)),                 sets("unit", "no unit", changed(6, "I", 0x99)),
    sets("unit", "twice", WHOLE, WHOLE),
    sets("address-size", "4 bytes", aranges((CODE, SIZE), address_size=4)),
    sets("address-size", "3 bytes", changed(10, "B", 3)),
    sets("segment-size", "4 bytes", aranges((CODE, SIZE), segment_size=4)),
    sets("segment-size", "3 bytes", changed(11, "B", 3)),
    sets("end", "no zeros", struct.pack("<I", 28) + WHOLE[4:32]),
    sets("end", "zeros too early", aranges((0, 0), (CODE, SIZE))),
    sets("missing", "half of the code", aranges((CODE, SIZE // 2))),
    Seed("index-aranges-range", "of no unit", lambda: of_units((CODE, 16), (CODE + 64, 16))),
    sets("overlap", "one twice", aranges((CODE, SIZE), (CODE, SIZE))),
    sets("overlap", "a part twice", aranges((CODE, SIZE), (CODE + 8, 8))),
    sets("missing-unit", "the second of two", aranges((CODE, 16)), of_two=True))  # fmt: skip


def of_units(*first: tuple[int, int]) -> bytes:
    (_, second) = CodeObject(open_image(two_units({}), name="places")).dwarf.units
    return two_units({".debug_aranges": aranges(*first) + aranges((CODE + 16, 16), unit=second.offset)})


def public(
    section: str,
    *,
    step: int = 0,
    version: int = 2,
    unit_offset: int = 0,
    size: int = 0,
    end: bytes = b"\0" * 4,
    more: int = 0,
    count: int = 1,
) -> bytes:
    """A kernel with public names, one of which is the kernel."""
    at = places()
    flag = b"\x30" if "gnu" in section else b""
    body = struct.pack("<HIII", version, unit_offset, at[""] + size, at["k"] + step) + flag + b"k\0" + end
    return gpu(extra={section: count * (struct.pack("<I", len(body) + more) + body)})


def names_of_unit(rule: str, name: str, section: str = ".debug_pubnames", **how: Any) -> Seed:
    return Seed(f"index-public-{rule}", name, partial(public, section, **how))


PUBLIC = (
    names_of_unit("unreadable", "longer than its section", more=0x1000),
    names_of_unit("unreadable", "version 3", version=3),      names_of_unit("unreadable", "no end", end=b""),
    names_of_unit("unit", "no unit", unit_offset=0x99),       names_of_unit("unit", "of another size", size=4),
    Seed("index-public-unit", "two sets of a unit", lambda: public(".debug_pubnames", count=2)),
    names_of_unit("die", "a byte behind", step=1),            names_of_unit("die", "a type", ".debug_pubtypes", step=2),
    names_of_unit("die", "with a flag", ".debug_gnu_pubnames", step=1),
    names_of_unit("die", "a type with a flag", ".debug_gnu_pubtypes", step=0x1000))  # fmt: skip
UNUSED = b"\x63\x34"
"""The beginning of an abbreviation that no entry has: the code 99 of a variable."""


def root(*attributes: Any) -> Any:
    function = die("subprogram", named("k"), ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE))
    code = ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE)
    return die("compile_unit", named("k.c"), *code, *attributes, INT, function)


def with_change(section: str, change: Callable[[bytes], bytes], *attributes: Any) -> bytes:
    sections = build(unit(root(*attributes))).sections
    return file_of({**sections, section: change(sections.get(section, b""))})


def tables(rule: str, name: str, section: str, change: Callable[[bytes], bytes], *attributes: Any) -> Seed:
    return Seed(f"table-{rule}", name, partial(with_change, section, change, *attributes))


def behind(data: bytes) -> Callable[[bytes], bytes]:
    return lambda section: section + data


def abbreviation(rule: str, name: str, data: bytes) -> Seed:
    return tables(f"abbreviation-{rule}", name, ".debug_abbrev", lambda section: section[:-1] + data)


def header(length: int, version: int, *rest: int, data: bytes = b"") -> Callable[[bytes], bytes]:
    """A table of strings or addresses in place of a section; the length is that of the data and some bytes."""
    return lambda _section: struct.pack("<IHBB", 4 + len(data) + length, version, *(rest or (0, 0))) + data


def strings(rule: str, name: str, change: Callable[[bytes], bytes], base: int = 8) -> Seed:
    return tables(f"strings-{rule}", name, ".debug_str_offsets", change, ("str_offsets_base", "sec_offset", base))


def addresses(rule: str, name: str, change: Callable[[bytes], bytes], base: int = 8) -> Seed:
    return tables(f"addresses-{rule}", name, ".debug_addr", change, ("addr_base", "sec_offset", base))


def lists(rule: str, name: str, data: bytes, section: str = ".debug_loclists") -> Seed:
    return tables(f"lists-{rule}", name, section, lambda _section: data)


def offsets(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


ADDRESS = struct.pack("<Q", CODE)
ENDED = rnglist("end_of_list")
TABLES = (
    tables("unit-length", "bytes behind the last unit", ".debug_info", behind(b"\1\2")),
    tables("unit-length", "zeros behind the last unit", ".debug_info", behind(bytes(8))),
    tables("unit-length", "longer than its section", ".debug_info", behind(struct.pack("<IHBBI", 0x1000, 5, 1, 8, 0))),
    abbreviation("twice", "the first code", b"\1\x34\0\0\0\0"),
    abbreviation("twice", "an unused code", 2 * (UNUSED + b"\0\0\0") + b"\0"),
    abbreviation("children", "2", UNUSED + b"\2\0\0\0"),
    abbreviation("children", "255", UNUSED + b"\xff\3\x08\0\0\0"),
    abbreviation("tag", "0", b"\x63\0\0\3\x08\0\0\0"),        abbreviation("form", "0x7f", UNUSED + b"\0\3\x7f\0\0\0"),
    abbreviation("form", "of a vendor", UNUSED + b"\0\3\x99\x3e\0\0\0"),
    abbreviation("end", "no null entry", b""),
    abbreviation("unreadable", "an attribute without a form", UNUSED + b"\0\3\0\0\0\0"),
    abbreviation("unreadable", "cut short", UNUSED),
    strings("length", "longer than its section", header(0x1000, 5)),
    strings("length", "half an offset", header(0, 5, data=bytes(6))),
    strings("length", "a header cut short", lambda _section: b"\4\0\0\0\5\0", base=8),
    strings("version", "4", header(0, 4, data=bytes(4))),
    strings("base", "into the header", header(0, 5, data=bytes(8)), base=4),
    strings("base", "the second offset", header(0, 5, data=bytes(8)), base=12),
    strings("offset", "behind .debug_str", header(0, 5, data=struct.pack("<I", 0xFFFF))),
    addresses("length", "longer than its section", header(0x1000, 5, 8, 0)),
    addresses("length", "half an address", header(0, 5, 8, 0, data=bytes(12))),
    addresses("version", "4", header(0, 4, 8, 0, data=ADDRESS)),
    addresses("size", "4 bytes", header(0, 5, 4, 0, data=ADDRESS)),
    addresses("size", "3 bytes", header(0, 5, 3, 0, data=ADDRESS)),
    addresses("segment-size", "4 bytes", header(0, 5, 8, 4, data=ADDRESS)),
    addresses("base", "into the header", header(0, 5, 8, 0, data=ADDRESS), base=4),
    addresses("base", "the second address", header(0, 5, 8, 0, data=ADDRESS * 2), base=16),
    lists("length", "longer than its section", contribution(ENDED, count=0, length=0x1000)),
    lists("length", "a byte too short", contribution(b"\0\5", count=0, length=9)),
    lists("length", "a header cut short", contribution(b"", count=0, length=6)),
    lists("version", "4", contribution(ENDED, count=0, version=4)),
    lists("version", "4 of ranges", contribution(ENDED, count=0, version=4), ".debug_rnglists"),
    lists("size", "4 bytes", contribution(ENDED, count=0, size=4)),
    lists("size", "4 bytes of the second table", contribution(ENDED, count=0) + contribution(ENDED, count=0, size=4)),
    lists("segment-size", "4 bytes", contribution(ENDED, count=0, segment=4)),
    lists("offsets", "more than there is room for", contribution(ENDED, count=1)),
    lists("offsets", "to an offset", contribution(offsets(8, 4) + ENDED, count=2)),
    lists("offsets", "behind the table", contribution(offsets(9) + ENDED, count=1), ".debug_rnglists"),
    lists("offsets", "of 8 bytes", contribution(struct.pack("<Q", 9) + ENDED, count=1, wide=True)))  # fmt: skip
SEEDS = (*NAMES, *SETS, *PUBLIC, *TABLES)
