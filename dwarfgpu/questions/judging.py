"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.judgement import RULES, Judge, other_build
from dwarfgpu.audits.judge.lane_history import LaneRecorder, chosen_lane
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.launch.triton import kernel_and_arguments
from dwarfgpu.questions.document import BAD_FILE, NO_ANSWER, Document, Output
from dwarfgpu.questions.verification import asked, report_status, sarif_document, shown_of, verdict_of
from dwarfgpu.render import judging as text_of
from dwarfgpu.render.judging import judged_page, value_words
from dwarfgpu.render.layout import WIDTH, counted, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.judgement import Judgement
    from dwarfgpu.audits.verify.reports import FileReport
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
    wrong, and the row of debugging information at fault. What the producer is known to be unable to write (limits: no
    places of lanes, no call frame information, parameters that are dropped, steps back) is counted in a line for each,
    and counts only with -strict. The exit status is 1 if there are errors or warnings that count or less is right than
    -fail-below, 2 if the question is wrong, and 3 if the kernel has not ended or less was judged than -require.
    """
    if not arguments.has("grid"):
        raise arguments.wrong("needs -grid")
    wanted = verdict_of(arguments, RULES)
    if arguments.has("html") and arguments.has("sarif"):
        raise arguments.wrong("writes a page or a SARIF log, not both")
    if arguments.has("fail-below") and not arguments.has("against"):
        raise arguments.wrong("takes -fail-below only with -against: it is about values that are right")
    with asked():
        kernel, words = kernel_and_arguments(selection.opened.file, arguments.words)
        running = launched_with(selection.opened, kernel, words, arguments.get)
        other = None
        if arguments.has("against"):
            other = other_build(arguments.get("against"), running, kernel, words, arguments.get)
    judge_ = Judge(running, other)
    with running.progress_shown():
        judgement = judge_.run(arguments.get("limit"))
    report = wanted.report(judgement.report)
    compared = judgement.comparison
    status = report_status(wanted, report)
    hints = []
    share = None if compared is None else compared.total().share_right
    if arguments.has("fail-below") and share is not None and 100 * share < arguments.get("fail-below"):
        status = NO_ANSWER
        hints.append(f"{text_of.share_text(share)} of the values are right: less than {arguments.get('fail-below'):g}%")
    for is_asked_for, hint in _incomplete(judgement, None if other is None else other.problem, arguments):
        status = status if is_asked_for else BAD_FILE
        hints.append(hint)
    if arguments.has("sarif"):
        return sarif_document([report], RULES, status)
    if arguments.has("html"):
        return _page(selection, arguments, judge_, judgement, report, status)

    def text(output: Output) -> Iterator[str]:
        yield from text_of.judgement_text(judgement, report, **shown_of(arguments))

    document = Document(text_of.judgement_json(judgement, report), text, rows="findings")
    document.status = status
    document.hints += hints
    if compared is not None and compared.is_cut:
        document.hints.append("there are more statements than are recorded: the later ones are not compared")
    if judgement.without_text:
        files = ", ".join(judgement.without_text[:4])
        document.hints.append(
            f"the text of {files} was not found, so changes of variables and steps back there are not judged"
        )
    return document


def _incomplete(judgement: Judgement, problem: str | None, arguments: Arguments) -> Iterator[tuple[bool, str]]:
    """Yield why not everything was judged, and whether that is what the user wants."""
    if not judgement.halt.has_ended:
        yield arguments.has("limit"), "the kernel has not ended: what it has not executed is not judged"
    compared = judgement.comparison
    if problem is not None:
        yield arguments.has("limit"), f"{problem}; what it has not done is not compared"
    elif compared is not None and not compared.aligned:
        yield False, f"no statement is one of {compared.other}: both must be builds of the same source"
    judged, required = sum(function.judged for function in judgement.functions), arguments.get("require") or 0
    if judged < required:
        yield False, f"{counted(judged, 'instruction')} judged, {required} required"


def _page(
    selection: Selection, arguments: Arguments, judge_: Judge, judgement: Judgement, report: FileReport, status: int
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
    document.status = status
    return document
