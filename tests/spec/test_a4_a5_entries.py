"""A.3.4.2, A.4 and A.5: the entries of data objects, types and call site parameters, from DWARF built in the test."""

import pytest

from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.locations import Register
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.program.frames import call_sites
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Address, ObjectSurroundings, variable_place
from dwarfgpu.targets.resolve import resolve
from tests.builders.dwarf import die, dwarf, entry, unit
from tests.builders.parameters import for_each
from tests.builders.programs import Unloaded
from tests.builders.spread import expression

TARGET = resolve("gfx90a")
INT = entry("base_type", "int", label="int", encoding=5, byte_size=4)
BYTE = entry("base_type", "byte", label="byte", encoding=8, byte_size=1)
AT_40 = expression("DW_OP_addr 0x40")


class Machine(Backend):
    """Memory whose bytes are their addresses, and registers whose dwords are 0x1000 and their position."""

    def read_memory(self, space, address, size, wave, lane):
        return bytes((address + index) & 0xFF for index in range(size))

    def read_register(self, register, wave, lane):
        return b"".join((0x1000 + index).to_bytes(4, "little") for index in range(register.bit_size // 32))


def named(name):
    return ("name", "string", name)


def typed(label):
    return ("type", "ref4", label)


class Entries:
    """The entries of one unit by name, with the objects that they are."""

    def __init__(self, *entries, pc=None):
        self.dwarf = dwarf(unit(die("compile_unit", ("low_pc", "addr", 0), INT, BYTE, *entries)))
        self.dies = {entry.name: entry for entry in self.dwarf.units[0].dies() if entry.name}
        self.types = Types()
        context = Context(target=TARGET, rules=AMD, backend=Machine(), lanes=LaneSet(1, 0, 0), pc=pc)
        self.around = ObjectSurroundings(context, Unloaded("llvm-user"))

    def place(self, name):
        return variable_place(self.around, self.dies[name])

    def object(self, name):
        return Object(self.types.type_of(self.dies[name]), self.place(name))

    def type(self, name):
        return self.types.of(self.dies[name])


def variable(name, label, data=AT_40):
    return entry("variable", name, typed(label), location=data)


# --- A.3.4.2 Call site parameters -----------------------------------------------------------------------------------


def call_site():
    found = Entries(
        entry(
            "subprogram",
            "f",
            entry("formal_parameter", "first", type="int", label="first"),
            entry("formal_parameter", "second", type="int"),
            entry("formal_parameter", "third", type="int"),
        ),
        entry(
            "call_site",
            "site",
            entry("call_site_parameter", location=b"\x55", call_value=b"\x31"),
            entry("variable", "other"),
            entry("call_site_parameter", location=b"\x54", call_parameter="first", call_value=b"\x32"),
            entry("call_site_parameter", "third", call_value=b"\x33"),
        ),
    )
    return found.dies["site"], found


def test_the_parameters_of_a_call_are_those_entries_of_it_in_order():
    """A.3.4.2 (1): each parameter is a DW_TAG_call_site_parameter, and its location says where it is passed."""
    site, _ = call_site()
    parameters = list(call_sites.parameters(site))
    assert [entry.get("DW_AT_location").block().data for entry in parameters[:2]] == [b"\x55", b"\x54"]
    assert len(parameters) == 3
    assert call_sites.value_of(call_sites.parameter_at(site, b"\x54")).block().data == b"\x32"
    assert call_sites.parameter_at(site, b"\x53") is None


def test_a_parameter_of_a_call_has_the_entry_or_the_name_of_its_formal_parameter():
    """A.3.4.2 (3): DW_AT_call_parameter refers to the DW_TAG_formal_parameter."""
    site, found = call_site()
    assert call_sites.value_of(call_sites.parameter_of(site, found.dies["first"])).block().data == b"\x32"
    assert call_sites.parameter_of(site, found.dies["second"]) is None
    # A.3.4.2 (3): without a reference, DW_AT_name says which parameter it is.
    site, found = call_site()
    assert call_sites.value_of(call_sites.parameter_of(site, found.dies["third"])).block().data == b"\x33"


# --- A.4 Data objects -----------------------------------------------------------------------------------------------


def test_the_location_of_a_variable_has_an_empty_stack_and_no_object():
    """A.4.1 (1): the result is the location description of the base of the data object."""
    found = Entries(
        variable("here", "int"),
        variable("on_stack", "int", expression("DW_OP_dup")),
        variable("of_object", "int", expression("DW_OP_push_object_address")),
    )
    assert found.place("here").address == Address(None, 0x40)
    for name in ("on_stack", "of_object"):
        with pytest.raises(DwarfGpuError):
            found.object(name).number()


def test_a_value_at_the_top_of_the_stack_is_an_address_of_the_variable():
    """A.4.1 (1): the result kind is a location description, so that 0x40 is the memory there and not the value."""
    assert Entries(variable("x", "int", expression("DW_OP_const1u 0x40"))).place("x").address == Address(None, 0x40)


@for_each("form, value, number", ("sdata", -7, -7), ("udata", 200, 200), ("block1", b"\1\2\3\4", 0x04030201))
def test_a_variable_may_be_a_constant(form, value, number):
    """A.4.1 (2): DW_AT_const_value, a number or the bytes as they would be in memory."""
    found = Entries(entry("variable", "x", ("const_value", form, value), type="int"))
    assert found.object("x").number() == number
    assert found.place("x").address is None


def test_the_location_of_a_common_block_is_that_of_its_base():
    """A.4.2: DW_OP_call4 of the common block gives its location, to which the place of an object in it is added."""

    def entries(offset):
        code = expression(f"DW_OP_call4 {offset:#x}; DW_OP_lit4; DW_OP_LLVM_offset")
        return Entries(entry("common_block", "block", location=AT_40), variable("member", "int", code))

    found = entries(entries(0).dies["block"].offset)
    assert found.place("block").address == Address(None, 0x40)
    assert found.place("member").address == Address(None, 0x44)
    assert found.object("member").number() == 0x47464544


# --- A.5.1 Base types -----------------------------------------------------------------------------------------------


def test_a_base_type_of_addresses_has_an_address_space():
    """A.5.1 (2): DW_AT_LLVM_address_space of DW_ATE_address; without it there is none but the default."""
    address = (("encoding", "data1", 1), ("byte_size", "data1", 4))
    found = Entries(entry("base_type", "local", *address, LLVM_address_space=3), entry("base_type", "plain", *address))
    assert found.type("local").address_space == 3
    assert found.type("plain").address_space in (None, 0)


# --- A.5.3 Pointers -------------------------------------------------------------------------------------------------


@for_each("space, address", (None, 0x47464544_43424140), (0, 0x47464544_43424140), (3, 0x43424140), (5, 0x43424140))
def test_a_pointer_is_followed_into_its_address_space(space, address):
    """A.5.3: P is read as an integral type of the address size of AS, and AS with it makes the location."""
    attributes = [] if space is None else [("LLVM_address_space", "data1", space)]
    found = Entries(die("pointer_type", typed("int"), *attributes, label="p"), variable("x", "p"))
    target = found.object("x").dereferenced().address
    assert (target.space or 0, target.value) == (space or 0, address)


# --- A.5.7 Members and virtual functions ----------------------------------------------------------------------------


def structure(form, value):
    member = entry("member", "m", ("data_member_location", form, value), type="int")
    return entry("structure_type", "S", member, byte_size=16, label="s")


MEMBERS = [
    ("data1", 4),
    ("exprloc", expression("DW_OP_lit4; DW_OP_LLVM_offset")),  # the containing entity is on the stack
    ("exprloc", expression("DW_OP_plus_uconst 4"))]  # fmt: skip


@pytest.mark.parametrize("form, value", MEMBERS[:2])
def test_a_member_is_so_many_bytes_from_the_beginning_wherever_that_is(form, value):
    """A.5.7.3 (1): DW_OP_LLVM_offset B with the location of the entity, or E with it on the initial stack."""
    member = Entries(structure(form, value), variable("x", "s")).object("x").member("m")
    assert (member.address, member.number()) == (Address(None, 0x44), 0x47464544)
    # A.5.7.3 (1): the entity is in a register, at a bit offset that the member keeps.
    found = Entries(structure(form, value))
    register = Register(TARGET.register_named("v0"))
    for bits, number in ((0, 0x1001), (8, 0x02000010)):
        place = found.around.located(locations.at(register, bits))
        assert Object(found.type("S"), place).member("m").number() == number


def test_a_member_of_an_expression_that_adds_to_an_address():
    """A.5.7.3 (1): the location on the stack is converted to an address where an operation wants a value."""
    assert Entries(structure(*MEMBERS[2]), variable("x", "s")).object("x").member("m").number() == 0x47464544


# --- A.5.14 Pointers to members -------------------------------------------------------------------------------------


def test_the_location_of_a_member_has_the_pointer_and_the_object_on_the_stack():
    """A.5.14 (1): first the value of the pointer, then the location of the instance, which is on top."""
    use = expression("DW_OP_swap; DW_OP_LLVM_offset")
    pointer = entry("ptr_to_member_type", type="int", containing_type="s", use_location=use, label="p")
    value = expression("DW_OP_lit8; DW_OP_stack_value")
    found = Entries(structure("data1", 8), pointer, variable("x", "s"), variable("to", "p", value))
    member = found.object("x").through(found.object("to"))
    assert (member.address, member.number()) == (Address(None, 0x48), 0x4B4A4948)


# --- A.5.18.1 Data location -----------------------------------------------------------------------------------------


def array(*attributes):
    bounds = entry("subrange_type", type="int", count=3)
    return die("array_type", typed("byte"), *attributes, bounds, label="a")


def test_the_data_of_an_object_is_where_its_type_says():
    """A.5.18.1 (1): the descriptor is the object of the context, which DW_OP_push_object_address gives."""
    data = ("data_location", "exprloc", expression("DW_OP_push_object_address; DW_OP_lit16; DW_OP_LLVM_offset"))
    found = Entries(array(data), variable("x", "a"))
    assert [found.object("x").element(index).number() for index in range(3)] == [0x50, 0x51, 0x52]
    # A.5.18.1 (1): when the attribute is omitted, both locations are the same.
    found = Entries(array(), variable("x", "a"))
    assert [found.object("x").element(index).number() for index in range(3)] == [0x40, 0x41, 0x42]
    # A.5.18.1 (1): unlike that of a member, the expression finds nothing on the stack.
    found = Entries(array(("data_location", "exprloc", expression("DW_OP_dup"))), variable("x", "a"))
    with pytest.raises(IllFormed):
        found.object("x").element(0).number()
