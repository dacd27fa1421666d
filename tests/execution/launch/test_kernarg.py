"""The kernarg segment: argument values by position and by name, what the runtime adds, and what is refused."""

import contextlib
import struct
from typing import Any

import attrs
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.launch import kernarg, planning
from dwarfgpu.execution.launch.argument_values import ArgumentType, converted
from dwarfgpu.execution.launch.dispatch import Addresses
from dwarfgpu.execution.launch.kernarg import HIDDEN, LaunchFacts, hidden_parts, segment_bytes, segment_size
from dwarfgpu.objfile.kernels.kernel import Kernel
from dwarfgpu.objfile.kernels.metadata import KernelArgument, KernelMetadata
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.kernel_parameters import KernelParameter
from dwarfgpu.program.types import model as t
from dwarfgpu.regular_files import read_input
from dwarfgpu.targets.amdgpu.geometry import geometry
from tests.builders.errors import raised
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

LAUNCH = ROOT / "fixtures/amdgpu/launch.gfx90a.w64.O2.co"


def argument(offset: int, size: int, kind: str = "by_value", **more: Any) -> KernelArgument:
    values: dict[str, Any] = dict.fromkeys(attrs.fields_dict(KernelArgument))
    return KernelArgument(**{**values, "offset": offset, "size": size, "value_kind": kind, "other": {}, **more})


def kernel(*args: KernelArgument, size: int = 64, align: int = 8) -> Kernel:
    values: dict[str, Any] = dict.fromkeys(attrs.fields_dict(KernelMetadata))
    values |= {"args": args, "kernarg_segment_size": size, "kernarg_segment_align": align, "other": {}}
    return Kernel("k", None, None, None, KernelMetadata(**values), 0, None)


def lay_out(*args: Any) -> Any:
    addresses = Addresses(0x10000)
    return kernarg.lay_out(*args, allocate=lambda size: addresses.take(size, 256))


def segment(of: Kernel, args: Any, local: int = 0) -> bytes:
    laid_out = lay_out(of, args, local)
    return segment_bytes(laid_out.size, laid_out.parts)


def refused(of: Kernel, args: Any) -> UsageError:
    error = raised(UsageError, lay_out, of, args, 0)
    assert "\n" not in str(error)
    return error


@for_each("size, more, value, expected",
    (1, {}, -1, b"\xff"),                 (1, {}, 255, b"\xff"),                (2, {}, 0x1234, b"\x34\x12"),
    (4, {}, True, b"\1\0\0\0"),           (8, {}, -(1 << 63), b"\0" * 7 + b"\x80"),
    (3, {}, 0x010203, b"\3\2\1"),         (2, {}, 1.5, struct.pack("<e", 1.5)), (4, {}, 1.5, struct.pack("<f", 1.5)),
    (8, {}, 1.5, struct.pack("<d", 1.5)), (4, {"type_name": "float"}, 3, struct.pack("<f", 3)),
    (2, {"type_name": "half"}, 3, struct.pack("<e", 3)),     (8, {"value_type": "f64"}, 3, struct.pack("<d", 3)),
    (4, {"type_name": "int"}, 3, b"\3\0\0\0"),               (1, {"type_name": "bool"}, 2, b"\1"),
    (4, {"type_name": "char3"}, [1, -2, 3], b"\1\xfe\3\0"),
    (4, {"type_name": "float"}, float("inf"), struct.pack("<f", float("inf"))), (5, {}, b"abcde", b"abcde"),
    (0, {}, b"", b""), (12, {}, np.array([1, 2, 3], dtype=np.int32), struct.pack("<3i", 1, 2, 3)),
    (16, {}, np.array([(1, 2.5)], dtype=[("a", "<i8"), ("b", "<f8")]), struct.pack("<qd", 1, 2.5)),
    (4, {}, np.int32(-2), struct.pack("<i", -2)),            (4, {}, np.uint64(7), struct.pack("<i", 7)),
    (4, {}, np.float64(0.5), struct.pack("<f", 0.5)),        (8, {}, np.array(9), struct.pack("<q", 9)),
    (6, {}, bytearray(b"sixsix"), b"sixsix"))  # fmt: skip
def test_a_value_becomes_its_bytes(size, more, value, expected):
    assert segment(kernel(argument(8, size, **more)), [value]) == b"\0" * 8 + expected.ljust(56, b"\0")


@for_each("size, more, value, message",
    (1, {}, 256, "argument 0 of k has 1 bytes, which 256 does not fit"),
    (1, {}, -129, "argument 0 of k has 1 bytes, which -129 does not fit"),
    (4, {}, 1 << 5000, "argument 0 of k has 4 bytes, which 0x1"),
    (4, {"type_name": "int", "name": "n"}, 1.5, "argument n (int) of k is an integer, not 1.5"),
    (4, {"type_name": "unsigned int"}, 1.5, "argument 0 (unsigned int) of k is an integer, not 1.5"),
    (3, {}, 1.5, "argument 0 of k has 3 bytes, and no float has that size"),
    (2, {"type_name": "half"}, 1e9, "argument 0 (half) of k is a float of 2 bytes, which the number does not fit"),
    (4, {"type_name": "float"}, 10**400, "argument 0 (float) of k is a float of 4 bytes, which the number"),
    (4, {}, b"abc", "argument 0 of k has 4 bytes, but 3 are given"),
    (4, {}, np.zeros(3, dtype=np.int32), "argument 0 of k has 4 bytes, but 12 are given"),
    (4, {}, "abcd", "argument 0 of k is a number or a structure, not the text 'abcd'"),
    (4, {}, None, "argument 0 of k is not a pointer, so it cannot be None"),
    (4, {}, 1j, "argument 0 of k is not a pointer, so it cannot be a complex of Python"),
    (8, {"value_kind": "global_buffer"}, -1, "argument 0 of k is a pointer of 8 bytes, which -1 does not fit"),
    (8, {"value_kind": "global_buffer"}, 1.5, "argument 0 of k is a pointer, not a float of Python"),
    (8, {"value_kind": "global_buffer"}, "x", "argument 0 of k is a pointer, not the text 'x'"),
    (8, {"value_kind": "global_buffer"}, b"abc", "argument 0 of k has 8 bytes, but 3 are given"),
    (4, {"value_kind": "dynamic_shared_pointer"}, -1, "argument 0 of k is a pointer to local memory, not"),
    (4, {"value_kind": "dynamic_shared_pointer"}, 1.0, "argument 0 of k is a pointer to local memory, not"),
    (60, {}, 0, "argument 0 of k has no place in the kernarg segment of 64 bytes"))  # fmt: skip
def test_a_value_that_does_not_do(size, more, value, message):
    assert refused(kernel(argument(8, size, **more)), [value]).message.startswith(message)


@for_each(
    "name, encoding, value, expected",
    ("bool", dw.DW_ATE_boolean, -256, b"\1"),
    ("bool", dw.DW_ATE_boolean, 0.0, b"\0"),
    ("_Float16", dw.DW_ATE_float, 1, struct.pack("<e", 1)),
    ("__bf16", dw.DW_ATE_float, 1.5, b"\xc0\x3f"),
    ("complex", dw.DW_ATE_complex_float, 1.5, struct.pack("<2f", 1.5, 0)),
    ("complex", dw.DW_ATE_complex_float, 1 + 2j, struct.pack("<2f", 1, 2)),
    ("complex", dw.DW_ATE_complex_float, "[1, -2]", struct.pack("<2f", 1, -2)),
    ("complex", dw.DW_ATE_complex_float, [1], "argument 0 (complex) of k is complex"),
    ("long long", dw.DW_ATE_signed, 1.5, "argument 0 (long long) of k is an integer, not 1.5"),
    ("_Float16", dw.DW_ATE_float, 1e6, "argument 0 (_Float16) of k is a float of 2 bytes, which the number does not"),
)
def test_a_number_is_converted_to_its_type_in_the_source(name, encoding, value, expected):
    size = len(expected) if isinstance(expected, bytes) else 2 if name == "_Float16" else 8
    of = kernel(argument(0, size, type_name=name), size=size)
    parameters = [KernelParameter("x", name, size, t.Base(name, encoding, size))]
    if isinstance(expected, bytes):
        laid_out = lay_out(of, [value], 0, parameters)
        assert segment_bytes(laid_out.size, laid_out.parts) == expected
    else:
        assert raised(UsageError, lay_out, of, [value], 0, parameters).message.startswith(expected)


def test_arrays_bytes_and_counts_for_pointers():
    data = np.arange(4, dtype=np.int16)
    pointers = ("global_buffer", "pipe", "queue", "image", "sampler")
    of = kernel(*(argument(8 * index, 8, kind) for index, kind in enumerate(pointers)))
    laid_out = lay_out(of, [data, data[::2], memoryview(b"xyz"), 0x1000, None], 0)
    assert [(each.position, each.data) for each in laid_out.buffers] == [
        (0, data.tobytes()), (1, data[::2].tobytes()), (2, b"xyz")]  # fmt: skip
    assert segment_bytes(64, laid_out.parts)[24:40] == struct.pack("<QQ", 0x1000, 0)
    laid_out = lay_out(kernel(argument(0, 8, "global_buffer")), [b"\1\2\3\4\5\6\7\0"], 0)
    assert (laid_out.buffers, laid_out.parts[0].value) == ((), b"\1\2\3\4\5\6\7\0")
    told = evolve(TOLD, geometry=geometry((2**32 - 1,), (1,), 64))
    with pytest.raises(UsageError, match="hidden_block_count_x of k has 2 bytes, which 4294967295 does not fit"):
        hidden_parts(kernel(argument(0, 2, "hidden_block_count_x")), 64, told)


def test_pointers_to_local_memory_and_arguments_without_names():
    of = kernel(
        argument(0, 4, "dynamic_shared_pointer", pointee_align=4),
        argument(4, 4, "dynamic_shared_pointer", pointee_align=16),
        argument(8, 4, "dynamic_shared_pointer"),
    )
    laid_out = lay_out(of, [10, 20, 4], 6)
    assert segment_bytes(64, laid_out.parts)[:12] == struct.pack("<3I", 8, 32, 64)
    assert laid_out.dynamic_local == 64 + 4 - 6
    pointer = {"kind": "global_buffer", "type_name": "long*"}
    alike = kernel(argument(0, 8, **pointer), argument(8, 8, **pointer), argument(16, 8, "by_value", type_name="long"))
    laid_out = lay_out(alike, [np.zeros(2, "i8"), np.ones(3, "i8"), 5], 0)
    assert [(buffer.name, len(buffer.data)) for buffer in laid_out.buffers] == [("argument 0", 16), ("argument 1", 24)]
    assert [part.name for part in laid_out.parts] == ["argument 0", "argument 1", "long"]


NAMED = kernel(argument(0, 8, "global_buffer", name="out"), argument(8, 4, name="n"))
UNNAMED = kernel(argument(0, 8, "global_buffer"), argument(8, 4, type_name="int"))


def test_a_segment_is_laid_out_by_position_or_by_name_aligned_or_as_bytes():
    wanted = struct.pack("<Qi", 5, 7).ljust(64, b"\0")
    assert segment(NAMED, [5, 7]) == segment(NAMED, (5, 7)) == segment(NAMED, {"n": 7, "out": 5}) == wanted
    assert segment(NAMED, None) == bytes(64)
    assert [part.is_given for part in lay_out(NAMED, None, 0).parts] == [False, False]
    assert [part.name for part in lay_out(UNNAMED, None, 0).parts] == ["argument 0", "int"]
    assert segment(NAMED, b"abc") == b"abc".ljust(64, b"\0")
    assert segment_size(kernel(align=4)) == (64, 16)
    assert segment_size(kernel(align=128)) == (64, 128)


@for_each("of, args, message, hint",
    (NAMED, [1], "no value for n of k", "it takes out, n"),
    (NAMED, [1, 2, 3], "k has 2 arguments, and 3 values are given", "it takes out, n"),
    (kernel(), [1], "k has 0 arguments, and 1 values are given", "k takes no arguments"),
    (NAMED, {"out": 1, "m": 2}, "k has no argument 'm'", "it takes out, n"),
    (NAMED, {"out": 1}, "no value for n of k", "it takes out, n"),
    (UNNAMED, {"out": 1}, "k has no argument 'out'", "the metadata has no names: give them by position"),
    (NAMED, "xy", "arguments are a sequence, a mapping or bytes, not str", None),
    (NAMED, 5, "arguments are a sequence, a mapping or bytes, not int", None),
    (NAMED, b"x" * 65, "the kernarg segment of k has 64 bytes, but 65 are given", None))  # fmt: skip
def test_the_wrong_arguments(of, args, message, hint):
    error = refused(of, args)
    assert (error.message, error.hint) == (message, hint)


def test_without_metadata_only_bytes_are_understood():
    found = opened(str(ROOT / "fixtures/asm/clrx.gfx801.co")).kernels.kernels[0]
    assert segment(found, None) == bytes(8)
    assert segment(found, b"12345678") == b"12345678"
    assert refused(found, [1]).hint == "give the kernarg segment as one argument, bytes:0a0b..., of up to 8 bytes"
    assert segment(found, [b"12345678"]) == b"12345678"


def test_the_segment_of_a_compiled_kernel_has_every_argument_in_its_place():
    found = opened(str(LAUNCH)).kernels_named(["arguments"])[0]
    floats, three = np.arange(8, dtype=np.float32), np.arange(4, dtype=np.float32)
    padded = struct.pack("<c7xd", b"a", 2.5)
    out = np.zeros(1)
    given = [-1, -2, -3, -4, 0.5, 1.5, 2.5, three, floats, padded, floats, floats.view(np.int32), 256, out]
    laid_out = lay_out(found, given, 16)
    data = segment_bytes(laid_out.size, laid_out.parts)
    at = {part.name: part.offset for part in laid_out.parts}
    assert struct.unpack_from("<bxhiq", data) == (-1, -2, -3, -4)
    assert struct.unpack_from("<e", data, at["half"])[0] == 0.5
    assert struct.unpack_from("<f", data, at["float"])[0] == 1.5
    assert struct.unpack_from("<d", data, at["double"])[0] == 2.5
    assert data[at["float8"] : at["float8"] + 32] == floats.tobytes()
    assert data[at["Padded"] : at["Padded"] + 16] == padded
    assert (len(laid_out.buffers), laid_out.dynamic_local) == (3, 256)


@pytest.mark.parametrize("size, align", [(1 << 21, 8), (-1, 8), (64, 3), (64, 1 << 30), (64, -8)])
def test_a_segment_that_cannot_be(size, align):
    assert "bytes of arguments, aligned to" in refused(kernel(size=size, align=align), []).message


TOLD = LaunchFacts(geometry((100, 6), (16, 4), 64), 0x7F0000001000, 0x10000, 0x20000, 48)


@for_each("kind, size, value",
    ("hidden_block_count_x", 4, 6),       ("hidden_block_count_y", 4, 1),       ("hidden_block_count_z", 4, 1),
    ("hidden_group_size_x", 2, 16),       ("hidden_group_size_y", 2, 4),        ("hidden_group_size_z", 2, 1),
    ("hidden_remainder_x", 2, 4),         ("hidden_remainder_y", 2, 2),         ("hidden_remainder_z", 2, 0),
    ("hidden_grid_dims", 2, 2),           ("hidden_dynamic_lds_size", 4, 48),   ("hidden_private_base", 4, 0x20000),
    ("hidden_shared_base", 4, 0x10000),   ("hidden_queue_ptr", 8, 0x7F0000001000),
    ("hidden_global_offset_x", 8, 0),     ("hidden_none", 8, 0),                ("hidden_printf_buffer", 8, 0),
    ("hidden_hostcall_buffer", 8, 0),     ("hidden_default_queue", 8, 0),       ("hidden_completion_action", 8, 0),
    ("hidden_multigrid_sync_arg", 8, 0),  ("hidden_heap_v1", 8, 0),             ("hidden_of_the_future", 8, 0),
)  # fmt: skip
def test_what_the_runtime_adds(kind, size, value):
    (part,) = hidden_parts(kernel(argument(16, size, kind)), 64, TOLD)
    assert (part.offset, part.size, int.from_bytes(part.value, "little")) == (16, size, value)
    assert part.is_given == (kind in HIDDEN)


NUMBERS = st.one_of(st.none(), st.integers(-(1 << 70), 1 << 70))
KINDS = st.sampled_from(["by_value", "global_buffer", "dynamic_shared_pointer", "hidden_queue_ptr", "strange", None])
ARGUMENTS = st.builds(
    lambda offset, size, kind, align: argument(offset, size, kind, pointee_align=align),  # type: ignore[arg-type]
    NUMBERS, st.one_of(NUMBERS, st.integers(0, 16)), KINDS, NUMBERS)  # fmt: skip
VALUES = st.one_of(st.integers(), st.floats(), st.binary(max_size=20), st.none(), st.text(max_size=3))


@given(st.lists(ARGUMENTS, max_size=4), st.lists(VALUES, max_size=4), st.integers(-1, 100), st.integers(-1, 100))
def test_any_metadata_and_any_values_give_a_segment_or_an_error(arguments, values, size, align):
    of = kernel(*arguments, size=size, align=align)
    with contextlib.suppress(DwarfGpuError):
        laid_out = lay_out(of, values, 0)
        parts = (*laid_out.parts, *hidden_parts(of, laid_out.size, TOLD))
        assert len(segment_bytes(laid_out.size, parts)) == laid_out.size


FLOATS = ArgumentType("float*", is_pointer=True)
UNKNOWN = ArgumentType(None, is_pointer=True)


def value(text, argument=FLOATS):
    return converted(text, argument, "x", read_input)


@for_each("text, wanted",
    ("zeros(3)", np.zeros(3, "f4")),                          ("zeros(0x10,f4)", np.zeros(16, "f4")),
    ("ones(2, float)", np.ones(2, "f4")),                     ("arange(4)", np.arange(4, dtype="f4")),
    ("full(2, -2.5)", np.full(2, -2.5, "f4")),                ("full(2, 0x10, float32)", np.full(2, 16, "f4")),
    ("random(4)", np.random.default_rng(0).random(4).astype("f4")),
    ("random(4, f4, 9)", np.random.default_rng(9).random(4).astype("f4")),
    ("[1, 2.5]", np.array([1, 2.5], "f4")))  # fmt: skip
def test_functions_and_lists_make_arrays(text, wanted):
    found = value(text)
    assert found.dtype == wanted.dtype
    assert found.tolist() == wanted.tolist()


@for_each("text, wanted",
    *(("float4*", "f4"), ("uint*", "u4"), ("const unsigned char*", "u1"), ("half*", "f2"), ("long*", "i8")),
    *(("struct s*", None), ("void*", None)))  # fmt: skip
def test_the_numbers_that_a_pointer_points_to(text, wanted):
    assert ArgumentType(text, is_pointer=True).element == wanted


def test_random_integers_are_of_the_whole_range():
    found = value("random(1000, i1, 3)", UNKNOWN)
    assert (found.min(), found.max()) == (-128, 127)


@for_each("text, wanted", ("0", 0), ("0x10", 16), ("1.5", 1.5), ("true", True), ("null", 0),
                                          ("bytes:0a0b", b"\n\x0b"), ("1e3", 1000.0))  # fmt: skip
def test_scalars(text, wanted):
    assert value(text) == wanted


def test_a_decimal_number_is_no_pointer_and_has_the_range_of_its_type():
    error = raised(UsageError, value, "5")
    assert error.message == "argument x is a pointer, not the number 5".removeprefix("argument ")
    assert "zeros(COUNT), arange(COUNT), @FILE.npy or [1, 2, 3]" in error.hint
    of = kernel(argument(0, 4, "by_value", type_name="int"), argument(4, 4, "by_value", type_name="uint"))
    parts = lay_out(of, ["0xffffffff", "0xfffffffe"], 0).parts
    assert [part.value for part in parts] == [b"\xff" * 4, b"\xfe" + b"\xff" * 3]
    assert lay_out(of, [np.uint32(3 << 30), 1], 0).parts[0].value == b"\0\0\0\xc0"
    for values in (["3000000000", "1"], [3000000000, 1]):
        error = raised(UsageError, lay_out, of, values, 0)
        assert error.message == "argument 0 (int) of k takes -2147483648 to 2147483647, not 3000000000"
        assert "in hex, as 0xffffffff" in error.hint
    assert "(uint) of k takes 0 to 4294967295, not -1" in raised(UsageError, lay_out, of, ["1", "-1"], 0).message


def test_numbers_that_are_not_finite():
    assert str(value("[nan, -inf, inf, 1]").tolist()) == "[nan, -inf, inf, 1.0]"
    assert str(value("full(2, -inf)").tolist()) == "[-inf, -inf]"
    number = ArgumentType("float", is_pointer=False)
    assert [str(value(text, number)) for text in ("nan", "-inf", "inf")] == ["nan", "-inf", "inf"]


def test_files(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype="f4").reshape(2, 3))
    assert value(f"@{tmp_path}/a.npy").shape == (2, 3)
    (tmp_path / "a.json").write_text("[1, 2.5]\n", "utf-8")
    assert np.asarray(value(f"@{tmp_path}/a.json")).tolist() == [1, 2.5]
    (tmp_path / "a.bin").write_bytes(np.arange(3, dtype="f4").tobytes())
    assert value(f"@{tmp_path}/a.bin").tolist() == [0, 1, 2]
    assert value(f"@{tmp_path}/a.bin", UNKNOWN).dtype == np.uint8
    (tmp_path / "c.bin").write_bytes(b"five.")
    assert value(f"@{tmp_path}/c.bin") == b"five."
    for numbers in (np.arange(6.0), np.arange(8, dtype=np.uint8), np.arange(8) > 3):
        np.save(tmp_path / "d.npy", numbers)
        with pytest.raises(UsageError, match=f"x points to float32 numbers, and the array has {numbers.dtype}"):
            value(f"@{tmp_path}/d.npy")
    np.save(tmp_path / "e.npy", np.arange(3, dtype=">f4"))
    swapped = value(f"@{tmp_path}/e.npy")
    assert (swapped.dtype, swapped.tolist()) == ("<f4", [0, 1, 2])
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    for name, message in (("o.npy", "cannot be read"), ("none.npy", "No such file")):
        with pytest.raises(DwarfGpuError, match=message):
            value(f"@{tmp_path}/{name}")
    (tmp_path / "bad.npy").write_bytes(b"not numpy")
    assert "is not a file of numpy" in str(raised(UsageError, value, f"@{tmp_path}/bad.npy"))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "d.npy").read_bytes()[:40])
    assert "cannot be read" in str(raised(UsageError, value, f"@{tmp_path}/cut.npy"))


def test_a_type_of_another_size_has_the_numbers_of_its_name():
    wrong = ArgumentType("int*", is_pointer=True, type=t.Pointer("*", t.Lazy.known(t.Base("int", 5, 2)), 8))
    assert value("zeros(4)", wrong).dtype == np.int32
    assert value("random(4)", wrong).dtype == np.int32


@for_each("text, argument, message, hint",
    ("zeros()", FLOATS, "x: zeros takes other values", "write zeros(COUNT[, TYPE])"),
    ("zeros(many)", FLOATS, "x: 'many' is not a count", "write a number such as 1024"),
    ("zeros(4, flaot)", FLOATS, "x: there is no type 'flaot'", "did you mean float?"),
    ("zeros(4, f8)", FLOATS, "x points to float32 numbers, and the array has float64", None),
    ("zeros(4)", UNKNOWN, "x: the type of its numbers is not known", "write it: zeros(COUNT[, TYPE])"),
    ("zeros(999999999999)", FLOATS, "x: 3999999999996 bytes are too many", None),
    ("full(4, 300, u1)", UNKNOWN, "x: 300 does not fit u1", None),
    ("full(4, 1.5, i4)", UNKNOWN, "x: 1.5 does not fit i4", None),
    ("full(4, y)", FLOATS, "x: 'y' is not a number", None),
    ("[1, ", FLOATS, "x: '[1,' is not JSON", None),
    ("{}", FLOATS, "x: the layout of its type is not known", None))  # fmt: skip
def test_what_is_refused(text, argument, message, hint):
    error = raised(UsageError, value, text, argument)
    assert error.message.startswith(message)
    assert hint is None or error.hint == hint


def test_words_that_are_no_value_and_words_by_name_and_by_position():
    error = raised(UsageError, planning.value, "zeroes(3)", "argument")
    expected = ("argument 'zeroes(3)' is not a value", "did you mean zeros(COUNT[, TYPE])?")
    assert (error.message, error.hint) == expected
    assert planning.arguments(["1", "n=5", "zeros(3)"], "argument") == {0: "1", "n": "5", 1: "zeros(3)"}
    assert "argument n is given twice" in str(raised(UsageError, planning.arguments, ["n=1", "n=2"], "argument"))


def test_pointers_that_triton_adds_may_be_left_out():
    of = kernel(argument(0, 4, "by_value"), argument(8, 8, "global_buffer"), argument(16, 8, "global_buffer"))
    for values, added, left in (([5], 2, 2), ([5, 0], 2, 1), ([5, 0, 0], 2, 0), ([5, 0], 1, 1)):
        laid_out = lay_out(of, values, 0, (), added)
        assert (laid_out.left_out, [part.is_given for part in laid_out.parts].count(False)) == (left, left)
    with pytest.raises(UsageError, match="no value for argument 1, argument 2 of k"):
        lay_out(of, [5], 0)
