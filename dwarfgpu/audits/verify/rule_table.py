"""All rules that files are checked by."""

from __future__ import annotations

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

RULES: dict[str, CheckRule] = {
    rule.name: rule
    for part in (file_check, code_objects, entries, expressions, lists, call_frames, line_tables, indexes, unit_tables)
    for rule in part.RULES.values()
}
PARTS: tuple[str, ...] = tuple(dict.fromkeys(rule.part for rule in RULES.values()))


def rule_named(name: str) -> CheckRule:
    """Return a rule; an unknown name is an error."""
    rule = RULES.get(name)
    if rule is None:
        hint = nearest_hint(name, RULES, "`dwarfgpu verify --rules` lists them")
        raise UsageError(f"there is no rule {name!r}", hint=hint)
    return rule
