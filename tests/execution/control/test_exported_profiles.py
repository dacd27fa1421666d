"""Profiles and traces for other viewers: their totals, and what the viewers themselves read."""

import base64
import json
import re
import subprocess
from collections import Counter

import pytest

from dwarfgpu.execution.control import profile as profiles
from dwarfgpu.execution.control.line_traces import LineTrace
from dwarfgpu.execution.control.profile import WEIGHTS, Profile
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.program.code.scopes import SourceCall
from dwarfgpu.program.code.weighted_stacks import StackLevel, StackProfile, WeightedStack
from dwarfgpu.questions.profiles import chrome_trace, written
from dwarfgpu.render.values import value_text
from tests.builders import protobuf
from tests.builders.browser import errors_of
from tests.builders.parameters import for_each
from tests.conftest import lacking

STEPS = ("steps_", {"out": "zeros(128)", "in": [number % 9 + 1 for number in range(128)], "n": 100})
DEEP = ("stacks", {"out": "zeros(128)", "depth": [number % 5 for number in range(128)]})
LOCAL = ("shared_sum", {"out": "zeros(2)", "in": [*range(128)], "cells": 256})
KERNELS = ((("gfx90a", "O0"), STEPS), (("gfx1100", "O2"), STEPS), (("gfx1100", "O0"), DEEP), (("gfx90a", "O2"), LOCAL))


def profiled(path, kernel, args, ordered=False):
    machine = machine_for(path, kernel)
    sizes = {"grid": (128,), "work_group": (64,), "private_size": 8192}
    running = Running(launch(machine, path, kernel, args=args, **sizes))
    profile = Profile(machine.device, running if ordered else None)
    assert running.run().has_ended
    return running, profile


def totals(running, profile):
    """What the table of `--profile` adds up to."""
    rows, lanes = profile.rows(running), profile.lane_count
    found = {name: sum(getattr(row.counts, name.replace(" ", "_").replace("active_", "")) for row in rows)
             for name in ("instructions", "active lanes", "accesses", "transactions", "bank turns")}  # fmt: skip
    return [found.get(name, found["instructions"] * lanes - found["active lanes"]) for name in WEIGHTS]


@for_each("key, kernel", *KERNELS)
@pytest.mark.sampled(4)
def test_the_total_of_each_file_is_that_of_the_profile(built, key, kernel):
    running, profile = profiled(built(*key), *kernel)
    wanted = totals(running, profile)
    assert wanted[0] == running.machine.device.executed
    stacks = profile.stacks(running)
    scope = json.loads(written(stacks, "speedscope"))
    assert [sum(each["weights"]) for each in scope["profiles"]] == wanted
    assert [each["endValue"] for each in scope["profiles"]] == wanted
    found = protobuf.pprof(written(stacks, "pprof"))
    assert found["types"] == [(name, "count") for name in WEIGHTS]
    assert [sum(column) for column in zip(*(values for _stack, values in found["samples"]), strict=True)] == wanted


@for_each("key, kernel", *KERNELS)
@pytest.mark.sampled(6)
def test_slices_of_waves_add_up_and_nest(built, key, kernel):
    running, profile = profiled(built(*key), *kernel, ordered=True)
    events = json.loads(chrome_trace(profile.tracks(running), "k"))["traceEvents"]
    leaves = [event for event in events if event.get("cat") == "line"]
    sums = Counter()
    for event in leaves:
        sums.update({name: event["args"][name] for name in WEIGHTS})
    assert [sums[name] for name in WEIGHTS] == totals(running, profile)
    assert sum(event["dur"] for event in leaves) == running.machine.device.executed
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    waves = set(running.machine.ids)
    assert names == {f"wave {wave}" for wave in waves} | {"work-group (0,0,0)", "work-group (1,0,0)"}
    for tid in {event["tid"] for event in events}:
        open_until = []
        slices = [event for event in events if event["tid"] == tid and event["ph"] == "X"]
        for event in sorted(slices, key=lambda each: (each["ts"], -each["dur"])):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            assert not open_until or event["ts"] + event["dur"] <= open_until[-1]
            open_until.append(event["ts"] + event["dur"])
    called = {event["name"] for event in events if event.get("cat") == "call"}
    assert called >= ({"helper"} if kernel is STEPS else {"deep"} if kernel is DEEP else {"shared_sum"})


def test_waves_with_other_callers_are_other_stacks(built):
    running, profile = profiled(built("gfx1100", "O0"), *DEEP)
    stacks = profile.stacks(running).stacks
    names = [[call.function for call in stack.calls] for stack in stacks]
    depths = Counter(each.count("deep") for each in names)
    assert set(depths) == {0, 1, 2, 3, 4, 5}
    assert all(each[0] == "stacks" for each in names)
    entries = {each.count("deep"): stack.weights for each, stack in zip(reversed(names), reversed(stacks), strict=True)}
    waves = running.machine.wave_count
    assert {depth: weights[0] for depth, weights in entries.items()} == dict.fromkeys(range(6), waves)


def test_what_is_too_much_for_a_trace_is_one_slice(built, monkeypatch):
    monkeypatch.setattr(profiles, "MOST_SLICES", 40)
    running, profile = profiled(built("gfx90a", "O0"), *STEPS, ordered=True)
    tracks = profile.tracks(running)
    assert sum(part.instructions for track in tracks for part in track.parts) == running.machine.device.executed
    assert tracks[0].parts[-1].calls[0].function == "[not kept: too many slices]"


@pytest.mark.parametrize("lines", [False, True])
def test_a_trace_of_a_wave_is_a_track(built, lines):
    path, args = built("gfx90a", "O2"), {"out": "zeros(64)", "in": [7] * 64, "n": 64}
    running = Running(launch(machine_for(path, "steps_"), path, "steps_", grid=(64,), work_group=(64,), args=args))
    steps = []
    trace = LineTrace(running, steps.append, value_text) if lines else StepTrace(running, steps.append)
    assert running.run().has_ended
    trace.end()
    track = trace.track(steps)
    first = steps[0].time
    assert sum(part.instructions for part in track.parts) == running.machine.device.executed - first
    assert [part.text for part in track.parts] == [step.text for step in steps]
    events = json.loads(chrome_trace([track], "steps_"))["traceEvents"]
    if not lines:
        texts = [event["name"] for event in events if event.get("cat") == "instruction"]
        assert Counter(texts) == Counter(step.text for step in steps)
        assert {event["dur"] for event in events if event.get("cat") == "instruction"} == {1}
    assert {"steps_", "helper"} <= {event["name"] for event in events if event.get("cat") == "call"} | {"helper"}


@for_each("key, kernel", *KERNELS, (("gfx1200", "O2"), STEPS))
@pytest.mark.sampled(6)
def test_each_address_has_the_lines_and_inlined_calls_of_the_symbolizer(built, key, kernel, require_tool):
    symbolizer, path = require_tool("llvm-symbolizer-22"), built(*key)
    running, profile = profiled(path, *kernel)
    found = protobuf.pprof(written(profile.stacks(running), "pprof"))
    locations = {address: lines for stack, _values in found["samples"] for address, lines in stack}
    command = [symbolizer, "--obj", path, "--inlines", "--no-demangle", "--output-style=JSON", *map(hex, locations)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for answer in json.loads(printed):
        wanted = [(each["FunctionName"], each["FileName"].rpartition("/")[2], each["Line"], each["Column"])
                  for each in answer["Symbol"]]  # fmt: skip
        lines = locations[int(answer["Address"], 16)]
        assert [(linkage, file.rpartition("/")[2], line, column) for _, linkage, file, line, column in lines] == wanted
    mapping = found["mapping"]
    assert all(mapping[2] <= address < mapping[3] for address in locations)


def test_pprof_reads_it(built, require_tool, tmp_path):
    running, profile = profiled(built("gfx1100", "O0"), *DEEP)
    path = tmp_path / "deep.pb.gz"
    path.write_bytes(written(profile.stacks(running), "pprof"))
    go, environment = require_tool("go"), {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    raw = subprocess.run([go, "tool", "pprof", "-raw", path], capture_output=True, text=True, check=True,
                         env=environment).stdout  # fmt: skip
    head, _, rest = raw.partition("Samples:\n")
    names, *samples = rest.partition("Locations\n")[0].splitlines()
    assert "dwarfgpu" in head
    assert names == " ".join(f"{name}/count{'[dflt]' * (name == 'instructions')}" for name in WEIGHTS)
    columns = zip(*([*map(int, line.partition(":")[0].split())] for line in samples), strict=True)
    assert [sum(column) for column in columns] == totals(running, profile)
    top = subprocess.run([go, "tool", "pprof", "-top", "-cum", path], capture_output=True, text=True, check=True,
                         env=environment).stdout  # fmt: skip
    assert re.search(rf"\s{running.machine.device.executed}\s+100%\s+stacks$", top, re.MULTILINE)


@pytest.fixture(scope="module")
def speedscope(require_tool, browser, tmp_path_factory):
    """``speedscope("name", content)`` is the text of the sandwich view into which speedscope puts a file."""
    folder = tmp_path_factory.mktemp("speedscope")
    command = [require_tool("npm"), "install", "speedscope@1.25.0", "--no-audit", "--no-fund", "--prefix", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise lacking(f"npm installs no speedscope: {done.stderr[-200:]}")

    def load(name, content):
        script = folder / "load.js"
        encoded = json.dumps(base64.b64encode(content).decode())
        script.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, {encoded})")
        page = folder / "node_modules/speedscope/dist/release/index.html"
        url = f"{page.as_uri()}#localProfilePath={script}&view=sandwich"
        opened = type("Opened", (), {"as_uri": lambda _self: url})()
        done = browser(opened, 1200, "--dump-dom", "--enable-unsafe-swiftshader", "--virtual-time-budget=8000")
        assert any("import: " in line for line in errors_of(done)), done.stderr[-500:]
        return re.sub(r"<style.*?</style>|<[^>]*>", " ", done.stdout, flags=re.DOTALL)

    return load


@pytest.mark.slow
def test_speedscope_reads_what_it_can(built, speedscope):
    running, profile = profiled(built("gfx90a", "O0"), *STEPS, ordered=True)
    stacks = profile.stacks(running)
    whole = f"{running.machine.device.executed:,} (100%)"
    for name, kind in (("k.speedscope.json", "speedscope"), ("k.pb.gz", "pprof")):
        text = " ".join(speedscope(name, written(stacks, kind)).split())
        assert f"{whole} " in text, kind
        assert "helper" in text
    wave = profile.tracks(running)[0]
    text = speedscope("k.trace.json", chrome_trace([wave], "steps_"))
    assert "kernels.cl:9" in text
    assert '"transactions"' in text


def test_names_that_formats_give_a_meaning():
    call = SourceCall("a;b\nc <(int)>", None, None, inlined=False, offset=None)
    nothing = SourceCall(None, None, None, inlined=False, offset=None)
    stack = WeightedStack((StackLevel(16, (nothing,)), StackLevel(-1, (call,))), (3, (1 << 64) - 1))
    profile = StackProfile("k\nx", ("instructions", "active lanes"), (stack,), "f\no", (0, 99), "ab12")
    ((levels, values),) = protobuf.pprof(written(profile, "pprof"))["samples"]
    assert values == [3, (1 << 64) - 1]
    assert [address for address, _lines in levels] == [16, None]
    assert json.loads(written(profile, "speedscope"))["shared"]["frames"][0] == {"name": "a;b\nc <(int)>"}
