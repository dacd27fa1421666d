"""Random cases: mostly well formed, so that evaluations get far, over states in which lanes differ."""

import random
from typing import Any

from dwarfgpu import dialects
from dwarfgpu.expr import table

SETTINGS: tuple[dict[str, Any], ...] = (
    {},                    {"rules": "amd", "dialect": "llvm-user"},     {"rules": "dwarf6", "dialect": "dwarf6"},
    {"byte_order": "big", "rules": "amd", "dialect": "llvm-user"},       {"byte_order": "big", "address_size": 4},
    {"address_size": 1, "rules": "amd", "dialect": "llvm-legacy"},       {"address_size": 2, "dialect": "llvm-user"},
    {"address_size": 3, "byte_order": "big", "rules": "amd", "dialect": "llvm-user"},
    {"target": "amdgcn-gfx90a"},                  {"target": "amdgcn-gfx90a", "rules": "dwarf6"},
    {"target": "amdgcn-gfx1100-wave32"},          {"target": "amdgcn-gfx803"},
    {"target": "x86_64", "rules": "amd", "dialect": "llvm-user"})  # fmt: skip
TYPES: dict[str, Any] = {
    "1": {"encoding": "signed", "byte_size": 4},             "2": {"encoding": "unsigned", "byte_size": 1},
    "3": {"encoding": "float", "byte_size": 8},              "4": {"encoding": "float", "byte_size": 4},
    "5": {"encoding": "unsigned", "byte_size": 16},
    "6": {"encoding": "signed", "byte_size": 1, "bit_size": 5},
    "7": {"encoding": "unsigned", "byte_size": 4, "vector_size": 3},
    "8": {"encoding": "unsigned", "byte_size": 0},           "9": {"encoding": "complex_float", "byte_size": 8},
    "10": {"encoding": "signed", "byte_size": 8},            "11": {"encoding": "float", "byte_size": 2},
    "12": {"encoding": "bfloat16", "byte_size": 2}}  # fmt: skip
_LIKED = """
    lit4 dup over swap rot drop pick plus minus mul div mod shl shr shra eq lt bra skip deref deref_size
    deref_type regval_type breg0 bregx regx piece bit_piece stack_value implicit_value LLVM_offset
    LLVM_bit_offset LLVM_push_lane LLVM_form_aspace_address LLVM_extend LLVM_select_bit_piece
    LLVM_piece_end LLVM_overlay LLVM_bit_overlay convert reinterpret const_type call4 implicit_pointer
    LLVM_call_frame_entry_reg push_object_address call_frame_cfa fbreg LLVM_undefined composite
    LLVM_push_iteration LLVM_aspace_bregx entry_value LLVM_aspace_implicit_pointer addr form_tls_address
    constx addrx xderef lit1 lit0 lit5 const1u and nop LLVM_offset_uconst
"""
LIKED = _LIKED.split()


def random_case(choose: random.Random) -> dict[str, Any]:
    """A case with a random program in a random context."""
    case: dict[str, Any] = dict(choose.choice(SETTINGS))
    case["context"] = context(choose, case)
    stack = case["context"].get("initial_stack", ())
    case["ops"] = program(choose, case, ["l" if isinstance(one, dict) and "kind" in one else "g" for one in stack])
    if choose.random() < 0.4:
        case["want"] = choose.choice(("value", "location"))
    if choose.random() < 0.5:
        kind: Any = choose.choice((*TYPES.values(), "generic"))
        case["read"] = choose.choice(({"type": kind}, {"bytes": choose.randrange(12)}))
        if choose.random() < 0.3:
            case["read"]["offset"] = choose.randrange(-4, 12)
    if choose.random() < 0.2:
        case["write"] = choose.randbytes(choose.randrange(1, 6)).hex()
    case["stack"] = choose.random() < 0.5
    case["limits"] = {"steps": 300, "nesting": 12}
    return case


def program(choose: random.Random, case: dict[str, Any], stack: list[str] | None = None) -> str:
    """A program in text, most of whose operations find what they need on the stack."""
    names = [f"DW_OP_{name}" for name in LIKED] if choose.random() < 0.7 else table.names()
    kinds = [] if stack is None else stack
    parts = []
    for _ in range(choose.randrange(1, 14)):
        name = choose.choice(names)
        for _ in range(12):
            if fits(name, kinds):
                break
            name = choose.choice(names)
        parts.append(statement(choose, name, case))
        follow(name, kinds)
    return "; ".join(parts)


RAW = {
    "piece": "l -- c",                    "bit_piece": "l -- c",                "LLVM_piece_end": "c -- l",
    "stack_value": "v -- l",              "over": "a a -- a a l"}  # fmt: skip


def effect_of(name: str) -> tuple[list[str], list[str]]:
    row = table.find(name)
    assert row is not None
    if row.is_raw:
        before, after = RAW.get(name.removeprefix("DW_OP_"), "a -- a").split("--")
        return before.split(), after.split()
    return [kind[0] for kind in row.inputs], [kind[0] for kind in row.outputs]


def fits(name: str, stack: list[str]) -> bool:
    inputs, _ = effect_of(name)
    if len(inputs) > len(stack):
        return False
    wanted = {"a": "vlg", "l": "lg", "v": "vg", "i": "vg", "c": "c"}
    return all(have in wanted[need] for need, have in zip(reversed(inputs), reversed(stack), strict=False))


def follow(name: str, stack: list[str]) -> None:
    inputs, outputs = effect_of(name)
    if inputs:
        del stack[-len(inputs) :]
    typed = ("type" in name) or ("convert" in name) or ("reinterpret" in name)
    stack.extend("g" if kind in "via" and not typed else kind for kind in outputs)


def statement(choose: random.Random, name: str, case: dict[str, Any]) -> str:
    row = table.find(name)
    assert row is not None
    encoding = dialects.get(case.get("dialect", "llvm-user" if case.get("target") else "gnu")).encoding_of(row)
    kinds = [letter.kind for letter in row.operands] if encoding is None else encoding.operand_kinds
    if "DR" in (letter.name for letter in row.operands) and "uleb" in kinds and choose.random() < 0.9:
        return typed_statement(choose, name, case)
    words = [operand(choose, kind, letter.name, case) for kind, letter in zip(kinds, row.operands, strict=True)]
    return " ".join((name, *words))


def typed_statement(choose: random.Random, name: str, case: dict[str, Any]) -> str:
    """An operation with a base type, whose other operands agree with it."""
    offset, kind = choose.choice(list(TYPES.items()))
    size = -(-kind.get("bit_size", 8 * kind["byte_size"]) * kind.get("vector_size", 1) // 8)
    if "const_type" in name:
        return f"{name} {offset} {choose.randbytes(size).hex() or '0x'}"
    if "deref_type" in name:
        return f"{name} {size} {offset}"
    if "regval_type" in name:
        return f"{name} {register_number(choose, case)} {offset}"
    return f"{name} {offset}"


def operand(choose: random.Random, kind: str, letter: str, case: dict[str, Any]) -> str:
    if kind == "branch":
        return str(choose.randrange(-6, 12))
    if kind == "expression":
        return choose.choice(("50", "55", "30", "9f", "ff", "0x"))
    if kind in ("block", "block1", "tail"):
        return choose.randbytes(choose.choice((0, 1, 1, 4, 4, 8, 16))).hex() or "0x"
    if kind == "encoded":
        return choose.choice(("0 4", "0x10 4", "0x80 16", "0x0f 1"))
    if letter == "R":
        return "5000" if choose.random() < 0.05 else str(register_number(choose, case))
    if letter == "DR":
        return str(choose.choice((16, 32, 64, 16, 32, 64, 16, 32, 64, 80, 0, 1)))
    if letter == "I":
        return str(choose.randrange(4 if kind == "u1" else 9))
    if letter == "AS":
        return str(choose.randrange(8))
    number = choose.choice((0, 1, 1, 2, 4, 4, 8, 8, 16, 32, 64, 3, 5, 7))
    return str(-number if kind[0] == "s" and choose.random() < 0.4 else number)


def register_number(choose: random.Random, case: dict[str, Any]) -> int:
    if not case.get("target", "").startswith("amdgcn"):
        return choose.randrange(8)
    vector = 1536 if "wave32" in case["target"] else 2560
    mask = 1 if "wave32" in case["target"] else 17
    return choose.choice((32, 33, 64, 16, mask, vector, vector + 1, vector + 2, vector + 40))


def number(choose: random.Random, bits: int) -> int:
    return choose.choice((0, 1, 2, 4, 8, 16, choose.getrandbits(bits), choose.getrandbits(max(bits // 2, 1))))


def context(choose: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """A context in which some elements are missing."""
    bits = 8 * case.get("address_size", 8)
    is_amdgpu = case.get("target", "").startswith("amdgcn")
    wide = 64 if is_amdgpu else bits
    found: dict[str, Any] = {"registers": registers(choose, case, bits, is_amdgpu=is_amdgpu), "memory": []}
    for start in (0, 16, 240):
        if choose.random() < 0.8:
            data = choose.randbytes(choose.randrange(1, 16))
            found["memory"].append({"space": 0, "address": start, "bytes": data.hex()})
    if is_amdgpu:
        found["memory"] += [
            {"space": "private_wave", "address": 0, "bytes": choose.randbytes(choose.choice((64, 1024))).hex()},
            {"space": "local", "address": 0, "bytes": choose.randbytes(64).hex()},
        ]
    optional: dict[str, Any] = {
        "iteration": choose.randrange(3),           "iterations": 2,      "lane_count": choose.choice((1, 2, 4, 64)),
        "cfa": location(choose, case, 0) if choose.random() < 0.5 else number(choose, 6),
        "frame_base": location(choose, case, 0) if choose.random() < 0.5 else number(choose, 6),
        "object": location(choose, case, 0),
        "initial_stack": [entry(choose, case, wide) for _ in range(choose.randrange(4))],       "base_types": TYPES,
        "debug_addr": {str(index): number(choose, 6) for index in range(8)},
        "tls": {str(index): number(choose, 6) for index in (0, 1, 4)},    "entry_values": {"50": 5, "55": 77},
        "entry_registers": {str(register_number(choose, {**case})): location(choose, case, 0)},
        "dies": dies(choose, case),                 "pc": 4}  # fmt: skip
    return {**found, **{key: value for key, value in optional.items() if choose.random() < 0.75}}


def registers(choose: random.Random, case: dict[str, Any], bits: int, *, is_amdgpu: bool) -> dict[str, Any]:
    if is_amdgpu:
        lanes = 32 if "wave32" in case["target"] else 64
        found: dict[str, Any] = {f"v{i}": [number(choose, 32) for _ in range(lanes)] for i in range(2)}
        return {**found, "s0": number(choose, 32), "s1": 16, "exec": choose.getrandbits(32), "s32": 64}
    found = {str(i): number(choose, bits) for i in range(3)}
    found["3"] = [number(choose, bits) for _ in range(6)]
    found["4"] = [choose.choice((0, 1, 16)) for _ in range(6)]
    if not case.get("target"):
        found["5"] = {"bytes": choose.randbytes(16).hex()}
    return found


def location(choose: random.Random, case: dict[str, Any], depth: int) -> dict[str, Any]:
    kinds = ["memory", "memory", "register", "implicit", "undefined", "implicit_pointer"]
    kind = choose.choice(kinds if depth > 1 else [*kinds, "composite", "multiple"])
    is_amdgpu = case.get("target", "").startswith("amdgcn")
    if kind == "memory":
        space = choose.choice((0, 3, 5, 6)) if is_amdgpu else 0
        found = {"kind": kind, "space": space, "address": choose.randrange(20), "bit": choose.choice((0, 0, 3))}
        return {**found, "lane": choose.randrange(4)} if space == 5 and choose.random() < 0.5 else found
    if kind == "register":
        return {"kind": kind, "register": register_number(choose, case), "bit_offset": choose.choice((0, 0, 3, 8))}
    if kind == "implicit":
        return {"kind": kind, "bytes": choose.randbytes(8).hex(), "bit_offset": choose.choice((0, 0, 8, 13))}
    if kind == "implicit_pointer":
        die = choose.choice(("info:0x10", "unit:16", "info:32"))
        return {"kind": kind, "die": die, "byte_offset": choose.randrange(-2, 4), "space": 0}
    if kind == "composite":
        parts = [
            {"bit_size": choose.choice((0, 3, 4)), "location": location(choose, case, depth + 1)} for _ in range(3)
        ]
        return {"kind": kind, "parts": parts}
    if kind == "multiple":
        return {"kind": kind, "places": [location(choose, case, 2) for _ in range(choose.randrange(1, 4))]}
    return {"kind": kind}


def entry(choose: random.Random, case: dict[str, Any], bits: int) -> Any:
    which = choose.random()
    if which < 0.4:
        return number(choose, bits)
    if which < 0.6:
        return {"value": choose.randrange(100), "type": TYPES[choose.choice(("1", "3", "4", "5", "10"))]}
    return location(choose, case, 0)


def dies(choose: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    def body() -> dict[str, Any]:
        which = choose.randrange(5)
        if which == 0:
            return {"location": [{"ops": program(choose, case)} for _ in range(choose.randrange(3))]}
        if which == 1:
            return {"const_value": choose.randbytes(4).hex()}
        if which == 2:
            return {"location": None}
        return {"location": {"ops": program(choose, case)}}

    return {key: body() for key in ("unit:16", "unit:0x20", "info:16", "info:32", "info:64")}
