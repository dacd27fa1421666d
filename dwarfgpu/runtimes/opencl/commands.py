"""Commands in queues, events, and what waits for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dwarfgpu.runtimes.opencl.contexts import creates
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.info import answer, half_word, word
from dwarfgpu.runtimes.opencl.objects import (
    COMPLETE,
    PROFILING,
    QUEUED,
    SUBMITTED,
    ClCommand,
    ClContext,
    ClEvent,
    ClMemory,
    ClQueue,
    ClWork,
)
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

NATIVE, MARKER, USER, BARRIER, MIGRATE = 0x11F2, 0x11FE, 0x1204, 0x1205, 0x1206
"""The kinds of commands: ``CL_COMMAND_NATIVE_KERNEL`` and others."""
_MOST_ARGUMENTS = 4096


def enqueues(kind: int, *prototypes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare functions that enqueue a command, which a function returns as `Work`.

    Their first parameter is the queue, and the last ones are the number of events to wait for, these, and where the
    event of the command goes.
    """

    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        @API(*prototypes)
        async def enqueue(call: HostCall, queue: int, *arguments: Any) -> None:
            *own, count, waits, event = arguments
            await put(call, queue, kind, lambda on: function(call, on, *own), count, waits, event)

        return function

    return declared


async def put(
    call: HostCall,
    handle: int,
    kind: int,
    make: Callable[[ClQueue], Any],
    count: int = 0,
    waits: int = 0,
    event: int = 0,
) -> None:
    """Enqueue a command; ``make`` returns its `Work`."""
    program: OpenClProgram = call.process
    queue = program.find(call, handle, ClQueue)
    events = await _wait_list(call, queue.context, count, waits)
    work = make(queue)
    if inspect.iscoroutine(work):
        work = await work
    command = ClCommand(queue, kind, call, events, work)
    await program.enqueue(call, command, event, is_blocking=work.is_blocking)


async def _wait_list(call: HostCall, context: ClContext, count: int, pointer: int) -> list[ClEvent]:
    if bool(count) != bool(pointer):
        refuse(ClError.INVALID_EVENT_WAIT_LIST, f"{count} events are given at {pointer:#x}")
    program: OpenClProgram = call.process
    content = await program.words_at(call, pointer, count)
    for handle in content:
        if not isinstance(program.objects.get(handle), ClEvent):
            refuse(ClError.INVALID_EVENT_WAIT_LIST, f"{handle:#x} in the list of events is no event")
    events = [program.find(call, handle, ClEvent) for handle in content]
    if any(event.context is not context for event in events):
        refuse(ClError.INVALID_CONTEXT, "an event of another context is waited for")
    return events


def memory_of(call: HostCall, queue: ClQueue, handle: int) -> ClMemory:
    """Return a memory object that a command of a queue may use."""
    found: ClMemory = call.process.find(call, handle, ClMemory)
    if found.context is not queue.context:
        refuse(ClError.INVALID_CONTEXT, f"{call.process.named(found)} belongs to another context than the queue")
    return found


# --- Markers and barriers ---------------------------------------------------------------------------------------------


@enqueues(MARKER, "int clEnqueueMarkerWithWaitList(void *queue, unsigned count, const void *waits, void **event)")
def mark(_call: HostCall, _queue: ClQueue) -> ClWork:
    return ClWork(is_barrier=True)


@enqueues(BARRIER, "int clEnqueueBarrierWithWaitList(void *queue, unsigned count, const void *waits, void **event)")
def bar(_call: HostCall, _queue: ClQueue) -> ClWork:
    return ClWork(is_barrier=True)


@API("int clEnqueueMarker(void *queue, void **event)")
async def mark_end(call: HostCall, queue: int, event: int) -> None:
    if not event:
        refuse(ClError.INVALID_VALUE, "there is no room for the event of the marker")
    await put(call, queue, MARKER, lambda _queue: ClWork(is_barrier=True), event=event)


@API("int clEnqueueBarrier(void *queue)")
async def bar_end(call: HostCall, queue: int) -> None:
    await put(call, queue, BARRIER, lambda _queue: ClWork(is_barrier=True))


@API("int clEnqueueWaitForEvents(void *queue, unsigned count, const void *events)")
async def bar_until(call: HostCall, queue: int, count: int, events: int) -> None:
    if not count or not events:
        refuse(ClError.INVALID_VALUE, "no event is given")
    await put(call, queue, BARRIER, lambda _queue: ClWork(is_barrier=True), count, events)


@enqueues(
    MIGRATE, "int clEnqueueMigrateMemObjects(void *queue, unsigned number, const void *objects, uint64_t flags, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def migrate(call: HostCall, queue: ClQueue, number: int, objects: int, flags: int) -> ClWork:
    """Do nothing: there is one memory."""
    if not number or not objects or flags & ~3:
        refuse(ClError.INVALID_VALUE, f"{number} memory objects are given, and the flags {flags:#x}")
    words = await call.process.words_at(call, objects, number)
    return ClWork(uses=tuple(memory_of(call, queue, handle) for handle in words), is_access=False)


@enqueues(
    NATIVE, "int clEnqueueNativeKernel(void *queue, void *function, void *arguments, size_t size, unsigned number, "
    "const void *objects, const void *places, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def run_native(
    call: HostCall, queue: ClQueue, function: int, arguments: int, size: int, number: int, objects: int, places: int
) -> ClWork:
    """Call a function of the program with a copy of its arguments, in which pointers to memory replace its objects."""
    program: OpenClProgram = call.process
    if not function or bool(arguments) != bool(size) or bool(number) != bool(objects) or bool(number) != bool(places):
        refuse(ClError.INVALID_VALUE, "a function, and arguments with their size, are needed")
    if size > _MOST_ARGUMENTS:
        refuse(ClError.INVALID_VALUE, f"the arguments have {size} bytes")
    content = bytearray(await call.read(arguments, size) if size else b"")
    handles, pointers = await program.words_at(call, objects, number), await program.words_at(call, places, number)
    used = tuple(memory_of(call, queue, handle) for handle in handles)
    for memory, place in zip(used, pointers, strict=True):
        if not arguments <= place <= arguments + size - 8:
            refuse(ClError.INVALID_VALUE, f"the place {place:#x} of a memory object is not in the arguments")
        content[place - arguments : place - arguments + 8] = word(memory.address)

    async def run(by: HostCall) -> None:
        for memory in used:
            program.open(by, memory)
        await by.invoke(function, program.place(by, bytes(content)) if content else 0)
        for followed in program.followed:
            followed.exchange(followed.start, len(followed.known))  # the function may have written it
        for memory in used:
            program.open(by, memory, change=-1)
            program.device.define(memory.address, memory.size)

    return ClWork(run, used)


# --- Waiting ----------------------------------------------------------------------------------------------------------


@API("int clFlush(void *queue)")
async def flush(call: HostCall, handle: int) -> None:
    call.process.find(call, handle, ClQueue)
    await call.process.advance(call)


@API("int clFinish(void *queue)")
async def finish(call: HostCall, handle: int) -> None:
    program: OpenClProgram = call.process
    queue = program.find(call, handle, ClQueue)
    await program.wait_for(call, queue.commands)
    if program.order is not None:
        program.order.finish(queue)
    program.check_device()


@API("int clWaitForEvents(unsigned count, const void *events)")
async def wait_for_events(call: HostCall, count: int, pointer: int) -> None:
    program: OpenClProgram = call.process
    if not count or not pointer:
        refuse(ClError.INVALID_VALUE, "no event is given")
    events = await program.find_all(call, count, pointer, ClEvent)
    if any(event.context is not events[0].context for event in events):
        refuse(ClError.INVALID_CONTEXT, "the events belong to several contexts")
    await program.wait_for(call, events)
    program.know(*(event.clock for event in events))
    if any(event.status < 0 for event in events):
        refuse(ClError.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)


# --- Events -----------------------------------------------------------------------------------------------------------


@creates("void *clCreateUserEvent(void *context, int *error)")
def create_event(call: HostCall, context: int) -> ClEvent:
    program: OpenClProgram = call.process
    return program.keep(call, ClEvent(origin=call, context=program.find(call, context, ClContext)))


@API("int clSetUserEventStatus(void *event, int status)")
async def set_status(call: HostCall, handle: int, status: int) -> None:
    program: OpenClProgram = call.process
    event = program.find(call, handle, ClEvent)
    if event.command is not None:
        refuse(ClError.INVALID_EVENT, f"{program.named(event)} is the event of a command")
    if status > COMPLETE:
        refuse(ClError.INVALID_VALUE, f"{status} is neither CL_COMPLETE nor an error")
    if event.has_ended:
        refuse(ClError.INVALID_OPERATION, f"{program.named(event)} has its status")
    event.status_of_user = status
    if program.order is not None:
        program.order.set_by_host(event)
    program.call_back(event)
    await program.advance(call)


@API("int clGetEventInfo(void *event, unsigned wanted, size_t size, void *value, size_t *needed)")
async def event_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    program: OpenClProgram = call.process
    event = program.find(call, handle, ClEvent)
    await program.advance(call, filter(None, [event.command]))
    if event.has_ended:
        program.know(event.clock)
    answers: Answers = {
        0x11D0: word(0 if event.command is None else event.command.queue.handle),
        0x11D1: half_word(USER if event.command is None else event.command.kind),
        0x11D2: half_word(event.references),
        0x11D3: lambda: half_word(SUBMITTED if event.status == QUEUED else event.status),
        0x11D4: word(event.context.handle),
    }
    answer(call, answers, wanted, size, value, needed)


@API("int clGetEventProfilingInfo(void *event, unsigned wanted, size_t size, void *value, size_t *needed)")
def profile(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    """Answer by the clock of the program, on which a kernel takes a nanosecond for each instruction of a wave."""
    event = call.process.find(call, handle, ClEvent)
    if event.command is None or not event.command.queue.flags & PROFILING or event.status != COMPLETE:
        refuse(ClError.PROFILING_INFO_NOT_AVAILABLE)
    times = (*event.command.times, event.command.times[3])
    answer(call, {0x1280 + row: word(time) for row, time in enumerate(times)}, wanted, size, value, needed)


@API("int clSetEventCallback(void *event, int state, void *function, void *data)")
async def call_at(call: HostCall, handle: int, state: int, function: int, data: int) -> None:
    program: OpenClProgram = call.process
    event = program.find(call, handle, ClEvent)
    if not function or not COMPLETE <= state <= SUBMITTED:
        refuse(ClError.INVALID_VALUE, f"a function is called in a state of a command, and {state} is none")
    await program.begin_callbacks(call)
    event.callbacks.append((state, function, data))
    program.call_back(event)


@API("int dwarfgpu_callbacks()")
async def callbacks(call: HostCall) -> int:
    """Call functions of the program, in the thread of this call, as long as the program runs."""
    program: OpenClProgram = call.process
    while True:
        await program.wait(call, lambda: bool(program.callbacks or program.due))
        await program.advance(call, program.due)
        program.due.clear()
        if not program.callbacks:
            continue
        function, words = program.callbacks.pop(0)
        found = program.objects.get(words[0])
        if isinstance(found, ClEvent):
            program.know(found.clock)
        await call.invoke(function, *words)
