"""The form of a snapshot for many waves: a folder with ``manifest.json`` and an array for each column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.columns import RegisterFile, names_of, split_name, unit_count, unit_type
from dwarfgpu.backends.machine import NONE
from dwarfgpu.backends.memory import INSTANCED
from dwarfgpu.backends.npy import map_array, write_array
from dwarfgpu.backends.snapshot_head import KEYS, read_head, read_target, write_head
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.bits import Array
    from dwarfgpu.json_node import Node
    from dwarfgpu.targets.target import Register, Target

    Json = dict[str, Any]

MANIFEST = "manifest.json"
MAX_REGISTERS = 1 << 16
"""More registers in one array are refused."""

COLUMNS = ("dispatch", "work_group", "wave_in_group")


# --- Reading ------------------------------------------------------------------------------------------------------


class FolderReader:
    """Reads one folder: every array is checked against what the manifest says before it is used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def machine(self, node: Node, make: Callable[[Target], Machine]) -> Machine:
        """The machine of a manifest."""
        fields = node.fields(("schema", "target", "waves"), (*KEYS, "registers", "memory"))
        machine = make(read_target(fields))
        read_head(fields, machine)
        self._waves(fields["waves"], machine)
        for item in fields["registers"].items() if "registers" in fields else ():
            self._registers(item, machine)
        for item in fields["memory"].items() if "memory" in fields else ():
            self._memory(item, machine)
        return machine

    def _array(self, node: Node, kinds: tuple[str, ...], shape: tuple[int | None, ...]) -> Array:
        name = node.string()
        if not name or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
            raise node.fail(f"{name[:80]!r} is not the name of a file in the folder")
        return map_array(self.folder / name, kinds, shape, node.path)

    def _waves(self, node: Node, machine: Machine) -> None:
        fields = node.fields(("count", "id"), COLUMNS)
        count = fields["count"].unsigned(32)
        try:
            ids = self._array(fields["id"], ("<U",), (count,)).tolist()
        except ValueError:  # numbers that are no characters
            raise fields["id"].fail("the names are not text") from None
        if len(set(ids)) != count:
            raise fields["id"].fail("two waves have one name")
        columns: dict[str, Any] = dict.fromkeys(COLUMNS, NONE)
        for name in COLUMNS:
            if name in fields:
                shape = (count, 3) if name == "work_group" else (count,)
                column = self._array(fields[name], ("<i8",), shape)
                limit = len(machine.dispatches) if name == "dispatch" else 1 << 32
                if column.size and not NONE <= int(column.min()) <= int(column.max()) < limit:
                    raise fields[name].fail(f"a number is not in the range from {NONE} to {limit - 1}")
                columns[name] = column
        machine.add_waves(count, ids=ids, **columns)

    def _registers(self, node: Node, machine: Machine) -> None:
        fields = node.fields(("names", "data"), ("known",))
        registers = _registers_named(fields["names"], machine)
        first = registers[0]
        units = unit_count(first)
        kind = unit_type(first, machine.target.byte_order)
        count = machine.wave_count
        shape: tuple[int, ...] = (count, len(registers)) if units == 1 else (count, len(registers), units)
        data = self._array(fields["data"], (kind,), shape)
        known = self._array(fields["known"], ("|b1",), shape[:2]) if "known" in fields else None
        try:
            machine.add_file(RegisterFile(registers, data.reshape(count, len(registers), units), known))
        except UsageError as error:
            raise fields["names"].fail(error.message) from None

    def _memory(self, node: Node, machine: Machine) -> None:
        import numpy as np

        fields = node.fields(("space", "extents", "data"))
        space = machine.target.space_named(fields["space"].string())
        if space is None or space.alias is not None:
            names = ", ".join(one.name for one in machine.target.spaces() if one.alias is None)
            raise fields["space"].fail(
                f"{machine.target.name} keeps no bytes in such an address space", hint=f"it has {names}"
            )
        width = 3 if space.scope in INSTANCED else 2
        extents = self._array(fields["extents"], ("<u8",), (None, width))
        sizes = extents[:, width - 1]
        if (sizes.size and int(sizes.max()) > 1 << 62) or int(
            sizes.sum(dtype=object) if sizes.size else 0
        ) > 1 << 62:
            raise fields["extents"].fail("the sizes are more than any memory has")
        data = self._array(fields["data"], ("|u1",), (int(sizes.sum()),))
        owners = extents[:, 0] if width == 3 else np.zeros(len(extents), dtype=np.uint64)
        if owners.size and int(owners.max()) >= machine.wave_count and width == 3:
            raise fields["extents"].fail(f"there is no wave {int(owners.max())}")
        try:
            addresses = np.ascontiguousarray(extents[:, width - 2])
            machine.memory.map_all(space, owners.astype(np.int64), addresses, sizes.astype(np.int64), data)
        except UsageError as error:
            raise node.fail(error.message) from None


def _registers_named(node: Node, machine: Machine) -> list[Register]:
    """The registers that a list of names such as ``v0-v127,v130`` means; all have one size."""
    registers: list[Register] = []
    for name in node.string().split(","):
        first, dash, last = name.strip().partition("-")
        letters, begin = split_name(first)
        end = split_name(last)[1] if dash else begin
        if dash and (begin is None or end is None or split_name(last)[0] != letters or end < begin):
            raise node.fail(f"{name[:80]!r} is not a range of registers", hint="write v0-v127")
        if (end or 0) - (begin or 0) + len(registers) >= MAX_REGISTERS:
            raise node.fail(f"these are more than {MAX_REGISTERS} registers")
        names = [f"{letters}{i}" for i in range(begin, end + 1)] if dash else [first]  # type: ignore[operator, arg-type]
        for one in names:
            register = machine.register_named(one)
            if register is None:
                raise node.fail(f"{machine.target.name} has no register {one[:80]!r}")
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
    for name in COLUMNS:
        column = getattr(machine, name)
        if (column != NONE).any():
            waves[name] = f"wave-{name.replace('_', '-')}.npy"
            write_array(folder / waves[name], np.asarray(column, dtype="<i8"))
    manifest["waves"] = waves
    if machine.files:
        manifest["registers"] = [_write_file(file, folder) for file in machine.files]
    spaces = [machine.target.space(number) for number in sorted(machine.memory.stores)]
    if spaces:
        manifest["memory"] = [_write_space(machine, space, folder) for space in spaces]
    text = json.dumps(manifest, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def _write_file(file: RegisterFile, folder: Path) -> Json:
    name = file.registers[0].name
    found = {"names": names_of(file.registers), "data": f"{name}.npy"}
    write_array(folder / found["data"], file.data if file.data.shape[2] > 1 else file.data[:, :, 0])
    if not file.all_known:
        found["known"] = f"{name}-known.npy"
        write_array(folder / found["known"], file.known)
    return found


def _write_space(machine: Machine, space: Any, folder: Path) -> Json:
    """The extents of an address space, and their bytes one behind the other."""
    import numpy as np

    store = machine.memory.stores[space.number]
    extents = np.array(machine.memory.extents(space), dtype=np.uint64).reshape(-1, 3)
    found = {"space": space.name, "extents": f"{space.name}-extents.npy", "data": f"{space.name}.npy"}
    columns = extents if space.scope in INSTANCED else extents[:, 1:]
    write_array(folder / found["extents"], np.ascontiguousarray(columns))
    write_array(folder / found["data"], store.joined())
    return found
