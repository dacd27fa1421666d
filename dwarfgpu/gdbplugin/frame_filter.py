"""A frame filter: ``bt -full`` and clients of GDB/MI show what GDB itself cannot read as dwarfgpu has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb
from gdb.FrameDecorator import FrameDecorator, SymValueWrapper

from dwarfgpu.dwarf_constants import DW_AT_decl_line
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = "dwarfgpu"
LOCALS = (
    *(gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_LOCAL, gdb.SYMBOL_LOC_REGISTER, gdb.SYMBOL_LOC_STATIC),
    *(gdb.SYMBOL_LOC_COMPUTED, gdb.SYMBOL_LOC_OPTIMIZED_OUT),
)
"""How the symbols are described that are local variables."""
_NAMELESS = (gdb.DUMMY_FRAME, gdb.SIGTRAMP_FRAME)
"""Frames that are calls of no function."""


class Shown:
    """What GDB shows of a symbol: a value, or (None) what it reads itself. Its own class differs among versions."""

    def __init__(self, symbol: Any, value: Any = None) -> None:
        self._symbol = symbol
        self._value = value

    def symbol(self) -> Any:
        """The symbol, or a name."""
        return self._symbol

    def value(self) -> Any:
        """The value."""
        return self._value


class FrameFilter:
    """GDB asks it for the frames that it shows."""

    def __init__(self) -> None:
        self.name = NAME
        self.priority = 100
        self.enabled = True
        self.is_of_all = False
        """Whether all variables come from the library, not only those that GDB cannot read."""
        gdb.frame_filters[self.name] = self

    def use(self, mode: str) -> None:
        """``off``, ``unreadable`` or ``all``."""
        self.enabled = mode != "off"
        self.is_of_all = mode == "all"

    def filter(self, frames: Iterable[Any]) -> Iterator[Any]:
        """The frames, each of which knows its variables. What is at address 0 only ends the stack of a wave."""
        return (
            Decorated(frame, is_of_all=self.is_of_all)
            for frame in frames
            if frame.inferior_frame().level() == 0 or frame.inferior_frame().pc()
        )


class Decorated(FrameDecorator):  # type: ignore[misc]
    """A frame whose variables come from the library where GDB has none."""

    def __init__(self, base: Any, *, is_of_all: bool) -> None:
        FrameDecorator.__init__(self, base)
        self._is_of_all = is_of_all
        self._frame: Any = None

    def function(self) -> Any:
        """Its name, as GDB shows it without a filter: with one the types of parameters are a part of it in GDB 13."""
        frame = self.inferior_frame()
        if type(self._base) is not FrameDecorator or frame.type() in _NAMELESS:
            return FrameDecorator.function(self)
        return frame.name() or "??"

    def frame_args(self) -> Any:
        """Its parameters."""
        return self._shown(FrameDecorator.frame_args(self))

    def frame_locals(self) -> Any:
        """Its local variables."""
        if type(self._base) is not FrameDecorator:  # another filter's
            return self._shown(self._base.frame_locals())
        return self._shown(_locals(self.inferior_frame()))

    def _shown(self, variables: Iterable[Any] | None) -> list[Any] | None:
        return None if variables is None else [self._one(each) for each in variables]

    def _one(self, variable: Any) -> Any:
        symbol = variable.symbol()
        if isinstance(symbol, str) or _has_value(variable):
            return variable
        theirs = self._theirs(symbol)
        if theirs is not None and not self._is_of_all:
            # GDB reads it again, and what it was at the call; but arrays with bounds of their own it reads wrongly
            return Shown(symbol, theirs) if _is_dynamic(symbol) else variable
        try:
            return Shown(symbol, self._value(symbol))
        except (DwarfGpuError, gdb.error) as error:
            # with a variable that it cannot read GDB would give up all frames that follow
            return Shown(symbol, self._text(symbol, error) if theirs is None else theirs)

    def _theirs(self, symbol: Any) -> Any:
        """The variable as GDB has it; None if GDB cannot read it, or would read the registers of another machine."""
        if _is_foreign():
            return None
        frame, selected = self.inferior_frame(), gdb.selected_frame()
        try:
            if _is_dynamic(symbol):  # GDB computes its bounds in the selected frame
                frame.select()
            found = frame.read_var(symbol)
            if not found.is_optimized_out:
                found.fetch_lazy()
        except (gdb.error, ValueError):
            return None
        finally:
            selected.select()
        return found

    def _variable(self, symbol: Any) -> Any:
        from dwarfgpu.gdbplugin.host import gdb_host

        if self._frame is None:
            self._frame = gdb_host().frame_of(self.inferior_frame())
        named = [each for each in self._frame.variables() if each.name == symbol.name]
        of_line = [each for each in named if _line(each) in (None, symbol.line)]
        if not named:
            raise UsageError(f"dwarfgpu finds no {symbol.name}")
        return (of_line or named)[0]

    def _value(self, symbol: Any) -> Any:
        from dwarfgpu.gdbplugin.values import value_of

        found = value_of(self._variable(symbol), self._frame, self.inferior_frame())
        if not found.is_optimized_out:
            found.fetch_lazy()  # what cannot be read is known here, and not when GDB shows it
        return found

    def _text(self, symbol: Any, error: Exception) -> str:
        """What there is to say of a variable that cannot be a value of GDB: the value as text, or why there is none."""
        from dwarfgpu.program.variables.answers import answer
        from dwarfgpu.render.values import value_text

        try:
            variable = self._variable(symbol)
            lane = self._frame.selected_lane
            (one,) = answer(variable, symbol.name, None if lane is None else [lane]).by_lane
            if one.value is not None:
                return value_text(one.value)
            return f"<{error if one.reason is None else one.reason.message}>"
        except DwarfGpuError as other:
            return f"<{other.message}>"


def _locals(frame: Any) -> Iterator[Any]:
    """The local variables as `info locals` lists them. For a symbol that is a constant GDB would show nothing."""
    try:
        block = frame.block()
    except RuntimeError:  # there is no debugging information
        block = None
    while block is not None and not (block.is_global or block.is_static):
        for symbol in block:
            if symbol.is_argument or symbol.addr_class not in LOCALS:
                continue
            if symbol.addr_class == gdb.SYMBOL_LOC_CONST:
                yield Shown(symbol.name, symbol.value())
            else:
                yield Shown(symbol)
        block = None if block.function is not None else block.superblock


def _has_value(variable: Any) -> bool:
    """Whether another filter has given it one. GDB's own class has none, or since GDB 14 the one that GDB reads."""
    if type(variable) is SymValueWrapper:
        return getattr(variable, "val", None) is not None
    return variable.value() is not None


def _is_dynamic(symbol: Any) -> bool:
    return symbol.type is not None and bool(symbol.type.dynamic)


def _line(variable: Any) -> int | None:
    found = variable.die.find_number(DW_AT_decl_line)
    return None if found is None else int(found.value)


def _is_foreign() -> bool:
    """Whether GDB takes the code for that of another machine, as where a stub shows it waves."""
    from dwarfgpu.backends.gdb.process import is_wave

    thread = gdb.selected_thread()
    name = str(gdb.selected_frame().architecture().name())
    return thread is not None and not name.startswith("amdgcn") and is_wave(thread)
