"""The AMDGPU registers against the table "AMDGPU DWARF Register Mapping"."""

import pytest

from dwarfgpu.targets.amdgpu.processors import processors
from dwarfgpu.targets.amdgpu.registers import sgpr
from dwarfgpu.targets.resolve import resolve
from dwarfgpu.targets.target import TargetRegister, UnspecifiedRegister
from tests.builders.parameters import for_each

# First and last number, first name, bits. Of the edition of LLVM 22; 1792 up to 2047 and 3584 to 4095 are used only by
# processors with 1024 vector registers, AGPRs only by those that have them.
BOTH = [(16, 16, "pc", 64), (32, 95, "s0", 32), (128, 128, "status", 32), (1088, 1129, "s64", 32)]
WAVE_32 = [(1, 1, "exec", 32), (512, 512, "vcc", 32), (1536, 1791, "v0", 32 * 32)]
WAVE_64 = [(17, 17, "exec", 64), (768, 768, "vcc", 64), (2560, 2815, "v0", 64 * 32)]
AGPR_64 = (3072, 3327, "a0", 64 * 32)
HIGH_32 = [(1792, 2047, "v256", 32 * 32), (3584, 4095, "v512", 32 * 32)]


def expanded(rows):
    """Every register of the rows, as (number, name, bits)."""
    result = []
    for first, last, name, bits in rows:
        letters = name.rstrip("0123456789")
        index = int(name[len(letters) :]) if letters != name else None
        for number in range(first, last + 1):
            numbered = letters if index is None else f"{letters}{index + number - first}"
            result.append((number, numbered, bits))
    return sorted(result)


@for_each("name, rows",
    ("gfx803", [*BOTH, *WAVE_64]),                           ("gfx900", [*BOTH, *WAVE_64]),
    ("gfx906", [*BOTH, *WAVE_64]),                           ("gfx908", [*BOTH, *WAVE_64, AGPR_64]),
    ("gfx90a", [*BOTH, *WAVE_64, AGPR_64]),                  ("gfx942", [*BOTH, *WAVE_64, AGPR_64]),
    ("gfx950", [*BOTH, *WAVE_64, AGPR_64]),                  ("gfx1030-wave32", [*BOTH, *WAVE_32]),
    ("gfx1100-wave32", [*BOTH, *WAVE_32]),                   ("gfx1100-wave64", [*BOTH, *WAVE_64]),
    ("gfx1201-wave64", [*BOTH, *WAVE_64]),                   ("gfx1250", [*BOTH, *WAVE_32, *HIGH_32]))  # fmt: skip
def test_a_target_has_the_registers_of_the_table(name, rows):
    assert [(r.number, r.name, r.bit_size) for r in resolve(name).registers()] == expanded(rows)


def test_numbers_of_registers_of_accumulators_and_of_none():
    having = {p.name for p in processors() if resolve(p.name).register_named("a0") is not None}
    assert having == {"gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"}
    assert [sgpr(i) for i in (0, 63, 64, 105)] == [32, 95, 1088, 1129]
    assert resolve("gfx90a").unspecified_rule(1536 + 40) == UnspecifiedRegister.UNDEFINED
    assert resolve("gfx90a").unspecified_rule(1 << 70) == UnspecifiedRegister.UNDEFINED
    wave32, wave64 = resolve("gfx1100-wave32"), resolve("gfx1100-wave64")
    shared = {r.number for r in wave32.registers()} & {r.number for r in wave64.registers()}
    assert shared == {number for number, _name, _bits in expanded(BOTH)}


@for_each("target, name, register",
    ("gfx90a", "v40", TargetRegister(2600, "v40", 2048, 32)),
    ("gfx1100-wave32", "v40", TargetRegister(1576, "v40", 1024, 32)),
    ("gfx90a", "s30", TargetRegister(62, "s30", 32, 0)),      ("gfx90a", "s31", TargetRegister(63, "s31", 32, 0)),
    ("gfx90a", "s32", TargetRegister(64, "s32", 32, 0)),      ("gfx90a", "s33", TargetRegister(65, "s33", 32, 0)),
    ("gfx90a", "s63", TargetRegister(95, "s63", 32, 0)),      ("gfx90a", "s64", TargetRegister(1088, "s64", 32, 0)),
    ("gfx90a", "s105", TargetRegister(1129, "s105", 32, 0)),  ("gfx90a", "a32", TargetRegister(3104, "a32", 2048, 32)),
    ("gfx1250", "v1023", TargetRegister(4095, "v1023", 1024, 32)),
    # the spelling of the document
    ("gfx90a", "VGPR255", TargetRegister(2815, "v255", 2048, 32)),
    ("gfx90a", "AGPR1", TargetRegister(3073, "a1", 2048, 32)),
    ("gfx90a", "SGPR70", TargetRegister(1094, "s70", 32, 0)), ("gfx90a", "PC_64", TargetRegister(16, "pc", 64, 0)),
    ("gfx90a", "EXEC_MASK_64", TargetRegister(17, "exec", 64, 0)),
    ("gfx1100-wave32", "EXEC_MASK_32", TargetRegister(1, "exec", 32, 0)),
    ("gfx1100-wave32", "VCC_32", TargetRegister(512, "vcc", 32, 0)))  # fmt: skip
def test_registers_by_name(target, name, register):
    assert resolve(target).register_named(name) == register
    assert resolve(target).register(register.number) == register


@for_each("target, name",
    ("gfx90a", "v256"),         ("gfx90a", "s106"),         ("gfx90a", "a256"),         ("gfx900", "a0"),
    ("gfx1250", "v1024"),       ("gfx90a", "vcc_lo"),       ("gfx90a", "exec_hi"),      ("gfx90a", "exec_mask_32"),
    ("gfx1100-wave32", "vcc_64"),                           ("gfx90a", "m0"),           ("gfx90a", "v1.0"))  # fmt: skip
def test_names_without_a_number(target, name):
    assert resolve(target).register_named(name) is None


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100-wave32", "gfx1100-wave64", "gfx1250"])
def test_reserved_numbers_are_no_registers(target):
    numbers = [0, 2, 15, 18, 31, 96, 127, 129, 511, 1024, 1087, 1130, 1535, 3328, 3583, 4096]
    assert [number for number in numbers if resolve(target).register(number) is not None] == []


@pytest.mark.parametrize("target, mask, bits", [("gfx90a", 17, 64), ("gfx1100", 1, 32), ("gfx1100-wave64", 17, 64)])
def test_the_registers_with_a_part_to_play(target, mask, bits):
    target = resolve(target)
    assert (target.program_counter, target.execution_mask) == (16, mask)
    assert target.register(mask).bit_size == bits == target.lane_count
    assert target.register(target.stack_pointer).name == "s32"


@pytest.mark.parametrize("target", ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100-wave32", "gfx1200-wave64"])
def test_what_a_callee_preserves(target):
    target = resolve(target)

    def rules(prefix, indices):
        return {target.unspecified_rule(target.register_named(f"{prefix}{i}").number) for i in indices}

    assert rules("v", range(32)) == {UnspecifiedRegister.UNDEFINED}
    assert rules("v", range(32, 256)) == {UnspecifiedRegister.SAME_VALUE}
    assert rules("s", range(4, 30)) == {UnspecifiedRegister.UNDEFINED}
    assert rules("s", [30, 31, *range(33, 106)]) == {UnspecifiedRegister.SAME_VALUE}
    assert rules("s", [32]) == {UnspecifiedRegister.CFA}
    assert target.unspecified_rule(target.execution_mask) == UnspecifiedRegister.SAME_VALUE
    for name in ("pc", "vcc", "status"):  # the kernel's return address is undefined: the outermost frame
        assert target.unspecified_rule(target.register_named(name).number) == UnspecifiedRegister.UNDEFINED


@for_each("target, rule",
    ("gfx900", "same_value"),   ("gfx90a", "same_value"),   ("gfx942", "undefined"),    ("gfx1100", "undefined"),
)  # fmt: skip
def test_s0_to_s3_are_the_scratch_descriptor_unless_flat_scratch_is_architected(target, rule):
    assert {resolve(target).unspecified_rule(32 + i) for i in range(4)} == {rule}


@pytest.mark.parametrize("target, rule", [("gfx908", "undefined"), ("gfx90a", "same_value"), ("gfx950", "same_value")])
def test_accumulation_registers_from_a32_are_preserved_since_gfx90a(target, rule):
    target = resolve(target)
    assert {target.unspecified_rule(3072 + i) for i in range(32)} == {"undefined"}
    assert {target.unspecified_rule(3072 + i) for i in range(32, 256)} == {rule}


@for_each("target, scale",
    ("gfx900", 1),                        ("gfx90a", 1),                        ("gfx1030", 1),
    ("gfx942", 64),                       ("gfx1100", 32),                      ("gfx1100-wave64", 64))  # fmt: skip
def test_the_stack_pointer_is_the_cfa_or_that_of_one_lane(target, scale):
    assert resolve(target).stack_scale == scale


@for_each("name, present, absent",
    ("gfx600", ["m0", "mode", "ttmp11"], ["flat_scratch", "xnack_mask", "ttmp12"]),
    ("gfx803", ["flat_scratch", "tba", "tma"], ["xnack_mask", "ttmp12"]),
    ("gfx801", ["xnack_mask"], ["ttmp12"]),
    ("gfx90a", ["flat_scratch", "xnack_mask", "ttmp15", "trapsts"], ["ttmp16", "s0", "v0"]),
    ("gfx1201-wave64", ["flat_scratch", "ttmp15"], ["xnack_mask"]))  # fmt: skip
def test_registers_without_a_number(name, present, absent):
    target = resolve(name)
    for one in present:
        register = target.unnumbered_register(one)
        assert register.name == one
        assert register.number < 0
        assert target.register(register.number) is None
        assert target.register_named(one) is None
    for one in absent:
        assert target.unnumbered_register(one) is None
    numbers_of = [family.first + i for family in target.unnumbered for i in range(family.count)]
    assert len(set(numbers_of)) == len(numbers_of)


@pytest.mark.parametrize("processor", ["gfx803", "gfx90a", "gfx1030", "gfx1100", "gfx1200"])
@pytest.mark.sampled(6)
def test_registers_of_the_trap_handler_are_those_the_assembler_knows(processor, require_tool):
    """GFX12 has other ones in place of TRAPSTS; from GFX11 on TBA and TMA cannot be read."""
    import subprocess

    target = resolve(f"amdgcn-{processor}")
    for name in ("trapsts", "tba", "tma", "state_priv", "excp_flag_priv", "excp_flag_user", "trap_ctrl"):
        register = f"HW_REG_{name.upper()}" + ("_LO" if name in ("tba", "tma") else "")
        texts = [f"s_getreg_b32 s0, hwreg({register})", f"s_mov_b64 s[0:1], {name}"]
        words = [require_tool("llvm-mc-22"), "-triple", "amdgcn-amd-amdhsa", f"-mcpu={processor}"]
        is_known = any(
            not subprocess.run(words, input=text.encode(), capture_output=True, check=False).returncode
            for text in texts
        )
        assert (target.unnumbered_register(name) is not None) == is_known
