"""The entries of call frame information, and what the augmentation string says about them.

The augmentation string says what else an entry holds. Strings in the form that A.6.4.1 recommends,
``[vendor:v1.2:options]``, add no fields, so entries with them can be read by those who do not know the vendor. The
letters of GNU can be read, and letters after a ``z`` that are not known can be skipped. With any other string, only
what A.6.4.1 lists can be read: length, id, version and augmentation of a CIE; length, CIE and addresses of an FDE.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from attrs import evolve, frozen

from dwarfgpu.dwarf_constants import DW_EH_PE_omit
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.frame_format import FrameFormat
from dwarfgpu.encoding.pointers import Pointer, read_pointer, read_size
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.objfile.entries.pc_ranges import is_dead
from dwarfgpu.objfile.source import decode

SPEC = "A.6.4.1"
_VENDORS = re.compile(r"(?:\[[^\]]*\])*")
_GNU = re.compile(r"(eh)?(z?[^\[\]]*)")


@frozen
class Cie:
    """A common information entry."""

    section: str
    offset: int
    end: int
    """Where the next entry begins."""
    offset_size: int
    """4 in the 32-bit format, 8 in the 64-bit format."""
    version: int
    augmentation: str
    format: FrameFormat | None = None
    """None if the augmentation is unknown: then nothing below could be read either."""
    return_address: int | None = None
    """The column of the return address (return_address_register)."""
    augmentation_data: bytes | None = None
    personality: Pointer | None = None
    lsda_encoding: int = DW_EH_PE_omit
    is_signal_frame: bool = False
    """Whether its frames are those of signal handlers' callers, in which execution is at the address itself."""
    unknown: str = ""
    """The letters of the augmentation that are not known."""
    instructions: bytes = b""
    instructions_offset: int = 0


@frozen
class Fde:
    """A frame description entry: what applies to a range of addresses."""

    section: str
    offset: int
    end: int
    """Where the next entry begins."""
    cie: Cie
    low: int
    """The first address (initial_location)."""
    high: int
    """The address after the last one: initial_location + address_range."""
    format: FrameFormat | None = None
    """The format of the CIE, with the address of the function; None if the augmentation of the CIE is unknown."""
    segment: int | None = None
    augmentation_data: bytes | None = None
    lsda: Pointer | None = None
    """Where the language-specific data for exceptions is."""
    instructions: bytes = b""
    instructions_offset: int = 0

    def covers(self, address: int) -> bool:
        return self.low <= address < self.high


@frozen
class Terminator:
    """A length of zero: the end of ``.eh_frame`` for a runtime that walks it, padding elsewhere."""

    section: str
    offset: int
    end: int


Entry: TypeAlias = "Cie | Fde | Terminator"


# --- Parts of entries -----------------------------------------------------------------------------------------------


def read_string(cursor: Cursor) -> str:
    """Read an augmentation string."""
    end = cursor.data.find(b"\0", cursor.position, cursor.end)
    if end < 0:
        raise cursor.fail("truncated", "the augmentation string has no end", SPEC)
    text = cursor.bytes(end - cursor.position)
    cursor.bytes(1)
    return decode(text)


def gnu_letters(augmentation: str) -> str | None:
    """Return the letters of GNU in an augmentation string.

    Return None if there are others and no ``z`` by which to skip them.
    """
    match = _GNU.match(augmentation)
    if match is None or not _VENDORS.fullmatch(augmentation, match.end()):
        return None
    letters = match[2]
    if letters.startswith("z") or not letters.strip("PLRSBG"):
        return match[0]
    return None


def read_augmentation_data(cursor: Cursor) -> bytes:
    """Read the data that follow their size, if the augmentation begins with ``z``."""
    start = cursor.position
    size = cursor.uleb()
    if size > cursor.remaining:
        message = f"augmentation data of {size} bytes is longer than the {cursor.remaining} left"
        error = IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1")
        raise error.at(section=cursor.section, offset=start)
    return cursor.bytes(size)


def with_augmentation(cie: Cie, letters: str, cursor: Cursor) -> Cie:
    """Return a CIE with what its augmentation says. The letters have the order of their data (LSB 5.0, 10.6.1.1.1)."""
    data = None
    inner = cursor
    if letters.startswith("z"):
        data = read_augmentation_data(cursor)
        inner = Cursor(
            cursor.data,
            cursor.position - len(data),
            cursor.position,
            byte_order=cursor.byte_order,
            error=IllFormed,
            section=cursor.section,
        )
        letters = letters[1:]
    frame_format = cie.format or FrameFormat()
    personality, lsda, signal, unknown = None, DW_EH_PE_omit, False, ""
    try:
        for i, letter in enumerate(letters):
            if letter == "R":
                frame_format = evolve(frame_format, pointers=inner.unsigned(1))
            elif letter == "L":
                lsda = inner.unsigned(1)
            elif letter == "P":
                encoding = inner.unsigned(1)
                if encoding != DW_EH_PE_omit:
                    personality = read_pointer(inner, encoding, frame_format.form, frame_format.bases)
            elif letter == "S":
                signal = True
            elif letter not in "BG":  # B and G say how AArch64 signs and tags, and have no data
                unknown = letters[i:]
                break
        if "R" in unknown:
            message = f"the encoding of locations follows the unknown augmentation letter {unknown[0]!r}"
            raise IllFormed("bad_augmentation", message, spec=SPEC)
    except DwarfGpuError as error:
        if error.kind != "truncated":
            raise
        message = f"the augmentation {cie.augmentation!r} needs more data than the {len(data or b'')} bytes there are"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1") from None
    return evolve(
        cie,
        format=frame_format,
        augmentation_data=data,
        personality=personality,
        lsda_encoding=lsda,
        is_signal_frame=signal,
        unknown=unknown,
        instructions=cursor.data[cursor.position : cursor.end],
        instructions_offset=cursor.position,
    )


def read_range(cursor: Cursor, frame_format: FrameFormat) -> tuple[int, int]:
    """Read the addresses of an FDE: none if a linker has put a tombstone for code that it dropped."""
    encoding, form = frame_format.pointers, frame_format.form
    start = cursor.position
    if encoding == DW_EH_PE_omit:
        message = "the augmentation omits the location of the entry"
        raise IllFormed("bad_augmentation", message, spec=SPEC)
    pointer = read_pointer(cursor, encoding, form, frame_format.bases)
    if pointer.indirect:
        message = f"the location of the entry is in memory at {pointer.address:#x}, not in the file"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    size = read_size(cursor, encoding, form)
    if is_dead(pointer.address, form.address_size):
        return pointer.address, pointer.address
    if size < 0 or pointer.address + size > 1 << 8 * form.address_size:
        message = f"the range of {size:#x} bytes from {pointer.address:#x} goes past the last address"
        raise cursor.fail("overflow", message, SPEC, start)
    return pointer.address, pointer.address + size


def read_lsda(cie: Cie, frame_format: FrameFormat, cursor: Cursor) -> Pointer | None:
    """Read the pointer to language-specific data of an FDE."""
    if cie.lsda_encoding == DW_EH_PE_omit or (cie.augmentation_data is not None and not cursor.remaining):
        return None
    try:
        pointer = read_pointer(cursor, cie.lsda_encoding, frame_format.form, frame_format.bases)
    except DwarfGpuError as error:
        message = f"the pointer to language-specific data cannot be read: {error.message}"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.2") from None
    return None if pointer.is_null else pointer
