"""The common part of both forms of a snapshot: target, apertures, code objects and dispatches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.machine import Dispatch, LoadedCodeObject
from dwarfgpu.errors import UsageError
from dwarfgpu.targets.amdgpu.address_spaces import Apertures
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.target import Target

    Json = dict[str, Any]

SCHEMA = 1
MANIFEST = "manifest.json"
"""The file of this part in a folder."""
KEYS = ("byte_order", "address_size", "apertures", "code_objects", "dispatches", "comment")
"""The keys of this part that may be absent."""

MAX_ID_BITS = 63


def read_target(fields: dict[str, Node]) -> Target:
    """Check the schema, and return the target."""
    schema = fields["schema"].integer()
    if schema != SCHEMA:
        raise fields["schema"].fail(f"schema {schema} is not known", hint=f"only schema {SCHEMA} is")
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    size = fields["address_size"].unsigned() if "address_size" in fields else None
    try:
        return resolve(fields["target"].string(), byte_order=order, address_size=size)
    except UsageError as error:
        raise fields["target"].fail(error.message, hint=error.hint) from None


def read_head(fields: dict[str, Node], machine: Machine) -> None:
    """Read everything except the waves into a machine."""
    machine.target_name = fields["target"].string()
    if "apertures" in fields:
        bases = fields["apertures"].fields(("shared", "private"))
        try:
            machine.set_apertures(Apertures(bases["shared"].unsigned(64), bases["private"].unsigned(64)))
        except UsageError as error:
            raise fields["apertures"].fail(error.message) from None
    if "code_objects" in fields:
        machine.code_objects += [_code_object(node) for node in fields["code_objects"].items()]
    for node in fields["dispatches"].items() if "dispatches" in fields else ():
        dispatch = _dispatch(node)
        if any(other.id == dispatch.id for other in machine.dispatches):
            raise node.fail(f"there are two dispatches with the id {dispatch.id}")
        machine.dispatches.append(dispatch)


def _code_object(node: Node) -> LoadedCodeObject:
    fields = node.fields(("path",), ("load_address", "sha256", "comment"))
    digest = fields["sha256"].string() if "sha256" in fields else None
    if digest is not None and (len(digest) != 64 or len(fields["sha256"].bytes()) != 32):
        raise fields["sha256"].fail("a SHA-256 hash has 64 hex digits")
    path = fields["path"].string()
    if not path or "\0" in path:
        raise fields["path"].fail("this is not the path of a file")
    address = fields["load_address"].unsigned(64) if "load_address" in fields else None
    return LoadedCodeObject(path, address, digest)


def _dispatch(node: Node) -> Dispatch:
    fields = node.fields(("id",), ("kernel", "grid", "work_group", "kernarg", "queue", "packet", "comment"))
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
