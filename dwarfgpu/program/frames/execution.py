"""What all frames of a program share: its code, and the machine that executes it, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.budget import MAX_FRAMES
from dwarfgpu.errors import EvaluationError
from dwarfgpu.expr.rules import PRESETS, Rules
from dwarfgpu.machines.protocol import Backend, Capabilities, memory_unavailable, register_unavailable
from dwarfgpu.objfile.elf.header import SHT_NOBITS

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import TailCallSite
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.source_files import SourceFiles
    from dwarfgpu.program.frames.history import Remembered
    from dwarfgpu.program.frames.macros import Macros
    from dwarfgpu.program.types.reader import Types
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

T = TypeVar("T")


class Execution:
    """The files of code, their types and names, and the machine that executes them, if there is one."""

    def __init__(
        self, loaded: Loaded, target: Target, backend: Backend | None = None, rules: Rules | None = None
    ) -> None:
        self.loaded = loaded
        self.target = target
        self.backend: Backend = FileContents(loaded, target) if backend is None else backend
        self.rules = rules or PRESETS[target.default_rules]
        self.trusts_lists = True
        """Whether a register without a rule counts as kept across a call where a location holds after the call, too.

        Compilers that know what a callee changes keep values in registers that the ABI lets it change (GCC's -fipa-ra).
        """
        self.max_frames = MAX_FRAMES
        """How many frames of a wave are computed."""
        self.remembered: Remembered | None = None
        """The values of ``$1`` and ``$foo``; None where values are not kept."""
        self._parts: dict[Any, Any] = {}
        """What classes know of the code, which other machines with the same code share."""
        self._tail_calls: dict[tuple[int, int], tuple[TailCallSite, ...]] = {}

    @cached_property
    def types(self) -> Types:
        """The types of the code."""
        from dwarfgpu.program.types.reader import Types

        return Types()

    @cached_property
    def macros(self) -> Macros:
        """The macros of the program."""
        from dwarfgpu.program.frames.macros import Macros

        return Macros()

    def part(self, kind: Callable[[Execution], T]) -> T:
        """Return what a class such as `Names` knows of the code, made when it is needed first."""
        if kind not in self._parts:
            self._parts[kind] = kind(self)
        return self._parts[kind]  # type: ignore[no-any-return]

    @cached_property
    def sources(self) -> SourceFiles:
        """The source files of the code."""
        from dwarfgpu.program.code.source_files import SourceFiles

        return SourceFiles(self.loaded)

    def with_machine(self, backend: Backend) -> Execution:
        """Return the same code with another machine, or the same machine later; what is known of the code is kept."""
        execution = Execution(self.loaded, self.target, backend, self.rules)
        execution.types, execution._parts = self.types, self._parts
        execution.trusts_lists = self.trusts_lists
        execution.max_frames = self.max_frames
        return execution

    def tail_calls(self, return_address: int, place: int) -> tuple[TailCallSite, ...]:
        """Return the tail calls that led from a call to the function at a place, innermost first; found once."""
        key = return_address, place
        if key not in self._tail_calls:
            from dwarfgpu.program.frames.call_sites import tail_calls_between

            self._tail_calls[key] = tail_calls_between(self.loaded, return_address, place)
        return self._tail_calls[key]

    def symbol_at(self, address: int) -> str | None:
        """Return the symbol that an address belongs to, and how far behind its start: ``name+4``."""
        place = self.symbol_place(address)
        return None if place is None else f"{place[0]}+{place[1]}" if place[1] else place[0]

    def symbol_place(self, address: int) -> tuple[str, int] | None:
        """Return the name of the symbol that an address belongs to, and how far behind its start the address is."""
        for _code, symbol, offset in self.loaded.symbols_at(address):
            if symbol.size or symbol.type not in ("OBJECT", "NOTYPE"):
                return symbol.demangled, offset
        return None

    def code_of(self, unit: Unit, likely: LoadedCode | None = None) -> LoadedCode:
        """Return the loaded file that a unit belongs to; for a split unit, the file with its skeleton."""
        return self.loaded.code_of(unit, likely)


# --- A file without a state ---------------------------------------------------------------------------------------

NO_STATE = "no state"
HINT = "attach a snapshot or a core file: --state on the command line"


class FileContents(Backend):
    """What the sections of files hold before the program runs."""

    capabilities = Capabilities(
        "file",
        "the sections of code objects, as they are before the program runs",
        many_waves=False,
        writes="are refused",
        unknown="registers, and memory that is in no section; reading them is an error",
        gathered="slot after slot",
        instances=False,
    )

    def __init__(self, loaded: Loaded, target: Target) -> None:
        self.loaded = loaded
        self.target = target
        self._words: dict[int, dict[int, tuple[bytes, str]]] = {}
        """The words that a loader sets, by the number of their code object, and why one is not known."""

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        if space.name in (self.target.default_space.name, "global", "constant", "generic"):
            for number, code in enumerate(self.loaded.codes):
                inside = code.in_file(address)
                for section in code.file.image.sections:
                    start = inside - section.address
                    if section.is_allocated and section.size and 0 <= start <= section.size - size:
                        if section.header.type == SHT_NOBITS:
                            data = bytearray(size)
                        else:
                            data = bytearray(section.data[start : start + size])
                        why = self._relocate(data, inside, number) if code.file.image.is_linked else ""
                        if why:
                            message = f"the loader sets what is at {address:#x}: {why}"
                            raise EvaluationError("not_loaded", message, spec="A.2.5.4.4.3", hint=HINT)
                        return bytes(data)
        raise memory_unavailable(space, address, size, NO_STATE)

    def _relocate(self, data: bytearray, address: int, number: int) -> str:
        """Set the words that a loader sets, in the bytes at an address in a file; return why one is not known."""
        from dwarfgpu.objfile.elf.loading import WORD, words_of_loader

        words = self._words.get(number)
        if words is None:
            code = self.loaded.codes[number]
            words = self._words[number] = words_of_loader(code.file.image, code.bias)
        end = address + len(data)
        near = range(address - WORD + 1, end) if len(data) < len(words) else words
        for place in near:
            word, why = words.get(place, (b"", ""))
            if place >= end or place + len(word) <= address:
                continue
            if why:
                return why
            first, last = max(place, address), min(place + len(word), end)
            data[first - address : last - address] = word[first - place : last - place]
        return ""

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        error = register_unavailable(register, NO_STATE)
        error.hint = HINT
        raise error
