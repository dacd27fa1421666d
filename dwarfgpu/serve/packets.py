"""Packets of GDB's remote serial protocol: ``$data#checksum``, acknowledged by ``+`` or ``-``.

GDB manual, "Overview" and "Packet Acknowledgment" of the appendix "GDB Remote Serial Protocol".
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


MAX_PACKET = 1 << 16
"""The length of the data of a packet that GDB may send, and that an answer has at most."""
_LONGEST = 2 * MAX_PACKET
"""How much is kept of a packet that does not end: all data may be escaped."""
_START, _END, _ESCAPE = b"$", b"#", b"}"
_SPECIAL = re.compile(rb"[#$}*]")
_ESCAPED = re.compile(rb"}(.)", re.DOTALL)
NO_ACKNOWLEDGEMENTS = b"QStartNoAckMode"


def escaped(data: bytes) -> bytes:
    """Escape the bytes that have a meaning of their own in a packet."""
    return _SPECIAL.sub(lambda match: _ESCAPE + bytes([match[0][0] ^ 0x20]), data)


def unescaped(data: bytes) -> bytes:
    """Take back what `escaped` did."""
    return _ESCAPED.sub(lambda match: bytes([match[1][0] ^ 0x20]), data)


def framed(data: bytes) -> bytes:
    """Return data as a packet."""
    return b"$%b#%02x" % (data, sum(data) & 255)


class PacketParser:
    """Finds the packets in a stream of bytes. What is between them but no acknowledgement is skipped."""

    def __init__(self) -> None:
        self._data = b""
        self.refusals = 0
        """How often the other side has refused an answer (``-``) since the last packet."""

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the data of the packets that end with some more bytes; None for one whose checksum is wrong."""
        self._data += data
        while True:
            start = self._data.find(_START)
            between = self._data if start < 0 else self._data[:start]
            self.refusals += between.count(b"-")
            if start < 0:
                self._data = b""
                return
            self._data = self._data[start:]
            end = self._data.find(_END)
            again = self._data.rfind(_START, 1, None if end < 0 else end)
            if again > 0:  # the packet was given up, and another one begun
                self._data = self._data[again:]
                continue
            if end < 0 or len(self._data) < end + 3:
                if len(self._data) > _LONGEST:
                    self._data = b""
                    yield None
                return
            body, checksum = self._data[1:end], self._data[end + 1 : end + 3]
            self._data = self._data[end + 3 :]
            self.refusals = 0
            yield body if checksum.lower() == b"%02x" % (sum(body) & 255) else None


def converse(
    receive: Callable[[], bytes], send: Callable[[bytes], object], answer: Callable[[bytes], Sequence[bytes] | None]
) -> None:
    """Answer packets until the other side goes away (``receive`` returns nothing) or ``answer`` returns None."""
    reader = PacketParser()
    acknowledges = True
    last = b""
    with suppress(ConnectionError):  # GDB was killed
        for data in iter(receive, b""):
            before = None
            for packet in reader.feed(data):
                if packet is None:
                    if acknowledges:
                        send(b"-")
                    continue
                if acknowledges and packet == before:
                    continue  # GDB sends a packet again after two seconds without an answer, and wants one answer
                before = packet
                answers = answer(packet)
                head = b"+" if acknowledges else b""
                if answers is None:
                    send(head)
                    return
                last = b"".join(map(framed, answers))
                send(head + last)
                if packet == NO_ACKNOWLEDGEMENTS:
                    acknowledges = False
            if reader.refusals and acknowledges:
                reader.refusals = 0
                send(last)
