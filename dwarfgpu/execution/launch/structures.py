"""Structures in the memory of a machine: queue, signal, dispatch packet, and the descriptors of kernels."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import fields, frozen

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import Backend
    from dwarfgpu.targets.amdgpu.processors import Processor
    from dwarfgpu.targets.amdgpu.queue import FieldValue
    from dwarfgpu.targets.target import Target

KINDS = ("queue", "signal", "packet", "kernel-code", "kernel-descriptor", "buffer")
DESCRIPTOR_CLAUSE = 'AMDGPU usage, "Kernel Descriptor"'
CODE_CLAUSE = 'AMDGPU Compute ABI 0.40, "AMD Kernel Code Object amd_kernel_code_t"'

_DESCRIPTOR_NAMES = (
    "group_segment_fixed_size", "private_segment_fixed_size", "kernarg_size", "", "kernel_code_entry_byte_offset", "",
    "compute_pgm_rsrc3", "compute_pgm_rsrc1", "compute_pgm_rsrc2", "kernel_code_properties", "kernarg_preload", "",
)  # fmt: skip


@frozen
class Bits:
    """The bits of a named part of a field."""

    name: str
    shift: int
    width: int
    value: int
    meaning: str | None


@frozen
class ShownField:
    """A field of an object in memory."""

    offset: int
    size: int
    name: str
    """Empty for reserved fields."""
    kind: str
    """``number``, ``signed``, ``address``, ``words`` or ``reserved``."""
    value: int
    meaning: str | None
    """What the value means, if the document has a word for it."""
    text: str | None
    clause: str
    bits: tuple[Bits, ...]


@frozen
class ObjectInMemory:
    """A structure at an address."""

    name: str
    address: int
    size: int
    clause: str
    parts: tuple[ShownField, ...]
    violations: tuple[str, ...]


def read_object(backend: Backend, target: Target, kind: str, address: int) -> ObjectInMemory:
    """Read a structure of one of `KINDS` from global memory."""
    if target.space_named("global") is None or not target.name.startswith("amdgcn"):
        raise UsageError(f"{target.name} is not an AMD GPU, which has such structures")
    if kind == "kernel-code":
        return _kernel_code(backend, target, address)
    if kind == "kernel-descriptor":
        return _descriptor(backend, target, address)
    from dwarfgpu.targets.amdgpu import queue, resources

    tables = {
        "queue": queue.QUEUE,
        "signal": queue.SIGNAL,
        "packet": queue.DISPATCH_PACKET,
        "buffer": resources.buffer_resource(_processor(target).major),
    }
    structure = tables[kind]
    data = _read(backend, target, structure.name, address, structure.size)
    if kind == "packet":
        structure = queue.packet_structure(data)
    values = structure.decode(data)
    return ObjectInMemory(
        structure.name,
        address,
        structure.size,
        structure.clause,
        tuple(_part(value) for value in values),
        queue.broken_rules(structure, address, values),
    )


def _processor(target: Target) -> Processor:
    from dwarfgpu.targets.amdgpu.processors import processor_named

    processor = processor_named(target.processor)
    assert processor is not None  # noqa: S101 (the target is one of AMD)
    return processor


def _read(backend: Backend, target: Target, name: str, address: int, size: int) -> bytes:
    if not 0 <= address <= (1 << 64) - size:
        raise UsageError(f"{name} at {address:#x} is not in the address space")
    return backend.read_memory(target.default_space, address, size, 0, None)


def _part(decoded: FieldValue) -> ShownField:
    field = decoded.field
    bits = tuple(Bits(part.name, part.shift, part.width, value, meaning) for part, value, meaning in decoded.parts)
    return ShownField(
        field.offset, field.size, field.name, field.kind,
        decoded.value, decoded.meaning, field.meaning, field.clause, bits,
    )  # fmt: skip


# --- Kernel descriptors -------------------------------------------------------------------------------------------


def _kernel_code(backend: Backend, target: Target, address: int) -> ObjectInMemory:
    from dwarfgpu.objfile.kernels.kernel import CODE, CODE_SIZE, KernelCode, parse_kernel_code

    data = _read(backend, target, "amd_kernel_code_t", address, CODE_SIZE)
    code = parse_kernel_code(data)
    names_of_fields = [each.name for each in fields(KernelCode)]
    end = names_of_fields.index("runtime_loader_kernel_symbol")
    names = (*names_of_fields[:end], "", *names_of_fields[end : end + 2])
    wrong = []
    if code.amd_code_version_major != 1 or code.amd_machine_kind != 1:
        wrong.append(
            "this is not an amd_kernel_code_t of version 1 for AMDGPU; read a V3 descriptor with `kernel-descriptor`"
        )
    # a loader may have set runtime_loader_kernel_symbol, which the file must not have
    wrong += [violation for violation in code.violations if "runtime_loader" not in violation]
    parts = _plain_parts(CODE, names, data, CODE_CLAUSE, code.fields)
    return ObjectInMemory("amd_kernel_code_t", address, CODE_SIZE, CODE_CLAUSE, parts, tuple(wrong))


def _descriptor(backend: Backend, target: Target, address: int) -> ObjectInMemory:
    from dwarfgpu.objfile.kernels.descriptor_fields import generation_of
    from dwarfgpu.objfile.kernels.kernel import DESCRIPTOR, DESCRIPTOR_SIZE, parse_descriptor
    from dwarfgpu.program.code.code_object import target_id

    data = _read(backend, target, "kernel descriptor", address, DESCRIPTOR_SIZE)
    descriptor = parse_descriptor(data, generation_of(target_id(target)))
    wrong = list(descriptor.violations)
    if address % DESCRIPTOR_SIZE:
        wrong.insert(0, f"a kernel descriptor must be aligned to {DESCRIPTOR_SIZE} bytes")
    parts = _plain_parts(DESCRIPTOR, _DESCRIPTOR_NAMES, data, DESCRIPTOR_CLAUSE, descriptor.fields)
    return ObjectInMemory("kernel descriptor", address, DESCRIPTOR_SIZE, DESCRIPTOR_CLAUSE, parts, tuple(wrong))


def _plain_parts(
    layout: struct.Struct, names: tuple[str, ...], data: bytes, clause: str, fields: tuple[Any, ...]
) -> tuple[ShownField, ...]:
    """Return the fields of a structure that is known by its layout; ``fields`` are the bits of its words."""
    shown = []
    offset = 0
    for (size, signed), name in zip(_sizes(layout.format), names, strict=True):
        value = int.from_bytes(data[offset : offset + size], "little", signed=signed)
        bits = tuple(
            Bits(bits.name, bits.shift, bits.width, bits.value, bits.meaning)
            for bits in fields
            if bits.word.lower() == name and not bits.is_reserved
        )
        kind = "signed" if signed else "number" if name and size <= 8 else "words" if name else "reserved"
        shown.append(ShownField(offset, size, name, kind, value, None, None, clause, bits))
        offset += size
    return tuple(shown)


def _sizes(layout: str) -> list[tuple[int, bool]]:
    sizes = []
    for count, letter in re.findall(r"(\d*)([a-zA-Z])", layout):
        size = struct.calcsize(f"<{letter}")
        sizes += [(int(count), False)] if letter == "s" else [(size, letter in "bhiq")] * int(count or 1)
    return sizes
