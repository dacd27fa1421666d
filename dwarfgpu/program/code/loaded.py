"""Code that is loaded: the files, where each was put, which of them an address belongs to; and expressions in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu import budget, dialects
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.budget import remembered
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, MissingContext, UsageError, noting
from dwarfgpu.expr.context import DieInfo, DieReference
from dwarfgpu.expr.types import ENCODINGS, BaseType
from dwarfgpu.immutable import field, immutable
from dwarfgpu.machines.protocol import TRAPS
from dwarfgpu.objfile.elf.header import PF_X, PT_LOAD, SHN_UNDEF
from dwarfgpu.objfile.list_encoding import EntryList, read_list
from dwarfgpu.program.code.code_object import OFF, CodeObject, Policy
from dwarfgpu.targets.amdgpu import PRIVATE_LANE

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import Information
    from dwarfgpu.encoding import ByteOrder, Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.machines.protocol import TrapTable
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.objfile.info.dies import Attribute, Block, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.repairs import Site
    from dwarfgpu.program.code.scopes import FunctionScope, SourceCall
    from dwarfgpu.targets.target import Target


T = TypeVar("T")
HAS_TYPES = frozenset((0xA4, 0xA5, 0xA6, 0xA8, 0xA9, 0xF4, 0xF5, 0xF6, 0xF7, 0xF9))
"""The bytes of operations with a base type (DWARF 5, table 7.9), and those that GNU had for them before."""
SEARCHED = 4
"""How often the scopes of a function are searched for an address before all their edges are."""


class LoadedCode:
    """One file of code in a program; ``bias`` is added to its addresses, ``is_linked`` admits one that cannot run."""

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
        self._edges: dict[Die, list[int] | None] = {}
        """Where scopes of a function begin and end, of functions that are asked about again and again."""
        self._asked: dict[Die, int] = {}
        self._scopes_between: dict[tuple[Die, int], tuple[FunctionScope, ...]] = {}
        self.unwritten_places: dict[Die | None, dict[Die, int]] = {}
        """Addresses in local memory of variables without a location, by their functions (`local_layout`).

        None: those of all functions, where the file has one kernel."""
        self.unwritten_variables: frozenset[Die] | None = None
        """The variables of an unoptimized file without a location, once asked for."""

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
        for fde in frames.each_at(address):
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
        raise broken or NoInformation(NO_INFORMATION, f"the callers are not known: {self.file.name} {what}")

    def _kernel_at(self, address: int) -> str | None:
        if not self.file.is_amdgpu:
            return None
        symbol = self.file.symbol_image.symbol_at(address)
        entry = None if symbol is None else self.file.behind_header(symbol.value)
        return next((kernel.demangled for kernel in self.file.kernels.kernels if kernel.entry == entry), None)

    def function_at(self, pc: int) -> Die | None:
        """Return the function with code at an address, if the debugging information has one."""
        return self._function_in_file(self.in_file(pc))

    @remembered
    def _function_in_file(self, address: int) -> Die | None:
        functions = self.file.dwarf.index.functions_at(address) if self.file.has_dwarf else []
        return functions[-1] if functions else None

    @remembered
    def functions_at(self, pc: int) -> tuple[FunctionScope, ...]:
        """Return the functions at an address, innermost first: those inlined there, and the one they are in."""
        return self._functions_between(pc, self.in_file(pc))

    def _functions_between(self, pc: int, address: int) -> tuple[FunctionScope, ...]:
        """Return the functions at an address; between two edges of scopes they are the same everywhere."""
        from dwarfgpu.program.code.scopes import functions_at, scope_edges

        function = self.function_at(pc)
        if function is not None and function not in self._edges:
            self._asked[function] = self._asked.get(function, 0) + 1
            if self._asked[function] > SEARCHED:
                self._edges[function] = scope_edges(function)
        edges = None if function is None else self._edges.get(function)
        if function is None or edges is None:
            return functions_at(self.file, address)
        key = function, bisect_right(edges, address)
        if key not in self._scopes_between:
            self._scopes_between[key] = functions_at(self.file, address)
        return self._scopes_between[key]

    @remembered
    def calls_at(self, pc: int) -> tuple[SourceCall, ...]:
        """Return the functions at an address with their lines in the source, innermost first; at least one."""
        from dwarfgpu.program.code.code_lookup import calls_at

        return calls_at(self.file, self.in_file(pc), self.functions_at(pc))

    @remembered
    def declared_in(self, block: Die, address: int) -> list[tuple[Die, str]]:
        """Return what a block of a function declares at an address of the file, with the names."""
        from dwarfgpu.program.code.scopes import declared_in

        found = []
        for die in declared_in(block, address, self.file.dwarf.index):
            with noting(die.unit.dwarf.note):  # what is broken hides nothing beside it
                if die.name is not None:
                    found.append((die, die.name))
        return found

    @remembered
    def expression(self, data: bytes, form: Format, section: str, offset: int) -> Expression:
        """Return the expression at an offset of a section, decoded once."""
        from dwarfgpu.expr.instruction import decode

        return decode(data, self.dialect, form, section=section, offset=offset, known_in=dialects.known_in)

    @remembered
    def base_type(self, unit: Unit, offset: int) -> BaseType:
        """Return the type of the DW_TAG_base_type at an offset of a unit."""
        return base_type_of(entry_of(unit, offset))

    @cached_property
    def local_sizes(self) -> set[int]:
        """How many bytes of local memory the kernels have, if the file has one undefined symbol: a variable."""
        image = self.file.symbol_image
        names = {symbol.name for symbol in image.symbols() if symbol.section_index == SHN_UNDEF and symbol.name}
        sizes = {_local_size(kernel) for kernel in self.file.kernels.kernels if len(names) == 1} - {0}
        return set() if None in sizes else {size for size in sizes if size is not None}

    def repaired(self, expression: Expression, attribute: Attribute) -> Expression:
        """Return the expression of an attribute with the repairs that the policy allows."""
        if not self.file.is_amdgpu and not HAS_TYPES.intersection(expression.data):
            return expression
        return self._repaired(expression, attribute.die, attribute.index)

    @remembered
    def _repaired(self, expression: Expression, die: Die, index: int) -> Expression:
        from dwarfgpu.program.code.repairs import may_be_idiom, read_as_meant

        attribute = die.attributes[index]
        if not may_be_idiom(expression, attribute.name):
            return expression
        return read_as_meant(expression, self.site(expression, attribute), self.repair)

    def base_register(self, base: Attribute) -> int | None:
        """Return the register that a frame base is; None where it is no register."""
        if base.value_class not in ("exprloc", "block"):
            return None
        from dwarfgpu.program.code.repairs import register_of_base

        block = base.block()
        return register_of_base(self.expression(block.data, base.die.unit.format, block.section, block.offset))

    def is_kernel(self, function: Die) -> bool:
        """Return whether waves begin with a function: it has the descriptor of a kernel."""
        name = function.linkage_name or function.name
        return name is not None and self.file.symbol_image.symbol_named(f"{name}.kd") is not None

    def is_baseless_kernel(self, function: Die) -> bool:
        """Return whether a function is a kernel without a frame base."""
        return function.find_number(dw.DW_AT_frame_base) is None and self.is_kernel(function)

    def site(self, expression: Expression, attribute: Attribute) -> Site:
        """Return what repairs ask of the place of an expression."""
        from dwarfgpu.program.code.repairs import Site

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
        self.unwindings: dict[Target, Any] = {}
        """What `unwinding_of` remembers."""

    def at(self, pc: int) -> LoadedCode | None:
        """Return the file whose code contains an address."""
        return next((code for code in self.codes if code.holds(pc)), None)

    def code_of(self, unit: Unit, likely: LoadedCode | None = None) -> LoadedCode:
        """Return the file that a unit belongs to; for a split unit, the file with its skeleton."""
        for code in chain(() if likely is None else (likely,), self.codes):
            if code.file.has_dwarf and code.file.dwarf is unit.dwarf:
                return code
        return likely or self.codes[0]

    def described(self) -> Iterator[LoadedCode]:
        """Yield the files with debugging information."""
        return (code for code in self.codes if code.file.has_dwarf)

    def compile_units(self) -> Iterator[tuple[LoadedCode, Unit]]:
        """Yield the compilation units of all files."""
        return ((code, unit) for code in self.described() for unit in code.file.dwarf.compile_units())

    def symbols_at(self, address: int) -> Iterator[tuple[LoadedCode, Symbol, int]]:
        """Yield the symbols that an address belongs to, and how far behind the start of each it is."""
        for code in self.codes:
            inside = code.in_file(address)
            symbol = code.file.symbol_image.symbol_at(inside)
            if symbol is not None:
                yield code, symbol, code.file.offset_in(symbol, inside)

    def calls_at(self, pc: int) -> tuple[SourceCall, ...]:
        """Return the calls at an address, the innermost first; a call of nothing in code that is not known."""
        code = self.at(pc)
        if code is None:
            from dwarfgpu.program.code.scopes import NOWHERE

            return (NOWHERE,)
        return code.calls_at(pc)

    @remembered
    def information_at(self, pc: int) -> Information:
        """Return the call frame information of an address, looked up once."""
        code = self.at(pc)
        if code is None:
            from dwarfgpu.cfi.activation import OUTSIDE_CODE, NoInformation

            raise NoInformation(OUTSIDE_CODE, f"the address {pc:#x} is not in any loaded code")
        return code.information_at(pc)


def own_traps(codes: Iterable[LoadedCode]) -> list[tuple[int, int, TrapTable]]:
    """Return the addresses of code whose numbers of ``s_trap`` do not mean what they mean now, with their meanings."""
    return [(low, high, code.file.traps) for code in codes if code.file.traps is not TRAPS for low, high in code.spans]


# --- Expressions of entries: those of an attribute at a program location, and what is around each ---------------------


ENCODING_NAMES = {code: name for name, code in ENCODINGS.items() if code is not None}
ORDERS: dict[int, ByteOrder | None] = {dw.DW_END_default: None, dw.DW_END_big: "big", dw.DW_END_little: "little"}
BFLOAT16 = frozenset(("__bf16", "bfloat16", "bf16", "std::bfloat16_t"))
"""What compilers call the type that only its name tells from the half-precision one."""
MAX_SIBLINGS = 5_000
"""How many entries of a function are compared to find one with the same location."""
MAX_CONSTANT = 1 << 16
"""How many bytes an object has whose value is a number; none has more than 16."""


@immutable
class FileUnit:
    """A unit of a loaded file for ``pc``, an address of the program, in a caller one in the call; None is no place."""

    unit: Unit
    code: LoadedCode
    pc: int | None
    _entries: dict[DieReference, DieInfo] = field(factory=dict, init=False, eq=False, repr=False)
    """What evaluations have needed of entries."""

    # --- Questions of expressions ---------------------------------------------------------------------------------

    @property
    def reference_size(self) -> int:
        """Size of a reference to another section."""
        return self.unit.format.reference_size

    def base_type(self, offset: int) -> BaseType:
        """Return the type of the DW_TAG_base_type at a unit offset."""
        return self.code.base_type(self.unit, offset)

    def address(self, index: int) -> int:
        """Return an entry of ``.debug_addr``, relocated."""
        return self.code.in_program(self.unit.tables.address(index))

    def relocated(self, address: int) -> int:
        """Convert an address of the file to an address of the running program."""
        return self.code.in_program(address)

    def die(self, reference: DieReference) -> DieInfo:
        """Return what an evaluation needs of an entry of this unit, or of ``.debug_info``."""
        if (known := self._entries.get(reference)) is not None:
            return known
        if reference.base == "unit":
            die = entry_of(self.unit, reference.offset)
        else:
            die = self.unit.dwarf.die_at(reference.offset, ".debug_info" + self.unit.suffix)
        unit = self if die.unit is self.unit else FileUnit(die.unit, self.code, self.pc)
        location = die.find("DW_AT_location")
        constant = die.find("DW_AT_const_value")
        known = self._entries[reference] = DieInfo(
            unit,
            None if location is None else unit.expressions(location),
            None if constant is None else constant_bytes(constant),
        )
        return known

    def expression(self, block: Block) -> Expression:
        """Return an expression of the unit, decoded once."""
        return self.code.expression(block.data, self.unit.format, block.section, block.offset)

    # --- Expressions of attributes --------------------------------------------------------------------------------

    def expressions(self, attribute: Attribute) -> Expression | tuple[Expression, ...]:
        """Return an attribute's expression, or those of its location list for the program location (A.2.5.5)."""
        if attribute.value_class != "loclist":
            block = attribute.block()
            return self.decoded(attribute, block.data, block.section, block.offset)
        if self.pc is None:
            raise MissingContext("pc", "a location list can be read only at a program location")
        entries = location_list(attribute)
        return tuple(
            self.decoded(attribute, entry.expression, entries.section, entry.expression_offset)
            for entry in entries.matching(self.code.in_file(self.pc))
        )

    def decoded(self, attribute: Attribute, data: bytes, section: str, offset: int) -> Expression:
        """Return an expression of an attribute, with the repairs that the code is loaded with."""
        expression = self.code.expression(data, attribute.die.unit.format, section, offset)
        return self.code.repaired(expression, attribute)


FREE_ENTRIES = 256
"""A list of so many entries costs nothing; longer ones, which many variables may share, are paid from the budget."""


def location_list(attribute: Attribute) -> EntryList:
    """Return the location list that an attribute refers to."""
    budget.check()
    unit = attribute.die.unit
    section, offset = attribute.list_place()
    data = unit.tables.list_data(section)
    listed = read_list(data, offset, section=section, context=unit.list_context)
    if len(listed.entries) > FREE_ENTRIES:
        budget.spend(48 * (len(listed.entries) - FREE_ENTRIES))
    return listed


# --- Base types and constants -------------------------------------------------------------------------------------


def entry_of(unit: Unit, offset: int) -> Die:
    """Return the entry that an operand names by its offset in the unit."""
    try:
        return unit.die_at(offset)
    except DwarfGpuError as error:
        if error.kind != "bad_reference":
            raise
        message = f"no debugging information entry begins at offset {offset:#x} of the unit"
        raise IllFormed("bad_operand", message, spec="A.2.5.4.2 (5)") from None


def base_type_of(die: Die) -> BaseType:
    """Return the type that a DW_TAG_base_type describes (DWARF 5, 5.1; A.5.1)."""
    if die.tag != dw.DW_TAG_base_type:
        message = f"the entry at offset {die.offset:#x} of the unit is a {die.tag_name}, no DW_TAG_base_type"
        raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
    encoding, size, bits, order, vector = (
        _number(die, name)
        for name in ("DW_AT_encoding", "DW_AT_byte_size", "DW_AT_bit_size", "DW_AT_endianity", "DW_AT_LLVM_vector_size")
    )
    if encoding not in ENCODING_NAMES:
        what = "has no encoding" if encoding is None else f"has the encoding {encoding:#x}, which is not known"
        raise IllFormed("bad_type", f"the base type {die.name or ''} {what}", spec="DWARF 5, 5.1")
    if size is None and bits is None:
        raise IllFormed("bad_type", f"the base type {die.name or ''} has no size", spec="DWARF 5, 5.1")
    if size is not None and bits is not None and bits > 8 * size:
        raise IllFormed("bad_type", f"a base type of {bits} bits does not fit its {size} bytes", spec="DWARF 5, 5.1")
    whole = 8 * (size or 0) if bits is None else bits  # of a vector, that of one element
    name = ENCODING_NAMES[encoding]
    if name == "float" and whole == 16 and die.name in BFLOAT16:
        name = "bfloat16"
    byte_order = ORDERS.get(order or 0)
    if byte_order == die.unit.format.byte_order:
        byte_order = None  # what the target has anyway: the same type (A.2.5.2)
    return BaseType(name, whole, vector_size=vector, byte_order=byte_order)


def _number(die: Die, name: str) -> int | None:
    attribute = die.find(name)
    return None if attribute is None else attribute.unsigned()


def constant_bytes(constant: Attribute) -> bytes:
    """Return a DW_AT_const_value as it would be in memory.

    Whether DW_FORM_data1 to DW_FORM_data8 have a sign is left open (DWARF 5, 7.5.5). They are extended with zeros, as
    GDB does (dwarf2_const_value_data): GCC writes 200 of an `int` in DW_FORM_data1, and negative numbers with a sign.
    """
    kind = constant.value_class
    order = constant.die.unit.format.byte_order
    if kind in ("block", "exprloc"):
        return constant.block().data
    if kind == "string":
        return constant.string() + b"\0"
    if kind == "address":
        return constant.address().to_bytes(constant.die.unit.address_size, order)
    value = constant.integer()
    size = byte_size_of(constant.die)
    if size is None:
        size = max(1, (value.bit_length() + 8) // 8)
    if size > MAX_CONSTANT:
        message = f"a number is the value of an object of {size} bytes"
        error = MalformedFile("absurd_size", message, spec="DWARF 5, 4.1")
        raise constant.die.unit.error(error, constant.die.offset)
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, order)


def space_of_pointer(die: Die) -> int | None:
    """Return the address space that a variable points into; None for what is no pointer, or one without a space."""
    from dwarfgpu.program.types.model import Pointer, stripped
    from dwarfgpu.program.types.reader import Types

    kind = stripped(Types().type_of(die))
    return kind.address_space if isinstance(kind, Pointer) else None


def byte_size_of(die: Die) -> int | None:
    """Return the size of the type of an entry; None where nothing says it."""
    from dwarfgpu.program.types.model import known_size
    from dwarfgpu.program.types.reader import Types

    return known_size(Types().type_of(die))


# --- What is around an expression -----------------------------------------------------------------------------------


class Surroundings:
    """What is around an expression of an entry, as repairs ask for it."""

    def __init__(self, code: LoadedCode, die: Die, expression: Expression) -> None:
        self.code = code
        self.die = die
        self.unit = die.unit
        self.expression = expression

    def answer(self, question: str, *operands: int) -> Any:
        """Return what a method says; None where the file is broken there."""
        return _unbroken(lambda: getattr(self, question)(*operands))

    def address(self, index: int) -> int:
        """Return an entry of ``.debug_addr`` as it is in the file."""
        return self.unit.tables.address(index)

    def frame_base(self) -> int | None:
        """Return the register that is the frame base of the function."""
        bases = (entry.find_number(dw.DW_AT_frame_base) for entry in (self.die, *self.die.ancestors()))
        base = next(filter(None, bases), None)
        return None if base is None else self.code.base_register(base)

    def is_baseless_kernel(self) -> bool:
        """Return whether the function is a kernel without a frame base."""
        function = self._function()
        return function is not None and self.code.is_baseless_kernel(function)

    def _function(self) -> Die | None:
        return next((entry for entry in self.die.ancestors() if entry.tag == dw.DW_TAG_subprogram), None)

    def size(self) -> int | None:
        """Return the bytes of the object that the expression is about."""
        number = _unbroken(lambda: space_of_pointer(self.die))
        space = None if number is None else self.code.file.target.target.space(number)
        return byte_size_of(self.die) if space is None else space.address_bits // 8

    def is_private_pointer(self) -> bool:
        """Return whether that object is a pointer into private memory."""
        return space_of_pointer(self.die) == PRIVATE_LANE

    def is_shared(self) -> bool:
        """Return whether another variable of the function has the expression and is no pointer into private memory."""
        function = self._function()
        waiting = [] if function is None else [function]
        for _ in range(MAX_SIBLINGS):
            if not waiting:
                break
            entry = waiting.pop()
            waiting += _unbroken(lambda entry=entry: list(entry.children())) or ()  # type: ignore[misc]
            if _unbroken(lambda entry=entry: self._has_same(entry)):  # type: ignore[misc]
                return True
        return False

    def _has_same(self, entry: Die) -> bool:
        location = entry.find_number(dw.DW_AT_location)
        if location is None or entry == self.die:
            return False
        data = self.expression.data
        if location.value_class == "loclist":
            is_same = any(listed.expression == data for listed in location_list(location).entries)
        else:
            is_same = location.block().data == data
        return is_same and space_of_pointer(entry) != PRIVATE_LANE

    def is_sole_local(self) -> bool:
        """Return whether all kernels with local memory have as much of it as the object is large."""
        size = self.size()
        return size is not None and self.code.local_sizes == {size}

    def base_type(self, offset: int) -> BaseType:
        """Return the base type at an offset of the unit."""
        return base_type_of(self.unit.die_at(offset))

    def type_name(self, offset: int) -> str | None:
        """Return the name of the base type at an offset of the unit."""
        return self.unit.die_at(offset).name


def _unbroken(ask: Callable[[], T]) -> T | None:
    with suppress(DwarfGpuError):
        return ask()
    return None
