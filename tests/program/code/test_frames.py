import pytest

from dwarfgpu.cfi.rules import Offset, RegisterOffset
from dwarfgpu.errors import DwarfGpuError, IllFormed, NotFound
from dwarfgpu.program.code import code_object, frame_rows
from dwarfgpu.program.code.frame_rows import Cie, Fde
from dwarfgpu.render import dump as render
from tests.builders import compiled
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.frames import FrameBuilder, z
from tests.builders.parameters import every, for_each

X86_64, PPC64 = 62, 21
LOW = 0x1000


def fixture(name):
    return code_object.opened(str(FIXTURES / name))


def file_of(*sections, machine=X86_64, symbols=(), linked=True, **options):
    """A file with code and some sections: (name, content, address)."""
    builder = ElfBuilder(machine=machine, type=3 if linked else 1, osabi=0, abi_version=0, **options)
    text = builder.section(".text", bytes(0x100), flags=0x6, address=LOW if linked else 0, align=16)
    for name, content, address in sections:
        builder.section(name, content, flags=0x2 if address else 0, address=address)
    builder.symbols([(name, value, size, 2, 1, text) for name, value, size in symbols])
    return code_object.opened(builder.build())


def debug_frame(instructions="", initial="def_cfa 7 8; offset 16 1", **options):
    builder = FrameBuilder(**options)
    builder.fde(builder.cie(initial), LOW, 0x40, instructions)
    return builder


def test_a_file_without_call_frame_information():
    file = file_of()
    assert file.frames.sections == ()
    assert list(file.frames.entries()) == []
    assert file.frames.fde_at(LOW) is None
    assert file.frames.row_at(LOW) is None
    assert file.problems == ()


@every(order=["little", "big"], size=[4, 8])
def test_files_of_all_classes_and_byte_orders(order, size):
    builder = debug_frame("advance_loc 4; def_cfa_offset 16", size=size, order=order)
    file = file_of((".debug_frame", builder.data, 0), machine=PPC64, address_size=size, byte_order=order)
    assert file.frames.row_at(LOW + 4).cfa == RegisterOffset(7, 16)
    assert file.frames.register_name(7) == "r7"


def test_debug_frame_is_asked_before_eh_frame():
    eh_frame = FrameBuilder("eh_frame")
    cie = eh_frame.cie("def_cfa 7 99")
    eh_frame.fde(cie, LOW, 0x40)
    eh_frame.fde(cie, LOW + 0x80, 0x10)
    file = file_of((".eh_frame", eh_frame.data, 0x4000), (".debug_frame", debug_frame().data, 0))
    assert [section.name for section in file.frames.sections] == [".debug_frame", ".eh_frame"]
    assert file.frames.fde_at(LOW).section == ".debug_frame"
    assert [fde.section for fde in file.frames.fdes_at(LOW)] == [".debug_frame", ".eh_frame"]
    assert file.frames.row_at(LOW).cfa == RegisterOffset(7, 8)
    assert file.frames.row_at(LOW + 0x88).cfa == RegisterOffset(7, 99)
    assert file.frames.row_at(LOW + 0x88, file.frames.fde_at(LOW + 0x80)).start == LOW + 0x80


def test_a_broken_entry_of_one_section_does_not_hide_that_of_the_other():
    eh_frame = FrameBuilder("eh_frame")
    eh_frame.fde(eh_frame.cie("def_cfa 7 8"), LOW, 0x40)
    broken = FrameBuilder()
    broken.fde(broken.cie(augmentation="z", augmentation_data=z(b"")), LOW, 0x80, augmentation_data=b"\x40")
    file = file_of((".eh_frame", eh_frame.data, 0x4000), (".debug_frame", broken.data, 0))
    assert file.frames.fde_at(LOW).section == ".eh_frame"
    assert raised(IllFormed, file.frames.fde_at, LOW + 0x70).kind == "bad_augmentation"


def test_every_section_of_a_name_is_read_by_itself():
    """A relocatable file has one for each group; what is relative to its own place counts in each."""
    builders = []
    for low in (0, 0x20):
        builder = FrameBuilder("eh_frame")
        cie = builder.cie("def_cfa 7 8", augmentation="zR", augmentation_data=z(b"\x1b"))
        location = builder.number(low - (len(builder.data) + 8), 4) + builder.number(0x10, 4)
        builder.fde(cie, 0, 0, location=location, augmentation_data=z(b""))
        builders.append((".eh_frame", builder.data, 0))
    file = file_of(*builders, linked=False)
    assert [entry.low for entry in file.frames.entries() if isinstance(entry, Fde)] == [0, 0x20]


def test_bases_of_pointers():
    builder = FrameBuilder("eh_frame")
    for encoding in (0x2B, 0x3B):
        cie = builder.cie("def_cfa 7 8", augmentation="zR", augmentation_data=z(bytes([encoding])))
        location = builder.number(0x10, 4) + builder.number(0x10, 4)
        builder.fde(cie, 0, 0, location=location, augmentation_data=z(b""))
    file = file_of((".eh_frame", builder.data, 0x4000), (".got", bytes(8), 0x5000))
    assert [entry.low for entry in file.frames.entries() if isinstance(entry, Fde)] == [LOW + 0x10, 0x5010]


def test_a_section_that_is_not_whole():
    """What the file still has of it is read."""
    builder = ElfBuilder(machine=X86_64)
    data = debug_frame().data
    builder.section(".debug_frame", data, size=len(data) + 100)
    whole = builder.build()
    file = code_object.opened(whole[: len(whole)])
    assert file.frames.fde_at(LOW) is not None


def test_a_section_without_content_has_no_entries():
    assert file_of((".debug_frame", b"", 0)).frames.sections == ()


def test_a_broken_header_is_a_problem_and_no_more():
    eh_frame = FrameBuilder("eh_frame")
    eh_frame.fde(eh_frame.cie("def_cfa 7 8"), LOW, 0x40)
    file = file_of((".eh_frame_hdr", b"\x09", 0x3000), (".eh_frame", eh_frame.data, 0x4000))
    assert file.frames.fde_at(LOW) is not None
    assert [error.where.section for error in file.problems] == [".eh_frame_hdr"]


def check_header(file):
    """Its table has all entries, and each is found through it."""
    (index,) = [index for index in file.frames.indexes if index.section.is_eh]
    fdes = [entry for entry in index.section.entries() if isinstance(entry, Fde)]
    assert index.header.count == len(fdes) > 1
    for fde in fdes:
        assert index.header.find(fde.low) == (fde.low, index.section.bases.section + fde.offset)
        assert index._through_header(fde.high - 1).offset == fde.offset
    assert index.problems == []


def test_the_header_of_a_fixture():
    check_header(fixture("asm/host.x86_64"))


@pytest.mark.parametrize("compiler", ["gcc", "x86-64", "i386", "ppc64"])
def test_the_header_of_a_linker(compiler, tmp_path, require_tool):
    path = compiled.compiled(
        tmp_path, require_tool, compiler, "-O2 -fasynchronous-unwind-tables", link="--eh-frame-hdr"
    )
    check_header(code_object.opened(str(path)))


@for_each("name, number, expected",
    ("llvm24/hip-calls.gfx1100.w32.O2.co", 1576, "v40"),     ("llvm24/hip-calls.gfx1100.w64.O2.co", 2600, "v40"),
    ("llvm24/hip-calls.gfx1100.w32.O2.co", 1, "exec"),       ("llvm24/hip-calls.gfx1100.w64.O2.co", 17, "exec"),
    ("llvm24/hip-calls.gfx1100.w32.O2.co", 2600, "reg2600"), ("llvm24/hip-calls.gfx90a.w64.O2.co", 3104, "a32"),
    ("host/frames.gcc.O2.v5.x86_64", 16, "rip"))  # fmt: skip
def test_names_of_registers(name, number, expected):
    assert fixture(name).frames.register_name(number) == expected


def test_names_of_address_spaces():
    frames = fixture("llvm24/hip-calls.gfx90a.w64.O2.co").frames
    assert (frames.space_name(6), frames.space_name(0x77)) == ("private_wave", "aspace0x77")


@pytest.mark.parametrize("name", ["hip-calls.gfx1030.w32.O0.co", "hip-calls.gfx1200.w64.O2.co", "triton.gfx942.w64.co"])
def test_every_register_of_a_file_has_a_name(name):
    """So the size of the waves is right."""
    frames = fixture(f"llvm24/{name}").frames
    for entry in frames.entries():
        text = "\n".join(render.listed_text(frames.listed(entry), frames))
        assert "reg1" not in text
        assert "reg2" not in text
        assert "# register" not in text


def test_an_address_space_of_another_target():
    file = file_of((".debug_frame", debug_frame("LLVM_def_aspace_cfa 64 0 6").data, 0))
    entry = file.frames.fde_at(LOW)
    assert raised(IllFormed, file.frames.row_at, LOW).kind == "bad_address_space"
    assert file.frames.listed(entry).error.kind == "bad_address_space"


def test_expressions_have_the_dialect_of_the_target_or_another():
    frames = fixture("asm/cfi-legacy.gfx90a.w64.co").frames
    row = frames.row_at(0x1440)
    fde = frames.fde_at(0x1440)
    assert frames.expression(row.cfa.block, fde).fault is not None
    frames.use_dialect("llvm-legacy")
    assert frames.expression(row.cfa.block, fde).fault is None
    assert frames.code(row.cfa.block, fde).operations[-1] == "DW_OP_LLVM_form_aspace_address"


@pytest.mark.parametrize("name", ["amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "features/eh-frame.v5.co"])
def test_compilers_without_unwind_information(name):
    """LLVM 22 writes an entry for every function, and nothing in it."""
    frames = fixture(name).frames
    fdes = [entry for entry in frames.entries() if isinstance(entry, Fde)]
    assert fdes
    assert all(row.is_empty for fde in fdes for row in frames.rows(fde))
    assert render.listed_text(frames.listed(fdes[0]), frames)[-1].endswith("no unwind information")


def test_triton_knows_nothing_of_the_prologue():
    frames = fixture("llvm24/triton.gfx942.w64.co").frames
    fde = next(entry for entry in frames.entries() if isinstance(entry, Fde))
    assert [row.is_empty for row in frames.rows(fde)] == [True, False]


def test_frames_at_an_address():
    file = fixture("asm/cfi.gfx90a.w64.co")
    (found,) = frame_rows.frames_at(file, 0x1405)
    assert (found.fde.low, found.row.start, found.error) == (0x1400, 0x1404, None)
    assert raised(NotFound, frame_rows.frames_at, file, 0x9999).kind == "no_unwind_information"
    assert ".debug_frame" in raised(NotFound, frame_rows.frames_at, file_of(), LOW).hint


def test_an_entry_whose_rows_are_broken():
    (found,) = frame_rows.frames_at(file_of((".debug_frame", debug_frame("restore_state").data, 0)), LOW)
    assert found.row is None
    assert found.error.kind == "restore_without_remember"


def test_the_entries_of_a_function():
    file = fixture("host/frames.gcc.O2.v5.x86_64")
    name = next(frame_rows.code_name(file, entry) for entry in file.frames.entries() if isinstance(entry, Fde))
    (fde,) = frame_rows.fdes_of(file, name.strip("<>"))
    assert frame_rows.code_name(file, fde) == name
    assert raised(NotFound, frame_rows.fdes_of, file, "no such function").kind == "no_name"


def test_a_function_without_an_entry():
    file = file_of((".debug_frame", debug_frame().data, 0), symbols=[("alone", LOW + 0x80, 4)])
    assert raised(NotFound, frame_rows.fdes_of, file, "alone").kind == "no_unwind_information"


@for_each("symbols, expected",
    ([("f", LOW, 0x40)], "<f>"),                             ([("f", LOW - 0x10, 0x100)], "<f+0x10>"),
    ([("f", LOW + 0x40, 4)], ""),                            ([], ""))  # fmt: skip
def test_the_name_of_code(symbols, expected):
    file = file_of((".debug_frame", debug_frame().data, 0), symbols=symbols)
    assert [frame_rows.code_name(file, entry) for entry in file.frames.entries()] == ["", expected]


def test_names_in_a_file_that_is_not_linked():
    file = fixture("llvm24/hip-calls.gfx90a.w64.O2.o")
    assert len({frame_rows.code_name(file, entry) for entry in file.frames.entries()}) > 1


def listed(*sections):
    file = file_of(*sections, symbols=[("f", LOW, 0x40)])
    return [
        line
        for entry in file.frames.entries()
        if not isinstance(entry, DwarfGpuError)
        for line in render.listed_text(file.frames.listed(entry), file.frames, name=frame_rows.code_name(file, entry))
    ]


def test_the_text_of_entries():
    builder = FrameBuilder()
    cie = builder.cie("def_cfa 7 8; offset 16 1", augmentation="S")
    builder.fde(cie, LOW, 0x40, "advance_loc 4; val_offset 3 2; same_value 4; same_value 5; advance_loc 1")

    assert listed((".debug_frame", builder.data + bytes(4), 0)) == [
        ".debug_frame+0x0  CIE",
        "  version     4",
        '  augmentation "S"',
        "  addresses   8 bytes",
        "  alignment   code 1, data -8",
        "  returns to  rip",
        "  frames      of signals",
        "  instructions",
        "    0x0010  DW_CFA_def_cfa rsp +8",
        "    0x0013  DW_CFA_offset rip -8",
        "    0x0015  DW_CFA_nop (3 times)",
        "  rules",
        "      CFA         rsp+8",
        "      rip         at CFA-8",
        ".debug_frame+0x18  FDE 0x1000 to 0x1040  <f>",
        "  CIE         0x0",
        "  instructions",
        "    0x0030  DW_CFA_advance_loc 4 -> 0x1004",
        "    0x0031  DW_CFA_val_offset rbx -16",
        "    0x0034  DW_CFA_same_value rsi",
        "    0x0036  DW_CFA_same_value rdi",
        "    0x0038  DW_CFA_advance_loc 1 -> 0x1005",
        "    0x0039  DW_CFA_nop (7 times)",
        "  rows",
        "    0x1000 to 0x1004",
        "      CFA         rsp+8",
        "      rip         at CFA-8",
        "    0x1004 to 0x1005",
        "      rbx         is CFA-16",
        "      rsi to rdi  same value",
        "    0x1005 to 0x1040  as before",
        ".debug_frame+0x40  terminator",
    ]


def test_the_text_of_gnu_augmentations():
    builder = FrameBuilder("eh_frame", wide=True)
    data = z(b"\x9b" + builder.number(0x100, 4) + b"\x1b\x03")
    cie = builder.cie("", augmentation="zPLR", augmentation_data=data, segment_size=2, version=4)
    location = builder.number(LOW, 4) + builder.number(0x40, 4)
    builder.fde(cie, 0, 0, location=location, before=b"\5\0", augmentation_data=z(builder.number(0x10, 4)))
    lines = listed((".eh_frame", builder.data, 0x4000))
    assert "  version     4, DWARF64" in lines
    assert "  addresses   8 bytes, segment selectors of 2" in lines
    assert "  locations   udata4" in lines
    assert "  LSDA        pcrel sdata4" in lines
    assert any(line.startswith("  personality the address at 0x4") for line in lines)
    assert "  segment     0x5" in lines


def test_what_is_broken_stands_at_the_end():
    lines = listed((".debug_frame", debug_frame("advance_loc 4; restore_state; nop; undefined 3").data, 0))
    assert "    0x1000 to 0x1004" in lines
    assert lines[-2].startswith("  error: restore without remember at DW_CFA_restore_state, .debug_frame+0x31:")


def test_an_augmentation_that_is_not_known():
    builder = FrameBuilder()
    builder.fde(builder.cie("def_cfa 7 8", augmentation="unheard"), LOW, 0x40)
    lines = listed((".debug_frame", builder.data, 0))
    assert lines[:3] == [".debug_frame+0x0  CIE", "  version     4", '  augmentation "unheard"']
    assert any(line.endswith("  FDE 0x1000 to 0x1040  <f>") for line in lines)
    assert any("error: bad augmentation" in line for line in lines)


def test_nothing_in_a_name_steers_a_terminal():
    builder = FrameBuilder()
    builder.cie(augmentation="[\x1b[31m]")
    assert not any("\x1b" in line for line in listed((".debug_frame", builder.data, 0)))


@for_each("name", "asm/cfi-vendor.gfx90a.w64.co", "host/frames.gcc.O2.v5.x86_64", "llvm24/hip-calls.gfx1100.w32.O0.co")
def test_lines_fit_80_columns(name):
    file = fixture(name)
    for entry in file.frames.entries():
        for line in render.listed_text(file.frames.listed(entry), file.frames):
            assert len(line) <= 80


def test_json_has_every_row_whole():
    file = fixture("asm/cfi.gfx90a.w64.co")
    documents = [render.listed_json(file.frames.listed(entry), file.frames) for entry in file.frames.entries()]
    assert [each["kind"] for each in documents[:3]] == ["cie", "fde", "fde"]
    assert documents[0]["cfa"]["register_name"] == "s32"
    assert documents[0]["registers"]["17"] == {"name": "exec", "rule": "same_value"}
    last = documents[2]["rows"][-1]
    assert last["registers"]["2601"] == {"name": "v41", "rule": "offset", "offset": 256}
    assert last["registers"]["62"]["register_name"] == "s40"
    assert documents[-1]["rows"][0]["unwind_information"] is False
    expressions = documents[4]
    assert expressions["rows"][0]["cfa"]["expr"] == "3036e902"
    assert expressions["rows"][0]["cfa"]["text"] == "DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address"
    assert expressions["instructions"][0]["operands"][0]["expr"] == "3036e902"


def test_json_of_what_is_broken():
    file = file_of((".debug_frame", debug_frame("restore_state", "").data + bytes(4), 0))
    cie, fde, end = [render.listed_json(file.frames.listed(entry), file.frames) for entry in file.frames.entries()]
    assert "error" not in cie
    assert fde["error"]["kind"] == "restore_without_remember"
    assert end == {"kind": "terminator", "section": ".debug_frame", "offset": end["offset"], "end": end["end"]}


def test_a_row_by_itself():
    file = file_of((".debug_frame", debug_frame().data, 0))
    fde = file.frames.fde_at(LOW)
    row = file.frames.row_at(LOW)
    assert row.registers == {16: Offset(-8)}
    assert render.row_text(row, file.frames, entry=fde)[1:] == ["      CFA         rsp+8", "      rip         at CFA-8"]
    assert isinstance(fde.cie, Cie)
