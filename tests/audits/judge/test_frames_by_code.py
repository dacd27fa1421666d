"""Callers that reading the code finds, against the calls that the machine has executed."""

import json
import random
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from fuzz import random_kernels
from fuzz.kernels import Way, compile_with

from dwarfgpu.audits.judge import followed_run
from dwarfgpu.audits.judge.wave_registers import BatchRegisters
from dwarfgpu.cfi.activation import AS_EXECUTED, BY_CODE, CallStack, NoInformation, Thread
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.frame_state import MAX_DEPTH, CodeReading
from tests.builders.commands import document, run
from tests.builders.executed_calls import ExecutedCalls
from tests.builders.folders import ROOT
from tests.builders.parameters import share

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
SOURCE, SHIPPED = FIXTURES / "src" / "hip" / "calls.hip", FIXTURES / "llvm24"
ARGUMENTS = ("zeros(70)", "zeros(70)", "5")
PROCESSORS = ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1030:64", "gfx1100", "gfx1100:64", "gfx1200", "gfx1200:64"]


def built(require_tool, folder, processor, level):
    name, _, size = processor.partition(":")
    words = ["-x", "hip", "--offload-device-only", f"--offload-arch={name}", "-nogpuinc", "-nogpulib", "-g"]
    words += [f"-{level}", *(["-mwavefrontsize64"] if size else [])]
    path = folder / f"{name}.{size}.{level}.co"
    arguments = [require_tool("clang-22"), *words, "--no-gpu-bundle-output", "-c", str(SOURCE), "-o", str(path)]
    subprocess.run(arguments, check=True, capture_output=True)
    return path


def compared(require_tool, folder, processor, level, stacks):
    path = built(require_tool, folder, processor, level)
    return ExecutedCalls(path, "calls", ARGUMENTS, stacks=stacks, **{"private-size": "16384"}).run()


def check(calls, least=400):
    assert calls.halt.has_ended
    assert {name: count for name, count in calls.counts.items() if name.endswith("wrong")} == {}, calls.problems
    assert calls.counts["unknown"] == 0, calls.problems
    assert calls.counts["right"] > least
    assert calls.counts["s32 unknown"] == calls.counts["s33 unknown"] == 0


@pytest.mark.slow
def test_every_caller_of_optimized_code_is_found(require_tool, tmp_path):
    check(compared(require_tool, tmp_path, "gfx1100", "O2", 1))


def test_a_backtrace_says_how_callers_are_found(require_tool, tmp_path):
    """A machine that ran knows its calls, and so does a snapshot; a core file has no place for them."""
    path, state, core = built(require_tool, tmp_path, "gfx1100", "O0"), tmp_path / "x.json", tmp_path / "x.core"
    launch = "target launch -private-size 16384 calls 32 32 zeros(70) zeros(70) 5"
    saving = f"save snapshot {state}", f"save snapshot {tmp_path / 'x.dgs'}", f"generate-core-file {core}"
    commands = launch, "break leaf", "continue", *saving, "info frame", "bt", "reverse-finish", "bt", "continue", "bt"
    done = run("debug", "--batch", str(path), *(f"-ex={each}" for each in commands))
    assert " called by frame at private_wave#0x" in done.stdout
    assert done.stdout.count(" (as executed)") == 1 + 2 + 1 + 2, done.stdout
    run("snapshot", "convert", str(tmp_path / "x.dgs"), str(tmp_path / "y.json"))
    for name, found in (("x.json", AS_EXECUTED), ("x.dgs", AS_EXECUTED), ("y.json", AS_EXECUTED), ("x.core", BY_CODE)):
        (stack,) = document("bt", str(path), "--state", str(tmp_path / name))["stacks"]
        assert [each["function"] for each in stack["frames"]] == ["leaf", "outer", "calls"]
        assert [each.get("found") for each in stack["frames"]] == [None, found, found]
        assert stack["end"]["kind"] == "outermost"


WRONG_ADDRESS = """
__attribute__((noinline)) static int leaf(int x) { return x * 3; }
__attribute__((noinline)) static int call(int (*called)(int), int x) { return called(leaf(x)) + 1; }
__attribute__((amdgpu_kernel)) void kernel(__attribute__((address_space(1))) int *out, unsigned long called) {
  out[0] = call((int (*)(int))called, (int)called);
}
"""


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_machine_knows_the_callers_where_no_code_is_and_where_the_stack_is_damaged(level, require_tool, tmp_path):
    path = tmp_path / "wrong.co"
    words = f"-x c --target=amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -g -w -{level} - -o {path}"
    subprocess.run([require_tool("clang-22"), *words.split()], input=WRONG_ADDRESS.encode(), check=True)
    launch = "target launch -private-size 4096 kernel 1 1 zeros(4,i4) 0"
    commands = launch, "break leaf", "continue", "set var $s30 = 64", "bt"
    damaged = run("debug", "--batch", str(path), *(f"-ex={each}" for each in commands)).stdout
    assert "(as executed; the return address is now 0x7f" in " ".join(damaged.split())
    nowhere = run("debug", "--batch", str(path), f"-ex={launch}", "-ex=continue", "-ex=bt").stdout
    assert re.findall(r"#\d +0x\w+ in (\S+) \(", nowhere)[-3:] == ["??", "call", "kernel"]
    assert nowhere.count("(as executed)") == 1  # nothing of address 0 was executed: its caller has its registers


CALLING = """
#define CALLED VISIBLE __attribute__((noinline)) unsigned
CALLED leaf(unsigned x) { return x * 3 + 1; }
CALLED middle(unsigned x, unsigned y) { unsigned a = leaf(x) ^ y; unsigned b = leaf(a + y) + x; return b * a; }
CALLED outer(unsigned x, unsigned y) {
  unsigned sum = 0;
  for (unsigned i = 0; i < (x & 3); ++i) sum += middle(x + i, sum) * y;
  return sum & 1 ? sum ^ leaf(y) : sum + x;
}
__attribute__((amdgpu_kernel)) void kernel(__attribute__((address_space(1))) unsigned *out, unsigned n) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  out[lane] = outer(lane, n) + middle(lane, n);
}
"""
SHARED, LOCAL = '-DVISIBLE=__attribute__((visibility("default")))', "-DVISIBLE=static"


def calling(require_tool, folder, words, edited=""):
    """Return a file compiled from C; with a pattern, from assembly text without what this matches."""
    clang, text, path = require_tool("clang-22"), folder / "calling.s", folder / "calling.co"
    words = ["--target=amdgcn-amd-amdhsa", "-nogpulib", "-std=gnu2x", *words]
    subprocess.run([clang, "-x", "c", *words, "-S", "-", "-o", str(text)], input=CALLING.encode(), check=True)
    text.write_text(re.sub(edited, "", text.read_text()) if edited else text.read_text())
    subprocess.run([clang, "-x", "assembler", *words[:2], words[-1], str(text), "-o", str(path)], check=True)
    return path


@pytest.mark.parametrize(
    "processor, level, word, edited, is_stripped",
    [
        ("gfx1100", "O2", SHARED, "", False),  # calls through the table of offsets
        ("gfx1200", "O1", SHARED, "", False),
        ("gfx90a", "O1", SHARED, "", False),
        ("gfx1200", "O1 -mllvm -amdgpu-s-branch-bits=5", LOCAL, "", False),  # branches too far for an offset
        ("gfx1100", "O2 -g0", LOCAL, r"\t\.size\t.*", False),  # as assembly by hand is
        ("gfx1030", "O1", LOCAL, "", True),  # only the debugging information has the functions
    ],
)
@pytest.mark.sampled(6)
def test_callers_are_found_however_functions_are_known(
    processor, level, word, edited, is_stripped, require_tool, tmp_path
):
    path = calling(require_tool, tmp_path, [word, "-g", *f"-{level}".split(), f"-mcpu={processor}"], edited)
    if is_stripped:
        subprocess.run([require_tool("llvm-objcopy-22"), "--strip-all", "--keep-section=.debug*", path], check=True)
    options = {"grid": "64", "work_group": "64", "private-size": "4096"}
    calls = ExecutedCalls(path, "kernel", ("zeros(64,u4)", "5"), stacks=2, **options).run()
    assert calls.halt.has_ended
    assert {name: count for name, count in calls.counts.items() if name.endswith("wrong")} == {}, calls.problems
    assert calls.counts["unknown"] == 0, calls.problems
    assert calls.counts["right"] > 80


class DamagedRegisters(BatchRegisters):
    """Registers and memory of which some bytes are random, or those of another register or place."""

    def __init__(self, *words):
        super().__init__(*words)
        self._random, self._earlier = random.Random(7), defaultdict(list)

    def _damaged(self, data):
        earlier = self._earlier[len(data)]
        earlier.append(data)
        if self._random.random() < 0.7:
            return data
        return self._random.choice((self._random.randbytes(len(data)), bytes(len(data)), self._random.choice(earlier)))

    def read_register(self, register, wave, lane):
        return self._damaged(super().read_register(register, wave, lane))

    def read_memory(self, space, address, size, wave, lane):
        return self._damaged(super().read_memory(space, address, size, wave, lane))


@pytest.mark.slow
@pytest.mark.parametrize("processor, level", [("gfx1100", "O0"), ("gfx90a", "O2")])
def test_a_damaged_stack_ends_where_no_call_leads_on(processor, level, require_tool, tmp_path, monkeypatch):
    """Each caller is behind a call, and nothing but errors of the project occurs."""
    monkeypatch.setattr(followed_run, "BatchRegisters", DamagedRegisters)
    path = calling(require_tool, tmp_path, [LOCAL, "-g", f"-{level}", f"-mcpu={processor}"])
    calls = ExecutedCalls(path, "kernel", ("zeros(64,u4)", "5"), stacks=1, grid="64", work_group="64")
    ends, lanes = Counter(), calls.target.lane_count

    def compare(arrival, chain):
        thread = Thread(
            calls.target, calls.running.attached.state.rules, calls.followed.registers, calls.code, int(arrival.rows[0])
        )
        stack = CallStack(thread, arrival.pc, max_frames=50)
        for activation in [*stack][1:]:
            code = calls.running.attached.stopped.loaded.at(activation.pc)
            data = code.file.image.read(code.in_file(activation.pc) - 4, 4)
            assert decode(data, 0, processor, lanes).name == "s_swappc_b64"
        found = tuple(each.pc for each in stack)[1:]
        ends["right" if found == chain[: len(found)] else "wrong"] += 1
        ends[stack.end.kind] += 1

    calls._compare = compare
    assert calls.run(20_000).halt.has_ended
    assert ends["wrong"] == 0
    assert ends["no_call"] + ends["outside_code"] > 20
    assert ends["outermost"] > 5


UNOPTIMIZED = ["gfx90a", "gfx1100", "gfx1200:64"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "processor, level", [*((each, "O2") for each in PROCESSORS), *((each, "O0") for each in UNOPTIMIZED)]
)
def test_every_caller_is_found(processor, level, require_tool, tmp_path):
    check(compared(require_tool, tmp_path, processor, level, 1))


class WithoutInformation:
    """Code of which only the kernels have call frame information."""

    def __init__(self, calls):
        self._loaded, self._unwinding = calls.running.attached.stopped.loaded, calls.code

    def information_at(self, pc):
        code = self._loaded.at(pc)
        if code._kernel_at(code.in_file(pc)):
            return self._unwinding.information_at(pc)
        return self._unwinding._by_code.information_at(code, pc, NoInformation("", "left out"))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SHIPPED.glob("hip-calls.*.co")), ids=lambda path: path.name)
def test_reading_the_code_finds_what_call_frame_information_says(path):
    """Where they differ, the calls that were executed agree with what was read."""
    calls = ExecutedCalls(path, "calls", ARGUMENTS, stacks=1, every=4, **{"private-size": "16384"})
    compare, codes, agreed = calls._compare, (calls.code, WithoutInformation(calls)), Counter()

    def compare_both(arrival, chain):
        found = []
        for calls.code in codes:
            state, registers = calls.running.attached.state, calls.followed.registers
            thread = Thread(calls.target, state.rules, registers, calls.code, arrival.wave(int(arrival.rows[0])))
            found.append([activation.pc for activation in CallStack(thread, arrival.pc)])
        agreed[found[0] == found[1]] += 1
        compare(arrival, chain)

    calls._compare = compare_both
    check(calls.run(), 60)
    assert agreed[True] > 60
    assert agreed[False] <= agreed[True] / 50


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("triton-calls.*.co")), ids=lambda path: path.name)
def test_every_caller_of_functions_of_triton_is_found(path):
    """By the code alone: rules of the file, which do not know the last instructions of a function, are left out."""
    arguments = ("zeros(64,f4)", "zeros(70,f4)", "60", "0", "0")
    calls = ExecutedCalls(path, "calls", arguments, stacks=1, grid="64", work_group="64", **{"private-size": "8192"})
    calls.code = WithoutInformation(calls)
    check(calls.run(), 60)


RANDOM_ARGUMENTS = ("zeros(128,u8)", "arange(1024,u4)", "zeros(16,u8)", str(8 * (random_kernels.GROUP + 8)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "processor, level, lanes, count, every",
    [
        ("gfx90a", "O1", 64, 30, 1),
        ("gfx1100", "O2", 32, 40, 1),
        ("gfx1200", "O3", 32, 40, 1),
        ("gfx1030", "O2", 64, 30, 1),
        ("gfx942", "O3", 64, 30, 1),
        ("gfx1100", "O1", 32, 40, 1),
        ("gfx1200", "O0", 32, 30, 32),
        ("gfx90a", "O0", 64, 30, 32),
    ],
)
def test_every_caller_in_random_kernels_is_found(processor, level, lanes, count, every, require_tool, tmp_path):
    """With what is left out because it calls nothing, these are 50 kernels, and 200 where tests are thorough."""
    require_tool("clang-22")
    path, found = tmp_path / "random.co", Counter()
    kernels = [
        each for each in random_kernels.kernels(f"frames {processor}", share(count)) if "NOINLINE" in each.text()
    ]
    words = [*Way("cl", level, processor, lanes).words(), "-g"]
    compile_with(words, random_kernels.source(kernels), path)
    options = {"grid": "128", "work_group": "64", "private-size": "16384"}
    for kernel in kernels:
        calls = ExecutedCalls(path, kernel.name, RANDOM_ARGUMENTS, stacks=1, every=every, **options).run(400_000)
        assert [name for name in calls.counts if name.endswith("wrong")] == [], (kernel.name, calls.problems)
        found.update(calls.counts)
    print(processor, level, len(kernels), dict(sorted(found.items())))
    assert found["right"] > share(300)
    assert found["unknown"] * 200 <= found["right"]  # 99.5 %
    assert found["s32 unknown"] == found["s33 unknown"] == 0


HAND_WRITTEN = """.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
FUNCTIONS
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_mov_b32 s32, 0
  CALLED
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 48
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 4
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 48
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
"""
OTHER_LINK = """
inner: v_add_nc_u32_e32 v1, v1, v1; s_setpc_b64 s[30:31]
other: v_add_nc_u32_e32 v1, v1, v1; s_setpc_b64 s[4:5]
outer: s_mov_b64 s[40:41], s[30:31]; s_call_b64 s[30:31], inner; s_call_b64 s[4:5], other
  v_add_nc_u32_e32 v1, v1, v1; s_mov_b64 s[30:31], s[40:41]; s_setpc_b64 s[30:31]
"""
TAIL_CALL = """
last: v_add_nc_u32_e32 v1, v1, v1; s_setpc_b64 s[30:31]
first: s_mov_b32 s4, 7; s_getpc_b64 s[6:7]; here: s_add_u32 s6, s6, last-here; s_addc_u32 s7, s7, -1; s_setpc_b64 s[6:7]
"""
OVER_TAIL_CALL = f"""{TAIL_CALL}
outer: v_writelane_b32 v5, s30, 0; v_writelane_b32 v5, s31, 1; s_call_b64 s[30:31], first; v_add_nc_u32_e32 v1, v1, v1
  v_readlane_b32 s30, v5, 0; v_readlane_b32 s31, v5, 1; s_setpc_b64 s[30:31]
"""
"""Neither `first` nor `last` changes v5, which the ABI allows them; compilers that see all three rely on it."""

COUNTED = "s_mov_b32 s40, 3; s_call_b64 s[30:31], "
ITSELF = """
itself: s_mov_b64 s[34:35], s[30:31]; s_sub_u32 s40, s40, 1; s_cmp_eq_u32 s40, 0; s_cbranch_scc1 last
  CALL; s_nop 1; s_endpgm; last: s_nop 0; s_setpc_b64 s[34:35]
"""
"""Behind its call of itself s[34:35], which a callee preserves by the ABI, lead back to there."""
BY_OTHERS = f"""{ITSELF.replace("CALL", "s_call_b64 s[30:31], other")}
other: s_mov_b64 s[36:37], s[30:31]; s_call_b64 s[30:31], itself; s_setpc_b64 s[36:37]
"""


def by_hand(functions, called="s_call_b64 s[30:31], outer"):
    """Return assembly text with functions and what the kernel executes."""
    functions = re.sub(r"^(\w+):", r".type \1,@function; \1:", functions, flags=re.MULTILINE)
    return HAND_WRITTEN.replace("FUNCTIONS", functions).replace("CALLED", called).replace("; ", "\n")


NEVER_RETURNING = """
#define ENDING __attribute__((noinline, noreturn)) static void
typedef __attribute__((address_space(1))) unsigned *Out;
ENDING stop(Out out) { *out = 1; __builtin_trap(); }
ENDING stop_later(Out out, unsigned x) { out[1] = x; stop(out); }
ENDING spin(volatile Out out) { for (;;) *out = 3; }
ENDING finish(Out out, unsigned x) { *out = x; __builtin_amdgcn_endpgm(); }
__attribute__((noinline)) static unsigned leaf(unsigned x) { return x * 5 + 1; }
__attribute__((noinline)) static unsigned maybe(Out out, unsigned x) {
  unsigned y = leaf(x);
  if (y == 77777) stop(out);
  if (y == 77778) stop_later(out, x);
  if (y == 77779) spin(out);
  if (y == 77780) __builtin_trap();
  if (x > 4) finish(out, x);
  return leaf(y) * 3;
}
__attribute__((amdgpu_kernel)) void kernel(Out out, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[i & 7] = maybe(out + i, i) + 1;
}
"""


@pytest.mark.parametrize(
    "words, text, arguments, least",
    [
        ("-x assembler", by_hand(OTHER_LINK), (), 5),  # `other` has another link register
        # in `last`, which has not changed s4, `first` is gone, which has
        ("-x assembler", by_hand(TAIL_CALL, "s_mov_b32 s4, 5; s_call_b64 s[30:31], first"), (), 6),
        ("-x assembler", by_hand(OVER_TAIL_CALL), (), 14),
        ("-x assembler", by_hand(ITSELF.replace("CALL", "s_call_b64 s[30:31], itself"), COUNTED + "itself"), (), 5),
        ("-x assembler", by_hand(BY_OTHERS, COUNTED + "itself"), (), 7),
        ("-x c -O0 -nogpulib", NEVER_RETURNING, ("zeros(64,u4)", "8"), 450),
        ("-x c -O2 -nogpulib -mcpu=gfx90a", NEVER_RETURNING, ("zeros(64,u4)", "8"), 80),
    ],
)
@pytest.mark.sampled(6)
def test_other_ways_to_call_give_no_wrong_caller(words, text, arguments, least, require_tool, tmp_path):
    calls = executed(require_tool, tmp_path, words, text, arguments)
    assert {name: count for name, count in calls.counts.items() if name.endswith("wrong")} == {}, calls.problems
    assert calls.counts["right"] >= least, calls.problems
    assert calls.counts["executed right"] == calls.counts["unknown"], calls.problems
    assert calls.counts["unknown"] == 0 or "other:" in text or "itself:" in text, calls.problems


def test_a_register_that_the_callee_has_changed_says_so(require_tool, tmp_path):
    executed(require_tool, tmp_path, "-x assembler", by_hand(OVER_TAIL_CALL))
    core = tmp_path / "x.core"
    commands = "target launch kernel 32 32", "break *last+4", "continue", f"gcore {core}", f"core {core}", "up", "p $v1"
    printed = run("debug", "--batch", str(tmp_path / "other.co"), *(f"-ex={each}" for each in commands)).stdout
    assert "(it is in v1, which the code of the callee may have changed)" in " ".join(printed.split()), printed


def executed(require_tool, folder, words, text, arguments=(), lanes="32"):
    path = folder / "other.co"
    words = ["--target=amdgcn-amd-amdhsa", "-mcpu=gfx1100", *words.split(), "-", "-o", str(path)]
    subprocess.run([require_tool("clang-22"), *words], input=text.encode(), check=True)
    options = {"grid": lanes, "work_group": lanes, "private-size": "4096"}
    calls = ExecutedCalls(path, "kernel", arguments, stacks=1, **options).run()
    assert calls.halt.has_ended
    return calls


WRITTEN_IN_OTHER_LANES = """
s_not_b32 exec_lo, exec_lo; v_mov_b32 v2, 7; s_not_b32 exec_lo, exec_lo
s_xor_b32 exec_lo, exec_lo, -1; v_mov_b32 v2, 7; s_xor_b32 exec_lo, -1, exec_lo
s_xor_saveexec_b32 s4, -1; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_and_not1_saveexec_b32 s4, -1; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_nand_saveexec_b32 s4, -1; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_or_not0_saveexec_b32 s4, exec_lo; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_not_b32 s4, exec_lo; s_mov_b32 s5, exec_lo; s_mov_b32 exec_lo, s4; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s5
s_mov_b32 s4, exec_lo; s_mov_b32 exec_lo, s6; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_or_saveexec_b32 s4, -1; v_cmpx_lt_u32 7, v1; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_or_saveexec_b32 s4, -1; v_cmp_lt_u32 s5, 7, v1; s_mov_b32 exec_lo, s5; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
s_mov_b32 s4, exec_lo; v_cmpx_lt_u32 7, v0; s_not_b32 exec_lo, exec_lo; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
v_cmp_lt_u32 s5, 7, v0; s_and_saveexec_b32 s4, s5; s_not_b32 exec_lo, exec_lo; v_mov_b32 v2, 7; \
s_not_b32 exec_lo, exec_lo; v_mov_b32 v2, 8; s_or_b32 exec_lo, exec_lo, s4
"""


def test_a_register_written_in_lanes_that_were_not_active_is_no_longer_the_callers(require_tool, tmp_path):
    """Of 32 lanes 20 are active, and each function changes v2 in others."""
    bodies = WRITTEN_IN_OTHER_LANES.replace("\\\n", "").strip().split("\n")
    functions = "\n".join(f"f{number}: {body}; s_setpc_b64 s[30:31]" for number, body in enumerate(bodies))
    start = "s_or_saveexec_b32 s4, -1; v_mbcnt_lo_u32_b32 v1, -1, 0; v_mov_b32 v2, v1; s_mov_b32 exec_lo, s4"
    called = "; ".join(f"{start}; s_call_b64 s[30:31], f{number}" for number in range(len(bodies)))
    text = by_hand(functions, f"s_mov_b32 s6, 0xfff00f00; {called}")
    calls = executed(require_tool, tmp_path, "-x assembler", text, lanes="20")
    assert {name: count for name, count in calls.counts.items() if name.endswith("wrong")} == {}, calls.problems
    assert calls.counts["unknown"] == calls.counts["exec unknown"] == 0, calls.problems
    assert calls.counts["v2 right"] >= 2 * len(bodies)  # before it is written
    assert calls.counts["v2 unknown"] >= len(bodies)


WORDS = {
    "setpc": 0xBE801D1E,  # s_setpc_b64 s[30:31]
    "branch": 0xBF840001,  # s_cbranch_scc0 to the instruction after the next
    "move": 0xBE9E0004,  # s_mov_b32 s30, s4
    "keep": 0xBE84001E,  # s_mov_b32 s4, s30
    "end": 0xBF810000,  # s_endpgm
}


@pytest.mark.parametrize(
    "code, offset, expected",
    [
        ("setpc", 0, (30, 0)),
        ("keep setpc", 4, (30, 0)),
        ("move setpc", 4, (4, 0)),
        ("branch move setpc", 8, None),  # one path keeps it
        ("branch setpc move setpc", 12, (4, 0)),
        ("setpc move", 4, "unreached"),
        ("end setpc", 4, "unreached"),
        ("", 0, "unreached"),
    ],
)
def test_where_the_return_address_is(code, offset, expected):
    data = b"".join(WORDS[word].to_bytes(4, "little") for word in code.split())
    reading = CodeReading("gfx90a", 64, 1, lambda _address: (0x1000, data))
    state = reading.function_at(0x1000).state_at(0x1000 + offset)
    assert ("unreached" if state is None else state.scalar(30)) == expected


INDEXING = {"to": 0xBF110806, "from": 0xBF110106}
"""`s_set_gpr_idx_on s6, gpr_idx(DST)`, and with SRC0."""


@pytest.mark.parametrize("way, kept", [("to", (-1, -1)), ("from", (5, 5))])
def test_registers_that_are_indexed_are_unknown_but_for_the_return_address(way, kept):
    save = 0xD28A0005, 0x0001001E, 0xD28A0005, 0x0001021F  # v_writelane_b32 v5, s30, 0; v_writelane_b32 v5, s31, 1
    words = *save, INDEXING[way], 0x7E000304, 0xBF9C0000, WORDS["setpc"]  # v_mov_b32 v0, v4; s_set_gpr_idx_off
    data = b"".join(word.to_bytes(4, "little") for word in words)
    reading = CodeReading("gfx90a", 64, 1, lambda _address: (0x1000, data))
    state = reading.function_at(0x1000).state_at(0x1000 + len(data) - 4)
    assert state.vector(5) == (*kept, {0: (30, 0), 1: (31, 0)})
    assert state.vector(0)[0] == -1


TRAPPING = """
__attribute__((noinline)) static int leaf(int x) { return x * 3; }
__attribute__((noinline)) static int check(int x) { int y = leaf(x); if (y > 9) __builtin_trap(); return leaf(y) + 1; }
__attribute__((amdgpu_kernel)) void kernel(__attribute__((address_space(1))) int *out, int n) { out[0] = check(n); }
"""


@pytest.mark.parametrize("processor, least", [("gfx1100", 11), ("gfx90a", 1), ("gfx1200", 1)])
@pytest.mark.sampled(6)
def test_callers_are_found_behind_a_trap(processor, least, require_tool, tmp_path):
    """At each instruction there, by a state that has stopped at the trap; GFX11 has code that halts the wave."""
    path, state = tmp_path / "trap.co", tmp_path / "trap.json"
    words = f"-x c --target=amdgcn-amd-amdhsa -mcpu={processor} -nogpulib -g -w -O2 - -o {path}"
    subprocess.run([require_tool("clang-22"), *words.split()], input=TRAPPING.encode(), check=True)
    launch = "--grid", "1", "--work-group", "1", "zeros(4,i4)", "50", "--private-size", "4096"
    run("run", str(path), "kernel", *launch, "--state", str(state))
    listing = run("debug", str(path), "-batch", "-ex", "disassemble check").stdout.splitlines()
    trap = next(number for number, line in enumerate(listing) if "s_trap 2" in line)
    behind = [int(line.split()[0], 16) for line in listing[trap + 1 :] if line.startswith("   0x")]
    assert len(behind) >= least
    stopped = json.loads(state.read_text("utf-8"))
    for address in behind:
        for wave in stopped["waves"]:
            wave.pop("calls", None)
            wave["pc"] = hex(int(stopped["code_objects"][0]["load_address"], 0) + address)
        state.write_text(json.dumps(stopped), "utf-8")
        (stack,) = document("bt", str(path), "--state", str(state))["stacks"]
        assert [each["function"] for each in stack["frames"]] == ["check", "kernel"]
        assert [each.get("found") for each in stack["frames"]] == [None, BY_CODE]


def test_a_chain_of_calls_without_an_end_is_read():
    """Each function only calls the next one; what is too far away may change all that the ABI allows."""
    call = (0xBA9E0000 | 1).to_bytes(4, "little")  # s_call_b64 s[30:31], to 8 bytes from here
    reading = CodeReading("gfx90a", 64, 1, lambda address: (address, call + WORDS["setpc"].to_bytes(4, "little")))
    assert reading.function_at(0x1000).clobbers.scalars >= {4, 29}


def test_a_function_that_cannot_be_read_is_asked_for_again():
    """Its bytes, or those of what it calls, may be missing only for a time."""
    call, back = (0xBA9E0000 | 1).to_bytes(4, "little"), WORDS["setpc"].to_bytes(4, "little")
    available = {0x1000: call + back}
    reading = CodeReading("gfx90a", 64, 1, lambda address: (address, available[address]))
    for _time in range(MAX_DEPTH + 2):
        with pytest.raises(KeyError):
            reading.function_at(0x1000)
    available[0x1008] = back
    assert reading.function_at(0x1000) is not None
    assert reading.clobbers_of(0x1008).scalars <= {132}  # SCC


OWN_CONVENTIONS = """
leaf: v_add_nc_u32_e32 v1, v1, v1; s_setpc_b64 s[30:31]
grows: s_add_u32 s32, s32, 64; s_setpc_b64 s[30:31]
widens: s_mov_b32 exec_lo, -1; s_setpc_b64 s[30:31]
narrows: v_cmpx_lt_u32 7, v0; s_setpc_b64 s[30:31]
frame: s_mov_b32 s33, 0x40; s_setpc_b64 s[30:31]
vector: v_mov_b32 v5, s30; v_mov_b32 v6, s31; s_mov_b64 s[30:31], 0; v_mov_b32 v1, 4
  v_readfirstlane_b32 s4, v5; v_readfirstlane_b32 s5, v6; s_setpc_b64 s[4:5]
swaps: s_mov_b64 s[4:5], s[30:31]; s_mov_b64 s[30:31], s[6:7]; s_mov_b64 s[6:7], s[4:5]; s_nop 0; s_setpc_b64 s[6:7]
computes: s_mov_b64 s[40:41], s[30:31]; s_getpc_b64 s[4:5]; s_mov_b32 s8, 24; s_nop 0; s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, 0; s_setpc_b64 s[4:5]; s_mov_b64 s[40:41], 0; s_nop 0; s_setpc_b64 s[40:41]
outer: s_mov_b64 s[36:37], s[30:31]; s_mov_b32 s38, s32; s_mov_b32 s39, exec_lo; s_mov_b32 s42, s33
  CALLS; s_mov_b32 s32, s38; s_mov_b32 s33, s42; s_setpc_b64 s[36:37]
"""


def test_conventions_of_its_own_give_assembly_no_wrong_caller(require_tool, tmp_path):
    """Functions that return with another stack pointer, mask or frame, or keep the return address elsewhere."""
    names = "leaf; grows; leaf; widens; leaf; narrows; leaf; vector; frame; leaf; swaps; computes"
    called = re.sub(r"\w+", r"s_call_b64 s[30:31], \g<0>", names)
    text = by_hand(OWN_CONVENTIONS.replace("CALLS", called.replace("narrows", "narrows; s_mov_b32 exec_lo, s39")))
    calls = executed(require_tool, tmp_path, "-x assembler", text, lanes="20")
    assert {name: count for name, count in calls.counts.items() if name.endswith("wrong")} == {}, calls.problems
    assert calls.counts["right"] > 40, calls.problems


def test_the_wrapper_of_an_opencl_kernel_is_named():
    """clang calls it as the kernel, like the body that it calls."""
    core = ROOT / "dwarfgpu/examples/blur.core"
    out = run("bt", "--state", str(core)).stdout
    assert re.findall(r"#\d .* (?:in )?(\w+) \(\.\.\.\) at blur.cl:\d+(.*)", out) == [
        ("blur", ""), ("blur", " (clang's wrapper, by the code)")]  # fmt: skip
