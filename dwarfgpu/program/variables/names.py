"""What a name means at a place of a program: look-up from the inside out, and by scopes that are said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries import attributes as at
from dwarfgpu.objfile.entries.scopes import NAMED_SCOPES, NAMESPACE, qualified_name, scopes_of, split_name
from dwarfgpu.objfile.indexes.entries import KIND_OF, is_static
from dwarfgpu.program.types.model import Enumeration, Struct
from dwarfgpu.program.types.naming import canonical, is_cplus
from dwarfgpu.program.variables import scopes
from dwarfgpu.program.variables.reasons import MISSING, unavailable
from dwarfgpu.program.variables.variable import STATIC, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.machines.loaded import LoadedCode
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.state import State

BASE, ENUMERATION, ENUMERATOR = 0x24, 0x04, 0x28
_ENUM_CLASS = 0x6D
_CLASSES = frozenset((0x02, 0x13, 0x17))
MAX_SCOPES = 64


class Names:
    """The names of a program. What is global is found once."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._enumerators: dict[Unit, dict[str, tuple[Die, Die]]] = {}
        self._base_types: dict[Unit, dict[str, Die]] = {}
        self._types: dict[tuple[str, str, Unit | None], Type | None] = {}

    # --- Variables ------------------------------------------------------------------------------------------------

    def variable(self, frame: Frame, parts: tuple[str, ...], file: str | None = None) -> Variable | None:
        """The variable with a name, whose parts are its scopes; an empty first part is the outermost one."""
        if file is not None:
            return self._of_file(frame, parts, file)
        if len(parts) == 1:
            local = next((each for each in frame.variables() if each.name == parts[0]), None)
            if local is not None:
                return local
        found = next(self._entries(frame, parts, "variable"), None)
        if found is not None:
            code, die = found
            return Variable(frame, die, code, STATIC)
        return self._of_function(frame, parts) if len(parts) > 1 else None

    def statics(self, frame: Frame, unit: Unit) -> Iterator[Variable]:
        """The variables of a unit that belong to no function, in the order of the source."""
        code = self.state.code_of(unit, frame.code)
        waiting: list[Iterator[Die]] = [unit.root.children()]
        while waiting:
            for die in waiting[-1]:
                if die.tag in (scopes.VARIABLE, scopes.CONSTANT) and die.name and not die.is_declaration:
                    yield Variable(frame, die, code, STATIC)
                elif die.tag == NAMESPACE and len(waiting) < MAX_SCOPES:
                    waiting.append(die.children())
                    break
            else:
                waiting.pop()

    def _entries(self, frame: Frame, parts: tuple[str, ...], kind: Any) -> Iterator[tuple[LoadedCode, Die]]:
        """The entries with a name: those of the scopes around the function first, of its unit before all others."""
        for prefix in self._prefixes(frame, parts):
            name = "::".join((*prefix, *parts))
            found = [*self._find(frame, name, kind)]
            if not prefix and len({qualified_name(die) for _code, die in found}) > 1:
                return  # seen from nowhere here, and not the only one
            found.sort(key=lambda each: (each[1].unit is not frame.unit, each[0] is not frame.code))
            yield from found

    def _find(self, frame: Frame, name: str, kind: Any) -> Iterator[tuple[LoadedCode, Die]]:
        for code in self.state.loaded.codes:
            if not code.file.has_dwarf:
                continue
            for entry in code.file.dwarf.index.find(name, (kind,)):
                if kind == "variable" and _is_of_function(entry.die):
                    continue
                yield code, entry.die

    @staticmethod
    def _prefixes(frame: Frame, parts: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
        """The scopes that a name may be in, as the function sees it: innermost first, the outermost last.

        Behind them come all scopes of the program: a name that only one thing has needs no scope.
        """
        if parts[0] == "":
            return ((),)
        around = [] if frame.function is None else [name for name, _ in scopes_of(frame.function)]
        return [("", *around[:count]) for count in range(len(around), -1, -1)] + [()]

    def _of_file(self, frame: Frame, parts: tuple[str, ...], file: str) -> Variable | None:
        """A variable of a source file: ``'file.c'::x``."""
        for code, unit in self._units():
            if not _is_file(unit.name, file):
                continue
            for each in self.statics(frame, unit):
                if each.name == parts[-1] and (len(parts) == 1 or each.qualified_name == "::".join(parts)):
                    return each
            if len(parts) > 1:
                found = self._of_function(frame, parts, unit)
                if found is not None:
                    return found
            del code
        return None

    def _of_function(self, frame: Frame, parts: tuple[str, ...], unit: Unit | None = None) -> Variable | None:
        """A variable of a function, ``fn::x``: of a frame of it where there is one, else one that is static."""
        *owner, name = parts
        text = "::".join(owner)
        for other in self.frames_of(frame):
            if other.name is not None and (other.name == text or split_name(other.name)[-1] == text):
                found = next((each for each in other.variables() if each.name == name), None)
                if found is not None:
                    return found
        elsewhere = False
        for code, die in self._find(frame, text, "function"):
            if unit is not None and die.unit is not unit:
                continue
            for each, _depth in die.walk():
                if each.tag in scopes.DECLARED and each.name == name:
                    if _is_static(each):
                        return Variable(frame, each, code, STATIC)
                    elsewhere = True
        if elsewhere:
            raise unavailable(MISSING, f"no frame of {text} is executing, so its {name} is nowhere")
        return None

    @staticmethod
    def frames_of(frame: Frame) -> Iterable[Frame]:
        """The frames that a name of a function can mean, from the frame that asks outwards."""
        wave = frame.wave
        return () if wave is None else (each for each in wave if each.number >= frame.number)

    def _units(self) -> Iterator[tuple[LoadedCode, Unit]]:
        for code in self.state.loaded.codes:
            if code.file.has_dwarf:
                for unit in code.file.dwarf.compile_units():
                    yield code, unit

    # --- Functions ------------------------------------------------------------------------------------------------

    def function(self, frame: Frame, parts: tuple[str, ...]) -> tuple[LoadedCode, Die] | None:
        """The function with a name that has code."""
        return next((each for each in self._entries(frame, parts, "function") if each[1].ranges()), None)

    # --- Enumerators ----------------------------------------------------------------------------------------------

    def enumerator(self, frame: Frame, parts: tuple[str, ...]) -> tuple[Die, Die] | None:
        """The enumeration and the enumerator that a name means."""
        name = "::".join(part for part in parts if part)
        for block in frame.blocks:
            for die in block.children():
                if die.tag == ENUMERATION:
                    found = next((each for each in die.children() if each.name == name), None)
                    if found is not None:
                        return die, found
        units = [] if frame.unit is None else [frame.unit]
        units += [unit for _, unit in self._units() if unit is not frame.unit]
        for prefix in self._prefixes(frame, parts):
            whole = "::".join(part for part in (*prefix, *parts) if part)
            for unit in units:
                known = self._enumerators_of(unit).get(whole)
                if known is not None:
                    return known
        return None

    def _enumerators_of(self, unit: Unit) -> dict[str, tuple[Die, Die]]:
        found = self._enumerators.get(unit)
        if found is None:
            found = self._enumerators[unit] = {}
            try:
                _collect(unit.root, "", found, 0)
            except DwarfGpuError as error:
                unit.dwarf.note(error)
        return found

    # --- Types ----------------------------------------------------------------------------------------------------

    def type(self, frame: Frame, name: str, keyword: str = "") -> Type | None:
        """The type with a name; after ``struct`` or ``enum`` the one with that tag."""
        for block in frame.blocks:
            for die in block.children():
                if KIND_OF.get(die.tag) == "type" and die.name == name:
                    found = self.state.types.of(die)
                    if _fits(found, keyword, is_cplus(die.unit)):
                        return found
        key = (name, keyword, frame.unit)
        if key not in self._types:
            self._types[key] = self._type(frame, name, keyword)
        return self._types[key]

    def _type(self, frame: Frame, name: str, keyword: str) -> Type | None:
        from dwarfgpu.program.source.type_parser import ARITHMETIC

        if all(word in ARITHMETIC for word in name.split()):
            return self._base(frame, name)
        declared = None
        for _code, die in self._entries(frame, split_name(name), "type"):
            found = self.state.types.of(die)
            if not _fits(found, keyword, is_cplus(die.unit)):
                continue
            if not getattr(found, "is_incomplete", False):
                return found
            declared = found
        return declared

    def _base(self, frame: Frame, name: str) -> Type | None:
        """A base type: a compiler may call it ``long int`` where it is written ``long``."""
        units = [frame.unit] if frame.unit is not None else [unit for _, unit in self._units()]
        for unit in units:
            known = self._base_types.get(unit)
            if known is None:
                known = self._base_types[unit] = {
                    canonical(die.name or ""): die for die in unit.root.children() if die.tag == BASE
                }
            if name in known:
                return self.state.types.of(known[name])
        return None


def _fits(found: Type, keyword: str, cplus: bool) -> bool:  # noqa: FBT001
    """Whether a type can be meant: in C a structure needs its keyword, and a keyword needs a structure."""
    is_tagged = isinstance(found, (Struct, Enumeration))
    if not keyword:
        return cplus or not is_tagged
    if not is_tagged:
        return False
    return isinstance(found, Enumeration) is (keyword == "enum")


def _collect(owner: Die, prefix: str, found: dict[str, tuple[Die, Die]], depth: int) -> None:
    """The enumerators of a scope by their qualified names."""
    for die in owner.children():
        if die.tag == ENUMERATION:
            name = die.name
            is_class = die.number(_ENUM_CLASS) is not None
            for each in die.children():
                if each.tag != ENUMERATOR:
                    continue
                own = each.name or ""
                if name:
                    found.setdefault(f"{prefix}{name}::{own}", (die, each))
                if not is_class:
                    found.setdefault(f"{prefix}{own}", (die, each))
        elif die.tag in NAMED_SCOPES and depth < MAX_SCOPES and die.has_children:
            name = die.name
            inner = f"{prefix}{name}::" if name and (die.tag == NAMESPACE or die.tag in _CLASSES) else prefix
            _collect(die, inner, found, depth + 1)


def _is_static(die: Die) -> bool:
    """Whether a variable of a function is there without a frame of it."""
    location = die.find_number(at.LOCATION)
    if location is None:
        return die.find_number(at.CONST_VALUE) is not None
    return location.value_class in ("exprloc", "block") and is_static(location.block().data)


def _is_of_function(die: Die) -> bool:
    """Whether a variable is local to a function, so that only the function's name leads to it from outside."""
    return any(owner.tag in (0x2E, 0x1D, 0x0B) for owner in die.ancestors())


def _is_file(path: str | None, wanted: str) -> bool:
    """Whether a name means a source file: its path, or the end of it."""
    return path is not None and (path == wanted or path.endswith(f"/{wanted}"))
