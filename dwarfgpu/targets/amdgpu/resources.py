"""Resources in memory by generation: buffers (V#), and the objects that handles of images and samplers point to.

ISA documents, "Buffer Resource Descriptor" (GCN3, Vega, RDNA, RDNA2) and "Buffer Resource" (RDNA3, RDNA4). The fields
of images (T#) and samplers (S#) are those of the headers of the ROCm runtime (ROCR-Runtime, runtime/hsa-runtime/image:
resource_kv.h, resource_ai.h, resource_nv.h, resource_gfx11.h, resource_gfx12.h), and for GFX10 also those of Mesa
(src/amd/registers/gfx10-rsrc.json), which agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from dwarfgpu.targets.amdgpu.queue import BitRange, Structure, fields_of

if TYPE_CHECKING:
    from dwarfgpu.targets.amdgpu.processors import Processor

CLAUSE = 'ISA documents, "Buffer Resource Descriptor"'
IMAGE_CLAUSE = "ROCR-Runtime, image/resource.h and the resource headers of the generations"
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
_CHANNELS = """
    - 8 16 8_8 32 16_16 10_11_11 11_11_10 10_10_10_2 2_10_10_10 8_8_8_8 32_32 16_16_16_16 32_32_32 32_32_32_32 - 5_6_5
    1_5_5_5 5_5_5_1 4_4_4_4 8_24 24_8 X24_8_32
"""
_DATA_FORMATS = {number: name for number, name in enumerate(_CHANNELS.split()) if name != "-"}
_NUMBER_FORMATS = dict(zip((0, 1, 2, 3, 4, 5, 7, 9), _NUMBERS.values(), strict=True))


def _pairs(row: str) -> list[tuple[str, str]]:
    words = row.replace(",", " ").split()
    return list(zip(words[::2], words[1::2], strict=True))


@cache
def formats(major: int) -> dict[int, str]:
    """Return the names of the formats of GFX10 or later, which have channels and number in one."""
    named: dict[int, str] = {}
    for run in (_FORMATS_10 if major == 10 else _FORMATS_11).split(";"):
        first, rest = run.split(maxsplit=1)
        names = (f"{channels}_{_NUMBERS[kind]}" for channels, kinds in _pairs(rest) for kind in kinds)
        named |= dict(enumerate(names, int(first)))
    return named


# Rows are names and widths of bits from the lowest on; "-" is for bits without a name.
_IMAGES = {
    7: """
        base_address 40, min_lod 12, data_format 6, num_format 4, mtype_low 2, width 14, height 14, perf_mod 3,
        interlaced 1, dst_sel_x 3, dst_sel_y 3, dst_sel_z 3, dst_sel_w 3, base_level 4, last_level 4,
        tiling_index 5, pow2_pad 1, mtype_high 1, atc 1, type 4, depth 13, pitch 14, - 5, base_array 13,
        last_array 13, - 6, min_lod_warn 12, counter_bank_id 8, lod_hdw_cnt_en 1, compression_en 1,
        alpha_is_on_msb 1, color_transform 1, lost_alpha_bits 4, lost_color_bits 4, meta_data_address 32
    """,
    9: """
        base_address 40, min_lod 12, data_format 6, num_format 4, nv 1, meta_direct 1, width 14, height 14,
        perf_mod 3, - 1, dst_sel_x 3, dst_sel_y 3, dst_sel_z 3, dst_sel_w 3, base_level 4, last_level 4, sw_mode 5,
        - 3, type 4, depth 13, pitch 16, bc_swizzle 3, base_array 13, array_pitch 4, meta_data_address_hi 8,
        meta_linear 1, meta_pipe_aligned 1, meta_rb_aligned 1, max_mip 4, min_lod_warn 12, counter_bank_id 8,
        lod_hdw_cnt_en 1, compression_en 1, alpha_is_on_msb 1, color_transform 1, lost_alpha_bits 4,
        lost_color_bits 4, meta_data_address 32
    """,
    10: """
        base_address 40, min_lod 12, format 9, - 1, width 14, - 2, height 14, - 3, resource_level 1, dst_sel_x 3,
        dst_sel_y 3, dst_sel_z 3, dst_sel_w 3, base_level 4, last_level 4, sw_mode 5, bc_swizzle 3, type 4,
        depth 13, - 3, base_array 13, - 3, array_pitch 4, max_mip 4, min_lod_warn 12, perf_mod 3, corner_samples 1,
        linked_resource 1, lod_hdw_cnt_en 1, prt_default 1, - 4, big_page 1, counter_bank_id 8, - 2, iterate_256 1,
        - 4, max_uncompressed_block_size 2, max_compressed_block_size 2, meta_pipe_aligned 1,
        write_compress_enable 1, compression_en 1, alpha_is_on_msb 1, color_transform 1, meta_data_address 40
    """,
    11: """
        base_address 40, - 5, llc_noalloc 2, big_page 1, max_mip 4, format 8, - 2, width 14, - 2, height 14, - 4,
        dst_sel_x 3, dst_sel_y 3, dst_sel_z 3, dst_sel_w 3, base_level 4, last_level 4, sw_mode 5, bc_swizzle 3,
        type 4, depth_or_pitch 14, - 2, base_array 13, - 3, array_pitch 4, - 4, depth_scale 4, height_scale 4,
        width_scale 4, perf_mod 3, corner_samples 1, linked_resource 1, lod_hdw_cnt_en 1, prt_default 1, min_lod 12,
        - 3, iterate_256 1, sample_pattern_offset 4, max_uncompressed_block_size 2, max_compressed_block_size 2,
        meta_pipe_aligned 1, write_compress_enable 1, compression_en 1, alpha_is_on_msb 1, color_transform 1,
        meta_data_address 40
    """,
    12: """
        base_address 40, - 4, max_mip 5, format 8, base_level 5, width 16, height 16, - 2, dst_sel_x 3, dst_sel_y 3,
        dst_sel_z 3, dst_sel_w 3, no_edge_clamp 1, - 2, last_level 5, sw_mode 5, bc_swizzle 3, type 4,
        depth_or_pitch 16, base_array 14, - 2, - 4, uav3d 1, depth_scale 5, height_scale 5, width_scale 5,
        perf_mod 3, corner_samples 1, linked_resource 1, lod_hdw_cnt_en 1, min_lod 13, counter_bank_id 8,
        max_uncompressed_block_size 1, - 1, max_compressed_block_size 2, - 1, write_compress_enable 1,
        compression_en 1, compression_access_mode 2, speculative_read 2, - 6, - 32
    """,
}
"""The 256 bits of T#, by the first generation that has them."""
_IMAGES_103 = _IMAGES[10].replace("depth 13, - 3,", "depth_or_pitch 14, - 2,")
_SAMPLING = """
    clamp_x 3, clamp_y 3, clamp_z 3, max_aniso_ratio 3, depth_compare_func 3, force_unnormalized 1,
    aniso_threshold 3, mc_coord_trunc 1, force_degamma 1, aniso_bias 6, trunc_coord 1, disable_cube_wrap 1,
    filter_mode 2,
"""
"""The first bits of S# in every generation; `_SAMPLERS` has those that follow."""
_SAMPLERS = {
    7: """
        compat_mode 1, min_lod 12, max_lod 12, perf_mip 4, perf_z 4, lod_bias 14, lod_bias_sec 6, xy_mag_filter 2,
        xy_min_filter 2, z_filter 2, mip_filter 2, mip_point_preclamp 1, disable_lsb_ceil 1, filter_prec_fix 1,
        aniso_override 1, border_color_ptr 12, - 18, border_color_type 2
    """,
    9: """
        compat_mode 1, min_lod 12, max_lod 12, perf_mip 4, perf_z 4, lod_bias 14, lod_bias_sec 6, xy_mag_filter 2,
        xy_min_filter 2, z_filter 2, mip_filter 2, mip_point_preclamp 1, blend_zero_prt 1, filter_prec_fix 1,
        aniso_override 1, border_color_ptr 12, skip_degamma 1, - 17, border_color_type 2
    """,
    10: """
        skip_degamma 1, min_lod 12, max_lod 12, perf_mip 4, perf_z 4, lod_bias_or_border_color 14, lod_bias_sec 6,
        xy_mag_filter 2, xy_min_filter 2, z_filter 2, mip_filter 2, mip_point_preclamp 1, aniso_override 1,
        blend_zero_prt 1, deriv_adjust_en 1, border_color_ptr 12, gradient_adjust 16, - 2, border_color_type 2
    """,
    11: """
        skip_degamma 1, min_lod 12, max_lod 12, perf_mip 4, perf_z 4, lod_bias_or_border_color 14, lod_bias_sec 6,
        xy_mag_filter 2, xy_min_filter 2, z_filter 2, mip_filter 2, - 1, aniso_override 1, blend_prt 1,
        deriv_adjust_en 1, gradient_adjust 16, - 2, border_color_ptr 12, border_color_type 2
    """,
    12: """
        skip_degamma 1, min_lod 13, max_lod 13, - 2, perf_z 4, lod_bias 14, lod_bias_sec 6, xy_mag_filter 2,
        xy_min_filter 2, z_filter 2, mip_filter 2, - 1, aniso_override 1, perf_mip 4, - 16, border_color_ptr 12,
        border_color_type 2
    """,
}
"""The 128 bits of S#."""

_IMAGE_TYPES = tuple(enumerate(("1D", "2D", "3D", "cube", "1D array", "2D array", "2D msaa", "2D msaa array"), 8))
_CLAMP_MODES = (
    "wrap", "mirror", "last texel", "mirror once, last texel", "half border", "mirror once, half border", "border",
    "mirror once, border",
)  # fmt: skip
_MIP_FILTERS = ("none", "point", "linear")
_TEXTS: dict[str, Callable[[int], str | None]] = {
    "base_address": lambda value: f"{value << 8:#x}",
    **dict.fromkeys(("width", "height"), lambda value: f"of {value + 1}"),
    **dict.fromkeys(("clamp_x", "clamp_y", "clamp_z"), _CLAMP_MODES.__getitem__),
    **dict.fromkeys(
        ("xy_mag_filter", "xy_min_filter"), ("point", "bilinear", "aniso point", "aniso bilinear").__getitem__
    ),
    "z_filter": dict(enumerate(_MIP_FILTERS)).get,
    "mip_filter": dict(enumerate((*_MIP_FILTERS, "point, aniso adjusted"))).get,
    "border_color_type": ("transparent black", "opaque black", "opaque white", "register").__getitem__,
    "data_format": _DATA_FORMATS.get,
    "num_format": _NUMBER_FORMATS.get,
}  # fmt: skip
_CHANNEL_TYPES = (
    "snorm int8", "snorm int16", "unorm int8", "unorm int16", "unorm int24", "unorm short 555", "unorm short 565",
    "unorm short 101010", "signed int8", "signed int16", "signed int32", "unsigned int8", "unsigned int16",
    "unsigned int32", "half float", "float",
)  # fmt: skip
_CHANNEL_ORDERS = (
    "A", "R", "RX", "RG", "RGX", "RA", "RGB", "RGBX", "RGBA", "BGRA", "ARGB", "ABGR", "sRGB", "sRGBX", "sRGBA", "sBGRA",
    "intensity", "luminance", "depth", "depth stencil",
)  # fmt: skip


def _named_bits(row: str, major: int) -> tuple[BitRange, ...]:
    """Return the ranges of a row of bits."""
    found, start = [], 0
    for name, width in _pairs(row):
        meanings = _SELECT if name.startswith("dst_sel") else _IMAGE_TYPES if name == "type" else ()
        text = formats(major).get if name == "format" else _TEXTS.get(name)
        if name != "-":
            found.append(BitRange(name, start, int(width), meanings, text))
        start += int(width)
    return tuple(found)


def _row_of(rows: dict[int, str], major: int) -> str | None:
    return next((rows[first] for first in sorted(rows, reverse=True) if first <= major), None)


@cache
def image_object(processor: Processor, *, is_buffer: bool = False) -> Structure:
    """Return the layout of what an image handle points to; of an image of one dimension it may be a buffer."""
    major = processor.major
    row = _IMAGES_103 if processor.name.startswith(("gfx103", "gfx10-3")) else _row_of(_IMAGES, major)
    about = "the resource; height, depth and pitch are 1 less, a depth of arrays is the last slice"
    rows: list[tuple[Any, ...]] = [(0, 32, "resource", "words", about, _named_bits(row, major))] if row else []
    if is_buffer:
        own = buffer_resource(major).fields
        rows = [(each.offset, each.size, each.name, each.kind, each.meaning, each.bits) for each in own]
        rows.append((16, 16, "unused", "words", "words that a buffer does not have"))
    elif not row:
        rows = [(0, 32, "resource", "unknown", "words of the hardware, whose fields are unknown")]
    fields = fields_of(
        IMAGE_CLAUSE,
        *rows,
        (32, 4, "channel_type", "number", "hsa_ext_image_channel_type_t", (), tuple(enumerate(_CHANNEL_TYPES))),
        (36, 4, "channel_order", "number", "hsa_ext_image_channel_order_t", (), tuple(enumerate(_CHANNEL_ORDERS))),
        (40, 4, "image_width", "number", "in pixels"),
        (44, 4, "unused", "words", ""),
    )
    return Structure("image object (V#)" if is_buffer else "image object (T#)", 48, 16, IMAGE_CLAUSE, fields)


def image_object_of(data: bytes, processor: Processor) -> Structure:
    """Return the layout of an image object, by its generation and its type: below 8 it is a buffer."""
    return image_object(processor, is_buffer=data[15] >> 4 < _IMAGE_TYPES[0][0])


@cache
def sampler_object(major: int) -> Structure:
    """Return the layout of what a sampler handle points to."""
    row = _row_of(_SAMPLERS, major)
    known: tuple[Any, ...] = (0, 16, "sampler", "unknown", "words of the hardware, whose fields are unknown")
    if row:
        known = (0, 16, "sampler", "words", "how coordinates become texels", _named_bits(_SAMPLING + row, major))
    fields = fields_of(IMAGE_CLAUSE, known, (16, 16, "unused", "words", ""))
    return Structure("sampler object (S#)", 32, 16, IMAGE_CLAUSE, fields)
