"""The rules that calls and launches of a program follow; kernels have those of the checks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.audits.verify.findings import ERROR, NOTE, WARNING, CheckRule, FileFinding

if TYPE_CHECKING:
    from dwarfgpu.audits.verify.findings import Severity

_MEMORY, _ERRORS = "HIP Runtime API Reference, Memory Management", "HIP Runtime API Reference, Error Handling"
_GRAPHS = "HIP Runtime API Reference, Graph Management"
_MODULES = "HIP Runtime API Reference, Module Management"
_ERRORS = "HIP Runtime API Reference, Error Handling"
_STREAMS = "HIP Programming Guide, Asynchronous Concurrent Execution"
_LAUNCHES, _MODEL = (
    "HIP Runtime API Reference, Execution Control",
    "HIP Programming Guide, Memory Allocation and Access",
)
_ROWS: tuple[tuple[str, Severity, str, str, str], ...] = (
    ("kernel-fault", ERROR, _LAUNCHES, "Kernels run to their end, and access only memory that is theirs.",
     "correct the access at the line of the kernel"),
    ("kernel-refused", ERROR, _LAUNCHES, "Each kernel that is launched can be executed.", "do what the message says"),
    ("bounds-host", ERROR, _MEMORY, "Copies and fills stay inside of one buffer.", "correct the size, or the address"),
    ("read-only", ERROR, _MODEL, "Kernels do not write to read-only memory of the host.",
     "give the kernel a copy; --check=bounds names the line"),
    ("use-after-free", ERROR, _MEMORY, "Nothing uses a buffer that was freed.", "free it behind its last use"),
    ("free-twice", ERROR, _MEMORY, "Each buffer is freed once.", "remove one of the two calls"),
    ("free-unknown", ERROR, _MEMORY, "Only the start of a buffer is freed.", "free what the allocation has returned"),
    ("free-other", WARNING, _MEMORY, "The function that belongs to an allocation frees it.",
     "call hipFree for memory of the device, and hipHostFree for that of the host"),
    ("leak", NOTE, _MEMORY, "Each buffer is freed before the program ends.", "free it"),
    ("null-copy", ERROR, _MEMORY, "No copy has a null pointer.", "allocate both sides before the copy"),
    ("direction", ERROR, _MEMORY, "The direction of a copy is that of its addresses.",
     "give the other direction, or hipMemcpyDefault"),
    ("host-access", ERROR, _MODEL, "The host accesses memory of the device only through copies.",
     "copy it, or allocate it with hipMallocManaged"),
    ("host-memory", ERROR, f"{_MEMORY}; OpenCL API 3.0, 5.2.2", "Pointers of the host lead to memory of the program.",
     "correct the pointer, or the size"),
    ("stream-order", ERROR, _STREAMS, "Work in two streams that uses the same memory is ordered.",
     "let the second stream wait for an event of the first, or synchronize between both"),
    ("host-order", ERROR, _STREAMS, "The host accesses what a kernel writes only behind a synchronization.",
     "call hipDeviceSynchronize or hipStreamSynchronize before the access"),
    ("invalid-launch", ERROR, _LAUNCHES, "A launch names a kernel, and sizes that the device has.",
     "change the sizes of the launch"),
    ("empty-launch", WARNING, _LAUNCHES, "A launch has threads.", "leave out launches without work"),
    ("capture", ERROR, _GRAPHS, "While a stream captures, calls do not wait for it, nor depend on the legacy stream.",
     "call it before the capture or behind it, or give it a stream that captures"),
    ("unread-error", WARNING, _ERRORS, "The program looks at the errors of its calls.",
     "test the result, or call hipGetLastError behind launches"),
    ("code", ERROR, _MODULES, "Code is for the processor of the device.", "compile it for that processor"),
    ("invalid-call", WARNING, "OpenCL API 3.0, the function", "Calls follow the rules of their functions.",
     "do what the message says"),
    ("use-after-release", ERROR, "OpenCL API 3.0, 2.1", "Nothing uses an object whose references are all released.",
     "release it behind its last use"),
    ("command-order", ERROR, "OpenCL API 3.0, 5.11 and 5.12", "Commands that use the same memory are ordered.",
     "let the second one wait for the event of the first, or put a barrier between both"),
    ("endless-wait", ERROR, "OpenCL API 3.0, 5.11", "A thread that is not waiting sets each event of the user.",
     "call clSetUserEventStatus before the call that waits"),
    ("host-early", ERROR, "OpenCL API 3.0, 5.2.2", "The host leaves alone what a command copies until that has ended.",
     "wait for the event of the command, or let its call block"),
    ("map", WARNING, "OpenCL API 3.0, 5.5.4", "The host accesses maps as their flags say, and unmaps for kernels.",
     "call clEnqueueMapBuffer and clEnqueueUnmapMemObject around what the host does"),
    ("not-supported", WARNING, "docs/programs.md, Limits", "The program calls only functions that are here.",
     "let the program do without it"),
)  # fmt: skip
RULES = {row[0]: CheckRule(*row) for row in _ROWS}
"""The rules by their names."""


def program_finding(
    rule: str, message: str, file: str, calls: tuple[str, ...], source: tuple[str, int] | None
) -> FileFinding:
    """Return a finding about a call of a program, with the functions that it is in, outermost first."""
    found = RULES[rule]
    return FileFinding(found, found.severity, message, found.clause, file, None, None, calls, source, None)
