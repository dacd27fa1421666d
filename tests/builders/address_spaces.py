"""A kernel that has pointers into all address spaces, compiled by clang, and a state in which it has stopped."""

import json
import re
import shlex
import struct
import subprocess
from pathlib import Path
from typing import Any

SOURCE = """
struct N { __private int *p; int v; __local int *q; };
struct M { __local char *c; struct N n; __global int *g; int *any; };
void use(struct N *n, struct M *m, __private int **arr, __local int **la) { *m->g = *arr[1] + n->v + *la[1]; }
void f(__global int *out, __local int *shared) {
  __private int a = 1, b = 2, c = 3;
  __private int *arr[3] = {&a, &b, &c};
  __local int *la[2] = {shared, shared + 1};
  struct N n = {&b, 7, shared + 2};
  int *gen = (int *)shared;
  int *genp = &a;
  struct M m = {(__local char *)shared, n, out, gen};
  __local int *null_local = 0;
  __private int *null_private = 0;
  int *null_generic = 0;
  shared[1] = 5;
  use(&n, &m, arr, la);
  out[0] = *arr[2] + *gen + *genp + (null_local == 0) + (null_private == 0) + (null_generic == 0);
}
"""
SHARED = 0x20
"""The local address that the caller passed."""
LOCAL, PRIVATE = 1 << 48, 2 << 48
"""The apertures of Linux from GFX9 on."""
BASE = 0x7F0000000000
LANES = (0, 5)


class StoppedKernel:
    """The function f of a processor, stopped before it calls, in a few lanes."""

    def __init__(self, folder: Path, tools: Any, processor: str) -> None:
        cpu, _dash, wave = processor.partition("-wave")
        source = folder / "f.cl"
        source.write_text(SOURCE, "utf-8")
        clang = tools("clang-22", "clang")
        options = shlex.split("-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -g -gdwarf-5 -O0 -w")
        mode = {"32": ["-mno-wavefrontsize64"], "64": ["-mwavefrontsize64"]}.get(wave, [])
        self.path = folder / "f.co"
        made = folder / "f.o"
        subprocess.run([clang, *options, f"-mcpu={cpu}", *mode, "-c", source, "-o", made], check=True)
        subprocess.run([tools("ld.lld-22", "ld.lld"), "-shared", made, "-o", self.path], check=True)
        dumper = tools("llvm-dwarfdump-22", "llvm-dwarfdump")
        text = subprocess.run([dumper, "--name=f", "-c", self.path], check=True, capture_output=True, text=True).stdout
        self.offsets = {
            name: int(offset)
            for offset, name in re.findall(r'DW_OP_fbreg \+(\d+),[^\n]*\n\s*DW_AT_name\s+\("(\w+)"\)', text)
        }
        reader = tools("llvm-objdump-22", "llvm-objdump")
        command = [reader, "-d", "--no-show-raw-insn", "--disassemble-symbols=f", f"--mcpu={cpu}", self.path]
        self.code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.state = folder / "state.json"
        self.state.write_text(json.dumps(self._snapshot(f"amdgcn-{processor}")), "utf-8")

    def stores(self, first: int, count: int) -> dict[int, int]:
        """The bytes that the code stores in its frame, by their offsets, among some bytes."""
        found = {}
        for dwords, offset in re.findall(
            r"(?:scratch|buffer)_store_(b32|b64|dwordx2|dword)\s.*offset:(\d+)", self.code
        ):
            found[int(offset)] = 8 if dwords in ("b64", "dwordx2") else 4
        return {at: size for at, size in found.items() if first <= at < first + count}

    def _snapshot(self, target: str) -> dict[str, Any]:
        at = self.offsets
        (pc,) = (int(address, 16) for address in re.findall(r"s_swappc_b64 .*// ([0-9A-F]+)", self.code))
        memory: list[dict[str, Any]] = [
            {"space": "local", "work_group": [0, 0, 0], "address": SHARED, "bytes": struct.pack("<3i", 4, 5, 6).hex()},
            {"space": "global", "address": 0x1000, "bytes": struct.pack("<i", 99).hex()},
        ]
        for lane in LANES:
            a, b, c = at["a"], at["b"], at["c"]
            inner = struct.pack("<IiI", b, 7, SHARED + 8)
            content = {
                "out": struct.pack("<Q", 0x1000), "shared": struct.pack("<I", SHARED),
                "a": struct.pack("<i", 100 + lane),                "b": struct.pack("<i", 200 + lane),
                "c": struct.pack("<i", 300 + lane),                "arr": struct.pack("<3I", a, b, c),
                "la": struct.pack("<2I", SHARED, SHARED + 4),      "n": inner,
                "gen": struct.pack("<Q", LOCAL + SHARED),          "genp": struct.pack("<Q", PRIVATE + a),
                "m": struct.pack("<I", SHARED) + inner + struct.pack("<2Q", 0x1000, LOCAL + SHARED),
                "null_local": b"\xff" * 4,        "null_private": b"\xff" * 4,      "null_generic": bytes(8),
            }  # fmt: skip
            memory += [
                {"space": "private_lane", "wave": "w", "lane": lane, "address": at[name], "bytes": data.hex()}
                for name, data in content.items()
            ]
        registers = {"s32": 0x4000, "s33": 0}
        place = {"id": "w", "dispatch": 1, "work_group": [0, 0, 0], "wave_in_group": 0, "pc": hex(BASE + pc)}
        return {
            "schema": 1,         "target": target,    "code_objects": [{"path": "f.co", "load_address": hex(BASE)}],
            "dispatches": [{"id": 1, "kernel": "f", "grid": [32, 1, 1], "work_group": [32, 1, 1]}],
            "waves": [{**place, "exec": "0x21", "registers": registers}],  "memory": memory}  # fmt: skip


REGISTERS = """
__attribute__((noinline)) int leaf(__local int *q, __private int *p, __global int *g, int n) {
  return *q + *p + g[n];
}
__attribute__((noinline)) int g(__local int *q, __private int *p, __global int *o, int n) {
  __local int *next = q + n;
  int sum = *q + *p;
  o[n] = sum + *next;
  o[1] = leaf(next, p, o, n);
  return sum + n;
}
__kernel void caller(__global int *o, __local int *q, int n) {
  __private int a[4] = {n, n, n, n};
  o[2] = g(q, a + (n & 3), o, n);
}
"""


def optimized(folder: Path, tools: Any, processor: str, version: int) -> tuple[Path, dict[str, tuple[int, int, int]]]:
    """The function g of optimized code, whose pointers are in registers; of q and p the range and the register."""
    cpu, _dash, wave = processor.partition("-wave")
    source, made, path = (folder / name for name in ("g.cl", "g.o", "g.co"))
    source.write_text(REGISTERS, "utf-8")
    options = shlex.split(f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -g -gdwarf-{version} -O2 -w")
    mode = {"32": ["-mno-wavefrontsize64"], "64": ["-mwavefrontsize64"]}.get(wave, [])
    subprocess.run([tools("clang-22", "clang"), *options, f"-mcpu={cpu}", *mode, "-c", source, "-o", made], check=True)
    subprocess.run([tools("ld.lld-22", "ld.lld"), "-shared", made, "-o", path], check=True)
    dumper = tools("llvm-dwarfdump-22", "llvm-dwarfdump")
    text = subprocess.run([dumper, "--name=g", "-c", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for entry in text.split("DW_TAG_")[1:]:
        name = re.search(r'DW_AT_name\s+\("([qp])"\)', entry)
        place = re.search(r"\[0x(\w+), 0x(\w+)\): DW_OP_bregx (0x\w+|VGPR\d+) ?\+0, DW_OP_lit[0-9]+", entry)
        if name is not None and place is not None:
            text = place[3]
            number = 2560 + int(text[4:]) if text.startswith("VGPR") else int(text, 16)
            found[name[1]] = int(place[1], 16), int(place[2], 16), number
    return path, found


HIP = """
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
struct B1 { int x; };
struct B2 { int y; };
struct D : B1, B2 { int z; };
__device__ int use(int &r, D *d, int *p, B2 *b, int (&a)[3], D *none) {
  return r + d->z + *p + b->y + a[1] + (none != nullptr);
}
__global__ void k(int *out) {
  D d;
  int a[3] = {4, 5, 6};
  int &r = a[2];
  int *p = a;
  B2 *b = &d;
  D *none = 0;
  out[0] = use(r, &d, p, b, a, none);
}
"""


def hip(folder: Path, tools: Any, processor: str) -> tuple[Path, Path, dict[str, int]]:
    """A HIP kernel, whose pointers are all generic, stopped before its call; where its variables are."""
    cpu, _dash, wave = processor.partition("-wave")
    source, path, state = (folder / name for name in ("h.hip", "h.co", "state.json"))
    source.write_text(HIP, "utf-8")
    options = shlex.split("-x hip --offload-device-only -nogpuinc -nogpulib -g -gdwarf-5 -O0 --no-gpu-bundle-output -w")
    mode = {"32": ["-mno-wavefrontsize64"], "64": ["-mwavefrontsize64"]}.get(wave, [])
    clang = tools("clang-22", "clang")
    subprocess.run([clang, *options, f"--offload-arch={cpu}", *mode, "-c", source, "-o", path], check=True)
    dumper = tools("llvm-dwarfdump-22", "llvm-dwarfdump")
    text = subprocess.run([dumper, "--name=k", "-c", path], check=True, capture_output=True, text=True).stdout
    pattern = r'DW_OP_fbreg \+(\d+),[^\n]*\n\s*DW_AT_name\s+\("(\w+)"\)'
    at = {name: int(offset) for offset, name in re.findall(pattern, text)}
    reader = tools("llvm-objdump-22", "llvm-objdump")
    command = [reader, "-d", "--no-show-raw-insn", "--disassemble-symbols=_Z1kPi", f"--mcpu={cpu}", path]
    code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (pc,) = (int(address, 16) for address in re.findall(r"s_swappc_b64 .*// ([0-9A-F]+)", code))
    content = {
        "out": struct.pack("<Q", 0x1000),    "d": struct.pack("<3i", 1, 2, 3),    "a": struct.pack("<3i", 4, 5, 6),
        "r": struct.pack("<Q", PRIVATE + at["a"] + 8),                            "p": struct.pack("<Q", LOCAL),
        "b": struct.pack("<Q", PRIVATE + at["d"] + 4),                            "none": bytes(8)}  # fmt: skip
    memory: list[dict[str, Any]] = [
        {"space": "private_lane", "wave": "w", "lane": 0, "address": at[name], "bytes": data.hex()}
        for name, data in content.items()
    ]
    memory.append({"space": "local", "work_group": [0, 0, 0], "address": 0, "bytes": "07000000"})
    waves = [{"id": "w", "dispatch": 1, "work_group": [0, 0, 0], "wave_in_group": 0, "pc": hex(BASE + pc)}]
    waves[0] |= {"exec": "0x1", "registers": {"s33": 0, "s32": 0x4000}}
    dispatch = {"id": 1, "kernel": "k", "grid": [32, 1, 1], "work_group": [32, 1, 1]}
    machine = {"schema": 1, "target": f"amdgcn-{processor}", "dispatches": [dispatch], "waves": waves, "memory": memory}
    state.write_text(json.dumps(machine | {"code_objects": [{"path": path.name, "load_address": hex(BASE)}]}), "utf-8")
    return path, state, at
