"""Code object metadata (AMDGPU usage, "Code Object Metadata"), and the YAML in which V2 is written."""

import contextlib
import itertools
import random
import sys

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import MalformedFile, Unsupported
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.planning import plan
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.kernels.metadata import MAX_SIZE, PrintfFormat, parse_yaml, read_metadata, target_name
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import opened
from tests.builders.code_objects import opencl, run
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each

# llc-14 -mcpu=gfx803 --amdhsa-code-object-version=2, on a kernel with these arguments and attributes
V2 = """---
Version:         [ 1, 0 ]
Printf:
  - '1:1:4:index: %d\\72'
Kernels:
  - Name:            k1
    SymbolName:      'k1@kd'
    Language:        OpenCL C
    LanguageVersion: [ 2, 0 ]
    Attrs:
      ReqdWorkGroupSize: [ 1, 2, 4 ]
    Args:
      - Name:            out
        TypeName:        'int addrspace(5)* addrspace(5)*'
        Size:            8
        Align:           8
        ValueKind:       GlobalBuffer
        AddrSpaceQual:   Global
        AccQual:         Default
        IsConst:         true
        IsVolatile:      true
      - Name:            n
        TypeName:        int
        Size:            4
        Align:           4
        ValueKind:       ByValue
        AccQual:         Default
      - Name:            f
        TypeName:        'it''s: a "float" # x'
        Size:            4
        Align:           4
        ValueKind:       ByValue
        AccQual:         Default
      - Name:            v
        TypeName:        short4
        Size:            8
        Align:           8
        ValueKind:       ByValue
        ValueType:       I16
        AccQual:         Default
      - Size:            8
        Align:           8
        ValueKind:       HiddenGlobalOffsetX
        ValueType:       I64
    CodeProps:
      KernargSegmentSize: 32
      GroupSegmentFixedSize: 0
      PrivateSegmentFixedSize: 20
      KernargSegmentAlign: 8
      WavefrontSize:   64
      NumSGPRs:        16
      NumVGPRs:        3
      MaxFlatWorkGroupSize: 1024
  - Name:            k2
    SymbolName:      'k2@kd'
    Language:        OpenCL C
    LanguageVersion: [ 2, 0 ]
    CodeProps:
      KernargSegmentSize: 0
      GroupSegmentFixedSize: 0
      PrivateSegmentFixedSize: 0
      KernargSegmentAlign: 4
      WavefrontSize:   64
      MaxFlatWorkGroupSize: 1024
...
"""
KERNEL = {
    ".name": "k", ".symbol": "k.kd", ".kernarg_segment_size": 8, ".kernarg_segment_align": 8,
    ".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0, ".wavefront_size": 64, ".sgpr_count": 10,
    ".vgpr_count": 4, ".max_flat_workgroup_size": 256}  # fmt: skip


def image_of(*notes, **options):
    builder = ElfBuilder(**options)
    builder.section(".note", b"".join(builder.note(*note) for note in notes), type=7, align=4)
    return Image(builder.build(), name="k.co")


def metadata_of(document):
    data = document if isinstance(document, bytes) else msgpack.packb(document)
    return read_metadata(image_of((b"AMDGPU\0", 32, data)))


def document(*kernels, **more):
    return {"amdhsa.version": [1, 2], "amdhsa.kernels": list(kernels), **more}


def yaml(text):
    def fail(line, why):
        return MalformedFile("bad_yaml", f"{line}: {why}")

    return parse_yaml(text, fail)


def test_a_kernel_with_every_field():
    argument = {
        ".name": "p", ".type_name": "int*", ".offset": 0, ".size": 8, ".value_kind": "global_buffer",
        ".address_space": "global", ".access": "read_only", ".actual_access": "read_only", ".pointee_align": 4,
        ".is_const": True, ".is_restrict": True, ".is_volatile": False, ".is_pipe": False, "vendor.x": 1}  # fmt: skip
    kernel = {
        **KERNEL, ".kind": "init", ".language": "HIP", ".language_version": [2, 0], ".agpr_count": 3,
        ".sgpr_spill_count": 1, ".vgpr_spill_count": 2, ".uses_dynamic_stack": True, ".reqd_workgroup_size": [4, 2, 1],
        ".workgroup_size_hint": [1, 2, 3], ".uniform_work_group_size": 1, ".max_num_workgroups_x": 7,
        ".workgroup_processor_mode": 0, ".cluster_dims": [1, 1, 2], ".vec_type_hint": "int4",
        ".device_enqueue_symbol": "handle",
        ".args": [argument, {".value_kind": "hidden_none", ".size": 8, ".offset": 8}],
        "vendor.y": 2}  # fmt: skip
    found = metadata_of(document(kernel, **{"amdhsa.target": "amdgcn-amd-amdhsa--gfx90a:xnack+"}))
    (read,) = found.kernels

    assert (found.encoding, found.version, found.target) == ("msgpack", (1, 2), "amdgcn-amd-amdhsa--gfx90a:xnack+")
    assert found.problems == ()
    expected = ("k", "k.kd", "init", "HIP", (2, 0))
    assert (read.name, read.symbol, read.kind, read.language, read.language_version) == expected
    assert (read.sgpr_count, read.vgpr_count, read.agpr_count) == (10, 4, 3)
    assert (read.sgpr_spill_count, read.vgpr_spill_count) == (1, 2)
    assert (read.uses_dynamic_stack, read.uniform_work_group_size, read.workgroup_processor_mode) == (True, True, False)
    assert (read.reqd_workgroup_size, read.workgroup_size_hint, read.cluster_dims) == ((4, 2, 1), (1, 2, 3), (1, 1, 2))
    assert (read.max_num_workgroups_x, read.max_num_workgroups_y) == (7, None)
    assert (read.vec_type_hint, read.device_enqueue_symbol, read.other) == ("int4", "handle", {"vendor.y": 2})
    first, hidden = read.args
    assert (first.name, first.type_name, first.offset, first.size) == ("p", "int*", 0, 8)
    assert (first.value_kind, first.address_space, first.access) == ("global_buffer", "global", "read_only")
    assert (first.is_const, first.is_volatile, first.pointee_align) == (True, False, 4)
    assert first.other == {"vendor.x": 1}
    assert (first.is_hidden, hidden.is_hidden) == (False, True)


def test_printf_formats():
    found = metadata_of(document(**{"amdhsa.printf": ["1:2:4:8:a:b %d %s", "2:0:plain", "bad", "3:9:1:x", 5]}))
    assert found.printf == (PrintfFormat(1, (4, 8), "a:b %d %s"), PrintfFormat(2, (), "plain"))
    assert len(found.problems) == 3


@for_each("data",
    b"", b"\xc1", b"\x93\x01", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff\x01", b"\xdb\xff\xff\xff\xffabc",
    b"\x81\x91\x01\x02", b"\x91" * 5000, msgpack.packb([1, 2]), msgpack.packb("text"))  # fmt: skip
def test_what_is_no_map_of_messagepack(data):
    found = metadata_of(data)
    assert found.kernels == ()
    assert [problem.kind for problem in found.problems] == ["bad_metadata"]
    assert found.problems[0].where.section == ".note"


def test_wrong_types_are_problems_of_their_own():
    wrong = {**KERNEL, ".sgpr_count": "many", ".language_version": [2, "x"], ".args": {"a": 1}, ".kind": 3}
    found = metadata_of(document(wrong, "no map", KERNEL))
    assert [kernel.name for kernel in found.kernels] == ["k", "k"]
    assert found.kernels[0].sgpr_count is None
    assert found.kernels[0].language_version is None
    assert len(found.problems) == 4


def test_missing_fields_are_named():
    found = metadata_of(document({".name": "k"}))
    assert ".symbol" in str(found.problems[0])
    assert found.kernels[0].symbol is None


def test_arguments_that_look_the_same_are_read_each():
    one = {".name": "a", ".offset": 0, ".size": 4, ".value_kind": "by_value", ".is_const": True}
    arguments = [
        one,                                 one,                                 {**one, ".is_const": 1},
        {**one, ".size": True},              {**one, ".other": [1]},              {**one, ".size": 4.0}]  # fmt: skip
    found = metadata_of(document({".args": arguments}, {".args": arguments}))
    for kernel in found.kernels:
        assert [each.size for each in kernel.args] == [4, 4, 4, None, 4, None]
        assert [each.is_const for each in kernel.args] == [True] * 6
        assert [each.other for each in kernel.args] == [{}, {}, {}, {}, {".other": [1]}, {}]
    wrong = [problem.message for problem in found.problems if ".size" in problem.message]
    assert [message.rpartition(" ")[2] for message in wrong] == ["True", "4.0", "True", "4.0"]


def test_arguments_without_an_offset_follow_each_other():
    one = {".size": 4, ".align": 8}
    found = metadata_of(document({".args": [one, one, one]}, {".args": [one, one]}))
    assert [[each.offset for each in kernel.args] for kernel in found.kernels] == [[0, 8, 16], [0, 8]]


def test_what_follows_the_document_is_a_problem():
    found = metadata_of(msgpack.packb(document(KERNEL)) + b"\0\0")
    assert [kernel.name for kernel in found.kernels] == ["k"]
    assert len(found.problems) == 1


def test_a_broken_note_does_not_hide_another():
    found = read_metadata(
        image_of((b"AMDGPU\0", 32, b"\xc1"), (b"AMDGPU\0", 32, msgpack.packb(document(KERNEL))), (b"GNU\0", 3, b"x"))
    )
    assert [kernel.name for kernel in found.kernels] == ["k"]
    assert len(found.problems) == 1


def test_a_file_without_metadata():
    assert read_metadata(image_of((b"GNU\0", 3, b"x"))) is None
    assert target_name(image_of((b"GNU\0", 3, b"x"))) is None


KEYS = st.sampled_from([".name", ".args", ".symbol", "x"])
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.binary()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
@pytest.mark.slow
def test_any_document_is_read(value):
    metadata_of({"amdhsa.kernels": value, "amdhsa.printf": value, "amdhsa.version": value, "amdhsa.target": value})
    metadata_of({"amdhsa.kernels": [{".args": value, ".name": value, ".sgpr_count": value}]})


def test_random_changes_of_a_document():
    chance = random.Random(5)
    sample = msgpack.packb(document(KERNEL, {**KERNEL, ".args": [{".size": 8, ".offset": 0}]}))
    for _ in range(2000):
        data = bytearray(sample)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        metadata_of(bytes(data))


def test_version_2_is_read_into_the_words_of_version_3():
    found = read_metadata(image_of((b"AMD\0", 10, V2.encode()), abi_version=0))
    first, second = found.kernels
    assert (found.encoding, found.version, found.target) == ("yaml", (1, 0), None)
    assert found.problems == ()
    assert found.printf == (PrintfFormat(1, (4,), "index: %d\\72"),)
    assert (first.name, first.symbol, first.language, first.language_version) == ("k1", "k1@kd", "OpenCL C", (2, 0))
    assert first.reqd_workgroup_size == (1, 2, 4)
    assert (first.kernarg_segment_size, first.kernarg_segment_align, first.private_segment_fixed_size) == (32, 8, 20)
    expected = (64, 16, 3, 1024)
    assert (first.wavefront_size, first.sgpr_count, first.vgpr_count, first.max_flat_workgroup_size) == expected
    assert [argument.offset for argument in first.args] == [0, 8, 12, 16, 24]
    expected = ["global_buffer", "by_value", "by_value", "by_value", "hidden_global_offset_x"]
    assert [argument.value_kind for argument in first.args] == expected
    assert [argument.value_type for argument in first.args][3:] == ["i16", "i64"]
    assert first.args[2].type_name == 'it\'s: a "float" # x'
    assert (first.args[0].address_space, first.args[0].access, first.args[0].is_volatile) == ("global", "default", True)
    assert (first.args[1].align, first.args[1].is_const) == (4, None)
    assert (second.name, second.args, second.sgpr_count, second.vgpr_count) == ("k2", (), 0, 0)
    assert found.documents[0]["Kernels"][0]["CodeProps"]["NumSGPRs"] == 16


def test_version_2_as_the_clrx_assembler_writes_it():
    text = (
        "---\nVersion: [ 1, 0 ]\nKernels: \n  - Name: vectorAdd\n    SymbolName: 'vectorAdd@kd'\n    Language: OpenCL\n"
        "    LanguageVersion: [ 1, 2 ]\n    Args: \n      - Name: a\n        TypeName: 'float*'\n        Size: 8\n"
        "        Align: 8\n        ValueKind: GlobalBuffer\n        ValueType: F32\n        AddrSpaceQual: Global\n"
        "      - \n        Size: 8\n        Align: 8\n        ValueKind: HiddenPrintfBuffer\n    CodeProps: \n"
        "      KernargSegmentSize: 16\n      GroupSegmentFixedSize: 0\n      PrivateSegmentFixedSize: 0\n"
        "      KernargSegmentAlign: 16\n      WavefrontSize: 64\n      MaxFlatWorkGroupSize: 256\n...\n"
    )
    found = read_metadata(image_of((b"AMD\0", 10, text.encode() + b"\0"), abi_version=0))
    assert found.problems == ()
    assert [argument.value_kind for argument in found.kernels[0].args] == ["global_buffer", "hidden_printf_buffer"]


def test_broken_yaml_says_in_which_line():
    found = read_metadata(image_of((b"AMD\0", 10, b"Version: [ 1, 0 ]\nKernels:\n  - Name: 'k\n")))
    assert [problem.kind for problem in found.problems] == ["bad_yaml"]
    assert "line 4: found unexpected end of stream" in str(found.problems[0])


@pytest.fixture(params=["with libyaml", "without libyaml"])
def loader(request, monkeypatch):
    """Read with each of the two parsers that PyYAML may have."""
    if request.param == "without libyaml":
        monkeypatch.delattr("yaml.CSafeLoader", raising=False)


@for_each("text, value",
    ("", None),                  ("a: 1", {"a": 1}),
    ("a: -5\nb: 0x1F\nc: 1.5", {"a": -5, "b": 31, "c": "1.5"}),
    ("a: true\nb: false\nc: ~\nd:", {"a": True, "b": False, "c": None, "d": None}),
    ("a: 'it''s'\n'b: c': d", {"a": "it's", "b: c": "d"}),    (r'a: "x\ty\\n\x41\u00e9"', {"a": "x\ty\\nA\u00e9"}),
    ("a: b:c d", {"a": "b:c d"}),
    ("a: text # remark\n# remark\nb: 'x # y'", {"a": "text", "b": "x # y"}),
    ("- 1\n- a: 2\n  b: 3\n-\n  - 4\n  - 5", [1, {"a": 2, "b": 3}, [4, 5]]),
    ("a:\n- 1\n- 2\nb: 3", {"a": [1, 2], "b": 3}),
    ("a:\n  b:\n    c: 1\nd: 2", {"a": {"b": {"c": 1}}, "d": 2}),
    ("a: [ ]\nb: { }", {"a": [], "b": {}}),
    ("a: [ 1, 'x, y', [ 2 ], { k: v } ]", {"a": [1, "x, y", [2], {"k": "v"}]}),
    ("a: [ 1,\n     2 ]\nb: 3", {"a": [1, 2], "b": 3}),       ("- - 1\n  - 2\n- 3", [[1, 2], 3]),
    ("---\na: 1\n...\nb: 2", {"a": 1}),                       ("--- { a: 1 }", {"a": 1}),
    ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),            ("a: one\n  two", {"a": "one two"}),
    (
        "a: yes\nb: 2020-01-01\nc: 010\nd: 1_0\ne: .inf",
        {"a": "yes", "b": "2020-01-01", "c": 10, "d": "1_0", "e": ".inf"},
    ),
    ("1: a\n~: b\n<<: c", {1: "a", None: "b", "<<": "c"}))  # fmt: skip
def test_the_yaml_that_is_read(text, value, loader):
    assert yaml(text) == value


@for_each("text",
    "a: 'x",                     'a: "x',                     "a: [ 1, 2",                 "a: [ 1 ] x",
    "a: &anchor 1",              "a: *alias",                 "a: !tag 1",
    "a: !!python/object:os.system x",                         "<<: *a",                    "? [ 1 ]\n: 2",
    "? { a: 1 }\n: 2",           "a: 1\nplain",               "a: 1\n   b: 2",
    r'a: "\xzz"', r'a: "\ud800"', "[" * 100 + "]" * 100, "\n".join(" " * depth + "a:" for depth in range(100)),
    "- " * 100 + "x", "[" * 1_000_000, r'a: "\UFFFFFFFF"', "a: \x01", "x" * (MAX_SIZE + 1),
    "a: &a [ 1, 1 ]\nb: &b [ *a, *a ]\nc: [ *b, *b ]")  # fmt: skip
def test_the_yaml_that_is_not_read(text, loader):
    raised(MalformedFile, yaml, text)


@given(st.text(st.sampled_from("ab:-[]{}'\"\\#, \n&|x0"), max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(MalformedFile):
        yaml(text)


def test_changes_of_real_yaml_are_read_or_refused():
    chance = random.Random(9)
    for _ in range(300):
        text = list(V2)
        for _ in range(3):
            text[chance.randrange(len(text))] = chance.choice("ab:-[]{}'\"\\#, \n\t&|x0")
        read_metadata(image_of((b"AMD\0", 10, "".join(text).encode())))


def test_the_target_is_in_the_metadata_or_in_the_notes():
    modern = msgpack.packb(document(**{"amdhsa.target": "amdgcn-amd-amdhsa--gfx90a"}))
    assert target_name(image_of((b"AMDGPU\0", 32, modern))) == "amdgcn-amd-amdhsa--gfx90a"
    assert (
        target_name(image_of((b"AMD\0", 11, b"amdgcn-amd-amdhsa--gfx902+xnack"))) == "amdgcn-amd-amdhsa--gfx902+xnack"
    )
    isa = bytes([4, 0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0]) + b"AMD\0AMDGPU\0"
    assert target_name(image_of((b"AMD\0", 3, isa))) == "amdgcn-amd-amdhsa--gfx90a"


def printed_by_llvm(path, tools):
    lines = run(tools("llvm-readelf-22"), "-n", path).split("\n")
    starts = [index for index, line in enumerate(lines) if line.strip() == "---"]
    ends = [index for index, line in enumerate(lines) if line.strip() == "..."]
    return [yaml("\n".join(lines[start + 1 : end])) for start, end in zip(starts, ends, strict=True)]


@every(version=[4, 5, 6], processor=["gfx90a:xnack+:sramecc-", "gfx1100"])
def test_metadata_is_what_llvm_prints(tmp_path, require_tool, processor, version):
    path = opencl(tmp_path, require_tool, processor, f"-mcode-object-version={version}", "-O1")
    image = open_image(path)
    found = read_metadata(image)
    assert printed_by_llvm(path, require_tool) == list(found.documents)
    assert found.problems == ()
    assert image.abi_version == version - 2
    name = processor if ":" not in processor else "gfx90a:sramecc-:xnack+"
    assert target_name(image) == f"amdgcn-amd-amdhsa--{name}"
    first, second = found.kernels
    assert first.reqd_workgroup_size == (64, 1, 1)
    assert (second.workgroup_size_hint, second.vec_type_hint) == ((1, 2, 4), "int4")
    visible = [argument for argument in first.args if not argument.is_hidden]
    assert [argument.offset for argument in visible] == [0, 8, 16, 20, 36, 40]
    assert visible[1].is_restrict is True
    assert all(kernel.other == {} for kernel in found.kernels)
    assert all(argument.other == {} for argument in itertools.chain(first.args, second.args))


def test_without_msgpack_the_rest_of_the_file_is_read(monkeypatch):
    """As in a debugger whose Python does not have it."""
    monkeypatch.setitem(sys.modules, "msgpack", None)
    file = opened("fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co")
    assert file.target.target.name == "amdgcn-gfx90a"
    assert file.kernels.kernels
    assert [error.kind for error in file.kernels.problems if error.kind == "no_msgpack"] == ["no_msgpack"]
    assert target_name(file.image) is None


def test_without_pyyaml_a_file_of_version_2_opens(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    file = opened("fixtures/asm/code-object-v2.gfx803.co")
    assert file.target.target.name == "amdgcn-gfx803"
    assert file.kernels.kernels
    (problem,) = [error for error in file.kernels.problems if error.kind == "no_yaml"]
    assert problem.message == "the metadata of code object V2 is YAML: pip install PyYAML"
    assert "pip install" in str(
        raised(Unsupported, plan, file, file.kernels.kernels[0].name, LaunchOptions(64, 64), [1, 2])
    )


def test_words_of_v2_are_those_of_v3():
    from dwarfgpu.objfile.kernels.metadata import _snake_case

    assert _snake_case("HiddenMultiGridSyncArg") == "hidden_multigrid_sync_arg"
    assert _snake_case("HiddenGlobalOffsetX") == "hidden_global_offset_x"
