"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.judgement import RULES, Judge, Judgement, other_build
from dwarfgpu.audits.judge.lane_history import LaneRecorder, chosen_lane
from dwarfgpu.audits.verify.findings import NOTE
from dwarfgpu.audits.verify.reports import FileReport, read_baseline, without_known
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.launch.triton import kernel_and_arguments
from dwarfgpu.questions.document import NO_ANSWER, OK, Document, Output
from dwarfgpu.questions.verification import sarif_document
from dwarfgpu.render import judging as text_of
from dwarfgpu.render.judging import judged_page, value_words
from dwarfgpu.render.layout import WIDTH, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def judge(selection: Selection, arguments: Arguments) -> Document:
    """The kernel runs without a GPU.

    Frames: at every instruction, including prologues and epilogues, unwinding must find the return address of the call
    that was made, the same CFA throughout the activation, and the caller's registers in every lane. Lanes: a waiting
    lane must be located where it stopped or will resume, and the active lanes must be those that execute the source
    line. Variables: each must be readable where a statement begins, and a value in registers may change only where a
    statement names the variable.

    -against runs another build of the same source too: a code object for any processor, or a shared object of the host.
    A shared object is executed on this computer, in GDB and with your rights: name only files that you trust. At each
    statement, every variable of every lane is compared with the other build: it is right, wrong, or missing although
    the source needs it.

    KERNEL, ARG and the sizes are those of `run`. A finding names the function, the first and last instruction, what is
    wrong, and the row of debugging information at fault. The exit status is 1 if there are errors or warnings; notes,
    such as a step backwards in the source, do not count.
    """
    if not arguments.has("grid"):
        raise arguments.wrong("needs -grid")
    baseline = read_baseline(arguments.get("baseline")) if arguments.has("baseline") else Counter()
    kernel, words = kernel_and_arguments(selection.opened.file, arguments.words)
    running = launched_with(selection.opened, kernel, words, arguments.get)
    other = None
    if arguments.has("against"):
        other = other_build(arguments.get("against"), running, kernel, words, arguments.get)
    if arguments.has("html") and arguments.has("sarif"):
        raise arguments.wrong("writes a page or a SARIF log, not both")
    judge_ = Judge(running, other)
    with running.progress_shown():
        judgement = judge_.run(arguments.get("limit"))
    report = without_known(judgement.report, baseline)
    problem = None if other is None else other.problem
    has_failed = _is_wrong(report)
    if arguments.has("sarif"):
        is_wrong = has_failed or not judgement.halt.has_ended or problem is not None
        return sarif_document([report], RULES, NO_ANSWER if is_wrong else OK)

    if arguments.has("html"):
        return _page(selection, arguments, judge_, judgement, report)

    def text(output: Output) -> Iterator[str]:
        yield from text_of.judgement_text(judgement, report, shows_all=arguments.has("all"))

    document = Document(text_of.judgement_json(judgement, report), text, rows="findings", has_failed=has_failed)
    if not judgement.halt.has_ended:
        document.status = NO_ANSWER
        document.hints.append("the kernel has not ended: what it has not executed is not judged")
    compared = judgement.comparison
    if problem is not None:
        document.status = NO_ANSWER
        document.hints.append(f"{problem}; what it has not done is not compared")
    elif compared is not None and not compared.aligned:
        document.status = NO_ANSWER
        document.hints.append(f"no statement is one of {compared.other}: both must be builds of the same source")
    if compared is not None and compared.is_cut:
        document.hints.append("there are more statements than are recorded: the later ones are not compared")
    if judgement.without_text:
        files = ", ".join(judgement.without_text[:4])
        document.hints.append(
            f"the text of {files} was not found, so changes of variables and steps back there are not judged"
        )
    return document


def _is_wrong(report: FileReport) -> bool:
    left_out = (RULES[name].severity for name in report.left_out or ())
    return any(severity != NOTE for severity in (*left_out, *(finding.severity for finding in report.findings)))


def _page(
    selection: Selection, arguments: Arguments, judge_: Judge, judgement: Judgement, report: FileReport
) -> Document:
    """Return the page: the kernel runs again, and one lane of it is followed."""
    wave, lane = chosen_lane(judge_)
    kernel, words = kernel_and_arguments(selection.opened.file, arguments.words)
    again = launched_with(selection.opened, kernel, words, arguments.get)
    with again.progress_shown():
        recorder = LaneRecorder(again, judge_, wave, lane, judge_.texts, value_words)
        history = recorder.run(arguments.get("limit"))
    command = "dwarfgpu judge FILE KERNEL ... --all"
    with laid_out(WIDTH):
        lines = list(judged_page(f"{kernel} judged", judgement, report, history, judge_.texts.lines, command))
    document = Document({"file": report.name, "html": "\n".join(lines)}, lines, is_file=True)
    if _is_wrong(report) or not judgement.halt.has_ended:
        document.status = NO_ANSWER
    return document
