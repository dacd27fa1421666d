"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dwarfgpu import progress
from dwarfgpu.program.launch import planning
from dwarfgpu.questions.document import NO_ANSWER, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.running.running import Running
    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.verification.judging.judgement import Judgement


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
    from dwarfgpu.render import judging as text_of
    from dwarfgpu.verification.judging.judgement import Judge
    from dwarfgpu.verification.reports import read_baseline, without_known

    if not arguments.words:
        raise arguments.wrong("needs the name of a kernel")
    for name in ("grid", "work-group"):
        if not arguments.has(name):
            raise arguments.wrong(f"needs -{name}")
    baseline = read_baseline(arguments.get("baseline")) if arguments.has("baseline") else Counter()
    running = _launched(selection, arguments)
    judge_ = Judge(running)
    with _showing(running):
        judgement = judge_.run(arguments.get("limit"))
    report = without_known(judgement.report, baseline)
    has_failed = bool(report.findings or report.left_out)
    if arguments.has("sarif"):
        return _sarif(judgement, report)

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


def _sarif(judgement: Judgement, report: object) -> Document:
    import json

    from dwarfgpu import __version__
    from dwarfgpu.render.verification import sarif
    from dwarfgpu.verification.judging.judgement import RULES

    log = sarif([report], list(RULES.values()), __version__)  # type: ignore[list-item]
    has_failed = bool(log["runs"][0]["results"]) or not judgement.halt.has_ended
    return Document(log, lambda _output: [json.dumps(log, indent=2)], has_failed=has_failed)


def _launched(selection: Selection, arguments: Arguments) -> Running:
    """Launch the kernel that the words of the question name."""
    from dwarfgpu.program.launch.launch import launch, machine_for
    from dwarfgpu.program.running.running import Running

    program = selection.opened
    kernel, *words = arguments.words
    machine = machine_for(program.file, kernel)
    private_size = arguments.get("private-size")
    launched = launch(
        machine,
        program.file,
        kernel,
        grid=planning.sizes(arguments.get("grid"), "--grid"),
        work_group=planning.sizes(arguments.get("work-group"), "--work-group"),
        args=planning.mixed_arguments(words, "argument"),
        private_size=None if private_size is None else planning.number(private_size, "--private-size"),
        dynamic_local=planning.number(arguments.get("dynamic-local") or "0", "--dynamic-local"),
        at_once=arguments.get("at-once"),
        seed=arguments.get("seed"),
    )
    running = Running(launched)
    running.program = program
    return running


@contextmanager
def _showing(running: Running) -> Iterator[None]:
    """Show how many waves have ended, and how many instructions are judged in a second."""
    device = running.machine.device
    line = progress.begin("waves", running.launched.geometry.wave_count)
    begun = time.monotonic()

    def show(_device: object) -> None:
        line.noun = f"waves, {device.executed / max(time.monotonic() - begun, 1e-9):,.0f} instructions a second"
        line.advance(device.waves_ended - line.done)

    device.on_turn = show
    try:
        yield
    finally:
        device.on_turn = None
        line.end()
