"""A frame filter, with which ``bt -full`` and GDB/MI show variables that only dwarfgpu can read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import gdb
from gdb.FrameDecorator import FrameDecorator, SymValueWrapper

from dwarfgpu.dwarf_constants import DW_AT_decl_line
from dwarfgpu.errors import DwarfGpuError, UsageError

NAME = "dwarfgpu"
LOCALS = (
    *(gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_LOCAL, gdb.SYMBOL_LOC_REGISTER, gdb.SYMBOL_LOC_STATIC),
    *(gdb.SYMBOL_LOC_COMPUTED, gdb.SYMBOL_LOC_OPTIMIZED_OUT),
)
"""The kinds of symbols that are local variables."""
LISTED = (
    *(gdb.SYMBOL_LOC_ARG, gdb.SYMBOL_LOC_REF_ARG, gdb.SYMBOL_LOC_REGPARM_ADDR, gdb.SYMBOL_LOC_LOCAL),
    *(gdb.SYMBOL_LOC_REGISTER, gdb.SYMBOL_LOC_STATIC, gdb.SYMBOL_LOC_COMPUTED),
)
"""The kinds of symbols that GDB/MI lists. At a parameter of any other kind its loop over parameters does not end."""
AGGREGATES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)
OPTIMIZED_OUT = "<optimized out>"
_VARIABLE = "__dwarfgpu"
DEEPEST = 32
"""How deep a scalar is looked for."""
NO_LOCALS = "No locals."
NO_SYMBOLS = "No symbol table info available."
_MI = re.compile(rb"\0--?(?:i|interpreter)(?:=|\0)mi")
"""The option that makes GDB speak to a program."""
_NAMELESS = (gdb.DUMMY_FRAME, gdb.SIGTRAMP_FRAME)
"""Frames that are calls of no function."""


class Shown:
    """A symbol with its value, or None for a value that GDB reads; GDB's own class differs among versions."""

    def __init__(self, symbol: Any, value: Any = None) -> None:
        self._symbol = symbol
        self._value = value

    def symbol(self) -> Any:
        return self._symbol

    def value(self) -> Any:
        return self._value


class FrameFilter:
    """The filter that GDB asks for the frames it shows."""

    def __init__(self) -> None:
        self.name = NAME
        self.priority = 100
        self.enabled = True
        self.is_of_all = False
        """Whether all variables come from the library, not only those that GDB cannot read."""
        gdb.frame_filters[self.name] = self

    def use(self, mode: str) -> None:
        """Switch to ``off``, ``unreadable`` or ``all``."""
        self.enabled = mode != "off"
        self.is_of_all = mode == "all"

    def filter(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Return frames that know their variables, without one at address 0, which only ends a stack."""
        return (
            Decorated(frame, is_of_all=self.is_of_all)
            for frame in frames
            if frame.inferior_frame().level() == 0 or frame.inferior_frame().pc()
        )


class Decorated(FrameDecorator):  # type: ignore[misc]
    """A frame whose variables come from the library if GDB cannot read them."""

    def __init__(self, base: Any, *, is_of_all: bool) -> None:
        FrameDecorator.__init__(self, base)
        self._is_of_all = is_of_all
        self._frame: Any = None

    def function(self) -> Any:
        """Return the name of the function as without a filter; with one, GDB 13 adds the types of parameters."""
        frame = self.inferior_frame()
        if type(self._base) is not FrameDecorator or frame.type() in _NAMELESS:
            return FrameDecorator.function(self)
        return frame.name() or "??"

    def frame_args(self) -> Any:
        return self._shown(FrameDecorator.frame_args(self))

    def frame_locals(self) -> Any:
        if type(self._base) is not FrameDecorator:  # another filter's
            return self._shown(self._base.frame_locals())
        variables = self._shown(_locals(self.inferior_frame()))
        if not variables and _is_for_people():  # GDB itself says so only where no filter has a say
            gdb.write(f"{NO_SYMBOLS if _block(self.inferior_frame()) is None else NO_LOCALS}\n")
        return variables

    def _shown(self, variables: Iterable[Any] | None) -> list[Any] | None:
        return None if variables is None else [self._one(variable) for variable in variables]

    def _one(self, variable: Any) -> Any:
        symbol = variable.symbol()
        if isinstance(symbol, str) or _has_value(variable):
            return variable
        named = symbol if symbol.addr_class in LISTED else symbol.name
        theirs = self._theirs(symbol)
        if theirs is not None and not self._is_of_all:
            if theirs.is_optimized_out and not (symbol.is_argument and named is symbol and not _has_printer(theirs)):
                return Shown(named, _short(theirs))
            # GDB reads it again, also as it was at the call, but it reads arrays with bounds of their own wrongly
            return variable if named is symbol and not _is_dynamic(symbol) else Shown(named, theirs)
        try:
            return Shown(named, _short(self._value(symbol)))
        except (DwarfGpuError, gdb.error) as error:
            # at a variable that it cannot read GDB would give up all frames that follow
            return Shown(named, self._text(symbol, error) if theirs is None else _short(theirs))

    def _theirs(self, symbol: Any) -> Any:
        """Return the variable as GDB reads it; None if GDB cannot, or takes a wave for a host thread."""
        # GDB takes the code for that of another machine if a stub shows it waves
        from dwarfgpu.machines.gdb.process import is_wave

        thread = gdb.selected_thread()
        name = str(gdb.selected_frame().architecture().name())
        if thread is not None and not name.startswith("amdgcn") and is_wave(thread):
            return None
        frame, selected = self.inferior_frame(), gdb.selected_frame()
        try:
            if _is_dynamic(symbol):  # GDB computes its bounds in the selected frame
                frame.select()
            value = frame.read_var(symbol)
            if not value.is_optimized_out:
                value.fetch_lazy()
        except (gdb.error, ValueError):
            return None
        finally:
            selected.select()
        return value

    def _variable(self, symbol: Any) -> Any:
        from dwarfgpu.gdbplugin.host import gdb_host

        if self._frame is None:
            self._frame = gdb_host().frame_of(self.inferior_frame())
        named = [variable for variable in self._frame.variables() if variable.name == symbol.name]
        of_line = [variable for variable in named if _line(variable) in (None, symbol.line)]
        if not named:
            raise UsageError(f"dwarfgpu finds no variable `{symbol.name}` in this frame")
        return (of_line or named)[0]

    def _value(self, symbol: Any) -> Any:
        from dwarfgpu.gdbplugin.values import value_of

        value = value_of(self._variable(symbol), self._frame, self.inferior_frame())
        if not value.is_optimized_out:
            value.fetch_lazy()  # an error is raised here, and not when GDB shows the value
        return value

    def _text(self, symbol: Any, error: Exception) -> str:
        """Return the text for a variable that cannot be a value of GDB: its value, or the reason for none."""
        from dwarfgpu.program.frames.answers import answer
        from dwarfgpu.render.values import value_text

        try:
            variable = self._variable(symbol)
            lane = self._frame.selected_lane
            (lane_answer,) = answer(variable, symbol.name, None if lane is None else [lane]).by_lane
            if lane_answer.value is not None:
                return value_text(lane_answer.value)
            return f"<{error if lane_answer.reason is None else lane_answer.reason.message}>"
        except DwarfGpuError as error_of_text:
            return f"<{error_of_text.message}>"


def _block(frame: Any) -> Any:
    """Return the innermost block of a frame; None if there is no debugging information."""
    try:
        return frame.block()
    except RuntimeError:
        return None


def _locals(frame: Any) -> Iterator[Any]:
    """Yield the local variables as in `info locals`; a constant has its value, which GDB would not show."""
    block = _block(frame)
    while block is not None and not (block.is_global or block.is_static):
        for symbol in block:
            if symbol.is_argument or symbol.addr_class not in LOCALS:
                continue
            if symbol.addr_class == gdb.SYMBOL_LOC_CONST:
                yield Shown(symbol.name, symbol.value())
            else:
                yield Shown(symbol)
        block = None if block.function is not None else block.superblock


def _short(value: Any) -> Any:
    """Return a value, or a scalar of one that is optimized out as a whole.

    Of the whole GDB would write all members, or run a pretty-printer on it.
    """
    if not value.is_optimized_out or value.type.strip_typedefs().code not in AGGREGATES or not _is_gone(value):
        return value
    scalar = _scalar(value)
    return OPTIMIZED_OUT if scalar is None else scalar


def _has_printer(value: Any) -> bool:
    """Whether a pretty-printer shows a value; of parameters without one GDB writes `...` where they have members."""
    try:
        return gdb.default_visualizer(value) is not None
    except gdb.error:
        return True


def _is_gone(value: Any) -> bool:
    """Whether all of a value is optimized out; GDB's property says it of values with any such part."""
    gdb.set_convenience_variable(_VARIABLE, value)
    try:
        return bool(gdb.execute(f"output/r ${_VARIABLE}", to_string=True) == OPTIMIZED_OUT)
    except gdb.error:
        return False
    finally:
        gdb.set_convenience_variable(_VARIABLE, None)


def _scalar(value: Any, depth: int = 0) -> Any:
    """Return the first scalar in a value; None without any."""
    kind = value.type.strip_typedefs()
    if kind.code not in AGGREGATES:
        return value
    if depth > DEEPEST:
        return None
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        return _scalar(value[low], depth + 1) if low <= high else None
    members = (value[field] for field in kind.fields() if hasattr(field, "bitpos") and field.type.sizeof)
    return next((scalar for member in members if (scalar := _scalar(member, depth + 1)) is not None), None)


def _is_for_people() -> bool:
    """Whether a command that people type asks for the local variables, and no program or other filter."""
    if _speaks_mi():
        return False
    frame = sys._getframe(1).f_back  # noqa: SLF001 (nothing else says who asks)
    if frame is not None and frame.f_code.co_name == "frame_locals":
        return False
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("gdb.dap"):
            return False
        frame = frame.f_back
    return True


@cache
def _speaks_mi() -> bool:
    """Whether GDB was started for a client of GDB/MI."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return _MI.search(file.read()) is not None
    except OSError:
        return False


def _has_value(variable: Any) -> bool:
    """Whether another filter has set a value; GDB's own class has none, or since GDB 14 the one GDB reads."""
    if type(variable) is SymValueWrapper:
        return getattr(variable, "val", None) is not None
    return variable.value() is not None


def _is_dynamic(symbol: Any) -> bool:
    return symbol.type is not None and bool(symbol.type.dynamic)


def _line(variable: Any) -> int | None:
    line = variable.die.find_number(DW_AT_decl_line)
    return None if line is None else int(line.value)
