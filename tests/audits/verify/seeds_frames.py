from collections.abc import Callable
from functools import partial
from typing import Any

from tests.builders.dwarf import build, die, unit
from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.frames import FrameBuilder
from tests.builders.hostile import CODE, SIZE, gpu, ops
from tests.builders.seeds import FIXTURES, Seed

ENTRY_OF = "DW_OP_LLVM_call_frame_entry_reg {}"
CFA_OF = "DW_OP_LLVM_call_frame_entry_reg s33; DW_OP_deref_size 4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
CFA = "LLVM_def_aspace_cfa 64 0 5"
"""The CFA at the address in s32, in private memory."""


def kernel_with_a_caller() -> bytes:
    """A kernel with a CFA from which the rule that its return address is undefined is taken away."""
    data = (FIXTURES / "asm/lane-pc.gfx90a.w64.co").read_bytes()
    assert data.count(b"\x07\x10") == 1
    return data.replace(b"\x07\x10", b"\0\0")


def instructions(rule: str, name: str, text: str | bytes) -> Seed:
    return Seed(
        rule if "-" in rule and rule.startswith("expression") else f"frame-{rule}", name, partial(gpu, rules=text)
    )


def made(fill: Callable[[FrameBuilder], Any]) -> bytes:
    builder = FrameBuilder()
    fill(builder)
    return gpu(sections={".debug_frame": builder.data})


def section(rule: str, name: str, fill: Callable[[FrameBuilder], Any]) -> Seed:
    return Seed(f"frame-{rule}", name, partial(made, fill))


def cie(rule: str, name: str, text: str | bytes = CFA, **fields: Any) -> Seed:
    def fill(builder: FrameBuilder) -> None:
        size = 4 if fields.get("address_size") == 4 else 8
        segment = b"\0" * fields.get("segment_size", 0)
        location = CODE.to_bytes(size, "little") + SIZE.to_bytes(size, "little")
        at = builder.cie(text, **({"code": 4, "data": 4} | fields))
        builder.fde(at, CODE, SIZE, location=location, before=segment)

    return section(rule, name, fill)


def fdes(rule: str, name: str, *ranges: tuple[int, int]) -> Seed:
    """FDEs with a defect in their ranges."""

    def fill(builder: FrameBuilder) -> None:
        at = builder.cie(CFA, code=4, data=4)
        for low, size in ranges:
            builder.fde(at, low, size)

    return section(rule, name, fill)


def on_host(
    rules: str,
    *entries: Any,
    data: int = -8,
    augmentation: str = "",
    start: str = "def_cfa 7 8; offset 16 1",
    code: bytes = b"",
) -> bytes:
    """A program for x86-64 of one function; register 7 is rsp, 16 the return address."""
    frames = FrameBuilder("eh_frame")
    z = b"\0" if augmentation else b""
    cie = frames.cie(start, data=data, augmentation=augmentation, augmentation_data=z)
    frames.fde(cie, CODE, SIZE, rules, augmentation_data=z) if z else frames.fde(cie, CODE, SIZE, rules)
    elf = ElfBuilder(machine=62, type=3, osabi=0, abi_version=0)
    elf.section(".text", code.ljust(SIZE, b"\0"), flags=SHF_ALLOC | 4, address=CODE, align=16)
    elf.section(".eh_frame", frames.data, flags=SHF_ALLOC, address=CODE + 0x1000)
    for section, bytes_ in build(unit(die("compile_unit", *entries))).sections.items() if entries else ():
        elf.section(section, bytes_)
    return elf.build()


def slot(rule: str, name: str, rules: str, **fields: Any) -> Seed:
    return Seed(f"frame-slot-{rule}", name, partial(on_host, rules, **fields))


def expression(text: str) -> str:
    return ops(text).hex()


def lonely(builder: FrameBuilder) -> None:
    builder.cie(CFA)
    builder.fde(0x400, CODE, SIZE)


def in_the_middle(builder: FrameBuilder) -> None:
    builder.cie(CFA)
    builder.fde(8, CODE, SIZE)


def cut(builder: FrameBuilder) -> None:
    builder.fde(builder.cie(CFA), CODE, SIZE, length=0x1000)


def unaligned(builder: FrameBuilder) -> None:
    body = builder.id(builder.cie(CFA, code=4, data=4)) + builder.number(CODE) + builder.number(SIZE)
    builder.entry(body + b"\0", align=1)


def reserved_length(builder: FrameBuilder) -> None:
    builder.data = b"\xf1\xff\xff\xff" + bytes(12)


F = die("subprogram", ("name", "string", "f"), ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE))
SEEDS = (
    Seed("frame-kernel-end", "no rule for the return address", kernel_with_a_caller),
    section("unreadable", "a reserved length", reserved_length),
    section("truncated", "longer than the section", cut),
    section("truncated", "without a range", lambda b: b.fde(b.cie(CFA), CODE, SIZE, location=bytes(4))),
    section("length", "a byte too long", unaligned),          cie("version", "version 9", version=9),
    cie("augmentation", "letters without z", augmentation="abc"),
    cie("augmentation", "the one of another producer", augmentation="HP"),
    cie("vendor", "without a version", augmentation="[abc]"),
    cie("vendor", "a version without a minor number", augmentation="[abc:v1]"),
    cie("augmentation-data", "longer than the entry", augmentation="z", augmentation_data=b"\x7f", text=b""),
    cie("augmentation-data", "no encoding", augmentation="zR", augmentation_data=b"\0"),
    cie("pointer-encoding", "of kind 7", augmentation="zR", augmentation_data=b"\x01\x07"),
    cie("address-size", "4 bytes", address_size=4),           cie("address-size", "3 bytes", address_size=3),
    cie("segment-size", "2 bytes", segment_size=2),           cie("segment-size", "9 bytes", segment_size=9),
    cie("code-factor", "0", code=0),                          cie("data-factor", "0", data=0),
    cie("return-address", "a register that is not there", column=5000),
    cie("initial", "an advance", CFA + "; advance_loc 1"),
    cie("initial", "a rule that is restored", CFA + "; restore_extended 64"),
    section("no-cie", "behind the section", lonely),
    section("no-cie", "in the middle of a CIE", in_the_middle),
    fdes("range", "past the last address", (CODE, (1 << 64) - 1)),
    fdes("empty-range", "of 0 bytes", (CODE, 0)),
    fdes("overlap", "by a part", (CODE, SIZE - 8), (CODE + 8, SIZE - 8)),
    fdes("overlap", "inside another one", (CODE, SIZE), (CODE + 8, 8), (CODE + 32, 8)),
    fdes("partial", "the end is left out", (CODE, SIZE - 4)),
    fdes("partial", "the beginning is left out", (CODE + 8, SIZE - 8)),
    fdes("partial", "an instruction is left out", (CODE, 8), (CODE + 12, SIZE - 12)),
    fdes("not-in-code", "behind the code", (CODE + SIZE, 16)),
    fdes("not-in-code", "a part", (CODE, SIZE + 8)),     instructions("unknown-instruction", "0x3e", b"\x3e"),
    instructions("instruction-size", "the location of a register cut short", b"\x30\x40\x00\x05" + b"\x10\x40\x7f"),
    instructions("instruction-size", "an expression cut short", b"\x30\x40\x00\x05" + b"\0" * 7 + b"\x0f\x7f"),
    instructions("overflow", "an offset of 65 bits", CFA + "; def_cfa_offset 0xffffffffffffffff"),
    instructions("past-end", "an advance", CFA + "; advance_loc1 0x80; undefined 16"),
    instructions("past-end", "a location", CFA + f"; set_loc {CODE + SIZE + 4}"),
    instructions("backwards", "a location before the code", CFA + f"; set_loc {CODE - 4}"),
    instructions("no-remembered-state", "none at all", CFA + "; restore_state"),
    instructions("no-remembered-state", "restored twice", CFA + "; remember_state; restore_state; restore_state"),
    instructions("cfa-register", "an offset without a CFA", "def_cfa_offset 8"),
    instructions("cfa-register", "a register of an expression", "def_cfa_expression 30; def_cfa_register 64"),
    instructions("address-space", "99", "LLVM_def_aspace_cfa 64 0 99"),
    instructions("register", "of a rule", CFA + "; undefined 5000"),
    instructions("register", "of the CFA", "LLVM_def_aspace_cfa 5000 0 5"),
    instructions("register-size", "a scalar register in a vector register", CFA + "; register 64 2560"),
    instructions("register-cycle", "two", CFA + "; register 64 65; register 65 64"),
    instructions("no-cfa", "saved at an offset", "offset 40 2"),
    instructions("val-offset-size", "32 bits", "def_cfa 64 0; val_offset 64 2"),
    instructions(
        "entry-cycle",
        "of two registers",
        f"{CFA}; expression 2560 {expression(ENTRY_OF.format('v1'))}; "
        f"expression 2561 {expression(ENTRY_OF.format('v0'))}",
    ),
    instructions("entry-cycle", "of the CFA", f"def_cfa_expression {expression(CFA_OF)}; offset_extended 65 4"),
    instructions("value-size", "32 bits", CFA + "; val_expression 64 30"),
    instructions("cfa-location", "a register", f"def_cfa_expression {expression('DW_OP_regx s32')}"),
    instructions("slot-overlap", "two scalar registers", CFA + "; offset_extended 64 4; offset_extended 65 4"),
    slot("overlap", "rbx and rbp", "advance_loc 1; def_cfa_offset 24; offset 3 2; offset 6 2"),
    slot("outside", "the factor of another target", "", data=4),
    slot("outside", "above the CFA", "advance_loc 1; def_cfa 6 16; offset 6 2; offset_extended_sf 3 -1"),
    slot("alignment", "half a register", "advance_loc 1; def_cfa_offset 24; offset 6 5", data=-4,
         start="def_cfa 7 8; offset 16 2"),
    Seed("frame-cfa-unsaved", "rbx for rbp",
         partial(on_host, "advance_loc 1; def_cfa_offset 16; offset 6 2; advance_loc 3; def_cfa_register 3")),
    slot("of-stack", "rsp for rbp", "advance_loc 1; def_cfa_offset 16; offset 7 2"),
    instructions("function-entry", "above the stack pointer", "LLVM_def_aspace_cfa 64 8 5"),
    instructions("function-entry", "of another register", "LLVM_def_aspace_cfa 65 0 5"),
    Seed("frame-function-entry", "the return address", partial(on_host, "", F, start="def_cfa 7 8; offset 16 2")),
    instructions("empty", "no rules", b"\0"),
    instructions("expression-stack-underflow", "of a CFA", "def_cfa_expression 22"),
    instructions("expression-not-allowed-in-cfi", "the CFA of itself", "def_cfa_expression 9c"))  # fmt: skip
