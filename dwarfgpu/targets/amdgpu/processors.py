"""The amdgcn processors: one row each.

Sources: AMDGPU usage of LLVM 22, tables "AMDGPU Processors", "AMDGPU Generic Processors" and "AMDGPU EF_AMDGPU_MACH
Values"; for what the tables leave out, the subtarget features of LLVM 22. Rows marked with another version come from
that version's edition of the same tables.
"""

from __future__ import annotations

from functools import cache

from dwarfgpu.immutable import frozen

# --- The words of the last column ---------------------------------------------------------------------------------
# Target features, under their names in a target ID or in -m<feature>:
#   xnack sramecc   can be named in a target ID, and set in the ELF header
#   tgsplit cumode wavefrontsize64
# Target properties:
#   generic         has the generic address space: flat instructions, apertures for LDS and scratch
#   queue-apertures the aperture bases are in the AQL queue, not in registers (GFX7-GFX8)
#   lane-addresses  generic addresses of private memory tell the lane (LLVM: globally-addressable-scratch)
#   flat-offset flat-absolute flat-architected   how FLAT_SCRATCH is set up; architected: by the hardware, and the stack
#                   is accessed with scratch instructions, so the stack pointer is an address of one lane
#   packed-ids      the three work-item IDs are packed in v0
#   agprs           has accumulation registers (LLVM: mai-insts)
#   agprs-saved     and a callee preserves a32 and up (LLVM: gfx90a-insts)
#   vgprs-1024      1024 addressable vector registers in wave 32 (LLVM: 1024-addressable-vgprs)
#   ttmp-ids        a wave finds its work-group IDs in TTMP registers, not in SGPRs (LLVM: architected-sgprs)
#   preload-prolog  the code of a kernel with preloaded arguments begins with 256 bytes that the packet processor skips
#   user-sgprs-32   32 user SGPRs; 16 if not given (LLVM: user-sgpr-count)
#   lds-32 lds-160 lds-320   KiB of local memory a work-group can have; 64 if not given
#                   (LLVM: addressable-local-memory-size)

_GFX6 = "lds-32"
_GFX7 = "generic queue-apertures flat-offset"
_GFX9 = "generic flat-absolute xnack"
_GFX90A = "generic flat-absolute packed-ids sramecc tgsplit xnack agprs agprs-saved preload-prolog"
_GFX94 = "generic flat-architected packed-ids sramecc tgsplit xnack agprs agprs-saved preload-prolog"
_GFX10_1 = "generic flat-absolute cumode wavefrontsize64 xnack"
_GFX10_3 = "generic flat-absolute cumode wavefrontsize64"
_GFX11 = "generic flat-architected packed-ids cumode wavefrontsize64"
_GFX12 = _GFX11 + " ttmp-ids"
# LLVM 22 lets a target ID name xnack and sramecc; since LLVM 23 xnack is always on and is not named.
_GFX12_5 = "generic lane-addresses flat-architected packed-ids sramecc xnack vgprs-1024 ttmp-ids user-sgprs-32 lds-320"

_W64 = (64,)
_BOTH = (32, 64)  # 32 is the default: -mwavefrontsize64 is off if not given
_W32 = (32,)

ROWS: tuple[tuple[str, int, tuple[int, ...], str], ...] = (
    # processor         mach  waves  features and properties
    ("gfx600", 0x20, _W64, _GFX6),
    ("gfx601", 0x21, _W64, _GFX6),
    ("gfx602", 0x3A, _W64, _GFX6),
    ("gfx700", 0x22, _W64, _GFX7),
    ("gfx701", 0x23, _W64, _GFX7),
    ("gfx702", 0x24, _W64, _GFX7),
    ("gfx703", 0x25, _W64, _GFX7),
    ("gfx704", 0x26, _W64, _GFX7),
    ("gfx705", 0x3B, _W64, _GFX7),
    ("gfx801", 0x28, _W64, _GFX7 + " xnack"),
    ("gfx802", 0x29, _W64, _GFX7),
    ("gfx803", 0x2A, _W64, _GFX7),
    ("gfx805", 0x3C, _W64, _GFX7),
    ("gfx810", 0x2B, _W64, _GFX7 + " xnack"),
    ("gfx900", 0x2C, _W64, _GFX9),
    ("gfx902", 0x2D, _W64, _GFX9),
    ("gfx904", 0x2E, _W64, _GFX9),
    ("gfx906", 0x2F, _W64, _GFX9 + " sramecc"),
    ("gfx908", 0x30, _W64, _GFX9 + " sramecc agprs"),
    ("gfx909", 0x31, _W64, _GFX9),
    ("gfx90a", 0x3F, _W64, _GFX90A),
    ("gfx90c", 0x32, _W64, _GFX9),
    ("gfx940", 0x40, _W64, _GFX94),  # LLVM 15 to 19
    ("gfx941", 0x4B, _W64, _GFX94),  # LLVM 17 to 19
    ("gfx942", 0x4C, _W64, _GFX94),
    ("gfx950", 0x4F, _W64, _GFX94 + " lds-160"),
    ("gfx1010", 0x33, _BOTH, _GFX10_1),
    ("gfx1011", 0x34, _BOTH, _GFX10_1),
    ("gfx1012", 0x35, _BOTH, _GFX10_1),
    ("gfx1013", 0x42, _BOTH, _GFX10_1),
    ("gfx1030", 0x36, _BOTH, _GFX10_3),
    ("gfx1031", 0x37, _BOTH, _GFX10_3),
    ("gfx1032", 0x38, _BOTH, _GFX10_3),
    ("gfx1033", 0x39, _BOTH, _GFX10_3),
    ("gfx1034", 0x3E, _BOTH, _GFX10_3),
    ("gfx1035", 0x3D, _BOTH, _GFX10_3),
    ("gfx1036", 0x45, _BOTH, _GFX10_3),
    ("gfx1100", 0x41, _BOTH, _GFX11),
    ("gfx1101", 0x46, _BOTH, _GFX11),
    ("gfx1102", 0x47, _BOTH, _GFX11),
    ("gfx1103", 0x44, _BOTH, _GFX11),
    ("gfx1150", 0x43, _BOTH, _GFX11),
    ("gfx1151", 0x4A, _BOTH, _GFX11),
    ("gfx1152", 0x55, _BOTH, _GFX11),
    ("gfx1153", 0x58, _BOTH, _GFX11),
    ("gfx1154", 0x57, _BOTH, _GFX11),  # LLVM 24
    ("gfx1170", 0x5D, _BOTH, _GFX11),  # LLVM 23
    ("gfx1171", 0x5E, _BOTH, _GFX11),  # LLVM 23
    ("gfx1172", 0x5C, _BOTH, _GFX11),  # LLVM 23
    ("gfx1200", 0x48, _BOTH, _GFX12),
    ("gfx1201", 0x4E, _BOTH, _GFX12),
    ("gfx1250", 0x49, _W32, _GFX12_5),
    ("gfx1251", 0x5A, _W32, _GFX12_5),
    ("gfx1310", 0x50, _BOTH, _GFX12),  # LLVM 23
    # one code object for several processors
    ("gfx9-generic", 0x51, _W64, _GFX9),
    ("gfx9-4-generic", 0x5F, _W64, _GFX94),
    ("gfx10-1-generic", 0x52, _BOTH, _GFX10_1),
    ("gfx10-3-generic", 0x53, _BOTH, _GFX10_3),
    ("gfx11-generic", 0x54, _BOTH, _GFX11),
    ("gfx11-7-generic", 0x62, _BOTH, _GFX11),  # LLVM 24
    ("gfx12-generic", 0x59, _BOTH, _GFX12),
    ("gfx12-5-generic", 0x5B, _W32, _GFX12_5),  # LLVM 23
    ("gfx13-generic", 0x63, _BOTH, _GFX12),  # LLVM 24
)

OF_GENERIC: tuple[tuple[str, str], ...] = (
    # AMDGPU usage, table "AMDGPU Generic Processors"
    ("gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"),
    ("gfx9-4-generic", "gfx940 gfx941 gfx942 gfx950"),
    ("gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"),
    ("gfx10-3-generic", "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"),
    ("gfx11-generic", "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"),
    ("gfx12-generic", "gfx1200 gfx1201"),
)
"""The processors that execute code for a generic one."""

ALTERNATIVES: tuple[tuple[str, str], ...] = (
    # AMDGPU usage, column "Alternative Processor"
    ("tahiti", "gfx600"),
    ("pitcairn", "gfx601"),
    ("verde", "gfx601"),
    ("hainan", "gfx602"),  # gfx601 in the edition of 2020
    ("oland", "gfx602"),  # gfx601 in the edition of 2020
    ("kaveri", "gfx700"),
    ("hawaii", "gfx701"),
    ("kabini", "gfx703"),
    ("mullins", "gfx703"),
    ("bonaire", "gfx704"),
    ("carrizo", "gfx801"),
    ("iceland", "gfx802"),
    ("tonga", "gfx802"),
    ("fiji", "gfx803"),
    ("polaris10", "gfx803"),
    ("polaris11", "gfx803"),
    ("tongapro", "gfx805"),
    ("stoney", "gfx810"),
)


@frozen
class Processor:
    """One row of the table."""

    name: str
    mach: int
    """``EF_AMDGPU_MACH`` of the ELF header."""
    wave_sizes: tuple[int, ...]
    """Lanes a wave can have; the default first."""
    features: tuple[str, ...]
    """Words of the legend above."""

    @property
    def default_wave_size(self) -> int:
        """The number of lanes of a wave, unless the code says otherwise."""
        return self.wave_sizes[0]

    @property
    def vgpr_count(self) -> int:
        """The number of vector registers that instructions can address."""
        return 1024 if "vgprs-1024" in self.features else 256

    @property
    def major(self) -> int:
        """The number of the generation: 9 of gfx90a, 10 of gfx10-3-generic."""
        digits, _, generic = self.name.removeprefix("gfx").partition("-")
        return int(digits if generic else digits[:-2])

    @property
    def isa_version(self) -> int:
        """Its number in ROCm's device library: 9010 of gfx90a, 10300 of gfx10-3-generic."""
        digits, _, generic = self.name.removeprefix("gfx").partition("-")
        minor, step = (generic[0], "0") if generic else (digits[-2], digits[-1])
        return self.major * 1000 + (int(minor) * 100 if minor.isdigit() else 0) + int(step, 16)

    @property
    def local_memory_size(self) -> int:
        """The number of bytes of local memory that a work-group can have."""
        sizes = (word.removeprefix("lds-") for word in self.features if word.startswith("lds-"))
        return int(next(sizes, "64")) << 10

    @property
    def user_sgpr_limit(self) -> int:
        """The number of user SGPRs that the packet processor can set."""
        return 32 if "user-sgprs-32" in self.features else 16

    @property
    def generic_name(self) -> str | None:
        """The name of the generic processor whose code it executes, too."""
        return next((generic for generic, names in OF_GENERIC if self.name in names.split()), None)

    def has(self, feature: str) -> bool:
        """Return whether the processor has a feature or property."""
        return feature in self.features


def processor_named(name: str) -> Processor | None:
    """Return the processor with a name or an alternative name, in lower case."""
    name = dict(ALTERNATIVES).get(name, name)
    return next((processor for processor in processors() if processor.name == name), None)


def processor_of_mach(mach: int) -> Processor | None:
    """Return the processor that an ``EF_AMDGPU_MACH`` value selects."""
    return next((processor for processor in processors() if processor.mach == mach), None)


@cache
def processors() -> tuple[Processor, ...]:
    """Return all processors, in the order of the table."""
    return tuple(Processor(name, mach, sizes, tuple(features.split())) for name, mach, sizes, features in ROWS)
