"""A machine in columns: a device with its dispatches, work-groups and waves.

What all waves have of one kind is in one array: ``vgpr[wave, register, lane]``, ``sgpr[wave, register]``. A
question about every lane of every wave is then a few array operations. What a machine does not hold is not available,
so one with a few registers and no memory is as good as a whole one.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.columns import Cells, RegisterFile, split_name, unit_bits, unit_count
from dwarfgpu.machines.memory import Memories
from dwarfgpu.machines.protocol import (
    TRAPS,
    Capabilities,
    KnownRange,
    WaveBackend,
    check_size,
    register_unavailable,
    register_unset,
)
from dwarfgpu.targets.amdgpu import GENERIC
from dwarfgpu.targets.amdgpu.address_spaces import SIZE, Apertures, GenericView, of_queue, with_apertures

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.machines.protocol import CrashChange, LastChange, TrapTable, WaveStop
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

NONE = -1
"""In the columns: no dispatch, no work-group, no number in it."""

PLACES = {"dispatch": 1, "work_group": 3, "wave_in_group": 1}
"""The columns that say where waves belong, and how many numbers each has of a wave."""

NO_PLACES = {name: Cells("<i8", (0, width)) for name, width in PLACES.items()}

QUEUE_ALIGNMENT = 64
"""ROCm compute ABI, "AMD Queue": it "must be allocated on 64 byte alignment"."""
GROUP_APERTURE = 64
"""The byte of ``group_segment_aperture_base_hi`` in it; ``private_segment_aperture_base_hi`` follows."""


def queue_of(name: str) -> tuple[str, str]:
    """Return the agent and the queue in the name of a wave, agent:queue:dispatch:wave; 1 for other names."""
    parts = name.split(":")
    return (parts[0], parts[1]) if len(parts) == 4 and all(map(str.isdecimal, parts)) else ("1", "1")


@frozen
class LoadedCodeObject:
    """A file of code that the machine has loaded."""

    path: str
    load_address: int | None = None
    """The number that is added to the addresses in the file."""
    sha256: str | None = None


@frozen
class Dispatch:
    """The execution of a kernel over a grid."""

    id: int
    kernel: str | None = None
    grid: tuple[int, int, int] | None = None
    """In work-items."""
    work_group: tuple[int, int, int] | None = None
    kernarg: int | None = None
    """The address of its arguments."""
    queue: int | None = None
    """The address of the AMD queue object it was put in."""
    packet: int | None = None
    """The address of its AQL packet."""


@frozen
class NumberedNames:
    """Names of waves, made when somebody asks for them."""

    prefix: str
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number}" for number in self.numbers)


class Machine(WaveBackend):
    """Waves with their registers, and the memory they reach. It begins empty."""

    capabilities = Capabilities(
        name="machine",
        summary="a device with dispatches, work-groups and waves, in arrays",
        many_waves=True,
        writes="changes the machine; a register that was not known is known from then on",
        unknown="registers that were not set, memory that was not mapped",
        gathered="array operations",
        instances=True,
    )

    def __init__(self, target: Target, apertures: Apertures | None = None) -> None:
        self.target_name = ":".join([target.name, *target.features])
        """The name by which the target was requested."""
        self.target = target
        self.apertures: Apertures | None = None
        """The apertures of generic addresses, if they were given."""
        self.folder = ""
        """The folder that paths of code objects are relative to."""
        self.code_objects: list[LoadedCodeObject] = []
        self.dispatches: list[Dispatch] = []
        self._ids: list[str] = []
        self._unnamed: Sequence[str] | NumberedNames = ()
        """The names of the waves behind these, for which nobody has asked."""
        self.places = NO_PLACES
        """The place of each wave, by the names of `PLACES`."""
        self.files: list[RegisterFile] = []
        self._file_of: dict[int, RegisterFile] = {}
        self._unknown_lanes: dict[tuple[int, int], int] = {}
        """The lanes that are not known of vector registers that are known else, by register and wave, as masks."""
        self.named_pcs: dict[int, str] = {}
        """The waves whose program counter is a place in a code object, which its reader turns into an address."""
        self._index_of: dict[str, int] | None = None
        self._groups: array[int] | None = None
        self.stops: dict[int, WaveStop] = {}
        """Why waves have stopped, where it is known."""
        self.calls: dict[int, tuple[int, ...] | None] = {}
        """The calls that waves are in, where they were executed: `calls_of`."""
        self.last_changes: list[LastChange] = []
        """Who has changed what loops read that waves cannot leave, where a machine that ran has found out."""
        self.variable_changes: list[CrashChange] = []
        """What has changed the variables of a crash last, where a machine that ran has found out."""
        self.warnings: list[DwarfGpuError] = []
        """What its file has that was not read."""
        self.memory = Memories(self)
        self.asked: set[str] = set()
        """What has been read since somebody emptied this: the names of registers, and ``memory``."""
        self.traps: list[tuple[int, int, TrapTable]] = []
        """The addresses of code objects whose numbers of ``s_trap`` are not those of the last version, with theirs."""
        if apertures is not None:
            self.set_apertures(apertures)

    def __getitem__(self, wave: object) -> NoReturn:
        hint = "what `launch` or `open(FILE).attach(MACHINE)` returns has waves"
        raise TypeError(f"a machine has registers and memory: {hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.target.name}, {self.wave_count} waves>"

    # --- Waves ----------------------------------------------------------------------------------------------------

    @property
    def ids(self) -> list[str]:
        """The name of each wave."""
        if self._unnamed:
            self._ids += self._unnamed
            self._unnamed = ()
        return self._ids

    @ids.setter
    def ids(self, names: list[str]) -> None:
        self._ids, self._unnamed = names, ()

    @property
    def wave_count(self) -> int:
        return len(self._ids) + len(self._unnamed)

    def add_waves(
        self,
        count: int,
        *,
        dispatch: Any = NONE,
        work_group: Any = NONE,
        wave_in_group: Any = NONE,
        ids: Sequence[str] | NumberedNames | None = None,
        groups: Any = None,
    ) -> range:
        """Add waves, of which no register is known; their indices.

        Each of these is one for all waves, or an array with one a wave: ``dispatch``, an index in `dispatches`;
        ``work_group``, a position ``(x, y, z)``; ``wave_in_group``. Without ``ids`` a wave is called by its index.
        ``groups`` are the `group_numbers` of all waves, an array, if the caller has them.
        """
        first = self.wave_count
        owners = {dispatch} if isinstance(dispatch, int) else {*dispatch}
        if count and not NONE <= min(owners) <= max(owners) < len(self.dispatches):
            raise UsageError(f"a wave names an unknown dispatch: there are {len(self.dispatches)} dispatches")
        names = NumberedNames("", range(first, first + count)) if ids is None else ids
        if len(names) != count:
            raise UsageError(f"{count} waves have {len(names)} names")
        for file in self.files:  # which those that have run may only now put their registers into
            file.more_waves(count)
        self._ids, self._unnamed = self.ids, names
        self.changes += 1
        columns = _column(dispatch, count), _column(work_group, count, 3), _column(wave_in_group, count)
        self.places = {
            name: cells.with_rows(count, column)
            for (name, cells), column in zip(self.places.items(), columns, strict=True)
        }
        self._groups = None if groups is None else array("q", groups.astype("i8").tobytes())
        self._index_of = None
        return range(first, first + count)

    def add_waves_of(self, source: Any, waves: Sequence[int], dispatch: Any) -> None:
        """Add waves as another machine has them, in dispatches of this one: names, places and stop reasons."""
        places = [source.place_of(wave) for wave in waves]
        groups, numbers = [place[1] for place in places], [place[2] for place in places]
        ids = [source.ids[wave] for wave in waves]
        added = self.add_waves(len(waves), dispatch=dispatch, work_group=groups, wave_in_group=numbers, ids=ids)
        for position, wave in zip(added, waves, strict=True):
            stop = source.stop_of(wave)
            if stop is not None:
                self.stops[position] = stop
            if calls := source.calls_of(wave):
                self.calls[position] = calls

    @property
    def dispatch(self) -> Array:
        """The index of the dispatch that each wave belongs to."""
        return self.places["dispatch"].array[:, 0]

    @property
    def work_group(self) -> Array:
        """The position of its work-group in the grid."""
        return self.places["work_group"].array

    @property
    def wave_in_group(self) -> Array:
        """Its number in the work-group."""
        return self.places["wave_in_group"].array[:, 0]

    def place_of(self, wave: int) -> tuple[int, tuple[int, int, int], int]:
        """Return the place of a wave: the index of its dispatch, the position of its work-group, its number there."""
        (dispatch,), (x, y, z), (number,) = [cells.row(wave) for cells in self.places.values()]
        return dispatch, (x, y, z), number

    @property
    def group_numbers(self) -> array[int]:
        """The group of each wave, as the index of the first wave of the group; -1 without one."""
        if self._groups is None:
            first: dict[tuple[int, ...], int] = {}
            numbers = self.places["work_group"].tolist()
            keys = zip(self.places["dispatch"].tolist(), numbers[::3], numbers[1::3], numbers[2::3], strict=True)
            self._groups = array(
                "q", [NONE if min(key[1:]) < 0 else first.setdefault(key, index) for index, key in enumerate(keys)]
            )
        return self._groups

    def groups(self) -> Array:
        """Return `group_numbers` as an array of numpy."""
        import numpy as np

        return np.asarray(self.group_numbers)

    def wave_named(self, name: str) -> int | None:
        """Return the index of the wave with a name."""
        if self._index_of is None:
            self._index_of = {name: index for index, name in enumerate(self.ids)}
        return self._index_of.get(name)

    def stop_of(self, wave: int) -> WaveStop | None:
        return self.stops.get(wave)

    def calls_of(self, wave: int) -> tuple[int, ...]:
        return self.calls.get(wave) or ()

    def traps_at(self, pc: int) -> TrapTable:
        """Return what the numbers of ``s_trap`` mean in the code at an address."""
        return next((traps for low, high, traps in self.traps if low <= pc < high), TRAPS)

    def remove_waves(self) -> None:
        """Remove all waves with their registers and their memory. Global memory stays."""
        self.ids, self.places, self.files = [], NO_PLACES, []
        self._file_of, self._unknown_lanes, self.named_pcs = {}, {}, {}
        self.has_gaps = False
        self._groups = self._index_of = None
        self.stops.clear()
        self.calls.clear()
        self.memory.remove_instances()
        self.changes += 1

    def code_path(self, code: LoadedCodeObject) -> str:
        """Return the path of a code object; a relative one is relative to the folder of the machine."""
        return os.path.join(self.folder, code.path)

    def run(self, *_arguments: Any, **_options: Any) -> Any:
        """Refuse to run: only waves that were launched do (`execution.gpu.Gpu`)."""
        message = f"a {self.capabilities.name} cannot run: it is what waves were when it was made"
        raise UsageError(message, hint="launch a kernel on a machine of its own")

    step = break_at = run

    # --- Apertures ------------------------------------------------------------------------------------------------

    def set_apertures(self, apertures: Apertures) -> None:
        """Set the apertures, the generic addresses that mean local and private memory."""
        if self.target.space(GENERIC) is None:
            raise UsageError(f"{self.target.name} has no generic addresses, so no apertures")
        for name, base in (("shared", apertures.shared), ("private", apertures.private)):
            if base % SIZE or not 0 < base < 1 << 64:
                message = f"the {name} aperture at {base:#x} is not aligned to 2^32, or not an address"
                raise UsageError(message)
        if apertures.shared == apertures.private:
            raise UsageError(f"both apertures are at {apertures.shared:#x}")
        self.apertures = apertures
        self._use(apertures)

    def _use(self, apertures: Apertures) -> None:
        self.target = with_apertures(self.target, apertures)

    def find_apertures(self) -> None:
        """Read the apertures from the queues of dispatches, unless they are known or registers hold them."""
        generic = self.target.space(GENERIC)
        if generic is None or (isinstance(generic.alias, GenericView) and generic.alias.apertures is not None):
            return
        for dispatch in self.dispatches:
            if dispatch.queue is not None:
                try:
                    self._use(self.read_apertures(dispatch.queue))
                except DwarfGpuError:  # this queue is not known; generic addresses say what is missing
                    continue
                return

    def read_apertures(self, queue: int) -> Apertures:
        """Return the apertures that an AMD queue object in global memory gives, as GFX7 and GFX8 have it."""
        if queue % QUEUE_ALIGNMENT:
            raise UsageError(f"the queue at {queue:#x} is not aligned to {QUEUE_ALIGNMENT} bytes")
        data = self.memory.read(self.target.default_space, queue + GROUP_APERTURE, 8, None, None)
        return of_queue(int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little"))

    # --- Known registers ------------------------------------------------------------------------------------------

    def register_named(self, name: str) -> TargetRegister | None:
        """Return the register of the target with a name, also one without a DWARF number, such as ``m0``."""
        return self.target.register_named(name) or self.target.unnumbered_register(name)

    def add_file(self, file: RegisterFile) -> None:
        for register in file.registers:
            if register.number in self._file_of:
                raise UsageError(f"register {register.name} is given twice")
        self.files.append(file)
        self._file_of.update((register.number, file) for register in file.registers)
        self.changes += 1

    def allocate_registers(self, registers: Iterable[TargetRegister]) -> None:
        """Add registers without known contents; those that exist already do not change."""
        kinds: dict[tuple[str, int], list[TargetRegister]] = {}
        for register in registers:
            if register.number not in self._file_of:
                kinds.setdefault((split_name(register.name)[0], register.bit_size), []).append(register)
        for group in kinds.values():
            self.add_file(RegisterFile.empty(group, self.wave_count, self.target.byte_order))

    def set_register(self, name: str, values: Any, waves: Any = slice(None)) -> None:
        """Set a register of some waves (all): one number, one a wave; of a vector register also ``[wave, lane]``."""
        import numpy as np

        register = self.register_named(name)
        if register is None:
            raise UsageError(f"{self.target.name} has no register {name}")
        self.allocate_registers([register])
        new = np.asarray(values)
        if new.ndim == 1 and not register.lane_bits:
            new = new[:, None]
        self.put(self._file_of[register.number], register, new, waves)
        self.changes += 1

    def put(self, file: RegisterFile, register: TargetRegister, values: Any, waves: Any) -> None:
        """Set a register of a file in some waves, whose lanes are then all known, without counting a change."""
        file.put(waves, register.number, values)
        if self._unknown_lanes:
            import numpy as np

            for wave in np.arange(self.wave_count)[waves].reshape(-1).tolist():
                self.set_unknown_lanes(register, wave, 0)

    def set_numbers(self, values: Iterable[tuple[TargetRegister, Any]], waves: Any) -> None:
        """Set registers of some waves, a slice or an array: each to one number, or to a column ``[wave, 1]``."""
        import numpy as np

        values = list(values)
        self.allocate_registers(register for register, _value in values)
        alike: dict[int, dict[int, int]] = {}
        for register, value in values:
            file = self._file_of[register.number]
            if isinstance(value, int):
                alike.setdefault(self.files.index(file), {})[file.positions[register.number]] = value
            else:
                file.put(waves, register.number, value)
        for index, numbers in alike.items():
            row = np.array(list(numbers.values()))[:, None]
            self.files[index].put_numbers(waves, list(numbers), row)
        self.changes += 1

    def column(self, name: str) -> Array:
        """Return the storage of a register of all waves: ``[wave]``, or ``[wave, lane]`` of a vector register.

        It is as of now: after another run, ask again.
        A caller that writes to it must increment `changes` if frames have been unwound before.
        """
        register = self.register_named(name)
        file = None if register is None else self._file_of.get(register.number)
        if register is None or file is None:
            raise UsageError(f"the machine has no register {name}")
        column: Array = file.data[:, file.positions[register.number]]
        return column if unit_count(register) > 1 else column[:, 0]

    def block(self, first: str) -> Array:
        """Return the storage of the registers that begin with one, such as ``v0``: ``[wave, register, lane]``.

        That of scalar registers is ``[wave, register]``.
        """
        register = self.register_named(first)
        file = None if register is None else self._file_of.get(register.number)
        if file is None or file.registers[0] != register:
            raise UsageError(f"the machine has no registers that begin with {first}")
        return file.data if register.lane_bits else file.data[:, :, 0]

    @property
    def vgpr(self) -> Array:
        """The vector registers: ``vgpr[wave, register, lane]``."""
        return self.block("v0")

    @property
    def agpr(self) -> Array:
        """The accumulation registers: ``agpr[wave, register, lane]``."""
        return self.block("a0")

    @property
    def sgpr(self) -> Array:
        """The scalar registers: ``sgpr[wave, register]``."""
        return self.block("s0")

    def knows(self, register: TargetRegister, wave: int) -> bool:
        """Return whether the contents of a register of a wave are known."""
        file = self._file_of.get(register.number)
        return file is not None and file.knows(wave, register.number)

    # --- Registers ------------------------------------------------------------------------------------------------

    def unknown_lanes(self, register: TargetRegister, wave: int) -> int:
        return self._unknown_lanes.get((register.number, wave), 0)

    def set_unknown_lanes(self, register: TargetRegister, wave: int, mask: int) -> None:
        """Say which lanes of a vector register of a wave are not known, though the others are."""
        self._unknown_lanes.pop((register.number, wave), None)
        if mask:
            self._unknown_lanes[register.number, wave] = mask
        self.has_gaps = bool(self._unknown_lanes)

    def _row(self, register: TargetRegister, wave: int, lane: int | None) -> int:
        if not 0 <= wave < self.wave_count:
            raise register_unavailable(register, f"there is no wave {wave}")
        return wave

    def _rows(self, register: TargetRegister, waves: Bits, lanes: Bits | None) -> Bits:
        return waves

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        row = self._row(register, wave, lane)
        self.asked.add(register.name)
        file = self._file_of.get(register.number)
        data = None if file is None else file.read(row, register.number)
        if data is None:
            raise register_unset(register) if self.is_launched and file is not None else register_unavailable(register)
        return data

    def write_register(self, register: TargetRegister, data: bytes, wave: int, lane: int | None) -> None:
        check_size(register, data, unit_count(register) * unit_bits(register) // 8)
        if register.number not in self._file_of:  # from now on it is known
            self.allocate_registers([register])
        self._file_of[register.number].write(self._row(register, wave, lane), register.number, data)
        if self._unknown_lanes:
            self.set_unknown_lanes(register, wave, 0)
        self.changes += 1

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        import numpy as np

        self.asked.add(register.name)
        file = self._file_of.get(register.number)
        rows = self._rows(register, waves, lanes)
        inside = _inside(file, offsets, size, rows)
        if file is None or inside is False:
            return np.zeros((count, size), dtype=np.uint8), np.zeros(count, dtype=bool)
        if inside is True:
            known = file.flags(_index(rows), register.number, count)
            if self._unknown_lanes and register.lane_bits:
                known = known & self._reaches(register, _each(offsets, count), size, _each(rows, count))
            return file.gather(_index(rows), register.number, _index(offsets), size, count), known
        # Some slots mean what is not there: the others read, and these are left out.
        data, known = np.zeros((count, size), dtype=np.uint8), np.zeros(count, dtype=bool)
        slots = np.broadcast_to(inside, (count,)).nonzero()[0]
        starts, chosen = _each(offsets, count)[slots], _each(rows, count)[slots]
        if len(slots):
            data[slots] = file.gather(chosen, register.number, starts, size, len(slots))
            known[slots] = file.flags(chosen, register.number, len(slots))
        return data, known

    def _reaches(self, register: TargetRegister, offsets: Array, size: int, waves: Array) -> Array:
        """Return the slots whose bytes of a vector register are all in lanes that are known."""
        import numpy as np

        reaches = np.ones(len(offsets), dtype=bool)
        width = register.lane_bits // 8
        for (number, wave), mask in self._unknown_lanes.items():
            if number == register.number:
                known = ~np.array([mask >> lane & 1 for lane in range(unit_count(register))], dtype=bool)
                for at in {0, size - 1} if size <= width else range(0, size + width - 1, width):
                    reaches &= (waves != wave) | known[(offsets + min(at, size - 1)) // width]
        return reaches

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        self.asked.add("memory")
        return self.memory.read(space, address, size, wave, lane)

    def memory_around(self, address: int) -> KnownRange | None:
        found = self.memory.range_around(self.target.default_space, address)
        return None if found is None else KnownRange(*found)

    def extent(self, space: AddressSpace, wave: int, lane: int | None = None) -> int:
        return self.memory.available(space, 0, wave, lane)

    def write_memory(self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None) -> None:
        self.memory.write(space, address, data, wave, lane)

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        self.asked.add("memory")
        if not size:  # nothing to gather, but an address may still mean the memory of a lane that there is not
            return super().gather_memory(space, addresses, size, waves, lanes, count)
        return self.memory.gather(space, addresses, size, waves, lanes, count)


def _column(given: Any, count: int, width: int = 1) -> bytes:
    """Return numbers of waves as cells have them."""
    if getattr(given, "ndim", 0) == 1 + (width > 1):
        return given.astype("<i8").tobytes()  # type: ignore[no-any-return]
    given = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, int):
        return struct.pack("<q", given) * (count * width)
    rows = list(given)
    is_one = width > 1 and not (rows and hasattr(rows[0], "__iter__"))
    numbers = [number for row in rows for number in row] if width > 1 and not is_one else rows
    return struct.pack(f"<{len(numbers)}q", *numbers) * (count if is_one else 1)


def _inside(file: RegisterFile | None, offsets: Any, size: int, rows: Any) -> Any:
    """Return whether bytes are inside a register and its row exists: one answer, or one a slot."""
    if file is None:
        return False
    left, right = _below(offsets, file.byte_size - size + 1), _below(rows, file.row_count)
    if left is True or right is False:
        return right
    return left if left is False or right is True else left & right


def _below(numbers: Any, limit: int) -> Any:
    """Return whether numbers are from 0 to below a limit: one answer if all slots share it."""
    if isinstance(numbers, int):
        return 0 <= numbers < limit
    if not len(numbers) or 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        return True
    return (numbers >= 0) & (numbers < max(limit, 0))


def _index(numbers: Any) -> Any:
    import numpy as np

    if isinstance(numbers, int) or numbers.dtype == np.int64:
        return numbers
    return numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers.astype(np.int64)


def _each(numbers: Any, count: int) -> Any:
    import numpy as np

    return np.full(count, numbers, dtype=np.int64) if isinstance(numbers, int) else _index(numbers)
