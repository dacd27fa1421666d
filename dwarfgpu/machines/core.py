"""The process in a core file: threads with their registers, and one memory that they share.

What a core file leaves out because a file of the process has it is read from there. Nothing can be written to a core
file: a write changes this copy of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dwarfgpu.machines.gpu_core.file_memory import FileMemory, Stretch
from dwarfgpu.machines.protocol import Capabilities, WaveBackend, check_size, memory_unavailable, register_unavailable

if TYPE_CHECKING:
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister


class CoreProcess(WaveBackend):
    """The threads of a process; each is a wave of one lane."""

    capabilities = Capabilities(
        name="core",
        summary="the threads and the memory of a process, as a core file has them",
        many_waves=True,
        writes="changes this copy of the process, never the file",
        unknown="registers that the file does not have, memory that is neither in it nor in a file it names",
        gathered="slot by slot",
        instances=False,
    )

    def __init__(
        self,
        target: Target,
        threads: Mapping[str, Mapping[str, bytes]],
        memory: Iterable[tuple[int, bytes | memoryview]] = (),
        files: Iterable[tuple[int, bytes | memoryview]] = (),
    ) -> None:
        """Use ``threads``, registers by name for each thread name; ``memory`` has precedence over ``files``."""
        self.target = target
        self.ids = list(threads)
        self._registers: list[dict[int, bytes]] = []
        for registers in threads.values():
            known = {}
            for name, data in registers.items():
                register = target.register_named(name)
                if register is not None:
                    check_size(register, data)
                    known[register.number] = bytes(data)
            self._registers.append(known)
        extents = [each for layer in (memory, files) for each in sorted(layer, key=lambda extent: extent[0])]
        stretches = (Stretch(address, len(data), file, 0) for file, (address, data) in enumerate(extents))
        self._memory = FileMemory((memoryview(data) for _address, data in extents), stretches)
        self._written: dict[int, int] = {}

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        if address < 0 or address + size > 1 << space.address_bits:
            raise memory_unavailable(space, address, size, "they reach past the end of the address space")
        data = self._memory.read(address, size)
        if data is None:
            raise memory_unavailable(space, address, size)
        if self._written:
            changed = bytearray(data)
            for i in range(size):
                changed[i] = self._written.get(address + i, changed[i])
            return bytes(changed)
        return data

    def write_memory(self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None) -> None:
        self.read_memory(space, address, len(data), wave, lane)  # what is not there cannot be written
        self._written.update(enumerate(data, address))
        self.changes += 1

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        self._check_wave(register, wave)
        data = self._registers[wave].get(register.number)
        if data is None:
            raise register_unavailable(register)
        return data

    def write_register(self, register: TargetRegister, data: bytes, wave: int, lane: int | None) -> None:
        self._check_wave(register, wave)
        check_size(register, data)
        self._registers[wave][register.number] = bytes(data)
        self.changes += 1

    def _check_wave(self, register: TargetRegister, wave: int) -> None:
        if not 0 <= wave < len(self._registers):
            raise register_unavailable(register, f"there is no thread {wave}")
