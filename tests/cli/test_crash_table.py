"""What `fault` says of the crashes in crashes.txt, as snapshots and as core files, for processors of every family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.code_objects import run as call

FOLDER = Path(__file__).parent
CRASHES = [
    [cell.strip() for cell in line.split("|")]
    for line in (FOLDER / "crashes.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
MARKS = {
    line.partition("// ")[2].strip(): number
    for number, line in enumerate((FOLDER / "crashes.cl").read_text("utf-8").splitlines(), 1)
    if "  // " in line
}
PROCESSORS = {
    "gfx803": 64, "gfx906": 64, "gfx90a": 64, "gfx942": 64, "gfx1010": 32, "gfx1030": 32, "gfx1100": 32, "gfx1200": 32
}  # fmt: skip
"""Processors, with the lanes of a wave."""
BUILDS = [(processor, level) for level in ("O0", "O2") for processor in PROCESSORS]
STEP = 8
"""A build has every eighth crash, another eighth than its neighbours: each crash is tried with two builds."""


def test_every_crash_has_a_line() -> None:
    assert len(CRASHES) >= 80
    assert {crash[3] for crash in CRASHES} - set(MARKS) == {"deep"}


def compiled(folder: Path, tools: Any, processor: str, level: str) -> Path:
    """Return the kernels as a code object."""
    tools("ld.lld-22")
    code = folder / "crashes.co"
    version = 4 if processor == "gfx803" else 5  # clang gives traps of gfx803 no queue from version 5 on
    options = f"-mcpu={processor} -{level} -mcode-object-version={version} -nogpulib -g -w"
    words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", *options.split()]
    call(tools("clang-22"), *words, FOLDER / "crashes.cl", "-o", code)
    return code


@pytest.mark.slow
@pytest.mark.parametrize("processor, level", BUILDS)
def test_crashes(processor: str, level: str, run: Any, tmp_path: Path, require_tool: Any) -> None:
    code = compiled(tmp_path, require_tool, processor, level)
    wrong, silent, answers = [], [], 0
    for number in range(BUILDS.index((processor, level)) % STEP, len(CRASHES), STEP):
        kernel, arguments, grid, *_expected = CRASHES[number]
        state, core = tmp_path / f"{number}.json", tmp_path / f"{number}.core"
        made = run("run", code, kernel, *arguments.split(), "--grid", grid, "--work-group", 64, "--state", state)
        assert made[0] == 1, (kernel, arguments, made)
        states = [state]
        if processor != "gfx803":  # no known kernel driver writes core files for it
            assert run("debug", code, "--state", state, "-batch", "-ex", f"generate-core-file {core}")[0] == 0
            states.append(core)
        for saved in states:
            fault = json.loads(run("fault", saved, code, "--json")[1])["faults"][0]
            text = " ".join(run("fault", saved, code)[1].split())
            problems = [*mistakes(CRASHES[number], fault, text, PROCESSORS[processor])]
            answers += 1
            if problems:
                wrong.append((kernel, arguments, saved.suffix, *problems))
                if "probably " not in text and " one of " not in text:
                    silent.append(wrong[-1])
    print(f"{processor} {level}: {answers - len(wrong)} of {answers} right")
    assert not silent
    assert len(wrong) <= 0.05 * answers, wrong


def mistakes(crash: list[str], fault: dict[str, Any], text: str, width: int) -> Any:
    """Yield what an answer says otherwise than the table."""
    _kernel, _arguments, _grid, mark, items, missed, distance = crash
    where = f":{MARKS[mark]}" if mark in MARKS else mark
    if not (fault["source"] if mark in MARKS else fault["function"]).endswith(where):
        yield f"{fault['source']} is not {where}"
    access = fault["accesses"][0] if fault["accesses"] else {"missed": [], "null": False}
    found: set[int] = set()
    for row in access.get("outside", fault["executing"]):
        first = width * (int(row["wave"].split(":")[3]) - 1)
        found.update(first + lane for lane in row["lanes"] or range(width))
    if found != expected(items):
        yield f"the work-items are {sorted(found)}"
    if [row["argument"] for row in access["missed"]] != ([] if missed == "-" else missed.split(",")):
        yield f"missed {access['missed']}"
    elif distance[0] in "-0123456789" and missed != "-":
        row = access["missed"][0]
        if [row["nearest"], row["farthest"]] != [int(word) for word in distance.split()]:
            yield f"the distance is {row['nearest']} to {row['farthest']}"
    elif distance not in "null ? -" and distance not in text:
        yield f"nothing is {distance}"
    if " " in items and missed == "half_used" and "; other lanes up to 8 bytes before the start" not in text:
        yield "the lanes on the other side are left out"
    if access["null"] != (distance == "null"):
        yield f"null: {access['null']}"


def expected(items: str) -> set[int]:
    """Return the work-items of a text such as ``0 33-63:2``."""
    found: set[int] = set()
    for part in items.split():
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


IMPRECISE = {
    "in the page": (16, "c", ["stores.c", "stores.b"], "its lanes are in the page of the fault"),
    "near": (16, None, ["stores.c", "stores.b"], "its lanes are the nearest to a buffer"),
    "order": (0, None, ["stores.b", "stores.c"], "it is the first in the code")}  # fmt: skip
"""How far b is indexed behind, the buffer whose page is reported, the lines of the candidates, and why the first is."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", IMPRECISE)
def test_candidates_in_flight_are_ranked(kind: str, run: Any, tmp_path: Path, require_tool: Any) -> None:
    """Where three stores are in flight, and b has 10 elements and c 60, as hardware says it: later, without lanes."""
    by, page, marks, why = IMPRECISE[kind]
    arguments = ["a=zeros(64)", "b=zeros(80)", "c=zeros(64)", f"by={by}"]
    code, state, starts = imprecise(tmp_path, run, require_tool, "stores", arguments, "s_endpgm", {"b": 10, "c": 60})
    reported = [] if page is None else ["--address", hex(starts[page] + 240)]
    (fault,) = json.loads(run("fault", state, code, *reported, "--json")[1])["faults"]
    lines = [access["source"].rpartition(":")[2] for access in fault["accesses"]]
    assert lines == [str(MARKS[mark]) for mark in marks]
    assert fault["rank"] == why
    text = " ".join(run("fault", state, code, *reported)[1].split())
    assert f"one of 2 accesses; the first is the likeliest: {why}" in text


MASKED = {
    "s_waitcnt": "EXEC was written since, so some of the lanes may not have executed it",
    "s_endpgm": "outstanding too, and may have failed: global_store_b32 v[2:3], v4, off of",
}
"""What is said of the store of half of the lanes: before its registers are written, and afterwards."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MASKED)
def test_what_is_uncertain_is_said(name: str, run: Any, tmp_path: Path, require_tool: Any) -> None:
    """At the last instruction with a name, behind the end of the branch in which the store is."""
    arguments = ["a=zeros(64)", "b=zeros(64)"]
    code, state, _starts = imprecise(tmp_path, run, require_tool, "masked", arguments, name, {"a": 10})
    assert MASKED[name] in " ".join(run("fault", state, code)[1].split())


def imprecise(
    folder: Path, run: Any, tools: Any, kernel: str, arguments: list[str], name: str, kept: dict[str, int]
) -> tuple[Path, Path, dict[str, int]]:
    """Return code, a state as hardware saves it, and the addresses of arguments.

    The kernel has run to the last instruction with a name; then buffers lose all but their first elements.
    """
    code, state = compiled(folder, tools, "gfx1100", "O2"), folder / "s.json"
    listing = run("debug", code, "-batch", "-ex", f"disassemble {kernel}")[1].splitlines()
    end = [line.split()[0] for line in listing if name in line][-1]
    launch = ["--grid", 64, "--work-group", 64, "--until", hex(0x7F0000000000 + int(end, 16)), "--state", state]
    assert run("run", code, kernel, *arguments, *launch)[0] == 0
    given = json.loads(run("debug", code, "--state", state, "-batch", "-ex", "info kernel-args -json")[1])["arguments"]
    starts = {argument["name"]: argument["value"] for argument in given}
    sizes = {hex(starts[argument]): 8 * count for argument, count in kept.items()}
    snapshot = json.loads(state.read_text("utf-8"))
    for row in snapshot["memory"]:
        row["bytes"] = row["bytes"][: sizes.get(row["address"])]
    for wave in snapshot["waves"]:
        wave["stop"] = {"reasons": ["MEMORY_VIOLATION"]}
    state.write_text(json.dumps(snapshot), "utf-8")
    return code, state, starts
