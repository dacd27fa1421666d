"""How much of each instruction set is known: found by decoding examples of each opcode, and writing what they do."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.isa import tables
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.formats import bits_of, formats, insert
from dwarfgpu.isa.instruction import GpuInstruction

TRIES = 200
CHOSEN = {"simm16": 1, "ssrc0": 128}
"""Numbers that say something: the hardware register MODE, the message that asks for the doorbell."""
_NOT_FOLLOWED = re.compile(r"s_cbranch_(g_fork|i_fork|join)$|s_subvector_loop_|s_setvskip$|s_set_vgpr_msb$")
"""Operations of which it is not known where their waves go on."""
_OTHER_MEMORY = ("EXP", "LDSDIR")
"""Encodings of which it is not known what they do to memory."""


@frozen
class InstructionCoverage:
    """What is known of the operations of processors whose instructions are the same."""

    processors: tuple[str, ...]
    wave_size: int
    names: tuple[str, ...]
    """The operations that have a text."""
    without_effects: tuple[str, ...]
    """Those of which it is not known what they read and write, and where their waves go on."""
    without_meaning: tuple[str, ...]
    """Those that stop the waves that execute them."""

    @property
    def text(self) -> int:
        """Return how many operations have a text."""
        return len(self.names)

    @property
    def effects(self) -> int:
        """Return of how many operations the effects are known."""
        return self.text - len(self.without_effects)

    @property
    def meaning(self) -> int:
        """Return how many operations are executed."""
        return self.text - len(self.without_meaning)


def coverages(names: Iterable[str] = ()) -> list[InstructionCoverage]:
    """Return what is known of the instructions of some processors, or of all; those of one table are together."""
    wanted = {tables.ALIASES.get(name, name): name for name in names}
    rows = [(processors, lanes) for major in tables.GENERATIONS for processors, lanes in _sets(major)]
    known = {processor for processors, _lanes in rows for processor in processors}
    if missing := [name for processor, name in wanted.items() if processor not in known]:
        raise UsageError(
            f"the instructions of {', '.join(missing)} are not known",
            hint="`dwarfgpu targets --coverage` lists the processors whose instructions are",
        )
    return [coverage_of(*row) for row in rows if not wanted or wanted.keys() & {*row[0]}]


def _sets(major: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the processors of a generation with the same instructions, and the size of their waves: that of most."""
    for line in tables.text_of(major).splitlines():
        if line.startswith("set ") and not line.endswith("/64"):
            yield tuple(name.partition("/")[0] for name in line.split()[2:]), 32 if line.endswith("/32") else 64


def coverage_of(processors: Iterable[str], lanes: int) -> InstructionCoverage:
    """Return what is known of the instructions of processors that have the same."""
    from dwarfgpu.execution.instructions import has_meaning

    processors = tuple(processors)
    names, followed, known = set[str](), set[str](), set[str]()
    for made in examples(processors[0], lanes):
        for instruction in made:
            name = instruction.name
            names.add(name)
            if has_effects(instruction):
                followed.add(name)
            if name not in known and has_meaning(instruction, processors[0], lanes):
                known.add(name)
            if name in known and name in followed:
                break
    everything, *lacking = (tuple(sorted(each)) for each in (names, names - followed, names - known))
    return InstructionCoverage(processors, lanes, everything, *lacking)


def examples(processor: str, lanes: int) -> Iterator[Iterator[GpuInstruction]]:
    """Yield for each opcode of a processor some instructions that are valid."""
    opcodes = tables.table(processor, lanes)
    for key, layout in formats(tables.generation(processor)).items():
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
                yield _valid(layout, word, fixed, processor, lanes, mnemonic)


def _valid(layout: Any, word: int, fixed: int, processor: str, lanes: int, mnemonic: str) -> Iterator[GpuInstruction]:
    numbers = random.Random(f"{layout.key} {mnemonic}")  # noqa: S311 (the same words each time)
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


def has_effects(instruction: GpuInstruction) -> bool:
    """Return whether it is known what an instruction reads and writes, and where its wave goes on."""
    return instruction.encoding not in _OTHER_MEMORY and not _NOT_FOLLOWED.match(instruction.name)
