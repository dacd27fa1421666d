"""Messages that are broken: each gets an error, and the session goes on."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from dwarfgpu.dap.requests import REQUESTS
from tests.builders.dap_client import INITIALIZE, KERNELS, LAUNCH, LocalClient, title

FRAME = {"path": str(KERNELS)}
SEEDS: dict[str, list[dict[str, Any]]] = {
    "initialize": [INITIALIZE], "launch": [LAUNCH], "attach": [{"state": "dwarfgpu/examples/variables.json"}],
    "configurationDone": [{}], "restart": [{}], "terminate": [{}], "cancel": [{"requestId": 3, "progressId": "run-1"}],
    "setBreakpoints": [
        {"source": FRAME, "breakpoints": [{"line": 88, "condition": "left > 3", "hitCondition": "% 2"}]},
        {"source": FRAME, "breakpoints": [{"line": 90, "logMessage": "{even} in {$_lane}"}], "lines": [90]},
    ],
    "setFunctionBreakpoints": [{"breakpoints": [{"name": "divergent", "condition": "1"}]}],
    "setInstructionBreakpoints": [{"breakpoints": [{"instructionReference": "0x7f0000004014", "offset": 8}]}],
    "setExceptionBreakpoints": [{"filters": ["fault", "race"], "filterOptions": [{"filterId": "trap"}]}],
    "dataBreakpointInfo": [{"name": "out", "frameId": 1}, {"name": "limit", "variablesReference": 1}],
    "setDataBreakpoints": [{"breakpoints": [{"dataId": '[0, 3, 0, "limit"]', "accessType": "readWrite"}]}],
    "breakpointLocations": [{"source": FRAME, "line": 80, "endLine": 120}],
    "exceptionInfo": [{"threadId": 1}], "threads": [{}], "stackTrace": [{"threadId": 1, "startFrame": 0, "levels": 4}],
    "scopes": [{"frameId": 1}], "variables": [{"variablesReference": 1, "start": 0, "count": 8, "filter": "named"}],
    "setVariable": [{"variablesReference": 1, "name": "limit", "value": "5"}],
    "setExpression": [{"expression": "limit", "value": "7", "frameId": 1}],
    "evaluate": [
        {"expression": "limit * 2", "frameId": 1, "context": "watch"}, {"expression": "info lanes", "context": "repl"},
        {"expression": "lane 5", "context": "repl", "frameId": 1}, {"expression": "out[3]", "context": "hover"},
    ],
    "completions": [{"text": "print lim", "column": 10, "frameId": 1}],
    "continue": [{"threadId": 1, "singleThread": True}], "next": [{"threadId": 1, "granularity": "line"}],
    "stepIn": [{"threadId": 2, "granularity": "instruction"}], "stepOut": [{"threadId": 1}],
    "stepBack": [{"threadId": 1, "granularity": "statement"}], "reverseContinue": [{"threadId": 1}],
    "pause": [{"threadId": 1}], "gotoTargets": [{"source": FRAME, "line": 95}],
    "goto": [{"threadId": 1, "targetId": 1}],
    "source": [{"source": FRAME, "sourceReference": 1}], "loadedSources": [{}], "modules": [{"startModule": 0}],
    "disassemble": [{"memoryReference": "0x7f0000004014", "instructionOffset": -8, "instructionCount": 16}],
    "readMemory": [{"memoryReference": "0x7f0000024000", "offset": 8, "count": 64}],
    "writeMemory": [{"memoryReference": "private_lane#0x18@0:5", "data": "AQIDBA=="}],
    "dwarfgpu/setLane": [{"threadId": 1, "lane": 7}],
}  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, 1 << 64, -(1 << 70), 1.5, "", "0x", "x" * 5000, "\ud800", "{", "%s", [], {}, [[]],
    {"path": 5}, "limit = ", "(" * 500, "[0]", "$pc", "local#0x10@0:99", "private_lane#0x10@9:1", "0x" + "f" * 40,
)  # fmt: skip


@pytest.fixture
def client() -> Iterator[LocalClient]:
    client = LocalClient()
    yield client
    client.close()


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    "data, text",
    [
        (framed(b"{"), "not JSON"), (framed(b"\xff\xfe"), "not JSON"), (framed(b"[]"), "not a JSON object"),
        (framed(b"{}"), "not a request"), (framed(b'{"seq": true, "type": "request", "command": "threads"}'), "not a"),
        (framed(b'{"seq": 90, "type": "request", "command": "x"}'), "no request 'x'"),
        (framed(b"[" * 200000), "not JSON"), (b"Content-Length: -5\r\n\r\n", "Content-Length"),
        (b"Content-Length: 99999999999999\r\n\r\n", "Content-Length"),
        (framed(b'{"seq": 91, "type": "request", "command": "threads"}'), "first request must be `initialize`"),
    ],
)  # fmt: skip
def test_a_message_that_is_broken_gets_an_error(client: LocalClient, data: bytes, text: str) -> None:
    client.raw(data)
    answer = client.until(lambda each: each["type"] == "response")
    assert not answer["success"]
    assert text in answer["message"]
    assert client.ask("initialize", **INITIALIZE)


def test_headers_may_differ(client: LocalClient) -> None:
    body = json.dumps({"seq": 7, "type": "request", "command": "initialize", "arguments": INITIALIZE}).encode()
    client.raw(b"\r\nContent-Type: x\r\ncontent-length:%d\n\n" % len(body))
    for index in range(0, len(body), 50):
        client.raw(body[index : index + 50])
    assert client.answer(7)["success"]


def test_the_length_counts_bytes(client: LocalClient) -> None:
    client.ask("initialize", **INITIALIZE)
    body = json.dumps({"seq": 9, "type": "request", "command": "sp\u00e4t\u4e16"}, ensure_ascii=False).encode()
    client.raw(framed(body))
    assert "sp\u00e4t\u4e16" in client.answer(9)["message"]


def test_each_request_has_a_seed() -> None:
    assert set(SEEDS) | {"disconnect"} == set(REQUESTS)


def changed(random_: random.Random, value: Any) -> Any:
    """Return something like it: with another value somewhere, without a part of it, or as it is."""
    if random_.random() < 0.25:
        return random_.choice(ODD)
    if isinstance(value, dict) and value:
        key = random_.choice(sorted(value))
        rest = {name: item for name, item in value.items() if name != key}
        return rest if random_.random() < 0.2 else {**value, key: changed(random_, value[key])}
    if isinstance(value, list) and value:
        index = random_.randrange(len(value))
        return [*value[:index], changed(random_, value[index]), *value[index + 1 :] * random_.randrange(3)]
    return value


def ask_many(client: LocalClient, count: int, seed: int) -> None:
    """Send changed messages; each must get one answer, and no defect."""
    random_ = random.Random(seed)
    names = sorted(SEEDS)
    pauses, client._number = [-1], 10_000_000
    client.ask("initialize", **INITIALIZE)
    client.send("launch", **LAUNCH)
    client.event("initialized")
    client.ask("setBreakpoints", source=FRAME, breakpoints=[{"line": 88}])
    client.ask("configurationDone")
    client.event("stopped")
    for number in range(1000, 1000 + count):
        name = random_.choice(names)
        arguments = changed(random_, random_.choice(SEEDS[name]))
        if random_.random() < 0.05:
            frames = client.answer(client.send("stackTrace", threadId=1)).get("body", {}).get("stackFrames", ())
            for frame in frames:
                client.ask("scopes", frameId=frame["id"])
        message = {"seq": number, "type": "request", "command": name, "arguments": arguments}
        body = bytearray(json.dumps(message).encode())
        if random_.random() < 0.1:
            body[random_.randrange(len(body))] = random_.randrange(256)
        before = len(client.log)
        client.raw(framed(bytes(body)))
        answers: list[dict[str, Any]] = []
        while not answers:
            assert client.next() is not None
            if client.log[-1].get("event") == "progressStart":
                pauses.append(client.send("pause", threadId=1))
            answers = [each for each in client.log[before:] if each.get("request_seq", pauses[0]) not in pauses]
        assert "a defect of dwarfgpu" not in str(answers[0].get("message")), f"{message} {answers[0]['message']}"
        if title(client.log[-1]) == "terminated" or len(client.log) > 5000:
            del client.log[:-1]
            client._seen = 0
    assert client.ask("threads")["threads"]


@pytest.mark.slow
def test_many_messages_that_are_changed(client: LocalClient) -> None:
    ask_many(client, 300, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_very_many_messages_that_are_changed(client: LocalClient, seed: int) -> None:
    ask_many(client, 10_000, seed)
