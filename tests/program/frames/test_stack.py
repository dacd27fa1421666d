import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from dwarfgpu import dialects
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.cfi.activation import NoInformation
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, MissingContext, UsageError
from dwarfgpu.expr import asm, locations
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.locations import Register, is_undefined
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import FileUnit, Loaded, LoadedCode, base_type_of, byte_size_of, constant_bytes
from dwarfgpu.program.frames import call_sites
from dwarfgpu.program.frames.backtrace import backtraces
from dwarfgpu.program.frames.selectors import waves_of
from dwarfgpu.states.opening import open_stopped
from dwarfgpu.states.stopped import Stopped
from dwarfgpu.targets.resolve import resolve
from tests.builders import dwarf, nested
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.frames import FrameBuilder
from tests.builders.hostile import gpu
from tests.builders.parameters import for_each
from tests.questions.harness import Run

X86_64 = resolve("x86_64")
BIAS = 0x10000
ALIGNED, INDIRECT, PROGRAM, STARTER = 0x401100, 0x40119E, 0x401211, 0x401225
"""In frames.gcc.O2.v5: the entry of `aligned`, and where it, `indirect` and `program` return to."""


def host_stack(bias: int = 0, pc: int = ALIGNED, **registers: int) -> Any:
    """`aligned` at its first instruction, called by `indirect`, called by `program`."""
    words = {0x7000: INDIRECT, 0x7008: 8, 0x7010: PROGRAM, 0x7018: 0x18, 0x7020: STARTER, 0x7028: 0x28}
    memory = [(at, (word + (bias if word > 0x400000 else 0)).to_bytes(8, "little")) for at, word in words.items()]
    known = {"rip": pc + bias, "rsp": 0x7000, "rdi": 3, **registers}
    machine = CoreProcess(X86_64, {"1": {name: value.to_bytes(8, "little") for name, value in known.items()}}, memory)
    file = opened(str(FIXTURES / "host/frames.gcc.O2.v5.x86_64"))
    return Stopped(machine, Loaded([LoadedCode(file, bias)])).stack(0)  # type: ignore[arg-type]


def value(frame: Any, text: str, **changes: Any) -> Any:
    expression = decode(asm.assemble(text, dialects.get("gnu"), Format()), dialects.get("gnu"), Format())
    return result_for(evaluate(expression, evolve(frame.context(frame.lane(None)), result_kind=None, **changes)))


def test_functions_and_places():
    stack = host_stack(BIAS)
    frames = [stack.at(level) for level in range(3)]
    assert [frame.function.name for frame in frames] == ["aligned", "indirect", "program"]
    assert [frame.pc - BIAS for frame in frames] == [ALIGNED, INDIRECT, PROGRAM]
    assert [frame.place - BIAS for frame in frames] == [ALIGNED, INDIRECT - 1, PROGRAM - 1]
    assert frames[0].caller() is frames[1]
    assert frames[0].active_lanes() == 1
    assert frames[0].lane_count is None


def test_the_frame_base_is_that_of_the_frame():
    stack = host_stack()
    for level, cfa in enumerate([0x7008, 0x7018, 0x7028]):
        frame = stack.at(level)
        found = value(frame, "DW_OP_fbreg -8").single  # DW_AT_frame_base is DW_OP_call_frame_cfa
        assert found.bit_offset == (cfa - 8) * 8
        assert value(frame, "DW_OP_call_frame_cfa").single.bit_offset == cfa * 8


def test_registers_of_callers():
    outer = host_stack(rbx=77).at(2)
    assert value(outer, "DW_OP_reg3").single.storage.register.name == "rbx"
    assert value(outer, "DW_OP_breg3 1").single.bit_offset == 78 * 8
    assert is_undefined(value(outer, "DW_OP_reg5"))
    assert value(outer, "DW_OP_breg7 8").single.bit_offset == 0x7018 * 8 + 64
    assert value(outer, "DW_OP_reg16").single.bit_offset == 0x7010 * 8


def test_an_entry_value_is_what_the_call_site_says():
    top = host_stack().top
    for register in ("DW_OP_reg5", "DW_OP_regx 5", "DW_OP_regval_type 5 0x6a"):  # the site has DW_OP_reg5
        assert value(top, f"DW_OP_entry_value ({register})").bits == 3
    # no parameter of the call is in rbx: then the rules of registers say what it was
    stack = host_stack(rbx=77)
    assert value(stack.top, "DW_OP_entry_value (DW_OP_reg3)").bits == 77
    assert raised(DwarfGpuError, value, stack.top, "DW_OP_entry_value (DW_OP_reg4)").kind == "undefined_read"


def test_a_call_site_that_names_another_function_says_nothing():
    # `dynamic` was reached through a jump from `aligned`, which is the function that `indirect` has called
    stack = host_stack(pc=0x4010B0)
    assert stack.top.function.name == "dynamic"
    assert stack.top.call_site is None
    assert "without a value" in str(raised(DwarfGpuError, value, stack.top, "DW_OP_entry_value (DW_OP_reg5)"))


@for_each("target, is_known",
    (b"\x03" + (0x1040).to_bytes(8, "little"), True),  # the address of g
    (b"\x03" + (0x1000).to_bytes(8, "little"), False),  # of f, which may have called g last
    (b"\x70\0", False),  # it was in rax
    (None, False))  # fmt: skip
def test_a_call_through_a_pointer_says_something_if_it_leads_to_the_function(target, is_known):
    """DWARF 5, 3.4.1: DW_AT_call_target is the address of the function that is called."""
    named = () if target is None else (("call_target", "exprloc", target),)
    passed = dwarf.die("call_site_parameter", ("location", "exprloc", b"\x55"), ("call_value", "exprloc", b"\x33"))
    call = dwarf.die("call_site", ("call_return_pc", "addr", 0x1008), *named, passed)
    functions = [
        dwarf.die("subprogram", ("name", "string", name), ("low_pc", "addr", low), ("high_pc", "data4", 32), *calls)
        for name, low, calls in (("f", 0x1000, [call]), ("g", 0x1040, []))
    ]
    elf, frames = ElfBuilder(machine=62, osabi=0), FrameBuilder()
    frames.fde(frames.cie("def_cfa 7 8; offset 16 1", data=-8), 0x1000, 128)
    elf.segment(1, 0x1000, elf.section(".text", bytes(128), flags=0x6, address=0x1000), flags=5)
    unit = dwarf.die("compile_unit", ("low_pc", "addr", 0x1000), ("high_pc", "data4", 128), *functions)
    sections = dwarf.build(dwarf.unit(unit)).sections
    for name, data in {**sections, ".debug_frame": frames.data}.items():
        elf.section(name, data)
    registers = {"rip": (0x1040).to_bytes(8, "little"), "rsp": (0x7000).to_bytes(8, "little")}
    machine = CoreProcess(X86_64, {"1": registers}, [(0x7000, (0x1008).to_bytes(8, "little"))])
    top = Stopped(machine, Loaded([LoadedCode(opened(elf.build()))])).stack(0).top  # type: ignore[arg-type]
    assert (top.function.name, top.caller().function.name) == ("g", "f")
    if is_known:
        assert value(top, "DW_OP_entry_value (DW_OP_reg5)").bits == 3
    else:
        assert raised(DwarfGpuError, value, top, "DW_OP_entry_value (DW_OP_reg5)").kind == "undefined_read"


@for_each("called, callee, may_be",
    ({}, {}, True), ({}, {"linkage_name": "hidden_f"}, True), ({"linkage_name": "f1"}, {"linkage_name": "f2"}, False),
     ({}, {"name": "g"}, False))  # fmt: skip
def test_a_declaration_may_lack_the_name_for_the_linker(called, callee, may_be):
    names = ({"name": "f", **each} for each in (called, callee))
    functions = [
        dwarf.die("subprogram", *((key, "string", text) for key, text in each.items()), label=label)
        for each, label in zip(names, ("called", "callee"), strict=True)
    ]
    site = dwarf.die("call_site", ("call_origin", "ref4", "called"))
    entries = [*opened(gpu(site, types=functions)).dwarf.units[0].dies()]
    (site,) = (entry for entry in entries if entry.tag == dw.DW_TAG_call_site)
    _called, callee = (entry for entry in entries if entry.tag == dw.DW_TAG_subprogram and entry.name != "k")
    assert call_sites.is_call_of(site, callee) is may_be


def test_what_a_formal_parameter_was():
    stack = host_stack(BIAS)
    indirect = stack.at(1)
    assert value(indirect, "DW_OP_GNU_parameter_ref 0x573").bits == 3
    function = value(indirect, "DW_OP_GNU_parameter_ref 0xf5")
    assert function.bits == ALIGNED + BIAS  # DW_OP_addr, where the code is loaded
    with pytest.raises(MissingContext, match="the call site does not say"):
        value(stack.top, "DW_OP_GNU_parameter_ref 0x573")
    with pytest.raises(MissingContext, match="no call site"):
        value(host_stack(pc=0x4010B0).top, "DW_OP_GNU_parameter_ref 0x573")


def test_what_a_frame_does_not_know():
    stack = host_stack()
    assert "there is no calling frame" in str(raised(MissingContext, [*stack][-1].caller))
    assert "thread-local" in str(raised(MissingContext, value, stack.top, "DW_OP_lit0; DW_OP_form_tls_address"))
    unknown = host_stack(pc=0x401000)  # _start is written in assembly
    assert unknown.top.function is None
    with pytest.raises(MissingContext, match="the function is not known"):
        unknown.top.frame_base(unknown.top.activation.thread.lanes)
    with pytest.raises(MissingContext, match="has no program counter"):
        Stopped(CoreProcess(X86_64, {"5": {}}), Loaded([])).stack(0)  # type: ignore[arg-type]


def test_a_register_as_frame_base_is_the_address_in_it():
    # DW_AT_frame_base is DW_OP_reg6: in a caller rbp is in memory, and its contents count
    file = opened(str(FIXTURES / "host/frames.clang.O0.v5.x86_64"))
    code = LoadedCode(file)
    symbol = file.image.symbol_named("recursion")
    assert symbol is not None
    row = next(
        pc for pc in range(symbol.value, symbol.value + symbol.size) if code.information_at(pc).row.cfa.register == 6
    )
    memory = [(0x7000, (0x7100).to_bytes(8, "little") + (row + 1).to_bytes(8, "little")), (0x7100, bytes(16))]
    registers = {"rip": row, "rbp": 0x7000, "rsp": 0x6F00}
    machine = CoreProcess(
        X86_64, {"1": {name: number.to_bytes(8, "little") for name, number in registers.items()}}, memory
    )
    stack = Stopped(machine, Loaded([code])).stack(0)  # type: ignore[arg-type]
    assert value(stack.at(0), "DW_OP_fbreg -8").single.bit_offset == 0x6FF8 * 8
    assert value(stack.at(1), "DW_OP_fbreg -8").single.bit_offset == 0x70F8 * 8


def test_which_code_an_address_belongs_to():
    first = LoadedCode(opened(str(FIXTURES / "host/frames.gcc.O2.v5.x86_64")))
    second = LoadedCode(opened(str(FIXTURES / "llvm24/hip-calls.gfx90a.w64.O2.co")), 0x7F0000000000)
    loaded = Loaded([first, second])
    assert loaded.at(PROGRAM) is first
    assert loaded.at(0x7F0000001A00) is second
    assert loaded.at(0x1A00) is None
    assert loaded.at(0) is None
    assert second.in_file(0x7F0000001A00) == 0x1A00
    assert second.in_program(0x1A00) == 0x7F0000001A00
    assert second.in_program(0) == 0  # in no section: not an address of the file
    assert second.in_program(0x10000000) == 0x10000000
    for _ in range(2):  # found, and remembered
        assert "is not in any loaded code" in str(raised(DwarfGpuError, loaded.information_at, 0))
    assert loaded.information_at(0x7F0000001A00) is loaded.information_at(0x7F0000001A00)
    assert loaded.information_at(0x7F0000001A44).start == 0x7F0000001A40


def test_a_file_that_is_not_linked_cannot_be_loaded():
    assert "not linked" in str(raised(UsageError, LoadedCode, opened(str(FIXTURES / "asm/cfi.gfx90a.w64.o"))))


def test_entries_that_say_nothing_are_no_information():
    code = LoadedCode(opened(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co")))
    assert next(iter(code.file.frames.entries()), None) is not None
    address = next(entry.low for entry in code.file.frames.entries() if getattr(entry, "high", 0))
    assert raised(DwarfGpuError, code.information_at, address).kind == "no_unwind_information"


def test_an_entry_that_is_broken_hides_none_of_the_other_section():
    def file(debug_frame: str, eh_frame: str) -> Any:
        elf = ElfBuilder(machine=62, osabi=0)
        text = elf.section(".text", bytes(32), flags=0x6, address=0x1000)
        for name, code in ((".debug_frame", debug_frame), (".eh_frame", eh_frame)):
            builder = FrameBuilder(name[1:])
            builder.fde(builder.cie(), 0x1000, 32, code)
            elf.section(name, builder.data, flags=0x2 if name == ".eh_frame" else 0, address=0x2000)
        elf.segment(1, 0x1000, text, flags=5)
        return LoadedCode(opened(elf.build()))

    assert file("restore_state", "def_cfa 7 8").information_at(0x1000).row.cfa.offset == 8
    assert file("nop", "def_cfa 7 8").information_at(0x1000).row.cfa.offset == 8
    assert file("def_cfa 7 16", "def_cfa 7 8").information_at(0x1000).row.cfa.offset == 16
    assert "no state is remembered" in str(raised(IllFormed, file("restore_state", "nop").information_at, 0x1000))


def unit_of(name: str, bias: int = 0, pc: int | None = None) -> FileUnit:
    code = LoadedCode(opened(str(FIXTURES / name)), bias)
    return FileUnit(code.file.dwarf.units[0], code, pc)


def test_base_types():
    unit = unit_of("asm/types.gfx90a.w64.co")
    found = {}
    for die, _ in unit.unit.root.walk():
        if die.tag == 0x24:
            try:
                found[die.name] = str(base_type_of(die))
            except IllFormed as error:
                found[die.name] = error.message
    assert (found["integer"], found["half"], found["__bf16"]) == ("signed32", "float16", "bfloat16")
    die = next(die for die, _ in unit.unit.root.walk() if die.name == "integer")
    assert unit.base_type(die.offset) is unit.base_type(die.offset)
    assert "no DW_TAG_base_type" in str(raised(IllFormed, unit.base_type, unit.unit.first))
    assert "no debugging information entry begins at offset 0x44" in str(raised(IllFormed, unit.base_type, 0x44))


def test_addresses_are_those_of_the_running_program():
    unit = unit_of("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", 0x7F0000000000)
    plain = unit_of("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co")
    pairs = [(plain.address(i), unit.address(i)) for i in range(len(plain.unit.tables.addresses))]
    assert {there - here for here, there in pairs} == {0x7F0000000000}
    assert unit.relocated(0x10) == 0x10
    assert unit.reference_size == 4
    assert raised(DwarfGpuError, unit.address, 10_000).kind == "index_out_of_range"


def test_entries_for_expressions():
    pc = 0x4010B0
    unit = unit_of("host/frames.gcc.O2.v5.x86_64", pc=pc)
    count = unit.die(DieReference("unit", 0x23C))
    assert isinstance(count.location, tuple)
    assert [[each.name for each in found.instructions] for found in count.location] == [["DW_OP_reg5"]]
    later = FileUnit(unit.unit, unit.code, 0x4010F3).die(DieReference("info", 0x23C))
    assert [found.instructions[0].name for found in later.location] == ["DW_OP_entry_value"]  # type: ignore[union-attr]
    assert FileUnit(unit.unit, unit.code, 0x401000).die(DieReference("unit", 0x23C)).location == ()
    assert raised(MissingContext, FileUnit(unit.unit, unit.code, None).die, DieReference("unit", 0x23C)).kind == "pc"
    constant = unit.die(DieReference("unit", 0x518))
    assert (constant.location, constant.const_value) == (None, (8).to_bytes(8, "little"))
    raised(IllFormed, unit.die, DieReference("unit", 0x23D))
    assert unit == FileUnit(unit.unit, unit.code, pc)
    assert len({unit, FileUnit(unit.unit, unit.code, pc), FileUnit(unit.unit, unit.code, None)}) == 2


def test_constants_have_the_size_of_their_type():
    die = unit_of("host/frames.gcc.O2.v5.x86_64").unit.die_at(0x512)
    assert byte_size_of(die) == 8
    assert constant_bytes(die.find("DW_AT_const_value")) == (21).to_bytes(8, "little")  # type: ignore[arg-type]


@pytest.mark.parametrize("bias", [0, 0x7F0000000000])
def test_twelve_frames_that_save_vector_registers_for_lanes_of_their_own(tmp_path, bias):
    path = tmp_path / "nested.co"
    path.write_bytes(nested.code_object(20))
    machine, truth = nested.nested(12, 20, bias=bias)
    stack = Stopped(machine, Loaded([LoadedCode(opened(str(path)), bias)])).stack(0)
    frames = [*stack]
    assert [frame.pc for frame in frames] == [each.pc for each in truth]
    assert stack.end.kind == "outermost"
    for frame, expected in zip(frames, truth, strict=True):
        thread = frame.activation.thread
        for name in ("s32", "s33", "s50", "v0", "v40", "v59", "v60", "a7"):
            register: Any = machine.target.register_named(name)
            found = thread.accessor.read(frame.register(register.number, thread.lanes), register.bit_size)
            rows = {"s": expected.scalar, "v": expected.vector, "a": expected.accumulation}[name[0]]
            assert found.bits == int.from_bytes(rows[int(name[1:])].tobytes(), "little"), (frame.level, name)


def test_a_lane_has_the_frames_that_it_was_active_in(tmp_path):
    path = tmp_path / "nested.co"
    path.write_bytes(nested.code_object(1))
    masks = [0xFFFF, 0xFF, 0xF0, 0x10]  # from the kernel on
    machine, _ = nested.nested(4, 1, masks=masks)
    machine.code_objects.clear()
    state = tmp_path / "state.json"
    from dwarfgpu.machines import snapshot

    snapshot.save(nested.with_code(machine, str(path)), state)
    stopped = open_stopped(opened(str(path)), str(state))
    assert [frame.active_lanes() for frame in stopped.stack(0)] == [0x10, 0xF0, 0xFF, 0xFF]
    for lane, numbers in ((4, [0, 1, 2, 3]), (5, [1, 2, 3]), (0, [2, 3]), (9, [])):
        (found,) = backtraces(stopped, [0], lane=lane)
        assert [frame.number for frame in found.frames] == numbers
        assert found.skipped == 4 - len(numbers)
    with pytest.raises(UsageError, match="64 lanes, no lane 64"):
        next(backtraces(stopped, [0], lane=64))


def test_a_location_of_a_frame_is_made_once():
    machine, _ = nested.nested(4, 2)
    stack = Stopped(machine, Loaded([LoadedCode(opened(nested.code_object(2)))])).stack(0)
    frame = stack.at(3)
    assert frame is not None
    lanes = frame.context(frame.lane(None)).lanes
    number = nested.VGPR + nested.FIRST
    assert frame.register(number, lanes) is frame.register(number, lanes)
    top = stack.top.register(number, lanes)
    assert top == locations.at(Register(machine.target.register(number)))  # type: ignore[arg-type]


def saved(folder: Path, code: list[dict[str, Any]], **wave: Any) -> str:
    document = {
        "schema": 1,               "target": "amdgcn-amd-amdhsa--gfx90a",                "code_objects": code,
        "waves": [{"id": "one", "pc": "0x7f0000001a00", "exec": 1, "registers": {"s32": 0}, **wave}]}  # fmt: skip
    path = folder / "state.json"
    path.write_text(json.dumps(document))
    return str(path)


CALLS = FIXTURES / "llvm24/hip-calls.gfx90a.w64.O2.co"


def test_the_file_is_one_of_the_code_objects(tmp_path):
    other = FIXTURES / "llvm24/triton.gfx942.w64.co"
    state = saved(
        tmp_path,
        [
            {"path": str(other), "load_address": "0x7e0000000000"},
            {"path": str(CALLS), "load_address": "0x7f0000000000"},
            {"path": "gone.co", "load_address": 0},
        ],
    )
    stopped = open_stopped(opened(str(CALLS)), state)
    expected = [(str(CALLS), 0x7F0000000000), (str(other), 0x7E0000000000)]
    assert [(code.file.name, code.bias) for code in stopped.loaded.codes] == expected
    assert [error.kind for error in stopped.found] == ["unreadable"]
    assert stopped.stack(0).top.function.name == "leaf"
    caught = raised(UsageError, open_stopped, opened(str(FIXTURES / "llvm24/hip-calls.gfx90a.w64.O0.co")), state)
    assert "is not among the 3 code objects" in str(caught)
    assert "triton" in (caught.hint or "")


def test_a_code_object_is_known_by_its_contents(tmp_path):
    from hashlib import sha256

    copy = tmp_path / "copy.co"
    copy.write_bytes(CALLS.read_bytes())
    digest = sha256(CALLS.read_bytes()).hexdigest()
    state = saved(
        tmp_path,
        [{"path": "a.co", "load_address": 0}, {"path": str(CALLS), "load_address": "0x7f0000000000", "sha256": digest}],
    )
    assert open_stopped(opened(str(copy)), state).loaded.codes[0].bias == 0x7F0000000000


def test_a_snapshot_without_code_objects_has_the_file_where_it_says(tmp_path):
    state = saved(tmp_path, [], pc="0x1a00")
    stopped = open_stopped(opened(str(CALLS)), state)
    assert stopped.stack(0).top.function.name == "leaf"
    end = stopped.stack(0).end
    assert (end.kind, end.is_failure) == ("error", True)  # s30 is not in the snapshot
    assert "the contents of register s30 are not available" in end.message


def test_a_state_without_waves_is_none(tmp_path):
    path = tmp_path / "described.json"
    path.write_text('{"registers": {"s0": 1}}')
    error = raised(MalformedFile, open_stopped, opened(str(CALLS)), str(path))
    assert "is not a snapshot: the key 'schema' is missing" in str(error)


def test_waves_by_name(tmp_path):
    stopped = open_stopped(opened(str(CALLS)), saved(tmp_path, []))
    assert (
        waves_of(stopped.machine, None)
        == waves_of(stopped.machine, "all")
        == waves_of(stopped.machine, "one")
        == waves_of(stopped.machine, "1")
    )
    for name in ("two", "2", "999999999", "0"):
        with pytest.raises(UsageError, match=r"Unknown wave|No waves match"):
            waves_of(stopped.machine, name)


def test_a_wave_without_a_program_counter_has_no_frames(tmp_path):
    state = saved(tmp_path, [])
    document = json.loads(Path(state).read_text())
    del document["waves"][0]["pc"]
    Path(state).write_text(json.dumps(document))
    (found,) = backtraces(open_stopped(opened(str(CALLS)), state), [0])
    assert found.waves == ("one",)
    assert found.frames == ()
    assert found.error is not None
    assert "has no program counter" in found.error.message


@for_each("address, expected",
    (0x3010, ("no_unwind_information", "the callers are not known: ")),  # weigh(), which kernels call
    (0x3D10, ("outermost", "saxpy is a kernel: no function has called it")))  # fmt: skip
def test_code_with_an_empty_entry_of_call_frame_information(address, expected):
    code = LoadedCode(opened("fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co"))
    caught = raised(NoInformation, code.information_at, address)
    assert caught.kind == expected[0]
    assert caught.message.startswith(expected[1])


# --- Frames of functions whose last act was a call: those that GDB shows, and those of a newer attribute ----------


SOURCE = Path(__file__).parents[1] / "corpus" / "tail_calls.c"
FRAMES = ["last begin", "last one", "last", "last", "last one unknown", "last loop_b loop_a", "last"]
"""The functions inside of main for one argument, two, ...: those that every possible way has at its ends.

The second function of the first case may be two; the third can have called itself; the fourth calls through a pointer.
"""


@pytest.fixture(scope="module", params=["gcc", "clang-22"])
def stopped(request, tmp_path_factory, require_tool) -> tuple[str, Path, list[str]]:
    """The compiler, the program and GDB's backtraces; a core file for each of them is beside it."""
    folder = tmp_path_factory.mktemp(request.param)
    command = [require_tool(request.param), "-g", "-gdwarf-5", "-O2", "-no-pie", "-o", str(folder / "a"), str(SOURCE)]
    subprocess.run(command, check=True)
    words = [require_tool("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0"]
    for count in range(len(FRAMES)):
        run = ("run" + " x" * count, "echo @@", "bt", "echo @@", f"generate-core-file {folder / f'core{count}'}")
        words += [word for line in run for word in ("-ex", line)]
    done = subprocess.run([*words, str(folder / "a")], check=True, capture_output=True, text=True)
    return request.param, folder, done.stdout.split("@@")[1::2]


def frames_of(text: str) -> list[tuple[int, str]]:
    """The address and the function of each frame, from the innermost one to main."""
    found = re.findall(r"(?m)^#\d+ +(?:0x(\w+) in )?(\w+) \(", text.partition(" main (")[0])
    return [(int(address or "0", 16), name) for address, name in found]


@pytest.mark.slow
def test_frames_of_tail_calls(stopped):
    compiler, folder, theirs = stopped
    for count, expected in enumerate(FRAMES):
        ours = frames_of(Run(folder / "a", folder / f"core{count}", width=1000)("bt"))
        if compiler == "gcc" or count in (1, 4):  # clang makes conditional jumps and loops of the others
            assert " ".join(name for _address, name in ours) == expected
        if compiler == "gcc":  # clang writes DW_AT_call_pc, of which GDB 13 makes nothing
            assert ours == frames_of(theirs[count])


@pytest.mark.slow
@pytest.mark.parametrize("stopped", ["gcc"], indirect=True)
def test_what_is_known_of_such_a_frame(stopped):
    """Parameters come through the calls, registers are those of the caller, and JSON says what the frame is."""
    _compiler, folder, _theirs = stopped
    run = Run(folder / "a", folder / "core4", width=1000)
    assert [run(f"frame {number}").split("(")[1].split(")")[0] for number in range(3)] == ["x=6", "x=5", "x=5"]
    text = run("frame 1", "info frame")
    assert " tail call frame, caller of frame at " in text
    address = re.search(r"(?m)^#3 +0x(\w+) in main ", run("bt"))
    assert address is not None
    assert f"saved rip = 0x{address[1]}" in text
    registers = [run(f"frame {number}", "info registers rsp rbx r12").partition("rbx")[2] for number in (1, 3)]
    assert registers[0] == registers[1]
    frames = json.loads(run("bt --json"))["stacks"][0]["frames"]
    assert [frame.get("tail_call", False) for frame in frames[:4]] == [False, True, True, False]
