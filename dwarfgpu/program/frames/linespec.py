"""Places of a program as a user writes them: ``15``, ``+3``, ``add``, ``k.c:15``, ``k.c:add``, ``*0x1900``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError, nearest
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import first_lane
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code.code_lookup import name_and_offset
from dwarfgpu.program.code.kernel_parameters import is_body, source_name
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.frame import Frame, frames_at
from dwarfgpu.program.frames.names import Names
from dwarfgpu.program.types.model import Array, Function, resolved

if TYPE_CHECKING:
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.code.source_files import SourceFile
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.values.objects import Object


MAX_NAMES = 10_000
"""In more symbols nothing is looked for that may be meant."""
_FILE = re.compile(r"(.*?[^:]):(?!:)\s*(.+)$")
_NUMBER = re.compile(r"[+-]?\d{1,9}$")


@frozen
class Linespec:
    """A place of the program: a line, and an address of the running program where the text names one."""

    file: SourceFile | None = None
    line: int = 0
    address: int | None = None
    function: str | None = None
    """The function that was named, or that has the address."""
    is_address: bool = False
    """Whether the user named the address itself."""


@frozen
class CodeSpan:
    """The code of a function, or of a symbol without debugging information."""

    name: str
    low: int
    high: int
    entry: int
    """Where it is entered, which need not be its lowest address."""
    is_symbol: bool = False
    """Whether debugging information knows nothing of it."""


class Linespecs:
    """What names places of a program.

    ``here`` returns the line that numbers count from, and the file that they are lines of. It is called only for a
    number: to find the default takes a search of the whole program. ``at_calls`` asks for the places at which a call
    of a function begins: its inlined copies, too, and of an OpenCL kernel only the body.
    """

    def __init__(
        self, frame: Frame, here: Callable[[], tuple[SourceFile, int] | None] = lambda: None, *, at_calls: bool = False
    ) -> None:
        self.frame, self.at_calls = frame, at_calls
        self.files = frame.state.sources
        self.here = here

    def read(self, text: str) -> list[Linespec]:
        """Return the places that a text names, at least one: a function may have several."""
        text = text.strip()
        if text.startswith("*"):
            return [self._at(self.address(text[1:]))]
        if _NUMBER.match(text):
            here = self.here()
            if here is None:
                raise UsageError("a line number needs a source file", hint="write FILE:LINE")
            file, line = here
            return [Linespec(file, max(0, line + int(text)) if text[0] in "+-" else int(text))]
        if len(text) > 2 and text[0] == text[-1] == "'":
            text = text[1:-1]
        match = _FILE.match(text)
        if match is not None and not ("::" in text and any(True for _span in self.functions(text))):
            return list(self._in_file(match[1].strip().strip("'\""), match[2].strip()))
        spans = list(self.functions(text))
        if not spans:
            symbols = chain.from_iterable(code.file.symbol_image.symbols() for code in self.files.loaded.codes)
            near = nearest(text, {symbol.demangled for symbol in islice(symbols, MAX_NAMES) if symbol.is_defined})
            hint = None if near is None else f"did you mean {near}?"
            raise NotFound("no_function", f'Function "{text[:80]}" not defined.', hint=hint)
        return [self._at(span.entry, span.name, is_address=False) for span in spans]

    def address(self, text: str) -> int:
        """Return the address in the running program that a text names: a number, a pointer, a function or a symbol."""
        try:
            mask = self.frame.active_mask if self.frame.has_lanes else None  # addresses of code are equal in all lanes
            value = self.frame.expression(text).object(None if not mask else first_lane(mask))
            address = address_of(value)
        except DwarfGpuError:
            name, offset = name_and_offset(text)
            symbol = next(self.functions(name), None)
            if symbol is None:
                raise
            return symbol.entry + (offset or 0)
        if address is None:
            raise UsageError(f"{text[:60]!r} is not an address", hint="it is a number, such as 0x1900 or $pc")
        return address

    # --- Lines ----------------------------------------------------------------------------------------------------

    def _in_file(self, name: str, rest: str) -> Iterator[Linespec]:
        files = self.files.named(name)
        if not files:
            raise NotFound("no_file", f"No source file named {name[:80]}.")
        if rest.isdecimal() and rest.isascii() and len(rest) < 10:
            with_code = [file for file in files if file.next_line(1) is not None]
            yield from (Linespec(file, int(rest)) for file in (with_code or files)[:1])
            return
        paths = {file.path for file in files}
        places = [self._at(span.entry, span.name, is_address=False) for span in self.functions(rest)]
        places = [place for place in places if place.file is not None and place.file.path in paths]
        if not places:
            raise NotFound("no_function", f'Function "{rest[:80]}" not defined in "{name[:80]}".')
        yield from places

    # --- Addresses and functions ----------------------------------------------------------------------------------

    def _at(self, address: int, function: str | None = None, *, is_address: bool = True) -> Linespec:
        line = self.files.at(address)
        if function is None:
            span = self.function_at(address)
            function = None if span is None else span.name
        if line is None:
            return Linespec(None, 0, address, function, is_address)
        return Linespec(line.file, line.line, address, function, is_address)

    def functions(self, name: str) -> Iterator[CodeSpan]:
        """Yield the functions with a name that have code; else where they are inlined; else those of symbols."""
        name = name.strip().strip("'\"")
        seen, names = set(), self.frame.state.part(Names)
        entries = list(names.find(name, ("function",))) or list(names.instances(name))
        if self.at_calls:
            linkage_names = [die.linkage_name or "" for _code, die in entries]
            kernels = {source_name(each) for each in linkage_names if is_body(each)}
            entries = [(code, die) for code, die in entries if (die.linkage_name or die.name) not in kernels]
        for spans in (
            (spans_of(code, die)[:1] for code, die in entries),
            (_inlined(code, die) for code, die in entries),
        ):
            for span in chain.from_iterable(spans):
                if span.entry not in seen:
                    seen.add(span.entry)
                    yield span
            if seen and not self.at_calls:
                return
        for code in () if seen else self.files.loaded.codes:
            image = code.file.symbol_image
            for symbol in image.symbols_named(name) or image.symbols_called(name):
                address = code.in_program(symbol.value)
                if symbol.is_defined and code.holds(address) and address not in seen:
                    seen.add(address)
                    entry = code.behind_header(address)
                    known = self.function_at(entry)
                    if known is None or known.entry != entry or known.is_symbol:
                        known = CodeSpan(symbol.name, entry, address + symbol.size, entry, is_symbol=True)
                    yield known

    def function_at(self, address: int) -> CodeSpan | None:
        """Return the function with code at an address, as its stretch that contains the address."""
        return next((span for span in self.stretches_at(address) if span.low <= address < span.high), None)

    def stretches_at(self, address: int) -> list[CodeSpan]:
        """Return all stretches of the function with code at an address; the symbol where there is no such function."""
        code = self.files.loaded.at(address)
        if code is None:
            return []
        die = code.function_at(address)
        if die is not None:
            return spans_of(code, die)
        symbol = code.file.symbol_image.symbol_at(code.in_file(address))
        if symbol is None or not symbol.size:
            return []
        low = code.in_program(symbol.value)
        entry = code.behind_header(low)
        return [CodeSpan(symbol.demangled, entry, low + symbol.size, entry, is_symbol=True)]


def spans_of(code: LoadedCode, die: Die) -> list[CodeSpan]:
    """Return the stretches of code of a function, the one with its entry first (DWARF 5, 2.17 and 2.18)."""
    ranges = [(code.in_program(low), low, high) for low, high in die.ranges() if low < high]
    if not ranges:
        return []
    is_symbol = is_body(die.linkage_name)  # its name in the source is the symbol of the function that calls it
    name = (None if is_symbol else qualified_name(die)) or die.linkage_name or "(no name)"
    at, start = die.number(dw.DW_AT_entry_pc), ranges[0][1]  # the address, or how far behind the base address it is
    if at is not None:
        start = start + at.integer() if at.value_class == "constant" else at.address()
    entry = code.behind_header(code.in_program(start))
    return [CodeSpan(name, code.behind_header(start), start + high - low, entry) for start, low, high in ranges]


def _inlined(code: LoadedCode, die: Die) -> Iterator[CodeSpan]:
    """Yield the code of the inlined calls of a function, from all functions of its unit (DWARF 5, 3.3.8.2)."""
    abstract = next((each for each in die.origins() if each.number(dw.DW_AT_inline) is not None), None)
    for entry in () if abstract is None else die.unit.dies():
        if entry.tag == dw.DW_TAG_inlined_subroutine and entry.origin() == abstract:
            yield from spans_of(code, entry)[:1]


@frozen
class SymbolAt:
    """The symbol that an address belongs to."""

    name: str
    """Its name as C++ has it."""
    offset: int
    """How far behind its start, or its first instruction, the address is."""
    section: str
    file: str
    """The file that it is in."""


def symbol_at(state: Execution, address: int) -> SymbolAt | None:
    """Return the symbol at an address of the running program."""
    for code, symbol, offset in state.loaded.symbols_at(address):
        if symbol.section is not None:
            return SymbolAt(symbol.demangled, offset, symbol.section.name, code.file.name)
    return None


def address_of(operand: Object) -> int | None:
    """Return the address that a value is: a number, where a pointer points, or where a function begins."""
    target = operand.target()
    if isinstance(resolved(target.type), (Function, Array)):
        address = target.address
        value = None if address is None else address.value
    else:
        value = python_value(target)
    return value if isinstance(value, int) else None


# --- The variables that are visible at an address -----------------------------------------------------------------


def scope_at(frame: Frame, address: int) -> tuple[Variable, ...]:
    """Return the variables of the function at an address and of the blocks that hold it, the inner ones first."""
    state = frame.state
    code = state.loaded.at(address)
    if code is None:
        return ()
    return frames_at(state, code, address)[0].variables()


def frame_base_of(variable: Variable) -> Expression | None:
    """Return the frame base of the function that a variable belongs to, where it is one expression."""
    for owner in variable.die.ancestors():
        if owner.tag == dw.DW_TAG_subprogram:
            base = owner.find_number(dw.DW_AT_frame_base)
            if base is None or base.value_class == "loclist":
                return None
            expressions = variable.frame.unit_info(base.die.unit, variable.code).expressions(base)
            return None if isinstance(expressions, tuple) else expressions
    return None
