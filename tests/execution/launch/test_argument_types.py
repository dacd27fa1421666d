"""Arguments of all types, bit for bit: layouts by C's rules, not by ours, and what the compiled kernel reads."""

import json
import random
import struct
import subprocess

import numpy as np
import pytest

from dwarfgpu.execution.device import Device
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import every
from tests.questions.harness import Run

pytestmark = pytest.mark.slow  # it compiles
PRELUDE = {
    "cl": """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL kernel
typedef global uchar *Out;
#define AT(T, offset) *(global T *)(out + offset)
#define CONSTANT constant
enum Colour { RED, GREEN = 7 };
""",
    "hip": """
#define KERNEL extern "C" __attribute__((global))
typedef unsigned char *Out;
#define AT(T, offset) *(T *)(out + offset)
#define CONSTANT __attribute__((address_space(4)))
enum class Colour : short { RED, GREEN = 7 };
template <class T> using Vector2 = T __attribute__((ext_vector_type(2)));
template <class T> using Vector3 = T __attribute__((ext_vector_type(3)));
template <class T> using Vector16 = T __attribute__((ext_vector_type(16)));
template <class T> struct Both { T first; char second; };
class Hidden { int number; bool flag; };
typedef int (*Function)(int);
""",
}
STRUCTS = """
typedef struct { char a; int b[3]; struct { short x; double y; } in; char last; } Nested;
typedef struct { char one; } Small;
typedef struct { long words[40]; char tail[5]; } Large;
typedef union { int i; float f; } Either;
"""
HEADER = ("-Xclang", "-finclude-default-header")
HIDDEN = "  *out = *(CONSTANT unsigned char *)__builtin_amdgcn_implicitarg_ptr();\n"
COMMON = {
    "char": "b", "short": "h", "int": "i", "long": "q", "float": "f", "double": "d", "Small": ["b"],
    "Nested": ["b", ("array", "i", 3), ["h", "d"], "b"], "Large": [("array", "q", 40), ("array", "b", 5)]}  # fmt: skip
"""Layouts: a letter of `struct`, a list of members, `array` or `vector` with element and count, `handle` or `local`."""
TYPES = {
    "cl": COMMON | {
        "uchar": "B", "ushort": "H", "uint": "I", "ulong": "Q", "half": "e", "enum Colour": "I",
        **{
            f"{name}{count}": ("vector", code, count)
            for count in (2, 3, 4, 8, 16)
            for name, code in (("char", "b"), ("ushort", "H"), ("int", "i"), ("ulong", "Q"), ("half", "e"),
                               ("float", "f"), ("double", "d"))
        },
        "global int *": "Q", "constant float *": "Q", "local double *": "local",
        "read_only image2d_t": "handle", "write_only image3d_t": "handle", "sampler_t": "handle", "queue_t": "handle",
    },
    "hip": COMMON | {
        "bool": "?", "signed char": "b", "unsigned char": "B", "unsigned short": "H", "unsigned": "I",
        "unsigned long long": "Q", "_Float16": "e", "wchar_t": "i", "char16_t": "H", "char32_t": "I", "Colour": "h",
        "Vector2<short>": ("vector", "h", 2), "Vector3<float>": ("vector", "f", 3),
        "Vector16<double>": ("vector", "d", 16), "Both<double>": ["d", "b"], "Hidden": ["i", "?"],
        "Both<bool>": ["?", "b"], "bool *": "Q", "Function": "Q", "Nested *": "Q", "__int128": "int128",
        "float _Complex": ("array", "f", 2), "__bf16": "bf16"}}  # fmt: skip


def size_and_alignment(layout):
    """What C says of a type; vectors are aligned to their size, and 3 elements take the room of 4."""
    if isinstance(layout, list):
        end, most = 0, 1
        for size, alignment in map(size_and_alignment, layout):
            end, most = -(-end // alignment) * alignment + size, max(most, alignment)
        return -(-end // most) * most, most
    if isinstance(layout, tuple):
        word, inner, count = layout
        size, alignment = size_and_alignment(inner)
        if word == "vector":
            return (size * (4 if count == 3 else count),) * 2
        return size * count, alignment
    if layout == "int128":
        return 16, 8  # the data layout of LLVM for AMDGPU aligns integers to 8 bytes at most
    return ({"local": 4, "handle": 8, "bf16": 2}.get(layout) or struct.calcsize(layout),) * 2


def made(numbers, layout):
    """Random bytes of a type, which of them are no padding, and the values in their order: floats as patterns."""
    size, _ = size_and_alignment(layout)
    data, mask, values = bytearray(numbers.randbytes(size)), bytearray(size), []
    if isinstance(layout, str):
        if layout == "?":
            data[0] &= 1
        mask[:] = b"\1" * size
        is_signed = layout in "bhiqdef" or layout == "int128"
        return data, mask, [int.from_bytes(data, "little", signed=is_signed and layout not in "def")]
    end = 0
    for member in layout if isinstance(layout, list) else [layout[1]] * layout[2]:
        step, alignment = size_and_alignment(member)
        start = -(-end // alignment) * alignment
        end = start + step
        data[start:end], mask[start:end], inner = made(numbers, member)
        values += inner
    return data, mask, values


def leaves(value):
    """The numbers of a value as JSON in their order, floats as patterns."""
    if not isinstance(value, dict):
        return [value]
    inner = value.get("members") or value.get("elements")
    if "real" in value:
        return [int.from_bytes(struct.pack("<f", value[part]), "little") for part in ("real", "imaginary")]
    if inner is not None:
        return [leaf for part in inner for leaf in leaves(part)]
    return [int(value["bits"], 16) if "bits" in value else value["value"]]


def stored_as(language, name):
    """The type that an argument is stored as; OpenCL keeps pointers to different memories apart."""
    return name if language == "hip" or "*" not in name else "uint" if "local" in name else "ulong"


@pytest.fixture(scope="module")
def builds(require_tool, tmp_path_factory):
    """Return a function that builds a kernel with an argument of each type; it stores all of them where they came."""
    folder, known = tmp_path_factory.mktemp("types"), {}

    def build(language, version):
        if (language, version) in known:
            return known[language, version]
        given, end = [], 8
        for number, (name, layout) in enumerate(TYPES[language].items()):
            size, alignment = size_and_alignment(layout)
            offset = -(-end // alignment) * alignment
            end = offset + size
            given.append((f"a{number}", name, layout, offset, size))
        stored = [
            f"AT({stored_as(language, name)}, {offset}) = ({stored_as(language, name)}) {a};"
            for a, name, layout, offset, _ in given
            if layout != "handle"
        ]
        head = f"KERNEL void k(Out out, {', '.join(f'{name} {a}' for a, name, *_ in given)})"
        source = folder / f"k{version}.{language}"
        source.write_text(f"{PRELUDE[language]}{STRUCTS}{head} {{\n  {' '.join(stored)}\n{HIDDEN}}}\n")
        path = source.with_suffix(f".{language}.co")
        words = [require_tool("clang-22"), "-O1", "-g", "-nogpulib", "-w", f"-mcode-object-version={max(version, 4)}"]
        words += {
            "cl": [
                "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx900", "-x", "cl", "-cl-std=CL2.0", "-Xclang",
                "-finclude-default-header",
            ],
            "hip": ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx900", "-nogpuinc", "--no-gpu-bundle-output"],
        }[language]  # fmt: skip
        subprocess.run([*words, str(source), "-o", str(path)], check=True, capture_output=True)
        if version == 3:
            as_version_3(path)
        known[language, version] = path, given, end
        return known[language, version]

    return build


def as_version_3(path):
    """Make version 3 of version 4: another ABI version, version of the metadata and coding of XNACK in the flags."""
    data = bytearray(path.read_bytes())
    assert (data[8], data.count(b"amdhsa.version\x92\x01\x01")) == (2, 1)
    data[8] = 1
    data[0x31] = 0
    path.write_bytes(data.replace(b"amdhsa.version\x92\x01\x01", b"amdhsa.version\x92\x01\x00"))


def launched(given, seed):
    """What is given for each argument, and what is expected: its bytes, their mask and their values."""
    numbers, words, wanted = random.Random(seed), [], {}
    for a, _name, layout, _offset, _size in given:
        data, mask, values = made(numbers, "Q" if layout == "handle" else "I" if layout == "local" else layout)
        if layout == "local":
            data, values = bytes(4), [0]
        wanted[a] = bytes(data), bytes(mask), values
        words.append((a, 64 if layout == "local" else bytes(data)))
    return words, wanted


def without_value(rows):
    return [{key: row[key] for key in ("name", "type", "offset", "size", "bytes", "value")} for row in rows]


CASES = every(language=["cl", "hip"], version=[3, 4, 5, 6])


@CASES
def test_each_argument_is_what_the_launch_was_given(builds, language, version, tmp_path):
    path, given, end = builds(language, version)
    words, wanted = launched(given, version)
    run = Run(path)
    texts = (f"{a}={value if isinstance(value, int) else f'bytes:{value.hex()}'}" for a, value in words)
    run(f"target launch k 1 1 out=zeros({end},u1) {' '.join(texts)}")
    rows = json.loads(run("info kernel-args -json"))["arguments"]
    explicit = {row["name"]: row for row in rows if not row["hidden"]}
    for a, name, _layout, offset, size in given:
        row, (data, _mask, values) = explicit[a], wanted[a]
        assert (name, row["offset"], row["size"], row["bytes"]) == (name, offset, size, data.hex())
        (answer,) = json.loads(run(f'print -json $_arg("{a}")'))["answers"]
        assert (name, leaves(answer["lanes"]["0"])) == (name, values)
        if isinstance(row["value"], dict):
            assert (name, leaves(row["value"])) == (name, values)
    first, *_ = (row for row in rows if row["hidden"])
    assert (first["name"], first["value"]) == (
        ("hidden_block_count_x", 1) if version >= 5 else ("hidden_global_offset_x", 0)
    )
    assert first["offset"] == -(-end // 8) * 8
    assert {each.name: each.data for each in run.debugger.machine[0].launch.arguments} == {
        row["name"]: bytes.fromhex(row["bytes"]) for row in rows
    }
    for name in ("state.json", "state.snapshot", "core"):
        run(f"gcore {tmp_path / name}" if name == "core" else f"save snapshot {tmp_path / name}")
        later = Run(path, tmp_path / name)
        assert without_value(json.loads(later("info kernel-args -json"))["arguments"]) == without_value(rows)


@CASES
def test_the_kernel_reads_each_argument_where_it_is(builds, language, version):
    path, given, end = builds(language, version)
    words, wanted = launched(given, version)
    machine = machine_for(str(path), "k")
    done = launch(machine, str(path), "k", grid=(1,), work_group=(1,), args={"out": np.zeros(end, "u1"), **dict(words)})
    device = Device(machine)
    device.run(100_000)
    assert [reason for _batch, reason in device.stopped] == []
    (out,) = done.buffers.values()
    assert out[0] == (version >= 5), "the first hidden argument"
    for a, name, layout, offset, size in given:
        data, mask, _values = wanted[a]
        if layout != "handle":
            found = bytes(byte * flag for byte, flag in zip(out[offset : offset + size].tolist(), mask, strict=True))
            assert (name, found) == (name, bytes(byte * flag for byte, flag in zip(data, mask, strict=True)))
