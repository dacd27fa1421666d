"""What clang and a program's constructors register, modules that a program loads, and launches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from dwarfgpu.demangle import demangled
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.containers.bundle import BUNDLE_MAGIC, COMPRESSED_MAGIC
from dwarfgpu.runtimes.arena import MANAGED
from dwarfgpu.runtimes.connection import OPEN
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, DeviceVariable, FatBinary, refuse
from dwarfgpu.runtimes.hip.streams import streamed
from dwarfgpu.runtimes.hip.work import KERNEL, HipEvent

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import ModuleKernel
    from dwarfgpu.runtimes.hip.program import HipProgram

WRAPPER_MAGIC = 0x48495046
_ELF_MAGIC = b"\x7fELF"
_HEAD = 64
_LAUNCH = struct.Struct("<Q6I3Q")
_CONFIGURATION, _FUNCTION_CONFIGURATION = struct.Struct("<6I3QI4x"), struct.Struct("<7I4x2QI4x")
"""``hipLaunchConfig_t`` and ``HIP_LAUNCH_CONFIG``."""
_ATTRIBUTE = struct.Struct("<i4xi60x")
"""``hipLaunchAttribute``: what it is, and its value."""
_COOPERATIVE, _PRIORITY = 2, 8
_MOST_ENTRIES = 1024
_POINTER, _SIZE, _END = 1, 2, 3
"""The words of ``extra``: HIP_LAUNCH_PARAM_BUFFER_POINTER and others."""


async def _content(call: HostCall, address: int) -> bytes:
    """Return code that a program has in memory; nothing says how long it is but the code itself."""
    head = await call.read(address, _HEAD)
    size = 0
    if head.startswith(BUNDLE_MAGIC):
        (count,) = struct.unpack_from("<Q", head, 24)
        at = address + 32
        for _ in range(min(count, _MOST_ENTRIES)):
            offset, length, name = struct.unpack("<3Q", await call.read(at, 24))
            size, at = max(size, offset + length), at + 24 + name
    elif head.startswith(COMPRESSED_MAGIC):
        (version,) = struct.unpack_from("<H", head, 4)
        size = struct.unpack_from("<Q" if version >= 3 else "<I", head, 8)[0]
    elif head.startswith(_ELF_MAGIC):
        (sections,) = struct.unpack_from("<Q", head, 40)
        entry, count = struct.unpack_from("<HH", head, 58)
        size = sections + entry * count
    return await call.read(address, size) if size else b""


@API("void **__hipRegisterFatBinary(const void *wrapper)")
async def register_fat_binary(call: HostCall, wrapper: int) -> int:
    magic, _version, address = struct.unpack("<IIQ", await call.read(wrapper, 16))
    content = await _content(call, address) if magic == WRAPPER_MAGIC else b""
    if not content:
        call.process.problem("code", f"the fat binary at {address:#x} cannot be read", call)
    return int(call.process.register(content))


@API("void __hipUnregisterFatBinary(void **binary)")
def unregister_fat_binary(call: HostCall, binary: int) -> None:
    program: HipProgram = call.process
    gone = program.binaries.get(binary)
    program.unregistered.update((key, known[1]) for key, known in program.kernels.items() if known[0] is gone)
    program.kernels = {key: known for key, known in program.kernels.items() if known[0] is not gone}
    program.variables = {key: known for key, known in program.variables.items() if known.binary is not gone}


@API(
    "void __hipRegisterFunction(void **binary, const void *shadow, char *host_name, const char *name, unsigned limit, "
    "void *thread, void *block, void *block_size, void *grid_size, int *wave_size)"
)
async def register_function(
    call: HostCall, binary: int, shadow: int, _host_name: int, name: int, *_unused: int
) -> None:
    program: HipProgram = call.process
    program.kernels[shadow] = program.binary(binary), await call.text(name)


@API(
    "void __hipRegisterVar(void **binary, void *shadow, char *host_name, const char *name, int is_external, "
    "size_t size, int is_constant, int is_global)"
)
async def register_variable(
    call: HostCall, binary: int, shadow: int, _host: int, name: int, _external: int, size: int, *_unused: int
) -> None:
    program: HipProgram = call.process
    program.variables[shadow] = DeviceVariable(program.binary(binary), await call.text(name), size)


@API(
    "void __hipRegisterManagedVar(void **binary, void **pointer, void *initial, const char *name, size_t size, "
    "unsigned alignment)"
)
async def register_managed(
    call: HostCall, binary: int, pointer: int, initial: int, name: int, size: int, _unused: int
) -> None:
    """Allocate a managed variable, before the program can use it."""
    program: HipProgram = call.process
    address = program.device.malloc(size, MANAGED)
    call.protect(address, size, OPEN)
    call.copy(address, initial, size)
    call.write_number(pointer, address)
    variable = DeviceVariable(program.binary(binary), await call.text(name), size)
    program.variables[initial] = program.variables[pointer] = program.variables[address] = variable
    try:
        found = program.module(variable.binary).symbol(variable.name)
    except DwarfGpuError:
        return  # a launch says why
    if found is not None:
        program.device.arena.view(found[0], 8)[:] = address.to_bytes(8, "little")


@API("void __hipRegisterSurface(void **binary)")
def register_surface(_call: HostCall, _binary: int) -> None:
    """Surfaces cannot be bound to variables."""


# --- Launches ---------------------------------------------------------------------------------------------------------


@API(
    "hipError_t hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t *stream)",
    "hipError_t hipLaunchKernel_spt(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream)",
)
async def launch_kernel(
    call: HostCall, handle: int, grid: tuple[int, ...], block: tuple[int, ...], args: int, shared: int, stream: int,
    *, is_cooperative: bool = False,
) -> Any:  # fmt: skip
    program: HipProgram = call.process
    program.check_device()
    try:
        kernel = program.kernel(handle)
    except DwarfGpuError as error:
        program.problem("code", f"{demangled(program.kernels[handle][1])} cannot be launched: {error}", call)
        refuse(errors.NO_BINARY)
    if kernel is None:
        message = f"the function at {handle:#x} is launched, which is not a kernel, or not registered yet"
        if handle in program.unregistered:
            name = demangled(program.unregistered[handle])
            message = f"{name} is launched after its code was unregistered: the program ends, or has unloaded it"
        program.problem("invalid-launch", message, call)
        refuse(errors.INVALID_FUNCTION)
    values = await call.gather(args, [size for _offset, size in kernel.arguments])
    return launch(call, handle, grid, block, kernel.segment(values), shared, is_cooperative, stream)


@API(
    "hipError_t hipLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args, unsigned shared, "
    "void *stream)"
)
async def launch_kernel_together(call: HostCall, *arguments: Any) -> Any:
    return await launch_kernel(call, *arguments, is_cooperative=True)


@streamed(KERNEL)
def launch(
    call: HostCall,
    handle: int,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    segment: bytes,
    shared: int,
    is_cooperative: bool,  # noqa: FBT001 (a graph keeps arguments by their positions)
    _stream: int,
) -> Any:
    """Launch a kernel with its arguments as they are in the segment; blocks of a cooperative launch may wait."""
    kernel: ModuleKernel | None = call.process.kernel(handle)
    if kernel is None:
        refuse(errors.INVALID_HANDLE)
    return call.process.launch(call, kernel, grid, block, segment, shared, is_cooperative=is_cooperative)


@API(
    "hipError_t hipExtLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream, "
    "void *start, void *stop, int flags)"
)
async def launch_between_events(
    call: HostCall, handle: int, grid: tuple[int, ...], block: tuple[int, ...], args: int, shared: int, stream: int,
    start: int, stop: int, _flags: int,
) -> Any:  # fmt: skip
    program: HipProgram = call.process
    result = await launch_kernel(call, handle, grid, block, args, shared, stream)
    begun, ended = (program.objects.get(event) for event in (start, stop))
    if isinstance(begun, HipEvent):
        begun.recorded = program.now()
    if isinstance(ended, HipEvent):
        program.work.append(lambda: setattr(ended, "recorded", program.now()))
    return result


@API("hipError_t hipExtLaunchMultiKernelMultiDevice(const void *launches, int count, unsigned flags)")
async def launch_on_devices(
    call: HostCall, launches: int, count: int, _flags: int, *, is_cooperative: bool = False
) -> Any:
    """Launch kernels as ``hipLaunchParams`` say; as there is one device, there is one launch."""
    if count != 1:
        refuse(errors.INVALID_VALUE)
    handle, *sizes, arguments, shared, stream = _LAUNCH.unpack(await call.read(launches, _LAUNCH.size))
    blocks, threads = tuple(sizes[:3]), tuple(sizes[3:])
    return await launch_kernel(call, handle, blocks, threads, arguments, shared, stream, is_cooperative=is_cooperative)


@API("hipError_t hipLaunchCooperativeKernelMultiDevice(const void *launches, int count, unsigned flags)")
async def launch_together_on_devices(call: HostCall, *arguments: Any) -> Any:
    return await launch_on_devices(call, *arguments, is_cooperative=True)


async def _is_cooperative(call: HostCall, attributes: int, count: int) -> bool:
    """Return whether the attributes of a launch say that its blocks wait for each other; others are not known."""
    content = await call.read(attributes, _ATTRIBUTE.size * min(count, _MOST_ENTRIES)) if count else b""
    result = False
    for attribute, value in _ATTRIBUTE.iter_unpack(content):
        if attribute == _COOPERATIVE:
            result = bool(value)
        elif attribute != _PRIORITY:
            call.process.problem("not-supported", f"the attribute {attribute} of a launch is not supported", call)
            refuse(errors.NOT_SUPPORTED)
    return result


@API("hipError_t hipLaunchKernelExC(const void *configuration, const void *f, void **args)")
async def launch_configured(call: HostCall, configuration: int, handle: int, args: int) -> Any:
    *sizes, shared, stream, attributes, count = _CONFIGURATION.unpack(
        await call.read(configuration, _CONFIGURATION.size)
    )
    is_cooperative = await _is_cooperative(call, attributes, count)
    blocks, threads = tuple(sizes[:3]), tuple(sizes[3:])
    return await launch_kernel(call, handle, blocks, threads, args, shared, stream, is_cooperative=is_cooperative)


@API("hipError_t hipDrvLaunchKernelEx(const void *configuration, void *f, void **args, void **extra)")
async def launch_function_configured(call: HostCall, configuration: int, handle: int, args: int, extra: int) -> Any:
    *sizes, attributes, count = _FUNCTION_CONFIGURATION.unpack(
        await call.read(configuration, _FUNCTION_CONFIGURATION.size)
    )
    is_cooperative = await _is_cooperative(call, attributes, count)
    return await launch_function(call, handle, *sizes, args, extra, is_cooperative=is_cooperative)


@API(
    "hipError_t hipModuleLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, "
    "unsigned by, unsigned bz, unsigned shared, void *stream, void **args)"
)
async def launch_function_together(call: HostCall, *arguments: Any) -> Any:
    return await launch_function(call, *arguments, is_cooperative=True)


@API(
    "hipError_t hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, "
    "unsigned bz, unsigned shared, void *stream, void **args, void **extra)"
)
async def launch_function(
    call: HostCall, handle: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int,
    args: int, extra: int = 0, *, is_cooperative: bool = False,
) -> Any:  # fmt: skip
    program: HipProgram = call.process
    program.check_device()
    kernel = program.kernel(handle) if handle in program.kernels else None
    if kernel is None:
        refuse(errors.INVALID_HANDLE)
    segment = await arguments_of(call, kernel, args, extra)
    return launch(call, handle, (gx, gy, gz), (bx, by, bz), segment, shared, is_cooperative, stream)


async def arguments_of(call: HostCall, kernel: ModuleKernel, args: int, extra: int) -> bytes:
    """Return the segment of a kernel whose arguments are behind pointers, or given as a segment."""
    if args:
        return kernel.segment(await call.gather(args, [size for _offset, size in kernel.arguments]))
    return (await _packed(call, extra))[: kernel.size].ljust(kernel.size, b"\0")


async def _packed(call: HostCall, extra: int) -> bytes:
    """Return arguments that are given as a segment."""
    pointer = size = 0
    for at in range(extra, extra + 16 * 8, 16) if extra else ():
        word, value = struct.unpack("<QQ", await call.read(at, 16))
        if word == _POINTER:
            pointer = value
        elif word == _SIZE:
            size = await call.number_at(value)
        else:
            break
    return await call.read(pointer, size) if pointer and size else b""


# --- Modules ----------------------------------------------------------------------------------------------------------


def _loaded(call: HostCall, module: int, content: bytes) -> None:
    program: HipProgram = call.process
    handle = program.register(content)
    try:
        program.module(program.binaries[handle])
    except DwarfGpuError as error:
        program.problem("code", f"a module cannot be loaded: {error}", call)
        refuse(errors.INVALID_IMAGE if not content else errors.NO_BINARY)
    call.write_number(module, handle)


@API("hipError_t hipModuleLoad(void **module, const char *path)")
async def load_file(call: HostCall, module: int, path: int) -> None:
    content = call.process.file(await call.text(path))
    if content is None:
        refuse(errors.FILE_NOT_FOUND)
    _loaded(call, module, content)


@API(
    "hipError_t hipModuleLoadData(void **module, const void *image)",
    "hipError_t hipModuleLoadFatBinary(void **module, const void *image)",
    "hipError_t hipModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void *values)",
)
async def load_data(call: HostCall, module: int, image: int, *_options: int) -> None:
    _loaded(call, module, await _content(call, image))


@API("hipError_t hipModuleUnload(void *module)")
def unload(call: HostCall, module: int) -> None:
    binary: FatBinary | None = call.process.binaries.pop(module, None)
    if binary is None:
        refuse(errors.INVALID_HANDLE)
    if binary.module is not None:
        binary.module.unload()


def _binary(call: HostCall, module: int) -> FatBinary | None:
    binary: FatBinary | None = call.process.binaries.get(module)
    return binary


@API("hipError_t hipModuleGetFunction(void **function, void *module, const char *name)")
async def function_of_module(call: HostCall, function: int, module: int, name: int) -> None:
    binary, text = _binary(call, module), await call.text(name)
    if binary is None:
        refuse(errors.INVALID_HANDLE)
    try:
        found: ModuleKernel = call.process.module(binary).kernel(text)
    except DwarfGpuError:
        refuse(errors.NOT_FOUND)
    handle = call.process.handle()
    call.process.kernels[handle] = binary, found.name
    call.write_number(function, handle)


@API("hipError_t hipModuleGetGlobal(void **address, size_t *size, void *module, const char *name)")
async def variable_of_module(call: HostCall, address: int, size: int, module: int, name: int) -> None:
    binary, text = _binary(call, module), await call.text(name)
    found = None if binary is None else call.process.module(binary).symbol(text)
    if found is None:
        refuse(errors.NOT_FOUND)
    for pointer, number in zip((address, size), found, strict=True):
        if pointer:
            call.write_number(pointer, number)
