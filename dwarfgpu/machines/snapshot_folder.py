"""The form of a snapshot for many waves: a folder with ``manifest.json`` and an array for each column."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.machines.columns import (
    Cells,
    RegisterFile,
    byte_size,
    item_size,
    names_of,
    split_name,
    unit_count,
    unit_type,
)
from dwarfgpu.machines.machine import NONE, PLACES, Machine
from dwarfgpu.machines.memory import INSTANCED
from dwarfgpu.machines.protocol import stop_json
from dwarfgpu.machines.snapshot_json import (
    MANIFEST,
    STOP_KEYS,
    calls_json,
    items_of,
    read_calls,
    read_head,
    read_stop,
    write_head,
)
from dwarfgpu.machines.typed_contents import noting
from dwarfgpu.regular_files import OnlyWrites, mapped, open_input

if TYPE_CHECKING:
    from pathlib import Path

    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

    Json = dict[str, Any]

MAX_REGISTERS = 1 << 16
"""More registers in one array are refused."""


# --- Reading ------------------------------------------------------------------------------------------------------
# Everything is checked on opening, and the arrays are mapped: only what is used is loaded. None of it needs
# numpy, whose import takes much longer than everything else.


def read_folder(node: Node, make: Callable[[Target], Machine]) -> Machine:
    """Return the machine of a manifest, whose arrays are in the folder of the machine."""
    machine, fields = read_head(node, ("registers", "memory"), make)
    _read_waves(fields["waves"], machine)
    for item in items_of(fields, "registers"):
        _read_registers(item, machine)
    for item in items_of(fields, "memory"):
        _read_memory(item, machine)
    return machine


def _array(node: Node, machine: Machine, kind: str, *shape: int | None) -> Cells:
    name = node.string()
    if not name or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
        raise node.fail(f"{name[:80]!r} is not the name of a file in the folder")
    return open_array(f"{machine.folder}/{name}", kind, shape, node.path)


def _read_waves(node: Node, machine: Machine) -> None:
    fields = node.fields(("count", "id"), (*PLACES, "stops", "calls"), machine.warnings)
    count = fields["count"].unsigned(32)
    ids = texts(_array(fields["id"], machine, "<U", count))
    if ids is None:
        raise fields["id"].fail("it holds numbers that are not characters")
    if len(set(ids)) != count:
        raise fields["id"].fail("two waves have one name")
    machine.add_waves(count, ids=ids)
    for name, width in PLACES.items():
        if name in fields:
            column = _array(fields[name], machine, "<i8", *((count, 3) if width == 3 else (count,)))
            limit = len(machine.dispatches) if name == "dispatch" else 1 << 32
            numbers = column.tolist()
            if numbers and not NONE <= min(numbers) <= max(numbers) < limit:
                raise fields[name].fail(f"a number is not in the range from {NONE} to {limit - 1}")
            machine.places[name] = column.shaped(count, width)
    for item in items_of(fields, "stops"):
        own = item.fields(("wave",), STOP_KEYS, machine.warnings)
        stop = read_stop(own, machine)
        if stop is not None:
            machine.stops[own["wave"].unsigned(32, below=count)] = stop
    for item in items_of(fields, "calls"):
        own = item.fields(("wave", "calls"), (), machine.warnings)
        read_calls(own, machine, own["wave"].unsigned(32, below=count))


def _read_registers(node: Node, machine: Machine) -> None:
    fields = node.fields(("names", "data"), ("known", "unknown_lanes"), machine.warnings)
    registers = _registers_named(fields["names"], machine)
    units = unit_count(registers[0])
    kind = unit_type(registers[0], machine.target.byte_order)
    rows = machine.wave_count, len(registers)
    data = _array(fields["data"], machine, kind, *rows, *((units,) if units > 1 else ()))
    known = _array(fields["known"], machine, "|b1", *rows) if "known" in fields else None
    with noting(fields["names"]):
        machine.add_file(RegisterFile(registers, data.shaped(*rows, units), known))
    for item in items_of(fields, "unknown_lanes"):
        parts = item.fields(("register", "wave", "lanes"))
        (register,) = _registers_named(parts["register"], machine)
        if register not in registers or not register.lane_bits:
            raise parts["register"].fail(f"{register.name} is not a vector register of this array")
        wave = parts["wave"].unsigned(32, below=machine.wave_count)
        machine.set_unknown_lanes(register, wave, parts["lanes"].unsigned(register.bit_size // register.lane_bits))


def _read_memory(node: Node, machine: Machine) -> None:
    fields = node.fields(("space", "extents", "data"), (), machine.warnings)
    space = machine.target.space_named(fields["space"].string())
    if space is None or space.alias is not None:
        names = ", ".join(each.name for each in machine.target.spaces() if each.alias is None)
        message = f"{machine.target.name} keeps no bytes in such an address space"
        raise fields["space"].fail(message, hint=f"it has {names}")
    if space.number in machine.memory.stores:
        raise fields["space"].fail(f"{space.name} memory is given twice")
    width = 3 if space.scope in INSTANCED else 2
    extents = _array(fields["extents"], machine, "<u8", None, width).tolist()
    addresses, sizes = extents[width - 2 :: width], extents[width - 1 :: width]
    data = _array(fields["data"], machine, "|u1", sum(sizes))
    owners = extents[::width] if width == 3 else [0] * len(sizes)
    with noting(fields["extents"]):
        machine.memory.map_all(space, owners, addresses, sizes, data)


def _registers_named(node: Node, machine: Machine) -> list[TargetRegister]:
    """Return the registers that a list of names such as ``v0-v127,v130`` means; all have one size."""
    registers: list[TargetRegister] = []
    for name in node.string().split(","):
        first, dash, last = name.strip().partition("-")
        letters, begin = split_name(first)
        end = split_name(last)[1] if dash else begin
        if dash and (begin is None or end is None or split_name(last)[0] != letters or end < begin):
            raise node.fail(f"{name[:80]!r} is not a range of registers", hint="write v0-v127")
        if (end or 0) - (begin or 0) + len(registers) >= MAX_REGISTERS:
            raise node.fail(f"these are more than {MAX_REGISTERS} registers")
        names = [f"{letters}{i}" for i in range(begin, end + 1)] if dash else [first]  # type: ignore[operator, arg-type]
        for register_name in names:
            register = machine.register_named(register_name)
            if register is None:
                raise node.fail(f"{machine.target.name} has no register {register_name[:80]!r}")
            registers.append(register)
    if len({(register.bit_size, register.lane_bits) for register in registers}) > 1:
        raise node.fail("registers of different sizes cannot be in one array")
    if len({register.number for register in registers}) != len(registers):
        raise node.fail("a register is named twice")
    return registers


# --- Writing ------------------------------------------------------------------------------------------------------


def write_folder(machine: Machine, folder: Path, paths: list[str]) -> None:
    """Write a machine into an empty folder."""
    import json

    import numpy as np

    def saved(name: str, data: Any) -> str:
        with (folder / f"{name}.npy").open("wb") as stream:
            np.save(OnlyWrites(stream), np.ascontiguousarray(data), allow_pickle=False)
        return f"{name}.npy"

    manifest = write_head(machine, paths)
    waves: Json = {"count": machine.wave_count, "id": saved("wave-id", np.array(machine.ids, dtype=np.str_))}
    for name in PLACES:
        column = getattr(machine, name)
        if (column != NONE).any():
            waves[name] = saved(f"wave-{name.replace('_', '-')}", np.asarray(column, dtype="<i8"))
    entries = (stop_json(machine.stop_of(wave)) for wave in range(machine.wave_count))
    stops = [{"wave": wave, **entry} for wave, entry in enumerate(entries) if entry]
    entries = (calls_json(machine, wave) for wave in range(machine.wave_count))
    calls = [{"wave": wave, **entry} for wave, entry in enumerate(entries) if entry]
    manifest["waves"] = waves | ({"stops": stops} if stops else {}) | ({"calls": calls} if calls else {})
    kinds: dict[tuple[str, int], list[RegisterFile]] = {}
    for file in sorted(machine.files, key=lambda file: file.registers[0].number):
        first = file.registers[0]
        kinds.setdefault((split_name(first.name)[0], first.bit_size), []).append(file)
    if kinds:
        manifest["registers"] = [_write_files(machine, files, saved) for files in kinds.values()]
    if machine.memory.stores:
        manifest["memory"] = [_write_space(machine, space, saved) for space in machine.memory.spaces]
    (folder / MANIFEST).write_text(f"{json.dumps(manifest, indent=1)}\n", encoding="utf-8")


def _write_files(machine: Machine, files: list[RegisterFile], saved: Callable[[str, Any], str]) -> Json:
    """Write the registers of one kind, also those that were added one by one, as one array."""
    import numpy as np

    registers = [register for file in files for register in file.registers]
    name = registers[0].name
    data = files[0].data
    if len(files) > 1:
        data = np.concatenate([file.data for file in files], axis=1, dtype=data.dtype)
    entry: Json = {"names": names_of(registers), "data": saved(name, data if data.shape[2] > 1 else data[:, :, 0])}
    unknown = [
        {"register": register.name, "wave": wave, "lanes": hex(mask)}
        for register in registers
        for wave in range(machine.wave_count if machine.has_gaps else 0)
        if (mask := machine.unknown_lanes(register, wave))
    ]
    if unknown:
        entry["unknown_lanes"] = unknown
    if not all(file.all_known for file in files):
        entry["known"] = saved(f"{name}-known", np.concatenate([file.known for file in files], axis=1))
    return entry


def _write_space(machine: Machine, space: AddressSpace, saved: Callable[[str, Any], str]) -> Json:
    """Write the extents of an address space, and their concatenated bytes."""
    import numpy as np

    extents = np.array(machine.memory.extents(space), dtype=np.uint64).reshape(-1, 3)
    columns = extents if space.scope in INSTANCED else extents[:, 1:]
    data = machine.memory.stores[space.number].joined()
    return {"space": space.name, "extents": saved(f"{space.name}-extents", columns), "data": saved(space.name, data)}


# --- Arrays in ``.npy`` files -------------------------------------------------------------------------------------
# The format is that of `numpy.lib.format`: magic, version, length of the header, and a header that is a
# Python dictionary with ``descr``, ``fortran_order`` and ``shape``. A file is opened, checked and mapped
# without numpy, whose import would take most of the time of opening a snapshot. A mapping is private: a
# change never reaches the file.

MAGIC = b"\x93NUMPY"
READ_BELOW = 1 << 22
"""Arrays of fewer bytes are read, larger ones are mapped."""
MAX_HEADER = 10_000


def open_array(path: str, wanted: str, shape: tuple[int | None, ...], what: str) -> Cells:
    """Return the array in a file. It must be of a type and of a shape, in which None is any length.

    ``what`` names the key of the array, for messages.
    """
    name = os.path.basename(path)

    def bad(why: str) -> MalformedFile:
        return MalformedFile("bad_snapshot", f"{what}: {name} {why}")

    try:
        with open_input(path) as file:
            try:
                offset, kind, is_fortran, actual = _header(file.read(MAX_HEADER + 12))
            except ValueError as error:
                raise bad(str(error)) from None
            if not _is_kind(kind, wanted):
                raise bad(f"holds {kind[:20]}, and {wanted} is needed")
            if is_fortran:
                raise bad("is in Fortran order, and C order is needed")
            if len(actual) != len(shape) or any(a not in (b, None) for a, b in zip(shape, actual, strict=True)):
                shown, needed_shape = "x".join(map(str, actual)) or "()", "x".join(str(each or "any") for each in shape)
                raise bad(f"has the shape {shown}, and {needed_shape} is needed")
            needed, size = byte_size(kind, actual), os.fstat(file.fileno()).st_size - offset
            if size < needed:
                raise bad(f"has {size} bytes of data, {needed} are needed")
            if not needed:
                return Cells(kind, actual)
            if needed < READ_BELOW:
                file.seek(offset)
                data = bytearray(file.read(needed))
                if len(data) < needed:
                    raise bad("has become shorter while it was read")
                return Cells(kind, actual, memoryview(data))
            return Cells(kind, actual, mapped(file, offset + needed, path, is_private=True)[offset:])
    except (OSError, ValueError) as error:
        raise bad(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except MalformedFile as error:
        if error.kind != "unreadable":
            raise
        raise bad(f"cannot be read: {error.message.removeprefix(f'{path}: ')}") from None


def texts(cells: Cells) -> list[str] | None:
    """Return all elements of an array of text; None if it holds numbers that are no characters."""
    width = item_size(cells.kind) // 4
    try:
        text = str(cells.buffer, "utf-32-le", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return [text[start : start + width].rstrip("\0") for start in range(0, len(text), width)]


def _header(data: bytes) -> tuple[int, str, bool, tuple[int, ...]]:
    """Return where data starts, its type, whether it is in Fortran order, and its shape; `ValueError` says why not."""
    if data[:6] != MAGIC or len(data) < 12:
        raise ValueError("is not a .npy file")
    if data[6] not in (1, 2, 3):
        raise ValueError(f"is a .npy file of version {data[6]}")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    text = data[start : start + length]
    if length > MAX_HEADER or len(text) < length:
        raise ValueError("has a header that is cut off or too long")
    try:
        header = ast.literal_eval(text.decode().strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError("has a header that cannot be read") from None
    if not isinstance(header, dict) or sorted(map(str, header)) != ["descr", "fortran_order", "shape"]:
        raise ValueError("has a header without descr, fortran_order and shape")
    kind, order = header.get("descr"), header.get("fortran_order")
    shape: Any = header.get("shape")
    is_shape = isinstance(shape, tuple) and all(type(length) is int and 0 <= length < 1 << 48 for length in shape)
    if not isinstance(kind, str) or not isinstance(order, bool) or not is_shape:
        raise ValueError("has a header whose fields are not a type, a flag and a shape")
    return start + length, kind, order and len(shape) > 1, shape


def _is_kind(kind: str, wanted: str) -> bool:
    """Return whether a type is of a kind; ``<U`` is text of any width, and a byte has no order."""
    if wanted == "<U":
        return re.fullmatch(r"<U0*[1-9]\d{0,6}", kind) is not None
    return kind[1:] == wanted[1:] and kind[0] in ("<>|=" if wanted[2:] == "1" else wanted[0])
