"""Inputs made by grammar, from a random source and nothing else.

An input is a command line with its files, or a call of the library with what it reads. A method of `Maker` makes one;
`KINDS` has them all, with their shares of a run.
"""

from __future__ import annotations

import functools
import json
import random
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import cases_sections
from cases import run_case

from dwarfgpu import dialects
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.table import names
from dwarfgpu.objfile.line_table import LineTable, line_tables
from dwarfgpu.objfile.list_encoding import ListContext, read_list
from dwarfgpu.program.code import encoding_context
from dwarfgpu.questions.table import AT_SHELL, COMMANDS
from dwarfgpu.render.trace import Tracer
from tests.builders import lines, lists
from tests.builders.cores import Thread, core_file
from tests.builders.dwarf import die
from tests.builders.frames import INSTRUCTIONS, FrameBuilder, cfa
from tests.builders.hostile import TARGET, gpu, ops, state
from tests.properties import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPECIAL = (0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 65535, 65536, 1 << 31, (1 << 32) - 1,
           1 << 60, 1 << 63, (1 << 64) - 1)  # fmt: skip
NAMES = ("a", "b", "even", "x::y", "operator<", "", "A\x1b[31m", "B\x9b\u202e", "n" * 300, "\x07\b", "a b", "$pc", "9",
         "T<int>")  # fmt: skip
LINES_LEFT_OUT = frozenset(("quit", "echo", "printf", "shell", "pipe", "python", "source", "tui", "!"))
COMMAND_NAMES = tuple(row.name for row in COMMANDS if row.run and row.name not in LINES_LEFT_OUT)
SHELL_NAMES = tuple(sorted(set(AT_SHELL) - {"snapshot convert"}))
OPERATION_NAMES = tuple(sorted(names()))
TARGETS = (TARGET, TARGET, TARGET, "amdgcn-gfx1100-wave32", "amdgcn-gfx1030-wave64", "gfx1250", "x86_64", "generic")
RULES = ("amd", "dwarf5", "dwarf6")
ORDERS: Any = ("little", "little", "big")


class Input(NamedTuple):
    """A command line and what it reads from standard input, or a call of the library."""

    words: list[str]
    stdin: bytes = b""
    call: Callable[[], str] | None = None
    """What is called instead of the command line; it returns what it would show."""


class Maker:
    """Makes the inputs of one number in a folder. Inputs with one key are about the same file."""

    def __init__(self, chance: random.Random, folder: Path, key: str = "") -> None:
        self.chance = chance
        self.folder = folder
        self.key = key

    def number(self) -> int:
        return self.chance.choice(SPECIAL) if self.chance.random() < 0.7 else self.chance.getrandbits(20)

    def name(self) -> str:
        return self.chance.choice(NAMES)

    # --- Expressions ----------------------------------------------------------------------------------------------

    def operations(self, most: int = 12) -> str:
        """Return a program of operations in text: words of the table, with operands that fit or not."""
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
        """Return the bytes of such a program, or any bytes."""
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
        words += ["--target", TARGET] * (self.chance.random() < 0.95)
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
        """Return the file of the inputs with this key."""
        path = self.folder / "k.co"
        path.write_bytes(known_file(self.key))
        return path

    def code_object(self) -> bytes:
        """Return a code object of one kernel with variables of such types, and sections of all kinds."""
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
        rules = chance.choice(
            (b"", self.rules(), self.good_rules(), b"".join((cfa("def_cfa 64 0"), self.good_rules())))
        )
        sections = {}
        for name, make in (
            (".debug_line", self.line_program),
            (".eh_frame", lambda: self.frame_section("eh_frame", 8, "little")),
            (".debug_loclists", lambda: lists.contribution(self.list_section("debug_loclists", "little", 8), count=0)),
            (".debug_rnglists", lambda: lists.contribution(self.list_section("debug_rnglists", "little", 8), count=0)),
            (".debug_addr", lambda: lists.contribution(chance.randbytes(32))),
            (".debug_names", lambda: chance.randbytes(chance.randrange(200))),
            (".debug_aranges", lambda: chance.randbytes(chance.randrange(100))),
            (".note", lambda: self.damaged(NOTE)),
        ):
            if chance.random() < 0.25:
                sections[name] = make()
        if chance.random() < 0.2 and ".debug_loclists" in sections:
            kind = ("type", "ref4", "int")
            variables.append(die("variable", ("name", "string", "far"), kind, ("location", "sec_offset", 12)))
        return gpu(*variables, types=types, attributes=extra, rules=rules, symbols=("k", self.name()),
                   sections=sections, **texts)  # fmt: skip

    def rules(self) -> bytes:
        """Instructions of call frame information."""
        chance, data = self.chance, b""
        for _ in range(chance.choice((2, 4, 10, 30))):
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
        """Return a snapshot of that file, now and then with something in it that does not belong there."""
        chance = self.chance
        fields: dict[str, Any] = {}
        if chance.random() < 0.05:
            fields["code_objects"] = [{"path": chance.choice(("/dev/zero", self.name() or "x", str(path))),
                                       "load_address": self.number()}]  # fmt: skip
        if chance.random() < 0.05:
            fields[chance.choice(("waves", "memory", "target", "schema", self.name()))] = chance.choice(
                ([], {}, None, self.number(), self.name(), [{"id": self.name(), "pc": self.number()}], [[[]]])
            )
        waves = tuple(dict.fromkeys(f"{number}:{self.name()}" for number in range(chance.choice((1, 1, 1, 3)))))
        made = state(self.folder / "state.json", path, waves=waves)
        made.write_text(json.dumps(json.loads(made.read_text("utf-8")) | fields), "utf-8")
        return made

    def source(self) -> str:
        """Return an expression of the source language, which may be deep or long."""
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
        lanes = ("all", "1", "0-5") if words[0] == "eval" else ("1", "63")
        words += ["--lane", chance.choice(lanes)] * (chance.random() < 0.4)
        words += ["--wave", "1"] * (words[0] != "bt" and chance.random() < 0.8)
        return Input(list(map(str, words)))

    def section(self) -> Input:
        path = self.file()
        chance = self.chance
        words = chance.choice((
            ["dump"], ["dump", "--section", "all"], ["dump", "--section", chance.choice(("line", "names", "loclists"))],
            ["cfi"], ["cfi", "--pc", "0x1010"], ["info"], ["info", "--units"], ["info", "--pc", "0x1010"],
            ["info", "--name", self.name() or "k"], ["kernels"], ["verify"], ["asm"], ["files"],
        ))  # fmt: skip
        return Input([words[0], str(path), *words[1:], *(["--json"] * (chance.random() < 0.5))])

    def machine(self) -> Input:
        """Return a snapshot in which anything may be written, and questions about its waves."""
        chance = self.chance
        path = self.file()
        made = self.folder / "state.json"
        text = json.dumps(self.document(path))
        made.write_text(text if chance.random() < 0.95 else text[: chance.randrange(len(text))], "utf-8")
        words = chance.choice((
            ["snapshot", "info", made], ["waves", path, "--state", made], ["lanes", path, "--state", made],
            ["bt", path, "--state", made], ["eval", path, "v0", "--state", made, "--wave", "1"],
            ["locals", path, "--state", made, "--wave", "1"], ["files", path, "--state", made],
            ["dispatches", path, "--state", made],
            ["eval", "--ops", self.program(), "--state", made], ["eval", path, "$v0", "--state", made, "--wave", "all"],
            ["address", path, hex(self.number()), "--state", made],
        ))  # fmt: skip
        return Input([*map(str, words), *(["--json"] * (chance.random() < 0.4))])

    def document(self, path: Path) -> Any:
        """Return a snapshot of waves, in which some value is replaced by another now and then."""
        chance = self.chance
        target = TARGET if chance.random() < 0.9 else chance.choice(("amdgcn-gfx1100-wave32", "generic", self.name()))
        waves = []
        for number in range(chance.choice((0, 1, 2, 5))):
            registers: dict[str, Any] = {
                chance.choice(("v0", "v1", "v255", "a3")): chance.choice(
                    ([self.number() % (1 << 32) for _ in range(64)], [1] * 64, [None, *range(63)])
                )
                for _ in range(chance.randrange(3))
            } | {
                chance.choice(("s33", "s0", "m0", "s101")): self.number() % (1 << 32)
                for _ in range(chance.randrange(3))
            }
            if chance.random() < 0.05:
                registers[chance.choice((self.name(), str(self.number())))] = chance.choice(
                    (self.number(), [1], "0x10", None)
                )
            written = {"id": chance.choice((f"{number}", self.name())), "pc": chance.choice((0x1010, self.number())),
                    "exec": chance.choice(("0xffffffffffffffff", 1, 0, self.number())), "registers": registers,
                    "work_group": [0, number, self.number() % 9], "wave_in_group": number, "dispatch": 1}  # fmt: skip
            waves.append({key: value for key, value in written.items() if chance.random() < 0.8})
        memory = [
            {"space": chance.choice(("global", "global", self.name())) if chance.random() < 0.9 else "local",
             "address": chance.choice((0x10000, 0, self.number())),
             "bytes": chance.randbytes(chance.randrange(40)).hex()}
            for _ in range(chance.choice((0, 0, 1)))
        ]  # fmt: skip
        for number, wave in enumerate(waves):
            if chance.random() < 0.3:
                known = wave.get("id", "0")
                place: Any = {"work_group": [0, number, 0]} if chance.random() < 0.1 else {"wave": known}
                memory.append({"space": chance.choice(("local", "private_wave")), "address": self.number() % (1 << 31),
                               "bytes": chance.randbytes(64).hex()} | place)  # fmt: skip
        made: dict[str, Any] = {
            "schema": 1, "target": target, "waves": waves, "memory": memory,
            "code_objects": [{"path": str(path), "load_address": chance.choice((0, self.number()))}],
            "dispatches": [{"id": 1, "kernel": chance.choice(("k", self.name())),
                            "grid": [1 + self.number() % (1 << 31), 1, 1],
                            "work_group": [64, 1, 1 + self.number() % (1 << 31)],
                            "kernarg": self.number()}],
            "apertures": {"shared": 1 << 48, "private": 2 << 48},
        }  # fmt: skip
        for key in ("memory", "code_objects", "apertures"):
            if chance.random() < 0.3:
                del made[key]
        if chance.random() < 0.2:
            holder, key = chance.choice(list(places_in(made)))
            holder[key] = chance.choice((None, True, [], {}, self.number(), -1, 1.5, self.name(), [[]], {"a": {}}))
        return made

    def commands(self) -> Input:
        path = self.file()
        lines = [self.line() for _ in range(self.chance.randrange(1, 12))]
        return Input(
            ["debug", str(path), "--state", str(self.snapshot(path)), "-nx"], "\n".join(lines).encode(errors="replace")
        )

    def line(self) -> str:
        """Return a line of the prompt."""
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
        takes = {argument.name for argument in row.shell.selects}
        if "file" not in takes:
            words[1:2] = [] if name not in ("snapshot", "core") else ["info", str(self.snapshot(path))]
        if chance.random() < (0.9 if "state" in takes else 0.02):
            words += ["--state", str(self.snapshot(path))]
        words += [chance.choice(("--json", "--jsonl"))] * (chance.random() < 0.4)
        return Input([word.replace("\0", "") for word in words])

    def core(self) -> Input:
        """Return a file that says it is a core file, with parts that do not fit."""
        chance = self.chance
        path = self.file()
        program = bytearray(path.read_bytes())
        program[7], program[18], program[48:52] = 0, 62, bytes(4)  # a program of x86-64
        path.write_bytes(program)
        threads = []
        for number in range(chance.choice((1, 1, 3))):
            registers = {"rip": chance.choice((0x1010, self.number())), "rsp": 0x7000, "rbp": self.number()}
            threads.append(Thread(number + 1, registers))
        memory = {0x7000: chance.randbytes(256), 0x10000: chance.randbytes(64)}
        if chance.random() < 0.2:
            memory[self.number()] = b"x" * 99
        mappings = [
            (0x1000, 0x2000, 0x1000, str(path)),
            (self.number(), self.number(), 0, self.name().replace("\0", "")),
        ]
        core = self.folder / "core"
        core.write_bytes(
            self.damaged(core_file(threads, memory, mappings[: chance.choice((0, 1, 1, 2))], {3: 64, 9: 0x1000}))
        )
        words = chance.choice((
            ["locals", path], ["bt", path, "--registers"], ["eval", path, self.source()], ["locals", path],
            ["verify", path], ["bt", path, "--full", "--json"], ["eval", path, "v0", "--location"],
        ))  # fmt: skip
        return Input([*map(str, words), "--state", str(core)])

    # --- Without a file -------------------------------------------------------------------------------------------

    def damaged(self, data: bytes) -> bytes:
        """Return the same bytes, often with some of them changed, left out or repeated."""
        chance = self.chance
        if not data or chance.random() < 0.65:
            return data
        out = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 4))):
            at = chance.randrange(len(out) + 1)
            how = chance.random()
            if how < 0.4 and at < len(out):
                out[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif how < 0.6:
                del out[at:]
            elif how < 0.8:
                del out[at : at + chance.randrange(1, 5)]
            else:
                out[at:at] = out[at : at + chance.randrange(1, 9)] * chance.choice((1, 1, 3, 200))
            if not out:
                break
        return bytes(out)

    def location(self, depth: int = 0) -> Any:
        """Return a location as a case writes it."""
        chance = self.chance
        kind = chance.choice(("memory", "memory", "register", "implicit", "undefined", "implicit_pointer", "composite"))
        if kind == "memory":
            made = {"kind": kind, "address": self.number(), "space": chance.choice((0, 1, 3, 5, 6))}
            return made | ({"lane": self.number() % 65} if chance.random() < 0.2 else {})
        if kind == "register":
            return {"kind": kind, "register": chance.choice((32, 33, 2560, 2561, 16, self.number() % 4096))}
        if kind == "implicit":
            return {"kind": kind, "bytes": chance.randbytes(chance.randrange(9)).hex()}
        if kind == "implicit_pointer":
            return {"kind": kind, "die": f"unit:{chance.choice((0x40, 0x41))}", "byte_offset": 0}
        if kind == "composite" and depth < 3:
            parts = [{"bit_size": self.number() % 4096, "location": self.location(depth + 1)} for _ in range(2)]
            return {"kind": kind, "parts": parts}
        return {"kind": "undefined"}

    def context(self) -> dict[str, Any]:
        """Return what a case says about its machine, its frame and its unit."""
        chance = self.chance
        made: dict[str, Any] = {}
        makers: dict[str, Callable[[], Any]] = {
            "registers": lambda: {"32": self.number() % (1 << 32), "2560": list(range(64)), "33": 64}
            | ({str(self.number()): self.number()} if chance.random() < 0.1 else {}),
            "memory": lambda: [{"space": chance.choice((0, 3, 6)), "bytes": chance.randbytes(64).hex(),
                                "address": chance.choice((0, 0x1000, self.number() >> 33))}
                               for _ in range(chance.randrange(3))],
            "lane": lambda: chance.choice((0, 1, 31, 63, 64, self.number() % (1 << 32))),
            "lane_count": lambda: chance.choice((1, 32, 64, self.number() % (1 << 32))),
            "iteration": lambda: self.number() % (1 << 32),
            "pc": self.number,
            "cfa": self.location,
            "frame_base": self.location,
            "object": self.location,
            "initial_stack": lambda: [chance.choice((self.number(), self.location()))
                                      for _ in range(chance.randrange(4))],
            "base_types": lambda: {str(number): {"encoding": chance.choice(("signed", "unsigned", "float", "boolean")),
                                                 "byte_size": chance.choice((1, 2, 4, 8, 16, self.number() % 70000))}
                                   for number in (0x10, 0x11, 0x20 + self.number() % 99)},
            "debug_addr": lambda: {"0": self.number(), "1": 0x1000},
            "tls": lambda: {"0": self.number()},
            "entry_values": lambda: {"51": self.number(), "DW_OP_reg0": 1},
            "entry_registers": lambda: {"32": self.location()},
            "dies": lambda: {f"unit:{number}": {"location": {"ops": self.operations(5)}} for number in (0x40, 0x41)}
            | {"unit:66": {"location": {"ops": f"DW_OP_call4 {chance.choice((66, 64))}"}, "const_value": "0102"}},
        }  # fmt: skip
        for key in chance.sample(sorted(makers), chance.choice((0, 1, 2, 3, 5))):
            made[key] = makers[key]()
        return made

    def program(self) -> str:
        """Return a program of operations: one that knows what is on its stack, or any words."""
        if self.chance.random() < 0.5:
            return self.operations()
        target = self.chance.choice(programs.TARGETS)
        return programs.Writer(self.chance, target).program(self.chance.choice((1, 2, 3, 4, 6, 9, 14)))

    def question(self) -> dict[str, Any]:
        """Return a case: an expression in text or bytes, and a context for it."""
        chance = self.chance
        case: dict[str, Any] = {"target": chance.choice(TARGETS)}
        if chance.random() < 0.3:
            data = self.block() if chance.random() < 0.6 else chance.randbytes(chance.randrange(20))
            case["expr"] = self.damaged(data).hex()
        else:
            case["ops"] = self.program()
        if chance.random() < 0.3:
            case["dialect"] = chance.choice(dialects.NAMES)
        if chance.random() < 0.3:
            case["rules"] = chance.choice(RULES)
        if chance.random() < 0.7:
            case["context"] = self.context()
        if chance.random() < 0.3:
            case["lanes"] = chance.choice(("all", [0, 1], [0, 1, 2, 31], [], [self.number()]))
        if chance.random() < 0.3:
            case["read"] = chance.choice((
                {"bytes": self.number()}, {"bytes": 4, "offset": self.number()},
                {"type": {"encoding": "float", "byte_size": 4}}, {"type": "generic"},
            ))  # fmt: skip
        if chance.random() < 0.1:
            case["write"] = chance.randbytes(chance.randrange(9)).hex()
        if chance.random() < 0.2:
            case["stack"] = True
        if chance.random() < 0.2:
            case["want"] = chance.choice(("any", "any", "value", "location"))
        for key, values in (("offset_size", (4, 8)), ("dwarf_version", (2, 4, 5, 6)), ("address_size", (2, 4, 8)),
                            ("byte_order", ("little", "big"))):  # fmt: skip
            if chance.random() < 0.02:
                case[key] = chance.choice(values)
        if "context" in case and chance.random() < 0.5:
            case["context"].setdefault("lane", 1)
        return case

    def operation(self) -> Input:
        """Return an expression: evaluated in a case, listed, verified, or traced in a random state with eight lanes."""
        chance = self.chance
        how = chance.random()
        if how < 0.7:
            case = self.question()
            return Input(["case", json.dumps(case)], call=lambda: json.dumps(run_case(case, 1), allow_nan=False))
        target, dialect = chance.choice(TARGETS), chance.choice(dialects.NAMES)
        rules = chance.choice(RULES)
        data = self.damaged(self.block())
        if how < 0.9:
            in_cfi, depth, want = chance.random() < 0.3, chance.randrange(3), chance.choice((None, "value", "location"))

            def listed() -> str:
                where = encoding_context.setting(target, dialect, rules)
                expression = where.decoded(data)
                shown = where.lines(expression)
                wrong = where.findings(expression, in_cfi=in_cfi, depth=depth, want=want)
                return f"{shown} {wrong}"

            return Input(["list", target, dialect, rules, data.hex()], call=listed)
        name, number = chance.choice(programs.TARGETS), chance.randrange(16)
        text = self.program()

        def traced() -> str:
            from dwarfgpu.expr.evaluation import evaluate

            where = encoding_context.setting(name, "llvm-user", rules)
            expression = where.parsed(text)
            tracer = Tracer(where.target)
            results = list(evaluate(expression, known_context(number, name, rules), tracer.record))
            return (
                "\n".join(map(repr, results)) + "\n".join(tracer.lines()) + json.dumps(tracer.documents(), default=list)
            )

        return Input(["trace", name, rules, str(number), text], call=traced)

    def good_rules(self) -> bytes:
        """Instructions that a producer might write, but for how often and how large."""
        chance, data, depth = self.chance, b"", 0
        blocks = [self.block().hex() for _ in range(2)]
        for _ in range(chance.choice((2, 4, 8, 30))):
            register, number = (
                chance.choice((0, 6, 16, 40, 2560, 4095)),
                chance.choice((0, 1, 8, 64, self.number() >> 1)),
            )
            block = chance.choice(blocks)
            name = chance.choice((
                f"advance_loc {chance.randrange(64)}", "advance_loc1 255", f"advance_loc2 {number % (1 << 16)}",
                f"offset_extended {register} {number}", f"offset_extended_sf {register} {number}",
                f"undefined {register}", f"same_value {register}", f"register {register} 40", "remember_state",
                f"val_offset {register} {number}", f"val_offset_sf {register} -{number}",
                f"def_cfa {register} {number}",
                f"def_cfa_register {register}", f"def_cfa_offset {number}", f"expression {register} {block}",
                f"restore_extended {register}", f"val_expression {register} {block}", "restore_state",
                f"LLVM_def_aspace_cfa 64 {number} 6", f"def_cfa_expression {block}", "def_cfa 7 8",
            ))  # fmt: skip
            depth += {"remember_state": 1, "restore_state": -1}.get(name, 0)
            if depth < 0:
                depth, name = 0, "nop"
            data += cfa(name)
        return data

    def frame_section(self, kind: str, size: int, order: str) -> bytes:
        """Return a section of call frame information."""
        chance = self.chance
        builder = FrameBuilder(kind, size=size, order=order, wide=chance.random() < 0.2)
        places = [0]
        is_odd = chance.random() < 0.3
        for _ in range(chance.choice((2, 2, 3, 6))):
            if not builder.data or (is_odd and chance.random() < 0.4):
                options: dict[str, Any] = {}
                if is_odd and chance.random() < 0.4:
                    options["augmentation"] = chance.choice(
                        ("z", "zR", "zPLR", "eh", "[llvm:v0.0]", "zS", "armcc+", "x")
                    )
                    options["augmentation_data"] = chance.randbytes(chance.randrange(8))
                if is_odd and chance.random() < 0.3:
                    options["version"] = chance.choice((1, 3, 4, 5, 255))
                if is_odd and chance.random() < 0.2:
                    options["length"] = self.number() % (1 << 32)
                factors: dict[str, Any] = {
                    "code": chance.choice((1, 1, 4, self.number())),
                    "data": chance.choice((-8, -8, 4, -self.number())),
                }
                begin = cfa("def_cfa 7 8") + (self.rules() if is_odd and chance.random() < 0.6 else b"")
                places.append(builder.cie(begin, **factors, **options))
                continue
            cie = chance.choice((*places, self.number() % (1 << 31))) if is_odd else places[-1]
            low, size = chance.choice((0, 0x1000, self.number())), chance.choice((0x100, 0x10000, self.number()))
            code = self.rules() if is_odd else self.good_rules()
            builder.fde(cie, low, size, code, augmentation_data=chance.choice((b"", b"\0")) if is_odd else b"")
        return self.damaged(builder.data)

    def frames(self) -> Input:
        """Return a section of call frame information, and the rows of its entries."""
        chance = self.chance
        kind, size, order = (
            chance.choice(cases_sections.FRAME_SECTIONS),
            chance.choice((4, 8, 8)),
            chance.choice(ORDERS),
        )
        data = self.frame_section(kind, size, order)
        case: dict[str, Any] = {
            "section": data.hex(), "section_kind": kind, "byte_order": order, "address_size": size,
        }  # fmt: skip
        for key, values in (("target", TARGETS), ("byte_order", ("little", "big")), ("address_size", (2, 4, 8)),
                            ("section_address", (0, 0x1000, self.number())), ("pc", (0, 0x1010, self.number())),
                            ("fde", (0, 0, 1, 9))):  # fmt: skip
            if chance.random() < (0.5 if key == "target" else 0.15):
                case[key] = chance.choice(values)
        return Input(["cfi", json.dumps(case)],
                     call=lambda: json.dumps(cases_sections.run_frame_case(case, 1), allow_nan=False))  # fmt: skip

    def list_entries(self, table: dict[str, tuple[int, str]], order: str, size: int) -> bytes:
        """Entries of a location or range list."""
        chance, entries = self.chance, []
        for _ in range(chance.choice((1, 2, 4, 12))):
            kind = chance.choice(tuple(table))
            operands: list[Any] = []
            for how in table[kind][1]:
                value = chance.choice((0, 1, 4, 0x10, 0x1000, self.number()))
                operands.append(self.block().hex() if how in "eb" else value % (1 << 32) if how == "4" else value)
            entries.append((kind, *operands))
        if table is lists.RLE:
            return lists.rnglist(*entries, "end_of_list", size=size, order=order)
        if table is lists.GNU:
            return lists.gnu_loclist(*entries, "end_of_list", order=order)
        return lists.loclist(*entries, "end_of_list", size=size, order=order)

    def list_section(self, kind: str, order: str, size: int) -> bytes:
        """Return the bytes of a location or range list."""
        chance = self.chance
        if kind in ("debug_loc", "debug_ranges"):
            pairs: list[Any] = []
            for _ in range(chance.choice((1, 2, 4, 12))):
                begin = chance.choice((0, 4, 0x1000, -1, self.number()))
                pair = (begin, chance.choice((begin + 4, 8, self.number())))
                pairs.append(pair if kind == "debug_ranges" else (*pair, self.block().hex()))
            make: Any = lists.ranges if kind == "debug_ranges" else lists.loc
            return self.damaged(make(*pairs, size=size, order=order))
        table = {"debug_loclists": lists.LLE, "debug_rnglists": lists.RLE, "debug_loc.dwo": lists.GNU}[kind]
        return self.damaged(self.list_entries(table, order, size))

    def lists(self) -> Input:
        """Return a location or range list."""
        chance = self.chance
        order, size = chance.choice(ORDERS), chance.choice((4, 8, 8))
        kind = chance.choice((*cases_sections.LIST_SECTIONS, "debug_rnglists", "debug_ranges"))
        data = self.list_section(kind, order, size)
        base = chance.choice((None, 0, 0x1000, self.number() % (1 << 8 * size)))
        offset = chance.choice((0, 0, 0, 1, self.number()))
        if kind in cases_sections.LIST_SECTIONS:
            case = {"section": data.hex(), "section_kind": kind, "byte_order": order, "address_size": size,
                    "unit_base": base, "offset": offset, "debug_addr": {"0": 0x1000, "1": 0x1010},
                    "pc": chance.choice((None, None, 0, 0x1004, self.number()))}  # fmt: skip
            return Input(["lists", json.dumps(case)],
                         call=lambda: json.dumps(cases_sections.run_list_case(case, 1), allow_nan=False))  # fmt: skip

        def ranges() -> str:
            context = ListContext(size, order, base, lambda index: 0x1000 + index)
            return repr(read_list(data, offset, section=f".{kind}", context=context))

        return Input([kind, order, str(size), str(base), str(offset), data.hex()], call=ranges)

    def line_program(self) -> bytes:
        """Return a section of line tables."""
        chance, out = self.chance, b""
        for _ in range(chance.choice((1, 1, 2))):
            order, steps = chance.choice(ORDERS), []
            for _ in range(chance.choice((1, 4, 12, 40))):
                name = chance.choice(("special", *lines.STANDARD, *lines.EXTENDED, "end_sequence"))
                shape = {"special": "12"}.get(name) or (lines.STANDARD.get(name) or lines.EXTENDED[name])[1]
                values = {"1": chance.randrange(4), "2": chance.randrange(8) - 4, "z": self.name(),
                          "s": chance.choice((-1, 1, self.number()))}  # fmt: skip
                if name == "fixed_advance_pc":
                    values["2"] = self.number() & 0xFFFF
                steps.append((name, *(values.get(how, self.number()) for how in shape)))
            options: dict[str, Any] = {}
            for key, known in (("version", (2, 3, 4, 5, 6)), ("wide", (True,)), ("min_length", (0, 4, 255)),
                               ("max_operations", (0, 2, 255)), ("line_range", (0, 1, 255)),
                               ("opcode_base", (0, 1, 10, 255)), ("length", (0, 5, 0xFFFFFFF0)),
                               ("header_length", (0, 8, 0xFFFF))):  # fmt: skip
                if chance.random() < 0.12:
                    options[key] = chance.choice(known)
            if chance.random() < 0.2:
                form = tuple((chance.randrange(6), chance.choice((8, 0x0B, 0x0F, 0x1F, 9, 0x1E))) for _ in range(2))
                rows = (self.name().encode() + b"\0", b"\1"), (b"a.c\0", b"\0" * 16)
                options["tables"] = lines.table_5(form, *rows, count=chance.choice((None, self.number())))
            if options.get("wide"):
                options.pop("length", None)
            code = lines.program(*steps, order=order) * chance.choice((1, 1, 1, 100))
            out += lines.table(code, order=order, **options)
        return self.damaged(out)

    def lines(self) -> Input:
        """Return a section of line tables, read row by row."""
        data, order = self.line_program(), self.chance.choice(ORDERS)

        def read() -> str:
            texts = []
            for table in line_tables(data, byte_order=order, section=".debug_line"):
                if isinstance(table, LineTable):
                    texts.append(f"{len(table.rows)} rows, {table.error}, {[*table.files()]}")
                    for row in islice(table.rows, 0, None, 1 + len(table.rows) // 8):
                        texts += [repr(row), repr(table.at(row.address)), repr(table.next_line(row.line, {row.file}))]
                    texts.append(repr(table.ranges)[:1000])
            return "\n".join(texts)

        return Input(["lines", order, data.hex()], call=read)


NOTE = b"\x07\0\0\0\x10\0\0\0\x20\0\0\0AMDGPU\0\0\x82\xa7a.b\x01\xc0\xdd\0\0\0\x01\x01\x93\x01\x02\x03"


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a JSON value that holds another value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places_in(inner)


@functools.lru_cache(4)
def known_file(key: str) -> bytes:
    """Return the file that inputs with a key are about."""
    return Maker(random.Random(key), Path()).code_object()


@functools.lru_cache(128)
def known_context(number: int, target: str, rules: str) -> Any:
    """Return a state in which programs are traced."""
    return programs.context(random.Random(number), target, rules)


class Kind(NamedTuple):
    """A kind of inputs."""

    make: Callable[[Maker], Input]
    share: int
    """How often it is made, as a weight."""


KINDS: dict[str, Kind] = {
    "operation": Kind(Maker.operation, 6150),
    "frames": Kind(Maker.frames, 1000),
    "lists": Kind(Maker.lists, 1200),
    "lines": Kind(Maker.lines, 400),
    "expression": Kind(Maker.expression, 300),
    "tree": Kind(Maker.tree, 120),
    "section": Kind(Maker.section, 150),
    "machine": Kind(Maker.machine, 130),
    "commands": Kind(Maker.commands, 180),
    "shell": Kind(Maker.shell, 170),
    "core": Kind(Maker.core, 50),
}
