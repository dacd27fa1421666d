"""A kernel with variables in every kind of place, for two processors, and locations of it that are written wrong."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve, frozen

from tests.builders.judged_calls import Processor

FOLDER = Path(__file__).parents[2] / "fixtures" / "src" / "asm"
GFX942, GFX1100 = Processor("gfx942", 64), Processor("gfx1100", 32)
SOURCE = """\
// What the code below would be made from.
struct pair { int low, high; };
kernel void steps(int *out, int limit) {
  int lane = WORK_ITEM_ID;
  int left = lane * 2;
  long wide = (long)(lane + 1) << 32 | left;
  struct pair both = {left, limit};
  int stored = lane + 7;
  for (int step = 0; step < 3; ++step) {
    left = left + step + 1;
    stored = stored + left;
  }
  int result = left - limit;
  result = result * 3;
  out[lane] = result + stored + left + limit + (int)(wide >> 32) + both.low + both.high;
}
"""
TYPES = {"out": "pointer", "limit": "int", "lane": "int", "left": "int", "wide": "long", "both": "pair",
         "stored": "int", "step": "int", "result": "int"}  # fmt: skip
LINES = {"out": 3, "limit": 3, "lane": 4, "left": 5, "wide": 6, "both": 7, "stored": 8, "step": 9, "result": 13}


@frozen
class Piece:
    """Where a variable is, or four bytes of it: an element of a vector register, a scalar register, or memory."""

    kind: str
    """lane, scalar, memory"""
    number: int
    """The register, or the offset."""
    space: int = 5
    has_lane: bool = True
    shift: int = 2

    def text(self) -> str:
        if self.kind == "memory":
            return f"DW_OP_lit {self.number}\n DW_OP_lit {self.space}\n DW_OP_LLVM_form_aspace_address\n"
        if self.kind == "scalar":
            return f"DW_OP_regx 32 + {self.number}\n"
        lane = f"DW_OP_LLVM_push_lane\n DW_OP_lit {self.shift}\n DW_OP_shl\n DW_OP_LLVM_offset\n"
        return f"DW_OP_regx VGPR + {self.number}\n {lane if self.has_lane else ''}"


@frozen
class Step:
    """An instruction: its text, its statement if one begins there, and where variables are behind it."""

    text: str
    line: int = 0
    column: int = 1
    places: tuple[tuple[str, tuple[Piece, ...]], ...] = ()
    label: str = ""


@frozen
class ListedPlace:
    """A range of a location list, by the numbers of its first step and of the one behind it."""

    name: str
    first: int
    last: int
    pieces: tuple[Piece, ...]


@frozen
class LocationDefect:
    """A location that is wrong, and the step at which running shows it first."""

    name: str
    ranges: tuple[ListedPlace, ...]
    step: int


def v(number: int) -> Piece:
    return Piece("lane", number)


def s(number: int) -> Piece:
    return Piece("scalar", number)


def steps_of(processor: Processor) -> list[Step]:
    """Return the code. A statement begins at nearly every instruction, as compilers have it with their columns."""
    wide = processor.lanes == 64
    b32, add = ("dword", "v_add_u32_e32") if wide else ("b32", "v_add_nc_u32_e32")
    two, subtract = ("dwordx2", "v_subrev_u32_e32") if wide else ("b64", "v_subrev_nc_u32_e32")
    memory = Piece("memory", 16)
    return [
        Step(f"s_load_{two} s[4:5], s[0:1], 0x0", 3),
        Step(f"s_load_{b32} s6, s[0:1], 0x8"),
        Step("s_waitcnt lgkmcnt(0)", places=(("out", (s(4), s(5))), ("limit", (s(6),)))),
        Step("v_mov_b32_e32 v1, v0", 4, 14, (("lane", (v(1),)),)),
        Step("v_lshlrev_b32_e32 v2, 1, v1", 5, 19, (("left", (v(2),)),)),
        Step("v_mov_b32_e32 v4, v2", 6, 41),
        Step(f"{add} v5, 1, v1", 6, 26, (("wide", (v(4), v(5))),)),
        Step("v_mov_b32_e32 v6, v2", 7, 22, (("both", (v(6), s(6))),)),
        Step(f"{add} v7, 7, v1", 8, 21),
        Step(f"scratch_store_{b32} off, v7, off offset:16", 8, 7),
        Step("s_waitcnt vmcnt(0)" if wide else "s_waitcnt_vscnt null, 0x0", places=(("stored", (memory,)),)),
        Step("s_mov_b32 s8, 0", 9, 12, (("step", (s(8),)),)),
        Step("s_cmp_lt_i32 s8, 3", 9, 27, label="loop"),
        Step("s_cbranch_scc0 done", 9, 3),
        Step("v_add_u32_e32 v8, s8, v2" if wide else "v_add_nc_u32_e32 v8, s8, v2", 10, 17),
        Step(f"{add} v8, 1, v8", 10, 24, (("left", (v(8),)),)),
        Step(f"scratch_load_{b32} v9, off, off offset:16", 11, 14),
        Step("s_waitcnt vmcnt(0)"),
        Step(f"{add} v9, v9, v8", 11, 21),
        Step(f"scratch_store_{b32} off, v9, off offset:16", 11, 12),
        Step("s_waitcnt vmcnt(0)" if wide else "s_waitcnt_vscnt null, 0x0"),
        Step("v_mov_b32_e32 v2, v8", 12, 3, (("left", (v(2),)),)),
        Step("s_add_i32 s8, s8, 1", 9, 32),
        Step("s_branch loop", 9, 3),
        Step(f"{subtract} v10, s6, v2", 13, 21, (("result", (v(10),)),), label="done"),
        Step("v_mul_lo_u32 v11, v10, 3", 14, 19, (("result", (v(11),)),)),
        Step("v_lshlrev_b32_e32 v12, 2, v0", 15, 3),
        Step(f"global_store_{b32} v12, v11, s[4:5]"),
        Step("s_endpgm", 16, 1),
    ]


def ranges_of(steps: list[Step]) -> list[ListedPlace]:
    """Return the ranges of the location lists that are right."""
    ranges: list[ListedPlace] = []
    current: dict[str, tuple[int, tuple[Piece, ...]]] = {}
    for number, step in enumerate(steps, 1):
        for name, pieces in step.places:
            if name in current:
                ranges.append(ListedPlace(name, current[name][0], number, current[name][1]))
            current[name] = number, pieces
    ends = {"step": next(number for number, step in enumerate(steps) if step.label == "done")}
    for name, (first, pieces) in current.items():
        ranges.append(ListedPlace(name, first, ends.get(name, len(steps)), pieces))
    return ranges


def defects_of(processor: Processor) -> Iterator[LocationDefect]:
    """Yield locations with one thing wrong each."""
    steps = steps_of(processor)
    right = ranges_of(steps)

    def row(number: int, *, behind: int = 0) -> int | None:
        """Return the first step from one on that begins a statement behind the prologue."""
        found = [index for index in range(max(number, 3), len(steps)) if steps[index].line]
        return found[behind] if len(found) > behind else None

    def defect(name: str, old: ListedPlace, *new: ListedPlace, step: int) -> LocationDefect:
        others = [place for place in right if place is not old]
        return LocationDefect(f"{old.name}-{old.first}-{name}", (*others, *new), step)

    for place in right:
        first = row(place.first)
        if first is None or first >= place.last:
            continue
        for index, piece in enumerate(place.pieces):

            def changed(wrong: Piece, place: ListedPlace = place, index: int = index) -> ListedPlace:
                return evolve(place, pieces=(*place.pieces[:index], wrong, *place.pieces[index + 1 :]))

            if piece.kind == "memory":
                for space in (0, 3, 6):
                    yield defect(f"space-{space}", place, changed(evolve(piece, space=space)), step=first)
                for offset in (4, 12, 20):
                    yield defect(f"offset-{offset}", place, changed(evolve(piece, number=offset)), step=first)
                continue
            others = (13, 14) if piece.kind == "lane" else (7, 20)
            for other in others:
                yield defect(f"register-{index}-{other}", place, changed(evolve(piece, number=other)), step=first)
            if piece.kind == "lane":
                yield defect(f"mask-{index}", place, changed(evolve(piece, has_lane=False)), step=first)
                yield defect(f"shift-{index}", place, changed(evolve(piece, shift=3)), step=first)
        if len(place.pieces) > 1:
            yield defect("order", place, evolve(place, pieces=place.pieces[::-1]), step=first)
        second = row(place.first, behind=1)
        if second is not None and second < place.last:
            yield defect("late", place, evolve(place, first=second), step=first)
        last = max(index for index in range(place.first, place.last) if steps[index].line and steps[index].line < 16)
        if last > first:
            yield defect("short", place, evolve(place, last=last), step=last)
        earlier = next((each for each in right if each.name == place.name and each.last == place.first), None)
        if earlier is not None and second is not None and not steps[place.first - 1].text.startswith("v_mov"):
            # a copy leaves the value where it was, so the old place is right as well
            rest = [each for each in right if each not in (place, earlier)]
            moved = evolve(earlier, last=second), evolve(place, first=second)
            yield LocationDefect(f"{place.name}-{place.first}-stale", (*rest, *moved), first)


def assembly(processor: Processor, ranges: tuple[ListedPlace, ...]) -> str:
    wide = processor.lanes == 64
    steps = steps_of(processor)
    code = []
    for number, step in enumerate(steps):
        code.append(f".Lstep{number}:")
        if step.label:
            code.append(f"{step.label}:")
        if step.line:
            end = " prologue_end" if number == 3 else ""
            code.append(f"  .loc 0 {step.line} {step.column}{end}")
        code.append(f"  {step.text}")
    code.append(f".Lstep{len(steps)}:")
    lists, entries = [], []
    for name in TYPES:
        lists.append(f".L{name}_list:")
        for place in sorted((each for each in ranges if each.name == name), key=lambda each: each.first):
            pieces = [piece.text() + ("DW_OP_piece 4\n" if len(place.pieces) > 1 else "") for piece in place.pieces]
            lists.append(f"  .byte DW_LLE_offset_pair\n  .uleb128 .Lstep{place.first} - steps\n")
            lists.append(f"  .uleb128 .Lstep{place.last} - steps\n  EXPR\n {''.join(pieces)}  END")
        lists.append("  .byte DW_LLE_end_of_list")
    for name, kind in TYPES.items():
        if name == "step":
            done = next(number for number, step in enumerate(steps) if step.label == "done")
            first = next(number for number, step in enumerate(steps) if step.line == 9)
            entries.append(f"  .uleb128 5\n  ADDR .Lstep{first}\n  .long .Lstep{done} - .Lstep{first}")
        code_number = 3 if name in ("out", "limit") else 4
        entries.append(
            f'  .uleb128 {code_number}\n  .asciz "{name}"\n  .byte 0, {LINES[name]}\n'
            f"  .long .Ldie_{kind} - .Lunit\n  OFFSET .L{name}_list"
        )
        if name == "step":
            entries.append("  .byte 0")
    return _TEMPLATE.format(
        cpu=processor.name, lanes=processor.lanes, vgpr=processor.vector,
        wave="  .amdhsa_accum_offset 16" if wide else "  .amdhsa_wavefront_size32 1",
        flat="",                                               code="\n".join(code),
        lists="\n".join(lists),                                entries="\n".join(entries),
        abbreviations="\n".join(_abbreviations(_ABBREVIATIONS)))  # fmt: skip


def assembled(
    processor: Processor, tools: tuple[str, str], folder: Path, ranges: tuple[ListedPlace, ...] | None = None
) -> str:
    (folder / "steps.c").write_text(SOURCE)
    source, built, linked = (folder / f"steps.{processor.name}{end}" for end in (".s", ".o", ".co"))
    source.write_text(assembly(processor, tuple(ranges_of(steps_of(processor))) if ranges is None else ranges))
    words = [tools[0], "-triple", "amdgcn-amd-amdhsa", f"-mcpu={processor.name}", "-filetype=obj", "-dwarf-version=5"]
    subprocess.run([*words, "-I", str(FOLDER), str(source), "-o", str(built)], check=True)
    subprocess.run([tools[1], "-shared", str(built), "-o", str(linked)], check=True)
    return str(linked)


def _abbreviations(text: str) -> Iterator[str]:
    """Yield the assembly of a table of abbreviations: tags, whether they have children, attributes with their forms."""
    for number, line in enumerate(text.split("\n"), 1):
        tag, children, *attributes = line.split()
        yield f"  ABBREV {number}, DW_TAG_{tag}, {children}"
        yield from ("    ATTR DW_AT_{}, DW_FORM_{}".format(*each.split(":")) for each in attributes)
        yield "  ABBREV_END"


_ABBREVIATIONS = """\
compile_unit 1 producer:string language:data2 name:string comp_dir:string stmt_list:sec_offset low_pc:addr high_pc:data4
subprogram 1 name:string decl_file:data1 decl_line:data1 low_pc:addr high_pc:data4 external:flag_present
formal_parameter 0 name:string decl_file:data1 decl_line:data1 type:ref4 location:sec_offset
variable 0 name:string decl_file:data1 decl_line:data1 type:ref4 location:sec_offset
lexical_block 1 low_pc:addr high_pc:data4
base_type 0 name:string encoding:data1 byte_size:data1
pointer_type 0 type:ref4
structure_type 1 name:string byte_size:data1
member 0 name:string type:ref4 data_member_location:data1"""
_TEMPLATE = """\
.include "dwarf.inc"
.set VGPR, {vgpr}
.amdgcn_target "amdgcn-amd-amdhsa--{cpu}"
.file 0 "." "steps.c"
.cfi_sections .debug_frame
.text
.globl steps
.p2align 8
.type steps,@function
steps:
.cfi_startproc
.cfi_escape 0x0f, 0x04, 0x30, 0x36, 0xe9, 0x02
.cfi_undefined 16
{code}
.Lstep_end:
.cfi_endproc
.size steps, . - steps

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel steps
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_enable_private_segment 1
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 48
  .amdhsa_private_segment_fixed_size 32
  .amdhsa_kernarg_size 16
{wave}
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{cpu}
amdhsa.kernels:
  - .name: steps
    .symbol: steps.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 32
    .wavefront_size: {lanes}
    .sgpr_count: 48
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: out, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.name: limit, .size: 4, .offset: 8, .value_kind: by_value}}
.end_amdgpu_metadata

.section .debug_loclists,"",@progbits
  LENGTH .Llists_end
  .short 5
  .byte ADDRESS
  .byte 0
  .long 0
{lists}
.Llists_end:

.section .debug_abbrev,"",@progbits
.Labbreviations:
{abbreviations}
  .byte 0

.section .debug_info,"",@progbits
.Lunit:
  LENGTH .Lunit_end
  .short 5
  .byte DW_UT_compile
  .byte ADDRESS
  OFFSET .Labbreviations
  .uleb128 1
  .asciz "hand-written assembly"
  .short DW_LANG_C99
  .asciz "steps.c"
  .asciz "."
  OFFSET .Llines
  ADDR steps
  .long .Lstep_end - steps
.Ldie_int:
  .uleb128 6
  .asciz "int"
  .byte DW_ATE_signed, 4
.Ldie_long:
  .uleb128 6
  .asciz "long"
  .byte DW_ATE_signed, 8
.Ldie_pointer:
  .uleb128 7
  .long .Ldie_int - .Lunit
.Ldie_pair:
  .uleb128 8
  .asciz "pair"
  .byte 8
  .uleb128 9
  .asciz "low"
  .long .Ldie_int - .Lunit
  .byte 0
  .uleb128 9
  .asciz "high"
  .long .Ldie_int - .Lunit
  .byte 4
  .byte 0
  .uleb128 2
  .asciz "steps"
  .byte 0, 3
  ADDR steps
  .long .Lstep_end - steps
{entries}
  .byte 0
  .byte 0
.Lunit_end:

.section .debug_line,"",@progbits
.Llines:
"""
