"""The platform, its devices, contexts and queues, and the references to all objects."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dwarfgpu
from dwarfgpu.compilers.spirv import VERSIONS, find_translator
from dwarfgpu.runtimes.opencl.errors import ClError, ClFailure, refuse
from dwarfgpu.runtimes.opencl.info import answer, half_word, named_versions, text, version, word
from dwarfgpu.runtimes.opencl.objects import (
    OUT_OF_ORDER,
    PROFILING,
    ClCode,
    ClContext,
    ClDevice,
    ClEvent,
    ClKernel,
    ClMemory,
    ClObject,
    ClPlatform,
    ClQueue,
    ClSampler,
)
from dwarfgpu.runtimes.opencl.program import API, MOST_LISTED
from dwarfgpu.runtimes.prototypes import CallRefused

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

VERSION = "OpenCL 3.0 dwarfgpu"
TOTAL = 4 << 30
"""The bytes of memory that the device says to have."""
MOST_ALLOCATED = 1 << 30
LOCAL = 1 << 16
MOST_ITEMS = 1024
"""The work-items of a work-group."""
MOST_WIDE, MOST_DEEP, MOST_OF_BUFFER = 16384, 2048, 1 << 16
"""The extents of images."""
_EXTENSIONS = (
    "cl_khr_byte_addressable_store", "cl_khr_fp64", "cl_khr_fp16", "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics", "cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_3d_image_writes", "cl_khr_icd",
    "cl_khr_image2d_from_buffer",
)  # fmt: skip
FEATURES = (
    "__opencl_c_3d_image_writes", "__opencl_c_images", "__opencl_c_read_write_images", "__opencl_c_fp64",
    "__opencl_c_int64", "__opencl_c_generic_address_space", "__opencl_c_work_group_collective_functions",
    "__opencl_c_atomic_order_acq_rel", "__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_device",
    "__opencl_c_subgroups", "__opencl_c_program_scope_global_variables",
)  # fmt: skip
"""The optional features of OpenCL C 3.0 that are here."""
_GPU, _DEFAULT, _ALL = 4, 1, 0xFFFFFFFF
_SINGLE, _DOUBLE, _HALF = 0x3F, 0x3F, 0x3F
"""Denormals, infinities and not-a-numbers, the four roundings, and fused multiply-add."""
_PLATFORM, _CONTEXT_PLATFORM = 0x1031, 0x1084
_QUEUE_PROPERTIES, _QUEUE_SIZE = 0x1093, 0x1094

_PLATFORM_ANSWERS: Answers = {
    0x0900: text("FULL_PROFILE"), 0x0901: text(VERSION), 0x0902: text("dwarfgpu"), 0x0903: text("dwarfgpu"),
    0x0904: text("cl_khr_icd"), 0x0905: word(1), 0x0906: half_word(version(3)),
    0x0907: named_versions((version(1), "cl_khr_icd")), 0x0920: text("DWARFGPU"),
}  # fmt: skip
"""CL_PLATFORM_PROFILE, _VERSION, _NAME, _VENDOR, _EXTENSIONS, _HOST_TIMER_RESOLUTION, _NUMERIC_VERSION,
_EXTENSIONS_WITH_VERSION and _ICD_SUFFIX_KHR."""

DEVICE_ANSWERS: dict[int, bytes] = {
    0x1000: word(_GPU),  # TYPE
    0x1001: half_word(0x1002),  # VENDOR_ID
    0x1002: half_word(4),  # MAX_COMPUTE_UNITS: programs size grids by it
    0x1003: half_word(3),  # MAX_WORK_ITEM_DIMENSIONS
    0x1004: word(256),  # MAX_WORK_GROUP_SIZE: what kernels of clang take that ask for no other
    0x1005: word(MOST_ITEMS, MOST_ITEMS, MOST_ITEMS),  # MAX_WORK_ITEM_SIZES
    **{wanted: half_word(1) for wanted in (*range(0x1006, 0x100C), *range(0x1036, 0x103D))},  # VECTOR_WIDTHs
    0x1034: half_word(1),  # PREFERRED_VECTOR_WIDTH_HALF
    0x1035: half_word(1),  # HOST_UNIFIED_MEMORY
    0x100C: half_word(1000),  # MAX_CLOCK_FREQUENCY
    0x100D: half_word(64),  # ADDRESS_BITS
    0x100E: half_word(128),  # MAX_READ_IMAGE_ARGS
    0x100F: half_word(64),  # MAX_WRITE_IMAGE_ARGS
    0x104C: half_word(64),  # MAX_READ_WRITE_IMAGE_ARGS
    0x1010: word(MOST_ALLOCATED),  # MAX_MEM_ALLOC_SIZE
    0x1011: word(MOST_WIDE),  # IMAGE2D_MAX_WIDTH
    0x1012: word(MOST_WIDE),  # IMAGE2D_MAX_HEIGHT
    0x1013: word(MOST_DEEP),  # IMAGE3D_MAX_WIDTH
    0x1014: word(MOST_DEEP),  # IMAGE3D_MAX_HEIGHT
    0x1015: word(MOST_DEEP),  # IMAGE3D_MAX_DEPTH
    0x1016: half_word(1),  # IMAGE_SUPPORT
    0x1017: word(4096),  # MAX_PARAMETER_SIZE
    0x1018: half_word(16),  # MAX_SAMPLERS
    0x1019: half_word(1024),  # MEM_BASE_ADDR_ALIGN, in bits
    0x101A: half_word(128),  # MIN_DATA_TYPE_ALIGN_SIZE
    0x101B: word(_SINGLE),  # SINGLE_FP_CONFIG
    0x1032: word(_DOUBLE),  # DOUBLE_FP_CONFIG
    0x1033: word(_HALF),  # HALF_FP_CONFIG
    0x101C: half_word(2),  # GLOBAL_MEM_CACHE_TYPE: read and write
    0x101D: half_word(64),  # GLOBAL_MEM_CACHELINE_SIZE
    0x101E: word(1 << 14),  # GLOBAL_MEM_CACHE_SIZE
    0x101F: word(TOTAL),  # GLOBAL_MEM_SIZE
    0x1020: word(1 << 16),  # MAX_CONSTANT_BUFFER_SIZE: programs allocate as much
    0x1021: half_word(8),  # MAX_CONSTANT_ARGS
    0x1022: half_word(1),  # LOCAL_MEM_TYPE: memory of its own
    0x1023: word(LOCAL),  # LOCAL_MEM_SIZE
    0x1024: half_word(0),  # ERROR_CORRECTION_SUPPORT
    0x1025: word(1),  # PROFILING_TIMER_RESOLUTION
    0x1026: half_word(1),  # ENDIAN_LITTLE
    0x1027: half_word(1),  # AVAILABLE
    0x1028: half_word(1),  # COMPILER_AVAILABLE
    0x103E: half_word(1),  # LINKER_AVAILABLE
    0x1029: word(1 | 2),  # EXECUTION_CAPABILITIES: kernels, and functions of the host
    0x102A: word(OUT_OF_ORDER | PROFILING),  # QUEUE_ON_HOST_PROPERTIES
    0x102B: text("dwarfgpu"),  # NAME, of which each device has its own
    0x102C: text("dwarfgpu"),  # VENDOR
    # DRIVER_VERSION depends on the program
    0x102E: text("FULL_PROFILE"),  # PROFILE
    0x102F: text(VERSION),  # VERSION
    0x1030: text(" ".join(_EXTENSIONS)),  # EXTENSIONS
    0x103D: text("OpenCL C 1.2 dwarfgpu"),  # OPENCL_C_VERSION
    0x103F: text(""),  # BUILT_IN_KERNELS
    0x1040: word(MOST_OF_BUFFER),  # IMAGE_MAX_BUFFER_SIZE
    0x1041: word(MOST_DEEP),  # IMAGE_MAX_ARRAY_SIZE
    0x1042: word(0),  # PARENT_DEVICE
    0x1043: half_word(0),  # PARTITION_MAX_SUB_DEVICES
    0x1044: word(0),  # PARTITION_PROPERTIES
    0x1045: word(0),  # PARTITION_AFFINITY_DOMAIN
    0x1046: b"",  # PARTITION_TYPE
    0x1047: half_word(1),  # REFERENCE_COUNT
    0x1048: half_word(1),  # PREFERRED_INTEROP_USER_SYNC
    0x1049: word(1 << 20),  # PRINTF_BUFFER_SIZE
    0x104A: half_word(1),  # IMAGE_PITCH_ALIGNMENT
    0x104B: half_word(1),  # IMAGE_BASE_ADDRESS_ALIGNMENT
    0x104D: word(1 << 16),  # MAX_GLOBAL_VARIABLE_SIZE
    0x104E: word(0),  # QUEUE_ON_DEVICE_PROPERTIES
    0x104F: half_word(0),  # QUEUE_ON_DEVICE_PREFERRED_SIZE
    0x1050: half_word(0),  # QUEUE_ON_DEVICE_MAX_SIZE
    0x1051: half_word(0),  # MAX_ON_DEVICE_QUEUES
    0x1052: half_word(0),  # MAX_ON_DEVICE_EVENTS
    0x1053: word(1 | 2),  # SVM_CAPABILITIES: coarse and fine-grained buffers
    0x1054: word(0),  # GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE
    0x1055: half_word(0),  # MAX_PIPE_ARGS
    0x1056: half_word(0),  # PIPE_MAX_ACTIVE_RESERVATIONS
    0x1057: half_word(0),  # PIPE_MAX_PACKET_SIZE
    0x1058: half_word(0),  # PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
    0x1059: half_word(0),  # PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
    0x105A: half_word(0),  # PREFERRED_LOCAL_ATOMIC_ALIGNMENT
    0x105B: text(""),  # IL_VERSION, without a translator of SPIR-V
    0x105C: half_word(MOST_ITEMS // 32),  # MAX_NUM_SUB_GROUPS
    0x105D: half_word(1),  # SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS
    0x105E: half_word(version(3)),  # NUMERIC_VERSION
    0x1060: named_versions(*((version(1), name) for name in _EXTENSIONS)),  # EXTENSIONS_WITH_VERSION
    0x1061: b"",  # ILS_WITH_VERSION
    0x1062: b"",  # BUILT_IN_KERNELS_WITH_VERSION
    0x1063: word(0x37),  # ATOMIC_MEMORY_CAPABILITIES: all orders, the scopes of work-groups and of the device
    0x1064: word(0x3F),  # ATOMIC_FENCE_CAPABILITIES: also the scope of a work-item
    0x1065: half_word(1),  # NON_UNIFORM_WORK_GROUP_SUPPORT
    0x1066: named_versions(
        *((version(*numbers), "OpenCL C") for numbers in ((1, 0), (1, 1), (1, 2), (3, 0)))
    ),  # OPENCL_C_ALL_VERSIONS
    0x1067: word(64),  # PREFERRED_WORK_GROUP_SIZE_MULTIPLE
    0x1068: half_word(1),  # WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT
    0x1069: half_word(1),  # GENERIC_ADDRESS_SPACE_SUPPORT
    0x106F: named_versions(*((version(3), name) for name in FEATURES)),  # OPENCL_C_FEATURES
    0x1070: word(0),  # DEVICE_ENQUEUE_CAPABILITIES
    0x1071: half_word(0),  # PIPE_SUPPORT
    0x1072: text(""),  # LATEST_CONFORMANCE_VERSION_PASSED
}
"""The parameters of devices (OpenCL API 3.0, Table 5), each behind CL_DEVICE_."""
_WITH_IL = {
    0x1030: text(" ".join((*_EXTENSIONS, "cl_khr_il_program"))),
    0x105B: text(" ".join(f"SPIR-V_{major}.{minor}" for major, minor in VERSIONS)),
    0x1060: named_versions(*((version(1), name) for name in (*_EXTENSIONS, "cl_khr_il_program"))),
    0x1061: named_versions(*((version(*numbers), "SPIR-V") for numbers in VERSIONS)),
}
"""Those that differ where a translator of SPIR-V is found."""


def creates(*prototypes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare functions that return an object, perhaps with an error, and write that to their last argument."""

    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        @API(*prototypes)
        async def create(call: HostCall, *arguments: Any) -> Any:
            *own, error = arguments
            failure: int = ClError.SUCCESS
            try:
                made = function(call, *own)
                if inspect.iscoroutine(made):
                    made = await made
                if isinstance(made, tuple):
                    made, failure = made
            except CallRefused as refused:
                failure, made = refused.result, 0
            if isinstance(failure, ClFailure):
                call.process.report_failure(call, failure)
            if error:
                call.write_number(error, failure, 4)
            return made.handle if isinstance(made, ClObject) else made

        return function

    return declared


def list_out(call: HostCall, found: list[int], room: int, pointer: int, count: int) -> None:
    """Write handles, as many as there is room for, and how many there are."""
    if (pointer and not room) or not (pointer or count):
        refuse(ClError.INVALID_VALUE, "there is no room for an answer")
    if pointer:
        call.write(pointer, word(*found[:room]))
    if count:
        call.write_number(count, len(found), 4)


async def properties_at(call: HostCall, pointer: int) -> list[int]:
    """Return the words of a list that ends with 0; without the end."""
    words: list[int] = []
    while pointer and len(words) < MOST_LISTED:
        key = await call.number_at(pointer + 8 * len(words))
        if not key:
            break
        words += [key, await call.number_at(pointer + 8 * len(words) + 8)]
    return words


# --- The platform and its devices -------------------------------------------------------------------------------------


@API(
    "int dwarfgpu_platforms(void *dispatch, void *starts_callbacks, void *exits, unsigned room, void **platforms, "
    "unsigned *count)"
)
def platforms(
    call: HostCall, dispatch: int, starts_callbacks: int, exits: int, room: int, pointer: int, count: int
) -> None:
    """Return the platform; the door says where its functions are."""
    program: OpenClProgram = call.process
    if not program.dispatch:
        program.dispatch, program.starts_callbacks, program.exits = dispatch, starts_callbacks, exits
        for each in (program.platform, *program.devices):
            program.keep(call, each)
    list_out(call, [program.platform.handle], room, pointer, count)


def platform_of(call: HostCall, handle: int) -> ClPlatform:
    """Return the platform; what NULL means is for each implementation to say."""
    program: OpenClProgram = call.process
    return program.find(call, handle, ClPlatform) if handle else program.platform


@API("int clGetPlatformInfo(void *platform, unsigned wanted, size_t size, void *value, size_t *needed)")
def platform_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    platform_of(call, handle)
    answer(call, _PLATFORM_ANSWERS, wanted, size, value, needed)


def _devices(call: HostCall, kinds: int) -> list[ClDevice]:
    if not kinds & 0xFF and kinds != _ALL:
        refuse(ClError.INVALID_DEVICE_TYPE, f"{kinds:#x} is no type of a device")
    found: list[ClDevice] = call.process.devices if kinds & (_GPU | _DEFAULT) else []
    return found[:1] if kinds == _DEFAULT else found


@API("int clGetDeviceIDs(void *platform, uint64_t kinds, unsigned room, void **devices, unsigned *count)")
def devices(call: HostCall, platform: int, kinds: int, room: int, pointer: int, count: int) -> None:
    platform_of(call, platform)
    found = _devices(call, kinds)
    if not found:
        if count:
            call.write_number(count, 0, 4)
        refuse(ClError.DEVICE_NOT_FOUND)
    list_out(call, [each.handle for each in found], room, pointer, count)


@API("int clGetDeviceInfo(void *device, unsigned wanted, size_t size, void *value, size_t *needed)")
def device_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    program: OpenClProgram = call.process
    device = program.find(call, handle, ClDevice)
    own = {
        _PLATFORM: word(program.platform.handle),
        0x102B: text(f"{device.processor} (dwarfgpu)"),
        0x102D: text(f"{dwarfgpu.__version__} -O{program.level}"),  # programs keep binaries by it
    }
    with_il = _WITH_IL if wanted in _WITH_IL and find_translator() is not None else {}
    answer(call, {**DEVICE_ANSWERS, **own, **with_il}, wanted, size, value, needed)


@API("int clCreateSubDevices(void *device, const void *properties, unsigned room, void **devices, unsigned *count)")
def divide(call: HostCall, handle: int, *_more: int) -> int:
    call.process.find(call, handle, ClDevice)
    refuse(ClError.INVALID_VALUE, "the device cannot be divided")


@API("int clRetainDevice(void *device)", "int clReleaseDevice(void *device)")
def count_device(call: HostCall, handle: int) -> None:
    """Do nothing: devices that are no part of another are not counted."""
    call.process.find(call, handle, ClDevice)


@API("int clGetDeviceAndHostTimer(void *device, uint64_t *of_device, uint64_t *of_host)")
def timers(call: HostCall, handle: int, *pointers: int) -> None:
    call.process.find(call, handle, ClDevice)
    if not all(pointers):
        refuse(ClError.INVALID_VALUE, "there is no room for a time")
    now = call.process.now()
    for pointer in pointers:
        call.write_number(pointer, now)


@API("int clGetHostTimer(void *device, uint64_t *time)")
def timer(call: HostCall, handle: int, pointer: int) -> None:
    timers(call, handle, pointer)


@API("int clUnloadPlatformCompiler(void *platform)", "int clUnloadCompiler()")
def unload(_call: HostCall, _platform: int = 0) -> None:
    """Keep the compiler: it is a program of the user."""


# --- Contexts ---------------------------------------------------------------------------------------------------------


async def _made(call: HostCall, properties: int, found: list[ClDevice]) -> ClContext:
    words = await properties_at(call, properties)
    if len({*words[::2]}) < len(words[::2]):
        refuse(ClError.INVALID_PROPERTY, "a property of the context is given twice")
    for key, value in zip(words[::2], words[1::2], strict=True):
        if key != _CONTEXT_PLATFORM:
            refuse(ClError.INVALID_PROPERTY, f"a context has no property {key:#x}")
        platform_of(call, value)
    given = word(*words, 0) if properties else b""
    context: ClContext = call.process.keep(call, ClContext(origin=call, devices=found, properties=given))
    return context


@creates(
    "void *clCreateContext(const void *properties, unsigned count, const void *devices, void *notify, void *data, "
    "int *error)"
)
async def create_context(
    call: HostCall, properties: int, count: int, pointer: int, notify: int, data: int
) -> ClContext:
    if not count or not pointer or (data and not notify):
        refuse(ClError.INVALID_VALUE, "a context has devices, and data only with a function that gets it")
    found = await call.process.find_all(call, count, pointer, ClDevice)
    return await _made(call, properties, [*dict.fromkeys(found)])


@creates("void *clCreateContextFromType(const void *properties, uint64_t kinds, void *notify, void *data, int *error)")
async def create_context_by_type(call: HostCall, properties: int, kinds: int, notify: int, data: int) -> ClContext:
    if data and not notify:
        refuse(ClError.INVALID_VALUE, "data is given, and no function that gets it")
    found = _devices(call, kinds)
    if not found:
        refuse(ClError.DEVICE_NOT_FOUND)
    return await _made(call, properties, found)


@API("int clGetContextInfo(void *context, unsigned wanted, size_t size, void *value, size_t *needed)")
def context_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    context = call.process.find(call, handle, ClContext)
    answers: Answers = {
        0x1080: half_word(context.references),
        0x1081: word(*(device.handle for device in context.devices)),
        0x1082: context.properties,
        0x1083: half_word(len(context.devices)),
    }
    answer(call, answers, wanted, size, value, needed)


async def ends_with(call: HostCall, found: Any, function: int, data: int) -> None:
    """Let a function be called when an object ends."""
    if not function:
        refuse(ClError.INVALID_VALUE, "there is no function to call")
    await call.process.begin_callbacks(call)
    found.ending.append((function, data))


@API("int clSetContextDestructorCallback(void *context, void *function, void *data)")
async def context_ends_with(call: HostCall, handle: int, function: int, data: int) -> None:
    await ends_with(call, call.process.find(call, handle, ClContext), function, data)


# --- Queues -----------------------------------------------------------------------------------------------------------


@creates("void *clCreateCommandQueueWithProperties(void *context, void *device, const void *properties, int *error)")
async def create_queue(call: HostCall, context: int, device: int, properties: int) -> ClQueue:
    words = await properties_at(call, properties)
    flags = 0
    for key, value in zip(words[::2], words[1::2], strict=True):
        if key == _QUEUE_SIZE:
            refuse(ClError.INVALID_QUEUE_PROPERTIES, "there are no queues on the device")
        if key != _QUEUE_PROPERTIES:
            refuse(ClError.INVALID_VALUE, f"a queue has no property {key:#x}")
        flags = value
    return _queue(call, context, device, flags, word(*words, 0) if properties else b"")


@creates("void *clCreateCommandQueue(void *context, void *device, uint64_t flags, int *error)")
def create_simple_queue(call: HostCall, context: int, device: int, flags: int) -> ClQueue:
    return _queue(call, context, device, flags, b"")


def _queue(call: HostCall, context: int, device: int, flags: int, properties: bytes) -> ClQueue:
    program: OpenClProgram = call.process
    owner, on = program.find(call, context, ClContext), program.find(call, device, ClDevice)
    if on not in owner.devices:
        refuse(ClError.INVALID_DEVICE, "the device does not belong to the context")
    if flags & ~(OUT_OF_ORDER | PROFILING):
        known = flags & ~0xF == 0
        refuse(
            ClError.INVALID_QUEUE_PROPERTIES if known else ClError.INVALID_VALUE,
            f"the device has no queues with the properties {flags:#x}",
        )
    queue = program.keep(call, ClQueue(origin=call, context=owner, device=on, flags=flags, properties=properties))
    program.queues.append(queue)
    return queue


@API("int clGetCommandQueueInfo(void *queue, unsigned wanted, size_t size, void *value, size_t *needed)")
def queue_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    queue = call.process.find(call, handle, ClQueue)
    answers: dict[int, bytes] = {
        0x1090: word(queue.context.handle),
        0x1091: word(queue.device.handle),
        0x1092: half_word(queue.references),
        0x1093: word(queue.flags),
        0x1095: word(0),
        0x1098: queue.properties,
    }
    if wanted == _QUEUE_SIZE:
        refuse(ClError.INVALID_COMMAND_QUEUE, "the queue is none on the device")
    answer(call, answers, wanted, size, value, needed)


@API("int clSetCommandQueueProperty(void *queue, uint64_t flags, int is_on, uint64_t *before)")
def change_queue(call: HostCall, handle: int, *_more: int) -> int:
    call.process.find(call, handle, ClQueue)
    refuse(ClError.INVALID_OPERATION, "a queue does not change")


@API("int clSetDefaultDeviceCommandQueue(void *context, void *device, void *queue)")
def set_device_queue(call: HostCall, context: int, device: int, _queue: int) -> int:
    call.process.find(call, context, ClContext)
    call.process.find(call, device, ClDevice)
    refuse(ClError.INVALID_OPERATION, "there are no queues on the device")


# --- References -------------------------------------------------------------------------------------------------------

_COUNTED: tuple[tuple[str, type[ClObject]], ...] = (
    ("Context", ClContext), ("CommandQueue", ClQueue), ("MemObject", ClMemory), ("Sampler", ClSampler), ("Program", ClCode),
    ("Kernel", ClKernel), ("Event", ClEvent),
)  # fmt: skip


def _count(name: str, kind: type[ClObject]) -> None:
    @API(f"int clRetain{name}(void *object)")
    def retain(call: HostCall, handle: int) -> None:
        call.process.find(call, handle, kind).references += 1

    @API(f"int clRelease{name}(void *object)")
    async def release(call: HostCall, handle: int) -> None:
        program: OpenClProgram = call.process
        found = program.find(call, handle, kind)
        if isinstance(found, ClQueue):
            await program.advance(call)  # it is flushed
        program.release(call, found)


for _name, _kind in _COUNTED:
    _count(_name, _kind)
