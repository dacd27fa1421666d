"""Send packets of GDB's remote protocol, whole and damaged, to the server of stopped machines.

    python3 tools/dev.py fuzz --serve --seconds 60
    python3 tools/dev.py fuzz --serve --replay 0/123

One input is a conversation with a server of a snapshot, of a GPU core file or of a host program: packets that GDB
sends, with any words in them, damaged frames, and bytes that are no packets; with error texts and without them, with
acknowledgements and without. Everything that the server sends must be acknowledgements and whole packets, no longer
than it has promised, one for each packet that wants one; and a conversation must end.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fuzz_loop  # noqa: E402

from dwarfgpu.serve.listener import open_served  # noqa: E402
from dwarfgpu.serve.packets import MAX_PACKET, NO_ACKNOWLEDGEMENTS, converse, escaped, framed  # noqa: E402
from dwarfgpu.serve.remote import HANDLERS, RemoteStub  # noqa: E402

if TYPE_CHECKING:
    import random

STATES = ("dwarfgpu/examples/crash.core", "dwarfgpu/examples/variables.json", "dwarfgpu/examples/stopped.json")
WORDS = (
    "0", "1", "-1", "3", "ff", "7fffffff", "ffffffffffffffff", "10000000000000000", "300000000000010", "4",
    "7f0000001540", "7f00000000000000", "2500000000000010", "xx", "", "#", "}", "*", "$", "+", "-", "\0", "é",
)  # fmt: skip
OBJECTS = ("features", "threads", "libraries", "exec-file", "auxv", "memory-map", "")
SHAPES = (
    "m{},{}", "x{},{}", "M{},{}:{}", "X{},{}:{}", "p{}", "P{}={}", "g", "G{}", "Hg{}", "T{}", "?", "qC", "qOffsets",
    "qfThreadInfo", "qsThreadInfo", "qThreadExtraInfo,{}", "qXfer:OBJECT:read:{}:{},{}",
    "qXfer:OBJECT:read:target.xml:{},{}",
    "vFile:setfs:{}", "vFile:open:{},{},{}", "vFile:pread:{},{},{}", "vFile:fstat:{}", "vFile:close:{}", "vCont;c:{}",
    "c{}", "s", "Z0,{},{}", "z1,{},{}", "qSymbol:{}:{}", "qRcmd,{}", "vKill;{}",
)  # fmt: skip
FILE = "2f746d702f6b2e636f"
MAX_DATA = MAX_PACKET + 64
"""The longest answer, with its frame and what begins it."""


@cache
def served(state: str) -> Any:
    """Return what is served of a state of dwarfgpu/examples."""
    return open_served(str(ROOT / state))[0]


class Talk:
    """The side of GDB: it sends pieces, and keeps what comes."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.sent = bytearray()

    def receive(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    def send(self, data: bytes) -> None:
        self.sent += data


def packet(numbers: random.Random) -> bytes:
    """Return a packet as GDB could send it, or one like it."""
    if numbers.random() < 0.1:
        name = numbers.choice(HANDLERS)[0]
        return name + numbers.randbytes(numbers.randrange(20))
    shape = numbers.choice(SHAPES).replace("OBJECT", numbers.choice(OBJECTS))
    words = [numbers.choice((*WORDS, f"{numbers.getrandbits(16):x}", FILE)) for _ in range(shape.count("{}"))]
    data = bytearray(shape.format(*words).encode())
    if data and numbers.random() < 0.2:
        data[numbers.randrange(len(data))] = numbers.randrange(256)
    return bytes(data)


def pieces_of(numbers: random.Random) -> tuple[list[bytes], list[bytes]]:
    """Return what is sent, in pieces, and the whole packets in it that want an answer.

    Of equal ones that end in one piece, while answers are acknowledged, one wants an answer: GDB has repeated it.
    """
    packets = []
    if numbers.random() < 0.7:
        packets.append(b"qSupported:error-message+;xmlRegisters=i386" if numbers.random() < 0.6 else b"qSupported:")
    if numbers.random() < 0.3:
        packets.append(NO_ACKNOWLEDGEMENTS)
    packets += [packet(numbers) for _ in range(numbers.randrange(1, 12))]
    stream = bytearray()
    whole: list[tuple[int, bytes]] = []
    for data in packets:
        sent = escaped(data) if set(data) & set(b"#$") else data  # else its frame would be another one
        stream += numbers.choice((b"", b"", b"+", b"\x03")) + framed(sent)
        whole.append((len(stream) - 1, sent))
    if numbers.random() < 0.3:  # the stream is damaged: only the form of the answers can be checked
        whole = []
        for _ in range(numbers.randrange(1, 5)):
            stream[numbers.randrange(len(stream))] = numbers.randrange(256)
    size = numbers.choice((1, 3, 50, 1 << 16))
    wanted: list[bytes] = []
    before = None
    for end, sent in whole:
        if NO_ACKNOWLEDGEMENTS in wanted or (end // size, sent) != before:
            wanted.append(sent)
        before = end // size, sent
    return [bytes(stream[start : start + size]) for start in range(0, len(stream), size)], wanted


def answers_in(stream: bytes) -> list[bytes]:
    """Return the packets in what a server has sent; it must hold nothing else but acknowledgements."""
    found, at = [], 0
    while at < len(stream):
        if stream[at : at + 1] in b"+-":
            at += 1
            continue
        assert stream[at : at + 1] == b"$", f"no packet at {at}: {stream[at : at + 40]!r}"
        end = stream.find(b"#", at)
        assert end >= 0, f"a packet without its end: {stream[at : at + 40]!r}"
        body = stream[at + 1 : end]
        checksum = stream[end + 1 : end + 3]
        assert checksum == b"%02x" % (sum(body) & 255), f"a wrong checksum, or a raw #: {stream[at : end + 9]!r}"
        assert b"$" not in body, f"a raw $ in the data: {body[:80]!r}"
        assert len(body) <= MAX_DATA, f"{len(body)} bytes in a packet"
        found.append(body)
        at = end + 3
    return found


def begin(_folder: Path) -> fuzz_loop.Try:
    """Return what tries one conversation."""
    for state in STATES:
        served(state)

    def attempt(numbers: random.Random) -> None:
        pieces, whole = pieces_of(numbers)
        talk = Talk(pieces)
        converse(talk.receive, talk.send, RemoteStub(served(numbers.choice(STATES))).answers)
        found = answers_in(bytes(talk.sent))
        running = sum(data[:1] in b"cCsS" or data.startswith(b"vCont;") for data in whole if data)
        ends = any(data[:1] == b"k" for data in whole)
        if whole and not ends:
            assert len(found) == len(whole) + running, f"{len(found)} answers to {len(whole)} packets: {whole}"

    return attempt


if __name__ == "__main__":
    sys.exit(fuzz_loop.main(__doc__, begin))
