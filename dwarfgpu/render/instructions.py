"""Instructions as text, in the manner of GDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.program.instructions.listing import Instruction
    from dwarfgpu.program.sources.places import Span


class InstructionLines:
    """Writes instructions. ``named`` gives the function of an address: ``<add+92>``; None where there is none.

    In a listing of one function addresses only say how far they are in it.
    """

    def __init__(
        self, address_size: int, named: Callable[[int], str | None], function: Span | None = None
    ) -> None:
        self.digits = 2 + 2 * address_size
        self.named = named
        self.function = function

    def head(self, address: int) -> str:
        """What stands before an instruction: ``0x0000000000401152 <+0>:``."""
        if self.function is not None:
            return f"{address:#0{self.digits}x} <{address - self.function.entry:+d}>:"
        name = self.named(address)
        if name is not None and not name.endswith(">"):
            name = None
        if name is not None and "+" not in name.rpartition("::")[2]:
            name = f"{name[:-1]}+0>"
        return f"{address:#0{self.digits}x}{'' if name is None else f' {name}'}:"

    def text(self, instruction: Instruction) -> str:
        """The instruction, with the function that it names."""
        text = shown(instruction.text)
        target = instruction.target
        if target is None:
            return text
        name = self.named(target)
        behind = "" if name is None else f" {name}"
        return f"{text}{behind}" if f"{target:#x}" in text else f"{text}  # {target:#x}{behind}"


def padded_bytes(instructions: Sequence[Instruction]) -> list[str]:
    """The bytes of instructions, in columns that are equally wide."""
    texts = [each.data.hex(" ") for each in instructions]
    width = max(map(len, texts), default=0)
    return [f"{text.ljust(width)}\t" for text in texts]
