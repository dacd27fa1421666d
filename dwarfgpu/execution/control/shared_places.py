"""Places in memory that lanes share, and which lanes write to them: to say who has changed a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import halts
from dwarfgpu.execution.access_shapes import BUFFER, FLAT, GLOBAL, LOCAL
from dwarfgpu.execution.control.watching import PRIVATE, kind_of

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.targets.target import AddressSpace

IS_LOCAL = 1 << 63
"""The bit of a key that tells local memory, of a work-group, from global memory."""


class SharedPlace:
    """A scalar in global or local memory."""

    def __init__(self, device: Device, space: AddressSpace, address: int, wave: int, value: Any) -> None:
        self._machine, self._space, self._address, self._wave = device.machine, space, address, wave
        self.value = value
        """What it had when it was last looked at."""

    def look(self) -> bool:
        """Return whether the value is another one now, and remember it."""
        data = self._machine.read_memory(self._space, self._address, self.value.nbytes, self._wave, None)
        new = np.frombuffer(data, self.value.dtype)[0]
        has_changed = bool(new.tobytes() != self.value.tobytes())
        self.value = new
        return has_changed


class SharedPlaces:
    """The places that were looked at, each with a number as its key, and the stores to them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory = device.memory
        self.by_key: dict[int, SharedPlace] = {}
        self._spaces: dict[int, tuple[AddressSpace, int]] = {}
        """By key, the address space and the address there."""
        self._keys: Any = None
        """All keys, ascending; None where they must be sorted."""
        self._size = 1
        """The bytes of the largest place."""
        self._watches: tuple[Any, Any] | None = None
        """Who was told of accesses before; None before anybody is told here."""
        self.batch: WaveBatch | None = None
        """The waves that execute the next instruction, if they are known."""
        self._stores: list[tuple[Any, Any, int, str]] = []
        self.storing: dict[int, set[int]] = {}
        """By key, the waves that have stored there without an atomic operation."""
        self.last_writer: tuple[int, int] | None = None
        """The wave and the lane that stored last to a place, whether that changed it or not."""

    def keys_of(self, values: Values, lanes: int) -> Any:
        """Return the keys of the places that values are at, ``[wave, lane]``; 0 of one that no lanes share."""
        keys = np.zeros(len(values.waves) * lanes, np.uint64)
        waves = np.repeat(np.asarray(values.waves).astype(np.intp), lanes)
        for slots, address in values.addresses():
            target = self._device.machine.target
            space = target.default_space if address.space is None else target.space(address.space)
            at = np.asarray(slots, np.intp)
            numbers = np.broadcast_to(np.asarray(address.value, np.uint64), at.shape)
            if space is None or (kind := kind_of(space)) in ("", PRIVATE):
                continue
            if kind == LOCAL:
                keys[at] = self._of_local(numbers, waves[at])
            else:
                keys[at] = self._of_generic(numbers, waves[at]) if kind == FLAT else numbers
            self._spaces |= dict(zip(keys[at].tolist(), ((space, number) for number in numbers.tolist()), strict=True))
        return keys.reshape(-1, lanes)

    def _of_local(self, addresses: Any, waves: Any) -> Any:
        groups = self._memory.group_of[waves].astype(np.uint64)
        return np.uint64(IS_LOCAL) | groups << np.uint64(32) | addresses & np.uint64(0xFFFFFFFF)

    def _of_generic(self, addresses: Any, waves: Any) -> Any:
        upper = addresses >> np.uint64(32)
        is_local = upper == np.uint64(self._memory.shared_aperture >> 32)
        is_private = upper == np.uint64(self._memory.private_aperture >> 32)
        return np.where(is_local, self._of_local(addresses, waves), np.where(is_private, np.uint64(0), addresses))

    def add(self, key: int, wave: int, value: Any) -> None:
        """Look at another place from now on, which a wave reaches and which has a value now."""
        if self._watches is None:
            self._watches = self._memory.watch, self._memory.watch_waves
            self._memory.watch, self._memory.watch_waves = self.note, self.note_waves
        self.by_key[key] = SharedPlace(self._device, *self._spaces[key], wave, value)
        self._keys, self._size = None, max(self._size, value.nbytes)

    def stop(self) -> None:
        """Be told of no accesses any more; whoever has begun later is still told through this one."""
        if self._watches is not None and self._memory.watch == self.note:
            (self._memory.watch, self._memory.watch_waves), self._watches = self._watches, None

    # --- Accesses -------------------------------------------------------------------------------------------------

    def note(self, space: str, address: Any, mask: Any, size: int) -> None:
        """Take note of an access of lanes."""
        watch, _waves = self._watches or (None, None)
        if watch is not None:
            watch(space, address, mask, size)
        action, extent = self._memory.moving
        if self.batch is not None and action != "load" and space in (GLOBAL, BUFFER, FLAT, LOCAL):
            flags = halts.executing(self.batch)
            self._keep(space, address, flags if mask is None else flags & mask, max(size, extent), action)

    def note_waves(self, space: str, address: Any, size: int, action: str) -> None:
        """Take note of an access of whole waves."""
        _watch, waves = self._watches or (None, None)
        if waves is not None:
            waves(space, address, size, action)
        if self.batch is not None and action != "load":
            flags = halts.executing(self.batch)
            first = np.arange(flags.shape[1]) == 0  # such an instruction is executed without lanes, too
            addresses = np.asarray(address).astype(np.uint64).reshape(-1, 1) & ~np.uint64(3)
            self._keep(space, addresses, flags | ~flags.any(axis=1)[:, None] & first, size, action)

    def _keep(self, space: str, address: Any, flags: Any, size: int, action: str) -> None:
        assert self.batch is not None  # noqa: S101 (the callers have looked)
        waves = self.batch.waves[:, None]
        numbers = np.broadcast_to(np.asarray(address).astype(np.uint64), flags.shape)
        if space in (LOCAL, FLAT):
            numbers = (self._of_local if space == LOCAL else self._of_generic)(numbers, waves)
        self._stores.append((numbers, flags, size, action))

    def stores(self) -> Iterator[tuple[int, dict[int, list[int]], bool]]:
        """Yield the places that the last instruction has stored to, by which lanes, and whether that changed them."""
        stores, batch, self.batch = self._stores, self.batch, None
        self._stores = []
        writers: dict[int, dict[int, list[int]]] = {}
        for numbers, flags, size, action in stores:
            if self._keys is None:
                self._keys = np.array(sorted(self.by_key), np.uint64)
            first = np.searchsorted(self._keys, numbers - np.uint64(self._size - 1))
            behind = np.searchsorted(self._keys, numbers + np.uint64(size))
            for row, lane in zip(*(flags & (first < behind)).nonzero(), strict=True):
                for key in self._keys[first[row, lane] : behind[row, lane]].tolist():
                    assert batch is not None  # noqa: S101 (without waves there are no stores)
                    wave = int(batch.waves[row])
                    writers.setdefault(key, {}).setdefault(wave, []).append(int(lane))
                    self.storing.setdefault(key, set()).update({wave} if action == "store" else ())
        for key, waves in writers.items():
            *_others, self.last_writer = ((wave, lanes[-1]) for wave, lanes in waves.items())
            yield key, waves, self.by_key[key].look()
