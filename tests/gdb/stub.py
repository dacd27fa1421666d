"""A stub of GDB's remote protocol: it shows the waves of a machine as threads, for a GDB that knows no GPU.

The architecture is x86-64, which every GDB has, with the registers of the waves as a feature of their own (GDB manual,
"Target Description Format"); ``rip`` is where a wave stands. Memory of another address space than the default one is at
addresses whose upper byte is the number of the space, as debuggers of AMD GPUs keep them.

    python stub.py SOCKET=FILE...     listens on sockets; FILE is a snapshot. Each connection has a copy of its own.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from dwarfgpu.backends.snapshot import load
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.objfile.elf.image import open_image

SPACE_SHIFT = 56
"""Where in an address the number of its space begins."""
PACKET = 1 << 16

GENERAL = [f"r{name}" for name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")]
GENERAL += [f"r{number}" for number in range(8, 16)]
CORE = [
    *((name, 64, "int64") for name in GENERAL),
    ("rip", 64, "code_ptr"),
    ("eflags", 32, "int32"),
    *((name, 32, "int32") for name in ("cs", "ss", "ds", "es", "fs", "gs")),
    *((f"st{number}", 80, "i387_ext") for number in range(8)),
    *((name, 32, "int") for name in ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")),
]


class Stub:
    """Answers the packets of one GDB."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.thread = 0
        taken = {name for name, _, _ in CORE}
        self.registers = [each for each in machine.target.registers() if each.name not in taken and each.name != "pc"]
        self.counter = machine.register(machine.target.program_counter) if machine.target.program_counter else None
        self.spaces = {space.number: space for space in machine.target.spaces() if space.alias is None}

    # --- Packets --------------------------------------------------------------------------------------------------

    def answer(self, packet: str) -> str | None:
        """The answer to a packet; None where the connection ends."""
        handler = next((each for name, each in HANDLERS if packet.startswith(name)), None)
        if handler is None:
            return ""  # which says that it is not known
        try:
            found: str | None = handler(self, packet)
        except (DwarfGpuError, IndexError, KeyError):
            return "E01"
        return found

    def features(self, _packet: str) -> str:
        return f"PacketSize={PACKET:x};qXfer:features:read+"

    def transfer(self, packet: str) -> str:
        start, size = (int(each, 16) for each in packet.rpartition(":")[2].split(","))
        text = self.description()
        part = text[start : start + size]
        return ("m" if start + size < len(text) else "l") + part

    def description(self) -> str:
        """The target description."""
        rows = [f'<reg name="{name}" bitsize="{size}" type="{kind}"/>' for name, size, kind in CORE]
        own = []
        for index, register in enumerate(self.registers, len(CORE)):
            kind = f"v{register.bit_size // register.lane_bits}" if register.lane_bits else f"uint{register.bit_size}"
            own.append(f'<reg name="{register.name}" bitsize="{register.bit_size}" type="{kind}" regnum="{index}"/>')
        lanes = self.machine.target.lane_count
        vector = f'<vector id="v{lanes}" type="uint32" count="{lanes}"/>' if lanes > 1 else ""
        return (
            '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>'
            "<architecture>i386:x86-64</architecture><osabi>none</osabi>"
            f'<feature name="org.gnu.gdb.i386.core">{"".join(rows)}</feature>'
            f'<feature name="org.dwarfgpu.wave">{vector}{"".join(own)}</feature></target>'
        )

    def threads(self, _packet: str) -> str:
        return "m" + ",".join(f"{each:x}" for each in range(1, self.machine.wave_count + 1))

    def extra(self, packet: str) -> str:
        wave = int(packet.rpartition(",")[2], 16) - 1
        return f"AMDGPU Wave {self.machine.ids[wave]} ({wave},0,0)/0".encode().hex()

    def choose(self, packet: str) -> str:
        number = int(packet.removeprefix(packet[:2]), 16)
        if number > 0:
            self.thread = number - 1
        return "OK"

    # --- Registers ------------------------------------------------------------------------------------------------

    def all_registers(self, _packet: str) -> str:
        return "".join(self._core(index) for index in range(len(CORE)))

    def _core(self, index: int) -> str:
        name, size, _ = CORE[index]
        if name != "rip" or self.counter is None:
            return "00" * (size // 8)
        try:
            return self.machine.read_register(self.counter, self.thread, None).hex()  # type: ignore[no-any-return]
        except DwarfGpuError:
            return "00" * 8

    def register(self, packet: str) -> str:
        index = int(packet[1:], 16)
        if index < len(CORE):
            return self._core(index)
        register = self.registers[index - len(CORE)]
        try:
            return self._ordered(self.machine.read_register(register, self.thread, None)).hex()
        except DwarfGpuError:
            return "xx" * (register.bit_size // 8)

    def set_register(self, packet: str) -> str:
        number, data = packet[1:].split("=")
        index = int(number, 16)
        if index >= len(CORE):
            register = self.registers[index - len(CORE)]
            self.machine.write_register(register, self._ordered(bytes.fromhex(data)), self.thread, None)
        elif CORE[index][0] == "rip" and self.counter is not None:
            self.machine.write_register(self.counter, bytes.fromhex(data), self.thread, None)
        return "OK"

    def _ordered(self, data: bytes) -> bytes:
        """A register in the other byte order, if it is that of the machine: x86-64 is little-endian."""
        return data if self.machine.target.byte_order == "little" else data[::-1]

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _place(self, text: str) -> tuple[Any, int]:
        address = int(text, 16)
        space = self.spaces[address >> SPACE_SHIFT] if address >> 60 == 0 else self.machine.target.default_space
        return space, address if space == self.machine.target.default_space else address & (1 << SPACE_SHIFT) - 1

    def read(self, packet: str) -> str:
        address, size = packet[1:].split(",")
        space, start = self._place(address)
        count = int(size, 16)
        while count:  # as much as there is
            try:
                return self.machine.read_memory(space, start, count, self.thread, 0).hex()  # type: ignore[no-any-return]
            except DwarfGpuError:
                count -= 1
        return "E14"

    def write(self, packet: str) -> str:
        where, data = packet[1:].split(":")
        space, start = self._place(where.split(",")[0])
        self.machine.write_memory(space, start, bytes.fromhex(data), self.thread, 0)
        return "OK"


HANDLERS: list[tuple[str, Any]] = [
    ("qSupported", Stub.features),
    ("qXfer:features:read:target.xml", Stub.transfer),
    ("qfThreadInfo", Stub.threads),
    ("qsThreadInfo", lambda _self, _packet: "l"),
    ("qThreadExtraInfo", Stub.extra),
    ("qAttached", lambda _self, _packet: "1"),
    ("qC", lambda self, _packet: f"QC{self.thread + 1:x}"),
    ("H", Stub.choose),
    ("T", lambda _self, _packet: "OK"),
    ("?", lambda self, _packet: f"T05thread:{self.thread + 1:x};"),
    ("g", Stub.all_registers),
    ("p", Stub.register),
    ("P", Stub.set_register),
    ("m", Stub.read),
    ("M", Stub.write),
    ("D", lambda _self, _packet: "OK"),
    ("k", lambda _self, _packet: None),
]


def with_code(machine: Any) -> Any:
    """A machine whose memory has the code that it executes, as that of a device does: GDB looks at it."""
    for entry in machine.code_objects:
        image = open_image(str(Path(machine.folder) / entry.path))
        for segment in image.segments:
            if segment.type == PT_LOAD:
                data = bytes(image.data[segment.offset : segment.offset + segment.file_size])
                address = segment.address + (entry.load_address or 0)
                with suppress(UsageError):  # a machine that was launched has it
                    machine.memory.map(machine.target.default_space, address, data.ljust(segment.memory_size, b"\0"))
    return machine


# --- The connection -------------------------------------------------------------------------------------------------


def serve(connection: socket.socket, machine: Any) -> None:
    """Answer one GDB until it goes away."""
    stub = Stub(machine)
    data = b""
    while True:
        start = data.find(b"$")
        end = data.find(b"#", start) if start >= 0 else -1
        if end < 0 or len(data) < end + 3:
            part = connection.recv(PACKET)
            if not part:
                return
            data += part
            continue
        packet = data[start + 1 : end].decode("latin-1")
        data = data[end + 3 :]
        found = stub.answer(packet)
        if found is None:
            return
        text = found.encode("latin-1")
        connection.sendall(b"+$" + text + f"#{sum(text) & 255:02x}".encode())


def main(places: list[str]) -> None:
    """Listen on sockets; each connection is served by a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listeners = {}
    for place in places:
        path, _, state = place.partition("=")
        machine = with_code(load(state))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        listeners[listener] = machine
    print("ready", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        for listener in select.select(list(listeners), [], [], 1)[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                serve(connection, listeners[listener])
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
