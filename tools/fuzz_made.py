#!/usr/bin/env python3
"""Build inputs from nothing, by grammar, and watch all that comes of them.

    python3 tools/dev.py fuzz --made --seconds 60         all kinds, for a minute
    python3 tools/dev.py fuzz --made --kind tree          one kind
    python3 tools/dev.py fuzz --made --replay tree 17     one input

Where `tools/fuzz.py` damages good files, this builds what no damage leads to: types and references in circles, diamonds
and products, location lists and rows that many share, snapshots, states, cases, core files, scripts and command lines.
An input is a command line with its files, made from a kind, a seed and a number. It runs in a process with limits; it
must end with a status of the program, without a traceback, without a control character, with valid JSON where JSON was
asked for, within 2 seconds of processor time, 1 GiB of memory and 32 MiB of output, and leave no file behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from dwarfgpu.expr.table import names  # noqa: E402
from dwarfgpu.questions.table import AT_SHELL, COMMANDS  # noqa: E402
from tests.builders.dwarf import die  # noqa: E402
from tests.builders.frames import INSTRUCTIONS, cfa  # noqa: E402
from tests.builders.hostile import TARGET, Outcome, bounded, gpu, ops, state  # noqa: E402

SECONDS, BYTES = 2, 1 << 25
SLACK = 4
"""How often an input that took too long is tried again, as other programs slow the machine."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SPECIAL = (0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 65535, 65536, 1 << 31, (1 << 32) - 1,
           1 << 60, 1 << 63, (1 << 64) - 1)  # fmt: skip
NAMES = (
    "a",
    "b",
    "even",
    "x::y",
    "operator<",
    "",
    "A\x1b[31m",
    "B\x9b\u202e",
    "n" * 300,
    "\x07\b",
    "a b",
    "$pc",
    "9",
    "T<int>",
)
LINES_LEFT_OUT = frozenset(
    ("quit", "echo", "printf", "shell", "pipe", "python", "source", "tui", "!", "save snapshot", "snapshot convert")
)
COMMAND_NAMES = tuple(row.name for row in COMMANDS if row.run and row.name not in LINES_LEFT_OUT)
SHELL_NAMES = tuple(sorted(set(AT_SHELL) - {"snapshot convert"}))
OPERATION_NAMES = tuple(sorted(names()))


class Input(NamedTuple):
    """A command line, and what it reads from standard input."""

    words: list[str]
    stdin: bytes = b""


class Maker:
    """Makes the inputs of one number in a folder."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self.chance = chance
        self.folder = folder

    def number(self) -> int:
        return self.chance.choice(SPECIAL) if self.chance.random() < 0.7 else self.chance.getrandbits(20)

    def name(self) -> str:
        return self.chance.choice(NAMES)

    # --- Expressions ----------------------------------------------------------------------------------------------

    def operations(self, most: int = 12) -> str:
        """A program of operations in text: words of the table, with operands that fit or not."""
        chance, words = self.chance, []
        if chance.random() < 0.7:  # so that most operations find operands
            words = ["DW_OP_lit1", "DW_OP_regx v0", "DW_OP_lit4"][: chance.randrange(4)]
        for _ in range(chance.randrange(1, most)):
            if chance.random() < 0.5:
                words.append(chance.choice((
                    f"DW_OP_lit{chance.randrange(32)}", "DW_OP_regx v0", "DW_OP_regx s33", "DW_OP_piece 4",
                    "DW_OP_LLVM_push_lane", "DW_OP_LLVM_undefined", "DW_OP_stack_value", "DW_OP_dup",
                    f"DW_OP_skip {-chance.randrange(1, 30)}", f"DW_OP_bra {-chance.randrange(1, 30)}",
                    f"DW_OP_LLVM_extend {chance.choice((1, 8, 32, 65536))} {chance.choice((1, 2, 64, 65536))}",
                    f"DW_OP_LLVM_select_bit_piece {chance.choice((1, 32))} {chance.choice((1, 64))}",
                    "DW_OP_LLVM_piece_end", f"DW_OP_bit_piece {self.number()} {self.number()}",
                    f"DW_OP_addr {0x10000:#x}", "DW_OP_deref", "DW_OP_LLVM_offset", "DW_OP_call_frame_cfa",
                    f"DW_OP_const8u {self.number()}", "DW_OP_LLVM_overlay", "DW_OP_swap", "DW_OP_drop",
                )))  # fmt: skip
            else:
                operands = " ".join(str(self.number()) for _ in range(chance.randrange(3)))
                words.append(f"{chance.choice(OPERATION_NAMES)} {operands}".strip())
        return "; ".join(words)

    def block(self) -> bytes:
        """The bytes of such a program, or any bytes."""
        from dwarfgpu.errors import DwarfGpuError

        for _ in range(4):
            try:
                return ops(self.operations(6))
            except DwarfGpuError:
                continue
        return self.chance.randbytes(self.chance.randrange(1, 24))

    def expression(self) -> Input:
        words = ["eval", "--ops", self.operations()]
        for option in ("--trace", "--json", "--stack"):
            words += [option] * (self.chance.random() < 0.4)
        if self.chance.random() < 0.5:
            words += ["--lane", self.chance.choice(("0", "all", "0-3", str(self.number())))]
        if self.chance.random() < 0.3:
            words += ["--read", self.chance.choice(("4", "signed32", str(self.number()), "float64"))]
        words += ["--target", TARGET] * (self.chance.random() < 0.7)
        return Input(words)

    # --- Trees of entries -----------------------------------------------------------------------------------------

    def types(self) -> list[Any]:
        """Types that refer to any of each other, and so in circles, diamonds and products."""
        chance = self.chance
        count = chance.randrange(1, 30)
        is_tower = chance.random() < 0.4
        types = []
        for index in range(count):

            def other(index: int = index) -> tuple[str, str, str]:
                last = chance.choice((index - 1, chance.randrange(count)))
                below = f"t{index - 1}" if is_tower and index else f"t{last % count}"
                return ("type", "ref4", chance.choice((below, below, below, "int", "char")))

            size = ("byte_size", "udata", chance.choice((1, 2, 4, 8, 16, self.number())))
            name = ("name", "string", self.name())
            kind = chance.choice((
                "structure_type", "structure_type", "class_type", "union_type", "array_type", "pointer_type", "typedef",
                "const_type", "enumeration_type", "reference_type", "subroutine_type", "ptr_to_member_type",
                "subrange_type", "base_type", "string_type", "set_type", "volatile_type", "atomic_type",
            ))  # fmt: skip
            inner: list[Any] = []
            if kind in ("structure_type", "class_type", "union_type"):
                for _ in range(chance.randrange(5)):
                    where = ("data_member_location", "udata", chance.choice((0, 0, 4, self.number())))
                    if chance.random() < 0.1:
                        where = ("data_member_location", "exprloc", self.block())  # type: ignore[assignment]
                    part = chance.choice(("member", "member", "inheritance"))
                    own = () if part == "inheritance" or chance.random() < 0.2 else (("name", "string", self.name()),)
                    inner.append(die(part, other(), where, *own))
            elif kind == "array_type":
                for _ in range(chance.randrange(1, 4)):
                    bound = chance.choice((("count", "udata", self.number()), ("upper_bound", "udata", self.number()),
                                           ("count", "exprloc", self.block())))  # fmt: skip
                    inner.append(die("subrange_type", bound, *([other()] if chance.random() < 0.3 else [])))
            elif kind == "enumeration_type":
                value = ("const_value", "sdata", chance.randrange(-9, 9))
                inner = [die("enumerator", ("name", "string", self.name()), value) for _ in range(chance.randrange(3))]
            elif kind == "subroutine_type":
                inner = [die("formal_parameter", other()) for _ in range(chance.randrange(4))]
            attributes: list[Any] = [] if chance.random() < 0.2 else [name]
            attributes += [other()] if kind not in ("structure_type", "class_type", "union_type", "base_type") else []
            attributes += [size] if chance.random() < 0.6 else []
            attributes += [("encoding", "data1", chance.randrange(20))] if kind == "base_type" else []
            types.append(die(kind, *attributes, *inner, label=f"t{index}"))
        return types

    def file(self) -> Path:
        """A code object of one kernel with variables of such types."""
        chance = self.chance
        types = self.types()
        count = chance.choice((1, 3, 8, 40))
        variables = []
        for number in range(count):
            location = chance.choice((ops("DW_OP_addr 0x10000"), ops("DW_OP_regx v0"), self.block()))
            attributes: list[Any] = [("location", "exprloc", location)]
            if chance.random() < 0.1:
                attributes = [("const_value", "block", chance.randbytes(chance.randrange(20)))]
            elif chance.random() < 0.1:
                attributes = [("specification", "ref4", f"v{chance.randrange(count)}")]
            kind = ("type", "ref4", chance.choice((f"t{chance.randrange(len(types))}", f"t{len(types) - 1}", "int")))
            name = chance.choice((f"v{number}", self.name()))
            tag = chance.choice(("variable", "variable", "formal_parameter", "lexical_block"))
            if tag == "lexical_block":
                inside = die("variable", ("name", "string", name), kind, *attributes)
                variables.append(die(tag, ("low_pc", "addr", 0x1000), ("high_pc", "udata", 0x100), inside))
            else:
                variables.append(die(tag, ("name", "string", name), kind, *attributes, label=f"v{number}"))
        extra = [("frame_base", "exprloc", self.block())] if chance.random() < 0.3 else []
        extra += [("LLVM_lane_pc", "exprloc", self.block())] if chance.random() < 0.2 else []
        texts: dict[str, Any] = {
            key: self.name() for key in ("kernel", "unit_name", "producer", "folder") if chance.random() < 0.4
        }
        rules = self.rules() if chance.random() < 0.5 else b""
        data = gpu(*variables, types=types, attributes=extra, rules=rules, symbols=("k", self.name()), **texts)
        path = self.folder / "k.co"
        path.write_bytes(data)
        return path

    def rules(self) -> bytes:
        """Instructions of call frame information."""
        chance, data = self.chance, b""
        for _ in range(chance.choice((2, 10, 60))):
            name = chance.choice(tuple(INSTRUCTIONS))
            shape = INSTRUCTIONS[name][1]
            words = []
            for how in shape:
                limit = {"6": 64, "1": 256, "2": 1 << 16, "4": 1 << 32}.get(how, 1 << 64)
                value = self.number() % limit
                words.append(self.block().hex() if how == "e" else str(value >> 1 if how == "s" else value))
            data += cfa(" ".join([name, *words])) * chance.choice((1, 1, 1, 50))
        return data

    def snapshot(self, path: Path) -> Path:
        """A snapshot of that file, now and then with something in it that does not belong there."""
        chance = self.chance
        fields: dict[str, Any] = {}
        if chance.random() < 0.2:
            fields["code_objects"] = [{"path": chance.choice(("/dev/zero", self.name() or "x", str(path))),
                                       "load_address": self.number()}]  # fmt: skip
        if chance.random() < 0.2:
            fields[chance.choice(("waves", "memory", "target", "schema", self.name()))] = chance.choice(
                ([], {}, None, self.number(), self.name(), [{"id": self.name(), "pc": self.number()}], [[[]]])
            )
        waves = tuple(dict.fromkeys(f"{number}:{self.name()}" for number in range(chance.choice((1, 1, 1, 3)))))
        made = state(self.folder / "state.json", path, waves=waves)
        made.write_text(json.dumps(json.loads(made.read_text("utf-8")) | fields), "utf-8")
        return made

    def source(self) -> str:
        """An expression of the source language, which may be deep or long."""
        chance = self.chance
        text = chance.choice(("v0", "v1", "v2", "$v0", "$pc", "1", "1e400", "0xffffffffffffffff", self.name(), "'a'"))
        for _ in range(chance.randrange(6)):
            text = chance.choice((
                "*{0}", "&{0}", "{0}.a", "{0}->b", "{0}[0]", "{0}[{n}]", "({0})", "-{0}", "{0}+{0}", "(int){0}",
                "(struct a *){0}", "{0}@{n}", "sizeof({0})", "{0}==0", "{0}?1:2", "{0}<<{n}", "{0}/0", "local#{0}",
            )).format(text, n=self.number())  # fmt: skip
        if chance.random() < 0.05:
            text = (
                chance.choice(("{0}+", "*", "(", "{0},", "-", "a::")).format(text[:9]) * chance.choice((50, 900)) + text
            )
        return text

    def tree(self) -> Input:
        path = self.file()
        chance = self.chance
        words = chance.choice((
            ["locals", path], ["eval", path, self.source()], ["bt", path, "--registers"],
            ["locals", path, "--location"],
            ["eval", path, "v0", "--location", "--trace"],
            ["bt", path, "--full"],
        ))  # fmt: skip
        words = [*words, "--state", self.snapshot(path)]
        words += ["--json"] * (chance.random() < 0.4)
        words += ["--lane", chance.choice(("all", "1", "0-5"))] * (chance.random() < 0.4)
        return Input(list(map(str, words)))

    def section(self) -> Input:
        path = self.file()
        chance = self.chance
        words = chance.choice((["dump"], ["cfi"], ["info"], ["kernels"], ["lines"], ["verify"], ["symbols"]))
        words = words if words[0] in AT_SHELL else ["dump"]
        return Input([words[0], str(path), *(["--json"] * (chance.random() < 0.5))])

    def commands(self) -> Input:
        path = self.file()
        lines = [self.line() for _ in range(self.chance.randrange(1, 12))]
        return Input(
            ["debug", str(path), "--state", str(self.snapshot(path)), "-nx"], "\n".join(lines).encode(errors="replace")
        )

    def line(self) -> str:
        """A line of the prompt."""
        chance = self.chance
        name = chance.choice(COMMAND_NAMES)
        if chance.random() < 0.1:
            name += f"/{chance.choice(('x', 'd', '3x', '99999999x', 's', 'i', 'zz', 'o'))}"
        words = [name]
        row = next(row for row in COMMANDS if name.startswith(row.name))
        for option in row.options:
            if chance.random() < 0.2:
                words.append(option.flag)
                words += [chance.choice(("1", "all", "0-3", str(self.number()), "x"))] if option.metavar else []
        words.append(
            chance.choice(("", self.source(), self.source(), str(self.number()), self.name(), "k", "-1", "all"))
        )
        return " ".join(words).replace("\n", " ")

    def shell(self) -> Input:
        chance = self.chance
        name = chance.choice(SHELL_NAMES)
        row = AT_SHELL[name]
        assert row.shell is not None
        path = (
            self.file()
            if chance.random() < 0.8
            else Path(chance.choice(("/dev/zero", "/nowhere", str(self.folder), "-")))
        )
        words = [name, str(path)]
        words += [
            chance.choice(("k", "v0", self.source(), "0x1010", str(self.number()), self.name()))
            for _operand in row.shell.operands
            if chance.random() < 0.8
        ]
        for option in row.shell_options:
            if chance.random() < 0.15 and option.name not in ("o", "output", "npz", "csv"):
                words.append(option.flag if len(option.name) == 1 else f"--{option.name}")
                words += [chance.choice(("1", "all", str(self.number()), "x", "k"))] if option.metavar else []
        if chance.random() < 0.6:
            words += ["--state", str(self.snapshot(path))]
        words += [chance.choice(("--json", "--jsonl"))] * (chance.random() < 0.4)
        return Input([word.replace("\0", "") for word in words])

    def cases(self) -> Input:
        chance = self.chance
        lines = []
        for number in range(chance.randrange(1, 6)):
            case: dict[str, Any] = {"id": chance.choice((f"c{number}", self.name())), "ops": self.operations()}
            if chance.random() < 0.4:
                case["target"] = chance.choice((TARGET, "generic", "x86-64", self.name()))
            if chance.random() < 0.4:
                case["lanes"] = chance.choice(("all", [0, 1], [], self.number(), [self.number()]))
            if chance.random() < 0.4:
                case[chance.choice(("read", "stack", "context", "want", "write", self.name()))] = chance.choice(
                    (True, {}, {"bytes": self.number()}, {"lane": self.number()}, [], self.name(), None)
                )
            lines.append(json.dumps(case) if chance.random() < 0.95 else json.dumps(case)[: chance.randrange(20)])
        path = self.folder / "cases.jsonl"
        path.write_text("\n".join(lines), "utf-8")
        return Input(["eval", "--cases", str(path)])

    def core(self) -> Input:
        """A file that says it is a core file or a snapshot folder, with parts that do not fit."""
        chance = self.chance
        path = self.file()
        data = bytearray(path.read_bytes())
        data[16] = 4  # ET_CORE
        if chance.random() < 0.7:
            data[18] = 62  # EM_X86_64
        for _ in range(chance.randrange(6)):
            data[chance.randrange(min(len(data), 400))] = chance.choice((0, 1, 4, 255, chance.randrange(256)))
        core = self.folder / "core"
        core.write_bytes(data)
        return Input([chance.choice(("locals", "bt", "waves", "lanes")), str(path), "--state", str(core)])


KINDS: dict[str, Callable[[Maker], Input]] = {
    "expression": Maker.expression,
    "tree": Maker.tree,
    "section": Maker.section,
    "commands": Maker.commands,
    "shell": Maker.shell,
    "cases": Maker.cases,
    "core": Maker.core,
}


def judged(words: list[str], outcome: Outcome) -> str:
    """What is wrong with an outcome; empty if nothing is."""
    if outcome.ended:
        return f"limit: {outcome.ended}"
    match = re.search(r"internal error: (\w+)", outcome.text) or re.search(r"\n(\w+(?:Error|Exception))\b", outcome.err)
    if "Traceback" in outcome.err or "internal error" in outcome.text:
        place = "".join(re.findall(r'/(\w+\.py", line [0-9]+)', outcome.err)[-1:])
        return f"exception: {match[1] if match else '?'} {place}"
    if outcome.status not in (0, 1, 2, 3, 130):
        return f"status {outcome.status}"
    steering = STEERS.search(outcome.text)
    if steering:
        return f"control character {steering[0]!r}"
    if outcome.memory > 1 << 30:
        return "memory"
    if outcome.out and ("--json" in words or "--jsonl" in words) and words[0] != "debug":
        try:
            for text in outcome.out.splitlines() if "--jsonl" in words else [outcome.out]:
                json.loads(text)
        except ValueError as error:
            return f"not JSON: {error}"
    return ""


def tried(kind: str, seed: str, number: int) -> tuple[Input, str, Outcome]:
    """Make an input and run it; what is wrong with what comes of it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        made = KINDS[kind](Maker(random.Random(f"{seed}/{kind}/{number}"), Path(folder)))
        before = {path.name for path in Path(folder).iterdir()}
        outcome = bounded(*made.words, stdin=made.stdin, seconds=SECONDS, size=BYTES)
        wrong = judged(made.words, outcome)
        if "processor time" in wrong:
            outcome = bounded(*made.words, stdin=made.stdin, seconds=SECONDS * SLACK, size=BYTES)
            wrong = judged(made.words, outcome)
        left = {path.name for path in Path(folder).iterdir()} - before
        if left and not wrong:
            wrong = f"files: {', '.join(sorted(left))}"
        return made, wrong, outcome


def main(argv: Sequence[str] | None = None) -> int:
    """Make inputs, or replay one."""
    parser = argparse.ArgumentParser(prog="tools/fuzz_made.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--seed", default="0", help="what the inputs depend on (0)")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS), help="only this kind; repeatable")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "NUMBER"), help="run one input and show what comes of it")
    options = parser.parse_args(argv)
    os.chdir(tempfile.mkdtemp(prefix="fuzz-"))  # what a command writes beside itself is not in the checkout
    if options.replay:
        made, wrong, outcome = tried(options.replay[0], options.seed, int(options.replay[1]))
        print(" ".join(made.words), made.stdin.decode(), sep="\n")
        print(
            repr(outcome.out[-1500:]),
            outcome.err[-3000:],
            f"{outcome.seconds:.2f} s: {wrong or 'nothing wrong'}",
            sep="\n",
        )
        return 1 if wrong else 0
    kinds = options.kind or list(KINDS)
    import numpy  # noqa: F401, ICN001 (the children inherit what is imported)

    import dwarfgpu.questions.variables  # noqa: F401

    counts: Counter[str] = Counter()
    findings: dict[str, list[str]] = {}
    end = time.monotonic() + options.seconds
    number = 0
    while time.monotonic() < end:
        for kind in kinds:
            _made, wrong, _outcome = tried(kind, options.seed, number)
            counts[kind] += 1
            if wrong:
                known = findings.setdefault(wrong, [])
                known.append(f"{kind} {number}")
                if len(known) == 1:
                    print(f"FOUND {wrong}\n  --made --seed {options.seed} --replay {kind} {number}", flush=True)
        number += 1
    print(f"fuzz: {sum(counts.values())} inputs ({', '.join(f'{count} {kind}' for kind, count in counts.items())})")
    for wrong, known in findings.items():
        print(f"  {len(known):>5} times {wrong}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
