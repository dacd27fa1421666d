"""The question about targets without a file: processors, their features, registers, address spaces and apertures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.questions.document import Document
from dwarfgpu.questions.target import number_range, space_json, spaces_table
from dwarfgpu.render.layout import paragraphs, table, wrapped
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
        return Document({"targets": (_row_json(row) for row in processors())}, _overview, rows="targets")
    reports = [_report(name) for name in arguments.words]

    def text(output: Output) -> Iterator[str]:
        return paragraphs(_report_text(report, output.style) for report in reports)

    return Document({"targets": [_report_json(report) for report in reports]}, text, rows="targets")


# --- The list of processors ---------------------------------------------------------------------------------------


def _overview(output: Output) -> Iterator[str]:
    rows = [("Processor", "Mach", "Waves", "Local memory", "User SGPRs", "Target features")]
    for processor in processors():
        waves = ", ".join(map(str, sorted(processor.wave_sizes)))
        local = f"{processor.local_memory_size >> 10} KiB"
        features = " ".join(name for name in _target_features(processor))
        rows.append((processor.name, f"{processor.mach:#x}", waves, local, str(processor.user_sgpr_limit), features))
    yield from table(rows, "lrlrrl", indent=0, style=output.style)
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


def _row_json(processor: Processor) -> dict[str, Any]:
    return {
        "name": processor.name,
        "other_names": _other_names(processor),
        "generation": f"GFX{processor.major}",
        "mach": processor.mach,
        "wave_sizes": sorted(processor.wave_sizes),
        "default_wave_size": processor.default_wave_size,
        "target_features": list(_target_features(processor)),
        "properties": [word for word in processor.features if word not in _target_features(processor)],
        "local_memory_bytes": processor.local_memory_size,
        "user_sgprs": processor.user_sgpr_limit,
        "vector_registers": processor.vgpr_count,
    }


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
        """The DWARF numbers as text."""
        return number_range(self.first.number, self.last.number)

    @property
    def bits(self) -> str:
        return f"{self.first.lane_bits} a lane" if self.first.lane_bits else str(self.first.bit_size)


def register_runs(target: Target) -> list[RegisterRun]:
    """Return the registers of a target; those without a DWARF number come last."""
    runs: list[RegisterRun] = []
    for register in (*target.registers(), *_unnumbered(target)):
        rule = target.in_callers(register.number)
        prefix = register.name.rstrip("0123456789")
        last = runs[-1] if runs else None
        if (
            last is not None
            and prefix != register.name
            and last.first.name.rstrip("0123456789") == prefix
            and last.last.number + 1 == register.number
            and (last.first.bit_size, last.in_callers) == (register.bit_size, rule)
        ):
            runs[-1] = RegisterRun(last.first, register, rule)
        else:
            runs.append(RegisterRun(register, register, rule))
    return runs


def _unnumbered(target: Target) -> Iterator[TargetRegister]:
    for family in target.unnumbered:
        yield from (family.register(number) for number in range(family.first, family.first + family.count))


def _register_rows(report: TargetReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each name, with a column of DWARF numbers for each wave size."""
    is_pair = len(report.variants) > 1
    heads = [f"DWARF, wave {target.lane_count}" if is_pair else "DWARF" for target in report.variants]
    yield ("Registers", *heads, "Bits", "In callers")
    columns = [{run.name: run for run in register_runs(target)} for target in report.variants]
    names = list(dict.fromkeys(name for column in columns for name in column))
    order = {run.name: index for index, run in enumerate(register_runs(report.variants[-1]))}
    for name in sorted(names, key=lambda name: order.get(name, len(order))):
        runs = [column.get(name) for column in columns]
        known = [run for run in runs if run is not None]
        cells = ["" if run is None else run.numbers for run in runs]
        bits = " or ".join(dict.fromkeys(run.bits for run in known))
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
    document: dict[str, Any] = {"asked": report.asked}
    if report.processor is not None:
        document |= _row_json(report.processor)
    else:
        document |= {"name": report.variants[0].name}
    document["variants"] = [_variant_json(target) for target in report.variants]
    return document


def _variant_json(target: Target) -> dict[str, Any]:
    known = _apertures_of(target)
    return {
        "target": ":".join((target.name, *target.features)),
        "lanes": target.lane_count,
        "byte_order": target.byte_order,
        "address_size": target.address_size,
        "dialect": target.default_dialect,
        "rules": target.default_rules,
        "registers": [_run_json(run) for run in register_runs(target)],
        "address_spaces": [space_json(space) for space in target.spaces()],
        "apertures": None
        if known is None
        else {
            "size": address_spaces.SIZE,
            "shared": known[0].shared,
            "private": known[0].private,
            "set_by": "the Linux driver",
            "read_from": known[1],
        },
    }


def _run_json(run: RegisterRun) -> dict[str, Any]:
    has_number = run.first.number >= 0
    return {
        "first": run.first.name,
        "last": run.last.name,
        "count": run.last.number - run.first.number + 1,
        "number": run.first.number if has_number else None,
        "bits": run.first.bit_size,
        "lane_bits": run.first.lane_bits or None,
        "in_callers": run.in_callers,
    }
