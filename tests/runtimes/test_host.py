"""The memory of a program, as it is read from outside."""

import ctypes
import mmap
import os

from dwarfgpu.runtimes.host import HostProgram


def test_memory_is_read_where_all_of_it_is_there():
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    pages[:4], pages[-4:] = b"abcd", b"efgh"
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    program = HostProgram(os.getpid(), "no library")
    assert (program.read(address, 4), program.read(address, 0)) == (b"abcd", b"")
    assert program.read(address + len(pages) - 4, 4) == b"efgh"
    assert (program.read(16, 4), program.read((1 << 64) - 8, 16)) == (None, None)


def test_memory_that_the_program_may_not_read_is_not_read():
    mapped, changed = ctypes.CDLL(None).mmap, ctypes.CDLL(None).mprotect
    mapped.restype, changed.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    address = mapped(
        None, ctypes.c_size_t(2 * mmap.PAGESIZE), mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
    )
    assert not changed(address + mmap.PAGESIZE, mmap.PAGESIZE, 0)
    program = HostProgram(os.getpid(), "no library")
    assert program.read(address, mmap.PAGESIZE) == bytes(mmap.PAGESIZE)
    assert program.read(address + mmap.PAGESIZE - 1, 2) is None
