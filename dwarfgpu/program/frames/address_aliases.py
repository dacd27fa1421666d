"""One address in every address space that reaches the same byte, and how far the views go together.

The conversions are those of AMDGPU usage, "Address Spaces" and "Address Space Identifier": private memory of a lane is
interleaved by dword in the memory of its wave, and the apertures show private and local memory as generic addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, MissingContext, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.strict_json import parse_integer
from dwarfgpu.targets.amdgpu import address_spaces as ap
from dwarfgpu.targets.amdgpu.address_spaces import DWORD, GenericView, LaneView, lane_to_wave, wave_to_lane
from dwarfgpu.targets.amdgpu.initial_state import scratch_descriptor
from dwarfgpu.targets.amdgpu.numbers import GENERIC, GLOBAL, LOCAL, PRIVATE_LANE, PRIVATE_LANE_0, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.processors import processor_named
from dwarfgpu.targets.target import AddressSpace, Scope, Target

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Machine


SWIZZLE_FLAGS = 7 << 21
"""INDEX_STRIDE and ADD_TID_ENABLE in the last dword of a buffer descriptor."""


@frozen
class View:
    """One of the addresses at which a byte can be reached."""

    space: AddressSpace
    address: int
    length: int
    """How many bytes from here on correspond to the bytes from the original address on."""
    lane: int | None = None
    """The lane whose address it is."""
    formula: str = ""
    """How it is computed; empty for the address itself."""
    available: int | None = None
    """How many bytes from here on the state has; None without a state."""


@frozen
class Views:
    """All views of one address, itself first."""

    target: Target
    asked: View
    views: tuple[View, ...]
    wave: str | None = None
    note: str = ""
    """What keeps it from being seen elsewhere."""


def parse_address(text: str, target: Target) -> tuple[AddressSpace, int]:
    """Parse an address such as ``private_lane#0x30``; a number alone is in the default address space."""
    name, mark, digits = text.rpartition("#")
    address = parse_integer(digits)
    if address is None or address < 0:
        message = f"{text[:80]!r} is not an address"
        raise UsageError(message, hint="write private_lane#0x30, generic#0x2000000000030, local#16, ...")
    space = target.space_named(name) if mark else target.default_space
    number = parse_integer(name) if space is None else None
    if number is not None:
        space = target.space(number)
    if space is None:
        names = ", ".join(known.name for known in target.spaces() if known.number < PRIVATE_LANE_0)
        raise UsageError(f"{target.name} has no address space {name[:80]!r}", hint=f"it has {names}")
    if address >= 1 << space.address_bits:
        raise UsageError(f"{address:#x} does not fit the {space.address_bits} bits of a {space.name} address")
    return space, address


def views_of(
    target: Target,
    space: AddressSpace,
    address: int,
    lane: int | None = None,
    machine: Machine | None = None,
    wave: int | None = None,
) -> Views:
    """Return every address of a byte, for a lane where it belongs to one, and how much the state has at each."""
    if lane is not None:
        lane = target.lane(lane)
    finder = _AliasFinder(target, space, address, lane)
    views = finder.views()
    name = None
    if machine is not None:
        views = [
            evolve(view, available=machine.memory.available(view.space, view.address, wave, view.lane))
            for view in views
        ]
        name = None if wave is None else machine.ids[wave]
        views += _backing(target, views, machine, wave)
    return Views(target, views[0], tuple(views), name, finder.note)


def _backing(target: Target, views: list[View], machine: Machine, wave: int | None) -> list[View]:
    """Return the global address of a byte of private memory: in the scratch memory of its wave."""
    private = next((view for view in views if view.space.number == PRIVATE_WAVE), None)
    found = None if private is None or wave is None else _scratch_base(target, machine, wave)
    if private is None or found is None:
        return []
    base, how = found
    space: Any = target.space(GLOBAL)
    address = base + private.address
    if address >= 1 << space.address_bits:
        return []
    length = min(private.length, DWORD - private.address % DWORD)
    formula = f"{how} + {private.address:#x}: where the scratch memory of the wave is"
    return [View(space, address, length, None, formula, machine.memory.available(space, address, wave, None))]


def _scratch_base(target: Target, machine: Machine, wave: int) -> tuple[int, str] | None:
    """Return where the scratch memory of a wave is, and how that is known; None where it is not.

    FLAT_SCRATCH holds the address where flat instructions are absolute, or the hardware sets it up (AMDGPU usage, "Flat
    Scratch"). Else code reaches scratch memory through the buffer descriptor in s[0:3] ("Non-Kernel Functions"), which
    is recognized by its stride and flags.
    """
    processor = processor_named(target.processor)
    own = machine.scratch_address(wave)
    if own is not None:
        return own, f"the queue and the slot of the wave give {own:#x}"
    if processor is None:
        return None
    if processor.has("flat-absolute") or processor.has("flat-architected"):
        base = _content(machine, "flat_scratch", wave)
        if base:
            return base, f"flat_scratch {base:#x}"
    words = [_content(machine, f"s{index}", wave) for index in range(4)]
    known = [word for word in words if word is not None]
    if len(known) == 4 and not processor.has("flat-architected"):
        base = known[0] | (known[1] & 0xFFFF) << 32
        expected = scratch_descriptor(processor, base, known[2], target.lane_count)
        if base and known[1] >> 31 and (known[3] ^ expected[3]) & SWIZZLE_FLAGS == 0:
            return base, f"the base of the buffer descriptor s[0:3] after the prolog, {base:#x}"
    return None


def _content(machine: Machine, name: str, wave: int) -> int | None:
    target = machine.target
    register = target.register_named(name) or target.unnumbered_register(name)
    try:
        return None if register is None else int.from_bytes(machine.read_register(register, wave, None), "little")
    except DwarfGpuError:
        return None


class _AliasFinder:
    def __init__(self, target: Target, space: AddressSpace, address: int, lane: int | None) -> None:
        self.target = target
        self.space = space
        self.address = address
        self.lane = lane
        self.note = ""
        generic = target.space(GENERIC)
        self.generic = generic
        self.apertures: ap.Apertures | None = (
            generic.alias.apertures if generic is not None and isinstance(generic.alias, GenericView) else None
        )

    def views(self) -> list[View]:
        """Return the address itself, then the others in the order of the address spaces."""
        space, address = self.space, self.address
        if address == space.null:
            return self._nulls()
        if isinstance(space.alias, GenericView):
            return self._of_generic(space.alias)
        if isinstance(space.alias, LaneView):
            fixed = space.alias.fixed_lane
            return self._of_lane(self._needed_lane() if fixed is None else fixed, address)
        if space.number == PRIVATE_WAVE:
            size = self.target.lane_count
            row = size * DWORD
            at, lane = wave_to_lane(self.address, size)
            length = DWORD - at % DWORD
            how = f"{self.address:#x} / {row} * 4 + {self.address:#x} % 4, lane {self.address:#x} % {row} / 4"
            views = [self._own(ap.SIZE - self.address)]
            views += [View(self._named(n), at, length, lane, how) for n in (PRIVATE_LANE, PRIVATE_LANE_0 + lane)]
            return views + self._in_aperture(self._base("private"), "private", at, length, lane)
        own = [self._own((1 << space.address_bits) - address)]
        if space.number == GLOBAL and self.generic is not None:
            return own + self._generic_of_global()
        if space.number == LOCAL:
            return own + self._in_aperture(self._base("shared"), "shared", address, ap.SIZE - address)
        return own

    def _own(self, length: int, lane: int | None = None) -> View:
        return View(self.space, self.address, length, lane)

    def _needed_lane(self) -> int:
        if self.lane is None:
            message = f"a {self.space.name} address means the memory of a lane, and there is no lane"
            raise MissingContext("lane", message, hint="choose one with --lane")
        return self.lane

    def _named(self, number: int) -> AddressSpace:
        space: Any = self.target.space(number)
        return space  # type: ignore[no-any-return]

    # --- Null -----------------------------------------------------------------------------------------------------

    def _nulls(self) -> list[View]:
        self.note = f"{self.space.name}#{self.address:#x} is the null address: there is no memory at it"
        views = [self._own(0)]
        if self.generic is None or self.apertures is None:
            return views
        for number in (GLOBAL, GENERIC, LOCAL, PRIVATE_LANE):
            space = self._named(number)
            generic = ap.to_generic(self.space.number, self.address, self.apertures)
            if space != self.space and generic is not None:
                null = ap.from_generic(number, generic, self.apertures)
                if null is not None:
                    views.append(View(space, null, 0, None, "null becomes null"))
        return views

    # --- Apertures ------------------------------------------------------------------------------------------------

    def _base(self, which: str) -> int | None:
        return None if self.apertures is None else int(getattr(self.apertures, which))

    def _in_aperture(
        self, base: int | None, which: str, address: int, length: int, lane: int | None = None
    ) -> list[View]:
        """Return the generic address of a local or private address, if the aperture is known."""
        if self.generic is None:
            return []
        if base is None:
            self.note = "the generic address is not known: the apertures are in the AQL queue, at bytes 64 and 68"
            return []
        formula = f"{which} aperture {base:#x} + {address:#x}"
        return [View(self.generic, base | address, length, lane, formula)]

    def _generic_of_global(self) -> list[View]:
        """Return the views of a global address: outside the apertures a generic address has the same number."""
        if self.apertures is None:
            self.note = "the generic address is the same, if it is in no aperture: these are in the AQL queue"
            return []
        segment, _ = ap.locate(self.address, self.apertures)
        if segment != GLOBAL:
            self.note = "no generic address reaches it: that number is in an aperture"
            return []
        return [View(self._named(GENERIC), self.address, self._to_next_aperture(), None, "the same")]

    def _to_next_aperture(self) -> int:
        bases: list[int] = [base for base in (self._base("shared"), self._base("private")) if base is not None]
        return min([base for base in bases if base > self.address] + [1 << 64]) - self.address

    def _of_generic(self, alias: GenericView) -> list[View]:
        if alias.apertures is None:
            alias.pieces(self.address, 1, self.lane, self.target.lane_count)  # says what is missing
        segment, inner = ap.locate(self.address, alias.apertures or ap.GFX9)
        if segment == GLOBAL:
            length = self._to_next_aperture()
            return [self._own(length), View(self._named(GLOBAL), self.address, length, None, "the same")]
        formula = f"{self.address:#x} - {{}} aperture {self.address - inner:#x}"
        if segment == LOCAL:
            length = ap.SIZE - inner
            local = View(self._named(LOCAL), inner, length, None, formula.format("shared"))
            return [self._own(length), local]
        lane = self._needed_lane()
        return self._of_lane(lane, inner, formula.format("private"))

    # --- Private memory -------------------------------------------------------------------------------------------

    def _of_lane(self, lane: int, address: int, formula: str = "the same address of the lane") -> list[View]:
        length = ap.SIZE - address
        views = [self._own(length, lane)]
        others = (number for number in (PRIVATE_LANE, PRIVATE_LANE_0 + lane) if number != self.space.number)
        views += [View(self._named(number), address, length, lane, formula) for number in others]
        size = self.target.lane_count
        at = lane_to_wave(address, lane, size)
        if at < ap.SIZE:
            how = f"{address:#x} / 4 * {size} * 4 + {lane} * 4 + {address:#x} % 4"
            views.append(View(self._named(PRIVATE_WAVE), at, DWORD - address % DWORD, None, how))
        else:
            self.note = f"private_wave addresses end before {at:#x}, where the byte would be"
        if self.space.number != GENERIC:
            views += self._in_aperture(self._base("private"), "private", address, length, lane)
        return views


def needs_wave(space: AddressSpace, address: int) -> bool:
    """Return whether an address means nothing without a wave."""
    scope = space.scope
    if space.alias is not None and scope == Scope.DEPENDS:
        scope = space.alias.scope(address)
    return scope not in (Scope.PROCESS, Scope.AGENT)
