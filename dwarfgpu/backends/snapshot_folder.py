"""The form of a snapshot for many waves: a folder with ``manifest.json`` and an array for each column."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.addressing import INSTANCED
from dwarfgpu.backends.columns import (
    Cells,
    RegisterFile,
    byte_size,
    item_size,
    names_of,
    split_name,
    unit_count,
    unit_type,
)
from dwarfgpu.backends.machine import NONE, PLACES
from dwarfgpu.backends.protocol import stop_json
from dwarfgpu.backends.snapshot_json import MANIFEST, STOP_KEYS, read_head, read_stop, write_head
from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.regular_files import mapped, open_input

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.target import Target, TargetRegister

    Json = dict[str, Any]
    from dwarfgpu.bits import Array


MAX_REGISTERS = 1 << 16
"""More registers in one array are refused."""


# --- Reading ------------------------------------------------------------------------------------------------------


class FolderReader:
    """A reader of a folder. It checks everything on opening, and maps the arrays: only what is used is loaded.

    None of it needs numpy, whose import takes much longer than everything else.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, node: Node, make: Callable[[Target], Machine]) -> Machine:
        """Return the machine of a manifest."""
        machine, fields = read_head(node, ("registers", "memory"), make)
        self._waves(fields["waves"], machine)
        seen: set[int] = set()
        for item in fields["registers"].items() if "registers" in fields else ():
            self._registers(item, machine, seen)
        spaces: set[int] = set()
        for item in fields["memory"].items() if "memory" in fields else ():
            self._memory(item, machine, spaces)
        return machine

    def _array(self, node: Node, kinds: tuple[str, ...], shape: tuple[int | None, ...]) -> Cells:
        name = node.string()
        if not name or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
            raise node.fail(f"{name[:80]!r} is not the name of a file in the folder")
        return open_array(f"{self.folder}/{name}", kinds, shape, node.path)

    def _waves(self, node: Node, machine: Machine) -> None:
        fields = node.fields(("count", "id"), (*PLACES, "stops"), machine.warnings)
        count = fields["count"].unsigned(32)
        ids = texts(self._array(fields["id"], ("<U",), (count,)))
        if ids is None:
            raise fields["id"].fail("it holds numbers that are no characters")
        if len(set(ids)) != count:
            raise fields["id"].fail("two waves have one name")
        machine.add_waves(count, ids=ids)
        for name, width in PLACES.items():
            if name in fields:
                column = self._array(fields[name], ("<i8",), (count, 3) if width == 3 else (count,))
                limit = len(machine.dispatches) if name == "dispatch" else 1 << 32
                numbers = column.tolist()
                if numbers and not NONE <= min(numbers) <= max(numbers) < limit:
                    raise fields[name].fail(f"a number is not in the range from {NONE} to {limit - 1}")
                machine.places[name] = column.shaped(count, width)
        for item in fields["stops"].items() if "stops" in fields else ():
            own = item.fields(("wave",), STOP_KEYS, machine.warnings)
            stop = read_stop(own, machine)
            if stop is not None:
                machine.stops[own["wave"].unsigned(32, below=count)] = stop

    def _registers(self, node: Node, machine: Machine, seen: set[int]) -> None:
        fields = node.fields(("names", "data"), ("known", "unknown_lanes"), machine.warnings)
        registers = _registers_named(fields["names"], machine)
        for register in registers:
            if register.number in seen:
                raise fields["names"].fail(f"register {register.name} is given twice")
            seen.add(register.number)
        units = unit_count(registers[0])
        kind = unit_type(registers[0], machine.target.byte_order)
        shape: tuple[int, ...] = (machine.wave_count, len(registers))
        data = self._array(fields["data"], (kind,), shape if units == 1 else (*shape, units))
        known = self._array(fields["known"], ("|b1",), shape) if "known" in fields else None
        machine.add_file(RegisterFile(registers, data.shaped(*shape, units), known))
        for item in fields["unknown_lanes"].items() if "unknown_lanes" in fields else ():
            parts = item.fields(("register", "wave", "lanes"))
            (register,) = _registers_named(parts["register"], machine)
            if register not in registers or not register.lane_bits:
                raise parts["register"].fail(f"{register.name} is no vector register of this array")
            wave = parts["wave"].unsigned(32, below=machine.wave_count)
            machine.set_unknown_lanes(register, wave, parts["lanes"].unsigned(register.bit_size // register.lane_bits))

    def _memory(self, node: Node, machine: Machine, spaces: set[int]) -> None:
        fields = node.fields(("space", "extents", "data"), (), machine.warnings)
        space = machine.target.space_named(fields["space"].string())
        if space is None or space.alias is not None:
            names = ", ".join(candidate.name for candidate in machine.target.spaces() if candidate.alias is None)
            message = f"{machine.target.name} keeps no bytes in such an address space"
            raise fields["space"].fail(message, hint=f"it has {names}")
        if space.number in spaces:
            raise fields["space"].fail(f"{space.name} memory is given twice")
        spaces.add(space.number)
        width = 3 if space.scope in INSTANCED else 2
        extents = self._array(fields["extents"], ("<u8",), (None, width)).tolist()
        addresses, sizes = extents[width - 2 :: width], extents[width - 1 :: width]
        data = self._array(fields["data"], ("|u1",), (sum(sizes),))
        owners = extents[::width] if width == 3 else [0] * len(sizes)
        try:
            machine.memory.map_all(space, owners, addresses, sizes, data)
        except UsageError as error:
            raise fields["extents"].fail(error.message) from None


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
    sizes = {(register.bit_size, register.lane_bits) for register in registers}
    if len(sizes) > 1:
        raise node.fail("registers of different sizes cannot be in one array")
    if len({register.number for register in registers}) != len(registers):
        raise node.fail("a register is named twice")
    return registers


# --- Writing ------------------------------------------------------------------------------------------------------


def write_folder(machine: Machine, folder: Path, paths: list[str]) -> None:
    """Write a machine into an empty folder."""
    import numpy as np

    manifest = write_head(machine, paths)
    waves: Json = {"count": machine.wave_count, "id": "wave-id.npy"}
    write_array(folder / "wave-id.npy", np.array(machine.ids, dtype=np.str_))
    for name in PLACES:
        column = getattr(machine, name)
        if (column != NONE).any():
            waves[name] = f"wave-{name.replace('_', '-')}.npy"
            write_array(folder / waves[name], np.asarray(column, dtype="<i8"))
    entries = (stop_json(machine.stop_of(wave)) for wave in range(machine.wave_count))
    stops = [{"wave": wave, **entry} for wave, entry in enumerate(entries) if entry]
    if stops:
        waves["stops"] = stops
    manifest["waves"] = waves
    if machine.files:
        manifest["registers"] = [_write_files(machine, files, folder) for files in _by_kind(machine.files)]
    spaces = [machine.target.space(number) for number in sorted(machine.memory.stores)]
    if spaces:
        manifest["memory"] = [_write_space(machine, space, folder) for space in spaces]
    import json

    text = json.dumps(manifest, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def _by_kind(files: list[RegisterFile]) -> list[list[RegisterFile]]:
    """Group register files by kind and number, so that registers that were added one by one become one array."""
    kinds: dict[tuple[str, int], list[RegisterFile]] = {}
    for file in sorted(files, key=lambda file: file.registers[0].number):
        first = file.registers[0]
        kinds.setdefault((split_name(first.name)[0], first.bit_size), []).append(file)
    return list(kinds.values())


def _write_files(machine: Machine, files: list[RegisterFile], folder: Path) -> Json:
    """Write the registers of one kind."""
    import numpy as np

    registers = [register for file in files for register in file.registers]
    name = registers[0].name
    entry: Json = {"names": names_of(registers), "data": f"{name}.npy"}
    unknown = [
        {"register": register.name, "wave": wave, "lanes": hex(mask)}
        for register in registers
        for wave in range(machine.wave_count if machine.has_gaps else 0)
        if (mask := machine.unknown_lanes(register, wave))
    ]
    if unknown:
        entry["unknown_lanes"] = unknown
    data = files[0].data
    if len(files) > 1:
        data = np.concatenate([file.data for file in files], axis=1, dtype=data.dtype)
    write_array(folder / entry["data"], data if data.shape[2] > 1 else data[:, :, 0])
    if not all(file.all_known for file in files):
        entry["known"] = f"{name}-known.npy"
        write_array(folder / entry["known"], np.concatenate([file.known for file in files], axis=1))
    return entry


def _write_space(machine: Machine, space: Any, folder: Path) -> Json:
    """Write the extents of an address space, and their concatenated bytes."""
    import numpy as np

    store = machine.memory.stores[space.number]
    extents = np.array(machine.memory.extents(space), dtype=np.uint64).reshape(-1, 3)
    entry = {"space": space.name, "extents": f"{space.name}-extents.npy", "data": f"{space.name}.npy"}
    columns = extents if space.scope in INSTANCED else extents[:, 1:]
    write_array(folder / entry["extents"], np.ascontiguousarray(columns))
    write_array(folder / entry["data"], store.joined())
    return entry


# --- Arrays in ``.npy`` files -------------------------------------------------------------------------------------
# The format is that of `numpy.lib.format`: magic, version, length of the header, and a header that is a
# Python dictionary with ``descr``, ``fortran_order`` and ``shape``. A file is opened, checked and mapped
# without numpy, whose import would take most of the time of opening a snapshot. A mapping is private: a
# change never reaches the file.

MAGIC = b"\x93NUMPY"
READ_BELOW = 1 << 22
"""Arrays of fewer bytes are read, larger ones are mapped."""
MAX_HEADER = 10_000

_LENGTH = rb"(?:0|[1-9]\d{0,13})"
_USUAL = re.compile(
    rb"\{'descr': '([<>|=\w]{2,20})', 'fortran_order': (True|False), "
    rb"'shape': \((|%b,|%b(?:, %b)+)\), \}\s*" % (_LENGTH, _LENGTH, _LENGTH)
)
"""A header as numpy writes it. Any other is read as the dictionary of Python that it is, which takes `ast`."""
_KIND = re.compile(r"([<>|=])([ubiU])(\d{1,7})")


def open_array(path: str, kinds: tuple[str, ...], shape: tuple[int | None, ...], what: str) -> Cells:
    """Return the array in a file. It must be of one of some types and of a shape, in which None is any length.

    ``what`` names the key of the array, for messages.
    """
    name = os.path.basename(path)  # noqa: PTH119 (`pathlib` costs start-up time)
    try:
        with open_input(path) as file:
            offset, kind, order, actual = _header(file.read(MAX_HEADER + 12), what, name)
            if not any(_is_kind(kind, wanted) for wanted in kinds):
                raise _bad(what, name, f"holds {kind[:20]}, and {' or '.join(kinds)} is needed")
            if order:
                raise _bad(what, name, "is in Fortran order, and C order is needed")
            if len(actual) != len(shape) or any(
                expected not in (None, has) for expected, has in zip(shape, actual, strict=True)
            ):
                wanted = "x".join("any" if expected is None else str(expected) for expected in shape)
                shown = "x".join(map(str, actual)) or "()"
                raise _bad(what, name, f"has the shape {shown}, and {wanted} is needed")
            needed, size = byte_size(kind, actual), os.fstat(file.fileno()).st_size - offset
            if size < needed:
                raise _bad(what, name, f"has {size} bytes of data, {needed} are needed")
            if not needed:
                return Cells(kind, actual)
            if needed < READ_BELOW:
                file.seek(offset)
                data = bytearray(file.read(needed))
                if len(data) < needed:
                    raise _bad(what, name, "has become shorter while it was read")
                return Cells(kind, actual, memoryview(data))
            whole = mapped(file, offset + needed, path, is_private=True)
    except (OSError, ValueError) as error:
        raise _bad(what, name, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except MalformedFile as error:
        if error.kind != "unreadable":
            raise
        raise _bad(what, name, f"cannot be read: {error.message.removeprefix(f'{path}: ')}") from None
    return Cells(kind, actual, whole[offset:])


def texts(cells: Cells) -> list[str] | None:
    """Return all elements of an array of text; None if it holds numbers that are no characters."""
    width = item_size(cells.kind) // 4
    try:
        text = str(cells.buffer, "utf-32-le", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return [text[start : start + width].rstrip("\0") for start in range(0, len(text), width)]


def write_array(path: Path, data: Array) -> None:
    """Write an array to a file that does not exist yet."""
    import numpy as np

    with path.open("xb") as file:
        np.lib.format.write_array(file, np.asarray(data), allow_pickle=False)


def _header(data: bytes, what: str, name: str) -> tuple[int, str, bool, tuple[int, ...]]:
    """Return the start of the data, its type, whether it is in Fortran order, and its shape."""
    if data[:6] != MAGIC or len(data) < 12:
        raise _bad(what, name, "is not a .npy file")
    if data[6] == 1:
        start, length = 10, int.from_bytes(data[8:10], "little")
    elif data[6] in (2, 3):
        start, length = 12, int.from_bytes(data[8:12], "little")
    else:
        raise _bad(what, name, f"is a .npy file of version {data[6]}")
    text = data[start : start + length]
    if length > MAX_HEADER or len(text) < length:
        raise _bad(what, name, "has a header that is cut off or too long")
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        lengths = tuple(int(size) for size in usual[3].split(b",") if size)
        return start + length, usual[1].decode(), usual[2] == b"True" and len(lengths) > 1, lengths
    import ast

    try:
        header = ast.literal_eval(text.decode().strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise _bad(what, name, "has a header that cannot be read") from None
    if not isinstance(header, dict) or sorted(map(str, header)) != ["descr", "fortran_order", "shape"]:
        raise _bad(what, name, "has a header without descr, fortran_order and shape")
    shape: Any = header.get("shape")
    kind, order = header.get("descr"), header.get("fortran_order")
    if not isinstance(kind, str) or not isinstance(order, bool) or not _is_shape(shape):
        raise _bad(what, name, "has a header whose fields are not a type, a flag and a shape")
    return start + length, kind, order and len(shape) > 1, shape


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple) and all(type(length) is int and 0 <= length < 1 << 48 for length in shape)


def _is_kind(kind: str, wanted: str) -> bool:
    """Return whether a type is of a kind; ``<U`` is text of any width, and a byte has no order."""
    match = _KIND.fullmatch(kind)
    if match is None:
        return False
    order, letter, width = match.groups()
    if wanted == "<U":
        return order == "<" and letter == "U" and int(width) > 0
    return f"{letter}{width}" == wanted[1:] and (width == "1" or order == wanted[0])


def _bad(what: str, name: str, why: str) -> MalformedFile:
    return MalformedFile("bad_snapshot", f"{what}: {name} {why}")
