import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DialectConflict, UsageError
from dwarfgpu.expr import asm, table
from dwarfgpu.expr.dialect import Dialect, Encoding
from dwarfgpu.expr.instruction import decode
from tests.builders.errors import raised


@pytest.mark.parametrize("name", dialects.NAMES)
def test_every_encoding_has_a_row(name: str) -> None:
    for encoding in dialects.get(name).by_path.values():
        row = table.find(encoding.name)
        assert row is not None, encoding.name
        assert len(encoding.operand_kinds) == len(row.operands)


def test_unknown_names_and_bytes_are_named_with_the_dialects_that_there_are() -> None:
    caught = raised(UsageError, dialects.get, "klingon")
    assert "klingon" in str(caught)
    assert "llvm-user" in (caught.hint or "")
    expression = decode(b"\xe3", dialects.get("gnu"), Format(), known_in=dialects.known_in)
    assert expression.fault is not None
    assert expression.fault.kind == "unknown_operation"
    assert "llvm-legacy (DW_OP_LLVM_offset)" in (expression.fault.hint or "")


def test_conflicts_are_refused() -> None:
    raised(DialectConflict, Dialect, "bad", [Encoding((0x96,), "DW_OP_dup")], "nowhere", extends=dialects.get("dwarf5"))
    with pytest.raises(DialectConflict, match="prefix"):
        Dialect("bad", [Encoding((0x96, 1), "DW_OP_dup")], "nowhere", extends=dialects.get("dwarf5"))


UNNUMBERED = (
    *("offset", "bit_offset", "undefined", "composite"),  # 230524.1
    *("push_lane", "overlay", "bit_overlay", "multiloc"),  # 211206.1, twice 251120.1, 260227.1
    *("mem", "aspace_bregx", "extend", "select_bit_piece", "call_frame_entry_reg"),  # twice proposal 013 and 015, 017
)


@pytest.mark.parametrize("name", [f"DW_OP_{name}" for name in UNNUMBERED])
def test_operations_without_numbers_can_be_given_some(name: str) -> None:
    dwarf6 = dialects.get("dwarf6")
    row = table.find(name)
    assert row is not None
    assert dwarf6.encoding_of(row) is None
    bound = dwarf6.bind({name: (0xEF, 0x81)})
    operands = " ".join("1" for _ in row.operands)
    data = asm.assemble(f"{name} {operands}", bound, Format())
    assert data.startswith(b"\xef\x81\x01")
    assert decode(data, bound, Format()).instructions[0].name == name


def test_one_byte_means_three_things() -> None:
    """0xE9 in the wild: a prefix, an implicit pointer, an offset."""
    found = {}
    for name in ("llvm-user", "llvm-legacy", "amdgpu-2020"):
        found[name] = decode(bytes.fromhex("e90200000000"), dialects.get(name), Format()).instructions[0].name
    assert found == {
        "llvm-user": "DW_OP_LLVM_form_aspace_address",
        "llvm-legacy": "DW_OP_LLVM_aspace_implicit_pointer",
        "amdgpu-2020": "DW_OP_LLVM_offset",
    }
