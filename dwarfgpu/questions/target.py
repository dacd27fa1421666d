"""Commands about the target and the file: address spaces, registers, sections, and what is known of processors."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.register_contents import registers_of
from dwarfgpu.questions.document import Document, listing
from dwarfgpu.questions.selection import Selection
from dwarfgpu.render.layout import (
    Record,
    beside,
    fact,
    hexadecimal,
    paragraphs,
    range_text,
    room,
    shown,
    style,
    table,
    wrapped,
)
from dwarfgpu.targets import amdgpu
from dwarfgpu.targets.amdgpu import address_spaces
from dwarfgpu.targets.amdgpu.processors import ALTERNATIVES, Processor, processor_named, processors
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.targets.target import Target, TargetRegister

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHT_NOBITS = 8
HIDDEN = ("NULL", "SYMTAB", "STRTAB")
"""The types of sections that are not shown."""
_OF_LANE = "private_lane"
ACCESS = {"constant": "program-constant"}
"""Who may change what is in an address space while a program runs, as ROCgdb says it; by default all."""


def print_address_spaces(selection: Selection, arguments: Arguments) -> Document:
    return listing("spaces", SPACE, selection.frame.target.spaces, spaces_table)


def spaces_table(spaces: Iterable[Any]) -> list[str]:
    """Return the lines of a table of address spaces."""
    spaces = list(spaces)
    rows = [SPACE.head]
    of_lanes = [space for space in spaces if space.name.startswith(_OF_LANE) and space.name[-1:].isdigit()]
    for space in spaces:
        if space not in of_lanes:
            rows.append(SPACE.cells(space))
        elif space == of_lanes[0]:
            last = of_lanes[-1]
            name = f"{space.name}..{last.name[len(_OF_LANE) :]}"
            rows.append((name, f"{space.number:#x}-{last.number:#x}", *SPACE.cells(space)[2:]))
    return table(rows, SPACE.sides, indent=0, is_headed=True)


SPACE = Record(
    "name:Name",
    fact("number", "DWARF", text=hex, side="r"),
    fact("address_bits", "Addr Bits", side="r"),
    fact("null", "Null Address", text=lambda null: hexadecimal(null) or "none", side="r"),
    fact("access", "Access", lambda space: ACCESS.get(space.name, "all")),
    "scope:Scope",
)


# --- Registers ------------------------------------------------------------------------------------------------------


def print_registers(selection: Selection, arguments: Arguments) -> Document:
    pattern = arguments.pattern()
    target = selection.frame.target
    registers = [each for each in registers_of(selection.frame) if pattern.search(each.name)]
    if not registers:
        raise UsageError(f"no register matches {arguments.text[:40]!r}", kind="no_register")
    runs = register_runs(registers, target, apart=bool(arguments.text))
    json = lambda each: {**REGISTER.json(each), "in_callers": target.in_callers(each.number)}  # noqa: E731
    return listing("registers", json, registers, lambda _: RUN.lines(runs, indent=0), around={"target": target.name})


REGISTER = Record(
    "name",
    fact("number", value=lambda register: None if register.number < 0 else register.number),
    "bits=bit_size lane_bits?",
)


@frozen
class RegisterRun:
    """Registers with consecutive names and numbers that are alike."""

    first: TargetRegister
    last: TargetRegister
    in_callers: str

    @property
    def name(self) -> str:
        return self.first.name if self.first is self.last else f"{self.first.name}-{self.last.name}"

    @property
    def numbers(self) -> str:
        """The DWARF numbers as ``32-95``; ``-`` of registers that have none."""
        return "-" if self.first.number < 0 else range_text(self.first.number, self.last.number)

    @property
    def lanes(self) -> str:
        bits = self.first.lane_bits
        return f"{self.first.bit_size // bits} of {bits}" if bits else ""


RUN = Record(
    fact("", "Name", lambda run: run.name),
    fact("", "DWARF", lambda run: run.numbers, side="r"),
    fact("", "Bits", lambda run: run.first.bit_size, side="r"),
    fact("", "Lanes", lambda run: run.lanes),
    fact("", "In callers", lambda run: run.in_callers),
    "first=first.name last=last.name",
    fact("count", value=lambda run: run.last.number - run.first.number + 1),
    fact("number", value=lambda run: None if run.first.number < 0 else run.first.number),
    "bits=first.bit_size lane_bits=first.lane_bits? in_callers",
)


def register_runs(registers: Iterable[TargetRegister], target: Target, *, apart: bool = False) -> list[RegisterRun]:
    """Return registers, neighbours that are alike together unless they are to be apart."""
    runs: list[RegisterRun] = []
    for register in registers:
        rule = target.in_callers(register.number)
        prefix = register.name.rstrip("0123456789")
        last = runs[-1] if runs and not apart else None
        if (
            last is not None
            and prefix != register.name
            and last.first.name.rstrip("0123456789") == prefix
            and last.last.number + 1 == register.number
            and (last.first.bit_size, last.first.lane_bits) == (register.bit_size, register.lane_bits)
            and last.in_callers == rule
        ):
            runs[-1] = RegisterRun(last.first, register, rule)
        else:
            runs.append(RegisterRun(register, register, rule))
    return runs


def info_sections(selection: Selection, arguments: Arguments) -> Document:
    file = selection.opened.file
    image = file.image
    wanted = arguments.words
    named = [each for each in image.sections if each.name and each.type_name not in HIDDEN]
    chosen = [
        {"number": number, **SECTION.json(section), "flags": [*_flags(section)]}
        for number, section in enumerate(named)
        if not wanted or section.name in wanted or not set(wanted).isdisjoint(_flags(section))
    ]

    def text(rows: Sequence[Any]) -> Iterator[str]:
        kind = f"elf{8 * image.address_size}-{file.target.target.name}"
        name = os.path.realpath(image.path) if image.path else file.name
        yield f"Exec file: `{shown(name)}', file type {kind}."
        for row in rows:
            size = 8 if image.address_size == 4 or row["address"] < 1 << 32 else 16
            end = row["address"] + row["size"]
            where = f"0x{row['address']:0{size}x}->0x{end:0{size}x} at 0x{row['offset']:08x}"
            index = f"[{row['number']}]"
            words = f"{where}: {shown(row['name'])} {' '.join(row['flags'])}"
            yield from beside(f" {index:8} ", wrapped(words, room(10)), 14)

    return listing("sections", dict, chosen, text, around={"file": file.name})


SECTION = Record("name address size offset")


def _flags(section: Any) -> Iterator[str]:
    """Yield the flags in the words of BFD, which GDB shows."""
    flags = section.flags
    has_contents = section.type != SHT_NOBITS
    if flags & SHF_ALLOC:
        yield "ALLOC"
        if has_contents:
            yield "LOAD"
    if not flags & SHF_WRITE:
        yield "READONLY"
    if flags & SHF_ALLOC and has_contents:
        yield "CODE" if flags & SHF_EXECINSTR else "DATA"
    if has_contents:
        yield "HAS_CONTENTS"


# --- Processors -------------------------------------------------------------------------------------------------------

MEANINGS = {
    "xnack": "can replay a memory access that has failed; set in a target ID: xnack+, xnack-",
    "sramecc": "can correct errors in its SRAM; set in a target ID: sramecc+, sramecc-",
    "tgsplit": "can run the waves of a work-group on several compute units",
    "cumode": "can run a work-group on one compute unit of a pair",
    "wavefrontsize64": "can run waves of 64 lanes",
    "generic": "has generic addresses, which mean global, local or private memory",
    "queue-apertures": "has the apertures of generic addresses in the AQL queue",
    "lane-addresses": "has the lane in generic addresses of private memory",
    "flat-offset": "sets up flat scratch by a size and an offset",
    "flat-absolute": "sets up flat scratch by an address",
    "flat-architected": "sets up flat scratch by itself; the stack pointer is an address of one lane",
    "packed-ids": "packs the three work-item IDs in v0",
    "agprs": "has accumulation registers, a0 and up",
    "agprs-saved": "has a callee preserve a32 and up",
    "vgprs-1024": "has 1024 vector registers",
    "ttmp-ids": "has the work-group IDs in TTMP registers, not in SGPRs",
    "preload-prolog": "skips the first 256 bytes of a kernel with preloaded arguments",
    "user-sgprs-32": "has 32 user SGPRs",
    "lds-32": "has 32 KiB of local memory for a work-group",
    "lds-160": "has 160 KiB of local memory for a work-group",
    "lds-320": "has 320 KiB of local memory for a work-group",
}
"""What the words of the table of processors say: a processor ..."""
OTHERS = (
    ("x86_64", "host programs; also amd64"),
    ("generic", "any byte order and address size, registers r0, r1, ..., one address space"),
)
"""The targets that are no AMDGPU processors."""


def target_names() -> list[str]:
    """Return the names that `targets` knows: processors, and targets that are none."""
    return [*(processor.name for processor in processors()), *(name for name, _ in OTHERS)]


def targets(selection: Selection, arguments: Arguments) -> Document:
    if arguments.has("coverage"):
        from dwarfgpu.program.code.instruction_coverage import coverages

        return listing("coverage", COVERAGE, coverages(arguments.words))
    if not arguments.words:
        return listing("targets", PROCESSOR, processors, _overview)
    reports = [_report(name) for name in arguments.words]
    return listing("targets", _report_json, reports, lambda known: paragraphs(map(_report_text, known)))


def _overview(known: Sequence[Processor]) -> Iterator[str]:
    yield from PROCESSOR.lines(known, indent=0)
    yield ""
    yield from table([("Name", "Processor"), *ALTERNATIVES], "ll", indent=0, is_headed=True)
    yield ""
    yield from table([("Other target", ""), *OTHERS], "ll", indent=0, is_headed=True)


def _target_features(processor: Processor) -> tuple[str, ...]:
    """Return the features that LLVM has names for; the other words of a row are properties."""
    words = list(MEANINGS)
    return tuple(name for name in words[: words.index("generic")] if processor.has(name))


def _other_names(processor: Processor) -> list[str]:
    return [name for name, known_as in ALTERNATIVES if known_as == processor.name]


PROCESSOR = Record(
    "name:Processor",
    fact("other_names", value=_other_names),
    fact("generation", value=lambda processor: f"GFX{processor.major}"),
    fact("mach", "Mach", text=hex, side="r"),
    fact("wave_sizes", "Waves", lambda processor: sorted(processor.wave_sizes)),
    "default_wave_size",
    fact("", "Local memory", lambda processor: f"{processor.local_memory_size >> 10} KiB", side="r"),
    fact("", "User SGPRs", lambda processor: processor.user_sgpr_limit, side="r"),
    fact("target_features", "Target features", _target_features, " ".join),
    fact("properties", value=lambda processor: [
        word for word in processor.features if word not in _target_features(processor)
    ]),
    "local_memory_bytes=local_memory_size user_sgprs=user_sgpr_limit vector_registers=vgpr_count",
)  # fmt: skip


COVERAGE = Record(
    fact("processors", "Processors", text=" ".join),
    fact("wave_size", "Waves", side="r"),
    fact("text", "Text", side="r"),
    fact("effects", "Effects", side="r"),
    fact("meaning", "Meaning", side="r"),
    "without_effects without_meaning",
)
"""How many operations have a text, and of how many it is known what they read and write, and what they compute."""


@frozen
class TargetReport:
    """A target that was asked about: its processor, and what it is in waves of each size."""

    asked: str
    processor: Processor | None
    """None of a target that is no AMDGPU processor."""
    variants: tuple[Target, ...]
    """The target for each wave size, the default one first."""


def _report(name: str) -> TargetReport:
    target = resolve(name)
    if target.execution_mask is None:
        return TargetReport(name, None, (target,))
    base = target.name.removeprefix("amdgcn-")
    for size in (32, 64):
        base = base.removesuffix(f"-wave{size}")
    processor = processor_named(base)
    assert processor is not None  # noqa: S101 (the target was made from its row)
    if name.strip().lower().partition(":")[0].endswith(("-wave32", "-wave64")):
        return TargetReport(name, processor, (target,))
    sizes = [f"-wave{size}" for size in processor.wave_sizes] if len(processor.wave_sizes) > 1 else [""]
    full = [":".join((f"amdgcn-{processor.name}{size}", *target.features)) for size in sizes]
    return TargetReport(name, processor, tuple(map(resolve, full)))


def _report_text(report: TargetReport) -> Iterator[str]:
    first = report.variants[0]
    names = ", ".join(":".join((target.name, *target.features)) for target in report.variants)
    yield f"{style('name', report.asked)}: {names}"
    yield from table([(f"{label}:", value) for label, value in _facts(report)], "ll")
    if report.processor is not None:
        yield ""
        features = [(word, meaning) for word, meaning in MEANINGS.items() if word in report.processor.features]
        yield from table([("Feature", "The processor"), *features], "ll", indent=0, is_headed=True)
    yield ""
    yield from table(_register_rows(report), "l" + "r" * len(report.variants) + "rl", indent=0, is_headed=True)
    yield ""
    largest = max(report.variants, key=lambda target: target.lane_count)
    yield from spaces_table(largest.spaces())
    if len(report.variants) > 1:
        small = min(target.lane_count for target in report.variants)
        yield f"In waves of {small} lanes the last is private_lane{small - 1}."
    if report.processor is not None:
        yield ""
        yield from wrapped(_apertures_text(first))


def _facts(report: TargetReport) -> Iterator[tuple[str, str]]:
    first = report.variants[0]
    processor = report.processor
    if processor is not None:
        others = _other_names(processor)
        yield "Generation", f"GFX{processor.major}"
        if others:
            yield "Other names", ", ".join(others)
        yield "ELF header", f"EF_AMDGPU_MACH {processor.mach:#x}"
        sizes = " or ".join(str(size) for size in sorted(processor.wave_sizes))
        default = f", {processor.default_wave_size} by default" if len(processor.wave_sizes) > 1 else ""
        yield "Wave size", f"{sizes} lanes{default}"
        yield "Local memory", f"{processor.local_memory_size >> 10} KiB for a work-group"
        yield "Vector registers", f"{processor.vgpr_count}"
        yield "User SGPRs", f"{processor.user_sgpr_limit}"
    yield "Addresses", f"{first.address_size} bytes, {first.byte_order}-endian"
    yield "Dialect", first.default_dialect
    yield "Rules", first.default_rules


# --- Registers ----------------------------------------------------------------------------------------------------


def runs_of(target: Target) -> list[RegisterRun]:
    """Return the registers of a target; those without a DWARF number come last."""
    unnumbered = (
        map(family.register, range(family.first, family.first + family.count)) for family in target.unnumbered
    )
    return register_runs(chain(target.registers(), *unnumbered), target)


def _register_rows(report: TargetReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each name, with a column of DWARF numbers for each wave size."""
    is_pair = len(report.variants) > 1
    heads = [f"DWARF, wave {target.lane_count}" if is_pair else "DWARF" for target in report.variants]
    yield ("Registers", *heads, "Bits", "In callers")
    columns = [{run.name: run for run in runs_of(target)} for target in report.variants]
    names = list(dict.fromkeys(name for column in columns for name in column))
    order = {run.name: index for index, run in enumerate(runs_of(report.variants[-1]))}
    for name in sorted(names, key=lambda name: order.get(name, len(order))):
        runs = [column.get(name) for column in columns]
        known = [run for run in runs if run is not None]
        cells = ["" if run is None else run.numbers for run in runs]
        sizes = (f"{run.first.lane_bits} a lane" if run.first.lane_bits else str(run.first.bit_size) for run in known)
        bits = " or ".join(dict.fromkeys(sizes))
        rules = " or ".join(dict.fromkeys(run.in_callers for run in known))
        yield (name, *cells, bits, rules)


def _apertures_of(target: Target) -> tuple[address_spaces.Apertures, str] | None:
    """Return the apertures that the Linux driver sets, and where a wave finds them; None without generic addresses."""
    generic = target.space(amdgpu.GENERIC)
    if generic is None:
        return None
    if isinstance(generic.alias, address_spaces.GenericView) and generic.alias.apertures is not None:
        tells = generic.alias.apertures.tells_lanes
        return generic.alias.apertures, f"src_shared_base and src_{'flat_scratch' if tells else 'private'}_base"
    return address_spaces.GFX7, "bytes 64 and 68 of the AQL queue"


def _apertures_text(target: Target) -> str:
    known = _apertures_of(target)
    if known is None:
        return "There are no generic addresses, so no apertures."
    apertures, where = known
    if apertures.tells_lanes:
        return (
            f"Generic addresses from {apertures.shared:#x} mean local memory, and those from {apertures.private:#x} "
            f"private memory, with the lane in bits 52 to 56. A wave has the bases in {where}."
        )
    return (
        f"Generic addresses from {apertures.shared:#x} mean local memory, and those from {apertures.private:#x} "
        f"private memory of the lane, {address_spaces.SIZE:#x} bytes each, where the Linux driver sets the apertures. "
        f"A wave has the bases in {where}."
    )


def _report_json(report: TargetReport) -> dict[str, Any]:
    processor = report.processor
    known = {"name": report.variants[0].name} if processor is None else PROCESSOR.json(processor)
    return {"asked": report.asked, **known, "variants": [*map(VARIANT.json, report.variants)]}


def _apertures_json(target: Target) -> dict[str, Any] | None:
    known = _apertures_of(target)
    if known is None:
        return None
    apertures, where = known
    bases = {"shared": apertures.shared, "private": apertures.private}
    tells = apertures.tells_lanes
    size = {"private_size": 1 << apertures.private_bits} if tells else {}
    by = "dwarfgpu" if tells else "the Linux driver"
    return {"size": address_spaces.SIZE, **size, **bases, "set_by": by, "read_from": where}


VARIANT = Record(
    fact("target", value=lambda target: ":".join((target.name, *target.features))),
    "lanes=lane_count byte_order address_size dialect=default_dialect rules=default_rules",
    fact("registers", value=lambda target: [*map(RUN.json, runs_of(target))]),
    fact("address_spaces", value=lambda target: [*map(SPACE.json, target.spaces())]),
    fact("apertures", value=_apertures_json),
)
