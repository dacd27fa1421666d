"""Files that are not linked: where all symbols are in them, they run as what a linker makes of them."""

import random
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.linking import linked
from dwarfgpu.objfile.elf.loading import load
from dwarfgpu.program.code.code_object import opened
from tests.builders.elf import ElfBuilder
from tests.builders.parameters import for_each
from tests.questions.harness import Run

FOLDER = Path("fixtures/amdgpu")
OBJECTS = ["cl-kernels.gfx1100.w32.O2.v5.o", "cl-kernels.gfx90a.w64.O0.v5.o", "cl-kernels.gfx90a.w64.O2.v4.o"]
SOURCE = """
__device__ int table_data[4] = {10, 20, 30, 40};
__device__ int *pointers[2] = {table_data + 1, table_data + 3};
extern "C" __device__ __attribute__((noinline)) int twice(int x) { return 2 * x + *pointers[x & 1]; }
__device__ int (*calls[2])(int) = {twice, twice};
extern "C" __global__ void use(int *out) { int i = __builtin_amdgcn_workitem_id_x(); out[i] = calls[i & 1](i); }
extern "C" __device__ int elsewhere(int);
extern "C" __global__ void other(int *out) { out[0] = MISSING; }
"""


def results(path, kernel, output, count=64, **args):
    machine = machine_for(path, kernel)
    done = launch(machine, path, kernel, grid=count, work_group=count, args=args)
    halt = machine.run()
    assert halt.has_ended, halt
    return done.buffers[output].tolist()


@pytest.mark.parametrize("name", OBJECTS)
def test_a_file_that_is_not_linked_runs_as_the_linked_one(name):
    paths = [str(FOLDER / name), str(FOLDER / name.replace(".o", ".co"))]
    first, second = (results(path, "divergent", "out", out="zeros(64)", limit=40) for path in paths)
    assert first == second
    saxpy = (results(path, "saxpy", "y", y="ones(64)", x="arange(64)", a=0.5, n=60) for path in paths)
    assert next(saxpy) == next(saxpy)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_words_with_addresses_and_operands_of_a_table(require_tool, tmp_path, processor):
    clang = require_tool("clang-22")
    head = "#define __device__ __attribute__((device))\n#define __global__ __attribute__((global))\n"
    (tmp_path / "k.hip").write_text(head + SOURCE)
    words = [clang, "-x", "hip", "--offload-device-only", f"--offload-arch={processor}", "-O1", "-g", "-w", "-nogpulib"]
    words += ["-nogpuinc", "--no-gpu-bundle-output", "-fgpu-rdc", "-fvisibility=default", "-S", "k.hip"]
    for missing, name in (("1", "whole"), ("elsewhere(1)", "part")):
        subprocess.run([*words, f"-DMISSING={missing}", "-emit-llvm", "-o", f"{name}.ll"], cwd=tmp_path, check=True)
        target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-O1", "-nogpulib", "-w"]
        subprocess.run([clang, *target, "-c", f"{name}.ll", "-o", f"{name}.o"], cwd=tmp_path, check=True)
    found = results(str(tmp_path / "whole.o"), "use", "out", 8, out="zeros(8)")
    assert found == [2 * i + (40 if i & 1 else 20) for i in range(8)]
    part = str(tmp_path / "part.o")
    machine = machine_for(part, "other")
    with pytest.raises(UsageError, match="is not linked, and elsewhere is not in the file"):
        launch(machine, part, "other", grid=1, work_group=1)


LOADED_AT = 0x7F0000000000
WORD = 24


def data_after_linking(number, *, addend=4, place=1, addends=True):
    """Return what the loaded word of a relocation of `.data` holds, S, P and G + GOT; its symbol is in `.text`."""
    builder = ElfBuilder(type=1, machine=224)
    builder.section(".text", bytes(0x400), flags=6, align=256)
    target = builder.section(".data", bytes(64), flags=3, align=8)
    table = builder.symbols([("here", 0x24, 0, 0, 1, place)])
    builder.relocations(target, table, [(WORD, number, 1, addend)], addends=addends)
    image = Image(linked(Image(builder.build())))
    text, data = (image.section(name).address for name in (".text", ".data"))
    content = load(image, LOADED_AT)
    slot = next(
        (at for at, words in content.items() if words[:8] == (text + 0x24 + LOADED_AT).to_bytes(8, "little")), 0
    )
    word = int.from_bytes(content[data + LOADED_AT][WORD : WORD + 8], "little")
    return word, text + 0x24 + LOADED_AT, data + WORD + LOADED_AT, slot


@for_each(
    "number, formula, shift, bits",
    (0, "0", 0, 64), (1, "S + A", 0, 32), (2, "S + A", 32, 32), (3, "S + A", 0, 64), (4, "S + A - P", 0, 32),
    (5, "S + A - P", 0, 64), (7, "GOT + A - P", 0, 32), (8, "GOT + A - P", 0, 32), (9, "GOT + A - P", 32, 32),
    (10, "S + A - P", 0, 32), (11, "S + A - P", 32, 32), (14, "branch", 0, 16),
)  # fmt: skip
def test_each_relocation_is_applied_where_the_file_is_loaded(number, formula, shift, bits):
    """AMDGPU usage, "Relocation Records"; that of a branch counts words from its end."""
    word, symbol, place, slot = data_after_linking(number, addend=4)
    values = {"0": 0, "S + A": symbol + 4, "S + A - P": symbol + 4 - place, "GOT + A - P": slot + 4 - place}
    values["branch"] = (symbol + 4 - place - 4) // 4
    assert word == values[formula] >> shift & (1 << bits) - 1


@for_each(
    "number, options, message",
    (6, {}, "R_AMDGPU_ABS32 gives 0x7f0000001028, more than 32 bits"),
    (12, {}, "the relocation of type 12 at .data+0x18 is not one of such files"),
    (13, {}, "the relocation R_AMDGPU_RELATIVE64 at .data+0x18 is not one of such files"),
    (99, {}, "the relocation of type 99 at .data+0x18 is not one of such files"),
    (4, {"place": 0xFFF1}, "the relocation R_AMDGPU_REL32 at .data+0x18 has the distance of a fixed address"),
    (3, {"place": 0}, "here is not in the file"),
    (3, {"addends": False}, "the relocations in .rel.data are of type REL, and AMDGPU's are RELA"),
)  # fmt: skip
def test_what_cannot_be_applied_is_refused(number, options, message):
    with pytest.raises(DwarfGpuError) as error:
        data_after_linking(number, **options)
    assert message in error.value.message


def test_the_debugger_runs_it():
    run = Run(str(FOLDER / OBJECTS[0]))
    text = run("target launch divergent 64 64 out=zeros(64) limit=40", "break divergent", "run")
    assert "Wave 1 hit Breakpoint 1, with lanes [0-31]" in text
    assert "divergent (out=" in text


@pytest.mark.parametrize("number", range(60))
def test_damaged_files_are_linked_or_refused(number):
    numbers = random.Random(number)
    data = bytearray((FOLDER / OBJECTS[number % 3]).read_bytes())
    start = numbers.choice((0, len(data) - 64 * 30))
    for _ in range(numbers.randrange(1, 20)):
        data[numbers.randrange(start, len(data))] = numbers.choice((0, 1, 0x7F, 0xFF, numbers.randrange(256)))
    try:
        opened(linked(Image(bytes(data))))
    except DwarfGpuError:
        return
