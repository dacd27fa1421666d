"""Scopes and variables that are remembered between their edges are those that each address has when asked alone."""

import pytest

from dwarfgpu.audits.judge.variable_values import LocatedVariables
from dwarfgpu.program.code.scopes import functions_at
from dwarfgpu.program.frames.variable import STATIC
from dwarfgpu.states.program import open_program

FILES = (
    "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co",
    "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co",
    "fixtures/asm/lane-pc.gfx90a.w64.co",
    "fixtures/host/optimized.gcc.O2.v5.x86_64",
)


def addresses_of(program, step):
    section = program.file.image.section(".text")
    return range(section.address, section.address + section.size, step)


@pytest.mark.parametrize("path", FILES)
def test_the_functions_at_each_address(path):
    program = open_program(path)
    code = program.state.loaded.codes[0]
    found = 0
    for address in addresses_of(program, 4):
        expected = functions_at(program.file, address)
        assert code.functions_at(code.in_program(address)) == expected, hex(address)
        found += len(expected)
    assert found


@pytest.mark.parametrize("path", FILES)
def test_the_variables_with_a_location_at_each_address(path):
    program = open_program(path)
    located = LocatedVariables()
    count = 0
    for address in addresses_of(program, 8):
        for frame in program.at(address):
            here = {each.die for each in located.at(frame)}
            for variable in frame.variables():
                if variable.kind != STATIC:
                    has_location = bool(variable.expressions_at(frame.place_in_file))
                    assert (variable.die in here) == has_location, (hex(address), variable.name)
                    count += variable.die in here
    assert count
