"""Line tables of which one row is wrong, and a loop whose rows are those that a compiler would write."""

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.builders.judged_calls import Processor
from tests.builders.judged_lanes import LaneDefect, text_of

FIRST = "arguments_known", "lex_1_saved", "left_known", "even_known", "rest_known", "lex_1_end"
"""Where the location of a parameter may begin; the first is right."""
ROWS = re.compile(r"^  \.loc 0 (\d+) \d+.*$", re.MULTILINE)
BEFORE = {11: 10, 12: 11, 13: 12, 14: 13, 16: 12, 17: 16, 19: 17, 21: 10, 22: 21, 24: 22, 25: 24}
"""The statement that a lane executes before that of a line."""


def statement_defects(processor: Processor) -> Iterator[tuple[str, LaneDefect]]:
    """Yield what can be wrong with rows of the line table and with parameters, with the rule that finds it."""
    rows = list(ROWS.finditer(text_of(processor)))
    following = {row[0]: after[0] for row, after in pairwise(rows)}
    for row in rows:
        line, text = int(row[1]), row[0]
        label = f"row_{line}"
        if line not in (28, 31):
            off = f"{label}:\n{text.split('//')[0].rstrip()} is_stmt 0\n{{between}}"
            yield "none", _between(processor, text, following.get(text), off, f"none-{line}", label)
        if line in BEFORE:
            for other in (5, 9, 10):
                if other < BEFORE[line]:
                    moved = text.replace(f".loc 0 {line} ", f".loc 0 {other} ", 1)
                    yield "back", LaneDefect(f"back-{line}-to-{other}", text, f"{label}:\n{moved}", label)
    first = next(row[0] for row in rows if row[1] == "9")
    for row in rows:
        line, text = int(row[1]), row[0]
        if line in (10, 24, 25):  # a statement before those of the line that nothing executes
            unreached = f"  s_branch .Lbehind\n  .loc 0 {line} 0\n  s_nop 0\n.Lbehind:\n{first}"
            defect = LaneDefect(f"unreached-{line}", first, unreached, f"row_{line}")
            yield (
                "unreached",
                LaneDefect(
                    defect.name, f"{text}\n", f"row_{line}:\n{text}\n", f"row_{line}", also=((first, unreached),)
                ),
            )
    for name in ("out", "limit"):
        old = f".L{name}_list:\n  ENTRY {FIRST[0]}, lex_end\n"
        for start in FIRST[1:]:
            yield "parameter", LaneDefect(f"{name}-{start}", old, old.replace(FIRST[0], start), "result_known", -4)
    old = "    DW_OP_regx SGPR + 6\n"
    yield "parameter", LaneDefect("limit-elsewhere", old, old.replace("6", "45"), "result_known", -4)


def _between(processor: Processor, text: str, following: str | None, wrong: str, name: str, label: str) -> LaneDefect:
    """Return a row without is_stmt, up to the next row, which has it again."""
    if following is None:
        return LaneDefect(name, text, wrong.format(between=""), label)
    whole = text_of(processor)
    between = whole[whole.index(text) + len(text) : whole.index(following)]
    again = f"{following.split('//')[0].rstrip()} is_stmt 1"
    return LaneDefect(name, text + between + following, wrong.format(between=between.lstrip("\n")) + again, label)


LOOP_SOURCE = """\
kernel void loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int square = i * i;
    sum += square;
  }
  store(sum,
        n);
}
"""
LOOP = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.file 0 "." "loop.c"
.cfi_sections .debug_frame
.text
.globl loop
.p2align 8
.type loop,@function
loop:
.cfi_startproc
.cfi_escape 0x0f, 0x04, 0x30, 0x36, 0xe9, 0x02
.cfi_undefined 16
  .loc 0 1 0
  s_nop 0
  .loc 0 2 0 prologue_end
  s_mov_b32 s2, 0
  .loc 0 3 0
  s_mov_b32 s3, 0
  s_branch check
body:
  .loc 0 {first} 0
  s_mul_i32 s4, s3, s3
second:
  .loc 0 {second} 0
  s_add_u32 s2, s2, s4
  .loc 0 3 0
  s_add_u32 s3, s3, 1
check:
  s_cmp_lt_u32 s3, 3
  s_cbranch_scc1 body
  .loc 0 7 0
  s_nop 0
  .loc 0 8 0
  s_nop 0
called:
  .loc 0 {called} 0
  s_nop 0
  .loc 0 9 0
  s_endpgm
.Lend:
.cfi_endproc
.size loop, . - loop
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel loop
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - {{.name: loop, .symbol: loop.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 4, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 16, .vgpr_count: 8,
     .max_flat_workgroup_size: 256}}
.end_amdgpu_metadata
.section .debug_abbrev,"",@progbits
.Labbreviations:
  .byte 1, 0x11, 0, 0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0, 0
.section .debug_info,"",@progbits
  .long .Lunit_end - .Lunit
.Lunit:
  .short 5
  .byte 1, 8
  .long .Labbreviations
  .byte 1
  .asciz "loop.c"
  .asciz "."
  .long .Llines
  .quad loop
  .long .Lend - loop
.Lunit_end:
.section .debug_line,"",@progbits
.Llines:
"""


def assembled_loop(tools: tuple[str, str], folder: Path, *, first: int = 4, second: int = 5, called: int = 7) -> str:
    """Assemble and link a kernel with a loop; the lines of its body, and of what is behind, may be others."""
    (folder / "loop.c").write_text(LOOP_SOURCE)
    source, built, linked = (folder / f"loop{end}" for end in (".s", ".o", ".co"))
    source.write_text(LOOP.format(first=first, second=second, called=called))
    words = [tools[0], "-triple", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj", "-dwarf-version=5"]
    subprocess.run([*words, str(source), "-o", str(built)], check=True)
    subprocess.run([tools[1], "-shared", str(built), "-o", str(linked)], check=True)
    return str(linked)
