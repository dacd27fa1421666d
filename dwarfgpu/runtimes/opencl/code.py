"""Programs of OpenCL: source and binaries, which the user's clang compiles and links."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from dwarfgpu.children import PrivateFolder
from dwarfgpu.code_cache import CodeCache
from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.compilers.sources import Compiled, Recipe, compile_source, library_digest
from dwarfgpu.compilers.spirv import INSTALL, constants_of, find_translator, is_spirv, translate, translator_digest
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.linking import linked
from dwarfgpu.runtimes.opencl.contexts import creates
from dwarfgpu.runtimes.opencl.errors import ClError, ClFailure, refuse
from dwarfgpu.runtimes.opencl.info import answer, half_word, text, word
from dwarfgpu.runtimes.opencl.objects import ClBuild, ClCode, ClContext, ClDevice
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

NONE, FAILED, IN_PROGRESS, BUILT = -1, -2, -3, 0
"""``cl_build_status``."""
OBJECT, LIBRARY, EXECUTABLE = 1, 2, 4
"""``CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT`` and others."""
_BINARIES = 0x1166
_INCLUDE = re.compile(r"#\s*include\b")
"""What lets clang read files: those of the folder that the program runs in are found, as other platforms do."""
_OBJECT, _WRITABLE = 1, 1
"""``STT_OBJECT`` and ``SHF_WRITE`` of ELF."""
_STANDARD = "-cl-std="
_EXACT = "-cl-fp32-correctly-rounded-divide-sqrt"
_ALONE = {
    "-cl-single-precision-constant", "-cl-denorms-are-zero", "-cl-opt-disable", "-cl-strict-aliasing",
    "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations", "-cl-finite-math-only",
    "-cl-fast-relaxed-math", "-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-cl-kernel-arg-info",
    _EXACT, "-w", "-Werror", "-g",
}  # fmt: skip
"""The options of OpenCL API 3.0, 5.8.6, that have no value, and -g."""
_WITHOUT_MEANING = {"-cl-strict-aliasing", "-cl-kernel-arg-info", "-g", "-cl-opt-disable"}
"""Those that are always on, or mean nothing to this clang."""
_FOR_DEBUGGING = {"-g", "-cl-opt-disable"}
"""Those with which nothing is optimized, so that variables are there."""
_OF_LINKER = {"-create-library", "-enable-link-options"}
_NO_IL = f"programs in SPIR-V need llvm-spirv: {INSTALL}; or give clCreateProgramWithSource the source in OpenCL C"
_STANDARDS = ("CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0")
_ABSENT = (
    "__opencl_c_device_enqueue", "__opencl_c_pipes", "__opencl_c_atomic_scope_all_devices", "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
)  # fmt: skip
USUAL = (
    "-cl-kernel-arg-info", "-D__OPENCL_VERSION__=300", "-D__IMAGE_SUPPORT__=1", "-gembed-source",
    "-Dcl_khr_image2d_from_buffer=1",
    "-Xclang", f"-cl-ext={','.join(f'-{name}' for name in _ABSENT)},+__opencl_c_subgroups",
)  # fmt: skip
"""What each program is compiled with: clang defines none of these macros, and claims what is not here."""


@frozen
class BuildOptions:
    """The options of a build."""

    words: tuple[str, ...]
    standard: str
    level: str
    is_library: bool = False


def _read_options(program: OpenClProgram, given: str, error: ClError) -> BuildOptions:
    """Read the options of a build, whose paths are those of the program."""
    folder, level = _folder_of(program), program.level
    try:
        words = shlex.split(given)
    except ValueError as problem:
        refuse(error, f"the options {given!r:.60} are not closed: {problem}")
    kept: list[str] = []
    standard, is_library = "CL1.2", False
    while words:
        word_ = words.pop(0)
        if word_.startswith(_STANDARD):
            standard = word_.removeprefix(_STANDARD)
            if standard not in _STANDARDS:
                refuse(error, f"there is no OpenCL C {standard!r:.20}")
        elif word_[:2] in ("-D", "-I"):
            value = word_[2:] or (words.pop(0) if words else "")
            if not value:
                refuse(error, f"{word_} has no value")
            kept.append(word_[:2] + (os.path.join(folder, value) if word_[1] == "I" else value))
        elif word_ in _ALONE:
            level = "0" if word_ in _FOR_DEBUGGING else level
            kept += [] if word_ in _WITHOUT_MEANING else [word_]
        elif word_ in _OF_LINKER:
            is_library = is_library or word_ == "-create-library"
        elif word_.startswith("-"):
            refuse(error, f"there is no option {word_[:60]}")
        else:
            refuse(error, f"{word_[:60]!r} is no option")
    return BuildOptions((*kept,), standard, level, is_library)


# --- Programs ---------------------------------------------------------------------------------------------------------


@creates(
    "void *clCreateProgramWithSource(void *context, unsigned count, const char **texts, const void *sizes, int *error)"
)
async def create_source(call: HostCall, context: int, count: int, texts: int, sizes: int) -> ClCode:
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    if not count or not texts:
        refuse(ClError.INVALID_VALUE, "there is no source")
    pointers = await program.words_at(call, texts, count)
    if not all(pointers):
        refuse(ClError.INVALID_VALUE, "a text of the source is NULL")
    lengths = await program.words_at(call, sizes, count) if sizes else [0] * count
    parts = [
        (await call.read(pointer, length)).decode(errors="surrogateescape") if length else await call.text(pointer)
        for pointer, length in zip(pointers, lengths, strict=True)
    ]
    source = "".join(parts)
    builds = {device: ClBuild() for device in owner.devices}
    made = ClCode(origin=call, context=owner, source=source, number=program.number_of(source), builds=builds)
    return program.keep(call, made)


@creates(
    "void *clCreateProgramWithBinary(void *context, unsigned count, const void *devices, const void *sizes, "
    "const void *binaries, int *states, int *error)"
)
async def create_binary(
    call: HostCall, context: int, count: int, devices: int, sizes: int, binaries: int, states: int
) -> ClCode:
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    if not count or not devices or not sizes or not binaries:
        refuse(ClError.INVALID_VALUE, "devices, and a binary for each, are needed")
    found = await program.find_all(call, count, devices, ClDevice)
    for device in found:
        if device not in owner.devices:
            refuse(ClError.INVALID_DEVICE, "a device does not belong to the context")
    if count > len({*found}):
        refuse(ClError.INVALID_DEVICE, "a device is given twice")
    lengths, pointers = await program.words_at(call, sizes, count), await program.words_at(call, binaries, count)
    if not all((*lengths, *pointers)):
        refuse(ClError.INVALID_VALUE, "a binary is empty")
    builds = {}
    for device, pointer, length in zip(found, pointers, lengths, strict=True):
        content = await call.read(pointer, length)
        kind = EXECUTABLE if content[:4] == b"\x7fELF" else OBJECT if content[:2] == b"BC" else 0
        builds[device] = ClBuild(content, kind)
    if states:
        known = (ClError.SUCCESS if build.kind else ClError.INVALID_BINARY for build in builds.values())
        call.write(states, half_word(*known))
    if not all(build.kind for build in builds.values()):
        refuse(ClError.INVALID_BINARY, "the binary is no code object")
    number = program.number_of((*(build.binary for build in builds.values()),))
    return program.keep(call, ClCode(origin=call, context=owner, number=number, builds=builds))


@creates(
    "void *clCreateProgramWithIL(void *context, const void *code, size_t size, int *error)",
    "void *clCreateProgramWithILKHR(void *context, const void *code, size_t size, int *error)",
)
async def create_from_il(call: HostCall, context: int, pointer: int, size: int) -> ClCode:
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    if find_translator() is None:
        refuse(ClError.INVALID_OPERATION, _NO_IL)
    il = await call.read(pointer, size) if pointer and size else b""
    if not is_spirv(il):
        refuse(ClError.INVALID_VALUE, "the program is not SPIR-V")
    builds = {device: ClBuild() for device in owner.devices}
    made = ClCode(origin=call, context=owner, il=il, number=program.number_of((il,)), builds=builds)
    return program.keep(call, made)


@creates(
    "void *clCreateProgramWithBuiltInKernels(void *context, unsigned count, const void *devices, const char *names, "
    "int *error)"
)
def create_built_in(call: HostCall, context: int, *_more: int) -> ClCode:
    call.process.find(call, context, ClContext)
    refuse(ClError.INVALID_VALUE, "there are no built-in kernels")


@API(
    "int clBuildProgram(void *program, unsigned count, const void *devices, const char *options, void *notify, "
    "void *data)"
)
async def build(call: HostCall, handle: int, count: int, devices: int, options: int, notify: int, data: int) -> int:
    program: OpenClProgram = call.process
    code = program.find(call, handle, ClCode)
    targets = await _targets(call, code, count, devices, notify, data)
    given = await call.text(options) if options else ""
    read = _read_options(program, given, ClError.INVALID_BUILD_OPTIONS)
    for device, build in _begin(code, targets, given, read):
        if code.il or code.source is not None:
            build.binary, build.log = _compiled(program, code, device, read, [])
        if build.binary:
            _load(program, code, device)
        build.status = BUILT if build.module is not None else FAILED
        build.kind = EXECUTABLE if build.module is not None else 0
    return await _built(call, code, targets, notify, data, ClError.BUILD_PROGRAM_FAILURE)


@API(
    "int clCompileProgram(void *program, unsigned count, const void *devices, const char *options, unsigned number, "
    "const void *headers, const char **names, void *notify, void *data)"
)
async def compile_alone(
    call: HostCall, handle: int, count: int, devices: int, options: int, number: int, headers: int, names: int,
    notify: int, data: int,
) -> int:  # fmt: skip
    program: OpenClProgram = call.process
    code = program.find(call, handle, ClCode)
    targets = await _targets(call, code, count, devices, notify, data)
    if bool(number) != bool(headers) or bool(number) != bool(names):
        refuse(ClError.INVALID_VALUE, "headers come with their number and their names")
    if code.source is None and not code.il:
        refuse(ClError.INVALID_OPERATION, f"{program.named(code)} has no source")
    given = await call.text(options) if options else ""
    read = _read_options(program, given, ClError.INVALID_COMPILER_OPTIONS)
    included = await program.find_all(call, number, headers, ClCode)
    texts = [await call.text(pointer) for pointer in await program.words_at(call, names, number)]
    sources = {name: each.source or "" for name, each in zip(texts, included, strict=True)}
    for device, build in _begin(code, targets, given, read):
        build.binary, build.log = _compiled(program, code, device, read, ["-c", "-emit-llvm"], sources)
        build.status, build.kind = (BUILT, OBJECT) if build.binary else (FAILED, 0)
    return await _built(call, code, targets, notify, data, ClError.COMPILE_PROGRAM_FAILURE)


@creates(
    "void *clLinkProgram(void *context, unsigned count, const void *devices, const char *options, unsigned number, "
    "const void *programs, void *notify, void *data, int *error)"
)
async def link(
    call: HostCall, context: int, count: int, devices: int, options: int, number: int, programs: int, notify: int,
    data: int,
) -> tuple[ClCode, int]:  # fmt: skip
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    if not number or not programs:
        refuse(ClError.INVALID_VALUE, "no program is given")
    given = await call.text(options) if options else ""
    read = _read_options(program, given, ClError.INVALID_LINKER_OPTIONS)
    inputs = await program.find_all(call, number, programs, ClCode)
    builds = {device: ClBuild() for device in owner.devices}
    linked = program.number_of((*(each.number for each in inputs),))
    made = ClCode(origin=call, context=owner, number=linked, builds=builds)
    targets = await _targets(call, made, count, devices, notify, data)
    for each in inputs:
        if not all(device in each.builds and each.builds[device].kind in (OBJECT, LIBRARY) for device in targets):
            refuse(ClError.INVALID_OPERATION, f"{program.named(each)} is not compiled, or was linked")
    made.builds = {device: ClBuild() for device in targets}
    program.keep(call, made)
    folder = _own_folder(program).path
    for device, build in _begin(made, targets, given, read):
        made.standard = max(each.standard for each in inputs)
        words = ["-c", "-emit-llvm"] if read.is_library else []
        for place, each in enumerate(inputs):
            path = folder / f"linked-{made.number}-{place}.bc"
            path.write_bytes(each.builds[device].binary)
            words += _linking(path)
        build.binary, build.log = _compiled(program, made, device, read, words, is_kept=False)
        if build.binary and not read.is_library:
            _load(program, made, device)
        build.status = BUILT if build.binary and (read.is_library or build.module is not None) else FAILED
        build.kind = 0 if build.status == FAILED else LIBRARY if read.is_library else EXECUTABLE
    return made, await _built(call, made, targets, notify, data, ClError.LINK_PROGRAM_FAILURE)


async def _targets(call: HostCall, code: ClCode, count: int, devices: int, notify: int, data: int) -> list[ClDevice]:
    """Return the devices that a program is built for: those of a list, else all of the program."""
    if bool(count) != bool(devices) or (data and not notify):
        refuse(ClError.INVALID_VALUE, "devices come with their number, and data with the function that gets it")
    found: list[ClDevice] = await call.process.find_all(call, count, devices, ClDevice)
    if any(device not in code.builds for device in found):
        refuse(ClError.INVALID_DEVICE, "a device does not belong to the program")
    if code.uses:
        refuse(ClError.INVALID_OPERATION, f"{call.process.named(code)} has kernels")
    return found or [*code.builds]


def _begin(code: ClCode, targets: list[ClDevice], given: str, read: BuildOptions) -> Iterator[tuple[ClDevice, ClBuild]]:
    """Yield what is built for each device."""
    code.standard = read.standard
    for device in targets:
        build = code.builds[device]
        build.options, build.log, build.module, build.status = given, "", None, IN_PROGRESS
        yield device, build


async def _built(call: HostCall, code: ClCode, targets: list[ClDevice], notify: int, data: int, error: ClError) -> int:
    """Return whether a build has worked; with a function to call, that says it."""
    if notify:
        await call.process.begin_callbacks(call)
        call.process.callbacks.append((notify, (code.handle, data)))
    failed = next((code.builds[device] for device in targets if code.builds[device].status != BUILT), None)
    if failed is None:
        return ClError.SUCCESS
    failure = ClFailure(error)
    failure.message = next((line for line in failed.log.splitlines() if "error" in line), failed.log or "no reason")
    return failure


def _folder_of(program: OpenClProgram) -> str:
    try:
        return os.readlink(f"/proc/{program.number}/cwd")
    except OSError:
        return "/"


def _compiled(
    program: OpenClProgram,
    code: ClCode,
    device: ClDevice,
    options: BuildOptions,
    more: list[str],
    headers: dict[str, str] | None = None,
    *,
    is_kept: bool = True,
) -> tuple[bytes, str]:
    """Return what clang makes of a source, and what it says; nothing if it refuses the source."""
    processor, source, own = device.processor, code.source or "", _own_folder(program)
    if code.il:  # no other option changes it
        options = BuildOptions((_EXACT,) * (_EXACT in options.words), "CL3.0", options.level)
    words = (f"{_STANDARD}{options.standard}", *USUAL, *more, *options.words)
    key = _key(code, processor, options, words) if is_kept else None
    cache = CodeCache("programs")
    known = cache.read(key) if key is not None else None
    if known is not None:
        size = int.from_bytes(known[:8], "little")
        return known[8 + size :], known[8 : 8 + size].decode(errors="replace")
    if code.il:
        bitcode = own.path / f"translated-{code.number}.bc"
        try:
            source = translate(code.il, code.constants, bitcode, own, is_exact=_EXACT in options.words)
        except (DwarfGpuError, OSError) as error:
            return b"", f"{error}\n"
        words = (*words, *_linking(bitcode))
    folder = own.path / f"opencl-{code.number}"
    if headers:  # those of another compilation of the same source are not found
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    for name, content in (headers or {}).items():
        path = folder / name.lstrip("/")
        if folder in path.resolve().parents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, errors="surrogateescape")
    path = folder / f"program{code.number}.cl"
    path.write_text(source, errors="surrogateescape")
    folders = [*([str(folder)] if headers else []), *([_folder_of(program)] if _INCLUDE.search(source) else [])]
    included = (word_ for each in folders for word_ in ("-I", each))
    words = (*words, *included, f"-ffile-prefix-map={folder}/=", "-fdebug-compilation-dir=.")
    try:
        recipe = Recipe(processor, options.level, words, is_watched=False)
        compiled = compile_source(str(path), recipe, own) if more else _program(str(path), recipe, own)
    except (DwarfGpuError, OSError) as error:
        log = getattr(error, "messages", "") or f"{error}\n"
        return b"", log.replace(f"{folder}/", "")
    log = compiled.messages.replace(f"{folder}/", "")
    if key is not None:
        said = log.encode(errors="replace")
        cache.write(key, len(said).to_bytes(8, "little") + said + compiled.code)
    return compiled.code, log


def _linking(path: Path) -> list[str]:
    """Return the words with which clang links bitcode."""
    return ["-Xclang", "-mlink-bitcode-file", "-Xclang", str(path)]


def _program(path: str, recipe: Recipe, own: PrivateFolder) -> Compiled:
    """Compile a program that is linked here, which takes two thirds of the time; clang says what is not defined."""
    compiled = compile_source(path, evolve(recipe, options=(*recipe.options, "-c")), own)
    try:
        return evolve(compiled, code=linked(Image(memoryview(compiled.code), name=path)))
    except UsageError:
        return compile_source(path, recipe, own)


def _own_folder(program: OpenClProgram) -> PrivateFolder:
    if program.folder is None:
        program.folder = PrivateFolder()
    return program.folder


def _key(code: ClCode, processor: str, options: BuildOptions, words: tuple[str, ...]) -> bytes | None:
    """Return the hash of all that code depends on; None if files of the program are among it."""
    source = code.source or f"{translator_digest()}{sorted(code.constants.items())}{code.il.hex()}"
    if _INCLUDE.search(source):
        return None
    clang = find_clang()
    parts = [clang.path, clang.banner, library_digest(), processor, options.level, *words, str(code.number), source]
    return hashlib.sha256(b"\0".join(part.encode(errors="surrogateescape") for part in parts)).digest()


def _load(program: OpenClProgram, code: ClCode, device: ClDevice) -> None:
    """Open the code that was built; the log says why if it cannot be."""
    build = code.builds[device]
    try:
        build.module = program.device.module(build.binary, f"program{code.number}", device.processor)
    except DwarfGpuError as error:
        build.log += f"{error}\n"


# --- What is known of programs ----------------------------------------------------------------------------------------


def names_of(code: ClCode) -> list[str]:
    """Return the kernels of a program that was built."""
    return [] if code.module is None else [*code.module.file.kernel_names()]


@API("int clGetProgramInfo(void *program, unsigned wanted, size_t size, void *value, size_t *needed)")
async def program_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    program: OpenClProgram = call.process
    code = program.find(call, handle, ClCode)
    count = len(code.builds)
    if wanted == _BINARIES:
        if value and size < 8 * count:
            refuse(ClError.INVALID_VALUE, f"there is room for {size} bytes of pointers")
        pointers = await program.words_at(call, value, count) if value else [0] * count
        for pointer, build in zip(pointers, code.builds.values(), strict=True):
            if pointer:
                call.write(pointer, build.binary)
        if needed:
            call.write_number(needed, 8 * count)
        return
    if wanted in (0x1167, 0x1168) and code.module is None:
        refuse(ClError.INVALID_PROGRAM_EXECUTABLE, f"{program.named(code)} is not built")
    names = names_of(code)
    answers: Answers = {
        0x1160: half_word(code.references),
        0x1161: word(code.context.handle),
        0x1162: half_word(count),
        0x1163: word(*(device.handle for device in code.builds)),
        0x1164: text(code.source or ""),
        0x1165: word(*(len(build.binary) for build in code.builds.values())),
        0x1167: word(len(names)),
        0x1168: text(";".join(names)),
        0x1169: code.il,
        0x116A: half_word(0),
        0x116B: half_word(0),
    }
    answer(call, answers, wanted, size, value, needed)


@API(
    "int clGetProgramBuildInfo(void *program, void *device, unsigned wanted, size_t size, void *value, size_t *needed)"
)
def build_info(call: HostCall, handle: int, device: int, wanted: int, size: int, value: int, needed: int) -> None:
    program: OpenClProgram = call.process
    code = program.find(call, handle, ClCode)
    build = code.builds.get(program.find(call, device, ClDevice))
    if build is None:
        refuse(ClError.INVALID_DEVICE, "the device does not belong to the program")
    answers: Answers = {
        0x1181: half_word(build.status),
        0x1182: text(build.options),
        0x1183: text(build.log),
        0x1184: half_word(build.kind),
        0x1185: lambda: word(_size_of_variables(build)),
    }
    answer(call, answers, wanted, size, value, needed)


def _size_of_variables(build: ClBuild) -> int:
    """Return the bytes of the variables of a program that kernels can write."""
    if build.module is None:
        return 0
    symbols = build.module.file.image.symbols()
    return sum(
        symbol.size for symbol in symbols
        if symbol.type_number == _OBJECT and symbol.section is not None and symbol.section.flags & _WRITABLE
    )  # fmt: skip


@API("int clSetProgramReleaseCallback(void *program, void *function, void *data)")
def ends_with(call: HostCall, handle: int, *_more: int) -> int:
    call.process.find(call, handle, ClCode)
    refuse(ClError.INVALID_OPERATION, "programs have no destructors of variables here")


@API("int clSetProgramSpecializationConstant(void *program, unsigned number, size_t size, const void *value)")
async def specialize(call: HostCall, handle: int, number: int, size: int, value: int) -> None:
    program: OpenClProgram = call.process
    code = program.find(call, handle, ClCode)
    if find_translator() is None:
        refuse(ClError.INVALID_OPERATION, _NO_IL)
    if not code.il:
        refuse(ClError.INVALID_PROGRAM, f"{program.named(code)} is not in SPIR-V")
    room, _place = constants_of(code.il).get(number, (0, 0))
    if not room:
        refuse(ClError.INVALID_SPEC_ID, f"{program.named(code)} has no specialization constant {number}")
    if size != room or not value:
        refuse(ClError.INVALID_VALUE, f"specialization constant {number} has {room} bytes, and {size} are given")
    code.constants[number] = await call.read(value, size)
