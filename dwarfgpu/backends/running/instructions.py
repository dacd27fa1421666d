"""From an instruction to lines of a block: rows of the table of meanings, branches, and what lanes read of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.backends.running import lane_moves
from dwarfgpu.backends.running.batch import FLAT_SCRATCH, M0, VCC, lane_flags, number_of
from dwarfgpu.backends.running.block_writer import BITS, INDEX_ENABLE, INDEX_SHIFT, KINDS, LOW, BlockWriter
from dwarfgpu.backends.running.matrix_operations import write_matrix
from dwarfgpu.backends.running.stops import Pause, UnknownInstruction
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics import (  # noqa: F401 (each module adds its rows)
    compare_rows,
    convert_rows,
    dot_rows,
    exec_rows,
    float_rows,
    integer_rows,
    scalar_float_rows,
    scalar_rows,
)
from dwarfgpu.isa.semantics.rows import MEANINGS, Meaning

if TYPE_CHECKING:
    from dwarfgpu.backends.running.memory_access import MemoryAccess

IDLE = re.compile(
    r"s_(nop|waitcnt.*|wait_.*|delay_alu|clause|sleep|inst_prefetch|set_inst_prefetch_distance|code_end|icache_inv"
    r"|dcache_.*|prefetch_.*|setprio|sethalt|ttracedata.*|gl1_inv|decperflevel|incperflevel|round_mode_|denorm_mode_)$"
    r"|buffer_(wbinvl1.*|wbl2|inv|invl2|gl0_inv|gl1_inv)$|global_(wb|inv|wbinv)$|v_nop$|s_barrier_signal$"
)
"""Instructions that change nothing in a machine without timing and caches."""


def write_instruction(writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess) -> bool:
    """Write an instruction; return whether it ends the block."""
    name = instruction.name
    writer.write_mask = "m"
    if IDLE.match(name):
        return False
    control = CONTROL.get(name)
    if control is not None:
        control(writer, instruction, address)
        return True
    if instruction.components:
        _dual(writer, instruction)
        return False
    special = SPECIAL_FORMS.get(name)
    if special is not None:
        special(writer, instruction)
        return False
    meaning = MEANINGS.get(name)
    if meaning is not None:
        (_vector if meaning.unit == "vector" else _scalar)(writer, instruction, meaning)
        return False
    if _packed(writer, instruction) or write_matrix(writer, instruction) or memory.write(writer, instruction):
        return False
    raise UnknownInstruction(f"{instruction.mnemonic} has no meaning here")


# --- Rows ---------------------------------------------------------------------------------------------------------


_FLOATING = KINDS.keys() - {"b32", "b64"}
"""The types that scalar operations take from vector ones."""


def _scalar(writer: BlockWriter, instruction: GpuInstruction, meaning: Meaning) -> None:
    sources = iter(instruction.sources)
    texts = []
    for kind in meaning.sources:
        if kind == "scc":
            texts.append("b.scc")
        elif kind == "exec":
            texts.append("b.exec")
        elif kind in _FLOATING:
            operand = next(sources)
            texts.append(f"uniform({writer.scalar(operand, BITS[kind])}, '{KINDS[kind]}')")
        else:
            texts.append(writer.scalar(next(sources), int(kind[1:])))
    call = f"{writer.name(meaning.function)}({', '.join(texts)})"
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
    for name, kind in zip("hijk", results, strict=False):
        if kind == "scc":
            writer.write(f"b.scc = {name}")
        elif kind == "nonzero":
            writer.write("b.scc = flag(h != 0)")
        elif kind == "exec":
            writer.write(f"b.set_exec({name}); m = b.mask")
        else:
            writer.set_scalar(next(destinations), name, int(kind[1:]))


def _source_texts(writer: BlockWriter, instruction: GpuInstruction, meaning: Meaning) -> list[str]:
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


def _vector(writer: BlockWriter, instruction: GpuInstruction, meaning: Meaning) -> None:
    call = f"{writer.name(meaning.function)}({', '.join(_source_texts(writer, instruction, meaning))})"
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
    for name, kind, operand in zip(names, meaning.results, destinations, strict=False):
        writer.set_vector(operand, name, kind, instruction)


def _dual(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write both operations of a dual instruction, which read before either writes."""
    pending = []
    for number, part in enumerate(instruction.components):
        name = part.name.replace("v_dual_", "v_")
        meaning = MEANINGS.get(name)
        if meaning is None:
            raise UnknownInstruction(f"{part.mnemonic} has no meaning here")
        call = f"{writer.name(meaning.function)}({', '.join(_source_texts(writer, part, meaning))})"
        writer.write(f"d{number} = {call}")
        pending.append((part, meaning))
    for number, (part, meaning) in enumerate(pending):
        writer.set_vector(part.destinations[0], f"d{number}", meaning.results[0], part)


# --- Packed operations --------------------------------------------------------------------------------------------

_PACKED_ALIASES = {"v_pk_mov_b32": "v_mov_b32", "v_pk_mul_lo_u16": "v_mul_lo_u16", "v_pk_sub_i16": "v_sub_u16"}


def _packed(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write an operation on both halves of its operands, each as the operation on one; return whether it is known."""
    name = instruction.name
    meaning = MEANINGS.get(_PACKED_ALIASES.get(name, name.replace("v_pk_", "v_", 1)))
    if not name.startswith("v_pk_") or meaning is None:
        return False
    kind = meaning.results[0]
    modifiers = instruction.modifiers
    chosen = (modifiers.get("op_sel", 0), modifiers.get("op_sel_hi", 0))
    negated = (modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0))
    function = writer.name(meaning.function)
    sources = instruction.sources
    for half in (0, 1):
        texts = []
        for position, operand in enumerate(sources):
            if name == "v_pk_mov_b32" and position != half:
                continue
            is_high = bool(chosen[0 if name == "v_pk_mov_b32" else half] >> position & 1)
            text = writer.part(operand, kind, is_high=is_high)
            if negated[half] >> position & 1:
                text = f"negative({text})"
            if KINDS[kind][0] == "f" and writer.flushes(KINDS[kind]):
                text = f"flushed({text})"
            texts.append(text)
        writer.write(f"d{half} = {function}({', '.join(texts)})")
    destination = instruction.destinations[0]
    if BITS[kind] == 32:
        file = "a" if destination.kind is OperandKind.AGPR else "v"
        for half in (0, 1):
            register = f"{file}[{destination.index + half}]"
            text = writer.float_result(f"d{half}", kind, instruction)
            writer.write(f"x = ({text}).view('u4')")
            writer.write(f"{register} = x if m is None else merged(m, x, {register})")
        return True
    halves = [f"({writer.float_result(f'd{half}', kind, instruction)}).view('u2').astype('u4')" for half in (0, 1)]
    writer.set_vector(destination, f"{halves[0]} | {halves[1]} << 16", "b32", instruction)
    return True


# --- Lanes of other lanes -----------------------------------------------------------------------------------------


def read_lane(register: Any, lane: Any, count: int, lanes: int) -> Any:
    """Return a lane of a vector register as a scalar number."""
    if isinstance(lane, int):
        return number_of(register[:, lane % lanes : lane % lanes + 1] if register.shape[1] > 1 else register)
    if register.shape[1] == 1:
        return number_of(register)
    index = (lane % lanes).astype(np.int64)
    return number_of(np.take_along_axis(np.broadcast_to(register, (count, register.shape[1])), index, axis=1))


def write_lane(register: Any, value: Any, lane: Any, count: int, lanes: int) -> Any:
    """Return a vector register with a lane that has a scalar number."""
    rows = count if not (isinstance(value, int) and isinstance(lane, int)) else register.shape[0]
    new = np.array(np.broadcast_to(register, (rows, lanes)))
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
        writer.set_scalar(instruction.destinations[0], writer.scalar(source), 32)
        return
    text = f"{writer.name(first_lane)}({_register(source)}, m, b.count)"
    writer.set_scalar(instruction.destinations[0], text, 32)


def _register(operand: GpuOperand) -> str:
    return f"{'a' if operand.kind is OperandKind.AGPR else 'v'}[{operand.index}]"


def mask_count(mask: Any, other: Any, lanes: int, first: int) -> Any:
    """Return for each lane how many bits of a mask of 32 lanes are below it, plus a number."""
    bits = lane_flags(mask, 32).astype(np.uint32)
    below = np.zeros((bits.shape[0], lanes), np.uint32)
    below[:, first + 1 : first + 33] = np.cumsum(bits, axis=1)[:, : max(0, lanes - first - 1)]
    if first == 0 and lanes == 64:
        below[:, 33:] = below[:, 32:33]
    return below + other


def _mask_count(first: int) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        mask, other = instruction.sources
        if mask.kind is OperandKind.VGPR:
            raise UnknownInstruction(f"{instruction.mnemonic} of a vector register")
        text = writer.vector(other, "u32", instruction, 1)
        call = f"{writer.name(mask_count)}({writer.scalar(mask, 32)}, {text}, {writer.lanes}, {first})"
        writer.set_vector(instruction.destinations[0], call, "u32", instruction)

    return write


def _swap(writer: BlockWriter, instruction: GpuInstruction) -> None:
    left, right = (_register(operand) for operand in instruction.operands[:2])
    writer.write(f"x, y = {left}, {right}")
    writer.write(f"{left} = y if m is None else merged(m, y, x)")
    writer.write(f"{right} = x if m is None else merged(m, x, y)")


def _local_permutation(function: Any) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        address, data, target = (instruction.operand(name) for name in ("addr", "data0", "vdst"))
        assert address and data and target  # noqa: S101, PT018 (each has them)
        offset = instruction.modifiers.get("offset", 0)
        call = (
            f"{writer.name(function)}(b, {_register(address)} + {offset}, {_register(data)}, {writer.permuted_lanes})"
        )
        writer.write_register(_register(target), call)

    return write


def _swizzle(writer: BlockWriter, instruction: GpuInstruction) -> None:
    source, target = instruction.operand("addr"), instruction.operand("vdst")
    assert source and target  # noqa: S101, PT018 (each has them)
    lanes = lane_moves.swizzle_sources(instruction.modifiers.get("offset", 0), writer.lanes)
    writer.write_register(
        _register(target), f"{writer.name(lane_moves.swizzled)}(b, {_register(source)}, {writer.name(lanes)})"
    )


def _permute_row(*, crosses: bool) -> Callable[[BlockWriter, GpuInstruction], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        target = instruction.destinations[0]
        source, low, high = [operand for operand in instruction.operands if operand is not target][:3]
        selection = instruction.modifiers.get("op_sel", 0)
        call = (
            f"{writer.name(lane_moves.permuted_row)}(b, {_register(source)},"
            f" {writer.scalar(low)}, {writer.scalar(high)},"
            f" crosses={crosses}, fetches_inactive={bool(selection & 1)}, is_bounded={bool(selection & 2)},"
            f" old={_register(target)})"
        )
        writer.write_register(_register(target), call)

    return write


def _exchange_halves(writer: BlockWriter, instruction: GpuInstruction) -> None:
    target, source = instruction.operands[:2]
    writer.write_register(_register(target), f"{writer.name(lane_moves.halves_exchanged)}(b, {_register(source)})")


def _move_relative(*, source: bool, destination: bool) -> Callable[[BlockWriter, GpuInstruction], None]:
    """Return the writer of a move from or to the register that M0 counts from the operand."""

    def write(writer: BlockWriter, instruction: GpuInstruction) -> None:
        target, origin = instruction.operands[:2]
        offset = f"s[{M0}]"
        text = (
            f"{writer.name(lane_moves.read_relative)}(v, {origin.index}, {offset})"
            if source
            else writer.vector(origin, "b32", instruction, 0)
        )
        if destination:
            writer.write(f"{writer.name(lane_moves.write_relative)}(v, {target.index}, {offset}, {text}, m)")
        else:
            writer.write_register(_register(target), text)

    return write


def _index_on(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    """Write s_set_gpr_idx_on: M0 has the number, MODE says which operands it counts for from now on."""
    source, which = instruction.operands[:2]
    chosen = which.value & 15
    writer.write(f"s[{M0}] = {writer.scalar(source, 32)} & 0xff | {chosen << 12}")
    writer.write(f"b.mode = b.mode & {INDEX_ENABLE - 1} | {INDEX_ENABLE | chosen << INDEX_SHIFT}")
    writer.write(f"return {address + instruction.size}")


def _index_mode(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    chosen = _immediate(instruction).value & 15
    writer.write(f"s[{M0}] = s[{M0}] & 0xffff0fff | {chosen << 12}")
    writer.write(f"b.mode = b.mode & {(1 << INDEX_SHIFT) - 1} | {chosen << INDEX_SHIFT}")
    writer.write(f"return {address + instruction.size}")


def _index_off(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    writer.write(f"b.mode = b.mode & {INDEX_ENABLE - 1}")
    writer.write(f"return {address + instruction.size}")


def _index_number(writer: BlockWriter, instruction: GpuInstruction) -> None:
    (source,) = instruction.sources
    writer.write(f"s[{M0}] = s[{M0}] & 0xffffff00 | {writer.scalar(source, 32)} & 0xff")


def _get_pc(writer: BlockWriter, instruction: GpuInstruction) -> None:
    writer.set_scalar(instruction.destinations[0], str(writer.address + instruction.size), 64)


# --- Hardware registers -------------------------------------------------------------------------------------------

MODE, STATUS, SH_MEM_BASES, FLAT_SCR_LO, FLAT_SCR_HI = 1, 2, 15, 20, 21


def _hardware_text(writer: BlockWriter, number: int) -> str:
    """Return the text of a hardware register."""
    texts = {
        MODE: "b.mode",
        STATUS: "(b.status & ~0x101 | b.scc | flag(b.exec == 0) << 9)",
        SH_MEM_BASES: str(
            writer.names_of_apertures["src_private_base"] >> 48
            | writer.names_of_apertures["src_shared_base"] >> 48 << 16
        ),
        FLAT_SCR_LO: f"s[{FLAT_SCRATCH}]",
        FLAT_SCR_HI: f"s[{FLAT_SCRATCH + 1}]",
    }
    if number not in texts:
        raise UnknownInstruction(f"hardware register {number}")
    return texts[number]


def _field_of(operand: GpuOperand) -> tuple[int, int, int]:
    """Return the number of a hardware register, and the first bit and the size of the field in it."""
    return operand.value & 63, operand.value >> 6 & 31, (operand.value >> 11 & 31) + 1


def _get_register(writer: BlockWriter, instruction: GpuInstruction) -> None:
    number, first, size = _field_of(_immediate(instruction))
    text = f"({_hardware_text(writer, number)}) >> {first} & {(1 << size) - 1}"
    writer.set_scalar(instruction.destinations[0], text, 32)


def _immediate(instruction: GpuInstruction) -> GpuOperand:
    operand = instruction.operand("simm16")
    assert operand is not None  # noqa: S101 (each has one)
    return operand


def _set_register(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    number, first, size = _field_of(_immediate(instruction))
    (source,) = [operand for operand in instruction.operands if operand.name != "simm16"]
    mask = (1 << size) - 1 << first
    text = f"({_hardware_text(writer, number)}) & {~mask & LOW} | ({writer.scalar(source, 32)}) << {first} & {mask}"
    if number == MODE:
        writer.write(f"b.mode = {text}")
    elif number in (FLAT_SCR_LO, FLAT_SCR_HI):
        writer.write(f"s[{FLAT_SCRATCH + number - FLAT_SCR_LO}] = {text}")
    else:
        raise UnknownInstruction(f"{instruction.mnemonic} of hardware register {number}")
    writer.write(f"return {address + instruction.size}")


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
    "v_permlane16_b32": _permute_row(crosses=False),
    "v_permlanex16_b32": _permute_row(crosses=True),
    "v_permlane64_b32": _exchange_halves,
    "s_getpc_b64": _get_pc,
    "s_getreg_b32": _get_register,
    "s_set_gpr_idx_idx": _index_number,
    "v_movrels_b32": _move_relative(source=True, destination=False),
    "v_movreld_b32": _move_relative(source=False, destination=True),
    "v_movrelsd_b32": _move_relative(source=True, destination=True),
}
"""Operations whose meaning needs more than the values of their operands."""


# --- Control ------------------------------------------------------------------------------------------------------


def _branch(condition: str | None) -> Callable[[BlockWriter, GpuInstruction, int], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        target = address + (instruction.branch or 0)
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


def _jump(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    source = writer.scalar(instruction.sources[0], 64)
    writer.write(f"t = {source}")
    if instruction.destinations:
        writer.set_scalar(instruction.destinations[0], str(address + instruction.size), 64)
    writer.write("return t if isinstance(t, int) else t[:, 0]")


def _call(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
    following = address + instruction.size
    writer.set_scalar(instruction.destinations[0], str(following), 64)
    writer.write(f"return {address + (instruction.branch or 0)}")


def _pause(pause: Pause) -> Callable[[BlockWriter, GpuInstruction, int], None]:
    def write(writer: BlockWriter, instruction: GpuInstruction, address: int) -> None:
        is_behind = pause in (Pause.BARRIER, Pause.HALT)
        writer.write(f"b.pc = {address + (instruction.size if is_behind else 0)}; return {int(pause)}")

    return write


CONTROL: dict[str, Callable[[BlockWriter, GpuInstruction, int], None]] = {
    "s_branch": _branch(None),
    "s_cbranch_scc0": _branch("1 - b.scc"),
    "s_cbranch_scc1": _branch("b.scc"),
    "s_cbranch_vccz": _branch(f"flag(s[{VCC}] == 0)"),
    "s_cbranch_vccnz": _branch(f"flag(s[{VCC}] != 0)"),
    "s_cbranch_execz": _branch("flag(b.exec == 0)"),
    "s_cbranch_execnz": _branch("flag(b.exec != 0)"),
    "s_setpc_b64": _jump,
    "s_swappc_b64": _jump,
    "s_call_b64": _call,
    "s_endpgm": _pause(Pause.END),
    "s_endpgm_saved": _pause(Pause.END),
    "s_barrier": _pause(Pause.BARRIER),
    "s_barrier_wait": _pause(Pause.BARRIER),
    "s_trap": _pause(Pause.TRAP),
    "s_set_gpr_idx_on": _index_on,
    "s_set_gpr_idx_mode": _index_mode,
    "s_set_gpr_idx_off": _index_off,
    "s_setreg_b32": _set_register,
    "s_setreg_imm32_b32": _set_register,
}
"""Instructions that end a block."""
