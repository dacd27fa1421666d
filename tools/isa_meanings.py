"""Which operations have no meaning: found by writing examples of each, which a test compares."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.block_writer import BlockWriter
from dwarfgpu.execution.device_memory import GlobalMemory
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.memory_access import MemoryAccess
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.formats import bits_of, formats, insert
from dwarfgpu.isa.tables import generation, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.isa.instruction import GpuInstruction

GOLDEN = Path(__file__).parents[1] / "tests/golden/isa-without-meaning.txt"
MOST_NAMES = 40
"""The operations that are listed by name."""
PROCESSORS = (
    ("gfx900", 64), ("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1100", 32),
    ("gfx1200", 32),
)  # fmt: skip
TRIES = 200
CHOSEN = {"simm16": 1, "ssrc0": 128}
"""Numbers that say something: the hardware register MODE, the message that asks for the doorbell."""


def examples(processor: str, lanes: int) -> Iterator[list[GpuInstruction]]:
    """Yield for each operation of a processor some instructions that are valid, as a list."""
    opcodes = table(processor, lanes)
    for key, layout in formats(generation(processor)).items():
        name = key.removesuffix("fi")
        for opcode, lines in opcodes.rows.get(name, {}).items():
            for line in lines:
                mnemonic, tokens = opcodes.row(name, line)
                word = layout.match | insert(opcode, layout.opcode)
                fixed = layout.mask | bits_of(layout.opcode)
                for token in tokens:
                    if token[0] == "!":
                        mask, _, value = token[1:].partition("/")
                        word, fixed = word & ~int(mask, 16) | int(value or "0", 16), fixed | int(mask, 16)
                yield list(valid(layout, word, fixed, processor, lanes, mnemonic))


def valid(layout: Any, word: int, fixed: int, processor: str, lanes: int, mnemonic: str) -> Iterator[GpuInstruction]:
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


def has_meaning(instruction: GpuInstruction, processor: str, lanes: int) -> bool:
    """Tell whether an instruction can be executed."""
    writer = BlockWriter(lanes, 0xF0)
    writer.processor, writer.generation = processor, generation(processor)
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


def without_meaning(processors: Iterable[tuple[str, int]] = PROCESSORS) -> dict[str, dict[str, None]]:
    """Return the operations without a meaning, and the processors of each."""
    missing: dict[str, dict[str, None]] = {}
    for processor, lanes in processors:
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


FAMILIES = (
    ("images, samplers and ray tracing", r"image_|ds_bvh_stack"),
    ("exports", r"exp$|export$"),
    ("interpolation and parameters of pixels", r"v_interp_|l?ds_(param|direct)_load|v_screen_partition"),
    ("local memory with two addresses, one of which is the other's", r"ds_\w+_src2_"),
    ("named barriers, which the RDNA4 document does not have", r"s_barrier_"),
    ("loads that transpose matrices", r"global_load_tr_|ds_read_b\d+_tr_"),
    ("numbers of 4, 6 and 8 bits with a scale", r"v_cvt_scalef32_|v_mfma_(scale_|ld_scale_|f32_\w+_f8f6f4)"),
    ("loads and stores of blocks of registers", r"(global|scratch)_(load|store)_block"),
    ("scalar access of scratch memory", r"s_scratch_"),
    ("forks, joins and loops of half waves", r"s_cbranch_(g_fork|i_fork|join)|s_subvector_|s_setvskip"),
    ("trap handlers, and registers while a wave runs", r"s_rfe_|s_setkill|s_alloc_vgpr"),
)
"""What the operations are for, as far as that can be told from their names."""
HEAD = """\
# The operations that `run` cannot execute, by `python3 tools/dev.py docs`, of {processors}.
# Also without a meaning: global data share, loads with `tfe`, clamped results of a few integer operations
# (`v_mad_u64_u32`, `v_mqsad_u32_u8`), packed integers with another sign, SDWA with an unknown part, and stores of
# buffers whose result no document tells (an unknown number of a format, or fewer components than the format has).
"""


def listing() -> str:
    """Return the operations that have no meaning: what they are for, on which processors, and their names."""
    missing = without_meaning()
    rows = {title: sorted(name for name in missing if re.match(pattern, name)) for title, pattern in FAMILIES}
    rows["others"] = sorted(missing.keys() - {name for names in rows.values() for name in names})
    everywhere = [processor for processor, _ in PROCESSORS]
    lines = []
    for title, names in rows.items():
        for processors in dict.fromkeys(tuple(missing[name]) for name in names):
            same = [name for name in names if tuple(missing[name]) == processors]
            where = "all" if list(processors) == everywhere else " ".join(processors)
            shown = " ".join(same) if len(same) <= MOST_NAMES else f"{len(same)}, such as {same[0]}"
            lines.append(f"{title} | {where} | {shown}\n")
    return HEAD.format(processors=", ".join(everywhere)) + "".join(lines)
