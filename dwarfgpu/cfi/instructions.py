"""Bytes to call frame instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu import budget
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.cfi import rules
from dwarfgpu.cfi.rules import ExpressionBytes
from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.encoding import Cursor, FrameFormat, read_operand, read_pointer
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.cfi.rules import RuleState


SPEC = "DWARF 5, 7.24"


@frozen
class DecodedInstruction:
    """One instruction, with its operands."""

    row: CallFrameInstruction
    operands: tuple[Any, ...]
    """Numbers, what is factored in bytes; for an expression its `ExpressionBytes`. The row says what they are."""
    offset: int
    end: int
    """The start of the next instruction."""

    @property
    def name(self) -> str:
        return self.row.name

    def pairs(self) -> Iterator[tuple[CfaOperand, Any]]:
        return zip(self.row.operands, self.operands, strict=True)


@frozen
class Instructions:
    """The instructions of an entry, and the ``fault`` after the last one if the rest cannot be decoded."""

    instructions: tuple[DecodedInstruction, ...]
    fault: DwarfGpuError | None = None

    def __iter__(self) -> Iterator[DecodedInstruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)


FREE_INSTRUCTIONS = 1 << 14
"""An entry has so many instructions; more, which may be a byte each, are paid from the budget."""


def decode(data: bytes, format: FrameFormat, *, section: str | None = None, offset: int = 0) -> Instructions:
    """Decode the instructions of an entry. ``offset`` is where they begin in the section."""
    decoded: list[DecodedInstruction] = []
    try:
        decoded.extend(instructions(data, format, section=section, offset=offset))
    except DwarfGpuError as error:
        return Instructions(tuple(decoded), error)
    return Instructions(tuple(decoded))


def instructions(
    data: bytes, format: FrameFormat, *, section: str | None = None, offset: int = 0
) -> Iterator[DecodedInstruction]:
    """Yield the instructions one by one, and raise the error of what cannot be decoded."""
    form, count = format.form, 0
    cursor = Cursor(data, byte_order=form.byte_order)
    factors = {"": 1, "code": format.code_alignment, "data": format.data_alignment, "-data": -format.data_alignment}

    def operand(operand: CfaOperand, opcode: int) -> Any:
        if operand.encoding == "low6":
            return (opcode & 0x3F) * factors[operand.factor]
        if operand.encoding == "block":
            block: bytes = read_operand("block", cursor, form)
            return ExpressionBytes(block, section, offset + cursor.position - len(block))
        if operand.encoding == "pointer":
            return _address(cursor, format, offset)
        return read_operand(operand.encoding, cursor, form) * factors[operand.factor]

    while cursor.position < cursor.end:
        start = cursor.position
        count += 1
        if count > FREE_INSTRUCTIONS:
            budget.spend(16)
        opcode = data[start]
        cursor.position = start + 1
        row = find(opcode)
        if row is None:
            message = f"{opcode:#04x} is not a call frame instruction"
            error: DwarfGpuError = IllFormed("unknown_instruction", message, spec=SPEC)
            raise error.at(section=section, offset=offset + start)
        try:
            values = tuple([operand(each, opcode) for each in row.operands])
        except DwarfGpuError as fault:
            fault.where.offset = offset + start  # the instruction counts, not the operand in it
            fault.where.operation = row.name
            raise fault.at(section=section) from None
        yield DecodedInstruction(row, values, offset + start, offset + cursor.position)


def _address(cursor: Cursor, how: FrameFormat, offset: int) -> int:
    """Read a target address, encoded like the location of the entry."""
    if how.pointers == dw.DW_EH_PE_omit:
        raise IllFormed("bad_augmentation", "the augmentation omits addresses", spec=SPEC)
    bases = evolve(how.bases, section=how.bases.section + offset)
    pointer = read_pointer(cursor, how.pointers, how.form, bases)
    if pointer.indirect:
        message = f"the location is stored in memory, at {pointer.address:#x}"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    return pointer.address


# --- The table of call frame instructions -------------------------------------------------------------------------
# A row is declared by decorating the function that is its meaning: what it does to the row of rules under
# construction (`dwarfgpu.cfi.rules.RuleState`). Decoding, listing and running all read the rows; no second list
# of instructions exists.

KINDS: dict[str, tuple[str, str, str]] = {
    # kind: (what it is, how it is encoded, what it is multiplied by)
    "register": ("register", "uleb", ""),
    "register6": ("register", "low6", ""),
    "delta6": ("delta", "low6", "code"),
    "delta1": ("delta", "u1", "code"),
    "delta2": ("delta", "u2", "code"),
    "delta4": ("delta", "u4", "code"),
    "delta8": ("delta", "u8", "code"),
    "address": ("address", "pointer", ""),
    "offset": ("offset", "uleb", ""),
    "factored": ("offset", "uleb", "data"),
    "sfactored": ("offset", "sleb", "data"),
    "negated": ("offset", "uleb", "-data"),
    "space": ("space", "uleb", ""),
    "expression": ("expression", "block", ""),
    "size": ("size", "uleb", ""),
    "number": ("number", "uleb", ""),
    "sdelta": ("number", "sleb", "code"),
}
"""The kinds of operands (DWARF 5, 7.24, and the sections of the instructions). ``low6`` is part of the opcode."""

F = TypeVar("F", bound="Callable[..., None]")


@frozen
class CfaOperand:
    """An operand: its letter in the text and its kind, one of `KINDS`."""

    name: str
    kind: str

    @property
    def role(self) -> str:
        """The role: a register, delta, address, offset, space, expression, size or number.

        Deltas and offsets are in bytes: what the encoding has factored out is multiplied in.
        """
        return KINDS[self.kind][0]

    @property
    def encoding(self) -> str:
        return KINDS[self.kind][1]

    @property
    def factor(self) -> str:
        """``code`` or ``data`` for code_alignment_factor and data_alignment_factor; empty for none."""
        return KINDS[self.kind][2]


@frozen
class CallFrameInstruction:
    """A row of the table."""

    name: str
    code: int
    """The opcode; its low six bits are 0 where they hold an operand."""
    operands: tuple[CfaOperand, ...]
    run: Callable[..., None]
    """The function that does the instruction: called with the state and the operands."""
    spec: str


_ROWS: dict[int, CallFrameInstruction] = {}


def instruction(code: int, spec: str, *, operands: str = "") -> Callable[[F], F]:
    """Declare a row."""
    name = name_of("DW_CFA", code)

    def declare(function: F) -> F:
        pairs = tuple(CfaOperand(*item.split(":")) for item in operands.split())
        if code in _ROWS:
            raise AssertionError(f"{name} ({code:#x}) has two rows")
        _ROWS[code] = CallFrameInstruction(name, code, pairs, function, spec)
        return function

    return declare


def find(opcode: int) -> CallFrameInstruction | None:
    """Return the row of an opcode byte."""
    return _ROWS.get(opcode & 0xC0 or opcode)


def rows() -> list[CallFrameInstruction]:
    """Return all rows, in the order of the text."""
    return list(_ROWS.values())


# --- Row creation (A.6.4.2.1, DWARF 5 section 6.4.2.1) ------------------------------------------------------------


@instruction(dw.DW_CFA_set_loc, "DWARF 5, 6.4.2.1 (1)", operands="A:address")
def _set_loc(state: RuleState, address: int) -> None:
    """Begin a row at the address A, which is greater than the current one."""
    if address <= state.location_for("DW_CFA_set_loc"):
        message = f"{address:#x} is not greater than the current location {state.location:#x}"
        raise IllFormed("location_goes_backwards", message, spec="DWARF 5, 6.4.2.1 (1)")
    state.go_to(address)


@instruction(dw.DW_CFA_advance_loc, "DWARF 5, 6.4.2.1 (2)", operands="D:delta6")
@instruction(dw.DW_CFA_advance_loc1, "DWARF 5, 6.4.2.1 (3)", operands="D:delta1")
@instruction(dw.DW_CFA_advance_loc2, "DWARF 5, 6.4.2.1 (4)", operands="D:delta2")
@instruction(dw.DW_CFA_advance_loc4, "DWARF 5, 6.4.2.1 (5)", operands="D:delta4")
@instruction(dw.DW_CFA_MIPS_advance_loc8, "MIPS/IRIX", operands="D:delta8")
def _advance_loc(state: RuleState, delta: int) -> None:
    """Begin a row D bytes after the current location."""
    state.go_to(state.location_for("an advance") + delta)


# --- CFA definition (A.6.4.2.2) -----------------------------------------------------------------------------------


@instruction(dw.DW_CFA_def_cfa, "A.6.4.2.2 (1)", operands="R:register B:offset")
@instruction(dw.DW_CFA_def_cfa_sf, "A.6.4.2.2 (2)", operands="R:register B:sfactored")
def _def_cfa(state: RuleState, register: int, offset: int) -> None:
    """Define the CFA as B bytes from the address in R, in the default address space."""
    state.cfa = rules.RegisterOffset(register, offset, state.default_space)


@instruction(dw.DW_CFA_LLVM_def_aspace_cfa, "A.6.4.2.2 (3)", operands="R:register B:offset AS:space")
@instruction(dw.DW_CFA_LLVM_def_aspace_cfa_sf, "A.6.4.2.2 (4)", operands="R:register B:sfactored AS:space")
def _def_aspace_cfa(state: RuleState, register: int, offset: int, space: int) -> None:
    """Define the CFA as B bytes from the address in R, in the address space AS."""
    state.check_space(space)
    state.cfa = rules.RegisterOffset(register, offset, space)


@instruction(dw.DW_CFA_def_cfa_register, "A.6.4.2.2 (5)", operands="R:register")
def _def_cfa_register(state: RuleState, register: int) -> None:
    """Define the CFA from R, with the offset and the address space that it has."""
    old = state.cfa_with_register()
    state.cfa = rules.RegisterOffset(register, old.offset, old.space)


@instruction(dw.DW_CFA_def_cfa_offset, "A.6.4.2.2 (6)", operands="B:offset")
@instruction(dw.DW_CFA_def_cfa_offset_sf, "A.6.4.2.2 (7)", operands="B:sfactored")
def _def_cfa_offset(state: RuleState, offset: int) -> None:
    """Define the CFA as B bytes from the register that it has, in the address space that it has."""
    old = state.cfa_with_register()
    state.cfa = rules.RegisterOffset(old.register, offset, old.space)


@instruction(dw.DW_CFA_def_cfa_expression, "A.6.4.2.2 (8)", operands="E:expression")
def _def_cfa_expression(state: RuleState, block: rules.ExpressionBytes) -> None:
    """Define the CFA as the location that E gives."""
    state.cfa = rules.CfaExpression(block)


# --- Register rules (A.6.4.2.3) -----------------------------------------------------------------------------------


def _declare(rule: Callable[..., rules.Rule], *declared: tuple[int, str, str]) -> None:
    """Declare instructions that give a register a rule, whose fields are the operands after the register."""

    def run(state: RuleState, register: int, *fields: Any) -> None:
        state.set_rule(register, rule(*fields))

    for code, spec, letters in declared:
        instruction(code, spec, operands=letters)(run)


_declare(rules.UndefinedRule, (dw.DW_CFA_undefined, "A.6.4.2.3 (1)", "R:register"))
_declare(rules.SameValue, (dw.DW_CFA_same_value, "A.6.4.2.3 (2)", "R:register"))
_declare(
    rules.Offset,
    (dw.DW_CFA_offset, "A.6.4.2.3 (3)", "R:register6 B:factored"),
    (dw.DW_CFA_offset_extended, "A.6.4.2.3 (4)", "R:register B:factored"),
    (dw.DW_CFA_offset_extended_sf, "A.6.4.2.3 (5)", "R:register B:sfactored"),
    (dw.DW_CFA_GNU_negative_offset_extended, "LSB 5.0, 10.5.2", "R:register B:negated"),
)
_declare(
    rules.ValOffset,
    (dw.DW_CFA_val_offset, "A.6.4.2.3 (6)", "R:register B:factored"),
    (dw.DW_CFA_val_offset_sf, "A.6.4.2.3 (7)", "R:register B:sfactored"),
)
_declare(rules.RegisterRule, (dw.DW_CFA_register, "A.6.4.2.3 (8)", "R1:register R2:register"))
_declare(rules.ExpressionRule, (dw.DW_CFA_expression, "A.6.4.2.3 (9)", "R:register E:expression"))
_declare(rules.ValExpression, (dw.DW_CFA_val_expression, "A.6.4.2.3 (10)", "R:register E:expression"))


@instruction(dw.DW_CFA_restore, "A.6.4.2.3 (11)", operands="R:register6")
@instruction(dw.DW_CFA_restore_extended, "A.6.4.2.3 (12)", operands="R:register")
def _restore(state: RuleState, register: int) -> None:
    """Restore the rule that the initial instructions of the CIE gave R."""
    state.restore_rule(register)


# --- Row state (A.6.4.2.4, DWARF 5 section 6.4.2.4) ---------------------------------------------------------------


@instruction(dw.DW_CFA_remember_state, "DWARF 5, 6.4.2.4 (1)")
def _remember_state(state: RuleState) -> None:
    """Push the rules on a stack."""
    state.remember()


@instruction(dw.DW_CFA_restore_state, "DWARF 5, 6.4.2.4 (2)")
def _restore_state(state: RuleState) -> None:
    """Pop the rules from the stack."""
    state.restore()


# --- Padding (A.6.4.2.5), and what changes no rule here -----------------------------------------------------------


@instruction(dw.DW_CFA_nop, "DWARF 5, 6.4.2.5")
@instruction(dw.DW_CFA_GNU_args_size, "LSB 5.0, 10.5.2", operands="N:size")  # of arguments on the stack, for exceptions
@instruction(dw.DW_CFA_GNU_window_save, "SPARC; AArch64")  # a register window, or whether the return address is signed
@instruction(dw.DW_CFA_AARCH64_negate_ra_state_with_pc, "AArch64")  # whether it is signed, with this place
@instruction(dw.DW_CFA_AARCH64_set_ra_state, "AArch64", operands="S:number D:sdelta")
def _keep(state: RuleState, *operands: int) -> None:
    """Change no rule."""
