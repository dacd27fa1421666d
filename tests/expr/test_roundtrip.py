"""Assembling and disassembling are inverse to each other, in every dialect and form of encoding."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import table
from dwarfgpu.expr.asm import assemble, encode, parse
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.listing import lines, text
from tests.builders.parameters import in_one_test
from tests.expr.programs import (
    DIALECTS,
    DWARF6,
    FORM,
    FORM_IDS,
    FORMS,
    LLVM_USER,
    edges,
    encodable,
    encoded,
    form_id,
    instruction,
    near_programs,
    written,
)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
every_form = pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
ODD = ("DW_OP_bra", "DW_OP_skip", "DW_OP_LLVM_NVIDIA_mux")
"""Operations whose operands no number can stand for."""
SETTINGS = st.tuples(st.sampled_from(DIALECTS), st.sampled_from(FORMS))


def plain(expression):
    """What makes two expressions the same program, whatever their operations are called."""
    return [(one.operation.name, one.operands, one.offset, one.end) for one in expression.instructions]


@pytest.mark.spec("A.7.7.1")
@every_form
@every_dialect
@pytest.mark.sampled(6)
def test_every_operation_with_every_edge_operand(dialect, form):
    for encoding in encodable(dialect):
        choices = [edges(kind, form) for kind in encoding.operand_kinds]
        for number in range(max((len(choice) for choice in choices), default=1)):
            values = [choice[number % len(choice)] for choice in choices]
            data = encode(instruction(encoding, values), dialect, form)
            expression = decode(data, dialect, form)
            assert expression.fault is None, encoding.name
            (found,) = expression.instructions
            assert (found.name, found.operands) == (encoding.name, tuple(values))
            assert assemble(text(expression), dialect, form) == data, text(expression)
            assert parse(text(expression), dialect, form).data == data


@every_dialect
def test_every_byte_alone_has_a_listing_that_is_read_back(dialect):
    for byte in range(256):
        assert assemble(text(decode(bytes([byte]), dialect, FORM)), dialect, FORM) == bytes([byte])


@every_dialect
def test_every_operation_cut_short_keeps_its_bytes(dialect):
    for encoding in encodable(dialect):
        data = encode(instruction(encoding, [edges(kind, FORM)[-1] for kind in encoding.operand_kinds]), dialect, FORM)
        for size in range(1, len(data)):
            assert assemble(text(decode(data[:size], dialect, FORM)), dialect, FORM) == data[:size]


@in_one_test("row", [row for row in table.rows() if row.name not in ODD])
def test_an_operation_without_a_number_can_be_parsed(row):
    kinds = {"block": "07", "block1": "07", "expression": "12", "encoded": "0 6", "sleb": "-3"}
    program = " ".join([row.name, *[kinds.get(operand.kind, "5") for operand in row.operands]])
    expression = parse(f"DW_OP_nop; {program}; DW_OP_nop", DWARF6, FORM)
    first, middle, last = expression.instructions
    assert (first.end, middle.end) == (middle.offset, last.offset)
    assert middle.operation is row
    assert parse(text(expression), DWARF6, FORM).instructions == expression.instructions


@given(st.data(), SETTINGS)
def test_canonical_bytes_are_read_back(data, setting):
    dialect, form = setting
    program = data.draw(encoded(dialect, form))
    expression = decode(program, dialect, form)
    assert expression.fault is None
    assert assemble(text(expression), dialect, form) == program
    assert b"".join(encode(one, dialect, form) for one in expression.instructions) == program


@given(st.data(), SETTINGS)
def test_decoding_what_was_assembled_gives_the_program(data, setting):
    dialect, form = setting
    program = data.draw(written(dialect))
    parsed = parse(program, dialect, form)
    assert parsed.data == assemble(program, dialect, form)
    assert plain(decode(parsed.data, dialect, form)) == plain(parsed)


@given(st.data(), SETTINGS)
def test_the_listing_of_any_bytes_is_read_back_as_the_same_program(data, setting):
    dialect, form = setting
    program = data.draw(st.one_of(st.binary(max_size=40), near_programs(dialect)))
    expression = decode(program, dialect, form)
    assert b"".join(line.bytes for line in lines(expression)) == program
    again = decode(assemble(text(expression), dialect, form), dialect, form)
    # numbers may have been longer than needed; the bytes then differ, and with them the displacements
    names = [one.name for one in expression.instructions]
    assert [one.name for one in again.instructions][: len(names)] == names
    assert (again.fault is None) == (expression.fault is None)
    for one, other in zip(expression.instructions, again.instructions, strict=False):
        if one.target is None:
            assert one.operands == other.operands


@given(written())
def test_parsing_the_listing_of_a_parsed_program_gives_the_program(program):
    expression = parse(program, LLVM_USER, FORM)
    assert parse(text(expression), LLVM_USER, FORM).instructions == expression.instructions


@given(st.text(alphabet="DW_OP_lit1 @:;,()#x0-+\n\t", max_size=60), SETTINGS)
def test_any_text_is_a_program_or_an_error(source, setting):
    for strict in (True, False):
        with contextlib.suppress(DwarfGpuError):
            assemble(source, *setting, strict=strict)


def test_the_ids_of_the_forms_are_all_different():
    assert len({form_id(form) for form in FORMS}) == len(FORMS)
