"""``dwarfgpu fleet``: one question about many inputs, which the workers of Dask answer."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dwarfgpu import progress
from dwarfgpu.children import PrivateFolder
from dwarfgpu.cli.session import Session
from dwarfgpu.errors import UsageError
from dwarfgpu.fleet.answers import COLUMNS, WITH_FILES, Question, check_words, names_file, question_named
from dwarfgpu.fleet.cluster import begin_workers, connected, local_workers, make_batches, needs_extra, run_batches
from dwarfgpu.fleet.inputs import find_inputs
from dwarfgpu.fleet.parts import AnswerFolder
from dwarfgpu.questions.document import BAD_FILE, NO_ANSWER, OK, Document
from dwarfgpu.regular_files import signals_raise, whole_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.fleet.cluster import Batch
    from dwarfgpu.fleet.inputs import Input
    from dwarfgpu.fleet.parts import InputOutcome

SUMMARY = "summary.json"


def fleet(session: Session, options: Any) -> int:
    """Ask a question about each of many inputs, and show what the answers say together."""
    question = question_of(options.question, options.budget)
    needs_extra()
    local = local_workers(options.scheduler or "local")
    if options.out is None and local is None:
        raise UsageError("a scheduler of other machines needs --out", hint="name a folder that all workers share")
    if options.out is None and options.resume:
        raise UsageError("--resume needs --out", hint="name the folder of the run that was interrupted")
    if local is not None:
        begin_workers()
    inputs = find_inputs(options.inputs, options.code)
    with signals_raise(), ExitStack() as stack:  # a folder that nobody named is there for as long as it is needed
        folder = AnswerFolder(options.out or str(stack.enter_context(PrivateFolder()).path))
        _run(session, folder, question, inputs, options)
        return _report(session, folder, question, is_kept=options.out is not None)


def question_of(text: str, budget: str | None = None) -> Question:
    """Return the question in one word of the command line; `fleet` also takes the options for what it may cost."""
    from dwarfgpu.cli.run import question_words

    try:
        name, *words = shlex.split(text)
    except ValueError as error:
        what = "it is empty" if not text.strip() else str(error).lower()
        raise UsageError(f"the question {text[:60]!r}: {what}", hint="quotes come in pairs") from None
    command = question_named(name)
    selecting = {each.name for each in command.at_shell.selects}
    files = ["-"] if "file" in selecting and name not in WITH_FILES else []
    if "state" in selecting:
        files += ["--state", "-"]
    has_own = any(word.partition("=")[0] in ("--budget", "-budget") for word in words)
    costs = [] if budget is None or has_own else ["--budget", budget]
    selected, arguments, cost = question_words([name, *files, *costs, *words])
    selects = {key: value for key, value in selected.items() if value not in (None, False)}
    is_named = selects.pop("file", "-") != "-" or selects.pop("state", "-") != "-"
    if is_named or "state" in arguments.options or (name not in WITH_FILES and not files and arguments.words):
        raise names_file(text)
    check_words(name, arguments.words)
    options, settings = tuple(arguments.options.items()), tuple(arguments.settings.items())
    return Question(name, tuple(arguments.words), options, tuple(selects.items()), settings, arguments.format, cost)


def _run(session: Session, folder: AnswerFolder, question: Question, inputs: list[Input], options: Any) -> None:
    """Answer all inputs that are not answered yet."""
    from dwarfgpu.fleet.summary import bytes_text

    known = {outcome.name for outcome in folder.outcomes()} if options.resume else set()
    left = [item for item in inputs if item.name not in known]
    if not left:
        folder.begin(question, "", resume=True)
        folder.clean()
        return
    line = progress.begin("files", len(inputs))
    line.done = before = len(known & {item.name for item in inputs})
    begun, answered = time.monotonic(), 0

    def add(_batch: Batch, outcomes: list[InputOutcome]) -> None:
        """Show how many inputs are done, with their bytes and how fast that goes."""
        nonlocal answered
        answered += sum(outcome.size for outcome in outcomes)
        seconds = max(time.monotonic() - begun, 0.001)
        speed = (line.done + len(outcomes) - before) / seconds
        line.note = f", {bytes_text(answered)}, {speed:,.0f} files/s, {bytes_text(answered / seconds)}/s"
        line.advance(len(outcomes))

    try:
        with connected(options.scheduler or "local") as client:
            workers = sum(client.nthreads().values()) or 1
            batches = make_batches(question, left, str(folder.path), workers)
            folder.begin(question, batches[0].token, resume=bool(options.resume))
            if client.dashboard_link and local_workers(options.scheduler or "local") is None:
                session.err.write(f"dashboard: {client.dashboard_link}\n")
            try:
                run_batches(client, batches, add)
            finally:
                folder.end()
    except KeyboardInterrupt:
        line.end()
        if options.out is not None:
            session.hint(f"{line.done:,} of {len(inputs):,} inputs are done; --resume goes on with the others")
        raise
    finally:
        line.end()
    folder.clean()


def _report(session: Session, folder: AnswerFolder, question: Question, *, is_kept: bool) -> int:
    """Show the summary of all answers, and write it beside them."""
    from dwarfgpu.fleet.summary import summary_of, summary_text

    summary = summary_of(folder, question.text)
    if is_kept:
        with whole_output(str(folder.path / SUMMARY), "w", encoding="utf-8") as file:
            json.dump({"schema": 1, **summary.json()}, file, indent=2)
    data = summary.json()

    def rows() -> Iterator[dict[str, Any]]:
        for row in folder.rows([*COLUMNS]):
            yield {name: value for name, value in row.items() if value is not None}

    document = Document(data, lambda output: summary_text(summary, output.width), rows=rows)
    document.write(session.output(), session.form)
    return BAD_FILE if summary.failed_names else NO_ANSWER if summary.rules else OK
