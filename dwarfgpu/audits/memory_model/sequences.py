"""The code of each memory operation: by its ordering, its scope and its address space.

A sequence has five parts, each of which may be empty: what writes back, the waits before, the access with its cache
bits, the waits after, what invalidates. A release has the first two, an acquire the last two (AMDGPU usage, "Memory
Model"): so the table of a family, some hundreds of cells, comes out of the few fields of its rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.targets.amdgpu.memory_families import (
    FAMILIES,
    NOTHING,
    ONE_SPACE,
    SCOPE_NAMES,
    SCOPES,
    FamilyRules,
    ScopeLevel,
    differences_of,
)

OPERATIONS = ("load", "store", "rmw", "rmw-return", "fence")
ORDERINGS = ("monotonic", "acquire", "release", "acq_rel", "seq_cst")
"""The orderings of atomic operations, the weakest first."""
PLAIN = ("plain", "nontemporal", "volatile")
"""What a non-atomic access may be, in place of an ordering."""
SPACES = ("global", "generic", "local")
FENCE_SPACES = ("all", "global", "local")
ORDERINGS_OF: dict[str, tuple[str, ...]] = {
    "load": ("unordered", "monotonic", "acquire", "seq_cst"),
    "store": ("unordered", "monotonic", "release", "seq_cst"),
    "rmw": ORDERINGS,
    "rmw-return": ORDERINGS,
    "fence": ORDERINGS[1:],
}
"""The orderings that mean something for an operation (AMDGPU usage, "Memory Model")."""
RELEASES = frozenset({"release", "acq_rel", "seq_cst"})
ACQUIRES = frozenset({"acquire", "acq_rel", "seq_cst"})
LLVM_NAMES = {"load": "load atomic", "store": "store atomic", "rmw": "atomicrmw", "rmw-return": "atomicrmw"}

WAIT, WRITE_BACK, ACCESS, INVALIDATE = "wait", "write-back", "access", "invalidate"
DIRECT = "direct loads to LDS"
"""The name, among those of counters, of loads that write LDS directly; they count in vmcnt."""


@frozen
class SequenceStep:
    """One step of a sequence."""

    kind: str
    text: str
    """The instruction, as assembly writes it; of an access the class of instructions and the cache bits."""
    counters: frozenset[str] = frozenset()
    """The counters that a wait lets become 0."""


@frozen
class SequenceCell:
    """A cell of the table: an operation, and the code that makes it what it is."""

    operation: str
    ordering: str
    scope: str
    """``none`` for accesses that are not atomic."""
    space: str
    steps: tuple[SequenceStep, ...]
    clause: str
    differences: tuple[str, ...] = ()
    """The named differences of the two rule sets that change this cell."""


def cells(family: str, mode: str, rule_set: str) -> Iterator[SequenceCell]:
    """Yield the cells of a table, in the order of the text."""
    for operation, ordering, scope, space in keys(family):
        yield cell(family, mode, rule_set, operation, ordering, scope, space)


def keys(family: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield what the cells of a family's table are about: operation, ordering, scope and address space."""
    spaces = tuple(space for space in SPACES if space != "generic" or family != "GFX6")
    for operation in ("load", "store"):
        for kind in PLAIN:
            for space in spaces:
                yield operation, kind, "none", space
    for operation in OPERATIONS:
        for ordering in ORDERINGS_OF[operation]:
            for scope in SCOPE_NAMES:
                for space in FENCE_SPACES if operation == "fence" else spaces:
                    yield operation, ordering, scope, space


@cache
def cell(family: str, mode: str, rule_set: str, operation: str, ordering: str, scope: str, space: str) -> SequenceCell:
    """Return one cell, with the named differences that change it."""
    rules = FAMILIES[family][rule_set]
    steps = _Sequence(rules, mode).of(operation, ordering, scope, space)
    differences = []
    if _Sequence(_other_rules(family, rule_set), mode).of(operation, ordering, scope, space) != steps:
        for name, changed in _variants(family, rule_set):
            if _Sequence(changed, mode).of(operation, ordering, scope, space) != steps:
                differences.append(name)
    clause = f"{rules.table}: {_row(operation, ordering, scope, space)}"
    return SequenceCell(operation, ordering, scope, space, steps, clause, tuple(differences))


def _other_rules(family: str, rule_set: str) -> FamilyRules:
    """Return the rules of a family in the other rule set: what LLVM 22 does, or what the text says."""
    return FAMILIES[family]["text" if rule_set == "llvm22" else "llvm22"]


@cache
def _variants(family: str, rule_set: str) -> tuple[tuple[str, FamilyRules], ...]:
    """Return the rules with one field as the other rule set has it, for each field in which they differ."""
    rules, other = FAMILIES[family][rule_set], _other_rules(family, rule_set)
    return tuple((name, evolve(rules, **{name: getattr(other, name)})) for name in differences_of(family))


def _row(operation: str, ordering: str, scope: str, space: str) -> str:
    """Return the name of a row of the text."""
    if scope == "none":
        return f"{operation}, non-atomic, {space}"
    if operation == "fence":
        return f"fence {ordering}, {scope}"
    return f"{LLVM_NAMES[operation]} {ordering}, {scope}, {space}"


@frozen
class _Sequence:
    """Makes sequences of one family in one mode."""

    rules: FamilyRules
    mode: str

    def of(self, operation: str, ordering: str, scope: str, space: str) -> tuple[SequenceStep, ...]:
        """Return the steps of a cell."""
        if scope == "none":
            return self._plain(operation, ordering, space)
        narrow = scope.removesuffix(ONE_SPACE)
        is_one_space = narrow != scope
        if operation == "fence":
            return self._fence(ordering, narrow, space, is_one_space=is_one_space)
        return self._access(operation, ordering, narrow, space, is_one_space=is_one_space)

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def _plain(self, operation: str, kind: str, space: str) -> tuple[SequenceStep, ...]:
        is_store = operation == "store"
        if space == "local" or kind == "plain":
            return (_access(operation, space, ""),)
        if kind == "nontemporal":
            return (_access(operation, space, self.rules.nontemporal[is_store]),)
        after = self.rules.volatile_store_waits if is_store else self.rules.volatile_load_waits
        before = self.rules.volatile_store_waits_before if is_store else self.rules.volatile_load_waits_before
        return (*_wait_steps(before), _access(operation, space, self.rules.volatile[is_store]), *_wait_steps(after))

    def _access(
        self, operation: str, ordering: str, scope: str, space: str, *, is_one_space: bool
    ) -> tuple[SequenceStep, ...]:
        rules = self.rules
        if space == "local" and scope in SCOPES[2:]:
            scope = "workgroup"  # no scope of LDS is wider
        level = self._level(scope)
        bits = {"load": level.load, "store": level.store}.get(operation, level.rmw)
        if space == "local" or ordering == "unordered":
            bits = ""
        if rules.family.startswith("GFX12") and operation == "rmw-return" and space != "local":
            bits = f"th:TH_ATOMIC_RETURN {bits}".strip()
        elif operation == "rmw-return" and space != "local":
            bits = f"{'sc0' if rules.family == 'GFX942' else 'glc'} {bits}".strip()
        is_plain = ordering == "unordered" and not rules.unordered_stores_are_atomic
        has_replay = operation != "load" and space != "local" and not is_plain
        access = *_wait_steps(rules.replay if has_replay else ()), _access(operation, space, bits)
        if scope in SCOPES[:2]:
            return access
        has_release = ordering in RELEASES and operation != "load"
        has_acquire = ordering in ACQUIRES and operation != "store"
        keeps = is_one_space and (ordering != "seq_cst" or rules.one_space_is_kept_by_seq_cst)
        keeps_before = is_one_space and (
            keeps if operation != "load" or ordering != "seq_cst" else rules.seq_cst_waits_before_keep_one_space
        )
        steps: list[SequenceStep] = []
        if has_release or (operation == "load" and ordering == "seq_cst"):
            spaces = _spaces(space) if keeps_before else {"global", "local", "gds"}
            if has_release and "global" in spaces:
                steps += [SequenceStep(WRITE_BACK, text) for text in level.write_back]
            local = not keeps_before and (space != "local" or rules.local_releases_wait_for_local)
            steps += self._waits(rules.before, ordering, level, scope, spaces, waits_for_local=local)
        steps += access
        if has_acquire:
            spaces = _spaces(space)
            counters = rules.stored if operation == "rmw" else rules.loaded
            local = not keeps
            if (operation, ordering, space) == ("rmw", "acquire", "generic") and not level.waits:
                local = local and rules.atomics_without_return_wait_for_local
            steps += self._waits(counters, ordering, level, scope, spaces, waits_for_local=local)
            if not keeps or space != "local":
                steps += [SequenceStep(INVALIDATE, text) for text in level.invalidate]
        return tuple(steps)

    def _fence(self, ordering: str, scope: str, space: str, *, is_one_space: bool) -> tuple[SequenceStep, ...]:
        rules = self.rules
        if scope in SCOPES[:2]:
            return ()
        keeps = is_one_space and (ordering != "seq_cst" or rules.one_space_is_kept_by_seq_cst)
        spaces = {"global", "local", "gds"} if space == "all" else {space}
        level = self._level("workgroup" if space == "local" else scope)
        steps: list[SequenceStep] = []
        if ordering in RELEASES and "global" in spaces:
            steps += [SequenceStep(WRITE_BACK, text) for text in level.write_back]
        counters = rules.acquire_fence if ordering == "acquire" else rules.before
        steps += self._waits(counters, ordering, level, scope, spaces, waits_for_local=not keeps)
        if ordering in ACQUIRES and "global" in spaces:
            steps += [SequenceStep(INVALIDATE, text) for text in level.invalidate]
        return tuple(steps)

    # --- Their parts --------------------------------------------------------------------------------------------------

    def _level(self, scope: str) -> ScopeLevel:
        """Return what a scope needs of the caches, with what invalidates them in the order of the rule set."""
        level = self.rules.caches[self.mode].get(scope, NOTHING)
        if len(level.invalidate) < 2 or self.rules.invalidates_outer_caches_first:
            return level
        return evolve(level, invalidate=level.invalidate[::-1])

    def _waits(
        self,
        counters: tuple[str, ...],
        ordering: str,
        level: ScopeLevel,
        scope: str,
        spaces: set[str],
        *,
        waits_for_local: bool,
    ) -> tuple[SequenceStep, ...]:
        """Return the waits for accesses to some address spaces."""
        rules = self.rules
        waited: list[str] = []
        is_split = self.mode == "tgsplit"
        if "global" in spaces and (level.waits or (rules.releases_wait_in_a_cu and ordering != "acquire")):
            waited += counters
        has_local = ("local" in spaces and not is_split) or ("gds" in spaces and rules.split_waits_for_local)
        if has_local and waits_for_local:
            waited.append(rules.local)
        has_direct = rules.waits_for_direct_loads and "local" in spaces and scope == "workgroup"
        if has_direct and not is_split and ordering != "acquire":
            waited.append(DIRECT)
        return _wait_steps(tuple(waited))


def _spaces(space: str) -> set[str]:
    return {"global", "local"} if space == "generic" else {space}


def _access(operation: str, space: str, bits: str) -> SequenceStep:
    """Return the step that is the access itself."""
    kind = "atomic" if operation.startswith("rmw") else operation
    instructions = {"global": "buffer/global", "generic": "flat", "local": "ds"}[space]
    return SequenceStep(ACCESS, f"{instructions}_{kind} {bits}".strip())


def _wait_steps(counters: tuple[str, ...]) -> tuple[SequenceStep, ...]:
    """Return the steps that let counters become 0: one instruction for those that share one."""
    steps = []
    shared = [counter for counter in counters if counter in {"vmcnt", "lgkmcnt"}]
    if shared:
        text = "s_waitcnt " + " ".join(f"{counter}(0)" for counter in shared)
        steps.append(SequenceStep(WAIT, text, frozenset(shared)))
    for counter in counters:
        if counter == "vscnt":
            steps.append(SequenceStep(WAIT, "s_waitcnt_vscnt null, 0x0", frozenset({counter})))
        elif counter == DIRECT:
            steps.append(SequenceStep(WAIT, f"s_waitcnt vmcnt(N), {DIRECT}", frozenset({counter})))
        elif counter not in shared:
            steps.append(SequenceStep(WAIT, f"s_wait_{counter} 0x0", frozenset({counter})))
    return tuple(steps)
