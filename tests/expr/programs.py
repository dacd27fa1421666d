import random

from hypothesis import strategies as st

from dwarfgpu import dialects
from dwarfgpu.encoding import BLOCKS, Format, encode_unsigned
from dwarfgpu.expr import table
from dwarfgpu.expr.asm import encode
from dwarfgpu.expr.instruction import Instruction
from dwarfgpu.targets.resolve import resolve
from tests.properties.programs import Writer

FORMS = [
    Format(address_size=address_size, offset_size=offset_size, byte_order=byte_order, version=version)
    for address_size in (4, 8)
    for offset_size in (4, 8)
    for byte_order in ("little", "big")
    for version in (5,)
] + [Format(address_size=8, offset_size=4, version=2)]


def form_id(form):
    return f"{form.byte_order}-{form.address_size}-dwarf{form.offset_size * 8}-v{form.version}"


FORM_IDS = [form_id(form) for form in FORMS]
DIALECTS = [dialects.get(name) for name in dialects.NAMES]
LLVM_USER = dialects.get("llvm-user")
GNU = dialects.get("gnu")
DWARF5 = dialects.get("dwarf5")
DWARF6 = dialects.get("dwarf6")
FORM = Format()
AMDGCN = resolve("amdgcn-gfx90a")
X86_64 = resolve("x86_64")
UNSIGNED = {"u1": 8, "u2": 16, "u4": 32, "u8": 64, "uleb": 64}
SIGNED = {"s1": 8, "s2": 16, "s4": 32, "s8": 64, "sleb": 64, "branch": 16}
POINTERS = {0x00: "address", 0x01: "uleb", 0x03: "u4", 0x09: "sleb", 0x1B: "s4", 0x80: "address"}


def bounds(kind, form):
    """The least and the greatest number of a kind of operand."""
    if kind in SIGNED:
        return -(1 << SIGNED[kind] - 1), (1 << SIGNED[kind] - 1) - 1
    size = UNSIGNED.get(kind) or 8 * (form.address_size if kind == "address" else form.reference_size)
    return 0, (1 << size) - 1


def edges(kind, form):
    """Operands worth a test of their own."""
    if kind == "tail":
        return [b"", b"\x01\x02"]
    if kind in BLOCKS:
        return [b"", b"\x01\x02\x03\x04", bytes(range(128)) if kind != "expression" else b"\x55"]
    if kind == "encoded":
        return [(encoding, bounds(inner, form)[1]) for encoding, inner in POINTERS.items()]
    low, high = bounds(kind, form)
    return sorted({low, 0, 1, 0x3F & high, 0x40 & high, high})


def values(kind, form, nested=None):
    """A strategy for an operand."""
    if kind == "expression" and nested is not None:
        return st.one_of(st.binary(max_size=6), nested)
    if kind in BLOCKS:
        return st.binary(max_size=9)
    if kind == "encoded":
        return st.sampled_from(sorted(POINTERS)).flatmap(
            lambda encoding: st.tuples(st.just(encoding), values(POINTERS[encoding], form))
        )
    low, high = bounds(kind, form)
    return st.one_of(st.integers(max(low, -9), min(high, 9)), st.integers(low, high))


def encodable(dialect):
    """An encoding of each operation that the dialect numbers, but those whose operands nobody knows."""
    return [encoding for encoding in dialect.by_path.values() if "tail" not in encoding.operand_kinds]


def instruction(encoding, operand_values):
    return Instruction(table.find(encoding.name), encoding.name, tuple(operand_values), 0, 0)


@st.composite
def encoded(draw, dialect, form, max_size=8, depth=2):
    """The canonical bytes of a program: every number as short as can be."""
    nested = encoded(dialect, form, 3, depth - 1) if depth else None
    data = b""
    for encoding in draw(st.lists(st.sampled_from(encodable(dialect)), max_size=max_size)):
        drawn = [draw(values(kind, form, nested)) for kind in encoding.operand_kinds]
        data += encode(instruction(encoding, drawn), dialect, form)
    return data


def near_programs(dialect):
    """Bytes that look like programs: many are, many are not quite."""
    opcodes = st.sampled_from([encoding.opcode for encoding in dialect.by_path.values()])
    return st.lists(st.one_of(opcodes, st.binary(min_size=1, max_size=3)), max_size=12).map(b"".join)


def nested(depth):
    """``DW_OP_reg5`` in so many DW_OP_entry_value."""
    program = b"\x55"
    for _ in range(depth):
        program = b"\xa3" + encode_unsigned(len(program)) + program
    return program


@st.composite
def written(draw, dialect=LLVM_USER):
    """The text of a program of operations that a dialect numbers."""
    writer = Writer(random.Random(draw(st.integers(0, 1 << 64))), AMDGCN.name)
    writer.rows = [row for row in writer.rows if dialect.encoding_of(row) is not None]
    writer.shortcuts = 0
    return writer.program(draw(st.integers(0, 8)))
