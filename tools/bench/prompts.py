"""Rows about sessions: the debugger's prompt, `dap`, and inside GDB."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.files import VARIABLE
from bench.inputs import cache
from bench.rows import BARE, DWARFGPU, ROOT, Row, Time, call, command, dwarfgpu, fixed, tool
from bench.states import WAVES, big_snapshot, code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.debugger import Debugger

SYMBOLS = 100_000
PROMPT = b"(dwarfgpu) "
MARK = b"qz"
"""Keys that are nowhere in what the debugger shows by itself."""
PATIENCE = 60.0
QUESTIONS = 2000
WAITED = 1.0
"""Seconds that a user needs for a line with a name in it."""
LAUNCH = {
    "program": "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co", "directories": "fixtures",
    "kernel": "divergent", "grid": 4096, "workGroup": 64, "args": {"out": "zeros(4096)", "limit": -2000000000},
}  # fmt: skip
"""A loop that all lanes execute for ever."""
POINTS = {"source": {"path": "fixtures/src/opencl/kernels.cl"}, "breakpoints": [{"line": 100}]}
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"adapterID": "bench"}), ("launch", LAUNCH), ("setBreakpoints", POINTS), ("configurationDone", {}),
]  # fmt: skip
ENTRY = ROOT / "dwarfgpu" / "gdbplugin" / "entry.py"
CALLS = ROOT / "fixtures" / "llvm24" / "hip-calls.gfx1100.w32.O2.co"
CALLS_STATE = ROOT / "dwarfgpu" / "examples" / "calls.json"
LOAD_ADDRESS = 0x7F0000000000
STUBBED = 2_000
"""The waves that GDB sees."""
HELPER = """
import time
import gdb

def best(ask, count, rounds=9):
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            ask()
        times.append((time.perf_counter() - started) / count)
    return min(times)
"""
"""What both scripts begin with."""
SCRIPT = """
import dwarfgpu.gdb as dg

gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
asked = [best(lambda: dg.selected()[name].value(), 400) for name in ("std_counter", "counter")]
asked += [best(lambda: gdb.parse_and_eval(f'$dwarfgpu("{name}")').fetch_lazy(), 200) for name in ("pushed", "selected")]
print("@@", *asked)
"""
WHAT = ("dg.selected()[x].value()", "of DW_OP_LLVM_user", 'print $dwarfgpu("x"), memory', "of a vector in four parts")
WAVES_SCRIPT = """
def listed():
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("info threads", to_string=True)

without = best(listed, 1, 3)
gdb.execute("thread 1501", to_string=True)
warm = best(lambda: gdb.parse_and_eval('$dwarfgpu("$s33")').fetch_lazy(), 200)
gdb.execute("set dwarfgpu unwinder on")
print("@@", warm, without, best(listed, 1, 3))
"""


# --- The prompt ---------------------------------------------------------------------------------------------------


def debugger() -> Iterator[Row]:
    """Yield the rows of the prompt."""
    file, _name, *state = VARIABLE
    words = (*DWARFGPU, "debug", file, *state, "-nx", "-q")
    yield Row("the prompt", lambda: started(words)[0], *BARE, 12, 12)
    yield Row("the first key at the prompt", lambda: started(words)[1], *BARE, 60, 12)
    found = opened(str(code()), str(big_snapshot()))
    found.execute("set context on")
    places = count(1)
    wave = call(lambda: found.execute(f"wave {next(places) % WAVES + 1}"))
    yield Row(f"another wave of {WAVES:,}, with context", wave, *fixed(0.05), 1)
    yield Row("another lane, with context", call(lambda: found.execute(f"lane {next(places) % 2}")), *fixed(0.05), 1)
    tool("gcc")
    path = symbols()
    from dwarfgpu.questions.completion import complete

    many = opened(str(path))
    for line in ("print symbol_0499", "print ", "info li"):
        completed = call(lambda line=line: complete(many, line))  # type: ignore[misc]
        yield Row(f"completion of `{line}`, {SYMBOLS:,} symbols", completed, *fixed(0.03), 1)
    yield Row(f"the first completion, {SYMBOLS:,} symbols", lambda: first_completion(str(path)), *fixed(0.03), 1)
    yield Row(f"how a frame is unwound, {SYMBOLS // 2:,} functions", unwound(str(path)), *fixed(0.05), 1)
    yield from addresses(path)


def unwound(path: str) -> Time:
    """Return what measures finding the call frame information of one address in a file that is opened for it."""
    from dwarfgpu.program.code.code_object import opened as file_at

    symbol = file_at(path).image.symbol_named(f"symbol_{SYMBOLS // 4:06d}")
    assert symbol is not None
    return call(lambda: next(file_at(path).frames.each_at(symbol.value)))


def started(command: tuple[str, ...]) -> tuple[float, float]:
    """Start the debugger in a terminal; the seconds until its prompt is shown, and until keys typed then are."""
    begun = time.perf_counter()
    with closing(Terminal(command)) as terminal:
        terminal.wait_for(PROMPT)
        shown = time.perf_counter() - begun
        terminal.types(MARK)
        terminal.wait_for(MARK)
        return shown, time.perf_counter() - begun


class Terminal:
    """A program in a terminal of 80 columns and 24 lines, which ends with it."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment, start_new_session=True
        )
        os.close(theirs)

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._ours)

    def types(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def wait_for(self, text: bytes) -> None:
        """Until a text is shown."""
        seen = b""
        while text not in seen:
            if not select.select([self._ours], [], [], PATIENCE)[0]:
                raise RuntimeError(f"{text!r} does not appear: {seen!r}")
            seen += os.read(self._ours, 65536)

    def wait(self, seconds: float) -> None:
        """So long, whatever is shown."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                os.read(self._ours, 65536)


def opened(file: str, state: str | None = None) -> Debugger:
    """Return a debugger whose output goes nowhere."""
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.document import Output

    found = Debugger(Output(len))
    found.execute(f"file {file}")
    if state is not None:
        found.execute(f"core-file {state}")
    return found


def first_completion(path: str) -> float:
    """Return the seconds from the first Tab at the prompt until the names are on the screen."""
    with closing(Terminal((*DWARFGPU, "debug", path, "-nx", "-q"))) as terminal:
        terminal.wait_for(PROMPT)
        terminal.types(b"print symbol_0499")
        terminal.wait(WAITED)
        begun = time.perf_counter()
        terminal.types(b"\t")
        terminal.wait_for(b"symbol_049901")
        return time.perf_counter() - begun


def addresses(path: Path) -> Iterator[Row]:
    """Yield the rows of two thousand questions about addresses in one session, against the same script in GDB."""
    rows = subprocess.run([tool("nm"), path], check=True, capture_output=True, text=True).stdout.splitlines()
    places = [int(row.split()[0], 16) for row in rows if " T symbol_" in row]
    for words in ("info line *", "info symbol "):
        script = cache() / f"{words.split()[1]}-questions.gdb"
        step = len(places) // QUESTIONS
        script.write_text("".join(f"{words}{place + 4:#x}\n" for place in places[: step * QUESTIONS : step]))
        options = ("-nx", "-q", "-x", str(script))
        theirs = command(tool("gdb"), "-batch", *options, str(path))
        yield Row(
            f"{QUESTIONS:,} times `{words}`", dwarfgpu("debug", str(path), *options, "--batch"), "GDB", theirs, 5, 3
        )


def symbols() -> Path:
    """Return a program of 50,000 functions and as many variables; made once."""
    path = cache() / "symbols-1"
    if path.exists():
        return path
    source = path.with_suffix(".c")
    half = SYMBOLS // 2
    lines = [f"int symbol_{number:06d}(int a) {{ return a; }}" for number in range(half)]
    lines += [f"int variable_{number:06d} = {number};" for number in range(half)]
    source.write_text("\n".join([*lines, "int main(void) { return 0; }", ""]))
    subprocess.run(["gcc", "-g", "-o", path, source], check=True, capture_output=True)
    return path


# --- dap ----------------------------------------------------------------------------------------------------------


def dap() -> Iterator[Row]:
    """Yield the rows of the server: a whole process, and requests in this one."""
    bodies = [
        json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        for number, (command, arguments) in enumerate(MESSAGES, 1)
    ]
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    first = command(*DWARFGPU, "dap", given=data, expected=b'"reason": "breakpoint"')
    yield Row("dap, the first stop", first, *BARE, 40, 10)
    session = Talk()
    session.ask("setBreakpoints", source=POINTS["source"], breakpoints=[])
    yield Row("dap, a step of a line, 64 waves", call(lambda: session.ask("next", threadId=1)), *fixed(0.015), 1)
    for name in ("lane", "out"):
        parts = session.lanes(name)
        asked = call(lambda parts=parts: session.ask("variables", variablesReference=parts))  # type: ignore[misc]
        yield Row(f"dap, `{name}` in 64 lanes", asked, *fixed(0.010), 1)


class Talk:
    """A session in this process, whose kernel has stopped in a loop."""

    def __init__(self) -> None:
        from dwarfgpu.dap.session import DebugSession
        from dwarfgpu.dap.wire import Wire

        self.sent: list[bytes] = []
        self.session = DebugSession(Wire(lambda: b"", self.sent.append))
        for name, arguments in MESSAGES:
            self.ask(name, **arguments)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the body of the answer to a request."""
        self.sent.clear()
        self.session.handle({"seq": 1, "type": "request", "command": command, "arguments": arguments})
        messages = [json.loads(data.partition(b"\r\n\r\n")[2]) for data in self.sent]
        for message in messages:
            if not message.get("success", True):
                raise RuntimeError(message["message"])
            if message.get("command") == command:
                return message.get("body") or {}
        return {}

    def lanes(self, name: str) -> int:
        """Return the number by which a variable in all lanes is asked for."""
        frame = self.ask("stackTrace", threadId=1)["stackFrames"][0]["id"]
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        (reference,) = [each["variablesReference"] for each in scopes if each["name"] == "Lanes"]
        rows = self.ask("variables", variablesReference=reference)["variables"]
        found: int = next(row["variablesReference"] for row in rows if row["name"] == name)
        return found


# --- GDB ----------------------------------------------------------------------------------------------------------


def figures(folder: Path, script: str, *words: str) -> list[float]:
    """Return what a script prints inside GDB, with dwarfgpu loaded."""
    from tests.gdb.running import environment

    place = folder / "script.py"
    place.write_text(HELPER + script, "utf-8")
    line = [tool("gdb"), "-nx", "-batch", "-x", str(ENTRY), *words, "-x", str(place)]
    done = subprocess.run(line, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.partition("@@")[2].split("\n", 1)[0].split()]


def gdb() -> Iterator[Row]:
    """Yield the rows inside GDB: its start, and variables, warm."""
    start = (tool("gdb"), "-nx", "-batch", "-ex", "python pass")
    yield Row("the start of GDB with dwarfgpu", command(*start, "-x", str(ENTRY)), "GDB alone", command(*start), 3, 7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "host"
        shutil.copy(ROOT / "fixtures" / "asm" / "host.x86_64", program)
        program.chmod(0o755)
        for what, seconds in zip(WHAT, figures(folder, SCRIPT, str(program)), strict=True):
            yield Row(f"{what} in GDB", lambda seconds=seconds: seconds, *fixed(0.0005), 1)  # type: ignore[misc]


def many_waves(folder: Path) -> Path:
    """Write a snapshot of many waves, which are those of an example again and again."""
    document = json.loads(CALLS_STATE.read_text("utf-8"))
    document["code_objects"][0]["path"] = str(CALLS)
    first, own = document["waves"], document["memory"]
    waves, memory = [], []
    for number in range(STUBBED):
        model = first[number % len(first)]
        name = f"1:1:1:{number + 1}"
        waves.append({**model, "id": name, "work_group": [number, 0, 0], "wave_in_group": 0})
        memory += [{**part, "wave": name} for part in own if part.get("wave") == model["id"]]
    memory += [part for part in own if "wave" not in part and "work_group" not in part]
    document["dispatches"][0]["grid"] = [32 * STUBBED, 1, 1]
    path = folder / "waves.json"
    path.write_text(json.dumps({**document, "waves": waves, "memory": memory}), "utf-8")
    return path


def gdb_waves() -> Iterator[Row]:
    """Yield the rows of GDB with many waves, which a stub of its remote protocol shows."""
    from tests.gdb.running import stub

    tool("gdb")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with stub(folder, {"waves": many_waves(folder)}) as sockets:
            words = ["maint set dwarf unwinders off", f"add-symbol-file {CALLS} -o {LOAD_ADDRESS:#x}"]
            words.append(f"target remote {sockets / 'waves'}")
            warm, without, unwound = figures(folder, WAVES_SCRIPT, *(part for each in words for part in ("-ex", each)))
    yield Row(f"$dwarfgpu with {STUBBED:,} waves", lambda: warm, *fixed(0.0003), 1)
    yield Row("info threads with the unwinder", lambda: unwound, "without", lambda: without, 2)


GROUPS = {"debugger": debugger, "dap": dap, "gdb": gdb, "gdb-waves": gdb_waves}
