"""The rules of call frame information: how the CFA and each register of the caller are found (A.6.4.1).

A rule is only a description. An expression in it is bytes, decoded when it is evaluated or shown. The ``word`` of a
rule is its name in texts and answers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from dwarfgpu.immutable import frozen


@frozen
class ExpressionBytes:
    """The bytes of an expression, and their offset."""

    data: bytes
    section: str | None = None
    offset: int = 0
    """The offset of the first byte in the section."""


# --- The CFA (A.6.4.2.2) ------------------------------------------------------------------------------------------


@frozen
class RegisterOffset:
    """``DW_OP_constu AS; DW_OP_LLVM_aspace_bregx R, B`` as a location description."""

    word = "register_offset"

    register: int
    offset: int
    """In bytes."""
    space: int = 0
    """The address space; that of the target's default address space where the instruction names none."""


@frozen
class CfaExpression:
    """E evaluated with an empty initial stack; its result must be a memory byte address."""

    word = "expression"

    block: ExpressionBytes


CfaRule: TypeAlias = "RegisterOffset | CfaExpression"


# --- Registers (A.6.4.1) ------------------------------------------------------------------------------------------


@frozen
class UndefinedRule:
    """*undefined*: the register has no recoverable value in the previous frame."""

    word = "undefined"


@frozen
class SameValue:
    """*same value*: the register has not been modified from the previous frame."""

    word = "same_value"


@frozen
class Offset:
    """*offset(N)*: saved at N bytes from the CFA."""

    word = "offset"

    offset: int


@frozen
class ValOffset:
    """*val_offset(N)*: its value is the address N bytes from the CFA."""

    word = "val_offset"

    offset: int


@frozen
class RegisterRule:
    """*register(R)*: stored in another register."""

    word = "register"

    register: int


@frozen
class ExpressionRule:
    """*expression(E)*: located where E says, evaluated with the CFA on the stack."""

    word = "expression"

    block: ExpressionBytes


@frozen
class ValExpression:
    """*val_expression(E)*: its value is that of E, evaluated with the CFA on the stack."""

    word = "val_expression"

    block: ExpressionBytes


@frozen
class Architectural:
    """*architectural*: defined externally by the augmenter.

    No instruction makes this rule. It is for callers that know what an augmentation means.
    """

    word = "architectural"

    name: str = ""


Rule: TypeAlias = (
    "UndefinedRule | SameValue | Offset | ValOffset | RegisterRule | ExpressionRule | ValExpression | Architectural"
)


def rule_json(rule: CfaRule | Rule) -> dict[str, Any]:
    """Return a rule in the JSON of cases."""
    result: dict[str, Any] = {"rule": rule.word}
    for name, value in attrs.asdict(rule, recurse=False).items():
        result["expr" if name == "block" else name] = value.data.hex() if name == "block" else value
    return result
