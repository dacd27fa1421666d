"""The numbers of ``llvm-dwarfdump --statistics``, by its definitions (version 9, llvm/tools/llvm-dwarfdump).

They count otherwise than the sums of this package: what an expression says does not matter, so that an undefined
location covers the scope as any other does; overlapping entries of a list count twice; a block without code of its own
lends a list nothing; a function is known by its name, file and line, so that copies in several units are one. The one
difference is that a reference to an abstract instance counts from its unit, in every unit; llvm-dwarfdump compares it
with offsets in the section, and so finds the variables that copies lack in the first unit alone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import Factory, define

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.code_scope import FUNCTIONS
from dwarfgpu.audits.coverage.kinds import LocationKinds
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.program.code.code_lookup import line_table
from dwarfgpu.program.code.loaded import location_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

VERSION = 9
"""The version of the definitions."""
BUCKETS = ("0%", "(0%,10%)", *(f"[{low}%,{low + 10}%)" for low in range(10, 100, 10)), "100%")
_CALLS = (dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site)
_CALL_PARAMETERS = (dw.DW_TAG_call_site_parameter, dw.DW_TAG_GNU_call_site_parameter)
_GROUPS = {dw.DW_TAG_formal_parameter: "params", dw.DW_TAG_variable: "local_vars"}
_NAMES = {"variables": "variables", "params": "params", "local_vars": "local vars"}


class _CountedFunction:
    """What is counted of the functions with one name, file and line; or of what is outside of functions."""

    def __init__(self) -> None:
        self.inlined = self.out_of_line = self.origins = self.located = self.constants = self.artificial = 0
        self.variables: set[str] = set()
        self.is_function = self.has_source = False
        self.params = [0, 0, 0, 0]
        """All of them, those with a source line, with a type, and with a location."""
        self.vars = [0, 0, 0, 0]


@define(eq=False)
class _Copy:
    """An inlined call or a function that completes an abstract instance."""

    origin: tuple[str, int] | None
    lacking: set[tuple[str, int]] = Factory(set)
    """The variables that were found to have a location."""


@frozen
class _Level:
    """What holds for the entries that another one owns."""

    function: str = "/"
    prefix: str = "g"
    scope: int = 0
    inlined: int = 0
    copy: _Copy | None = None


class _Counts:
    """The counts over all units."""

    def __init__(self) -> None:
        self.functions: dict[str, _CountedFunction] = {}
        self.bytes = {group: [0, 0, 0] for group in _NAMES}
        """Of each group of variables the bytes of the scopes, those covered, and those with values at the entry."""
        self.any_scope = self.calls = self.call_sites = self.call_parameters = 0
        self.in_functions = self.in_inlined = 0
        self.buckets = {group: [0] * len(BUCKETS) for group in _NAMES}
        self.buckets_without = {group: [0] * len(BUCKETS) for group in _NAMES}
        """The same without the bytes that have values at the entry of the function."""
        self.processed = dict.fromkeys(_NAMES, 0)
        self.abstract: dict[tuple[str, int], list[tuple[tuple[str, int], str]]] = {}
        self.copies: list[_Copy] = []

    def groups(self, tag: int) -> tuple[str, ...]:
        return ("variables", *([_GROUPS[tag]] if tag in _GROUPS else ()))


def statistics(file: CodeObject) -> dict[str, int]:
    """Return the numbers by the names that llvm-dwarfdump gives them, in its order."""
    counts = _Counts()
    kinds = LocationKinds(file)
    for unit in _units(file.dwarf):
        try:
            _UnitCount(counts, kinds, file, unit).count()
        except DwarfGpuError as error:
            file.dwarf.note(error)
    for copy in counts.copies:
        for variable, group in counts.abstract.get(copy.origin, ()) if copy.origin is not None else ():
            if variable not in copy.lacking:
                for name in ("variables", group):
                    counts.processed[name] += 1
                    counts.buckets[name][0] += 1
    return _numbers(counts)


def _units(dwarf: Dwarf) -> Iterator[Unit]:
    """Yield the units of ``.debug_info``, with the split unit in place of a skeleton."""
    for unit in dwarf.units:
        if unit.section != ".debug_info":
            continue
        try:
            yield dwarf.split_unit(unit) if unit.is_skeleton else unit
        except DwarfGpuError as error:
            dwarf.note(error)
            yield unit


class _UnitCount:
    """The count of one unit."""

    def __init__(self, counts: _Counts, kinds: LocationKinds, file: CodeObject, unit: Unit) -> None:
        self.counts = counts
        self.kinds = kinds
        self.file = file
        self.unit = unit

    def count(self) -> None:
        levels: list[_Level] = [_Level()]
        blocks: list[list[int]] = [[0, 0]]
        owners: list[Die] = []
        skipped = abstract_depth = -1
        abstract: list[tuple[tuple[str, int], str]] = []
        for offset, depth, abbreviation, values in self.unit.entries():
            if skipped >= 0:
                if depth > skipped:
                    continue
                skipped = -1
            die = Die(self.unit, offset, abbreviation, values)
            if depth > abstract_depth >= 0:
                if die.tag in _GROUPS:
                    abstract.append(((self.unit.section, die.section_offset), _GROUPS[die.tag]))
                elif die.tag != dw.DW_TAG_lexical_block:
                    skipped = depth
                continue
            abstract_depth = -1
            del levels[depth + 1 :], blocks[depth + 1 :], owners[depth:]
            level = levels[depth]
            prefix = level.prefix + (_numbered(die.tag, blocks[depth]) if depth else "")
            inner: _Level | None
            if die.tag == dw.DW_TAG_subroutine_type:
                skipped = depth
                continue
            if die.tag in (*FUNCTIONS, dw.DW_TAG_lexical_block):
                if die.tag in FUNCTIONS and dw.DW_AT_inline in abbreviation.attributes and not die.is_declaration:
                    self._count_call(die)
                    abstract_depth = depth
                    abstract = self.counts.abstract[self.unit.section, die.section_offset] = []
                    continue
                inner = self._scope(die, level, prefix)
                if inner is None:
                    skipped = depth
                    continue
            else:
                self._entry(die, owners, level, prefix)
                inner = _Level(level.function, prefix, level.scope, level.inlined, level.copy)
            levels.append(inner)
            blocks.append([0, 0])
            owners.append(die)

    def _count_call(self, die: Die) -> None:
        if die.number(dw.DW_AT_call_file) is not None and die.number(dw.DW_AT_call_line) is not None:
            self.counts.calls += 1

    def _scope(self, die: Die, level: _Level, prefix: str) -> _Level | None:
        """Count a function, an inlined call or a block; None if nothing in it counts."""
        counts, copy, function = self.counts, level.copy, level.function
        is_block = die.tag == dw.DW_TAG_lexical_block
        is_inlined = die.tag == dw.DW_TAG_inlined_subroutine
        origin = die.number(dw.DW_AT_abstract_origin)
        if not is_block and origin is not None:
            copy = _Copy(_place(die, dw.DW_AT_abstract_origin))
            counts.copies.append(copy)
        if die.is_declaration:
            return None
        self._count_call(die)
        try:
            size = sum(high - low for low, high in die.ranges())
        except DwarfGpuError:
            return None
        if not is_block:
            prefix = "v"
            function = self._identity(die, "")
            known = counts.functions.setdefault(function, _CountedFunction())
            known.is_function = True
            if is_inlined:
                known.inlined += 1
                known.origins += origin is not None
            else:
                known.out_of_line += 1
            known.has_source |= _has_source(die)
        scope = level.scope
        if size:
            scope = size
            if die.tag == dw.DW_TAG_subprogram:
                counts.in_functions += size
            elif is_inlined and not level.inlined:
                counts.in_inlined += size
        inlined = level.inlined + 1 if is_inlined else level.inlined if is_block else 0
        return _Level(function, prefix, scope, inlined, copy)

    def _identity(self, die: Die, prefix: str) -> str:
        """Return what tells entries apart: the prefix and the name, of what is not local also file and line."""
        try:
            text = prefix + (die.linkage_name or die.name or "")
        except DwarfGpuError:
            text = prefix
        if prefix and prefix != "g":
            return text
        return f"{text}:{self._file_name(die) or '/'}:{_number(die, dw.DW_AT_decl_line) or 0}"

    def _file_name(self, die: Die) -> str | None:
        number = _number(die, dw.DW_AT_decl_file)
        if number is None:
            return None
        with suppress(DwarfGpuError):
            table = line_table(self.file, die.unit, of_entries=True)
            path = None if table is None else table.path(number, die.unit.directory or "")
            return None if path is None else path.rpartition("/")[2]
        return None

    # --- Variables ------------------------------------------------------------------------------------------------

    def _entry(self, die: Die, owners: list[Die], level: _Level, prefix: str) -> None:
        """Count what is no scope."""
        counts, tag = self.counts, die.tag
        if not owners:
            return
        if tag in _CALLS:
            counts.call_sites += 1
        elif tag in _CALL_PARAMETERS:
            counts.call_parameters += 1
        is_member = tag == dw.DW_TAG_member and die.number(dw.DW_AT_const_value) is not None
        if (tag not in _GROUPS and not is_member) or (tag == dw.DW_TAG_variable and _has(die, dw.DW_AT_declaration)):
            counts.functions.setdefault(level.function, _CountedFunction())
            return
        self._variable(die, owners[-1], level, prefix)

    def _variable(self, die: Die, owner: Die, level: _Level, prefix: str) -> None:
        """Count a variable, a parameter or a constant member."""
        counts, tag = self.counts, die.tag
        known = counts.functions.setdefault(level.function, _CountedFunction())
        has_origin = die.number(dw.DW_AT_abstract_origin) is not None
        says_where = _has(die, dw.DW_AT_location) or _has(die, dw.DW_AT_const_value)
        place = _place(die, dw.DW_AT_abstract_origin) if has_origin else None
        if place is not None and says_where and level.copy is not None:
            level.copy.lacking.add(place)
        covered, in_any, at_entry = self._covered(die, owner, level.scope)
        is_located = covered is not None
        covered = covered or 0
        groups = counts.groups(tag)
        if level.scope and (says_where or not has_origin):
            for group in groups:
                counts.processed[group] += 1
                counts.buckets[group][_bucket(covered, level.scope)] += 1
                counts.buckets_without[group][_bucket(covered - at_entry, level.scope)] += 1
        original = die
        if has_origin:
            with suppress(DwarfGpuError):
                original = die.origin() or die
        known.variables.add(self._identity(original, prefix))
        counts.any_scope += in_any
        if level.scope:
            for group in groups:
                for index, value in enumerate((level.scope, covered, at_entry)):
                    counts.bytes[group][index] += value
        if tag == dw.DW_TAG_member:
            known.constants += 1
            return
        known.located += is_located
        if _has(original, dw.DW_AT_artificial):
            known.artificial += 1
            return
        shapes = known.params if tag == dw.DW_TAG_formal_parameter else known.vars
        for index, value in enumerate((True, _has_source(die), _finds(die, dw.DW_AT_type), is_located)):
            shapes[index] += value

    def _covered(self, die: Die, owner: Die, scope: int) -> tuple[int | None, int, int]:
        """Return the bytes of the scope that are covered (None without a location), of any, and with entry values."""
        if _has(die, dw.DW_AT_const_value):
            return scope, scope, 0
        location = die.number(dw.DW_AT_location)
        if location is None:
            return None, 0, 0
        try:
            if location.value_class != "loclist":
                location.block()
                return scope, scope, 0
            listed = location_list(location)
            if listed.error is not None:
                return None, 0, 0
            if any(entry.default for entry in listed.entries):
                return scope, scope, 0
            ranges = owner.ranges()
        except DwarfGpuError:
            return None, 0, 0
        covered = in_any = at_entry = 0
        for entry in listed.entries:
            in_any += entry.end - entry.start
            here = sum(max(0, min(high, entry.end) - max(low, entry.start)) for low, high in ranges)
            covered += here
            if here and self.kinds.known(entry.expression, self.unit.format).is_entry_value:
                at_entry += here
        return covered, in_any, at_entry


def _numbered(tag: int, counts: list[int]) -> str:
    """Return what tells blocks, or parameters, of one owner apart."""
    if tag not in (dw.DW_TAG_lexical_block, dw.DW_TAG_formal_parameter):
        return ""
    is_parameter = tag == dw.DW_TAG_formal_parameter
    counts[is_parameter] += 1
    return f"{'p' * is_parameter}{counts[is_parameter] - 1 & 255:02X}."


def _bucket(covered: int, scope: int) -> int:
    if not covered:
        return 0
    return len(BUCKETS) - 1 if covered >= scope else int(100.0 * covered / scope) // 10 + 1


def _has(die: Die, attribute: int) -> bool:
    return attribute in die.abbreviation.attributes


def _finds(die: Die, attribute: int) -> bool:
    with suppress(DwarfGpuError):
        return die.find_number(attribute) is not None
    return False


def _has_source(die: Die) -> bool:
    return _finds(die, dw.DW_AT_decl_file) and _finds(die, dw.DW_AT_decl_line)


def _number(die: Die, attribute: int) -> int | None:
    with suppress(DwarfGpuError):
        value = die.find_number(attribute)
        return None if value is None else value.unsigned()
    return None


def _place(die: Die, attribute: int) -> tuple[str, int] | None:
    """Return the section and the offset that a reference leads to."""
    with suppress(DwarfGpuError):
        value = die.number(attribute)
        target = None if value is None else value.reference()
        return None if target is None else (target.unit.section, target.section_offset)
    return None


def _numbers(counts: _Counts) -> dict[str, int]:
    """Return the counts by their names."""
    known = counts.functions.values()
    functions = [function for function in known if function.is_function]
    total = sum(
        len(function.variables) * (function.inlined + function.out_of_line)
        if function.is_function
        else function.vars[0] + function.constants + function.artificial
        for function in known
    )
    numbers: dict[str, Any] = {
        "#functions": len(functions),
        "#functions with location": sum(function.has_source for function in known),
        "#out-of-line functions": sum(function.out_of_line for function in functions),
        "#inlined functions": sum(function.inlined for function in functions),
        "#inlined functions with abstract origins": sum(function.origins for function in functions),
        "#unique source variables": sum(len(function.variables) for function in known),
        "#source variables": total,
        "#source variables with location": sum(function.located + function.constants for function in known),
        "#call site entries": counts.calls,
        "#call site DIEs": counts.call_sites,
        "#call site parameter DIEs": counts.call_parameters,
    }
    for group, (scope, covered, at_entry) in counts.bytes.items():
        start = f"sum_all_{group}(#bytes in"
        numbers[f"{start} parent scope)"] = scope
        if group == "variables":
            numbers[f"{start} any scope covered by DW_AT_location)"] = counts.any_scope
        numbers[f"{start} parent scope covered by DW_AT_location)"] = covered
        numbers[f"{start} parent scope covered by DW_OP_entry_value)"] = at_entry
    numbers["#bytes within functions"] = counts.in_functions
    numbers["#bytes within inlined functions"] = counts.in_inlined
    for group, shapes in (("params", [each.params for each in known]), ("local vars", [each.vars for each in known])):
        endings = ("", " with source location", " with type", " with binary location")
        for index, ending in enumerate(endings):
            numbers[f"#{group}{ending}"] = sum(shape[index] for shape in shapes)
    for group, name in _NAMES.items():
        numbers[f"#{name} processed by location statistics"] = counts.processed[group]
        for without, buckets in (("", counts.buckets), (" - entry values", counts.buckets_without)):
            for bucket, count in zip(BUCKETS, buckets[group], strict=True):
                numbers[f"#{name}{without} with {bucket} of parent scope covered by DW_AT_location"] = count
    return numbers
