import pytest

from dwarfgpu.audits.memory_model.intents import intents_of, stated
from dwarfgpu.errors import UsageError
from tests.builders.parameters import for_each


@for_each(
    "line, asked",
    ("v = __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);", "load acquire agent all"),
    ("__hip_atomic_store(p, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);", "store release workgroup all"),
    ("__scoped_atomic_store_n(p, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);", "store monotonic agent all"),
    ("__scoped_atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WVFRNT);", "rmw acq_rel wavefront all"),
    ("__atomic_load_n(p, __ATOMIC_SEQ_CST)", "load seq_cst system all"),
    ("__atomic_compare_exchange_n(p, &e, 1, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)", "rmw acq_rel system all"),
    ("atomic_store_explicit(p, 1, memory_order_release)", "store release agent-one-as all"),
    ("atomic_load_explicit(p, memory_order_acquire, memory_scope_work_group)", "load acquire workgroup-one-as all"),
    ("atomic_fetch_add_explicit(p, 1, memory_order_seq_cst, memory_scope_all_svm_devices)", "rmw seq_cst system all"),
    ("atomic_load(p)", "load seq_cst agent all"),
    ("__sync_fetch_and_add(p, 1)", "rmw seq_cst system all"),
    ('__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")', "fence acquire workgroup all"),
    ('__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "")', "fence seq_cst system all"),
    ('__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent", "local")', "fence release agent local"),
    ("__atomic_thread_fence(__ATOMIC_ACQ_REL)", "fence acq_rel system all"),
    (
        "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device)",
        "fence release agent-one-as global",
    ),
    ("barrier(CLK_LOCAL_MEM_FENCE);", "barrier acq_rel workgroup local"),
    ("__syncthreads();", "barrier acq_rel workgroup all"),
)
def test_what_a_call_asks_for(line, asked):
    (intent,) = intents_of((line,), 1)
    assert f"{intent.kind} {intent.ordering} {intent.scope} {intent.spaces}" == asked


@for_each(
    "line",
    "v = p[i];",
    "__atomic_load_n(p, order)",
    "atomic_init(p, 1)",
    "__atomic_signal_fence(__ATOMIC_ACQUIRE)",
    '__builtin_amdgcn_fence(order, "agent")',
    '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "galaxy")',
    "",
)
def test_what_is_not_known_asks_for_nothing(line):
    assert intents_of((line,), 1) == ()


def test_a_call_of_several_lines_and_two_in_one_line():
    lines = ("x = __scoped_atomic_load_n(", "    p,", "    __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);")
    (intent,) = intents_of(lines, 1)
    assert (intent.ordering, intent.first) == ("acquire", 5)
    first, second = intents_of(("__atomic_load_n(p, __ATOMIC_ACQUIRE) + __atomic_load_n(q, __ATOMIC_RELAXED)",), 1)
    assert (first.ordering, first.first, second.ordering, second.first) == ("acquire", 1, "monotonic", 40)


def test_what_a_user_states():
    statement = stated("k.cl:12 acquire agent-one-as")
    assert (statement.path, statement.line, statement.intent.scope) == ("k.cl", 12, "agent-one-as")
    assert stated("a b.cl:3 seq_cst system fence".replace("a b", "ab")).intent.kind == "fence"


@for_each(
    "text,message",
    ("k.cl acquire agent", "is not understood"),
    ("k.cl:12 acquires agent", "'acquires' is no ordering"),
    ("k.cl:12 acquire agents", "'agents' is no scope"),
    ("k.cl:12 acquire agent now", "'now' is not load, store, rmw or fence"),
)
def test_a_statement_that_is_wrong(text, message):
    with pytest.raises(UsageError, match=message) as raised:
        stated(text)
    assert raised.value.hint
