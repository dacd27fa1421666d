"""``dwarfgpu debug``: what precedes the first prompt, and the run without one."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from dwarfgpu import __version__
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.document import exit_status
from dwarfgpu.questions.scripts import joined, run_script
from dwarfgpu.questions.selection import needs_state
from dwarfgpu.questions.settings import READING
from dwarfgpu.repl.runner import Runner
from dwarfgpu.repl.terminal import FirstPrompt, Terminal, is_dumb

if TYPE_CHECKING:
    from dwarfgpu.repl.prompt import Prompt
    from dwarfgpu.repl.terminal import Session


def debug(session: Session, options: Any) -> int:
    """Run the debugger as the options say; return the exit status."""
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not options.batch
    terminal = Terminal(session, is_terminal=is_interactive)
    debugger = Debugger(terminal.output)
    debugger.aside = session
    terminal.follow(debugger.settings)
    if options.debug:
        debugger.settings.set("debug", "on")
    if options.batch:
        debugger.settings.set("confirm", "off")
    runner = Runner(session, debugger, terminal)
    try:
        return _debug(runner, options, is_interactive=is_interactive)
    except Quit as leaving:
        return leaving.status
    finally:
        runner.close()
        if options.begin is not None:
            from dwarfgpu.questions.execution import KernelRun

            whole = debugger.state_of(KernelRun).whole
            if whole is not None:
                whole.end()


def _debug(runner: Runner, options: Any, *, is_interactive: bool) -> int:
    do = runner.guarded
    if is_interactive:
        sit_down(runner)
        do = runner.interruptible
        if not options.quiet:
            runner.debugger.output.line(f"dwarfgpu {__version__}. `help` lists the commands, `quit` or ^D leaves.")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    path = os.path.join(folder, "dwarfgpu", "init")
    init = path if os.path.exists(path) else None
    if not options.no_init and init is not None:  # an error in it does not end the session
        do(partial(run_script, runner.debugger, init))
    worst = do(partial(_open, runner.debugger, options))
    if worst and not is_interactive:
        return _worst(runner, worst)
    for kind, text in options.commands or ():
        script = partial(run_script, runner.debugger, text)
        worst = max(worst, do(script if kind == "file" else partial(runner.execute, text)))
    if is_interactive:
        return _prompt(runner)
    return _worst(runner, worst if options.batch else max(worst, _read_lines(runner)))


def _worst(runner: Runner, status: int) -> int:
    """Return the worst status of the errors, the answers and the problems of the files."""
    return max([status, runner.debugger.status, *map(exit_status, runner.debugger.problems)])


def sit_down(runner: Runner) -> None:
    """Connect the debugger to the user: further lines, questions and the full screen."""
    runner.debugger.next_line = lambda prompt: prompt_of(runner).next_line(prompt)
    runner.debugger.ask = runner.is_confirmed
    if not is_dumb():
        runner.debugger.full_screen = lambda: prompt_of(runner).show_full_screen()


def prompt_of(runner: Runner, **streams: Any) -> Prompt:
    """Return the line editor, which is imported at the first call."""
    if runner.prompt is None:
        from dwarfgpu.repl.prompt import Prompt

        runner.prompt = Prompt(runner, **streams)
    return cast("Prompt", runner.prompt)


def _prompt(runner: Runner) -> int:
    """Ask for lines; return the exit status. Keys wait at the first prompt while the editor is imported."""
    runner.debugger.is_watched = True
    first = FirstPrompt(runner.session.out.raw)
    with runner.interrupts.remembered():
        first.show()
        try:
            return prompt_of(runner).run(first)
        finally:
            first.end()


def _open(debugger: Debugger, options: Any) -> None:
    """Open the file and the state of the command line, and select what it names."""
    from dwarfgpu.states.program import is_state

    if options.begin is not None:
        options.begin(debugger)
        return
    if options.state is None and options.file is not None and is_state(options.file):
        options.state, options.file = options.file, None
    has_machine = any(each is not None for each in (options.state, options.kernel, options.grid))
    for name in ("wave", "frame", "lane", "sysroot"):
        if not has_machine and getattr(options, name) is not None:
            raise needs_state(name)
    if options.file is None and not has_machine:
        return
    from dwarfgpu.questions.files import attach_state, launch_as_run, open_file, show_problems

    for name in (*READING, "sysroot"):
        if getattr(options, name):
            debugger.settings.set(name, getattr(options, name))
    if options.file is not None:
        open_file(debugger, options.file)
        show_problems(debugger, debugger.problems)
    if options.state is not None and (options.kernel, options.grid) != (None, None):
        raise UsageError("a kernel is launched from its code, not from a state", hint="`core-file STATE` attaches one")
    if options.state is None and has_machine:
        words = [word for word in (options.kernel, *(options.arg or ())) if word is not None]
        launch_as_run(debugger, words, {name.replace("_", "-"): value for name, value in vars(options).items()})
    elif has_machine:
        attach_state(debugger, options.state, force=options.force)
    if has_machine:
        _select(debugger, options)


def _select(debugger: Debugger, options: Any) -> None:
    """Select what the command line names; without a wave, show one that has received a signal."""
    if options.wave is None and debugger.wave_number is not None and not options.quiet:
        from dwarfgpu.questions.files import show_focus
        from dwarfgpu.questions.focus import signal_of_wave

        if signal_of_wave(debugger) is not None:
            show_focus(debugger)
    if options.wave is not None:
        from dwarfgpu.program.frames.selectors import wave_named

        debugger.select_wave(wave_named(debugger.machine.stopped.machine, options.wave))
    if options.frame is not None:
        debugger.select_frame(options.frame)
    if options.lane is not None:
        debugger.select_lane(options.lane)


def _read_lines(runner: Runner) -> int:
    """Run the lines of standard input; return the status of the worst error."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")
    lines = joined(line.rstrip("\n") for line in sys.stdin)
    runner.debugger.next_line = lambda _prompt: next(lines, None)
    return max(map(runner.run, lines), default=0)
