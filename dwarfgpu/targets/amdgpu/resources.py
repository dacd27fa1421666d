"""Resources in memory: buffers (V#) by generation, and the objects that handles of images and samplers point to.

ISA documents, "Buffer Resource Descriptor" (GCN3, Vega, RDNA, RDNA2) and "Buffer Resource" (RDNA3, RDNA4). The AMDGPU
usage text gives the sizes of image and sampler objects, but no field of them for any generation.
"""

from __future__ import annotations

from functools import cache

from dwarfgpu.targets.amdgpu.queue import BitRange, Structure, fields_of

CLAUSE = 'ISA documents, "Buffer Resource Descriptor"'
IMAGE_CLAUSE = 'AMDGPU usage, "Image and Samplers"'
_SELECT = ((0, "0"), (1, "1"), (4, "x"), (5, "y"), (6, "z"), (7, "w"))
_TYPES = ((0, "buffer"),)
_ELEMENTS = ((0, "2 bytes"), (1, "4 bytes"), (2, "8 bytes"), (3, "16 bytes"))
_INDEX_STRIDES = ((0, "8 lanes"), (1, "16 lanes"), (2, "32 lanes"), (3, "64 lanes"))
_BOUNDS = ((0, "index, or offset of a record"), (1, "index"), (2, "none"), (3, "offset"))


@cache
def buffer_resource(major: int) -> Structure:
    """Return the layout of a buffer resource on a generation."""
    swizzle = [BitRange("swizzle_enable", 30, 2)]
    if major <= 10:
        swizzle = [BitRange("cache_swizzle", 30, 1), BitRange("swizzle_enable", 31, 1)]
    last = [BitRange(f"dst_sel_{axis}", 3 * place, 3, _SELECT) for place, axis in enumerate("xyzw")]
    if major <= 9:
        last += [BitRange("num_format", 12, 3), BitRange("data_format", 15, 4)]
    else:
        last.append(BitRange("format", 12, 7 if major == 10 else 6))
    if major <= 8:
        last.append(BitRange("element_size", 19, 2, _ELEMENTS))
    last += [BitRange("index_stride", 21, 2, _INDEX_STRIDES), BitRange("add_tid_enable", 23, 1)]
    if major >= 10:
        last.append(BitRange("oob_select", 28, 2, _BOUNDS))
    last.append(BitRange("type", 30, 2, _TYPES))
    high = (BitRange("base_high", 0, 16), BitRange("stride", 16, 14), *swizzle)
    fields = fields_of(
        CLAUSE,
        (0, 4, "base_low", "address", "bits 31:0 of the base address"),
        (4, 4, "word_1", "number", "bits 47:32 of the base address, the stride in bytes", high),
        (8, 4, "num_records", "number", "records, or bytes where the stride is 0"),
        (12, 4, "word_3", "number", "components, format and how lanes take turns", tuple(last)),
    )
    return Structure("buffer resource (V#)", 16, 4, CLAUSE, fields)


def buffer_parts(words: tuple[int, ...], major: int) -> tuple[tuple[str, int], ...]:
    """Return what a buffer resource says of addresses, by name: the base as one number."""
    data = b"".join(word.to_bytes(4, "little") for word in words)
    values = {value.field.name: value for value in buffer_resource(major).decode(data)}
    bits = {bits.name: number for value in values.values() for bits, number, _meaning in value.parts}
    named = {"base": values["base_low"].value | bits["base_high"] << 32, "num_records": values["num_records"].value}
    shown = ("stride", "swizzle_enable", "element_size", "index_stride", "add_tid_enable")
    meant = {"element_size": lambda code: 2 << code, "index_stride": lambda code: 8 << code}
    for name in shown:
        if name in bits:
            named[name] = meant.get(name, int)(bits[name])
    return tuple(named.items())


def _unknown_object(name: str, size: int, meaning: str) -> Structure:
    return Structure(name, size, 1, IMAGE_CLAUSE, fields_of(IMAGE_CLAUSE, (0, size, "words", "unknown", meaning)))


IMAGE_OBJECT = _unknown_object("image object (T#)", 32, "words of the hardware, whose fields are unknown")
SAMPLER_OBJECT = _unknown_object(
    "sampler object (S#)", 48, "words of the hardware and two HSA enumeration values, at unknown places"
)
