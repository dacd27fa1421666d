"""Named barriers of GFX12.5, as the CDNA5 document says (5.6), and as LLVM compiles its intrinsics for them."""

from collections import Counter

import numpy as np
import pytest

from dwarfgpu.execution import halts
from dwarfgpu.execution.barriers import GroupBarriers
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.runtimes.repeated import RepeatedLaunch
from tests.builders.instruction_bench import InstructionBench
from tests.builders.parameters import for_each

SIZE, GROUPS = 128, 3
BODY = """
@even = internal addrspace(3) global target("amdgcn.named.barrier", 0) poison
@odd = internal addrspace(3) global target("amdgcn.named.barrier", 0) poison
@cells = internal addrspace(3) global [128 x i32] poison
define protected amdgpu_kernel void @k(ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="32,128" {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %wide = lshr i32 %id, 5
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wide)
  %low = and i32 %wave, 1
  %is.odd = icmp ne i32 %low, 0
  %base = mul i32 %group, 128
  %place = add i32 %base, %id
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %place
  %own = getelementptr i32, ptr addrspace(3) @cells, i32 %id
  %other = xor i32 %id, 64
  %others = getelementptr i32, ptr addrspace(3) @cells, i32 %other
TEXT
  ret void
}
"""
PAIRS = """
  call void @llvm.amdgcn.s.barrier.init(ptr addrspace(3) @even, i32 2)
  call void @llvm.amdgcn.s.barrier.init(ptr addrspace(3) @odd, i32 2)
  call void @llvm.amdgcn.s.barrier()
  br i1 %is.odd, label %o, label %e
o:
  call void @llvm.amdgcn.s.barrier.join(ptr addrspace(3) @odd)
  br label %head
e:
  call void @llvm.amdgcn.s.barrier.join(ptr addrspace(3) @even)
  br label %head
head:
  br label %loop
loop:
  %round = phi i32 [ 0, %head ], [ %next, %again ]
  %sum = phi i32 [ 0, %head ], [ %more, %again ]
  %given = add i32 %id, %round
  store i32 %given, ptr addrspace(3) %own
  fence syncscope("workgroup") release
  br i1 %is.odd, label %o1, label %e1
o1:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @odd, i32 0)
  br label %w1
e1:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @even, i32 2)
  br label %w1
w1:
  call void @llvm.amdgcn.s.barrier.wait(i16 1)
  fence syncscope("workgroup") acquire
  %got = load i32, ptr addrspace(3) %others
  %more = add i32 %sum, %got
  fence syncscope("workgroup") release
  br i1 %is.odd, label %o2, label %e2
o2:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @odd, i32 2)
  br label %again
e2:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @even, i32 0)
  br label %again
again:
  call void @llvm.amdgcn.s.barrier.wait(i16 1)
  fence syncscope("workgroup") acquire
  %next = add i32 %round, 1
  %goes = icmp ult i32 %next, 5
  br i1 %goes, label %loop, label %end
end:
  store i32 %more, ptr addrspace(1) %to
"""
"""Waves 0 and 2 exchange numbers, and waves 1 and 3 do, each pair at its own pace."""


@pytest.fixture
def compiled(compile_text):
    return lambda text: compile_text("gfx1250", text if "define" in text else BODY.replace("TEXT", text), "-O1")


def run(code, *, size=SIZE, **options):
    machine, out = machine_for(code, "k"), np.zeros(SIZE * GROUPS, np.int32)
    launched = launch(machine, code, "k", grid=(size * GROUPS,), work_group=(size,), args=[out], **options)
    return machine.run(limit=100_000), launched


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4])
def test_pairs_of_waves_meet_at_barriers_of_their_own(compiled, seed):
    halt, launched = run(compiled(PAIRS), seed=seed)
    assert halt.has_ended
    assert (launched.buffers["out"].reshape(GROUPS, SIZE) == 5 * (np.arange(SIZE) ^ 64) + 10).all()


@pytest.mark.slow
def test_the_way_back_leads_through_named_barriers(compiled):
    from dwarfgpu.execution.control.debugging import Debugging

    code = compiled(PAIRS)
    machine, out = machine_for(code, "k"), np.zeros(SIZE * GROUPS, np.int32)
    launched = launch(machine, code, "k", grid=(SIZE * GROUPS,), work_group=(SIZE,), args=[out], seed=3)
    debugging = Debugging(launched)
    for limit in (150, 300, 450):
        debugging.go_on(limit=limit)
    debugging.history.keep(is_fixed=True)
    before, time = debugging.device.barriers.saved(), debugging.device.executed
    assert debugging.go_on().has_ended
    debugging.history.go_to(time)
    assert all((left == right).all() for left, right in zip(debugging.device.barriers.saved(), before, strict=True))
    assert debugging.go_on().has_ended
    assert (launched.buffers["out"].reshape(GROUPS, SIZE) == 5 * (np.arange(SIZE) ^ 64) + 10).all()


def test_a_barrier_without_enough_signals_is_waited_for_for_ever(compiled):
    text = """
  call void @llvm.amdgcn.s.barrier.init(ptr addrspace(3) @even, i32 5)
  call void @llvm.amdgcn.s.barrier.join(ptr addrspace(3) @even)
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @even, i32 0)
  call void @llvm.amdgcn.s.barrier.wait(i16 1)"""
    assert run(compiled(text))[0].kind == halts.STUCK
    assert run(compiled(text), size=32)[0].has_ended  # one wave has no barriers


STATE = """
  call void @llvm.amdgcn.s.barrier.init(ptr addrspace(3) @even, i32 9)
  call void @llvm.amdgcn.s.barrier()
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @even, i32 0)
  call void @llvm.amdgcn.s.barrier()
  %state = call i32 @llvm.amdgcn.s.get.named.barrier.state(ptr addrspace(3) @even)
  store i32 %state, ptr addrspace(1) %to"""
STATED = 1 << 24 | 4 << 16 | 9 << 4 | 1


def test_the_state_has_how_many_barriers_there_are(compiled):
    halt, launched = run(compiled(STATE))
    assert halt.has_ended
    assert (launched.buffers["out"] == STATED).all()


def test_a_repeated_launch_has_its_barriers_where_another_kernel_ran_between(compiled):
    plain, code = compiled("store i32 %id, ptr addrspace(1) %to"), compiled(STATE)
    machine, out = machine_for(code, "k"), np.zeros(SIZE * GROUPS, np.int32)
    sizes = {"grid": (SIZE * GROUPS,), "work_group": (SIZE,)}
    launched = launch(machine, code, "k", args=[out], **sizes)
    repeated = RepeatedLaunch(machine, launched)
    address = next(part.value for part in launched.plan.arguments if part.name == "out")
    assert machine.run(limit=100_000).has_ended
    machine.remove_waves()
    launch(machine, plain, "k", args=[address], **sizes)
    assert machine.run(limit=100_000).has_ended
    assert (launched.buffers["out"].reshape(GROUPS, SIZE) == np.arange(SIZE)).all()
    repeated.launch([address])
    assert machine.run(limit=100_000).has_ended
    assert (launched.buffers["out"] == STATED).all()


FIRST = """
  call void @llvm.amdgcn.s.barrier.wait(i16 1)
  fence syncscope("workgroup") acquire
  %got"""
SECOND = FIRST.replace("%got", "%next")
PLANTED = {
    "a wave does not wait before it reads": (FIRST, "\n  %got"),
    "a wave does not wait before the next round": (SECOND, "\n  %next"),
    "the numbers are of a wave of the other pair": ("%other = xor i32 %id, 64", "%other = xor i32 %id, 32"),
    "a wave signals before it stores": ("w1:", "w1:\n  store i32 %given, ptr addrspace(3) %own"),
}
"""What is wrong, and the text that makes it so."""


def races(code, **options):
    """The kinds of races, with how often each was seen, by Python and by compiled code."""
    found = []
    for jit in ("off", "on"):
        machine, out = machine_for(code, "k"), np.zeros(2 * SIZE * GROUPS, np.int32)
        machine.jit = jit
        launched = launch(machine, code, "k", grid=(SIZE * GROUPS,), work_group=(SIZE,), args=[out], **options)
        assert machine.run(limit=100_000).has_ended
        found.append([(finding.kind, finding.count) for finding in check_report(Running(launched)).findings])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("memory", ["local", "global"])
@pytest.mark.parametrize("seed", [None, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_named_barriers_order_what_waves_do(compiled, memory, seed):
    """A correct kernel has no race, and each one that lacks something has."""
    whole = BODY.replace("TEXT", PAIRS)
    if memory == "global":
        whole = whole.replace("ptr addrspace(3) @cells, i32 %id", "ptr addrspace(1) %to, i32 384")
        whole = whole.replace("ptr addrspace(3) @cells, i32 %other", "ptr addrspace(1) %to, i32 %far")
        whole = whole.replace("  %others =", "  %off = sub i32 %other, %id\n  %far = add i32 %off, 384\n  %others =")
        whole = whole.replace("ptr addrspace(3) %o", "ptr addrspace(1) %o")
    assert not races(compiled(whole), check="race", seed=seed)
    for old, new in PLANTED.values():
        wrong = whole.replace(old, new if memory == "local" else new.replace("space(3)", "space(1)"))
        assert wrong != whole
        assert races(compiled(wrong), check="race", seed=seed), new


def test_divergent_signals_are_found(compiled):
    halt, launched = run(compiled(PAIRS), check="barrier,wait")
    assert (halt.has_ended, check_report(Running(launched)).findings) == (True, ())
    _halt, launched = run(compiled("""
  %some = icmp ult i32 %id, 40
  br i1 %some, label %in, label %out.of.it
in:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @even, i32 4)
  br label %out.of.it
out.of.it:"""), check="barrier")  # fmt: skip
    assert [finding.kind for finding in check_report(Running(launched)).findings] == ["divergent barrier"]


# --- Against a model of the document ------------------------------------------------------------------------------


class Document:
    """What 5.6 says of a work-group with some named barriers."""

    def __init__(self, waves, barriers):
        self.barriers, self.members, self.signals = barriers, Counter(), Counter()
        self.joined, self.done = dict.fromkeys(range(waves), 0), dict.fromkeys(range(waves), False)

    def exists(self, number):
        return 1 <= number <= self.barriers

    def initialize(self, _wave, number, members):
        if self.exists(number):
            self.signals[number] = 0
            self.members[number] = members or self.members[number]

    def signal(self, _wave, number, members):
        if self.exists(number):
            first = self.signals[number] == 0
            self.members[number] = members or self.members[number]
            self.signals[number] += 1
            self.complete(number)
            return first
        return None

    def complete(self, number):
        if self.members[number] and self.signals[number] == self.members[number]:
            self.signals[number] = 0
            for wave, joined in self.joined.items():
                self.done[wave] |= joined == number

    def join(self, wave, number, _members):
        if number == 0 or number > 16 or self.exists(number):
            self.joined[wave], self.done[wave] = number if self.exists(number) else 0, False

    def leave(self, wave, _number, _members):
        number, self.joined[wave] = self.joined[wave], 0
        if number:
            self.members[number] -= 1
            self.complete(number)
        return not number or not self.members[number]

    def state(self, _wave, number, _members):
        if not self.exists(number):
            return 0
        return self.barriers // 4 << 24 | self.signals[number] << 16 | self.members[number] << 4 | 1


@pytest.mark.parametrize("seed", range(20))
def test_named_barriers_do_what_the_document_says(seed):
    chance = np.random.default_rng(seed)
    waves, count = 6, int(chance.choice([4, 8]))
    barriers, document = GroupBarriers(), Document(waves, count)
    barriers.use(np.zeros(waves, np.int64), np.array([waves]), np.array([count]))
    named = barriers.named
    for _step in range(300):
        wave, number, members = (
            int(chance.integers(waves)),
            int(chance.integers(20)),
            int(chance.choice([0, 0, 1, 2, 4])),
        )
        number = number if number > 9 else number % 3
        batch = WaveBatch([wave], 32, 0, 0)
        batch.scc = int(chance.integers(2))
        what = chance.choice(["initialize", "signal", "signal", "signal", "join", "leave", "state", "wait"])
        if what == "wait":
            named.wait(batch, 1)
            goes_on = document.done[wave] or not document.joined[wave]
            assert barriers.go_on(batch).tolist() == [goes_on]
            document.done[wave] &= not goes_on
            named.is_waited[wave] = False
            continue
        if what == "leave" and document.joined[wave] and not document.members[document.joined[wave]]:
            with pytest.raises(UnknownInstruction, match="no document says"):
                named.leave(batch)
            continue
        expected = getattr(document, what)(wave, number, members)
        found = named.leave(batch) if what == "leave" else getattr(named, what)(batch, members << 16 | number)
        if what == "signal" and expected is None:
            expected = batch.scc
        assert found == expected, what
        assert named.joined.tolist() == [*document.joined.values()]
        assert all(named.signals[0, each] == document.signals[each] for each in range(1, 17))


@for_each("text", "s_barrier_signal 1", "s_barrier_signal m0", "s_barrier_signal_isfirst 2", "s_barrier_init 3",
    "s_barrier_init m0", "s_barrier_join 16", "s_barrier_join m0", "s_barrier_leave", "s_barrier_signal -3",
    "s_barrier_signal_isfirst -3", "s_barrier_signal -4", "s_barrier_wait -4", "s_barrier_wait 0")  # fmt: skip
def test_without_barriers_nothing_happens(require_tool, text):
    """No barriers were allocated, and no wave is in a cluster: the instructions are S_NOP."""
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", 32, waves=2)
    it.scalar(125, 0x40001)
    it.batch.scc = 1
    assert it.run(text) in (None, 0x1004)
    assert it.batch.scc == 1


@for_each("text, message", ("s_barrier_signal 17", "no such barrier"), ("s_barrier_init -1", "no such barrier"),
          ("s_get_barrier_state s0, -3", "whose state a message returns"))  # fmt: skip
def test_what_is_no_barrier_stops_the_wave(require_tool, text, message):
    with pytest.raises(UnknownInstruction, match=message):
        InstructionBench(require_tool("llvm-mc-22"), "gfx1250", 32).run(text)
