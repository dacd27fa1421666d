"""Lists with one defect each."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.builders.dwarf import die
from tests.builders.hostile import CODE, SIZE, gpu, named, typed
from tests.builders.lists import contribution, loclist, rnglist
from tests.builders.seeds import Seed

V0 = "908014"
"""DW_OP_regx v0"""


def locations(rule: str, name: str, data: bytes, offset: int = 12) -> Seed:
    """A variable whose location list has a defect."""
    entry = die("variable", named("a"), typed("int"), ("location", "sec_offset", offset))
    sections = {".debug_loclists": contribution(data, count=0)}
    return Seed(rule, f"locations: {name}", partial(gpu, entry, sections=sections))


def ranges(rule: str, name: str, data: bytes, offset: int = 12) -> Seed:
    """A block whose range list has a defect."""
    entry = die("lexical_block", ("ranges", "sec_offset", offset))
    sections = {".debug_rnglists": contribution(data, count=0)}
    return Seed(rule, f"ranges: {name}", partial(gpu, entry, sections=sections))


def at(low: int, high: int, code: str = V0) -> Any:
    return ("start_end", CODE + low, CODE + high, code)


SEEDS = (
    locations("list-truncated", "no end", loclist(at(0, 8))),
    locations("list-truncated", "an address cut short", loclist(at(0, 8)) + b"\x07\x00"),
    locations("list-truncated", "an expression cut short", b"\x05\x09\x30"),
    locations("list-bad-offset", "behind the section", loclist(at(0, 8), "end_of_list"), 0x1000),
    locations("list-unknown-entry-kind", "of kind 0x44", b"\x44" + loclist("end_of_list")),
    locations("list-reversed", "the end before the start", loclist(at(8, 0), "end_of_list")),
    locations("list-reversed", "by offsets", loclist(("offset_pair", 8, 4, V0), "end_of_list")),
    locations(
        "list-default-twice", "two of them", loclist(("default_location", V0), ("default_location", V0), "end_of_list")
    ),
    locations("list-address-index", "without a table", loclist(("startx_length", 7, 4, V0), "end_of_list")),
    locations(
        "list-address-index",
        "a base without a table",
        loclist(("base_addressx", 9), ("offset_pair", 0, 4, V0), "end_of_list"),
    ),
    locations("expression-stack-underflow", "in an entry", loclist(at(0, 8, "22"), "end_of_list")),
    locations(
        "expression-register-unavailable", "in the second entry", loclist(at(0, 8), at(8, 16, "50"), "end_of_list")
    ),
    ranges(
        "list-overlap",
        "two of a block",
        rnglist(("start_length", CODE, 16), ("start_length", CODE + 8, 16), "end_of_list"),
    ),
    ranges("list-overlap", "one twice", rnglist(("start_length", CODE, 16), ("start_length", CODE, 16), "end_of_list")),
    ranges("entry-range-outside", "of a block", rnglist(("start_length", CODE + SIZE, 4), "end_of_list")),
)
