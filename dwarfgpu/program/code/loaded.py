"""Code that is loaded: the files, where each was put, and which of them an address belongs to."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu import dialects
from dwarfgpu.dwarf_constants import DW_AT_frame_base
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.protocol import TRAPS
from dwarfgpu.objfile.elf.header import PF_X, PT_LOAD
from dwarfgpu.program.code.code_object import OFF, CodeObject, Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dwarfgpu.cfi.activation import Information
    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.machines.protocol import TrapTable
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.repairs import Site
    from dwarfgpu.program.code.scopes import FunctionScope, SourceCall


T = TypeVar("T")
HAS_TYPES = frozenset((0xA4, 0xA5, 0xA6, 0xA8, 0xA9, 0xF4, 0xF5, 0xF6, 0xF7, 0xF9))
"""The bytes of operations with a base type (DWARF 5, table 7.9), and those that GNU had for them before."""
SEARCHED = 4
"""How often the scopes of a function are searched for an address before all their edges are."""


class LoadedCode:
    """One file of code in a running program. ``bias`` is what is added to the addresses in the file.

    A file that is not linked cannot run; with ``is_linked`` it is read as if it were.
    """

    def __init__(
        self,
        file: CodeObject,
        bias: int = 0,
        *,
        dialect: str | None = None,
        repair: Policy = OFF,
        is_linked: bool = False,
    ) -> None:
        if not (is_linked or file.image.is_linked):
            message = f"{file.name} is not linked, so it cannot have been loaded"
            raise UsageError(message, hint="link it, or name the file that was linked from it")
        self.file = file
        self.bias = bias
        self.dialect: Dialect = dialects.get(dialect or file.target.target.default_dialect)
        if dialect is not None:
            file.frames.use_dialect(dialect)
        self._mask = (1 << 8 * file.image.address_size) - 1
        self._code = tuple(
            (segment.address, segment.address + segment.memory_size)
            for segment in file.image.segments
            if segment.type == PT_LOAD and segment.flags & PF_X
        )
        self._data = tuple(
            (section.address, section.address + section.size) for section in file.image.sections if section.is_allocated
        )
        self.repair = repair
        """Which repairs the expressions of attributes go through."""
        self._expressions: dict[tuple[str, int, Format], Expression] = {}
        self._repaired: dict[tuple[str, Die, Expression], Expression] = {}
        self._functions: dict[int, Die | None] = {}
        self._scopes: dict[int, tuple[FunctionScope, ...]] = {}
        self._edges: dict[Die, list[int] | None] = {}
        """Where scopes of a function begin and end, of functions that are asked about again and again."""
        self._asked: dict[Die, int] = {}
        self._scopes_between: dict[tuple[Die, int], tuple[FunctionScope, ...]] = {}
        self._calls: dict[int, tuple[SourceCall, ...]] = {}
        self._local_sizes: set[int] | None = None
        self.base_types: dict[tuple[Unit, int], BaseType] = {}
        """Those that expressions have asked for, by unit and offset."""

    def __repr__(self) -> str:
        return f"LoadedCode({self.file.name} + {self.bias:#x})"

    # --- Addresses ------------------------------------------------------------------------------------------------

    def in_file(self, address: int) -> int:
        """Convert an address of the running program to an address of the file."""
        return (address - self.bias) & self._mask

    def in_program(self, address: int) -> int:
        """Convert an address of the file to an address of the running program.

        A number that is in no section is no address of the file, such as the offset of a variable in
        local memory, and stays as it is: "A must be adjusted by the difference between the ELF
        segment virtual address and the virtual address at which the segment is loaded" (A.2.5.4.4.3
        (1)). The address behind a section counts as one of it.
        """
        if self.bias and any(low <= address <= high for low, high in self._data):
            return (address + self.bias) & self._mask
        return address

    def behind_header(self, address: int) -> int:
        """Return an address of code; where an ``amd_kernel_code_t`` begins, that of the instructions it describes."""
        place = self.in_file(address)
        entry = self.file.behind_header(place)
        return address if entry == place else self.in_program(entry)

    def symbol(self, name: str) -> tuple[int, bool] | None:
        """Return the address in the program of an ELF symbol, and whether it is one of code; None without such."""
        image = self.file.symbol_image
        for symbol in image.symbols_named(name) or image.symbols_called(name):
            if symbol.section is not None and symbol.section.is_allocated:
                address = self.in_program(symbol.value)
                is_code = symbol.section in image.code_sections
                return (self.behind_header(address) if is_code else address), is_code
        return None

    def holds(self, pc: int) -> bool:
        """Return whether an address is one of its code."""
        address = self.in_file(pc)
        return any(low <= address < high for low, high in self._code)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The addresses of its executable segments."""
        return [(self._moved(low), self._moved(high)) for low, high in self._code]

    @property
    def text(self) -> tuple[int, int] | None:
        """The addresses of its instructions: those of ``.text``, or of all executable sections where there is none."""
        section = self.file.image.section(".text")
        spans = [(section.address, section.address + section.size)] if section is not None else [*self._code]
        if not spans:
            return None
        return self._moved(min(low for low, _high in spans)), self._moved(max(high for _low, high in spans))

    def _moved(self, address: int) -> int:
        return (address + self.bias) & self._mask

    # --- Code at an address ---------------------------------------------------------------------------------------

    def information_at(self, pc: int) -> Information:
        """Return the call frame information of an address; where several entries cover it, that of ``.debug_frame``."""
        from dwarfgpu.cfi.activation import NO_INFORMATION, OUTERMOST, Information, NoInformation

        address = self.in_file(pc)
        frames = self.file.frames
        what = "has no call frame information"
        if frames.indexes:
            what = f"has no call frame information for the address {pc:#x}"
        broken: DwarfGpuError | None = None
        for fde in frames.fdes_at(address):
            try:
                row = frames.row_at(address, fde)
            except DwarfGpuError as error:  # another section may have an entry that is right
                broken = broken or error
                continue
            if row is None or row.cfa is None or fde.cie.return_address is None:
                what = f"has only an empty entry of call frame information for the address {pc:#x}"
                continue  # as LLVM 22 and before it write for AMDGPU
            return Information(
                row,
                fde.cie.return_address,
                self.in_program(fde.low),
                lambda block, fde=fde: frames.expression(block, fde),  # type: ignore[misc]
                fde.cie.is_signal_frame,
            )
        kernel = self._kernel_at(address)
        if broken is None and kernel is not None:
            raise NoInformation(OUTERMOST, f"{kernel} is a kernel: no function has called it")
        message = f"the callers are not known: {self.file.name} {what}"
        raise broken or NoInformation(NO_INFORMATION, message)

    def _kernel_at(self, address: int) -> str | None:
        if not self.file.is_amdgpu:
            return None
        symbol = self.file.symbol_image.symbol_at(address)
        entry = None if symbol is None else self.file.behind_header(symbol.value)
        return next((kernel.demangled for kernel in self.file.kernels.kernels if kernel.entry == entry), None)

    def function_at(self, pc: int) -> Die | None:
        """Return the function with code at an address, if the debugging information has one."""
        address = self.in_file(pc)
        if address not in self._functions:
            functions = self.file.dwarf.index.functions_at(address) if self.file.has_dwarf else []
            self._functions[address] = functions[-1] if functions else None
        return self._functions[address]

    def functions_at(self, pc: int) -> tuple[FunctionScope, ...]:
        """Return the functions at an address, innermost first: those inlined there, and the one they are in."""
        address = self.in_file(pc)
        functions = self._scopes.get(address)
        if functions is None:
            functions = self._scopes[address] = self._functions_between(pc, address)
        return functions

    def _functions_between(self, pc: int, address: int) -> tuple[FunctionScope, ...]:
        """Return the functions at an address; between two edges of scopes they are the same everywhere."""
        from dwarfgpu.program.code.scopes import functions_at, scope_edges

        function = self.function_at(pc)
        if function is None:
            return functions_at(self.file, address)
        if function not in self._edges:
            asked = self._asked[function] = self._asked.get(function, 0) + 1
            if asked <= SEARCHED:
                return functions_at(self.file, address)
            self._edges[function] = scope_edges(function)
        edges = self._edges[function]
        if edges is None:
            return functions_at(self.file, address)
        key = function, bisect_right(edges, address)
        functions = self._scopes_between.get(key)
        if functions is None:
            functions = self._scopes_between[key] = functions_at(self.file, address)
        return functions

    def calls_at(self, pc: int) -> tuple[SourceCall, ...]:
        """Return the functions at an address with their lines in the source, innermost first; at least one."""
        address = self.in_file(pc)
        calls = self._calls.get(address)
        if calls is None:
            from dwarfgpu.program.code.code_lookup import calls_at

            calls = self._calls[address] = calls_at(self.file, address, self.functions_at(pc))
        return calls

    def expression(self, data: bytes, form: Format, section: str, offset: int) -> Expression:
        """Return the expression at an offset of a section, decoded once."""
        key = section, offset, form
        expression = self._expressions.get(key)
        if expression is None:
            from dwarfgpu.expr.instruction import decode

            expression = self._expressions[key] = decode(
                data, self.dialect, form, section=section, offset=offset, known_in=dialects.known_in
            )
        return expression

    def local_sizes(self) -> set[int]:
        """Return how many bytes of local memory the kernels have, if the file has one undefined symbol: a variable."""
        if self._local_sizes is None:
            from dwarfgpu.objfile.elf.header import SHN_UNDEF

            image = self.file.symbol_image
            names = {symbol.name for symbol in image.symbols() if symbol.section_index == SHN_UNDEF and symbol.name}
            kernels = self.file.kernels.kernels if len(names) == 1 else ()
            sizes = {size for kernel in kernels if (size := _local_size(kernel)) != 0}
            self._local_sizes = {size for size in sizes if size is not None} if None not in sizes else set()
        return self._local_sizes

    def repaired(self, expression: Expression, attribute: Attribute) -> Expression:
        """Return the expression of an attribute with the repairs that the policy allows."""
        if not self.file.is_amdgpu and not HAS_TYPES.intersection(expression.data):
            return expression
        key = attribute.name, attribute.die, expression
        result = self._repaired.get(key)
        if result is None:
            from dwarfgpu.program.code.repairs import may_be_idiom

            result = expression
            if may_be_idiom(expression, attribute.name):
                result = self._repair(expression, attribute)
            self._repaired[key] = result
        return result

    def _repair(self, expression: Expression, attribute: Attribute) -> Expression:
        from dwarfgpu.program.code.repairs import read_as_meant

        return read_as_meant(expression, self.site(expression, attribute), self.repair)

    def base_register(self, base: Attribute) -> int | None:
        """Return the register that a frame base is; None where it is no register."""
        if base.value_class not in ("exprloc", "block"):
            return None
        from dwarfgpu.program.code.repairs import register_of_base

        block = base.block()
        return register_of_base(self.expression(block.data, base.die.unit.format, block.section, block.offset))

    def is_baseless_kernel(self, function: Die) -> bool:
        """Return whether a function is a kernel without a frame base."""
        if function.find_number(DW_AT_frame_base) is not None:
            return False
        name = function.linkage_name or function.name
        return name is not None and self.file.symbol_image.symbol_named(f"{name}.kd") is not None

    def site(self, expression: Expression, attribute: Attribute) -> Site:
        """Return what repairs ask of the place of an expression."""
        from dwarfgpu.program.code.repairs import Site
        from dwarfgpu.program.code.unit_expressions import Surroundings

        around = Surroundings(self, attribute.die, expression)
        return Site(attribute.name, attribute.die.unit.producer, self.file.target.target, around.answer)


def _local_size(kernel: Kernel) -> int | None:
    if kernel.descriptor is not None:
        return kernel.descriptor.group_segment_fixed_size
    if kernel.code is not None:
        return kernel.code.workgroup_group_segment_byte_size
    return None


class Loaded:
    """All code that is loaded. Of files that overlap the first one counts."""

    def __init__(self, codes: Iterable[LoadedCode], executable: LoadedCode | None = None) -> None:
        self.codes: Sequence[LoadedCode] = tuple(codes)
        self.executable = executable
        """The file that a process was made of, if that is known."""
        self._information: dict[int, Information | DwarfGpuError] = {}

    def at(self, pc: int) -> LoadedCode | None:
        """Return the file whose code contains an address."""
        return next((code for code in self.codes if code.holds(pc)), None)

    def code_of(self, unit: Unit, likely: LoadedCode | None = None) -> LoadedCode:
        """Return the file that a unit belongs to; for a split unit, the file with its skeleton."""
        for code in chain(() if likely is None else (likely,), self.codes):
            if code.file.has_dwarf and code.file.dwarf is unit.dwarf:
                return code
        return likely or self.codes[0]

    def calls_at(self, pc: int) -> tuple[SourceCall, ...]:
        """Return the calls at an address, the innermost first; a call of nothing in code that is not known."""
        code = self.at(pc)
        if code is None:
            from dwarfgpu.program.code.scopes import NOWHERE

            return (NOWHERE,)
        return code.calls_at(pc)

    def information_at(self, pc: int) -> Information:
        """Return the call frame information of an address, looked up once."""
        information = self._information.get(pc)
        if information is None:
            try:
                information = self._look_up(pc)
            except DwarfGpuError as error:
                information = error
            self._information[pc] = information
        if isinstance(information, DwarfGpuError):
            raise information.with_traceback(None)
        return information

    def _look_up(self, pc: int) -> Information:
        code = self.at(pc)
        if code is None:
            from dwarfgpu.cfi.activation import OUTSIDE_CODE, NoInformation

            message = f"the address {pc:#x} is not in any loaded code"
            raise NoInformation(OUTSIDE_CODE, message)
        return code.information_at(pc)


def own_traps(codes: Iterable[LoadedCode]) -> list[tuple[int, int, TrapTable]]:
    """Return the addresses of code whose numbers of ``s_trap`` do not mean what they mean now, with their meanings."""
    return [(low, high, code.file.traps) for code in codes if code.file.traps is not TRAPS for low, high in code.spans]
