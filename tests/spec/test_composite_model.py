"""A.2.5.4.4.6 against a model: composites are lists of bits.

A random location is made of registers, memory, implicit values and undefined bits by every operation that builds
locations. The model knows it as a list with one element a bit: where the bit is held (in several places, if the
location has several), or nothing where it is undefined. What the evaluator reads from any bit offset on must be the
bits in the list, and what it writes must change those bits and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from cases_context import DescribedDie, DescribedFrame, DescribedUnit
from hypothesis import assume, given
from hypothesis import strategies as st

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context, DieReference
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Implicit, Location, SingleLocation
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised

FORM = "DW_OP_LLVM_form_aspace_address"
LENGTH = 160
"""So many bits of a longer storage are modelled."""

Bit = tuple[int, ...] | None
"""The atoms (bits of the machine, or constant ones) that hold a bit of an object; None: it is undefined."""


class Stream(NamedTuple):
    """The bits from the position of a location on."""

    bits: tuple[Bit, ...]
    ends: bool
    """Whether the storage ends with the last of them; otherwise there are more."""
    is_undefined: bool = False

    def moved(self, count: int) -> Stream:
        return self if self.is_undefined else Stream(self.bits[count:], self.ends)

    def part(self, offset: int, size: int) -> tuple[Bit, ...]:
        if self.is_undefined:
            return (None,) * size
        assert offset + size <= len(self.bits)
        return self.bits[offset : offset + size]


UNDEFINED = Stream((None,) * LENGTH, ends=False, is_undefined=True)


def stream(atoms: Any, *, ends: bool = True) -> Stream:
    """The stream of bits that are held by one atom each."""
    return Stream(tuple((atom,) for atom in atoms[:LENGTH]), ends and len(atoms) <= LENGTH)


class Node(NamedTuple):
    """A location: the program that makes it, and its bits in each lane."""

    ops: str
    streams: dict[int, Stream]
    is_simple: bool = False
    """Whether the program may stand between pieces: it makes no pieces itself."""

    @property
    def length(self) -> int:
        return min(len(one.bits) for one in self.streams.values())

    @property
    def is_undefined(self) -> bool:
        return all(one.is_undefined for one in self.streams.values())


class World:
    """A machine whose bits are numbered, and some lanes of it."""

    def __init__(self, target: str, order: str, address_size: int, lanes: list[int]) -> None:
        is_generic = target == "generic"
        self.target = resolve(target, **({"byte_order": order, "address_size": address_size} if is_generic else {}))  # type: ignore[arg-type]
        self.order: Any = self.target.byte_order
        self.twins: tuple[int, ...] = ()
        """Registers of the same contents, for a location of several places."""
        self.lanes = lanes
        self.machine = DescribedMachine(self.target)
        self.values: list[int] = []
        self.is_constant: list[bool] = []
        self.registers: dict[int, list[int]] = {}
        self.memory: list[tuple[Any, int, list[int]]] = []

    def atoms(self, data: bytes, *, is_constant: bool = False) -> list[int]:
        """New atoms with the bits of some bytes, in the direction in which the target numbers bits."""
        positions = range(8) if self.order == "little" else range(7, -1, -1)
        first = len(self.values)
        self.values += [byte >> position & 1 for byte in data for position in positions]
        self.is_constant += [is_constant] * (8 * len(data))
        return list(range(first, len(self.values)))

    def add_register(self, number: int, data: bytes) -> None:
        self.machine.describe_register(number, data)
        self.registers[number] = self.atoms(data)

    def add_memory(self, space: int, address: int, data: bytes) -> None:
        known = self.target.space(space)
        assert known is not None
        self.machine.describe_memory(Region(known, address, data))
        self.memory.append((known, address, self.atoms(data)))

    def contents(self) -> list[int]:
        """The bits of the machine as they are now; constants as they were."""
        found = World.__new__(World)
        found.order, found.values, found.is_constant = self.order, [], []
        for number in self.registers:
            register = self.machine.register(number)
            assert register is not None
            found.atoms(self.machine.read_register(register, 0, None))
        for space, address, atoms in self.memory:
            found.atoms(self.machine.read_memory(space, address, len(atoms) // 8, 0, None))
        return found.values + self.values[len(found.values) :]

    def same(self, one: Stream) -> dict[int, Stream]:
        return dict.fromkeys(self.lanes, one)

    # --- Evaluation -----------------------------------------------------------------------------------------------

    def parse(self, ops: str) -> Any:
        form = Format(self.target.address_size, 4, self.order, 5)
        return asm.parse(ops, dialects.get("llvm-user"), form, target=self.target)

    def evaluated(self, ops: str, lanes: list[int], kind: BaseType | None = None) -> list[Any]:
        """What a program gives in some lanes: all of them at once."""
        same = DescribedDie(tuple(self.parse(f"DW_OP_regx {number}") for number in self.twins))
        unit = DescribedUnit(
            base_types=None if kind is None else {1: lambda: kind}, dies={DieReference("unit", 0x10): same}
        )
        context = Context(
            self.target, AMD, self.machine, LaneSet.of(lanes), frame=DescribedFrame(self.machine), unit=unit
        )
        return list(evaluate(self.parse(ops), context))

    def number(self, bits: list[int]) -> int:
        """The number that a stream of bits is: the first bit is the least or the most significant one."""
        return sum(bit << position for position, bit in enumerate(bits if self.order == "little" else reversed(bits)))


def of_bytes(draw: Any, count: int) -> bytes:
    return bytes(draw(st.lists(st.integers(0, 255), min_size=count, max_size=count)))


@st.composite
def generic_worlds(draw: Any) -> World:
    """One lane of a generic target."""
    world = World("generic", draw(st.sampled_from(["little", "big"])), draw(st.sampled_from([4, 8])), [0])
    for number, size in ((0, 8), (1, 4), (2, 3), (3, 24)):
        world.add_register(number, of_bytes(draw, size))
    world.twins = (8, 9)
    same = of_bytes(draw, 8)
    for number in world.twins:
        world.add_register(number, same)
    world.add_memory(0, 0x1000, of_bytes(draw, 24))
    return world


LANE_BYTES = 12
LANE_BASE = 0x20


@st.composite
def gpu_worlds(draw: Any) -> World:
    """Some lanes of a wave."""
    size = draw(st.sampled_from([32, 64]))
    lanes = draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=6, unique=True))
    world = World(f"amdgcn-gfx1100-wave{size}", "little", 8, lanes)
    seed = draw(st.integers(0, 255))
    for number, count in ((VGPR[size], 4 * size), (VGPR[size] + 1, 4 * size), (36, 4), (37, 4)):
        world.add_register(number, bytes((seed + 37 * i * (number + 1) + (i >> 3)) & 0xFF for i in range(count)))
    world.twins = (VGPR[size] + 2, VGPR[size] + 3, VGPR[size] + 4)
    same = bytes((seed + 91 * i + (i >> 4)) & 0xFF for i in range(4 * size))
    for number in world.twins:
        world.add_register(number, same)
    wave = bytes((seed + 73 * i + (i >> 5)) & 0xFF for i in range(size * LANE_BYTES))
    world.add_memory(6, LANE_BASE * size, wave)
    world.add_memory(3, 0x40, of_bytes(draw, 16))
    return world


VGPR = {32: 1536, 64: 2560}


def memory(world: World, index: int, offset: int, ops: Callable[[int], str]) -> Node:
    """A location in the memory that was described, some bytes behind its start."""
    _, address, atoms = world.memory[index]
    return Node(ops(address + offset), world.same(stream(atoms[8 * offset :], ends=False)), is_simple=True)


def implicit(world: World, data: bytes) -> Node:
    atoms = world.atoms(data, is_constant=True)
    return Node(f"DW_OP_implicit_value 0x{data.hex()}", world.same(stream(atoms)), is_simple=True)


def undefined(world: World) -> Node:
    return Node("DW_OP_LLVM_undefined", world.same(UNDEFINED), is_simple=True)


def twins(world: World) -> Node:
    bits = tuple(zip(*(world.registers[number] for number in world.twins), strict=True))
    return Node("DW_OP_call4 0x10", world.same(Stream(bits[:LENGTH], len(bits) <= LENGTH)), is_simple=True)


def generic_leaf(draw: Any, world: World) -> Node:
    kind = draw(st.sampled_from(["register", "register", "twins", "memory", "implicit", "value", "undefined"]))
    if kind == "register":
        number = draw(st.sampled_from([0, 1, 2, 3]))
        return Node(f"DW_OP_regx {number}", world.same(stream(world.registers[number])), is_simple=True)
    if kind == "twins":
        return twins(world)
    if kind == "memory":
        return memory(world, 0, draw(st.integers(0, 16)), lambda address: f"DW_OP_addr {address}")
    if kind == "implicit":
        return implicit(world, of_bytes(draw, draw(st.integers(1, 9))))
    if kind == "value":
        data = of_bytes(draw, world.target.address_size)
        atoms = world.atoms(data, is_constant=True)
        number = int.from_bytes(data, world.order)
        return Node(f"DW_OP_constu {number}; DW_OP_stack_value", world.same(stream(atoms)), is_simple=True)
    return undefined(world)


def gpu_leaf(draw: Any, world: World) -> Node:
    size = world.target.lane_count
    kind = draw(
        st.sampled_from(
            ["vgpr", "element", "sgpr", "twins", "lane", "wave", "local", "implicit", "lane value", "undefined"]
        )
    )
    if kind == "vgpr":
        number = VGPR[size] + draw(st.integers(0, 1))
        return Node(f"DW_OP_regx {number}", world.same(stream(world.registers[number])), is_simple=True)
    if kind == "element":
        number = VGPR[size] + draw(st.integers(0, 1))
        ops = f"DW_OP_regx {number}; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset"
        return Node(ops, {i: stream(world.registers[number][32 * i :]) for i in world.lanes}, is_simple=True)
    if kind == "twins":
        return twins(world)
    if kind == "sgpr":
        number = draw(st.sampled_from([36, 37]))
        return Node(f"DW_OP_regx {number}", world.same(stream(world.registers[number])), is_simple=True)
    if kind == "lane":
        offset = draw(st.integers(0, 8))
        streams = {i: stream(lane_atoms(world, i)[8 * offset :], ends=False) for i in world.lanes}
        return Node(f"DW_OP_constu {LANE_BASE + offset}; DW_OP_lit5; {FORM}", streams, is_simple=True)
    if kind == "wave":
        return memory(world, 0, draw(st.integers(0, 64)), lambda address: f"DW_OP_constu {address}; DW_OP_lit6; {FORM}")
    if kind == "local":
        return memory(world, 1, draw(st.integers(0, 12)), lambda address: f"DW_OP_constu {address}; DW_OP_lit3; {FORM}")
    if kind == "implicit":
        return implicit(world, of_bytes(draw, draw(st.integers(1, 9))))
    if kind == "lane value":
        factor = draw(st.integers(0, 1 << 40))
        data = {i: (i * factor).to_bytes(8, "little") for i in world.lanes}
        streams = {i: stream(world.atoms(data[i], is_constant=True)) for i in world.lanes}
        ops = f"DW_OP_LLVM_push_lane; DW_OP_constu {factor}; DW_OP_mul; DW_OP_stack_value"
        return Node(ops, streams, is_simple=True)
    return undefined(world)


def lane_atoms(world: World, lane: int) -> list[int]:
    """The bits of a lane's memory: in the memory of its wave, dwords of the lanes are interleaved."""
    size = world.target.lane_count
    _, base, atoms = world.memory[0]
    found = []
    for address in range(LANE_BASE, LANE_BASE + LANE_BYTES):
        in_wave = address // 4 * size * 4 + lane * 4 + address % 4 - base  # AMDGPU usage, "Address Space Mapping"
        found += atoms[8 * in_wave : 8 * in_wave + 8]
    return found


def location(draw: Any, world: World, depth: int) -> Node:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        found = gpu_leaf(draw, world) if world.target.lane_count > 1 else generic_leaf(draw, world)
    else:
        found = draw(st.sampled_from([pieces, pieces, extended, selected, overlaid]))(draw, world, depth - 1)
    return moved(draw, world, found) if draw(st.integers(0, 2)) == 0 else found


def size_within(draw: Any, limit: int) -> int:
    """A number of bits: often one of whole bytes, never more than a limit."""
    return min(draw(st.one_of(st.integers(1, 5).map(lambda count: 8 * count), st.integers(0, 40))), limit)


def room(node: Node) -> int:
    """How many bits a location has for parts of it."""
    return LENGTH if node.is_undefined else node.length


def moved(draw: Any, world: World, node: Node) -> Node:
    """The location at another offset: the same in all lanes, or a different one in each."""
    if node.length < 2:
        return node
    if draw(st.booleans()) or world.lanes == [0]:
        count = draw(st.integers(0, node.length - 1))
        operation = f"DW_OP_constu {count}; DW_OP_LLVM_bit_offset"
        if count % 8 == 0 and draw(st.booleans()):
            operation = f"DW_OP_LLVM_offset_uconst {count // 8}"
        streams = {lane: one.moved(count) for lane, one in node.streams.items()}
        return node._replace(ops=f"{node.ops}; {operation}", streams=streams)
    factor = draw(st.integers(1, 40))
    limit = draw(st.integers(1, node.length - 1))
    count = f"DW_OP_LLVM_push_lane; DW_OP_constu {factor}; DW_OP_mul; DW_OP_constu {limit}; DW_OP_mod"
    streams = {lane: one.moved(lane * factor % limit) for lane, one in node.streams.items()}
    return node._replace(ops=f"{node.ops}; {count}; DW_OP_LLVM_bit_offset", streams=streams)


def pieces(draw: Any, world: World, depth: int) -> Node:
    """DW_OP_piece and DW_OP_bit_piece, closed by DW_OP_LLVM_piece_end."""
    before: list[str] = []
    program: list[str] = []
    bits: dict[int, tuple[Bit, ...]] = dict.fromkeys(world.lanes, ())
    parts = [location(draw, world, depth) for _ in range(draw(st.integers(1, 4)))]
    outside = [node for node in parts if not node.is_simple]  # these are made first, and copied when their turn comes
    for index, node in enumerate(parts):
        if index and draw(st.integers(0, 7)) == 0:  # a part without a location
            size = draw(st.integers(0, 20))
            program.append(f"DW_OP_bit_piece {size} 3")
            bits = {lane: found + (None,) * size for lane, found in bits.items()}
        if node.is_simple:
            program.append(node.ops)
        else:
            position = next(i for i, one in enumerate(outside) if one is node)
            program.append(f"DW_OP_pick {len(outside) - 1 - position + (1 if program else 0)}")
        offset = draw(st.integers(0, max(0, min(room(node) - 1, 30)))) if draw(st.booleans()) else 0
        size = size_within(draw, room(node) - offset)
        is_piece = offset == 0 and size % 8 == 0 and draw(st.booleans())
        program.append(f"DW_OP_piece {size // 8}" if is_piece else f"DW_OP_bit_piece {size} {offset}")
        bits = {lane: found + node.streams[lane].part(offset, size) for lane, found in bits.items()}
    before = [node.ops for node in outside]
    ops = "; ".join([*before, *program, "DW_OP_LLVM_piece_end", *(["DW_OP_swap; DW_OP_drop"] * len(outside))])
    return Node(ops, {lane: Stream(found, ends=True) for lane, found in bits.items()})


def extended(draw: Any, world: World, depth: int) -> Node:
    node = location(draw, world, depth)
    size = size_within(draw, room(node))
    if size == 0:
        return node
    count = draw(st.integers(1, 5))
    streams = {lane: Stream(one.part(0, size) * count, ends=True) for lane, one in node.streams.items()}
    return Node(f"{node.ops}; DW_OP_LLVM_extend {size} {count}", streams)


def selected(draw: Any, world: World, depth: int) -> Node:
    """DW_OP_LLVM_select_bit_piece, with one mask or one for each lane."""
    zero, one = location(draw, world, depth), location(draw, world, depth)
    limit = min(room(zero), room(one))
    size = size_within(draw, min(limit, 24))
    if size == 0:
        return zero
    count = draw(st.integers(1, min(12, limit // size)))
    factor, mask = draw(st.integers(0, 0xFFFF)), draw(st.integers(0, 0xFFFFFF))
    masks = dict.fromkeys(world.lanes, mask)
    ops = f"DW_OP_constu {mask}"
    if world.lanes != [0] and draw(st.booleans()):
        ops += f"; DW_OP_LLVM_push_lane; DW_OP_constu {factor}; DW_OP_mul; DW_OP_plus"
        masks = {lane: mask + lane * factor for lane in world.lanes}
    streams = {}
    for lane in world.lanes:
        bits: tuple[Bit, ...] = ()
        for index in range(count):
            source = one if masks[lane] >> index & 1 else zero
            bits += source.streams[lane].part(index * size, size)
        streams[lane] = Stream(bits, ends=True)
    return Node(f"{zero.ops}; {one.ops}; {ops}; DW_OP_LLVM_select_bit_piece {size} {count}", streams)


def overlaid(draw: Any, world: World, depth: int) -> Node:
    """DW_OP_LLVM_overlay and DW_OP_LLVM_bit_overlay, at one offset or at one for each lane."""
    base, top = location(draw, world, depth), location(draw, world, depth)
    limit = room(base)
    whole = draw(st.integers(0, 5)) == 0
    size = min(limit, room(top)) if whole else size_within(draw, min(limit, room(top)))
    offset = draw(st.integers(0, limit - size)) if not whole else 0
    offsets = dict.fromkeys(world.lanes, offset)
    ops = f"DW_OP_constu {offset}; DW_OP_constu {size}; DW_OP_LLVM_bit_overlay"
    if offset and world.lanes != [0] and draw(st.booleans()):
        ops = f"DW_OP_LLVM_push_lane; DW_OP_constu {offset}; DW_OP_mod; DW_OP_constu {size}; DW_OP_LLVM_bit_overlay"
        offsets = {lane: lane % offset for lane in world.lanes}
    elif offset % 8 == size % 8 == 0 and draw(st.booleans()):
        ops = f"DW_OP_constu {offset // 8}; DW_OP_constu {size // 8}; DW_OP_LLVM_overlay"
    streams = {lane: overlay(base.streams[lane], top.streams[lane], offsets[lane], size) for lane in world.lanes}
    return Node(f"{base.ops}; {top.ops}; {ops}", streams)


def overlay(base: Stream, top: Stream, offset: int, size: int) -> Stream:
    """A.2.5.4.4.6 (7), as its steps have it."""
    if size == 0:
        return base
    if offset == 0 and base.ends and size == len(base.bits):
        return top
    return Stream((base.bits[:offset] + top.part(0, size) + base.bits[offset + size :]), base.ends)


@st.composite
def cases(draw: Any, worlds: Any) -> tuple[World, Node]:
    world = draw(worlds)
    return world, location(draw, world, draw(st.integers(1, 3)))


@st.composite
def reads(draw: Any, worlds: Any) -> tuple[World, Node, int, int]:
    """A location, and the offset and the size of a read from it."""
    world, node = draw(cases(worlds))
    offset = draw(st.integers(0, node.length - 1)) if node.length else 0
    return world, node, offset, min(draw(st.one_of(st.integers(0, 80), st.just(node.length))), node.length - offset)


def at(node: Node, offset: int) -> str:
    return f"{node.ops}; DW_OP_constu {offset}; DW_OP_LLVM_bit_offset" if node.length else node.ops


def expected(world: World, node: Node, lane: int, offset: int, size: int) -> tuple[int, int]:
    """The bits that a read gives, and those that are undefined."""
    bits = node.streams[lane].part(offset, size)
    values = [0 if bit is None else world.values[bit[0]] for bit in bits]
    return world.number(values), world.number([int(bit is None) for bit in bits])


WORLDS = {"one lane": generic_worlds(), "lanes": gpu_worlds()}


@pytest.mark.parametrize("kind", WORLDS)
@given(data=st.data())
def test_a_read_gives_the_bits_of_the_parts(kind, data):
    world, node, offset, size = data.draw(reads(WORLDS[kind]))
    found = world.evaluated(at(node, offset), world.lanes)
    accessor = Accessor(world.machine, world.order)
    for lane, result in zip(world.lanes, found, strict=True):
        if isinstance(result, DwarfGpuError):
            raise result
        reading = accessor.read(result, size)
        assert (reading.bits, reading.undefined) == expected(world, node, lane, offset, size), node.ops


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.sampled(4)
@given(data=st.data())
def test_dereferencing_gives_the_bits_or_says_that_some_are_undefined(kind, data):
    """In all lanes at once, and in each lane alone."""
    world, node, offset, size = data.draw(reads(WORLDS[kind]))
    assume(size)
    integer = BaseType("unsigned", size)
    ops = f"{at(node, offset)}; DW_OP_deref_type {integer.byte_size} 1"
    for lane, result in zip(world.lanes, world.evaluated(ops, world.lanes, integer), strict=True):
        bits, missing = expected(world, node, lane, offset, size)
        for one in (result, *world.evaluated(ops, [lane], integer)):
            found = one.kind if isinstance(one, DwarfGpuError) else one.bits
            assert found == ("undefined_read" if missing else bits), ops


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
@given(data=st.data(), excess=st.integers(1, 9))
def test_a_read_past_the_storage_is_an_error(kind, data, excess):
    world, node = data.draw(cases(WORLDS[kind]))
    found = world.evaluated(node.ops, world.lanes)
    accessor = Accessor(world.machine, world.order)
    for lane, result in zip(world.lanes, found, strict=True):
        if not node.streams[lane].ends:
            continue
        caught = raised(DwarfGpuError, accessor.read, result, len(node.streams[lane].bits) + excess)
        assert caught.kind == "read_past_storage"


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_a_write_changes_the_bits_of_the_parts_and_no_others(kind, data, random):
    """To all places of each bit. A location with an undefined or a constant bit cannot be written at all."""
    world, node, offset, size = data.draw(reads(WORLDS[kind]))
    assume(size)
    found = world.evaluated(at(node, offset), world.lanes)
    accessor = Accessor(world.machine, world.order)
    state = list(world.values)
    for lane, result in zip(world.lanes, found, strict=True):
        bits = node.streams[lane].part(offset, size)
        written = [random.randrange(2) for _ in bits]
        number = world.number(written)
        if any(bit is None or any(world.is_constant[atom] for atom in bit) for bit in bits):
            assert raised(DwarfGpuError, accessor.write, result, size, number).kind == "not_writable"
            assert world.contents() == state, node.ops
            continue
        accessor.write(result, size, number)
        wanted: dict[int, set[int]] = {}
        for bit, value in zip(bits, written, strict=True):
            for atom in bit or ():
                wanted.setdefault(atom, set()).add(value)
        now = world.contents()
        for atom, (old, new) in enumerate(zip(state, now, strict=True)):
            # One bit of the machine may be several of the object; which value it has then is not said.
            assert new in wanted.get(atom, {old}), (node.ops, atom)
        state = now


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
@given(data=st.data(), number=st.integers(0, (1 << 200) - 1))
def test_what_is_written_is_read_back(kind, data, number):
    world, node, offset, size = data.draw(reads(WORLDS[kind]))
    assume(size)
    number &= (1 << size) - 1
    accessor = Accessor(world.machine, world.order)
    for lane, result in zip(world.lanes, world.evaluated(at(node, offset), world.lanes), strict=True):
        bits = node.streams[lane].part(offset, size)
        atoms = [atom for bit in bits for atom in bit or ()]
        if None in bits or len(set(atoms)) < len(atoms) or any(world.is_constant[atom] for atom in atoms):
            continue
        accessor.write(result, size, number)
        assert accessor.read(result, size).bits == number, node.ops


@pytest.mark.spec("A.2.5.4.3.4 (4)")
@pytest.mark.parametrize("use", ["read", "write"])
def test_an_access_past_a_storage_is_called_what_it_is(use):
    accessor = Accessor(DescribedMachine(resolve("x86_64")), "little")
    location = Location((SingleLocation(Implicit(1, 8), 0),))
    with pytest.raises(DwarfGpuError) as caught:
        accessor.read(location, 16) if use == "read" else accessor.write(location, 16, 0)
    assert caught.value.kind == "read_past_storage"
    assert f"the {use} of 16 bits" in str(caught.value)
