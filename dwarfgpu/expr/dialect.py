"""Dialects: which bytes are which operation (A.7.7.1, DWARF 5 section 7.7.1).

An encoding is a *path*: one byte, and for an extension opcode the ULEB128 sub-opcodes after it, such as
``(0xE9, 0x02)``. A dialect maps paths to the names of operations. The caller, who knows the producer of the
bytes, chooses it; it is never guessed from them: 0xE9 alone means three different things in the wild.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.errors import DialectConflict
from dwarfgpu.expr import table
from dwarfgpu.immutable import frozen

Path: TypeAlias = tuple[int, ...]


@frozen
class Encoding:
    """The encoding of an operation: its path, and the kind of each operand."""

    path: Path
    name: str
    kinds: tuple[str, ...] | None = None
    """None where the operands are encoded as the row of the operation says."""

    @property
    def operand_kinds(self) -> tuple[str, ...]:
        if self.kinds is not None:
            return self.kinds
        return tuple(operand.kind for operand in table.row(self.name).operands)

    @property
    def opcode(self) -> bytes:
        return bytes([self.path[0]]) + b"".join(encode_unsigned(number) for number in self.path[1:])


class Dialect:
    """A set of encodings, in which every path has one meaning."""

    def __init__(
        self, name: str, encodings: Iterable[Encoding], source: str, *, extends: Dialect | None = None
    ) -> None:
        self.name = name
        self.source = source
        """The document that the numbers come from."""
        self.by_path: dict[Path, Encoding] = dict(extends.by_path) if extends is not None else {}
        for encoding in encodings:
            known = self.by_path.get(encoding.path)
            if known is not None and known.name != encoding.name:
                message = f"dialect {name}: {format_path(encoding.path)} is both {known.name} and {encoding.name}"
                raise DialectConflict(message)
            self.by_path[encoding.path] = encoding
        self.by_name: dict[str, Encoding] = {}
        for encoding in self.by_path.values():  # the assembler uses the first one of an operation
            self.by_name.setdefault(encoding.name, encoding)
        self.prefixes = frozenset(path[:n] for path in self.by_path for n in range(1, len(path)))
        for path in self.by_path:
            if path in self.prefixes:
                raise DialectConflict(f"dialect {name}: {format_path(path)} is both an operation and a prefix")

    def bind(self, numbers: Mapping[str, int | Path]) -> Dialect:
        """Return a copy of the dialect with numbers for operations that have none yet; DWARF 6 has many such."""
        paths = {name: (path,) if isinstance(path, int) else path for name, path in numbers.items()}
        encodings = [Encoding(path, name) for name, path in paths.items()]
        return Dialect(self.name, encodings, self.source, extends=self)

    def encoding_of(self, row: table.Operation) -> Encoding | None:
        """Return the encoding of an operation, which may have several names."""
        for name in (row.name, *row.aliases):
            if name in self.by_name:
                return self.by_name[name]
        return None

    def __repr__(self) -> str:
        return f"Dialect({self.name})"


def encodings_in(text: str) -> list[Encoding]:
    """Return the encodings in a table: paths in hexadecimal, such as ``06`` or ``e9.02``, each with a name."""
    words = text.split()
    paths = [tuple(int(part, 16) for part in word.split(".")) for word in words[::2]]
    return [Encoding(path, f"DW_OP_{name}") for path, name in zip(paths, words[1::2], strict=True)]


def format_path(path: Path) -> str:
    """Return a path as text for messages."""
    return " ".join(f"{number:#04x}" for number in path)
