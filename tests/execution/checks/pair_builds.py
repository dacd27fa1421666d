"""Code objects of the kernels that have a fault, and with it mended."""

import re
import subprocess
from pathlib import Path

from dwarfgpu.cli import main
from tests.builders import kept

HERE = Path(__file__).parent


def pair_build(clang: str, folder: Path, source: str, target: str, level: str, *options: str) -> str:
    """Return the path of a code object; HIP is built as `dwarfgpu compile` does, which has headers."""
    processor, _, wide = target.partition("-")
    path = str(folder / f"{source}.{target}.{level}{''.join(options)}.co")
    if source.endswith(".hip"):
        name = f"{processor}-wave64" if wide else processor
        words = f"--target={name}", f"-O{level[1:]}", "-o", path, "--", *options
        assert main(["compile", str(HERE / source), *words]) == 0
        return path
    words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}"]
    words += ["-g", "-w", "-nogpulib", *options, *(["-mwavefrontsize64"] if wide else [])]
    return kept.built([*words, "-include", HERE.parent / "kernels.h", HERE / source], path)


RESOURCES = {"gfx9": 0x00027000, "gfx10": 0x31016000, "gfx11": 0x31027000, "gfx12": 0x31027000}
"""The last word of the descriptor of a raw buffer, by generation."""
_MAKE = "@llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1)"


def buffer_build(clang: str, folder: Path, source: str, target: str, level: str, *options: str) -> str:
    """Return the path of a code object whose kernels reach all that their arguments point to as buffers."""
    words = [clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", f"-{level}", "-w", "-nogpulib"]
    stem = folder / f"{source}.{target}.{level}.buffers{''.join(options).replace('/', '')}"
    more = [each for each in options if each.startswith("-D")]
    read = ["-x", "cl", "-cl-std=CL2.0", "-g", "-include", str(HERE.parent / "kernels.h"), str(HERE / source)]
    made = ["-S", "-emit-llvm", "-fno-discard-value-names", "-o", f"{stem}.ll"]
    subprocess.run([*words, *more, *read, *made], check=True, capture_output=True)
    flags = next(flags for name, flags in RESOURCES.items() if target.startswith(name) and len(target) - len(name) < 3)
    Path(f"{stem}.ll").write_text(with_buffers(Path(f"{stem}.ll").read_text(), flags))
    rest = [each for each in options if each not in more]
    subprocess.run([*words, *rest, "-x", "ir", f"{stem}.ll", "-o", f"{stem}.co"], check=True, capture_output=True)
    return f"{stem}.co"


def with_buffers(text: str, flags: int) -> str:
    """Return LLVM IR whose kernels use their global pointers as pointers into buffers."""
    lines: list[str] = []
    names: list[str] = []
    for line in text.replace("define protected void @__clang_ocl", "define internal void @__clang_ocl").split("\n"):
        kernel = re.match(r"define .*amdgpu_kernel void @\w+\((.*)\)", line)
        if kernel:
            found = (re.search(r"%([\w.]+)", part) for part in kernel[1].split("ptr addrspace(1)")[1:])
            names = [name[1] for name in found if name]
        if kernel or not names or "#dbg_" in line:
            lines.append(line)
        elif line.startswith("entry:"):
            lines.append(line)
            for name in names:
                lines.append(f"%{name}.r = call ptr addrspace(8) {_MAKE} %{name}, i16 0, i64 65536, i32 {flags})")
                lines.append(f"%{name}.b = addrspacecast ptr addrspace(8) %{name}.r to ptr addrspace(7)")
        else:
            line = line.replace("addrspace(1)", "addrspace(7)")  # noqa: PLW2901
            lines.append(re.sub(rf"%({'|'.join(map(re.escape, names))})(?![\w.])", r"%\1.b", line))
            names = [] if line == "}" else names
    return "\n".join([*lines, f"declare ptr addrspace(8) {_MAKE}, i16, i64, i32)"])
