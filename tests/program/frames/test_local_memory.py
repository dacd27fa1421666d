"""Where variables of local memory lie, which compilers do not say: compared with the addresses that kernels store."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch import launch as launching
from dwarfgpu.program.code.repairs import UNWRITTEN
from dwarfgpu.program.frames.local_memory import LocalObject, local_objects
from dwarfgpu.program.frames.variable import owner_of, variables_of

VECTORS = """
typedef float float4 __attribute__((ext_vector_type(4)));
typedef long long8 __attribute__((ext_vector_type(8)));
"""
KERNELS = {
    "one": "int tile[64]",
    "gaps": "char c[5]; int i[33]; short s; float4 v[3]; long l[3]; char b[3]",
    "vectors": "char c[70]; long8 v; int i[3]; short s[5]",
    "alike": "int b[8]; float a[8]; int c[16]; int behind_a_name[8]; int bb[8]",
}
"""Declarations of variables in local memory."""
TYPES = {"local": ("cl", "-cl-std=CL2.0"), "__shared__": ("hip", "--offload-device-only")}


def source(kernel: str, space: str) -> tuple[str, list[str]]:
    """Return a kernel that stores the address of each of its variables, and uses them; and their names."""
    declared = [each.strip() for each in KERNELS[kernel].split(";")]
    names = [each.split()[1].partition("[")[0] for each in declared]
    is_cl = space == "local"
    lines = [VECTORS, "kernel" if is_cl else 'extern "C" __attribute__((global))']
    lines.append(f"void k({'global ' if is_cl else ''}long *out, int at) {{")
    if not is_cl:
        lines[0] += "#define __shared__ __attribute__((shared))\n"
    lines += [f"  {space} {each};" for each in declared]
    for number, name in enumerate(names):
        byte = f"(({'local ' if is_cl else ''}volatile char *)&{name})"
        lines += [f"  {byte}[at] = 1;", f"  out[{number}] = (unsigned)(unsigned long){byte};"]
    return "\n".join([*lines, "}"]), names


@pytest.mark.parametrize("space", TYPES)
@pytest.mark.parametrize("processor, level", [("gfx1100", "O0"), ("gfx90a", "O2")])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.sampled(8)
def test_variables_are_where_llvm_puts_them(
    kernel: str, processor: str, level: str, space: str, require_tool: Any, tmp_path: Path
) -> None:
    text, names = source(kernel, space)
    language, option = TYPES[space]
    (path := tmp_path / f"k.{language}").write_text(text)
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}"]
    if language == "hip":
        target = [f"--offload-arch={processor}", "-nogpuinc", "--no-gpu-bundle-output"]
    words = [*target, "-x", language, option, f"-{level}", "-g", "-w", "-nogpulib", path, "-o", tmp_path / "k.co"]
    subprocess.run([require_tool("clang-22"), *words], check=True)
    launched, found = launch(tmp_path / "k.co", out=f"zeros({len(names)},i8)", at=0)
    assert launched.machine is not None
    launched.machine.run()
    assert [found[name].address for name in names] == [value & 0xFFFFFFFF for value in launched.buffers["out"].tolist()]
    assert all(found[name].is_certain for name in names)
    for repair in ("auto", "off"):
        program = dwarfgpu.open(str(tmp_path / "k.co"), repair=repair)
        (unit,) = program.file.dwarf.units
        known = {each.name: each for each in variables_of(program.outside, program.state.loaded.codes[0], unit)}
        for name in names if level == "O0" else ():
            assert bool(known[name].locations()) == (repair == "auto")
            if repair == "auto":
                assert known[name].object(None).address.value == found[name].address
                assert [each.name for each in known[name].repairs] == [UNWRITTEN.name]


CALLED = """
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
struct Pair { int a; short b; };
template <int N> DEVICE __attribute__((noinline)) void twice(volatile long *out) {
  SHARED int first[N]; SHARED Pair pairs[N];
  out[0] = (unsigned long)(volatile char *)&first; out[1] = (unsigned long)(volatile char *)&pairs;
}
DEVICE __attribute__((always_inline)) inline void thrice(volatile long *out) {
  SHARED int second[64];
  out[0] = (unsigned long)(volatile char *)&second;
}
extern "C" __attribute__((global)) void k(volatile long *out) {
  SHARED double own[64]; SHARED int flag;
  twice<64>(out); thrice(out + 2); twice<32>(out + 3);
  out[5] = (unsigned long)(volatile char *)&own; out[6] = (unsigned long)(volatile char *)&flag;
}
"""
SECOND_KERNEL = """
extern "C" __attribute__((global)) void other(volatile long *out) { twice<32>(out); }
"""


@pytest.mark.parametrize("processor", ["gfx1100", "gfx90a"])
@pytest.mark.parametrize("text", [CALLED, CALLED + SECOND_KERNEL])
def test_variables_of_functions_are_in_the_memory_of_the_sole_kernel(
    text: str, processor: str, require_tool: Any, tmp_path: Path
) -> None:
    (path := tmp_path / "k.hip").write_text(text)
    words = [f"--offload-arch={processor}", "-nogpuinc", "--no-gpu-bundle-output", "--offload-device-only", "-nogpulib"]
    subprocess.run(
        [require_tool("clang-22"), "-x", "hip", *words, "-O0", "-g", "-w", path, "-o", tmp_path / "k.co"], check=True
    )
    launched, _found = launch(tmp_path / "k.co", out="zeros(7,i8)")
    launched.machine.run()
    program = dwarfgpu.open(str(tmp_path / "k.co"))
    (unit,) = program.file.dwarf.units
    known = [*variables_of(program.outside, program.state.loaded.codes[0], unit)]
    unwritten = [each for each in known if each.kind == "local"]
    names = [("twice<64>", "first"), ("twice<64>", "pairs"), ("thrice", "second"), ("twice<32>", "first"),
             ("twice<32>", "pairs"), ("k", "own"), ("k", "flag")]  # fmt: skip
    found = {(owner_of(each), each.name): each for each in unwritten}
    if "other" in text:
        for name in names:
            with pytest.raises(dwarfgpu.Unavailable, match="2 kernels may each place it elsewhere"):
                found[name].object(None)
        return
    stored = [value & 0xFFFFFFFF for value in launched.buffers["out"].tolist()]
    assert [found[name].object(None).address.value for name in names] == stored
    assert sorted(stored) == [0, 512, 1024, 1280, 1536, 1792, 1920]


def test_an_optimized_private_array_is_not_taken_for_a_local_one(require_tool: Any, tmp_path: Path) -> None:
    """Neither has a location; one of them is as large as the local memory of the kernel."""
    body = "SHARED float t[64]; float u[1]; u[0] = out[n]; t[n ^ 8] = u[0]; u[0] = t[n]; out[n] = 2 * u[0];"
    head = '#define SHARED __attribute__((shared))\nextern "C" __attribute__((global)) void k(float *out, int n)'
    (path := tmp_path / "k.hip").write_text(f"{head} {{ {body} }}")
    words = ["--offload-arch=gfx1100", "-nogpuinc", "--no-gpu-bundle-output", "--offload-device-only", "-nogpulib"]
    subprocess.run([require_tool("clang-22"), *words, "-O2", "-g", "-w", path, "-o", tmp_path / "k.co"], check=True)
    _launched, found = launch(tmp_path / "k.co", out="zeros(64)", n=1)
    assert {name: (each.address, each.is_certain) for name, each in found.items()} == {"t": (0, False)}


WITHOUT_A_PLACE = {
    "as large as": "local int t[4]; float u[4]; t[n] = n; u[n] = n; out[0] = t[0] + u[0];",
    "of a constant": "local int t[4]; constant int u[4] = {1, 2, 3, 4}; t[n] = n; out[0] = t[0] + u[n];",
}


@pytest.mark.parametrize("body", WITHOUT_A_PLACE)
def test_other_variables_without_a_location_are_not_in_local_memory(
    body: str, require_tool: Any, tmp_path: Path
) -> None:
    (path := tmp_path / "k.cl").write_text(f"kernel void k(global int *out, int n) {{ {WITHOUT_A_PLACE[body]} }}")
    words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-g", "-w", "-nogpulib", path]
    for level in ("-O0", "-O2"):
        subprocess.run([require_tool("clang-22"), *words, level, "-o", tmp_path / "k.co"], check=True)
        program = dwarfgpu.open(str(tmp_path / "k.co"))
        (unit,) = program.file.dwarf.units
        known = variables_of(program.outside, program.state.loaded.codes[0], unit)
        repaired = {each.name for each in known if UNWRITTEN in each.repairs}
        assert repaired == ({"t"} if level == "-O0" else set())


def test_what_optimized_code_has_no_location_for_is_not_said_to_be_in_local_memory(
    require_tool: Any, tmp_path: Path
) -> None:
    (path := tmp_path / "k.cl").write_text(
        "kernel void k(global int *out) { local int t[4]; long gone = __builtin_amdgcn_workgroup_id_x() * 64;"
        "int n = out[1]; t[n & 3] = n; out[gone] = t[0]; }"
    )
    words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-g", "-w", "-nogpulib", "-O2", path]
    subprocess.run([require_tool("clang-22"), *words, "-o", tmp_path / "k.co"], check=True)
    launched, _found = launch(tmp_path / "k.co", out="zeros(4)")
    gone = Running(launched).attached[0].frame(0).variable("gone")
    with pytest.raises(dwarfgpu.Unavailable) as unavailable:
        gone.object(None)
    assert "local memory" not in str(unavailable.value)


def launch(path: Path, **arguments: Any) -> tuple[Any, dict[str, LocalObject]]:
    """Launch one work-item, and return what lies in its local memory by name."""
    launched = launching.launch(
        launching.machine_for(str(path), "k"), str(path), "k", grid=1, work_group=1, args=arguments
    )
    wave = Running(launched).attached[0]
    return launched, {each.name: each for each in local_objects(wave.frame(0), wave.launch)}


def test_the_memory_of_an_argument_ends_where_the_next_begins(require_tool: Any, tmp_path: Path) -> None:
    (path := tmp_path / "k.cl").write_text(
        "kernel void k(local int *a, local int *b) { a[0] = b[0]; local int c[8]; c[1] = 2; }"
    )
    words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-O0", "-g", "-nogpulib", path]
    subprocess.run([require_tool("clang-22"), *words, "-o", tmp_path / "k.co"], check=True)
    _launched, found = launch(tmp_path / "k.co", a=40, b=64)
    assert [(each.name, each.address, each.size) for each in found.values()] == [
        ("c", 0, 32),
        ("a", 32, 40),
        ("b", 72, 64),
    ]
