"""Programs as readable text, and their results in a short notation.

``run("lit8; lit0; div")`` gives ``"division_by_zero"``: names need no ``DW_OP_`` here. The notation of results:

=====================  ===============================================================================
``5``                  a value of the generic type; ``5:signed32`` one of another type
``mem 0x10``           memory of the default address space; ``local#0x10``, ``private_lane#0x8@5`` (lane 5)
``mem 0x10.3``         bit 3 of that byte
``r5``, ``v4+160``     a register, and the bit offset in it
``implicit 0500``      an implicit location, with ``+8`` for a bit offset
``ptr info:0x4c+4``    an implicit pointer, with `` bit 8`` for a bit offset
``undefined``
``{32:r5 16:undefined}``  a composite, with ``+8`` for a bit offset
``mem 0x1 | r5``       several places
``division_by_zero``   the kind of an error
=====================  ===============================================================================
"""

import json
import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from cases import parse_line, run_case

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.targets.resolve import resolve
from dwarfgpu.targets.target import Target
from tests.builders.parameters import in_one_test

_BARE = re.compile(r"((?:^|[;(\n])\s*(?:(?!undecoded)[\w.]+:\s*)*)(?!DW_OP_)([A-Za-z]\w*)(?![\w:])")


def full(ops: str) -> str:
    """Return a program with ``DW_OP_`` before the names that lack it."""
    return _BARE.sub(r"\1DW_OP_\2", ops)


def parsed(ops: str, target: Target | str | None = None, **form: Any) -> Expression:
    """Return a program in LLVM's dialect."""
    known = resolve(target) if isinstance(target, str) else target
    return asm.parse(full(ops), dialects.get("llvm-user"), Format(**form), target=known)


def base_type(name: str) -> dict[str, Any]:
    """Return a base type by its name in results: ``signed8``, ``float32x2``; ``unsigned33/8`` has 8 bytes."""
    encoding, bits, count, size = re.fullmatch(r"(bfloat16|[A-Za-z_]+)(\d+)(?:x(\d+))?(?:/(\d+))?", name).groups()
    kind = {"encoding": encoding, "byte_size": int(size or -(-int(bits) // 8))}
    if size or int(bits) % 8:
        kind["bit_size"] = int(bits)
    return {**kind, "vector_size": int(count)} if count else kind


def base_types(text: str) -> dict[str, Any]:
    return {number: base_type(name) for number, name in (each.split() for each in text.split(","))}


def _expanded(case: Any) -> Any:
    """Return a case in which every program has its names in full."""
    if isinstance(case, dict):
        programs = case.get("entry_values", {})
        case = {**case, "entry_values": {full(key): value for key, value in programs.items()}} if programs else case
        return {key: full(value) if key == "ops" else _expanded(value) for key, value in case.items()}
    return [_expanded(each) for each in case] if isinstance(case, list) else case


def memory(address: int, data: str, space: Any = 0, **more: Any) -> dict[str, Any]:
    """Return bytes of memory, as a case describes them."""
    return {"space": space, "address": address, "bytes": data, **more}


def die(ops: str) -> dict[str, Any]:
    """Return an entry whose location is an expression."""
    return {"location": {"ops": ops}}


def listed(*programs: str) -> dict[str, Any]:
    return {"location": [{"ops": ops} for ops in programs]}


def run_lines(lines: Iterable[str]) -> Iterator[str]:
    """The answers to cases, a case a line, each as soon as it is known; blank lines are counted, but not answered."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield json.dumps(run_case(parse_line(line, number), number))


def answer(ops: str, **case: Any) -> dict[str, Any]:
    """The answer to a case; keys of the context may be given beside those of the case."""
    keys = {
        "target", "dialect", "rules", "address_size", "byte_order", "offset_size", "dwarf_version",
        "want", "lanes", "read", "write", "stack", "limits", "context", "id", "expr"}  # fmt: skip
    context = {key: case.pop(key) for key in list(case) if key not in keys}
    if context:
        case["context"] = {**case.get("context", {}), **context}
    if "expr" not in case:
        case["ops"] = ops
    return run_case(_expanded(case), 1)


def run(ops: str, **case: Any) -> str:
    """The result of a program in the short notation."""
    return short(answer(ops, **case))


def run_lanes(ops: str, **case: Any) -> list[str]:
    """The result of a program in each lane."""
    case.setdefault("lanes", "all")
    return [short(one) for one in answer(ops, **case)["lanes"].values()]


def short(one: dict[str, Any]) -> str:
    """An answer in the short notation."""
    if one["status"] == "error":
        return str(one["error"]["kind"])
    if "read" in one:
        return _reading(one["read"])
    return notation(one["result"])


def _reading(read: dict[str, Any]) -> str:
    if "value" in read:
        return "undefined" if read["value"] is None else str(read["value"])
    return read["bytes"] + (f" undefined {read['undefined']}" if "undefined" in read else "")


def notation(result: dict[str, Any]) -> str:
    kind = result["kind"]
    if kind == "value":
        return f"{result['value']}{_type(result['type'])}"
    if kind == "memory":
        name = f"{result['space_name']}#" if result["space"] else "mem "
        bit = f".{result['bit']}" if result["bit"] else ""
        lane = f"@{result['lane']}" if "lane" in result else ""
        return f"{name}{result['address']:#x}{bit}{lane}"
    offset = f"+{result['bit_offset']}" if result.get("bit_offset") else ""
    if kind == "register":
        return f"{result['name']}{offset}"
    if kind == "implicit":
        return f"implicit {result['bytes']}{offset}"
    if kind == "implicit_pointer":
        displacement = f"{result['byte_offset']:+d}" if result["byte_offset"] else ""
        space = f" in {result['space']}" if result["space"] else ""
        bit = f" bit {result['bit_offset']}" if "bit_offset" in result else ""
        return f"ptr {result['die']}{displacement}{space}{bit}"
    if kind == "composite":
        parts = " ".join(f"{part['bit_size']}:{notation(part['location'])}" for part in result["parts"])
        return f"{{{parts}}}{offset}"
    if kind == "multiple":
        return " | ".join(notation(place) for place in result["places"])
    return str(kind)


def _type(kind: Any) -> str:
    if kind == "generic":
        return ""
    bits = kind.get("bit_size", 8 * kind["byte_size"])
    count = f"x{kind['vector_size']}" if kind.get("vector_size") else ""
    return f":{kind['encoding']}{bits}{count}"


class Case:
    """A row of a table of tests: a clause of the text, a program, and the result it must have.

    ``expected`` is a result in the short notation, a list of the results in all lanes, or a tuple with the whole final
    stack, bottom first.
    """

    def __init__(self, clause: str, ops: str, expected: Any, **case: Any) -> None:
        self.clause = clause
        self.ops = full(" ".join(ops.split()))
        self.expected = expected
        self.case = case

    def __repr__(self) -> str:
        options = " ".join(f"{key}={value}" for key, value in self.case.items() if len(str(value)) < 24)
        return f"{self.clause}: {self.ops} {options}".strip()

    def check(self) -> None:
        """Run the program and compare."""
        __tracebackhide__ = True
        case = dict(self.case)
        if isinstance(self.expected, list):
            assert run_lanes(self.ops, **case) == self.expected, self.ops
        elif isinstance(self.expected, tuple):
            one = answer(self.ops, stack=True, **case)
            assert one["status"] == "ok", one
            assert tuple(notation(entry) for entry in one["stack"]) == self.expected, self.ops
        else:
            one = answer(self.ops, **case)
            assert short(one) == self.expected, (self.ops, one)


class Rows:
    """The tables of one section, written as text, a row a line::

        # what the rows below are about
        (2) reg5; piece 4; reg6; piece 2 -> {32:r5 16:r6}
        reg5; piece 5 -> bad_piece where address_size=4
        reg5; deref => ["1", "2"] where lane_count=2, registers={"5": [1, 2]}
        lit1; stack_value; {FORM} | reg5; {FORM} -> wrong_kind

    A number begins the rows of an item of the section, ``()`` those of none, ``[...]`` those of another clause. Between
    ``|`` stand programs with one result, each a row; what is in braces is computed, as in an f-string. Behind ``->``
    stands a result in the short notation, behind ``=>`` one as Python writes it (lanes, stacks, numbers that are
    computed). What differs from the defaults of the section are arguments as Python writes them, with the names of the
    module. A line that is indented further continues the one before; three spaces or more part the rows of one line.
    """

    def __init__(self, section: str, names: dict[str, Any], **defaults: Any) -> None:
        self.section = section
        self.names = names
        self.defaults = defaults

    def row(self, clause: str, ops: str, expected: Any, **case: Any) -> Case:
        """Return a row of an item such as ``(2)``, of the section itself, or of another clause."""
        whole = clause if clause[:1] not in ("(", "") else f"{self.section} {clause}".strip()
        return Case(whole, ops, expected, **{**self.defaults, **case})

    def __call__(self, text: str) -> list[Any]:
        """Return the rows of a text."""
        lines = re.split(r"\n| {3,}", re.sub(r"\n {8,}", " ", text))
        clause, found = "", []
        for line in filter(None, map(str.strip, lines)):
            if not line.startswith("#"):
                item, program = re.fullmatch(r"(\(\w*\) |\[[^]]+\] )?(.*)", line).groups()
                if item:
                    clause = item.strip(" []").replace("()", "")
                before, _, options = program.partition(" where ")
                ops, arrow, expected = re.split(r"(?:^| )([-=]>)(?: |$)", before, maxsplit=1)
                result = expected if arrow == "->" else self._python(expected)
                for each in ops.split(" | "):
                    whole = self._python(f"f{each!r}") if "{" in each else each
                    found.append(self.row(clause, whole, result, **self._python(f"dict({options})")))
        return found

    def table(self, text: str) -> Any:
        """Return a test function that checks the rows of a text."""
        return table(self(text))

    def _python(self, text: str) -> Any:
        return eval(text, {**globals(), **self.names})


_SIGNED = [f"signed{bits}" for bits in (1, 7, 8, 16, 24, 32, 33, 64, 65, 80, 128, 2048)]
_FLOATS = ["float16", "float32", "float64", "float80", "bfloat1616", "complex_float64", "float32x2", "float16x4"]
_OTHERS = ["signed_char8", "unsigned_char8", "boolean8", "address64", "UTF8", "UTF32", "packed_decimal16"]
KINDS = [*_SIGNED, *(f"un{kind}" for kind in _SIGNED), *_FLOATS, *_OTHERS, "unsigned8x2", "unsigned8x4"]
OFFSETS = {kind: 0x10 + i for i, kind in enumerate(KINDS)}


class TypedRows(Rows):
    """Tables in which ``<float32>`` is the entry of a type, and ``<float32=1.5>`` pushes a value of it."""

    def __init__(self, section: str, names: dict[str, Any]) -> None:
        types = {str(offset): base_type(kind) for kind, offset in OFFSETS.items()}
        super().__init__(section, names, rules="amd", base_types=types)

    def row(self, clause: str, ops: str, expected: Any, **case: Any) -> Case:
        order = case.get("byte_order", "little")
        pushed = re.sub(r"<(\w+)=([^>]+)>", lambda found: _push(found[1], found[2], order), ops)
        return super().row(clause, re.sub(r"<(\w+)>", lambda found: str(OFFSETS[found[1]]), pushed), expected, **case)

    def in_both_orders(self, number: int, ops: str, kinds: list[str], expected: str) -> list[Case]:
        """Return a row for each byte order; a result that is a number has the last of the types."""
        generic = [kind for kind in kinds if kind.startswith("generic")]
        size = {"address_size": int(generic[0][7:]) // 8} if generic else {}
        is_number = expected.lstrip("-")[:1].isdigit() or expected in ("nan", "inf", "-inf")
        result = f"{expected}:{kinds[-1]}" if is_number and not kinds[-1].startswith("generic") else expected
        return [self.row(f"({number})", ops, result, byte_order=order, **size) for order in ("little", "big")]


def _push(kind: str, word: str, order: Any) -> str:
    """Return the text that pushes a value: a const8u or s for the generic type, a const_type for any other."""
    if kind.startswith("generic"):
        return f"const8{'s' if word.startswith('-') else 'u'} {word}"
    size = base_type(kind)["byte_size"]
    letter = {"float16": "e", "float32": "f", "float64": "d", "bfloat1616": "f"}.get(kind)
    number = 0 if letter else int(word, 0) & (1 << 8 * size) - 1
    data = struct.pack(f">{letter}", float(word))[:size] if letter else number.to_bytes(size, "big")
    return f"const_type <{kind}> {(data if order == 'big' else data[::-1]).hex()}"


def table(*rows: Case | Iterable[Case]) -> Any:
    """Return a test function that checks every row, and names those that fail; its name must begin with ``test_``."""
    cases = [case for each in rows for case in ([each] if isinstance(each, Case) else each)]

    @in_one_test("case", cases)
    def check(case: Case) -> None:
        case.check()

    check.cases = cases
    return check
