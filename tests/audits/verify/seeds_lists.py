from functools import partial
from typing import Any

from tests.builders.dwarf import die
from tests.builders.hostile import CODE, SIZE, gpu, named, typed
from tests.builders.lists import contribution, loclist, rnglist
from tests.builders.seeds import Seed

ROCM = "AMD clang version 17.0.0 (https://github.com/RadeonOpenCompute/llvm-project roc-6.0.0)"
"""What writes the numbers of attributes that the text gives."""
V0 = "908014"
"""DW_OP_regx v0"""


def locations(rule: str, name: str, data: bytes, offset: int = 12, producer: str = "hand") -> Seed:
    entry = die("variable", named("a"), typed("int"), ("location", "sec_offset", offset))
    sections = {".debug_loclists": contribution(data, count=0)}
    return Seed(rule, f"locations: {name}", partial(gpu, entry, sections=sections, producer=producer))


def ranges(rule: str, name: str, data: bytes, offset: int = 12) -> Seed:
    entry = die("lexical_block", ("ranges", "sec_offset", offset))
    sections = {".debug_rnglists": contribution(data, count=0)}
    return Seed(rule, f"ranges: {name}", partial(gpu, entry, sections=sections))


def at(low: int, high: int, code: str = V0) -> Any:
    return ("start_end", CODE + low, CODE + high, code)


def indexed(rule: str, name: str, index: int, base: int | None, *, kind: str = "loclist") -> Seed:
    """A list that is named by its index in the table of the unit."""
    if kind == "loclist":
        data = loclist(at(0, 8), "end_of_list")
        entry = die("variable", named("a"), typed("int"), ("location", "loclistx", index))
    else:
        data = rnglist(("start_length", CODE, 16), "end_of_list")
        entry = die("lexical_block", ("ranges", "rnglistx", index))
    bases = () if base is None else ((f"{kind}s_base", "sec_offset", base),)
    sections = {f".debug_{kind}s": contribution((4).to_bytes(4, "little") + data, count=1)}
    return Seed(rule, f"{kind}x: {name}", partial(gpu, entry, unit_attributes=bases, sections=sections))


def baseless(name: str, entry: Any, section: str, data: bytes) -> Seed:
    """A list with offsets in a unit without a base address."""
    sections = {section: contribution(data, count=0)}
    return Seed("list-no-base", name, partial(gpu, entry, has_base=False, sections=sections))


def in_one_place(attribute: str) -> Seed:
    """A list that gives the one place of an attribute of the function two locations."""
    entries = [at(0, 16, "30"), at(8, 24, "30")] if attribute != "frame_base" else [at(0, 16), at(8, 24)]
    sections = {".debug_loclists": contribution(loclist(*entries, "end_of_list"), count=0)}
    attributes = ((attribute, "sec_offset", 12),)
    producer = ROCM if attribute == "LLVM_active_lane" else "hand"
    made = partial(gpu, attributes=attributes, sections=sections, producer=producer)
    return Seed("list-several-locations", attribute, made)


VARIABLE = die("variable", named("a"), typed("int"), ("location", "sec_offset", 12))
BLOCK = die("lexical_block", ("ranges", "sec_offset", 12))
DEFAULT, WHOLE = ("default_location", V0), ("start_length", CODE, 16)
OUTSIDE = {
    "behind the function": at(SIZE - 4, SIZE + 4),
    "in front of it": at(-8, -4),
    "in no section of code": at(0x100000, 0x100010),
    "by a length": ("start_length", CODE + 4, 2 * SIZE, V0),
}
GLOBAL = die("variable", named("a"), typed("int"), ("location", "sec_offset", 12))
SEEDS = (
    *(locations("list-outside", name, loclist(each, "end_of_list")) for name, each in OUTSIDE.items()),
    Seed("list-outside", "locations: outside of functions, and of code",
         partial(gpu, types=(GLOBAL,), sections={".debug_loclists": contribution(
             loclist(at(0, 8), at(0x4000, 0x4010), "end_of_list"), count=0)})),
    indexed("list-bad-index", "behind the table", 7, 12),
    indexed("list-bad-index", "behind the table", 7, 12, kind="rnglist"),
    indexed("list-no-table", "no base", 0, None),
    indexed("list-no-table", "no base", 0, None, kind="rnglist"),
    indexed("list-no-table", "a base behind the section", 0, 0x999),
    indexed("list-no-table", "a base within the header", 0, 3, kind="rnglist"),
    baseless("of locations", VARIABLE, ".debug_loclists", loclist(("offset_pair", 0, 8, V0), "end_of_list")),
    baseless("of ranges", BLOCK, ".debug_rnglists", rnglist(("offset_pair", 0, 8), "end_of_list")),
    *map(in_one_place, ("frame_base", "return_addr", "static_link", "LLVM_lane_pc", "LLVM_active_lane")),
    ranges("list-truncated", "no end", rnglist(("start_length", CODE, 16))),
    ranges("list-unknown-entry-kind", "of kind 0x44", b"\x44" + rnglist("end_of_list")),
    ranges("list-reversed", "by offsets", rnglist(("offset_pair", 8, 4), "end_of_list")),
    ranges("list-address-index", "without a table", rnglist(("startx_length", 7, 4), "end_of_list")),
    locations("list-several-places", "two registers", loclist(at(0, 16), at(8, 24, "908114"), "end_of_list")),
    locations("list-truncated", "no end", loclist(at(0, 8))),
    locations("list-truncated", "an address cut short", loclist(at(0, 8)) + b"\x07\x00"),
    locations("list-truncated", "an expression cut short", b"\x05\x09\x30"),
    locations("list-bad-offset", "behind the section", loclist(at(0, 8), "end_of_list"), 0x1000),
    locations("list-bad-offset", "the header of its table", loclist(at(0, 8), "end_of_list"), 8),
    Seed("list-truncated", "an end behind that of its table",
         partial(gpu, VARIABLE, sections={".debug_loclists": contribution(loclist(at(0, 8)), count=0) + bytes(1)})),
    locations("list-unknown-entry-kind", "of kind 0x44", b"\x44" + loclist("end_of_list")),
    locations("list-reversed", "the end before the start", loclist(at(8, 0), "end_of_list")),
    locations("list-reversed", "by offsets", loclist(("offset_pair", 8, 4, V0), "end_of_list")),
    locations("list-empty", "of a variable", loclist("end_of_list")),
    locations("list-default-twice", "two of them", loclist(DEFAULT, DEFAULT, "end_of_list")),
    locations("list-address-index", "without a table", loclist(("startx_length", 7, 4, V0), "end_of_list")),
    locations("list-address-index", "a base", loclist(("base_addressx", 9), ("offset_pair", 0, 4, V0), "end_of_list")),
    locations("expression-stack-underflow", "in an entry", loclist(at(0, 8, "22"), "end_of_list")),
    locations(
        "expression-register-unavailable", "in the second entry", loclist(at(0, 8), at(8, 16, "50"), "end_of_list")
    ),
    ranges("list-overlap", "two of a block", rnglist(WHOLE, ("start_length", CODE + 8, 16), "end_of_list")),
    ranges("list-overlap", "one twice", rnglist(WHOLE, WHOLE, "end_of_list")),
    ranges("entry-range-outside", "of a block", rnglist(("start_length", CODE + SIZE, 4), "end_of_list")))  # fmt: skip
