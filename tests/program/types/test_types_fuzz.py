"""Any graph of entries gives types, sizes, declarations and values, or an error of the library: never anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.types.declaration import declaration, type_name
from dwarfgpu.program.types.model import known_size
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Address, ObjectSurroundings
from dwarfgpu.render.values import Look, value_json, value_text
from dwarfgpu.targets.resolve import resolve
from tests.builders.dwarf import die, dwarf, unit
from tests.builders.programs import Dumped, Unloaded

LABELS = [f"d{index}" for index in range(8)]
TAGS = [
    "base_type", "pointer_type", "reference_type", "structure_type", "union_type", "class_type", "array_type",
    "typedef", "const_type", "enumeration_type", "subroutine_type", "ptr_to_member_type", "subrange_type",
    "string_type", "unspecified_type", "set_type", "atomic_type", "variable"]  # fmt: skip
PARTS = [
    "member", "inheritance", "subrange_type", "generic_subrange", "enumerator", "formal_parameter", "variant_part",
    "variant", "subprogram", "unspecified_parameters", "template_type_parameter", "variable", "typedef"]  # fmt: skip
NUMBERS = [
    "byte_size", "bit_size", "bit_offset", "data_bit_offset", "data_member_location", "encoding", "upper_bound",
    "lower_bound", "count", "byte_stride", "bit_stride", "const_value", "rank", "allocated", "associated",
    "discr_value",
    "address_class", "LLVM_address_space", "LLVM_vector_size", "string_length_byte_size", "virtuality", "ordering",
]  # fmt: skip
COMPUTED = [
    "data_member_location", "upper_bound", "lower_bound", "count", "data_location", "allocated", "associated", "rank",
    "byte_stride", "string_length", "use_location", "byte_size"]  # fmt: skip
names = st.sampled_from(["a", "b", "char", "_vptr.a", "e4m3"]).map(lambda name: ("name", "string", name))
types = st.sampled_from(LABELS).map(lambda label: ("type", "ref4", label))
references = st.tuples(
    st.sampled_from(["containing_type", "upper_bound", "count", "discr"]), st.just("ref4"), st.sampled_from(LABELS)
)
numbers = st.tuples(st.sampled_from(NUMBERS), st.just("data1"), st.integers(0, 255)) | st.tuples(
    st.sampled_from(NUMBERS), st.just("sdata"), st.integers(-(1 << 63), (1 << 63) - 1)
)
flags = st.sampled_from(["declaration", "GNU_vector", "artificial", "external", "enum_class", "prototyped"]).map(
    lambda name: (name, "flag_present")
)
expressions = st.tuples(
    st.sampled_from(COMPUTED),
    st.just("exprloc"),
    st.lists(st.sampled_from([b"\x97", b"\x06", b"\x31", b"\x38", b"\x12", b"\x22", b"\x23\x08", b"\xe9\x02",
        b"\x19"]), max_size=5).map(b"".join))  # fmt: skip


def unique(attributes):
    return list({each[0]: each for each in attributes}.values())


attributes = st.lists(names | types | numbers | flags | expressions | references, max_size=6).map(unique)


@st.composite
def entry(draw, label, depth=0):
    inner = [draw(entry(None, depth + 1)) for _ in range(draw(st.integers(0, 3)))] if depth < 3 else []
    return die(draw(st.sampled_from(TAGS if label else PARTS)), *draw(attributes), *inner, label=label)


graphs = st.tuples(*[entry(label) for label in LABELS])


def asked(function, *arguments):
    try:
        return function(*arguments)
    except DwarfGpuError:
        return None


@pytest.mark.slow
@given(graphs, st.binary(min_size=64, max_size=64), st.sampled_from(["little", "big"]), st.sampled_from([3, 5]))
def test_any_graph_of_entries_is_read(entries, data, byte_order, version):
    found = dwarf(
        unit(die("compile_unit", ("language", "data2", 0x1A), *entries), version=version), byte_order=byte_order
    )
    target = resolve("generic", byte_order=byte_order, address_size=8)
    context = Context(target=target, rules=AMD, backend=Dumped([(0x1000, data)]), lanes=LaneSet(1, 0, 0))
    around = ObjectSurroundings(context, Unloaded("llvm-user"))
    known = Types()
    for each in asked(lambda: list(found.units[0].dies())) or []:
        asked(type_name, each)
        kind = asked(known.of, each)
        if kind is None:
            continue
        asked(known_size, kind)
        asked(declaration, kind)
        value = Object(kind, around.memory(Address(None, 0x1000)))
        look = Look(elements=8, depth=4)
        assert isinstance(asked(value_text, value, look), str | None)
        asked(value_json, value, look)
