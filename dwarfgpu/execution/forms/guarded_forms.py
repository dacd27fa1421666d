"""Forms of instructions with breakpoints: they refuse where a condition is true, so that Python stops the waves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.form_writer import LONG, WORD, FormWriter
from dwarfgpu.execution.forms.layout import VECTORS, Place, Rule
from dwarfgpu.isa.instruction import GpuInstruction

Guard = Callable[[Any], None]
"""What writes that a form refuses where a condition is true, or where nobody knows."""


class GuardedForm(FormWriter):
    """Writes such a form. What it looks at are numbers of the text, not of the slot."""

    def __init__(self, guards: Iterable[Guard], **options: Any) -> None:
        super().__init__(**options)
        self._guards = guards

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        for guard in self._guards:
            guard(self)
        self.ask()
        self.rule |= Rule.IS_ASKED

    def known_word(self, number: int) -> str:
        """Return a scalar register that something has written."""
        self._refuse_unknown(Place.KNOWN + number)
        return self.load("i32", self.at("%wave", str(4 * number)))

    def known_row(self, number: int) -> str:
        """Return a vector register that something has written."""
        self._refuse_unknown(Place.KNOWN_VECTORS + number)
        return self.load(self.vectors.type(WORD), self.at("%wave", str(VECTORS + 4 * self.lanes * number)), 64)

    def _refuse_unknown(self, place: int) -> None:
        self.refuse_unless(self.ir.put(f"icmp ne i8 {self.load('i8', self.at('%wave', str(place)), 1)}, 0"))

    def private_row(self, address: int) -> str:
        """Return the dwords of all lanes at a private address."""
        size = self.field(Place.PRIVATE_SIZE)
        self.refuse_unless(self.one.operate("icmp sge", LONG, size, str(address + 4)))
        row = self.at(self.field(Place.PRIVATE, "ptr"), str(address * self.lanes))
        return self.load(self.vectors.type(WORD), row, 4)

    def refuse_if_any(self, flags: str) -> None:
        """Refuse if an executing lane has a flag."""
        self.refuse_unless(self.none(flags))

    def refuse_unless_equal(self, register: int, value: int) -> None:
        """Refuse if a scalar register has another value."""
        self.refuse_unless(self.one.operate("icmp eq", WORD, self.known_word(register), str(value)))

    def refuse_unless_executing(self, lanes: int) -> None:
        """Refuse if other lanes execute."""
        self.refuse_unless(self.ir.put(f"icmp eq i{self.lanes} {self.mask(EXEC)}, {lanes}"))
