import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.targets.amdgpu.processors import processors
from dwarfgpu.targets.amdgpu.registers import target_name
from dwarfgpu.targets.resolve import generic, resolve
from dwarfgpu.targets.target import Scope, TargetRegister, UnspecifiedRegister
from tests.builders.parameters import for_each

AMDGPU = [target_name(processor, size) for processor in processors() for size in processor.wave_sizes]
ALL = [resolve(name) for name in ("generic", "x86_64", *AMDGPU)]

# System V psABI, figure "DWARF Register Number Mapping": number, name, bits.
PSABI = [
    (0, "rax", 64),
    (1, "rdx", 64),
    (2, "rcx", 64),
    (3, "rbx", 64),
    (4, "rsi", 64),
    (5, "rdi", 64),
    (6, "rbp", 64),
    (7, "rsp", 64),
    *((n, f"r{n}", 64) for n in range(8, 16)),
    (16, "rip", 64),
    *((17 + n, f"xmm{n}", 128) for n in range(16)),
    *((33 + n, f"st{n}", 80) for n in range(8)),
    *((41 + n, f"mm{n}", 64) for n in range(8)),
    (49, "rflags", 64),
    (50, "es", 16),
    (51, "cs", 16),
    (52, "ss", 16),
    (53, "ds", 16),
    (54, "fs", 16),
    (55, "gs", 16),
    (58, "fs.base", 64),
    (59, "gs.base", 64),
    (62, "tr", 16),
    (63, "ldtr", 16),
    (64, "mxcsr", 32),
    (65, "fcw", 16),
    (66, "fsw", 16),
    *((67 + n, f"xmm{16 + n}", 128) for n in range(16)),
    *((118 + n, f"k{n}", 64) for n in range(8)),
    *((126 + n, f"bnd{n}", 128) for n in range(4)),
    *((130 + n, f"r{16 + n}", 64) for n in range(16)),
]


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)
class TestEveryTarget:
    def test_registers_are_found_by_number_and_by_name(self, target):
        registers = list(target.registers())
        assert registers
        for register in registers:
            assert target.register(register.number) == register
            assert target.register_named(register.name) == register
            assert register.bit_size > 0

    def test_no_register_has_the_number_or_the_name_of_another(self, target):
        registers = list(target.registers())
        numbers = [register.number for register in registers]
        assert numbers == sorted(set(numbers))
        assert len({register.name for register in registers}) == len(registers)

    def test_a_vector_register_has_a_dword_for_each_lane(self, target):
        for register in target.registers():
            assert register.lane_bits in (0, 32)
            assert not register.lane_bits or register.bit_size == 32 * target.lane_count

    def test_names_are_read_in_any_case_and_with_a_dollar(self, target):
        register = next(iter(target.registers()))
        assert target.register_named(register.name.upper()) == register
        assert target.register_named(f"${register.name}") == register

    def test_spaces_are_found_by_number_and_by_name(self, target):
        spaces = list(target.spaces())
        assert [space.number for space in spaces] == sorted({space.number for space in spaces})
        for space in spaces:
            assert target.space(space.number) is space
            assert target.space_named(space.name) is space
            assert target.space_named(space.name.upper()) is space

    def test_the_default_space_is_number_0_and_has_the_address_size(self, target):
        assert target.default_space is target.space(0)
        assert target.default_space.address_bits == 8 * target.address_size
        assert target.space_named("none") is target.default_space
        assert target.space_named("DW_ASPACE_LLVM_none") is target.default_space

    def test_only_a_space_that_depends_on_the_address_lacks_a_scope(self, target):
        for space in target.spaces():
            assert space.scope != Scope.DEPENDS or space.alias is not None

    def test_the_name_finds_the_target(self, target):
        assert resolve(target.name) is target

    def test_a_composite_may_be_as_large_as_the_largest_space(self, target):
        assert target.max_storage_bits() == 8 * 2 ** (8 * target.address_size)

    def test_unknown_numbers_and_names_are_no_error(self, target):
        assert target.register(-1) is None
        assert target.register(1 << 64) is None
        assert target.space(0x7FFF) is None
        assert target.space(-1) is None
        for name in ("", "$", "nothing", "v", "r-1", "v00", "v01", "r٣", "v" + "9" * 5000, "v 1", "xmm99", "None"):
            assert target.register_named(name) is None
            assert name == "None" or target.space_named(name) is None

    def test_equal_targets_have_equal_hashes(self, target):
        assert hash(target) == hash(resolve(target.name.upper()))
        assert target == resolve(target.name.upper())


@given(
    number=st.integers(0, (1 << 64) - 1), address_size=st.integers(1, 8), byte_order=st.sampled_from(["little", "big"])
)
def test_generic_has_a_register_of_the_address_size_for_every_number(number, address_size, byte_order):
    target = resolve("generic", byte_order=byte_order, address_size=address_size)
    register = target.register(number)
    assert register == TargetRegister(number, f"r{number}", 8 * address_size, 0)
    assert target.register_named(f"R{number}") == register
    assert target.unspecified_rule(number) == UnspecifiedRegister.UNDEFINED


@pytest.mark.parametrize("address_size", range(1, 9))
@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_generic_has_one_space_of_the_address_size(address_size, byte_order):
    target = resolve("generic", byte_order=byte_order, address_size=address_size)
    assert (target.byte_order, target.address_size, target.lane_count) == (byte_order, address_size, 1)
    assert [space.name for space in target.spaces()] == ["default"]
    assert target.space(0).address_bits == 8 * address_size
    assert target.space(0).null is None
    assert target.max_storage_bits() == 8 * 2 ** (8 * address_size)
    assert (target.default_dialect, target.default_rules) == ("gnu", "dwarf5")


def test_generic_targets_differ_by_size_and_list_the_registers_of_operations():
    assert generic("little", 4) != generic("little", 8)
    assert generic("little", 4) != generic("big", 4)
    assert generic("big", 4) == resolve("generic", byte_order="big", address_size=4)
    assert [register.number for register in resolve("generic").registers()] == list(range(32))
    assert len(set(ALL)) == len(ALL)


def test_x86_64_has_the_registers_of_the_psabi_and_its_stack_pointer():
    registers = [(r.number, r.name, r.bit_size) for r in resolve("x86_64").registers()]
    assert registers == PSABI
    target = resolve("x86_64")
    assert target.register(target.stack_pointer).name == "rsp"
    assert target.unspecified_rule(7) == UnspecifiedRegister.CFA
    assert target.stack_scale == 1


@pytest.mark.parametrize("number", [56, 57, 60, 61, *range(83, 118), 146])
def test_reserved_numbers_of_the_psabi_are_no_registers(number):
    assert resolve("x86_64").register(number) is None


@pytest.mark.parametrize("name, number", [("pc", 16), ("eflags", 49), ("r15", 15), ("r16", 130), ("xmm16", 67)])
def test_x86_64_names(name, number):
    assert resolve("x86_64").register_named(name).number == number


@pytest.mark.parametrize("name", ["rbx", "rbp", "r12", "r13", "r14", "r15", "fcw"])
def test_the_psabi_lets_a_callee_preserve(name):
    target = resolve("x86_64")
    assert target.unspecified_rule(target.register_named(name).number) == UnspecifiedRegister.SAME_VALUE


@for_each("name", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r11", "rip", "xmm0", "xmm15", "mxcsr", "k1")
def test_other_x86_64_registers_are_undefined_without_a_rule(name):
    target = resolve("x86_64")
    assert target.unspecified_rule(target.register_named(name).number) == UnspecifiedRegister.UNDEFINED


def test_x86_64_has_one_space():
    target = resolve("x86_64")
    assert [(s.number, s.name, s.address_bits, s.null, s.scope) for s in target.spaces()] == [
        (0, "default", 64, 0, Scope.PROCESS)
    ]
    assert (target.byte_order, target.address_size, target.lane_count) == ("little", 8, 1)
    assert (target.default_dialect, target.default_rules) == ("gnu", "dwarf5")
    assert target.register(target.program_counter).name == "rip"
    assert target.execution_mask is None
