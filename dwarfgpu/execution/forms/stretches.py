"""Straight code as one function, by the writer of forms: numbers are literals, and registers are remembered.

A stretch has one instruction at most that waves meet before: the first. Those behind it reach only memory that no other
wave has. If a wave refuses one of them, it has executed those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from dwarfgpu.execution.batch import EXEC, EXEC_HI
from dwarfgpu.execution.forms.form import WrittenForm, write_form
from dwarfgpu.execution.forms.form_writer import LOW, FormWriter
from dwarfgpu.execution.forms.layout import SCC, SLOT, VECTORS, Place, Rule
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import BRANCHES, GpuInstruction

LONGEST = 200
"""The most instructions of a stretch."""


@frozen
class StretchPart:
    """One instruction of a stretch."""

    instruction: GpuInstruction
    address: int
    form: WrittenForm

    @property
    def ways(self) -> list[int]:
        """The addresses where waves may go on."""
        behind, branch = self.address + self.instruction.size, self.instruction.branch
        if branch is None or self.instruction.name.startswith("s_cbranch_cdbg"):
            return [behind]
        return [self.address + branch, *([] if self.instruction.name in BRANCHES else [behind])]


def stretch_of(parts: Iterable[StretchPart], *, is_by_wave: bool = False) -> list[StretchPart]:
    """Return the first instructions of straight code that can be one stretch.

    Waves that run one after the other need not meet before any of them.
    """
    found: list[StretchPart] = []
    for part in parts:
        rule = part.form.rule
        meets = rule & Rule.IN_STEP and not (rule & Rule.IS_CHECKED or is_by_wave)
        if rule & Rule.IS_NOTED or (found and meets) or len(found) == LONGEST:
            break
        found.append(part)
        if rule & (Rule.ENDS_BLOCK | Rule.ENDS_STRETCH):
            break
    return found


def rule_of(parts: Sequence[StretchPart]) -> Rule:
    """Return what the dispatcher has to know of a stretch."""
    meets = reduce(or_, (part.form.rule & (Rule.IN_STEP | Rule.IS_ASKED) for part in parts))
    return meets | parts[-1].form.rule & Rule.ENDS_BLOCK


class StretchWriter(FormWriter):
    """Writes a stretch.

    What it remembers of registers holds to the end of a basic block. Every result is also written to the state of the
    wave, so that it is right wherever the wave stops.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._done = 0
        """How many instructions are before the one that is written."""
        self._is_last = self._asks = False
        self._known: dict[Any, str] = {}
        """Registers, and what else is read of the state, with the names of their values."""
        self._noted: set[int] = set()
        """What has been noted to be written."""

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        self._is_asked = not self._done and self._asks

    def write_stretch(self, parts: Sequence[StretchPart], begin: int, end: int) -> str:
        """Return the function of a stretch in a program that is between two addresses."""
        self._asks = bool(rule_of(parts) & Rule.IN_STEP)
        for number, part in enumerate(parts):
            self._address, self._done, self._is_last = part.address, number, part is parts[-1]
            self.slot = self.at("%slot", str(SLOT // 4 * (part.address - parts[0].address)))
            write_form(self, part.instruction, part.address - begin, end - part.address)
        return self.text

    # --- Text -----------------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        super().label(name)
        self._known.clear()
        self._noted.clear()

    def leave(self, slot: str) -> None:
        if self._is_last:
            super().leave(slot)

    def return_if_asked(self) -> None:
        """Waves are asked before the first instruction, for all."""
        if not self._done:
            super().return_if_asked()

    def refuse(self) -> None:
        self.ir.do(f"store ptr {self.slot}, ptr {self.at('%wave', str(int(Place.NEXT)))}, align 8")
        self.ir.do(f"store i64 {self._done}, ptr {self.at('%wave', str(int(Place.DONE)))}, align 8")
        super().refuse()

    def field(self, place: Place, kind: str = "i64") -> str:
        key = self.state, place, kind
        if key not in self._known:
            self._known[key] = super().field(place, kind)
        return self._known[key]

    # --- Numbers --------------------------------------------------------------------------------------------------

    def number(self, value: int) -> str:
        return str(value & LOW)

    def long_number(self, value: int) -> str:
        return str(value & LOW << 32 | value & LOW)

    def signed_number(self, value: int) -> str:
        return str((value & LOW ^ 1 << 31) - (1 << 31))

    # --- Registers ------------------------------------------------------------------------------------------------

    def _scalar_place(self, register: int) -> tuple[str, str]:
        is_known = register in (EXEC, SCC) or (register == EXEC_HI and self.lanes == 64)
        known = "" if is_known else self.at("%wave", str(Place.KNOWN + register))
        return self.at("%wave", str(4 * register)), known

    def scalar_number(self, register: int) -> str:
        return str(register)

    def word(self, register: int) -> str:
        if register not in self._known:
            self._known[register] = super().word(register)
        return self._known[register]

    def set_word(self, register: int, value: str) -> None:
        self._known[register] = value
        super().set_word(register, value)

    def set_words(self, first: int, values: list[str]) -> None:
        super().set_words(first, values)
        self._known.update(enumerate(values, first))

    def set_exec(self, value: str) -> None:
        self._known.pop(EXEC, None)
        self._known.pop(EXEC_HI, None)
        super().set_exec(value)

    def _spread_exec(self) -> None:
        self._known.pop("exec", None)
        super()._spread_exec()

    def exec_row(self) -> str:
        if "exec" not in self._known:
            self._known["exec"] = super().exec_row()
        return self._known["exec"]

    def row_offset(self, register: int) -> str:
        return str(VECTORS + 4 * self.lanes * register)

    def row_in(self, state: str, offset: str) -> tuple[str, str]:
        register = (int(offset) - VECTORS) // (4 * self.lanes)
        return self.at(state, offset), self.at(state, str(Place.KNOWN_VECTORS + register))

    def read(self, register: int) -> str:
        key = "v", register
        if key not in self._known:
            self._known[key] = super().read(register)
        return self._known[key]

    def write(self, register: int, value: str, mask: str = "") -> None:
        value = self.blended(mask or self.exec_row(), value, self.read(register))
        self.ir.do(f"store {self.vectors.type('u32')} {value}, ptr {self.know(register)}, align 64")
        self._known["v", register] = value

    def know(self, register: int) -> str:
        self._known.pop(("v", register), None)
        if register in self._noted:
            return self.row(register)[0]
        self._noted.add(register)
        return super().know(register)
