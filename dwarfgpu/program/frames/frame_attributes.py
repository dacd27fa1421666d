"""What attributes of a function and of a call say of a frame: where its return address is, its parent, its parameters.

A.3.3.5 (1) and (3); A.3.4.2 (2). Call frame information has the return address of every frame, so that these are
shown beside it, and nothing is unwound by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.locations import Memory
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.frames import call_sites
from dwarfgpu.program.frames.variable import PARAMETER

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.types import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.program.frames.frame import Frame

RETURN_ADDRESS, STATIC_LINK = "DW_AT_return_addr", "DW_AT_static_link"
CLAUSES = {RETURN_ADDRESS: "A.3.3.5 (1)", STATIC_LINK: "A.3.3.5 (3)"}
MAX_PARENTS = 256
"""How many frames are searched for the one that a static link means."""


@frozen
class FrameAttribute:
    """A location that an attribute of the function gives for a frame, or what is wrong with it."""

    name: str
    location: Location | None
    error: DwarfGpuError | None = None


@frozen
class CallParameter:
    """A parameter as the call site describes it. What the site does not say is None."""

    name: str | None
    value: Value | DwarfGpuError | None = None
    """DW_AT_call_value: the parameter at the time of the call."""
    data_location: Location | DwarfGpuError | None = None
    """DW_AT_call_data_location: where what a reference or a pointer leads to is during the call."""
    data_value: Value | DwarfGpuError | None = None
    """DW_AT_call_data_value: the value there at the time of the call."""


def frame_attributes(frame: Frame, lanes: LaneSet) -> tuple[FrameAttribute, ...]:
    """Return where the return address of a frame is stored, and the CFA of its lexical parent, as far as it is said."""
    result = []
    for name in CLAUSES:
        attribute = None if frame.function is None else frame.function.find(name)
        if attribute is None:
            continue
        try:
            results = frame.evaluated(attribute, lanes, "location")
            place = results[0].single if len(results) == 1 else None
            if place is None or type(place.storage) is not Memory:
                message = f"{attribute.name} must have one memory location description"
                raise IllFormed("wrong_kind", message, spec=CLAUSES[attribute.name])
            result.append(FrameAttribute(name, results[0]))
        except DwarfGpuError as error:
            result.append(FrameAttribute(name, None, error))
    return tuple(result)


def parent_of(frame: Frame, link: Location, lanes: LaneSet) -> Frame | None:
    """Return the frame of the lexical parent that a static link means: the one with that canonical frame address."""
    parent = None if frame.function is None else _enclosing(frame.function)
    outer = frame
    for _ in range(MAX_PARENTS):
        try:
            outer = outer.caller()
            if outer.activation is None:
                return None
            is_meant = outer.function is not None and (parent is None or outer.function == parent)
            if is_meant and outer.activation.cfa(lanes) == link:
                return outer
        except DwarfGpuError:
            return None
    return None


def _enclosing(function: Die) -> Die | None:
    return next((die for die in function.ancestors() if die.tag == dw.DW_TAG_subprogram), None)


def enclosing_name(frame: Frame) -> str | None:
    """Return the name of the function that a nested function is in."""
    parent = None if frame.function is None else _enclosing(frame.function)
    return None if parent is None else qualified_name(parent)


# --- Parameters at a call -----------------------------------------------------------------------------------------


def call_parameters(frame: Frame, lanes: LaneSet) -> Iterator[CallParameter]:
    """Yield what the call site of a frame says of its parameters, evaluated in the calling frame (A.3.4.2 (2))."""
    site = None if frame.activation is None or frame.is_inlined else frame.call_site
    if site is None:
        return
    caller = frame.caller()
    ranges = [] if frame.function is None else frame.function.ranges()
    formals: dict[bytes, str] = {}
    for variable in frame.variables() if ranges else ():
        if variable.kind == PARAMETER:
            formals.update((expression, variable.name) for expression in variable.expressions_at(ranges[0][0]))
    for entry in call_sites.parameters(site):
        named = entry.get("DW_AT_call_parameter") or entry.get("DW_AT_abstract_origin")
        place = entry.get("DW_AT_location")
        name = named.reference().name if named is not None else entry.name
        if name is None and place is not None and place.value_class in ("block", "exprloc"):
            name = formals.get(place.block().data)
        value = call_sites.value_of(entry)
        location, data = call_sites.data_of(entry)
        yield CallParameter(
            name,
            _at_call(caller, value, lanes, "value"),
            _at_call(caller, location, lanes, "location"),
            _at_call(caller, data, lanes, "value"),
        )


def _at_call(caller: Frame, attribute: Attribute | None, lanes: LaneSet, kind: Literal["value", "location"]) -> Any:
    if attribute is None:
        return None
    try:
        results = caller.evaluated(attribute, lanes, kind)
        if len(results) != 1:
            raise IllFormed("bad_operand", f"{attribute.name} is a location list", spec="A.3.4.2 (2)")
    except DwarfGpuError as error:
        return error
    return results[0]
