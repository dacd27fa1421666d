"""The checks of debugging information entries: what an entry is made of, where it is, and what it refers to.

What can be said of an abbreviation is said once, when its first entry is reached; of the entries themselves only the
values that can be wrong are checked.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.attribute_rules import (
    CHILDREN,
    CLASSES,
    FORM_VERSIONS,
    MEANT,
    OWNERS,
    PARENTS,
    POINTERS,
    REQUIRED,
    SPACE_OF_BASE_TYPE,
    UNIT_TAGS,
    UNITS,
    needed_of,
    wanted_of,
)
from dwarfgpu.audits.verify.expressions import LOCATION, WITH_FRAMES, ExpressionChecks, has_addresses
from dwarfgpu.audits.verify.file_code import overlapping
from dwarfgpu.audits.verify.findings import ERROR, VENDOR, WARNING, Problem, rules
from dwarfgpu.audits.verify.lists import ListChecks, spans_text
from dwarfgpu.dwarf_constants import name_of, names
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.immutable import define, field
from dwarfgpu.objfile.elf import header as elf
from dwarfgpu.objfile.elf.header import SHF_EXECINSTR
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import VALUE_KINDS, Attribute, Die
from dwarfgpu.objfile.info.forms import class_of, form_name
from dwarfgpu.objfile.info.scopes import SCOPES, AddressSpans
from dwarfgpu.program.types.base_sizes import has_usual_encoding, has_usual_size
from dwarfgpu.program.types.model import Array, Struct, contradiction, known_size, resolved
from dwarfgpu.program.types.reader import Types, is_cplus
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.objfile.indexes.lookup import Dwarf
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.unit import Unit

    ValueCheck: TypeAlias = Callable[[Attribute], Iterator[Problem]]
    References: TypeAlias = list[tuple[int, list[int], list[int]]]
    Limits: TypeAlias = list[tuple[int, int, int, ValueCheck]]
    _Hot: TypeAlias = tuple["CheckPlan", int, References, Limits, bool]

_ENCODE = "encode the entry as its abbreviation says"
_REFER = "refer to the offset at which the entry begins"

RULES = rules(
    "entry",
    ("unreadable", ERROR, "DWARF 5, 7.5", "Units and entries can be read to their end.", _ENCODE),
    ("truncated", ERROR, "DWARF 5, 7.5.1", "An entry ends before its unit does.", _ENCODE),
    ("unknown-abbreviation", ERROR, "DWARF 5, 7.5.3", "The code of an entry is that of an abbreviation.", _ENCODE),
    ("unknown-form", ERROR, "DWARF 5, 7.5.6", "The standard or a known vendor defines each form.", _ENCODE),
    ("unknown-tag", WARNING, "DWARF 5, 7.5.3", "The standard or a vendor defines each tag.", "check the number",
     "the tag {tag:#x} has no meaning"),
    ("address-size", ERROR, "A.3.1", "The addresses of a unit have the size that the target has.",
     "write the size of addresses of the target in the header",
     "addresses of the unit have {size} bytes, those of the file {expected}"),
    ("augmentation", WARNING, "A.3.1.1", "An augmentation string is made of `[vendor:v1.2:options]`.",
     "write the vendor, a version, and what they define, in brackets",
     "the augmentation string is {augmentation!r:.60}"),
    ("unit-type", ERROR, "DWARF 5, 7.5.1", "The header of a unit has the type that belongs to the tag of its entry.",
     "write the unit type that belongs to the tag", "the unit is of type {type}, its entry is a {tag}"),
    ("attribute-twice", ERROR, "DWARF 5, 2.2", "An entry has an attribute once.", "remove one of them",
     "{name} is there {count} times"),
    ("attribute-class", ERROR, "DWARF 5, 7.5.5", "The form of a value is of a class that the attribute has.",
     "choose a form of a class in table 7.5", "{name} has {form}, a form of class {kind}", "{name} has {form}"),
    ("form-version", ERROR, "DWARF 5, 7.5.6", "The version of a unit has all forms that its entries use.",
     "write the version of the unit in its header",
     "the unit has version {version}, {form} of {name} is a form of version {since}"),
    ("after-end", ERROR, "DWARF 5, 2.3", "The unit entry owns all other entries of its unit.",
     "end the lists of children where they end, and let the abbreviation of an entry say whether it has children",
     "the unit entry ends at {end:#x}, further entries follow at {next:#x}"),
    ("no-end", ERROR, "DWARF 5, 2.3", "A null entry ends the children of each entry.",
     "write a null entry behind the last child of an entry",
     "{missing} lists of children have no end where the unit ends"),
    ("attribute-owner", ERROR, "A.A", "An attribute is of an entry that it means something for.",
     "move it to the entry that it describes", "{tag} has {name}", "{name} of a base type that is not DW_ATE_address"),
    ("attribute-tag", WARNING, "DWARF 5, A", "The standard defines an attribute for entries with the tag.",
     "correct the tag, or move the attribute to the entry that it describes", "{tag} has {name}"),
    ("attribute-missing", ERROR, "DWARF 5, 2.2", "An entry has the attributes that it needs.", "add the attribute",
     "{tag} has no {names}"),
    ("parent", ERROR, "DWARF 5, 2.3", "An entry is owned by one that can have it.",
     "move it to the entry it is part of", "{tag} is owned by {owner}"),
    ("reference", ERROR, "DWARF 5, 7.5.5", "A reference leads to the start of an entry.", _REFER,
     "{name} leads to {place:#x}, where no entry begins", "{name}: {reason}"),
    ("type-offset", ERROR, "DWARF 5, 7.5.1.3", "The header of a type unit leads to the type that the unit is for.",
     "write the offset of the type, from the start of the unit", "the type is at {place:#x}, where no type begins"),
    ("signature", ERROR, "DWARF 5, 7.5.5", "A program has a type unit with each signature that it refers to.",
     "link the object file with the type unit", "{name} is the signature {value:#018x}, of no type unit"),
    ("reference-tag", ERROR, "DWARF 5, 2.8", "A reference leads to an entry of the kind that is meant.", _REFER,
     "{name} of {tag} leads to {target} at {place:#x}"),
    ("completed", ERROR, "DWARF 5, 2.13.2",
     "A definition completes a declaration, and an inlined call a function that says how it is inlined.", _REFER,
     "{name} leads to {place:#x}, which has no {missing}", "{name} leads to {place:#x}, which has {present} itself"),
    ("declaration", ERROR, "DWARF 5, 2.13.1", "A declaration has no code and no size.",
     "leave DW_AT_declaration out of a definition", "the declaration has {name}"),
    ("reference-cycle", ERROR, "DWARF 5, 2.13.2", "An entry does not complete, modify or contain itself.",
     "break the cycle", "the entry leads back to itself"),
    ("value-unknown", ERROR, "DWARF 5, 7.8 to 7.20", "The standard or a vendor defines each encoded value.",
     "take a number that the standard names", "{name} is {value:#x}, which has no meaning"),
    ("lanes", ERROR, "A.3.3.5 (4)", "DW_AT_LLVM_lanes is greater than 0.", "write the number of lanes of a thread",
     "{name} is {value}"),
    ("lanes-of-target", WARNING, "A.3.3.5 (4)", "A function has as many lanes as a wave of the target has.",
     "write the wave size, or less for code of fewer lanes",
     "{name} is {value}, a wave of {target.name} has {target.lane_count}"),
    ("vector-size", ERROR, "A.5.1", "DW_AT_LLVM_vector_size is greater than 0.", "write the number of elements",
     "{name} is {value}"),
    ("address-space", ERROR, "A.5.3", "The target defines each address space.",
     "take a number that `dwarfgpu targets` shows for the processor",
     "{name} is {value}, which is not an address space of {target}"),
    ("memory-space", ERROR, "A.2.14", "The extension or a vendor defines each memory space.",
     "take a DW_MSPACE_LLVM_ number", "{name} is {value:#x}, which is not a memory space"),
    ("ranges-and-pc", ERROR, "DWARF 5, 2.17", "An entry has DW_AT_low_pc with DW_AT_high_pc, or DW_AT_ranges.",
     "keep one of them", "there are both DW_AT_ranges and DW_AT_high_pc"),
    ("pc-alone", ERROR, "DWARF 5, 2.17.2", "A function or a block has both DW_AT_low_pc and DW_AT_high_pc, or neither.",
     "add the other one", "there is a {name}, and no {other}"),
    ("range-reversed", ERROR, "DWARF 5, 2.17.2", "The code of an entry ends after it begins.", "correct DW_AT_high_pc",
     "the code goes from {low:#x} to {high:#x}"),
    ("range-outside", WARNING, "DWARF 5, 2.17", "Code of a block is in its function, that of a function in its unit.",
     "correct the ranges of one of them", "{low:#x} to {high:#x} is not within {around}"),
    ("not-in-code", WARNING, "DWARF 5, 2.17", "The code of a function is in an executable section.",
     "relocate the addresses of the entry", "{low:#x} to {high:#x} is not within an executable section"),
    ("overlap", WARNING, "DWARF 5, 2.17", "An address is code of one function, unless two have the same code.",
     "correct the ranges of one of them", "{low:#x} to {high:#x} overlaps the code of {other}, {begin:#x} to {end:#x}"),
    ("empty", WARNING, "DWARF 5, 2.17.2", "A function, an inlined call or a block has code.",
     "leave the entry out, or write how large its code is", "there is no code from {low:#x} to {high:#x}",
     "its list has no addresses"),
    ("sibling", ERROR, "DWARF 5, 2.3", "DW_AT_sibling leads to the next entry with the same owner.",
     "refer to the entry after the children of this entry", "{name} leads to {place:#x}, the next one is at {next:#x}",
     "{name} leads to {place:#x}, and no entry with the same owner follows"),
    ("base-size", WARNING, "DWARF 5, 5.1", "A base type has a size that its encoding, its name and its language have.",
     "write the size that values of the type have", "{name}, {encoding}, has {size} bytes"),
    ("base-encoding", ERROR, "DWARF 5, 5.1", "A base type of C has the encoding that its name says.",
     "write the encoding of the type that the name means", "{name} is encoded as {encoding}"),
    ("location-and-constant", ERROR, "DWARF 5, 4.1", "A variable has a location or a constant value, not both.",
     "keep the location", "there are both DW_AT_location and DW_AT_const_value"),
    ("string", ERROR, "DWARF 5, 7.5.5", "A string is in its section.", "correct the offset or the index of the string",
     "{name} is at {offset:#x} of {section}, which has {size} bytes", "{name}: {reason}"),
    ("address", ERROR, "DWARF 5, 7.5.5", "An address is in the file, and one by index in the table of the unit.",
     "relocate the address, and emit one by index to .debug_addr",
     "{name}: {reason}", "{name} is {value:#x}, behind all sections",
     "{operation} leads to {value:#x}, which is in no section"),
    ("file-number", WARNING, "DWARF 5, 2.14", "The file of a declaration is in the line table.",
     "number the files as the line table of the unit does",
     "{name} is {value}, the files of the line table end at {last}"),
    ("pointer-size", ERROR, "A.5.3", "A pointer has the size that addresses have in its address space.",
     "leave DW_AT_byte_size out, or write the size of addresses there", "{reason}",
     "the pointer has {size} bytes, an address {expected}"),
    ("member-outside", WARNING, "DWARF 5, 5.7.6", "A member is within the structure that it is of.",
     "correct DW_AT_data_member_location or the size of the structure", "the member is at {value} of {size} bytes",
     "the member has bits {low} to {high} of {size} bytes",
     "the member has bits {low} to {high} of {storage} bytes of storage, counted from the first"),
    ("member-overlap", WARNING, "DWARF 5, 5.7.6", "Members of a structure, except for bit fields, share no bytes.",
     "correct DW_AT_data_member_location", "the member, at {low} to {high}, overlaps {other}, at {begin} to {end}",
     "bits {low} to {high} of the structure are also bits of {other}"),
    ("bit-size", ERROR, "DWARF 5, 5.7.6", "A value has a bit, and no more bits than its type has in memory.",
     "correct DW_AT_bit_size", "{name} is {value}, the type has {size} bytes", "{name} is {value}"),
    ("symbol-size", WARNING, "DWARF 5, 4.1",
     "A variable has no more bytes than the symbol at its address, and an array of C as many.",
     "correct the type of the variable, or the size of the symbol",
     "the variable has {size} bytes, its symbol {symbol} has {own}"),
    ("symbol-address", ERROR, "gABI, Symbol Table", "What other units refer to by a name is where its symbol says.",
     "write the address of the symbol, or the linkage name of what is at the address",
     "its code or location is at {value:#x}, the symbol {symbol} at {own:#x}"),
    ("external", WARNING, "DWARF 5, 3.3.1", "A function whose symbol other units see has DW_AT_external.",
     "add DW_AT_external, or make the symbol local", "the symbol {symbol} is {bind}, and the function not external"),
    ("local-overlap", WARNING, "DWARF 5, 3.3.5", "Variables of a block of C share no bytes, nor the return address.",
     "correct the offset of DW_OP_fbreg, or the type of the variable",
     "the variable, at {low} to {high} from the frame base, overlaps {other}, at {begin} to {end}"),
    ("pc-outside", ERROR, "DWARF 5, 2.18", "The entry address of a function or an inlined call is in the function.",
     "write the address of the first instruction that is executed",
     "DW_AT_entry_pc is {value:#x}, the function is {around}"),
    ("call-outside", ERROR, "DWARF 5, 3.4.1", "A call is in the code of the function that its entry is in.",
     "write the address of the call, or of the instruction after it", "{name} is {value:#x}, the function is {around}"),
    ("call-return", WARNING, "DWARF 5, 3.4.1", "The return address of a call is behind an instruction that calls.",
     "write the address of the instruction after the call", "no instruction that calls ends at {value:#x}"),
    ("origin-function", ERROR, "DWARF 5, 3.3.8.2", "All entries of an instance complete the same abstract instance.",
     "refer to the abstract instance that the variables of the instance belong to",
     "the instance is one of {own}, but a variable or block in it is one of {other}"),
)  # fmt: skip

INSTANCES = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
_IN_INSTANCES = frozenset((dw.DW_TAG_formal_parameter, dw.DW_TAG_variable, dw.DW_TAG_lexical_block, dw.DW_TAG_label))
"""What completes entries of the function whose instance it is in."""
_PLAIN_LANGUAGES = frozenset(("c", "opencl", "rust", "go"))
_WITH_SYMBOLS = ("C_plus_plus", "Rust", "Fortran")
_SANITIZERS = ("__asan_init", "__hwasan_init")
"""What programs call in which the symbols of variables are larger than the variables."""
_PLACES_OF_OBJECTS = frozenset((dw.DW_TAG_formal_parameter, dw.DW_TAG_variable))
_CALL_PCS = frozenset((dw.DW_AT_call_pc, dw.DW_AT_call_return_pc))
_TAIL_CALLS = frozenset((dw.DW_AT_call_tail_call, dw.DW_AT_GNU_tail_call))
_ADDRESSED = frozenset((b"\x03", b"\xa1"))
"""DW_OP_addr and DW_OP_addrx."""
_FBREG = b"\x91"
_CALL_FRAME_CFA = b"\x9c"
_BITS = frozenset((dw.DW_AT_bit_size, dw.DW_AT_bit_offset, dw.DW_AT_data_bit_offset))
_NOT_PLACED = _BITS | {dw.DW_AT_external, dw.DW_AT_declaration}
"""What members have that are static or bit fields."""
ANY_FILE = 1 << 64
"""A number that no file has."""
_COMPLETES = frozenset((dw.DW_AT_specification, dw.DW_AT_abstract_origin))
_RANGED = SCOPES | {dw.DW_TAG_compile_unit, dw.DW_TAG_skeleton_unit}
_STRUCTURES = frozenset((dw.DW_TAG_structure_type, dw.DW_TAG_class_type, dw.DW_TAG_union_type))
_DEFINES = {
    dw.DW_TAG_subprogram: (dw.DW_AT_low_pc, dw.DW_AT_ranges),
    **dict.fromkeys(_STRUCTURES, (dw.DW_AT_byte_size,)),
}
"""What declarations do not have, by tag (DWARF 5, 3.3.1 and 5.7.1)."""
_STRINGS_ELSEWHERE = frozenset((dw.DW_FORM_string, dw.DW_FORM_strp_sup, dw.DW_FORM_GNU_strp_alt))
"""Strings that are in the entry, or in another file."""
_MODIFIERS = frozenset((
    *(dw.DW_TAG_typedef, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type, dw.DW_TAG_restrict_type, dw.DW_TAG_atomic_type),
    *(dw.DW_TAG_packed_type, dw.DW_TAG_immutable_type, dw.DW_TAG_shared_type, dw.DW_TAG_array_type),
))  # fmt: skip
"""Types that are another one with something added, or several of another one."""
_C = frozenset(("C", "C89", "C99", "C11", "C17"))
_VENDOR = {kind: getattr(dw, f"{kind}_lo_user") for kind in ("DW_TAG", "DW_LANG", "DW_ATE", "DW_CC", "DW_MSPACE_LLVM")}
"""From where on numbers are of vendors."""


@define(eq=False)
class CheckPlan:
    """What is checked in the entries of an abbreviation."""

    tag: int
    parents: tuple[frozenset[int], str] | None
    children: tuple[frozenset[int], str] | None
    problems: list[tuple[str, str | None, dict[str, object]]] = field(factory=list)
    """The rules that every such entry breaks, each with the clause, if not that of the rule, and the values."""
    references: References = field(factory=list)
    """The values that are references into the unit: their slots, and where offsets and targets are collected."""
    pc: tuple[int, int] | None = None
    """The slots of the first address and of the size, where these are plain numbers."""
    limits: Limits = field(factory=list)
    """The numbers that must be below a limit: slot, limit, index of the attribute, and check of one that is not."""
    checks: list[tuple[int, ValueCheck]] = field(factory=list)
    """The attributes whose values are checked in each entry: index and check."""
    placed: tuple[int, int, int] | None = None
    """Of a plain member the slots of its offset and of its type, and the offset, where all such members have one."""
    origin: int | None = None
    """The slot of the reference to the entry that an entry in an instance of a function completes."""
    instance: int | None = None
    """The slot of the reference of an instance to its abstract instance; -1 of another function."""
    is_object: bool = False
    """Whether it is a variable, whose type and symbol may tell different sizes."""
    local: int | None = None
    """The slot of the reference to the type of a variable of C, which has bytes of its own if it has some."""
    is_function: bool = False
    is_ranged: bool = False
    is_entered: bool = False
    """Whether it is an instance of a function with an entry address."""
    size: int | None = None
    """The index of the attribute with the size of a structure."""
    sibling: int | None = None
    """The slot of the reference to the next entry with the same owner."""
    is_plain: bool = True
    """Whether nothing has to be checked that needs the entry itself."""
    is_special: bool = True
    """Whether more than numbers below limits and references is checked."""

    def add(self, rule: str, clause: str | None = None, /, **values: object) -> None:
        """Add a rule that every such entry breaks."""
        self.problems.append((rule, clause, values))

    def pc_of(self, values: tuple[Any, ...]) -> list[tuple[int, int]]:
        """Return the code of an entry with some values."""
        assert self.pc is not None  # noqa: S101 (asked for where it is)
        low = values[self.pc[0]]
        return [(low, low + values[self.pc[1]])]


class EntryChecks:
    """The checks of all entries of a file."""

    def __init__(self, dwarf: Dwarf, expressions: ExpressionChecks) -> None:
        self.dwarf = dwarf
        self.expressions = expressions
        self.lists = ListChecks(expressions)
        self.target = expressions.target
        self.image = expressions.code.file.image
        self.loaded = [
            (section.address, section.address + section.size, bool(section.flags & SHF_EXECINSTR))
            for section in self.image.sections
            if section.is_allocated
        ]
        """The sections that are loaded: first address, end, and whether they hold code."""
        self.placed = AddressSpans((low, end + 1) for low, end, _is_code in self.loaded)
        """The addresses of data, of which the end of a section is one."""
        self.code = self.lists.code
        self.count = 0
        self.dropped = 0
        """How many functions the linker has dropped."""
        self.functions: list[tuple[int, int, Unit, int]] = []
        """The code of functions: first address, end, unit and offset of the entry."""

    @cached_property
    def symbols(self) -> dict[int, Symbol]:
        """The largest symbol of data or code at each address."""
        found: dict[int, Symbol] = {}
        for symbol in self.image.symbols():
            if symbol.type_number in (1, 2) and symbol.section is not None and symbol.size:
                known = found.get(symbol.value)
                if known is None or known.size < symbol.size:
                    found[symbol.value] = symbol
        return found

    @cached_property
    def named(self) -> dict[str, list[Symbol]]:
        """The symbols of code and data by name, with or without what compilers add to that of a copy."""
        found: dict[str, list[Symbol]] = {}
        for symbol in self.image.symbols() if self.code.are_known else ():
            if symbol.section is not None and symbol.type_number in (1, 2):
                for name in {symbol.name, symbol.name.partition(".")[0], symbol.name.partition("@")[0]}:
                    found.setdefault(name, []).append(symbol)
        return found

    def problems(self, units: Sequence[Unit] | None = None) -> Iterator[Problem]:
        """Yield the problems of units in order: of some, or of all."""
        for unit in counted((*self.dwarf.units, *self.dwarf.split_units) if units is None else units, "units"):
            try:
                root = unit.root
                if self.image.address_size != unit.address_size:
                    at, size, expected = (unit.section, unit.offset, root), unit.address_size, self.image.address_size
                    yield RULES.problem("address-size", *at, size=size, expected=expected)
                expected = UNIT_TAGS.get(unit.header.unit_type, root.tag)
                is_old_part = unit.version < 5 and root.tag == dw.DW_TAG_partial_unit
                if root.tag != expected and not is_old_part:
                    names_here = {"type": name_of("DW_UT", unit.header.unit_type), "tag": root.tag_name}
                    yield RULES.problem("unit-type", unit.section, unit.offset, root, **names_here)
                augmentation = unit.augmentation
                if augmentation is not None and (not augmentation or VENDOR.sub("", augmentation)):
                    at = unit.section, root.section_offset, root
                    yield RULES.problem("augmentation", *at, augmentation=augmentation)
                yield from _UnitChecks(self, unit).problems()
            except DwarfGpuError as error:
                yield RULES.unreadable(error)
            unit.release()
        if self.code.are_known:
            yield from self._overlaps()

    def _overlaps(self) -> Iterator[Problem]:
        """Yield the functions whose code is in part that of another one; code may be shared as a whole."""
        for (low, high, unit, offset), (begin, end, *place) in overlapping(self.functions):
            if (begin, end) != (low, high) and place != [unit, offset]:
                die, other = unit.die_known_at(offset), place[0].die_known_at(place[1])
                values = {"low": low, "high": high, "begin": begin, "end": end}
                at = unit.section, die.section_offset, die
                yield RULES.problem("overlap", *at, other=other.name or other.linkage_name or "another one", **values)


def _called(die: Die) -> str:
    return die.name or die.linkage_name or f"the function at {die.section_offset:#x}"


class MemberLayout:
    """The bits of the members of a structure so far."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        """The offset of the structure."""
        self.end = 0
        self.members: list[tuple[int, int, int]] = []

    def add(self, low: int, high: int, offset: int) -> tuple[int, int, int] | None:
        """Add the member at an offset, and return one before it that has some of the same bits."""
        other = None
        if low < self.end:
            other = next((each for each in self.members if each[0] < high and low < each[1]), None)
        self.end = max(self.end, high)
        self.members.append((low, high, offset))
        return other


class _UnitChecks:
    def __init__(self, checks: EntryChecks, unit: Unit) -> None:
        self.checks = checks
        self.unit = unit
        self.tags: dict[int, int] = {}
        """The tag of each entry, by its offset."""
        self.references: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        """By attribute and tag the references in the unit: the offsets of the entries, and where they lead."""
        self.owners: list[CheckPlan] = []
        """The plans of the entry at hand and of those that own it, outermost first."""
        self.sizes: dict[int, int] = {}
        """The sizes of structures, by the depth of the last one there."""
        self.functions: dict[int, tuple[int, Abbreviation, tuple[Any, ...]]] = {}
        """The functions, by the depth of the last one there."""
        self.spans: dict[int, list[tuple[int, int]] | None] = {}
        """The code of entries, by the depth of the last one there."""
        self.types = Types()
        self.layouts: dict[int, MemberLayout] = {}
        """The members of structures, by the depth of the last structure there."""
        self.known_sizes: dict[int, tuple[int, int]] = {}
        """The bytes of a type, and those that a member has for itself, by the offset of the type."""
        self.instances: dict[int, tuple[int, int | None]] = {}
        """The offsets of functions and inlined calls and of what they complete, by the depth of the last one there."""
        self.completed: dict[tuple[int, int], int] = {}
        """The first instance, by the function that it completes and the entry that an entry in it completes."""
        self.siblings: dict[int, tuple[int, int]] = {}
        """The offset of an entry, and where the next one is said to be, by the depth of both."""

    def problems(self) -> Iterator[Problem]:  # noqa: C901, PLR0912 (on the path of every entry)
        unit, tags, owners = self.unit, self.tags, self.owners
        plans: dict[Abbreviation, _Hot] = {}
        for offset, depth, abbreviation, values in unit.entries():
            hot = plans.get(abbreviation)
            if hot is None:
                plan = self._plan(abbreviation)
                hot = plans[abbreviation] = plan, plan.tag, plan.references, plan.limits, plan.is_special
            plan, tags[offset], all_references, limits, is_special = hot
            del owners[depth:]
            owners.append(plan)
            if self.siblings:
                yield from self._passed(offset, depth)
            for slot, offsets, targets in all_references:
                offsets.append(offset)
                targets.append(values[slot])
            for slot, limit, index, check in limits:
                if values[slot] >= limit:
                    yield from check(Die(unit, offset, abbreviation, values)._attribute(index))  # noqa: SLF001
            children = owners[-2].children if depth else None
            if children is not None and plan.tag not in children[0]:
                yield self._misplaced(Die(unit, offset, abbreviation, values), children[1])
            if not is_special:
                continue
            parents = plan.parents
            if parents is not None and depth and owners[-2].tag not in parents[0] and children is None:
                yield self._misplaced(Die(unit, offset, abbreviation, values), parents[1])
            if plan.size is not None:
                self.sizes[depth] = abbreviation.value(plan.size, values)
                self.layouts[depth] = MemberLayout(offset)
            if plan.placed is not None and self._has_layouts and depth and owners[-2].size is not None:
                yield from self._placed(plan.placed, offset, depth, values)
            if plan.instance is not None:
                self.instances[depth] = offset, values[plan.instance] if plan.instance >= 0 else None
            if plan.origin is not None:
                self._completes(values[plan.origin])
            if plan.is_function:
                self.functions[depth] = offset, abbreviation, values
            if plan.sibling is not None:
                self.siblings[depth] = offset, values[plan.sibling]
            if not plan.is_plain:
                yield from self._entry(plan, Die(unit, offset, abbreviation, values))
        self.checks.count += len(tags)
        yield from self._form_version(plans)
        yield from self._end(offset, depth + abbreviation.has_children)
        yield from self._references()
        header = unit.header
        wanted = wanted_of(dw.DW_AT_type, dw.DW_TAG_typedef)[0]
        if header.signature is not None and not _fits(unit.root.tag, tags.get(header.type_offset, 0), wanted):
            yield self._problem("type-offset", unit.root, place=unit.offset + header.type_offset)

    def _misplaced(self, die: Die, clause: str) -> Problem:
        """Return that an entry is owned by one that it cannot be part of."""
        return self._problem("parent", die, clause, tag=die.tag_name, owner=name_of("DW_TAG", self.owners[-2].tag))

    def _form_version(self, used: Iterable[Abbreviation]) -> Iterator[Problem]:
        """Yield the first form of the entries of a unit that its version does not have."""
        version = self.unit.version
        for abbreviation in used:
            for number, form in zip(abbreviation.attributes, abbreviation.forms, strict=True):
                since = FORM_VERSIONS.get(form, 0)
                if since > version:
                    values = {"form": form_name(form), "name": name_of("DW_AT", number), "since": since}
                    yield self._problem("form-version", self.unit.root, version=version, **values)
                    return

    def _end(self, last: int, depth: int) -> Iterator[Problem]:
        """Yield what is wrong behind the last entry, at an offset: null entries end as many lists as it is deep."""
        unit = self.unit
        abbreviation, start = unit.table.at(unit.data, last)
        values = unit.positions(unit.die_known_at(last))
        end = values[-1][1] if values else start + abbreviation.layout.lead
        rest = unit.data[end:]
        further = len(rest) - len(rest.lstrip(b"\0"))
        if further < len(rest):
            places = {"end": unit.offset + end + depth, "next": unit.offset + end + further}
            yield self._problem("after-end", unit.root, **places)
        elif further < depth:
            yield self._problem("no-end", unit.root, missing=depth - further)

    def _passed(self, offset: int, depth: int) -> Iterator[Problem]:
        """Yield the siblings that are not the entry at an offset, the first one behind what an entry owns."""
        for level in [level for level in self.siblings if level >= depth]:
            holder, target = self.siblings.pop(level)
            values = {"name": "DW_AT_sibling", "place": self.unit.offset + target}
            if level == depth and target != offset:
                yield self._problem("sibling", self.unit.die_known_at(holder), **values, next=self.unit.offset + offset)
            elif level > depth and not holder < target < offset:  # the end of the list that the entry is in
                yield self._problem("sibling", self.unit.die_known_at(holder), **values)

    def _entry(self, plan: CheckPlan, die: Die) -> Iterator[Problem]:
        """Yield what is wrong with an entry by itself, and with its place among the others."""
        for rule, clause, values in plan.problems:
            yield self._problem(rule, die, clause, **values)
        for index, check in plan.checks:
            yield from self._checked(die, index, check)
        depth = len(self.owners) - 1
        if plan.is_ranged:
            self.layouts[depth] = MemberLayout(die.offset)
        if plan.is_ranged and has_addresses(self.unit):
            around = next((self.spans.get(i) for i in reversed(range(depth)) if self.owners[i].is_ranged), None)
            self.spans[depth], problems = self._ranges(plan, die, around)
            yield from problems
        if plan.is_entered:
            yield from self._entry_pc(die)

    def _checked(self, die: Die, index: int, check: ValueCheck) -> Iterator[Problem]:
        """Yield what is wrong with an attribute."""
        try:
            yield from check(die._attribute(index))  # noqa: SLF001 (by its index, without a name)
        except DwarfGpuError as error:
            yield RULES.unreadable(error.at(section=self.unit.section, offset=die.section_offset), die=die)

    def _around(self) -> tuple[int, Abbreviation, tuple[Any, ...]] | None:
        """Return the function that the entry at hand is in."""
        owners = self.owners
        for depth in range(len(owners) - 1, -1, -1):
            if owners[depth].is_function:
                return self.functions[depth]
        return None

    def _function(self) -> Die | None:
        function = self._around()
        return None if function is None else Die(self.unit, *function)

    def _problem(self, rule: str, die: Die, clause: str | None = None, /, **values: object) -> Problem:
        """Return a problem of an entry."""
        return RULES.problem(rule, self.unit.section, die.section_offset, die, clause, **values)

    # --- What is known of an abbreviation -------------------------------------------------------------------------

    def _plan(self, abbreviation: Abbreviation) -> CheckPlan:
        """Return what is to be looked at in entries, and what is wrong with all of them."""
        tag = abbreviation.tag
        plan = CheckPlan(tag, PARENTS.get(tag), CHILDREN.get(tag), is_function=tag in WITH_FRAMES)
        plan.is_object = tag == dw.DW_TAG_variable and self.checks.image.is_linked and has_addresses(self.unit)
        self._add_shape(plan, abbreviation)
        for index in range(len(abbreviation.forms)):
            self._add_attribute(plan, abbreviation, index)
        self._add_relations(plan, abbreviation)
        plan.is_plain = not (plan.problems or plan.checks or plan.is_ranged or plan.is_entered)
        related = plan.parents, plan.sibling, plan.placed, plan.instance, plan.origin, plan.size
        plan.is_special = plan.is_function or not plan.is_plain or any(each is not None for each in related)
        return plan

    def _add_relations(self, plan: CheckPlan, abbreviation: Abbreviation) -> None:
        """Add what is to be compared with the entries around an entry, or with others of the same structure."""
        tag, slots = plan.tag, abbreviation.layout.slots
        index = abbreviation.index_of(dw.DW_AT_abstract_origin)
        is_near = index >= 0 and abbreviation.forms[index] in forms.REF_UNIT
        if tag in INSTANCES:
            plan.instance = slots[index] if is_near else -1
        elif tag in _IN_INSTANCES and is_near:
            plan.origin = slots[index]
        place, type_index = abbreviation.index_of(dw.DW_AT_data_member_location), abbreviation.index_of(dw.DW_AT_type)
        if type_index < 0 or abbreviation.forms[type_index] not in forms.REF_UNIT:
            return
        attributes = abbreviation.attributes
        if tag in _PLACES_OF_OBJECTS:
            is_own = dw.DW_AT_name in attributes and dw.DW_AT_artificial not in attributes
            plan.local = slots[type_index] if is_own and self._c_model else None
        elif tag == dw.DW_TAG_member and place < 0 and _NOT_PLACED.isdisjoint(attributes):
            plan.placed = -1, slots[type_index], 0
        elif tag == dw.DW_TAG_member and place >= 0 and _BITS.isdisjoint(attributes):
            form, slot = abbreviation.forms[place], slots[place]
            if class_of(form, 0, 5) == "constant":
                plan.placed = slot, slots[type_index], abbreviation.value(place, ()) if slot < 0 else 0

    def _add_shape(self, plan: CheckPlan, abbreviation: Abbreviation) -> None:
        """Add what is wrong with a set of attributes."""
        tag, attributes = abbreviation.tag, abbreviation.attributes
        is_variable = tag in (dw.DW_TAG_variable, dw.DW_TAG_formal_parameter)
        names_here = abbreviation.names(self.unit.dialect, self.unit.version)
        if tag not in names("DW_TAG") and tag < _VENDOR["DW_TAG"]:
            plan.add("unknown-tag", tag=tag)
        if len(set(attributes)) != len(attributes):
            twice = next(number for number in attributes if attributes.count(number) > 1)
            count = attributes.count(twice)
            plan.add("attribute-twice", name=name_of("DW_AT", twice), count=count)
        completes = dw.DW_AT_abstract_origin in attributes or dw.DW_AT_specification in attributes
        groups, clause = REQUIRED.get(tag, ((), ""))
        if is_variable and (dw.DW_AT_name not in attributes or dw.DW_AT_declaration in attributes):
            groups = ()  # GCC writes a parameter without any attribute, and declares variables of type void
        for group in groups:
            if not completes and not any(name in names_here for name in group):
                values = {"tag": name_of("DW_TAG", tag), "names": " or ".join(group)}
                plan.add("attribute-missing", clause, **values)
        low, high = abbreviation.index_of(dw.DW_AT_low_pc), abbreviation.index_of(dw.DW_AT_high_pc)
        is_scope = dw.DW_AT_ranges not in attributes and (tag in INSTANCES or tag == dw.DW_TAG_lexical_block)
        if (low < 0 <= high) or (high < 0 <= low and is_scope):
            pair = "DW_AT_low_pc", "DW_AT_high_pc"
            plan.add("pc-alone", name=pair[low < 0], other=pair[high < 0])
        defines = next((number for number in _DEFINES.get(tag, ()) if number in attributes), None)
        if defines is not None and dw.DW_AT_declaration in attributes:
            plan.add("declaration", name=name_of("DW_AT", defines))
        if dw.DW_AT_ranges in attributes and dw.DW_AT_high_pc in attributes:
            plan.add("ranges-and-pc")
        if is_variable and dw.DW_AT_location in attributes and dw.DW_AT_const_value in attributes:
            plan.add("location-and-constant")
        index = abbreviation.index_of(dw.DW_AT_byte_size)
        if tag in _STRUCTURES and index >= 0 and class_of(abbreviation.forms[index], 0, 5) == "constant":
            plan.size = index
        plan.is_ranged = tag in _RANGED and (dw.DW_AT_ranges in attributes or min(low, high) >= 0)
        plan.is_entered = tag in INSTANCES and dw.DW_AT_entry_pc in attributes and has_addresses(self.unit)
        if (
            dw.DW_AT_ranges not in attributes
            and abbreviation.form_of(dw.DW_AT_low_pc) == dw.DW_FORM_addr
            and abbreviation.form_of(dw.DW_AT_high_pc) in forms.UNSIGNED
            and self.unit.version >= 4
        ):
            plan.pc = abbreviation.layout.slots[low], abbreviation.layout.slots[high]

    def _add_attribute(self, plan: CheckPlan, abbreviation: Abbreviation, index: int) -> None:
        """Add what is wrong with an attribute of every entry, or what is to be looked at in each."""
        number, form = abbreviation.attributes[index], abbreviation.forms[index]
        version = self.unit.version
        kind = class_of(form, number, version)
        name = self.unit.dialect.name_of(number, kind)
        kind = class_of(form, number, version, name)
        slot = abbreviation.layout.slots[index]
        allowed = CLASSES.get(name)
        is_known = form in forms.FORMS and form != dw.DW_FORM_indirect
        if allowed is not None and is_known and not _is_allowed(kind, allowed, name, version):
            plan.add(
                "attribute-class", name=name, form=form_name(form), **({"kind": kind} if kind != "unknown" else {})
            )
            plan.is_ranged = plan.is_ranged and number not in (dw.DW_AT_low_pc, dw.DW_AT_high_pc, dw.DW_AT_ranges)
            return
        owners, clause = OWNERS.get(name, ((plan.tag,), None))
        is_meant = plan.tag in MEANT.get(name, (plan.tag,)) or plan.tag >= _VENDOR["DW_TAG"]
        if plan.tag not in owners or not is_meant:
            rule = "attribute-tag" if plan.tag in owners else "attribute-owner"
            plan.add(rule, clause, tag=name_of("DW_TAG", plan.tag), name=name)
        if form in forms.REF_UNIT and number == dw.DW_AT_sibling and slot >= 0:
            plan.sibling = slot
        if form in forms.REF_UNIT and number != dw.DW_AT_sibling:
            plan.references.append((slot, *self.references.setdefault((number, plan.tag), ([], []))))
            return
        check = self._check_for(plan, name, number, form, kind)
        if check is None:
            return
        limit = self._limit(name, form)
        if limit is not None and form == dw.DW_FORM_implicit_const and 0 <= abbreviation.value(index, ()) < limit:
            return
        if limit is None or slot < 0:
            plan.checks.append((index, check))
        else:
            plan.limits.append((slot, limit, index, check))

    @property
    def _has_spaces(self) -> bool:
        target = self.checks.target
        return target is not None and len(target.address_spaces) > 1

    def _limit(self, name: str, form: int) -> int | None:
        """Return the number below which the value of an attribute is right; None where it is not judged by that."""
        unit = self.unit
        if name in VALUE_KINDS:
            known = names(VALUE_KINDS[name])
            return next(number for number in range(len(known) + 1) if number not in known) or None
        if name in ("DW_AT_decl_file", "DW_AT_call_file"):
            return self.files + 1
        if form == dw.DW_FORM_strp:
            return len(unit.source.data(".debug_str" + unit.suffix)) if unit.contributions is None else None
        if form == dw.DW_FORM_line_strp:
            return len(unit.source.data(".debug_line_str"))
        return None

    def _check_for(self, plan: CheckPlan, name: str, number: int, form: int, kind: str) -> ValueCheck | None:
        """Return the check of the values of an attribute; None where none can be wrong."""
        if kind == "constant":
            if name == "DW_AT_byte_size":
                if plan.tag == dw.DW_TAG_base_type:
                    return self._base_size
                return self._pointer if plan.tag in POINTERS and (self._has_spaces or self._is_wide) else None
            if name in _OF_CONSTANTS:
                return _OF_CONSTANTS[name](self)
            return self._named_value if name in VALUE_KINDS else None
        if kind == "reference":
            is_signature = form == dw.DW_FORM_ref_sig8  # in split units and objects, perhaps of a type of another file
            is_elsewhere = is_signature and not (self.checks.image.is_linked and not self.unit.suffix)
            follow = self._signature if is_signature else self._far_reference
            return None if number == dw.DW_AT_sibling or is_elsewhere else follow
        if kind == "string":
            return None if form in _STRINGS_ELSEWHERE else self._string
        if kind == "address":
            is_call = number in _CALL_PCS or (number == dw.DW_AT_low_pc and plan.tag == dw.DW_TAG_GNU_call_site)
            check = self._call if is_call else self._address if form in forms.ADDRESS_INDEX else None
            return check if has_addresses(self.unit) else None
        if kind == "rnglist":
            is_old = self.unit.version < 5  # whose split units have their ranges in another file
            return None if plan.tag in _RANGED and (is_old or has_addresses(self.unit)) else self.checks.lists.problems
        if kind == "loclist":
            is_list = name != "DW_AT_GNU_locviews"
            return partial(self.checks.lists.problems, function=self._function) if is_list else None
        return self._expression if kind == "exprloc" else None

    # --- Values ---------------------------------------------------------------------------------------------------

    def _expression(self, attribute: Attribute) -> Iterator[Problem]:
        plan, die, data, depth = self.owners[-1], attribute.die, attribute.value, len(self.owners) - 1
        if plan.is_object and data[:1] in _ADDRESSED:
            yield from self._object(die, data)
        elif plan.local is not None and data[:1] == _FBREG and self.owners[-2].is_ranged:
            yield from self._local(data, die.values[plan.local], die.offset, depth)
        yield from self.checks.expressions.of_attribute(attribute, attribute.value, None, self._function)

    def _string(self, attribute: Attribute) -> Iterator[Problem]:
        unit = self.unit
        try:
            source, section, offset = unit.tables.string_place(attribute.form, attribute.value)
            if not 0 <= offset < len(source.data(section)):
                values = {"offset": offset, "section": section, "size": len(source.data(section))}
                yield self._problem("string", attribute.die, name=attribute.name, **values)
        except DwarfGpuError as error:
            yield self._problem("string", attribute.die, name=attribute.name, reason=error.message)

    def _address(self, attribute: Attribute) -> Iterator[Problem]:
        try:
            value = attribute.address()
        except DwarfGpuError as error:
            yield self._problem("address", attribute.die, name=attribute.name, reason=error.message)
            return
        last = max((end for _low, end, _is_code in self.checks.loaded), default=value)
        if self.checks.image.is_linked and last < value and not self.checks.code.is_dropped(value):
            yield self._problem("address", attribute.die, name=attribute.name, value=value)

    def _call(self, attribute: Attribute) -> Iterator[Problem]:
        """Check that a call is in the function that its entry is in; behind the last instruction it may return to."""
        try:
            value = attribute.address()
        except DwarfGpuError as error:
            yield self._problem("address", attribute.die, name=attribute.name, reason=error.message)
            return
        die, around, host = attribute.die, self._code_around(), self.checks.expressions.host
        is_behind = attribute.number != dw.DW_AT_call_pc
        is_return = is_behind and attribute.form == dw.DW_FORM_addr
        is_tail_call = not _TAIL_CALLS.isdisjoint(die.abbreviation.attributes)
        if is_return and not is_tail_call and host is not None and not host.may_return_to(value):
            yield self._problem("call-return", die, value=value)
        if around and not AddressSpans(around).touch(value - is_behind, value - is_behind + 1):
            values = {"name": attribute.name, "value": value, "around": spans_text(around)}
            yield self._problem("call-outside", die, **values)

    def _far_reference(self, attribute: Attribute) -> Iterator[Problem]:
        if attribute.form in forms.REF_SUPPLEMENTARY:
            return
        try:
            target = attribute.reference()
        except DwarfGpuError as error:
            yield self._problem("reference", attribute.die, name=attribute.name, reason=error.message)
            return
        die, place = attribute.die, target.section_offset - self.unit.offset
        yield from self._referred(lambda _offset: die, 0, die.tag, attribute.number, target.tag, place)
        needed = needed_of(attribute.number, die.tag)
        fits = _fits(die.tag, target.tag, wanted_of(attribute.number, die.tag)[0])
        if needed is not None and fits and (needed[0] in target.abbreviation.attributes) != needed[1]:
            yield self._incomplete(die, attribute.number, needed, place)

    def _named_value(self, attribute: Attribute) -> Iterator[Problem]:
        prefix = VALUE_KINDS[attribute.name]
        value = attribute.value
        if value not in names(prefix) and not value >= _VENDOR.get(prefix, 1 << 62):
            yield self._problem("value-unknown", attribute.die, name=attribute.name, value=value)

    def _file(self, attribute: Attribute) -> Iterator[Problem]:
        if attribute.value > self.files:
            values = {"name": attribute.name, "value": attribute.value, "last": self.files}
            yield self._problem("file-number", attribute.die, **values)

    @cached_property
    def files(self) -> int:
        """The largest number of a file in the line table; where there is none, or it cannot be read, any will do."""
        from dwarfgpu.program.code.code_lookup import line_table

        try:
            table = line_table(self.checks.expressions.code.file, self.unit, of_entries=True)
        except DwarfGpuError:  # which the check of line tables reports
            return ANY_FILE
        return ANY_FILE if table is None else max((number for number, _file in table.files()), default=0)

    def _positive(self, rule: str) -> ValueCheck:
        def check(attribute: Attribute) -> Iterator[Problem]:
            values, target = {"name": attribute.name, "value": attribute.value}, self.checks.target
            if attribute.value <= 0:
                yield self._problem(rule, attribute.die, **values)
            elif rule == "lanes" and target is not None and 0 < target.lane_count < attribute.value:
                yield self._problem("lanes-of-target", attribute.die, target=target, **values)

        return check

    def _space(self, attribute: Attribute) -> Iterator[Problem]:
        target = self.checks.target
        die = attribute.die
        encoding = die.number(dw.DW_AT_encoding) if die.tag == dw.DW_TAG_base_type else None
        if encoding is not None and encoding.unsigned() != dw.DW_ATE_address:
            yield self._problem("attribute-owner", die, SPACE_OF_BASE_TYPE, name=attribute.name)
            return
        if target is None or target.execution_mask is None:
            return
        number = attribute.unsigned()
        if attribute.name == "DW_AT_address_class":
            chosen = self.unit.dialect.space_of_class(number)
            number = 0 if chosen is None else chosen
        if target.space(number) is None:
            values = {"name": attribute.name, "value": attribute.value, "target": target.name}
            yield self._problem("address-space", attribute.die, **values)

    def _memory_space(self, attribute: Attribute) -> Iterator[Problem]:
        value = attribute.unsigned()
        if value not in names("DW_MSPACE_LLVM") and value < _VENDOR["DW_MSPACE_LLVM"]:
            yield self._problem("memory-space", attribute.die, name=attribute.name, value=value)

    def _member(self, attribute: Attribute) -> Iterator[Problem]:
        """Check that a member at the end of a structure is within it, as far as its size is known."""
        depth, die = len(self.owners) - 2, attribute.die
        if self.owners[depth].size is None:
            return
        size, own = self.sizes[depth], 0
        if die.tag == dw.DW_TAG_member and die.number(dw.DW_AT_bit_size) is None:
            with suppress(DwarfGpuError):
                own = known_size(self.types.type_of(die)) or 0
        if attribute.value + own > size:
            yield self._problem("member-outside", die, value=attribute.value, size=size)

    def _base_size(self, attribute: Attribute) -> Iterator[Problem]:
        die = attribute.die
        encoding, name = die.number(dw.DW_AT_encoding), die.name or ""
        if encoding is None:
            return
        number, size = encoding.unsigned(), attribute.unsigned()
        values = {"name": name or "it", "encoding": name_of("DW_ATE", number)}
        if not has_usual_size(name, number, size, self._c_model):
            yield self._problem("base-size", die, size=size, **values)
        if self._c_model and not has_usual_encoding(name, number):
            yield self._problem("base-encoding", die, **values)

    def _bit_size(self, attribute: Attribute) -> Iterator[Problem]:
        die = attribute.die
        is_base = die.tag == dw.DW_TAG_base_type
        if attribute.value <= 0:
            if is_base or die.name is not None:  # C has bit fields of no bits, without a name
                yield self._problem("bit-size", die, name=attribute.name, value=attribute.value)
        elif die.tag == dw.DW_TAG_member:
            yield from self._bit_field(die, attribute.value)
            yield from self._bit_offset(die, attribute.value)
        if not is_base and is_cplus(self.unit):  # a bit field of C++ may have more bits than its type
            return
        with suppress(DwarfGpuError):
            size = known_size(self.types.of(die) if is_base else self.types.type_of(die))
            if size is not None and attribute.value > 8 * size:
                yield self._problem("bit-size", die, name=attribute.name, value=attribute.value, size=size)

    def _bit_field(self, die: Die, bits: int) -> Iterator[Problem]:
        """Check that a bit field is in its structure, and that other members have none of its bits."""
        depth, low = len(self.owners) - 2, self._first_bit(die, bits)
        if low is None or self.owners[depth].size is None:
            return
        values, size = {"low": low, "high": low + bits}, self.sizes[depth]
        if low + bits > 8 * size:
            yield self._problem("member-outside", die, size=size, **values)
        elif self._has_layouts and self.owners[depth].tag != dw.DW_TAG_union_type:
            other = self.layouts[depth].add(low, low + bits, die.offset)
            if other is not None:
                name = self.unit.die_known_at(other[2]).name or "another one"
                yield self._problem("member-overlap", die, other=name, **values)

    def _bit_offset(self, die: Die, bits: int) -> Iterator[Problem]:
        """Check that a bit field of versions 2 to 4 is in its storage; compilers write -1 and less in packed ones."""
        offset, size = die.number(dw.DW_AT_bit_offset), self._storage(die)
        if offset is not None and size is not None and offset.value_class == "constant":
            low, high = offset.value, offset.value + bits
            if 8 * size < high < 1 << 63:
                yield self._problem("member-outside", die, "DWARF 4, 5.5.6", low=low, high=high, storage=size)

    def _storage(self, die: Die) -> int | None:
        """Return the bytes that DW_AT_bit_offset of a member counts in; None where they are not known."""
        size = die.number(dw.DW_AT_byte_size)
        if size is not None:
            return size.unsigned() if size.value_class == "constant" else None
        with suppress(DwarfGpuError):
            return known_size(self.types.type_of(die))
        return None

    def _first_bit(self, die: Die, bits: int) -> int | None:
        """Return where a bit field begins in its structure; before version 4 it is counted from the last bit."""
        place, first = die.number(dw.DW_AT_data_bit_offset), die.number(dw.DW_AT_data_member_location)
        start = 0
        if first is not None:
            start = 8 * first.value if first.value_class == "constant" else -1
        if place is not None:
            return None if place.value_class != "constant" or start < 0 else start + place.value
        offset, size = die.number(dw.DW_AT_bit_offset), self._storage(die)
        if offset is None or size is None or start < 0 or self.unit.format.byte_order != "little":
            return None
        return start + 8 * size - int(offset.value) - bits

    def _object(self, die: Die, location: bytes) -> Iterator[Problem]:
        """Check the size of a variable at an address, and nowhere else, against that of its symbol."""
        with suppress(DwarfGpuError):
            instructions = self.checks.expressions.decoded(location, self.unit.format).instructions
            operand = instructions[0].operands[0] if len(instructions) == 1 else None
            if not isinstance(operand, int):
                return
            address = operand if instructions[0].name == "DW_OP_addr" else self.unit.tables.address(operand)
            if self._is_nowhere(address):
                yield self._problem("address", die, "DWARF 5, 2.6.1.1.2", value=address, operation=instructions[0].name)
            symbol = self.checks.symbols.get(address)
            kind = None if symbol is None else self.types.type_of(die)
            size = None if kind is None else known_size(kind)
            if symbol is not None and kind is not None and size is not None and symbol.size != size:
                is_array = isinstance(resolved(kind), Array) and self._c_model
                is_padded = any(self.checks.image.symbol_named(each) is not None for each in _SANITIZERS)
                if symbol.size < size or (is_array and not is_padded):
                    yield self._problem("symbol-size", die, size=size, symbol=symbol.name, own=symbol.size)
            yield from self._named(die, [(address, address + 1)])

    def _named(self, die: Die, spans: list[tuple[int, int]]) -> Iterator[Problem]:
        """Yield what the symbol contradicts that has the name of a function or a variable.

        Go has several functions of one name, and clang writes no frame base where it leaves out most attributes.
        """
        name = die.linkage_name or die.name or ""
        has_symbols = self._language in _C or self._language.startswith(_WITH_SYMBOLS)
        found = self.checks.named.get(name, ()) if has_symbols else ()
        own = [each for each in found if each.name.partition("@")[0] == name]
        public = next((each for each in own if each.bind_number), None)
        at = spans[0][0]
        if not own:
            return
        is_external = die.find_number(dw.DW_AT_external) is not None
        if any(low <= each.value < high for each in found for low, high in spans):
            is_full = die.tag == dw.DW_TAG_subprogram and dw.DW_AT_frame_base in die.abbreviation.attributes
            if is_full and not is_external and public is not None and public.value == at:
                yield self._problem("external", die, symbol=name, bind=public.bind)
        elif is_external if public is not None else at not in self.checks.symbols:
            yield self._problem("symbol-address", die, value=at, symbol=name, own=own[0].value)

    def _local(self, location: bytes, kind: int, offset: int, depth: int) -> Iterator[Problem]:
        """Yield a variable in a block on the bytes of another one in the same block, or on the return address."""
        checks = self.checks
        instructions = checks.expressions.checked(location, self.unit.format, LOCATION)[0].instructions
        size = self._sizes(kind)[0] if len(instructions) == 1 else 0
        if not size:
            return
        low, address = instructions[0].operands[0], 0 if checks.target is None else checks.target.entry_cfa
        high, around = low + size, self._around()
        other = self.layouts[depth - 1].add(low, high, offset)
        values = {"low": low, "high": high}
        if other is not None:
            names = {"other": self.unit.die_known_at(other[2]).name, "begin": other[0], "end": other[1]}
            yield self._problem("local-overlap", self.unit.die_known_at(offset), **values, **names)
        elif address and low < 0 and high > -address and around is not None:
            base = around[1].index_of(dw.DW_AT_frame_base)
            if base >= 0 and around[1].value(base, around[2]) == _CALL_FRAME_CFA:
                names = {"other": "the return address", "begin": -address, "end": 0}
                yield self._problem("local-overlap", self.unit.die_known_at(offset), **values, **names)

    def _is_nowhere(self, address: int) -> bool:
        """Return whether no section and no symbol has an address that no linker writes for what it drops.

        Some write the offset in the section that they drop, which is below all others.
        """
        checks = self.checks
        first = next((low for low, _end in checks.placed), address + 1)
        is_known = address < first or checks.placed.touch(address, address + 1) or checks.code.is_dropped(address)
        return not is_known and address not in {symbol.value for symbol in checks.image.symbols()}

    def _placed(
        self, placed: tuple[int, int, int], offset: int, depth: int, values: tuple[Any, ...]
    ) -> Iterator[Problem]:
        """Yield the overlap of a member with one before it, or that it is the structure itself."""
        if values[placed[1]] == self.layouts[depth - 1].offset:
            yield self._problem("reference-cycle", self.unit.die_known_at(offset), "DWARF 5, 5.7.6")
            return
        slot, type_slot, low = placed
        low = values[slot] if slot >= 0 else low
        whole, size = self._sizes(values[type_slot])
        if self.owners[-2].tag == dw.DW_TAG_union_type:
            if low + whole > self.sizes[depth - 1]:
                die = self.unit.die_known_at(offset)
                yield self._problem("member-outside", die, value=low, size=self.sizes[depth - 1])
            return
        other = self.layouts[depth - 1].add(8 * low, 8 * (low + size), offset) if size else None
        if other is not None:
            begin, end, before = other[0] // 8, -(-other[1] // 8), other[2]
            names = {"other": self.unit.die_known_at(before).name or "another one", "begin": begin, "end": end}
            yield self._problem("member-overlap", self.unit.die_known_at(offset), low=low, high=low + size, **names)

    def _sizes(self, target: int) -> tuple[int, int]:
        """Return the bytes of a type, and those that no other member can have of a member; 0 where they are not known.

        The end of a class of C++ may be that of other members, where it is padding and the member has
        ``[[no_unique_address]]``; so may be a whole class that is empty.
        """
        sizes = self.known_sizes.get(target)
        if sizes is None:
            sizes = 0, 0
            with suppress(DwarfGpuError):
                kind = self.types.of(self.unit.die_known_at(target))
                size = known_size(kind) or 0
                sizes = size, 0 if isinstance(resolved(kind), Struct) and is_cplus(self.unit) else size
            self.known_sizes[target] = sizes
        return sizes

    @cached_property
    def _has_layouts(self) -> bool:
        """Whether members of structures lie beside each other, as they do not in languages with variant records."""
        from dwarfgpu.program.code.source_files import language_of

        return is_cplus(self.unit) or language_of(self.unit) in _PLAIN_LANGUAGES

    def _completes(self, target: int) -> None:
        """Note that an entry in an instance completes another one."""
        owners = self.owners
        for depth in range(len(owners) - 2, -1, -1):
            if owners[depth].instance is not None:
                holder, origin = self.instances[depth]
                if origin is not None:
                    self.completed.setdefault((origin, target), holder)
                return

    def _origins(self) -> Iterator[Problem]:
        """Yield the instances of one function in which an entry completes an entry of another function."""
        functions = self._functions
        wrong: set[int] = set()
        for (origin, target), holder in self.completed.items():
            before = bisect_right(functions, target) - 1
            if (before >= 0 and functions[before] == origin) or holder in wrong or target not in self.tags:
                continue
            own, around = self._abstract(origin), self.unit.die_known_at(target).ancestors()
            function = next((die for die in around if die.tag in INSTANCES), None)
            other = None if function is None else self._abstract(function.offset)
            if own is not None and (function is None or (other is not None and own.offset != other.offset)):
                wrong.add(holder)
                names = {"own": _called(own), "other": "no function" if other is None else _called(other)}
                yield self._problem("origin-function", self.unit.die_known_at(holder), **names)

    def _abstract(self, offset: int) -> Die | None:
        """Return the entry at the end of the abstract origins of an entry; None where another unit or none has it."""
        seen: set[int] = set()
        while offset in self.tags and offset not in seen:
            seen.add(offset)
            die = self.unit.die_known_at(offset)
            origin = die.number(dw.DW_AT_abstract_origin)
            if origin is None:
                return die
            if origin.form not in forms.REF_UNIT:
                return None
            offset = origin.value
        return None

    @cached_property
    def _language(self) -> str:
        language = self.unit.root.number(dw.DW_AT_language)
        return "" if language is None else name_of("DW_LANG", language.unsigned()).removeprefix("DW_LANG_")

    @cached_property
    def _c_model(self) -> bool:
        """Whether the types of the unit are those of C where pointers have 64 bits."""
        name = self._language
        is_c = name.startswith(("C_plus_plus", "OpenCL", "CPP_for", "HIP", "LLVM_HIP", "ObjC")) or name in _C
        return is_c and self.checks.image.machine in (elf.EM_AMDGPU, elf.EM_X86_64) and self.unit.address_size == 8

    @property
    def _is_wide(self) -> bool:
        """Whether all pointers have 8 bytes: no compiler for x86-64 has others, except x32."""
        return self.checks.image.machine == elf.EM_X86_64 and self.unit.address_size == 8

    def _signature(self, attribute: Attribute) -> Iterator[Problem]:
        try:
            self.unit.dwarf.type_unit(attribute.value)
        except MissingContext:
            yield self._problem("signature", attribute.die, name=attribute.name, value=attribute.value)

    def _pointer(self, attribute: Attribute) -> Iterator[Problem]:
        if self._is_wide and attribute.value != 8:
            yield self._problem("pointer-size", attribute.die, "DWARF 5, 5.3", size=attribute.value, expected=8)
            return
        error = contradiction(self.types.of(attribute.die))
        if error is not None:
            yield self._problem("pointer-size", attribute.die, error.spec, reason=error.message)

    # --- Addresses ------------------------------------------------------------------------------------------------

    def _ranges(
        self, plan: CheckPlan, die: Die, around: list[tuple[int, int]] | None
    ) -> tuple[list[tuple[int, int]] | None, list[Problem]]:
        """Return the code of an entry, or of the one around it, and what is wrong with it."""
        problems: list[Problem] = []
        if around == [] and die.tag != dw.DW_TAG_subprogram:  # of a function that the linker has dropped
            return around, problems
        try:
            if plan.pc is not None:
                pass  # an address and a size
            elif dw.DW_AT_ranges in die.abbreviation.attributes:
                attribute = die.number(dw.DW_AT_ranges)
                assert attribute is not None  # noqa: S101 (it is among the attributes)
                problems += self.checks.lists.problems(attribute)
            else:
                first, last = die.number(dw.DW_AT_low_pc), die.number(dw.DW_AT_high_pc)
                assert first is not None and last is not None  # noqa: S101, PT018 (both are)
                if last.value_class == "address" and last.address() < first.address():
                    problems.append(self._problem("range-reversed", die, low=first.address(), high=last.address()))
                    return around, problems
            own = die.ranges() if plan.pc is None else plan.pc_of(die.values)
        except DwarfGpuError as error:
            if not problems:  # of the list
                place = error.at(section=self.unit.section, offset=die.section_offset)
                problems.append(RULES.unreadable(place, die=die))
            return around, problems
        live = [(low, high) for low, high in own if low < high and not self.checks.code.is_dropped(low)]
        if not live and not problems and die.tag in SCOPES:
            problems += self._empty(die)
            self.checks.dropped += die.tag == dw.DW_TAG_subprogram and not problems
        if not live or die.tag in UNITS:
            return (live if die.tag == dw.DW_TAG_subprogram else around), problems
        if die.tag == dw.DW_TAG_subprogram:
            outside = [*self._in_code(die, live)]
            if not outside:
                self.checks.functions += ((low, high, self.unit, die.offset) for low, high in live)
            problems += outside or self._outside(die, live, self._unit_code, "DWARF 5, 3.1.1")
            problems += self._named(die, live)
        elif around:
            problems += self._outside(die, live, AddressSpans(around))
        is_gnu = (self.unit.producer or "").startswith("GNU ")
        if is_gnu and self.unit.version < 5 and not self.checks.image.is_linked and plan.pc is None:
            return None, problems  # a list seems to end at a range from 0 to 0
        return live, problems

    def _outside(
        self, die: Die, live: list[tuple[int, int]], inside: AddressSpans | None, clause: str | None = None
    ) -> Iterator[Problem]:
        """Yield the first code of an entry that is not within that of the one around it, if that is known."""
        outside = next((span for span in live if inside is not None and not inside.cover(*span)), None)
        if inside is not None and outside is not None:
            values = {"low": outside[0], "high": outside[1], "around": spans_text([*inside])}
            yield self._problem("range-outside", die, clause, **values)

    @cached_property
    def _unit_code(self) -> AddressSpans | None:
        """The code of the unit; None where it is not known, where sections begin at 0, or version 2 has no ranges."""
        if not self.checks.code.are_known or self.unit.version < 3:
            return None
        try:
            code = (self.unit.skeleton or self.unit).root.ranges()
        except DwarfGpuError:  # which is a problem of the unit
            return None
        live = [span for span in code if span[0] < span[1] and not self.checks.code.is_dropped(span[0])]
        return AddressSpans(live) if live else None

    def _entry_pc(self, die: Die) -> Iterator[Problem]:
        """Yield that the entry address is not in the function; GCC enters inlined calls in front of their code."""
        attribute = die.number(dw.DW_AT_entry_pc)
        if attribute is None or attribute.value_class != "address":
            return
        around = self._code_around()
        with suppress(DwarfGpuError):  # of its index, which is a problem of its own
            value = attribute.address()
            if around and not AddressSpans(around).touch(value, value + 1):
                yield self._problem("pc-outside", die, value=value, around=spans_text(around))

    def _code_around(self) -> list[tuple[int, int]] | None:
        """Return the code of the function that owns the entry at hand; None where it is not known."""
        owners = self.owners
        depth = next((i for i in reversed(range(len(owners))) if owners[i].tag == dw.DW_TAG_subprogram), -1)
        return self.spans.get(depth) if depth >= 0 and owners[depth].is_ranged else None

    def _empty(self, die: Die) -> Iterator[Problem]:
        """Yield that a scope has no code; GCC keeps blocks and calls of which nothing is left, with their place."""
        attributes = die.abbreviation.attributes
        if die.tag != dw.DW_TAG_subprogram and (self.unit.producer or "").startswith("GNU "):
            return
        if dw.DW_AT_ranges in attributes:
            if not die.ranges() and self.unit.tables.ranges is not None and not self.unit.tables.ranges[2].entries:
                yield self._problem("empty", die)
            return
        low = die.number(dw.DW_AT_low_pc)
        start = 0 if low is None else low.address()
        if not self.checks.code.is_dropped(start):
            yield self._problem("empty", die, low=start, high=start)

    def _in_code(self, die: Die, live: list[tuple[int, int]]) -> Iterator[Problem]:
        image = self.checks.image
        if not image.is_linked:  # then only the end of the longest section is known
            last = max((section.address + section.size for section in image.code_sections), default=0)
            beyond = [(low, high) for low, high in live if last < high]
            if last and beyond:
                yield self._problem("not-in-code", die, low=beyond[0][0], high=beyond[0][1])
            return
        for low, high in live:
            section = next((each for each in self.checks.loaded if each[0] <= low < each[1]), None)
            if not self.checks.code.is_dropped(low) and (section is None or not section[2] or high > section[1]):
                yield self._problem("not-in-code", die, low=low, high=high)
                return

    # --- References within the unit -------------------------------------------------------------------------------

    def _references(self) -> Iterator[Problem]:
        tags = self.tags
        modified: dict[int, int] = {}
        for (attribute, own), (offsets, targets) in self.references.items():
            wanted = wanted_of(attribute, own)[0]
            reached = set(map(tags.get, targets))
            if None in reached or not all(_fits(own, tag, wanted) for tag in reached if tag is not None):
                yield from self._wrong(attribute, own, offsets, targets)
            needed = needed_of(attribute, own)
            if needed is not None:
                yield from self._incompletes(attribute, own, needed, offsets, targets)
            if attribute in _COMPLETES or (attribute == dw.DW_AT_type and own in _MODIFIERS):
                modified.update(zip(offsets, targets, strict=True))
        yield from self._cycles(modified)
        yield from self._origins()

    def _wrong(self, attribute: int, own: int, offsets: list[int], targets: list[int]) -> Iterator[Problem]:
        """Yield the references that do not lead to what they should."""
        unit = self.unit
        for offset, target in zip(offsets, targets, strict=True):
            tag = self.tags.get(target)
            if tag is None:
                name, place = name_of("DW_AT", attribute), unit.offset + target
                yield self._problem("reference", unit.die_known_at(offset), name=name, place=place)
            else:
                yield from self._referred(unit.die_known_at, offset, own, attribute, tag, target)

    def _incompletes(
        self, attribute: int, own: int, needed: tuple[int, bool, str], offsets: list[int], targets: list[int]
    ) -> Iterator[Problem]:
        """Yield the references to entries of the right kind that cannot be completed."""
        wanted, die_at = wanted_of(attribute, own)[0], self.unit.die_known_at
        reached = {target for target in {*targets} if _fits(own, self.tags.get(target, 0), wanted)}
        wrong = {each for each in reached if (needed[0] in die_at(each).abbreviation.attributes) != needed[1]}
        for offset, target in zip(offsets, targets, strict=True) if wrong else ():
            if target in wrong and target != offset:
                yield self._incomplete(self.unit.die_known_at(offset), attribute, needed, target)

    def _incomplete(self, die: Die, attribute: int, needed: tuple[int, bool, str], target: int) -> Problem:
        number, is_missing, clause = needed
        names = {"name": name_of("DW_AT", attribute), "missing" if is_missing else "present": name_of("DW_AT", number)}
        return self._problem("completed", die, clause, **names, place=self.unit.offset + target)

    @cached_property
    def _functions(self) -> list[int]:
        """The offsets of functions, after all entries were visited."""
        return [offset for offset, tag in self.tags.items() if tag == dw.DW_TAG_subprogram]

    def _cycles(self, modified: dict[int, int]) -> Iterator[Problem]:
        """Yield each entry that is reached again from itself."""
        ended: set[int] = set()
        for start in modified:
            path: dict[int, None] = {}
            offset: int | None = start
            while offset is not None and offset not in ended and offset not in path:
                path[offset] = None
                offset = modified.get(offset)
            if offset is not None and offset in path:
                yield self._problem("reference-cycle", self.unit.die_known_at(offset))
            ended.update(path)

    def _referred(
        self, die_at: Callable[[int], Die], offset: int, own: int, attribute: int, tag: int, target: int
    ) -> Iterator[Problem]:
        """Yield what is wrong with a reference from an entry with one tag to an entry with another."""
        wanted = wanted_of(attribute, own)
        if _fits(own, tag, wanted[0]):
            return
        names = {"name": name_of("DW_AT", attribute), "tag": name_of("DW_TAG", own), "target": name_of("DW_TAG", tag)}
        yield self._problem("reference-tag", die_at(offset), wanted[1], **names, place=self.unit.offset + target)


_OF_CONSTANTS: dict[str, Callable[[_UnitChecks], ValueCheck]] = {
    "DW_AT_LLVM_lanes": lambda checks: checks._positive("lanes"),  # noqa: SLF001 (of this module)
    "DW_AT_LLVM_vector_size": lambda checks: checks._positive("vector-size"),  # noqa: SLF001
    "DW_AT_LLVM_address_space": lambda checks: checks._space,  # noqa: SLF001
    "DW_AT_address_class": lambda checks: checks._space,  # noqa: SLF001
    "DW_AT_LLVM_memory_space": lambda checks: checks._memory_space,  # noqa: SLF001
    "DW_AT_data_member_location": lambda checks: checks._member,  # noqa: SLF001
    "DW_AT_bit_size": lambda checks: checks._bit_size,  # noqa: SLF001
    "DW_AT_decl_file": lambda checks: checks._file,  # noqa: SLF001
    "DW_AT_call_file": lambda checks: checks._file,  # noqa: SLF001
}
"""The checks of numbers."""


def _fits(own: int, tag: int, wanted: frozenset[int] | None) -> bool:
    """Return whether an entry with a tag may refer to one with another; an empty set allows any."""
    return tag == own if wanted is None else not wanted or tag in wanted


def _is_allowed(kind: str, allowed: frozenset[str], name: str, version: int) -> bool:
    """Return whether a value of a class can be that of an attribute."""
    if kind in allowed:
        return True
    if version < 4:  # expressions are blocks, offsets into sections and constants look alike (DWARF 3, 7.5.4)
        return kind in ("block", "constant", "exprloc")
    return name == "DW_AT_high_pc" and kind == "constant"
