import pytest
from corpus import command as corpus
from corpus import oracle

from tests.builders.parameters import for_each

BAD = ("not built", "wrong", "error", "not known", "not shown", "repair missed", "repair applied wrongly")
SLICE = [
    ("bools.cl", "gfx900", 2, 5),  # values computed of lanes
    ("vectors.cl", "gfx1030", 1, 4),  # pieces, and parts without location
    ("half_precision.hip", "gfx90a", 1, 5),  # the low half of a lane
    ("references.hip", "gfx1100", 0, 5),  # references, private memory with flat scratch
    ("array_local.cl", "gfx942", 2, 4),  # local memory
    ("inheritance.hip", "gfx803", 0, 4),  # objects on a scaled stack
]


@pytest.mark.slow
@pytest.mark.parametrize("program, processor, level, version", SLICE)
def test_every_variable_has_a_value_or_a_reason_of_the_compiler(program, processor, level, version, require_tool):
    for tool in ("clang-22", "ld.lld-22", "llvm-dwarfdump-22", "llvm-objdump-22"):
        require_tool(tool)
    build = corpus.Build(program, "22", processor, level, version)
    result = corpus.examine(build)
    counts = result["counts"]
    assert {name: counts[name] for name in BAD if counts.get(name)} == {}, result["notes"]
    assert counts["reads"] == sum(counts.get(name, 0) for name in (*oracle.REASONS, "right", corpus.REFERENCE))
    assert counts.get("repaired")


@for_each("text, size, data",
    ("DW_OP_fbreg +8, DW_OP_lit1, DW_OP_swap, DW_OP_xderef", 4, oracle.memory(0x108, 4, 5)),
    (
        "DW_OP_bregx VGPR2+0, DW_OP_lit5, DW_OP_swap, DW_OP_xderef",
        2,
        oracle.in_register(2, 5).to_bytes(4, "little")[:2],
    ),
    ("DW_OP_bregx 0x602 +0, DW_OP_stack_value", 4, oracle.in_register(2, 5).to_bytes(4, "little")),
    ("DW_OP_consts -3, DW_OP_lit1, DW_OP_swap, DW_OP_xderef, DW_OP_stack_value", 2, b"\xfd\xff"),
    (
        "DW_OP_regx VGPR2, DW_OP_piece 0x4, DW_OP_piece 0x4",
        8,
        [*oracle.in_register(2, 5).to_bytes(4, "little"), *[None] * 4]))  # fmt: skip
def test_the_oracle_knows_what_llvm_means(text, size, data):
    assert oracle.meant(text, 0x100, size, 5, is_private_pointer=False) == list(data)
    assert oracle.needs_repair(text) is ("consts" in text or "VGPR" in text or "fbreg" in text or "0x602" in text)


@for_each("text, size, reason",
    ("", 4, oracle.EMPTY),
    ("DW_OP_addrx 0x1, DW_OP_lit3, DW_OP_swap, DW_OP_xderef", 4, oracle.LOCAL),
    ("DW_OP_bregx VGPR2+0, DW_OP_lit5, DW_OP_swap, DW_OP_xderef", 20, oracle.POINTED))  # fmt: skip
def test_the_oracle_names_the_reasons_of_compilers(text, size, reason):
    with pytest.raises(oracle.NoValue, match=reason):
        oracle.meant(text, 0, size, 5, is_private_pointer=False)
