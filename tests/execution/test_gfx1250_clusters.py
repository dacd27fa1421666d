"""Clusters of work-groups on GFX12.5, as LLVM compiles its intrinsics for them, and as the CDNA5 document says."""

from collections import Counter

import numpy as np
import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.execution import halts
from dwarfgpu.execution.barriers import GroupBarriers
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.starting import groups_of
from dwarfgpu.immutable import evolve
from dwarfgpu.targets.amdgpu.geometry import geometry
from tests.builders.parameters import for_each

GROUPS, SIZE = (4, 4, 2), 64
HEAD = """
target triple = "amdgcn-amd-amdhsa"
define protected amdgpu_kernel void @k(ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="1,64" ATTRIBUTES {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  %yy = mul i32 %y, 4
  %zz = mul i32 %z, 16
  %xy = add i32 %x, %yy
  %group = add i32 %xy, %zz
  %first = mul i32 %group, 64
  %item = add i32 %first, %id
"""
ASKED = (
    *(f"cluster.id.{axis}" for axis in "xyz"),
    *(f"cluster.workgroup.{what}id.{axis}" for what in ("", "max.") for axis in "xyz"),
    "cluster.workgroup.flat.id", "cluster.workgroup.max.flat.id",
)  # fmt: skip
PLACES = HEAD + "".join(f"""
  %value{at} = call i32 @llvm.amdgcn.{name}()
  %index{at} = mul i32 %item, {len(ASKED)}
  %moved{at} = add i32 %index{at}, {at}
  %to{at} = getelementptr i32, ptr addrspace(1) %out, i32 %moved{at}
  store i32 %value{at}, ptr addrspace(1) %to{at}""" for at, name in enumerate(ASKED)) + "\n  ret void\n}\n"  # fmt: skip
MEETING = """
  fence syncscope("cluster") release
  call void @llvm.amdgcn.s.cluster.barrier()
  fence syncscope("cluster") acquire
"""
"""A barrier of a cluster, with the fences that make what was stored before it visible behind it."""
EXCHANGE = HEAD + f"""
  %flat = call i32 @llvm.amdgcn.cluster.workgroup.flat.id()
  %most = call i32 @llvm.amdgcn.cluster.workgroup.max.flat.id()
  %size = add i32 %most, 1
  %x.in = call i32 @llvm.amdgcn.cluster.workgroup.id.x()
  %x.most = call i32 @llvm.amdgcn.cluster.workgroup.max.id.x()
  %mirrored = sub i32 %x.most, %x.in
  %x.base = sub i32 %x, %x.in
  %x.other = add i32 %x.base, %mirrored
  %other.xy = add i32 %x.other, %yy
  %other.group = add i32 %other.xy, %zz
  %other.first = mul i32 %other.group, 64
  %back = sub i32 63, %id
  %other.item = add i32 %other.first, %back
  %mine = getelementptr i32, ptr addrspace(1) %out, i32 %item
  %theirs = getelementptr i32, ptr addrspace(1) %out, i32 %other.item
  %result = getelementptr i32, ptr addrspace(1) %mine, i32 2048
  br label %loop
loop:
  %round = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %given = add i32 %item, %round
  store i32 %given, ptr addrspace(1) %mine{MEETING}
  %got = load i32, ptr addrspace(1) %theirs
  %more = add i32 %sum, %got{MEETING}
  %next = add i32 %round, 1
  %goes = icmp ult i32 %next, 3
  br i1 %goes, label %loop, label %end
end:
  store i32 %more, ptr addrspace(1) %result
  ret void
}}
"""  # fmt: skip
"""Each work-group exchanges numbers with the one at the other end of its row in the cluster, three times."""


@pytest.fixture
def compiled(compile_text):
    def compiled_for(text, dims=""):
        given = f'"amdgpu-cluster-dims"="{dims}"' if dims else ""
        return compile_text("gfx1250", text.replace("ATTRIBUTES", given), "-O1")

    return compiled_for


def run(code, count, jit="off", **options):
    machine, out = machine_for(code, "k"), np.zeros(count, np.int32)
    machine.jit = jit
    grid = GROUPS[0] * SIZE, *GROUPS[1:]
    launched = launch(machine, code, "k", grid=grid, work_group=(SIZE,), args=[out], **options)
    return machine.run(limit=1_000_000), launched


@for_each(
    "dims, options",
    ("2,2,1", {}), ("2,2,1", {"jit": "on"}), ("4,1,2", {"seed": 3, "at_once": 10}), ("2,2,1", {"cluster": (2, 2)}),
    ("1024,1024,1024", {"cluster": (2, 1, 2)}), ("", {}), ("", {"cluster": (4, 2)}),
    ("", {"cluster": (4, 4, 1), "seed": 1, "at_once": 1}),
)  # fmt: skip
def test_where_a_work_group_is(compiled, dims, options):
    halt, launched = run(compiled(PLACES, dims), 32 * SIZE * len(ASKED), **options)
    assert halt.has_ended
    found = launched.buffers["out"].reshape(-1, SIZE, len(ASKED))
    given = options.get("cluster") or (map(int, dims.split(",")) if dims else ())
    cluster = np.array((*given, 1, 1, 1)[:3])
    for number, group in enumerate(np.argwhere(np.ones(GROUPS[::-1]))[:, ::-1]):
        inside = group % cluster
        flat = inside[0] + cluster[0] * (inside[1] + cluster[1] * inside[2])
        expected = [*(group // cluster), *inside, *(cluster - 1), flat, cluster.prod() - 1]
        assert (found[number] == expected).all(), group


@for_each("cluster", (2, 1, 1), (4, 2, 2))
@for_each("options", {}, {"jit": "on"}, {"seed": 5}, {"seed": 6, "at_once": 8})
def test_work_groups_of_a_cluster_meet(compiled, cluster, options):
    halt, launched = run(compiled(EXCHANGE), 4096, cluster=cluster, **options)
    assert halt.has_ended
    numbers = np.arange(2048).reshape(GROUPS[2], GROUPS[1], GROUPS[0] // cluster[0], cluster[0], SIZE)
    expected = 3 * numbers[..., ::-1, ::-1].reshape(-1) + 3
    assert (launched.buffers["out"][2048:] == expected).all()


@pytest.mark.parametrize("seed", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_barriers_of_clusters_order_what_work_groups_do(compiled, seed):
    """As for those of a work-group: a correct kernel has no race, and others have."""
    first, second = (f"{MEETING}\n  {what}" for what in ("%got", "%next"))
    fence = '  fence syscope("cluster") release\n'.replace("syscope", "syncscope")
    planted = (
        (first, "\n  %got"), (second, "\n  %next"),
        (first, first.replace("cluster.barrier", "barrier")),
        (f"%mine{fence and MEETING}", f"%mine{MEETING.replace(fence, '')}"),
        (first, first.replace('  fence syncscope("cluster") acquire\n', "")),
    )  # fmt: skip
    for old, new in (("", ""), *planted):
        text = EXCHANGE.replace(old, new) if old else EXCHANGE
        assert not old or text != EXCHANGE
        found = []
        for jit in ("off", "on"):
            halt, launched = run(compiled(text, "2,2,1"), 4096, jit, check="race", seed=seed)
            assert halt.has_ended
            found.append([(each.kind, each.count) for each in check_report(Running(launched)).findings])
        assert found[0] == found[1]
        assert bool(found[0]) == bool(old), new


def test_a_work_group_that_never_signals_is_waited_for(compiled):
    text = HEAD + """
  %is.first = icmp eq i32 %x, 0
  br i1 %is.first, label %end, label %meet
meet:
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.cluster.barrier()
  br label %end
end:
  ret void
}
"""  # fmt: skip
    assert run(compiled(text), 1, cluster=(2, 1, 1))[0].has_ended  # one that has ended is not waited for
    hangs = text.replace("br i1 %is.first, label %end", "br i1 %is.first, label %hangs") + ""
    hangs = hangs.replace("meet:", "hangs:\n  call void @llvm.amdgcn.s.barrier.wait(i16 -3)\n  br label %end\nmeet:")
    assert run(compiled(hangs), 1, cluster=(2, 1, 1))[0].kind == halts.STUCK
    assert run(compiled(hangs), 1)[0].has_ended  # in no cluster, nobody waits


@for_each(
    "dims, options, message, hint",
    ("3,1,1", {}, "k runs in clusters of 3,1,1 work-groups, and the grid ends within one", "multiple"),
    ("2,1,1", {"cluster": (4,)}, "k requires clusters of 2,1,1 work-groups", "leave out --cluster"),
    ("", {"cluster": (4, 4, 2)}, "a cluster of 32 work-groups does not fit", "1 to 16"),
    ("", {"cluster": (0,)}, "a cluster of 0 work-groups does not fit", "1 to 16"),
)  # fmt: skip
def test_what_cannot_be_a_cluster(compiled, dims, options, message, hint):
    with pytest.raises(UsageError) as refused:
        run(compiled(PLACES, dims), 1, **options)
    assert refused.value.message == message
    assert hint in refused.value.hint


def test_every_work_group_starts_once_and_with_its_cluster():
    shape = evolve(geometry((12, 6, 4), (2, 1, 1), 32), cluster=(3, 2, 2))
    groups = groups_of(shape, np.arange(shape.group_count // shape.cluster_size))
    assert sorted(groups.tolist()) == list(range(shape.group_count))
    x, y, z = groups % 6, groups // 6 % 6, groups // 36
    of_cluster = np.stack([x // 3, y // 2, z // 2], axis=1).reshape(-1, shape.cluster_size, 3)
    assert (of_cluster == of_cluster[:, :1]).all()


@for_each("seed", *range(10))
def test_barriers_of_clusters_do_what_the_document_says(seed):
    """5.6.6: complete when all work-groups that there are have signalled; who waited for one needs the next one."""
    chance = np.random.default_rng(seed)
    each, groups = 3, 8
    group_of = np.repeat(np.arange(groups), each)
    positions = np.stack([np.arange(groups), np.zeros(groups, int), np.zeros(groups, int)], axis=1)
    alive = np.where(np.arange(groups * each) % each == 0, each, 0)
    barriers = GroupBarriers()
    barriers.use(group_of * each, alive, 0, (positions[group_of], (4, 1, 1)))
    signals, done, ended = Counter(), [False] * groups * each, set()

    def complete(cluster):
        there = {
            group
            for group in range(4 * cluster, 4 * cluster + 4)
            if len([w for w in ended if w // each == group]) < each
        }
        if signals[cluster] >= len(there) and signals[cluster]:
            signals[cluster] = 0
            for wave in range(12 * cluster, 12 * cluster + 12):
                done[wave] = True

    for _step in range(200):
        wave = int(chance.integers(groups * each))
        if wave in ended:
            continue
        cluster, batch = wave // 12, WaveBatch([wave], 32, 0, 0)
        batch.scc = int(chance.integers(2))
        what = chance.choice(["signal", "wait", "wait", "end"], p=[0.4, 0.3, 0.27, 0.03])
        if what == "signal":
            is_first = signals[cluster] == 0
            signals[cluster] += 1
            complete(cluster)
            assert barriers.signal_cluster(batch) == (1 if is_first else batch.scc)
        elif what == "wait":
            barriers.clusters.wait(batch)
            assert barriers.go_on(batch).tolist() == [done[wave]]
            done[wave] = barriers.clusters.is_waited[wave] = False
        else:
            ended.add(wave)
            alive[wave // each * each] -= 1
            complete(cluster)
            barriers.check()
        assert barriers.clusters.signals.tolist() == [signals[0], signals[1]]
