"""Where lanes reach through the resource of a buffer: a plain one, or the stack of each wave up to GFX10.

Resources with a stride or an index, and those that are swizzled in another way, are left to Python.
"""

from __future__ import annotations

from functools import partial

from dwarfgpu.execution.access_shapes import BUFFER, AccessShape
from dwarfgpu.execution.block_writer import needed
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form_writer import LONG, LOW, WORD, FormWriter, lane_numbers
from dwarfgpu.execution.forms.layout import MemoryCell, Place
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind
from dwarfgpu.isa.tables import is_gfx12_5


@frozen
class _BufferWords:
    """What the words of a resource without a stride say."""

    words: list[str]
    base: str
    scalar: str
    """The offset of the wave."""
    limit: str
    """How many bytes lanes may reach beside that."""
    is_stack: str
    is_plain: str


def _resource(writer: FormWriter, instruction: GpuInstruction) -> _BufferWords:
    operand, one = needed(instruction, "srsrc", "rsrc"), writer.one
    if instruction.modifiers.get("idxen") or operand.kind is not OperandKind.SGPR:
        raise UnknownInstruction(f"{instruction.mnemonic} with an index")
    words = [writer.word(operand.index + number) for number in range(4)]
    if is_gfx12_5(writer.processor):
        return _wide_resource(writer, words, _scalar_offset(writer, instruction))
    base = writer.joined(words[0], one.operate("and", WORD, words[1], str(0xFFFF)))
    flags = one.operate("lshr", WORD, words[1], "16")
    writer.refuse_unless(one.operate("icmp eq", WORD, one.operate("and", WORD, flags, str(0x3FFF)), "0"))
    swizzle = one.operate("and", WORD, flags, str(0x8000 if writer.generation < 11 else 0xC000))
    is_stack = one.operate("icmp ne", WORD, one.operate("and", WORD, words[3], str(1 << 23)), "0")
    is_swizzled = one.operate("icmp ne", WORD, swizzle, "0")
    is_plain = one.operate("xor", FLAG, one.operate("or", FLAG, is_stack, is_swizzled), "true")
    scalar = _scalar_offset(writer, instruction)
    limit = _limit(writer, words, scalar)
    return _BufferWords(words, base, scalar, limit, one.operate("and", FLAG, is_stack, is_swizzled), is_plain)


def _wide_resource(writer: FormWriter, words: list[str], scalar: str) -> _BufferWords:
    """Return what a resource of GFX12.5 says; those that are swizzled or ask for records are left to Python."""
    one = writer.one
    base = writer.joined(words[0], one.operate("and", WORD, words[1], str(0x1FFFFFF)))
    size = one.operate("lshr", LONG, writer.joined(words[1], words[2]), "25")
    above = one.resized(one.operate("and", WORD, words[3], str(0x3F)), WORD, LONG)
    size = one.operate("or", LONG, size, one.operate("shl", LONG, above, "39"))
    writer.refuse_unless(one.operate("icmp eq", WORD, one.operate("lshr", WORD, words[3], "28"), "0"))
    limit = one.intrinsic("smax", LONG, one.operate("sub", LONG, size, scalar), "0")
    limit = one.choose(one.operate("icmp eq", LONG, size, str((1 << 45) - 1)), LONG, size, limit)
    return _BufferWords(words, base, scalar, limit, "false", "true")


def buffer_places(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> tuple[str, str]:
    """Return the addresses of lanes, to be searched; for a form of a stack those of the host, and their distance."""
    resource, one, vectors = _resource(writer, instruction), writer.one, writer.vectors
    offset = _lane_offsets(writer, instruction)
    end = vectors.operate("add", LONG, offset, vectors.constant(shape.size * shape.count, LONG))
    writer.refuse_unless(writer.none(vectors.operate("icmp ugt", LONG, end, vectors.spread(resource.limit, LONG))))
    if _is_stack_access(writer, instruction):
        stack = _stack(writer, resource)
        return _stack_places(writer, stack, offset, shape), stack.step
    writer.refuse_unless(resource.is_plain)
    start = one.operate("add", LONG, resource.base, resource.scalar)
    return vectors.operate("add", LONG, offset, vectors.spread(start, LONG)), ""


def stack_row(writer: FormWriter, instruction: GpuInstruction, count: int) -> tuple[str, str] | None:
    """Write the search for dwords of a stack at one offset of all lanes, if there is one.

    Return where the first row is, and the distance to the next.
    """
    vaddr = instruction.operand("vaddr")
    has_lane = vaddr is not None and vaddr.kind is OperandKind.VGPR and instruction.modifiers.get("offen")
    if has_lane or not _is_stack_access(writer, instruction):
        return None
    resource, one = _resource(writer, instruction), writer.one
    stack, offset = _stack(writer, resource), writer.signed_number(instruction.modifiers.get("offset", 0))
    at = one.operate("mul", LONG, one.operate("lshr", LONG, offset, "2"), stack.step)
    at = one.operate("add", LONG, at, stack.start)
    last = one.operate("mul", LONG, stack.step, str(count - 1))
    end = one.operate("add", LONG, one.operate("add", LONG, at, last), str(4 * writer.lanes))
    for condition in (
        one.operate("icmp ule", LONG, one.operate("add", LONG, offset, str(4 * count)), resource.limit),
        one.operate("icmp eq", LONG, one.operate("and", LONG, one.operate("or", LONG, at, offset), "3"), "0"),
        one.operate("icmp uge", LONG, at, stack.own),
        one.operate("icmp ule", LONG, end, stack.own_end),
    ):
        writer.refuse_unless(condition)
    writer.reach(BUFFER, 4 * count, lambda: one.operate("add", LONG, at, stack.base), is_row=True)
    host = one.operate("add", LONG, at, stack.scratch)
    return writer.ir.put(f"inttoptr i64 {host} to ptr"), stack.step


def _is_stack_access(writer: FormWriter, instruction: GpuInstruction) -> bool:
    """Return whether code of compilers reaches the stack so: by the resource in s[0:3]."""
    return writer.generation < 11 and needed(instruction, "srsrc", "rsrc").index == 0


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


@frozen
class _StackOfWave:
    """The stack of the wave, in bytes of the private memory of all waves."""

    start: str
    step: str
    """The distance of the dwords of a lane: those of some lanes take turns."""
    own: str
    own_end: str
    """The private memory of the wave."""
    scratch: str
    """The address of the host of all of it."""
    base: str
    """The address of the device of all of it."""


def _stack(writer: FormWriter, resource: _BufferWords) -> _StackOfWave:
    one, words = writer.one, resource.words
    writer.refuse_unless(resource.is_stack)
    table = writer.field(Place.TABLE, "ptr")
    scratch_base, whole, scratch = (
        writer.load("i64", writer.at(table, str(8 * cell)), 8)
        for cell in (MemoryCell.SCRATCH_BASE, MemoryCell.SCRATCH_WHOLE, MemoryCell.SCRATCH)
    )
    span = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "21"), "3")
    start = one.operate("sub", LONG, resource.base, scratch_base)
    writer.refuse_unless(one.operate("icmp uge", WORD, span, "3" if writer.lanes == 64 else "2"))
    writer.refuse_unless(one.operate("icmp ult", LONG, start, whole))
    if writer.generation < 9:
        element = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "19"), "3")
        writer.refuse_unless(one.operate("icmp eq", WORD, element, "1"))
    step = one.operate("shl", LONG, "32", one.resized(span, WORD, LONG))
    own = writer.field(Place.FIRST)
    size = one.operate("mul", LONG, writer.field(Place.PRIVATE_SIZE), str(writer.lanes))
    start = one.operate("add", LONG, start, resource.scalar)
    return _StackOfWave(start, step, own, one.operate("add", LONG, own, size), scratch, scratch_base)


def _stack_places(writer: FormWriter, stack: _StackOfWave, offset: str, shape: AccessShape) -> str:
    """Write the search in a stack; return the addresses of the host."""
    one, vectors, step = writer.one, writer.vectors, stack.step
    within = vectors.operate("and", LONG, offset, vectors.constant(3, LONG))
    at = vectors.operate("lshr", LONG, offset, vectors.constant(2, LONG))
    at = vectors.operate("mul", LONG, at, vectors.spread(step, LONG))
    lanes = lane_numbers("i64", (4 * lane for lane in range(writer.lanes)))
    for part in (within, lanes, vectors.spread(stack.start, LONG)):
        at = vectors.operate("add", LONG, at, part)
    behind = one.operate("add", LONG, one.operate("mul", LONG, step, str(shape.count - 1)), str(shape.size))
    end = vectors.operate("add", LONG, at, vectors.spread(behind, LONG))
    wrong = [
        vectors.operate("icmp ult", LONG, at, vectors.spread(stack.own, LONG)),
        vectors.operate("icmp ugt", LONG, end, vectors.spread(stack.own_end, LONG)),
    ]
    if shape.size > 1:
        of_dword = vectors.operate("and", LONG, at, vectors.constant(3, LONG))
        wrong.append(vectors.operate("icmp ugt", LONG, of_dword, vectors.constant(4 - shape.size, LONG)))
    for flags in wrong:
        writer.refuse_unless(writer.none(flags))
    base = partial(vectors.spread, stack.base, LONG)
    writer.reach(BUFFER, shape.size * shape.count, lambda: vectors.operate("add", LONG, at, base()))
    return vectors.operate("add", LONG, at, vectors.spread(stack.scratch, LONG))
