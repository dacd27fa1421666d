"""Source files of kernels: OpenCL C and HIP, compiled for a processor without ROCm.

Clang declares the built-in functions of OpenCL C and defines none, and HIP's come with ROCm. `library/` has our own
as source. Each clang, processor and set of options has its own build of it, as bitcode in the user's cache: bitcode
for another processor would link without a word, and compute nonsense. Only functions that a kernel calls become part
of it, without debug information: lines and variables are those of the user's file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from dwarfgpu.children import PrivateFolder, folder_of_run
from dwarfgpu.code_cache import CodeCache
from dwarfgpu.compilers.clang import Clang, find_clang
from dwarfgpu.compilers.headers import has_rocm, header_words
from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import announce, is_watched
from dwarfgpu.regular_files import read_input
from dwarfgpu.targets.amdgpu.processors import processor_named
from dwarfgpu.targets.resolve import resolve
from dwarfgpu.targets.target import Target

LANGUAGES: Mapping[str, str] = {".cl": "cl", ".hip": "hip", ".cpp": "hip", ".cu": "hip"}
"""What files are compiled as, by the end of their names: those of `SOURCES`."""
USUAL_PROCESSOR = "gfx1100"
LEVELS = ("0", "1", "2", "3", "s", "z", "g", "fast")
"""How much clang may optimize."""
LIMIT = 300
"""The seconds that a clang may take which nobody watches, and so nobody would end."""
ABI = 5
"""The version of code objects, unless an option of clang names another; 4 of a clang before 15, which has no other."""
OLDEST_OF_HIP = 17
"""Older ones cannot print without a host that answers calls."""
_WRONG_RELOADS = (16, 17)
"""Versions whose allocator of -O0 reloads registers before EXEC is restored, where branches of lanes meet."""
_OTHER_ALLOCATOR = ("-mllvm", "-optimize-regalloc", "-mllvm", "-enable-misched=0")
_FOLDER = Path(__file__).parent / "library"
_FIRST, _RARE, _GROUPS = "work_items.cl", "rare.cl", "groups.cl"
_ALL = "memory.cl", "conversions.cl", "functions.cl", "images.cl"
_ROCM = "rocm.cl"
_LOCAL, _PRINT = "scratch.c", "print.cl"
"""What nearly every kernel needs, built in half a second; what few kernels call; what waves and work-groups compute
together; nearly everything else, which takes a quarter of a minute; the names of ROCm's library; the local memory of
work-groups; and what clang itself calls for `printf`."""
_PARTS = (_LOCAL, _FIRST, *_ALL, _RARE, _GROUPS, _ROCM, _PRINT)
"""Functions call those of the parts before theirs."""
_NEEDS = {"images.cl": _ALL[1:3], _RARE: _ALL[1:3], _GROUPS: (_LOCAL,)}
"""What these parts call; the first part is called by all."""
_EXTENSIONS = [
    f"-Dcl_khr_subgroup_{name}=1"
    for name in ("shuffle", "shuffle_relative", "ballot", "non_uniform_vote", "non_uniform_arithmetic")
]
"""What the library has and clang declares only where it is asked to."""
_WORD, _MANGLED = re.compile(rb"\w+"), re.compile(rb"_Z(\d+)")
_UNDEFINED = re.compile(r"undefined (?:hidden )?symbol: (.*)(?:\n>>> referenced by (\S*\.\w+:\d+))?")
_UNDECLARED = re.compile(r"use of undeclared identifier '([A-Z_0-9]+)'")
_UNKNOWN = re.compile("[Ii]nvalid target ID|unknown target CPU|unsupported HIP gpu architecture|(?<!_)wavefrontsize")
"""What clang says of a processor that it does not know."""
_OF_WRAPPER = re.compile(
    r"^.*: warning: local memory global used by non-kernel function\n(?:\s*\d* \|.*\n)*"
    r"(?:\d+ warnings? generated\.\n)?",
    re.MULTILINE,
)
"""What clang warns of each kernel of OpenCL C with local memory: the kernel calls its body, which clang made of it."""
_CRASH = re.compile(r"^PLEASE (?:submit a|ATTACH).*bug report|^Stack dump:", re.IGNORECASE | re.MULTILINE)
"""What a clang that has crashed writes in any case."""
_CRASH_REASON = re.compile(
    r"(?:fatal error: |LLVM ERROR: |.*Assertion ).*|^\d+\.\s.*(?:parsing|running pass|code gen).*", re.MULTILINE
)
_OF_HIP = re.compile(
    r"(?:unknown type name|undeclared identifier) '(?:__(?:global|device|shared)__|(?:thread|block)Idx)'"
)
"""What clang says where the header of HIP is not included."""
_ERROR = re.compile(r"^(?:.*: )?(?:fatal )?error: .*$", re.MULTILINE)


@frozen
class Recipe:
    """How a source is compiled."""

    processor: str = USUAL_PROCESSOR
    """A processor with its features, and its wave size where it has two: ``gfx90a:xnack+``, ``gfx1100-wave64``."""
    level: str = "0"
    options: tuple[str, ...] = ()
    """Words for clang."""
    is_linked: bool = True
    """Whether the built-in functions are linked at once, which takes half of the time, or only if some are missing."""
    is_watched: bool = True
    """Whether a user at a terminal waits for it, and ends it if it takes too long."""


@frozen
class Compiled:
    """The code object that a source became."""

    code: bytes
    clang: Clang
    target: Target
    messages: str
    """The warnings of clang."""


def compile_source(
    path: str,
    recipe: Recipe = Recipe(),  # noqa: B008 (it never changes)
    folder: PrivateFolder | None = None,
) -> Compiled:
    """Compile a file in a folder; raise an error with what clang says if it cannot be compiled."""
    if folder is None:
        with PrivateFolder() as own:
            return compile_source(path, recipe, own)
    content = read_input(path)  # the error for a file that cannot be read is ours
    language = LANGUAGES.get(Path(path).suffix)
    if language is None:
        message = f"{path} is not a source of a kernel by its name"
        raise UsageError(message, hint=f"its name ends with {', '.join(LANGUAGES)}")
    if recipe.level not in LEVELS:
        raise UsageError(f"there is no -O{recipe.level}", hint=f"the levels are -O{', -O'.join(LEVELS)}")
    target = resolve(recipe.processor)
    if target.execution_mask is None:
        raise UsageError(f"{target.name} is not a GPU", hint=f"name a processor such as {USUAL_PROCESSOR}")
    clang = find_clang()
    if language == "hip" and clang.version < OLDEST_OF_HIP:
        message = f"HIP needs clang {OLDEST_OF_HIP} or later, and {clang.path} has version {clang.version}"
        raise UsageError(message, kind="no_compiler", hint="set CLANG to a newer one")
    library = _library(clang, target, tuple(word for word in recipe.options if word.startswith("-m")))
    limit = float("inf") if recipe.is_watched and is_watched() else LIMIT
    out = str(folder.path / "k.co")
    mended = _OTHER_ALLOCATOR if recipe.level == "0" and clang.version in _WRONG_RELOADS else ()
    words = [*_language_words(language, target), *library.options, "-g", f"-O{recipe.level}", *mended]
    words += header_words(clang, recipe.options, (target,)) if language == "hip" else []
    words += recipe.options
    usual = [_FIRST, *_ALL] if all(map(library.has, _ALL)) else [_FIRST]
    said = b" ".join((content, *(word.encode(errors="replace") for word in recipe.options)))
    parts = (usual if language == "hip" else library.called(said)) if recipe.is_linked else []
    while True:
        linked = library.linked(parts, folder)
        try:
            status, messages = clang.run(
                [*words, *linked, path, "-o", out], folder, doing=f"compiling {path}", limit=limit
            )
        except TimeoutError:
            message = f"{clang.path} has not compiled it in {limit} seconds"
            raise NotCompiled(path, message, "", f"at a terminal, `dwarfgpu compile {path}` waits longer") from None
        undefined = dict(_UNDEFINED.findall(messages))
        wanted = {part for name in undefined for part in _parts_of(name)}.difference(parts) or {_RARE}
        if status == 0 or not undefined or wanted <= {*parts}:
            break
        parts = [*parts, *wanted] if parts else usual
    if status:
        _check_processor(clang, target, messages)
        if _CRASH.search(messages):
            raise _crashed(clang, path, messages, words)
        raise _refused(path, messages, undefined)
    if language == "cl":
        messages = _OF_WRAPPER.sub("", messages)
    return Compiled(read_input(out), clang, target, messages)


def compiled_into_cache(name: str, level: str, options: tuple[str, ...]) -> str:
    """Compile ``FILE`` or ``FILE@PROCESSOR``; return the name of the code object: in the user's cache, if possible."""
    path, at, processor = name.rpartition("@")
    if not at or os.path.exists(name):  # `pathlib` raises where a name is too long
        path, processor = name, ""
    compiled = compile_source(path, Recipe(processor or USUAL_PROCESSOR, level, options))
    cache, file_name = CodeCache("code"), f"{Path(path).stem}-{hashlib.sha256(compiled.code).hexdigest()[:16]}.co"
    kept = cache.keep(file_name, compiled.code)
    if kept is None:
        announce(f"warning: compiled code is kept for this command only ({cache.problem})", is_warning=True)
        kept = folder_of_run() / file_name
        kept.write_bytes(compiled.code)
    return str(kept)


@cache
def library_digest() -> str:
    """Return the hash of the sources of all built-in functions, and of how kernels are compiled."""
    files = (Path(__file__), *sorted(path for path in _FOLDER.iterdir() if path.is_file()))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


@cache
def _library(clang: Clang, target: Target, options: tuple[str, ...]) -> Library:
    return Library(clang, target, options)


class Library:
    """The built-in functions, as bitcode for a clang, a processor and options."""

    def __init__(self, clang: Clang, target: Target, options: tuple[str, ...]) -> None:
        # how functions are called; the others name what is linked, or have a word of their own
        machine = [word for word in options if word.startswith("-m") and not word.startswith(("-mllvm", "-mlink"))]
        versions = [word.partition("=")[2] for word in machine if word.startswith("-mcode-object-version=")]
        usual = 4 if clang.version < 15 else 6 if "-generic" in target.name else ABI
        self._abi = versions[-1] if versions else str(usual)
        self.options = [f"-mcode-object-version={self._abi}"]
        self._clang = clang
        self._machine = [*self.options, *machine]
        self._target = target
        self._cache = CodeCache("libraries")
        self._built: dict[str, bytes] = {}
        self._named: dict[str, frozenset[bytes]] = {}

    def has(self, part: str) -> bool:
        """Return whether a part was built before."""
        if part not in self._built:
            content = self._cache.read(self.key(part))
            if content is not None:
                self._built[part] = content
        return part in self._built

    def called(self, source: bytes) -> list[str]:
        """Return the first part, and those that were built before and have functions with names of a source."""
        words, parts, known = {*_WORD.findall(source)}, {_FIRST}, self._names(_FIRST)
        for part in (*_ALL, _RARE, _GROUPS):
            names = self._names(part)
            if words & (names - known):
                parts |= {part, *_NEEDS.get(part, ())}
            known |= names
        return [*parts]

    def _names(self, part: str) -> frozenset[bytes]:
        """Return the names of the functions that a part has or calls; none if it was not built before."""
        if part not in self._named and self.has(part):
            content = self._built[part]
            found = (content[name.end() : name.end() + int(name[1])] for name in _MANGLED.finditer(content))
            self._named[part] = frozenset(found)
        return self._named.get(part, frozenset())

    def linked(self, parts: list[str], folder: PrivateFolder) -> list[str]:
        """Return the words that link parts, which are written into a folder."""
        words: list[str] = []
        for path in self.written(parts, folder):
            # clang calls some functions only after libraries are linked: all of these parts is
            how = "-mlink-bitcode-file" if path.stem == _PRINT else "-mlink-builtin-bitcode"
            words += ["-Xclang", how, "-Xclang", str(path)]
        return words

    def written(self, parts: Iterable[str], folder: PrivateFolder, ending: str = ".bc") -> list[Path]:
        """Write parts into a folder, in the order in which they are linked."""
        paths = []
        for part in sorted(parts, key=_PARTS.index, reverse=True):
            paths.append(folder.path / f"{part}{ending}")
            if not self.has(part):
                self._built[part] = content = self._build(part, folder)
                self._cache.write(self.key(part), content)
            paths[-1].write_bytes(self._built[part])
        return paths

    def _build(self, part: str, folder: PrivateFolder) -> bytes:
        out = str(folder.path / "library.bc")
        words = [*self._words(part), "-O2", "-w", "-emit-llvm", "-c", str(_FOLDER / part), "-o", out]
        doing = f"building the built-in functions for {self._target.name} (once, about 15 s)"
        status, messages = self._clang.run(words, folder, doing=doing, takes_long=True)
        if status:
            _check_processor(self._clang, self._target, messages)
            message = f"{self._clang.path} cannot build the built-in functions: {_first_error(messages)}"
            raise MalformedFile("not_compiled", message, hint="CLANG names another clang")
        return read_input(out)

    def _words(self, part: str) -> list[str]:
        language = part.rpartition(".")[2]
        # else clang makes sin and cos, from which sincos is made, a call of sincos
        words = [*_language_words(language, self._target), *self._machine, f"-DDG_ABI={self._abi}", "-fno-builtin"]
        processor = processor_named(self._target.processor)
        if part == _ROCM and processor is not None:
            words += [f"-DDG_ISA={processor.isa_version}", f"-DDG_LANES={self._target.lane_count}"]
        return words

    def key(self, part: str) -> bytes:
        """Return the hash of all that the bitcode of a part depends on."""
        said = (self._clang.banner, self._clang.path, *self._words(part), part)
        sources = (path.read_bytes() for path in (*sorted(_FOLDER.glob("*.h")), _FOLDER / part))
        return hashlib.sha256(b"\0".join((*(word.encode(errors="replace") for word in said), *sources))).digest()


def _language_words(language: str, target: Target) -> list[str]:
    """Return the words of clang for a language and a processor."""
    processor, at, size = target.name.removeprefix("amdgcn-").partition("-wave")
    cpu = ":".join((processor, *target.features))
    words = [{"32": "-mno-wavefrontsize64", "64": "-mwavefrontsize64"}[size]] if at else []
    if language != "hip":
        usual = ["-x", language, "-target", "amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-nogpulib", "-fgnu89-inline"]
        return [*usual, *words, *(("-cl-std=CL2.0", *_EXTENSIONS) if language == "cl" else ())]
    usual = ["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", f"--offload-arch={cpu}", "-nogpuinc"]
    words += ["-fuse-cuid=none"]  # else each compilation has another symbol, and snapshots another code object
    return [*usual, *words, "-nogpulib", "-fms-extensions", "-mprintf-kind=buffered"]


def device_parts(words: Sequence[str]) -> tuple[str, ...]:
    """Return the parts that any kernel of a whole program may need: nothing says which ones before it is linked."""
    of_rocm = (_LOCAL, _GROUPS, _ROCM) if has_rocm(words) or "-mprintf-kind=hostcall" in words else ()
    return (_FIRST, *_ALL, _RARE, *of_rocm, _PRINT)


def _parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of the library that a function needs, if any part has it."""
    if name == "__printf_alloc":
        return (_PRINT,)
    if name.startswith(("__ocml_", "__ockl_", "__oclc_", "__atomic_work_item_fence")):
        return (_ROCM,)
    is_of_groups = name.startswith(("sub_group_", "work_group_", "get_sub_group_"))
    return (_LOCAL, _GROUPS) if is_of_groups else _ALL


def _check_processor(clang: Clang, target: Target, messages: str) -> None:
    """Say so if a clang does not know a processor, or not with waves of this size."""
    if _UNKNOWN.search(messages):
        message = f"clang {clang.version} ({clang.path}) cannot compile for {target.name}"
        raise UsageError(message, kind="no_compiler", hint="a newer clang may: set CLANG, or choose another -target")


def _crashed(clang: Clang, path: str, messages: str, words: list[str]) -> MalformedFile:
    """Return the error of a clang that has crashed, and keep all that it wrote in a file."""
    command = shlex.join([clang.path, *words, path])
    content = f"{command}\n\n{messages}".encode(errors="replace")
    kept = CodeCache("code").keep(f"clang-{hashlib.sha256(content).hexdigest()[:16]}.txt", content)
    found = _CRASH_REASON.search(messages)
    reason = f": {found[0]}" if found else ""
    where = f"{kept} has the command and all that it wrote; " if kept else ""
    hint = f"{where}another level (-O1) or another clang (CLANG=...) may compile it"
    return NotCompiled(path, f"clang {clang.version} ({clang.path}) has crashed{reason}", "", hint)


def _refused(path: str, messages: str, undefined: Mapping[str, str]) -> MalformedFile:
    """Return the error of a file that clang does not compile."""
    if undefined:
        calls = [f"{place or path}: {name} is called, and is not defined" for name, place in undefined.items()]
        hint: str | None = "it is neither in the file nor among the built-in functions of dwarfgpu"
        return NotCompiled(path, "; ".join(calls), "", hint)
    if "ld.lld" in messages and "error:" not in messages.partition("ld.lld")[0]:
        return NotCompiled(path, f"{path} cannot be linked: {_first_error(messages)}", messages, "install lld")
    name = _UNDECLARED.search(messages)
    hint = f"the option -D{name[1]}=VALUE defines what a host program would" if name else None
    if LANGUAGES.get(Path(path).suffix) == "hip" and _OF_HIP.search(messages):
        hint = "the names of HIP need #include <hip/hip_runtime.h> at the top of the file"
    hint = "the option -I FOLDER says where it is" if "file not found" in messages else hint
    return NotCompiled(path, _first_error(messages), messages, hint)


class NotCompiled(MalformedFile):
    """A source has errors."""

    def __init__(self, path: str, message: str, messages: str, hint: str | None) -> None:
        MalformedFile.__init__(self, "not_compiled", message, hint=hint)
        self.path = path
        self.messages = messages
        """All that clang said, if the error does not say it better."""

    @property
    def what(self) -> str:
        return f"{self.path} is not compiled"


def _first_error(messages: str) -> str:
    found = _ERROR.findall(messages)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else " ".join(messages.split()) or "clang says nothing"
