"""The call frame information of a file: its entries, instructions and rows, with the target's registers and spaces.

This is where the reader (`objfile.call_frames`), the instructions (`cfi`) and the decoder of expressions meet.
Unwinding a machine's frames is built on `row_at`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dialects
from dwarfgpu.cfi.instructions import DecodedInstruction, Instructions, decode
from dwarfgpu.cfi.rows import Tables, UnwindRules, unknown_augmentation
from dwarfgpu.cfi.rules import ExpressionBytes, Initial, Rule, rule_json
from dwarfgpu.encoding import Bases, Format, encoding_text
from dwarfgpu.errors import DwarfGpuError, NotFound, noting
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.instruction import decode as decode_expression
from dwarfgpu.immutable import field, frozen
from dwarfgpu.objfile.call_frames import (
    DEBUG_FRAME,
    EH_FRAME,
    EH_FRAME_HDR,
    Cie,
    Fde,
    FdeIndex,
    FrameSection,
    SearchTable,
    Terminator,
    read_frame_header,
)
from dwarfgpu.program.code.code_lookup import named
from dwarfgpu.program.code.dumped_expressions import DumpedExpression, ExpressionDecoder

if TYPE_CHECKING:
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.sections import Section
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.targets.target import Target


Entry: TypeAlias = "Cie | Fde | Terminator"

__all__ = [
    "Cie",
    "DecodedInstruction",
    "ExpressionBytes",
    "Fde",
    "Instructions",
    "Rule",
    "UnwindRules",
    "encoding_text",
    "rule_json",
]


@frozen
class DecodedFrameEntry:
    """An entry, and what its instructions say."""

    entry: Entry
    instructions: Instructions = field(factory=lambda: Instructions(()))
    rows: tuple[UnwindRules, ...] = ()
    """Of an FDE: its rows, up to the first error."""
    initial: Initial = field(factory=Initial)
    """Of a CIE: the rules that its initial instructions make."""
    error: DwarfGpuError | None = None
    """What is wrong with the instructions."""


class Frames:
    """All call frame information of one file; ``problems`` holds what has been found broken so far."""

    def __init__(self, file: CodeObject) -> None:
        self.unreadable: list[DwarfGpuError] = []
        self.indexes = tuple(_read_sections(file, self.unreadable))
        """The sections in the order in which they are asked: ``.debug_frame``, which is not there for exceptions alone,
        before ``.eh_frame``."""
        self.target = file.target.target
        self._file = file
        self._tables = Tables(known_target(self.target))
        self._code = ExpressionDecoder(file)
        self._expressions: dict[tuple[ExpressionBytes, Format], Expression] = {}

    def use_dialect(self, name: str) -> None:
        """Choose the dialect of expressions."""
        self._code = ExpressionDecoder(self._file, name)
        self._expressions.clear()

    @property
    def dialect(self) -> Dialect:
        """The dialect of expressions."""
        return self._code.dialect

    @property
    def sections(self) -> tuple[FrameSection, ...]:
        return tuple(index.section for index in self.indexes)

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """What has been found broken so far, beside the errors that `entries` has given."""
        return (*self.unreadable, *(error for index in self.indexes for error in index.problems))

    # --- Entries --------------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry | DwarfGpuError]:
        """Yield the entries of all sections in order, and an error in place of an entry that cannot be read."""
        for section in self.sections:
            yield from section.entries()

    def fde_at(self, address: int) -> Fde | None:
        """Return the entry for the code at an address; raise an error where the only one is broken."""
        return next(iter(self._found(lambda index: filter(None, [index.fde_at(address)]))), None)

    def fdes_at(self, address: int) -> list[Fde]:
        """Return all entries for the code at an address, those of ``.debug_frame`` first."""
        return list(self._found(lambda index: index.fdes_at(address)))

    def each_at(self, address: int) -> Iterator[Fde]:
        """Yield the entries for the code at an address as they are found: one is mostly enough."""
        return self._found(lambda index: index.each_at(address))

    def fdes_between(self, low: int, high: int) -> list[Fde]:
        """Return all entries for some code from ``low`` up to ``high``."""
        return list(self._found(lambda index: index.fdes_between(low, high)))

    def _found(self, ask: Callable[[FdeIndex], Iterable[Fde]]) -> Iterator[Fde]:
        """Yield the entries of the sections in turn. An error in a section counts if no section has an entry."""
        broken: DwarfGpuError | None = None
        is_found = False
        for index in self.indexes:
            try:
                for fde in ask(index):
                    is_found = True
                    yield fde
            except DwarfGpuError as error:
                broken = broken or error
        if broken is not None and not is_found:
            raise broken

    # --- Instructions, rows and expressions -----------------------------------------------------------------------

    def instructions(self, entry: Cie | Fde) -> Instructions:
        """Return the instructions of an entry, as far as they can be decoded."""
        if entry.format is None:
            cie = entry.cie if isinstance(entry, Fde) else entry
            return Instructions((), unknown_augmentation(entry, cie.augmentation))
        return decode(entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset)

    def listed(self, entry: Entry) -> DecodedFrameEntry:
        """Return all that an entry says. An error in it does not hide what comes before."""
        if isinstance(entry, Terminator):
            return DecodedFrameEntry(entry)
        listed = self.instructions(entry)
        rows: list[UnwindRules] = []
        initial = Initial()
        error = listed.fault
        try:
            if isinstance(entry, Fde):
                for row in self.rows(entry):
                    rows.append(row)  # noqa: PERF402 (those before an error are kept)
            elif entry.format is not None:
                initial = self.initial(entry)
        except DwarfGpuError as found:
            error = found  # it comes first: running an entry stops where decoding does
        return DecodedFrameEntry(entry, listed, tuple(rows), initial, error)

    def rows(self, fde: Fde) -> Iterator[UnwindRules]:
        """Yield the rows of an entry in order; an error is raised after the rows that are right."""
        return self._tables.rows(fde)

    def row_at(self, address: int, fde: Fde | None = None) -> UnwindRules | None:
        """Return the row at an address; None for none, or for one without rules, as some compilers write."""
        fde = self.fde_at(address) if fde is None else fde
        return None if fde is None else self._tables.row_at(fde, address)

    def initial(self, cie: Cie) -> Initial:
        """Return the rules that the initial instructions of a CIE make."""
        return self._tables.initial(cie)

    def expression(self, block: ExpressionBytes, entry: Cie | Fde) -> Expression:
        """Return the expression in a rule or an operand, decoded once."""
        form = self._form(entry)
        if (block, form) not in self._expressions:
            self._expressions[block, form] = decode_expression(
                block.data, self.dialect, form, section=block.section, offset=block.offset, known_in=dialects.known_in
            )
        return self._expressions[block, form]

    def code(self, block: ExpressionBytes, entry: Cie | Fde) -> DumpedExpression:
        """Return the expression in a rule or an operand as it is shown."""
        return self._code.read(block.data, self._form(entry), block.section or entry.section, block.offset)

    def _form(self, entry: Cie | Fde) -> Format:
        return Format(self.target.address_size) if entry.format is None else entry.format.form

    # --- Names ----------------------------------------------------------------------------------------------------

    def register_name(self, number: int) -> str:
        """Return the name of a register; ``reg2600`` where the target has none with the number."""
        register = self.target.register(number)
        return f"reg{number}" if register is None else register.name

    def space_name(self, number: int) -> str:
        """Return the name of an address space; its number where the target does not define it."""
        space = self.target.space(number)
        return f"aspace{number:#x}" if space is None else space.name


def known_target(target: Target) -> Target | None:
    """Return a target that defines its address spaces; None for the generic one, whose spaces are not known."""
    return None if target.name == "generic" else target


def _read_sections(file: CodeObject, problems: list[DwarfGpuError]) -> Iterator[FdeIndex]:
    """Yield the sections of a file, as far as they can be read. A separate debug file may have ``.debug_frame``."""
    for name in (DEBUG_FRAME, EH_FRAME):
        image = file.image
        if name == DEBUG_FRAME and image.section(name) is None:
            image = file.debug.image
        places: set[tuple[int, int]] = set()
        for section in image.sections_named(name):
            place = section.offset, section.address
            if section.size and place in places:
                continue  # another header of the same bytes
            places.add(place)
            data, error = section.partial()
            if error is not None:
                problems.append(error)
            if not data:
                continue
            frame_section = FrameSection(
                bytes(data),
                name,
                byte_order=image.byte_order,
                address_size=image.address_size,
                bases=_bases(image, section),
            )
            yield FdeIndex(frame_section, _header(image, section, problems) if frame_section.is_eh else None)


def _bases(image: Image, section: Section) -> Bases:
    """Return what pointers count from: the code, and the global offset table (LSB 5.0, 10.5.1)."""
    text = image.section(".text")
    got = image.section(".got") or image.section(".got.plt")
    return Bases(section.address, None if text is None else text.address, None if got is None else got.address)


def _header(image: Image, eh_frame: Section, problems: list[DwarfGpuError]) -> SearchTable | None:
    section = image.section(EH_FRAME_HDR)
    if section is None or not image.is_linked:
        return None
    header = None
    with noting(problems.append):
        header = read_frame_header(
            section.data, address=section.address, byte_order=image.byte_order, address_size=image.address_size
        )
    return header if header is not None and header.eh_frame in (None, eh_frame.address) else None


# --- Entries by address and by function ---------------------------------------------------------------------------


@frozen
class FrameAt:
    """What an entry says about one address."""

    address: int
    fde: Fde
    row: UnwindRules | None
    error: DwarfGpuError | None = None
    """Why there is no row."""


def frames_at(file: CodeObject, address: int) -> list[FrameAt]:
    """Return the row of every entry for an address; raise an error if there is no entry."""
    fdes = file.frames.fdes_at(address)
    if not fdes:
        raise nothing_for(file, f"the address {address:#x}")
    rows = []
    for fde in fdes:
        try:
            rows.append(FrameAt(address, fde, file.frames.row_at(address, fde)))
        except DwarfGpuError as error:
            rows.append(FrameAt(address, fde, None, error))
    return rows


def fdes_of(file: CodeObject, name: str) -> list[Fde]:
    """Return the entries for the code of a function; raise an error if there is none."""
    ranges: dict[tuple[int, int], None] = {}
    for meaning in named(file, name):
        ranges.update(dict.fromkeys(meaning.ranges))
        low = None if meaning.symbol is None or meaning.ranges else meaning.symbol.address
        if meaning.symbol is not None and low is not None and meaning.symbol.section is not None:
            ranges[low, low + max(1, meaning.symbol.size)] = None
    fdes: dict[tuple[str, int], Fde] = {}
    for low, high in ranges:
        fdes.update(((fde.section, fde.offset), fde) for fde in file.frames.fdes_between(low, high))
    if not fdes:
        raise nothing_for(file, name)
    return list(fdes.values())


def nothing_for(file: CodeObject, what: str) -> NotFound:
    """Return the error where no entry covers something."""
    hint = "no entry is about it, as for code written in assembly" if file.frames.indexes else None
    if hint is None:
        hint = "the file has neither .debug_frame nor .eh_frame: compile it with -g"
    return NotFound("no_unwind_information", f"{file.name}: no unwind information for {what}", hint=hint)


def code_name(file: CodeObject, entry: Entry) -> str:
    """Return the symbol of the code that an entry is for, as ``<name+0x10>``; empty where no symbol is there."""
    placed = file.placed
    if placed is not file and isinstance(entry, Fde):
        twins = [section for section in placed.frames.sections if section.name == entry.section]
        try:
            entry = twins[0].entry_at(entry.offset)
        except DwarfGpuError:
            return ""
    if not isinstance(entry, Fde):
        return ""
    image = placed.image
    code = None if image.is_linked else image.code_at(entry.low)
    if not image.is_linked and (code is None or image.are_addresses_lost):
        return ""
    symbol = image.symbol_at(entry.low, code)
    if symbol is None or not symbol.name:
        return ""
    offset = entry.low - symbol.value
    return f"<{symbol.name}+{offset:#x}>" if offset else f"<{symbol.name}>"
