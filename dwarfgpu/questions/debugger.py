"""The debugger: it reads lines, and keeps what is selected and what was said from one line to the next."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Protocol

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.frames.history import READ_ONLY, Remembered
from dwarfgpu.questions.document import NO_ANSWER, Document, Output, exit_status
from dwarfgpu.questions.registry import Registry, read_arguments
from dwarfgpu.questions.selection import Selection
from dwarfgpu.regular_files import check_mappings, check_output, forget_changed_mappings, open_anew
from dwarfgpu.render.layout import fitted
from dwarfgpu.render.written_text import without_styles, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dwarfgpu.program.code.completion_index import KnownNames
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.states.program import Attached, Program

    class Aside(Protocol):
        """Where a face shows what belongs beside an answer."""

        def report_problems(self, problems: Iterable[DwarfGpuError]) -> object: ...
        def hint(self, text: str) -> object: ...


DEEPEST = 100
"""How deep commands may call each other: scripts that source themselves end here."""


class Quit(Exception):
    """The user wants to leave, with a status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


REOPENS = frozenset(("file", "core-file", "target snapshot", "target launch", "quit", "help"))
"""The commands that can be run when a file has changed under the debugger."""


class Debugger(Selection):
    """What commands work on. It reads no terminal and knows no other face: it is given lines and writes lines."""

    has_focus = True

    def __init__(self, output: Output) -> None:
        from dwarfgpu.questions.table import COMMANDS

        Selection.__init__(self, output)
        self.registry = Registry(COMMANDS)
        self.settings.watchers.append(self._trust_lists)
        self.log = Log(self)
        self.macros: dict[str, tuple[str, ...]] = {}
        """The lines of the commands that the user has defined."""
        self.called_with: tuple[str, list[str]] | None = None
        """The defined command that runs, and the words it was called with."""
        self.aliases: dict[str, str] = {}
        """The commands by the names that the user has given to them."""
        self.typed: list[str] = []
        """The lines that were typed."""
        self.next_line: Callable[[str], str | None] | None = None
        """Gives a further line of whatever lines come from, for commands that go on over several."""
        self.watchers: list[Callable[[], None]] = [self._show_context]
        """Are called after a command that has changed what is selected."""
        self.ask: Callable[[str], bool] | None = None
        """Asks the user a question whose answer is yes or no; None without a user at a terminal."""
        self.aside: Aside | None = None
        """Shows what is wrong with an answer that is data, and what can be done; text says it itself."""
        self.shell_status: int | None = None
        """The exit status of the last program that was run."""
        self.hints_for: Callable[[Mapping[str, Reason]], Iterable[str]] = lambda _lacking: ()
        """Says what to type where variables have no value; a kernel that runs has an answer."""
        self.full_screen: Callable[[], None] | None = None
        """Shows the full screen, where there is a terminal; leaves it while it is shown."""
        self.is_full_screen = False
        self.redraw: Callable[[], None] = lambda: None
        """Draws the full screen anew."""
        self.status = 0
        """The worst exit status of the answers so far: 1 where one has findings, or is that there is no answer."""
        self.layout = "src"
        """What the full screen shows: ``src``, ``asm``, ``split`` or ``regs``."""
        self.is_quiet = False
        """Whether a change of what is selected is not shown by the context view and displays: the answer is data."""
        self.program_of_state: Program | None = None
        """The program that a state has named, if it was opened for that; another state may name another one."""
        self.is_watched = False
        """Whether a user at a prompt types the lines and reads what is written."""
        self._changes = 0
        """How often the machine had been written to when it was last seen."""
        self._known_names: KnownNames | None = None
        self._again: str | None = None
        self.has_moved = False
        """Whether those who watch are going to be told of a change when the command has ended."""
        self._depth = 0

    # --- Lines ----------------------------------------------------------------------------------------------------

    def check_applied(self, line: str) -> None:
        """Refuse a line whose command there is not; it is for several waves, lanes or frames."""
        self.registry.find(line)

    def execute_applied(self, line: str) -> None:
        """Run a line for one of several waves, lanes or frames, which is selected."""
        self.execute(line)

    def execute(self, line: str) -> None:
        """Run a line; an empty one repeats what was run before. What is wrong is raised, and the focus stays."""
        line = line.strip()
        if not line:
            if self._again is None:
                return
            line = self._again
        if line.startswith("#"):
            return
        self._again = None
        command, rest = self.registry.find(line)
        if not command.run:
            command, rest = self.registry.find(f"help {command.name}")
        if self._depth >= DEEPEST:
            raise UsageError(f"commands call each other more than {DEEPEST} deep", kind="too_deep")
        self._depth += 1
        try:
            if command.name in REOPENS:
                open_anew()
            else:
                check_mappings()
            self._limit_frames()
            arguments = read_arguments(command, rest)
            self.is_quiet = bool(arguments.form) or (self._depth > 1 and self.is_quiet)
            with (
                self.output.laid_out(),
                self.settings.lent(arguments.settings),
                budget.question(self.settings["budget"]) as cost,
            ):
                document = command.load()(self, arguments)
                if document is not None:
                    self._write(document, arguments.form)
            if command.name in REOPENS:
                forget_changed_mappings()
            elif document is not None:
                check_mappings()  # what was answered is of no use if a file has changed meanwhile
            if cost.is_spent and not self._depth - 1:
                self._tell_spent(f"{cost.message}; {budget.HINT}", arguments.form)
        finally:
            self._depth -= 1
            self.notice_writes()
        if command.repeats != "nothing":
            is_backwards = arguments.text == "-"  # as in `list -`, which goes on as it is
            self._again = line if command.repeats == "same" or is_backwards else command.name
        if self.has_moved and not self._depth:
            self.tell_watchers()

    def _write(self, document: Document, form: str) -> None:
        """Write an answer, and what is wrong with parts of it. Where there is nothing else that is the error."""
        document.write(self.output, form)
        lacking, self.lacking = self.lacking, {}
        self.status = max(self.status, document.status, *map(exit_status, document.problems))
        if form:
            if self.aside is not None:
                self.aside.report_problems(document.problems)
                for hint in document.hints:
                    self.aside.hint(hint)
            return
        if document.problems and document.is_empty:
            raise document.problems[0]
        for problem in document.problems:
            for line in fitted(f"warning: {problem}", 2):
                self.output.line(self.output.style("error", line))
        for hint in (*document.hints, *self.hints_for(lacking)):
            self.output.line(self.output.style("hint", f"hint: {hint}"))

    def _tell_spent(self, text: str, form: str) -> None:
        """Say that an answer has cost all that it may, so that something is left out of it."""
        self.status = max(self.status, NO_ANSWER)
        if not form:
            self.output.line(self.output.style("hint", text))
        elif self.aside is not None:
            self.aside.hint(text)

    def _limit_frames(self) -> None:
        limit = self.settings["backtrace limit"]
        if self.attached is not None and self.attached.state.max_frames != limit:
            self.attached.state.max_frames = limit
            for wave in self.attached:
                wave.forget()

    def tell_watchers(self) -> None:
        """Call those who watch what is selected."""
        self.has_moved = False
        with self.output.laid_out():
            for watcher in self.watchers:
                watcher()

    def notice_writes(self) -> None:
        """Take note of writes, which change what is seen; there may be other frames then."""
        changes = self._kept_changes
        if changes == self._changes:
            return
        self._changes = changes
        self.has_moved = True
        try:
            self.seen_wave.frame(self.frame_number)
        except DwarfGpuError:  # there are not so many any more
            self.frame_number = 0

    @property
    def _kept_changes(self) -> int:
        """The number of writes to what is attached that were not taken back."""
        backend = None if self.attached is None else self.attached.state.backend
        return 0 if backend is None else backend.changes - backend.undone

    def shows_context(self, section: str) -> bool:
        """Whether a section of the context view is shown after a change of what is selected."""
        wanted = self.settings["context"]
        is_on = not self.is_quiet and (wanted == "on" or (wanted == "auto" and self.is_watched))
        return is_on and self.attached is not None and section in self.settings["context-sections"]

    @property
    def is_source_coming(self) -> bool:
        """Whether the context view will show, behind the command, where the focus is now."""
        return self.has_moved and self._depth == 1 and self.shows_context("source")

    def _show_context(self) -> None:
        if any(map(self.shows_context, self.settings["context-sections"])):
            command = self.registry.commands["context"]
            command.load()(self, read_arguments(command, ""))

    def forget_line(self) -> None:
        """Make an empty line repeat nothing."""
        self._again = None

    def confirmed(self, question: str) -> bool:
        """Return whether the user wants it; True if no user can be asked."""
        return self.ask is None or not self.settings["confirm"] or self.ask(question)

    def moved(self) -> None:
        """Take note that those who watch are told when the command has ended."""
        if not self.stays:
            self.has_moved = True

    # --- What is selected ----------------------------------------------------------------------------------------

    def use(self, program: Program, attached: Attached | None) -> None:
        Selection.use(self, program, attached)
        self._known_names = None
        self.has_moved = True
        self._changes = self._kept_changes
        state = (program if attached is None else attached).state
        state.remembered = remembered(self)
        state.trusts_lists = self.settings["caller-registers"] == "listed"

    def _trust_lists(self, name: str) -> None:
        if name == "caller-registers" and self.attached is not None:
            self.attached.state.trusts_lists = self.settings[name] == "listed"

    def read_anew(self) -> None:
        is_from_state = self.program is self.program_of_state
        Selection.read_anew(self)
        self.program_of_state = self.program if is_from_state else None
        if self.program is not None:
            self._known_names = None
            (self.program if self.attached is None else self.attached).state.remembered = remembered(self)

    @property
    def known_names(self) -> KnownNames:
        """The names of the program, for completion."""
        if self._known_names is None:
            from dwarfgpu.program.code.completion_index import KnownNames

            state = self.opened.state if self.attached is None else self.attached.state
            self._known_names = KnownNames([code.file for code in state.loaded.codes])
        return self._known_names


def remembered(debugger: Debugger) -> Remembered:
    """Return the values that a debugger remembers."""
    found = debugger.state_of(Remembered)
    found.computed = lambda: looked_at(debugger)
    return found


def looked_at(debugger: Debugger) -> dict[str, str | int]:
    """``$_thread``, ``$_wave_id``, ``$_lane_count``, ROCgdb's positions; and ``$_shell_exitcode``."""
    found: dict[str, str | int] = {}
    if debugger.shell_status is not None:
        found["_shell_exitcode"] = debugger.shell_status
    if debugger.attached is None or debugger.wave_number is None:
        return found
    from dwarfgpu.questions.waves import positions, used_lanes

    has_lanes = debugger.attached.has_waves
    return found | {
        "_thread": debugger.wave_number + 1,
        "_wave_id": debugger.wave.id,
        "_lane_count": used_lanes(debugger) if has_lanes else 0,
        **positions(debugger),
    }


def names(debugger: Debugger) -> list[str]:
    """Return the names of all that there are, in order."""
    return sorted({*READ_ONLY, *debugger.state_of(Remembered).variables})


class Log:
    """Copies the output of a debugger to a file while the setting says so."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._file: IO[str] | None = None
        self._write: Callable[[str], object] | None = None
        debugger.settings.watchers.append(self._changed)

    def _changed(self, name: str) -> None:
        if name != "logging enabled":
            return
        if not self._debugger.settings[name]:
            if self._file is not None:
                path = self._file.name
                self.close()
                self._debugger.output.line(f"Done logging to {path}.")
        elif self._file is None:
            try:
                self._open()
            except UsageError:
                self._debugger.settings.reset(name)
                raise

    def _open(self) -> None:
        settings, output = self._debugger.settings, self._debugger.output
        path = os.path.expanduser(settings["logging file"])
        check_output(path)
        try:
            mode = "w" if settings["logging overwrite"] else "a"
            self._file = open(path, mode, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 (it stays open)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", kind="unwritable") from None
        output.line(f"{'Redirecting' if settings['logging redirect'] else 'Copying'} output to {path}.")
        self._write = output.write
        output.write = self._copied

    def _copied(self, text: str) -> None:
        assert self._file is not None  # noqa: S101 (it is open as long as this is what writes)
        assert self._write is not None  # noqa: S101
        try:
            self._file.write(written(without_styles(text)))
            self._file.flush()
        except OSError as error:
            path = self._file.name
            with suppress(OSError):  # what waits to be written cannot be written either
                self.close()
            self._debugger.settings.reset("logging enabled")
            raise UsageError(f"{path}: {error.strerror}", kind="unwritable", hint="logging is off now") from None
        if not self._debugger.settings["logging redirect"]:
            self._write(text)

    def close(self) -> None:
        """Write to the file no longer."""
        if self._file is None or self._write is None:
            return
        self._debugger.output.write = self._write
        file, self._file, self._write = self._file, None, None
        file.close()
