"""A process in GDB as a machine: the registers of its innermost frames and its memory, to read and to write.

The target says which register is which, as GDB only knows names. An address space that is only a view of others is
resolved here, as in every machine; GDB reads the others with ``aspace#address`` (ROCgdb manual, "AMD GPU Address
Spaces"), which a GDB without them refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, EvaluationError
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.machines.machine import Dispatch
from dwarfgpu.machines.protocol import (
    FARTHEST,
    WAITS,
    Capabilities,
    KnownRange,
    WaveBackend,
    WaveStop,
    check_size,
    memory_unavailable,
    not_writable,
    register_unavailable,
)

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.machines.gdb.process import GdbProcess
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

GDB_NAMES = {"rflags": "eflags", "fs.base": "fs_base", "gs.base": "gs_base", "fcw": "fctrl", "fsw": "fstat"}
"""What GDB calls registers of x86-64 otherwise than the psABI; all others have one name."""

UNKNOWN = ((-1, -1, -1), -1)
"""No work-group, no number in it."""


class RegisterColumn(list[Any]):
    """One property of all waves."""

    def tolist(self) -> list[Any]:
        """Return it as a list, like an array of numpy."""
        return list(self)


class GdbBackend(WaveBackend):
    """Threads of a process in GDB that have one target; each is a wave.

    It describes one stop of the process: after the process has run, every access is refused.
    """

    capabilities = Capabilities(
        name="gdb",
        summary="a process in GDB: its threads, or the waves that GDB shows as threads",
        many_waves=True,
        writes="changes the process, and GDB shows it",
        unknown="whatever GDB cannot read or has no name for",
        gathered="slot by slot",
        instances=True,
    )

    def __init__(self, target: Target, process: GdbProcess) -> None:
        self.target = target
        self.process = process
        self.ids = process.ids
        self._dispatches: tuple[list[Dispatch], RegisterColumn] | None = None
        self._known: dict[tuple[int, int], bytes | DwarfGpuError] = {}
        """The contents of registers that were read, by thread and number."""
        self._known_until = process.changes
        self._ranges: list[KnownRange] = []
        """The memory whose ends were found."""

    @property
    def changes(self) -> int:  # type: ignore[override]
        return self.process.changes

    def register_named(self, name: str) -> TargetRegister | None:
        """Return the register with a name, that of the target or GDB's."""
        ours = next((ours for ours, theirs in GDB_NAMES.items() if theirs == name.lower()), name)
        return self.target.register_named(ours) or self.target.register_named(name)

    # --- Where waves belong ---------------------------------------------------------------------------------------

    def _found_dispatches(self) -> tuple[list[Dispatch], RegisterColumn]:
        if self._dispatches is None:
            self._dispatches = dispatches_of(self.ids, self.process.dispatches())
        return self._dispatches

    @property
    def dispatches(self) -> list[Dispatch]:
        """The dispatches that waves belong to."""
        return self._found_dispatches()[0]

    @property
    def dispatch(self) -> RegisterColumn:
        """The index of the dispatch that each wave belongs to; -1 where that is not known."""
        return self._found_dispatches()[1]

    @property
    def work_group(self) -> RegisterColumn:
        """The position of the work-group of each wave in the grid; -1 where that is not known."""
        return RegisterColumn(list(UNKNOWN[0] if place is None else place[0]) for place in self.process.places)

    def place_of(self, wave: int) -> tuple[int, tuple[int, int, int], int]:
        """Return the place of a wave: the index of its dispatch, the position of its work-group, its number there."""
        return (self.dispatch[wave], *(self.process.places[wave] or UNKNOWN))

    def stop_of(self, wave: int) -> WaveStop | None:
        return self._stop_in_registers(wave)

    def _stop_in_registers(self, wave: int) -> WaveStop | None:
        """Return why a wave has stopped as its registers say, which the waves of ROCgdb have."""
        if self.target.execution_mask is None:
            return None
        from dwarfgpu.machines.gpu_core.layout import family_of
        from dwarfgpu.machines.gpu_core.stop_reasons import STOP_REGISTERS, is_waiting, reasons_of

        family = family_of(self.target.processor)
        if family is None:
            return None
        registers = ((name, self.target.register_named(name)) for name in STOP_REGISTERS)
        values = {}
        for name, register in registers:
            with suppress(EvaluationError):
                if register is not None:
                    values[name] = int.from_bytes(self.read_register(register, wave, None), self.target.byte_order)
        reasons = reasons_of(family, 0, values)
        pc = self.program_counter(wave)
        code = None
        with suppress(EvaluationError):
            code = None if pc is None else self.read_memory(self.target.default_space, pc, 4, wave, None)
        detail = WAITS if not reasons and is_waiting(family, values, code) else ""
        return WaveStop(reasons, detail=detail) if reasons or detail else None

    def memory_around(self, address: int) -> KnownRange | None:
        """Return how far memory can be read around an address; None if that is so far that nobody knows the end."""
        for known in self._ranges:
            if known.address <= address < known.address + known.size:
                return known
        space = self.target.default_space
        behind = self.reach(space, address, 0)
        before = self.reach(space, address, 0, is_before=True) if 0 < behind < FARTHEST else FARTHEST
        if before >= FARTHEST:
            return None
        self._ranges.append(KnownRange(address - before, before + behind))
        return self._ranges[-1]

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        if self._known_until != self.process.changes:
            self._known_until = self.process.changes
            self._known.clear()
        key = wave, register.number
        content = self._known.get(key)
        self._check_current()
        if content is None:
            content = self._known[key] = self._read(register, wave)
        if isinstance(content, bytes):
            return content
        raise content.with_traceback(None)

    def _read(self, register: TargetRegister, wave: int) -> bytes | DwarfGpuError:
        try:
            self._check_wave(register, wave)
            content = self.process.read_register(wave, _gdb_name(register))
        except Refused as refused:
            return register_unavailable(register, refused.why)
        except EvaluationError as error:
            return error
        content &= (1 << register.bit_size) - 1  # GDB's register may have more bits
        return content.to_bytes(-(-register.bit_size // 8), self.target.byte_order)

    def write_register(self, register: TargetRegister, data: bytes, wave: int, lane: int | None) -> None:
        self._check_wave(register, wave)
        check_size(register, data)
        try:
            content = int.from_bytes(data, self.target.byte_order)
            self.process.write_register(wave, _gdb_name(register), content)
        except Refused as refused:
            raise _not_written(f"register {register.name}", refused) from None

    def _check_wave(self, register: TargetRegister, wave: int) -> None:
        self._check_current()
        if not 0 <= wave < len(self.ids):
            raise register_unavailable(register, f"there is no thread {wave}")

    def _check_current(self) -> None:
        if self.process.has_moved_on:
            raise EvaluationError(
                "moved_on", "the program has run since this frame was read", hint="get the frame again"
            )

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        self._check_current()  # no slot has anything then, and each would say so
        return super().gather_memory(space, addresses, size, waves, lanes, count)

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        self._check_current()
        return super().gather_register(register, offsets, size, waves, lanes, count)

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        self._check_current()
        why = ""
        if address < 0 or address + size > 1 << space.address_bits:
            why = "they reach past the end of the address space"
        elif not 0 <= wave < len(self.ids):
            why = f"there is no thread {wave}"
        elif size and address == space.null:
            why = "it is the null address"
        if why:
            raise memory_unavailable(space, address, size, why)
        pieces = self._pieces(space, address, size, lane) if size or space.alias is not None else []
        return b"".join([self._bytes(base, start, length, wave) for base, start, length in pieces])

    def write_memory(self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None) -> None:
        self.read_memory(space, address, len(data), wave, lane)  # all of it is there, or nothing is written
        position = 0
        for base, start, length in self._pieces(space, address, len(data), lane):
            part = data[position : position + length]
            try:
                self.process.write_memory(wave, self._name_of(base), start, part)
            except Refused as refused:
                raise _not_written(f"memory at {space.name}#{address:#x}", refused) from None
            position += length

    def _pieces(
        self, space: AddressSpace, address: int, size: int, lane: int | None
    ) -> list[tuple[AddressSpace, int, int]]:
        if space.alias is None:
            return [(space, address, size)]
        pieces = space.alias.pieces(address, size, lane, self.target.lane_count)
        spaces: list[Any] = [self.target.space(number) for number, _start, _length in pieces]
        return [(base, start, length) for base, (_number, start, length) in zip(spaces, pieces, strict=True)]

    def _name_of(self, space: AddressSpace) -> str | None:
        return None if space == self.target.default_space else space.name

    def _bytes(self, space: AddressSpace, address: int, size: int, wave: int) -> bytes:
        name = self._name_of(space)
        try:
            return self.process.read_memory(wave, name, address, size)
        except Refused as refused:
            first = self._first_missing(name, address, size, wave)
            detail = refused.why
            if first != address:
                detail = f"{space.name}#{first:#x} is the first without a value"
            raise memory_unavailable(space, address, size, detail) from None

    def _first_missing(self, name: str | None, address: int, size: int, wave: int) -> int:
        low, high = 0, size - 1
        while low < high:
            middle = (low + high) // 2
            try:
                self.process.read_memory(wave, name, address, middle + 1)
                low = middle + 1
            except Refused:
                high = middle
        return address + low


def dispatches_of(ids: Sequence[str], known: Mapping[str, Dispatch]) -> tuple[list[Dispatch], RegisterColumn]:
    """Return the dispatches in the names of waves, and the index of the one that each wave belongs to.

    A wave is agent:queue:dispatch:wave, and a dispatch agent:queue:dispatch (ROCgdb manual). What is not ``known`` of a
    dispatch stays empty.
    """
    owners = [name.rpartition(":")[0] if name.count(":") == 3 else None for name in ids]
    names = list(dict.fromkeys(owner for owner in owners if owner is not None))
    dispatches = []
    for index, name in enumerate(names):
        number = name.rpartition(":")[2]
        dispatches.append(known.get(name) or Dispatch(int(number) if number.isdecimal() else index))
    return dispatches, RegisterColumn(-1 if owner is None else names.index(owner) for owner in owners)


def _gdb_name(register: TargetRegister) -> str:
    return GDB_NAMES.get(register.name, register.name)


def _not_written(what: str, refused: Refused) -> EvaluationError:
    error: Any = not_writable(what)
    error.message = f"{error.message}: {refused.why}"
    return error  # type: ignore[no-any-return]
