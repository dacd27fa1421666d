"""Whole HIP programs: the user's clang compiles host and device, as hipcc does, with headers and functions of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from dwarfgpu.children import PrivateFolder, folder_of_run, start_program
from dwarfgpu.compilers.clang import Clang, find_clang
from dwarfgpu.compilers.headers import ROCM, header_words
from dwarfgpu.compilers.sources import LANGUAGES, USUAL_PROCESSOR, Library, device_parts
from dwarfgpu.errors import UsageError
from dwarfgpu.regular_files import read_input
from dwarfgpu.targets.resolve import resolve

SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".c++", ".C", ".cu")
OF_HIPCC = "HCC_AMDGPU_TARGET"
"""The variable in which hipcc finds processors, between commas, where its words name none."""
_ARCH = "--offload-arch="
_LANGUAGE, _OF_DEVICE = "-x", "-x hip"
_ONLY_DEVICE = "--cuda-device-only"
_LINKED_CODE, _PRINTING = "-fgpu-rdc", "-mprintf-kind="
_ONLY_COMPILE = ("-c", "-S", "-E", "-fsyntax-only", "-M", "-MM", _ONLY_DEVICE)
_MAIN = re.compile(rb"^[ \t]*(?:int|auto)\s+main\s*\(", re.MULTILINE)
_WITH_VALUES = "-o", "-I", "-D", "-include", "-MF", "-MT", "-isystem", "-Xclang"
_OF_LIBRARIES, _REFUSES = "-Wno-error=missing-template-arg-list-after-template-kw", 19
"""What clang refuses from this version on, and the headers of rocPRIM have."""
_OLDEST = 17
"""The version of clang from which on whole programs were tried."""


def is_program(source: str, output: str) -> bool:
    """Return whether a source of HIP has a host part that begins, and is to become a program, not a code object."""
    return (
        LANGUAGES.get(os.path.splitext(source)[1]) == "hip"
        and not output.endswith(".co")
        and _MAIN.search(read_input(source)) is not None
    )


def program_of(word: str, targets: Sequence[str], level: str) -> str:
    """Return the program that a word names; a source of HIP is compiled, and its program goes with this process."""
    if not os.path.isfile(word) or not is_program(word, ""):
        return word
    path = str(folder_of_run() / os.path.splitext(os.path.basename(word))[0])
    if compile_program([word, "-o", path, f"-O{level}", *(f"{_ARCH}{target}" for target in targets)]):
        raise UsageError(f"{word} cannot be compiled", kind="source", hint="`dwarfgpu hipcc` takes options of clang")
    return path


def compile_program(words: Sequence[str]) -> int:
    """Compile and link as hipcc would with some words."""
    clang = find_clang()
    if clang.version < _OLDEST:
        message = f"clang {clang.version} ({clang.path}) cannot compile whole programs"
        raise UsageError(message, kind="no_compiler", hint=f"CLANG names one from version {_OLDEST} on")
    words = [_ONLY_DEVICE if word == "--genco" else word for word in words]  # a word of hipcc alone
    processors = [*dict.fromkeys(word.removeprefix(_ARCH) for word in words if word.startswith(_ARCH))]
    processors = processors or list(filter(None, os.environ.get(OF_HIPCC, "").split(","))) or [USUAL_PROCESSOR]
    with PrivateFolder() as folder:
        command = [clang.path, "--driver-mode=g++", "-Wno-unused-command-line-argument"]
        others = [word for word in words if not word.startswith((_ARCH, ROCM))]
        command += [] if any(word.startswith("-O") for word in words) else ["-O3"]  # what hipcc does
        sources = [*_with_languages(others)]
        # else objects are linked that are not of the device
        if sources != others or _OF_DEVICE in " ".join(others) or _LINKED_CODE in others:
            command += _device_words(clang, words, processors, folder)
        command += sources
        if not any(word in _ONLY_COMPILE for word in words):
            from dwarfgpu.runtimes.hip.library import install

            install(folder.path)
            command += ["-L", str(folder.path), "-lamdhip64"]
        return start_program(command, {"TMPDIR": str(folder.path)}).wait()


def _device_words(clang: Clang, words: Sequence[str], processors: Sequence[str], folder: PrivateFolder) -> list[str]:
    """Return the words that let clang compile for GPUs with headers and functions of ours."""
    targets = [*map(resolve, processors)]
    found = [f"{_ARCH}{processor}" for processor in processors]
    found += ["--no-offload-new-driver", "-nogpuinc", "-fms-extensions", "-mprintf-kind=buffered", "-DDG_PROGRAM"]
    found += header_words(clang, words, targets)
    found += [_OF_LIBRARIES] if clang.version >= _REFUSES else []
    found += [] if any(word.startswith("-g") for word in words) else ["-g"]
    found += [f"--hip-device-lib-path={folder.path}"]
    for number, (processor, target) in enumerate(zip(processors, targets, strict=True)):
        library = Library(clang, target, [word for word in words if word.startswith(_PRINTING)][-1:])
        found += [] if number else library.options
        own = [f"-Xarch_{processor}"] if len(processors) > 1 else []
        for path in library.written(device_parts(words), folder, f".{number}.bc"):
            found += [*own, f"--hip-device-lib={path.name}"]
    return found


def _with_languages(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, sources as those of HIP."""
    has_language = _LANGUAGE in words
    for number, word in enumerate(words):
        is_value = number > 0 and words[number - 1] in _WITH_VALUES
        if not has_language and not is_value and not word.startswith("-") and os.path.splitext(word)[1] in SOURCES:
            yield from ("-x", "hip", word, "-x", "none")
        else:
            yield word
