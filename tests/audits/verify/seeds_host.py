"""Files for x86-64 whose code contradicts their call frames or calls, and units of types."""

from functools import partial

from tests.builders.dwarf import build, die, unit
from tests.builders.elf import ElfBuilder
from tests.builders.folders import FIXTURES
from tests.builders.hostile import gpu, named
from tests.builders.seeds import Seed

O0, O2 = "host/values.gcc.O0.v5.x86_64", "host/values.gcc.O2.v5.x86_64"
PROGRAM = (0x4012A0).to_bytes(8, "little")
CALLED_AT = (0x4012B8).to_bytes(8, "little")


def changed(rule: str, name: str, path: str, before: bytes, after: bytes) -> Seed:
    """A fixture in which some bytes, the first of their kind, are others."""

    def make() -> bytes:
        data = (FIXTURES / path).read_bytes()
        assert len(before) == len(after)
        return data.replace(before, after, 1)

    return Seed(rule, name, make)


def with_types(signature: int, label: str) -> bytes:
    """A program with a type unit, and a variable of the type with a signature."""
    kind = die("structure_type", ("byte_size", "data1", 4), label="s")
    own = die("type_unit", named("t"), die("namespace", named("n"), label="n"), kind)
    root = die("compile_unit", named("a"), die("variable", named("v"), ("type", "ref_sig8", signature)))
    builder = ElfBuilder(machine=62, type=2, osabi=0)
    for name, data in build(unit(root), unit(own, "type", signature=77, type_label=label)).sections.items():
        builder.section(name, data)
    return builder.build()


SEEDS = (
    changed("frame-cfa-moved", "8 bytes more than are pushed", O2, b"\x44\x0e\x10\x5d", b"\x44\x0e\x18\x5d"),
    changed("frame-cfa-moved", "at a return", O0, b"\x4a\x0c\7\x08", b"\x4a\x0c\7\x10"),
    changed("frame-slot-popped", "behind a return", "host/values.gcc.O1.v4.x86_64", b"\x0c\7\x08\x41\x0b",
            b"\x0c\7\x08\x41\0"),
    changed("frame-partial", "a function that ends too early", O2, PROGRAM + b"\x25", PROGRAM + b"\x20"),
    changed("entry-local-overlap", "the return address", O0, b"\2\x91\x6c", b"\2\x91\x78"),
    changed("entry-symbol-size", "an array with fewer elements", O0, b"\x08\xa6\0\0\0\1", b"\x08\xa6\0\0\0\0"),
    changed("frame-cfa-alignment", "one byte more", O2, b"\x4e\x0e\xd0\1", b"\x4e\x0e\xd1\1"),
    changed("frame-slot-pushed", "r12 for rbx", O2, b"\x83\2\x4e\x0e", b"\x8c\2\x4e\x0e"),
    changed("entry-call-return", "one byte early", O2, CALLED_AT, b"\xb7" + CALLED_AT[1:]),
    changed("entry-pointer-size", "4 bytes of x86-64", O0, b"\x0f\0\x0b\x21\x08\x49\x13",
            b"\x0f\0\x0b\x21\4\x49\x13"),
    Seed("entry-signature", "of no type", partial(with_types, 78, "s")),
    Seed("entry-type-offset", "a namespace", partial(with_types, 77, "n")),
    Seed("table-macros", "of version 9",
         partial(gpu, unit_attributes=[("macros", "sec_offset", 0)], sections={".debug_macro": b"\x09\0\0\0"})),
    Seed("table-macros", "an import beyond the section",
         partial(gpu, unit_attributes=[("macros", "sec_offset", 0)],
                 sections={".debug_macro": b"\5\0\0\7\xff\xff\0\0\0"})),
)  # fmt: skip
