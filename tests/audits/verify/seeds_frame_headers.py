from collections.abc import Callable, Sequence
from functools import partial

from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.frames import FrameBuilder
from tests.builders.seeds import Seed

X86_64 = 62
CODE, HEADER, EH_FRAME = 0x1000, 0x2000, 0x3000
SIZE = 0x20
"""The bytes of each of the functions."""


def header(
    rows: Sequence[tuple[int, int]],
    *,
    version: int = 1,
    pointer: int = 0x1B,
    count: int = 0x03,
    table: int = 0x3B,
    where: int = EH_FRAME,
    number: int | None = None,
    order: str = "little",
) -> bytes:
    """Return the header with rows of location and offset; the encodings are those that linkers write."""

    def word(value: int) -> bytes:
        return (value & 0xFFFFFFFF).to_bytes(4, order)  # type: ignore[arg-type]

    data = bytes([version, pointer, count, table]) + word(where - HEADER - 4)
    data += word(len(rows) if number is None else number)
    return data + b"".join(word(low - HEADER) + word(EH_FRAME + at - HEADER) for low, at in rows)


def made(change: Callable[[list[tuple[int, int]]], bytes], *, order: str = "little") -> bytes:
    """Return a program of three functions; ``change`` makes the header of the right rows."""
    frames = FrameBuilder("eh_frame", order=order)
    cie = frames.cie("def_cfa 7 8; offset 16 1")
    rows = [(CODE + SIZE * i, frames.fde(cie, CODE + SIZE * i, SIZE)) for i in range(3)]
    elf = ElfBuilder(machine=X86_64, type=3, osabi=0, abi_version=0, byte_order=order)
    elf.section(".text", bytes(3 * SIZE), flags=SHF_ALLOC | 4, address=CODE, align=16)
    elf.section(".eh_frame_hdr", change(rows), flags=SHF_ALLOC, address=HEADER)
    elf.section(".eh_frame", frames.data, flags=SHF_ALLOC, address=EH_FRAME)
    return elf.build()


def seed(rule: str, name: str, change: Callable[[list[tuple[int, int]]], bytes], *, order: str = "little") -> Seed:
    return Seed(f"frame-header-{rule}", name, partial(made, change, order=order))


SEEDS = (
    seed("version", "2", lambda rows: header(rows, version=2)),
    seed("version", "0", lambda rows: header(rows, version=0)),
    seed("encoding", "of the table, of kind 13", lambda rows: header(rows, table=0x3D)),
    seed("encoding", "of the table, LEB128", lambda rows: header(rows, table=0x31)),
    seed("encoding", "of the table, indirect", lambda rows: header(rows, table=0xBB)),
    seed("encoding", "of the table, from the code of a function", lambda rows: header(rows, table=0x4B)),
    seed("encoding", "of the address, from .text", lambda rows: header(rows, pointer=0x2B)),
    seed("encoding", "of the count, of kind 5", lambda rows: header(rows, count=0x05)),
    seed("truncated", "nothing but a version", lambda _rows: b"\1"),
    seed("truncated", "a row more than there are", lambda rows: header(rows, number=4)),
    seed("truncated", "a negative count", lambda rows: header(rows, count=0x0B, number=-1)),
    seed("section", "the address of the code", lambda rows: header(rows, where=CODE)),
    seed("section", "in the section", lambda rows: header(rows, where=EH_FRAME + 4)),
    seed("order", "the last row first", lambda rows: header(rows[::-1])),
    seed("order", "two rows of a big-endian file", lambda rows: header([rows[1], rows[0], rows[2]], order="big"),
         order="big"),
    seed("entry", "the CIE", lambda rows: header([(CODE, 0), *rows[1:]])),
    seed("entry", "the entry of another function", lambda rows: header([(CODE, rows[1][1]), *rows[1:]])),
    seed("entry", "an address in the function", lambda rows: header([*rows, (rows[2][0] + 4, rows[2][1])])),
    seed("entry", "before the section", lambda rows: header([*rows, (rows[2][0] + 4, -8)])),
    seed("missing", "the last row", lambda rows: header(rows[:2])),
    seed("missing", "a row that the count leaves out", lambda rows: header(rows, number=2)),
    seed("missing", "all rows", lambda _rows: header([])))  # fmt: skip
