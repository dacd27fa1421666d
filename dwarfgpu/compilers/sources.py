"""Source files of kernels: OpenCL C and HIP, compiled for a processor without ROCm.

Clang declares the built-in functions of OpenCL C but does not define them; those of HIP come with ROCm. `library/` has
the source of our own. They are built for each clang, processor and set of options, as bitcode in the user's cache:
bitcode for another processor would link without a warning, and compute nonsense. Arithmetic is the same for many
processors: it is built once for all of them, and names none. Only functions that a kernel calls are linked, without
debug information: lines and variables are those of the user's file.
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
from dwarfgpu.compilers.headers import has_rocm, header_words, wave_words
from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import announce, is_watched
from dwarfgpu.regular_files import read_input
from dwarfgpu.targets.amdgpu.processors import processor_named
from dwarfgpu.targets.resolve import resolve
from dwarfgpu.targets.target import Target

LANGUAGES: Mapping[str, str] = {".cl": "cl", ".hip": "hip", ".cpp": "hip", ".cu": "hip"}
"""The language of a source, by its suffix; the suffixes are `compilers.SOURCES`."""
USUAL_PROCESSOR = "gfx1100"
LEVELS = ("0", "1", "2", "3", "s", "z", "g", "fast")
"""The optimization levels: -O0, -O1 and so on."""
LIMIT = 300
"""The time limit for clang in seconds, if no user at a terminal can interrupt it."""
ABI = 5
"""The default code object version: clang before 15 uses 4, generic processors 6; -mcode-object-version overrides it."""
OLDEST_OF_HIP = 17
"""The oldest clang that compiles HIP here: with older ones, `printf` needs a host that answers calls."""
_WRONG_RELOADS = (16, 17)
"""Versions of clang that at -O0 reload registers before EXEC is restored, where branches of lanes meet."""
_OTHER_ALLOCATOR = ("-mllvm", "-optimize-regalloc", "-mllvm", "-enable-misched=0")
_FOLDER = Path(__file__).parent / "library"
_FIRST = "work_items.cl"  # nearly every kernel needs it; built in half a second
_SHUFFLES = "shuffles.cl"  # few kernels call them, which need nothing else of it
_RARE = "rare.cl"  # few kernels call it
_GROUPS = "groups.cl"  # functions across a wave or a work-group
_ALL = "memory.cl", "conversions.cl", "functions.cl", "images.cl"  # nearly everything else; built in 15 s
_ROCM = "rocm.cl"  # the names of ROCm's library
_TEXTURES = "textures.hip"  # those of its images
_LOCAL = "scratch.c"  # the local memory of work-groups
_PRINT = "print.cl"  # what clang calls for `printf`
_PARTS = (_LOCAL, _FIRST, *_ALL, _SHUFFLES, _RARE, _GROUPS, _ROCM, _TEXTURES, _PRINT)
"""All parts: functions call only functions of earlier parts."""
_NEEDS = {"images.cl": _ALL[1:3], _RARE: _ALL[1:3], _GROUPS: (_LOCAL,)}
"""The parts that each of these calls, besides `_FIRST`, which all parts call."""
_SHARED = frozenset((*_ALL[:3], _SHUFFLES, _RARE))  # of these clang makes the same for processors that are alike
_ALIKE = (("gfx900", re.compile(r"gfx(90[0249c]|1[01]\d\d|120\d)")), ("gfx90a", re.compile(r"gfx(90a|94\d)")))
"""Processors with the same vector instructions, and the one that shared parts are built for."""
_PROCESSOR = re.compile(rb' "target-(?:cpu|features)"="[^"]*"')
"""The attributes of a function that name a processor; clang gives those of the kernel to linked functions."""
_EXTENSIONS = [
    f"-Dcl_khr_subgroup_{name}=1"
    for name in ("shuffle", "shuffle_relative", "ballot", "non_uniform_vote", "non_uniform_arithmetic")
]
"""Extensions of OpenCL C that the library has, and that clang declares only with these options."""
_WORD, _MANGLED = re.compile(rb"\w+"), re.compile(rb"_Z(\d+)")
_UNDEFINED = re.compile(r"undefined (?:hidden )?symbol: (.*)(?:\n>>> referenced by (\S*\.\w+:\d+))?")
_UNDECLARED = re.compile(r"use of undeclared identifier '([A-Z_0-9]+)'")
_UNKNOWN = re.compile("[Ii]nvalid target ID|unknown target CPU|unsupported HIP gpu architecture|(?<!_)wavefrontsize")
"""Clang's messages about a processor that it does not know."""
_OF_WRAPPER = re.compile(
    r"^(?:.*: )?warning: local memory global used by non-kernel function\n"
    r"(?:\s*\d* \|.*\n|.*: note: could not determine the original source location .*\n)*"
    r"(?:\d+ warnings? generated\.\n)?",
    re.MULTILINE,
)
"""A warning about every OpenCL kernel with local memory: clang makes a function of the body, which the kernel calls."""
_CRASH = re.compile(r"^PLEASE (?:submit a|ATTACH).*bug report|^Stack dump:", re.IGNORECASE | re.MULTILINE)
"""What clang prints whenever it crashes."""
_CRASH_REASON = re.compile(
    r"(?:fatal error: |LLVM ERROR: |.*Assertion ).*|^\d+\.\s.*(?:parsing|running pass|code gen).*", re.MULTILINE
)
_OF_HIP = re.compile(
    r"(?:unknown type name|undeclared identifier) '(?:__(?:global|device|shared)__|(?:thread|block)Idx)'"
)
"""Clang's messages if the header of HIP is not included."""
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
    """Whether built-in functions are linked at once (half of the time), or in a second compilation, if needed."""
    is_watched: bool = True
    """Whether clang may take longer than `LIMIT` if a user at a terminal waits for it."""


@frozen
class Compiled:
    """The code object of a compiled source."""

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
    """Compile a file, with ``folder`` for temporary files; raise an error with clang's messages if it has errors."""
    if folder is None:
        with PrivateFolder() as own:
            return compile_source(path, recipe, own)
    content = read_input(path)  # reports a file that cannot be read, before clang does
    language = LANGUAGES.get(Path(path).suffix)
    if language is None:
        raise UsageError(f"{path} is not a kernel source: its name must end with one of {', '.join(LANGUAGES)}")
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

    def __init__(self, clang: Clang, target: Target, options: Sequence[str]) -> None:
        # only options that change how functions are called: -mlink... names files, and -mllvm takes the next word
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
        """Return `_FIRST`, and the cached parts with a function whose name is in the source, with what they need."""
        words, parts, known = {*_WORD.findall(source)}, {_FIRST}, self._names(_FIRST)
        for part in (*_ALL, _SHUFFLES, _RARE, _GROUPS):
            names = self._names(part)
            if words & (names - known):
                parts |= {part, *_NEEDS.get(part, ())}
            known |= names
        return [*parts, *([_PRINT] if b"printf" in words and self.has(_PRINT) else [])]

    def _names(self, part: str) -> frozenset[bytes]:
        """Return the names of the functions that a part has or calls; none if it was not built before."""
        if part not in self._named and self.has(part):
            content = self._built[part]
            found = (content[name.end() : name.end() + int(name[1])] for name in _MANGLED.finditer(content))
            self._named[part] = frozenset(found)
        return self._named.get(part, frozenset())

    def linked(self, parts: list[str], folder: PrivateFolder) -> list[str]:
        """Write parts into a folder; return the options with which clang links them."""
        words: list[str] = []
        for path in self.written(parts, folder):
            # clang adds calls for `printf` only after it has linked the libraries, so this part is linked whole
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
        words = [*self._words(part), "-O2", "-w", "-emit-llvm"]
        if not self._shared(part):
            return self._compiled([*words, "-c"], _FOLDER / part, folder)
        text = folder.path / "library.ll"
        text.write_bytes(_PROCESSOR.sub(b"", self._compiled([*words, "-S"], _FOLDER / part, folder)))
        of_text = ["-x", "ir", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-w", "-Xclang", "-disable-llvm-passes"]
        return self._compiled([*of_text, "-emit-llvm", "-c"], text, folder)

    def _compiled(self, words: Sequence[str], path: Path, folder: PrivateFolder) -> bytes:
        out = str(folder.path / "library.bc")
        doing = f"building the built-in functions for {self._target.name} (once, about 15 s)"
        status, messages = self._clang.run([*words, str(path), "-o", out], folder, doing=doing, takes_long=True)
        if status:
            _check_processor(self._clang, self._target, messages)
            message = f"{self._clang.path} cannot build the built-in functions: {_first_error(messages)}"
            raise MalformedFile("not_compiled", message, hint="CLANG names another clang")
        return read_input(out)

    def _shared(self, part: str) -> Target | None:
        """Return the processor that a part is built for in place of the kernel's, whose functions are the same."""
        if part not in _SHARED or self._machine != self.options:
            return None
        return next((resolve(name) for name, names in _ALIKE if names.fullmatch(self._target.processor)), None)

    def _words(self, part: str) -> list[str]:
        language, target = part.rpartition(".")[2], self._shared(part) or self._target
        # -fno-builtin: else clang turns the sin and cos in our sincos into a call of sincos
        words = [*_language_words(language, target), *self._machine, f"-DDG_ABI={self._abi}", "-fno-builtin"]
        if language == "hip":  # without -fgpu-rdc clang drops what no kernel of a part calls
            words += ["-fgpu-rdc", *wave_words(self._clang, self._machine, (self._target,))]
        processor = processor_named(self._target.processor)
        if part == _ROCM and processor is not None:
            words += [f"-DDG_ISA={processor.isa_version}", f"-DDG_LANES={self._target.lane_count}"]
        return words

    def key(self, part: str) -> bytes:
        """Return the hash of all that the bitcode of a part depends on."""
        said = (self._clang.banner, self._clang.path, *self._words(part), part)
        headers = _FOLDER.glob("include/hip/*.h" if part == _TEXTURES else "*.h")
        sources = (path.read_bytes() for path in (*sorted(headers), _FOLDER / part))
        return hashlib.sha256(b"\0".join((*(word.encode(errors="replace") for word in said), *sources))).digest()


def _language_words(language: str, target: Target) -> list[str]:
    """Return the options of clang for a language and a processor."""
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
    """Return all parts that kernels of a program may need: which ones they need is not known before linking."""
    of_rocm = (_LOCAL, _GROUPS, _ROCM, _TEXTURES) if has_rocm(words) or "-mprintf-kind=hostcall" in words else ()
    return (_FIRST, *_ALL, _SHUFFLES, _RARE, *of_rocm, _PRINT)


def _parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of the library that may define a function, and those that they need."""
    if name == "__printf_alloc":
        return (_PRINT,)
    if name.startswith("shuffle"):
        return (_SHUFFLES,)
    if name.startswith("__ockl_image_"):
        return (_TEXTURES,)
    if name.startswith(("__ocml_", "__ockl_", "__oclc_", "__atomic_work_item_fence")):
        return (_ROCM,)
    is_of_groups = name.startswith(("sub_group_", "work_group_", "get_sub_group_"))
    return (_LOCAL, _GROUPS) if is_of_groups else _ALL


def _check_processor(clang: Clang, target: Target, messages: str) -> None:
    """Raise an error if clang does not know the processor, or does not support it with this wave size."""
    if _UNKNOWN.search(messages):
        message = f"clang {clang.version} ({clang.path}) cannot compile for {target.name}"
        raise UsageError(message, kind="no_compiler", hint="a newer clang may: set CLANG, or choose another -target")


def _crashed(clang: Clang, path: str, messages: str, words: list[str]) -> MalformedFile:
    """Return the error for a crash of clang, and keep the command and its output in a file."""
    command = shlex.join([clang.path, *words, path])
    content = f"{command}\n\n{messages}".encode(errors="replace")
    kept = CodeCache("code").keep(f"clang-{hashlib.sha256(content).hexdigest()[:16]}.txt", content)
    found = _CRASH_REASON.search(messages)
    reason = f": {found[0]}" if found else ""
    where = f"{kept} has the command and its output; " if kept else ""
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
    hint = f"-D{name[1]}=VALUE defines it, as the host program may do when it builds the kernel" if name else None
    if LANGUAGES.get(Path(path).suffix) == "hip" and _OF_HIP.search(messages):
        hint = "the names of HIP need #include <hip/hip_runtime.h> at the top of the file"
    hint = "the option -I FOLDER says where it is" if "file not found" in messages else hint
    return NotCompiled(path, _first_error(messages), messages, hint)


class NotCompiled(MalformedFile):
    """The error for a source that clang does not compile."""

    def __init__(self, path: str, message: str, messages: str, hint: str | None) -> None:
        MalformedFile.__init__(self, "not_compiled", message, hint=hint)
        self.path = path
        self.messages = messages
        """All of clang's messages; empty if the error says it better."""

    @property
    def what(self) -> str:
        return f"{self.path} is not compiled"


def _first_error(messages: str) -> str:
    found = _ERROR.findall(messages)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else " ".join(messages.split()) or "clang says nothing"
