"""``explain``, ``locate``, ``verify``, ``maint print``: what the file says of variables, and what comes of it."""

import json
from pathlib import Path

import pytest

from dwarfgpu import dialects
from dwarfgpu.errors import UsageError
from dwarfgpu.expr.rules import PRESETS, Rules, points
from dwarfgpu.machines.machine import Machine
from dwarfgpu.objfile.info.forms import DIALECTS
from dwarfgpu.program.code.repairs import BY_NAME
from dwarfgpu.questions.settings import READING, SETTINGS
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each
from tests.questions.harness import CALLS, IN_CALLS, KERNEL, STATE, Run

CLASSES = "fixtures/host/classes.gcc.O0.v5.x86_64"


@pytest.fixture
def run():
    found = Run(KERNEL, STATE)
    found("lane 2")
    return found


def test_explain_variables_expressions_and_absent_values(run):
    assert run("explain left") == (
        "left: int, a local variable of X (.debug_info+0x278)\n"
        "  its location list has 1 entry; at 0x7f0000001548 the marked one is valid:\n"
        "  => 0x7f000000152c to 0x7f0000001564: DW_OP_regx v3; DW_OP_LLVM_push_lane;\n"
        "       DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset\n"
        "  in .debug_loclists+0xd9:\n"
        "  0x0000  DW_OP_regx 2563       [] -> [v3]\n"
        "  0x0003  DW_OP_LLVM_push_lane  [v3] -> [v3, 2]\n"
        "  0x0005  DW_OP_lit2            [v3, 2] -> [v3, 2, 2]\n"
        "  0x0006  DW_OP_shl             [v3, 2, 2] -> [v3, 8]\n"
        "  0x0007  DW_OP_LLVM_offset     [v3, 8] -> [v3 bit 64 (v3[2])]\n"
        "left = 4\n"
        "  at v3, its own lane\n"
    )
    assert run("explain left") == run("explain left")  # what was asked before changes nothing
    text = run("explain slots[1] + left * left")
    assert text.count("a local variable of X") == 2
    assert text.endswith("\nslots[1] + left * left = 37\n")
    assert run("explain 1 + 2").splitlines()[-1] == "1 + 2 = 3"
    text = run("explain unused")
    assert "optimized out: the entry gives no location" in text
    assert "unused = <optimized out> it has neither a location nor a constant\n    value" in text
    text = run("explain -lane 0-3 left")
    assert "  lanes 0,2:\n" in text  # each place of lanes by itself
    assert "  lanes 1,3:\n" in text
    assert text.endswith("  at v3, its own lane\n")
    assert all(len(line) <= 80 for line in run("explain -all even").splitlines())


def test_explain_a_register_of_a_caller_and_without_a_machine():
    run = Run(CALLS, IN_CALLS)
    run("frame function middle")
    text = run("explain y")
    assert "none is valid" in text
    assert "<optimized out> it has no location at" in text
    text = run("explain slots")
    assert "wherever it is in scope" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    run = Run(KERNEL)
    assert run("explain left") == (
        "left: int, a local variable of X (.debug_info+0x278)\n"
        "  its location list has 1 entry:\n"
        "     0x152c to 0x1564: DW_OP_regx v3; DW_OP_LLVM_push_lane; DW_OP_lit2;\n"
        "       DW_OP_shl; DW_OP_LLVM_offset\n"
    )
    assert run("explain X::left") == run("explain left")
    assert 'No symbol "zork" in current context.' in str(run.fails("explain zork"))
    assert 'No symbol "Y::left" in current context.' in str(run.fails("explain Y::left"))


def test_a_constant_and_static_are_explained_and_repaired_bases_shown():
    run = Run(CLASSES)
    assert "a variable" in run("explain zoo::animals")
    assert "wherever it is in scope: DW_OP_addr" in run("explain zoo::animals")
    text = " ".join(Run(OPENCL)("info scope saxpy").split())
    assert "frame base repaired (scaled-frame-base): DW_OP_regx s33; DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr" in text
    variables = json.loads(Run(OPENCL)("info scope -json saxpy"))["variables"]
    assert variables[0]["frame_base"] == "DW_OP_regx s33"
    assert variables[0]["frame_base_repaired"] == "DW_OP_regx s33; DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr"


def test_locate(run):
    assert run("locate left") == "left: int\n  lane 2\n    bytes 0-3  v3, its own lane\n"
    assert run("locate -all left") == (
        "left: int\n  lanes 0-19\n    bytes 0-3  v3, its own lane\n"
        "  lanes 20-63: `left` is not in scope at line 10, where the lane is\n"
    )
    assert run("locate $v3[7]") == "$v3[7]: int\n  lane 2\n    bytes 0-3  v3, lane 7\n"
    assert run("locate limit + 1") == "limit + 1: int\n  lane 2\n    bytes 0-3  a constant\n"
    assert run("locate -all slots") == (
        "slots: int [4]\n  lanes 0-2\n    bytes 0-15  private_lane#0x10, its own\n"
        "  lanes 3-63: Cannot access memory at address private_lane#0x10: the machine\n"
        "    state does not have it\n"
    )
    assert "it has neither a location" in run("locate unused")
    assert "DW_OP_regx" in Run(KERNEL)("locate left")


def test_verify_checks_what_is_written(run):
    assert run("verify") == "11 variables, 10 locations: no findings\n"
    assert run("verify left") == "1 variable, 1 location: no findings\n"
    assert Run(CLASSES)("verify") == "1 file, 368 entries: no findings\n"
    assert 'No symbol "zork"' in str(run.fails("verify zork"))
    run = Run("fixtures/llvm24/hip-calls.gfx1100.w32.O2.co")
    found = run("verify -verbose")
    assert "limit:" in found
    verdict = " ".join(" ".join(found.splitlines()[-2:]).split())
    assert verdict.startswith("1 file, 89 entries: no findings, apart from idioms in ")
    assert verdict.endswith(" variables, which do not fail (114 findings not counted)")
    run = Run(HIP)
    text = run("verify rest")
    assert "DW_OP_xderef is deprecated" in text
    assert run.debugger.status == 1
    run("set repair off")
    assert run("verify rest") == text


def test_print_die(run):
    text = run("maint print die left")
    assert text.splitlines()[0] == ".debug_info+0x0  compile unit, version 5, DWARF32, 8-byte addresses"
    assert "0x00000278  DW_TAG_variable" in text.splitlines()
    assert json.loads(run("maint print die --json left"))["units"][0]["entries"][0]["tag"] == "DW_TAG_variable"
    assert run("maint print die 0x278") == text
    assert run("maint print die .debug_info+0x278") == text
    assert run("maint dump left") == text
    assert run("maint print die -depth 1 X") == run("maint print die X -depth 1")
    assert "DW_TAG_formal_parameter" in run("maint print die -depth 1 X")
    assert "DW_TAG_formal_parameter" not in run("maint print die X")
    assert "has no entry that is called zork" in str(run.fails("maint print die zork"))
    assert "-depth takes a number" in str(run.fails("maint print die -depth x left"))
    assert "no entry begins at" in str(run.fails("maint print die 0x279"))


def test_print_expressions_and_call_frame_information(run):
    assert run("maint print dwarf-expr left") == (
        "left: int, a local variable of X (.debug_info+0x278)\n"
        "  0x7f000000152c to 0x7f0000001564:\n"
        "    0x0000  90 83 14                   DW_OP_regx 2563       # v3\n"
        "    0x0003  e9 03                      DW_OP_LLVM_push_lane\n"
        "    0x0005  32                         DW_OP_lit2\n"
        "    0x0006  24                         DW_OP_shl\n"
        "    0x0007  e9 04                      DW_OP_LLVM_offset\n"
    )
    assert "the entry gives no location" in run("maint print dwarf-expr unused")
    assert "0x152c to 0x1564:" in Run(KERNEL)("maint print dwarf-expr left")
    text = run("maint print cfi")
    assert text.startswith(".debug_frame+0x10  FDE 0x1500 to 0x1580  <X>\n    0x1500 to 0x1580\n")
    assert run("maint print cfi $pc") == text
    assert run("maint print cfi 0x7f0000001548") == text
    assert run("maint print cfi X+4") == text
    assert "  rows\n" in run("maint print cfi X")
    assert Run(KERNEL)("maint print cfi 0x1504") == text
    assert "no unwind information" in str(run.fails("maint print cfi 0x10"))
    assert "nothing named 'zork'" in str(run.fails("maint print cfi zork"))
    assert "  rows\n" in Run(KERNEL)("maint print cfi")


def test_address_spaces(run):
    text = run("maint print address-spaces")
    assert text == (
        "Name                   DWARF  Addr Bits  Null Address  Access  Scope\n"
        "global                   0x0         64           0x0  all     process\n"
        "generic                  0x1         64           0x0  all     depends\n"
        "region                   0x2         32    0xffffffff  all     agent\n"
        "local                    0x3         32    0xffffffff  all     workgroup\n"
        "private_lane             0x5         32    0xffffffff  all     lane\n"
        "private_wave             0x6         32    0xffffffff  all     wave\n"
        "private_lane0..63  0x20-0x5f         32    0xffffffff  all     wave\n"
    )
    assert run("info address-spaces") == text
    assert Run(KERNEL)("maint print address-spaces") == text


def test_registers_sections_and_aliases_of_addresses(run):
    lines = run("maint print registers").splitlines()
    assert lines[0].split() == ["Name", "DWARF", "Bits", "Lanes", "In", "callers"]
    assert "v32-v255      2592-2815  2048  64 of 32  same value" in lines
    assert run("maint print registers ^v7$").splitlines()[1].split()[:3] == ["v7", "2567", "2048"]
    assert "no register matches 'zork'" in str(run.fails("maint print registers zork"))
    lines = run("maint info sections").splitlines()
    assert lines[0].endswith("lane-pc.gfx90a.w64.co', file type elf64-amdgcn-gfx90a.")
    assert lines[1].startswith(" [0]      0x00000200->0x000003ac at 0x00000200: .note")
    assert all(len(line) <= 80 for line in lines[1:])
    assert run("maint info sections .text CODE").count("->") == 1
    assert run("maint info sections ALLOC").count("->") == 8
    text = run("maint info address-aliases slots")
    assert text.startswith("private_lane#0x10 of wave 1:1:1:1, lane 2\n")
    assert "  generic#0x2000000000010 " in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert run("maint info address-aliases private_lane#0x10") == text
    assert "local#0x10" in Run(KERNEL)("maint info address-aliases local#0x10")
    assert "x86_64 has one address space" in str(Run(CLASSES).fails("maint info address-aliases 0x10"))
    assert "is not an address" in str(Run(KERNEL).fails("maint info address-aliases zork"))


HIP = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
OPENCL = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co"
REPAIRED = "repaired (vector-register): DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"


@pytest.mark.parametrize("line", ["maint print dwarf-expr rest", "info scope *0x1d2c", "explain rest", "locate rest"])
def test_operations_are_shown_as_written_first_then_as_repaired(line):
    text = Run(HIP)(line)
    assert REPAIRED in " ".join(text.split())
    written = "DW_OP_bregx v4+0" if "v4+0" in text else "DW_OP_bregx 2564 0"
    assert text.index(written) < text.index("DW_OP_regx v4")
    offsets = [int(row.split()[0].rstrip(":"), 0) for row in text.splitlines() if row.strip()[:1].isdigit()]
    rest = [offset for offset in offsets if offset < 0x100]
    assert rest == sorted(set(rest)) or line.startswith("info scope")


def test_written_and_repaired_operations_are_two_fields_of_json():
    for line, key in (("maint print dwarf-expr -json rest", "variables"), ("info scope -json *0x1d2c", "variables")):
        (location,) = next(each for each in json.loads(Run(HIP)(line))[key] if each["name"] == "rest")["locations"]
        assert location["operations"] == "DW_OP_bregx v4+0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef"
        assert location["repaired"].startswith("DW_OP_regx v4; DW_OP_LLVM_push_lane")
        assert location["repairs"] == ["vector-register"]
        assert [(each["offset"], each["bytes"]) for each in location["listing"]] == [
            (0, "92841400"), (4, "31"), (5, "16"), (6, "18")]  # fmt: skip


def test_operations_that_a_repair_made_have_no_offset_in_a_trace(tmp_path):
    path = tmp_path / "state.json"
    waves = [{"id": "0", "pc": "0x1d2c", "exec": "0x3", "registers": {"v4": [1, 2]}}]
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    run = Run(HIP, str(path))
    text = run("explain rest")
    assert "\n          DW_OP_regx 2564 " in text
    assert "0x0000" not in text
    trace = json.loads(run("explain -json rest"))["variables"][0]["trace"]
    assert {step["offset"] for step in trace} == {None}


def test_a_verbose_print_shows_what_the_file_alone_says():
    run = Run(CALLS, IN_CALLS)
    run("frame 4")
    before = run("print lane")
    assert before.startswith("$1 = ")
    run("set verbose on")
    assert run("print lane").startswith(f"$2{before.removeprefix('$1')}  repaired (vector-register); as written: ")
    assert "repaired" not in before


LEGACY = FIXTURES / "asm" / "lane-pc-legacy.gfx90a.w64.co"
CLANG_19 = FIXTURES / "compilers" / "cl.clang19.gfx900.w64.O0.v5.co"
HIP_19 = FIXTURES / "compilers" / "hip.clang19.gfx900.w64.O0.v5.co"


def test_the_choices_are_the_dialects_that_there_are():
    settings = {setting.name: setting for setting in SETTINGS}
    assert settings["dialect"].choices == ("auto", *dialects.NAMES)
    assert settings["attributes"].choices == ("auto", *DIALECTS)
    assert set(READING) <= set(settings)


def test_a_dialect_and_a_numbering_hold_for_the_file_that_is_open():
    run = Run(LEGACY)
    before = run("maint print die even")
    assert "DW_OP_LLVM_push_lane" not in before
    run("set dialect llvm-legacy")
    legacy = run("maint print die even")
    assert "DW_OP_LLVM_push_lane" in legacy
    assert run("info scope lex_1_1_else") != ""
    run(f"file {LEGACY}")
    assert run("maint print die even") == legacy
    run("set dialect auto")
    assert run("maint print die even") == before
    run = Run(CLANG_19)
    auto = run("maint print die -tag pointer_type")
    assert auto.count("(private_lane)") == 1
    assert auto.count("(local)") == 1
    run("set attributes llvm-current")
    assert "(private_lane)" not in run("maint print die -tag pointer_type")
    assert run("maint print die -tag pointer_type").count("(generic)") == 1
    run("set attributes auto")
    assert run("maint print die -tag pointer_type") == auto


def stopped(path: Path, function: str) -> Run:
    """A debugger that looks at a wave in a function, where private memory has the address of each byte."""
    run = Run(path)
    program = run.debugger.opened
    machine = Machine(program.target)
    machine.add_waves(1)
    symbol = program.file.image.symbol_named(function)
    assert symbol is not None
    machine.set_register("pc", symbol.value + 0x40)
    machine.set_register("s33", 0)
    machine.set_register("exec", 1)
    space = program.target.space_named("private_wave")
    assert space is not None
    machine.memory.map(space, 0, bytes(range(256)) * 64)
    run.debugger.use(program, program.attach(machine))
    return run


def test_repairs_hold_for_the_machine_that_is_attached_and_a_hint_names_the_option():
    run = stopped(HIP_19, "_Z3mixcsbh")
    auto = run("locals -location")
    assert "repaired: the compiler misdescribes both (`set verbose on` shows how)" in run("eval both")
    assert "--repair" not in auto
    run("set repair off")
    off = run("locals -location")
    assert "repaired" not in off
    assert "set repair plain-private-variable,scaled-frame-base" in off
    assert "set repair plain-private-variable,scaled-frame-base" in run("eval both")
    assert "set repair plain-private-variable,scaled-frame-base" in str(run.fails("print both").hint)
    run("set repair all")
    assert run("locals -location") == auto
    assert "set repair" not in run("eval -repair plain-private-variable,scaled-frame-base both")


@for_each("line, message",
    ("set dialect klingon", "there is no dialect 'klingon'"),
    ("set attributes klingon", "there is no attribute dialect klingon"),
    ("set repair klingon", "there is no repair 'klingon'"))  # fmt: skip
def test_what_does_not_exist_is_refused_and_changes_nothing(line, message):
    run = Run(HIP_19)
    name = line.split()[1]
    before = run(f"show {name}")
    with pytest.raises(UsageError, match=message):
        run(line)
    assert run(f"show {name}") == before


def test_rules_and_repairs_are_listed_and_told_in_full(run):
    table = run("maint operations -rules").splitlines()
    assert table[0].split() == list(PRESETS)
    assert [line.split()[0] for line in table[1:]] == [name for name in Rules.__annotations__ if name != "name"]
    assert all(point.text for point in points())
    assert run("maint operations -rules wide_deref") == (
        "wide_dereference\n"
        "  dwarf5: ill formed; amd: truncate; dwarf6: ill formed\n"
        "  DW_OP_deref_size of more than the generic type: AMD A.2.5.4.3.4 (3) truncates;\n"
        "  DWARF 5, 2.5.1.3 forbids it.\n"
    )
    listed = [line.split()[0] for line in run("maint operations -repairs").splitlines() if not line.startswith(" ")]
    assert listed == list(BY_NAME)
    assert run("maint operations -repairs vector-register") == (
        "vector-register\n"
        "  the variable is in vector register R, in the element of its lane\n"
        "  written   DW_OP_bregx R B; DW_OP_lit1 or DW_OP_lit5; DW_OP_swap; DW_OP_xderef\n"
        "  in        DW_AT_location\n"
        "  where     R is a vector register; B is 0; the object, or its piece, has at\n"
        "            most 4 bytes\n"
        "  becomes   DW_OP_regx R; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl;\n"
        "            DW_OP_LLVM_offset\n"
        "  known by  what the compiled code does with it; every variable of the fixtures\n"
        "            that has it: it is computed in that register\n"
        "  seen in   clang 13 to 22, LLVM 24\n"
    )
    assert str(run.fails("maint operations -repairs nothing").hint).startswith("these exist: kernel-private-variable")
