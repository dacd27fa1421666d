"""The names of a program: look-up from the inside out, and by explicit scopes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, noting
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.indexes.name_index import KIND_OF
from dwarfgpu.objfile.info.scopes import NAMED_SCOPES, is_local, qualified_name, scopes_of, split_name
from dwarfgpu.program.code import scopes
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.frames.reasons import MISSING, unavailable
from dwarfgpu.program.frames.variable import CONSTANT, STATIC, Variable, variables_of
from dwarfgpu.program.language.syntax import MAX_PARTS
from dwarfgpu.program.language.tokens import split_at_commas
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import Enumeration, Method, StaticMember, Struct, Type, member_named, methods_named
from dwarfgpu.program.types.reader import canonical, is_cplus, object_qualifiers, spellings

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.name_index import Kind
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.program.frames.frame import Frame

    Meaning: TypeAlias = "Variable | NamedEnumerator | NamedFunction"


_CLASSES = frozenset((dw.DW_TAG_class_type, dw.DW_TAG_structure_type, dw.DW_TAG_union_type))
MAX_SCOPES = 64
_SIGNATURE = re.compile(r"(.*?[^\s(:])\s*\((?!anonymous)([^()]*)\)\s*((?:const|volatile|\s)*)")
"""A function with the types of its parameters, and the qualifiers of its object."""


def _template_argument(frame: Frame, name: str) -> Variable | None:
    """Return the value that a function, or a class around it, was made for from a template (DWARF 5, 2.23)."""
    if frame.function is None:
        return None
    for origin in frame.function.origins():
        for owner in (origin, *origin.ancestors()):
            for die in owner.children() if owner.tag == dw.DW_TAG_subprogram or owner.tag in _CLASSES else ():
                if die.tag == dw.DW_TAG_template_value_parameter and die.name == name:
                    return Variable(frame, die, frame.code_of(die.unit), CONSTANT)
    return None


@frozen
class NamedEnumerator:
    """An enumerator, and the enumeration that it is one of."""

    enumeration: Die
    die: Die


@frozen
class NamedFunction:
    """A function, or one of the entry points of one, with the file that it is in."""

    code: LoadedCode
    address: int
    """In the file."""
    die: Die


class Names:
    """The names of a program. Global names are searched once."""

    def __init__(self, state: Execution) -> None:
        self.state = state
        self._imports: dict[Unit, dict[Path, Imported]] = {}
        self._enumerators: dict[Unit, dict[str, NamedEnumerator]] = {}
        self._local_enumerators: dict[Die, dict[str, NamedEnumerator]] = {}
        self._base_types: dict[Unit, dict[str, Die]] = {}
        self._types: dict[tuple[str, str, Unit | None, Die | None], Type | None] = {}

    # --- Look-up --------------------------------------------------------------------------------------------------

    def local(self, frame: Frame, name: str) -> Variable | NamedEnumerator | None:
        """Return what a name means in the blocks around the place."""
        variable = next((variable for variable in frame.variables() if variable.name == name), None)
        if variable is not None:
            return variable
        enumerator = next(filter(None, (self._enumerators_in(block).get(name) for block in frame.blocks)), None)
        return enumerator or _template_argument(frame, name)

    def outer(self, frame: Frame, parts: tuple[str, ...], file: str | None = None) -> Meaning | None:
        """Return what a name means outside of the blocks; an empty first part is the outermost scope.

        The nearest scope wins: those around the function with their imports, of its unit before all others. All other
        scopes of the program come last: a name that is unique in the program needs no scope.
        """
        if file is not None:
            return self._of_file(frame, parts, file)
        for path in self._paths(frame, parts):
            meaning = self._chosen(frame, self._at(frame, path, ("variable", "function")))
            if meaning is None and frame.unit is not None:
                meaning = self._enumerators_of(frame.unit).get("::".join(path))
            if meaning is not None:
                return meaning
        alone = self._alone(frame, parts, ("variable", "function"))
        return (
            self._chosen(frame, alone)
            or self._in_other_units(frame, parts)
            or self._of_class(frame, parts)
            or self._of_function(frame, parts)
        )

    def candidates(self, name: str) -> list[str]:
        """Return the qualified names of all variables and functions of the program that have a name."""
        names = {qualified_name(die) or "" for _code, die in self.find(name, ("variable", "function"))}
        return sorted(names - {""})

    def files_of(self, name: str) -> list[str]:
        """Return the source files with a variable or function of a name, without their folders."""
        paths = {die.unit.name or "" for _code, die in self.find(name, ("variable", "function"))}
        return sorted({path.rpartition("/")[2] for path in paths} - {""})

    def _chosen(self, frame: Frame, entries: Iterable[tuple[LoadedCode, Die]]) -> Meaning | None:
        for code, die in entries:
            if KIND_OF.get(die.tag) == "variable":
                return Variable(frame, die, code, STATIC)
            if (address := address_of(die)) is not None:
                return NamedFunction(code, address, die)
        return None

    def _paths(self, frame: Frame, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Return the qualified names that a name in the function may mean, the nearest first."""
        if parts[0] == "":
            return self._imported_paths(frame.unit, (), (), parts[1:])
        around = () if frame.function is None else tuple(name for name, _ in scopes_of(frame.function))
        return self._imported_paths(frame.unit, frame.blocks, around, parts)

    def _at(self, frame: Frame, path: tuple[str, ...], kinds: Any) -> list[tuple[LoadedCode, Die]]:
        """Return the entries with a qualified name, those of the unit of the function first."""
        entries = self.find("::".join(("", *path)), kinds)
        if "type" in kinds:  # one of another function is not in the outermost scope
            entries = (entry for entry in entries if not is_local(entry[1]))
        return _nearest_first(frame, entries)

    def _alone(self, frame: Frame, parts: tuple[str, ...], kinds: Any) -> list[tuple[LoadedCode, Die]]:
        """Return the entries that a name may mean without its scopes, if they are all one thing."""
        entries = [] if parts[0] == "" else [*self.find("::".join(parts), kinds)]
        if len({qualified_name(die) for _code, die in entries}) > 1:
            return []  # the name alone does not tell which is meant
        return _nearest_first(frame, entries)

    def find(self, name: str, kinds: Any) -> Iterator[tuple[LoadedCode, Die]]:
        """Yield the entries of the index with a name, each with its file; variables of functions are left out.

        A name with the types of parameters, such as ``N::over(double)``, is that of the function that has them.
        """
        signature = _SIGNATURE.fullmatch(name)
        if signature is not None and "function" in kinds:
            wanted = _normal(signature[2]), " ".join(signature[3].split())
            for code, die in self.find(signature[1], ("function",)):
                if self._signature(die) == wanted:
                    yield code, die
            return
        for code in self.state.loaded.described():
            for entry in code.file.dwarf.index.find(name, kinds):
                if entry.kind != "variable" or not is_local(entry.die):
                    yield code, entry.die

    def instances(self, name: str) -> Iterator[tuple[LoadedCode, Die]]:
        """Yield the functions made of a template that has a name, as GDB does for a name without arguments."""
        *owner, last = split_name(name)
        kinds: tuple[Kind, ...] = ("function",)
        for code in self.state.loaded.described() if last and "<" not in last else ():
            for instance in code.file.dwarf.index.names(f"{last}<", kinds):
                yield from self.find("::".join((*owner, instance)), kinds)

    def _signature(self, die: Die) -> tuple[tuple[str, ...], str]:
        parameters = [child for child in die.children() if child.tag == dw.DW_TAG_formal_parameter]
        artificial = [child for child in parameters if (flag := child.find_number(dw.DW_AT_artificial)) and flag.flag()]
        types = [self.state.types.type_of(child) for child in parameters if child not in artificial]
        qualifiers = object_qualifiers(self.state.types.type_of(artificial[0])) if artificial else ()
        return _normal(", ".join(type_text(each, is_cplus=True) for each in types)), " ".join(qualifiers)

    def _of_class(self, frame: Frame, parts: tuple[str, ...]) -> Meaning | None:
        """Return a static member or a member function of a class, ``A::x``, which a base may have."""
        if len(parts) < 2 or parts[0] == "":
            return None
        owner = self.type(frame, "::".join(parts[:-1]))
        member = None if owner is None else member_named(owner, parts[-1])
        if isinstance(member, StaticMember):
            return Variable(frame, member.die, frame.code_of(member.die.unit), STATIC)
        found = [] if owner is None else methods_named(owner, parts[-1])
        return self.method(found[0]) if len(found) == 1 else None

    def method(self, method: Method) -> NamedFunction | None:
        """Return a member function that has code."""
        name = None if method.die is None else qualified_name(method.die)
        for code, die in () if name is None else self.find(f"::{name}", ("function",)):
            if method.die in (die, *die.origins()) and (address := address_of(die)) is not None:
                return NamedFunction(code, address, die)
        return None

    def _in_other_units(self, frame: Frame, parts: tuple[str, ...]) -> Meaning | None:
        """Return what a name means in other units: an enumerator, and for a frame without a unit an import."""
        for _code, unit in self.state.loaded.compile_units():
            if unit is frame.unit:
                continue
            meaning: Meaning | None
            paths = self._paths(frame, parts)
            if frame.unit is None:
                paths = self._imported_paths(unit, (), (), parts[parts[0] == "" :])
            for path in paths:
                meaning = self._enumerators_of(unit).get("::".join(path))
                if meaning is None and frame.unit is None and self._imports_of(unit):
                    meaning = self._chosen(frame, self._at(frame, path, ("variable", "function")))
                if meaning is not None:
                    return meaning
        return None

    # --- Variables ------------------------------------------------------------------------------------------------

    def statics(self, frame: Frame, unit: Unit) -> Iterator[Variable]:
        """Yield the variables of a unit that belong to no function, in the order of the source."""
        code = self.state.code_of(unit, frame.code)
        waiting: list[Iterator[Die]] = [unit.root.children()]
        while waiting:
            for die in waiting[-1]:
                if die.tag in (dw.DW_TAG_variable, dw.DW_TAG_constant) and die.name and not die.is_declaration:
                    yield Variable(frame, die, code, STATIC)
                elif die.tag == dw.DW_TAG_namespace and len(waiting) < MAX_SCOPES:
                    waiting.append(die.children())
                    break
            else:
                waiting.pop()

    def _of_file(self, frame: Frame, parts: tuple[str, ...], file: str) -> Meaning | None:
        """Return a variable or function of a source file: ``'file.c'::x``."""
        for code, unit in self.state.loaded.compile_units():
            if unit.name is None or not f"/{unit.name}".endswith(f"/{file}"):  # the path, or the end of it
                continue
            for variable in self.statics(frame, unit):
                if variable.name == parts[-1] and (len(parts) == 1 or variable.qualified_name == "::".join(parts)):
                    return variable
            if len(parts) > 1:
                local = self._of_function(frame, parts, unit)
                if local is not None:
                    return local
            for _code, die in self.find("::".join(parts), ("function",)):
                if die.unit is unit and (address := address_of(die)) is not None:
                    return NamedFunction(code, address, die)
        return None

    def _of_function(self, frame: Frame, parts: tuple[str, ...], unit: Unit | None = None) -> Variable | None:
        """Return a variable of a function, ``fn::x``: of a frame of the function, else a static one."""
        *owner, name = parts
        text = "::".join(owner)
        if not text:
            return None
        stack = frame.stack  # that of many waves has callers only for each by itself
        for other in () if stack is None else (outer for outer in stack.wave_stack if outer.number >= frame.number):
            if any(function_name == text or split_name(function_name)[-1] == text for function_name in other.names):
                variable = next((variable for variable in other.variables() if variable.name == name), None)
                if variable is not None:
                    return variable
        elsewhere = None
        for code, die in self.find(text, ("function",)):
            if unit is not None and die.unit is not unit:
                continue
            for entry, _depth in die.walk():
                if entry.tag in scopes.DECLARED and entry.name == name:
                    if scopes.is_static(entry):
                        return Variable(frame, entry, code, STATIC)
                    elsewhere = text
                    if is_body(die.linkage_name):
                        elsewhere = f"the body of {text}, where `break {text}` stops,"
        if elsewhere:
            raise unavailable(MISSING, f"{elsewhere} is not on the call stack, so its {name} has no location")
        return None

    # --- Enumerators ----------------------------------------------------------------------------------------------

    def _enumerators_of(self, unit: Unit) -> dict[str, NamedEnumerator]:
        enumerators = self._enumerators.get(unit)
        if enumerators is None:
            enumerators = self._enumerators[unit] = {}
            with noting(unit.dwarf.note):
                _collect(unit.root, "", enumerators, 0)
        return enumerators

    def _enumerators_in(self, block: Die) -> dict[str, NamedEnumerator]:
        enumerators = self._local_enumerators.get(block)
        if enumerators is None:
            enumerators = self._local_enumerators[block] = {}
            for die in block.children():
                if die.tag == dw.DW_TAG_enumeration_type:
                    for enumerator in die.children():
                        enumerators.setdefault(enumerator.name or "", NamedEnumerator(die, enumerator))
        return enumerators

    # --- Imported names ----------------------------------------------------------------------------------------------

    def _imports_of(self, unit: Unit) -> dict[Path, Imported]:
        """Return the imports of the namespaces of a unit, by their names; ``()`` is the outermost scope."""
        imports = self._imports.get(unit)
        if imports is None:
            imports = self._imports[unit] = {}
            if _may_import(unit):
                with noting(unit.dwarf.note):
                    _collect_imports(unit.root, (), imports)
        return imports

    def _imported_paths(self, unit: Unit | None, blocks: Iterable[Die], around: Path, parts: Path) -> Iterator[Path]:
        """Yield the qualified names that a name in a function can mean, nearest first; some may name nothing.

        ``blocks`` are the blocks around the place, innermost first, and ``around`` the scopes of the function. What a
        directive makes visible counts as if it were in the nearest namespace around both it and the one that it names
        (C++, [namespace.udir]).
        """
        if len(parts) > MAX_PARTS:
            return
        known = {} if unit is None else self._imports_of(unit)
        directives: list[tuple[int, Path]] = []
        if unit is not None and _may_import(unit):
            for block in blocks:
                local = Imported({}, [])
                for owner in block.origins():
                    with noting(owner.unit.dwarf.note):
                        for die in owner.children():
                            if die.tag in _IMPORTS:
                                _add(die, local)
                for target in local.declarations.get(parts[0], ()):
                    yield from self._behind(known, target, parts[1:])
                directives += [(_shared(around, target), target) for target in local.directives]
        for count in range(len(around), -1, -1):
            scope = around[:count]
            directives += [(_shared(scope, target), target) for target in known.get(scope, NOTHING).directives]
        for count in range(len(around), -1, -1):
            seen: set[Path] = set()
            yield from self._within(known, around[:count], parts, seen, directs=False)
            for level, target in directives:
                if level == count:
                    yield from self._within(known, target, parts, seen)

    def _within(
        self, known: dict[Path, Imported], scope: Path, parts: Path, seen: set[Path], *, directs: bool = True
    ) -> Iterator[Path]:
        """Yield the meanings of a name in a scope: its own, its imported declarations, then by directives."""
        if scope in seen or len(seen) > MAX_LOOKUPS:
            return
        seen.add(scope)
        imported = known.get(scope, NOTHING)
        if len(parts) > 1:
            yield from self._behind(known, (*scope, parts[0]), parts[1:])
        else:
            yield (*scope, *parts)
        for target in imported.declarations.get(parts[0], ()):
            yield from self._behind(known, target, parts[1:])
        if directs:
            for target in imported.directives:
                yield from self._within(known, target, parts, seen)

    def _behind(self, known: dict[Path, Imported], target: Path, rest: Path) -> Iterator[Path]:
        """Yield the meanings of the rest of a name inside the scope that its beginning names."""
        if rest:
            yield from self._within(known, target, rest, set())
        else:
            yield target

    # --- Types ----------------------------------------------------------------------------------------------------

    def type(self, frame: Frame, name: str, keyword: str = "") -> Type | None:
        """Return the type with a name; after ``struct`` or ``enum`` the one with that tag."""
        for block in frame.blocks:
            for die in block.children():
                if KIND_OF.get(die.tag) != "type" or die.name != name:
                    continue
                if scopes.is_visible(die, block, frame.place_in_file):
                    kind = self.state.types.of(die)
                    if _fits(kind, keyword, is_cplus(die.unit)):
                        return self.state.types.used(die)
        key = (name, keyword, frame.unit, frame.blocks[0] if frame.blocks else None)
        if key not in self._types:
            self._types[key] = self._type(frame, name, keyword)
        return self._types[key]

    def _type(self, frame: Frame, name: str, keyword: str) -> Type | None:
        from dwarfgpu.program.language.parser import ARITHMETIC

        if all(word in ARITHMETIC for word in name.split()):
            return self._base(frame, name)
        declared = None
        spelled = [split_name(spelling) for spelling in spellings(canonical(name))]
        by_scope = (self._at(frame, path, ("type",)) for parts in spelled for path in self._paths(frame, parts))
        alone = chain.from_iterable(self._alone(frame, parts, ("type",)) for parts in spelled)
        for _code, die in chain(chain.from_iterable(by_scope), alone):
            kind = self.state.types.of(die)
            if not _fits(kind, keyword, is_cplus(die.unit)):
                continue
            if not kind.is_incomplete:
                return self.state.types.used(die)
            declared = kind
        return declared

    def _base(self, frame: Frame, name: str) -> Type | None:
        """Return a base type. A compiler may name it ``long int`` where the expression has ``long``."""
        units = [frame.unit] if frame.unit is not None else [unit for _, unit in self.state.loaded.compile_units()]
        for unit in units:
            known = self._base_types.get(unit)
            if known is None:
                known = self._base_types[unit] = {
                    canonical(die.name or ""): die for die in unit.root.children() if die.tag == dw.DW_TAG_base_type
                }
            if name in known:
                return self.state.types.used(known[name])
        return None


def _fits(type: Type, keyword: str, cplus: bool) -> bool:  # noqa: FBT001
    """Return whether a type is allowed: in C a structure needs its keyword, and a keyword needs a structure."""
    is_tagged = isinstance(type, (Struct, Enumeration))
    if not keyword:
        return cplus or not is_tagged
    if not is_tagged:
        return False
    return isinstance(type, Enumeration) is (keyword == "enum")


def _collect(owner: Die, prefix: str, enumerators: dict[str, NamedEnumerator], depth: int) -> None:
    for die in owner.children():
        if die.tag == dw.DW_TAG_enumeration_type:
            name = die.name
            is_class = die.number(dw.DW_AT_enum_class) is not None
            for enumerator in die.children():
                if enumerator.tag != dw.DW_TAG_enumerator:
                    continue
                own = enumerator.name or ""
                if name:
                    enumerators.setdefault(f"{prefix}{name}::{own}", NamedEnumerator(die, enumerator))
                if not is_class:
                    enumerators.setdefault(f"{prefix}{own}", NamedEnumerator(die, enumerator))
        elif die.tag in NAMED_SCOPES and depth < MAX_SCOPES and die.has_children:
            name = die.name
            inner = f"{prefix}{name}::" if name and (die.tag == dw.DW_TAG_namespace or die.tag in _CLASSES) else prefix
            _collect(die, inner, enumerators, depth + 1)


def _nearest_first(frame: Frame, entries: Iterable[tuple[LoadedCode, Die]]) -> list[tuple[LoadedCode, Die]]:
    """Return entries with one name, those of the unit of a frame first; the name of a kernel is also its symbol."""
    return sorted(
        entries,
        key=lambda entry: (
            entry[1].unit is not frame.unit, entry[0] is not frame.code, is_body(entry[1].linkage_name)
        ),
    )  # fmt: skip


def address_of(function: Die) -> int | None:
    """Return the address of the first instruction of a function, in the file."""
    ranges = function.ranges()
    if ranges:
        return ranges[0][0]
    low = function.number(dw.DW_AT_low_pc) if function.tag == dw.DW_TAG_entry_point else None
    return None if low is None else low.address()


# --- Variables by name --------------------------------------------------------------------------------------------


def variables_named(frame: Frame, name: str) -> list[Variable]:
    """Return the variable with a name in a frame; if there is none, all variables of the program with that name.

    ``fn::x`` means those of a function.
    """
    known = next((variable for variable in frame.variables() if variable.name == name), None)
    if known is not None:
        return [known]
    parts = tuple(split_name(name))
    static = None
    with suppress(DwarfGpuError):  # of a function that no frame is of
        static = variable_called(frame, parts)
    return [static] if static is not None else list(_everywhere(frame, parts))


def variable_called(frame: Frame, parts: tuple[str, ...], file: str | None = None) -> Variable | None:
    """Return the variable with a name and its scopes in a frame; None if there is none."""
    names = frame.state.part(Names)
    local = names.local(frame, parts[0]) if file is None and len(parts) == 1 else None
    named = names.outer(frame, parts, file) if local is None else local
    return named if isinstance(named, Variable) else None


def _everywhere(frame: Frame, parts: tuple[str, ...]) -> Iterator[Variable]:
    *owners, last = parts
    for code in frame.state.loaded.described():
        for unit, _ in code.file.dwarf.index.entries_with((last.encode(),)):
            for variable in variables_of(frame, code, unit):
                if variable.name == last and (not owners or _is_in(variable.die, owners)):
                    yield variable


def _is_in(die: Die, owners: list[str]) -> bool:
    wanted = "::".join(owners)
    for owner in die.ancestors():
        if owner.tag in (dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine):
            name = qualified_name(owner) or ""
            if name == wanted or split_name(name)[-1] == wanted:
                return True
    return False


# --- Imported names -----------------------------------------------------------------------------------------------
# An imported declaration makes one entry visible, by another name where it has one of its own; an imported
# module makes everything visible that a namespace, or a module of Fortran, has (DWARF 5, 3.2.3 to 3.2.5).

_IMPORTS = frozenset((dw.DW_TAG_imported_declaration, dw.DW_TAG_imported_module))
MAX_LOOKUPS = 256
"""The number of scopes in which a name is searched: directives may lead to each other."""

Path: TypeAlias = "tuple[str, ...]"
"""The parts of a name from the outermost scope on."""


@frozen
class Imported:
    """The imports of one scope."""

    declarations: dict[str, list[Path]]
    """The targets of each imported name."""
    directives: list[Path]
    """Namespaces whose names are visible."""

    def __bool__(self) -> bool:
        return bool(self.declarations or self.directives)


NOTHING = Imported({}, [])


def _may_import(unit: Unit) -> bool:
    """Return whether a unit has imports at all, which most units have not."""
    return any(abbreviation.tag in _IMPORTS for abbreviation in unit.table.all())


def _shared(path: Path, other_path: Path) -> int:
    count = 0
    for ours, theirs in zip(path, other_path, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _collect_imports(owner: Die, scope: Path, imports: dict[Path, Imported]) -> None:
    own = imports.setdefault(scope, Imported({}, []))
    for die in owner.children():
        if die.tag in _IMPORTS:
            _add(die, own)
        elif die.tag in (dw.DW_TAG_namespace, dw.DW_TAG_module) and die.has_children and len(scope) < MAX_SCOPES:
            _collect_imports(die, (*split_name(qualified_name(die) or ""),), imports)


def _add(die: Die, imported: Imported) -> None:
    """Note one import. A broken one is reported and hides no other."""
    with noting(die.unit.dwarf.note):
        reference = die.number(dw.DW_AT_import)
        if reference is None:
            return
        target = reference.reference()
        name = qualified_name(target)
        if name is None:
            return
        own = target.name if target.name is not None else name
        path = (*(scope for scope, _ in scopes_of(target)), own)
        if die.tag == dw.DW_TAG_imported_declaration:
            imported.declarations.setdefault(die.name or own, []).append(path)
            return
        imported.directives.append(path)
        for child in die.children():  # entities that are renamed as they are imported
            if child.tag == dw.DW_TAG_imported_declaration:
                _add(child, imported)


# --- Signatures -------------------------------------------------------------------------------------------------


def _normal(parameters: str) -> tuple[str, ...]:
    """Return the types of parameters in one spelling: ``char const*`` and ``const char *`` are the same."""
    types = split_at_commas(parameters.strip(), "<(>)")
    return tuple(_normal_type(each) for each in types if each.strip() not in ("", "void"))


def _normal_type(text: str) -> str:
    base = re.split(r"[*&(\[]", text, maxsplit=1)[0]
    words = canonical(" ".join(base.split())).split()
    return " ".join(sorted(words)) + re.sub(r"\s+", "", text[len(base) :])
