"""What is at an address, and what a name means: functions, source lines, inlined calls, variables, types, symbols."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.dwarf_constants import DW_AT_stmt_list, DW_AT_str_offsets_base
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError, noting
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.info.scopes import Position, qualified_name
from dwarfgpu.program.code.scopes import NOWHERE, FunctionScope, SourceCall, SourceLine, functions_at

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.line_table import LineTable
    from dwarfgpu.program.code.code_object import CodeObject

T = TypeVar("T")

GENERIC_SPACE = (b"\x31\x16\x18", b"\x10\x01\x16\x18", b"\x31\xe9\x02")
"""What AMDGPU compilers append to the address of a variable: DW_OP_lit1 (or DW_OP_constu 1), then DW_OP_swap and
DW_OP_xderef, or DW_OP_LLVM_form_aspace_address. The generic address of a variable in global memory is its address."""


@frozen
class SymbolInfo:
    """An ELF symbol."""

    name: str
    address: int | None
    """An offset in its section if the file is not linked; None if the loader chooses the address."""
    size: int
    type: str
    bind: str
    section: str | None
    offset: int = 0
    """The distance of the looked-up address from the first instruction of the symbol, or from its start."""
    alignment: int | None = None
    """Only for a symbol without an address: a common symbol, or one in local memory."""
    is_local_memory: bool = False


@frozen
class AtAddress:
    """All that is known about one address."""

    address: int
    section: str | None
    symbol: SymbolInfo | None
    unit: str | None
    unit_offset: int | None
    source: SourceLine | None
    is_statement: bool | None
    """Whether a breakpoint here stops at the beginning of a statement."""
    range: tuple[int, int] | None
    """The addresses that the line table row covers."""
    text: str | None
    """The source line itself, where the file embeds it."""
    frames: tuple[SourceCall, ...]
    """The innermost inlined call first; last, the function that contains the code."""
    variables: tuple[Named, ...]
    """The variables whose storage contains the address, if it is a data address."""


@frozen
class Named:
    """One meaning of a name."""

    kind: str
    """``function``, ``variable``, ``type``, ``namespace``, ``label`` or ``symbol``."""
    name: str
    linkage_name: str | None = None
    tag: str | None = None
    section: str | None = None
    """Of the entry, or of the symbol."""
    offset: int | None = None
    """Of the entry in its section."""
    unit: str | None = None
    declared: SourceLine | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    byte_size: int | None = None
    symbol: SymbolInfo | None = None


# --- By address ---------------------------------------------------------------------------------------------------


_LINE = re.compile(r"(.*[^:]):(\d{1,9})$")
_OFFSET = re.compile(r"(.+?)\s*\+\s*(\d\w*)\s*", re.DOTALL)
MAX_LISTED = 8
"""How many addresses the error about an ambiguous name lists."""
_ADDRESSES = "an address is a number such as 0x1900, a function such as main or main+0x10, or a line such as k.c:17"


def name_and_offset(text: str) -> tuple[str, int | None]:
    """Return the name in ``kernel+0x10`` and the offset, if a number follows the last plus: ``operator+`` is a name."""
    match = _OFFSET.fullmatch(text)
    if match is None and not text.strip("+ "):
        raise UsageError(f"{text!r} is not an address", hint=_ADDRESSES)
    return (text, None) if match is None else (match[1], _number(match[2], text))


def _number(digits: str, text: str) -> int:
    try:
        return int(digits, 0)
    except ValueError:
        raise UsageError(f"{text!r} is not an address", hint=_ADDRESSES) from None


def parse_address(file: CodeObject, text: str) -> int:
    """Return the address that ``0x1900``, ``kernel``, ``kernel+0x10`` or ``k.hip:17`` names; several are an error."""
    line = _LINE.match(text)
    if line is not None:
        return _only(text, parse_addresses(file, text))
    if text[:1].isdigit():
        return _number(text, text)
    name, offset = name_and_offset(text)
    symbol = file.symbol_image.symbol_named(name)
    if symbol is not None and symbol.is_defined:
        return symbol.value + (offset or 0)
    return _only(name, addresses_of_function(file, name)) + (offset or 0)


def parse_addresses(file: CodeObject, text: str) -> dict[int, str]:
    """Return all addresses that a text names: those of a line with their functions, any other with the text itself."""
    line = _LINE.match(text)
    if line is None:
        return {parse_address(file, text): text}
    return addresses_of_line(file, line[1], int(line[2]))


def _only(text: str, addresses: dict[int, str]) -> int:
    if len(addresses) > 1:
        listed = [f"{address:#x} ({name})" for address, name in list(addresses.items())[:MAX_LISTED]]
        more = f" and {len(addresses) - len(listed)} more" if len(addresses) > len(listed) else ""
        message = f"{text[:80]} has {len(addresses)} addresses: {', '.join(listed)}{more}"
        raise UsageError(message, kind="ambiguous", hint="name one of them by its address or its symbol")
    return next(iter(addresses))


def addresses_of_function(file: CodeObject, name: str) -> dict[int, str]:
    """Return the addresses of the functions with a name, each with the symbol or the full name of the function."""
    addresses: dict[int, str] = {}
    for entry in file.dwarf.index.find(name) if file.has_dwarf else ():
        meaning = _named(file, entry.kind, entry.die) if entry.kind == "function" else None
        if meaning is not None and meaning.ranges:
            addresses.setdefault(meaning.ranges[0][0], meaning.linkage_name or meaning.name)
    for symbol in () if addresses else file.symbol_image.symbols_called(name):
        addresses.setdefault(symbol.value, symbol.name)
    if not addresses:
        from dwarfgpu.program.code.completion_index import did_you_mean

        hint = did_you_mean([file], name, ("function",))
        raise NotFound("no_symbol", f"{file.name} has no symbol {name!r}", hint=hint)
    return addresses


def addresses_of_line(file: CodeObject, path: str, line: int) -> dict[int, str]:
    """Return where a line of a source file begins: its first address in each function and in each inlined call."""
    wanted = tidy(path)
    tail = "/" + wanted.lstrip("/")
    addresses: dict[Any, tuple[int, str]] = {}
    is_known, after = False, 0
    for unit in file.dwarf.index.units if file.has_dwarf else ():
        table = line_table(file, unit)
        if table is None:
            continue
        numbers = {
            number
            for number, _entry in table.files()
            if f"/{tidy(table.path(number, unit.directory or '') or '')}".endswith(tail)
        }
        is_known |= bool(numbers)
        spans = [span for span in table.spans(line, numbers) if span.row.is_stmt] if numbers else []
        for span in spans:
            functions = functions_at(file, span.start)
            calls = calls_at(file, span.start, functions)
            key = (functions[0].die.unit, functions[0].die.offset) if functions else span.start
            if key not in addresses or span.start < addresses[key][0]:
                addresses[key] = span.start, " inlined into ".join(call.function or "??" for call in calls)
        following = table.next_line(line + 1, numbers) if numbers and not spans else None
        after = min(filter(None, (after, following)), default=0)
    if not is_known:
        raise NotFound("no_file", f"{file.name} has no lines of a source file {path[:80]!r}")
    if not addresses:
        hint = f"the next line with code is {after}" if after else None
        raise NotFound("no_line", f"line {line} of {path[:80]} has no code in {file.name}", hint=hint)
    return dict(sorted(addresses.values()))


def at_address(file: CodeObject, address: int) -> AtAddress:
    """Return what is known about an address; raise an error if nothing is."""
    image = file.image
    if image.are_addresses_lost:
        names = ", ".join(section.name for section in image.code_sections[:3])
        message = f"{file.name}: addresses are ambiguous: the code sections {names} overlap"
        hint = "keep the relocations of its debug sections: they tell the code sections apart, but were stripped"
        raise UsageError(message, kind="not_linked", hint=hint)
    code = image.code_sections
    # in a file that is not linked, data sections begin at 0 too; take the address as one of code
    section = image.code_at(address) or next(
        (each for each in image.sections if each.is_allocated and 0 <= address - each.address < each.size), None
    )
    symbol = file.symbol_image.symbol_at(address, None if image.is_linked or not code else section or code[0])
    unit = source = row = None
    frames: tuple[SourceCall, ...] = ()
    text = None
    if file.has_dwarf:
        with noting(file.dwarf.note):
            unit, frames, row = _in_dwarf(file, address, functions_at(file, address))
        if row is not None:
            source, text = row.source, row.text
    variables = () if section is not None and section in code else _variables(file, address)
    if symbol is None and unit is None and not variables:
        raise _nothing_at(file, address, section is not None)
    return AtAddress(
        address,
        section.name if section is not None and image.is_linked else None,
        symbol_info(symbol, file.offset_in(symbol, address)) if symbol is not None else None,
        unit.name if unit is not None else None,
        unit.offset if unit is not None else None,
        source,
        row.is_statement if row is not None else None,
        row.range if row is not None else None,
        text,
        frames,
        variables,
    )


def at_named_addresses(file: CodeObject, text: str) -> list[AtAddress]:
    """Return what is known about each address that a text names; an offset may match several sections of an object."""
    placed = file.placed
    if placed is file:
        return [at_address(file, address) for address in parse_addresses(file, text)]
    if _LINE.match(text) is not None or not text[:1].isdigit():
        return [_in_section(placed, address) for address in parse_addresses(placed, text)]
    found = []
    offset = _number(text, text)
    for section in placed.image.code_sections:
        if offset < section.size:
            with suppress(NotFound):  # nothing is at this offset of the section
                found.append(_in_section(placed, section.address + offset))
    return found or [at_address(file, offset)]


def _in_section(placed: CodeObject, address: int) -> AtAddress:
    """Return what is known about an address of a placed section; give its addresses as offsets in the section."""
    found, section = at_address(placed, address), placed.image.code_at(address)
    if section is None:
        return found
    symbol, span = found.symbol, found.range
    if symbol is not None and symbol.address is not None:
        symbol = evolve(symbol, address=symbol.address - section.moved)
    if span is not None:
        span = span[0] - section.moved, span[1] - section.moved
    return evolve(found, address=address - section.moved, section=section.name, symbol=symbol, range=span)


def calls_at(file: CodeObject, address: int, functions: tuple[FunctionScope, ...]) -> tuple[SourceCall, ...]:
    """Return the calls at an address, with their source lines; without DWARF, one call named after the symbol."""
    source = None
    if file.has_dwarf:
        with noting(file.dwarf.note):
            _unit, calls, row = _in_dwarf(file, address, functions)
            if calls:
                return calls
            source = None if row is None else row.source
    from dwarfgpu.program.code.kernel_parameters import source_name

    symbol = file.symbol_image.symbol_at(address)
    name, linkage_name = (None, None) if symbol is None else (source_name(symbol.demangled), symbol.name)
    return (SourceCall(name, linkage_name, source, inlined=False, offset=None),)


def line_before(file: CodeObject, address: int) -> int | None:
    """Return the last line before code that belongs to no line (DWARF 5, 6.2.2), in the same function and file."""
    functions = functions_at(file, address)
    first = row = _in_dwarf(file, address, functions)[2]
    while functions and row is not None and first is not None and not row.source.line:
        before = functions_at(file, row.range[0] - 1)
        is_inside = bool(before) and before[0].die == functions[0].die
        row = _in_dwarf(file, row.range[0] - 1, before)[2] if is_inside else None
    return row.source.line if row is not None and first is not None and row.file == first.file else None


def begins_line(file: CodeObject, address: int) -> bool:
    """Return whether a statement of the line table begins at an address."""
    row = None
    if file.has_dwarf:
        with noting(file.dwarf.note):
            row = _in_dwarf(file, address, functions_at(file, address))[2]
    return row is not None and row.is_statement and row.range[0] == address


def _variables(file: CodeObject, address: int) -> tuple[Named, ...]:
    if not file.has_dwarf or not file.image.is_linked:
        return ()
    suffixes = (b"", *GENERIC_SPACE) if file.is_amdgpu else (b"",)
    variables = []
    for die in file.dwarf.index.variables_at(address, suffixes):
        with noting(file.dwarf.note):
            variables.append(_named(file, "variable", die))
    return tuple(variables)


@frozen
class _LineAt:
    source: SourceLine
    file: int
    is_statement: bool
    range: tuple[int, int]
    text: str | None


def _in_dwarf(
    file: CodeObject, address: int, functions: tuple[FunctionScope, ...]
) -> tuple[Unit | None, tuple[SourceCall, ...], _LineAt | None]:
    dwarf = file.dwarf
    unit = functions[-1].die.unit if functions else dwarf.index.unit_at(address)
    if unit is None:
        return None, (), None
    row = table = None
    with noting(dwarf.note):
        table = line_table(file, unit)
        row = None if table is None else _row(table, unit, address)
    position = Position() if row is None else Position(row.file, row.source.line, row.source.column)
    calls: list[SourceCall] = []
    for function in functions:
        try:
            calls.append(_call(function, position, unit, table))
            if function.is_inlined:
                die = function.die
                position = Position(die.call_file, die.call_line, die.call_column)
        except DwarfGpuError as error:
            dwarf.note(error)
            calls += [NOWHERE] * (len(functions) - len(calls))
            break
    return unit, tuple(calls), row


def _row(table: LineTable, unit: Unit, address: int) -> _LineAt | None:
    spans = table.at(address, prefers_statements=True)
    if table.error is not None:
        unit.dwarf.note(table.error)
    if not spans:
        return None
    span = spans[-1]
    row = span.row
    entry = table.file(row.file)
    text = None
    if entry is not None and entry.source is not None and row.line:
        lines = entry.source.split("\n", row.line)
        text = lines[row.line - 1].rstrip("\r") if row.line <= len(lines) else None
    source = _source(table, unit, row.file, row.line, row.column)
    return _LineAt(source, row.file, row.is_stmt, (span.start, span.end), text)


def _call(function: FunctionScope, position: Position, unit: Unit, table: LineTable | None) -> SourceCall:
    die = function.die
    source = None
    if table is not None and position.file is not None:
        source = _source(table, unit, position.file, position.line or 0, position.column or 0)
    return SourceCall(qualified_name(die), die.linkage_name, source, function.is_inlined, die.section_offset)


def _nothing_at(file: CodeObject, address: int, is_inside: bool) -> NotFound:  # noqa: FBT001
    image = file.image
    code = image.code_sections
    ranges = ", ".join(
        f"{section.name} {section.address:#x} to {section.address + section.size:#x}" for section in code[:4]
    )
    hint = f"its code is in {ranges}" if ranges else None
    if not image.is_linked:
        hint = "the file is not linked: link it, or give an offset in its code section"
    where = "nothing is known about" if is_inside else "the file has nothing at"
    return NotFound("no_address", f"{file.name}: {where} the address {address:#x}", hint=hint)


# --- By name ------------------------------------------------------------------------------------------------------


def named(file: CodeObject, name: str) -> tuple[Named, ...]:
    """Return all that a name refers to, functions and variables with their symbols; nothing is an error."""
    results: list[Named] = []
    if file.has_dwarf:
        for entry in file.dwarf.index.find(name):
            with noting(file.dwarf.note):
                results.append(_named(file, entry.kind, entry.die))
    known = {result.symbol.name for result in results if result.symbol is not None}
    all_named = file.symbol_image.symbols_named(name)
    if not all_named and not results:
        all_named = file.symbol_image.symbols_called(name)
    symbols = [symbol_info(symbol) for symbol in all_named if symbol.name not in known]
    results += [
        Named("symbol", symbol.name, section=symbol.section, symbol=symbol, byte_size=symbol.size or None)
        for symbol in symbols
    ]
    if not results:
        from dwarfgpu.program.code.completion_index import did_you_mean

        hint = did_you_mean([file], name) or "qualify a name in a scope, such as ns::f"
        if not file.has_dwarf:
            hint = "the file has no .debug_info, so only symbols can be found"
        raise NotFound("no_name", f"{file.name} has nothing named {name!r}", hint=hint)
    return tuple(results)


def symbol_info(symbol: Symbol, offset: int = 0) -> SymbolInfo:
    """Return a symbol, with the offset of the looked-up address in it."""
    section = symbol.section.name if symbol.section is not None else None
    alignment = symbol.alignment
    place = symbol.value if alignment is None else None
    return SymbolInfo(
        symbol.name, place, symbol.size, symbol.type, symbol.bind, section, offset, alignment, symbol.is_local_memory
    )


def _named(file: CodeObject, kind: str, die: Die) -> Named:
    unit = die.unit
    linkage = die.linkage_name if kind in ("function", "variable") else None
    ranges = tuple(_noted(file, die.ranges) or ()) if kind == "function" else ()
    size = die.find("DW_AT_byte_size") if kind == "type" else None
    symbol = None
    if kind in ("function", "variable"):
        elf_symbol = file.symbol_image.symbol_named(linkage or die.name or "")
        if elf_symbol is not None and elf_symbol.is_defined and (not ranges or elf_symbol.value == ranges[0][0]):
            symbol = symbol_info(elf_symbol)
    return Named(
        kind,
        qualified_name(die) or "(no name)",
        linkage,
        die.tag_name,
        unit.section,
        die.section_offset,
        unit.name,
        _noted(file, lambda: declared_at(file, die)),
        ranges,
        _noted(file, size.unsigned) if size is not None and size.value_class == "constant" else None,
        symbol,
    )


def _noted(file: CodeObject, ask: Callable[[], T]) -> T | None:
    with noting(file.dwarf.note):
        return ask()
    return None


def declared_at(file: CodeObject, die: Die) -> SourceLine | None:
    """Return where an entry was declared. A broken line table does not prevent other answers."""
    number, line, column = (die.find(f"DW_AT_decl_{what}") for what in ("file", "line", "column"))
    if line is None:
        return None
    at_line, at_column = line.unsigned(), column.unsigned() if column is not None else 0
    unit = number.die.unit if number is not None else die.unit
    table = _noted(file, lambda: line_table(file, unit, of_entries=True))
    if table is None or number is None:
        return SourceLine(None, at_line, at_column)
    return _source(table, unit, number.unsigned(), at_line, at_column)


# --- Lines --------------------------------------------------------------------------------------------------------


def _source(table: LineTable, unit: Unit, file: int, line: int, column: int) -> SourceLine:
    path = table.path(file, unit.directory or "")
    return SourceLine(path if path is None else tidy(path), line, column)


def tidy(path: str) -> str:
    """Return a path without the directories called ``.`` that compilers put in."""
    return "/".join(part for part in path.split("/") if part != ".")


def line_table(file: CodeObject, unit: Unit, *, of_entries: bool = False) -> LineTable | None:
    """Return the line table of a unit; a split unit uses that of its skeleton.

    ``of_entries`` asks for the table that DW_AT_decl_file refers to: a split unit may have its own, without rows.
    """
    from dwarfgpu.objfile.line_table import line_table as read

    if unit.skeleton is not None and not (of_entries and unit.source.data(".debug_line.dwo")):
        unit = unit.skeleton
    if unit in file.line_tables:
        return file.line_tables[unit]
    offset = unit.root_number(DW_AT_stmt_list)
    if offset is None:
        return None
    part, section = unit.part(".debug_line")
    # units may share a table, as type units do; the key includes what reading the table takes from the unit
    place = (unit.dwarf, section, part + offset, unit.address_size, unit.root_value(DW_AT_str_offsets_base))
    table = file.shared_line_tables.get(place)
    if table is None:
        table = file.shared_line_tables[place] = read(
            unit.source.data(section),
            part + offset,
            byte_order=unit.format.byte_order,
            address_size=unit.address_size,
            string_at=_strings(unit),
            section=section,
            zero_is_code=not file.image.is_linked,
            free=free_bytes(file, section),
        )
    file.line_tables[unit] = table
    return table


MAX_RATIO = 10
"""How many times its compressed size a section may expand for free, as compilers' do; the rest uses the budget."""


def free_bytes(file: CodeObject, section: str) -> int | None:
    """Return how many bytes of a compressed section do not use the budget; None if no byte does."""
    sections = file.image.sections_named(section)
    stored = sum(part.size for part in sections)
    try:
        expanded = sum(part.data_size for part in sections)
    except DwarfGpuError:  # reading the section reports it
        return None
    return None if expanded <= MAX_RATIO * stored else MAX_RATIO * stored


def _strings(unit: Unit) -> Any:
    def string_at(form: str, value: int) -> bytes:
        if form == "line_strp":
            return unit.source.string(".debug_line_str", value)
        if form == "strp_sup":
            return unit.dwarf.supplementary_file().source.string(".debug_str", value)
        offset = unit.tables.string_offset(value) if form.startswith("strx") else value
        return unit.source.string(".debug_str" + unit.suffix, offset)

    return string_at
