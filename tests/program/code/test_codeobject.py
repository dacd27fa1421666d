import contextlib
import json
import random
import shutil
from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError, MalformedFile, NotFound, UsageError
from dwarfgpu.objfile.elf.notes import debug_link
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_lookup import at_address, named, parse_address
from dwarfgpu.program.code.code_object import CodeObject, check_has_kernels, list_contents, opened
from dwarfgpu.program.code.file_summary import summary
from dwarfgpu.render import files, kernels
from dwarfgpu.render.layout import plain
from tests.builders.elf import SHT_NOBITS, ElfBuilder
from tests.builders.parameters import for_each

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def file(name: str) -> CodeObject:
    return opened(str(FIXTURES / name))


@for_each(
    "name, target, target_id, lanes",
    ("amdgpu/cl-kernels.gfx1030.w32.O2.v5.co", "amdgcn-gfx1030-wave32", "gfx1030", (32,)),
    ("amdgpu/cl-kernels.gfx1030.w64.O2.v5.co", "amdgcn-gfx1030-wave64", "gfx1030", (64,)),
    ("amdgpu/target.gfx90a.xnack-on.co", "amdgcn-gfx90a", "gfx90a:xnack+", (64,)),
    ("amdgpu/target.gfx906.sramecc-on.xnack-off.co", "amdgcn-gfx906", "gfx906:sramecc+:xnack-", (64,)),
    ("amdgpu/target.gfx11-generic.co", "amdgcn-gfx11-generic-wave32", "gfx11-generic", (32,)),
    ("asm/code-object-v3.gfx906.co", "amdgcn-gfx906", "gfx906:xnack+", (64,)),
    ("asm/code-object-v2.gfx803.co", "amdgcn-gfx803", "gfx803", (64,)),
    ("asm/clrx.gfx801.co", "amdgcn-gfx801", "gfx801", (64,)),
    ("host/stripped.gcc.x86_64", "x86_64", "x86_64", ()),
)
def test_target(name, target, target_id, lanes):
    found = summary(file(name))

    assert found.target.is_known
    assert found.target.target.name == target
    assert found.target.target_id == target_id
    assert found.wave_sizes == lanes
    assert found.problems == ()


def test_a_machine_without_a_target_is_read_nevertheless():
    found = summary(file("asm/forms.powerpc64"))

    assert not found.target.is_known
    assert found.target.target.byte_order == "big"
    assert found.dwarf is not None
    assert len(found.dwarf.units) == 7


@for_each(
    "name, xnack, sramecc",
    ("amdgpu/code-object-v4.gfx906.co", "any", "any"),
    ("amdgpu/target.gfx906.sramecc-on.xnack-off.co", "off", "on"),
    ("amdgpu/target.gfx1010.xnack-on.co", "on", "unsupported"),
    ("asm/code-object-v3.gfx906.co", "on or any", "off or unsupported"),
)
def test_flags(name, xnack, sramecc):
    flags = summary(file(name)).flags

    assert (flags.xnack, flags.sramecc) == (xnack, sramecc)


@for_each(
    "flags, target_id, xnack",
    (0, "gfx801", "off or unsupported"),
    (1, "gfx801:xnack+", "on or any"),
    (0x2F, "gfx801", "off or unsupported"),  # with a processor, as tools wrote it
    (0x128, "gfx801:xnack+", "on or any"),
)
def test_flags_of_version_2(flags, target_id, xnack):
    data = bytearray((FIXTURES / "asm/clrx.gfx801.co").read_bytes())
    data[0x30:0x34] = flags.to_bytes(4, "little")
    found = summary(opened(bytes(data)))

    assert found.target.target_id == target_id
    assert (found.flags.xnack, found.flags.sramecc) == (xnack, "not recorded")


def test_the_version_of_a_generic_processor():
    assert summary(file("amdgpu/target.gfx11-generic.co")).flags.generic_version == 1


def test_units_together():
    dwarf = summary(file("amdgpu/hip-two-units.gfx90a.w64.O2.v5.co")).dwarf

    assert dwarf.kinds == {"compile": 2}
    assert dwarf.versions == {5: 2}
    assert dwarf.formats == {"DWARF32": 2}
    assert sum(dwarf.producers.values()) == 2
    assert dwarf.dialects == {("llvm-current", "nothing in the unit says otherwise"): 2}


def test_a_skeleton_shows_what_it_stands_for():
    found = summary(file("features/split.v5.co"))

    assert found.dwarf.kinds == {"skeleton": 1}
    assert list(found.dwarf.producers) == ["Debian clang version 22.1.8 (1~deb12u1)"]
    assert found.problems == ()


def test_a_split_file_that_is_not_there_is_missing(tmp_path):
    copy = tmp_path / "alone.co"
    shutil.copy(FIXTURES / "features/split.v5.co", copy)
    found = summary(opened(str(copy)))

    assert any("dwo" in missing.what for missing in found.missing)
    assert found.problems == ()


def test_a_split_file_is_found_beside_the_program(tmp_path):
    for name in ("split.v5.co", "split.v5.dwo"):
        shutil.copy(FIXTURES / "features" / name, tmp_path / name)
    found = named(opened(str(tmp_path / "split.v5.co")), "saxpy")

    assert found[0].section == ".debug_info.dwo"


def test_a_stripped_file_names_its_other_half(tmp_path):
    copy = tmp_path / "program"
    shutil.copy(FIXTURES / "host" / "stripped.gcc.x86_64", copy)
    stripped = summary(opened(str(copy)))

    assert stripped.debug_file is None
    assert "stripped.gcc.x86_64.debug" in next(each.hint for each in stripped.missing if each.what == ".debug_info")


def test_the_other_half_tells_what_it_has_not():
    debug = summary(file("features/stripped.v5.debug"))

    assert "contents" in [each.what for each in debug.missing]
    assert debug.problems == ()
    assert len(debug.kernels) == 3


@pytest.mark.parametrize("name", ["host/stripped.gcc.x86_64", "features/stripped.v5.co"])
@pytest.mark.parametrize("folder", [".", ".debug"])
def test_the_debug_file_of_a_stripped_one_is_read(name, folder, tmp_path):
    """By its build ID, or without one by the checksum of its content."""
    program = FIXTURES / name
    shutil.copy(program, tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    other = next(program.parent.glob(f"{program.stem}*.debug"))
    shutil.copy(other, tmp_path / folder)
    found = opened(str(tmp_path / program.name))
    alone = opened(str(other))

    assert summary(found).debug_file == str((tmp_path / folder / other.name).resolve())
    assert ".debug_info" not in [each.what for each in summary(found).missing]
    assert [die.name for die in found.dwarf.units[0].dies()] == [die.name for die in alone.dwarf.units[0].dies()]
    function = next(die for die in found.dwarf.units[0].dies() if die.tag_name == "DW_TAG_subprogram" and die.ranges())
    low = function.ranges()[0][0]
    assert at_address(found, low).symbol.address == low
    assert found.problems == ()


def test_another_file_with_the_name_of_the_debug_file_is_refused(tmp_path):
    shutil.copy(FIXTURES / "features" / "stripped.v5.co", tmp_path)
    shutil.copy(FIXTURES / "features" / "plain.v3.co", tmp_path / "stripped.v5.debug")
    found = opened(str(tmp_path / "stripped.v5.co"))

    assert not found.has_dwarf
    assert [error.kind for error in found.problems] == ["debug_file"]


@for_each("content", b"", b"\0", b"a", b"a\0", b"a\0\0\0\1\2\3", b"/etc/passwd\0\1\2\3\4", b"../x\0\0\0\0\1\2\3\4")
def test_a_broken_link_names_nothing(content):
    elf = ElfBuilder()
    elf.section(".gnu_debuglink", content)

    assert debug_link(open_image(elf.build())) is None


def test_kernels_by_the_names_of_source_and_symbol():
    code = file("containers/tiny.gfx90a.co")

    assert [each.name for each in code.kernels_named(["tiny", "tiny.kd"])] == ["tiny"]
    with pytest.raises(NotFound, match="no kernel 'tin'") as caught:
        code.kernels_named(["tin"])
    assert caught.value.hint == "there are tiny"


def test_a_host_program_has_no_kernels():
    with pytest.raises(NotFound, match="X86_64") as caught:
        check_has_kernels(file("containers/fatbin.x86_64"))
    assert "dwarfgpu ls" in caught.value.hint
    check_has_kernels(file("containers/fatbin.x86_64@gfx1100"))


def test_contents_name_the_target_of_the_file_itself():
    own, *others = list_contents(str(FIXTURES / "containers/fatbin.x86_64")).entries

    assert own.target_id == "x86_64"
    assert [each.target_id for each in others] == ["", "gfx90a", "gfx1100"]
    assert list_contents((FIXTURES / "containers/tiny.gfx90a.co").read_bytes()).entries[0].target_id == "gfx90a"


def test_contents_of_one_image():
    for select in ("2", "gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx90a"):
        (entry,) = list_contents(f"{FIXTURES}/containers/fatbin.x86_64@{select}").entries
        assert (entry.index, entry.target_id) == (2, "gfx90a")


def test_code_object_v3_is_chosen_by_its_target():
    assert opened(f"{FIXTURES}/asm/code-object-v3.gfx906.co@gfx906").is_amdgpu
    with pytest.raises(UsageError, match="no entry is for gfx900"):
        opened(f"{FIXTURES}/asm/code-object-v3.gfx906.co@gfx900")


def test_calls_at_an_address():
    code = file("features/split.v5.co")
    found = at_address(code, parse_address(code, "saxpy+0x10"))

    assert found.symbol.name == "saxpy"
    assert found.symbol.offset == 0x10
    assert found.section == ".text"
    assert [(frame.function, frame.inlined) for frame in found.frames] == [("saxpy", True), ("saxpy", False)]
    assert found.frames[0].source == found.source
    assert (found.source.file, found.source.line) == ("src/opencl/kernels.cl", 77)
    assert found.range[0] <= found.address < found.range[1]


def test_the_embedded_source_is_shown():
    code = file("features/embed-source.v5.co")
    found = at_address(code, parse_address(code, "_Z7objectsPN7physics4Vec3EPfi+0x120"))

    assert found.text == "    ring.push((short)(k * i));"


def test_an_address_of_a_file_that_is_not_linked_is_in_its_code():
    found = at_address(file("amdgpu/cl-kernels.gfx90a.w64.O0.v5.o"), 0x10)

    assert found.symbol.name == found.frames[-1].function == "weigh"


def test_addresses():
    code = file("containers/tiny.gfx90a.co")
    start = code.image.symbol_named("tiny").value

    assert parse_address(code, hex(start)) == parse_address(code, str(start)) == start
    assert parse_address(code, "tiny") == start
    assert parse_address(code, "tiny+4") == parse_address(code, "tiny+0x4") == start + 4
    for text in ("", "0xzz", "tiny+x", "+4"):
        with pytest.raises((UsageError, NotFound)):
            parse_address(code, text)
    with pytest.raises(NotFound, match="no symbol"):
        parse_address(code, "absent")


def test_an_address_outside_names_where_the_code_is():
    with pytest.raises(NotFound, match="the file has nothing at the address 0x1") as caught:
        at_address(file("containers/tiny.gfx90a.co"), 1)
    assert ".text 0x1600 to 0x1a80" in caught.value.hint


@for_each(
    "name, symbol, variable",
    ("amdgpu/hip-kernels.gfx90a.w64.O0.v5.co", "_ZN7physics10collisionsE", "physics::collisions"),
    ("llvm24/hip-kernels.gfx942.w64.O0.co", "_ZN7physics5State5countE", "physics::State::count"),
    ("host/values.gcc.O0.v5.x86_64", "matrix", "matrix"),
)
def test_variables_at_an_address_of_data(name, symbol, variable):
    code = file(name)
    found = at_address(code, code.image.symbol_named(symbol).value + 3)

    assert [each.name for each in found.variables] == [variable]
    assert found.symbol.offset == 3
    assert found.frames == ()


def test_names():
    code = file("features/plain.v3.co")
    (found,) = named(code, "physics::Vec3")

    assert (found.kind, found.name, found.byte_size) == ("type", "physics::Vec3", 12)
    assert (found.declared.file, found.declared.line) == ("src/hip/kernels.hip", 12)
    assert {each.kind for each in named(code, "_Z9divergentPii")} == {"function"}
    with pytest.raises(NotFound, match="nothing named"):
        named(code, "absent")


def test_names_without_debug_information_are_symbols():
    (found,) = named(file("asm/clrx.gfx801.co"), "test1")

    assert found.kind == "symbol"
    assert found.symbol.type == "AMDGPU_HSA_KERNEL"


@pytest.mark.parametrize("name", ["containers/tiny.gfx90a.co", "features/zstd.v5.co", "features/split.v4.co"])
def test_a_file_that_ends_early_shows_what_is_left(name):
    data = (FIXTURES / name).read_bytes()
    for size in range(0, len(data), max(1, len(data) // 50)):
        try:
            code = opened(data[:size])
        except MalformedFile:
            assert size < 64
            continue
        found = summary(code)
        assert found.problems
        assert found.target.is_known


def test_a_broken_unit_hides_neither_the_others_nor_the_kernels():
    path = FIXTURES / "amdgpu/hip-two-units.gfx90a.w64.O2.v5.co"
    section = open_image(str(path)).section(".debug_info")
    data = bytearray(path.read_bytes())
    data[section.offset + 4] = 0x77  # the version of the first unit
    found = summary(opened(bytes(data)))

    assert len(found.dwarf.units) == 1
    assert found.kernels
    assert "version" in str(found.problems[0])


def test_broken_compression_hides_no_kernels():
    builder = ElfBuilder(flags=0x3F)
    builder.compressed(".debug_info", b"", stream=b"not compressed", size=100)
    builder.section(".text", bytes(64), type=SHT_NOBITS)
    found = summary(opened(builder.build()))

    assert found.target.target_id == "gfx90a"
    assert found.dwarf.units == ()
    assert any(".debug_info" in str(problem) for problem in found.problems)


def test_without_section_headers_nothing_is_said_about_sections():
    data = bytearray((FIXTURES / "containers/tiny.gfx90a.co").read_bytes())
    data[0x28:0x30] = bytes(8)  # e_shoff
    found = summary(opened(bytes(data)))

    assert [missing.what for missing in found.missing] == ["section headers"]
    assert found.kernels == ("tiny",)


def test_any_name_in_a_file_is_an_error_or_an_answer():
    code = file("features/plain.v3.co")
    for name in ("", "::", "a::", "operator()", "\0", "\udcff", "<" * 100):
        with contextlib.suppress(DwarfGpuError):
            named(code, name)


MUTATED = [
    "containers/tiny.gfx90a.co",
    "containers/fatbin-two.x86_64",
    "features/split.v5.co",
    "features/zstd.v5.co",
    "asm/clrx.gfx801.co",
    "asm/forms.powerpc64",
    "host/types.gcc.v5.x86_64",
]


def everything(data: bytes) -> None:
    with contextlib.suppress(DwarfGpuError):
        found = list_contents(data)
        files.contents_text(found)
        json.dumps(files.contents_json(found))
    try:
        code = opened(data)
    except DwarfGpuError:
        return
    found = summary(code)
    files.summary_text(found, units=True)
    json.dumps(files.summary_json(found, units=True))
    for kernel in code.kernels.kernels:
        kernels.kernel_text(kernel, fields=True)
        json.dumps(kernels.kernel_json(kernel))
    for address in (0, 0x1610, 0x2410, 0x401010, 0x9AD0):
        with contextlib.suppress(DwarfGpuError):
            there = at_address(code, address)
            files.address_text(there)
            json.dumps(plain(there))
    for name in ("tiny", "saxpy", "int", "main", "ns::f"):
        with contextlib.suppress(DwarfGpuError):
            means = named(code, name)
            files.named_text(means)
            json.dumps([plain(each) for each in means])
    assert all(isinstance(error, DwarfGpuError) for error in code.problems)


@pytest.mark.parametrize("name", MUTATED)
def test_damaged_files_raise_nothing_else(name):
    original = (FIXTURES / name).read_bytes()
    numbers = random.Random(name)
    for _ in range(30):
        data = bytearray(original[: numbers.choice([len(original), numbers.randrange(len(original))])])
        for _ in range(numbers.choice([1, 3, 30]) if data else 0):
            within = 64 if numbers.random() < 0.2 else len(data)
            data[numbers.randrange(min(within, len(data)))] = numbers.choice([0, 1, 0x7F, 0x80, 0xFF])
        everything(bytes(data))
