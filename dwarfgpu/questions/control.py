"""Commands about the debugger itself: help, settings, what was typed, the full screen, leaving."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu import __version__
from dwarfgpu.errors import UsageError, nearest
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.execution import setting_changed
from dwarfgpu.questions.table import GROUPS
from dwarfgpu.render.layout import wrapped
from dwarfgpu.render.written_text import own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.questions.registry import Arguments, Command
    from dwarfgpu.questions.settings import Setting

_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "r": "\r"}
_ASSIGNMENT = re.compile(r"[^=]*[^=!<>]=(?!=)|\+\+|--|.*(?:\+\+|--)$")


# --- Help -----------------------------------------------------------------------------------------------------------


def help_(debugger: Debugger, arguments: Arguments) -> None:
    text = " ".join(arguments.text.split())
    if not text:
        _overview(debugger)
        return
    if _help_of_others(debugger, text):
        return
    command, rest = debugger.registry.find(text)
    if rest.strip():
        raise UsageError(f"there is no command `{text[:60]}`", kind="no_command", hint=f"`help {command.name}`")
    if command.run:
        _help_of(debugger, command)
    if debugger.registry.is_prefix(command.name):
        if command.run:
            debugger.output.line()
        _summaries(debugger, debugger.registry.names(command.name).values())


def _overview(debugger: Debugger) -> None:
    output = debugger.output
    groups = {_upper(group): [each.name for each in _members(debugger, group)] for group in GROUPS}
    if debugger.macros or debugger.aliases:
        groups["Defined here"] = [*debugger.macros, *debugger.aliases]
    for title, names in groups.items():
        output.line(output.style("name", f"{title}:"))
        output.lines(f"  {line}" for line in wrapped(", ".join(names), output.width - 2))
    output.line()
    output.lines(
        wrapped("`help COMMAND` says more, `apropos WORD` finds commands. Names may be shortened.", output.width)
    )


def _members(debugger: Debugger, group: str) -> list[Command]:
    known = debugger.registry.commands.values()
    return [each for each in known if each.group == group and each.run and not _is_users(debugger, each)]


def _help_of_others(debugger: Debugger, text: str) -> bool:
    """Help about a group, a setting, or all that was defined; whether that is what the text means."""
    if text in ("user", "user-defined"):
        users = [each for each in debugger.registry.commands.values() if _is_users(debugger, each)]
        if not users:
            debugger.output.line("Nothing was defined.")
        _summaries(debugger, users)
        return True
    for group in GROUPS:
        if text == group or (text in group.split() and text not in debugger.registry.names()):
            _summaries(debugger, _members(debugger, group))
            return True
    verb, _, rest = text.partition(" ")
    if verb in ("set", "show") and rest and not rest.startswith("var"):
        found = debugger.settings.find(rest)
        if found is not None and not found[1] and rest not in debugger.registry.names(verb):
            _help_of_setting(debugger, debugger.settings.declared[found[0]])
            return True
    return False


def _is_users(debugger: Debugger, command: Command) -> bool:
    return command.name in debugger.macros or command.name in debugger.aliases


def _help_of(debugger: Debugger, command: Command) -> None:
    output = debugger.output
    output.lines(wrapped(f"{command.usage}", output.width))
    output.lines(f"  {line}" for line in wrapped(_sentence(command.summary), output.width - 2))
    for one in command.options:
        lines = wrapped(one.help, output.width - 20)
        head = f"  {one.usage:16}  {lines.pop(0)}" if len(one.usage) <= 16 else f"  {one.usage}"
        output.line(head)
        output.lines(f"{' ' * 20}{line}" for line in lines)
    if command.aliases:
        output.lines(wrapped(f"  Also: {', '.join(command.aliases)}", output.width))
    if command.help and command.name not in debugger.macros:
        output.line()
        output.lines(wrapped(" ".join(command.help.split()), output.width))


def _help_of_setting(debugger: Debugger, setting: Setting) -> None:
    output = debugger.output
    values = " | ".join(setting.choices) or ("on | off" if isinstance(setting.default, bool) else "VALUE")
    output.lines(wrapped(f"set {setting.name} {values}", output.width))
    output.lines(f"  {line}" for line in wrapped(_sentence(setting.help), output.width - 2))
    now = setting.text(debugger.settings[setting.name])
    output.lines(wrapped(f"  Now {now}; default {setting.text(setting.default)}.", output.width))


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _sentence(text: str) -> str:
    return f"{_upper(text)}."


def _summaries(debugger: Debugger, commands: Iterable[Command]) -> None:
    output, summaries = debugger.output, {each.name: each.summary for each in commands}
    width = max(map(len, summaries), default=0)
    for name, summary in summaries.items():
        first, *rest = wrapped(summary, output.width - width - 4)
        output.line(f"  {output.style('name', name)}{' ' * (width - len(name))}  {first}")
        output.lines(f"{' ' * (width + 4)}{line}" for line in rest)


def apropos(debugger: Debugger, arguments: Arguments) -> None:
    arguments.needed()
    pattern = re.compile(arguments.pattern().pattern, re.IGNORECASE)
    found = [
        (each.name, each.summary)
        for each in debugger.registry.commands.values()
        if pattern.search(" ".join((each.name, *each.aliases, each.summary)))
    ]
    found += [
        (f"set {setting.name}", setting.help)
        for setting, _value in debugger.settings.shown()
        if pattern.search(f"{setting.name} {setting.help}")
    ]
    for name, summary in found:
        first, *rest = wrapped(f"{name} -- {_sentence(summary)}", debugger.output.width)
        debugger.output.line(debugger.output.style("name", name) + first[len(name) :])
        debugger.output.lines(f"    {line}" for line in rest)
    if not found:
        debugger.output.line(f"No command and no setting matches {arguments.text!r}.")


# --- Settings -------------------------------------------------------------------------------------------------------

OF_GDB = frozenset(
    "ada agent annotate architecture args auto-load auto-solib-add basenames-may-differ breakpoint "  # noqa: SIM905
    "case-sensitive charset check circular-trace-buffer code-cache coerce-float-to-double compile "
    "complaints cp-abi cwd data-directory dcache debug-file-directory debuginfod default-collect "
    "demangle-style detach-on-fork disable-randomization disassemble-next-line disassembly-flavor "
    "disconnected-dprintf displaced-stepping dprintf-style editing endian environment exec-direction "
    "exec-done-display exec-wrapper extended-prompt filename-display follow-exec-mode follow-fork-mode "
    "gnutarget guile host-charset inferior-tty input-radix interactive-mode language libthread-db "
    "libthread-db-search-path logging max-completions may-call-functions mi-async multiple-symbols "
    "non-stop observer opaque-type-resolution osabi output-radix overload-resolution pagination print "
    "prompt python radix range-stepping record remote remotecache remotetimeout schedule-multiple "
    "script-extension serial solib-search-path source stack-cache startup-with-shell "
    "step-mode stop-on-solib-events struct-convention style substitute-path suppress-cli-notifications "
    "target target-charset trace-commands trust-readonly-sections tui "
    "unwind-on-terminating-exception unwindonsignal use-coredump-filter use-deprecated-index-sections "
    "verbose watchdog write".split()
)
"""The first words of settings that GDB has and that change nothing here, so that a script of GDB goes on."""


def set_(debugger: Debugger, arguments: Arguments) -> None:
    text = arguments.needed()
    found = debugger.settings.find(text)
    if _ASSIGNMENT.match(text) and (found is None or found[1].startswith("=")):
        debugger.execute(f"set var {text}")
        return
    if found is None and text.split()[0] in OF_GDB:
        name = " ".join(text.split()[: 2 if len(text.split()) > 2 else 1])
        if name not in debugger.told:
            debugger.told.add(name)
            debugger.output.line(f"`set {text[:60]}` is a setting of GDB that changes nothing here")
        return
    name, value = _setting(debugger, text)
    debugger.settings.set(name, value)
    setting_changed(debugger, name)


def with_(debugger: Debugger, arguments: Arguments) -> None:
    text, found, line = arguments.text.partition(" -- ")
    if not found or not line.strip():
        raise arguments.wrong("needs a setting, `--` and a command")
    with debugger.settings.lent(dict([_setting(debugger, text)])):
        debugger.execute(line)


def _setting(debugger: Debugger, text: str) -> tuple[str, str]:
    """Return the setting that a text begins with, and the rest."""
    found = debugger.settings.find(text)
    if found is None:
        near = nearest(" ".join(text.split()[:2]), debugger.settings.declared)
        near = near or nearest(text.strip().partition(" ")[0], debugger.settings.declared)
        hint = f"did you mean `set {near}`?" if near else "`show` lists the settings"
        raise UsageError(f"there is no setting {text[:60]!r}", kind="no_setting", hint=hint)
    return found


def show(debugger: Debugger, arguments: Arguments) -> None:
    known = debugger.settings.declared
    text = arguments.text
    wanted = [name for name in known if name.startswith(f"{text} ")] if text else list(known)
    found = debugger.settings.find(text)
    if text and len(wanted) < 2 and found is not None and not found[1]:
        wanted = [found[0]]
    if not wanted and text.split()[0] in OF_GDB:
        debugger.output.line(f"`{text[:60]}` is a setting of GDB that changes nothing here")
        return
    if not wanted:
        near = nearest(text, known)
        hint = f"did you mean `show {near}`?" if near else "`show` lists them"
        raise UsageError(f"there is no setting {text[:60]!r}", kind="no_setting", hint=hint)
    width = max(map(len, wanted))
    for setting, value in debugger.settings.shown():
        if setting.name in wanted:
            debugger.output.line(f"{setting.name:{width}}  {debugger.output.style('number', value)}")
    if len(wanted) == 1:
        debugger.output.lines(wrapped(_sentence(known[wanted[0]].help), debugger.output.width))


def show_version(debugger: Debugger, arguments: Arguments) -> None:
    import platform

    debugger.output.line(f"dwarfgpu {__version__}, Python {platform.python_version()}")


# --- The rest -------------------------------------------------------------------------------------------------------


def echo(debugger: Debugger, arguments: Arguments) -> None:
    def character(match: re.Match[str]) -> str:
        text = match.group(1)
        return chr(int(text, 8)) if text.isdigit() else _ESCAPES.get(text, text)

    debugger.output.write(own(_ESCAPE.sub(character, arguments.text.removesuffix("\\"))))


LAYOUTS = ("src", "asm", "split", "regs")
"""The layouts of the full screen, in the order in which `layout next` takes them."""


def tui(debugger: Debugger, arguments: Arguments) -> None:
    wanted = arguments.text or ("disable" if debugger.is_full_screen else "enable")
    if wanted not in ("enable", "disable"):
        raise arguments.wrong(f"takes enable or disable, not {wanted[:40]!r}")
    if (wanted == "enable") != debugger.is_full_screen:
        _switch_screen(debugger)


def _switch_screen(debugger: Debugger) -> None:
    if debugger.full_screen is None:
        raise UsageError("there is no terminal for a full screen", kind="no_terminal")
    debugger.full_screen()


def layout(debugger: Debugger, arguments: Arguments) -> None:
    wanted = arguments.text or debugger.layout
    steps = {"next": 1, "n": 1, "prev": -1, "p": -1}
    if wanted in steps:
        wanted = LAYOUTS[(LAYOUTS.index(debugger.layout) + steps[wanted]) % len(LAYOUTS)]
    meant = [name for name in LAYOUTS if name.startswith(wanted)]
    if len(meant) != 1 and wanted not in LAYOUTS:
        raise arguments.wrong(f"is one of {', '.join(LAYOUTS)}, next and prev, not {wanted[:40]!r}")
    debugger.layout = meant[0]
    if not debugger.is_full_screen:
        _switch_screen(debugger)


def focus(debugger: Debugger, arguments: Arguments) -> None:
    windows = ("src", "asm", "regs", "cmd", "next", "prev")
    if arguments.text and not any(name.startswith(arguments.text) for name in windows):
        raise arguments.wrong(f"takes {', '.join(windows)}, not {arguments.text[:40]!r}")
    _needs_full_screen(debugger)


def refresh(debugger: Debugger, arguments: Arguments) -> None:
    _needs_full_screen(debugger)
    debugger.redraw()


def _needs_full_screen(debugger: Debugger) -> None:
    if not debugger.is_full_screen:
        raise UsageError("the full screen is not shown", kind="no_terminal", hint="`tui` shows it")


def quit_(debugger: Debugger, arguments: Arguments) -> None:
    raise Quit((arguments.integer() or 0) & 0xFF)
