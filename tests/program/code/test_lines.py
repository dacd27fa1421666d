from __future__ import annotations

from typing import Any, Literal

import pytest

from dwarfgpu.objfile.line_table import line_table
from dwarfgpu.program.code.source_files import Lines
from tests.builders.lines import program, table


def lines(*instructions: Any, order: Literal["little", "big"] = "little") -> Lines:
    data = table(program(("set_address", 0x100), *instructions, order=order), order=order)
    return Lines(line_table(data, 0, byte_order=order))


def starts(found: Lines) -> list[tuple[int, int, int]]:
    return [(each.address, each.end, each.line) for each in found.starts]


def row(address: int, line: int) -> tuple[str, int, int]:
    """A row so many bytes and lines further on."""
    return ("special", address, line)


@pytest.mark.parametrize("order", ["little", "big"])
def test_each_line_reaches_to_the_next(order):
    found = lines(row(0, 2), row(4, 1), row(4, -2), ("advance_pc", 4), "end_sequence", order=order)
    assert starts(found) == [(0x100, 0x104, 3), (0x104, 0x108, 4), (0x108, 0x10C, 2)]
    assert [found.at(address) and found.at(address).line for address in (0xFF, 0x100, 0x107, 0x10B, 0x10C)] == [
        None, 3, 4, 2, None,
    ]  # fmt: skip


def test_rows_that_discriminators_tell_apart_are_one_line():
    plain = lines(row(0, 2), row(4, 0), row(4, 1), ("advance_pc", 4), "end_sequence")
    assert starts(plain) == [(0x100, 0x104, 3), (0x104, 0x108, 3), (0x108, 0x10C, 4)]
    apart = lines(row(0, 2), ("set_discriminator", 1), row(4, 0), row(4, 1), ("advance_pc", 4), "end_sequence")
    assert starts(apart) == [(0x100, 0x108, 3), (0x108, 0x10C, 4)]


def test_a_statement_comes_before_what_is_none():
    found = lines(row(0, 2), "negate_stmt", row(0, 1), row(4, 1), ("advance_pc", 4), "end_sequence")
    at = found.at(0x102)
    assert at is not None
    assert (at.line, at.is_statement) == (3, True)
    assert found.entered_at(at).line == 3
    assert found.next_line(4, {1}) is None
    assert found.first(4, {1}) is None


def test_of_several_lines_at_an_address_the_last_counts_and_the_first_is_known():
    found = lines(row(0, 2), row(0, 3), row(4, 1), ("advance_pc", 4), "end_sequence")
    at = found.at(0x100)
    assert at is not None
    assert (at.line, at.end, found.entered_at(at).line) == (6, 0x104, 3)


def test_lines_are_those_of_files():
    found = lines(row(0, 2), ("set_file", 0), row(4, 2), ("advance_pc", 4), "end_sequence")
    assert [each.file for each in found.starts] == [1, 0]
    assert found.next_line(1, {0}) == 5
    assert found.next_line(1, {1}) == 3
    assert found.next_line(4, {1}) is None
    first = found.first(5, {0})
    assert first is not None
    assert first.address == 0x104


def test_sequences_that_are_not_there_are_passed_over():
    gone = (("set_address", 0), row(0, 2), ("advance_pc", 4), "end_sequence")
    assert starts(lines(row(0, 2), ("advance_pc", 4), "end_sequence", *gone)) == [(0x100, 0x104, 3)]


def test_code_of_no_line_is_told_apart():
    found = lines(row(0, 2), ("advance_line", -3), row(4, 0), ("advance_pc", 4), "end_sequence")
    assert starts(found) == [(0x100, 0x104, 3), (0x104, 0x108, 0)]
