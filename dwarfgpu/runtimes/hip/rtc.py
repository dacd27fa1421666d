"""hipRTC: programs compile kernels while they run, with the clang of the user and the headers of `dwarfgpu hipcc`."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import PrivateFolder
from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import define, field
from dwarfgpu.objfile.containers.bundle import BUNDLE_MAGIC, COMPRESSED_MAGIC, Container
from dwarfgpu.objfile.elf.loading import load
from dwarfgpu.program.code.code_object import opened, target_name_of
from dwarfgpu.runtimes.calling import ApiText
from dwarfgpu.runtimes.hip.program import API
from dwarfgpu.runtimes.prototypes import CallRefused
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

SUCCESS, INVALID_INPUT, INVALID_PROGRAM, COMPILATION = 0, 3, 4, 6
TOO_LATE, TOO_EARLY, INVALID_NAME = 8, 9, 10
LINKING = 100
_RESULTS = {
    SUCCESS: "HIPRTC_SUCCESS", 1: "HIPRTC_ERROR_OUT_OF_MEMORY", 2: "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
    INVALID_INPUT: "HIPRTC_ERROR_INVALID_INPUT", INVALID_PROGRAM: "HIPRTC_ERROR_INVALID_PROGRAM",
    5: "HIPRTC_ERROR_INVALID_OPTION", COMPILATION: "HIPRTC_ERROR_COMPILATION",
    7: "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE", TOO_LATE: "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    TOO_EARLY: "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    INVALID_NAME: "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID", 11: "HIPRTC_ERROR_INTERNAL_ERROR",
    LINKING: "HIPRTC_ERROR_LINKING",
}  # fmt: skip
"""The names of ``hiprtcResult``."""
_VERSION = 9, 0
_MOST_HEADERS = _MOST_OPTIONS = 1000
_ARCHITECTURES = ("--gpu-architecture=", "--offload-arch=", "-arch=")
_RELOCATABLE = "-fgpu-rdc"
"""The word with which bitcode is asked for."""
_FORMS = {3: False, 4: False, 100: True, 101: True, 102: True}
"""``hiprtcJITInputType``: objects, archives of them, bitcode, bundles of it, archives of those; whether it is bitcode."""
_SPIR_V = 103
_ARCHIVE, _MEMBER = b"!<arch>\n", struct.Struct("16s32x10s2x")
_NAMED = "dg_name_{}"
_ENDINGS = (".hip", ".cu", ".cpp")


@define(eq=False)
class RtcProgram:
    """A source that a program compiles."""

    name: str
    source: str
    headers: dict[str, str]
    expressions: dict[str, str | None] = field(factory=dict)
    """The names that are asked for, with those of their symbols once it is compiled."""
    code: bytes = b""
    bitcode: bytes = b""
    """What it became if other code is linked with it."""
    log: str = ""

    @property
    def is_compiled(self) -> bool:
        return bool(self.code or self.bitcode)


@define(eq=False)
class RtcLink:
    """Bitcode and objects that become one code object."""

    inputs: list[tuple[bool, bytes]] = field(factory=list)
    """Whether each is bitcode, and its content."""


def _program(call: HostCall, handle: int) -> RtcProgram:
    found = call.process.objects.get(handle)
    if not isinstance(found, RtcProgram):
        raise CallRefused(INVALID_PROGRAM if handle else INVALID_INPUT)
    return found


async def _texts(call: HostCall, pointers: int, count: int) -> list[str]:
    if not count:
        return []
    content = await call.read(pointers, 8 * count)
    return [await call.text(pointer) for pointer in struct.unpack(f"<{count}Q", content)]


@API("hiprtcResult hiprtcVersion(int *major, int *minor)")
def version(call: HostCall, *pointers: int) -> int:
    if not all(pointers):
        return INVALID_INPUT
    for pointer, number in zip(pointers, _VERSION, strict=True):
        call.write_number(pointer, number, 4)
    return SUCCESS


@API("const char *hiprtcGetErrorString(int result)")
def error_string(_call: HostCall, result: int) -> ApiText:
    return ApiText(_RESULTS.get(result, "Invalid HIPRTC error code"))


@API(
    "hiprtcResult hiprtcCreateProgram(void **program, const char *source, const char *name, int count, "
    "const char **headers, const char **names)"
)
async def create(call: HostCall, program: int, source: int, name: int, count: int, headers: int, names: int) -> int:
    if not program or not source or not 0 <= count <= _MOST_HEADERS or (count and not (headers and names)):
        return INVALID_INPUT
    texts = await _texts(call, headers, count)
    given = dict(zip(await _texts(call, names, count), texts, strict=True))
    title = await call.text(name) if name else "CompileSource"
    call.write_number(program, call.process.keep(RtcProgram(title, await call.text(source), given)))
    return SUCCESS


@API("hiprtcResult hiprtcDestroyProgram(void **program)")
async def destroy(call: HostCall, program: int) -> int:
    handle = await call.number_at(program) if program else 0
    _program(call, handle)
    del call.process.objects[handle]
    return SUCCESS


@API("hiprtcResult hiprtcAddNameExpression(void *program, const char *expression)")
async def add_name(call: HostCall, program: int, expression: int) -> int:
    found = _program(call, program)
    if not expression:
        return INVALID_INPUT
    if found.is_compiled:
        return TOO_LATE
    found.expressions[await call.text(expression)] = None
    return SUCCESS


@API("hiprtcResult hiprtcCompileProgram(void *program, int count, const char **options)")
async def compile_program(call: HostCall, program: int, count: int, options: int) -> int:
    found = _program(call, program)
    if not 0 <= count <= _MOST_OPTIONS or (count and not options):
        return INVALID_INPUT
    words = await _texts(call, options, count)
    try:
        content, found.log = _compiled(call.process, found, words)
        if _RELOCATABLE in words:
            found.bitcode = content
        else:
            found.code = content
            _find_names(found)
    except (DwarfGpuError, OSError) as error:
        found.log = getattr(error, "messages", "") or f"{error}\n"
        return COMPILATION
    return SUCCESS


def _new_folder(program: HipProgram) -> Path:
    if program.folder is None:
        program.folder = PrivateFolder()
    folder = program.folder.path / f"rtc-{program.handle()}"
    folder.mkdir()
    return folder


def _compiled(program: HipProgram, found: RtcProgram, words: list[str]) -> tuple[bytes, str]:
    """Return code, and the warnings of clang. The sources stay, so that reports can show lines."""
    folder = _new_folder(program)
    for name, text in found.headers.items():
        path = folder / name.lstrip("/")
        if folder in path.resolve().parents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, errors="surrogateescape")
    name = Path(found.name).name or "CompileSource"
    path = folder / (name if name.endswith(_ENDINGS) else f"{name}.hip")
    names = (
        f'extern "C" __device__ __attribute__((used)) const void *{_NAMED.format(number)} = (const void *)({text});\n'
        for number, text in enumerate(_addresses(found))
    )
    path.write_text(f"{found.source}\n{''.join(names)}", errors="surrogateescape")
    given = [word.partition("=")[2] for word in words if word.startswith(_ARCHITECTURES)]
    is_known = bool(given) and processor_named(given[-1].partition(":")[0]) is not None
    if is_known and program.device.target is None and not program.device.machines:
        program.device.target = given[-1]
    others = [word for word in words if not word.startswith(_ARCHITECTURES)]
    options = ("-include", "hip/hip_runtime.h", "-I", str(folder), *others)
    if _RELOCATABLE in words:  # each has a symbol of its own name
        options = (*options, "-emit-llvm", "-c", f"-cuid={folder.name}")
    recipe = Recipe(given[-1] if given else program.processor(), "3", options, is_watched=False)
    compiled = compile_source(str(path), recipe)
    return compiled.code, compiled.messages


def _addresses(found: RtcProgram) -> list[str]:
    """Return the expressions as what can be converted to a pointer: functions have no `&`."""
    return [text if text.startswith("&") else f"&{text}" for text in found.expressions]


def _find_names(found: RtcProgram) -> None:
    """Find the symbol of each expression: code has a variable for each, with the address."""
    if not found.expressions:
        return
    image = opened(found.code).image
    segments = load(image, 0)
    for number, text in enumerate(found.expressions):
        variable = image.symbol_named(_NAMED.format(number))
        if variable is not None:
            start, content = next(
                (start, content)
                for start, content in segments.items()
                if start <= variable.value < start + len(content)
            )
            (address,) = struct.unpack_from("<Q", content, variable.value - start)
            named = (each.name for each in image.symbols() if each.value == address and each.name)
            found.expressions[text] = next(named, None)


@API("hiprtcResult hiprtcGetLoweredName(void *program, const char *expression, const char **name)")
async def lowered_name(call: HostCall, program: int, expression: int, name: int) -> int:
    found = _program(call, program)
    if not expression or not name:
        return INVALID_INPUT
    if not found.is_compiled:
        return TOO_EARLY
    text = found.expressions.get(await call.text(expression))
    if text is None:
        return INVALID_NAME
    call.write_number(name, call.process.string(call, text))
    return SUCCESS


def _put(call: HostCall, pointer: int, content: Any) -> int:
    if not pointer:
        return INVALID_INPUT
    if isinstance(content, int):
        call.write_number(pointer, content)
    else:
        call.write(pointer, content)
    return SUCCESS


@API("hiprtcResult hiprtcGetProgramLogSize(void *program, size_t *size)")
def log_size(call: HostCall, program: int, size: int) -> int:
    return _put(call, size, len(_log(call, program)))


@API("hiprtcResult hiprtcGetProgramLog(void *program, char *log)")
def log(call: HostCall, program: int, text: int) -> int:
    return _put(call, text, _log(call, program))


def _log(call: HostCall, program: int) -> bytes:
    return _program(call, program).log.encode(errors="replace") + b"\0"


@API("hiprtcResult hiprtcGetCodeSize(void *program, size_t *size)")
def code_size(call: HostCall, program: int, size: int) -> int:
    return _put(call, size, len(_program(call, program).code))


@API("hiprtcResult hiprtcGetCode(void *program, char *code)")
def code(call: HostCall, program: int, pointer: int) -> int:
    return _put(call, pointer, _program(call, program).code)


@API("hiprtcResult hiprtcGetBitcodeSize(void *program, size_t *size)")
def bitcode_size(call: HostCall, program: int, size: int) -> int:
    found = _program(call, program)
    return _put(call, size, len(found.bitcode)) if found.bitcode else INVALID_PROGRAM


@API("hiprtcResult hiprtcGetBitcode(void *program, char *bitcode)")
def bitcode(call: HostCall, program: int, pointer: int) -> int:
    found = _program(call, program)
    return _put(call, pointer, found.bitcode) if found.bitcode else INVALID_PROGRAM


# --- Code of several programs -----------------------------------------------------------------------------------------


def _link(call: HostCall, handle: int) -> RtcLink:
    found = call.process.objects.get(handle)
    if not isinstance(found, RtcLink):
        raise CallRefused(INVALID_INPUT)
    return found


@API("hiprtcResult hiprtcLinkCreate(unsigned count, int *options, void **values, void **link)")
def create_link(call: HostCall, _count: int, _options: int, _values: int, link: int) -> int:
    return _put(call, link, call.process.keep(RtcLink())) if link else INVALID_INPUT


def _members(archive: bytes) -> Iterator[bytes]:
    """Yield the members of an archive, without its tables of symbols and names."""
    at = len(_ARCHIVE)
    while at + _MEMBER.size <= len(archive):
        name, digits = _MEMBER.unpack_from(archive, at)
        size = int(digits) if digits.strip().isdigit() else len(archive)
        at += _MEMBER.size
        if not name.startswith((b"/ ", b"//", b"/SYM64/")):
            yield archive[at : at + size]
        at += size + size % 2


def _add(call: HostCall, link: int, form: int, content: bytes) -> int:
    """Add code; of a bundle, what is for the processor; of an archive, each member."""
    program: HipProgram = call.process
    found = _link(call, link)
    if form == _SPIR_V:
        program.problem("not-supported", "SPIR-V in hipRTC's linker is not supported", call)
    if form not in _FORMS or not content:
        return INVALID_INPUT
    if content.startswith(_ARCHIVE):
        members = [*_members(content)]
        return max((_add(call, link, form, member) for member in members), default=INVALID_INPUT)
    if content.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC)):
        container = Container(memoryview(content), name="code", target_of=target_name_of)
        content = bytes(container.content(container.select(program.processor())))
    found.inputs.append((_FORMS[form], content))
    return SUCCESS


@API(
    "hiprtcResult hiprtcLinkAddData(void *link, int form, void *image, size_t size, const char *name, unsigned count, "
    "int *options, void **values)"
)
async def add_data(call: HostCall, link: int, form: int, image: int, size: int, *_unused: int) -> int:
    return _add(call, link, form, await call.read(image, size)) if image and size else INVALID_INPUT


@API(
    "hiprtcResult hiprtcLinkAddFile(void *link, int form, const char *path, unsigned count, int *options, void **values)"
)
async def add_file(call: HostCall, link: int, form: int, path: int, *_unused: int) -> int:
    if not path:
        return INVALID_INPUT
    content = call.process.file(await call.text(path))
    return INVALID_INPUT if content is None else _add(call, link, form, content)


@API("hiprtcResult hiprtcLinkComplete(void *link, void **code, size_t *size)")
def complete(call: HostCall, link: int, code: int, size: int) -> int:
    """Link all that was added: clang compiles an empty source with the bitcode, and lld adds the objects."""
    program: HipProgram = call.process
    found = _link(call, link)
    if not (code and size and found.inputs):
        return INVALID_INPUT
    folder = _new_folder(program)
    options = [f"-cuid={folder.name}"]
    for number, (is_bitcode, content) in enumerate(found.inputs):
        path = folder / f"{number}.{'bc' if is_bitcode else 'o'}"
        path.write_bytes(content)
        linked = ("-Xclang", "-mlink-bitcode-file", "-Xclang") if is_bitcode else ("-Xoffload-linker",)
        options += [*linked, str(path)]
    source = folder / "link.hip"
    source.write_text("")
    try:
        compiled = compile_source(str(source), Recipe(program.processor(), "3", tuple(options), is_watched=False))
    except (DwarfGpuError, OSError) as error:
        program.problem("code", f"code cannot be linked: {error}", call)
        return LINKING
    call.write_number(code, program.place(call, compiled.code))
    call.write_number(size, len(compiled.code))
    return SUCCESS


@API("hiprtcResult hiprtcLinkDestroy(void *link)")
def destroy_link(call: HostCall, link: int) -> int:
    _link(call, link)
    del call.process.objects[link]
    return SUCCESS
