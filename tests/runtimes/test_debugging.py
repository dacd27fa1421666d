"""Whole programs under the debugger: from launch to launch, with the lines of the host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders.dap_client import INITIALIZE, LocalClient
from tests.runtimes.test_hip import PROGRAMS, built, dwarfgpu, pytestmark  # noqa: F401 (they apply here, too)

if TYPE_CHECKING:
    from collections.abc import Callable

START = "./{} is debugged from launch to launch. `run` goes to the first one."


def debugged(program: Path, *commands: str, words: tuple[str, ...] = ()) -> tuple[list[str], str, int]:
    """Return what commands print, their errors, and the exit status."""
    steps = [word for command in commands for word in ("-ex", command)]
    done = dwarfgpu("debug", "-batch", "-nx", *steps, "--args", f"./{program.name}", *words, cwd=program.parent)
    head, *lines = done.stdout.splitlines()
    assert head == START.format(program.name)
    return [line for line in lines if line != "scaled"], done.stderr, done.returncode


def test_from_launch_to_launch(built: Callable[[str], Path]) -> None:  # noqa: F811
    lines, problems, status = debugged(
        built("steps"), "break nothing", "run", "bt", "break steps.hip:30", "break shift",
        "tbreak steps.hip:9 if i == 70", "continue", "print i", "continue", "bt", "continue", "continue",
        "info launches", "continue", "continue",
    )  # fmt: skip
    expected = [
        "[Launch 1: scale(float*, float, int), 2 work-groups, 4 waves, at steps.hip:17 in step]",
        "host #0  steps.hip:17 in step", "host #1  steps.hip:26 in main",
        "Breakpoint 1 (steps.hip:30) pending.", "hint: steps.hip:30 is code of the host, which stops only at calls",
        "Breakpoint 2 at ", "Temporary breakpoint 3 at ", "Wave 3 hit Temporary breakpoint 3, with lane [6]", "$1 = 70",
        "[Breakpoint 1, hipMemcpy is called, at steps.hip:30 in main]", "host #0  steps.hip:30 in main",
        "Wave 1 hit Breakpoint 2, with lanes [0-31]",
        "Wave 4 received signal SIGSEGV, Segmentation fault.", "of `data` from steps.hip:24",
        "  3  shift(float*, int)         128x1x1  64x1x1      fault      steps.hip:31 in main",
        "[./steps exited with code 03 after 3 launches]",
    ]  # fmt: skip
    assert_in_order(expected, lines, problems)
    assert "neither a kernel nor the program has 'nothing'" in problems
    assert "not being run" in problems, "after its end"
    assert status == 2


def assert_in_order(parts: list[str], lines: list[str], problems: str = "") -> None:
    text, at = "\n".join(lines), 0
    for part in parts:
        at = text.find(part, at)
        assert at >= 0, f"{part!r} is missing or out of order in\n{text}\n{problems}"


def test_back_into_earlier_launches(built: Callable[[str], Path]) -> None:  # noqa: F811
    """To a condition, to stores of other kernels, to what the host has changed, and forwards again."""
    back, here = "[Launch {} again: ", "Hardware watchpoint 3: cells[7]"
    lines, problems, _status = debugged(
        built("turns"), "tbreak flip if turn == 5", "run", "break turns.hip:8 if turn == 1 && i == 3",
        "watch cells[7]", *["reverse-continue"] * 4, "bt", "delete 3", "host print n", "info launches",
        "reverse-continue", "print cells[3]", "delete", "tbreak turns.hip:12 if turn == 2", "continue",
        "print cells[3]", "continue", "continue", "reverse-continue", "reverse-continue", "reverse-step",
        "info checkpoints",
    )  # fmt: skip
    expected = [
        "Wave 1 hit Temporary breakpoint 1", back.format(9) + "add", f"Wave 1 hit {here}, with lane [7]",
        "Old value = -16843004", "New value = -16843009", back.format(8) + "flip", f"Wave 1 hit {here}",
        "Old value = -16843009", "New value = 16843009", back.format(7) + "add",
        f"{here}, changed by the host after this launch", "Old value = 16843009", "New value = 2",
        back.format(7) + "add", f"Wave 1 hit {here}", "New value = -2", "host #0  turns.hip:20 in main",
        " 7  add(int*, int)   64x1x1  64x1x1      running again", back.format(1) + "add",
        "Wave 1 hit Breakpoint 2, with lane [3]", " = 1", "Wave 1 hit Temporary breakpoint 4", " = 1",
        "[Launch 10: flip", "[./turns exited normally after 12 launches]", back.format(12) + "flip",
        back.format(11) + "add", "No more reverse-execution history.",
        "hint: `reverse-continue` goes into the launch before", "12 launches can be executed again: ",
    ]  # fmt: skip
    assert_in_order(expected, lines, problems)
    assert "the host has gone on since this launch" in problems
    assert lines.count("turn 1") == 1, "the program prints it, and the way back does not"


def test_launches_that_a_user_has_changed(built: Callable[[str], Path]) -> None:  # noqa: F811
    """They cannot be executed again as they were; what is changed in the past does not reach the present."""
    lines, problems, _status = debugged(
        built("turns"), "tbreak add if turn == 2", "run", "set var turn = 7", "tbreak flip if turn == 3", "continue",
        "break turns.hip:6", "reverse-continue", "reverse-continue", "delete", "tbreak turns.hip:7", "continue",
        "set var turn = 9", "tbreak flip if turn == 3", "continue", "continue",
    )  # fmt: skip
    expected = [
        "[Launch 5 again: add", "Wave 1 hit Breakpoint 3", "No more reverse-execution history.",
        "hint: earlier launches were not kept: launch 3 was changed here", "Temporary breakpoint 4,",
        "hint: later launches begin as they did before", "[Launch 6: flip", "Temporary breakpoint 5,",
    ]  # fmt: skip
    assert_in_order(expected, lines, problems)
    assert not problems


@pytest.mark.slow
def test_start_kill_and_check(built: Callable[[str], Path]) -> None:  # noqa: F811
    lines, problems, _status = debugged(
        built("steps"), "start", "kill", "info launches", "break shift", "run", "c", "bt"
    )
    text = "\n".join(lines)
    assert "[./steps was ended]" in text
    assert text.count("[Launch 1: scale") == 1, "with a breakpoint, `run` goes to that"
    assert "host #0  steps.hip:31 in main" in text
    assert not problems


@pytest.mark.slow
def test_the_first_error(built: Callable[[str], Path]) -> None:  # noqa: F811
    """`exec` stops in the debugger where a kernel goes wrong, and nowhere else."""
    done = dwarfgpu("exec", "--break-at-fault", built("wrong"), "beyond", input="info launches\n")
    assert "of `cells` from wrong.hip:16, which has 256 bytes" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1].endswith("fault  wrong.hip:19 in main")
    done = dwarfgpu("exec", "--break-at-fault", "--check=race", built("wrong"), "race", input="bt\n")
    assert "read-write race: `out[0]`" in done.stdout
    assert "host #0  wrong.hip:20 in main" in done.stdout
    right = dwarfgpu("exec", "--break-at-fault", built("wrong"), "beyond", "right", input="")
    assert "exited normally after 1 launch]" in right.stdout
    refused = dwarfgpu("exec", "--break-at-fault", "--sarif", "x.sarif", built("wrong"))
    assert "leads to the debugger, and takes no --sarif" in refused.stderr


@pytest.mark.slow
def test_the_host_by_gdb(built: Callable[[str], Path], require_tool: Callable[..., str]) -> None:  # noqa: F811
    require_tool("gdb")
    lines, problems, _status = debugged(
        built("steps"), "run", "host", "host print factor", "host print nothing_here", "host #1 print n + 1",
        "host #2 print n", "break steps.hip:30", "continue", "print host[5]", "print/x n", "print nothing_here",
    )  # fmt: skip
    at = lines.index("#0  steps.hip:17 in step")
    assert lines[at + 1 : at + 4] == ["#1  steps.hip:26 in main", "$1 = 2", "$1 = 101"]
    assert lines[-2:] == ["$1 = 5", "$1 = 0x64"]
    assert problems.count('gdb: No symbol "nothing_here" in current context.') == 2
    assert "the host has no frame #2" in problems


@pytest.mark.slow
def test_what_is_refused(built: Callable[[str], Path], tmp_path: Path) -> None:  # noqa: F811
    for words, text in (
        (("--state", "x", "--args", built("steps")), "takes no state"),
        (("--args", tmp_path / "none"), "there is no program"),
        (("--args",), "--args needs a program"),
        (("-batch", "-ex", "host"), "no program is debugged as a whole"),
        (("-batch", "-ex", "info launches"), "no program is debugged as a whole"),
    ):
        done = dwarfgpu("debug", *words)
        assert text in done.stderr
        assert done.returncode == 2


@pytest.mark.slow
def test_an_interrupt_reaches_the_debugger_alone(built: Callable[[str], Path]) -> None:  # noqa: F811
    """^C while the host computes: the prompt is back, and the program can go on or be ended."""
    lines, problems, _status = debugged(built("steps"), "break shift", "run", "kill", words=("wait",))
    assert "[Interrupted: the program executes code of the host]" in lines, problems
    assert lines[-1] == "[./steps was ended]"


def test_an_editor_goes_from_launch_to_launch(built: Callable[[str], Path]) -> None:  # noqa: F811
    """Breakpoints of two kernels, a step that ends a launch, a fault, and the exit status of the program."""
    client = LocalClient()
    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=str(built("steps")), args=[])
        client.event("initialized")
        source = {"path": str(PROGRAMS / "steps.hip")}
        points = client.ask("setBreakpoints", source=source, breakpoints=[{"line": 9}, {"line": 12}])["breakpoints"]
        assert [point["verified"] for point in points] == [True, True]
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        first = client.event("stopped")
        assert (first["reason"], first["hitBreakpointIds"]) == ("breakpoint", [points[0]["id"]])
        stack = client.ask("stackTrace", threadId=1)["stackFrames"]
        frame, *_, step, main = stack
        assert (frame["name"], frame["line"]) == ("scale", 9)
        assert [(each["name"], each["line"]) for each in (step, main)] == [("host: step", 17), ("host: main", 26)]
        assert main["source"]["path"] == str(PROGRAMS / "steps.hip")
        last = client.ask("stackTrace", threadId=1, startFrame=len(stack) - 1)["stackFrames"]
        assert [each["name"] for each in last] == ["host: main"]
        text = client.fails("scopes", frameId=step["id"])
        assert text == "a call of the host has no variables here (`host print NAME` in the console asks gdb)"
        host = client.ask("evaluate", expression="host", frameId=step["id"], context="repl")["result"]
        assert "steps.hip:17 in step" in host
        assert client.ask("evaluate", expression="factor", frameId=frame["id"])["result"] == "2"
        assert "steps.hip:17 in step" in client.ask("evaluate", expression="bt", context="repl")["result"]
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 12}])
        client.ask("continue", threadId=1)
        assert client.event("stopped")["reason"] == "breakpoint"
        frame, *_ = client.ask("stackTrace", threadId=1)["stackFrames"]
        assert (frame["name"], frame["line"]) == ("shift", 12)
        client.ask("continue", threadId=1)
        stop = client.event("stopped")
        assert stop["reason"] == "exception"
        assert "the end of `data` from steps.hip:24" in " ".join(stop["text"].split())
        client.ask("continue", threadId=1)
        assert client.event("exited")["exitCode"] == 3
        client.event("terminated")
        said = "".join(each["body"]["output"] for each in client.log if each.get("event") == "output")
        assert "scaled\n" in said
        assert "Launch 3: shift(float*, int), 2 work-groups, 4 waves, at steps.hip:31 in main" in said
    finally:
        client.close()


def test_an_editor_goes_back_into_an_earlier_launch(built: Callable[[str], Path]) -> None:  # noqa: F811
    client = LocalClient()

    def stop(*wanted: tuple[str, int]) -> str:
        body = client.event("stopped")
        assert body["reason"] == "breakpoint"
        stack = client.ask("stackTrace", threadId=body["threadId"])["stackFrames"]
        assert [(each["name"], each["line"]) for each in stack] == [*wanted]
        return str(client.ask("evaluate", expression="turn", frameId=stack[0]["id"])["result"])

    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=str(built("turns")))
        client.event("initialized")
        source = {"path": str(PROGRAMS / "turns.hip")}
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 12, "condition": "turn == 3"}])
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        assert stop(("flip", 12), ("host: main", 22)) == "3"
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 7, "condition": "turn == 2 && i == 3"}])
        client.ask("reverseContinue", threadId=1)
        assert stop(("add", 7), ("host: main", 20)) == "2"
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 12}])
        for wanted in ("2", "entry", "3", "4"):  # the second time it comes to where the program is
            client.ask("continue", threadId=1)
            found = client.event("stopped")["reason"] if wanted == "entry" else stop(("flip", 12), ("host: main", 22))
            assert found == wanted
    finally:
        client.close()


def test_an_editor_stops_at_calls_of_the_host(built: Callable[[str], Path]) -> None:  # noqa: F811
    """Lines that launch stop at the first instruction of the kernel, others where no wave is."""
    client = LocalClient()

    def stop() -> tuple[list[int], list[str]]:
        body = client.event("stopped")
        assert body["reason"] == "breakpoint"
        assert body["threadId"] in [each["id"] for each in client.ask("threads")["threads"]]
        stack = client.ask("stackTrace", threadId=body["threadId"])["stackFrames"]
        return body["hitBreakpointIds"], [f"{each['name']}:{each['line']}" for each in stack]

    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=str(built("steps")))
        client.event("initialized")
        source = {"path": str(PROGRAMS / "steps.hip")}
        lines = [{"line": line} for line in (24, 28, 30, 400, 8)]
        points = client.ask("setBreakpoints", source=source, breakpoints=lines)["breakpoints"]
        of_host = "this is code of the host, which stops only at calls of HIP or OpenCL; kernels stop at every line"
        assert (points[0]["message"], "reason" in points[0], "message" in points.pop()) == (of_host, False, False)
        client.ask("setBreakpoints", source=source, breakpoints=lines[:-1])
        assert [point["verified"] for point in points] == [True, True, True, False]
        assert points[3]["message"] == f"neither a kernel nor the program has code at {PROGRAMS / 'steps.hip'}:400"
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        assert stop() == ([points[0]["id"]], ["host: main:24"])
        (host,) = client.ask("threads")["threads"]
        assert host["name"] == "host"
        refused = client.fails("next", threadId=host["id"])
        assert refused == "the host goes on to its next stop with `continue`, and takes no steps"
        for request in ("modules", "loadedSources"):
            client.answer(client.send(request))  # an answer, whatever it is
        client.ask("continue", threadId=host["id"])
        assert stop() == ([points[1]["id"]], ["scale:8", "host: step:17", "host: main:28"])
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 30}])
        client.ask("continue", threadId=1)
        assert stop() == ([points[2]["id"]], ["host: main:30"])
        client.ask("setBreakpoints", source=source, breakpoints=[])
        client.ask("continue", threadId=host["id"])
        assert client.event("stopped")["reason"] == "exception"
    finally:
        client.close()


@pytest.mark.slow
def test_an_editor_asks_gdb(built: Callable[[str], Path], require_tool: Callable[..., str]) -> None:  # noqa: F811
    """An expression in a call of the host is one of that call."""
    require_tool("gdb")
    client = LocalClient()
    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=str(built("steps")))
        client.event("initialized")
        client.ask("setBreakpoints", source={"path": str(PROGRAMS / "steps.hip")}, breakpoints=[{"line": 28}])
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        client.event("stopped")
        *_, step, main = client.ask("stackTrace", threadId=1)["stackFrames"]
        for frame, expression, result in (step, "factor", "0.5"), (main, "n + 1", "101"), (main, "host[7]", "7"):
            asked = client.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")
            assert asked["result"] == result
        assert "No symbol" in client.fails("evaluate", expression="nothing_here", frameId=main["id"])
        refused = client.fails("evaluate", expression="n = 1", frameId=main["id"], context="hover")
        assert refused == "an assignment is not evaluated here"
    finally:
        client.close()


def test_an_editor_stops_at_the_entry_and_leaves(built: Callable[[str], Path]) -> None:  # noqa: F811
    client = LocalClient()
    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=str(built("steps")), stopOnEntry=True)
        client.event("initialized")
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        assert client.event("stopped")["reason"] == "entry"
        client.ask("disconnect")
    finally:
        client.close()
