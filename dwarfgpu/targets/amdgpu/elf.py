"""The ELF header flags of an AMDGPU code object.

AMDGPU usage, section "Header": one table of ``e_flags`` per code object version. ``e_ident[EI_ABIVERSION]`` tells
the version.
"""

from __future__ import annotations

from attrs import frozen

EF_AMDGPU_MACH = 0xFF
LAST_R600_MACH = 0x1F

# e_ident[EI_ABIVERSION] of ELFOSABI_AMDGPU_HSA; V4 is 2, V5 is 3, V6 is 4
ABI_V2 = 0
ABI_V3 = 1


@frozen
class Flags:
    """The decoded ``e_flags``."""

    mach: int
    """The processor; 0 if it does not say."""
    features: tuple[str, ...]
    """The settings that are fixed, as a target ID writes them: ``sramecc-``, ``xnack+``. "Any" is left out."""
    generic_version: int
    """The version of a generic processor's code object, from 1; 0 for any other."""


def decode_flags(flags: int, abi_version: int | None = None) -> Flags:
    """Read ``e_flags``. Without an ABI version the tables of V4 and later hold, which other versions contradict."""
    if abi_version == ABI_V2:  # EF_AMDGPU_FEATURE_XNACK_V2; the processor is in a note
        return Flags(0, ("xnack+",) if flags & 0x01 else (), 0)
    mach = flags & EF_AMDGPU_MACH
    if abi_version == ABI_V3:
        # "The code object V2 to V3 cannot represent Any and treats it the same as On": only On is certain.
        names = ((0x200, "sramecc+"), (0x100, "xnack+"))
        return Flags(mach, tuple(name for bit, name in names if flags & bit), 0)
    settings = ("", "", "-", "+")  # unsupported, any, off, on
    sramecc = settings[flags >> 10 & 3]
    xnack = settings[flags >> 8 & 3]
    features = tuple(f"{name}{sign}" for name, sign in (("sramecc", sramecc), ("xnack", xnack)) if sign)
    return Flags(mach, features, flags >> 24 & 0xFF)
