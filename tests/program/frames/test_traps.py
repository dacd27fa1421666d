import json
import subprocess
from pathlib import Path

import pytest

import dwarfgpu as dg
from dwarfgpu.program.frames.wave import trap_at
from tests.builders.parameters import for_each
from tests.questions.harness import Run

OLD = Path("fixtures/asm/code-object-v2.gfx803.co")
TEXT = """
    .text
    .globl f
    .p2align 8
    .type f,@function
f:
    s_nop 0
    s_trap {number}
    s_nop 0
    s_endpgm
    .size f, . - f
"""


@pytest.mark.parametrize("processor", ["gfx803", "gfx90a", "gfx1030", "gfx1100", "gfx1200"])
@for_each("number, meaning",
    (1, "breakpoint of a debugger"),      (2, "llvm.trap"),                     (3, "llvm.debugtrap"),
    (7, "reserved"),                      (9, "reserved"))  # fmt: skip
@pytest.mark.sampled(6)
def test_the_meaning_of_a_trap_is_told_where_a_wave_stopped(processor, number, meaning, tmp_path, require_tool):
    """AMDGPU usage, "Trap Handler ABI". The program counter is at the instruction, or the handler has moved it on."""
    (tmp_path / "x.s").write_text(TEXT.format(number=number))
    assembler = [require_tool("llvm-mc-22"), "-triple", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj"]
    subprocess.run([*assembler, "x.s", "-o", "x.o"], cwd=tmp_path, check=True)
    subprocess.run([require_tool("ld.lld-22"), "-shared", "x.o", "-o", "x.co"], cwd=tmp_path, check=True)
    program = dg.open(str(tmp_path / "x.co"))
    start = program.file.symbol_image.symbol_named("f").value
    for offset, told in ((4, "at"), (8, "after"), (12, None)):
        waves = [{"id": "0", "pc": hex(start + offset), "exec": "0x1", "registers": {}}]
        state = tmp_path / f"state{offset}.json"
        state.write_text(json.dumps({"schema": 1, "target": f"amdgcn-amd-amdhsa--{processor}", "waves": waves}))
        trap = trap_at(program.attach(str(state))[0].frame(0))
        assert (trap is None) == (told is None)
        if trap is not None and told is not None:
            assert (trap.number, trap.address) == (number, start + 4)
            text = " ".join(Run(tmp_path / "x.co", state)("info frame").split())
            assert f"stopped {told} s_trap {number}: " in text
            assert meaning in text
            assert ("queue not known" in text) == (number == 2 and processor == "gfx803")


@for_each("registers, told",
    ({}, "debugtrap(not known), queue not known"),
    ({"v0": list(range(5, 69)), "s0": "0x11000", "s1": "0x7f00"}, "debugtrap(0x6 to 0x7), queue 0x7f0000011000"),
    ({"v0": [9] * 64, "s0": "0x11000"}, "debugtrap(0x9), queue not known"))  # fmt: skip
def test_a_debugtrap_of_an_old_code_object_has_its_argument_and_queue(registers, told, tmp_path):
    """AMDGPU usage of 2020, "Trap Handler ABI": s_trap 1 has the queue in s[0:1] and the argument in v0."""
    data = bytearray(OLD.read_bytes())
    program = dg.open(str(OLD))
    start = program.file.behind_header(program.file.symbol_image.symbol_named("vector_add").value)
    place = start - 0x1000  # the address less the offset of the segment of code
    data[place : place + 4] = (0xBF920001).to_bytes(4, "little")
    (tmp_path / "x.co").write_bytes(data)
    waves = [{"id": "0", "pc": hex(start), "exec": "0x6", "registers": registers}]
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx803", "waves": waves}))
    text = " ".join(Run(tmp_path / "x.co", state)("info frame").split())
    assert f"stopped at s_trap 1: llvm.debugtrap with an argument (HSA debugtrap): {told} " in f"{text} "
