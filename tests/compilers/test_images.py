"""Images as arguments: read and written by kernels as Oclgrind does, given as files, and saved as files."""

import itertools
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.execution.launch.images import ORDERS, TYPES
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.launch.png import png_bytes, read_png
from tests.builders import oclgrind
from tests.builders.commands import run

RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def clang(require_tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", require_tool("clang-22", "clang"))
    require_tool("ld.lld-22", "ld.lld")


@pytest.fixture
def other(require_tool: Any) -> Any:
    require_tool("oclgrind")
    return oclgrind


MODES = ("NONE", "CLAMP_TO_EDGE", "CLAMP", "REPEAT", "MIRRORED_REPEAT")
SAMPLERS = [
    (mode, way, normalized)
    for mode, way, normalized in itertools.product(MODES, ("NEAREST", "LINEAR"), ("TRUE", "FALSE"))
    if (normalized == "TRUE" or "REPEAT" not in mode) and (mode, way) != ("NONE", "LINEAR")
]
SHAPES = {"image1d_t": ("x", (5,)), "image1d_array_t": ("xy", (3, 5)), "image2d_t": ("xy", (4, 5)),
          "image2d_array_t": ("xyzw", (3, 4, 5)), "image3d_t": ("xyzw", (3, 4, 5))}  # fmt: skip
COUNT = 96


def sampling(kind: str, function: str, result: str, samplers: list[tuple[str, str, str]]) -> str:
    """A kernel that reads an image through many samplers at places that are not whole numbers."""
    lines = "".join(
        f"  {{ const sampler_t s = CLK_NORMALIZED_COORDS_{normalized} | CLK_ADDRESS_{mode} | CLK_FILTER_{way};\n"
        f"    o[{row} * n + i] = {function}(image, s, {'t' if normalized == 'TRUE' else 'p'}.{SHAPES[kind][0]}); }}\n"
        for row, (mode, way, normalized) in enumerate(samplers)
    )
    parameters = (
        f"read_only {kind} image, global const float4 *places, global const float4 *parts, global {result} *o, int n"
    )
    return (
        f"kernel void sample({parameters}) {{\n  int i = get_global_id(0);\n"
        f"  float4 p = places[i], t = parts[i];\n{lines}}}\n"
    )


def places_of(kind: str, samplers: list[tuple[str, str, str]]) -> tuple[Any, Any]:
    """Coordinates in texels and as parts of the whole: inside, at the edges, and far outside."""
    sizes = [*reversed(SHAPES[kind][1]), 1, 1, 1][:4]
    parts = RANDOM.uniform(-1.6, 2.6, (COUNT, 4)).astype("f4")
    parts[:32] = RANDOM.integers(-4, 9, (32, 4)) / np.float32(4)
    inside = samplers[0][0] == "NONE"
    if inside:
        parts = RANDOM.uniform(0.21, 0.79, (COUNT, 4)).astype("f4")
    axes = int(kind[5])
    if kind.endswith("array_t"):  # layers are never parts of a whole
        parts[:, axes] = RANDOM.integers(-2, 6, COUNT)
        sizes[axes] = 1
    return parts * np.array(sizes, "f4"), parts


def both(folder: Path, other: Any, recipe: Recipe, source: str, kernel: str, images: list[Any], rest: list[Any]) -> Any:
    """The arrays of a kernel here and there."""
    path = folder / "k.cl"
    path.write_text(source, "utf-8")
    code = str(folder / "k.co")
    Path(code).write_bytes(compile_source(str(path), recipe).code)
    machine = machine_for(code, kernel)
    grid = rest.pop()
    given = [
        f"image(@{folder}/{index}.npy, {order}, {kind})" for index, (_array, _type, order, kind) in enumerate(images)
    ]
    for index, (array, *_rest) in enumerate(images):
        np.save(folder / f"{index}.npy", array[..., 0] if array.shape[-1] == 1 else array)
    launched = launch(machine, code, kernel, grid=grid, work_group=(1,) * len(grid), args=[*given, *rest])
    assert str(machine.run()) == "all waves have ended"
    pictures = [other.Picture(array, what, ORDERS[order][0], TYPES[kind][0]) for array, what, order, kind in images]
    right = other.run(source, kernel, grid, [*pictures, *rest])
    return launched.buffers, right


def texels(kind: str, order: str, type: str) -> Any:
    code = TYPES[type][1]
    shape = (*SHAPES[kind][1], ORDERS[order][1])
    if code[0] == "f":
        return RANDOM.uniform(-2, 2, shape).astype(code)
    limits = np.iinfo(code)
    return RANDOM.integers(limits.min, limits.max, shape, code, endpoint=True)


FORMS = (("rgba", "float"), ("r", "unorm16"), ("bgra", "unorm8"), ("rg", "half"), ("a", "snorm8"), ("rgba", "snorm16"))
LEVELS = ("gfx90a", "0"), ("gfx1200", "2"), ("gfx1100", "2")
KINDS = [
    (shape, *form, *LEVELS[(number + place) % 3])
    for number, shape in enumerate(SHAPES)
    for place, form in enumerate(FORMS)
]


@pytest.mark.slow
@pytest.mark.parametrize("kind, order, type, processor, level", KINDS)
def test_floats_through_every_sampler(tmp_path, other, kind, order, type, processor, level):
    for samplers in (SAMPLERS[:2], SAMPLERS[2:]):  # without a mode, places outside have no meaning
        points, parts = places_of(kind, samplers)
        source = sampling(kind, "read_imagef", "float4", samplers)
        out = np.zeros((len(samplers) * COUNT, 4), "f4").reshape(-1)
        image = (texels(kind, order, type), kind, order, type)
        rest = [points.reshape(-1), parts.reshape(-1), out, COUNT, (COUNT,)]
        here, there = both(tmp_path, other, Recipe(processor, level), source, "sample", [image], rest)
        found, right = here["o"].reshape(len(samplers), COUNT, 4), there[3].reshape(len(samplers), COUNT, 4)
        for sampler, a, b in zip(samplers, found, right, strict=True):
            if sampler[1] == "NEAREST":
                assert np.array_equal(a, b), sampler
            else:
                np.testing.assert_allclose(a, b, atol=2e-6, err_msg=str(sampler))
        assert np.ptp(right) > 0.1


WHOLE = [("read_imagei", "int4", "int8"), ("read_imageui", "uint4", "uint16"), ("read_imagei", "int4", "int32")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("function, result, type", WHOLE)
def test_integers_through_samplers(tmp_path, other, kind, function, result, type):
    samplers = [each for each in SAMPLERS[2:] if each[1] == "NEAREST"]
    points, parts = places_of(kind, samplers)
    out = np.zeros(len(samplers) * COUNT * 4, f"{'u' if result[0] == 'u' else 'i'}4")
    image = (texels(kind, "rgba", type), kind, "rgba", type)
    rest = [points.reshape(-1), parts.reshape(-1), out, COUNT, (COUNT,)]
    source = sampling(kind, function, result, samplers)
    here, there = both(tmp_path, other, Recipe("gfx1100"), source, "sample", [image], rest)
    assert np.array_equal(here["o"], there[3])
    assert np.ptp(there[3].astype("f8")) > 100


WRITING = """kernel void write(write_only %(kind)s image, read_only %(kind)s from) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  write_image%(of)s(image, %(at)s, read_image%(of)s(from, %(at)s)%(more)s);
}
"""
PLACES = {"image1d_t": "x", "image1d_array_t": "(int2)(x, y)", "image2d_t": "(int2)(x, y)",
          "image2d_array_t": "(int4)(x, y, z, 0)", "image3d_t": "(int4)(x, y, z, 0)"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("type", ["unorm8", "snorm16", "unorm16", "half", "float", "int8", "uint16", "int32", "snorm8"])
def test_what_is_written(tmp_path, other, kind, type):
    """Numbers that do not fit are written as the nearest ones that do."""
    of, more = (
        ("ui", "") if type[0] == "u" and "uint" in type else ("i", "") if "int" in type else ("f", " * 1.7f - 0.2f")
    )
    source = WRITING % {"kind": kind, "of": of, "at": PLACES[kind], "more": more}
    order = "bgra" if type == "unorm8" else "rgba"
    wide = {"f": "float", "i": "int32", "ui": "uint32"}[of]
    images = [
        (np.zeros_like(texels(kind, order, type)), kind, order, type),
        (texels(kind, "rgba", wide), kind, "rgba", wide),
    ]
    if of != "f":
        images[1][0][..., :2] %= 1000  # most others do not fit
    grid = tuple(reversed(SHAPES[kind][1]))
    here, there = both(tmp_path, other, Recipe("gfx1100", "2"), source, "write", images, [grid])
    found, right = here["image"].reshape(there[0].shape), there[0]
    if "norm" in type:  # which of two is nearer is decided by a product in float
        assert abs(found.astype("i8") - right.astype("i8")).max() <= 1
        assert (found != right).mean() < 0.02
    else:
        assert np.array_equal(found, right)
    assert np.ptp(right.astype("f8")) > 1


BLUR = """const sampler_t whole = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void blur(read_only image2d_t in, write_only image2d_t out, sampler_t part, global int *facts) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 sum = 0;
  for (int i = -1; i <= 1; i++)
    sum += read_imagef(in, whole, (int2)(x + i, y));
  float4 same = read_imagef(in, part, (float2)((x + 0.5f) / get_image_width(in), (y + 0.5f) / get_image_height(in)));
  write_imagef(out, (int2)(x, y), (sum - same) / 2);
  facts[0] = get_image_channel_order(in); facts[1] = get_image_channel_data_type(out); facts[2] = get_image_dim(out).y;
}
kernel void other(read_only image2d_t in, global uint4 *o) {
  o[0] = read_imageui(in, (int2)(0, 0));
}
kernel void solid(read_only image3d_t in, read_only image2d_array_t layers, global int *o) {
  o[0] = get_image_depth(in); o[1] = get_image_height(in); o[2] = get_image_width(in);
  o[3] = get_image_array_size(layers); o[4] = get_image_height(layers);
}
"""
GRID = ("--grid=8,6", "--work-group=8,2")


@pytest.fixture
def blur(tmp_path: Path) -> tuple[str, Any]:
    path = tmp_path / "blur.cl"
    path.write_text(BLUR)
    photo = RANDOM.integers(0, 256, (6, 8, 3), "u1")
    (tmp_path / "photo.png").write_bytes(png_bytes(photo))
    return str(path), photo


@pytest.mark.slow
def test_pictures_are_read_and_written(tmp_path, blur):
    path, photo = blur
    words = (
        f"in=@{tmp_path}/photo.png",
        "out=image(8x6, bgra)",
        "part=sampler(normalized, clamp_to_edge)",
        "facts=zeros(4)",
    )
    save = (
        "--save",
        f"out={tmp_path}/out.png",
        "--save",
        f"facts={tmp_path}/facts.npy",
        "--save",
        f"out={tmp_path}/o.npy",
    )
    done = run("run", path, "blur", *GRID, *words, *save)
    assert "out = {" in done.stdout, done.stderr
    assert "(6 x 8 x 4 uint8)" in done.stdout
    edged = np.pad(photo, ((0, 0), (1, 1), (0, 0)), "edge").astype("f4") / 255
    right = np.rint((edged[:, :-2] + edged[:, 2:]) / 2 * 255)
    found = read_png((tmp_path / "out.png").read_bytes())
    assert abs(found[..., :3] - right).max() <= 1
    assert (found[..., :3] != right).mean() < 0.2  # halves are rounded after another sum
    assert (found[..., 3] == 255).all()
    assert np.array_equal(np.load(tmp_path / "o.npy")[..., [2, 1, 0, 3]], found)
    assert np.load(tmp_path / "facts.npy").tolist() == [ORDERS["rgb"][0], TYPES["unorm8"][0], 6, 0]


def test_arrays_are_images(tmp_path, blur):
    path, _photo = blur
    code = tmp_path / "k.co"
    code.write_bytes(compile_source(path).code)
    machine = machine_for(str(code), "solid")
    args = [np.zeros((2, 3, 5), "f4"), np.zeros((7, 3, 2, 4), "u1"), np.zeros(5, "i4")]
    launched = launch(machine, str(code), "solid", grid=1, work_group=1, args=args)
    machine.run()
    assert launched.buffers["o"].tolist() == [2, 3, 5, 7, 3]
    assert launched.buffers["layers"].shape == (7, 3, 2, 4)


def test_a_function_for_other_channels_stops_at_its_line(tmp_path, blur):
    path, _photo = blur
    done = run("run", path, "other", "--grid=1", "--work-group=1", f"in=@{tmp_path}/photo.png", "o=zeros(4)", "--json")
    assert (done.returncode, "blur.cl:12" in done.stdout) == (1, True)


WRONG = [
    ("in=image(8x6)", "out=image(8)", "has 2 extents, and 8 has 1", "write image(WIDTHxHEIGHT, ORDER, TYPE)"),
    ("in=image(8x6, rgbb)", "out=image(8x6)", "an image has no 'rgbb'", "did you mean rgb"),
    ("in=image(PHOTO, rgba)", "out=image(8x6)", "3 channels are not rgba", ""),
    ("in=image(PHOTO, int8)", "out=image(8x6)", "int8 channels are not uint8", "write unorm8"),
    ("in=@k.cl", "out=image(8x6)", "neither a PNG file nor one of numpy", "image(WIDTHxHEIGHT, ...)"),
    ("in=image(99999x99999)", "out=image(8x6)", "an image of 99999x99999 has", "bytes are possible"),
    ("in=zeros(9)", "out=image(8x6)", "the type of its numbers is not known", ""),
]


@pytest.mark.parametrize("one, two, message, hint", WRONG)
@pytest.mark.sampled(6)
def test_images_that_are_not_possible(tmp_path, blur, one, two, message, hint):
    path, _photo = blur
    one = one.replace("PHOTO", f"{tmp_path}/photo.png").replace("k.cl", path)
    done = run("run", path, "blur", *GRID, one, two, "part=0", "facts=zeros(4)")
    assert (done.returncode, message in done.stderr, hint in done.stderr) == (2, True, True), done.stderr


@pytest.mark.slow
def test_samplers_and_pictures_that_are_not_possible(tmp_path, blur):
    path, _photo = blur
    images = f"in=@{tmp_path}/photo.png", "out=image(8x6)", "facts=zeros(4)"
    done = run("run", path, "blur", *GRID, *images, "part=sampler(linar)")
    assert "a sampler is not 'linar'" in done.stderr
    assert "did you mean linear" in done.stderr
    done = run("run", path, "blur", *GRID, *images, "part=0x21", f"--save=facts={tmp_path}/facts.png")
    assert "4 numbers of type int32 are not pixels of a PNG file" in done.stderr
    assert not (tmp_path / "facts.png").exists()


# --- PNG files ----------------------------------------------------------------------------------------------------


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def filtered(pixels: Any, rng: Any) -> bytes:
    """The file of pixels with a filter of each kind, written by the definition of 9.2."""
    height, width = pixels.shape[:2]
    channels, bits = (pixels.shape[2] if pixels.ndim > 2 else 1), 8 * pixels.itemsize
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1).view("u1")
    step, lines = channels * bits // 8, b""
    for y, row in enumerate(rows.tolist()):
        kind, line = int(rng.integers(0, 5)), []
        for x, number in enumerate(row):
            a, b = (row[x - step] if x >= step else 0), (int(rows[y - 1][x]) if y else 0)
            c = int(rows[y - 1][x - step]) if y and x >= step else 0
            paeth = min((abs(a + b - c - each), index, each) for index, each in enumerate((a, b, c)))[2]
            line.append(number - (0, a, b, (a + b) // 2, paeth)[kind] & 255)
        lines += bytes((kind, *line))
    head = struct.pack(">IIBBBBB", width, height, bits, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    data = zlib.compress(lines)
    parts = chunk(b"IHDR", head) + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", data[:9]) + chunk(b"IDAT", data[9:])
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["u1", "u2"])
@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 2), (1, 9, 3), (6, 1, 4)])
def test_each_filter_and_kind_of_pixel(kind, shape):
    pixels = RANDOM.integers(0, np.iinfo(kind).max, shape, kind, endpoint=True)
    pixels[::2] //= 16
    assert np.array_equal(read_png(filtered(pixels, RANDOM)), pixels)
    assert np.array_equal(read_png(png_bytes(pixels)), pixels)


def test_damaged_files():
    whole = png_bytes(np.zeros((3, 3), "u1"))
    palette = whole[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 3, 8, 3, 0, 0, 0)) + whole[33:]
    large = whole[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 30, 1 << 30, 8, 0, 0, 0, 0)) + whole[33:]
    empty = whole[:33] + chunk(b"IDAT", b"") + whole[-12:]
    for data, message in ((whole[:-20], "truncated"), (b"x" + whole, "not a PNG file"), (palette, "with a palette"),
                          (large, "too many"), (empty, "pixels are missing"), (whole[:50], "truncated"),
                          (whole[:45] + b"\xff" + whole[46:], "checksum")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_png(data)
