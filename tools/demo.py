"""The main job on a shipped example: where a variable of a GPU kernel lives, in every lane, and what it holds."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = "docs/examples/wavefront.json"

VARIABLE = "DW_OP_regx v1; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset"
SPILLED = (
    "DW_OP_regx v1; DW_OP_const2u 0x800; DW_OP_lit6; DW_OP_LLVM_form_aspace_address; DW_OP_const1u 0x0f; "
    "DW_OP_LLVM_select_bit_piece 32 8"
)
STEPS = (
    (
        "A DWARF expression is a program. This one adds:",
        'eval --trace --ops "DW_OP_lit1; DW_OP_plus_uconst 4"',
    ),
    (
        f"A variable in vector register v1, in eight lanes of the wave in {STATE}:",
        f'eval --state {STATE} --lane 0-7 --read unsigned32 --ops "{VARIABLE}"',
    ),
    (
        "The same register spilled by a function for the lanes that were active (mask 0x0f):",
        f'eval --state {STATE} --read unsigned32x8 --ops "{SPILLED}"',
    ),
    ("What an operation does, and where the text says so:", "ops DW_OP_LLVM_select_bit_piece"),
    ("A mistake is found without running anything:", 'verify --cfi --ops "DW_OP_lit8; DW_OP_call_frame_cfa"'),
)


def main() -> int:
    """Run the steps."""
    for text, command in STEPS:
        print(f"\n{text}\n$ dwarfgpu {command}", flush=True)
        subprocess.run([sys.executable, "-m", "dwarfgpu", *shlex.split(command)], cwd=ROOT, check=False)
    print("\ndocs/tutorial.md goes on from here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
