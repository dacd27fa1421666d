"""Buffer resources (V#) in memory by generation.

ISA documents, "Buffer Resource Descriptor" (GCN3, Vega, RDNA, RDNA2) and "Buffer Resource" (RDNA3, RDNA4).
"""

from __future__ import annotations

from functools import cache

from dwarfgpu.targets.amdgpu.queue import BitRange, Structure, fields_of

CLAUSE = 'ISA documents, "Buffer Resource Descriptor"'
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
        last.append(BitRange("format", 12, 7 if major == 10 else 6, text=formats(major).get))
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


_NUMBERS = dict(zip("USusIiFG", ("unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "float", "srgb"), strict=True))
_FORMATS_10 = """
    1 8 USusIi, 16 USusIiF, 8_8 USusIi, 32 IiF, 16_16 USusIiF, 10_11_11 USusIiF, 11_11_10 USusIiF, 10_10_10_2 USusIi,
    2_10_10_10 USusIi, 8_8_8_8 USusIi, 32_32 IiF, 16_16_16_16 USusIiF, 32_32_32 IiF, 32_32_32_32 IiF;
    128 8 G, 8_8 G, 8_8_8_8 G, 6E4 F, 5_9_9_9 F, 5_6_5 U, 1_5_5_5 U, 5_5_5_1 U, 4_4_4_4 U, 4_4 U, 1 U;
    141 8_24 UI, 24_8 UI, X24_8_32 IF
"""
_FORMATS_11 = """
    1 8 USusIi, 16 USusIiF, 8_8 USusIi, 32 IiF, 16_16 USusIiF, 10_11_11 F, 11_11_10 F, 10_10_10_2 USIi,
    2_10_10_10 USusIi, 8_8_8_8 USusIi, 32_32 IiF, 16_16_16_16 USusIiF, 32_32_32 IiF, 32_32_32_32 IiF,
    8 G, 8_8 G, 8_8_8_8 G, 5_9_9_9 F, 5_6_5 U, 1_5_5_5 U, 5_5_5_1 U, 4_4_4_4 U, 4_4 U, 1 U;
    76 8_24 UI, 24_8 UI, X24_8_32 IF
"""
"""Runs of formats that follow each other from a number on, as channels and letters of `_NUMBERS`."""


@cache
def formats(major: int) -> dict[int, str]:
    """Return the names of the formats of GFX10 or later, which have channels and number in one."""
    named: dict[int, str] = {}
    for run in (_FORMATS_10 if major == 10 else _FORMATS_11).split(";"):
        first, rest = run.split(maxsplit=1)
        rows = (row.split() for row in rest.split(","))
        names = (f"{channels}_{_NUMBERS[kind]}" for channels, kinds in rows for kind in kinds)
        named |= dict(enumerate(names, int(first)))
    return named
