"""Kernels as text and as JSON: arguments, registers, segments, and the fields of descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import fields
from dwarfgpu.render.layout import Record, beside, fact, labels, nested, paragraphs, plain, shown, style, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.program.code.code_object import Kernel
    from dwarfgpu.program.code.kernel_parameters import DescribedKernel

NO_SGPR = 0xFFFF


def kernels_text(kernels: Sequence[DescribedKernel], *, fields: bool = False) -> Iterator[str]:
    """Yield kernels, each with its parameters in the source if they are known, with an empty line between them."""
    yield from paragraphs(kernel_text(kernel, fields=fields) for kernel in kernels)
    if not kernels:
        yield "no kernels"


def printf_text(metadata: Any) -> Iterator[str]:
    """Yield the formats of ``printf`` that the kernels call, by their numbers, with the sizes of the arguments."""
    if metadata is None or not metadata.printf:
        return
    yield from ("", style("kind", "printf"))
    for entry in metadata.printf:
        sizes = ", ".join(map(str, entry.sizes))
        arguments = f"arguments of {sizes} bytes" if sizes else "no arguments"
        yield from beside("  ", wrapped(f'{entry.id}: "{shown(entry.format)}", {arguments}', 78), 4)


def kernel_text(known: DescribedKernel, *, fields: bool = False) -> list[str]:
    """Return a kernel as lines; ``fields`` adds its descriptor, and the arguments that the runtime passes."""
    kernel = known.kernel
    lines = [kernel_head(kernel), *labels(_summary(kernel), indent=2)]
    lines += _arguments(known, hidden=fields)
    described: Any = kernel.descriptor or kernel.code
    if described is not None:
        if fields:
            lines += _descriptor(described)
        for violation in described.violations:
            lines += [style("error", f"  {line}") for line in wrapped(violation, 78)]
    return lines


def kernel_head(kernel: Kernel) -> str:
    """Return the name of a kernel in the source, and its symbol if that is another."""
    name = kernel.demangled
    return style("kind", shown(name)) + ("" if name == kernel.name else f"  {shown(kernel.name)}")


def _summary(kernel: Kernel) -> list[tuple[str, str]]:
    pairs = [("code", _code(kernel))]
    described: Any = kernel.descriptor or kernel.code
    metadata = kernel.metadata
    if metadata is not None and metadata.name and metadata.name != kernel.name:
        pairs.append(("source name", metadata.name))
    lanes = _lane_count(kernel)
    pairs.append(("wave", "not known" if lanes is None else f"{lanes} lanes"))
    group = _work_group(kernel)
    if group:
        pairs.append(("work-group", group))
    pairs += [("segments", _segments(kernel)), ("registers", _registers(kernel))]
    if described is not None and described.user_sgprs:
        pairs.append(("starts with", ", ".join(map(_user_sgpr, described.user_sgprs))))
    return pairs


def _lane_count(kernel: Kernel) -> int | None:
    described: Any = kernel.descriptor or kernel.code
    lanes: int | None = described.wavefront_size if described is not None else None
    return kernel.metadata.wavefront_size if lanes is None and kernel.metadata is not None else lanes


def _code(kernel: Kernel) -> str:
    if kernel.entry is None:
        return "not known"
    size = f", {kernel.size} bytes" if kernel.size is not None else ""
    symbol = kernel.symbol
    what = "descriptor" if kernel.descriptor is not None else "amd_kernel_code_t"
    at = f"; {what} {symbol.name} at {symbol.value:#x}" if symbol is not None else ""
    return f"{kernel.entry:#x}{size}{at}"


def _work_group(kernel: Kernel) -> str:
    metadata = kernel.metadata
    if metadata is None:
        return ""
    parts = []
    if metadata.max_flat_workgroup_size is not None:
        parts.append(f"at most {metadata.max_flat_workgroup_size} work-items")
    for text, size in (("required", metadata.reqd_workgroup_size), ("hint", metadata.workgroup_size_hint)):
        if size is not None:
            parts.append(f"{text} {'x'.join(map(str, size))}")
    if metadata.cluster_dims is not None:
        parts.append(f"cluster {'x'.join(map(str, metadata.cluster_dims))}")
    return ", ".join(parts)


def _segment_sizes(kernel: Kernel) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the sizes of kernarg, group and private, and the kernarg alignment, by the descriptor or the metadata."""
    metadata, descriptor, code = kernel.metadata, kernel.descriptor, kernel.code
    group = private = kernarg = align = None
    if metadata is not None:
        group, private = metadata.group_segment_fixed_size, metadata.private_segment_fixed_size
        kernarg, align = metadata.kernarg_segment_size, metadata.kernarg_segment_align
    if descriptor is not None:
        group, private = descriptor.group_segment_fixed_size, descriptor.private_segment_fixed_size
        kernarg = descriptor.kernarg_size or kernarg  # 0 also if a compiler did not write it
    elif code is not None:
        group, private = code.workgroup_group_segment_byte_size, code.workitem_private_segment_byte_size
        kernarg, align = code.kernarg_segment_byte_size, 1 << min(code.kernarg_segment_alignment, 32)
    return kernarg, group, private, align


def _segments(kernel: Kernel) -> str:
    kernarg, group, private, align = _segment_sizes(kernel)
    metadata = kernel.metadata
    parts = [
        f"{name} {'not known' if size is None else size}"
        for name, size in (("kernarg", kernarg), ("group", group), ("private", private))
    ]
    if align:
        parts[0] += f" aligned to {align}"
    dynamic = metadata is not None and metadata.uses_dynamic_stack
    return ", ".join(parts) + " bytes" + (" and a dynamic stack" if dynamic else "")


def _used_registers(kernel: Kernel, name: str) -> int | None:
    used: int | None = None if kernel.metadata is None else getattr(kernel.metadata, f"{name}_count")
    if used is None and kernel.code is not None and name != "agpr":
        return kernel.code.wavefront_sgpr_count if name == "sgpr" else kernel.code.workitem_vgpr_count
    return used


def _registers(kernel: Kernel) -> str:
    """Return the registers that the code uses, according to the metadata, and those allocated."""
    metadata = kernel.metadata
    described: Any = kernel.descriptor or kernel.code
    parts = []
    for name in ("sgpr", "vgpr", "agpr"):
        used = _used_registers(kernel, name)
        allocated = None if described is None or name == "agpr" else getattr(described, f"{name}s")
        if used is None and allocated is None:
            continue
        text = f"{name}s {'not known' if used is None else used}"
        parts.append(text + (f" (of {allocated})" if allocated is not None else ""))
    accum = getattr(described, "accum_offset", None)
    if accum is not None and (metadata is None or metadata.agpr_count != 0):
        parts.append(f"agprs from v{accum}")
    if metadata is not None:
        for name in ("sgpr", "vgpr"):
            spilled = getattr(metadata, f"{name}_spill_count")
            if spilled:
                parts.append(f"{spilled} {name}s spilled")
    return ", ".join(parts) or "not known"


def _user_sgpr(register: Any) -> str:
    last = register.first + register.count - 1
    where = f"s{register.first}" if register.count == 1 else f"s[{register.first}:{last}]"
    return f"{where} {register.name}"


def _arguments(known: DescribedKernel, *, hidden: bool) -> list[str]:
    metadata = known.kernel.metadata
    if metadata is None and known.parameters:
        shown_rows = [("size", "type", "name")]
        shown_rows += [(_number(each.byte_size), shown(each.type), shown(each.name or "")) for each in known.parameters]
        head = f"  {style('name', 'arguments')}   their places are not known: this kernel has no metadata"
        return [head, *table(shown_rows, "rll", indent=4, is_headed=True)]
    if metadata is None:
        return [f"  {style('name', 'arguments')}   not known: this kernel has no metadata"]
    given = [argument for argument in metadata.args if hidden or not argument.is_hidden]
    left = len(metadata.args) - len(given)
    more = f"  and {left} that the runtime passes" if left else ""
    if not given:
        return [f"  {style('name', 'arguments')}   none{',' if more else ''}{more[1:]}"]
    rows = [("offset", "size", "kind", "type", "name")]
    for argument in given:
        kind = (argument.value_kind or "?") + (f" ({argument.address_space})" if argument.address_space else "")
        words = [word for word in ("const", "restrict", "volatile", "pipe") if getattr(argument, f"is_{word}")]
        type_ = " ".join([*words, argument.type_name or argument.value_type or ""]).strip()
        rows.append((_number(argument.offset), _number(argument.size), kind, type_, argument.name or ""))
    lines = [f"  {style('name', 'arguments')}", *table(rows, "rrlll", indent=4, is_headed=True)]
    return [*lines, f"  {more}"] if more else lines


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _descriptor(described: Any) -> list[str]:
    """Return every field: first the whole numbers, then the bits of the words."""
    lines = [f"  {style('name', 'descriptor')}"]
    words = {field.word for field in described.fields}
    rows = []
    for name in [each.name for each in fields(type(described))]:
        if name in ("generation", "fields", "broken_rules") or name.upper() in words:
            continue
        value = getattr(described, name)
        text = (value.hex() if any(value) else "0") if isinstance(value, bytes) else str(value)
        rows.append((name, "not used" if name.endswith("_sgpr") and value == NO_SGPR else text))
    lines += table(rows, "ll", indent=4)
    for word in dict.fromkeys(field.word for field in described.fields):
        value = getattr(described, word.lower())
        lines.append(f"    {style('name', word)}  {value:#x}")
        bits = []
        for field in described.fields:
            if field.word == word and not (field.is_reserved and not field.value):
                high = field.shift + field.width - 1
                place = str(high) if field.width == 1 else f"{high}:{field.shift}"
                meaning = f" ({field.meaning})" if field.meaning else ""
                bits.append((place, field.name, f"{field.value}{meaning}"))
        lines += table(bits, "rll", indent=6)
    if described.generation is None:
        lines.append("    the processor is not known: only fields that all generations share are named")
    return lines


# --- A row of a table ---------------------------------------------------------------------------------------------

KERNEL_COLUMNS = ("kernel", "address", "code", "lanes", "SGPRs", "VGPRs", "AGPRs", "local", "private", "kernarg")
"""The columns of `kernel_row`; sizes are in bytes."""


def kernel_row(kernel: Kernel) -> tuple[str, ...]:
    """Return what a kernel needs as the cells of a row; a number that is not known is ``-``."""
    kernarg, group, private, _align = _segment_sizes(kernel)
    numbers = (
        kernel.size,
        _lane_count(kernel),
        *(_used_registers(kernel, name) for name in ("sgpr", "vgpr", "agpr")),
        *(group, private, kernarg),
    )
    entry = "-" if kernel.entry is None else f"{kernel.entry:#x}"
    return kernel.demangled, entry, *("-" if number is None else str(number) for number in numbers)


# --- JSON ---------------------------------------------------------------------------------------------------------


KERNEL = Record(
    "name demangled",
    nested("symbol", Record("name value size type")),
    "entry code_size=size",
    fact("descriptor", value=lambda kernel: _described_json(kernel.descriptor)),
    fact("kernel_code", value=lambda kernel: _described_json(kernel.code)),
    "metadata",
)


def kernel_json(known: DescribedKernel) -> dict[str, Any]:
    """Return a kernel with everything that is known about it as a JSON object."""
    return {**KERNEL.json(known.kernel), "parameters": plain(known.parameters)}


def _described_json(described: Any) -> dict[str, Any] | None:
    if described is None:
        return None
    document: dict[str, Any] = plain(described)
    derived = ("wavefront_size", "vgprs", "sgprs", "accum_offset", "user_sgprs")
    document.update((name, plain(getattr(described, name))) for name in derived if hasattr(described, name))
    return document
