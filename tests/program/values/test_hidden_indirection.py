"""Types with a hidden indirection (DWARF 5, 5.18): any type may have one, not only arrays and strings."""

import subprocess

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.render.values import value_text
from tests.builders.declared import DATA, at_data, named, program, typed
from tests.builders.dwarf import die

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
        die("const_type", typed(f"{label}_base"), label=f"{label}_const"),
    ]  # fmt: skip


LABELS = ("base", "struct", "pointer", "enumeration", "typedef", "const")
PROPERTIES = {
    "data": (EIGHT_ON,),
    "allocatable": (EIGHT_ON, ALLOCATED),
    "pointed": (EIGHT_ON, ASSOCIATED),
    "only": (ALLOCATED,),
}
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
