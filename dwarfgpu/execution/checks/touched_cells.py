"""The registers whose undefined bits count for an instruction, and those that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dwarfgpu.execution import instructions
from dwarfgpu.execution.access_shapes import shape_of
from dwarfgpu.execution.batch import M0, VCC, VCC_HI
from dwarfgpu.execution.block_writer import INDEX_ENABLE, SPECIAL
from dwarfgpu.execution.buffer_formats import NAMES as FORMATTED
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.matrices import shape_of as matrix_of
from dwarfgpu.isa.semantics.rows import meaning_of_half

Cell = tuple[str, int]
"""A register: v, a or s and its number, or scc."""
SCC: Cell = "scc", 0
CONTROL, CLEARS, ACCESSES, COMPUTES = "control", "clears", "accesses", "computes"
"""What an instruction does: it decides where waves go, writes what is defined, reaches memory, or computes."""
BRANCHES = {"s_cbranch_scc0": SCC, "s_cbranch_scc1": SCC, "s_cbranch_vccz": ("s", VCC), "s_cbranch_vccnz": ("s", VCC)}
"""What branches look at."""
NO_BITS = ("exec", "exec_lo", "exec_hi", "execz", "src_execz", "null", "src_vccz", "vccz")
"""Special registers that are defined always."""
_FILES = {OperandKind.VGPR: "v", OperandKind.AGPR: "a", OperandKind.SGPR: "s"}
_ALWAYS_DEFINED = re.compile(
    r"s_(getpc_b64|getreg_b32|memtime|memrealtime|sendmsg_rtn_b\d+|get_barrier_state)|ds_(append|consume)"
)
_ENCODINGS = frozenset(("SMEM", "MUBUF", "MTBUF", "VBUFFER", "FLAT", "GLOBAL", "SCRATCH", "DS", "TENSOR"))
_ADDRESSES = frozenset(("vaddr", "saddr", "addr", "sbase", "soffset", "offset", "srsrc", "rsrc",
                        "sdesc0", "sdesc1", "sdesc2", "sdesc3"))  # fmt: skip
_OTHER_ACCESSES = re.compile(r"ds_(wrxchg2|storexchg_2)|.*addtid|.*_lds|.*_load_(tr\d|monitor)|.*_block$|cluster_load")
_KEEPS = re.compile("_mix|v_writelane|v_permlane64|swap")
"""Operations that may keep a part of their destination, or all of it."""
_OTHER_LANES = re.compile(r"v_(readlane|writelane|readfirstlane|permlane|interp)|ds_|s_")


@frozen
class TouchedCells:
    """What an instruction reads and writes. If nothing that it reads is undefined, what it writes is defined."""

    does: str
    addresses: tuple[Cell, ...] = ()
    """Registers that must be defined: of addresses, and what a branch looks at."""
    data: tuple[Cell, ...] = ()
    """Registers whose undefined bits follow their values."""
    written: tuple[Cell, ...] = ()
    is_partial: bool = False
    """Whether it may keep a part of what it writes, which is then read, too."""
    is_by_number: bool = False
    """Whether only the waves know which registers it reads and writes."""

    @property
    def read(self) -> tuple[Cell, ...]:
        """What it reads beside addresses."""
        return tuple(dict.fromkeys((*self.data, *(self.written if self.is_partial else ()))))


def cells_of(operand: GpuOperand, lanes: int) -> list[Cell]:
    """Return the registers of an operand that have undefined bits."""
    file = _FILES.get(operand.kind)
    if file is not None:
        return [(file, operand.index + number) for number in range(max(operand.count, 1))]
    register = operand.register
    if operand.kind is not OperandKind.SPECIAL or register in NO_BITS:
        return []
    if register in ("scc", "src_scc"):
        return [SCC]
    if register.startswith("vcc"):
        last = VCC if lanes == 64 or (register != "vcc_hi" and operand.bits <= 32) else VCC_HI
        return [("s", number) for number in range(VCC_HI if register == "vcc_hi" and lanes == 32 else VCC, last + 1)]
    if register in SPECIAL:
        return [("s", SPECIAL[register] + number) for number in range(2 if operand.bits > 32 else 1)]
    if register.startswith("ttmp"):
        return [("s", 108 + int(register[4:].strip("[").partition(":")[0].strip("]") or 0))]
    return []


def is_by_lane(instruction: GpuInstruction) -> bool:
    """Return whether each lane of an operation reads only what it has itself."""
    name = instruction.name
    is_alone = not instruction.variant.startswith("dpp") and not _OTHER_LANES.match(name)
    return is_alone and matrix_of(name) is None


def touched_by(instruction: GpuInstruction, lanes: int, mode: int) -> TouchedCells | None:
    """Return what an instruction touches; None if it does nothing."""
    name = instruction.name
    if instructions.is_idle(instruction):
        return None

    def cells(operands: Iterable[GpuOperand]) -> tuple[Cell, ...]:
        return tuple(dict.fromkeys(each for operand in operands for each in cells_of(operand, lanes)))

    written = cells(operand for part in instruction.components or (instruction,) for operand in part.destinations)
    if name in instructions.CONTROL:
        return TouchedCells(CONTROL, cells(instruction.sources), written=written)
    if name in instructions.SETTINGS or _ALWAYS_DEFINED.match(name) or name == "s_set_gpr_idx_idx":
        return TouchedCells(CLEARS, written=(*written, ("s", M0)) if "gpr_idx" in name else written)
    if name in ("s_barrier_signal_isfirst", "s_barrier_leave"):
        return TouchedCells(CLEARS, written=(SCC,))
    if instruction.encoding not in _ENCODINGS or name in instructions.SPECIAL_FORMS:
        return _calculated(instruction, lanes, mode, written)
    at = cells(operand for operand in instruction.operands if operand.name in _ADDRESSES)
    shape, formatted = shape_of(name), FORMATTED.match(name)
    is_known = shape is not None or instruction.encoding == "SMEM" or formatted is not None
    if not (is_known or _OTHER_ACCESSES.match(name)):
        return TouchedCells(CLEARS, at, written=written)
    sources = (operand for operand in instruction.sources if operand.name not in _ADDRESSES)
    given = tuple(each for operand in sources for each in cells_of(operand, lanes))
    is_half = (shape is not None and shape.half is not None) or (formatted is not None and "d16" in name)
    is_half |= any(operand.half is not None for operand in instruction.destinations)
    return TouchedCells(ACCESSES, at, given, written, is_partial=is_half)


def _calculated(instruction: GpuInstruction, lanes: int, mode: int, written: tuple[Cell, ...]) -> TouchedCells:
    parts = instruction.components or (instruction,)
    read = [each for part in parts for operand in part.sources for each in cells_of(operand, lanes)]
    name, others, is_partial = instruction.name, [*written], bool(_KEEPS.search(instruction.name))
    for part in parts:
        meaning = meaning_of_half(part)
        if meaning is not None:
            if "scc" in meaning.sources:
                read.append(SCC)
            is_named = len(part.sources) >= len(meaning.sources)
            if "vcc" in meaning.sources or ("mask" in meaning.sources and not is_named):
                read.append(("s", VCC))
            if {"scc", "nonzero"} & set(meaning.results):
                others.append(SCC)
            is_partial |= any(kind[1:] == "16" for kind in meaning.results)
        is_partial |= part.variant not in ("", "scale", "x", "y")
        for operand in part.destinations:
            is_partial |= operand.half is not None or (lanes == 64 and operand.register in ("vcc_lo", "vcc_hi"))
    is_by_number = "movrel" in name or "swaprel" in name or (bool(mode & INDEX_ENABLE) and name.startswith("v_"))
    read, others = list(dict.fromkeys(read)), list(dict.fromkeys(others))
    return TouchedCells(COMPUTES, (), tuple(read), tuple(others), is_partial=is_partial, is_by_number=is_by_number)
