"""The ``context`` of a case: the machine, the frame and the unit that somebody describes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.backends.described import DescribedMachine, Region
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.expr import types
from dwarfgpu.expr.binding import bound
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.values import Value
from dwarfgpu.json_node import Node, NotACase, parse_hex
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.cases.described import DescribedDie, DescribedFrame, DescribedUnit
from dwarfgpu.program.cases.json_types import (
    LocationReader,
    die_reference,
    lane_of,
    register_of,
    space_of,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.bits import Positions
    from dwarfgpu.expr.context import DieReference
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.program.setting import Setting
    from dwarfgpu.targets.target import Target

KEYS = (
    *("registers", "memory", "lane", "lane_count", "iteration", "iterations", "pc", "cfa", "frame_base", "object"),
    *("initial_stack", "base_types", "debug_addr", "tls", "entry_values", "entry_registers", "dies"),
)  # fmt: skip

MAX_LANES = 1 << 16


class ExpressionReader:
    """Reads expressions. One that is not even bytes makes the case unanswerable; it is kept as the first problem."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.problem: DwarfGpuError | None = None

    def read(self, node: Node, section: str | None = None) -> Expression:
        """An expression: hex, or an object with its text in ``ops``."""
        if node.is_object:
            return self.assembled(node.fields(("ops",))["ops"], section)
        return self.decoded(node, section)

    def decoded(self, node: Node, section: str | None = None) -> Expression:
        data = parse_hex(node.string())
        if data is None:
            message = f"{node.path} is not bytes: an even number of hex digits is needed"
            self.problem = self.problem or MalformedFile("bad_hex", message)
        return self.setting.decoded(data or b"", section)

    def assembled(self, node: Node, section: str | None = None) -> Expression:
        text = node.string()
        with self.noting():
            found = self.setting.parsed(text)
            found.section = section
            return found
        return self.setting.decoded(b"", section)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Keep an error as the problem of the case, if it is the first; go on reading, to find what is no case."""
        try:
            yield
        except NotACase:
            raise
        except DwarfGpuError as error:
            self.problem = self.problem or error


def context_of(
    node: Node | None, wanted: Node | None, expressions: ExpressionReader
) -> tuple[Context, tuple[int, ...] | None]:
    """The context that a case describes, and the lanes that it asks for (None: it asks once)."""
    setting = expressions.setting
    fields = {} if node is None else node.fields((), KEYS)
    lane_count = fields["lane_count"].unsigned(32, at_least=1) if "lane_count" in fields else None
    lane = fields["lane"].unsigned(32) if "lane" in fields else None
    asked = None if wanted is None else _lanes(wanted, lane_count or setting.target.lane_count)
    lanes = LaneSet.one(lane) if not asked else LaneSet.of(asked)
    machine = _machine(fields, setting.target, lane)
    unit = _unit(fields, expressions)
    reader = LocationReader(machine, unit)
    context = Context(
        target=setting.target,
        rules=setting.rules,
        backend=machine,
        lanes=lanes,
        lane_count=lane_count,
        iteration=fields["iteration"].unsigned(32) if "iteration" in fields else None,
        iteration_count=fields["iterations"].unsigned(32, at_least=1) if "iterations" in fields else 1,
        frame=_frame(fields, reader, expressions),
        unit=unit,
        pc=fields["pc"].unsigned(setting.target.default_space.address_bits) if "pc" in fields else None,
        object=_object(fields.get("object"), reader, lanes, expressions),
        initial_stack=_initial_stack(fields.get("initial_stack"), reader, lanes, expressions),
    )
    return context, asked


def narrowed(context: Context, positions: Positions) -> Context:
    """The context for some of the lanes it is for."""
    return evolve(
        context,
        lanes=context.lanes.select(positions),
        object=None if context.object is None else context.object.select(positions),
        initial_stack=tuple(entry.select(positions) for entry in context.initial_stack),
    )


def _lanes(node: Node, lane_count: int) -> tuple[int, ...]:
    if node.value == "all":
        if lane_count > MAX_LANES:
            raise node.fail(f"{lane_count} lanes are more than the {MAX_LANES} that one case may ask for")
        return tuple(range(lane_count))
    if not node.is_list:
        raise node.fail('an array of lanes or "all" is needed')
    lanes = tuple(item.unsigned(32) for item in node.items())
    if len(set(lanes)) != len(lanes):
        raise node.fail("a lane is named twice")
    if len(lanes) > MAX_LANES:
        raise node.fail(f"{len(lanes)} lanes are more than the {MAX_LANES} that one case may ask for")
    return lanes


# --- The machine --------------------------------------------------------------------------------------------------


def _machine(fields: dict[str, Node], target: Target, lane: int | None) -> DescribedMachine:
    machine = DescribedMachine(target)
    seen: set[int] = set()
    for key, node in fields["registers"].entries() if "registers" in fields else ():
        register = register_of(key, machine)
        if register.number in seen:
            raise key.fail(f"register {register.number}, {register.name}, is given twice")
        seen.add(register.number)
        contents = _contents(node)
        with _described(node):
            machine.describe_register(register.number, contents)
    for node in fields["memory"].items() if "memory" in fields else ():
        region = _region(node, target, lane)
        with _described(node):
            machine.describe_memory(region)
    return machine


@contextmanager
def _described(node: Node) -> Iterator[None]:
    """What cannot be described is an error of the node."""
    try:
        yield
    except DwarfGpuError as error:
        raise node.fail(error.message, hint=error.hint) from error


def _contents(node: Node) -> Any:
    """What a register holds: an integer, bytes, or one integer a lane."""
    if node.is_object:
        return node.fields(("bytes",))["bytes"].bytes()
    if node.is_list:
        return [item.integer() for item in node.items()]
    return node.integer()


def _region(node: Node, target: Target, lane: int | None) -> Region:
    fields = node.fields(("space", "address", "bytes"), ("lane",))
    space = space_of(fields["space"], target)
    if "lane" in fields:
        lane = lane_of(fields["lane"], space)
    return Region(space, fields["address"].unsigned(space.address_bits), fields["bytes"].bytes(), lane)


# --- The unit -----------------------------------------------------------------------------------------------------


def _table(node: Node | None, bits: int = 64) -> dict[int, Node] | None:
    """An object whose keys are unsigned integers; None where there is none."""
    if node is None:
        return None
    table: dict[int, Node] = {}
    for key, value in node.entries():
        number = key.unsigned(bits)
        if number in table:
            raise key.fail(f"{number:#x} is given twice")
        table[number] = value
    return table


def _unit(fields: dict[str, Node], expressions: ExpressionReader) -> DescribedUnit:
    setting = expressions.setting
    target = setting.target
    base_types: dict[int, Callable[[], BaseType]] | None = None
    types_by_offset = _table(fields.get("base_types"))
    if types_by_offset is not None:
        base_types = {offset: type_of(node, target).make for offset, node in types_by_offset.items()}
    debug_addr: dict[int, int] | None = None
    addresses = _table(fields.get("debug_addr"))
    if addresses is not None:
        bits = target.default_space.address_bits
        debug_addr = {index: node.unsigned(bits) for index, node in addresses.items()}
    dies: dict[DieReference, DescribedDie] | None = None
    if "dies" in fields:
        dies = {}
        for key, node in fields["dies"].entries():
            reference = die_reference(key)
            if reference in dies:
                raise key.fail(f"the entry {reference} is given twice")
            dies[reference] = _die(node, str(reference), expressions)
    size = setting.form.reference_size
    return DescribedUnit(size, base_types=base_types, debug_addr=debug_addr, dies=dies)


def _die(node: Node, name: str, expressions: ExpressionReader) -> DescribedDie:
    fields = node.fields((), ("location", "const_value"))
    section = f"DW_AT_location of {name}"
    found: Expression | tuple[Expression, ...] | None = None
    location = fields.get("location")
    if location is not None and location.value is not None:
        if location.is_list:
            found = tuple(expressions.read(item, section) for item in location.items())
        else:
            found = expressions.read(location, section)
    return DescribedDie(found, fields["const_value"].bytes() if "const_value" in fields else None)


# --- The frame ----------------------------------------------------------------------------------------------------


def _frame(fields: dict[str, Node], reader: LocationReader, expressions: ExpressionReader) -> DescribedFrame:
    target = reader.target
    bits = target.default_space.address_bits
    tls = _table(fields.get("tls"))
    entry_registers: dict[int, Location] = {}
    if "entry_registers" in fields:
        for key, node in fields["entry_registers"].entries():
            number = register_of(key, reader.machine).number
            if number in entry_registers:
                raise key.fail(f"register {number} is given twice")
            entry_registers[number] = reader.location(node)
    entry_values: dict[bytes, Value] = {}
    if "entry_values" in fields:
        generic = types.generic(target.address_size)
        for key, node in fields["entry_values"].entries():
            block = _block(key, expressions)
            if block in entry_values:
                raise key.fail("the value of this expression is given twice")
            entry_values[block] = Value(generic, node.pattern(generic.bit_size))
    return DescribedFrame(
        reader.machine,
        cfa=reader.location_or_address(fields["cfa"]) if "cfa" in fields else None,
        frame_base=reader.location_or_address(fields["frame_base"]) if "frame_base" in fields else None,
        entry_registers=entry_registers if "entry_registers" in fields else None,
        entry_values=entry_values,
        tls=None if tls is None else {offset: node.unsigned(bits) for offset, node in tls.items()},
    )


def _block(key: Node, expressions: ExpressionReader) -> bytes:
    """The bytes of the operand of DW_OP_entry_value: hex, or the text of its operations."""
    if key.string().lstrip().startswith("DW_OP_"):
        return expressions.assembled(key).data
    return key.bytes()


# --- What the expression begins with ------------------------------------------------------------------------------


def _object(
    node: Node | None, reader: LocationReader, lanes: LaneSet, expressions: ExpressionReader
) -> Location | None:
    if node is None:
        return None
    found = reader.location_or_address(node)
    with expressions.noting():
        return bound(found, reader.machine, lanes)
    return None


def _initial_stack(
    node: Node | None, reader: LocationReader, lanes: LaneSet, expressions: ExpressionReader
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for item in [] if node is None else node.items():
        with expressions.noting():  # an ill-formed type, or the memory of a lane without a lane
            entry = reader.entry(item)
            entries.append(bound(entry, reader.machine, lanes) if isinstance(entry, Location) else entry)
    return tuple(entries)
