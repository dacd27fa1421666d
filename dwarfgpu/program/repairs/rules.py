"""What compilers write and what they mean by it: a table of rewrites, each of which somebody has to ask for.

A pattern is a list of operations. A word in capitals is an operand of any value, which has the same name in what the
pattern becomes; ``A|B`` are alternatives; ``VALUE`` is one or more operations that compute a value. A condition is a
fact about the operands or the target, named in `CONDITIONS`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.targets.target import Target


@frozen
class Seen:
    """A compiler in whose output an idiom was seen."""

    name: str
    pattern: str
    """Of DW_AT_producer; its first group is the major version."""
    first: int
    last: int

    def includes(self, producer: str) -> bool:
        """Whether the producer of a unit is this one, in a version in which the idiom was seen."""
        found = re.search(self.pattern, producer)
        return found is not None and self.first <= int(found[1]) <= self.last

    def __str__(self) -> str:
        versions = str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.name} {versions}"


CLANG_22 = Seen("clang", r"(?<!AMD )clang version (\d{1,4})\.", 22, 22)
"""LLVM's own; that of ROCm describes variables in another way."""


@frozen
class Site:
    """Where an expression stands, as far as repairs depend on it."""

    attribute: str
    producer: str | None
    target: Target
    address: Callable[[int], int | None]
    """An entry of ``.debug_addr`` as it is in the file; None if there is none."""


@frozen
class Repair:
    """One idiom: how it is written, and what it means."""

    name: str
    attribute: str
    pattern: str
    becomes: str
    meaning: str
    conditions: tuple[str, ...] = ()
    seen: tuple[Seen, ...] = (CLANG_22,)
    source: str = ""
    """Who says what it means."""


def _is_vector(site: Site, operands: Mapping[str, Any]) -> bool:
    register = site.target.register(operands["R"])
    return register is not None and register.lane_bits == 32


def _is_plain(_site: Site, operands: Mapping[str, Any]) -> bool:
    return bool(operands["B"] == 0)


def _is_low_half(_site: Site, operands: Mapping[str, Any]) -> bool:
    return bool(operands["M"] == 0xFFFF)


def _entry_is_zero(site: Site, operands: Mapping[str, Any]) -> bool:
    return site.address(operands["K"]) == 0


def _entry_is_not_zero(site: Site, operands: Mapping[str, Any]) -> bool:
    return site.address(operands["K"]) not in (0, None)


def _address_is_zero(_site: Site, operands: Mapping[str, Any]) -> bool:
    return bool(operands["A"] == 0)


def _address_is_not_zero(_site: Site, operands: Mapping[str, Any]) -> bool:
    return bool(operands["A"] != 0)


def _is_buffer_scratch(site: Site, operands: Mapping[str, Any]) -> bool:
    """Whether a stack pointer holds addresses of the wave's scratch memory, in which those of lanes are interleaved."""
    return site.target.stack_scale == 1 and operands["R"] in (site.target.stack_pointer, _frame_pointer(site))


def _is_flat_scratch(site: Site, operands: Mapping[str, Any]) -> bool:
    """Whether a stack pointer holds addresses of private memory of a lane."""
    return site.target.stack_scale != 1 and operands["R"] in (site.target.stack_pointer, _frame_pointer(site))


def _frame_pointer(site: Site) -> int | None:
    """s33, which LLVM makes the frame pointer."""
    pointer = site.target.stack_pointer
    return None if pointer is None else pointer + 1


CONDITIONS: dict[str, tuple[str, Callable[[Site, Mapping[str, Any]], bool]]] = {
    "vector": ("R is a vector register", _is_vector),
    "plain": ("B is 0", _is_plain),
    "low half": ("M is 0xffff", _is_low_half),
    "entry 0": ("entry K of .debug_addr is 0", _entry_is_zero),
    "entry not 0": ("entry K of .debug_addr is not 0", _entry_is_not_zero),
    "address 0": ("A is 0", _address_is_zero),
    "address not 0": ("A is not 0", _address_is_not_zero),
    "buffer scratch": ("the target uses buffer scratch, and R is s32 or s33", _is_buffer_scratch),
    "flat scratch": ("the target uses flat scratch, and R is s32 or s33", _is_flat_scratch),
}

LOCATION, FRAME_BASE = "DW_AT_location", "DW_AT_frame_base"
IN_LANE = "DW_OP_regx {R}; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"
SPACE = "DW_OP_lit1|DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
CLANG_CODE = "what the compiled code does with it; every variable of the fixtures that has it"

REPAIRS: tuple[Repair, ...] = (
    Repair(
        "private-variable",
        LOCATION,
        f"DW_OP_fbreg N; {SPACE}",
        "DW_OP_fbreg {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
        "the variable is in private memory of the lane, at frame base + N; HIP writes the generic address space",
        source=f"{CLANG_CODE}: it is stored there by scratch instructions",
    ),
    Repair(
        "vector-register",
        LOCATION,
        f"DW_OP_bregx R B; {SPACE}",
        IN_LANE,
        "the variable is in vector register R, in the element of its lane",
        ("vector", "plain"),
        source=f"{CLANG_CODE}: it is computed in that register",
    ),
    Repair(
        "half-vector-register",
        LOCATION,
        f"DW_OP_bregx R B; DW_OP_constu M; DW_OP_and; {SPACE}",
        IN_LANE,
        "the variable is in the low half of the element of its lane of vector register R",
        ("vector", "plain", "low half"),
        source=f"{CLANG_CODE}: a variable of 16 bits, computed in that register",
    ),
    Repair(
        "computed-value",
        LOCATION,
        f"VALUE; {SPACE}; DW_OP_stack_value",
        "{VALUE}; DW_OP_stack_value",
        "the variable has no place, and its value is what is computed; a vector register in it means its own lane",
        source="DW_OP_stack_value at its end, which leaves nothing to dereference",
    ),
    Repair(
        "no-local-address",
        LOCATION,
        "DW_OP_addrx K; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "DW_OP_LLVM_undefined",
        "the variable is in local memory, at an address that the file does not say: every one has the address 0",
        ("entry 0",),
        source="the symbols of local variables, which the loader places, are undefined in the file",
    ),
    Repair(
        "no-local-address-v4",
        LOCATION,
        "DW_OP_addr A; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "DW_OP_LLVM_undefined",
        "the same in DWARF 4, where the address is in the expression",
        ("address 0",),
        source="the symbols of local variables, which the loader places, are undefined in the file",
    ),
    Repair(
        "global-variable",
        LOCATION,
        "DW_OP_addrx K; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_addrx {K}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
        "the variable is at that generic address, and does not hold its own address",
        ("entry not 0",),
        source="the ELF symbol of the variable has that address",
    ),
    Repair(
        "global-variable-v4",
        LOCATION,
        "DW_OP_addr A; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_addr {A}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
        "the same in DWARF 4, where the address is in the expression",
        ("address not 0",),
        source="the ELF symbol of the variable has that address",
    ),
    Repair(
        "scaled-frame-base",
        FRAME_BASE,
        "DW_OP_regx R",
        "DW_OP_regx {R}; DW_OP_deref_size 4; DW_OP_lit{WAVE_SHIFT}; DW_OP_shr",
        "the register counts the bytes of the whole wave; an address in private memory of a lane is that by the lanes",
        ("buffer scratch",),
        source="the compiled code shifts it right by as much before it makes an address of a variable of it",
    ),
    Repair(
        "narrow-frame-base",
        FRAME_BASE,
        "DW_OP_regx R",
        "DW_OP_regx {R}; DW_OP_deref_size 4",
        "the register holds an address in private memory of a lane, of 32 bits and not of the generic type's 64",
        ("flat scratch",),
        source="the compiled code uses it as the address of scratch instructions",
    ),
)
"""In the order in which they are tried."""

BY_NAME = {repair.name: repair for repair in REPAIRS}
