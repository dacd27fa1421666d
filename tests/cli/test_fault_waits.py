"""What `fault` says of states that hang, made by `run`: snapshots, the core files made of them, and the prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.execution.control.checkpoints import History
from dwarfgpu.program.code.code_object import opened
from tests.builders import kept

pytestmark = pytest.mark.usefixtures("patience")

SOURCE = Path(__file__).with_name("hangs.cl")
HANGS = {
    "late": (
        "waves 1,3 wait at the barrier of {barrier}; not there: wave 2",
        "wave 2 is in the loop of {spin} wave 2 cannot leave it while it reads: 4 bytes at 0x",
        "(`flag`): 0, compared with 0 (v_cmp_",
    ),
    "gone": ("wave 2 waits at the barrier of {barrier}; not there: wave 3", "wave 1 has ended"),
    "halts": ("wave 2 is halted at {halt}", "waves 1,3 wait at the barrier of {barrier}; not there: wave 2"),
    "loads": ("these may wait: work-group (0,0,0): waves 1-3 are at a wait, {load}",),
    "lock": ("in the loop of {spin}", "cannot leave it while it reads: 4 bytes at", "(`flag`): 1"),
    "swap": ("in the loop of {spin}", "cannot leave it while it reads: 4 bytes at", "(`flag`): 1"),
    "sleep": ("in the loop of {spin}", "cannot leave it while it reads", "(`flag`): 0, compared with 7 (v_cmp_"),
    "group": ("in the loop of {spin}", "4 bytes at local 0x0 (`ready`): 3, compared with 9 (v_cmp_"),
    "two": (
        "wave 1 waits at the barrier of {first}; not there: wave 2",
        "wave 3 waits at the barrier of {barrier}; not there: wave 2",
    ),
    "split": (
        "wave 1 waits at the barrier of {barrier}; not signalled: wave 3",
        "wave 3 is in the loop of {late} wave 3 cannot",
        "wave 2 is in the loop of {spin}; it has signalled the barrier wave 2 cannot",
    ),
}
"""What is said of each kernel, with the lines of its marks."""
BUILDS = [
    ("gfx1100", "O0"),
    *(
        pytest.param(processor, level, marks=pytest.mark.slow)
        for processor in ("gfx803", "gfx90a", "gfx1030", "gfx1100", "gfx1200")
        for level in ("O0", "O2")
        if (processor, level) not in {("gfx1100", "O0"), ("gfx803", "O0")}  # which needs a queue
    )]  # fmt: skip


@pytest.fixture(scope="module")
def built(require_tool: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    clang, folder = require_tool("clang-22"), tmp_path_factory.mktemp("hangs")

    @cache
    def build(processor: str, level: str) -> Path:
        threads = 3 * (64 if processor in ("gfx803", "gfx90a") else 32)
        words = f"-target amdgcn-amd-amdhsa -mcpu={processor} -x cl -cl-std=CL2.0 -Xclang -finclude-default-header"
        options = [*words.split(), "-g", f"-{level}", "-w", "-nogpulib", f"-DTHREADS={threads}", SOURCE]
        return Path(kept.built([clang, *options], folder / f"{processor}.{level}.co"))

    return build


@pytest.fixture
def hang(run: Any, built: Any, tmp_path: Path) -> Any:
    """Let a kernel hang: its file, and the snapshot of it."""

    def hang(kernel: str, processor: str, level: str, groups: int = 1) -> tuple[Path, Path]:
        limit = (60000 if kernel == "split" else 20000) * groups
        file, state = built(processor, level), tmp_path / "hang.json"
        size = 192 if processor in ("gfx803", "gfx90a") else 96
        words = ("--grid", groups * size, "--work-group", size, "flag=zeros(1)", f"out=zeros({size})", "--limit", limit)
        run("run", file, kernel, *words, "--state", state)
        return file, state

    return hang


def expected(kernel: str, processor: str = "", sentences: Sequence[str] = ()) -> list[str]:
    """Return the sentences of a kernel, with the lines of its marks."""
    absent = "not signalled" if processor == "gfx1200" else "not there"
    text = SOURCE.read_text("utf-8")
    start, marks = text.index(f"KERNEL {kernel}("), {}
    for match in re.finditer(r"// (\w+)$", text[start:].partition("\n}\n")[0], re.MULTILINE):
        marks[match[1]] = f"hangs.cl:{text.count(chr(10), 0, start + match.start()) + 1}"
    return [sentence.format(**marks).replace("not there", absent) for sentence in sentences or HANGS[kernel]]


def said(text: str, level: str = "O0") -> str:
    """Return a text as one line. At -O2 a state does not say whether the arguments of the first turn have arrived."""
    words = " ".join(text.split())
    unsure = (("probably cannot", "cannot"), ("these may wait", "these wait")) if level == "O2" else ()
    for sentence, certain in unsure:
        words = words.replace(sentence, certain)
    return words


@pytest.mark.parametrize("processor, level", BUILDS)
@pytest.mark.parametrize("kernel", [name for name in HANGS if name not in ("loads", "split")])
@pytest.mark.sampled(12)
def test_who_waits_for_whom(run, hang, tmp_path, kernel, processor, level):
    file, state = hang(kernel, processor, level)
    status, text, _ = run("fault", state, file)
    assert status == 0
    for sentence in ("no wave has crashed; these wait:", *expected(kernel, processor)):
        assert sentence in said(text, level)
    assert run("debug", file, "--state", state, "-batch", "-ex", "info fault")[1].endswith(text)
    core = tmp_path / "hang.core"
    run("debug", file, "--state", state, "-batch", "-ex", f"generate-core-file {core}")
    if not core.exists():
        return  # waves of GFX8
    text = said(run("fault", core, file)[1], level)
    for sentence in expected(kernel, processor):
        assert sentence.replace("has ended", "is at its end") in text  # a core file does not have the difference
    if level == "O0":  # nor the past, in which a wave took the lock
        is_told = "if this is a lock, one of them holds it, or a wave that has ended" in text
        assert is_told == (kernel in ("late", "gone", "lock", "swap", "sleep", "group", "two", "split"))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O0", "O2"])
def test_who_has_signalled(run, hang, tmp_path, level):
    test_who_waits_for_whom(run, hang, tmp_path, "split", "gfx1200", level)


@pytest.mark.parametrize("kernel, word, why", [
    ("halts", None, "wave 2 is halted"), ("rests", "s_sleep", "waves 1-3 may sleep (s_sleep)"),
])  # fmt: skip
@pytest.mark.parametrize("form", ["snapshot", "core"])
def test_every_view_says_that_a_wave_is_halted_or_may_sleep(run, hang, tmp_path, kernel, word, why, form):
    file, state = hang(kernel, "gfx1100", "O0")
    if word is not None:
        listing = run("debug", file, "-batch", "-ex", f"disassemble __clang_ocl_kern_imp_{kernel}")[1].splitlines()
        (at,) = (int(line.split()[0], 16) for line in listing if word in line)
        stopped = json.loads(state.read_text("utf-8"))
        for wave in stopped["waves"]:
            wave["pc"] = hex(int(stopped["code_objects"][0]["load_address"], 0) + at + (4 if form == "core" else 0))
            wave.pop("stop_detail", None)
        state.write_text(json.dumps(stopped), "utf-8")
    if form == "core":
        run("debug", file, "--state", state, "-batch", "-ex", f"generate-core-file {tmp_path / 'hang.core'}")
        state = tmp_path / "hang.core"
    detail = why.partition(" ")[2].partition(" ")[2]
    assert f"[{why.capitalize()}]" in said(run("bt", file, "--state", state, "--wave", "all")[1])
    assert f" {detail} " in said(run("waves", file, "--state", state)[1])
    assert f"{why.removesuffix(' (s_sleep)')} at " in said(run("fault", state, file)[1])
    (stops,) = (
        stack["stops"]
        for stack in json.loads(run("bt", file, "--state", state, "--wave", "all", "--json")[1])["stacks"]
        if "stops" in stack
    )
    assert {row["stop_detail"] for row in stops} == {detail}


@pytest.mark.parametrize("kernel, processor", [("late", "gfx1100"), ("split", "gfx1200")])
@pytest.mark.sampled(4)
def test_waves_whose_registers_do_not_say_that_they_wait(run, hang, tmp_path, kernel, processor):
    file, state = hang(kernel, processor, "O0")
    stopped = json.loads(state.read_text("utf-8"))
    for wave in stopped["waves"]:
        if wave.pop("stop_detail", None) is not None and kernel == "split":  # BARRIER_COMPLETE, at the wait
            wave["registers"]["state_priv"] = "0x4"
            wave["pc"] = hex(int(wave["pc"], 0) - 4)
    state.write_text(json.dumps(stopped), "utf-8")
    core = tmp_path / "hang.core"
    run("debug", file, "--state", state, "-batch", "-ex", f"generate-core-file {core}")
    words = " is at the barrier of hangs.cl:", " are at the barrier of hangs.cl:"
    text = said(run("fault", core, file)[1])
    assert any(each in text for each in words)
    assert " waits at the barrier" not in text


def test_alike_work_groups_are_told_once(run, hang):
    file, state = hang("late", "gfx1100", "O0", 10)
    text = said(run("fault", state, file)[1])
    assert "work-group (0,0,0) and 9 more work-groups alike: waves 1,3 wait at the barrier" in text
    (group,) = json.loads(run("fault", state, file, "--json")[1])["waits"]
    waiting, elsewhere = group["rows"]
    assert (len(group["work_groups"]), group["absent"]) == (10, 0)
    assert (waiting["kind"], len(waiting["waves"])) == ("barrier", 20)
    assert waiting["missing"] == elsewhere["waves"]


CHANGES = {
    "late": "(v_cmp_eq_u32) no wave has changed it since the launch",
    "lock": "(`flag`): 1 wave 1, lane [0], changed it last, at {spin}, and is in this loop itself",
    "handed": "compared with 7 (v_cmp_ne_u32) wave 3, lanes [0-31], changed it last, at {last}, and has ended",
    "busy": "compared with 7 (v_cmp_ne_u32) wave 1, lanes [0-31], changed it last, at {last} ",
}
"""Who has changed last what a loop reads: nobody, a lane of the same wave, one that has ended, one that goes on."""


@pytest.mark.parametrize("kernel, groups", [*((kernel, 1) for kernel in CHANGES), ("lock", 6)])
@pytest.mark.sampled(6)
def test_who_has_changed_last_what_a_loop_reads(run, hang, tmp_path, kernel, groups):
    file, state = hang(kernel, "gfx1100", "O0", groups)
    (sentence,) = expected(kernel, sentences=(CHANGES[kernel],))
    text = run("fault", state, file)[1]
    assert sentence in said(text) + " "
    run("snapshot", "convert", state, tmp_path / "hang.dgs")
    assert run("fault", tmp_path / "hang.dgs", file)[1] == text


@pytest.mark.slow
def test_few_instructions_tell_who_has_changed_it_last_if_nothing_can_change_any_more(run, hang, monkeypatch):
    """Where the machine is slow, there is no time for more."""
    monkeypatch.setattr("dwarfgpu.audits.faults.last_changes.MOST_SECONDS", 10.0)
    told: list[int] = []
    replayed = History.replayed
    monkeypatch.setattr(History, "replayed", lambda *words: told.append(words[1]) or replayed(*words))
    file, state = hang("lock", "gfx1100", "O2")
    assert told == [10_000]
    assert "changed it last" in run("fault", state, file)[1]


def test_a_limit_hints_at_what_waves_wait_for(run, built, tmp_path):
    words = ("run", built("gfx1100", "O0"), "late", "--grid", 96, "--work-group", 96, "zeros(1)", "zeros(96)")
    state = tmp_path / "limit.json"
    hint = f"`dwarfgpu fault {state}` says what the waves wait for"
    assert f"hint: {hint}" in said(run(*words, "--limit", 9000, "--state", state)[2])
    assert "hint: add --state STATE.json to save the waves: `dwarfgpu fault" in said(run(*words, "--limit", 9000)[2])


@pytest.mark.slow
def test_the_last_change_is_known_only_if_nothing_can_change_any_more(run, hang, tmp_path, monkeypatch):
    monkeypatch.setattr("dwarfgpu.audits.faults.last_changes.MOST", (18000,))
    for kernel, is_known in (("handed", True), ("busy", False)):
        file, state = hang(kernel, "gfx1100", "O0")
        assert ("changed it last" in run("fault", state, file)[1]) == is_known
        state.unlink()


def test_a_long_search_for_the_last_change_is_cut(run, hang, monkeypatch):
    monkeypatch.setattr("dwarfgpu.audits.faults.last_changes.MOST_SECONDS", 0.0)
    file, state = hang("handed", "gfx1100", "O0")
    text = said(run("debug", file, "-batch", "-ex", "target launch handed 96 96 zeros(1) zeros(96)", "-ex=continue",
                    "-ex=info fault")[1])  # fmt: skip
    assert "who changed it last was not found in 0 s: `watch` goes further wave " in text
    assert "changed it last, at" not in text
    assert "changed it last" not in said(run("fault", state, file)[1])


@pytest.mark.slow
def test_the_last_change_at_the_prompt(run, built):
    launch = "target launch handed 96 96 zeros(1) zeros(96)"
    words = ("info fault", "print *flag", "info fault", "reverse-stepi", "info line")
    commands = [word for each in (launch, "continue", *words) for word in ("-ex", each)]
    text = said(run("debug", built("gfx1100", "O0"), "-batch", *commands)[1])
    (sentence,) = expected("handed", sentences=(CHANGES["handed"],))
    assert text.count(sentence) == 2
    assert "$1 = 2" in text


LOADS = {"gfx803": "flat_load_dword v", "gfx1100": "global_load_b32 v", "gfx1200": "global_load_b32 v"}


@pytest.mark.parametrize("processor", LOADS)
def test_the_loads_that_a_wait_is_for(run, hang, processor):
    file, state = hang("loads", processor, "O2")
    check = MemoryCheck(opened(str(file)))
    (function,) = check.code.functions("loads")
    names = [step.instruction.name for step in function.steps]
    load = next(i for i, name in enumerate(names) if name.startswith(("flat_load", "global_load")))
    wait = next(i for i, name in enumerate(names) if i > load and name.startswith("s_wait"))
    stopped = json.loads(state.read_text("utf-8"))
    start = int(stopped["code_objects"][0]["load_address"], 0)
    for wave in stopped["waves"]:
        del wave["stop_detail"]
        wave["pc"] = hex(start + function.addresses[wait])
    state.write_text(json.dumps(stopped), "utf-8")
    text = said(run("fault", state, file)[1])
    assert [sentence for sentence in expected("loads") if sentence not in text] == []
    assert f"may be in flight: {LOADS[processor]}" in text


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["counts", "works", "tells"])
@pytest.mark.parametrize("processor, level", BUILDS)
def test_loops_that_change_something_are_not_called_endless(run, hang, kernel, processor, level):
    file, state = hang(kernel, processor, level)
    assert "cannot leave" not in run("fault", state, file)[1]


BESIDE_BARRIER = """kernel void beside(global int *out) {
  local int pair[2], t[64];
  int l = get_local_id(0);
  t[l] = pair[l & 1] = l;
  if (l < THREADS)
    barrier(CLK_LOCAL_MEM_FENCE);
  else
    while (t[1] < 5)
      ;
  out[l] = t[63 - l];
}
"""


def test_a_loop_in_local_memory_beside_a_barrier(run, require_tool, tmp_path):
    """The run says who waits for the waves in the loop, and `info fault` what the loop reads."""
    require_tool("clang-22")
    source = tmp_path / "b.cl"
    source.write_text(BESIDE_BARRIER.replace("THREADS", "32"))
    sizes = "--grid=64", "--work-group=64", "out=zeros(64)"
    _status, text, _ = run("run", source, "beside", *sizes)
    assert re.search(r"the loop: (\S*/)?b\.cl:8\n", text)
    assert re.search(r"\n  wave 1:1:1:1 waits at the barrier of\s+(\S*/)?b\.cl:6\n", text)
    loop = json.loads(run("run", source, "beside", *sizes, "--json")[1])["stop"]["loop"]
    assert [(each["waves"], each["line"]) for each in loop["waiting"]] == [(["1:1:1:1"], 6)]
    text = run("debug", source, "beside", *sizes, "-batch", "-ex", "run", "-ex", "info fault")[1]
    assert re.search(r"4 bytes at local 0x[0-9a-f]+ \(`t \+ 4`\): 1, compared with", text)
