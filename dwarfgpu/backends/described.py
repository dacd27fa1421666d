"""A described machine: the contents of some registers and of some memory of one wave.

What is not described is not available. An address space that is only a view of others has no memory of its own here:
what is described in one view can be read through every other.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from dwarfgpu import bits as b
from dwarfgpu.backends.protocol import Backend, Capabilities, of_slot, register_unavailable
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.targets.target import AddressSpace, Piece, Target, TargetRegister

    Contents = int | bytes | Sequence[int]
    """The contents of a register: a number, its bytes in memory order, or one number a lane."""

MAX_REGISTER_BYTES = 1 << 16
_PAGE = 256


@frozen
class Region:
    """Bytes of memory in one address space."""

    space: AddressSpace
    address: int
    data: bytes
    lane: int | None = None
    """The lane whose memory it is, in an address space of which each lane has its own."""


class SparseMemory:
    """The known bytes of one address space."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[int, tuple[bytearray, bytearray]] = {}
        """For each page its bytes, and for each of these 1 where it is known."""

    def missing(self, address: int, size: int) -> int | None:
        """Return the first address of a range whose byte is not known."""
        end = address + size
        while address < end:
            page, offset = divmod(address, _PAGE)
            length = min(_PAGE - offset, end - address)
            page_bytes = self._pages.get(page)
            if page_bytes is None:
                return address
            position = page_bytes[1].find(0, offset, offset + length)
            if position >= 0:
                return page * _PAGE + position
            address += length
        return None

    def read(self, address: int, size: int) -> bytes | None:
        """Return the bytes of a range, if all are known."""
        offset = address % _PAGE
        if offset + size <= _PAGE:
            page = self._pages.get(address // _PAGE)
            if page is None or page[1].find(0, offset, offset + size) >= 0:
                return b"" if size == 0 else None
            return bytes(page[0][offset : offset + size])
        if self.missing(address, size) is not None:
            return None
        data = bytearray()
        end = address + size
        while address < end:
            page_number, offset = divmod(address, _PAGE)
            data += self._pages[page_number][0][offset : offset + end - address]
            address = (page_number + 1) * _PAGE
        return bytes(data)

    def gather(self, addresses: Array, size: int) -> Array | None:
        """Return the bytes at many addresses, if these are close together and everything between them is known."""
        first = int(addresses.min())
        length = int(addresses.max()) + size - first
        if length > _PAGE * len(addresses):
            return None
        data = self.read(first, length)
        if data is None:
            return None
        import numpy as np

        window: Array = np.frombuffer(data, dtype=np.uint8)
        return window[(addresses - first).astype(np.intp)[:, None] + np.arange(size)]  # type: ignore[no-any-return]

    def describe(self, address: int, data: bytes) -> int | None:
        """Make bytes known. Returns the first address at which another byte is known already."""
        position = 0
        while position < len(data):
            number, offset = divmod(address + position, _PAGE)
            chunk = data[position : position + _PAGE - offset]
            content, known = self._pages.setdefault(number, (bytearray(_PAGE), bytearray(_PAGE)))
            end = offset + len(chunk)
            if known.find(1, offset, end) >= 0:
                for i, byte in enumerate(chunk, offset):
                    if known[i] and content[i] != byte:
                        return number * _PAGE + i
            content[offset:end] = chunk
            known[offset:end] = b"\1" * len(chunk)
            position += len(chunk)
        return None

    def replace(self, address: int, data: bytes) -> None:
        """Change bytes, all of which must be known."""
        position = 0
        while position < len(data):
            number, offset = divmod(address + position, _PAGE)
            chunk = data[position : position + _PAGE - offset]
            self._pages[number][0][offset : offset + len(chunk)] = chunk
            position += len(chunk)


class DescribedMachine(Backend):
    """One wave: registers by DWARF number, and regions of memory.

    A register of a vector unit (``lane_bits``) is given as a whole, or as one number a lane; the lanes that the list
    does not reach are 0. Where a target has no lanes in its registers, a list gives each lane a copy of its own.
    """

    capabilities = Capabilities(
        name="described",
        summary="one wave whose registers and memory are described, such as the context of a case",
        many_waves=False,
        writes="changes what is described",
        unknown="what is not described",
        gathered="slot by slot; memory that is close together at once",
        instances=False,
        lane_owned=True,
    )

    def __init__(
        self, target: Target, registers: Mapping[int, Contents] | None = None, memory: Sequence[Region] = ()
    ) -> None:
        self.target = target
        self._registers: dict[int, list[bytes]] = {}
        """The bytes of each register: one entry, or one a lane where each lane owns a copy."""
        self._lane_owned: set[int] = set()
        self._records: dict[int, TargetRegister] = {}
        self._memory: defaultdict[int, SparseMemory] = defaultdict(SparseMemory)
        for number, contents in (registers or {}).items():
            self.describe_register(number, contents)
        for region in memory:
            self.describe_memory(region)

    # --- Describing -----------------------------------------------------------------------------------------------

    def register(self, number: int) -> TargetRegister | None:
        """Return the register with a DWARF number, in the size in which it is described."""
        return self._records.get(number) or self.target.register(number)

    def describe_register(self, number: int, contents: Contents) -> None:
        """Set the contents of a register. Numbers may be signed or unsigned, and must fit."""
        register = self.target.register(number)
        if register is None:
            raise UsageError(f"{self.target.name} has no register {number}")
        order = self.target.byte_order
        if isinstance(contents, int):
            values = [_bytes_of(contents, register.bit_size, order, register.name)]
        elif isinstance(contents, bytes):
            register = self._sized(register, len(contents))
            values = [contents]
        elif register.lane_bits:
            values = [_vector(contents, register, order)]
        elif self.target.lane_count > 1:  # its vector registers are known as such
            raise UsageError(
                f"{register.name} is one register for all lanes, it cannot have a value for each"
            )
        else:
            values = [_bytes_of(value, register.bit_size, order, register.name) for value in contents]
            self._lane_owned.add(register.number)
        self._registers[register.number] = values
        self._records[register.number] = register

    def _sized(self, register: TargetRegister, size: int) -> TargetRegister:
        """Return a register with the size of its bytes, which only the generic target lets differ from its own."""
        expected = -(-register.bit_size // 8)
        if self.target.name != "generic":
            if size != expected:
                raise UsageError(f"{register.name} has {expected} bytes, not {size}")
            return register
        if not 0 < size <= MAX_REGISTER_BYTES:
            raise UsageError(f"a register of {size} bytes is outside 1 to {MAX_REGISTER_BYTES}")
        return evolve(register, bit_size=8 * size)

    def describe_memory(self, region: Region) -> None:
        """Set the contents of some memory. Regions may overlap where they agree."""
        space, address, data = region.space, region.address, region.data
        if not 0 <= address <= address + len(data) <= 1 << space.address_bits:
            raise UsageError(f"{len(data)} bytes at {space.name}#{address:#x} are not in the address space")
        position = 0
        for piece_space, start, length in self._pieces(space, address, len(data), region.lane):
            conflict = self._memory[piece_space].describe(start, data[position : position + length])
            if conflict is not None:
                where = address + position + conflict - start
                raise UsageError(f"the byte at {space.name}#{where:#x} is given twice, with different values")
            position += length

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _pieces(self, space: AddressSpace, address: int, size: int, lane: int | None) -> list[Piece]:
        """Return the storage that holds a range; addresses of a view are translated."""
        if space.alias is None:
            return [(space.number, address, size)]
        return space.alias.pieces(address, size, lane, self.target.lane_count)

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        contents = b""
        for number, start, length in self._pieces(space, address, size, lane):
            data = self._memory[number].read(start, length)
            if data is None:
                raise self._unavailable(space, address, size, lane)
            contents = contents + data if contents else data
        return contents

    def write_memory(
        self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None
    ) -> None:
        pieces = self._pieces(space, address, len(data), lane)
        self.read_memory(space, address, len(data), wave, lane)  # all is known, or nothing is written
        position = 0
        for number, start, length in pieces:
            self._memory[number].replace(start, data[position : position + length])
            position += length
        self.changes += 1

    def _unavailable(self, space: AddressSpace, address: int, size: int, lane: int | None) -> DwarfGpuError:
        """Return the error of a read, which names the first byte that is not described."""
        first = position = address
        for number, start, length in self._pieces(space, address, size, lane):
            missing = self._memory[number].missing(start, length)
            if missing is not None:
                first = position + missing - start
                break
            position += length
        message = f"{size} bytes of memory at {space.name}#{address:#x} are not available"
        detail = "" if first == address else f": {space.name}#{first:#x} is the first without a value"
        return EvaluationError("memory_unavailable", message + detail, spec="A.2.5.4.4.3")

    def gather_memory(
        self,
        space: AddressSpace,
        addresses: Bits,
        size: int,
        waves: Bits | None,
        lanes: Bits | None,
        count: int,
    ) -> tuple[Array, Array]:
        import numpy as np

        if space.alias is None and not isinstance(addresses, int):
            close = self._memory[space.number].gather(addresses, size)
            if close is not None:
                return close, np.ones(count, dtype=bool)
        starts = self._storage_addresses(space, addresses, size, lanes, count)
        rows: list[bytes | None]
        if starts is not None:
            number, at = starts
            read = self._memory[number].read
            rows = [read(start, size) for start in at]
        else:
            rows = [self._read_or_none(space, addresses, size, lanes, slot) for slot in range(count)]
        return _gathered(rows, size)

    def _storage_addresses(
        self, space: AddressSpace, addresses: Bits, size: int, lanes: Bits | None, count: int
    ) -> tuple[int, list[int]] | None:
        """Return the address of the bytes of each slot if those of every slot are together in one storage."""
        if space.alias is None:
            return space.number, _each(addresses, count)
        starts = []
        number = None
        for address, lane in zip(_each(addresses, count), _each_lane(lanes, count), strict=True):
            try:
                pieces = self._pieces(space, address, size, lane)
            except DwarfGpuError:
                return None
            if len(pieces) != 1 or number not in (None, pieces[0][0]):
                return None
            number = pieces[0][0]
            starts.append(pieces[0][1])
        return None if number is None else (number, starts)

    def _read_or_none(
        self, space: AddressSpace, addresses: Bits, size: int, lanes: Bits | None, slot: int
    ) -> bytes | None:
        try:
            return self.read_memory(space, int(b.select(addresses, slot)), size, 0, of_slot(lanes, slot))
        except DwarfGpuError:
            return None

    # --- Registers ------------------------------------------------------------------------------------------------

    def lane_owned(self, register: TargetRegister) -> bool:
        return register.number in self._lane_owned

    def _copy(self, register: TargetRegister, lane: int | None) -> int:
        """Return the copy of a register that a lane means."""
        copies = self._registers.get(register.number)
        if copies is None:
            raise register_unavailable(register)
        if register.number not in self._lane_owned:
            return 0
        if lane is None:
            message = f"each lane has its own register {register.name}, and there is no current lane"
            raise MissingContext("lane", message)
        if lane >= len(copies):
            message = f"the contents of register {register.name} in lane {lane} are not available"
            raise EvaluationError("register_unavailable", message, spec="A.2.5.4.4.4")
        return lane

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        copy = self._copy(register, lane)
        return self._registers[register.number][copy]

    def write_register(self, register: TargetRegister, data: bytes, wave: int, lane: int | None) -> None:
        if register.number not in self._registers:  # from now on it is described
            self._registers[register.number] = [data]
        else:
            copy = self._copy(register, lane)
            self._registers[register.number][copy] = data
        self.changes += 1

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        copies = self._registers.get(register.number, [])
        owned = register.number in self._lane_owned
        chosen = _each_lane(lanes, count) if owned else [0] * count
        rows: list[bytes | None] = []
        for first, copy in zip(_each(offsets, count), chosen, strict=True):
            is_there = copy is not None and copy < len(copies) and first + size <= len(copies[copy])
            rows.append(copies[copy or 0][first : first + size] if is_there else None)
        return _gathered(rows, size)


def _gathered(rows: list[bytes | None], size: int) -> tuple[Array, Array]:
    """Return rows of bytes as an array, and flags of the known ones."""
    import numpy as np

    nothing = bytes(size)
    data = np.frombuffer(b"".join([nothing if row is None else row for row in rows]), dtype=np.uint8)
    return data.reshape(len(rows), size), np.array([row is not None for row in rows], dtype=bool)


def _bytes_of(number: int, bit_size: int, order: str, name: str) -> bytes:
    """Convert a number to the bytes of a register; raise an error if it does not fit."""
    if not -(1 << (bit_size - 1)) <= number < 1 << bit_size:
        raise UsageError(f"{number:#x} does not fit the {bit_size} bits of {name}")
    size = -(-bit_size // 8)
    return (number & ((1 << bit_size) - 1)).to_bytes(size, "little" if order == "little" else "big")


def _vector(numbers: Sequence[int], register: TargetRegister, order: str) -> bytes:
    """Return the bytes of a vector register; lanes that are not given are 0."""
    lane_count = register.bit_size // register.lane_bits
    if len(numbers) > lane_count:
        raise UsageError(f"{register.name} has {lane_count} lanes, not {len(numbers)}")
    lanes = [_bytes_of(number, register.lane_bits, order, f"a lane of {register.name}") for number in numbers]
    return b"".join(lanes).ljust(register.bit_size // 8, b"\0")


def _each(bits: Bits, count: int) -> list[int]:
    return [bits] * count if type(bits) is int else bits.tolist()  # type: ignore[union-attr]


def _each_lane(lanes: Bits | None, count: int) -> Sequence[int | None]:
    return [None] * count if lanes is None else _each(lanes, count)
