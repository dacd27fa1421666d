"""The kernel of nested branches whose lanes all have their places, and one thing in it that is written wrong."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from dwarfgpu.program.code.code_object import opened
from tests.builders.judged_calls import Processor

FOLDER = Path(__file__).parents[2] / "fixtures" / "src"
SOURCE = FOLDER / "asm" / "lane-pc.s"

# the function with all lanes is called where the kernel would end; its caller's EXEC is in s34 meanwhile
CALL = """
before_call:
  s_mov_b32 s32, 0
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, whole_wave@rel32@lo+4
  s_addc_u32 s9, s9, whole_wave@rel32@hi+12
  s_swappc_b64 s[30:31], s[8:9]
after_call:
  s_endpgm
lex_end:
"""


@frozen
class LaneDefect:
    """A text in place of another, and the label at which execution must show that it is wrong."""

    name: str
    old: str
    new: str
    label: str
    behind: int = 0
    """How many bytes behind the label."""
    also: tuple[tuple[str, str], ...] = ()
    """More texts, each in place of another."""


def text_of(processor: Processor) -> str:
    text = SOURCE.read_text()
    text = text.replace("  s_endpgm\nlex_end:\n", CALL, 1).replace(".globl whole_wave", ".protected whole_wave", 1)
    text = text.replace(".protected whole_wave", ".protected whole_wave\n.globl whole_wave", 1)
    wide = processor.lanes == 64
    # EXEC of the caller: regx s34, with s35 for 64 lanes; then the same value again
    saved = (
        "0x10, 0x11, 0x08, 0x90, 0x42, 0x93, 0x04, 0x90, 0x43, 0x93, 0x04" if wide else "0x10, 0x01, 0x02, 0x90, 0x42"
    )
    text = text.replace("  all_lanes 34\n", f"  all_lanes 34\n.cfi_escape {saved}\n", 1)
    same = "0x11" if wide else "0x01"
    text = text.replace("ENTRY result_known, lex_end", "ENTRY result_known, before_call", 1)  # the callee changes v1
    # what is returned leaves the parameter where it is
    text = text.replace("  v_mov_b32_e32 v0, v1\n  s_setpc", "  v_mov_b32_e32 v4, v1\n  s_setpc", 1)
    return text.replace("  restore_exec 34\nwhole", f"  restore_exec 34\n.cfi_escape 0x08, {same}\nwhole", 1)


def assembled(processor: Processor, tools: tuple[str, str], folder: Path, defect: LaneDefect | None = None) -> str:
    """Assemble and link the kernel; return the path."""
    text = text_of(processor)
    if defect is not None:
        for old, new in ((defect.old, defect.new), *defect.also):
            assert text.count(old) == 1, defect
            text = text.replace(old, new)
    source, built, linked = (folder / f"lanes{end}" for end in (".s", ".o", ".co"))
    source.write_text(text)
    (folder / "src" / "asm").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "asm" / "lane-pc.c").write_text((FOLDER / "asm" / "lane-pc.c").read_text())
    words = [tools[0], "-triple", "amdgcn-amd-amdhsa", f"-mcpu={processor.name}", "-filetype=obj", "-dwarf-version=5"]
    words += ["-defsym", f"WAVE={processor.lanes}", "-defsym", "OLD_NUMBERS=1", "-I", str(FOLDER / "asm")]
    subprocess.run([*words, str(source), "-o", str(built)], check=True)
    subprocess.run([tools[1], "-shared", str(built), "-o", str(linked)], check=True)
    return str(linked)


SIZES = {"grid": 80, "work_group": 80, "args": ("zeros(80)", 40)}
"""So many work-items that some lanes never begin."""


def offset_of(path: str, label: str) -> int:
    """Return how far a label is behind the start of the section of code."""
    file = opened(path)
    section = next(each for each in file.image.sections if each.name == ".text")
    return file.image.symbol_named(label).value - section.address


def missed(judged: Any, processor: Processor, tools: tuple[str, str], folder: Path, defects: list[Any]) -> list[Any]:
    """Judge the kernel with each (rule or part, defect); return those not found at their instruction, with what is."""
    found = []
    for rule, defect in defects:
        path = assembled(processor, tools, folder, defect)
        findings = judged(path, "X", **SIZES).report.findings
        of_rule = [finding for finding in findings if rule in (finding.rule.name, finding.rule.part)]
        place = offset_of(path, defect.label) + defect.behind
        if not any(finding.offset <= place <= last_of(finding) for finding in of_rule):
            found.append((defect.name, [(hex(finding.offset), finding.message) for finding in findings]))
    return found


def last_of(finding: Any) -> int:
    """The offset of the last instruction that a finding is about."""
    ends = re.match(r"\S+\+0x([0-9a-f]+) to \+0x([0-9a-f]+): ", finding.message)
    return int(finding.offset) + (int(ends[2], 16) - int(ends[1], 16) if ends else 0)


def value_defects() -> Iterator[LaneDefect]:
    """Yield variables in registers that get other values, and some in registers that nothing has written yet."""
    vector = "    LANE_OF_VGPR {}\n  END\n  LIST_END\n\n.L{}_list"
    for name, register, following, others in (
        ("result", 1, "left", {2: ("arguments_known", 0), 3: ("arguments_known", 0)}),
        ("left", 3, "even", {1: ("even_known", 4)}),
    ):
        old = vector.format(register, following)
        for other, (label, behind) in others.items():
            yield LaneDefect(f"{name}-in-v{other}", old, vector.format(other, following), label, behind)
    old = '    .asciz "lane"\n    .byte 0, 6\n    .long .Ldie_int - .Lunit\n    EXPR\n      LANE_OF_VGPR 0\n'
    for other, label, behind in ((1, "result_known", -4), (1, "even_known", 4), (2, "result_known", -4)):
        yield LaneDefect(f"lane-in-v{other}-at-{label}", old, old.replace("VGPR 0", f"VGPR {other}"), label, behind)
    old = "    DW_OP_regx SGPR + 6\n"
    for other in (36, 40, 46):
        yield LaneDefect(f"limit-in-s{other}", old, old.replace("6", str(other)), "arguments_known")
    old = "    DW_OP_regx SGPR + 4\n    DW_OP_piece 4\n    DW_OP_regx SGPR + 5\n"
    yield LaneDefect("out-in-s36", old, old.replace("+ 5", "+ 37").replace("+ 4", "+ 36"), "arguments_known")
    yield LaneDefect("out-in-s45", old, old.replace("+ 5", "+ 45"), "arguments_known")
    old = "      DW_OP_lit 16\n      DW_OP_lit ASPACE_private_lane\n"
    new = old.replace("DW_OP_lit 16", "DW_OP_lit 31\n      DW_OP_lit 31\n      DW_OP_shl")
    yield LaneDefect("slots-elsewhere", old, new, "result_known", -4)
    old = "ENTRY result_known, before_call"
    yield LaneDefect("result-behind-call", old, "ENTRY result_known, lex_end", "after_call")
