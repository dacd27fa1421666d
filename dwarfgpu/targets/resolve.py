"""Finding a target: by the name a user gives, by a target ID, or by an ELF header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from dwarfgpu.errors import UnknownTarget, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.targets.target import AddressSpace, RegisterFamily, Scope, Target

if TYPE_CHECKING:
    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.amdgpu.processors import Processor


EM_X86_64 = 62
EM_AMDGPU = 224

# The kinds before the triple in a bundle entry ID (Clang Offload Bundler).
_OFFLOAD_KINDS = ("hip-", "hipv4-", "openmp-")
_VENDORS = ("amd", "mesa", "mesa3d", "unknown", "")
_ENVIRONMENTS = ("", "unknown", "opencl", "amdgiz", "amdgizcl")
"""The last three are those of LLVM 4 to 6, which named the source language or the address space of allocas."""
_SYSTEMS = ("amdhsa", "amdpal", "mesa3d", "unknown", "")
_WAVE_SUFFIXES = (("-wave32", 32), ("-wave64", 64))
_ID_FEATURES = ("sramecc", "xnack")

_by_name: dict[str, Target] = {}
"""The targets by every name that was resolved. Byte order and address size are not in it."""
_by_key: dict[tuple[object, ...], Target] = {}
"""One object for each target, whatever it was called."""


def resolve(
    name: str, *, byte_order: Literal["little", "big"] | None = None, address_size: int | None = None
) -> Target:
    """Return the target with a name.

    Accepted are ``generic``; ``x86_64`` and its triples; ``amdgcn-<processor>``, ``<processor>``, both with ``-wave32``
    or ``-wave64``; and AMDGPU target IDs, ``amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+``, with features in any order.

    Byte order and address size (1 to 8) choose the ``generic`` target; another target has its own, and naming a
    different one is an error.

    >>> import dwarfgpu as dg
    >>> dg.target("gfx1100"), dg.target("gfx1100-wave64").lane_count
    (Target('amdgcn-gfx1100-wave32'), 64)
    """
    text = name.strip().lower()
    if text == "generic":
        return _generic("little" if byte_order is None else byte_order, 8 if address_size is None else address_size)
    target = _by_name.get(text)
    if target is None:
        target = _by_name[text] = _named(name, text)
    if byte_order not in (None, target.byte_order) or address_size not in (None, target.address_size):
        message = f"{target.name} is {target.byte_order}-endian with {target.address_size}-byte addresses"
        raise UsageError(message, hint="byte order and address size can be chosen for the generic target")
    return target


def resolve_elf(
    machine: int,
    flags: int,
    wave64: bool | None = None,  # noqa: FBT001 (the third of three numbers that describe a file)
    *,
    abi_version: int | None = None,
) -> Target:
    """Return the target of an ELF file.

    ``machine`` and ``flags`` are ``e_machine`` and ``e_flags``. The rest is for AMDGPU: ``wave64``, which only a kernel
    descriptor or a note can tell, says whether the code runs in waves of 64 lanes; None means the processor's default.
    ``abi_version`` is ``e_ident[EI_ABIVERSION]``; None reads the flags as those of code object version 4 and later.
    """
    if machine == EM_X86_64:
        return _x86_64()
    if machine == EM_AMDGPU:
        return _amdgpu_elf(flags, None if wave64 is None else 64 if wave64 else 32, abi_version)
    raise UnknownTarget(f"there is no target for e_machine {machine}", hint="name a target, for example generic")


def _generic(byte_order: Literal["little", "big"], address_size: int) -> Target:
    if byte_order not in ("little", "big"):
        raise UsageError(f"byte order {byte_order!r} is neither little nor big")
    if address_size not in ADDRESS_SIZES:
        raise UsageError(f"addresses of {address_size} bytes are not supported", hint="1 to 8 bytes are")
    key = ("generic", byte_order, address_size)
    if key not in _by_key:
        _by_key[key] = generic(byte_order, address_size)
    return _by_key[key]


def _x86_64() -> Target:
    from dwarfgpu.targets.x86_64 import X86_64

    return X86_64


def _amdgpu(processor: Processor, wave_size: int | None, features: tuple[str, ...]) -> Target:
    """Return the target of a processor with a wave size, or with its default for None."""
    from dwarfgpu.targets.amdgpu.registers import amdgpu_target

    if wave_size is None:
        wave_size = processor.default_wave_size
    if wave_size not in processor.wave_sizes:
        sizes = " or ".join(map(str, processor.wave_sizes))
        raise UsageError(f"{processor.name} has no waves of {wave_size} lanes", hint=f"its waves have {sizes} lanes")
    key = (processor.name, wave_size, features)
    if key not in _by_key:
        _by_key[key] = amdgpu_target(processor, wave_size, features)
    return _by_key[key]


def _named(name: str, text: str) -> Target:
    """Return the target with a name other than generic, given as it was written and in lower case."""
    if text in ("x86-64", "amd64") or text.partition("-")[0] == "x86_64":
        return _x86_64()
    from dwarfgpu.targets.amdgpu.processors import processor_named

    text, *features = text.split(":")
    text, *old_features = text.split("+")  # "Code Object V2 to V3": <processor> ( "+" <target-feature> )*
    features += [f"{feature.replace('sram-ecc', 'sramecc')}+" for feature in old_features]
    wave_size = None
    for suffix, size in _WAVE_SUFFIXES:
        if text.endswith(suffix):
            text, wave_size = text.removesuffix(suffix), size
            break
    processor = processor_named(_without_triple(text))
    if processor is None:
        raise _unknown(name, text)
    return _amdgpu(processor, wave_size, _settings(features, processor))


def _without_triple(text: str) -> str:
    """Return the processor of a name, without the architecture or triple before it."""
    for kind in _OFFLOAD_KINDS:
        if text.startswith(f"{kind}amdgcn-"):
            text = text.removeprefix(kind)
    if not text.startswith("amdgcn-"):
        return text
    parts = text.split("-")[1:]  # vendor, system, environment, processor: which has hyphens of its own
    for known in (_VENDORS, _SYSTEMS, _ENVIRONMENTS):
        if len(parts) > 1 and parts[0] in known:
            del parts[0]
    return "-".join(parts)


def _settings(features: list[str], processor: Processor) -> tuple[str, ...]:
    """Check the features of a target ID, and return them in canonical (alphabetical) order."""
    supported = tuple(name for name in _ID_FEATURES if processor.has(name))
    settings: dict[str, str] = {}
    for feature in features:
        name, sign = feature[:-1], feature[-1:]
        if sign not in ("+", "-"):
            raise UsageError(f"target feature {feature!r} has no sign", hint="write xnack+ or xnack-")
        if name not in supported:
            hint = f"it has {' and '.join(supported)}" if supported else "it has none"
            raise UsageError(f"{processor.name} has no target feature {name!r}", hint=hint)
        if name in settings:  # "Each target feature must appear at most once in a target ID"
            raise UsageError(f"the target feature {name} is given twice")
        settings[name] = sign
    return tuple(f"{name}{settings[name]}" for name in sorted(settings))


def _unknown(name: str, text: str) -> UnknownTarget:
    import difflib
    from os.path import commonprefix

    from dwarfgpu.targets.amdgpu.processors import processors

    names = ["generic", "x86_64", *(processor.name for processor in processors())]
    wanted = _without_triple(text)
    close = difflib.get_close_matches(wanted, names, n=len(names))
    # gfx1105 is nearer to gfx1100 than to gfx705, and gfx90b to gfx90a than to gfx900.
    is_digit = wanted[-1:].isdigit()
    close.sort(key=lambda name: (-len(commonprefix((wanted, name))), name[-1].isdigit() != is_digit, name))  # noqa: RUF071 (letters are compared)
    hint = f"did you mean {' or '.join(close[:3])}?" if close else "write gfx1100, another processor, or x86_64"
    return UnknownTarget(f"there is no target {name!r}", hint=hint)


V2_PROCESSORS = {
    "gfx800": "gfx802",
    "gfx804": "gfx803",
    "gfx901": "gfx900:xnack+",
    "gfx903": "gfx902:xnack+",
    "gfx905": "gfx904:xnack+",
    "gfx907": "gfx906:xnack+",
}
"""The processors of instruction set versions that are no names of processors.

AMDGPU usage, "Code Object V2 Note Records", the table of processors and fixed features: there the stepping of GFX9 is
one more where xnack is on, and two processors of GFX8 have a second version.
"""


def resolve_note(name: str) -> Target:
    """Return the target that a note of a code object of version 2 names: a triple with an instruction set version."""
    head, dash, processor = name.rpartition("-")
    return resolve(f"{head}{dash}{V2_PROCESSORS.get(processor.lower(), processor)}")


def _amdgpu_elf(flags: int, wave_size: int | None, abi_version: int | None) -> Target:
    from dwarfgpu.targets.amdgpu.processors import processor_of_mach

    decoded = decode_flags(flags, abi_version)
    processor = processor_of_mach(decoded.mach)
    if processor is None:
        if decoded.mach == 0:
            message = "the ELF header does not say which AMDGPU processor the code is for"
        elif decoded.mach <= LAST_R600_MACH:
            message = f"EF_AMDGPU_MACH {decoded.mach:#x} is an r600 processor; only amdgcn ones are supported"
        else:
            message = f"no AMDGPU processor is known for EF_AMDGPU_MACH {decoded.mach:#x}"
        raise UnknownTarget(message, hint="name the target, for example amdgcn-gfx90a")
    settings = tuple(feature for feature in decoded.features if processor.has(feature[:-1]))
    return _amdgpu(processor, wave_size, settings)


ADDRESS_SIZES = range(1, 9)


def generic(byte_order: Literal["little", "big"] = "little", address_size: int = 8) -> Target:
    """Return the generic target: a register ``r<number>`` for every number, and one address space (`with_spaces`)."""
    bits = 8 * address_size
    return Target(
        name="generic",
        byte_order=byte_order,
        address_size=address_size,
        lane_count=1,
        default_dialect="gnu",
        default_rules="dwarf5",
        families=(RegisterFamily(0, 1 << 64, "r", bits),),
        # No ABI says which address is null, and A.6.4.1's default rule holds for every register.
        address_spaces=(AddressSpace(0, "default", bits, None, Scope.PROCESS),),
    )


SPACE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def with_spaces(target: Target, node: Node) -> Target:
    """Return the generic target with declared address spaces: ``{"1": {"name": "far", "address_size": 4}}``.

    An address of each means the same to every thread (A.2.13).
    """
    if target.name != "generic":
        raise node.fail(f"{target.name} has its own address spaces", hint="those of `generic` can be declared")
    spaces = {0: target.default_space}
    for key, item in node.entries():
        number = key.unsigned()
        fields = item.fields(("name", "address_size"))
        name, size = fields["name"].string().lower(), fields["address_size"].unsigned()
        if number in spaces:
            why = "0 is the default address space" if number == 0 else f"the address space {number} is declared twice"
            raise key.fail(why)
        if not SPACE_NAME.fullmatch(name) or name == "none" or any(space.name == name for space in spaces.values()):
            hint = "a name is of letters, digits and underscores, and of one address space"
            raise fields["name"].fail(f"{name!r} cannot be the name of address space {number}", hint=hint)
        if size not in ADDRESS_SIZES:
            raise fields["address_size"].fail(f"addresses of {size} bytes are not supported", hint="1 to 8 bytes are")
        spaces[number] = AddressSpace(number, name, 8 * size, None, Scope.PROCESS)
    return evolve(target, address_spaces=tuple(spaces[number] for number in sorted(spaces)))


def declared_spaces(target: Target) -> dict[str, dict[str, str | int]]:
    """Return the address spaces that were declared for the generic target, in the form of `with_spaces`."""
    spaces = target.address_spaces[1:] if target.name == "generic" else ()
    return {str(space.number): {"name": space.name, "address_size": space.address_bits // 8} for space in spaces}


# --- The ELF header flags of an AMDGPU code object ----------------------------------------------------------------
# AMDGPU usage, section "Header": one table of ``e_flags`` per code object version.
# ``e_ident[EI_ABIVERSION]`` tells the version.

EF_AMDGPU_MACH = 0xFF
LAST_R600_MACH = 0x1F

# e_ident[EI_ABIVERSION] of ELFOSABI_AMDGPU_HSA; V4 is 2, V5 is 3, V6 is 4
ABI_V2 = 0
ABI_V3 = 1


@frozen
class ElfFlags:
    """The decoded ``e_flags``."""

    mach: int
    """The processor; 0 if it does not say."""
    features: tuple[str, ...]
    """The settings that are fixed, as a target ID writes them: ``sramecc-``, ``xnack+``. "Any" is left out."""
    generic_version: int
    """The version of a generic processor's code object, from 1; 0 for any other."""


def decode_flags(flags: int, abi_version: int | None = None) -> ElfFlags:
    """Read ``e_flags``. Without an ABI version the tables of V4 and later hold, which other versions contradict."""
    if abi_version == ABI_V2:  # EF_AMDGPU_FEATURE_XNACK_V2; the processor is in a note
        return ElfFlags(0, ("xnack+",) if flags & 0x01 else (), 0)
    mach = flags & EF_AMDGPU_MACH
    if abi_version == ABI_V3:
        # "The code object V2 to V3 cannot represent Any and treats it the same as On": only On is certain.
        names = ((0x200, "sramecc+"), (0x100, "xnack+"))
        return ElfFlags(mach, tuple(name for bit, name in names if flags & bit), 0)
    settings = ("", "", "-", "+")  # unsupported, any, off, on
    sramecc = settings[flags >> 10 & 3]
    xnack = settings[flags >> 8 & 3]
    features = tuple(f"{name}{sign}" for name, sign in (("sramecc", sramecc), ("xnack", xnack)) if sign)
    return ElfFlags(mach, features, flags >> 24 & 0xFF)
