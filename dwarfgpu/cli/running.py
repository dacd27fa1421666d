"""``dwarfgpu run``: execute a kernel without a GPU, to its end or to a place where waves stop."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import Namespace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.debug import HOW_LAUNCHED
from dwarfgpu.compilers import BUILD
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import INTERRUPTED, NO_ANSWER, OK
from dwarfgpu.questions.table import OF_CHECKS, SIZES
from dwarfgpu.regular_files import check_output, whole_output
from dwarfgpu.render.written_text import may_be_left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.cli.session import Session
    from dwarfgpu.execution.breakpoints import Breakpoint
    from dwarfgpu.execution.control.check_report import CheckReport
    from dwarfgpu.execution.control.profile import Profile
    from dwarfgpu.execution.control.report import BufferPreview, RunReport
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.control.tracing import StepTrace, TracedStep
    from dwarfgpu.execution.control.value_history import ValueHistory
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.questions.run_checks import CheckedRun
    from dwarfgpu.states.program import Program

MOST_SEEDS = 1 << 20
NAMES_OF_CHECKS = tuple(option.name.replace("-", "_") for option in OF_CHECKS)
OF_ONE_RUN = (
    "check", "save", "print", "break_", "if_", "until", "trace", "watch", "history", "profile", "profile_format",
    "state", *NAMES_OF_CHECKS,
)  # fmt: skip
"""Where the options are that say what one run shows."""
MOST_PRINTED = 1024
"""The elements of a buffer that a user may want to see all."""


def run_kernel(session: Session, options: Any) -> int:
    """Launch and run a kernel as options say, once or with several seeds; return the exit status."""
    from dwarfgpu.execution.forms.native import interpreted_text
    from dwarfgpu.states.program import open_program

    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit takes 1 or more instructions, not {options.limit}")
    check_followed(options)
    if options.jit in (None, "auto") and (text := interpreted_text()):
        session.hint(text)
    program = open_program(options.file)
    with session.reading(program):
        return (_run_once if options.seeds is None else _run_seeds)(session, options, program)


def _run_once(session: Session, options: Any, program: Program) -> int:
    from dwarfgpu.execution.control.report import report

    checks = _checks(options)
    saves = [_save_pair(text) for text in options.save or ()]
    if options.state is not None and os.path.exists(options.state):
        raise UsageError(f"{options.state} exists, and is not overwritten", hint="remove it, or give another name")
    if options.state is not None:
        _check_folder(options.state)
    running = _launched(options, program)
    _check_buffers(running, (name for name, _path in saves), options.print or ())
    points = _set_breakpoints(session, running, options)
    profile = _profile(running, options)
    steps: list[TracedStep] = []
    trace = _trace(session, running, options, steps)
    histories = begun_histories(running, options)
    is_watched = trace is not None or bool(histories) or options.check is not None
    running, halt, profile = _run_to_a_halt(
        options, program, running, profile, is_watched=is_watched, is_stopped=bool(points)
    )
    if trace is not None:
        trace.end()
    end_histories(histories, options.history)
    if profile is not None:
        profile.end()
    _write_profile(running, options, profile, trace, steps)
    buffers = _written(running, saves if halt.has_ended else [], options)
    faults = _faults(session, running) if halt.kind in ("fault", "trap") else []
    if options.state is not None:
        from dwarfgpu.questions.faults import note_changes
        from dwarfgpu.states.snapshot_files import save

        if halt.kind in ("stuck", "limit", "fault"):
            note_changes(running.attached.stopped, faults)
        save(running.attached.stopped, options.state)
    result = report(
        running,
        halt,
        buffers=buffers,
        profile=None if profile is None else tuple(profile.rows(running)),
        snapshot=options.state,
        profile_file=options.profile_file,
    )
    result, status = (result, OK) if checks is None else checks.report(running, result)
    with may_be_left(sys.stdout):
        _show(session, result, list(running.printed()), faults, histories, options)
    if running.end is not None:
        points.append((*_place(running.end.text), [running.end]))
    for text in _missed_or_moved(running, points, halt):
        session.hint(text)
    if saves and not halt.has_ended:
        session.hint(f"{', '.join(path for _name, path in saves)} not written: the kernel has not ended")
    if halt.kind == "interrupted":
        if options.state is None:
            session.hint("--state STATE.json saves the waves in a snapshot, also after ^C")
        return INTERRUPTED
    limits = () if result.checked is None else _not_shown(running, result.checked)
    more = _value_hints(running, options, result, histories), _trace_hints(running, options, result, trace)
    shown = [*faults, *(() if result.line is None else (result.line,))]
    has_values = any(each.values for each in shown) or any(history.rows for history in histories)
    doubts = _doubts(running, options, result, has_values=has_values or any(condition for _p, condition, _b in points))
    for hint in chain(_hints(options, result, faults), limits, *more, doubts):
        session.hint(hint)
    has_problem = any(history.problem is not None for history in histories)
    has_problem |= running.condition_problem is not None and halt.breakpoint is not None
    return max(status, NO_ANSWER if result.has_failed or has_problem else OK)


def _written(running: Running, saves: list[tuple[str, str]], options: Any) -> tuple[BufferPreview, ...]:
    """Write the buffers that are saved; return these and those that are shown, in the order of the command line."""
    from dwarfgpu.execution.control.report import preview

    for name, path in saves:
        running.save(name, path)
    saved = {name for name, _path in saves}
    found = [preview(running, name, path) for name, path in saves]
    found += [preview(running, name) for name in options.print or () if name not in saved]
    return tuple(sorted(found, key=partial(_position, options.typed)))


def _position(words: list[str], buffer: BufferPreview) -> int:
    """Return where in the words of a command a buffer is named that is shown or saved."""
    names = {buffer.name, f"{buffer.name}={buffer.path}"}
    given = (word.removeprefix("--print=").removeprefix("--save=") for word in words)
    return next((position for position, word in enumerate(given) if word in names), 0)


def _checks(options: Any) -> CheckedRun | None:
    """Return the checks that are asked for; without any, no option may be one of theirs."""
    if options.check is None and all(getattr(options, name) in (None, []) for name in NAMES_OF_CHECKS):
        return None
    from dwarfgpu.questions.run_checks import checked_run  # which needs much of what reads findings

    return checked_run(options)


def _hints(options: Any, result: RunReport, faults: list[Any]) -> Iterator[str]:
    """Yield how to go where the kernel has stopped or the first finding was found, and what raises a limit."""
    found, state = result.checked.findings if result.checked is not None else (), options.state
    kind, waits = result.halt.kind, "says what the waves wait for"
    if kind in ("stuck", "limit") and (state or kind == "limit"):
        kept = "" if state else "add --state STATE.json to save the waves: "
        yield f"{kept}`dwarfgpu fault {state or 'STATE.json'}` {waits}"
    elif result.has_failed and state:
        yield f"`dwarfgpu debug --state {state}` opens the snapshot"
    elif kind == "stuck":
        yield f"`{_debugger(options, 'continue', 'info fault')}` {waits}"
    elif not found and (result.has_failed or (result.halt.breakpoint and not state)):
        points = [f"break {place} if {own}" if own else f"break {place}" for place, own in _places(options)]
        points += [f"tbreak {options.until}"] if options.until else []
        yield f"`{_debugger(options, *points, 'continue')}` goes there; `reverse-step` goes back"
    reason = result.halt.reason
    if faults:
        from dwarfgpu.render.faults import missed_variable

        reason = "" if any(map(missed_variable, faults)) else reason  # a variable keeps its size
    for memory, option in re.findall(r"no (\w+ memory) at [^;]*; (--[\w-]+) gives more", reason):
        yield f"{option} N makes {memory} larger"
    if any(finding.severity == "error" for finding in found):
        yield f"`{_debugger(options, 'continue')}` stops where the first one was found"


def _not_shown(running: Running, checked: CheckReport) -> Iterator[str]:
    """Yield what checks that have found nothing could not have found in this launch."""
    if checked.findings or checked.suppressed:
        return
    launched, frames = running.launched, running.program.at(running.launched.plan.kernel.entry or 0)
    checks = running.machine.checks
    if "race" in checked.checks and not (checks and checks.has_barriers) and launched.plan.start.group_segment_size:
        yield "a work-group is one wave here, so the code has no barriers: a missing one shows only in a larger group"
    if "init" in checked.checks and any(
        each.is_listed or not each.locations() for frame in frames for each in frame.variables()
    ):
        yield "the code is optimized: the compiler may have removed uninitialized values, which -O0 keeps"


def _debugger(options: Any, *steps: str) -> str:
    """Return the command that launches the same in the debugger, and takes some steps."""
    return _launching(options, "debug", *(part for step in steps for part in ("-ex", step)))


def _launching(options: Any, command: str, *more: str) -> str:
    """Return a command that launches the same, with more words behind the arguments."""
    kernel = _kernel_words(options)
    words = ["dwarfgpu", command, *BUILD.words(), options.file, *kernel[:1]]
    for option in (*SIZES, *HOW_LAUNCHED):
        given, flag = getattr(options, option.name.replace("-", "_")), f"--{option.name}"
        if given is not None and given is not False:
            values = given if isinstance(given, list) else [given]
            words += (flag if each is True else f"{flag}={each}" for each in values)
    return shlex.join((*words, *kernel[1:], *more))


def _value_hints(running: Running, options: Any, result: RunReport, histories: Sequence[ValueHistory]) -> Iterator[str]:
    """Yield what to ask for in place of an address, where optimized code has no value of a name, and who wrote one."""
    lacking = {} if result.line is None else result.line.lacking
    for history in histories:
        from dwarfgpu.questions.value_history import hints_of

        yield from hints_of(history)
        if history.lacking is not None:
            lacking = lacking | {history.text: history.lacking}
    if lacking:
        from dwarfgpu.questions.optimized_code import hints_of_run

        kernel = options.kernel or result.kernel
        yield from hints_of_run(running, kernel, lacking, [history.text for history in histories])
    yield from _printed_hints(running, options, result)
    for history in histories:
        # all waves were there at once: a number means one wave alone
        if (writer := history.last_writer) is not None and (
            running.launched.plan.geometry.wave_count == len(running.machine.ids)
        ):
            wave, lane = writer
            again = _launching(options, "run", "--trace=lines", f"--wave={wave + 1}", f"--lane={lane}")
            where = f"to {history.text}" if len(histories) > 1 else "there"
            yield f"`{again}` shows each line of wave {wave + 1}, lane {lane}, which stored {where} last"
        if history.rivals > 1 and options.check is None:
            checking = _launching(options, "run", "--check=race")
            yield f"{history.rivals} waves stored to {history.text}: `{checking}` tells whether their order matters"


def _trace_hints(running: Running, options: Any, result: RunReport, trace: StepTrace | None) -> Iterator[str]:
    """Yield how to see the values that a trace of optimized code lacks."""
    if trace is not None and options.trace == "lines" and trace.is_optimized:
        from dwarfgpu.questions.optimized_code import source_hint

        command = f"run {{}} {options.kernel or result.kernel} ... --trace=lines"
        if (hint := source_hint(command, running.attached, running.launched)) is not None:
            yield hint


def _doubts(running: Running, options: Any, result: RunReport, *, has_values: bool) -> Iterator[str]:
    """Yield how to check variables of optimized code that were shown, or decided where to stop."""
    if has_values and options.trace is None and running.is_optimized:
        from dwarfgpu.questions.optimized_code import judge_hint

        yield judge_hint(options.file, options.kernel or result.kernel, running.attached, running.launched)


def _printed_hints(running: Running, options: Any, result: RunReport) -> Iterator[str]:
    """Yield how to see more of a buffer, and which lane has written an element of it."""
    from dwarfgpu.execution.control.report import buffer_in
    from dwarfgpu.render.running import is_shown_whole

    is_asked = result.halt.has_ended and not (options.watch or options.trace or options.form)
    for text in [*(options.print or ()), *(_save_pair(each)[0] for each in options.save or ())][:is_asked]:
        name = buffer_in(text)
        element = text if re.fullmatch(r"[^@:]*\[\d+\]", text) else f"{name}[N]"
        if options.print and not all(is_shown_whole(buffer) for buffer in result.buffers if buffer.name == text):
            is_small = running.buffer(name).size <= MOST_PRINTED
            part, what = (f"{name}[:]", "all elements") if is_small else (f"{name}[8:24]", "other elements")
            yield f"--print {shlex.quote(part)} shows {what}"
        if running.buffer(name).size > 1 and running.planned_buffer(name).pointed is not None:
            yield f"--watch {shlex.quote(element)} shows which line and lane wrote an element"


def _faults(session: Session, running: Running) -> list[Any]:
    """Return why the kernel has stopped, in the words of `fault`."""
    from dwarfgpu.questions.faults import faults_of_run
    from dwarfgpu.questions.selection import Selection

    return faults_of_run(Selection(session.output()), running)


def _show(
    session: Session,
    result: RunReport,
    printed: list[str],
    faults: list[Any],
    histories: Sequence[ValueHistory],
    options: Any,
) -> None:
    """Write what the kernel has printed, and what the run has come to."""
    from dwarfgpu.render.running import report_json, report_text

    of_faults, of_histories = list[Any](), list[Any]()
    of_checks: Any = None
    if result.checked is not None:
        from dwarfgpu.render.findings import MOST_FINDINGS, findings_json, findings_text

        most = MOST_FINDINGS if options.max_findings is None else options.max_findings
        of_checks = (findings_json if session.wants_json else findings_text)(result.checked, most)
    if faults:
        from dwarfgpu.render.faults import FAULT, faults_text

        of_faults = [*map(FAULT.json, faults)] if session.wants_json else [*faults_text(faults, result.kernel)]
    if histories:
        from dwarfgpu.questions.value_history import history_json, history_text

        texts = (history_text(history, options.history, "--history") for history in histories)
        of_histories = [*map(history_json, histories)] if session.wants_json else [*chain(*texts)]
    if session.wants_json:
        first = {"history": of_histories[0]} if of_histories else {}
        more = {"histories": of_histories} if len(of_histories) > 1 else first
        session.print_json(report_json(result, printed, of_faults, of_checks) | more)
    else:
        for text in printed:
            session.out.write(text)
        if printed and not printed[-1].endswith("\n"):
            session.print()
        for line in (*report_text(result, of_faults, of_checks or ()), *of_histories):
            session.print(line)
    for notice in result.notices:
        session.hint(notice)


# --- Before it runs -----------------------------------------------------------------------------------------------


def _run_to_a_halt(
    options: Any, program: Program, running: Running, profile: Profile | None, *, is_watched: bool, is_stopped: bool
) -> tuple[Running, Halt, Profile | None]:
    """Let waves run; return what has run, why it has come to a halt, and what was counted, if that is asked for.

    Where nobody watches their order, waves run one after the other. If one then fails, all run again in step: so they
    are all where it fails, what was counted is what they did before, and going back finds what led there.
    """
    from dwarfgpu.execution.halts import FAILURES

    ways = options.until, options.limit, options.seed, options.weak_memory
    is_stopped = is_stopped or any(each is not None for each in ways)
    running.keeps_launch = is_stopped and not is_watched
    with running.progress_shown():
        halt = running.run(until=options.until, limit=options.limit)
    if halt.kind in FAILURES and not (is_watched or is_stopped):
        running = _launched(options, program)
        profile, running.keeps_launch = _profile(running, options), True
        with running.progress_shown():
            halt = running.run()
    return running, halt, profile


def _launched(options: Any, program: Program) -> Running:
    from dwarfgpu.execution.control.running import launched_with
    from dwarfgpu.execution.launch.triton import kernel_and_arguments

    kernel, words = kernel_and_arguments(program.file, _kernel_words(options))
    return launched_with(program, kernel, words, partial(_launch_option, options))


def _launch_option(options: Any, name: str) -> Any:
    if name == "check" and options.trace == "lines" and options.check is None and options.weak_memory is None:
        return "init"  # which tells the trace what is not set yet; nothing is reported
    return getattr(options, name.replace("-", "_"))


def _kernel_words(options: Any) -> list[str]:
    return [word for word in (options.kernel, *(options.arg or ())) if word is not None]


def _check_buffers(running: Running, names: Iterable[str], parts: Iterable[str]) -> None:
    """Refuse names of buffers and parts of them that are not there."""
    from dwarfgpu.execution.control.report import check_preview

    for name in names:
        running.planned_buffer(name)
    for text in parts:
        check_preview(running, text)


def _run_seeds(session: Session, options: Any, program: Program) -> int:
    """Run a kernel with several seeds, and show which results differ; return the exit status."""
    from dwarfgpu.execution.control.seeds import run_seeds
    from dwarfgpu.render.running import SEED_REPORT, seeds_hint, seeds_text

    check_of_seeds(options, OF_ONE_RUN)
    which = "seed" if options.weak_memory is None else "weak-memory"
    first = getattr(options, which.replace("-", "_")) or 0

    def launched(seed: int) -> Running:
        return _launched(Namespace(**vars(options) | {which.replace("-", "_"): seed}), program)

    report = run_seeds(launched, range(first, first + options.seeds), which, options.limit)
    if session.wants_json:
        session.print_json(SEED_REPORT.json(report))
    else:
        for line in seeds_text(report):
            session.print(line)
    if report.is_interrupted:
        return INTERRUPTED
    if report.differing:
        session.hint(seeds_hint(report))
    return OK if not report.differing and report.ended == len(report.seeds) else NO_ANSWER


def check_of_seeds(options: Any, of_one_run: Iterable[str]) -> None:
    """Refuse a number of seeds that is too large, and options that say what one run shows."""
    if not 1 <= options.seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds takes a number from 1 to {MOST_SEEDS}")
    for name in of_one_run:
        if getattr(options, name) not in (None, [], False):
            flag = name.rstrip("_").replace("_", "-")
            raise UsageError(f"--{flag} is for one run", hint="choose one of the seeds with --seed")


def _save_pair(text: str) -> tuple[str, str]:
    from dwarfgpu.execution.control.running import check_result_file

    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise UsageError(f"--save {text[:60]!r} names no file", hint="write --save NAME=FILE.npy")
    check_result_file(path)
    _check_folder(path)
    return name, path


def _check_folder(path: str) -> None:
    """Refuse a file that cannot be written before the kernel runs."""
    check_output(path)
    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path} cannot be written: {folder} is not a writable folder", kind="unwritable")


def _set_breakpoints(
    session: Session, running: Running, options: Any
) -> list[tuple[str, str | None, list[Breakpoint]]]:
    """Set the breakpoints, and say which conditions have no value; return each place with its condition and points."""
    if options.if_ is not None and not options.break_:
        raise UsageError("--if needs --break", hint="name the place with --break FILE:LINE")
    points = [(place, condition, running.break_at(place, condition)) for place, condition in _places(options)]
    for _place, condition, own in points:
        addresses = [address for point in own for address in point.addresses]
        for problem in running.unanswered(condition, addresses) if condition else ():
            session.hint(problem)
    return points


def _places(options: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the places to stop at, each with its condition."""
    return (_place(text, options.if_) for text in options.break_ or ())


def _place(text: str, condition: str | None = None) -> tuple[str, str | None]:
    from dwarfgpu.execution.control.running import place_and_condition

    return place_and_condition(text, condition)


def _missed_or_moved(
    running: Running, points: Iterable[tuple[str, str | None, list[Breakpoint]]], halt: Halt
) -> Iterator[str]:
    """Yield the breakpoints that no lane has reached, and those that waves have hit at another line."""
    for place, condition, own in points:
        missed = running.missed_text(place, own, condition)
        moved = running.moved_text(place, [address for point in own for address in point.addresses])
        text = moved if missed is None else missed if halt.has_ended else None
        yield from () if text is None else (text,)
        if text is not None and text == missed and condition is not None and any(point.is_reached for point in own):
            for variable in running.variables_of(condition, own[0].address)[:1]:
                yield f"--watch {variable.name} shows the values that {variable.name} has"


def settle_output(options: Any) -> None:
    """Decide whether ``-o`` names a profile or a trace for another viewer, or a file for the answer, as usual."""
    from dwarfgpu.questions.profiles import CHROME, format_of
    from dwarfgpu.questions.table import FORMATS

    options.profile_file, path = None, options.output
    is_traced, kind = options.trace is not None, options.profile_format
    if kind is not None and (path is None or not (options.profile or is_traced)):
        raise UsageError("--profile-format needs --profile or --trace, and -o FILE")
    if path is None or not (options.profile or is_traced) or (kind is None and options.form):
        return
    if kind is None and is_traced and not options.profile and path.endswith(".json"):
        kind = CHROME
    kind = kind or format_of(path)
    if kind is None:
        return
    if is_traced and (options.profile or kind != CHROME):
        forms = ", ".join(form for form in FORMATS if form != CHROME)
        raise UsageError(f"a trace is written as a Chrome trace alone; {forms} are for --profile without --trace")
    _check_folder(path)
    options.profile_file, options.profile_format, options.output = path, kind, None


def _profile(running: Running, options: Any) -> Profile | None:
    """Begin to count what instructions do."""
    if not options.profile:
        return None
    from dwarfgpu.execution.control.profile import Profile

    return Profile(running.machine.device, running if options.profile_format == "chrome" else None)


def _write_profile(
    running: Running, options: Any, profile: Profile | None, trace: StepTrace | None, steps: list[TracedStep]
) -> None:
    """Write what was counted, or what one wave did, in the format of a viewer, if that is asked for."""
    if options.profile_file is None:
        return
    from dwarfgpu.questions.profiles import CHROME, chrome_trace, written

    if options.profile_format != CHROME:
        assert profile is not None  # noqa: S101 (`settle_output` refuses all else)
        content = written(profile.stacks(running), options.profile_format)
    elif profile is not None:
        content = chrome_trace(profile.tracks(running), running.launched.plan.kernel.name)
    else:
        assert trace is not None  # noqa: S101 (the same)
        content = chrome_trace([trace.track(steps)], running.launched.plan.kernel.name)
    with whole_output(options.profile_file) as stream:
        stream.write(content)


def _trace(session: Session, running: Running, options: Any, steps: list[TracedStep]) -> StepTrace | None:
    """Begin to write what a wave does, or to collect it for a file."""
    if options.trace is None:
        return None
    from dwarfgpu.render.running import STEP

    if session.form == "json" and options.profile_file is None:
        raise UsageError("a trace is not a single document", hint="use --jsonl")
    if options.profile_file is not None:
        return traced(running, options, steps.append)
    if session.form == "jsonl":
        return traced(running, options, lambda step: session.print_json(STEP.json(step)))
    return traced(running, options, written_steps(session.print))


def written_steps(write: Callable[[str], object]) -> Callable[[TracedStep], None]:
    """Return what writes the lines of each step of a trace."""
    from dwarfgpu.render.running import TraceWriter

    writer = TraceWriter()

    def tell(step: TracedStep) -> None:
        for line in writer.lines(step):
            write(line)

    return tell


def traced(running: Running, options: Any, tell: Callable[[TracedStep], Any]) -> StepTrace:
    """Begin to tell what the wave does that options name."""
    wave = 0 if options.wave is None else options.wave - 1
    if options.trace != "lines":
        from dwarfgpu.execution.control.tracing import StepTrace

        return StepTrace(running, tell, wave=wave, lane=options.lane)
    from dwarfgpu.execution.control.line_traces import LineTrace
    from dwarfgpu.render.faults import BRIEF
    from dwarfgpu.render.values import value_text

    return LineTrace(running, tell, partial(value_text, look=BRIEF), wave=wave, lane=options.lane)


def check_followed(options: Any) -> None:
    """Refuse options about the waves that `--trace` and `--watch` look at, where neither is given."""
    for name in ("wave", "lane"):
        if getattr(options, name) is not None and options.trace is None and options.watch is None:
            raise UsageError(f"--{name} needs --watch EXPR or --trace")
    texts: list[str] = options.watch or []
    if options.history is not None and len(texts) != 1:
        raise UsageError(f"--history needs {'one ' if texts else ''}--watch EXPR")
    if options.history is not None:
        from dwarfgpu.questions.value_history import check_path

        check_path(options.history)


def begun_histories(running: Running, options: Any) -> list[ValueHistory]:
    """Begin to look at the values of each expression."""
    if not options.watch:
        return []
    from dwarfgpu.questions.value_history import new_history, of_launch

    wave = None if options.wave is None else options.wave - 1
    histories = [new_history(running, of_launch(running, text), wave, options.lane) for text in options.watch]
    for history in histories:
        history.start()
    return histories


def end_histories(histories: Sequence[ValueHistory], path: str | None) -> None:
    """Look at the last values, and write them to a file if there is one."""
    for history in reversed(histories):
        history.end()
    if path is not None:
        from dwarfgpu.questions.value_history import save_history

        save_history(histories[0], path)
