"""The table of call frame instructions: one row for each, with everything about it.

A row is declared by decorating the function that is its meaning: what it does to the row of rules under construction
(`dwarfgpu.cfi.state.State`). Decoding, listing and running all read the rows; no second list of instructions exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attrs import frozen

from dwarfgpu.cfi import rules
from dwarfgpu.dwarf_constants import (
    DW_CFA_AARCH64_negate_ra_state_with_pc,
    DW_CFA_AARCH64_set_ra_state,
    DW_CFA_advance_loc,
    DW_CFA_advance_loc1,
    DW_CFA_advance_loc2,
    DW_CFA_advance_loc4,
    DW_CFA_def_cfa,
    DW_CFA_def_cfa_expression,
    DW_CFA_def_cfa_offset,
    DW_CFA_def_cfa_offset_sf,
    DW_CFA_def_cfa_register,
    DW_CFA_def_cfa_sf,
    DW_CFA_expression,
    DW_CFA_GNU_args_size,
    DW_CFA_GNU_negative_offset_extended,
    DW_CFA_GNU_window_save,
    DW_CFA_LLVM_def_aspace_cfa,
    DW_CFA_LLVM_def_aspace_cfa_sf,
    DW_CFA_MIPS_advance_loc8,
    DW_CFA_nop,
    DW_CFA_offset,
    DW_CFA_offset_extended,
    DW_CFA_offset_extended_sf,
    DW_CFA_register,
    DW_CFA_remember_state,
    DW_CFA_restore,
    DW_CFA_restore_extended,
    DW_CFA_restore_state,
    DW_CFA_same_value,
    DW_CFA_set_loc,
    DW_CFA_undefined,
    DW_CFA_val_expression,
    DW_CFA_val_offset,
    DW_CFA_val_offset_sf,
    name_of,
)
from dwarfgpu.errors import IllFormed

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cfi.state import State

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
class Operand:
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
    operands: tuple[Operand, ...]
    run: Callable[..., None]
    """The function that does the instruction: called with the state and the operands."""
    effect: str
    """The part of the state that changes: ``location``, ``cfa``, ``register``, ``state`` or ``nothing``."""
    spec: str
    since: str = "2"
    """The DWARF version or the vendor that introduced it."""
    aliases: tuple[str, ...] = ()
    meaning: str = ""


_ROWS: dict[int, CallFrameInstruction] = {}
_NAMES: dict[str, CallFrameInstruction] = {}


def instruction(
    code: int,
    effect: str,
    spec: str,
    *,
    operands: str = "",
    since: str = "2",
    aliases: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Declare a row."""
    name = name_of("DW_CFA", code)

    def declare(function: F) -> F:
        pairs = tuple(Operand(*item.split(":")) for item in operands.split())
        meaning = (function.__doc__ or "").strip().partition("\n")[0]
        row = CallFrameInstruction(name, code, pairs, function, effect, spec, since, aliases, meaning)
        for known_name in (name, *aliases):
            if known_name in _NAMES or code in _ROWS:
                message = f"{known_name} ({code:#x}) has two rows"
                raise AssertionError(message)
            _NAMES[known_name] = row
        _ROWS[code] = row
        return function

    return declare


def find(opcode: int) -> CallFrameInstruction | None:
    """Return the row of an opcode byte."""
    return _ROWS.get(opcode & 0xC0 or opcode)


def named(name: str) -> CallFrameInstruction | None:
    """Return the row of a name or an alias."""
    return _NAMES.get(name)


def rows() -> list[CallFrameInstruction]:
    """Return all rows, in the order of the text."""
    return list(_ROWS.values())


# --- Row creation (A.6.4.2.1, DWARF 5 section 6.4.2.1) ---------------------------------------------------------------


@instruction(DW_CFA_set_loc, "location", "DWARF 5, 6.4.2.1 (1)", operands="A:address")
def _set_loc(state: State, address: int) -> None:
    """Begin a row at the address A, which is greater than the current one."""
    if address <= state.location_for("DW_CFA_set_loc"):
        message = f"{address:#x} is not greater than the current location {state.location:#x}"
        raise IllFormed("location_goes_backwards", message, spec="DWARF 5, 6.4.2.1 (1)")
    state.go_to(address)


@instruction(DW_CFA_advance_loc, "location", "DWARF 5, 6.4.2.1 (2)", operands="D:delta6")
@instruction(DW_CFA_advance_loc1, "location", "DWARF 5, 6.4.2.1 (3)", operands="D:delta1")
@instruction(DW_CFA_advance_loc2, "location", "DWARF 5, 6.4.2.1 (4)", operands="D:delta2")
@instruction(DW_CFA_advance_loc4, "location", "DWARF 5, 6.4.2.1 (5)", operands="D:delta4")
@instruction(DW_CFA_MIPS_advance_loc8, "location", "MIPS/IRIX", operands="D:delta8", since="MIPS")
def _advance_loc(state: State, delta: int) -> None:
    """Begin a row D bytes after the current location."""
    state.go_to(state.location_for("an advance") + delta)


# --- CFA definition (A.6.4.2.2) --------------------------------------------------------------------------------------


@instruction(DW_CFA_def_cfa, "cfa", "A.6.4.2.2 (1)", operands="R:register B:offset")
@instruction(DW_CFA_def_cfa_sf, "cfa", "A.6.4.2.2 (2)", operands="R:register B:sfactored", since="3")
def _def_cfa(state: State, register: int, offset: int) -> None:
    """Define the CFA as B bytes from the address in R, in the default address space."""
    state.cfa = rules.RegisterOffset(register, offset, state.default_space)


@instruction(
    DW_CFA_LLVM_def_aspace_cfa,
    "cfa",
    "A.6.4.2.2 (3)",
    operands="R:register B:offset AS:space",
    since="LLVM",
    aliases=("DW_CFA_def_aspace_cfa",),
)
@instruction(
    DW_CFA_LLVM_def_aspace_cfa_sf,
    "cfa",
    "A.6.4.2.2 (4)",
    operands="R:register B:sfactored AS:space",
    since="LLVM",
    aliases=("DW_CFA_def_aspace_cfa_sf",),
)
def _def_aspace_cfa(state: State, register: int, offset: int, space: int) -> None:
    """Define the CFA as B bytes from the address in R, in the address space AS."""
    state.check_space(space)
    state.cfa = rules.RegisterOffset(register, offset, space)


@instruction(DW_CFA_def_cfa_register, "cfa", "A.6.4.2.2 (5)", operands="R:register")
def _def_cfa_register(state: State, register: int) -> None:
    """Define the CFA from R, with the offset and the address space that it has."""
    old = state.cfa_with_register()
    state.cfa = rules.RegisterOffset(register, old.offset, old.space)


@instruction(DW_CFA_def_cfa_offset, "cfa", "A.6.4.2.2 (6)", operands="B:offset")
@instruction(DW_CFA_def_cfa_offset_sf, "cfa", "A.6.4.2.2 (7)", operands="B:sfactored", since="3")
def _def_cfa_offset(state: State, offset: int) -> None:
    """Define the CFA as B bytes from the register that it has, in the address space that it has."""
    old = state.cfa_with_register()
    state.cfa = rules.RegisterOffset(old.register, offset, old.space)


@instruction(DW_CFA_def_cfa_expression, "cfa", "A.6.4.2.2 (8)", operands="E:expression", since="3")
def _def_cfa_expression(state: State, block: rules.Block) -> None:
    """Define the CFA as the location that E gives."""
    state.cfa = rules.CfaExpression(block)


# --- Register rules (A.6.4.2.3) --------------------------------------------------------------------------------------


@instruction(DW_CFA_undefined, "register", "A.6.4.2.3 (1)", operands="R:register")
def _undefined(state: State, register: int) -> None:
    """Declare that R has no recoverable value."""
    state.set_rule(register, rules.Undefined())


@instruction(DW_CFA_same_value, "register", "A.6.4.2.3 (2)", operands="R:register")
def _same_value(state: State, register: int) -> None:
    """Declare that R has not been modified."""
    state.set_rule(register, rules.SameValue())


@instruction(DW_CFA_offset, "register", "A.6.4.2.3 (3)", operands="R:register6 B:factored")
@instruction(DW_CFA_offset_extended, "register", "A.6.4.2.3 (4)", operands="R:register B:factored")
@instruction(
    DW_CFA_offset_extended_sf,
    "register",
    "A.6.4.2.3 (5)",
    operands="R:register B:sfactored",
    since="3",
)
@instruction(
    DW_CFA_GNU_negative_offset_extended,
    "register",
    "LSB 5.0, 10.5.2",
    operands="R:register B:negated",
    since="GNU",
)
def _offset(state: State, register: int, offset: int) -> None:
    """Declare that R is saved B bytes from the CFA."""
    state.set_rule(register, rules.Offset(offset))


@instruction(DW_CFA_val_offset, "register", "A.6.4.2.3 (6)", operands="R:register B:factored", since="3")
@instruction(DW_CFA_val_offset_sf, "register", "A.6.4.2.3 (7)", operands="R:register B:sfactored", since="3")
def _val_offset(state: State, register: int, offset: int) -> None:
    """Declare that the value of R is the address B bytes from the CFA."""
    state.set_rule(register, rules.ValOffset(offset))


@instruction(DW_CFA_register, "register", "A.6.4.2.3 (8)", operands="R1:register R2:register")
def _register(state: State, register: int, other: int) -> None:
    """Declare that R1 is stored in R2."""
    state.set_rule(register, rules.Register(other))


@instruction(DW_CFA_expression, "register", "A.6.4.2.3 (9)", operands="R:register E:expression", since="3")
def _expression(state: State, register: int, block: rules.Block) -> None:
    """Declare that R is saved at the location that E gives."""
    state.set_rule(register, rules.Expression(block))


@instruction(
    DW_CFA_val_expression, "register", "A.6.4.2.3 (10)", operands="R:register E:expression", since="3"
)
def _val_expression(state: State, register: int, block: rules.Block) -> None:
    """Declare that the value of R is that of E."""
    state.set_rule(register, rules.ValExpression(block))


@instruction(DW_CFA_restore, "register", "A.6.4.2.3 (11)", operands="R:register6")
@instruction(DW_CFA_restore_extended, "register", "A.6.4.2.3 (12)", operands="R:register")
def _restore(state: State, register: int) -> None:
    """Restore the rule that the initial instructions of the CIE gave R."""
    state.restore_rule(register)


# --- Row state (A.6.4.2.4, DWARF 5 section 6.4.2.4) ------------------------------------------------------------------


@instruction(DW_CFA_remember_state, "state", "DWARF 5, 6.4.2.4 (1)")
def _remember_state(state: State) -> None:
    """Push the rules on a stack."""
    state.remember()


@instruction(DW_CFA_restore_state, "state", "DWARF 5, 6.4.2.4 (2)")
def _restore_state(state: State) -> None:
    """Pop the rules from the stack."""
    state.restore()


# --- Padding (A.6.4.2.5), and what changes no rule here --------------------------------------------------------------


@instruction(DW_CFA_nop, "nothing", "DWARF 5, 6.4.2.5")
def _nop(state: State) -> None:
    """Do nothing."""


@instruction(DW_CFA_GNU_args_size, "nothing", "LSB 5.0, 10.5.2", operands="N:size", since="GNU")
def _args_size(state: State, size: int) -> None:
    """Declare that N bytes of arguments are on the stack, which only the handling of exceptions needs."""


@instruction(
    DW_CFA_GNU_window_save,
    "nothing",
    "SPARC; AArch64",
    since="GNU",
    aliases=("DW_CFA_AARCH64_negate_ra_state",),
)
def _window_save(state: State) -> None:
    """Declare a saved register window (SPARC), or toggle whether the return address is signed (AArch64)."""


@instruction(DW_CFA_AARCH64_negate_ra_state_with_pc, "nothing", "AArch64", since="AArch64")
def _negate_ra_state_with_pc(state: State) -> None:
    """Toggle whether the return address is signed with the address of this place (AArch64)."""


@instruction(DW_CFA_AARCH64_set_ra_state, "nothing", "AArch64", operands="S:number D:sdelta", since="AArch64")
def _set_ra_state(state: State, ra_state: int, delta: int) -> None:
    """Set the state of the return address to S, signed D bytes from this place (AArch64)."""
