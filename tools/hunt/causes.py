"""The causes of a campaign: what its findings have in common, a rule and a pass, each with a small example."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from attrs import asdict

from dwarfgpu.immutable import frozen
from dwarfgpu.regular_files import read_input
from hunt.blamed_pass import BlamedPass
from hunt.campaign_folder import source_levels, write_whole
from hunt.cause_finder import CauseFinder, FindingCause
from hunt.reducer import MOST_TESTS
from hunt.source_levels import LOST, RESULT, SourceFinding
from hunt.source_variants import SourceVariants, compared_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hunt.campaign_folder import CampaignFolder, SourceAnswer
    from hunt.source_levels import LevelVerdict

RULES = (
    RESULT, "value-failed", "value-source", "value-lanes", "against-wrong", "against-between", "against-together",
    "against-order", "value-written", "value-changed", "against-access", LOST,
)  # fmt: skip
"""The rules, the gravest first."""
MOST_OF_RULE = 12
"""The findings of a rule whose passes are looked for."""
UNKNOWN, NOT_EXAMINED = "not found", "not examined"
"""What stands for a pass that was looked for in vain, and for one that was not looked for."""


@frozen
class ExampleFinding:
    """A finding of a campaign, with where it is."""

    answer: SourceAnswer
    verdict: LevelVerdict
    finding: SourceFinding

    @property
    def name(self) -> str:
        """Its name, for a file."""
        parts = self.answer.name, self.verdict.kernel, f"O{self.verdict.level}", self.finding.rule
        return "-".join((*parts, self.finding.function, self.finding.variable)).replace("/", "_")[:200]


@frozen
class CauseGroup:
    """Findings of one rule that one pass makes."""

    rule: str
    name: str
    """The pass."""
    confirmed: int
    """The findings that are gone without the pass."""
    found: tuple[tuple[ExampleFinding, FindingCause | None], ...]

    @property
    def examined(self) -> int:
        """The findings whose pass was looked for."""
        return sum(cause is not None for _example, cause in self.found)

    @property
    def smallest(self) -> ExampleFinding:
        """The finding with the shortest source."""
        return min(self.found, key=lambda pair: 0 if pair[1] is None else len(pair[1].source))[0]


def counted_rules(answers: Iterable[SourceAnswer]) -> Counter[str]:
    """Return how many variables of kernels break each rule, at any level."""
    return Counter(example.finding.rule for example in examples(answers, most=None))


def examples(answers: Iterable[SourceAnswer], most: int | None = MOST_OF_RULE) -> Iterator[ExampleFinding]:
    """Yield findings, each variable of a kernel at the lowest level that has it, so many of each rule."""
    found: dict[tuple[str, ...], ExampleFinding] = {}
    for answer in answers:
        for verdict in answer.verdicts:
            for finding in verdict.findings:
                key: tuple[str, ...] = finding.rule, answer.name, verdict.kernel, finding.function, finding.variable
                found.setdefault(key, ExampleFinding(answer, verdict, finding))
    counts: Counter[str] = Counter()
    for example in sorted(found.values(), key=lambda example: _rank(example.finding.rule)):
        rule = example.finding.rule
        counts[rule] += 1
        if most is None or counts[rule] <= most:
            yield example


def _rank(rule: str) -> int:
    """Return how late findings of a rule come."""
    return RULES.index(rule) if rule in RULES else len(RULES)


def with_variants(
    folder: CampaignFolder, examples: Iterable[ExampleFinding]
) -> Iterator[tuple[SourceVariants, ExampleFinding]]:
    """Yield findings with the variants of their kernel, which those of one kernel share: they are yielded together.

    Those that need other builds to compare with come first: what was judged for them serves the others, too.
    """
    kernels: dict[tuple[str, str], list[ExampleFinding]] = {}
    for example in examples:
        kernels.setdefault((example.answer.name, example.verdict.kernel), []).append(example)
    for (name, kernel), found in kernels.items():
        with SourceVariants(source_levels(folder.source(name), found[0].answer.processor), kernel) as variants:
            for example in sorted(found, key=lambda each: compared_with(each.finding.rule), reverse=True):
                yield variants, example


def cause_of(
    folder: CampaignFolder, variants: SourceVariants, example: ExampleFinding, *, is_reduced: bool, of: str = ""
) -> FindingCause:
    """Return the cause of a finding, which the folder keeps; ``of`` names it while the source is reduced."""
    known = kept_cause(folder, example, is_reduced=is_reduced)
    if known is not None:
        return known
    finder = CauseFinder(variants, example.verdict.level, example.finding)
    found = finder.cause(tests=MOST_TESTS if is_reduced else 0, of=of)
    write_whole(_kept(folder, example, is_reduced=is_reduced), json.dumps(asdict(found)))
    return found


def kept_cause(folder: CampaignFolder, example: ExampleFinding, *, is_reduced: bool = False) -> FindingCause | None:
    """Return the cause of a finding if the folder has it."""
    kept = _kept(folder, example, is_reduced=is_reduced)
    return cause_from(json.loads(read_input(str(kept)))) if kept.exists() else None


def _kept(folder: CampaignFolder, example: ExampleFinding, *, is_reduced: bool) -> Path:
    return folder.path / ("reduced" if is_reduced else "causes") / f"{example.name}.json"


def cause_from(document: dict[str, object]) -> FindingCause:
    """Return a cause that was written as JSON."""
    finding, blamed = document.pop("finding"), document.pop("blamed")
    assert isinstance(finding, dict)
    pass_ = None
    if isinstance(blamed, dict):
        pass_ = BlamedPass(**{**blamed, **{key: tuple(blamed[key]) for key in ("before", "after")}})
    return FindingCause(finding=SourceFinding(**finding), blamed=pass_, **document)  # type: ignore[arg-type]


def grouped(found: Iterable[tuple[ExampleFinding, FindingCause | None]]) -> list[CauseGroup]:
    """Return findings by rule and pass, those with most findings first."""
    groups: dict[tuple[str, str], list[tuple[ExampleFinding, FindingCause | None]]] = {}
    for example, cause in found:
        groups.setdefault((example.finding.rule, _pass_name(cause)), []).append((example, cause))
    made = []
    for (rule, name), pairs in groups.items():
        blamed = [cause.blamed for _example, cause in pairs if cause is not None and cause.blamed is not None]
        made.append(CauseGroup(rule, name, sum(each.is_confirmed for each in blamed), tuple(pairs)))
    return sorted(made, key=lambda group: (_rank(group.rule), -len(group.found), group.name))


def _pass_name(cause: FindingCause | None) -> str:
    if cause is None:
        return NOT_EXAMINED
    return UNKNOWN if cause.blamed is None else cause.blamed.name
