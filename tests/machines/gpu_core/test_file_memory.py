"""The memory that several files hold together."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.machines.gpu_core.file_memory import FileMemory, Stretch, map_file


def memory_of(*stretches, files=(bytes(range(64)), bytes(range(100, 164)))):
    return FileMemory([memoryview(bytearray(data)) for data in files], [Stretch(*stretch) for stretch in stretches])


STRETCHES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(0, 1), st.integers(0, 70)), max_size=6
)


@given(STRETCHES, st.integers(0, 100), st.integers(0, 30))
def test_the_first_stretch_that_has_a_byte_gives_it(stretches, address, size):
    files = (bytes(range(64)), bytes(range(100, 164)))
    expected: dict[int, int] = {}
    for start, length, number, offset in stretches:
        for position in range(length):
            if offset + position < len(files[number]):
                expected.setdefault(start + position, files[number][offset + position])
    memory = memory_of(*stretches)
    there = [expected.get(address + position) for position in range(size)]
    assert memory.read(address, size) == (None if None in there else bytes(there))
    parts = memory.stretches(address, size)
    assert [at for part in parts for at in range(part.address, part.address + part.size)] == [
        address + position for position, byte in enumerate(there) if byte is not None
    ]
    assert list(memory.starts) == sorted(memory.starts)
    if memory.locate(address, size) is not None and size:
        number, offset = memory.locate(address, size)
        assert files[number][offset : offset + size] == bytes(there)
        assert memory.room(address) >= size


@given(STRETCHES, st.lists(st.tuples(st.integers(0, 90), st.integers(0, 12)), max_size=5))
def test_windows_are_the_same_bytes_at_other_addresses(stretches, windows):
    memory = memory_of(*stretches)
    view = memory.windows((number << 32, address, size) for number, (address, size) in enumerate(windows))
    for number, (address, size) in enumerate(windows):
        for position in range(size):
            assert view.read(number << 32 | position, 1) == memory.read(address + position, 1)
        assert view.read(number << 32 | size, 1) is None


def test_windows_texts_and_addresses_outside_of_memory():
    memory = memory_of((0x1000, 64, 0, 0))
    view = memory.windows([(0, 0x1010, 8)])
    view.write(4, b"\xff\xfe")
    assert memory.read(0x1012, 6) == bytes([18, 19, 0xFF, 0xFE, 22, 23])
    memory = memory_of((0x10, 5, 0, 0), (0x15, 9, 1, 0), files=(b"abcde", b"fgh\0ijklm"))
    assert memory.text(0x10, 100) == b"abcdefgh"
    assert memory.text(0x19, 100) is None
    assert memory.text(0x10, 4) is None
    assert memory.text(0x80, 100) is None
    assert memory.number(0x10, 2) == int.from_bytes(b"ab", "little")
    memory = memory_of(((1 << 64) - 8, 64, 0, 0))
    assert memory.read((1 << 64) - 8, 8) == bytes(range(8))
    for address, size in ((-1, 4), ((1 << 64) - 4, 8), (1 << 70, 1)):
        assert memory.read(address, size) is None
    assert memory.locate(-1, 4) is None
    assert memory.stretches(1 << 70, 4) == []


def test_files_are_mapped_and_never_changed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    view = map_file(str(path))
    assert bytes(view) == b"abcd"
    view[0:1] = b"x"
    assert path.read_bytes() == b"abcd"
    path.write_bytes(b"")
    assert bytes(map_file(str(path))) == b""
    for name in (str(tmp_path), str(tmp_path / "nothing"), "a\0b"):
        with pytest.raises((MalformedFile, UsageError)):
            map_file(name)
