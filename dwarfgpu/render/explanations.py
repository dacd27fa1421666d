"""Where variables live and why, in words: their location lists, operations, parts and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr import listing
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.variables.variable import owner_of
from dwarfgpu.render.layout import beside, counted, lanes_text, plain_style, shown, wrapped
from dwarfgpu.render.operations import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.variables.answers import Values
    from dwarfgpu.program.variables.reasons import ValueSource
    from dwarfgpu.program.variables.variable import Checked, Described, Variable
    from dwarfgpu.render.layout import Style

KINDS = {
    "parameter": "a parameter",
    "local": "a local variable",
    "static": "a variable",
    "constant": "a constant",
}


class Explainer:
    """Writes what the file says about variables, in some width."""

    def __init__(self, width: int, style: Style = plain_style) -> None:
        self.width = width
        self.style = style

    # --- What a variable is ---------------------------------------------------------------------------------------

    def declared(self, variable: Variable) -> Iterator[str]:
        """Its name and type, and the entry that declares it."""
        die = variable.die
        owner = owner_of(variable)
        where = f" of {shown(owner)}" if owner else ""
        entry = f"{die.unit.section}+{die.section_offset:#x}"
        name = self.style("name", shown(variable.name))
        words = f"{shown(variable.name)}: {safe_text(variable.type)}, {KINDS[variable.kind]}{where} ({entry})"
        first, *rest = wrapped(words, self.width)
        yield first.replace(shown(variable.name), name, 1)
        yield from (f"    {line}" for line in rest)

    def places(self, variable: Variable) -> Iterator[str]:
        """Every location that the file gives it; the one that holds where execution stands is marked."""
        found = variable.locations()
        place = variable.frame.place
        if not found:
            what = "its value is the constant DW_AT_const_value of the entry"
            if not variable.is_here():
                what = "it has no location: it is optimized out"
            yield from self._indented(what, 2)
            return
        if len(found) == 1 and found[0].range is None and not found[0].is_default:
            yield from self._indented(f"wherever it is in scope: {found[0].operations}", 2)
            return
        here = [each for each in found if holds(each, place)] or [each for each in found if each.is_default]
        known = "" if place is None else f"; at {place:#x} {'the marked one holds' if here else 'none holds'}"
        yield from self._indented(
            f"its location list has {counted(len(found), 'entry').replace('entrys', 'entries')}{known}:", 2
        )
        for each in found:
            mark = "=>" if place is not None and each in here else "  "
            first, *rest = wrapped(f"{range_text(each)}: {each.operations}", self.width - 5)
            yield f"  {mark} {first}"
            yield from (f"       {line}" for line in rest)

    def _indented(self, text: str, indent: int) -> Iterator[str]:
        first, *rest = wrapped(text, self.width - indent - 2)
        yield " " * indent + first
        yield from (" " * (indent + 2) + line for line in rest)

    # --- Operations -----------------------------------------------------------------------------------------------

    def operations(self, variable: Variable) -> Iterator[str]:
        """Every location, operation by operation, with its bytes."""
        yield from self.declared(variable)
        found = variable.locations()
        if not found:
            yield from self.places(variable)
        for each in found:
            yield f"  {range_text(each)}:"
            if each.expression is not None:
                yield from self._listing(each, variable)

    def _listing(self, place: Described, variable: Variable) -> Iterator[str]:
        assert place.expression is not None  # noqa: S101 (whoever asks has looked)
        lines = listing.lines(place.expression, variable.frame.target)
        if not lines:
            yield "    (no operations)"
        width = min(max((len(line.text) for line in lines), default=0), 28)
        for line in lines:
            note = f"{' ' * (width - len(line.text))}  # {line.note}" if line.note else ""
            texts = wrapped(f"{line.text}{note}", self.width - 39)
            yield from beside(f"    {line.offset:#06x}  {bytes_text(line):26} ", texts, 41)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def parts(self, found: Values) -> Iterator[str]:
        """Where each part of a value is; lanes that have it in the same places together."""
        groups: dict[tuple[tuple[str, str], ...], int] = {}
        missing: dict[str, int] = {}
        for each in found.by_lane:
            bit = 1 << (each.lane or 0)
            if each.value is None:
                reason = "there is no value" if each.reason is None else each.reason.message
                missing[reason] = missing.get(reason, 0) | bit
                continue
            rows = tuple((_extent(source), _place(source, each.lane)) for source in each.sources())
            groups[rows] = groups.get(rows, 0) | bit
        has_lanes = any(each.lane is not None for each in found.by_lane)
        kind = "" if found.type is None else f": {safe_text(found.type)}"
        yield f"{self.style('name', shown(found.text))}{kind}"
        for rows, mask in groups.items():
            if has_lanes:
                yield from wrapped(f"  {lanes_text(mask).replace(',', ', ')}", self.width)
            extents = max(len(extent) for extent, _place in rows) if rows else 0
            for extent, where in rows:
                places = wrapped(where, self.width - extents - 6)
                yield from beside(f"    {extent:{extents}}  ", places, extents + 6)
        for reason, mask in missing.items():
            head = f"{lanes_text(mask)}: " if has_lanes else ""
            yield from (self.style("error", line) for line in self._indented(f"{head}{reason}", 2))

    # --- Findings -------------------------------------------------------------------------------------------------

    def findings(self, checked: Checked) -> Iterator[str]:
        """What is wrong with one location."""
        name = self.style("name", shown(checked.variable.name))
        yield f"{name} {range_text(checked.place)}:"
        for one in checked.findings:
            clause = f" [{one.spec}]" if one.spec else ""
            text = f"{one.offset:#06x}  {one.severity}: {one.message}{clause}"
            first, *rest = wrapped(text, self.width - 10)
            yield f"  {self.style('error' if one.severity == 'error' else 'number', first)}"
            yield from (f"          {line}" for line in rest)


def holds(place: Described, address: int | None) -> bool:
    """Whether a location is said to be valid at an address."""
    return place.range is not None and address is not None and place.range[0] <= address < place.range[1]


def range_text(place: Described) -> str:
    """Where a location is valid."""
    if place.is_default:
        return "elsewhere"
    return "everywhere" if place.range is None else f"{place.range[0]:#x} to {place.range[1]:#x}"


def _extent(source: ValueSource) -> str:
    """Which bytes, or bits, of the value."""
    first, size = source.bit_offset, source.bit_size
    if first % 8 or size % 8:
        return f"bit {first}" if size == 1 else f"bits {first}-{first + size - 1}"
    return f"byte {first // 8}" if size == 8 else f"bytes {first // 8}-{(first + size) // 8 - 1}"


def _place(source: ValueSource, lane: int | None) -> str:
    bit = f" from bit {source.bit} on" if source.bit else ""
    if source.kind == "register":
        own = ""
        if source.lane is not None:
            own = ", its own lane" if source.lane == lane else f", lane {source.lane}"
        return f"{source.register}{own}{bit}"
    if source.kind == "memory":
        own = ""
        if source.lane is not None:
            own = ", its own" if source.lane == lane else f" of lane {source.lane}"
        return f"{source.space}#{source.address:#x}{own}{bit}"
    return {"constant": "a constant", "pointer": "an implicit pointer", "undefined": "no value"}[source.kind]
