"""The layout of a context save area, one row for each family of processors.

Sources: the trap handlers and ``kfd_mqd_manager_v*.c`` of the Linux kernel (amdkfd), and ROCdbgapi
(``architecture.cpp``), which agree. Rows with ``is_documented_only`` were taken from these texts and from AMD's
emulator alone; for the others AMD's library gave the same answers for the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dwarfgpu.immutable import frozen

Bits = tuple[int, int]
"""A field of a word: its lowest bit and its width."""

DWORD = 4
EVENT = 1 << 30
"""A word of the control stack with this bit is an event, which has no wave."""
STATE = 1 << 31
"""A word with this bit says how much each of the following waves has."""
PM4_WORDS = 2
"""The words at the beginning of a control stack that are no records."""
TTMP_COUNT = 16
SAVED_TTMPS = (4, 5, 6, 7, 8, 9, 10, 11, 13)
"""The trap temporaries that are saved; the places of the others have no meaning."""
SGPR_SLOTS = 128
"""The scalar slots of a wave from GFX10 on."""
GFX9_NAMED = 108
"""Up to so many slots of GFX9 have a meaning: the last of them are VCC, XNACK_MASK and FLAT_SCRATCH."""
SHARED_LANES = 32
"""The lanes of a shared vector register, which both halves of a wave of 64 see."""
TAKEOVER_LDS = 131072
"""The local memory of a work-group that has taken over the whole work-group processor."""
NO_VGPRS = 1 << 24
"""STATUS of GFX11: the wave has given its vector registers back."""


@frozen
class HardwareRegister:
    """A register in the block of hardware registers."""

    name: str
    index: int
    dwords: int = 1


@frozen
class ScratchRules:
    """The fields of COMPUTE_TMPRING_SIZE, and how the scratch memory of a queue is shared out."""

    size: Bits
    unit: int
    """Bytes that the size counts in."""
    per_engine: bool
    """Whether the number of waves is that of each shader engine; else of all engines of the XCC."""
    waves: Bits = (0, 12)


@frozen
class Identity:
    """Where trap temporaries have the place of a wave: (register, lowest bit, width)."""

    group: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]
    wave: tuple[int, int, int]
    packet: tuple[int, int, int]
    trap: tuple[int, int, int] = (6, 25, 4)
    yz_valid: tuple[int, int] | None = None
    """The register and the bit that says that y and z are set."""
    debugger_valid: tuple[int, int] | None = None
    """The register and the bit that says that the debugger's temporaries (4, 5, 6) are set; None: always."""
    not_set_up: tuple[tuple[int, int], ...] = ()
    """The bits that say, all together, that the hardware has not set the temporaries."""
    parked: int | None = None
    """The temporary with the lower half of the program counter of a parked wave; the upper is in ttmp11[22:7]."""


@frozen
class CoreFamily:
    """Processors whose save areas have one layout."""

    name: str
    waves_of: tuple[int, ...]
    """The sizes of waves."""
    vgprs: Bits
    sgprs: Bits | None
    """None: every wave has `SGPR_SLOTS`."""
    lds: Bits
    lds_unit: int
    accumulation: str
    """``none``, ``same`` (as many as vector registers) or ``unified`` (the rest of the allocation)."""
    wave_id: Bits
    engine: Bits
    has_scratch: int
    """The bit of a wave's word that says that it has scratch memory."""
    first: int
    last: int
    """The bits of the first and the last wave of a work-group."""
    hardware: tuple[HardwareRegister, ...]
    identity: Identity
    scratch: ScratchRules
    parks: int | None
    """The ``r_version`` from which stopped waves are parked; None: never."""
    has_architected_scratch: bool
    """Whether a register of the wave has the address of its scratch memory."""
    gap: int = 0
    """Bytes above each record that are not used."""
    granule: Mapping[int, int] = {64: 4}
    """How many vector registers a block has, by the size of a wave."""
    has_wave32_bit: bool = False
    shared: Bits | None = None
    takeover: int | None = None
    accumulation_offset: Bits | None = None
    hardware_bytes: int = 64
    ttmps_in_sgprs: bool = False
    """Whether the trap temporaries are the last 16 scalar slots; else they have a block of their own."""
    pc_bits: int = 48
    stops: str = "trapsts"
    """Which registers say why a wave has stopped: ``trapsts`` or ``excp_flag_priv``."""
    begin_end: tuple[int, ...] = ()
    """The bits of TRAPSTS for the begin and the end of a wave."""
    single_step: int | None = None
    trap_bytes: bytes = b"\x92\xbf"
    """The upper half of an ``s_trap`` instruction in memory."""
    is_documented_only: bool = False

    @property
    def state_words(self) -> int:
        """How many words say how much a wave has."""
        return 1 if self.sgprs is not None else 2

    def parks_at(self, r_version: int | None) -> bool:
        """Return whether a runtime of a version parks stopped waves. An unknown version is taken for 10 or later."""
        return self.parks is not None and (r_version is None or r_version >= self.parks)

    def hardware_register(self, name: str) -> HardwareRegister | None:
        """Return the place of a hardware register."""
        return next((register for register in self.hardware if register.name == name), None)


@frozen
class RecordShape:
    """What each wave behind one state word has, and where in its record (byte offsets from v0)."""

    lanes: int
    vgprs: int
    agprs: int
    shared: int
    slots: int
    lds: int
    agpr_at: int
    sgpr_at: int
    hardware_at: int
    ttmp_at: int
    lds_at: int
    size: int
    """The bytes of a record without local memory."""


def bits(word: int, place: Bits) -> int:
    """Return a field of a word."""
    return word >> place[0] & (1 << place[1]) - 1


def shape_of(family: CoreFamily, word: int) -> RecordShape:
    """Return what a state word says."""
    lanes = 32 if family.has_wave32_bit and word >> 24 & 1 else 64
    if lanes not in family.waves_of:
        lanes = family.waves_of[0]
    blocks = bits(word, family.vgprs) + 1
    vgprs = blocks * family.granule[lanes]
    agprs = shared = 0
    if family.accumulation == "same":
        agprs = vgprs
    elif family.accumulation_offset is not None:
        allocated = blocks * 8
        vgprs = min((bits(word, family.accumulation_offset) + 1) * 4, allocated)
        agprs = allocated - vgprs
    if family.shared is not None and lanes == 64:
        shared = bits(word, family.shared) * 8
    slots = SGPR_SLOTS if family.sgprs is None else bits(word, family.sgprs) * 16
    lds = bits(word, family.lds) * family.lds_unit
    if family.takeover is not None and word >> family.takeover & 1:
        lds = TAKEOVER_LDS
    row = lanes * DWORD
    agpr_at = vgprs * row
    sgpr_at = agpr_at + agprs * row + shared * SHARED_LANES * DWORD
    hardware_at = sgpr_at + slots * DWORD
    end = hardware_at + family.hardware_bytes
    ttmp_at = end if not family.ttmps_in_sgprs else hardware_at - TTMP_COUNT * DWORD
    size = end if family.ttmps_in_sgprs else end + TTMP_COUNT * DWORD
    return RecordShape(lanes, vgprs, agprs, shared, slots, lds, agpr_at, sgpr_at, hardware_at, ttmp_at, size, size)


def named_slots(family: CoreFamily, slots: int) -> tuple[int, int, int | None]:
    """Return how many scalar slots are SGPRs, the slot of VCC, and that of FLAT_SCRATCH if it is among them.

    On GFX9 the named registers are SGPRs as well: code that needs no VCC or FLAT_SCRATCH uses their slots.
    """
    if family.sgprs is None:
        return 106, 106, None
    end = min(GFX9_NAMED, slots)
    return end, end - 2, end - 6


def mask_at(family: CoreFamily, shape: RecordShape) -> int | None:
    """Return where XNACK_MASK is in a record if two SGPRs below VCC show it, as AMD's library does on GFX9."""
    mask = family.hardware_register("xnack_mask")
    return None if mask is None or mask.dwords != 2 else shape.hardware_at + 4 * mask.index


# --- Who a wave is ------------------------------------------------------------------------------------------------

MARKED_FROM = 10
"""The ``r_version`` from which waves of GFX9 to GFX11 are marked whose temporaries are not set up."""


def cluster_of(family: str, ttmps: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where a work-group is in its cluster, and the size of that (CDNA 5 ISA document, 2.3.1)."""
    if family != "gfx12.5" or not ttmps[6] >> 24 & 15:
        return (0, 0, 0), (1, 1, 1)
    return tuple(ttmps[6] >> low & 15 for low in (0, 4, 8)), tuple((ttmps[6] >> low & 15) + 1 for low in (12, 16, 20))


class IdentityDecoder:
    """Reads the trap temporaries of one family; ``ttmps`` are all sixteen."""

    def __init__(self, family: CoreFamily, r_version: int | None) -> None:
        identity = family.identity
        has_mark = len(identity.not_set_up) > 1 or r_version is None or r_version >= MARKED_FROM
        marks = identity.not_set_up if has_mark else ()
        self._marks = [(register, 1 << bit) for register, bit in marks]
        self._debugger = identity.debugger_valid
        self._yz_valid = identity.yz_valid
        self._trap = _masked(identity.trap)
        self._family = family.name
        self._places = tuple(_masked(place) for place in (*identity.group, identity.wave, identity.packet))

    def not_set_up(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the hardware has not set the temporaries."""
        for register, bit in self._marks:
            if not ttmps[register] & bit:
                return False
        return bool(self._marks)

    def debugger_valid(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the temporaries of the trap handler are set."""
        mark = self._debugger
        return mark is None or bool(ttmps[mark[0]] >> mark[1] & 1)

    def place(self, ttmps: tuple[int, ...]) -> tuple[tuple[int, int, int], int, int]:
        """Return the work-group, the number of the wave in it, and the index of the packet."""
        (rx, lx, mx), (ry, ly, my), (rz, lz, mz), (rw, lw, mw), (rp, lp, mp) = self._places
        y, z = ttmps[ry] >> ly & my, ttmps[rz] >> lz & mz
        valid = self._yz_valid
        if valid is not None and not ttmps[valid[0]] >> valid[1] & 1:
            y = z = 0
        inside, sizes = cluster_of(self._family, ttmps)
        x, y, z = (at * size + own for at, size, own in zip((ttmps[rx] >> lx & mx, y, z), sizes, inside, strict=True))
        return (x, y, z), ttmps[rw] >> lw & mw, ttmps[rp] >> lp & mp

    def trap(self, ttmps: tuple[int, ...]) -> int:
        """Return the trap ID."""
        register, low, mask = self._trap
        return ttmps[register] >> low & mask


def _masked(place: tuple[int, int, int]) -> tuple[int, int, int]:
    register, low, width = place
    return register, low, (1 << width) - 1


# --- The rows -----------------------------------------------------------------------------------------------------

_H = HardwareRegister
_COMMON = (_H("m0", 0), _H("pc", 1, 2), _H("exec", 3, 2))
_GFX9_HARDWARE = (*_COMMON, _H("status", 5), _H("trapsts", 6), _H("xnack_mask", 7, 2), _H("mode", 9))
_GFX10_HARDWARE = (
    *_COMMON, _H("status", 5), _H("trapsts", 6), _H("xnack_mask", 7), _H("mode", 8), _H("flat_scratch", 9, 2),
)  # fmt: skip
_GFX12_HARDWARE = (
    *_COMMON, _H("state_priv", 5), _H("excp_flag_priv", 6), _H("xnack_mask", 7), _H("mode", 8),
    _H("flat_scratch", 9, 2), _H("excp_flag_user", 11), _H("trap_ctrl", 12), _H("status", 13), _H("barrier_state", 14),
)  # fmt: skip

_GFX9_IDENTITY = Identity(
    group=((8, 0, 32), (9, 0, 32), (10, 0, 32)), wave=(11, 0, 6), packet=(6, 0, 25), not_set_up=((6, 31),), parked=7
)
_GFX94_IDENTITY = Identity(
    group=((8, 0, 32), (9, 0, 32), (10, 0, 32)), wave=(11, 0, 6), packet=(11, 6, 25), debugger_valid=(11, 31),
    not_set_up=((11, 31), (6, 31)),
)  # fmt: skip
_GFX12_IDENTITY = Identity(
    group=((9, 0, 32), (7, 0, 16), (7, 16, 16)), wave=(8, 25, 5), packet=(8, 0, 25), yz_valid=(8, 30),
    debugger_valid=(8, 31), parked=10,
)  # fmt: skip
_GFX12_5_IDENTITY = Identity(
    group=((9, 0, 32), (7, 0, 16), (7, 16, 16)), wave=(8, 25, 5), packet=(8, 0, 25), trap=(11, 28, 4),
    yz_valid=(8, 30), debugger_valid=(8, 31),
)  # fmt: skip

_GFX9_SCRATCH = ScratchRules(size=(12, 13), unit=1024, per_engine=False)
_GFX11_SCRATCH = ScratchRules(size=(12, 15), unit=256, per_engine=True)
_GFX12_SCRATCH = ScratchRules(size=(12, 18), unit=256, per_engine=True)

_BOTH = {32: 8, 64: 4}
_ANY = 0


def _gfx9(name: str, engine: Bits, accumulation: str, lds: Bits = (9, 8), **more: Any) -> CoreFamily:
    fields: dict[str, Any] = {
        "identity": _GFX9_IDENTITY, "parks": _ANY, "has_architected_scratch": False, "lds_unit": 512,
        "accumulation_offset": (24, 6) if accumulation == "unified" else None,
    }  # fmt: skip
    return CoreFamily(
        name=name, waves_of=(64,), vgprs=(0, 6), sgprs=(6, 3), lds=lds, accumulation=accumulation, wave_id=(0, 9),
        engine=engine, has_scratch=15, first=17, last=16, hardware=_GFX9_HARDWARE, scratch=_GFX9_SCRATCH, gap=64,
        **(fields | more),
    )  # fmt: skip


def _gfx10(name: str, engine: Bits, **more: Any) -> CoreFamily:
    fields: dict[str, Any] = {
        "waves_of": (64, 32), "granule": _BOTH, "lds": (10, 8), "lds_unit": 512, "shared": (26, 4), "last": 29,
        "hardware": _GFX10_HARDWARE, "identity": _GFX9_IDENTITY, "scratch": _GFX9_SCRATCH, "parks": _ANY,
        "has_architected_scratch": False,
    }  # fmt: skip
    return CoreFamily(
        name=name, vgprs=(0, 6), sgprs=None, accumulation="none", wave_id=(0, 10), engine=engine, has_scratch=11,
        first=12, has_wave32_bit=True, **(fields | more),
    )  # fmt: skip


_GFX94: dict[str, Any] = {
    "identity": _GFX94_IDENTITY, "parks": None, "has_architected_scratch": True, "begin_end": (23, 24),
    "single_step": 25,
}  # fmt: skip
_GFX11_TRAP = b"\x90\xbf"
_GFX12: dict[str, Any] = {
    "hardware": _GFX12_HARDWARE, "identity": _GFX12_IDENTITY, "scratch": _GFX12_SCRATCH,
    "has_architected_scratch": True, "stops": "excp_flag_priv", "trap_bytes": _GFX11_TRAP,
}  # fmt: skip

FAMILIES = (
    _gfx9("gfx9", (11, 2), "none", (9, 9)),
    _gfx9("gfx908", (11, 3), "same", (9, 9)),
    _gfx9("gfx90a", (9, 3), "unified"),
    _gfx9("gfx94", (9, 2), "unified", **_GFX94),
    _gfx9("gfx950", (9, 2), "unified", **_GFX94, lds_unit=1280, is_documented_only=True),
    _gfx10("gfx10.1", (24, 2)),
    _gfx10("gfx10.3", (24, 2), parks=None),
    _gfx10(
        "gfx11", (24, 3), parks=9, has_architected_scratch=True, scratch=_GFX11_SCRATCH, begin_end=(17, 18),
        single_step=20, trap_bytes=_GFX11_TRAP,
    ),
    _gfx10("gfx12", (24, 3), parks=9, takeover=6, **_GFX12),
    _gfx10(
        "gfx12.5", (24, 3), **(_GFX12 | {"identity": _GFX12_5_IDENTITY}), waves_of=(32,), granule={32: 16}, lds=(10, 9),
        lds_unit=1024, shared=None, last=13, parks=None, hardware_bytes=512, ttmps_in_sgprs=True, pc_bits=57,
        is_documented_only=True,
    ),
)  # fmt: skip

_FAMILY_OF = (
    ("gfx908", "gfx908"), ("gfx90a", "gfx90a"), ("gfx940", "gfx94"), ("gfx941", "gfx94"), ("gfx942", "gfx94"),
    ("gfx950", "gfx950"), ("gfx90", "gfx9"), ("gfx101", "gfx10.1"), ("gfx103", "gfx10.3"), ("gfx11", "gfx11"),
    ("gfx120", "gfx12"), ("gfx125", "gfx12.5"),
)  # fmt: skip
"""The family of a processor by the beginning of its name; the first that fits counts."""


def family_of(processor: str) -> CoreFamily | None:
    """Return the layout of a processor, or None if it is not known."""
    for beginning, name in _FAMILY_OF:
        if processor.startswith(beginning):
            return next(family for family in FAMILIES if family.name == name)
    return None
