import contextlib
import functools
import hashlib
import itertools
import random
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported, UsageError
from dwarfgpu.objfile.opening import open_container, open_image
from dwarfgpu.objfile.place import NamedFile, file_uri, parse_place, parse_target, target_matches
from tests.builders.code_objects import bundle, host_program, opencl, run
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST = "host-x86_64-unknown-linux-gnu-"
HIP = "hipv4-amdgcn-amd-amdhsa--"


def code_object(text=b"code"):
    builder = ElfBuilder()
    builder.section(".debug_info", text)
    return builder.build()


def bundle_of(*entries, align=1):
    """A bundle of (ID, content)."""
    size = len(MAGIC) + 8 + sum(24 + len(name) for name, _ in entries)
    table, body = b"", b""
    for name, content in entries:
        body += bytes(-(size + len(body)) % align)
        table += struct.pack("<QQQ", size + len(body), len(content), len(name)) + name.encode()
        body += content
    return MAGIC + struct.pack("<Q", len(entries)) + table + body


def compressed(content, version=3, method=0, *, claim=None, hash_=None, stream=None, whole=None):
    stream = zlib.compress(content) if stream is None else stream
    claim = len(content) if claim is None else claim
    hash_ = hashlib.md5(content).digest()[:8] if hash_ is None else hash_
    sizes = {1: "I", 2: "II", 3: "QQ"}[version]
    header = 16 + struct.calcsize(f"<{sizes}")
    whole = header + len(stream) if whole is None else whole
    numbers = (claim,) if version == 1 else (whole, claim)
    return b"CCOB" + struct.pack(f"<HH{sizes}", version, method, *numbers) + hash_ + stream


def offload_binary(*images, version=1):
    """One binary of version 1 for each image, or one of version 2 for all, of (kind, triple, arch, content)."""
    if version == 1 and len(images) > 1:
        return b"".join(offload_binary(image) for image in images)
    strings, entries, body = b"", b"", b""
    stride = 16 if version == 1 else 24
    start = 32 + 40 * len(images)
    texts_at = start + 2 * stride * len(images)
    texts, contents = b"", b""
    for _, triple, arch, content in images:
        for text in (b"triple", triple.encode(), b"arch", arch.encode()):
            texts += text + b"\0"
        contents += content
    text, data = texts_at, texts_at + len(texts)
    for index, (kind, triple, arch, content) in enumerate(images):
        entries += struct.pack("<HHIQQQQ", 1, kind, 0, start + 2 * stride * index, 2, data, len(content))
        data += len(content)
        for key, value in ((b"triple", triple.encode()), (b"arch", arch.encode())):
            strings += struct.pack("<QQ", text, text + len(key) + 1)
            strings += struct.pack("<Q", len(value)) if version == 2 else b""
            text += len(key) + len(value) + 2
    body = entries + strings + texts + contents
    size = 32 + len(body)
    size += -size % 8
    last = 40 if version == 1 else len(images)
    return ((b"\x10\xff\x10\xad" + struct.pack("<IQQQ", version, size, 32, last)) + body).ljust(size, b"\0")


A, B = code_object(b"for A"), code_object(b"for B")
TWO = bundle_of((HOST, b""), (f"{HIP}gfx90a", A), (f"{HIP}gfx1100", B), align=4096)


def info(image):
    return image.section(".debug_info").data


@for_each("text, expected",
    ("gfx90a", ("", "", "gfx90a", ())),
    ("gfx90a:xnack+:sramecc-", ("", "", "gfx90a", ("sramecc-", "xnack+"))),
    ("gfx902+xnack+sram-ecc", ("", "", "gfx902", ("sramecc+", "xnack+"))),
    ("amdgcn-amd-amdhsa--gfx9-4-generic:xnack-", ("", "amdgcn-amd-amdhsa", "gfx9-4-generic", ("xnack-",))),
    (f"{HIP}gfx90a:xnack+", ("hipv4", "amdgcn-amd-amdhsa", "gfx90a", ("xnack+",))),
    ("hip-amdgcn-amd-amdhsa-gfx803", ("hip", "amdgcn-amd-amdhsa", "gfx803", ())),
    ("hip-amdgcn-amd-amdhsa-unknown-gfx803", ("hip", "amdgcn-amd-amdhsa-unknown", "gfx803", ())),
    (HOST, ("host", "x86_64-unknown-linux-gnu", "", ())),
    ("host-x86_64-unknown-linux--", ("host", "x86_64-unknown-linux", "", ())),
    ("openmp-amdgcn-amd-amdhsa--gfx906", ("openmp", "amdgcn-amd-amdhsa", "gfx906", ())),
    ("sm_70", ("", "", "sm_70", ())),
    ("", ("", "", "", ())))  # fmt: skip
def test_target_ids(text, expected):
    target = parse_target(text)
    assert (target.kind, target.triple, target.processor, target.features) == expected


@for_each("entry, wanted, matches",
    ("gfx90a", "gfx90a", True),  ("gfx90a", "gfx906", False),
    ("gfx90a:xnack+", "gfx90a", True),  # a user who does not care
    ("gfx90a", "gfx90a:xnack+", True),  # a code object for either setting
    ("gfx90a:xnack-", "gfx90a:xnack+", False),                ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-", True),
    (f"{HIP}gfx90a", "amdgcn-amd-amdhsa--gfx90a", True),
    (f"{HIP}gfx90a", "amdgcn-amd-amdhsa-unknown-gfx90a", True),
    (f"{HIP}gfx90a", "amdgcn-amd-amdpal--gfx90a", False),     (f"{HIP}gfx90a", "hip-amdgcn-amd-amdhsa--gfx90a", False),
    (f"{HIP}gfx90a", "amdgcn-amd-amdhsa", True))  # fmt: skip
def test_a_target_matches_by_the_rules_of_target_ids(entry, wanted, matches):
    assert target_matches(parse_target(entry), parse_target(wanted)) is matches


def test_places(tmp_path):
    plain, odd = tmp_path / "k.co", tmp_path / "k@gfx90a"
    plain.write_bytes(A)
    odd.write_bytes(B)
    assert parse_place(f"{plain}@gfx90a") == NamedFile(str(plain), "gfx90a")
    assert parse_place(str(odd)) == NamedFile(str(odd))  # a file of this name is that file
    assert parse_place(f"{odd}@2") == NamedFile(str(odd), "2")
    assert parse_place("missing@2") == NamedFile("missing@2")
    assert info(open_image(odd)) == b"for B"


@for_each(
    "text, path, offset, size",
    ("file:///tmp/a#offset=0x10&size=32", "/tmp/a", 16, 32),
    ("file:///tmp/a?offset=16&size=040", "/tmp/a", 16, 32),  ("file:///tmp/a%20b%2Bc", "/tmp/a b+c", 0, None),
    ("file:///tmp/100%", "/tmp/100%", 0, None),              ("file:///tmp/%4/%zz", "/tmp/%4/%zz", 0, None),
    ("file://rel/a#offset=0&size=0", "rel/a", 0, 0),
)  # fmt: skip
def test_uris(text, path, offset, size):
    place = parse_place(text)
    assert (place.path, place.offset, place.size) == (path, offset, size)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), st.integers(0, 1 << 40))
def test_a_uri_is_read_back(path, offset):
    place = parse_place(file_uri(path, offset, 7))
    assert (place.path, place.offset, place.size) == (path, offset, 7)


@for_each(
    "text",
    "file:///tmp/a#offset=1",
    "file:///tmp/a#size=1&offset=2",
    "file:///tmp/a#offset=1&size=",
    "file:///tmp/a#offset=0x&size=1",
    "file:///tmp/a#offset=-1&size=1",
    "file:///tmp/a#offset=09&size=1",
    "file:///tmp/a#",
    "memory://123#offset=0x1000&size=4096",
)
def test_what_is_no_uri_of_a_file(text):
    assert "file://" in raised(UsageError, parse_place, text).hint


def test_a_bundle_is_listed_and_opened(tmp_path):
    path = tmp_path / "k.hipfb"
    path.write_bytes(TWO)
    entries = open_container(path).entries
    assert [(e.index, e.kind, e.triple, e.target_id, e.offset, e.size, e.format) for e in entries] == [
        (0, "host", "x86_64-unknown-linux-gnu", "", 4096, 0, "empty"),
        (1, "hipv4", "amdgcn-amd-amdhsa", "gfx90a", 4096, len(A), "elf"),
        (2, "hipv4", "amdgcn-amd-amdhsa", "gfx1100", 8192, len(B), "elf"),
    ]
    assert info(open_image(f"{path}@1")) == b"for A"
    assert info(open_image(f"{path}@gfx1100")) == b"for B"
    assert info(open_image(path, "gfx1100")) == b"for B"
    assert info(open_image(path, 1)) == b"for A"
    assert info(open_image(entries[2].uri)) == b"for B"
    assert info(open_image(f"{path}@{HIP}gfx90a")) == b"for A"
    assert open_image(f"{path}@gfx90a").name == f"{path}@gfx90a"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles(version):
    data = compressed(TWO, version)
    entries = open_container(data).entries
    expected = [("", "empty", None), ("gfx90a", "compressed", None), ("gfx1100", "compressed", None)]
    assert [(entry.target_id, entry.format, entry.uri) for entry in entries] == expected
    assert f"CCOB {version}, zlib" in entries[1].note
    assert info(open_image(data, "gfx90a")) == b"for A"


def test_a_table_longer_than_what_is_decompressed_first():
    names = [(f"{HIP}gfx{number}", b"") for number in range(1000, 1600)]
    data = compressed(bundle_of(*names, (f"{HIP}gfx90a", A)))
    assert len(open_container(data).entries) == 601
    assert info(open_image(data, "gfx90a")) == b"for A"


def test_without_a_selection_the_only_code_object_is_opened():
    assert info(open_image(bundle_of((HOST, b""), (f"{HIP}gfx90a", A)))) == b"for A"


@for_each("entries, select, kind, shown",
    (["gfx90a", "gfx1100"], None, "ambiguous", ["@1", "@2"]), ([], None, "no_entry", ["@0"]),
    (["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a", "ambiguous", ["@1", "@2", "xnack+"]),
    (["gfx90a"], "gfx1100", "no_entry", ["@1", "gfx90a"]),    (["gfx90a"], "7", "no_entry", ["@1"]),
    (["gfx90a"], "99999999999999999999", "no_entry", ["@1"]), (["gfx90a"], "", "usage", ["@1"]),
    (["gfx90a"], "host", None, []))  # fmt: skip
def test_a_selection_that_does_not_name_one_entry(entries, select, kind, shown):
    data = bundle_of((HOST, b""), *((f"{HIP}{name}", A) for name in entries))
    error = raised(DwarfGpuError, open_image, data, select)
    if kind is not None:
        assert isinstance(error, UsageError)
        assert error.kind == kind
        assert all(text in error.hint for text in shown)


def test_an_exact_name_wins():
    data = bundle_of((f"{HIP}gfx90a", A), (f"{HIP}gfx90a:xnack+", B))
    assert info(open_image(data, "gfx90a:xnack+")) == b"for B"
    assert info(open_image(data, "gfx90a")) == b"for A"
    assert raised(UsageError, open_image, data, "gfx90a:sramecc-:xnack+").kind == "ambiguous"


def test_what_is_not_an_elf_file_is_refused_by_its_name():
    data = bundle_of((f"{HIP}gfx90a", b"BC\xc0\xde" + bytes(20)), (f"{HIP}gfx1100", b""))
    assert [entry.format for entry in open_container(data).entries] == ["bitcode", "empty"]
    assert "bitcode" in str(raised(Unsupported, open_image, data, 0))


def test_several_bundles_in_a_host_program(tmp_path):
    """Each unit of a program brings its own; the linker puts them one behind the other, aligned."""
    packed = compressed(bundle_of((HOST, b""), (f"{HIP}gfx1200", code_object(b"packed"))))
    content = TWO.ljust(-(-len(TWO) // 4096) * 4096, b"\0") + packed.ljust(4096, b"\0")
    content += bundle_of((HOST, b""), (f"{HIP}gfx90a", code_object(b"third")))
    builder = ElfBuilder(machine=62, osabi=0)
    builder.section(".hip_fatbin", content, align=4096)
    builder.section(".debug_info", b"host")
    path = tmp_path / "program"
    path.write_bytes(builder.build())
    container = open_container(path)

    assert " ".join(entry.target_id or entry.kind for entry in container.entries) == (
        "host host gfx90a gfx1100 host gfx1200 host gfx90a"
    )
    assert {entry.kind for entry in container.entries if entry.target_id} == {"hipv4"}
    assert container.problems == []
    assert info(open_image(path)) == b"host"
    assert info(open_image(f"{path}@host")) == b"host"
    assert info(open_image(f"{path}@0")) == b"host"
    assert info(open_image(f"{path}@gfx1100")) == b"for B"
    assert info(open_image(f"{path}@gfx1200")) == b"packed"
    assert info(open_image(f"{path}@7")) == b"third"
    assert info(open_image(container.entries[7].uri)) == b"third"
    error = raised(UsageError, open_image, f"{path}@gfx90a")
    assert "@2" in error.hint
    assert "@7" in error.hint
    assert open_image(f"{path}@7").name == f"{path}@7"


@pytest.mark.parametrize("version", [1, 2])
def test_offload_binaries(version):
    images = ((4, "amdgcn-amd-amdhsa", "gfx90a:xnack+", A), (1, "amdgcn-amd-amdhsa", "gfx1100", B))
    data = offload_binary(*images, version=version)
    entries = open_container(data).entries
    expected = [("hip", "amdgcn-amd-amdhsa", "gfx90a:xnack+", "elf"), ("openmp", "amdgcn-amd-amdhsa", "gfx1100", "elf")]
    assert [(e.kind, e.triple, e.target_id, e.format) for e in entries] == expected
    assert info(open_image(data, "gfx90a")) == b"for A"
    builder = ElfBuilder(machine=62, osabi=0)
    builder.section(".llvm.offloading", data, type=0x6FFF4C0B, align=8)
    assert info(open_image(builder.build(), "gfx1100")) == b"for B"


def test_sections_named_after_their_target():
    builder = ElfBuilder(machine=62, osabi=0, type=1)
    builder.section("__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a", A)
    builder.section("__CLANG_OFFLOAD_BUNDLE__host-x86_64-pc-linux-gnu-", b"\0")
    data = builder.build()
    expected = [("host", ""), ("hip", "gfx90a"), ("host", "")]
    assert [(entry.kind, entry.target_id) for entry in open_container(data).entries] == expected
    assert info(open_image(data, "gfx90a")) == b"for A"


def test_a_bare_code_object_is_chosen_by_what_its_notes_say():
    builder = ElfBuilder(abi_version=0)
    builder.section(".note", builder.note(b"AMD\0", 11, b"amdgcn-amd-amdhsa--gfx803\0"), type=7, align=4)
    builder.section(".debug_info", b"bare")
    assert info(open_image(builder.build(), "gfx803")) == b"bare"
    raised(UsageError, open_image, builder.build(), "gfx90a")


def test_a_bare_code_object_without_notes_needs_somebody_who_knows():
    raised(UsageError, open_image, A, "gfx90a")
    assert info(open_image(A, "gfx90a", target_of=lambda image: f"gfx{image.machine - 134}a")) == b"for A"


def test_an_entry_outside_the_file_hides_no_other():
    data = bytearray(TWO)
    at = data.index(b"hipv4") - 24
    data[at : at + 8] = (1 << 40).to_bytes(8, "little")
    assert [problem.kind for problem in open_container(bytes(data)).problems] == ["truncated"]
    assert info(open_image(bytes(data), "gfx1100")) == b"for B"
    assert raised(MalformedFile, open_image, bytes(data), "gfx90a").kind == "truncated"


def test_a_broken_bundle_hides_no_other():
    broken = bytearray(compressed(TWO))
    broken[40:60] = bytes(20)
    good = bundle_of((f"{HIP}gfx90a", A))
    builder = ElfBuilder(machine=62, osabi=0)
    builder.section(".hip_fatbin", bytes(broken) + bytes(50) + good)
    container = open_container(builder.build())
    assert [entry.target_id for entry in container.entries] == ["", "gfx90a"]
    assert [problem.kind for problem in container.problems] == ["bad_compression"]
    assert info(open_image(builder.build(), "gfx90a")) == b"for A"


@for_each("data, kind",
    (compressed(TWO, hash_=bytes(8)), "hash_mismatch"), (compressed(TWO, claim=len(TWO) - 1), "size_mismatch"),
    (compressed(TWO, claim=len(TWO) + 1), "truncated"), (compressed(TWO, claim=1 << 60), "too_large"),
    (compressed(TWO, whole=1 << 40), "truncated"), (compressed(TWO, whole=4), "truncated"),
    (compressed(TWO, method=9), "bad_compression"), (compressed(TWO, method=1), "bad_compression"),
    (compressed(b"something else"), "not_a_bundle"), (b"CCOB\x09\0\0\0" + bytes(40), "bundle_version"),
    (b"CCOB\x03\0", "truncated"), (MAGIC, "truncated"), (MAGIC + (1 << 50).to_bytes(8, "little"), "too_large"),
    (MAGIC + (3).to_bytes(8, "little") + bytes(24), None), (TWO[:60], "truncated"),
    (b"\x10\xff\x10\xad" + bytes(12), "not_elf"), (b"\x10\xff\x10\xad\x09" + bytes(60), "offload_version"),
    (b"\x10\xff\x10\xad\x01" + bytes(3) + b"\xff" * 60, "truncated"),
    ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_broken_containers(data, kind):
    error = raised(DwarfGpuError, open_image, data, "gfx90a")
    if kind is not None:
        assert error.kind == kind


@functools.cache
def bomb(method):
    """The size and the hash of something that is too large, and the few bytes that it is compressed to."""
    content = TWO + bytes(64 << 20)
    pack = zlib.compress if method == 0 else pytest.importorskip("zstandard").ZstdCompressor().compress
    return len(content), hashlib.md5(content).digest()[:8], pack(content)


@every(version=[1, 2, 3], method=[0, 1])
@pytest.mark.slow
def test_a_bomb_is_refused(version, method):
    claim, hash_, stream = bomb(method)
    data = compressed(b"", version, method, claim=claim, hash_=hash_, stream=stream)
    assert raised(MalformedFile, open_image, data, "gfx90a").kind == "too_large"


def test_a_uri_past_the_end_of_the_file(tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(A)
    assert raised(MalformedFile, open_image, f"file://{path}#offset=0&size={len(A) + 1}").kind == "truncated"


def test_offload_binaries_with_padding_between_them():
    image = (4, "amdgcn-amd-amdhsa", "gfx90a", A)
    data = offload_binary(image) + bytes(3 << 20) + offload_binary(image) + bytes(24)
    assert [entry.target_id for entry in open_container(data).entries] == ["gfx90a", "gfx90a"]
    container = open_container(data + b"something else, of 32 bytes or more")
    assert [problem.kind for problem in container.problems] == ["bad_magic"]


def test_many_empty_containers_end_somewhere():
    for empty in (b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 2, 32, 32, 0), bundle_of()):
        raised(MalformedFile, open_container, empty * 100_000)


def test_many_magics_are_not_searched_for_ever():
    builder = ElfBuilder(machine=62, osabi=0)
    builder.section(".hip_fatbin", b"CCOB" * 100_000)
    assert len(open_container(builder.build()).problems) == 100


def test_an_image_has_few_keys():
    """Images of an offload binary may share their strings, so that a small file has very many."""
    image = bytearray(offload_binary((4, "amdgcn-amd-amdhsa", "gfx90a", A)))
    image[32 + 16 : 32 + 24] = (1 << 40).to_bytes(8, "little")  # how many there are
    raised(MalformedFile, open_container, bytes(image[:200]))
    assert [entry.target_id for entry in open_container(bytes(image)).entries] == ["gfx90a"]


SAMPLES = [TWO, compressed(TWO), offload_binary((4, "amdgcn-amd-amdhsa", "gfx90a", A)), bundle_of(("a", b"x"))]


def use(data):
    with contextlib.suppress(DwarfGpuError):
        container = open_container(data)
        for entry in itertools.islice(container.entries, 8):
            with contextlib.suppress(DwarfGpuError):
                _ = container.image(entry).sections


@pytest.mark.parametrize("sample", SAMPLES, ids=["bundle", "compressed", "offload", "small"])
def test_truncated_anywhere(sample):
    for end in [*range(min(len(sample), 700)), *range(700, len(sample), 97)]:
        use(sample[:end])


@pytest.mark.parametrize("sample", SAMPLES, ids=["bundle", "compressed", "offload", "small"])
def test_random_changes(sample):
    chance = random.Random(7)
    head = min(len(sample), 300)
    for _ in range(1000):
        data = bytearray(sample)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(head)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        use(bytes(data))


@pytest.fixture(scope="module")
def objects(tmp_path_factory, require_tool):
    folder = tmp_path_factory.mktemp("bundle")
    return {name: opencl(folder, require_tool, name) for name in ("gfx90a", "gfx1100")}


@pytest.mark.parametrize("options, version", [((), ""), (("-compress",), "2"), (("-compress",), "3")])
def test_bundles_of_the_offload_bundler(tmp_path, require_tool, objects, options, version):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    entries = {HOST: empty, **{f"{HIP}{name}": path for name, path in objects.items()}}
    path = bundle(tmp_path, require_tool, entries, *options, "-bundle-align=4096", version=version)
    container = open_container(path)
    listed = run(require_tool("clang-offload-bundler-22"), "-list", "-type=o", f"-input={path}").split()
    assert sorted(entry.id for entry in container.entries) == sorted(listed)
    for name, file in objects.items():
        entry = container.select(name)
        assert container.content(entry) == file.read_bytes()
        assert open_image(path, name).symbol_named("k1.kd") is not None


@pytest.mark.parametrize("options", [(), ("--offload-compress",)])
@pytest.mark.sampled(4)
def test_a_host_program(tmp_path, require_tool, options):
    path = host_program(tmp_path, require_tool, *options)
    container = open_container(path)
    assert container.problems == []
    devices = [entry for entry in container.entries if entry.kind == "hipv4"]
    assert [entry.target_id for entry in devices] == ["gfx1100", "gfx90a"] * 2
    extracted = tmp_path / "extracted"
    extracted.mkdir()
    for index, entry in enumerate(devices):
        assert container.image(entry).symbol_named(f"_Z5unit{index // 2}Pi.kd").size == 64
    if not options:
        run(require_tool("llvm-objdump-22"), "--offloading", path, folder=extracted)
        theirs = sorted(file.read_bytes() for file in extracted.rglob("*") if file.is_file() and "amdgcn" in file.name)
        ours = sorted(bytes(container.content(entry)) for entry in devices)
        assert not theirs or theirs == ours


def test_offload_binaries_of_llvm(tmp_path, require_tool, objects):
    path = tmp_path / "binary"
    images = [f"--image=file={file},arch={name},triple=amdgcn-amd-amdhsa,kind=hip" for name, file in objects.items()]
    run(require_tool("llvm-offload-binary-22", "clang-offload-packager-22"), "-o", path, *images)
    container = open_container(path)
    assert [(entry.kind, entry.target_id) for entry in container.entries] == [("hip", "gfx90a"), ("hip", "gfx1100")]
    for name, file in objects.items():
        assert container.content(container.select(name)) == file.read_bytes()
