"""How `tools/fuzz.py` damages files: at random, but in places that matter and in ways that readers have failed at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fuzz_files import Edit, Original, Region

from dwarfgpu.objfile.info.forms import FORMS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

BLOCK = 256
"""How many bytes an edit copies at most: recipes stay short enough to be copied themselves."""
GROWN = 1 << 16
"""How large a section grows when a block is repeated in it."""
READ = re.compile(
    r"ELF|section headers|bundle|headers in|abbreviations|\.z?debug|\.note|\.rodata|\.symtab|\.rela?\.debug"
)
"""Kinds of regions that a reader of debug information depends on; they are damaged more often than others."""
NUMBERS = (0, 1, 2, 3, 4, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFEF, 0xFFFFFFF0, 0xFFFFFFFE,
           0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF)  # fmt: skip


def mutate(original: Original, kind: str, numbers: random.Random) -> list[Edit]:
    """Return some edits, mostly one or a few, sometimes many; the first in a region of a kind."""
    content = {"": bytearray(original.data)}
    content.update((name, bytearray(each.data)) for name, each in original.layers.items())
    edits: list[Edit] = []
    for number in range(numbers.choice((1, 1, 1, 1, 2, 2, 3, 4, 8, 16))):
        if number:  # where the one before was, or anywhere
            kind = numbers.choice((kind, any_kind(original.regions, numbers)))
        region = numbers.choice(original.regions[kind])
        data = content[region.layer]
        start = min(region.start, max(0, len(data) - 1))
        region = region._replace(start=start, end=max(start, min(region.end, len(data))))
        change = numbers.choices(_CHANGES, _WEIGHTS)[0]
        if region.has_forms and numbers.random() < 0.5:
            change = _form
        edit = change(data, region, original.byte_order, numbers)
        fixed = _with_length(original, edit) if numbers.random() < 0.7 else []
        for each in (edit, *fixed):
            each.apply(data)
            edits.append(each)
    return edits


def any_kind(kinds: Iterable[str], numbers: random.Random) -> str:
    """Return one of some kinds of regions."""
    known = list(kinds)
    return numbers.choices(known, [5 if READ.match(kind) else 1 for kind in known])[0]


def _with_length(original: Original, edit: Edit) -> list[Edit]:
    """Return the edit of a length that makes it right again, where a contribution has grown or become smaller."""
    growth = len(edit.new) * edit.times - (edit.end - edit.start)
    for start, end, size in original.contributions.get(edit.layer, ()) if growth else ():
        if start + size <= edit.start <= end:
            length = max(0, end - start - size + growth)
            width = 4 if size == 4 else 8  # behind the four bytes that say so
            place = start + size - width
            return [Edit(edit.layer, place, place + width, length.to_bytes(width, original.byte_order))]
    return []


# --- Single changes -----------------------------------------------------------------------------------------------


def _place(region: Region, size: int, numbers: random.Random) -> int:
    """Return a place for some bytes in a region, often a multiple of their size from its beginning."""
    place = numbers.randrange(max(1, region.end - region.start - size + 1))
    return region.start + (place - place % size if numbers.random() < 0.5 else place)


def _flip(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another bit."""
    at = _place(region, 1, numbers)
    old = data[at] if at < len(data) else 0
    return Edit(region.layer, at, at + 1, bytes([old ^ 1 << numbers.randrange(8)]))


def _byte(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another byte, likely one that means something: forms, tags, operations and kinds of entries are small."""
    at = _place(region, 1, numbers)
    new = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, *range(0x30), *range(0, 256, 4)))
    return Edit(region.layer, at, at + 1, bytes([new]))


def _form(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another form, or what happens to have the number of one."""
    at = _place(region, 1, numbers)
    return Edit(region.layer, at, at + 1, bytes([numbers.choice([code for code in FORMS if code < 0x80])]))


def _number(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Set an integer to a value at a limit, to the size of something, or to nearly what it was."""
    size = numbers.choice((1, 2, 4, 4, 4, 8, 8))
    at = _place(region, size, numbers)
    old = int.from_bytes(data[at : at + size], byte_order)
    sizes = (len(data), region.end - region.start, region.end, region.end - at)
    near = (*(each - 1 for each in sizes), *(old + step for step in (-8, -4, -1, 1, 4, 8)), 2 * old)
    value = numbers.choice((*NUMBERS, *sizes, *near)) % (1 << 8 * size)
    return Edit(region.layer, at, at + size, value.to_bytes(size, byte_order))


def _run(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Write a run of one byte: zeros, numbers without an end, all ones, entries of one kind."""
    times = numbers.choice((2, 4, 9, 10, 11, 16, 40))
    at = _place(region, times, numbers)
    return Edit(region.layer, at, at + times, bytes([numbers.choice((0, 0x80, 0xFF, numbers.randrange(64)))]), times)


def _copy(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Copy bytes from elsewhere in the region: a plausible number, or a block."""
    size = numbers.choice((1, 2, 4, 4, 8, numbers.randint(1, BLOCK)))
    source, at = _place(region, size, numbers), _place(region, size, numbers)
    new = bytes(data[source : min(source + size, region.end)])
    return Edit(region.layer, at, at + len(new), new)


def _insert(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Insert bytes of the region once more, so that all behind them moves."""
    size = numbers.randint(1, 16)
    at = _place(region, size, numbers)
    return Edit(region.layer, at, at, bytes(data[at : at + size]))


def _repeat(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Write a block of a section over and over: what is slow or takes memory for each of many shows then."""
    size = numbers.choice((1, 2, 3, 4, 8, 16, numbers.randint(1, BLOCK)))
    at = _place(region, size, numbers)
    new = bytes(data[at : at + size])
    return Edit(region.layer, at + len(new), at + len(new), new, GROWN // max(1, len(new)) if region.layer else 1)


def _delete(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Leave out bytes, so that all behind them moves."""
    size = numbers.choice((1, 1, 2, 4, 8, numbers.randint(1, BLOCK)))
    at = _place(region, size, numbers)
    return Edit(region.layer, at, min(at + size, len(data)), b"")


def _truncate(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Cut off the end, at the beginning of the region or somewhere in it."""
    at = numbers.choice((region.start, region.end, _place(region, 1, numbers)))
    return Edit(region.layer, min(at, len(data)), len(data), b"")


_CHANGES = (_flip, _byte, _number, _run, _copy, _insert, _repeat, _delete, _truncate)
_WEIGHTS = (15, 25, 35, 8, 8, 4, 3, 4, 2)
