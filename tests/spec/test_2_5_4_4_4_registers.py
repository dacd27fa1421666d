"""A.2.5.4.4.4 Register location description operations."""

from __future__ import annotations

from typing import Any

import pytest

from dwarfgpu import dialects
from dwarfgpu.cases.context import DescribedFrame, DescribedUnit
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, locations, types
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.locations import UNDEFINED, Location
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.storages import Memory, Register
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
TYPES = {
    "1": {"encoding": "unsigned", "byte_size": 4},
    "2": {"encoding": "unsigned", "byte_size": 8},
    "3": {"encoding": "unsigned", "byte_size": 4, "vector_size": 4},
    "4": {"encoding": "unsigned", "byte_size": 256},
}


def row(number: int | None, ops: str, expected: Any, **case: Any) -> Case:
    clause = "A.2.5.4.4.4" if number is None else f"A.2.5.4.4.4 ({number})"
    return Case(clause, ops, expected, **{"rules": "amd", "base_types": TYPES, **case})


REG = [
    # DW_OP_reg<N> is DW_OP_regx N: the register location storage, with a bit offset of 0.
    *[row(1, f"DW_OP_reg{number}", f"r{number}") for number in range(32)],
    row(1, "DW_OP_reg5", "r5", want="location"),
    row(1, "DW_OP_reg5", "r5", address_size=4, byte_order="big"),
    row(1, "DW_OP_reg16", "pc", target=WAVE64),
    row(1, "DW_OP_reg1", "exec", target=WAVE32),
    row(1, "DW_OP_reg0", "rax", target="x86_64"),
    row(1, "DW_OP_lit1; DW_OP_reg5; DW_OP_reg6", ("1", "r5", "r6")),
]

REGX = [
    row(2, "DW_OP_regx 5", "r5"),
    row(2, "DW_OP_regx 0x123456789", "r4886718345"),
    row(2, "DW_OP_regx 33", "s1", target=WAVE64),
    row(2, "DW_OP_regx 2564", "v4", target=WAVE64),
    row(2, "DW_OP_regx 1540", "v4", target=WAVE32),
    row(2, "DW_OP_regx 3076", "a4", target=WAVE64),
    row(2, "DW_OP_regx v4", ["v4"] * 64, target=WAVE64),
    # A register number that the target architecture does not have.
    row(2, "DW_OP_regx 4096", "bad_operand", target=WAVE64),
    row(2, "DW_OP_reg0", "bad_operand", target=WAVE64),
    # The location can be had where the contents cannot.
    row(2, "DW_OP_regx 5", "r5", registers={}),
    row(2, "DW_OP_regx 5; DW_OP_deref", "register_unavailable", registers={}),
]

STORAGE = [
    # The size of the storage is that of the register.
    row(None, "DW_OP_reg5; DW_OP_deref", "7", registers={"5": 7}),
    row(None, "DW_OP_reg5; DW_OP_deref", "7", registers={"5": 7}, address_size=4, byte_order="big"),
    row(None, "DW_OP_reg5; DW_OP_deref", "read_past_storage", registers={"5": {"bytes": "07000000"}}),
    row(None, "DW_OP_reg5; DW_OP_deref_size 4", "7", registers={"5": {"bytes": "07000000"}}),
    row(None, "DW_OP_reg5", "read_past_storage", registers={"5": 7}, read={"bytes": 9}),
    row(None, "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_deref", "read_past_storage", registers={"5": 7}),
    row(None, "DW_OP_regx s4; DW_OP_deref_size 4", "7", registers={"s4": 7}, target=WAVE64),
    row(None, "DW_OP_regx s4; DW_OP_deref", "read_past_storage", registers={"s4": 7}, target=WAVE64),
    row(None, "DW_OP_regx exec; DW_OP_deref", str((1 << 64) - 1), registers={"exec": -1}, target=WAVE64),
    row(None, "DW_OP_regx exec; DW_OP_deref", "read_past_storage", registers={"exec": -1}, target=WAVE32),
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_offset_uconst 252; DW_OP_deref_size 4",
        "63",
        registers={"v4": list(range(64))},
        target=WAVE64,
    ),
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_offset_uconst 252; DW_OP_deref",
        "read_past_storage",
        registers={"v4": list(range(64))},
        target=WAVE64,
    ),
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_offset_uconst 128",
        "offset_out_of_storage",
        registers={"v4": list(range(32))},
        target=WAVE32,
    ),
    # Bits are accessed from the bit offset on, in the direction in which the target numbers bits.
    row(None, "DW_OP_reg5; DW_OP_deref_size 2", str(0x7788), registers={"5": 0x1122334455667788}),
    row(None, "DW_OP_reg5; DW_OP_deref_size 2", str(0x1122), registers={"5": 0x1122334455667788}, byte_order="big"),
    row(
        None,
        "DW_OP_reg5; DW_OP_lit12; DW_OP_LLVM_bit_offset; DW_OP_deref_size 2",
        str(0x1122334455667788 >> 12 & 0xFFFF),
        registers={"5": 0x1122334455667788},
    ),
    row(
        None,
        "DW_OP_reg5; DW_OP_lit12; DW_OP_LLVM_bit_offset; DW_OP_deref_size 2",
        str(0x1122334455667788 >> 64 - 12 - 16 & 0xFFFF),
        registers={"5": 0x1122334455667788},
        byte_order="big",
    ),
]

CONTENTS = [
    # DW_OP_reg* gives the location. For the contents there is DW_OP_regval_type, DW_OP_breg* and DW_OP_deref*.
    row(None, "DW_OP_reg5; DW_OP_lit1; DW_OP_plus", "wrong_kind", registers={"5": 7}),
    row(None, "DW_OP_reg5", "bad_result_kind", registers={"5": 7}, want="value"),
    row(None, "DW_OP_reg5; DW_OP_stack_value", "wrong_kind", registers={"5": 7}),
    row(None, "DW_OP_reg5; DW_OP_deref; DW_OP_lit1; DW_OP_plus", "8", registers={"5": 7}),
    row(None, "DW_OP_breg5 1", "8", registers={"5": 7}, want="value"),
    row(None, "DW_OP_regval_type 5 2", "7:unsigned64", registers={"5": 7}),
    row(None, "DW_OP_regval_type 5 1", "7:unsigned32", registers={"5": 7}),
    row(
        None,
        "DW_OP_regx v4; DW_OP_deref_type 16 3",
        "[1, 2, 3, 4]:unsigned32x4",
        registers={"v4": [1, 2, 3, 4]},
        target=WAVE64,
    ),
    row(
        None,
        "DW_OP_regval_type v4 4",
        f"{sum(lane << 32 * lane for lane in range(64))}:unsigned2048",
        registers={"v4": list(range(64))},
        target=WAVE64,
    ),
    row(None, "DW_OP_regval_type v4 4", "read_past_storage", registers={"v4": list(range(32))}, target=WAVE32),
    # Each lane takes its own part of a vector register.
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4",
        [str(lane * lane) for lane in range(64)],
        registers={"v4": [lane * lane for lane in range(64)]},
        target=WAVE64,
    ),
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit7; DW_OP_and; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset;"
        "DW_OP_deref_size 4",
        [str(lane % 8) for lane in range(32)],
        registers={"v4": list(range(32))},
        target=WAVE32,
    ),
    # ... at offsets that are in bits, where it comes to that.
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_deref_size 1",
        [str(0x76543210FEDCBA98 >> lane & 0xFF) for lane in range(32)],
        registers={"v4": [0xFEDCBA98, 0x76543210]},
        target=WAVE32,
    ),
    # A lane of which nothing can be read keeps its error for itself.
    row(
        None,
        "DW_OP_regx s4; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_deref_size 1",
        [*(str(0xFEDCBA98 >> lane & 0xFF) for lane in range(25)), *["read_past_storage"] * 7],
        registers={"s4": 0xFEDCBA98},
        target=WAVE32,
    ),
    # Registers can be written, each lane its own part.
    row(
        None,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset",
        [f"aabb{lane:02x}00" for lane in range(64)],
        registers={"v4": [lane << 16 for lane in range(64)]},
        target=WAVE64,
        write="aabb",
        read={"bytes": 4},
    ),
    row(
        None,
        "DW_OP_reg5; DW_OP_lit12; DW_OP_LLVM_bit_offset",
        "ff7f00ffff",  # read from bit 4 on
        registers={"5": -1},
        write="7f00",
        read={"bytes": 5, "offset": -1},
    ),
]

test_reg = table(REG)
test_regx = table(REGX)
test_storage = table(STORAGE)
test_contents = table(CONTENTS)


# --- What a case cannot describe ----------------------------------------------------------------------------------


class Caller(DescribedFrame):
    """A frame that is not the top one: what holds its registers is known from call frame information."""

    def __init__(self, machine: DescribedMachine, rules: dict[int, Location]) -> None:
        DescribedFrame.__init__(self, machine)
        self.rules = rules

    def register(self, number: int, lanes: LaneSet) -> Location:
        return self.rules[number]


def parse(ops: str, target: str = "generic") -> Any:
    return asm.parse(ops, dialects.get("llvm-user"), Format(), target=resolve(target))


def evaluated(ops: str, target: str = "generic", **context: Any) -> Any:
    chosen = resolve(target)
    context.setdefault("backend", DescribedMachine(chosen))
    return evaluate(parse(ops, target), Context(chosen, AMD, **context)).one()


def caller() -> Caller:
    target = resolve("generic")
    machine = DescribedMachine(target)
    machine.describe_register(5, 55)
    machine.describe_register(7, 77)
    machine.describe_memory(Region(target.default_space, 0x1000, (0x2000).to_bytes(8, "little")))
    r7 = machine.register(7)
    assert r7 is not None
    return Caller(
        machine,
        {5: locations.at(Memory(target.default_space), 8 * 0x1000), 6: locations.at(Register(r7)), 7: UNDEFINED},
    )


@pytest.mark.parametrize(
    "ops, bits",
    [
        ("DW_OP_reg5; DW_OP_deref", 0x2000),  # r5 was saved to memory
        ("DW_OP_breg5 4; DW_OP_stack_value; DW_OP_deref", 0x2004),
        ("DW_OP_reg6; DW_OP_deref", 77),  # r6 was saved in r7
        ("DW_OP_regval_type 6 1; DW_OP_convert 0", 77),
    ],
)
def test_a_caller_s_register_is_where_the_call_frame_information_says(ops, bits):
    """DW_OP_regx (2): the resulting location description may be register, memory, or undefined."""
    frame = caller()
    unit = DescribedUnit(base_types={1: lambda: types.unsigned(64)})

    assert evaluated(ops, frame=frame, unit=unit, backend=frame.machine).bits == bits


def test_a_caller_s_register_that_was_not_saved_is_undefined():
    frame = caller()

    assert evaluated("DW_OP_reg7", frame=frame, backend=frame.machine) == UNDEFINED
    with pytest.raises(DwarfGpuError) as caught:
        evaluated("DW_OP_breg7 0", frame=frame, backend=frame.machine)
    assert caught.value.kind == "undefined_read"


@pytest.mark.parametrize("ops", ["DW_OP_reg5", "DW_OP_regx 5", "DW_OP_regval_type 5 1", "DW_OP_breg5 0"])
def test_registers_need_a_frame(ops):
    """A.2.5.1: the current call frame is required for operations that specify target architecture registers."""
    with pytest.raises(DwarfGpuError) as caught:
        evaluated(ops, unit=DescribedUnit())
    assert caught.value.kind == "frame"


@pytest.mark.parametrize(
    "ops", ["DW_OP_reg5", "DW_OP_regx 5", "DW_OP_regval_type 5 1", "DW_OP_breg5 0", "DW_OP_bregx 5 0"]
)
def test_registers_need_a_thread(ops):
    """A.2.5.1: the current thread is required for operations that are related to threads; A.2.5.3: registers are."""
    frame = caller()
    with pytest.raises(DwarfGpuError) as caught:
        evaluated(ops, frame=frame, unit=DescribedUnit(), lanes=LaneSet(1, wave=None))
    assert caught.value.kind == "thread"
