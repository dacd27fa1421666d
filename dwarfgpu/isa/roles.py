"""Which operands of an instruction are read and which are written.

The encoding does not say it, so the names of the operation and of the field do ("Instructions" chapters of the ISA
documents). An operand that keeps part of its old value, such as a register whose other half or other lanes stay, is
both.
"""

from __future__ import annotations

import re

from dwarfgpu.isa.instruction import OperandRole

DESTINATIONS = {"vdst", "sdst", "vdstx", "vdsty"}

READ_ONLY = re.compile(r"s_cmpk_|s_setreg_b32$|s_waitcnt_|s_cbranch_i_fork$|s_version$")
"""Operations on a field named as a destination that they only read."""

ACCUMULATING = re.compile(
    r"v_(dual_|pk_)?f?mac_|v_dual_dot2acc_|v_dot\d\w*c_|v_(perm)?(lane\w*_)?swap|v_writelane_|v_permlane(x?16|16var|x16var)_"
    r"|v_(mad|fma)_mix(lo|hi)_|v_s(mf|wm)mac_|v_interp_p2_(legacy_)?f\d+$|v_cvt_(pk|sr)_[fb]f?p?8|v_cvt_scalef32_(sr_)?(pk_)?[fb]|v_cvt_pkaccum_|v_movreld?_"
    r"|s_(addk|mulk|cmovk|addk_co)_|s_cmov_|s_bitset|s_fmac_|s_subvector_loop_|v_swaprel_"
)
"""Operations that also read what they write."""
HALF_LOADS = re.compile(r"_load_.*d16|_read_.*d16|_load_short_d16|_load_(u|s)byte_d16|_load_sbyte_d16")
"""Loads that keep the other half of a register."""


def role_of(name: str, encoding: str, field: str, position: int) -> OperandRole:
    """Return the role of an operand: of a field, at a position in the text."""
    if field in {"vdata", "sdata"} and encoding != "FLAT":
        return _data_role(name)
    if field in {"vcc", "exec"}:
        is_written = (position == 0 and encoding == "VOPC") or (position == 1 and encoding == "VOP2")
        return OperandRole.DST if is_written else OperandRole.SRC
    if field == "simm16":
        return OperandRole.DST if name.startswith("s_setreg") else OperandRole.SRC
    if field == "src0" and "swap" in name:
        return OperandRole.DST_SRC
    if field not in DESTINATIONS or READ_ONLY.match(name):
        return OperandRole.SRC
    if ACCUMULATING.match(name) or HALF_LOADS.search(name):
        return OperandRole.DST_SRC
    return OperandRole.DST


def _data_role(name: str) -> OperandRole:
    """Return the role of what a memory instruction loads or stores; atomic ones may return the old value."""
    if "atomic" in name:
        return OperandRole.DST_SRC
    if "store" in name or "prefetch" in name or "probe" in name:
        return OperandRole.SRC
    return OperandRole.DST_SRC if HALF_LOADS.search(name) else OperandRole.DST
