"""What streams do, and graphs that keep it for later."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import define, evolve, field

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall, HostThread

KERNEL, MEMCPY, MEMSET, HOST_CALL, CHILD, EMPTY, WAIT_EVENT, RECORD_EVENT = range(8)
"""The kinds of nodes: ``hipGraphNodeType``, as the next ones are."""
MEM_ALLOC, MEM_FREE = 10, 11
LEGACY_HANDLES, PER_THREAD = (0, 1), 2
"""The streams that each program has, by their handles."""
NON_BLOCKING = 1
"""Among the flags of a stream: it does not wait for the legacy one."""
GLOBAL, THREAD_LOCAL, RELAXED = range(3)
"""``hipStreamCaptureMode``: whose unsafe calls end a capture."""


@define(eq=False)
class GraphNode:
    """A function of the API with its arguments, which a graph calls at each launch."""

    kind: int
    function: Callable[..., Any] | None = None
    arguments: tuple[Any, ...] = ()
    frames: Sequence[int] = ()
    """The return addresses of the call that has made it."""
    before: list[GraphNode] = field(factory=list)
    """The nodes that it depends on."""
    original: GraphNode | None = None
    """The node that this one was cloned from."""
    handle: int = 0
    is_enabled: bool = True


@define(eq=False)
class Graph:
    """Nodes in the order in which they were added."""

    nodes: list[GraphNode] = field(factory=list)
    handle: int = 0
    original: Graph | None = None

    @property
    def edges(self) -> list[tuple[GraphNode, GraphNode]]:
        return [(earlier, node) for node in self.nodes for earlier in node.before]

    def in_order(self) -> list[GraphNode] | None:
        """Return the nodes, each behind all that it depends on; None if they form a circle."""
        order: dict[GraphNode, None] = {}
        waiting = [*self.nodes]
        while waiting:
            known = len(order)
            for node in waiting:
                if all(earlier in order for earlier in node.before):
                    order[node] = None
            if len(order) == known:
                return None
            waiting = [node for node in waiting if node not in order]
        return [*order]

    def clone(self) -> Graph:
        """Return a graph of its own with the same nodes."""
        copies: dict[GraphNode, GraphNode] = {}
        for node in self.nodes:
            arguments = tuple(each.clone() if isinstance(each, Graph) else each for each in node.arguments)
            copies[node] = evolve(node, arguments=arguments, before=[], original=node, handle=0)
        for node, copied in copies.items():
            copied.before = [copies[earlier] for earlier in node.before]
        return Graph([*copies.values()], original=self)


def ancestors(nodes: Sequence[GraphNode]) -> Iterator[GraphNode]:
    """Yield nodes and all that they depend on."""
    seen: set[int] = set()
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += node.before


@define(eq=False)
class Executable:
    """A graph that can be launched."""

    graph: Graph
    flags: int = 0


@define(eq=False)
class HipStream:
    """A stream. What it was given has ended, unless it captures."""

    flags: int = 0
    priority: int = 0
    capture: Capture | None = None
    last: list[GraphNode] = field(factory=list)
    """What the next node that it captures depends on."""

    def record(self, node: GraphNode) -> GraphNode:
        """Add a node to what is captured; return it."""
        assert self.capture is not None  # noqa: S101 (the caller knows)
        node.before = [*self.last]
        self.capture.graph.nodes.append(node)
        self.last = [node]
        return node


@define(eq=False)
class Capture:
    """Calls that streams record into a graph."""

    graph: Graph
    mode: int
    thread: HostThread
    number: int
    streams: list[HipStream]
    """The stream that has begun, and those that have joined by events."""
    frames: Sequence[int]
    """Those of the call that has begun it."""
    is_valid: bool = True

    @property
    def is_joined(self) -> bool:
        """Whether all that other streams have captured comes before the end of the first one."""
        first, *others = self.streams
        seen = dict.fromkeys(ancestors(first.last))
        return all(node in seen for stream in others for node in stream.last)

    def end(self) -> None:
        """Let its streams work again."""
        for stream in self.streams:
            stream.capture, stream.last = None, []


@define(eq=False)
class HipEvent:
    """An event; what it was recorded behind has ended."""

    recorded: float | None = None
    clock: dict[int, int] = field(factory=dict)
    """What is done behind it, where that is followed."""
    captured: tuple[Capture, list[GraphNode]] | None = None
    """The capture that it belongs to, with the nodes that it stands behind."""


async def run_graph(call: HostCall, graph: Graph, _stream: int = 0) -> None:
    """Do what the nodes of a graph say."""
    has_copied = True  # perhaps: this may be a part of another graph
    for node in graph.in_order() or ():
        if node.function is None or not node.is_enabled:
            continue
        if node.kind != KERNEL:
            call.process.finish_work()  # kernels before it
            has_copied = True
        elif has_copied:
            await call.read(0, 0)  # the program has done the copies now
            has_copied = False
        result = node.function(call.at(node.frames or call.frames), *node.arguments)
        if inspect.iscoroutine(result):
            await result
