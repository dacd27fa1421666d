"""The GDB commands ``dwarfgpu eval``, ``dwarfgpu locals``, ... and the function ``$dwarfgpu("x")``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions.table import COMMANDS
from dwarfgpu.render.layout import WIDTH, counted, wrapped

if TYPE_CHECKING:
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Command
    from dwarfgpu.states.program import Attached


PREFIX = "dwarfgpu"
ABOUT = """Variables, lanes and frames of GPU code, and of other code with the DWARF of GPU compilers.

These commands show the selected thread, frame and lane.  $_lane is the selected lane; without it the first
active lane is shown.  `$dwarfgpu("x")' is a variable in expressions of GDB."""
OF_THREADS = "Threads of a host program are saved as a core file, which GDB writes."
ARGUMENT_HELP = """What the kernel was launched with: $dwarfgpu_arg("n"), whatever the parameter n is now."""
FUNCTION_HELP = """Read a variable or an expression with dwarfgpu: $dwarfgpu("x"), or $dwarfgpu("x", 5) in lane 5.

A value that GDB can reach is an lvalue: it has an address, or can be assigned to.
In a language in which GDB has no strings: with language c -- print $dwarfgpu("x")."""
LANE, APPLIED = "lane", "lane apply"
SAVE_CORE = "generate-core-file"


class Prefix(gdb.Command):  # type: ignore[misc]
    """The command ``dwarfgpu``, which the names of all others begin with."""

    def __init__(self) -> None:
        self.__doc__ = ABOUT
        gdb.Command.__init__(self, PREFIX, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)

    def invoke(self, text: str, _from_tty: bool) -> None:  # noqa: FBT001 (as GDB calls it)
        if text:
            raise gdb.GdbError(f'Undefined {PREFIX} command: "{text.split(maxsplit=1)[0]}".  Try "help {PREFIX}".')
        gdb.execute(f"help {PREFIX}")


class TableCommand(gdb.Command):  # type: ignore[misc]
    """A command of the command table after the prefix."""

    def __init__(self, row: Command) -> None:
        self.row = row
        self.__doc__ = help_text(row)
        if row.gdb == LANE:  # `lane apply` is below it
            gdb.Command.__init__(self, f"{PREFIX} {row.gdb}", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)
        else:
            gdb.Command.__init__(self, f"{PREFIX} {row.gdb}", gdb.COMMAND_DATA)

    def invoke(self, text: str, from_tty: bool) -> None:  # noqa: FBT001 (as GDB calls it)
        """Run the command for what is selected now."""
        if self.row.repeats == "nothing":
            self.dont_repeat()
        with one_line_errors():
            from dwarfgpu.gdbplugin.debugger import debugger
            from dwarfgpu.gdbplugin.host import select_lane, selected_lane_stays

            session = debugger()
            session.look(is_typed=from_tty)
            if self.row.gdb == "snapshot":  # the process is in no file yet
                save(session, text)
                return
            if self.row.gdb == APPLIED:
                with selected_lane_stays():
                    session.execute(line_of(self.row, text))
                return
            session.execute(line_of(self.row, text))
            if self.row.gdb == LANE and text and session.lane is not None:
                select_lane(session.lane)

    def complete(self, text: str, word: str | None) -> Any:
        """Return completions as GDB wants them: in place of the last word."""
        if self.row.completes == "path":
            return gdb.COMPLETE_FILENAME
        if word is None:  # GDB asks first where words end, and its own rule is right
            return None
        try:
            with one_line_errors():
                from dwarfgpu.gdbplugin.debugger import debugger
                from dwarfgpu.questions.completion import complete

                session = debugger()
                session.look()
                line = line_of(self.row, text)
                start, candidates = complete(session, line)
        except gdb.GdbError:  # there is no program
            return []
        return in_place_of(line, start, [candidate.text for candidate in candidates], word)


def line_of(row: Command, text: str) -> str:
    """Return the line of the debugger that is equal to a command of GDB."""
    return f"{row.name}{text}" if row.formats and text.startswith("/") else f"{row.name} {text}"


def in_place_of(line: str, start: int, texts: list[str], word: str) -> list[str]:
    """Turn candidates that replace a line from ``start`` on into ones that replace its last word."""
    begin = len(line) - len(word)
    if start >= begin:
        return [line[begin:start] + text for text in texts]
    kept = line[start:begin]
    return [text[len(kept) :] for text in texts if text.startswith(kept)]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn every error into one line for the user of GDB."""
    try:
        yield
    except DwarfGpuError as error:
        from dwarfgpu.gdbplugin.debugger import one_line

        raise gdb.GdbError(one_line(error)) from None
    except gdb.error as error:
        raise gdb.GdbError(" ".join(str(error).split())) from None
    except ImportError as error:
        raise gdb.GdbError(not_installed(error)) from None
    except KeyboardInterrupt:
        raise gdb.GdbError("Quit") from None


def not_installed(error: ImportError) -> str:
    """Return the line about a package that a question needs and GDB's Python does not have."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    name = (error.name or "a package").partition(".")[0]
    return (
        f"this needs {name}, which GDB's Python {version} does not have "
        "(install it, or name the folder that has it in DWARFGPU_PATH; without it ask for one lane)"
    )


# --- Help ---------------------------------------------------------------------------------------------------------


def help_text(row: Command) -> str:
    """Return the text of ``help dwarfgpu eval``: summary, usage, options and details."""
    lines = [f"{row.summary[:1].upper()}{row.summary[1:]}.", f"Usage: {usage(row)}"]
    if row.options:
        width = max(len(option.usage) for option in row.options) + 2
        lines += ["", "Options:", *(f"  {option.usage:{width}}{option.help}" for option in row.options)]
    for paragraph in (*row.help.split("\n\n"), *([OF_THREADS] if row.gdb == "snapshot" else [])):
        lines += ["", *wrapped(paragraph, WIDTH)]
    return "\n".join(lines)


def usage(row: Command) -> str:
    """Return the usage of a command in GDB."""
    return f"{PREFIX} {row.gdb}{row.usage.removeprefix(row.name)}"


def install() -> None:
    """Register the commands with GDB."""
    Prefix()
    for row in COMMANDS:
        if row.gdb:
            TableCommand(row)


# --- ``$dwarfgpu("x")`` -------------------------------------------------------------------------------------------


class ValueFunction(gdb.Function):  # type: ignore[misc]
    """The function ``$dwarfgpu``, which reads in the selected frame."""

    def __init__(self) -> None:
        self.__doc__ = FUNCTION_HELP
        gdb.Function.__init__(self, "dwarfgpu")

    def invoke(self, *arguments: Any) -> Any:
        """Return the value of a variable or an expression."""
        if not 1 <= len(arguments) <= 2:
            raise gdb.GdbError('Usage: $dwarfgpu("x"), or $dwarfgpu("x", LANE)')
        with one_line_errors():
            from dwarfgpu.gdbplugin.host import gdb_host
            from dwarfgpu.gdbplugin.values import value_of
            from dwarfgpu.machines.gdb.process import selected_frame

            frame = gdb_host().frame()
            lane = int(arguments[1]) if len(arguments) == 2 else None
            return value_of(frame[text_of(arguments[0])], frame, selected_frame(), lane)


class LaunchedArguments(gdb.Function):  # type: ignore[misc]
    """The function ``$dwarfgpu_arg``, which gives an argument of the launch."""

    def __init__(self) -> None:
        self.__doc__ = ARGUMENT_HELP
        gdb.Function.__init__(self, "dwarfgpu_arg")

    def invoke(self, argument: Any) -> Any:
        """Return what the kernel of the selected wave was launched with."""
        with one_line_errors():
            from dwarfgpu.gdbplugin.host import gdb_host
            from dwarfgpu.gdbplugin.values import value_of
            from dwarfgpu.machines.gdb.process import selected_frame

            frame = gdb_host().frame()
            return value_of(frame[f'$_arg("{text_of(argument)}")'], frame, selected_frame(), None)


def text_of(value: Any) -> str:
    """Return the text of a string of GDB; in Rust it is a structure, and in Fortran it ends without a zero."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT and [field.name for field in kind.fields()] == ["data_ptr", "length"]:
        return str(value["data_ptr"].string("utf-8", "strict", int(value["length"])))
    if kind.code == gdb.TYPE_CODE_STRING:
        character = gdb.selected_frame().architecture().integer_type(8, False)
        codes = value.cast(character.array(kind.sizeof - 1))
        return bytes(int(codes[index]) for index in range(kind.sizeof)).decode()
    return str(value.string())


# --- ``dwarfgpu snapshot`` ----------------------------------------------------------------------------------------


def save(debugger: Debugger, text: str) -> None:
    """Save the stopped process to a file, and say how to open it."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that nothing closes
        words = []
    if len(words) != 1:
        raise UsageError("`dwarfgpu snapshot` takes one file; put a name with blanks in quotes")
    path = os.path.expanduser(words[0])
    machine = debugger.machine
    if os.path.exists(path):
        raise UsageError(f"{path} exists already", hint="name another file")
    kind = _save_waves if machine.has_waves else _save_threads
    what = kind(machine, path)
    debugger.output.line(f"Saved {what} to {path}")
    words = ["dwarfgpu", "debug", machine.program.file.name, "--state", path]
    debugger.output.line(f"Open it with `{shlex.join(words)}`")


def _save_waves(machine: Attached, path: str) -> str:
    from dwarfgpu.machines import snapshot
    from dwarfgpu.states.gdb_capture import captured

    waves = captured(machine)
    snapshot.save(waves, path)
    return counted(waves.wave_count, "wave")


def _save_threads(machine: Attached, path: str) -> str:

    if path.endswith((".json", ".dgs")):
        raise UsageError(
            f"{path} would be a snapshot of waves, and these are threads of {machine.state.target.name}",
            hint="they are saved as a core file: `dwarfgpu snapshot core`",
        )
    gdb.execute(f"{SAVE_CORE} {path}", to_string=True)
    return f"{counted(len(machine), 'thread')} as a core file"
