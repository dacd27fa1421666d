import subprocess

import pytest
from attrs import evolve

import dwarfgpu as dg
from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Context, DieReference, LoneFrame
from dwarfgpu.expr.locations import UNDEFINED, ImplicitPointer, Location, Memory, Part, Register, SingleLocation
from dwarfgpu.expr.rules import AMD, DWARF5, DWARF6
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend, memory_unavailable
from dwarfgpu.program.code.loaded import FileUnit
from dwarfgpu.program.types.model import Base, Body, Lazy, Member, Pointer, Struct
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Address, ObjectSurroundings, variable_place
from dwarfgpu.render.values import value_text
from dwarfgpu.targets.resolve import resolve
from tests.builders.declared import DATA, at_data, named, program, typed
from tests.builders.dwarf import die, dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.parameters import for_each
from tests.builders.programs import Unloaded

INT, FLOAT = Base("int", 5, 4), Base("float", 4, 4)
TARGET = resolve("gfx90a")


class Machine(Backend):
    """Memory whose bytes are their addresses, and vector registers of which lane n holds n times a hundred."""

    def read_memory(self, space, address, size, wave, lane):
        if address >= 0x10000:
            raise memory_unavailable(space, address, size)
        return bytes((address + index) & 0xFF for index in range(size))

    def read_register(self, register, wave, lane):
        return b"".join((100 * index).to_bytes(4, "little") for index in range(register.bit_size // 32))


def around(lanes, pc=None):
    context = Context(target=TARGET, rules=AMD, backend=Machine(), lanes=lanes, pc=pc)
    return ObjectSurroundings(context, Unloaded("llvm-user"))


def lanes_of(count):
    return LaneSet.of(list(range(count)))


def in_lanes(count):
    """v0 of each lane."""
    register = Register(TARGET.register_named("v0"))
    return Location((SingleLocation(register, b.array([32 * lane for lane in range(count)], 64)),))


def test_a_scalar_of_all_lanes_is_read_at_once():
    value = Object(INT, around(lanes_of(4)).located(in_lanes(4)))
    assert value.number().tolist() == [0, 100, 200, 300]
    assert value.pattern().bits.dtype == "uint64"


def test_pointers_of_all_lanes_are_followed_at_once():
    value = Object(Pointer("*", Lazy.known(Base("unsigned char", 8, 1)), 4), around(lanes_of(4)).located(in_lanes(4)))
    assert value.dereferenced().number().tolist() == [0, 100, 200, 300 & 0xFF]
    assert value.element(3).number().tolist() == [3, 103, 203, 303 & 0xFF]


def test_members_in_a_composite_with_a_missing_part():
    place = locations.at(locations.extended(locations.EMPTY, (Part(in_lanes(1), 32), Part(UNDEFINED, 32))))
    pair = Struct(
        "struct",
        "P",
        8,
        Lazy.known(Body((), (Member("x", Lazy.known(INT), 0), Member("y", Lazy.known(INT), 32)), order=(0, 1))),
    )
    value = Object(pair, around(LaneSet.one(0)).located(place))
    assert value_text(value) == "{x = 0, y = <optimized out>}"
    assert value.member("x").address is None


def test_an_implicit_pointer_leads_to_its_object():
    pointer = Pointer("*", Lazy.known(INT), 8)
    found = dwarf(
        unit(die("compile_unit", die("variable", ("location", "exprloc", b"\x9e\x04\x2a\0\0\0"), label="target")))
    )
    target = next(each for each in found.units[0].dies() if each.tag == 0x34)
    unit_context = FileUnit(found.units[0], Unloaded("llvm-user"), None)
    storage = ImplicitPointer(DieReference("unit", target.offset), 0, TARGET.default_space, unit_context, 64)
    value = Object(pointer, around(LaneSet.one(0)).located(locations.at(storage)))
    assert value_text(value) == "<synthetic pointer>"
    assert value.dereferenced().number() == 42


BIG_ENDIAN = resolve("generic", byte_order="big")


class BigEndianMachine(Backend):
    """A machine whose registers hold 0x1122334455667788."""

    def read_register(self, register, wave, lane):
        return bytes.fromhex("1122334455667788")


def big_endian(rules):
    context = Context(target=BIG_ENDIAN, rules=rules, backend=BigEndianMachine(), lanes=LaneSet(1))
    return ObjectSurroundings(context, Unloaded("gnu"))


IN_REGISTER = locations.at(Register(BIG_ENDIAN.register(5)))


@for_each("rules, numbers", (DWARF5, (0x5566, 0x7788)), (DWARF6, (0x5566, 0x7788)), (AMD, (0x1122, 0x3344)))
def test_an_object_that_is_smaller_than_its_register_is_where_the_rules_say(rules, numbers):
    """`Rules.object_of_value_bits`: its members move with it."""
    half = Base("short", 5, 2)
    members = (Member("x", Lazy.known(half), 0), Member("y", Lazy.known(half), 16))
    pair = Struct("struct", "P", 4, Lazy.known(Body((), members, order=(0, 1))))
    value = Object(pair, big_endian(rules).located(IN_REGISTER).of_object(4))
    assert (value.member("x").number(), value.member("y").number()) == numbers


@pytest.mark.parametrize("rules, number", [(DWARF5, 0x55667788), (DWARF6, 0x55667788), (AMD, 0x11223344)])
def test_an_implicit_pointer_leads_to_the_part_of_a_register_that_the_object_has(rules, number):
    found = dwarf(unit(die("compile_unit", die("variable", ("location", "exprloc", b"\x55"), label="target"))))
    target = next(each for each in found.units[0].dies() if each.tag == 0x34)
    unit_context = FileUnit(found.units[0], Unloaded("gnu"), None)
    storage = ImplicitPointer(DieReference("unit", target.offset), 0, BIG_ENDIAN.default_space, unit_context, 64)
    surroundings = big_endian(rules)
    context = evolve(surroundings.context, frame=Registers())
    value = Object(
        Pointer("*", Lazy.known(INT), 8), evolve(surroundings, context=context).located(locations.at(storage))
    )
    assert value.dereferenced().number() == number


class Registers(LoneFrame):
    """A frame that knows its registers alone."""

    def register(self, number, lanes):
        return locations.at(Register(BIG_ENDIAN.register(number)))


@pytest.mark.parametrize("rules", [DWARF5, DWARF6])
def test_what_lies_beyond_a_composite_is_undefined_where_the_rules_say(rules):
    """`Rules.object_beyond_composite`."""
    parts = (Part(IN_REGISTER, 32),)
    place = big_endian(rules).located(locations.at(locations.extended(locations.EMPTY, parts))).of_object(8)
    members = (Member("x", Lazy.known(INT), 0), Member("y", Lazy.known(INT), 32))
    value = Object(Struct("struct", "P", 8, Lazy.known(Body((), members, order=(0, 1)))), place)
    assert value_text(value) == "{x = 287454020, y = <optimized out>}"


def test_addresses_belong_to_their_space():
    """A.2.13 and A.7.14: without a space an address is in the default one, which is 0."""
    surroundings = around(LaneSet(1, 0, 0))
    assert surroundings.memory(Address(3, 0x40)).address == Address(3, 0x40)
    assert surroundings.memory(Address(None, 0x40)).address == Address(None, 0x40)
    assert "not an address space" in str(raised(IllFormed, surroundings.memory, Address(99, 0)))
    far = Object(INT, surroundings.memory(Address(None, 0x20000)))
    assert "Cannot access memory at address 0x20000" in str(raised(DwarfGpuError, far.number))


def test_variables_are_found():
    """A.2.5.1 current program location: it selects the entry of a list, and without one there is no answer."""
    entries = [
        entry("base_type", "int", label="int", encoding=5, byte_size=4),
        entry("variable", "here", type="int", location=b"\x08\x10\x9f"),
        entry("variable", "seven", type="int", const_value=-7),
        entry("variable", "bytes", ("const_value", "block1", b"\1\2\3\4"), type="int"),
        entry("variable", "gone", type="int"),
        entry("variable", "listed", ("location", "sec_offset", 0), type="int"),
    ]
    rows = b"".join(each.to_bytes(8, "little") for each in (0x10, 0x20)) + b"\2\0\x39\x9f" + bytes(16)
    found = dwarf(unit(die("compile_unit", ("low_pc", "addr", 0), *entries), version=4), extra={".debug_loc": rows})
    dies = {each.name: each for each in found.units[0].dies() if each.name}
    types = Types()

    def number(name, pc=None):
        place = variable_place(around(LaneSet(1, 0, 0), pc), dies[name])
        return None if place is None else Object(types.type_of(dies[name]), place).number()

    assert [number(name) for name in ["here", "seven", "bytes", "gone"]] == [16, -7, 0x04030201, None]
    assert number("listed", 0x18) == 9
    assert "optimized out" in str(raised(DwarfGpuError, number, "listed", 0x28))
    assert "only at a program location" in str(raised(DwarfGpuError, number, "listed"))


def test_memory_of_a_lane_is_that_of_the_lane():
    """An address in the private space means another byte in each lane; the place keeps the lanes it was made for."""
    storage = around(lanes_of(2)).memory(Address(5, 8)).storage.location.places[0].storage
    assert isinstance(storage, Memory)
    assert storage.lane.tolist() == [0, 1]


# --- Types with a hidden indirection (DWARF 5, 5.18): any type may have one, not only arrays and strings ----------


PUSH_OBJECT, DEREF_1 = b"\x97", b"\x94\x01"
EIGHT_ON = ("data_location", "exprloc", PUSH_OBJECT + b"\x23\x08")
"""The data are 8 bytes after the object."""
IF_NOT_0 = PUSH_OBJECT + DEREF_1
"""There are data where the first byte of the object is not 0."""
ALLOCATED, ASSOCIATED = ("allocated", "exprloc", IF_NOT_0), ("associated", "exprloc", IF_NOT_0)


def member(name, offset):
    return die("member", named(name), typed("int"), ("data_member_location", "data1", offset))


def hidden(label, *attributes):
    """Return the entries of types of each kind with some attributes of 5.18."""
    return [
        die("base_type", named(f"{label}_int"), ("encoding", "data1", 5), ("byte_size", "data1", 4), *attributes,
            label=f"{label}_base"),
        die("structure_type", named(f"{label}_pair"), ("byte_size", "data1", 8), *attributes, member("x", 0),
            member("y", 4), label=f"{label}_struct"),
        die("pointer_type", typed("int"), ("byte_size", "data1", 8), *attributes, label=f"{label}_pointer"),
        die("enumeration_type", named(f"{label}_enum"), ("byte_size", "data1", 1), *attributes,
            die("enumerator", named(f"{label}_E"), ("const_value", "udata", 9)), label=f"{label}_enumeration"),
        die("typedef", named(f"{label}_alias"), typed("int"), *attributes, label=f"{label}_typedef"),
        die("const_type", typed(f"{label}_base"), label=f"{label}_const")]  # fmt: skip


LABELS = ("base", "struct", "pointer", "enumeration", "typedef", "const")
PROPERTIES = {
    "data": (EIGHT_ON,),                                     "allocatable": (EIGHT_ON, ALLOCATED),
    "pointed": (EIGHT_ON, ASSOCIATED),                       "only": (ALLOCATED,)}  # fmt: skip
OFFSETS = (0, 1)
"""The byte at 0 is 0, at 1 it is 1."""


@pytest.fixture
def opened(tmp_path) -> dg.Program:
    entries = []
    for label, attributes in PROPERTIES.items():
        entries += hidden(label, *attributes)
        entries += [
            die("variable", named(f"{label}_{kind}_{offset}"), typed(f"{label}_{kind}"), at_data(offset))
            for kind in LABELS
            for offset in OFFSETS
        ]
    inner = die("member", named("inner"), typed("allocatable_base"), ("data_member_location", "data1", 0))
    second = die("member", named("second"), typed("allocatable_base"), ("data_member_location", "data1", 1))
    entries.append(die("structure_type", named("outer"), ("byte_size", "data1", 8), inner, second, label="outer"))
    entries.append(die("variable", named("nested"), typed("outer"), at_data(0)))
    return program(tmp_path, *entries)


def shown(opened: dg.Program, text: str) -> str:
    try:
        return value_text(opened[text].object())
    except DwarfGpuError as error:
        return error.message if error.kind != "no_data" else f"<{error.message}>"


def test_structures_are_those_of_gdb(opened, tmp_path, require_tool):
    """GDB 13 has an internal error for scalars of such types, and takes no notice of the states of structures."""
    names = ["data_struct_0", *(f"{label}_struct_1" for label in PROPERTIES)]
    words = [word for name in names for word in ("-ex", f"output {name}", "-ex", r"echo \n")]
    command = [require_tool("gdb"), "-batch", "-nx", *words, str(tmp_path / "program")]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert {name: shown(opened, name) for name in names} == dict(zip(names, theirs, strict=True))


@pytest.mark.parametrize("kind", ["base", "typedef", "const"])
def test_the_data_are_where_the_location_says(opened, kind):
    """5.18.1: the object is the one whose type has the attribute."""
    number = int.from_bytes(bytes(range(8, 12)), "little")
    assert opened[f"data_{kind}_0"].value() == number
    assert opened[f"allocatable_{kind}_1"].value() == int.from_bytes(bytes(range(9, 13)), "little")
    assert opened.eval(f"&data_{kind}_0") == DATA + 8


def test_members_are_in_the_data(opened):
    assert opened.eval("data_struct_0.y") == int.from_bytes(bytes(range(12, 16)), "little")
    assert opened.eval("sizeof(data_struct_0)") == 8
    assert opened.eval("nested.second") == int.from_bytes(bytes(range(9, 13)), "little")


@pytest.mark.parametrize("label, state", [("allocatable", "not allocated"), ("pointed", "not associated")])
@pytest.mark.parametrize("kind", LABELS)
def test_an_object_without_data_says_so(opened, label, state, kind):
    """5.18.2 and 5.18.3."""
    name = f"{label}_{kind}_0"
    assert shown(opened, name) == f"<{state}>"
    assert opened[name].why().message == f"the object is {state}"
    with pytest.raises(dg.DwarfGpuError, match=state):
        opened[name].write(1)
    assert opened[name].object().address is None


def test_a_type_by_name_and_behind_a_pointer(opened):
    number = int.from_bytes(bytes(range(8, 12)), "little")
    assert opened.eval(f"*(data_int *) {DATA:#x}") == number
    assert opened.eval(f"*(data_alias *) {DATA:#x}") == number
    assert opened.eval(f"((struct data_pair *) {DATA:#x})->x") == number
    assert opened.eval(f"((struct data_pair *) {DATA - 8:#x})[1].x") == number


def test_an_object_without_data_in_a_structure(opened):
    assert shown(opened, "nested") == f"{{inner = <not allocated>, second = {0x0C0B0A09}}}"
