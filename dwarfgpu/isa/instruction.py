"""Instructions of AMD GPUs as data: what the decoder makes, and what gives an instruction its meaning reads.

``dwarfgpu.isa.decoder.decode(code, offset, processor, wave_size)`` returns a ``GpuInstruction``. What an instruction
does is looked up by ``instruction.name``, the mnemonic without the suffix of its encoding: ``v_add_f32`` whether it is
encoded as VOP2, VOP3, SDWA or DPP. Then everything is in the operands and the modifiers, and no text has to be read:

    instruction.name                      "v_add_f32"
    instruction.mnemonic                  "v_add_f32_e64", as disassemblers write it
    instruction.encoding                  "VOP3"; variants: instruction.variant is "", "sdwa", "dpp", "dpp8" or "scale"
    instruction.operands                  all operands, in the order of the text
    instruction.destinations / .sources   those that are written / read; a DST_SRC operand is in both
    instruction.operand("src0")           the operand of a field, or None
    instruction.modifiers                 {"clamp": 1, "offset": 16}; a modifier that is not set is absent
    instruction.branch                    where a branch goes, in bytes from the address of the instruction; else None
    instruction.components                the two halves of a dual instruction (VOPD), each a GpuInstruction

An operand is one of seven kinds. ``SGPR``, ``VGPR`` and ``AGPR`` name ``bits`` bits from register ``index`` on (an
operand of 16 bits with ``half`` 0 or 1 is the low or the high half). ``SPECIAL`` names a register by ``register``:
"vcc", "vcc_lo", "exec", "m0", "null", "ttmp4", "flat_scratch", "src_shared_base", "src_scc" and so on, ``index`` is
its number in the encoding. ``CONSTANT`` and ``LITERAL`` have a ``value``: the ``bits`` bits that the operation gets,
after the expansion that the type of the operand asks for (1.0 is 0x3c00 for "f16", 0x3f800000 for "f32").
``IMMEDIATE`` is a number of the encoding, as ``value``: the simm16 of ``s_movk_i32`` sign-extended, the counters of
``s_waitcnt`` as they are encoded. ``OFF`` is the word ``off`` in place of an address. ``negated``, ``absolute`` and
``sign_extended`` are the modifiers of one source: sign_extended first (SDWA), then absolute, then negated. ``type`` is
how a constant is expanded: "f16", "i16", "b32", "f64", "v2f16", ...; the name of the operation says more.

Roles are by the operation: one that keeps a part of its destination reads it too. Implied registers, such as SCC, EXEC
or M0, are no operands. Instructions and operands are immutable; operands are shared
between instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from dwarfgpu.immutable import field, frozen, immutable

__all__ = [
    "BRANCHES",
    "CALLS",
    "JUMPS",
    "PC_READS",
    "GpuInstruction",
    "GpuOperand",
    "InstructionForm",
    "OperandKind",
    "OperandRole",
]

BRANCHES = frozenset(("s_branch", "s_add_pc_i64"))
"""Branches that always go, by a distance in the instruction."""
CALLS = frozenset(("s_swappc_b64", "s_call_b64", "s_swap_pc_i64", "s_call_i64"))
"""Instructions that save the address behind them and go elsewhere."""
PC_READS = frozenset(("s_getpc_b64", "s_get_pc_i64"))
"""Instructions that give the address behind them."""
JUMPS = frozenset(("s_setpc_b64", "s_set_pc_i64"))
"""Instructions that go to an address in registers, as returns do."""


class OperandKind(Enum):
    """What an operand is."""

    SGPR = "sgpr"
    VGPR = "vgpr"
    AGPR = "agpr"
    SPECIAL = "special"
    CONSTANT = "constant"
    LITERAL = "literal"
    IMMEDIATE = "immediate"
    OFF = "off"


class OperandRole(Enum):
    """Whether an operand is read, written or both."""

    SRC = "src"
    DST = "dst"
    DST_SRC = "dst+src"


@immutable
class GpuOperand:
    """One operand of an instruction."""

    kind: OperandKind
    name: str
    """The field of the encoding: vdst, sdst, src0, src1, src2, vaddr, saddr, srsrc, soffset, simm16, ..."""
    role: OperandRole
    bits: int
    """How many bits are read or written: 1 for a bit of each lane is not said, a lane mask has the bits of the wave."""
    text: str
    """As disassemblers write it, with its modifiers."""
    index: int = 0
    """The number of the (first) register."""
    register: str = ""
    """The name of a special register."""
    value: int = 0
    """The bits of a constant or a literal; the number of an immediate."""
    type: str = ""
    """How constants are expanded: i16, f16, bf16, b32, b64, f64, v2i16, v2f16, v2bf16, v2b32; or empty."""
    half: int | None = None
    """The half of a register of 32 bits: 0 for ``v1.l``, 1 for ``v1.h``."""
    negated: bool = False
    absolute: bool = False
    sign_extended: bool = False

    @property
    def count(self) -> int:
        """The number of 32-bit registers that the operand covers, at least in part."""
        return (self.bits + 31) // 32


@frozen(eq=False)
class InstructionForm:
    """What all instructions with one opcode in one encoding have in common: one row of the tables."""

    name: str
    """The mnemonic without the suffix of the encoding."""
    mnemonic: str
    encoding: str
    """SOP1 SOP2 SOPK SOPC SOPP SMEM VOP1 VOP2 VOPC VOP3 VOP3P VOPD VINTERP VINTRP LDSDIR DS MUBUF MTBUF MIMG VIMAGE
    VSAMPLE VBUFFER FLAT GLOBAL SCRATCH EXP."""
    variant: str
    """How the encoding is extended: sdwa, dpp, dpp8, scale (the scales of a product of matrices), or empty."""
    opcode: int
    writers: tuple[tuple[str, Callable[[int, Mapping[str, int]], str]], ...] = field(default=(), repr=False)
    """The functions that write its modifiers, in the order of the text."""


@immutable
class GpuInstruction:
    """One decoded instruction."""

    form: InstructionForm
    operands: tuple[GpuOperand, ...]
    modifiers: Mapping[str, int] = field(hash=False)
    """The modifiers that are set, by name: clamp, omod, offset, offset0, offset1, glc, slc, dlc, sc0, sc1, nt, scc,
    scope, th, idxen, offen, lds, tfe, gds, dmask, dim, unorm, da, r128, a16, d16, lwe, op_sel, op_sel_hi, neg_lo,
    neg_hi, cbsz, abid, blgp, format, dpp_ctrl, row_mask, bank_mask, bound_ctrl, fi, dpp8, dst_sel, dst_unused,
    src0_sel, src1_sel, wait_vdst, wait_exp, ... Masks such as op_sel have a bit for each source, the lowest for the
    first, and bit 3 for the destination."""
    data: bytes
    branch: int | None = None
    """For a branch with a fixed target: its distance in bytes from the address of the instruction."""
    components: tuple[GpuInstruction, ...] = ()
    """Of a dual instruction: the operations X and Y, which read their sources before either writes."""

    @property
    def name(self) -> str:
        """The mnemonic without the suffix of the encoding."""
        return self.form.name

    @property
    def mnemonic(self) -> str:
        """The mnemonic as disassemblers write it."""
        return self.form.mnemonic

    @property
    def encoding(self) -> str:
        """The name of the instruction format."""
        return self.form.encoding

    @property
    def variant(self) -> str:
        """How the encoding is extended: sdwa, dpp, dpp8, scale, or empty."""
        return self.form.variant

    @property
    def opcode(self) -> int:
        """The number of the operation in its format."""
        return self.form.opcode

    @property
    def size(self) -> int:
        """The number of bytes, with literals."""
        return len(self.data)

    @property
    def destinations(self) -> tuple[GpuOperand, ...]:
        """The operands that are written."""
        return tuple(operand for operand in self.operands if operand.role is not OperandRole.SRC)

    @property
    def sources(self) -> tuple[GpuOperand, ...]:
        """The operands that are read."""
        return tuple(operand for operand in self.operands if operand.role is not OperandRole.DST)

    def operand(self, name: str) -> GpuOperand | None:
        """Return the operand of a field of the encoding."""
        return next((operand for operand in self.operands if operand.name == name), None)
