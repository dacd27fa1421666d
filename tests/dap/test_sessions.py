"""What editors see: breakpoints, lanes, steps both ways, variables, memory, and the ends of sessions."""

import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator

import pytest

from dwarfgpu.dap.requests import REQUESTS
from dwarfgpu.execution.checks.findings import CHECKS
from tests.builders.dap_client import INITIALIZE, KERNELS, LAUNCH, LocalClient, title
from tests.builders.dap_protocol import fields_of, table
from tests.builders.folders import FIXTURES, ROOT

LANE_PC = {
    "program": str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"),
    "state": str(ROOT / "dwarfgpu/examples/variables.json"),
}
LINES = KERNELS.read_text().splitlines()


def line_of(text: str) -> int:
    """Return the number of the line that has a text."""
    return next(number for number, line in enumerate(LINES, 1) if text in line)


LEFT, EVEN, ODD, STEP = map(line_of, ("int left", "int even", "int odd", "result += step"))
OUT = line_of("out[GROUP * 64 + lane] = result")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalClient]:
    monkeypatch.chdir(".")  # a configuration may choose another folder
    client = LocalClient()
    yield client
    client.close()


# --- Capabilities ---------------------------------------------------------------------------------------------------


def test_what_is_declared_is_there(client: LocalClient) -> None:
    declared = client.ask("initialize", **INITIALIZE)
    known = fields_of("Capabilities")
    wanted = {row.capability for row in REQUESTS.values() if row.capability}
    assert wanted <= set(declared) <= set(known)
    requests = {name.removesuffix("Request") for name in table()[0] if name.endswith("Request")}
    own = {name for name in REQUESTS if "/" not in name}
    assert own <= {name[:1].lower() + name[1:] for name in requests}
    for name in sorted(own):
        REQUESTS[name].load()
    filters = {each["filter"] for each in declared["exceptionBreakpointFilters"]}
    assert filters == {"fault", "trap", *CHECKS}
    assert "there is no request 'stepInTargets'" in client.fails("stepInTargets", frameId=1)
    assert "supportsStepInTargetsRequest" not in declared


# --- Breakpoints ----------------------------------------------------------------------------------------------------


def test_the_order_of_messages(client: LocalClient) -> None:
    stop = client.launched(STEP)
    assert (stop["reason"], stop["threadId"], stop["hitBreakpointIds"]) == ("breakpoint", 1, [1])
    assert "with lanes [41-63]" in stop["text"]
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    client.ask("continue", threadId=1)
    client.event("terminated")
    titles = [title(each) for each in client.log]
    assert [each for each in titles if not each.startswith("progress")] == [  # of what takes more than a second
        "<initialize", "initialized", "<setBreakpoints", "process", "<configurationDone", "<launch", "stopped",
        "<setBreakpoints", "continued", "<continue", "exited", "terminated",
    ]  # fmt: skip


def test_breakpoints_of_all_kinds(client: LocalClient) -> None:
    client.start(**LAUNCH)
    source = {"path": str(KERNELS)}
    body = client.ask(
        "setBreakpoints", source=source,
        breakpoints=[{"line": LEFT - 1}, {"line": 3000}, {"line": STEP, "condition": "nothing > 3"}],
    )["breakpoints"]  # fmt: skip
    assert [each["verified"] for each in body] == [True, False, False]
    assert body[0]["source"]["path"] == str(KERNELS)
    assert "no code belongs" in body[1]["message"]
    assert "nothing" in body[2]["message"]
    (named,) = client.ask("setFunctionBreakpoints", breakpoints=[{"name": "divergent"}])["breakpoints"]
    assert named["verified"]
    client.ask("configurationDone")
    stop = client.event("stopped")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("function breakpoint", [named["id"]])
    (same,) = client.ask("setFunctionBreakpoints", breakpoints=[{"name": "divergent"}])["breakpoints"]
    assert same["id"] == named["id"]
    assert client.ask("setFunctionBreakpoints", breakpoints=[])["breakpoints"] == []
    assert client.ask("setBreakpoints", source=source, breakpoints=[])["breakpoints"] == []
    here = {"instructionReference": hex(int(body[0]["instructionReference"], 0) - 8), "offset": 8}
    (at,) = client.ask("setInstructionBreakpoints", breakpoints=[here])["breakpoints"]
    assert at["instructionReference"] == body[0]["instructionReference"]
    stop = client.goes("continue")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("instruction breakpoint", [at["id"]])
    lines = client.ask("breakpointLocations", source=source, line=LEFT, endLine=ODD)["breakpoints"]
    assert {"line": EVEN} in lines
    assert all(LEFT <= each["line"] <= ODD for each in lines)


@pytest.mark.parametrize("hits, first", [("3", 2), ("== 3", 2), ("> 3", 3), ("% 5", 4), (None, 0)])
def test_conditions_on_lanes_and_hits(client: LocalClient, hits: str | None, first: int) -> None:
    point = {"line": STEP, "condition": "rest == 23"} | ({} if hits is None else {"hitCondition": hits})
    stop = client.launched(point)
    assert "with lane [63]" in stop["text"]
    assert client.value("step") == str(first)


def test_a_hit_condition_that_is_none_is_refused(client: LocalClient) -> None:
    client.start(**LAUNCH)
    points = [{"line": STEP, "hitCondition": "often"}]
    (body,) = client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=points)["breakpoints"]
    assert "hit condition 'often'" in body["message"]


def test_log_points_print_and_do_not_stop(client: LocalClient) -> None:
    logs = {"line": EVEN, "logMessage": "left {left} of {limit}", "condition": "lane < 4"}
    stop = client.launched(logs, OUT)
    printed = [each["body"]["output"] for each in client.log if each.get("event") == "output"]
    assert sorted(printed) == ["left 0 of 40\n"] * 2 + ["left 4 of 40\n"] * 2
    assert len(stop["hitBreakpointIds"]) == 1


def test_breakpoints_that_are_set_early_or_while_the_kernel_runs(client: LocalClient) -> None:
    client.ask("initialize", **INITIALIZE)
    early = {"source": {"path": str(KERNELS)}, "breakpoints": [{"line": STEP}]}
    (body,) = client.ask("setBreakpoints", **early)["breakpoints"]
    assert (body["verified"], body["reason"]) == (False, "pending")
    client.send("launch", **{**LAUNCH, "args": {"out": "zeros(128)", "limit": -2000000000}})
    changed = client.event("breakpoint")["breakpoint"]
    assert (changed["id"], changed["verified"], changed["line"]) == (body["id"], True, STEP)
    client.event("initialized")
    client.ask("setBreakpoints", source=early["source"], breakpoints=[])
    client.ask("configurationDone")
    client.event("process")
    assert client.ask("threads")["threads"] == [{"id": 1, "name": "wave 1"}, {"id": 2, "name": "wave 2"}]
    assert client.answer(client.send("stackTrace", threadId=1))["message"] == "notStopped"
    client.ask("setBreakpoints", **early)
    assert client.event("stopped")["reason"] == "breakpoint"
    assert not [each for each in client.log if each.get("event") == "stopped"][:-1]


# --- Waves, frames and lanes ----------------------------------------------------------------------------------------


def test_threads_are_waves_and_frames_are_of_a_lane(client: LocalClient) -> None:
    client.launched(STEP)
    assert client.ask("threads")["threads"] == [
        {"id": 1, "name": "wave 1 wg(0,0,0) 23/64 active"}, {"id": 2, "name": "wave 2 wg(1,0,0) 23/64 active"},
    ]  # fmt: skip
    trace = client.ask("stackTrace", threadId=1)
    assert [(each["name"], each["line"]) for each in trace["stackFrames"]] == [
        ("divergent", STEP), ("divergent", line_of("void divergent")),
    ]  # fmt: skip
    assert trace["totalFrames"] == 2
    names = [each["name"] for each in client.ask("scopes", frameId=trace["stackFrames"][0]["id"])["scopes"]]
    assert names == ["Arguments", "Locals (lane 41)", "Lanes", "Registers", "Globals", "Launch"]
    assert client.scope("Arguments")["limit"]["value"] == "40"
    assert client.scope("Locals")["rest"]["value"] == "1"
    assert client.ask("dwarfgpu/setLane", threadId=1, lane=50) == {"lane": 50, "isActive": True}
    assert client.event("invalidated")["areas"] == ["stacks", "variables"]
    assert client.scope("Locals (lane 50)")["rest"]["value"] == "10"
    assert "[Switching to wave 1, lane 60 " in client.console("lane 60")
    client.event("invalidated")
    assert client.value("rest", "hover") == "20"
    assert "Lane 64" in client.fails("dwarfgpu/setLane", threadId=1, lane=64)
    assert "there is no thread 3" in client.fails("stackTrace", threadId=3)


def test_a_variable_in_all_lanes_is_paged(client: LocalClient) -> None:
    client.launched(STEP)
    rest = client.scope("Lanes")["rest"]
    assert (rest["value"], rest["indexedVariables"]) == ("64 lanes", 64)
    found = client.parts(rest["variablesReference"], start=40, count=4)
    assert {name: row["value"] for name, row in found.items()} == {"[40]": "(0)", "[41]": "1", "[42]": "2", "[43]": "3"}
    assert found["[40]"]["presentationHint"]["attributes"] == ["readOnly"]
    assert len(client.parts(rest["variablesReference"])) == 64
    assert client.parts(rest["variablesReference"], filter="named") == {}  # type: ignore[arg-type]
    client.ask("setVariable", variablesReference=rest["variablesReference"], name="[42]", value="7")
    assert [row["value"] for row in client.parts(rest["variablesReference"], start=41, count=3).values()] == [
        "1", "7", "3",
    ]  # fmt: skip
    names = [row.get("evaluateName") for row in client.parts(rest["variablesReference"], start=40, count=3).values()]
    assert names == [None, "rest", None]  # the others are not of the lane in which expressions are evaluated


def test_only_some_of_many_waves_are_threads(client: LocalClient) -> None:
    client.launched(grid=64 * 300, args={"out": "zeros(19200)", "limit": 40}, stopOnEntry=True)
    assert len(client.ask("threads")["threads"]) == 256
    assert "300 waves: the first 256" in client.event("output")["output"]
    client.console("wave 299")
    assert client.ask("threads")["threads"][0]["id"] == 299
    assert client.top(299)["name"] == "divergent"


def test_registers_and_the_launch(client: LocalClient) -> None:
    client.launched(STEP)
    registers = client.scope("Registers")
    assert registers["exec"]["value"].startswith("0xfffffe0000000000")
    vectors = client.parts(registers["vector registers"]["variablesReference"])
    assert vectors["v0"]["indexedVariables"] == 64
    (lane,) = client.parts(vectors["v0"]["variablesReference"], start=5, count=1).values()
    assert lane["evaluateName"] == "$v0[5]"
    client.ask("setVariable", variablesReference=vectors["v0"]["variablesReference"], name="[5]", value="0x77")
    assert client.parts(client.parts(client.scope("Registers")["vector registers"]["variablesReference"])["v0"][
        "variablesReference"], start=5, count=1)["[5]"]["value"] == "0x77"  # fmt: skip
    client.ask("dwarfgpu/setLane", threadId=1, lane=5)  # which does not execute the code
    scopes = client.ask("scopes", frameId=client.top()["id"])["scopes"]
    (values,) = [each["variablesReference"] for each in scopes if each["name"].startswith("Locals")]
    assert client.ask("setVariable", variablesReference=values, name="step", value="7")["value"] == "(7)"
    launch = client.scope("Launch")
    assert launch["kernel"]["value"] == "divergent"
    arguments = client.parts(launch["arguments"]["variablesReference"])
    assert arguments["limit"]["value"] == "40"


# --- Steps ----------------------------------------------------------------------------------------------------------


def test_steps_onwards_and_back(client: LocalClient) -> None:
    client.launched(LEFT)
    seen = [client.line()]
    for _ in range(3):
        assert client.goes("next")["reason"] == "step"
        seen.append(client.line())
    assert seen[0] == LEFT
    for line in reversed(seen[:-1]):
        client.goes("stepBack")
        assert client.line() == line
    before = client.top()["instructionPointerReference"]
    client.goes("next", granularity="instruction")
    after = client.top()["instructionPointerReference"]
    assert int(after, 0) - int(before, 0) in (4, 8)
    client.goes("stepBack", granularity="instruction")
    assert client.top()["instructionPointerReference"] == before
    client.goes("stepOut")
    assert "outermost function" in client.fails("stepOut", threadId=1)
    assert client.goes("reverseContinue")["reason"] == "breakpoint"
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    stop = client.goes("reverseContinue")
    assert (stop["reason"], "No more reverse-execution" in stop["text"]) == ("entry", True)


def test_into_a_function_and_out_of_it(client: LocalClient) -> None:
    call = line_of("int weight = weigh(")
    arguments = {"out": "zeros(64, i4)", "shared_by_host": 256, "table": "arange(64, i4)", "n": 3}
    client.launched(call, kernel="spaces", grid=64, args=arguments)
    client.goes("stepIn")
    trace = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [each["name"] for each in trace[:2]] == ["weigh", "spaces"]
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[{"line": line_of("int squared")}])
    client.goes("continue")
    trace = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [each["name"] for each in trace] == ["square", "weigh", "spaces", "spaces"]
    assert client.ask("stackTrace", threadId=1, startFrame=1, levels=1)["totalFrames"] == 3
    form = {"parameters": True, "parameterNames": True}
    (named,) = client.ask("stackTrace", threadId=1, startFrame=1, levels=1, format=form)["stackFrames"]
    assert named["name"] == "weigh(histogram, length, scale)"
    form["parameterValues"] = True
    (named,) = client.ask("stackTrace", threadId=1, startFrame=1, levels=1, format=form)["stackFrames"]
    assert "length=8, scale=" in named["name"]
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    client.goes("stepOut")
    client.goes("stepOut")
    assert client.top()["name"] == "spaces"


def test_the_way_back_from_the_end(client: LocalClient) -> None:
    stop = client.launched(stopAtEnd=True)
    assert "has ended" in stop["description"]
    assert len(client.ask("threads")["threads"]) == 2
    assert "has ended" in client.fails("next", threadId=1)
    client.goes("stepBack")
    assert client.line() in (line_of("void divergent"), OUT, OUT + 1)
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[{"line": OUT}])
    assert client.goes("reverseContinue")["reason"] == "breakpoint"
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    assert "has ended" in client.goes("continue")["description"]
    client.ask("continue", threadId=1)
    client.event("terminated")


def test_what_a_kernel_prints(client: LocalClient, tmp_path, require_tool) -> None:
    require_tool("clang-22", "clang")
    source = tmp_path / "talk.cl"
    source.write_text('kernel void talk(int n) { if (get_global_id(0) == 0) printf("n is %d\\n", n); }\n')
    client.start(program=str(source), kernel="talk", grid=64, workGroup=64, args={"n": 7})
    client.ask("configurationDone")
    client.event("exited")
    printed = [each["body"] for each in client.log if each.get("event") == "output"]
    assert printed == [{"category": "stdout", "output": "n is 7\n"}]


def test_goto_sends_a_wave_elsewhere(client: LocalClient) -> None:
    client.launched(LEFT)
    (target, *_others) = client.ask("gotoTargets", source={"path": str(KERNELS)}, line=OUT)["targets"]
    assert client.goes("goto", targetId=target["id"])["reason"] == "goto"
    assert client.line() == OUT
    assert "there is no target 9" in client.fails("goto", threadId=1, targetId=9)


def test_one_thread_alone(client: LocalClient) -> None:
    client.launched(STEP)
    other = client.top(2)["instructionPointerReference"]
    client.goes("next", singleThread=True)
    assert client.top(2)["instructionPointerReference"] == other
    assert "for all waves" in client.fails("stepBack", threadId=1, singleThread=True)


@pytest.mark.slow
def test_pause_and_progress(client: LocalClient) -> None:
    client.start(**{**LAUNCH, "args": {"out": "zeros(128)", "limit": -2000000000}})
    client.ask("configurationDone")
    start = client.event("progressStart")
    assert start["cancellable"]
    client.ask("pause", threadId=1)
    assert client.event("stopped")["reason"] == "pause"
    assert client.log[-2]["event"] == "progressEnd"
    client.ask("continue", threadId=1)
    client.ask("cancel", progressId=client.event("progressStart")["progressId"])
    assert client.event("stopped")["reason"] == "pause"
    assert "does not run" in client.fails("pause", threadId=1)
    client.ask("continue", threadId=1)
    client.ask("disconnect")


# --- Data breakpoints -----------------------------------------------------------------------------------------------


def test_data_breakpoints(client: LocalClient) -> None:
    client.launched(STEP)
    scope = client.ask("scopes", frameId=client.top()["id"])["scopes"][1]
    info = client.ask("dataBreakpointInfo", variablesReference=scope["variablesReference"], name="result")
    assert info["description"] == "result in lane 41 of wave 1"
    assert info["accessTypes"] == ["write", "read", "readWrite"]
    wanted = [{"dataId": info["dataId"], "accessType": "write"}]
    (body,) = client.ask("setDataBreakpoints", breakpoints=wanted)["breakpoints"]
    assert body["verified"]
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    stop = client.goes("continue")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("data breakpoint", [body["id"]])
    assert "Old value = 0" in stop["text"]
    assert client.ask("dataBreakpointInfo", name="1 + 1", frameId=client.top()["id"])["dataId"] is not None
    assert client.ask("dataBreakpointInfo", name="nothing", frameId=client.top()["id"])["dataId"] is None


# --- Faults and checks ----------------------------------------------------------------------------------------------


def test_a_fault_is_an_exception(client: LocalClient) -> None:
    stop = client.launched(args={"out": "0x10", "limit": 40})
    assert stop["reason"] == "exception"
    assert "SIGSEGV" in stop["description"]
    info = client.ask("exceptionInfo", threadId=stop["threadId"])
    assert info["exceptionId"] == "MEMORY_VIOLATION"
    assert info["description"] == client.console("info fault").strip()
    assert "has stopped" in client.fails("next", threadId=1)
    client.goes("stepBack", granularity="instruction")
    assert client.line() == OUT


def test_a_filter_that_is_off_lets_others_run(client: LocalClient) -> None:
    stop = client.launched(filters=[], args={"out": "0x10", "limit": 40})
    assert stop["reason"] == "exception"  # nothing is left that could run
    client.ask("restart", arguments={**LAUNCH, "args": {"out": "zeros(64)", "limit": 40}})
    assert "MEMORY_VIOLATION" in client.event("output")["output"]
    assert client.event("stopped")["threadId"] == 2
    assert len(client.ask("threads")["threads"]) == 1  # the other one has run to its end
    client.ask("setExceptionBreakpoints", filters=["fault"])
    (other,) = client.ask("setExceptionBreakpoints", filters=["all"])["breakpoints"]
    assert (other["verified"], "there is no exception 'all'" in other["message"]) == (False, True)


RACE = """\
kernel void reverse(global const int *in, global int *out) {
  local int tile[64];
  int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = in[i];
  out[i] = tile[63 - i];
}
"""


def test_a_race_stops_where_it_is_found(client: LocalClient, tmp_path, require_tool) -> None:
    require_tool("clang-22", "clang")
    source = tmp_path / "reverse.cl"
    source.write_text(RACE)
    launch = {"program": str(source), "kernel": "reverse", "grid": 64, "workGroup": 64, "check": True,
              "args": ["arange(64, i4)", "zeros(64, i4)"]}  # fmt: skip
    client.start(**launch)
    verified = client.ask("setExceptionBreakpoints", filters=["race", "fault"])["breakpoints"]
    assert [each["verified"] for each in verified] == [True, True]
    client.ask("configurationDone")
    stop = client.event("stopped")
    assert stop["reason"] == "exception"
    assert "race" in stop["description"]
    assert client.line() == 5
    assert "tile" in client.ask("exceptionInfo", threadId=1)["description"]
    client.goes("stepBack")
    client.goes("stepBack")  # what is executed again is found again
    client.ask("continue", threadId=1)
    again = client.event("stopped")
    assert (again["reason"], again["description"], client.line()) == ("exception", stop["description"], 5)


def test_checks_that_are_not_made_cannot_stop(client: LocalClient) -> None:
    client.start(**LAUNCH)
    (body,) = client.ask("setExceptionBreakpoints", filters=["race"])["breakpoints"]
    assert (body["verified"], body["message"]) == (False, 'launch with "check": "race"')


# --- States that were saved -----------------------------------------------------------------------------------------


def test_a_state_is_looked_at_and_does_not_run(client: LocalClient) -> None:
    stop = client.attached(**LANE_PC)
    assert stop["threadId"] == 1
    assert client.scope("Locals")
    for command in ("continue", "next", "stepBack", "reverseContinue"):
        assert "cannot run on" in client.fails(command, threadId=1)
    (body,) = client.ask("setBreakpoints", source={"path": "lane-pc.c"}, breakpoints=[{"line": 3}])["breakpoints"]
    assert not body["verified"]
    assert "cannot run on" in body["message"]
    assert client.value("even", "hover").isdecimal()
    client.ask("disconnect")


def test_a_state_that_cannot_be_attached(client: LocalClient) -> None:
    client.ask("initialize", **INITIALIZE)
    assert '"state"' in client.fails("attach")
    assert "No such file" in client.fails("attach", state="/nonexistent.json")
    assert "needs a kernel" in client.fails("stackTrace", threadId=1)
    client.ask("disconnect")


def test_a_gpu_core_file_opens_at_the_wave_that_has_crashed(client: LocalClient) -> None:
    stop = client.attached(state=str(ROOT / "dwarfgpu/examples/crash.core"))
    assert (stop["reason"], stop["threadId"], stop["text"]) == ("exception", 3, "MEMORY_VIOLATION")
    assert [each["id"] for each in client.ask("threads")["threads"]] == [3, 1, 2]
    assert "lane-pc.c:21: MEMORY_VIOLATION" in client.ask("exceptionInfo", threadId=3)["description"]


@pytest.mark.slow
def test_threads_of_the_host_have_no_lanes(client: LocalClient, tmp_path, require_tool) -> None:
    source, program, core = (tmp_path / name for name in ("host.c", "host", "host.core"))
    source.write_text("int twice(int x) { return 2 * x; }\nint main(void) { return twice(4); }\n")
    subprocess.run([require_tool("gcc"), "-g", "-O0", str(source), "-o", str(program)], check=True)
    steps = ("break twice", "run", f"generate-core-file {core}")
    words = [word for step in steps for word in ("-ex", step)]
    subprocess.run([require_tool("gdb"), "-nx", "-batch", *words, str(program)], check=True, capture_output=True)
    stop = client.attached(program=str(program), state=[str(core)])
    thread = stop["threadId"]
    assert client.ask("threads")["threads"][0]["name"].startswith("LWP ")
    frames = client.ask("stackTrace", threadId=thread)["stackFrames"]
    assert [each["name"] for each in frames[:2]] == ["twice", "main"]
    assert client.scope("Arguments", thread)["x"]["value"] == "4"
    assert client.scope("Registers", thread)["rip"]["value"].startswith("0x")
    assert "does not exist" in client.fails("dwarfgpu/setLane", threadId=thread, lane=1)


# --- Values ---------------------------------------------------------------------------------------------------------


def test_structures_arrays_and_pointers_have_parts(client: LocalClient) -> None:
    arguments = {
        "items": "zeros(2048, u1)", "flags": "zeros(1024, u1)", "list": 0, "halves": "ones(64, f2)",
        "vectors": "arange(256, f4)", "n": 0,
    }  # fmt: skip
    client.launched(line_of("item.sizes[2] ="), kernel="records", grid=64, args=arguments)
    scope = client.scope("Locals")
    item = client.parts(scope["item"]["variablesReference"])
    assert list(item) == ["tag", "count", "weight", "sizes"]
    assert item["sizes"]["indexedVariables"] == 3
    sizes = client.parts(item["sizes"]["variablesReference"])
    assert sizes["[2]"]["evaluateName"] == "item.sizes[2]"
    client.ask("setVariable", variablesReference=item["sizes"]["variablesReference"], name="[2]", value="9")
    assert client.value("item.sizes[2]") == "9"
    assert client.ask("setExpression", expression="item.count", value="3 * 4", frameId=client.top()["id"])[
        "value"] == "12"  # fmt: skip
    pointer = client.scope("Arguments")["vectors"]
    (target,) = client.parts(pointer["variablesReference"]).values()
    assert (target["name"], target["indexedVariables"]) == ("*vectors", 4)
    element = client.parts(target["variablesReference"])["[1]"]
    assert (element["evaluateName"], element["value"]) == ("(*vectors)[1]", "1")
    assert client.value("(*vectors)[1]") == "1"
    frame = client.top()["id"]
    shown = client.ask("evaluate", expression="item.count", frameId=frame, format={"hex": True})["result"]
    assert shown == "0xc"
    rows = client.ask("variables", variablesReference=item["sizes"]["variablesReference"], format={"hex": True})
    assert rows["variables"][2]["value"] == "0x9"
    assert client.event("memory")["count"] == 2
    whole = client.ask("evaluate", expression="*vectors@64", frameId=frame, context="clipboard")["result"]
    assert len(whole) > 1000
    assert len(client.value("*vectors@64")) == 500
    assert "assignment" in client.fails("evaluate", expression="item.count = 4", frameId=frame, context="hover")
    assert "nothing" in client.fails("evaluate", expression="nothing", frameId=frame, context="watch")
    assert client.value("item.count = 4", "repl") == "4"
    assert client.value("item.count") == "4"


def test_old_numbers_are_errors(client: LocalClient) -> None:
    client.launched(LEFT)
    frame = client.top()["id"]
    scope = client.ask("scopes", frameId=frame)["scopes"][0]["variablesReference"]
    client.goes("next")
    assert "not any more" in client.fails("scopes", frameId=frame)
    assert "not any more" in client.fails("variables", variablesReference=scope)


def test_the_console_runs_commands_and_expressions(client: LocalClient) -> None:
    client.launched(STEP)
    assert client.console("rest + 1") == "2"
    assert client.console("print rest") == "$1 = 1"
    assert "Breakpoint 2 at" in client.console(f"break kernels.cl:{OUT}")
    client.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[])
    client.console("continue")
    assert client.event("stopped")["reason"] == "breakpoint"
    assert client.line() == OUT
    assert "no variable" in client.fails("evaluate", expression="no_such_thing", context="repl")
    texts = [each["label"] for each in client.ask("completions", text="info la", column=8)["targets"]]
    assert texts == ["launches", "lanes", "layout", "lane"]
    frame = client.top()["id"]
    found = client.ask("completions", text="lim", column=4, frameId=frame)["targets"]
    assert {"label": "limit", "start": 0, "length": 3, "detail": "parameter"} in found
    assert client.ask("completions", text="zzz", column=4)["targets"] == []
    client.console("quit")
    client.event("terminated")


# --- Code and memory ------------------------------------------------------------------------------------------------


def test_instructions_onwards_and_backwards(client: LocalClient) -> None:
    client.launched(STEP)
    pc = client.top()["instructionPointerReference"]
    rows = client.ask("disassemble", memoryReference=pc, instructionOffset=-50, instructionCount=100)["instructions"]
    assert len(rows) == 100
    assert rows[50]["address"] == pc
    first = rows[0]["address"]
    onwards = client.ask("disassemble", memoryReference=first, instructionCount=100)["instructions"]
    assert [each["address"] for each in onwards] == [each["address"] for each in rows]
    nowhere = client.ask("disassemble", memoryReference="0x10", instructionOffset=-2, instructionCount=4)
    assert [each["presentationHint"] for each in nowhere["instructions"]] == ["invalid"] * 4
    named = client.ask("disassemble", memoryReference=pc, instructionCount=1, resolveSymbols=True)["instructions"][0]
    assert "divergent+" in named["symbol"]
    assert (named["line"], named["location"]["path"]) == (STEP, str(KERNELS))
    end = client.ask("disassemble", memoryReference=pc, instructionCount=9000)["instructions"]
    assert (len(end), end[-1]["presentationHint"]) == (9000, "invalid")


def test_memory_is_read_and_written(client: LocalClient) -> None:
    client.launched(OUT)
    out = client.scope("Arguments")["out"]["memoryReference"]
    found = client.ask("readMemory", memoryReference=out, count=8)
    assert (len(b64decode(found["data"])), "unreadableBytes" in found) == (8, False)
    client.ask("writeMemory", memoryReference=out, offset=4, data=b64encode(b"\1\2\3\4").decode())
    assert client.value("out[1]") == str(0x04030201)
    rest = client.ask("readMemory", memoryReference=out, offset=508, count=64)
    assert (len(b64decode(rest["data"])), rest["unreadableBytes"]) == (4, 60)
    assert client.ask("readMemory", memoryReference="0x10", count=4)["unreadableBytes"] == 4
    lane = client.scope("Locals")["lane"]["memoryReference"]
    assert lane.startswith("private_lane#")
    (thread,) = {each["id"] for each in client.ask("threads")["threads"]} - {2}
    assert thread == 1
    assert "not a memory reference" in client.fails("readMemory", memoryReference="here", count=4)
    assert "base64" in client.fails("writeMemory", memoryReference=out, data="?")


def test_sources_and_modules(client: LocalClient) -> None:
    client.start(program=str(FIXTURES / "features/embed-source.v5.co"), kernel="divergent", grid=64, workGroup=64,
                 args=[0, 0])  # fmt: skip
    sources = client.ask("loadedSources")["sources"]
    (embedded,) = [each for each in sources if each.get("sourceReference")]
    text = client.ask("source", source=embedded, sourceReference=embedded["sourceReference"])["content"]
    assert text.startswith("// ")
    (module,) = client.ask("modules")["modules"]
    assert (module["symbolStatus"], module["path"].endswith("embed-source.v5.co")) == ("DWARF", True)
    assert "no code of nothing.cl" in client.fails("source", source={"path": "nothing.cl"}, sourceReference=0)


# --- Ends -----------------------------------------------------------------------------------------------------------


def test_restart(client: LocalClient) -> None:
    client.launched({"line": STEP, "hitCondition": "4"})
    client.goes("next")
    client.ask("restart")
    changed = client.event("breakpoint")["breakpoint"]
    assert changed["verified"]
    assert client.event("stopped")["reason"] == "breakpoint"
    assert client.value("step") == "3"
    client.ask("restart", arguments={**LAUNCH, "args": {"out": "zeros(128)", "limit": 50}})
    client.event("stopped")
    assert client.scope("Arguments")["limit"]["value"] == "50"
    client.ask("terminate")
    client.event("terminated")


@pytest.mark.parametrize(
    "change, text",
    [
        ({"program": "/nonexistent.co"}, "No such file"), ({"kernel": "nobody"}, "nobody"), ({"grid": None}, '"grid"'),
        ({"args": {"limit": 4}}, "no value for out"), ({"grid": "x"}, "grid 'x'"), ({"cwd": "/dev/null/x"}, '"cwd"'),
        ({"check": "all of it"}, "no check"), ({"kernel": 5}, "`kernel` must be a text"), ({"seed": "x"}, "`seed`"),
    ],
)  # fmt: skip
def test_a_launch_that_cannot_be(client: LocalClient, change: dict[str, object], text: str) -> None:
    client.ask("initialize", **INITIALIZE)
    assert text in client.fails("launch", **{**LAUNCH, **change})
    assert "comes after `launch`" in client.fails("configurationDone")
    number = client.send("launch", **LAUNCH)
    client.event("initialized")
    client.ask("configurationDone")
    assert client.answer(number)["success"]


def test_a_second_launch_is_refused_and_the_first_is_answered(client: LocalClient) -> None:
    first = client.start(**LAUNCH)
    assert "has a kernel already" in client.fails("launch", **LAUNCH)
    client.ask("configurationDone")
    assert client.answer(first)["success"]
    assert [each["request_seq"] for each in client.log if each.get("command") == "launch"] == [first + 1, first]


def test_lines_from_0_and_paths_as_uris(client: LocalClient) -> None:
    client.ask("initialize", **{**INITIALIZE, "linesStartAt1": False, "columnsStartAt1": False, "pathFormat": "uri"})
    client.send("launch", **LAUNCH)
    client.event("initialized")
    source = {"path": f"file://{KERNELS}"}
    (body,) = client.ask("setBreakpoints", source=source, breakpoints=[{"line": STEP - 1}])["breakpoints"]
    assert (body["line"], body["source"]["path"]) == (STEP - 1, f"file://{KERNELS}")
    client.ask("configurationDone")
    client.event("stopped")
    assert client.top()["line"] == STEP - 1


def test_a_token_is_asked_for() -> None:
    client = LocalClient(token="secret")
    client.ask("initialize", **INITIALIZE)
    assert '"token"' in client.fails("launch", **LAUNCH)
    assert '"token"' in client.fails("launch", **LAUNCH, token="guess")
    assert not client.session.is_admitted
    client.send("launch", **LAUNCH, token="secret")
    client.event("initialized")
    assert client.session.is_admitted
    client.close()
