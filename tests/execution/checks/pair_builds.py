"""Code objects of the kernels that have a fault, and with it mended."""

import subprocess
from pathlib import Path

from dwarfgpu.cli import main

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
    words += ["-include", str(HERE.parent / "kernels.h"), str(HERE / source), "-o", path]
    subprocess.run(words, check=True, capture_output=True)
    return path
