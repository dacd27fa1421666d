"""A bridge to pyelftools: what its objects mean on a GPU, and its objects for what this library has read.

Scripts hold an ``ELFFile``, its ``DIE`` objects, their attributes, location lists and call frame entries. A `Bridge`
takes each of them and gives what pyelftools does not know: the operations of the LLVM extension, values in the lanes of
a stopped machine, call frame rows with address spaces. Both ways lead over the offset in the section.

No other module of the package imports pyelftools.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from functools import cached_property
from io import BytesIO
from typing import Any, TypeAlias

from elftools.dwarf.callframe import CIE, FDE, CFARule, CFIEntry, RegisterRule
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.enums import ENUM_DW_AT
from elftools.dwarf.locationlists import LocationEntry, LocationExpr
from elftools.dwarf.structs import DWARFStructs
from elftools.dwarf.typeunit import TypeUnit
from elftools.elf.elffile import ELFFile

# All that the bridge knows of the inside of the library:
from dwarfgpu import dialects
from dwarfgpu.dwarf_constants import DW_TAG_subprogram
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, Unsupported, UsageError
from dwarfgpu.expr.instruction import Expression, decode
from dwarfgpu.expr.listing import text as listing
from dwarfgpu.objfile.info.dies import Attribute, Die
from dwarfgpu.objfile.list_encoding import read_list
from dwarfgpu.objfile.opening import open_stream
from dwarfgpu.program.code.code_object import CodeObject
from dwarfgpu.program.code.frame_rows import Cie, Fde, Frames, UnwindRules
from dwarfgpu.program.code.scopes import DECLARED
from dwarfgpu.program.frames.frame import Frame
from dwarfgpu.program.frames.variable import STATIC, Described, Variable, kind_of
from dwarfgpu.render.dump import listed_text
from dwarfgpu.states.program import Program

__all__ = ["Bridge"]

Where: TypeAlias = "DIE | CompileUnit | TypeUnit | DWARFStructs | CFIEntry | None"
"""What tells the format of an expression."""

DEBUG_INFO, DEBUG_TYPES = ".debug_info", ".debug_types"
_BLOCKS = ("block", "exprloc")


class Bridge:
    """An ELF file as pyelftools and as this library have it: ``Bridge(elffile)`` or ``Bridge(dwarfgpu.open(path))``.

    ``dialect`` names the numbers of operations in an ELFFile, if not those that its target has by default. A program
    has been opened with its own.
    """

    def __init__(self, file: ELFFile | Program, *, dialect: str | None = None) -> None:
        if isinstance(file, Program):
            if dialect is not None:
                message = f"the dialect {dialect} is named for a program, which has its own"
                raise UsageError(message, hint="name it in `dwarfgpu.open(path, dialect=...)`")
            self.program = file
        elif isinstance(file, ELFFile):
            self.program = Program(CodeObject(open_stream(file.stream, limit=sys.maxsize - 1)), dialect=dialect)
            self.elffile = file
        else:
            raise _wrong(file, "an ELFFile of pyelftools, or a program that `dwarfgpu.open` has opened")
        self._dialect = dialects.get(self.program.dialect or self.program.target.default_dialect)

    def __repr__(self) -> str:
        return f"Bridge({self.program.file.name!r})"

    # --- From this library to pyelftools --------------------------------------------------------------------------

    @cached_property
    def elffile(self) -> ELFFile:
        """The file as pyelftools reads it; of a program with containers, the code object that was opened."""
        return ELFFile(BytesIO(self.program.file.image.data))

    @cached_property
    def dwarfinfo(self) -> DWARFInfo:
        """The DWARFInfo of pyelftools over the sections as this library reads them.

        They are relocated and decompressed, also where ``elffile.get_dwarf_info()`` does not know the relocations
        (AMDGPU) or the compression (zstd). A stripped file has those of its separate debug file.
        """
        image = self.program.file.debug.image
        sections = {}
        for parameter in inspect.signature(DWARFInfo).parameters:
            if parameter.endswith("_sec"):
                sections[parameter] = self._section(f".{parameter.removesuffix('_sec')}")
        config = DwarfConfig(
            little_endian=image.byte_order == "little",
            machine_arch=self.elffile.get_machine_arch(),
            default_address_size=image.address_size,
        )
        return DWARFInfo(config=config, **sections)

    def _section(self, name: str) -> DebugSectionDescriptor | None:
        file = self.program.file
        owner = file if name == ".eh_frame" else file.debug
        section = owner.image.section(name)
        data = owner.sections.data(name)
        if section is None or data is None:
            return None
        return DebugSectionDescriptor(BytesIO(data), name, section.header.offset, len(data), section.address)

    def die(self, entry: Die | Variable) -> DIE:
        """Return the DIE of pyelftools for an entry, or for the entry that declares a variable."""
        own = entry.die if isinstance(entry, Variable) else entry
        if not isinstance(own, Die):
            raise _wrong(entry, "an entry or a variable of this library")
        unit = own.unit
        self._check_owner(own)
        offset = own.section_offset
        try:
            if unit.section == DEBUG_TYPES:
                return self.dwarfinfo.get_TU_by_sig8(unit.header.signature or 0).get_DIE_from_refaddr(offset)
            return self.dwarfinfo.get_DIE_from_refaddr(offset)
        except Exception as error:  # it raises what comes
            what = f"the entry at {unit.section}+{offset:#x}: {type(error).__name__}: {error}"
            hint = "this library has read it: ask the entry itself"
            raise Unsupported("pyelftools", f"pyelftools cannot read {what}", hint=hint) from error

    def _check_owner(self, entry: Die) -> None:
        """Refuse the entry of another file, which includes split units: pyelftools reads none."""
        unit = entry.unit
        if unit.dwarf is not self.program.file.dwarf or unit.section not in (DEBUG_INFO, DEBUG_TYPES):
            message = f"the entry at {unit.section}+{entry.section_offset:#x} is not one of {self.program.file.name}"
            raise UsageError(message, hint="make the bridge from the program that the entry is from")

    # --- Entries and attributes -------------------------------------------------------------------------------------

    def entry(self, die: DIE) -> Die:
        """Return the entry that a DIE of pyelftools is, by its offset."""
        if not isinstance(die, DIE):
            raise _wrong(die, "a DIE of pyelftools")
        if die.is_null():
            message = f"the DIE at {die.offset:#x} is a null entry, which ends the children of another"
            raise UsageError(message, hint="pass over the DIEs whose `is_null()` is true")
        section = DEBUG_TYPES if isinstance(die.cu, TypeUnit) else DEBUG_INFO
        message = f"no entry of {self.program.file.name} is the DIE at {section}+{die.offset:#x}"
        try:
            entry = self.program.file.dwarf.die_at(die.offset, section)
        except DwarfGpuError as error:
            raise UsageError(message, hint=f"is it a DIE of another file? {error.message}") from error
        if entry.abbreviation.code != die.abbrev_code:
            raise UsageError(message, hint="make the bridge from the ELFFile that the DIE is from")
        return entry

    def attribute(self, attribute: AttributeValue, die: DIE | None = None) -> Attribute:
        """Return an attribute as this library has it. Give its DIE where that is in a type unit of DWARF 4."""
        if not isinstance(attribute, AttributeValue):
            raise _wrong(attribute, "an attribute of pyelftools")
        entry = self._entry_with(attribute) if die is None else self.entry(die)
        number = ENUM_DW_AT.get(attribute.name, attribute.name)
        positions = entry.unit.positions(entry)
        start = attribute.offset - entry.unit.offset
        for own, (begin, _end) in zip(entry.attributes, positions, strict=True):
            if own.number == number and begin == start:
                return own
        raise self._no_attribute(attribute)

    def _entry_with(self, attribute: AttributeValue) -> Die:
        try:
            unit = self.program.file.dwarf.unit_at(attribute.offset)
            offset = unit.tree.entry_around(attribute.offset - unit.offset)
        except DwarfGpuError as error:
            raise self._no_attribute(attribute) from error
        if offset is None:
            raise self._no_attribute(attribute)
        return unit.die_known_at(offset)

    def _no_attribute(self, attribute: AttributeValue) -> UsageError:
        message = f"{self.program.file.name} has no {attribute.name} at {DEBUG_INFO}+{attribute.offset:#x}"
        return UsageError(message, hint="name the DIE that it is an attribute of, as the second argument")

    # --- Expressions ------------------------------------------------------------------------------------------------

    def expression(self, source: Any, where: Where = None) -> Expression:
        """Decode an operation expression. What cannot be decoded is its ``fault``, behind the instructions before it.

        ``source`` is an attribute, a `LocationExpr`, a `LocationEntry`, a rule of call frame information, or bytes as
        pyelftools has them, which is a list of numbers. ``where`` is the DIE, the unit, its ``structs`` or the call
        frame entry that it is from. Without it, an attribute is found by its offset, and other expressions are read
        as those of DWARF 5 in its 32-bit format.
        """
        if isinstance(source, AttributeValue):
            attribute = self.attribute(source, where if isinstance(where, DIE) else None)
            expression = self._of_attribute(attribute)
            if expression.data != bytes(source.value):
                raise self._no_attribute(source)
            return expression
        return self._decoded(_expression_bytes(source), self._format(where), None, 0)

    def _of_attribute(self, attribute: Attribute) -> Expression:
        kind = attribute.value_class
        if kind not in _BLOCKS:
            hint = "`locations` reads a location list" if kind == "loclist" else None
            message = f"{attribute.name} has no expression ({attribute.form_name})"
            raise UsageError(message, hint=hint or "attributes of the classes exprloc and block have one")
        block = attribute.block()
        return self._decoded(block.data, attribute.die.unit.format, block.section, block.offset)

    def _decoded(self, data: bytes, form: Format, section: str | None, offset: int) -> Expression:
        return decode(data, self._dialect, form, section=section, offset=offset, known_in=dialects.known_in)

    def _format(self, where: Where) -> Format:
        image = self.program.file.debug.image
        if where is None:
            return Format(image.address_size, 4, image.byte_order)
        owner = where.cu if isinstance(where, DIE) else where
        structs = owner.structs if isinstance(owner, (CompileUnit, TypeUnit, CFIEntry)) else owner
        if not isinstance(structs, DWARFStructs):
            raise _wrong(where, "a DIE, a unit, its structs or a call frame entry of pyelftools")
        version = 5 if isinstance(where, CFIEntry) else structs.dwarf_version
        return Format(structs.address_size, structs.dwarf_format // 8, image.byte_order, version)

    def text(self, source: Any, where: Where = None) -> str:
        """Return an expression as text with register names, as ``describe_DWARF_expr`` of pyelftools is called."""
        return listing(self.expression(source, where), self.program.target)

    def locations(self, attribute: AttributeValue | DIE, die: DIE | None = None) -> tuple[Described, ...]:
        """Return the expressions of an attribute, those of a location list with the addresses they are valid at.

        A DIE stands for its DW_AT_location. The expressions are as the file has them, without repairs.
        """
        if isinstance(attribute, DIE):
            entry = self.entry(attribute)
            location = entry.get("DW_AT_location")
            if location is None:
                return ()
        else:
            location = self.attribute(attribute, die)
        if location.value_class != "loclist":
            return (self._described(self._of_attribute(location)),)
        unit = location.die.unit
        section, offset = location.list_place()
        located = read_list(unit.tables.list_data(section), offset, section=section, context=unit.list_context)
        if located.error is not None:
            raise located.error
        return tuple(
            self._described(
                self._decoded(item.expression, unit.format, section, item.expression_offset),
                None if item.default else (item.start, item.end),
                is_default=item.default,
            )
            for item in located.entries
        )

    def _described(
        self, expression: Expression, span: tuple[int, int] | None = None, *, is_default: bool = False
    ) -> Described:
        return Described(listing(expression, self.program.target), span, is_default, expression)

    # --- Values -----------------------------------------------------------------------------------------------------

    def variable(self, die: DIE | Die, frame: Frame | None = None) -> Variable:
        """Return the variable, parameter or constant that a DIE declares, with its values in a frame.

        ``frame`` is one of a wave of an attached machine: ``bridge.program.attach(path)[0].frame()``. Without it the
        type and the locations are known, and nothing has a value that is in a machine.
        """
        entry = die if isinstance(die, Die) else self.entry(die)
        if entry.tag not in DECLARED:
            message = f"the entry at {entry.unit.section}+{entry.section_offset:#x} is a {entry.tag_name}, no variable"
            raise UsageError(message, hint="variables, parameters and constants have values")
        self._check_owner(entry)
        function = next((owner for owner in entry.ancestors() if owner.tag == DW_TAG_subprogram), None)
        kind = STATIC if function is None else kind_of(entry)
        if frame is None:
            return Variable(self.program.outside, entry, self.program.outside.code_of(entry.unit), kind)
        code = frame.code_of(entry.unit)
        if code.file.dwarf is not entry.unit.dwarf:
            message = f"the frame is not one of {self.program.file.name}"
            raise UsageError(message, hint="attach the machine to `bridge.program`, and take a frame from there")
        if function is None:
            return Variable(frame, entry, code, kind)
        for variable in frame.variables():
            if entry in variable.die.origins():
                return variable
        name, owner = entry.name or "the variable", function.name or "a function"
        message = f"{name} of {owner} cannot be seen at the place of the frame in {frame.name or '??'}"
        raise UsageError(message, hint="choose a frame of its function, at a place in its block")

    # --- Call frame information -------------------------------------------------------------------------------------

    @cached_property
    def _frames(self) -> Frames:
        frames = self.program.file.frames
        frames.use_dialect(self._dialect.name)
        return frames

    def frame_entries(self) -> tuple[Cie | Fde | DwarfGpuError, ...]:
        """Return all call frame entries of the file; one that cannot be read is an error in this list."""
        entries = self._frames.entries()
        return tuple(entry for entry in entries if isinstance(entry, (Cie, Fde, DwarfGpuError)))

    def frame_entry(self, entry: CIE | FDE) -> Cie | Fde:
        """Return the call frame entry that one of pyelftools is, by its offset."""
        if not isinstance(entry, (CIE, FDE)):
            raise _wrong(entry, "a call frame entry of pyelftools")
        common = entry if entry.cie is None else entry.cie
        name = ".eh_frame" if common.header.get("CIE_id") == 0 else ".debug_frame"
        kind = Cie if isinstance(entry, CIE) else Fde
        message = f"{self.program.file.name} has no such call frame entry at {name}+{entry.offset:#x}"
        for section in self._frames.sections:
            if section.name == name:
                try:
                    own = section.entry_at(entry.offset)
                except DwarfGpuError as error:
                    raise UsageError(message, hint=f"is it of another file? {error.message}") from error
                if isinstance(own, kind):
                    return own
        raise UsageError(message, hint="make the bridge from the ELFFile that the entry is from")

    def rows(self, entry: FDE | Fde | int) -> tuple[UnwindRules, ...]:
        """Return the rows of an entry, or of the one that describes the code at an address.

        A row has the addresses it is valid at, the rule of the CFA with its address space, and those of registers.
        """
        own = self._frames.fde_at(entry) if isinstance(entry, int) else self._own(entry)
        if isinstance(own, Fde):
            return tuple(self._frames.rows(own))
        where = f"{entry:#x}" if isinstance(entry, int) else f"a CIE of {self.program.file.name}"
        raise UsageError(f"there are no rows for {where}", hint="only frame description entries have rows")

    def frame_text(self, entry: CIE | FDE | Cie | Fde | DwarfGpuError) -> str:
        """Return one of `frame_entries` as text; the text of an entry that cannot be read is its error."""
        if isinstance(entry, DwarfGpuError):
            return f"error: {entry}"
        return "\n".join(listed_text(self._frames.listed(self._own(entry)), self._frames))

    def _own(self, entry: CIE | FDE | Cie | Fde) -> Cie | Fde:
        return entry if isinstance(entry, (Cie, Fde)) else self.frame_entry(entry)


def _expression_bytes(source: Any) -> bytes:
    """Return the bytes of an expression in one of the forms that pyelftools has them in."""
    if isinstance(source, (LocationExpr, LocationEntry)):
        source = source.loc_expr
    elif isinstance(source, CFARule):
        source = source.expr
    elif isinstance(source, RegisterRule):
        source = source.arg
    if isinstance(source, Iterable) and not isinstance(source, str):
        try:
            return bytes(source)
        except (TypeError, ValueError):
            pass
    raise _wrong(source, "an expression of pyelftools, or its bytes")


def _wrong(given: object, wanted: str) -> UsageError:
    name = type(given).__name__
    article = "an" if name[:1] in "AEIOaeio" else "a"
    return UsageError(f"{article} {name} is not {wanted}", hint="`dwarfgpu docs python` has an example of each call")
