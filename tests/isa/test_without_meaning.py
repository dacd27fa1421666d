"""Which operations have no meaning: exactly those that docs/isa.md lists."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np

from dwarfgpu.backends.running import instructions
from dwarfgpu.backends.running.block_writer import BlockWriter
from dwarfgpu.backends.running.device_memory import GlobalMemory
from dwarfgpu.backends.running.memory_access import MemoryAccess
from dwarfgpu.backends.running.stops import UnknownInstruction
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.formats import bits_of, formats, insert
from dwarfgpu.isa.tables import generation, table

PROCESSORS = (
    ("gfx900", 64), ("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1200", 32),
)  # fmt: skip
TRIES = 200
CHOSEN = {"simm16": 1, "ssrc0": 128}
"""Numbers that say something: the hardware register MODE, the message that asks for the doorbell."""


def examples(processor, lanes):
    """Yield for each operation of a processor some instructions that are valid, as a list."""
    opcodes = table(processor, lanes)
    for key, layout in formats(generation(processor)).items():
        name = key.removesuffix("fi")
        for opcode, lines in opcodes.rows.get(name, {}).items():
            for line in lines:
                row = opcodes.row(name, opcode, line)
                word = layout.match | insert(opcode, layout.opcode)
                fixed = layout.mask | bits_of(layout.opcode)
                for token in row.tokens:
                    if token[0] == "!":
                        mask, _, value = token[1:].partition("/")
                        word, fixed = word & ~int(mask, 16) | int(value or "0", 16), fixed | int(mask, 16)
                yield list(valid(layout, word, fixed, processor, lanes, row.mnemonic))


def valid(layout, word, fixed, processor, lanes, mnemonic):
    numbers = random.Random(f"{layout.key} {mnemonic}")
    free = ((1 << 8 * layout.size) - 1) & ~fixed
    found = 0
    # Registers with low, even numbers; few modifiers; then anything.
    vectors = sum(insert(256, pieces) for pieces in layout.operands.values() if sum(size for _, size in pieces) == 9)
    chosen = sum(insert(CHOSEN.get(name, 0), pieces) for name, pieces in layout.operands.items())
    modifiers = 0
    for pieces in layout.modifiers.values():
        modifiers |= bits_of(pieces)
    for number in range(TRIES):
        bits = numbers.getrandbits(8 * layout.size) if number > 1 else chosen if number else 0
        if number % 2 == 0:
            bits = bits & ~modifiers & ~vectors & 0xF8F8F8F8F8F8F8F8F8F8F8F8 | (vectors if number % 4 else 0)
        made = decode((word | bits & free).to_bytes(layout.size, "little") + bytes(20), 0, processor, lanes)
        if made.mnemonic == mnemonic and not any("Invalid" in operand.text for operand in made.operands):
            found += 1
            yield made
            if found == 6:
                return


def has_meaning(instruction, processor, lanes):
    writer = BlockWriter(lanes, 0xF0)
    writer.processor, writer.generation = processor, generation(processor)
    writer.keeps_halves = writer.generation >= 10
    words = [f"src_{space}_{word}" for space in ("shared", "private") for word in ("base", "limit", "base_lo")]
    writer.names_of_apertures = dict.fromkeys(words, 1 << 48)
    memory = MemoryAccess(GlobalMemory([]), lanes=lanes)
    memory.use(np.zeros((1, 64), np.uint8), np.zeros(1, np.int64), np.zeros((1, 0), np.uint8))
    try:
        instructions.write_instruction(writer, instruction, 0x1000, memory)
    except UnknownInstruction:
        return False
    writer.write("return 0")
    writer.function()  # what is written is Python
    return True


def without_meaning():
    """Return the operations without a meaning, and the processors of each."""
    missing: dict[str, dict[str, None]] = {}
    for processor, lanes in PROCESSORS:
        known = set()
        names = set()
        for made in examples(processor, lanes):
            for instruction in made:
                names.add(instruction.name)
                if instruction.name not in known and has_meaning(instruction, processor, lanes):
                    known.add(instruction.name)
        for name in names - known:
            missing.setdefault(name, {})[processor] = None
    return missing


FAMILIES = re.compile(
    r"image_|exp$|export$|v_interp_|l?ds_(param|direct)_load|ds_\w+_src2_"
)
"""What the page says in words."""


def test_the_page_lists_what_has_no_meaning():
    page = (Path(__file__).parents[2] / "docs" / "isa.md").read_text()
    (block,) = re.findall(r"```operations\n(.*?)```", page, re.DOTALL)
    listed = set(block.split())
    found = {name for name in without_meaning() if not FAMILIES.match(name)}
    assert sorted(found - listed) == []
    assert sorted(listed - found) == []
