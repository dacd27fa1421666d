"""Verdicts: which findings of a check count, how grave they are, and which are known from an earlier answer.

Every check whose findings are `FileFinding`s is judged here: `verify`, `judge`, `memmodel check` and `run --check`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from dwarfgpu.audits.verify.findings import ERROR, NOTE, WARNING
from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.regular_files import read_input

if TYPE_CHECKING:
    from dwarfgpu.audits.verify.findings import CheckRule, FileFinding, Severity
    from dwarfgpu.audits.verify.reports import FileReport

IDIOMS, LIMITS, EVERY = "idioms", "limits", "*"
"""Words that stand for findings beside rules and their parts."""
OFF: Final = "off"
"""The severity of what is left out."""
SEVERITIES: Mapping[str, Severity | Literal["off"]] = {ERROR: ERROR, WARNING: WARNING, NOTE: NOTE, OFF: OFF}

_NUMBER = re.compile(r"0x[0-9a-f]+|\b\d+\b")
"""What moves in a file with every change of it."""
_FOLDERS = re.compile(r"(?:[^\s/]*/)+")
"""What is different on another computer."""


@frozen(eq=False)
class Verdict:
    """What a user wants to know of the findings of a check."""

    rules: Mapping[str, CheckRule]
    """The rules of the check by name."""
    ignored: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    severities: Mapping[str, Severity | Literal["off"]] = field(factory=dict)
    """Severities by the names of rules, parts, idioms or limits; the later of two counts."""
    is_strict: bool = False
    """Whether limits of the producer count."""
    known: Counter[tuple[str, ...]] = field(factory=Counter)
    """The findings of an earlier answer that are not yet seen again."""
    earlier: Mapping[str, Any] | None = None
    """This answer; None without a baseline."""

    def report(self, report: FileReport, noun: str = "", count: int = 0) -> FileReport:
        """Return a report with the findings that are wanted, as grave as the user takes them.

        It says if so many of something are fewer than half of those that the baseline has of the file.
        """
        findings, known = [], 0
        for finding in report.findings:
            chosen = self._chosen(finding)
            if chosen is None:
                continue
            key = finding_key(chosen)
            if self.known[key] > 0:
                self.known[key] -= 1
                known += 1
            else:
                findings.append(chosen)
        left_out = {name: count for name, count in (report.left_out or {}).items() if self._is_wanted({name})}
        less = self._less(report.name, noun, count)
        return evolve(report, findings=tuple(findings), known=known, left_out=left_out or None, less=less)

    def is_wrong(self, report: FileReport) -> bool:
        """Return whether something of a report is a reason to fail; what is left out is taken for what is there."""
        counted = {finding.rule.name for finding in report.findings if finding.limit is None}
        limited = {finding.rule.name for finding in report.findings} - counted
        left_out = (self.rules[name] for name in report.left_out or () if name not in limited)
        severities = [self._severity(rule, set()) or rule.severity for rule in left_out]
        severities += [finding.severity for finding in report.findings if finding.limit is None]
        return not {ERROR, WARNING}.isdisjoint(severities)

    def _less(self, file: str, noun: str, count: int) -> str | None:
        rows = (self.earlier or {}).get("files")
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and _FOLDERS.sub("", str(row.get("file"))) == _FOLDERS.sub("", file):
                before = row.get(noun)
                return f"{file}: {count} {noun} checked, {before} in the baseline" if is_less(count, before) else None
        return None

    def _is_wanted(self, names: set[str]) -> bool:
        names = {*names, *(self.rules[name].part for name in names if name in self.rules)}
        return names.isdisjoint(self.ignored) and (not self.only or not names.isdisjoint(self.only))

    def _severity(self, rule: CheckRule, words: set[str]) -> Severity | Literal["off"] | None:
        """Return the severity that the user gives to findings of a rule, if any."""
        names = {rule.name, rule.part, EVERY, *words}
        return next((self.severities[name] for name in reversed([*self.severities]) if name in names), None)

    def _chosen(self, finding: FileFinding) -> FileFinding | None:
        """Return a finding with its severity for the user; None if it is left out."""
        words = {IDIOMS} if finding.idiom is not None else set[str]()
        words |= {LIMITS} if finding.limit is not None else set()
        severity = self._severity(finding.rule, words)
        if severity == OFF or not self._is_wanted({finding.rule.name, *words}):
            return None
        if severity is not None:
            return evolve(finding, severity=severity, limit=None)
        if self.is_strict and finding.limit is not None:
            return evolve(finding, severity=ERROR if finding.severity == ERROR else WARNING, limit=None)
        return finding


def verdict(
    rules: Mapping[str, CheckRule],
    *,
    ignored: Iterable[str] = (),
    only: Iterable[str] = (),
    severities: str | None = None,
    baseline: str | None = None,
    is_strict: bool = False,
) -> Verdict:
    """Return a verdict; names are separated by commas, and ``severities`` and ``baseline`` are the paths of files."""
    earlier = None if baseline is None else read_baseline(baseline)
    return Verdict(
        rules,
        _named(ignored, rules),
        _named(only, rules),
        {} if severities is None else read_severities(severities, rules),
        is_strict,
        Counter() if earlier is None else findings_in(earlier),
        earlier,
    )


def names_of(rules: Mapping[str, CheckRule]) -> dict[str, str]:
    """Return the names that stand for findings of some rules, each with what it means."""
    return {
        IDIOMS: "findings that a known mistake of the producer explains",
        LIMITS: "information that the producer never writes, and idioms",
        **{name: rule.summary for name, rule in rules.items()},
        **dict.fromkeys((rule.part for rule in rules.values()), "all rules of this part"),
    }


def _named(texts: Iterable[str], rules: Mapping[str, CheckRule]) -> frozenset[str]:
    names = [name for text in texts for name in text.split(",") if name]
    for name in names:
        _check_name(name, rules)
    return frozenset(names)


def _check_name(name: str, rules: Mapping[str, CheckRule], where: str = "") -> None:
    known = names_of(rules)
    if name not in known:
        hint = nearest_hint(name, known, f"the parts are {', '.join(dict.fromkeys(r.part for r in rules.values()))}")
        raise UsageError(f"{where}there is no rule {name[:60]!r}", hint=hint)


def read_severities(path: str, rules: Mapping[str, CheckRule]) -> dict[str, Severity | Literal["off"]]:
    """Read the severities of rules: lines such as ``statement-back off``; `#` begins a comment, `*` is every rule."""
    severities: dict[str, Severity | Literal["off"]] = {}
    for number, line in enumerate(read_input(path).decode("utf-8", "replace").split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, text = words[0], " ".join(words[1:])
        severity = SEVERITIES.get(text)
        if severity is None:
            hint = f"a line is RULE and one of {', '.join(SEVERITIES)}"
            raise UsageError(f"{path}:{number}: {text[:40]!r} is not a severity", hint=hint)
        if name != EVERY:
            _check_name(name, rules, f"{path}:{number}: ")
        severities.pop(name, None)
        severities[name] = severity
    return severities


# --- What a finding is known by ---------------------------------------------------------------------------------------


def read_baseline(path: str) -> dict[str, Any]:
    """Read an earlier answer of a check in JSON."""
    from dwarfgpu.execution.halts import INTERRUPT
    from dwarfgpu.strict_json import NotACase, parse

    try:
        parsed: Any = parse(read_input(path).decode("utf-8", "replace"))
    except NotACase:
        parsed = None
    document: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    check, stop = document.get("check"), document.get("stop")  # of a run
    document |= check if isinstance(check, dict) else {}
    if not isinstance(document.get("findings"), list):
        hint = "write one with --json -o BASELINE, by the same command"
        raise UsageError(f"{path} is not the JSON of a check", hint=hint)
    if document.get("interrupted") or (isinstance(stop, dict) and stop.get("kind") == INTERRUPT):
        raise UsageError(f"{path} is not whole: ^C ended the command that wrote it", hint="write it again")
    return document


def untold(baseline: str, what: str) -> str:
    """Return that a baseline does not say something, and what to do."""
    return f"{baseline} does not say {what}: write it again with --json -o {baseline}"


def is_less(count: int, before: object) -> bool:
    """Return whether fewer than half were checked of what an earlier answer has, if it says how many that is."""
    return isinstance(before, int) and 2 * count < before


def findings_in(document: Mapping[str, Any]) -> Counter[tuple[str, ...]]:
    """Return the findings of an earlier answer, which are not reported again."""
    known: Counter[tuple[str, ...]] = Counter()
    for finding in document["findings"]:
        if isinstance(finding, dict):
            known[_key(finding.get("rule"), finding.get("path"), finding.get("message"))] += 1
    return known


def finding_key(finding: FileFinding) -> tuple[str, ...]:
    """Return what a finding is known by: not by its place, which moves when the program changes, nor by the file."""
    return _key(finding.rule.name, list(finding.path), finding.message)


def fingerprint(finding: FileFinding) -> str:
    """Return a text that is the same for a finding of the next build, wherever its lines and its code are by then."""
    from hashlib import sha256

    return sha256("\0".join(finding_key(finding)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _key(rule: Any, path: Any, message: Any) -> tuple[str, ...]:
    entries = _FOLDERS.sub("", " ".join(map(str, path or ())))
    return str(rule), entries, _NUMBER.sub("N", _FOLDERS.sub("", str(message)))
