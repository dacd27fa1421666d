"""Calls of kernels that the host answers: packets as ROCm's device library fills them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment
from dwarfgpu.runtimes.hostcalls import PRINT, HostCalls, buffer_of

BASE = 0x10000
BEGINS, ENDS = 1, 2


class Waves:
    """Waves that take packets from a buffer, as `__ockl_hostcall_internal` does."""

    def __init__(self, packets: int) -> None:
        self.data = np.frombuffer(buffer_of(BASE, packets), np.uint8)
        self.memory = GlobalMemory([MemorySegment.of(BASE, self.data)])
        self.calls = HostCalls(BASE)

    def words(self, address: int, count: int = 1) -> tuple[int, ...]:
        return struct.unpack_from(f"<{count}Q", self.data, address - BASE)

    def submit(self, service: int, lanes: dict[int, tuple[int, ...]]) -> int:
        """Put a packet on the stack of ready ones; return its number."""
        headers, contents, _signal, free, ready, mask, _device = self.words(BASE, 7)
        number = free & mask
        next_free = self.words(headers + 24 * number)[0]
        head = ready, sum(1 << lane for lane in lanes), service, 1
        struct.pack_into("<QQII", self.data, headers + 24 * number - BASE, *head)
        struct.pack_into("<2Q", self.data, 24, next_free, free)
        for lane, words in lanes.items():
            struct.pack_into(f"<{len(words)}Q", self.data, contents + 64 * (64 * number + lane) - BASE, *words)
        return number


def test_lanes_print_in_their_order_and_waves_in_that_of_their_calls() -> None:
    waves = Waves(2)
    text = struct.unpack("<Q", b"%d.%d\n\0\0")[0]
    first, _second = (
        waves.submit(PRINT, {lane: (BEGINS | ENDS | 4 << 5, wave, text, wave, lane) for lane in (5, 40)})
        for wave in range(2)
    )
    assert waves.calls.answer(waves.memory) == ""
    texts = [("0.5\n", False), ("0.40\n", False), ("1.5\n", True), ("1.40\n", True)]
    assert [*waves.calls.texts()] == texts
    headers, contents = waves.words(BASE, 2)
    assert waves.words(headers + 24 * first + 16)[0] >> 32 == 0  # it has an answer
    assert [waves.words(contents + 64 * (64 * first + lane))[0] for lane in (5, 40)] == [4, 5]
    waves.calls.go_back(2)
    assert [*waves.calls.texts()] == texts[:2]


@pytest.mark.parametrize(
    "service, words, message",
    [
        (3, (0, 64), "asks the host for memory (malloc), which this host does not provide"),
        (9, (0,), "asks the host for service 9"),
        (PRINT, (ENDS | 5 << 8, 1), "continues message 5 of printf, which does not exist"),
    ],
)
def test_what_the_host_does_not_answer(service: int, words: tuple[int, ...], message: str) -> None:
    waves = Waves(2)
    waves.submit(service, {0: words})
    assert message in waves.calls.answer(waves.memory)
    struct.pack_into("<Q", waves.data, 0, 12)  # no memory is there
    struct.pack_into("<Q", waves.data, 32, 1)
    assert "is damaged" in waves.calls.answer(waves.memory)
