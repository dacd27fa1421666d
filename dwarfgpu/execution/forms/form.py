"""The form of an instruction: its text, the numbers of its slot, and what the dispatcher has to know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.accesses import is_access, write_access
from dwarfgpu.execution.forms.branches import write_branch
from dwarfgpu.execution.forms.form_writer import REFUSED, FormWriter
from dwarfgpu.execution.forms.layout import Rule
from dwarfgpu.execution.forms.operations import write_operation
from dwarfgpu.execution.instructions import is_idle
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import CALLS, JUMPS, GpuInstruction


@frozen
class WrittenForm:
    """A form with the numbers of one instruction."""

    text: str
    declared: dict[str, str]
    """What the text calls, by name."""
    numbers: tuple[int, ...]
    rule: Rule
    answers: tuple[tuple[str, Callable[[Any, int], Any], Any], ...]
    """As in `FormWriter.answers`."""

    @property
    def may_refuse(self) -> bool:
        """Whether it may let Python execute the instruction."""
        return REFUSED in self.text


def write_form(writer: FormWriter, instruction: GpuInstruction, before: int, behind: int) -> WrittenForm:
    """Write the form of an instruction, which has so many bytes of code before it and from it on.

    Raise `UnknownInstruction` or `NotWritten` where it has none: then Python executes the instruction.
    """
    writer.begin(instruction)
    if is_access(instruction):
        write_access(writer, instruction)
    else:
        if instruction.name not in CALLS | JUMPS:
            writer.end_checks(is_seen=False)
        if not is_idle(instruction) and write_branch(writer, instruction, before, behind):
            return _form(writer)
        if not is_idle(instruction) and not write_operation(writer, instruction):
            raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    writer.go_behind(instruction.size)
    return _form(writer)


def _form(writer: FormWriter) -> WrittenForm:
    answers = tuple(writer.answers)
    return WrittenForm(writer.text, dict(writer.ir.declared), tuple(writer.numbers), writer.rule, answers)
