"""Where members of structures are, beside their declarations: offsets, sizes and holes, as GDB's ``ptype/o``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.types.model import Struct
from dwarfgpu.program.types.sizes import known_size

if TYPE_CHECKING:
    from dwarfgpu.program.types.model import Member

WIDTH = 27
HEAD = "/* offset      |    size */  "
"""What stands above the columns."""


class Layout:
    """The layout of one structure, member after member; ``base`` is where it is in the outermost one, in bits."""

    blank = " " * WIDTH

    def __init__(self, base: int = 0, *, opens: bool = False) -> None:
        self.base = base
        self.opens = opens
        """Whether it is that of a member that is a structure itself, which is opened."""
        self.end_bit = 0

    def member(self, owner: Struct, member: Member) -> list[str]:
        """The holes before a member, and what stands beside it."""
        size = known_size(member.type)
        if owner.kind == "union":
            return [f"/*                {_number(size)} */"]
        if member.bit_offset is None:
            return [self.blank]
        lines = self._holes(member.bit_offset, "hole")
        byte, bit = divmod(member.bit_offset + self.base, 8)
        where = f"{byte:6}      " if member.bit_size is None and not bit else f"{byte:6}: {bit:<2}  "
        bits = member.bit_size if member.bit_size is not None else 8 * (size or 0)
        self.end_bit = member.bit_offset + bits
        return [*lines, f"/* {where}|  {_number(size)} */"]

    def inside(self, member: Member) -> Layout:
        """The layout of a member that is a structure."""
        return Layout(self.base + (member.bit_offset or 0), opens=isinstance(member.type, Struct))

    def end(self, owner: Struct, level: int) -> list[str]:
        """What stands below the last member."""
        size = known_size(owner)
        lines = [] if size is None else self._holes(8 * size, "padding")
        indent = self.blank + " " * (level + 4)
        return [*lines, "", f"{indent}/* total size (bytes): {'?' if size is None else size:>4} */"]

    def closing(self, level: int) -> str:
        """What stands before the closing brace."""
        return self.blank + " " * (level or 2)

    def _holes(self, start: int, what: str) -> list[str]:
        """Bits that no member has, up to one."""
        if not 0 < self.end_bit < start:
            return []
        count, bits = divmod(start - self.end_bit, 8)
        lines = [f"/* XXX {bits:2}-bit {what:7}    */"] if bits else []
        return [*lines, f"/* XXX {count:2}-byte {what:7}   */"] if count else lines


def _number(size: int | None) -> str:
    return f"{'?' if size is None else size:>6}"
