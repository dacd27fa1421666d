"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dwarfgpu.questions.document import NO_ANSWER, OK, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def judge(selection: Selection, arguments: Arguments) -> Document:
    """Execute a kernel without a GPU, and compare what its debugging information says with what happens.

    Frames: the calls are followed as they are made. At every instruction, those of prologues and epilogues too,
    unwinding must give the place to which the call returns, the same CFA in a whole activation, and the registers of
    the caller in every lane. Lanes: those that wait must be where they stopped or go on, and the active ones must be
    those that execute the source. Variables: they must be readable where statements begin, and what is in registers
    must change only where a statement names the variable.

    KERNEL, ARG and the sizes are those of `run`. A finding names the function, the instructions from the first to the
    last, what is wrong, and the row that says it. The exit status of the program is 1 if there are findings.
    """
    from dwarfgpu.program.running.running import launched_with
    from dwarfgpu.render import judging as text_of
    from dwarfgpu.verification.judging.judgement import Judge
    from dwarfgpu.verification.reports import read_baseline, without_known

    if not arguments.words:
        raise arguments.wrong("needs the name of a kernel")
    for name in ("grid", "work-group"):
        if not arguments.has(name):
            raise arguments.wrong(f"needs -{name}")
    baseline = read_baseline(arguments.get("baseline")) if arguments.has("baseline") else Counter()
    kernel, *words = arguments.words
    running = launched_with(selection.opened, kernel, words, arguments.get)
    judge_ = Judge(running)
    with running.progress_shown():
        judgement = judge_.run(arguments.get("limit"))
    report = without_known(judgement.report, baseline)
    has_failed = bool(report.findings or report.left_out)
    if arguments.has("sarif"):
        from dwarfgpu.questions.verification import sarif_document
        from dwarfgpu.verification.judging.judgement import RULES

        is_wrong = bool(report.findings) or not judgement.halt.has_ended
        return sarif_document([report], RULES, NO_ANSWER if is_wrong else OK)

    def text(output: Output) -> Iterator[str]:
        yield from text_of.judgement_text(judgement, report, output.style, output.width, shows_all=arguments.has("all"))

    document = Document(text_of.judgement_json(judgement, report), text, rows="findings", has_failed=has_failed)
    if not judgement.halt.has_ended:
        document.status = NO_ANSWER
        document.hints.append("the kernel has not ended: what it has not executed is not judged")
    if judgement.without_text:
        files = ", ".join(judgement.without_text[:4])
        document.hints.append(f"the text of {files} was not found, so changes of variables there are not judged")
    return document
