"""From frame to frame, and every way in which a stack ends."""

from typing import Any

import pytest

from dwarfgpu import budget
from dwarfgpu.cfi.activation import FREE_FRAMES, LANE_COST
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import EMPTY, UNDEFINED, Memory, Part, Register
from dwarfgpu.expr.pieces import flattened
from dwarfgpu.targets.resolve import resolve
from tests.builders.activations import SIZE, START, stack
from tests.builders.parameters import for_each

FRAME = "def_cfa $rbp 16; offset_extended_sf $rip -8; offset_extended_sf $rbp -16"
"""What a function with a frame pointer does."""


def host(functions: list[str | None], frames: list[tuple[int, int]], **setting: Any) -> Any:
    """Threads of functions with frame pointers: (rbp of the caller, return address) for each frame from 0x8000 on."""
    memory = b"".join(rbp.to_bytes(8, "little") + back.to_bytes(8, "little") for rbp, back in frames)
    setting.setdefault("registers", {"rbp": 0x8000, "rip": START})
    return stack(functions, target="x86_64", memory={("default", 0x8000): memory}, **setting)


def chain(*returns: int) -> list[tuple[int, int]]:
    return [(0x8000 + 16 * (i + 1), back) for i, back in enumerate(returns)]


def seen(found: Any) -> tuple[list[int], str]:
    return [each.pc for each in found], found.end.kind


def test_the_outermost_frame_has_an_undefined_return_address():
    found = host([FRAME, "def_cfa $rbp 16; undefined $rip"], chain(START + SIZE + 5))
    assert seen(found) == ([START, START + SIZE + 5], "outermost")
    assert found.end.is_regular
    assert found.end.message == "the return address is undefined"


def test_code_without_information_ends_the_stack():
    found = host([FRAME, None], chain(START + SIZE + 5))
    assert seen(found) == ([START, START + SIZE + 5], "no_unwind_information")
    assert found.end.message == f"no unwind information for the address {START + SIZE + 4:#x}"
    assert not found.end.is_regular
    assert seen(host([None], [])) == ([START], "no_unwind_information")


def test_an_entry_without_a_rule_for_the_cfa_is_no_information():
    found = host([FRAME, "same_value $rbx"], chain(START + SIZE + 5))
    assert seen(found) == ([START, START + SIZE + 5], "no_unwind_information")


def test_a_pc_outside_all_code_ends_the_stack():
    found = host([FRAME], chain(0x9999))
    assert seen(found) == ([START], "outside_code")
    assert found.end.message == "the return address 0x9999 is not in any loaded code"
    top = host([FRAME], [], pc=0x9999)
    assert seen(top) == ([0x9999], "outside_code")
    assert top.end.message == "the address 0x9999 is not in any loaded code"


def test_a_cycle_ends_the_stack():
    # frame 2 has the frame pointer and the return address that frame 0 has again
    found = host([FRAME, FRAME], [(0x8010, START + SIZE + 5), (0x8000, START + 5), (0, 0)], pc=START + 5)
    assert seen(found) == ([START + 5, START + SIZE + 5], "cycle")
    assert found.end.message == "frame 2 repeats an earlier one: the stack may be damaged"


def test_a_cfa_that_does_not_move_ends_the_stack():
    found = host([FRAME], [(0x8000, START + 5)])
    assert seen(found) == ([START], "same_frame")
    assert found.end.message == "the CFA does not move from frame 0 to its caller in the same function"


def test_functions_without_a_frame_may_have_one_cfa():
    # as kernels have it that have no private memory: s32 is 0 in them and in what they call
    kernel = "def_cfa_expression {DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}; undefined $pc"
    back = "DW_OP_regx s30, DW_OP_piece 4, DW_OP_regx s31, DW_OP_piece 4"
    leaf = f"LLVM_def_aspace_cfa $s32 0 6; expression $pc {{{back}}}"
    found = stack([leaf, kernel], registers={"s32": 0, "s30": START + SIZE + 4, "s31": 0, "exec": 1})
    assert seen(found) == ([START, START + SIZE + 4], "outermost")


def test_more_frames_than_the_limit_end_the_stack():
    found = host([FRAME], chain(*[START + 5] * 50), max_frames=7)
    assert seen(found) == ([START] + [START + 5] * 6, "limit_exceeded")
    assert found.end.message == "there are more than 7 frames (`set backtrace limit`)"


@pytest.mark.slow
def test_frames_of_a_stack_without_end_are_paid_from_the_budget():
    with budget.question(4000) as question:
        found = host([FRAME], chain(*[START + 5] * 900), max_frames=10_000)
        shown, end = seen(found)
    assert (len(shown), end) == (FREE_FRAMES + 1 + 2000 // LANE_COST, "limit_exceeded")
    assert found.end.message.startswith(f"there are more than {len(shown)} frames: the answer costs more than")
    assert question.left >= 2000, "half is left to show them"


@for_each("instructions, message",
    ("def_cfa $rbp 16; offset_extended_sf $rip -8", "8 bytes of memory at default#0x8008 are not available"),
    ("def_cfa $rbp 16; expression $rip {DW_OP_lit0, DW_OP_div}", "the divisor is 0"),
    ("def_cfa $rbp 16; register $rip $rip", "the rule for rip leads back to itself"),
    ("def_cfa $rbp 16; expression $rip {DW_OP_piece 8}", "8 bytes of memory at default#0x8010"),
    ("def_cfa $rax 16; offset_extended_sf $rip -8", "the contents of register rax are not available"),
    ("def_cfa $rbp 16; restore_state", "no state is remembered"))  # fmt: skip
def test_what_goes_wrong_ends_the_stack(instructions, message):
    found = host([instructions], [])
    assert seen(found) == ([START], "error")
    assert found.end.error is not None
    assert found.end.is_failure
    assert found.end.message.startswith("the caller cannot be found: ")
    assert message in found.end.message


def test_a_return_address_without_some_bits_has_no_value():
    rule = "def_cfa $rbp 16; expression $rip {DW_OP_breg6 8, DW_OP_piece 4, DW_OP_piece 4}"
    found = host([rule], chain(5), rules="dwarf5")
    assert seen(found) == ([START], "error")
    assert found.end.message == "the caller cannot be found: the return address has bits without a value"


def test_a_call_is_looked_up_and_not_what_comes_behind_it():
    # the callee never returns, so nothing stands behind the call but the next function
    behind = "def_cfa $rax 0; undefined $rip"
    found = host([FRAME, "def_cfa $rbp 16; undefined $rip", behind], chain(START + 2 * SIZE))
    assert seen(found) == ([START, START + 2 * SIZE], "outermost")
    assert found.at(1).place == START + 2 * SIZE - 1


def test_the_caller_of_a_signal_frame_was_interrupted():
    # the handler is called from a frame of the kernel's; what was interrupted is at the very address
    interrupted = "def_cfa $rbp 16; undefined $rip"
    found = host([FRAME, FRAME, None, interrupted], chain(START + SIZE + 5, START + 3 * SIZE), signal=1)
    assert seen(found) == ([START, START + SIZE + 5, START + 3 * SIZE], "outermost")
    assert [each.place for each in found] == [START, START + SIZE + 4, START + 3 * SIZE]


@pytest.mark.slow
def test_more_frames_than_python_has_calls():
    count = 1500
    found = host([FRAME], chain(*[START + 5] * count), max_frames=count)
    assert seen(found)[1] == "limit_exceeded"
    outermost = found.at(count - 1)
    rbx = outermost.register(3, found.thread.lanes).single  # which no frame has saved
    assert rbx.storage.register.name == "rbx"
    assert outermost.register(6, found.thread.lanes).single.bit_offset == (0x8000 + 16 * (count - 2)) * 8


def test_registers_that_depend_on_each_other_through_all_frames_have_a_limit():
    # rbx of a frame is where r12 of it is, r12 where r13 is, and so on, each in the callee again
    rules = "; ".join(
        f"expression $r{12 + i} {{DW_OP_regx r{12 + (i + 1) % 4}, DW_OP_regx r{12 + (i + 2) % 4}, DW_OP_drop}}"
        for i in range(4)
    )
    found = host([f"{FRAME}; {rules}"], chain(*[START + 5] * 200), max_frames=150, rules="amd")
    assert seen(found)[1] == "limit_exceeded"
    outcome: Any
    try:
        outcome = found.at(149).register(12, found.thread.lanes)
    except DwarfGpuError as error:
        outcome = error.kind
    assert outcome == "limit_exceeded" or outcome.single.storage.register.name.startswith("r1")


TARGET = resolve("amdgcn-gfx90a")


def register(name: str) -> Any:
    return Register(TARGET.register_named(name))


def composite(*parts: tuple[Any, int]) -> Any:
    return locations.extended(EMPTY, tuple(Part(location, size) for location, size in parts))


def shape(location: Any) -> list[tuple[str, int, int]]:
    """Storage, bit offset and size of each part."""
    storage = location.single.storage
    found = []
    for part in storage.parts:
        place = part.location.single
        name = getattr(getattr(place.storage, "register", None), "name", type(place.storage).__name__)
        found.append((name, place.bit_offset, part.total))
    return found


def test_composites_in_composites_become_one():
    inner = composite((locations.at(register("v1")), 64), (locations.at(register("s4")), 32))
    outer = composite((locations.at(inner, 32), 32), (locations.at(inner, 64), 32), (UNDEFINED, 8))
    assert shape(flattened(locations.at(outer))) == [("v1", 32, 32), ("s4", 0, 32), ("Undefined", 0, 8)]


def test_neighbours_become_one_stretch():
    parts = composite((locations.at(register("v1"), 64), 32), (locations.at(register("v1"), 96), 32))
    assert shape(flattened(locations.at(parts))) == [("v1", 64, 64)]
    space = TARGET.space_named("private_wave")
    parts = composite((locations.at(Memory(space, 0), 0), 32), (locations.at(Memory(space, 1), 32), 32))
    assert len(shape(flattened(locations.at(parts)))) == 2  # memory of different waves


def test_a_whole_register_is_that_register():
    parts = composite((locations.at(register("v1")), 1024), (locations.at(register("v1"), 1024), 1024))
    assert flattened(locations.at(parts)) == locations.at(register("v1"))
    assert flattened(locations.at(composite((UNDEFINED, 8), (UNDEFINED, 24)))) == UNDEFINED


def test_what_is_no_composite_stays():
    for location in (UNDEFINED, locations.at(register("v1"), 32)):
        assert flattened(location) is location


def test_a_composite_of_very_many_parts_stays():
    location = locations.at(locations.extended(EMPTY, (Part(locations.at(register("s4")), 8, 6000, 0),)))
    assert flattened(location) is location
