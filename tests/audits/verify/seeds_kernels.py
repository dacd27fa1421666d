import struct
from functools import cache, partial
from typing import Any

import msgpack

from dwarfgpu.objfile.kernels.kernel import DESCRIPTOR
from dwarfgpu.objfile.opening import open_image
from tests.builders.elf import ElfBuilder
from tests.builders.folders import FIXTURES
from tests.builders.seeds import Seed

V2, V3, V6 = "asm/code-object-v2.gfx803.co", "asm/code-object-v3.gfx906.co", "features/stripped.v5.co"
"""Files without DWARF; the first has an amd_kernel_code_t and YAML, the others descriptors and MessagePack."""
GFX90A, GFX942, GFX1100, GFX1250 = 0x53F, 0x54C, 0x41, 0x49
"""e_flags: the processor, and any setting of the features it has."""
NAMES = {GFX90A: "gfx90a", GFX942: "gfx942", GFX1100: "gfx1100", GFX1250: "gfx1250"}
RODATA, TEXT = 0x1000, 0x2000
ROWS = (("k.kd", RODATA, 64, 1, 1, 1), ("k", TEXT, 64, 2, 1, 2))
FIELDS = {"group": 0, "private": 0, "kernarg": 16, "reserved0": 0, "offset": TEXT - RODATA, "reserved1": bytes(20),
          "rsrc3": 0, "rsrc1": 0, "rsrc2": 2 << 1, "properties": 1 << 3, "preload": 0, "reserved2": 0}  # fmt: skip
"""A descriptor that asks for the kernarg segment pointer alone."""
POINTER = {".offset": 0, ".size": 8, ".value_kind": "global_buffer", ".address_space": "global"}
NUMBER = {".offset": 8, ".size": 4, ".value_kind": "by_value"}
HIDDEN = {".offset": 12, ".size": 4, ".value_kind": "hidden_block_count_x"}
KERNEL = {
    ".name": "k", ".symbol": "k.kd", ".kernarg_segment_size": 16, ".kernarg_segment_align": 8, ".wavefront_size": 64,
    ".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0, ".max_flat_workgroup_size": 256,
    ".sgpr_count": 8, ".vgpr_count": 4, ".uses_dynamic_stack": False, ".args": [POINTER, NUMBER, HIDDEN]}  # fmt: skip


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in KERNEL.items() if name != key}


def made(
    kernels: Any = (KERNEL,), document: dict[str, Any] | None = None, *, note: bytes | None = None,
    rows: Any = ROWS, flags: int = GFX90A, type: int = 3, entry: int = 0, abi: int = 4, data: bytes = b"",
    **fields: Any,
) -> bytes:  # fmt: skip
    """Make a file with one kernel, with a descriptor of the fields or with ``data`` in place of it."""
    builder = ElfBuilder(type=type, flags=flags, abi_version=abi, entry=entry)
    words = {"properties": 1 << 3 | 1 << 10} if flags == GFX1100 else {}
    data = data or DESCRIPTOR.pack(*{**FIELDS, **words, **fields}.values())
    rodata = builder.section(".rodata", data, flags=2, address=RODATA, align=64)
    code = builder.section(".text", struct.pack("<I", 0xBF810000).ljust(0x200, b"\0"), flags=6, address=TEXT, align=256)
    if note is None:
        whole = {
            "amdhsa.version": [1, 2], "amdhsa.target": f"amdgcn-amd-amdhsa--{NAMES[flags]}",
            "amdhsa.kernels": list(kernels), **(document or {})}  # fmt: skip
        note = msgpack.packb({key: value for key, value in whole.items() if value is not None})
    if note:
        builder.section(".note", builder.note(b"AMDGPU\0", 32, note), type=7, align=4)
    builder.symbols(rows)
    builder.segment(1, RODATA, rodata)
    builder.segment(1, TEXT, code, flags=5)
    return builder.build()


@cache
def _place(name: str, symbol: str) -> int:
    place = open_image((FIXTURES / name).read_bytes(), name=name).symbol_named(symbol)
    assert place is not None
    assert place.section is not None
    return place.section.offset + place.value - place.section.address


def patched(name: str, symbol: str, offset: int, data: bytes) -> bytes:
    whole = bytearray((FIXTURES / name).read_bytes())
    start = _place(name, symbol) + offset
    whole[start : start + len(data)] = data
    return bytes(whole)


def replaced(name: str, old: str, new: str) -> bytes:
    """Replace text of a fixture by text of the same length."""
    whole = (FIXTURES / name).read_bytes()
    assert whole.count(old.encode()) == 1
    assert len(old) == len(new)
    return whole.replace(old.encode(), new.encode())


def seed(rule: str, name: str, *arguments: Any, **options: Any) -> Seed:
    return Seed(f"kernel-{rule}", name, partial(made, *arguments, **options))


def told(rule: str, name: str, **changes: Any) -> Seed:
    return seed(rule, name, ({**KERNEL, **{f".{key}": value for key, value in changes.items()}},))


def argument(rule: str, name: str, *arguments: dict[str, Any]) -> Seed:
    return told(rule, f"argument: {name}", args=list(arguments))


def code(rule: str, name: str, offset: int, layout: str, value: int) -> Seed:
    """An amd_kernel_code_t of LLVM's assembler with one field changed."""
    data = struct.pack(f"<{layout}", value)
    return Seed(f"kernel-{rule}", f"amd_kernel_code_t: {name}", partial(patched, V2, "vector_add", offset, data))


def fixture(rule: str, name: str, file: str, symbol: str, offset: int, layout: str, value: int) -> Seed:
    """A descriptor of a compiler or assembler with one field changed."""
    data = struct.pack(f"<{layout}", value)
    return Seed(f"kernel-{rule}", f"{file}: {name}", partial(patched, file, symbol, offset, data))


def yaml(rule: str, old: str, new: str) -> Seed:
    return Seed(f"kernel-{rule}", f"YAML: {' '.join(new.split())}", partial(replaced, V2, old, new))


SPACES, STORE = "_Z6spacesPii.kd", "store.kd"
SEEDS = (
    # --- the file ---
    seed("file-type", "an ET_EXEC", type=2),
    seed("file-entry", "the kernel's second instruction", entry=TEXT + 4),
    # --- metadata ---
    seed("metadata-unreadable", "no document", note=b"\xc1"),
    seed("metadata-unreadable", "a sequence", note=msgpack.packb([1])),
    seed("metadata-unreadable", "bytes after it",
         note=msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": [KERNEL]}) + b"\0"),
    yaml("metadata-unreadable", "- Name:            vector_add", "-{Name:            vector_add"),
    seed("metadata-key", "no version", document={"amdhsa.version": None}),
    seed("metadata-key", "no wave size", (without(".wavefront_size"),)),
    seed("metadata-key", "no count of VGPRs", (without(".vgpr_count"),)),
    argument("metadata-key", "no offset", {".size": 8, ".value_kind": "global_buffer"}),
    argument("metadata-key", "no kind", {".size": 8, ".offset": 0}),
    told("metadata-value", "a size is a text", group_segment_fixed_size="none"),
    told("metadata-value", "an alignment of 24", kernarg_segment_align=24),
    told("metadata-value", "waves of 48", wavefront_size=48),
    told("metadata-value", "two sizes", reqd_workgroup_size=[8, 8]),
    seed("metadata-value", "a kernel that is not a map", (KERNEL, 3)),
    yaml("metadata-value", "Align:         4", "Align:         3"),
    seed("metadata-version", "that of V4 in V6", document={"amdhsa.version": [1, 1]}),
    Seed("kernel-metadata-version", "V2", partial(replaced, V2, "[ 1, 0 ]", "[ 1, 1 ]")),
    seed("metadata-target", "another processor", document={"amdhsa.target": "amdgcn-amd-amdhsa--gfx908"}),
    seed("metadata-target", "a feature", document={"amdhsa.target": "amdgcn-amd-amdhsa--gfx90a:xnack+"}),
    seed("metadata-printf", "no count", document={"amdhsa.printf": ["1:two"]}),
    yaml("metadata-printf", "1:1:4:value", "1:9:4:value"),    seed("undescribed", "no metadata", note=b""),
    seed("undescribed", "no kernels", ()),
    seed("without-symbol", "of a second kernel", (KERNEL, {**KERNEL, ".name": "l", ".symbol": "l.kd"})),
    seed("duplicate", "twice the same", (KERNEL, KERNEL)),
    seed("duplicate", "twice the symbol", (KERNEL, {**KERNEL, ".name": "l"})),
    told("workgroup-size", "a size of 0", reqd_workgroup_size=[64, 0, 1]),
    told("workgroup-size", "more than the maximum", reqd_workgroup_size=[64, 8, 1]),
    told("workgroup-size", "no work-items", max_flat_workgroup_size=0),
    yaml("workgroup-size", "ReqdWorkGroupSize: [ 64,", "ReqdWorkGroupSize: [ 65,"),
    # --- arguments ---
    argument("argument-kind", "unknown", {**NUMBER, ".value_kind": "by_name"}),
    yaml("argument-kind", "ByValue", "ByName_"),
    argument("argument-value", "an address space", {**POINTER, ".address_space": "shared"}),
    argument("argument-value", "an access", {**POINTER, ".value_kind": "image", ".access": "read"}),
    argument("argument-size", "a pointer of 4 bytes", {**POINTER, ".size": 4}),
    argument("argument-size", "a hidden one", {**HIDDEN, ".size": 2}),
    argument("argument-order", "two at one place", POINTER, {**NUMBER, ".offset": 4}),
    argument("argument-order", "descending", NUMBER, POINTER),
    argument("argument-alignment", "a pointer", {**POINTER, ".offset": 4}),
    argument("argument-outside", "of a large value", POINTER, {**NUMBER, ".size": 12}),
    Seed("kernel-argument-outside", "YAML: a small segment",
         lambda: patched_both("KernargSegmentSize:      32", "KernargSegmentSize:      20", 72, 20)),
    argument("argument-hidden", "before another", POINTER, {**HIDDEN, ".offset": 8}, {**NUMBER, ".offset": 12}),
    # --- descriptors ---
    seed("symbol", "of a function", rows=(("k.kd", RODATA, 64, 2, 1, 1), ROWS[1])),
    seed("symbol", "of 32 bytes", rows=(("k.kd", RODATA, 32, 1, 1, 1), ROWS[1])),
    seed("unreadable", "half of it", data=bytes(32)),
    seed("alignment", "at 32", rows=(("k.kd", RODATA + 32, 64, 1, 1, 1), ROWS[1]),
         data=bytes(32) + DESCRIPTOR.pack(*{**FIELDS, "offset": TEXT - RODATA - 32}.values())),
    seed("entry-alignment", "4 bytes late", offset=TEXT - RODATA + 4),
    seed("entry-outside", "behind the data", offset=0x100),   seed("entry-descriptor", "at its start", offset=0),
    code("entry-descriptor", "of code object V2", 16, "Q", 0),
    seed("workitem-id", "3", rsrc2=2 << 1 | 3 << 11),         seed("entry-outside", "behind the code", offset=0x2000),
    seed("entry-symbol", "no symbol", rows=ROWS[:1]),
    seed("entry-symbol", "elsewhere", offset=TEXT - RODATA + 0x100),
    seed("entry-symbol", "of data", rows=(ROWS[0], ("k", TEXT, 64, 1, 1, 2))),
    seed("reserved", "byte 12", reserved0=1),
    seed("reserved", "byte 30", reserved1=bytes(6) + b"\1" + bytes(13)),
    seed("reserved", "byte 60", reserved2=1),
    seed("reserved", "bit 31 of COMPUTE_PGM_RSRC2", rsrc2=2 << 1 | 1 << 31),
    seed("reserved", "bit 7 of the properties", properties=1 << 3 | 1 << 7),
    seed("reserved", "waves of 32 of GFX90A", properties=1 << 3 | 1 << 10),
    fixture("reserved", "COMPUTE_PGM_RSRC3 of GFX9", V3, STORE, 44, "I", 1),
    fixture("reserved", "bits 9:6 of COMPUTE_PGM_RSRC3", V6, SPACES, 45, "B", 1),
    seed("not-zero", "the priority", rsrc1=1 << 10),          seed("not-zero", "the LDS size", rsrc2=2 << 1 | 1 << 15),
    fixture("not-zero", "PRIV, DEBUG_MODE and BULKY", V3, STORE, 50, "H", 0xAC | 0x151),
    seed("sgpr-blocks", "some blocks", ({**KERNEL, ".wavefront_size": 32},), flags=GFX1100, rsrc1=4 << 6),
    seed("user-sgpr-count", "one too many", rsrc2=3 << 1),
    seed("user-sgpr-count", "too few on GFX11", ({**KERNEL, ".wavefront_size": 32},), flags=GFX1100, rsrc2=1 << 1),
    fixture("user-sgpr-count", "none", V3, STORE, 52, "H", 1 << 7),
    seed("preload-outside", "more than there is", rsrc2=7 << 1, preload=5),
    seed("preload-outside", "from an offset", flags=GFX942, rsrc2=4 << 1, preload=2 | 3 << 7),
    seed("accum-offset", "behind all registers", rsrc3=7),
    # --- what two places say ---
    told("wave-size", "32 in the metadata", wavefront_size=32),
    seed("wave-size", "64 in the metadata alone", flags=GFX1100),
    seed("wave-size", "not of the processor", flags=GFX1250),
    told("group-size", "of the metadata", group_segment_fixed_size=4),
    fixture("group-size", "of the descriptor", V6, SPACES, 0, "I", 128),
    told("private-size", "of the metadata", private_segment_fixed_size=4),
    fixture("private-size", "of the descriptor", V6, SPACES, 4, "I", 128),
    told("kernarg-size", "of the metadata", kernarg_segment_size=24),
    seed("kernarg-size", "of the descriptor", kernarg=24),
    told("dynamic-stack", "in the metadata alone", uses_dynamic_stack=True),
    seed("dynamic-stack", "in the descriptor alone", properties=1 << 3 | 1 << 11),
    seed("workgroup-mode", "in the metadata alone",
         ({**KERNEL, ".wavefront_size": 32, ".workgroup_processor_mode": True},), flags=GFX1100),
    told("vgpr-count", "more than there are", vgpr_count=9),
    seed("vgpr-count", "waves of 64 of GFX11", ({**KERNEL, ".vgpr_count": 5},), flags=GFX1100, properties=1 << 3),
    told("sgpr-count", "more than there are", sgpr_count=17),
    # --- amd_kernel_code_t ---
    code("code-version", "major", 0, "I", 2),                 code("code-version", "minor", 4, "I", 3),
    code("code-machine", "no kind", 8, "H", 0),
    code("code-registers", "reserved", 88, "H", 3),           code("code-registers", "of the debugger", 96, "H", 3),
    code("code-alignment", "8", 100, "B", 3),
    code("wave-size", "2 ** 9", 103, "B", 9),                 code("wave-size", "32", 103, "B", 5),
    code("user-sgpr-count", "none", 52, "I", 1 << 7),         code("vgpr-count", "40 used", 86, "H", 40),
    code("sgpr-count", "40 used", 84, "H", 40),               code("reserved", "byte 108", 108, "B", 1),
    code("not-zero", "the loader's symbol", 120, "Q", 1),
    code("group-size", "other than the metadata", 64, "I", 16),
    code("private-size", "other than the metadata", 60, "I", 16),
    code("kernarg-size", "other than the metadata", 72, "Q", 16),
    code("entry-alignment", "4 bytes late", 16, "q", 260),
    code("entry-outside", "far away", 16, "q", 0x10000))  # fmt: skip


def patched_both(old: str, new: str, offset: int, value: int) -> bytes:
    """Change a size in the YAML of a file and in its amd_kernel_code_t."""
    whole = bytearray(replaced(V2, old, new))
    start = _place(V2, "vector_add") + offset
    whole[start : start + 8] = struct.pack("<Q", value)
    return bytes(whole)
