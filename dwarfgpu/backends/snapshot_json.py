"""A snapshot as one JSON object, wave by wave, which a person can write; its first part is that of folders, too."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.backends.columns import unit_bits, unit_count
from dwarfgpu.backends.machine import NONE, Dispatch, LoadedCodeObject
from dwarfgpu.backends.memory import Region
from dwarfgpu.backends.protocol import REASONS, WaveStop, signal_of, stop_json
from dwarfgpu.backends.typed_contents import (
    COMMENT,
    FORMS,
    chosen,
    form_of,
    lanes_of,
    noting,
    read_contents,
    register_bytes,
    typed_bytes,
)
from dwarfgpu.errors import UsageError
from dwarfgpu.progress import counted
from dwarfgpu.targets.amdgpu.address_spaces import SIZE, Apertures, LaneView
from dwarfgpu.targets.amdgpu.numbers import PRIVATE_WAVE
from dwarfgpu.targets.resolve import declared_spaces, resolve, with_spaces
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

    Json = dict[str, Any]

# --- What both forms of a snapshot have: target, apertures, code objects and dispatches ---------------------------

SCHEMA = 1
MANIFEST = "manifest.json"
"""The file of this part in a folder."""
KEYS = ("byte_order", "address_size", "spaces", "apertures", "code_objects", "dispatches", "comment")
"""The keys of this part that may be absent."""

MAX_ID_BITS = 63


def _read_target(fields: dict[str, Node]) -> Target:
    """Check the schema, and return the target."""
    schema = fields["schema"].integer()
    if schema != SCHEMA:
        raise fields["schema"].fail(f"schema {schema} is not known", hint=f"only schema {SCHEMA} is")
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    size = fields["address_size"].unsigned() if "address_size" in fields else None
    try:
        target = resolve(fields["target"].string(), byte_order=order, address_size=size)
    except UsageError as error:
        raise fields["target"].fail(error.message, hint=error.hint) from None
    return with_spaces(target, fields["spaces"]) if "spaces" in fields else target


def read_head(
    node: Node, others: tuple[str, ...], make: Callable[[Target], Machine]
) -> tuple[Machine, dict[str, Node]]:
    """Return a machine with everything except the waves, and the fields, of which a form has some others."""
    warnings: list[DwarfGpuError] = []
    fields = node.fields(("schema", "target", "waves"), (*KEYS, *others), warnings)
    machine = make(_read_target(fields))
    machine.warnings = warnings
    machine.target_name = fields["target"].string()
    if "apertures" in fields:
        bases = fields["apertures"].fields(("shared", "private"))
        try:
            machine.set_apertures(Apertures(bases["shared"].unsigned(64), bases["private"].unsigned(64)))
        except UsageError as error:
            raise fields["apertures"].fail(error.message) from None
    if "code_objects" in fields:
        machine.code_objects += [_code_object(item, warnings) for item in fields["code_objects"].items()]
    for item in fields["dispatches"].items() if "dispatches" in fields else ():
        dispatch = _dispatch(item, warnings)
        if any(other.id == dispatch.id for other in machine.dispatches):
            raise item.fail(f"there are two dispatches with the id {dispatch.id}")
        machine.dispatches.append(dispatch)
    return machine, fields


def _code_object(node: Node, warnings: list[DwarfGpuError]) -> LoadedCodeObject:
    fields = node.fields(("path",), ("load_address", "sha256", "comment"), warnings)
    digest = fields["sha256"].string() if "sha256" in fields else None
    if digest is not None and (len(digest) != 64 or len(fields["sha256"].bytes()) != 32):
        raise fields["sha256"].fail("a SHA-256 hash has 64 hex digits")
    path = fields["path"].string()
    if not path or "\0" in path:
        raise fields["path"].fail("this is not the path of a file")
    address = fields["load_address"].unsigned(64) if "load_address" in fields else None
    return LoadedCodeObject(path, address, digest)


def _dispatch(node: Node, warnings: list[DwarfGpuError]) -> Dispatch:
    names = ("kernel", "grid", "work_group", "kernarg", "queue", "packet", "comment")
    fields = node.fields(("id",), names, warnings)
    addresses = {name: fields[name].unsigned(64) if name in fields else None for name in ("kernarg", "queue", "packet")}
    return Dispatch(
        id=fields["id"].unsigned(MAX_ID_BITS),
        kernel=fields["kernel"].string() if "kernel" in fields else None,
        grid=three(fields["grid"], at_least=1) if "grid" in fields else None,
        work_group=three(fields["work_group"], at_least=1) if "work_group" in fields else None,
        **addresses,
    )


def three(node: Node, at_least: int = 0) -> tuple[int, int, int]:
    """Return three numbers: x, y and z."""
    items = node.items()
    if len(items) != 3:
        raise node.fail(f"three numbers are needed, found {len(items)}")
    x, y, z = (item.unsigned(32, at_least=at_least) for item in items)
    return x, y, z


def write_head(machine: Machine, paths: list[str]) -> Json:
    """Return the part of a snapshot before its waves; ``paths`` are those of the code objects."""
    head: Json = {"schema": SCHEMA, "target": machine.target_name}
    if machine.target.name == "generic":  # the name of every other target says it
        head["byte_order"], head["address_size"] = machine.target.byte_order, machine.target.address_size
        spaces = declared_spaces(machine.target)
        if spaces:
            head["spaces"] = spaces
    if machine.apertures is not None:
        bases = {"shared": machine.apertures.shared, "private": machine.apertures.private}
        head["apertures"] = {name: hex(base) for name, base in bases.items()}
    if machine.code_objects:
        head["code_objects"] = [
            _known(path=path, load_address=_hex(code.load_address), sha256=code.sha256)
            for code, path in zip(machine.code_objects, paths, strict=True)
        ]
    if machine.dispatches:
        head["dispatches"] = [
            _known(
                id=dispatch.id,
                kernel=dispatch.kernel,
                grid=dispatch.grid and list(dispatch.grid),
                work_group=dispatch.work_group and list(dispatch.work_group),
                kernarg=_hex(dispatch.kernarg),
                queue=_hex(dispatch.queue),
                packet=_hex(dispatch.packet),
            )
            for dispatch in machine.dispatches
        ]
    return head


def _known(**values: Any) -> Json:
    return {key: value for key, value in values.items() if value is not None}


def _hex(number: int | None) -> str | None:
    return None if number is None else hex(number)


# --- Why a wave has stopped, in both forms -----------------------------------------------------------------------


def read_stop(fields: dict[str, Node], machine: Machine) -> WaveStop | None:
    """Return why a wave has stopped; None if the snapshot does not say."""
    detail = fields["stop_detail"].string() if "stop_detail" in fields else ""
    if "stop" not in fields:
        return WaveStop(detail=detail) if detail else None
    own = fields["stop"].fields(("reasons",), ("signal", "lanes", "address", COMMENT), machine.warnings)
    reasons = tuple(node.choice(REASONS) for node in own["reasons"].items())
    signal = signal_of(reasons)
    if "signal" in own and own["signal"].string() != signal:
        raise own["signal"].fail(f"the signal of these reasons is {signal}", hint="the key can be left out")
    lanes = own["lanes"].unsigned(machine.target.lane_count) if "lanes" in own else None
    return WaveStop(reasons, lanes, own["address"].unsigned(64) if "address" in own else None, detail)


# --- The waves ----------------------------------------------------------------------------------------------------

STOP_KEYS = ("stop", "stop_detail")
WAVE_KEYS = ("id", "dispatch", "work_group", "wave_in_group", "pc", "exec", "registers", *STOP_KEYS, "comment")
OWN_KEYS = ("pc", "exec")
"""Registers with a key of their own beside ``registers``."""

_PLACE = re.compile(r"\s*[^\s0-9+-]")
"""How the name of a place in the code begins: no number does."""
MAX_JOINED = 32
"""The most registers of one value: 1024 bits are the widest operands of instructions."""
_JOINED = re.compile(r"([A-Za-z]+)\[(\d{1,6}):(\d{1,6})\]")

MAX_REGISTER_BYTES = 1 << 32
"""The limit for the columns of all waves, as a short text could request very many."""


# --- Reading ------------------------------------------------------------------------------------------------------


def read_machine(node: Node, make: Callable[[Target], Machine]) -> Machine:
    """Return the machine that a snapshot describes; raise the error of the node that is wrong."""
    machine, fields = read_head(node, ("memory",), make)
    waves = [_Wave(item, machine) for item in fields["waves"].items()]
    _add_waves(machine, waves)
    _set_registers(machine, waves, fields["waves"])
    machine.named_pcs = {index: wave.pc_name for index, wave in enumerate(waves) if wave.pc_name is not None}
    if "memory" in fields:
        groups = _waves_by_place(machine)
        regions = [(item, region) for item in fields["memory"].items() for region in _regions(item, machine, groups)]
        _map(machine, [region for _item, region in regions], [item for item, _region in regions])
    return machine


class _Wave:
    """The description of a wave."""

    __slots__ = ("dispatch", "id", "node", "pc_name", "registers", "stop", "wave_in_group", "work_group")

    def __init__(self, node: Node, machine: Machine) -> None:
        fields = node.fields((), WAVE_KEYS, machine.warnings)
        self.node = node
        self.id = fields["id"].string() if "id" in fields else None
        if self.id is not None and "\0" in self.id:  # the arrays of the other form end text there
            raise fields["id"].fail("an id has no NUL character")
        self.dispatch = NONE
        if "dispatch" in fields:
            number = fields["dispatch"].unsigned(63)
            ids = [dispatch.id for dispatch in machine.dispatches]
            if number not in ids:
                raise fields["dispatch"].fail(f"no dispatch has the id {number}")
            self.dispatch = ids.index(number)
        self.work_group = three(fields["work_group"]) if "work_group" in fields else (NONE, NONE, NONE)
        self.wave_in_group = fields["wave_in_group"].unsigned(32) if "wave_in_group" in fields else NONE
        self.stop = read_stop(fields, machine)
        self.registers: dict[int, tuple[TargetRegister, bytes, int]] = {}
        self.pc_name: str | None = None
        """The place in a code object that its program counter is, such as ``k+0x2b0``."""
        for key in OWN_KEYS:
            if key not in fields:
                continue
            text = fields[key].value
            if key == "pc" and type(text) is str and _PLACE.match(text):
                self.pc_name = text
            else:
                self._add(key, fields[key], fields[key], machine)
        for name, value in fields["registers"].entries() if "registers" in fields else ():
            self._add(name.string(), name, value, machine)

    def _add(self, name: str, key: Node, value: Node, machine: Machine) -> None:
        order = machine.target.byte_order
        registers = [_register(part, key, machine) for part in _joined_names(name, key)]
        for register in registers:
            if register.number in self.registers or registers.count(register) > 1:
                raise key.fail(f"register {register.name} is given twice")
        if value.value is None or (value.is_object and form_of(value)[1].value is None):  # it is not known
            return
        if len(registers) == 1:
            self.registers[registers[0].number] = registers[0], *contents(value, registers[0], order)
            return
        if len({(register.bit_size, register.lane_bits) for register in registers}) > 1:
            raise key.fail("the registers have several sizes")
        for register, data, unknown in joined_contents(value, registers, order):
            self.registers[register.number] = register, data, unknown


def _joined_names(name: str, key: Node) -> list[str]:
    """Return the names of registers in what assemblers write for several: ``v[2:3]`` is v2 and v3."""
    match = _JOINED.fullmatch(name)
    if match is None:
        return [name]
    first, last = int(match[2]), int(match[3])
    if not first <= last < first + MAX_JOINED:
        raise key.fail(f"{name[:40]} is not 1 to {MAX_JOINED} registers")
    return [f"{match[1]}{number}" for number in range(first, last + 1)]


def _register(name: str, key: Node, machine: Machine) -> TargetRegister:
    """Return a register by its name or its DWARF number."""
    register = machine.register_named(name)
    if register is None and name.isdecimal() and len(name) < 20:
        register = machine.register(int(name))
    if register is None:
        raise key.fail(f"{machine.target.name} has no register {name[:80]!r}")
    return register


def contents(node: Node, register: TargetRegister, byte_order: str) -> tuple[bytes, int]:
    """Return the bytes of a register, and the lanes of a vector register that are not given, as a mask.

    They are a number, bytes, or one number a lane, where null is a lane that is not known.
    """
    if not register.lane_bits:
        with noting(node):
            return register_bytes(read_contents(node, register.bit_size), register, byte_order), 0
    described, missing = lanes_of(node, register.lane_bits, register.bit_size // register.lane_bits)
    with noting(node):
        return register_bytes(described, register, byte_order), sum(1 << lane for lane in missing)


def joined_contents(
    node: Node, registers: list[TargetRegister], byte_order: str
) -> Iterator[tuple[TargetRegister, bytes, int]]:
    """Yield what several registers hold together, such as the two of a double, in the order of memory."""
    lane_bits = registers[0].lane_bits
    parts = len(registers)
    count = registers[0].bit_size // lane_bits if lane_bits else 1
    whole = evolve(
        registers[0],
        name=f"{registers[0].name} to {registers[-1].name}",
        bit_size=parts * registers[0].bit_size,
        lane_bits=parts * lane_bits,
    )
    data, unknown = contents(node, whole, byte_order)
    size = len(data) // count // parts
    for index, register in enumerate(registers):
        starts = range(index * size, len(data), parts * size)
        yield register, b"".join(data[start : start + size] for start in starts), unknown


def _add_waves(machine: Machine, waves: list[_Wave]) -> None:
    ids = [str(index) if wave.id is None else wave.id for index, wave in enumerate(waves)]
    seen: dict[str, int] = {}
    for index, name in enumerate(ids):
        if name in seen:
            raise waves[index].node.fail(f"the id {name!r} is that of waves[{seen[name]}] too")
        seen[name] = index
    machine.add_waves(
        len(waves),
        dispatch=[wave.dispatch for wave in waves],
        work_group=[wave.work_group for wave in waves] or NONE,
        wave_in_group=[wave.wave_in_group for wave in waves],
        ids=ids,
    )
    machine.stops = {index: wave.stop for index, wave in enumerate(waves) if wave.stop is not None}


def _set_registers(machine: Machine, waves: list[_Wave], node: Node) -> None:
    registers = {number: contents[0] for wave in waves for number, contents in wave.registers.items()}
    size = sum(unit_count(register) * unit_bits(register) // 8 for register in registers.values())
    if size * len(waves) > MAX_REGISTER_BYTES:
        message = f"{len(registers)} registers of {len(waves)} waves are too many for this form"
        raise node.fail(message, hint="the .dgs form has no such limit")
    machine.allocate_registers([registers[number] for number in sorted(registers)])
    for index, wave in enumerate(waves):
        for register, data, unknown in wave.registers.values():
            machine.write_register(register, data, index, None)
            machine.set_unknown_lanes(register, index, unknown)


def _regions(node: Node, machine: Machine, groups: dict[tuple[int, ...], list[int]]) -> Iterator[Region]:
    """Yield what an item says of memory: one stretch, or of private memory without a lane one for each lane."""
    owners = ("dispatch", "work_group", "wave", "lane")
    fields = node.fields(("space", "address"), (*owners, *FORMS, COMMENT), machine.warnings)
    name, value = chosen(node, fields)
    space = _space(fields["space"], machine.target)
    address = fields["address"].unsigned(space.address_bits)
    wave, lane = _owner(node, fields, space, machine, groups)
    values: list[tuple[int | None, Node]] = [(lane, value)]
    if space.scope == Scope.LANE and lane is None:
        count = machine.target.lane_count
        items = value.items() if value.is_list else [value] * count
        if len(items) > count:
            raise value.fail(f"a wave has {count} lanes, not {len(items)}")
        values = list(enumerate(items))
    for number, item in values:
        if item.value is None:  # it is not known
            continue
        data = typed_bytes(name, item, machine.target.byte_order)
        if address + len(data) > 1 << space.address_bits:
            raise node.fail(f"{len(data)} bytes at {space.name}#{address:#x} reach past the end of the address space")
        yield Region(space, address, data, number, wave)


def _owner(
    node: Node, fields: dict[str, Node], space: AddressSpace, machine: Machine, groups: dict[tuple[int, ...], list[int]]
) -> tuple[int, int | None]:
    """Return whose memory an item is about: a wave, or any of a work-group, and a lane."""
    takes = {Scope.WORKGROUP: ("dispatch", "work_group"), Scope.WAVE: ("wave",), Scope.LANE: ("wave", "lane")}
    for key in ("dispatch", "work_group", "wave", "lane"):
        if key in fields and key not in takes.get(space.scope, ()):
            raise fields[key].fail(f"{space.name} memory does not belong to a {key.replace('_', '-')}")
    for key in takes.get(space.scope, ()):
        if key not in fields and key not in ("dispatch", "lane"):
            raise node.fail(f"{space.name} memory belongs to a {key.replace('_', '-')}: the key {key!r} is missing")
    wave, lane = 0, None
    if "work_group" in fields:
        wave = _wave_of_group(node, fields, machine, groups)
    if "wave" in fields:
        index = machine.wave_named(fields["wave"].string())
        if index is None:
            raise fields["wave"].fail(f"no wave has the id {fields['wave'].string()[:80]!r}")
        wave = index
    if "lane" in fields:
        lane = fields["lane"].unsigned(32)
        if lane >= machine.target.lane_count:
            raise fields["lane"].fail(f"a wave has {machine.target.lane_count} lanes, not a lane {lane}")
    return wave, lane


def _space(node: Node, target: Target) -> AddressSpace:
    space = target.space_named(node.string())
    stored = [
        candidate for candidate in target.spaces() if candidate.alias is None or isinstance(candidate.alias, LaneView)
    ]
    if space is None or space not in stored:
        why = "has no such address space" if space is None else "keeps no bytes in it: it is a view of others"
        names = ", ".join(candidate.name for candidate in stored if candidate.number < 0x20)
        raise node.fail(f"{target.name} {why}", hint=f"memory is given as {names}")
    return space


def _waves_by_place(machine: Machine) -> dict[tuple[int, ...], list[int]]:
    """Return the waves at each position of a work-group in a grid."""
    waves: dict[tuple[int, ...], list[int]] = {}
    for index in range(machine.wave_count):
        waves.setdefault(machine.place_of(index)[1], []).append(index)
    return waves


def _wave_of_group(
    node: Node, fields: dict[str, Node], machine: Machine, groups: dict[tuple[int, ...], list[int]]
) -> int:
    """Return a wave of the work-group that a region names."""
    place = three(fields["work_group"])
    waves = groups.get(place, [])
    if "dispatch" in fields:
        number = fields["dispatch"].unsigned(63)
        known = {index: dispatch.id for index, dispatch in enumerate(machine.dispatches)}
        waves = [wave for wave in waves if known.get(machine.place_of(wave)[0]) == number]
    else:  # those of no dispatch come first: nothing else could name them
        waves = [wave for wave in waves if machine.place_of(wave)[0] == NONE] or waves
    if not waves:
        raise fields["work_group"].fail(f"no wave is in the work-group {list(place)}")
    if len({machine.place_of(wave)[0] for wave in waves}) > 1:
        raise node.fail(f"several dispatches have a work-group {list(place)}: the key 'dispatch' is missing")
    return waves[0]


def _map(machine: Machine, regions: list[Region], nodes: list[Node]) -> None:
    """Give the machine its memory. Neighbours become one extent; a byte that is given twice is an error."""
    groups = machine.group_numbers
    pieces: dict[int, list[tuple[int, int, bytes, int]]] = {}
    for index, region in enumerate(regions):
        position = 0
        owner = groups[region.wave] if region.space.scope == Scope.WORKGROUP else region.wave
        for number, start, length in machine.memory.pieces(region.space, region.address, len(region.data), region.lane):
            if number == PRIVATE_WAVE and start + length > SIZE:
                raise nodes[index].fail(f"no wave has private memory for {region.space.name}#{region.address:#x}")
            data = region.data[position : position + length]
            pieces.setdefault(number, []).append((owner, start, data, index))
            position += length
    for number, own in pieces.items():
        own.sort(key=lambda piece: piece[:2])
        extents: list[list[int]] = []
        for (owner, start, data, index), before in zip(own, [None, *own], strict=False):
            if before is not None and before[0] == owner and start < before[1] + len(before[2]):
                last = max(index, before[3])
                where = nodes[min(index, before[3])].path
                raise nodes[last].fail(f"it overlaps {where}: a byte is given twice")
            if extents and extents[-1][0] == owner and extents[-1][1] + extents[-1][2] == start:
                extents[-1][2] += len(data)
            else:
                extents.append([owner, start, len(data)])
        owners, starts, sizes = zip(*extents, strict=True) if extents else ((), (), ())
        whole = bytearray(b"".join(piece[2] for piece in own))
        machine.memory.map_all(machine.target.space(number), owners, starts, sizes, whole)  # type: ignore[arg-type]


# --- Writing ------------------------------------------------------------------------------------------------------


def chunks(machine: Machine, paths: list[str]) -> Iterator[str]:
    """Yield the text of a snapshot, with one line for each wave and each region of memory."""
    yield json.dumps(write_head(machine, paths))[:-1]
    waves = counted(range(machine.wave_count), "waves", machine.wave_count)
    yield from _list("waves", (_wave_json(machine, index) for index in waves))
    if machine.memory.stores:
        yield from _list("memory", counted(_regions_json(machine), "stretches of memory"))
    yield "}\n"


def _list(key: str, items: Iterable[Json]) -> Iterator[str]:
    yield f',\n "{key}": ['
    for index, item in enumerate(items):
        yield f"{',' if index else ''}\n  {json.dumps(item)}"
    yield "]"


def _wave_json(machine: Machine, index: int) -> Json:
    wave: Json = {"id": machine.ids[index]}
    if machine.dispatch[index] != NONE:
        wave["dispatch"] = machine.dispatches[machine.dispatch[index]].id
    if (machine.work_group[index] != NONE).all():
        wave["work_group"] = machine.work_group[index].tolist()
    if machine.wave_in_group[index] != NONE:
        wave["wave_in_group"] = int(machine.wave_in_group[index])
    wave |= stop_json(machine.stop_of(index))
    registers: Json = {}
    for file in machine.files:
        units = file.data[index].tolist()
        flags = file.known[index].tolist()
        for register, values, known in zip(file.registers, units, flags, strict=True):
            if not known:
                continue
            value = _value_json(machine, register, values, index)
            if register.name in OWN_KEYS:
                wave[register.name] = hex(value)
            else:
                registers[register.name] = value
    if registers:
        wave["registers"] = registers
    return wave


def _value_json(machine: Machine, register: TargetRegister, units: list[int], wave: int) -> Any:
    """Return the contents of a register; null is a lane that is not known, and so is what lies behind the list."""
    if register.lane_bits == unit_bits(register):
        unknown = machine.unknown_lanes(register, wave)
        lanes = [None if unknown >> lane & 1 else unit for lane, unit in enumerate(units)]
        while lanes and lanes[-1] is None:
            lanes.pop()
        return lanes
    if unit_count(register) == 1:
        return units[0]
    return {"bytes": machine.read_register(register, wave, None).hex()}


def _regions_json(machine: Machine) -> Iterator[Json]:
    for number in sorted(machine.memory.stores):
        space: Any = machine.target.space(number)
        for owner, address, size in machine.memory.extents(space):
            region: Json = {"space": space.name}
            if space.scope == Scope.WORKGROUP:
                if machine.dispatch[owner] != NONE:
                    region["dispatch"] = machine.dispatches[machine.dispatch[owner]].id
                region["work_group"] = machine.work_group[owner].tolist()
            elif space.scope == Scope.WAVE:
                region["wave"] = machine.ids[owner]
            region["address"] = hex(address)
            region["bytes"] = machine.memory.read(space, address, size, owner, None).hex()
            yield region
