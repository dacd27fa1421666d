"""``set dwarfgpu`` and ``show dwarfgpu``: the debugger's settings that apply in GDB, and two more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.gdbplugin.commands import one_line_errors
from dwarfgpu.questions.settings import MAX_NUMBER, READING, SETTINGS, Setting

if TYPE_CHECKING:
    from dwarfgpu.gdbplugin.frame_filter import FrameFilter

SHARED = ("print ", *READING, "caller-registers")
"""The prefixes of the debugger's settings that apply in GDB; GDB has its own for all others."""


class SettingsPrefix(gdb.Command):  # type: ignore[misc]
    """``set dwarfgpu`` or ``show dwarfgpu``; the latter by itself shows all settings."""

    def __init__(self, verb: str, name: str = "") -> None:
        self.of = f"dwarfgpu {name}".rstrip()
        self.__doc__ = f"{'Change' if verb == 'set' else 'Show'} how dwarfgpu reads and shows variables."
        gdb.Command.__init__(self, f"{verb} {self.of}", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)
        self.shows = verb == "show"

    def invoke(self, text: str, _from_tty: bool) -> None:  # noqa: FBT001 (as GDB calls it)
        """Show all settings, or the help of ``set``."""
        if text:
            raise gdb.GdbError(f'There is no setting "{self.of} {text.split(maxsplit=1)[0]}".')
        if not self.shows:
            gdb.execute(f"help set {self.of}")
            return
        for name in installed:
            if name.startswith(self.of + " "):
                gdb.execute(f"show {name}")


installed: list[str] = []
"""The names of all parameters."""


class Parameter(gdb.Parameter):  # type: ignore[misc]
    """A parameter of GDB for a setting; ``take`` is called with each new value."""

    def __init__(self, setting: Setting, take: Callable[[Any], object], about: str, group: int) -> None:
        self.setting = setting
        self.take = take
        self.name = f"dwarfgpu {setting.name}"
        self.__doc__ = about
        self.set_doc = f"Set {setting.help}."
        self.show_doc = f"Show {setting.help}."
        kind, choices = _kind(setting)
        gdb.Parameter.__init__(self, self.name, group, kind, *choices)
        self.before = self.value = setting.default
        installed.append(self.name)

    def get_set_string(self) -> str:
        try:
            with one_line_errors():
                self.take(self.value)
        except gdb.GdbError:
            self.value = self.before
            raise
        self.before = self.value
        return ""

    def get_show_string(self, _text_of_gdb: str) -> str:
        from dwarfgpu.gdbplugin.debugger import AS_IN_GDB, debugger, setting_of_gdb

        name = self.setting.name
        if name in AS_IN_GDB and name not in debugger().chosen:
            return f'"{self.name}" is {self.setting.text(self.setting.read(setting_of_gdb(name)))}, as in GDB.'
        value = MAX_NUMBER if self.value in (None, 0) and self.setting.unlimited else self.value
        return f'"{self.name}" is {self.setting.text(value)}.'


def _kind(setting: Setting) -> tuple[int, tuple[Any, ...]]:
    if setting.choices:
        return gdb.PARAM_ENUM, (setting.choices,)
    if isinstance(setting.default, bool):
        return gdb.PARAM_BOOLEAN, ()
    return (gdb.PARAM_UINTEGER if setting.unlimited else gdb.PARAM_STRING_NOESCAPE), ()


def _choose(name: str, value: Any) -> None:
    """Give a setting of the debugger a value of its own, another than GDB's."""
    from dwarfgpu.gdbplugin.debugger import debugger
    from dwarfgpu.gdbplugin.host import gdb_host

    if name == "caller-registers":
        gdb_host().processes.trust_lists(is_on=value == "listed")
    text = ("off", "on")[value] if isinstance(value, bool) else "unlimited" if value is None else str(value)
    debugger().settings.set(name, text)
    debugger().chosen.add(name)


def _unwind(is_on: bool) -> None:  # noqa: FBT001 (the value of a parameter)
    from dwarfgpu.gdbplugin.unwinder import use

    use(is_on=is_on)


FILTER = Setting(
    "frame-filter",
    "unreadable",
    "which variables of `bt -full' and of MI clients come from dwarfgpu",
    ("unreadable", "all", "off"),
)
ABOUT_FILTER = "off: none.  unreadable: variables that GDB cannot read.  all: all variables."
UNWINDER = Setting("unwinder", False, "whether the frames of waves are found by dwarfgpu")
ABOUT_UNWINDER = """GDB's own unwinders do not know the call frame information of GPU code.

A GDB without support for AMD GPUs ends with an internal error when it reads it; `maint set dwarf unwinders off'
prevents that."""


def install(frame_filter: FrameFilter) -> None:
    """Register the parameters with GDB."""
    chosen = [setting for setting in SETTINGS if setting.name.startswith(SHARED)]
    words = sorted({setting.name.partition(" ")[0] for setting in chosen if " " in setting.name})
    for name in ("", *words):
        for verb in ("set", "show"):
            SettingsPrefix(verb, name)
    for setting in chosen:
        about = f"The default is {setting.text(setting.default)}."
        Parameter(setting, partial(_choose, setting.name), about, gdb.COMMAND_DATA)
    Parameter(FILTER, frame_filter.use, ABOUT_FILTER, gdb.COMMAND_STACK)
    Parameter(UNWINDER, _unwind, ABOUT_UNWINDER, gdb.COMMAND_STACK)
