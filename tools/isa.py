#!/usr/bin/env python3
"""Write the opcode tables of dwarfgpu/isa by asking LLVM about every opcode of every format, or check them.

    python3 tools/dev.py isa                       write dwarfgpu/isa/gfx*.txt
    python3 tools/dev.py isa --check               compare them with what LLVM says
    python3 tools/dev.py isa --check --random N    and decode N random words for each processor with both
    python3 tools/dev.py isa --only gfx90a         only for some processors (with --check)

The disassembler of libLLVM 22 is asked through ctypes. How an operand is read is found by varying its field: the kind
whose texts are the same for all probed codes is the one.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from isa_learn import Learner
from isa_oracle import CRASHED, LONGEST, NoOracle, Oracle

from dwarfgpu.isa.decoder import Decoder, decoder, text
from dwarfgpu.isa.formats import formats
from dwarfgpu.isa.tables import GENERATIONS
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "dwarfgpu" / "isa"

FAMILIES: dict[int, tuple[tuple[str, ...], ...]] = {
    8: (("gfx803", "gfx801", "gfx802", "gfx805"), ("gfx810",)),
    9: (
        ("gfx900", "gfx902", "gfx909", "gfx90c"),
        *(
            ("gfx904",),
            ("gfx906",),
            ("gfx908",),
            ("gfx90a",),
            ("gfx942",),
            ("gfx950",),
            ("gfx9-generic",),
            ("gfx9-4-generic",),
        ),
    ),
    10: (
        ("gfx1010", "gfx1013", "gfx10-1-generic"),
        ("gfx1011", "gfx1012"),
        ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx10-3-generic"),
    ),
    11: (("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic"), ("gfx1150", "gfx1151", "gfx1152", "gfx1153")),
    12: (("gfx1200", "gfx1201", "gfx12-generic"), ("gfx1250", "gfx1251", "gfx12-5-generic")),
}
"""Processors with the same instructions; the first of each family is asked."""

HEAD = """\
# Opcodes of GFX{major}, found by tools/isa.py with LLVM 22. docs/architecture.md explains the rows; do not edit them.
"""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def wave_sizes(processor: str) -> tuple[int, ...]:
    """Return the sizes that the waves of a processor can have."""
    row = processor_named(processor)
    if row is None:
        raise AssertionError(processor)
    return row.wave_sizes


def members(major: int) -> dict[str, list[str]]:
    """Return what is asked, and the processors that the answer holds for; from GFX10 on for each size of waves."""
    result = {}
    for family in FAMILIES[major]:
        for size in wave_sizes(family[0]):
            mark = f"/{size}" if major >= 10 else ""
            result[f"{family[0]}{mark}"] = [f"{name}{mark}" for name in family]
    return result


def written(major: int) -> tuple[str, list[str]]:
    """Return the text of a table, and the problems that were met."""
    asked = members(major)
    letters = dict(zip(asked, LETTERS, strict=False))
    rows: dict[str, dict[tuple[int, int, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    names: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    classes: dict[str, set[int]] = defaultdict(set)
    problems = []
    for asked_name in asked:
        processor, _, size = asked_name.partition("/")
        learner = Learner(processor, major, int(size or 64))
        for key, layout in learner.layouts.items():
            if key.endswith("fi"):
                continue
            counts: Counter[int] = Counter()
            for opcode, line in learner.rows(layout):
                counts[opcode] += 1
                rows[key][opcode, counts[opcode], line].add(letters[asked_name])
        for kind, table in learner.names.items():
            for number, name in table.items():
                names[kind, number, name].add(letters[asked_name])
        for name, codes in learner.classes.items():
            classes[name] |= codes
        learner.close()
        problems += [f"{asked_name}: {problem}" for problem in learner.problems]
    shorts = {name: short_name(number) for number, name in enumerate(sorted(classes))}
    lines = [HEAD.format(major=major).rstrip()]
    lines += [f"set {letters[name]} {' '.join(processors)}" for name, processors in asked.items()]
    lines += [f"class {shorts[name]} {name} {ranges(classes[name])}" for name in sorted(classes)]
    every = set(letters.values())
    for (kind, number, name), chosen in sorted(
        names.items(), key=lambda item: (item[0][0], item[0][1], sorted(item[1]))
    ):
        lines.append(f"name {kind} {number} {name}{marks(chosen, every)}")
    for key, found in rows.items():
        lines += table_lines(key, found, shorts, every)
    return "\n".join(compacted(lines)) + "\n", problems


SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")


def compacted(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a table with what rows of a format share said once: suffixes of mnemonics, and shapes."""
    start = next((number for number, line in enumerate(lines) if line.startswith("format ")), len(lines))
    yield from lines[:start]
    while start < len(lines):
        later = (number for number in range(start + 1, len(lines)) if lines[number].startswith("format "))
        end = next(later, len(lines))
        yield from _compacted_format(lines[start], lines[start + 1 : end])
        start = end


def _compacted_format(head: str, rows: list[str]) -> Iterator[str]:
    parts = []
    for row in rows:
        before, at, chosen = row.rpartition(" @")
        opcode, mnemonic, *words = (before if at else row).split()
        parts.append((opcode, mnemonic, " ".join(words), at + chosen if at else ""))
    endings = Counter(suffix for _, mnemonic, _, _ in parts for suffix in SUFFIXES if mnemonic.endswith(suffix))
    ending = endings.most_common(1)[0][0] if endings else ""
    shapes = Counter(tokens for _, _, tokens, _ in parts)
    names = {
        tokens: f"${number}" for number, (tokens, count) in enumerate(shapes.most_common()) if count > 1 and tokens
    }
    yield f"{head} suffix={ending}" if ending else head
    yield from (f"shape {name} {tokens}" for tokens, name in names.items())
    for opcode, mnemonic, tokens, chosen in parts:
        is_usual = bool(ending) and next((suffix for suffix in SUFFIXES if mnemonic.endswith(suffix)), "") == ending
        shown = mnemonic.removesuffix(ending) + "-" if is_usual else mnemonic
        yield f"{opcode} {shown} {names.get(tokens, tokens)}".rstrip() + chosen


def short_name(number: int) -> str:
    """Return a short name for a class of registers."""
    return LETTERS[number] if number < 26 else LETTERS[number // 26 - 1] + LETTERS[number % 26].lower()


def marks(chosen: set[str], every: set[str]) -> str:
    """Return for which processors a row holds; nothing where it is all."""
    return "" if chosen == every else f" @{''.join(sorted(chosen))}"


def ranges(codes: set[int]) -> str:
    """Return codes as ranges; those of every second code have a step."""
    parts = []
    left = sorted(codes)
    while left:
        first = left[0]
        step = 2 if len(left) > 1 and left[1] == first + 2 else 1
        count = 1
        while count < len(left) and left[count] == first + step * count:
            count += 1
        last = first + step * (count - 1)
        if count < 3:
            step, count, last = 1, 1, first
        parts.append(f"{first:x}" if last == first else f"{first:x}-{last:x}" + (f"/{step}" if step > 1 else ""))
        left = left[count:]
    return ",".join(parts) or "-"


def table_lines(
    key: str, table: dict[tuple[int, int, str], set[str]], shorts: dict[str, str], every: set[str]
) -> Iterator[str]:
    """Yield the rows of a format. What most rows say of modifiers and fixed bits is said once."""
    if not table:
        return
    common = {
        mark: Counter(token for _, _, line in table for token in line.split() if token[0] == mark) for mark in "+!"
    }
    defaults = {}
    for mark, counts in common.items():
        if counts and counts.most_common(1)[0][1] > len(table) // 3:
            defaults[mark] = counts.most_common(1)[0][0]
    yield " ".join(["format", key, *defaults.values()])
    order = sorted(table.items(), key=lambda item: (item[0][0], item[0][1], sorted(item[1])))
    for (opcode, _, line), chosen in order:
        tokens = line.split()
        for mark, default in defaults.items():
            if default in tokens:
                tokens.remove(default)
            elif not any(token[0] == mark for token in tokens):
                tokens.append({"+": "+", "!": "!0/0"}[mark])
        shown = " ".join(
            re.sub(r":(\w+)", lambda match: f":{shorts.get(match[1], match[1])}", token)
            if token[0] not in "+!"
            else token
            for token in tokens
        )
        yield f"{opcode:x} {shown}{marks(chosen, every)}"


# --- Checking ---------------------------------------------------------------------------------------------------------


def random_words(major: int, count: int, seed: int) -> list[bytes]:
    """Return random code: half of it with the formats in equal shares, for most words are of few formats."""
    chosen = random.Random(seed)
    layouts = list(formats(major).values())
    result = []
    for number in range(count):
        code = bytearray(chosen.randbytes(LONGEST))
        if number & 1:
            layout = chosen.choice(layouts)
            word = int.from_bytes(code[: layout.size], "little")
            word = word & ~layout.mask | layout.match
            code[: layout.size] = word.to_bytes(layout.size, "little")
        result.append(bytes(code))
    return result


def differences(decode: Decoder, oracle: Oracle, pieces: list[bytes]) -> Iterator[tuple[bytes, str, str]]:
    """Yield the code that the decoder and LLVM read differently, with what each says."""
    for code, (size, expected) in zip(pieces, oracle.texts(pieces), strict=True):
        if expected == CRASHED or is_known(code, expected):
            continue
        instruction = decode.decode(code)
        shown = text(instruction) if instruction.form.encoding else ""
        if shown != expected or (size and instruction.size != size):
            yield code, shown, expected


def is_known(code: bytes, expected: str) -> bool:
    """Return whether LLVM 22 is wrong about some code in a known way.

    It lets an operand share a literal of another size: that of fmaak and fmamk, or that of the other source.

    It decodes the mixed precision operations of GFX9 on later processors. Where an operation with DPP also reads its
    destination, it takes the control, or the code of a constant, for the next operand. It writes a mask within the
    bars of an absolute value. It knows no sc1 (and drops it when it assembles) where atomic operations of doubles
    return accumulation registers. Of operations with f8f6f4 whose operands it calls invalid it shows other
    ones, or none.
    """
    if not expected and code[2:4] == b"\x33\xcc":
        return True
    if not expected:
        word = int.from_bytes(code[:8], "little")
        has_bits = all(word >> bit & 1 for bit in (16, 25, 55))  # sc0, sc1, acc
        return word >> 26 & 0x3F == 0x37 and word >> 18 & 0x7F in (0x4F, 0x50, 0x51) and has_bits
    if re.search("fma[am]k_f32 .*lit64|fma[am]k_f64 ", expected) and {254, 255} & {*code[:6]}:
        return True
    if expected.startswith("s_") and {code[0], code[1]} == {254, 255}:
        return True
    if "_f8f6f4 " in expected and "/*Invalid " in expected:
        return True
    if re.match(r"v_(fma|mad)_mix", expected) and code[3] == 0xD3:
        return True
    if re.match(r"v_cndmask_b32_dpp .*\|v\d+, vcc(_lo)?\|", expected):
        return True
    word = int.from_bytes(code[:12], "little")
    if "_dpp " not in expected:
        return False
    control = word >> (72 if "_e64_dpp" in expected else 40) & (0xFFFFFF if "dpp8:" in expected else 0x1FF)
    is_constant = 128 <= control <= 208 or 240 <= control <= 248 or control in {254, 255}
    return (
        is_constant
        or "/*Invalid immediate*/" in expected
        or bool(re.search(r"_dpp .*[ (|-]0x[0-9a-f]{2}[ ),|]", expected))
    )


def check_random(processors: list[str], count: int, seed: int, *, shown: int = 10) -> int:
    """Compare random words; return the number of differences."""
    total = 0
    for processor in processors:
        major = major_of(processor)
        for size in wave_sizes(processor):
            decode = decoder(processor, size)
            oracle = Oracle(processor, size if major >= 10 else 0)
            pieces = random_words(major, count, seed)
            wrong = list(differences(decode, oracle, pieces))
            oracle.close()
            total += len(wrong)
            print(f"{processor} wave{size}: {count} words, {len(wrong)} differences")
            for code, ours, theirs in wrong[:shown]:
                print(f"    {code.hex()}: {ours!r}, LLVM: {theirs!r}")
    return total


WORDS = ROOT / "tests" / "golden" / "isa-words.txt"


def write_words(count: int) -> None:
    """Write some valid random words of each family, and what LLVM says of them, for the tests."""
    lines = ["# Random words as libLLVM 22 reads them (tools/isa.py --words): processor, wave size, code, text."]
    for major in GENERATIONS:
        for family in FAMILIES[major]:
            for size in wave_sizes(family[0]):
                oracle = Oracle(family[0], size if major >= 10 else 0)
                pieces = random_words(major, 40 * count, seed=major + size)
                rows = zip(pieces, oracle.texts(pieces), strict=True)
                chosen = [
                    row for row in rows if row[1][0] and "/*" not in row[1][1] and not is_known(row[0], row[1][1])
                ]
                for code, (length, written) in chosen[:count]:
                    lines.append(f"{family[0]} {size} {code[:length].hex()} {written}")
                oracle.close()
    WORDS.write_text("\n".join(lines) + "\n", "ascii")


def major_of(processor: str) -> int:
    """Return the generation of a processor."""
    return next(major for major in GENERATIONS for family in FAMILIES[major] if processor in family)


def main() -> int:
    """Write or check the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="decode N random words for each processor")
    parser.add_argument(
        "--words", type=int, default=0, metavar="N", help="write N words a family for the tests, and stop"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], metavar="PROCESSOR", help="only this processor")
    parser.add_argument("--generation", action="append", type=int, default=[], metavar="N", help="only this generation")
    arguments = parser.parse_args()
    if arguments.words:
        write_words(arguments.words)
        return 0
    status = 0
    chosen = arguments.generation or list(GENERATIONS)
    if not arguments.random or not arguments.check:
        for major in chosen:
            new, problems = written(major)
            path = FOLDER / f"gfx{major}.txt"
            for problem in problems:
                print(problem[:300])
            if arguments.check:
                same = path.read_text("ascii") == new
                says = "as LLVM says" if same else "differs from what LLVM says"
                print(f"{path.name}: {says}, {len(problems)} problems")
                status |= not same or bool(problems)
            else:
                path.write_text(new, "ascii")
                print(f"{path.name}: {len(new)} bytes, {len(problems)} problems")
    if arguments.random:
        processors = arguments.only or [family[0] for major in chosen for family in FAMILIES[major]]
        status |= bool(check_random(processors, arguments.random, arguments.seed))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoOracle as missing:
        sys.exit(f"isa: {missing}")
