"""Contexts of the only device: each thread has a stack of them, and all share the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import define
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, refuse

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_CONTEXTS = "contexts"
_API_VERSION = 4


@define(eq=False)
class HipContext:
    """A context."""

    flags: int = 0
    handle: int = 0


def _primary(program: HipProgram) -> HipContext:
    found = next((each for each in program.objects.values() if isinstance(each, HipContext)), None)
    if found is None:
        found = HipContext()
        found.handle = program.keep(found)
    return found


def _stack(call: HostCall) -> list[HipContext]:
    """Return the contexts of a thread, the current one last."""
    stack: list[HipContext] = call.thread.state.setdefault(_CONTEXTS, [])
    stack[:] = [each for each in stack if each.handle in call.process.objects]
    return stack


def _current(call: HostCall) -> HipContext:
    stack = _stack(call)
    return stack[-1] if stack else _primary(call.process)


@API("hipError_t hipCtxCreate(void **context, unsigned flags, int device)")
def create(call: HostCall, pointer: int, flags: int, device: int) -> None:
    program: HipProgram = call.process
    if not pointer or device:
        refuse(errors.INVALID_VALUE if not pointer else errors.INVALID_DEVICE)
    _primary(program)
    context = HipContext(flags)
    context.handle = program.keep(context)
    _stack(call).append(context)
    call.write_number(pointer, context.handle)


@API("hipError_t hipCtxDestroy(void *context)")
def destroy(call: HostCall, context: int) -> None:
    program: HipProgram = call.process
    if program.find(context, HipContext) is not _primary(program):
        del program.objects[context]


@API("hipError_t hipCtxGetCurrent(void **context)")
def current(call: HostCall, pointer: int) -> None:
    if not pointer:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, _current(call).handle)


@API("hipError_t hipCtxSetCurrent(void *context)")
def set_current(call: HostCall, context: int) -> None:
    stack = _stack(call)
    stack[-1:] = [call.process.find(context, HipContext)] if context else []


@API("hipError_t hipCtxPushCurrent(void *context)")
def push(call: HostCall, context: int) -> None:
    _stack(call).append(call.process.find(context, HipContext, errors.INVALID_CONTEXT))


@API("hipError_t hipCtxPopCurrent(void **context)")
def pop(call: HostCall, pointer: int) -> None:
    stack = _stack(call)
    if not stack:
        refuse(errors.INVALID_CONTEXT)
    if pointer:
        call.write_number(pointer, stack[-1].handle)
    stack.pop()


@API("hipError_t hipCtxGetDevice(int *device)", "hipError_t hipGetDeviceFlags(unsigned *flags)")
def device_of_context(call: HostCall, pointer: int) -> None:
    if not pointer:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, 0, 4)


@API("hipError_t hipCtxGetFlags(unsigned *flags)")
def flags_of_context(call: HostCall, pointer: int) -> None:
    if not pointer:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, _current(call).flags, 4)


@API("hipError_t hipCtxGetApiVersion(void *context, unsigned *version)")
def api_version(call: HostCall, context: int, version: int) -> None:
    if not version:
        refuse(errors.INVALID_VALUE)
    if context:
        call.process.find(context, HipContext, errors.INVALID_CONTEXT)
    call.write_number(version, _API_VERSION, 4)


@API("hipError_t hipDevicePrimaryCtxRetain(void **context, int device)")
def retain(call: HostCall, pointer: int, device: int) -> None:
    if not pointer or device:
        refuse(errors.INVALID_VALUE if not pointer else errors.INVALID_DEVICE)
    call.write_number(pointer, _primary(call.process).handle)


@API(
    "hipError_t hipDevicePrimaryCtxRelease(int device)",
    "hipError_t hipDevicePrimaryCtxReset(int device)",
    "hipError_t hipDevicePrimaryCtxSetFlags(int device, unsigned flags)",
)
def primary_setting(_call: HostCall, device: int, _flags: int = 0) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)


@API("hipError_t hipDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)")
def primary_state(call: HostCall, device: int, flags: int, is_active: int) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)
    for pointer, number in ((flags, 0), (is_active, 1)):
        if pointer:
            call.write_number(pointer, number, 4)
