"""A.2.5.4.4.4 Register location description operations."""

import pytest
from cases_context import DescribedFrame, DescribedUnit

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations, types
from dwarfgpu.expr.locations import UNDEFINED, Location, Memory, Register
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, base_types, table
from tests.builders.errors import raised
from tests.builders.parameters import for_each
from tests.spec.test_2_5_4_4_3_memory import evaluated

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
TYPES = base_types("1 unsigned32, 2 unsigned64, 3 unsigned32x4, 4 unsigned2048")
rows = Rows("A.2.5.4.4.4", vars(), rules="amd", base_types=TYPES)
row = rows.row
test_reg = table(
    # DW_OP_reg<N> is DW_OP_regx N: the register location storage, with a bit offset of 0.
    *[row("(1)", f"reg{number}", f"r{number}") for number in range(32)], row("(1)", "reg5", "r5", want="location"),
    row("(1)", "reg5", "r5", address_size=4, byte_order="big"), row("(1)", "reg16", "pc", target=WAVE64),
    row("(1)", "reg1", "exec", target=WAVE32), row("(1)", "reg0", "rax", target="x86_64"),
    row("(1)", "lit1; reg5; reg6", ("1", "r5", "r6")))  # fmt: skip
test_regx = rows.table("""
    (2) regx 5 -> r5             regx 0x123456789 -> r4886718345
    regx 33 -> s1 where target=WAVE64                         regx 2564 -> v4 where target=WAVE64
    regx 1540 -> v4 where target=WAVE32                       regx 3076 -> a4 where target=WAVE64
    regx v4 => ["v4"] * 64 where target=WAVE64
    # A register number that the target architecture does not have.
    regx 4096 | reg0 -> bad_operand where target=WAVE64
    # The location can be had where the contents cannot.
    regx 5 -> r5 where registers={}                           regx 5; deref -> register_unavailable where registers={}
    """)
test_storage = rows.table("""
    # The size of the storage is that of the register.
    reg5; deref -> 7 where registers={"5": 7}
    reg5; deref -> 7 where registers={"5": 7}, address_size=4, byte_order="big"
    reg5; deref -> read_past_storage where registers={"5": {"bytes": "07000000"}}
    reg5; deref_size 4 -> 7 where registers={"5": {"bytes": "07000000"}}
    reg5 -> read_past_storage where registers={"5": 7}, read={"bytes": 9}
    reg5; lit4; LLVM_offset; deref -> read_past_storage where registers={"5": 7}
    regx s4; deref_size 4 -> 7 where registers={"s4": 7}, target=WAVE64
    regx s4; deref -> read_past_storage where registers={"s4": 7}, target=WAVE64
    regx exec; deref => str((1 << 64) - 1) where registers={"exec": -1}, target=WAVE64
    regx exec; deref -> read_past_storage where registers={"exec": -1}, target=WAVE32
    regx v4; LLVM_offset_uconst 252; deref_size 4 -> 63 where registers={"v4": list(range(64))}, target=WAVE64
    regx v4; LLVM_offset_uconst 252; deref -> read_past_storage where registers={"v4": list(range(64))}, target=WAVE64
    regx v4; LLVM_offset_uconst 128 -> offset_out_of_storage where registers={"v4": list(range(32))}, target=WAVE32
    # Bits are accessed from the bit offset on, in the direction in which the target numbers bits.
    reg5; deref_size 2 => str(0x7788) where registers={"5": 0x1122334455667788}
    reg5; deref_size 2 => str(0x1122) where registers={"5": 0x1122334455667788}, byte_order="big"
    reg5; lit12; LLVM_bit_offset; deref_size 2 => str(0x1122334455667788 >> 12 & 0xFFFF)
        where registers={"5": 0x1122334455667788}
    reg5; lit12; LLVM_bit_offset; deref_size 2 => str(0x1122334455667788 >> 64 - 12 - 16 & 0xFFFF)
        where registers={"5": 0x1122334455667788}, byte_order="big"
    """)
test_contents = table(
    rows("""
    # DW_OP_reg* gives the location. For the contents there is regval_type, DW_OP_breg* and DW_OP_deref*.
    reg5; lit1; plus | reg5; stack_value -> wrong_kind where registers={"5": 7}
    reg5 -> bad_result_kind where registers={"5": 7}, want="value"
    reg5; deref; lit1; plus -> 8 where registers={"5": 7}     breg5 1 -> 8 where registers={"5": 7}, want="value"
    regval_type 5 2 -> 7:unsigned64 where registers={"5": 7}
    regval_type 5 1 -> 7:unsigned32 where registers={"5": 7}
    regx v4; deref_type 16 3 -> [1, 2, 3, 4]:unsigned32x4 where registers={"v4": [1, 2, 3, 4]}, target=WAVE64
    regval_type v4 4 => f"{sum(lane << 32 * lane for lane in range(64))}:unsigned2048"
        where registers={"v4": list(range(64))}, target=WAVE64
    regval_type v4 4 -> read_past_storage where registers={"v4": list(range(32))}, target=WAVE32
    # Each lane takes its own part of a vector register.
    regx v4; LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4 => [str(lane * lane) for lane in range(64)]
        where registers={"v4": [lane * lane for lane in range(64)]}, target=WAVE64
    regx v4; LLVM_push_lane; lit7; and; lit4; mul; LLVM_offset; deref_size 4
        => [str(lane % 8) for lane in range(32)] where registers={"v4": list(range(32))}, target=WAVE32
    # ... at offsets that are in bits, where it comes to that.
    regx v4; LLVM_push_lane; LLVM_bit_offset; deref_size 1
        => [str(0x76543210FEDCBA98 >> lane & 0xFF) for lane in range(32)]
        where registers={"v4": [0xFEDCBA98, 0x76543210]}, target=WAVE32
    # A lane of which nothing can be read keeps its error for itself.
    regx s4; LLVM_push_lane; LLVM_bit_offset; deref_size 1
        => [*(str(0xFEDCBA98 >> lane & 0xFF) for lane in range(25)), *["read_past_storage"] * 7]
        where registers={"s4": 0xFEDCBA98}, target=WAVE32
    # Registers can be written, each lane its own part.
    regx v4; LLVM_push_lane; lit4; mul; LLVM_offset => [f"aabb{lane:02x}00" for lane in range(64)]
        where registers={"v4": [lane << 16 for lane in range(64)]}, target=WAVE64, write="aabb", read={"bytes": 4}
    """),
    row(
        "",
        "reg5; lit12; LLVM_bit_offset",
        "ff7f00ffff",  # read from bit 4 on
        registers={"5": -1}, write="7f00", read={"bytes": 5, "offset": -1}),
)  # fmt: skip


# --- What a case cannot describe ----------------------------------------------------------------------------------


class Caller(DescribedFrame):
    """A frame that is not the top one: what holds its registers is known from call frame information."""

    def __init__(self, machine: DescribedMachine, rules: dict[int, Location]) -> None:
        DescribedFrame.__init__(self, machine)
        self.rules = rules

    def register(self, number: int, lanes: LaneSet) -> Location:
        return self.rules[number]


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


@for_each("ops, bits",
    ("reg5; deref", 0x2000),  # r5 was saved to memory
    ("breg5 4; stack_value; deref", 0x2004),
    ("reg6; deref", 77),  # r6 was saved in r7
    ("regval_type 6 1; convert 0", 77))  # fmt: skip
def test_a_caller_s_register_is_where_the_call_frame_information_says(ops, bits):
    """DW_OP_regx (2): the resulting location description may be register, memory, or undefined."""
    frame = caller()
    unit = DescribedUnit(base_types={1: lambda: types.unsigned(64)})
    assert evaluated(ops, frame=frame, unit=unit, backend=frame.machine).bits == bits


def test_a_caller_s_register_that_was_not_saved_is_undefined():
    frame = caller()
    assert evaluated("reg7", frame=frame, backend=frame.machine) == UNDEFINED
    assert raised(DwarfGpuError, evaluated, "breg7 0", frame=frame, backend=frame.machine).kind == "undefined_read"


@pytest.mark.parametrize("ops", ["reg5", "regx 5", "regval_type 5 1", "breg5 0"])
def test_registers_need_a_frame(ops):
    """A.2.5.1: the current call frame is required for operations that specify target architecture registers."""
    assert raised(DwarfGpuError, evaluated, ops, unit=DescribedUnit()).kind == "frame"


@pytest.mark.parametrize("ops", ["reg5", "regx 5", "regval_type 5 1", "breg5 0", "bregx 5 0"])
def test_registers_need_a_thread(ops):
    """A.2.5.1: the current thread is required for operations that are related to threads; A.2.5.3: registers are."""
    caught = raised(DwarfGpuError, evaluated, ops, frame=caller(), unit=DescribedUnit(), lanes=LaneSet(1, wave=None))
    assert caught.kind == "thread"
