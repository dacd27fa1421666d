"""GDB's backend without GDB: names of registers, what is remembered, and what is refused."""

import pytest

from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.parameters import for_each

X86_64 = resolve("x86_64")


class Process:
    """A process of one thread, whose answers are counted."""

    has_moved_on = False
    changes = file_changes = 0
    ids = ("7",)

    def __init__(self, **registers: int) -> None:
        self.registers = registers
        self.asked: list[str] = []
        self.memory = b"0123456789"

    def read_register(self, thread, name):
        self.asked.append(name)
        if name not in self.registers:
            raise Refused(f"GDB has no register {name}")
        return self.registers[name]

    def write_register(self, thread, name, content):
        if name not in self.registers:
            raise Refused(f"GDB has no register {name}")
        self.registers[name] = content
        self.changes += 1

    def read_memory(self, thread, space, address, size):
        if not 0x1000 <= address <= address + size <= 0x1000 + len(self.memory):
            raise Refused("Cannot access memory")
        return self.memory[address - 0x1000 :][:size]

    def write_memory(self, thread, space, address, data):
        raise Refused("it is read only")


def machine(**registers: int) -> GdbBackend:
    return GdbBackend(X86_64, Process(**registers))


def read(found: GdbBackend, name: str) -> bytes:
    return found.read_register(X86_64.register_named(name), 0, None)


@for_each("name, theirs, size",
    ("rax", "rax", 8),                    ("rflags", "eflags", 8),              ("fs.base", "fs_base", 8),
    ("fcw", "fctrl", 2),                  ("rip", "rip", 8))  # fmt: skip
def test_registers_have_the_names_of_gdb(name, theirs, size):
    found = machine(**{theirs: 0x12345})
    assert read(found, name) == (0x12345 & (1 << 8 * size) - 1).to_bytes(size, "little")
    assert found.register_named(theirs) == X86_64.register_named(name)


def test_what_was_read_is_remembered_until_something_is_written():
    found = machine(rax=1, rbx=2)
    assert [read(found, "rax")[0] for _ in range(3)] == [1, 1, 1]
    assert found.process.asked == ["rax"]
    found.write_register(X86_64.register_named("rbx"), bytes([9] + [0] * 7), 0, None)
    assert (read(found, "rbx")[0], read(found, "rax")[0]) == (9, 1)
    assert found.process.asked == ["rax", "rbx", "rax"]
    for _ in range(2):
        assert "GDB has no register rcx" in str(raised(EvaluationError, read, found, "rcx"))
    assert found.process.asked[3:] == ["rcx"]


def test_a_process_that_has_run_since_is_not_asked():
    found = machine(rax=1, rip=0x1000)
    assert (read(found, "rax")[0], found.program_counter(0)) == (1, 0x1000)
    found.process.has_moved_on = True
    space = X86_64.default_space
    for ask in (
        lambda: read(found, "rax"),
        lambda: found.read_memory(space, 0x1000, 1, 0, None),
        lambda: found.write_memory(space, 0x1000, b"1", 0, None),
        lambda: found.write_register(X86_64.register_named("rax"), bytes(8), 0, None),
        lambda: found.gather_memory(space, 0x1000, 1, 0, None, 2),
        lambda: found.gather_register(X86_64.register_named("rax"), 0, 1, 0, None, 2),
    ):
        caught = raised(EvaluationError, ask)
        assert "has run since" in str(caught)
        assert caught.kind == "moved_on"
    assert found.program_counter(0) is None


def test_what_gdb_refuses():
    found = machine(rax=1)
    space = X86_64.default_space
    with pytest.raises(EvaluationError, match="0x100a is the first without a value"):
        found.read_memory(space, 0x1008, 4, 0, None)
    caught = raised(EvaluationError, found.read_memory, space, 0x2000, 4, 0, None)
    assert "not available: Cannot access memory" in str(caught)
    assert caught.kind == "memory_unavailable"
    with pytest.raises(EvaluationError, match="default#0x1000 cannot be written: it is read only"):
        found.write_memory(space, 0x1000, b"1", 0, None)
    with pytest.raises(EvaluationError, match="register rbx cannot be written: GDB has no register rbx"):
        found.write_register(X86_64.register_named("rbx"), bytes(8), 0, None)
    with pytest.raises(UsageError, match="rax has 8 bytes, not 4"):
        found.write_register(X86_64.register_named("rax"), bytes(4), 0, None)
    for space_address, wave in ((0, 0), ((1 << 64) - 1, 0), (0x1000, 3)):
        raised(EvaluationError, found.read_memory, space, space_address, 2, wave, None)
    with pytest.raises(EvaluationError, match="there is no thread 1"):
        found.read_register(X86_64.register_named("rax"), 1, None)
    assert (found.wave_named("7"), found.wave_named("8"), found.wave_count) == (0, None, 1)
