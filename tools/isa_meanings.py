"""Which operations have no meaning: found by writing examples of each, which a test compares."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dwarfgpu.execution.faults import NO_SOURCE, SOURCES_DIFFER
from dwarfgpu.program.code.instruction_coverage import coverage_of

if TYPE_CHECKING:
    from collections.abc import Iterable

GOLDEN = Path(__file__).parents[1] / "tests/golden/isa-without-meaning.txt"
MOST_NAMES = 45
"""The operations that are listed by name."""
PROCESSORS = (
    ("gfx900", 64), ("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1100", 32),
    ("gfx1200", 32), ("gfx1250", 32),
)  # fmt: skip


def without_meaning(processors: Iterable[tuple[str, int]] = PROCESSORS) -> dict[str, dict[str, None]]:
    """Return the operations without a meaning, and the processors of each."""
    missing: dict[str, dict[str, None]] = {}
    for processor, lanes in processors:
        for name in coverage_of([processor], lanes).without_meaning:
            missing.setdefault(name, {})[processor] = None
    return missing


FAMILIES = (
    ("images, samplers and ray tracing", r"image_|ds_bvh_stack"),
    ("exports", r"exp$|export$"),
    ("interpolation and parameters of pixels", r"v_interp_|l?ds_(param|direct)_load|v_screen_partition"),
    ("local memory with two addresses, one of which is the other's", r"ds_\w+_src2_"),
    ("named barriers, which the RDNA4 document does not have", r"s_barrier_"),
    ("loads that transpose matrices", r"global_load_tr_|ds_read_b\d+_tr_"),
    (SOURCES_DIFFER, r"(ds|global)_load_tr6_|v_cvt_(scalef32_sr_pk(8|16)|sr_pk)_"),
    (NO_SOURCE, r"tensor_|v_(swmmac|wmma)_"),
    ("numbers of 4, 6 and 8 bits with a scale", r"v_mfma_(scale_|ld_scale_|f32_\w+_f8f6f4)"),
    ("loads and stores of blocks of registers", r"(global|scratch)_(load|store)_block"),
    ("scalar access of scratch memory", r"s_scratch_"),
    ("forks, joins and loops of half waves", r"s_cbranch_(g_fork|i_fork|join)|s_subvector_|s_setvskip"),
    ("trap handlers, and registers while a wave runs", r"s_rfe_|s_setkill|s_alloc_vgpr"),
)
"""What the operations are for, as far as that can be told from their names."""
HEAD = """\
# The operations that `run` cannot execute, by `python3 tools/dev.py docs`, of {processors}.
# Also without a meaning: global data share, loads with `tfe`, clamped results of a few integer operations
# (`v_mad_u64_u32`, `v_mqsad_u32_u8`), packed integers with another sign, SDWA with an unknown part, and stores of
# buffers whose result no document tells (an unknown number of a format, or fewer components than the format has).
"""


def listing() -> str:
    """Return the operations that have no meaning: what they are for, on which processors, and their names."""
    missing = without_meaning()
    rows = {title: sorted(name for name in missing if re.match(pattern, name)) for title, pattern in FAMILIES}
    rows["others"] = sorted(missing.keys() - {name for names in rows.values() for name in names})
    everywhere = [processor for processor, _ in PROCESSORS]
    lines = []
    for title, names in rows.items():
        for processors in dict.fromkeys(tuple(missing[name]) for name in names):
            same = [name for name in names if tuple(missing[name]) == processors]
            where = "all" if list(processors) == everywhere else " ".join(processors)
            shown = " ".join(same) if len(same) <= MOST_NAMES else f"{len(same)}, such as {same[0]}"
            lines.append(f"{title} | {where} | {shown}\n")
    return HEAD.format(processors=", ".join(everywhere)) + "".join(lines)
