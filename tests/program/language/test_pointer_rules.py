"""Pointers into address spaces in expressions: conversions, null, comparisons, differences, for many lanes at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, MissingContext, UsageError
from dwarfgpu.lanes import LaneFault
from dwarfgpu.program.language.arithmetic import Arithmetic, DataModel, ScalarOperand, is_true
from dwarfgpu.program.language.parser import parse
from dwarfgpu.program.types.model import VOID
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.parameters import for_each

GLOBAL, GENERIC, REGION, LOCAL, PRIVATE, WAVE, LANE3 = 0, 1, 2, 3, 5, 6, 0x23
C = Arithmetic(DataModel(target=resolve("gfx90a")))
PLAIN = Arithmetic()
"""Where nothing is known of address spaces."""
NULL = 0xFFFFFFFF
SHARED, SCRATCH = 1 << 48, 2 << 48


def pointer(address, space=None, *, rules=C, to="int"):
    return ScalarOperand(rules.model.pointer_to(rules.model.base(to), space), address)


def literal(text):
    return C.literal(parse(text))


def number(operator, left, right):
    return C.binary(operator, left, right).number()


@for_each("source, address, target, expected",
    (LOCAL, 0x10, GENERIC, SHARED + 0x10),                                      (LOCAL, 0, GENERIC, SHARED),
    (PRIVATE, 0xFFFFFFFE, GENERIC, SCRATCH + 0xFFFFFFFE),                       (GLOBAL, 0x1000, GENERIC, 0x1000),
    (GENERIC, SHARED + 0x20, LOCAL, 0x20),                                      (GENERIC, SHARED, LOCAL, 0),
    (GENERIC, SCRATCH + 4, PRIVATE, 4),   (GENERIC, 0x1000, GLOBAL, 0x1000),    (LOCAL, NULL, GENERIC, 0),
    (PRIVATE, NULL, GENERIC, 0),          (GENERIC, 0, LOCAL, NULL),            (GENERIC, 0, PRIVATE, NULL),
    (GENERIC, 0, REGION, NULL),           (LOCAL, NULL, PRIVATE, NULL),         (GLOBAL, 0, LOCAL, NULL),
    (WAVE, NULL, GENERIC, 0),             (LANE3, 0x10, LANE3, 0x10))  # fmt: skip
def test_casts_go_through_the_apertures(source, address, target, expected):
    cast = C.cast(pointer(address, source), C.model.pointer_to(VOID, target))
    assert cast.bits == expected
    assert C.cast(cast, pointer(0, source).type).bits == address  # and back


@for_each("source, address, target",
    (GENERIC, 0x1000, LOCAL),   (GENERIC, SCRATCH, LOCAL),  (GENERIC, SHARED, PRIVATE), (GENERIC, SHARED, GLOBAL),
    (GLOBAL, SHARED + 1, GENERIC),                          (LOCAL, 0, PRIVATE),        (LOCAL, 0x10, GLOBAL),
    (PRIVATE, 0x10, WAVE),      (PRIVATE, 0x10, LANE3),     (WAVE, 0x10, GENERIC),      (REGION, 0x10, GENERIC),
)  # fmt: skip
def test_what_is_in_no_other_space_is_an_error(source, address, target):
    error = raised(EvaluationError, C.cast, pointer(address, source), C.model.pointer_to(VOID, target))
    assert "is not an address of" in str(error)
    assert error.spec == "A.2.13"


def test_lanes_fail_and_convert_each_for_itself():
    addresses = b.array([SHARED + 8, 0x1000, 0, SCRATCH], 64)
    error = raised(LaneFault, C.cast, pointer(addresses, GENERIC), C.model.pointer_to(VOID, LOCAL))
    assert error.positions.tolist() == [1, 3]
    assert "generic#0x1000 is not an address of local" in error.error_of(0).message
    good = C.cast(pointer(b.array([SHARED + 8, 0], 64), GENERIC), C.model.pointer_to(VOID, LOCAL))
    assert good.bits.tolist() == [8, NULL]
    back = C.cast(pointer(b.array([8, NULL], 64), PRIVATE), C.model.pointer_to(VOID, GENERIC))
    assert back.bits.tolist() == [SCRATCH + 8, 0]


@given(st.lists(st.integers(0, NULL), min_size=2, max_size=5), st.sampled_from([LOCAL, PRIVATE]))
def test_many_lanes_are_each_lane_alone(addresses, space):
    generic = C.model.pointer_to(VOID, GENERIC)
    together = C.cast(pointer(b.array(addresses, 64), space), generic)
    alone = [C.cast(pointer(address, space), generic) for address in addresses]
    assert together.bits.tolist() == [operand.bits for operand in alone]
    assert C.cast(together, pointer(0, space).type).bits.tolist() == addresses
    assert is_true(together).tolist() == [address != NULL for address in addresses]


def test_apertures_that_are_not_known_are_missing_where_they_are_needed():
    """GFX7 and GFX8 have them in the queue."""
    old = Arithmetic(DataModel(target=resolve("gfx803")))
    for address, source, target in ((0x10, LOCAL, GENERIC), (SHARED, GENERIC, PRIVATE)):
        raised(MissingContext, old.cast, pointer(address, source, rules=old), old.model.pointer_to(VOID, target))
    for address, source, target, expected in (
        (NULL, LOCAL, GENERIC, 0),
        (0, GENERIC, LOCAL, NULL),
        (9, GLOBAL, GENERIC, 9),
    ):
        assert old.cast(pointer(address, source, rules=old), old.model.pointer_to(VOID, target)).bits == expected


def test_a_processor_without_generic_addresses_has_none_to_convert_to():
    oldest = Arithmetic(DataModel(target=resolve("gfx600")))
    with pytest.raises(EvaluationError, match="local#0x10 is not an address of private_lane"):
        oldest.cast(pointer(0x10, LOCAL, rules=oldest), oldest.model.pointer_to(VOID, PRIVATE))


def test_a_pointer_wider_than_its_space_keeps_the_null_of_the_space():
    assert C.cast(ScalarOperand(C.model.pointer_to(VOID, LOCAL), NULL), C.model.pointer_to(VOID, GENERIC)).bits == 0


def test_assignments_convert_to_the_generic_space_alone():
    """As ROCgdb's pointers do."""
    assert C.assigned(pointer(0x10, LOCAL), pointer(0, GENERIC).type).bits == SHARED + 0x10
    assert C.assigned(pointer(0x10), pointer(0, GENERIC).type).bits == 0x10
    for source, target in ((LOCAL, PRIVATE), (LOCAL, None), (GENERIC, LOCAL), (GENERIC, None), (None, LOCAL)):
        with pytest.raises(UsageError, match=r"cannot convert a pointer into \w+ to a pointer into \w+"):
            C.assigned(pointer(0x10, source), pointer(0, target).type)
    assert C.assigned(pointer(NULL, PRIVATE), pointer(0, LOCAL).type).bits == NULL
    assert C.assigned(literal("0"), pointer(0, LOCAL).type).bits == NULL
    assert C.assigned(literal("0"), pointer(0).type).bits == 0
    assert C.assigned(literal("16"), pointer(0, LOCAL).type).bits == 16


@pytest.mark.parametrize("space", [None, GLOBAL, GENERIC, REGION, LOCAL, PRIVATE, WAVE, LANE3])
def test_each_space_has_its_null(space):
    null = 0 if space in (None, GLOBAL, GENERIC) else NULL
    for address in (0, 8, NULL):
        operand = pointer(address, space)
        is_null = address == null
        assert is_true(operand) is not is_null
        assert C.unary("!", operand).number() == is_null
        assert number("==", operand, literal("0")) == number("==", literal("0"), operand) == is_null
        assert number("!=", operand, literal("0")) == (not is_null)
        assert C.cast(operand, C.model.base("_Bool")).number() == (not is_null)
        assert C.logical("&&", operand, literal("1")).number() == (not is_null)


def test_only_the_written_0_is_null():
    local = pointer(0, LOCAL)
    assert number("==", local, C.binary("-", literal("1"), literal("1"))) == 1
    assert number("==", local, literal("0")) == 0
    assert number("==", C.cast(literal("0"), local.type), local) == 1  # a cast makes it an address


def test_pointers_of_two_spaces_meet_in_the_generic_one():
    local, private = pointer(0x10, LOCAL), pointer(0x10, PRIVATE)
    assert number("==", local, pointer(SHARED + 0x10, GENERIC)) == 1
    assert number("==", local, pointer(0x10, GENERIC)) == 0
    assert number("<", pointer(SHARED, GENERIC), local) == 1
    assert number("-", pointer(SHARED + 0x18, GENERIC), local) == 2
    assert number("-", private, pointer(SCRATCH + 0x18, GENERIC)) == -2
    for plain in (pointer(0x20), pointer(0x20, GLOBAL)):
        assert number("==", plain, pointer(0x20, GENERIC)) == 1
        assert number("-", pointer(0x20, GENERIC), plain) == 0
    for operator in ("==", "-", "<"):
        for other in (private, pointer(0x10), pointer(0x10, REGION)):
            assert "cannot be compared or subtracted" in str(raised(UsageError, C.binary, operator, local, other))
    assert number("==", pointer(NULL, LOCAL), private) == 0
    assert number("==", pointer(NULL, LOCAL), pointer(NULL, PRIVATE)) == 1
    assert number("!=", pointer(NULL, LOCAL), pointer(0)) == 0


def test_pointers_compare_with_integers_in_the_wider_of_the_two():
    local = pointer(0x10, LOCAL)
    assert [number("==", local, literal(text)) for text in ("0x10", "0x100000010", "0x10l")] == [1, 0, 1]
    assert number("==", pointer(NULL, LOCAL), C.unary("-", literal("1"))) == 1
    assert number("<", local, literal("0x100000000")) == 1


def test_moving_wraps_in_the_width_of_the_space():
    assert C.binary("+", pointer(0xFFFFFFFC, LOCAL), literal("2")).bits == 4
    assert C.binary("-", pointer(0, PRIVATE), literal("1")).bits == 0xFFFFFFFC
    assert number("-", pointer(4, LOCAL), pointer(0xFFFFFFFC, LOCAL)) == 2
    assert number("-", pointer(b.array([8, 0], 64), LOCAL), pointer(4, LOCAL)).tolist() == [1, -1]


def test_where_nothing_is_known_of_address_spaces_numbers_stay():
    local, generic = (pointer(0x10, space, rules=PLAIN) for space in (LOCAL, GENERIC))
    assert PLAIN.cast(local, pointer(0, PRIVATE, rules=PLAIN).type).bits == 0x10
    assert PLAIN.assigned(local, generic.type).bits == 0x10
    with pytest.raises(UsageError, match="address space 3 and address space 5"):
        PLAIN.binary("==", local, pointer(0x10, PRIVATE, rules=PLAIN))


@pytest.mark.parametrize("text, expected", [("0x10", 0x10), ("0", 0), ("0xffffffff", NULL), ("0xfffffffful", NULL)])
def test_a_number_is_an_address_where_it_fits(text, expected):
    assert C.address_in(literal(text), LOCAL).bits == expected
    minus = C.unary("-", literal("1"))
    assert C.address_in(minus, LOCAL).bits == NULL
    assert C.address_in(C.cast(minus, C.model.base("long")), LOCAL).bits == NULL


@pytest.mark.parametrize("text", ["0x100000000", "0x100000010ul", "1.0"])
def test_a_number_that_does_not_fit_is_no_address(text):
    with pytest.raises(UsageError, match=r"is not an address of local: its addresses have 4 bytes|must be an integer"):
        C.address_in(literal(text), LOCAL)
