import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.audits.memory_model.intents import intents_of, stated, statement_body
from dwarfgpu.audits.memory_model.survey import accesses, outstanding_at
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.code.code_object import opened
from tests.audits.memory_model.generator import TARGETS, compiled, source
from tests.audits.memory_model.seeds import assembled, assembly, seeded
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each, share

HEAD = """\t.text
\t.globl f
\t.type f,@function
f:
\t.file 0 "/src" "k.cl"
"""
TAIL = """
\ts_setpc_b64 s[30:31]
.Lend:
\t.size f, .Lend-f
\t.section .debug_abbrev,"",@progbits
\t.byte 1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 6, 0, 0, 0
\t.section .debug_info,"",@progbits
\t.long .Linfo_end-.Linfo
.Linfo:
\t.short 5
\t.byte 1, 8
\t.long .debug_abbrev
\t.byte 1
\t.long .debug_line
\t.quad f
\t.long .Lend-f
.Linfo_end:
"""
ENTRY = "s_waitcnt_vscnt null, 0x0"
RELEASE = "s_waitcnt vmcnt(0) lgkmcnt(0); s_waitcnt_vscnt null, 0x0"


@pytest.fixture
def assemble(tmp_path, require_tool):
    """``assemble("12: s_nop 0; 13: ...", "gfx1100")``: instructions, each with the line it is from."""
    mc, lld = require_tool("llvm-mc-22", "llvm-mc"), require_tool("ld.lld-22", "ld.lld")

    def make(text: str, target: str = "gfx1100"):
        lines = []
        for part in text.split(";"):
            code = part.strip()
            line, separator, instruction = code.partition(": ")
            if separator and line.isdigit():
                lines.append(f"\t.loc 0 {line} 1")
                code = instruction
            lines.append(code.strip() if code.strip().endswith(":") else f"\t{code.strip()}")
        (tmp_path / "k.s").write_text(HEAD + "\n".join(lines) + TAIL)
        words = [mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj", "-dwarf-version=5"]
        subprocess.run([*words, str(tmp_path / "k.s"), "-o", str(tmp_path / "k.o")], check=True, capture_output=True)
        subprocess.run([lld, "-shared", str(tmp_path / "k.o"), "-o", str(tmp_path / "k.co")], check=True)
        return opened(str(tmp_path / "k.co"))

    return make


def rules(file, **how) -> list[str]:
    return [finding.rule.name for finding in MemoryCheck(file, from_source=False, **how).findings()]


def test_values_in_flight(assemble):
    good = "global_load_b32 v2, v[0:1], off; s_waitcnt vmcnt(0); v_add_f32 v3, v2, v2; s_waitcnt vmcnt(0)"
    assert rules(assemble(good)) == []
    assert rules(assemble(good.replace("vmcnt(0)", "vmcnt(1)", 1))) == ["order-value-in-flight"]
    assert rules(assemble(good.replace("s_waitcnt vmcnt(0)", "s_nop 0", 1))) == ["order-value-in-flight"]
    two = "global_load_b32 v2, v[0:1], off; global_load_b32 v3, v[0:1], off; s_waitcnt vmcnt(1); v_add_f32 v4, v2, v2"
    assert rules(assemble(f"{two}; s_waitcnt vmcnt(0)")) == []
    assert rules(assemble(f"{two.replace('v4, v2, v2', 'v4, v3, v3')}; s_waitcnt vmcnt(0)")) == [
        "order-value-in-flight"
    ]
    two = "s_load_b32 s4, s[0:1], 0x0; s_load_b32 s5, s[0:1], 0x4; s_waitcnt lgkmcnt({}); s_add_u32 s6, s4, s4"
    assert rules(assemble(two.format(0))) == []
    assert rules(assemble(two.format(1) + "; s_waitcnt lgkmcnt(0)")) == ["order-value-in-flight"]
    assert rules(assemble("ds_load_b32 v2, v0; v_mov_b32 v2, 0; s_waitcnt lgkmcnt(0)")) == ["order-value-in-flight"]


def test_waits_that_are_missing_on_a_path(assemble):
    text = "global_load_b32 v2, v[0:1], off; s_cbranch_scc0 .L1; s_waitcnt vmcnt(0); .L1:; v_add_f32 v3, v2, v2"
    assert rules(assemble(text)) == ["order-value-in-flight", "order-return-in-flight"]
    assert rules(assemble(text.replace("s_cbranch_scc0 .L1; s_waitcnt", "s_waitcnt"))) == []
    text = ".L1:; v_add_f32 v3, v2, v2; global_load_b32 v2, v[0:1], off; s_cbranch_scc0 .L1; s_waitcnt vmcnt(0)"
    assert rules(assemble(text)) == ["order-value-in-flight"]
    assert rules(assemble("global_load_b32 v2, v[0:1], off")) == ["order-return-in-flight"]
    assert rules(assemble("global_store_b32 v[0:1], v2, off")) == []


def expected(text: str):
    return {"expected": (stated(text),)}


STORE = f"10: global_store_b32 v[0:1], v2, off; 11: {RELEASE}; 12: global_store_b32 v[3:4], v2, off"


def test_a_release_waits(assemble):
    assert rules(assemble(STORE), **expected("k.cl:12 release agent")) == []
    weak = STORE.replace("vscnt null, 0x0", "vscnt null, 0x1")
    assert rules(assemble(weak), **expected("k.cl:12 release agent")) == ["order-wait-before"]
    text = "12: global_store_b32 v[3:4], v2, off"
    assert rules(assemble(text), **expected("k.cl:12 release agent")) == ["order-wait-before"]
    assert rules(assemble(f"11: {ENTRY}; {text}"), **expected("k.cl:12 release agent")) == []
    text = f"9: {ENTRY}; 10: ds_store_b32 v0, v2; 12: global_store_b32 v[3:4], v2, off; 13: s_waitcnt lgkmcnt(0)"
    assert rules(assemble(text), **expected("k.cl:12 release agent")) == ["order-wait-before"]
    assert rules(assemble(text), **expected("k.cl:12 release agent-one-as")) == []


LOAD = "12: global_load_b32 v2, v[0:1], off glc; s_waitcnt vmcnt(0); buffer_gl1_inv; buffer_gl0_inv; 13: s_nop 0"
NEXT = "; global_load_b32 v3, v[0:1], off; s_waitcnt vmcnt(0)"


@for_each("change,found",
    (("", ""), []),              ((" glc", ""), ["order-cache-bits"]),
    (("vmcnt(0); buffer_gl1_inv", "vmcnt(1); buffer_gl1_inv"), ["order-early-invalidate"]),
    (("buffer_gl1_inv; ", ""), ["order-invalidate"]),         (("buffer_gl0_inv; ", ""), ["order-invalidate"]),
    (("s_waitcnt vmcnt(0); buffer_gl1_inv; buffer_gl0_inv", "s_nop 0"), ["order-wait-after"]))  # fmt: skip
def test_the_steps_of_an_acquire(assemble, change, found):
    assert rules(assemble((LOAD + NEXT).replace(*change, 1)), **expected("k.cl:12 acquire agent")) == found


def test_an_acquire_of_a_path_a_work_group_and_a_fence(assemble):
    text = LOAD.replace("buffer_gl1_inv;", "s_cbranch_scc0 .L1; buffer_gl1_inv;") + "; .L1:" + NEXT
    assert rules(assemble(text), **expected("k.cl:12 acquire agent")) == ["order-invalidate"]
    assert rules(assemble((LOAD + NEXT).replace("buffer_gl1_inv; ", "")), **expected("k.cl:12 acquire workgroup")) == []
    text = (LOAD + NEXT).replace("; buffer_gl1_inv; buffer_gl0_inv", "").replace(" glc", "")
    assert rules(assemble(text), mode="cu", **expected("k.cl:12 acquire workgroup")) == []
    assert "order-cache-bits" in rules(assemble(text), mode="wgp", **expected("k.cl:12 acquire workgroup"))
    text = f"12: {RELEASE}; buffer_gl1_inv; buffer_gl0_inv; 13: global_load_b32 v3, v[0:1], off; s_waitcnt vmcnt(0)"
    assert rules(assemble(text), **expected("k.cl:12 acquire agent fence")) == []
    assert rules(assemble(text.replace("buffer_gl1_inv; ", "")), **expected("k.cl:12 acquire agent fence")) == [
        "order-invalidate"
    ]


@for_each("rest, found",
    ("13: s_load_b32 s4, s[0:1], 0x0; s_waitcnt lgkmcnt(0); global_store_b32 v[0:1], v2, off", []),
    ("13: global_store_b32 v[0:1], v2, off; s_load_b32 s4, s[0:1], 0x0; s_waitcnt lgkmcnt(0)", ["order-wait-before"]),
    ids=str)  # fmt: skip
def test_the_wait_of_a_fence_may_come_behind_a_load_of_an_argument(assemble, rest, found):
    text = f"9: {ENTRY}; 10: ds_store_b32 v0, v2; 12: s_waitcnt_vscnt null, 0x0; {rest}"
    assert rules(assemble(text), **expected("k.cl:12 release agent fence")) == found


def test_a_write_back_of_a_narrower_scope(assemble):
    text = "12: global_wb scope:SCOPE_SYS; s_wait_storecnt 0x0; global_store_b32 v[3:4], v2, off scope:SCOPE_SYS"
    assert rules(assemble(text, "gfx1200"), **expected("k.cl:12 release system")) == []
    narrow = text.replace("wb scope:SCOPE_SYS", "wb scope:SCOPE_DEV")
    assert rules(assemble(narrow, "gfx1200"), **expected("k.cl:12 release system")) == ["order-write-back"]
    late = text.replace("; global_store", "; global_store_b32 v[5:6], v2, off; s_wait_storecnt 0x0; global_store")
    assert rules(
        assemble(
            late.replace("12: ", "11: ").replace("; global_store_b32 v[3:4]", "; 12: global_store_b32 v[3:4]"),
            "gfx1200",
        ),
        **expected("k.cl:12 release system"),
    ) == ["order-write-back"]


def test_a_finding_names_the_line_and_the_clause(assemble):
    (finding,) = MemoryCheck(
        assemble(STORE.replace("0x0", "0x1")), expected=(stated("k.cl:12 release agent"),), from_source=False
    ).findings()
    assert finding.source == ("/src/k.cl", 12)
    assert finding.clause == "Memory Model Code Sequences GFX10-GFX11: store atomic release, agent, global"
    assert finding.path == ("f",)
    assert "global_store_b32 at +0x0 is outstanding (vscnt)" in finding.message


def test_the_strongest_ordering_of_an_access(assemble):
    rows = {row.offset: (row.ordering, row.scope) for row in accesses(MemoryCheck(assemble(f"{STORE}; {LOAD}{NEXT}")))}
    assert list(rows.values()) == [("plain", ""), ("release", "system"), ("acquire", "system"), ("plain", "")]


def test_a_buffer_is_the_stack_only_by_its_descriptor(assemble):
    """Up to GFX10: that which a function gets in s[0:3], or a copy of it."""
    copied = "s_mov_b64 s[8:9], s[0:1]; s_mov_b64 s[10:11], s[2:3]; buffer_store_dword v0, v1, s[8:11], 0 offen"
    made = "s_mov_b32 s7, 0x27000; buffer_load_dword v2, v1, s[4:7], 0 offen; s_mov_b32 s3, s7"
    stack = "buffer_store_dword v0, off, s[0:3], s32"
    file = assemble(f"{stack}; {copied}; {made}; {stack}", "gfx90a")
    assert [row.instruction.split(",")[-2].strip() for row in accesses(MemoryCheck(file))] == ["s[4:7]", "s[0:3]"]
    wide = assemble("buffer_store_b32 v0, v1, s[0:3], 0 offen", "gfx1100")
    assert [row.operation for row in accesses(MemoryCheck(wide))] == ["store"]


def test_what_is_outstanding_at_an_address(assemble):
    file = assemble("global_load_b32 v2, v[0:1], off; ds_load_b32 v3, v0; s_waitcnt vmcnt(0); s_waitcnt lgkmcnt(0)")
    check = MemoryCheck(file)
    _function, rows = outstanding_at(check, next(check.code.functions()).addresses[3])
    expected = [("stores of the caller", (("vscnt", 0),), ()), ("ds_load_b32 v3, v0", (("lgkmcnt", 0),), ("v3",))]
    assert [(row.instruction, row.counters, row.registers) for row in rows] == expected


LEFT_OUT_BY_LLVM = {"send_all"}
"""Functions of fixtures/src/opencl/ordering.cl in which LLVM 22 leaves out a wait."""


def findings(path: Path):
    return list(MemoryCheck(opened(str(path))).findings())


def messages(path: Path) -> list[str]:
    return [f"{finding.path[0]}: {finding.rule.name}: {finding.message}" for finding in findings(path)]


@pytest.mark.parametrize("target", ["gfx900", "gfx1200"])
def test_nothing_is_found_in_code_of_clang(target, tmp_path, require_tool):
    require_tool("clang-22")
    assert messages(compiled(tmp_path, source(5, 40), target)) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_found_in_much_code_of_clang(target, tmp_path, require_tool):
    require_tool("clang-22")
    assert messages(compiled(tmp_path, source(800, share(800)), target)) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["amdgpu", "asm", "compilers", "features", "llvm24"])
def test_nothing_is_found_in_the_fixtures_but_what_llvm_leaves_out(folder):
    count = 0
    for path in sorted((FIXTURES / folder).rglob("*")):
        if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        try:
            check = MemoryCheck(opened(str(path)))
            rows = list(check.findings())
        except DwarfGpuError as error:
            if error.kind not in {"no_memory_model", "unknown_processor", "usage"}:
                raise
            continue
        count += check.instructions
        assert [row for row in rows if row.path[0] not in LEFT_OUT_BY_LLVM] == []
    assert count


def missed(target: str, folder: Path, seed: int, functions: int) -> tuple[Counter[str], dict[str, str]]:
    """Return how many defects of each kind there are, and those for which nothing is found."""
    path = folder / "k.cl"
    path.write_text(source(seed, functions))
    text, defects = seeded(assembly(path, target), path.read_text(), random.Random(seed))
    found = {finding.path[0] for finding in findings(assembled(text, target, folder / "k.co"))}
    kinds = Counter(defect.partition(":")[0] for defect in defects.values())
    return kinds, {name: defect for name, defect in defects.items() if name not in found}


@pytest.mark.parametrize("target", ["gfx942", "gfx1200"])
@pytest.mark.sampled(4)
def test_defects_are_found(target, tmp_path, require_tool):
    require_tool("clang-22")
    kinds, rest = missed(target, tmp_path, 11, 40)
    assert kinds.total() > 20
    assert rest == {}


@pytest.mark.slow
def test_nearly_all_of_many_defects_are_found(tmp_path, require_tool):
    require_tool("clang-22")
    kinds: Counter[str] = Counter()
    rest: dict[str, str] = {}
    for number, target in enumerate(TARGETS):
        counted, names = missed(target, tmp_path, 100 + number, share(330))
        kinds += counted
        rest |= {f"{target} {name}": defect for name, defect in names.items()}
    assert kinds.total() >= share(2000)
    assert set(kinds) >= {
        *("wait removed", "wait weakened", "counter removed", "invalidate removed", "write-back removed"),
        *("scope weakened", "cache bit removed"),
    }
    assert len(rest) <= 0.02 * kinds.total(), rest


@for_each("line, asked",
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
    (
        "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_order_release, memory_scope_device)",
        "fence release agent all",
    ),
    ("barrier(CLK_LOCAL_MEM_FENCE);", "barrier acq_rel workgroup local"),
    ("__syncthreads();", "barrier acq_rel workgroup all"))  # fmt: skip
def test_what_a_call_asks_for(line, asked):
    (intent,) = intents_of((line,), 1)
    assert f"{intent.kind} {intent.ordering} {intent.scope} {intent.spaces}" == asked


@for_each("line",
    "v = p[i];",                 "__atomic_load_n(p, order)", "atomic_init(p, 1)",
    "__atomic_signal_fence(__ATOMIC_ACQUIRE)",                '__builtin_amdgcn_fence(order, "agent")',
    '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "galaxy")',
    "")  # fmt: skip
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


@for_each("text,message",
    ("k.cl acquire agent", "is not understood"),
    ("k.cl:12 acquires agent", "'acquires' is not an ordering"),
    ("k.cl:12 acquire agents", "'agents' is not a scope"),
    ("k.cl:12 acquire agent now", "'now' is not load, store, rmw or fence"))  # fmt: skip
def test_a_statement_that_is_wrong(text, message):
    with pytest.raises(UsageError, match=message) as raised:
        stated(text)
    assert raised.value.hint


FENCED = """
kernel void f(global int *a, global atomic_int *flag, global int *out)
{
    a[0] = 1;
    int early = a[3];
    BEFORE __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); AFTER
    out[0] = early;
}
"""


@pytest.mark.parametrize("target, wait", [("gfx90a", "s_waitcnt vmcnt(0)"), ("gfx1200", "s_wait_loadcnt 0x0")])
def test_a_fence_without_any_instruction(target, wait, tmp_path, require_tool):
    """Where it must be follows from the accesses around it; so does that one in other places is not compiled."""
    require_tool("clang-22")
    path = tmp_path / "k.cl"
    path.write_text(FENCED.replace("BEFORE", "").replace("AFTER", ""))
    words = ["clang-22", "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib"]
    words += ["-O1", "-g", "-S", str(path), "-o", "-"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = text.split("\n")
    at = {number for number, line in enumerate(lines) if line.startswith("\t.loc\t0 6 ") or "k.cl:6:" in line}
    own = {
        other
        for number in at
        for other in range(number, next(n for n in range(number + 1, len(lines)) if ".loc" in lines[n]))
    }
    without = [line for number, line in enumerate(lines) if number not in own or not line.startswith("\ts_wait")]
    assert len(without) < len(lines)
    right, wrong = (
        str(assembled("\n".join(each), target, tmp_path / f"{name}.co"))
        for each, name in ((lines, "right"), (without, "wrong"))
    )
    assert [*MemoryCheck(opened(right)).findings()] == []
    found = {finding.rule.name for finding in MemoryCheck(opened(wrong)).findings()}
    assert "order-wait-before" in found
    for before, after in (("if (early)", ""), ("{", "}"), ("//", ""), ("#if 0\n", "\n#endif")):
        path.write_text(FENCED.replace("BEFORE", before).replace("AFTER", after))
        intents = intents_of(tuple(path.read_text().split("\n")), 6 + before.count("\n"))
        assert [each.kind for each in intents] == ["fence"]
        assert (
            statement_body(
                tuple(path.read_text().split("\n")), 6 + before.count("\n"), intents[0].first, intents[0].text
            )
            is None
        )
