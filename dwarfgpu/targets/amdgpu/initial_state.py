"""The registers of a wave at its first instruction: one table, to explain them and to set them.

The rows follow from the rules (`initial_rules`) and from what a kernel requests. The module is
independent of a machine: it computes with numbers, or with arrays with one element a wave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.targets.amdgpu import initial_rules as rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.targets.amdgpu.geometry import Place
    from dwarfgpu.targets.amdgpu.initial_rules import Rule, Words
    from dwarfgpu.targets.amdgpu.start import Start


@frozen
class Row:
    """A rule and the registers that it describes."""

    kind: str
    """``s``, ``ttmp`` or ``v`` with a number, or the name of a register that has none."""
    first: int | None
    rule: Rule
    count: int
    """32-bit registers; in a register without a number, its words."""

    @property
    def registers(self) -> str:
        """The registers as the assembler writes them."""
        if self.first is None:
            return self.kind
        if self.count == 1:
            return f"{self.kind}{self.first}"
        return f"{self.kind}[{self.first}:{self.first + self.count - 1}]"

    @property
    def is_set(self) -> bool:
        """Whether the documents define what the register holds."""
        return self.rule.by != rules.NOBODY

    def words(self, start: Start, place: Place) -> Words:
        """Return the 32-bit words, lowest first; none if they are not set. A vector register has `item_words`."""
        return self.rule.words(start, place)[: self.count]


def item_words(row: Row, start: Start, place: Place, lane: Any) -> Any:
    """Return the word of a lane in a vector register; that of a lane that does not execute has no meaning."""
    x, y, z = start.geometry.item(place, lane)
    if row.rule is not rules.PACKED_IDS:
        return (x, y, z)[rules.SEPARATE_IDS.index(row.rule)]
    enabled = start.field(rules.ITEM_IDS)
    return x + (y * (1 << 10) if enabled > 0 else 0) + (z * (1 << 20) if enabled > 1 else 0)


def rows(start: Start) -> tuple[Row, ...]:
    """Return the rows of all registers that the documents define, in their order."""
    return (*_sgprs(start), *_ttmps(start), *_vgprs(start), *_others(start))


def problems(start: Start) -> tuple[str, ...]:
    """Return a message for each request of a descriptor that is not fulfilled."""
    messages = []
    wanted = _user_sgprs(start)
    count, limit = start.field("USER_SGPR_COUNT"), start.processor.user_sgpr_limit
    asked = sum(number for _rule, number in wanted)
    if asked > count:
        messages.append(
            f"the fields ask for {asked} user SGPRs, and USER_SGPR_COUNT is {count}: they must match"
        )
    if max(asked, count) > limit:
        number = max(asked, count)
        messages.append(f"{number} user SGPRs are more than the {limit} that {start.processor.name} sets")
    for rule, _number in wanted:
        if rule.by == rules.NOBODY:
            messages.append(f"{rule.enable} must be 0: {start.processor.name} does not support it")
    if start.field(rules.ITEM_IDS) == 3:
        messages.append(f"{rules.ITEM_IDS} is 3, which is undefined")
    return tuple(messages)


def _enabled(table: tuple[Rule, ...], start: Start) -> Iterator[Rule]:
    return (rule for rule in table if start.field(rule.enable) and rule.applies(start))


def _user_sgprs(start: Start) -> list[tuple[Rule, int]]:
    """Return the rules of enabled user SGPRs in their order, and how many registers each takes."""
    wanted = [(rule, rule.count) for rule in _enabled(rules.USER_SGPRS, start)]
    preloaded = start.field(rules.KERNARG_PRELOAD)
    return [*wanted, (rules.preload_rule(start), preloaded)] if preloaded else wanted


def user_sgpr_count(start: Start) -> int:
    """Return the first system SGPR: "the first 16 [...] are then immediately followed by the System SGPRs"."""
    return min(start.field("USER_SGPR_COUNT"), start.processor.user_sgpr_limit)


def _sgprs(start: Start) -> Iterator[Row]:
    """Yield the rows of SGPRs, densely from s0; those beyond the user SGPRs that the descriptor counts are not set."""
    end = user_sgpr_count(start)
    first = 0
    for rule, count in _user_sgprs(start):
        there = min(count, end - first)
        if there > 0:
            yield Row("s", first, rule, there)
            first += there
    if first < end:
        yield Row("s", first, rules.PADDING, end - first)
    first = end
    for rule in _enabled(rules.SYSTEM_SGPRS, start):
        yield Row("s", first, rule, rule.count)
        first += rule.count


def _ttmps(start: Start) -> Iterator[Row]:
    if start.processor.has("ttmp-ids"):
        for number, rule in rules.TTMPS:
            if not rule.enable or start.field(rule.enable):
                yield Row("ttmp", number, rule, rule.count)


def _vgprs(start: Start) -> Iterator[Row]:
    if start.processor.has("packed-ids"):
        yield Row("v", 0, rules.PACKED_IDS, 1)
        return
    for number, rule in enumerate(rules.SEPARATE_IDS):
        if number <= min(start.field(rules.ITEM_IDS), 2):
            yield Row("v", number, rule, 1)


def _others(start: Start) -> Iterator[Row]:
    preloaded = rules.first_instruction(start) != start.entry
    yield Row("pc", None, rules.PC_PRELOADED if preloaded else rules.PC, 2)
    words = start.wave_size // 32
    yield Row("exec", None, rules.EXEC, words)
    yield Row("mode", None, rules.MODE, 1)
    if start.processor.has("flat-architected"):
        if start.field(rules.FLAT_SCRATCH.enable):
            yield Row("flat_scratch", None, rules.FLAT_SCRATCH, 2)
    else:
        for rule in (rules.FLAT_SCRATCH_OFFSET, rules.FLAT_SCRATCH_ABSOLUTE):
            if rule.applies(start):
                yield Row("flat_scratch", None, rule, 2)
    yield Row("m0", None, rules.M0 if start.processor.major >= 9 else rules.M0_LDS, 1)
    yield Row("vcc", None, rules.VCC, words)
    yield Row("status", None, rules.STATUS, 1)
