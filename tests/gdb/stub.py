"""A server of snapshots in GDB's remote protocol: what ROCgdb shows of waves, in a GDB without AMD GPUs.

    python -m tests.gdb.stub SOCKET=STATE...

GDB sees threads of x86-64 with the registers of waves as a feature of their own. Nothing runs; each connection has a
copy of the waves. The upper byte of an address is the number of its address space, which `inside/spaces.py` knows.
"""

import os
import re
import select
import signal
import socket
import sys
from collections.abc import Iterator
from html import escape
from typing import Any

SPACE_SHIFT = 56
MAX_PACKET = 1 << 16
GENERAL = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16)))
CORE = (
    *((name, 64, "data_ptr" if name in ("rbp", "rsp") else "int64") for name in GENERAL),
    ("rip", 64, "code_ptr"), ("eflags", 32, "int32"),
    *((name, 32, "int32") for name in ("cs", "ss", "ds", "es", "fs", "gs")),
    *((f"st{number}", 80, "i387_ext") for number in range(8)),
    *((name, 32, "int") for name in ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")),
)  # fmt: skip
"""The registers that GDB wants of x86-64, in its order (GDB manual, "i386 Features")."""
NEEDED = ("rip", "rsp")
"""Registers that are 0 if unknown: otherwise GDB drops the connection, or cannot unwind."""


class Stub:
    """Answers the packets of one GDB."""

    def __init__(self, machine: Any, code: list[tuple[int, bytes]]) -> None:
        self.machine, self.code, self.wave = machine, code, 0
        target = machine.target
        counter = None if target.program_counter is None else target.register(target.program_counter)
        core = {name for name, _size, _kind in CORE}
        known = [*target.registers(), *(each for family in target.unnumbered for each in registers_of(family))]
        own = [register for register in known if register != counter and register.name not in core]
        self.registers = [(name, size, kind, counter if name == "rip" else None) for name, size, kind in CORE]
        self.registers += [(each.name, each.bit_size, kind_of(each), each) for each in own]
        self.spaces = {space.number: space for space in target.spaces()} if len(target.address_spaces) > 1 else {}

    def answer(self, packet: str) -> bytes:
        """Return the answer to a packet; an empty one says that it is not supported."""
        head = re.match(r"qSupported|qXfer:(?:features|threads):read:|QStartNoAckMode|qAttached|qC|[HT?gpPmMD]", packet)
        if head is None or (head[0] == "H" and packet[1:2] not in "gc"):
            return b""
        rest = packet[head.end() :]
        simple = {
            "QStartNoAckMode": "OK",
            "qAttached": "1",
            "D": "OK",
            "T": "OK",
            "qC": f"QC{self.wave + 1:x}",
            "?": f"T05thread:{self.wave + 1:x};",
            "qSupported": f"PacketSize={MAX_PACKET:x};QStartNoAckMode+;qXfer:features:read+;qXfer:threads:read+",
        }
        if head[0] in simple:
            return simple[head[0]].encode()
        from dwarfgpu.errors import DwarfGpuError

        try:
            return {
                "H": self.choose,
                "g": self.general,
                "p": self.register,
                "P": self.write_register,
                "m": self.memory,
                "M": self.write_memory,
            }.get(head[0][:1], lambda _rest: self.document(head[0], rest))(rest)
        except DwarfGpuError:
            return b"E14"

    def choose(self, rest: str) -> bytes:
        if rest[0] == "g" and rest[1:] not in ("0", "-1"):  # any thread
            self.wave = int(rest[1:], 16) - 1
        return b"OK"

    def document(self, head: str, rest: str) -> bytes:
        """Return a part of the description of the registers, or of the list of threads."""
        start, size = (int(number, 16) for number in rest.rpartition(":")[2].split(","))
        text = "".join(self.features() if "features" in head else self.threads()).encode()
        part = text[start : start + min(size, MAX_PACKET // 2)]
        return (b"m" if start + len(part) < len(text) else b"l") + escaped(part)

    def features(self) -> Iterator[str]:
        yield '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>'
        yield "<architecture>i386:x86-64</architecture><osabi>none</osabi>"
        core = self.registers[: len(CORE)]
        for feature, rows in (("org.gnu.gdb.i386.core", core), ("wave", self.registers[len(CORE) :])):
            yield f'<feature name="{feature}">'
            lanes = self.machine.target.lane_count
            yield f'<vector id="v{lanes}" type="uint32" count="{lanes}"/>' if feature == "wave" and lanes > 1 else ""
            yield from (f'<reg name="{name}" bitsize="{size}" type="{kind}"/>' for name, size, kind, _shows in rows)
            yield "</feature>"
        yield "</target>"

    def threads(self) -> Iterator[str]:
        machine = self.machine
        yield '<?xml version="1.0"?><threads>'
        for index, name in enumerate(machine.ids):
            dispatch, (x, y, z), number = machine.place_of(index)
            kernel = escape(machine.dispatches[dispatch].kernel or "") if dispatch >= 0 else ""
            place = "" if min(x, y, z, number) < 0 else f" ({x},{y},{z})/{number}"
            yield f'<thread id="{index + 1:x}" name="{kernel}">AMDGPU Wave {escape(name)}{place}</thread>'
        yield "</threads>"

    # --- Registers and memory -------------------------------------------------------------------------------------

    def general(self, _rest: str) -> bytes:
        return b"".join(self.content(*row) for row in self.registers[: len(CORE)])

    def register(self, rest: str) -> bytes:
        return self.content(*self.registers[int(rest, 16)])

    def content(self, name: str, size: int, _kind: str, shows: Any) -> bytes:
        """Return a register in hexadecimal; GDB has no word for one of which some lanes are known."""
        from dwarfgpu.errors import DwarfGpuError

        unknown = (b"00" if name in NEEDED else b"xx") * (size // 8)
        if shows is None or self.machine.unknown_lanes(shows, self.wave):
            return unknown
        try:
            data = self.ordered(self.machine.read_register(shows, self.wave, None))
        except DwarfGpuError:
            return unknown
        return data[: size // 8].ljust(size // 8, b"\0").hex().encode()

    def write_register(self, rest: str) -> bytes:
        number, _, digits = rest.partition("=")
        shows = self.registers[int(number, 16)][3]
        if shows is None:
            return b"E01"
        size = -(-shows.bit_size // 8)
        data = self.ordered(bytes.fromhex(digits)[:size].ljust(size, b"\0"))
        self.machine.write_register(shows, data, self.wave, None)
        return b"OK"

    def ordered(self, data: bytes) -> bytes:
        """Return a register in the order of x86-64, or one of these in that of the machine."""
        return data if self.machine.target.byte_order == "little" else data[::-1]

    def place(self, text: str) -> tuple[Any, int]:
        """Return the space and the address in it that an address of GDB means."""
        address = int(text, 16)
        default = self.machine.target.default_space
        space = self.spaces.get(address >> SPACE_SHIFT, default)
        return space, address if space == default else address & (1 << SPACE_SHIFT) - 1

    def memory(self, rest: str) -> bytes:
        """Return the bytes from an address on, as many as are there."""
        from dwarfgpu.errors import DwarfGpuError

        text, size = rest.split(",")
        space, start = self.place(text)
        low, high = 0, min(int(size, 16), MAX_PACKET // 2) + 1
        data = b""
        while low < high - 1:  # `low` bytes are there, and `high` are too many
            middle = high - 1 if not low else (low + high) // 2
            try:
                data, low = bytes(self.machine.read_memory(space, start, middle, self.wave, None)), middle
            except DwarfGpuError:
                high = middle
        code = next((code[start - at :] for at, code in self.code if at <= start < at + len(code)), b"")
        data = data or code[: int(size, 16)]
        return data.hex().encode() or b"E14"

    def write_memory(self, rest: str) -> bytes:
        place, _, digits = rest.partition(":")
        space, start = self.place(place.partition(",")[0])
        self.machine.write_memory(space, start, bytes.fromhex(digits), self.wave, None)
        return b"OK"


def registers_of(family: Any) -> Iterator[Any]:
    return map(family.register, range(family.first, family.first + family.count))


def kind_of(register: Any) -> str:
    lanes = register.bit_size // register.lane_bits if register.lane_bits else 0
    return f"v{lanes}" if lanes else f"uint{register.bit_size}"


def escaped(data: bytes) -> bytes:
    """Escape the bytes that have a meaning of their own in a packet."""
    return re.sub(rb"[#$}*]", lambda match: b"}" + bytes([match[0][0] ^ 0x20]), data)


def converse(connection: socket.socket, stub: Stub) -> None:
    """Answer packets, `$data#checksum`, until GDB goes away."""
    data, acknowledges = b"", True
    while received := connection.recv(MAX_PACKET):
        data += received
        while (packet := re.search(rb"\$([^#]*)#..", data, re.DOTALL)) is not None:
            data = data[packet.end() :]
            text = packet[1].decode("latin-1")
            answer = stub.answer(text)
            connection.sendall((b"+" if acknowledges else b"") + b"$%b#%02x" % (answer, sum(answer) & 255))
            acknowledges = acknowledges and text != "QStartNoAckMode"


def opened(state: str) -> tuple[Any, list[tuple[int, bytes]]]:
    """Open a snapshot, and the code that it has loaded, by address."""
    from dwarfgpu.states.opening import codes_of, open_snapshot

    machine = open_snapshot(state, hint="")
    code = []
    for loaded in codes_of(machine)[0]:
        image = loaded.file.image
        for segment in image.segments:
            data = bytes(image.data[segment.offset : segment.offset + segment.file_size])
            code.append((segment.address + loaded.bias, data))
    return machine, code


def main(words: list[str]) -> None:
    """Listen on sockets; each connection is served by a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listeners = {}
    for word in words:
        path, _, state = word.partition("=")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        listeners[listener] = opened(state)
    print("ready", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        for listener in select.select(list(listeners), [], [], 1)[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                converse(connection, Stub(*listeners[listener]))
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
