"""What clang 13 to 19 write: targets of old code objects, address classes, and values as they come."""

import shutil
import subprocess

import pytest

import dwarfgpu
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.file_summary import summary
from dwarfgpu.program.types.model import Pointer, stripped
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each

COMPILERS = FIXTURES / "compilers"


@for_each("name, target_id",
    ("cl.clang13.gfx900.w64.O2.v5.hsa2.co", "gfx900:xnack+"), ("cl.clang16.gfx900.w64.O2.v5.hsa2.co", "gfx900:xnack+"),
    ("cl.clang13.gfx906.w64.O2.v5.hsa2.co", "gfx906:xnack+"), ("cl.clang16.gfx803.w64.O0.v5.hsa2.co", "gfx803"),
    ("cl.clang13.gfx900.w64.O2.v5.hsa3.co", "gfx900:xnack+"))  # fmt: skip
def test_the_target_of_old_code_objects_is_known(name, target_id):
    found = opened(str(COMPILERS / name)).target
    assert found.is_known
    assert found.target_id == target_id


@for_each("name, target_id",
    ("cl.clang13.gfx900.w64.O2.v5.hsa2.co", "gfx900:xnack+"),
    ("cl.clang16.gfx906.w64.O2.v5.hsa2.co", "gfx906:sramecc+:xnack+"),
    ("cl.clang16.gfx803.w64.O0.v5.hsa2.co", "gfx803"))  # fmt: skip
def test_without_a_note_the_machine_number_of_the_flags_tells_the_target(name, target_id):
    found = opened((COMPILERS / name).read_bytes().replace(b"AMD\0", b"XYZ\0")).target
    assert found.is_known
    assert found.target_id == target_id


@pytest.mark.parametrize("bad", [b"amdgcn-amd-amdhsa--gfx9zz", b"amdgcn-xyz-amdhsa--gfx901"])
def test_a_note_that_names_no_target_does_not_hide_another(bad):
    data = (COMPILERS / "cl.clang13.gfx900.w64.O2.v5.hsa2.co").read_bytes()
    assert b"amdgcn-amd-amdhsa--gfx901" in data
    found = opened(data.replace(b"amdgcn-amd-amdhsa--gfx901", bad)).target
    assert (found.target_id, found.reason) == ("gfx900:xnack+", "a note says so")


def test_the_stepping_in_the_note_says_that_xnack_is_on():
    """CLRX writes no flags, and gfx901, which is gfx900 with xnack."""
    data = bytearray((COMPILERS / "cl.clang13.gfx900.w64.O2.v5.hsa2.co").read_bytes())
    data[0x30:0x34] = bytes(4)
    found = summary(opened(bytes(data)))
    assert (found.target.target_id, found.flags.xnack) == ("gfx900:xnack+", "on")


def spaces_of(program):
    """The address spaces that the pointers of all variables lead into, by variable."""
    spaces = {}
    for unit in program.file.dwarf.units:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            waiting += die.children()
            if die.tag in (0x05, 0x34, 0x0D) and die.name:
                kind = stripped(program.state.types.type_of(die))
                if isinstance(kind, Pointer):
                    spaces[die.name] = kind.address_space
    return spaces


@pytest.mark.parametrize("path", sorted(COMPILERS.glob("cl.*")), ids=lambda path: path.name)
def test_clang_before_22_calls_private_memory_1_and_local_memory_2(path):
    spaces = spaces_of(dwarfgpu.open(str(path)))
    assert spaces["where"] == spaces["own"] == 5
    assert spaces["scratch"] == spaces["shared"] == 3
    assert spaces["out"] is None


@pytest.mark.parametrize("path", sorted(COMPILERS.glob("hip.*")), ids=lambda path: path.name)
def test_pointers_of_hip_are_generic_although_clang_before_22_does_not_say_so(path):
    spaces = spaces_of(dwarfgpu.open(str(path)))
    assert spaces
    assert set(spaces.values()) == {1}


@for_each("attributes, where, scratch, out",
    ("llvm-21", 5, 3, None),                                 ("llvm-current", 1, 2, None),
    ("llvm-old", 1, 2, None),                                ("amdgpu-2020", 0, 2, 1))  # fmt: skip
def test_address_classes_as_they_are_chosen(attributes, where, scratch, out):
    spaces = spaces_of(dwarfgpu.open(str(COMPILERS / "cl.clang19.gfx900.w64.O0.v5.co"), attributes=attributes))
    assert (spaces["where"], spaces["scratch"], spaces["out"]) == (where, scratch, out)


def wave_of(program, pc, frame=0x40):
    """A wave in which register vN of a lane is 1000 N + lane, and a dword of private memory its own address + lane."""
    machine = Machine(program.target)
    lanes = program.target.lane_count
    machine.add_waves(1)
    for number in range(64):
        machine.set_register(f"v{number}", [[1000 * number + lane for lane in range(lanes)]])
    machine.set_register("s33", frame * lanes if program.target.stack_scale == 1 else frame)
    machine.set_register("s32", 0x400 * lanes)
    machine.set_register("exec", (1 << lanes) - 1)
    machine.set_register("pc", pc)
    words = [address + lane for address in range(0, 0x200, 4) for lane in range(lanes)]
    memory = b"".join(word.to_bytes(4, "little") for word in words)
    machine.memory.map(program.target.space_named("private_wave"), 0, memory)
    return program.attach(machine)[0].frame()


def function(program, name):
    return program.file.image.symbol_named(name).value


@pytest.mark.parametrize("version", [13, 14, 16, 19])
def test_variables_in_private_memory_are_read_at_the_address_of_the_lane(version):
    program = dwarfgpu.open(str(COMPILERS / f"hip.clang{version}.gfx900.w64.O0.v5.co"))
    variable = wave_of(program, function(program, "_Z3mixcsbh") + 0x1F0)["both"]
    (location,) = variable.locations()
    offset = int(location.operations.split()[1])
    assert location.operations == f"DW_OP_fbreg {offset}"
    assert [repair.name for repair in variable.repairs] == ["plain-private-variable", "scaled-frame-base"]
    assert list(variable.values([0, 3, 63]).array) == [0x40 + offset + lane for lane in (0, 3, 63)]


@pytest.mark.parametrize("version", [13, 14, 16, 19])
@pytest.mark.sampled(6)
def test_conversions_in_a_value_are_followed(version):
    """`byte` is the low byte of `id`, which is in a register beside it."""
    program = dwarfgpu.open(str(COMPILERS / f"cl.clang{version}.gfx900.w64.O2.v5.co"))
    compared = 0
    for pc in range(function(program, "narrow"), function(program, "narrow") + 0x200, 4):
        frame = wave_of(program, pc)
        if frame.function is None or frame.function.name != "narrow":
            break
        for name, mask in (("byte", 0xFF), ("small", 0xFF)):
            variable = frame[name]
            if not variable.is_here() or not frame["id"].is_here():
                continue
            (text,) = [entry for entry in variable.locations() if entry.range and entry.range[0] <= pc < entry.range[1]]
            values, wanted = variable.values([0, 5, 63]), frame["id"].values([0, 5, 63])
            if "DW_OP_convert" in text.operations:
                assert [int(value) & mask for value in values.array] == [int(value) & mask for value in wanted.array]
                compared += 1
    assert compared


SALVAGED = FIXTURES / "host" / "salvaged.clang.O2.v5.x86_64"


def test_a_host_program_that_mixes_types_has_the_value_that_gdb_shows(require_tool, tmp_path):
    """``idx``: DW_OP_convert to a type of 64 bits, DW_OP_lit8, DW_OP_mul."""
    gdb = require_tool("gdb")
    program = tmp_path / SALVAGED.name
    shutil.copy(SALVAGED, program)
    program.chmod(0o755)
    command = [gdb, "-q", "-nx", "-batch", "-ex", "break work", "-ex", "run", "-ex", "print idx", "-ex", "print half"]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False)
    shown = [line.partition(" = ")[2] for line in done.stdout.splitlines() if line.startswith("$")]
    assert shown == ["11", "5"]
    values = {name: value_in_work(name, "auto") for name in ("idx", "half")}
    assert [str(values["idx"]), str(values["half"])] == shown


def test_the_text_alone_has_no_value_for_operands_of_two_types():
    opened = dwarfgpu.open(str(SALVAGED))
    (location,) = next(
        variable for variable in opened.at(function(opened, "work"))[0].variables() if variable.name == "idx"
    ).locations()
    assert [repair.name for repair in location.repairs] == ["mixed-operands"]
    assert location.repaired.count("DW_OP_convert") == location.operations.count("DW_OP_convert") + 1
    with pytest.raises(DwarfGpuError, match="both operands must have the same type"):
        value_in_work("idx", "off")
    assert value_in_work("half", "off") == 5


def value_in_work(name, repair):
    """Read a variable of ``work(1)``."""
    program = dwarfgpu.open(str(SALVAGED), repair=repair)
    machine = Machine(program.target)
    machine.add_waves(1)
    machine.set_register("rip", function(program, "work"))
    machine.set_register("rdi", 1)
    return program.attach(machine)[0].frame()[name].value()
