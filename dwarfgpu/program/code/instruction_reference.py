"""The reference of GPU instructions: encodings and operands from the tables, meanings from the formulas."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.isa import tables
from dwarfgpu.isa.decoder import SUFFIXES, decoder
from dwarfgpu.isa.formats import bits_of, formats, insert
from dwarfgpu.isa.formulas import CARRYING_ON_GFX8, OTHERS_ON_GFX12, Formula, formulas, single_name
from dwarfgpu.isa.instruction import GpuInstruction, OperandRole
from dwarfgpu.isa.memory_actions import MemoryAction, action_of

DOCUMENTS = {9: "Vega and CDNA3, chapter 12", 11: "RDNA3, chapter 16", 12: "RDNA4, chapter 16"}
"""The ISA documents of generations, and their chapters about instructions, with a section for each format."""
CODES = (256, 0, 128, 124, 125, 127)
"""Codes of operands: a vector register, a scalar one, a number, and what stands for none."""
PACKED_MOVE = "the low half; the high half is that of S1"
TRIES = 200
"""How many words are decoded until one is an example of an instruction."""


@frozen
class OperandReference:
    """An operand of an instruction."""

    name: str
    role: OperandRole
    bits: int
    type: str
    """How constants are expanded; empty where none may be."""


@frozen
class EncodingReference:
    """An encoding of an instruction."""

    generation: int
    format: str
    variant: str
    """sdwa, dpp, dpp8, or empty."""
    opcode: int
    processors: tuple[str, ...]
    """The processors that have it; empty if all of the generation do."""
    operands: tuple[OperandReference, ...]
    modifiers: tuple[str, ...]
    action: MemoryAction


@frozen
class InstructionReference:
    """The documentation of an instruction."""

    name: str
    """The mnemonic without the suffix of its encoding."""
    formula: Formula | None
    """None for an instruction whose meaning is more than the values of its operands."""
    note: str = ""
    """Of what the formula is, and where another one holds."""

    @property
    def encodings(self) -> tuple[EncodingReference, ...]:
        """The encodings of all generations, the oldest first; they are found when they are asked for."""
        return _encodings(self.name)

    @property
    def plain(self) -> EncodingReference:
        """The encoding that says most about its operands: the shortest of the latest generation."""
        latest = self.encodings[-1].generation
        return next(each for each in self.encodings if each.generation == latest)

    @property
    def documents(self) -> str:
        """Where the ISA documents describe it."""
        formats = dict.fromkeys(each.format for each in self.encodings)
        chapters = [DOCUMENTS[major] for major in dict.fromkeys(each.generation for each in self.encodings)
                    if major in DOCUMENTS]  # fmt: skip
        sections = f"section{'s' if len(formats) > 1 else ''} {', '.join(formats)}"
        return f"{'; '.join(chapters)}; {sections}" if chapters else sections


@cache
def names() -> list[str]:
    """Return the names of all instructions."""
    found: dict[str, None] = {}
    for major in tables.GENERATIONS:
        for line in tables.text_of(major).splitlines():
            head, _, rest = line.partition(" ")
            if re.fullmatch("[0-9a-f]+", head):
                found[_name(rest.split(" ", 1)[0])] = None
    return sorted(found)


def find(name: str) -> list[InstructionReference]:
    """Return the instructions with a name: exact, with or without the suffix of an encoding, or containing it."""
    known = names()
    wanted = _name(name.lower())
    if wanted in known:
        return [reference_of(wanted)]
    parts = [each for each in known if wanted in each]
    if not parts:
        from difflib import get_close_matches

        close = get_close_matches(wanted, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "list all with `dwarfgpu ops --isa`"
        raise UsageError(f"no AMD GPU has an instruction {name!r}", hint=hint)
    return [reference_of(each) for each in parts]


def reference_of(name: str) -> InstructionReference:
    """Return an instruction."""
    single, carrying, other = single_name(name), CARRYING_ON_GFX8.get(name), OTHERS_ON_GFX12.get(name)
    if name in formulas() or single not in formulas():
        note = f"on GFX8 as {carrying}" if carrying else f"on GFX12.5: {formulas()[other].text}" if other else ""
        return InstructionReference(name, formulas().get(name), note)
    note = f"both halves, as {single}" if name.startswith("v_pk_") else f"half of a dual instruction, as {single}"
    return InstructionReference(name, formulas()[single], PACKED_MOVE if name == "v_pk_mov_b32" else note)


def _name(mnemonic: str) -> str:
    mnemonic = mnemonic.removesuffix("-").replace("~", " ")
    return next((mnemonic.removesuffix(suffix) for suffix in SUFFIXES if mnemonic.endswith(suffix)), mnemonic)


@cache
def _encodings(name: str) -> tuple[EncodingReference, ...]:
    return tuple(_found_encodings(name))


def _found_encodings(name: str) -> Iterator[EncodingReference]:
    mnemonic = re.escape(name.replace(" ", "~"))
    suffixes = "|".join(("-", *SUFFIXES))
    pattern = re.compile(rf"^([0-9a-f]+) {mnemonic}(?:{suffixes})?(?: [^@\n]*?)?(?: @(\w+))?$", re.MULTILINE)
    for major in tables.GENERATIONS:
        text = tables.text_of(major)
        sets = {line.split()[1]: line.split()[2:] for line in text.splitlines() if line.startswith("set ")}
        found: dict[tuple[str, int], dict[str, None]] = {}
        for match in pattern.finditer(text):
            key = text[text.rfind("\nformat ", 0, match.start()) :].split(maxsplit=2)[1]
            letters = found.setdefault((key, int(match[1], 16)), {})
            letters.update(dict.fromkeys(match[2] or sets))
        for (key, opcode), letters in found.items():
            processors = tuple(dict.fromkeys(each.partition("/")[0] for letter in letters for each in sets[letter]))
            example = _example(major, key, opcode, name, processors)
            if example is None:
                continue
            yield EncodingReference(
                *(major, example.encoding, example.variant, opcode, processors if len(letters) < len(sets) else ()),
                tuple(OperandReference(each.name, each.role, each.bits, each.type) for each in example.operands),
                tuple(key for key, _ in example.form.writers),
                action_of(example, major),
            )


def _example(major: int, key: str, opcode: int, name: str, processors: tuple[str, ...]) -> GpuInstruction | None:
    layout = formats(major).get(key)
    if layout is None:
        return None
    numbers = random.Random(name)  # noqa: S311 (the same words each time)
    for processor in processors[:: max(len(processors) // 3, 1)]:
        for row in decoder(processor, 0).rows(key, opcode):
            for _ in range(TRIES if row.form.name == name else 0):
                fields = ((pieces, bits_of(pieces).bit_count()) for pieces in layout.operands.values())
                word = sum(insert(numbers.choice(CODES) % (1 << size), pieces) for pieces, size in fields)
                word = word & ~(layout.mask | row.mask) | layout.match | row.match | insert(opcode, layout.opcode)
                made = row.make(word, word.to_bytes(layout.size, "little") + bytes(20), 0)
                if made is not None and not any("Invalid" in operand.text for operand in made.operands):
                    return made
    return None
