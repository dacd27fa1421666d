"""Call frame information judged by execution: what it says of callers, and what these really have.

Each step outwards is judged where it is made: at every instruction, the rules of the code there must give what the
caller had when the call was made. Rules of outer activations are judged at their own calls, and the chain of program
locations as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject, frames_limit
from dwarfgpu.audits.judge.wave_registers import column_of, contents
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.cfi.activation import Activation, CallStack, Information, NoInformation, Thread
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Memory, Register, is_undefined
from dwarfgpu.lanes import Diverge, LaneFault, first_lane, lanes_in, mask_of
from dwarfgpu.targets.amdgpu import PRIVATE_WAVE

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit, RecordedCall
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.execution.batch import WaveBatch
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


class UnwindingJudge:
    """Judges the call frame information of what a device executes."""

    def __init__(self, run: FollowedRun, sightings: Sightings) -> None:
        self.machine = run.running.machine
        self.sightings = sightings
        self.state = run.running.attached.state
        self.target = self.machine.target
        self.code = run.stopped.loaded
        self.registers = run.registers
        self._kinds: dict[tuple[int, int, int], dict[int, str]] = {}
        """What each row of call frame information does with registers, by their numbers, once that was asked."""
        self._chains: set[tuple[tuple[int, ...], int]] = set()
        self._texts: dict[Any, str] = {}

    # --- Observing ------------------------------------------------------------------------------------------------

    def judge(self, arrival: InstructionVisit, chosen: list[int]) -> None:
        """Judge what unwinding gives for waves that are in one call; for the chosen ones in full."""
        pc, row = arrival.pc, int(arrival.rows[0])
        counts = self.sightings.counts(pc)
        counts.seen.add(pc)
        try:
            information = self.code.information_at(pc)
        except NoInformation:
            counts.missing.add(pc)
            limit = self.sightings.limit(frames_limit, pc)
            self._see("missing", "", arrival, row, "no call frame information", limit=limit)
            return
        except DwarfGpuError as error:
            counts.wrong.add(pc)
            self._see("failed", "", arrival, row, f"the call frame information cannot be read: {error.message}")
            return
        try:
            wrong = [row for row in chosen if not self._judge_wave(arrival, row, information)]
            is_right = not wrong
            if arrival.call is not None:
                is_right &= self._judge_kept(arrival, arrival.call, information)
        except (Diverge, LaneFault):  # of one wave there is one answer
            raise AssertionError(pc) from None
        if not is_right:
            counts.wrong.add(pc)

    def _see(self, rule: str, name: str, arrival: InstructionVisit, row: int, message: str, **more: Any) -> bool:
        """Report something that is wrong; return that it is not right."""
        self.sightings.see(RULES[rule], name, arrival, row, message, **more)
        return False

    # --- One wave -------------------------------------------------------------------------------------------------

    def _judge_wave(self, arrival: InstructionVisit, row: int, information: Information) -> bool:
        """Judge the CFA, the return address, and the registers that are elsewhere now; return whether all is right."""
        thread = Thread(
            *(self.target, self.state.rules, self.registers, self.code, arrival.wave(row)),
            register=self.machine.register,
        )
        activation = Activation(thread, arrival.pc)
        if not self._judge_cfa(arrival, row, activation) or not self._judge_caller(arrival, row, activation):
            return False
        call = arrival.call
        if call is None:
            return True
        is_right = True
        kinds = self._kinds.setdefault(_row_key(information), {})
        for register in self._held(call):
            if self._kind(kinds, activation, register) is ELSEWHERE:
                is_right &= self._judge_register(arrival, call, row, activation, register)
        return is_right & self._judge_chain(arrival, call, row, thread)

    def _judge_cfa(self, arrival: InstructionVisit, row: int, activation: Activation) -> bool:
        information, call = activation.information, arrival.call
        text, said = self._rule_text(information, None), information.row.cfa
        try:
            place: Any = activation.cfa(activation.thread.lanes).places[0]
        except DwarfGpuError as error:
            return self._see("failed", "CFA", arrival, row, f"the CFA has no value: {error.message}; {text}", said=said)
        storage: Memory = place.storage
        found = storage.space.number, int(place.bit_offset) >> 3
        if call is None:
            return True
        key = information.start, arrival.wave(row)
        expected = call.cfas.get(key)
        number = self.target.stack_pointer
        register = None if number is None else self.target.register(number)
        data = None if register is None else contents(call.start, register, call.rows[key[1]])
        pointer = None if data is None else int.from_bytes(data, "little") * self.target.stack_scale
        if expected is None and pointer is not None and found[0] == PRIVATE_WAVE:  # where CFAs are
            expected = found[0], pointer
        if expected is None or expected == found:
            call.cfas.setdefault(key, found)
            return True
        message = f"the CFA is {self._address(found)} and not {self._address(expected)}: {text}"
        return self._see("cfa", "CFA", arrival, row, message, said=said)

    def _address(self, place: tuple[int, int]) -> str:
        space = self.target.space(place[0])
        return f"{place[0] if space is None else space.name}#{place[1]:#x}"

    def _judge_caller(self, arrival: InstructionVisit, row: int, activation: Activation) -> bool:
        """Judge the return address."""
        information, thread, call = activation.information, activation.thread, arrival.call
        number = information.return_register
        text, said = self._rule_text(information, number), information.row.registers.get(number)
        rule = "end" if call is None else "caller"
        try:
            location = activation.entry_register(number, thread.lanes)
            reading = None if is_undefined(location) else thread.accessor.read(location, 64)
        except DwarfGpuError as error:
            message = f"the return address has no value: {error.message}; {text}"
            return self._see("end" if call is None else "failed", "pc", arrival, row, message, said=said)
        if reading is None:
            if call is not None:
                message = f"the return address is undefined, and execution goes on at {call.return_address:#x}: {text}"
            elif number in information.row.registers:
                return True
            else:
                message = "no rule says that the return address is undefined, though there is a CFA"
        elif call is None:
            message = f"unwinding finds a caller of the kernel at {int(reading.bits):#x}: {text}"
        elif reading.undefined or int(reading.bits) != call.return_address:
            message = f"the return address is {int(reading.bits):#x} and not {call.return_address:#x}: {text}"
        else:
            return True
        return self._see(rule, "pc", arrival, row, message, said=said)

    def _judge_register(
        self, arrival: InstructionVisit, call: RecordedCall, row: int, activation: Activation, register: TargetRegister
    ) -> bool:
        """Judge a register of the caller that a rule finds somewhere else than in itself."""
        name = register.name
        data = contents(call.start, register, call.rows[arrival.wave(row)])
        if data is None:
            return True  # the caller has nothing in it
        information, thread = activation.information, activation.thread
        text, said = self._rule_text(information, register.number), information.row.registers.get(register.number)
        try:
            location = activation.entry_register(register.number, thread.lanes)
            reading = thread.accessor.read(location, register.bit_size)
        except DwarfGpuError as error:
            message = f"{name} of the caller has no value: {error.message}; {text}"
            return self._see("failed", name, arrival, row, message, said=said)
        expected = int.from_bytes(data, "little")
        wrong = (int(reading.bits) ^ expected) | int(reading.undefined)
        if not wrong:
            return True
        size = register.lane_bits
        found = mask_of(bit // size for bit in lanes_in(wrong)) if size else 0
        shift, mask = (first_lane(found) * size, (1 << size) - 1) if size else (0, -1)
        got, meant = int(reading.bits) >> shift & mask, expected >> shift & mask
        shown = "undefined" if int(reading.undefined) >> shift & mask else f"{got:#x}"
        lanes = f" in lane {first_lane(found)}" if size else ""
        message = f"{name} of the caller is {shown} and not {meant:#x}{lanes}: {text}"
        return self._see("register", name, arrival, row, message, said=said, lanes=found)

    def _judge_chain(self, arrival: InstructionVisit, call: RecordedCall, row: int, thread: Thread) -> bool:
        """Judge all callers together, once for each chain of calls and instruction."""
        key = call.chain, arrival.pc
        if call.caller is None or key in self._chains:
            return True
        self._chains.add(key)
        stack = CallStack(thread, arrival.pc)
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
        message = f"beyond {where}+{offset:#x} the chain of callers {why}"
        self.sightings.add(
            Subject(RULES["caller"], f"chain {known:#x}"),
            arrival.pc,
            Sighting(message, self.machine.ids[arrival.wave(row)]),
        )
        return False

    # --- Registers that are kept --------------------------------------------------------------------------------

    def _judge_kept(self, arrival: InstructionVisit, call: RecordedCall, information: Information) -> bool:
        """Judge the registers that the rules, or the lack of one, take for unchanged, in all waves at once."""
        kinds = self._kinds.get(_row_key(information))
        if kinds is None:
            return True
        batch, rules_of_row = arrival.batch, information.row.registers
        before = np.array([call.rows[wave] for wave in batch.waves[arrival.rows].tolist()])
        is_right = True
        for register in self._held(call):
            name, number = register.name, register.number
            kind = kinds.get(number, ELSEWHERE)
            old = column_of(call.start, name) if kind is SAME else None
            new = column_of(batch, name)
            wrong = None if new is old or old is None or new is None else _differences(old, new, before, arrival.rows)
            if wrong is None:
                continue
            row, lanes, meant, got = wrong
            text = f"{name} of the caller is {got:#x} and not {meant:#x}"
            text += f" in lane {first_lane(lanes)}" if lanes else ""
            text += f": {self._rule_text(information, number)}"
            if number in rules_of_row:
                is_right = self._see("register", name, arrival, row, text, said=rules_of_row[number], lanes=lanes)
            else:  # which is wrong only if the function gives the register back as it was
                wave, lane = arrival.wave(row), first_lane(lanes) if lanes else None
                sighting = Sighting(text, self.machine.ids[wave], lane, arrival.visits, lanes)
                deferred = wave, arrival.pc, Subject(RULES["register"], name), sighting
                call.deferred.setdefault(register, []).append(deferred)
        return is_right

    def end(self, call: RecordedCall, batch: WaveBatch, rows: Any) -> None:
        """Take notice of waves that return from a call: what they give back should have been found before."""
        returned = {int(wave): row for row, wave in enumerate(batch.waves.tolist()) if rows[row]}
        for register, kept in call.deferred.items():
            for wave, pc, subject, sighting in [each for each in kept if each[0] in returned]:
                before = contents(call.start, register, call.rows[wave])
                if before is not None and before == contents(batch, register, returned[wave]):
                    self._settle(pc, subject, sighting)
            kept[:] = [each for each in kept if each[0] not in returned]

    def end_all(self, calls: Iterator[RecordedCall]) -> None:
        """Settle what is open of calls that have not ended: of registers that callees preserve."""
        for call in calls:
            for register, kept in call.deferred.items():
                for _wave, pc, subject, sighting in kept if _is_preserved(register.name) else ():
                    self._settle(pc, subject, sighting)

    def _settle(self, pc: int, subject: Subject, sighting: Sighting) -> None:
        self.sightings.add(subject, pc, sighting)
        self.sightings.counts(pc).wrong.add(pc)

    # --- Rows -----------------------------------------------------------------------------------------------------

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

    def _kind(self, kinds: dict[int, str], activation: Activation, register: TargetRegister) -> str:
        """Return what becomes of a register by a row."""
        kind = kinds.get(register.number)
        if kind is None:
            has_rule = register.number in activation.information.row.registers
            is_told = register.number == self.target.stack_pointer or register.name in _TOLD_BY_PC
            # what has no rule and is told by the CFA and the return address is judged with them
            kind = UNDEFINED if is_told and not has_rule else self._kind_of(activation, register, has_rule=has_rule)
            kinds[register.number] = kind
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

    def _rule_text(self, information: Information, number: int | None) -> str:
        """Return the row that is valid, and its rule of a register, or of the CFA for None."""
        row = information.row
        key = row.start, number
        if key not in self._texts:
            rule: Any = row.cfa if number is None else row.registers.get(number)
            name = "CFA" if number is None else self._register_name(number, f"register {number}")
            if rule is None:
                text = f"has no rule for {name}"
            elif rule.word == "expression" and number is None:
                text = f"has CFA = {self._operations(information, rule.block)}"
            elif number is None:
                text = f"has CFA = {self._register_name(rule.register, f'register {rule.register}')}{rule.offset:+}"
            elif rule.word in ("expression", "val_expression"):
                text = f"has {name} = {rule.word}({self._operations(information, rule.block)})"
            elif rule.word == "register":
                text = f"has {name} = register({self._register_name(rule.register, str(rule.register))})"
            elif rule.word in ("offset", "val_offset"):
                text = f"has {name} = {rule.word}({rule.offset})"
            else:
                text = f"has {name} = {rule.word}"
            self._texts[key] = f"row {row.start:#x} {text}"
        return self._texts[key]

    def _register_name(self, number: int, otherwise: str) -> str:
        register = self.target.register(number)
        return otherwise if register is None else register.name

    def _operations(self, information: Information, block: Any) -> str:
        from dwarfgpu.expr.listing import text

        try:
            return text(information.expression(block), self.target)
        except DwarfGpuError as error:
            return error.message


def _row_key(information: Information) -> tuple[int, int, int]:
    return information.start, information.row.start, information.row.end


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


def _differences(old: Any, new: Any, before: Any, rows: Any) -> tuple[int, int, int, int] | None:
    """Return where a register has changed first: row, mask of the lanes if it has any, what it was and what it is."""
    if isinstance(old, int) and isinstance(new, int):
        return None if old == new else (int(rows[0]), 0, int(old), int(new))
    was, now = _rows_of(old, before), _rows_of(new, rows)
    wrong = was != now
    if not wrong.any():
        return None
    is_vector = not isinstance(old, int) and old.dtype.itemsize == 4
    index, lane = (int(each[0]) for each in np.nonzero(wrong))
    was, now = np.broadcast_to(was, wrong.shape), np.broadcast_to(now, wrong.shape)
    lanes = mask_of(np.nonzero(wrong[index])[0].tolist()) if is_vector else 0
    return int(rows[index]), lanes, int(was[index, lane]), int(now[index, lane])


def _rows_of(column: Any, rows: Any) -> Any:
    if isinstance(column, int):
        return np.full((len(rows), 1), int(column), np.uint64)
    return column[rows] if column.shape[0] > 1 else np.broadcast_to(column, (len(rows), column.shape[1]))
