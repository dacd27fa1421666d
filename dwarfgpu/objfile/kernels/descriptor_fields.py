"""The bit fields of kernel descriptors and of ``amd_kernel_code_t``, by generation of the processor.

Sources: AMDGPU usage, "Kernel Descriptor", of 2020 and of LLVM 22, with ``AMDHSAKernelDescriptor.h`` of LLVM 22; for
``amd_kernel_code_t`` the AMDGPU Compute ABI 0.40, "AMD Kernel Code Object". Later generations, of which these do not
speak, are read as GFX12.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from dwarfgpu.immutable import frozen

# Generations in order; 95 means gfx90a and gfx94x and gfx950, which the texts call GFX90A and GFX940
GFX6, GFX8, GFX9, GFX90A, GFX10, GFX11, GFX12, GFX125 = 60, 80, 90, 95, 100, 110, 120, 125
LAST = 999

ROUND_MODES = ("near even", "plus infinity", "minus infinity", "zero")
DENORM_MODES = ("flush source and destination", "flush destination", "flush source", "flush none")
WORKITEM_IDS = ("x", "x, y", "x, y, z", "undefined")
SCRATCH_ELEMENTS = ("2 bytes", "4 bytes", "8 bytes", "16 bytes")


@frozen
class BitField:
    """One row of the tables: where a field is, and for which generations."""

    word: str
    name: str
    shift: int
    width: int
    first: int = GFX6
    last: int = LAST
    meanings: tuple[str, ...] = ()
    zero: bool = False
    """Whether the text says "must be 0"; reserved ones have no other name."""

    def value_in(self, word: int) -> int:
        return word >> self.shift & ((1 << self.width) - 1)


@frozen
class Field:
    """The value of one field in one descriptor."""

    word: str
    name: str
    shift: int
    width: int
    value: int
    meaning: str | None

    @property
    def is_reserved(self) -> bool:
        return self.name == "RESERVED"


@frozen
class Violation:
    """Something in a descriptor or an ``amd_kernel_code_t`` that the text forbids."""

    kind: str
    """Which rule it breaks: ``reserved``, ``not_zero``, ``sgpr_blocks``, ``code_version`` and so on."""
    offset: int
    """The offset of the field in the structure."""
    message: str


RSRC1 = "COMPUTE_PGM_RSRC1"
RSRC2 = "COMPUTE_PGM_RSRC2"
RSRC3 = "COMPUTE_PGM_RSRC3"
PROPERTIES = "KERNEL_CODE_PROPERTIES"
PRELOAD = "KERNARG_PRELOAD"
WORDS = (RSRC1, RSRC2, RSRC3, PROPERTIES, PRELOAD)
WORD_OFFSETS = {RSRC3: 44, RSRC1: 48, RSRC2: 52, PROPERTIES: 56, PRELOAD: 58}
"""Where the words are, in a descriptor and in an ``amd_kernel_code_t``."""
SGPR_BLOCKS = "GRANULATED_WAVEFRONT_SGPR_COUNT"


def _rows(word: str, *rows: tuple[object, ...]) -> tuple[BitField, ...]:
    return tuple(BitField(word, *row) for row in rows)  # type: ignore[arg-type]


def _reserved(word: str, shift: int, width: int, first: int = GFX6, last: int = LAST) -> BitField:
    return BitField(word, "RESERVED", shift, width, first, last, zero=True)


RSRC1_FIELDS = (
    *_rows(
        RSRC1,
        ("GRANULATED_WORKITEM_VGPR_COUNT", 0, 6),
        ("GRANULATED_WAVEFRONT_SGPR_COUNT", 6, 4, GFX6, GFX90A),
        ("GRANULATED_WAVEFRONT_SGPR_COUNT", 6, 4, GFX10, LAST, (), True),
        ("PRIORITY", 10, 2, GFX6, LAST, (), True),
        ("FLOAT_ROUND_MODE_32", 12, 2, GFX6, LAST, ROUND_MODES),
        ("FLOAT_ROUND_MODE_16_64", 14, 2, GFX6, LAST, ROUND_MODES),
        ("FLOAT_DENORM_MODE_32", 16, 2, GFX6, LAST, DENORM_MODES),
        ("FLOAT_DENORM_MODE_16_64", 18, 2, GFX6, LAST, DENORM_MODES),
        ("PRIV", 20, 1, GFX6, LAST, (), True),
        ("ENABLE_DX10_CLAMP", 21, 1, GFX6, GFX11),
        ("ENABLE_WG_RR_EN", 21, 1, GFX12),
        ("DEBUG_MODE", 22, 1, GFX6, LAST, (), True),
        ("ENABLE_IEEE_MODE", 23, 1, GFX6, GFX11),
        ("DISABLE_PERF", 23, 1, GFX12),
        ("BULKY", 24, 1, GFX6, LAST, (), True),
        ("CDBG_USER", 25, 1, GFX6, LAST, (), True),
        ("FP16_OVFL", 26, 1, GFX9),
        ("FLAT_SCRATCH_IS_NV", 27, 1, GFX125, GFX125),
        ("WGP_MODE", 29, 1, GFX10),
        ("MEM_ORDERED", 30, 1, GFX10),
        ("FWD_PROGRESS", 31, 1, GFX10),
    ),
    _reserved(RSRC1, 26, 1, GFX6, GFX8),
    _reserved(RSRC1, 27, 1, GFX6, GFX12),
    _reserved(RSRC1, 28, 1),
    _reserved(RSRC1, 29, 3, GFX6, GFX90A),
)
RSRC2_FIELDS = (
    *_rows(
        RSRC2,
        ("ENABLE_PRIVATE_SEGMENT", 0, 1),
        ("USER_SGPR_COUNT", 1, 5, GFX6, GFX12),
        ("USER_SGPR_COUNT", 1, 6, GFX125, GFX125),
        ("ENABLE_TRAP_HANDLER", 6, 1, GFX6, GFX11, (), True),
        ("ENABLE_DYNAMIC_VGPR", 6, 1, GFX12, GFX12),
        ("ENABLE_SGPR_WORKGROUP_ID_X", 7, 1),
        ("ENABLE_SGPR_WORKGROUP_ID_Y", 8, 1),
        ("ENABLE_SGPR_WORKGROUP_ID_Z", 9, 1),
        ("ENABLE_SGPR_WORKGROUP_INFO", 10, 1),
        ("ENABLE_VGPR_WORKITEM_ID", 11, 2, GFX6, LAST, WORKITEM_IDS),
        ("ENABLE_EXCEPTION_ADDRESS_WATCH", 13, 1, GFX6, LAST, (), True),
        ("ENABLE_EXCEPTION_MEMORY", 14, 1, GFX6, LAST, (), True),
        ("GRANULATED_LDS_SIZE", 15, 9, GFX6, LAST, (), True),
        ("ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION", 24, 1),
        ("ENABLE_EXCEPTION_FP_DENORMAL_SOURCE", 25, 1),
        ("ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO", 26, 1),
        ("ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW", 27, 1),
        ("ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW", 28, 1),
        ("ENABLE_EXCEPTION_IEEE_754_FP_INEXACT", 29, 1),
        ("ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO", 30, 1),
    ),
    _reserved(RSRC2, 31, 1),
)
RSRC3_FIELDS = (
    *_rows(
        RSRC3,
        ("ACCUM_OFFSET", 0, 6, GFX90A, GFX90A),
        ("TG_SPLIT", 16, 1, GFX90A, GFX90A),
        ("SHARED_VGPR_COUNT", 0, 4, GFX10, GFX11),
        ("INST_PREF_SIZE", 4, 6, GFX11, GFX11),
        ("TRAP_ON_START", 10, 1, GFX11, GFX11),
        ("TRAP_ON_END", 11, 1, GFX11, GFX11),
        ("INST_PREF_SIZE", 4, 8, GFX12),
        ("GLG_EN", 13, 1, GFX12),
        ("NAMED_BAR_CNT", 14, 3, GFX125, GFX125),
        ("ENABLE_DYNAMIC_VGPR", 17, 1, GFX125, GFX125),
        ("TCP_SPLIT", 18, 3, GFX125, GFX125),
        ("ENABLE_DIDT_THROTTLE", 21, 1, GFX125, GFX125),
        ("IMAGE_OP", 31, 1, GFX11),
    ),
    _reserved(RSRC3, 0, 32, GFX6, GFX9),
    _reserved(RSRC3, 6, 10, GFX90A, GFX90A),
    _reserved(RSRC3, 17, 15, GFX90A, GFX90A),
    _reserved(RSRC3, 0, 4, GFX12),
    _reserved(RSRC3, 4, 8, GFX10, GFX10),
    _reserved(RSRC3, 12, 1, GFX10),
    _reserved(RSRC3, 13, 1, GFX10, GFX11),
    _reserved(RSRC3, 14, 8, GFX10, GFX12),
    _reserved(RSRC3, 22, 9, GFX10),
    _reserved(RSRC3, 31, 1, GFX10, GFX10),
)
_SGPR_ENABLES = (
    ("ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 0, 1),
    ("ENABLE_SGPR_DISPATCH_PTR", 1, 1),
    ("ENABLE_SGPR_QUEUE_PTR", 2, 1),
    ("ENABLE_SGPR_KERNARG_SEGMENT_PTR", 3, 1),
    ("ENABLE_SGPR_DISPATCH_ID", 4, 1),
    ("ENABLE_SGPR_FLAT_SCRATCH_INIT", 5, 1),
    ("ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", 6, 1),
)
PROPERTY_FIELDS = (
    *_rows(PROPERTIES, *_SGPR_ENABLES, ("ENABLE_WAVEFRONT_SIZE32", 10, 1, GFX10), ("USES_DYNAMIC_STACK", 11, 1)),
    _reserved(PROPERTIES, 7, 3),
    _reserved(PROPERTIES, 10, 1, GFX6, GFX90A),
    _reserved(PROPERTIES, 12, 4),
    *_rows(
        PRELOAD,
        ("KERNARG_PRELOAD_SPEC_LENGTH", 0, 7, GFX90A, GFX90A),
        ("KERNARG_PRELOAD_SPEC_OFFSET", 7, 9, GFX90A, GFX90A),
        ("KERNARG_PRELOAD_SPEC_LENGTH", 0, 7, GFX125, GFX125),
        ("KERNARG_PRELOAD_SPEC_OFFSET", 7, 9, GFX125, GFX125),
    ),
    _reserved(PRELOAD, 0, 16, GFX6, GFX9),
    _reserved(PRELOAD, 0, 16, GFX10, GFX12),
)
DESCRIPTOR_FIELDS = (*RSRC1_FIELDS, *RSRC2_FIELDS, *RSRC3_FIELDS, *PROPERTY_FIELDS)

CODE_FIELDS = (
    *RSRC1_FIELDS,
    *RSRC2_FIELDS,
    *_rows(
        PROPERTIES,
        *_SGPR_ENABLES,
        ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_X", 7, 1),
        ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y", 8, 1),
        ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z", 9, 1),
        ("ENABLE_WAVEFRONT_SIZE32", 10, 1, GFX10),
        ("ENABLE_ORDERED_APPEND_GDS", 16, 1),
        ("PRIVATE_ELEMENT_SIZE", 17, 2, GFX6, LAST, SCRATCH_ELEMENTS),
        ("IS_PTR64", 19, 1),
        ("IS_DYNAMIC_CALL_STACK", 20, 1),
        ("IS_DEBUG_ENABLED", 21, 1),
        ("IS_XNACK_ENABLED", 22, 1),
    ),
    _reserved(PROPERTIES, 10, 1, GFX6, GFX90A),
    _reserved(PROPERTIES, 11, 5),
    _reserved(PROPERTIES, 23, 9),
)
"""The words of ``amd_kernel_code_t``."""
FIELDS = {"descriptor": DESCRIPTOR_FIELDS, "code": CODE_FIELDS}
MAY_BE_SET = frozenset(("PRIORITY", "ENABLE_TRAP_HANDLER", "ENABLE_EXCEPTION_ADDRESS_WATCH", "ENABLE_EXCEPTION_MEMORY"))
"""What must be 0 in a descriptor, and may be set in an ``amd_kernel_code_t``, from which CP takes it."""


def generation_of(processor: str) -> int | None:
    """Return the generation of a processor, such as gfx90a or gfx11-generic; None if its name does not tell."""
    digits = processor.partition(":")[0].removeprefix("gfx")
    if digits == processor:
        return None
    if digits.endswith("-generic"):
        major, _, minor = digits.removesuffix("-generic").partition("-")
        minor = minor or "0"
    else:
        major, minor = digits[:-2], digits[-2:-1]
        if major == "9" and digits[-2:] == "0a":
            return GFX90A
    if not (major.isascii() and major.isdecimal() and len(major) < 4) or int(major) < 6:
        return None
    if major == "9":
        return GFX90A if minor in ("4", "5") else GFX9
    if major == "12" and minor == "5":
        return GFX125
    return min(int(major) * 10, GFX12)


@cache
def _rows_of(structure: str, generation: int | None) -> tuple[BitField, ...]:
    """Return the rows for a generation; for None those that every generation has."""
    if generation is None:
        return tuple(row for row in FIELDS[structure] if (row.first, row.last) == (GFX6, LAST))
    return tuple(row for row in FIELDS[structure] if row.first <= generation <= row.last)


def decode(structure: str, words: dict[str, int], generation: int | None) -> tuple[Field, ...]:
    """Decode the fields of all words, in their order; without a generation only those that every generation has."""
    return _decoded(structure, tuple(words.items()), generation)


@lru_cache(1 << 12)  # the kernels of a file have most words in common
def _decoded(structure: str, words: tuple[tuple[str, int], ...], generation: int | None) -> tuple[Field, ...]:
    fields = []
    for word, number in words:
        rows = (row for row in _rows_of(structure, generation) if row.word == word)
        for row in sorted(rows, key=lambda row: row.shift):
            value = row.value_in(number)
            meaning = row.meanings[value] if row.meanings else None
            fields.append(Field(row.word, row.name, row.shift, row.width, value, meaning))
    return tuple(fields)


def violations(
    structure: str, words: dict[str, int], generation: int | None, allowed: frozenset[str] = frozenset()
) -> Iterator[Violation]:
    """Yield a violation for each field that must be 0 and is not."""
    for row in _rows_of(structure, generation):
        value = row.value_in(words[row.word]) if row.zero else 0
        if value and row.name not in allowed:
            last = row.shift + row.width - 1
            bits = f"bit {row.shift}" if row.width == 1 else f"bits {last}:{row.shift}"
            is_reserved = row.name == "RESERVED"
            field = "reserved " if is_reserved else f"{row.name}, "
            kind = "reserved" if is_reserved else "sgpr_blocks" if row.name == SGPR_BLOCKS else "not_zero"
            yield Violation(kind, WORD_OFFSETS[row.word], f"{row.word}: {field}{bits} must be 0, found {value:#x}")
