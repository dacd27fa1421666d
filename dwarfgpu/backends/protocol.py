"""What a machine must answer: bytes of memory and of registers, and nothing about DWARF.

A backend knows the innermost frame only; registers of callers are the unwinder's business. It raises
``EvaluationError`` with the kinds ``memory_unavailable``, ``register_unavailable`` and ``not_writable``.

`Backend` implements the gathered reads in terms of the single ones, so a small backend writes four methods. A backend
that keeps its machine in columns overrides them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.targets.target import AddressSpace, Register


class Backend:
    """A machine. ``wave`` is the index of a wave; ``lane`` is given where each lane has storage of its own."""

    def lane_owned(self, register: Register) -> bool:
        """Whether each lane has its own copy of this register, as a described machine without vectors may."""
        return False

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        raise memory_unavailable(space, address, size)

    def write_memory(
        self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None
    ) -> None:
        raise not_writable(f"memory at {space.name}#{address:#x}")

    def read_register(self, register: Register, wave: int, lane: int | None) -> bytes:
        """The whole register, in memory order."""
        raise register_unavailable(register)

    def write_register(self, register: Register, data: bytes, wave: int, lane: int | None) -> None:
        """Replace the whole register."""
        raise not_writable(f"register {register.name}")

    def gather_memory(
        self,
        space: AddressSpace,
        addresses: Bits,
        size: int,
        waves: Bits | None,
        lanes: Bits | None,
        count: int,
    ) -> tuple[Array, Array]:
        """``size`` bytes at one address a slot: an array ``[slot, byte]``, and flags of the slots that have them."""

        def read(slot: int) -> bytes:
            wave, lane = _of_slot(waves, slot), _of_slot(lanes, slot)
            return self.read_memory(space, int(b.select(addresses, slot)), size, wave or 0, lane)

        return gather(read, size, count)

    def gather_register(
        self, register: Register, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        """The whole register of one wave a slot, as `gather_memory` gives memory."""
        return gather(
            lambda slot: self.read_register(register, int(b.select(waves, slot)), _of_slot(lanes, slot)),
            -(-register.bit_size // 8),
            count,
        )


def _of_slot(bits: Bits | None, slot: int) -> int | None:
    return None if bits is None else int(b.select(bits, slot))


def gather(read: Callable[[int], bytes], size: int, count: int) -> tuple[Array, Array]:
    """Gather by reading slot after slot."""
    import numpy as np

    data = np.zeros((count, size), dtype=np.uint8)
    found = np.ones(count, dtype=bool)
    for slot in range(count):
        try:
            data[slot] = np.frombuffer(read(slot), dtype=np.uint8)
        except DwarfGpuError:
            found[slot] = False
    return data, found


def memory_unavailable(space: AddressSpace, address: int, size: int) -> EvaluationError:
    """The error of a backend that does not have some memory."""
    message = f"{size} bytes of memory at {space.name}#{address:#x} are not available"
    return EvaluationError("memory_unavailable", message, spec="A.2.5.4.4.3")


def register_unavailable(register: Register) -> EvaluationError:
    """The error of a backend that does not have a register."""
    message = f"the contents of register {register.name} are not available"
    return EvaluationError("register_unavailable", message, spec="A.2.5.4.4.4")


def not_writable(what: str) -> EvaluationError:
    """The error of a storage or a backend that cannot be written."""
    return EvaluationError("not_writable", f"{what} cannot be written", spec="A.2.5.3")
