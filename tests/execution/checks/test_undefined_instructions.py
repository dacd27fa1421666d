"""Instructions with undefined bits in their registers: what other values of the bits change must be undefined.

Operands, modifiers, DPP and SDWA are random, so each way of values into an operation is one of undefined bits, too.
"""

import random

import numpy as np
import pytest

from dwarfgpu.execution import instructions
from dwarfgpu.execution.batch import M0, VCC, VCC_HI, WaveBatch
from dwarfgpu.execution.block_writer import BlockWriter
from dwarfgpu.execution.checks.findings import CheckSettings
from dwarfgpu.execution.checks.init_check import InitCheck
from dwarfgpu.execution.checks.undefined_registers import DEFINED, UNDEFINED_BITS, UndefinedRegisters
from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from dwarfgpu.execution.memory_access import MemoryAccess
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.program.code import instruction_reference as reference

WAVES, TRIES = 2, 10
UNKNOWN = "not executed here"
FILES = {OperandKind.VGPR: "v", OperandKind.AGPR: "a", OperandKind.SGPR: "s"}
MEMORY_ENCODINGS = ("SMEM", "MUBUF", "MTBUF", "VBUFFER", "FLAT", "GLOBAL", "SCRATCH", "MIMG", "EXP")
MODELS = [("gfx1100", 32, 200)]
MODELS += [pytest.param(name, lanes, 4, marks=pytest.mark.slow) for name, lanes in (
    ("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)
)]  # fmt: skip
"""Processors, and every how many instructions is tried."""


def is_tried(instruction):
    """Whether an instruction computes something that can be compared: no branch, no EXEC, no memory."""
    name = instruction.name
    if name in instructions.CONTROL or name in instructions.SETTINGS or instructions.IDLE.match(name):
        return False
    is_memory = instruction.encoding in MEMORY_ENCODINGS or (
        instruction.encoding == "DS" and name not in instructions.SPECIAL_FORMS
    )
    targets = [operand.register for part in (instruction, *instruction.components) for operand in part.destinations]
    is_special = "exec" in name or "cmpx" in name or any(each.startswith(("exec", "m0")) for each in targets)
    operands = [operand for part in (instruction, *instruction.components) for operand in part.operands]
    limits = {"v": 255, "a": 255, "s": 105}
    is_outside = any(
        operand.index + operand.count > limits[FILES[operand.kind]] for operand in operands if operand.kind in FILES
    )
    return not (is_memory or is_special or is_outside or any("Invalid" in operand.text for operand in operands))


def examples(processor, lanes, step):
    """Each instruction of a processor with random operands, with and without modifiers."""
    major, number = int(processor[3:-2]), 0
    decoder = reference.decoder(processor, lanes if major >= 10 else 0)
    for key, layout in reference.formats(major).items():
        operands = [*layout.operands.values()]
        free = (1 << 8 * layout.size) - 1 & ~sum({pieces: reference.bits_of(pieces) for pieces in operands}.values())
        for opcode in range(1 << reference.bits_of(layout.opcode).bit_count()):
            for row in decoder.rows(key, opcode):
                number += 1
                chosen = random.Random(f"{processor} {key} {opcode}")
                for is_modified in (False, True) if number % step == 0 else ():
                    sizes = [(pieces, reference.bits_of(pieces).bit_count()) for pieces in operands]
                    word = sum(
                        reference.insert(chosen.choice(reference.CODES) % (1 << size), pieces) for pieces, size in sizes
                    )
                    word |= chosen.getrandbits(8 * layout.size) & free if is_modified else 0
                    word &= ~(layout.mask | row.mask | reference.bits_of(layout.opcode))
                    word |= layout.match | row.match | reference.insert(opcode, layout.opcode)
                    made = row.make(word, word.to_bytes(layout.size, "little") + bytes(20), 0)
                    if made is not None and is_tried(made):
                        yield made


def random_waves(numbers, lanes):
    """Waves with random numbers in all registers, some of them floats and some small."""
    batch = WaveBatch(range(WAVES), lanes, 256, 256)
    batch.mode = 0xF0
    words = numbers.integers(0, 1 << 32, (512, WAVES, lanes), np.uint32)
    words[::4] &= 0x1F
    words[1::4] = numbers.normal(size=words[1::4].shape).astype(np.float32).view(np.uint32)
    batch.vector, batch.accumulation = [*words[:256]], [*words[256:]]
    batch.scalar = [int(number) >> (26 if place % 3 == 0 else 0) for place, number in
                    enumerate(numbers.integers(0, 1 << 32, len(batch.scalar), np.uint32))]  # fmt: skip
    batch.scalar[VCC], batch.scalar[M0] = int(numbers.integers(0, 1 << lanes, dtype=np.uint64)), 3
    batch.scc = int(numbers.integers(0, 2))
    batch.set_exec(int(numbers.integers(0, 1 << lanes, dtype=np.uint64)))
    return batch


def random_undefined(numbers, batch, instruction):
    """Undefined bits in some of the registers of an instruction."""
    lanes = batch.lanes
    known = WaveBatch(batch.waves, lanes, 0, 0)
    known.vector, known.accumulation, known.scalar = [DEFINED] * 256, [DEFINED] * 256, [0] * len(batch.scalar)
    known.scc = int(numbers.integers(0, 2))

    def bits(shape, size):
        one, other = (np.uint64(1) << numbers.integers(0, size, shape).astype(np.uint64) for _ in range(2))
        whole = np.where(numbers.random(shape) < 0.1, np.uint64((1 << size) - 1), one | other)
        return np.where(numbers.random(shape) < 0.5, whole, np.uint64(0))

    for part in (instruction, *instruction.components):
        for operand in part.operands:
            for index in range(operand.index, operand.index + max(operand.count, 1)):
                file = FILES.get(operand.kind)
                if file == "s" and numbers.random() < 0.5:
                    known.scalar[index] = int(bits((), 32))
                elif file in ("v", "a") and numbers.random() < 0.6:
                    columns = known.vector if file == "v" else known.accumulation
                    columns[index] = bits((WAVES, lanes), 32).astype(np.uint32)
    known.scalar[VCC] = int(bits((), lanes)) if numbers.random() < 0.5 else 0
    return known


def flipped(numbers, batch, known, *, all_bits):
    """The waves with other values in their undefined bits."""
    other = batch.copy()

    def some(bits):
        return bits if all_bits else bits & numbers.integers(0, 1 << 64, np.shape(bits), np.uint64).astype(np.uint64)

    for columns, undefined in ((other.vector, known.vector), (other.accumulation, known.accumulation)):
        for index, bits in enumerate(undefined):
            if bits is not DEFINED:
                columns[index] = columns[index] ^ some(bits.astype(np.uint64)).astype(np.uint32)
    other.scalar = [
        number ^ int(some(np.uint64(bits))) for number, bits in zip(other.scalar, known.scalar, strict=True)
    ]
    other.scc ^= int(some(np.uint64(known.scc)))
    return other


def contents(batch):
    """All registers as columns."""
    vectors = [np.broadcast_to(column, (WAVES, batch.lanes)).astype(np.uint64)
               for column in (*batch.vector, *batch.accumulation)]  # fmt: skip
    scalars = [np.broadcast_to(np.asarray(number, np.uint64).reshape(-1, 1), (WAVES, 1))
               for number in (*batch.scalar[: VCC_HI + 1], batch.scc)]  # fmt: skip
    return np.stack(vectors), np.stack(scalars)


def missed(instruction, processor, lanes, seed):
    """Where bits can change that are not undefined after an instruction; and whether it computes something else."""
    numbers, generation = np.random.default_rng(seed), int(processor[3:-2])
    batch = random_waves(numbers, lanes)
    known = random_undefined(numbers, batch, instruction)
    memory = GlobalMemory([MemorySegment.of(0x10000, np.zeros(4096, np.uint8))])
    options = {"lanes": lanes, "scratch_base": 0x80000, "apertures": (1 << 48, 2 << 48)}
    check = InitCheck(memory, CheckSettings(frozenset()), lambda *_: None, lambda: 0, generation=generation, **options)
    plain = MemoryAccess(memory, **options)
    for used in (plain, check):
        used.use(np.zeros((WAVES, 64), np.uint8), np.arange(WAVES), np.zeros((WAVES, 64 * lanes), np.uint8))
    functions = []
    for is_checked in (False, True):
        writer = BlockWriter(lanes, batch.mode)
        writer.processor, writer.generation, writer.address = processor, generation, 0x1000
        writer.names_of_apertures = {"src_shared_base": 1 << 48, "src_private_base": 2 << 48}
        if is_checked:
            check.write(writer, instruction, 0x1000)
        try:
            instructions.write_instruction(writer, instruction, 0x1000, plain)
            functions.append(writer.function())
            if not is_checked:
                functions[0](after := batch.copy())
        except (UnknownInstruction, MachineFault, ValueError, IndexError, AttributeError, TypeError):
            return UNKNOWN
    checked = batch.copy()
    checked.beside[UNDEFINED_BITS.name] = UndefinedRegisters(known.copy())
    functions[1](checked)
    expected, found = contents(after), contents(checked.beside[UNDEFINED_BITS.name].registers)
    if any((left != right).any() for left, right in zip(expected, contents(checked), strict=True)):
        return "another result"
    for number in range(TRIES):
        other = flipped(numbers, batch, known, all_bits=number == 0)
        functions[0](other)
        for can, tells, old in zip(contents(other), found, expected, strict=True):
            if ((can ^ old) & ~tells).any():
                return "a missed bit"
    return None


@pytest.mark.parametrize("processor, lanes, step", MODELS)
@pytest.mark.sampled(4)
def test_each_bit_that_can_change_is_undefined(processor, lanes, step):
    wrong, count = [], 0
    with np.errstate(all="ignore"):
        for number, instruction in enumerate(examples(processor, lanes, step)):
            problem = missed(instruction, processor, lanes, number)
            count += problem != UNKNOWN
            if problem not in (None, UNKNOWN):
                wrong.append((instruction.name, [operand.text for operand in instruction.operands], problem))
    assert wrong == []
    assert count > 1200 // step
