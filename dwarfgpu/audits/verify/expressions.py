"""The checks of expressions: each by itself along every path, and its operands in the file that it is in."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from dwarfgpu import dialects
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.attribute_rules import SINGLE
from dwarfgpu.audits.verify.file_code import FileCode
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, Problem, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import verify
from dwarfgpu.expr.instruction import Expression, Instruction, decode, operands_of
from dwarfgpu.expr.known_entries import COMPOSITE, IMPLICIT, REGISTER, UNDEFINED
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import EM_X86_64
from dwarfgpu.program.code.loaded import HAS_TYPES, LoadedCode
from dwarfgpu.program.code.repairs import ALL, Site, may_be_idiom, read_as_meant, repairs_of
from dwarfgpu.program.types.model import known_size
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from dwarfgpu.audits.verify.host_code import HostCode
    from dwarfgpu.encoding import Format
    from dwarfgpu.expr.context import ResultKind
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

    _Misfit: TypeAlias = tuple[Instruction, str, dict[str, object]]
    """An operation, the rule that it breaks, and the values for the words of the rule."""

_DECODE = "write the bytes of the operations that the dialect has, or choose the dialect they are written in"
_STACK = "push what the operation needs before it"

RULES = rules(
    "expression",
    ("unknown-operation", ERROR, "DWARF 5, 7.7.1", "The dialect defines each operation.", _DECODE),
    ("truncated", ERROR, "DWARF 5, 7.7", "The last operation has all of its operands.", _DECODE),
    ("leb128-overflow", ERROR, "DWARF 5, 7.6", "Numbers fit in 64 bits.", _DECODE),
    ("stack-underflow", ERROR, "A.2.5.4", "Each operation finds the entries that it needs.", _STACK),
    ("wrong-kind", ERROR, "A.2.5.4", "The entries have the kinds that the operation needs.",
     "put a location where a location is needed, and a value where a value is"),
    ("type-mismatch", ERROR, "A.2.5.4.3.2", "Both operands of an operation have the same type.",
     "convert one of them with DW_OP_convert"),
    ("incomplete-composite", ERROR, "A.2.5.4.4.6", "A composite is used when it is complete.",
     "end it with DW_OP_LLVM_piece_end"),
    ("bad-piece", ERROR, "A.2.5.4.4.6", "Pieces follow each other, and their storage is large enough.",
     "write a location, then its piece"),
    ("piece-size", ERROR, "DWARF 5, 2.6.1.2", "The pieces of an object are not larger than the object.",
     "write the sizes of the parts", "the pieces have {bits} bits, the object {size} bytes"),
    ("bad-branch", ERROR, "A.2.5.4.2 (3)", "A branch goes to the start of an operation, or to the end.",
     "count the bytes from the end of the branch"),
    ("bad-address-space", ERROR, "A.2.5.4.4.3", "The target defines each address space.",
     "take a number that `dwarfgpu targets` shows for the processor"),
    ("bad-size", ERROR, "A.2.5.4.4.1", "A value that is read has one byte to an address.",
     "read it in parts, or with a type"),
    ("bad-operand", ERROR, "A.2.5.4.4.6", "Operands are in the range of the operation.", "correct the operand"),
    ("bad-result-kind", ERROR, "A.2.5.4", "The result is what the attribute needs: a location or a value.",
     "end a computed value with DW_OP_stack_value"),
    ("not-memory", ERROR, "A.3.3.5", "Frame bases, return addresses and static links are in memory.",
     "describe the memory, or for a frame base the register that holds its address", "the result is {kinds}",
     "the result is the same in all frames"),
    ("after-location", ERROR, "DWARF 5, 2.6.1", "Only a piece follows an operation that gives a whole location.",
     "remove the operations after it"),
    ("register-unavailable", ERROR, "A.2.5.4.4.4", "The target defines each register.",
     "take a number of the DWARF register mapping for the processor and the wave size"),
    ("read-past-storage", ERROR, "A.2.5.4.3.4 (4)", "Nothing is read past the end of a register or another storage.",
     "read at most the bits after the offset"),
    ("offset-out-of-storage", ERROR, "A.2.5.4.4.1", "An offset stays in the storage of the location.",
     "correct the offset"),
    ("division-by-zero", ERROR, "DWARF 5, 2.5.1.4", "No constant is divided by 0.", "correct the divisor"),
    ("limit-exceeded", ERROR, "A.2.5.4.2", "Every loop can end, and the stack is bounded.",
     "add a way out of the loop"),
    ("not-allowed-in-cfi", ERROR, "A.6.4.2", "Call frame information uses only what it may depend on.",
     "write registers and memory, not what the frame describes"),
    ("deprecated", WARNING, "A.2.5.4", "No operation is deprecated.", "write the operation that replaces it"),
    ("unreachable", WARNING, "A.2.5.4.2", "Some path reaches each operation.", "remove the operations"),
    ("ill-formed", ERROR, "A.2.5", "An expression keeps the rules of the text.", "correct the expression"),
    ("doubtful", WARNING, "A.2.5", "An expression means what it says whatever the machine holds.",
     "make the expression independent of it, or leave it if the machine is known"),
    ("type-operand", ERROR, "A.2.5.4.3.1 (7)", "The type of an operation is a DW_TAG_base_type of the unit.",
     "refer to the base type by its offset in the unit", "{name} names the type at {offset:#x}: {reason}",
     "{name} names {tag} at {offset:#x}, not a base type"),
    ("constant-size", ERROR, "A.2.5.4.3.1 (7)", "A typed constant has as many bytes as its type.",
     "write as many bytes as DW_AT_byte_size says", "the constant has {size} bytes, its type {expected}"),
    ("type-size", ERROR, "A.2.5.4.3.4 (4)", "A typed read has the size of its type.",
     "write DW_AT_byte_size of the type as the size", "{name} reads {size} bytes of a type with {expected} bytes"),
    ("call-target", ERROR, "A.2.5.4.2 (5)", "A called entry exists.", "refer to an entry with a DW_AT_location",
     "{name} refers to {offset:#x}: {reason}"),
    ("call-cycle", ERROR, "A.2.5.4.2 (5)", "Called expressions do not lead back to their caller.", "break the cycle",
     "{name} calls {target}, whose location calls the one it is in"),
    ("pointer-target", ERROR, "A.2.5.4.4.5 (3)", "An implicit pointer points to an entry.",
     "refer to the entry of the object that the pointer points to", "{name} refers to {offset:#x}: {reason}"),
    ("address-index", ERROR, "DWARF 5, 7.27", "An index of an address is in the table of the unit.",
     "emit the address to .debug_addr, and DW_AT_addr_base in the unit", "{name} has the index {index}: {reason}"),
    ("no-frame-base", ERROR, "A.2.5.4.4.3 (6)", "The function of a DW_OP_fbreg has a DW_AT_frame_base.",
     "give the function a DW_AT_frame_base", "no function around the entry has a DW_AT_frame_base"),
    ("frame-base-cycle", ERROR, "A.3.3.5 (2)", "A frame base does not depend on the frame base.",
     "write the register that holds it", "the frame base is computed from the frame base"),
    ("no-lanes", ERROR, "A.2.5.4.3.1 (8)", "The lane is asked for only where threads have lanes.",
     "remove DW_OP_LLVM_push_lane", "threads of {target} have no lanes"),
)  # fmt: skip

_OF_TYPE = frozenset((
    *("DW_OP_const_type", "DW_OP_regval_type", "DW_OP_deref_type", "DW_OP_xderef_type", "DW_OP_convert"),
    *("DW_OP_reinterpret", "DW_OP_GNU_const_type", "DW_OP_GNU_regval_type", "DW_OP_GNU_deref_type"),
    *("DW_OP_GNU_convert", "DW_OP_GNU_reinterpret"),
))  # fmt: skip
_CALLS = frozenset(("DW_OP_call2", "DW_OP_call4", "DW_OP_call_ref"))
_POINTERS = frozenset((
    *("DW_OP_implicit_pointer", "DW_OP_GNU_implicit_pointer", "DW_OP_LLVM_aspace_implicit_pointer"),
    "DW_OP_GNU_variable_value",
))  # fmt: skip
_INDICES = frozenset(("DW_OP_addrx", "DW_OP_constx", "DW_OP_GNU_addr_index", "DW_OP_GNU_const_index"))
_PIECES = {"DW_OP_piece": 8, "DW_OP_bit_piece": 1}
"""The operations that give a part of an object a place, and the bits that their sizes count."""
_IN_CONTEXT = _OF_TYPE | _CALLS | _POINTERS | _INDICES | {"DW_OP_fbreg", "DW_OP_LLVM_push_lane"} | {*_PIECES}
WITH_FRAMES = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_entry_point))
MAX_CALLS = 32
"""So many calls in each other are followed."""
MAX_KNOWN = 1 << 14
"""How many expressions are remembered: most are the same few bytes."""


@frozen
class ExpressionUse:
    """What an expression is for: the entries that the stack begins with, and what the result must be."""

    depth: int = 0
    want: ResultKind | None = None
    in_cfi: bool = False
    refused: frozenset[str] = frozenset()
    """The kinds of locations that the result must not be."""
    clause: str = "A.2.5.4"
    """The clause that says so."""


LOCATION, VALUE = ExpressionUse(0, "location"), ExpressionUse(0, "value")
ANY_RESULT = ExpressionUse()
_ELSEWHERE = frozenset((IMPLICIT, UNDEFINED, COMPOSITE))
USES: dict[str, ExpressionUse] = {
    **dict.fromkeys(
        ("DW_AT_location", "DW_AT_string_length",
         "DW_AT_data_location", "DW_AT_call_data_location", "DW_AT_LLVM_lane_pc", "DW_AT_LLVM_active_lane",
         "DW_AT_segment",
         "DW_AT_call_target", "DW_AT_call_target_clobbered"), LOCATION),
    **dict.fromkeys(("DW_AT_data_member_location", "DW_AT_vtable_elem_location"), ExpressionUse(1, "location")),
    **{
        name: ExpressionUse(0, "location", refused=refused, clause=SINGLE[name])
        for name, refused in (
            ("DW_AT_frame_base", _ELSEWHERE),
            ("DW_AT_return_addr", _ELSEWHERE | {REGISTER}),
            ("DW_AT_static_link", _ELSEWHERE | {REGISTER}),
        )
    },
    "DW_AT_use_location": ExpressionUse(2, "location"),
    **dict.fromkeys(
        ("DW_AT_byte_size", "DW_AT_bit_size", "DW_AT_byte_stride", "DW_AT_bit_stride", "DW_AT_lower_bound",
         "DW_AT_upper_bound", "DW_AT_count", "DW_AT_allocated", "DW_AT_associated", "DW_AT_call_value",
         "DW_AT_call_data_value", "DW_AT_GNU_call_site_value", "DW_AT_LLVM_iterations"), VALUE),
}  # fmt: skip
"""What the expressions of attributes are for (A.3 to A.5); those of other attributes may be anything."""

IN_TAG: dict[int, ExpressionUse] = {
    # "The stack contains ... the dimension" (DWARF 5, 5.13)
    dw.DW_TAG_generic_subrange: ExpressionUse(1),
    # called with what the caller has on its stack (A.2.5.4.2 (5))
    dw.DW_TAG_dwarf_procedure: ExpressionUse(32),
}
"""What the expressions in some entries are for."""


@frozen
class _Meant:
    """What the producer of an expression means, if that is not what it says."""

    idiom: str | None = None
    """The names of the repairs that tell it."""
    broken: frozenset[str] = frozenset()
    """The rules that are broken even so, by operations that no repair has added."""
    operations: frozenset[tuple[str, tuple[Any, ...]]] = frozenset()
    """The operations of the repaired expression."""
    is_open: bool = False
    """Whether the linked program may show that it has an idiom."""


_AS_WRITTEN = _Meant()
UNLINKED = "one that the linked program shows"
_OF_UNLINKED = frozenset(("expression-deprecated", "expression-no-frame-base"))
"""The rules that idioms break which only the linked program shows."""


def rule_of(finding: Finding) -> CheckRule:
    """Return the rule that a finding about an expression is about."""
    otherwise = "ill-formed" if finding.severity == ERROR else "doubtful"
    return RULES.get(finding.kind.replace("_", "-")) or RULES[otherwise]


class ByAnswers:
    """What follows from the answers to questions that are asked one after the other, each result worked out once."""

    def __init__(self) -> None:
        self._nodes: dict[Any, Any] = {}
        """By key a result that depends on nothing, or the first question, with what follows from each answer."""

    def of(self, key: Any, answer: Callable[..., Any], work_out: Callable[[Callable[..., Any]], Any]) -> Any:
        """Return the result for a key, no tuple; ``work_out`` gets the function that asks."""
        node = self._nodes.get(key)
        while type(node) is tuple:
            question, following = node
            node = following.get(answer(*question))
        if node is None:
            asked: dict[tuple[Any, ...], Any] = {}

            def ask(*question: Any) -> Any:
                if question not in asked:
                    asked[question] = answer(*question)
                return asked[question]

            node = work_out(ask)
            if len(self._nodes) >= MAX_KNOWN:
                self._nodes.clear()
            nodes = self._nodes
            for question, found in asked.items():
                nodes, key = nodes.setdefault(key, (question, {}))[1], found
            nodes[key] = node
        return node


class ExpressionChecks:
    """The checks of the expressions of a file. What is the same in many places is checked once."""

    def __init__(self, file: CodeObject, dialect: str | None = None) -> None:
        self.code = LoadedCode(file, dialect=dialect, repair=ALL, is_linked=True)
        known = file.target
        self.target = known.target if known.is_known else None
        self.rules = PRESETS[known.target.default_rules]
        self.has_lanes = known.target.execution_mask is not None or not known.is_known
        self.host: HostCode | None = None
        """The code of a file for x86-64 where its addresses are known."""
        if file.image.machine == EM_X86_64 and FileCode(file.image).are_known:
            from dwarfgpu.audits.verify.host_code import HostCode

            self.host = HostCode(file.image)
        self._function: tuple[Die | None, bool] = None, True
        """The last function that was asked for its frame base, and whether it has one."""
        self._known: dict[tuple[bytes, Format, ExpressionUse], tuple[Expression, list[Finding], bool]] = {}
        self._idioms = ByAnswers()
        self._sizes: dict[Die, int | None] = {}
        """The sizes of types, as repairs ask for them."""

    def checked(self, data: bytes, form: Format, use: ExpressionUse) -> tuple[Expression, list[Finding], bool]:
        """Return an expression, what is wrong with it by itself, and whether its operands depend on where it is."""
        key = data, form, use
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            expression = self.decoded(data, form)
            findings = self._findings(expression, use)
            if use.refused and not any(finding.severity == ERROR for finding in findings):
                kinds = verify.result_kinds(expression, rules=self.rules, target=self.target).kinds
                is_elsewhere = kinds <= use.refused
                is_number = REGISTER not in use.refused and len(expression.instructions) == 1 and not expression.needs
                if kinds and (is_elsewhere or is_number):  # a number is no frame; kernels have theirs at one in a space
                    words: dict[str, object] = {"kinds": " or ".join(sorted(kinds))} if is_elsewhere else {}
                    message = RULES["not-memory"].message(words)
                    findings.append(verify.Finding(ERROR, "not_memory", message, 0, spec=use.clause))
            if self.rules.name != "amd":  # the standard deprecates none of them
                findings = [finding for finding in findings if finding.kind != "deprecated"]
            in_context = any(each.operation.name in _IN_CONTEXT for each in expression.instructions)
            known = self._known[key] = expression, findings, in_context
        return known

    def _findings(self, expression: Expression, use: ExpressionUse) -> list[Finding]:
        """Return what is wrong with the operations of an expression and with the kind of its result."""
        how: dict[str, Any] = {"in_cfi": use.in_cfi, "initial_depth": use.depth, "result_kind": use.want}
        return verify.verify(expression, rules=self.rules, target=self.target, **how)

    def decoded(self, data: bytes, form: Format) -> Expression:
        """Decode an expression; the offsets of its operations count from its first byte."""
        return decode(data, self.code.dialect, form, known_in=dialects.known_in)

    def of_attribute(
        self, attribute: Attribute, data: bytes, place: tuple[str, int] | None, function: Callable[[], Die | None]
    ) -> Iterator[Problem]:
        """Yield what is wrong with an expression of an attribute.

        ``place`` is its section and offset, if it is not in the entry; ``function`` returns the function around that.
        """
        die = attribute.die
        unit = die.unit
        use = IN_TAG.get(die.tag) or USES.get(attribute.name, ANY_RESULT)
        expression, findings, in_context = self.checked(data, unit.format, use)
        in_unit = list(self._in_unit(expression, attribute, function)) if in_context else []
        if not findings and not in_unit:
            return
        if place is None:
            block = attribute.block()
            place = block.section, block.offset
        section, offset = place
        meant = cache(partial(self._meant, attribute, expression, use))  # for what is shown, once for all of that
        for finding in findings:
            problem = self._problem(finding, section, offset, die)
            yield evolve(problem, idiom=partial(_explained, meant, problem.rule))
        for instruction, rule, values in in_unit:
            problem = RULES.problem(rule, section, offset + instruction.offset, die, **values)
            yield evolve(problem, idiom=partial(_explained, meant, problem.rule, instruction))

    def of_frames(self, data: bytes, form: Format, use: ExpressionUse, section: str, offset: int) -> Iterator[Problem]:
        """Yield what is wrong with an expression of call frame information."""
        for finding in self.checked(data, form, use)[1]:
            yield self._problem(finding, section, offset, None)

    @staticmethod
    def _problem(finding: Finding, section: str, offset: int, die: Die | None) -> Problem:
        problem = Problem(rule_of(finding), finding.message, section, offset + finding.offset, die, finding.spec)
        return evolve(problem, severity=finding.severity, values={"operation": finding.operation})

    def _meant(self, attribute: Attribute, expression: Expression, use: ExpressionUse) -> _Meant:
        """Return what the producer of an expression means."""
        is_whole = self.code.file.image.is_linked and has_addresses(attribute.die.unit)
        try:
            meant = self._repaired(attribute, expression, use)
        except DwarfGpuError:
            return _AS_WRITTEN
        return evolve(meant, is_open=not is_whole and self._may_be_idiom(attribute, expression))

    def _may_be_idiom(self, attribute: Attribute, expression: Expression) -> bool:
        """Return whether a producer may mean something else; of other targets only operations with types are known."""
        is_known = self.code.file.is_amdgpu or not HAS_TYPES.isdisjoint(expression.data)
        return is_known and may_be_idiom(expression, attribute.name)

    def _repaired(self, attribute: Attribute, expression: Expression, use: ExpressionUse) -> _Meant:
        """Return what an expression means by its repairs."""
        if not self._may_be_idiom(attribute, expression):
            return _AS_WRITTEN
        die, site = attribute.die, self.code.site(expression, attribute)

        def answer(name: str, *operands: int) -> Any:
            return site.ask(name, *operands) if name != "size" else self._size(site, die)

        key = attribute.name, die.unit.producer, die.unit.format, use, expression.data
        found: _Meant = self._idioms.of(key, answer, lambda ask: self._read(expression, evolve(site, ask=ask), use))
        return found

    def _read(self, expression: Expression, site: Site, use: ExpressionUse) -> _Meant:
        """Return what an expression means at a place by its repairs."""
        meant = read_as_meant(expression, site, ALL)
        repairs = repairs_of(meant)
        if not repairs:
            return _AS_WRITTEN
        written = {None, *(each.name for each in expression.instructions)}
        wrong = [each for each in self._findings(meant, use) if each.operation in written]
        return _Meant(
            ", ".join(repair.name for repair in repairs),
            frozenset(rule_of(each).name for each in wrong),
            frozenset((each.name, each.operands) for each in meant.instructions),
        )

    def _size(self, site: Site, die: Die) -> int | None:
        """Return the bytes of the object of an expression, found once for each type."""
        try:
            attribute = die.find_number(dw.DW_AT_type)
            target = None if attribute is None else attribute.reference()
        except DwarfGpuError:
            target = None
        if target is None:
            size: int | None = site.ask("size")
            return size
        if target not in self._sizes:
            if len(self._sizes) >= MAX_KNOWN:
                self._sizes.clear()
            self._sizes[target] = site.ask("size")
        return self._sizes[target]

    # --- Operands that depend on the unit ---------------------------------------------------------------------------

    def _in_unit(
        self, expression: Expression, attribute: Attribute, function: Callable[[], Die | None]
    ) -> Iterator[_Misfit]:
        """Yield the operations whose operands do not fit the unit."""
        die, unit = attribute.die, attribute.die.unit
        yield from self._of_pieces(expression, attribute)
        for instruction in expression.instructions:
            name = instruction.operation.name
            if name in _OF_TYPE:
                yield from _of_type(instruction, unit)
            elif name in _CALLS or name in _POINTERS:
                yield from self._of_entry(instruction, unit, die)
            elif name in _INDICES:
                if has_addresses(unit):
                    yield from _of_index(instruction, unit)
            elif name == "DW_OP_fbreg":
                if attribute.name == "DW_AT_frame_base":
                    yield instruction, "frame-base-cycle", {}
                elif not self.has_frame_base(function(), die):
                    yield instruction, "no-frame-base", {}
            elif name == "DW_OP_LLVM_push_lane" and not self.has_lanes and self.target is not None:
                yield instruction, "no-lanes", {"target": self.target.name}

    def _of_pieces(self, expression: Expression, attribute: Attribute) -> Iterator[_Misfit]:
        """Yield that the pieces of a variable are larger than its type."""
        pieces = [each for each in expression.instructions if each.name in _PIECES]
        if not pieces or attribute.name != "DW_AT_location" or expression.fault is not None:
            return
        bits = sum(_PIECES[each.name] * each.operands[0] for each in pieces)
        with suppress(DwarfGpuError):
            size = known_size(Types().type_of(attribute.die))
            if size and bits > 8 * size:
                yield pieces[-1], "piece-size", {"bits": bits, "size": size}

    def has_frame_base(self, function: Die | None, die: Die | None = None) -> bool:
        """Return whether a function has a frame base; outside of one only types may have that of another function."""
        if function is None:
            return die is None or die.tag != dw.DW_TAG_variable
        if function != self._function[0]:
            try:
                has_base = function.find_number(dw.DW_AT_frame_base) is not None
            except DwarfGpuError:  # which the check of entries reports
                has_base = True
            self._function = function, has_base
        return self._function[1]

    def _of_entry(self, instruction: Instruction, unit: Unit, die: Die) -> Iterator[_Misfit]:
        name = instruction.operation.name
        rule = "call-target" if name in _CALLS else "pointer-target"
        try:
            target = _referred(instruction, unit)
        except DwarfGpuError as error:
            offset = _operand(instruction, "DR")
            yield instruction, rule, {"name": name, "offset": offset, "reason": error.message}
            return
        if rule == "call-target" and self._leads_back(target, die, 0):
            yield instruction, "call-cycle", {"name": name, "target": target.name or target.tag_name}

    def _leads_back(self, target: Die, die: Die, depth: int) -> bool:
        """Return whether the expression of an entry calls, maybe through others, the one of another entry."""
        if target == die:
            return True
        location = target.find_number(dw.DW_AT_location)
        if depth >= MAX_CALLS or location is None or location.value_class not in ("exprloc", "block"):
            return False
        expression = self.decoded(location.block().data, target.unit.format)
        for instruction in expression.instructions:
            if instruction.operation.name in _CALLS:
                try:
                    if self._leads_back(_referred(instruction, target.unit), die, depth + 1):
                        return True
                except DwarfGpuError:
                    continue
        return False


def _explained(meant: Callable[[], _Meant], rule: CheckRule, at: Instruction | None = None) -> str | None:
    """Return the idiom that explains why a rule is broken, maybe by the operand of an operation."""
    found = meant()
    remains = rule.name in found.broken if at is None else (at.name, at.operands) in found.operations
    if found.idiom is not None and not remains:
        return found.idiom
    return UNLINKED if found.is_open and rule.name in _OF_UNLINKED else None


def has_addresses(unit: Unit) -> bool:
    """Return whether the addresses of a unit are known: a split unit has those of its skeleton (DWARF 5, 3.1.3)."""
    return not unit.is_split or unit.skeleton is not None


def _operand(instruction: Instruction, name: str) -> int:
    value: int = next(value for operand, value in operands_of(instruction) if operand.name == name)
    return value


def _referred(instruction: Instruction, unit: Unit) -> Die:
    for operand, value in operands_of(instruction):
        if operand.name == "DR":
            return unit.dwarf.die_at(value, unit.section) if operand.kind == "ref" else unit.die_at(value)
    raise AssertionError(instruction)


def _of_type(instruction: Instruction, unit: Unit) -> Iterator[_Misfit]:
    name = instruction.operation.name
    offset = _operand(instruction, "DR")
    if offset == 0 and (name.endswith(("convert", "reinterpret"))):  # the generic type (DWARF 5, 2.5.1.6)
        return
    try:
        die = unit.die_at(offset)
    except DwarfGpuError as error:
        yield instruction, "type-operand", {"name": name, "offset": offset, "reason": error.message}
        return
    if die.tag != dw.DW_TAG_base_type:
        yield instruction, "type-operand", {"name": name, "offset": offset, "tag": die.tag_name}
        return
    size_of_type = die.number(dw.DW_AT_byte_size)
    size = None if size_of_type is None or size_of_type.value_class != "constant" else size_of_type.unsigned()
    for operand, value in operands_of(instruction):
        if size is None:
            break
        if isinstance(value, bytes) and len(value) != size:
            yield instruction, "constant-size", {"size": len(value), "expected": size}
        elif operand.name == "S" and value != size:
            yield instruction, "type-size", {"name": name, "size": value, "expected": size}


def _of_index(instruction: Instruction, unit: Unit) -> Iterator[_Misfit]:
    name, index = instruction.operation.name, _operand(instruction, "I")
    try:
        unit.tables.address(index)
    except DwarfGpuError as error:
        yield instruction, "address-index", {"name": name, "index": index, "reason": error.message}
