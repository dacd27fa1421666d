"""A kernel that calls a function which saves registers in every way, with call frame information that is right.

The code is a list of instructions and of what they make true, so that a test can write one thing wrong.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr.asm import assemble
from dwarfgpu.program.code.code_object import CodeObject
from dwarfgpu.targets.resolve import resolve

PC, S, CFA = 16, 32, "cfa"


@frozen
class Processor:
    """What differs between processors."""

    name: str
    lanes: int

    @property
    def is_flat(self) -> bool:
        """Whether the stack pointer is an address of one lane, and memory of the stack is reached by scratch."""
        return self.name.startswith("gfx11")

    @property
    def exec(self) -> int:
        return 17 if self.lanes == 64 else 1

    @property
    def vector(self) -> int:
        return 2560 if self.lanes == 64 else 1536


GFX90A, GFX1100 = Processor("gfx90a", 64), Processor("gfx1100", 32)


@frozen
class Fact:
    """What is true of a register from here on. ``kind`` says which fields count."""

    register: str
    """``cfa``, ``pc``, ``exec``, ``s33``, ``v40``."""
    kind: str
    """same, register, lane, lanes, pieces, whole, masked, pointer"""
    other: str = ""
    """The register that has it, or that the address is computed from."""
    at: int = field(default=0, converter=int)
    """The first lane, or the offset in bytes of one lane."""
    space: int = 6
    is_swapped: bool = False
    """Whether pieces are in the wrong order."""
    mask: str = "exec"


@frozen
class Step:
    """An instruction, and what is true behind it."""

    text: str
    facts: tuple[Fact, ...] = field(default=())


def _steps(text: str) -> list[Step]:
    """Return the instructions of a text; three spaces part those of a line, and behind ``->`` is what becomes true."""
    steps = []
    for instruction in re.split(r"\n *| {3,}", text.strip()):
        words, _, fact = instruction.partition(" -> ")
        steps.append(Step(words, (Fact(*[word.strip("-") for word in fact.split()]),) if fact else ()))
    return steps


def steps_of(processor: Processor) -> tuple[list[Step], list[Step]]:
    """Return the kernel and the function: what they do, in the order of the code."""
    wide = processor.lanes == 64
    suffix, mask = ("b64", "exec") if wide else ("b32", "exec_lo")

    def pair(first: int) -> str:
        return f"s[{first}:{first + 1}]" if wide else f"s{first}"

    def store(register: int, at: int) -> str:
        if processor.is_flat:
            return f"scratch_store_b32 off, v{register}, s33 offset:{at}"
        return f"buffer_store_dword v{register}, off, s[0:3], s33 offset:{at}"

    def load(register: int, at: int) -> str:
        if processor.is_flat:
            return f"scratch_load_b32 v{register}, off, s33 offset:{at}"
        return f"buffer_load_dword v{register}, off, s[0:3], s33 offset:{at}"

    add = "v_add_nc_u32_e32" if processor.is_flat else "v_add_u32_e32"
    wait = "s_waitcnt vmcnt(0)"
    low = "" if wide else "_lo"
    frame, size = (0x10, 0x20) if processor.is_flat else (0x400, 0x800)
    buffer = "" if processor.is_flat else "s_add_u32 s0, s0, s7   s_addc_u32 s1, s1, 0   "
    kernel = f"""
        {buffer}s_movk_i32 s32, {frame:#x}                      s_movk_i32 s33, 0x77
        s_movk_i32 s34, 0x34        s_movk_i32 s35, 0x35        v_mov_b32_e32 v1, v0        {add} v40, 0x4000, v0
        {add} v41, 0x4100, v0       {add} v42, 0x4200, v0
        v_cmp_gt_u32_e32 vcc{low}, 20, v0                       s_and_saveexec_{suffix} {pair(36)}, vcc{low}
        s_getpc_b64 s[4:5]          s_add_u32 s4, s4, saving@rel32@lo+4
        s_addc_u32 s5, s5, saving@rel32@hi+12                   s_swappc_b64 s[30:31], s[4:5]
        s_mov_{suffix} {mask}, {pair(36)}                       s_endpgm
    """
    function = f"""
        s_nop 0                     s_mov_b32 s8, s33 -> s33 register s8
        s_mov_b32 s33, s32 -> cfa pointer s33                   s_or_saveexec_{suffix} {pair(6)}, -1 -> exec pieces s6
        {store(41, 4)} -> v41 whole - 4                         s_mov_{suffix} {mask}, {pair(6)} -> exec same
        s_mov_{suffix} {pair(6)}, 0                             v_writelane_b32 v41, s30, 0
        v_writelane_b32 v41, s31, 1 -> pc lanes v41             v_writelane_b32 v41, s34, 2 -> s34 lane v41 2
        v_writelane_b32 v41, s8, 3 -> s33 lane v41 3            s_mov_b32 s9, s35 -> s35 register s9
        {store(40, 0)} -> v40 masked v40                        {store(42, 8)} -> v42 masked v42 8
        s_add_u32 s32, s32, {size:#x}                           s_mov_b32 s8, 0             s_movk_i32 s34, 0x1234
        s_movk_i32 s35, 0x1235      v_mov_b32_e32 v40, 1        v_mov_b32_e32 v42, 2
        v_cmp_gt_u32_e32 vcc{low}, 10, v1
        s_and_saveexec_{suffix} {pair(10)}, vcc{low} -> exec pieces s10                     s_getpc_b64 s[4:5]
        s_add_u32 s4, s4, leaf@rel32@lo+4                       s_addc_u32 s5, s5, leaf@rel32@hi+12
        s_swappc_b64 s[30:31], s[4:5]                           s_mov_{suffix} {mask}, {pair(10)} -> exec same
        s_mov_{suffix} {pair(10)}, 0                            {load(42, 8)} -> v42 same   {wait}
        {load(40, 0)} -> v40 same   {wait}                      s_mov_b32 s35, s9 -> s35 same
        s_mov_b32 s9, 0             v_readlane_b32 s34, v41, 2 -> s34 same
        v_readlane_b32 s8, v41, 3 -> s33 register s8            v_readlane_b32 s31, v41, 1
        v_readlane_b32 s30, v41, 0 -> pc pieces s30             s_mov_b32 s32, s33
        s_or_saveexec_{suffix} {pair(6)}, -1 -> exec pieces s6                              {load(41, 4)} -> v41 same
        {wait}                      s_mov_{suffix} {mask}, {pair(6)} -> exec same
        s_mov_{suffix} {pair(6)}, 0 -> cfa pointer s32          s_mov_b32 s33, s8 -> s33 same
        s_mov_b32 s8, 0             s_setpc_b64 s[30:31]
    """
    return _steps(kernel), _steps(function)


# --- Assembly -----------------------------------------------------------------------------------------------------


def number(name: str, processor: Processor) -> int:
    """Return the DWARF number of a register."""
    if name in ("pc", "exec"):
        return PC if name == "pc" else processor.exec
    return (S if name[0] == "s" else processor.vector) + int(name[1:])


def expression(processor: Processor, text: str) -> bytes:
    target = resolve(f"amdgcn-{processor.name}{'-wave32' if processor.lanes == 32 else ''}")
    return assemble(text, dialects.get("llvm-user"), Format(8), target=target)


def leb(value: int) -> list[int]:
    out = []
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return out


def escape(*data: int) -> str:
    return ".cfi_escape " + ", ".join(f"{byte:#x}" for byte in data)


def directive(fact: Fact, processor: Processor) -> str:
    """Return the directive that states a fact."""
    lanes, wide = processor.lanes, processor.lanes == 64
    if fact.register == CFA:
        base = number(fact.other, processor)
        if not processor.is_flat:
            return escape(0x30, *leb(base), *leb(fact.at), fact.space)
        text = f"DW_OP_regx {base}; DW_OP_deref_size 4; DW_OP_lit5; DW_OP_shl; DW_OP_plus_uconst {fact.at}; "
        text += f"DW_OP_lit{fact.space}; DW_OP_LLVM_form_aspace_address"
        data = expression(processor, text)
        return escape(0x0F, *leb(len(data)), *data)
    register = number(fact.register, processor)
    if fact.kind == "same":
        return escape(0x08, *leb(register))
    if fact.kind == "register":
        return escape(0x09, *leb(register), *leb(number(fact.other, processor)))
    if fact.kind == "whole":
        return escape(0x05, *leb(register), *leb(fact.at * lanes // 4))
    other = number(fact.other, processor)
    if fact.kind == "lane":
        text = f"DW_OP_regx {other}; DW_OP_LLVM_offset_uconst {4 * fact.at}"
    elif fact.kind == "pieces":
        parts = [f"DW_OP_regx {other}; DW_OP_piece 4", f"DW_OP_regx {other + 1}; DW_OP_piece 4"]
        if not wide and fact.register == "exec":
            parts = [f"DW_OP_regx {other}"]
        text = "; ".join(reversed(parts) if fact.is_swapped else parts)
    elif fact.kind == "lanes":
        parts = [f"DW_OP_regx {other}; DW_OP_bit_piece 32 {32 * (fact.at + index)}" for index in (0, 1)]
        text = "; ".join(reversed(parts) if fact.is_swapped else parts)
    else:
        mask = f"DW_OP_LLVM_call_frame_entry_reg {number(fact.mask, processor)}; DW_OP_deref_size {lanes // 8}"
        if fact.mask != "exec":
            mask = f"DW_OP_regx {number(fact.mask, processor)}; DW_OP_deref_size 4"
        text = f"DW_OP_regx {other}; DW_OP_swap; DW_OP_LLVM_offset_uconst {fact.at * lanes}; {mask}; "
        text += f"DW_OP_LLVM_select_bit_piece 32 {lanes}"
    data = expression(processor, text)
    return escape(0x10, *leb(register), *leb(len(data)), *data)


def entry_facts() -> tuple[Fact, ...]:
    return Fact(CFA, "pointer", "s32"), Fact("pc", "pieces", "s30")


def body(name: str, entry: tuple[str, ...], steps: list[Step], processor: Processor, label: str) -> Iterator[str]:
    yield from (
        f".globl {name}",
        f".protected {name}",
        ".p2align 8",
        f".type {name},@function",
        f"{name}:",
        ".cfi_startproc",
        *entry,
    )
    for position, step in enumerate(steps):
        yield f"{label}{position}:"
        yield f"  {step.text}"
        yield from (directive(fact, processor) for fact in step.facts)
    yield from (".cfi_endproc", f".size {name}, .-{name}")


def assembly(processor: Processor, kernel: list[Step], function: list[Step], entry: tuple[Fact, ...]) -> str:
    of_kernel = (
        escape(0x0F, 4, *expression(processor, "DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address")),
        ".cfi_undefined 16",
    )
    at_entry = tuple(directive(fact, processor) for fact in entry)
    of_leaf = tuple(directive(fact, processor) for fact in entry_facts())
    lines = [
        f'.amdgcn_target "amdgcn-amd-amdhsa--{processor.name}"',
        ".cfi_sections .debug_frame",
        ".text",
        *body("leaf", of_leaf, [Step("v_mov_b32_e32 v1, v0"), Step("s_setpc_b64 s[30:31]")], processor, ".Lleaf"),
        *body("saving", at_entry, function, processor, ".Lsaving"),
        *body("calling", of_kernel, kernel, processor, ".Lcalling"),
        DESCRIPTOR.format(
            buffer="" if processor.is_flat else ".amdhsa_user_sgpr_private_segment_buffer 1",
            sgprs=2 if processor.is_flat else 6,
            more=".amdhsa_accum_offset 64" if processor.lanes == 64 else ".amdhsa_wavefront_size32 1",
            cpu=processor.name,
            lanes=processor.lanes,
            enable=".amdhsa_enable_private_segment 1"
            if processor.is_flat
            else ".amdhsa_system_sgpr_private_segment_wavefront_offset 1",
        ),
    ]
    return "\n".join(lines) + "\n"


DESCRIPTOR = """
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel calling
  {buffer}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count {sgprs}
  {enable}
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_private_segment_fixed_size 256
  .amdhsa_kernarg_size 8
  {more}
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{cpu}
amdhsa.kernels:
  - .name: calling
    .symbol: calling.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 256
    .wavefront_size: {lanes}
    .sgpr_count: 64
    .vgpr_count: 64
    .max_flat_workgroup_size: 256
.end_amdgpu_metadata
"""


@frozen
class Defect:
    """One thing that is written wrong, and where execution must show it."""

    name: str
    position: int
    """The instruction of the function at which it is wrong first."""
    function: tuple[Step, ...]
    entry: tuple[Fact, ...] = field(factory=entry_facts)


class Assembler:
    """Makes code objects with the tools of LLVM."""

    def __init__(self, processor: Processor, tools: tuple[str, str], folder: Path) -> None:
        self.processor = processor
        self.tools = tools
        self.folder = folder

    def code(self, text: str, name: str = "judged") -> str:
        source, built, linked = (self.folder / f"{name}{end}" for end in (".s", ".o", ".co"))
        source.write_text(text)
        words = [self.tools[0], "-triple", "amdgcn-amd-amdhsa", f"-mcpu={self.processor.name}", "-filetype=obj"]
        subprocess.run([*words, str(source), "-o", str(built)], check=True)
        subprocess.run([self.tools[1], "-shared", str(built), "-o", str(linked)], check=True)
        return str(linked)

    def with_defect(self, defect: Defect | None) -> str:
        """Return the path of the kernel with a defect, or of the one that is right."""
        kernel, function = steps_of(self.processor)
        entry = entry_facts()
        if defect is not None:
            function, entry = list(defect.function), defect.entry
        return self.code(assembly(self.processor, kernel, function, entry))


def offsets_of(path: str, count: int) -> list[int]:
    """Return how far each instruction of the function is behind the start of the section of code."""
    from dwarfgpu.isa.decoder import decode
    from dwarfgpu.program.code.code_object import opened

    file: CodeObject = opened(path)
    section = next(each for each in file.image.sections if each.name == ".text")
    symbol: Any = next(each for each in file.symbol_image.symbols() if each.name == "saving")
    processor, lanes = file.target.target.name.split("-")[1], file.target.target.lane_count
    offset, offsets = symbol.value - section.address, []
    for _index in range(count):
        offsets.append(offset)
        offset += decode(bytes(section.data[offset : offset + 20]), 0, processor, lanes).size
    return offsets


# --- Defects ------------------------------------------------------------------------------------------------------


def _with(function: list[Step], position: int, old: Fact, *new: Fact) -> tuple[Step, ...]:
    step = function[position]
    facts = tuple(fact for fact in step.facts if fact != old) + new
    return (*function[:position], evolve(step, facts=facts), *function[position + 1 :])


def defects_of(processor: Processor) -> Iterator[Defect]:
    """Yield code with one defect each: a wrong register, offset, lane, space, order, mask; early, late and missing."""
    _kernel, function = steps_of(processor)
    for position, step in enumerate(function):
        for fact in step.facts:
            name = f"{position}-{fact.register}"
            for what, wrong in _wrong(fact, processor):
                first = position + (4 if (fact.kind, what) == ("whole", "mask") else 1)  # where the register changes
                yield Defect(f"{name}-{what}", first, _with(function, position, fact, wrong))
            if not (fact.register == CFA and fact.other == "s32"):  # both are the same before
                before = function[position - 1]
                moved = _with(function, position, fact)
                early = (*moved[: position - 1], evolve(before, facts=(*before.facts, fact)), *moved[position:])
                yield Defect(f"{name}-early", position, early)
            if (fact.register, fact.kind, fact.other) in LATE:
                behind = function[position + 1]
                moved = _with(function, position, fact)
                later = (*moved[: position + 1], evolve(behind, facts=(*behind.facts, fact)), *moved[position + 2 :])
                yield Defect(f"{name}-late", position + 1, later)
            missing = _missing(function, position, fact)
            if missing is not None:
                yield Defect(f"{name}-missing", missing, _with(function, position, fact))
    for fact in entry_facts():
        for what, wrong in _wrong(fact, processor):
            yield Defect(
                f"entry-{fact.register}-{what}",
                0,
                tuple(function),
                tuple(wrong if each == fact else each for each in entry_facts()),
            )


LATE = {("exec", "pieces", "s6"), ("exec", "pieces", "s10")}
"""The facts that are needed at once, because the instruction itself changes the register."""


def _missing(function: list[Step], position: int, fact: Fact) -> int | None:
    """Return the instruction at which a fact is missed first, if it is at all."""
    overwritten = {
        "s33": "s_mov_b32 s33, s32", "s34": "s_movk_i32 s34", "s35": "s_movk_i32 s35", "v40": "v_mov_b32_e32 v40",
        "v42": "v_mov_b32_e32 v42", "v41": "v_writelane_b32 v41, s30"}  # fmt: skip
    if fact.kind == "same":
        gone = {"exec": ("s_mov_b64 s[6:7], 0", "s_mov_b64 s[10:11], 0", "s_mov_b32 s6, 0", "s_mov_b32 s10, 0"),
                "s35": ("s_mov_b32 s9, 0",), "s33": ("s_mov_b32 s8, 0",)}  # fmt: skip
        return position + 2 if function[position + 1].text in gone.get(fact.register, ()) else None
    if fact.register == "exec" or (fact.register == "pc" and fact.kind == "lanes"):
        if fact.register == "exec":
            return position + 1
        return None  # at the call that follows, which is not this function
    if fact.register == "s33" and fact.kind == "lane":
        return next(i for i in range(position, len(function)) if function[i].text == "s_mov_b32 s8, 0") + 1
    if fact.register == CFA or (fact.register == "s33" and position > 20):
        return None
    beginning = overwritten.get(fact.register)
    for later in range(position + 1, len(function)):
        if beginning is not None and function[later].text.startswith(beginning):
            return later + 1
    return None


def _wrong(fact: Fact, processor: Processor) -> Iterator[tuple[str, Fact]]:
    """Yield what can be written wrong in a fact."""
    if fact.kind == "same":
        return
    if fact.kind == "pointer":
        yield "register", evolve(fact, other="s34" if fact.other == "s33" else "s35")
        yield "offset", evolve(fact, at=4 * processor.lanes)
        yield "space", evolve(fact, space=5)
    elif fact.kind == "register":
        yield "register", evolve(fact, other="s32")
    elif fact.kind == "lane":
        yield "lane", evolve(fact, at=fact.at ^ 1)
        yield "register", evolve(fact, other="v1")
    elif fact.kind == "lanes":
        yield "lane", evolve(fact, at=1)
        yield "order", evolve(fact, is_swapped=True)
        yield "register", evolve(fact, other="v1")
    elif fact.kind == "pieces":
        if fact.register == "pc":
            yield "order", evolve(fact, is_swapped=True)
        yield "register", evolve(fact, other="s34")
    elif fact.kind == "whole":
        yield "offset", evolve(fact, at=fact.at + 32)
        yield "mask", evolve(fact, kind="masked", other=fact.register)
    else:
        yield "offset", evolve(fact, at=fact.at + 4)
        yield "register", evolve(fact, other="v1")
        yield "mask", evolve(fact, kind="whole")
        yield "other-mask", evolve(fact, mask="s34")
