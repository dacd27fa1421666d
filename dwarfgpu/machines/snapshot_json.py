"""A snapshot as one JSON object, which a person can write: the columns of a machine, told wave by wave.

Its first part, which is about no single wave, is that of folders, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import evolve
from dwarfgpu.machines.columns import unit_bits, unit_count
from dwarfgpu.machines.machine import NONE, PLACES, Dispatch, LoadedCodeObject, Machine
from dwarfgpu.machines.protocol import (
    ADDRESS,
    IS_HALTED,
    REASONS,
    REGISTER,
    VARIABLE,
    CrashChange,
    LastChange,
    WaveStop,
    signal_of,
    stop_json,
)
from dwarfgpu.machines.typed_contents import COMMENT, FORMS, form_of, noting, read_contents, register_bytes, typed_bytes
from dwarfgpu.progress import counted
from dwarfgpu.strict_json import Node
from dwarfgpu.targets.amdgpu import PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.address_spaces import SIZE, Apertures, LaneView
from dwarfgpu.targets.resolve import declared_spaces, resolve, with_spaces
from dwarfgpu.targets.target import AddressSpace, Scope, Target, TargetRegister

if TYPE_CHECKING:
    from dwarfgpu.errors import DwarfGpuError

    Json = dict[str, Any]
    Contents = tuple[TargetRegister, bytes, int]
    """What a register of a wave has, and the mask of the lanes that are not known."""
    Groups = dict[tuple[int, ...], dict[int | None, int]]
    """The first wave of each dispatch, by its id, at a position of a work-group."""

SCHEMA = 1
MANIFEST = "manifest.json"
"""The file in a folder that has what is no array."""
HEAD = (
    ("schema", "target", "waves"),
    (
        "byte_order",
        "address_size",
        "spaces",
        "apertures",
        "code_objects",
        "dispatches",
        "last_changes",
        "variable_changes",
        COMMENT,
    ),
)
"""The keys of a snapshot that must be there, and those that may."""
STOP_KEYS = ("stop", "stop_detail")
OWN_KEYS = ("pc", "exec")
"""Registers with a key of their own beside ``registers``."""
WAVE_KEYS = ("id", *PLACES, *OWN_KEYS, "registers", *STOP_KEYS, "calls", COMMENT)
OWNERS = {Scope.WORKGROUP: ("dispatch", "work_group"), Scope.WAVE: ("wave",), Scope.LANE: ("wave", "lane")}
"""The keys that say whose memory it is, by the scope of its address space. `MAY_LACK` may be absent."""
MAY_LACK = ("dispatch", "lane")

_PLACE = re.compile(r"\s*[^\s0-9+-]")
"""How the name of a place in the code begins: no number does."""
MAX_JOINED = 32
"""The most registers of one value: 1024 bits are the widest operands of instructions."""
_JOINED = re.compile(r"([A-Za-z]+)\[(\d{1,6}):(\d{1,6})\]")

MAX_REGISTER_BYTES = 1 << 32
"""The limit for the columns of all waves, as a short text could request very many."""


# --- Kinds of values ----------------------------------------------------------------------------------------------


def dispatch_id(node: Node) -> int:
    """Return the number of a dispatch; it is less than 2^63."""
    return node.unsigned(63)


def address(node: Node) -> int:
    """Return a global address; it is written in hex."""
    return node.unsigned(64)


def three(node: Node, at_least: int = 0) -> tuple[int, int, int]:
    """Return three numbers: x, y and z."""
    items = node.items()
    if len(items) != 3:
        raise node.fail(f"three numbers are needed, found {len(items)}")
    x, y, z = (item.unsigned(32, at_least=at_least) for item in items)
    return x, y, z


def _path(node: Node) -> str:
    path = node.string()
    if not path or "\0" in path:
        raise node.fail("this is not the path of a file")
    return path


def _names(node: Node) -> tuple[str, ...]:
    return tuple(item.string() for item in node.items())


def _digest(node: Node) -> str:
    if len(node.string()) != 64 or len(node.bytes()) != 32:
        raise node.fail("a SHA-256 hash has 64 hex digits")
    return node.string()


def _small(node: Node) -> int:
    return node.unsigned(16)


def _kind(node: Node) -> str:
    return node.choice((VARIABLE, REGISTER, ADDRESS))


Readers = dict[str, Callable[[Node], Any]]
RECORDS: dict[type, tuple[Readers, Readers]] = {
    Apertures: ({"shared": address, "private": address}, {}),
    LoadedCodeObject: ({"path": _path}, {"load_address": address, "sha256": _digest}),
    Dispatch: (
        {"id": dispatch_id},
        {"kernel": Node.string}
        | dict.fromkeys(("grid", "work_group"), partial(three, at_least=1))
        | dict.fromkeys(("kernarg", "queue", "packet"), address),
    ),
    LastChange: ({"address": address}, {"pc": address, "waves": _names, "lanes": address}),
    CrashChange: (
        {"name": Node.string, "wave": Node.string, "lane": _small, "pc": address},
        {"kind": _kind, "frame": _small, "old": Node.string, "new": Node.string},
    ),
}
"""The keys of objects in the order in which they are written, with what reads each: those needed, and the others."""


def _record(made: type, node: Node, warnings: list[DwarfGpuError] | None = None) -> Any:
    needed, others = RECORDS[made]
    fields = node.fields(needed, others if warnings is None else (*others, COMMENT), warnings)
    readers = needed | others
    return made(**{name: readers[name](fields[name]) for name in readers if name in fields})


def _written(record: Any) -> Json:
    needed, others = RECORDS[type(record)]
    values = {name: (getattr(record, name), read) for name, read in (needed | others).items()}
    return {
        name: hex(value) if read is address else value for name, (value, read) in values.items() if value is not None
    }


# --- The head of a snapshot ---------------------------------------------------------------------------------------


def _read_target(fields: dict[str, Node]) -> Target:
    schema = fields["schema"].integer()
    if schema != SCHEMA:
        raise fields["schema"].fail(f"schema {schema} is not known", hint=f"only schema {SCHEMA} is")
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    size = fields["address_size"].unsigned() if "address_size" in fields else None
    name = fields["target"].string()
    with noting(fields["target"]):
        target = resolve(name, byte_order=order, address_size=size)
    return with_spaces(target, fields["spaces"]) if "spaces" in fields else target


def read_head(
    node: Node, others: tuple[str, ...], make: Callable[[Target], Machine]
) -> tuple[Machine, dict[str, Node]]:
    """Return a machine with everything except the waves, and the fields, of which a form has some others."""
    warnings: list[DwarfGpuError] = []
    fields = node.fields(HEAD[0], (*HEAD[1], *others), warnings)
    machine = make(_read_target(fields))
    machine.warnings = warnings
    machine.target_name = fields["target"].string()
    if "apertures" in fields:
        apertures = _record(Apertures, fields["apertures"])
        with noting(fields["apertures"]):
            machine.set_apertures(apertures)
    for item in items_of(fields, "code_objects"):
        machine.code_objects.append(_record(LoadedCodeObject, item, warnings))
    for item in items_of(fields, "dispatches"):
        dispatch = _record(Dispatch, item, warnings)
        if any(other.id == dispatch.id for other in machine.dispatches):
            raise item.fail(f"there are two dispatches with the id {dispatch.id}")
        machine.dispatches.append(dispatch)
    machine.last_changes += [_record(LastChange, item, warnings) for item in items_of(fields, "last_changes")]
    found = items_of(fields, "variable_changes")
    machine.variable_changes += [_record(CrashChange, item, warnings) for item in found]
    return machine, fields


def items_of(fields: dict[str, Node], key: str) -> list[Node]:
    """Return the elements of an array that may be absent."""
    return fields[key].items() if key in fields else []


def write_head(machine: Machine, paths: list[str]) -> Json:
    """Return the part of a snapshot before its waves; ``paths`` are those of the code objects."""
    head: Json = {"schema": SCHEMA, "target": machine.target_name}
    if machine.target.name == "generic":  # the name of every other target says it
        head |= {"byte_order": machine.target.byte_order, "address_size": machine.target.address_size}
    rest = {
        "spaces": declared_spaces(machine.target),
        "apertures": machine.apertures and _written(machine.apertures),
        "code_objects": [
            _written(code) | {"path": path} for code, path in zip(machine.code_objects, paths, strict=True)
        ],
        "dispatches": [_written(dispatch) for dispatch in machine.dispatches],
        "last_changes": [_written(change) for change in machine.last_changes],
        "variable_changes": [_written(change) for change in machine.variable_changes],
    }
    return head | {key: value for key, value in rest.items() if value}


# --- Why a wave has stopped ---------------------------------------------------------------------------------------


def read_stop(fields: dict[str, Node], machine: Machine) -> WaveStop | None:
    """Return why a wave has stopped; None if the snapshot does not say. `stop_json` writes it."""
    detail = fields["stop_detail"].string() if "stop_detail" in fields else ""
    if "stop" not in fields:
        return WaveStop(detail=detail, was_halted=detail == IS_HALTED) if detail else None
    own = fields["stop"].fields(("reasons",), ("signal", "lanes", "address", COMMENT), machine.warnings)
    reasons = tuple(node.choice(REASONS) for node in own["reasons"].items())
    signal = signal_of(reasons)
    if "signal" in own and own["signal"].string() != signal:
        raise own["signal"].fail(f"the signal of these reasons is {signal}", hint="the key can be left out")
    lanes = own["lanes"].unsigned(machine.target.lane_count) if "lanes" in own else None
    return WaveStop(reasons, lanes, address(own["address"]) if "address" in own else None, detail)


def read_calls(fields: dict[str, Node], machine: Machine, wave: int) -> None:
    """Add the calls that a wave was in."""
    if "calls" in fields:
        machine.calls[wave] = tuple(map(address, fields["calls"].items()))


def calls_json(machine: Machine, wave: int) -> Json:
    """Return the key with the calls that a wave is in; none where no call was executed."""
    calls = machine.calls_of(wave)
    return {"calls": [*map(hex, calls)]} if calls else {}


# --- Reading waves ------------------------------------------------------------------------------------------------


def read_machine(node: Node, make: Callable[[Target], Machine]) -> Machine:
    """Return the machine that a snapshot describes; raise the error of the node that is wrong."""
    machine, fields = read_head(node, ("memory",), make)
    nodes = fields["waves"].items()
    columns: dict[str, list[Any]] = {name: [] for name in ("ids", *PLACES)}
    contents = [_read_wave(item, machine, columns) for item in nodes]
    first: dict[str, int] = {}
    for index, name in enumerate(columns["ids"]):
        if first.setdefault(name, index) != index:
            raise nodes[index].fail(f"the id {name!r} is that of waves[{first[name]}] too")
    machine.add_waves(len(nodes), **columns)
    registers = {number: wave[number][0] for wave in contents for number in wave}
    size = sum(unit_count(register) * unit_bits(register) // 8 for register in registers.values())
    if size * len(nodes) > MAX_REGISTER_BYTES:
        message = f"{len(registers)} registers of {len(nodes)} waves are too many for this form"
        raise fields["waves"].fail(message, hint="the .dgs form has no such limit")
    machine.allocate_registers([registers[number] for number in sorted(registers)])
    for index, wave in enumerate(contents):
        for register, data, unknown in wave.values():
            machine.write_register(register, data, index, None)
            machine.set_unknown_lanes(register, index, unknown)
    _read_memory(items_of(fields, "memory"), machine)
    return machine


def _read_wave(node: Node, machine: Machine, columns: dict[str, list[Any]]) -> dict[int, Contents]:
    """Add a wave to the columns; return what its registers have, by number."""
    index = len(columns["ids"])
    fields = node.fields((), WAVE_KEYS, machine.warnings)
    columns["ids"].append(fields["id"].string() if "id" in fields else str(index))
    if "\0" in columns["ids"][index]:  # the arrays of the other form end text there
        raise fields["id"].fail("an id has no NUL character")
    ids = [NONE, *(dispatch.id for dispatch in machine.dispatches)]
    dispatch = dispatch_id(fields["dispatch"]) if "dispatch" in fields else NONE
    if dispatch not in ids:
        raise fields["dispatch"].fail(f"no dispatch has the id {dispatch}")
    columns["dispatch"].append(ids.index(dispatch) - 1)
    columns["work_group"].append(three(fields["work_group"]) if "work_group" in fields else (NONE, NONE, NONE))
    columns["wave_in_group"].append(fields["wave_in_group"].unsigned(32) if "wave_in_group" in fields else NONE)
    stop = read_stop(fields, machine)
    if stop is not None:
        machine.stops[index] = stop
    read_calls(fields, machine, index)
    pc = fields["pc"].value if "pc" in fields else None
    if type(pc) is str and _PLACE.match(pc):
        machine.named_pcs[index] = pc
        del fields["pc"]
    contents: dict[int, Contents] = {}
    for key in OWN_KEYS:
        if key in fields:
            _add_registers(contents, key, fields[key], fields[key], machine)
    for name, value in fields["registers"].entries() if "registers" in fields else ():
        _add_registers(contents, name.string(), name, value, machine)
    return contents


def _add_registers(contents: dict[int, Contents], name: str, key: Node, value: Node, machine: Machine) -> None:
    """Add what a wave has in a register, or in several that hold one value."""
    registers = _registers_of(name, key, machine)
    for register in registers:
        if register.number in contents or registers.count(register) > 1:
            raise key.fail(f"register {register.name} is given twice")
    if value.value is None or (value.is_object and form_of(value)[1].value is None):  # it is not known
        return
    if len({(register.bit_size, register.lane_bits) for register in registers}) > 1:
        raise key.fail("the registers have several sizes")
    contents.update((each[0].number, each) for each in _contents(value, registers, machine.target.byte_order))


def _registers_of(name: str, key: Node, machine: Machine) -> list[TargetRegister]:
    """Return a register by its name or DWARF number, or several as assemblers write them: ``v[2:3]`` is v2 and v3."""
    names = [name]
    match = _JOINED.fullmatch(name)
    if match is not None:
        first, last = int(match[2]), int(match[3])
        if not first <= last < first + MAX_JOINED:
            raise key.fail(f"{name[:40]} is not 1 to {MAX_JOINED} registers")
        names = [f"{match[1]}{number}" for number in range(first, last + 1)]
    registers = []
    for each in names:
        register = machine.register_named(each)
        if register is None and each.isdecimal() and len(each) < 20:
            register = machine.register(int(each))
        if register is None:
            raise key.fail(f"{machine.target.name} has no register {each[:80]!r}")
        registers.append(register)
    return registers


def _contents(node: Node, registers: list[TargetRegister], byte_order: str) -> Iterator[Contents]:
    """Yield what registers have that hold one value together, such as the two of a double, in the order of memory.

    A value is a number, bytes, or one number a lane, where null is a lane that is not known.
    """
    parts, whole = len(registers), registers[0]
    if parts > 1:
        name = f"{whole.name} to {registers[-1].name}"
        whole = evolve(whole, name=name, bit_size=parts * whole.bit_size, lane_bits=parts * whole.lane_bits)
    bits = whole.lane_bits or whole.bit_size
    count = whole.bit_size // bits if whole.lane_bits else 0
    given = read_contents(node, bits, count, has_gaps=bool(count))
    unknown = 0
    if count and not isinstance(given, int):  # what a list or bytes leave out is not known
        missing = range(len(given) * 8 // bits if isinstance(given, bytes) else len(given), count)
        nulls = () if isinstance(given, bytes) else (lane for lane, number in enumerate(given) if number is None)
        unknown = sum(1 << lane for lane in (*nulls, *missing))
        given = given.ljust(count * bits // 8, b"\0") if isinstance(given, bytes) else given
    with noting(node):
        data = register_bytes(given, whole, byte_order)
    size = len(data) // (count or 1) // parts
    for index, register in enumerate(registers):
        starts = range(index * size, len(data), parts * size)
        yield register, data if parts == 1 else b"".join(data[start : start + size] for start in starts), unknown


# --- Reading memory -----------------------------------------------------------------------------------------------


def _read_memory(nodes: list[Node], machine: Machine) -> None:
    """Map what items say of memory. Neighbours become one extent; a byte that is given twice is an error."""
    groups: Groups = {}
    for wave in range(machine.wave_count if nodes else 0):
        dispatch, place, _number = machine.place_of(wave)
        name = None if dispatch == NONE else machine.dispatches[dispatch].id
        groups.setdefault(place, {}).setdefault(name, wave)
    stored: dict[int, list[tuple[int, int, bytes, int]]] = {}
    for index, node in enumerate(nodes):
        for space, address, data, wave, lane in _regions(node, machine, groups):
            position = 0
            owner = machine.group_numbers[wave] if space.scope == Scope.WORKGROUP else wave
            for number, start, length in machine.memory.pieces(space, address, len(data), lane):
                if number == PRIVATE_WAVE and start + length > SIZE:
                    raise node.fail(f"no wave has private memory for {space.name}#{address:#x}")
                piece = owner, start, data[position : position + length], index
                stored.setdefault(number, []).append(piece)
                position += length
    for number, pieces in stored.items():
        pieces.sort(key=lambda piece: piece[:2])
        extents: list[list[int]] = []
        for (owner, start, data, index), before in zip(pieces, [None, *pieces], strict=False):
            if before is not None and before[0] == owner and start < before[1] + len(before[2]):
                first, last = sorted((index, before[3]))
                raise nodes[last].fail(f"it overlaps {nodes[first].path}: a byte is given twice")
            if extents and extents[-1][0] == owner and extents[-1][1] + extents[-1][2] == start:
                extents[-1][2] += len(data)
            else:
                extents.append([owner, start, len(data)])
        owners, starts, sizes = zip(*extents, strict=True)
        mapped: Any = machine.target.space(number)
        machine.memory.map_all(mapped, owners, starts, sizes, bytearray(b"".join(piece[2] for piece in pieces)))


def _regions(
    node: Node, machine: Machine, groups: Groups
) -> Iterator[tuple[AddressSpace, int, bytes, int, int | None]]:
    """Yield the bytes that an item gives, with wave and lane; without a lane, those of each lane of private memory."""
    owners = *OWNERS[Scope.WORKGROUP], *OWNERS[Scope.LANE]
    fields = node.fields(("space", "address"), (*owners, *FORMS, COMMENT), machine.warnings)
    name, value = form_of(node, fields)
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
        yield space, address, data, wave, number


def _owner(
    node: Node, fields: dict[str, Node], space: AddressSpace, machine: Machine, groups: Groups
) -> tuple[int, int | None]:
    """Return whose memory an item is about: a wave, or any of a work-group, and a lane."""
    takes = OWNERS.get(space.scope, ())
    for key in (*OWNERS[Scope.WORKGROUP], *OWNERS[Scope.LANE]):
        if key in fields and key not in takes:
            raise fields[key].fail(f"{space.name} memory does not belong to a {key.replace('_', '-')}")
    for key in takes:
        if key not in (*fields, *MAY_LACK):
            raise node.fail(f"{space.name} memory belongs to a {key.replace('_', '-')}: the key {key!r} is missing")
    if "work_group" in fields:
        return _wave_of_group(node, fields, groups), None
    if "wave" not in fields:
        return 0, None
    wave = machine.wave_named(fields["wave"].string())
    if wave is None:
        raise fields["wave"].fail(f"no wave has the id {fields['wave'].string()[:80]!r}")
    lane = fields["lane"].unsigned(32) if "lane" in fields else None
    if lane is not None and lane >= machine.target.lane_count:
        raise fields["lane"].fail(f"a wave has {machine.target.lane_count} lanes, not a lane {lane}")
    return wave, lane


def _space(node: Node, target: Target) -> AddressSpace:
    space = target.space_named(node.string())
    stored = [each for each in target.spaces() if each.alias is None or isinstance(each.alias, LaneView)]
    if space is None or space not in stored:
        why = "has no such address space" if space is None else "keeps no bytes in it: it is a view of others"
        names = ", ".join(each.name for each in stored if each.number < 0x20)
        raise node.fail(f"{target.name} {why}", hint=f"memory is given as {names}")
    return space


def _wave_of_group(node: Node, fields: dict[str, Node], groups: Groups) -> int:
    place = three(fields["work_group"])
    waves = groups.get(place, {})
    if "dispatch" in fields:
        dispatch = dispatch_id(fields["dispatch"])
        waves = {dispatch: waves[dispatch]} if dispatch in waves else {}
    elif None in waves:  # the group of no dispatch comes first: nothing else could name it
        return waves[None]
    if not waves:
        raise fields["work_group"].fail(f"no wave is in the work-group {list(place)}")
    if len(waves) > 1:
        raise node.fail(f"several dispatches have a work-group {list(place)}: the key 'dispatch' is missing")
    return next(iter(waves.values()))


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


def _place_json(machine: Machine, wave: int) -> Json:
    dispatch, group, number = machine.place_of(wave)
    known = dispatch != NONE, min(group) != NONE, number != NONE
    values = dispatch != NONE and machine.dispatches[dispatch].id, group, number
    return {name: value for name, value, is_known in zip(PLACES, values, known, strict=True) if is_known}


def _wave_json(machine: Machine, index: int) -> Json:
    wave: Json = {"id": machine.ids[index], **_place_json(machine, index), **stop_json(machine.stop_of(index))}
    wave |= calls_json(machine, index)
    registers: Json = {}
    for file in machine.files:
        columns = file.registers, file.data[index].tolist(), file.known[index].tolist()
        for register, units, known in zip(*columns, strict=True):
            if not known:
                continue
            value = _value_json(machine, register, units, index)
            if register.name in OWN_KEYS:
                wave[register.name] = hex(value)
            else:
                registers[register.name] = value
    return {**wave, "registers": registers} if registers else wave


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
    for space in machine.memory.spaces:
        for owner, address, size in machine.memory.extents(space):
            names = {"wave": machine.ids[owner], **_place_json(machine, owner)} if space.scope in OWNERS else {}
            yield {
                "space": space.name,
                **{name: names[name] for name in OWNERS.get(space.scope, ()) if name in names},
                "address": hex(address),
                "bytes": machine.memory.read(space, address, size, owner, None).hex(),
            }
