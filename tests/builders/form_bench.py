"""What a bench executes by Python, executed once more by the form of the instruction: all must be the same."""

import numpy as np

from dwarfgpu.execution.batch import NOTHING, UNSET
from dwarfgpu.execution.device_memory import MemorySegment
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.forms.compiled_forms import CompiledForms
from dwarfgpu.execution.forms.program import FormProgram

FOREVER = 1 << 40


class FormBench:
    """The device of a bench, as forms see it."""

    breakpoints = {}  # noqa: RUF012 (nobody changes it)
    stops_at_faults = True
    executed, machine, seed, wave_count, checks, compiled, compiled_part = 0, None, None, 0, None, None, None
    quiet = followed = None
    is_observed = is_memory_watched = False

    def __init__(self, bench):
        self.processor, self.lanes, self.generation = bench.processor, bench.lanes, bench.generation
        self.memory, self.machine, self.wave_count = bench.memory, self, bench.waves
        self.register_counts = bench.register_counts
        self.special_sources = bench.special_sources
        self.contents, self.keeps_code = (bench.bytes, bench.local, bench.scratch), False
        self.forms = CompiledForms(self)
        self.start = self.there = None

    def instruction(self, address, _mode=0):
        if address != self.start:
            raise MachineFault("the next instruction")
        return self.there

    def is_interpreted(self, _instruction, _address, _mode):
        return True

    def is_far_branch(self, _jump, _address):
        return False

    def before(self, batch):
        """Return what `compare` needs: everything as it is now."""
        copy = batch.copy()
        copy.spent = 0
        return copy, [each.copy() for each in self.contents]

    def compare(self, instruction, address, before, after):
        """Execute the form of an instruction, if it has one, and compare with what Python has done to a batch."""
        batch, contents = before
        self.start, self.there, batch.pc = address, instruction, address
        segment = MemorySegment.of(address, np.zeros(64, np.uint8))
        program = FormProgram(self, segment, batch.mode)
        self.forms._program = lambda *_place: program
        wanted = [each.copy() for each in self.contents]
        for place, content in zip(self.contents, contents, strict=True):
            place[...] = content
        try:
            batch = self.forms.entered(batch)
            run = self.forms.run(batch, FOREVER, None, None, 0) if self.forms.executes(batch) else None
            if run is None:
                return False
            for place, content in zip(self.contents, wanted, strict=True):
                assert np.array_equal(place, content), instruction
        finally:
            for place, content in zip(self.contents, wanted, strict=True):
                place[...] = content
        assert run.count == 1
        _same(batch.exec, after.exec, after, instruction)
        _same(batch.scc, after.scc, after, instruction)
        for number, (form, python) in enumerate(zip(batch.scalar, after.scalar, strict=True)):
            assert (form is UNSET) == (python is UNSET), (instruction, number)
            _same(form, python, after, (instruction, f"s{number}"))
        for own, others in ((batch.vector, after.vector), (batch.accumulation, after.accumulation)):
            for number, (form, python) in enumerate(zip(own, others, strict=True)):
                assert (form is NOTHING) == (python is NOTHING), (instruction, number)
                _same(form, python, after, (instruction, f"v{number}"))
        return True


def _same(form, python, batch, what):
    if form is python:  # most registers have nothing
        return
    shape = batch.count, batch.lanes
    form, python = (np.broadcast_to(np.asarray(each, np.uint64), shape) for each in (form, python))
    assert np.array_equal(form, python), (what, form.tolist(), python.tolist())
