"""An address has one line, whoever asks: frames, `info --pc`, and `info line` at the prompt.

Of several rows at one address it is that of the last that begins a statement, as GDB chooses.
"""

import re

import pytest

import dwarfgpu
from dwarfgpu.program.code.code_lookup import line_table
from dwarfgpu.render.source_places import place_text, standing_text
from tests.builders.commands import run
from tests.builders.divergence import FIXTURES

FILES = (
    *("asm/lane-pc.gfx90a.w64.co", "amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "host/classes.gcc.O2.v5.x86_64"),
    *("host/optimized.gcc.O2.v4.x86_64", "host/values.gcc.O1.v4.x86_64", "host/frames.gcc.O2.v5.x86_64"),
)


@pytest.mark.parametrize("name", FILES)
def test_frames_and_lines_agree(name):
    state = dwarfgpu.open(str(FIXTURES / name)).state
    (code,) = state.loaded.codes
    for unit in code.file.dwarf.compile_units():
        for start, end in line_table(code.file, unit).ranges():
            for address in range(start, end):
                frame, line = code.calls_at(address)[0].source, state.sources.at(address)
                assert (0 if frame is None else frame.line) == (0 if line is None else line.line), hex(address)


def test_code_of_no_line_is_shown_with_the_line_before_it():
    """The rows of llvm-dwarfdump: 58 at 0x2210, 0 at 0x2218, 67 at 0x22a8 and 0 at 0x22b0."""
    program = dwarfgpu.open(str(FIXTURES / "amdgpu/cl-kernels.gfx1100.w32.O2.v5.co"))
    for address, line in ((0x2218, 58), (0x22B0, 67)):
        assert place_text(program.at(address)[0]).endswith(f"kernels.cl:0 (made by the compiler after line {line})")
        standing = standing_text(program.at(address)[0].state.loaded, address, short=True)
        assert standing.endswith(f" at kernels.cl:0 (made by the compiler after line {line})")
    assert place_text(program.at(0x2210)[0]).endswith("kernels.cl:58")


def test_an_access_of_no_line_fails_after_a_line(require_tool, tmp_path):
    """Clang gives two stores that it has merged the line 0; the values are those of the line before it."""
    require_tool("clang-22")
    source = tmp_path / "merged.cl"
    source.write_text(
        "kernel void merged(global int *out, global const int *in) {\n  int i = get_global_id(0);\n  if (in[i] > 3)\n"
        "    out[i] = in[i] * 2;\n  else\n    out[i] = in[i] + 7;\n}\n"
    )
    words = "-O2", str(source), "merged", "--grid=64", "--work-group=64", "out=zeros(2)", "in=zeros(64)"
    text = " ".join(run("run", *words).stdout.split())
    assert re.match(r"merged: MEMORY_VIOLATION at \S+merged.cl:0 \(made by the compiler after line (\d)\) \1 ", text)
    text = " ".join(run("debug", *words, "-ex", "continue").stdout.split())
    assert re.search(r"merged.cl:0 \(made by the compiler after line (\d)\) \1 ", text)
