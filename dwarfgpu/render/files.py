"""Files as text and as JSON: listings, summaries, and what is at an address or has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.encoding.demangle import demangled, without_parameters
from dwarfgpu.render.layout import beside, counted, labelled, labels, plain, problem_json, shown, style, table, wrapped
from dwarfgpu.render.records import Record, fact, nested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.code.code_lookup import AtAddress, Named, SymbolInfo
    from dwarfgpu.program.code.code_object import CodeObjectContents, ContainerEntry
    from dwarfgpu.program.code.file_summary import DwarfSummary, FileSummary, SectionInfo, UnitSummary
    from dwarfgpu.program.code.scopes import SourceLine

MANY_SECTIONS = 60
TYPES = {
    "REL": "relocatable, not linked",
    "EXEC": "executable",
    "DYN": "shared object or position-independent program",
    "CORE": "core file",
}


# --- Listings -----------------------------------------------------------------------------------------------------


def contents_text(contents: CodeObjectContents) -> list[str]:
    """Return a line for each image of a file, below the place where it is stored."""
    places: dict[str, list[ContainerEntry]] = {}
    for entry in contents.entries:
        places.setdefault(entry.note, []).append(entry)
    rows = iter(table([_entry_row(entry) for group in places.values() for entry in group], "lllrrl"))
    lines = []
    for place, group in places.items():
        lines += [style("kind", line) for line in wrapped(place)]
        for entry in group:
            row, index = next(rows), f"@{entry.index}"
            lines.append(row.replace(index, style("number", index), 1))
    return lines


def _entry_row(entry: ContainerEntry) -> tuple[str, ...]:
    # an image without a URI is in compressed data: its offset counts from the start of that
    offset = f"{'+' if entry.format == 'compressed' else ''}{entry.offset:#x}" if entry.size else ""
    target = entry.target_id or entry.triple or "-"
    return f"@{entry.index}", entry.kind or "-", target, offset, str(entry.size), entry.format


def contents_json(contents: CodeObjectContents) -> dict[str, Any]:
    """Return all images of a file as a JSON object."""
    return {
        "file": contents.name,
        "entries": plain(contents.entries),
        "problems": [problem_json(error) for error in contents.problems],
    }


# --- Summaries ----------------------------------------------------------------------------------------------------


def summary_text(summary: FileSummary, *, units: bool = False) -> list[str]:
    """Return the summary of a file as lines."""
    image = summary.image
    bits = f"{image.address_size * 8}-bit {image.byte_order}-endian"
    kind = image.type_name
    pairs: list[tuple[str, str | None]] = [
        ("target", _target(summary)),
        ("machine", f"{image.machine_name}, ELF {bits}, OS ABI {image.osabi_name}"),
        ("type", f"{kind} ({TYPES[kind]})" if kind in TYPES else kind),
    ]
    flags, made = summary.flags, None if summary.hsa is None else summary.hsa.producer
    generic = f", generic version {flags.generic_version}" if flags is not None and flags.generic_version else ""
    names = ", ".join(shown(without_parameters(demangled(name))) for name in summary.kernels)
    pairs += [
        ("code object", None if summary.code_object_version is None else f"version {summary.code_object_version}"),
        (
            "flags",
            None if flags is None else f"{image.flags:#x}: xnack {flags.xnack}, sramecc {flags.sramecc}{generic}",
        ),
        ("compiled to", None if image.name == summary.name else image.path),
        ("made by", None if made is None else f"{made.name} {made.major}.{made.minor}"),
        ("build ID", image.build_id or "none"),
        ("kernels", f"{len(summary.kernels)}: {names}" if names else None),
        ("debug file", summary.debug_file),
        ("holds", "code objects: `dwarfgpu ls` lists them" if summary.has_embedded else None),
        *(() if summary.dwarf is None else _dwarf(summary.dwarf)),
    ]
    lines = [style("kind", shown(summary.name)), *labels(pairs)]
    if units and summary.dwarf is not None:
        lines += [style("name", "units"), *(line for unit in summary.dwarf.units for line in _unit(unit))]
    lines += _sections(summary.sections)
    notes = image.notes()
    if notes:
        lines.append(style("name", "notes"))
        rows = [(shown(note.owner), note.type_name, counted(len(note.data), "byte"), note.place) for note in notes]
        lines += table(rows, "llrl", indent=2)
    if summary.missing:
        lines.append(style("name", "missing"))
    for missing in summary.missing:
        hint = f" ({missing.hint})" if missing.hint else ""
        lines += beside("  ", wrapped(f"{missing.what}: {missing.consequence}{hint}", 76), 4)
    return lines


def _target(summary: FileSummary) -> str:
    target = summary.target
    if not target.is_known:
        return f"not known: {target.reason}"
    lanes = ""
    if target.target.lane_count > 1:
        sizes = summary.wave_sizes
        if len(sizes) > 1:
            lanes = f", waves of {' and '.join(map(str, sizes))} lanes"
        else:
            lanes = f", waves of {target.target.lane_count} lanes"
            lanes += "" if sizes else " (its default: no kernel says)"
    name = target.target.name
    return f"{name}{''.join(f':{feature}' for feature in target.target.features)}{lanes}"


def _dwarf(dwarf: DwarfSummary) -> list[tuple[str, str]]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in dwarf.kinds.items())
    total = f"{len(dwarf.units)}: " if len(dwarf.kinds) > 1 else ""
    pairs = [("units", f"{total}{kinds}" if dwarf.units else "not readable")]
    if dwarf.units:
        sizes = " and ".join(f"{size}-byte" for size in sorted(dwarf.address_sizes))
        versions = _share({f"version {version}": count for version, count in sorted(dwarf.versions.items())})
        pairs.append(("DWARF", f"{versions}; {_share(dwarf.formats)}, {sizes} addresses"))
    pairs += [("producer", f"{text} ({counted(count, 'unit')})") for text, count in dwarf.producers.items()]
    pairs += [
        ("attributes", f"{name} ({reason}; {counted(count, 'unit')})")
        for (name, reason), count in dwarf.dialects.items()
    ]
    pairs += [("augmentation", f"{text} ({counted(count, 'unit')})") for text, count in dwarf.augmentations.items()]
    return pairs


def _share(counts: dict[str, int]) -> str:
    """Return ``A``, or ``A (2), B (1)`` if there are several."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{text} ({count})" for text, count in counts.items())


def _unit(unit: UnitSummary) -> list[str]:
    head = f"  {unit.section}+{unit.offset:#x}  {unit.kind}, version {unit.version}"
    lines = [head, *(f"    {line}" for line in wrapped(unit.name or "(no name)", 76))]
    if unit.split_name:
        lines += [f"    {line}" for line in wrapped(f"entries in {unit.split_name}", 76)]
    return lines


def _sections(sections: tuple[SectionInfo, ...]) -> list[str]:
    if not sections:
        return labelled("sections", "none")
    listed = list(sections)
    if len(listed) > MANY_SECTIONS:
        names = (".eh_frame", ".text")
        listed = [section for section in listed if "debug_" in section.name or section.name in names]
        listed = listed[:MANY_SECTIONS]
    rows = [("", "type", "flags", "address", "offset", "bytes", "")]
    for section in listed:
        packed = f"{section.compression}, {section.data_size}" if section.compression else ""
        place = f"{section.address:#x}", f"{section.offset:#x}", str(section.size)
        rows.append((section.name, section.type, section.flags, *place, packed))
    first, *lines = table(rows, "lllrrrl", longest=24)
    lines = [style("name", "sections") + style("dim", first.ljust(12)[8:]), *lines]
    if len(listed) < len(sections):
        lines.append(f"  and {len(sections) - len(listed)} more, which --json has")
    for section in sections:
        if section.error:
            lines += [f"    {line}" for line in wrapped(section.error, 76)]
    return lines


def summary_json(summary: FileSummary, *, units: bool = False) -> dict[str, Any]:
    """Return the summary of a file as a JSON object. ``units`` lists each unit."""
    document = SUMMARY.json(summary)
    if units and summary.dwarf is not None:
        document["units"] = plain(summary.dwarf.units)
    return document


def _rows(name: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    return [{name: text, "units": count} for text, count in counts.items()]


DWARF = Record(
    fact("units", value=lambda dwarf: len(dwarf.units)),
    "kinds versions formats address_sizes",
    fact("producers", value=lambda dwarf: _rows("producer", dwarf.producers)),
    fact("attribute_dialects", value=lambda dwarf: [
        {"dialect": name, "reason": reason, "units": count} for (name, reason), count in dwarf.dialects.items()
    ]),
    fact("augmentations", value=lambda dwarf: _rows("text", dwarf.augmentations)),
)  # fmt: skip
SUMMARY = Record(
    "file=name path=image.path address_size=image.address_size byte_order=image.byte_order "
    "machine=image.machine machine_name=image.machine_name osabi=image.osabi osabi_name=image.osabi_name "
    "abi_version=image.abi_version type=image.type_name flags=image.flags entry=image.entry "
    "code_object_version build_id=image.build_id",
    fact("segments", value=lambda summary: len(summary.image.segments)),
    "symbols target=target.target.name target_id=target.target_id target_known=target.is_known "
    "target_reason=target.reason noted_target wave_sizes settings=flags kernels hsa",
    fact("notes", value=lambda summary: summary.image.notes()),
    "debug_file has_embedded",
    nested("dwarf", DWARF),
    "sections missing",
    fact("problems", value=lambda summary: [*map(problem_json, summary.problems)]),
)


# --- Addresses and names ------------------------------------------------------------------------------------------


def source_text(source: SourceLine | None) -> str:
    """Return ``file:line:column`` without the parts that are not known."""
    if source is None:
        return "??"
    numbers = [str(number) for number in (source.line, source.column) if number]
    return ":".join([shown(source.file or "??"), *numbers])


def address_text(place: AtAddress) -> list[str]:
    """Return what is at an address as lines: the calls there, the innermost first."""
    where = [symbol_text(place.symbol)] if place.symbol is not None else []
    where += [place.section] if place.section else []
    lines = [style("number", f"{place.address:#x}") + f"  {shown(' in '.join(where))}".rstrip()]
    for frame in place.frames:
        lines.append(f"  {style('name', shown(frame.function or '??'))} at {source_text(frame.source)}")
        if frame.inlined:
            lines[-1] += style("dim", "  (inlined)")
    if not place.frames and place.source is not None:
        lines.append(f"  at {source_text(place.source)}")
    lines += [
        f"  variable {style('name', shown(variable.name))} declared at {source_text(variable.declared)}"
        for variable in place.variables
    ]
    if place.text is not None:
        lines.append(f"  {place.source.line if place.source else 0:>6}  {shown(place.text.expandtabs(4))}")
    if place.range is not None:
        low, high = place.range
        stop = "a statement begins here" if place.is_statement and low == place.address else ""
        lines.append(style("dim", f"  line range {low:#x} to {high:#x}{'; ' + stop if stop else ''}"))
    if place.unit is not None:
        lines.append(style("dim", f"  unit {shown(place.unit)}"))
    return lines


def symbol_text(symbol: SymbolInfo) -> str:
    """Return ``<name+4>``."""
    return f"<{symbol.name}+{symbol.offset:#x}>" if symbol.offset else f"<{symbol.name}>"


def named_text(meanings: Sequence[Named]) -> list[str]:
    """Return what a name means; a type that many units repeat is shown once."""
    groups: dict[tuple[object, ...], list[Named]] = {}
    for named in meanings:
        declared = named.declared
        place = None if declared is None else (declared.file, declared.line, declared.column)
        key = (named.kind, named.tag, named.name, named.linkage_name, place, named.byte_size, named.ranges)
        groups.setdefault(key, []).append(named)
    return [line for group in groups.values() for line in _named(group)]


def _named(group: list[Named]) -> list[str]:
    named = group[0]
    kind = named.kind if named.tag is None else f"{named.kind} ({named.tag})"
    lines = [f"{style('name', shown(named.name))}  {kind}"]
    declared, symbol = named.declared, named.symbol
    code = ", ".join(f"{low:#x} to {high:#x}" for low, high in named.ranges)
    is_elsewhere = named.kind == "function" and symbol is None
    unit = f" in unit {named.unit}" if named.unit else ""
    more = f" and {len(group) - 1} more" if len(group) > 1 else ""
    pairs = [
        ("linkage", named.linkage_name if named.linkage_name and named.linkage_name != named.name else None),
        ("declared", None if declared is None else source_text(declared)),
        ("code", code or ("none in this file" if is_elsewhere else None)),
        ("symbol", None if symbol is None else _symbol(symbol)),
        ("size", f"{named.byte_size} bytes" if named.byte_size is not None and symbol is None else None),
        ("entry", None if named.offset is None else f"{named.section}+{named.offset:#x}{unit}{more}"),
    ]
    return lines + labels(pairs, indent=2)


def _symbol(symbol: SymbolInfo) -> str:
    where = f" in {symbol.section}" if symbol.section else " (undefined)"
    if symbol.address is None:
        memory = "in local memory" if symbol.is_local_memory else "common"
        size = counted(symbol.size, "byte")
        return f"{symbol.bind} {symbol.type} {memory}, {size} aligned to {symbol.alignment}: the loader places it"
    return f"{symbol.bind} {symbol.type} at {symbol.address:#x}, {counted(symbol.size, 'byte')}{where}"
