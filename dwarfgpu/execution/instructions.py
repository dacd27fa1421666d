"""From an instruction to lines of a block: rows of the table of meanings, branches, and what lanes read of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dwarfgpu.execution import lane_moves
from dwarfgpu.execution.barriers import CLUSTER, CLUSTER_TRAP, GROUP, NAMED, WITHOUT_EFFECT, BarrierPart, NamedBarriers
from dwarfgpu.execution.batch import FLAT_SCRATCH, M0, NOWHERE, VCC, as_written, lane_flags, number_of
from dwarfgpu.execution.block_writer import BITS, INDEX_ENABLE, INDEX_SHIFT, KINDS, BlockWriter, cell, needed
from dwarfgpu.execution.device_memory import GlobalMemory
from dwarfgpu.execution.faults import NO_SOURCE, SOURCES_DIFFER, MachineFault, Pause, UnknownInstruction
from dwarfgpu.execution.matrix_operations import write_matrix
from dwarfgpu.execution.memory_access import MemoryAccess, has_base
from dwarfgpu.execution.narrow_operations import write_narrow
from dwarfgpu.isa.decoder import BANKS, BANKS_SHIFT, banks_in_mode
from dwarfgpu.isa.decoder import text as text_of
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, PC_READS, GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.functions import ones
from dwarfgpu.isa.semantics.matrices import shape_of
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import MEANINGS, InstructionMeaning, meaning_of, meaning_of_half
from dwarfgpu.isa.tables import generation, is_gfx12_5, table

IDLE = re.compile(
    r"s_(nop|waitcnt.*|wait_.*|delay_alu|clause|sleep|sleep_var|inst_prefetch|set_inst_prefetch_distance|code_end"
    r"|icache_inv|dcache_.*|prefetch_.*|buffer_prefetch_.*|atc_probe.*|setprio|ttracedata.*|gl1_inv|wakeup"
    r"|decperflevel|incperflevel|sendmsg|version|singleuse_vdst|setprio_inc_wg|monitor_sleep|wakeup_barrier)$"
    r"|buffer_(wbinvl1.*|wbl2|inv|invl2|gl0_inv|gl1_inv)$|global_(wb|inv|wbinv|prefetch_b8)$|flat_prefetch_b8$|v_(nop|clrexcp|pipeflush)$|ds_nop$"
)
"""Instructions that change nothing in a machine without timing and caches."""
_NARROW = re.compile(r"v_cvt_\w*(fp|bf)8")
_UNKNOWN_ON_GFX12_5 = {"s_alloc_vgpr": NO_SOURCE, "tensor_save": NO_SOURCE, "tensor_stop": NO_SOURCE,
                       "v_cvt_sr_pk_f16_f32": SOURCES_DIFFER}  # fmt: skip
"""Instructions of GFX12.5 that LLVM has and the document has not, and one for which it adds too many random bits."""
_READ_ON_GFX12_5 = frozenset(
    f"HW_REG_{name}" for name in ("WAVE_MODE", "IB_STS2", "SHADER_CYCLES_LO", "SHADER_CYCLES_HI")
)
_BANKS = BANKS << BANKS_SHIFT
INTERRUPT = 1
"""The message that tells the host that something waits for it."""
_TAKES_LONG = re.compile("s_barrier|image_|tbuffer_|buffer_.*format")


def is_idle(instruction: GpuInstruction) -> bool:
    """Return whether an instruction changes nothing, and asks the host for nothing."""
    is_message = instruction.name == "s_sendmsg" and instruction.operands[0].value & 15 == INTERRUPT
    return IDLE.match(instruction.name) is not None and not is_message


def _check_on_gfx12_5(instruction: GpuInstruction, writer: BlockWriter) -> None:
    """Refuse what is not known of GFX12.5."""
    name = instruction.name
    # Clamped floats of 8 bits have no sign (CDNA 5 ISA document, 7.12.6).
    is_known = not (_NARROW.match(name) and instruction.modifiers.get("clamp"))
    if "scale_offset" in instruction.modifiers and instruction.encoding not in ("SMEM", "SCRATCH"):
        is_known = has_base(instruction.operand("saddr"))
    if name in ("s_setreg_b32", "s_setreg_imm32_b32"):
        number, first, size = _field_of(_immediate(instruction))
        is_mode = hardware_register(writer.processor, writer.lanes, number) in _MODES
        is_known = not (is_mode and ((1 << size) - 1 << first & _BANKS or first + size > 27))
    elif name == "s_getreg_b32":
        number, _first, _size = _field_of(_immediate(instruction))
        is_known = hardware_register(writer.processor, writer.lanes, number) in _READ_ON_GFX12_5
    elif any(operand.register.startswith("src_private") for operand in instruction.operands):
        is_known = False
    if not is_known:
        raise UnknownInstruction(f"{text_of(instruction)}: what it does on {writer.processor} is not known here")


def write_instruction(writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess) -> bool:
    """Write an instruction; return whether it ends the block."""
    name = instruction.name
    writer.write_mask = "m"
    if is_gfx12_5(writer.processor):
        _check_on_gfx12_5(instruction, writer)
    if is_idle(instruction):
        return False
    control, setting = CONTROL.get(name), SETTINGS.get(name)
    if control is not None:
        control(writer, instruction, address)
        return True
    if setting is not None:
        setting(writer, instruction)
        writer.write(f"return {address + instruction.size}")
        return True
    if instruction.components:
        _dual(writer, instruction)
        return False
    special = SPECIAL_FORMS.get(name)
    if special is not None:
        special(writer, instruction)
        return False
    if write_narrow(writer, instruction):
        return False
    meaning = meaning_of(instruction, writer.generation)
    if meaning is not None:
        (_vector if meaning.unit == "vector" else _scalar)(writer, instruction, meaning)
        return False
    if write_matrix(writer, instruction) or memory.write(writer, instruction):
        return False
    reason = _UNKNOWN_ON_GFX12_5.get(name) if is_gfx12_5(writer.processor) else None
    raise UnknownInstruction(f"{instruction.mnemonic}{f': {reason}' if reason else ' has no meaning here'}")


def has_meaning(instruction: GpuInstruction, processor: str, lanes: int) -> bool:
    """Return whether an instruction can be executed."""
    writer = BlockWriter(lanes, 0xF0)
    writer.processor, writer.generation = processor, generation(processor)
    words = [f"src_{space}_{word}" for space in ("shared", "private") for word in ("base", "limit", "base_lo")]
    writer.names_of_apertures = dict.fromkeys(words, 1 << 48)
    memory = MemoryAccess(GlobalMemory([]), lanes=lanes)
    memory.use(np.zeros((1, 64), np.uint8), np.zeros(1, np.int64), np.zeros((1, 0), np.uint8))
    try:
        write_instruction(writer, instruction, 0x1000, memory)
    except UnknownInstruction:
        return False
    writer.write("return 0")
    writer.function()  # what is written is Python
    return True


# --- Rows ---------------------------------------------------------------------------------------------------------


_FLOATING = KINDS.keys() - {"b32", "b64"}
"""The types that scalar operations take from vector ones."""


def _scalar(writer: BlockWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
    sources = iter(instruction.sources)
    texts = []
    for kind in meaning.sources:
        if kind == "scc":
            texts.append("b.scc")
        elif kind == "exec":
            texts.append("b.exec")
        elif kind in _FLOATING:
            text = writer.scalar(next(sources), BITS[kind])
            if BITS[kind] == 16:  # the low half of a register
                text = f"{text} & 0xffff"
            texts.append(f"uniform({text}, '{KINDS[kind]}')")
        else:
            texts.append(writer.scalar(next(sources), int(kind[1:])))
    call = f"{writer.operation(instruction.name, meaning.function, meaning.results[0])}({', '.join(texts)})"
    destinations = iter(instruction.destinations)
    results = meaning.results
    is_floating = meaning.sources[0] in _FLOATING and meaning.sources[0][0] != "b"
    if results == ("scc",):
        writer.write(f"b.scc = number({call})" if is_floating else f"b.scc = {call}")
        return
    if is_floating:
        kind = results[0]
        result = f"({writer.float_result(call, kind, instruction)})"
        text = f"number({result}.view('u{KINDS[kind][1]}'))"
        writer.set_scalar(instruction.destinations[0], text, 32)
        return
    writer.write(f"{', '.join('hijk'[: len([kind for kind in results if kind != 'nonzero'])])} = {call}")
    if results[0] == "b32" and (meaning.formula.text == "D = S0" or " if " in meaning.formula.text):
        writer.write("h = h + 0")  # what is written is no longer unset
    for name, kind in zip("hijk", results, strict=False):
        if kind == "scc":
            writer.write(f"b.scc = {name}")
        elif kind == "nonzero":
            writer.write("b.scc = flag(h != 0)")
        elif kind == "exec":
            writer.write(f"b.set_exec({name}{f' & {LOW}' if writer.lanes == 32 else ''}); m = b.mask")
        else:
            writer.set_scalar(next(destinations), name, int(kind[1:]))


def source_texts(writer: BlockWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> list[str]:
    """Return the texts of the sources of a vector operation."""
    texts = []
    operands = [operand for operand in instruction.sources if operand.name != "simm"]
    is_accumulating = bool(operands) and operands[0] in instruction.destinations
    position = -1 if is_accumulating else 0
    index = 0
    for kind in meaning.sources:
        if kind == "vcc":
            texts.append(f"flags(s[{VCC}], {writer.lanes})")
            continue
        if kind == "mask" and index == len(operands):  # the short encoding does not name it
            texts.append(f"flags(s[{VCC}], {writer.lanes})")
            continue
        operand = operands[index]
        texts.append(writer.vector(operand, kind, instruction, position))
        index += 1
        position += 1
    return texts


def moved_or_made(meaning: InstructionMeaning) -> Callable[..., Any]:
    """Return an operation as a function; what a move has written is no longer unset."""
    return as_written if meaning.formula.text == "D = S0" else meaning.function


def _vector(writer: BlockWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
    is_clamped = instruction.modifiers.get("clamp") and len(meaning.results) == 1
    if is_clamped and meaning.clamped is not None:
        call = f"{writer.name(meaning.clamped)}({', '.join(source_texts(writer, instruction, meaning))})"
        writer.set_vector(instruction.destinations[0], call, meaning.results[0], instruction, clamps=False)
        return
    function = writer.operation(instruction.name, moved_or_made(meaning), meaning.results[0])
    call = f"{function}({', '.join(source_texts(writer, instruction, meaning))})"
    destinations = instruction.destinations
    if instruction.name.startswith("v_cmpx"):
        writer.write(f"r = mask_of({call}, b)")
        for operand in destinations:
            if not operand.register.startswith("exec"):
                writer.set_scalar(operand, "r", writer.lanes)
        writer.write("b.set_exec(r); m = b.mask")
        return
    if len(meaning.results) == 1:
        writer.set_vector(destinations[0], call, meaning.results[0], instruction)
        return
    names = "hijk"[: len(meaning.results)]
    writer.write(f"{', '.join(names)} = {call}")
    limits_carry = bool(instruction.modifiers.get("clamp")) and meaning.results == ("u32", "mask")
    if limits_carry:  # a sum with a carry is the greatest number, a difference with a borrow 0
        limit = writer.name(np.uint32(LOW if "add" in meaning.name else 0))
        writer.write(f"h = {writer.name(np.where)}(i, {limit}, h)")
    for name, kind, operand in zip(names, meaning.results, destinations, strict=False):
        writer.set_vector(operand, name, kind, instruction, clamps=not limits_carry)


def _dual(writer: BlockWriter, instruction: GpuInstruction) -> None:
    pending = []
    for number, part in enumerate(instruction.components):
        meaning = meaning_of_half(part)
        if meaning is None:
            raise UnknownInstruction(f"{part.mnemonic} has no meaning here")
        function = writer.operation(meaning.name, moved_or_made(meaning), meaning.results[0])
        call = f"{function}({', '.join(source_texts(writer, part, meaning))})"
        writer.write(f"d{number} = {call}")
        pending.append((part, meaning))
    for number, (part, meaning) in enumerate(pending):
        writer.set_vector(part.destinations[0], f"d{number}", meaning.results[0], part)


# --- Lanes of other lanes -----------------------------------------------------------------------------------------


def read_lane(register: Any, lane: Any, count: int, lanes: int) -> Any:
    """Return a lane of a vector register as a scalar number."""
    if isinstance(lane, int):
        if len(register) == 1:
            return register.item(lane % lanes if register.size > 1 else 0)
        return number_of(register[:, lane % lanes : lane % lanes + 1] if register.shape[1] > 1 else register)
    if register.shape[1] == 1:
        return number_of(register)
    index = (lane % lanes).astype(np.int64)
    return number_of(np.take_along_axis(np.broadcast_to(register, (count, register.shape[1])), index, axis=1))


def write_lane(register: Any, value: Any, lane: Any, count: int, lanes: int) -> Any:
    """Return a vector register with a lane that has a scalar number."""
    rows = count if not (isinstance(value, int) and isinstance(lane, int)) else register.shape[0]
    new = np.empty((rows, lanes), np.uint32)
    new[...] = register
    if isinstance(lane, int):
        new[:, lane % lanes] = value if isinstance(value, int) else value[:, 0]
    else:
        new[np.arange(rows), (lane[:, 0] % lanes).astype(np.int64)] = value if isinstance(value, int) else value[:, 0]
    return new


def first_lane(register: Any, mask: Any, count: int) -> Any:
    """Return the first executing lane of a vector register; lane 0 if none executes."""
    if mask is None or register.shape[1] == 1:
        return number_of(register[:, :1])
    index = mask.argmax(axis=1)[:, None]
    return number_of(np.take_along_axis(np.broadcast_to(register, (max(count, 1), register.shape[1])),
                                        np.broadcast_to(index, (count, 1)), axis=1))  # fmt: skip


def _read_lane(writer: BlockWriter, instruction: GpuInstruction) -> None:
    register, lane = instruction.sources
    text = f"{writer.name(read_lane)}({_register(register)}, {writer.scalar(lane)}, b.count, {writer.lanes})"
    writer.set_scalar(instruction.destinations[0], text, 32)


def _write_lane(writer: BlockWriter, instruction: GpuInstruction) -> None:
    target, value, lane = instruction.sources
    register = _register(target)
    values = writer.scalar(value), writer.scalar(lane)
    writer.write(
        f"{register} = {writer.name(write_lane)}({register}, {values[0]}, {values[1]}, b.count, {writer.lanes})"
    )


def _read_first_lane(writer: BlockWriter, instruction: GpuInstruction) -> None:
    (source,) = instruction.sources
    if source.kind not in (OperandKind.VGPR, OperandKind.AGPR):
        text = f"({writer.scalar(source)} + 0)"  # what is written is no longer unset
        writer.set_scalar(instruction.destinations[0], text, 32)
        return
    text = f"{writer.name(first_lane)}({_register(source)}, m, b.count)"
    writer.set_scalar(instruction.destinations[0], text, 32)


def _register(operand: GpuOperand) -> str:
    """Return the text of a vector register; raise an error where a bad encoding names something else."""
    if operand.kind not in (OperandKind.VGPR, OperandKind.AGPR):
        raise UnknownInstruction(f"{operand.text.partition('/')[0]} in the place of a vector register")
    return cell(operand)


def _vector_index(operand: GpuOperand) -> int:
    return int(_register(operand)[2:-1])


def mask_count(mask: Any, other: Any, lanes: int, first: int) -> Any:
    """Return for each lane how many bits of a mask of 32 lanes are below it, plus a number."""
    bits = lane_flags(mask, 32).astype(np.uint32)
    below = np.zeros((bits.shape[0], lanes), np.uint32)
    below[:, first + 1 : first + 33] = np.cumsum(bits, axis=1)[:, : max(0, lanes - first - 1)]
    if first == 0 and lanes == 64:
        below[:, 33:] = below[:, 32:33]
    return below + other


def own_mask_count(mask: Any, other: Any, lanes: int, first: int) -> Any:
    """Return for each lane how many bits of its own mask are those of lanes below it, plus a number."""
    count = np.clip(np.arange(lanes) - first, 0, 32)
    below = ((np.uint64(1) << count.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
    return ones(mask & below) + other


def _mask_count(first: int) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        mask, other = instruction.sources
        if mask.kind in (OperandKind.VGPR, OperandKind.AGPR):
            function, first_text = own_mask_count, writer.vector(mask, "u32", instruction, 0)
        else:
            function, first_text = mask_count, writer.scalar(mask, 32)
        text = writer.vector(other, "u32", instruction, 1)
        call = f"{writer.name(function)}({first_text}, {text}, {writer.lanes}, {first})"
        writer.set_vector(instruction.destinations[0], call, "u32", instruction)

    return write


def _swap(writer: BlockWriter, instruction: GpuInstruction) -> None:
    left, right = (_register(operand) for operand in instruction.operands[:2])
    written = writer.name(as_written)
    writer.write(f"x, y = {written}({left}), {written}({right})")
    writer.write(f"{left} = y if m is None else merged(m, y, x)")
    writer.write(f"{right} = x if m is None else merged(m, x, y)")


def _swap_rows(span: int) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of v_permlane16_swap_b32 and v_permlane32_swap_b32, for rows of so many lanes."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        left, right = (_register(operand) for operand in instruction.operands[:2])
        writer.write(f"h, i = {writer.name(lane_moves.rows_swapped)}(b, {left}, {right}, {span})")
        writer.write(f"{left} = h")
        writer.write(f"{right} = i")

    return write


def exchanged_halves(left: Any, right: Any, left_shift: int, right_shift: int) -> tuple[Any, Any]:
    """Return two registers after halves of them have been exchanged."""
    first, second = left >> left_shift & 0xFFFF, right >> right_shift & 0xFFFF
    left_mask, right_mask = np.uint32(0xFFFF << left_shift), np.uint32(0xFFFF << right_shift)
    return left & ~left_mask | second << left_shift, right & ~right_mask | first << right_shift


def _swap_halves(writer: BlockWriter, instruction: GpuInstruction) -> None:
    left, right = instruction.operands[:2]
    if left.index == right.index:
        if left.half != right.half:
            register = _register(left)
            writer.write_register(register, f"{register} >> 16 | {register} << 16")
        return
    shifts = 16 * (left.half or 0), 16 * (right.half or 0)
    call = f"{writer.name(exchanged_halves)}({_register(left)}, {_register(right)}, {shifts[0]}, {shifts[1]})"
    writer.write(f"h, i = {call}")
    writer.write_register(_register(left), "h")
    writer.write_register(_register(right), "i")


def _masked_differences(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write v_mqsad_u32_u8: the masked sums of differences of four runs of bytes, each in a register of its own."""
    if instruction.modifiers.get("clamp"):
        raise UnknownInstruction(f"{instruction.mnemonic} with clamp")
    values, reference, others = instruction.sources
    function = writer.name(MEANINGS["v_msad_u8"].function)
    left = writer.vector(values, "u64", instruction, 0)
    right = writer.vector(reference, "u32", instruction, 1)
    (target,) = instruction.destinations
    writer.write(f"h = {left}; i = {right}")
    for place in range(4):
        other = (
            f"v[{others.index + place}]"
            if others.kind is OperandKind.VGPR
            else writer.constant(others.value if place == 0 or others.value >> 31 == 0 else 0xFFFFFFFF, "u4")
        )
        writer.write(f"d{place} = {function}((h >> {8 * place} & 0xffffffff).astype('u4'), i, {other})")
    for place in range(4):
        writer.write_register(f"v[{target.index + place}]", f"d{place}")


def _local_permutation(function: Any) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        address, data, target = (_register(needed(instruction, name)) for name in ("addr", "data0", "vdst"))
        offset = instruction.modifiers.get("offset", 0)
        span = 32 if writer.generation >= 10 else writer.lanes
        call = f"{writer.name(function)}(b, {address} + {offset}, {data}, {span})"
        writer.write_register(target, call)

    return write


def _swizzle(writer: BlockWriter, instruction: GpuInstruction) -> None:
    source, target = (_register(needed(instruction, name)) for name in ("addr", "vdst"))
    lanes = lane_moves.swizzle_sources(instruction.modifiers.get("offset", 0), writer.lanes)
    writer.write_register(target, f"{writer.name(lane_moves.swizzled)}(b, {source}, {writer.name(lanes)})")


def _permute(*, crosses: bool, by_lane: bool = False) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of a permutation within rows of 16 lanes, by two scalar numbers or by one of each lane."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        target = instruction.destinations[0]
        source, *chosen = [operand for operand in instruction.operands if operand is not target][:3]
        selection = instruction.modifiers.get("op_sel", 0)
        permute = partial(
            lane_moves.permuted, crosses=crosses, fetches_inactive=bool(selection & 1), is_bounded=bool(selection & 2)
        )
        if by_lane:
            numbers = _register(chosen[0])
        else:
            numbers = f"{writer.name(lane_moves.numbers_of_row)}(b, {', '.join(map(writer.scalar, chosen))})"
        register = _register(target)
        writer.write_register(register, f"{writer.name(permute)}(b, {_register(source)}, {numbers}, {register})")

    return write


def _exchange_halves(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write v_permlane64_b32, which performs no operation in waves of 32 lanes."""
    if writer.lanes == 32:
        return
    target, source = instruction.operands[:2]
    writer.write_register(_register(target), f"{writer.name(lane_moves.halves_exchanged)}(b, {_register(source)})")


_OWN, _FIRST, _SECOND = f"s[{M0}]", f"s[{M0}] & 0x3ff", f"s[{M0}] >> 16 & 0x3ff"
"""What M0 counts: with all its bits, or with bits 9 to 0 for one register and bits 25 to 16 for another."""


def _move_relative(source: str = "", destination: str = "") -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of a move from or to the register that M0 counts from the operand."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        target, origin = instruction.operands[:2]
        text = (
            f"{writer.name(lane_moves.read_relative)}(v, {_vector_index(origin)}, {source})"
            if source
            else writer.vector(origin, "b32", instruction, 0)
        )
        if destination:
            change = writer.name(lane_moves.write_relative)
            writer.write(f"{change}(v, {_vector_index(target)}, {destination}, {text}, m)")
        else:
            writer.write_register(_register(target), text)

    return write


def _swap_relative(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write v_swaprel_b32: the register that M0[25:16] counts from D, and the one that M0[9:0] counts from S0."""
    target, origin = instruction.operands[:2]
    read, change = writer.name(lane_moves.read_relative), writer.name(lane_moves.write_relative)
    places = f"{_vector_index(target)}, {_SECOND}", f"{_vector_index(origin)}, {_FIRST}"
    writer.write(f"h, i = {read}(v, {places[0]}), {read}(v, {places[1]})")
    writer.write(f"{change}(v, {places[0]}, i, m)")
    writer.write(f"{change}(v, {places[1]}, h, m)")


def scalar_relative(registers: list[Any], index: int, offset: Any) -> Any:
    """Return the scalar register that is a number of registers behind another; the number may differ between waves."""
    if isinstance(offset, int):
        return registers[_scalar_inside(index + offset)]
    chosen = np.unique(offset).tolist()
    result = np.zeros(offset.shape, np.uint64)
    for number in chosen:
        result = np.where(offset == number, np.asarray(registers[_scalar_inside(index + number)], np.uint64), result)
    return number_of(result)


def put_scalar_relative(registers: list[Any], index: int, offset: Any, value: Any) -> None:
    """Write the scalar register that is a number of registers behind another."""
    if isinstance(offset, int):
        registers[_scalar_inside(index + offset)] = value
        return
    for number in np.unique(offset).tolist():
        at = _scalar_inside(index + number)
        old, new = np.asarray(registers[at], np.uint64), np.asarray(value, np.uint64)
        registers[at] = number_of(np.where(offset == number, new, np.broadcast_to(old, offset.shape)))


def _scalar_inside(index: int) -> int:
    if not 0 <= index < VCC:
        raise MachineFault(f"there is no register s{index}")
    return index


def _scalar_move_relative(
    source: str = "", destination: str = "", bits: int = 32
) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of a move from or to the scalar register that M0 counts from the operand."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        target, origin = instruction.operands[:2]
        for relative, offset in ((origin, source), (target, destination)):
            if offset and relative.kind is not OperandKind.SGPR:
                raise UnknownInstruction(f"{instruction.mnemonic} of {relative.text}")
        text = writer.scalar(origin, bits)
        if source:
            read = writer.name(scalar_relative)
            parts = [f"{read}(s, {origin.index + part}, {source})" for part in range(bits // 32)]
            text = parts[0] if bits == 32 else f"{parts[0]} | {parts[1]} << 32"
        if not destination:
            writer.set_scalar(target, text, bits)
            return
        writer.write(f"h = {text}")
        for part in range(bits // 32):
            word = f"h >> {32 * part} & {LOW}"
            writer.write(f"{writer.name(put_scalar_relative)}(s, {target.index + part}, {destination}, {word})")

    return write


def _index_on(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write s_set_gpr_idx_on: M0 has the number, MODE says which operands it counts for from now on."""
    source, which = instruction.operands[:2]
    chosen = which.value & 15
    writer.write(f"s[{M0}] = {writer.scalar(source, 32)} & 0xff | {chosen << 12}")
    writer.write(f"b.mode = b.mode & {INDEX_ENABLE - 1} | {INDEX_ENABLE | chosen << INDEX_SHIFT}")


def _index_mode(writer: BlockWriter, instruction: GpuInstruction) -> None:
    chosen = _immediate(instruction).value & 15
    writer.write(f"s[{M0}] = s[{M0}] & 0xffff0fff | {chosen << 12}")
    writer.write(f"b.mode = b.mode & {(1 << INDEX_SHIFT) - 1} | {chosen << INDEX_SHIFT}")


def _index_off(writer: BlockWriter, _instruction: GpuInstruction) -> None:
    writer.write(f"b.mode = b.mode & {INDEX_ENABLE - 1}")


def _index_number(writer: BlockWriter, instruction: GpuInstruction) -> None:
    (source,) = instruction.sources
    writer.write(f"s[{M0}] = s[{M0}] & 0xffffff00 | {writer.scalar(source, 32)} & 0xff")


def _get_pc(writer: BlockWriter, instruction: GpuInstruction) -> None:
    writer.set_scalar(instruction.destinations[0], str(writer.address + instruction.size), 64)


# --- Hardware registers -------------------------------------------------------------------------------------------

_MODES = ("HW_REG_MODE", "HW_REG_WAVE_MODE")
_WITHOUT_EFFECT = re.compile(r"HW_REG_(TRAPSTS|WAVE_(EXCP_FLAG_USER|TRAP_CTRL|SCHED_MODE))$")
"""Registers that a program may write, and on which nothing depends in a machine without timing and exceptions."""
_ZERO = re.compile(
    r"HW_REG_(TRAPSTS|IB_STS2?|HW_ID\d?|WAVE_HW_ID\d|XCC_ID|WAVE_(EXCP_FLAG_(PRIV|USER)|TRAP_CTRL|SCHED_MODE|STATE_PRIV)"
    r"|T[BM]A_(LO|HI)|XNACK_MASK)$"
)
"""Registers that read as 0: no exception has come, the wave is in the first place of the device, no trap handler."""


def _hardware_text(writer: BlockWriter, number: int) -> str:
    name = hardware_register(writer.processor, writer.lanes, number)
    if name in _MODES:
        return f"b.mode & {INDEX_ENABLE * 2 - 1}"
    if name in ("HW_REG_STATUS", "HW_REG_WAVE_STATUS"):
        scc = " | b.scc" if name == "HW_REG_STATUS" else ""
        return f"(b.status & ~0x201{scc} | flag(b.exec == 0) << 9)"
    if name == "HW_REG_SH_MEM_BASES":
        bases = (writer.names_of_apertures[f"src_{space}_base"] >> 48 for space in ("private", "shared"))
        return str(next(bases) | next(bases) << 16)
    if name in ("HW_REG_FLAT_SCR_LO", "HW_REG_WAVE_SCRATCH_BASE_LO"):
        return f"s[{FLAT_SCRATCH}]"
    if name in ("HW_REG_FLAT_SCR_HI", "HW_REG_WAVE_SCRATCH_BASE_HI"):
        return f"s[{FLAT_SCRATCH + 1}]"
    if name in ("HW_REG_SHADER_CYCLES", "HW_REG_SHADER_CYCLES_LO"):
        return f"{writer.name(writer.clock.read)}() & {0xFFFFF if name.endswith('CYCLES') else LOW}"
    if name == "HW_REG_SHADER_CYCLES_HI":
        return f"{writer.name(writer.clock)}.now >> 32"
    if name == "HW_REG_IB_STS2" and is_gfx12_5(writer.processor):
        return f"{writer.name(writer.barriers.clusters.status)}(b)"
    if _ZERO.match(name):
        return "0"
    raise UnknownInstruction(f"hardware register {name}")


def hardware_register(processor: str, lanes: int, number: int) -> str:
    """Return the name of a hardware register of a processor, or its number."""
    return table(processor, lanes).names["hwreg"].get(number, str(number))


def _time(writer: BlockWriter, instruction: GpuInstruction) -> None:
    writer.set_scalar(instruction.destinations[0], f"{writer.name(writer.clock.read)}()", 64)


REALTIME = 131
"""The message that asks for the time; the others ask for a place in memory that nothing has set, and get 0."""
_ANSWERED = {128: "GET_DOORBELL", 129: "GET_DDID", 130: "GET_TMA", 133: "GET_TBA"}


def _message_answer(writer: BlockWriter, instruction: GpuInstruction) -> None:
    target = instruction.destinations[0]
    message = next(operand for operand in instruction.operands if operand is not target)
    if message.kind is not OperandKind.IMMEDIATE or message.value not in {REALTIME, *_ANSWERED}:
        raise UnknownInstruction(f"{instruction.mnemonic} with message {message.text}")
    text = f"{writer.name(writer.clock.read)}()" if message.value == REALTIME else "0"
    bits = 64 if instruction.name.endswith("b64") else 32
    writer.set_scalar(target, f"{text} & {LOW}" if bits == 32 else text, bits)


def _field_of(operand: GpuOperand) -> tuple[int, int, int]:
    """Return the number of a hardware register, and the first bit and the size of the field in it."""
    return operand.value & 63, operand.value >> 6 & 31, (operand.value >> 11 & 31) + 1


def _get_register(writer: BlockWriter, instruction: GpuInstruction) -> None:
    number, first, size = _field_of(_immediate(instruction))
    text = f"({_hardware_text(writer, number)}) >> {first} & {(1 << size) - 1}"
    writer.set_scalar(instruction.destinations[0], text, 32)


def _immediate(instruction: GpuInstruction) -> GpuOperand:
    return needed(instruction, "simm16")


def one_mode(mode: Any) -> int:
    """Return what MODE is for all waves of a batch."""
    number = mode if isinstance(mode, int) else number_of(mode)
    if not isinstance(number, int):
        raise MachineFault("MODE would differ between waves that execute together")
    return number


def _set_register(writer: BlockWriter, instruction: GpuInstruction) -> None:
    number, first, size = _field_of(_immediate(instruction))
    name = hardware_register(writer.processor, writer.lanes, number)
    (source,) = [operand for operand in instruction.operands if operand.name != "simm16"]
    mask = ((1 << size) - 1 << first) & LOW
    if name in _MODES:
        new = f"({writer.scalar(source, 32)}) << {first} & {mask}"
        if instruction.name == "s_setreg_imm32_b32" and is_gfx12_5(writer.processor):
            # LLVM 22, setreg-vgpr-msb-fixup: these bits are always written, from where they are in the number.
            mask, new = mask | _BANKS, f"{new} | {source.value & _BANKS}"
        writer.write(f"b.mode = {writer.name(one_mode)}(b.mode & {~mask} | {new})")
    elif name in ("HW_REG_FLAT_SCR_LO", "HW_REG_FLAT_SCR_HI"):
        at = FLAT_SCRATCH + name.endswith("HI")
        writer.write(f"s[{at}] = s[{at}] & {~mask & LOW} | ({writer.scalar(source, 32)}) << {first} & {mask}")
    elif not _WITHOUT_EFFECT.match(name):
        raise UnknownInstruction(f"{instruction.mnemonic} of hardware register {name}")


def _set_mode(first: int) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of s_round_mode and s_denorm_mode: four bits of MODE."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        number = (_immediate(instruction).value & 15) << first
        writer.write(f"b.mode = b.mode & {~(15 << first)} | {number}")

    return write


def _set_banks(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write the bits of numbers of vector registers; the upper half of the operand is only a note of LLVM."""
    banks = banks_in_mode(_immediate(instruction).value & BANKS)
    writer.write(f"b.mode = b.mode & {~_BANKS} | {banks << BANKS_SHIFT}")


_BARRIERS = {
    "s_barrier": BarrierPart.WHOLE, "s_barrier_signal": BarrierPart.SIGNAL, "s_barrier_wait": BarrierPart.WAIT,
}  # fmt: skip


# --- Barriers of GFX12 --------------------------------------------------------------------------------------------


def barrier_number(instruction: GpuInstruction) -> int | None:
    """Return which barrier an instruction names; None if M0 does."""
    operand = instruction.operand("ssrc0") or instruction.operand("simm16")
    if operand is not None and operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE):
        return (operand.value & 0xFFFF ^ 0x8000) - 0x8000
    return None


def _named_barrier(writer: BlockWriter, instruction: GpuInstruction) -> str:
    """Return the text of the number of a named barrier, and of its members; barrier 0 is none."""
    number = barrier_number(instruction)
    if not is_gfx12_5(writer.processor) and number not in WITHOUT_EFFECT:
        raise UnknownInstruction(f"{instruction.mnemonic} of a named barrier")
    if number is None:
        return writer.scalar(instruction.sources[0], 32)
    if number in WITHOUT_EFFECT or (instruction.name == "s_barrier_join" and not 0 < number <= NAMED):
        return "0"
    if not 0 < number <= NAMED:
        raise UnknownInstruction(f"{instruction.mnemonic} {number}: there is no such barrier")
    return str(number)


def barrier_part(instruction: GpuInstruction) -> BarrierPart | None:
    """Return what an instruction is for the barrier of its work-group; None if it is nothing, or asks for more."""
    part = _BARRIERS.get(instruction.name)
    is_own = part in (None, BarrierPart.WHOLE) or barrier_number(instruction) == GROUP
    return part if is_own else None


def _is_cluster(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    return is_gfx12_5(writer.processor) and barrier_number(instruction) == CLUSTER


def _signal(*, asks: bool) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        barriers = writer.barriers
        if barrier_number(instruction) == GROUP:
            call = f"{writer.name(barriers.signal)}(b)"
        elif _is_cluster(writer, instruction):
            call = f"{writer.name(barriers.signal_cluster)}(b)"
        elif is_gfx12_5(writer.processor):
            call = f"{writer.name(barriers.named.signal)}(b, {_named_barrier(writer, instruction)})"
        else:
            call = _named_barrier(writer, instruction)
        writer.write(f"b.scc = {call}" if asks else call)

    return write


def _named_barriers(writer: BlockWriter, instruction: GpuInstruction) -> NamedBarriers:
    """Return the named barriers of a processor that has such instructions."""
    if not is_gfx12_5(writer.processor):
        raise UnknownInstruction(f"{instruction.mnemonic} has no meaning here")
    return writer.barriers.named


def _change_named(change: Callable[..., None], writer: BlockWriter, instruction: GpuInstruction) -> None:
    function = writer.name(partial(change, _named_barriers(writer, instruction)))
    writer.write(f"{function}(b, {_named_barrier(writer, instruction)})")


def _leave(writer: BlockWriter, instruction: GpuInstruction) -> None:
    writer.write(f"b.scc = {writer.name(_named_barriers(writer, instruction).leave)}(b)")


def _barrier_state(writer: BlockWriter, instruction: GpuInstruction) -> None:
    number = barrier_number(instruction)
    if number in (CLUSTER, CLUSTER_TRAP):
        raise UnknownInstruction(f"{instruction.mnemonic} of a cluster, whose state a message returns")
    if number in (GROUP, *WITHOUT_EFFECT):
        text = f"{writer.name(writer.barriers.state)}(b, is_group={number == GROUP})"
    else:
        text = f"{writer.name(writer.barriers.named.state)}(b, {_named_barrier(writer, instruction)})"
    writer.set_scalar(instruction.destinations[0], text, 32)


# --- Lanes of groups ----------------------------------------------------------------------------------------------


def _move_in_groups(kind: str) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of a move between lanes of groups whose width a scalar number says (GFX12.5)."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        source, *numbers = (needed(instruction, f"src{place}") for place in range(2 if kind == "index" else 3))
        register, target = _register(source), _register(instruction.destinations[0])
        texts = ", ".join(f"uniform({writer.scalar(number, 32)} + 0)" for number in numbers)
        function = writer.name(lane_moves.index_in_group if kind == "index" else lane_moves.MOVES_IN_GROUPS[kind])
        writer.write_register(target, f"{function}(b, {register}, {texts})")

    return write


def _add_and_choose(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write v_add_max and v_add_min: clamp makes negative results 0, and says nothing of unsigned ones."""
    meaning = MEANINGS[instruction.name]
    function = writer.operation(instruction.name, meaning.function, meaning.results[0])
    call = f"{function}({', '.join(source_texts(writer, instruction, meaning))})"
    if instruction.modifiers.get("clamp") and meaning.results == ("i32",):
        call = f"{writer.name(np.maximum)}({call}, {writer.name(np.int32(0))})"
    writer.set_vector(instruction.destinations[0], call, meaning.results[0], instruction, clamps=False)


SPECIAL_FORMS: dict[str, Callable[[BlockWriter, GpuInstruction], None]] = {
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_readfirstlane_b32": _read_first_lane,
    "v_mbcnt_lo_u32_b32": _mask_count(0),
    "v_mbcnt_hi_u32_b32": _mask_count(32),
    "v_swap_b32": _swap,
    "ds_bpermute_b32": _local_permutation(lane_moves.pulled),
    "ds_permute_b32": _local_permutation(lane_moves.pushed),
    "ds_swizzle_b32": _swizzle,
    "v_permlane16_b32": _permute(crosses=False),
    "v_permlanex16_b32": _permute(crosses=True),
    "v_permlane64_b32": _exchange_halves,
    "ds_bpermute_fi_b32": _local_permutation(lane_moves.pulled_from_all),
    "v_permlane16_var_b32": _permute(crosses=False, by_lane=True),
    "v_permlanex16_var_b32": _permute(crosses=True, by_lane=True),
    "v_swap_b16": _swap_halves,
    "v_permlane16_swap_b32": _swap_rows(16),
    "v_permlane32_swap_b32": _swap_rows(32),
    "v_mqsad_u32_u8": _masked_differences,
    **{f"v_permlane_{kind}_b32": _move_in_groups(kind) for kind in lane_moves.MOVES_IN_GROUPS},
    "v_permlane_idx_gen_b32": _move_in_groups("index"),
    **{f"v_add_{which}_{kind}": _add_and_choose for which in ("max", "min") for kind in ("i32", "u32")},
    **dict.fromkeys(PC_READS, _get_pc),
    "s_getreg_b32": _get_register,
    "s_set_gpr_idx_idx": _index_number,
    "v_movrels_b32": _move_relative(source=_OWN),
    "v_movreld_b32": _move_relative(destination=_OWN),
    "v_movrelsd_b32": _move_relative(_OWN, _OWN),
    "v_movrelsd_2_b32": _move_relative(_FIRST, _SECOND),
    "v_swaprel_b32": _swap_relative,
    "s_movrels_b32": _scalar_move_relative(source=_OWN),
    "s_movrels_b64": _scalar_move_relative(source=_OWN, bits=64),
    "s_movreld_b32": _scalar_move_relative(destination=_OWN),
    "s_movreld_b64": _scalar_move_relative(destination=_OWN, bits=64),
    "s_movrelsd_2_b32": _scalar_move_relative(_FIRST, _SECOND),
    "s_sendmsg_rtn_b32": _message_answer,
    "s_sendmsg_rtn_b64": _message_answer,
    "s_barrier_signal": _signal(asks=False),
    "s_barrier_signal_isfirst": _signal(asks=True),
    "s_barrier_init": partial(_change_named, NamedBarriers.initialize),
    "s_barrier_join": partial(_change_named, NamedBarriers.join),
    "s_barrier_leave": _leave,
    "s_get_barrier_state": _barrier_state,
    "s_memtime": _time,
    "s_get_shader_cycles_u64": _time,
    "s_memrealtime": _time,
}
"""Operations whose meaning needs more than the values of their operands."""


# --- Control ------------------------------------------------------------------------------------------------------


def _branch(condition: str | None) -> Callable[[BlockWriter, GpuInstruction, int], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        if instruction.branch is None:
            raise UnknownInstruction(f"{instruction.mnemonic} by a distance in registers: nothing here follows it")
        target = address + instruction.branch
        if condition is None:
            writer.write(f"return {target}")
            return
        writer.write(f"return {writer.name(leave)}({condition}, {target}, {address + instruction.size})")

    return write


def leave(condition: Any, target: int, following: int) -> Any:
    """Return where waves go: one address, or one of each wave."""
    if isinstance(condition, np.ndarray):
        return np.where(condition[:, 0] != 0, target, following)
    return target if condition else following


NOTED_CALL = "c = b.calls; b.calls = ({0}, c, c[2] + 1) if type(c) is tuple and 0 <= c[2] < 4096 else b.called({0})"
NOTED_JUMP = (
    "c = b.calls; b.calls = c[1] if type(t) is int and type(c) is tuple and c[0] == t else b.calls_after_jump(t, {0})"
)
"""What notes a call or a jump to ``t``, with the address behind it: in place what is most frequent."""
NOTED_BRANCH = f"b.calls = b.calls_after_jump({NOWHERE}, {{0}})"
"""What notes a jump by a sum of the program counter, which is no return: it may be a call by hand."""


def _jump(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    distance = instruction.branch
    writer.write(f"t = {writer.scalar(instruction.sources[0], 64) if distance is None else address + distance}")
    if instruction.destinations:
        writer.set_scalar(instruction.destinations[0], str(address + instruction.size), 64)
    is_far = not instruction.destinations and writer.is_far_branch(instruction, address)
    note = NOTED_CALL if instruction.destinations else NOTED_BRANCH if is_far else NOTED_JUMP
    writer.write(note.format(address + instruction.size))
    writer.write("return t if isinstance(t, int) else t[:, 0]")


def _pause(pause: Pause) -> Callable[[BlockWriter, GpuInstruction, int], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        is_behind = pause in (Pause.BARRIER, Pause.HALT, Pause.FATAL_HALT, Pause.MESSAGE)
        writer.write(f"b.pc = {address + (instruction.size if is_behind else 0)}; return {int(pause)}")

    return write


def _wait(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    if barrier_number(instruction) in WITHOUT_EFFECT:
        writer.write(f"return {address + instruction.size}")
        return
    if _is_cluster(writer, instruction):
        writer.write(f"{writer.name(writer.barriers.clusters.wait)}(b)")
    elif barrier_number(instruction) != GROUP:
        writer.write(f"{writer.name(writer.barriers.named.wait)}(b, {_named_barrier(writer, instruction)})")
    _pause(Pause.BARRIER)(writer, instruction, address)


def _halt(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    """Bit 0 halts or sets going; from GFX11 on, bit 2 makes it a fatal halt."""
    operand = instruction.operands[0].value
    if operand & 1:
        _pause(Pause.FATAL_HALT if operand & 4 and writer.generation >= 11 else Pause.HALT)(
            writer, instruction, address
        )
    else:
        writer.write(f"return {address + instruction.size}")


CONTROL: dict[str, Callable[[BlockWriter, GpuInstruction, int], None]] = {
    **dict.fromkeys(BRANCHES, _branch(None)),
    "s_cbranch_scc0": _branch("1 - b.scc"),
    "s_cbranch_scc1": _branch("b.scc"),
    "s_cbranch_vccz": _branch(f"flag(s[{VCC}] == 0)"),
    "s_cbranch_vccnz": _branch(f"flag(s[{VCC}] != 0)"),
    "s_cbranch_execz": _branch("flag(b.exec == 0)"),
    "s_cbranch_execnz": _branch("flag(b.exec != 0)"),
    **{f"s_cbranch_cdbg{who}": _branch("0") for who in ("sys", "user", "sys_or_user", "sys_and_user")},
    **dict.fromkeys(JUMPS | CALLS, _jump),
    **dict.fromkeys(("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"), _pause(Pause.END)),
    "s_sendmsg": _pause(Pause.MESSAGE),
    "s_sendmsghalt": _pause(Pause.HALT),
    "s_sethalt": _halt,
    "s_barrier": _pause(Pause.BARRIER),
    "s_barrier_wait": _wait,
    "s_trap": _pause(Pause.TRAP),
}
"""Instructions that end a block."""

SETTINGS: dict[str, Callable[[BlockWriter, GpuInstruction], None]] = {
    "s_round_mode": _set_mode(0),
    "s_denorm_mode": _set_mode(4),
    "s_set_vgpr_msb": _set_banks,
    "s_set_gpr_idx_on": _index_on,
    "s_set_gpr_idx_mode": _index_mode,
    "s_set_gpr_idx_off": _index_off,
    **dict.fromkeys(("s_setreg_b32", "s_setreg_imm32_b32"), _set_register),
}
"""Instructions that change MODE, so that another block follows."""


def waves_meet(instruction: GpuInstruction) -> bool:
    """Return whether waves that run one after the other meet before an instruction, which is then executed for all.

    There are three kinds: what ends or stops a wave or lets it wait, what changes MODE, and what takes Python long.
    """
    name = instruction.name
    if name in CONTROL:
        return not (is_idle(instruction) or name in JUMPS | CALLS | BRANCHES or name.startswith("s_cbranch"))
    return name in SETTINGS or _TAKES_LONG.match(name) is not None or shape_of(name) is not None
