"""Waves deep in calls of one function that saves vector registers under EXEC, and the code object it is in.

The function is made of call frame information alone: nothing executes it, and what it would do to the registers and to
scratch memory is done here, frame after frame from the kernel on.
"""

from typing import Any

import numpy as np

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.machines.machine import LoadedCodeObject, Machine
from dwarfgpu.targets.resolve import resolve
from tests.builders.elf import ElfBuilder
from tests.builders.frames import FrameBuilder

TARGET = "amdgcn-gfx90a"
GFX90A = 0x3F
LANES = 64
ROW = 4 * LANES
"""Bytes of a vector register in scratch memory."""
KERNEL, FUNCTION, SIZE = 0x1000, 0x2000, 0x1000
CALL = 0x100
"""Where in the code the call is."""
FIRST = 40
"""The first vector register that the function saves."""
SGPR, VGPR, EXEC, PC = 32, 2560, 17, 16
MASK = (1 << 64) - 1


def expression(text: str) -> str:
    """The bytes of an expression, in hex."""
    return asm.assemble(text, dialects.get("llvm-user"), Format(), target=resolve(TARGET)).hex()


def saved_register(index: int) -> str:
    """Where LLVM says that a vector register is which is saved for the lanes that were active on entry."""
    return expression(
        f"DW_OP_regx v{FIRST + index}; DW_OP_swap; DW_OP_LLVM_offset_uconst {ROW * (1 + index)}; "
        "DW_OP_LLVM_call_frame_entry_reg exec; DW_OP_deref_size 8; DW_OP_LLVM_select_bit_piece 32 64"
    )


def code_object(saved: int) -> bytes:
    """A kernel, and a function that saves v0 as a whole, and ``saved`` vector registers from v40 on under EXEC.

    Lanes of v0 hold the return address, the frame pointer and the execution mask of the caller.
    """
    builder = FrameBuilder()
    cie = builder.cie(code=4, data=4)
    builder.fde(
        cie,
        KERNEL,
        SIZE,
        f"def_cfa_expression {expression('DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address')};undefined {PC}",
    )
    pair = "DW_OP_regx v0; DW_OP_bit_piece 32 {}; DW_OP_regx v0; DW_OP_bit_piece 32 {}"
    rules = [
        f"LLVM_def_aspace_cfa {SGPR + 33} 0 6",
        f"undefined {VGPR + 1}",
        f"expression {PC} {expression(pair.format(0, 32))}",
        f"expression {SGPR + 33} {expression('DW_OP_regx v0; DW_OP_LLVM_offset_uconst 8')}",
        f"expression {EXEC} {expression(pair.format(96, 128))}",
        f"offset_extended {VGPR} 0",
        *(f"expression {VGPR + FIRST + index} {saved_register(index)}" for index in range(saved)),
    ]
    builder.fde(cie, FUNCTION, SIZE, ";".join(rules))
    elf = ElfBuilder(flags=GFX90A)
    text = elf.section(".text", bytes(FUNCTION + SIZE - KERNEL), flags=0x6, address=KERNEL)
    elf.section(".debug_frame", builder.data)
    elf.symbols([("kernel", KERNEL, SIZE, 2, 1, text), ("function", FUNCTION, SIZE, 2, 1, text)])
    elf.segment(1, KERNEL, text, flags=5)
    return elf.build()


class Truth:
    """All registers of a frame when it called."""

    def __init__(self, pc: int, scalar: Any, vector: Any, accumulation: Any, mask: int) -> None:
        self.pc = pc
        self.scalar = scalar.copy()
        self.vector = vector.copy()
        self.accumulation = accumulation
        self.mask = mask


def nested(
    depth: int, saved: int, *, bias: int = 0, seed: int = 1, masks: list[int] | None = None
) -> tuple[Machine, list[Truth]]:
    """A wave ``depth`` frames deep, the kernel's included, and the registers of each frame, the innermost first.

    ``masks`` are those with which each function is entered, from the kernel on; every frame has its own.
    """
    random = np.random.default_rng(seed)
    scalar = random.integers(0, 1 << 32, 106, dtype=np.uint32)
    vector = random.integers(0, 1 << 32, (256, LANES), dtype=np.uint32)
    accumulation = random.integers(0, 1 << 32, (256, LANES), dtype=np.uint32)
    masks = masks or [int(random.integers(0, 1 << 64, dtype=np.uint64)) for _ in range(depth)]
    frame = ROW * (1 + saved)
    scratch = random.integers(0, 256, frame * (depth + 1) + 0x400, dtype=np.uint8)
    dwords = scratch.view(np.uint32)
    mask, pc = masks[0], KERNEL + CALL + bias
    scalar[32] = scalar[33] = 0x400
    frames: list[Truth] = []
    for level in range(1, depth):
        frames.append(Truth(pc, scalar, vector, accumulation, mask))
        back, caller_mask, old = pc, mask, int(scalar[33])
        cfa = int(scalar[32])
        # the caller narrows or widens its mask for the call; the function is entered with that one
        mask = masks[level]
        frames[-1].mask = mask
        active = np.array([mask >> lane & 1 for lane in range(LANES)], dtype=bool)
        dwords[cfa // 4 : cfa // 4 + LANES] = vector[0]
        for index in range(saved):
            start = (cfa + ROW * (1 + index)) // 4
            dwords[start : start + LANES][active] = vector[FIRST + index][active]
        for lane, value in enumerate((back, back >> 32, old, mask, mask >> 32)):
            vector[0, lane] = value & 0xFFFFFFFF
        scalar[33], scalar[32] = cfa, cfa + frame
        rubbish = random.integers(0, 1 << 32, (saved, LANES), dtype=np.uint32)
        vector[FIRST : FIRST + saved] = np.where(active, rubbish, vector[FIRST : FIRST + saved])
        pc = FUNCTION + CALL + bias
        del caller_mask
    frames.append(Truth(pc, scalar, vector, accumulation, mask))
    return _machine(pc, mask, scalar, vector, accumulation, scratch), frames[::-1]


def _machine(pc: int, mask: int, scalar: Any, vector: Any, accumulation: Any, scratch: Any) -> Machine:
    machine = Machine(resolve(TARGET))
    machine.add_waves(1)
    registers = [*machine.target.registers()]
    for letter, rows in (("v", vector), ("a", accumulation)):
        machine.allocate_registers([each for each in registers if each.name[0] == letter and each.lane_bits])
        for number, row in enumerate(rows):
            machine.set_register(f"{letter}{number}", row[None])
    machine.allocate_registers([each for each in registers if each.name[0] == "s" and each.name[1:].isdecimal()])
    for number, value in enumerate(scalar):
        machine.set_register(f"s{number}", np.uint64(value))
    for name in ("vcc", "status"):
        machine.set_register(name, np.uint64(7))
    machine.set_register("exec", np.uint64(mask))
    machine.set_register("pc", np.uint64(pc))
    space: Any = machine.target.space_named("private_wave")
    machine.memory.map(space, 0, scratch)
    return machine


def with_code(machine: Machine, path: str, bias: int = 0) -> Machine:
    """A machine that has the code object of a file loaded."""
    machine.code_objects.append(LoadedCodeObject(path, bias))
    return machine
