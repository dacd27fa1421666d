"""Code objects and offload containers made by the compilers of the machine, and what LLVM's tools say about them."""

import json
import subprocess
from pathlib import Path
from typing import Any

KERNELS = """
typedef struct { int a; float b; char c[5]; } S;
global int shared_by_all;
int helper(global int *p, int n) {
  int l[8];
  for (int i = 0; i < 8; i++) l[i] = p[i] * n;
  return l[n & 7] + shared_by_all;
}
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void k1(global int *out, const global float *restrict in, local int *lds, S s, int n, constant char *cc) {
  int i = __builtin_amdgcn_workitem_id_x();
  lds[i] = helper(out, n) + s.a + cc[0];
  out[i] = lds[i] + (int)in[i];
}
__attribute__((work_group_size_hint(1, 2, 4))) __attribute__((vec_type_hint(int4)))
kernel void k2(global int *out, char c, short4 v) { out[0] = c + v.x; }
"""
HIP = """
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long, void *);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);
__global__ void NAME(int *p) { p[0] = 1; }
int call_NAME() { int x; void *a[] = {&x}; return hipLaunchKernel((const void *)NAME, {1, 1, 1}, {1, 1, 1}, a, 0, 0); }
"""
RUNTIME = """
int hipLaunchKernel() { return 0; }
int __hipPushCallConfiguration() { return 0; }
int __hipPopCallConfiguration() { return 0; }
void *__hipRegisterFatBinary(void *p) { return p; }
void __hipRegisterFunction() {}
void __hipUnregisterFatBinary() {}
int main() { return 0; }
"""


def run(*command: Any, folder: Path | None = None, **environment: str) -> str:
    import os

    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True, cwd=folder,
        env={**os.environ, **environment},
    ).stdout  # fmt: skip


def opencl(folder: Path, tools: Any, processor: str, *options: str, link: bool | str = True) -> Path:
    """The kernels above for a processor; ``link`` may be an option of the linker."""
    source = folder / "kernels.cl"
    source.write_text(KERNELS, "utf-8")
    name = "-".join([processor.replace(":", "_"), *(option.strip("-") for option in options)]).replace("/", "")
    out = folder / f"{name}.o"
    run(
        tools("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}",
        "-nogpulib", "-g", "-w", *options, "-c", source, "-o", out)  # fmt: skip
    if not link:
        return out
    linked = folder / f"{name}.co"
    flags = [link] if isinstance(link, str) else []
    run(tools("ld.lld-22"), "-shared", "--unresolved-symbols=ignore-all", *flags, out, "-o", linked)
    return linked


def bundle(folder: Path, tools: Any, entries: dict[str, Path], *options: str, version: str = "") -> Path:
    """A bundle of files by entry ID."""
    out = folder / f"bundle{len(list(folder.iterdir()))}"
    inputs = [f"-input={path}" for path in entries.values()]
    environment = {"COMPRESSED_BUNDLE_FORMAT_VERSION": version} if version else {}
    run(
        tools("clang-offload-bundler-22"), "-type=o", f"-targets={','.join(entries)}", *inputs, f"-output={out}",
        *options, **environment)  # fmt: skip
    return out


def host_program(folder: Path, tools: Any, *options: str, units: int = 2) -> Path:
    """A host program with a fat binary for gfx90a and gfx1100 from each of its units."""
    clang = tools("clang-22")
    tools("ld.lld-22")
    objects = [folder / "runtime.o"]
    (folder / "runtime.c").write_text(RUNTIME, "utf-8")
    run(clang, "-w", "-c", folder / "runtime.c", "-o", objects[0])
    for index in range(units):
        name = f"unit{index}"
        (folder / f"{name}.hip").write_text(HIP.replace("NAME", name), "utf-8")
        objects.append(folder / f"{name}.o")
        run(
            clang, "-x", "hip", "--offload-arch=gfx90a", "--offload-arch=gfx1100", "-nogpuinc", "-nogpulib", "-g",
            "-O1", *options, "-c", folder / f"{name}.hip", "-o", objects[-1], folder=folder)  # fmt: skip
    out = folder / "program"
    run(clang, *objects, "-o", out)
    return out


def readobj(path: Path, tools: Any, *options: str) -> dict[str, Any]:
    """What llvm-readobj says about a file."""
    return json.loads(run(tools("llvm-readobj-22"), "--elf-output-style=JSON", *options, path))[0]


def section_bytes(path: Path, tools: Any, name: str) -> bytes:
    """The bytes of a section as llvm-objcopy sees them, decompressed."""
    copy, out = path.with_suffix(".copied"), path.with_suffix(".section")
    run(tools("llvm-objcopy-22"), "--decompress-debug-sections", path, copy)
    run(tools("llvm-objcopy-22"), f"--dump-section={name}={out}", copy)
    return out.read_bytes()
