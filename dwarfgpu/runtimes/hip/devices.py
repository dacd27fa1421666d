"""Devices, errors and occupancy."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.calling import LAST_ERROR, ApiText
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.errors import text_of
from dwarfgpu.runtimes.hip.memory import TOTAL
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import ModuleKernel
    from dwarfgpu.runtimes.hip.program import HipProgram

VERSION = 70_051_831
UNITS = 48
CLOCK = 2_000_000
LARGEST = (1 << 31) - 1
NAME = "dwarfgpu"
BUS_ID = "0000:00:00.0"


def _gfx(program: HipProgram) -> str:
    return program.processor().partition(":")[0]


def _wave_size(program: HipProgram) -> int:
    processor = processor_named(_gfx(program))
    return 32 if processor is None else processor.default_wave_size


def _version(program: HipProgram) -> tuple[int, int]:
    digits = _gfx(program).removeprefix("gfx").partition("-")[0]
    return int(digits[:-2] or 9), int(digits[-2], 16)


# --- Errors -----------------------------------------------------------------------------------------------------------


@API("const char *hipGetErrorString(int error)")
def error_string(_call: HostCall, error: int) -> ApiText:
    return ApiText(text_of(error)[1])


@API("const char *hipGetErrorName(int error)")
def error_name(_call: HostCall, error: int) -> ApiText:
    return ApiText(text_of(error)[0])


@API("hipError_t hipDrvGetErrorString(int error, const char **text)")
def driver_error_string(call: HostCall, error: int, text: int) -> None:
    call.write_number(text, call.process.string(call, text_of(error)[1]))


@API("hipError_t hipDrvGetErrorName(int error, const char **text)")
def driver_error_name(call: HostCall, error: int, text: int) -> None:
    call.write_number(text, call.process.string(call, text_of(error)[0]))


@API("hipError_t hipGetLastError()", "hipError_t hipExtGetLastError()")
def last_error(call: HostCall) -> int:
    call.process.unread.pop(call.thread, None)
    return int(call.process.sticky() or call.thread.state.pop(LAST_ERROR, errors.SUCCESS))


@API("hipError_t hipPeekAtLastError()")
def peek_error(call: HostCall) -> int:
    call.process.unread.pop(call.thread, None)
    return int(call.process.sticky() or call.thread.state.get(LAST_ERROR, errors.SUCCESS))


# --- Devices ----------------------------------------------------------------------------------------------------------


@API(
    "hipError_t hipInit(unsigned flags)",
    "hipError_t hipSetDeviceFlags(unsigned flags)",
    "hipError_t hipDeviceSetLimit(int limit, size_t value)",
    "hipError_t hipDeviceSetCacheConfig(int config)",
    "hipError_t hipDeviceSetSharedMemConfig(int config)",
    "hipError_t hipFuncSetCacheConfig(const void *function, int config)",
    "hipError_t hipFuncSetSharedMemConfig(const void *function, int config)",
    "hipError_t hipFuncSetAttribute(const void *function, int attribute, int value)",
    "hipError_t hipCtxSetCacheConfig(int config)",
    "hipError_t hipCtxSetSharedMemConfig(int config)",
    "hipError_t hipProfilerStart()",
    "hipError_t hipProfilerStop()",
)
def settings(_call: HostCall, *_words: int) -> None:
    """Do nothing: no setting changes what kernels compute."""


@API("hipError_t hipDriverGetVersion(int *version)", "hipError_t hipRuntimeGetVersion(int *version)")
def version(call: HostCall, pointer: int) -> None:
    call.write_number(pointer, VERSION, 4)


@API("hipError_t hipGetDeviceCount(int *count)")
def device_count(call: HostCall, count: int) -> None:
    call.write_number(count, 1, 4)


@API("hipError_t hipGetDevice(int *device)")
def current_device(call: HostCall, device: int) -> None:
    call.write_number(device, 0, 4)


@API("hipError_t hipSetDevice(int device)")
def set_device(_call: HostCall, device: int) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)


@API("hipError_t hipDeviceGet(int *device, int number)")
def get_device(call: HostCall, device: int, number: int) -> None:
    if number:
        refuse(errors.INVALID_DEVICE)
    call.write_number(device, 0, 4)


@API(
    "hipError_t hipChooseDevice(int *device, const void *properties)",
    "hipError_t hipChooseDeviceR0600(int *device, const void *properties)",
)
def choose_device(call: HostCall, device: int, properties: int) -> None:
    if not device or not properties:
        refuse(errors.INVALID_VALUE)
    call.write_number(device, 0, 4)


@API("hipError_t hipSetValidDevices(const int *devices, int count)")
async def set_valid_devices(call: HostCall, devices: int, count: int) -> None:
    for number in range(min(max(count, 0), 2) if devices else 0):
        if await call.number_at(devices + 4 * number, 4):
            refuse(errors.INVALID_DEVICE)
    if count and not devices:
        refuse(errors.INVALID_VALUE)


@API("hipError_t hipDeviceGetByPCIBusId(int *device, const char *name)")
async def device_of_bus_id(call: HostCall, device: int, name: int) -> None:
    if not device or not name:
        refuse(errors.INVALID_VALUE)
    if await call.text(name) != BUS_ID:
        refuse(errors.INVALID_DEVICE)
    call.write_number(device, 0, 4)


@API("hipError_t hipDeviceGetUuid(void *name, int device)")
def unique_name(call: HostCall, name: int, device: int) -> None:
    if not name or device:
        refuse(errors.INVALID_VALUE if not name else errors.INVALID_DEVICE)
    call.write(name, NAME.encode().ljust(16, b"0"))


@API("hipError_t hipDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)")
def peer_attribute(_call: HostCall, value: int, attribute: int, _device: int, _peer: int) -> None:
    """There is no second device that could be a peer."""
    refuse(errors.INVALID_DEVICE if value and 0 <= attribute < 4 else errors.INVALID_VALUE)


@API(
    "hipError_t hipDeviceGetCacheConfig(int *config)",
    "hipError_t hipDeviceGetSharedMemConfig(int *config)",
    "hipError_t hipCtxGetCacheConfig(int *config)",
    "hipError_t hipCtxGetSharedMemConfig(int *config)",
)
def config_of_device(call: HostCall, config: int) -> None:
    if not config:
        refuse(errors.INVALID_VALUE)
    call.write_number(config, 0, 4)


@API("hipError_t hipDeviceGetName(char *name, int size, int device)")
def device_name(call: HostCall, name: int, size: int, _device: int) -> None:
    call.write(name, NAME.encode()[: max(size - 1, 0)] + b"\0")


@API("hipError_t hipDeviceGetPCIBusId(char *name, int size, int device)")
def bus_id(call: HostCall, name: int, size: int, _device: int) -> None:
    call.write(name, BUS_ID.encode()[: max(size - 1, 0)] + b"\0")


@API("hipError_t hipDeviceTotalMem(size_t *size, int device)")
def total_memory(call: HostCall, size: int, _device: int) -> None:
    call.write_number(size, TOTAL)


@API("hipError_t hipDeviceComputeCapability(int *major, int *minor, int device)")
def capability(call: HostCall, major: int, minor: int, _device: int) -> None:
    for pointer, number in zip((major, minor), _version(call.process), strict=True):
        call.write_number(pointer, number, 4)


@API("hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)")
def can_access_peer(call: HostCall, can: int, _device: int, _peer: int) -> None:
    call.write_number(can, 0, 4)


@API(
    "hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)", "hipError_t hipDeviceDisablePeerAccess(int peer)",
    "hipError_t hipCtxEnablePeerAccess(void *peer, unsigned flags)", "hipError_t hipCtxDisablePeerAccess(void *peer)",
)  # fmt: skip
def peer_access(_call: HostCall, *_words: int) -> None:
    refuse(errors.INVALID_DEVICE)


@API("hipError_t hipDeviceGetLimit(size_t *value, int limit)")
def device_limit(call: HostCall, value: int, limit: int) -> None:
    call.write_number(value, {0: 1024, 1: 1 << 20}.get(limit, 8 << 20))


@API("hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)")
def priority_range(call: HostCall, least: int, greatest: int) -> None:
    for pointer in filter(None, (least, greatest)):
        call.write_number(pointer, 0, 4)


_ATTRIBUTES = {
    8: 1, 9: 1, 10: 1, 16: 0, 19: 4 << 20, 24: 1, 26: 1024, 27: 1024, 28: 1024, 29: LARGEST, 30: 65536, 31: 65536,
    56: 1024, 57: 2048, 59: 256, 60: 1_000_000, 63: UNITS, 71: 65536, 74: 1 << 16, 83: LARGEST, 5: CLOCK,
    10017: 100_000,
    3: 1, 4: 1, 32: 16384, 34: 16384, 36: 2048, 39: 16384, 40: 2048, 41: 1 << 27, 43: 16384, 44: 16384, 46: 2048,
    47: 16384, 49: 2048, 50: 2048, 51: 2048, 58: LARGEST, 72: 65536, 75: 65536, 76: 65536, 79: 256, 81: 256, 82: 256,
    84: LARGEST, 85: 1, 88: 1, 90: 1, 10002: 65536, 10014: 1, 10015: UNITS,
}  # fmt: skip
"""Of ``hipDeviceAttribute_t``: numbers that HIP 5.2 and 7.1 share."""
_MAJOR, _MINOR, _WAVE = 23, 61, 87


@API("hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)")
def device_attribute(call: HostCall, value: int, attribute: int, _device: int) -> None:
    major, minor = _version(call.process)
    special = {_MAJOR: major, _MINOR: minor, _WAVE: _wave_size(call.process)}
    call.write_number(value, special.get(attribute, _ATTRIBUTES.get(attribute, 0)), 4)


def _properties(program: HipProgram, size: int, places: dict[str, int]) -> bytes:
    """Return the properties of the device, in a layout that has each at an offset."""
    major, minor = _version(program)
    content = bytearray(size)

    def put(name: str, form: str, *values: int) -> None:
        struct.pack_into(f"<{form}", content, places[name], *values)

    content[: len(NAME)] = NAME.encode()
    gfx = program.processor().encode()
    content[places["gcnArchName"] : places["gcnArchName"] + len(gfx)] = gfx
    for name, number in (("totalGlobalMem", TOTAL), ("sharedMemPerBlock", 1 << 16), ("totalConstMem", LARGEST)):
        put(name, "Q", number)
    put("maxSharedMemoryPerMultiProcessor", "Q", 1 << 16)
    put("maxThreadsDim", "3i", 1024, 1024, 1024)
    put("maxGridSize", "3i", LARGEST, 65536, 65536)
    numbers = {
        "regsPerBlock": 65536, "warpSize": _wave_size(program), "maxThreadsPerBlock": 1024, "clockRate": CLOCK,
        "memoryClockRate": 1_000_000, "memoryBusWidth": 256, "major": major, "minor": minor,
        "multiProcessorCount": UNITS, "l2CacheSize": 4 << 20, "maxThreadsPerMultiProcessor": 2048,
        "concurrentKernels": 1, "managedMemory": 1, "cooperativeLaunch": 1,
        "textureAlignment": 256, "texturePitchAlignment": 256, "canMapHostMemory": 1, "maxTexture1D": 16384,
        "maxTexture1DLinear": 1 << 27, "unifiedAddressing": 1, "canUseHostPointerForRegisteredMem": 1,
        "concurrentManagedAccess": 1, "sharedMemPerBlockOptin": 65536, "sharedMemPerMultiprocessor": 65536,
        "regsPerMultiprocessor": 65536, "hostRegisterSupported": 1, "memoryPoolsSupported": 1, "surfaceAlignment": 256,
    }  # fmt: skip
    for name, number in numbers.items():
        if name in places:
            put(name, "i", number)
    for name, sides in (("maxTexture2D", (16384, 16384)), ("maxTexture3D", (2048, 2048, 2048))):
        if name in places:
            put(name, f"{len(sides)}i", *sides)
    return bytes(content)


_OLD = {
    "totalGlobalMem": 256, "sharedMemPerBlock": 264, "regsPerBlock": 272, "warpSize": 276, "maxThreadsPerBlock": 280,
    "maxThreadsDim": 284, "maxGridSize": 296, "clockRate": 308, "memoryClockRate": 312, "memoryBusWidth": 316,
    "totalConstMem": 320, "major": 328, "minor": 332, "multiProcessorCount": 336, "l2CacheSize": 340,
    "maxThreadsPerMultiProcessor": 344, "concurrentKernels": 360, "maxSharedMemoryPerMultiProcessor": 376,
    "gcnArchName": 396, "cooperativeLaunch": 656, "managedMemory": 772,
}  # fmt: skip
"""The layout of ``hipDeviceProp_t`` up to HIP 5: 792 bytes."""
_NEW = {
    "totalGlobalMem": 288, "sharedMemPerBlock": 296, "regsPerBlock": 304, "warpSize": 308, "maxThreadsPerBlock": 320,
    "maxThreadsDim": 324, "maxGridSize": 336, "clockRate": 348, "totalConstMem": 352, "major": 360, "minor": 364,
    "multiProcessorCount": 388, "concurrentKernels": 576, "memoryClockRate": 608, "memoryBusWidth": 612,
    "l2CacheSize": 616, "maxThreadsPerMultiProcessor": 624, "managedMemory": 652, "cooperativeLaunch": 688,
    "gcnArchName": 1160, "maxSharedMemoryPerMultiProcessor": 1416, "textureAlignment": 368,
    "texturePitchAlignment": 376, "canMapHostMemory": 400, "maxTexture1D": 408, "maxTexture1DLinear": 416,
    "maxTexture2D": 420, "maxTexture3D": 456, "surfaceAlignment": 568, "unifiedAddressing": 604,
    "sharedMemPerMultiprocessor": 640, "regsPerMultiprocessor": 648, "concurrentManagedAccess": 676,
    "canUseHostPointerForRegisteredMem": 684, "sharedMemPerBlockOptin": 696, "hostRegisterSupported": 728,
    "memoryPoolsSupported": 744,
}  # fmt: skip
"""That of HIP 6 and later, ``R0600``: 1472 bytes."""


@API("hipError_t hipGetDeviceProperties(void *properties, int device)")
def old_properties(call: HostCall, properties: int, device: int) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)
    call.write(properties, _properties(call.process, 792, _OLD))


@API("hipError_t hipGetDevicePropertiesR0600(void *properties, int device)")
def properties(call: HostCall, pointer: int, device: int) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)
    call.write(pointer, _properties(call.process, 1472, _NEW))


def _attributes(kernel: ModuleKernel) -> dict[int, int]:
    """Return the attributes of a kernel by their numbers in ``hipFunction_attribute``."""
    metadata = kernel.module.file.kernels_named([kernel.name])[0].metadata
    if metadata is None:
        return dict.fromkeys(range(10), 0) | {0: 1024}
    shared = metadata.group_segment_fixed_size or 0
    return {
        0: metadata.max_flat_workgroup_size or 1024, 1: shared, 2: 0, 3: metadata.private_segment_fixed_size or 0,
        4: metadata.vgpr_count or 0, 5: 0, 6: 0, 7: 0, 8: 65536 - shared, 9: 0,
    }  # fmt: skip


@API("hipError_t hipFuncGetAttributes(void *attributes, const void *function)")
def function_attributes(call: HostCall, attributes: int, function: int) -> None:
    kernel = call.process.kernel(function)
    if kernel is None:
        refuse(errors.INVALID_FUNCTION)
    known = _attributes(kernel)
    order = (6, 7, 2, 3, 8, 0, 4, 9, 5, 1)
    call.write(attributes, struct.pack("<iiQQiiiii4xQ", *(known[each] for each in order)))


@API("hipError_t hipFuncGetAttribute(int *value, int attribute, void *function)")
def function_attribute(call: HostCall, value: int, attribute: int, function: int) -> None:
    kernel = call.process.kernel(function)
    if kernel is None:
        refuse(errors.INVALID_FUNCTION)
    known = _attributes(kernel)
    if not value or attribute not in known:
        refuse(errors.INVALID_VALUE)
    call.write_number(value, known[attribute], 4)


@API("const char *hipKernelNameRef(void *function)", "const char *hipKernelNameRefByPtr(void *function, void *stream)")
def function_name(call: HostCall, function: int, _stream: int = 0) -> ApiText | int:
    kernel = call.process.kernel(function)
    return 0 if kernel is None else ApiText(kernel.name)


# --- Occupancy --------------------------------------------------------------------------------------------------------


@API(
    "hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *function, int size, size_t shared)",
    "hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *function, int size, "
    "size_t shared, unsigned flags)",
    "hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *function, int size, size_t shared)",
)
def occupancy(call: HostCall, count: int, _function: int, size: int, shared: int, *_flags: int) -> None:
    if size < 1:
        refuse(errors.INVALID_VALUE)
    most = min(2048 // min(size, 2048), (1 << 16) // shared if shared else 32)
    call.write_number(count, max(0, min(most, 32)), 4)


@API(
    "hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, size_t shared, int limit)",
    "hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t shared, int limit)",
)
def block_size(call: HostCall, grid: int, block: int, _function: int, _shared: int, limit: int) -> None:
    size = min(limit, 1024) if limit > 0 else 1024
    call.write_number(block, size, 4)
    call.write_number(grid, UNITS * (2048 // size), 4)
