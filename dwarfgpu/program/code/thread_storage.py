"""Thread-local storage of host programs: where a thread has the variables of a file (ELF Handling for TLS, variant II).

The blocks of the files that a process begins with lie below the thread pointer, that of the executable right
below it: its place follows from PT_TLS alone, as its code relies on that. The blocks of other files are found
by the thread's dynamic thread vector, in the element with the number that the dynamic linker gave the file.
The symbols ``_thread_db_*``, which are there for debuggers, say the layout of glibc's structures.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.errors import EvaluationError, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Memory
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import PT_DYNAMIC, Segment

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import WaveBackend
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode

PT_TLS = 7
DT_NULL, DT_DEBUG = 0, 21
R_MAP = 8
"""Where ``struct r_debug`` has the list of files; in it ``l_ld`` and ``l_next`` of ``struct link_map`` (link.h)."""
L_LD, L_NEXT, LINK_MAP_SIZE = 16, 24, 32
MAX_FILES = 1 << 16
NOT_ALLOCATED = (1 << 64) - 1
"""TLS_DTV_UNALLOCATED of glibc: the thread has not used the variables of the file yet."""
_SPEC = "A.2.5.4.4.3 (4)"


@frozen
class ThreadStorage:
    """The thread-local storage of one thread of a process."""

    machine: WaveBackend
    loaded: Loaded
    wave: int

    def location(self, offset: int, code: LoadedCode | None) -> locations.Location:
        """Return where a variable of a file is, from its offset in the storage of the file."""
        target = self.machine.target
        if target.thread_pointer is None:
            raise _missing(f"a thread of {target.name} has no known thread-local storage")
        if code is None:
            raise _missing("the thread-local storage is not known: the expression does not belong to a file")
        block = next((segment for segment in code.file.image.segments if segment.type == PT_TLS), None)
        if block is None:
            raise _missing(f"{code.file.name} has no thread-local storage: there is no PT_TLS segment")
        pointer = self._thread_pointer()
        is_main = code is self.loaded.executable
        start = below(pointer, block) if is_main else self._in_vector(pointer, code)
        mask = (1 << 8 * target.address_size) - 1
        return locations.at(Memory(target.default_space), 8 * (start + offset & mask))

    def _thread_pointer(self) -> int:
        target = self.machine.target
        register = self.machine.register(target.thread_pointer or 0)
        if register is None:
            raise AssertionError(target)  # the table of the target names one of its own
        data = self.machine.read_register(register, self.wave, None)
        return int.from_bytes(data, target.byte_order)

    # --- Files beside the executable ------------------------------------------------------------------------------

    def _in_vector(self, pointer: int, code: LoadedCode) -> int:
        """Return where a thread has the storage of a file that the dynamic linker has loaded."""
        number = self._number_of(code)
        vector = self._word(pointer + self._field("pthread_dtvp")[1])
        size, first = self._field("dtv_dtv")
        generation = self._word(vector + first + self._field("dtv_t_counter")[1])
        start = 0  # an element is only there if the vector is as new as the file
        if generation >= self._generation_of(number):
            start = self._word(vector + first + size * number + self._field("dtv_t_pointer_val")[1])
        if start in (0, NOT_ALLOCATED):
            message = f"the thread has no thread-local storage of {code.file.name} yet: it has not used it"
            raise EvaluationError("not_allocated", message, spec=_SPEC)
        return start

    def _number_of(self, code: LoadedCode) -> int:
        dynamic = _dynamic_of(code)
        entry = self._first_file()
        for _ in range(MAX_FILES):
            if not entry:
                break
            known = self._read(entry, LINK_MAP_SIZE)
            here, following = struct.unpack_from("<QQ", known, L_LD)
            if here == dynamic:
                return self._word(entry + self._field("link_map_l_tls_modid")[1])
            entry = following
        raise _missing(f"the dynamic linker does not list {code.file.name} among the files of the process")

    def _generation_of(self, number: int) -> int:
        """Return the generation from which on the vector of a thread knows the file with a number."""
        linker = self._symbol("_rtld_global")
        part = self._word(linker + self._field("rtld_global__dl_tls_dtv_slotinfo_list")[1])
        size = struct.unpack("<I", self._read(self._symbol("_thread_db_sizeof_dtv_slotinfo"), 4))[0]
        for _ in range(MAX_FILES):
            if not part:
                break
            count = self._word(part + self._field("dtv_slotinfo_list_len")[1])
            if number < count:
                entry = part + self._field("dtv_slotinfo_list_slotinfo")[1] + size * number
                return self._word(entry + self._field("dtv_slotinfo_gen")[1])
            number -= count
            part = self._word(part + self._field("dtv_slotinfo_list_next")[1])
        raise _missing("the dynamic linker has no entry for the number of the file")

    def _field(self, name: str) -> tuple[int, int]:
        bits, _count, offset = struct.unpack("<3I", self._read(self._symbol(f"_thread_db_{name}"), 12))
        return bits // 8, offset

    def _symbol(self, name: str) -> int:
        for code in self.loaded.codes:
            symbol = code.file.symbol_image.symbol_named(name)
            if symbol is not None and symbol.is_defined:
                return code.in_program(symbol.value)
        raise _missing(
            f"the place of the thread-local storage is not known: no file has the symbol {name}",
            hint="the executable needs only the ABI; other files need a C library with this symbol: glibc",
        )

    def _first_file(self) -> int:
        """Return the beginning of the list of files: DT_DEBUG of the executable leads to it."""
        executable = self.loaded.executable
        position = None if executable is None else _dynamic_of(executable)
        if position is None:
            raise _missing("the executable of the process is not known")
        for _ in range(MAX_FILES):
            tag, value = struct.unpack("<QQ", self._read(position, 16))
            if tag == DT_DEBUG and value:
                return self._word(value + R_MAP)
            if tag == DT_NULL:
                break
            position += 16
        raise _missing("the executable has no list of the files of the process (DT_DEBUG)")

    def _word(self, address: int) -> int:
        return int.from_bytes(self._read(address, 8), "little")

    def _read(self, address: int, size: int) -> bytes:
        return self.machine.read_memory(self.machine.target.default_space, address, size, self.wave, None)


def below(pointer: int, block: Segment) -> int:
    """Return where the block of the executable begins: as near below the thread pointer as its alignment allows.

    Its address has the same remainder by the alignment as that of the segment.
    """
    return pointer - block.memory_size - (-(block.address + block.memory_size) & max(block.align, 1) - 1)


def _dynamic_of(code: LoadedCode) -> int | None:
    segments = code.file.image.segments
    return next((code.bias + segment.address for segment in segments if segment.type == PT_DYNAMIC), None)


def _missing(message: str, hint: str | None = None) -> MissingContext:
    return MissingContext("thread", message, spec=_SPEC, hint=hint)
