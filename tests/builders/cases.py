"""Programs as readable text, and their results in a short notation.

``run("DW_OP_lit8; DW_OP_lit0; DW_OP_div")`` gives ``"division_by_zero"``. The notation of results:

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

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dwarfgpu.cases.case import parse_line, run_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def run_lines(lines: Iterable[str]) -> Iterator[str]:
    """The answers to cases, a case a line, each as soon as it is known; blank lines are counted, but not answered."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield json.dumps(run_case(parse_line(line, number), number))


def answer(ops: str, **case: Any) -> dict[str, Any]:
    """The answer to a case; keys of the context may be given beside those of the case."""
    keys = {
        "target", "dialect", "rules", "address_size", "byte_order", "offset_size", "dwarf_version",
        "want", "lanes", "read", "write", "stack", "limits", "context", "id", "expr",
    }  # fmt: skip
    context = {key: case.pop(key) for key in list(case) if key not in keys}
    if context:
        case["context"] = {**case.get("context", {}), **context}
    if "expr" not in case:
        case["ops"] = ops
    return run_case(case, 1)


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
    """A result in the short notation."""
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
        self.ops = " ".join(ops.split())
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


def table(cases: list[Case]) -> Any:
    """A test function that checks every row; assign it to a name that begins with ``test_``."""
    import pytest

    @pytest.mark.parametrize("case", cases, ids=repr)
    def check(case: Case) -> None:
        case.check()

    return check
