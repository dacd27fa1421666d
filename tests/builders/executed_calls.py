"""Callers found by reading code, compared with the calls that a machine has executed."""

from __future__ import annotations

from collections import Counter

from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.wave_registers import contents
from dwarfgpu.cfi.activation import CallStack, Thread
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.batch import return_addresses
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.program.frames.frame import unwinding_of
from dwarfgpu.states.program import open_program

SEEN_REGISTERS = ("s32", "s33", "s34", "s48", "s4", "exec", "v40", "v41", "v2")


class ExecutedCalls:
    """Runs a kernel and compares, at each instruction with each new stack, the callers with the executed calls."""

    def __init__(self, path, kernel, args, *, stacks=6, every=1, grid="70", work_group="70", **options):
        options = {"grid": grid, "work-group": work_group, **options}
        self.running = launched_with(open_program(str(path)), kernel, args, options.get)
        self.target = self.running.machine.target
        self.code = unwinding_of(self.running.attached.stopped.loaded, self.target)
        self.counts: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self._stacks: Counter[int] = Counter()
        self._seen: set[tuple[int, tuple[int, ...]]] = set()
        self._most = stacks
        self._every = every
        """Of how many words of code one is looked at."""
        self.followed = FollowedRun(self.running, self._observe)

    def run(self, limit=None):
        self.halt = self.followed.run(limit)
        return self

    def _observe(self, batch, arrivals, _ends):
        self.followed.registers.show(batch)
        for arrival in arrivals:
            chain = () if arrival.call is None else arrival.call.chain
            known = {return_addresses(batch.each_calls()[row]) for row in arrival.rows}
            self.counts["machine right" if known == {chain} else "machine wrong"] += 1
            key = arrival.pc, chain
            is_chosen = arrival.pc // 4 % self._every == 0
            if not chain or not is_chosen or key in self._seen or self._stacks[arrival.pc] >= self._most:
                continue
            self._seen.add(key)
            self._stacks[arrival.pc] += 1
            self._compare(arrival, chain)

    def _compare(self, arrival, chain):
        wave = arrival.wave(int(arrival.rows[0]))
        machine, state = self.followed.registers, self.running.attached.state
        thread = Thread(self.target, state.rules, machine, self.code, wave, register=self.running.machine.register)
        stack = CallStack(thread, arrival.pc)
        pcs = tuple(activation.pc for activation in stack)[1:]
        if pcs == chain:
            self.counts["right"] += 1
        else:
            executed = CallStack(thread, arrival.pc, executed=chain)
            is_right = tuple(activation.pc for activation in executed)[1:] == chain
            self.counts["executed right" if is_right else "executed wrong"] += 1
            kind = "unknown" if pcs == chain[: len(pcs)] else "wrong"
            self.counts[kind] += 1
            found, made = [*map(hex, pcs)], [*map(hex, chain)]
            self.problems[f"{kind} at {arrival.pc:#x}: {found} {made} {stack.end.message}"] += 1
            return
        call = arrival.call
        for activation in [*stack][1:]:
            for name in SEEN_REGISTERS:
                self._compare_register(thread, call, wave, name, activation, arrival)
            call = call.caller

    def _compare_register(self, thread, call, wave, name, activation, arrival):
        register = self.target.register_named(name)
        before = contents(call.start, register, call.rows[wave]) if register else None
        if before is None:
            return
        try:
            reading = thread.accessor.read(activation.register(register.number, thread.lanes), register.bit_size)
        except DwarfGpuError as error:
            self.problems[f"{name}: {error}"] += 1
            self.counts[f"{name} unknown"] += 1
            return
        undefined, meant = int(reading.undefined), int.from_bytes(before, "little")
        is_wrong = (int(reading.bits) ^ meant) & ~undefined
        kind = "wrong" if is_wrong else "unknown" if undefined else "right"
        self.counts[f"{name} {kind}"] += 1
        if is_wrong:
            text = f"{name} at {arrival.pc:#x} level {activation.level}: {int(reading.bits):#x} not {meant:#x}"
            self.problems[text] += 1
