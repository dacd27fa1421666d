"""Scalar operations on floats (GFX11.5 and later): those of vectors, on one number for all lanes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics import compare_rows, convert_rows, float_rows  # noqa: F401 (they add the rows of vectors)
from dwarfgpu.isa.semantics.rows import MEANINGS, scalar

_NAMES = """
s_add_f32 s_sub_f32 s_mul_f32 s_fmac_f32 s_fmaak_f32 s_fmamk_f32 s_min_num_f32 s_max_num_f32 s_ceil_f32 s_floor_f32
s_trunc_f32 s_rndne_f32 s_cvt_f32_i32 s_cvt_f32_u32 s_cvt_i32_f32 s_cvt_u32_f32 s_cvt_f16_f32 s_cvt_f32_f16
s_cvt_pk_rtz_f16_f32 s_add_f16 s_sub_f16 s_mul_f16 s_fmac_f16 s_min_num_f16 s_max_num_f16 s_ceil_f16 s_floor_f16
s_trunc_f16 s_rndne_f16 s_minimum_f32 s_maximum_f32 s_minimum_f16 s_maximum_f16
v_s_rcp_f32 v_s_rsq_f32 v_s_sqrt_f32 v_s_exp_f32 v_s_log_f32
v_s_rcp_f16 v_s_rsq_f16 v_s_sqrt_f16 v_s_exp_f16 v_s_log_f16
"""

for _name in _NAMES.split():
    _row = MEANINGS[re.sub(r"^(v_)?s_", "v_", _name)]
    scalar(_name, f"{' '.join(_row.sources)} -> {' '.join(_row.results)}", _row.document)(_row.function)
for _type in ("f16", "f32"):
    for _word in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"):
        _row = MEANINGS[f"v_cmp_{_word}_{_type}"]
        _text = _row.document.replace("D[lane]", "SCC")
        scalar(f"s_cmp_{_word}_{_type}", f"{_type} {_type} -> scc", _text)(_row.function)


@scalar("s_cvt_hi_f32_f16", "u32 -> f32", "D = (float) S0[31:16].f16")
def high_half_to_single(value: Any) -> Any:
    return (value >> 16).astype(np.uint16).view(np.float16).astype(np.float32)
