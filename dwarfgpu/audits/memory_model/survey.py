"""What code orders: for each access the strongest ordering, and the widest scope, that the code around it implements.

Each access is tried as an acquire, as a release or as both at each scope, as `checker` checks one that is meant so:
an ordering is implemented if nothing is missing on any path.
"""

from __future__ import annotations

from collections.abc import Iterator

from dwarfgpu.audits.memory_model.checker import CheckedFunction, MemoryCheck, Requirement, SourcePosition, requirement
from dwarfgpu.audits.memory_model.function_code import FunctionCode
from dwarfgpu.audits.memory_model.intents import MemoryIntent
from dwarfgpu.audits.memory_model.outstanding import BEFORE, OutstandingState
from dwarfgpu.audits.memory_model.sequences import cell
from dwarfgpu.errors import NotFound
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.isa.memory_actions import GENERIC, LOCAL, has_bits
from dwarfgpu.targets.amdgpu.memory_families import SCOPES, family_rules

SHARED_SCOPES = tuple(reversed(SCOPES[2:]))
"""The scopes that need more than the order of the program, the widest first."""


@frozen
class SurveyedAccess:
    """One access of a function, with what the code around it orders."""

    function: str
    address: int
    offset: int
    """From the beginning of the function."""
    place: SourcePosition | None
    instruction: str
    operation: str
    space: str
    bits: tuple[str, ...]
    counters: tuple[str, ...]
    ordering: str
    """``plain`` if nothing says that it is more than a non-atomic access."""
    scope: str
    """The widest scope of that ordering; empty for a plain access."""


@frozen
class OutstandingAccess:
    """An access that may not be complete at an address."""

    address: int | None
    """None for what the caller of the function has begun."""
    place: SourcePosition | None
    instruction: str
    counters: tuple[tuple[str, int], ...]
    """The counters it counts in, with how many operations have begun after it, at least."""
    registers: tuple[str, ...]
    """The registers that it is going to write."""


@frozen
class CurrentAccess:
    """An access that is not complete in a wave that runs."""

    address: int
    instruction: str
    counters: tuple[tuple[str, int], ...]
    """The counters it counts in, with how many operations have begun after it."""
    is_performed: bool
    """Whether memory or a cache has it already."""


def accesses(check: MemoryCheck, name: str | None = None) -> Iterator[SurveyedAccess]:
    """Yield the accesses to memory that other threads may see, function by function."""
    for function in check.code.functions(name):
        yield from _function_accesses(check, function)


def _function_accesses(check: MemoryCheck, function: FunctionCode) -> Iterator[SurveyedAccess]:
    mode = check.mode_of(function)
    tried: dict[int, list[tuple[str, Requirement]]] = {}
    for index, step in enumerate(function.steps):
        action = step.action
        if not action.is_shared:
            continue
        space = "global" if action.space == GENERIC and function.major < 9 else action.space
        for scope in SHARED_SCOPES:
            for ordering in ("acquire", "release"):
                if (ordering, action.operation) in {("acquire", "store"), ("release", "load")}:
                    continue
                made = cell(check.family, mode, check.rule_set, action.operation, ordering, scope, space)
                rule = requirement(made, MemoryIntent(action.operation, ordering, scope, "all", ""), None)
                tried.setdefault(index, []).append((f"{ordering} {scope}", rule))
    flow = CheckedFunction(
        function,
        {index: tuple(rows) for index, rows in tried.items()},
        rule_set=family_rules(check.processor, check.rule_set),
    )
    held: dict[int, dict[str, bool]] = {}
    for block, state in zip(function.blocks, flow.states(), strict=True):
        if state is None:
            continue
        for index in range(block.first, block.stop):
            for name, rule in tried.get(index, ()):
                held.setdefault(index, {})[name] = _begins_well(flow, state, index, rule)
            flow.advance(state, index)
    for index, holding in held.items():
        step = function.steps[index]
        ordering, scope = _strongest(flow, index, tried[index], holding)
        address = function.addresses[index]
        yield SurveyedAccess(
            *(function.name, address, address - function.addresses[0], check.lines.place(address)),
            *(instruction_text(step.instruction), step.action.operation, step.action.space, step.action.bits),
            *(step.action.counters, ordering, scope),
        )


def _begins_well(flow: CheckedFunction, state: OutstandingState, index: int, rule: Requirement) -> bool:
    """Return whether an access has its cache bits, and nothing is missing before it."""
    if rule.bits and not has_bits(flow.function.steps[index].action.bits, rule.bits):
        return False
    return next(flow.release_failures(state, rule, index), None) is None


def _strongest(
    flow: CheckedFunction, index: int, tried: list[tuple[str, Requirement]], held: dict[str, bool]
) -> tuple[str, str]:
    """Return the strongest ordering of an access, at the widest scope."""
    action = flow.function.steps[index].action
    holds = {name for name, _rule in tried if held[name] and (index, name) not in flow.failed}
    is_rmw = action.operation.startswith("rmw")
    for scope in SHARED_SCOPES if action.space != LOCAL else SHARED_SCOPES[-1:]:
        has_acquire, has_release = f"acquire {scope}" in holds, f"release {scope}" in holds
        if has_acquire or has_release:
            return "acq_rel" if has_acquire and has_release else "acquire" if has_acquire else "release", scope
    if action.space == LOCAL:
        return ("monotonic", "workgroup") if is_rmw else ("plain", "")
    for scope in SHARED_SCOPES:
        rule = next(rule for name, rule in tried if name.endswith(scope))
        if rule.bits and has_bits(action.bits, rule.bits):
            return "monotonic", scope
    return ("monotonic", "workgroup") if is_rmw else ("plain", "")


def outstanding_at(check: MemoryCheck, address: int) -> tuple[FunctionCode, list[OutstandingAccess]]:
    """Return what may be outstanding before the instruction at an address, the earliest first."""
    for function in check.code.functions(at=address):
        if address in function.addresses:
            return function, _outstanding(check, function, function.addresses.index(address))
    message = f"no instruction of a function begins at {address:#x}"
    raise NotFound("no_instruction", message, hint="`dwarfgpu memmodel show FILE` lists the accesses with addresses")


def _outstanding(check: MemoryCheck, function: FunctionCode, wanted: int) -> list[OutstandingAccess]:
    flow = CheckedFunction(function, {}, rule_set=family_rules(check.processor, check.rule_set))
    rows: dict[int, list[tuple[str, int]]] = {}
    for block, state in zip(function.blocks, flow.states(), strict=True):
        if state is None or not block.first <= wanted < block.stop:
            continue
        for index in range(block.first, wanted):
            flow.advance(state, index)
        for counter, pending in state.pending.items():
            for source, younger in pending.items():
                rows.setdefault(source, []).append((counter, younger))
    outstanding = []
    for source in sorted(rows):
        if source == BEFORE:
            counters = tuple(rows[source])
            outstanding.append(OutstandingAccess(None, None, "stores of the caller", counters, ()))
            continue
        step, start = function.steps[source], function.addresses[source]
        written = tuple(operand.text for operand in step.instruction.destinations if step.action.written)
        text = instruction_text(step.instruction)
        outstanding.append(OutstandingAccess(start, check.lines.place(start), text, tuple(rows[source]), written))
    return outstanding


def outstanding_now(machine: object, wave: int) -> list[CurrentAccess] | None:
    """Return what a wave of a machine has outstanding, the earliest first; None where nothing runs with weak memory."""
    from dwarfgpu.execution.gpu import Gpu

    if not isinstance(machine, Gpu) or not machine.has_run or machine.weak_memory is None:
        return None
    return [
        CurrentAccess(row.address, row.instruction, row.counters, row.is_performed)
        for row in machine.device.outstanding(wave)
    ]
