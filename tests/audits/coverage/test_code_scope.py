from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.code_scope import CodeScope, distinct_names
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject
from tests.builders.dwarf import die
from tests.builders.hostile import gpu, named


def test_functions_of_one_name_are_told_apart_by_their_linkage_names():
    def function(name: str, linkage: str | None, low: int) -> CodeScope:
        entry = die("subprogram", named(name), *((("linkage_name", "string", linkage),) if linkage else ()))
        file = CodeObject(open_image(gpu(types=[entry]), name="test"))
        (found,) = [one for unit in file.dwarf.units for one in unit.dies() if one.name == name]
        return CodeScope(found.unit, found.offset, dw.DW_TAG_subprogram, None, (low,), (low + 4,))

    functions = [function("f", "_Z1fi", 0), function("f", None, 4), function("f", "f", 8), function("g", "_Z1gv", 12)]
    assert [*distinct_names(functions).values()] == ["f (_Z1fi)", "f", "f", "g"]


@given(st.lists(st.integers(0x80, 0x3FFF), min_size=2, max_size=12, unique=True), st.integers(0, 0x5000))
def test_bytes_of_code_below_an_address(numbers, address):
    edges = sorted(numbers)
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    size = sum(high - low for low, high in spans)
    scope = CodeScope(None, 0, dw.DW_TAG_subprogram, None, *zip(*spans, strict=True))
    assert scope.before(address) == sum(low <= place < high for low, high in spans for place in range(low, address))
    assert scope.before(1 << 40) == size
    assert scope.spans == spans


def test_no_code_is_below_any_address():
    assert CodeScope(None, 0, dw.DW_TAG_subprogram, None, (), ()).before(0x1000) == 0
