import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, UnknownTarget, UsageError
from dwarfgpu.targets.amdgpu.processors import ALTERNATIVES, OF_GENERIC, processor_named, processor_of_mach, processors
from dwarfgpu.targets.amdgpu.registers import target_name
from dwarfgpu.targets.resolve import EM_AMDGPU, EM_X86_64, decode_flags, generic, resolve, resolve_elf
from dwarfgpu.targets.target import Scope, TargetRegister, UnspecifiedRegister
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each, in_one_test, told

AMDGPU = [target_name(processor, size) for processor in processors() for size in processor.wave_sizes]
ALL = [resolve(name) for name in ("generic", "x86_64", *AMDGPU)]

# System V psABI, figure "DWARF Register Number Mapping": number, name, bits.
PSABI = [
    (0, "rax", 64),    (1, "rdx", 64),    (2, "rcx", 64),    (3, "rbx", 64),    (4, "rsi", 64),    (5, "rdi", 64),
    (6, "rbp", 64),    (7, "rsp", 64),    *((n, f"r{n}", 64) for n in range(8, 16)),               (16, "rip", 64),
    *((17 + n, f"xmm{n}", 128) for n in range(16)),          *((33 + n, f"st{n}", 80) for n in range(8)),
    *((41 + n, f"mm{n}", 64) for n in range(8)),             (49, "rflags", 64),                   (50, "es", 16),
    (51, "cs", 16),    (52, "ss", 16),    (53, "ds", 16),    (54, "fs", 16),    (55, "gs", 16),
    (58, "fs.base", 64),                  (59, "gs.base", 64),                  (62, "tr", 16),    (63, "ldtr", 16),
    (64, "mxcsr", 32), (65, "fcw", 16),   (66, "fsw", 16),   *((67 + n, f"xmm{16 + n}", 128) for n in range(16)),
    *((118 + n, f"k{n}", 64) for n in range(8)),             *((126 + n, f"bnd{n}", 128) for n in range(4)),
    *((130 + n, f"r{16 + n}", 64) for n in range(16))]  # fmt: skip


@in_one_test("target", ALL)
def test_registers_have_one_number_and_names_in_any_case(target):
    registers = list(target.registers())
    assert registers
    for register in registers:
        assert target.register(register.number) == register
        assert target.register_named(register.name) == register
        assert register.bit_size > 0
    numbers = [register.number for register in registers]
    assert numbers == sorted(set(numbers))
    assert len({register.name for register in registers}) == len(registers)
    register = registers[0]
    assert target.register_named(register.name.upper()) == register
    assert target.register_named(f"${register.name}") == register


@in_one_test("target", ALL)
def test_a_vector_register_has_a_dword_for_each_lane(target):
    for register in target.registers():
        assert register.lane_bits in (0, 32)
        assert not register.lane_bits or register.bit_size == 32 * target.lane_count


@in_one_test("target", ALL)
def test_spaces_have_numbers_names_and_scopes(target):
    spaces = list(target.spaces())
    assert [space.number for space in spaces] == sorted({space.number for space in spaces})
    for space in spaces:
        assert target.space(space.number) is space
        assert target.space_named(space.name) is space
        assert target.space_named(space.name.upper()) is space
        assert space.scope != Scope.DEPENDS or space.alias is not None
    assert target.default_space is target.space(0)
    assert target.default_space.address_bits == 8 * target.address_size
    assert target.space_named("none") is target.default_space
    assert target.space_named("DW_ASPACE_LLVM_none") is target.default_space
    assert target.max_storage_bits() == 8 * 2 ** (8 * target.address_size)


@in_one_test("target", ALL)
def test_a_target_is_found_by_its_name_and_equal_to_itself(target):
    assert resolve(target.name) is target
    assert hash(target) == hash(resolve(target.name.upper()))
    assert target == resolve(target.name.upper())


@in_one_test("target", ALL)
def test_unknown_numbers_and_names_are_no_error(target):
    assert target.register(-1) is None
    assert target.register(1 << 64) is None
    assert target.space(0x7FFF) is None
    assert target.space(-1) is None
    for name in ("", "$", "nothing", "v", "r-1", "v00", "v01", "r٣", "v" + "9" * 5000, "v 1", "xmm99", "None"):
        assert target.register_named(name) is None
        assert name == "None" or target.space_named(name) is None


@given(
    number=st.integers(0, (1 << 64) - 1), address_size=st.integers(1, 8), byte_order=st.sampled_from(["little", "big"])
)
def test_generic_has_a_register_of_the_address_size_for_every_number(number, address_size, byte_order):
    target = resolve("generic", byte_order=byte_order, address_size=address_size)
    register = target.register(number)
    assert register == TargetRegister(number, f"r{number}", 8 * address_size, 0)
    assert target.register_named(f"R{number}") == register
    assert target.unspecified_rule(number) == UnspecifiedRegister.UNDEFINED


@every(address_size=range(1, 9), byte_order=["little", "big"])
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


def test_x86_64_has_the_registers_of_the_psabi_and_one_space():
    assert [(r.number, r.name, r.bit_size) for r in resolve("x86_64").registers()] == PSABI
    target = resolve("x86_64")
    assert target.register(target.stack_pointer).name == "rsp"
    assert target.unspecified_rule(7) == UnspecifiedRegister.CFA
    assert target.stack_scale == 1
    target = resolve("x86_64")
    assert [(s.number, s.name, s.address_bits, s.null, s.scope) for s in target.spaces()] == [
        (0, "default", 64, 0, Scope.PROCESS)
    ]
    assert (target.byte_order, target.address_size, target.lane_count) == ("little", 8, 1)
    assert (target.default_dialect, target.default_rules) == ("gnu", "dwarf5")
    assert target.register(target.program_counter).name == "rip"
    assert target.execution_mask is None


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


PROCESSORS = list(processors())

# AMDGPU usage, table "AMDGPU EF_AMDGPU_MACH Values", from 0x20 on; `-` is reserved there. Names of LLVM 22, then those
# of other versions.
MACH_FROM_0X20 = """
    gfx600 gfx601 gfx700 gfx701 gfx702 gfx703 gfx704 - gfx801 gfx802 gfx803 gfx810 gfx900 gfx902 gfx904 gfx906
    gfx908 gfx909 gfx90c gfx1010 gfx1011 gfx1012 gfx1030 gfx1031
    gfx1032 gfx1033 gfx602 gfx705 gfx805 gfx1035 gfx1034 gfx90a
    - gfx1100 gfx1013 gfx1150 gfx1103 gfx1036 gfx1101 gfx1102 gfx1200 gfx1250 gfx1151 - gfx942 - gfx1201 gfx950
    - gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx1152 - -
    gfx1153 gfx12-generic gfx1251 - - - - gfx9-4-generic
"""
OTHER_VERSIONS = {
    0x40: "gfx940",             0x4B: "gfx941",             0x50: "gfx1310",            0x57: "gfx1154",
    0x5B: "gfx12-5-generic",    0x5C: "gfx1172",            0x5D: "gfx1170",            0x5E: "gfx1171",
    0x62: "gfx11-7-generic",    0x63: "gfx13-generic"}  # fmt: skip


def names_having(feature):
    return {processor.name for processor in PROCESSORS if processor.has(feature)}


def outcome(function, *args, **options):
    try:
        return function(*args, **options)
    except DwarfGpuError as error:
        return error


@in_one_test("mach", range(0x100))
def test_ef_amdgpu_mach(mach):
    rows = dict(enumerate(MACH_FROM_0X20.split(), 0x20))
    rows.update(OTHER_VERSIONS)
    processor = processor_of_mach(mach)
    assert (processor.name if processor else "-") == rows.get(mach, "-")


def test_no_two_processors_share_a_name_or_a_number():
    assert len({p.name for p in PROCESSORS}) == len({p.mach for p in PROCESSORS}) == len(PROCESSORS)


@in_one_test("processor", PROCESSORS)
def test_every_processor_is_found_and_has_its_wave_sizes(processor):
    assert processor_named(processor.name) == processor
    assert processor_of_mach(processor.mach) == processor
    for size in processor.wave_sizes:
        target = resolve(f"amdgcn-{processor.name}-wave{size}")
        assert target.lane_count == size
        assert resolve(target.name) is target
        assert resolve_elf(EM_AMDGPU, processor.mach, wave64=size == 64) is target
    assert resolve(processor.name).lane_count == processor.default_wave_size
    target = resolve(processor.name)
    assert (target.byte_order, target.address_size) == ("little", 8)
    assert (target.default_dialect, target.default_rules) == ("llvm-user", "amd")
    assert target.features == ()
    # Up to GFX9 waves have 64 lanes, from GFX10 on both sizes, in GFX12.5 32.
    if processor.name.startswith(("gfx125", "gfx12-5")):
        assert processor.wave_sizes == (32,)
    elif processor.name.startswith("gfx1"):
        assert processor.wave_sizes == (32, 64)
    else:
        assert processor.wave_sizes == (64,)


def test_features_of_the_processor_table():
    xnack = names_having("xnack")
    assert {"gfx801", "gfx810", "gfx900", "gfx90c", "gfx942", "gfx1010", "gfx1013", "gfx10-1-generic"} <= xnack
    assert not xnack & {"gfx802", "gfx803", "gfx1030", "gfx1100", "gfx1200", "gfx10-3-generic", "gfx12-generic"}
    assert names_having("sramecc") == {
        *("gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"),
        *("gfx1250", "gfx1251", "gfx12-5-generic"),
    }
    assert names_having("wavefrontsize64") == names_having("cumode")
    assert names_having("wavefrontsize64") == {p.name for p in PROCESSORS if p.wave_sizes == (32, 64)}
    assert names_having("tgsplit") == {"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"}
    assert names_having("agprs") == names_having("tgsplit") | {"gfx908"}
    assert names_having("agprs-saved") == names_having("tgsplit")


def test_properties_of_the_processor_table():
    architected = names_having("flat-architected")
    assert {"gfx942", "gfx950", "gfx1100", "gfx1153", "gfx1200", "gfx1250", "gfx9-4-generic"} <= architected
    assert names_having("packed-ids") == architected | {"gfx90a"}
    assert names_having("flat-offset") == names_having("queue-apertures")
    assert {p[:4] for p in names_having("flat-offset")} == {"gfx7", "gfx8"}
    kinds = [names_having(f"flat-{kind}") for kind in ("offset", "absolute", "architected")]
    assert sum(map(len, kinds)) == len(set().union(*kinds)) == len(PROCESSORS) - 3
    assert set().union(*kinds) == names_having("generic")


@pytest.mark.parametrize("generic, names", OF_GENERIC)
def test_processors_with_a_generic_one(generic, names):
    """They are of its generation, lay out waves alike, and each is listed once."""
    whole = processor_named(generic)
    for name in names.split():
        each = processor_named(name)
        assert (each.generic_name, each.major, each.wave_sizes) == (generic, whole.major, whole.wave_sizes)
        assert {*whole.features} <= {*each.features}


@pytest.mark.parametrize("alternative, name", ALTERNATIVES)
def test_alternative_names(alternative, name):
    assert processor_named(alternative).name == name
    assert resolve(f"amdgcn-{alternative}").name == f"amdgcn-{name}"


@pytest.mark.parametrize("name, canonical", [(" Generic ", "generic"), *told("""
    x86_64 | x86-64 | AMD64 | x86_64-unknown-linux-gnu -> x86_64
    gfx90a | amdgcn-gfx90a | amdgcn-gfx90a-wave64 | amdgcn-amd-amdhsa--gfx90a | hip-amdgcn-amd-amdhsa--gfx90a |
        openmp-amdgcn-amd-amdhsa--gfx90a -> amdgcn-gfx90a
    GFX1100 | amdgcn-gfx1100-wave32 | amdgcn-amd-amdhsa--gfx1100 | amdgcn-amd-amdhsa-unknown-gfx1100
        -> amdgcn-gfx1100-wave32
    amdgcn-gfx1100-wave64 | gfx1100-wave64 | amdgcn-amd-amdhsa--gfx1100-wave64 -> amdgcn-gfx1100-wave64
    amdgcn-mesa-mesa3d-gfx900 | amdgcn-mesa-mesa3d--gfx900 | amdgcn-mesa3d-mesa3d--gfx900 -> amdgcn-gfx900
    amdgcn-amd-amdpal-gfx1030 | amdgcn-amd-amdpal--gfx1030 -> amdgcn-gfx1030-wave32
    amdgcn-amd-amdpal-gfx10-3-generic -> amdgcn-gfx10-3-generic-wave32
    amdgcn-amd-amdhsa--gfx90a:xnack+:sramecc- | amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+
        -> amdgcn-gfx90a sramecc- xnack+
    amdgcn-amd-amdhsa--gfx908+xnack+sram-ecc -> amdgcn-gfx908 sramecc+ xnack+
    hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+ -> amdgcn-gfx90a xnack+
    amdgcn-amd-amdhsa--gfx9-4-generic:xnack+ -> amdgcn-gfx9-4-generic xnack+
    amdgcn-amd-amdhsa--gfx10-3-generic-wave64 -> amdgcn-gfx10-3-generic-wave64
    generic -> generic           gfx908:xnack- -> amdgcn-gfx908 xnack-
    amdgcn-amd-amdhsa--gfx902+xnack -> amdgcn-gfx902 xnack+   gfx9-4-generic -> amdgcn-gfx9-4-generic
    amdgcn-gfx11-generic -> amdgcn-gfx11-generic-wave32       amdgcn-gfx1250 -> amdgcn-gfx1250
    """)])  # fmt: skip
def test_names(name, canonical):
    target = resolve(name)
    assert " ".join([target.name, *target.features]) == canonical
    assert resolve(name) is target


def test_settings_make_another_target_in_any_order():
    plain, xnack = resolve("gfx90a"), resolve("gfx90a:xnack+")
    assert plain.name == xnack.name
    assert plain != xnack
    assert resolve("gfx90a:xnack+:sramecc-") is resolve("gfx90a:sramecc-:xnack+")


@for_each("name, hint",
    ("gfx90b", "did you mean gfx90a or gfx90c or gfx900?"),  ("amdgcn-gfx1105", "gfx1100 or gfx1101 or gfx1102"),
    ("amdgcn-amd-amdhsa--gfx943", "gfx940 or gfx941 or gfx942"),     ("genric", "did you mean generic"),
    ("x86", "did you mean x86_64?"),                         ("", "write gfx1100, another processor, or x86_64"),
    ("armv7", "write gfx1100, another processor, or x86_64"),       ("amdgcn", "write gfx1100, another processor"),
    ("amdgcn-", "write gfx1100, another processor"),         ("amdgcn-gfx1100-wave32-wave64", "gfx1100 or gfx1102"),
    ("amdgcn-gfx1100-wave64-wave32", "did you mean gfx1100?"),      ("amdgcn-amd-linux--gfx90a", "gfx90a"))  # fmt: skip
def test_unknown_names_are_refused_with_close_ones(name, hint):
    caught = raised(UnknownTarget, resolve, name)
    assert repr(name) in caught.message
    assert hint in caught.hint


@for_each("name, message",
    ("gfx90a-wave32", "gfx90a has no waves of 32 lanes"),
    ("amdgcn-gfx803-wave32", "gfx803 has no waves of 32 lanes"),
    ("amdgcn-gfx1250-wave64", "gfx1250 has no waves of 64 lanes"),
    ("gfx1100:xnack+", "gfx1100 has no target feature 'xnack'"),
    ("gfx900:sramecc+", "gfx900 has no target feature 'sramecc'"),
    ("gfx90a:tgsplit+", "gfx90a has no target feature 'tgsplit'"),  # not part of a target ID
    ("gfx90a:xnack", "target feature 'xnack' has no sign"),
    ("gfx90a:", "target feature '' has no sign"),
    ("gfx90a+", "gfx90a has no target feature ''"),
    ("gfx90a:xnack+:xnack-", "the target feature xnack is given twice"),
    ("gfx90a+xnack:xnack-", "the target feature xnack is given twice"))  # fmt: skip
def test_combinations_that_cannot_be(name, message):
    caught = raised(UsageError, resolve, name)
    assert caught.message == message
    assert not isinstance(caught, UnknownTarget)


@pytest.mark.parametrize("address_size", [0, 9, -1, 16])
def test_address_sizes_are_1_to_8(address_size):
    assert "bytes are not supported" in str(raised(UsageError, resolve, "generic", address_size=address_size))


@pytest.mark.parametrize("byte_order", ["", "middle", "LITTLE"])
def test_byte_orders_are_little_and_big(byte_order):
    assert "neither little nor big" in str(raised(UsageError, resolve, "generic", byte_order=byte_order))


@pytest.mark.parametrize("name", ["x86_64", "gfx90a"])
@for_each("choice", {"byte_order": "big"}, {"address_size": 4}, {"byte_order": "little", "address_size": 7})
def test_only_generic_lets_choose(name, choice):
    assert "little-endian with 8-byte addresses" in str(raised(UsageError, resolve, name, **choice))


@pytest.mark.parametrize("name", ["x86_64", "gfx90a"])
def test_naming_what_a_target_has_is_no_error(name):
    assert resolve(name, byte_order="little", address_size=8) is resolve(name)


@given(st.text())
@example("-wave32")
@example("amdgcn-amd-amdhsa--")
@example("İgfx90a")
@example("gfx" * 10000)
def test_any_name_gives_a_target_or_an_error(name):
    result = outcome(resolve, name)
    assert result.hint if isinstance(result, DwarfGpuError) else resolve(result.name).name == result.name


@for_each("flags, name, features",
    (0x53F, "amdgcn-gfx90a", ()),  # any, any
    (0x63F, "amdgcn-gfx90a", ("xnack-",)),                   (0x73F, "amdgcn-gfx90a", ("xnack+",)),
    (0x93F, "amdgcn-gfx90a", ("sramecc-",)),                 (0xE3F, "amdgcn-gfx90a", ("sramecc+", "xnack-")),
    (0xB3F, "amdgcn-gfx90a", ("sramecc-", "xnack+")),        (0x041, "amdgcn-gfx1100-wave32", ()),
    (0x341, "amdgcn-gfx1100-wave32", ()),  # a setting of what the processor has not
    (0x0100055F, "amdgcn-gfx9-4-generic", ()))  # fmt: skip
def test_flags_of_code_object_v4_and_later(flags, name, features):
    target = resolve_elf(EM_AMDGPU, flags)
    assert (target.name, target.features) == (name, features)


@for_each("flags, features", (0x030, ()), (0x130, ("xnack+",)), (0x230, ("sramecc+",)), (0x330, ("sramecc+", "xnack+")))
def test_flags_of_code_object_v3(flags, features):
    target = resolve_elf(EM_AMDGPU, flags, abi_version=1)
    assert (target.name, target.features) == ("amdgcn-gfx908", features)


def test_files_of_old_code_objects_of_a_wave_size_and_of_x86_64():
    assert decode_flags(0x03, 0).features == ("xnack+",)
    assert decode_flags(0x02, 0).features == ()
    with pytest.raises(UnknownTarget, match="does not say which AMDGPU processor"):
        resolve_elf(EM_AMDGPU, 0x01, abi_version=0)
    assert resolve_elf(EM_AMDGPU, 0x41).lane_count == 32
    assert resolve_elf(EM_AMDGPU, 0x41, True).lane_count == 64
    assert resolve_elf(EM_AMDGPU, 0x41, False).lane_count == 32
    assert resolve_elf(EM_AMDGPU, 0x3F).lane_count == 64
    assert "gfx90a has no waves of 32 lanes" in str(raised(UsageError, resolve_elf, EM_AMDGPU, 0x3F, wave64=False))
    assert resolve_elf(EM_X86_64, 0) is resolve("x86_64")


@pytest.mark.parametrize("abi_version", [None, 2, 3, 4])
def test_the_version_of_a_generic_code_object(abi_version):
    assert decode_flags(0x0100055F, abi_version).generic_version == 1
    assert decode_flags(0x53F, abi_version).generic_version == 0


@for_each("machine, flags, message",
    (EM_AMDGPU, 0, "does not say which AMDGPU processor"),
    (EM_AMDGPU, 0x05, "0x5 is an r600 processor"),
    (EM_AMDGPU, 0x27, "no AMDGPU processor is known for EF_AMDGPU_MACH 0x27"),
    (EM_AMDGPU, 0xFF, "no AMDGPU processor is known for EF_AMDGPU_MACH 0xff"),
    (40, 0, "there is no target for e_machine 40"))  # fmt: skip
def test_files_without_a_target(machine, flags, message):
    with pytest.raises(UnknownTarget, match=message):
        resolve_elf(machine, flags)


@given(st.integers(0, 0xFFFFFFFF), st.sampled_from([None, True, False]), st.sampled_from([None, 0, 1, 2, 3, 4, 99]))
def test_any_flags_give_a_target_or_an_error(flags, wave64, abi_version):
    result = outcome(resolve_elf, EM_AMDGPU, flags, wave64, abi_version=abi_version)
    if isinstance(result, DwarfGpuError):
        assert result.hint
    else:
        assert wave64 is None or result.lane_count == (64 if wave64 else 32)
