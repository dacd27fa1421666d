"""Streams, events and captures. All streams are in order, so what a stream or an event waits for has ended."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.runtimes.hip.work import (
    GLOBAL,
    HOST_CALL,
    MEMCPY,
    MEMSET,
    NON_BLOCKING,
    PER_THREAD,
    RELAXED,
    Capture,
    Graph,
    GraphNode,
    HipEvent,
    HipStream,
)

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_MODE = "capture mode"
NONE, ACTIVE, INVALIDATED = range(3)
"""``hipStreamCaptureStatus``."""


# --- Captures ---------------------------------------------------------------------------------------------------------


def streamed(kind: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare that a function works on the stream of its last argument: one that captures records it as a node.

    Without that argument it works on the legacy stream.
    """

    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        count = len(inspect.signature(function).parameters) - 1

        @wraps(function)
        def called(call: HostCall, *arguments: Any) -> Any:
            if len(arguments) < count:
                arguments = *arguments, 0
            *first, handle = arguments
            stream = stream_for_work(call, handle)
            if stream is None or stream.capture is None:
                return _ordered(call, kind, function, arguments)
            return record_node(call, stream, GraphNode(kind, function, (*first, 0), call.frames))

        return called

    return declared


def _ordered(call: HostCall, kind: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function that gives work to the stream of its last argument; the host waits for some of it."""
    order = call.process.order
    if order is None:
        return function(call, *arguments)
    name = call.process.name_of_call(call)
    order.begin(call, arguments[-1], name)
    try:
        return function(call, *arguments)
    finally:
        if kind in (MEMCPY, MEMSET) and "Async" not in name:
            order.synchronize(call, arguments[-1])


def stream_for_work(call: HostCall, handle: int) -> HipStream | None:
    """Return a stream that is given something to do; the call ends with an error if a capture forbids it."""
    stream: HipStream | None = call.process.stream(handle)
    if stream is None:
        blocking = [each for each in _unsafe(call) if not each.streams[0].flags & NON_BLOCKING]
        if blocking:
            _refuse_captures(call, blocking, "the legacy stream is used", errors.CAPTURE_IMPLICIT)
    elif stream.capture is not None and not stream.capture.is_valid:
        refuse(errors.CAPTURE_INVALIDATED)
    return stream


def record_node(call: HostCall, stream: HipStream, node: GraphNode) -> None:
    """Add a node to what a stream captures."""
    call.process.keep_node(stream.record(node))


def check_no_capture(call: HostCall, stream: HipStream | None = None) -> None:
    """End the call with an error if it, on some stream, is not permitted while streams capture."""
    own = None if stream is None else stream.capture
    captures = [own] if own is not None else _unsafe(call)
    if captures:
        name = call.process.name_of_call(call)
        _refuse_captures(call, captures, f"{name} is called", errors.CAPTURE_UNSUPPORTED)


def _unsafe(call: HostCall) -> list[Capture]:
    """Return the captures that calls on other streams could disturb."""
    mode = call.thread.state.get(_MODE, GLOBAL)
    captures: list[Capture] = call.process.captures
    return [
        each
        for each in captures
        if mode != RELAXED != each.mode and (each.mode == mode == GLOBAL or each.thread is call.thread)
    ]


def _refuse_captures(call: HostCall, captures: list[Capture], what: str, error: int) -> NoReturn:
    for capture in captures:
        capture.is_valid = False
    more = (("captured", call.at(captures[0].frames)),)
    call.process.problem("capture", f"{what} while a stream captures: {errors.text_of(error)[0]}", call, *more)
    refuse(error)


def begin(call: HostCall, handle: int, mode: int, graph: Graph, last: list[GraphNode]) -> None:
    """Let a stream record what it is given into a graph."""
    program: HipProgram = call.process
    stream = program.stream(handle)
    if stream is None:
        refuse(errors.CAPTURE_UNSUPPORTED)
    if not GLOBAL <= mode <= RELAXED:
        refuse(errors.INVALID_VALUE)
    if stream.capture is not None:
        refuse(errors.ILLEGAL_STATE)
    program.captured += 1
    stream.capture = Capture(graph, mode, call.thread, program.captured, [stream], call.frames)
    stream.last = last
    program.captures.append(stream.capture)


@API(
    "hipError_t hipStreamBeginCapture(void *stream, int mode)",
    "hipError_t hipStreamBeginCapture_spt(void *stream, int mode)",
)
def begin_capture(call: HostCall, handle: int, mode: int) -> None:
    begin(call, handle, mode, Graph(), [])


@API(
    "hipError_t hipStreamEndCapture(void *stream, void **graph)",
    "hipError_t hipStreamEndCapture_spt(void *stream, void **graph)",
)
def end_capture(call: HostCall, handle: int, graph: int) -> None:
    program: HipProgram = call.process
    stream = program.stream(handle)
    if not graph:
        refuse(errors.INVALID_VALUE)
    capture = None if stream is None else stream.capture
    if capture is None:
        refuse(errors.ILLEGAL_STATE)
    if capture.streams[0] is not stream:
        refuse(errors.CAPTURE_UNMATCHED)
    if capture.mode != RELAXED and capture.thread is not call.thread:
        refuse(errors.CAPTURE_WRONG_THREAD)
    is_joined = capture.is_joined
    capture.end()
    program.captures.remove(capture)
    if not capture.is_valid or not is_joined:
        call.write_number(graph, 0)
        if not capture.is_valid:
            refuse(errors.CAPTURE_INVALIDATED)
        message = "a capture ends before all streams that it has forked to are joined"
        program.problem("capture", message, call, ("captured", call.at(capture.frames)))
        refuse(errors.CAPTURE_UNJOINED)
    call.write_number(graph, capture.graph.handle or program.keep_graph(capture.graph))


def _status(stream: HipStream | None) -> int:
    capture = None if stream is None else stream.capture
    return NONE if capture is None else ACTIVE if capture.is_valid else INVALIDATED


@API(
    "hipError_t hipStreamIsCapturing(void *stream, int *status)",
    "hipError_t hipStreamIsCapturing_spt(void *stream, int *status)",
    "hipError_t hipStreamGetCaptureInfo(void *stream, int *status, uint64_t *number)",
    "hipError_t hipStreamGetCaptureInfo_spt(void *stream, int *status, uint64_t *number)",
    "hipError_t hipStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *number, void **graph, void **nodes, "
    "size_t *count)",
    "hipError_t hipStreamGetCaptureInfo_v2_spt(void *stream, int *status, uint64_t *number, void **graph, "
    "void **nodes, size_t *count)",
)
def capture_info(call: HostCall, handle: int, status: int, *pointers: int) -> None:
    """Write the state of a capture; the nodes are those that the next one depends on."""
    program: HipProgram = call.process
    if not status:
        refuse(errors.INVALID_VALUE)
    stream = program.stream(handle)
    call.write_number(status, _status(stream), 4)
    if stream is None or stream.capture is None:
        return
    number, graph, nodes, count = (*pointers, 0, 0, 0, 0)[:4]
    if number:
        call.write_number(number, stream.capture.number)
    if graph:
        call.write_number(graph, stream.capture.graph.handle or program.keep_graph(stream.capture.graph))
    if nodes:
        handles = [node.handle for node in stream.last]
        call.write_number(nodes, program.place(call, struct.pack(f"<{len(handles)}Q", *handles)))
    if count:
        call.write_number(count, len(stream.last))


@API("hipError_t hipThreadExchangeStreamCaptureMode(int *mode)")
async def exchange_mode(call: HostCall, pointer: int) -> None:
    mode = await call.number_at(pointer, 4) if pointer else -1
    if not GLOBAL <= mode <= RELAXED:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, call.thread.state.get(_MODE, GLOBAL), 4)
    call.thread.state[_MODE] = mode


# --- Streams ----------------------------------------------------------------------------------------------------------


@API(
    "hipError_t hipStreamCreate(void **stream)",
    "hipError_t hipStreamCreateWithFlags(void **stream, unsigned flags)",
    "hipError_t hipStreamCreateWithPriority(void **stream, unsigned flags, int priority)",
)
def create_stream(call: HostCall, stream: int, flags: int = 0, priority: int = 0) -> None:
    if not stream or flags > NON_BLOCKING:
        refuse(errors.INVALID_VALUE)
    handle = call.process.handle()
    call.process.streams[handle] = HipStream(flags, priority)
    call.write_number(stream, handle)
    call.process.check_device()


@API("hipError_t hipStreamDestroy(void *stream)")
def destroy_stream(call: HostCall, handle: int) -> None:
    program: HipProgram = call.process
    if handle not in program.streams or handle == PER_THREAD:
        refuse(errors.INVALID_HANDLE)
    capture = program.streams.pop(handle).capture
    if capture is not None:
        capture.end()
        program.captures.remove(capture)


@API(
    "hipError_t hipStreamSynchronize(void *stream)",
    "hipError_t hipStreamSynchronize_spt(void *stream)",
    "hipError_t hipStreamQuery(void *stream)",
    "hipError_t hipStreamQuery_spt(void *stream)",
)
def wait_for_stream(call: HostCall, handle: int) -> None:
    stream = call.process.stream(handle)
    if stream is not None:
        check_no_capture(call, stream)
    if call.process.order is not None:
        call.process.order.synchronize(call, handle)
    call.process.check_device()


@API("hipError_t hipDeviceSynchronize()", "hipError_t hipDeviceReset()", "hipError_t hipCtxSynchronize()")
def synchronize(call: HostCall) -> None:
    check_no_capture(call)
    if call.process.order is not None:
        call.process.order.synchronize(call)
    call.process.check_device()


@API(
    "hipError_t hipStreamGetFlags(void *stream, unsigned *flags)",
    "hipError_t hipStreamGetFlags_spt(void *stream, unsigned *flags)",
)
def stream_flags(call: HostCall, handle: int, pointer: int) -> None:
    stream = call.process.stream(handle)
    call.write_number(pointer, 0 if stream is None else stream.flags, 4)


@API(
    "hipError_t hipStreamGetPriority(void *stream, int *priority)",
    "hipError_t hipStreamGetPriority_spt(void *stream, int *priority)",
)
def stream_priority(call: HostCall, handle: int, pointer: int) -> None:
    stream = call.process.stream(handle)
    call.write_number(pointer, 0 if stream is None else stream.priority, 4)


@API("int hipGetStreamDeviceId(void *stream)")
def device_of(_call: HostCall, _stream: int) -> int:
    """There is one device."""
    return 0


@API("hipError_t hipStreamGetDevice(void *stream, int *device)")
def stream_device(call: HostCall, handle: int, pointer: int) -> None:
    call.process.stream(handle)
    call.write_number(pointer, 0, 4)


@API("hipError_t hipStreamAddCallback(void *stream, void *function, void *data, unsigned flags)")
async def add_callback(call: HostCall, handle: int, function: int, data: int, _flags: int) -> None:
    stream = call.process.stream(handle)
    if stream is not None:
        check_no_capture(call, stream)
    await call.invoke(function, handle, int(call.process.sticky()), data)


@API("hipError_t hipLaunchHostFunc(void *stream, void *function, void *data)")
def launch_host_function(call: HostCall, handle: int, function: int, data: int) -> Any:
    if not function:
        refuse(errors.INVALID_VALUE)
    return call_host(call, function, data, handle)


@streamed(HOST_CALL)
async def call_host(call: HostCall, function: int, data: int, _stream: int = 0) -> None:
    await call.invoke(function, data)


_MEETS: dict[int, Callable[[int, int], bool]] = {
    0: lambda found, value: found >= value,
    1: lambda found, value: found == value,
    2: lambda found, value: bool(found & value),
    3: lambda found, value: ~(found | value) != 0,
}
"""``hipStreamWaitValueGte`` and the other comparisons."""


def _value_size(call: HostCall) -> int:
    return 4 if call.process.name_of_call(call).endswith("32") else 8


@API(
    "hipError_t hipStreamWriteValue32(void *stream, void *pointer, unsigned value, unsigned flags)",
    "hipError_t hipStreamWriteValue64(void *stream, void *pointer, uint64_t value, unsigned flags)",
)
def write_value(call: HostCall, stream: int, pointer: int, value: int, _flags: int) -> Any:
    size = _value_size(call)
    if not call.process.device.memory_at(pointer, size):
        refuse(errors.INVALID_VALUE)
    return _write_value(call, pointer, value, size, stream)


@streamed(MEMSET)
def _write_value(call: HostCall, pointer: int, value: int, size: int, _stream: int = 0) -> None:
    call.write_number(pointer, value, size)
    if pointer in call.process.device.arena:
        call.process.device.define(pointer, size)


@API(
    "hipError_t hipStreamWaitValue32(void *stream, void *pointer, unsigned value, unsigned flags, unsigned mask)",
    "hipError_t hipStreamWaitValue64(void *stream, void *pointer, uint64_t value, unsigned flags, uint64_t mask)",
)
async def wait_value(call: HostCall, handle: int, pointer: int, value: int, flags: int, mask: int) -> None:
    """Wait for a value, which an earlier call must have written: streams do nothing later."""
    stream, size = call.process.stream(handle), _value_size(call)
    if flags not in _MEETS or not call.process.device.memory_at(pointer, size):
        refuse(errors.INVALID_VALUE)
    if stream is not None:
        check_no_capture(call, stream)
    found = await call.number_at(pointer, size)
    if not _MEETS[flags](found & mask, value & mask):
        message = f"a stream waits for {value:#x} at {pointer:#x}, which nothing has written yet: there is {found:#x}"
        call.process.problem("not-supported", message, call)
        refuse(errors.NOT_SUPPORTED)
    call.process.check_device()


# --- Events -----------------------------------------------------------------------------------------------------------


def _event(call: HostCall, handle: int) -> HipEvent:
    event: HipEvent = call.process.find(handle, HipEvent, errors.INVALID_HANDLE)
    return event


@API("hipError_t hipEventCreate(void **event)", "hipError_t hipEventCreateWithFlags(void **event, unsigned flags)")
def create_event(call: HostCall, event: int, *_flags: int) -> None:
    call.write_number(event, call.process.keep(HipEvent()))
    call.process.check_device()


@API("hipError_t hipEventDestroy(void *event)")
def destroy_event(call: HostCall, event: int) -> None:
    _event(call, event)
    del call.process.objects[event]


@API(
    "hipError_t hipEventRecord(void *event, void *stream)",
    "hipError_t hipEventRecord_spt(void *event, void *stream)",
    "hipError_t hipEventRecordWithFlags(void *event, void *stream, unsigned flags)",
)
def record_event(call: HostCall, handle: int, stream: int, _flags: int = 0) -> None:
    """Record an event; in a capture it stands for the nodes so far."""
    event, on = _event(call, handle), stream_for_work(call, stream)
    if on is not None and on.capture is not None:
        event.captured = on.capture, [*on.last]
    else:
        record(call, handle, stream)


def record(call: HostCall, handle: int, stream: int = 0) -> None:
    """Record an event now."""
    event = _event(call, handle)
    if call.process.order is not None:
        call.process.order.record(call, event, stream)
    event.recorded, event.captured = call.process.now(), None
    call.process.check_device()


def wait(call: HostCall, handle: int, stream: int = 0) -> None:
    """Let a stream wait for an event, which has been recorded."""
    event = _event(call, handle)
    if call.process.order is not None:
        call.process.order.wait(call, event, stream)
    call.process.check_device()


@API(
    "hipError_t hipStreamWaitEvent(void *stream, void *event, unsigned flags)",
    "hipError_t hipStreamWaitEvent_spt(void *stream, void *event, unsigned flags)",
)
def wait_for_event(call: HostCall, stream: int, handle: int, _flags: int) -> None:
    """Let a stream wait for an event, by which it joins the capture of that event."""
    event = _event(call, handle)
    on = call.process.stream(stream)
    if event.captured is None or event.captured[0] not in call.process.captures:
        if on is not None and on.capture is not None:
            on.capture.is_valid = False
            message = "a stream that captures waits for an event of another stream: hipErrorStreamCaptureIsolation"
            call.process.problem("capture", message, call)
            refuse(errors.CAPTURE_ISOLATION)
        wait(call, handle, stream)
        return
    capture, nodes = event.captured
    if on is None:
        _refuse_captures(call, [capture], "the legacy stream is used", errors.CAPTURE_IMPLICIT)
    if on.capture not in (None, capture):
        refuse(errors.CAPTURE_MERGE)
    if on.capture is None:
        on.capture = capture
        capture.streams.append(on)
    on.last = [*dict.fromkeys((*on.last, *nodes))]


@API("hipError_t hipEventSynchronize(void *event)", "hipError_t hipEventQuery(void *event)")
def wait_for_record(call: HostCall, handle: int) -> None:
    event = _event(call, handle)
    if event.captured is not None and event.captured[0] in call.process.captures:
        _refuse_captures(
            call, [event.captured[0]], "an event that it has recorded is waited for", errors.CAPTURED_EVENT
        )
    if call.process.order is not None:
        call.process.order.synchronize(call, event=event)
    call.process.check_device()


@API("hipError_t hipEventElapsedTime(float *milliseconds, void *start, void *stop)")
def elapsed(call: HostCall, milliseconds: int, start: int, stop: int) -> None:
    begun, ended = (_event(call, event).recorded for event in (start, stop))
    if begun is None or ended is None:
        refuse(errors.INVALID_HANDLE)
    call.write(milliseconds, struct.pack("<f", ended - begun))
