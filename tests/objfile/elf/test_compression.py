"""Compressed sections: zlib, zstd and the old .zdebug (gABI, "Compression"), and bombs."""

import builtins
import sys
import zlib

import pytest

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.elf import sections
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.objfile.section_source import ImageSections
from tests.builders.code_objects import opencl, run, section_bytes
from tests.builders.elf import ElfBuilder
from tests.builders.parameters import every, for_each

CLASSES = [(size, order) for size in (4, 8) for order in ("little", "big")]
TEXT = b"some text that is repeated, " * 100
ZDEBUG = b"ZLIB" + len(TEXT).to_bytes(8, "big") + zlib.compress(TEXT)


def zstd(data, **options):
    return pytest.importorskip("zstandard").ZstdCompressor(**options).compress(data)


def section_of(build, **options):
    builder = ElfBuilder(**options)
    build(builder)
    return Image(builder.build(), name="k.co").section(".debug_info")


def error_of(build):
    with pytest.raises(DwarfGpuError) as error:
        _ = section_of(build).data
    return error.value


@pytest.mark.parametrize("size, order", CLASSES)
def test_zlib_zstd_and_the_old_form(size, order):
    options = {"address_size": size, "byte_order": order}
    section = section_of(lambda b: b.compressed(".debug_info", TEXT), **options)
    assert (section.compression, section.data_size, section.data) == ("zlib", len(TEXT), TEXT)
    assert section.size < len(TEXT)
    section = section_of(lambda b: b.compressed(".debug_info", TEXT, method=2, stream=zstd(TEXT)), **options)
    assert (section.compression, section.data) == ("zstd", TEXT)
    section = section_of(lambda b: b.section(".zdebug_info", ZDEBUG), **options)
    assert (section.name, section.compression, section.data) == (".zdebug_info", "zlib-gnu", TEXT)


def test_what_is_not_compressed():
    section = section_of(lambda b: b.section(".debug_info", TEXT))
    assert (section.compression, section.data_size, section.data) == (None, len(TEXT), TEXT)
    assert bytes(section.view) == TEXT


def test_relocations_apply_to_the_decompressed_content():
    builder = ElfBuilder(type=1)
    target = builder.compressed(".debug_info", bytes(400))
    builder.relocations(target, builder.symbols([("f", 0x1234, 0, 0, 1, target)]), [(300, 6, 1, 0)])
    data = Image(builder.build()).section(".debug_info").data
    assert data[300:304] == b"\x34\x12\0\0"
    assert len(data) == 400


@for_each("build, kind",
    (lambda b: b.compressed(".debug_info", TEXT, method=7), "bad_compression"),
    (lambda b: b.compressed(".debug_info", TEXT, stream=b"no stream"), "bad_compression"),
    (lambda b: b.compressed(".debug_info", TEXT, method=2, stream=b"no stream"), "bad_compression"),
    (lambda b: b.compressed(".debug_info", TEXT, stream=zlib.compress(TEXT)[:-20]), "truncated"),
    (lambda b: b.compressed(".debug_info", TEXT, method=2, stream=zstd(TEXT)[:-3]), "truncated"),
    (lambda b: b.compressed(".debug_info", TEXT, stream=b""), "truncated"),
    (lambda b: b.compressed(".debug_info", TEXT, size=len(TEXT) + 1), "truncated"),
    (lambda b: b.compressed(".debug_info", TEXT, size=len(TEXT) - 1), "size_mismatch"),
    (lambda b: b.compressed(".debug_info", TEXT, size=0), "size_mismatch"),
    (lambda b: b.section(".debug_info", bytes(10), flags=0x800), "truncated"),
    (lambda b: b.section(".zdebug_info", b"ZLIB"), "bad_compression"),
    (lambda b: b.section(".zdebug_info", TEXT), "bad_compression"),
    (lambda b: b.section(".zdebug_info", ZDEBUG[:-30]), "truncated"))  # fmt: skip
def test_broken_streams_are_malformed(build, kind):
    error = error_of(build)
    assert isinstance(error, MalformedFile)
    assert error.kind == kind
    assert error.where.section in (".debug_info", ".zdebug_info")
    assert "k.co" in str(error)


def test_a_broken_section_hides_no_other():
    builder = ElfBuilder()
    builder.compressed(".debug_info", TEXT, method=9)
    builder.compressed(".debug_str", TEXT)
    assert Image(builder.build()).section(".debug_str").data == TEXT


@every(size=[1 << 30, 1 << 40, (1 << 64) - 1], method=[1, 2])
def test_a_claim_that_cannot_be_true_is_refused_before_decompressing(size, method):
    error = error_of(lambda b: b.compressed(".debug_info", TEXT, size=size, method=method, stream=b"\x78\x9c"))
    assert error.kind == "too_large"


def test_a_zdebug_claim_that_cannot_be_true():
    stream = b"ZLIB" + (1 << 50).to_bytes(8, "big") + zlib.compress(TEXT)
    assert error_of(lambda b: b.section(".zdebug_info", stream)).kind == "too_large"


def test_a_real_bomb_is_refused(monkeypatch):
    size = 64 << 20
    stream = zlib.compress(bytes(size))  # 1,000 times smaller
    assert error_of(lambda b: b.compressed(".debug_info", b"", size=size, stream=stream)).kind == "too_large"
    # one that lies about its size makes no more than it claims, and a byte
    read = []
    original = sections.decompress_some
    monkeypatch.setattr(sections, "decompress_some", lambda *a, **k: read.append(original(*a, **k)) or read[-1])
    error = error_of(lambda b: b.compressed(".debug_info", b"", size=1000, stream=stream))
    assert (error.kind, len(read[0])) == ("size_mismatch", 1001)


def test_a_zstd_bomb_is_refused():
    stream = zstd(bytes(64 << 20))
    build = lambda b: b.compressed(".debug_info", b"", size=64 << 20, method=2, stream=stream)  # noqa: E731
    assert error_of(build).kind == "too_large"


def test_a_zdebug_bomb_is_refused():
    stream = zlib.compress(bytes(64 << 20))
    data = b"ZLIB" + (64 << 20).to_bytes(8, "big") + stream
    assert error_of(lambda b: b.section(".zdebug_info", data)).kind == "too_large"


def test_sections_of_one_name_are_no_bomb_together(monkeypatch):
    """Their headers may lead to the same bytes, each time anew."""
    monkeypatch.setattr(sections, "FREE_SIZE", 110_000)
    builder = ElfBuilder()
    index = builder.compressed(".debug_str", bytes(1 << 15))
    builder.section(".debug_line", b"line")
    image = Image(builder.build(), name="k.co")
    image.sections += (image.sections[index],) * 100
    opened = ImageSections(image)
    with pytest.raises(MalformedFile, match=r"the sections \.debug_str have more than 110000 bytes") as error:
        opened.data(".debug_str")
    assert error.value.kind == "too_large"
    assert bytes(opened.data(".debug_line")) == b"line"


def test_a_small_thing_may_be_very_compressible():
    data = bytes(1 << 20)
    assert section_of(lambda b: b.compressed(".debug_info", data)).data == data


def test_zstd_without_a_library(monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("this Python has its own")
    stream = zstd(TEXT)
    original = builtins.__import__

    def refuse(name, *args, **options):
        if name == "zstandard":
            raise ImportError(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    error = error_of(lambda b: b.compressed(".debug_info", TEXT, method=2, stream=stream))
    assert isinstance(error, Unsupported)
    assert "zstandard" in error.hint


@pytest.mark.parametrize("options", ["--compress-debug-sections=zlib", "--compress-debug-sections=zstd"])
def test_what_objcopy_compresses_is_read(tmp_path, require_tool, options):
    plain = opencl(tmp_path, require_tool, "gfx90a")
    packed = tmp_path / "packed.co"
    run(require_tool("llvm-objcopy-22"), options, plain, packed)
    theirs, ours = open_image(plain), open_image(packed)
    compressed = [section for section in ours.sections if section.compression]
    assert compressed
    for section in compressed:
        assert section.compression == options.partition("=")[2]
        assert section.data == theirs.section(section.name).data
        assert section.data == section_bytes(packed, require_tool, section.name)


@pytest.mark.parametrize("option", ["-gz=zlib", "-gz=zstd"])
def test_what_the_compiler_compresses_is_read(tmp_path, require_tool, option):
    """In an object the relocations are those of the decompressed content."""
    plain = open_image(opencl(tmp_path, require_tool, "gfx1100", link=False))
    packed = open_image(opencl(tmp_path, require_tool, "gfx1100", option, link=False))
    assert any(section.compression for section in packed.sections)
    for name in (".debug_info", ".debug_line", ".debug_str_offsets", ".debug_addr"):
        assert len(packed.section(name).data) == len(plain.section(name).data)
    assert packed.section(".debug_addr").data == plain.section(".debug_addr").data
