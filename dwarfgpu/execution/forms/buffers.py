"""Where lanes reach through the resource of a buffer: a plain one, or the stack of each wave up to GFX10.

Resources with a stride or an index, and those that are swizzled in another way, are left to Python.
"""

from __future__ import annotations

from dwarfgpu.execution.access_shapes import AccessShape
from dwarfgpu.execution.block_writer import needed
from dwarfgpu.execution.compiled.layout import Cell
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form_writer import LONG, LOW, WORD, FormWriter, lane_numbers
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind


def buffer_places(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> tuple[str, str | None]:
    """Return the addresses of lanes, to be searched; or, for a form of a stack, nothing and where the places are."""
    resource, one, vectors = needed(instruction, "srsrc", "rsrc"), writer.one, writer.vectors
    if instruction.modifiers.get("idxen") or resource.kind is not OperandKind.SGPR:
        raise UnknownInstruction(f"{instruction.mnemonic} with an index")
    words = [writer.word(resource.index + number) for number in range(4)]
    base = writer.joined(words[0], one.operate("and", WORD, words[1], str(0xFFFF)))
    flags = one.operate("lshr", WORD, words[1], "16")
    swizzle = one.operate("and", WORD, flags, str(0x8000 if writer.generation < 11 else 0xC000))
    is_stack = one.operate("icmp ne", WORD, one.operate("and", WORD, words[3], str(1 << 23)), "0")
    is_swizzled = one.operate("icmp ne", WORD, swizzle, "0")
    scalar = _scalar_offset(writer, instruction)
    limit = _limit(writer, words, scalar)
    offset = _lane_offsets(writer, instruction)
    writer.refuse_unless(one.operate("icmp eq", WORD, one.operate("and", WORD, flags, str(0x3FFF)), "0"))
    end = vectors.operate("add", LONG, offset, vectors.constant(shape.size * shape.count, LONG))
    writer.refuse_unless(writer.none(vectors.operate("icmp ugt", LONG, end, vectors.spread(limit, LONG))))
    if writer.generation < 11 and _is_stack_access(instruction):
        writer.refuse_unless(one.operate("and", FLAG, is_stack, is_swizzled))
        return "", _stack_places(writer, words, base, scalar, offset, shape)
    writer.refuse_unless(one.operate("xor", FLAG, one.operate("or", FLAG, is_stack, is_swizzled), "true"))
    start = one.operate("add", LONG, base, scalar)
    return vectors.operate("add", LONG, offset, vectors.spread(start, LONG)), None


def _is_stack_access(instruction: GpuInstruction) -> bool:
    """Return whether code of compilers reaches the stack so: by the resource in s[0:3]."""
    return needed(instruction, "srsrc", "rsrc").index == 0


def _scalar_offset(writer: FormWriter, instruction: GpuInstruction) -> str:
    soffset = instruction.operand("soffset")
    if soffset is None or soffset.kind is OperandKind.OFF:
        return "0"
    return writer.one.resized(writer.scalar(soffset, 32), WORD, LONG)


def _lane_offsets(writer: FormWriter, instruction: GpuInstruction) -> str:
    vectors, vaddr = writer.vectors, instruction.operand("vaddr")
    offset = vectors.spread(writer.signed_number(instruction.modifiers.get("offset", 0)), LONG)
    if vaddr is None or vaddr.kind is not OperandKind.VGPR or not instruction.modifiers.get("offen"):
        return offset
    return vectors.operate("add", LONG, vectors.resized(writer.read(vaddr.index), WORD, LONG), offset)


def _limit(writer: FormWriter, words: list[str], scalar: str) -> str:
    """Return how many bytes of a buffer without a stride lanes may reach, beside the scalar offset."""
    one, generation = writer.one, writer.generation
    every, records = one.constant(1 << 40, LONG), one.resized(words[2], WORD, LONG)
    limit = one.operate("sub", LONG, records, "0" if generation in (10, 11) else scalar)
    limit = one.intrinsic("smax", LONG, limit, "0")
    if generation >= 10:  # MODE of the resource: 3 counts bytes, 2 asks only whether there is a record
        kind = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "28"), "3")
        some = one.choose(one.operate("icmp ne", LONG, records, "0"), LONG, every, "0")
        other = one.choose(one.operate("icmp eq", WORD, kind, "2"), LONG, some, "0")
        limit = one.choose(one.operate("icmp eq", WORD, kind, "3"), LONG, limit, other)
    return one.choose(one.operate("icmp eq", LONG, records, str(LOW)), LONG, every, limit)


def _stack_places(writer: FormWriter, words: list[str], base: str, scalar: str, offset: str, shape: AccessShape) -> str:
    """Write the search in a stack; return where the places are, and behind them the distance of numbers."""
    one, vectors = writer.one, writer.vectors
    table = writer.field(Place.TABLE, "ptr")
    scratch_base, whole, scratch = (
        writer.load("i64", writer.at(table, str(8 * cell)), 8)
        for cell in (Cell.SCRATCH_BASE, Cell.SCRATCH_WHOLE, Cell.SCRATCH)
    )
    span = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "21"), "3")
    start = one.operate("sub", LONG, base, scratch_base)
    writer.refuse_unless(one.operate("icmp uge", WORD, span, "3" if writer.lanes == 64 else "2"))
    step = one.operate("shl", LONG, "32", one.resized(span, WORD, LONG))  # dwords of so many lanes take turns
    writer.refuse_unless(one.operate("icmp ult", LONG, start, whole))
    if writer.generation < 9:
        element = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "19"), "3")
        writer.refuse_unless(one.operate("icmp eq", WORD, element, "1"))
    start = one.operate("add", LONG, start, scalar)
    own = writer.field(Place.FIRST)
    size = one.operate("mul", LONG, writer.field(Place.PRIVATE_SIZE), str(writer.lanes))
    within = vectors.operate("and", LONG, offset, vectors.constant(3, LONG))
    at = vectors.operate("lshr", LONG, offset, vectors.constant(2, LONG))
    at = vectors.operate("mul", LONG, at, vectors.spread(step, LONG))
    lanes = lane_numbers("i64", (4 * lane for lane in range(writer.lanes)))
    for part in (within, lanes, vectors.spread(start, LONG)):
        at = vectors.operate("add", LONG, at, part)
    behind = one.operate("add", LONG, one.operate("mul", LONG, step, str(shape.count - 1)), str(shape.size))
    end = vectors.operate("add", LONG, at, vectors.spread(behind, LONG))
    own_end = one.operate("add", LONG, own, size)
    wrong = [
        vectors.operate("icmp ult", LONG, at, vectors.spread(own, LONG)),
        vectors.operate("icmp ugt", LONG, end, vectors.spread(own_end, LONG)),
    ]
    if shape.size > 1:
        of_dword = vectors.operate("and", LONG, at, vectors.constant(3, LONG))
        wrong.append(vectors.operate("icmp ugt", LONG, of_dword, vectors.constant(4 - shape.size, LONG)))
    for flags in wrong:
        writer.refuse_unless(writer.none(flags))
    room = writer.room("places", 2 * writer.lanes, "i64")
    kind = vectors.type(LONG)
    host = vectors.operate("add", LONG, at, vectors.spread(scratch, LONG))
    writer.ir.do(f"store {kind} {host}, ptr {room}, align 64")
    steps = writer.lane_at(room, str(writer.lanes), 8)
    writer.ir.do(f"store {kind} {vectors.spread(step, LONG)}, ptr {steps}, align 64")
    return room
