"""Forms of operations that compute: the formulas of the rows, and what lanes read of other lanes."""

from __future__ import annotations

from collections.abc import Callable

from dwarfgpu.execution import lane_moves
from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.block_writer import BITS, CHOOSES, IEEE, INDEX_ENABLE, needed, register_of
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form_writer import LONG, SCALARS, WORD, FormWriter, lane_numbers
from dwarfgpu.execution.forms.layout import SCC
from dwarfgpu.execution.forms.sources import float_result, packed_source, quieted, read_sources, type_of, write_result
from dwarfgpu.isa.formulas import single_name
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
from dwarfgpu.isa.semantics.llvm import LlvmWriter
from dwarfgpu.isa.semantics.rounding import NEAREST, direction
from dwarfgpu.isa.semantics.rows import MEANINGS, InstructionMeaning, meaning_of, meaning_of_half


def write_operation(writer: FormWriter, instruction: GpuInstruction) -> bool:
    """Write an operation that computes; return whether the instruction is one."""
    special = _SPECIAL.get(instruction.name)
    if special is not None:
        special(writer, instruction)
        return True
    if instruction.components:
        _dual(writer, instruction)
        return True
    meaning = meaning_of(instruction, writer.generation)
    if meaning is None:
        return _packed(writer, instruction)
    (_vector if meaning.unit == "vector" else _scalar)(writer, instruction, meaning)
    return True


def _scalar(writer: FormWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
    if meaning.sources[0][0] != "b":
        _scalar_floats(writer, instruction, meaning)
        return
    one, first = writer.one, meaning.sources[0][1:]
    sources, values = iter(instruction.sources), []
    for kind in meaning.sources:
        if kind == "scc":
            values.append(one.operate("icmp ne", WORD, writer.word(SCC), "0"))
        elif kind == "exec":
            if int(first) != writer.lanes:
                raise UnknownInstruction(f"{instruction.mnemonic} in waves of {writer.lanes} lanes")
            values.append(writer.mask(EXEC))
        else:
            values.append(writer.scalar(next(sources), int(kind[1:])))
    results = LlvmWriter(writer.ir, 1).results(meaning.formula, values)
    destinations = iter(instruction.destinations)
    for value, kind in zip((*results, ""), meaning.results, strict=False):
        if kind == "scc":
            writer.set_word(SCC, one.resized(value, "u1", WORD))
        elif kind == "nonzero":
            differs = one.operate("icmp ne", f"u{meaning.results[0][1:]}", results[0], "0")
            writer.set_word(SCC, one.resized(differs, "u1", WORD))
        elif kind == "exec":
            writer.set_exec(value)
        else:
            writer.set_scalar(next(destinations), value, int(kind[1:]))


def _scalar_floats(writer: FormWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
    """Write an operation on floats, or a conversion, in scalar registers."""
    one, kind, values = writer.one, meaning.results[0], []
    _check(writer, instruction, kind)
    for operand, of in zip(instruction.sources, meaning.sources, strict=True):
        if operand.negated or operand.absolute:
            raise UnknownInstruction(f"{instruction.mnemonic} of {operand.text}")
        word = one.resized(writer.scalar(operand, 32), WORD, f"u{BITS[of]}")
        values.append(one.view(word, f"u{BITS[of]}", type_of(of)))
    (result,) = LlvmWriter(writer.ir, 1).results(meaning.formula, values)
    if kind == "scc":
        writer.set_word(SCC, one.resized(result, "u1", WORD))
        return
    result = float_result(writer, result, kind, instruction, one) if kind[0] == "f" else result
    word = one.resized(one.view(result, type_of(kind), f"u{BITS[kind]}"), f"u{BITS[kind]}", WORD)
    writer.set_scalar(instruction.destinations[0], word, 32)


# --- Operations of lanes ------------------------------------------------------------------------------------------


def _check(writer: FormWriter, instruction: GpuInstruction, kind: str) -> None:
    """Raise an error where MODE wants results that have no text here."""
    if kind[0] == "f" and direction(writer.mode, kind) != NEAREST:
        raise UnknownInstruction(f"{instruction.mnemonic} rounded as MODE says")
    if writer.mode & INDEX_ENABLE:
        raise UnknownInstruction("registers by number")
    if instruction.modifiers.get("clamp") and kind[0] != "f":
        raise UnknownInstruction(f"{instruction.mnemonic} with clamp")


def _results(
    writer: FormWriter, instruction: GpuInstruction, meaning: InstructionMeaning, values: list[str]
) -> list[str]:
    results = LlvmWriter(writer.ir, writer.lanes).results(meaning.formula, values)
    if writer.mode & IEEE and writer.generation <= 11 and CHOOSES.match(meaning.name):
        results[0] = quieted(writer.vectors, results[0], values, meaning.results[0])
    return results


def _vector(writer: FormWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
    _check(writer, instruction, meaning.results[0])
    if instruction.encoding == "VOP3P" and "accvgpr" not in instruction.name:
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    values, lanes = read_sources(writer, instruction, meaning)
    results = _results(writer, instruction, meaning, values)
    is_compared = instruction.name.startswith("v_cmpx")
    for kind, operand, value in zip(meaning.results, instruction.destinations, results, strict=False):
        if kind != "mask":
            write_result(writer, operand, kind, instruction, value, lanes)
        elif operand.register != "null" and not (is_compared and operand.register.startswith("exec")):
            writer.set_mask(register_of(operand), writer.executing(value))
    if is_compared:
        writer.set_exec(writer.executing(results[0]))


def _dual(writer: FormWriter, instruction: GpuInstruction) -> None:
    found = []
    for part in instruction.components:
        meaning = meaning_of_half(part)
        if meaning is None:
            raise UnknownInstruction(f"{part.mnemonic} has no text here")
        _check(writer, part, meaning.results[0])
        values, _lanes = read_sources(writer, part, meaning)
        found.append((part, meaning.results[0], _results(writer, part, meaning, values)[0]))
    for part, kind, value in found:
        write_result(writer, part.destinations[0], kind, part, value)


def _packed(writer: FormWriter, instruction: GpuInstruction) -> bool:
    """Write an operation on both halves of its operands, each as the operation on one; return whether it is one."""
    name, modifiers = instruction.name, instruction.modifiers
    meaning = MEANINGS.get(single_name(name))
    if not name.startswith("v_pk_") or meaning is None:
        return False
    kind, is_move = meaning.results[0], name == "v_pk_mov_b32"
    _check(writer, instruction, kind)
    negated = modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0)
    chosen = modifiers.get("op_sel", 0), modifiers.get("op_sel_hi", 0)
    is_odd = "fmac" in name or (any(negated) and kind[0] != "f") or instruction.encoding != "VOP3P"
    if is_odd or instruction.variant or (writer.mode & IEEE and CHOOSES.match(meaning.name)):
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    vectors, results = writer.vectors, []
    for half in (0, 1):
        values = []
        for position, operand in enumerate(instruction.sources):
            if is_move and position != half:
                continue
            is_high = bool(chosen[0 if is_move else half] >> position & 1)
            is_negated = bool(negated[half] >> position & 1)
            values.append(packed_source(writer, operand, kind, is_high=is_high, is_negated=is_negated))
        value = LlvmWriter(writer.ir, writer.lanes).results(meaning.formula, values)[0]
        value = float_result(writer, value, kind, instruction) if kind[0] == "f" else value
        results.append(vectors.view(value, type_of(kind), f"u{BITS[kind]}"))
    register = writer.vector_register(instruction.destinations[0])
    if BITS[kind] == 32:
        for half, value in enumerate(results):
            writer.write(register + half, value)
        return True
    low, high = (vectors.resized(value, "u16", WORD) for value in results)
    high = vectors.operate("shl", WORD, high, vectors.constant(16, WORD))
    writer.write(register, vectors.operate("or", WORD, low, high))
    return True


# --- Lanes of other lanes -----------------------------------------------------------------------------------------


def lane_of(writer: FormWriter, lane: str) -> str:
    """Return a number as that of a lane."""
    return writer.one.operate("and", LONG, writer.one.resized(lane, WORD, LONG), str(writer.lanes - 1))


def first_lane(writer: FormWriter) -> str:
    """Return the number of the first executing lane, 0 if there is none."""
    first = writer.ir.call("llvm.cttz.i64", "i64", ("i64", writer.active_lanes()), ("i1", "false"))
    return writer.one.operate("and", LONG, first, str(writer.lanes - 1))


def _read_lane(writer: FormWriter, instruction: GpuInstruction) -> None:
    register, lane = instruction.sources
    number = lane_of(writer, writer.scalar(lane, 32))
    place = writer.lane_at(writer.row(writer.vector_register(register))[0], number)
    writer.set_scalar(instruction.destinations[0], writer.load("i32", place), 32)


def _write_lane(writer: FormWriter, instruction: GpuInstruction) -> None:
    target, value, lane = instruction.sources
    word, number = writer.scalar(value, 32), lane_of(writer, writer.scalar(lane, 32))
    place = writer.lane_at(writer.know(writer.vector_register(target)), number)
    writer.ir.do(f"store i32 {word}, ptr {place}, align 4")


def _read_first_lane(writer: FormWriter, instruction: GpuInstruction) -> None:
    (source,) = instruction.sources
    if source.kind in SCALARS:
        writer.set_scalar(instruction.destinations[0], writer.scalar(source, 32), 32)
        return
    place = writer.lane_at(writer.row(writer.vector_register(source))[0], first_lane(writer))
    writer.set_scalar(instruction.destinations[0], writer.load("i32", place), 32)


def _mask_count(first: int) -> Callable[[FormWriter, GpuInstruction], None]:
    """Write how many bits of a mask of 32 lanes are below each lane, plus a number."""

    def write(writer: FormWriter, instruction: GpuInstruction) -> None:
        vectors = writer.vectors
        _check(writer, instruction, "u32")
        values, lanes = read_sources(writer, instruction, MEANINGS["v_add_u32"])
        below = ((1 << min(max(lane - first, 0), 32)) - 1 for lane in range(writer.lanes))
        bits = vectors.operate("and", WORD, values[0], lane_numbers("i32", below))
        ones = vectors.intrinsic("ctpop", WORD, bits)
        result = vectors.operate("add", WORD, ones, values[1])
        write_result(writer, instruction.destinations[0], "u32", instruction, result, lanes)

    return write


def _swap(writer: FormWriter, instruction: GpuInstruction) -> None:
    left, right = (writer.vector_register(operand) for operand in instruction.operands[:2])
    values = writer.read(left), writer.read(right)
    writer.write(left, values[1])
    writer.write(right, values[0])


def _swizzle(writer: FormWriter, instruction: GpuInstruction) -> None:
    source, target = needed(instruction, "addr"), needed(instruction, "vdst")
    order = lane_moves.swizzle_sources(instruction.modifiers.get("offset", 0), writer.lanes)
    visible = writer.vectors.operate("and", WORD, writer.read(writer.vector_register(source)), writer.exec_row())
    whole = writer.vectors.type(WORD)
    lanes = f"{whole} {lane_numbers('i32', order.tolist())}"
    writer.write(
        writer.vector_register(target), writer.ir.put(f"shufflevector {whole} {visible}, {whole} poison, {lanes}")
    )


def _permute_by_address(writer: FormWriter, instruction: GpuInstruction) -> None:
    """Write ds_bpermute_b32: each lane reads what the lane has that its address names, 0 from an inactive one."""
    address, data, target = (_register(writer, instruction, name) for name in ("addr", "data0", "vdst"))
    vectors, lanes = writer.vectors, writer.lanes
    span = 32 if writer.generation >= 10 else lanes
    chosen = vectors.operate(
        "add", WORD, writer.read(address), vectors.spread(writer.number(instruction.modifiers.get("offset", 0)), WORD)
    )
    chosen = vectors.operate("lshr", WORD, chosen, vectors.constant(2, WORD))
    chosen = vectors.operate("and", WORD, chosen, vectors.constant(span - 1, WORD))
    chosen = vectors.operate("or", WORD, chosen, lane_numbers("i32", (lane // span * span for lane in range(lanes))))
    whole = vectors.type(WORD)
    words, places = writer.room("words", lanes, "i32"), writer.room("chosen", lanes, "i32")
    visible = vectors.operate("and", WORD, writer.read(data), writer.exec_row())
    writer.ir.do(f"store {whole} {visible}, ptr {words}, align 64")
    writer.ir.do(f"store {whole} {chosen}, ptr {places}, align 64")
    row = writer.know(target)
    with writer.each_lane() as lane:
        place = writer.one.resized(writer.load("i32", writer.lane_at(places, lane)), WORD, LONG)
        value = writer.load("i32", writer.lane_at(words, place))
        writer.ir.do(f"store i32 {value}, ptr {writer.lane_at(row, lane)}, align 4")


def _register(writer: FormWriter, instruction: GpuInstruction, name: str) -> int:
    operand: GpuOperand = needed(instruction, name)
    return writer.vector_register(operand)


def _get_pc(writer: FormWriter, instruction: GpuInstruction) -> None:
    writer.set_scalar(instruction.destinations[0], writer.address(instruction.size), 64)


def _fused_for_division(writer: FormWriter, instruction: GpuInstruction) -> None:
    """Write a product and sum of doubles; Python executes it where a lane scales the result back."""
    meaning, plain = MEANINGS[instruction.name], MEANINGS["v_fma_f64"]
    _check(writer, instruction, "f64")
    values, lanes = read_sources(writer, instruction, meaning)
    writer.refuse_unless(writer.none(values.pop()))
    (result,) = _results(writer, instruction, plain, values)
    write_result(writer, instruction.destinations[0], "f64", instruction, result, lanes)


_SPECIAL: dict[str, Callable[[FormWriter, GpuInstruction], None]] = {
    "v_readlane_b32": _read_lane,
    "v_readfirstlane_b32": _read_first_lane,
    "v_writelane_b32": _write_lane,
    "v_mbcnt_lo_u32_b32": _mask_count(0),
    "v_mbcnt_hi_u32_b32": _mask_count(32),
    "v_swap_b32": _swap,
    "ds_swizzle_b32": _swizzle,
    "ds_bpermute_b32": _permute_by_address,
    "s_getpc_b64": _get_pc,
    "v_div_fmas_f64": _fused_for_division,
}
"""Instructions whose meaning needs more than the values of their operands."""
