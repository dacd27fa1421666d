"""What every backend must do, as one suite. A member is a subclass that says how a described state becomes a backend.

Where backends may differ, they say so in their capabilities, and the suite expects what they say.
"""

from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext
from dwarfgpu.machines.protocol import Backend, Capabilities
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised

LANE_DWORDS = 8
"""Dwords of private memory that each lane of a described state has."""


class State(NamedTuple):
    """A described state of one wave. Memory: (address space, address, bytes), no views among the spaces."""

    target: Any
    registers: dict[str, int | list[int]]
    memory: list[tuple[str, int, bytes]]


def amdgpu(name: str) -> State:
    target = resolve(name)
    lanes = target.lane_count
    registers: dict[str, int | list[int]] = {
        "s0": 0x01020304,                    "s70": 0xFFFFFFFF,                   "exec": (1 << lanes) - 2,
        "pc": 0x7F0000001234,                "v1": [100 + lane for lane in range(lanes)],
        "v2": [0xFFFF0000 + 3 * lane for lane in range(lanes)]}  # fmt: skip
    memory = [
        ("global", 0x1000, bytes(i * 7 & 0xFF for i in range(1024))),     ("global", 0x2000, bytes(range(64))),
        ("local", 0, bytes(255 - i for i in range(64))),                  ("region", 16, bytes(range(100, 116))),
        ("private_wave", 0, bytes(i * 13 >> 2 & 0xFF for i in range(lanes * 4 * LANE_DWORDS)))]  # fmt: skip
    return State(target, registers, memory)


WAVE64, WAVE32 = amdgpu("amdgcn-gfx90a"), amdgpu("amdgcn-gfx1100-wave32")
BIG = State(
    resolve("generic", byte_order="big", address_size=4),
    {"r0": 0x01020304, "r7": 5},
    [("default", 0x10, bytes(range(1, 33)))])  # fmt: skip
SPACES = {
    "global": st.one_of(st.integers(0xFF8, 0x1408), st.integers(0x1FF8, 0x2048)),
    "local": st.integers(0, 70),          "region": st.integers(10, 40),        "private_wave": st.integers(0, 2080),
    "private_lane": st.integers(0, 40),   "private_lane3": st.integers(0, 40),
    "generic": st.one_of(
        st.integers(0xFF8, 0x1408),                            st.integers(0, 70).map(lambda a: (1 << 48) + a),
        st.integers(0, 40).map(lambda a: (2 << 48) + a),       st.integers((1 << 48) - 8, (1 << 48) - 1),
        st.integers((3 << 32) + (1 << 48) - 4, (3 << 32) + (1 << 48) + 4))}  # fmt: skip
STATES = st.sampled_from([WAVE64, WAVE32])
for_every_member = settings(suppress_health_check=[HealthCheck.differing_executors])
"""A test of the suite runs in each member, from a fresh start: runs are derandomised, and nothing is replayed."""


class Access(NamedTuple):
    """One access to memory for each of some slots."""

    name: str
    addresses: list[int]
    lanes: list[int]
    size: int


@st.composite
def accesses(draw: Any, longest: int = 9) -> Access:
    name = draw(st.sampled_from(sorted(SPACES)))
    addresses = draw(st.lists(SPACES[name], min_size=1, max_size=8))
    count = len(addresses)
    lanes = draw(st.lists(st.integers(0, 66), min_size=count, max_size=count))
    return Access(name, addresses, lanes, draw(st.integers(1, longest)))


def u64(numbers: list[int]) -> Any:
    return np.array(numbers, dtype=np.uint64)


def outcome(read: Any, *arguments: Any) -> Any:
    """What a read gives: bytes, or the kind of its error."""
    try:
        return read(*arguments)
    except DwarfGpuError as error:
        return error.kind


class BackendConformance:
    """The suite."""

    backend: type[Backend]

    def make(self, state: State) -> Backend:
        """A new backend that holds a state. Others that were made before are not touched by what is done to it."""
        raise NotImplementedError

    @property
    def capabilities(self) -> Capabilities:
        return self.backend.capabilities

    # --- Registers ------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("state", [WAVE64, WAVE32, BIG], ids=["wave64", "wave32", "big-endian"])
    def test_a_register_is_read_in_memory_order(self, state):
        found = self.make(state)
        order = state.target.byte_order
        for name, value in state.registers.items():
            register = state.target.register_named(name)
            numbers = value if isinstance(value, list) else [value]
            size = (register.lane_bits or register.bit_size) // 8
            expected = b"".join(number.to_bytes(size, order) for number in numbers)
            assert found.read_register(register, 0, None) == expected

    def test_a_register_that_is_not_known_is_unavailable(self):
        found = self.make(WAVE64)
        register = WAVE64.target.register_named("v9")
        caught = raised(EvaluationError, found.read_register, register, 0, None)
        assert "v9" in str(caught)
        assert (caught.kind, caught.spec) == ("register_unavailable", "A.2.5.4.4.4")
        rows, flags = found.gather_register(register, u64([0, 4]), 4, 0, None, 2)
        assert rows.shape == (2, 4)
        assert flags.tolist() == [False, False]

    @pytest.mark.parametrize("name", ["s0", "s1", "v1", "v9", "exec"])
    def test_a_register_can_be_written_and_is_known_then(self, name):
        found = self.make(WAVE64)
        register = WAVE64.target.register_named(name)
        data = bytes(i & 0xFF for i in range(register.bit_size // 8))
        found.write_register(register, data, 0, None)
        assert found.read_register(register, 0, None) == data
        other = WAVE64.target.register_named("v2")
        assert found.read_register(other, 0, None)[:4] == (0xFFFF0000).to_bytes(4, "little")

    def test_every_write_is_counted(self):
        found = self.make(WAVE64)
        register, space = WAVE64.target.register_named("v1"), WAVE64.target.space_named("global")
        address = 0x1000
        whole = bytes(register.bit_size // 8)
        counts = [found.changes]
        for write in (
            lambda: found.write_register(register, whole, 0, None),
            lambda: found.write_memory(space, address, b"x", 0, None),
        ):
            write()
            counts.append(found.changes)
        assert counts == sorted(set(counts))
        found.read_memory(space, address, 1, 0, None)
        found.gather_register(register, u64([0, 4]), 4, 0, None, 2)
        assert found.changes == counts[-1]

    @for_every_member
    @given(data=st.data(), state=STATES)
    def test_gathering_registers_is_reading_each(self, data, state):
        found = self.made(state)
        register = state.target.register_named(data.draw(st.sampled_from(["s0", "v1", "v2", "exec", "v9"])))
        whole = register.bit_size // 8
        size = data.draw(st.integers(1, 8))
        offsets = data.draw(st.lists(st.integers(0, whole + 2), min_size=1, max_size=6))
        if data.draw(st.booleans()):
            offsets = [offset - offset % 4 for offset in offsets]
        for argument in (u64(offsets), offsets[0]):
            each = offsets if isinstance(argument, np.ndarray) else [offsets[0]] * len(offsets)
            rows, flags = found.gather_register(register, argument, size, 0, None, len(offsets))
            for row, flag, offset in zip(rows, flags, each, strict=True):
                expected = outcome(found.read_register, register, 0, None)
                known = isinstance(expected, bytes) and offset + size <= whole
                assert flag == known
                assert not known or row.tobytes() == expected[offset : offset + size]

    # --- Memory ---------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("state", [WAVE64, WAVE32, BIG], ids=["wave64", "wave32", "big-endian"])
    def test_memory_is_read(self, state):
        found = self.make(state)
        for name, address, data in state.memory:
            space = state.target.space_named(name)
            assert found.read_memory(space, address, len(data), 0, 0) == data
            assert found.read_memory(space, address + 3, 5, 0, 0) == data[3:8]
            assert found.read_memory(space, address, 0, 0, 0) == b""

    @pytest.mark.parametrize("address,size,first", [(0xFFF, 2, 0xFFF), (0x13FE, 4, 0x1400), (0x1FFF, 2, 0x1FFF)])
    def test_memory_that_is_not_known_is_unavailable(self, address, size, first):
        found = self.make(WAVE64)
        with pytest.raises(EvaluationError, match=f"global#{first:#x}") as caught:
            found.read_memory(WAVE64.target.space_named("global"), address, size, 0, None)
        assert (caught.value.kind, caught.value.spec) == ("memory_unavailable", "A.2.5.4.4.3")

    @pytest.mark.parametrize("name", ["global", "region", "local", "private_wave", "private_lane", "generic"])
    def test_null_and_the_end_of_a_space_are_unavailable(self, name):
        found = self.make(WAVE64)
        space = WAVE64.target.space_named(name)
        for address, size in ((space.null, 1), ((1 << space.address_bits) - 2, 4)):
            assert raised(EvaluationError, found.read_memory, space, address, size, 0, 0).kind == "memory_unavailable"
            assert not found.gather_memory(space, u64([address]), size, 0, u64([0]), 1)[1].any()

    def test_memory_can_be_written(self):
        found = self.make(WAVE64)
        space = WAVE64.target.space_named("global")
        found.write_memory(space, 0x1002, b"abc", 0, None)
        assert found.read_memory(space, 0x1001, 5, 0, None) == b"\x07abc\x23"

    def test_a_write_happens_as_a_whole_or_not_at_all(self):
        found = self.make(WAVE64)
        space = WAVE64.target.space_named("private_lane")
        last = 4 * LANE_DWORDS - 2
        before = found.read_memory(space, last, 2, 0, 5)
        raised(EvaluationError, found.write_memory, space, last, b"abcd", 0, 5)
        assert found.read_memory(space, last, 2, 0, 5) == before

    @for_every_member
    @given(access=accesses(), state=STATES)
    def test_gathering_memory_is_reading_each(self, access, state):
        found = self.made(state)
        space = state.target.space_named(access.name)
        if space is None:  # a lane that this wave does not have
            return
        arguments = (u64(access.addresses), access.size, 0, u64(access.lanes), len(access.addresses))
        rows, flags = found.gather_memory(space, *arguments)
        assert rows.dtype == np.uint8
        for row, flag, address, lane in zip(rows, flags, access.addresses, access.lanes, strict=True):
            expected = outcome(found.read_memory, space, address, access.size, 0, lane)
            assert flag == isinstance(expected, bytes)
            assert not flag or row.tobytes() == expected

    @for_every_member
    @given(access=accesses(), one_address=st.booleans(), one_lane=st.booleans())
    def test_an_address_and_a_lane_may_be_one_for_all(self, access, one_address, one_lane):
        found = self.made(WAVE64)
        space = WAVE64.target.space_named(access.name)
        count = len(access.addresses)
        addresses = access.addresses[0] if one_address else u64(access.addresses)
        lanes = access.lanes[0] if one_lane else u64(access.lanes)
        arguments = (space, addresses, access.size, 0, lanes, count)
        rows, flags = found.gather_memory(*arguments)
        plain, known = Backend.gather_memory(found, *arguments)
        assert flags.tolist() == known.tolist()
        assert (rows[known] == plain[known]).all()

    # --- Views ----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("state", [WAVE64, WAVE32], ids=["wave64", "wave32"])
    def test_a_lane_and_its_wave_see_one_storage(self, state):
        found = self.make(state)
        target = state.target
        size, lane = target.lane_count, 5
        views = [target.space_named(name) for name in ("private_lane", f"private_lane{lane}", "generic")]
        base = 2 << 48
        wave = target.space_named("private_wave")
        for address in (0, 1, 6, 28):
            at = address // 4 * size * 4 + lane * 4 + address % 4
            expected = found.read_memory(wave, at, 1, 0, None)
            for space in views:
                start = address + (base if space.name == "generic" else 0)
                assert found.read_memory(space, start, 1, 0, lane) == expected
        found.write_memory(views[2], base + 6, b"xyz", 0, lane)
        assert found.read_memory(views[0], 6, 3, 0, lane) == b"xyz"

    def test_a_generic_address_means_local_and_global_memory(self):
        found = self.make(WAVE64)
        generic = WAVE64.target.space_named("generic")
        assert found.read_memory(generic, (1 << 48) + 4, 4, 0, None) == bytes([251, 250, 249, 248])
        assert found.read_memory(generic, 0x2000, 4, 0, None) == bytes([0, 1, 2, 3])

    @pytest.mark.parametrize("name,address", [("private_lane", 0), ("generic", 2 << 48)])
    def test_private_memory_needs_a_lane_that_there_is(self, name, address):
        found = self.make(WAVE32)
        space = WAVE32.target.space_named(name)
        assert raised(MissingContext, found.read_memory, space, address, 4, 0, None).kind == "lane"
        caught = raised(EvaluationError, found.read_memory, space, address, 4, 0, 32)
        assert "lane 32" in str(caught)
        assert caught.kind == "memory_unavailable"
        assert found.gather_memory(space, address, 4, 0, u64([32, 1]), 2)[1].tolist() == [False, True]
        assert found.gather_memory(space, address, 4, 0, None, 2)[1].tolist() == [False, False]

    def test_a_generic_address_needs_apertures(self):
        target = resolve("amdgcn-gfx803")
        found = self.make(State(target, {"s0": 1}, []))
        missing = raised(MissingContext, found.read_memory, target.space_named("generic"), 0x1000, 4, 0, 0)
        assert missing.kind == "apertures"
        assert not found.gather_memory(target.space_named("generic"), 0x1000, 4, 0, 0, 2)[1].any()

    # --- Waves ----------------------------------------------------------------------------------------------------

    def test_waves_are_those_the_capabilities_say(self):
        found = self.make(WAVE64)
        register = WAVE64.target.register_named("s0")
        first = found.read_register(register, 0, None)
        private, local = (WAVE64.target.space_named(name) for name in ("private_wave", "local"))
        if not self.capabilities.many_waves:
            assert "there is no wave 1" in str(raised(EvaluationError, found.read_register, register, 1, None))
            assert "there is no wave 1" in str(raised(EvaluationError, found.read_memory, private, 0, 4, 1, None))
            return
        assert found.read_register(register, 1, None) != first
        rows, flags = found.gather_register(register, 0, 4, u64([1, 0, 9]), None, 3)
        assert flags.tolist() == [True, True, False]
        assert rows[1].tobytes() == first != rows[0].tobytes()
        with pytest.raises(EvaluationError) as caught:
            found.read_register(register, 9, None)
        assert caught.value.kind == "register_unavailable"
        for space in (private, local):  # each wave here is in a work-group of its own, and only the first has memory
            assert found.gather_memory(space, 0, 4, u64([1, 0, 9]), 0, 3)[1].tolist() == [False, True, False]
            for wave in (1, 9):
                caught = raised(EvaluationError, found.read_memory, space, 0, 4, wave, None)
                assert caught.kind == "memory_unavailable"

    def test_the_capabilities_are_facts(self):
        facts = self.capabilities
        assert facts.name
        assert facts.instances == facts.many_waves
        for text in (facts.summary, facts.writes, facts.unknown, facts.gathered):
            assert text == text.strip()
            assert text

    # --- Backends that only read ----------------------------------------------------------------------------------

    def made(self, state: State) -> Backend:
        """A backend that holds a state, the same one each time: for tests that change nothing."""
        known = type(self).__dict__.get("_made")
        if known is None:
            known = {}
            type(self)._made = known
        if id(state) not in known:
            known[id(state)] = self.make(state)
        return known[id(state)]
