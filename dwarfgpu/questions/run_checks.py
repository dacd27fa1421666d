"""What the checks of a run have found: which findings count, and the files that have them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.run_checks import RULES, judged, lost_checks, run_report
from dwarfgpu.audits.verdicts import untold, verdict
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.suppressions import suppressions
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.questions.document import BAD_FILE, NO_ANSWER, OK
from dwarfgpu.questions.table import OF_CHECKS
from dwarfgpu.questions.verification import sarif_log
from dwarfgpu.regular_files import check_output, read_input, whole_output
from dwarfgpu.render.layout import WIDTH, laid_out

if TYPE_CHECKING:
    from dwarfgpu.audits.verdicts import Verdict
    from dwarfgpu.audits.verify.reports import FileReport
    from dwarfgpu.execution.control.report import RunReport
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.control.suppressions import Suppression

MOST_STATUS = 255
"""The highest exit status."""


@frozen(eq=False)
class CheckedRun:
    """The checks of a run: which findings are known, and which count."""

    options: Any
    known: tuple[Suppression, ...]
    wanted: Verdict

    def report(self, running: Running, result: RunReport) -> tuple[RunReport, int]:
        """Return what a run has come to with the findings that count, and the exit status that they give."""
        checked = check_report(running, self.known)
        found = self.wanted.report(run_report(checked, result.instructions))
        self._write(found, result)
        notices, required = result.notices, self.options.require or 0
        if result.instructions < required:
            notices = *notices, f"{result.instructions:,} instructions were executed, {required:,} required"
        earlier, baseline = self.wanted.earlier, self.options.baseline
        lost = [*lost_checks(earlier or {}, result, checked.checks)]
        if lost:
            notices = *notices, f"less is checked than in {baseline}: {result.kernel}: {', '.join(lost)}"
        if earlier is not None and earlier.get("kernel") != result.kernel:
            notices = *notices, untold(baseline, f"how much of {result.kernel} was checked")
        status = BAD_FILE if lost else self._status(found)
        return evolve(result, checked=judged(checked, found), notices=notices), status

    def _write(self, found: FileReport, result: RunReport) -> None:
        """Write the log and the page that the user wants."""
        if self.options.sarif is not None:
            with whole_output(self.options.sarif) as stream:
                stream.write((json.dumps(sarif_log([found], RULES), indent=2) + "\n").encode())
        if self.options.html is None:
            return
        from dwarfgpu.render.report import checked_page

        command = "dwarfgpu run FILE KERNEL ... --check --max-findings N"
        with laid_out(WIDTH):
            lines = [*checked_page(f"{result.kernel} checked", result.instructions, found, command)]
        with whole_output(self.options.html, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    def _status(self, found: FileReport) -> int:
        if found.entries < (self.options.require or 0):
            return BAD_FILE
        if self.wanted.is_wrong(found):
            return NO_ANSWER if self.options.error_exitcode is None else int(self.options.error_exitcode)
        return OK


def checked_run(options: Any) -> CheckedRun | None:
    """Return the checks that options ask for, if any; refuse options of checks where there are none."""
    given = (option.name for option in OF_CHECKS if getattr(options, option.name.replace("-", "_")) not in (None, []))
    if options.check is None:
        if (name := next(given, None)) is not None:
            raise UsageError(f"--{name} needs --check")
        return None
    for name, most in (("max-findings", None), ("require", None), ("error-exitcode", MOST_STATUS)):
        number = getattr(options, name.replace("-", "_"))
        if number is not None and not 0 <= number <= (number if most is None else most):
            raise UsageError(f"--{name} takes a number from 0 {'on' if most is None else f'to {most}'}")
    for written in (options.sarif, options.html):
        if written is not None:
            check_output(written)
    path = options.suppress
    known = () if path is None else suppressions(read_input(path).decode("utf-8", "replace"), path)
    wanted = verdict(
        RULES,
        ignored=options.ignore or (),
        only=options.only or (),
        severities=options.severities,
        baseline=options.baseline,
    )
    return CheckedRun(options, known, wanted)
