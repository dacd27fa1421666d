"""The kinds of location that expressions give, as their operations alone show.

Each expression has two kinds: as it is written, and as it is meant where a repair applies. Nothing is evaluated: a
location whose kind depends on the state of the machine is `OPEN`.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import evolve, field

from dwarfgpu import dialects
from dwarfgpu.dwarf_constants import DW_AT_frame_base
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import known_entries, verify
from dwarfgpu.expr.instruction import Expression, decode, registers_of
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy
from dwarfgpu.program.code.loaded import HAS_TYPES, LoadedCode, Surroundings
from dwarfgpu.program.code.local_layout import unwritten_place
from dwarfgpu.program.code.repairs import UNWRITTEN, Site, at_local, is_allowed, may_be_idiom, read_as_meant, repairs_of
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.code_scope import CodeScope
    from dwarfgpu.audits.coverage.unit_walk import VariableSite
    from dwarfgpu.encoding.operands import Format

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


class TypeFamily:
    """What is known of all variables of a unit that have the same type."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers: dict[Hashable, Any] = {}
        """What is known of the type, by question."""


_OF_FUNCTION = frozenset(("frame_base", "is_baseless_kernel"))
_BASE = "kind of the frame base"
FIRST = ("is_baseless_kernel",)
"""The first question of most repairs."""
OF_TYPE = frozenset(("size", "is_private_pointer", "is_sole_local"))


class KnownExpression:
    """An expression with what is known of it wherever it is."""

    __slots__ = ("answers", "expression", "found", "has_base", "has_cfa", "is_entry_value", "is_idiom", "meaning")

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
        self.answers: dict[Hashable, Any] = {}
        """For a producer and a kind of frame base: the first question that a repair asks of the place, with what
        follows from each answer."""


class LocationKinds:
    """Tells the kinds of a file's expressions. ``dialect`` replaces the dialect of the target."""

    def __init__(self, file: CodeObject, dialect: str | None = None, policy: Policy = AUTO) -> None:
        self.code = LoadedCode(file, dialect=dialect, repair=policy, is_linked=True)
        self.policy = policy
        self.target = file.target.target
        self._is_known = file.target.is_known
        self.rules = PRESETS[self.target.default_rules]
        self._default = self._memory(self.target.default_space.number)
        self._known: dict[Format, dict[bytes, KnownExpression]] = {}
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

    def meaning(self, known: KnownExpression, site: VariableSite) -> Meaning:
        """Return the meaning of an expression at its place."""
        return known.meaning or self._at(known, site)

    def known(self, data: bytes, form: Format) -> KnownExpression:
        """Return what is known of an expression wherever it is."""
        store = self._known.setdefault(form, {})
        known = store.get(data)
        if known is None:
            if len(store) >= MAX_KNOWN:
                store.clear()
            known = store[data] = self._read(data, form)
        return known

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

    def _at(self, known: KnownExpression, site: VariableSite) -> Meaning:
        scope = site.scope
        base = self._base(scope) if known.has_base else ""
        node = known.answers.get((site.producer, base))
        answers: Any = None
        while node is not None:
            if type(node) is Meaning:
                return node
            question, branches = node
            if question is FIRST and scope is not None and question in scope.function.facts:
                node = branches.get(scope.function.facts[question])
                continue
            if answers is None:
                answers = _Answers(self, known.expression, site)
            node = branches.get(answers.answer(*question))
        return self._meaning_at(known, site, base)

    def _meaning_at(self, known: KnownExpression, site: VariableSite, base: str) -> Meaning:
        """Return the meaning of an expression, and remember on which answers about the place it depends."""
        written = self._kind(known.found, known, base)
        answers = _Answers(self, known.expression, site)
        expression: Expression = known.expression
        if known.is_idiom:
            expression = read_as_meant(expression, answers.site(), self.policy)
        repairs = tuple(repair.name for repair in repairs_of(expression))
        repaired = written
        if repairs:
            again = KnownExpression(expression, self._results(expression), is_idiom=False)
            repaired = self._kind(again.found, again, self._base(site.scope) if again.has_base else "")
        meaning = meaning_of(written, repaired, repairs, known.is_entry_value)
        node: Any = meaning
        place: Any = None
        branches, key = known.answers, (site.producer, base)
        for question, answer in answers.trail:
            place = branches.get(key)
            if place is None:
                place = branches[key] = (question, {})
            branches, key = place[1], answer
        branches[key] = node
        return meaning

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


class _Answers:
    """The answers to the questions of repairs about the place of an expression, each recorded once."""

    __slots__ = ("_around", "_of_site", "_site", "expression", "reader", "trail")

    def __init__(self, reader: LocationKinds, expression: Expression, site: VariableSite) -> None:
        self.reader = reader
        self.expression = expression
        self._site = site
        self._around: Surroundings | None = None
        self._of_site: dict[Hashable, Any] = {}
        self.trail: list[tuple[tuple[Hashable, ...], Any]] = []

    def answer(self, name: str, *arguments: int) -> Any:
        """Return the answer to a question of a repair."""
        question = (name, *arguments)
        scope = self._site.scope
        if name in _OF_FUNCTION and scope is not None:
            store = scope.function.facts
        elif name in OF_TYPE:
            store = self._site.family.answers
        else:
            store = self._of_site
        if question not in store:
            store[question] = self._answer(name, arguments)
        return store[question]

    def _answer(self, name: str, arguments: tuple[int, ...]) -> Any:
        function = None if self._site.scope is None else self._site.scope.function
        try:
            if function is not None and name == "is_baseless_kernel":
                return function.frame_base is None and self.reader.code.is_baseless_kernel(function.die)
            if function is not None and function.frame_base is not None and name == "frame_base":
                base = function.die.number(DW_AT_frame_base)
                return None if base is None else self.reader.code.base_register(base)
        except DwarfGpuError:
            return None
        if self._around is None:
            self._around = Surroundings(self.reader.code, self._site.die, self.expression)
        return self._around.answer(name, *arguments)

    def _recorded(self, *question: Any) -> Any:
        answer = self.answer(*question)
        if all(earlier != question for earlier, _answer in self.trail):
            self.trail.append((FIRST if question == FIRST else question, answer))
        return answer

    def site(self) -> Site:
        """Return the place as repairs see it."""
        return Site("DW_AT_location", self._site.producer, self.reader.target, self._recorded)
