"""The code of a program, with a machine that executes it or without one: what all frames have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.program.files.codelookup import calls_at
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.variables.contents import FileContents
from dwarfgpu.program.variables.names import Names
from dwarfgpu.program.variables.scopes import functions_at

if TYPE_CHECKING:
    from dwarfgpu.backends.protocol import Backend
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codelookup import CallFrame
    from dwarfgpu.program.machines.loaded import Loaded, LoadedCode
    from dwarfgpu.program.sources.files import SourceFiles
    from dwarfgpu.program.variables.remembered import Remembered
    from dwarfgpu.program.variables.scopes import FunctionScope
    from dwarfgpu.targets.target import Target


class State:
    """Files of code and, where there is one, the machine. What is found out about an address is found once."""

    def __init__(
        self, loaded: Loaded, target: Target, backend: Backend | None = None, rules: Rules | None = None
    ) -> None:
        self.loaded = loaded
        self.target = target
        self.backend: Backend = FileContents(loaded, target) if backend is None else backend
        self.rules = rules or PRESETS[target.default_rules]
        self.types = Types()
        self.names = Names(self)
        self.remembered: Remembered | None = None
        """What ``$1`` and ``$foo`` are, where somebody keeps values."""
        self._calls: dict[tuple[int, int], tuple[CallFrame, ...]] = {}
        self._functions: dict[tuple[int, int], tuple[FunctionScope, ...]] = {}
        self._sources: SourceFiles | None = None

    @property
    def sources(self) -> SourceFiles:
        """The source files of the code."""
        if self._sources is None:
            from dwarfgpu.program.sources.files import SourceFiles

            self._sources = SourceFiles(self)
        return self._sources

    def with_machine(self, backend: Backend) -> State:
        """The same code with another machine, or with the same one later: what is known of the code is kept."""
        found = State(self.loaded, self.target, backend, self.rules)
        found.types, found.names = self.types, self.names
        found._calls, found._functions = self._calls, self._functions
        return found

    def calls_at(self, code: LoadedCode, place: int) -> tuple[CallFrame, ...]:
        """The functions at an address with their lines in the source, innermost first."""
        key = id(code), place
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = calls_at(code.file, code.in_file(place))
        return found

    def functions_at(self, code: LoadedCode, function: Die, place: int) -> tuple[FunctionScope, ...]:
        """The functions at an address with their blocks, innermost first."""
        key = id(code), place
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = functions_at(function, code.in_file(place))
        return found

    def symbol_at(self, address: int) -> str | None:
        """The symbol that an address belongs to, and how far behind it: ``name+4``."""
        for code in self.loaded.codes:
            inside = code.in_file(address)
            found = code.file.symbol_image.symbol_at(inside)
            if found is None or (not found.size and found.type in ("OBJECT", "NOTYPE")):
                continue
            offset = inside - found.value
            return f"{found.demangled}+{offset}" if offset else found.demangled
        return None

    def code_of(self, unit: Unit, likely: LoadedCode | None = None) -> LoadedCode:
        """The loaded file that a unit belongs to; a split unit belongs to the file with its skeleton."""
        if likely is not None and likely.file.has_dwarf and likely.file.dwarf is unit.dwarf:
            return likely
        codes = self.loaded.codes
        for code in codes:
            if code.file.has_dwarf and code.file.dwarf is unit.dwarf:
                return code
        return likely or codes[0]
