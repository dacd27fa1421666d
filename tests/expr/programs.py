from hypothesis import strategies as st

from dwarfgpu import dialects
from dwarfgpu.encoding import operands
from dwarfgpu.encoding.cursor import encode_unsigned
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations, table, types
from dwarfgpu.expr.asm import encode
from dwarfgpu.expr.context import DieInfo
from dwarfgpu.expr.instruction import Instruction
from dwarfgpu.expr.storages import Memory, Register
from dwarfgpu.expr.values import Value
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.contexts import TARGET, Frame, Unit, outcome

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
    if kind in operands.BLOCKS:
        return [b"", b"\x01\x02\x03\x04", bytes(range(128)) if kind != "expression" else b"\x55"]
    if kind == "encoded":
        return [(encoding, bounds(inner, form)[1]) for encoding, inner in POINTERS.items()]
    low, high = bounds(kind, form)
    return sorted({low, 0, 1, 0x3F & high, 0x40 & high, high})


def values(kind, form, nested=None):
    """A strategy for an operand."""
    if kind == "expression" and nested is not None:
        return st.one_of(st.binary(max_size=6), nested)
    if kind in operands.BLOCKS:
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


CALLS = frozenset(("DW_OP_call2", "DW_OP_call4", "DW_OP_call_ref", "DW_OP_LLVM_NVIDIA_mux"))
BRANCHES = frozenset(("DW_OP_bra", "DW_OP_skip"))
STRAIGHT = [row for row in table.rows() if row.name not in CALLS | BRANCHES]
"""The operations whose effect a program alone tells, and that go on to the next one."""

INNER = [
    "DW_OP_reg5",
    "DW_OP_breg5 0; DW_OP_deref",
    "DW_OP_lit1; DW_OP_lit2; DW_OP_plus",
    "DW_OP_plus",
    "DW_OP_addr 8",
    "",
]


def word(kind):
    """A strategy for an operand as a word, small enough that a program can get by with it."""
    if kind == "expression":
        return st.sampled_from(INNER).map("({})".format)
    if kind in operands.BLOCKS:
        return st.sampled_from(["0102030405060708", "01020304", "07", "0x"])
    if kind == "encoded":
        return st.just("0 0x10")
    return st.sampled_from([8, 0, 1, 2, 4, 16, 32, 64]).map(str)


@st.composite
def statement(draw, rows):
    row = draw(st.sampled_from(rows))
    return " ".join([row.name, *[draw(word(operand.kind)) for operand in row.operands]])


def pushing(rows):
    return [row for row in rows if not row.inputs and not row.is_raw and row.outputs]


def straight_programs(rows=STRAIGHT):
    """Programs without branches and calls; they begin with a few entries, so that what follows has something to do."""
    begin = st.lists(statement(pushing(rows)), max_size=4)
    return st.builds(lambda head, rest: "; ".join([*head, *rest]), begin, st.lists(statement(rows), max_size=6))


@st.composite
def forward_programs(draw, rows=STRAIGHT):
    """Programs that may skip forward, at most three times."""
    statements = draw(st.lists(statement(pushing(rows)), max_size=3))
    statements += draw(st.lists(statement(rows), max_size=6))
    for number in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(statements)))
        statements.insert(draw(st.integers(start, len(statements))), f"l{number}:")
        conditions = ["DW_OP_const1u 1", "DW_OP_const1u 0", "DW_OP_breg5 0; DW_OP_deref", "DW_OP_breg5 -8"]
        branch = f"{draw(st.sampled_from(conditions))}; DW_OP_bra @l{number}"
        statements.insert(start, draw(st.sampled_from([branch, branch, f"DW_OP_skip @l{number}"])))
    return "\n".join(statements)


TYPES = {
    offset: types.BaseType(encoding, bits)
    for offset, (encoding, bits) in enumerate(
        [("signed", 64), ("unsigned", 32), ("float", 64), ("float", 32), ("signed_char", 8)]
    )
}


class Machine(Backend):
    """All memory can be read, and all registers: whatever is read is 8."""

    def read_memory(self, space, address, size, wave, lane):
        return (8).to_bytes(size, "little")

    def read_register(self, register, wave, lane):
        return (8).to_bytes(register.bit_size // 8, "little")


class TypesAndEntries(Unit):
    """Types at small offsets; entries without a location, with a register, or with a constant."""

    def base_type(self, offset):
        return TYPES[offset % len(TYPES)]

    def address(self, index):
        return 8 * index

    def die(self, reference):
        kind = reference.offset % 3
        return DieInfo(self, None, bytes(8)) if kind < 2 else DieInfo(self, ())


class FrameOfLane(Frame):
    """A frame whose registers are those of the lane that asks."""

    def register(self, number, lanes):
        return locations.at(Register(TARGET.register(number), lanes.wave, lanes.lane))

    def entry_parameter(self, die, lanes):
        return Value(types.generic(8), die.offset)

    def thread_local(self, offset, lanes, unit):
        return locations.at(Memory(TARGET.default_space), offset * 8)


def run(expression, rules, **changes):
    """What an evaluation gives: its result, or its error."""
    elements = {"lane_count": 1, "frame": FrameOfLane(), "unit": TypesAndEntries(), "object": FrameOfLane().cfa(None)}
    return outcome(expression, rules, Machine(), **{**elements, **changes})


def failed(outcome):
    return isinstance(outcome, DwarfGpuError)
