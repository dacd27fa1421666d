"""What the check of the file finds wrong with the entries that executed code uses: no execution can make it right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify import entries, expressions, lists
from dwarfgpu.audits.verify.file_check import FileCheck
from dwarfgpu.audits.verify.findings import NOTE, CheckRule, FileFinding, Problem
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.program.code.code_object import CodeObject
from dwarfgpu.program.types.reader import TYPES

LEFT_OUT = "list-several-places", "expression-deprecated"
"""The rules that say nothing false about a value: judge reads each place of a variable, whatever the words for it."""
RULES: dict[str, CheckRule] = {
    rule.name: rule
    for part in (entries, expressions, lists)
    for rule in part.RULES.values()
    if rule.severity != NOTE and rule.name not in LEFT_OUT
}
_USED = "DW_AT_type", "DW_AT_abstract_origin", "DW_AT_specification"
_APART = TYPES | {dw.DW_TAG_subprogram}
"""What a structure declares that its values have no part of."""
_STRUCTURES = frozenset((dw.DW_TAG_structure_type, dw.DW_TAG_class_type, dw.DW_TAG_union_type))


def findings_of_entries(file: CodeObject, functions: Iterable[Die]) -> Iterator[FileFinding]:
    """Yield what is wrong with the entries of functions, and with all that these refer to."""
    used = _used(functions)
    check = FileCheck(file)
    for unit in dict.fromkeys(die.unit for die in used):
        for problem in _problems(file, unit):
            severity = problem.severity or problem.rule.severity
            if problem.die in used and problem.rule.name in RULES and severity != NOTE and problem.idiom_name is None:
                yield check.finding(problem)


@lru_cache(maxsize=16)
def _problems(file: CodeObject, unit: Unit) -> tuple[Problem, ...]:
    """Return the problems of a unit: each kernel of a file needs them."""
    return tuple(FileCheck(file).entries.problems((unit,)))


def _used(functions: Iterable[Die]) -> set[Die]:
    """Return the entries of functions, and those of the types and abstract instances that they refer to."""
    used: set[Die] = set()
    waiting = [*functions]
    while waiting:
        die = waiting.pop()
        if die in used:
            continue
        used.add(die)
        try:
            for name in _USED:
                attribute = die.get(name)
                if attribute is not None:
                    waiting.append(attribute.reference())
            left_out = _APART if die.tag in _STRUCTURES else ()
            waiting.extend(child for child in die.children() if child.tag not in left_out)
        except DwarfGpuError as error:
            die.unit.dwarf.note(error)
    return used
