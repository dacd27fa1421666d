"""The answers to the packets of one GDB: threads, registers, memory and files of a stopped machine.

Memory of every address space is at GDB addresses whose upper byte is the DWARF number of the space, and whose lower 56
bits are the address in it: ``local#0x10`` is 0x0300000000000010 for the work-group of the selected wave. Addresses of
the default space are themselves. ``private_lane`` alone is refused, as GDB names no lane: ``private_lane5#0x10`` is
0x2500000000000010.

Nothing runs. A request to go on is answered by one line and a stop; writes change the copy in memory.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import Factory, asdict, define

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.gdb.backend import FACTS, SERVED, SPACE_SHIFT
from dwarfgpu.serve import description
from dwarfgpu.serve.packets import MAX_PACKET, NO_ACKNOWLEDGEMENTS, escaped, unescaped
from dwarfgpu.serve.served_files import ServedFiles
from dwarfgpu.targets.amdgpu.numbers import PRIVATE_LANE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.targets.target import AddressSpace, TargetRegister

    Handler = Callable[["RemoteStub", bytes], "bytes | Sequence[bytes] | None"]

_OFFSET_MASK = (1 << SPACE_SHIFT) - 1
SIGTRAP = 5
REFUSAL = "This is a snapshot: it cannot run.\n"
MAX_READ = MAX_PACKET // 2
"""How many bytes of memory an answer has at most, in hexadecimal."""
_FAILED, _NO_MEMORY = b"E01", b"E14"


@define
class ServedState:
    """A stopped machine, and what GDB may know of it besides."""

    machine: Any
    name: str
    """What messages call it."""
    code: list[tuple[int, bytearray]] = Factory(list)
    """The code that is loaded, by address; for what the memory of the machine does not hold."""
    libraries: list[tuple[str, int]] = Factory(list)
    """The files of code that GDB loads, and what is added to their addresses."""
    files: list[tuple[str, memoryview]] = Factory(list)
    """The contents of libraries for GDB, by path."""
    program: str = ""
    """The host program that its threads execute, or the first code object of waves."""
    load_address: int = 0
    """What is added to the addresses of a code object that is the program."""
    hashes: dict[str, str] = Factory(dict)
    """The SHA-256 of the files of code, by path."""
    auxiliary: dict[int, int] = Factory(dict)
    """The auxiliary vector of a host process."""
    signals: dict[str, int] = Factory(dict)
    """The signals that stopped threads or waves, by the names of these, as GDB numbers them."""
    first: int = 0
    """The index of the thread that is shown first: the one that has crashed."""

    @property
    def has_waves(self) -> bool:
        """Whether its threads are waves of a GPU."""
        return self.machine.target.execution_mask is not None

    @property
    def has_spaces(self) -> bool:
        """Whether addresses have the number of a space."""
        return len(self.machine.target.address_spaces) > 1

    def threads(self) -> list[description.ServedThread]:
        """Return the threads; a wave has its index from 1, a thread of a host process its own number."""
        machine = self.machine
        if not self.has_waves:
            return [
                description.ServedThread(int(name) if name.isdecimal() else index, "", "")
                for index, name in enumerate(machine.ids, 1)
            ]
        kernels = [dispatch.kernel or "" for dispatch in machine.dispatches]
        threads = []
        for index in range(machine.wave_count):
            dispatch = machine.place_of(index)[0]
            kernel = kernels[dispatch] if dispatch >= 0 else ""
            threads.append(description.ServedThread(index + 1, kernel, description.wave_details(machine, index)))
        return threads

    def facts(self) -> dict[str, Any]:
        """Return what dwarfgpu inside GDB asks for: the target, the files; by name dispatches, stops, calls."""
        machine = self.machine
        name = ":".join((machine.target.name, *machine.target.features))
        facts: dict[str, Any] = {"target": name, "files": self.hashes}
        if self.has_waves:
            dispatches = {}
            for index, name in enumerate(machine.ids):
                number = machine.place_of(index)[0]
                owner = name.rpartition(":")[0]
                if number >= 0 and owner not in dispatches:
                    dispatch = machine.dispatches[number]
                    dispatches[owner] = {
                        "id": dispatch.id,
                        "kernel": dispatch.kernel,
                        "grid": dispatch.grid,
                        "work_group": dispatch.work_group,
                        "kernarg": dispatch.kernarg,
                    }
            facts["dispatches"] = dispatches
            stops = ((name, machine.stop_of(index)) for index, name in enumerate(machine.ids))
            facts["stops"] = {name: asdict(stop) for name, stop in stops if stop is not None}
            calls = ((name, machine.calls_of(index)) for index, name in enumerate(machine.ids))
            facts["calls"] = {name: made for name, made in calls if made}
        return facts


class RemoteStub:
    """Answers the packets of one GDB."""

    def __init__(self, served: ServedState) -> None:
        self.served = served
        self.machine = served.machine
        self.layout = description.RegisterLayout(served.machine.target)
        self.threads = served.threads()
        self._index = {thread.number: index for index, thread in enumerate(self.threads)}
        self.wave = served.first
        """The index of the wave or thread that registers and memory are asked of."""
        self.shows_errors = False
        """Whether GDB shows the text of errors (GDB 15 and later)."""
        self._files = ServedFiles(served.files)
        self._objects: dict[str, bytes] = {}
        self._spaces = {space.number: space for space in served.machine.target.spaces()} if served.has_spaces else {}

    def answers(self, packet: bytes) -> Sequence[bytes] | None:
        """Return the answers to a packet: none known is an empty one. None ends the connection."""
        handler = next((handler for name, handler in HANDLERS if packet.startswith(name)), None)
        if handler is None:
            return [b""]
        try:
            answer = handler(self, packet)
        except DwarfGpuError as error:
            answer = self._error(error.message, _NO_MEMORY if packet[:1] in b"mMxX" else _FAILED)
        except (ValueError, IndexError, OverflowError):
            answer = self._error("the packet is malformed", _FAILED)
        return [answer] if isinstance(answer, bytes) else answer

    def _error(self, message: str, number: bytes) -> bytes:
        if not self.shows_errors:
            return number
        text = "".join(letter if letter.isprintable() else "?" for letter in message)
        return b"E." + escaped(text.encode("ascii", "replace"))

    # --- General --------------------------------------------------------------------------------------------------

    def supported(self, packet: bytes) -> bytes:
        self.shows_errors = b"error-message+" in packet.partition(b":")[2].split(b";")
        words = [
            f"PacketSize={MAX_PACKET:x}",
            *(NO_ACKNOWLEDGEMENTS.decode() + "+", "vContSupported+", "binary-upload+", "error-message+"),
            *(f"qXfer:{name}:read+" for name in self._transfers()),
        ]
        return ";".join(words).encode()

    def _transfers(self) -> dict[str, Callable[[], bytes]]:
        """Return the objects that can be read piece by piece, and how each is made."""
        served = self.served
        objects: dict[str, Callable[[], bytes]] = {
            "features": lambda: self.layout.xml().encode(),
            "threads": lambda: description.threads_xml(self.threads).encode(),
        }
        if served.libraries:
            objects["libraries"] = lambda: description.libraries_xml(served.libraries).encode()
        if served.program:
            objects["exec-file"] = lambda: served.program.encode("utf-8", "surrogateescape")
        if served.auxiliary:
            objects["auxv"] = lambda: b"".join(
                number.to_bytes(8, "little") for pair in served.auxiliary.items() for number in pair
            )
        return objects

    def transfer(self, packet: bytes) -> bytes:
        name, action, annex, place = packet.decode("latin-1").removeprefix("qXfer:").split(":")
        make = self._transfers().get(name)
        if make is None or action != "read":
            return b""
        if name == "features" and annex != "target.xml":
            return b"E00"
        start, size = (int(number, 16) for number in place.split(","))
        if name not in self._objects or not start:
            self._objects[name] = make()
        data = self._objects[name]
        end = start + min(size, MAX_READ)
        return (b"m" if end < len(data) else b"l") + escaped(data[start:end])

    def first_threads(self, _packet: bytes) -> bytes:
        self._listed = 0
        return self.more_threads(_packet)

    def more_threads(self, _packet: bytes) -> bytes:
        part = self.threads[self._listed : self._listed + MAX_PACKET // 16]
        self._listed += len(part)
        return b"m" + ",".join(f"{thread.number:x}" for thread in part).encode() if part else b"l"

    _listed = 0

    def extra(self, packet: bytes) -> bytes:
        thread = self.threads[self._thread(packet.rpartition(b",")[2])]
        return thread.details.encode("utf-8", "replace").hex().encode()

    def choose(self, packet: bytes) -> bytes:
        if packet[2:] not in (b"0", b"-1"):  # any thread
            self.wave = self._thread(packet[2:])
        return b"OK"

    def is_alive(self, packet: bytes) -> bytes:
        self._thread(packet[1:])
        return b"OK"

    def _thread(self, text: bytes) -> int:
        """Return the index of a thread by its number in hexadecimal."""
        index = self._index.get(int(text, 16))
        if index is None:
            raise UsageError(f"there is no thread {int(text, 16)}")
        return index

    def current(self, _packet: bytes) -> bytes:
        return b"QC" + self._number()

    def _number(self) -> bytes:
        return b"%x" % self.threads[self.wave].number

    def stopped(self, _packet: bytes) -> bytes:
        usual = SIGTRAP if self.served.has_waves else 0
        signal = self.served.signals.get(self.machine.ids[self.wave], usual)
        number, counter = self.layout.number_of_counter, self._content(self.layout.number_of_counter)
        known = b"" if counter is None else b"%x:%b;" % (number, counter.hex().encode())
        return b"T%02xthread:%b;%b" % (signal, self._number(), known)

    def cannot_run(self, packet: bytes) -> Sequence[bytes]:
        """Refuse to go on: a line for the console, and the same stop again."""
        return [b"O" + REFUSAL.encode().hex().encode(), b"T%02xthread:%b;" % (SIGTRAP, self._number())]

    def offsets(self, _packet: bytes) -> bytes:
        """Return what to add to the addresses of the program; of a host program GDB finds it."""
        return b"TextSeg=%x" % self.served.load_address if self.served.has_waves and self.served.program else b""

    def file(self, packet: bytes) -> bytes:
        return self._files.answer(packet.partition(b":")[2]) if self.served.files else b""

    # --- Registers ------------------------------------------------------------------------------------------------

    def general_registers(self, _packet: bytes) -> bytes:
        """Return what every GDB asks for together; it asks for the others one by one."""
        return b"".join(self._text(number) for number in range(self.layout.general_count))

    def set_general_registers(self, packet: bytes) -> bytes:
        data = bytes.fromhex(packet[1:].decode("ascii").replace("x", "0"))
        for number, register in enumerate(self.layout.registers[: self.layout.general_count]):
            size = register.bit_size // 8
            part, data = data[:size], data[size:]
            if register.shows is not None and len(part) == size and part != self._content(number):
                self._write(register.shows, part)
        return b"OK"

    def one_register(self, packet: bytes) -> bytes:
        return self._text(self._register(packet[1:]))

    def set_register(self, packet: bytes) -> bytes:
        text, _, data = packet[1:].partition(b"=")
        register = self.layout.registers[self._register(text)]
        if register.shows is None:
            raise UsageError(f"the machine has no register {register.name}")
        self._write(register.shows, bytes.fromhex(data.decode("ascii")))
        return b"OK"

    def _register(self, text: bytes) -> int:
        number = int(text, 16)
        if not 0 <= number < len(self.layout.registers):
            raise UsageError(f"there is no register {number}")
        return number

    def _text(self, number: int) -> bytes:
        if self.layout.registers[number].name == SERVED:
            return b"01"
        content = self._content(number)
        if content is not None:
            return content.hex().encode()
        row = self.layout.registers[number]
        return (b"00" if row.name in description.NEEDED else b"xx") * (row.bit_size // 8)

    def _content(self, number: int) -> bytes | None:
        """Return the bytes of a register in the size that GDB has; None if they are not known."""
        row = self.layout.registers[number]
        if row.shows is None or self.machine.unknown_lanes(row.shows, self.wave):
            return None  # GDB has no word for a register of which some lanes are known
        try:
            data: bytes = self.machine.read_register(row.shows, self.wave, None)
        except DwarfGpuError:
            return None
        return self._ordered(data)[: row.bit_size // 8].ljust(row.bit_size // 8, b"\0")

    def _write(self, register: TargetRegister, data: bytes) -> None:
        size = -(-register.bit_size // 8)
        self.machine.write_register(register, self._ordered(data[:size].ljust(size, b"\0")), self.wave, None)

    def _ordered(self, data: bytes) -> bytes:
        """Return a register in the order of x86-64, or one of these in that of the machine."""
        return data if self.machine.target.byte_order == "little" else data[::-1]

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _place(self, text: bytes) -> tuple[AddressSpace, int]:
        """Return the space and the address in it that an address of GDB means."""
        address = int(text, 16)
        default: AddressSpace = self.machine.target.default_space
        space = self._spaces.get(address >> SPACE_SHIFT, default)
        if space == default:
            return space, address
        if space.number == PRIVATE_LANE:
            raise UsageError("memory of private_lane belongs to a lane: add the lane to 0x20 in the upper byte")
        return space, address & _OFFSET_MASK

    def _read(self, packet: bytes) -> bytes:
        """Return the bytes from an address on, as many as are there; an error if there is none."""
        text, size = packet[1:].split(b",")
        space, start = self._place(text)
        count = min(int(size, 16), MAX_READ)
        if not count:
            return b""
        if self.served.has_waves and start >= FACTS and space == self.machine.target.default_space:
            return self._facts[start - FACTS :][:count]
        try:
            return bytes(self.machine.read_memory(space, start, count, self.wave, None))
        except DwarfGpuError as error:
            failure = error
        low, high = 0, count
        data = b""
        while low < high - 1:  # what is there is `low` bytes, what is not all there is `high`
            middle = (low + high) // 2
            try:
                data = bytes(self.machine.read_memory(space, start, middle, self.wave, None))
                low = middle
            except DwarfGpuError:
                high = middle
        if not data and space == self.machine.target.default_space:
            data = bytes(self._code_at(start)[:count])
        if not data:
            raise failure
        return data

    @cached_property
    def _facts(self) -> bytes:
        text = json.dumps(self.served.facts()).encode()
        return len(text).to_bytes(8, "little") + text

    def _code_at(self, address: int) -> memoryview:
        """Return the code from an address to the end of its segment."""
        for start, data in self.served.code:
            if start <= address < start + len(data):
                return memoryview(data)[address - start :]
        return memoryview(b"")

    def read(self, packet: bytes) -> bytes:
        return self._read(packet).hex().encode()

    def read_binary(self, packet: bytes) -> bytes:
        return b"b" + escaped(self._read(packet))

    def write(self, packet: bytes) -> bytes:
        place, _, data = packet[1:].partition(b":")
        return self._written(place, bytes.fromhex(data.decode("ascii")))

    def write_binary(self, packet: bytes) -> bytes:
        place, _, data = packet[1:].partition(b":")
        return self._written(place, unescaped(data))

    def _written(self, place: bytes, data: bytes) -> bytes:
        text, size = place.split(b",")
        space, start = self._place(text)
        if int(size, 16) != len(data):
            raise UsageError(f"{len(data)} bytes are given for {int(size, 16)}")
        code = self._code_at(start) if space == self.machine.target.default_space else memoryview(b"")
        if not data:
            return b"OK"
        try:
            self.machine.write_memory(space, start, data, self.wave, None)
        except DwarfGpuError:
            if len(code) < len(data):
                raise
            code[: len(data)] = data
        return b"OK"


def _says(answer: bytes) -> Handler:
    return lambda _stub, _packet: answer


HANDLERS: tuple[tuple[bytes, Handler], ...] = (
    (b"qSupported", RemoteStub.supported),
    (NO_ACKNOWLEDGEMENTS, _says(b"OK")),
    (b"qXfer:", RemoteStub.transfer),
    (b"qfThreadInfo", RemoteStub.first_threads),
    (b"qsThreadInfo", RemoteStub.more_threads),
    (b"qThreadExtraInfo,", RemoteStub.extra),
    (b"qOffsets", RemoteStub.offsets),
    (b"qAttached", _says(b"1")),
    (b"qC", RemoteStub.current),
    (b"qSymbol", _says(b"OK")),
    (b"vCont?", _says(b"vCont;c;C;s;S")),
    (b"vCont;", RemoteStub.cannot_run),
    (b"vFile:", RemoteStub.file),
    (b"vKill", _says(b"OK")),
    (b"Hg", RemoteStub.choose),
    (b"Hc", _says(b"OK")),
    (b"T", RemoteStub.is_alive),
    (b"?", RemoteStub.stopped),
    (b"c", RemoteStub.cannot_run),
    (b"C", RemoteStub.cannot_run),
    (b"s", RemoteStub.cannot_run),
    (b"S", RemoteStub.cannot_run),
    # breakpoints are never reached
    *((kind + number, _says(b"OK")) for kind in (b"Z", b"z") for number in (b"0", b"1", b"2", b"3", b"4")),
    (b"g", RemoteStub.general_registers),
    (b"G", RemoteStub.set_general_registers),
    (b"p", RemoteStub.one_register),
    (b"P", RemoteStub.set_register),
    (b"m", RemoteStub.read),
    (b"M", RemoteStub.write),
    (b"x", RemoteStub.read_binary),
    (b"X", RemoteStub.write_binary),
    (b"D", _says(b"OK")),
    (b"k", lambda _stub, _packet: None),
)
"""What answers a packet, by how it begins."""
