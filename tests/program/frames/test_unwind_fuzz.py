"""Any call frame information and any state give frames and why they end, or an error that says what is wrong."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Location, is_undefined
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.frames.backtrace import backtraces
from dwarfgpu.render.backtrace import BacktraceRenderer
from dwarfgpu.states.stopped import Stopped
from tests.builders import nested
from tests.builders.activations import SIZE, START, stack
from tests.builders.elf import ElfBuilder
from tests.builders.frames import FrameBuilder

NAMES = ["pc", "exec", "s30", "s31", "s32", "s33", "s40", "s41", "v0", "v40", "v41", "a3", "vcc"]
REGISTERS = st.sampled_from(NAMES)
NUMBERS = st.sampled_from([0, 1, 4, 8, 16, 64, 256, 0x400, START, START + SIZE + 4, 1 << 31, (1 << 32) - 1])
ENDS = {
    "outermost", "no_unwind_information", "outside_code", "no_call", "cycle", "same_frame", "limit_exceeded", "error",
}  # fmt: skip


@st.composite
def expressions(draw: Any) -> str:
    one = st.one_of(
        st.sampled_from(
            [
                *("DW_OP_swap", "DW_OP_drop", "DW_OP_dup", "DW_OP_deref_size 4", "DW_OP_deref_size 8", "DW_OP_deref"),
                *("DW_OP_plus", "DW_OP_LLVM_offset", "DW_OP_LLVM_form_aspace_address", "DW_OP_LLVM_undefined"),
                *("DW_OP_stack_value", "DW_OP_piece 4", "DW_OP_piece 8", "DW_OP_bit_piece 32 64", "DW_OP_lit6"),
                *("DW_OP_LLVM_select_bit_piece 32 64", "DW_OP_LLVM_extend 32 64", "DW_OP_LLVM_piece_end", "DW_OP_lit5"),
            ]
        ),
        st.builds(lambda name: f"DW_OP_regx {name}", REGISTERS),
        st.builds(lambda name: f"DW_OP_LLVM_call_frame_entry_reg {name}", REGISTERS),
        st.builds(lambda name, by: f"DW_OP_bregx {name} {by}", REGISTERS, NUMBERS),
        st.builds(lambda number: f"DW_OP_constu {number}", NUMBERS),
        st.builds(lambda number: f"DW_OP_LLVM_offset_uconst {number}", NUMBERS),
    )
    return ", ".join(draw(st.lists(one, max_size=7)))


@st.composite
def functions(draw: Any) -> str | bytes | None:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.none() | st.binary(max_size=24))
    spaces = st.sampled_from([6, 6, 6, 5, 1, 0])
    plain = st.builds(lambda r, n, a: f"LLVM_def_aspace_cfa ${r} {n} {a}", REGISTERS, NUMBERS, spaces)
    statements = [draw(plain | st.builds(lambda e: f"def_cfa_expression {{{e}}}", expressions()))]
    rule = st.one_of(
        st.builds(lambda r: f"undefined ${r}", REGISTERS),
        st.builds(lambda r: f"same_value ${r}", REGISTERS),
        st.builds(lambda r, n: f"offset_extended ${r} {n}", REGISTERS, NUMBERS),
        st.builds(lambda r, n: f"val_offset ${r} {n}", REGISTERS, NUMBERS),
        st.builds(lambda r, o: f"register ${r} ${o}", REGISTERS, REGISTERS),
        st.builds(lambda r, e: f"expression ${r} {{{e}}}", REGISTERS, expressions()),
        st.builds(lambda r, e: f"val_expression ${r} {{{e}}}", REGISTERS, expressions()),
        st.builds(lambda n: f"expression $pc {{DW_OP_constu {n}, DW_OP_stack_value}}", NUMBERS),
    )
    statements += draw(st.lists(rule, max_size=8))
    return "; ".join(statements)


@st.composite
def states(draw: Any) -> dict[str, Any]:
    registers: dict[str, Any] = {}
    for name in draw(st.lists(REGISTERS, unique=True)):
        if name[0] in "va" and name != "vcc":
            registers[name] = draw(st.lists(NUMBERS.map(lambda n: n & 0xFFFFFFFF), max_size=64))
        elif name != "vcc":
            registers[name] = draw(NUMBERS) & 0xFFFFFFFF
    memory = {("private_wave", 0x400): draw(st.binary(max_size=600)), ("global", 0): draw(st.binary(max_size=64))}
    return {"registers": registers, "memory": memory}


def ask_everything(made: Any) -> None:
    """Unwind, and ask for every register of every frame, for the thread and for a lane."""
    frames = []
    for frame in made:
        frames.append(frame)
        assert frame.level == len(frames) - 1
    assert made.end.kind in ENDS
    assert made.end.message
    thread = made.thread
    for frame in frames:
        for ask in (frame.register, frame.entry_register):
            for name in NAMES:
                register = thread.target.register_named(name)
                for lanes in (thread.lanes, LaneSet.one(5)):
                    try:
                        location = ask(register.number, lanes)
                        assert isinstance(location, Location)
                        if not is_undefined(location):
                            thread.accessor.read(location, min(register.bit_size, 32))
                    except DwarfGpuError:
                        pass
    assert thread.nesting == 0


@pytest.mark.slow
@given(st.lists(functions(), min_size=1, max_size=3), states(), st.sampled_from(["amd", "dwarf5", "dwarf6"]))
def test_any_rules_and_any_state(texts, state, rules):
    ask_everything(stack(texts, rules=rules, max_frames=12, **state))


@given(st.binary(max_size=40), st.binary(max_size=60), st.integers(0, 1 << 64))
def test_any_bytes_in_a_code_object(initial, instructions, pc):
    builder = FrameBuilder()
    builder.fde(builder.cie(initial, code=4, data=4), nested.KERNEL, nested.SIZE * 2, instructions)
    elf = ElfBuilder(flags=nested.GFX90A)
    text = elf.section(".text", bytes(nested.SIZE * 2), flags=0x6, address=nested.KERNEL)
    elf.section(".debug_frame", builder.data)
    elf.segment(1, nested.KERNEL, text, flags=5)
    machine, _ = nested.nested(2, 1)
    machine.set_register("pc", pc % (1 << 64) if pc % 3 else nested.KERNEL + pc % (2 * nested.SIZE))
    stopped = Stopped(machine, Loaded([LoadedCode(opened(elf.build()))]))  # type: ignore[arg-type]
    renderer = BacktraceRenderer(machine.target)
    for found in backtraces(stopped, [0], registers=True):
        for frame in found.frames:
            list(renderer.registers(frame.saved or ()))
        assert renderer.document(found)
