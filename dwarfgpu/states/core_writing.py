"""Stopped machines of waves as GPU core files: the inverse of opening one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.gpu_core.core_waves import SavedGpu
from dwarfgpu.machines.gpu_core.writing import CoreForm, LoadedImage, core_contents, write_gpu, write_host, write_merged
from dwarfgpu.machines.machine import Machine
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.objfile.place import file_uri
from dwarfgpu.regular_files import whole_output

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.states.stopped import Stopped

CODE_AT = 0x5500_0000_0000
"""Where code objects that are in no file of their own are put into the memory of the host."""
KINDS = {
    "merged": ((("", write_merged),)),
    "pair": ((("", write_host), (".gpu", write_gpu))),
    "gpu": ((("", write_gpu),)),
}
"""The files of each form: what follows the name, and how it is written."""


@frozen
class WrittenCore:
    """The core files that were written."""

    names: list[str]
    unknown: int
    """How many registers of waves are 0 because nothing is known of them."""
    lost: tuple[str, ...]
    """The stop reasons of waves that have no place in the file."""


def write_core(
    stopped: Stopped, path: str, kind: str = "merged", form: CoreForm | None = None, *, version: int | None = None
) -> WrittenCore:
    """Write a machine of waves as core files of a form. Existing files are never overwritten.

    ``version`` is that of the runtime; without it and a form it is that of the core file that the waves are from, or
    the latest.
    """
    machine: Any = stopped.machine
    if not isinstance(machine, Machine):
        message = f"a machine of {machine.target.name} cannot be saved as a core file"
        raise UsageError(message, hint="core files are written of waves; in GDB its own generate-core-file does it")
    images, kernels = list(images_of(stopped)), kernel_objects(stopped)
    if form is None:
        origin = machine.core.r_version if isinstance(machine, SavedGpu) and machine.core is not None else None
        known = version or origin
        form = CoreForm() if known is None else CoreForm(r_version=known)
    contents = core_contents(machine, images, None, form, kernels)
    names = [f"{path}{suffix}" for suffix, _write in KINDS[kind]]
    for name in names:
        if os.path.lexists(name):
            raise UsageError(f"{name} exists", hint="choose another name, or remove it first")
    for name, (_suffix, write) in zip(names, KINDS[kind], strict=True):
        with whole_output(name) as stream:
            file: Any = stream
            write(file, contents)
    return WrittenCore(names, contents.unknown, tuple(sorted(contents.lost)))


def images_of(stopped: Stopped, *, embeds: bool = False) -> Iterator[LoadedImage]:
    """Yield the code objects that are loaded, with their bytes in memory; with ``embeds`` also the files themselves."""
    free = CODE_AT
    for code in stopped.loaded.codes:
        image = code.file.image
        if not any(segment.type == PT_LOAD for segment in image.segments):
            continue
        uri, host = _uri_of(image, free, embeds=embeds)
        if host is not None:
            free += -(-len(image.data) // 4096 + 1) * 4096
        given = code.file.kernels.given if host is not None and code.file.is_amdgpu else ()
        yield LoadedImage(uri, code.bias, segments_of(image, code.bias), host, given)


def _uri_of(image: Image, free: int, *, embeds: bool) -> tuple[str, tuple[int, bytes] | None]:
    """Return the URI of a code object: of its file, or of a copy in the memory of the host.

    A file in the user's cache may be gone when the core file is read, so it is copied.
    """
    path = image.path
    has_file = path is not None and os.path.isfile(path) and os.path.getsize(path) == len(image.data)
    if not embeds and has_file and path is not None and not CodeCache("code").has(path):
        return file_uri(os.path.abspath(path), 0, None), None
    return f"memory://0#offset={free:#x}&size={len(image.data):#x}", (free, bytes(image.data))


def segments_of(image: Image, bias: int) -> tuple[tuple[int, bytes], ...]:
    """Return the segments of a code object as they are in memory."""
    return tuple(
        (
            bias + segment.address,
            bytes(image.data[segment.offset : segment.offset + segment.file_size]).ljust(segment.memory_size, b"\0"),
        )
        for segment in image.segments
        if segment.type == PT_LOAD and segment.memory_size
    )


def kernel_objects(stopped: Stopped) -> dict[str, int]:
    """Return the addresses of the kernel descriptors by the names of the kernels."""
    addresses: dict[str, int] = {}
    for code in stopped.loaded.codes:
        for symbol in code.file.image.symbols():
            if symbol.name.endswith(".kd"):
                addresses.setdefault(symbol.name.removesuffix(".kd"), code.bias + symbol.value)
        for kernel in code.file.kernels.kernels if code.file.is_amdgpu else ():
            if kernel.symbol is not None:
                addresses.setdefault(kernel.name, code.bias + kernel.symbol.value)
    return addresses
