"""Straight code as one function, by the writer of forms: numbers are literals, and registers are remembered.

All that a stretch might refuse is asked before it changes anything. So it has one instruction at most that waves meet
before, the first; those behind it refuse only because of scalar registers that the stretch has not written, and reach
only memory that no other wave has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from dwarfgpu.execution.batch import EXEC, EXEC_HI
from dwarfgpu.execution.forms.form import WrittenForm, write_form
from dwarfgpu.execution.forms.form_writer import LOW, FormWriter
from dwarfgpu.execution.forms.layout import SCC, SLOT, VECTORS, Place, Rule
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import GpuInstruction

LONGEST = 200
"""The most instructions of a stretch."""


@frozen
class StretchPart:
    """One instruction of a stretch."""

    instruction: GpuInstruction
    address: int
    form: WrittenForm


def stretch_of(parts: Iterable[StretchPart]) -> list[StretchPart]:
    """Return the first instructions of straight code that can be one stretch."""
    found: list[StretchPart] = []
    written: set[int] = set()
    for part in parts:
        form = part.form
        is_late = bool(found) and form.is_asked and (form.asked is None or form.asked & written)
        if is_late or form.rule & Rule.IS_NOTED or len(found) == LONGEST:
            break
        found.append(part)
        written |= form.written
        if form.rule & Rule.ENDS_BLOCK:
            break
    return found


def rule_of(parts: Sequence[StretchPart]) -> Rule:
    """Return what the dispatcher has to know of a stretch."""
    rule = parts[-1].form.rule & Rule.ENDS_BLOCK
    return rule | Rule.IN_STEP if any(part.form.is_asked for part in parts) else rule


class _AllAsked(Exception):
    """The checks of an instruction are written."""


class StretchWriter(FormWriter):
    """Writes a stretch.

    What it remembers of registers holds to the end of a basic block. Every result is also written to the state of the
    wave, so that it is right wherever the wave stops.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._asks = False
        self._is_last = False
        self._known: dict[Any, str] = {}
        """Registers, and what else is read of the state, with the names of their values."""
        self._noted: set[int] = set()
        """What has been noted to be written."""

    def write_stretch(self, parts: Sequence[StretchPart], begin: int, end: int) -> str:
        """Return the function of a stretch in a program that is between two addresses."""
        self.ir.do("br i1 %probe, label %asks, label %go")
        for asks in (True, False):
            self._asks = asks
            self.label("asks" if asks else "go")
            for part in parts:
                if asks and not part.form.is_asked:
                    continue
                self._address, self._is_last = part.address, part is parts[-1]
                self.slot = self.at("%slot", str(SLOT // 4 * (part.address - parts[0].address)))
                with suppress(_AllAsked):
                    write_form(self, part.instruction, part.address - begin, end - part.address)
            if asks:
                self.ir.do("ret ptr %slot")
                self.ir.label("refused")
                self.ir.do("ret ptr null")
        return self.text

    # --- Text -----------------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        super().label(name)
        self._known.clear()
        self._noted.clear()

    def leave(self, slot: str) -> None:
        if self._is_last:
            super().leave(slot)

    def refuse_unless(self, condition: str) -> None:
        if self._asks:
            fine = self.ir.name("fine")
            self.fork(condition, fine, "refused")
            self.ir.label(fine)
            self._label = fine

    def end_checks(self, *, is_private: bool = False) -> None:
        if self._asks:
            raise _AllAsked

    def field(self, place: Place, kind: str = "i64") -> str:
        key = place, kind
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

    def row(self, register: int) -> tuple[str, str]:
        place = VECTORS + 4 * self.lanes * register
        return self.at("%wave", str(place)), self.at("%wave", str(Place.KNOWN_VECTORS + register))

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
