"""Declarations of functions, variables and types of a program; and symbols without debugging information."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import noting
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import SHF_EXECINSTR
from dwarfgpu.objfile.elf.symbols import STT_FILE, STT_SECTION, STT_TLS, Symbol
from dwarfgpu.objfile.indexes.name_index import KIND_OF, kind_of
from dwarfgpu.objfile.info.scopes import Ranges, is_local, qualified_name
from dwarfgpu.objfile.section_source import decode
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.code.source_files import short_name
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import Declarer, type_text
from dwarfgpu.program.types.reader import canonical, is_cplus, object_qualifiers

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.name_index import Kind
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.execution import Execution

_BODY = re.compile(r"\{[^{}]*\n[^{}]*\}")


@frozen
class Declared:
    """A function, a variable or a type."""

    name: str
    file: str | None
    """The file that declares it; the source of the unit if no file does, as for ``int``."""
    line: int | None
    text: str
    """Its declaration: ``static int twice(int);``."""


def declared(state: Execution, kind: Kind, matches: Callable[[str], object]) -> Iterator[Declared]:
    """Yield the functions, variables or types whose names match, without repeats."""
    seen: set[tuple[str | None, int | None, str]] = set()
    for code, unit in state.sources.units():
        declarations: list[Declared] = []
        with noting(code.file.dwarf.note):
            declarations = list(_of_unit(state, code, unit, kind, matches))
        for declaration in declarations:
            key = declaration.file, declaration.line, declaration.text
            if key not in seen:
                seen.add(key)
                yield declaration


def _of_unit(
    state: Execution, code: LoadedCode, unit: Unit, kind: Kind, matches: Callable[[str], object]
) -> Iterator[Declared]:
    index = code.file.dwarf.index
    if kind == "function":  # those with code; the many that are only declared are not read
        offsets = index.addresses_of(unit).numbers()
    else:
        offsets = {offset for in_name in index.names_of(unit).names.values() for offset in in_name}
    for offset in sorted(offsets):
        with noting(code.file.dwarf.note):
            die = unit.die_known_at(offset)
            if KIND_OF.get(die.tag) != kind:
                continue
            if kind != "function" and (kind_of(die) != kind or (kind == "variable" and is_local(die))):
                continue  # it is not in the index, or it is a variable of a function
            name = canonical(qualified_name(die) or "")
            if name and matches(name):
                text = _text(state, die, kind, name)
                if text is not None:
                    yield Declared(name, *_place(code, die), text)


def _place(code: LoadedCode, die: Die) -> tuple[str | None, int | None]:
    number, line = die.find_number(dw.DW_AT_decl_file), die.find_number(dw.DW_AT_decl_line)
    if number is None or line is None:
        return die.unit.name, None
    unit = number.die.unit
    table = line_table(code.file, unit, of_entries=True)
    path = None if table is None else table.path(number.unsigned(), unit.directory or "")
    return (unit.name if path is None else short_name(tidy(path), unit)), line.unsigned()


# --- Declarations -------------------------------------------------------------------------------------------------


def _text(state: Execution, die: Die, kind: Kind, name: str) -> str | None:
    cplus = is_cplus(die.unit)
    if kind != "type":
        external = die.find_number(dw.DW_AT_external)
        static = "" if external is not None and external.value else "static "
        described = state.types.of(die) if kind == "function" else state.types.type_of(die)
        text = _method(state, die, described, name) if isinstance(described, t.Function) else None
        return static + _short(text or type_text(described, name, is_cplus=cplus)) + ";"
    described = state.types.of(die)
    if isinstance(described, t.Typedef):
        return f"typedef {_short(type_text(described.target, name, is_cplus=cplus))};"
    if isinstance(described, (t.Struct, t.Enumeration)):
        return f"{_short(type_text(described, is_cplus=cplus))};"
    return name if isinstance(described, (t.Base, t.Subrange, t.UnspecifiedType, t.String)) else None


def _method(state: Execution, die: Die, type: t.Function, name: str) -> str | None:
    """Return a member function with the qualifiers of its object behind the parameters; None for others."""
    first = next((child for child in die.children() if child.tag == dw.DW_TAG_formal_parameter), None)
    artificial = None if first is None else first.find_number(dw.DW_AT_artificial)
    if first is None or artificial is None or not artificial.value:
        return None
    words = object_qualifiers(state.types.type_of(first))
    parameters = Declarer(is_cplus=True).parameters(type, skip=1)
    declarator = f"{name}({'' if parameters == 'void' else parameters}){''.join(f' {word}' for word in words)}"
    return type_text(type.result, declarator, is_cplus=True)


def _short(text: str) -> str:
    """Return a declaration on one line, without the contents of types that have no name."""
    while "\n" in text:
        shorter = _BODY.sub("{...}", text)
        if shorter == text:
            return " ".join(text.split())
        text = shorter
    return text


# --- Symbols ------------------------------------------------------------------------------------------------------


def undeclared(state: Execution, *, is_code: bool, matches: Callable[[str], object]) -> Iterator[tuple[int, str]]:
    """Yield the symbols of code, or of data, without debugging information, by their addresses.

    Debugging information describes code if a unit covers its address, and data if a variable has its address or name.
    """
    symbols: set[tuple[int, str]] = set()
    for code in state.loaded.codes:
        is_known = _known_code(code) if is_code else _known_variables(code)
        for symbol in code.file.symbol_image.symbols():
            if not _is_symbol(symbol, is_code=is_code):
                continue
            if (matches(symbol.demangled) or matches(symbol.name)) and not is_known(symbol):
                symbols.add((code.in_program(symbol.value), symbol.demangled))
    yield from sorted(symbols)


def _is_symbol(symbol: Symbol, *, is_code: bool) -> bool:
    section = symbol.section
    if section is None or not symbol.name or symbol.type_number in (STT_SECTION, STT_FILE, STT_TLS):
        return False
    return section.is_allocated and bool(section.flags & SHF_EXECINSTR) is is_code


def _known_code(code: LoadedCode) -> Callable[[Symbol], object]:
    if not code.file.has_dwarf:
        return lambda _symbol: False
    index = code.file.dwarf.index
    spans = Ranges((low, high, 0) for unit in index.units for low, high in index.spans_of(unit))
    return lambda symbol: spans.at(symbol.value)


def _known_variables(code: LoadedCode) -> Callable[[Symbol], bool]:
    if not code.file.has_dwarf:
        return lambda _symbol: False
    places: dict[str, list[tuple[Unit, int]]] = {}
    for unit in code.file.dwarf.index.units:
        section = ".debug_str" + unit.suffix
        with noting(code.file.dwarf.note):
            for key, offsets in code.file.dwarf.index.names_of(unit).names.items():
                name = unit.source.text(section, key) if isinstance(key, int) else decode(key)
                places.setdefault(name, []).extend((unit, offset) for offset in offsets)

    starts = code.file.dwarf.index.variable_addresses()

    def is_known(symbol: Symbol) -> bool:
        return symbol.value in starts or any(
            KIND_OF.get(unit.die_known_at(offset).tag) == "variable" for unit, offset in places.get(symbol.name, ())
        )

    return is_known
