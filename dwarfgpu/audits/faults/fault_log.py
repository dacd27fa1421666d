"""What a console or the kernel's log says of the faults of a GPU, where no state was saved.

The fields of the status register and their meanings are those of the kernel's documentation, "GPU Debugging", and of
amdgpu's headers; the words of the runtime are those that ROCr prints (`Runtime::VMFaultHandler`, `hsa_status_string`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise

from dwarfgpu.audits.faults.wave_faults import NULL, PAGE
from dwarfgpu.errors import NotFound
from dwarfgpu.immutable import evolve, frozen

ROCR, HIP, AMDGPU = "ROCr", "HIP", "amdgpu"
FAULT, QUEUE, HANG, DUMP = "memory access fault", "queue error", "GPU hang", "core dump"
PAGE_FAULT, PROCESS, PAGE_LINE, FIELD = "page fault", "process", "page", "field"
_NUMBER = "0x[0-9a-fA-F]{1,16}"
_WRITTEN: tuple[tuple[str, str, bool, str], ...] = (
    (ROCR, FAULT, True, (rf"Memory access fault by GPU node-(?P<node>\d+)(?:\s+\(Agent handle: [^)\n]{{0,40}}\))?\s+on"
     rf" address (?P<address>\(nil\)|{_NUMBER})(?: ?\((?P<inexact>may not be exact address)\))?"
     r"\.?(?:\s+Reason: ?(?P<reason>[^.\n]{1,80}))?")),
    (HIP, FAULT, True, (rf"Memory Fault Error \[(?:[^\]]{{0,200}}?faulting addr: (?P<address>{_NUMBER}),)?"
     r"(?:[^\]]{0,200}?kernel: (?P<kernel>[^\n]{1,4000})\])?")),
    (ROCR, QUEUE, True, r"(?P<status>HSA_STATUS_ERROR_[A-Z_]{1,40})\b"),
    (ROCR, HANG, True, r"HW Exception by GPU node-(?P<node>\d+)[^\n]{0,60}? reason ?: ?(?P<reason>[^\n]{1,80})"),
    (ROCR, DUMP, True, r"(?P<dump>GPU core ?dump\b[^\n]{0,80}?(?:failed|error|skipped)[^\n]{0,80})"),
    (AMDGPU, PAGE_FAULT, True, r"page fault \(src_id:\d+ ring:\d+ vmid:(?P<vmid>\d+)"),
    (AMDGPU, PROCESS, False, r"rocess (?P<process>[^\n]{0,64}?) pid (?P<pid>\d{1,9})\b"),
    (AMDGPU, PAGE_LINE, False, rf"in page starting at address (?P<address>{_NUMBER})"),
    (AMDGPU, FIELD, False, rf"VM_L2_PROTECTION_FAULT_STATUS: ?(?P<register>{_NUMBER})"),
    (AMDGPU, FIELD, False, r"Faulty UTCL2 client ID: (?P<client>[^\n]{1,40}?) \(0x"),
    (AMDGPU, FIELD, False, rf"PERMISSION_FAULTS: (?P<PERMISSION_FAULTS>{_NUMBER})"),
    (AMDGPU, FIELD, False, rf"MAPPING_ERROR: (?P<MAPPING_ERROR>{_NUMBER})"),
    (AMDGPU, FIELD, False, rf"WALKER_ERROR: (?P<WALKER_ERROR>{_NUMBER})"),
    (AMDGPU, FIELD, False, rf"RW: (?P<RW>{_NUMBER})"),
)  # fmt: skip
"""Who writes it, what it is, whether a fault begins with it, and how it is written."""
_COLOURS = re.compile("\x1b\\[[0-9;]{0,20}m")
_DEVICE = re.compile(r"amdgpu ([0-9a-f]{4}:[0-9a-f:.]{4,10})")
FIELDS = {"WALKER_ERROR": (1, 3), "PERMISSION_FAULTS": (4, 4), "MAPPING_ERROR": (8, 1), "RW": (18, 1)}
"""The first bit and the number of bits of the fields of the status register."""
PERMISSIONS = ("the page is not valid", "it may not be read", "it may not be written", "it may not be executed")
"""The bits of PERMISSION_FAULTS."""
_MEANINGS = """
HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: an address that no memory has, perhaps past local or private memory
HSA_STATUS_ERROR_MEMORY_FAULT: an address without memory that the GPU may access
HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: bytes that are not an instruction of this processor, such as code for another one
HSA_STATUS_ERROR_EXCEPTION: a trap, as failed assertions execute, or an exception of arithmetic: not known which
HSA_STATUS_ERROR_OUT_OF_REGISTERS: the kernel needs more VGPRs than this processor has
Page not present or supervisor privilege: no page is mapped there, or the GPU may not use it
Write access to a read-only page: a write to memory that may only be read
Execute access to a page marked NX: a jump to memory without code
Host access only: memory that only the host may access
DRAM ECC failure: the memory is damaged, and the program may be right
SRAM ECC failure: the memory is damaged, and the program may be right
Unknown: the driver has given no reason to the runtime
may not be exact address: the access may have been elsewhere
TCP: a shader, vector memory
SQC (inst): a shader, its instructions
SQC (data): a shader, scalar memory
SQG: a shader
SDMA: an engine that copies memory, not a kernel
CP: the command processor, not a kernel
"""
MEANINGS = dict(line.split(": ", 1) for line in _MEANINGS.strip().split("\n"))
"""What statuses, reasons and clients mean; of a client the name begins so."""
STATUSES = frozenset(name for name in MEANINGS if name.startswith("HSA_"))


@frozen
class LogFact:
    """A fact of a log."""

    name: str
    value: str
    meaning: str
    source: str
    """Who has written it."""


@frozen
class LoggedFault:
    """What a log says of the faults in one page, or of errors of one kind that have no address."""

    kind: str
    page: int | None
    line: int
    """The number of the first line in the log."""
    times: int
    facts: tuple[LogFact, ...]

    @property
    def is_near_null(self) -> bool:
        """Whether the address is one that a null pointer makes with the offset of an element."""
        return self.page is not None and self.page < NULL


@frozen
class _Message:
    """A fault as one of the writers has told it, with the fields of its lines."""

    source: str
    kind: str
    line: int
    fields: dict[str, str]


def logged_faults(text: str) -> list[LoggedFault]:
    """Return the faults that a log tells of, in their order; raise `NotFound` if there is none."""
    found: dict[tuple[str, object], LoggedFault] = {}
    told: dict[tuple[str, object], dict[LogFact, None]] = {}
    seen: dict[tuple[object, str], int] = {}
    for message in _messages(_COLOURS.sub("", text)):
        address = message.fields.get("address")
        page = None if address is None else 0 if address == "(nil)" else int(address, 16) // PAGE * PAGE
        key = message.kind, message.fields.get("status") if page is None else page
        seen[key, message.source] = times = seen.get((key, message.source), 0) + 1
        fault = found.get(key) or LoggedFault(message.kind, page, message.line, 1, ())
        told.setdefault(key, {}).update(dict.fromkeys(_facts(message)))
        found[key] = evolve(fault, line=min(fault.line, message.line), times=max(fault.times, times))
    if not found or all(fault.kind == DUMP for fault in found.values()):
        hint = "such as `Memory access fault by GPU node-1 ...`, `[gfxhub] page fault ...`, `HSA_STATUS_ERROR_...`"
        raise NotFound("no_fault", "the log has no line about a fault of a GPU", hint=hint)
    faults = (evolve(fault, facts=tuple(told[key])) for key, fault in found.items())
    return sorted(faults, key=lambda fault: fault.line)


def reported_address(faults: Iterable[LoggedFault]) -> int | None:
    """Return the address of the first fault that the runtime of a process has told of, or else the driver."""
    pages = [fault for fault in faults if fault.page is not None]
    told = [fault for fault in pages if any(fact.source != AMDGPU for fact in fault.facts)]
    return (told or pages)[0].page if pages else None


def _messages(text: str) -> Iterator[_Message]:
    """Yield the messages of a log. Those of page faults are of several lines, perhaps between those of another GPU."""
    ends = [match.start() for match in re.finditer("\n", text)]
    rows = [
        (bisect_left(ends, match.start()) + 1, match.start(), source, kind, starts, match)
        for source, kind, starts, pattern in _WRITTEN
        for match in re.finditer(pattern, text)
        if match.groupdict().get("status") in (None, *STATUSES)
    ]
    rows.sort(key=lambda row: row[1])
    lines = {line: starts for line, _at, source, _kind, starts, _match in reversed(rows) if source == AMDGPU}
    # lines that start page faults come last where `journalctl -r` has written them
    pairs = [*pairwise([starts for _line, starts in sorted(lines.items())])]
    if pairs.count((False, True)) > pairs.count((True, False)):
        rows.sort(key=lambda row: (-row[0], row[1]))
    named = ((bisect_left(ends, match.start()) + 1, match[1]) for match in _DEVICE.finditer(text))
    devices = dict(reversed([*named]))
    parts: dict[str | None, _Message] = {}
    for line, _at, source, kind, starts, match in rows:
        fields = {name: value for name, value in match.groupdict().items() if value is not None}
        if source != AMDGPU:
            yield _Message(source, kind, line, fields)
            continue
        key = devices.get(line)
        message = parts.get(key)
        if starts or (kind == PAGE_LINE and (message is None or "address" in message.fields)):
            if message is not None:
                yield message
            message = parts[key] = _Message(source, FAULT, line, {})
        if message is not None:
            message.fields.update(fields)
    yield from parts.values()


# --- What fields mean ---------------------------------------------------------------------------------------------


def _facts(message: _Message) -> Iterator[LogFact]:
    fields, source = message.fields, message.source
    if fields.get("process"):
        yield LogFact("process", f"{fields['process']}, pid {fields['pid']}", "", source)
    if fields.get("vmid") == "0":
        yield LogFact("process", "vmid 0", "probably the kernel driver or firmware, not a program", source)
    for name, title in (
        ("status", "status"), ("reason", "reason"), ("inexact", "address"), ("kernel", "kernel"),
    ):  # fmt: skip
        if name in fields:
            value = fields[name].strip()
            yield LogFact(title, value, MEANINGS.get(value, ""), source)
    if "dump" in fields:
        yield LogFact("core file", fields["dump"], "none was written", source)
    if "node" in fields:
        yield LogFact("GPU", f"node-{fields['node']}", "", source)
    if source == AMDGPU:
        yield from _status_facts(fields)


def _status_facts(fields: dict[str, str]) -> Iterator[LogFact]:
    """Yield what the status register of a page fault says, by its fields as they were printed, or else by its bits."""
    register = None if "register" not in fields else int(fields["register"], 16)
    bits = {} if register is None else {name: register >> low & (1 << n) - 1 for name, (low, n) in FIELDS.items()}
    printed = {name: int(fields[name], 16) for name in FIELDS if name in fields}
    known = bits | printed
    if register == 0 or (known and register is None and not any(known.values())):
        yield LogFact("access", "not known", "the status register holds no fault: another one was read before", AMDGPU)
        return
    wrong = [name for name in printed if bits.get(name, printed[name]) != printed[name]]
    if wrong:
        words = f"{', '.join(wrong)} and the register {register:#x} do not agree"
        yield LogFact("access", "not known", f"{words}: lines of several faults are mixed", AMDGPU)
        return
    if "RW" in known:
        yield LogFact("access", "write" if known["RW"] else "read", f"RW {known['RW']:#x}", AMDGPU)
    if "client" in fields:
        name = fields["client"]
        meaning = next((words for start, words in MEANINGS.items() if name.startswith(start)), "")
        yield LogFact("client", name, meaning, AMDGPU)
    if known.get("PERMISSION_FAULTS"):
        mask = known["PERMISSION_FAULTS"]
        words = ", ".join(text for bit, text in enumerate(PERMISSIONS) if mask >> bit & 1)
        yield LogFact("page table", words, f"PERMISSION_FAULTS {mask:#x}", AMDGPU)
    for name in ("WALKER_ERROR", "MAPPING_ERROR"):
        if known.get(name):
            yield LogFact("page table", f"{name} {known[name]:#x}", "the page table itself could not be read", AMDGPU)
