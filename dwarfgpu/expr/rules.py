"""Rule sets: where the texts disagree about what an operation means.

The three axes are independent: a *dialect* says which bytes are an operation, the operation says what it does, and a
rule set decides the points on which DWARF 5, the heterogeneous extension ("AMD", clauses A.*) and the drafts of
DWARF 6 differ. Operations ask ``rules.<field>`` and never whose rules they are.

Each field cites the sides; ``tests/spec/test_rules.py`` has one test of each field for each preset. The DWARF 6 side
is cited by the number of the accepted or proposed change (dwarfstd.org).
"""

from __future__ import annotations

from typing import Literal

from dwarfgpu.immutable import evolve, frozen


@frozen
class Rules:
    """A choice for each point on which the texts differ.

    >>> import dwarfgpu as dg
    >>> dg.AMD.name, dg.DWARF5.name, dg.DWARF6.name
    ('amd', 'dwarf5', 'dwarf6')
    >>> dg.AMD.location_ends_expression, dg.DWARF5.location_ends_expression
    (False, True)
    """

    name: str

    location_ends_expression: bool
    """Whether after a register, implicit value or implicit pointer location only a piece may follow.

    DWARF 5, 2.6.1.1.3 and 2.6.1.1.4: such an operation is a whole location description. AMD A.2.5.4.4.5 (2) and
    DWARF 6 (230524.1): it pushes a location, and evaluation continues.
    """

    incomplete_composites: bool
    """Whether a composite under construction is closed to all operations but pieces.

    AMD A.2.5.4.4.6: using it before DW_OP_LLVM_piece_end is ill-formed, and what is below it on the stack stays
    there. DWARF 6 (230524.1) has no such state: a piece needs a composite below its operand and leaves one that any
    operation may use; only if the operand is all there is on the stack does a piece start a composite by itself. The
    offset of the composite stays what it is. DWARF 5, 2.6.1.2 only knows an expression of pieces.
    """

    location_after_pieces: Literal["result", "ill_formed"]
    """What a location on top of a composite under construction is when the expression ends.

    DWARF 5, 2.6.1.2: every location of a composite is followed by its piece. AMD A.2.5.4: the top entry is the result
    and what is below it is discarded; so in DWARF 6 (230524.1).
    """

    part_beyond_storage: Literal["ill_formed", "undefined"]
    """What a piece larger than what is left of its storage is.

    AMD A.2.5.4.4.6 and the reference implementation of DWARF 6: ill-formed. DWARF 5 is silent; debuggers show the
    missing bits as unavailable.
    """

    piece_of_value_bits: Literal["storage", "least_significant"]
    """From which end DW_OP_piece and DW_OP_bit_piece take the bits of registers and implicit storages.

    AMD A.2.5.4.4.6 (2): as DW_OP_LLVM_bit_offset does, in storage order. DWARF 5, 2.6.1.2 and DWARF 6: from the least
    significant bit. The two differ on big-endian targets only.
    """

    object_of_value_bits: Literal["storage", "least_significant"]
    """Which bits of a register or an implicit storage an object or a value has that is smaller and begins at offset 0.

    AMD A.2.5.3: the bit offset is where the object starts, so it has the first bits in storage order. DWARF 5,
    2.6.1.1.3 and 2.6.1.1.4 name the register or give the value as a whole and are silent, as are the drafts of DWARF 6;
    GDB (default_value_from_register, and DW_OP_stack_value) and drgn take the least significant part. The two differ
    on big-endian targets only. An offset that is not 0 says where the object is, in storage order.
    """

    object_beyond_composite: Literal["error", "undefined"]
    """What the bits of an object or a value are that lie beyond the last part of a composite.

    AMD A.2.5.4.3.4 (4): an evaluation error, as beyond every storage. DWARF 6 (230524.1): undefined. DWARF 5, 2.6.1.2
    is silent; GDB and drgn show them as unavailable. To write them is an error in all.
    """

    offset_of_empty_composite: Literal["error", "zero"]
    """Whether a composite without parts can be moved by an offset of 0.

    AMD A.2.5.4.4.1 (1): an updated offset must be less than the size of the storage, which is 0 (DWARF 5 has no offset
    operations). DWARF 6 (230524.1), 3.12 (1): DW_OP_composite gives an empty composite the offset 0, so that is valid.
    """

    lane_without_simt: Literal["missing", "zero"]
    """What the current lane is where no lane is selected and the code does not run in lanes.

    AMD A.2.5.1: lanes are for code in a SIMT manner, and an operation that needs one misses it otherwise (so in DWARF
    5, which has no such operation). DWARF 6 (241011.1): without a SIMT or SIMD execution model "the current lane is
    always 0".
    """

    undefined_has_size: bool
    """Whether an offset from an undefined location is tracked and checked.

    AMD A.2.5.4.4.2: no size, no offset; offset operations leave it unchanged. DWARF 6 (230524.1): its size is that of
    the largest storage.
    """

    overlay: Literal["amd", "dwarf6"]
    """AMD A.2.5.4.4.6 (6): the overlay lies within what remains of the base, and the result begins at the base's
    position. DWARF 6 (251120.1): the whole base storage stays visible, the result keeps the base's offset, the offset
    may be negative and the overlay may end, or even begin, beyond the base; a gap is undefined.
    """

    value_as_location: Literal["generic", "integral"]
    """Which values are implicitly converted to a memory location.

    AMD A.2.5.4.4.3: those of the generic type. DWARF 6 (230524.1) says "value", and debuggers convert any integer.
    """

    mixed_operands: Literal["ill_formed", "wide_integral"]
    """What an operation with two operands does where one has the generic type and the other an integral base type.

    DWARF 5, 2.5.1.4: both "must have the same type", so in AMD A.2.5.4.3.2 and in DWARF 6. LLDB
    (Scalar::PromoteToMaxType) computes in the base type where that is at least as wide as the generic type. No preset
    does; the repair mixed-operands evaluates what compilers that rely on it write.
    """

    wide_dereference: Literal["truncate", "ill_formed"]
    """DW_OP_deref_size of more than the generic type: AMD A.2.5.4.3.4 (3) truncates; DWARF 5, 2.5.1.3 forbids it."""

    implicit_pointer: Literal["lazy", "eager"]
    """When the object an implicit pointer points to is evaluated.

    AMD A.2.5.4.4.5 (3): in the context that uses the pointer, and dereferencing it gives an implicit pointer value.
    DWARF 6 (230524.1, 3.11): when the pointer is made.
    OPEN: the draft contradicts itself about DW_OP_deref of one; it is an evaluation error there, as in its reference.
    """

    call_of_list: Literal["fresh_stack", "same_stack"]
    """How DW_OP_call* evaluates a location list.

    AMD A.2.5.4.2 (5): on a fresh stack, and the union of all matches is pushed. DWARF 5, 2.5.1.5: "control is
    transferred" to the expression, which is done where one entry matches; several are the places of one object (2.6.2).
    OPEN: the drafts of DWARF 6 list several answers without choosing; the fresh stack holds here.
    """


DWARF5 = Rules(
    name="dwarf5",
    location_ends_expression=True,
    incomplete_composites=True,
    location_after_pieces="ill_formed",
    part_beyond_storage="undefined",
    piece_of_value_bits="least_significant",
    object_of_value_bits="least_significant",
    object_beyond_composite="undefined",
    offset_of_empty_composite="error",
    lane_without_simt="missing",
    undefined_has_size=False,
    overlay="amd",
    value_as_location="integral",
    mixed_operands="ill_formed",
    wide_dereference="ill_formed",
    implicit_pointer="lazy",
    call_of_list="same_stack",
)

AMD = Rules(
    name="amd",
    location_ends_expression=False,
    incomplete_composites=True,
    location_after_pieces="result",
    part_beyond_storage="ill_formed",
    piece_of_value_bits="storage",
    object_of_value_bits="storage",
    object_beyond_composite="error",
    offset_of_empty_composite="error",
    lane_without_simt="missing",
    undefined_has_size=False,
    overlay="amd",
    value_as_location="generic",
    mixed_operands="ill_formed",
    wide_dereference="truncate",
    implicit_pointer="lazy",
    call_of_list="fresh_stack",
)

DWARF6 = evolve(
    AMD,
    name="dwarf6",
    incomplete_composites=False,
    piece_of_value_bits="least_significant",
    object_of_value_bits="least_significant",
    object_beyond_composite="undefined",
    offset_of_empty_composite="zero",
    lane_without_simt="zero",
    undefined_has_size=True,
    overlay="dwarf6",
    value_as_location="integral",
    wide_dereference="ill_formed",
    implicit_pointer="eager",
)

PRESETS = {rules.name: rules for rules in (DWARF5, AMD, DWARF6)}


@frozen
class Point:
    """A point on which the texts differ."""

    name: str
    choices: tuple[object, ...]
    """What each preset says, in the order of `PRESETS`."""
    text: str
    """The question, and what each text answers."""


def points() -> list[Point]:
    """Return the fields of rule sets with their documentation, which is read from this file."""
    import ast
    import inspect
    from itertools import pairwise

    body = next(node.body for node in ast.parse(inspect.getsource(Rules)).body if isinstance(node, ast.ClassDef))
    texts = {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    return [Point(name, tuple(getattr(each, name) for each in PRESETS.values()), text) for name, text in texts.items()]
