"""The note of a GPU core file: the agents and queues of a process, and where its runtime keeps what it has loaded.

Its content is that of ``AMDKFD_IOC_DBG_TRAP`` (Linux, ``kfd_ioctl.h``): ``kfd_runtime_info``,
``kfd_dbg_device_info_entry`` and ``kfd_queue_snapshot_entry``, behind the header that the HSA runtime writes
(``amd_core_dump.cpp``, ``process_info_core_state``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import astuple, frozen

OWNER = "AMDGPU"
TYPE = 33
"""``NT_AMDGPU_CORE_STATE``; LLVM calls it ``NT_AMDGPU_KFD_CORE_STATE``."""
VERSION = 1
HEADER = struct.Struct("<QIIQIIII")
RUNTIME = struct.Struct("<QII")
AGENT = struct.Struct("<Q6Q16I")
QUEUE = struct.Struct("<Q4Q6I")
AGENT_SIZE, QUEUE_SIZE = 120, 64
MAX_ENTRIES = 1 << 16

ENABLED = 1
"""The state of a runtime whose waves can be seen."""
DEBUGGING, FIRMWARE = 0x8000, 0x20000000
"""The capabilities without which ROCgdb shows no waves, or no queues."""
ALWAYS_TTMPS = 0x400
"""``debug_prop``: the trap temporaries are set also where nobody debugs."""
COMPUTE, SDMA, AQL, SDMA_XGMI = range(4)
QUEUE_KINDS = ("compute (PM4)", "SDMA", "compute (AQL)", "SDMA (XGMI)")
ERROR_QUEUE, INVALID_QUEUE = 1 << 30, 1 << 31
QUEUE_BITS = ERROR_QUEUE | INVALID_QUEUE

EXCEPTIONS = {
    1: "wave abort", 2: "wave trap", 3: "wave math error", 4: "wave illegal instruction",
    5: "wave memory violation", 6: "wave aperture violation", 16: "packet dispatch dim invalid",
    17: "packet dispatch group segment size invalid", 18: "packet dispatch code invalid",
    19: "packet reserved", 20: "packet unsupported", 21: "packet dispatch work group size invalid",
    22: "packet dispatch register invalid", 23: "packet vendor unsupported", 30: "queue preemption error",
    31: "queue new", 32: "queue delete", 33: "memory violation", 34: "RAS error", 35: "fatal halt", 36: "device new",
    48: "runtime", 49: "device remove",
}  # fmt: skip
"""``enum kfd_dbg_trap_exception_code``: the bit of a code is one less."""


@frozen
class AgentEntry:
    """One processor of the process."""

    exception_status: int = 0
    lds_base: int = 1 << 48
    lds_limit: int = (1 << 48) + (1 << 32) - 1
    scratch_base: int = 2 << 48
    scratch_limit: int = (2 << 48) + (1 << 32) - 1
    gpuvm_base: int = 0x4000
    gpuvm_limit: int = (1 << 47) - 1
    gpu_id: int = 1
    location_id: int = 0
    vendor_id: int = 0x1002
    device_id: int = 0
    revision_id: int = 0
    subsystem_vendor_id: int = 0x1002
    subsystem_device_id: int = 0
    fw_version: int = 0
    gfx_target_version: int = 0
    simd_count: int = 0
    max_waves_per_simd: int = 0
    array_count: int = 0
    """Shader arrays of one XCC."""
    simd_arrays_per_engine: int = 0
    num_xcc: int = 1
    capability: int = DEBUGGING | FIRMWARE
    debug_prop: int = 0

    @property
    def processor(self) -> str:
        """The name of the processor, such as ``gfx90a``."""
        version = self.gfx_target_version
        return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"

    @property
    def engines(self) -> int:
        """The shader engines of one XCC, at least 1."""
        return max(1, self.array_count // max(1, self.simd_arrays_per_engine))

    @property
    def xccs(self) -> int:
        """The number of XCCs, at least 1."""
        return max(1, self.num_xcc)


@frozen
class QueueEntry:
    """One queue of the process."""

    exception_status: int = 0
    ring_base: int = 0
    write_pointer: int = 0
    read_pointer: int = 0
    save_area: int = 0
    queue_id: int = 0
    gpu_id: int = 1
    ring_size: int = 0
    """In bytes."""
    queue_type: int = AQL
    save_area_size: int = 0
    """The distance from the save area of one XCC to that of the next."""
    reserved: int = 0

    @property
    def kind(self) -> str:
        return QUEUE_KINDS[self.queue_type] if self.queue_type < len(QUEUE_KINDS) else f"type {self.queue_type}"


@frozen
class CoreState:
    """The content of the note."""

    agents: tuple[AgentEntry, ...]
    queues: tuple[QueueEntry, ...]
    r_debug: int = 0
    runtime_state: int = ENABLED
    ttmp_setup: bool = True
    ioctl: tuple[int, int] = (1, 18)
    """The version of the kernel's interface."""
    version: int = VERSION


def exceptions_in(status: int) -> list[str]:
    """Return the names of the exceptions of a mask."""
    return [EXCEPTIONS.get(bit + 1, f"code {bit + 1}") for bit in range(64) if status >> bit & 1]


def target_version(processor: str) -> int:
    """Return ``gfx_target_version`` of a processor's name."""
    digits = processor.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


# --- Reading ------------------------------------------------------------------------------------------------------


def read_note(data: bytes | memoryview) -> CoreState:
    """Read the descriptor of the note. Entries may be longer than known, and are read as far as they are."""
    if len(data) < HEADER.size:
        raise _bad(f"has {len(data)} bytes, and its header {HEADER.size}")
    version, major, minor, runtime_size, agents, agent_size, queues, queue_size = HEADER.unpack_from(data)
    if version != VERSION:
        raise _bad(f"has the version {version}, and {VERSION} is known", "a newer dwarfgpu may read it")
    sizes = (runtime_size, agents * agent_size, queues * queue_size)
    if agents > MAX_ENTRIES or queues > MAX_ENTRIES or HEADER.size + sum(map(_padded, sizes)) > len(data) + 7:
        raise _bad(f"names {agents} agents and {queues} queues, which do not fit its {len(data)} bytes")
    if (agents and not agent_size) or (queues and not queue_size):
        raise _bad(f"names {agents} agents of {agent_size} bytes and {queues} queues of {queue_size} bytes")
    position = HEADER.size
    r_debug, state, ttmp_setup = RUNTIME.unpack(_entry(data, position, runtime_size, RUNTIME.size))
    position += _padded(runtime_size)
    agent_rows = [
        AgentEntry(*AGENT.unpack(_entry(data, position + index * agent_size, agent_size, AGENT.size)))
        for index in range(agents)
    ]
    position += _padded(agents * agent_size)
    queue_rows = [
        QueueEntry(*QUEUE.unpack(_entry(data, position + index * queue_size, queue_size, QUEUE.size)))
        for index in range(queues)
    ]
    return CoreState(tuple(agent_rows), tuple(queue_rows), r_debug, state, bool(ttmp_setup), (major, minor), version)


def _entry(data: bytes | memoryview, start: int, size: int, known: int) -> bytes:
    """Return the known part of an entry, with zeros for what a shorter one leaves out."""
    return bytes(data[start : start + min(size, known)]).ljust(known, b"\0")


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def _bad(what: str, hint: str | None = None) -> MalformedFile:
    return MalformedFile("bad_gpu_note", f"the note with the state of the GPUs {what}", hint=hint)


# --- Writing ------------------------------------------------------------------------------------------------------


def write_note(state: CoreState, *, agent_size: int = AGENT_SIZE, queue_size: int = QUEUE_SIZE) -> bytes:
    """Return the descriptor of the note; entries longer than known ones end with zeros."""
    data = HEADER.pack(
        state.version, *state.ioctl, RUNTIME.size, len(state.agents), agent_size, len(state.queues), queue_size
    )  # fmt: skip
    data += RUNTIME.pack(state.r_debug, state.runtime_state, state.ttmp_setup)
    agents = b"".join(AGENT.pack(*astuple(agent))[:agent_size].ljust(agent_size, b"\0") for agent in state.agents)
    queues = b"".join(QUEUE.pack(*astuple(queue))[:queue_size].ljust(queue_size, b"\0") for queue in state.queues)
    for block in (agents, queues):
        data += block.ljust(_padded(len(block)), b"\0")
    return data


def elf_note(descriptor: bytes, owner: str = OWNER, kind: int = TYPE) -> bytes:
    """Return a note with its header and its owner, by default that of the state."""
    name = owner.encode() + b"\0"
    head = struct.pack("<III", len(name), len(descriptor), kind) + name
    return head.ljust(-(-len(head) // 4) * 4, b"\0") + descriptor.ljust(-(-len(descriptor) // 4) * 4, b"\0")


# --- The names of arguments ---------------------------------------------------------------------------------------

ARGUMENTS = ("dwarfgpu", 0x44475055)
"""The owner and the type of a note of dwarfgpu alone: what the arguments of kernels are named whose code does not say.

Its content is JSON: by the address of a code object, the names and types of the first arguments of its kernels.
"""
Arguments = tuple[tuple[str, str | None], ...]
_MAX_ARGUMENTS = 1 << 20
"""The bytes of the note."""


def arguments_note(known: Mapping[int, Arguments]) -> bytes:
    """Return the note; nothing where no argument has a name."""
    names = {f"{address:#x}": given for address, given in known.items() if given}
    return elf_note(json.dumps(names).encode(), *ARGUMENTS) if names else b""


def read_arguments(data: bytes) -> dict[int, Arguments]:
    """Return what a note says of each code object."""
    try:
        names: Any = json.loads(data.rstrip(b"\0")) if len(data) <= _MAX_ARGUMENTS else None
        return {int(address, 16): (*map(_argument, given),) for address, given in names.items()}
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise MalformedFile("bad_arguments", "the note about the names of arguments cannot be read") from error


def _argument(pair: Any) -> tuple[str, str | None]:
    name, kind = pair
    if not isinstance(name, str) or not isinstance(kind, str | None):
        raise TypeError(pair)
    return name, kind
