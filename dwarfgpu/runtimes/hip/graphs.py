"""Graphs: nodes that a program adds by hand, and launches of graphs."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import frozen
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.boxes import BOX, copy_box
from dwarfgpu.runtimes.hip.memory import copy_from_symbol, copy_to_symbol, fill_rows, memcpy
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.runtimes.hip.registration import arguments_of, launch
from dwarfgpu.runtimes.hip.streams import begin, call_host, record, streamed, wait
from dwarfgpu.runtimes.hip.work import (
    CHILD,
    EMPTY,
    HOST_CALL,
    KERNEL,
    MEMCPY,
    MEMSET,
    RECORD_EVENT,
    WAIT_EVENT,
    Executable,
    Graph,
    GraphNode,
    HipEvent,
    run_graph,
)

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall

_MOST = 1 << 20
"""The nodes that a call can name."""
_TOPOLOGY, _KIND = 2, 3
"""Why an update is refused: ``hipGraphExecUpdateResult``."""


async def _nodes(call: HostCall, pointer: int, count: int) -> list[GraphNode]:
    if count > _MOST or (count and not pointer):
        refuse(errors.INVALID_VALUE)
    handles = struct.unpack(f"<{count}Q", await call.read(pointer, 8 * count)) if count else ()
    return [call.process.find(handle, GraphNode) for handle in handles]


async def _write_handles(call: HostCall, found: Sequence[GraphNode], pointer: int, count: int) -> None:
    """Write the handles of nodes, as many as there is room for; without an array, how many there are."""
    if not count:
        refuse(errors.INVALID_VALUE)
    room = await call.number_at(count) if pointer else 0
    if pointer:
        handles = [node.handle for node in found[:room]]
        handles += [0] * (min(room, _MOST) - len(handles))
        call.write(pointer, struct.pack(f"<{len(handles)}Q", *handles))
    call.write_number(count, min(room, len(found)) if pointer else len(found))


# --- Graphs -----------------------------------------------------------------------------------------------------------


@API("hipError_t hipGraphCreate(void **graph, unsigned flags)")
def create(call: HostCall, graph: int, flags: int) -> None:
    if not graph or flags:
        refuse(errors.INVALID_VALUE)
    call.write_number(graph, call.process.keep_graph(Graph()))


@API("hipError_t hipGraphDestroy(void *graph)")
def destroy(call: HostCall, graph: int) -> None:
    gone = call.process.find(graph, Graph)
    for handle in (graph, *(node.handle for node in gone.nodes)):
        call.process.objects.pop(handle, None)


@API("hipError_t hipGraphClone(void **clone, void *graph)")
def clone(call: HostCall, pointer: int, graph: int) -> None:
    found = call.process.find(graph, Graph)
    if not pointer:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, call.process.keep_graph(found.clone()))


@API("hipError_t hipGraphNodeFindInClone(void **node, void *original, void *clone)")
def find_in_clone(call: HostCall, pointer: int, original: int, graph: int) -> None:
    known = call.process.find(original, GraphNode)
    found = [node for node in call.process.find(graph, Graph).nodes if node.original is known]
    if not pointer or not found:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, found[0].handle)


@API("hipError_t hipGraphGetNodes(void *graph, void **nodes, size_t *count)")
async def nodes_of_graph(call: HostCall, graph: int, nodes: int, count: int) -> None:
    await _write_handles(call, call.process.find(graph, Graph).nodes, nodes, count)


@API("hipError_t hipGraphGetRootNodes(void *graph, void **nodes, size_t *count)")
async def roots_of_graph(call: HostCall, graph: int, nodes: int, count: int) -> None:
    found = [node for node in call.process.find(graph, Graph).nodes if not node.before]
    await _write_handles(call, found, nodes, count)


@API("hipError_t hipGraphGetEdges(void *graph, void **earlier, void **later, size_t *count)")
async def edges_of_graph(call: HostCall, graph: int, earlier: int, later: int, count: int) -> None:
    edges = call.process.find(graph, Graph).edges
    if bool(earlier) != bool(later):
        refuse(errors.INVALID_VALUE)
    await _write_handles(call, [edge[1] for edge in edges], later, count)
    if earlier:
        room = await call.number_at(count)
        call.write(earlier, struct.pack(f"<{room}Q", *(edge[0].handle for edge in edges[:room])))


@API("hipError_t hipGraphNodeGetDependencies(void *node, void **nodes, size_t *count)")
async def dependencies_of_node(call: HostCall, node: int, nodes: int, count: int) -> None:
    await _write_handles(call, call.process.find(node, GraphNode).before, nodes, count)


@API("hipError_t hipGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count)")
async def dependents_of_node(call: HostCall, node: int, nodes: int, count: int) -> None:
    known = call.process.find(node, GraphNode)
    found = [each for each in call.process.objects.values() if isinstance(each, GraphNode) and known in each.before]
    await _write_handles(call, found, nodes, count)


@API("hipError_t hipGraphNodeGetType(void *node, int *kind)")
def kind_of_node(call: HostCall, node: int, kind: int) -> None:
    call.write_number(kind, call.process.find(node, GraphNode).kind, 4)


@API("hipError_t hipGraphAddDependencies(void *graph, const void *earlier, const void *later, size_t count)")
async def add_dependencies(call: HostCall, graph: int, earlier: int, later: int, count: int) -> None:
    known = call.process.find(graph, Graph).nodes
    for first, second in zip(await _nodes(call, earlier, count), await _nodes(call, later, count), strict=True):
        if first is second or first in second.before or first not in known or second not in known:
            refuse(errors.INVALID_VALUE)
        second.before.append(first)


@API("hipError_t hipGraphRemoveDependencies(void *graph, const void *earlier, const void *later, size_t count)")
async def remove_dependencies(call: HostCall, graph: int, earlier: int, later: int, count: int) -> None:
    call.process.find(graph, Graph)
    for first, second in zip(await _nodes(call, earlier, count), await _nodes(call, later, count), strict=True):
        if first not in second.before:
            refuse(errors.INVALID_VALUE)
        second.before.remove(first)


@API("hipError_t hipGraphDestroyNode(void *node)")
def destroy_node(call: HostCall, node: int) -> None:
    gone = call.process.find(node, GraphNode)
    for each in call.process.objects.values():
        if isinstance(each, Graph) and gone in each.nodes:
            each.nodes.remove(gone)
        elif isinstance(each, GraphNode) and gone in each.before:
            each.before.remove(gone)
    del call.process.objects[node]


@API(
    "hipError_t hipStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes, const void *edges, "
    "size_t count, int mode)"
)
async def capture_to_graph(
    call: HostCall, stream: int, graph: int, nodes: int, _edges: int, count: int, mode: int
) -> None:
    begin(call, stream, mode, call.process.find(graph, Graph), await _nodes(call, nodes, count))


@API("hipError_t hipStreamUpdateCaptureDependencies(void *stream, void **nodes, size_t count, unsigned flags)")
async def update_dependencies(call: HostCall, handle: int, nodes: int, count: int, flags: int) -> None:
    stream = call.process.stream(handle)
    if stream is None or stream.capture is None:
        refuse(errors.ILLEGAL_STATE)
    if flags > 1:
        refuse(errors.INVALID_VALUE)
    found = await _nodes(call, nodes, count)
    stream.last = [*dict.fromkeys((*([] if flags else stream.last), *found))]


# --- Launches ---------------------------------------------------------------------------------------------------------


@API(
    "hipError_t hipGraphInstantiate(void **executable, void *graph, void **node, char *text, size_t size)",
    "hipError_t hipGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags)",
)
def instantiate(call: HostCall, executable: int, graph: int, *more: int) -> None:
    found = call.process.find(graph, Graph)
    if not executable or found.in_order() is None:
        refuse(errors.INVALID_VALUE)
    call.write_number(executable, call.process.keep(Executable(found.clone(), more[0] if len(more) == 1 else 0)))


@API("hipError_t hipGraphExecGetFlags(void *executable, uint64_t *flags)")
def executable_flags(call: HostCall, executable: int, flags: int) -> None:
    call.write_number(flags, call.process.find(executable, Executable).flags)


@API("hipError_t hipGraphExecDestroy(void *executable)")
def destroy_executable(call: HostCall, executable: int) -> None:
    call.process.find(executable, Executable)
    del call.process.objects[executable]


_run = streamed(CHILD)(run_graph)


@API(
    "hipError_t hipGraphLaunch(void *executable, void *stream)",
    "hipError_t hipGraphLaunch_spt(void *executable, void *stream)",
)
def launch_graph(call: HostCall, executable: int, stream: int) -> Any:
    graph = call.process.find(executable, Executable).graph
    call.process.check_device()
    return _run(call, graph, stream)


@API("hipError_t hipGraphUpload(void *executable, void *stream)")
def upload(call: HostCall, executable: int, stream: int) -> None:
    call.process.find(executable, Executable)
    call.process.stream(stream)


@API("hipError_t hipGraphExecUpdate(void *executable, void *graph, void **node, int *result)")
def update(call: HostCall, executable: int, graph: int, node: int, result: int) -> None:
    """Give an executable graph what another of the same form has."""
    known, found = call.process.find(executable, Executable), call.process.find(graph, Graph)
    why, different = 0, None
    if _form(known.graph) != _form(found):
        why = _TOPOLOGY
    for old, new in zip(known.graph.nodes, found.nodes, strict=False):
        if not why and old.kind != new.kind:
            why, different = _KIND, new
    if result:
        call.write_number(result, why, 4)
    if node:
        call.write_number(node, 0 if different is None else different.handle)
    if why:
        refuse(errors.UPDATE_FAILURE)
    for old, new in zip(known.graph.nodes, found.clone().nodes, strict=True):
        old.function, old.arguments, old.frames, old.is_enabled = new.function, new.arguments, new.frames, True


def _form(graph: Graph) -> list[list[int]]:
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    return [sorted(numbers[earlier] for earlier in node.before) for node in graph.nodes]


@API("hipError_t hipGraphNodeSetEnabled(void *executable, void *node, unsigned is_enabled)")
def set_enabled(call: HostCall, executable: int, node: int, is_enabled: int) -> None:
    _in_executable(call, executable, node).is_enabled = bool(is_enabled)


@API("hipError_t hipGraphNodeGetEnabled(void *executable, void *node, unsigned *is_enabled)")
def get_enabled(call: HostCall, executable: int, node: int, is_enabled: int) -> None:
    call.write_number(is_enabled, _in_executable(call, executable, node).is_enabled, 4)


def _in_executable(call: HostCall, executable: int, node: int) -> GraphNode:
    """Return the node of an executable graph that was made from a node."""
    original: GraphNode = call.process.find(node, GraphNode)
    nodes: list[GraphNode] = call.process.find(executable, Executable).graph.nodes
    found = next((each for each in nodes if each.original is original), None)
    if found is None:
        refuse(errors.INVALID_VALUE)
    return found


# --- Nodes ------------------------------------------------------------------------------------------------------------

Made = tuple[Callable[..., Any] | None, tuple[Any, ...]]
"""The function of a node with its arguments."""
_KERNEL = struct.Struct("<3I4xQQ3I4xQI4x")
"""``hipKernelNodeParams``: blockDim, extra, func, gridDim, kernelParams, sharedMemBytes."""
_MEMSET = struct.Struct("<QI4xQQI4xQ")
"""``hipMemsetParams``: dst, elementSize, height, pitch, value, width."""
_CALLED = struct.Struct("<QQ")
"""``hipHostNodeParams``: fn, userData."""


@frozen
class _Form:
    """A kind of nodes: how functions of the API are named, and what nodes are made with."""

    kind: int
    name: str
    parameters: str
    made: Callable[..., Awaitable[Made]]
    setter: str = ""
    """What follows the kind in the names of functions that change a node; empty without such functions."""
    adder: str = ""
    """What follows `Node` in the name of the function that adds one."""
    written: Callable[[HostCall, GraphNode], bytes] | None = None
    """Returns what a node was made with, as the structure of the API."""


async def _kernel(call: HostCall, pointer: int) -> Made:
    *block, extra, handle, x, y, z, arguments, shared = _KERNEL.unpack(await call.read(pointer, _KERNEL.size))
    kernel = call.process.kernel(handle)
    if kernel is None:
        refuse(errors.INVALID_FUNCTION)
    segment = await arguments_of(call, kernel, arguments, extra)
    return launch, (handle, (x, y, z), tuple(block), segment, shared, False, 0)


def _kernel_written(call: HostCall, node: GraphNode) -> bytes:
    handle, grid, block, segment, shared, _is_cooperative, _stream = node.arguments
    kernel = call.process.kernel(handle)
    offsets = () if kernel is None else (offset for offset, _size in kernel.arguments)
    base = call.process.place(call, segment) if segment else 0
    pointers = [base + offset for offset in offsets]
    arguments = call.process.place(call, struct.pack(f"<{len(pointers)}Q", *pointers)) if pointers else 0
    return _KERNEL.pack(*block, 0, handle, *grid, arguments, shared)


async def _box(call: HostCall, pointer: int) -> Made:
    return copy_box, (BOX.unpack(await call.read(pointer, BOX.size)), 0)


def _box_written(_call: HostCall, node: GraphNode) -> bytes:
    if node.function is copy_box:
        return BOX.pack(*node.arguments[0])
    if node.function is not memcpy:
        refuse(errors.INVALID_VALUE)
    to, source, size, kind, *_stream = node.arguments
    return BOX.pack(0, 0, 0, 0, source, size, size, 1, 0, 0, 0, 0, to, size, size, 1, size, 1, 1, kind)


async def _filled(call: HostCall, pointer: int) -> Made:
    to, size, height, pitch, value, width = _MEMSET.unpack(await call.read(pointer, _MEMSET.size))
    if size not in (1, 2, 4):
        refuse(errors.INVALID_VALUE)
    return fill_rows, (to, pitch, value, size, width, height, 0)


def _filled_written(_call: HostCall, node: GraphNode) -> bytes:
    if node.function is not fill_rows:
        refuse(errors.INVALID_VALUE)
    to, pitch, value, size, width, height, _stream = node.arguments
    return _MEMSET.pack(to, size, height, pitch, value & 0xFFFFFFFF, width)


async def _called(call: HostCall, pointer: int) -> Made:
    return call_host, (*_CALLED.unpack(await call.read(pointer, _CALLED.size)), 0)


async def _made(*arguments: Any, function: Callable[..., Any]) -> Made:
    return function, (*arguments[1:], 0)


async def _event(call: HostCall, event: int, *, function: Callable[..., Any]) -> Made:
    call.process.find(event, HipEvent)
    return function, (event, 0)


async def _child(call: HostCall, graph: int) -> Made:
    child = call.process.find(graph, Graph).clone()
    call.process.keep_graph(child)
    return run_graph, (child, 0)


async def _empty(_call: HostCall) -> Made:
    return None, ()


_POINTER = "const void *parameters"
_FORMS = (
    _Form(KERNEL, "Kernel", _POINTER, _kernel, "SetParams", written=_kernel_written),
    _Form(MEMCPY, "Memcpy", _POINTER, _box, "SetParams", written=_box_written),
    _Form(MEMSET, "Memset", _POINTER, _filled, "SetParams", written=_filled_written),
    _Form(HOST_CALL, "Host", _POINTER, _called, "SetParams", written=lambda _, node: _CALLED.pack(*node.arguments[:2])),
    _Form(MEMCPY, "Memcpy", "void *to, const void *source, size_t size, int kind", partial(_made, function=memcpy),
          "SetParams1D", "1D"),
    _Form(MEMCPY, "Memcpy", "const void *symbol, const void *source, size_t size, size_t offset, int kind",
          partial(_made, function=copy_to_symbol), "SetParamsToSymbol", "ToSymbol"),
    _Form(MEMCPY, "Memcpy", "void *to, const void *symbol, size_t size, size_t offset, int kind",
          partial(_made, function=copy_from_symbol), "SetParamsFromSymbol", "FromSymbol"),
    _Form(CHILD, "ChildGraph", "void *child", _child, "SetParams"),
    _Form(EMPTY, "Empty", "", _empty),
    _Form(RECORD_EVENT, "EventRecord", "void *event", partial(_event, function=record), "SetEvent"),
    _Form(WAIT_EVENT, "EventWait", "void *event", partial(_event, function=wait), "SetEvent"),
)  # fmt: skip


async def _add(
    call: HostCall, pointer: int, graph: int, before: int, count: int, *parameters: int, form: _Form
) -> None:
    found = call.process.find(graph, Graph)
    if not pointer:
        refuse(errors.INVALID_VALUE)
    earlier = await _nodes(call, before, count)
    if not all(node in found.nodes for node in earlier):
        refuse(errors.INVALID_VALUE)
    function, arguments = await form.made(call, *parameters)
    node = GraphNode(form.kind, function, arguments, call.frames, [*dict.fromkeys(earlier)])
    found.nodes.append(node)
    call.write_number(pointer, call.process.keep_node(node))


async def _change(call: HostCall, node: GraphNode, form: _Form, parameters: Sequence[int]) -> None:
    if node.kind != form.kind:
        refuse(errors.INVALID_VALUE)
    node.function, node.arguments = await form.made(call, *parameters)


async def _set(call: HostCall, node: int, *parameters: int, form: _Form) -> None:
    await _change(call, call.process.find(node, GraphNode), form, parameters)


async def _set_in_executable(call: HostCall, executable: int, node: int, *parameters: int, form: _Form) -> None:
    await _change(call, _in_executable(call, executable, node), form, parameters)


def _get(call: HostCall, handle: int, pointer: int, *, form: _Form) -> None:
    node = call.process.find(handle, GraphNode)
    if node.kind != form.kind or not pointer:
        refuse(errors.INVALID_VALUE)
    assert form.written is not None  # noqa: S101 (only such forms have the function)
    call.write(pointer, form.written(call, node))


def _of_node(call: HostCall, node: int, pointer: int, *, kind: int) -> None:
    """Write the child of a node, or its event."""
    found = call.process.find(node, GraphNode)
    if found.kind != kind or not pointer:
        refuse(errors.INVALID_VALUE)
    first = found.arguments[0]
    call.write_number(pointer, first.handle if isinstance(first, Graph) else first)


for _form_of_nodes in _FORMS:
    _name, _more = _form_of_nodes.name, f", {_form_of_nodes.parameters}" if _form_of_nodes.parameters else ""
    API(
        f"hipError_t hipGraphAdd{_name}Node{_form_of_nodes.adder}(void **node, void *graph, const void *before, "
        f"size_t count{_more})"
    )(partial(_add, form=_form_of_nodes))
    if _form_of_nodes.setter:
        _changes = f"{_name}Node{_form_of_nodes.setter}"
        API(f"hipError_t hipGraph{_changes}(void *node{_more})")(partial(_set, form=_form_of_nodes))
        API(f"hipError_t hipGraphExec{_changes}(void *executable, void *node{_more})")(
            partial(_set_in_executable, form=_form_of_nodes)
        )
    if _form_of_nodes.written is not None:
        API(f"hipError_t hipGraph{_name}NodeGetParams(void *node, void *parameters)")(
            partial(_get, form=_form_of_nodes)
        )
API("hipError_t hipGraphChildGraphNodeGetGraph(void *node, void **graph)")(partial(_of_node, kind=CHILD))
API("hipError_t hipGraphEventRecordNodeGetEvent(void *node, void **event)")(partial(_of_node, kind=RECORD_EVENT))
API("hipError_t hipGraphEventWaitNodeGetEvent(void *node, void **event)")(partial(_of_node, kind=WAIT_EVENT))
