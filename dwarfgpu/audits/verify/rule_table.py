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
IDIOMS = "idioms"
"""What is ignored where it is known that the producer always writes so."""


def rule_named(name: str) -> CheckRule:
    """Return a rule; an unknown name is an error."""
    rule = RULES.get(name)
    if rule is None:
        raise _unknown(name, list(RULES))
    return rule


def check_ignored(names: list[str]) -> None:
    """Refuse names of what cannot be ignored."""
    for name in names:
        if name not in RULES and name not in PARTS and name != IDIOMS:
            raise _unknown(name, [*RULES, *PARTS, IDIOMS])


def _unknown(name: str, known: list[str]) -> UsageError:
    hint = nearest_hint(name, known, "`dwarfgpu verify --rules` lists them")
    return UsageError(f"there is no rule {name!r}", hint=hint)
