"""The headers of HIP: those of dwarfgpu, or those of ROCm where the words for a compiler name their folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dwarfgpu.compilers.clang import Clang
from dwarfgpu.targets.target import Target

_OWN = Path(__file__).parent / "library" / "include"
_NAME = "hip/hip_runtime.h"
_FOLDERS = ("-I", "-isystem", "-idirafter")
ROCM = "--rocm-path="
_RECIPROCALS = (
    "-D__llvm_amdgcn_rcp_f16(x)=__builtin_amdgcn_rcph(x)",
    "-D__llvm_amdgcn_rcp_2f16(x)=(__half2_raw{1 / static_cast<__half2_raw>(x).data})",
)
"""What headers of ROCm 5 call and the headers of clang do not declare any more."""
_WITHOUT_SIZE = 22
"""The first version of clang that does not define the size of waves, which headers of HIP ask for."""
_SIZES = {"-mwavefrontsize64": 64, "-mno-wavefrontsize64": 32}


def _folders(words: Sequence[str]) -> Iterator[str]:
    """Yield the folders of headers that the words for a compiler name."""
    for number, word in enumerate(words):
        if word in _FOLDERS and number + 1 < len(words):
            yield words[number + 1]
        elif word.startswith(_FOLDERS):
            yield word[next(len(each) for each in _FOLDERS if word.startswith(each)) :]
        elif word.startswith(ROCM):
            yield f"{word.removeprefix(ROCM)}/include"


def has_rocm(words: Sequence[str]) -> bool:
    """Return whether the words for a compiler name a folder with headers of HIP."""
    return any((Path(folder) / _NAME).is_file() for folder in _folders(words))


def header_words(clang: Clang, words: Sequence[str], targets: Sequence[Target]) -> list[str]:
    """Return the words that let a compiler find the headers of HIP; folders of the user come before ours."""
    if not has_rocm(words):
        own = ["-isystem", str(_OWN), "-isystem", str(_OWN / "hip"), "-include", "hip_begin.h"]
        return own + wave_words(clang, words, targets)
    found = ["-isystem", f"{clang.resources()}/include/cuda_wrappers", "-include", "__clang_hip_runtime_wrapper.h"]
    found += _RECIPROCALS
    for folder in _folders([word for word in words if word.startswith(ROCM)]):
        found += ["-isystem", folder]
    return found + wave_words(clang, words, targets)


def wave_words(clang: Clang, words: Sequence[str], targets: Sequence[Target]) -> list[str]:
    """Return the words that define the size of waves for each target, and that of the first one for the host."""
    if clang.version < _WITHOUT_SIZE:
        return []
    chosen = next((size for word, size in _SIZES.items() if word in words), None)
    sizes = [f"-D__AMDGCN_WAVEFRONT_SIZE={chosen or target.lane_count}" for target in targets]
    names = [target.processor for target in targets]
    pairs = zip((*names, "host"), (*sizes, sizes[0]), strict=True)
    return [word for name, size in pairs for word in (f"-Xarch_{name}", size)]
