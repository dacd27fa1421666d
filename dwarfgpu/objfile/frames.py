"""Call frame information as a file holds it: common information entries and frame description entries.

``.debug_frame`` is DWARF 5 section 6.4.1 and A.6.4.1; ``.eh_frame`` is the same with small differences, which the Linux
Standard Base (10.6) and the ABI of each machine describe. What the instructions mean is no concern of this module: it
finds them, and all that their encoding depends on.

The augmentation string says what else an entry holds. Strings in the form that A.6.4.1 recommends,
``[vendor:v1.2:options]``, add no fields, so entries with them can be read by those who do not know the vendor. The
letters of GNU can be read, and letters behind a ``z`` that are not known can be skipped. With any other string, only
what A.6.4.1 lists can be read: length, id, version and augmentation of a CIE; length, CIE and addresses of an FDE.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.frame_format import FrameFormat
from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import ABSOLUTE, OMIT, Bases, Pointer, read_pointer, read_size
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, Unsupported
from dwarfgpu.objfile.addresses import ADDRESS_SIZES, each_contribution, initial_length
from dwarfgpu.objfile.pc_ranges import is_dead
from dwarfgpu.objfile.source import decode
from dwarfgpu.records import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.encoding.cursor import ByteOrder

EH_FRAME = ".eh_frame"
DEBUG_FRAME = ".debug_frame"
VERSIONS = frozenset((1, 3, 4))
"""Those of .debug_frame in DWARF 2, in DWARF 3, and since DWARF 4; .eh_frame has 1, or 3 from some producers."""

SPEC = "A.6.4.1"
_VENDORS = re.compile(r"(?:\[[^\]]*\])*")
_GNU = re.compile(r"(eh)?(z?[^\[\]]*)")


@record
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
    """None where the augmentation is not known: then nothing below could be read either."""
    return_address: int | None = None
    """The column of the return address (return_address_register)."""
    augmentation_data: bytes | None = None
    personality: Pointer | None = None
    lsda_encoding: int = OMIT
    is_signal_frame: bool = False
    """Whether its frames are those of signal handlers' callers, in which execution stands at the address itself."""
    unknown: str = ""
    """The letters of the augmentation that are not known."""
    instructions: bytes = b""
    instructions_offset: int = 0


@record
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
    """The address behind the last one: initial_location + address_range."""
    format: FrameFormat | None = None
    """That of the CIE, with the address of the function; None where the augmentation of the CIE is not known."""
    segment: int | None = None
    augmentation_data: bytes | None = None
    lsda: Pointer | None = None
    """Where the language-specific data for exceptions is."""
    instructions: bytes = b""
    instructions_offset: int = 0

    def covers(self, address: int) -> bool:
        return self.low <= address < self.high


@record
class Terminator:
    """A length of zero: the end of ``.eh_frame`` for those who run through it, padding elsewhere."""

    section: str
    offset: int
    end: int


Entry: TypeAlias = "Cie | Fde | Terminator"


@record
class _Head:
    """What every entry begins with."""

    offset: int
    end: int
    offset_size: int
    body: int
    """Where what follows the id begins."""
    cie: int | None
    """Where the CIE is; None for one."""


class FrameSection:
    """One ``.debug_frame`` or ``.eh_frame``, whose entries are read when they are asked for."""

    def __init__(
        self,
        data: bytes,
        name: str = DEBUG_FRAME,
        *,
        byte_order: ByteOrder = "little",
        address_size: int = 8,
        bases: Bases = Bases(),  # noqa: B008 (immutable)
    ) -> None:
        self.data = data
        self.name = name
        self.byte_order: ByteOrder = byte_order
        self.address_size = address_size
        """The bytes of an address where the CIE does not say: before version 4."""
        self.bases = bases
        self.is_eh = name == EH_FRAME
        self._cies: dict[int, Cie | DwarfGpuError] = {}

    def __repr__(self) -> str:
        return f"FrameSection({self.name!r}, {len(self.data)} bytes)"

    def entries(self) -> Iterator[Entry | DwarfGpuError]:
        """All entries in order. A broken one gives its error, and hides no other."""
        return each_contribution(self.data, self.byte_order, self.entry_at, lambda entry: entry.end)

    def entry_at(self, offset: int) -> Entry:
        """The entry that begins at an offset."""
        try:
            head = self._head(offset)
            if head is None:
                return Terminator(self.name, offset, self._behind_zeros(offset))
            return self.cie_at(offset) if head.cie is None else self._fde(head, head.cie)
        except DwarfGpuError as error:
            raise error.at(section=self.name, offset=offset) from None

    def cie_at(self, offset: int) -> Cie:
        """The CIE at an offset, which is read once; an error when what begins there is none."""
        found = self._cies.get(offset)
        if found is None:
            try:
                head = self._head(offset) if 0 <= offset < len(self.data) else None
                if head is None or head.cie is not None:
                    message = f"no CIE begins at {offset:#x}"
                    raise IllFormed("bad_cie", message, spec=SPEC)
                found = self._cie(head)
            except DwarfGpuError as error:
                found = error.at(section=self.name, offset=offset)
            self._cies[offset] = found
        if isinstance(found, DwarfGpuError):
            raise found.with_traceback(None)
        return found

    # --- Heads ------------------------------------------------------------------------------------------------------

    def _cursor(self, position: int, end: int | None = None) -> Cursor:
        return Cursor(
            self.data, position, end, byte_order=self.byte_order, error=MalformedFile, section=self.name
        )

    def _head(self, offset: int) -> _Head | None:
        """The head of an entry; None for a length of zero."""
        cursor = self._cursor(offset)
        length, offset_size = initial_length(cursor)
        if length == 0:
            return None
        end = cursor.position + length
        if end > cursor.end:
            message = f"an entry of {length} bytes is longer than the {cursor.remaining} left"
            raise cursor.fail("truncated", message, SPEC, offset)
        cursor.end = end
        field = cursor.position
        # in .eh_frame the id is of 4 bytes in both formats (LSB 5.0, 10.6.1.1.1)
        id_ = cursor.unsigned(4 if self.is_eh else offset_size)
        is_cie = id_ == (0 if self.is_eh else (1 << 8 * offset_size) - 1)
        cie = None if is_cie else field - id_ if self.is_eh else id_
        return _Head(offset, end, offset_size, cursor.position, cie)

    def _behind_zeros(self, offset: int) -> int:
        """Where a row of zero lengths ends: a hole that a linker has left is one entry."""
        end = offset + 4
        while self.data[end : end + 4] == b"\0\0\0\0":
            end += 4
        return end

    # --- CIEs -------------------------------------------------------------------------------------------------------

    def _cie(self, head: _Head) -> Cie:
        cursor = self._cursor(head.body, head.end)
        version = cursor.unsigned(1)
        if version not in VERSIONS:
            message = f"version {version} of a CIE is not known, only 1, 3 and 4"
            raise IllFormed("bad_cie", message, spec="DWARF 5, 7.24")
        augmentation = _string(cursor)
        found = Cie(self.name, head.offset, head.end, head.offset_size, version, augmentation)
        letters = _letters(augmentation)
        if letters is None:
            return found
        has_eh, letters = letters.startswith("eh"), letters.removeprefix("eh")
        address_size, segment_size = self.address_size, 0
        if version >= 4:
            address_size, segment_size = cursor.unsigned(1), cursor.unsigned(1)
        if address_size not in ADDRESS_SIZES or segment_size > 8:
            what = "an address" if address_size not in ADDRESS_SIZES else "a segment selector"
            size = address_size if what == "an address" else segment_size
            raise IllFormed("bad_cie", f"{what} cannot have {size} bytes", spec=SPEC)
        if has_eh:
            cursor.bytes(address_size)  # the EH Data of GCC 2, for its own use
        code_alignment, data_alignment = cursor.uleb(), cursor.sleb()
        return_address = cursor.unsigned(1) if version == 1 else cursor.uleb()
        form = Format(address_size, head.offset_size, self.byte_order)
        frame_format = FrameFormat(
            form, code_alignment, data_alignment, ABSOLUTE, self.bases, segment_size=segment_size
        )
        found = replace(found, format=frame_format, return_address=return_address)
        return _augmented(found, letters, cursor)

    # --- FDEs -------------------------------------------------------------------------------------------------------

    def _fde(self, head: _Head, cie_offset: int) -> Fde:
        try:
            cie = self.cie_at(cie_offset)
        except DwarfGpuError as error:
            message = f"its CIE cannot be read: {error}"
            raise IllFormed("bad_cie", message, spec=SPEC) from None
        cursor = self._cursor(head.body, head.end)
        frame_format = cie.format
        if frame_format is None:  # what can be read all the same, with the addresses of the file
            frame_format = FrameFormat(Format(self.address_size, head.offset_size, self.byte_order))
        segment = cursor.unsigned(frame_format.segment_size) if frame_format.segment_size else None
        low, high = _range(cursor, frame_format)
        found = Fde(self.name, head.offset, head.end, cie, low, high, segment=segment)
        if cie.format is None:
            return found
        data = lsda = None
        function = replace(frame_format, bases=replace(frame_format.bases, function=low))
        if cie.augmentation_data is not None:
            data = _augmentation_data(cursor)
            lsda = _lsda(cie, function, self._cursor(cursor.position - len(data), cursor.position))
        elif cie.lsda_encoding != OMIT:
            lsda = _lsda(cie, function, cursor)
        return replace(
            found,
            format=function,
            augmentation_data=data,
            lsda=lsda,
            instructions=self.data[cursor.position : head.end],
            instructions_offset=cursor.position,
        )


# --- Parts of entries -----------------------------------------------------------------------------------------------


def _string(cursor: Cursor) -> str:
    end = cursor.data.find(b"\0", cursor.position, cursor.end)
    if end < 0:
        raise cursor.fail("truncated", "the augmentation string has no end", SPEC)
    text = cursor.bytes(end - cursor.position)
    cursor.bytes(1)
    return decode(text)


def _letters(augmentation: str) -> str | None:
    """The letters of GNU in an augmentation string; None where there are others, and no ``z`` by which to skip them."""
    found = _GNU.match(augmentation)
    if found is None or not _VENDORS.fullmatch(augmentation, found.end()):
        return None
    letters = found[2]
    if letters.startswith("z") or not letters.strip("PLRSBG"):
        return found[0]
    return None


def _augmentation_data(cursor: Cursor) -> bytes:
    start = cursor.position
    size = cursor.uleb()
    if size > cursor.remaining:
        message = f"augmentation data of {size} bytes is longer than the {cursor.remaining} left"
        error = IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1")
        raise error.at(section=cursor.section, offset=start)
    return cursor.bytes(size)


def _augmented(cie: Cie, letters: str, cursor: Cursor) -> Cie:
    """A CIE with what its augmentation says. The letters stand in the order of their data (LSB 5.0, 10.6.1.1.1)."""
    data = None
    inner = cursor
    if letters.startswith("z"):
        data = _augmentation_data(cursor)
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
    personality, lsda, signal, unknown = None, OMIT, False, ""
    try:
        for i, letter in enumerate(letters):
            if letter == "R":
                frame_format = replace(frame_format, pointers=inner.unsigned(1))
            elif letter == "L":
                lsda = inner.unsigned(1)
            elif letter == "P":
                encoding = inner.unsigned(1)
                if encoding != OMIT:
                    personality = read_pointer(inner, encoding, frame_format.form, frame_format.bases)
            elif letter == "S":
                signal = True
            elif letter not in "BG":  # B and G say how AArch64 signs and tags, and have no data
                unknown = letters[i:]
                break
        if "R" in unknown:
            message = f"how locations are encoded is said behind {unknown[0]!r}, which is not known"
            raise IllFormed("bad_augmentation", message, spec=SPEC)
    except DwarfGpuError as error:
        if error.kind != "truncated":
            raise
        message = f"the augmentation {cie.augmentation!r} needs more data than the {len(data or b'')} bytes there are"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1") from None
    return replace(
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


def _range(cursor: Cursor, frame_format: FrameFormat) -> tuple[int, int]:
    """The addresses of an FDE: none where a linker has put a tombstone for code that it dropped."""
    encoding, form = frame_format.pointers, frame_format.form
    start = cursor.position
    if encoding == OMIT:
        message = "the augmentation omits the location of the entry"
        raise IllFormed("bad_augmentation", message, spec=SPEC)
    pointer = read_pointer(cursor, encoding, form, frame_format.bases)
    if pointer.indirect:
        message = f"the location of the entry stands in memory, at {pointer.address:#x}"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    size = read_size(cursor, encoding, form)
    if is_dead(pointer.address, form.address_size):
        return pointer.address, pointer.address
    if size < 0 or pointer.address + size > 1 << 8 * form.address_size:
        message = f"the range of {size:#x} bytes from {pointer.address:#x} is not one of addresses"
        raise cursor.fail("overflow", message, SPEC, start)
    return pointer.address, pointer.address + size


def _lsda(cie: Cie, frame_format: FrameFormat, cursor: Cursor) -> Pointer | None:
    if cie.lsda_encoding == OMIT or (cie.augmentation_data is not None and not cursor.remaining):
        return None
    try:
        pointer = read_pointer(cursor, cie.lsda_encoding, frame_format.form, frame_format.bases)
    except DwarfGpuError as error:
        message = f"the pointer to language-specific data cannot be read: {error.message}"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.2") from None
    return None if pointer.is_null else pointer
