"""All rules that files are checked by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.audits.verify import (
    call_frames,
    code_objects,
    entries,
    expressions,
    file_check,
    indexes,
    line_tables,
    lists,
    unit_tables,
)
from dwarfgpu.audits.verify.findings import CheckRule
from dwarfgpu.errors import UsageError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES: dict[str, CheckRule] = {
    rule.name: rule
    for part in (file_check, code_objects, entries, expressions, lists, call_frames, line_tables, indexes, unit_tables)
    for rule in part.RULES.values()
}
PARTS: tuple[str, ...] = tuple(dict.fromkeys(rule.part for rule in RULES.values()))


def rule_named(name: str, rules: Mapping[str, CheckRule] = RULES) -> CheckRule:
    """Return a rule; an unknown name is an error."""
    rule = rules.get(name)
    if rule is None:
        hint = nearest_hint(
            name, rules, "a finding ends with its rule; `dwarfgpu verify --rules` lists those for files"
        )
        raise UsageError(f"there is no rule {name[:60]!r}", hint=hint)
    return rule
