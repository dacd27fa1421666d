import contextlib
import json
import random
import shutil

import pytest
from fuzz import files as fuzzed

from dwarfgpu.errors import DwarfGpuError, MalformedFile, NotFound, UsageError
from dwarfgpu.objfile.elf.notes import debug_link
from dwarfgpu.objfile.list_encoding import ListContext, read_list
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_lookup import at_address, line_table, named, parse_address
from dwarfgpu.program.code.code_object import CodeObject, check_has_kernels, list_contents, opened
from dwarfgpu.program.code.file_summary import summary
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.questions import files
from dwarfgpu.render import kernels
from dwarfgpu.render.layout import plain
from tests.builders.dwarf import build, die, entry, unit
from tests.builders.elf import SHT_NOBITS, ElfBuilder
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.lines import program, table
from tests.builders.lists import loclist, rnglist, table_of_lists
from tests.builders.parameters import every, few_or_all, for_each
from tools.fixtures import FOLDER


def file(name: str) -> CodeObject:
    return opened(str(FIXTURES / name))


@for_each("name, target, target_id, lanes",
    ("amdgpu/cl-kernels.gfx1030.w32.O2.v5.co", "amdgcn-gfx1030-wave32", "gfx1030", (32,)),
    ("amdgpu/cl-kernels.gfx1030.w64.O2.v5.co", "amdgcn-gfx1030-wave64", "gfx1030", (64,)),
    ("amdgpu/target.gfx90a.xnack-on.co", "amdgcn-gfx90a", "gfx90a:xnack+", (64,)),
    ("amdgpu/target.gfx906.sramecc-on.xnack-off.co", "amdgcn-gfx906", "gfx906:sramecc+:xnack-", (64,)),
    ("amdgpu/target.gfx11-generic.co", "amdgcn-gfx11-generic-wave32", "gfx11-generic", (32,)),
    ("asm/code-object-v3.gfx906.co", "amdgcn-gfx906", "gfx906:xnack+", (64,)),
    ("asm/code-object-v2.gfx803.co", "amdgcn-gfx803", "gfx803", (64,)),
    ("asm/clrx.gfx801.co", "amdgcn-gfx801", "gfx801", (64,)),
    ("host/stripped.gcc.x86_64", "x86_64", "x86_64", ()))  # fmt: skip
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


@for_each("name, xnack, sramecc",
    ("amdgpu/code-object-v4.gfx906.co", "any", "any"),
    ("amdgpu/target.gfx906.sramecc-on.xnack-off.co", "off", "on"),
    ("amdgpu/target.gfx1010.xnack-on.co", "on", "unsupported"),
    ("asm/code-object-v3.gfx906.co", "on or any", "off or unsupported"))  # fmt: skip
def test_flags(name, xnack, sramecc):
    flags = summary(file(name)).flags
    assert (flags.xnack, flags.sramecc) == (xnack, sramecc)


@for_each("flags, target_id, xnack",
    (0, "gfx801", "off or unsupported"),
    (1, "gfx801:xnack+", "on or any"),
    (0x2F, "gfx801", "off or unsupported"),  # with a processor, as tools wrote it
    (0x128, "gfx801:xnack+", "on or any"))  # fmt: skip
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
    assert (dwarf.kinds, dwarf.versions, dwarf.formats) == ({"compile": 2}, {5: 2}, {"DWARF32": 2})
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


@every(name=["host/stripped.gcc.x86_64", "features/stripped.v5.co"], folder=[".", ".debug"])
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
    caught = raised(NotFound, code.kernels_named, ["tin"])
    assert "no kernel 'tin'" in str(caught)
    assert caught.hint == "did you mean tiny?"


def test_a_host_program_has_no_kernels():
    caught = raised(UsageError, check_has_kernels, file("containers/fatbin.x86_64"))
    assert "X86_64" in str(caught)
    assert "dwarfgpu ls" in caught.hint
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
    assert (found.symbol.name, found.symbol.offset) == ("saxpy", 0x10)
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
        raised((UsageError, NotFound), parse_address, code, text)
    assert "no symbol" in str(raised(NotFound, parse_address, code, "absent"))


def test_an_address_outside_names_where_the_code_is():
    caught = raised(NotFound, at_address, file("containers/tiny.gfx90a.co"), 1)
    assert "the file has nothing at the address 0x1" in str(caught)
    assert ".text 0x1600 to 0x1a80" in caught.hint


@for_each("name, symbol, variable",
    ("amdgpu/hip-kernels.gfx90a.w64.O0.v5.co", "_ZN7physics10collisionsE", "physics::collisions"),
    ("llvm24/hip-kernels.gfx942.w64.O0.co", "_ZN7physics5State5countE", "physics::State::count"),
    ("host/values.gcc.O0.v5.x86_64", "matrix", "matrix"))  # fmt: skip
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
    assert "nothing named" in str(raised(NotFound, named, code, "absent"))


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
    "containers/tiny.gfx90a.co", "containers/fatbin-two.x86_64", "features/split.v5.co", "features/zstd.v5.co",
    "asm/clrx.gfx801.co", "asm/forms.powerpc64", "host/types.gcc.v5.x86_64"]  # fmt: skip


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
        kernels.kernel_text(DescribedKernel(code, kernel), fields=True)
        json.dumps(kernels.kernel_json(DescribedKernel(code, kernel)))
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


# --- Broken files: what is broken in one place hides nothing else, and a file that is cut shows what it still has ---


LINES = table(program(("set_address", 0x1000), ("advance_line", 6), "copy", ("advance_pc", 8), "end_sequence"))


def object_with(*units, lines=LINES, extra=None):
    """A linked file with some units, each with its code at 0x1000."""
    builder = ElfBuilder()
    builder.section(".text", bytes(64), flags=0x6, address=0x1000)
    for name, data in {**build(*units, extra=extra).sections, ".debug_line": lines}.items():
        builder.section(name, data)
    return opened(builder.build())


def unit_with(*parts, name="f", lines=("stmt_list", "sec_offset", 0)):
    return unit(die("compile_unit", lines, entry("subprogram", name, *parts, low_pc=0x1000, high_pc=8)))


@pytest.mark.parametrize("form, value", [("string", "x"), ("block1", b"\0"), ("flag_present", True)])
def test_where_the_lines_are_is_said_by_a_number(form, value):
    code = object_with(unit_with(lines=("stmt_list", form, value)))
    found = at_address(code, 0x1004)
    assert (found.unit_offset, found.source, found.frames[0].function) == (0, None, "f")
    assert {error.kind for error in code.problems} == {"bad_class"}


def test_a_broken_line_table_hides_neither_functions_nor_names():
    code = object_with(unit_with(), lines=LINES[:4] + b"\x09" + LINES[5:])
    assert at_address(code, 0x1004).frames[0].function == "f"
    assert [each.kind for each in named(code, "f")] == ["function"]
    assert {error.kind for error in code.problems} == {"line_version"}


def test_a_broken_call_hides_neither_the_line_nor_the_unit():
    code = object_with(
        unit_with(entry("inlined_subroutine", None, ("call_line", "string", ""), low_pc=0x1000, high_pc=8))
    )
    found = at_address(code, 0x1004)
    assert (found.unit_offset, found.source.line) == (0, 7)
    assert [(frame.inlined, frame.source and frame.source.line) for frame in found.frames] == [(True, 7), (False, None)]
    assert {error.kind for error in code.problems} == {"bad_class"}


def test_units_share_what_is_read_of_a_line_table():
    code = object_with(unit_with(name="f"), unit_with(name="g"))
    first, second = (line_table(code, each) for each in code.dwarf.units)
    assert first is second


def test_a_broken_list_hides_neither_other_lists_nor_entries():
    lists = table_of_lists(loclist(("start_end", 1, 2, "50")), loclist(("start_end", 3, 4, "51"), "end_of_list"))
    ranges = table_of_lists(rnglist(("start_end", 9, 8)), rnglist(("start_end", 0x1000, 0x1008), "end_of_list"))
    bases = (("loclists_base", "sec_offset", 12), ("rnglists_base", "sec_offset", 12))
    parts = [
        entry("subprogram", name, ("ranges", "rnglistx", index), ("frame_base", "loclistx", index))
        for name, index in (("lost", 7), ("broken", 0), ("good", 1))
    ]
    code = object_with(
        unit(die("compile_unit", *bases, ("low_pc", "addr", 0), *parts)),
        extra={".debug_loclists": lists, ".debug_rnglists": ranges},
    )
    (one,) = code.dwarf.units
    lost, broken, good = one.root.children()

    for each in (lost, broken):
        raised(DwarfGpuError, each.ranges)
    assert good.ranges() == [(0x1000, 0x1008)]
    section, offset = good.get("DW_AT_frame_base").list_place()
    context = ListContext(8, "little", 0)
    assert [each.start for each in read_list(lists, offset, section=section, context=context).entries] == [3]
    section, offset = broken.get("DW_AT_frame_base").list_place()
    assert read_list(lists, offset, section=section, context=context).entries[0].start == 1
    assert [each.function for each in at_address(code, 0x1004).frames] == ["good"]
    assert [(each.name, each.ranges) for each in named(code, "broken")] == [("broken", ())]
    assert [(each.name, each.declared) for each in named(code, "lost")] == [("lost", None)]


def test_a_broken_kernel_hides_no_other():
    name = "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
    good = open_image(str(FOLDER / name))
    data = bytearray((FOLDER / name).read_bytes())
    symbols = [symbol for symbol in good.symbols() if symbol.name.endswith(".kd")]
    assert len(symbols) > 2
    section = next(each for each in good.sections if each.name == ".symtab")
    place = section.offset + 24 * symbols[1].index + 8  # st_value
    data[place : place + 8] = (1 << 60).to_bytes(8, "little")
    kernels = opened(bytes(data)).kernels
    assert len(kernels.kernels) == len(symbols)
    assert [kernel.descriptor is None for kernel in kernels.kernels].count(True) == 1
    assert [error.kind for error in kernels.problems] == ["truncated"]


CUT = [
    "asm/forms.gfx90a.w64.o", "asm/lists-dwarf64.gfx90a.w64.co", "asm/operations.powerpc",
    "containers/fatbin-two.x86_64", "containers/hip-program-compressed.x86_64", "features/debug-names.v5.co",
    "features/split.v5.dwo", "features/two-units.v5.dwp", "features/zstd.v5.co", "host/strict.gcc.v2.x86_64",
]  # fmt: skip


def boundaries(data, size):
    """Where a section begins or ends, and a byte before and after; only those before a size."""
    image = open_image(data)
    found = {edge for each in image.sections for edge in (each.offset, each.offset + each.size)}
    found |= {image.header.section_offset, image.header.segment_offset, 16, 64}
    return sorted({edge + step for edge in found for step in (-1, 0, 1) if 0 <= edge + step < size})


def with_headers_first(data):
    """The same file with its section headers and their names behind the ELF header, and all else moved on."""
    image = open_image(data)
    header, layout = image.header, image.layout
    start, rows = 16 + layout.header.size, header.section_stride * header.section_count
    names = image.sections[header.names_index].data
    size = rows + len(names)
    out = bytearray(data[:start] + data[header.section_offset :][:rows] + names + data[start:])
    fields = list(layout.header.unpack_from(data, 16))
    fields[4] += size if fields[4] else 0  # e_phoff
    fields[5] = start  # e_shoff
    layout.header.pack_into(out, 16, *fields)
    for section in image.sections[1:]:
        row = start + section.index * header.section_stride
        values = list(layout.section.unpack_from(out, row))
        values[4] = start + rows if section.index == header.names_index else values[4] + size  # sh_offset
        layout.section.pack_into(out, row, *values)
    return bytes(out)


def drive(data):
    for opener in fuzzed.images(data):
        for ask in fuzzed.QUESTIONS.values():
            ask(opener())


@pytest.mark.parametrize("name", CUT)
@few_or_all(4)
@pytest.mark.sampled(6)
def test_a_file_that_is_cut_at_any_section_is_read_as_far_as_it_goes(name, every):
    data = (FOLDER / name).read_bytes()
    whole = open_image(data)
    for size in boundaries(data, len(data))[::every]:
        drive(data[:size])
        try:
            image = open_image(data[:size])
        except DwarfGpuError:
            assert size < 64
            continue
        assert summary(opened(data[:size])).problems  # the section headers are last in all of these
        for section in image.sections:
            assert section.name == "" or section.raw == whole.sections[section.index].raw


@pytest.mark.slow
@pytest.mark.parametrize("name", CUT)
def test_what_is_before_a_cut_is_read(name):
    """The section headers and their names are put first, where they may stand as well."""
    data = (FOLDER / name).read_bytes()
    moved = with_headers_first(data)
    whole = open_image(moved)
    assert [each.data for each in whole.sections] == [each.data for each in open_image(data).sections]
    assert [each.name for each in whole.sections] == [each.name for each in open_image(data).sections]
    units = opened(moved).dwarf.units_of(".debug_info")
    for size in boundaries(moved, len(moved)):
        try:
            image = open_image(moved[:size])
        except DwarfGpuError:
            assert size < 64
            continue
        if size % 5 == 0:  # for some, because it takes long
            drive(moved[:size])
        if len(image.sections) < len(whole.sections):
            assert image.problems
            continue
        there = set()
        for section in image.sections:
            content, error = section.partial()
            needed = [section, *image.relocation_sections(section.index)]
            needed += [image.sections[each.header.link] for each in needed[1:]]
            if all(each.offset + each.size <= size or each.type_name == "NOBITS" for each in needed):
                assert (content, error) == (whole.sections[section.index].data, None)
                there.add(section.name)
            else:
                assert error.kind == "truncated"
                assert content in (b"", moved[section.offset : size])
        if {".debug_info", ".debug_abbrev"} <= there:
            found = opened(moved[:size]).dwarf.units_of(".debug_info")
            assert [each.header for each in found] == [each.header for each in units]


@pytest.mark.parametrize("name", ["containers/plain.hipfb", "containers/offload.bin"])
def test_a_container_that_is_cut_lists_what_is_before(name):
    data = (FOLDER / name).read_bytes()
    whole = list_contents(data).entries
    for part in whole:
        for size in (part.offset + part.size + step for step in (-1, 0, 1)):
            readable = [each.id for each in list_contents(data[:size]).entries if each.format == "elf"]
            assert readable == [each.id for each in whole if each.format == "elf" and each.offset + each.size <= size]
