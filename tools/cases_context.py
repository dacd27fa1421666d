"""The ``context`` of a case: a described machine, call frame and unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

from attrs import define, field
from cases_json import JsonLocations, die_reference, lane_of, register_of, space_of, table, type_of

from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, MalformedFile, MissingContext
from dwarfgpu.expr import locations, types
from dwarfgpu.expr.context import Context, DieInfo, LoneFrame, known_register
from dwarfgpu.expr.locations import UNDEFINED, Implicit, Location, Memory, Register, bound
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.machines.typed_contents import FORMS, form_of, noting, read_contents, typed_bytes
from dwarfgpu.strict_json import Node, NotACase, parse_hex
from dwarfgpu.targets.target import UnspecifiedRegister

if TYPE_CHECKING:
    from dwarfgpu.expr.context import DieReference, FrameInfo, UnitInfo
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.program.code.encoding_context import EncodingContext
    from dwarfgpu.targets.target import Target, TargetRegister

    V = TypeVar("V")


KEYS = (
    *("registers", "memory", "lane", "lane_count", "iteration", "iterations", "pc", "cfa", "frame_base", "object"),
    *("initial_stack", "base_types", "debug_addr", "tls", "entry_values", "entry_registers", "spaces", "dies"),
)  # fmt: skip

MAX_LANES = 1 << 16


class CaseExpressions:
    """Reads expressions. One that is not even bytes makes the case unanswerable; it is kept as the first problem."""

    def __init__(self, setting: EncodingContext) -> None:
        self.setting = setting
        self.problem: DwarfGpuError | None = None

    def read(self, node: Node, section: str | None = None) -> Expression:
        """Read an expression: hex, or an object with its text in ``ops``."""
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
            expression = self.setting.parsed(text)
            expression.section = section
            return expression
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
    node: Node | None, wanted: Node | None, expressions: CaseExpressions
) -> tuple[Context, tuple[int, ...] | None]:
    """Return the context that a case describes, and the lanes that it wants (None: it is evaluated once)."""
    setting = expressions.setting
    fields = {} if node is None else node.fields((), KEYS)
    lane_count = fields["lane_count"].unsigned(32, at_least=1) if "lane_count" in fields else None
    lane = fields["lane"].unsigned(31) if "lane" in fields else None
    asked = None if wanted is None else _lanes(wanted, lane_count or setting.target.lane_count)
    lanes = LaneSet.one(lane) if not asked else LaneSet.of(asked)
    machine = _machine(fields, setting.target, lane)
    unit = _unit(fields, expressions)
    reader = JsonLocations(machine, unit)
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


def _lanes(node: Node, lane_count: int) -> tuple[int, ...]:
    if node.value == "all":
        if lane_count > MAX_LANES:
            raise node.fail(f"{lane_count} lanes are more than the {MAX_LANES} that one case may ask for")
        return tuple(range(lane_count))
    if not node.is_list:
        raise node.fail('an array of lanes or "all" is needed')
    lanes = tuple(item.unsigned(31) for item in node.items())
    if len(set(lanes)) != len(lanes):
        raise node.fail("a lane is named twice")
    if len(lanes) > MAX_LANES:
        raise node.fail(f"{len(lanes)} lanes are more than the {MAX_LANES} that one case may ask for")
    return lanes


# --- The machine --------------------------------------------------------------------------------------------------


def _machine(fields: dict[str, Node], target: Target, lane: int | None) -> DescribedMachine:
    machine = DescribedMachine(target)
    registers = table(
        fields.get("registers"), lambda key: register_of(key, machine), lambda it: f"register {it.number}, {it.name},"
    )
    for register, node in registers:
        lanes = register.bit_size // register.lane_bits if register.lane_bits else 0
        contents = read_contents(node, register.lane_bits or register.bit_size, lanes)
        with noting(node):
            machine.describe_register(register.number, contents)
    for node in fields["memory"].items() if "memory" in fields else ():
        region = _region(node, target, lane)
        with noting(node):
            machine.describe_memory(region)
    return machine


def _region(node: Node, target: Target, lane: int | None) -> Region:
    fields = node.fields(("space", "address"), ("lane", *FORMS))
    space = space_of(fields["space"], target)
    if "lane" in fields:
        lane = lane_of(fields["lane"], space)
    data = typed_bytes(*form_of(node, fields), target.byte_order)
    return Region(space, fields["address"].unsigned(space.address_bits), data, lane)


# --- The unit -----------------------------------------------------------------------------------------------------


def _numbered(node: Node | None, read: Callable[[Node], V]) -> dict[int, V] | None:
    """Read an object whose keys are unsigned integers; None where there is none."""
    return None if node is None else {key: read(value) for key, value in table(node, Node.unsigned, hex)}


def _unit(fields: dict[str, Node], expressions: CaseExpressions) -> DescribedUnit:
    setting = expressions.setting
    target = setting.target
    entries = table(fields.get("dies"), die_reference, lambda reference: f"the entry {reference}")
    return DescribedUnit(
        setting.form.reference_size,
        base_types=_numbered(fields.get("base_types"), lambda node: type_of(node, target)),
        debug_addr=_numbered(fields.get("debug_addr"), lambda node: node.unsigned(target.default_space.address_bits)),
        dies={key: _die(node, str(key), expressions) for key, node in entries} if "dies" in fields else None,
    )


def _die(node: Node, name: str, expressions: CaseExpressions) -> DescribedDie:
    fields = node.fields((), ("location", "const_value"))
    section = f"DW_AT_location of {name}"
    location_expression: Expression | tuple[Expression, ...] | None = None
    location = fields.get("location")
    if location is not None and location.value is not None:
        if location.is_list:
            location_expression = tuple(expressions.read(item, section) for item in location.items())
        else:
            location_expression = expressions.read(location, section)
    return DescribedDie(location_expression, fields["const_value"].bytes() if "const_value" in fields else None)


# --- The frame ----------------------------------------------------------------------------------------------------


def _frame(fields: dict[str, Node], reader: JsonLocations, expressions: CaseExpressions) -> DescribedFrame:
    target = reader.target
    tls = _numbered(fields.get("tls"), lambda node: node.unsigned(target.default_space.address_bits))
    registers = table(
        fields.get("entry_registers"),
        lambda key: register_of(key, reader.machine).number,
        lambda number: f"register {number}",
    )
    entry_registers = {number: reader.location(node) for number, node in registers}
    generic = types.generic(target.address_size)
    values = table(
        fields.get("entry_values"), lambda key: _block(key, expressions), lambda _block: "the value of this expression"
    )
    entry_values = {block: Value(generic, node.pattern(generic.bit_size)) for block, node in values}
    return DescribedFrame(
        reader.machine,
        cfa=reader.location_or_address(fields["cfa"]) if "cfa" in fields else None,
        frame_base=reader.location_or_address(fields["frame_base"]) if "frame_base" in fields else None,
        entry_registers=entry_registers if "entry_registers" in fields else None,
        entry_values=entry_values,
        tls=tls,
    )


def _block(key: Node, expressions: CaseExpressions) -> bytes:
    """Return the bytes of the operand of DW_OP_entry_value: hex, or the text of its operations."""
    if key.string().lstrip().startswith("DW_OP_"):
        return expressions.assembled(key).data
    return key.bytes()


# --- The initial stack and the object -----------------------------------------------------------------------------


def _object(node: Node | None, reader: JsonLocations, lanes: LaneSet, expressions: CaseExpressions) -> Location | None:
    if node is None:
        return None
    location = reader.location_or_address(node)
    with expressions.noting():
        return bound(location, reader.machine, lanes)
    return None


def _initial_stack(
    node: Node | None, reader: JsonLocations, lanes: LaneSet, expressions: CaseExpressions
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for item in [] if node is None else node.items():
        with expressions.noting():  # an ill-formed type, or the memory of a lane without a lane
            entry = reader.entry(item)
            entries.append(bound(entry, reader.machine, lanes) if isinstance(entry, Location) else entry)
    return tuple(entries)


# --- The described unit and call frame ----------------------------------------------------------------------------
# What is not described is missing context (A.2.5.1), and the error says which table would have held it.


@frozen
class DescribedDie:
    """What is said of one debugging information entry."""

    location: Expression | tuple[Expression, ...] | None = None
    const_value: bytes | None = None


@frozen(eq=False)
class DescribedUnit:
    """A compilation unit of which some tables are known; None is a table that is not described."""

    reference_size: int = 4
    base_types: Mapping[int, Callable[[], BaseType]] | None = None
    """Base types by unit offset: functions, because a type may be ill-formed, which concerns only who uses it."""
    debug_addr: Mapping[int, int] | None = None
    dies: Mapping[DieReference, DescribedDie] | None = None

    def base_type(self, offset: int) -> BaseType:
        if self.base_types is None:
            _notable("base types", "base_types")
        make = self.base_types.get(offset)
        if make is None:
            message = f"there is no DW_TAG_base_type at offset {offset:#x} of the unit"
            raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
        return make()

    def address(self, index: int) -> int:
        if self.debug_addr is None:
            _notable("entries of .debug_addr", "debug_addr")
        address = self.debug_addr.get(index)
        if address is None:
            raise IllFormed("bad_operand", f".debug_addr has no entry {index}", spec="A.2.5.4.4.3 (2)")
        return address

    def relocated(self, address: int) -> int:
        return address

    def die(self, reference: DieReference) -> DieInfo:
        if self.dies is None:
            _notable("debugging information entries", "dies")
        entry = self.dies.get(reference)
        if entry is None:
            message = f"there is no debugging information entry at {reference}"
            spec = "A.2.5.4.2 (5)" if reference.base == "unit" else "A.2.5.4.4.5 (3)"
            raise IllFormed("bad_operand", message, spec=spec)
        return DieInfo(self, entry.location, entry.const_value)


def _notable(what: str, name: str) -> NoReturn:
    message = f"the compilation unit of the context has no {what}"
    raise MissingContext("unit", message, hint=f"describe them as `{name}`")


@define(eq=False)
class DescribedFrame:
    """The top call frame of a described machine and its caller; what has no lane is that of the lane that asks."""

    machine: DescribedMachine
    _cfa: Location | None = None
    _frame_base: Location | None = None
    _entry_registers: Mapping[int, Location] | None = None
    entry_values: Mapping[bytes, Value] = field(factory=dict)
    tls: Mapping[int, int] | None = None
    _own: dict[int, Location] = field(factory=dict, init=False)
    """The locations of registers that are the same for all lanes, once they are known."""

    def register(self, number: int, lanes: LaneSet) -> Location:
        location = self._own.get(number)
        if location is None:
            register = self._register(number)
            location = self._of_register(register, lanes)
            if not self.machine.lane_owned(register):
                self._own[number] = location
        return location

    def _of_register(self, register: TargetRegister, lanes: LaneSet) -> Location:
        return bound(locations.at(Register(register)), self.machine, lanes)

    def _register(self, number: int) -> TargetRegister:
        return known_register(self.machine.target, self.machine.register(number), number)

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        register = self._register(number)
        known = (self._entry_registers or {}).get(number)
        if known is not None:
            return bound(known, self.machine, lanes)
        rule = self.machine.target.unspecified_rule(number)
        if rule == UnspecifiedRegister.SAME_VALUE:
            return self._of_register(register, lanes)
        return self._stack_pointer(register, lanes) if rule == UnspecifiedRegister.CFA else UNDEFINED

    def _stack_pointer(self, register: TargetRegister, lanes: LaneSet) -> Location:
        """Return the stack pointer at the call site: by definition that is the address of the CFA."""
        place = self.cfa(lanes).single
        if place is None or type(place.storage) is not Memory or not isinstance(place.bit_offset, int):
            message = f"the previous value of {register.name} is the address of the CFA, which is not in memory"
            raise IllFormed("wrong_kind", message, spec="A.6.4.1")
        value = place.bit_offset // 8 // self.machine.target.stack_scale
        return locations.at(Implicit(value & ((1 << register.bit_size) - 1), register.bit_size))

    def cfa(self, lanes: LaneSet) -> Location:
        if self._cfa is None:
            raise MissingContext("frame", "the Canonical Frame Address is not known", hint="describe it as `cfa`")
        return bound(self._cfa, self.machine, lanes)

    def frame_base(self, lanes: LaneSet) -> Location:
        if self._frame_base is None:
            message = "the frame base of the subprogram is not known"
            raise MissingContext("frame", message, hint="describe it as `frame_base`")
        return bound(self._frame_base, self.machine, lanes)

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        if self.tls is None:
            raise MissingContext("thread", "the thread has no thread-local storage", hint="describe it as `tls`")
        address = self.tls.get(offset)
        if address is None:
            message = f"no address is known for the thread-local storage at {offset:#x}"
            raise EvaluationError("memory_unavailable", message, spec="A.2.5.4.4.3 (4)")
        return locations.at(Memory(self.machine.target.default_space), 8 * address)

    def caller(self) -> FrameInfo:
        if self._entry_registers is None:
            message = "the frame that called this one is not known"
            hint = "describe the value as one of `entry_values`, or the registers as `entry_registers`"
            raise MissingContext("frame", message, hint=hint)
        return CallingFrame(self)

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        return self.entry_values.get(expression)

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        raise MissingContext("frame", f"the value of the parameter at {die} at the call site is not known")


class CallingFrame(LoneFrame):
    """The frame that called a described one, of which nothing is known but the registers at the call."""

    __slots__ = ("callee",)

    def __init__(self, callee: DescribedFrame) -> None:
        self.callee = callee

    def register(self, number: int, lanes: LaneSet) -> Location:
        return self.callee.entry_register(number, lanes)

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        return self.callee.thread_local(offset, lanes, unit)

    def _unknown(self, what: str) -> NoReturn:
        raise MissingContext("frame", "nothing but its registers is known of the frame that called this one")
