"""Call frame information judged by execution: what it says of callers, and what these really have.

Each step outwards is judged where it is made: at every instruction, the rules of the code there must give what the
caller had when the call was made. Rules of outer activations are judged at their own calls, and the chain of program
locations as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.sightings import Sighting, Subject
from dwarfgpu.audits.judge.wave_registers import column_of, contents
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.cfi.activation import Activation, CallStack, NoInformation, Thread
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.expr.storages import Memory, Register
from dwarfgpu.lanes import Diverge, LaneFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.call_record import RecordedCall
    from dwarfgpu.audits.judge.sightings import Sightings
    from dwarfgpu.audits.judge.wave_registers import WaveRegisters
    from dwarfgpu.cfi.activation import Information
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.targets.target import TargetRegister

RULES: dict[str, CheckRule] = rules(
    "unwind",
    ("missing", WARNING, "A.6.4.1", "Code that is executed has call frame information.",
     "write the CFA and the rules of registers for the function"),
    ("failed", ERROR, "A.6.4.1", "The rules for code that is executed can be evaluated.", "correct the rule"),
    ("end", ERROR, "A.6.4.1", "A kernel has no caller: its return address is undefined.",
     "write DW_CFA_undefined for the return address"),
    ("caller", ERROR, "A.6.4.1", "The return address is where the wave goes on after the call.",
     "correct the rule of the return address at the instruction that is named"),
    ("cfa", ERROR, "A.6.4.2.2", "The CFA of an activation is the same everywhere: its stack pointer at the start.",
     "change the rule of the CFA at the instruction that changes its register"),
    ("register", ERROR, "A.6.4.1", "A register of the caller has the value that it had at the call, in every lane.",
     "change the rule of the register at the instruction that saves, changes or restores it"),
    ("lost", WARNING, "A.6.4.1", "A register that a callee preserves can be found while it executes.",
     "write where the register is saved"),
)  # fmt: skip

LONGEST_CALL = 8
"""The bytes of the longest instruction that makes a call."""
_TOLD_BY_PC = ("s30", "s31")
"""The registers of the return address: the caller has in them what the instruction of the call has put there."""
SAME, UNDEFINED, ELSEWHERE = "same", "undefined", "elsewhere"
_PRESERVED_SCALARS = ((33, 39), (48, 55), (64, 71), (80, 87), (96, 105))
_PRESERVED_BLOCK, _PRESERVED_FIRST = 16, 40
"""Vector registers v40 to v47, v56 to v63 and so on (AMDGPU usage of LLVM 22, "Non-Kernel Functions"); the scalar ones
are those that every edition preserves."""


class RowPlan:
    """For the registers of a target what one row of call frame information does with each."""

    __slots__ = ("explicit", "kinds", "row")

    def __init__(self, row: Any) -> None:
        self.row = row
        self.kinds: dict[int, str] = {}
        """By the number of the register what becomes of it, once that was asked."""
        self.explicit = frozenset(row.registers)


class FrameJudge:
    """Judges the call frame information of what a device executes."""

    def __init__(self, running: Running, sightings: Sightings, registers: WaveRegisters) -> None:
        self.running = running
        self.sightings = sightings
        self.state = running.attached.state
        self.target = running.machine.target
        self.code = running.attached.stopped.loaded
        self.registers = registers
        self._plans: dict[tuple[int, int, int], RowPlan] = {}
        self._chains: set[tuple[tuple[int, ...], int]] = set()
        self._texts: dict[Any, str] = {}

    # --- Observing ------------------------------------------------------------------------------------------------

    def judge(self, batch: WaveBatch, call: RecordedCall | None, rows: Any, chosen: list[int], visits: int) -> None:
        """Judge what unwinding gives for waves of a batch that are in one call; for the chosen ones in full."""
        counts = self.sightings.counts(batch.pc)
        counts.seen.add(batch.pc)
        try:
            information = self.code.information_at(batch.pc)
        except NoInformation:
            counts.missing.add(batch.pc)
            self._see("missing", "", batch, rows, "no call frame information", visits)
            return
        except DwarfGpuError as error:
            counts.wrong.add(batch.pc)
            self._see("failed", "", batch, rows, f"the call frame information cannot be read: {error.message}", visits)
            return
        try:
            wrong = [row for row in chosen if not self._judge_wave(batch, call, row, information, visits)]
            is_right = not wrong
            if call is not None:
                is_right &= self._judge_kept(batch, call, rows, information, visits)
        except (Diverge, LaneFault):  # of one wave there is one answer
            raise AssertionError(batch.pc) from None
        if not is_right:
            counts.wrong.add(batch.pc)

    def _see(
        self,
        rule: str,
        name: str,
        batch: WaveBatch,
        rows: Any,
        message: str,
        visits: int,
        *,
        said: object = None,
        lane: int | None = None,
    ) -> None:
        wave = self.running.machine.ids[int(batch.waves[int(np.atleast_1d(rows)[0])])]
        self.sightings.add(Subject(RULES[rule], name, said), batch.pc, Sighting(message, wave, lane, visits))

    # --- One wave -------------------------------------------------------------------------------------------------

    def _judge_wave(
        self, batch: WaveBatch, call: RecordedCall | None, row: int, information: Information, visits: int
    ) -> bool:
        """Judge the CFA, the return address, and the registers that are elsewhere now; return whether all is right."""
        wave = int(batch.waves[row])
        thread = Thread(
            self.target, self.state.rules, self.registers, self.code, wave, register=self.running.machine.register
        )
        activation = Activation(thread, batch.pc)
        if not self._judge_cfa(batch, call, row, activation, visits):
            return False
        if not self._judge_caller(batch, call, row, activation, visits):
            return False
        if call is None:
            return True
        is_right = True
        plan = self._plan(information, activation)
        for register in self._held(call):
            if self._kind(plan, activation, register) is ELSEWHERE:
                is_right &= self._judge_register(batch, call, row, activation, register, register.name, visits)
        return is_right & self._judge_chain(batch, call, row, thread)

    def _judge_cfa(
        self, batch: WaveBatch, call: RecordedCall | None, row: int, activation: Activation, visits: int
    ) -> bool:
        information = activation.information
        text = self._cfa_text(information)
        said = information.row.cfa
        try:
            place: Any = activation.cfa(activation.thread.lanes).places[0]
        except DwarfGpuError as error:
            self._see("failed", "CFA", batch, row, f"the CFA has no value: {error.message}; {text}", visits, said=said)
            return False
        storage: Memory = place.storage
        found = storage.space.number, int(place.bit_offset) >> 3
        if call is None:
            return True
        wave = int(batch.waves[row])
        expected = call.cfas.get((information.start, wave))
        pointer = self._stack_pointer(call, wave)
        if expected is None and pointer is not None and found[0] == call_space(self.target):
            expected = found[0], pointer
        if expected is None:
            call.cfas[information.start, wave] = found
            return True
        if expected == found:
            call.cfas.setdefault((information.start, wave), found)
            return True
        message = f"the CFA is {self._address(found)} and not {self._address(expected)}: {text}"
        self._see("cfa", "CFA", batch, row, message, visits, said=said)
        return False

    def _stack_pointer(self, call: RecordedCall, wave: int) -> int | None:
        """Return the address of the stack at entry, in the space of CFAs; None where no register has it."""
        number = self.target.stack_pointer
        register = None if number is None else self.target.register(number)
        data = None if register is None else contents(call.start, register, call.rows[wave])
        return None if data is None else int.from_bytes(data, "little") * self.target.stack_scale

    def _address(self, place: tuple[int, int]) -> str:
        space = self.target.space(place[0])
        return f"{place[0] if space is None else space.name}#{place[1]:#x}"

    def _judge_caller(
        self, batch: WaveBatch, call: RecordedCall | None, row: int, activation: Activation, visits: int
    ) -> bool:
        """Judge the return address."""
        information, thread = activation.information, activation.thread
        number = information.return_register
        text = self._rule_text(information, number)
        said = information.row.registers.get(number)
        try:
            location = activation.entry_register(number, thread.lanes)
            if is_undefined(location):
                if call is None and number in information.row.registers:
                    return True
                if call is None:
                    message = "no rule says that the return address is undefined, though there is a CFA"
                    self._see("end", "pc", batch, row, message, visits, said=said)
                    return False
                message = f"the return address is undefined, and execution goes on at {call.return_address:#x}: {text}"
                self._see("caller", "pc", batch, row, message, visits, said=said)
                return False
            reading = thread.accessor.read(location, 64)
        except DwarfGpuError as error:
            rule = "end" if call is None else "failed"
            message = f"the return address has no value: {error.message}; {text}"
            self._see(rule, "pc", batch, row, message, visits, said=said)
            return False
        if call is None:
            message = f"unwinding finds a caller of the kernel at {int(reading.bits):#x}: {text}"
            self._see("end", "pc", batch, row, message, visits, said=said)
            return False
        if reading.undefined or int(reading.bits) != call.return_address:
            message = f"the return address is {int(reading.bits):#x} and not {call.return_address:#x}: {text}"
            self._see("caller", "pc", batch, row, message, visits, said=said)
            return False
        return True

    def _judge_register(
        self,
        batch: WaveBatch,
        call: RecordedCall,
        row: int,
        activation: Activation,
        register: TargetRegister,
        name: str,
        visits: int,
    ) -> bool:
        """Judge a register of the caller that a rule finds somewhere else than in itself."""
        wave = int(batch.waves[row])
        data = contents(call.start, register, call.rows[wave])
        if data is None:
            return True  # the caller has nothing in it
        expected = int.from_bytes(data, "little")
        information, thread = activation.information, activation.thread
        text, said = self._rule_text(information, register.number), information.row.registers.get(register.number)
        try:
            location = activation.entry_register(register.number, thread.lanes)
            reading = thread.accessor.read(location, register.bit_size)
        except DwarfGpuError as error:
            message = f"{name} of the caller has no value: {error.message}; {text}"
            self._see("failed", name, batch, row, message, visits, said=said)
            return False
        wrong = (int(reading.bits) ^ expected) | int(reading.undefined)
        if not wrong:
            return True
        size = register.lane_bits
        lane = ((wrong & -wrong).bit_length() - 1) // size if size else None
        shift, mask = (0, -1) if lane is None else (lane * size, (1 << size) - 1)
        got, meant = int(reading.bits) >> shift & mask, expected >> shift & mask
        shown = "undefined" if int(reading.undefined) >> shift & mask else f"{got:#x}"
        lanes = "" if lane is None else f" in lane {lane}"
        message = f"{name} of the caller is {shown} and not {meant:#x}{lanes}: {text}"
        self._see("register", name, batch, row, message, visits, said=said, lane=lane)
        return False

    def _judge_chain(self, batch: WaveBatch, call: RecordedCall, row: int, thread: Thread) -> bool:
        """Judge all callers together, once for each chain of calls and instruction."""
        key = call.chain, batch.pc
        if call.caller is None or key in self._chains:
            return True
        self._chains.add(key)
        stack = CallStack(thread, batch.pc)
        pcs = tuple(activation.pc for activation in stack)[1:]
        if pcs == call.chain:
            return True
        level = next(
            (i for i, (got, meant) in enumerate(zip(pcs, call.chain, strict=False)) if got != meant),
            min(len(pcs), len(call.chain)),
        )
        if level == 0:
            return True  # which is a finding of its own
        known = pcs[level - 1]
        if not self.sightings.counts(known).wrong.isdisjoint(range(known - LONGEST_CALL, known)):
            return True  # it was found where the call was made
        where, offset = self.sightings.function(known)
        why = f"ends ({stack.end.message})" if stack.end is not None and level >= len(pcs) else "is wrong"
        message = f"behind {where}+{offset:#x} the chain of callers {why}"
        self._see("caller", f"chain {known:#x}", batch, row, message, 1)
        return False

    # --- Registers that are kept --------------------------------------------------------------------------------

    def _judge_kept(
        self, batch: WaveBatch, call: RecordedCall, rows: Any, information: Information, visits: int
    ) -> bool:
        """Judge the registers that the rules, or the lack of one, take for unchanged, in all waves at once."""
        plan = self._plans.get(_row_key(information))
        if plan is None:
            return True
        start = call.start
        before = np.array([call.rows[wave] for wave in batch.waves[rows].tolist()])
        is_right = True
        for register in self._held(call):
            name, number = register.name, register.number
            kind = plan.kinds.get(number, ELSEWHERE)
            if kind is ELSEWHERE:
                continue
            old = column_of(start, name)
            if old is None:
                continue
            if kind is UNDEFINED:
                if number in plan.explicit and _is_preserved(name):
                    self._defer("lost", name, batch, call, rows, information, visits, None, "undefined")
                continue
            new = column_of(batch, name)
            if new is old or new is None:
                continue
            wrong = _differences(old, new, before, rows)
            if wrong is None:
                continue
            row, lane, meant, got = wrong
            text = f"{name} of the caller is {got:#x} and not {meant:#x}"
            text += "" if lane is None else f" in lane {lane}"
            text += f": {self._rule_text(information, number)}"
            if number in plan.explicit:
                said = information.row.registers[number]
                self._see("register", name, batch, row, text, visits, said=said, lane=lane)
                is_right = False
            else:
                self._defer("register", name, batch, call, row, information, visits, lane, text)
        return is_right

    def _defer(  # noqa: PLR0913, PLR0917 (what a sighting is made of)
        self,
        rule: str,
        name: str,
        batch: WaveBatch,
        call: RecordedCall,
        rows: Any,
        information: Information,
        visits: int,
        lane: int | None,
        text: str,
    ) -> None:
        """Keep what is wrong only if the function gives the register back as it was."""
        if rule == "lost":
            text = f"{name} of the caller is undefined, and the function gives it back: "
            text += self._rule_text(information, batch_number(self.target, name))
        wave = int(batch.waves[int(np.atleast_1d(rows)[0])])
        subject = Subject(RULES[rule], name, information.row.registers.get(batch_number(self.target, name)))
        sighting = Sighting(text, self.running.machine.ids[wave], lane, visits)
        call.deferred.setdefault(name, []).append((wave, batch.pc, subject, sighting))

    def end(self, call: RecordedCall, batch: WaveBatch, rows: Any) -> None:
        """Take notice of waves that return from a call: what they give back should have been found before."""
        if not call.deferred:
            return
        returned = {int(wave): row for row, wave in enumerate(batch.waves.tolist()) if rows[row]}
        for name, kept in list(call.deferred.items()):
            register = self.target.register(batch_number(self.target, name))
            later = []
            for wave, pc, subject, sighting in kept:
                if wave not in returned or register is None:
                    later.append((wave, pc, subject, sighting))
                    continue
                before = contents(call.start, register, call.rows[wave])
                if before is not None and before == contents(batch, register, returned[wave]):
                    self._settle(pc, subject, sighting)
            call.deferred[name] = later

    def end_all(self, calls: Iterator[RecordedCall]) -> None:
        """Settle what is open of calls that have not ended: of registers that callees preserve."""
        for call in calls:
            for name, kept in call.deferred.items():
                for _wave, pc, subject, sighting in kept if _is_preserved(name) else ():
                    self._settle(pc, subject, sighting)

    def _settle(self, pc: int, subject: Subject, sighting: Sighting) -> None:
        self.sightings.add(subject, pc, sighting)
        self.sightings.counts(pc).wrong.add(pc)

    # --- Rows -----------------------------------------------------------------------------------------------------

    def _plan(self, information: Information, activation: Activation) -> RowPlan:
        """Return what is known of a row."""
        key = _row_key(information)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = RowPlan(information.row)
        return plan

    def _held(self, call: RecordedCall) -> list[TargetRegister]:
        """Return the registers in which the caller has something that a rule could find, or the lack of one."""
        if call.held is None:
            target = self.target
            call.held = [
                register
                for register in target.registers()
                if register.number != target.program_counter and column_of(call.start, register.name) is not None
            ]
        return call.held

    def _kind(self, plan: RowPlan, activation: Activation, register: TargetRegister) -> str:
        """Return what becomes of a register by a row."""
        kind = plan.kinds.get(register.number)
        if kind is None:
            has_rule = register.number in plan.explicit
            is_told = register.number == self.target.stack_pointer or register.name in _TOLD_BY_PC
            # what has no rule and is told by the CFA and the return address is judged with them
            kind = UNDEFINED if is_told and not has_rule else self._kind_of(activation, register, has_rule=has_rule)
            plan.kinds[register.number] = kind
        return kind

    def _kind_of(self, activation: Activation, register: TargetRegister, *, has_rule: bool) -> str:
        try:
            location = activation.entry_register(register.number, activation.thread.lanes)
        except DwarfGpuError:
            return ELSEWHERE if has_rule else UNDEFINED
        if is_undefined(location):
            return UNDEFINED
        place = location.single
        if place is not None and type(place.storage) is Register and place.storage.register == register:
            return SAME if place.bit_offset == 0 else ELSEWHERE
        return ELSEWHERE

    def _cfa_text(self, information: Information) -> str:
        key = information.row.start, "CFA"
        if key not in self._texts:
            rule: Any = information.row.cfa
            if rule.word == "expression":
                words = self._operations(information, rule.block)
            else:
                register = self.target.register(rule.register)
                name = f"register {rule.register}" if register is None else register.name
                words = f"{name}{rule.offset:+}"
            self._texts[key] = f"row {information.row.start:#x} has CFA = {words}"
        return self._texts[key]

    def _rule_text(self, information: Information, number: int) -> str:
        """Return the row that is valid, and its rule of a register."""
        key = information.row.start, number
        if key not in self._texts:
            rule: Any = information.row.registers.get(number)
            where = f"row {information.row.start:#x}"
            register = self.target.register(number)
            name = f"register {number}" if register is None else register.name
            if rule is None:
                text = f"{where} has no rule for {name}"
            elif rule.word in ("expression", "val_expression"):
                text = f"{where} has {name} = {rule.word}({self._operations(information, rule.block)})"
            elif rule.word == "register":
                other = self.target.register(rule.register)
                text = f"{where} has {name} = register({rule.register if other is None else other.name})"
            elif rule.word in ("offset", "val_offset"):
                text = f"{where} has {name} = {rule.word}({rule.offset})"
            else:
                text = f"{where} has {name} = {rule.word}"
            self._texts[key] = text
        return self._texts[key]

    def _operations(self, information: Information, block: Any) -> str:
        from dwarfgpu.expr.listing import text

        try:
            return text(information.expression(block), self.target)
        except DwarfGpuError as error:
            return error.message


def _row_key(information: Information) -> tuple[int, int, int]:
    return information.start, information.row.start, information.row.end


def call_space(target: Any) -> int:
    """Return the number of the address space that CFAs are in."""
    from dwarfgpu.targets.amdgpu.numbers import PRIVATE_WAVE

    return PRIVATE_WAVE


def batch_number(target: Any, name: str) -> int:
    """Return the DWARF number of a register with a name of the target."""
    register = target.register_named(name)
    return -1 if register is None else int(register.number)


def _is_preserved(name: str) -> bool:
    """Return whether every edition of the ABI has a callee preserve a register."""
    digits = name[1:]
    if name == "exec":
        return True
    if not digits.isdigit():
        return False
    index = int(digits)
    if name[0] == "s":
        return any(first <= index <= last for first, last in _PRESERVED_SCALARS)
    return name[0] == "v" and index >= _PRESERVED_FIRST and (index - _PRESERVED_FIRST) % _PRESERVED_BLOCK < 8


def _differences(old: Any, new: Any, before: Any, rows: Any) -> tuple[int, int | None, int, int] | None:
    """Return where a register has changed first: row, lane if it has lanes, what it was and what it is."""
    if isinstance(old, int) and isinstance(new, int):
        return None if old == new else (int(rows[0]), None, int(old), int(new))
    was, now = _rows_of(old, before), _rows_of(new, rows)
    wrong = was != now
    if not wrong.any():
        return None
    is_vector = not isinstance(old, int) and old.dtype.itemsize == 4
    index, lane = (int(each[0]) for each in np.nonzero(wrong))
    was, now = np.broadcast_to(was, wrong.shape), np.broadcast_to(now, wrong.shape)
    return int(rows[index]), lane if is_vector else None, int(was[index, lane]), int(now[index, lane])


def _rows_of(column: Any, rows: Any) -> Any:
    if isinstance(column, int):
        return np.full((len(rows), 1), int(column), np.uint64)
    return column[rows] if column.shape[0] > 1 else np.broadcast_to(column, (len(rows), column.shape[1]))
