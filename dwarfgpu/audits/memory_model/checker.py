"""What code forgets of the memory model: findings about atomic operations, fences, and values in flight.

The functions of a file are followed along all paths (`outstanding`). What an access or a fence must be comes from the
source line it was made for (`intents`), or from what a user states; the table (`sequences`) says which steps make it
so. A step counts wherever it is, as long as it is on every path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.memory_model.function_code import CodeFunctions, FunctionCode
from dwarfgpu.audits.memory_model.intents import BARRIER, FENCE, intents_of, macros_of, statement_body
from dwarfgpu.audits.memory_model.outstanding import BEFORE, OutstandingFlow, OutstandingState
from dwarfgpu.audits.memory_model.sequences import ACCESS, ACQUIRES, INVALIDATE, ORDERINGS_OF, WAIT, WRITE_BACK, cell
from dwarfgpu.audits.verify.findings import ERROR, FileFinding, rules
from dwarfgpu.errors import DwarfGpuError, NotFound, Unsupported
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.memory_actions import GENERIC, LOCAL, SCALAR, covers, has_bits, read_registers, register_text
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.code.instructions import machine_of
from dwarfgpu.program.code.kernel_parameters import source_name
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.frames.execution import Execution
from dwarfgpu.program.language.source_text import has_own_lines, without_comments
from dwarfgpu.targets.amdgpu.memory_families import KNOWN_BUGS, FamilyRules, family_of, family_rules, mode_of

if TYPE_CHECKING:
    from dwarfgpu.audits.memory_model.intents import MemoryIntent, StatedIntent
    from dwarfgpu.audits.memory_model.sequences import SequenceCell, SequenceStep
    from dwarfgpu.isa.memory_actions import MemoryAction
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

_TEXT = "AMDGPU usage, Memory Model"
RULES = rules(
    "order",
    ("wait-before", ERROR, _TEXT,
     "A release, and a sequentially consistent load, begins when what it orders is complete.",
     "wait for the counters that the sequence of the operation names, on every path, before the access"),
    ("wait-after", ERROR, _TEXT, "An access that acquires is complete before the next access begins.",
     "wait for the counters that the sequence of the operation names, behind the access"),
    ("write-back", ERROR, _TEXT, "A release writes back the caches that its scope does not share.",
     "write back, with the scope of the operation, after the last store and before the waits"),
    ("invalidate", ERROR, _TEXT,
     "An acquire invalidates the caches that its scope does not share, before anything is read.",
     "invalidate, with the scope of the operation, behind the wait for the access"),
    ("early-invalidate", ERROR, _TEXT, "An invalidate comes when the access that it belongs to is complete.",
     "wait for the access before the invalidate"),
    ("cache-bits", ERROR, _TEXT, "An atomic access reaches the cache that all threads of its scope share.",
     "give the access the cache bits or the scope that the sequence of the operation has"),
    ("value-in-flight", ERROR,
     f"{_TEXT}: additional s_waitcnt instructions are required to ensure registers are defined before being used",
     "A register that a load writes is not used before the load is complete.",
     "wait for the counter of the load before the register is read or written"),
    ("return-in-flight", ERROR, "AMDGPU usage, Call Convention",
     "What a function has loaded is complete when it returns.",
     "wait for the counters of loads before the function returns"),
)  # fmt: skip
ALL_RULES = {rule.name: rule for rule in RULES.values()}
"""The rules by their whole names."""


@frozen
class SourcePosition:
    """Where in the source an instruction comes from."""

    path: str
    line: int
    column: int
    """From 1; 0 if the table has no columns, and -1 if this row has none."""


UNKNOWN = -1
_CLANG = re.compile(r"\bclang version (\d+)")
MOST_LINES = 2000
"""Of a function, so that the operations of its clauses are looked for."""
MOST_PAIRS = 100_000
"""Of accesses in clauses and operations of a function."""


@frozen
class Requirement:
    """What an access must be, with the steps that make it so."""

    cell: SequenceCell
    intent: MemoryIntent
    place: SourcePosition | None
    before: frozenset[str]
    write_backs: tuple[str, ...]
    bits: str
    after: frozenset[str]
    invalidates: tuple[str, ...]

    @property
    def name(self) -> str:
        """How the operation is called in messages."""
        if not self.intent.first:
            return self.intent.text
        return f"{self.intent.text} ({self.cell.ordering}, {self.cell.scope})"


def requirement(cell: SequenceCell, intent: MemoryIntent, place: SourcePosition | None) -> Requirement:
    """Return what a cell of the table requires of code."""
    steps = cell.steps
    access = next((number for number, step in enumerate(steps) if step.kind == ACCESS), len(steps))
    bits = " ".join(steps[access].text.split()[1:]) if access < len(steps) else ""
    return Requirement(
        cell,
        intent,
        place,
        _counters(steps[:access]),
        tuple(step.text for step in steps if step.kind == WRITE_BACK),
        bits,
        _counters(steps[access:]),
        tuple(step.text for step in steps if step.kind == INVALIDATE),
    )


def _counters(steps: Sequence[SequenceStep]) -> frozenset[str]:
    return frozenset(counter for step in steps if step.kind == WAIT for counter in step.counters if " " not in counter)


@frozen
class FenceGroup:
    """The instructions of one fence or barrier: where it begins and ends, and the barrier itself."""

    first: int
    last: int
    pivot: int | None
    release: Requirement | None
    acquire: Requirement | None


class CheckedFunction(OutstandingFlow):
    """Follows one function with what its accesses and fences must be."""

    def __init__(
        self,
        function: FunctionCode,
        requirements: Mapping[int, tuple[tuple[str, Requirement], ...]],
        fences: Sequence[FenceGroup] = (),
        report: Callable[[str, int, str, Requirement | None], None] | None = None,
        *,
        rule_set: FamilyRules,
    ) -> None:
        super().__init__(function)
        self.rule_set = rule_set
        self.requirements = requirements
        self.report = report
        self.failed: set[tuple[int, str]] = set()
        """The accesses for which an acquire is not complete in time, by instruction and name."""
        self.by_name = {(index, name): rule for index, rows in requirements.items() for name, rule in rows}
        self.before: dict[int, list[FenceGroup]] = {}
        """The fences that are complete before an instruction; and those that are so after one."""
        self.behind: dict[int, list[FenceGroup]] = {}
        self.pivots: dict[int, list[FenceGroup]] = {}
        self.fenced: dict[int, FenceGroup] = {}
        for fence in fences:
            follower = self._follower(fence.last)
            where = self.behind if follower == fence.last else self.before
            where.setdefault(follower, []).append(fence)
            if fence.pivot is not None:
                self.pivots.setdefault(fence.pivot, []).append(fence)
            self.fenced.update(dict.fromkeys(range(fence.first, fence.last + 1), fence))
        self.known_bugs: set[tuple[str, int]] = set()
        """Where code lacks what the producer is known to leave out: the name of the difference, and the instruction."""
        self.is_reporting = False
        self._told: set[tuple[str, int, object]] = set()

    def _follower(self, index: int) -> int:
        """Return the instruction before which a fence that ends with another one is complete.

        That is the next one that accesses what others may see, or the last of the block: compilers join the waits of
        a fence with those of what follows, such as a load of an argument.
        """
        block = next(block for block in self.function.blocks if block.first <= index < block.stop)
        for number in range(index + 1, block.stop):
            step = self.function.steps[number]
            if step.action.is_shared or step.is_call or step.is_exit:
                return number
        last = block.stop - 1
        return last if self.function.steps[last].instruction.branch is not None else index

    def check(self) -> None:
        """Follow all paths, then report what is wrong at each instruction."""
        states = self.states()
        self.is_reporting = True
        for block, state in zip(self.function.blocks, states, strict=True):
            if state is not None:
                for index in range(block.first, block.stop):
                    self.advance(state, index)

    def advance(self, state: OutstandingState, index: int) -> None:
        """Check an instruction in a state, and change the state to that after it."""
        step = self.function.steps[index]
        action = step.action
        if self.is_reporting:
            self._check_registers(state, index)
            for _name, rule in self.requirements.get(index, ()):
                if rule.bits and not has_bits(action.bits, rule.bits):
                    message = f"{rule.name}: {self.named(index)} needs {rule.bits}"
                    self._tell("cache-bits", index, message, rule)
                self._check_release(state, index, rule, index)
            for fence in self.pivots.get(index, ()):
                if fence.release is not None:
                    self._check_release(state, index, fence.release)
            for fence in self.before.get(index, ()):
                self._check_fence(state, index, fence)
        if state.owed and (action.is_shared or step.is_call or step.is_exit):
            self._settle(state, index, is_reading=action.operation != "store")
        if action.invalidate:
            self._check_invalidate(state, index, action.invalidate)
        super().advance(state, index)
        self._translate(state, index, action)
        for name, rule in self.requirements.get(index, ()):
            if rule.after or rule.invalidates:
                state.owed[index, name] = rule.invalidates
        if self.is_reporting:
            for fence in self.behind.get(index, ()):
                self._check_fence(state, index, fence)

    def wait(self, state: OutstandingState, counter: str, most: int) -> None:
        """Complete what a wait lets no longer remain; what is complete has its addresses translated before."""
        for each in (*self.rule_set.replay, counter):
            super().wait(state, each, most)

    def _translate(self, state: OutstandingState, index: int, action: MemoryAction) -> None:
        """Note an access whose address is not translated; vector and scalar ones are never on the way together."""
        steps, is_access = self.function.steps, action.operation and action.space != LOCAL
        for counter in self.rule_set.replay if is_access else ():
            rows, is_scalar = state.pending.get(counter, {}), action.space == SCALAR
            kept = {each: rows[each] + 1 for each in rows if (steps[each].action.space == SCALAR) == is_scalar}
            state.pending[counter] = {**kept, index: 0}

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def _settle(self, state: OutstandingState, index: int, *, is_reading: bool) -> None:
        """Let go of the acquires that are complete, and report those that come too late."""
        for owed, missing in list(state.owed.items()):
            source, _name = owed
            rule = self.by_name[owed]
            is_open = state.is_outstanding(source, rule.after)
            if is_open or (missing and is_reading):
                self.failed.add(owed)
                if is_open:
                    counters = ", ".join(sorted(rule.after & set(self.function.steps[source].action.counters)))
                    what = f"is not waited for ({counters}) before {self.named(index)}"
                    self._tell("wait-after", source, f"{rule.name}: {self.named(source)} {what}", rule)
                else:
                    what = f"no {' and no '.join(missing)} between {self.named(source)} and {self.named(index)}"
                    self._tell("invalidate", source, f"{rule.name}: there is {what}", rule)
                del state.owed[owed]
            elif not missing:
                del state.owed[owed]

    def _check_invalidate(self, state: OutstandingState, index: int, text: str) -> None:
        for owed, missing in list(state.owed.items()):
            source, _name = owed
            rule = self.by_name[owed]
            if state.is_outstanding(source, rule.after) and any(covers(text, part) for part in missing):
                self.failed.add(owed)
                message = f"{rule.name}: {self.named(source)} is outstanding at {self.named(index)}"
                self._tell("early-invalidate", index, message, rule)
                del state.owed[owed]
        fence = self.fenced.get(index)
        if not self.is_reporting or fence is None or fence.acquire is None:
            return
        for counter in sorted(fence.acquire.before):
            rows = state.pending.get(counter, {})
            for source in self._ordered(rows):
                if source == BEFORE or not self.function.steps[source].action.write_back:
                    message = f"{fence.acquire.name}: {self.named(source)} is outstanding at {self.named(index)}"
                    self._tell("early-invalidate", index, f"{message}: {counter} is not waited for", fence.acquire)
                    return

    def _check_release(self, state: OutstandingState, index: int, rule: Requirement, own: int | None = None) -> None:
        """Report what is not complete, or not written back, at an operation that releases."""
        failures = set(self.release_failures(state, rule, own))
        for failure, message in sorted(failures):
            self._tell(failure, index, f"{rule.name}: {message}, at {self.named(index)}", rule)
        accepted = self.rule_set
        for name in (bug.field for bug in KNOWN_BUGS):
            if self.is_reporting and not getattr(accepted, name):
                change: dict[str, Any] = {name: True}
                self.rule_set = evolve(accepted, **change)
                if set(self.release_failures(state, rule, own)) != failures:
                    self.known_bugs.add((name, index))
                self.rule_set = accepted

    def release_failures(
        self, state: OutstandingState, rule: Requirement, own: int | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield what is missing before an operation: the name of the rule, and what is wrong.

        ``own`` is the access itself, which a loop may have begun before.
        """
        for text in rule.write_backs:
            if not any(covers(done, text) for done in state.written_back):
                yield "write-back", f"there is no {text} after the last store"
        for counter in sorted(rule.before):
            rows = state.pending.get(counter, {})
            accesses = self._translating(rows, own) if counter in self.rule_set.replay else self._ordered(rows)
            if not self.rule_set.repeated_accesses_are_waited_for:
                accesses = [index for index in accesses if index != own]
            if accesses:
                yield "wait-before", f"{self.named(accesses[-1])} is outstanding ({counter})"

    def _ordered(self, rows: dict[int, int]) -> list[int]:
        """Return those of some outstanding accesses that are ordered, the earliest first."""
        accesses = []
        for index in sorted(rows):
            if index == BEFORE:
                accesses.append(index)
                continue
            step = self.function.steps[index]
            action = step.action
            is_write_back = bool(action.write_back) and self.rule_set.write_backs_are_waited_for
            if step.is_call or is_write_back or action.is_shared:
                accesses.append(index)
        return accesses

    def _translating(self, rows: dict[int, int], own: int | None) -> list[int]:
        """Return the accesses with addresses that are not translated, the earliest first."""
        steps = self.function.steps
        if own is not None and not self.rule_set.results_wait_for_addresses:
            read = {register for index in rows for register in read_registers(steps[index].instruction)}
            if not read.isdisjoint(steps[own].action.written):
                return []
        return sorted(rows)

    def _check_fence(self, state: OutstandingState, index: int, fence: FenceGroup) -> None:
        if fence.release is not None and fence.pivot is None:
            self._check_release(state, index, fence.release)
        rule = fence.acquire
        if rule is None:
            return
        if not rule.invalidates:
            for _failure, message in self.release_failures(state, rule):
                self._tell("wait-after", index, f"{rule.name}: {message} at its end", rule)
        for text in rule.invalidates:
            if not any(covers(done, text) for done in state.invalidated):
                message = f"{rule.name}: there is no {text} after the last load"
                self._tell("invalidate", index, message, rule)

    def _check_registers(self, state: OutstandingState, index: int) -> None:
        step = self.function.steps[index]
        flying = state.flying
        if flying and not step.needed.isdisjoint(flying):
            for register in step.needed:
                owners = flying.get(register)
                if owners:
                    uses = f"{self.named(index)} uses {register_text(register)}"
                    self._tell("value-in-flight", index, f"{uses} before {self.named(owners[0])} is complete", None)
                    break
        if step.is_return:
            for counter in self.names.returned:
                for source in state.pending.get(counter, {}):
                    if source != BEFORE and self.function.steps[source].action.operation:
                        message = f"the function returns before {self.named(source)} is complete ({counter})"
                        self._tell("return-in-flight", index, message, None)
                        return

    def named(self, index: int) -> str:
        """Return an instruction with its place in the function."""
        if index == BEFORE:
            return "an access of the caller"
        step = self.function.steps[index]
        offset = self.function.addresses[index] - self.function.addresses[0]
        if step.is_exit:
            return f"the end at +{offset:#x}"
        return f"{step.instruction.name} at +{offset:#x}"

    def _tell(self, failure: str, index: int, message: str, rule: Requirement | None) -> None:
        key = (failure, index, None if rule is None else (rule.name, rule.place))
        if self.is_reporting and self.report is not None and key not in self._told:
            self._told.add(key)
            self.report(failure, index, message, rule)


# --- A file -----------------------------------------------------------------------------------------------------------


class SourceLines:
    """Tells the source line of addresses, and what the calls of a line ask for."""

    def __init__(self, file: CodeObject, search: Sequence[str] = ()) -> None:
        self.file = file.debug
        self.reader = SourceTexts()
        self.reader.directories = (*self.reader.directories, *search)
        loaded = Loaded([LoadedCode(file, is_linked=True)])  # of files that are not, addresses are offsets
        self._sources = Execution(loaded, file.target.target).sources
        self._units: dict[str, Unit] = {}
        self._texts: dict[str, tuple[str, ...] | None] = {}
        self._macros: dict[str, dict[str, str]] = {}
        self.missing: list[str] = []
        """The source files that could not be read, with the reason."""
        self._has_columns: dict[int, bool] = {}
        self._intents: dict[tuple[str, int], tuple[MemoryIntent, ...]] = {}

    def place(self, address: int) -> SourcePosition | None:
        """Return where the code at an address comes from."""
        file = self.file
        if not file.has_dwarf:
            return None
        try:
            unit = file.dwarf.index.unit_at(address)
            table = None if unit is None else line_table(file, unit)
        except DwarfGpuError:
            return None
        if unit is None or table is None:
            return None
        spans = table.at(address)
        row = spans[-1].row if spans else None
        path = table.path(row.file, unit.directory or "") if row is not None and row.line else None
        if row is None or path is None:
            return None
        path = tidy(path)
        self._units.setdefault(path, unit)
        has_columns = self._has_columns.get(id(table))
        if has_columns is None:
            has_columns = self._has_columns[id(table)] = any(place & 0xFFFFFFFF for place in table.rows.places)
        return SourcePosition(path, row.line, row.column if row.column or not has_columns else UNKNOWN)

    def intents(self, place: SourcePosition) -> tuple[MemoryIntent, ...]:
        """Return what the calls of a line ask for."""
        key = (place.path, place.line)
        if key not in self._intents:
            lines = self._text(place.path)
            has_line = lines is not None and place.line <= len(lines)
            macros = self._macros.get(place.path, {})
            self._intents[key] = intents_of(lines, place.line, macros) if lines is not None and has_line else ()
        return self._intents[key]

    def body(self, place: SourcePosition, name: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return where the body of a function is that has a call as a statement of its own; None of other calls."""
        lines = self._text(place.path)
        if lines is None or name in self._macros[place.path]:
            return None
        return statement_body(lines, place.line, place.column, name)

    def _text(self, path: str) -> tuple[str, ...] | None:
        """Return the lines of a source file, which may be embedded; None if it cannot be read."""
        if path not in self._texts:
            source = self._sources.with_path(path, self._units.get(path))
            text = None if source is None else self.reader.read(source)
            self._texts[path] = None
            if source is None or text is None or text.missing is not None:
                self.missing.append(f"{path} was not found")
            elif text.digest is not None and source.digest not in (None, text.digest):
                self.missing.append(f"{path} has changed since the file was built")
            elif not has_own_lines("\n".join(text.lines)):
                self.missing.append(f"{path} changes its line numbers with #line")
            else:
                lines = tuple(without_comments("\n".join(text.lines)).split("\n"))
                self._texts[path], self._macros[path] = lines, macros_of(lines)
        return self._texts[path]

    @property
    def has_lines(self) -> bool:
        """Whether the file says which lines its code is from."""
        file = self.file
        return file.has_dwarf and any(line_table(file, unit) is not None for unit in file.dwarf.index.units)


@frozen
class CheckWish:
    """What a check is to be like."""

    rule_set: str = "llvm22"
    mode: str | None = None
    function: str | None = None
    expected: tuple[StatedIntent, ...] = ()
    from_source: bool = True
    search: tuple[str, ...] = ()
    required: int = 0
    """How many operations must have a known ordering."""


class MemoryCheck:
    """Checks the functions of a code object."""

    def __init__(self, file: CodeObject, wish: CheckWish | None = None, **wishes: Any) -> None:
        self.file = file
        self.wish = wish = wish or CheckWish(**wishes)
        self.processor = processor_of(file)
        self.family = family_of(self.processor)
        self.rule_set = wish.rule_set
        self.lines = SourceLines(file, wish.search)
        self.code = CodeFunctions(file, self.processor)
        self.instructions = 0
        self.operations = 0
        """How many accesses and fences were checked for their ordering."""
        self.known_bugs: Counter[str] = Counter()
        """How many operations lack what LLVM is known to leave out, by the name of the difference."""
        self.met: set[StatedIntent] = set()
        """The statements for which there is code."""

    def findings(self, name: str | None = None) -> Iterator[FileFinding]:
        """Yield the findings of all functions, or of one."""
        for function in self.code.functions(name):
            yield from self.function_findings(function)
        for statement in self.wish.expected:
            if statement not in self.met:
                place, ordering = f"{statement.path}:{statement.line}", statement.intent.ordering
                message = f"no access and no fence of {place} can be {ordering}"
                hint = "`dwarfgpu memmodel show FILE` lists accesses with their lines"
                raise NotFound("no_access", message, hint=hint)

    @cached_property
    def producers(self) -> tuple[str, ...]:
        """The compilers that the file names."""
        units = self.file.dwarf.index.units if self.file.has_dwarf else ()
        return tuple(dict.fromkeys(unit.producer for unit in units if unit.producer))

    @cached_property
    def fixed_bugs(self) -> tuple[str, ...]:
        """The known bugs that no compiler of the file has any more, so that they are findings."""
        found = [_CLANG.search(producer) for producer in self.producers]
        oldest = min((int(match[1]) if match else 0 for match in found), default=0)
        return tuple(bug.field for bug in KNOWN_BUGS if bug.fixed is not None and oldest >= bug.fixed)

    def mode_of(self, function: FunctionCode) -> str:
        """Return the execution mode of a function: that of the kernel, or that of the compiler."""
        known = family_rules(self.processor)
        chosen = self.wish.mode or function.mode
        return mode_of(known, chosen if chosen in known.caches or self.wish.mode else None)

    def function_findings(self, function: FunctionCode) -> list[FileFinding]:
        self.instructions += len(function.steps)
        findings: list[FileFinding] = []
        requirements, fences = self.required(function)
        self.operations += len(requirements) + len(fences)

        def report(failure: str, index: int, message: str, rule: Requirement | None) -> None:
            known = RULES[failure]
            address = function.addresses[index]
            place = rule.place if rule is not None else self.lines.place(address)
            clause = rule.cell.clause if rule is not None else known.clause
            source = None if place is None else (place.path, place.line)
            at = self.file.name, ".text", address, (source_name(function.name),), source
            findings.append(FileFinding(known, known.severity, message, clause, *at, None))

        rows = {index: (("", rule),) for index, rule in requirements.items()}
        fixed: dict[str, Any] = dict.fromkeys(self.fixed_bugs, True)
        rule_set = evolve(family_rules(self.processor, self.rule_set), **fixed)
        checked = CheckedFunction(function, rows, fences, report, rule_set=rule_set)
        checked.check()
        self.known_bugs.update(name for name, _index in checked.known_bugs)
        findings.sort(key=lambda finding: finding.offset or 0)
        return findings

    # --- What is required ---------------------------------------------------------------------------------------------

    def required(self, function: FunctionCode) -> tuple[dict[int, Requirement], list[FenceGroup]]:
        """Return what the accesses and fences of a function must be."""
        requirements: dict[int, Requirement] = {}
        if not (self.wish.from_source or self.wish.expected):
            return requirements, []
        mode = self.mode_of(function)
        fences: list[tuple[int, MemoryIntent, SourcePosition]] = []
        heads = clause_heads(function)
        for index, step in enumerate(function.steps):
            action = step.action
            if heads.get(index, index) != index:
                continue  # all instructions of a clause have the line of the first
            is_barrier = step.instruction.name.startswith("s_barrier")
            is_fence = bool(action.waits or action.write_back or action.invalidate) or step.instruction.name == "s_nop"
            if not (action.is_shared or is_fence or is_barrier):
                continue
            place = self.lines.place(function.addresses[index])
            if place is None:
                continue
            for intent in self._intents(place):
                if intent.kind in {FENCE, BARRIER}:
                    if not action.is_shared and _is_inside(intent, place):
                        fences.append((index, intent, place))
                elif action.is_shared:
                    made = self._requirement(function, mode, index, intent, place)
                    if made is not None:
                        requirements[index] = made
                elif not intent.kind and is_fence:
                    fences.append((index, intent, place))
        self._require_in_clauses(function, mode, heads, requirements)
        with_access = {rule.intent for rule in requirements.values()}
        groups = [row for row in fences if row[1].kind or row[1] not in with_access]
        return requirements, [*self._fences(function, mode, groups), *self._lost_fences(function, mode, groups)]

    def _lost_fences(
        self, function: FunctionCode, mode: str, rows: list[tuple[int, MemoryIntent, SourcePosition]]
    ) -> Iterator[FenceGroup]:
        """Yield the fences of the source that have no instruction where they must be.

        That is known of a fence that is a statement of its own in the body of a function: between the last access
        before it and the first one after it, if both are in one block, and the code has the order of the source.
        """
        accesses: list[tuple[int, SourcePosition]] = []
        for index, step in enumerate(function.steps):
            place = self.lines.place(function.addresses[index]) if step.action.is_shared else None
            if place is not None and place.column > 0:
                accesses.append((index, place))
        if not accesses or not self.wish.from_source:
            return
        for path in {place.path for _index, place in accesses}:
            lines = [place.line for _index, place in accesses if place.path == path]
            for line in range(min(lines), max(lines) + 1) if max(lines) - min(lines) <= MOST_LINES else ():
                for intent in self.lines.intents(SourcePosition(path, line, 0)):
                    place = SourcePosition(path, line, intent.first)
                    between = self._around(function, accesses, place, intent.text) if intent.kind == FENCE else None
                    is_there = between is not None and any(row[1] is intent and row[0] in between for row in rows)
                    if between is not None and not is_there:
                        yield self._fence(function, mode, [between.start], intent, place)

    def _around(
        self, function: FunctionCode, accesses: list[tuple[int, SourcePosition]], place: SourcePosition, name: str
    ) -> range | None:
        """Return the instructions from the last access before a fence to the first one after it, if that is certain."""
        body = self.lines.body(place, name)
        if body is None:
            return None
        sides: tuple[list[int], list[int]] = [], []
        for index, other in accesses:
            if other.path == place.path and body[0] <= (other.line, other.column) <= body[1]:
                sides[(other.line, other.column) > (place.line, place.column)].append(index)
        before, after = sides
        if not before or not after or max(before) > min(after):
            return None
        first, last = max(before), min(after)
        block = next(block for block in function.blocks if block.first <= first < block.stop)
        is_alone = not any(step.action.is_shared or step.is_call for step in function.steps[first + 1 : last])
        return range(first, last) if last < block.stop and is_alone else None

    def _require_in_clauses(
        self, function: FunctionCode, mode: str, heads: dict[int, int], requirements: dict[int, Requirement]
    ) -> None:
        """Give accesses in clauses, which have the line of the first one, the operations that no access has, in order.

        An access with cache bits is no plain one. If those are as many as the operations that need some, and each has
        what its operation needs, they are these operations: compilers keep them in order. Of others nothing is known.
        """
        members = [index for index, head in heads.items() if index != head and index not in requirements]
        members = [index for index in members if function.steps[index].action.is_shared]
        if not members or not self.wish.from_source:
            return
        known = [place for address in function.addresses if (place := self.lines.place(address)) is not None]
        path = known[0].path if known else ""
        lines = [place.line for place in known if place.path == path]
        if not lines or max(lines) - min(lines) > MOST_LINES:
            return
        taken = {(rule.place.path, rule.place.line, rule.intent.first) for rule in requirements.values() if rule.place}
        operations = [
            (SourcePosition(path, line, intent.first), intent)
            for line in range(min(lines), max(lines) + 1)
            for intent in self.lines.intents(SourcePosition(path, line, 0))
            if intent.kind in {"load", "store", "rmw"} and (path, line, intent.first) not in taken
        ]
        if len(members) * len(operations) > MOST_PAIRS:
            return
        made = {
            (index, number): rule
            for index in members
            for number, (place, intent) in enumerate(operations)
            if (rule := self._requirement(function, mode, index, intent, place)) is not None and rule.bits
        }
        fitting = {key for key, rule in made.items() if has_bits(function.steps[key[0]].action.bits, rule.bits)}
        pairs = list(zip(sorted({key[0] for key in fitting}), sorted({key[1] for key in made}), strict=False))
        if len({key[0] for key in fitting}) == len({key[1] for key in made}) and fitting.issuperset(pairs):
            requirements.update((index, made[index, number]) for index, number in pairs)

    def _intents(self, place: SourcePosition) -> Iterator[MemoryIntent]:
        for statement in self.wish.expected:
            is_file = place.path == statement.path or f"/{place.path}".endswith("/" + statement.path.lstrip("/"))
            if statement.line == place.line and is_file:
                yield statement.intent
        if self.wish.from_source:
            yield from self.lines.intents(place)

    def _requirement(
        self, function: FunctionCode, mode: str, index: int, intent: MemoryIntent, place: SourcePosition
    ) -> Requirement | None:
        """Return what an access must be for an intent; None if the intent is not about it."""
        action = function.steps[index].action
        operation = action.operation
        kind = "rmw" if operation.startswith("rmw") else operation
        is_elsewhere = place.column and intent.first and place.column != intent.first
        if intent.kind and (kind != intent.kind or is_elsewhere):
            return None
        if intent.ordering not in ORDERINGS_OF[operation]:
            return None
        self._meet(intent)
        space = action.space
        if space == GENERIC and function.major < 9:
            space = "global"  # accesses that are known to be global are flat ones, too
        return requirement(
            cell(self.family, mode, self.rule_set, operation, intent.ordering, intent.scope, space), intent, place
        )

    def _fences(
        self, function: FunctionCode, mode: str, rows: list[tuple[int, MemoryIntent, SourcePosition]]
    ) -> Iterator[FenceGroup]:
        """Yield the instructions of fences: those of one call that nothing but waits separates."""
        groups: list[tuple[MemoryIntent, SourcePosition, list[int]]] = []
        for index, intent, place in rows:
            if groups and groups[-1][0] is intent and _is_quiet(function, groups[-1][2][-1] + 1, index):
                groups[-1] = intent, place, [*groups[-1][2], index]
            else:
                groups.append((intent, place, [index]))
        for intent, place, indices in groups:
            yield self._fence(function, mode, indices, intent, place)

    def _meet(self, intent: MemoryIntent) -> None:
        """Note that there is code for what a user states."""
        self.met.update(statement for statement in self.wish.expected if statement.intent is intent)

    def _fence(
        self, function: FunctionCode, mode: str, indices: list[int], intent: MemoryIntent, place: SourcePosition
    ) -> FenceGroup:
        self._meet(intent)

        def made(ordering: str) -> Requirement:
            known = cell(self.family, mode, self.rule_set, "fence", ordering, intent.scope, intent.spaces)
            return requirement(known, intent, place)

        barriers = (index for index in indices if function.steps[index].instruction.name.startswith("s_barrier"))
        pivot = next(barriers, None)
        release = None if intent.ordering in {"acquire", "monotonic"} else made("release")
        acquire = made("acquire") if intent.ordering in ACQUIRES else None
        return FenceGroup(indices[0], indices[-1], pivot, release, acquire)


def _is_quiet(function: FunctionCode, first: int, stop: int) -> bool:
    """Return whether some instructions access nothing, and are all executed one after the other."""
    steps = function.steps[first:stop]
    quiet = all(not (step.action.operation or step.is_exit or step.is_call) for step in steps)
    return quiet and stop - first <= 8 and not any(first <= block.first <= stop for block in function.blocks)


def clause_heads(function: FunctionCode) -> dict[int, int]:
    """Return for each access of a clause (``s_clause``) the first one of it."""
    heads: dict[int, int] = {}
    left = head = 0
    for index, step in enumerate(function.steps):
        if step.instruction.name == "s_clause":
            left, head = (step.instruction.operands[0].value & 63) + 1, -1
        elif left and step.action.counters:
            left -= 1
            head = index if head < 0 else head
            heads[index] = head
    return heads


def _is_inside(intent: MemoryIntent, place: SourcePosition) -> bool:
    """Return whether a column is in the text of a call."""
    return not intent.first or not place.column or intent.first <= place.column <= intent.last + 1


def processor_of(file: CodeObject) -> str:
    """Return the processor of a file."""
    processor = machine_of(file.image, file.target.target).processor
    if not processor:
        message = f"{file.name} has no code of an AMD GPU, so there is no memory model for it"
        raise Unsupported("no_memory_model", message, hint="name a code object, or an image in a file: FILE@gfx90a")
    return processor
