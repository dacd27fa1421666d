"""The question about targets without a file: processors, their features, registers, address spaces and apertures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.questions.document import Document
from dwarfgpu.questions.target import RUN, SPACE, RegisterRun, register_runs, spaces_table
from dwarfgpu.render.layout import paragraphs, table, wrapped
from dwarfgpu.render.records import Record, fact
from dwarfgpu.targets.amdgpu import address_spaces, numbers
from dwarfgpu.targets.amdgpu.processors import ALTERNATIVES, processor_named, processors
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.render.layout import Style
    from dwarfgpu.targets.amdgpu.processors import Processor
    from dwarfgpu.targets.target import Target, TargetRegister

MEANINGS = {
    "xnack": "can replay a memory access that has failed; set in a target ID: xnack+, xnack-",
    "sramecc": "can correct errors in its SRAM; set in a target ID: sramecc+, sramecc-",
    "tgsplit": "can run the waves of a work-group on several compute units",
    "cumode": "can run a work-group on one compute unit of a pair",
    "wavefrontsize64": "can run waves of 64 lanes",
    "generic": "has generic addresses, which mean global, local or private memory",
    "queue-apertures": "has the apertures of generic addresses in the AQL queue",
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
    """Without a name all processors are listed. A NAME is a processor (gfx90a), a target (amdgcn-gfx1100-wave32,
    x86_64, generic) or a target ID (gfx90a:xnack+); its features, registers and address spaces are shown. Of a
    processor with two wave sizes both are shown, unless the name has one of them.
    """
    if not arguments.words:
        return Document({"targets": map(PROCESSOR.json, processors())}, _overview, rows="targets")
    reports = [_report(name) for name in arguments.words]

    def text(output: Output) -> Iterator[str]:
        return paragraphs(_report_text(report, output.style) for report in reports)

    return Document({"targets": [_report_json(report) for report in reports]}, text, rows="targets")


# --- The list of processors ---------------------------------------------------------------------------------------


def _overview(output: Output) -> Iterator[str]:
    yield from PROCESSOR.lines(processors(), indent=0, style=output.style)
    yield ""
    yield from table([("Name", "Processor"), *ALTERNATIVES], "ll", indent=0, style=output.style)
    yield ""
    yield from table([("Other target", ""), *OTHERS], "ll", indent=0, style=output.style)


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


# --- One target ---------------------------------------------------------------------------------------------------


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


def _report_text(report: TargetReport, style: Style) -> Iterator[str]:
    first = report.variants[0]
    names = ", ".join(":".join((target.name, *target.features)) for target in report.variants)
    yield f"{style('name', report.asked)}: {names}"
    yield from table([(f"{label}:", value) for label, value in _facts(report)], "ll")
    if report.processor is not None:
        yield ""
        yield from table([("Feature", "The processor"), *_feature_rows(report.processor)], "ll", indent=0, style=style)
    yield ""
    yield from table(_register_rows(report), "l" + "r" * len(report.variants) + "rl", indent=0, style=style)
    yield ""
    largest = max(report.variants, key=lambda target: target.lane_count)
    yield from spaces_table(largest.spaces(), style)
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


def _feature_rows(processor: Processor) -> Iterator[tuple[str, str]]:
    for word in sorted(processor.features, key=list(MEANINGS).index):
        yield word, MEANINGS[word]


# --- Registers ----------------------------------------------------------------------------------------------------


def runs_of(target: Target) -> list[RegisterRun]:
    """Return the registers of a target; those without a DWARF number come last."""
    return register_runs((*target.registers(), *_unnumbered(target)), target)


def _bits(run: RegisterRun) -> str:
    return f"{run.first.lane_bits} a lane" if run.first.lane_bits else str(run.first.bit_size)


def _unnumbered(target: Target) -> Iterator[TargetRegister]:
    for family in target.unnumbered:
        yield from (family.register(number) for number in range(family.first, family.first + family.count))


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
        bits = " or ".join(dict.fromkeys(map(_bits, known)))
        rules = " or ".join(dict.fromkeys(run.in_callers for run in known))
        yield (name, *cells, bits, rules)


# --- Apertures ----------------------------------------------------------------------------------------------------


def _apertures_of(target: Target) -> tuple[address_spaces.Apertures, str] | None:
    """Return the apertures that the Linux driver sets, and where a wave finds them; None without generic addresses."""
    generic = target.space(numbers.GENERIC)
    if generic is None:
        return None
    if isinstance(generic.alias, address_spaces.GenericView) and generic.alias.apertures is not None:
        return generic.alias.apertures, "src_shared_base and src_private_base"
    return address_spaces.GFX7, "bytes 64 and 68 of the AQL queue"


def _apertures_text(target: Target) -> str:
    known = _apertures_of(target)
    if known is None:
        return "There are no generic addresses, so no apertures."
    apertures, where = known
    return (
        f"Generic addresses from {apertures.shared:#x} mean local memory, and those from {apertures.private:#x} "
        f"private memory of the lane, {address_spaces.SIZE:#x} bytes each, where the Linux driver sets the apertures. "
        f"A wave has the bases in {where}."
    )


# --- JSON ---------------------------------------------------------------------------------------------------------


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
    return {"size": address_spaces.SIZE, **bases, "set_by": "the Linux driver", "read_from": where}


VARIANT = Record(
    fact("target", value=lambda target: ":".join((target.name, *target.features))),
    "lanes=lane_count byte_order address_size dialect=default_dialect rules=default_rules",
    fact("registers", value=lambda target: [*map(RUN.json, runs_of(target))]),
    fact("address_spaces", value=lambda target: [*map(SPACE.json, target.spaces())]),
    fact("apertures", value=_apertures_json),
)
