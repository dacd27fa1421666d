"""Random programs that know what is on their stack, and random machines for them to run on."""

import functools
import random
from typing import Any

from cases_context import DescribedDie, DescribedFrame, DescribedUnit

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm, table
from dwarfgpu.expr.context import Context, DieReference, Limits
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.locations import Memory, at
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.types import BaseType
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.targets.resolve import resolve

TARGETS = ("amdgcn-gfx90a", "amdgcn-gfx1100-wave32")
LANES = 8
LIMITS = Limits(steps=400, stack=200, nesting=6, composite_depth=12)
TYPES = {
    0x10: ("signed", 32, None),           0x11: ("unsigned", 8, None),          0x12: ("float", 32, None),
    0x13: ("float", 64, None),            0x14: ("signed", 128, None),          0x15: ("unsigned", 64, None),
    0x16: ("float", 16, None),            0x17: ("bfloat16", 16, None),         0x18: ("unsigned", 32, 4),
    0x19: ("boolean", 8, None),           0x1A: ("signed", 5, None),            0x1B: ("address", 64, None),
    0x1C: ("signed", 300, None)}  # fmt: skip
BLOCKED = frozenset(("DW_OP_LLVM_NVIDIA_mux",))


@functools.cache
def base_types() -> dict[int, Any]:
    found = {}
    for offset, (encoding, bits, count) in TYPES.items():
        found[offset] = functools.partial(lambda one: one, BaseType(encoding, bits, vector_size=count))
    return found


class Writer:
    """Writes a program, an operation at a time, choosing what fits on the stack more often than not."""

    rows = tuple(row for row in table.rows() if row.name not in BLOCKED)
    shortcuts = 0.25
    """How likely a few operations that belong together are written."""

    def __init__(self, chance: random.Random, target_name: str) -> None:
        self.chance = chance
        self.vector = 1536 if "wave32" in target_name else 2560
        self.depth = 0

    def program(self, length: int) -> str:
        return "; ".join(self.operation() for _ in range(length))

    def operation(self) -> str:
        chance = self.chance
        if chance.random() < self.shortcuts:
            self.depth += 1
            return self.shortcut()
        fitting = [row for row in self.rows if not row.is_raw and len(row.inputs) <= self.depth]
        row = chance.choice(fitting if fitting and chance.random() < 0.75 else self.rows)
        self.depth = max(0, self.depth - len(row.inputs)) + (1 if row.is_raw else len(row.outputs))
        return " ".join([row.name, *(self.operand(operand.name, operand.kind) for operand in row.operands)])

    def shortcut(self) -> str:
        lane = "DW_OP_LLVM_push_lane"
        return self.chance.choice(
            [
                lane,
                f"{lane}; DW_OP_lit4; DW_OP_mul",
                f"DW_OP_regx {self.vector + 1}",
                f"DW_OP_regx {self.vector + 1}; {lane}; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset",
                "DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
                "DW_OP_lit8; DW_OP_lit3; DW_OP_LLVM_form_aspace_address",
                f"DW_OP_addr 0x1000; {lane}; DW_OP_LLVM_offset; DW_OP_deref_size {self.chance.randrange(1, 9)}",
                f"DW_OP_const_type {self.chance.choice([*TYPES]):#x} {self.chance.randbytes(4).hex()}",
                f"{lane}; DW_OP_lit1; DW_OP_and; DW_OP_bra +{self.chance.randrange(0, 6)}",
                "DW_OP_stack_value",
            ]
        )

    def operand(self, name: str, kind: str) -> str:
        chance = self.chance
        if kind == "branch":
            return str(chance.randrange(-12, 20))
        if kind in ("block", "block1"):
            return chance.randbytes(chance.choice([0, 1, 2, 4, 4, 8, 16])).hex() or "0x"
        if kind == "expression":
            return "(" + chance.choice(["DW_OP_lit3", "DW_OP_regx 32", "DW_OP_LLVM_push_lane", "DW_OP_plus"]) + ")"
        if kind == "encoded":
            return f"{chance.choice([0, 3, 11, 0x80, 0x1B]):#x} {chance.randrange(0x1000, 0x1010):#x}"
        if name == "DR":
            return f"{chance.choice([*TYPES, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x99]):#x}"
        if name == "R":
            return str(chance.choice([32, 33, 16, self.vector, self.vector + 1, 5, 7, 99]))
        if kind in ("sleb", "s1", "s2", "s4", "s8"):
            return str(chance.choice([0, 1, -1, 4, -8, 63, -128, 127]))
        return str(chance.choice([0, 1, 2, 3, 4, 5, 8, 16, 31, 32, 64, 100, 255 if kind != "u1" else 9]))


def expression(chance: random.Random, target_name: str, length: int | None = None) -> Expression:
    dialect = dialects.get("llvm-user")
    text = Writer(chance, target_name).program(chance.randrange(1, 14) if length is None else length)
    return asm.parse(text, dialect, Format(), target=resolve(target_name))


@functools.cache
def _callees(target_name: str) -> dict[DieReference, DescribedDie]:
    def parse(text: str) -> Expression:
        return asm.parse(text, dialects.get("llvm-user"), Format(), target=resolve(target_name))

    found = {}
    for base in ("unit", "info"):
        for offset, die in {
            0x40: DescribedDie(parse("DW_OP_lit7; DW_OP_plus")),
            0x41: DescribedDie((parse("DW_OP_addr 0x1004"), parse("DW_OP_addr 0x1008"))),
            0x42: DescribedDie(None, b"\1\2\3\4\5\6\7\x08"),
            0x43: DescribedDie(parse("DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_gt; DW_OP_bra +1; DW_OP_lit3")),
            0x44: DescribedDie(parse("DW_OP_implicit_pointer 0x44 0; DW_OP_deref")),
        }.items():
            found[DieReference(base, offset)] = die  # type: ignore[arg-type]
    return found


REGIONS = ((0, 0x1000, 48), (3, 0, 40), (6, 0, 2048))
"""The memory of a state: spaces, addresses and sizes."""


def context(chance: random.Random, target_name: str, rules: str) -> Context:
    """A random state of one wave, with eight lanes to evaluate for."""
    target = resolve(target_name)
    vector = 1536 if "wave32" in target_name else 2560
    registers: dict[int, Any] = {
        32: chance.choice([0x1000, 0x1001, 0, 0xFFFFFFFF]),                       33: chance.getrandbits(32),
        16: 0x1010,                          vector: [chance.getrandbits(32) for _ in range(target.lane_count)],
        vector + 1: [0x1000 + chance.randrange(0, 40) for _ in range(target.lane_count)]}  # fmt: skip
    space = {number: target.space(number) for number, _address, _size in REGIONS}
    memory = [Region(space[number], address, chance.randbytes(size)) for number, address, size in REGIONS]
    frame = DescribedFrame(
        machine := DescribedMachine(target, registers, memory), cfa=at(Memory(space[6], 0), 8 * 0x40),
        frame_base=at(Memory(space[0]), 8 * 0x1008), tls={0: 0x1000, 4: 0x1010})  # fmt: skip
    unit = DescribedUnit(base_types=base_types(), debug_addr={0: 0x1000, 1: 0x1001}, dies=_callees(target_name))
    return Context(
        target, PRESETS[rules], machine, LaneSet.of(range(LANES)), lane_count=chance.choice([None, None, 6]),
        iteration=0, frame=frame, unit=unit, object=at(Memory(space[0]), 8 * 0x1002),
        result_kind=chance.choice([None, None, "value", "location"]), limits=LIMITS)  # fmt: skip
