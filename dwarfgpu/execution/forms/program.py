"""The slots of a piece of code in one MODE: filled with forms when waves come there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dwarfgpu.execution.barriers import BarrierPart
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from dwarfgpu.execution.forms.engine import library
from dwarfgpu.execution.forms.form import WrittenForm, write_form
from dwarfgpu.execution.forms.form_writer import FormWriter
from dwarfgpu.execution.forms.group_order import is_in_any_order
from dwarfgpu.execution.forms.layout import HEAT, NUMBERS, RULE, SLOT, STRETCH, Rule, StretchField
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter, rule_of, stretch_of
from dwarfgpu.immutable import evolve
from dwarfgpu.isa.instruction import BRANCHES, JUMPS
from dwarfgpu.isa.semantics.llvm import NotWritten

if TYPE_CHECKING:
    from dwarfgpu.execution.device_memory import MemorySegment
    from dwarfgpu.execution.forms.guarded_forms import Guard
    from dwarfgpu.isa.instruction import GpuInstruction

AHEAD = 400
"""The instructions whose slots are filled together: one module of LLVM compiles faster than many."""
MOST_FORMS = 1 << 16
"""The instructions whose forms are kept."""
_OF_BARRIERS = {
    BarrierPart.WHOLE: Rule.IS_BARRIER, BarrierPart.SIGNAL: Rule.IS_BARRIER | Rule.IS_SIGNAL,
    BarrierPart.WAIT: Rule.IS_WAIT, None: Rule(0),
}  # fmt: skip
COLD = -(1 << 30) & 0xFFFF_FFFF
"""How hot a slot is from which on there is a stretch, or none that pays."""


class FormProgram:
    """The slots of a segment of memory in one MODE."""

    _forms: ClassVar[dict[Any, WrittenForm | None]] = {}
    """The forms of instructions, for all devices of the process; None where there is none."""

    def __init__(self, device: Any, segment: MemorySegment, mode: int, *, is_by_wave: bool = False) -> None:
        """With ``is_by_wave`` waves run one after the other: nothing else comes between two instructions of a wave."""
        self._device, self._mode, self._is_by_wave = device, mode, is_by_wave
        own = None if device.compiled is None else device.compiled.writers
        writers: tuple[Any, Any, dict[str, Any]] = own or (FormWriter, StretchWriter, {})
        self._writer, self._stretch_writer, self._known = writers
        if device.compiled_part is not None:
            self._writer, self._stretch_writer = device.compiled_part.writers
        self._quiet = device.quiet
        self.start, self.end = segment.start, segment.end
        count = self.slot_count = (self.end - self.start) // 4 + 8
        self.begins = np.zeros(count, bool)
        """The slots of instructions that have or had a form, or that waves meet before."""
        self._room = np.zeros(count * SLOT + SLOT, np.uint8)
        base = address_of(self._room)
        skipped = -base % SLOT
        self._slots = base + skipped
        self._content = self._room[skipped : skipped + count * SLOT].reshape(count, SLOT)
        self._words, self._longs = self._content.view(np.uint32), self._content.view(np.uint64)
        self.count = 0
        """How many slots have been filled."""
        self._tried: set[int] = set()
        """The addresses whose slots have been filled, or whose instructions have no form."""
        self._instructions: dict[int, GpuInstruction] = {}
        self._parts: dict[int, StretchPart] = {}
        """What stretches and loops have been looked for in."""
        self._in_any_order = set[int]()
        """The addresses from which on the order of work-groups makes no difference."""
        self.work = 0
        """The instructions that the first work-group of the latest round has executed; 0 if it is not known."""
        self._is_in_order = False
        """Whether it has made one."""
        self._stretches: dict[int, tuple[range, Any]] = {}
        """Stretches by the addresses where they begin: where their code is, and the numbers of `StretchField`."""

    @cached_property
    def _library(self) -> Any:
        return library(keeps_code=self._device.machine.keeps_code)

    def instruction(self, address: int) -> GpuInstruction:
        """Return the instruction at an address; raise a fault where none can be executed."""
        if address not in self._instructions:
            self._instructions[address] = self._device.instruction(address, self._mode)
        return self._instructions[address]

    def is_in_any_order(self, starts: Iterable[int]) -> bool:
        """Return whether the order of work-groups makes no difference to what waves do from some addresses on."""
        if not self._is_in_order:
            self._is_in_order = not is_in_any_order(self._device, self, starts, self._in_any_order)
        return not self._is_in_order

    def has_or_meets(self, address: int) -> bool:
        """Return whether an instruction has a form, or waves meet before it."""
        meets = self._device.waves_meet(address, self._mode)
        return meets or self.has_form(address)

    def has_form(self, address: int) -> bool:
        """Return whether an instruction has a form."""
        return self._form(self.instruction(address), address) is not None

    def slot_of(self, address: int) -> int:
        """Return the slot of an address; of one before or behind the code, what is before or behind the slots."""
        return max(0, self._slots + (address - self.start) * (SLOT // 4))

    @property
    def distance(self) -> int:
        """How far the addresses of instructions are from the numbers of their slots."""
        return self.start - self._slots // (SLOT // 4)

    def has(self, address: int) -> bool:
        """Return whether an address is in the code."""
        return self.start <= address < self.end

    def slots_of(self, addresses: Any) -> Any:
        """Return the slots of addresses of the code."""
        return self._slots + (addresses - self.start) * (SLOT // 4)

    def is_noted(self, slot: int) -> bool:
        """Return whether an instruction is a call or a jump."""
        return bool(self._content[(slot - self._slots) // SLOT, RULE] & Rule.IS_NOTED)

    def meets(self, slots: Any) -> bool:
        """Return whether waves meet others before the instruction in any of some slots."""
        return bool((self._words[(slots - self._slots) // SLOT, RULE // 4] & Rule.MEETS).any())

    def address_of(self, slot: Any) -> Any:
        """Return the address of an instruction, or of several."""
        return self.start + (slot - self._slots) // (SLOT // 4)

    def forget(self, address: int) -> None:
        """Empty the slot of an address; it is filled again when waves come there, unless a breakpoint is there."""
        if self.start <= address < self.end:
            self._content[(address - self.start) // 4, :NUMBERS] = 0
            self._tried.discard(address)
            self._instructions.pop(address, None)
            self._parts.pop(address, None)
            for first in [first for first, (code, _kept) in self._stretches.items() if address in code]:
                self._content[(first - self.start) // 4, STRETCH:RULE] = 0
                self._content[(first - self.start) // 4, HEAT:NUMBERS] = 0
                del self._stretches[first]

    def guard(self, address: int, guards: Sequence[Guard]) -> None:
        """Fill the slot of an instruction with breakpoints, whose form refuses where a condition is true."""
        from dwarfgpu.execution.forms.guarded_forms import GuardedForm

        instruction = self.instruction(address)
        is_plain = self._writer is FormWriter and self._quiet is None
        plain = self._form(instruction, address) if is_plain else None
        if plain is None or plain.rule & Rule.IS_NOTED:
            return
        writer = GuardedForm(guards, address=address, **self._options())
        try:
            form = write_form(writer, instruction, address - self.start, self.end - address)
            self._put({address: form})
        except (UnknownInstruction, NotWritten):
            return
        self._words[(address - self.start) // 4, HEAT // 4] = COLD

    def extend(self, start: int) -> None:
        """Let the loop around an address, or straight code from there on, be one function from now on."""
        self._words[(start - self.start) // 4, HEAT // 4] = COLD
        if self._is_by_wave and self._extend_loop(start):
            return
        parts = stretch_of(self._straight(start), is_by_wave=self._is_by_wave)
        if len(parts) > 1:
            writer = self._stretch_writer(**self._options())
            self._keep(parts, writer.write_stretch(parts, self.start, self.end), writer, rule_of(parts))

    def _extend_loop(self, address: int) -> bool:
        """Let the loop around an address be one function; return whether there is one that pays."""
        from dwarfgpu.execution.forms.loops import LoopWriter, loop_around

        loop = loop_around(self._part_at, address)
        if not loop:
            return False
        part = self._device.compiled_part
        writer = (LoopWriter if part is None else part.loop_writer)(**self._options())
        try:
            text = writer.write_loop(loop, self.start, self.end)
        except UnknownInstruction:  # a form that is in no loop
            return False
        self._keep([part for block in loop.values() for part in block], text, writer, Rule.IS_LOOP)
        return True

    def _keep(self, parts: Sequence[StretchPart], text: str, writer: FormWriter, rule: Rule) -> None:
        """Compile a stretch that begins with the first of its instructions."""
        self._library.compile([(text, writer.ir.declared)], level=1)
        kept = (ctypes.c_uint64 * len(StretchField))(self._library.function(text), len(parts), int(rule))
        addresses = sorted(part.address for part in parts)
        start = parts[0].address
        self._stretches[start] = range(addresses[0], addresses[-1] + 1), kept
        for address in addresses:  # waves hardly come there any more, unless another way leads there
            inside = (address - self.start) // 4
            if self._words[inside, HEAT // 4] < COLD:
                self._words[inside, HEAT // 4] = 0
        index = (start - self.start) // 4
        self._words[index, HEAT // 4] = COLD
        self._longs[index, STRETCH // 8] = ctypes.addressof(kept)

    def _part_at(self, address: int) -> StretchPart | None:
        """Return an instruction that can be a part of a loop."""
        if not self._has_plain_form(address):
            return None
        part = self._part(address)
        return None if part.form.rule & Rule.IS_NOTED else part

    def _part(self, address: int) -> StretchPart:
        if address not in self._parts:
            instruction = self.instruction(address)
            self._parts[address] = StretchPart(instruction, address, self._written(instruction, address))
        return self._parts[address]

    def _has_plain_form(self, address: int) -> bool:
        """Return whether the slot of an address is filled, and no breakpoint is there."""
        is_filled = self.start <= address < self.end and self._longs[(address - self.start) // 4, 0]
        return bool(is_filled) and address not in self._device.breakpoints

    def _straight(self, start: int) -> Iterator[StretchPart]:
        """Yield the instructions from an address on that have forms."""
        address = start
        while self._has_plain_form(address):
            part = self._part(address)
            yield part
            address += part.instruction.size

    def fill(self, start: int) -> bool:
        """Fill the slots from an address on, as far as code is reached from there; return whether its own is filled."""
        found: dict[int, WrittenForm] = {}
        pending, seen = [start], set[int]()
        while pending and len(found) < AHEAD:
            address = pending.pop()
            while len(found) < AHEAD and self.start <= address < self.end:
                if address in self._tried or address in self._device.breakpoints or address in seen:
                    break
                try:
                    instruction = self.instruction(address)
                except MachineFault:
                    break
                is_held = self._quiet is None or self._quiet.holds(address, instruction)
                (self._tried if is_held else seen).add(address)  # what is not held may be so later
                meets = self._is_by_wave and self._device.waves_meet(address, self._mode)
                if meets:
                    self._meet_before(address)
                form = self._form(instruction, address) if is_held and not meets else None
                if form is not None:
                    is_far = instruction.name in JUMPS and self._device.is_far_branch(instruction, address)
                    found[address] = evolve(form, rule=form.rule | Rule.IS_FAR) if is_far else form
                if instruction.branch is not None:
                    pending.append(address + instruction.branch)
                if instruction.name in JUMPS | BRANCHES or instruction.name in ("s_endpgm", "s_set_vgpr_msb"):
                    break
                address += instruction.size
        for stop in () if self._quiet is None else self._quiet.stops & (found.keys() | self._tried):
            found.pop(stop, None)
            self.forget(stop)
        self._put(found)
        return start in found

    def _meet_before(self, address: int) -> None:
        """Let waves that run one after the other meet before an instruction, which may be a barrier."""
        rule = Rule.MEETS | _OF_BARRIERS[self._device.barrier_part(address, self._mode)]
        index = (address - self.start) // 4
        self._words[index, RULE // 4], self.begins[index] = int(rule), True

    def _put(self, found: dict[int, WrittenForm]) -> None:
        if not found:
            return
        self._library.compile((form.text, form.declared) for form in found.values())
        for address, form in found.items():
            index = (address - self.start) // 4
            first = NUMBERS // 4
            self._words[index, first : first + len(form.numbers)] = form.numbers
            self._words[index, RULE // 4] = int(form.rule)
            self.count, self.begins[index] = self.count + 1, True
            self._longs[index, 0] = self._library.function(form.text)

    def _form(self, instruction: GpuInstruction, address: int) -> WrittenForm | None:
        device, known = self._device, self._forms
        apertures = device.special_sources()
        counts = device.register_counts
        waves = device.processor, device.lanes, counts, self._mode, self._writer
        key = (*waves, instruction.data, *apertures.values())
        form = known.get(key)
        distance = instruction.branch
        is_inside = distance is None or self.start <= address + distance < self.end
        if key in known and is_inside and not (form is not None and form.answers):
            return form
        here = key, address, self.start, self.end
        try:
            form = known.get(here)
            if form is None or any(ask(self._known.get(name), address) != answer for name, ask, answer in form.answers):
                form = self._written(instruction, address)
        except (UnknownInstruction, NotWritten):
            form = None
        if form is not None and key not in known and not device.is_interpreted(instruction, address, self._mode):
            form = None
        if is_inside:
            if len(known) >= MOST_FORMS:
                known.clear()
            known[key] = form
            if form is not None and form.answers:
                known[here] = form
        return form

    def _written(self, instruction: GpuInstruction, address: int) -> WrittenForm:
        writer = self._writer(address=address, **self._options())
        return write_form(writer, instruction, address - self.start, self.end - address)

    def _options(self) -> dict[str, Any]:
        """Return what writers need to know of the waves."""
        device = self._device
        return {
            "lanes": device.lanes, "generation": device.generation, "mode": self._mode,
            "processor": device.processor,
            "accumulation": device.register_counts[0], "apertures": device.special_sources(), **self._known,
        }  # fmt: skip
