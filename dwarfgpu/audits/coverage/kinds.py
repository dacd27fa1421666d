"""The kinds of location that expressions give, as their operations alone show.

Each expression has two kinds: as it is written, and as it is meant where a repair applies. Nothing is evaluated: a
location whose kind depends on the state of the machine is `OPEN`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import dialects
from dwarfgpu.audits.verify.expressions import ByAnswers
from dwarfgpu.dwarf_constants import DW_AT_frame_base, DW_AT_type
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import known_entries, verify
from dwarfgpu.expr.instruction import Expression, decode, registers_of
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy
from dwarfgpu.program.code.loaded import HAS_TYPES, LoadedCode, Surroundings
from dwarfgpu.program.code.local_layout import unwritten_place
from dwarfgpu.program.code.repairs import UNWRITTEN, Site, at_local, is_allowed, may_be_idiom, read_as_meant, repairs_of
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.code_scope import CodeScope
    from dwarfgpu.encoding import Format
    from dwarfgpu.objfile.info.dies import Die

REGISTER, MEMORY, IMPLICIT, CONSTANT = "register", "memory", "implicit", "constant"
COMPOSITE, PARTIAL = "composite", "partial composite"
SEVERAL = "several"
"""More than one location at a time."""
OPEN = "open"
"""A location whose kind depends on the state of the machine."""
UNDEFINED, EMPTY, ILL_FORMED = "undefined", "empty expression", "ill-formed"
NO_ATTRIBUTE = "no location"
NO_LOCATION = frozenset((UNDEFINED, EMPTY, ILL_FORMED, NO_ATTRIBUTE))
"""What gives no location: some expressions, and an entry without any."""
KINDS = (REGISTER, MEMORY, COMPOSITE, PARTIAL, IMPLICIT, CONSTANT, SEVERAL, OPEN)
"""The kinds of locations; a memory may be followed by its address space."""

MAX_KNOWN = 1 << 16
ENTRY_VALUES = frozenset(("DW_OP_entry_value", "DW_OP_GNU_entry_value"))
_WHOLE = {
    known_entries.REGISTER: REGISTER,
    known_entries.IMPLICIT: IMPLICIT,
    known_entries.UNDEFINED: UNDEFINED,
    known_entries.NOTHING: EMPTY,
}


@frozen(eq=False)
class Meaning:
    """The kind of location that an expression gives. `meaning_of` makes each once, so that sums can be kept by them."""

    written: str
    """The kind as it is written, or one of `NO_LOCATION`."""
    repaired: str
    """The same with the repairs; equal to ``written`` where none applies."""
    repairs: tuple[str, ...] = ()
    is_entry_value: bool = False
    """Whether it needs what a register or an expression was at the entry of the function."""
    is_located: bool = field(init=False)
    """Whether this is a location, as the file has it."""

    @is_located.default
    def _is_located(self) -> bool:
        return self.written not in NO_LOCATION


meaning_of = cache(Meaning)
"""Return the one `Meaning` with some fields, all in their order."""
CONSTANT_MEANING = meaning_of(CONSTANT, CONSTANT, (), False)


Answers: TypeAlias = "dict[Hashable, Any]"
"""What repairs have asked about something, by question."""
_OF_FUNCTION = frozenset(("frame_base", "is_baseless_kernel"))
_BASE = "kind of the frame base"
_OF_TYPE = frozenset(("size", "is_private_pointer", "is_sole_local"))


class KnownExpression:
    """An expression with what is known of it wherever it is."""

    __slots__ = ("expression", "found", "has_base", "has_cfa", "is_entry_value", "is_idiom", "meaning")

    def __init__(self, expression: Expression, found: verify.ResultKinds, *, is_idiom: bool) -> None:
        names = {instruction.name for instruction in expression.instructions}
        self.expression = expression
        self.found = found
        self.has_base = "DW_OP_fbreg" in names and known_entries.CONTEXT in found.kinds
        self.has_cfa = "DW_OP_call_frame_cfa" in names
        self.is_entry_value = not names.isdisjoint(ENTRY_VALUES)
        self.is_idiom = is_idiom
        self.meaning: Meaning | None = None
        """Its meaning, if that is the same everywhere."""


class LocationKinds:
    """Tells the kinds of a file's expressions. ``dialect`` replaces the dialect of the target."""

    def __init__(self, file: CodeObject, dialect: str | None = None, policy: Policy = AUTO) -> None:
        self.code = LoadedCode(file, dialect=dialect, repair=policy, is_linked=True)
        self.policy = policy
        self.target = file.target.target
        self._is_known = file.target.is_known
        self.rules = PRESETS[self.target.default_rules]
        self._default = self._memory(self.target.default_space.number)
        self._known: dict[tuple[bytes, Format], KnownExpression] = {}
        self._meanings = ByAnswers()
        self._bases: dict[tuple[bytes, Format], str] = {}
        self._types = Types()
        kernels = file.kernels.kernels if file.is_amdgpu else ()
        descriptors = [kernel.descriptor for kernel in kernels]
        self.has_local_memory = any(each is not None and each.group_segment_fixed_size for each in descriptors)
        """Whether variables without a location may be in the local memory of a kernel."""

    def without_location(self, site: VariableSite) -> Meaning | str:
        """Return what is meant of a variable without a location: its place in local memory, if something else tells."""
        if not is_allowed(UNWRITTEN, site.producer, self.policy):
            return NO_ATTRIBUTE
        address = unwritten_place(self.code, site.die, self._types)
        if address is None:
            return NO_ATTRIBUTE
        expression = at_local(decode(b"", self.code.dialect, site.die.unit.format), address)
        known = KnownExpression(expression, self._results(expression), is_idiom=False)
        return meaning_of(NO_ATTRIBUTE, self._kind(known.found, known, ""), (UNWRITTEN.name,), False)

    def meaning(self, data: bytes, site: VariableSite) -> Meaning:
        """Return the meaning of an expression at its place."""
        known = self._known.get((data, site.format))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[data, site.format] = self._read(data, site.format)
        if known.meaning is not None:
            return known.meaning
        base = self._base(site.scope) if known.has_base else ""
        key = data, site.format, site.producer, base
        found: Meaning = self._meanings.of(
            key, partial(site.answer, self.code, known.expression), partial(self._meaning_at, known, site, base)
        )
        return found

    def _read(self, data: bytes, form: Format) -> KnownExpression:
        expression = decode(data, self.code.dialect, form, known_in=dialects.known_in)
        is_idiom = (
            expression.fault is None
            and (self.code.file.is_amdgpu or not HAS_TYPES.isdisjoint(data))
            and may_be_idiom(expression, "DW_AT_location")
        )
        known = KnownExpression(expression, self._results(expression), is_idiom=is_idiom)
        if not is_idiom and not known.has_base:
            kind = self._kind(known.found, known, ILL_FORMED)
            known.meaning = meaning_of(kind, kind, (), known.is_entry_value)
        return known

    def _results(self, expression: Expression) -> verify.ResultKinds:
        found = verify.result_kinds(expression, rules=self.rules, target=self.target)
        if self._is_known and any(
            self.target.register(number) is None
            for instruction in expression.instructions
            for number in registers_of(instruction)
        ):
            found = evolve(found, is_ill_formed=True)  # no such register (A.2.5.4.4.4 (2))
        return found

    # --- Where it depends on the place ------------------------------------------------------------------------------

    def _meaning_at(self, known: KnownExpression, site: VariableSite, base: str, ask: Callable[..., Any]) -> Meaning:
        """Return the meaning of an expression that depends on what repairs ask."""
        written = self._kind(known.found, known, base)
        expression: Expression = known.expression
        if known.is_idiom:
            expression = read_as_meant(expression, Site("DW_AT_location", site.producer, self.target, ask), self.policy)
        repairs = tuple(repair.name for repair in repairs_of(expression))
        repaired = written
        if repairs:
            again = KnownExpression(expression, self._results(expression), is_idiom=False)
            repaired = self._kind(again.found, again, self._base(site.scope) if again.has_base else "")
        return meaning_of(written, repaired, repairs, known.is_entry_value)

    def _base(self, scope: CodeScope | None) -> str:
        """Return the kind of a frame base: a register means the address in it (A.3.3.5 (2))."""
        if scope is None:
            return ILL_FORMED
        function = scope.function
        known: str | None = function.facts.get(_BASE)
        if known is None:
            known = function.facts[_BASE] = self._kind_of_base(function.frame_base, function.unit.format)
        return known

    def _kind_of_base(self, base: bytes | None, form: Format) -> str:
        if base is None:
            return ILL_FORMED
        kind = self._bases.get((base, form))
        if kind is None:
            expression = decode(base, self.code.dialect, form, known_in=dialects.known_in)
            known = KnownExpression(expression, self._results(expression), is_idiom=False)
            kind = ILL_FORMED if known.has_base else self._kind(known.found, known, ILL_FORMED)
            if kind == REGISTER:
                kind = self._default
            elif not kind.startswith(MEMORY) and kind != OPEN:
                kind = ILL_FORMED
            self._bases[base, form] = kind
        return kind

    # --- Kinds ------------------------------------------------------------------------------------------------------

    def _kind(self, found: verify.ResultKinds, known: KnownExpression, base: str) -> str:
        if known.expression.fault is not None or found.is_ill_formed:
            return ILL_FORMED
        kinds = {self._one(kind, found, known, base) for kind in found.kinds}
        return kinds.pop() if len(kinds) == 1 else OPEN

    def _one(self, kind: str, found: verify.ResultKinds, known: KnownExpression, base: str) -> str:
        if kind in known_entries.VALUES or kind == known_entries.MEMORY:
            return self._default
        if kind in _WHOLE:
            return _WHOLE[kind]
        if kind == known_entries.COMPOSITE:
            if found.parts == {False}:
                return UNDEFINED
            return PARTIAL if False in found.parts else COMPOSITE
        if kind == known_entries.ELSEWHERE:
            others = found.spaces - {self.target.default_space.number}
            space = next(iter(others)) if len(others) == 1 else None
            return MEMORY if space is None else self._memory(space)
        if kind == known_entries.CONTEXT:
            if known.has_base:
                return base
            if known.has_cfa:
                return self._default if len(self.target.address_spaces) == 1 else MEMORY
            return OPEN
        return MEMORY if found.spaces == {None} else OPEN

    def _memory(self, number: int) -> str:
        if len(self.target.address_spaces) == 1:
            return MEMORY
        space = self.target.space(number)
        return MEMORY if space is None else f"{MEMORY} {space.name}"


class VariableSite:
    """The place of the location of a variable, and what repairs have asked about it."""

    __slots__ = ("_around", "_of_site", "_types", "die", "format", "producer", "scope", "target")

    def __init__(
        self, die: Die, target: int, producer: str | None, scope: CodeScope | None, types: dict[Hashable, Answers]
    ) -> None:
        self.die = die
        self.target = target
        """The offset in the section of its abstract origin; -1 if it has none there."""
        self.format = die.unit.format
        self.producer = producer
        self.scope = scope
        self._types = types
        """The answers about types, by the reference to the type, or by the offset of an abstract origin."""
        self._around: Surroundings | None = None
        self._of_site: Answers = {}

    def answer(self, code: LoadedCode, expression: Expression, *question: Any) -> Any:
        store = self._of_site
        if question[0] in _OF_FUNCTION and self.scope is not None:
            store = self.scope.function.facts
        elif question[0] in _OF_TYPE:
            store = self._of_type()
        if question not in store:
            store[question] = self._answer(code, expression, *question)
        return store[question]

    def _of_type(self) -> Answers:
        known = self._types.get(self.target)
        if known is None:
            try:
                kind = self.die.find_number(DW_AT_type)
            except DwarfGpuError:
                return self._of_site
            known = (
                self._of_site if kind is None else self._types.setdefault((kind.die.unit, kind.form, kind.value), {})
            )
            if self.target >= 0:
                self._types[self.target] = known
        return known

    def _answer(self, code: LoadedCode, expression: Expression, name: str, *operands: int) -> Any:
        function = None if self.scope is None else self.scope.function
        try:
            if function is not None and name == "is_baseless_kernel":
                return function.frame_base is None and code.is_baseless_kernel(function.die)
            if function is not None and function.frame_base is not None and name == "frame_base":
                base = function.die.number(DW_AT_frame_base)
                return None if base is None else code.base_register(base)
        except DwarfGpuError:
            return None
        if self._around is None:
            self._around = Surroundings(code, self.die, expression)
        return self._around.answer(name, *operands)
