"""The rules of the checks of a run, and their findings as findings about a file, which all verdicts take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.verdicts import is_less
from dwarfgpu.audits.verify.findings import ERROR, NOTE, WARNING, CheckRule, FileFinding
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.halts import ENDED
from dwarfgpu.immutable import evolve

if TYPE_CHECKING:
    from dwarfgpu.audits.verify.findings import Severity
    from dwarfgpu.execution.control.check_report import CheckReport, NamedFinding
    from dwarfgpu.execution.control.report import RunReport

_RACE, _BARRIER, _OUTSIDE = "C11, 5.1.2.4 (25)", "OpenCL C 2.0, 6.13.8", "C11, 6.5.6 (8)"
_NUMBERS = "IEEE 754-2019, 7.2 to 7.4"
_ALIGN, _UNDEFINED = "C11, 6.3.2.3 (7)", "C11, 6.3.2.1 (2)"
_ORDER, _INSIDE = "put a barrier or an atomic operation between both", "correct the index, or what limits it"
_ROWS = (
    ("race-read-write", _RACE, "A read and a write of the same bytes are ordered.", _ORDER, f.READ_WRITE),
    ("race-write-write", _RACE, "Two writes of the same bytes are ordered.", _ORDER, f.WRITE_WRITE),
    ("race-same-value", _RACE, "Two writes of one value to the same bytes are ordered.", _ORDER, f.SAME_VALUE),
    ("race-in-wave", "C11, 5.1.2.4 (25)", "Work-items are ordered by more than that their lanes are one wave.",
     "put a barrier between both; of a wave alone, __syncwarp() or sub_group_barrier()", f.IN_WAVE),
    ("race-lost-update", _RACE, "Lanes that read and write the same bytes do so one after the other.",
     "use an atomic operation", f.LOST_UPDATE),
    ("race-scope", _RACE, "The scope of atomic operations contains all who share the word.",
     "give the atomic operation the scope of the device", f.NARROW_SCOPE),
    ("barrier-divergent", _BARRIER, "A barrier is executed by all lanes of a wave or by none.",
     "move the barrier out of the branch or the loop", f.DIVERGENT),
    ("barrier-different", _BARRIER, "The waves of a work-group meet at the same barrier.",
     "let all branches meet at one barrier", f.DIFFERENT),
    ("barrier-missed", _BARRIER, "No wave ends while others of its work-group wait for it.",
     "let no work-item leave before the barrier", f.MISSED),
    ("wait-early-use", "AMDGPU usage, Memory Model", "A register is used only after a wait for its load.",
     "wait for the counter of the load before the use", f.EARLY_USE),
    *((f"bounds-{action}", _OUTSIDE, f"Each {kind.removeprefix('invalid ')} is in the memory of its pointer.", _INSIDE,
       kind) for action, kind in f.INVALID.items()),
    ("bounds-read-only", "C11, 6.7.3 (6)", "Nothing writes to memory that is read-only.",
     "write elsewhere, or declare the memory writable", f.FORBIDDEN[f.WRITE], f.FORBIDDEN[f.ATOMIC]),
    ("bounds-write-only", "OpenCL C 2.0, 6.6", "Nothing reads memory that is write-only.", "read elsewhere",
     f.FORBIDDEN[f.READ]),
    *((f"align-{action}", _ALIGN, f"Each {kind.removeprefix('misaligned ')} is aligned for hardware and type.",
       "align the address, or copy bytes", kind) for action, kind in f.MISALIGNED.items()),
    ("init-branch", _UNDEFINED, "No branch depends on a bit that nothing has written.",
     "initialize the variable", f.UNDEFINED_BRANCH),
    ("init-address", _UNDEFINED, "No address depends on a bit that nothing has written.",
     "initialize the variable", f.UNDEFINED_ADDRESS),
    ("init-store", _UNDEFINED, "No bit that nothing has written is stored in global memory.",
     "initialize the variable", f.UNDEFINED_STORE),
    ("nan-made", _NUMBERS, "A NaN is not made of numbers that are none.",
     "look at the divisor, the argument of the root or the logarithm, or the infinities", f.MADE_NAN),
    ("nan-infinity", _NUMBERS, "An infinity is not made of finite numbers.",
     "look at the divisor, or scale the numbers", f.MADE_INFINITY),
    ("nan-bits", _NUMBERS, "Integer arithmetic does not make a NaN or an infinity of the bits of a number.",
     "limit the number before it is rounded to fewer bits", f.MADE_OF_BITS),
    ("nan-integer", "C11, 6.3.1.4 (1)", "An integer can hold the number that it is made of.",
     "limit the number first, or use a larger type", f.TOO_LARGE),
    ("nan-given", _NUMBERS, "No NaN is among the numbers that a kernel is given and calculates with.",
     "look at what has filled the buffer, or skip NaNs", f.CAME_IN),
)  # fmt: skip
"""By rule: the clause, what must hold, what to do, and the kinds of findings."""
_SEVERITIES: dict[str, Severity] = {f.SAME_VALUE: NOTE, f.CAME_IN: NOTE, f.IN_WAVE: WARNING}
_OF_KIND = {
    kind: CheckRule(name, _SEVERITIES.get(kind, ERROR), clause, summary, advice)
    for name, clause, summary, advice, *kinds in _ROWS
    for kind in kinds
}
RULES = {rule.name: rule for rule in _OF_KIND.values()}


def rule_of(finding: NamedFinding) -> CheckRule:
    """Return the rule that a finding breaks."""
    return _OF_KIND[finding.kind]


def path_of(finding: NamedFinding) -> tuple[str, ...]:
    """Return the functions of a finding, which stay when lines move."""
    return tuple(side.function or side.position.place or "?" for side in finding.sides)


def run_report(checked: CheckReport, executed: int = 0) -> FileReport:
    """Return what checks have found in a run in which so many instructions were executed."""
    return FileReport(checked.file, tuple(_file_finding(each, checked.file) for each in checked.findings), executed)


def judged(checked: CheckReport, report: FileReport) -> CheckReport:
    """Return what checks have found after a verdict on its report: as many findings, as grave as that takes them."""
    findings = (evolve(each.executed, severity=each.severity) for each in report.findings if each.executed is not None)
    return evolve(checked, findings=tuple(findings), known=report.known)


def lost_checks(earlier: Mapping[str, Any], result: RunReport, checks: Iterable[str]) -> Iterator[str]:
    """Yield what an earlier run of the same kernel has checked, and this one has not."""
    stop, names = earlier.get("stop"), earlier.get("checks")
    if earlier.get("kernel") != result.kernel:
        return
    if isinstance(stop, dict) and stop.get("kind") == ENDED and not result.halt.has_ended:
        yield "not checked to its end any more"
    if is_less(result.instructions, before := earlier.get("instructions")):
        yield f"{result.instructions:,} instructions checked, {before:,} before"
    if gone := sorted({*map(str, names)}.difference(checks)) if isinstance(names, list) else []:
        yield f"not checked for {', '.join(gone)} any more"


def _file_finding(finding: NamedFinding, file: str) -> FileFinding:
    rule, source = rule_of(finding), finding.sides[0 if finding.check == f.NAN else -1].line
    severity: Severity = rule.severity
    return FileFinding(
        rule, severity, finding.message, rule.clause, file, None, None, path_of(finding), source, None, executed=finding
    )
