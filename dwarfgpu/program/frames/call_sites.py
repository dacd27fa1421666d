"""Call sites, and what parameters were at the time of a call (DWARF 5, 3.4; A.3.4.2; before version 5 those of GNU)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dwarfgpu import dialects
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.cfi.activation import TailCallSite
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, noting
from dwarfgpu.expr.instruction import decode
from dwarfgpu.objfile.indexes.lookup import index_of

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode


DEREF = dialects.get("dwarf5").by_name["DW_OP_deref"].opcode
"""DW_OP_deref."""


def call_site_at(function: Die, pc: int) -> Die | None:
    """Return the call in a function that returns to an address of the file, or the tail call at it."""
    with noting(function.unit.dwarf.note):
        return next((site for site in _sites(function) if (at := _place_of(site)) and at[0] == pc), None)
    return None


def _sites(function: Die) -> Iterator[Die]:
    return (die for die, _depth in function.walk() if die.tag in (dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site))


def _place_of(site: Die) -> tuple[int, bool] | None:
    """Return the address behind a call and True; of a tail call without it that of the call and False."""
    behind = site.get("DW_AT_call_return_pc" if site.tag == dw.DW_TAG_call_site else "DW_AT_low_pc")
    if behind is not None:
        return behind.address(), True
    call = site.get("DW_AT_call_pc") if _is_tail_call(site) else None
    return None if call is None else (call.address(), False)


def _is_tail_call(site: Die) -> bool:
    flag = site.get("DW_AT_call_tail_call") or site.get("DW_AT_GNU_tail_call")
    return flag is not None and bool(flag.value)


def called(site: Die) -> Die | None:
    """Return the entry of the function that a call names; None of a call through a pointer."""
    named = site.get("DW_AT_call_origin") or site.get("DW_AT_abstract_origin")
    if named is None:
        return None
    target = named.reference()
    return next(iter(target.ancestors()), target) if target.tag == dw.DW_TAG_entry_point else target


def is_call_of(site: Die, callee: Die | None) -> bool:
    """Return whether a call site may be the one that called a function: it does not name another function.

    A call that names another function reached this one through tail calls, and its parameters are those of the other.
    """
    target = called(site)
    if target is None or callee is None:
        return True
    return bool({*target.origins()} & {*callee.origins()}) or _is_named_as(target, callee)


def target_of(site: Die) -> Attribute | None:
    """Return the attribute with the address that a call through a pointer leads to."""
    return site.get("DW_AT_call_target") or site.get("DW_AT_GNU_call_site_target")


def _is_named_as(die: Die, other: Die) -> bool:
    """Return whether entries of two units name the same function: a declaration may lack the name for the linker."""
    linkage = {die.linkage_name, other.linkage_name} - {None}
    return die.name == other.name and len(linkage) < 2


def parameters(site: Die) -> Iterator[Die]:
    """Yield the parameters that a call site describes."""
    return (
        die for die in site.children() if die.tag in (dw.DW_TAG_call_site_parameter, dw.DW_TAG_GNU_call_site_parameter)
    )


def value_of(parameter: Die) -> Attribute | None:
    """Return the attribute with the value of a parameter at the call."""
    return parameter.get("DW_AT_call_value") or parameter.get("DW_AT_GNU_call_site_value")


def data_of(parameter: Die) -> tuple[Attribute | None, Attribute | None]:
    """Return the attributes with the place and the value of what a parameter refers to."""
    value = parameter.get("DW_AT_call_data_value") or parameter.get("DW_AT_GNU_call_site_data_value")
    return parameter.get("DW_AT_call_data_location"), value


def parameter_at(site: Die, expression: bytes) -> Die | None:
    """Return the parameter that was where the operand of a DW_OP_entry_value says.

    The operand is the location of the parameter, or the contents of it: the location, then DW_OP_deref. A register is
    the same however it is written: DW_OP_reg17, or DW_OP_regval_type of it.
    """
    register = _register(expression)
    for parameter in parameters(site):
        location = parameter.get("DW_AT_location")
        if location is not None and location.value_class in ("block", "exprloc"):
            data = location.block().data
            if expression in (data, data + DEREF) or (register is not None and register == _register(data)):
                return parameter
    return None


def _register(expression: bytes) -> int | None:
    """Return the register that an expression is: its location, or its contents; None if it is anything else."""
    decoded = decode(expression, dialects.get("gnu"), Format())
    if decoded.fault is not None or len(decoded.instructions) != 1:
        return None
    (instruction,) = decoded.instructions
    name = instruction.operation.name
    if name in ("DW_OP_regx", "DW_OP_regval_type", "DW_OP_GNU_regval_type"):
        return int(instruction.operands[0])
    return int(name.removeprefix("DW_OP_reg")) if name.startswith("DW_OP_reg") else None


def parameter_of(site: Die, formal: Die) -> Die | None:
    """Return the call site's entry for a formal parameter: that which refers to it, else that which has its name."""
    wanted = {*formal.origins()}
    same_name = None
    for parameter in parameters(site):
        named = parameter.get("DW_AT_call_parameter") or parameter.get("DW_AT_abstract_origin")
        if named is None:
            if same_name is None and parameter.name is not None and parameter.name == formal.name:
                same_name = parameter
        elif wanted & {*named.reference().origins()}:
            return parameter
    return same_name


# --- Tail calls ---------------------------------------------------------------------------------------------------

MAX_TAIL_CALLS = 64
"""The limit of functions that are followed; beyond it, the calls are assumed to be able to lead back."""


def may_call_itself(function: Die) -> bool:
    """Return whether a function may have been called again by a tail call of its own, or of those it calls so.

    Then the call site in the caller's frame says nothing about what it was called with: the frame is the same.
    """
    first = {*function.origins()}
    waiting = [function]
    seen: set[Die] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for target in (called(site) for site in _sites(current) if _is_tail_call(site)):
            if target is None or first & {*target.origins()} or len(seen) > MAX_TAIL_CALLS:
                return True
            waiting.append(_with_code(target))
    return False


def _with_code(die: Die) -> Die:
    if die.ranges() or die.name is None:
        return die
    wanted = {*die.origins()}
    for entry in index_of(die.unit).find(die.linkage_name or die.name):
        if entry.kind == "function" and wanted & {*entry.die.origins()} and entry.die.ranges():
            return entry.die
    return die


COMPLETE = (
    "DW_AT_call_all_calls",
    "DW_AT_call_all_source_calls",
    "DW_AT_call_all_tail_calls",
    "DW_AT_GNU_all_call_sites",
    "DW_AT_GNU_all_tail_call_sites",
)
"""The attributes of a function with entries for all of its tail calls (DWARF 5, 3.3.1.3)."""
MAX_STEPS = 1000
"""How many tail calls are followed between two frames; beyond it, the way is not known."""


def tail_calls_between(loaded: Loaded, return_address: int, place: int) -> tuple[TailCallSite, ...]:
    """Return the tail calls that led from a call to the function at a place, innermost first.

    They are those that all possible ways have at their beginning and at their end; none where a call on the way is
    through a pointer, or of a function without debugging information.
    """
    code, inner = loaded.at(return_address - 1), loaded.at(place)
    function = None if code is None else code.function_at(return_address - 1)
    callee = None if inner is None else inner.function_at(place)
    if code is None or inner is None or function is None or callee is None:
        return ()
    site = call_site_at(function, code.in_file(return_address))
    try:
        wanted = _entry(loaded, inner, callee)
        if site is None or wanted is None or _target(loaded, code, site) == wanted:
            return ()
        ways = _ways(loaded, code, site, wanted)
    except DwarfGpuError as error:
        code.file.dwarf.note(error)
        return ()
    if not ways:
        return ()
    shortest = min(ways, key=len)
    first = _common(ways)
    if first == len(shortest) and len(ways) == 1:
        return tuple(reversed(shortest))
    last = min(_common([way[::-1] for way in ways]), len(shortest) - first)
    return tuple(reversed(shortest[:first] + shortest[len(shortest) - last :]))


def _common(ways: list[list[TailCallSite]]) -> int:
    """Return how many tail calls are the first ones of all ways."""
    together = enumerate(zip(*ways, strict=False))
    return next((count for count, sites in together if len({*sites}) > 1), min(map(len, ways)))


def _ways(loaded: Loaded, code: LoadedCode, site: Die, wanted: int) -> list[list[TailCallSite]]:
    """Return every way of tail calls from a call to the function at an address; empty where one is not known."""
    ways: list[list[TailCallSite]] = []
    way: list[TailCallSite] = []
    waiting = [iter([(code, site, TailCallSite(0, is_behind=True))])]
    """For each step of the way, the calls that have not been tried; first that of the caller."""
    steps = 0
    while waiting:
        following = next((each for each in waiting[-1] if each[2] not in way), None)
        if following is None:
            waiting.pop()
            del way[-1:]
            continue
        code, site, place = following
        target = _target(loaded, code, site)
        steps += 1
        if target is None or steps > MAX_STEPS:
            return []
        way.append(place)
        if target == wanted:
            ways.append(way[1:])
            way.pop()
        else:
            waiting.append(_tail_calls_at(loaded, target))
    return ways


def _tail_calls_at(loaded: Loaded, address: int) -> Iterator[tuple[LoadedCode, Die, TailCallSite]]:
    """Yield the tail calls of the function at an address, if its entry has all of them."""
    code = loaded.at(address)
    function = None if code is None else code.function_at(address)
    if code is None or function is None or not any(function.find(name) for name in COMPLETE):
        return
    for site in _sites(function):
        place = _place_of(site) if _is_tail_call(site) else None
        if place is not None:
            yield code, site, TailCallSite(code.in_program(place[0]), place[1])


def _target(loaded: Loaded, code: LoadedCode, site: Die) -> int | None:
    target = called(site)
    return None if target is None else _entry(loaded, code, target)


def _entry(loaded: Loaded, code: LoadedCode, die: Die) -> int | None:
    """Return the first address of a function with debugging information, by its entry or by its symbol."""
    ranges = die.ranges() or _with_code(die).ranges()
    if ranges:
        return code.in_program(ranges[0][0])
    name = die.linkage_name or die.name
    for each in (code, *loaded.codes):
        symbol = None if name is None else each.file.symbol_image.symbol_named(name)
        if symbol is not None and symbol.section is not None:
            address = each.in_program(symbol.value)
            return None if each.function_at(address) is None else address
    return None
