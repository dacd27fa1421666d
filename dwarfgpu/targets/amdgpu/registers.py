"""The registers of AMDGPU and what a callee preserves.

AMDGPU usage, table "AMDGPU DWARF Register Mapping" and section "Non-Kernel Functions". The names are the assembler's;
the table's own (``VGPR5``, ``SGPR32``, ``PC_64``, ``EXEC_MASK_32``, ``VCC_64``) are understood too.
"""

from __future__ import annotations

from dwarfgpu.targets import amdgpu
from dwarfgpu.targets.amdgpu.address_spaces import spaces
from dwarfgpu.targets.amdgpu.processors import Processor
from dwarfgpu.targets.target import RegisterFamily, Target

LANE_BITS = 32
"""A vector register has consecutive dwords, one a lane, lane 0 at the least significant bit."""


def sgpr(index: int) -> int:
    """Return the DWARF number of ``s<index>``."""
    return amdgpu.SGPR_0 + index if index < 64 else amdgpu.SGPR_64 + index - 64


def families(processor: Processor, wave_size: int) -> tuple[RegisterFamily, ...]:
    """Return the registers in waves of one size.

    "The register definitions corresponding to the wave mode of the generated code will be used": the numbers of the
    other size do not exist.
    """
    is_32 = wave_size == 32
    vector = wave_size * LANE_BITS
    rows = [
        RegisterFamily(amdgpu.PC_64, 1, "pc", 64, index=None, other="pc_64"),
        # The numbers s102 to s105 exist on every processor ("All AMDGPU targets use the same mapping"), although up to
        # GFX9 the instructions reach at most s103.
        RegisterFamily(amdgpu.SGPR_0, 64, "s", 32, other="sgpr"),
        RegisterFamily(amdgpu.STATUS, 1, "status", 32, index=None),  # not in the edition of 2020
        RegisterFamily(amdgpu.SGPR_64, 42, "s", 32, index=64, other="sgpr"),
        _vector("v", amdgpu.VGPR_32 if is_32 else amdgpu.VGPR_64, min(processor.vgpr_count, 512), vector),
    ]
    # vcc is not in the edition of 2020. There are no numbers for vcc_lo, vcc_hi, exec_lo, exec_hi, s106, s107 and m0.
    mask, vcc = (amdgpu.EXEC_32, amdgpu.VCC_32) if is_32 else (amdgpu.EXEC_64, amdgpu.VCC_64)
    rows.append(RegisterFamily(mask, 1, "exec", wave_size, index=None, other=f"exec_mask_{wave_size}"))
    rows.append(RegisterFamily(vcc, 1, "vcc", wave_size, index=None, other=f"vcc_{wave_size}"))
    if is_32 and processor.vgpr_count > 512:
        rows.append(_vector("v", amdgpu.VGPR_32_512, processor.vgpr_count - 512, vector, index=512))
    if processor.has("agprs"):
        rows.append(_vector("a", amdgpu.AGPR_32 if is_32 else amdgpu.AGPR_64, 256, vector))
    return tuple(sorted(rows, key=lambda family: family.first))


def _vector(prefix: str, first: int, count: int, bit_size: int, index: int = 0) -> RegisterFamily:
    return RegisterFamily(first, count, prefix, bit_size, LANE_BITS, index, other=f"{prefix}gpr")


_M0, _FLAT_SCRATCH = -1, -4


def unnumbered(processor: Processor) -> tuple[RegisterFamily, ...]:
    """Return the registers of a wave that the table of DWARF numbers leaves out.

    Their names are those of the assembler ("AMDGPU Instruction Syntax", *m0*, *ttmp*, *flat_scratch*, *xnack_mask*,
    *tba*, *tma*, *hwreg*).
    """
    gfx9_or_later = processor.has("flat-absolute") or processor.has("flat-architected")
    rows = [
        RegisterFamily(_M0, 1, "m0", 32, index=None),
        RegisterFamily(-2, 1, "mode", 32, index=None),
        RegisterFamily(-24, 16 if gfx9_or_later else 12, "ttmp", 32),
    ]
    if processor.major < 12:  # GFX12 has EXCP_FLAG_*, TRAP_CTRL and STATE_PRIV in its place
        rows.append(RegisterFamily(-3, 1, "trapsts", 32, index=None))
    if processor.major < 11:
        rows += [RegisterFamily(-6, 1, "tba", 64, index=None), RegisterFamily(-7, 1, "tma", 64, index=None)]
    if processor.has("generic"):  # GFX7 and later
        rows.append(RegisterFamily(_FLAT_SCRATCH, 1, "flat_scratch", 64, index=None))
    if processor.has("xnack"):
        rows.append(RegisterFamily(-5, 1, "xnack_mask", 64, index=None))
    if processor.major >= 12:  # what TRAPSTS and the privileged half of STATUS were before
        names = ("state_priv", "excp_flag_priv", "excp_flag_user", "trap_ctrl", "barrier_state")
        rows += [RegisterFamily(-29 + index, 1, name, 32, index=None) for index, name in enumerate(names)]
    return tuple(rows)


STACK_POINTER = sgpr(32)


def stack_scale(processor: Processor, wave_size: int) -> int:
    """Return the divisor that makes s32 from the address of the CFA, which is in the private_wave space.

    With buffer scratch s32 is a private_wave address itself; with architected flat scratch it is an address of one
    lane, and a dword-aligned one is the private_wave address divided by the wave size ("Address Space Identifier").
    """
    return wave_size if processor.has("flat-architected") else 1


# What a callee preserves has changed: AMDGPU usage of 2020 names all but s4-s31 and v0-v31; LLVM 16 added s30-s31 and
# took out v48-v55, v64-v71, ...; LLVM 22 also took out s40-s47, s56-s63, ... Code of every age occurs. A register is
# same value below if some edition preserves it: the compilers that emit call frame information name each register that
# a function clobbers, so one without a rule was either preserved or not touched.
# OPEN: by that argument v0-v31 and s4-s29 without a rule were not touched either, and are same value too (it is what
# ROCgdb takes). So it is where the information names what a function clobbers (`named_if_changed`), as LLVM has it do,
# and relies on it; elsewhere the text's default is kept, because every ABI lets a callee change them.


def same_value(processor: Processor, wave_size: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges (first, last) of the registers that a callee preserves, without the stack pointer."""
    is_32 = wave_size == 32
    vgpr = amdgpu.VGPR_32 if is_32 else amdgpu.VGPR_64
    agpr = amdgpu.AGPR_32 if is_32 else amdgpu.AGPR_64
    exec_mask = amdgpu.EXEC_32 if is_32 else amdgpu.EXEC_64
    ranges = [(exec_mask, exec_mask), (sgpr(30), sgpr(63)), (sgpr(64), sgpr(105)), (vgpr + 32, vgpr + 255)]
    if not processor.has("flat-architected"):
        ranges.append((sgpr(0), sgpr(3)))  # the scratch buffer descriptor
    if processor.has("agprs-saved"):
        ranges.append((agpr + 32, agpr + 255))
    ranges.append((_FLAT_SCRATCH, _FLAT_SCRATCH))  # "Non-Kernel Functions", what is preserved on exit
    if processor.major <= 8:
        ranges.append((_M0, _M0))
    return tuple(sorted(ranges))


def named_if_changed(processor: Processor, wave_size: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges (first, last) of the registers that compilers name if a function changes them."""
    vectors = [family for family in families(processor, wave_size) if family.lane_bits]
    ranges = [(family.first, family.first + family.count - 1) for family in vectors]
    return tuple(sorted((*ranges, (sgpr(0), sgpr(63)), (sgpr(64), sgpr(105)))))


def target_name(processor: Processor, wave_size: int) -> str:
    """Return the canonical name, with the wave size if the processor has more than one."""
    suffix = f"-wave{wave_size}" if len(processor.wave_sizes) > 1 else ""
    return f"amdgcn-{processor.name}{suffix}"


def amdgpu_target(processor: Processor, wave_size: int, features: tuple[str, ...] = ()) -> Target:
    """Return the target of a processor that executes waves of one of its sizes."""
    return Target(
        name=target_name(processor, wave_size),
        byte_order="little",  # ELFDATA2LSB, table "AMDGPU ELF Header"
        address_size=8,  # "Only 64-bit process address spaces are supported for the amdgcn target"
        lane_count=wave_size,
        default_dialect="llvm-user",
        default_rules="amd",
        families=families(processor, wave_size),
        address_spaces=spaces(processor, wave_size),
        same_value=same_value(processor, wave_size),
        named_if_changed=named_if_changed(processor, wave_size),
        stack_pointer=STACK_POINTER,
        stack_scale=stack_scale(processor, wave_size),
        entry_cfa=0,  # SGPR32 is "the first stack address beyond" the caller's frame ("Non-Kernel Functions")
        program_counter=amdgpu.PC_64,
        execution_mask=amdgpu.EXEC_32 if wave_size == 32 else amdgpu.EXEC_64,
        unnumbered=unnumbered(processor),
        features=features,
    )
