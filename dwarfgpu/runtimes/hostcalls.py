"""Calls of kernels that the host answers, as printf and assert of ROCm's device library make them.

A kernel has a buffer for them (``hidden_hostcall_buffer``). A wave takes a packet from the stack of free ones, gives it
8 words for each lane that calls, and the bit that asks for an answer, puts it on the stack of ready ones, and sends an
interrupt. It goes on when the host has cleared the bit (ROCm clr 6.3, devhostcall.hpp, devhcmessages.hpp).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING

from dwarfgpu.execution.control.printf import formatted_words
from dwarfgpu.execution.launch.kernarg import absent_parts, hidden_kinds
from dwarfgpu.execution.starting import AT_ONCE
from dwarfgpu.runtimes.arena import PAGE
from dwarfgpu.targets.amdgpu.initial_state import align
from dwarfgpu.targets.amdgpu.queue import SIGNAL, USER

if TYPE_CHECKING:
    from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.launch.dispatch import PlannedDispatch
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.code_object import CodeObject

_ARGUMENT, _FUNCTION = "hidden_hostcall_buffer", "__ockl_hostcall"
"""The argument with its address, and a part of the names of the functions that use it."""
_BUFFER = struct.Struct("<7Q")
"""The headers, the contents of packets, the signal, the free and the ready ones, the mask of indices, the device."""
_SIGNAL, _EVENT, _HEADERS = 64, 128, 192
"""Where the others are in the block of memory; the signal has an event, so that kernels send an interrupt."""
_READY = 32
_HEADER = struct.Struct("<QQII")
"""The next packet of the stack, the lanes, the service, and the bit that asks for an answer."""
_SLOT = struct.Struct("<8Q")
_LANES, _LEAST_LANES = 64, 32
PRINT = 2
"""The service of printf."""
_SERVICES = {1: "a function of the host", 3: "memory (malloc)", 4: "a report of the address sanitizer"}
_BEGINS, _ENDS, _TO_ERRORS = 1, 2, 1


def buffer_of(address: int, packets: int) -> bytearray:
    """Return a buffer at an address whose packets are all free; their number is a power of 2."""
    data = bytearray(_HEADERS + packets * (_HEADER.size + _LANES * _SLOT.size))
    headers = address + _HEADERS
    contents = headers + packets * _HEADER.size
    _BUFFER.pack_into(data, 0, headers, contents, address + _SIGNAL, packets - 1, 0, packets - 1, 0)
    signal = struct.pack("<qqQ", USER, 0, address + _EVENT)
    data[_SIGNAL : _SIGNAL + SIGNAL.size] = signal.ljust(SIGNAL.size, b"\0")
    for number in range(1, packets):  # no number of a packet is 0, so the first has another tag
        _HEADER.pack_into(data, _HEADERS + number * _HEADER.size, number - 1 or packets, 0, 0, 0)
    return data


def may_call_host(kernel: Kernel, file: CodeObject) -> bool:
    """Return whether a kernel may call the host. One that was not optimized names all arguments, needed or not."""
    if _ARGUMENT not in hidden_kinds(kernel):
        return False
    return bool(absent_parts(kernel)) or any(_FUNCTION in symbol.name for symbol in file.image.symbols())


class _NotAnswered(Exception):
    """A call that the host cannot answer."""


class HostCalls:
    """What the kernels of a program have asked its host for."""

    def __init__(self, address: int = 0) -> None:
        self.buffer = address
        """The address of the buffer, once a kernel needs it."""
        self._packets = 0
        self._machine: Gpu | None = None
        self._parts: list[tuple[int, bool, bytes]] = []
        """The parts of messages: the place of the first one of the same message, whether it is the last, the words."""
        self._open: dict[int, bytes] = {}
        """The messages whose last part has not come, by the place of the first."""

    def make_room(self, machine: Gpu, grid: Sequence[int], work_group: Sequence[int]) -> None:
        """Have a packet for each wave that a launch can have at once."""
        groups = prod(-(-items // size) for items, size in zip_longest(grid, work_group, fillvalue=1))
        waves = groups * -(-prod(work_group) // _LEAST_LANES)
        packets = 1 << max(1, (min(waves, AT_ONCE) - 1).bit_length())
        if packets <= self._packets and machine is self._machine:
            return
        if self.buffer and self._machine is not None:
            self._machine.memory.unmap(self._machine.target.default_space, self.buffer)
        self._packets, self._machine = packets, machine
        self.buffer = align(max(machine.memory.top, machine.padded_to), PAGE)
        machine.memory.map(machine.target.default_space, self.buffer, buffer_of(self.buffer, packets))

    def give(self, machine: Gpu, plan: PlannedDispatch) -> None:
        """Tell a kernel that was launched where the buffer is."""
        place = next(part.offset for part in plan.arguments if part.name == _ARGUMENT)
        machine.memory.writable(plan.places.kernarg + place, 8)[:] = self.buffer.to_bytes(8, "little")

    @property
    def count(self) -> int:
        """How many parts of messages have come."""
        return len(self._parts)

    def go_back(self, count: int) -> None:
        """Forget what has come later."""
        parts, self._parts, self._open = self._parts[:count], [], {}
        for part in parts:
            self._add(part)

    def texts(self) -> Iterator[tuple[str, bool]]:
        """Yield what was printed, and whether it goes to the errors, in the order of the calls."""
        replayed = HostCalls(0)
        for part in self._parts:
            message = replayed._add(part)
            if message is not None:
                yield formatted_words(message[8:]), bool(message[:1] and message[0] & _TO_ERRORS)

    def answer(self, memory: GlobalMemory) -> str:
        """Answer all packets that are ready, the oldest first; return what is wrong with one, if anything."""
        try:
            self._answer(memory)
        except _NotAnswered as problem:
            return str(problem)
        return ""

    def _answer(self, memory: GlobalMemory) -> None:
        headers, contents, _signal, _free, ready, mask, _device = _read(memory, _BUFFER, self.buffer)
        _write(memory, self.buffer + _READY, 0, 8)
        found: list[int] = []
        while ready and len(found) <= mask:
            found.append(ready & mask)
            ready = _read(memory, _HEADER, headers + found[-1] * _HEADER.size)[0]
        for number in reversed(found):
            header = headers + number * _HEADER.size
            _next, lanes, service, control = _read(memory, _HEADER, header)
            if service != PRINT:
                what = _SERVICES.get(service, f"service {service}")
                raise _NotAnswered(f"the kernel asks the host for {what}, which this host does not provide")
            for lane in range(_LANES):
                if lanes >> lane & 1:
                    slot = contents + (number * _LANES + lane) * _SLOT.size
                    _write(memory, slot, self._print(_read(memory, _SLOT, slot)), 8)
            _write(memory, header + _HEADER.size - 4, control & ~1, 4)

    def _print(self, words: tuple[int, ...]) -> int:
        """Take a part of a message; return what the lane gets: the message, or how much was printed at its end."""
        descriptor, place = words[0], len(self._parts)
        first = place if descriptor & _BEGINS else descriptor >> 8
        if first != place and first not in self._open:
            raise _NotAnswered(f"the kernel continues message {first} of printf, which does not exist")
        content = _SLOT.pack(*words)[8 : 8 + (descriptor >> 5 & 7) * 8]
        message = self._add((first, bool(descriptor & _ENDS), content))
        return first << 8 | descriptor & 0xFE if message is None else len(formatted_words(message[8:]))

    def _add(self, part: tuple[int, bool, bytes]) -> bytes | None:
        """Add a part; return the message if it is the last."""
        self._parts.append(part)
        first, is_last, words = part
        message = self._open.pop(first, b"") + words
        if is_last:
            return message
        self._open[first] = message
        return None


def _read(memory: GlobalMemory, layout: struct.Struct, address: int) -> tuple[int, ...]:
    segment = _segment(memory, address, layout.size)
    found: tuple[int, ...] = layout.unpack_from(segment.data, address - segment.start)
    return found


def _write(memory: GlobalMemory, address: int, value: int, size: int) -> None:
    segment = _segment(memory, address, size)
    start = address - segment.start
    segment.data[start : start + size] = bytearray(value.to_bytes(size, "little"))


def _segment(memory: GlobalMemory, address: int, size: int) -> MemorySegment:
    segment = memory.segment_of(address, address + size - 1)
    if segment is None:
        message = f"the buffer for calls of the host is damaged: {memory.missing(address)}"
        raise _NotAnswered(message)
    return segment
